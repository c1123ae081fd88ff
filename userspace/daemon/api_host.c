// SPDX-License-Identifier: GPL-2.0-only
/* Hosts of the cluster: what people say about them. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/daemon/api_in.h"
#include "userspace/format/json.h"

static const char *host_state(const struct api *a, const struct obj_host *h)
{
	const struct obj_status *s = api_status_get(a, &h->plan.uuid, &h->plan.uuid);

	if (h->plan.maintenance)
		return "maintenance";
	if (!api_host_alive(a, &h->plan.uuid))
		return "away";
	return s && s->subject == OBJ_OF_HOST ? s->state : "up";
}

static json_t *host_json(const struct api *a, const struct obj_host *h)
{
	const struct obj_alive *alive = copy_obj(a->d->copy, &(struct key) { .kind = KEY_ALIVE, .host = h->plan.uuid });
	const struct obj_leader *leader = copy_obj(a->d->copy, &(struct key) { .kind = KEY_LEADER });
	const struct obj_status *s = api_status_get(a, &h->plan.uuid, &h->plan.uuid);
	json_t *j = json_object(), *addresses = json_array();

	jset_str(j, "name", h->name);
	jset_uuid(j, "uuid", &h->plan.uuid);
	jset_str(j, "role", obj_role(h->plan.role) ? obj_role(h->plan.role) : "?");
	jset_str(j, "state", host_state(a, h));
	jset_bool(j, "maintenance", h->plan.maintenance);
	jset_bool(j, "controller", leader && muuid_equal(&leader->host, &h->plan.uuid));
	jset_bool(j, "this", muuid_equal(&h->plan.uuid, &a->d->host));
	jset_str(j, "rack", h->rack);
	json_object_set_new(j, "labels", h->labels ? json_deep_copy(h->labels) : json_object());
	for (u32 i = 0; i < h->addresses; i++)
		json_array_append_new(addresses, json_string(h->address[i].addr));
	json_object_set_new(j, "addresses", addresses);
	jset_str(j, "addr", h->addresses ? h->address[0].addr : "");
	jset_str(j, "version", alive ? alive->meshd : "");
	if (s && s->words[0])
		jset_str(j, "reason", s->words);
	return j;
}

int api_host_list(struct api *a)
{
	const struct key all = { .kind = KEY_HOST };
	const struct copy_item *i = NULL;
	json_t *list = json_array();

	while ((i = copy_next(a->d->copy, &all, 0, i))) {
		const struct obj_host *h = i->obj;

		if (h && !h->plan.removed)
			json_array_append_new(list, host_json(a, h));
	}
	a->result = json_pack("{s:o}", "hosts", list);
	return 0;
}

/* Write host/H as the copy has it, with a change. */
static int put_host(struct api *a, struct obj_host *h)
{
	struct deal d;
	int ret;

	deal_begin(&d, a->d->copy);
	deal_put(&d, KEY_HOST, h, 0);
	ret = api_deal(a, &d);
	return ret == 1 ? 0 : ret;
}

int api_host_maintenance(struct api *a)
{
	bool on = !strcmp(api_text(a, "state"), "on");
	const struct obj_host *h;
	struct obj_host out;
	int err = api_host(a, api_text(a, "host"), &h);

	if (err || h->plan.maintenance == on)
		return err;
	out = *h;
	out.plan.maintenance = on;
	return put_host(a, &out);
}

static int set_label(struct api *a, json_t *labels, const char *pair)
{
	const char *equals = strchr(pair, '=');
	char name[OBJ_TEXT];
	int err = 0;

	if ((size_t)(equals - pair) >= sizeof(name) || strlen(equals + 1) >= OBJ_TEXT)
		return api_fail(a, -EINVAL, "usage", "--label %.20s..: name and value have at most %d bytes each", pair,
				OBJ_TEXT - 1);
	snprintf(name, sizeof(name), "%.*s", (int)(equals - pair), pair);
	if (!strcmp(name, "rack") || !strcmp(name, "host") || !strcmp(name, "drive"))
		return api_fail(a, -EINVAL, "usage", "--label %s: that name has a meaning; the rack is set by --rack", name);
	if (!equals[1])
		json_object_del(labels, name);
	else
		err = json_object_set_new(labels, name, json_string(equals + 1)) ? -ENOMEM : 0;
	if (!err && json_object_size(labels) > OBJ_LABELS_MAX)
		return api_fail(a, -E2BIG, "refused", "a host has at most %d labels", OBJ_LABELS_MAX);
	return err;
}

int api_host_set(struct api *a)
{
	const char *rack = json_string_value(json_object_get(a->args, "rack"));
	const struct obj_host *h;
	struct obj_host out;
	json_t *pair;
	size_t i;
	int err = api_host(a, api_text(a, "host"), &h);

	if (err)
		return err;
	out = *h;
	if (rack && strlen(rack) >= sizeof(out.rack))
		return api_fail(a, -EINVAL, "usage", "--rack: at most %zu bytes", sizeof(out.rack) - 1);
	if (rack)
		snprintf(out.rack, sizeof(out.rack), "%s", rack);
	out.labels = h->labels ? json_deep_copy(h->labels) : json_object();
	json_array_foreach((json_t *)api_list(a, "labels"), i, pair)
		err = err ?: set_label(a, out.labels, json_string_value(pair));
	if (!json_object_size(out.labels)) {
		json_decref(out.labels);
		out.labels = NULL;
	}
	if (!err)
		err = put_host(a, &out);
	json_decref(out.labels);
	return err;
}

/* One that would be lost with a host: a drive with its extents, or a volume that it has attached. */
static void add_lost(json_t *list, const char *what, const char *name, u64 bytes, u32 extents)
{
	json_t *j = json_object();

	jset_str(j, "what", what);
	jset_str(j, "name", name);
	if (bytes)
		jset_u64(j, "bytes", bytes);
	if (extents)
		jset_u64(j, "extents", extents);
	json_array_append_new(list, j);
}

static json_t *what_is_lost(const struct api *a, const struct obj_host *h)
{
	const struct key drives = { .kind = KEY_DRIVE }, accesses = { .kind = KEY_ACCESS };
	const struct copy_item *i = NULL;
	json_t *list = json_array();

	while ((i = copy_next(a->d->copy, &drives, 0, i))) {
		const struct obj_drive *d = i->obj;

		if (d && muuid_equal(&d->plan.host, &h->plan.uuid) && d->plan.wanted != PLAN_FORGOTTEN &&
		    (d->plan.wanted != PLAN_OUT || d->plan.extents))
			add_lost(list, "drive", api_drive_path(a, d), d->size, d->plan.extents);
	}
	i = NULL;
	while ((i = copy_next(a->d->copy, &accesses, 0, i))) {
		const struct obj_access *x = i->obj;

		if (x && x->plan.mode == PLAN_RW && muuid_equal(&x->plan.holder, &h->plan.uuid))
			add_lost(list, "attachment", api_volume_name(a, &x->volume).s, 0, 0);
	}
	return list;
}

static int remove_refused(struct api *a, const struct obj_host *h, const json_t *lost)
{
	const json_t *first = json_array_get(lost, 0);

	if (muuid_equal(&h->plan.uuid, &a->d->host))
		return api_fail(a, -EINVAL, "refused", "that is this host: 'meshctl cluster leave' is for it, or remove it "
				"from another host");
	if (!json_array_size(lost))
		return 0;
	if (!api_flag(a, "lost"))
		return api_fail(a, -EBUSY, "in-use", "host %s has %zu drives and attached volumes, the first is %s %s: "
				"unexport and detach them, or, if the host does not come back, go on with --lost", h->name,
				json_array_size(lost), json_string_value(json_object_get(first, "what")),
				json_string_value(json_object_get(first, "name")));
	if (api_host_alive(a, &h->plan.uuid))
		return api_fail(a, -EBUSY, "refused", "host %s is alive, so it is not lost: unexport its drives and detach "
				"its volumes", h->name);
	return 0;
}

/* What is obvious is refused at once; the controller judges the rest from the objects of its turn. */
static int remove_begin(struct api *a, struct api_work *w)
{
	const struct obj_host *h;
	json_t *lost, *args;
	int err = api_host(a, api_text(a, "host"), &h);

	if (err)
		return err;
	lost = what_is_lost(a, h);
	if (api_flag(a, "dry_run")) {
		a->result = json_pack("{s:b, s:o}", "dry_run", 1, "unreachable", lost);
		return 0;
	}
	err = remove_refused(a, h, lost);
	json_decref(lost);
	if (err)
		return err;
	args = json_object();
	jset_uuid(args, "host", &h->plan.uuid);
	if (api_flag(a, "lost"))
		jset_bool(args, "lost", true);
	return api_work(a, w, "host remove", args, NULL);
}

int api_host_remove(struct api *a)
{
	struct api_work *w = a->state;

	if (!w)
		a->state = w = calloc(1, sizeof(*w));
	if (!w)
		return api_fail(a, -ENOMEM, "failed", "meshd has no memory");
	return w->put ? api_work(a, w, "host remove", NULL, NULL) : remove_begin(a, w);
}
