// SPDX-License-Identifier: GPL-2.0-only
/* Reads and transactions of the SQLite engine. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "userspace/store/key.h"
#include "userspace/store/sq.h"

#define PAGE_BYTES	(8U << 20)	/* a page of large values ends early */

/* Keys of a span: from the first text behind @after, which is @after with a zero byte. */
static void bind_span(struct store_sqlite *q, enum sq_stmt n, const struct store_span *span,
		      const char end[STORE_KEY_MAX])
{
	const char *after = span->after && strcmp(span->after, span->prefix) >= 0 ? span->after : NULL;

	if (after)
		sq_bytes(q, n, 1, after, strlen(after) + 1);
	else
		sq_text(q, n, 1, span->prefix);
	sq_text(q, n, 2, end);
	sq_num(q, n, 3, span->limit + 1ULL);
}

static int read_page(struct store_sqlite *q, struct store *s, enum sq_stmt n, unsigned int limit,
		     struct store_page *out)
{
	size_t bytes = 0;
	int ret;

	while ((ret = sq_step(q, s, n)) == 1) {
		if (out->nr == limit || bytes >= PAGE_BYTES) {
			out->more = true;
			break;
		}
		ret = sq_row_add(q, s, n, out);
		if (ret)
			break;
		bytes += out->kv[out->nr - 1].len;
	}
	sq_reset(q, n);
	return ret < 0 ? ret : 0;
}

static int check_at(struct store_sqlite *q, struct store *s, u64 at)
{
	if (at > q->revision)
		return store_fail(s, -ESTALE, "store: revision %llu is above the store's, which is %llu: it"
				  " was put back", (unsigned long long)at, (unsigned long long)q->revision);
	if (at && at < q->compacted)
		return store_fail(s, -ESTALE, "store: revision %llu is compacted: begin the list again",
				  (unsigned long long)at);
	return 0;
}

int sq_range(struct store *s, const struct store_span *span, struct store_page *out)
{
	struct store_sqlite *q = sq_handle(s)->q;
	enum sq_stmt n = span->at ? SQ_AT : SQ_NOW;
	char end[STORE_KEY_MAX];
	int err = sq_turn(q, s);

	if (err)
		return err;
	err = check_at(q, s, span->at);
	if (!err) {
		store_prefix_end(span->prefix, end);
		bind_span(q, n, span, end);
		if (span->at)
			sq_num(q, n, 4, span->at);
		err = read_page(q, s, n, span->limit, out);
		out->revision = span->at ? span->at : q->revision;
	}
	sq_turn_end(q);
	if (err)
		store_page_free(out);
	return err;
}

int sq_get(struct store *s, const char *key, struct store_page *out)
{
	struct store_sqlite *q = sq_handle(s)->q;
	int err = sq_turn(q, s);

	if (err)
		return err;
	sq_text(q, SQ_KEY, 1, key);
	err = read_page(q, s, SQ_KEY, 1, out);
	if (err)
		store_page_free(out);
	else
		out->revision = q->revision;
	sq_turn_end(q);
	if (!err && !out->nr)
		err = store_fail(s, -ENOENT, "store: there is no key %s", key);
	return err;
}

/* Return: 1: it holds; 0: not; negative. */
static int holds(struct store_sqlite *q, struct store *s, const struct store_compare *c)
{
	char end[STORE_KEY_MAX];
	int ret;

	if (c->kind == STORE_NONE_BELOW) {
		store_prefix_end(c->key, end);
		sq_text(q, SQ_BELOW, 1, c->key);
		sq_text(q, SQ_BELOW, 2, end);
		ret = sq_only(q, s, SQ_BELOW);
		return ret < 0 ? ret : !ret;
	}
	sq_text(q, SQ_MODIFIED, 1, c->key);
	ret = sq_step(q, s, SQ_MODIFIED);
	if (ret <= 0)
		return ret < 0 ? ret : c->kind == STORE_ABSENT;
	ret = c->kind == STORE_SAME && sq_column(q, SQ_MODIFIED, 0) == c->modified;
	sq_reset(q, SQ_MODIFIED);
	return ret;
}

static int all_hold(struct store_sqlite *q, struct store *s, const struct store_txn *t)
{
	int ret = 1;

	for (size_t i = 0; ret == 1 && i < t->compares; i++)
		ret = holds(q, s, &t->compare[i]);
	return ret;
}

static int end_row(struct store_sqlite *q, struct store *s, s64 row)
{
	sq_num(q, SQ_ENDED, 1, row);
	sq_num(q, SQ_ENDED, 2, q->revision + 1);
	return sq_step(q, s, SQ_ENDED);
}

/* The row of a change; that of a deletion ends where it begins, so that no read finds it. */
static int add_row(struct store_sqlite *q, struct store *s, const struct store_kv *kv, size_t key_len)
{
	sq_bytes(q, SQ_PUT, 1, kv->key, key_len);
	sq_num(q, SQ_PUT, 2, q->revision + 1);
	sq_num(q, SQ_PUT, 3, kv->value ? 0 : q->revision + 1);
	sq_num(q, SQ_PUT, 4, kv->created);
	sq_num(q, SQ_PUT, 5, kv->lease);
	if (kv->value)
		sq_bytes(q, SQ_PUT, 6, kv->value, kv->len);
	return sq_step(q, s, SQ_PUT);
}

int sq_delete_row(struct store_sqlite *q, struct store *s, s64 row, const char *key, size_t len)
{
	const struct store_kv gone = { .key = key };
	int err = end_row(q, s, row);

	return err ? err : add_row(q, s, &gone, len);
}

/* Return: 1: changed; 0: nothing to do; negative. */
static int operate(struct store_sqlite *q, struct store *s, const struct store_op *op)
{
	struct store_kv kv = { .key = op->key, .value = op->value, .len = op->len, .lease = op->lease };
	s64 row = 0;
	int ret;

	if (op->lease && !sq_lease_there(q, op->lease))
		return store_fail(s, -ENOENT, "store: the lease that %s would be on has ended", op->key);
	sq_text(q, SQ_OLD, 1, op->key);
	ret = sq_step(q, s, SQ_OLD);
	if (ret < 0)
		return ret;
	if (ret) {
		row = sq_column(q, SQ_OLD, 0);
		kv.created = sq_column(q, SQ_OLD, 1);
		sq_reset(q, SQ_OLD);
	} else if (!op->value) {
		return 0;
	} else {
		kv.created = q->revision + 1;
	}
	if (!op->value)
		ret = sq_delete_row(q, s, row, op->key, strlen(op->key));
	else
		ret = row ? end_row(q, s, row) : 0;
	if (!ret && op->value)
		ret = add_row(q, s, &kv, strlen(op->key));
	return ret < 0 ? ret : 1;
}

/* Return: 1: something has changed; 0: nothing; negative. */
static int operate_all(struct store_sqlite *q, struct store *s, const struct store_txn *t)
{
	int ret, changed = 0;

	for (size_t i = 0; i < t->ops; i++) {
		ret = operate(q, s, &t->op[i]);
		if (ret < 0)
			return ret;
		changed |= ret;
	}
	return changed;
}

/* The new revision, and the end of those that are further back than the history goes. */
static int next_revision(struct store_sqlite *q, struct store *s, u64 *compacted)
{
	const u64 revision = q->revision + 1, history = __atomic_load_n(&q->history, __ATOMIC_RELAXED);
	int err;

	*compacted = q->compacted;
	if (revision > history && revision - history > *compacted)
		*compacted = revision - history;
	sq_num(q, SQ_META_SET, 1, revision);
	sq_num(q, SQ_META_SET, 2, *compacted);
	err = sq_step(q, s, SQ_META_SET);
	if (err || *compacted == q->compacted)
		return err;
	sq_num(q, SQ_COMPACT, 1, *compacted);
	return sq_step(q, s, SQ_COMPACT);
}

int sq_finish(struct store_sqlite *q, struct store *s, bool changed, int err)
{
	u64 compacted = q->compacted;

	if (!err && changed)
		err = next_revision(q, s, &compacted);
	err = sq_end(q, s, err);
	if (err || !changed)
		return err;
	q->revision++;
	q->compacted = compacted;
	sq_notify(q);
	return 0;
}

int sq_txn(struct store *s, const struct store_txn *t, u64 *revision)
{
	struct store_sqlite *q = sq_handle(s)->q;
	int hold = 0, changed = 0, err = sq_turn(q, s);

	if (err)
		return err;
	err = sq_begin(q, s);
	if (!err) {
		hold = all_hold(q, s, t);
		if (hold == 1)
			changed = operate_all(q, s, t);
		err = hold < 0 ? hold : changed < 0 ? changed : 0;
		err = sq_finish(q, s, changed == 1, err);
	}
	*revision = q->revision;
	sq_turn_end(q);
	return err ? err : hold;
}
