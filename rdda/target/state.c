// SPDX-License-Identifier: GPL-2.0-only
/* Session states and the decision on an OPEN; see state.h. Pure. */
#include <linux/kernel.h>
#include <linux/types.h>

#include "driver/uapi/number.h"
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
 * True if no label takes the number: a wrong or forged one must not use the numbers up. A label
 * without a number takes any, but for the highest one.
 */
static bool number_far(const struct tgt_open_facts *f)
{
	u64 generation = mesh_number_generation(f->attach);
	u64 seen = mesh_number_generation(f->attach_seen);

	if (f->attach == MESH_NUMBER_MAX)
		return true;
	if (!f->rw || !f->attach_seen)
		return false;
	if (generation != seen)
		return generation - seen > MESH_NUMBER_GENERATION_STEP;
	return mesh_number_counter(f->attach) - mesh_number_counter(f->attach_seen) >
	       MESH_NUMBER_COUNTER_STEP;
}

/*
 * Compare an access number with the label's. A reader has the volume's as it was when the reader
 * attached, with which it may read until a writer has a higher one. A lower restart is a late OPEN
 * of the same writer. A host that serves, and takes the volume again, must not miss that another
 * host wrote in between, even under a number that is lower than its new one. Return: 0,
 * RDDA_OPEN_OLD_ATTACH or RDDA_OPEN_FAR.
 */
static int number_check(const struct tgt_open_facts *f)
{
	if (mesh_number_fences(f->attach, f->attach_seen, f->attach_self || !f->rw))
		return RDDA_OPEN_OLD_ATTACH;
	if (f->rw && f->attach < f->attach_seen)
		return RDDA_OPEN_OLD_ATTACH;
	if (f->served && !f->attach_self && mesh_number_fences(f->served, f->attach_seen, false))
		return RDDA_OPEN_OLD_ATTACH;
	return number_far(f) ? RDDA_OPEN_FAR : 0;
}

/* True if other hosts have the extent open in a way that excludes this access. */
static bool open_held(const struct tgt_open_facts *f)
{
	return f->other_rw || (f->rw && f->other_ro);
}

/*
 * The checks before the question whether a living host holds the extent. A reader's preempt ends
 * grace times, but ends no session of a living host. Return: a status, or 0: nothing.
 */
static int open_before_living(const struct tgt_open_facts *f)
{
	if (!f->ready)
		return RDDA_OPEN_NOT_READY;
	if (f->old_self || f->others_dying || f->claimed)
		return RDDA_OPEN_DRAINING;
	return open_held(f) && f->preempt && f->rw ? TGT_OPEN_FENCE : 0;
}

/*
 * True: a reader that had the extent open comes back, and the label still has its number. While
 * the reader had the extent, no writer had. Each writer since has a higher number, which is in the
 * label before that writer is let in, and the label outlives the target. So the target has
 * forgotten no writer; and a reader excludes no reader.
 */
static bool open_reader_again(const struct tgt_open_facts *f)
{
	u64 seen = mesh_number_access(f->attach_seen);

	return f->again && !f->rw && seen && mesh_number_access(f->attach) == seen;
}

/*
 * Answer an OPEN with an access number. As for others, the dying come before the living, and the
 * label last: it has the number before the host writes, and never before all that was admitted of
 * the former holder and of readers has ended. No version is compared. A target that just started
 * may have forgotten an opening, but not the label: the host named there is let in, and a reader
 * that the label proves right.
 */
static int open_numbered(const struct tgt_open_facts *f)
{
	int status = number_check(f) ?: open_before_living(f);

	if (status)
		return status;
	if (open_held(f) || f->self_other)
		return RDDA_OPEN_HELD;
	if (f->unknown && !f->preempt && !f->attach_self && !open_reader_again(f))
		return RDDA_OPEN_UNKNOWN;
	if (f->pending)
		return RDDA_OPEN_DRAINING;
	return f->rw && f->attach > f->attach_seen ? TGT_OPEN_REQUEST : RDDA_OPEN_OK;
}

/* Answer a probe of an extent that is there. */
static int open_probe(const struct tgt_open_facts *f)
{
	if (!f->ready)
		return RDDA_OPEN_NOT_READY;
	return f->unknown ? RDDA_OPEN_UNKNOWN : RDDA_OPEN_OK;
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
	bool numbers = f->numbered || f->probe;
	/*
	 * Hosts that, by their own word, had the extent open before; a writer: when the target went
	 * down.
	 */
	bool writer = f->grace && f->again && f->rw && f->holder_self;
	bool reader = f->again && !f->rw;
	int status;

	if (!f->found)		/* just started: drives are exported one by one */
		return (numbers ? f->unknown : f->grace) ? RDDA_OPEN_NOT_READY :
		       RDDA_OPEN_NO_EXTENT;
	if (f->drive_gone)
		return RDDA_OPEN_DRIVE_GONE;
	if (numbers && !f->allowed)
		return RDDA_OPEN_NOT_ALLOWED;
	if (f->probe)
		return open_probe(f);
	if (f->numbered)
		return open_numbered(f);
	if (f->epoch < f->seen)
		return RDDA_OPEN_STALE;
	if (open_old_attach(f))
		return RDDA_OPEN_OLD_ATTACH;
	status = open_before_living(f);
	if (status)
		return status;
	/* The writer named in the label gets the extent back from readers that were here first. */
	if (open_held(f) && writer && !f->other_rw)
		return TGT_OPEN_REVOKE;
	if (open_held(f) || f->self_other)
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
