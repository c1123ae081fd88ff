// SPDX-License-Identifier: GPL-2.0-only
/*
 * One turn of the context that owns a group's engine: messages and flags, then events, and after
 * the engine is let go, the work named by the events. inbox.c chooses the context. The timer of
 * MESH_G_TICK is set and ended here, too.
 */
#include <linux/math64.h>
#include <linux/sched/clock.h>

#include "driver/group/group.h"
#include "driver/volume/volume.h"

#define RUN_BUSY_TICK	(HZ / 8)
#define RUN_IDLE_TICK	HZ
#define RUN_EXIT_KICK	(2 * HZ)

static bool run_pending(struct mesh_group *g)
{
	return !llist_empty(&g->inbox) || READ_ONCE(g->flags) & MESH_G_WAKE;
}

static void run_commit(struct mesh_group *g, struct mesh_group_todo *todo)
{
	if (g->state != MESH_GROUP_ACTIVE)
		return;
	prot_group_epoch(g->engine, g->commit.epoch, g->commit.in_sync);
	todo->changed = true;
}

/*
 * Handle messages and flags, with the engine owned. @tick: set to true if time has passed. Return:
 * true if the timer is to be set again.
 */
static bool run_messages(struct mesh_group *g, struct mesh_group_todo *todo, bool *tick)
{
	struct llist_node *node = llist_reverse_order(llist_del_all(&g->inbox));
	struct mesh_group_msg *msg, *next;
	bool state, begun, paced;

	mesh_group_reads_failed(g);
	llist_for_each_entry_safe(msg, next, node, node)
		mesh_group_take(g, msg, todo);
	if (test_and_clear_bit(MESH_G_COMMITTED, &g->flags))
		run_commit(g, todo);
	/* an engine that has begun knows neither late members nor a speed */
	begun = test_and_clear_bit(MESH_G_BEGUN, &g->flags);
	paced = test_and_clear_bit(MESH_G_PACE, &g->flags);
	if (begun || (paced && g->state == MESH_GROUP_ACTIVE))
		mesh_group_pace(g);
	state = test_and_clear_bit(MESH_G_STATE, &g->flags) | begun;
	*tick = test_and_clear_bit(MESH_G_TICK, &g->flags);
	if (state || *tick)
		mesh_group_retry(g, todo);
	if (*tick) {
		mesh_group_watch(g, todo);
		mesh_group_expire(g, todo);
	}
	return *tick | begun | paced;
}

/*
 * @tick: a tick was handled; else the next tick stays due, or comes earlier if there is work now.
 */
static void run_timer(struct mesh_group *g, bool tick)
{
	bool busy = g->flying || !list_empty(&g->waiting) || !list_empty(&g->active) ||
		    g->engine->joining || g->engine->scrubbing || g->engine->unsynced || g->evict;
	unsigned long next = jiffies + (busy ? RUN_BUSY_TICK : RUN_IDLE_TICK);

	if (test_bit(MESH_G_CLOSING, &g->flags))
		return;
	if (tick || time_before(next, g->tick_at)) {
		g->tick_at = next;
		mod_timer(&g->timer, next);
	}
	mesh_group_pace_arm(g);
}

/* Note the longest time that others had to wait for the engine. */
static void run_took(struct mesh_group *g, u64 ns)
{
	if (unlikely(ns >= (g->counts.run_us + 1) * NSEC_PER_USEC))
		WRITE_ONCE(g->counts.run_us, div_u64(ns, NSEC_PER_USEC));
}

/* Do one turn. Return: true if there is more to do. */
static bool run_once(struct mesh_group *g)
{
	struct mesh_group_todo todo = { .last_io = &todo.ios, .last_work = &todo.works };
	u64 since = local_clock();
	bool more = false, tick, timed = run_messages(g, &todo, &tick);

	/* before a write's rows are free, and again when the engine's state has changed */
	mesh_group_reads_allow(g);
	if (mesh_group_abandoned(g))
		mesh_group_give_up(g, &todo);
	else
		more = mesh_group_pull(g, &todo);
	if (todo.changed)
		mesh_group_reads_allow(g);
	if (timed)
		run_timer(g, tick);
	if (!g->flying && wq_has_sleeper(&g->idle))
		wake_up_all(&g->idle);
	run_took(g, local_clock() - since);
	clear_bit_unlock(MESH_G_OWNED, &g->flags);
	/* pairs with mesh_group_run() */
	smp_mb__after_atomic();
	mesh_group_execute(g, &todo);
	return more || run_pending(g);
}

static void run_tick(struct timer_list *t)
{
	struct mesh_group *g = from_timer(g, t, timer);

	mesh_group_flag(g, MESH_G_TICK);
}

void mesh_group_run_init(struct mesh_group *g)
{
	g->run = run_once;
	mesh_group_inbox_init(g);
	timer_setup(&g->timer, run_tick, 0);
	mesh_group_pace_init(g);
	init_waitqueue_head(&g->idle);
	g->idle_at = jiffies;
	g->hour_at = jiffies;
	g->tick_at = jiffies + RUN_IDLE_TICK;
	mod_timer(&g->timer, g->tick_at);
}

static void run_kick(struct mesh_group *g)
{
	u32 i;

	rcu_read_lock();
	for (i = 0; i < g->width; i++) {
		struct mesh_member *m = READ_ONCE(g->slots[i].member);

		if (mesh_member_inflight(m))
			mesh_member_kick(m);
	}
	rcu_read_unlock();
}

/* Wait until nothing is in flight; no context runs the engine afterwards. Sleeps. */
void mesh_group_run_exit(struct mesh_group *g)
{
	set_bit(MESH_G_CLOSING, &g->flags);
	mesh_group_flag(g, MESH_G_TICK);
	/* kick members that do not answer: no other code kicks for background I/O */
	while (!wait_event_timeout(g->idle, !READ_ONCE(g->flying) && llist_empty(&g->inbox),
				   RUN_EXIT_KICK)) {
		run_kick(g);
		mesh_group_flag(g, MESH_G_TICK);	/* the tick may leave I/O to members */
	}
	timer_shutdown_sync(&g->timer);
	synchronize_rcu(); /* for a runner that had not seen CLOSING: later ones arm no pacer */
	hrtimer_cancel(&g->pacer);
	irq_poll_disable(&g->iop);
	synchronize_rcu();	/* a poll that had begun before */
}
