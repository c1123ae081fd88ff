// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "userspace/agent/deal.h"

void deal_begin(struct deal *d, struct copy *c)
{
	u8 random[16];
	struct obj o;

	memset(d, 0, sizeof(*d));
	d->copy = c;
	if (getrandom(random, sizeof(random), 0) != sizeof(random)) {
		d->err = -EIO;
		snprintf(d->why, sizeof(d->why), "the kernel has no random numbers yet");
		return;
	}
	obj_op(&o, random);
	memcpy(d->op_id, o.op, sizeof(d->op_id));
}

static bool wrong(struct deal *d, int err)
{
	if (!err || d->err)
		return d->err;
	d->err = err;
	if (!d->why[0])
		snprintf(d->why, sizeof(d->why), "%s", err == -E2BIG ?
			 "the change is too large for one transaction of the store" : strerror(-err));
	return true;
}

static void compare(struct deal *d, enum store_compare_kind kind, const char *key, u64 modified)
{
	char *text;

	for (size_t i = 0; i < d->compares; i++) {
		if (!strcmp(d->compare[i].key, key) &&
		    (d->compare[i].kind == STORE_NONE_BELOW) == (kind == STORE_NONE_BELOW))
			return;
	}
	if (wrong(d, d->compares == STORE_OPS_MAX ? -E2BIG : 0))
		return;
	text = strdup(key);
	if (wrong(d, text ? 0 : -ENOMEM))
		return;
	d->compare[d->compares++] = (struct store_compare) { .kind = kind, .key = text, .modified = modified };
}

static void same(struct deal *d, const struct key *k, char text[STORE_KEY_MAX])
{
	const struct copy_item *i = copy_get(d->copy, k);

	if (wrong(d, key_text(k, text)))
		return;
	compare(d, i ? STORE_SAME : STORE_ABSENT, text, i ? i->modified : 0);
}

void deal_same(struct deal *d, const struct key *k)
{
	char text[STORE_KEY_MAX];

	if (!d->err)
		same(d, k, text);
}

void deal_none_below(struct deal *d, const struct key *k, unsigned int given)
{
	char text[STORE_KEY_MAX];

	if (!d->err && !wrong(d, key_prefix(k, given, text)))
		compare(d, STORE_NONE_BELOW, text, 0);
}

/* @value: taken over. */
static void operate(struct deal *d, const char *key, char *value, u64 lease)
{
	char *text = d->err || wrong(d, d->ops == STORE_OPS_MAX ? -E2BIG : 0) ? NULL : strdup(key);

	if (!text) {
		wrong(d, -ENOMEM);
		free(value);
		return;
	}
	d->op[d->ops++] = (struct store_op) { .key = text, .value = value,
					      .len = value ? strlen(value) : 0, .lease = lease };
}

/* @room: the object is left out where it has none. */
static bool put(struct deal *d, enum key_kind kind, void *x, u64 lease, bool room)
{
	char text[STORE_KEY_MAX], *value;
	struct obj *o = x;
	struct key k;

	if (d->err)
		return true;
	memcpy(o->op, d->op_id, sizeof(o->op));
	obj_key(kind, x, &k);
	if (wrong(d, obj_encode(kind, x, &value, d->why, sizeof(d->why))))
		return true;
	if (room && !deal_has_room(d, strlen(value))) {
		free(value);
		return false;
	}
	same(d, &k, text);
	if (d->err)
		free(value);
	else
		operate(d, text, value, lease);
	return true;
}

void deal_put(struct deal *d, enum key_kind kind, void *x, u64 lease)
{
	put(d, kind, x, lease, false);
}

bool deal_put_fits(struct deal *d, enum key_kind kind, void *x)
{
	return put(d, kind, x, 0, true);
}

void deal_erase(struct deal *d, const struct key *k)
{
	char text[STORE_KEY_MAX];

	if (d->err || !copy_get(d->copy, k))
		return;
	same(d, k, text);
	if (!d->err)
		operate(d, text, NULL, 0);
}

bool deal_has_room(const struct deal *d, size_t bytes)
{
	for (size_t i = 0; i < d->ops; i++)
		bytes += strlen(d->op[i].key) + d->op[i].len;
	return d->ops < STORE_OPS_MAX && d->compares < STORE_OPS_MAX &&
	       bytes + STORE_OPS_MAX * STORE_KEY_MAX <= STORE_TXN_BYTES;
}

void deal_drop(struct deal *d)
{
	for (size_t i = 0; i < d->compares; i++)
		free((char *)d->compare[i].key);
	for (size_t i = 0; i < d->ops; i++) {
		free((char *)d->op[i].key);
		free((void *)d->op[i].value);
	}
	d->compares = d->ops = 0;
}

int deal_close(struct deal *d, unsigned int ms)
{
	struct store_txn t = { .compare = d->compare, .compares = d->compares, .op = d->op, .ops = d->ops };
	struct store *s = copy_store(d->copy);
	u64 revision = 0;
	int ret = d->err, err = 0;

	if (!ret) {
		deal_passes(d, false);
		ret = store_txn_settle(s, &t, store_now_ms() + ms, &revision);
		if (ret == -ESTALE)
			ret = 0;
		if (ret < 0)
			snprintf(d->why, sizeof(d->why), "%s", store_why(s));
	}
	/* A copy without memory for it catches up by its watch. */
	for (size_t i = 0; ret == 1 && !err && i < d->ops; i++)
		err = copy_apply(d->copy, &d->op[i], revision);
	if (ret == 1)
		deal_passes(d, true);
	deal_drop(d);
	return ret;
}
