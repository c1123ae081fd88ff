/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What two hosts and the members of one group are between two steps.
 *
 *   roster.c        what was reached, and the story of a failure
 *   roster_steps.c  what a host can do next; what must never be read
 *   roster_ro.c     ... one that attaches for reading
 *   roster_evict.c  ... to a member in sync whose place another extent takes
 */
#ifndef TESTS_SIM_ROSTER_H
#define TESTS_SIM_ROSTER_H

#include <stdbool.h>
#include <linux/bitops.h>

#include "protect/roster/membership.h"
#include "protect/mutant.h"

#define EXTENTS		5	/* of 4 members, and a spare */
#define SPARE		(EXTENTS - 1)
#define NONE		7	/* no member */
#define WRITES_MAX	4

struct packed {			/* a roster; attach 0: none */
	u8	attach, epoch, in_sync, flags, host, spare;
};

struct extent {
	struct packed roster;
	u8	writes;		/* that it has */
	u8	holder;		/* 1 + host that the label names, or 0 */
	u8	label;		/* attach number that OPEN noted */
};

enum phase { IDLE, OPENS, READS, NUMBERS, WAITS, ATTACHED };

struct host {
	struct packed cur, pend, store;
	u8	phase;
	u8	preempts;
	u8	todo;		/* extents: to open, to number, to read the rosters of */
	u8	has;		/* extents that were not taken from it */
	u8	lost;		/* that were, and it has not noticed: no more than 5 s */
	u8	waits;		/* until others must have noticed */
	u8	served;		/* number of the attachment that it served by, and did not end */
	u8	ro;
	u8	opened;		/* ro: extents whose rosters were read */
	u8	named, durable;	/* of struct prot_membership */
	u8	serving, pending, noted, held;
	u8	unnoted;	/* the store has yet to note what is pending */
	u8	write;		/* in flight */
	u8	landed;		/* extents that have it */
	u8	join;		/* member that is caught up and gets all writes, or NONE */
	u8	twin;		/* member that the spare has a copy of, and gets all writes of, or NONE */
};

struct state {
	struct extent e[EXTENTS];
	struct host h[2];
	u8	acked, dropped;	/* writes */
	u8	writes, crashes, attaches, changes, stores, readers, restarts, stales, evicts;	/* so far */
	u8	spared;		/* the spare is, or was to be, a member */
};

struct roster_bounds {
	int	writes, crashes, attaches, changes, stores, readers, restarts, stales, evicts;
};

extern struct roster_bounds most;
extern u32 width, k;
extern const char *bad;

/* roster.c: @s is reached from the state at hand */
void roster_reach(const struct state *s);

/* roster_steps.c */
void roster_successors(const struct state *s);
void roster_check(const struct state *s);
void roster_unpack(struct prot_roster *r, const struct packed *p);
void roster_load(struct prot_membership *m, const struct host *x);
void roster_keep(struct host *x, const struct prot_membership *m);
void roster_release(struct state *s, int h);
void roster_take(struct state *s, int h, int i);
void roster_acked(struct state *s, int h);
u8 roster_extents(const struct packed *r, u64 members);

/* roster_ro.c */
void roster_ro_begin(const struct state *s, int h);
void roster_ro_read(const struct state *s, int h);
void roster_ro_attached(const struct state *s, int h);
u8 roster_ro_newer(const struct state *s, int h);

/* roster_evict.c */
void roster_evict(const struct state *s, int h);
u8 roster_evict_held(const struct host *x);
u8 roster_evict_writers(const struct host *x);
bool roster_freed(const struct state *s, int extent);
const char *roster_evict_check(const struct state *s);

#endif
