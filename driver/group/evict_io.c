// SPDX-License-Identifier: GPL-2.0-only
/*
 * I/O to a leaving member (evict.c): writes sent to the successor as well, and the reasons to end
 * the eviction, as time passes or members fail. All functions are called with the engine owned.
 */
#define pr_fmt(fmt) "meshblk: " fmt

#include "driver/group/evict.h"
#include "driver/group/group.h"
#include "driver/volume/volume.h"
#include "driver/work.h"

static void evict_send(struct mesh_evict *ev, struct mesh_gio *gio, struct mesh_group_todo *todo)
{
	gio->twin = ev->member;
	gio->since = jiffies;
	list_add_tail(&gio->node, &ev->flying);
	mesh_group_start(ev->group, gio, todo);
}

/*
 * A member I/O has ended well, and is in no list; with the engine owned. Return: true if the I/O
 * goes to the successor as well, and ends there, or is delivered with -ESTALE.
 */
bool mesh_evict_follow(struct mesh_group *g, struct mesh_gio *gio, struct mesh_group_todo *todo)
{
	struct mesh_evict *ev = evict_at(g, gio->io.member);

	if (!ev || ev->state == EVICT_SWAPPING || gio->io.kind == PROT_READ ||
	    gio->io.addr >= ev->pos || gio->io.addr + gio->io.length <= ev->from)
		return false;
	if (gio->io.stage_back)	/* the successor has no such stage: the engine sends one by one */
		mesh_group_deliver(g, gio, -ESTALE);
	else
		evict_send(ev, gio, todo);
	return true;
}

/*
 * End the eviction. With the engine owned. Called before a roster with the successor was begun,
 * after such a roster was committed, or when the group stops or is given up.
 */
void mesh_evict_over(struct mesh_evict *ev, const char *why)
{
	struct mesh_group *g = ev->group;
	struct mesh_gio *gio, *next;

	WRITE_ONCE(ev->state, EVICT_OVER);
	WRITE_ONCE(g->evict_why, why);
	mesh_evict_release(ev);
	/* the member has these writes */
	list_for_each_entry_safe(gio, next, &ev->again, node) {
		list_del(&gio->node);
		mesh_group_deliver(g, gio, 0);
	}
	if (why)
		pr_warn("%s: member %u of group %u.%u keeps its place: %s\n", g->vol->conf.name,
			ev->slot, g->segment, g->column, why);
	mod_delayed_work(mesh_wq, &g->evict_work, 0);
	mesh_volume_changed(g->vol);
}

/* I/O at the successor has ended, and is in no list. With the engine owned. */
void mesh_evict_ended(struct mesh_group *g, struct mesh_gio *gio)
{
	struct mesh_evict *ev = g->evict;
	int err = gio->err;

	gio->twin = NULL;
	if (ev->state == EVICT_OVER)
		err = 0;
	switch (err) {
	case -ENOMEM:
	case -EAGAIN:
	case -ENOLINK:
		list_add_tail(&gio->node, &ev->again);
		return;
	case -EOPNOTSUPP:	/* the engine then writes zeroes to both */
		mesh_group_deliver(g, gio, err);
		return;
	case 0:
		break;
	default:
		mesh_evict_over(ev, "the drive that is to take it does not take a write");
	}
	mesh_group_deliver(g, gio, 0);
}

/* Time has passed: send I/O again, and decide if the eviction goes on; with the engine owned. */
void mesh_evict_watch(struct mesh_group *g, struct mesh_group_todo *todo)
{
	struct mesh_evict *ev = g->evict;
	const struct mesh_gio *oldest;
	struct mesh_gio *gio, *next;
	bool up, late;
	LIST_HEAD(again);

	if (!ev || ev->state == EVICT_OVER)
		return;
	up = evict_up(ev->member);
	if (up)
		list_splice_tail_init(&ev->again, &again);
	list_for_each_entry_safe(gio, next, &again, node) {
		list_del(&gio->node);
		evict_send(ev, gio, todo);
	}
	oldest = list_first_entry_or_null(&ev->flying, struct mesh_gio, node);
	late = !up || (oldest && time_after(jiffies, oldest->since + HZ));
	if (!late)
		ev->answered = jiffies;
	late = time_after(jiffies, ev->answered + mesh_group_member_timeout());
	if (ev->state == EVICT_SWAPPING) {
		/* the successor's roster may count: the place is lost like any other */
		if (late && g->state == MESH_GROUP_ACTIVE)
			mesh_evict_lost(g);
		return;
	}
	if (g->state != MESH_GROUP_ACTIVE || g->slots[ev->slot].failing ||
	    !((g->engine->in_sync & ~g->engine->failed) >> ev->slot & 1))
		mesh_evict_over(ev, "it is lost, or its group does not serve");
	else if (READ_ONCE(ev->member->state) == MESH_MEMBER_GONE)
		mesh_evict_over(ev, "the drive that is to take it is gone");
	else if (READ_ONCE(ev->member->state) == MESH_MEMBER_REFUSED)
		mesh_evict_over(ev, "the drive that is to take it refuses it");
	else if (late)
		mesh_evict_over(ev, "the drive that is to take it does not answer");
	if (late && !todo->kick_next) {
		refcount_inc(&ev->member->refs);
		todo->kick_next = ev->member;
	}
}

/*
 * The successor fails while the swap's roster may be on any member, so the place fails, too. Owned.
 */
void mesh_evict_lost(struct mesh_group *g)
{
	struct mesh_evict *ev = g->evict;
	struct mesh_gio *gio, *next;
	LIST_HEAD(held);

	prot_group_fail(g->engine, ev->slot);
	list_splice_init(&ev->held, &held);
	list_for_each_entry_safe(gio, next, &held, node) {
		list_del(&gio->node);
		mesh_group_deliver(g, gio, -ENOLINK);
	}
}

/* The engine has stopped, or the group is given up: no I/O waits here any more. Owned. */
void mesh_evict_stop(struct mesh_group *g)
{
	struct mesh_evict *ev = g->evict;

	if (!ev)
		return;
	list_splice_tail_init(&ev->held, &g->starved);
	list_splice_tail_init(&ev->again, &g->starved);
	if (ev->state != EVICT_OVER)
		mesh_evict_over(ev, "its group does not serve");
}
