// SPDX-License-Identifier: GPL-2.0-only
/* cluster recover, backup. ^C leaves a recover that was begun to the next command. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/daemon/api_in.h"
#include "userspace/daemon/job.h"
#include "userspace/format/json.h"

#define GIVEN_MAX	64

/* Of a thread, and its request; the request may go first. */
struct work {
	struct cluster *cluster;
	char	path[OBJ_WORDS];
	char	*text;
	u64	keys;
	struct cluster_saved saved;
	char	why[CLUSTER_WHY];
};

struct state {
	struct recover r;		/* first: show() has it alone */
	json_t	*plan;
	struct api *a;
	struct muuid without[GIVEN_MAX], partly[GIVEN_MAX];
	struct job *job;
	struct work *work;		/* the job's */
	bool	read;			/* the backup was, if there is one */
};

static void work_drop(void *arg)
{
	struct work *w = arg;

	if (w->text)
		explicit_bzero(w->text, strlen(w->text));
	free(w->text);
	cluster_saved_free(&w->saved);
	free(w);
}

static void state_drop(void *state)
{
	struct state *s = state;

	if (s->job)
		job_free(s->job);
	json_decref(s->plan);
	free(s);
}

static struct state *begin(struct api *a)
{
	struct state *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->a = a;
	a->state = s;
	a->drop = state_drop;
	return s;
}

static int begin_job(struct api *a, struct state *s, int (*fn)(void *arg), const char *path)
{
	s->work = calloc(1, sizeof(*s->work));
	if (!s->work)
		return -ENOMEM;
	s->work->cluster = a->d->cluster;
	snprintf(s->work->path, sizeof(s->work->path), "%s", path);
	s->job = job_new(fn, s->work, work_drop);
	if (!s->job)
		work_drop(s->work);
	return s->job ? 0 : -ENOMEM;
}

/* meshctl runs in another folder than the daemon. */
static int check_path(struct api *a, const char *path)
{
	if (path && path[0] == '/' && strlen(path) < OBJ_WORDS)
		return 0;
	return api_fail(a, -EINVAL, "usage", "FILE: name it from the root folder on, as /root/cluster.backup");
}

static int check_host(struct api *a)
{
	if (cluster_role(a->d->cluster) == PLAN_STORE)
		return 0;
	return api_fail(a, -EPERM, "refused", "this host has no store: run it on a store host");
}

/* Backup */

static int backup_run(void *arg)
{
	struct work *w = arg;

	return cluster_backup(w->cluster, w->path[0] ? w->path : NULL, &w->text, &w->keys, w->why);
}

int api_cluster_backup(struct api *a)
{
	const char *path = api_text(a, "file");
	bool out = path && !strcmp(path, "-");
	struct state *s = a->state;
	int err;

	if (!s) {
		err = check_host(a) ?: out ? 0 : check_path(a, path);
		if (err)
			return err;
		s = begin(a);
		err = s ? begin_job(a, s, backup_run, out ? "" : path) : -ENOMEM;
		if (err)
			return err;
	}
	err = job_run(s->job);
	if (err == -EINPROGRESS)
		return err;
	if (err)
		return api_fail(a, err, err == -EEXIST ? "exists" : "failed", "%s", s->work->why);
	a->result = json_object();
	jset_u64(a->result, "keys", s->work->keys);
	if (out)
		jset_str(a->result, "text", s->work->text);
	else
		jset_str(a->result, "file", path);
	return 0;
}

/* Recover */

static const char *const fates[] = {
	[RECOVER_SAME] = "same", [RECOVER_BACK] = "back", [RECOVER_PART] = "part", [RECOVER_GONE] = "gone",
	[RECOVER_BARE] = "bare", [RECOVER_DOUBT] = "doubt",
};

static bool is_found(const struct recover_volume *v, const struct muuid *extent)
{
	for (u32 i = 0; i < v->in.nr; i++) {
		if (muuid_equal(&v->found[i].slot->extent, extent))
			return true;
	}
	return false;
}

static json_t *missing(const struct api *a, const struct recover_volume *v, const struct layout *l)
{
	json_t *out = json_array();

	for (u32 i = 0; l && i < l->members; i++) {
		json_t *m;

		if (is_found(v, &l->member[i].extent))
			continue;
		m = json_object();
		jset_u64(m, "member", i);
		jset_uuid(m, "drive", &l->member[i].drive);
		jset_str(m, "host", api_host_name(a, &l->member[i].target).s);
		json_array_append_new(out, m);
	}
	return out;
}

static const char *reason(const struct recover_volume *v)
{
	switch (v->fate) {
	case RECOVER_GONE:
		return "it was deleted since the store was copied";
	case RECOVER_BARE:
		return "extents of a create that was never finished: they stay where they are";
	case RECOVER_DOUBT:
		return v->record ? "members without redundancy were not found" :
		       "no whole layout record of its highest version was found";
	case RECOVER_PART:
		return "what its missing members have is given up";
	default:
		return NULL;
	}
}

/* The layout that is known best, for what is shown of a volume in doubt. */
static const struct layout *best(const struct recover_volume *v)
{
	const struct layout *l = v->record ? v->record : v->has ? v->has->record : NULL;

	for (u32 i = 0; i < v->reports && !v->record; i++) {
		if (v->report[i]->record && (!l || v->report[i]->record->version > l->version))
			l = v->report[i]->record;
	}
	return l;
}

static json_t *volume_json(const struct api *a, const struct recover_volume *v)
{
	const struct layout *l = best(v);
	json_t *j = json_object();

	jset_uuid(j, "uuid", &v->id);
	jset_str(j, "name", v->name[0] ? v->name : l ? l->name : "");
	jset_str(j, "fate", fates[v->fate]);
	jset_u64(j, "version", l ? l->version : 0);
	jset_u64(j, "was", v->has ? v->has->record->version : 0);
	if (v->writer && v->fate != RECOVER_DOUBT)
		jset_str(j, "host", api_host_name(a, &v->writer->host).s);
	if (reason(v))
		jset_str(j, "reason", reason(v));
	json_object_set_new(j, "missing", v->fate == RECOVER_GONE ? json_array() : missing(a, v, l));
	return j;
}

static json_t *hosts_json(const struct recover *r, const struct obj_recover *mark)
{
	const struct key all = { .kind = KEY_REPORT };
	const struct copy_item *i = NULL;
	json_t *out = json_array();

	while ((i = copy_next(r->copy, &all, 0, i))) {
		const struct obj_report *o = i->obj;
		json_t *j;

		if (!o || o->subject != OBJ_OF_HOST || !recover_handed_in(r, mark, &o->host))
			continue;
		j = json_object();
		jset_str(j, "host", api_host_name(((const struct state *)r)->a, &o->host).s);
		if (o->lacks[0])
			jset_str(j, "lacks", o->lacks);
		json_array_append_new(out, j);
	}
	return out;
}

static void show(struct recover *r, const struct recover_plan *p)
{
	struct state *s = (struct state *)r;
	json_t *volumes = json_array();

	json_decref(s->plan);
	s->plan = json_object();
	for (u32 i = 0; i < p->volumes; i++)
		json_array_append_new(volumes, volume_json(s->a, &p->volume[i]));
	json_object_set_new(s->plan, "volumes", volumes);
	json_object_set_new(s->plan, "hosts", hosts_json(r, p->mark));
	jset_u64(s->plan, "generation", p->mark->generation);
	jset_u64(s->plan, "drives", p->drives);
	jset_u64(s->plan, "doubts", p->doubts);
}

/* A host by its UUID, too, as an empty store knows no names. */
static int take_without(struct api *a, struct state *s)
{
	const json_t *list = api_list(a, "without"), *text;
	const struct obj_host *h;
	size_t i;

	json_array_foreach(list, i, text) {
		struct muuid *u = &s->without[s->r.withouts];
		int err;

		if (i == GIVEN_MAX)
			return api_fail(a, -E2BIG, "usage", "--without: at most %u hosts", GIVEN_MAX);
		if (muuid_parse(json_string_value(text), u)) {
			err = api_host(a, json_string_value(text), &h);
			if (err)
				return err;
			*u = h->plan.uuid;
		}
		s->r.withouts++;
	}
	return 0;
}

static bool has_name(const struct layout *l, const char *text)
{
	return l && !strcmp(l->name, text);
}

/* By its UUID, or by a name in the store or in a report, which may come later. */
static bool find_volume(const struct api *a, const char *text, struct muuid *out)
{
	const struct key stored = { .kind = KEY_VOLUME }, reported = { .kind = KEY_REPORT };
	const struct copy_item *i = NULL;

	if (!muuid_parse(text, out))
		return true;
	while ((i = copy_next(a->d->copy, &stored, 0, i))) {
		const struct obj_volume *v = i->obj;

		*out = i->key.volume;
		if (v && has_name(v->record, text))
			return true;
	}
	while ((i = copy_next(a->d->copy, &reported, 0, i))) {
		const struct obj_report *o = i->obj;

		*out = i->key.about;
		if (o && o->subject == OBJ_OF_VOLUME && has_name(o->record, text))
			return true;
	}
	return false;
}

static void take_partly(struct api *a, struct state *s)
{
	const json_t *list = api_list(a, "partly"), *text;
	size_t i;

	s->r.partlies = 0;
	json_array_foreach(list, i, text) {
		if (i < GIVEN_MAX && find_volume(a, json_string_value(text), &s->partly[s->r.partlies]))
			s->r.partlies++;
	}
}

static int saved_run(void *arg)
{
	struct work *w = arg;

	return cluster_saved_read(w->path, &w->saved, w->why);
}

/* A backup is for a store that has nothing; one that has only lost a little is recovered from what it has. */
static int read_saved(struct api *a, struct state *s)
{
	struct muuid own = cluster_uuid(a->d->cluster);
	int err;

	if (!s->job || s->read)
		return 0;
	err = job_run(s->job);
	if (err == -EINPROGRESS)
		return err;
	if (err)
		return api_fail(a, err, "failed", "%s", s->work->why);
	if (!muuid_equal(&s->work->saved.cluster, &own))
		return api_fail(a, -EXDEV, "refused", "this backup is of cluster %s, and this host belongs to %s",
				muuid_str(&s->work->saved.cluster).s, muuid_str(&own).s);
	if (copy_get(a->d->copy, &(struct key) { .kind = KEY_CLUSTER }) &&
	    !copy_get(a->d->copy, &(struct key) { .kind = KEY_RECOVER }))
		return api_fail(a, -EEXIST, "exists", "the store is not empty: --from is for one that is. Without it recover "
				"goes on from what the store has");
	s->read = true;
	s->r.item = s->work->saved.item;
	s->r.items = s->work->saved.items;
	return 0;
}

static int begin_recover(struct api *a)
{
	const char *from = api_text(a, "from");
	struct state *s;
	int err = check_host(a);

	if (!err && from)
		err = check_path(a, from);
	if (err)
		return err;
	if (cluster_alone(a->d->cluster) && a->d->self.state == HOST_STARTING)
		return api_fail(a, -EAGAIN, "unreachable", "meshd has not read its store yet: try again");
	s = begin(a);
	if (!s)
		return -ENOMEM;
	s->r = (struct recover) { .copy = a->d->copy, .host = a->d->host, .cluster = cluster_uuid(a->d->cluster),
				  .followed = a->d->self.seen.plan.generation, .dry = api_flag(a, "dry_run"),
				  .without = s->without, .partly = s->partly, .show = show };
	err = take_without(a, s);
	return err || !from ? err : begin_job(a, s, saved_run, from);
}

static int refused(struct api *a, const struct state *s, int err)
{
	const json_t *v;
	char names[200] = "";
	size_t i, n = 0;

	if (err != -EBUSY)
		return api_fail(a, err, err == -EPROTONOSUPPORT ? "refused" : "failed", "%s",
				s->r.why[0] ? s->r.why : strerror(-err));
	json_array_foreach(json_object_get(s->plan, "volumes"), i, v) {
		if (!strcmp(json_string_value(json_object_get(v, "fate")) ?: "", "doubt") && n < sizeof(names))
			n += snprintf(names + n, sizeof(names) - n, "%s%s", n ? ", " : "",
				      json_string_value(json_object_get(v, "name")));
	}
	return api_fail(a, err, "refused", "volumes in doubt: %s. %s", names, s->r.why);
}

int api_cluster_recover(struct api *a)
{
	struct state *s = a->state;
	int err = s ? 0 : begin_recover(a);

	if (err)
		return err;
	s = a->state;
	if (a->gone)
		return 0;
	err = read_saved(a, s);
	if (err)
		return err;
	take_partly(a, s);
	s->r.now_ms = store_now_ms();
	err = recover_turn(&s->r);
	if (err == -EINPROGRESS) {
		if (s->r.why[0])
			api_note(a, "%s", s->r.why);
		return err;
	}
	if (err != 1)
		return refused(a, s, err);
	a->result = json_incref(s->plan);
	jset_bool(a->result, "changed", !s->r.dry);
	return 0;
}
