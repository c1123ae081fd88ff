/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Rules taken out one at a time, which the search of tests/sim/cluster must notice. Only a build
 * with PLAN_MUTANTS has mutants; elsewhere the conditions are constants.
 */
#ifndef PLAN_MUTANT_H
#define PLAN_MUTANT_H

enum plan_mutant {
	PLAN_MUT_NONE,
	/* access.c */
	PLAN_MUT_ATTACH_BLIND,		/* the attach txn compares no access */
	PLAN_MUT_ATTACH_LAYOUT,		/* ... nor the layout that was read before it */
	PLAN_MUT_ATTACH_DELETED,	/* a volume that is being deleted is attached */
	PLAN_MUT_ATTACH_OWN,		/* no new number for the host that held it last */
	PLAN_MUT_ATTACH_OPEN,		/* openings at targets do not count */
	PLAN_MUT_READER_BLIND,		/* a reader's txn compares no access */
	PLAN_MUT_READER_UNCLEAN,	/* ... and attaches without a release before */
	PLAN_MUT_RELEASE_ANY,		/* a release compares nothing */
	PLAN_MUT_RELEASE_HOLDER,	/* ... the holder, but not the number */
	PLAN_MUT_RELEASE_ROSTERS,	/* ... and leaves the rosters as they were noted */
	PLAN_MUT_HELD_ANY,		/* an attach that was held writes none over another's */
	PLAN_MUT_RETAKE_BLIND,		/* the retake's txn compares no access */
	PLAN_MUT_RETAKE_SAME,		/* a retake keeps the number */
	PLAN_MUT_RETAKE_OPEN,		/* ... and its OPENs do not name the number served so far */
	PLAN_MUT_RETAKE_AGAIN,		/* ... or a second one names the number of the first */
	PLAN_MUT_RETAKE_FREE,		/* ... and only where access names no holder */
	PLAN_MUT_NOTE_ANY,		/* a roster of a host that is not the holder is noted */
	PLAN_MUT_NOTE_LOWER,		/* ... or one that is older than the roster noted */
	/* members.c */
	PLAN_MUT_MEMBERS_LAYOUT,	/* an attach opens what the layout names, and nothing else */
	/* again.c */
	PLAN_MUT_AGAIN_FOREIGN,		/* a host attaches by its record over another attacher */
	PLAN_MUT_AGAIN_OLDER,		/* ... by labels of another number of its own */
	PLAN_MUT_AGAIN_RESTART,		/* ... with the record's restart + 1, whatever labels say */
	PLAN_MUT_AGAIN_UNBARRED,	/* ... and forgets the barred places */
	/* extent.c */
	PLAN_MUT_EXTENT_OVER,		/* written over another extent of the label */
	PLAN_MUT_EXTENT_UNZEROED,	/* ready before it is zeroed */
	PLAN_MUT_EXTENT_TXN,		/* the agent's txn compares no drive/D */
	PLAN_MUT_EXTENT_BEHIND,		/* removed by a view that may be old */
	PLAN_MUT_EXTENT_ANY,		/* removed whichever extent is there */
	PLAN_MUT_EXTENT_KEY,		/* key deleted before the label is written */
	PLAN_MUT_EXTENT_ABSENT,		/* ... or for a drive that is away */
	PLAN_MUT_EXTENT_UNKNOWN,	/* an extent that the store does not know is left alone */
	PLAN_MUT_EXTENT_VERSION,	/* the label's version without the record */
	PLAN_MUT_EXTENT_FORGOTTEN,	/* extents of a drive that was forgotten come back */
	PLAN_MUT_TAKE_BEHIND,		/* a drive that came is acted for by an older view */
	/* setback.c */
	PLAN_MUT_BACK_UNSEEN,		/* a store that was put back is followed */
	PLAN_MUT_BACK_LABEL,		/* ... and a label above the store says nothing */
	/* change.c */
	PLAN_MUT_CHANGE_VERSION,	/* a change compares no version */
	PLAN_MUT_CHANGE_ACCESS,		/* ... no access */
	PLAN_MUT_CHANGE_EXTENT,		/* ... no extents */
	PLAN_MUT_CHANGE_UNREADY,	/* ... and names extents that are not ready */
	PLAN_MUT_CHANGE_UNBARRED,	/* ... and the place is not barred first */
	PLAN_MUT_CHANGE_REPORT,		/* ... or was, for a kernel with another version */
	PLAN_MUT_EVICT_TWO,		/* two members of a group leave at once */
	PLAN_MUT_LEFT_EARLY,		/* a member is leaving no more before its place is swapped */
	PLAN_MUT_RECORD_VERSION,	/* a record of that version is the layout's, whatever its commit */
	PLAN_MUT_OPEN_BEHIND,		/* a member is opened whose record is older than the layout */
	PLAN_MUT_SET_EARLY,		/* the kernel gets a version that is on too few members */
	PLAN_MUT_FREE_EARLY,		/* freed before the holder's kernel has the version */
	PLAN_MUT_FREE_ROSTER,		/* ... while a roster names it */
	PLAN_MUT_FREE_OUT,		/* ... as a member that is out */
	PLAN_MUT_FREE_UNCLEAN,		/* ... while a kernel may serve that access does not name */
	PLAN_MUT_FREE_BEGUN,		/* ... or by a roster that was begun, not committed */
	PLAN_MUT_FREE_TXN,		/* ... and the txn compares nothing */
	PLAN_MUT_DELETE_HELD,		/* deleted while it is attached */
	/* recover.c */
	PLAN_MUT_RECOVER_GENERATION,	/* one above the store's, not above what hosts and labels have */
	PLAN_MUT_RECOVER_VERSION,	/* an older record than a label's version is taken */
	PLAN_MUT_RECOVER_PART,		/* ... and one that names members that were not found */
	PLAN_MUT_RECOVER_NUMBER,	/* the number is not raised */
	PLAN_MUT_RECOVER_HOLDER,	/* the label's attacher stays holder */
	PLAN_MUT_RECOVER_ROSTERS,	/* rosters are recovered from members */
	PLAN_MUT_RECOVER_KEYS,		/* extents of drives that were not found stay as the store has them */
	/* forget.c */
	PLAN_MUT_FORGET_HELD,		/* forgotten while it is attached */
	PLAN_MUT_FORGET_ANY,		/* one forgotten member lets any be missing */
	PLAN_MUT_FORGET_FOUND,		/* ... the store's roster does not count */
	PLAN_MUT_FORGET_AWAY,		/* ... members that are not in sync may be away */
	PLAN_MUT_FORGET_RECORD,		/* ... and records of hosts keep what is forgotten */
	PLAN_MUTANTS_NR,
};

#ifdef PLAN_MUTANTS
/* The second one: a rule that makes up for the first, and is taken out as well. */
extern enum plan_mutant plan_mutation, plan_mutation_too;
#define plan_mutant(m) (plan_mutation == (m) || plan_mutation_too == (m))
#else
#define plan_mutant(m) 0
#endif

#endif
