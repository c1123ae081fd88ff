// SPDX-License-Identifier: GPL-2.0-only
/*
 * cluster status: one line, then what is wrong and what to type.
 *
 *   trouble    data is not reachable, or the cluster decides nothing
 *   degraded   all is reachable, and something is away, lacks copies, or has failed
 *   ok
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "userspace/agent/spare.h"
#include "userspace/daemon/api_in.h"
#include "userspace/format/json.h"

enum grade { GRADE_OK, GRADE_DEGRADED, GRADE_TROUBLE };

struct report {
	const struct api *a;
	json_t	*problems;
	enum grade worst;
	u32	hosts, hosts_up, drives, drives_up, volumes, volumes_whole, attached, tasks, waiting;
};

/* @todo: what to type; NULL: nothing. */
static void problem(struct report *r, enum grade g, const char *what, const char *about, const char *todo,
		    const char *fmt, ...) __attribute__((format(printf, 6, 7)));

static void problem(struct report *r, enum grade g, const char *what, const char *about, const char *todo,
		    const char *fmt, ...)
{
	static const char *const grades[] = { "note", "degraded", "trouble" };
	json_t *j = json_object();
	char words[700];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(words, sizeof(words), fmt, ap);
	va_end(ap);
	jset_str(j, "grade", grades[g]);
	jset_str(j, "what", what);
	jset_str(j, "about", about);
	jset_str(j, "words", words);
	json_object_set_new(j, "todo", todo ? json_string(todo) : json_null());
	json_array_append_new(r->problems, j);
	if (g > r->worst)
		r->worst = g;
}

static const void *next(const struct report *r, enum key_kind kind, const struct copy_item **i)
{
	const struct key all = { .kind = kind };

	do {
		*i = copy_next(r->a->d->copy, &all, 0, *i);
	} while (*i && !(*i)->obj);
	return *i ? (*i)->obj : NULL;
}

/* A value that no agent can read stops what it is about. */
static void judge_values(struct report *r)
{
	static const enum key_kind kinds[] = { KEY_HOST, KEY_DRIVE, KEY_VOLUME, KEY_ACCESS, KEY_ROSTER, KEY_TASK, KEY_WANT };
	char text[STORE_KEY_MAX];

	for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
		const struct key all = { .kind = kinds[k] };
		const struct copy_item *i = NULL;

		while ((i = copy_next(r->a->d->copy, &all, 0, i)))
			if (!i->obj && !key_text(&i->key, text))
				problem(r, GRADE_TROUBLE, "value", text, NULL, "%s cannot be read by this meshd: %s", text,
					i->why ? i->why : "?");
	}
}

static void judge_self(struct report *r)
{
	const struct daemon *d = r->a->d;
	const struct host_agent *h = &d->self;
	const char *name = api_host_name(r->a, &d->host).s[0] ? "this host" : "?";

	if (d->store_away)
		problem(r, GRADE_TROUBLE, "store", "store", "systemctl status meshd, on the store hosts",
			"the cluster store has not answered this host for %llu s: attached volumes go on, nothing can be changed, "
			"and all below is as it was then", (unsigned long long)(store_now_ms() - d->store_away_ms) / 1000);
	else if (!copy_whole(d->copy))
		problem(r, GRADE_DEGRADED, "store", "store", NULL, "this host has not read all of the cluster store yet");
	if (h->state == HOST_STOPPED || h->state == HOST_TWIN || h->state == HOST_REMOVED)
		problem(r, GRADE_TROUBLE, "host", name, h->state == HOST_STOPPED ? "meshctl cluster recover --dry-run" :
			h->state == HOST_REMOVED ? "meshctl cluster leave" : NULL, "this host decides nothing: %s",
			h->why[0] ? h->why : "see its log");
}

static void judge_hosts(struct report *r)
{
	const struct copy_item *i = NULL;
	const struct obj_host *h;
	const struct obj_status *s;
	char todo[200];

	while ((h = next(r, KEY_HOST, &i))) {
		if (h->plan.removed)
			continue;
		r->hosts++;
		if (h->plan.maintenance) {
			snprintf(todo, sizeof(todo), "meshctl host maintenance %s off", h->name);
			problem(r, GRADE_OK, "host", h->name, todo, "host %s is in maintenance%s", h->name,
				api_host_alive(r->a, &h->plan.uuid) ? "" : ", and away");
		}
		snprintf(todo, sizeof(todo), "meshctl host maintenance %s on, or host remove %s --lost", h->name, h->name);
		s = api_status_get(r->a, &h->plan.uuid, &h->plan.uuid);
		if (!api_host_alive(r->a, &h->plan.uuid)) {
			if (!h->plan.maintenance)
				problem(r, GRADE_DEGRADED, "host", h->name, todo, "host %s is away", h->name);
			continue;
		}
		r->hosts_up++;
		if (s && s->subject == OBJ_OF_HOST && strcmp(s->state, "up") && !muuid_equal(&h->plan.uuid, &r->a->d->host))
			problem(r, GRADE_TROUBLE, "host", h->name, NULL, "host %s is %s: %s", h->name, s->state,
				s->words[0] ? s->words : "see its log");
	}
}

/* Its own warning is trouble that comes; its age alone is a note. */
static void judge_wear(struct report *r, const struct obj_drive *d, const char *about)
{
	const struct obj_disk *disk = api_drive_disk(r->a, d);
	char words[API_WORN], todo[260];

	if (!disk || !api_smart_worn(&disk->smart, words))
		return;
	snprintf(todo, sizeof(todo), "meshctl drive drain %s, then replace it", about);
	problem(r, disk->smart.warning ? GRADE_DEGRADED : GRADE_OK, "drive", about, todo, "drive %s is worn: %s", about,
		words);
}

static void judge_drives(struct report *r)
{
	const struct copy_item *i = NULL;
	const struct obj_drive *d;
	const char *away;
	char about[200];

	while ((d = next(r, KEY_DRIVE, &i))) {
		if (d->plan.wanted != PLAN_IN && d->plan.wanted != PLAN_DRAINING)
			continue;
		r->drives++;
		away = api_drive_away(r->a, d);
		r->drives_up += !away;
		snprintf(about, sizeof(about), "%s:%s", api_host_name(r->a, &d->plan.host).s,
			 api_drive_path(r->a, d));
		if (!away)
			judge_wear(r, d, about);
		/* Those of a host that is away are its line's. */
		if (!away || !api_host_alive(r->a, &d->plan.host))
			continue;
		problem(r, GRADE_DEGRADED, "drive", about, "meshctl volume replace VOLUME MEMBER, if it does not come back",
			"drive %s with %u extents: %s", about, d->plan.extents, away);
	}
}

/* Hosts that are to have a volume, and do not. */
static void judge_wants(struct report *r)
{
	const struct copy_item *i = NULL;
	const struct obj_want *w;
	const struct obj_status *s;
	struct api_name v;
	char todo[200];

	while ((w = next(r, KEY_WANT, &i))) {
		s = api_status_get(r->a, &w->host, &w->volume);
		v = api_volume_name(r->a, &w->volume);
		if (!s || w->mode == PLAN_NONE || !api_host_alive(r->a, &w->host) ||
		    !(w->fenced || !strcmp(s->state, "refused") || !strcmp(s->state, "fenced") ||
		      !strcmp(s->state, "waiting") || !strcmp(s->state, "away")))
			continue;
		snprintf(todo, sizeof(todo), "meshctl volume attach %s --host %s, or volume detach", v.s,
			 api_host_name(r->a, &w->host).s);
		problem(r, GRADE_TROUBLE, "volume", v.s, todo, "host %s, %s: %s", api_host_name(r->a, &w->host).s,
			w->fenced ? "fenced" : s->state, s->words[0] ? s->words : "see its log");
	}
}

static void judge_volumes(struct report *r)
{
	const struct copy_item *i = NULL;
	const struct obj_access *x;
	const struct obj_volume *v;
	enum api_health health;
	char todo[200];
	u32 lacks = 0;

	while ((v = next(r, KEY_VOLUME, &i))) {
		const char *name = v->record->name;

		r->volumes++;
		x = api_access_get(r->a, &v->plan.uuid);
		r->attached += x && x->plan.mode == PLAN_RW;
		health = v->plan.state == PLAN_VOLUME_READY ? api_volume_health(r->a, v, &lacks) : API_WHOLE;
		r->volumes_whole += health == API_WHOLE;
		if (health == API_WHOLE)
			continue;
		snprintf(todo, sizeof(todo), "meshctl volume show %s, then volume replace %s MEMBER", name, name);
		problem(r, health == API_DOWN ? GRADE_TROUBLE : GRADE_DEGRADED, "volume", name, todo,
			health == API_DOWN ? "volume %s is down: %u of %u members are away or out of sync, more than it can lack" :
			"volume %s is degraded: %u of %u members are away or out of sync", name, lacks, v->record->members);
	}
}

/*
 * Failures of what a person has requested are that person's: they change no grade, and stay in the
 * list until they are pruned.
 */
static void judge_tasks(struct report *r)
{
	const struct copy_item *i = NULL;
	const struct obj_task *t;
	char todo[100];

	while ((t = next(r, KEY_TASK, &i))) {
		snprintf(todo, sizeof(todo), "meshctl task show %.8s", muuid_str(&t->uuid).s);
		if (t->state == OBJ_TASK_FAILED)
			problem(r, t->user[0] ? GRADE_OK : GRADE_DEGRADED, "task", muuid_str(&t->uuid).s, todo,
				"task %.8s, %s, has failed: %s", muuid_str(&t->uuid).s, t->verb, t->error);
		if (api_task_ended(t))
			continue;
		r->tasks++;
		r->waiting += t->error[0] != 0;
		if (t->error[0])
			problem(r, GRADE_OK, "task", muuid_str(&t->uuid).s, todo, "task %.8s, %s, waits: %s",
				muuid_str(&t->uuid).s, t->verb, t->error);
	}
}

static json_t *numbers(const struct report *r)
{
	return json_pack("{s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i}", "hosts", r->hosts, "hosts_up", r->hosts_up,
			 "drives", r->drives, "drives_up", r->drives_up, "volumes", r->volumes, "volumes_whole",
			 r->volumes_whole, "volumes_attached", r->attached, "tasks", r->tasks, "tasks_waiting", r->waiting);
}

static void set_words(const struct report *r, const struct obj_cluster *c, json_t *j)
{
	static const char *const grades[] = { "ok", "degraded", "trouble" };
	char words[400];

	snprintf(words, sizeof(words), "%s%s%s: %u of %u hosts up, %u of %u drives, %u of %u volumes whole (%u attached), "
		 "%u tasks", c && c->name[0] ? c->name : "cluster", ": ", grades[r->worst], r->hosts_up, r->hosts,
		 r->drives_up, r->drives, r->volumes_whole, r->volumes, r->attached, r->tasks);
	jset_str(j, "health", grades[r->worst]);
	jset_str(j, "words", words);
}

int api_cluster_status(struct api *a)
{
	const struct obj_cluster *c = copy_obj(a->d->copy, &(struct key) { .kind = KEY_CLUSTER });
	const struct obj_leader *leader = copy_obj(a->d->copy, &(struct key) { .kind = KEY_LEADER });
	struct report r = { .a = a, .problems = json_array() };
	json_t *j = json_object();

	judge_self(&r);
	judge_values(&r);
	judge_hosts(&r);
	judge_drives(&r);
	judge_volumes(&r);
	judge_wants(&r);
	judge_tasks(&r);
	if (!leader && !a->d->store_away)
		problem(&r, GRADE_DEGRADED, "controller", "controller", "systemctl status meshd, on the store hosts",
			"no host is the controller now: tasks wait");
	set_words(&r, c, j);
	jset_str(j, "cluster", c ? c->name : "");
	if (c) {
		jset_uuid(j, "cluster_uuid", &c->plan.uuid);
		jset_u64(j, "generation", c->plan.generation);
		jset_u64(j, "spare_delay", spare_delay(c));
	}
	jset_str(j, "controller", leader ? api_host_name(a, &leader->host).s : "");
	jset_bool(j, "store_away", a->d->store_away);
	json_object_set_new(j, "numbers", numbers(&r));
	json_object_set_new(j, "problems", r.problems);
	a->code = r.worst != GRADE_OK;
	a->result = j;
	return 0;
}
