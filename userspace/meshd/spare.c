// SPDX-License-Identifier: GPL-2.0-only
/*
 * A member of a group that is out, and stays so, is replaced as meshctl volume replace does it:
 *
 *   out --- spare_delay ---> due --- a drive fits ---> replaced: the volume's next version counts it
 *    |                        ^ |
 *    '-> it is back:          | '- none does: said once, tried again in a while,
 *        nothing is done      '-   or when a host comes or goes
 *
 * The delay begins with the pass that sees the member out: a restart of meshd begins it again.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/machine/guard.h"
#include "userspace/meshd/busy.h"
#include "userspace/meshd/event.h"
#include "userspace/meshd/spare.h"
#include "userspace/meshd/watch.h"

#define SPARE_AGAIN_MS	60000

/* A volume one of whose members was due. */
struct spare {
	struct spare *next;
	struct muuid volume;
	bool	seen;			/* in this pass */
	bool	runs;			/* a thread works on it */
	u64	not_before;		/* after one that failed */
	char	said[sizeof(((struct req *)0)->error)];	/* why that was */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct spare *spares;

bool spare_allowed(const struct layout *l)
{
	return layout_protected(l) && (D.spare_auto || layout_spares_left(l));
}

/* Members of a group that are not in sync. */
static u32 lacks(const struct meshblk_group *g)
{
	u32 i, n = 0;

	for (i = 0; i < g->nr; i++)
		n += g->roles[i] != MESHBLK_ROLE_IN_SYNC;
	return n;
}

/* What is at work on it is finished first: the last member that was replaced has its place by then. */
static bool at_work(const struct meshblk_volume *k)
{
	u32 i, m;

	if (groups_wait(k, MESH_NO_MEMBER))
		return true;
	for (i = 0; i < k->nr_groups; i++) {
		if (k->groups[i].scrubbing)
			return true;
		for (m = 0; m < k->groups[i].nr; m++)
			if (k->groups[i].roles[m] == MESHBLK_ROLE_JOINING)
				return true;
	}
	return false;
}

u32 spare_due(const struct meshblk_volume *k, const u64 *since, u64 now, u64 delay_ms)
{
	u32 i, m, x, due = MESH_NO_MEMBER, most = 0;

	if (at_work(k))
		return MESH_NO_MEMBER;
	for (i = 0; i < k->nr_groups; i++) {
		const struct meshblk_group *g = &k->groups[i];

		if (strcmp(g->state, MESHBLK_STATE_ACTIVE))
			continue;
		for (m = 0; m < g->nr; m++) {
			x = g->members[m];
			if (g->roles[m] != MESHBLK_ROLE_OUT || x >= k->nr_members || !since[x] ||
			    now < since[x] || now - since[x] < delay_ms)
				continue;
			if (lacks(g) < most || (lacks(g) == most && since[x] >= since[due]))
				continue;
			most = lacks(g);
			due = x;
		}
	}
	return due;
}

static struct spare *spare_find(const struct muuid *volume)
{
	struct spare *s;

	for (s = spares; s && !muuid_equal(&s->volume, volume); s = s->next)
		;
	return s;
}

void spare_done(void)
{
	struct spare **p = &spares, *s;

	guard(&lock);
	while ((s = *p)) {
		if (s->seen || s->runs) {
			s->seen = false;
			p = &s->next;
			continue;
		}
		*p = s->next;
		free(s);
	}
}

void spare_again(void)
{
	struct spare *s;

	guard(&lock);
	for (s = spares; s; s = s->next)
		s->not_before = 0;
}

/* What it came to last time counts as long as a member is out. */
static void spare_keep(const struct muuid *volume)
{
	struct spare *s;

	guard(&lock);
	s = spare_find(volume);
	if (s)
		s->seen = true;
}

/* Whether it is to be tried now; then it runs until spare_end(). */
static bool spare_begin(const struct muuid *volume, u64 now)
{
	struct spare *s;

	guard(&lock);
	s = spare_find(volume);
	if (!s) {
		s = calloc(1, sizeof(*s));
		if (!s)
			return false;
		s->volume = *volume;
		s->next = spares;
		spares = s;
	}
	s->seen = true;
	if (s->runs || now < s->not_before)
		return false;
	s->runs = true;
	return true;
}

/* @why: what failed; "": nothing did. Whether that is another thing than last time. */
static bool spare_end(const struct muuid *volume, const char *why)
{
	struct spare *s;
	bool other;

	guard(&lock);
	s = spare_find(volume);
	if (!s)
		return false;
	s->runs = false;
	s->not_before = why[0] ? now_ms() + SPARE_AGAIN_MS : 0;
	other = strcmp(s->said, why);
	snprintf(s->said, sizeof(s->said), "%s", why);
	return other;
}

/* One member that is due, for the thread that replaces it. */
struct spare_job {
	struct muuid volume;
	struct muuid extent;
	u32	member;
	char	name[LAYOUT_NAME];
};

/*
 * Whether it is done, by what the store has: a command that fails late may have come that far.
 * Then it is reported.
 */
static bool replaced(const struct spare_job *j)
{
	struct layout *l __free(free) = malloc(sizeof(*l));
	struct event e = { .kind = EVENT_SPARE, .uuid = j->volume };
	struct store_volume v;
	char words[160], left[48] = "";

	if (!l || store_volume_get(&j->volume, &v, l) || j->member >= l->members ||
	    muuid_equal(&l->member[j->member].extent, &j->extent))
		return false;
	if (l->spares)
		snprintf(left, sizeof(left), "; %u of %u spares are left", layout_spares_left(l), l->spares);
	memcpy(e.volume, v.name, sizeof(e.volume));
	snprintf(e.member, sizeof(e.member), "%u", j->member);
	e.drive = l->member[j->member].drive;
	watch_words(l, j->member, words, sizeof(words));
	snprintf(e.text, sizeof(e.text), "volume %s: a spare takes the place of a lost member: it is %s now%s",
		 v.name, words, left);
	event_report(&e);
	return true;
}

/* The command's own way: its checks, the volume's name in the table of busy ones, its steps. */
static void *spare_thread(void *arg)
{
	struct spare_job *j __free(free) = arg;
	struct req r = { .fd = -1 };
	bool done;

	r.args = json_pack("{s:s, s:s}", "volume", muuid_str(&j->volume).s, "member",
			   muuid_str(&j->extent).s);
	if (r.args)
		cmd_volume_replace(&r);
	else
		req_fail(&r, "out of memory");
	done = replaced(j);
	if (spare_end(&j->volume, done ? "" : r.error) && !done)
		log_warn("volume %s: member %u is lost, and no spare is used for it: %s", j->name, j->member,
			 r.error);
	json_decref(r.result);
	json_decref(r.args);
	reconcile_kick();
	return NULL;
}

static void start(const struct store_volume *v, const struct layout *l, u32 member)
{
	struct spare_job *j = malloc(sizeof(*j));

	if (j) {
		*j = (struct spare_job) { .volume = v->uuid, .extent = l->member[member].extent,
					  .member = member };
		memcpy(j->name, v->name, sizeof(j->name));
		if (!thread_start(spare_thread, j))
			return;
	}
	free(j);
	spare_end(&v->uuid, "out of memory");
}

/* What a command on the volume would be refused for, or wait for, is waited for here. */
static bool ready(const struct store_volume *v, const struct meshblk_volume *k)
{
	return v->attached && !v->readonly && !v->pending && !strcmp(k->state, MESHBLK_STATE_ACTIVE) &&
	       !groups_evict(k) && !busy_is(&v->uuid);
}

void spare_check(const struct store_volume *v, const struct meshblk_volume *k, u64 now)
{
	struct layout *l __free(free) = NULL;
	struct store_volume full;
	u64 since[PROT_MEMBERS_MAX] = { 0 }, any = 0;
	u32 i, due;

	for (i = 0; i < k->nr_members && i < PROT_MEMBERS_MAX; i++) {
		since[i] = watch_out_since(&v->uuid, &k->members[i].extent);
		any |= since[i];
	}
	if (any)
		spare_keep(&v->uuid);
	if (!any || !ready(v, k))
		return;
	due = spare_due(k, since, now, D.spare_delay * 1000ULL);
	l = due == MESH_NO_MEMBER ? NULL : malloc(sizeof(*l));
	if (!l || store_volume_get(&v->uuid, &full, l) || full.version != k->version ||
	    due >= l->members || !spare_allowed(l))
		return;
	if (spare_begin(&v->uuid, now))
		start(v, l, due);
}
