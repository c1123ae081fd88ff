// SPDX-License-Identifier: GPL-2.0-only
/* drive export: a task of the disk's host for each disk. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/daemon/api_in.h"
#include "userspace/format/json.h"

struct one {
	struct muuid host;
	char	path[OBJ_PATH];
	u64	size;
	bool	had;		/* it is a drive of the cluster already */
	struct api_work work;
	bool	done, failed;
};

struct export {
	struct one *one;
	size_t	nr;
	bool	chosen;
	/* the first failure */
	int	err;
	const char *kind;
	char	error[600];
};

static void drop(void *state)
{
	struct export *x = state;

	free(x->one);
	free(x);
}

static int add(struct export *x, const struct muuid *host, const char *path)
{
	struct one *more = realloc(x->one, (x->nr + 1) * sizeof(*more));

	if (!more)
		return -ENOMEM;
	x->one = more;
	more[x->nr] = (struct one) { .host = *host };
	snprintf(more[x->nr++].path, sizeof(more->path), "%s", path);
	return 0;
}

static const struct obj_device *device_of(const struct api *a, const struct muuid *host)
{
	return copy_obj(a->d->copy, &(struct key) { .kind = KEY_DEVICE, .host = *host });
}

/* True if the disk is a drive of that host already. */
static bool exported(const struct api *a, const struct muuid *host, const struct obj_disk *disk)
{
	const struct obj_drive *d = muuid_null(&disk->drive) ? NULL :
		copy_obj(a->d->copy, &(struct key) { .kind = KEY_DRIVE, .drive = disk->drive });

	return d && muuid_equal(&d->plan.host, host) && (d->plan.wanted == PLAN_IN || d->plan.wanted == PLAN_DRAINING);
}

/* A drive whose device has grown since gets all of it. */
static bool grown(const struct api *a, const struct obj_disk *disk)
{
	const struct obj_drive *d = copy_obj(a->d->copy, &(struct key) { .kind = KEY_DRIVE, .drive = disk->drive });

	return d && disk->size >= d->size + LABEL_AREA;
}

/* The host's agent decides; what it has said of the disk already is not requested of it again. */
static int judge(struct api *a, struct one *o)
{
	const struct obj_device *v = device_of(a, &o->host);
	bool forced = api_flag(a, "force") || api_flag(a, "erase_label"), is;

	for (u32 i = 0; v && i < v->disks; i++) {
		const struct obj_disk *d = &v->disk[i];

		if (!api_at(a, &o->host, o->path, d->path))
			continue;
		o->size = d->size;
		is = exported(a, &o->host, d);
		o->had = is && !grown(a, d);
		/* A drive that has left comes back so, and the agent says what speaks against others. */
		if (!is && !d->exportable && !forced && muuid_null(&d->drive))
			return api_fail(a, -EINVAL, "refused", "%s of host %s cannot be exported: %s", o->path,
					api_host_name(a, &o->host).s, d->why[0] ? d->why : "see 'meshctl drive scan'");
		return 0;
	}
	return 0;
}

/* HOST:DEVICE, or a device of this host. */
static int choose_named(struct api *a, struct export *x, const char *text)
{
	const char *device = strstr(text, ":/");
	const struct obj_host *h;
	char host[OBJ_TEXT];
	int err;

	if (device && (size_t)(device - text) >= sizeof(host))
		return api_fail(a, -EINVAL, "usage", "%.40s..: no host has such a long name", text);
	if (device)
		snprintf(host, sizeof(host), "%.*s", (int)(device - text), text);
	device = device ? device + 1 : text;
	if (device[0] != '/' || strlen(device) >= OBJ_PATH)
		return api_fail(a, -EINVAL, "usage", "%.60s: a device is named by its path, as /dev/nvme0n1 or "
				"HOST:/dev/nvme0n1: see 'meshctl drive scan'", text);
	err = api_host(a, device == text ? NULL : host, &h);
	if (!err)
		err = add(x, &h->plan.uuid, device);
	return err ?: judge(a, &x->one[0]);
}

static int choose_of_host(struct api *a, struct export *x, const struct obj_host *h)
{
	const struct obj_device *v = device_of(a, &h->plan.uuid);
	int err = 0;

	if (!v)
		return api_fail(a, -ENOENT, "unreachable", "host %s has not reported its disks: is its meshd up?", h->name);
	for (u32 i = 0; !err && i < v->disks; i++) {
		if (!v->disk[i].exportable || exported(a, &v->host, &v->disk[i]))
			continue;
		err = add(x, &v->host, v->disk[i].path);
		if (!err)
			x->one[x->nr - 1].size = v->disk[i].size;
	}
	return err;
}

static int choose_all(struct api *a, struct export *x)
{
	const json_t *hosts = api_list(a, "hosts");
	const struct obj_host *h;
	json_t *name;
	size_t i;
	int err = 0;

	if (!hosts) {
		err = api_host(a, NULL, &h);
		return err ?: choose_of_host(a, x, h);
	}
	json_array_foreach((json_t *)hosts, i, name) {
		err = err ?: api_host(a, json_string_value(name), &h);
		err = err ?: choose_of_host(a, x, h);
	}
	return err;
}

static json_t *exports_json(const struct api *a, const struct export *x)
{
	json_t *list = json_array(), *j;

	for (size_t i = 0; i < x->nr; i++) {
		j = json_object();
		jset_str(j, "host", api_host_name(a, &x->one[i].host).s);
		jset_str(j, "path", x->one[i].path);
		if (x->one[i].size)
			jset_u64(j, "size", x->one[i].size);
		jset_str(j, "state", x->one[i].had ? "exported" : x->one[i].done ? "in" : "exportable");
		json_array_append_new(list, j);
	}
	return list;
}

static int step_one(struct api *a, struct one *o)
{
	json_t *args;

	if (o->work.put)
		return a->gone ? 0 : api_work_wait(a, &o->work);
	args = json_pack("{s:s, s:s}", "host", muuid_str(&o->host).s, "path", o->path);
	if (api_flag(a, "force"))
		jset_bool(args, "force", true);
	if (api_flag(a, "erase_label"))
		jset_bool(args, "erase_label", true);
	if (api_flag(a, "local"))
		jset_bool(args, "local", true);
	if (api_text(a, "name"))
		jset_str(args, "name", api_text(a, "name"));
	if (!api_host_alive(a, &o->host))
		api_note(a, "host %s is away: it exports %s when it is back; ^C leaves it to that",
			 api_host_name(a, &o->host).s, o->path);
	return api_work(a, &o->work, "drive export", args, NULL);
}

/* All go on side by side; the first failure is what the request fails with, when all have ended. */
static int step_all(struct api *a, struct export *x)
{
	bool waits = false;
	int ret;

	for (size_t i = 0; i < x->nr; i++) {
		struct one *o = &x->one[i];

		if (o->had || o->done || o->failed)
			continue;
		ret = step_one(a, o);
		o->done = !ret;
		o->failed = ret && ret != -EINPROGRESS;
		waits = waits || ret == -EINPROGRESS;
		if (!o->failed || x->err)
			continue;
		x->err = ret;
		x->kind = a->error[0] ? a->kind : "failed";
		snprintf(x->error, sizeof(x->error), "%.80s: %.500s", o->path, a->error[0] ? a->error : strerror(-ret));
	}
	if (waits)
		return -EINPROGRESS;
	if (x->err)
		return api_fail(a, x->err, x->kind, "%s", x->error);
	a->result = json_pack("{s:o}", "drives", exports_json(a, x));
	return 0;
}

int api_drive_export(struct api *a)
{
	struct export *x = a->state;
	int err;

	if (!x) {
		x = calloc(1, sizeof(*x));
		if (!x)
			return -ENOMEM;
		a->state = x;
		a->drop = drop;
	}
	if (!x->chosen) {
		err = api_flag(a, "all") ? choose_all(a, x) : choose_named(a, x, api_text(a, "path"));
		if (err)
			return err;
		if (!x->nr)
			api_note(a, "no disk of these hosts can be exported: see 'meshctl drive scan'");
		x->chosen = true;
	}
	if (api_flag(a, "dry_run")) {
		a->result = json_pack("{s:b, s:o}", "dry_run", 1, "exports", exports_json(a, x));
		return 0;
	}
	return step_all(a, x);
}
