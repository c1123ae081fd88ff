// SPDX-License-Identifier: GPL-2.0-only
/*
 * Members of a group that are late, down, failed, back.
 *
 *   in sync --late: down, or an I/O older than 1 s--> late --answers--> in sync
 *                                                       | (reads avoid the member)
 *                           member_timeout, and enough other members answer
 *                                                       v
 *        joining <--up, nothing in flight-- out <--roster-- failing: I/O is kicked, the engine
 *           '--caught up, roster--> in sync                 gets errors
 *
 * The engine gets final results alone. I/O ended by a lost channel is held, and sent again in order
 * when the member is up: the I/O's rows are still locked, and the member's OPEN has proved that I/O
 * sent before is dead. If too few members answer, no member is given up before io_timeout: three of
 * six targets behind a dead switch cost a pause.
 */
#define pr_fmt(fmt) "meshblk: " fmt
#include "driver/group/group.h"
#include "driver/trace.h"
#include "driver/volume/volume.h"
#include "driver/work.h"

#define MEMBER_LATE	HZ		/* age of an I/O that makes its member late */
#define MEMBER_KICK	(2 * HZ)	/* between kicks of a failing member */

static bool member_up(const struct mesh_group_slot *slot)
{
	/* pairs with mesh_member_step() */
	return smp_load_acquire(&slot->member->state) == MESH_MEMBER_UP &&
	       !mesh_group_overtaken(slot);
}

/*
 * Note if fewer members are here than a read needs; requests then wait, as members may come back.
 * With the engine owned.
 */
void mesh_group_count(struct mesh_group *g)
{
	u64 here = (g->heard ?: g->engine->in_sync) & ~g->engine->failed, lost = 0;
	bool before = g->overtaken, few;
	u32 i;

	for (i = 0; i < g->width; i++) {
		if (!member_up(&g->slots[i]))
			here &= ~BIT_ULL(i);
		lost += mesh_group_overtaken(&g->slots[i]);
	}
	if (g->heard)
		here &= ~mesh_evict_away(g);
	few = hweight64(here) < g->held;
	WRITE_ONCE(g->few, few);
	WRITE_ONCE(g->overtaken, few && lost);
	if (g->overtaken && !before)
		pr_warn("%s: group %u.%u: another host has attached it for writing; detach it, and attach it again\n",
			g->vol->conf.name, g->segment, g->column);
}

static bool member_uses(struct mesh_group *g, u32 i)
{
	return (g->engine->in_sync | g->engine->joining) >> i & 1;
}

/*
 * True: the member has I/O, also from reads around the engine, and no I/O has ended for
 * MEMBER_LATE.
 */
static bool member_stuck(struct mesh_group_slot *slot)
{
	struct mesh_member_stats s;

	mesh_member_stats(slot->member, &s);
	if (s.ended != slot->ended || s.started == s.ended) {
		slot->ended = s.ended;
		slot->ended_at = jiffies;
	}
	return time_after(jiffies, slot->ended_at + MEMBER_LATE);
}

static bool member_is_late(struct mesh_group_slot *slot)
{
	const struct mesh_gio *oldest = list_first_entry_or_null(&slot->flying, struct mesh_gio,
								 node);

	return !member_up(slot) || !list_empty(&slot->held) || member_stuck(slot) ||
	       (oldest && time_after(jiffies, oldest->since + MEMBER_LATE));
}

/* Note if the member is late: the engine then reads from other members. */
static void member_note_late(struct mesh_group *g, u32 i)
{
	struct mesh_group_slot *slot = &g->slots[i];
	bool late = member_is_late(slot);
	u64 avoid = g->engine->avoid & ~BIT_ULL(i);

	if (late != slot->late)
		trace_mesh_group_member(g, i, late ? MESH_TURN_LATE : MESH_TURN_ANSWERS);
	if (late && !slot->late)
		slot->late_since = jiffies;
	slot->late = late;
	prot_group_avoid(g->engine, late ? avoid | BIT_ULL(i) : avoid);
}

/* The channel of an I/O is lost: hold the I/O until the member is up. */
static void member_hold(struct mesh_group *g, struct mesh_gio *gio)
{
	list_add_tail(&gio->node, &g->slots[gio->io.member].held);
	WRITE_ONCE(g->counts.held, g->counts.held + 1);
	trace_mesh_group_member(g, gio->io.member, MESH_TURN_HELD);
}

/* The host or the member has no memory for an I/O: send again when another I/O has ended. */
static void member_starved(struct mesh_group *g, struct mesh_gio *gio)
{
	list_add_tail(&gio->node, &g->starved);
	WRITE_ONCE(g->counts.starved, g->counts.starved + 1);
}

/* A member I/O has ended, and is in no list. */
void mesh_group_ended(struct mesh_group *g, struct mesh_gio *gio, struct mesh_group_todo *todo)
{
	struct mesh_group_slot *slot = &g->slots[gio->io.member];
	int err = gio->err;

	/* the member has room again, or memory is free */
	if (err != -ENOMEM && err != -EAGAIN && !list_empty(&g->starved)) {
		struct mesh_gio *starved = list_first_entry(&g->starved, struct mesh_gio, node);

		list_del(&starved->node);
		mesh_group_send(g, starved, todo);
	}
	if (!err && g->state == MESH_GROUP_ACTIVE && mesh_evict_follow(g, gio, todo))
		;	/* ends with the successor's I/O */
	else if (g->state == MESH_GROUP_STOPPED || slot->failing || !err)
		mesh_group_deliver(g, gio, err == -ENOMEM || err == -EAGAIN ? -EIO : err);
	else if (err == -ENOMEM || err == -EAGAIN)
		member_starved(g, gio);
	else if (err == -ENOLINK && !(g->cfg.ro && !g->few))
		member_hold(g, gio);
	else
		mesh_group_deliver(g, gio, err);
	/* the member answers again, or the connection is lost */
	if (slot->late || err)
		member_note_late(g, slot - g->slots);
}

/* Send the I/O held for members that are up, and the I/O without memory so far. */
static void member_resend(struct mesh_group *g, struct mesh_group_todo *todo)
{
	struct mesh_gio *gio, *next;
	LIST_HEAD(again);
	u32 i;

	list_splice_init(&g->starved, &again);
	for (i = 0; i < g->width; i++)
		if (member_up(&g->slots[i]))
			list_splice_tail_init(&g->slots[i].held, &again);
	list_for_each_entry_safe(gio, next, &again, node) {
		list_del(&gio->node);
		mesh_group_send(g, gio, todo);
	}
}

/* A member's state has changed, or time has passed: send held I/O again, and note late members. */
void mesh_group_retry(struct mesh_group *g, struct mesh_group_todo *todo)
{
	u32 i;

	if (g->state == MESH_GROUP_OPENING)
		return;
	if (g->state != MESH_GROUP_STOPPED)
		member_resend(g, todo);
	for (i = 0; i < g->width; i++)
		member_note_late(g, i);
	mesh_group_count(g);
	mesh_evict_watch(g, todo);
}

/* Give a member up: no I/O is held any more, and I/O at the member is kicked. */
static void member_fail(struct mesh_group *g, u32 i)
{
	struct mesh_group_slot *slot = &g->slots[i];
	struct mesh_gio *gio, *next;

	trace_mesh_group_member(g, i, MESH_TURN_GIVEN_UP);
	slot->failing = true;
	slot->kick_at = jiffies;
	pr_warn("%s: member %u of group %u.%u does not answer, it is given up\n",
		g->vol->conf.name, i, g->segment, g->column);
	list_for_each_entry_safe(gio, next, &slot->held, node) {
		list_del(&gio->node);
		mesh_group_deliver(g, gio, -ENOLINK);
	}
	if (!g->cfg.ro)
		prot_group_fail(g->engine, i);
}

/*
 * Leave the I/O that the device does not end to the member. If some I/O cannot be left, the engine
 * has member_timeout to do without, before the group stops.
 */
static void member_leave(struct mesh_group *g, u32 i)
{
	struct mesh_group_slot *slot = &g->slots[i];

	mesh_group_leave(g, i);
	if (!slot->nr_flying)
		slot->stuck_at = 0;
	else if (!slot->stuck_at)
		slot->stuck_at = (jiffies + mesh_group_member_timeout()) | 1;
	else if (time_after_eq(jiffies, slot->stuck_at))
		mesh_group_leave_stop(g, i);
}

/* A stopped group begins again without the I/O that a member does not end in time. */
static void member_stopped(struct mesh_group *g, u32 i, struct mesh_group_todo *todo)
{
	struct mesh_group_slot *slot = &g->slots[i];

	if (!slot->nr_flying)
		return;
	if (time_after_eq(jiffies, slot->kick_at)) {
		slot->kick_at = jiffies + MEMBER_KICK;
		todo->kick |= BIT_ULL(i);
	}
	if (slot->failing || (slot->late && time_after_eq(jiffies, slot->late_since +
							  mesh_group_member_timeout())))
		mesh_group_leave(g, i);
}

/* Watch a member that is given up, until the I/O is back and the engine is without the member. */
static void member_failing(struct mesh_group *g, u32 i, struct mesh_group_todo *todo)
{
	struct mesh_group_slot *slot = &g->slots[i];

	if ((slot->nr_flying || mesh_member_inflight(slot->member)) &&
	    time_after_eq(jiffies, slot->kick_at)) {
		slot->kick_at = jiffies + MEMBER_KICK;
		todo->kick |= BIT_ULL(i);
	}
	if (slot->nr_flying && !member_uses(g, i) && g->state == MESH_GROUP_ACTIVE)
		member_leave(g, i);
	if (!slot->nr_flying && (g->cfg.ro ? member_up(slot) : !member_uses(g, i))) {
		slot->failing = false;
		slot->stuck_at = 0;
		if (member_up(slot))
			queue_delayed_work(mesh_wq, &g->start_work, 0);
	}
}

/*
 * Retry the join of a member that is here and out, ever later. For a member in sync, reset the
 * delay: the next join is at once.
 */
static void member_rejoin(struct mesh_group *g, u32 i)
{
	struct mesh_group_slot *slot = &g->slots[i];

	if (g->cfg.ro)
		return;
	if (g->engine->in_sync >> i & 1) {
		slot->join_wait = 0;
		slot->join_at = jiffies;
	} else if (!member_uses(g, i) && member_up(slot) && !READ_ONCE(slot->barred) &&
		   !READ_ONCE(slot->shut) && time_after_eq(jiffies, slot->join_at)) {
		queue_delayed_work(mesh_wq, &g->start_work, 0);
	}
}

/* True: the group can go on without the late members. */
static bool member_enough(struct mesh_group *g)
{
	u64 live = g->engine->in_sync & ~g->engine->failed;
	u32 i;

	for (i = 0; i < g->width; i++)
		if (g->slots[i].late)
			live &= ~BIT_ULL(i);
	return hweight64(live) >= g->geo.k;
}

/*
 * Return: jiffies when a late member in use is given up. Too few members may have answered, because
 * of a dead switch, for example. Then members come back one after the other: from the moment that
 * enough are back, the rest have member_timeout, within io_timeout.
 */
static unsigned long member_due(const struct mesh_group *g, const struct mesh_group_slot *slot,
				bool enough)
{
	unsigned long due = slot->late_since + mesh_group_member_timeout();
	unsigned long last = slot->late_since + READ_ONCE(g->vol->timeout);
	unsigned long again = g->lacked_at + mesh_group_member_timeout();

	if (!enough)
		return last;
	if (time_after(again, last))
		again = last;
	return time_after(again, due) ? again : due;
}

/*
 * True: the member is late for too long, and something waits for the member: the group, if the
 * member is in use, or earlier I/O, held or in flight, if the member is out by now.
 */
static bool member_overdue(struct mesh_group *g, u32 i, bool enough)
{
	const struct mesh_group_slot *slot = &g->slots[i];
	unsigned long due;

	if (!slot->late)
		return false;
	if (member_uses(g, i))
		due = member_due(g, slot, enough);
	else if (slot->nr_flying || !list_empty(&slot->held))
		due = slot->late_since + mesh_group_member_timeout();
	else
		return false;
	return time_after_eq(jiffies, due);
}

/* Time has passed: step each member's way out or back. Called after mesh_group_retry(). */
void mesh_group_watch(struct mesh_group *g, struct mesh_group_todo *todo)
{
	bool enough;
	u32 i;

	if (g->state == MESH_GROUP_OPENING)
		return;
	enough = member_enough(g);
	if (!enough)
		g->lacked_at = jiffies;
	for (i = 0; i < g->width; i++) {
		struct mesh_group_slot *slot = &g->slots[i];

		if (slot->failing)
			member_failing(g, i, todo);
		else if (g->state != MESH_GROUP_STOPPED && member_overdue(g, i, enough))
			member_fail(g, i);
		else if (g->state == MESH_GROUP_ACTIVE)
			member_rejoin(g, i);
		if (g->state == MESH_GROUP_STOPPED)
			member_stopped(g, i, todo);
	}
}
