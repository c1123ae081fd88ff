// SPDX-License-Identifier: GPL-2.0-only
/*
 * stripe: units dealt over columns like cards.
 *
 *   unit    0  1  2   3  4  5   6  7  8        columns 3
 *   column  0  1  2   0  1  2   0  1  2
 *   row     0  0  0   1  1  1   2  2  2
 *
 * A part that touches units 2..7 gives column 2 the units 2 and 5, column 0
 * the units 3 and 6, column 1 the units 4 and 7. What a column gets is one run
 * of its member (rows follow each other there) and several runs of the
 * request, `columns` units apart.
 *
 * The groups of redundant levels are dealt rows in the same way, a unit being what
 * one group holds of a row: a strip (mirror, raid10), or K strips (ec):
 *
 *   ec:4+2 over 12 drives, strips of 64k: two groups, a unit is 256k
 *
 *   volume    0     256k   512k   768k   1m
 *             | g0   | g1   | g0   | g1   |
 *   of g0     0 .. 256k     256k .. 512k
 *
 * A group's I/O is addressed in the group's own bytes: 0 is the first that it
 * holds of the segment, and @member is the index of its first place.
 */
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/minmax.h>

#include "protect/layout/prot.h"

static const char *stripe_check(struct prot_segment *s)
{
	if (s->parity)
		return "stripe has no parity";
	s->columns = (u32)s->groups * s->data;
	if (s->columns < 2)
		return "stripe has at least two members";
	return NULL;
}

/* Bytes of the segment that unit @u shares with the part [from, to). */
static u64 stripe_clip(u64 u, u32 unit, u64 from, u64 to, u64 *start)
{
	*start = max(u * unit, from);
	return min(u * unit + unit, to) - *start;
}

bool prot_stripe_next(struct prot_op *op, const struct prot_layout *l,
		      struct prot_io *io, struct prot_run *runs)
{
	const struct prot_segment *s = prot_segments(l) + op->segment;
	u64 from = op->start - s->start, to = op->part_end - s->start, u, row, at, last;
	u32 columns = s->columns, unit = s->unit, column;
	const struct prot_place *p;

	last = div_u64(to - 1, unit);
	if (!op->unit) {
		/* the first unit of this column; kept plus one, zero is "none yet" */
		u = div_u64(from, unit) + op->column;
		if (op->column == columns || u > last)
			return false;
		op->unit = u + 1;
	}
	u = op->unit - 1;
	row = div_u64_rem(u, columns, &column);
	p = prot_places(l) + s->first + column * s->width;
	stripe_clip(u, unit, from, to, &at);
	io->addr = row * unit + (at - u * unit);
	if (s->width > 1) {
		io->group_io = true;
		io->member = p - prot_places(l);
	} else {
		io->member = p->member;
		io->addr += p->offset;
	}

	if (op->kind > PROT_WRITE) {
		/* no payload, so no runs to count: the middle ones are whole units */
		u64 n = div_u64(last - u, columns), tail = u + n * columns;

		io->length = stripe_clip(u, unit, from, to, &at);
		if (n)
			io->length += (n - 1) * unit + stripe_clip(tail, unit, from, to, &at);
		u = last + 1;
	}
	if (columns == 1 && u <= last) {	/* one group: the request as it is */
		runs[0] = (struct prot_run){ .offset = op->base, .length = to - from };
		io->nr_runs = 1;
		io->length = to - from;
		u = last + 1;
	}
	for (; u <= last && io->nr_runs < PROT_RUNS_MAX; u += columns) {
		u32 len = stripe_clip(u, unit, from, to, &at);

		runs[io->nr_runs++] = (struct prot_run){ .offset = op->base + (at - from),
							 .length = len };
		io->length += len;
	}
	op->unit = u + 1;
	if (u > last) {
		op->unit = 0;
		op->column++;
	}
	return true;
}

const struct prot_level_ops prot_stripe_ops = {
	.name = "stripe",
	.discard = true,
	.check = stripe_check,
	.next = prot_stripe_next,
};
