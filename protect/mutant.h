/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Rules taken out one at a time, for tests to catch. Only a build with PROT_MUTANTS (tests/sim,
 * tests/nbd) has mutants; everywhere else the conditions are constants, dropped by the compiler.
 */
#ifndef PROTECT_MUTANT_H
#define PROTECT_MUTANT_H

enum prot_mutant {
	PROT_MUT_NONE,
	PROT_MUT_BIT_AFTER,	/* intent bit set after the data write */
	PROT_MUT_BIT_ONE,	/* ... on the first copy only */
	PROT_MUT_NO_UNION,	/* union of intent bits not written first */
	PROT_MUT_UNION_ONE,	/* bits of one survivor only */
	PROT_MUT_BALANCED,	/* dirty regions read from any copy */
	PROT_MUT_NO_RESOLVE,	/* ... from one copy, not copied to the others first */
	PROT_MUT_CLEAR_RACE,	/* a set does not wait for the clear in flight */
	PROT_MUT_SYNC_RACE,	/* resync without the row lock */
	PROT_MUT_EPOCH_LATE,	/* acknowledged without the committed epoch */
	PROT_MUT_MISSED_EMPTY,	/* missed regions start empty */
	PROT_MUT_NO_MISS,	/* dirty regions not marked missed when attached */
	PROT_MUT_MISSED_LATE,	/* intent cleared before missed is durable */
	PROT_MUT_SKIP_BELOW,	/* caught-up rows of a joining member skipped */
	PROT_MUT_STALE_BACK,	/* readmitted without catching up */
	PROT_MUT_NO_INTENT_JOIN,	/* readmitted without its intent bits */
	PROT_MUT_DISCARD,	/* discard assumed to read zero */
	PROT_MUT_NO_SUM,	/* bitmaps believed without their checksum */
	PROT_MUT_OLD_MISSED,	/* missed bitmap of another absence believed */
	PROT_MUT_NO_LOCK,	/* overlapping writes not ordered */
	PROT_MUT_CLEAR_BUSY,	/* bits cleared under writes in flight */
	PROT_MUT_CLEAR_DIRTY,	/* bits of regions not resynchronised cleared */
	PROT_MUT_JOIN_FIRST,	/* a joining copy written before the bits are durable */
	PROT_MUT_JOIN_PROMOTED,	/* ... or durable on those that may be called in sync */
	PROT_MUT_MISSED_PROMOTED,	/* intent cleared before missed is durable on these */
	PROT_MUT_NO_REPAIR,	/* what a member could not read stays so */
	PROT_MUT_BACK_ALONE,	/* a failed member that answers again is believed */
	PROT_MUT_ERROR_DONE,	/* a write that is to be sent once more counts as done */
	PROT_MUT_AVOID_NONE,	/* late members are read like the others */
	PROT_MUT_AVOID_OUT,	/* ... and others that still catch up, instead of them */
	PROT_MUT_SCRUB_REWRITES,	/* a scrub that is only to compare repairs, too */
	PROT_MUT_SCRUB_SOURCE,	/* ... and what it is to repair from is ignored */
	PROT_MUT_SCRUB_UNSYNCED,	/* ... and compares regions not resynchronised yet */
	PROT_MUT_REPLACE_EARLY,	/* replaced before the I/O of the one before is back */
	/* of the engine's caller */
	PROT_MUT_HELD_LIVE,	/* a held write is sent again, and the first one may still land */
	PROT_MUT_HELD_TWICE,	/* ... and both ends are delivered */
	PROT_MUT_BYPASS_BLIND,	/* bypass reads: not checked against writes that came between */
	PROT_MUT_BYPASS_OPEN,	/* ... begun beside writes */
	PROT_MUT_BYPASS_DIRTY,	/* ... while copies may differ */
	PROT_MUT_BYPASS_UNREAD,	/* ... and what they could not read stays so */
	PROT_MUT_BYPASS_GONE,	/* ... and a member that failed them is read on */
	PROT_MUT_LOSE_ACK,	/* done when the first copy is */
	/* erasure coding */
	PROT_MUT_EC_NO_JOURNAL,	/* in place without records */
	PROT_MUT_EC_INTENT_ONLY,	/* full stripes without records */
	PROT_MUT_EC_STALE_REPLAYED,	/* records of other attachments replayed */
	PROT_MUT_EC_NO_SUM,	/* records believed without their checksum */
	PROT_MUT_EC_NO_WATERMARK,	/* dead records replayed */
	PROT_MUT_EC_SLOT_FINISHED,	/* ring slot reused when finished */
	PROT_MUT_EC_NO_ERASE,	/* dropped records not erased, nor dead before reads */
	PROT_MUT_EC_NO_BUMP,	/* attach number not bumped */
	PROT_MUT_EC_BUMP_ONE,	/* ... on one member only */
	PROT_MUT_EC_EARLY,	/* in place before the gate */
	PROT_MUT_EC_GATE_NO_EPOCH,	/* gate without a committed epoch */
	PROT_MUT_EC_NO_PARITY,	/* parity left out after a re-plan */
	PROT_MUT_EC_NO_DRAIN,	/* member readmitted without drain and bump */
	PROT_MUT_EC_MISSED_LATE,	/* retired before missed is durable */
	PROT_MUT_EC_LIVE_PAGES,	/* data written from the caller's pages */
	PROT_MUT_EC_RING_JAM,	/* whole ring in flight */
	PROT_MUT_EC_HOLDERS_ONE,	/* header-only records on one member */
	PROT_MUT_EC_UNRECORDED,	/* single-participant writes never recorded */
	PROT_MUT_EC_READ_RACE,	/* rebuilt reads next to writes in place */
	PROT_MUT_EC_REWRITE,	/* superseded strips written again by the older op */
	PROT_MUT_EC_OLD_VALUES,	/* old values read in place, though newer ones are pending */
	PROT_MUT_EC_JOIN_PAST,	/* writes joined past others of their rows */
	PROT_MUT_EC_SMALL_JOIN,	/* ... or more of them than their buffer holds */
	PROT_MUT_EC_HOLDS_ON,	/* ... or held though those before them are answered */
	PROT_MUT_EC_CACHE_OLD,	/* data in memory is not what was written since */
	PROT_MUT_EC_CACHE_ZEROES,	/* ... or zeroed */
	PROT_MUT_EC_FILL_RACE,	/* ... or is read next to writes in place */
	PROT_MUT_EC_READ_WAITS,	/* reads wait for strips that they do not read */
	PROT_MUT_NO_RESERVE,	/* no buffers are kept for reads */
	PROT_MUT_EC_UNREAD_DEAD,	/* a live record that cannot be read counts as none */
	PROT_MUT_EC_READ_EARLY,	/* reads wait for no strip of a write past its gate */
	PROT_MUT_EC_STAGE_OLD,	/* in place from the stage of a write that it superseded */
	PROT_MUT_EC_RUN_PAST,	/* writes go in place with later ones, past others of their rows */
	PROT_MUT_EC_RUN_OVER,	/* ... and are over before these are in place */
	PROT_MUT_EC_RUN_JOIN,	/* ... and others grow into their rows, to be before them */
	PROT_MUT_EC_RUN_REACH,	/* ... and others of their rows do not wait for that */
	PROT_MUT_EC_FRAME_EARLY,	/* a private buffer is free before all of it is in place */
	PROT_MUT_EC_ASIDE_FREE,	/* ... or while a read that was set aside may write into it */
	/* the caller of a group */
	PROT_MUT_BYPASS_DONE,	/* bypass reads: writes count until they are acknowledged */
	PROT_MUT_STAGE_KEPT,	/* what an op has staged outlives it */
	PROT_MUT_STAGE_DROPPED,	/* ... and is used though it was dropped */
	/* the volume's op */
	PROT_MUT_OP_EARLY,	/* done when its first I/O is */
	/* rosters: sim-roster */
	PROT_MUT_R_FIRST,
	PROT_MUT_R_EPOCH = PROT_MUT_R_FIRST,	/* highest epoch, whatever the attach number */
	PROT_MUT_R_NUMBER,	/* attach number not noted by OPEN */
	PROT_MUT_R_COMMIT,	/* committed before it is durable on all */
	PROT_MUT_R_ALONE,	/* removal not noted first, with a witness */
	PROT_MUT_R_KEEP,	/* an uncommitted add is kept by the removal after it */
	PROT_MUT_R_KEEP_FEW,	/* ... keeps fewer members than suffice */
	PROT_MUT_R_NOTE_EARLY,	/* an add is noted before it is committed */
	PROT_MUT_R_ANY_STORE,	/* store trusted though the roster names no witness */
	PROT_MUT_R_FEW,		/* attaches though k were not opened */
	PROT_MUT_R_READ_OLD,	/* reads what the pending roster removes */
	PROT_MUT_R_WRITE_NEW,	/* a write needs only what the pending roster has */
	PROT_MUT_R_UNCLEAN,	/* attached for reading though the writer did not detach */
	PROT_MUT_R_READ_FEW,	/* ... as if it were said that nothing newer exists */
	PROT_MUT_R_HELD,	/* reads while fewer members are here than a read needs */
	PROT_MUT_R_HELD_K,	/* ... while k are, though a witness can go on with k others */
	PROT_MUT_R_START,	/* ... while what was opened counts as here */
	PROT_MUT_R_LABEL,	/* reads what another one has attached since */
	PROT_MUT_R_DEAD,	/* no wait for a holder that is cut off */
	PROT_MUT_R_DEAD_HOST,	/* ... if this host wrote the roster */
	PROT_MUT_R_DEAD_CLEAN,	/* ... if this host served by a clean roster */
	PROT_MUT_R_DEAD_SYNC,	/* ... if those in sync are here */
	PROT_MUT_R_STALE,	/* what is given up is not noted */
	PROT_MUT_R_SWAP_WHOLE,	/* an extent takes a place in sync before it has all data */
	PROT_MUT_R_SWAP_BOTH,	/* ... and gets no writes once it has been copied */
	PROT_MUT_R_SWAP_LAST,	/* ... of the last member that suffices */
	PROT_MUT_R_SWAP_READ,	/* ... and the one before it is read until that is committed */
	PROT_MUT_R_SWAP_WRITE,	/* ... or written */
	PROT_MUT_R_SWAP_KEEP,	/* ... and counts as a member of the committed roster */
	PROT_MUT_R_SWAP_COMMIT,	/* committed before it is durable on the new extent */
	PROT_MUT_R_SWAP_NOTE,	/* ... and the store does not note it first */
	PROT_MUT_R_SWAP_FREE,	/* the extent before is freed before that is committed */
	PROT_MUT_R_END,
	/* rosters of numbered attachments: sim-roster-store */
	PROT_MUT_N_FIRST = PROT_MUT_R_END,
	/* the store counts only if its epoch is not behind, either */
	PROT_MUT_N_STORE_EPOCH = PROT_MUT_N_FIRST,
	PROT_MUT_N_STORE_OLD,	/* ... or whatever attachment its roster is of */
	PROT_MUT_N_AGAIN,	/* ... or for an attach without the store */
	PROT_MUT_N_RESTART,	/* rosters lack the restart */
	PROT_MUT_N_HELD_K,	/* reads with k members, though a witness lets k others go on */
	PROT_MUT_N_HELD_CUR,	/* ... until the roster that says so is committed */
	PROT_MUT_N_HELD_ADD,	/* ... or without the member of a pending add */
	PROT_MUT_N_HELD_NAMED,	/* ... once a removal follows that add */
	PROT_MUT_N_ADD_ORDER,	/* the new member gets the roster that adds it first */
	PROT_MUT_N_READ_FLAG,	/* a reader has k members, if the roster found names no witness */
	PROT_MUT_N_READ_FORGOTTEN,	/* ... or gives up members that were forgotten */
	PROT_MUT_N_BAR,		/* a member is added at a barred place */
	PROT_MUT_N_BAR_EARLY,	/* ... or was begun to be, when the bar is confirmed */
	PROT_MUT_N_DEAD,	/* no dead time when that many extents are opened, whichever */
	PROT_MUT_N_BESIDE,	/* a witness beside a member on the only store host */
	PROT_MUT_N_RELIES,	/* a store that spoke for members does not note what follows */
	PROT_MUT_N_NOTE_NAMED,	/* what an uncommitted add named leaves without a note */
	PROT_MUT_N_FORGET_ANY,	/* one forgotten member lets any be missing */
	PROT_MUT_N_FORGET_AWAY,	/* ... or others that are not in sync be away */
	PROT_MUT_N_FORGET_FOUND,	/* ... the store's roster does not count */
	PROT_MUT_N_END,
	PROT_MUTANTS_END = PROT_MUT_N_END
};

#ifdef PROT_MUTANTS
extern enum prot_mutant prot_mutant;
#define PROT_MUTANT(name) (prot_mutant == PROT_MUT_##name)
#else
#define PROT_MUTANT(name) (PROT_MUT_##name < 0)
#endif

#endif
