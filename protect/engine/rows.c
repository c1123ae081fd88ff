// SPDX-License-Identifier: GPL-2.0-only
/* Row locks: an op begins in the bucket of its rows, waits there for other ops, and ends. */
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/minmax.h>

#include "protect/engine/group_priv.h"

/* The bucket of @op: ops with overlapping rows share a bucket. */
u16 *prot_bucket(const struct prot_group *g, const struct prot_gop *op)
{
	u32 i;

	div_u64_rem(op->addr >> g->shape.bucket_shift, g->shape.nr_buckets, &i);
	return (u16 *)prot_at(g, g->shape.off_buckets) + i;
}

/* True: @op has to wait for @o, an earlier op of the bucket. */
static bool rows_excludes(const struct prot_group *g, const struct prot_gop *o,
			  const struct prot_gop *op)
{
	if (PROT_MUTANT(NO_LOCK) && o->purpose == op->purpose)
		return false;
	if (PROT_MUTANT(SYNC_RACE) && o->purpose != op->purpose)
		return false;
	return prot_rows_meet(o, op) && (o->exclusive || op->exclusive) &&
	       (!prot_policy(g)->conflict || prot_policy(g)->conflict(g, o, op));
}

/*
 * Row locks: an op waits for earlier ops of the bucket with overlapping rows. Levels without a
 * rule count the blockers once, and each ended op subtracts one. A level's rule may change its
 * answer while both ops are there, so the rule is evaluated each time.
 */
bool prot_lock_free(const struct prot_group *g, const struct prot_gop *op)
{
	u16 i = *prot_bucket(g, op), self = prot_gop_index(g, op);

	if (!prot_policy(g)->conflict)
		return !op->blockers;
	for (; i != self; i = prot_gop(g, i)->next)
		if (rows_excludes(g, prot_gop(g, i), op))
			return false;
	return true;
}

static bool rows_need_sync(const struct prot_group *g, u64 addr)
{
	return prot_region_in(g, PROT_SET_UNSYNCED, prot_region_of(g, addr));
}

void prot_start(struct prot_group *g, struct prot_gop *op, u64 addr, u32 length)
{
	u16 *link;

	op->addr = addr;
	op->length = length;
	op->exclusive = op->kind != PROT_READ || op->purpose != PROT_FOR_REQUEST ||
			rows_need_sync(g, addr) || op->retried;
	op->targets = 0;
	op->tried = 0;
	op->pos = 0;
	op->chunk = 0;
	op->err = 0;
	op->unread = 0;
	op->buf = PROT_NONE16;
	op->next = PROT_NONE16;
	op->blockers = 0;
	for (link = prot_bucket(g, op); *link != PROT_NONE16; link = &prot_gop(g, *link)->next)
		op->blockers += rows_excludes(g, prot_gop(g, *link), op);
	*link = prot_gop_index(g, op);
	prot_phase(g, op, PROT_P_LOCK);
	prot_ready(g, op);
}

/* The progress of @op changes conditions for ops of the same rows: wake these ops. */
void prot_wake_rows(struct prot_group *g, const struct prot_gop *op)
{
	u16 i;

	for (i = *prot_bucket(g, op); i != PROT_NONE16; i = prot_gop(g, i)->next) {
		struct prot_gop *o = prot_gop(g, i);

		if (o != op && prot_rows_meet(o, op))
			prot_ready(g, o);
	}
}

/*
 * @op, out of the bucket, blocks later ops no more; an op is ready once its last blocker is gone.
 */
static void rows_unblock(struct prot_group *g, const struct prot_gop *op)
{
	u16 i;

	for (i = op->next; i != PROT_NONE16; i = prot_gop(g, i)->next) {
		struct prot_gop *o = prot_gop(g, i);

		if (rows_excludes(g, op, o) && !--o->blockers)
			prot_ready(g, o);
	}
}

/* Take an op out of the bucket and let ops of the same rows check again. */
void prot_unlock(struct prot_group *g, struct prot_gop *op)
{
	u16 *link = prot_bucket(g, op), self = prot_gop_index(g, op);

	while (*link != self)
		link = &prot_gop(g, *link)->next;
	*link = op->next;
	if (prot_policy(g)->conflict)
		prot_wake_rows(g, op);
	else
		rows_unblock(g, op);
	op->next = PROT_NONE16;
}

/* An op is over, with no I/O in flight. The submitter of a request gets an event. */
void prot_end(struct prot_group *g, struct prot_gop *op, int err)
{
	op->err = err;
	prot_buf_put(g, op);
	prot_phase(g, op, PROT_P_ENDED);
	prot_unlock(g, op);
	prot_ready(g, op);
}

/*
 * Bytes to the end of the bucket, which lies in one region, or to the end of the group. For levels
 * with equal addresses on all members.
 */
u64 prot_region_span(const struct prot_group *g, u64 addr)
{
	u64 end = ((addr >> g->shape.bucket_shift) + 1) << g->shape.bucket_shift;

	return min(end, g->cfg.bytes) - addr;
}

/* Background work of such levels: as much as a buffer takes. */
void prot_region_start_rows(struct prot_group *g, struct prot_gop *op, u64 addr, bool narrow)
{
	prot_start(g, op, addr, min_t(u64, narrow ? g->cfg.lba : g->cfg.buf_bytes,
				      prot_region_span(g, addr)));
}
