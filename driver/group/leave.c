// SPDX-License-Identifier: GPL-2.0-only
/*
 * I/O that a member's device neither ends nor fails is left to the member (abandoned.h), with the
 * memory named by the I/O; slot, group and volume are free of the I/O.
 *
 *   the group serves, without the member   left: I/O that the engine can do without; for any other
 *                                          I/O the group stops
 *   the group has stopped                  left: all I/O; the group begins again in other memory
 *   the group ends, or the volume goes     left: all I/O
 *
 * Private buffers of the engine: the memory stays until the I/O has ended. If the engine goes on in
 * the same memory, the buffer of a request's write is used for other rows, so the write may land
 * with any content. The write lands in regions known as missed by the member, or as a record, and
 * recovery uses the member's records only after the member has caught up. Blocks of bitmaps are the
 * member's alone. A read may land at any time, so no other op gets the buffer.
 * Pages of a request: the request ends after the I/O, and holds the group until then; pages that a
 * late read may have changed are then read again.
 *
 * All I/O lands before the member is back: the member is DOWN until then, and missed regions are
 * noted. Only members of a kind with @keeps get I/O left, because only the device ends such I/O;
 * RDDA ends I/O by fencing.
 */
#define pr_fmt(fmt) "meshblk: " fmt
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "driver/group/group.h"
#include "driver/volume/volume.h"

#define LEAVE_GRACE	HZ	/* for I/O to end normally, in a group that is given up */

/* Guards mem->group, so the group stays while left I/O gives something back to the group. */
static DEFINE_MUTEX(leave_lock);

static void leave_mem_free(struct mesh_group_mem *mem)
{
	kvfree(mem->pages);
	vfree(mem->engine);
	kfree(mem);
}

static void leave_mem_release(struct kref *ref)
{
	leave_mem_free(container_of(ref, struct mesh_group_mem, ref));
}

/*
 * Allocate memory for the engine, and find the memory's pages once and not for each I/O; or NULL.
 */
struct mesh_group_mem *mesh_group_mem_alloc(struct mesh_group *g)
{
	size_t bytes = prot_group_bytes(&g->cfg), i, n = PFN_UP(bytes);
	struct mesh_group_mem *mem = kzalloc(sizeof(*mem), GFP_KERNEL);

	if (!mem)
		return NULL;
	kref_init(&mem->ref);
	mem->group = g;
	mem->engine = vzalloc(bytes);
	mem->pages = kvmalloc_array(n, sizeof(*mem->pages), GFP_KERNEL);
	if (!mem->engine || !mem->pages) {
		leave_mem_free(mem);
		return NULL;
	}
	for (i = 0; i < n; i++)
		mem->pages[i] = vmalloc_to_page(mem->engine + i * PAGE_SIZE);
	return mem;
}

/* From now on left I/O gives nothing back to the group. Sleeps. */
static void leave_mem_part(struct mesh_group_mem *mem)
{
	mutex_lock(&leave_lock);
	mem->group = NULL;
	mutex_unlock(&leave_lock);
}

/* The group ends: left I/O must not run the group's engine any more. Sleeps. */
void mesh_group_leave_exit(struct mesh_group *g)
{
	leave_mem_part(g->mem);
}

void mesh_group_mem_end(struct mesh_group *g)
{
	if (g->mem)
		kref_put(&g->mem->ref, leave_mem_release);
}

/*
 * Before the engine begins again, with nothing of the group in flight: switch to other memory, if
 * members still have I/O that names the present memory. With group->lock. Return: true if the
 * engine may begin.
 */
bool mesh_group_mem_renew(struct mesh_group *g)
{
	struct mesh_group_mem *old = g->mem, *new;

	lockdep_assert_held(&g->lock);
	if (kref_read(&old->ref) == 1)
		return true;
	new = mesh_group_mem_alloc(g);
	if (!new)
		return false;
	leave_mem_part(old);
	mesh_group_own(g);
	/* readers see the old state until the engine begins */
	memcpy(new->engine, old->engine, sizeof(struct prot_group));
	g->mem = new;
	WRITE_ONCE(g->engine, new->engine);
	mesh_group_release(g);
	mesh_group_engine_wait();
	kref_put(&old->ref, leave_mem_release);
	return true;
}

/* Refill the reserves after members have kept elements for left I/O; the start work's. Sleeps. */
void mesh_group_refill(struct mesh_group *g)
{
	mempool_t *pools[] = { &g->gios, &g->sgs };
	void *element;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(pools); i++)
		while (READ_ONCE(pools[i]->curr_nr) < pools[i]->min_nr) {
			element = pools[i]->alloc(GFP_KERNEL | __GFP_NOWARN, pools[i]->pool_data);
			if (!element)
				return;
			mempool_free(element, pools[i]);
		}
}

/*
 * A left I/O has freed a request's pages; with the engine owned. Return: true if the part ends now.
 */
static bool leave_part_end(struct mesh_part *part, u8 kind)
{
	part->stale |= kind == PROT_READ;
	return !--part->left && part->over;
}

/* End a part; if late reads may have changed the pages, read once more instead. */
static void leave_part_over(struct mesh_part *part)
{
	if (!part->stale) {
		part->done(part, part->err);
		return;
	}
	part->pos = 0;
	part->worst = 0;
	mesh_group_post(part->group, &part->msg);
}

static void leave_free(struct mesh_abandoned *a)
{
	struct mesh_gio *gio = container_of(a, struct mesh_gio, left);
	struct mesh_group_mem *mem = gio->mem;
	struct mesh_part *part = gio->part;
	struct mesh_group *g;
	bool over = false;

	mutex_lock(&leave_lock);
	g = part ? part->group : gio->hung ? mem->group : NULL;
	if (g) {
		mesh_group_own(g);
		if (part)
			over = leave_part_end(part, gio->io.kind);
		else
			prot_group_returned(g->engine, gio->runs[0].buffer);
		mesh_group_release(g);
	}
	mutex_unlock(&leave_lock);
	mesh_group_gio_drop(gio);
	kref_put(&mem->ref, leave_mem_release);
	if (over)
		leave_part_over(part);
}

/* Return: the part with the I/O's pages, or NULL; with the engine owned. */
static struct mesh_part *leave_part(const struct mesh_group *g, const struct mesh_gio *gio)
{
	unsigned int i;

	for (i = 0; i < gio->io.nr_runs; i++)
		if (gio->runs[i].buffer == PROT_BUFFER_REQUEST)
			return g->gops[gio->op].part;
	return NULL;
}

/*
 * True: the engine goes on without an I/O of a member that is out. Records cost the engine no
 * memory: the record buffers are the member's alone, and the member gets no record before being
 * back.
 */
static bool leave_may(struct mesh_group *g, struct mesh_gio *gio)
{
	if (gio->io.tag & PROT_TAG_META)
		return gio->io.kind != PROT_READ;
	if (gio->io.kind != PROT_READ)
		return prot_group_lets_go(g->engine, gio->io.tag);
	if (gio->part)
		return true;
	gio->hung = prot_group_set_aside(g->engine, gio->io.tag, gio->runs[0].buffer);
	return gio->hung;
}

/* Leave an I/O of slot->flying, and report the I/O's end to the engine if @report. */
static void leave_one(struct mesh_group *g, struct mesh_group_slot *slot, struct mesh_gio *gio,
		      bool report)
{
	struct list_head *before = gio->node.prev;
	u32 tag = gio->io.tag;

	gio->mem = g->mem;
	kref_get(&g->mem->ref);
	if (gio->part)
		gio->part->left++;
	list_del(&gio->node);
	if (!mesh_abandon(&gio->left, slot->member, leave_free)) {
		/* the I/O's message is about to be handled */
		list_add(&gio->node, before);
		kref_put(&g->mem->ref, leave_mem_release);
		if (gio->part)
			gio->part->left--;
		gio->over |= report;
	} else {
		slot->nr_flying--;
		g->flying--;
	}
	if (report)
		prot_group_result(g->engine, tag, -ENOLINK);
}

/*
 * Leave the I/O that the slot's member does not end. The group serves without the member, or has
 * stopped.
 */
void mesh_group_leave(struct mesh_group *g, u32 i)
{
	struct mesh_group_slot *slot = &g->slots[i];
	struct mesh_gio *gio, *next;

	if (!slot->member->ops->keeps)
		return;
	list_for_each_entry_safe(gio, next, &slot->flying, node) {
		/* pairs with io_start(): the sender reads nothing of the group any more */
		if (gio->over || !smp_load_acquire(&gio->sent))
			continue;
		gio->part = leave_part(g, gio);
		if (g->state != MESH_GROUP_ACTIVE || leave_may(g, gio))
			leave_one(g, slot, gio, true);
	}
}

/* The group is given up: leave unfinished I/O to the members, after LEAVE_GRACE. */
void mesh_group_leave_all(struct mesh_group *g)
{
	struct mesh_gio *gio, *next;
	u32 i;

	if (!g->leave_at)
		g->leave_at = (jiffies + LEAVE_GRACE) | 1;
	if (time_before(jiffies, g->leave_at))
		return;
	for (i = 0; i < g->width; i++) {
		struct mesh_group_slot *slot = &g->slots[i];

		list_for_each_entry_safe(gio, next, &slot->flying, node) {
			/* pairs with io_start() */
			if (!slot->member->ops->keeps || !smp_load_acquire(&gio->sent))
				continue;
			gio->part = gio->over ? NULL : leave_part(g, gio);
			leave_one(g, slot, gio, false);
		}
	}
}

/*
 * Stop the group: the slot's member still has I/O that the engine, going on, cannot do without, to
 * copy or repair rows. The group begins again without that I/O. With the engine owned.
 */
void mesh_group_leave_stop(struct mesh_group *g, u32 i)
{
	u32 n;

	if (!g->slots[i].member->ops->keeps)
		return;
	pr_warn("%s: group %u.%u begins again without what the drive of member %u does not end\n",
		g->vol->conf.name, g->segment, g->column, i);
	for (n = 0; n < g->width; n++)
		prot_group_fail(g->engine, n);
}
