// SPDX-License-Identifier: GPL-2.0-only
/* linear: one member, one run. */
#include <linux/kernel.h>

#include "protect/layout/prot.h"

static const char *linear_check(struct prot_segment *s)
{
	if (s->groups != 1 || s->data != 1 || s->parity)
		return "linear has exactly one member";
	return NULL;
}

static bool linear_next(struct prot_op *op, const struct prot_layout *l,
			struct prot_io *io, struct prot_run *runs)
{
	const struct prot_segment *s = prot_segments(l) + op->segment;
	const struct prot_place *p = prot_places(l) + s->first;

	if (op->column++)
		return false;
	io->member = p->member;
	io->addr = p->offset + (op->start - s->start);
	io->length = op->part_end - op->start;
	if (op->kind <= PROT_WRITE) {
		runs[0] = (struct prot_run){ .offset = op->base, .length = io->length };
		io->nr_runs = 1;
	}
	return true;
}

const struct prot_level_ops prot_linear_ops = {
	.name = "linear",
	.discard = true,
	.check = linear_check,
	.next = linear_next,
};
