/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The client role's volumes.
 *
 *   create   CREATING and intents in the store -> extents allocated, zeroed ->
 *            LIVE, version 1 in the store -> its record on every member
 *   extend,  intents -> allocated, zeroed -> the next version noted as pending ->
 *   rename   its record on every old member, if the label is still at the version
 *            before -> on the new members -> in the store
 *
 * What is LIVE goes to the kernel by volume_bring(). Before the first record is
 * written a crash is undone; afterwards the labels say whether it is completed
 * (format/truth.h). reconcile.c does both.
 */
#ifndef MESHD_VOLUME_H
#define MESHD_VOLUME_H

#include "userspace/meshd/gather.h"

/* commit.c */

/* How a layout goes to the kernel. */
struct kernel_set {
	/* where its members are and what their labels say; NULL: as the record says */
	const struct gather *g;
	bool	written;	/* the labels say by now what the layout does */
	bool	preempt;	/* fence another holder, in this one call */
	bool	stale;		/* groups attach, though newer data may be elsewhere */
};

int kernel_set(struct store_volume *v, const struct layout *l, const struct kernel_set *o, char *why);
/* Until it is active with its device: -ESTALE, -EBUSY when a member refuses, -ETIMEDOUT. */
int kernel_wait(const struct muuid *uuid, unsigned int ms, char *why);
/* The kernel's view; -ENOENT. */
int kernel_volume(const struct muuid *uuid, struct meshblk_volume *out);
/* The same without the members: there is nothing to free. */
static inline int kernel_head(const struct muuid *uuid, struct meshblk_volume *out)
{
	int err = kernel_volume(uuid, out);

	if (!err)
		meshblk_volume_free(out);
	return err;
}

/* Whether it is there, and its groups have said that the members that are here do not do. */
bool kernel_refuses(const struct muuid *uuid);

/* Why a local drive's member is not up, to follow "the device". */
static inline const char *local_lacks(const struct meshblk_member *m)
{
	return m->abandoned ? "has not ended I/O that was given up: it comes back when it has" :
			      "is not here; bring it back";
}

/* How often its device is open here; 0 where it has none. */
static inline u32 kernel_openers(const struct muuid *uuid)
{
	struct meshblk_volume k;

	return kernel_head(uuid, &k) ? 0 : k.openers;
}

/* "/dev/mesh0", or "" while there is none */
void kernel_device(const struct muuid *uuid, char *out, size_t size);
/* Whether it is active, and at which version. */
bool kernel_active(const struct muuid *uuid, u64 *version);
int kernel_del(const struct muuid *uuid, bool force);
/* Take over into @v what only the kernel knows; not into the store. */
void kernel_keep(struct store_volume *v);

/* bring.c */

/* What --stale does to a volume with redundancy, members of which are away. */
#define STALE_LOSES	"it goes on with what is here, and what was written on the others since is LOST when " \
			"they return; bring them back if you can"

/* How a volume is brought to the kernel. */
struct bring {
	struct req *r;		/* the request that waits, for progress; NULL: none */
	const char *named;	/* the volume as a command named it; NULL: none did */
	unsigned int wait_ms;	/* how long it may take to become active */
	bool	preempt;	/* take it from the host that holds it */
	bool	stale;		/* go on although some host may know more */
	bool	made;		/* set when this call made the kernel's volume */
};

/**
 * volume_bring() - find out which layout counts, attach it, bring all labels to it
 * @l: the store's layout; set to the one that counts
 */
int volume_bring(struct store_volume *v, struct layout *l, struct bring *o, char *why);
/* The records of a new volume, without attaching it. */
int volume_record(struct store_volume *v, struct layout *l, char *why);
/* Where members are now, into @l; false: they are where it says. */
bool volume_rehome(const struct gather *g, struct layout *l);
/* Whether it has members on @h, in words that follow "has extents there": what to do. */
bool volume_uses(const struct store_volume *v, struct layout *l, const struct store_host *h, char *why);
/*
 * Whether @named is a former name of the volume here, in words: then another one may be
 * meant. Its new name is adopted.
 */
bool volume_renamed(struct store_volume *v, struct layout *l, const struct truth_pick *p,
		    const char *named, char *why);
/*
 * Into the store by @put, with the name that it has since. One that another volume has here
 * does not come with it: @had stays, as a name of this host's own.
 */
int volume_put_as(struct store_volume *v, const struct layout *l, const char *had,
		  int (*put)(const struct store_volume *v, const struct layout *l));
/* A layout of another origin than this host's into the store. */
int volume_adopt(struct store_volume *v, struct layout *l, const struct layout *found);

/* attach.c */

/* What a command does to the volume that it names, which is taken as busy meanwhile. */
int volume_do(struct req *r, int (*fn)(struct req *r, struct store_volume *v, struct layout *l));
/* Not in this kernel, or being removed; else -EBUSY and words. A failed query is an error. */
int volume_detached(const struct muuid *volume, char *why);

/*
 * After a clean end no host holds it, so that another host may take it without force. Not
 * for a volume that this kernel has, nor while a change of it is pending. What cannot be
 * released needs --preempt elsewhere.
 */
int volume_release(const struct store_volume *v, const struct layout *l, char *why);
/* An attach that failed: the flags of @was, out of the kernel again, held by no host. */
void volume_give_up(const struct store_volume *was, const struct layout *l, const struct bring *b);
/* Whether it was detached and the store could not be written; it is tried once more. */
bool volume_off(struct store_volume *v);

/* change.c */

/* @next: @l with what is changed. Its version and commit are set here. */
int volume_change(struct store_volume *v, struct layout *l, struct layout *next, char *why);
/*
 * The same where members are away: @next names another extent in the place of one of them, and
 * of those that it has as late the record is done without. The store has notes of both extents.
 * @undo: no kernel has used @l, whose records may have been half undone before.
 */
int volume_swap(struct store_volume *v, struct layout *l, struct layout *next, bool undo, char *why);
/* Its groups were attached once by now: the layout says so from the next version on. */
void volume_attached(struct store_volume *v, struct layout *l);
/* Complete or drop a change that was begun; -EAGAIN and words: not yet. */
int pending_settle(struct store_volume *v, char *why);
/*
 * Go back to the layout before a change, one of whose members is lost: a new one, or one that
 * its group can do without. @preempt: also when another host has it, or may have used the
 * change. -EAGAIN: what the labels say does not allow it; any other error: it may later.
 */
int pending_undo(struct store_volume *v, bool preempt, char *why);
/* Whether a change that is not settled can be undone if drives are lost: new ones, or of groups. */
bool pending_undoable(struct store_volume *v);

/* extents.c */

/* What is requested of a new segment. */
struct segment_req {
	struct layout_shape shape;
	u32	strip;
	u64	bytes;			/* of the volume, at least; SIZE_MAX_ROOM: all there is */
	bool	by_host;		/* failure domain */
	const json_t *drives;		/* names, or NULL */
	json_t	*fresh;			/* local drives that get their labels with the plan, as listed; or NULL */
	bool	force;			/* erase what a local device carries ... */
	bool	erase_label;		/* ... or although it was a drive, whose label is damaged or lost */
	u32	lba_max;		/* drives of larger blocks do not fit; 0: any */
};

#define SIZE_MAX_ROOM	(~0ULL)

/**
 * extents_get() - members and segments for @q, appended to @l
 * Chooses drives, notes the intents, allocates, waits for zeroes. What fails, and
 * what no client waits for any more, is undone. @v: a new volume, which is noted as
 * CREATING with its intents. @steps: crash points for intent, some, all, ready.
 */
int extents_get(struct req *r, struct store_volume *v, struct layout *l,
		const struct segment_req *q, const int *steps);
/*
 * The same for one extent in the place of member @slot, of a group: on another drive than the
 * group's, and in another failure domain. Of @q the drives count alone, NULL or one name.
 */
int extents_swap(struct req *r, struct store_volume *v, struct layout *l, u32 slot,
		 const struct segment_req *q, const int *steps);
/* Free what an intent names, if no record ever named it, and forget it. */
int intent_undo(const struct store_intent *i, char *why);
/* All of a volume's; one that is CREATING is forgotten with the last of them. */
int intents_undo(const struct muuid *volume, char *why);
/* The same where the command fails anyway: the log says what is left. @name: of the volume. */
static inline void intents_drop(const struct muuid *volume, const char *name)
{
	char why[REASON];

	if (intents_undo(volume, why))
		log_warn("an extent of %s stays allocated for now: %s", name, why);
}

/* volume.c */

/* Only the host that holds a volume for writing may make a new version of it: -1 after req_fail(). */
int volume_must_hold(struct req *r, const struct store_volume *v);
/*
 * A change of the volume that a command names, which is busy meanwhile: what was begun before is
 * settled, and it is held. @whole: all its members are there. @next is @fn's to fill.
 */
int volume_with_next(struct req *r, bool whole, int (*fn)(struct req *r, struct store_volume *v,
							  struct layout *l, struct layout *next));

/* replace.c */

/* A member that is to have a new extent; for the spare, too. -1 after req_fail(). */
int replace_member(struct req *r, struct store_volume *v, struct layout *l, struct layout *next,
		   u32 member);
/*
 * A kernel that refuses a layout, since the member that it replaces is in sync, or since its groups
 * do not serve without that one, gets it back in a new version. @stale: also where the new one, or
 * another member, is away. -ENOENT: no member was replaced, or the new one was in use.
 */
int replace_undo(struct store_volume *v, struct layout *l, bool stale, char *why);
/* What is noted of a member's extent that is to be freed one day. */
static inline struct store_free free_note(const struct gather *g, const struct layout *l,
					  const struct layout_member *m)
{
	const struct found *f = gather_find(g, &m->extent);

	return (struct store_free) {
		.volume = l->volume, .drive = m->drive, .extent = m->extent,
		.host = f ? g->hosts[f->host].uuid : m->target, .holder = f ? f->e.holder : D.host,
		.version = f ? f->e.version : l->version, .commit = f ? f->e.commit : l->commit,
	};
}

/* Free what members were replaced on, once this kernel has the layout that does not name it. */
int replace_finish(struct store_volume *v, const struct layout *l, char *why);
int cmd_volume_replace(struct req *r);
/* @next, whose extent in the member's place is there, becomes the layout. -1 after req_fail(). */
int replace_swap_in(struct req *r, struct store_volume *v, struct layout *l, struct layout *next,
		    u32 member);
/* The member that a request names, of a volume with redundancy; -1 after req_fail(). */
int replace_named(struct req *r, const struct store_volume *v, const struct layout *l);

/* Whether a group has yet to give a member's place to its copy. */
bool groups_evict(const struct meshblk_volume *k);

/* evict.c */
int cmd_volume_evict(struct req *r);
/* Copies of members that no command waits for are stopped; their extents are the intents' then. */
void evict_orphans(const struct store_volume *v, const struct layout *l);
/* End the eviction of a member, if there is one: its copy is about to be freed. */
void evict_end(const struct store_volume *v, u32 member);

int cmd_volume_create(struct req *r);
int cmd_volume_extend(struct req *r);
int cmd_volume_delete(struct req *r);
int cmd_volume_rename(struct req *r);
int cmd_volume_attach(struct req *r);
int cmd_volume_detach(struct req *r);
int cmd_volume_import(struct req *r);
int cmd_volume_list(struct req *r);
int cmd_volume_show(struct req *r);
int cmd_stats(struct req *r);

/* groups.c */

/* How whole the groups of a volume are; the worst of them counts. */
enum health {
	HEALTH_NONE,		/* it has none, or is not attached */
	HEALTH_WHOLE,
	HEALTH_REBUILDING,	/* what lacks data is given it */
	HEALTH_DEGRADED,	/* a member is missing */
	HEALTH_DOWN,		/* a group does not serve */
};

enum health volume_health(const struct meshblk_volume *k);
/* NULL for HEALTH_NONE. */
const char *health_name(enum health h);
/* What is wrong with the worst group, in words; false: nothing. */
bool groups_why(const struct layout *l, const struct meshblk_volume *k, char *why, size_t size);
/* How many members of a group may be lost. */
static inline int group_redundancy(const struct layout *l, const struct meshblk_group *g)
{
	const struct layout_segment *s = &l->segment[g->segment < l->segments ? g->segment : 0];

	return s->level == PROT_EC ? s->parity : s->data - 1;
}

/* How many of them still may; negative: too many are. */
static inline int group_redundancy_left(const struct layout *l, const struct meshblk_group *g)
{
	int left = group_redundancy(l, g);
	u32 i;

	for (i = 0; i < g->nr; i++)
		left -= g->roles[i] != MESHBLK_ROLE_IN_SYNC;
	return left;
}

/* Members enough are left, and I/O waits for the note of one that failed. */
static inline bool group_unnoted(const struct layout *l, const struct meshblk_group *g)
{
	bool failed = false;
	u32 i;

	for (i = 0; i < g->nr; i++)
		failed |= g->roles[i] == MESHBLK_ROLE_FAILED;
	return failed && g->witness && group_redundancy_left(l, g) >= 0;
}

/* Whether another member has the place of @member yet; MESH_NO_MEMBER: the place of any. */
static inline bool groups_wait(const struct meshblk_volume *k, u32 member)
{
	u32 i, m;

	for (i = 0; i < k->nr_groups; i++)
		for (m = 0; m < k->groups[i].nr; m++)
			if (k->groups[i].waits >> m & 1 &&
			    (member == MESH_NO_MEMBER || k->groups[i].members[m] == member))
				return true;
	return false;
}

/* For words of such a member: "..., and " */
#define WAITS_FOR	"waits until the I/O of the former member has ended"

json_t *groups_json(const struct meshblk_volume *k);
/* The role of a member of the volume in its group; 0: it is in none. */
u8 groups_role(const struct meshblk_volume *k, u32 member);
/* What @member is to its group in this kernel, and by which layout; 0: it is not attached here. */
static inline u8 kernel_role(const struct store_volume *v, u32 member, u64 *version)
{
	struct meshblk_volume k;
	u8 role;

	if (!v->attached || kernel_volume(&v->uuid, &k))
		return 0;
	role = groups_role(&k, member);
	*version = k.version;
	meshblk_volume_free(&k);
	return role;
}
/*
 * Whether a roster without a member is written: its group goes on here without it. @l: the layout
 * that the kernel has, else false.
 */
bool volume_goes_without(const struct store_volume *v, const struct layout *l, u32 member);
/*
 * A member of a volume as people name it: its number, or the UUID of its drive or extent or a start
 * of that. -1: there is none; -2: several.
 */
int member_named(const struct layout *l, const char *what);

/* scrub.c */
int cmd_volume_wait(struct req *r);
int cmd_volume_scrub(struct req *r);
int cmd_volume_rejoin(struct req *r);

/* delete.c: free what was noted of a deleted volume, then forget it. */
int volume_finish_delete(struct store_volume *v, char *why);

/* import.c: find @what on the known hosts' drives and put it in the store. */
int import_volume(struct req *r, const char *what, struct store_volume *v);

/* show.c */
json_t *volume_json(const struct store_volume *v, const struct layout *l);
/* name, uuid, size and device of one volume as the result */
int volume_result(struct req *r, const struct muuid *uuid);
/* The one that a request names, by name or UUID in the store; -1 after req_fail(). @l: NULL fails. */
int volume_find(struct req *r, struct store_volume *v, struct layout *l);
/* By name or UUID in the store, and taken as busy; -1 after req_fail(). */
int volume_take(struct req *r, const char *what, struct store_volume *v, struct layout *l);
/* -1 after req_fail() when it is being made or deleted. */
int volume_dying(struct req *r, const struct store_volume *v);

/* reconcile.c */

/* How a note begins that was made while the volume was active: it is the reason of no other state. */
#define NOTE_ACTIVE	"it serves, but "
/* ... and that of a volume whose deletion was given up, in any state. */
#define NOTE_KEPT	"not deleted"

int reconcile_start(void);
void reconcile_kick(void);
/* For what has the volume busy and waits: have the kernel open local drives that are back. */
void reconcile_locals(const struct muuid *volume);

#endif
