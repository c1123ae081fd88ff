// SPDX-License-Identifier: GPL-2.0-only
/*
 * Staged payloads, as a caller of a group has them: a cache, which may lose any of them at any
 * time. Whether one is kept, and whether it is there still, follows from the I/O's number.
 */
#include <string.h>

#include "protect/engine/group_priv.h"
#include "tests/sim/sim.h"

#if SIM_STAGES
static int chance(uint64_t seq, int of)
{
	return !((seq * 0x9e3779b97f4a7c15ULL >> 40) % of);
}

static struct sim_stage *find(struct sim_world *w, uint32_t number)
{
	for (struct sim_stage *s = w->stage; s < w->stage + SIM_STAGES; s++)
		if (s->used && s->number == number)
			return s;
	return NULL;
}

static struct sim_stage *unused(struct sim_world *w)
{
	for (struct sim_stage *s = w->stage; s < w->stage + SIM_STAGES; s++)
		if (!s->used)
			return s;
	return NULL;
}

/* A record goes out: what it is to be staged behind is there now, or it is staged by itself. */
static void stage_behind(struct sim_world *w, struct sim_io *io, uint32_t after)
{
	const struct sim_stage *before = after == PROT_NO_STAGE ? NULL : find(w, after);
	uint32_t bytes = io->sectors * SIM_LBA - io->stage_offset;
	struct sim_stage *s;

	if (!before || !before->roomy || before->end + bytes > sizeof(before->data) ||
	    find(w, io->stage))
		return;
	s = unused(w);
	if (!s || chance(io->seq, 5))
		return;
	*s = *before;
	s->number = io->stage;
	s->at = before->end;
	s->end = before->end + bytes;
	memcpy(s->data + s->at, io->data + io->stage_offset, bytes);
	io->behind = 1;
}

/* Nothing else has what those before it have staged. */
static void run_stale(struct sim_world *w, struct sim_io *io)
{
	io->stale = !!io->stage_back;
	w->undone += io->stale;
	w->stale++;
}

/* What is in flight is sent from its stage: it had better be the same. */
static void stage_use(struct sim_world *w, struct sim_io *io)
{
	struct sim_stage *s = find(w, io->stage);
	uint32_t own = io->sectors * SIM_LBA - io->stage_back;
	const uint8_t *from;

	if (io->stage_do != PROT_STAGE_LAST)
		return;
	if (!s || s->at < io->stage_back) {
		if (io->stage_back)
			run_stale(w, io);
		return;
	}
	if (chance(io->seq, 4)) {
		memset(s->data, 0x5a, sizeof(s->data));		/* what other I/O has put there */
		if (!PROT_MUTANT(STAGE_DROPPED)) {
			s->used = 0;
			run_stale(w, io);
			return;
		}
	}
	from = s->data + s->at + io->stage_offset - io->stage_back;
	if (memcmp(io->data + io->stage_back, from + io->stage_back, own))
		sim_bad(w, "what is staged is not what is to be written on member %d", io->member);
	memcpy(io->data, from, io->sectors * SIM_LBA);
	s->used = 0;
	w->staged++;
	w->runs += !!io->stage_back;
}

void sim_stage_begin(struct sim_world *w, struct sim_io *io, const struct prot_event *ev)
{
	io->stage_do = ev->io.stage_do;
	io->stage = ev->io.stage;
	io->stage_offset = ev->io.stage_offset;
	io->stage_back = ev->io.stage_back;
	io->roomy = ev->io.stage_room && !chance(io->seq + 1, 3);
	if (io->stage_do == PROT_STAGE_KEEP)
		stage_behind(w, io, ev->io.stage_after);
	stage_use(w, io);
}

void sim_stage_keep(struct sim_world *w, const struct sim_io *io)
{
	struct sim_stage *s = find(w, io->stage);

	if (io->stage_do != PROT_STAGE_KEEP)
		return;
	if (s && io->behind) {
		prot_group_staged(sim_group(w), io->tag, true);
		return;
	}
	if (chance(io->seq, 4))
		return;
	if (!s)
		s = unused(w);
	if (!s)
		return;
	s->used = 1;
	s->roomy = io->roomy;
	s->number = io->stage;
	s->at = 0;
	s->end = io->sectors * SIM_LBA - io->stage_offset;
	memset(s->data, 0, sizeof(s->data));
	memcpy(s->data, io->data + io->stage_offset, s->end);
	if (s->roomy)
		prot_group_staged(sim_group(w), io->tag, false);
}

void sim_stage_free(struct sim_world *w, uint32_t op)
{
	for (struct sim_stage *s = w->stage; s < w->stage + SIM_STAGES; s++)
		if (op == PROT_NONE16 ||
		    (s->number >> PROT_TAG_SHIFT == op && !PROT_MUTANT(STAGE_KEPT)))
			s->used = 0;
}
#else
void sim_stage_begin(struct sim_world *w, struct sim_io *io, const struct prot_event *ev)
{
	(void)w, (void)io, (void)ev;
}

void sim_stage_keep(struct sim_world *w, const struct sim_io *io) { (void)w, (void)io; }
void sim_stage_free(struct sim_world *w, uint32_t op) { (void)w, (void)op; }
#endif
