/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Who has a volume: access/V and its readers.
 *
 *                 attach (counter + 1)
 *     none -----------------------------> rw, holder H, number N
 *      ^ ^                                   |    |
 *      | +--- release: holder and number ----+    | attach --preempt, or H is dead and
 *      |      agree; rosters are noted            | nothing is open: the next holder,
 *      +--- held: a target refused to let go      v counter + 1
 *                                            rw, holder G, number N + 1
 *
 * Readers are keys beside it, on their hosts' leases: a writer attaches when there are none,
 * or fences them. The number never falls. A kernel that serves a volume takes it again (retake)
 * where access names no holder, or one that is dead.
 *
 * Each function decides one transaction: the objects that it compares, by their revisions as
 * they were read, and those that it writes.
 */
#ifndef PLAN_ACCESS_H
#define PLAN_ACCESS_H

#include "userspace/plan/objects.h"

/* A transaction, but for its values. */
struct plan_txn {
	u32	compare;	/* enum plan_object */
	u32	put;
	u32	erase;
};

/* What was read, and found at targets, before an attach. */
struct plan_attach {
	const struct plan_volume *volume;
	const struct plan_access *access;
	struct muuid host;	/* the one that attaches */
	bool	stopped;	/* setback.h: this host decides nothing */
	bool	preempt;
	bool	holder_alive;	/* alive/HOLDER is there */
	u32	readers;	/* keys reader/V/ of other hosts */
	bool	open;		/* PROBE: a member is open for another host */
	bool	unknown;	/* ... or a target does not know yet */
};

/**
 * plan_attach_rw() - attach for writing
 * @next: becomes access/V
 *
 * Without @preempt nothing that lives is fenced: refused are a holder whose lease lives, members
 * that are open at targets, readers, and targets that started less than 3 x dead_ms ago.
 */
enum plan_verdict plan_attach_rw(const struct plan_attach *a, struct plan_access *next,
				 struct plan_txn *t);

/*
 * True if @reached members let a kernel begin: without redundancy all, of each group k. An attach
 * that cannot succeed is not decided, since its transaction would fence the former holder.
 */
bool plan_attach_enough(const struct plan_layout *l, const bool *reached);

/*
 * Attach for reading: @number becomes what the reader's OPENs have. PLAN_UNCLEAN: no holder has
 * released the volume since it was recovered, or since an attach was held.
 */
enum plan_verdict plan_attach_ro(const struct plan_attach *a, u64 *number, struct plan_txn *t);

/**
 * plan_release() - end an attachment, after the kernel ended it
 * @number: of that attachment, with or without restart
 *
 * The transaction writes the kernel's last rosters, too, and that the end was clean: of an attachment
 * whose members were never all open, plan_held() is the end. Return: PLAN_GO, or PLAN_NOT_HOLDER:
 * another attachment has followed, so there is nothing to release.
 */
enum plan_verdict plan_release(const struct plan_access *access, const struct muuid *host,
			       u64 number, struct plan_access *next, struct plan_txn *t);

/*
 * The same after a target answered HELD, or after the kernel was fenced while access still names it
 * (a host that it had retaken the volume from came back): what another kernel serves is not known.
 */
enum plan_verdict plan_held(const struct plan_access *access, const struct muuid *host,
			    u64 number, struct plan_access *next, struct plan_txn *t);

/* A kernel whose restart is as high as this is to be retaken, before it has no next one. */
#define PLAN_RESTART_HIGH	((MESH_NUMBER_RESTART_MAX + 1) / 2)

/* What a kernel serves without being named by access/V. */
struct plan_retake {
	const struct plan_volume *volume;
	const struct plan_access *access;
	struct muuid host;
	u64	served;		/* number of the running attachment, with restart */
	u64	above;		/* of a retake that has not opened all members yet: its @above; else 0 */
	bool	stopped;
	bool	holder_alive;	/* of the holder that access names, if it is another host */
	bool	open;		/* ... and members are open for it */
};

/**
 * plan_retake() - take the volume again under the live disk
 * @above: becomes the number that OPENs name as served so far: a label above it that is not
 *	this host's refuses them, and the refusal fences for good. A second retake that begins
 *	before the first one has opened all members names what the first one named: the disk
 *	has served nothing since.
 *
 * Return: PLAN_GO; PLAN_DONE: access names this attachment, and its restart is below
 * PLAN_RESTART_HIGH; PLAN_HELD, PLAN_OPEN: the host that is named lives; PLAN_STOPPED: the kernel's
 * number is above the store's.
 */
enum plan_verdict plan_retake(const struct plan_retake *r, struct plan_access *next, u64 *above,
			      struct plan_txn *t);

/* Note rosters of a kernel's attachment @number in roster/V: each group's that plan_note_raises(). */
enum plan_verdict plan_note(const struct plan_volume *volume, const struct plan_access *access,
			    const struct muuid *host, u64 number, bool stopped, struct plan_txn *t);

/**
 * plan_fresh_over() - end of a volume's first attachment: its first rosters are in the store
 *
 * From then on a kernel that finds no rosters has lost them. Return: PLAN_GO: @t writes volume/V
 * with fresh cleared; PLAN_DONE: it is; PLAN_WAIT: not all groups have a committed roster yet.
 */
enum plan_verdict plan_fresh_over(const struct plan_volume *volume, const struct plan_access *access,
				  const struct plan_rosters *rosters, const struct muuid *host,
				  u64 number, bool stopped, struct plan_txn *t);

/* Return: above 0: @a is the later roster of the group; 0: both are the same one. */
int plan_roster_cmp(const struct plan_roster *a, const struct plan_roster *b);

/**
 * plan_note_raises() - true if a group's roster may be written to roster/V
 * @noted: which roster/V has
 * @next: as the kernel gave it
 *
 * A kernel counts a roster once it is noted. Its report of the roster before may come later, and
 * would take that note away. Where this is false, roster/V keeps @noted, which may be a begun one:
 * the note does not say "committed" then.
 */
bool plan_note_raises(const struct plan_roster *noted, const struct plan_roster *next);

#endif
