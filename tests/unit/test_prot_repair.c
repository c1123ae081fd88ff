// SPDX-License-Identifier: GPL-2.0-only
/* Rows that members cannot read: many at once, and too many of one member. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <linux/kernel.h>
#include <linux/minmax.h>

#include "prot_rig.h"
#include "protect/engine/bypass.h"
#include "protect/engine/group_priv.h"

#define LBA	512
#define STRIP	(4 * LBA)
#define MANY	20	/* reads at once */
#define STRIPES	128

static u64 data;
static u64 bad[6][STRIPES];	/* rows of a strip that a member cannot read */

static void nothing(const struct prot_event *ev)
{
	(void)ev;
}

/* A read of a bad row is refused; a write makes it good. */
static int refuses(const struct prot_event *ev)
{
	u64 at = (ev->io.addr - data) / LBA, end = at + ev->io.length / LBA;
	int err = 0;

	if (ev->io.addr < data)
		return 0;
	for (; at < end; at++) {
		u64 *rows = &bad[ev->io.member][at / 4], bit = 1ULL << at % 4;

		if (ev->io.kind != PROT_READ)
			*rows &= ~bit;
		else if (*rows & bit)
			err = -ENODATA;
	}
	return err;
}

static struct prot_group *make(u8 level)
{
	struct prot_group_config c = { .bytes = STRIPES * STRIP, .epoch = 1, .region = 8 * STRIP,
				       .lba = LBA, .buf_bytes = STRIP, .ops = 32, .bufs = 24,
				       .level = level, .width = 2, .fresh = 1 };

	if (level == PROT_EC)
		rig_ec(&c, 4, 2);
	c.in_sync = PROT_BIT(c.width) - 1;
	data = rig_members(&c);
	memset(disk, 0, sizeof(disk[0]) * c.width);
	memset(bad, 0, sizeof(bad));
	rig_refuses = refuses;
	saw = nothing;
	return rig_start(&c);
}

/* Each row of each stripe can be read from five of six: all reads at once are served. */
static void test_many(void)
{
	u32 n, i;

	for (n = 1; n <= MANY; n++) {
		struct prot_group *g = make(PROT_EC);

		for (i = 0; i < n; i++) {
			bad[0][6 * i] = 1;
			bad[1][6 * i] = 2;
			bad[2][6 * i] = 4;
		}
		hold = true;
		for (i = 0; i < n; i++)
			CU_ASSERT_FATAL(prot_group_submit(g, PROT_READ, 0, 6ULL * i * 4 * STRIP,
							  3 * LBA, 0) >= 0);
		run(g);
		for (i = 0; nr_held && i < 2000 && !last_err; i++)
			let_go(g);
		CU_ASSERT_EQUAL(done, n);
		CU_ASSERT_EQUAL(last_err, 0);
		CU_ASSERT(prot_group_quiet(g));
		for (i = 0; i < n; i++)
			CU_ASSERT(!(bad[0][6 * i] | bad[1][6 * i]));
		CU_ASSERT(!(seen >> PROT_EV_EPOCH & 1));
		free(g);
	}
}

/* A read around the engine has failed on one copy: it is repaired, though the other one serves. */
static void test_direct(void)
{
	u32 i;

	for (i = 0; i < 2; i++) {
		struct prot_group *g = make(PROT_MIRROR);

		bad[i][2] = 1;
		CU_ASSERT_FATAL(prot_group_submit(g, PROT_READ, PROT_UNREAD, 2 * STRIP, LBA, 0) >= 0);
		run(g);
		CU_ASSERT_EQUAL(done, 1);
		CU_ASSERT_EQUAL(last_err, 0);
		CU_ASSERT(!bad[i][2]);
		CU_ASSERT_EQUAL(g->errors[i], 1);
		CU_ASSERT(prot_group_quiet(g));
		free(g);
	}
}

/* What the end of such a read says of its member, and of what the engine has to rewrite. */
static void test_direct_ends(void)
{
	static const struct { int err; u8 mirror, gone; } ends[] = {
		{ 0, 0, 0 }, { -ENODATA, PROT_UNREAD, 0 }, { -EILSEQ, PROT_UNREAD, 0 },
		{ -EIO, 0, 1 }, { -ENODEV, 0, 1 }, { -EREMOTEIO, 0, 1 }, { -ESTALE, 0, 1 },
	};
	struct prot_group *copies = make(PROT_MIRROR), *parity = make(PROT_EC);
	u32 i;

	for (i = 0; i < ARRAY_SIZE(ends); i++) {
		CU_ASSERT_EQUAL(prot_bypass_flags(&copies->cfg, ends[i].err), ends[i].mirror);
		/* its engine reads of the same member, and notes that itself */
		CU_ASSERT_EQUAL(prot_bypass_flags(&parity->cfg, ends[i].err), 0);
		CU_ASSERT_EQUAL(prot_bypass_gone(ends[i].err), ends[i].gone);
	}
	free(copies);
	free(parity);
}

/* Reads beside the scrub's op that go on failing do not keep one that waits from its turn. */
static void test_turns(void)
{
	struct prot_group *g = make(PROT_EC);
	u32 i, k;

	for (i = 0; i < STRIPES; i++) {
		bad[0][i] = 1;
		bad[1][i] = i ? 0 : 2;
		bad[2][i] = i ? 0 : 4;
	}
	hold = true;
	CU_ASSERT_FATAL(prot_group_submit(g, PROT_READ, 0, 0, 3 * LBA, 0) >= 0);
	run(g);
	/* the first to be done with stripe 0's rows says that it had its turn */
	for (i = 0; bad[0][0] | bad[1][0] && i < 40; i++) {
		for (k = 0; k < 2 && nr_held < 40; k++)	/* strip 0 of stripe 6 n: member 0 */
			prot_group_submit(g, PROT_READ, 0, 6ULL * (1 + (2 * i + k) % 10) * 4 * STRIP,
					  LBA, sizeof(payload) / 2);
		bad[0][6 * (1 + i % 10)] = 1;
		let_go(g);
	}
	CU_ASSERT(i < 40);
	while (nr_held)
		let_go(g);
	CU_ASSERT_EQUAL(last_err, 0);
	free(g);
}

/* More than its budget in an hour, and a member has failed; unless it is needed. */
static void test_budget(void)
{
	static const u8 levels[] = { PROT_MIRROR, PROT_EC };
	u32 i, l, n, hour;

	for (l = 0; l < 2; l++)
		for (hour = 0; hour < 2; hour++) {
			struct prot_group *g = make(levels[l]);
			u32 step = l ? 6 : 2, unit = l ? 4 * STRIP : STRIP;

			for (i = 0; i <= PROT_ERRORS_HOUR; i++) {
				bad[0][i % 8 * step] = 1;
				CU_ASSERT(!(seen >> PROT_EV_EPOCH & 1));
				/* the first may be of the other copy */
				for (n = 0; n < 2; n++)
					CU_ASSERT_EQUAL(rig_request(g, PROT_READ, i % 8 * step *
								    unit, LBA), 0);
				CU_ASSERT(!bad[0][i % 8 * step] || i == PROT_ERRORS_HOUR);
				if (hour && i == PROT_ERRORS_HOUR / 2)
					prot_group_hour(g);
			}
			run(g);
			CU_ASSERT_EQUAL(seen >> PROT_EV_EPOCH & 1, !hour);
			free(g);
		}
}

int main(void)
{
	static const struct suite_test tests[] = {
		{ "many reads at once", test_many },
		{ "a direct read that failed", test_direct },
		{ "ends of bypass reads", test_direct_ends },
		{ "turns", test_turns },
		{ "budget of errors", test_budget },
		{ NULL, NULL },
	};

	return suite_main("prot_repair", tests);
}
