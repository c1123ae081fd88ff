// SPDX-License-Identifier: GPL-2.0-only
/*
 * A member in sync leaves its place to another extent, the successor, once the successor has a
 * copy.
 *
 *   COPYING --all copied--> WHOLE --the layout names it--> FREEZING --nothing in flight--> SWAPPING
 *      |                      |                               |                                |
 *      '----------------------+-- fails, or is stopped -------'               roster durable --'
 *                             v                                                  v
 *                           OVER <---------------------------- the successor is the member
 *
 * A write to copied bytes goes to the successor after ending well at the member, and ends after
 * the successor's write: so both extents have all acknowledged data, all areas alike. Writes that
 * overlap the chunk being copied wait for the chunk, and the chunk waits for overlapping writes in
 * flight. All copying lies below the engine, which knows of one member alone. A failing successor
 * changes nothing but the end of the eviction.
 *
 * From WHOLE on: swap.c.
 */
#define pr_fmt(fmt) "meshblk: " fmt
#include <linux/delay.h>
#include <linux/netlink.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "driver/group/evict.h"
#include "driver/group/group.h"
#include "driver/until.h"
#include "driver/volume/volume.h"
#include "driver/work.h"

#define EVICT_AGAIN	(HZ / 4)	/* a later try of work not possible now */
#define EVICT_HOLD	HZ		/* the longest wait of writes for a chunk */
#define EVICT_WAIT_MAX	(60 * HZ)	/* between failing copies of a member */
#define EVICT_POLL_US	200

static void evict_done(struct mesh_mio *mio, int err)
{
	struct mesh_evict *ev = mio->priv;

	mio->err = err;
	complete(&ev->done);
}

/* Send the writes that wait for the chunk, so the chunk has to be copied again. */
static void evict_give_way(struct mesh_evict *ev)
{
	mesh_group_own(ev->group);
	mesh_evict_release(ev);
	mesh_group_release(ev->group);
}

/*
 * Do an I/O of the copier at @pos. If the I/O does not end, waiting writes are sent first, and the
 * member is kicked. Return: the I/O's result.
 */
static int evict_io(struct mesh_evict *ev, struct mesh_member *m, u8 op, u32 len)
{
	unsigned long kick_at = jiffies + mesh_group_member_timeout();
	struct mesh_mio *mio = &ev->mio;
	u32 i, n = DIV_ROUND_UP(len, PAGE_SIZE);

	reinit_completion(&ev->done);
	memset(mio, 0, sizeof(*mio));
	sg_init_table(ev->sg, n);
	for (i = 0; i < n; i++)
		sg_set_page(&ev->sg[i], ev->pages[i],
			    min_t(u32, len - i * PAGE_SIZE, PAGE_SIZE), 0);
	mio->io.addr = ev->pos;
	mio->io.len = len;
	mio->io.sg = ev->sg;
	mio->io.nents = n;
	mio->op = op;
	mio->done = evict_done;
	mio->priv = ev;
	rcu_read_lock();
	mesh_member_submit(m, mio);
	mesh_member_commit(m, 0);
	rcu_read_unlock();
	while (!wait_for_completion_timeout(&ev->done, EVICT_HOLD)) {
		evict_give_way(ev);
		if (time_before(jiffies, kick_at))
			continue;
		mesh_member_kick(m);
		kick_at = jiffies + 2 * HZ;
	}
	return mio->err;
}

/*
 * True: a write to the slot overlaps the chunk, in flight at the place or at the successor, or
 * about to be sent again; owned.
 */
static bool evict_busy(struct mesh_evict *ev)
{
	struct mesh_group *g = ev->group;
	const struct list_head *lists[] = {
		&g->slots[ev->slot].flying, &g->slots[ev->slot].held, &g->starved, &ev->flying,
		&ev->again,
	};
	const struct mesh_gio *gio;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(lists); i++)
		list_for_each_entry(gio, lists[i], node)
			if (gio->io.member == ev->slot && evict_overlaps(ev, gio))
				return true;
	return false;
}

/*
 * Begin the next chunk. @from: set to the member, with a reference. Return: the chunk's bytes; 0:
 * not now.
 */
static u32 evict_begin(struct mesh_evict *ev, struct mesh_member **from)
{
	struct mesh_group *g = ev->group;
	u32 n = 0;

	mesh_group_own(g);
	*from = g->slots[ev->slot].member;
	refcount_inc(&(*from)->refs);
	if (ev->state == EVICT_COPYING && g->state == MESH_GROUP_ACTIVE &&
	    !test_bit(MESH_G_ENDING, &g->flags) && !g->slots[ev->slot].failing &&
	    mesh_group_up(&g->slots[ev->slot]) && evict_up(ev->member))
		n = min_t(u64, EVICT_CHUNK, ev->end - ev->pos);
	ev->chunk = n;
	mesh_group_release(g);
	return n;
}

/* Wait for writes in flight that overlap the chunk. Return: true if none is left. */
static bool evict_quiet(struct mesh_evict *ev)
{
	unsigned long until = jiffies + EVICT_HOLD;
	bool busy;

	do {
		mesh_group_own(ev->group);
		busy = evict_busy(ev);
		mesh_group_release(ev->group);
		if (busy)
			fsleep(EVICT_POLL_US);
	} while (busy && time_before(jiffies, until));
	return !busy;
}

/* True: an I/O that ended with @err may end well later. */
static bool evict_passes(int err)
{
	return !err || err == -ENOLINK || err == -ENOMEM || err == -EAGAIN || err == -ETIMEDOUT;
}

/* End a chunk after an I/O with @err. Return: true if the chunk is copied. */
static bool evict_end(struct mesh_evict *ev, u32 n, bool at_next, int err)
{
	struct mesh_group *g = ev->group;
	bool good;

	mesh_group_own(g);
	good = !err && ev->chunk == n && ev->state == EVICT_COPYING;
	if (good)
		WRITE_ONCE(ev->pos, ev->pos + n);
	if (good && ev->pos == ev->end) {
		WRITE_ONCE(ev->state, EVICT_WHOLE);
		pr_info("%s: member %u of group %u.%u is copied to another drive\n",
			g->vol->conf.name, ev->slot, g->segment, g->column);
		mesh_volume_changed(g->vol);
	}
	mesh_evict_release(ev);
	if (ev->state == EVICT_COPYING && !evict_passes(err))
		mesh_evict_over(ev, at_next ? "the drive that is to take it does not take a write" :
			       "sectors of it cannot be read; a scrub repairs them");
	mesh_group_release(g);
	return good;
}

/* Copy a chunk. Return: jiffies until the next chunk. */
static unsigned long evict_copy(struct mesh_evict *ev)
{
	struct mesh_group *g = ev->group;
	struct mesh_member *from;
	u32 n = evict_begin(ev, &from);
	u64 rate = mesh_group_rate(g);
	bool at_next = false;
	int err = -EAGAIN;

	if (n && evict_quiet(ev))
		err = evict_io(ev, from, PROT_READ, n);
	if (!err) {
		at_next = true;
		err = evict_io(ev, ev->member, PROT_WRITE, n);
	}
	mesh_member_put_later(from);
	if (!evict_end(ev, n, at_next, err))
		return EVICT_AGAIN;
	return rate ? div64_u64((u64)n * HZ, rate) : 0;
}

/* @put: gives the successor back. */
static void evict_free(struct mesh_evict *ev, void (*put)(struct mesh_member *m))
{
	u32 i;

	mesh_member_unlink(ev->member, &ev->link);
	/* runners that let the engine go may still be sending to the successor */
	synchronize_rcu();
	if (!ev->taken)
		put(ev->member);
	for (i = 0; i < EVICT_PAGES; i++)
		if (ev->pages[i])
			__free_page(ev->pages[i]);
	kvfree(ev);
}

/* Free an eviction that is over, once the successor has no I/O. Return: true if freed. */
static bool evict_gone(struct mesh_group *g, struct mesh_evict *ev)
{
	bool gone;

	mutex_lock(&g->lock);
	mesh_group_own(g);
	gone = list_empty(&ev->flying) && list_empty(&ev->again) && list_empty(&ev->held);
	if (gone)
		WRITE_ONCE(g->evict, NULL);
	mesh_group_release(g);
	mutex_unlock(&g->lock);
	if (gone)	/* the close may take any time, and other works wait behind this one */
		evict_free(ev, mesh_member_put_later);
	else if (!ev->taken)
		mesh_member_kick(ev->member);
	return gone;
}

void mesh_evict_work(struct work_struct *work)
{
	struct mesh_group *g = container_of(to_delayed_work(work), struct mesh_group, evict_work);
	unsigned int noio = mesh_noio_begin();
	struct mesh_evict *ev = g->evict;	/* only this work frees the eviction */
	unsigned long next = EVICT_AGAIN;
	enum evict_state state = ev ? READ_ONCE(ev->state) : EVICT_WHOLE;

	if (ev && state == EVICT_WHOLE)
		mesh_evict_note(g, ev);
	if (state == EVICT_COPYING)
		next = evict_copy(ev);
	else if (state == EVICT_FREEZING || state == EVICT_SWAPPING)
		mod_delayed_work(mesh_wq, &g->start_work, 0);
	else if (state != EVICT_OVER || evict_gone(g, ev))
		ev = NULL;
	if (ev && !test_bit(MESH_G_CLOSING, &g->flags))
		queue_delayed_work(mesh_wq, &g->evict_work, next);
	mesh_noio_end(noio);
}

static bool evict_unfit(struct mesh_member_link *link)
{
	const struct mesh_evict *ev = container_of(link, struct mesh_evict, link);

	return ev->member->info.bytes < ev->end || ev->member->info.lba > ev->group->vol->conf.lba;
}

static void evict_changed(struct mesh_member_link *link, enum mesh_member_state state, int err)
{
	struct mesh_evict *ev = container_of(link, struct mesh_evict, link);

	if (state == MESH_MEMBER_REFUSED && err == -ESTALE)
		mesh_access_refused(ev->group->vol, ev->member);
	mesh_group_flag(ev->group, MESH_G_STATE);
}

static struct mesh_evict *evict_alloc(struct mesh_group *g, u32 slot, struct mesh_member *m)
{
	struct mesh_evict *ev = kvzalloc(sizeof(*ev), GFP_KERNEL);
	u32 i;

	if (!ev)
		return NULL;
	ev->group = g;
	ev->slot = slot;
	ev->member = m;
	refcount_inc(&m->refs);
	ev->from = g->cfg.meta[slot];
	ev->pos = ev->from;
	ev->end = g->cfg.data[slot] + g->geo.bytes;
	ev->answered = jiffies;
	INIT_LIST_HEAD(&ev->held);
	INIT_LIST_HEAD(&ev->flying);
	INIT_LIST_HEAD(&ev->again);
	init_completion(&ev->done);
	ev->link.changed = evict_changed;
	ev->link.unfit = evict_unfit;
	mesh_member_link(m, &ev->link);
	for (i = 0; i < EVICT_PAGES; i++) {
		ev->pages[i] = alloc_page(GFP_KERNEL);
		if (!ev->pages[i]) {
			evict_free(ev, mesh_member_put);
			return NULL;
		}
	}
	return ev;
}

/* With group->lock. Return: NULL, or the reason why the slot's member cannot be evicted now. */
static const char *evict_why_not(struct mesh_group *g, u32 slot, const struct mesh_member *m)
{
	if (g->cfg.ro)
		return "what is attached for reading keeps its members";
	if (READ_ONCE(g->state) != MESH_GROUP_ACTIVE)
		return "a group does not serve";
	if (g->evict)
		return "of a group one member is evicted at a time";
	if (mesh_group_role(g, slot) != MESHBLK_ROLE_IN_SYNC || !mesh_group_named(g, slot))
		return "the member is not in sync: replace it";
	if (m->conf.size < g->cfg.data[slot] + g->geo.bytes)
		return "the extent is too small";
	return NULL;
}

/*
 * Begin an eviction. With group->lock, and I/O for memory forbidden. Return: NULL, or the reason
 * for not beginning.
 */
static const char *evict_begun(struct mesh_group *g, u32 slot, struct mesh_member *m)
{
	const char *why = evict_why_not(g, slot, m);
	struct mesh_evict *ev;

	lockdep_assert_held(&g->lock);
	if (why)
		return why;
	ev = evict_alloc(g, slot, m);
	if (!ev)
		return "no memory";
	mesh_group_own(g);
	g->evict = ev;
	WRITE_ONCE(g->evict_why, NULL);
	mesh_group_release(g);
	mod_delayed_work(mesh_wq, &g->evict_work, 0);
	return NULL;
}

static int evict_start(struct mesh_group *g, u32 slot, struct mesh_member *m, const char **why)
{
	unsigned int noio;

	*why = "the group waits for a member; try again";
	if (mesh_lock_until(&g->lock, jiffies + msecs_to_jiffies(MESH_SETTLE_MS)))
		return -EBUSY;
	noio = memalloc_noio_save(); /* rosters wait for the lock, and requests wait for rosters */
	*why = evict_begun(g, slot, m);
	memalloc_noio_restore(noio);
	mutex_unlock(&g->lock);
	return *why ? -EBUSY : 0;
}

/*
 * Begin to copy the slot's good member again: the layout in use names @m for the slot, and @m has
 * no copy, or lost the copy. The delay grows with each try. With group->lock; the start work's.
 */
void mesh_evict_again(struct mesh_group *g, u32 slot, struct mesh_member *m)
{
	lockdep_assert_held(&g->lock);
	if (g->evict || time_before(jiffies, g->evict_at) || !evict_up(m) ||
	    test_bit(MESH_G_CLOSING, &g->flags) || test_bit(MESH_G_ENDING, &g->flags) ||
	    evict_begun(g, slot, m))
		return;
	g->evict_wait = clamp_t(unsigned long, 2 * g->evict_wait, HZ, EVICT_WAIT_MAX);
	g->evict_at = jiffies + g->evict_wait;
	pr_info("%s: member %u of group %u.%u is copied to the one that is to take its place\n",
		g->vol->conf.name, slot, g->segment, g->column);
}

static void evict_put(void *arg)
{
	mesh_member_put(arg);
}

/*
 * End the eviction of a slot's member. Return: false if the place is being given away by now, or if
 * the eviction does not end in time.
 */
static bool evict_cancel(struct mesh_group *g, u32 slot)
{
	unsigned long until = jiffies + msecs_to_jiffies(MESH_SETTLE_MS);
	struct mesh_member *m = NULL;
	bool can, other;

	if (mesh_lock_until(&g->lock, until))
		return false;
	mesh_group_own(g);
	other = g->evict && g->evict->slot != slot;
	can = !g->evict || g->evict->state <= EVICT_WHOLE || g->evict->state == EVICT_OVER;
	if (can && !other && g->evict && g->evict->state != EVICT_OVER)
		mesh_evict_over(g->evict, "the eviction was stopped");
	if (can && !other && g->evict && !g->evict->taken) {
		m = g->evict->member;
		refcount_inc(&m->refs);
	}
	mesh_group_release(g);
	mutex_unlock(&g->lock);
	if (other)
		return true;
	while (can && READ_ONCE(g->evict)) {
		can = time_before(jiffies, until) && !fatal_signal_pending(current);
		schedule_timeout_killable(msecs_to_jiffies(20));
	}
	if (can)
		flush_delayed_work(&g->evict_work); /* the work frees the eviction, without I/O */
	/*
	 * the caller may free the extent after this: close the extent here, if this is the last
	 * reference
	 */
	if (m)
		mesh_run_until(evict_put, m, until);
	return can;
}

/* Return: the member's slot in a group of the layout, or the group's width. */
static u32 evict_slot(const struct mesh_layout *l, const struct mesh_group *g, u32 member)
{
	u32 first = g->cfg.owner.group, i;

	for (i = 0; i < g->width; i++)
		if (prot_places(l->prot)[first + i].member == member)
			break;
	return i;
}

/* End the eviction of a member in all groups of the layout. Sleeps. Return: 0 or -EBUSY. */
int mesh_groups_evict_stop(struct mesh_layout *l, u32 member)
{
	bool can = true;
	u32 i;

	for (i = 0; l->groups && i < l->prot->nr_places; i++) {
		struct mesh_group *g = l->groups[i];
		u32 slot = g ? evict_slot(l, g, member) : 0;

		if (g && READ_ONCE(g->evict) && slot < g->width)
			can &= evict_cancel(g, slot);
	}
	return can ? 0 : -EBUSY;
}

/*
 * Begin to copy a member of the layout's groups to an extent that is to take the member's places.
 * Sleeps. Return: 0 or a negative errno, with @extack set.
 */
int mesh_groups_evict(struct mesh_layout *l, u32 member, const struct mesh_member_conf *conf,
		      struct netlink_ext_ack *extack)
{
	const char *why = "no group has that member";
	struct mesh_member *m;
	int err, n = 0;
	u32 i, slot;

	err = mesh_member_get(conf, &l->vol->conf.uuid, &m, extack);
	if (err < 0)
		return err;
	if (err)
		err = mesh_member_await(m, jiffies + msecs_to_jiffies(MESH_OPEN_MS), extack);
	if (err) {
		mesh_member_put_later(m);
		return err;
	}
	for (i = 0; l->groups && i < l->prot->nr_places && !err; i++) {
		struct mesh_group *g = l->groups[i];

		slot = g ? evict_slot(l, g, member) : 0;
		if (!g || slot == g->width)
			continue;
		err = evict_start(g, slot, m, &why);
		n += !err;
	}
	if (err && n)
		mesh_groups_evict_stop(l, member);
	mesh_run_until(evict_put, m, jiffies + msecs_to_jiffies(MESH_OPEN_MS));
	if (!err && n)
		return 0;
	NL_SET_ERR_MSG(extack, "the member is not evicted");
	if (extack && why)
		extack->_msg = why;
	return err ?: -EINVAL;
}

/*
 * Get the state of the group's eviction, as of some moment. Return: false if no eviction goes on.
 */
bool mesh_evict_seen(struct mesh_group *g, struct mesh_evict_seen *seen)
{
	const struct mesh_evict *ev;
	bool is;

	if (!READ_ONCE(g->evict))
		return false;
	mesh_group_own(g);
	ev = g->evict;
	is = ev && ev->state != EVICT_OVER;
	if (is) {
		seen->slot = ev->slot;
		seen->extent = ev->member->conf.uuid;
		seen->copied = ev->pos - ev->from;
		seen->bytes = ev->end - ev->from;
	}
	mesh_group_release(g);
	return is;
}

/* End any eviction of a group that ends, with no I/O of the group in flight. Sleeps. */
void mesh_evict_exit(struct mesh_group *g)
{
	cancel_delayed_work_sync(&g->evict_work);
	if (g->evict)
		evict_free(g->evict, mesh_member_put);
	g->evict = NULL;
}
