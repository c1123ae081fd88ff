// SPDX-License-Identifier: GPL-2.0-only
/*
 * The op: a request cut at segments, each part planned by its level.
 *
 *   PLAN --batch full or all planned--> WAIT --all results in--> PLAN or DONE
 *
 * Where we are is in the numbers (start, end, out), there is no state field.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/string.h>

#include "protect/mutant.h"
#include "protect/layout/prot.h"

static void op_begin_part(struct prot_op *op, const struct prot_layout *l)
{
	const struct prot_segment *s = prot_segments(l) + op->segment;

	op->part_end = min(op->end, s->start + s->length);
	op->column = 0;
	op->unit = 0;
}

int prot_op_init(struct prot_op *op, const struct prot_layout *l, const struct prot_request *rq)
{
	memset(op, 0, sizeof(*op));
	op->kind = rq->kind;
	op->flags = rq->flags;
	if (rq->kind == PROT_FLUSH)
		return rq->offset || rq->length ? -EINVAL : 0;
	if (rq->kind > PROT_FLUSH || !rq->length || (rq->offset | rq->length) & (l->lba - 1))
		return -EINVAL;
	if (rq->kind <= PROT_WRITE && rq->length > l->max_bytes)
		return -EINVAL;
	if (rq->offset > l->size || rq->length > l->size - rq->offset)
		return -EIO;
	op->start = rq->offset;
	op->end = rq->offset + rq->length;
	op->segment = prot_segment_at(l, rq->offset);
	op_begin_part(op, l);
	return 0;
}

bool prot_single(const struct prot_layout *l, const struct prot_request *rq, struct prot_io *io)
{
	const struct prot_segment *s;
	const struct prot_place *p;
	u32 column, in_unit;
	u64 at;

	if (rq->kind > PROT_WRITE || !rq->length || (rq->offset | rq->length) & (l->lba - 1) ||
	    rq->length > l->max_bytes || rq->offset > l->size ||
	    rq->length > l->size - rq->offset)
		return false;
	s = prot_segments(l) + prot_segment_at(l, rq->offset);
	at = rq->offset - s->start;
	if ((s->width > 1 && rq->kind != PROT_READ) || rq->length > s->length - at)
		return false;
	p = prot_places(l) + s->first;
	if (s->columns > 1) {
		u64 unit = div_u64_rem(at, s->unit, &in_unit);

		if (rq->length > s->unit - in_unit)
			return false;
		at = div_u64_rem(unit, s->columns, &column) * s->unit + in_unit;
		p += column * s->width;
	}
	*io = (struct prot_io){ .addr = p->offset + at, .length = rq->length,
				.member = p->member, .nr_runs = 1, .kind = rq->kind,
				.flags = rq->flags };
	if (s->width > 1) {	/* in the group's own bytes */
		io->group_io = true;
		io->member = p - prot_places(l);
		io->addr = at;
	}
	return true;
}

enum prot_verdict prot_op_next(struct prot_op *op, const struct prot_layout *l,
			       struct prot_io *io, struct prot_run *runs)
{
	/* After an error nothing new is started; what is out is waited for. */
	while (op->start < op->end && !op->err && op->batch < PROT_BATCH_MAX) {
		const struct prot_segment *s = prot_segments(l) + op->segment;

		memset(io, 0, sizeof(*io));
		if (prot_level(s->level)->next(op, l, io, runs)) {
			io->kind = op->kind;
			io->flags = op->flags;
			io->tag = op->tag++;
			op->batch++;
			op->out++;
			return PROT_IO;
		}
		op->base += op->part_end - op->start;
		op->start = op->part_end;
		op->segment++;
		if (op->start < op->end)
			op_begin_part(op, l);
	}
	if (PROT_MUTANT(OP_EARLY) && op->out < op->batch)
		return PROT_DONE;
	return op->out ? PROT_WAIT : PROT_DONE;
}

void prot_op_result(struct prot_op *op, u32 tag, int err)
{
	(void)tag;	/* one result is like another: there is nothing to re-plan */
	if (err && !op->err)
		op->err = err;
	op->out--;
	if (!op->out)
		op->batch = 0;
}

u32 prot_runs_cut(const struct prot_run *runs, u32 nr, u32 from, u32 length,
		  struct prot_run *out)
{
	u32 n = 0, i;

	for (i = 0; i < nr && length; i++) {
		u32 skip = min(from, runs[i].length), take = min(runs[i].length - skip, length);

		from -= skip;
		length -= take;
		if (take)
			out[n++] = (struct prot_run){ .buffer = runs[i].buffer, .length = take,
						      .offset = runs[i].offset + skip };
	}
	return n;
}
