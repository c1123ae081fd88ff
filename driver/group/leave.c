// SPDX-License-Identifier: GPL-2.0-only
/*
 * I/O that a member's device neither ends nor fails is left to the member (abandoned.h), with the
 * memory that it names; slot, group and volume are free of it.
 *
 *   the group serves, without the member   what the engine does without is over for it; where that
 *                                          is not all, the group stops
 *   it has stopped                         all: it begins again in other memory
 *   it ends, or its volume goes            all
 *
 * Of a private buffer of the engine: the memory stays until the I/O has ended. While the
 * engine goes on in it, what a request's writes write from is used for other rows, so what lands
 * is anything, but in regions that the member is known to miss, or as a record, which recovery
 * goes by only once it has caught up; blocks of bitmaps are the member's alone. What is read may
 * land at any time, so nothing else gets that buffer.
 * Of a request's own pages: the request does not end before, and keeps the group; what was read
 * over is read again then.
 *
 * All of it lands before the member is back: it is DOWN until then, and what it misses is noted.
 * Only of members whose I/O nothing else ends: RDDA ends what it has by fencing.
 */
#define pr_fmt(fmt) "meshblk: " fmt
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "driver/group/group.h"
#include "driver/volume/volume.h"

#define LEAVE_GRACE	HZ	/* of a group that is given up, for I/O to end by itself */

/* Guards mem->group, so that the group stays while what was left gives it something back. */
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

/* Memory for the engine, and which pages it has, found once and not for each I/O; or NULL. */
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

/* What was left gives nothing back to the group any more. Sleeps. */
static void leave_mem_part(struct mesh_group_mem *mem)
{
	mutex_lock(&leave_lock);
	mem->group = NULL;
	mutex_unlock(&leave_lock);
}

/* The group ends: what was left runs its engine no more. Sleeps. */
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
 * Before the engine begins again, with nothing of the group in flight: other memory, where members
 * have I/O yet that names what it has. With group->lock. Return: whether it may begin.
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
	/* as it is seen until it begins */
	memcpy(new->engine, old->engine, sizeof(struct prot_group));
	g->mem = new;
	WRITE_ONCE(g->engine, new->engine);
	mesh_group_release(g);
	mesh_group_engine_wait();
	kref_put(&old->ref, leave_mem_release);
	return true;
}

/* Reserves that members have taken with them are filled again; the start work's. Sleeps. */
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

/* A request's pages are free; with the engine owned. Return: whether the part ends with that. */
static bool leave_part_end(struct mesh_part *part, u8 kind)
{
	part->stale |= kind == PROT_READ;
	return !--part->left && part->over;
}

/* What was read into them late may be anything: once more. */
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

/* Whose pages it has, or NULL; with the engine owned. */
static struct mesh_part *leave_part(const struct mesh_group *g, const struct mesh_gio *gio)
{
	unsigned int i;

	for (i = 0; i < gio->io.nr_runs; i++)
		if (gio->runs[i].buffer == PROT_BUFFER_REQUEST)
			return g->gops[gio->op].part;
	return NULL;
}

/*
 * Whether the engine, which goes on, does without an I/O of a member that is out. Of records it
 * misses no memory: their buffers are the member's alone, and it gets none before it is back.
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

/* Leave one that is in slot->flying, and report its end to the engine, where @report. */
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
		/* its message is on the way */
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

/* What the slot's member does not end, of a group that serves without it, or has stopped. */
void mesh_group_leave(struct mesh_group *g, u32 i)
{
	struct mesh_group_slot *slot = &g->slots[i];
	struct mesh_gio *gio, *next;

	if (!slot->member->ops->keeps)
		return;
	list_for_each_entry_safe(gio, next, &slot->flying, node) {
		/* pairs with io_start(): it reads nothing of the group any more */
		if (gio->over || !smp_load_acquire(&gio->sent))
			continue;
		gio->part = leave_part(g, gio);
		if (g->state != MESH_GROUP_ACTIVE || leave_may(g, gio))
			leave_one(g, slot, gio, true);
	}
}

/* The group is given up: what does not end is left to its members. */
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
 * The slot's member has I/O yet that the engine, which goes on, cannot do without: what copies or
 * repairs rows. So the group stops, and begins again without it. With the engine owned.
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
