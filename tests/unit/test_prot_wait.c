// SPDX-License-Identifier: GPL-2.0-only
/*
 * How long a request waits in a group under load, in virtual time: nothing starves,
 * whatever there is too little of. What a request costs in CPU is printed, not judged.
 */
#include <linux/kernel.h>
#include <linux/minmax.h>

#include "clock_rig.h"

#define MIB	(1ULL << 20)
#define TIB	(1ULL << 40)

static struct prot_group *ec_small(u16 ops, u16 bufs, u16 smalls, u16 rings, u16 slots)
{
	struct prot_group_config c = { .level = PROT_EC, .k = 4, .m = 2, .width = 6,
				       .lba = 4096, .strip = 65536, .slot_bytes = 65536,
				       .slot_head = 4096, .rings = rings, .slots = slots,
				       .region = 4 * MIB, .bytes = 4096 * MIB, .ops = ops,
				       .bufs = bufs, .small = 4096, .smalls = smalls,
				       .in_sync = 0x3f, .epoch = 1,
				       .attach = 1, .fresh = 1 };
	u32 i;

	for (i = 0; i < c.width; i++)
		c.data[i] = 64 * MIB;
	return clock_group(&c);
}

static struct prot_group *ec(u16 ops, u16 bufs, u16 rings, u16 slots)
{
	return ec_small(ops, bufs, 0, rings, slots);
}

static struct prot_group *mirror_deep(u64 bytes, u16 ops, u8 depth)
{
	struct prot_group_config c = { .level = PROT_MIRROR, .width = 2, .lba = 4096,
				       .region = 64 * MIB, .bytes = bytes, .ops = ops,
				       .bufs = 50, .buf_bytes = 65536, .in_sync = 3, .epoch = 1,
				       .depth = depth,
				       .data = { 64 * MIB, 64 * MIB }, .fresh = 1 };

	return clock_group(&c);
}

static struct prot_group *mirror(u64 bytes, u16 ops)
{
	return mirror_deep(bytes, ops, 1);
}

/* No wait is longer than ten of the usual ones. */
static void check(const char *what, const struct clock_result *r)
{
	clock_print(what, r);
	CU_ASSERT(r->longest <= 10 * r->mean);
}

/* A thousand requests, and twenty private buffers. */
static void test_buffers(void)
{
	struct clock_load l = { .depth = 1024, .requests = 10000, .length = 4096 };
	struct prot_group *g = ec(1100, 20 + PROT_BUF_FIRST, 8, 16);
	struct clock_result r;

	l.range = g->cfg.bytes * g->cfg.k;
	r = clock_load(g, &l);
	check("ec:4+2, 1024 in flight, 20 buffers", &r);
	free(g);
}

/* The same of small ones, by themselves and with large requests beside them. */
static void test_smalls(void)
{
	struct clock_load l = { .depth = 1024, .requests = 10000, .length = 4096,
				.large_length = 65536 };
	struct prot_group *g = ec_small(1100, 20 + PROT_BUF_FIRST, 20, 8, 16);
	struct clock_result r;

	l.range = g->cfg.bytes * g->cfg.k;
	r = clock_load(g, &l);
	check("ec:4+2, 1024 in flight, 20 small buffers", &r);
	l.large = 30;
	l.reads = 30;
	r = clock_load(g, &l);
	check("ec:4+2, 1024 in flight, 30% of 64k, 20 buffers of either size", &r);
	free(g);
}

/* What 64 MiB hold: more writes of 4 KiB than rings have slots, beside 40 large ones. */
static void test_memory(void)
{
	struct prot_group *g = ec_small(1100, 40 + PROT_BUF_FIRST, 500, 8, 16);
	u32 i, waits = 0;

	CU_ASSERT(g->shape.bytes < 64 * MIB);
	for (i = 0; i < 400; i++)
		CU_ASSERT_FATAL(prot_group_submit(g, PROT_WRITE, 0, i * 262144ULL, 4096, 0) >= 0);
	clock_events(g);
	for (i = 0; i < g->cfg.ops; i++)
		waits += prot_gop(g, i)->phase == PROT_P_BUF;
	CU_ASSERT_EQUAL(waits, 0);
	free(g);
}

/* One ring of four slots: three transactions at a time. */
static void test_slots(void)
{
	struct clock_load l = { .depth = 200, .requests = 4000, .length = 4096 };
	struct prot_group *g = ec(1100, 253 + PROT_BUF_FIRST, 1, 4);
	struct clock_result r;

	l.range = g->cfg.bytes * g->cfg.k;
	r = clock_load(g, &l);
	check("ec:4+2, 200 in flight, a ring of 4 slots", &r);
	free(g);
}

/* Sixty-four ops, whose ends are all that the submitter goes by. */
static void test_ops(void)
{
	struct clock_load l = { .depth = 1024, .requests = 10000, .length = 4096 };
	struct prot_group *g = ec(64, 64, 8, 16);
	struct clock_result r;

	l.range = g->cfg.bytes * g->cfg.k;
	r = clock_load(g, &l);
	check("ec:4+2, 1024 in flight, 61 ops", &r);
	l.reads = 50;
	l.range = MIB;
	r = clock_load(g, &l);
	check("ec:4+2, 1024 in flight in 1 MiB, half of them reads, 61 ops", &r);
	free(g);
}

/*
 * All of it in one region, in whose rows few meet: what a request costs does not grow
 * with those beside it. Counted in a build with PROT_COUNT.
 */
static void test_hot(void)
{
	static const u32 depths[] = { 1, 256, 1024 };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(depths); i++) {
		struct clock_load l = { .depth = depths[i], .requests = 20000, .length = 4096,
					.range = 64 * MIB };
		struct prot_group *g = mirror(TIB, 1100);
		struct clock_result r;
		char what[64];

		snprintf(what, sizeof(what), "mirror:2, %u in flight in 64 MiB", depths[i]);
		r = clock_load(g, &l);
		check(what, &r);
#ifdef PROT_COUNT
		CU_ASSERT(r.looked < 300);
#endif
		free(g);
	}
}

/*
 * First writes to idle regions, each of which needs its intent bit first: 16 TiB have
 * nine blocks of them, and all change all the time.
 */
static void test_cold(void)
{
	struct clock_load l = { .depth = 256, .requests = 20000, .length = 4096,
				.range = 16 * TIB, .idle_us = 2000 };
	struct prot_group *g = mirror(16 * TIB, 300);
	struct clock_result r = clock_load(g, &l);

	check("mirror:2 of 16 TiB, 256 in flight, cold", &r);
	CU_ASSERT(r.longest < 50000);
	free(g);
}

/* No call takes as long as there are regions. */
static void test_calls(void)
{
	struct clock_load l = { .depth = 64, .requests = 5000, .length = 4096,
				.range = 16 * TIB, .idle_us = 2000, .timed = true };
	struct prot_group *g = mirror(16 * TIB, 300);
	struct clock_result r = clock_load(g, &l);
	u64 before = clock_cpu();

	check("mirror:2 of 16 TiB, 64 in flight, each call timed", &r);
	prot_group_epoch(g, 2, 1);
	printf("  a copy leaves: %llu ns\n", (unsigned long long)(clock_cpu() - before));
	free(g);
}

/* Virtual microseconds until nothing is in flight. */
static u64 until_quiet(struct prot_group *g)
{
	u64 start = clock_now;

	clock_events(g);
	while (clock_flying) {
		struct clock_io io = clock_pop();

		clock_now = io.when;
		prot_group_result(g, io.tag, 0);
		clock_events(g);
	}
	return (clock_now - start) / 1000;
}

/* A spare is filled, and copies are compared, by as many chunks at a time as the caller says. */
static void test_depth(void)
{
	static const u8 spare[PROT_UUID_LEN] = { 7 };
	u64 scrub[2], rebuild[2];
	u32 i;

	for (i = 0; i < 2; i++) {
		struct prot_group *g = mirror_deep(256 * MIB, 64, i ? 8 : 0);

		prot_group_scrub(g, &(struct prot_scrub){ .repair = 1, .source = PROT_NO_SOURCE });
		scrub[i] = until_quiet(g);
		CU_ASSERT_EQUAL(g->scrubbing, 0);
		prot_group_epoch(g, 2, 1);
		until_quiet(g);
		CU_ASSERT_EQUAL(prot_group_replace(g, 1, spare, 3), 0);
		rebuild[i] = until_quiet(g);
		CU_ASSERT_EQUAL(g->synced, g->cfg.bytes);
		CU_ASSERT_EQUAL(g->announced, 2);
		free(g);
	}
	printf("256 MiB, 1 and 8 chunks in flight: scrub %llu and %llu us, rebuild %llu and %llu us\n",
	       (unsigned long long)scrub[0], (unsigned long long)scrub[1],
	       (unsigned long long)rebuild[0], (unsigned long long)rebuild[1]);
	CU_ASSERT(scrub[1] * 6 < scrub[0]);
	CU_ASSERT(rebuild[1] * 6 < rebuild[0]);
}

int main(void)
{
	static const struct suite_test tests[] = {
		{ "private buffers", test_buffers },
		{ "small buffers", test_smalls },
		{ "memory", test_memory },
		{ "slots", test_slots },
		{ "ops", test_ops },
		{ "a hot region", test_hot },
		{ "cold regions", test_cold },
		{ "calls", test_calls },
		{ "chunks in flight", test_depth },
		{ NULL, NULL },
	};

	return suite_main("prot_wait", tests);
}
