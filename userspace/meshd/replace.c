// SPDX-License-Identifier: GPL-2.0-only
/*
 * meshctl volume replace: a member of a group that is lost gets a new extent on another drive.
 *
 *   intent -> allocated, zeroed -> both extents noted as to be freed, the next version as pending
 *   -> its record on the members that are there -> on the new one -> in the store -> the kernel,
 *   which rebuilds it -> the old extent is freed, when its drive is there
 *
 * The notes need no order: an extent that the volume's layout names is not freed, and its note is
 * dropped when no change is pending. So whichever of the two it is that is not used, in the end or
 * after a crash, is given back.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/meshd/crash.h"
#include "userspace/meshd/spare.h"
#include "userspace/meshd/volume.h"

enum swap {
	SWAP_REPLACE,
	SWAP_UNDO,
	SWAP_STALE,
};

/* Before anything is written that names the new one. */
static int note_both(const struct layout *l, const struct layout *next, u32 member, char *why)
{
	struct store_free both[2];
	struct gather g;
	int err = gather(&g, &l->volume, false);

	if (!err) {
		both[0] = free_note(&g, l, &l->member[member]);
		both[1] = free_note(&g, l, &next->member[member]);
		gather_free(&g);
		err = store_frees_add(both, 2);
	}
	if (err)
		snprintf(why, REASON, "%s", store_unwritten(err));
	return err;
}

static bool has_member(const struct layout *l, const struct layout_segment *s, u32 member)
{
	u32 i;

	for (i = s->first_ref; i < s->first_ref + s->refs; i++)
		if (l->ref[i].member == member)
			return true;
	return false;
}

/* Whether this kernel, with the layout before @l, goes on without a member of both. */
static bool was_without(const struct store_volume *v, const struct layout *l, u32 member)
{
	u64 version = 0;

	return kernel_role(v, member, &version) == MESHBLK_ROLE_OUT && version < l->version;
}

/*
 * @next is the layout but for one extent; the members that groups go on without may be away. @undo:
 * no kernel has used @l, so what was late in it is still; SWAP_STALE: and whatever else is away.
 */
static int swap(struct store_volume *v, struct layout *l, struct layout *next, u32 member,
		enum swap how, char *why)
{
	int err = note_both(l, next, member, why);
	u32 i;

	for (i = 0; i < next->members; i++)
		next->member[i].late = i != member &&
			(how == SWAP_STALE || (how == SWAP_REPLACE ? volume_goes_without(v, l, i) :
					       l->member[i].late || was_without(v, l, i)));
	/* A group whose member is replaced was attached; others may not have been, yet. */
	for (i = 0; i < next->segments; i++)
		if (has_member(next, &next->segment[i], member))
			next->segment[i].fresh = false;
	return err ? err : volume_swap(v, l, next, how != SWAP_REPLACE, why);
}

/*
 * The extent that was replaced last, by the latest record that has another one in the place of one
 * member: that member. Notes are in this host's store alone, and one of several says nothing.
 */
static int replaced(const struct layout *l, const struct gather *g, struct layout_member *old,
		    u16 *spares_used)
{
	const struct layout *was, *best = NULL;
	int at = -ENOENT, m;
	size_t k;

	for (k = 0; k < g->nr_records; k++) {
		was = g->record[k];
		m = truth_swapped(was, l);
		if (m < 0 || was->version >= l->version || (best && was->version <= best->version) ||
		    !gather_find(g, &was->member[m].extent))
			continue;
		best = was;
		at = m;
		*old = was->member[m];
		*spares_used = was->spares_used;
	}
	return at;
}

/* Whether this kernel has a layout before @l in use, and does not go on without the member. */
static bool keeps(const struct store_volume *v, const struct layout *l, const struct gather *g, u32 member)
{
	const struct found *f = gather_find(g, &l->member[member].extent);
	u64 version = 0;
	u8 role;

	/* Another host has attached the new one: a group that is opening here knows nothing of that. */
	if (f && f->e.attach)
		return false;
	role = kernel_role(v, member, &version);
	return role && version < l->version && role != MESHBLK_ROLE_OUT && role != MESHBLK_ROLE_JOINING;
}

/*
 * Whether the groups are refused, and no kernel has given the new extent any data: an attach
 * notes its number in the label of each member before that is used.
 */
static bool never_served(const struct store_volume *v, const struct layout *l, const struct gather *g,
			 u32 member, bool stale)
{
	const struct found *f = gather_find(g, &l->member[member].extent);

	return (f ? !f->e.attach : stale) && kernel_refuses(&v->uuid);
}

int replace_undo(struct store_volume *v, struct layout *l, bool stale, char *why)
{
	struct layout *next __free(free) = NULL;
	struct layout_member old;
	struct gather g;
	u16 used = 0;
	bool kept, may;
	int err = gather(&g, &v->uuid, false), at;

	if (err)
		return err;
	at = v->pending ? -EAGAIN : replaced(l, &g, &old, &used);
	kept = at >= 0 && keeps(v, l, &g, at);
	may = kept || (at >= 0 && never_served(v, l, &g, at, stale));
	gather_free(&g);
	if (!may)
		return at < 0 ? at : -ENOENT;
	next = malloc(sizeof(*next));
	if (!next)
		return -ENOMEM;
	/* A group that does not serve takes no other member in. */
	if (!kept)
		kernel_del(&v->uuid, false);
	memcpy(next, l, sizeof(*next));
	next->member[at] = old;
	next->spares_used = used;
	err = swap(v, l, next, at, kept || !stale ? SWAP_UNDO : SWAP_STALE, why);
	if (!err)
		log_warn("volume %s: member %d is not replaced: %s", v->name, at, kept ? "the kernel has it in sync" :
			 "its group does not serve without the former one, and the new one has no data");
	return err;
}

/* Attached, as an older layout, after all of the members: what was written then is on it alone. */
static bool written_later(const struct layout *l, const struct gather *g, const struct found *at)
{
	const struct found *f;
	u64 highest = 0;
	u32 i;

	for (i = 0; i < l->members; i++) {
		f = gather_find(g, &l->member[i].extent);
		if (f && f->e.attach > highest)
			highest = f->e.attach;
	}
	return at->e.attach > highest;
}

/*
 * Held by this host still, and at a version before the one that counts: then it is ours to free. What
 * had data, which an attach notes its number before, is kept until the volume is @whole: what the new
 * member is given may turn out to be unreadable on the others.
 */
static int free_one(const struct layout *l, const struct gather *g, const struct store_free *f,
		    bool whole, char *why)
{
	const struct found *at = gather_find(g, &f->extent);
	struct put p;

	/* Its drive is there, and has no such extent: it was freed, or the drive begun again. */
	if (!at && shown_find(&g->shown, &f->drive))
		return 0;
	if (!at) {
		snprintf(why, REASON, "the drive of a member that was replaced is away");
		return -EAGAIN;
	}
	if (at->e.attach && !whole) {
		snprintf(why, REASON, "what a member had that was replaced is kept until all members have all data");
		return -EAGAIN;
	}
	if (at->e.version > l->version ||
	    (!muuid_null(&at->e.holder) && !muuid_equal(&at->e.holder, &D.host))) {
		log_warn("volume %s: the extent of a member that was replaced is another's by now: it stays; "
			 "see meshctl drive extents", l->name);
		return 0;
	}
	if (written_later(l, g, at)) {
		log_warn("volume %s: the extent on drive %s, which was replaced, was attached later than its "
			 "members: what was written then is there alone, and it stays; copy that, or free it "
			 "as meshctl drive extents says", l->name, muuid_str(&f->drive).s);
		return 0;
	}
	p = put_to(g, at, MGMT_FREE, NULL);
	puts_run(&p, 1);
	return puts_result(&p, 1, why);
}

/*
 * Whether this kernel has the layout in use, and each place the member that it names. @whole: all groups
 * have all members.
 */
static bool in_use(const struct store_volume *v, const struct layout *l, bool *whole)
{
	struct meshblk_volume k;
	bool is;

	if (!v->attached || kernel_volume(&v->uuid, &k))
		return false;
	is = k.version == l->version && !strcmp(k.state, MESHBLK_STATE_ACTIVE) && !groups_evict(&k) &&
	     !groups_wait(&k, MESH_NO_MEMBER);
	*whole = volume_health(&k) == HEALTH_WHOLE;
	meshblk_volume_free(&k);
	return is;
}

int replace_finish(struct store_volume *v, const struct layout *l, char *why)
{
	struct store_free *f __free(free) = NULL;
	bool used, whole = false;
	struct gather g;
	size_t i, n, left = 0;
	int err = store_frees(&v->uuid, &f, &n);

	if (err || !n || v->pending || v->state != STORE_LIVE)
		return err;
	err = gather(&g, &v->uuid, false);
	if (err)
		return err;
	used = in_use(v, l, &whole);
	for (i = 0; i < n; i++) {
		if (layout_names(l, &f[i].extent)) {
			store_free_del(&f[i].extent);
		} else if (used) {
			err = free_one(l, &g, &f[i], whole, why);
			left += !!err;
			if (!err)
				store_free_del(&f[i].extent);
		}
	}
	gather_free(&g);
	return left ? -EAGAIN : 0;
}

/* The kernel judges this again, by what is so then. */
static int may_replace(struct req *r, const struct store_volume *v, const struct layout *l,
		       u32 member)
{
	struct meshblk_volume k;
	bool evicts, waits;
	u8 role;

	if (kernel_volume(&v->uuid, &k))
		return req_fail(r, "volume %s is not attached here; attach it first", v->name);
	role = k.version == l->version ? groups_role(&k, member) : 0;
	evicts = groups_evict(&k);
	waits = groups_wait(&k, member);
	meshblk_volume_free(&k);
	/* The layout may name its copy already: with a second change, none of its extents has a record. */
	if (evicts)
		return req_fail(r, "a member of volume %s is leaving: let that end first, or end it with "
				"meshctl volume evict --stop", v->name);
	/* Another new extent would wait as this one does. */
	if (waits)
		return req_fail(r, "member %u of volume %s has a new drive already, which " WAITS_FOR "; see meshctl "
				"volume show", member, v->name);
	/* Only a command replaces one that has come back. */
	if (role == MESHBLK_ROLE_OUT || (role == MESHBLK_ROLE_JOINING && !req_own(r)))
		return 0;
	if (role == MESHBLK_ROLE_JOINING)
		return req_fail(r, "member %u of volume %s is back, and is given what it missed", member,
				v->name);
	if (role == MESHBLK_ROLE_SUSPECT || role == MESHBLK_ROLE_FAILED)
		return req_fail(r, "member %u of volume %s is silent, and its group still waits for it; try "
				"again when meshctl volume show says that it is out", member, v->name);
	if (role == MESHBLK_ROLE_OPENING)
		return req_fail(r, "the group of member %u of volume %s is being attached: whether it is lost is not "
				"known yet; try again when meshctl volume show says", member, v->name);
	if (role)
		return req_fail(r, "member %u of volume %s is in sync: only one that is lost is replaced", member,
				v->name);
	return req_fail(r, "member %u of volume %s is in no group that is attached: what is on it cannot "
			"be made again", member, v->name);
}

int replace_swap_in(struct req *r, struct store_volume *v, struct layout *l, struct layout *next,
		    u32 member)
{
	const u64 had = v->version;
	char why[REASON], left[REASON];
	int err = swap(v, l, next, member, SWAP_REPLACE, why);
	/* Undone, it has another version again. */
	bool made = v->version > had && v->version == next->version;

	if (err == -EBUSY && made && !replace_undo(v, l, false, left))
		return req_fail(r, "member %u of volume %s is not replaced: %s", member, v->name, why);
	if (err && !made && !v->pending) {
		evict_end(v, member);
		intents_drop(&v->uuid, l->name);
	}
	if (err && made)
		return req_fail(r, "volume %s has its new version, but not here yet: %s", v->name, why);
	if (err && v->pending)
		return req_fail(r, "volume %s is not changed yet: %s; meshctl volume list says how it goes on",
				v->name, why);
	if (err)
		return req_fail(r, "volume %s is not changed: %s", v->name, why);
	return 0;
}

int replace_member(struct req *r, struct store_volume *v, struct layout *l, struct layout *next,
		   u32 member)
{
	static const int steps[] = {
		CRASH_EXTEND_INTENT, CRASH_NONE, CRASH_NONE, CRASH_EXTEND_READY,
	};
	const char *with = arg_str(r, "with");
	struct segment_req q = { .lba_max = l->lba, .force = arg_bool(r, "force"),
				 .erase_label = arg_bool(r, "erase_label") };
	char why[REASON];
	json_t *drives = with[0] ? json_pack("[s]", with) : NULL;
	int err;

	q.drives = drives;
	memcpy(next, l, sizeof(*next));
	if (req_own(r))
		next->spares_used += next->spares_used < 0xffff;
	err = req_own(r) && !spare_allowed(l) ? req_fail(r, "volume %s has no spare left", v->name) :
	      may_replace(r, v, l, member);
	if (!err)
		err = extents_swap(r, v, next, member, &q, steps);
	json_decref(drives);
	if (err)
		return -1;
	/* It may have come back, or been taken, while zeroes were written. */
	if (volume_must_hold(r, v) || may_replace(r, v, l, member)) {
		intents_drop(&v->uuid, l->name);
		return -1;
	}
	if (replace_swap_in(r, v, l, next, member))
		return -1;
	/* That of a spare is an event. */
	if (!req_own(r))
		log_info("volume %s: member %u is replaced, and rebuilt on drive %s", v->name, member,
			 muuid_str(&l->member[member].drive).s);
	if (replace_finish(v, l, why))
		log_info("volume %s: %s: its extent is freed when it can be", v->name, why);
	return 0;
}

int replace_named(struct req *r, const struct store_volume *v, const struct layout *l)
{
	const char *what = arg_str(r, "member");
	int member = member_named(l, what);

	if (!layout_protected(l))
		return req_fail(r, "volume %s has no redundancy: what is on a member is nowhere else, and cannot "
				"move while it is in use; copy it to another volume", v->name);
	if (member == -2)
		return req_fail(r, "volume %s has several members like %.100s; use one's number", v->name,
				what);
	if (member < 0)
		return req_fail(r, "volume %s has no member %.100s; meshctl volume show %s numbers them", v->name,
				what, v->name);
	return member;
}

static int replace(struct req *r, struct store_volume *v, struct layout *l, struct layout *next)
{
	int member = replace_named(r, v, l);

	if (member < 0)
		return -1;
	if (replace_member(r, v, l, next, member))
		return -1;
	return volume_result(r, &v->uuid);
}

int cmd_volume_replace(struct req *r)
{
	return volume_with_next(r, false, replace);
}
