// SPDX-License-Identifier: GPL-2.0-only
/* Groups: found or made by a layout, put when no layout has the group; sums for readers. */
#define pr_fmt(fmt) "meshblk: " fmt
#include <linux/moduleparam.h>
#include <linux/netlink.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "driver/group/group.h"
#include "driver/until.h"
#include "driver/volume/volume.h"
#include "driver/work.h"

#define GROUP_OPS	1024
#define GROUP_DEPTH_MAX	16
#define GROUP_BUFS	4	/* for mirrors, besides background work; writes need none */
#define GROUP_FRAME_BYTES	(64U << 20)	/* of an ec group's buffers, at most */
#define GROUP_FRAMES	128	/* at most, of an ec group's whole windows */
#define GROUP_FRAMES_MIN	8
#define GROUP_SMALL	4096	/* bytes of each strip in a small frame */
#define GROUP_SMALLS	512
#define GROUP_SMALLS_MIN	16
#define GROUP_SPARES	8	/* of whole windows, and of small frames, for reads that hang */

static unsigned int sync_depth = 4;
module_param(sync_depth, uint, 0644);
MODULE_PARM_DESC(sync_depth, "chunks of background work in flight, 1 to 16; taken at attach");

/*
 * Guards the list, and the references of the groups in the list; no I/O is waited for under this
 * lock.
 */
static DEFINE_MUTEX(mesh_groups_lock);
static LIST_HEAD(mesh_groups);

/* Woken after a group's end: waiters want members that an ending group may still use for I/O. */
static DECLARE_WAIT_QUEUE_HEAD(mesh_groups_ended);

static void group_member_changed(struct mesh_member_link *link, enum mesh_member_state state,
				 int err)
{
	struct mesh_group_slot *slot = container_of(link, struct mesh_group_slot, link);

	mesh_group_flag(slot->group, MESH_G_STATE);
	if (!test_bit(MESH_G_CLOSING, &slot->group->flags))
		mod_delayed_work(mesh_wq, &slot->group->start_work, 0);
}

/* Never unfit here: the layout with the group checks the members. */
static bool group_member_unfit(struct mesh_member_link *link)
{
	return false;
}

/* True: the engine's memory with @frames and @smalls exceeds @room, or cannot be counted. */
static bool group_exceeds(struct prot_group_config *c, u32 frames, u32 smalls, size_t room)
{
	size_t bytes;

	c->bufs = 3 * c->depth + frames;
	c->smalls = smalls;
	c->spares[0] = min_t(u32, 3 + (frames - 1) / 4, GROUP_SPARES);
	c->spares[1] = GROUP_SPARES;
	bytes = prot_group_bytes(c);
	return !bytes || bytes > room;
}

/*
 * Choose the numbers of ec's frames; a frame's size follows from the configuration. Half of the
 * room is for whole windows, shared with background work, and the rest for small frames of small
 * requests.
 */
static void group_frames(struct prot_group_config *c)
{
	u32 frames = GROUP_FRAMES, smalls = GROUP_SMALLS;

	c->small = min_t(u32, c->strip, GROUP_SMALL);
	while (c->depth > 1 &&
	       group_exceeds(c, GROUP_FRAMES_MIN, GROUP_SMALLS_MIN, GROUP_FRAME_BYTES))
		c->depth--;
	while (frames > GROUP_FRAMES_MIN &&
	       group_exceeds(c, frames, GROUP_SMALLS_MIN, GROUP_FRAME_BYTES / 2))
		frames--;
	while (smalls > GROUP_SMALLS_MIN && group_exceeds(c, frames, smalls, GROUP_FRAME_BYTES))
		smalls--;
}

/* Configure the engine from the segment. */
static void group_config(struct mesh_group *g, const struct mesh_layout *l,
			 const struct prot_segment *s, u32 first)
{
	struct prot_group_config *c = &g->cfg;
	u64 area = prot_geometry_area(s, l->prot->lba);
	u32 i;

	prot_geometry_init(&g->geo, s, l->prot->lba);
	prot_geometry_config(&g->geo, c);
	c->ops = GROUP_OPS;
	c->depth = clamp_t(unsigned int, READ_ONCE(sync_depth), 1, GROUP_DEPTH_MAX);
	c->bufs = 3 * c->depth + GROUP_BUFS;
	memcpy(c->owner.volume, &g->vol->conf.uuid, PROT_UUID_LEN);
	c->owner.salt = g->conf.salt;
	c->owner.group = first;
	for (i = 0; i < g->width; i++) {
		g->slots[i].data = prot_places(l->prot)[first + i].offset;
		c->data[i] = g->slots[i].data;
		c->meta[i] = prot_geometry_records(g->slots[i].data, area);
		memcpy(c->uuid[i], &g->slots[i].member->conf.uuid, PROT_UUID_LEN);
	}
	c->ro = g->vol->conf.ro;
	if (c->m)
		group_frames(c);
}

static void group_free(struct mesh_group *g)
{
	u32 i;

	mesh_group_witness_exit(g);
	mesh_group_committed_exit(g);
	for (i = 0; i < g->width; i++) {
		mesh_roster_free(g->slots[i].roster);
		if (g->slots[i].leaving)
			mesh_member_put(g->slots[i].leaving);
	}
	mesh_group_io_exit(g);
	kvfree(g);
}

static struct mesh_group *group_alloc(struct mesh_layout *l, u32 width)
{
	struct mesh_group *g = kvzalloc(struct_size(g, slots, width), GFP_KERNEL);
	u32 i;

	if (!g)
		return NULL;
	g->width = width;
	g->vol = l->vol;
	kref_init(&g->ref);
	mutex_init(&g->lock);
	spin_lock_init(&g->state_lock);
	g->lacked_at = jiffies;
	INIT_DELAYED_WORK(&g->start_work, mesh_group_start_work);
	INIT_DELAYED_WORK(&g->join_work, mesh_group_join_work);
	INIT_DELAYED_WORK(&g->evict_work, mesh_evict_work);
	g->evict_at = jiffies;
	mesh_group_set_state(g, MESH_GROUP_OPENING, "its members are opened");
	for (i = 0; i < width; i++) {
		struct mesh_group_slot *slot = &g->slots[i];

		slot->group = g;
		slot->kick_at = jiffies;
		slot->ended_at = jiffies;
		slot->join_at = jiffies;
		INIT_LIST_HEAD(&slot->flying);
		INIT_LIST_HEAD(&slot->held);
		slot->link.changed = group_member_changed;
		slot->link.unfit = group_member_unfit;
	}
	return g;
}

static int group_memory(struct mesh_group *g)
{
	u32 i;

	for (i = 0; i < g->width; i++) {
		g->slots[i].roster = mesh_roster_alloc();
		if (!g->slots[i].roster)
			return -ENOMEM;
	}
	return mesh_group_witness_init(g) ?: mesh_group_committed_init(g) ?:
	       mesh_group_io_init(g);
}

/* Make a group of column @column of a segment. Return: with one reference, or an error. */
static struct mesh_group *group_make(struct mesh_layout *l, u32 segment, u32 column,
				     const struct mesh_group_conf *conf)
{
	const struct prot_segment *s = prot_segments(l->prot) + segment;
	u32 first = s->first + column * s->width, i;
	struct mesh_group *g = group_alloc(l, s->width);

	if (!g)
		return ERR_PTR(-ENOMEM);
	g->segment = segment;
	g->column = column;
	g->conf = *conf;
	g->conf.fresh = l->fresh && test_bit(segment, l->fresh);
	for (i = 0; i < g->width; i++)
		g->slots[i].member = l->member_slots[prot_places(l->prot)[first + i].member].member;
	mesh_group_facts_init(g, l, first);
	group_config(g, l, s, first);
	if (group_memory(g)) {
		group_free(g);
		return ERR_PTR(-ENOMEM);
	}
	mesh_group_run_init(g);
	for (i = 0; i < g->width; i++) {
		refcount_inc(&g->slots[i].member->refs);
		mesh_member_link(g->slots[i].member, &g->slots[i].link);
	}
	queue_delayed_work(mesh_wq, &g->start_work, 0);
	return g;
}

static bool group_has(const struct mesh_group *g, u32 i, const uuid_t *uuid)
{
	bool has;

	rcu_read_lock();
	has = uuid_equal(&READ_ONCE(g->slots[i].member)->conf.uuid, uuid);
	rcu_read_unlock();
	return has;
}

/* True: the layout in use has the member at the place already, so the group awaits the member. */
static bool group_awaits(struct mesh_group *g, u32 place, const struct mesh_member *m)
{
	struct mesh_layout *l = mesh_layout_pin(g->vol);
	bool awaits;

	if (!l)
		return false;
	awaits = l->groups && place < l->prot->nr_places &&
		 l->member_slots[prot_places(l->prot)[place].member].member == m;
	mesh_layout_unpin(l);
	return awaits;
}

/* True: this group serves these places now. */
static bool group_serves(const struct mesh_group *g, const struct mesh_layout *l, u32 first)
{
	return !g->ending && g->vol == l->vol && g->cfg.owner.group == first;
}

/*
 * Return: NULL, or the reason why a group cannot become the group of a layout. A fit group has the
 * same members at the same places, except one at most. The replaced member is out or joining, or
 * has a copy in the new member, or the group waits for the new member already. The new member comes
 * when the layout is in use (join.c).
 */
static const char *group_unfit(struct mesh_group *g, const struct mesh_layout *l,
			       const struct prot_segment *s, u32 first)
{
	struct prot_geometry geo;
	u32 i, others = 0;
	u8 role;

	prot_geometry_init(&geo, s, l->prot->lba);
	if (g->width != s->width || memcmp(&geo, &g->geo, sizeof(geo)))
		return "the shape of a group in use does not change";
	for (i = 0; i < g->width; i++) {
		const struct prot_place *p = prot_places(l->prot) + first + i;
		const struct mesh_member *m = l->member_slots[p->member].member;

		if (g->slots[i].data != p->offset)
			return "the places of a group in use do not change";
		if (READ_ONCE(g->slots[i].member) == m)
			continue;
		if (group_has(g, i, &m->conf.uuid))
			return "a member of a group is reached in another way now; detach first";
		if (g->cfg.ro)
			return "what is attached for reading keeps its members; detach first";
		if (others++)
			return "of a group one member is replaced at a time";
		if (group_awaits(g, first + i, m))
			continue;
		if (mesh_evict_ready(g, i, m))
			continue;
		role = mesh_group_role(g, i);
		if (READ_ONCE(g->state) != MESH_GROUP_ACTIVE ||
		    (role != MESHBLK_ROLE_OUT && role != MESHBLK_ROLE_JOINING))
			return "a member is replaced when it is out of its group, and that serves";
	}
	return NULL;
}

/* The group, not the layout, decides on a loss of these members. */
static void group_claim(struct mesh_layout *l, const struct prot_segment *s, u32 first)
{
	u32 i;

	for (i = first; i < first + s->width; i++)
		l->member_slots[prot_places(l->prot)[i].member].grouped = true;
}

/* Places of a layout to be served by a group. */
struct group_places {
	const struct mesh_layout	*l;
	const struct prot_segment	*s;
	u32				first;
};

/*
 * True: an ending group has a member of these places. That group's I/O must be back, or left,
 * first.
 */
static bool group_ending(void *arg)
{
	const struct group_places *p = arg;
	const struct prot_segment *s = p->s;
	const struct mesh_layout *l = p->l;
	u32 first = p->first;
	struct mesh_group *g;
	u32 i, n;

	lockdep_assert_held(&mesh_groups_lock);
	list_for_each_entry(g, &mesh_groups, node)
		for (i = 0; g->ending && i < g->width; i++)
			for (n = first; n < first + s->width; n++) {
				u32 member = prot_places(l->prot)[n].member;

				if (group_has(g, i, &l->member_slots[member].member->conf.uuid))
					return true;
			}
	return false;
}

static int group_open(struct mesh_layout *l, u32 segment, u32 column,
		      const struct mesh_group_conf *conf, const char **why)
{
	const struct prot_segment *s = prot_segments(l->prot) + segment;
	u32 first = s->first + column * s->width;
	struct group_places places = { .l = l, .s = s, .first = first };
	struct mesh_group *g;
	int err;

	lockdep_assert_held(&mesh_groups_lock);
	err = mesh_wait_until(&mesh_groups_ended, &mesh_groups_lock, group_ending, &places,
			      jiffies + msecs_to_jiffies(MESH_SETTLE_MS));
	if (err) {
		*why = "a group that had these members ends yet; try again";
		return err;
	}
	list_for_each_entry(g, &mesh_groups, node)
		if (group_serves(g, l, first)) {
			*why = group_unfit(g, l, s, first);
			if (*why)
				return -EBUSY;
			kref_get(&g->ref);
			l->groups[first] = g;
			group_claim(l, s, first);
			return 0;
		}
	g = group_make(l, segment, column, conf);
	if (IS_ERR(g))
		return PTR_ERR(g);
	list_add_tail(&g->node, &mesh_groups);
	l->groups[first] = g;
	group_claim(l, s, first);
	return 0;
}

/*
 * Open the groups of a layout whose members are open. Sleeps. On an error mesh_groups_close() puts
 * the opened groups.
 */
int mesh_groups_open(struct mesh_layout *l, const struct mesh_group_conf *conf,
		     struct netlink_ext_ack *extack)
{
	const char *why = NULL;
	unsigned int noio;
	u32 i, c;
	int err = 0;

	l->groups = kvcalloc(l->prot->nr_places, sizeof(*l->groups), GFP_KERNEL);
	if (!l->groups)
		return -ENOMEM;
	/* meshd's answers take the lock too, and I/O may wait for an answer */
	noio = memalloc_noio_save();
	mutex_lock(&mesh_groups_lock);
	for (i = 0; i < l->prot->nr_segments && !err; i++) {
		const struct prot_segment *s = prot_segments(l->prot) + i;

		for (c = 0; s->width > 1 && c < s->columns && !err; c++)
			err = group_open(l, i, c, conf, &why);
	}
	mutex_unlock(&mesh_groups_lock);
	memalloc_noio_restore(noio);
	if (why && extack)
		extack->_msg = why;
	return err;
}

/* meshd, at @port, answers with the noted roster of a group. */
void mesh_groups_answered(const uuid_t *volume, u32 place, u32 port, const void *roster, u32 bytes)
{
	struct mesh_group *g;

	mutex_lock(&mesh_groups_lock);
	list_for_each_entry(g, &mesh_groups, node)
		if (g->cfg.owner.group == place && uuid_equal(&g->vol->conf.uuid, volume))
			mesh_group_answered(g, port, roster, bytes);
	mutex_unlock(&mesh_groups_lock);
}

/* meshd has come or gone. */
void mesh_groups_witness(void)
{
	struct mesh_group *g;

	mutex_lock(&mesh_groups_lock);
	list_for_each_entry(g, &mesh_groups, node) {
		wake_up_all(&g->witness.wait);
		if (!test_bit(MESH_G_CLOSING, &g->flags))
			mod_delayed_work(mesh_wq, &g->start_work, 0);
	}
	mutex_unlock(&mesh_groups_lock);
}

/* End a group without layouts: no request is submitted any more. Sleeps. */
static void group_end(struct mesh_group *g)
{
	u32 i;

	mesh_group_clean(g);
	mesh_group_run_exit(g);
	mesh_group_leave_exit(g);
	cancel_delayed_work_sync(&g->start_work);	/* start_work queues join_work */
	cancel_delayed_work_sync(&g->join_work);
	mesh_evict_exit(g);
	for (i = 0; i < g->width; i++) {
		struct mesh_group_slot *slot = &g->slots[i];

		mesh_member_unlink(slot->member, &slot->link);
		/* a roster that was given up: the end of the I/O needs the roster's memory */
		mutex_lock(&g->lock);
		mesh_roster_leave(slot);
		mutex_unlock(&g->lock);
		if (mesh_roster_busy(slot)) {
			mesh_member_kick(slot->member);
			wait_for_completion(&slot->roster->done);
		}
	}
	/*
	 * until here other groups find the group's members in the list, and meshd's answers find
	 * the group
	 */
	mutex_lock(&mesh_groups_lock);
	list_del(&g->node);
	mutex_unlock(&mesh_groups_lock);
	/* answers, and a change of a member's state, may have queued the work again */
	cancel_delayed_work_sync(&g->start_work);
	wake_up_all(&mesh_groups_ended);
	mesh_group_keep(g);
	for (i = 0; i < g->width; i++) {
		mesh_member_put(g->slots[i].member);
		if (g->slots[i].before)
			mesh_member_put(g->slots[i].before);
	}
	group_free(g);
}

static void group_release(struct kref *ref)
{
	struct mesh_group *g = container_of(ref, struct mesh_group, ref);

	g->ending = true;
	mutex_unlock(&mesh_groups_lock);
}

void mesh_groups_close(struct mesh_layout *l)
{
	u32 i;

	mesh_groups_ending(l);
	for (i = 0; l->groups && i < l->prot->nr_places; i++) {
		struct mesh_group *g = l->groups[i];

		if (g && kref_put_mutex(&g->ref, group_release, &mesh_groups_lock))
			group_end(g);
	}
	kvfree(l->groups);
	l->groups = NULL;
}

bool mesh_groups_any(struct mesh_layout *l)
{
	u32 i;

	for (i = 0; l->groups && i < l->prot->nr_places; i++)
		if (l->groups[i])
			return true;
	return false;
}

/* The layout is in use: each group checks for members wanted by the layout. */
void mesh_groups_taken(struct mesh_layout *l)
{
	u32 i;

	for (i = 0; l->groups && i < l->prot->nr_places; i++)
		if (l->groups[i])
			mod_delayed_work(mesh_wq, &l->groups[i]->start_work, 0);
}

/* Return: the number of groups that do not serve. */
u32 mesh_groups_down(struct mesh_layout *l)
{
	u32 i, n = 0;

	for (i = 0; l->groups && i < l->prot->nr_places; i++)
		n += l->groups[i] && READ_ONCE(l->groups[i]->state) != MESH_GROUP_ACTIVE;
	return n;
}

/* True: each group serves under the access of @number. */
bool mesh_groups_under(struct mesh_layout *l, u64 number)
{
	u32 i;

	for (i = 0; l->groups && i < l->prot->nr_places; i++) {
		struct mesh_group *g = l->groups[i];

		if (g && (READ_ONCE(g->state) != MESH_GROUP_ACTIVE ||
			  !mesh_access_is(number, READ_ONCE(g->cfg.attach))))
			return false;
	}
	return true;
}

/* Return: NULL, or the reason why a group does not serve. */
const char *mesh_groups_why(struct mesh_layout *l)
{
	u32 i;

	for (i = 0; l->groups && i < l->prot->nr_places; i++)
		if (l->groups[i] && READ_ONCE(l->groups[i]->state) != MESH_GROUP_ACTIVE)
			return READ_ONCE(l->groups[i]->why);
	return NULL;
}

void mesh_groups_sum(struct mesh_layout *l, struct mesh_groups_sum *sum)
{
	int idx = mesh_group_engine_begin();
	u32 i, n;

	memset(sum, 0, sizeof(*sum));
	for (i = 0; l->groups && i < l->prot->nr_places; i++) {
		struct mesh_group *g = l->groups[i];
		const struct prot_group *e;

		if (!g)
			continue;
		e = READ_ONCE(g->engine);
		sum->groups++;
		sum->synced += READ_ONCE(e->synced);
		sum->mismatches += READ_ONCE(e->mismatches);
		sum->skipped += READ_ONCE(e->skipped);
		if (READ_ONCE(e->scrubbing)) {
			sum->scrubbing++;
			sum->repair |= READ_ONCE(e->scrub.repair);
			sum->scrubbed += READ_ONCE(e->scrub_pos);
			sum->bytes += g->geo.bytes;
		}
		for (n = 0; n < g->width; n++) {
			u8 role = mesh_group_role(g, n);

			sum->out += role == MESHBLK_ROLE_OUT || role == MESHBLK_ROLE_JOINING;
			sum->joining += role == MESHBLK_ROLE_JOINING;
			sum->behind += mesh_group_behind(g, n);
		}
	}
	mesh_group_engine_end(idx);
}

/* Tick at once, because other speeds are set. Any context. */
void mesh_groups_wake(struct mesh_layout *l)
{
	u32 i;

	for (i = 0; l->groups && i < l->prot->nr_places; i++)
		if (l->groups[i])
			mesh_group_flag(l->groups[i], MESH_G_TICK);
}
