/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The agent of attachments of one host: keeps its kernel's volumes as want/H/V says.
 *
 *    want/H/V  volume/V  access/V  reader/V/H  roster/V  drive/D      the kernel (attach_ops)
 *                   \            the copy           /                    /
 *                    attach_step(): plan_attach_rw(), plan_retake(), plan_change_set(), ..
 *                   /                               \                    \
 *      a transaction: access, reader, roster,    the host's record:    VOLUME_SET, VOLUME_DEL,
 *      want, status                              attached/V            probes, notes of rosters
 *
 *    absent --probe--> probed --attach txn, record--> set --all open--> serving
 *      ^                                               |                  |   \ new version: records
 *      |                                     HELD: plan_held()            |    `- durable, then set
 *      '--- release txn <- rosters <- VOLUME_DEL <- want is gone ---------'
 *
 * With the store away a host that starts goes on by its record: plan_again(). There is no state
 * beside the copy, the records and the kernel, so a daemon that starts again goes on at any point;
 * what an agent remembers in memory saves work, or is a deadline.
 */
#ifndef AGENT_ATTACH_H
#define AGENT_ATTACH_H

#include "userspace/agent/deal.h"
#include "userspace/plan/access.h"
#include "userspace/plan/again.h"
#include "userspace/plan/evict.h"
#include "userspace/plan/wait.h"

enum attach_kernel_state {
	ATTACH_ABSENT,		/* the kernel does not have the volume */
	ATTACH_OPENING,		/* not all members that it needs to begin are open */
	ATTACH_SERVING,		/* the disk is there; a group may wait for members */
	ATTACH_FENCED,		/* for good: another attachment has followed */
	ATTACH_ENDING,		/* it is being removed */
};

/* What the kernel has of one volume. */
struct attach_kernel {
	u8	state;			/* enum attach_kernel_state */
	bool	readonly;
	u64	number;			/* in use, with restart */
	u64	served;			/* of a retake that has not opened all members yet; 0: none */
	u64	version;		/* of its layout */
	u64	fenced_by;		/* of ATTACH_FENCED: the number that was seen ... */
	struct muuid fencer;		/* ... and its host */
	bool	held;			/* opening: a target answered that the extent is open elsewhere */
	struct muuid holder;		/* ... by this host */
	u32	barred;			/* places at which nothing joins */
	u16	bar[PROT_MEMBERS_MAX];
	u32	openers;		/* of the disk */
	char	disk[32];		/* "mesh0"; empty: none yet */
	char	reason[128];		/* human-readable: what it waits for; empty: nothing */
	struct plan_work work;		/* of its groups */
};

/* What a probe found of one member. */
struct attach_found {
	int	err;			/* 0; negative: not reached, nothing else is set */
	bool	unknown;		/* its target started a moment ago */
	u64	number;			/* 0: none was ever noted */
	struct muuid attacher;
	u32	writers, readers;	/* openings, of any host */
};

/* All that the kernel gets. */
struct attach_set {
	struct muuid volume;
	const struct layout *layout;
	u32	leavings;
	const struct obj_leaving *leaving;
	u32	lefts;
	const struct layout_member *left;	/* where extents of @leaving were when that was recorded */
	u32	forgottens;
	const u16 *forgotten;		/* places whose extents were forgotten */
	bool	again;			/* by the record, while the store is away: there is no witness */
	const struct obj_io *io;
	bool	fresh, readonly, preempt;
	u64	number;
	u64	served;			/* retake: OPENs name it as served so far; 0: no retake */
	u32	barred;
	const u16 *bar;
	const bool *open;		/* by places: the member may be opened now; NULL: all may */
};

/* What the kernel does at one place. */
struct attach_copy {
	struct plan_copy plan;
	char	why[128];		/* why the last copy there ended; empty: none did, or it went well */
};

/* VOLUME_EVICT. */
struct attach_evict {
	struct muuid volume;
	u32	place;
	const struct layout_member *to;	/* the member at @place is copied to it; NULL: that ends */
	u64	number;
};

/* A roster that the kernel wants noted before, or after, it counts; or what is noted is requested. */
struct attach_note {
	struct muuid volume;
	u32	place;			/* of the group's first member */
	bool	any;			/* there is @roster */
	u8	roster[MESHBLK_ROSTER_BYTES];
};

/**
 * struct attach_ops - what an agent does to its machine
 *
 * None waits: each returns 0; -EINPROGRESS: it goes on, and the next turn calls it again with the
 * same arguments; or another negative errno, with a sentence in @words.
 *
 * @kernel: what the kernel has of a volume, as it is now; ATTACH_ABSENT is no error
 * @kernels: UUIDs of all volumes that the kernel has, at most @max; returns their number
 * @probe: of each member of a layout, by places (as in struct plan_layout)
 * @set: VOLUME_SET; where the members are is in the copy (drive/D, host/H)
 * @local: of a local drive: another value each time that it comes, by whatever path, that it hangs or
 *	answers again, and from time to time while it is there and does not do; 0: it never was here. The kernel gets its path by @set. NULL: no drive is local
 * @del: VOLUME_DEL; @last: rosters that the kernel committed last are noted there
 * @copy: what the kernel has at a place of its layout; all zero: nothing
 * @evict: VOLUME_EVICT; 0: it is begun, or is ended
 * @record_get: the host's record; -ENOENT: none
 * @records: UUIDs of all volumes that have one
 * @record_put, @record_erase: durable when they return
 * @slots: labels of the record's members that can be read without the store, for plan_again()
 * @request: scrub a volume, end that, or let a member join again; @l is the layout that the kernel has
 * @note: the next request of the kernel for the store as witness, each returned once, since the
 *	kernel repeats what is not answered; -ENOENT: none waits
 * @noted: answers it: durable in the store; @n->any: this roster is noted. It may be a higher one
 *	than the request's, never a lower one
 */
struct attach_ops {
	int	(*kernel)(void *m, const struct muuid *volume, struct attach_kernel *out);
	int	(*kernels)(void *m, struct muuid *out, u32 max);
	int	(*probe)(void *m, const struct layout *l, struct attach_found *out);
	int	(*set)(void *m, const struct attach_set *s);
	int	(*del)(void *m, const struct muuid *volume, bool force, struct obj_roster *last);
	int	(*copy)(void *m, const struct muuid *volume, u32 place, struct attach_copy *out);
	int	(*evict)(void *m, const struct attach_evict *e);
	int	(*record_get)(void *m, const struct muuid *volume, struct obj_attached *out);
	int	(*records)(void *m, struct muuid *out, u32 max);
	int	(*record_put)(void *m, const struct obj_attached *r);
	int	(*record_erase)(void *m, const struct muuid *volume);
	/* By places: @reached[i]: the label was read, @slot[i] is the member's extent in it. */
	int	(*slots)(void *m, const struct obj_attached *r, struct plan_slot *slot, bool *reached);
	int	(*request)(void *m, const struct muuid *volume, const struct layout *l, const struct obj_request *r);
	int	(*note)(void *m, struct attach_note *n);
	int	(*noted)(void *m, const struct attach_note *n);
	/* Rosters that the kernel has committed, into @r: of MESHBLK_EV_ROSTER and VOLUME_GET. */
	int	(*rosters)(void *m, const struct muuid *volume, struct obj_roster *r);
	const char *(*words)(void *m);
	u64	(*local)(void *m, const struct muuid *drive);
};

struct attach_agent;

/*
 * @copy: follows want/H/, writer/, volume/, access/, reader/, roster/, drive/, host/, alive/, cluster.
 * status/H/V and event/H/S are written without being followed.
 */
struct attach_agent *attach_open(struct copy *copy, const struct muuid *host,
				 const struct attach_ops *ops, void *machine);
void attach_close(struct attach_agent *a);

/**
 * attach_above() - true once if a member's target has a higher number than the store
 * @why: becomes a sentence, for host_label_above()
 *
 * Read in that order, the store after the target.
 */
bool attach_above(struct attach_agent *a, char *why, size_t size);

/* Of the host agent: the store was put back (nothing is decided); the host's lease for reader keys. */
void attach_may(struct attach_agent *a, bool stopped, u64 lease);

/**
 * attach_turn() - one step for each volume that needs one
 * @store_away: nothing is decided; records alone count
 *
 * To be called each second as well: no object reports that a target has closed an extent.
 * Return: number of steps made; 0: all is as it should be, or waits; negative: the store's error.
 */
int attach_turn(struct attach_agent *a, bool store_away, u64 now_ms);

/* "work" in the details of status/H/V; NULL: the volume has no groups. */
json_t *attach_work_json(const struct plan_work *w);
/* Back again; without groups where @j is NULL, or is not such an object. */
void attach_work_read(const json_t *j, struct plan_work *w);
/* "whole", "rebuilding", "degraded", "down"; NULL: PLAN_UNSEEN. */
const char *attach_health(u8 health);

#endif
