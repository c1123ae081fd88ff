/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A transaction of objects. What is written is compared with the copy that was decided from, so a
 * decision from an old copy has no effect: the copy catches up, and the decision is made again.
 *
 *   deal_begin() - deal_same() .. deal_put() .. deal_erase() .. - deal_close(): store_txn_settle()
 *
 * An error of a call before deal_close() is kept, and returned by that. deal_close() frees all.
 */
#ifndef AGENT_DEAL_H
#define AGENT_DEAL_H

#include "userspace/agent/copy.h"

struct deal {
	struct copy *copy;
	struct store_compare compare[STORE_OPS_MAX];
	struct store_op op[STORE_OPS_MAX];
	size_t	compares, ops;
	char	op_id[OBJ_OP];	/* of each value that it writes */
	int	err;		/* the first one */
	char	why[OBJ_WHY];	/* the sentence of it */
};

void deal_begin(struct deal *d, struct copy *c);
/* The key is as in the copy: of the same revision, or absent. */
void deal_same(struct deal *d, const struct key *k);
/* No key of the kind begins with the first @given segments of @k. */
void deal_none_below(struct deal *d, const struct key *k, unsigned int given);
/* Write an object, whose key is as in the copy. @x: its operation id is set. */
void deal_put(struct deal *d, enum key_kind kind, void *x, u64 lease);
/* deal_put() where that has room; false: it has none, and the deal is as before. */
bool deal_put_fits(struct deal *d, enum key_kind kind, void *x);
/* Delete a key, which is as in the copy. */
void deal_erase(struct deal *d, const struct key *k);
/* True if another compare and another operation, and @bytes of values, have room. */
bool deal_has_room(const struct deal *d, size_t bytes);
/**
 * deal_close() - do it
 * @ms: for an unknown outcome to be settled
 *
 * Return: 1: done, and in the copy; 0: something had changed, copy_turn() and decide again;
 * negative: as store_txn_settle(), or of the codec. @d->why has the sentence of an error.
 */
int deal_close(struct deal *d, unsigned int ms);
/* Forget it. */
void deal_drop(struct deal *d);

#ifdef MESHD_CRASH_POINTS
/* Of a test build, which defines it: the transaction is about to be made, or was (@done). */
void deal_passes(const struct deal *d, bool done);
#else
static inline void deal_passes(const struct deal *d, bool done)
{
	(void)d;
	(void)done;
}
#endif

#endif
