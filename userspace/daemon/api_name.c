// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/daemon/api_in.h"

#define START_MIN	4	/* digits of the start of a UUID */

/* True if @text is a UUID, or the start of one that is long enough not to be a name by chance. */
static bool starts(const struct muuid *u, const char *text)
{
	size_t len = strlen(text);

	return len >= START_MIN && len < MUUID_TEXT && !strncasecmp(muuid_str(u).s, text, len);
}

/*
 * Candidates of one name: one that is called so is before those whose UUID begins so.
 * @fits: 2: it is; 1: it begins so; 0: another one.
 */
struct search {
	enum key_kind kind;
	const char *noun, *list;	/* "host", "host list" */
	int	(*fits)(const struct api *a, const void *obj, const char *text);
};

static int search(struct api *a, const struct search *s, const char *text, const void **out)
{
	const struct key all = { .kind = s->kind };
	const struct copy_item *i = NULL;
	const void *found = NULL;
	unsigned int n = 0;
	int best = 0, fits;

	while ((i = copy_next(a->d->copy, &all, 0, i))) {
		fits = i->obj ? s->fits(a, i->obj, text) : 0;
		if (!fits || fits < best)
			continue;
		n = fits > best ? 1 : n + 1;
		best = fits;
		found = i->obj;
	}
	if (n == 1) {
		*out = found;
		return 0;
	}
	if (n)
		return api_fail(a, -ENOTUNIQ, "not-found", "'%s' fits %u %ss: name one by its UUID, from 'meshctl %s'",
				text, n, s->noun, s->list);
	return api_fail(a, -ENOENT, "not-found", "there is no %s '%s': see 'meshctl %s'", s->noun, text, s->list);
}

static int host_fits(const struct api *a, const void *obj, const char *text)
{
	const struct obj_host *h = obj;
	size_t len = strlen(text);

	(void)a;
	if (h->plan.removed)
		return 0;
	if (!strcmp(h->name, text) || !strcasecmp(muuid_str(&h->plan.uuid).s, text))
		return 2;
	return (len && !strncmp(h->name, text, len)) || starts(&h->plan.uuid, text);
}

static const struct search hosts = { KEY_HOST, "host", "host list", host_fits };

int api_host(struct api *a, const char *text, const struct obj_host **out)
{
	const void *found = NULL;
	int err;

	if (!text) {
		*out = copy_obj(a->d->copy, &(struct key) { .kind = KEY_HOST, .host = a->d->host });
		return *out ? 0 : api_fail(a, -ENOENT, "not-found", "this host is not in the cluster store yet; try again "
					   "in a moment, or name one with --host");
	}
	err = search(a, &hosts, text, &found);
	*out = found;
	return err;
}

static const struct obj_device *device_of(const struct api *a, const struct obj_drive *d)
{
	return copy_obj(a->d->copy, &(struct key) { .kind = KEY_DEVICE, .host = d->plan.host });
}

const struct obj_disk *api_drive_disk(const struct api *a, const struct obj_drive *d)
{
	const struct obj_device *v = device_of(a, d);

	for (u32 i = 0; v && i < v->disks; i++) {
		const struct obj_disk *disk = &v->disk[i];

		if (muuid_equal(&disk->drive, &d->plan.uuid) && !strcmp(disk->wwid, d->wwid) &&
		    !strcmp(disk->serial, d->serial))
			return disk;
	}
	return NULL;
}

const char *api_drive_path(const struct api *a, const struct obj_drive *d)
{
	const struct obj_disk *disk = api_drive_disk(a, d);
	const struct obj_device *v = device_of(a, d);

	for (u32 i = 0; !disk && v && i < v->disks; i++) {
		if (!strcmp(v->disk[i].path, d->path))
			return "";
	}
	return disk ? disk->path : d->path;
}

bool api_at(const struct api *a, const struct muuid *host, const char *text, const char *path)
{
	bool here = muuid_equal(host, &a->d->host);
	char real[PATH_MAX];

	return !strcmp(here && realpath(text, real) ? real : text, path);
}

/* "HOST:DEVICE", of a host by its whole name or UUID. */
static bool is_at(const struct api *a, const struct obj_drive *d, const char *text)
{
	const char *device = strstr(text, ":/"), *path = api_drive_path(a, d);
	const struct obj_host *h = copy_obj(a->d->copy, &(struct key) { .kind = KEY_HOST, .host = d->plan.host });
	size_t len;

	if (text[0] == '/')
		return muuid_equal(&d->plan.host, &a->d->host) && api_at(a, &d->plan.host, text, path);
	if (!device || !h || !api_at(a, &d->plan.host, device + 1, path))
		return false;
	len = (size_t)(device - text);
	return (strlen(h->name) == len && !strncmp(h->name, text, len)) ||
	       (len == MUUID_TEXT - 1 && !strncasecmp(muuid_str(&d->plan.host).s, text, len));
}

static int drive_fits(const struct api *a, const void *obj, const char *text)
{
	const struct obj_drive *d = obj;

	if (d->plan.wanted == PLAN_FORGOTTEN)
		return 0;
	if (!strcmp(d->name, text) || !strcasecmp(muuid_str(&d->plan.uuid).s, text) || is_at(a, d, text))
		return 2;
	return starts(&d->plan.uuid, text);
}

static const struct search drives = { KEY_DRIVE, "drive", "drive list", drive_fits };

int api_drive(struct api *a, const char *text, const struct obj_drive **out)
{
	const void *found = NULL;
	int err = search(a, &drives, text ? text : "", &found);

	*out = found;
	return err;
}

static int volume_fits(const struct api *a, const void *obj, const char *text)
{
	const struct obj_volume *v = obj;

	(void)a;
	if (!strcmp(v->record->name, text) || !strcasecmp(muuid_str(&v->plan.uuid).s, text))
		return 2;
	return starts(&v->plan.uuid, text);
}

static const struct search volumes = { KEY_VOLUME, "volume", "volume list", volume_fits };

int api_volume(struct api *a, const char *text, const struct obj_volume **out)
{
	const void *found = NULL;
	int err = search(a, &volumes, text ? text : "", &found);

	*out = found;
	return err;
}

int api_member(struct api *a, const struct obj_volume *v, const char *text, u64 *place)
{
	const struct layout *l = v->record;
	unsigned int n = 0;
	char *end;

	*place = strtoul(text, &end, 10);
	if (end != text && !*end && *place < l->members)
		return 0;
	for (u32 i = 0; i < l->members; i++) {
		if (!starts(&l->member[i].drive, text) && !starts(&l->member[i].extent, text))
			continue;
		*place = i;
		n++;
	}
	if (n == 1)
		return 0;
	return api_fail(a, -EINVAL, "usage", "MEMBER %.40s: volume %s has members 0 to %u: see 'meshctl volume show %s'",
			text, l->name, l->members - 1, l->name);
}

static int task_fits(const struct api *a, const void *obj, const char *text)
{
	const struct obj_task *t = obj;

	(void)a;
	return !strcasecmp(muuid_str(&t->uuid).s, text) ? 2 : starts(&t->uuid, text);
}

static const struct search tasks = { KEY_TASK, "task", "task list --all", task_fits };

int api_task(struct api *a, const char *text, const struct obj_task **out)
{
	const void *found = NULL;
	int err = search(a, &tasks, text ? text : "", &found);

	*out = found;
	return err;
}

json_t *api_hosts(struct api *a, const json_t *texts, int *err)
{
	json_t *out = json_array(), *t;
	const struct obj_host *h;
	size_t i;

	*err = 0;
	json_array_foreach((json_t *)texts, i, t) {
		*err = api_host(a, json_string_value(t), &h);
		if (*err)
			break;
		json_array_append_new(out, json_string(muuid_str(&h->plan.uuid).s));
	}
	if (!*err)
		return out;
	json_decref(out);
	return NULL;
}

json_t *api_drives(struct api *a, const json_t *texts, int *err)
{
	json_t *out = json_array(), *t;
	const struct obj_drive *d;
	size_t i;

	*err = 0;
	json_array_foreach((json_t *)texts, i, t) {
		*err = api_drive(a, json_string_value(t), &d);
		if (*err)
			break;
		json_array_append_new(out, json_string(muuid_str(&d->plan.uuid).s));
	}
	if (!*err)
		return out;
	json_decref(out);
	return NULL;
}

struct api_name api_host_name(const struct api *a, const struct muuid *host)
{
	const struct obj_host *h = muuid_null(host) ? NULL :
		copy_obj(a->d->copy, &(struct key) { .kind = KEY_HOST, .host = *host });
	struct api_name n;

	snprintf(n.s, sizeof(n.s), "%s", h && h->name[0] ? h->name : muuid_str(host).s);
	return n;
}

struct api_name api_volume_name(const struct api *a, const struct muuid *volume)
{
	const struct obj_volume *v = api_volume_get(a, volume);
	struct api_name n;

	snprintf(n.s, sizeof(n.s), "%s", v ? v->record->name : muuid_str(volume).s);
	return n;
}

bool api_host_alive(const struct api *a, const struct muuid *host)
{
	return copy_get(a->d->copy, &(struct key) { .kind = KEY_ALIVE, .host = *host });
}

const struct obj_volume *api_volume_get(const struct api *a, const struct muuid *volume)
{
	return muuid_null(volume) ? NULL :
	       copy_obj(a->d->copy, &(struct key) { .kind = KEY_VOLUME, .volume = *volume });
}

const struct obj_access *api_access_get(const struct api *a, const struct muuid *volume)
{
	return copy_obj(a->d->copy, &(struct key) { .kind = KEY_ACCESS, .volume = *volume });
}

const struct copy_item *api_status_item(const struct api *a, const struct muuid *host, const struct muuid *about)
{
	return copy_get(a->d->copy, &(struct key) { .kind = KEY_STATUS, .host = *host, .about = *about });
}

const struct obj_status *api_status_get(const struct api *a, const struct muuid *host, const struct muuid *about)
{
	const struct copy_item *i = api_status_item(a, host, about);

	return i ? i->obj : NULL;
}

const char *api_mode(u8 mode)
{
	return mode == PLAN_RW ? "rw" : mode == PLAN_RO ? "ro" : "none";
}
