/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which members of a group may be read, and which must be written before a write is
 * acknowledged, while its rosters change. The rules have been searched exhaustively
 * with two hosts, partitions, crashes and lost stores: tests/sim/roster.c.
 *
 *     begin          durable on all of it        a change, maybe removals after it
 *   ----------> ATTACHING ---------------> SERVING ---------------> CHANGING
 *                   | a member fails:         ^  durable on all of it   |
 *                   v begins again            +-------------------------+
 *
 * A roster is committed when it is durable on every member that it calls in sync.
 * Until then a write needs the members of the committed one and of each that was
 * begun since, and a read goes only to members that are in the committed and in the
 * pending one. Only removals follow a roster that is not committed, and what that one
 * would have added is out again; at least k of the members of the committed one stay.
 * An extent that takes the place of one in sync is a member of the new roster alone.
 *
 * An attach takes the highest roster of the members that it has opened, each of them
 * read after its own fence. That roster may be out of date: what was removed last may
 * be all that was opened. k or more of its members in sync were not opened: then
 * another host, or this one before, may have gone on with those, and only a witness
 * says that it did not. This host's store is one when the roster says that each
 * removal was noted there before it was written.
 *
 * Pure: the caller locks, writes rosters and knows what time is.
 */
#ifndef PROTECT_MEMBERSHIP_H
#define PROTECT_MEMBERSHIP_H

#include "protect/roster/roster.h"

/* The membership of a group that this host has attached. */
struct prot_membership {
	/* the committed roster; before the first commit the one that was taken */
	struct prot_roster cur;
	struct prot_roster pend;	/* the one that is being written, while @pending */
	u64	named;	/* members that @pend and those begun before it call in sync */
	u64	durable;		/* members that have @pend */
	bool	serving;		/* the first roster of this attachment is committed */
	bool	pending;		/* @pend counts */
	/* one of @cur and those begun since says WITNESS, so a removal is noted first */
	bool	noted;
	/*
	 * members that must be here for reads: k; where the store of a writer is a witness, with
	 * which it goes on with any k, enough that each k of them have one that is here
	 */
	u8	held;
};

/* What an attach knows. */
struct prot_attach {
	const struct prot_roster *found;	/* the highest roster of the members opened */
	/* the one that this host's store notes, or NULL: none, or the store was lost */
	const struct prot_roster *store;
	/* the highest attach number of the labels opened, of all rosters read and of the store */
	u64	highest;
	const u8 (*opened)[PROT_UUID_LEN];	/* extents opened, each fenced for this host */
	u32	n;			/* how many */
	u8	host[PROT_UUID_LEN];	/* this one */
	bool	witness;		/* meshd notes the roster before any of it is written */
	/* the administrator says that nothing newer than @found exists, or gives it up */
	bool	stale;
	/* the attachment that this host has served by and not ended, 0: none */
	u64	served;
};

/**
 * prot_membership_begin() - decide on an attach
 * @m: filled on success: ATTACHING, with a roster of this attachment pending
 * @a: what is known
 *
 * Return: 0; -ENODATA: fewer than k of the members in sync were opened; -ESTALE: k or
 * more of them were not, and nothing says that they have no newer data; -EAGAIN: @a->stale gives
 * that up, and the store has to note it: with @a->witness.
 */
int prot_membership_begin(struct prot_membership *m, const struct prot_attach *a);

/**
 * prot_membership_read() - decide on an attach that only reads
 * @m: filled on success: SERVING by the roster found, and no other one follows
 * @a: what is known; no store is a witness, as none is noted before it is read
 *
 * With the rule of prot_membership_begin() fewer than k members were not opened, so no writer can
 * go on without one that is held for reading, as long as @m->held are. @a->highest is not needed.
 *
 * Return: 0; -ENODATA, -ESTALE: as there; -EUCLEAN: the writer did not end by a detach.
 */
int prot_membership_read(struct prot_membership *m, const struct prot_attach *a);

/**
 * prot_membership_must_wait() - whether another host may read on what this attach makes stale
 * @a: what is known
 *
 * A holder or reader that is cut off has members that were not opened; the targets of the others
 * have ended it there, which it notices in the dead time, and finds too few left. Which roster it
 * goes by, or whether those that wrote the ones since have waited, is not in @a->found. So until
 * that time is over nothing is recovered or served, unless each member was opened, or this host
 * served by @a->found, and no reader has come since.
 */
bool prot_membership_must_wait(const struct prot_attach *a);

/* Members that were in sync fail, or are given up. Return: 0, or -EBUSY: not now. */
int prot_membership_remove(struct prot_membership *m, u64 members);

/* A member has caught up and gets every write. Return: 0, or -EBUSY. */
int prot_membership_add(struct prot_membership *m, u32 member);

/* Another extent becomes member @member, which is not in sync. Return: 0, or -EBUSY. */
int prot_membership_replace(struct prot_membership *m, u32 member, const u8 *uuid);

/**
 * prot_membership_swap() - another extent becomes member @member, which is in sync and stays so
 * @m: not changing; without @member as many members in sync as suffice
 * @member: its place
 * @uuid: an extent that has all that the one in the place has, and gets every write as well
 *
 * From here on until it, or what follows it, is committed nothing may be read or written at the
 * place: another host may take this roster or the one before it, and then fences one of the two
 * extents alone. Members in the other places that suffice stay until then.
 *
 * Return: 0, or -EBUSY: not now.
 */
int prot_membership_swap(struct prot_membership *m, u32 member, const u8 *uuid);

/* meshd notes removals from now on, and has noted this roster; or it is away. */
int prot_membership_witness(struct prot_membership *m, bool on);

/* All is in place and drained; ends with the attachment. Return: 0, or -EBUSY. */
int prot_membership_clean(struct prot_membership *m);

/*
 * The store notes the pending roster before any of it is written: a removal, also of an
 * extent whose place another one takes, or the first that says WITNESS. Any other one must
 * not be noted before it is committed: a store that knows of a member's add would witness
 * for a member that no roster names.
 */
bool prot_membership_must_note(const struct prot_membership *m);

/* Members that the pending roster has yet to be written to; each at any time, in any order. */
u64 prot_membership_unwritten(const struct prot_membership *m);

/* It is durable on these. Return: true: that committed it. */
bool prot_membership_written(struct prot_membership *m, u64 members);

/* Members that may be read; fewer than @m->held of them are here: reads wait. */
u64 prot_membership_readers(const struct prot_membership *m);

/* Members that a write needs before it is acknowledged. */
u64 prot_membership_writers(const struct prot_membership *m);

#endif
