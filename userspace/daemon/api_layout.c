// SPDX-License-Identifier: GPL-2.0-only
/* A volume as JSON: its layout, and where it is attached. */
#include <stdio.h>
#include <string.h>

#include "userspace/daemon/api_in.h"
#include "userspace/format/json.h"

const char *api_drive_away(const struct api *a, const struct obj_drive *d)
{
	const struct obj_status *s = api_status_get(a, &d->plan.host, &d->plan.uuid);
	const struct obj_device *v = copy_obj(a->d->copy, &(struct key) { .kind = KEY_DEVICE, .host = d->plan.host });

	if (!api_host_alive(a, &d->plan.host))
		return "its host is away";
	if (s && s->subject == OBJ_OF_DRIVE && (!strcmp(s->state, "away") || !strcmp(s->state, "gone") ||
						!strcmp(s->state, "sick")))
		return s->words[0] ? s->words : "its host cannot use it";
	return v && v->disks && !api_drive_disk(a, d) ? "its host does not find the device" : NULL;
}

static const struct obj_drive *drive_of(const struct api *a, const struct layout_member *m)
{
	return copy_obj(a->d->copy, &(struct key) { .kind = KEY_DRIVE, .drive = m->drive });
}

static const char *member_away(const struct api *a, const struct layout_member *m)
{
	const struct obj_drive *d = drive_of(a, m);

	if (d && d->plan.wanted == PLAN_OUT)
		return "its drive was unexported";
	return d ? api_drive_away(a, d) : "its drive is not in the cluster any more";
}

static const struct obj_roster *roster_of(const struct api *a, const struct muuid *volume)
{
	return copy_obj(a->d->copy, &(struct key) { .kind = KEY_ROSTER, .volume = *volume });
}

/* Members of a group that its roster does not have in sync. */
static u32 group_lacks(const struct obj_group *g)
{
	u32 n = 0;

	if (!g->plan.attach)
		return 0;
	for (u32 i = 0; i < g->plan.members; i++)
		n += !(g->plan.in_sync >> i & 1);
	return n;
}

/* True if the last roster of its group has an extent as one that lacks data. */
static bool is_out(const struct obj_roster *r, const struct muuid *extent)
{
	for (u32 i = 0; r && i < r->groups; i++) {
		const struct plan_roster *p = &r->group[i].plan;

		for (u32 m = 0; p->attach && m < p->members; m++)
			if (muuid_equal(&p->extent[m], extent))
				return !(p->in_sync >> m & 1);
	}
	return false;
}

enum api_health api_volume_health(const struct api *a, const struct obj_volume *v, u32 *lacks)
{
	const struct obj_roster *r = roster_of(a, &v->plan.uuid);
	const struct plan_layout *l = &v->plan.layout;
	u16 lost[PROT_PLACES_MAX] = { 0 };
	bool down = false;

	*lacks = 0;
	for (u32 i = 0; i < v->record->members && i < l->places; i++) {
		u16 g = l->place[i].group;

		if (!is_out(r, &v->record->member[i].extent) && !member_away(a, &v->record->member[i]))
			continue;
		(*lacks)++;
		down = down || g >= l->groups || ++lost[g] > l->group[g].members - l->group[g].data;
	}
	return down ? API_DOWN : *lacks ? API_DEGRADED : API_WHOLE;
}

static const char *volume_state(const struct api *a, const struct obj_volume *v)
{
	const struct key readers = { .kind = KEY_READER, .volume = v->plan.uuid };
	const struct obj_access *x = api_access_get(a, &v->plan.uuid);

	if (v->plan.state != PLAN_VOLUME_READY)
		return v->plan.state == PLAN_CREATING ? "creating" : "deleting";
	if (x && x->plan.mode == PLAN_RW)
		return "attached";
	return copy_next(a->d->copy, &readers, 1, NULL) ? "read" : "detached";
}

/* A host that has the volume, or is to have it. */
static json_t *host_json(const struct api *a, const struct obj_volume *v, const struct muuid *host)
{
	const struct obj_want *w = copy_obj(a->d->copy, &(struct key) { .kind = KEY_WANT, .host = *host,
								       .volume = v->plan.uuid });
	const struct obj_status *s = api_status_get(a, host, &v->plan.uuid);
	json_t *j = json_object();

	jset_str(j, "host", api_host_name(a, host).s);
	jset_str(j, "mode", api_mode(w ? w->mode : PLAN_NONE));
	jset_str(j, "state", !api_host_alive(a, host) ? "away" : s ? s->state : "waiting");
	json_object_set_new(j, "device", api_device(s));
	if (s && json_object_get(s->details, "work"))
		json_object_set_new(j, "work", json_deep_copy(json_object_get(s->details, "work")));
	if (s && s->words[0])
		jset_str(j, "reason", s->words);
	return j;
}

static json_t *hosts_json(const struct api *a, const struct obj_volume *v)
{
	const struct key wants = { .kind = KEY_WANT };
	const struct obj_access *x = api_access_get(a, &v->plan.uuid);
	const struct copy_item *i = NULL;
	json_t *list = json_array();
	bool holder = false;

	while ((i = copy_next(a->d->copy, &wants, 0, i))) {
		if (!muuid_equal(&i->key.volume, &v->plan.uuid))
			continue;
		json_array_append_new(list, host_json(a, v, &i->key.host));
		holder = holder || (x && muuid_equal(&x->plan.holder, &i->key.host));
	}
	if (x && x->plan.mode == PLAN_RW && !holder)
		json_array_append_new(list, host_json(a, v, &x->plan.holder));
	return list;
}

/* Strips are of layouts that have several members side by side. */
static json_t *strip_json(const struct layout_segment *s)
{
	return s->level == PROT_LINEAR || s->level == PROT_MIRROR ? json_null() : json_integer(s->strip);
}

/* The first reason why it is not as it should be. */
static void set_reason(const struct api *a, const struct obj_volume *v, json_t *j)
{
	const json_t *host;
	size_t i;

	json_array_foreach(json_object_get(j, "hosts"), i, host) {
		const char *state = json_string_value(json_object_get(host, "state"));
		const char *words = json_string_value(json_object_get(host, "reason"));

		if (!strcmp(state, "attached") || !words)
			continue;
		json_object_set_new(j, "reason", json_sprintf("host %s: %s", json_string_value(json_object_get(host, "host")),
							      words));
		return;
	}
	for (u32 m = 0; m < v->record->members; m++) {
		const char *away = member_away(a, &v->record->member[m]);

		if (!away)
			continue;
		json_object_set_new(j, "reason", json_sprintf("member %u: %s", m, away));
		return;
	}
}

json_t *api_volume_json(const struct api *a, const struct obj_volume *v)
{
	const struct layout *l = v->record;
	const struct layout_shape shape = layout_shape(&l->segment[0]);
	const struct obj_access *x = api_access_get(a, &v->plan.uuid);
	static const char *const healths[] = { "whole", "degraded", "down" };
	json_t *j = json_object(), *mine;
	enum api_health health;
	u32 lacks;
	char text[LAYOUT_TEXT];
	size_t i;

	layout_text(&shape, text);
	health = api_volume_health(a, v, &lacks);
	jset_str(j, "name", l->name);
	jset_uuid(j, "uuid", &v->plan.uuid);
	jset_u64(j, "size", l->size);
	jset_str(j, "layout", text);
	json_object_set_new(j, "strip", strip_json(&l->segment[0]));
	jset_u64(j, "lba", l->lba);
	jset_str(j, "domain", v->domain);
	json_object_set_new(j, "spares", layout_protected(l) ? json_integer(l->spares) : json_null());
	json_object_set_new(j, "spares_left", layout_protected(l) ? json_integer(layout_spares_left(l)) : json_null());
	jset_u64(j, "version", l->version);
	jset_str(j, "state", volume_state(a, v));
	jset_str(j, "health", healths[health]);
	jset_u64(j, "lacks", lacks);
	json_object_set_new(j, "holder", x && x->plan.mode == PLAN_RW ?
			    json_string(api_host_name(a, &x->plan.holder).s) : json_null());
	json_object_set_new(j, "device", json_null());
	json_object_set_new(j, "hosts", hosts_json(a, v));
	json_object_set_new(j, "reason", json_null());
	json_array_foreach(json_object_get(j, "hosts"), i, mine)
		if (!strcmp(json_string_value(json_object_get(mine, "host")), api_host_name(a, &a->d->host).s))
			json_object_set(j, "device", json_object_get(mine, "device"));
	set_reason(a, v, j);
	return j;
}

static json_t *segment_json(const struct layout *l, const struct layout_segment *s)
{
	json_t *j = json_object(), *members = json_array();

	jset_u64(j, "start", s->start);
	jset_u64(j, "length", s->length);
	jset_str(j, "level", layout_level(s->level));
	jset_u64(j, "columns", s->data);
	jset_u64(j, "parity", s->parity);
	jset_u64(j, "groups", s->groups);
	json_object_set_new(j, "strip", strip_json(s));
	for (u32 i = 0; i < s->refs; i++)
		json_array_append_new(members, json_integer(l->ref[s->first_ref + i].member));
	json_object_set_new(j, "members", members);
	return j;
}

static json_t *member_json(const struct api *a, const struct layout *l, u32 i)
{
	const struct layout_member *m = &l->member[i];
	const struct obj_drive *d = drive_of(a, m);
	const char *away = member_away(a, m);
	json_t *j = json_object();

	jset_u64(j, "index", i);
	jset_str(j, "host", d ? api_host_name(a, &d->plan.host).s : m->addr);
	jset_str(j, "path", d ? api_drive_path(a, d) : "");
	jset_uuid(j, "drive", &m->drive);
	jset_uuid(j, "extent", &m->extent);
	jset_u64(j, "size", m->size);
	jset_str(j, "kind", m->kind == LAYOUT_KIND_BDEV ? "bdev" : "rdda");
	jset_str(j, "state", away ? "away" : "up");
	if (away)
		jset_str(j, "reason", away);
	return j;
}

/* As the cluster has noted it: the kernel of the holder knows more. */
static json_t *group_json(const struct obj_group *g, u32 n)
{
	json_t *j = json_object(), *out = json_array();

	for (u32 i = 0; i < g->plan.members; i++)
		if (g->plan.attach && !(g->plan.in_sync >> i & 1))
			json_array_append_new(out, json_string(muuid_str(&g->plan.extent[i]).s));
	jset_u64(j, "index", n);
	jset_u64(j, "first", g->first);
	jset_str(j, "health", group_lacks(g) ? "degraded" : "whole");
	jset_u64(j, "epoch", g->plan.epoch);
	jset_bool(j, "witness", g->plan.witness);
	json_object_set_new(j, "out", out);
	return j;
}

json_t *api_volume_whole(const struct api *a, const struct obj_volume *v)
{
	const struct obj_roster *r = roster_of(a, &v->plan.uuid);
	json_t *j = api_volume_json(a, v), *segments = json_array(), *members = json_array();
	json_t *groups = json_array(), *allow = json_array(), *kernel = NULL;

	for (u32 i = 0; i < v->record->segments; i++)
		json_array_append_new(segments, segment_json(v->record, &v->record->segment[i]));
	for (u32 i = 0; i < v->record->members; i++)
		json_array_append_new(members, member_json(a, v->record, i));
	for (u32 i = 0; r && i < r->groups; i++)
		json_array_append_new(groups, group_json(&r->group[i], i));
	for (u32 i = 0; i < v->plan.allows; i++)
		json_array_append_new(allow, json_string(api_host_name(a, &v->plan.allow[i]).s));
	if (a->d->volumes)
		kernel = volumes_show(a->d->volumes, &v->plan.uuid);
	json_object_set_new(j, "allow", allow);
	json_object_set_new(j, "segments", segments);
	json_object_set_new(j, "groups", groups);
	json_object_set_new(j, "members", members);
	json_object_set_new(j, "kernel", kernel ? kernel : json_null());
	return j;
}
