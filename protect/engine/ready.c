// SPDX-License-Identifier: GPL-2.0-only
/* Ops by phase: ready to go on, or waiting in turn for a resource. */
#include <linux/bug.h>
#include <linux/kernel.h>

#include "protect/engine/group_priv.h"

static bool ready_may_follow(const struct prot_group *g, u8 before, u8 phase)
{
	if (before == PROT_P_FREE)
		return phase == PROT_P_LOCK;
	if (before == PROT_P_ENDED)
		return phase == PROT_P_FREE;
	return phase == PROT_P_ENDED || prot_policy(g)->phases[before] >> phase & 1;
}

/* @op waits no more, for whatever reason: the next one is the first, or may be. */
static void ready_wait_over(struct prot_group *g, struct prot_gop *op)
{
	struct prot_queue *q = prot_queue(g, op->waits - 1);

	if (op->wait_prev != PROT_NONE16)
		prot_gop(g, op->wait_prev)->wait_next = op->wait_next;
	else
		q->head = op->wait_next;
	if (op->wait_next != PROT_NONE16)
		prot_gop(g, op->wait_next)->wait_prev = op->wait_prev;
	else
		q->tail = op->wait_prev;
	if (op->wait_prev == PROT_NONE16)
		prot_wake(g, op->waits - 1);
	if (q->head == PROT_NONE16 && op->waits - 1 == PROT_Q_BUF)
		prot_wake(g, PROT_Q_READ_BUF);
	if (q->head == PROT_NONE16 && op->waits - 1 == PROT_Q_SMALL)
		prot_wake(g, PROT_Q_SMALL_READ);
	op->waits = 0;
	op->wait_next = 0;
	op->wait_prev = 0;
}

/* The one setter of an op's phase. */
void prot_phase(struct prot_group *g, struct prot_gop *op, u8 phase)
{
	if (WARN_ON_ONCE(!ready_may_follow(g, op->phase, phase)))
		return;
	if (op->waits)
		ready_wait_over(g, op);
	op->phase = phase;
	op->sent = 0;
	op->ended = 0;
	op->ok = 0;
	op->twice = 0;
	op->plain = 0;
	g->repair_ops -= op->repair;
	op->repair = 0;
}

void prot_ready(struct prot_group *g, struct prot_gop *op)
{
	u16 i = prot_gop_index(g, op);

	if (op->queued)
		return;
	op->queued = 1;
	op->ready = PROT_NONE16;
	if (g->ready_tail == PROT_NONE16)
		g->ready_head = i;
	else
		prot_gop(g, g->ready_tail)->ready = i;
	g->ready_tail = i;
}

void prot_ready_all(struct prot_group *g)
{
	u32 i;

	for (i = 0; i < g->cfg.ops; i++)
		if (prot_gop(g, i)->phase != PROT_P_FREE)
			prot_ready(g, prot_gop(g, i));
}

/* True: no op has waited in @queue longer than @op. */
bool prot_turn(const struct prot_group *g, const struct prot_gop *op, u32 queue)
{
	u16 head = prot_queue(g, queue)->head;

	return head == PROT_NONE16 || head == prot_gop_index(g, op);
}

/*
 * @op waits in @queue, behind ops already there, until its phase changes. The op is ready again
 * when first in the queue. Return: true if @op was not waiting yet.
 */
bool prot_wait(struct prot_group *g, struct prot_gop *op, u32 queue)
{
	struct prot_queue *q = prot_queue(g, queue);
	u16 i = prot_gop_index(g, op);

	if (op->waits)
		return false;
	op->waits = queue + 1;
	op->wait_next = PROT_NONE16;
	op->wait_prev = q->tail;
	if (q->tail == PROT_NONE16)
		q->head = i;
	else
		prot_gop(g, q->tail)->wait_next = i;
	q->tail = i;
	return true;
}

/* A resource was released: the first op waiting in @queue checks again. */
void prot_wake(struct prot_group *g, u32 queue)
{
	u16 head = prot_queue(g, queue)->head;

	if (head != PROT_NONE16)
		prot_ready(g, prot_gop(g, head));
}
