// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/format/json.h"
#include "userspace/store/join.h"

#define FORMAT		1000	/* of both values: major * 1000 + minor */
#define TRIES		4

/* A value begins with its format and an operation id that no other transaction has. */
static json_t *begin_value(void)
{
	static const char digits[] = "0123456789abcdef";
	char op[2 * 16 + 1] = "";
	struct secret random;
	json_t *o;

	if (secret_random(&random))
		return NULL;
	for (int i = 0; i < 32; i++)
		op[i] = digits[random.b[i] & 15];
	o = json_object();
	jset_u64(o, "v", FORMAT);
	jset_str(o, "op", op);
	return o;
}

static char *token_value(u8 role, const struct muuid *host)
{
	json_t *o = begin_value();
	char *text;

	if (!o)
		return NULL;
	jset_str(o, "role", token_role(role));
	if (host)
		jset_uuid(o, "host", host);
	text = json_dumps(o, JSON_COMPACT);
	json_decref(o);
	return text;
}

/* The host fills in name and addresses itself; until then its name is its UUID. */
static char *host_value(u8 role, const struct muuid *host)
{
	json_t *o = begin_value();
	char *text;

	if (!o)
		return NULL;
	jset_uuid(o, "host", host);
	jset_str(o, "name", muuid_str(host).s);
	jset_str(o, "role", token_role(role));
	jset_bool(o, "maintenance", false);
	jset_bool(o, "removed", false);
	json_object_set_new(o, "addresses", json_array());
	text = json_dumps(o, JSON_COMPACT);
	json_decref(o);
	return text;
}

static void key_of(const char *word, const struct muuid *u, char key[STORE_KEY_MAX])
{
	snprintf(key, STORE_KEY_MAX, "%s/%s", word, muuid_str(u).s);
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
	key_of("token", &t->id, key);
	value = token_value(t->role, NULL);
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
static int judge_token(const struct store_kv *kv, const struct muuid *host, u8 role, char why[JOIN_WHY])
{
	json_t *o = json_loadb(kv->value, kv->len, 0, NULL);
	const char *word = json_string_value(json_object_get(o, "role"));
	const json_t *bound = json_object_get(o, "host");
	struct muuid u;
	int ret = 0;

	if (!word || token_role_of(word) != role) {
		snprintf(why, JOIN_WHY, "the token is for the role %.20s", word ? word : "(damaged)");
		ret = -EACCES;
	} else if (bound) {
		ret = !jget_uuid(o, "host", &u) && muuid_equal(&u, host) ? 1 : -EACCES;
		if (ret < 0)
			snprintf(why, JOIN_WHY, "another host has used this token: print a new one");
	}
	json_decref(o);
	return ret;
}

static int bind_txn(struct store *s, const struct store_kv *kv, const struct muuid *host, u8 role,
		    char why[JOIN_WHY])
{
	char host_key[STORE_KEY_MAX], *token = token_value(role, host), *value = host_value(role, host);
	struct store_compare c[2] = { { STORE_SAME, kv->key, kv->modified }, { STORE_ABSENT, host_key, 0 } };
	struct store_op op[2] = { { kv->key, token, 0, kv->lease }, { host_key, value, 0, 0 } };
	struct store_txn t = { c, 2, op, 2 };
	int ret;

	key_of("host", host, host_key);
	if (token && value) {
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
	char key[STORE_KEY_MAX];
	struct store_page p;
	int err;

	key_of("host", host, key);
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
	char key[STORE_KEY_MAX];
	struct store_page p;
	int ret;

	key_of("token", token, key);
	ret = store_get(s, key, &p);
	if (ret == -ENOENT)
		snprintf(why, JOIN_WHY, "the token has expired, or is another cluster's: print a new one");
	else if (ret)
		failed(s, ret, why);
	else
		ret = judge_token(p.kv, host, role, why);
	if (!ret)
		ret = host_known(s, host, why);
	if (!ret)
		ret = bind_txn(s, p.kv, host, role, why);
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
