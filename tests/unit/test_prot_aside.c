// SPDX-License-Identifier: GPL-2.0-only
/* Reads that a member which is out never ends, by hand: who has their buffers. */
#include "prot_rig.h"
#include "protect/ec/ec_priv.h"

#define LBA	512
#define STRIP	(4 * LBA)
#define DATA	(64 * STRIP)
#define SPARES	4
#define BUFS	12
#define SMALLS	10

static u32 silent;		/* this member ends no read, and fails each write */
static u32 silent_too;		/* so does this one */
static struct prot_event hung[16];
static u32 nr_hung;
static u64 meta;

static void ignore(const struct prot_event *ev)
{
	(void)ev;
}

static struct prot_group *make_with(u16 spares, u16 cached)
{
	struct prot_group_config c = { .level = PROT_EC, .width = 6, .k = 4, .m = 2, .ops = 24,
				       .bufs = BUFS, .smalls = SMALLS, .small = LBA,
				       .spares = { spares, spares }, .cached = cached,
				       .strip = STRIP, .slot_bytes = STRIP, .slot_head = LBA,
				       .rings = 2, .slots = 8, .bytes = DATA, .epoch = 1,
				       .region = 2 * STRIP, .lba = LBA, .fresh = 1,
				       .in_sync = 0x3f };
	u32 i;

	for (i = 0; i < sizeof(payload); i++)
		payload[i] = i * 7 + (i >> 8) * 13;
	meta = rig_members(&c);
	memset(disk, 0, sizeof(disk));
	saw = ignore;
	nr_hung = 0;
	silent = PROT_WIDTH_MAX;
	silent_too = PROT_WIDTH_MAX;
	return rig_start(&c);
}

static u8 *buffer_of(struct prot_group *g, const struct prot_event *ev)
{
	return (u8 *)prot_group_buffer(g, ev->runs[0].buffer) + ev->runs[0].offset;
}

static u32 nr_set(const u64 *set, u32 from, u32 to)
{
	u32 i, n = 0;

	for (i = from; i < to; i++)
		n += prot_set_has(set, i);
	return n;
}

/* The drive writes into its buffers, which are those of no op. */
static void scribble(struct prot_group *g)
{
	u32 i, n;

	for (n = 0; n < nr_hung; n++) {
		u32 buf = hung[n].runs[0].buffer - PROT_BUFFER_PRIVATE;

		if (!*prot_hung(g, buf))
			continue;
		memset(buffer_of(g, &hung[n]), 0xee, hung[n].io.length);
		for (i = 0; i < g->cfg.ops; i++)
			if (prot_gop(g, i)->phase != PROT_P_FREE)
				CU_ASSERT_NOT_EQUAL(prot_gop(g, i)->buf, buf);
		if (buf < prot_nr_bufs(&g->cfg)) {
			CU_ASSERT(!prot_set_has(prot_free_bufs(g), buf));
			CU_ASSERT(!prot_set_has(prot_spare_bufs(g), buf));
		}
	}
}

/* All ends that is to end. */
static void answer(struct prot_group *g)
{
	struct prot_event now[ARRAY_SIZE(held)];
	u32 i, n;

	while ((n = nr_held)) {
		memcpy(now, held, sizeof(now));
		nr_held = 0;
		for (i = 0; i < n; i++) {
			if (now[i].io.member != silent && now[i].io.member != silent_too)
				rig_end_io(g, &now[i]);
			else if (now[i].io.kind == PROT_READ)
				hung[nr_hung++] = now[i];
			else
				prot_group_result(g, now[i].io.tag, -EIO);
		}
		scribble(g);
		run(g);
	}
}

static void goes_out(struct prot_group *g)
{
	prot_group_fail(g, silent);
	run(g);
	prot_group_epoch(g, g->cfg.epoch + 1, g->in_sync & ~PROT_BIT(silent));
	run(g);
	answer(g);
}

/* Return: whether the n-th that hangs was set aside. */
static bool aside(struct prot_group *g, u32 n)
{
	if (!prot_group_set_aside(g, hung[n].io.tag, hung[n].runs[0].buffer))
		return false;
	prot_group_result(g, hung[n].io.tag, -ENOLINK);
	scribble(g);
	run(g);
	answer(g);
	return true;
}

static void comes_back(struct prot_group *g, u32 n)
{
	scribble(g);
	prot_group_returned(g, hung[n].runs[0].buffer);
	hung[n].io.length = 0;
	run(g);
	answer(g);
}

static void submit(struct prot_group *g, u8 kind, u64 addr, u32 length)
{
	CU_ASSERT_FATAL(prot_group_submit(g, kind, 0, addr, length, addr) >= 0);
	run(g);
}

/* What is read of the range, with the member that is silent out, is what was written. */
static void holds(struct prot_group *g, u64 addr, u32 length)
{
	u8 *was = malloc(length);

	memcpy(was, payload + addr, length);
	memset(payload + addr, 0, length);
	submit(g, PROT_READ, addr, length);
	answer(g);
	CU_ASSERT_EQUAL(memcmp(was, payload + addr, length), 0);
	memcpy(payload + addr, was, length);
	free(was);
}

/* A write of each size reads old data of a member that hangs; strip s of stripe 0 is on member s. */
static void write_goes_on(u32 length, bool small)
{
	struct prot_group *g = make_with(SPARES, 0);
	u32 first = small ? BUFS : 0, end = small ? BUFS + SMALLS : BUFS;
	u32 unused = nr_set(prot_free_bufs(g), first, end);

	CU_ASSERT_EQUAL(g->spares[small], SPARES);
	submit(g, PROT_WRITE, 0, 4 * STRIP);
	silent = 1;
	hold = true;
	submit(g, PROT_WRITE, LBA, length);
	CU_ASSERT(nr_held > 1);
	/* it waits for members that are not out, and it may read from this one yet */
	CU_ASSERT(!prot_group_set_aside(g, held[0].io.tag, held[0].runs[0].buffer));
	answer(g);
	CU_ASSERT_EQUAL_FATAL(nr_hung, 1);
	CU_ASSERT(!prot_group_set_aside(g, hung[0].io.tag, hung[0].runs[0].buffer));
	goes_out(g);
	CU_ASSERT_EQUAL(done, 1);
	CU_ASSERT(aside(g, 0));
	CU_ASSERT(done == 2 && !last_err);
	CU_ASSERT_EQUAL(g->spares[small], SPARES - 1);
	CU_ASSERT_EQUAL(nr_set(prot_free_bufs(g), first, end), unused);
	holds(g, 0, 4 * STRIP);
	comes_back(g, 0);
	CU_ASSERT_EQUAL(g->spares[small], SPARES);
	CU_ASSERT_EQUAL(nr_set(prot_free_bufs(g), first, end), unused);
	free(g);
}

static void test_write(void)
{
	write_goes_on(LBA, true);
	write_goes_on(2 * LBA, false);
}

/*
 * Two reads into one buffer hang, of which one's member has only failed as yet: while that may still
 * land the buffer is the op's.
 */
static void test_two(void)
{
	struct prot_group *g = make_with(SPARES, 0);
	u32 other;

	submit(g, PROT_WRITE, 0, 4 * STRIP);
	silent = 1;
	silent_too = 2;
	hold = true;
	submit(g, PROT_WRITE, LBA, LBA);
	answer(g);
	CU_ASSERT_EQUAL_FATAL(nr_hung, 2);
	other = hung[0].io.member == silent;
	prot_group_fail(g, silent_too);
	run(g);
	goes_out(g);
	CU_ASSERT(!aside(g, !other));
	CU_ASSERT(!aside(g, other));
	prot_group_result(g, hung[other].io.tag, -EIO);
	run(g);
	answer(g);
	CU_ASSERT(aside(g, !other));
	prot_group_epoch(g, g->cfg.epoch + 2, g->in_sync & ~PROT_BIT(silent_too));
	run(g);
	answer(g);
	CU_ASSERT(done == 2 && !last_err);
	holds(g, 0, 4 * STRIP);
	comes_back(g, !other);
	CU_ASSERT_EQUAL(g->spares[1], SPARES);
	CU_ASSERT_EQUAL(g->hung_bufs[1], 0);
	free(g);
}

/* All small buffers that writes may have are stuck, more of them than there are spares. */
static void test_all_stuck(void)
{
	struct prot_group *g = make_with(SPARES, 0);
	u32 i, n = SMALLS - SPARES - 1;

	submit(g, PROT_WRITE, 0, 4 * STRIP);
	silent = 1;
	hold = true;
	for (i = 0; i < n; i++)		/* in stripes that lie alike */
		submit(g, PROT_WRITE, i * 6 * 4 * STRIP, LBA);
	answer(g);
	CU_ASSERT_EQUAL_FATAL(nr_hung, n);
	goes_out(g);
	for (i = 0; i < SPARES; i++) {
		CU_ASSERT(prot_group_set_aside(g, hung[i].io.tag, hung[i].runs[0].buffer));
		prot_group_result(g, hung[i].io.tag, -ENOLINK);
	}
	/* none is free before another op is over */
	CU_ASSERT(!aside(g, i));
	run(g);
	answer(g);
	CU_ASSERT_EQUAL(g->spares[1], 1);
	CU_ASSERT_EQUAL(done, 1 + SPARES);
	for (; i < n; i++)
		CU_ASSERT(aside(g, i));
	CU_ASSERT_EQUAL(done, 1 + n);
	holds(g, 0, 4 * STRIP);
	for (i = 0; i < n; i++)
		comes_back(g, i);
	CU_ASSERT_EQUAL(g->spares[1], SPARES);
	CU_ASSERT_EQUAL(nr_set(prot_free_bufs(g), BUFS, BUFS + SMALLS), SMALLS - SPARES);
	free(g);
}

/* One reads what is stuck, one after the other: there are always as many as there are spares. */
static void test_most(void)
{
	struct prot_group *g = make_with(SPARES, 0);
	u32 i, most = SMALLS - SPARES;

	submit(g, PROT_WRITE, 0, 4 * STRIP);
	for (i = 0; i <= most; i++) {
		silent = 1;
		hold = true;
		submit(g, PROT_WRITE, 0, LBA);
		answer(g);
		CU_ASSERT_EQUAL_FATAL(nr_hung, i + 1);
		goes_out(g);
		CU_ASSERT_EQUAL(aside(g, i), i < most);
		g->in_sync = 0x3f;	/* as if it had come back, but for these */
		g->failed = 0;
	}
	CU_ASSERT_EQUAL(g->hung_bufs[1], most);
	free(g);
}

/* Without spares all is waited for. */
static void test_none(void)
{
	struct prot_group *g = make_with(0, 0);

	submit(g, PROT_WRITE, 0, 4 * STRIP);
	silent = 1;
	hold = true;
	submit(g, PROT_WRITE, LBA, LBA);
	answer(g);
	goes_out(g);
	CU_ASSERT(!aside(g, 0));
	prot_group_result(g, hung[0].io.tag, -ENOLINK);
	run(g);
	answer(g);
	CU_ASSERT_EQUAL(done, 2);
	holds(g, 0, 4 * STRIP);
	free(g);
}

/* The buffer of a scrub's op is the op's from the start: it gets another one for good. */
static void test_scrub(void)
{
	struct prot_group *g = make_with(SPARES, 0);
	struct prot_scrub how = { .repair = 0 };

	submit(g, PROT_WRITE, 0, 4 * STRIP);
	silent = 2;
	hold = true;
	prot_group_scrub(g, &how);
	run(g);
	answer(g);
	CU_ASSERT_EQUAL_FATAL(nr_hung, 1);
	goes_out(g);
	CU_ASSERT(g->scrubbing);
	CU_ASSERT(aside(g, 0));
	CU_ASSERT(!g->scrubbing);
	prot_group_scrub(g, &how);
	run(g);
	answer(g);
	CU_ASSERT(!g->scrubbing && !g->mismatches);
	comes_back(g, 0);
	CU_ASSERT_EQUAL(g->spares[0], SPARES);
	prot_group_scrub(g, &how);
	run(g);
	answer(g);
	CU_ASSERT(!g->scrubbing && !g->mismatches);
	holds(g, 0, 4 * STRIP);
	free(g);
}

/* Writes in order have the other strips read into the cache; no stripe gets that memory. */
static void test_fill(void)
{
	struct prot_group *g = make_with(SPARES, 1);
	struct prot_ecop first = { .stripe = 0 };
	u32 i, buf = BUFS + SMALLS;

	hold = true;
	for (i = 0; i < 3; i++) {
		silent = i < 2 ? silent : 3;
		submit(g, PROT_WRITE, i * LBA, LBA);
		answer(g);
	}
	for (i = 0; i < nr_hung; i++)
		if (hung[i].runs[0].buffer - PROT_BUFFER_PRIVATE == buf)
			break;
	CU_ASSERT_FATAL(i < nr_hung);
	goes_out(g);
	CU_ASSERT(aside(g, i));
	CU_ASSERT_EQUAL(prot_gop(g, PROT_OP_FIRST + 1)->phase, PROT_P_FREE);
	CU_ASSERT_EQUAL(*prot_hung(g, buf), 1);
	CU_ASSERT_PTR_NULL(prot_ec_cached(g, &first, 1, 0, LBA));
	/* as if another drive were in its place, and whole */
	g->in_sync = 0x3f;
	silent = PROT_WIDTH_MAX;
	run(g);
	for (i = 0; i < 6; i++) {
		submit(g, PROT_WRITE, 4 * STRIP + i * LBA, LBA);
		answer(g);
	}
	CU_ASSERT_EQUAL(g->counts.cached, 0);
	CU_ASSERT_EQUAL(memcmp(disk[1] + meta + STRIP, payload + 4 * STRIP, STRIP), 0);
	free(g);
}

int main(void)
{
	static const struct suite_test tests[] = {
		{ "a write goes on", test_write },
		{ "two reads hang", test_two },
		{ "all buffers stuck", test_all_stuck },
		{ "never all", test_most },
		{ "no spares", test_none },
		{ "a scrub", test_scrub },
		{ "the cache is filled", test_fill },
		{ NULL, NULL },
	};

	return suite_main("prot_aside", tests);
}
