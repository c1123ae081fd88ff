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
 * A write from a stage that ends with an error is sent again from the op's own copy: the
 * stage was dropped (-ESTALE), or its session has ended, and it with that.
 */
#define pr_fmt(fmt) "meshblk: " fmt
#include <linux/mm.h>

#include "driver/group.h"

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

/* An I/O is to be sent for the first time: from a stage, if it has one. */
void mesh_group_stage_use(struct mesh_group *g, struct mesh_gio *gio)
{
	u32 op = gio->io.stage >> PROT_TAG_SHIFT, member = gio->io.member;

	if (gio->io.stage_do != PROT_STAGE_LAST || !(g->gops[op].stages >> member & 1))
		return;
	g->gops[op].stages &= ~BIT_ULL(member);
	gio->mio.stage = g->stages[op * g->width + member];
	gio->staged = true;
}

/*
 * An I/O has ended: a stage that it has left is kept. Return: whether it was sent from one that
 * was dropped, and is to be sent again.
 */
bool mesh_group_stage_ended(struct mesh_group *g, struct mesh_gio *gio)
{
	u32 op = gio->io.stage >> PROT_TAG_SHIFT, member = gio->io.member;
	bool staged = gio->staged;

	gio->staged = false;
	if (gio->io.stage_do == PROT_STAGE_KEEP && !gio->err && gio->mio.stage) {
		/* a record that was sent twice */
		mesh_group_stages_put(g, op, g->gops[op].stages & BIT_ULL(member));
		g->stages[op * g->width + member] = gio->mio.stage;
		g->gops[op].stages |= BIT_ULL(member);
	}
	gio->mio.stage = NULL;
	return staged && gio->err == -ESTALE && !g->slots[member].failing &&
	       g->state != MESH_GROUP_STOPPED;
}

/* What is left of an op's stages at these members, all of which it has. */
void mesh_group_stages_put(struct mesh_group *g, u32 op, u64 members)
{
	struct mesh_gop *gop = &g->gops[op];

	gop->stages &= ~members;
	for (; members; members &= members - 1) {
		u32 member = __ffs64(members);

		stage_put(g, member, g->stages[op * g->width + member]);
	}
}

/* These members are not there any more, or no op is. */
void mesh_group_stages_end(struct mesh_group *g, u64 members)
{
	u32 op;

	for (op = 0; op < g->cfg.ops; op++)
		mesh_group_stages_put(g, op, g->gops[op].stages & members);
}
