// SPDX-License-Identifier: GPL-2.0-only
/*
 * Payloads kept by members, so that erasure coding sends a payload once: in the record, and not
 * again for the write in place.
 *
 *   record (PROT_STAGE_KEEP) ends well --> g->stages[op, member]
 *     '-> in place (PROT_STAGE_LAST): taken out, used by the write, put after any end
 *     '-> not used, because a later write went in place instead, or the member failed:
 *         put when the op is free, the slot's member changes, or the engine begins again
 *
 * Records in order are staged one behind the other, if members can: prot_group_staged() notifies
 * the engine, and the last write in place takes the earlier writes along.
 *
 * A write from a stage that ends with an error is sent again from the op's own copy: the stage was
 * dropped (-ESTALE), or ended with the session. A write that takes others along has no copy of the
 * other payloads: such a write is sent once, and the engine gets -ESTALE instead.
 */
#define pr_fmt(fmt) "meshblk: " fmt
#include <linux/mm.h>

#include "driver/group/group.h"

int mesh_group_stages_init(struct mesh_group *g)
{
	g->stages = kvcalloc(g->cfg.m ? g->cfg.ops * g->width : 1, sizeof(*g->stages), GFP_KERNEL);
	return g->stages ? 0 : -ENOMEM;
}

static void stage_put(struct mesh_group *g, u32 member, void *stage)
{
	/* the slot's member does not change while the member has a stage */
	struct mesh_member *m = READ_ONCE(g->slots[member].member);

	m->ops->stage_put(m, stage);
}

/* An I/O has ended, in any context, before the runner knows: put the stage used by the I/O. */
void mesh_group_stage_done(struct mesh_gio *gio)
{
	if (!gio->staged)
		return;
	stage_put(gio->group, gio->io.member, gio->mio.stage);
	gio->mio.stage = NULL;
}

/* The entry for a stage of @op at @member. */
static struct mesh_staged *stage_at(const struct mesh_group *g, u32 op, u32 member)
{
	return &g->stages[op * g->width + member];
}

static bool stage_is(const struct mesh_group *g, u32 op, u32 member)
{
	return g->gops[op].stages >> member & 1;
}

/* Return: the stage of the record before this one at the same member; or NULL. */
static void *stage_before(const struct mesh_group *g, const struct mesh_gio *gio)
{
	u32 op = gio->io.stage_after >> PROT_TAG_SHIFT, member = gio->io.member;

	if (gio->io.stage_after == PROT_NO_STAGE || !stage_is(g, op, member))
		return NULL;
	return stage_at(g, op, member)->stage;
}

/*
 * A record: stage the payload, behind the record before this one if the member keeps both. No stage
 * during an eviction: the successor, written as well, has no stages.
 */
static void stage_record(struct mesh_group *g, struct mesh_gio *gio)
{
	struct mesh_member *m = g->slots[gio->io.member].member;

	if (!gio->io.stage_room || !m->ops->stage_get || g->evict)
		return;
	gio->mio.stage_room = gio->io.stage_room;
	gio->behind = stage_before(g, gio);
	gio->mio.behind = gio->behind;
	if (gio->behind)
		m->ops->stage_get(m, gio->behind);
}

/*
 * A write in place: sent from a stage, if there is one, with the earlier writes to be taken along.
 */
static void stage_place(struct mesh_group *g, struct mesh_gio *gio)
{
	u32 op = gio->io.stage >> PROT_TAG_SHIFT, member = gio->io.member;
	const struct mesh_staged *st = stage_at(g, op, member);

	if (!stage_is(g, op, member) || st->at < gio->io.stage_back)
		return;
	g->gops[op].stages &= ~BIT_ULL(member);
	gio->mio.stage = st->stage;
	gio->io.stage_offset += st->at - gio->io.stage_back;
	gio->staged = true;
}

/* An I/O, without stages so far, is to be sent for the first time. */
void mesh_group_stage_use(struct mesh_group *g, struct mesh_gio *gio)
{
	gio->mio.stage = NULL;
	gio->mio.behind = NULL;
	gio->mio.stage_room = 0;
	if (gio->io.stage_do == PROT_STAGE_KEEP)
		stage_record(g, gio);
	else if (gio->io.stage_do == PROT_STAGE_LAST)
		stage_place(g, gio);
}

/* The I/O is not to be kept behind another stage any more. */
void mesh_group_stage_apart(struct mesh_group *g, struct mesh_gio *gio)
{
	if (gio->behind)
		stage_put(g, gio->io.member, gio->behind);
	gio->behind = NULL;
	gio->mio.behind = NULL;
	gio->mio.stage_room = 0;
}

/* A record was written, and has left a stage. */
static void stage_keep(struct mesh_group *g, struct mesh_gio *gio)
{
	u32 op = gio->io.stage >> PROT_TAG_SHIFT, member = gio->io.member;
	struct mesh_staged *st = stage_at(g, op, member);

	/* a record sent twice has left two stages */
	mesh_group_stages_put(g, op, g->gops[op].stages & BIT_ULL(member));
	st->stage = gio->mio.stage;
	st->at = gio->mio.behind ? gio->mio.stage_at : 0;
	g->gops[op].stages |= BIT_ULL(member);
	if ((gio->mio.behind || gio->mio.stage_room) && !mesh_group_abandoned(g))
		prot_group_staged(g->engine, gio->io.tag, gio->mio.behind);
}

/*
 * An I/O has ended: keep the stage left by the I/O. Return: true if the I/O was sent from a dropped
 * stage, and is to be sent again.
 */
bool mesh_group_stage_ended(struct mesh_group *g, struct mesh_gio *gio)
{
	bool staged = gio->staged;

	gio->staged = false;
	if (gio->io.stage_do == PROT_STAGE_KEEP && !gio->err && gio->mio.stage)
		stage_keep(g, gio);
	mesh_group_stage_apart(g, gio);
	gio->mio.stage = NULL;
	return staged && gio->err == -ESTALE && !g->slots[gio->io.member].failing &&
	       g->state != MESH_GROUP_STOPPED;
}

/* Put the op's stages at @members; the op has a stage at each. */
void mesh_group_stages_put(struct mesh_group *g, u32 op, u64 members)
{
	struct mesh_gop *gop = &g->gops[op];

	gop->stages &= ~members;
	for (; members; members &= members - 1) {
		u32 member = __ffs64(members);

		stage_put(g, member, stage_at(g, op, member)->stage);
	}
}

/* Put all stages at @members, because the members are gone, or no op is left. */
void mesh_group_stages_end(struct mesh_group *g, u64 members)
{
	u32 op;

	for (op = 0; op < g->cfg.ops; op++)
		mesh_group_stages_put(g, op, g->gops[op].stages & members);
}
