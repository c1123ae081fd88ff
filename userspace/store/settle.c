// SPDX-License-Identifier: GPL-2.0-only
/*
 * store_txn_settle():
 *
 *	send --- done ------------------------------------------------------> 1
 *	 ^  \--- a compare did not hold, no earlier attempt is unknown -----> 0
 *	 |   \-- refused, no earlier attempt is unknown --------------------> the error
 *	 |    \- otherwise: read each key that the transaction puts
 *	 |              |- one has our value: an earlier attempt was done ---> 1
 *	 |              |- none, and the compare cannot hold any more -------> -ESTALE
 *	 +--------------+- not known -- the deadline has passed -------------> -ETIMEDOUT
 */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "userspace/store/engine.h"

#define PAUSE_MS	20	/* doubles with each attempt */
#define PAUSE_MAX_MS	640
#define SLICE_MS	10	/* store_interrupt() ends a pause within it */

/* Errors that leave open if the transaction was done. */
static bool unknown(int err)
{
	return err == -ETIMEDOUT || err == -EIO;
}

/* Errors that end the attempts: they do not change with time, or the caller wants the end. */
static bool final(int err)
{
	return err == -EINVAL || err == -E2BIG || err == -ECANCELED || err == -EUCLEAN;
}

/* Without a compare of its key, a put that is sent again could undo another host's change. */
static bool compared(const struct store_txn *t, const struct store_op *op)
{
	for (size_t i = 0; i < t->compares; i++)
		if (t->compare[i].kind != STORE_NONE_BELOW && !strcmp(t->compare[i].key, op->key))
			return true;
	return false;
}

static int check(struct store *s, const struct store_txn *t)
{
	if (t->compares > STORE_OPS_MAX || t->ops > STORE_OPS_MAX)
		return 0;	/* store_txn() refuses it */
	for (size_t i = 0; i < t->ops; i++)
		if (t->op[i].key && t->op[i].value && !compared(t, &t->op[i]))
			return store_fail(s, -EINVAL, "a caller's error: %s is put without a compare of it",
					  t->op[i].key);
	return 0;
}

/* Return: 1: the key has our value, put at @revision; 0: not; negative: cannot be read. */
static int has_ours(struct store *s, const struct store_op *op, u64 *revision)
{
	struct store_page p;
	int err = store_get(s, op->key, &p);

	if (!err && p.kv->len == op->len && !memcmp(p.kv->value, op->value, op->len)) {
		*revision = p.kv->modified;
		err = 1;
	}
	store_page_free(&p);
	return err == -ENOENT ? 0 : err;
}

static int find_ours(struct store *s, const struct store_txn *t, u64 *revision)
{
	int found = 0;

	for (size_t i = 0; !found && i < t->ops; i++)
		if (t->op[i].value)
			found = has_ours(s, &t->op[i], revision);
	return found;
}

static int pause_ms(struct store *s, u64 ms)
{
	for (u64 end = store_now_ms() + ms; store_now_ms() < end;) {
		if (store_interrupted(s))
			return store_fail(s, -ECANCELED, "interrupted before the outcome was known");
		nanosleep(&(struct timespec) { .tv_nsec = SLICE_MS * 1000000 }, NULL);
	}
	return 0;
}

/*
 * An attempt after one whose outcome is unknown. -EAGAIN: still unknown. A lease that has ended
 * since (-ENOENT) may have deleted our keys: the same as a change by others.
 */
static int attempt_again(struct store *s, const struct store_txn *t, u64 *revision)
{
	int ret = store_txn(s, t, revision), found;

	if (ret == 1 || (ret == 0 && !t->ops) || final(ret))
		return ret;
	found = find_ours(s, t, revision);
	if (found == 1 || (found < 0 && final(found)))
		return found;
	if (found < 0 || (ret && ret != -ENOENT))
		return -EAGAIN;
	return store_fail(s, -ESTALE, "others have changed all keys of this transaction, or it was never"
			  " done: read them again and decide from that");
}

static int attempts(struct store *s, const struct store_txn *t, u64 deadline_ms, unsigned int timeout_ms,
		    u64 *revision)
{
	unsigned int pause = PAUSE_MS;
	u64 now = store_now_ms();
	bool first = true;
	int ret;

	for (; now < deadline_ms; now = store_now_ms()) {
		s->timeout_ms = deadline_ms - now < timeout_ms ? deadline_ms - now : timeout_ms;
		ret = first ? store_txn(s, t, revision) : attempt_again(s, t, revision);
		if (first ? !unknown(ret) : ret != -EAGAIN)
			return ret;
		first = false;
		now = store_now_ms();
		if (now >= deadline_ms)
			break;
		ret = pause_ms(s, deadline_ms - now < pause ? deadline_ms - now : pause);
		if (ret)
			return ret;
		pause = pause < PAUSE_MAX_MS ? 2 * pause : pause;
	}
	return store_fail(s, -ETIMEDOUT, "the outcome of a transaction is unknown: read its keys when the"
			  " store answers again");
}

int store_txn_settle(struct store *s, const struct store_txn *t, u64 deadline_ms, u64 *revision)
{
	const unsigned int timeout_ms = s->timeout_ms;
	u64 ignored;
	int ret = check(s, t);

	if (!ret)
		ret = attempts(s, t, deadline_ms, timeout_ms, revision ? revision : &ignored);
	s->timeout_ms = timeout_ms;
	return ret;
}
