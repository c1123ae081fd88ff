// SPDX-License-Identifier: GPL-2.0-only
/*
 * Rosters on members: read at an attach, written at each change. Each member has two blocks,
 * before its records (engine/geometry.h), written in turn, so that a torn one leaves the other.
 */
#define pr_fmt(fmt) "meshblk: " fmt
#include <linux/string.h>

#include "driver/group.h"
#include "driver/volume.h"

static void roster_done(struct mesh_mio *mio, int err)
{
	struct mesh_group_slot *slot = mio->priv;

	mio->err = err;
	complete(&slot->done);
}

static u64 roster_addr(const struct mesh_group *g, const struct mesh_group_slot *slot, u32 block)
{
	return g->cfg.meta[slot - g->slots] - (2 - block) * PROT_ROSTER_BLOCK;
}

/* Begin to read or write. Return: 0, or -EBUSY: the last one has not ended. */
static int roster_start(struct mesh_group *g, struct mesh_group_slot *slot, u8 op, u32 block,
			u32 blocks)
{
	struct mesh_mio *mio = &slot->mio;
	struct mesh_member *m;

	lockdep_assert_held(&g->lock);
	if (slot->begun && !completion_done(&slot->done))
		return -EBUSY;
	slot->begun = true;
	reinit_completion(&slot->done);
	memset(mio, 0, sizeof(*mio));
	sg_init_one(&slot->sg, slot->block, blocks * PROT_ROSTER_BLOCK);
	mio->io.addr = roster_addr(g, slot, block);
	mio->io.len = blocks * PROT_ROSTER_BLOCK;
	mio->io.sg = &slot->sg;
	mio->io.nents = 1;
	mio->op = op;
	mio->done = roster_done;
	mio->priv = slot;
	rcu_read_lock();
	m = mesh_evict_roster(g, slot - g->slots);
	mesh_member_submit(m, mio);
	mesh_member_commit(m, 0);
	rcu_read_unlock();
	return 0;
}

/* Return: 0, or a negative errno; -ETIMEDOUT: it may still end, and its memory stays its own. */
static int roster_wait(struct mesh_group_slot *slot)
{
	unsigned long left = wait_for_completion_timeout(&slot->done,
							 mesh_group_member_timeout());

	if (left) {
		complete_all(&slot->done);	/* completion_done() stays true */
		return slot->mio.err;
	}
	mesh_member_kick(mesh_evict_roster(slot->group, slot - slot->group->slots));
	return -ETIMEDOUT;
}

/*
 * The roster of a member. Return: 0; -ENODATA: both blocks are zero; -EBADMSG: there is none; or
 * why it could not be read.
 */
int mesh_roster_read(struct mesh_group *g, u32 i, struct prot_roster *r)
{
	struct mesh_group_slot *slot = &g->slots[i];
	int err, block;

	err = roster_start(g, slot, PROT_READ, 0, 2) ?: roster_wait(slot);
	if (err)
		return err == -ENODATA ? -EIO : err;
	block = prot_roster_pick(slot->block, r, &g->cfg.owner, i);
	slot->next_block = block == 0;
	if (block >= 0)
		return 0;
	return memchr_inv(slot->block, 0, 2 * PROT_ROSTER_BLOCK) ? -EBADMSG : -ENODATA;
}

/* Whether a member that did not take a roster may take it when it is written again. */
static bool roster_passes(int err)
{
	return err == -ENOLINK || err == -ENOMEM || err == -EAGAIN || err == -ETIMEDOUT;
}

/*
 * Write the pending roster to these members. @broken: gets those that will not take it. Return:
 * those on which it is durable.
 */
u64 mesh_roster_write(struct mesh_group *g, u64 members, u64 *broken)
{
	u64 sent = 0, good = 0;
	int err;
	u32 i;

	*broken = 0;

	for (i = 0; i < g->width; i++) {
		struct mesh_group_slot *slot = &g->slots[i];

		if (!(members >> i & 1) || (slot->begun && !completion_done(&slot->done)))
			continue;
		prot_roster_seal(slot->block, &g->ms.pend, &g->cfg.owner, i);
		if (!roster_start(g, slot, PROT_WRITE, slot->next_block, 1))
			sent |= BIT_ULL(i);
	}
	for (i = 0; i < g->width; i++) {
		if (!(sent >> i & 1))
			continue;
		err = roster_wait(&g->slots[i]);
		if (err) {
			*broken |= roster_passes(err) ? 0 : BIT_ULL(i);
			continue;
		}
		/* where it failed the same block is the next: the other may be all there is */
		g->slots[i].next_block ^= 1;
		good |= BIT_ULL(i);
	}
	return good;
}
