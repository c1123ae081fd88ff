/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A new version of a volume's layout, always rolled forward:
 *
 *     extents wanted -> ready          agents, extent.h
 *     the holder's kernel bars the places that change, and says so in roster/V
 *     plan_change()                    one transaction: version n + 1 is decided
 *     records and labels follow        agents, extent.h
 *     plan_change_set()                the holder's kernel gets it
 *     plan_freeable()                  what no layout and no roster names is freed
 *
 * A member that is in sync leaves by an eviction, which needs no bar:
 *
 *     extents wanted -> ready
 *     plan_change(), evict             version n + 1 names the copy, and the member as leaving
 *     the holder's kernel copies, then gets the version and swaps: one roster has the copy
 *     plan_left()                      the member is leaving no more
 *     plan_freeable()
 *
 * A barred place: nothing joins there until the kernel has the next version. Otherwise the member
 * that is being replaced could catch up, be called in sync and then be dropped by the change.
 */
#ifndef PLAN_CHANGE_H
#define PLAN_CHANGE_H

#include "userspace/plan/access.h"

/* One place that gets another extent. */
struct plan_put {
	u32	place;		/* of the layout, or the next one after its last */
	const struct plan_extent *extent;	/* in drive/D, as it was read; NULL: no such extent */
};

struct plan_change {
	const struct plan_volume *volume;
	const struct plan_access *access;
	const struct plan_rosters *rosters;	/* roster/V; NULL: there is none */
	bool	stopped;
	u32	puts;		/* 0: only name, spares, allow */
	const struct plan_put *put;
	bool	evict;		/* members in sync leave, once the puts have a copy of them */
};

/* True if @l names the extent at any place, also as one that leaves. */
bool plan_layout_names(const struct plan_layout *l, const struct muuid *extent);

/* True if @place is one of @bar. */
bool plan_place_in(const u16 *bar, u32 barred, u32 place);

/**
 * plan_change() - decide a version
 *
 * A place that has an extent is changed only while the volume is attached, and after the holder's
 * kernel barred it with that member out of sync. An eviction wants the member in sync, and that the
 * kernel has the layout; of one group a single member leaves at a time. Return: PLAN_GO: the volume's
 * version rises by one; PLAN_WAIT: extents are not ready, or the place is not barred yet, or not in
 * sync; PLAN_NOT_HOLDER: it is not attached; PLAN_ALONE: an eviction where nothing is redundant.
 */
enum plan_verdict plan_change(const struct plan_change *c, struct plan_txn *t);

/**
 * plan_change_recorded() - true if a record is that of @l, or a newer one
 * @version, @commit: of the record, as drive/D or the label has it
 *
 * One of the same version and another commit is of a layout that recover gave up.
 */
bool plan_change_recorded(const struct plan_layout *l, u64 version, u64 commit);

/**
 * plan_change_opens() - true if an attach with layout @l may open a member
 * @version, @commit: of the record that is durable in the member
 *
 * A member whose record is older is opened after its agent has rolled it forward. Otherwise the
 * kernel could acknowledge writes under a version that no record has, and recover would not find it.
 */
bool plan_change_opens(const struct plan_layout *l, u64 version, u64 commit);

/**
 * plan_change_set() - whether a kernel may get layout @l
 * @has: the layout that the kernel has; NULL: none
 * @recorded: for each place of @l, that plan_change_recorded() is true of what drive/D has
 *
 * On every new extent, and on that many members of each group that any k of them include one; of a
 * volume without redundancy on all. So recover finds the version that the kernel worked under.
 */
bool plan_change_set(const struct plan_layout *l, const struct plan_layout *has,
		     const bool *recorded);

/**
 * plan_in_sync() - true if the present attachment's committed rosters have @extent in sync
 * False also if nothing is known.
 */
bool plan_in_sync(const struct plan_rosters *rosters, const struct plan_access *access,
		  const struct muuid *extent);

/**
 * plan_left() - whether the member that leaves @place may be dropped from volume/V
 * @rosters: NULL: there are none
 *
 * As plan_freeable(): the swap is committed, and no roster names the member any more. Return: PLAN_GO:
 * the volume is written without it, of the same version; PLAN_DONE: none leaves there.
 */
enum plan_verdict plan_left(const struct plan_volume *volume, u32 place, const struct plan_access *access,
			    const struct plan_rosters *rosters, bool stopped, struct plan_txn *t);

/**
 * plan_freeable() - whether an extent that is not freeing yet may be
 * @rosters: NULL: there are none
 *
 * No layout and no noted roster names it, in sync or not: a member that is out may be added by the
 * next roster. Begun rosters wait, as the committed ones before them may name the extent. The holder's
 * kernel has reported, under its number, that it has the layout without it. Without a holder the last
 * one has ended cleanly: after recover a kernel may serve that access does not name.
 */
enum plan_verdict plan_freeable(const struct plan_extent *x, const struct plan_volume *volume,
				const struct plan_access *access, const struct plan_rosters *rosters,
				bool stopped, struct plan_txn *t);

/**
 * plan_delete() - begin to delete a volume: all of its extents become freeing
 * @preempt: also while it is attached; its holder is fenced as the agents remove the extents
 */
enum plan_verdict plan_delete(const struct plan_volume *volume, const struct plan_access *access,
			      u32 readers, bool preempt, bool stopped, struct plan_access *next,
			      struct plan_txn *t);

#endif
