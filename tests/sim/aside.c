// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reads that a member which is out never ends: the drive may write into their buffers until it is
 * fenced, and does, whenever the engine has its turn.
 */
#include <string.h>

#include "protect/engine/group_priv.h"
#include "tests/sim/sim.h"

static void aside_scribble(struct sim_world *w, const struct sim_io *io)
{
	uint8_t *buf = prot_group_buffer(sim_group(w), io->buffer);

	memset(buf + io->offset, 0x80 | io->seq, io->sectors * SIM_LBA);
}

int sim_aside(struct sim_world *w, struct sim_io *io)
{
	if (io->kind != PROT_READ || io->bypass || io->req < SIM_REQS ||
	    !prot_group_set_aside(sim_group(w), io->tag, io->buffer))
		return 0;
	io->dead = 1;
	io->aside = 1;
	w->asides++;
	return 1;
}

void sim_aside_over(struct sim_world *w, struct sim_io *io)
{
	aside_scribble(w, io);
	prot_group_returned(sim_group(w), io->buffer);
}

void sim_asides(struct sim_world *w)
{
	for (struct sim_io *io = w->io; io < w->io + SIM_IOS; io++)
		if (io->used && io->aside)
			aside_scribble(w, io);
}
