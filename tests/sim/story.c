// SPDX-License-Identifier: GPL-2.0-only
/* Schedules written by hand, for what chance is too rare. */
#include "tests/sim/story.h"

static void story_step(struct sim_world *w, struct schedule *s, struct sim_action a)
{
	if (sim_do(w, &a))
		s->act[s->n++] = a;
}

/* A group that only the story uses, attached and quiet. */
static void story_begin(struct sim_world *w, struct schedule *s, struct sim_config c)
{
	c.fresh = 1;
	s->cfg = c;
	s->n = 0;
	sim_init(w, &s->cfg);
	story_step(w, s, (struct sim_action){ .kind = ACT_DRAIN });
}

/* ec:2+M of one sector a strip, a region and a slot; one ring. */
static struct sim_config small_ec(int m, int slots, int sectors)
{
	return (struct sim_config){ .copies = 2 + m, .k = 2, .m = m, .strip = 1, .slot = 1,
				    .rings = 1, .slots = slots, .sectors = sectors, .region = 1,
				    .ops = 4 };
}

static int is_read(const struct sim_world *w, const struct sim_io *io)
{
	(void)w;
	return io->kind == PROT_READ;
}

static int is_no_bitmap(const struct sim_world *w, const struct sim_io *io)
{
	return io->kind == PROT_READ || io->first < 2 ||
	       io->first >= 2 + PROT_MISSED + w->cfg.copies;
}

/* All but what says which regions members that are out missed. */
static int is_not_missed(const struct sim_world *w, const struct sim_io *io)
{
	return io->kind == PROT_READ || io->first < 2 + PROT_MISSED || io->first >= w->meta;
}

/* ... that is on member 0. */
static int is_not_missed_of_0(const struct sim_world *w, const struct sim_io *io)
{
	return io->member || is_not_missed(w, io);
}

static int is_not_missed_of_1(const struct sim_world *w, const struct sim_io *io)
{
	return io->member != 1 || is_not_missed(w, io);
}

static int is_write(const struct sim_world *w, const struct sim_io *io)
{
	return !is_read(w, io);
}

static int is_record(const struct sim_world *w, const struct sim_io *io)
{
	return io->first < w->meta && io->kind == PROT_WRITE;
}

static int is_bypass(const struct sim_world *w, const struct sim_io *io)
{
	(void)w;
	return io->bypass;
}

/* A write on the member that a bypass read is at. */
static int is_beside_bypass(const struct sim_world *w, const struct sim_io *io)
{
	for (const struct sim_io *o = w->io; o < w->io + SIM_IOS; o++)
		if (o->used && o->bypass && o->member == io->member)
			return io->kind == PROT_WRITE;
	return 0;
}

static int is_any(const struct sim_world *w, const struct sim_io *io)
{
	(void)w, (void)io;
	return 1;
}

/* Complete what @wanted says, oldest first, until nothing like it is in flight. */
static void story_complete(struct sim_world *w, struct schedule *s,
			   int (*wanted)(const struct sim_world *w, const struct sim_io *io))
{
	int n, found;

	do {
		found = 0;
		n = 0;
		for (uint64_t seq = 1; seq <= w->io_seq && !found; seq++)
			for (int i = 0; i < SIM_IOS && !found; i++) {
				const struct sim_io *io = &w->io[i];

				if (!io->used || io->dead || io->seq != seq ||
				    (io->member < SIM_NO_MEMBER && (uint64_t)w->silent >> io->member & 1))
					continue;
				found = wanted(w, io);
				n += !found;
			}
		if (found)
			story_step(w, s, (struct sim_action){ .kind = ACT_COMPLETE, .a = n });
	} while (found && !w->bad[0] && s->n < STEPS_MAX);
}

static void story_write(struct sim_world *w, struct schedule *s, uint8_t sector)
{
	story_step(w, s, (struct sim_action){ .kind = ACT_SUBMIT, .a = PROT_WRITE, .b = sector,
					      .c = 1 });
}

/*
 * Seed 0, erasure coding: a ring of four slots; one sector is written twice, the
 * second time before the first is in place, so both records, and a third one
 * elsewhere, have the watermark of the first. All are in place. Of three more
 * writes elsewhere nothing lands but, of the last one's records, the payload: over
 * the second write's, which leaves the first one's alone.
 */
static void run_story_reused(struct sim_world *w, struct schedule *s)
{
	struct sim_config c = small_ec(1, 4, 8);

	c.ops = 6;
	story_begin(w, s, c);
	story_write(w, s, 0);
	story_complete(w, s, is_read);
	while (!w->acks && sim_flying(w) && s->n < STEPS_MAX)
		story_step(w, s, (struct sim_action){ .kind = ACT_COMPLETE });
	story_write(w, s, 0);
	story_complete(w, s, is_read);
	story_write(w, s, 2);
	story_complete(w, s, is_read);
	story_step(w, s, (struct sim_action){ .kind = ACT_DRAIN });
	for (int i = 4; i < 10; i += 2) {
		story_write(w, s, i % 8 + i / 8 * 2);
		story_complete(w, s, is_read);
	}
	story_step(w, s, (struct sim_action){ .kind = ACT_CRASH, .m = 0xa00 });
	sim_settle(w);
}

/*
 * Seed 1, erasure coding: 3 is out. A write is in place, and a later one recorded,
 * before it is durable that 3 missed the first; crash; 3 comes back.
 */
static void run_story_missed(struct sim_world *w, struct schedule *s)
{
	story_begin(w, s, small_ec(2, 4, 8));
	story_step(w, s, (struct sim_action){ .kind = ACT_SILENCE, .a = 3 });
	story_write(w, s, 2);
	story_step(w, s, (struct sim_action){ .kind = ACT_DRAIN });
	story_write(w, s, 0);
	story_complete(w, s, is_no_bitmap);
	story_write(w, s, 4);
	story_complete(w, s, is_no_bitmap);
	story_step(w, s, (struct sim_action){ .kind = ACT_CRASH, .a = 8 });
	story_step(w, s, (struct sim_action){ .kind = ACT_DRAIN });
	story_step(w, s, (struct sim_action){ .kind = ACT_RETURN, .a = 3 });
	sim_settle(w);
}

/*
 * Seed 2, erasure coding: one record of two is whole, so the write is dropped and
 * the old sector read; crash again, and the member that had none is lost.
 */
static void run_story_dropped(struct sim_world *w, struct schedule *s)
{
	story_begin(w, s, small_ec(1, 2, 4));
	story_write(w, s, 0);
	story_complete(w, s, is_read);
	story_step(w, s, (struct sim_action){ .kind = ACT_CRASH, .m = 3 });
	while (!w->serving && sim_flying(w) && s->n < STEPS_MAX)
		story_step(w, s, (struct sim_action){ .kind = ACT_COMPLETE });
	story_step(w, s, (struct sim_action){ .kind = ACT_SUBMIT, .a = PROT_READ, .c = 1 });
	story_complete(w, s, is_read);
	story_step(w, s, (struct sim_action){ .kind = ACT_CRASH, .a = 4 });
	sim_settle(w);
}

/*
 * Seed 3, erasure coding: a write is acknowledged and nothing of it in place; crash, and
 * one of its two records cannot be read any more. The other one says that it lives.
 */
static void run_story_unread(struct sim_world *w, struct schedule *s)
{
	struct sim_action medium = { .kind = ACT_MEDIUM };

	story_begin(w, s, small_ec(1, 4, 8));
	story_write(w, s, 0);
	story_complete(w, s, is_read);
	while (!w->acks && sim_flying(w) && s->n < STEPS_MAX) {
		for (const struct sim_io *io = w->io; io < w->io + SIM_IOS; io++)
			if (io->used && !io->work && io->kind == PROT_WRITE && io->first < w->meta) {
				medium.a = io->member;
				medium.b = io->first;
			}
		story_step(w, s, (struct sim_action){ .kind = ACT_COMPLETE });
	}
	story_step(w, s, medium);
	story_step(w, s, (struct sim_action){ .kind = ACT_CRASH });
	sim_settle(w);
}

/* The store calls in sync who has caught up, who is all that is left without @lost; 2 comes back. */
static void story_left_alone(struct sim_world *w, struct schedule *s, uint64_t lost)
{
	story_step(w, s, (struct sim_action){ .kind = ACT_PROMOTE });
	story_step(w, s, (struct sim_action){ .kind = ACT_CRASH, .a = lost });
	story_step(w, s, (struct sim_action){ .kind = ACT_DRAIN });
	story_step(w, s, (struct sim_action){ .kind = ACT_RETURN, .a = 2 });
	sim_settle(w);
}

/*
 * Seed 0, mirrors: 2 is out; 1 misses a write, is caught up and called in sync; the
 * only other copy is lost at once; 2 comes back, and 1 has to know what 2 misses.
 */
static void run_story_handed_on(struct sim_world *w, struct schedule *s)
{
	story_begin(w, s, (struct sim_config){ .copies = 3, .sectors = 4, .region = 2, .chunk = 2,
					       .ops = 2 });
	story_step(w, s, (struct sim_action){ .kind = ACT_SILENCE, .a = 2 });
	story_write(w, s, 0);
	story_step(w, s, (struct sim_action){ .kind = ACT_DRAIN });
	story_step(w, s, (struct sim_action){ .kind = ACT_SILENCE, .a = 1 });
	story_write(w, s, 2);
	story_step(w, s, (struct sim_action){ .kind = ACT_DRAIN });
	story_step(w, s, (struct sim_action){ .kind = ACT_IDLE });
	story_step(w, s, (struct sim_action){ .kind = ACT_DRAIN });
	story_step(w, s, (struct sim_action){ .kind = ACT_RETURN, .a = 1 });
	while (!w->bad[0] && !w->caught && s->n < STEPS_MAX && sim_flying(w))
		story_step(w, s, (struct sim_action){ .kind = ACT_COMPLETE });
	story_left_alone(w, s, 1);
}

/*
 * Seed 1, mirrors: 2 is out and misses a write, which no MISSED block says yet: those
 * are held back over two idle passes, until the region's intent bit may be cleared; crash,
 * and none of them lands; 2 comes back.
 */
static void run_story_cleared(struct sim_world *w, struct schedule *s)
{
	story_begin(w, s, (struct sim_config){ .copies = 3, .sectors = 4, .region = 2, .chunk = 2,
					       .ops = 2 });
	story_step(w, s, (struct sim_action){ .kind = ACT_SILENCE, .a = 2 });
	story_write(w, s, 0);
	story_step(w, s, (struct sim_action){ .kind = ACT_DRAIN });
	story_write(w, s, 2);
	story_complete(w, s, is_not_missed);
	story_step(w, s, (struct sim_action){ .kind = ACT_IDLE });
	story_complete(w, s, is_not_missed);
	story_step(w, s, (struct sim_action){ .kind = ACT_CRASH, .a = 4 });
	story_step(w, s, (struct sim_action){ .kind = ACT_DRAIN });
	story_step(w, s, (struct sim_action){ .kind = ACT_RETURN, .a = 2 });
	sim_settle(w);
}

/* 1 is in sync alone; 0 has caught up, and the store may call it so; 2 misses the last region. */
static void story_caught_up(struct sim_world *w, struct schedule *s)
{
	story_begin(w, s, (struct sim_config){ .copies = 3, .sectors = 8, .region = 2, .chunk = 2,
					       .ops = 3 });
	story_step(w, s, (struct sim_action){ .kind = ACT_SILENCE });
	story_step(w, s, (struct sim_action){ .kind = ACT_SILENCE, .a = 2 });
	story_write(w, s, 6);
	story_step(w, s, (struct sim_action){ .kind = ACT_DRAIN });
	story_step(w, s, (struct sim_action){ .kind = ACT_RETURN });
	story_complete(w, s, is_any);
}

/*
 * Seed 2, mirrors: 0 has caught up and falls silent; 2 is back, and while it catches up a write of a
 * region that it does not miss reaches 1, and 2. Then 0 is all that is left, which has to know of it.
 */
static void run_story_promoted(struct sim_world *w, struct schedule *s)
{
	story_caught_up(w, s);
	story_step(w, s, (struct sim_action){ .kind = ACT_SILENCE });
	story_step(w, s, (struct sim_action){ .kind = ACT_RETURN, .a = 2 });
	story_write(w, s, 0);
	story_complete(w, s, is_write);
	story_left_alone(w, s, 2);
}

/*
 * Seed 3, mirrors: 0 has caught up; 2 misses a write, which 1 knows, and 0 not yet when the region's
 * intent bit may be cleared. Then 0 is all that is left.
 */
static void run_story_outlived(struct sim_world *w, struct schedule *s)
{
	story_caught_up(w, s);
	story_write(w, s, 0);
	story_complete(w, s, is_not_missed_of_0);
	for (int i = 0; i < 2; i++) {
		story_step(w, s, (struct sim_action){ .kind = ACT_IDLE });
		story_complete(w, s, is_not_missed_of_0);
	}
	story_left_alone(w, s, 2);
}

/*
 * Seed 4, mirrors: a read around the engine has begun when a write does, and finds what that has
 * written, on one copy yet; crash, and the other copy is all that is left.
 */
static void run_story_between(struct sim_world *w, struct schedule *s)
{
	int at = 0;

	story_begin(w, s, (struct sim_config){ .copies = 2, .sectors = 4, .region = 2, .chunk = 2,
					       .ops = 3 });
	story_step(w, s, (struct sim_action){ .kind = ACT_SUBMIT, .a = PROT_READ, .c = 1, .m = 1 });
	for (const struct sim_io *io = w->io; io < w->io + SIM_IOS; io++)
		if (io->used && io->bypass)
			at = io->member;
	story_write(w, s, 0);
	story_complete(w, s, is_record);
	story_complete(w, s, is_beside_bypass);
	story_complete(w, s, is_bypass);
	story_step(w, s, (struct sim_action){ .kind = ACT_CRASH, .a = 1 << at });
	sim_settle(w);
}

/*
 * Seed 5, mirrors: 2 is out, 1 comes back and is given what it lacks of what 2 missed; it goes again
 * before that has ended, and a spare takes its place that was in it before. What the old one has got
 * the new one has not; then that is all that is left.
 */
static void run_story_replaced(struct sim_world *w, struct schedule *s)
{
	story_begin(w, s, (struct sim_config){ .copies = 3, .sectors = 8, .region = 2, .chunk = 2,
					       .ops = 3 });
	for (uint8_t member = 2; member; member--) {
		story_step(w, s, (struct sim_action){ .kind = ACT_SILENCE, .a = member });
		story_write(w, s, 2 * member);
		story_step(w, s, (struct sim_action){ .kind = ACT_DRAIN });
	}
	story_step(w, s, (struct sim_action){ .kind = ACT_IDLE });
	story_step(w, s, (struct sim_action){ .kind = ACT_DRAIN });
	story_step(w, s, (struct sim_action){ .kind = ACT_RETURN, .a = 1 });
	story_complete(w, s, is_not_missed_of_1);
	story_step(w, s, (struct sim_action){ .kind = ACT_SILENCE, .a = 1 });
	story_step(w, s, (struct sim_action){ .kind = ACT_LEAVE, .a = 1 });
	story_step(w, s, (struct sim_action){ .kind = ACT_REPLACE, .a = 1 });
	story_complete(w, s, is_not_missed_of_1);
	story_complete(w, s, is_any);
	story_left_alone(w, s, 1);
}

static int is_early(const struct sim_world *w, const struct sim_io *io)
{
	return io->work || io->kind == PROT_READ || io->first < w->meta;
}

/* ... and not of the request for sector 4. */
static int is_early_beside_4(const struct sim_world *w, const struct sim_io *io)
{
	for (int i = 0; i < SIM_REQS; i++)
		if (w->req[i].used && w->req[i].first == 4 &&
		    io->tag >> PROT_TAG_SHIFT == w->req[i].op)
			return 0;
	return is_early(w, io);
}

/* Writes in order of sectors 2 and 3, the end of a strip; 4 and 5, which is held, have come between. */
static void grown_begin(struct sim_world *w, struct schedule *s, int reads)
{
	story_begin(w, s, (struct sim_config){ .copies = 3, .k = 2, .m = 1, .strip = 4, .slot = 4,
					       .rings = 1, .slots = 5, .sectors = 16, .region = 4,
					       .ops = 8, .smalls = 8, .cached = 2 });
	for (; reads; reads--) {
		story_step(w, s, (struct sim_action){ .kind = ACT_SUBMIT, .a = PROT_READ, .c = 1 });
		story_complete(w, s, is_any);
	}
	/* the third in order has the other strip read into the cache */
	for (int i = 0; i < 6; i++) {
		story_write(w, s, (i + 4) % 7);
		story_complete(w, s, is_any);
		if (i == 2 || i == 4)
			story_step(w, s, (struct sim_action){ .kind = ACT_IDLE });
		story_complete(w, s, is_any);
	}
	story_write(w, s, 4);
	story_write(w, s, 5);
	story_write(w, s, 3);
	story_complete(w, s, is_early_beside_4);
}

/* Whether parity of two writes is in flight to be put in place. */
static int parity_of_two(const struct sim_world *w)
{
	for (const struct sim_io *io = w->io; io < w->io + SIM_IOS; io++)
		if (io->used && io->member == 2 && io->stage_back)
			return 1;
	return 0;
}

/*
 * Seed 4, erasure coding: a run of two writes is in flight to be put in place. One of another strip,
 * of rows before these and older than the last of them, is held behind one that is not answered;
 * when that is, it takes along the one that follows, and so is of the run's rows.
 */
static void run_story_grown(struct sim_world *w, struct schedule *s)
{
	int reads = 0;

	/* what is staged is kept by chance, which follows from the numbers of I/Os */
	do
		grown_begin(w, s, reads++);
	while (reads < 20 && !w->bad[0] && !parity_of_two(w));
	if (!parity_of_two(w))
		sim_bad(w, "simulator: no run in the story");
	story_write(w, s, 6);
	story_complete(w, s, is_early);
	sim_settle(w);
}

/* The first seeds of a level are written by hand. */
int sim_story(struct sim_world *w, uint64_t seed, int ec, struct schedule *s)
{
	typedef void story_fn(struct sim_world *w, struct schedule *s);
	static story_fn *const of_mirror[] = { run_story_handed_on, run_story_cleared,
					     run_story_promoted, run_story_outlived,
					     run_story_between, run_story_replaced };
	static story_fn *const of_ec[] = { run_story_reused, run_story_missed, run_story_dropped,
					 run_story_unread, run_story_grown };

	if (seed >= (ec ? sizeof(of_ec) / sizeof(of_ec[0]) :
			  sizeof(of_mirror) / sizeof(of_mirror[0])))
		return 0;
	(ec ? of_ec : of_mirror)[seed](w, s);
	return 1;
}
