// SPDX-License-Identifier: GPL-2.0-only
/*
 * Attach and detach: want/H/V and writer/V, then a wait for that host's agent.
 *
 *   attach   want rw or ro, writer ---> status "attached", and access or reader names the host
 *                                  `--> status "refused": both are undone
 *   detach   want none, no writer  ---> the want is gone
 *                                  `--> status "refused": in use, both are put back
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/daemon/api_in.h"
#include "userspace/format/json.h"

/* A status that an agent does not write again, since it has not changed, counts after this time. */
#define STATUS_MS	5000

static struct key want_key(const struct muuid *host, const struct muuid *volume)
{
	return (struct key) { .kind = KEY_WANT, .host = *host, .volume = *volume };
}

static struct key writer_key(const struct muuid *volume)
{
	return (struct key) { .kind = KEY_WRITER, .volume = *volume };
}

static const struct obj_want *want_get(const struct api *a, const struct muuid *host, const struct muuid *volume)
{
	const struct key k = want_key(host, volume);

	return copy_obj(a->d->copy, &k);
}

/*
 * The host that is to write, if it is another one than @host, is alive and still wants that; NULL: none.
 * Of a host that has died, the agent finds out whether anything is open for it.
 */
static const struct obj_writer *other_writer(const struct api *a, const struct muuid *volume, const struct muuid *host)
{
	const struct key k = writer_key(volume);
	const struct obj_writer *w = copy_obj(a->d->copy, &k);
	const struct obj_want *want;

	if (!w || muuid_equal(&w->host, host))
		return NULL;
	if (!copy_get(a->d->copy, &(struct key) { .kind = KEY_ALIVE, .host = w->host }))
		return NULL;
	want = want_get(a, &w->host, volume);
	return want && want->mode == PLAN_RW ? w : NULL;
}

static int check_volume(struct api *a, const struct obj_volume *v, const struct muuid *host)
{
	if (v->plan.state != PLAN_VOLUME_READY)
		return api_fail(a, -EAGAIN, "refused", "volume %s is being %s: 'meshctl task list' says what that waits for",
				v->record->name, v->plan.state == PLAN_CREATING ? "created" : "deleted");
	for (u32 i = 0; i < v->plan.allows; i++)
		if (muuid_equal(&v->plan.allow[i], host))
			return 0;
	return !v->plan.allows ? 0 :
	       api_fail(a, -EACCES, "refused", "volume %s does not allow host %s: 'meshctl volume set %s --allow HOST,..' "
			"changes that", v->record->name, api_host_name(a, host).s, v->record->name);
}

/* An attachment that is there, or that is wanted, and is not the one that is requested. */
static int check_other(struct api *a, const struct api_attach *t, const char *name)
{
	const struct obj_want *w = want_get(a, &t->host, &t->volume);
	const struct obj_writer *o = other_writer(a, &t->volume, &t->host);

	if (w && w->mode != PLAN_NONE && w->mode != t->mode)
		return api_fail(a, -EBUSY, "in-use", "volume %s is attached %s on host %s: 'meshctl volume detach %s --host %s' "
				"first", name, w->mode == PLAN_RW ? "for writing" : "for reading",
				api_host_name(a, &t->host).s, name, api_host_name(a, &t->host).s);
	if (!o || t->preempt)
		return 0;
	return api_fail(a, -EBUSY, "in-use", "volume %s is attached for writing on host %s: 'meshctl volume detach %s --host %s'"
			"%s", name, api_host_name(a, &o->host).s, name, api_host_name(a, &o->host).s,
			t->mode == PLAN_RW ? ", or --preempt, which fences that host" : " first");
}

/* True if the want is there as it is requested, so that a repeat changes nothing. */
static bool wanted(const struct api *a, const struct api_attach *t)
{
	const struct obj_want *w = want_get(a, &t->host, &t->volume);
	const struct obj_access *x = api_access_get(a, &t->volume);

	if (!w || w->mode != t->mode || w->fenced)
		return false;
	return !t->preempt || w->preempt || (x && x->plan.mode == PLAN_RW && muuid_equal(&x->plan.holder, &t->host));
}

/* Repeats of one operation write one value. */
static void same_id(const struct api *a, struct deal *d)
{
	struct muuid id;

	if (api_id(a, &id))
		snprintf(d->op_id, sizeof(d->op_id), "%s", muuid_str(&id).s);
}

static int put_want(struct api *a, struct api_attach *t)
{
	struct obj_want w = { .host = t->host, .volume = t->volume, .mode = t->mode, .boot = true,
			      .preempt = t->preempt };
	const struct key k = want_key(&t->host, &t->volume), wk = writer_key(&t->volume);
	const struct obj_writer *other = copy_obj(a->d->copy, &wk);
	struct obj_writer mine = { .volume = t->volume, .host = t->host };
	struct deal d;
	int ret;

	deal_begin(&d, a->d->copy);
	same_id(a, &d);
	deal_same(&d, &(struct key) { .kind = KEY_VOLUME, .volume = t->volume });
	/* The other host's want is as it was judged, and stays: its agent marks it when it is fenced. */
	if (other && !muuid_equal(&other->host, &t->host)) {
		const struct key ok = want_key(&other->host, &t->volume);

		deal_same(&d, &ok);
	}
	deal_put(&d, KEY_WANT, &w, 0);
	/* In place of a writer that has died, the agent writes this host when it has the volume. */
	if (t->mode == PLAN_RW && (t->preempt || !other || muuid_equal(&other->host, &t->host)))
		deal_put(&d, KEY_WRITER, &mine, 0);
	else
		deal_same(&d, &wk);
	ret = api_deal(a, &d);
	if (ret == 1) {
		t->put = t->mine = true;
		t->since = copy_get(a->d->copy, &k) ? copy_get(a->d->copy, &k)->modified : 0;
		t->since_ms = store_now_ms();
	}
	return ret == 1 ? 0 : ret;
}

static int begin(struct api *a, struct api_attach *t)
{
	const struct obj_volume *v = api_volume_get(a, &t->volume);
	int err;

	if (!v)
		return api_fail(a, -ENOENT, "not-found", "the volume has just been deleted");
	if (wanted(a, t)) {
		t->put = true;
		t->since_ms = store_now_ms();
		return 0;
	}
	err = check_volume(a, v, &t->host);
	err = err ?: check_other(a, t, v->record->name);
	return err ?: put_want(a, t);
}

/* Erase what this request has written; the agent may have cleared its preempt since. */
static int undo(struct api *a, struct api_attach *t)
{
	const struct key k = want_key(&t->host, &t->volume), wk = writer_key(&t->volume);
	const struct obj_want *want = copy_obj(a->d->copy, &k);
	const struct obj_writer *w = copy_obj(a->d->copy, &wk);
	struct deal d;
	int ret;

	if (!t->mine || !want || want->mode != t->mode)
		return 0;
	deal_begin(&d, a->d->copy);
	deal_erase(&d, &k);
	if (w && muuid_equal(&w->host, &t->host))
		deal_erase(&d, &wk);
	ret = deal_close(&d, API_TXN_MS);
	return ret ? 0 : -EINPROGRESS;
}

static bool has_it(const struct api *a, const struct api_attach *t)
{
	const struct obj_access *x = api_access_get(a, &t->volume);

	if (t->mode == PLAN_RO)
		return copy_get(a->d->copy, &(struct key) { .kind = KEY_READER, .volume = t->volume, .host = t->host });
	return x && x->plan.mode == PLAN_RW && muuid_equal(&x->plan.holder, &t->host);
}

/* The agent's answer to what was written at revision @since; NULL: none yet. */
static const struct obj_status *answer(const struct api *a, const struct muuid *host, const struct muuid *volume,
				       u64 since, u64 since_ms)
{
	const struct copy_item *i = api_status_item(a, host, volume);

	if (!i || (i->modified < since && store_now_ms() - since_ms < STATUS_MS))
		return NULL;
	return i->obj;
}

static int refused(struct api *a, struct api_attach *t, const struct obj_status *s)
{
	const struct obj_access *x = api_access_get(a, &t->volume);
	const struct key readers = { .kind = KEY_READER, .volume = t->volume };
	bool used = (x && x->plan.mode == PLAN_RW) || copy_next(a->d->copy, &readers, 1, NULL);

	/* An agent's words name the volume. */
	t->err = api_fail(a, -EBUSY, used ? "in-use" : "refused", "host %s: %s", api_host_name(a, &t->host).s,
			  s->words[0] ? s->words : "the volume is not attached there: see its log");
	return undo(a, t) ?: t->err;
}

static int wait_attached(struct api *a, struct api_attach *t)
{
	const struct obj_want *w = want_get(a, &t->host, &t->volume);
	const struct obj_status *s = answer(a, &t->host, &t->volume, t->since, t->since_ms);

	if (!w || w->mode != t->mode)
		return api_fail(a, -ECANCELED, "failed", "volume %s was detached from host %s by another command meanwhile",
				api_volume_name(a, &t->volume).s, api_host_name(a, &t->host).s);
	if (w->fenced || (s && !strcmp(s->state, "fenced")))
		return api_fail(a, -ESTALE, "in-use", "host %s was fenced: another host has taken volume %s: see 'meshctl volume "
				"show %s'", api_host_name(a, &t->host).s, api_volume_name(a, &t->volume).s,
				api_volume_name(a, &t->volume).s);
	if (s && !strcmp(s->state, "attached") && has_it(a, t))
		return 0;
	if (s && !strcmp(s->state, "refused"))
		return refused(a, t, s);
	if (!api_host_alive(a, &t->host))
		api_note(a, "host %s is away: it attaches the volume when it is back; ^C leaves it to that",
			 api_host_name(a, &t->host).s);
	else if (s && s->words[0] && strcmp(s->state, "attached"))
		api_note(a, "host %s: %s", api_host_name(a, &t->host).s, s->words);
	return -EINPROGRESS;
}

int api_attach_step(struct api *a, struct api_attach *t)
{
	int err;

	if (t->err)
		return undo(a, t) ?: t->err;
	if (!t->put) {
		err = begin(a, t);
		if (err)
			return err;
	}
	return a->gone ? 0 : wait_attached(a, t);
}

json_t *api_device(const struct obj_status *s)
{
	const char *disk = s ? json_string_value(json_object_get(s->details, "disk")) : NULL;

	return disk ? json_sprintf("/dev/%s", disk) : json_null();
}

/* This host's kernel knows best; another one's is known by the status that its agent writes. */
static json_t *host_device(const struct api *a, const struct muuid *volume, const struct muuid *host)
{
	json_t *kernel = a->d->volumes && muuid_equal(host, &a->d->host) ? volumes_show(a->d->volumes, volume) : NULL;
	json_t *device = json_object_get(kernel, "device");
	json_t *j = json_object();

	jset_str(j, "host", api_host_name(a, host).s);
	json_object_set_new(j, "device", json_is_string(device) ? json_incref(device) :
			    api_device(api_status_get(a, host, volume)));
	json_decref(kernel);
	return j;
}

json_t *api_attached_json(const struct api *a, const struct muuid *volume, const struct muuid *host)
{
	json_t *j = host ? host_device(a, volume, host) : json_object();

	jset_str(j, "name", api_volume_name(a, volume).s);
	jset_uuid(j, "uuid", volume);
	jset_bool(j, "here", host && muuid_equal(host, &a->d->host));
	return j;
}

/* Hosts of one command, side by side. */
struct many {
	struct api_attach *t;
	size_t	nr;
	int	err;
	const char *kind;
	char	error[600];
};

static void many_drop(void *state)
{
	struct many *m = state;

	free(m->t);
	free(m);
}

static int many_begin(struct api *a, const struct api_attach *like)
{
	const json_t *hosts = api_list(a, "hosts");
	size_t n = hosts ? json_array_size(hosts) : 1;
	struct many *m = calloc(1, sizeof(*m));
	const struct obj_volume *v;
	const struct obj_host *h;
	int err;

	if (!m)
		return -ENOMEM;
	a->state = m;
	a->drop = many_drop;
	m->t = calloc(n, sizeof(*m->t));
	if (!m->t)
		return -ENOMEM;
	err = api_volume(a, api_text(a, "volume"), &v);
	for (m->nr = 0; !err && m->nr < n; m->nr++) {
		err = api_host(a, hosts ? json_string_value(json_array_get(hosts, m->nr)) : NULL, &h);
		m->t[m->nr] = *like;
		m->t[m->nr].volume = v->plan.uuid;
		if (!err)
			m->t[m->nr].host = h->plan.uuid;
	}
	return err;
}

/* All go on; the first failure is what the command fails with, when all have ended. */
static int many_step(struct api *a, struct many *m, int (*step)(struct api *a, struct api_attach *t))
{
	bool waits = false;
	int ret;

	for (size_t i = 0; i < m->nr; i++) {
		if (m->t[i].done)
			continue;
		ret = step(a, &m->t[i]);
		waits = waits || ret == -EINPROGRESS;
		m->t[i].done = ret != -EINPROGRESS;
		if (!ret || ret == -EINPROGRESS || m->err)
			continue;
		m->err = ret;
		m->kind = a->error[0] ? a->kind : "failed";
		snprintf(m->error, sizeof(m->error), "%.590s", a->error[0] ? a->error : strerror(-ret));
	}
	if (waits)
		return -EINPROGRESS;
	return m->err ? api_fail(a, m->err, m->kind, "%s", m->error) : 0;
}

int api_volume_attach(struct api *a)
{
	const struct api_attach like = { .mode = api_flag(a, "readonly") ? PLAN_RO : PLAN_RW,
					 .preempt = api_flag(a, "preempt") };
	int err = a->state ? 0 : many_begin(a, &like);
	struct many *m = a->state;
	json_t *list;

	if (err)
		return err;
	err = many_step(a, m, api_attach_step);
	if (err)
		return err;
	a->result = api_attached_json(a, &m->t[0].volume, m->nr == 1 ? &m->t[0].host : NULL);
	list = json_array();
	for (size_t i = 0; i < m->nr; i++)
		json_array_append_new(list, host_device(a, &m->t[i].volume, &m->t[i].host));
	json_object_set_new(a->result, "attached", list);
	return 0;
}

/* @mode: PLAN_NONE: detach; else: put back what a detach that was refused has changed. */
static int put_detach(struct api *a, struct api_attach *t, u8 mode)
{
	const struct key k = want_key(&t->host, &t->volume), wk = writer_key(&t->volume);
	struct obj_want w = { .host = t->host, .volume = t->volume, .mode = mode, .boot = mode != PLAN_NONE,
			      .force = mode == PLAN_NONE && api_flag(a, "force") };
	const struct obj_writer *has = copy_obj(a->d->copy, &wk);
	struct obj_writer mine = { .volume = t->volume, .host = t->host };
	struct deal d;
	int ret;

	deal_begin(&d, a->d->copy);
	if (mode == PLAN_NONE)
		same_id(a, &d);
	deal_put(&d, KEY_WANT, &w, 0);
	if (mode == PLAN_NONE && has && muuid_equal(&has->host, &t->host))
		deal_erase(&d, &wk);
	if (mode == PLAN_RW && !has)
		deal_put(&d, KEY_WRITER, &mine, 0);
	ret = api_deal(a, &d);
	if (ret != 1)
		return ret;
	t->put = t->mine = true;
	t->since = copy_get(a->d->copy, &k) ? copy_get(a->d->copy, &k)->modified : 0;
	t->since_ms = store_now_ms();
	return 0;
}

static int put_back(struct api *a, struct api_attach *t)
{
	const struct key k = want_key(&t->host, &t->volume), wk = writer_key(&t->volume);
	const struct copy_item *i = copy_get(a->d->copy, &k);
	char error[sizeof(a->error)];
	const char *kind = a->kind;
	int ret;

	/* Another host is to write by now: this one goes on detaching. */
	if (!t->mine || !i || i->modified != t->since || (t->mode == PLAN_RW && copy_get(a->d->copy, &wk)))
		return t->err;
	memcpy(error, a->error, sizeof(error));
	ret = put_detach(a, t, t->mode);
	api_fail(a, t->err, kind, "%s", error);
	return ret == -EINPROGRESS ? ret : t->err;
}

/* This host's kernel has it, whatever the store says. */
static bool kernel_has(const struct api *a, const struct api_attach *t)
{
	json_t *k = a->d->volumes && muuid_equal(&t->host, &a->d->host) ? volumes_show(a->d->volumes, &t->volume) : NULL;
	bool has = k;

	json_decref(k);
	return has;
}

/* Wants of a store that was put back are of before, or are missing: one of now is written in any case. */
static int begin_detach(struct api *a, struct api_attach *t)
{
	const struct obj_want *w = want_get(a, &t->host, &t->volume);
	bool back = host_stopped(&a->d->self);

	if (!w && !(back && kernel_has(a, t))) {
		api_note(a, "volume %s is not attached on host %s", api_volume_name(a, &t->volume).s,
			 api_host_name(a, &t->host).s);
		t->put = true;
		return 0;
	}
	t->mode = w ? w->mode : PLAN_NONE;
	if (t->mode != PLAN_NONE || back || (api_flag(a, "force") && !w->force))
		return put_detach(a, t, PLAN_NONE);
	t->put = true;
	t->since_ms = store_now_ms();
	return 0;
}

static int detach_step(struct api *a, struct api_attach *t)
{
	const struct obj_want *w;
	const struct obj_status *s;
	int err;

	if (t->err)
		return put_back(a, t);
	if (!t->put) {
		err = begin_detach(a, t);
		if (err)
			return err;
	}
	w = want_get(a, &t->host, &t->volume);
	if (!w || a->gone)
		return 0;
	if (w->mode != PLAN_NONE)
		return api_fail(a, -ECANCELED, "failed", "volume %s was attached on host %s again by another command meanwhile",
				api_volume_name(a, &t->volume).s, api_host_name(a, &t->host).s);
	s = answer(a, &t->host, &t->volume, t->since, t->since_ms);
	if (s && !strcmp(s->state, "refused")) {
		t->err = api_fail(a, -EBUSY, "in-use", "host %s: %s", api_host_name(a, &t->host).s, s->words[0] ? s->words :
				  "the volume is in use: unmount it, or detach it with --force");
		return t->mode == PLAN_NONE ? t->err : put_back(a, t);
	}
	if (s && !strcmp(s->state, "detached")) {
		api_note(a, "%s", s->words);
		return 0;
	}
	if (!api_host_alive(a, &t->host))
		api_note(a, "host %s is away: it detaches the volume when it is back; ^C leaves it to that",
			 api_host_name(a, &t->host).s);
	else if (s && s->words[0] && strcmp(s->state, "attached"))
		api_note(a, "host %s: %s", api_host_name(a, &t->host).s, s->words);
	return -EINPROGRESS;
}

int api_volume_detach(struct api *a)
{
	const struct api_attach like = { .mode = PLAN_NONE };
	int err = a->state ? 0 : many_begin(a, &like);

	return err ?: many_step(a, a->state, detach_step);
}
