// SPDX-License-Identifier: GPL-2.0-only
/* Session states and the decision on an OPEN; see state.h. Pure. */
#include <linux/kernel.h>
#include <linux/types.h>

#include "rdda/target/state.h"
#include "rdda/wire.h"

static const struct {
	const char *name;
	u8 next;		/* states that may follow, as bits */
} states[TGT_STATES] = {
	[TGT_LOGIN]	= { "login",	1 << TGT_LIVE | 1 << TGT_DYING },
	[TGT_LIVE]	= { "live",	1 << TGT_DYING },
	[TGT_DYING]	= { "dying",	1 << TGT_DRAINING },
	[TGT_DRAINING]	= { "draining",	1 << TGT_DEAD },
	[TGT_DEAD]	= { "dead",	0 },
};

/* True if a session may go from state @from to state @to. */
bool tgt_state_may(enum tgt_state from, enum tgt_state to)
{
	if ((unsigned int)from >= TGT_STATES || (unsigned int)to >= TGT_STATES)
		return false;
	return states[from].next & (1 << to);
}

/* Human-readable name of a state. */
const char *tgt_state_name(enum tgt_state state)
{
	return (unsigned int)state < TGT_STATES ? states[state].name : "?";
}

/*
 * True if a newer attach is noted: the higher number wins; of two hosts with the same number, the
 * host that was noted first wins.
 */
static bool open_old_attach(const struct tgt_open_facts *f)
{
	return f->attach && (f->attach < f->attach_seen ||
			     (f->attach == f->attach_seen && !f->attach_self));
}

/*
 * Answer an OPEN. The order matters. First come requests that cannot succeed. Then the dying:
 * nothing is granted on a drive where an older incarnation of the same host may still have
 * commands, nor an extent whose last holder is not dead yet. Then the living. Then the label, which
 * must name a holder and an attach number before the holder writes. Return: enum rdda_open_status,
 * TGT_OPEN_FENCE, TGT_OPEN_REQUEST or TGT_OPEN_REVOKE.
 */
int tgt_open_decide(const struct tgt_open_facts *f)
{
	bool held = f->rw ? f->other_rw || f->other_ro : f->other_rw;
	/*
	 * Hosts that, by their own word, had the extent open before; a writer: when the target went
	 * down.
	 */
	bool writer = f->grace && f->again && f->rw && f->holder_self;
	bool reader = f->again && !f->rw;

	if (!f->found)		/* just started: drives are exported one by one */
		return f->grace ? RDDA_OPEN_NOT_READY : RDDA_OPEN_NO_EXTENT;
	if (f->drive_gone)
		return RDDA_OPEN_DRIVE_GONE;
	if (f->epoch < f->seen)
		return RDDA_OPEN_STALE;
	if (open_old_attach(f))
		return RDDA_OPEN_OLD_ATTACH;
	if (!f->ready)
		return RDDA_OPEN_NOT_READY;
	if (f->old_self || f->others_dying || f->claimed)
		return RDDA_OPEN_DRAINING;
	/* A reader's preempt ends grace times, but ends no session of a living host. */
	if (held && f->preempt && f->rw)
		return TGT_OPEN_FENCE;
	/* The writer named in the label gets the extent back from readers that were here first. */
	if (held && writer && !f->other_rw)
		return TGT_OPEN_REVOKE;
	if (held)
		return RDDA_OPEN_HELD;
	if (f->self_other)
		return RDDA_OPEN_HELD;
	/*
	 * The client had the extent for writing, but the label does not name its host any more:
	 * another host got the extent since, and may have given it back. The client's caches are
	 * outdated.
	 */
	if (f->again && f->rw && !f->holder_self && !f->preempt)
		return RDDA_OPEN_HELD;
	if (f->noted)
		return RDDA_OPEN_OK;
	if (f->pending)
		return RDDA_OPEN_DRAINING;
	if (f->grace && !f->holder_none && !f->holder_self && !f->preempt && !reader)
		return RDDA_OPEN_GRACE;
	if (f->epoch > f->seen || (f->rw && !f->holder_self) || f->attach > f->attach_seen)
		return TGT_OPEN_REQUEST;
	return RDDA_OPEN_OK;
}
