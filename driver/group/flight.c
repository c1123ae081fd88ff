// SPDX-License-Identifier: GPL-2.0-only
/*
 * I/O of a group to the members: memory, sending, for the first time or again, and results. io.c
 * makes the I/O from events; member.c and evict.c decide on the next step after an end.
 */
#include <linux/slab.h>

#include "driver/block/walk.h"
#include "driver/group/group.h"

#define FLIGHT_SPARES		32	/* kept for the next I/O, more than an op has */
#define FLIGHT_RESERVE_SGS	8

static struct kmem_cache *flight_cache, *flight_sg_cache;

/* Keep @gio for the next events. */
static void flight_keep(struct mesh_group *g, struct mesh_gio *gio)
{
	gio->next = g->spares;
	g->spares = gio;
	g->nr_spares++;
}

struct mesh_gio *mesh_group_gio_take(struct mesh_group *g)
{
	struct mesh_gio *gio = g->spares;

	g->spares = gio->next;
	g->nr_spares--;
	return gio;
}

/* Have a gio ready for the next event. Return: false: no memory. */
bool mesh_group_gio_spare(struct mesh_group *g)
{
	struct mesh_gio *gio;

	if (g->spares)
		return true;
	gio = mempool_alloc(&g->gios, GFP_ATOMIC | __GFP_NOWARN);
	if (gio)
		flight_keep(g, gio);
	return gio;
}

void mesh_group_gio_free(struct mesh_group *g, struct mesh_gio *gio)
{
	/* an I/O planned from a stage, and never sent */
	if (gio->staged && gio->mio.stage)
		mesh_group_stage_done(gio);
	gio->staged = false;
	mesh_group_stage_apart(g, gio);
	if (gio->pooled)
		mempool_free(gio->mio.io.sg, &g->sgs);
	gio->pooled = false;
	if (g->nr_spares < FLIGHT_SPARES)
		flight_keep(g, gio);
	else
		mempool_free(gio, &g->gios);
}

/*
 * Free an I/O that was left to a member and has ended. The group, and the group's reserves, may be
 * gone.
 */
void mesh_group_gio_drop(struct mesh_gio *gio)
{
	if (gio->pooled)
		kmem_cache_free(flight_sg_cache, gio->mio.io.sg);
	kmem_cache_free(flight_cache, gio);
}

/* Start an I/O once the engine is let go; the I/O is in a list of I/O in flight. */
void mesh_group_start(struct mesh_group *g, struct mesh_gio *gio, struct mesh_group_todo *todo)
{
	mesh_abandoned_init(&gio->left, gio->twin ?: g->slots[gio->io.member].member);
	gio->sent = false;
	g->flying++;
	gio->next = NULL;
	*todo->last_io = gio;
	todo->last_io = &gio->next;
}

/* Give the engine the result of an I/O that is in no list. */
void mesh_group_deliver(struct mesh_group *g, struct mesh_gio *gio, int err)
{
	/* a group attached for reading has no member out: the engine reads from other members */
	prot_group_result(g->engine, gio->io.tag, err && g->cfg.ro ? -EILSEQ : err);
	mesh_group_gio_free(g, gio);
}

/* Send an I/O, for the first time or again. */
void mesh_group_send(struct mesh_group *g, struct mesh_gio *gio, struct mesh_group_todo *todo)
{
	struct mesh_group_slot *slot = &g->slots[gio->io.member];

	/* a write for several ops has only staged payloads: the engine sends one by one */
	if (mesh_group_overtaken(slot) || (gio->io.stage_back && !gio->staged)) {
		mesh_group_deliver(g, gio, -ESTALE);
		return;
	}
	if (mesh_evict_hold(g, gio))
		return;
	list_add_tail(&gio->node, &slot->flying);
	slot->nr_flying++;
	mesh_group_start(g, gio, todo);
}

/* Sleeps. */
int mesh_group_flight_init(struct mesh_group *g)
{
	return mempool_init_slab_pool(&g->gios, 2 * g->width + 2, flight_cache) ?:
	       mesh_walk_sgs_reserve(&g->sgs, FLIGHT_RESERVE_SGS, flight_sg_cache);
}

void mesh_group_flight_exit(struct mesh_group *g)
{
	while (g->spares)
		mempool_free(mesh_group_gio_take(g), &g->gios);
	mempool_exit(&g->sgs);
	mempool_exit(&g->gios);
}

/* On an error the caller calls mesh_group_flight_pools_exit() to free the caches made so far. */
int mesh_group_flight_pools_init(void)
{
	flight_cache = KMEM_CACHE(mesh_gio, SLAB_HWCACHE_ALIGN);
	flight_sg_cache = mesh_walk_sgs_cache("mesh_group_sg", MESH_GROUP_SG_MAX);
	return flight_cache && flight_sg_cache ? 0 : -ENOMEM;
}

void mesh_group_flight_pools_exit(void)
{
	kmem_cache_destroy(flight_sg_cache);
	kmem_cache_destroy(flight_cache);
}
