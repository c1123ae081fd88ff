// SPDX-License-Identifier: GPL-2.0-only
/*
 * OPENs with an access number, at the target: every set of facts, every two numbers around each
 * border, against rules that are stated once more here, on generation, counter and restart apart.
 */
#include "driver/uapi/number.h"
#include "rdda/target/state.h"
#include "rdda/wire.h"
#include "suite.h"

struct num {
	u64 generation, counter, restart;
};

#define C_MAX	((1ULL << 35) - 1)
#define C_STEP	(1ULL << 20)

/* Around each border: of restart, counter, generation, their steps, and the ends. */
static const struct num nums[] = {
	{ 0, 0, 0 }, { 0, 1, 0 }, { 0, 1, 1 }, { 0, 1, 65535 }, { 0, 2, 0 }, { 0, 2, 1 },
	{ 0, C_STEP, 0 }, { 0, C_STEP + 1, 0 }, { 0, C_STEP + 1, 1 }, { 0, C_STEP + 2, 0 },
	{ 0, C_MAX, 0 }, { 0, C_MAX, 65535 }, { 1, 1, 0 }, { 1, 2, 3 }, { 1, C_MAX, 0 },
	{ 16, 1, 0 }, { 16, C_MAX, 9 }, { 17, 2, 0 }, { 17, C_STEP + 3, 0 }, { 18, 1, 0 },
	{ 4079, 1, 0 }, { 4095, C_MAX, 65534 }, { 4095, C_MAX, 65535 },
};

#define NUMS (sizeof(nums) / sizeof(nums[0]))

static u64 value(struct num n)
{
	return n.generation << 51 | n.counter << 16 | n.restart;
}

/* -1, 0, 1: generation and counter of @a are lower, the same, higher than those of @b. */
static int access_order(struct num a, struct num b)
{
	if (a.generation != b.generation)
		return a.generation < b.generation ? -1 : 1;
	if (a.counter != b.counter)
		return a.counter < b.counter ? -1 : 1;
	return 0;
}

static bool is_zero(struct num n)
{
	return !n.generation && !n.counter && !n.restart;
}

#define FLAGS 16

/* Each bit of @n is one fact. */
static struct tgt_open_facts facts(unsigned int n)
{
	return (struct tgt_open_facts) {
		.found = !(n & 1), .drive_gone = n & 2, .ready = !(n & 4), .rw = !(n & 8),
		.preempt = n & 16, .old_self = n & 32, .others_dying = n & 64,
		.other_rw = n & 128, .other_ro = n & 256, .self_other = n & 512,
		.pending = n & 1024, .allowed = !(n & 2048), .unknown = n & 4096,
		.claimed = n & 8192, .attach_self = n & 16384, .again = n & 32768,
		.numbered = true,
	};
}

/* The number is refused: of a writer. */
static bool writer_old(const struct tgt_open_facts *f, struct num own, struct num seen,
		       const struct num *served)
{
	int order = access_order(own, seen);

	if (order < 0)
		return true;
	if (!order && (!f->attach_self || own.restart < seen.restart))
		return true;
	return served && !f->attach_self && access_order(seen, *served) >= 0;
}

static bool writer_far(struct num own, struct num seen)
{
	if (is_zero(seen))
		return false;
	if (own.generation > seen.generation)
		return own.generation - seen.generation > 16;
	return own.counter - seen.counter > C_STEP;
}

static bool all_ones(struct num n)
{
	return n.generation == 4095 && n.counter == C_MAX && n.restart == 65535;
}

/* The answer to a number that is neither refused nor in the way of anything. */
static int granted(const struct tgt_open_facts *f, struct num own, struct num seen)
{
	bool higher = access_order(own, seen) > 0 || own.restart > seen.restart;

	return f->rw && higher ? TGT_OPEN_REQUEST : RDDA_OPEN_OK;
}

static int expected(const struct tgt_open_facts *f, struct num own, struct num seen,
		    const struct num *served)
{
	if (!f->found)
		return f->unknown ? RDDA_OPEN_NOT_READY : RDDA_OPEN_NO_EXTENT;
	if (f->drive_gone)
		return RDDA_OPEN_DRIVE_GONE;
	if (!f->allowed)
		return RDDA_OPEN_NOT_ALLOWED;
	if (f->rw ? writer_old(f, own, seen, served) : access_order(own, seen) < 0)
		return RDDA_OPEN_OLD_ATTACH;
	if (all_ones(own) || (f->rw && writer_far(own, seen)))
		return RDDA_OPEN_FAR;
	if (!f->ready)
		return RDDA_OPEN_NOT_READY;
	/* What may still run: of this host's own past, of others, and of who preempts. */
	if (f->old_self || f->others_dying || f->claimed)
		return RDDA_OPEN_DRAINING;
	if (f->rw && f->preempt && (f->other_rw || f->other_ro))
		return TGT_OPEN_FENCE;
	if (f->other_rw || (f->rw && f->other_ro) || f->self_other)
		return RDDA_OPEN_HELD;
	if (f->unknown && !f->attach_self && !f->preempt &&
	    !(f->again && !f->rw && !access_order(own, seen) &&
	      (seen.generation || seen.counter)))
		return RDDA_OPEN_UNKNOWN;
	return f->pending ? RDDA_OPEN_DRAINING : granted(f, own, seen);
}

static unsigned int seen_status[TGT_OPEN_REVOKE + 1];

/* One set of facts with two numbers, and the number served, if any. Return: true if as expected. */
static bool decides(struct tgt_open_facts f, struct num own, struct num seen,
		    const struct num *served)
{
	int st;

	f.attach = value(own);
	f.attach_seen = value(seen);
	f.served = served ? value(*served) : 0;
	st = tgt_open_decide(&f);
	if (st >= 0 && st <= TGT_OPEN_REVOKE)
		seen_status[st]++;
	if (st == expected(&f, own, seen, served))
		return true;
	printf("\n%d, not %d: rw=%d self=%d %llx over %llx served %llx", st,
	       expected(&f, own, seen, served), f.rw, f.attach_self, (unsigned long long)f.attach,
	       (unsigned long long)f.attach_seen, (unsigned long long)f.served);
	return false;
}

/* A label that names a number names its host; number 0 has no attacher. */
static bool sensible(const struct tgt_open_facts *f, struct num own, struct num seen)
{
	return !(is_zero(seen) && f->attach_self) && !(f->rw && !own.generation && !own.counter);
}

static void every_fact(void)
{
	unsigned int n, i, j, bad = 0;

	for (n = 0; n < 1U << FLAGS && bad < 9; n++)
		for (i = 0; i < NUMS; i++)
			for (j = 0; j < NUMS; j++) {
				struct tgt_open_facts f = facts(n);

				if (sensible(&f, nums[i], nums[j]))
					bad += !decides(f, nums[i], nums[j], NULL);
			}
	CU_ASSERT_EQUAL(bad, 0);
	CU_ASSERT(seen_status[RDDA_OPEN_OK] && seen_status[TGT_OPEN_REQUEST]);
	CU_ASSERT(seen_status[RDDA_OPEN_OLD_ATTACH] && seen_status[RDDA_OPEN_FAR]);
	CU_ASSERT(seen_status[RDDA_OPEN_HELD] && seen_status[TGT_OPEN_FENCE]);
	CU_ASSERT(seen_status[RDDA_OPEN_UNKNOWN] && seen_status[RDDA_OPEN_NOT_ALLOWED]);
	CU_ASSERT(!seen_status[RDDA_OPEN_STALE] && !seen_status[RDDA_OPEN_GRACE]);
	CU_ASSERT(!seen_status[TGT_OPEN_REVOKE]);
}

/* Every three numbers, of a host that takes a volume again while serving. */
static void every_retake(void)
{
	unsigned int n, i, j, k, bad = 0;

	for (n = 0; n < 8 && bad < 9; n++)
		for (i = 0; i < NUMS; i++)
			for (j = 0; j < NUMS; j++)
				for (k = 1; k < NUMS; k++) {
					struct tgt_open_facts f = facts(0);

					f.attach_self = n & 1;
					f.preempt = n & 2;
					f.other_ro = n & 4;
					if (access_order(nums[k], nums[i]) < 0 &&
					    sensible(&f, nums[i], nums[j]))
						bad += !decides(f, nums[i], nums[j], &nums[k]);
				}
	CU_ASSERT_EQUAL(bad, 0);
}

/*
 * Facts that do not count with a number: epochs, grace, the label's holder, and meshd's word; of a
 * writer the client's, too; and the number, if it does not count.
 */
static void other_facts(void)
{
	unsigned int n, i, bad = 0;

	for (n = 0; n < 1U << FLAGS; n++)
		for (i = 0; i < 4; i++) {
			struct tgt_open_facts f = facts(n), g;

			f.attach = 2 << 16;
			f.attach_seen = i << 16;
			g = f;
			g.seen = 7;
			g.grace = true;
			g.again ^= f.rw;
			g.noted = n & 2;
			g.holder_none = n & 4;
			g.holder_self = n & 8;
			bad += tgt_open_decide(&f) != tgt_open_decide(&g);
			g = f;
			g.numbered = false;
			g.attach = g.attach_seen = 0;
			f = g;
			g.allowed = !g.allowed;
			g.unknown = !g.unknown;
			g.served = 5;
			bad += tgt_open_decide(&f) != tgt_open_decide(&g);
		}
	CU_ASSERT_EQUAL(bad, 0);
}

/* A probe is answered by what is there, not by who has it; it grants and fences nothing. */
static void probes(void)
{
	unsigned int n, i, bad = 0;

	for (n = 0; n < 1U << FLAGS; n++)
		for (i = 0; i < NUMS; i++) {
			struct tgt_open_facts f = facts(n);
			int want;

			f.rw = f.numbered = false;
			f.probe = true;
			f.attach_seen = value(nums[i]);
			f.seen = 7;
			f.grace = n & 8;
			if (!f.found)
				want = f.unknown ? RDDA_OPEN_NOT_READY : RDDA_OPEN_NO_EXTENT;
			else if (f.drive_gone)
				want = RDDA_OPEN_DRIVE_GONE;
			else if (!f.allowed)
				want = RDDA_OPEN_NOT_ALLOWED;
			else if (!f.ready)
				want = RDDA_OPEN_NOT_READY;
			else
				want = f.unknown ? RDDA_OPEN_UNKNOWN : RDDA_OPEN_OK;
			bad += tgt_open_decide(&f) != want;
		}
	CU_ASSERT_EQUAL(bad, 0);
}

#define HOSTS	3
#define STEPS	5

/*
 * In any order of three hosts' OPENs under some numbers: the label's number never falls, and no
 * access belongs to two hosts.
 */
static void sequences(void)
{
	static const struct num used[] = { { 0, 1, 0 }, { 0, 1, 2 }, { 0, 2, 0 }, { 1, 1, 1 } };
	unsigned int all = 1, s, i, step, bad = 0;

	for (i = 0; i < STEPS; i++)
		all *= HOSTS * 4;
	for (s = 0; s < all; s++) {
		unsigned int by = 0, of[3] = { 0 };
		struct num noted = { 0, 0, 0 };

		for (i = 0, step = s; i < STEPS; i++, step /= HOSTS * 4) {
			unsigned int host = 1 + step % HOSTS, number = step / HOSTS % 4;
			unsigned int access = number ? number - 1 : 0;
			struct tgt_open_facts f = facts(0);
			int st;

			f.attach_self = by == host;
			f.attach = value(used[number]);
			f.attach_seen = value(noted);
			st = tgt_open_decide(&f);
			if (st == RDDA_OPEN_OLD_ATTACH)
				continue;
			bad += st != TGT_OPEN_REQUEST && st != RDDA_OPEN_OK;
			bad += f.attach < f.attach_seen || (of[access] && of[access] != host);
			bad += (st == TGT_OPEN_REQUEST) != (f.attach > f.attach_seen);
			of[access] = host;
			noted = used[number];
			by = host;
		}
	}
	CU_ASSERT_EQUAL(bad, 0);
}

/* What ends a writer's access for good, by every two numbers. */
static void fences(void)
{
	unsigned int i, j, self, bad = 0;

	for (i = 0; i < NUMS; i++)
		for (j = 0; j < NUMS; j++)
			for (self = 0; self < 2; self++) {
				int order = access_order(nums[j], nums[i]);
				bool want = order > 0 || (!order && !self);

				bad += mesh_number_fences(value(nums[i]), value(nums[j]), self) != want;
			}
	CU_ASSERT_EQUAL(bad, 0);
}

static void examples(void)
{
	struct tgt_open_facts f = facts(0);

	f.attach = mesh_number(0, 5, 0);
	CU_ASSERT_EQUAL(tgt_open_decide(&f), TGT_OPEN_REQUEST);	/* a label that had none */
	f.attach_seen = f.attach;
	f.attach_self = true;
	CU_ASSERT_EQUAL(tgt_open_decide(&f), RDDA_OPEN_OK);	/* it is noted: needs no meshd */
	f.attach = mesh_number(0, 5, 1);
	CU_ASSERT_EQUAL(tgt_open_decide(&f), TGT_OPEN_REQUEST);
	f.attach_self = false;
	CU_ASSERT_EQUAL(tgt_open_decide(&f), RDDA_OPEN_OLD_ATTACH);	/* another host's restart */
	f.attach = mesh_number(0, 6, 0);
	f.other_ro = true;
	CU_ASSERT_EQUAL(tgt_open_decide(&f), RDDA_OPEN_HELD);	/* by readers */
	f.preempt = true;
	CU_ASSERT_EQUAL(tgt_open_decide(&f), TGT_OPEN_FENCE);
	f.other_ro = false;
	f.others_dying = true;
	CU_ASSERT_EQUAL(tgt_open_decide(&f), RDDA_OPEN_DRAINING);
	f.others_dying = f.preempt = false;
	f.unknown = true;
	CU_ASSERT_EQUAL(tgt_open_decide(&f), RDDA_OPEN_UNKNOWN);
	f.attach_self = true;
	CU_ASSERT_EQUAL(tgt_open_decide(&f), TGT_OPEN_REQUEST);
	/* A label that another host has between the number served and the new one. */
	f.unknown = f.attach_self = false;
	f.served = mesh_number(0, 4, 9);
	CU_ASSERT_EQUAL(tgt_open_decide(&f), RDDA_OPEN_OLD_ATTACH);
	f.attach_seen = mesh_number(0, 3, 0);
	CU_ASSERT_EQUAL(tgt_open_decide(&f), TGT_OPEN_REQUEST);
}

static const struct suite_test tests[] = {
	{ "every fact, every two numbers", every_fact },
	{ "every retake", every_retake },
	{ "facts that do not count", other_facts },
	{ "probes", probes },
	{ "numbers of several hosts", sequences },
	{ "what fences for good", fences },
	{ "examples", examples },
	{ NULL, NULL },
};

int main(void)
{
	return suite_main("access numbers at a target", tests);
}
