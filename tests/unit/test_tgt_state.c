// SPDX-License-Identifier: GPL-2.0-only
/* The target's sessions: every pair of states; and OPEN: every set of facts. */
#include <string.h>

#include "rdda/target/state.h"
#include "rdda/wire.h"
#include "suite.h"

static void session_table(void)
{
	/* From the row to the column: login, live, dying, draining, dead. */
	static const char *const want[TGT_STATES] = {
		[TGT_LOGIN]	= "-yy--",
		[TGT_LIVE]	= "--y--",
		[TGT_DYING]	= "---y-",
		[TGT_DRAINING]	= "----y",
		[TGT_DEAD]	= "-----",
	};
	int from, to;

	for (from = -1; from <= TGT_STATES; from++)
		for (to = -1; to <= TGT_STATES; to++) {
			bool may = false;

			if (from >= 0 && from < TGT_STATES && to >= 0 && to < TGT_STATES)
				may = want[from][to] == 'y';
			CU_ASSERT_EQUAL(tgt_state_may(from, to), may);
		}
	CU_ASSERT_STRING_EQUAL(tgt_state_name(TGT_DRAINING), "draining");
	CU_ASSERT_STRING_EQUAL(tgt_state_name(TGT_STATES), "?");
}

#define FLAGS 17	/* one bit each */

/* Each bit of @n is one fact; epochs: older, same, newer. */
static struct tgt_open_facts facts(unsigned int n, unsigned int epoch)
{
	struct tgt_open_facts f = {
		.found = n & 1, .drive_gone = n & 2, .ready = n & 4, .rw = n & 8,
		.preempt = n & 16, .old_self = n & 32, .others_dying = n & 64,
		.other_rw = n & 128, .other_ro = n & 256, .self_other = n & 512,
		.pending = n & 1024, .noted = n & 2048, .holder_none = n & 4096,
		.holder_self = n & 8192, .grace = n & 16384,
		.again = n & 32768, .claimed = n & 65536,
		.seen = 5, .epoch = 4 + epoch,
	};

	return f;
}

/* What a grant promises, stated apart from the order in which it is decided. */
static void open_promises(void)
{
	unsigned int n, epoch, seen[TGT_OPEN_REVOKE + 1] = { 0 };

	for (n = 0; n < 1U << FLAGS; n++)
		for (epoch = 0; epoch < 3; epoch++) {
			struct tgt_open_facts f = facts(n, epoch);
			int st = tgt_open_decide(&f);

			CU_ASSERT_FATAL(st >= 0 && st <= TGT_OPEN_REVOKE);
			seen[st]++;
			if (st == RDDA_OPEN_OK || st >= TGT_OPEN_FENCE) {
				CU_ASSERT(f.found && f.ready && !f.drive_gone);
				CU_ASSERT(f.epoch >= f.seen);
				CU_ASSERT(!f.old_self && !f.others_dying && !f.claimed);
			}
			/* A host that is not the noted holder has to wait, or was there before. */
			if (f.grace && !f.noted && !f.holder_none && !f.holder_self && !f.preempt &&
			    !(f.again && !f.rw))
				CU_ASSERT(st != RDDA_OPEN_OK && st != TGT_OPEN_REQUEST);
			/* A writer whose extent another host had meanwhile must attach again. */
			if (f.again && f.rw && !f.holder_self && !f.preempt)
				CU_ASSERT(st != RDDA_OPEN_OK && st != TGT_OPEN_REQUEST);
			/* Drives are being exported: nothing is known to be away. */
			if (st == RDDA_OPEN_NO_EXTENT)
				CU_ASSERT(!f.found && !f.grace);
			if (f.found && f.drive_gone)
				CU_ASSERT_EQUAL(st, RDDA_OPEN_DRIVE_GONE);
			if (st == RDDA_OPEN_OK || st == TGT_OPEN_REQUEST) {
				CU_ASSERT(!f.other_rw);
				CU_ASSERT(!f.rw || !f.other_ro);
				CU_ASSERT(!f.self_other);
			}
			if (st == RDDA_OPEN_OK && !f.noted) {
				CU_ASSERT(f.epoch == f.seen && !f.pending);
				CU_ASSERT(!f.rw || f.holder_self);
			}
			if (st == TGT_OPEN_REQUEST) {
				CU_ASSERT(!f.pending);
				CU_ASSERT(!f.rw || !f.grace || f.preempt || f.holder_none ||
					  f.holder_self);
			}
			if (st == TGT_OPEN_FENCE)
				CU_ASSERT(f.preempt && f.rw && (f.other_rw || f.other_ro));
			if (st == RDDA_OPEN_GRACE)
				CU_ASSERT(f.grace && !f.holder_none && !f.holder_self);
			if (st == TGT_OPEN_REVOKE) {
				CU_ASSERT(f.grace && f.again && f.rw && f.holder_self);
				CU_ASSERT(f.other_ro && !f.other_rw && !f.preempt);
			}
		}
	CU_ASSERT(seen[RDDA_OPEN_OK] && seen[RDDA_OPEN_NO_EXTENT] && seen[RDDA_OPEN_HELD]);
	CU_ASSERT(seen[RDDA_OPEN_STALE] && seen[RDDA_OPEN_DRAINING] && seen[RDDA_OPEN_GRACE]);
	CU_ASSERT(seen[RDDA_OPEN_DRIVE_GONE] && seen[RDDA_OPEN_NOT_READY]);
	CU_ASSERT(seen[TGT_OPEN_FENCE] && seen[TGT_OPEN_REQUEST] && seen[TGT_OPEN_REVOKE]);
}

/*
 * Every set of facts with every small number: a number that is too old is refused whatever else
 * holds, fences and revokes nothing; one that is noted changes no answer; a higher one needs meshd.
 */
static void open_attach(void)
{
	unsigned int n, i;

	for (n = 0; n < 1U << FLAGS; n++)
		for (i = 0; i < 4 * 4 * 2; i++) {
			struct tgt_open_facts f = facts(n, 1);
			int want = tgt_open_decide(&f);
			bool may;

			f.attach = i % 4;
			f.attach_seen = i / 4 % 4;
			f.attach_self = i / 16;
			may = !f.attach || f.attach > f.attach_seen ||
			      (f.attach == f.attach_seen && f.attach_self);
			if (!may && f.found && !f.drive_gone)
				want = RDDA_OPEN_OLD_ATTACH;
			if (f.attach > f.attach_seen && want == RDDA_OPEN_OK && !f.noted)
				want = TGT_OPEN_REQUEST;
			CU_ASSERT_EQUAL_FATAL(tgt_open_decide(&f), want);
		}
}

#define HOSTS	3
#define NUMBERS	3
#define STEPS	5

/* Whatever hosts try: the numbers that were taken never fall, and none is two hosts'. */
static void attach_sequences(void)
{
	unsigned int all = 1, s, i, step;

	for (i = 0; i < STEPS; i++)
		all *= HOSTS * NUMBERS;
	for (s = 0; s < all; s++) {
		unsigned int host_of[NUMBERS + 1] = { 0 }, noted = 0, by = 0;

		for (i = 0, step = s; i < STEPS; i++, step /= HOSTS * NUMBERS) {
			unsigned int host = 1 + step % HOSTS, number = 1 + step / HOSTS % NUMBERS;
			struct tgt_open_facts f = {
				.found = true, .ready = true, .rw = true, .holder_self = true,
				.attach = number, .attach_seen = noted, .attach_self = by == host,
			};
			int st = tgt_open_decide(&f);

			CU_ASSERT_EQUAL_FATAL(st == TGT_OPEN_REQUEST, number > noted);
			if (st == RDDA_OPEN_OLD_ATTACH)
				continue;
			CU_ASSERT_FATAL(number >= noted);
			CU_ASSERT_FATAL(!host_of[number] || host_of[number] == host);
			host_of[number] = host;
			noted = number;
			by = host;
		}
	}
}

static void open_examples(void)
{
	struct tgt_open_facts f = {
		.found = true, .ready = true, .rw = true, .epoch = 5, .seen = 5,
		.holder_none = true,
	};

	CU_ASSERT_EQUAL(tgt_open_decide(&f), TGT_OPEN_REQUEST);	/* a first holder is noted */
	f.noted = true;
	CU_ASSERT_EQUAL(tgt_open_decide(&f), RDDA_OPEN_OK);
	f.noted = false;
	f.holder_none = false;
	f.holder_self = true;
	CU_ASSERT_EQUAL(tgt_open_decide(&f), RDDA_OPEN_OK);	/* needs no daemon */
	f.grace = true;
	CU_ASSERT_EQUAL(tgt_open_decide(&f), RDDA_OPEN_OK);
	f.holder_self = false;
	CU_ASSERT_EQUAL(tgt_open_decide(&f), RDDA_OPEN_GRACE);
	f.preempt = true;
	CU_ASSERT_EQUAL(tgt_open_decide(&f), TGT_OPEN_REQUEST);
	f.preempt = false;
	f.grace = false;
	f.other_ro = true;
	CU_ASSERT_EQUAL(tgt_open_decide(&f), RDDA_OPEN_HELD);
	f.rw = false;
	CU_ASSERT_EQUAL(tgt_open_decide(&f), RDDA_OPEN_OK);	/* readers beside readers */
	f.other_rw = true;
	CU_ASSERT_EQUAL(tgt_open_decide(&f), RDDA_OPEN_HELD);
	f.preempt = true;
	CU_ASSERT_EQUAL(tgt_open_decide(&f), RDDA_OPEN_HELD);	/* a reader fences no host */
	f.rw = true;
	CU_ASSERT_EQUAL(tgt_open_decide(&f), TGT_OPEN_FENCE);
	f.old_self = true;
	CU_ASSERT_EQUAL(tgt_open_decide(&f), RDDA_OPEN_DRAINING);
}

/* A target has just started: writer, reader and a newcomer. */
static void open_after_start(void)
{
	struct tgt_open_facts f = { .grace = true, .rw = true };

	CU_ASSERT_EQUAL(tgt_open_decide(&f), RDDA_OPEN_NOT_READY);	/* not exported yet */
	f.grace = false;
	CU_ASSERT_EQUAL(tgt_open_decide(&f), RDDA_OPEN_NO_EXTENT);
	f.grace = true;
	f.found = true;
	f.ready = true;
	f.drive_gone = true;
	CU_ASSERT_EQUAL(tgt_open_decide(&f), RDDA_OPEN_DRIVE_GONE);
	f.drive_gone = false;
	f.rw = false;
	CU_ASSERT_EQUAL(tgt_open_decide(&f), RDDA_OPEN_GRACE);	/* a new reader waits too */
	f.again = true;
	CU_ASSERT_EQUAL(tgt_open_decide(&f), RDDA_OPEN_OK);	/* one that was there does not */
	f.rw = true;
	CU_ASSERT_EQUAL(tgt_open_decide(&f), RDDA_OPEN_HELD);	/* it was given to another */
	f.again = false;
	CU_ASSERT_EQUAL(tgt_open_decide(&f), RDDA_OPEN_GRACE);
	f.again = true;
	f.holder_self = true;
	CU_ASSERT_EQUAL(tgt_open_decide(&f), RDDA_OPEN_OK);
	f.other_ro = true;
	CU_ASSERT_EQUAL(tgt_open_decide(&f), TGT_OPEN_REVOKE);
	f.again = false;
	CU_ASSERT_EQUAL(tgt_open_decide(&f), RDDA_OPEN_HELD);	/* no holder any more */
	f.again = true;
	f.grace = false;
	CU_ASSERT_EQUAL(tgt_open_decide(&f), RDDA_OPEN_HELD);
}

/* Between the fence and the preemptor's next request the fenced host is back. */
static void open_claimed(void)
{
	struct tgt_open_facts f = {
		.found = true, .ready = true, .rw = true, .holder_self = true, .claimed = true,
	};

	CU_ASSERT_EQUAL(tgt_open_decide(&f), RDDA_OPEN_DRAINING);
	f.noted = true;
	CU_ASSERT_EQUAL(tgt_open_decide(&f), RDDA_OPEN_DRAINING);
	f.preempt = true;
	CU_ASSERT_EQUAL(tgt_open_decide(&f), RDDA_OPEN_DRAINING);
	f.claimed = false;
	CU_ASSERT_EQUAL(tgt_open_decide(&f), RDDA_OPEN_OK);
}

static const struct suite_test tests[] = {
	{ "session states", session_table },
	{ "what a grant promises", open_promises },
	{ "attach numbers", open_attach },
	{ "attach numbers of several hosts", attach_sequences },
	{ "answers to OPEN", open_examples },
	{ "after a start", open_after_start },
	{ "while another preempts", open_claimed },
	{ NULL, NULL },
};

int main(void)
{
	return suite_main("target state", tests);
}
