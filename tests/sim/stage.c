// SPDX-License-Identifier: GPL-2.0-only
/*
 * Staged payloads, as a caller of a group has them: a cache, which may lose any of them at any
 * time. Whether one is kept, and whether it is there still, follows from the I/O's number.
 */
#include <string.h>

#include "protect/group_priv.h"
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

void sim_stage_keep(struct sim_world *w, const struct sim_io *io)
{
	struct sim_stage *s = find(w, io->stage);

	if (io->stage_do != PROT_STAGE_KEEP || chance(io->seq, 4))
		return;
	if (!s)
		s = unused(w);
	if (!s)
		return;
	s->used = 1;
	s->number = io->stage;
	memset(s->data, 0, sizeof(s->data));
	memcpy(s->data, io->data + io->stage_offset, io->sectors * SIM_LBA - io->stage_offset);
}

void sim_stage_use(struct sim_world *w, struct sim_io *io)
{
	struct sim_stage *s = find(w, io->stage);

	if (io->stage_do != PROT_STAGE_LAST || !s)
		return;
	if (chance(io->seq, 4)) {
		memset(s->data, 0x5a, sizeof(s->data));		/* what other I/O has put there */
		if (!PROT_MUTANT(STAGE_DROPPED)) {
			s->used = 0;
			w->stale++;
			return;
		}
	}
	if (memcmp(io->data, s->data + io->stage_offset, io->sectors * SIM_LBA))
		sim_bad(w, "what is staged is not what is to be written on member %d", io->member);
	memcpy(io->data, s->data + io->stage_offset, io->sectors * SIM_LBA);
	s->used = 0;
	w->staged++;
}

void sim_stage_free(struct sim_world *w, uint32_t op)
{
	for (struct sim_stage *s = w->stage; s < w->stage + SIM_STAGES; s++)
		if (op == PROT_NONE16 ||
		    (s->number >> PROT_TAG_SHIFT == op && !PROT_MUTANT(STAGE_KEPT)))
			s->used = 0;
}
#else
void sim_stage_keep(struct sim_world *w, const struct sim_io *io) { (void)w, (void)io; }
void sim_stage_use(struct sim_world *w, struct sim_io *io) { (void)w, (void)io; }
void sim_stage_free(struct sim_world *w, uint32_t op) { (void)w, (void)op; }
#endif
