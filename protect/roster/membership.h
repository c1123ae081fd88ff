/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which members of a group may be read, and which must be written before a write is
 * acknowledged, while its rosters change. The rules have been searched exhaustively
 * with two hosts, partitions, crashes and lost stores: tests/sim/roster.c; those of numbered
 * attachments: tests/sim/roster_store.c.
 *
 *     begin          durable on all of it        a change, maybe removals after it
 *   ----------> ATTACHING ---------------> SERVING ---------------> CHANGING
 *                   | a member fails:         ^  durable on all of it   |
 *                   v begins again            +-------------------------+
 *
 * A roster is committed when durable on every member that the roster calls in sync.
 * Until then a write needs the members of the committed roster and of each roster begun
 * since, and a read goes only to members of both the committed and the pending roster.
 * Only removals follow an uncommitted roster, and the adds of the uncommitted one are
 * out again; at least k of the members of the committed roster stay. An extent that
 * takes the place of one in sync is a member of the new roster alone.
 *
 * An attach takes the highest roster of the opened members, each read after its own
 * fence. The roster found may be out of date: possibly only members removed last were
 * opened. If k or more of the roster's members in sync were not opened, another host, or
 * this one before, may have gone on with those. Only a witness says the opposite. This
 * host's store is a witness when the roster says that each removal was noted in the
 * store before the roster was written.
 *
 * A numbered attachment has its number from the cluster store (driver/uapi/number.h). Then that
 * store is the witness for all hosts, and these rules are added:
 *
 *   witness   The store counts if its roster's attachment is at least that of the roster found.
 *             The higher roster is the base. Epochs say nothing here: an add is noted after its
 *             commit, so the store may be behind by adds.
 *   reads     A witness lets another host go on with any k members. While the committed or the
 *             pending roster says WITNESS, reads need that many members, of the committed
 *             roster and of each one begun since, that any k of them include one.
 *   adds      A roster with a new member reaches the members in sync first, the new one last.
 *             Otherwise the new member alone could name itself in sync, after this host has gone
 *             back to the earlier roster.
 *   bars      Nothing is added at a barred place: its member is about to be replaced.
 *   forget    Where all others are opened, members whose extents were forgotten may be missing.
 *   again     An attach by the host's record, without the store, has no witness.
 *
 * Pure: the caller locks, writes rosters and knows what time is.
 */
#ifndef PROTECT_MEMBERSHIP_H
#define PROTECT_MEMBERSHIP_H

#include "protect/roster/roster.h"

/* The membership of a group attached by this host. */
struct prot_membership {
	/* the committed roster; before the first commit the roster found */
	struct prot_roster cur;
	struct prot_roster pend;	/* the roster being written, while @pending */
	u64	named;	/* members in sync by @pend or by rosters begun before */
	u64	durable;		/* members with @pend */
	bool	serving;		/* the first roster of this attachment is committed */
	bool	pending;		/* @pend counts */
	/* one of @cur and later rosters says WITNESS, so a removal is noted first */
	bool	noted;
	/*
	 * members needed here for reads: k. If a writer's store is a witness, the writer goes on
	 * with any k: then enough members for each set of k to include one that is here.
	 * Numbered: prot_membership_held() counts
	 */
	u8	held;
	bool	numbered;	/* of a writer: the attachment's number is the cluster store's */
	/* the store spoke for members that were not opened, so it notes the first roster */
	bool	relies;
	u64	barred;		/* places at which nothing is added; the caller's, any time */
};

/* Facts known to an attach. */
struct prot_attach {
	const struct prot_roster *found;	/* the highest roster of the members opened */
	/* the roster noted by this host's store; NULL: none, or the store was lost */
	const struct prot_roster *store;
	/* the highest attach number of the labels opened, of all rosters read and of the store */
	u64	highest;
	const u8 (*opened)[PROT_UUID_LEN];	/* extents opened, each fenced for this host */
	u32	n;			/* how many */
	u8	host[PROT_UUID_LEN];	/* this one */
	bool	witness;		/* meshd notes the roster before the first write */
	/* the administrator says: nothing newer than @found exists, or is given up */
	bool	stale;
	/* the attachment served by this host and not ended, 0: none */
	u64	served;
	/* the number is the cluster store's, and @store is the roster noted there */
	bool	numbered;
	u64	number;		/* numbered: of this attachment; @highest is not used */
	bool	again;		/* numbered: by the host's record, while the store is away */
	/*
	 * numbered: a member is on the only store host, and this host is another one. The loss of
	 * that host would take a member and the witness at once
	 */
	bool	beside_store;
	u64	barred;		/* numbered: places at which nothing is added */
	u64	forgotten;	/* numbered: places whose extents were forgotten for good */
};

/* Facts on which the change of WITNESS depends. */
struct prot_witness {
	bool	away;		/* the store has been away for 30 s, or its daemon has */
	bool	noted;		/* the store has noted the committed roster */
	bool	beside_store;	/* as in struct prot_attach */
	u64	here;		/* members that answer */
};

/**
 * prot_membership_begin() - decide on an attach
 * @m: filled on success: ATTACHING, with a roster of this attachment pending
 * @a: what is known
 *
 * Return: 0; -ENODATA: fewer than k of the members in sync were opened; -ESTALE: k or more of them
 * were not, and may have newer data; -EAGAIN: @a->stale, or @a->forgotten, gives newer data up, and
 * the store has to note the roster: call again with @a->witness; -EEXIST: the roster found is of a
 * later attachment than @a->number, which ends this one.
 */
int prot_membership_begin(struct prot_membership *m, const struct prot_attach *a);

/**
 * prot_membership_read() - decide on an attach that only reads
 * @m: filled on success: SERVING by the roster found, and no other one follows
 * @a: what is known; no store is a witness, as none is noted before it is read
 *
 * With the rule of prot_membership_begin() fewer than k members were not opened, so no writer can
 * go on without one that is held for reading, as long as @m->held are. @a->highest is not needed.
 * Numbered: that holds of each reader, since the next writer may have a witness that the roster
 * found does not name. Forgotten members are missing: a writer has to give them up first.
 *
 * Return: 0; -ENODATA, -ESTALE: as there; -EUCLEAN: the writer did not end by a detach; -EEXIST:
 * as there.
 */
int prot_membership_read(struct prot_membership *m, const struct prot_attach *a);

/**
 * prot_membership_must_wait() - whether another host may read on what this attach makes stale
 * @a: what is known
 *
 * A holder or reader cut off from this host still has members that were not opened. The targets
 * of the opened members have ended its sessions. The holder notices within the dead time, and
 * finds too few members left. @a->found does not say by which roster the holder goes, or whether
 * the writers of later rosters have waited. So nothing is recovered or served before the dead time
 * is over, unless each member was opened, or this host served by @a->found and no reader has come
 * since.
 */
bool prot_membership_must_wait(const struct prot_attach *a);

/* Members in sync fail, or are given up. Return: 0, or -EBUSY: not now. */
int prot_membership_remove(struct prot_membership *m, u64 members);

/* A member has caught up and gets every write. Return: 0, or -EBUSY. */
int prot_membership_add(struct prot_membership *m, u32 member);

/* Another extent becomes member @member, which is not in sync. Return: 0, or -EBUSY. */
int prot_membership_replace(struct prot_membership *m, u32 member, const u8 *uuid);

/**
 * prot_membership_swap() - another extent becomes member @member, which is in sync and stays so
 * @m: not changing; without @member as many members in sync as suffice
 * @member: the place
 * @uuid: an extent with all data of the present extent, written by every write as well
 *
 * Nothing may be read or written at the place before this roster, or a later one, is committed:
 * another host may take this roster or the earlier one, and then fences only one of the two
 * extents. Enough members in other places stay until then.
 *
 * Return: 0, or -EBUSY: not now.
 */
int prot_membership_swap(struct prot_membership *m, u32 member, const u8 *uuid);

/* meshd notes removals from now on, and has noted this roster; or meshd is away. */
int prot_membership_witness(struct prot_membership *m, bool on);

/**
 * prot_membership_witness_due() - the change of WITNESS that a numbered attachment has to make
 * @m: not changing
 * @w: what is known
 *
 * Without the store a removal cannot be noted, and writes would wait. So the roster says that the
 * store is no witness, as long as all members answer: then the next attach needs all of them, and
 * removals need no note.
 *
 * Return: 1: prot_membership_witness(m, true); -1: prot_membership_witness(m, false); 0: none.
 */
int prot_membership_witness_due(const struct prot_membership *m, const struct prot_witness *w);

/*
 * Barred places to be confirmed to the store beside the committed roster. None while another roster
 * is pending: that one may add a member at such a place, and what the store notes of a removal is
 * no proof that the member is out.
 */
u64 prot_membership_barred(const struct prot_membership *m);

/* All is in place and drained; ends with the attachment. Return: 0, or -EBUSY. */
int prot_membership_clean(struct prot_membership *m);

/*
 * True: the store notes the pending roster before the first write: a removal, also of an extent
 * in favour of another one, or the first roster with WITNESS. Any other roster must not be noted
 * before the commit: a store that knows of a member's add would witness for a member in no
 * roster.
 */
bool prot_membership_must_note(const struct prot_membership *m);

/*
 * Members that the pending roster has yet to be written to; each at any time, in any order.
 * Numbered: members that are added come when all others have the roster.
 */
u64 prot_membership_unwritten(const struct prot_membership *m);

/* The pending roster is durable on @members. Return: true if now committed. */
bool prot_membership_written(struct prot_membership *m, u64 members);

/* Members to read from; with fewer than @m->held of them here, reads wait. */
u64 prot_membership_readers(const struct prot_membership *m);

/*
 * With fewer than prot_membership_held() members of prot_membership_heard() here, reads wait. These
 * are the members of the committed roster and of each one begun since. A place with another extent
 * in the pending roster is here if both extents are.
 */
u8 prot_membership_held(const struct prot_membership *m);
u64 prot_membership_heard(const struct prot_membership *m);

/* Members needed by a write before the acknowledgment. */
u64 prot_membership_writers(const struct prot_membership *m);

#endif
