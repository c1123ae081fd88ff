// SPDX-License-Identifier: GPL-2.0-only
/* What an engine makes of I/O that fails, by class: the table in group.h, line by line. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <linux/kernel.h>

#include "prot_rig.h"
#include "protect/engine/group_priv.h"

#define LBA	512
#define STRIP	(4 * LBA)

static u64 meta;
static u32 member_sent[PROT_WIDTH_MAX];	/* writes of data */
static struct {
	u32 member;
	u32 times;		/* that it refuses */
	int err;
	u64 kinds;		/* of these I/Os */
	bool records;		/* of records, else of data */
} refuse;

static void count(const struct prot_event *ev)
{
	member_sent[ev->io.member] += ev->io.kind != PROT_READ && ev->io.addr >= meta;
}

static int refuses(const struct prot_event *ev)
{
	if (!refuse.times || ev->io.member != refuse.member || !(refuse.kinds >> ev->io.kind & 1) ||
	    (ev->io.addr < meta) != refuse.records)
		return 0;
	refuse.times--;
	return refuse.err;
}

static struct prot_group *make(bool ec)
{
	struct prot_group_config c = { .bytes = 8 * STRIP, .epoch = 1, .region = 2 * STRIP,
				       .lba = LBA, .buf_bytes = STRIP, .ops = 16, .bufs = 10,
				       .level = PROT_MIRROR, .width = 3, .fresh = 1 };

	if (ec)
		rig_ec(&c, 2, 1);
	c.in_sync = 7;
	meta = rig_members(&c);
	memset(disk, 0x77, sizeof(disk[0]) * c.width);
	memset(member_sent, 0, sizeof(member_sent));
	memset(&refuse, 0, sizeof(refuse));
	rig_refuses = refuses;
	saw = count;
	return rig_start(&c);
}

static void refuse_next(u32 member, u32 times, int err, u64 kinds, bool records)
{
	refuse.member = member;
	refuse.times = times;
	refuse.err = err;
	refuse.kinds = kinds;
	refuse.records = records;
}

static bool requested(void)
{
	return seen >> PROT_EV_EPOCH & 1;
}

#define WRITES	PROT_BIT(PROT_WRITE)
#define ZEROING	(PROT_BIT(PROT_DISCARD) | PROT_BIT(PROT_ZEROES))

/* Zeroes are written where no other zeroing is taken; no member fails of that. */
static void test_unsupported(void)
{
	u32 ec, i;

	for (ec = 0; ec < 2; ec++) {
		struct prot_group *g = make(ec);
		u32 unit = ec ? 2 * STRIP : STRIP;

		refuse_next(1, 100, -EOPNOTSUPP, ZEROING, false);
		CU_ASSERT_EQUAL(rig_request(g, PROT_ZEROES, 0, unit), 0);
		CU_ASSERT(!requested());
		CU_ASSERT_EQUAL(refuse.times, 99);
		for (i = 0; i < 3; i++)
			CU_ASSERT(!disk[i][meta] && !memcmp(disk[i] + meta, disk[i] + meta + 1,
							     STRIP - 1));
		/* it is not tried again there */
		CU_ASSERT_EQUAL(rig_request(g, PROT_ZEROES, unit, unit), 0);
		CU_ASSERT_EQUAL(refuse.times, 99);
		CU_ASSERT_EQUAL(member_sent[1], 3);
		CU_ASSERT(prot_group_quiet(g));
		free(g);
	}
}

/* One that answers gets one more try, with the same bytes; then it is out by an epoch. */
static void test_medium_write(void)
{
	u32 ec, records, times;

	for (ec = 0; ec < 2; ec++)
		for (records = 0; records < 2; records++)
			for (times = 1; times < 3; times++) {
				struct prot_group *g = make(ec);

				memset(payload, 0x11, sizeof(payload));
				refuse_next(0, times, -ENODATA, WRITES, records);
				CU_ASSERT_EQUAL(rig_request(g, PROT_WRITE, 0, LBA),
						times == 1 || (ec && !records) ? 0 : 1);
				CU_ASSERT_EQUAL(requested(), times == 2);
				CU_ASSERT_EQUAL(refuse.times, 0);
				if (times == 2) {
					prot_group_epoch(g, 2, 6);
					run(g);
				} else {
					CU_ASSERT_EQUAL(disk[0][meta], 0x11);
				}
				CU_ASSERT_EQUAL(done, 1);
				CU_ASSERT_EQUAL(last_err, 0);
				CU_ASSERT(prot_group_quiet(g));
				free(g);
			}
}

/* What should never come, and what is gone: an epoch without the member, reads too. */
static void test_gone(void)
{
	static const int errs[] = { -EAGAIN, -ENOMEM, -EIO, -ENOLINK };
	u32 ec, i;

	for (i = 0; i < 2 * ARRAY_SIZE(errs); i++) {
		struct prot_group *g;

		ec = i & 1;
		g = make(ec);
		refuse_next(0, 1, errs[i / 2], WRITES, ec);
		CU_ASSERT_EQUAL(rig_request(g, PROT_WRITE, 0, LBA), 1);
		CU_ASSERT(requested());
		prot_group_epoch(g, 2, 6);
		run(g);
		CU_ASSERT_EQUAL(done, 1);
		CU_ASSERT_EQUAL(last_err, 0);
		free(g);
		g = make(ec);
		refuse_next(0, 1, errs[i / 2], PROT_BIT(PROT_READ), false);
		CU_ASSERT_EQUAL(rig_request(g, PROT_READ, 0, LBA), 0);
		CU_ASSERT(requested());
		CU_ASSERT_EQUAL(g->failed, 1);
		CU_ASSERT_EQUAL(g->rewritten, 0);
		free(g);
	}
}

/* A read of a member that answers decides nothing; its rows are rewritten. */
static void test_medium_read(void)
{
	u32 ec;

	for (ec = 0; ec < 2; ec++) {
		struct prot_group *g = make(ec);

		CU_ASSERT_EQUAL(rig_request(g, PROT_ZEROES, 0, ec ? 2 * STRIP : STRIP), 0);
		refuse_next(0, 1, -ENODATA, PROT_BIT(PROT_READ), false);
		memset(member_sent, 0, sizeof(member_sent));
		payload[0] = 1;
		CU_ASSERT_EQUAL(rig_request(g, PROT_READ, 0, LBA), 0);
		CU_ASSERT_EQUAL(payload[0], 0);
		CU_ASSERT(!requested());
		free(g);
	}
}

int main(void)
{
	static const struct suite_test tests[] = {
		{ "zeroing that a member does not take", test_unsupported },
		{ "a write fails of a member that answers", test_medium_write },
		{ "a member is gone", test_gone },
		{ "a read fails of a member that answers", test_medium_read },
		{ NULL, NULL },
	};

	return suite_main("prot_errors", tests);
}
