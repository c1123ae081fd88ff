// SPDX-License-Identifier: GPL-2.0-only
/*
 * What becomes of volumes with redundancy, as events:
 *
 *              a member more is out                  too few are left
 *   whole ------------------------------> degraded ------------------> down
 *     ^                                    |    ^                       |
 *     |  all in sync     one gets data     |    '-- enough are back ----'
 *     '------------- rebuilding <----------'
 *
 * A volume that is first seen counts as whole: what it lacks is reported once after each start of
 * meshd. A group that is being attached is not judged yet.
 *
 * The kernel stops a group only when I/O has waited for long, and begins to attach it again at once.
 * So a group is down by how long it has not served: too few of its members answer, or it is attached.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/format/size.h"
#include "userspace/machine/guard.h"
#include "userspace/meshd/event.h"
#include "userspace/meshd/watch.h"

#define DOWN_MS		10000	/* a link that pauses, or another layout, takes less */
#define ATTACH_MS	60000	/* the first attach may wait for members */

struct out {
	struct muuid extent;
	u32	member;
	u64	since;
	bool	said;
	bool	still;			/* in this pass */
};

struct watched {
	struct watched *next;
	struct muuid volume;
	bool	seen;			/* in this pass */
	bool	old;			/* ... and in one before */
	enum health said;		/* what was reported last */
	u32	served;			/* groups that did; those behind them are attached to begin with */
	u64	stuck;			/* since when a group does not serve; 0: all do */
	u64	fell;			/* ... of those that did */
	bool	joining;		/* ... of members that are given data */
	bool	scrubs;
	u64	mismatches;		/* of all groups */
	struct out *out;		/* members that are out */
	size_t	nr_out;
};

static struct watched *all;

static struct watched *find(const struct muuid *volume)
{
	struct watched *w;

	for (w = all; w && !muuid_equal(&w->volume, volume); w = w->next)
		;
	return w;
}

static struct watched *find_or_add(const struct muuid *volume)
{
	struct watched *w = find(volume);

	if (w)
		return w;
	w = calloc(1, sizeof(*w));
	if (!w)
		return NULL;
	w->volume = *volume;
	w->said = HEALTH_WHOLE;
	w->next = all;
	all = w;
	return w;
}

void watch_done(void)
{
	struct watched **p = &all, *w;

	while ((w = *p)) {
		if (w->seen) {
			w->seen = false;
			p = &w->next;
			continue;
		}
		*p = w->next;
		free(w->out);
		free(w);
	}
}

u64 watch_out_since(const struct muuid *volume, const struct muuid *extent)
{
	const struct watched *w = find(volume);
	size_t i;

	for (i = 0; w && i < w->nr_out; i++)
		if (muuid_equal(&w->out[i].extent, extent))
			return w->out[i].since;
	return 0;
}

void watch_words(const struct layout *l, u32 member, char *out, size_t size)
{
	const struct layout_member *m = &l->member[member];
	struct store_host h;

	snprintf(out, size, "member %u (drive %s, host %s)", member, muuid_str(&m->drive).s,
		 peer_of_member(m, &h) ? m->addr : h.name);
}

/* One event in the making, and what its words come from. */
struct report {
	const struct store_volume *v;
	const struct meshblk_volume *k;
	struct layout *l;		/* read when a pass first wants it; NULL: not yet */
	bool	fits;			/* it is the one that the kernel has */
	struct event e;
};

/* Of the volume as a whole; its text is still to be written. */
static struct event *begin(struct report *r, enum event_kind kind)
{
	r->e = (struct event) { .kind = kind, .uuid = r->v->uuid };
	snprintf(r->e.volume, sizeof(r->e.volume), "%s", r->v->name);
	return &r->e;
}

/* false: the store has another layout by now. */
static bool read_layout(struct report *r)
{
	struct store_volume now;

	if (r->l)
		return r->fits;
	r->l = malloc(sizeof(*r->l));
	r->fits = r->l && !store_volume_get(&r->v->uuid, &now, r->l) && now.version == r->k->version;
	return r->fits;
}

/* The same of a member, with its words; false: its layout cannot be had. */
static bool begin_member(struct report *r, enum event_kind kind, u32 member, char *words, size_t size)
{
	begin(r, kind);
	if (!read_layout(r) || member >= r->l->members)
		return false;
	snprintf(r->e.member, sizeof(r->e.member), "%u", member);
	r->e.drive = r->l->member[member].drive;
	watch_words(r->l, member, words, size);
	return true;
}

static const struct muuid *extent_of(const struct meshblk_volume *k, const struct meshblk_group *g,
				     u32 i)
{
	return g->members[i] < k->nr_members ? &k->members[g->members[i]].extent : NULL;
}

/* A report that cannot be made yet is made at a later pass. */
static bool say_degraded(struct report *r, const struct meshblk_group *g, u32 member)
{
	char words[160], left[48] = "no other one";
	struct event *e = &r->e;
	int n;

	if (!begin_member(r, EVENT_DEGRADED, member, words, sizeof(words)))
		return false;
	n = group_redundancy_left(r->l, g);
	if (n > 0)
		snprintf(left, sizeof(left), "%d more", n);
	snprintf(e->text, sizeof(e->text), "volume %s is degraded: %s is out; %s of group %u.%u may be lost",
		 r->v->name, words, left, g->segment, g->column);
	event_report(e);
	return true;
}

static bool say_rebuilding(struct report *r, const struct meshblk_group *g, u32 i)
{
	char words[160], bytes[SIZE_TEXT];
	struct event *e = &r->e;

	if (!begin_member(r, EVENT_REBUILDING, g->members[i], words, sizeof(words)))
		return false;
	size_text(g->behind[i], bytes);
	snprintf(e->text, sizeof(e->text), "volume %s is rebuilding: %s is given what it lacks (%s)",
		 r->v->name, words, bytes);
	event_report(e);
	return true;
}

static void say_down(struct report *r, const struct meshblk_group *g)
{
	struct event *e = begin(r, EVENT_DOWN);
	const char *why = g->reason;

	if (!why[0])
		why = read_layout(r) && group_unnoted(r->l, g) ?
		      "meshd cannot note which members are missing" : "too few members answer";
	snprintf(e->text, sizeof(e->text), "volume %s is down: group %u.%u: %s", r->v->name, g->segment,
		 g->column, why);
	event_report(e);
}

static bool is_in(const struct meshblk_group *g, const char *state)
{
	return !strcmp(g->state, state);
}

/*
 * One that is suspect, and whose host answers, may just be slow: an I/O of a second makes it that. Of a
 * reader's it may also be that another host writes to it now.
 */
static bool serves(const struct meshblk_volume *k, const struct meshblk_group *g, u32 i)
{
	if (g->roles[i] == MESHBLK_ROLE_SUSPECT && g->members[i] < k->nr_members && !k->readonly)
		return !strcmp(k->members[g->members[i]].state, MESHBLK_STATE_UP);
	return g->roles[i] == MESHBLK_ROLE_IN_SYNC;
}

/*
 * Whether I/O to the group waits: it is not attached, lacks too many members, be it for reads
 * alone, or cannot go on without one that failed. The roster without that one takes a moment, or for
 * ever when it cannot be noted.
 */
static bool is_stuck(struct report *r, const struct meshblk_group *g)
{
	int lost = 0;
	u32 i;

	if (!is_in(g, MESHBLK_STATE_ACTIVE) || g->reason[0])
		return true;
	for (i = 0; i < g->nr; i++) {
		if (g->roles[i] == MESHBLK_ROLE_FAILED)
			return true;
		lost += !serves(r->k, g, i);
	}
	return lost && read_layout(r) && lost > group_redundancy(r->l, g);
}

/* The first group that does not serve, one that the kernel has stopped before others; NULL: all do. */
static const struct meshblk_group *find_stuck(struct report *r)
{
	const struct meshblk_group *stuck = NULL;
	u32 i;

	for (i = 0; i < r->k->nr_groups; i++) {
		if (is_in(&r->k->groups[i], MESHBLK_STATE_WAITING))
			return &r->k->groups[i];
		if (!stuck && is_stuck(r, &r->k->groups[i]))
			stuck = &r->k->groups[i];
	}
	return stuck;
}

/* @g: a group of @k that does not serve, or NULL. */
static bool is_down(struct watched *w, const struct meshblk_volume *k, const struct meshblk_group *g, u64 now)
{
	if (!g)
		w->served = k->nr_groups;
	if (!g || g - k->groups >= w->served)
		w->fell = 0;
	else if (!w->fell)
		w->fell = now;
	if (!g)
		w->stuck = 0;
	else if (!w->stuck)
		w->stuck = now;
	return g && (w->said == HEALTH_DOWN || is_in(g, MESHBLK_STATE_WAITING) ||
		     (w->fell && now - w->fell >= DOWN_MS) || now - w->stuck >= ATTACH_MS);
}

/* What roles say of members: nothing while a group is attached. */
static bool roles_known(const struct meshblk_volume *k)
{
	u32 i;

	for (i = 0; i < k->nr_groups; i++)
		if (!is_in(&k->groups[i], MESHBLK_STATE_ACTIVE) && !is_in(&k->groups[i], MESHBLK_STATE_WAITING))
			return false;
	return true;
}

/* One that takes the place of a member that was out is not in sync at once: that is no event. */
static struct out *note_out(struct watched *w, const struct muuid *extent, u32 member, u64 now)
{
	bool said = false;
	struct out *o;
	size_t i;

	for (i = 0; i < w->nr_out; i++) {
		if (muuid_equal(&w->out[i].extent, extent))
			return &w->out[i];
		said = said || (w->out[i].member == member && w->out[i].said);
	}
	o = mesh_grow((void **)&w->out, &w->nr_out, sizeof(*o));
	if (o)
		*o = (struct out) { .extent = *extent, .member = member, .since = now, .said = said };
	return o;
}

/* What is not out any more begins again when it goes again. */
static void drop_back(struct watched *w)
{
	size_t i, n = 0;

	for (i = 0; i < w->nr_out; i++) {
		if (!w->out[i].still)
			continue;
		w->out[n] = w->out[i];
		w->out[n++].still = false;
	}
	w->nr_out = n;
}

/* What a pass over the members finds. */
struct found_roles {
	bool	sound;			/* all are in sync */
	const struct meshblk_group *joins;	/* one that is given data; NULL: none */
	u32	slot;
};

static struct found_roles members(struct watched *w, struct report *r, bool serves, u64 now)
{
	struct found_roles f = { .sound = true };
	const struct muuid *extent;
	struct out *o;
	u32 i, m;

	for (i = 0; i < r->k->nr_groups; i++) {
		const struct meshblk_group *g = &r->k->groups[i];

		for (m = 0; m < g->nr; m++) {
			f.sound = f.sound && g->roles[m] == MESHBLK_ROLE_IN_SYNC;
			if (g->roles[m] == MESHBLK_ROLE_JOINING && !f.joins) {
				f.joins = g;
				f.slot = m;
			}
			extent = extent_of(r->k, g, m);
			o = g->roles[m] == MESHBLK_ROLE_OUT && extent ?
			    note_out(w, extent, g->members[m], now) : NULL;
			if (!o)
				continue;
			o->still = true;
			if (serves && !o->said && say_degraded(r, g, g->members[m])) {
				o->said = true;
				w->said = HEALTH_DEGRADED;
			}
		}
	}
	drop_back(w);
	return f;
}

static void report_down(struct watched *w, struct report *r, const struct meshblk_group *g)
{
	size_t i;

	if (w->said != HEALTH_DOWN)
		say_down(r, g);
	w->said = HEALTH_DOWN;
	/* When it serves again, what it lacks then is reported. */
	for (i = 0; i < w->nr_out; i++)
		w->out[i].said = false;
	w->joining = false;
}

static void health_step(struct watched *w, struct report *r, u64 now)
{
	const struct meshblk_group *stuck = find_stuck(r);
	bool down = is_down(w, r->k, stuck, now), known = roles_known(r->k);
	struct found_roles f = { 0 };

	if (known)
		f = members(w, r, !down, now);
	if (down)
		report_down(w, r, stuck);
	if (down || !known)
		return;
	/* So that it is said again when it is down again. */
	if (w->said == HEALTH_DOWN && !f.sound)
		w->said = HEALTH_DEGRADED;
	if (f.joins && !w->joining && say_rebuilding(r, f.joins, f.slot)) {
		w->joining = true;
		w->said = HEALTH_REBUILDING;
	}
	w->joining = w->joining && f.joins;
	if (!f.sound || w->said == HEALTH_WHOLE)
		return;
	w->said = HEALTH_WHOLE;
	begin(r, EVENT_HEALED);
	snprintf(r->e.text, sizeof(r->e.text), "volume %s is whole again", r->v->name);
	event_report(&r->e);
}

/* Of a scrub that ended before this meshd began it is not known whether it was reported. */
static void scrub_step(struct watched *w, struct report *r)
{
	u64 found = 0, repaired = 0;
	bool scrubs = false, ended;
	u32 i;

	for (i = 0; i < r->k->nr_groups; i++) {
		scrubs = scrubs || r->k->groups[i].scrubbing;
		found += r->k->groups[i].mismatches;
		repaired += r->k->groups[i].repaired;
	}
	ended = !scrubs && w->old && found && (w->scrubs || found != w->mismatches);
	w->scrubs = scrubs;
	if (!scrubs)
		w->mismatches = found;
	if (!ended)
		return;
	begin(r, EVENT_MISMATCHES);
	snprintf(r->e.text, sizeof(r->e.text), "a scrub of volume %s found %llu sectors that differ, and wrote "
		 "%llu again: meshctl volume show %s lists where", r->v->name, (unsigned long long)found,
		 (unsigned long long)repaired, r->v->name);
	event_report(&r->e);
}

void watch_volume(const struct store_volume *v, const struct meshblk_volume *k, u64 now)
{
	struct report r = { .v = v, .k = k };
	struct watched *w = k->nr_groups ? find_or_add(&v->uuid) : NULL;

	if (!w)
		return;
	w->seen = true;
	health_step(w, &r, now);
	scrub_step(w, &r);
	w->old = true;
	free(r.l);
}
