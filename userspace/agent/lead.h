/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The controller: of all store hosts the one whose key `leader` is in the store, on a lease.
 *
 *     no leader --- grant a lease, put leader (which is absent) ---> this host leads
 *         ^                                                            |  keep the lease
 *         '---- the lease ended, or the key is another host's ---------'
 *
 * A former controller may still believe that it leads. That is harmless, since each of its
 * transactions compares the key.
 */
#ifndef AGENT_LEAD_H
#define AGENT_LEAD_H

#include "userspace/agent/deal.h"

struct lead {
	struct copy *copy;	/* follows the leader's key */
	struct muuid host;
	unsigned int seconds;	/* of the lease */
	u64	lease;		/* 0: none */
	u64	kept_ms;	/* CLOCK_MONOTONIC, when the lease was kept last */
};

/**
 * lead_turn() - become or stay the controller; to be called at least each third of the lease
 * Return: 1: this host leads; 0: another one, or none for now; negative: the store's error.
 */
int lead_turn(struct lead *l, u64 now_ms);
/* True if the copy says that this host leads. */
bool lead_is(const struct lead *l);
/* Compare in @d that the controller is still the one that the copy says. */
void lead_compare(struct deal *d);
/* Stop: another host may lead at once. */
void lead_end(struct lead *l);

#endif
