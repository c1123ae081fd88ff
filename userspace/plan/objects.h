/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The store's objects and a host's own facts, decoded: all that a decision is made from.
 *
 *   store     cluster   host/H   drive/D with its extents   volume/V   access/V   roster/V
 *   a label   slot (one extent)                         a host   seen, attached (its record)
 *
 * Plain data. format/objects.c turns store values into these and back, and keeps members that it
 * does not know. Arrays belong to the decoder's caller. A decision changes no input.
 */
#ifndef PLAN_OBJECTS_H
#define PLAN_OBJECTS_H

#include <linux/types.h>

#include "driver/uapi/number.h"
#include "userspace/format/uuid.h"

/* cluster */
struct plan_cluster {
	struct muuid uuid;
	u32	generation;	/* raised by recover alone */
	u32	format;		/* the highest that may be written */
};

/* host/H */
enum plan_role { PLAN_CLIENT = 1, PLAN_STORAGE, PLAN_STORE };

struct plan_host {
	struct muuid uuid;
	u8	role;		/* enum plan_role */
	bool	maintenance;
	bool	removed;	/* tombstone */
};

/* An extent of drive/D. */
enum plan_extent_state {
	PLAN_WANTED = 1,	/* the agent is to label and zero it */
	PLAN_READY,		/* it is, and may be named by a layout */
	PLAN_FREEING,		/* the agent is to take it out of table and label */
};

struct plan_extent {
	struct muuid uuid;
	struct muuid volume;
	u16	place;		/* of the layout that it is meant for */
	u8	state;		/* enum plan_extent_state */
	u64	start, length;	/* bytes of the drive */
	u64	version, commit;	/* of the record that is durable there; 0: none */
};

/* drive/D */
enum plan_drive_wanted { PLAN_IN = 1, PLAN_DRAINING, PLAN_OUT, PLAN_FORGOTTEN };

struct plan_drive {
	struct muuid uuid;
	struct muuid host;	/* whose agent acts for it */
	u8	wanted;		/* enum plan_drive_wanted */
	u32	extents;
	const struct plan_extent *extent;
};

/* volume/V: a layout as decisions see it, by places: a place is the index of a member. */
struct plan_place {
	struct muuid extent;	/* null: the place is not taken */
	struct muuid drive;
	struct muuid leaving;	/* extent that an eviction still reads; null: none */
	u16	group;		/* of the level; members of no group share PLAN_NO_GROUP */
};

#define PLAN_NO_GROUP	0xffff

struct plan_group {
	u16	members;
	u16	data;		/* k */
};

enum plan_volume_state {
	PLAN_CREATING = 1,
	PLAN_VOLUME_READY,
	PLAN_DELETING,
};

struct plan_layout {
	u64	version, commit;
	u32	places;
	u32	groups;		/* 0: no redundancy */
	const struct plan_place *place;
	const struct plan_group *group;
};

#define PLAN_ALLOW_MAX	64

struct plan_volume {
	struct muuid uuid;
	u8	state;		/* enum plan_volume_state */
	bool	fresh;		/* no first rosters are committed yet */
	u32	allows;		/* 0: every host may attach */
	const struct muuid *allow;
	/* Places at which nothing is to join, for a task: the holder's kernel confirms in roster/V. */
	u32	barred;
	const u16 *bar;
	struct plan_layout layout;
};

/* access/V */
enum plan_mode { PLAN_NONE = 0, PLAN_RW, PLAN_RO };

struct plan_access {
	u8	mode;		/* enum plan_mode */
	bool	clean;		/* the last holder ended it, and noted its rosters */
	struct muuid holder;	/* of PLAN_RW */
	u64	number;		/* generation and counter; never falls, also while mode is none */
};

/* reader/V/H */
struct plan_reader {
	struct muuid host;
	u64	number;		/* of access/V when it attached: its OPENs have this */
};

/* roster/V, and the last one of a group in a label. */
#define PLAN_GROUP_MAX	36	/* PROT_WIDTH_MAX: ec:32+4 */

struct plan_roster {
	u64	attach;		/* number of the attachment that wrote it; 0: no roster */
	u64	epoch;
	bool	witness;	/* removals are noted in the store before they count */
	u8	members;
	u64	in_sync;	/* bit per member */
	struct muuid extent[PLAN_GROUP_MAX];
};

struct plan_rosters {
	u64	number;		/* attachment whose kernel reported all of this */
	u64	version;	/* of the layout that this kernel has */
	bool	committed;	/* each roster here is; else one was noted when it was begun */
	u32	groups;
	const struct plan_roster *roster;
	/* Places at which that kernel lets nothing join, since a change is being decided: change.h. */
	u32	barred;
	const u16 *bar;
};

/* One extent as a drive's label has it. */
struct plan_slot {
	struct muuid extent, volume;
	struct muuid attacher;	/* host that opened it for writing last */
	u64	number;		/* under which; with restart */
	u64	version, commit;
	u64	record_version, record_commit;	/* of the layout record in the extent */
	bool	zeroed;
};

/* task/T: what the controller keeps of one, see task.h. */
enum plan_task_kind {
	PLAN_TASK_CREATE = 1,
	PLAN_TASK_EXTEND,
	PLAN_TASK_REPLACE,
	PLAN_TASK_SET,		/* name, spares, allow */
	PLAN_TASK_DELETE,
	PLAN_TASK_EVICT,	/* as replace, of a member that is in sync: copied before it leaves */
	PLAN_TASK_DRAIN,	/* of a drive, not a volume: drain.h */
	PLAN_TASK_FORGET,	/* likewise: forget.h */
	PLAN_TASK_REMOVE,	/* of a host: remove.h */
};

enum plan_task_state {
	PLAN_TASK_NEW = 1,
	PLAN_TASK_PLACED,	/* its puts are chosen */
	PLAN_TASK_DECIDED,	/* its version, or that the volume goes, is in volume/V */
	PLAN_TASK_ENDED,
};

/* An extent that the task allocates, and the place of the layout that it is for. */
struct plan_task_put {
	u32	place;
	struct muuid drive, extent;
	u64	start, length;
};

struct plan_task {
	struct muuid uuid, volume;
	u8	kind;		/* enum plan_task_kind */
	u8	state;		/* enum plan_task_state */
	bool	cancel;		/* requested; a version that is decided is rolled forward nevertheless */
	bool	preempt;	/* of delete: also while it is attached */
	u64	version;	/* of the layout that it decided */
	u32	puts;
	const struct plan_task_put *put;
};

/* What a host keeps of the store it follows, before it acts on what it read there. */
struct plan_seen {
	struct muuid cluster;
	u32	generation;
	char	id[96];		/* store_identity */
	u64	term;
	u64	revision;
};

/* What a host attached: durable before its kernel knows, erased before its release txn. */
struct plan_attached {
	struct muuid volume;
	u8	mode;		/* PLAN_RW or PLAN_RO; PLAN_NONE: no record */
	u64	number;		/* of the attach txn, with the highest restart that was used */
	struct plan_layout layout;
	u32	barred;		/* places, as in roster/V */
	const u16 *bar;
	u32	forgottens;	/* places whose extents were forgotten: forget.h */
	const u16 *forgotten;
};

/* What each transaction of a decision compares and writes, by object. */
enum plan_object {
	PLAN_OBJ_VOLUME		= 1 << 0,
	PLAN_OBJ_ACCESS		= 1 << 1,
	PLAN_OBJ_READERS	= 1 << 2,	/* compare: none; write: this host's own */
	PLAN_OBJ_ROSTER		= 1 << 3,
	PLAN_OBJ_DRIVES		= 1 << 4,	/* each that the decision names */
	PLAN_OBJ_CLUSTER	= 1 << 5,
	PLAN_OBJ_LEADER		= 1 << 6,	/* the controller's key: this controller is still it */
};

/* Why a decision goes ahead or does not; plan_words() has a sentence for each. */
enum plan_verdict {
	PLAN_GO = 0,
	PLAN_WAIT,		/* not yet: decide again when what was read has changed */
	PLAN_DONE,		/* there is nothing left to do */
	PLAN_STOPPED,		/* the store was put back, or a label is above it: recover */
	PLAN_NOT_READY,		/* the volume is being created or deleted */
	PLAN_NOT_ALLOWED,	/* its allow does not name the host */
	PLAN_HELD,		/* by a holder whose lease lives */
	PLAN_OPEN,		/* an extent is open for the holder at a target */
	PLAN_READ,		/* by readers */
	PLAN_UNCLEAN,		/* no holder has ended it since a kernel may serve unnamed */
	PLAN_UNKNOWN,		/* a target started a moment ago and does not know its openings */
	PLAN_NOT_HOLDER,	/* another host has taken it since */
	PLAN_ABOVE,		/* a label has a higher number: fenced for good */
	PLAN_CHANGED,		/* the layout is another version by now */
	PLAN_MISSING,		/* too little was found to decide */
	PLAN_EXHAUSTED,		/* the number has no next one */
	PLAN_ALONE,		/* the member has no redundancy */
	PLAN_VERDICTS,
};

/* A sentence without its subject: "is held by another host that is alive". */
const char *plan_words(enum plan_verdict v);

#endif
