// SPDX-License-Identifier: GPL-2.0-only
/* The part that is the same for all engines: arguments are checked, then the engine is called. */
#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "userspace/store/engine.h"
#include "userspace/store/key.h"

#define TIMEOUT_MS	3000
#define LEASE_MAX	(366U * 24 * 3600)	/* seconds */
#define EVER_MS		(24U * 3600 * 1000)

void store_begin(struct store *s, const struct store_ops *ops)
{
	memset(s, 0, sizeof(*s));
	s->ops = ops;
	s->timeout_ms = TIMEOUT_MS;
}

int store_fail(struct store *s, int err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(s->why, sizeof(s->why), fmt, ap);
	va_end(ap);
	return err;
}

bool store_interrupted(struct store *s)
{
	return __atomic_exchange_n(&s->interrupted, false, __ATOMIC_ACQ_REL);
}

int store_wait(struct store *s, int fd, u64 end)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	u64 now;

	/* An interrupt from here on makes the descriptor readable again. */
	if (store_interrupted(s))
		return store_fail(s, -ECANCELED, "store: interrupted");
	now = store_now_ms();
	if (now >= end)
		return 0;
	poll(&p, 1, end - now);
	return 1;
}

u64 store_now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000ULL + t.tv_nsec / 1000000;
}

static int bad_key(struct store *s, const char *what, const char *key)
{
	return store_fail(s, -EINVAL, "a caller's error: \"%.*s\" is no %s", STORE_KEY_MAX,
			  key ? key : "", what);
}

int store_range(struct store *s, const char *prefix, const char *after, unsigned int limit, u64 at,
		struct store_page *out)
{
	const struct store_span span = { prefix, after, limit, at };

	memset(out, 0, sizeof(*out));
	if (!store_prefix_valid(prefix))
		return bad_key(s, "prefix", prefix);
	if (after && !store_key_valid(after))
		return bad_key(s, "key", after);
	if (!limit || limit > STORE_PAGE_MAX)
		return store_fail(s, -EINVAL, "a caller's error: a page of %u keys, not 1 to %u", limit,
				  STORE_PAGE_MAX);
	return s->ops->range(s, &span, out);
}

int store_get(struct store *s, const char *key, struct store_page *out)
{
	memset(out, 0, sizeof(*out));
	if (!store_key_valid(key))
		return bad_key(s, "key", key);
	return s->ops->get(s, key, out);
}

/* etcd takes a modification revision of 0 for "absent": STORE_ABSENT alone means that here. */
static int check_compare(struct store *s, const struct store_compare *c)
{
	switch (c->kind) {
	case STORE_NONE_BELOW:
		return store_prefix_valid(c->key) ? 0 : bad_key(s, "prefix", c->key);
	case STORE_SAME:
		if (!c->modified)
			return store_fail(s, -EINVAL, "a caller's error: a compare with revision 0");
		/* fall through */
	case STORE_ABSENT:
		return store_key_valid(c->key) ? 0 : bad_key(s, "key", c->key);
	}
	return store_fail(s, -EINVAL, "a caller's error: a compare of kind %d", c->kind);
}

/* A length without a value is memory that could not be had, rather than a delete. */
static int check_op(struct store *s, const struct store_op *op, const struct store_op *before)
{
	if (!store_key_valid(op->key))
		return bad_key(s, "key", op->key);
	if (op->len > STORE_VALUE_MAX)
		return store_fail(s, -EINVAL, "a caller's error: %s has %zu bytes, at most %u are allowed",
				  op->key, op->len, STORE_VALUE_MAX);
	if (!op->value && (op->len || op->lease))
		return store_fail(s, -EINVAL, "a caller's error: delete of %s with a length or a lease",
				  op->key);
	for (; before < op; before++)
		if (!strcmp(before->key, op->key))
			return store_fail(s, -EINVAL, "a caller's error: %s is in a transaction twice",
					  op->key);
	return 0;
}

static int check_txn(struct store *s, const struct store_txn *t)
{
	size_t bytes = 0;
	int err = 0;

	if (t->compares > STORE_OPS_MAX || t->ops > STORE_OPS_MAX)
		return store_fail(s, -E2BIG, "a caller's error: a transaction of %zu compares and %zu"
				  " operations, at most %u are allowed", t->compares, t->ops,
				  STORE_OPS_MAX);
	for (size_t i = 0; !err && i < t->compares; i++) {
		err = check_compare(s, &t->compare[i]);
		bytes += err ? 0 : strlen(t->compare[i].key);
	}
	for (size_t i = 0; !err && i < t->ops; i++) {
		err = check_op(s, &t->op[i], t->op);
		bytes += err ? 0 : strlen(t->op[i].key) + t->op[i].len;
	}
	if (!err && bytes > STORE_TXN_BYTES)
		err = store_fail(s, -E2BIG, "a caller's error: a transaction of %zu bytes, at most %u are"
				 " allowed", bytes, STORE_TXN_BYTES);
	return err;
}

int store_txn(struct store *s, const struct store_txn *t, u64 *revision)
{
	u64 ignored;
	int err = check_txn(s, t);

	return err ? err : s->ops->txn(s, t, revision ? revision : &ignored);
}

int store_watch(struct store *s, const char *prefix, u64 after, u64 *id)
{
	return store_prefix_valid(prefix) ? s->ops->watch(s, prefix, after, id) :
	       bad_key(s, "prefix", prefix);
}

void store_unwatch(struct store *s, u64 id)
{
	s->ops->unwatch(s, id);
}

int store_next(struct store *s, unsigned int timeout_ms, struct store_event *e)
{
	memset(e, 0, sizeof(*e));
	return s->ops->next(s, timeout_ms > EVER_MS ? EVER_MS : timeout_ms, e);
}

int store_fd(struct store *s)
{
	return s->ops->fd(s);
}

void store_interrupt(struct store *s)
{
	__atomic_store_n(&s->interrupted, true, __ATOMIC_RELEASE);
	s->ops->interrupt(s);
}

int store_lease_grant(struct store *s, unsigned int seconds, u64 *lease)
{
	if (!seconds || seconds > LEASE_MAX)
		return store_fail(s, -EINVAL, "a caller's error: a lease of %u seconds, not 1 to %u",
				  seconds, LEASE_MAX);
	return s->ops->lease_grant(s, seconds, lease);
}

int store_lease_keep(struct store *s, u64 lease)
{
	return s->ops->lease_keep(s, lease);
}

int store_lease_revoke(struct store *s, u64 lease)
{
	return s->ops->lease_revoke(s, lease);
}

int store_identity(struct store *s, struct store_identity *out)
{
	memset(out, 0, sizeof(*out));
	return s->ops->identity(s, out);
}

const char *store_why(const struct store *s)
{
	return s->why;
}

void store_timeout(struct store *s, unsigned int ms)
{
	s->timeout_ms = ms;
}

void store_close(struct store *s)
{
	if (s)
		s->ops->close(s);
}
