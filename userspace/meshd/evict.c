// SPDX-License-Identifier: GPL-2.0-only
/*
 * meshctl volume evict: a member that is still good leaves, once another drive has a copy of it.
 *
 *   intent -> allocated, zeroed -> the kernel copies, and writes both -> as volume replace: notes,
 *   the next version, its records, the kernel -> its roster names the new extent -> the old is freed
 *
 * It lives as long as its command: what a command that has ended left is stopped and undone, unless
 * the layout names the new extent by then, which the kernel takes by itself.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/meshd/busy.h"
#include "userspace/meshd/crash.h"
#include "userspace/meshd/volume.h"

#define POLL_MS		300
#define SWAP_MS		60000

struct copy {
	u64	done, bytes;
	bool	runs;
	char	why[128];	/* why the last one ended */
};

static struct copy copy_of(const struct meshblk_volume *k, u32 member)
{
	struct copy c = { 0 };
	u32 i, m;

	for (i = 0; i < k->nr_groups; i++) {
		const struct meshblk_group *g = &k->groups[i];

		for (m = 0; m < g->nr && g->members[m] != member; m++)
			;
		if (m == g->nr)
			continue;
		if (!muuid_null(&g->successor) && g->evicts == member) {
			c.runs = true;
			c.done += g->copied;
			c.bytes += g->copy_bytes;
		} else if (g->evict_reason[0]) {
			memcpy(c.why, g->evict_reason, sizeof(c.why));
		}
	}
	return c;
}

static int evict_stop(const struct store_volume *v, u32 member, char *why)
{
	struct mesh *m __free(mesh_close) = mesh_open();
	int err = m ? meshblk_volume_evict(m, &v->uuid, member, NULL) : -ENOMEM;

	if (err)
		snprintf(why, REASON, "%s", m ? mesh_why(m) : "no memory");
	return err;
}

void evict_end(const struct store_volume *v, u32 member)
{
	struct meshblk_volume k;
	char why[REASON];
	bool runs;

	if (kernel_volume(&v->uuid, &k))
		return;
	runs = copy_of(&k, member).runs;
	meshblk_volume_free(&k);
	if (runs && evict_stop(v, member, why))
		log_warn("volume %s: member %u is copied still: %s", v->name, member, why);
}

/* The kernel closes the new extent before it is freed. */
static void evict_undo(const struct store_volume *v, u32 member)
{
	char why[REASON];

	if (evict_stop(v, member, why) || intents_undo(&v->uuid, why))
		log_warn("an extent of %s stays allocated for now: %s", v->name, why);
}

void evict_orphans(const struct store_volume *v, const struct layout *l)
{
	struct meshblk_volume k;
	char why[REASON];
	u32 i;

	if (!v->attached || v->pending || kernel_volume(&v->uuid, &k))
		return;
	for (i = 0; i < k.nr_groups; i++) {
		const struct meshblk_group *g = &k.groups[i];

		if (muuid_null(&g->successor) || layout_names(l, &g->successor))
			continue;
		if (evict_stop(v, g->evicts, why))
			log_warn("volume %s: member %u is copied still: %s", v->name, g->evicts, why);
		else
			log_info("volume %s: member %u keeps its place: its copy was cut off", v->name, g->evicts);
	}
	meshblk_volume_free(&k);
}

static int may_evict(struct req *r, const struct store_volume *v, const struct layout *l, u32 member)
{
	struct meshblk_volume k = { 0 };
	bool there, others, waits;
	u8 role = 0;
	u32 i;

	others = there = !kernel_volume(&v->uuid, &k) && k.version == l->version;
	if (there)
		role = groups_role(&k, member);
	waits = there && groups_wait(&k, member);
	for (i = 0; there && i < l->members; i++)
		others &= i == member || groups_role(&k, i) == MESHBLK_ROLE_IN_SYNC ||
			  groups_role(&k, i) == MESHBLK_ROLE_SUSPECT || !groups_role(&k, i);
	meshblk_volume_free(&k);
	if (l->member[member].kind == LAYOUT_KIND_BDEV)
		return req_fail(r, "member %u of volume %s is a local drive: only members on exported drives are "
				"evicted", member, v->name);
	if (waits)
		return req_fail(r, "member %u of volume %s has a new drive already, which " WAITS_FOR "; see meshctl "
				"volume show", member, v->name);
	if (role == MESHBLK_ROLE_IN_SYNC && others)
		return 0;
	if (role == MESHBLK_ROLE_IN_SYNC)
		return req_fail(r, "volume %s lacks another member: that one is waited for, or replaced, before "
				"member %u can leave", v->name, member);
	if (role)
		return req_fail(r, "member %u of volume %s is not in sync: evict copies what it has; meshctl volume "
				"replace gives its place to a drive that is filled by the others", member, v->name);
	return req_fail(r, "volume %s is not attached here, or member %u is in none of its groups", v->name,
			member);
}

static int start(struct req *r, const struct store_volume *v, const struct layout *next, u32 member)
{
	struct mesh *m __free(mesh_close) = mesh_open();
	const struct layout_member *to = &next->member[member];
	/* It has no record yet, so no version. */
	struct meshblk_member mb = {
		.kind = MESHBLK_KIND_RDDA, .extent = to->extent, .drive = to->drive, .size = to->size,
	};
	struct store_host h;
	int err = peer_of_member(to, &h);

	if (err)
		return req_fail(r, "%s", store_words(err));
	mb.target_id = h.id;
	err = m ? meshblk_volume_evict(m, &v->uuid, member, &mb) : -ENOMEM;
	return err ? req_fail(r, "member %u of volume %s is not evicted: %s", member, v->name,
			      m ? mesh_why(m) : "no memory") : 0;
}

/*
 * Until the new extent has all, and no member is missing: the layout that names the new extent can be
 * attached only when its group has taken that in, which it does not while others are away.
 */
static int wait_copied(struct req *r, const struct store_volume *v, u32 member)
{
	struct meshblk_volume k;
	struct copy c;
	bool whole;

	for (;;) {
		if (stopping())
			return req_fail(r, "meshd is being stopped; nothing is changed");
		if (req_cancelled(r) || busy_cancelled(&v->uuid))
			return req_fail(r, "cancelled");
		if (kernel_volume(&v->uuid, &k))
			return req_fail(r, "the kernel has lost volume %s", v->name);
		c = copy_of(&k, member);
		whole = volume_health(&k) == HEALTH_WHOLE;
		meshblk_volume_free(&k);
		if (!c.runs)
			return req_fail(r, "member %u of volume %s keeps its place: %s", member, v->name,
					c.why[0] ? c.why : "its copy has ended");
		req_progress(r, "copying", c.done, c.bytes ? c.bytes : 1);
		if (c.done == c.bytes && whole)
			return 0;
		reconcile_locals(&v->uuid);
		sleep_ms(POLL_MS);
	}
}

/* The new extent is a member by the layout in use: until it is by the rosters. */
static int wait_swapped(struct req *r, const struct store_volume *v, u32 member)
{
	u64 until = now_ms() + SWAP_MS;
	struct meshblk_volume k;
	struct copy c;

	while (!stopping() && now_ms() < until) {
		if (kernel_volume(&v->uuid, &k))
			break;
		c = copy_of(&k, member);
		meshblk_volume_free(&k);
		if (!c.runs && !c.why[0])
			return 0;
		/* Nothing is freed: the kernel still uses what the layout does not name. */
		if (!c.runs)
			return req_fail(r, "member %u of volume %s keeps its place, though the layout names another: "
					"%s; the other members have all data: when meshctl volume show says that "
					"they are in sync, detach the volume and attach it", member, v->name, c.why);
		reconcile_locals(&v->uuid);
		sleep_ms(POLL_MS);
	}
	return req_fail(r, "member %u of volume %s has its new place in the layout, and its group does not take "
			"it yet: it does when the other members answer; see meshctl volume show", member, v->name);
}

static int evict_member(struct req *r, struct store_volume *v, struct layout *l, struct layout *next,
			u32 member)
{
	static const int steps[] = {
		CRASH_EXTEND_INTENT, CRASH_NONE, CRASH_NONE, CRASH_EXTEND_READY,
	};
	const char *with = arg_str(r, "with");
	struct segment_req q = { .lba_max = l->lba };
	json_t *drives = with[0] ? json_pack("[s]", with) : NULL;
	char left[REASON];
	int err = may_evict(r, v, l, member);

	q.drives = drives;
	memcpy(next, l, sizeof(*next));
	if (!err)
		err = extents_swap(r, v, next, member, &q, steps);
	json_decref(drives);
	if (err)
		return -1;
	if (volume_must_hold(r, v) || start(r, v, next, member)) {
		intents_drop(&v->uuid, v->name);
		return -1;
	}
	if (wait_copied(r, v, member)) {
		evict_undo(v, member);
		return -1;
	}
	if (replace_swap_in(r, v, l, next, member) || wait_swapped(r, v, member))
		return -1;
	log_info("volume %s: member %u has left its drive, and is on drive %s", v->name, member,
		 muuid_str(&l->member[member].drive).s);
	if (replace_finish(v, l, left))
		log_info("volume %s: %s: its extent is freed when it can be", v->name, left);
	return 0;
}

static int evict(struct req *r, struct store_volume *v, struct layout *l, struct layout *next)
{
	const char *with = arg_str(r, "with");
	const size_t n = strlen(LOCAL_PREFIX);
	int member = replace_named(r, v, l);

	if (member < 0)
		return -1;
	if (!strncmp(with, LOCAL_PREFIX, n))
		return req_fail(r, "a member is not evicted to a local drive: export %s first (meshctl drive export), "
				"then name it without %s", with[n] ? with + n : "one", LOCAL_PREFIX);
	return evict_member(r, v, l, next, member) ? -1 : volume_result(r, &v->uuid);
}

/* The command that waits for the copy undoes the rest. */
static int stop(struct req *r)
{
	struct layout *l __free(free) = malloc(sizeof(*l));
	struct meshblk_volume k;
	struct store_volume v;
	char why[REASON];
	bool runs, named = false;
	int member;
	u32 i;

	if (volume_find(r, &v, l))
		return -1;
	member = replace_named(r, &v, l);
	if (member < 0)
		return -1;
	if (kernel_volume(&v.uuid, &k))
		return req_fail(r, "volume %s is not attached here", v.name);
	runs = copy_of(&k, member).runs;
	for (i = 0; i < k.nr_groups; i++)
		named |= !muuid_null(&k.groups[i].successor) && layout_names(l, &k.groups[i].successor);
	meshblk_volume_free(&k);
	if (named)
		return req_fail(r, "member %d of volume %s has its new place in the layout: its group takes it when "
				"the other members answer", member, v.name);
	if (!runs)
		return req_fail(r, "member %d of volume %s is not being evicted", member, v.name);
	return evict_stop(&v, member, why) ? req_fail(r, "member %d of volume %s: %s", member, v.name, why) :
					     volume_result(r, &v.uuid);
}

int cmd_volume_evict(struct req *r)
{
	if (!arg_bool(r, "stop"))
		return volume_with_next(r, false, evict);
	if (arg_str(r, "with")[0])
		return req_usage(r, "--stop ends an eviction, and goes with no other option");
	return stop(r);
}
