/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Two hosts, the drives of one group and the cluster store, between two steps: numbered
 * attachments.
 *
 *   roster_store.c         states that were reached, the story of a failure
 *   roster_store_mutants.c rules taken out, and the bounds that show it
 *   roster_store_attach.c  a host takes the group: by the store, by its record, for reading
 *   roster_store_serve.c   a host that has it: rosters, joins, writes, the end
 *   roster_store_plan.c    transactions of the store, decided by userspace/plan
 *   roster_store_change.c  ... those that change the layout, forget and recover
 *   roster_store_check.c   what must never be seen, and what must always be possible
 *
 * Each drive has one extent: drive i that of place i, the last one a spare's.
 */
#ifndef TESTS_SIM_ROSTER_STORE_H
#define TESTS_SIM_ROSTER_STORE_H

#include <stdbool.h>
#include <linux/bitops.h>

#include "protect/roster/membership.h"
#include "protect/mutant.h"
#include "userspace/plan/objects.h"

#define RS_DRIVES	4
#define RS_SPARE	(RS_DRIVES - 1)
#define RS_NONE		7	/* no place */
#define RS_WRITES	4

/* A number: counter << 3 | restart. The world has one generation. */
#define RS_COUNTER(n)	((u32)(n) >> 3)
#define RS_RESTART(n)	((u32)(n) & 7)
#define RS_ACCESS(n)	((n) & ~7)

struct rs_roster {		/* attach 0: none */
	u8	attach, epoch, in_sync, flags;
	u8	spare;		/* place of the spare's extent, or RS_NONE */
};

struct rs_drive {
	struct rs_roster roster;
	u8	writes;		/* that it has */
	u8	number;		/* of its label */
	u8	attacher;	/* 1 + host that the label names, or 0 */
	u8	grant;		/* 1 + host that has it open for writing, or 0 */
	u8	readers;	/* hosts that have it open for reading */
	u8	record;		/* version of its layout record */
	u8	freed;
};

enum rs_phase { RS_IDLE, RS_OPENS, RS_ATTACHED };

struct rs_host {
	struct rs_roster cur, pend;
	u8	phase, ro, again;
	u8	number, version;	/* of the attachment, and of its layout */
	u8	served;		/* number of the roster by which it served, and begins again; or 0 */
	u8	forgot;		/* drives that its layout lacks since they were forgotten */
	u8	todo;		/* drives to open */
	u8	has;		/* drives that it believes open: some may be another's by now */
	u8	named, durable, serving, pending, noted, held, barred;	/* struct prot_membership */
	u8	unnoted;	/* the store has yet to note what is pending */
	u8	waits;		/* until others must have noticed what was taken from them */
	u8	write, landed;	/* in flight; drives that have it */
	u8	join;		/* place that catches up and gets all writes, or RS_NONE */
	u8	twin;		/* place whose extent the spare has a copy of, or RS_NONE */
	u8	ends;		/* number of an attachment whose release is to be sent, or 0 */
	struct rs_roster last;	/* ... and its last roster */
	u8	rec_mode, rec_number, rec_version, rec_bar, rec_forgot;	/* its record */
};

struct rs_store {
	u8	mode, holder, counter, readers;
	struct rs_roster roster;
	/* number, layout version and bars of roster/V, and whether its roster was committed then */
	u8	reporter, reported, confirmed, committed;
	u8	clean;		/* of access/V */
	u8	version, place;	/* of the layout; place of the spare in version 2 */
	u8	bar;		/* places to be barred */
	u8	leaving;	/* the layout names the extent that leaves @place, too */
};

struct rs_state {
	struct rs_drive d[RS_DRIVES];
	struct rs_host h[2];
	struct rs_store s, copy;
	u8	back;		/* the store was put back */
	u8	copied;
	u8	forgot;		/* drives */
	u8	acked, dropped, abandoned;	/* writes */
	u8	writes, crashes, attaches, agains, changes, readers, moves, evicts, forgets,
		restores, cancels, restarts;	/* so far */
};

struct rs_bounds {
	int	writes, crashes, attaches, agains, changes, readers, moves, evicts, forgets,
		restores, cancels, restarts;
	int	beside;		/* drive 0 is in the only store host, which is host A */
	int	history;	/* of three copies: copy 1 is stale, and names copy 2, not copy 0 */
};

extern struct rs_bounds rs_most;
extern u32 rs_width, rs_k;
extern const char *rs_bad;

/* roster_store.c: @s is reached from the state at hand */
void rs_reach(const struct rs_state *s);
/* Return: what must not be; "": nothing, all was reached; NULL: the bounds were not exhausted. */
const char *rs_search(const char *bounds, int seconds, u32 *states);

/* roster_store_mutants.c */
int rs_mutants(bool large, int seconds);
bool rs_mutant(const char *name);

/* roster_store_attach.c */
void rs_idle(const struct rs_state *s, int h);
void rs_opens(const struct rs_state *s, int h);
void rs_keep_record(struct rs_host *x, u8 mode);
void rs_close(struct rs_state *s, int h);
void rs_give_up(struct rs_state *s, int h);
void rs_take(struct rs_state *s, int h, int d);
bool rs_may_take(const struct rs_state *s, int h, int d);
bool rs_find(const struct rs_state *s, u8 drives, struct prot_roster *found);
void rs_attach_facts(const struct rs_state *s, const struct rs_host *x, struct prot_attach *a);
u8 rs_opened(u8 drives, u8 (*opened)[PROT_UUID_LEN]);

void rs_begin_again(const struct rs_state *s, int h);

/* roster_store_serve.c */
void rs_attached(const struct rs_state *s, int h);
void rs_unpack(struct prot_roster *r, const struct rs_roster *p);
struct rs_roster rs_pack(const struct prot_roster *r);
void rs_load(struct prot_membership *m, const struct rs_host *x);
void rs_keep(struct rs_host *x, const struct prot_membership *m);
u8 rs_drives(const struct rs_roster *r, u64 places);
u8 rs_real(const struct rs_state *s, int h);
u8 rs_layout(const struct rs_state *s, u8 version, u32 place);

/* The store's objects, decoded. */
struct rs_facts {
	struct plan_place place[RS_DRIVES];
	struct plan_group group;
	struct plan_volume volume;
	struct plan_access access;
	struct plan_roster roster;
	struct plan_rosters rosters;
	u16	bar[RS_DRIVES], confirmed[RS_DRIVES];
};

/* roster_store_plan.c */
void rs_facts(const struct rs_state *s, struct rs_facts *f);
void rs_record(const struct rs_state *s, int h, struct plan_attached *r, struct rs_facts *f);
struct muuid rs_host_uuid(int h);
struct muuid rs_extent_uuid(int d);
struct muuid rs_volume_uuid(void);
u64 rs_number(u8 number);
u8 rs_packed(u64 number);
bool rs_txn_attach(struct rs_state *s, int h);
bool rs_txn_read(struct rs_state *s, int h);
bool rs_txn_again(struct rs_state *s, int h, u8 drives);
bool rs_recorded(const struct rs_state *s, int h, int d);
bool rs_may_again(const struct rs_state *s, int h, int d);
void rs_txn_held(struct rs_state *s, int h);
void rs_txn_release(struct rs_state *s, int h);
bool rs_may_note(const struct rs_state *s, int h);
bool rs_note(struct rs_state *s, int h);
bool rs_given_up(const struct rs_state *s, const struct prot_attach *a);
bool rs_recover(struct rs_state *s, u8 drives);
u8 rs_wanted(const struct rs_state *s, u8 version, u8 forgot, bool store);

/* roster_store_change.c */
void rs_store_steps(const struct rs_state *s);
void rs_holder_steps(const struct rs_state *s, int h);

/* roster_store_check.c */
void rs_check(const struct rs_state *s);
void rs_check_progress(const struct rs_state *s);

#endif
