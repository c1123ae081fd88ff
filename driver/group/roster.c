// SPDX-License-Identifier: GPL-2.0-only
/*
 * Rosters on members: read at an attach, written at each change. Each member has two blocks, before
 * the member's records (engine/geometry.h), written in turn, so a torn write leaves the other
 * block.
 */
#define pr_fmt(fmt) "meshblk: " fmt
#include <linux/slab.h>
#include <linux/string.h>

#include "driver/group/group.h"
#include "driver/volume/volume.h"

static void roster_done(struct mesh_mio *mio, int err)
{
	struct mesh_roster_io *r = container_of(mio, struct mesh_roster_io, mio);

	if (mesh_abandoned_ended(&r->left))
		return;
	mio->err = err;
	complete(&r->done);
}

struct mesh_roster_io *mesh_roster_alloc(void)
{
	struct mesh_roster_io *r = kzalloc(sizeof(*r), GFP_KERNEL);

	if (!r)
		return NULL;
	init_completion(&r->done);
	r->block = kzalloc(2 * PROT_ROSTER_BLOCK, GFP_KERNEL);
	if (r->block)
		return r;
	kfree(r);
	return NULL;
}

void mesh_roster_free(struct mesh_roster_io *r)
{
	if (r)
		kfree(r->block);
	kfree(r);
}

/* True: the last roster I/O of a member was sent, and has not ended; with group->lock. */
bool mesh_roster_busy(const struct mesh_group_slot *slot)
{
	struct mesh_roster_io *r = slot->roster;

	return r && r->begun && !completion_done(&r->done);
}

static void roster_left(struct mesh_abandoned *a)
{
	mesh_roster_free(container_of(a, struct mesh_roster_io, left));
}

/* Leave a roster I/O to a member that does not end the I/O; with group->lock. */
void mesh_roster_leave(struct mesh_group_slot *slot)
{
	struct mesh_roster_io *r = slot->roster;

	lockdep_assert_held(&slot->group->lock);
	if (mesh_roster_busy(slot) && mesh_abandon(&r->left, r->mio.member, roster_left))
		slot->roster = NULL;
}

/*
 * Leave overdue roster I/O of members that the group does not wait for; with group->lock, the start
 * work's.
 */
void mesh_rosters_overdue(struct mesh_group *g)
{
	bool serves = READ_ONCE(g->state) == MESH_GROUP_ACTIVE;
	u64 used = READ_ONCE(g->engine->in_sync) | READ_ONCE(g->engine->joining);
	u32 i;

	lockdep_assert_held(&g->lock);
	for (i = 0; i < g->width; i++) {
		struct mesh_group_slot *slot = &g->slots[i];

		if (mesh_roster_busy(slot) && !(serves && used >> i & 1) &&
		    time_after_eq(jiffies, slot->roster->since + mesh_group_member_timeout()))
			mesh_roster_leave(slot);
	}
}

static u64 roster_addr(const struct mesh_group *g, const struct mesh_group_slot *slot, u32 block)
{
	return g->cfg.meta[slot - g->slots] - (2 - block) * PROT_ROSTER_BLOCK;
}

/*
 * Prepare memory for the next roster I/O. Return: 0, -ENOMEM, or -EBUSY: the last I/O has not
 * ended.
 */
static int roster_ready(struct mesh_group_slot *slot)
{
	lockdep_assert_held(&slot->group->lock);
	if (mesh_roster_busy(slot))
		return -EBUSY;
	if (!slot->roster)
		slot->roster = mesh_roster_alloc();
	return slot->roster ? 0 : -ENOMEM;
}

/* Begin to read or write rosters on @m, of the slot; roster_ready() has returned 0. */
static void roster_start(struct mesh_group *g, struct mesh_group_slot *slot, struct mesh_member *m,
			 u8 op, u32 block, u32 blocks)
{
	struct mesh_roster_io *r = slot->roster;
	struct mesh_mio *mio = &r->mio;

	lockdep_assert_held(&g->lock);
	r->begun = true;
	r->since = jiffies;
	reinit_completion(&r->done);
	memset(mio, 0, sizeof(*mio));
	sg_init_one(&r->sg, r->block, blocks * PROT_ROSTER_BLOCK);
	mio->io.addr = roster_addr(g, slot, block);
	mio->io.len = blocks * PROT_ROSTER_BLOCK;
	mio->io.sg = &r->sg;
	mio->io.nents = 1;
	mio->op = op;
	mio->done = roster_done;
	rcu_read_lock();
	mesh_abandoned_init(&r->left, m);
	mesh_member_submit(m, mio);
	mesh_member_commit(m, 0);
	rcu_read_unlock();
}

/*
 * Wait for a roster I/O. Return: 0, or a negative errno; -ETIMEDOUT: the I/O may still end, and
 * keeps the memory.
 */
static int roster_wait(struct mesh_group_slot *slot)
{
	struct mesh_roster_io *r = slot->roster;

	if (wait_for_completion_timeout(&r->done, mesh_group_member_timeout())) {
		complete_all(&r->done);	/* completion_done() stays true */
		return r->mio.err;
	}
	mesh_member_kick(mesh_evict_roster(slot->group, slot - slot->group->slots));
	return -ETIMEDOUT;
}

/*
 * Read the roster of a member. Return: 0; -ENODATA: both blocks are zero; -EBADMSG: no valid
 * roster; or the error of the read.
 */
int mesh_roster_read(struct mesh_group *g, u32 i, struct prot_roster *r)
{
	struct mesh_group_slot *slot = &g->slots[i];
	int err, block;

	err = roster_ready(slot);
	if (!err) {
		roster_start(g, slot, mesh_evict_roster(g, i), PROT_READ, 0, 2);
		err = roster_wait(slot);
	}
	if (err)
		return err == -ENODATA ? -EIO : err;
	block = prot_roster_pick(slot->roster->block, r, &g->cfg.owner, i);
	slot->next_block = block == 0;
	if (block >= 0)
		return 0;
	return memchr_inv(slot->roster->block, 0, 2 * PROT_ROSTER_BLOCK) ? -EBADMSG : -ENODATA;
}

/* True: a member that did not take a roster may take the roster when written again. */
static bool roster_passes(int err)
{
	return err == -ENOLINK || err == -ENOMEM || err == -EAGAIN || err == -ETIMEDOUT;
}

/*
 * Write the pending roster to @members. @broken: set to members that will not take the roster.
 * Return: members with the roster durable.
 */
u64 mesh_roster_write(struct mesh_group *g, u64 members, u64 *broken)
{
	u64 sent = 0, good = 0;
	int err;
	u32 i;

	*broken = 0;

	for (i = 0; i < g->width; i++) {
		struct mesh_group_slot *slot = &g->slots[i];
		struct mesh_member *m = mesh_evict_roster(g, i);
		const u8 *named = g->ms.pend.uuid[i];

		/*
		 * the runner may have ended an eviction since its roster was proposed: the member
		 * in place must not get a roster that names the successor
		 */
		if (!(members >> i & 1) || memcmp(named, &m->conf.uuid, PROT_UUID_LEN) ||
		    roster_ready(slot))
			continue;
		prot_roster_seal(slot->roster->block, &g->ms.pend, &g->cfg.owner, i);
		roster_start(g, slot, m, PROT_WRITE, slot->next_block, 1);
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
		/*
		 * after a failure the same block is next: the other block may be the only good one
		 */
		g->slots[i].next_block ^= 1;
		good |= BIT_ULL(i);
	}
	return good;
}
