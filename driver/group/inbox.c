// SPDX-License-Identifier: GPL-2.0-only
/*
 * The inbox of a group, and who runs its engine: a context that posts a message and finds the
 * engine not run, for all that have posted. g->run() is one turn of that (run.c).
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

#include "driver/group/group.h"

#define INBOX_TURNS	8	/* before others get the CPU */

/* The group whose events this CPU executes: what ends within them only posts. */
static DEFINE_PER_CPU(struct mesh_group *, inbox_inside);

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

/* Run it in this CPU's softirq, unless it waits for one. Context: does not leave its CPU. */
static void inbox_soon(struct mesh_group *g)
{
	if (!test_bit(IRQ_POLL_F_SCHED, &g->iop.state))
		WRITE_ONCE(g->iop_cpu, smp_processor_id());
	irq_poll_sched(&g->iop);
}

/* Whether another CPU is to run it: its softirq may be a long time coming. */
static bool inbox_elsewhere(const struct mesh_group *g)
{
	return test_bit(IRQ_POLL_F_SCHED, &g->iop.state) &&
	       READ_ONCE(g->iop_cpu) != smp_processor_id();
}

/* Run the engine, unless somebody does. Any context. */
void mesh_group_run(struct mesh_group *g)
{
	unsigned int turns = INBOX_TURNS;
	bool more = true;

	if (in_hardirq() || irqs_disabled()) {
		inbox_soon(g);
		return;
	}
	rcu_read_lock();
	local_bh_disable();
	if (this_cpu_read(inbox_inside)) {
		/* of another group: later; of this one: the loop below looks again */
		if (this_cpu_read(inbox_inside) != g)
			inbox_soon(g);
		goto out;
	}
	this_cpu_write(inbox_inside, g);
	while (more && turns-- && !test_and_set_bit_lock(MESH_G_OWNED, &g->flags))
		more = g->run(g);
	this_cpu_write(inbox_inside, NULL);
	if (more && turns == UINT_MAX)
		inbox_soon(g);
out:
	local_bh_enable();
	rcu_read_unlock();
}

static int inbox_poll(struct irq_poll *iop, int budget)
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
	if (in_softirq() && this_cpu_read(inbox_inside) != g && !inbox_elsewhere(g))
		inbox_soon(g);
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

void mesh_group_inbox_init(struct mesh_group *g)
{
	init_llist_head(&g->inbox);
	irq_poll_init(&g->iop, 1, inbox_poll);
}
