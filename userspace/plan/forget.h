/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A drive that will not come back is forgotten by command: the one place where data is given up
 * knowingly. Its extents leave layouts and records; should it return, nothing in it is believed.
 * A group then attaches by what is left, where nothing but forgotten members is missing.
 */
#ifndef PLAN_FORGET_H
#define PLAN_FORGET_H

#include "userspace/plan/access.h"

/**
 * plan_forget() - for one volume that has an extent on the drive
 *
 * PLAN_HELD: it is attached; what its holder acknowledges meanwhile may be on that drive alone.
 */
enum plan_verdict plan_forget(const struct plan_volume *volume, const struct plan_access *access,
			      u32 readers, bool stopped, struct plan_txn *t);

/* A volume with an extent on the drive. */
struct plan_forget_volume {
	const struct plan_volume *volume;
	const struct plan_access *access;
	u32	readers;
	bool	busy;		/* a task of it has not ended */
};

struct plan_forget_drive {
	const struct plan_drive *drive;		/* NULL: there is none */
	bool	cancel, stopped;
	u32	volumes;
	const struct plan_forget_volume *volume;
};

enum plan_forget_what {
	PLAN_F_WAIT,		/* ->verdict, of ->volume; PLAN_WAIT: a task of it has not ended */
	PLAN_F_FAIL,		/* there is no such drive */
	PLAN_F_VOLUME,		/* the drive is forgotten, and the members of ->volume on it are no more */
	PLAN_F_DROP,		/* ... and so are extents of ->volume, which is deleted or unknown */
	PLAN_F_MARK,		/* ... and it has no extents */
	PLAN_F_END,		/* cancelled, if the drive is not forgotten */
};

struct plan_forget_step {
	enum plan_forget_what what;
	enum plan_verdict verdict;
	struct muuid volume;
	struct plan_txn txn;	/* of PLAN_F_VOLUME */
};

/**
 * plan_forget_drive() - the next step of a task that forgets a drive
 *
 * It begins when all volumes may be changed, and goes on then, volume after volume. In the layout a
 * forgotten member becomes one that no drive has: another UUID of an extent, which no label bears.
 */
void plan_forget_drive(const struct plan_forget_drive *f, struct plan_forget_step *s);

/*
 * True if a forget takes @extent out of a host's record, which names it. A host that comes back
 * without the store would serve the forgotten member by that record.
 */
bool plan_forget_drops(const struct plan_attached *r, const struct muuid *extent);

/**
 * plan_forgotten() - true if an extent that a layout names was given up for good
 * @drive: drive/D of its drive; NULL: there is no such key
 *
 * Its drive is forgotten, or the store has the extent no more: a layout names an extent that is in
 * drive/D, also after recover.
 */
bool plan_forgotten(const struct plan_drive *drive, const struct muuid *extent);

/* What an attach knows of one group: bits are members of the roster beside them. */
struct plan_group_found {
	const struct plan_roster *found;	/* the highest one of the opened members */
	u64	found_opened;		/* its members in sync that were */
	u64	found_forgotten;	/* ... whose drives are forgotten */
	const struct plan_roster *noted;	/* of roster/V; NULL: none */
	u64	noted_opened, noted_forgotten;
	bool	away;		/* a member that is not forgotten was not opened, in sync or not */
	u8	data;			/* k */
};

/**
 * plan_given_up() - true if the group may attach by @found although others may have newer data
 *
 * At least k members in sync are opened, and every one that is missing, of the roster found and of
 * the one noted, if that is newer, was forgotten. An older forget must not admit a stale copy. No
 * other member is away: it might have a higher roster than @found, which the attach that was noted
 * last did not see either.
 */
bool plan_given_up(const struct plan_group_found *g);

#endif
