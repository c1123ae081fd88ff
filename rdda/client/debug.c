// SPDX-License-Identifier: GPL-2.0-only
/*
 * Rule 1, asserted: no page is unmapped while a posted work request names it.
 *
 * Builds with MESH_FAULTS only. Soft-RoCE has no DMA API that could notice, so
 * each channel keeps a ring of what its posted requests name, retired in order
 * by their send completions, and every unmap is checked against all of them. The
 * module parameter rule1_broken counts what was found; a test reads it.
 */
#define pr_fmt(fmt) "rdda: " fmt
#include <linux/moduleparam.h>
#include <linux/slab.h>

#include "rdda/client/channel.h"
#include "rdda/client/debug.h"
#include "rdda/client/io.h"
#include "rdda/client/session.h"
#include "rdda/common/fault.h"

#ifdef MESH_FAULTS
RDDA_FAULTS_DEFINE;

static unsigned int rule1_broken;
module_param(rule1_broken, uint, 0644);
MODULE_PARM_DESC(rule1_broken, "pages unmapped while a work request named them");

static unsigned int rule1_checked;
module_param(rule1_checked, uint, 0444);
MODULE_PARM_DESC(rule1_checked, "pages unmapped and held against the table");

/* One scatter entry of a posted request, until signalled request @seq is done. */
struct rdda_dbg {
	u64	addr;
	u32	len;
	u32	seq;
};

static u32 dbg_ring_size(const struct rdda_chan *ch)
{
	return ch->sq.size * ch->sq.sge_max;
}

int rdda_dbg_setup(struct rdda_chan *ch)
{
	ch->dbg.ring = kvcalloc(dbg_ring_size(ch), sizeof(*ch->dbg.ring), GFP_KERNEL);
	return ch->dbg.ring ? 0 : -ENOMEM;
}

void rdda_dbg_free(struct rdda_chan *ch)
{
	kvfree(ch->dbg.ring);
	ch->dbg.ring = NULL;
}

void rdda_dbg_posted(struct rdda_chan *ch, const struct ib_sge *sge, unsigned int nr, u32 seq)
{
	unsigned int i, at = ch->dbg.first + ch->dbg.nr;

	ch->dbg.nr += nr;
	for (i = 0; i < nr; i++) {
		struct rdda_dbg *d = &ch->dbg.ring[(at + i) % dbg_ring_size(ch)];

		d->addr = sge[i].addr;
		d->len = sge[i].length;
		d->seq = seq;
	}
}

void rdda_dbg_done(struct rdda_chan *ch)
{
	while (ch->dbg.nr && rdda_chan_seq_done(ch, ch->dbg.ring[ch->dbg.first].seq)) {
		ch->dbg.first = (ch->dbg.first + 1) % dbg_ring_size(ch);
		ch->dbg.nr--;
	}
}

void rdda_dbg_destroyed(struct rdda_chan *ch)
{
	ch->dbg.nr = 0;
}

static void dbg_check_one(struct rdda_chan *ch, u64 addr, u32 len)
{
	unsigned int i;

	for (i = 0; i < ch->dbg.nr; i++) {
		const struct rdda_dbg *d = &ch->dbg.ring[(ch->dbg.first + i) % dbg_ring_size(ch)];

		if (addr < d->addr + d->len && d->addr < addr + len) {
			rule1_broken++;
			pr_err_ratelimited("rule 1 broken: unmapped while a work request names it\n");
			return;
		}
	}
}

void rdda_dbg_unmap(struct rdda_io *io)
{
	struct rdda_io_priv *p = rdda_io_priv(io);
	struct rdda_session *s = p->ch->s;
	struct scatterlist *sg;
	unsigned long flags;
	unsigned int i, c;

	for (c = 0; c < s->nchan; c++) {
		struct rdda_chan *ch = s->chan[c];

		spin_lock_irqsave(&ch->lock, flags);
		for_each_sg(io->sg, sg, p->mapped, i) {
			dbg_check_one(ch, sg_dma_address(sg), sg_dma_len(sg));
			rule1_checked++;
		}
		spin_unlock_irqrestore(&ch->lock, flags);
	}
}
#endif
