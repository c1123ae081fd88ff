// SPDX-License-Identifier: GPL-2.0-only
/* Disks and drives of all hosts. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/daemon/api_in.h"
#include "userspace/format/json.h"

static bool named(const json_t *uuids, const struct muuid *host)
{
	json_t *u;
	size_t i;

	json_array_foreach((json_t *)uuids, i, u)
		if (!strcmp(json_string_value(u), muuid_str(host).s))
			return true;
	return !uuids;
}

static json_t *disk_json(const struct api *a, const struct muuid *host, const struct obj_disk *d)
{
	const struct key k = { .kind = KEY_DRIVE, .drive = d->drive };
	const struct obj_drive *has = muuid_null(&d->drive) ? NULL : copy_obj(a->d->copy, &k);
	bool exported = has && muuid_equal(&has->plan.host, host) && has->plan.wanted != PLAN_OUT;
	json_t *j = json_object();

	jset_str(j, "host", api_host_name(a, host).s);
	jset_str(j, "path", d->path);
	jset_u64(j, "size", d->size);
	jset_u64(j, "lba", d->lba);
	jset_str(j, "model", d->model);
	jset_str(j, "serial", d->serial);
	jset_str(j, "wwid", d->wwid);
	jset_str(j, "state", exported ? "exported" : d->exportable ? "exportable" : "unusable");
	if (!muuid_null(&d->drive))
		jset_uuid(j, "uuid", &d->drive);
	if (!d->exportable && d->why[0] && !exported)
		jset_str(j, "reason", d->why);
	return j;
}

int api_drive_scan(struct api *a)
{
	const struct key all = { .kind = KEY_DEVICE };
	const struct copy_item *i = NULL;
	json_t *list, *hosts = NULL;
	int err = 0;

	if (api_list(a, "hosts"))
		hosts = api_hosts(a, api_list(a, "hosts"), &err);
	if (err)
		return err;
	list = json_array();
	while ((i = copy_next(a->d->copy, &all, 0, i))) {
		const struct obj_device *v = i->obj;

		for (u32 n = 0; v && named(hosts, &v->host) && n < v->disks; n++)
			json_array_append_new(list, disk_json(a, &v->host, &v->disk[n]));
	}
	json_decref(hosts);
	a->result = json_pack("{s:o}", "drives", list);
	return 0;
}

static const char *drive_state(const struct api *a, const struct obj_drive *d, const char *away)
{
	static const char *const words[] = {
		[PLAN_IN] = "in", [PLAN_DRAINING] = "draining", [PLAN_OUT] = "out", [PLAN_FORGOTTEN] = "forgotten",
	};

	(void)a;
	return away && d->plan.wanted != PLAN_OUT ? "away" : words[d->plan.wanted];
}

static json_t *drive_json(const struct api *a, const struct obj_drive *d)
{
	const char *away = api_drive_away(a, d);
	json_t *j = json_object();
	u64 used = 0;

	for (u32 i = 0; i < d->plan.extents; i++)
		used += d->plan.extent[i].length;
	jset_uuid(j, "uuid", &d->plan.uuid);
	jset_str(j, "name", d->name);
	jset_str(j, "host", api_host_name(a, &d->plan.host).s);
	jset_str(j, "path", api_drive_path(a, d));
	jset_u64(j, "size", d->size);
	jset_u64(j, "free", used < d->size ? d->size - used : 0);
	jset_u64(j, "lba", d->lba);
	jset_u64(j, "extents", d->plan.extents);
	jset_bool(j, "local", d->local);
	jset_str(j, "model", d->model);
	jset_str(j, "serial", d->serial);
	jset_str(j, "state", drive_state(a, d, away));
	if (away)
		jset_str(j, "reason", away);
	return j;
}

int api_drive_list(struct api *a)
{
	const struct key all = { .kind = KEY_DRIVE };
	const struct copy_item *i = NULL;
	json_t *list = json_array();

	while ((i = copy_next(a->d->copy, &all, 0, i))) {
		const struct obj_drive *d = i->obj;

		if (d && d->plan.wanted != PLAN_FORGOTTEN)
			json_array_append_new(list, drive_json(a, d));
	}
	a->result = json_pack("{s:o}", "drives", list);
	return 0;
}

/* Volumes whose extents are on a drive, each once. */
static json_t *volumes_on(const struct api *a, const struct obj_drive *d)
{
	json_t *list = json_array(), *j, *had;
	size_t k;

	for (u32 i = 0; i < d->plan.extents; i++) {
		struct api_name name = api_volume_name(a, &d->plan.extent[i].volume);
		bool is = false;

		json_array_foreach(list, k, had)
			is = is || !strcmp(json_string_value(json_object_get(had, "name")), name.s);
		if (is)
			continue;
		j = json_object();
		jset_str(j, "what", "volume");
		jset_str(j, "name", name.s);
		json_array_append_new(list, j);
	}
	return list;
}

/* Of a local drive, whose host's kernel has it open itself. */
static int local_check(struct api *a, const struct obj_drive *d)
{
	for (u32 i = 0; d->local && i < d->plan.extents; i++) {
		const struct key k = { .kind = KEY_ACCESS, .volume = d->plan.extent[i].volume };
		const struct key reader = { .kind = KEY_READER, .volume = k.volume, .host = d->plan.host };
		const struct obj_access *x = copy_obj(a->d->copy, &k);

		if ((x && x->plan.mode == PLAN_RW && muuid_equal(&x->plan.holder, &d->plan.host)) ||
		    copy_get(a->d->copy, &reader))
			return api_fail(a, -EBUSY, "in-use", "drive %s is a local one of host %s, which has volume %s "
					"attached: detach that first", d->path, api_host_name(a, &d->plan.host).s,
					api_volume_name(a, &k.volume).s);
	}
	return 0;
}

static int unexport_check(struct api *a, const struct obj_drive *d)
{
	struct api_name name;

	if (!d->plan.extents || api_flag(a, "force"))
		return local_check(a, d);
	name = api_volume_name(a, &d->plan.extent[0].volume);
	return api_fail(a, -EBUSY, "in-use", "drive %s has %u extents of volumes, the first of %s: move them with 'meshctl "
			"volume evict %s MEMBER', or go on with --force: their data stays on the drive",
			api_drive_path(a, d), d->plan.extents, name.s, name.s);
}

static int drain_check(struct api *a, const struct obj_drive *d)
{
	const char *away = api_drive_away(a, d);

	return !away ? 0 :
	       api_fail(a, -ENODEV, "refused", "drive %s cannot be copied from, as %s: 'meshctl volume replace' gives each volume "
			"another drive for it", api_drive_path(a, d), away);
}

/* The one place where data is given up knowingly: never that of a drive that is there. */
static int forget_check(struct api *a, const struct obj_drive *d)
{
	if (!api_drive_away(a, d))
		return api_fail(a, -EBUSY, "refused", "drive %s of host %s is there, so nothing is to be given up: 'meshctl drive "
				"drain' moves what is on it, 'meshctl drive unexport' ends it", api_drive_path(a, d),
				api_host_name(a, &d->plan.host).s);
	return 0;
}

/* A task about one drive. @check: judges it; not called for a repeat, which finds the task. */
static int drive_work(struct api *a, const char *verb, int (*check)(struct api *a, const struct obj_drive *d))
{
	struct api_work *w = a->state;
	const struct obj_drive *d;
	json_t *args;
	int err;

	if (w && w->put)
		return a->gone ? 0 : api_work_wait(a, w);
	if (!w) {
		w = calloc(1, sizeof(*w));
		if (!w)
			return -ENOMEM;
		a->state = w;
	}
	if (api_id(a, &w->id) && copy_get(a->d->copy, &(struct key) { .kind = KEY_TASK, .task = w->id }))
		return api_work(a, w, verb, NULL, NULL);
	if (a->gone)
		return 0;
	err = api_drive(a, api_text(a, "drive"), &d);
	if (err)
		return err;
	if (api_flag(a, "dry_run")) {
		a->result = json_pack("{s:b, s:o}", "dry_run", 1, "unreachable", volumes_on(a, d));
		return 0;
	}
	err = check(a, d);
	if (err)
		return err;
	args = json_pack("{s:s}", "drive", muuid_str(&d->plan.uuid).s);
	if (check == unexport_check) {
		jset_uuid(args, "host", &d->plan.host);
		if (api_flag(a, "force"))
			jset_bool(args, "force", true);
		if (api_flag(a, "preempt"))
			jset_bool(args, "preempt", true);
		if (!api_host_alive(a, &d->plan.host))
			api_note(a, "host %s is away: the drive goes when it is back; ^C leaves it to that",
				 api_host_name(a, &d->plan.host).s);
	}
	return api_work(a, w, verb, args, NULL);
}

int api_drive_unexport(struct api *a)
{
	return drive_work(a, "drive unexport", unexport_check);
}

int api_drive_drain(struct api *a)
{
	return drive_work(a, "drive drain", drain_check);
}

int api_drive_forget(struct api *a)
{
	return drive_work(a, "drive forget", forget_check);
}
