// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/format/objects.h"
#include "userspace/store/join.h"

#define TRIES		4

/* The value of an object, under an operation id that no other transaction has; NULL: no memory. */
static char *value_of(int kind, union obj_any *x)
{
	struct secret random;
	char *text = NULL;

	if (!secret_random(&random)) {
		obj_op(&x->o, random.b);
		obj_encode(kind, x, &text, NULL, 0);
	}
	return text;
}

static char *token_value(const struct muuid *token, u8 role, const struct muuid *host)
{
	union obj_any x = { .token = { .token = *token, .role = role } };

	if (host)
		x.token.host = *host;
	return value_of(KEY_TOKEN, &x);
}

/* The host fills in name and addresses itself; until then its name is its UUID. */
static char *host_value(u8 role, const struct muuid *host)
{
	union obj_any x = { .host = { .plan = { .uuid = *host, .role = role } } };

	muuid_text(host, x.host.name);
	return value_of(KEY_HOST, &x);
}

static int no_memory(char why[JOIN_WHY])
{
	snprintf(why, JOIN_WHY, "no memory, or no random bytes");
	return -ENOMEM;
}

static int failed(struct store *s, int err, char why[JOIN_WHY])
{
	snprintf(why, JOIN_WHY, "%.200s", store_why(s));
	return err;
}

int join_issue(struct store *s, struct token *t, unsigned int seconds, char why[JOIN_WHY])
{
	struct key k = { .kind = KEY_TOKEN };
	char key[STORE_KEY_MAX], *value;
	struct store_compare c = { STORE_ABSENT, key, 0 };
	struct store_op op = { .key = key };
	struct store_txn txn = { &c, 1, &op, 1 };
	struct secret random;
	int ret;

	if (secret_random(&random))
		return no_memory(why);
	memcpy(t->id.b, random.b, sizeof(t->id.b));
	muuid_mark_random(&t->id);
	k.token = t->id;
	value = key_text(&k, key) ? NULL : token_value(&t->id, t->role, NULL);
	if (!value)
		return no_memory(why);
	op.value = value;
	op.len = strlen(value);
	ret = store_lease_grant(s, seconds, &op.lease);
	if (!ret)
		ret = store_txn(s, &txn, NULL);
	free(value);
	/* An unknown outcome is a token that is not printed, and ends by itself. */
	return ret == 1 ? 0 : failed(s, ret ? ret : -EIO, why);
}

/* 1: bound to this host; 0: to none yet; -EACCES. */
static int judge_token(const struct obj_token *t, const struct muuid *host, u8 role, char why[JOIN_WHY])
{
	if (t->role != role) {
		snprintf(why, JOIN_WHY, "the token is for the role %s", token_role(t->role));
		return -EACCES;
	}
	if (muuid_null(&t->host) || muuid_equal(&t->host, host))
		return !muuid_null(&t->host);
	snprintf(why, JOIN_WHY, "another host has used this token: print a new one");
	return -EACCES;
}

static int read_token(const struct key *k, const struct store_kv *kv, const struct muuid *host, u8 role,
		      char why[JOIN_WHY])
{
	union obj_any x;
	int ret = obj_read(k, kv->value, kv->len, &x, why, JOIN_WHY);

	if (!ret)
		ret = judge_token(&x.token, host, role, why);
	else if (ret != -ENOMEM)
		ret = -EACCES;
	obj_free(KEY_TOKEN, &x);
	return ret;
}

static int bind_txn(struct store *s, const struct key *k, const struct store_kv *kv,
		    const struct muuid *host, u8 role, char why[JOIN_WHY])
{
	char *token = token_value(&k->token, role, host), *value = host_value(role, host);
	const struct key of_host = { .kind = KEY_HOST, .host = *host };
	char host_key[STORE_KEY_MAX];
	struct store_compare c[2] = { { STORE_SAME, kv->key, kv->modified }, { STORE_ABSENT, host_key, 0 } };
	struct store_op op[2] = { { kv->key, token, 0, kv->lease }, { host_key, value, 0, 0 } };
	struct store_txn t = { c, 2, op, 2 };
	int ret;

	if (token && value && !key_text(&of_host, host_key)) {
		op[0].len = strlen(token);
		op[1].len = strlen(value);
		ret = store_txn(s, &t, NULL);
		if (ret < 0)
			failed(s, ret, why);
	} else {
		ret = no_memory(why);
	}
	free(token);
	free(value);
	return ret;
}

static int host_known(struct store *s, const struct muuid *host, char why[JOIN_WHY])
{
	const struct key k = { .kind = KEY_HOST, .host = *host };
	char key[STORE_KEY_MAX];
	struct store_page p;
	int err = key_text(&k, key);

	if (err)
		return no_memory(why);
	err = store_get(s, key, &p);
	store_page_free(&p);
	if (err == -ENOENT)
		return 0;
	if (err)
		return failed(s, err, why);
	snprintf(why, JOIN_WHY, "the cluster knows a host %s, or has removed it: join with a new UUID",
		 muuid_str(host).s);
	return -EACCES;
}

/* 1: bound; 0: the token has changed since it was read; negative. */
static int bind_once(struct store *s, const struct muuid *token, const struct muuid *host, u8 role,
		     char why[JOIN_WHY])
{
	const struct key k = { .kind = KEY_TOKEN, .token = *token };
	char key[STORE_KEY_MAX];
	struct store_page p = { 0 };
	int ret = key_text(&k, key) ? -ENOENT : store_get(s, key, &p);

	if (ret == -ENOENT)
		snprintf(why, JOIN_WHY, "the token has expired, or is another cluster's: print a new one");
	else if (ret)
		failed(s, ret, why);
	else
		ret = read_token(&k, p.kv, host, role, why);
	if (!ret)
		ret = host_known(s, host, why);
	if (!ret)
		ret = bind_txn(s, &k, p.kv, host, role, why);
	store_page_free(&p);
	return ret;
}

int join_bind(struct store *s, const struct muuid *token, const struct muuid *host, u8 role,
	      char why[JOIN_WHY])
{
	int ret = 0;

	for (int i = 0; i < TRIES && !ret; i++)
		ret = bind_once(s, token, host, role, why);
	if (!ret)
		snprintf(why, JOIN_WHY, "the token changes too fast: try again");
	return ret == 1 ? 0 : ret ? ret : -EIO;
}
