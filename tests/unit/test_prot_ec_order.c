// SPDX-License-Identifier: GPL-2.0-only
/*
 * An erasure-coded group by hand: what comes after what. Members that are readmitted
 * in turn, writes of the same rows next to one that does not come to an end, writes in order.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <asm/byteorder.h>

#include "prot_rig.h"
#include "protect/ec/ec_priv.h"
#include "protect/record/record.h"

#define LBA	512
#define STRIP	(4 * LBA)
#define DATA	(8 * STRIP)

static u64 meta;		/* bytes of records on a member */
static struct {
	u32 reads, records, places;
} cost;

static void count(const struct prot_event *ev)
{
	if (ev->io.kind == PROT_READ)
		cost.reads++;
	else if (ev->io.addr < meta)
		cost.records++;
	else
		cost.places++;
}

#define COST(r, j, p) do { \
	CU_ASSERT_EQUAL(cost.reads, r); \
	CU_ASSERT_EQUAL(cost.records, j); \
	CU_ASSERT_EQUAL(cost.places, p); \
	} while (0)

static struct prot_group *make(u8 k, u8 m)
{
	struct prot_group_config c = { .bytes = DATA, .in_sync = (1ULL << (k + m)) - 1, .epoch = 1,
				       .region = 2 * STRIP, .lba = LBA, .ops = 16, .bufs = 10,
				       .level = PROT_EC, .width = k + m, .k = k, .m = m,
				       .strip = STRIP, .slot_bytes = STRIP, .slot_head = 4096,
				       .rings = 2, .slots = 8, .fresh = 1 };

	meta = rig_members(&c);
	memset(disk, 0, sizeof(disk[0]) * c.width);
	memset(&cost, 0, sizeof(cost));
	saw = count;
	return rig_start(&c);
}

static u8 byte_at(u32 i)
{
	return i * 7 + (i >> 8) * 13 + 5;
}

/* Payload at @at goes to byte @at of the group. */
static void submit(struct prot_group *g, u32 at, u32 length)
{
	u32 i;

	for (i = at; i < at + length; i++)
		payload[i] = byte_at(i);
	CU_ASSERT_FATAL(prot_group_submit(g, PROT_WRITE, 0, at, length, at) >= 0);
}

/* It reads as written, whichever members of stripe 0 cannot be read. */
static void check(struct prot_group *g, u32 at, u32 length)
{
	u32 i, j;

	CU_ASSERT(prot_group_quiet(g));
	for (i = 0; i < 6; i++) {
		unreadable = 0x21ULL << i & 0x3f;
		memset(payload, 0, length);
		CU_ASSERT_EQUAL(rig_request(g, PROT_READ, at, length), 0);
		for (j = 0; j < length && payload[j] == byte_at(at + j); j++)
			;
		CU_ASSERT_EQUAL(j, length);
	}
	unreadable = 0;
}

/* What is held back ends, but what goes in place on member 0. */
static void let_go_but_0(struct prot_group *g)
{
	struct prot_event now[ARRAY_SIZE(held)];
	u32 i, n = nr_held;

	memcpy(now, held, sizeof(now));
	nr_held = 0;
	for (i = 0; i < n; i++) {
		if (now[i].io.kind == PROT_WRITE && now[i].io.addr >= meta && !now[i].io.member)
			held[nr_held++] = now[i];
		else
			rig_end_io(g, &now[i]);
	}
	run(g);
}

/*
 * The first write is in place but for its data; the second wrote the same parity
 * after it and is over. The third must not take parity out of the first one's buffer.
 */
static void test_stale_parity(void)
{
	struct prot_group *g = make(4, 2);
	u32 i;

	hold = true;
	submit(g, 0, LBA);
	run(g);
	let_go(g);			/* what it reads */
	submit(g, STRIP, LBA);
	run(g);
	for (i = 0; i < 8; i++)
		let_go_but_0(g);
	CU_ASSERT_EQUAL(done, 2);
	CU_ASSERT_EQUAL(nr_held, 1);
	submit(g, 2 * STRIP, LBA);
	run(g);
	for (i = 0; i < 8; i++)
		let_go_but_0(g);
	CU_ASSERT_EQUAL(done, 3);
	CU_ASSERT_EQUAL(nr_held, 1);
	while (nr_held)
		let_go(g);
	hold = false;
	for (i = 0; i < 3; i++)
		check(g, i * STRIP, LBA);
	free(g);
}

/* What a later write covers in part goes in place before it, and waits for nothing. */
static void test_covered_part(void)
{
	struct prot_group *g = make(4, 2);
	u32 i;

	hold = true;
	submit(g, 0, 2 * LBA);
	run(g);
	let_go(g);			/* what it reads */
	for (i = 0; i < 4; i++)
		submit(g, i * STRIP + LBA, 2 * LBA);
	run(g);
	memset(&cost, 0, sizeof(cost));
	let_go(g);			/* its records: the others, now one, begin */
	COST(0, 6, 3);
	while (nr_held)
		let_go(g);
	COST(0, 6, 3 + 6);
	CU_ASSERT_EQUAL(g->counts.joined, 3);
	CU_ASSERT_EQUAL(g->counts.folded, 0);
	CU_ASSERT_EQUAL(done, 5);
	hold = false;
	check(g, 0, 3 * LBA);
	free(g);
}

/*
 * Acknowledged, and in place but for the last parity, whose member does not answer: what
 * is in place is read at once; what rebuilds from that parity's row waits until it has failed.
 */
static void test_read_placed(void)
{
	struct prot_group *g = make(4, 2);
	u32 i;

	submit(g, 0, LBA);
	run(g);
	hold = true;
	submit(g, 0, LBA);
	run(g);
	while (done < 2) {
		let_go(g);
		run(g);
	}
	for (i = 0; i < nr_held; i++)		/* all but parity 1, of member 5 */
		if (held[i].io.member == 5)
			held[0] = held[i];
		else
			rig_end_io(g, &held[i]);
	nr_held = 1;
	hold = false;
	run(g);
	payload[0] = 0;
	CU_ASSERT_EQUAL(rig_request(g, PROT_READ, 0, LBA), 0);
	CU_ASSERT_EQUAL(payload[0], byte_at(0));
	unreadable = 1;
	CU_ASSERT_EQUAL(rig_request(g, PROT_READ, 0, LBA), 1);
	unreadable = 0;
	prot_group_result(g, held[0].io.tag, -EIO);
	run(g);
	CU_ASSERT_EQUAL(done, 4);
	CU_ASSERT_EQUAL(last_err, 0);
	prot_group_epoch(g, 2, 0x1f);
	run(g);
	CU_ASSERT(prot_group_quiet(g));
	free(g);
}

/*
 * A member has failed, no epoch comes, and writes that wait for it have all the private
 * buffers that writes get: a read that has to rebuild is served.
 */
static void test_read_reserve(void)
{
	struct prot_group *g = make(4, 2);
	u32 i;

	broken = 1;
	for (i = 0; i < 8; i++)
		if (prot_group_member(g, i, 5) == 0 || prot_group_member(g, i, 4) == 0 || i < 4)
			CU_ASSERT(prot_group_submit(g, PROT_WRITE, 0, i * 4 * STRIP, LBA, 0) >= 0);
	run(g);
	for (i = 0; i < 4; i++) {
		CU_ASSERT(prot_group_submit(g, PROT_WRITE, 0, i * 4 * STRIP + LBA, LBA, 0) >= 0);
		run(g);
	}
	CU_ASSERT(seen >> PROT_EV_EPOCH & 1);
	done = 0;
	/* strip 0 of stripe 6, which is on member 0 */
	CU_ASSERT_EQUAL(rig_request(g, PROT_READ, 6 * 4 * STRIP + 2 * LBA, LBA), 0);
	CU_ASSERT_EQUAL(done, 1);
	broken = 0;
	prot_group_epoch(g, 2, 0x3e);
	run(g);
	CU_ASSERT(prot_group_quiet(g));
	free(g);
}

/* Of five that can be read, the four with the least to do rebuild the sixth. */
static void test_shortest_queues(void)
{
	struct prot_group *g = make(4, 2);
	u32 i;

	prot_group_epoch(g, 2, 0x3e);
	run(g);
	hold = true;
	CU_ASSERT_EQUAL(rig_request(g, PROT_READ, 2 * STRIP, LBA), 1);
	CU_ASSERT_EQUAL_FATAL(nr_held, 1);
	CU_ASSERT_EQUAL(held[0].io.member, 2);
	CU_ASSERT_EQUAL(rig_request(g, PROT_READ, 0, LBA), 1);
	CU_ASSERT_EQUAL(nr_held, 5);
	for (i = 1; i < nr_held; i++)
		CU_ASSERT_NOT_EQUAL(held[i].io.member, 2);
	while (nr_held)
		let_go(g);
	CU_ASSERT_EQUAL(done, 2);
	CU_ASSERT_EQUAL(last_err, 0);
	free(g);
}

/* The number that both blocks of a member have. */
static u64 attach_of(u32 member)
{
	const struct prot_attach_rec *r = (const void *)disk[member];
	const struct prot_attach_rec *s = (const void *)(disk[member] + LBA);

	return min(le64_to_cpu(r->attach), le64_to_cpu(s->attach));
}

/*
 * Two are readmitted one after the other, the second in the middle of the bump for
 * the first, or after it: all have the last number, or records on them would be dead
 * to an attachment that finds only them.
 */
static void test_attach_bumps(void)
{
	u32 during, i;

	for (during = 0; during < 2; during++) {
		struct prot_group *g = make(2, 2);

		prot_group_epoch(g, 2, 3);
		run(g);
		hold = true;
		CU_ASSERT_EQUAL(prot_group_join(g, 2), 0);
		run(g);
		while (nr_held && (!during || held[0].io.addr >= 2 * LBA))
			let_go(g);
		CU_ASSERT_EQUAL(!nr_held, !during);
		CU_ASSERT_EQUAL(prot_group_join(g, 3), 0);
		run(g);
		while (nr_held)
			let_go(g);
		CU_ASSERT(seen >> PROT_EV_CAUGHT_UP & 1);
		CU_ASSERT_EQUAL(g->attach, 3);
		for (i = 0; i < 4; i++)
			CU_ASSERT_EQUAL(attach_of(i), 3);
		free(g);
	}
}

static u64 slots_gone;		/* of ring 0, a bit each, that member 0, or 1, cannot read */
static u64 slot_at, slot_size;

static int no_slot(const struct prot_event *ev)
{
	u64 n = (ev->io.addr - slot_at) / slot_size;

	if (ev->io.kind != PROT_READ || ev->io.addr < slot_at || ev->io.addr >= meta ||
	    ev->io.member > 1 || n > 7)
		return 0;
	return slots_gone >> (2 * n + ev->io.member) & 1 ? -ENODATA : 0;
}

/*
 * Two members of one parity cannot read a slot each: one that is dead by what the others
 * say, one that was never used. The group serves with all of them.
 */
static void test_dead_slots(void)
{
	struct prot_group *g = make(2, 1);
	struct prot_group_config c;
	u32 i;

	for (i = 0; i < 3; i++) {
		submit(g, 0, LBA);
		run(g);
	}
	prot_group_idle(g);
	run(g);
	c = g->cfg;
	slot_at = prot_ec_slot(g, 0, 0, 0);
	slot_size = c.slot_head + c.slot_bytes;
	free(g);
	c.fresh = 0;
	slots_gone = 1ULL << (2 * 1) | 1ULL << (2 * 7 + 1);
	rig_refuses = no_slot;
	g = rig_start(&c);
	CU_ASSERT(!(seen >> PROT_EV_EPOCH & 1));
	CU_ASSERT_EQUAL(g->failed, 0);
	rig_refuses = NULL;
	payload[0] = 0;
	CU_ASSERT_EQUAL(rig_request(g, PROT_READ, 0, LBA), 0);
	CU_ASSERT_EQUAL(payload[0], byte_at(0));
	free(g);
	/* one that may live, on a member that holds it: the others go on without that member */
	slots_gone = ~0ULL >> 2;
	rig_refuses = no_slot;
	broken = unreadable = seen = done = 0;
	g = prot_group_init(calloc(1, prot_group_bytes(&c)), &c);
	run(g);
	CU_ASSERT(seen >> PROT_EV_STOPPED & 1);
	rig_refuses = NULL;
	free(g);
}

/* Three stripes, strip by strip, all in flight; the first @queued of them are there at once. */
static struct prot_group *write_in_order(u32 queued)
{
	struct prot_group *g = make(4, 2);
	u32 i;

	memset(&cost, 0, sizeof(cost));
	hold = true;
	for (i = 1; i <= 12; i++) {
		submit(g, (i - 1) * STRIP, STRIP);
		if (i >= queued)
			run(g);
	}
	CU_ASSERT_EQUAL(g->counts.in_order, 2);	/* others wait for the rows anyway */
	while (nr_held)
		let_go(g);
	CU_ASSERT_EQUAL(done, 12);
	hold = false;
	return g;
}

static void check_in_order(struct prot_group *g)
{
	u32 i;

	for (i = 0; i < 3; i++)
		check(g, i * 4 * STRIP, 4 * STRIP);
	free(g);
}

/* Writes in order, several in flight: stripe after stripe is whole, and nothing is read. */
static void test_in_order(void)
{
	struct prot_group *g = write_in_order(4);

	COST(0, 18, 18);
	check_in_order(g);
}

/* Also behind writes that wait for the rows of the first, which has gone alone. */
static void test_in_order_one_by_one(void)
{
	struct prot_group *g = write_in_order(1);

	CU_ASSERT_EQUAL(g->counts.full, 2);
	CU_ASSERT_EQUAL(g->counts.partial, 2);
	check_in_order(g);
}

/* What begins where one in flight has ended waits for its answer, and then goes alone. */
static void test_in_order_ends(void)
{
	struct prot_group *g = make(4, 2);
	u32 i;

	memset(&cost, 0, sizeof(cost));
	hold = true;
	submit(g, 0, 4 * STRIP);
	run(g);
	submit(g, 4 * STRIP, LBA);
	submit(g, 4 * STRIP + LBA, LBA);	/* beside it in its strip */
	submit(g, 12 * STRIP, LBA);		/* behind nothing */
	run(g);
	CU_ASSERT_EQUAL(g->counts.in_order, 2);
	CU_ASSERT_EQUAL(cost.reads, 3);		/* of the last */
	for (i = 0; i < 2 && !done; i++)	/* records of the first */
		let_go(g);
	CU_ASSERT(done >= 1);
	CU_ASSERT_EQUAL(cost.reads, 6);		/* the two as one, before any is in place */
	CU_ASSERT_EQUAL(g->counts.joined, 1);
	while (nr_held)
		let_go(g);
	CU_ASSERT_EQUAL(done, 4);
	/* one at a time: nothing waits */
	hold = false;
	for (i = 2; i < 6; i++)
		CU_ASSERT_EQUAL(rig_request(g, PROT_WRITE, 4 * STRIP + i * LBA, LBA), 0);
	CU_ASSERT_EQUAL(g->counts.in_order, 2);
	free(g);
}

/* One that is held up by a read is not held behind a later write in the place of the first. */
static void test_in_order_again(void)
{
	struct prot_group *g = make(4, 2);
	struct prot_event read;
	u32 i;

	hold = true;
	submit(g, 0, STRIP);
	run(g);
	CU_ASSERT_FATAL(prot_group_submit(g, PROT_READ, 0, STRIP, STRIP, 0) >= 0);
	run(g);
	read = held[--nr_held];
	CU_ASSERT_EQUAL_FATAL(read.io.kind, PROT_READ);
	submit(g, STRIP, STRIP);
	run(g);
	while (nr_held)
		let_go(g);
	CU_ASSERT_EQUAL(done, 1);
	submit(g, 0, STRIP);
	run(g);
	rig_end_io(g, &read);
	for (i = 0; i < STRIP; i++)	/* where it was read to */
		payload[i] = byte_at(i);
	run(g);
	while (nr_held)
		let_go(g);
	CU_ASSERT_EQUAL(done, 4);
	hold = false;
	for (i = 0; i < 2; i++)
		check(g, i * STRIP, STRIP);
	free(g);
}

/* None is held behind a write that waits for a member; nor when one is slow. */
static void test_in_order_silent(void)
{
	struct prot_group *g = make(4, 2);

	hold = true;
	submit(g, 0, 4 * STRIP);
	run(g);
	memset(&cost, 0, sizeof(cost));
	submit(g, 4 * STRIP, LBA);
	run(g);
	CU_ASSERT_EQUAL(cost.reads, 0);
	prot_group_avoid(g, 1);
	run(g);
	CU_ASSERT(cost.reads > 0);
	while (nr_held)
		let_go(g);
	CU_ASSERT_EQUAL(done, 2);
	free(g);
}

int main(void)
{
	static const struct suite_test tests[] = {
		{ "parity of an older write", test_stale_parity },
		{ "writes covered in part", test_covered_part },
		{ "reads of strips in place", test_read_placed },
		{ "buffers kept for reads", test_read_reserve },
		{ "slots that cannot be read", test_dead_slots },
		{ "the shortest queues", test_shortest_queues },
		{ "writes in order", test_in_order },
		{ "writes in order, one by one", test_in_order_one_by_one },
		{ "the last of writes in order", test_in_order_ends },
		{ "writes in order, and again", test_in_order_again },
		{ "writes in order and a silent member", test_in_order_silent },
		{ "attach numbers of two readmitted", test_attach_bumps },
		{ NULL, NULL },
	};

	return suite_main("prot_ec_order", tests);
}
