// SPDX-License-Identifier: GPL-2.0-only
/* meshctl volume scrub, wait: what the groups of a volume do in the background. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/meshd/volume.h"

#define POLL_MS		300
#define STUCK_MS	120000	/* a region of a GiB takes a slow member that long */

/* Bytes done and to do, of all members and groups. */
struct work_left {
	u64	behind;		/* to be given to members */
	u64	copied, copies;	/* of members that leave */
	u64	scrubbed, bytes;
	bool	scrubs;
};

/* What was seen while waiting. */
struct wait {
	u64	most;		/* bytes that were missing, at most */
	u64	behind;		/* those that are ... */
	u64	since;		/* ... since that time, while some cannot be read; now_ms() */
};

static struct work_left work_left(const struct meshblk_volume *k)
{
	struct work_left w = { 0 };
	u32 i, m;

	for (i = 0; i < k->nr_groups; i++) {
		const struct meshblk_group *g = &k->groups[i];

		for (m = 0; m < g->nr; m++)
			w.behind += g->behind[m];
		w.copied += g->copied;
		w.copies += g->copy_bytes;
		w.scrubs = w.scrubs || g->scrubbing;
		w.bytes += g->scrubbing || g->scrubbed ? g->bytes : 0;
		w.scrubbed += g->scrubbing ? g->scrubbed : g->scrubbed ? g->bytes : 0;
	}
	return w;
}

/* A place that keeps a member from being made whole, in words. */
static bool unread_why(const struct meshblk_volume *k, char *why)
{
	const struct mesh_diff *d;
	u32 i;

	for (i = 0; i < k->nr_groups; i++) {
		d = k->groups[i].unread;
		if (!k->groups[i].nr_unread)
			continue;
		snprintf(why, REASON, "member %d lacks %u bytes at byte %llu of its data, which no other "
			 "member can read", (int)d->member, d->length, (unsigned long long)d->addr);
		return true;
	}
	return false;
}

/* What is waited for, in words, with its progress; false: nothing. */
static bool to_wait(struct req *r, const struct layout *l, const struct meshblk_volume *k,
		    struct wait *wait, char *why)
{
	enum health h = volume_health(k);
	struct work_left w = work_left(k);

	/* It is being attached. */
	if (h == HEALTH_NONE && layout_protected(l))
		h = HEALTH_DOWN;
	wait->most = w.behind > wait->most ? w.behind : wait->most;
	if (w.behind != wait->behind || !wait->since || !unread_why(k, why))
		wait->since = now_ms();
	wait->behind = w.behind;
	snprintf(why, REASON, "waiting for its groups");
	if (h == HEALTH_REBUILDING)
		snprintf(why, REASON, "rebuilding");
	else if (h > HEALTH_WHOLE)
		groups_why(l, k, why, REASON);
	if (h > HEALTH_WHOLE) {
		req_progress(r, why, wait->most - w.behind, wait->most ? wait->most : 1);
		return true;
	}
	if (w.copies) {
		snprintf(why, REASON, "copying a member that leaves");
		req_progress(r, why, w.copied, w.copies);
		return true;
	}
	if (w.scrubs) {
		snprintf(why, REASON, "scrubbing");
		req_progress(r, why, w.scrubbed < w.bytes ? w.scrubbed : w.bytes, w.bytes ? w.bytes : 1);
	}
	return w.scrubs;
}

/* One poll: 1 when there is nothing to wait for. */
static int wait_step(struct req *r, const struct store_volume *v, const struct layout *l,
		     struct wait *wait, char *why)
{
	struct meshblk_volume k;
	bool more, stuck;

	if (kernel_volume(&v->uuid, &k))
		return req_fail(r, "volume %s is not attached here; attach it first", v->name);
	more = to_wait(r, l, &k, wait, why);
	stuck = more && now_ms() - wait->since >= STUCK_MS && unread_why(&k, why);
	meshblk_volume_free(&k);
	if (stuck)
		return req_fail(r, "volume %s cannot be made whole: %s; it is when something is written there, "
				"or a member that has it is back", v->name, why);
	return !more;
}

int cmd_volume_wait(struct req *r)
{
	struct layout *l __free(free) = malloc(sizeof(*l));
	u64 seconds = arg_num(r, "timeout"), until = now_ms() + seconds * 1000;
	struct wait wait = { 0 };
	struct store_volume v;
	char why[REASON];
	int err;

	if (volume_find(r, &v, l))
		return -1;
	while (!(err = wait_step(r, &v, l, &wait, why))) {
		if (stopping())
			return req_fail(r, "meshd is being stopped; what runs goes on: wait again once it is back");
		if (req_cancelled(r))
			return req_fail(r, "cancelled");
		if (seconds && now_ms() >= until)
			return req_fail(r, "volume %s is not done after %llu s: %s; wait longer, or see meshctl "
					"volume show %s", v.name, (unsigned long long)seconds, why, v.name);
		sleep_ms(POLL_MS);
	}
	return err < 0 ? -1 : 0;
}

/* Whether @member is one of a mirror: what it has may be taken for right. */
static bool is_copy(const struct layout *l, u32 member)
{
	u32 i, k;

	for (i = 0; i < l->segments; i++) {
		const struct layout_segment *s = &l->segment[i];

		if (!layout_mirrors(s->level))
			continue;
		for (k = s->first_ref; k < s->first_ref + s->refs; k++)
			if (l->ref[k].member == member)
				return true;
	}
	return false;
}

/* Its index, or -1 after req_fail(). */
static int member_wanted(struct req *r, const struct layout *l, const char *what)
{
	int member = member_named(l, what);

	return member >= 0 ? member :
	       req_fail(r, "there is no member %.100s, or several like it; meshctl volume show numbers them", what);
}

/* Whether a mirror has two copies that are compared: where they differ, neither is known to be right. */
static bool two_copies(const struct store_volume *v, const struct layout *l)
{
	struct meshblk_volume k;
	bool two = false;
	u32 i, m, n;

	for (i = 0; i < l->segments; i++)
		two = two || (layout_mirrors(l->segment[i].level) && l->segment[i].data == 2);
	if (two || kernel_volume(&v->uuid, &k))
		return two;
	for (i = 0; i < k.nr_groups; i++) {
		const struct meshblk_group *g = &k.groups[i];

		for (m = n = 0; m < g->nr; m++)
			n += g->roles[m] == MESHBLK_ROLE_IN_SYNC;
		two = two || (n == 2 && g->segment < l->segments &&
			      layout_mirrors(l->segment[g->segment].level));
	}
	meshblk_volume_free(&k);
	return two;
}

static int scrub_options(struct req *r, const struct store_volume *v, const struct layout *l,
			 struct mesh_scrub *s)
{
	const char *from = arg_str(r, "from");
	int member;

	*s = (struct mesh_scrub) { .stop = arg_bool(r, "stop"), .repair = arg_bool(r, "repair") };
	if (!from[0] && s->repair && two_copies(v, l))
		return req_fail(r, "volume %s is not repaired: of two copies that differ nothing says which is "
				"right; find that out, and add --from MEMBER", v->name);
	if (!from[0])
		return 0;
	member = member_wanted(r, l, from);
	if (member < 0)
		return -1;
	if (!is_copy(l, member))
		return req_fail(r, "member %d is no copy of a mirror: leave out --from, and what the others say "
				"of it counts", member);
	s->from = true;
	s->index = member;
	return 0;
}

static int scrub(struct req *r, const struct store_volume *v, const struct mesh_scrub *s)
{
	struct mesh *m __free(mesh_close) = mesh_open();
	int err = m ? meshblk_volume_scrub(m, &v->uuid, s) : -ENOMEM;

	if (err == -ENOENT)
		return req_fail(r, "volume %s is not attached here; attach it first", v->name);
	return err ? req_fail(r, "volume %s is not scrubbed: %s", v->name, m ? mesh_why(m) :
			      "no memory") : 0;
}

int cmd_volume_rejoin(struct req *r)
{
	struct mesh *m __free(mesh_close) = mesh_open();
	struct layout *l __free(free) = malloc(sizeof(*l));
	struct store_volume v;
	int err, member;

	if (volume_find(r, &v, l))
		return -1;
	member = member_wanted(r, l, arg_str(r, "member"));
	if (member < 0)
		return -1;
	err = m ? meshblk_volume_rejoin(m, &v.uuid, member) : -ENOMEM;
	if (err == -ENOENT)
		return req_fail(r, "volume %s is not attached here; attach it first", v.name);
	return err ? req_fail(r, "member %d of volume %s is not let in: %s", member, v.name,
			      m ? mesh_why(m) : "no memory") : 0;
}

/* Every volume with groups that is attached here. One that cannot be is noted; the others go on. */
static int scrub_all(struct req *r)
{
	struct layout *l __free(free) = NULL;
	struct store_volume *all __free(free) = NULL, v;
	struct mesh_scrub s;
	size_t i, n = 0;
	int err = store_volumes(&all, &n);

	l = err ? NULL : malloc(sizeof(*l));
	if (!l)
		return req_fail(r, "%s", store_words(err ? err : -ENOMEM));
	for (i = 0; i < n; i++) {
		if (!all[i].attached || store_volume_get(&all[i].uuid, &v, l) || !layout_protected(l))
			continue;
		if (!scrub_options(r, &v, l, &s) && !scrub(r, &v, &s))
			continue;
		req_note(r, "%s", r->error);
		r->error[0] = 0;
		r->status = 0;
		err = -1;
	}
	return err ? req_fail(r, "not every volume is scrubbed") : 0;
}

int cmd_volume_scrub(struct req *r)
{
	struct layout *l __free(free) = NULL;
	bool timer = arg_bool(r, "timer"), all = timer || arg_bool(r, "all");
	bool from = arg_str(r, "from")[0], repair = arg_bool(r, "repair");
	const char *what = arg_str(r, "volume");
	struct store_volume v;
	struct mesh_scrub s;

	if (timer && D.scrub_never)
		return 0;
	if (arg_bool(r, "stop") && (repair || from))
		return req_usage(r, "--stop ends a scrub, and goes with no other option");
	if (from && !repair)
		return req_usage(r, "--from says what --repair writes; add --repair");
	if (all == !!what[0] || (all && from))
		return req_usage(r, all ? "--all scrubs every volume: leave out its name and --from" :
				 "name a volume, or add --all");
	if (all)
		return scrub_all(r);
	l = malloc(sizeof(*l));
	if (volume_find(r, &v, l))
		return -1;
	if (!layout_protected(l))
		return req_fail(r, "volume %s has no redundancy: there is nothing to compare", v.name);
	if (scrub_options(r, &v, l, &s))
		return -1;
	return scrub(r, &v, &s);
}
