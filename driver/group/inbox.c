// SPDX-License-Identifier: GPL-2.0-only
/*
 * The inbox of a group, and the choice of the engine's runner: a context posts a message, and if
 * the engine is not run, runs the engine for all posters. g->run() is one turn of the runner
 * (run.c).
 *
 *   post: add to the inbox; not owned? own -> take messages -> pull events -> let go -> execute
 *                                       ^                                                 |
 *                                       '--- something came meanwhile (or irq_poll) ------'
 *
 * A poster adds the message before testing MESH_G_OWNED; the owner tests the inbox after letting
 * the engine go, with a full barrier between: one of the two sees the other.
 */
#include <linux/delay.h>
#include <linux/interrupt.h>

#include "driver/group/group.h"

#define INBOX_TURNS	8	/* before others get the CPU */

/* The group whose events this CPU executes: I/O that ends meanwhile only posts. */
static DEFINE_PER_CPU(struct mesh_group *, inbox_inside);

/*
 * Wait for the engine, and own the engine until mesh_group_release(): no runner runs meanwhile.
 * Process context.
 */
void mesh_group_own(struct mesh_group *g)
{
	while (test_and_set_bit_lock(MESH_G_OWNED, &g->flags))
		fsleep(50);
	local_bh_disable();
}

void mesh_group_release(struct mesh_group *g)
{
	clear_bit_unlock(MESH_G_OWNED, &g->flags);
	/*
	 * pairs with mesh_group_run(): a poster has seen the engine owned, or this owner sees the
	 * message
	 */
	smp_mb__after_atomic();
	local_bh_enable();
	/* also for events left in the engine by a runner that found the engine owned */
	mesh_group_run(g);
}

/*
 * Run the engine in this CPU's softirq, unless a softirq is due already. Context: does not leave
 * the CPU.
 */
static void inbox_soon(struct mesh_group *g)
{
	if (!test_bit(IRQ_POLL_F_SCHED, &g->iop.state))
		WRITE_ONCE(g->iop_cpu, smp_processor_id());
	irq_poll_sched(&g->iop);
}

/* True: another CPU is due to run the engine; the softirq there may be a long time coming. */
static bool inbox_elsewhere(const struct mesh_group *g)
{
	return test_bit(IRQ_POLL_F_SCHED, &g->iop.state) &&
	       READ_ONCE(g->iop_cpu) != smp_processor_id();
}

/* Run the engine, unless another context does. Any context. */
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
		/* another group is run later; for this group the loop below checks again */
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
	/* first: a poll scheduled from here on is not lost */
	irq_poll_complete(iop);
	/*
	 * others see that a poll may be scheduled before OWNED is read here: pairs with run_once()
	 */
	smp_mb();
	mesh_group_run(container_of(iop, struct mesh_group, iop));
	return 0;
}

/*
 * Post a message to the runner. Any context; the message is the runner's until handled. Other
 * messages often follow: where bottom halves are off, the walk of a completion queue may go on, and
 * one run handles all results after the walk.
 */
void mesh_group_post(struct mesh_group *g, struct mesh_group_msg *msg)
{
	rcu_read_lock();	/* the group may go once the message is handled */
	llist_add(&msg->node, &g->inbox);
	/* within a run of this group the runner checks again anyway */
	if (in_softirq() && this_cpu_read(inbox_inside) != g && !inbox_elsewhere(g))
		inbox_soon(g);
	else
		mesh_group_run(g);
	rcu_read_unlock();
}

/* Set a flag for the runner. Any context. */
void mesh_group_flag(struct mesh_group *g, unsigned int flag)
{
	rcu_read_lock();
	set_bit(flag, &g->flags);
	smp_mb__after_atomic();		/* a full barrier, as in llist_add() */
	mesh_group_run(g);
	rcu_read_unlock();
}

void mesh_group_inbox_init(struct mesh_group *g)
{
	init_llist_head(&g->inbox);
	irq_poll_init(&g->iop, 1, inbox_poll);
}
