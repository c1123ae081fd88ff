/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the labels of a volume's extents say, and what follows from it: which
 * layout record counts, whether a change that was begun is completed or
 * discarded, and which host holds the volume. Pure decisions.
 *
 * A new version is written to every old member first, each time under the
 * condition that the label still has the version and commit before it; then to
 * the new members, whose labels have version 0. So of a record H:
 *
 *   some member has a version above 0 that is lower than H's, or H's version
 *   with another commit (a witness)       H was not written everywhere: no host
 *                                          has used it, and it may be discarded
 *   no witness                             H is decided: its writer may have used
 *                                          it. What has version 0 is written now
 *   a member of H that cannot be seen      it could be a witness or not: H stays
 *                                          as it is until the member is back
 *
 * A member of a group may be gone for good, and only a new version names another in its place. It
 * is made while the group serves without those that are away, and H marks these as late: their
 * lower versions are no witnesses. That none of them serves alone is for the rosters to ensure.
 */
#ifndef FORMAT_TRUTH_H
#define FORMAT_TRUTH_H

#include "userspace/format/layout.h"

struct truth_label {
	struct muuid extent;
	struct muuid holder;	/* zero: none */
	u64	version;	/* 0: never recorded */
	u64	commit;
	bool	ready;
};

/* All that was seen of one volume. */
struct truth {
	/* of each extent that was found; what is missing here was not seen */
	const struct truth_label *label;
	u32	labels;
	const struct layout *const *record;	/* each different record that an extent has */
	u32	records;
};

enum truth_verdict {
	TRUTH_NONE,	/* no record counts */
	TRUTH_WHOLE,	/* @layout counts; members of version 0 are to be written first */
	TRUTH_AWAY,	/* @layout may count, but @member was not seen, or is not ready */
	TRUTH_BLIND,	/* @layout would count, but @member names a record that was not found */
};

/* Which record counts. */
struct truth_pick {
	enum truth_verdict verdict;
	const struct layout *layout;	/* that one, or the one that waits for @member */
	const struct layout *top;	/* a later record that is not decided, or NULL */
	u32	member;
};

const struct truth_label *truth_find(const struct truth *t, const struct muuid *extent);

struct truth_pick truth_pick(const struct truth *t);

enum truth_next {
	TRUTH_SAME,	/* all labels say what @layout says */
	TRUTH_LATE,	/* all but those of members that were away: write it to them */
	TRUTH_COMPLETE,	/* write @top to those that do not have it */
	TRUTH_DISCARD,	/* write @layout's content under truth_version() */
};

/* For the host that holds @p->layout for writing: how the volume gets to one record again. */
enum truth_next truth_next(const struct truth *t, const struct truth_pick *p);

/* The first version that no label and no record has reached. */
u64 truth_version(const struct truth *t);

/*
 * Whether the label of @extent is a witness against @l. Where @l is discarded, this label is the
 * last to be written: without one @l would be decided, before what discards it is.
 */
bool truth_objects(const struct truth *t, const struct layout *l, const struct muuid *extent);

/* Index of a member that another host than @self holds, or -1. */
int truth_held(const struct truth *t, const struct layout *l, const struct muuid *self);

enum truth_pending {
	PENDING_WAIT,		/* not all of the old members were seen */
	PENDING_COMPLETE,	/* our commit is in a label: go on with it */
	PENDING_DROP,		/* it is in none, and all were seen */
};

/**
 * truth_pending() - after a crash or a silent host: what to do with our own change
 * @old: the layout before it
 * @next: the layout that it would make
 */
enum truth_pending truth_pending(const struct truth *t, const struct layout *old,
				 const struct layout *next);

enum truth_undo {
	UNDO_NEVER,	/* no member is lost, none that decides is seen, or another writer went on */
	UNDO_HELD,	/* another host than @self holds an old member */
	UNDO_USED,	/* no host holds it, but one may have used what it makes */
	UNDO_FREE,	/* no host has used it */
};

/*
 * Whether our own change may be undone although it is in labels: one of its members cannot
 * be seen, and every old member is at @old, at @next or at what an undo before wrote. No
 * host has used it while one is at @old, which keeps @next undecided, or while all of them
 * are held by @self since @next was written: another host that took them and gave them back
 * left no holder. Of old members that @next has as late, or replaces, nothing follows: what
 * groups do without for good must not keep the others from being used.
 */
enum truth_undo truth_undo(const struct truth *t, const struct layout *old, const struct layout *next,
			   const struct muuid *self);

/* Whether the label of @extent says @old's content beyond @next, which an undo writes. */
bool truth_undone(const struct truth *t, const struct muuid *extent, const struct layout *old,
		  const struct layout *next);

/*
 * Whether a record that counts somewhere has @extent as a member, and its own label
 * does not say so yet. One that says so cannot be freed as never used. What an undo left of a
 * record on other new members does not count: a later layout is whole without @extent.
 */
bool truth_half_made(const struct truth *t, const struct muuid *extent);

/* Whether @member of @l is one of those that were away, is back, and lacks the record. */
bool truth_lags(const struct truth *t, const struct layout *l, u32 member);

/* The one member that has another extent in @next; -1: none, or more has changed. */
int truth_swapped(const struct layout *old, const struct layout *next);

/* Whether @next has all members and segments of @old, at the same places. */
bool truth_grows(const struct layout *old, const struct layout *next);

#endif
