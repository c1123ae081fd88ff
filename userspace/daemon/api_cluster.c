// SPDX-License-Identifier: GPL-2.0-only
/* Which cluster this machine is of. What changes that may block, and runs on a thread. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/daemon/api_in.h"
#include "userspace/daemon/job.h"
#include "userspace/format/json.h"

#define TOKEN_SECONDS	3600
#define ROLE_USUAL	"client"

/* Of the thread and its request; the request may go first. */
struct work {
	struct cluster *cluster;
	int	(*fn)(struct work *w);
	char	name[OBJ_TEXT];
	u8	role;
	unsigned int seconds;
	char	token[TOKEN_TEXT];
	char	why[CLUSTER_WHY];
};

struct state {
	struct job *job;
	struct work *work;		/* the job's: good until job_free() */
};

static void state_drop(void *state)
{
	struct state *s = state;

	if (s->job)
		job_free(s->job);
	free(s);
}

static void work_drop(void *arg)
{
	struct work *w = arg;

	explicit_bzero(w, sizeof(*w));
	free(w);
}

static int work_run(void *arg)
{
	struct work *w = arg;

	return w->fn(w);
}

static int begin(struct api *a, int (*fn)(struct work *w))
{
	struct state *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	a->state = s;
	a->drop = state_drop;
	s->work = calloc(1, sizeof(*s->work));
	if (!s->work)
		return -ENOMEM;
	s->work->cluster = a->d->cluster;
	s->work->fn = fn;
	s->job = job_new(work_run, s->work, work_drop);
	if (!s->job) {
		free(s->work);
		return -ENOMEM;
	}
	return 0;
}

static const char *kind_of(int err)
{
	switch (err) {
	case -ENOTCONN:
	case -ETIMEDOUT:
	case -EIO:
	case -ECONNREFUSED:
	case -EHOSTUNREACH:
	case -EADDRNOTAVAIL:
		return "unreachable";
	case -EBUSY:
		return "in-use";
	case -EEXIST:
		return "exists";
	case -ENOENT:
		return "not-found";
	case -EACCES:
	case -EPERM:
	case -EINVAL:
		return "refused";
	default:
		return "failed";
	}
}

/* The thread is not stopped by ^C: half of a join would be worse than all of it. */
static int run(struct api *a)
{
	struct state *s = a->state;
	int ret = job_run(s->job);

	if (ret == -EINPROGRESS)
		return ret;
	if (ret >= 0)
		return 0;
	return api_fail(a, ret, kind_of(ret), "%s", s->work->why[0] ? s->work->why : strerror(-ret));
}

static json_t *cluster_json(const struct api *a)
{
	const struct obj_cluster *c = copy_obj(a->d->copy, &(struct key) { .kind = KEY_CLUSTER });
	const char *role = obj_role(cluster_role(a->d->cluster));
	json_t *j = json_object();

	jset_uuid(j, "host_uuid", &a->d->host);
	jset_str(j, "host", api_host_name(a, &a->d->host).s);
	jset_str(j, "role", role ? role : "?");
	jset_bool(j, "alone", cluster_alone(a->d->cluster));
	if (c) {
		jset_uuid(j, "cluster_uuid", &c->plan.uuid);
		jset_str(j, "cluster", c->name);
		jset_u64(j, "generation", c->plan.generation);
		jset_u64(j, "format", c->plan.format);
	}
	return j;
}

static int do_init(struct work *w)
{
	return cluster_init(w->cluster, w->name, w->why);
}

int api_cluster_init(struct api *a)
{
	struct state *s;
	int err;

	if (!a->state) {
		if (!cluster_alone(a->d->cluster))
			return api_fail(a, -EEXIST, "exists", "this machine is in a cluster already: 'meshctl cluster token' lets "
					"other hosts join it");
		err = begin(a, do_init);
		if (err)
			return err;
		s = a->state;
		snprintf(s->work->name, sizeof(s->work->name), "%s", api_text(a, "name") ? api_text(a, "name") : "");
	}
	err = run(a);
	if (!err)
		a->result = cluster_json(a);
	return err;
}

static int do_token(struct work *w)
{
	return cluster_token(w->cluster, w->role, w->seconds, w->token, w->why);
}

int api_cluster_token(struct api *a)
{
	const char *role = api_text(a, "role") ? api_text(a, "role") : ROLE_USUAL;
	u64 seconds = api_number(a, "expires") ? api_number(a, "expires") : TOKEN_SECONDS;
	struct state *s;
	int err;

	if (!a->state) {
		if (cluster_alone(a->d->cluster))
			return api_fail(a, -ENOKEY, "refused", "this machine is in no cluster that others can join: begin with "
					"'meshctl cluster init'");
		err = begin(a, do_token);
		if (err)
			return err;
		s = a->state;
		s->work->role = token_role_of(role);
		s->work->seconds = (unsigned int)seconds;
	}
	s = a->state;
	err = run(a);
	if (!err)
		a->result = json_pack("{s:s, s:s, s:I}", "token", s->work->token, "role", role, "expires",
				      (json_int_t)(api_now() + seconds));
	return err;
}

static int do_join(struct work *w)
{
	return cluster_join(w->cluster, w->token, w->why);
}

/* All that was read is of another store: the daemon starts again, after this answer. */
static int moved(struct api *a)
{
	int err = run(a);

	if (!err) {
		a->d->again = true;
		a->result = json_pack("{s:s, s:b}", "host_uuid", muuid_str(&a->d->host).s, "restarts", 1);
	}
	return err;
}

int api_cluster_join(struct api *a)
{
	const char *text = api_text(a, "token");
	struct token token;
	struct state *s;
	int err;

	if (!a->state) {
		err = text && strlen(text) < TOKEN_TEXT ? token_parse(text, &token) : -EINVAL;
		explicit_bzero(&token, sizeof(token));
		if (err)
			return api_fail(a, err, "usage", err == -EPROTONOSUPPORT ? "TOKEN: it is of a later version: update this "
					"host first" : err == -EBADMSG ? "TOKEN: a part of it is missing or changed: copy it again, as one "
					"word" : "TOKEN: this is none; 'meshctl cluster token' on a store host prints one");
		err = begin(a, do_join);
		if (err)
			return err;
		s = a->state;
		snprintf(s->work->token, sizeof(s->work->token), "%s", text);
	}
	return moved(a);
}

static int do_leave(struct work *w)
{
	return cluster_leave(w->cluster, w->why);
}

int api_cluster_leave(struct api *a)
{
	int err = a->state ? 0 : begin(a, do_leave);

	return err ?: moved(a);
}

static const struct setting {
	const char *name;
	u64	least, most;
} settings[] = {
	{ "spare_delay", 0, 30 * 86400 },
};

/* The setting and its value of "NAME=VALUE", or NULL: refused, with the sentence. */
static const struct setting *setting_of(struct api *a, const char *text, u64 *value)
{
	const char *equals = strchr(text, '=');
	char *end = NULL;

	for (size_t i = 0; equals && i < sizeof(settings) / sizeof(settings[0]); i++) {
		const struct setting *s = &settings[i];

		if (strlen(s->name) != (size_t)(equals - text) || strncmp(s->name, text, equals - text))
			continue;
		errno = 0;
		*value = strtoull(equals + 1, &end, 10);
		if (equals[1] < '0' || equals[1] > '9' || *end || errno || *value < s->least || *value > s->most) {
			api_fail(a, -EINVAL, "usage", "%s: a number from %llu to %llu is wanted", s->name,
				 (unsigned long long)s->least, (unsigned long long)s->most);
			return NULL;
		}
		return s;
	}
	api_fail(a, -EINVAL, "usage", "NAME=VALUE: there is no such setting; there is spare_delay=SECONDS");
	return NULL;
}

/* Written by the store's rights: by a store host. */
int api_cluster_set(struct api *a)
{
	const struct obj_cluster *c = copy_obj(a->d->copy, &(struct key) { .kind = KEY_CLUSTER });
	const struct setting *s;
	struct obj_cluster out;
	struct deal d;
	u64 value;
	int ret;

	s = setting_of(a, api_text(a, "setting"), &value);
	if (!s)
		return -EINVAL;
	if (!c)
		return api_fail(a, -ENOENT, "not-found", "the cluster store has no key of the cluster");
	if (json_is_integer(json_object_get(c->settings, s->name)) &&
	    (u64)json_integer_value(json_object_get(c->settings, s->name)) == value)
		return 0;
	out = *c;
	out.settings = c->settings ? json_deep_copy(c->settings) : json_object();
	if (!out.settings || json_object_set_new(out.settings, s->name, json_integer(value))) {
		json_decref(out.settings);
		return -ENOMEM;
	}
	deal_begin(&d, a->d->copy);
	deal_put(&d, KEY_CLUSTER, &out, 0);
	json_decref(out.settings);
	ret = api_deal(a, &d);
	return ret == 1 ? 0 : ret;
}

int api_version(struct api *a)
{
	const struct obj_alive *alive = copy_obj(a->d->copy, &(struct key) { .kind = KEY_ALIVE, .host = a->d->host });

	a->result = cluster_json(a);
	jset_str(a->result, "version", MESHD_VERSION);
	jset_str(a->result, "module", alive ? alive->module : "");
	return 0;
}
