// SPDX-License-Identifier: GPL-2.0-only
/*
 * A mirror group by hand: what the simulator's schedules do not reach. Sizes,
 * refusals, a group that lost too much, scrub, read errors, balance, members that
 * are about to be in sync.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <linux/kernel.h>

#include "prot_rig.h"

#define LBA	512
#define META	(8 * LBA)
#define DATA	(16 * LBA)

static u32 ios[PROT_COPIES_MAX];
static u64 wrote;		/* sectors of data, a bit each */

static struct prot_group_config config(u8 width)
{
	struct prot_group_config c = { .bytes = DATA, .in_sync = (1 << width) - 1, .epoch = 1,
				       .region = 4 * LBA, .lba = LBA, .buf_bytes = 2 * LBA,
				       .ops = 8, .bufs = 4, .level = PROT_MIRROR,
				       .width = width, .fresh = 1 };
	u32 i;

	for (i = 0; i < width; i++)
		c.data[i] = META;
	return c;
}

static void count(const struct prot_event *ev)
{
	u64 first = (ev->io.addr - META) / LBA, n = ev->io.length / LBA;

	ios[ev->io.member]++;
	if (ev->io.kind == PROT_WRITE && ev->io.addr >= META)
		wrote |= ((1ULL << n) - 1) << first;
}

static struct prot_group *make(u8 width)
{
	struct prot_group_config c = config(width);

	memset(disk, 0, sizeof(disk[0]) * width);
	memset(ios, 0, sizeof(ios));
	wrote = 0;
	saw = count;
	return rig_start(&c);
}

static void test_config(void)
{
	struct prot_group_config c = config(2);
	struct prot_group *g;

	CU_ASSERT(prot_group_bytes(&c) > 0);
	CU_ASSERT_EQUAL(prot_group_meta_bytes(&c), (2 + PROT_BITMAPS) * LBA);
#define BAD(field, value) do { \
	c = config(2); \
	c.field = value; \
	CU_ASSERT_EQUAL(prot_group_bytes(&c), 0); \
	} while (0)
	BAD(width, 1);
	BAD(width, PROT_COPIES_MAX + 1);
	BAD(level, PROT_EC);
	BAD(lba, 1024);
	BAD(bytes, 0);
	BAD(bytes, LBA + 1);
	BAD(region, 3 * LBA);
	BAD(region, 256);
	BAD(ops, 2);
	BAD(bufs, 3);
	BAD(buf_bytes, 100);
	BAD(bytes, 1ULL << 40);	/* too many regions of this size */
#undef BAD
	/* 100 TB in regions of 64 MiB */
	c = config(4);
	c.lba = 4096;
	c.bytes = 100ULL << 40;
	c.region = 64 << 20;
	c.buf_bytes = 65536;
	CU_ASSERT(prot_group_bytes(&c) > 0 && prot_group_bytes(&c) < 32 << 20);
	g = prot_group_init(calloc(1, prot_group_bytes(&c)), &c);
	CU_ASSERT_EQUAL(prot_group_span(g, PROT_WRITE, 0), 1 << 20);
	CU_ASSERT_EQUAL(prot_group_span(g, PROT_ZEROES, LBA * 8), (1 << 20) - LBA * 8);
	CU_ASSERT_EQUAL(prot_group_span(g, PROT_DISCARD, (64 << 20) - LBA * 8), LBA * 8);
	free(g);
}

static void test_refused(void)
{
	struct prot_group *g = make(2);

	CU_ASSERT_EQUAL(prot_group_submit(g, PROT_FLUSH, 0, 0, LBA, 0), -EINVAL);
	CU_ASSERT_EQUAL(prot_group_submit(g, PROT_READ, 0, 0, 0, 0), -EINVAL);
	CU_ASSERT_EQUAL(prot_group_submit(g, PROT_READ, 0, 100, LBA, 0), -EINVAL);
	CU_ASSERT_EQUAL(prot_group_submit(g, PROT_READ, 0, DATA, LBA, 0), -EINVAL);
	CU_ASSERT_EQUAL(prot_group_submit(g, PROT_WRITE, 0, 3 * LBA, 2 * LBA, 0), -EINVAL);
	CU_ASSERT_EQUAL(prot_group_span(g, PROT_READ, 3 * LBA), LBA);
	CU_ASSERT_EQUAL(prot_group_join(g, 0), -EINVAL);
	while (prot_group_submit(g, PROT_WRITE, 0, 0, LBA, 0) >= 0)
		;
	CU_ASSERT_EQUAL(prot_group_submit(g, PROT_WRITE, 0, 0, LBA, 0), -EAGAIN);
	run(g);
	CU_ASSERT_EQUAL(done, 6);
	CU_ASSERT(prot_group_quiet(g));
	free(g);
}

/* A group that lost a copy waits for the epoch; one that lost all stops, for good. */
static void test_beyond(void)
{
	struct prot_group *g = make(2);

	broken = 2;
	CU_ASSERT_EQUAL(rig_request(g, PROT_WRITE, 0, LBA), 1);
	CU_ASSERT(seen >> PROT_EV_EPOCH & 1);
	CU_ASSERT_EQUAL(rig_request(g, PROT_READ, 8 * LBA, LBA), 0);
	prot_group_epoch(g, 2, 1);
	run(g);
	CU_ASSERT_EQUAL(done, 2);
	CU_ASSERT_EQUAL(last_err, 0);
	CU_ASSERT_EQUAL(rig_request(g, PROT_WRITE, 0, LBA), 0);
	broken = 3;
	CU_ASSERT_EQUAL(rig_request(g, PROT_WRITE, 0, LBA), -EIO);
	CU_ASSERT(seen >> PROT_EV_STOPPED & 1);
	broken = 0;
	CU_ASSERT_EQUAL(prot_group_submit(g, PROT_READ, 0, 0, LBA, 0), -EIO);
	CU_ASSERT_EQUAL(prot_group_submit(g, PROT_WRITE, 0, 0, LBA, 0), -EIO);
	CU_ASSERT_EQUAL(prot_group_join(g, 1), -EINVAL);
	free(g);
}

static void test_read_errors(void)
{
	struct prot_group *g = make(3);

	memset(payload, 0x11, sizeof(payload));
	CU_ASSERT_EQUAL(rig_request(g, PROT_WRITE, 0, LBA), 0);
	memset(payload, 0, sizeof(payload));
	unreadable = 5;
	CU_ASSERT_EQUAL(rig_request(g, PROT_READ, 0, LBA), 0);
	CU_ASSERT_EQUAL(payload[0], 0x11);
	CU_ASSERT(!(seen >> PROT_EV_EPOCH & 1));	/* a read decides nothing */
	/* what they could not read was read from the other one and written again */
	CU_ASSERT(g->rewritten > 0);
	unreadable = 7;
	CU_ASSERT_EQUAL(rig_request(g, PROT_READ, 0, LBA), -EIO);
	unreadable = 0;
	CU_ASSERT_EQUAL(rig_request(g, PROT_READ, 0, LBA), 0);
	free(g);
}

/* Of two reads that begin alike and fail, all that the longer one wanted is repaired. */
static void test_repair_longer(void)
{
	struct prot_group *g = make(2);

	unreadable = 1;
	hold = true;
	CU_ASSERT_EQUAL(rig_request(g, PROT_READ, 0, LBA), 1);
	CU_ASSERT_EQUAL(rig_request(g, PROT_READ, 8 * LBA, LBA), 1);
	CU_ASSERT_EQUAL(rig_request(g, PROT_READ, 0, 4 * LBA), 1);
	CU_ASSERT_EQUAL(nr_held, 3);
	CU_ASSERT_EQUAL(held[0].io.member, 0);
	CU_ASSERT_EQUAL(held[2].io.member, 0);
	while (nr_held)
		let_go(g);
	CU_ASSERT_EQUAL(done, 3);
	CU_ASSERT_EQUAL(last_err, 0);
	CU_ASSERT_EQUAL(wrote, 0xf);
	free(g);
}

static void test_scrub(void)
{
	struct prot_group *g = make(3);

	memset(payload, 0x22, sizeof(payload));
	CU_ASSERT_EQUAL(rig_request(g, PROT_WRITE, 0, 4 * LBA), 0);
	disk[1][META + LBA] ^= 1;
	disk[2][META + 9 * LBA] ^= 1;
	prot_group_scrub(g, &(struct prot_scrub){ .repair = 1, .source = PROT_NO_SOURCE });
	run(g);
	/* one of them in a region that has its intent bit set */
	CU_ASSERT_EQUAL(g->mismatches, 2);
	CU_ASSERT(!memcmp(disk[1] + META, disk[0] + META, DATA));
	CU_ASSERT(!memcmp(disk[2] + META, disk[0] + META, DATA));
	CU_ASSERT_EQUAL(g->scrubbing, 0);
	free(g);
}

static void test_balance(void)
{
	struct prot_group *g = make(2);
	struct prot_event ev;
	u32 tags[2], i;
	u64 members = 0;

	for (i = 0; i < 2; i++) {
		prot_group_submit(g, PROT_READ, 0, i * 8 * LBA, LBA, i);
		prot_group_next(g, &ev);
		CU_ASSERT_EQUAL_FATAL(ev.kind, PROT_EV_IO);
		members |= 1 << ev.io.member;
		tags[i] = ev.io.tag;
	}
	CU_ASSERT_EQUAL(members, 3);	/* the shorter queue */
	prot_group_result(g, tags[0], 0);
	prot_group_result(g, tags[1], 0);
	run(g);
	memset(ios, 0, sizeof(ios));
	for (i = 9; i < 12; i++)	/* a run stays where it began */
		rig_request(g, PROT_READ, i * LBA, LBA);
	CU_ASSERT_EQUAL(ios[0] * ios[1], 0);
	free(g);
}

/* What an attachment does before it serves is bounded by bits, not by bytes. */
static void test_attach_cost(void)
{
	struct prot_group_config c = config(2);
	struct prot_group *g = make(2);
	u32 i;

	CU_ASSERT_EQUAL(rig_request(g, PROT_WRITE, 0, LBA), 0);
	free(g);
	c.fresh = 0;
	memset(ios, 0, sizeof(ios));
	g = prot_group_init(calloc(1, prot_group_bytes(&c)), &c);
	for (i = 0; i < 2; i++) {
		struct prot_event ev;

		prot_group_next(g, &ev);
		CU_ASSERT_EQUAL(ev.io.kind, PROT_READ);
		rig_io(g, &ev);
	}
	run(g);
	CU_ASSERT_EQUAL(g->replayed, 1);	/* one region of four */
	CU_ASSERT_EQUAL(g->synced, 4 * LBA);
	free(g);
}

/* Of what is held back, the I/O of @member ends; the rest stays held. */
static void let_go_of(struct prot_group *g, u32 member)
{
	struct prot_event now[ARRAY_SIZE(held)];
	u32 i, n = nr_held;

	memcpy(now, held, sizeof(now));
	nr_held = 0;
	for (i = 0; i < n; i++) {
		if (now[i].io.member == member)
			rig_end_io(g, &now[i]);
		else
			held[nr_held++] = now[i];
	}
	run(g);
}

/* Members that are held back data, not records. */
static u64 data_held(void)
{
	u64 members = 0;
	u32 i;

	for (i = 0; i < nr_held; i++)
		if (held[i].io.addr >= META)
			members |= 1 << held[i].io.member;
	return members;
}

/*
 * One that is about to be in sync is written to when the intent bits of all such ones are durable
 * too: each of them, and it alone, may be what a crash leaves in sync.
 */
static void test_promoted_bits(void)
{
	struct prot_group *g = make(3);

	prot_group_epoch(g, 2, 1);
	run(g);
	CU_ASSERT_EQUAL(prot_group_join(g, 1), 0);
	CU_ASSERT_EQUAL(prot_group_join(g, 2), 0);
	run(g);
	CU_ASSERT(seen >> PROT_EV_CAUGHT_UP & 1);
	hold = true;
	CU_ASSERT_EQUAL(rig_request(g, PROT_WRITE, 0, LBA), 1);
	CU_ASSERT_EQUAL(nr_held, 3);
	CU_ASSERT_EQUAL(data_held(), 0);
	let_go_of(g, 0);
	CU_ASSERT_EQUAL(data_held(), 1);
	let_go_of(g, 2);
	CU_ASSERT_EQUAL(data_held(), 1);
	let_go_of(g, 1);
	CU_ASSERT_EQUAL(data_held(), 7);
	let_go(g);
	CU_ASSERT_EQUAL(done, 1);
	CU_ASSERT_EQUAL(last_err, 0);
	free(g);
}

/* No member is readmitted while earlier I/O is in flight, or earlier records of its own. */
static void test_join_busy(void)
{
	struct prot_group *g = make(2);

	hold = true;
	CU_ASSERT_EQUAL(rig_request(g, PROT_WRITE, 0, LBA), 1);
	CU_ASSERT_EQUAL(data_held(), 0);	/* the intent bits */
	prot_group_epoch(g, 2, 1);
	run(g);
	CU_ASSERT_EQUAL(prot_group_join(g, 1), -EBUSY);
	CU_ASSERT_EQUAL(prot_group_replace(g, 1, (const u8 *)"another member's", 3), -EBUSY);
	let_go_of(g, 1);
	CU_ASSERT_EQUAL(prot_group_join(g, 1), 0);
	hold = false;
	let_go(g);
	CU_ASSERT_EQUAL(done, 1);
	free(g);
}

/* Of what is held, the I/O at @addr ends. */
static void end_held(struct prot_group *g, u64 addr)
{
	u32 i;

	for (i = 0; i < nr_held && held[i].io.addr != addr; i++)
		;
	CU_ASSERT_FATAL(i < nr_held);
	rig_end_held(g, i);
}

/* An intent bit stays until all that are out are known to have missed the region. */
static void test_missed_first(void)
{
	struct prot_group *g = make(3);
	u32 i;

	prot_group_epoch(g, 2, 1);
	run(g);
	hold = true;
	CU_ASSERT_EQUAL(rig_request(g, PROT_WRITE, 0, LBA), 1);
	/* the intent bit, then the data, and the records of the two members that missed it */
	CU_ASSERT_EQUAL_FATAL(nr_held, 3);
	end_held(g, 2 * LBA);
	CU_ASSERT_EQUAL_FATAL(nr_held, 3);
	end_held(g, META);
	CU_ASSERT_EQUAL(done, 1);
	for (i = 1; i < 3; i++) {
		prot_group_idle(g);
		run(g);
		prot_group_idle(g);
		run(g);
		CU_ASSERT_EQUAL_FATAL(nr_held, 3 - i);
		end_held(g, (2 + PROT_MISSED + i) * LBA);
	}
	prot_group_idle(g);
	run(g);
	CU_ASSERT_EQUAL_FATAL(nr_held, 1);
	CU_ASSERT_EQUAL(held[0].io.addr, 2 * LBA);
	free(g);
}

/*
 * A group that no request comes to any more leaves no intent bit, also of what was written just now;
 * but those of writes in flight.
 */
static void test_settle(void)
{
	struct prot_group_config c = config(2);
	struct prot_group *g = make(2);
	u32 i;

	CU_ASSERT(prot_group_settle(g));
	for (i = 0; i < 3; i++)
		CU_ASSERT_EQUAL(rig_request(g, PROT_WRITE, 4 * i * LBA, LBA), 0);
	hold = true;
	CU_ASSERT_EQUAL(rig_request(g, PROT_WRITE, 0, LBA), 1);
	CU_ASSERT_EQUAL(data_held(), 3);
	CU_ASSERT(!prot_group_settle(g));
	run(g);
	CU_ASSERT_EQUAL(data_held(), 3);
	CU_ASSERT_EQUAL(nr_held, 4);	/* a block of each, without the other two */
	let_go(g);
	CU_ASSERT_EQUAL(done, 4);
	CU_ASSERT(!prot_group_settle(g));
	run(g);
	CU_ASSERT_EQUAL(nr_held, 2);
	CU_ASSERT(!prot_group_settle(g));	/* not on the members yet */
	let_go(g);
	CU_ASSERT(prot_group_settle(g));
	hold = false;
	free(g);
	c.fresh = 0;
	g = rig_start(&c);
	CU_ASSERT_EQUAL(g->replayed, 0);
	CU_ASSERT_EQUAL(g->synced, 0);
	free(g);
}

/* Catching up that found nothing to read goes on when members change, and not before. */
static void test_stalled(void)
{
	u32 joins;

	for (joins = 0; joins < 2; joins++) {
		struct prot_group *g = make(3);

		prot_group_epoch(g, 2, 1);
		run(g);
		CU_ASSERT_EQUAL(rig_request(g, PROT_WRITE, 0, LBA), 0);
		unreadable = 1;
		CU_ASSERT_EQUAL(prot_group_join(g, 1), 0);
		run(g);
		unreadable = 0;
		run(g);
		CU_ASSERT(!(seen >> PROT_EV_CAUGHT_UP & 1));
		if (joins) {
			CU_ASSERT_EQUAL(prot_group_join(g, 2), 0);
		} else {
			prot_group_epoch(g, 3, 1);
		}
		run(g);
		CU_ASSERT(seen >> PROT_EV_CAUGHT_UP & 1);
		free(g);
	}
}

/*
 * One that caught up and failed before it was in sync has left again: what it missed
 * is known to the next attachment too, by the epoch that says so.
 */
static void test_left_again(void)
{
	struct prot_group_config c = config(2);
	struct prot_group *g = make(2);

	prot_group_epoch(g, 2, 1);
	run(g);
	CU_ASSERT_EQUAL(prot_group_join(g, 1), 0);
	run(g);
	CU_ASSERT(seen >> PROT_EV_CAUGHT_UP & 1);
	broken = 2;
	CU_ASSERT_EQUAL(rig_request(g, PROT_WRITE, 0, LBA), 1);
	prot_group_epoch(g, 3, 1);
	run(g);
	CU_ASSERT_EQUAL(done, 1);
	prot_group_idle(g);
	run(g);
	free(g);
	c.fresh = 0;
	c.epoch = 3;
	c.in_sync = 1;
	c.left[1] = 3;
	g = rig_start(&c);
	CU_ASSERT_EQUAL(prot_group_join(g, 1), 0);
	run(g);
	CU_ASSERT(seen >> PROT_EV_CAUGHT_UP & 1);
	CU_ASSERT_EQUAL(g->synced, 4 * LBA);	/* one region of four */
	free(g);
}

int main(void)
{
	static const struct suite_test tests[] = {
		{ "configurations", test_config },
		{ "refused requests", test_refused },
		{ "beyond redundancy", test_beyond },
		{ "read errors", test_read_errors },
		{ "repair of the longer read", test_repair_longer },
		{ "scrub", test_scrub },
		{ "balance", test_balance },
		{ "cost of attaching", test_attach_cost },
		{ "intent bits of the promoted", test_promoted_bits },
		{ "readmitted while busy", test_join_busy },
		{ "missed before intent is cleared", test_missed_first },
		{ "no intent bit left", test_settle },
		{ "stalled until members change", test_stalled },
		{ "left again", test_left_again },
		{ NULL, NULL },
	};

	return suite_main("prot_group", tests);
}
