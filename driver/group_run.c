// SPDX-License-Identifier: GPL-2.0-only
/*
 * What runs a group's engine: a context that posts a message and finds it not run, for all.
 *
 *   post: add to the inbox; not owned? own -> take messages -> pull events -> let go -> execute
 *                                       ^                                                 |
 *                                       '--- something came meanwhile (or irq_poll) ------'
 *
 * A poster whose test of MESH_G_OWNED fails has added its message before; the owner tests the
 * inbox after it has let go, with a full barrier between: one of the two sees the other.
 */
#include <linux/delay.h>
#include <linux/interrupt.h>
#include <linux/math64.h>
#include <linux/sched/clock.h>

#include "driver/group.h"
#include "driver/volume.h"

#define RUN_TURNS	8	/* before others get the CPU */
#define RUN_BUSY_TICK	(HZ / 8)
#define RUN_IDLE_TICK	HZ
#define RUN_EXIT_KICK	(2 * HZ)

/* The group whose events this CPU executes: what ends within them only posts. */
static DEFINE_PER_CPU(struct mesh_group *, run_inside);

static bool run_pending(struct mesh_group *g)
{
	return !llist_empty(&g->inbox) || READ_ONCE(g->flags) & MESH_G_WAKE;
}

/* Wait for the engine, which is not run then until mesh_group_release(). Process context. */
void mesh_group_own(struct mesh_group *g)
{
	while (test_and_set_bit_lock(MESH_G_OWNED, &g->flags))
		fsleep(50);
	local_bh_disable();
}

void mesh_group_release(struct mesh_group *g)
{
	clear_bit_unlock(MESH_G_OWNED, &g->flags);
	/* pairs with mesh_group_run(): a poster has seen it owned, or its message is seen here */
	smp_mb__after_atomic();
	local_bh_enable();
	/* also for events that a runner, which found it owned, has left in the engine */
	mesh_group_run(g);
}

static void run_commit(struct mesh_group *g, struct mesh_group_todo *todo)
{
	if (g->state != MESH_GROUP_ACTIVE)
		return;
	prot_group_epoch(g->engine, g->commit.epoch, g->commit.in_sync);
	todo->changed = true;
}

/*
 * Messages and flags, with the engine owned. @tick: set to whether time has passed. Return: whether
 * the timer is to be set again.
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
	/* an engine that has begun knows of no member that is late, and of no speed */
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

/* @tick: it was handled; else the next one stays due, or comes earlier as there is work now. */
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

/* How long others had to wait for the engine, at most. */
static void run_took(struct mesh_group *g, u64 ns)
{
	if (unlikely(ns >= (g->counts.run_us + 1) * NSEC_PER_USEC))
		WRITE_ONCE(g->counts.run_us, div_u64(ns, NSEC_PER_USEC));
}

/* Return: whether there is more to do. */
static bool run_once(struct mesh_group *g)
{
	struct mesh_group_todo todo = { .last_io = &todo.ios, .last_work = &todo.works };
	u64 since = local_clock();
	bool more = false, tick, timed = run_messages(g, &todo, &tick);

	/* before a write's rows are free, and again when the engine's state is another */
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

/* Run it in this CPU's softirq, unless it waits for one. Context: does not leave its CPU. */
static void run_soon(struct mesh_group *g)
{
	if (!test_bit(IRQ_POLL_F_SCHED, &g->iop.state))
		WRITE_ONCE(g->iop_cpu, smp_processor_id());
	irq_poll_sched(&g->iop);
}

/* Whether another CPU is to run it: its softirq may be a long time coming. */
static bool run_elsewhere(const struct mesh_group *g)
{
	return test_bit(IRQ_POLL_F_SCHED, &g->iop.state) &&
	       READ_ONCE(g->iop_cpu) != smp_processor_id();
}

/* Run the engine, unless somebody does. Any context. */
void mesh_group_run(struct mesh_group *g)
{
	unsigned int turns = RUN_TURNS;
	bool more = true;

	if (in_hardirq() || irqs_disabled()) {
		run_soon(g);
		return;
	}
	rcu_read_lock();
	local_bh_disable();
	if (this_cpu_read(run_inside)) {
		/* of another group: later; of this one: the loop below looks again */
		if (this_cpu_read(run_inside) != g)
			run_soon(g);
		goto out;
	}
	this_cpu_write(run_inside, g);
	while (more && turns-- && !test_and_set_bit_lock(MESH_G_OWNED, &g->flags))
		more = run_once(g);
	this_cpu_write(run_inside, NULL);
	if (more && turns == UINT_MAX)
		run_soon(g);
out:
	local_bh_enable();
	rcu_read_unlock();
}

static int run_poll(struct irq_poll *iop, int budget)
{
	/* first: what is scheduled from here on is not lost */
	irq_poll_complete(iop);
	/* that it may be is seen before OWNED is read: pairs with run_once() */
	smp_mb();
	mesh_group_run(container_of(iop, struct mesh_group, iop));
	return 0;
}

/*
 * Any context; the message is the runner's until it was handled. Others often come with it: where
 * bottom halves are off the walk of a completion queue may go on, and what it finds is one run's
 * once it is over.
 */
void mesh_group_post(struct mesh_group *g, struct mesh_group_msg *msg)
{
	rcu_read_lock();	/* the group may go once the message is handled */
	llist_add(&msg->node, &g->inbox);
	/* within a run of this group the runner looks again by itself */
	if (in_softirq() && this_cpu_read(run_inside) != g && !run_elsewhere(g))
		run_soon(g);
	else
		mesh_group_run(g);
	rcu_read_unlock();
}

/* Any context. */
void mesh_group_flag(struct mesh_group *g, unsigned int flag)
{
	rcu_read_lock();
	set_bit(flag, &g->flags);
	smp_mb__after_atomic();		/* as llist_add() */
	mesh_group_run(g);
	rcu_read_unlock();
}

static void run_tick(struct timer_list *t)
{
	struct mesh_group *g = from_timer(g, t, timer);

	mesh_group_flag(g, MESH_G_TICK);
}

void mesh_group_run_init(struct mesh_group *g)
{
	init_llist_head(&g->inbox);
	irq_poll_init(&g->iop, 1, run_poll);
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

/* Wait until nothing is in flight; nothing runs the engine afterwards. Sleeps. */
void mesh_group_run_exit(struct mesh_group *g)
{
	set_bit(MESH_G_CLOSING, &g->flags);
	mesh_group_flag(g, MESH_G_TICK);
	/* what a member does not answer is called back: none else does that for background I/O */
	while (!wait_event_timeout(g->idle, !READ_ONCE(g->flying) && llist_empty(&g->inbox),
				   RUN_EXIT_KICK)) {
		run_kick(g);
		mesh_group_flag(g, MESH_G_TICK);	/* or is left to the member */
	}
	timer_shutdown_sync(&g->timer);
	synchronize_rcu();	/* a runner that had not seen CLOSING: none sets it again */
	hrtimer_cancel(&g->pacer);
	irq_poll_disable(&g->iop);
	synchronize_rcu();	/* a poll that had begun before */
}
