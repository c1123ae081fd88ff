// SPDX-License-Identifier: GPL-2.0-only
/*
 * Payloads that members keep, so that erasure coding sends them once: in the record, and no
 * more where they go in place.
 *
 *   record (PROT_STAGE_KEEP) ends well --> g->stages[op, member]
 *     '-> in place (PROT_STAGE_LAST): taken out, sent from, put when that has ended, however
 *     '-> not used: a later write went there instead, or the member failed:
 *         put when the op is free, the member is another one, or the engine begins again
 *
 * Records in order are staged one behind the other, where members can: the engine knows by
 * prot_group_staged(), and the last of them takes the others along in place.
 *
 * A write from a stage that ends with an error is sent again from the op's own copy: the
 * stage was dropped (-ESTALE), or its session has ended, and it with that. One that takes others
 * along has no copy of theirs: it is sent once, and the engine gets -ESTALE instead.
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
	/* no other one while a stage of it is there */
	struct mesh_member *m = READ_ONCE(g->slots[member].member);

	m->ops->stage_put(m, stage);
}

/* An I/O has ended, in whatever context; before the runner knows. */
void mesh_group_stage_done(struct mesh_gio *gio)
{
	if (!gio->staged)
		return;
	stage_put(gio->group, gio->io.member, gio->mio.stage);
	gio->mio.stage = NULL;
}

/* What @op keeps at @member, or is to. */
static struct mesh_staged *stage_at(const struct mesh_group *g, u32 op, u32 member)
{
	return &g->stages[op * g->width + member];
}

static bool stage_is(const struct mesh_group *g, u32 op, u32 member)
{
	return g->gops[op].stages >> member & 1;
}

/* What the record before this one has staged at the same member; or NULL. */
static void *stage_before(const struct mesh_group *g, const struct mesh_gio *gio)
{
	u32 op = gio->io.stage_after >> PROT_TAG_SHIFT, member = gio->io.member;

	if (gio->io.stage_after == PROT_NO_STAGE || !stage_is(g, op, member))
		return NULL;
	return stage_at(g, op, member)->stage;
}

/*
 * A record: behind the one before it, if its member keeps it so. Not while a successor gets what is
 * written: that has no stages.
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

/* A write in place: from a stage, if there is one, with those before it that it takes along. */
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

/* An I/O is to be sent for the first time; with nothing that is staged. */
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

/* It is not to be kept behind another one any more. */
void mesh_group_stage_apart(struct mesh_group *g, struct mesh_gio *gio)
{
	if (gio->behind)
		stage_put(g, gio->io.member, gio->behind);
	gio->behind = NULL;
	gio->mio.behind = NULL;
	gio->mio.stage_room = 0;
}

/* A record was written that has left a stage. */
static void stage_keep(struct mesh_group *g, struct mesh_gio *gio)
{
	u32 op = gio->io.stage >> PROT_TAG_SHIFT, member = gio->io.member;
	struct mesh_staged *st = stage_at(g, op, member);

	/* a record that was sent twice */
	mesh_group_stages_put(g, op, g->gops[op].stages & BIT_ULL(member));
	st->stage = gio->mio.stage;
	st->at = gio->mio.behind ? gio->mio.stage_at : 0;
	g->gops[op].stages |= BIT_ULL(member);
	if ((gio->mio.behind || gio->mio.stage_room) && !mesh_group_abandoned(g))
		prot_group_staged(g->engine, gio->io.tag, gio->mio.behind);
}

/*
 * An I/O has ended: a stage that it has left is kept. Return: whether it was sent from one that
 * was dropped, and is to be sent again.
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

/* What is left of an op's stages at these members, all of which it has. */
void mesh_group_stages_put(struct mesh_group *g, u32 op, u64 members)
{
	struct mesh_gop *gop = &g->gops[op];

	gop->stages &= ~members;
	for (; members; members &= members - 1) {
		u32 member = __ffs64(members);

		stage_put(g, member, stage_at(g, op, member)->stage);
	}
}

/* These members are not there any more, or no op is. */
void mesh_group_stages_end(struct mesh_group *g, u64 members)
{
	u32 op;

	for (op = 0; op < g->cfg.ops; op++)
		mesh_group_stages_put(g, op, g->gops[op].stages & members);
}
