// SPDX-License-Identifier: GPL-2.0-only
/*
 * Rule 1, asserted: no page is unmapped while a posted work request names it.
 *
 * Builds with MESH_FAULTS only. Soft-RoCE has no DMA API to notice a violation. So each channel
 * keeps a ring that says whose pages its posted requests name; send completions retire the entries
 * in order, and every unmap is checked against all entries. The check does not compare addresses: a
 * mirror sends the same pages in several I/Os, each with its own mapping, and all mappings may have
 * one address. The module parameter rule1_broken counts violations; a test reads it.
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
MODULE_PARM_DESC(rule1_broken, "I/O unmapped while a work request named its pages");

static unsigned int rule1_checked;
module_param(rule1_checked, uint, 0444);
MODULE_PARM_DESC(rule1_checked, "I/O unmapped and held against the table");

/* A posted request with pages of @io, until signalled request @seq has completed. */
struct rdda_dbg {
	const struct rdda_io *io;	/* compared, never followed */
	u32	seq;
};

/*
 * A ring has more entries than the send queue: one request names the pages of several I/Os when
 * their data was written in a row.
 */
static u32 dbg_size(const struct rdda_chan *ch)
{
	return ch->sq.size + RDDA_CMD_SLOTS_MAX;
}

static struct rdda_dbg *dbg_at(struct rdda_chan *ch, u32 i)
{
	return &ch->dbg.ring[(ch->dbg.first + i) % dbg_size(ch)];
}

int rdda_dbg_setup(struct rdda_chan *ch)
{
	ch->dbg.ring = kvcalloc(dbg_size(ch), sizeof(*ch->dbg.ring), GFP_KERNEL);
	return ch->dbg.ring ? 0 : -ENOMEM;
}

void rdda_dbg_free(struct rdda_chan *ch)
{
	kvfree(ch->dbg.ring);
	ch->dbg.ring = NULL;
}

void rdda_dbg_posted(struct rdda_chan *ch, const struct rdda_io *io, u32 seq)
{
	struct rdda_dbg *d = dbg_at(ch, ch->dbg.nr++);

	d->io = io;
	d->seq = seq;
}

void rdda_dbg_done(struct rdda_chan *ch)
{
	while (ch->dbg.nr && rdda_chan_seq_done(ch, dbg_at(ch, 0)->seq)) {
		ch->dbg.first = (ch->dbg.first + 1) % dbg_size(ch);
		ch->dbg.nr--;
	}
}

void rdda_dbg_destroyed(struct rdda_chan *ch)
{
	ch->dbg.nr = 0;
}

static bool dbg_names(struct rdda_chan *ch, const struct rdda_io *io)
{
	u32 i;

	for (i = 0; i < ch->dbg.nr; i++)
		if (dbg_at(ch, i)->io == io)
			return true;
	return false;
}

void rdda_dbg_unmap(struct rdda_io *io)
{
	struct rdda_session *s = rdda_io_priv(io)->ch->s;
	unsigned long flags;
	bool named = false;
	unsigned int c;

	for (c = 0; c < s->nchan; c++) {
		struct rdda_chan *ch = s->chan[c];

		spin_lock_irqsave(&ch->lock, flags);
		named |= dbg_names(ch, io);
		spin_unlock_irqrestore(&ch->lock, flags);
	}
	rule1_checked++;
	if (named) {
		rule1_broken++;
		pr_err_ratelimited("rule 1 broken: unmapped while a work request names it\n");
	}
}
#endif
