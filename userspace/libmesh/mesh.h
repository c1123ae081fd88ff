/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * libmesh: the two netlink families, "meshblk" and "meshtgt", as functions.
 *
 *   struct mesh   one generic netlink socket; one thread at a time
 *     genl.[ch]   requests, answers, dumps, extended acknowledgments
 *     client.c    family meshblk
 *     access.[ch] the same: access numbers, last rosters, probes
 *     target.c    family meshtgt
 *     serve.c     the socket on which meshd answers the target's kernel
 *   secret.[ch] keys of the kernel's keyrings, which messages name
 *   grow.c        arrays of what is answered, and of meshd's own
 *
 * What is of one family carries its name, as its commands do: meshblk_volume_set() sends
 * MESHBLK_CMD_VOLUME_SET. All functions return 0 or a negative errno; mesh_why() then has
 * the kernel's own words, or the errno's. A family whose module is not loaded gives -ENOENT.
 */
#ifndef LIBMESH_MESH_H
#define LIBMESH_MESH_H

#include <linux/types.h>
#include <stddef.h>

#include "driver/uapi/meshblk.h"
#include "userspace/format/uuid.h"

struct mesh;

struct mesh *mesh_open(void);
void mesh_close(struct mesh *m);
const char *mesh_why(const struct mesh *m);
/* Number of a family, another after its module was loaded again; 0: not there. */
int mesh_family_id(struct mesh *m, bool target);

/* Counters by MESHBLK_S_*; one that is not @kept is zero. */
struct mesh_stats {
	u64	v[MESHBLK_S_MAX + 1];
	u32	kept;		/* a bit for each counter that the object has */
};

const char *mesh_stat_name(unsigned int s);

/* Grow an array by one zeroed entry; NULL: no memory, and it is as it was. */
void *mesh_grow(void **array, size_t *n, size_t size);

/* Family meshblk */

struct meshblk_target {
	u32	id;
	struct muuid host;	/* zero: not seen yet */
	char	addr[64];
	u16	port;
	char	state[16];	/* MESHBLK_STATE_* */
	s32	error;
	char	reason[96];
	u32	session;
	u32	channels;
	u64	arena;
	struct mesh_stats stats;
};

struct meshblk_member {
	u8	kind;
	u32	target_id;
	struct muuid extent;
	struct muuid drive;
	u64	version;
	bool	preempt;
	char	path[128];
	u64	start;		/* of a local device: where it begins */
	u64	size;
	u32	lba;
	char	state[16];	/* in answers */
	s32	error;
	u32	abandoned;	/* in answers: I/O that its group gave up and its device has not ended */
	u64	attach;		/* in answers: highest access number that its extent has noted; 0: none */
	struct muuid holder;	/* in answers, refused with EBUSY: the host that has it open */
	struct mesh_stats stats;
};

/* An extent that rosters may have in sync at a place for which the layout names another one. */
struct meshblk_leaving {
	u32	place;		/* as those of segments */
	struct meshblk_member member;
};

/* A member with such I/O, of a volume that is attached here, or was. */
struct meshblk_abandoned {
	struct muuid volume;
	struct meshblk_member member;
};

struct meshblk_segment {
	u64	start;
	u64	length;
	u8	level;
	u32	strip;
	u8	data;
	u8	parity;
	u16	groups;
	u32	nr_places;
	u32	*members;	/* nr_places indexes ... */
	u64	*offsets;	/* ... and bytes */
	bool	fresh;		/* its members are zeroed and were never attached */
};

#define MESH_GROUP_MAX	36	/* members of one: 32 + 4 of ec */
#define MESH_DIFFS_MAX	64	/* places of a group that are listed */
#define MESH_NO_MEMBER	0xffffffffU

/* A place of MESHBLK_P_DIFFS or MESHBLK_P_UNREAD. */
struct mesh_diff {
	u64	addr;		/* byte of the member's data area */
	u32	length;
	u32	member;		/* index into the volume's, or MESH_NO_MEMBER */
};

/* A protection group, in answers. */
struct meshblk_group {
	u32	segment;
	u32	column;		/* which group of the segment */
	char	state[16];
	char	reason[128];	/* why it does not serve, or no reads */
	int	error;		/* MESHBLK_P_ERROR */
	u64	attach;
	u64	version;	/* of its roster */
	u64	synced;		/* bytes given to members since the attach */
	u64	barred;		/* bits of @members: out too often, until they are let in */
	u64	waits;		/* bits of @members: another one has its place yet */
	bool	witness;	/* meshd notes a member's removal before it counts */
	bool	scrubbing;
	u64	scrubbed;	/* bytes of each member compared in this scrub */
	u64	bytes;		/* of data of each member */
	struct muuid successor;	/* the extent that a member is copied to, which leaves; zero: none */
	u32	evicts;		/* that member */
	u64	copied, copy_bytes;
	char	evict_reason[128];	/* why the last eviction ended */
	u64	mismatches;	/* sectors found unequal ... */
	u64	repaired;	/* ... and written again */
	u64	skipped;	/* bytes that could not be compared */
	u32	nr_diffs;
	struct mesh_diff diffs[MESH_DIFFS_MAX];
	u32	nr_unread;	/* what no member can give to the one that lacks it */
	struct mesh_diff unread[MESH_DIFFS_MAX];
	u32	place;		/* MESHBLK_A_PLACE, of a numbered volume */
	bool	any;		/* there is @roster, which the kernel has committed last */
	u8	roster[MESHBLK_ROSTER_BYTES];
	u32	nr;
	u32	members[MESH_GROUP_MAX];	/* indexes into the volume's */
	u8	roles[MESH_GROUP_MAX];		/* MESHBLK_ROLE_* */
	u64	behind[MESH_GROUP_MAX];		/* bytes */
};

struct meshblk_volume {
	struct muuid uuid;
	char	name[MESHBLK_NAME_MAX + 1];
	u64	version;
	u64	size;		/* in answers: the segments say it */
	u32	lba;
	u64	salt;		/* of a volume with groups; 0: it has none */
	u64	attach;		/* its number at least, likewise; numbered: the access number, always */
	bool	stale;		/* attach, though newer data may exist elsewhere */
	bool	numbered;	/* access numbers say who may use it: driver/uapi/number.h */
	u64	served;		/* of a retake: the number served so far; 0: no retake */
	bool	again;		/* by this host's record, while the store is away: no witness */
	bool	beside_store;	/* a member is on the only store host, which is not this host */
	u32	nr_bars;	/* places, as those of segments, where no member may join */
	u32	*bars;
	u32	nr_forgotten;	/* ... whose extents were forgotten for good */
	u32	*forgotten;
	u32	nr_leavings;
	struct meshblk_leaving *leavings;
	u64	fenced;		/* in answers: the number that ended its use, 0: none did ... */
	struct muuid fencer;	/* ... and the host of that number */
	bool	readonly;
	u32	io_timeout_ms;	/* 0: the kernel's default */
	u32	queue_depth;
	char	disk[32];	/* in answers */
	char	state[16];
	u32	openers;
	s32	error;
	char	reason[128];
	u32	nr_members;
	u32	nr_segments;
	u32	nr_groups;	/* in answers */
	struct meshblk_member *members;
	struct meshblk_segment *segments;
	struct meshblk_group *groups;
};

enum mesh_key_kind {
	MESH_KEY_SHARED,	/* of all hosts */
	MESH_KEY_MASTER,
	MESH_KEY_OWN,		/* this host's, derived from the master with the same id */
};

struct mesh_key {
	u16	id;
	const void *key;
	size_t	len;
	enum mesh_key_kind kind;
	u8	role;		/* MESHBLK_HOST_*, of this host; 0 with MESH_KEY_SHARED */
};

/*
 * @keys: the newest first, then the one before it, if any; none: no authentication. The role is the
 * newest one's that has one.
 */
int meshblk_identity_set(struct mesh *m, const struct muuid *host, const struct mesh_key *keys,
			 size_t nr_keys);
int meshblk_target_set(struct mesh *m, u32 id, const char *addr, u16 port,
		       const struct muuid *expect);
int meshblk_target_del(struct mesh *m, u32 id);
/* @out is malloc()ed. */
int meshblk_targets(struct mesh *m, struct meshblk_target **out, size_t *n);
int meshblk_target_get(struct mesh *m, u32 id, struct meshblk_target *out);

int meshblk_volume_set(struct mesh *m, const struct meshblk_volume *v);
int meshblk_volume_del(struct mesh *m, const struct muuid *uuid, bool force);
/**
 * meshblk_volume_end() - meshblk_volume_del() of a numbered volume, with its last rosters
 * @groups: malloc()ed; each has .place and .roster; NULL, 0: none, or the kernel refuses
 */
int meshblk_volume_end(struct mesh *m, const struct muuid *uuid, bool force,
		       struct meshblk_group **groups, u32 *n);
/* What a scrub is to do: nothing but compare, or one of these. */
struct mesh_scrub {
	bool	stop;
	bool	repair;		/* write again what is unequal ... */
	bool	from;		/* ... with what member @index has, of a mirror */
	u32	index;
};

int meshblk_volume_scrub(struct mesh *m, const struct muuid *uuid, const struct mesh_scrub *s);
/* Copy a member to the extent @to, which then may take its place; NULL: stop that. */
int meshblk_volume_evict(struct mesh *m, const struct muuid *uuid, u32 member,
			 const struct meshblk_member *to);
int meshblk_volume_rejoin(struct mesh *m, const struct muuid *uuid, u32 member);
/* Members, groups and counters come along, segments do not. */
int meshblk_volume_get(struct mesh *m, const struct muuid *uuid, struct meshblk_volume *out);
int meshblk_volumes(struct mesh *m, struct meshblk_volume **out, size_t *n);
/* I/O that groups gave up and devices have not ended; @out is malloc()ed. */
int meshblk_abandoned_get(struct mesh *m, struct meshblk_abandoned **out, size_t *n);
void meshblk_volume_free(struct meshblk_volume *v);
void meshblk_volumes_free(struct meshblk_volume *v, size_t n);

/* MEMBER_PROBE: an extent as its target has it; nothing is opened or changed. */
struct meshblk_probe {
	u64	attach;		/* highest access number noted; 0: none */
	struct muuid attacher;	/* for that host */
	u32	writers, readers;	/* openings */
	bool	unknown;	/* the target started a moment ago: there may be openings to come */
};

/* Waits for the target's answer, some seconds at most. */
int meshblk_member_probe(struct mesh *m, u32 target, const struct muuid *extent,
			 struct meshblk_probe *out);

/* ROSTER_NOTE: what the kernel wants noted of a group before, or after, it counts. */
struct meshblk_note {
	struct muuid volume;
	u32	place;		/* of the group's first member */
	bool	any;		/* there is @roster; else only what is noted is requested */
	u8	roster[MESHBLK_ROSTER_BYTES];
};

/* The kernel sends ROSTER_NOTE to this socket from now on; -ENOENT: it has no such family. */
int meshblk_witness_begin(struct mesh *m);
/**
 * meshblk_witness() - answer ROSTER_NOTE
 * @stop: an fd; readable means: return
 * @fn: called for each request, on the calling thread
 *
 * Return: 0 when stopped, or why the socket cannot serve any more.
 */
int meshblk_witness(struct mesh *m, int stop, void (*fn)(void *priv, struct meshblk_note *note),
		    void *priv);
/* What is noted. From any thread, on the witness's socket. */
int meshblk_roster_noted(struct mesh *m, const struct meshblk_note *note);

/* Family meshtgt */

struct meshtgt_extent {
	struct muuid uuid;
	u64	start;
	u64	length;
	struct muuid holder;
	u64	version;
	u64	attach;		/* highest attach number noted, 0: none */
	struct muuid attacher;	/* for that host */
	bool	ready;
	/*
	 * hosts that may open it with an access number; none and not @allow_all: the attacher
	 * alone. Not in answers.
	 */
	bool	allow_all;
	u32	allows;		/* up to MESHTGT_ALLOW_MAX */
	const struct muuid *allow;
	u32	opens;		/* in answers: @writers + @readers */
	u32	writers;	/* likewise */
	u32	readers;
};

struct meshtgt_drive {
	struct muuid uuid;
	struct muuid host;	/* read only: the target's host when it was given the table */
	char	path[128];
	u64	size;
	u32	lba;
	char	state[16];
	u32	nr_extents;
	struct meshtgt_extent *extents;
};

struct meshtgt_session {
	u32	id;
	struct muuid host;
	char	addr[64];
	char	state[16];
	u32	channels;
	u64	memory;
	struct mesh_stats stats;
};

int meshtgt_identity_set(struct mesh *m, const struct muuid *host, const struct mesh_key *keys,
			 size_t nr_keys);
/*
 * The same, and the hosts that were removed from the cluster, at most MESHTGT_REMOVED_MAX: their
 * sessions end, and their logins are refused whatever key they have.
 */
#define MESHTGT_REMOVED_MAX	4000
int meshtgt_identity_removed(struct mesh *m, const struct muuid *host, const struct mesh_key *keys,
			     size_t nr_keys, const struct muuid *removed, size_t n);
int meshtgt_listen(struct mesh *m, const char *addr, u16 port);
int meshtgt_drive_add(struct mesh *m, const struct meshtgt_drive *d);
/* Answers as meshtgt_drive_add() would, and changes nothing. */
int meshtgt_drive_check(struct mesh *m, const struct meshtgt_drive *d);
int meshtgt_drive_del(struct mesh *m, const struct muuid *uuid, bool force);
/* What is left of a drive that is gone, by force; -EEXIST: it is served again, and stays. */
int meshtgt_gone_del(struct mesh *m, const struct muuid *uuid);
int meshtgt_extents_set(struct mesh *m, const struct meshtgt_drive *d);
/*
 * The same with one message. -EINPROGRESS: the table is in force, and commands from before are not
 * back: the caller, which may have a newer table by then, sends it again.
 */
int meshtgt_extents_once(struct mesh *m, const struct meshtgt_drive *d);
int meshtgt_drives(struct mesh *m, struct meshtgt_drive **out, size_t *n);
void meshtgt_drives_free(struct meshtgt_drive *d, size_t n);
int meshtgt_sessions(struct mesh *m, struct meshtgt_session **out, size_t *n);

/* GRANT: what the target's kernel wants noted in a label before it grants an open. */
struct meshtgt_grant {
	u64	request;
	struct muuid host;	/* of the session that opens */
	struct muuid drive;
	struct muuid extent;
	u64	version;
	u64	attach;		/* number to be noted, 0: none */
	u8	access;
	bool	numbered;	/* @attach is an access number; there is no @version */
};

/**
 * meshtgt_serve() - answer GRANT from now on
 * @stop: an fd; readable means: return
 * @fn: called for each request, on the calling thread
 *
 * Return: 0 when stopped, or why the socket cannot serve any more.
 */
int meshtgt_serve(struct mesh *m, int stop, void (*fn)(void *priv, struct meshtgt_grant *grant),
		  void *priv);
/* @err: -ESTALE, -EEXIST as in the uapi. From any thread, on the serving socket. */
int meshtgt_grant_reply(struct mesh *m, u64 request, int err);

/* Events of both families */

struct mesh_event {
	bool	target;		/* of family meshtgt */
	u32	event;		/* MESHBLK_EV_* or MESHTGT_EV_* */
	u32	id;		/* target or session */
	u32	index;		/* of a member */
	u64	version;
	u64	attach;		/* MESHBLK_EV_FENCED: the number that was seen ... */
	struct muuid host;	/* ... and its host */
	u32	place;		/* MESHBLK_EV_ROSTER: of the group's first member ... */
	const u8 *roster;	/* ... MESHBLK_ROSTER_BYTES, until the function returns; else NULL */
	struct muuid uuid;	/* volume, drive or host */
	char	state[16];
	s32	error;
	char	reason[128];	/* or path */
};

/* Join what event groups there are; may be called again when a module came. */
int mesh_events_join(struct mesh *m);
int mesh_fd(const struct mesh *m);
/* Read what has arrived; does not wait. */
int mesh_events_read(struct mesh *m, void (*fn)(void *priv, const struct mesh_event *e),
		     void *priv);

#endif
