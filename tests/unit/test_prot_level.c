// SPDX-License-Identifier: GPL-2.0-only
/*
 * The skeleton of docs/new-level.md: the least that a redundant level is, and that the
 * engine does the rest for it. "twins" keeps two copies, and remembers what one of them
 * misses while it is out. It does not survive crashes: what a level does for that
 * (intent bits, a journal) is what mirror.c and ec.c are about.
 */
#include <string.h>
#include <linux/kernel.h>
#include <linux/minmax.h>

#include "protect/engine/group_priv.h"
#include "prot_rig.h"

/*
 * Life of an op:
 *
 *   LOCK -+-> WRITE
 *         +-> READ
 *         '-> BUF -> READ -> WRITE	(catching up)
 */
enum {
	PROT_P_TWIN_READ = PROT_P_LEVEL,
	PROT_P_TWIN_WRITE,
	PROT_P_TWIN_END
};

static const u32 twin_phases[PROT_P_TWIN_END] = {
	[PROT_P_LOCK] = PROT_TO(BUF) | PROT_TO(TWIN_READ) | PROT_TO(TWIN_WRITE),
	[PROT_P_BUF] = PROT_TO(TWIN_READ),
	[PROT_P_TWIN_READ] = PROT_TO(TWIN_WRITE),
};

/* The row lock was granted. */
static void twin_begin(struct prot_group *g, struct prot_gop *op)
{
	u32 region = prot_region_of(g, op->addr);

	if (op->purpose == PROT_FOR_SCRUB) {
		prot_end(g, op, 0);		/* compares nothing */
	} else if (op->purpose == PROT_FOR_SYNC) {
		prot_phase(g, op, PROT_P_BUF);
	} else if (op->kind == PROT_READ) {
		prot_phase(g, op, PROT_P_TWIN_READ);
	} else {
		op->targets = prot_targets(g, region);
		prot_mark_missed(g, region, op->targets);	/* rule 4 */
		prot_phase(g, op, PROT_P_TWIN_WRITE);
	}
}

static bool twin_io(struct prot_group *g, struct prot_gop *op, u64 to, u8 kind,
		    struct prot_event *ev)
{
	u32 member = prot_lowest(to);

	op->sent |= PROT_BIT(member);
	prot_io_fill(g, op, member, kind, op->addr, op->length, ev);
	if (op->purpose == PROT_FOR_SYNC)
		ev->runs[0].buffer = PROT_BUFFER_PRIVATE + op->buf;
	return true;
}

/* One copy; the other one when it can't be read. */
static bool twin_read(struct prot_group *g, struct prot_gop *op, struct prot_event *ev)
{
	u64 from = prot_live(g) & ~op->tried;

	if (op->sent)
		return false;
	if (from)
		return twin_io(g, op, from, PROT_READ, ev);
	prot_end(g, op, -EIO);
	return false;
}

static bool twin_write(struct prot_group *g, struct prot_gop *op, struct prot_event *ev)
{
	u64 to = op->targets & ~op->sent & ~g->failed;

	if (to)
		return twin_io(g, op, to, op->kind, ev);
	/* rules 2 and 3: an epoch takes a failed member off the targets */
	if (!(op->sent & ~op->ended) && !(op->targets & ~op->ok))
		prot_end(g, op, 0);
	return false;
}

static bool twin_step(struct prot_group *g, struct prot_gop *op, struct prot_event *ev)
{
	switch (op->phase) {
	case PROT_P_LOCK:
		if (prot_lock_free(g, op))
			twin_begin(g, op);
		return false;
	case PROT_P_BUF:
		if (prot_buf_get(g, op, false))
			prot_phase(g, op, PROT_P_TWIN_READ);
		return false;
	case PROT_P_TWIN_READ:
		return twin_read(g, op, ev);
	case PROT_P_TWIN_WRITE:
		return twin_write(g, op, ev);
	default:
		return false;
	}
}

static void twin_result(struct prot_group *g, struct prot_gop *op, u32 member, int err)
{
	if (op->phase == PROT_P_TWIN_WRITE) {
		if (err)
			prot_member_failed(g, member);
	} else if (err) {
		op->tried |= PROT_BIT(member);
		op->sent = 0;
		op->ended = 0;
	} else if (op->purpose == PROT_FOR_SYNC) {
		op->targets = prot_sync_hand(g, prot_region_of(g, op->addr))->slots & prot_absent(g);
		prot_phase(g, op, PROT_P_TWIN_WRITE);
	} else {
		prot_end(g, op, 0);
	}
}

static void twin_stop(struct prot_group *g, struct prot_gop *op)
{
	prot_end(g, op, -EIO);
}

static void twin_miss_unfinished(struct prot_group *g, u32 slot)
{
	u32 i;

	for (i = 0; i < g->cfg.ops; i++)
		if (prot_gop(g, i)->phase == PROT_P_TWIN_WRITE)
			prot_region_miss(g, prot_region_of(g, prot_gop(g, i)->addr), slot);
}

static bool twin_config_ok(const struct prot_group_config *c)
{
	return c->width == 2 && c->buf_bytes && !(c->buf_bytes & (c->lba - 1));
}

static const struct prot_policy twin_policy = {
	.phases = twin_phases,
	.config_ok = twin_config_ok,
	.span = prot_region_span,
	.start = prot_start,
	.start_rows = prot_region_start_rows,
	.step = twin_step,
	.result = twin_result,
	.stop = twin_stop,
	.meta_next = prot_bitmap_attach,
	.miss_unfinished = twin_miss_unfinished,
};

static const char *twin_check(struct prot_segment *s)
{
	if (s->data != 2 || s->parity)
		return "twins are two copies";
	s->width = 2;
	return NULL;
}

static const struct prot_level_ops twin_ops = {
	.name = "twin",
	.check = twin_check,
	.next = prot_stripe_next,
	.policy = &twin_policy,
};

/* One line of protect/level.c: the linker puts this before the table (extra.mk). */
#define PROT_TWIN	PROT_LEVELS

const struct prot_level_ops *__real_prot_level(unsigned int level);
const struct prot_level_ops *__wrap_prot_level(unsigned int level);

const struct prot_level_ops *__wrap_prot_level(unsigned int level)
{
	return level == PROT_TWIN ? &twin_ops : __real_prot_level(level);
}

/* Below here: the proof. */

#define LBA	512
#define META	(8 * LBA)
#define DATA	(16 * LBA)
#define REGION	(4 * LBA)

static void test_layout(void)
{
	struct prot_segment seg = { .length = 64 << 10, .strip = 4096, .level = PROT_TWIN,
				    .data = 2, .groups = 2 };
	struct prot_layout *l = prot_layout_init(calloc(1, prot_layout_bytes(1, 4, 4)),
						 LBA, 1, 4, 4);
	struct prot_request rq = { .offset = 4096 + LBA, .length = LBA, .kind = PROT_WRITE };
	struct prot_run runs[PROT_RUNS_MAX];
	struct prot_op op;
	struct prot_io io;
	u32 i;

	for (i = 0; i < 4; i++) {
		prot_places(l)[i].member = i;
		prot_member_sizes(l)[i] = 32 << 10;
	}
	*prot_segments(l) = seg;
	CU_ASSERT_PTR_NULL_FATAL(prot_layout_check(l));
	CU_ASSERT_EQUAL_FATAL(prot_op_init(&op, l, &rq), 0);
	CU_ASSERT_EQUAL_FATAL(prot_op_next(&op, l, &io, runs), PROT_IO);
	CU_ASSERT(io.group_io);
	CU_ASSERT_EQUAL(io.member, 2);		/* the first place of the second group */
	CU_ASSERT_EQUAL(io.addr, LBA);
	prot_segments(l)->data = 3;
	CU_ASSERT_STRING_EQUAL(prot_layout_check(l), "twins are two copies");
	free(l);
}

static void saw_nothing(const struct prot_event *ev)
{
	CU_ASSERT(ev->io.length > 0);
}

static struct prot_group_config config(u64 in_sync)
{
	return (struct prot_group_config){ .bytes = DATA, .in_sync = in_sync, .epoch = 1,
		.region = REGION, .lba = LBA, .buf_bytes = 2 * LBA, .ops = 8, .bufs = 4,
		.level = PROT_TWIN, .width = 2, .fresh = in_sync == 3,
		.data = { META, META }, .left = { 0, 2 } };
}

static struct prot_group *make(void)
{
	struct prot_group_config c = config(3);

	CU_ASSERT(prot_group_meta_bytes(&c) <= META);
	memset(disk, 0, sizeof(disk[0]) * 2);
	for (u32 i = 0; i < DATA; i++)
		payload[i] = i * 7 + i / LBA + 1;
	saw = saw_nothing;
	return rig_start(&c);
}

static bool has(u32 member, u32 at, u32 length)
{
	return !memcmp(disk[member] + META + at, payload, length);
}

static void test_copies(void)
{
	struct prot_group *g = make();
	struct prot_group_config c = config(3);

	CU_ASSERT_EQUAL(rig_request(g, PROT_WRITE, LBA, 2 * LBA), 0);
	CU_ASSERT(has(0, LBA, 2 * LBA));
	CU_ASSERT(has(1, LBA, 2 * LBA));
	unreadable = 1;
	memset(payload, 0, DATA);
	CU_ASSERT_EQUAL(rig_request(g, PROT_READ, LBA, 2 * LBA), 0);
	CU_ASSERT(has(1, LBA, 2 * LBA));
	unreadable = 3;
	CU_ASSERT_EQUAL(rig_request(g, PROT_READ, LBA, LBA), -EIO);
	c.width = 3;
	CU_ASSERT_EQUAL(prot_group_bytes(&c), 0);
	free(g);
}

/* A write waits for the epoch without the member that failed; back, that one catches up. */
static void test_lost_member(void)
{
	struct prot_group *g = make();

	broken = 2;
	CU_ASSERT_EQUAL(rig_request(g, PROT_WRITE, 0, 2 * LBA), 1);
	CU_ASSERT(seen >> PROT_EV_EPOCH & 1);
	prot_group_epoch(g, 2, 1);
	run(g);
	CU_ASSERT_EQUAL(done, 1);
	CU_ASSERT_EQUAL(last_err, 0);
	CU_ASSERT_EQUAL(rig_request(g, PROT_WRITE, 2 * REGION, LBA), 0);
	broken = 0;
	CU_ASSERT(!has(1, 0, LBA));
	CU_ASSERT_EQUAL(prot_group_join(g, 1), 0);
	run(g);
	CU_ASSERT(has(1, 0, 2 * LBA));
	CU_ASSERT(has(1, 2 * REGION, LBA));
	CU_ASSERT_EQUAL(g->synced, 2 * REGION);	/* what it missed, no more */
	CU_ASSERT(seen >> PROT_EV_CAUGHT_UP & 1);
	prot_group_epoch(g, 3, 3);
	run(g);
	CU_ASSERT(prot_group_quiet(g));
	broken = 1;
	CU_ASSERT_EQUAL(rig_request(g, PROT_WRITE, 0, LBA), 1);
	prot_group_epoch(g, 4, 2);
	run(g);
	CU_ASSERT_EQUAL(last_err, 0);
	free(g);
}

/* What a member missed is known to the next attachment, from the other one. */
static void test_attached(void)
{
	struct prot_group_config c = config(1);
	struct prot_group *g = make();

	broken = 2;
	CU_ASSERT_EQUAL(rig_request(g, PROT_WRITE, REGION, LBA), 1);
	prot_group_epoch(g, 2, 1);
	run(g);
	CU_ASSERT_EQUAL(last_err, 0);
	free(g);
	g = rig_start(&c);
	CU_ASSERT_EQUAL(prot_group_join(g, 1), 0);
	run(g);
	CU_ASSERT(has(1, REGION, LBA));
	CU_ASSERT_EQUAL(g->synced, REGION);
	CU_ASSERT(seen >> PROT_EV_CAUGHT_UP & 1);
	free(g);
}

static void test_stopped(void)
{
	struct prot_group *g = make();

	broken = 3;
	CU_ASSERT_EQUAL(rig_request(g, PROT_WRITE, 0, LBA), -EIO);
	CU_ASSERT_EQUAL(g->state, PROT_G_STOPPED);
	free(g);
}

int main(void)
{
	static const struct suite_test tests[] = {
		{ "a layout of it", test_layout },
		{ "copies", test_copies },
		{ "a lost member", test_lost_member },
		{ "attached without a member", test_attached },
		{ "both members lost", test_stopped },
		{ NULL, NULL },
	};

	return suite_main("prot_level", tests);
}
