// SPDX-License-Identifier: GPL-2.0-only
/*
 * Once a second: the kernel's answer about each volume with redundancy, against the one before, by
 * plan_health(). Events get words here: names of members come from the layout that the kernel has.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/agent/event.h"
#include "userspace/daemon/report.h"
#include "userspace/daemon/volumes_in.h"
#include "userspace/format/size.h"
#include "userspace/plan/health.h"

#define WATCH_MS	1000

struct watch_out {
	struct muuid extent;
	u32	member;
	bool	reported;
	bool	still;			/* in this pass */
};

struct vol_watch {
	struct plan_health_was was;
	struct watch_out *out;		/* members that are out */
	size_t	outs;
};

/* One pass over a volume. */
struct pass {
	struct volumes *s;
	struct vol *v;
	const struct meshblk_volume *k;
	const struct layout *l;		/* of the kernel's version; NULL: not at hand */
	bool	looked;
	struct obj_attached rec;	/* the layout's owner, where the copy has another one */
	struct plan_health_now now;
	char	name[LAYOUT_NAME];
	const struct meshblk_group *stuck, *joins;
	u32	slot;			/* of @joins */
};

void watch_free(struct vol *v)
{
	if (v->watch)
		free(v->watch->out);
	free(v->watch);
	v->watch = NULL;
}

/* The host's record has it while the store is away, or ahead of the kernel. */
static const struct layout *layout_of(struct pass *p)
{
	const struct key k = { .kind = KEY_VOLUME, .volume = p->v->uuid };
	const struct obj_volume *o;

	if (p->looked)
		return p->l;
	p->looked = true;
	o = copy_obj(p->s->c.copy, &k);
	if (o && o->record && o->record->version == p->k->version)
		p->l = o->record;
	else if (!vol_record_get(p->s, &p->v->uuid, &p->rec) && p->rec.record &&
		 p->rec.record->version == p->k->version)
		p->l = p->rec.record;
	return p->l;
}

/* How many members of a group may be lost. */
static int redundancy(const struct layout *l, const struct meshblk_group *g)
{
	const struct layout_segment *s = &l->segment[g->segment < l->segments ? g->segment : 0];

	return s->level == PROT_EC ? s->parity : s->data - 1;
}

/* How many of them still may; negative: too many are. */
static int redundancy_left(const struct layout *l, const struct meshblk_group *g)
{
	int left = redundancy(l, g);

	for (u32 i = 0; i < g->nr; i++)
		left -= g->roles[i] != MESHBLK_ROLE_IN_SYNC;
	return left;
}

/* Members enough are left, and I/O waits for the store to note one that failed. */
static bool unnoted(const struct layout *l, const struct meshblk_group *g)
{
	bool failed = false;

	for (u32 i = 0; i < g->nr; i++)
		failed |= g->roles[i] == MESHBLK_ROLE_FAILED;
	return failed && g->witness && redundancy_left(l, g) >= 0;
}

static bool is_in(const struct meshblk_group *g, const char *state)
{
	return !strcmp(g->state, state);
}

/*
 * A suspect member whose host answers may be slow alone: an I/O of a second makes it suspect. Of a
 * reader's it may also be that another host writes to it now.
 */
static bool serves(const struct meshblk_volume *k, const struct meshblk_group *g, u32 i)
{
	if (g->roles[i] == MESHBLK_ROLE_SUSPECT && g->members[i] < k->nr_members && !k->readonly)
		return !strcmp(k->members[g->members[i]].state, MESHBLK_STATE_UP);
	return g->roles[i] == MESHBLK_ROLE_IN_SYNC;
}

/*
 * I/O to the group waits: it is not attached, lacks too many members, be it for reads alone, or
 * cannot go on without one that failed. The roster without that one takes a moment, or for ever when
 * it cannot be noted.
 */
static bool is_stuck(struct pass *p, const struct meshblk_group *g)
{
	int lost = 0;

	if (!is_in(g, MESHBLK_STATE_ACTIVE) || g->reason[0])
		return true;
	for (u32 i = 0; i < g->nr; i++) {
		if (g->roles[i] == MESHBLK_ROLE_FAILED)
			return true;
		lost += !serves(p->k, g, i);
	}
	return lost && layout_of(p) && lost > redundancy(p->l, g);
}

/* One that the kernel has stopped goes before others. */
static void find_stuck(struct pass *p)
{
	const struct meshblk_volume *k = p->k;

	p->now.stuck = k->nr_groups;
	p->now.known = true;
	for (u32 i = 0; i < k->nr_groups && !p->now.waits; i++) {
		const struct meshblk_group *g = &k->groups[i];

		p->now.waits = is_in(g, MESHBLK_STATE_WAITING);
		if (p->now.waits || (p->now.stuck == k->nr_groups && is_stuck(p, g)))
			p->now.stuck = i;
	}
	if (p->now.stuck < k->nr_groups)
		p->stuck = &k->groups[p->now.stuck];
	for (u32 i = 0; i < k->nr_groups; i++)
		p->now.known &= is_in(&k->groups[i], MESHBLK_STATE_ACTIVE) ||
				is_in(&k->groups[i], MESHBLK_STATE_WAITING);
}

/* One that takes the place of a member that was out is not in sync at once: that is no event. */
static struct watch_out *note_out(struct vol_watch *w, const struct muuid *extent, u32 member)
{
	struct watch_out *o;
	bool reported = false;

	for (size_t i = 0; i < w->outs; i++) {
		if (muuid_equal(&w->out[i].extent, extent))
			return &w->out[i];
		reported = reported || (w->out[i].member == member && w->out[i].reported);
	}
	o = mesh_grow((void **)&w->out, &w->outs, sizeof(*o));
	if (o)
		*o = (struct watch_out) { .extent = *extent, .member = member, .reported = reported };
	return o;
}

/* A member that is not out any more is an event again when it goes again. */
static void drop_back(struct vol_watch *w)
{
	size_t n = 0;

	for (size_t i = 0; i < w->outs; i++) {
		if (!w->out[i].still)
			continue;
		w->out[n] = w->out[i];
		w->out[n++].still = false;
	}
	w->outs = n;
}

static void see_member(struct pass *p, const struct meshblk_group *g, u32 i)
{
	u8 role = g->roles[i];
	struct watch_out *o;

	p->now.sound &= role == MESHBLK_ROLE_IN_SYNC;
	if (role == MESHBLK_ROLE_JOINING && !p->joins) {
		p->joins = g;
		p->slot = i;
	}
	if (role != MESHBLK_ROLE_OUT || g->members[i] >= p->k->nr_members)
		return;
	o = note_out(p->v->watch, &p->k->members[g->members[i]].extent, g->members[i]);
	if (!o)
		return;
	o->still = true;
	p->now.out |= !o->reported;
}

static void see_members(struct pass *p)
{
	p->now.sound = true;
	for (u32 i = 0; i < p->k->nr_groups; i++)
		for (u32 m = 0; m < p->k->groups[i].nr; m++)
			see_member(p, &p->k->groups[i], m);
	drop_back(p->v->watch);
	p->now.joins = p->joins;
	p->now.named = (p->now.out || p->now.joins) && layout_of(p);
}

/* FNV-1a: two reasons that differ are two events. */
static u64 sum_of(const char *text)
{
	u64 sum = 0xcbf29ce484222325ULL;

	for (; *text; text++)
		sum = (sum ^ (u8)*text) * 0x100000001b3ULL;
	return sum;
}

static void see_work(struct pass *p)
{
	for (u32 i = 0; i < p->k->nr_groups; i++) {
		const struct meshblk_group *g = &p->k->groups[i];

		p->now.scrubs |= g->scrubbing;
		p->now.mismatches += g->mismatches;
		p->now.evicts |= !muuid_null(&g->successor);
		if (g->evict_reason[0] && !p->now.evict_why)
			p->now.evict_why = sum_of(g->evict_reason);
	}
}

static const struct obj_host *host_of(const struct pass *p, const struct layout_member *m)
{
	const struct obj_drive *d = copy_obj(p->s->c.copy, &(struct key) { .kind = KEY_DRIVE, .drive = m->drive });

	return copy_obj(p->s->c.copy, &(struct key) { .kind = KEY_HOST, .host = d ? d->plan.host : m->target });
}

static void begin(const struct pass *p, struct obj_event *e, const char *what)
{
	event_begin(e, &p->s->c.host, what);
	e->volume = p->v->uuid;
}

/* An event of a member, with its words: "member 2 (drive .., host ..)". */
static const struct obj_host *begin_member(const struct pass *p, struct obj_event *e, const char *what, u32 member,
					   char words[160])
{
	const struct layout_member *m = &p->l->member[member];
	const struct obj_host *h = host_of(p, m);

	begin(p, e, what);
	e->drive = m->drive;
	e->details = json_pack("{s:i}", "member", member);
	snprintf(words, 160, "member %u (drive %s, host %s)", member, muuid_str(&m->drive).s,
		 h ? h->name : muuid_str(&m->target).s);
	return h;
}

static void report(const struct pass *p, struct obj_event *e, u32 how)
{
	if (p->s->c.event)
		p->s->c.event(p->s->c.priv, e, how);
	obj_free(KEY_EVENT, e);
}

/* A host in maintenance is away on purpose: that is for the history alone. */
static void report_out(struct pass *p, const struct meshblk_group *g, u32 member)
{
	char words[160], left[48] = "no other one";
	const struct obj_host *h;
	struct obj_event e;
	int n = redundancy_left(p->l, g);

	h = begin_member(p, &e, "degraded", member, words);
	if (n > 0)
		snprintf(left, sizeof(left), "%d more", n);
	event_words(&e, "volume %s is degraded: %s is out; %s of group %u.%u may be lost", p->name, words,
		    left, g->segment, g->column);
	report(p, &e, h && h->plan.maintenance ? REPORT_QUIET : REPORT_WARN);
}

static const struct meshblk_group *group_of(const struct pass *p, u32 member)
{
	for (u32 i = 0; i < p->k->nr_groups; i++)
		for (u32 m = 0; m < p->k->groups[i].nr; m++)
			if (p->k->groups[i].members[m] == member)
				return &p->k->groups[i];
	return NULL;
}

static void report_degraded(struct pass *p)
{
	struct vol_watch *w = p->v->watch;

	for (size_t i = 0; i < w->outs; i++) {
		const struct meshblk_group *g = group_of(p, w->out[i].member);

		if (w->out[i].reported || !g || w->out[i].member >= p->l->members)
			continue;
		report_out(p, g, w->out[i].member);
		w->out[i].reported = true;
	}
}

static void report_down(struct pass *p)
{
	const struct meshblk_group *g = p->stuck;
	struct vol_watch *w = p->v->watch;
	const char *why = g->reason;
	struct obj_event e;

	if (!why[0])
		why = layout_of(p) && unnoted(p->l, g) ?
		      "the cluster store cannot note which members are missing" : "too few members answer";
	begin(p, &e, "down");
	event_words(&e, "volume %s is down: group %u.%u: %s", p->name, g->segment, g->column, why);
	report(p, &e, REPORT_WARN);
	/* When it serves again, what it lacks then is reported. */
	for (size_t i = 0; i < w->outs; i++)
		w->out[i].reported = false;
}

static void report_rebuilding(struct pass *p)
{
	u32 member = p->joins->members[p->slot];
	char words[160], bytes[SIZE_TEXT];
	struct obj_event e;

	if (member >= p->l->members)
		return;
	begin_member(p, &e, "rebuilding", member, words);
	size_text(p->joins->behind[p->slot], bytes);
	event_words(&e, "volume %s is rebuilding: %s is given what it lacks (%s)", p->name, words, bytes);
	report(p, &e, 0);
}

static void report_healed(struct pass *p)
{
	struct obj_event e;

	begin(p, &e, "healed");
	event_words(&e, "volume %s is whole again", p->name);
	report(p, &e, 0);
}

static void report_mismatches(struct pass *p)
{
	struct obj_event e;
	u64 repaired = 0;

	for (u32 i = 0; i < p->k->nr_groups; i++)
		repaired += p->k->groups[i].repaired;
	begin(p, &e, "mismatches");
	event_words(&e, "a scrub of volume %s found %llu sectors that differ, and wrote %llu again: meshctl volume "
		    "show %s lists where", p->name, (unsigned long long)p->now.mismatches,
		    (unsigned long long)repaired, p->name);
	report(p, &e, REPORT_WARN);
}

static void report_evict(struct pass *p)
{
	const struct meshblk_group *g = p->k->groups;
	struct obj_event e;

	while (!g->evict_reason[0])
		g++;
	begin(p, &e, "evict");
	event_words(&e, "volume %s: the copy of a member of group %u.%u to another drive has ended: %s",
		    p->name, g->segment, g->column, g->evict_reason);
	report(p, &e, REPORT_WARN);
}

static void watch_one(struct volumes *s, struct vol *v, u64 now_ms)
{
	static void (*const reports[])(struct pass *p) = {
		report_degraded, report_down, report_rebuilding, report_healed, report_mismatches, report_evict,
	};
	struct pass p = { .s = s, .v = v, .k = &v->k, .now = { .ms = now_ms, .groups = v->k.nr_groups } };
	u32 events;

	find_stuck(&p);
	see_members(&p);
	see_work(&p);
	events = plan_health(&v->watch->was, &p.now);
	if (events)
		volumes_name(s, &v->uuid, p.name);
	for (size_t i = 0; i < sizeof(reports) / sizeof(*reports); i++)
		if (events & 1u << i)
			reports[i](&p);
	obj_free(OBJ_ATTACHED, &p.rec);
}

void watch_fenced(struct volumes *s, struct vol *v)
{
	const struct obj_host *h = copy_obj(s->c.copy, &(struct key) { .kind = KEY_HOST, .host = v->k.fencer });
	struct pass p = { .s = s, .v = v };
	struct obj_event e;

	if (v->fenced)
		return;
	v->fenced = true;
	volumes_name(s, &v->uuid, p.name);
	begin(&p, &e, "fenced");
	event_words(&e, "volume %s was attached by host %s since: its disk here is dead, and what was not "
		    "acknowledged may be lost", p.name, h ? h->name : muuid_str(&v->k.fencer).s);
	report(&p, &e, REPORT_WARN | REPORT_STORED);
}

/* False: nothing of it is watched now. */
static bool watched(struct volumes *s, struct vol *v)
{
	/* What the kernel does by itself makes no event of the volume. */
	v->known = false;
	if (vol_look(s, v))
		return false;
	if (!v->there || !v->k.nr_groups || !v->k.numbered || !strcmp(v->k.state, MESHBLK_STATE_FENCED) ||
	    !strcmp(v->k.state, MESHBLK_STATE_REMOVING)) {
		watch_free(v);
		return false;
	}
	if (!v->watch)
		v->watch = calloc(1, sizeof(*v->watch));
	return v->watch;
}

void volumes_watch(struct volumes *s, u64 now_ms)
{
	if (!s->m || now_ms - s->watch_ms < WATCH_MS)
		return;
	s->watch_ms = now_ms;
	for (struct vol *v = s->vol; v; v = v->next)
		if (watched(s, v))
			watch_one(s, v, now_ms);
}
