// SPDX-License-Identifier: GPL-2.0-only
/* I/O to members: classes (group.h) and events. */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/string.h>

#include "protect/engine/group_priv.h"

enum prot_class prot_class(int err)
{
	switch (err) {
	case 0:
		return PROT_C_OK;
	case -ENODATA:
	case -EILSEQ:
		return PROT_C_MEDIUM;
	case -EOPNOTSUPP:
		return PROT_C_UNSUPPORTED;
	default:
		return PROT_C_GONE;
	}
}

void *prot_group_buffer(struct prot_group *g, u32 buffer)
{
	if (buffer >= PROT_BUFFER_BLOCK)
		return (u8 *)prot_at(g, g->shape.off_block_bufs) +
		       (buffer - PROT_BUFFER_BLOCK) * g->cfg.lba;
	if (buffer >= PROT_BUFFER_META)
		return (u8 *)prot_at(g, g->shape.off_meta) +
		       (buffer - PROT_BUFFER_META) * g->shape.meta_buf_bytes;
	return prot_private(g, buffer - PROT_BUFFER_PRIVATE);
}

void prot_io_fill(const struct prot_group *g, const struct prot_gop *op, u32 member, u8 kind,
		  u64 addr, u32 length, struct prot_event *ev)
{
	memset(ev, 0, sizeof(*ev));
	ev->kind = PROT_EV_IO;
	ev->op = prot_gop_index(g, op);
	ev->io.member = member;
	ev->io.kind = kind;
	ev->io.flags = op->flags | PROT_FUA;
	ev->io.addr = g->cfg.data[member] + addr;
	ev->io.length = length;
	ev->io.tag = ev->op << PROT_TAG_SHIFT | member;
	if (kind <= PROT_WRITE) {
		ev->io.nr_runs = 1;
		ev->runs[0].length = length;
	}
}

/* An I/O to the records of @member; the caller completes the tag and the place in @buffer. */
void prot_records_io(struct prot_event *ev, u32 member, u8 kind, u64 addr, u32 length,
		     u32 buffer)
{
	memset(ev, 0, sizeof(*ev));
	ev->kind = PROT_EV_IO;
	ev->op = PROT_NONE16;
	ev->io.member = member;
	ev->io.kind = kind;
	ev->io.flags = PROT_FUA | PROT_META;
	ev->io.addr = addr;
	ev->io.length = length;
	ev->io.tag = PROT_TAG_META | member;
	if (kind > PROT_WRITE)
		return;
	ev->io.nr_runs = 1;
	ev->runs[0].buffer = buffer;
	ev->runs[0].length = length;
}

/* The only record I/O of @member in flight, from byte @from of the member's metadata buffer. */
void prot_meta_io(struct prot_group *g, u32 member, u8 what, u8 kind, u64 addr, u32 from,
		  u32 length, struct prot_event *ev)
{
	struct prot_meta *m = &g->meta[member];

	m->busy = 1;
	m->what = what;
	m->kind = kind;
	prot_records_io(ev, member, kind, addr, length, PROT_BUFFER_META + member);
	ev->runs[0].offset = from;
}

/* Zero all rows of @op on @member, by zeroing or, if not supported, by writing. */
void prot_zeroes_fill(const struct prot_group *g, struct prot_gop *op, u32 member,
		      struct prot_event *ev)
{
	bool plain = g->no_zeroes >> member & 1;

	prot_io_fill(g, op, member, plain ? PROT_WRITE : op->kind, op->addr, op->length, ev);
	if (!plain)
		return;
	op->plain |= PROT_BIT(member);
	ev->runs[0].buffer = PROT_BUFFER_ZERO;
}
