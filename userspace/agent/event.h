/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * event/H/S: what happened on this host, human-readable. Nothing is decided from it.
 *
 *   event_begin() - words - deal_put() in the transaction that does it, or
 *                           events_add() --> 32 wait while the store is away --> events_turn()
 */
#ifndef AGENT_EVENT_H
#define AGENT_EVENT_H

#include "userspace/agent/deal.h"

#define EVENTS_MAX	32

struct events {
	struct copy *copy;
	u32	waiting;		/* from the oldest on */
	struct obj_event event[EVENTS_MAX];
	u64	again_ms;		/* not before */
};

/* @e: an event of now, without words. @what: one word for scripts. */
void event_begin(struct obj_event *e, const struct muuid *host, const char *what);
/* Words of an event. */
void event_words(struct obj_event *e, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* To be written when the store can be; of more than EVENTS_MAX the oldest is dropped. */
void events_add(struct events *s, const struct obj_event *e);
/* Write one. Return: 1: written; 0: none waits, or later; negative: the store's error. */
int events_turn(struct events *s, u64 now_ms);
void events_end(struct events *s);

#endif
