// SPDX-License-Identifier: GPL-2.0-only
/* Changes of volumes: tasks of the controller, each with the arguments that task_args.h names. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/daemon/api_in.h"
#include "userspace/format/json.h"
#include "userspace/format/size.h"

/* Of any of these verbs. */
struct change {
	struct api_work work;
	struct muuid volume;
	bool	made;		/* create: the volume is there */
	struct api_attach attach;
};

static struct change *change_of(struct api *a)
{
	if (!a->state)
		a->state = calloc(1, sizeof(struct change));
	return a->state;
}

/* True if the request is a repeat: its task is there, and all else was judged then. */
static bool repeated(const struct api *a, struct change *c)
{
	return c->work.put || (api_id(a, &c->work.id) &&
	       copy_get(a->d->copy, &(struct key) { .kind = KEY_TASK, .task = c->work.id }));
}

/* "all", or hosts by UUID. */
static int set_allow(struct api *a, json_t *args)
{
	const json_t *texts = api_list(a, "allow");
	json_t *hosts;
	int err = 0;

	if (!texts)
		return 0;
	if (json_array_size(texts) == 1 && !strcmp(json_string_value(json_array_get(texts, 0)), "all")) {
		jset_str(args, "allow", "all");
		return 0;
	}
	if (json_array_size(texts) > PLAN_ALLOW_MAX)
		return api_fail(a, -E2BIG, "usage", "--allow: at most %d hosts, or all", PLAN_ALLOW_MAX);
	hosts = api_hosts(a, texts, &err);
	if (hosts)
		json_object_set_new(args, "allow", hosts);
	return err;
}

static int set_drives(struct api *a, json_t *args)
{
	const json_t *texts = api_list(a, "drives");
	json_t *drives;
	int err = 0;

	if (!texts)
		return 0;
	drives = api_drives(a, texts, &err);
	if (drives)
		json_object_set_new(args, "drives", drives);
	return err;
}

static const char *usual_domain(const char *layout)
{
	struct layout_shape s;

	return layout && !layout_parse(layout, &s) && layout_width(&s) > 1 ? "host" : "drive";
}

static int create_args(struct api *a, json_t *args)
{
	static const char *const numbers[] = { "strip", "groups", "spares" };
	const char *domain = api_text(a, "domain");
	const char *layout = api_text(a, "layout");
	u64 bytes = api_number(a, "size");
	int err;

	jset_str(args, "name", api_text(a, "name"));
	jset_str(args, "layout", layout);
	jset_str(args, "domain", domain ? domain : usual_domain(layout));
	json_object_set_new(args, "io", json_object());
	if (bytes)
		jset_u64(args, "bytes", bytes);
	else
		jset_bool(args, "all", true);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		if (api_number(a, numbers[i]))
			jset_u64(args, numbers[i], api_number(a, numbers[i]));
	err = set_drives(a, args);
	return err ?: set_allow(a, args);
}

static int check_name(struct api *a, const char *name, const struct muuid *volume)
{
	struct key k = { .kind = KEY_NAME };
	const struct obj_name *n;

	snprintf(k.name, sizeof(k.name), "%s", name);
	n = copy_obj(a->d->copy, &k);
	if (!n || (volume && muuid_equal(&n->volume, volume)))
		return 0;
	return api_fail(a, -EEXIST, "exists", "there is a volume %s already: take another name, or see 'meshctl volume show "
			"%s'", name, name);
}

static int create_begin(struct api *a, struct change *c)
{
	const struct obj_host *h = NULL;
	int err = api_text(a, "attach") ? api_host(a, api_text(a, "attach"), &h) : 0;

	if (h)
		c->attach = (struct api_attach) { .host = h->plan.uuid, .mode = PLAN_RW };
	return err || repeated(a, c) ? err : check_name(a, api_text(a, "name"), NULL);
}

/* ^C: what was made goes again. The task is cancelled in a step of its own, after that which wrote it. */
static int create_gone(struct api *a, struct change *c)
{
	return c->work.put ? api_work_cancel(a, &c->work.id) : 0;
}

static int create_work(struct api *a, struct change *c)
{
	const struct obj_task *t;
	json_t *args = NULL;
	int err = 0;

	if (!c->work.put) {
		args = json_object();
		err = create_begin(a, c);
		if (!err && !repeated(a, c))
			err = create_args(a, args);
	}
	if (err) {
		json_decref(args);
		return err;
	}
	err = api_work(a, &c->work, "volume create", args, NULL);
	if (err)
		return err;
	t = copy_obj(a->d->copy, &(struct key) { .kind = KEY_TASK, .task = c->work.id });
	if (!t || muuid_null(&t->volume))
		return api_fail(a, -EIO, "failed", "the task of the volume is not listed any more: see 'meshctl volume list'");
	c->volume = c->attach.volume = t->volume;
	c->made = true;
	return 0;
}

int api_volume_create(struct api *a)
{
	struct change *c = change_of(a);
	bool attach;
	int err;

	if (!c)
		return -ENOMEM;
	if (a->gone && !c->made)
		return create_gone(a, c);
	err = c->made ? 0 : create_work(a, c);
	if (err)
		return err;
	attach = !muuid_null(&c->attach.host);
	err = attach ? api_attach_step(a, &c->attach) : 0;
	if (!err)
		a->result = api_attached_json(a, &c->volume, attach ? &c->attach.host : NULL);
	return err;
}

/*
 * The common part of changes: the volume is found once, the task written, and followed.
 * @fill: judges, and adds arguments; not called for a repeat
 */
static int change(struct api *a, const char *verb,
		  int (*fill)(struct api *a, struct change *c, const struct obj_volume *v, json_t *args))
{
	struct change *c = change_of(a);
	const struct obj_volume *v = NULL;
	json_t *args = NULL;
	int err;

	if (!c)
		return -ENOMEM;
	if (repeated(a, c))
		return api_work(a, &c->work, verb, NULL, NULL);
	if (a->gone)
		return 0;
	err = api_volume(a, api_text(a, "volume"), &v);
	if (err)
		return err;
	c->volume = v->plan.uuid;
	args = json_object();
	err = fill(a, c, v, args);
	if (err) {
		json_decref(args);
		return err < 0 ? err : 0;
	}
	return api_work(a, &c->work, verb, args, &c->volume);
}

static int check_ready(struct api *a, const struct obj_volume *v)
{
	if (v->plan.state == PLAN_VOLUME_READY)
		return 0;
	return api_fail(a, -EAGAIN, "refused", "volume %s is being %s: 'meshctl task list' says what that waits for",
			v->record->name, v->plan.state == PLAN_CREATING ? "created" : "deleted");
}

/* Tasks add a segment; people name the size of all. */
static int fill_extend(struct api *a, struct change *c, const struct obj_volume *v, json_t *args)
{
	u64 size = api_number(a, "size");
	char now[SIZE_TEXT];
	int err = check_ready(a, v);

	(void)c;
	if (err)
		return err;
	if (size && size <= v->record->size) {
		size_text(v->record->size, now);
		return size == v->record->size ? 1 :
		       api_fail(a, -EINVAL, "refused", "volume %s has %s already, and does not become smaller", v->record->name,
				now);
	}
	if (size)
		jset_u64(args, "bytes", size - v->record->size);
	else
		jset_bool(args, "all", true);
	return set_drives(a, args);
}

int api_volume_extend(struct api *a)
{
	return change(a, "volume extend", fill_extend);
}

/* True if a member of this group waits, and @member is another one, or it. */
static bool group_waits(const json_t *g, u64 member, json_int_t *waits)
{
	bool has = false, any = false;
	json_t *m;
	size_t i;

	json_array_foreach(json_object_get(g, "members"), i, m) {
		has |= json_integer_value(json_object_get(m, "index")) == (json_int_t)member;
		if (!json_is_true(json_object_get(m, "waits")))
			continue;
		any = true;
		*waits = json_integer_value(json_object_get(m, "index"));
	}
	return has && any;
}

/* What this host's kernel has against a change of a member; elsewhere it waits without these words. */
static int check_waits(struct api *a, const struct obj_volume *v, u64 member)
{
	json_t *kernel = a->d->volumes ? volumes_show(a->d->volumes, &v->plan.uuid) : NULL, *g, *io;
	json_int_t waits = 0;
	const char *path;
	size_t i;
	int err = 0;

	io = json_array_get(json_object_get(kernel, "abandoned"), 0);
	path = json_string_value(json_object_get(io, "path"));
	json_array_foreach(json_object_get(kernel, "groups"), i, g) {
		if (!err && group_waits(g, member, &waits))
			err = api_fail(a, -EBUSY, "refused", "member %lld of volume %s waits for its place: the I/O of the "
				       "member before it has not ended%s%s. The device ends that, or is removed",
				       (long long)waits, v->record->name, path ? ", abandoned I/O on " : "",
				       path ? path : "");
	}
	json_decref(kernel);
	return err;
}

static int fill_replace(struct api *a, struct change *c, const struct obj_volume *v, json_t *args)
{
	const struct obj_access *x = api_access_get(a, &v->plan.uuid);
	const struct obj_drive *d;
	u64 place = 0;
	int err = check_ready(a, v);

	(void)c;
	err = err ?: api_member(a, v, api_text(a, "member") ? api_text(a, "member") : "", &place);
	if (err)
		return err;
	if (!x || x->plan.mode != PLAN_RW)
		return api_fail(a, -ENOTCONN, "refused", "volume %s is not attached, and its members change while it is alone: "
				"'meshctl volume attach %s' first", v->record->name, v->record->name);
	err = check_waits(a, v, place);
	if (err)
		return err;
	jset_u64(args, "place", place);
	if (!api_text(a, "with"))
		return 0;
	err = api_drive(a, api_text(a, "with"), &d);
	if (!err)
		json_object_set_new(args, "drives", json_pack("[s]", muuid_str(&d->plan.uuid).s));
	return err;
}

int api_volume_replace(struct api *a)
{
	return change(a, "volume replace", fill_replace);
}

int api_volume_evict(struct api *a)
{
	return change(a, "volume evict", fill_replace);
}

static int fill_rename(struct api *a, struct change *c, const struct obj_volume *v, json_t *args)
{
	const char *name = api_text(a, "name");
	int err = check_ready(a, v);

	(void)c;
	err = err ?: check_name(a, name, &v->plan.uuid);
	if (!err && !strcmp(name, v->record->name))
		return 1;
	jset_str(args, "name", name);
	return err;
}

int api_volume_rename(struct api *a)
{
	return change(a, "volume set", fill_rename);
}

static int fill_set(struct api *a, struct change *c, const struct obj_volume *v, json_t *args)
{
	int err = check_ready(a, v);

	(void)c;
	if (err)
		return err;
	if (api_number(a, "spares"))
		jset_u64(args, "spares", api_number(a, "spares"));
	else if (json_object_get(a->args, "spares"))
		jset_bool(args, "no_spares", true);
	if (api_number(a, "spares") && !layout_protected(v->record))
		return api_fail(a, -EINVAL, "usage", "--spares: volume %s has no redundancy, which has no use for them",
				v->record->name);
	return set_allow(a, args);
}

int api_volume_set(struct api *a)
{
	return change(a, "volume set", fill_set);
}

/* What a delete destroys. */
static json_t *destroys(const struct obj_volume *v)
{
	json_t *j = json_object();

	jset_str(j, "what", "volume");
	jset_str(j, "name", v->record->name);
	jset_uuid(j, "uuid", &v->plan.uuid);
	jset_u64(j, "bytes", v->record->size);
	jset_u64(j, "extents", v->record->members);
	return json_pack("[o]", j);
}

/* Where it is wanted or attached. Return: hosts, the first one in @host. */
static unsigned int users(const struct api *a, const struct muuid *volume, struct muuid *host)
{
	const struct key wants = { .kind = KEY_WANT }, readers = { .kind = KEY_READER, .volume = *volume };
	const struct obj_access *x = api_access_get(a, volume);
	const struct copy_item *i = NULL;
	unsigned int n = 0;

	while ((i = copy_next(a->d->copy, &wants, 0, i))) {
		const struct obj_want *w = i->obj;

		if (w && w->mode != PLAN_NONE && muuid_equal(&w->volume, volume) && !n++)
			*host = w->host;
	}
	i = copy_next(a->d->copy, &readers, 1, NULL);
	if (!n && x && x->plan.mode == PLAN_RW) {
		*host = x->plan.holder;
		n = 1;
	}
	if (!n && i) {
		*host = i->key.host;
		n = 1;
	}
	return n;
}

static int fill_delete(struct api *a, struct change *c, const struct obj_volume *v, json_t *args)
{
	struct muuid host;
	unsigned int n = users(a, &v->plan.uuid, &host);

	(void)c;
	if (api_flag(a, "dry_run")) {
		a->result = json_pack("{s:b, s:o}", "dry_run", 1, "destroys", destroys(v));
		if (n)
			api_note(a, "volume %s is attached on host %s: deleting it needs --preempt", v->record->name,
				 api_host_name(a, &host).s);
		return 1;
	}
	if (n && !api_flag(a, "preempt"))
		return api_fail(a, -EBUSY, "in-use", "volume %s is attached on host %s%s: 'meshctl volume detach %s --host %s', or "
				"--preempt, which fences it", v->record->name, api_host_name(a, &host).s,
				n > 1 ? " and others" : "", v->record->name, api_host_name(a, &host).s);
	if (api_flag(a, "preempt"))
		jset_bool(args, "preempt", true);
	return 0;
}

int api_volume_delete(struct api *a)
{
	return change(a, "volume delete", fill_delete);
}
