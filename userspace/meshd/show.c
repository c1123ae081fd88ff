// SPDX-License-Identifier: GPL-2.0-only
/* meshctl volume list, show; stats */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/format/json.h"
#include "userspace/format/layout_text.h"
#include "userspace/meshd/abandoned.h"
#include "userspace/meshd/busy.h"
#include "userspace/meshd/volume.h"

#define BUSY_MS	10000

int volume_find(struct req *r, struct store_volume *v, struct layout *l)
{
	const char *what = arg_str(r, "volume");
	int err = l ? store_volume_find(what, v, l) : -ENOMEM;

	if (err == -ENOENT)
		return req_fail(r, "no volume %s; see meshctl volume list", what);
	return err ? req_fail(r, "%s", store_words(err)) : 0;
}

int volume_take(struct req *r, const char *what, struct store_volume *v, struct layout *l)
{
	int err;

	if (!what[0])
		return req_usage(r, "name a volume; see meshctl volume list");
	err = store_volume_find(what, v, NULL);
	if (err == -ENOENT)
		return req_fail(r, "no volume %s; see meshctl volume list, or import it with meshctl "
				"volume import", what);
	if (err)
		return req_fail(r, "%s", store_words(err));
	if (!busy_take_wait(&v->uuid, BUSY_MS)) {
		if (volume_dying(r, v))
			return -1;
		return req_fail(r, "volume %s is being worked on by another command; try again when it "
				"is done", v->name);
	}
	err = store_volume_get(&v->uuid, v, l);
	if (err) {
		busy_drop(&v->uuid);
		return err == -ENOENT ? req_fail(r, "volume %s has just been deleted", what) :
		       req_fail(r, "volume %s: what the store has of it cannot be read", what);
	}
	return 0;
}

int volume_dying(struct req *r, const struct store_volume *v)
{
	if (v->state == STORE_LIVE)
		return 0;
	if (v->state == STORE_CREATING)
		return req_fail(r, "volume %s is still being made; meshctl volume delete gives that up",
				v->name);
	return req_fail(r, "volume %s is being deleted; meshctl volume list says what that waits for",
			v->name);
}

/* That of a segment that is not striped is not used. */
static json_t *strip_json(const struct layout_segment *s)
{
	return s->level == PROT_LINEAR || s->level == PROT_MIRROR ? json_null() : json_integer(s->strip);
}

static json_t *segment_json(const struct layout *l, const struct layout_segment *s)
{
	json_t *j = json_object(), *members = json_array();
	u32 i;

	jset_u64(j, "start", s->start);
	jset_u64(j, "length", s->length);
	jset_str(j, "level", layout_level(s->level));
	jset_u64(j, "columns", s->data);
	jset_u64(j, "parity", s->parity);
	jset_u64(j, "groups", s->groups);
	json_object_set_new(j, "strip", strip_json(s));
	jset_str(j, "domain", s->domain == LAYOUT_DOMAIN_HOST ? "host" : "drive");
	for (i = 0; i < s->refs; i++)
		json_array_append_new(members, json_integer(l->ref[s->first_ref + i].member));
	json_object_set_new(j, "members", members);
	return j;
}

static json_t *stats_json(const struct mesh_stats *s)
{
	json_t *j = json_object();
	unsigned int i;

	for (i = MESHBLK_S_READS; i <= MESHBLK_S_MAX; i++)
		if (mesh_stat_name(i))
			json_object_set_new(j, mesh_stat_name(i), s->kept & 1u << i ?
					    json_integer((json_int_t)s->v[i]) : json_null());
	return j;
}

/* What the kernel knows of a member; NULL: nothing. */
static const struct meshblk_member *kernel_member(const struct meshblk_volume *k,
						  const struct layout_member *m)
{
	u32 n;

	for (n = 0; k && n < k->nr_members; n++)
		if (muuid_equal(&k->members[n].extent, &m->extent))
			return &k->members[n];
	return NULL;
}

static json_t *member_json(const struct layout *l, u32 i, const struct meshblk_volume *k)
{
	const struct layout_member *m = &l->member[i];
	const struct meshblk_member *km = kernel_member(k, m);
	json_t *j = json_object();
	struct store_host h;

	jset_u64(j, "index", i);
	jset_str(j, "host", peer_of_member(m, &h) ? m->addr : h.name);
	jset_uuid(j, "drive", &m->drive);
	jset_uuid(j, "extent", &m->extent);
	jset_u64(j, "size", m->size);
	jset_str(j, "kind", m->kind == LAYOUT_KIND_BDEV ? "bdev" : "rdda");
	json_object_set_new(j, "path", km && km->path[0] ? json_string(km->path) : json_null());
	jset_str(j, "state", km ? km->state : "detached");
	json_object_set_new(j, "stats", km ? stats_json(&km->stats) : json_null());
	return j;
}

static void set_layout(json_t *j, const struct layout *l)
{
	const struct layout_shape shape = layout_shape(&l->segment[0]);
	char text[LAYOUT_TEXT];

	layout_text(&shape, text);
	jset_str(j, "layout", text);
	json_object_set_new(j, "strip", strip_json(&l->segment[0]));
}

/* What of it is not up, in words: the first member that is not. */
static bool member_why(const struct layout *l, const struct meshblk_volume *k, char *why,
		       size_t size)
{
	struct store_host h;
	u32 i;

	for (i = 0; i < l->members; i++) {
		const struct layout_member *m = &l->member[i];
		const struct meshblk_member *km = kernel_member(k, m);
		const char *state = km ? km->state : MESHBLK_STATE_UP;

		if (!strcmp(state, MESHBLK_STATE_UP))
			continue;
		if (m->kind == LAYOUT_KIND_BDEV) {
			snprintf(why, size, "member %u: the device of local drive %s %s", i,
				 muuid_str(&m->drive).s, local_lacks(km));
			return true;
		}
		snprintf(why, size, "member %u: %s %s%s", i,
			 !strcmp(state, MESHBLK_STATE_DOWN) ? "no session with host" :
			 !strcmp(state, MESHBLK_STATE_GONE) ?
			 "its drive is gone or not exported any more by host" :
			 !strcmp(state, MESHBLK_STATE_REFUSED) ?
			 "another host has taken it, says host" : state,
			 peer_of_member(m, &h) ? m->addr : h.name,
			 !strcmp(state, MESHBLK_STATE_DOWN) ? ", see meshctl host check" : "");
		return true;
	}
	return false;
}

static const char *volume_state(const struct store_volume *v, const struct meshblk_volume *k)
{
	if (v->state == STORE_DELETING)
		return "deleting";
	if (v->state == STORE_CREATING)
		return "creating";
	return k ? k->state : v->attached ? MESHBLK_STATE_WAITING : "detached";
}

/* A note is the reason of the state in which it was made, and of no later one. */
static bool note_counts(const struct store_volume *v, const struct meshblk_volume *k)
{
	bool active = k && !strcmp(k->state, MESHBLK_STATE_ACTIVE);

	if (!v->note[0] || v->pending || !strncmp(v->note, NOTE_KEPT, strlen(NOTE_KEPT)))
		return v->note[0];
	return active == !strncmp(v->note, NOTE_ACTIVE, strlen(NOTE_ACTIVE));
}

static const char *volume_reason(const struct store_volume *v, const struct layout *l,
				 const struct meshblk_volume *k, char *why, size_t size)
{
	if (v->state == STORE_DELETING)
		return "extents on drives that are away are still to be freed: bring them back, or forget them "
		       "with meshctl volume delete --force";
	if (v->state == STORE_CREATING)
		return "its extents are being zeroed; meshctl volume delete gives it up";
	if (k && groups_why(l, k, why, size))
		return why;
	if (k && k->reason[0])
		return k->reason;
	if (k && strcmp(k->state, MESHBLK_STATE_ACTIVE) && member_why(l, k, why, size))
		return why;
	return note_counts(v, k) ? v->note : NULL;
}

/* All of it of one moment: @k is what the kernel said then; NULL: that it has no such volume. */
static json_t *volume_json_of(const struct store_volume *v, const struct layout *l,
			      const struct meshblk_volume *k)
{
	json_t *j = json_object();
	char device[48], why[REASON];
	const char *reason = volume_reason(v, l, k, why, sizeof(why));

	jset_str(j, "name", v->name);
	jset_uuid(j, "uuid", &v->uuid);
	jset_u64(j, "size", l->size);
	set_layout(j, l);
	jset_u64(j, "lba", l->lba);
	json_object_set_new(j, "spares", layout_protected(l) ? json_integer(l->spares) : json_null());
	json_object_set_new(j, "spares_left", layout_protected(l) ? json_integer(layout_spares_left(l)) :
			    json_null());
	jset_u64(j, "version", v->version);
	jset_u64(j, "commit", l->commit);
	jset_str(j, "state", volume_state(v, k));
	jset_bool(j, "readonly", v->readonly);
	json_object_update_new(j, json_pack("{s:n, s:n, s:n, s:n}", "device", "openers", "reason", "health"));
	if (k && volume_health(k))
		jset_str(j, "health", health_name(volume_health(k)));
	if (k && k->disk[0]) {
		snprintf(device, sizeof(device), "/dev/%s", k->disk);
		jset_str(j, "device", device);
		jset_u64(j, "openers", k->openers);
	}
	if (reason)
		jset_str(j, "reason", reason);
	return j;
}

json_t *volume_json(const struct store_volume *v, const struct layout *l)
{
	struct meshblk_volume k;
	bool there = !kernel_volume(&v->uuid, &k);
	json_t *j = volume_json_of(v, l, there ? &k : NULL);

	if (there)
		meshblk_volume_free(&k);
	return j;
}

int volume_result(struct req *r, const struct muuid *uuid)
{
	struct layout *l __free(free) = malloc(sizeof(*l));
	struct store_volume v;

	if (!l || store_volume_get(uuid, &v, l))
		return req_fail(r, "the store has lost the volume");
	r->result = volume_json(&v, l);
	return 0;
}

/* Attached, and a member is away. Without redundancy its state alone says so. */
static bool lacks_members(const json_t *j)
{
	const char *health = json_string_value(json_object_get(j, "health"));
	const char *state = json_string_value(json_object_get(j, "state"));

	return health ? strcmp(health, health_name(HEALTH_WHOLE)) :
	       state && (!strcmp(state, MESHBLK_STATE_BROKEN) || !strcmp(state, MESHBLK_STATE_WAITING));
}

/* @all: else those alone that lack members, of which any makes the command fail. */
static void list_one(struct req *r, json_t *list, const struct store_volume *v, const struct layout *l,
		     bool all)
{
	json_t *j = volume_json(v, l);

	if (all || lacks_members(j)) {
		json_array_append_new(list, j);
		r->status = all ? r->status : 1;
	} else {
		json_decref(j);
	}
}

int cmd_volume_list(struct req *r)
{
	struct layout *l __free(free) = malloc(sizeof(*l));
	struct store_volume *v __free(free) = NULL, full;
	json_t *list = json_array();
	size_t i, n;
	int err = store_volumes(&v, &n);

	if (!err && !l)
		err = -ENOMEM;
	for (i = 0; i < n && !err; i++) {
		err = store_volume_get(&v[i].uuid, &full, l);
		if (!err)
			list_one(r, list, &full, l, !arg_bool(r, "degraded"));
		else if (err == -ENOENT)
			err = 0;	/* deleted just now */
	}
	r->result = json_pack("{s:o, s:b}", "volumes", list, "degraded_alone", arg_bool(r, "degraded"));
	return err ? req_fail(r, "%s", store_words(err)) : 0;
}

/* I/O of members, and of former ones, that devices have not ended; of a volume that is detached, too. */
static json_t *abandoned_json(const struct store_volume *v, const struct layout *l)
{
	json_t *list = json_array(), *j;
	struct abandoned a;
	size_t i;
	u32 m;

	abandoned_get(&a);
	for (i = 0; i < a.n; i++) {
		const struct meshblk_member *mb = &a.io[i].member;

		if (!muuid_equal(&a.io[i].volume, &v->uuid))
			continue;
		for (m = 0; m < l->members && !muuid_equal(&l->member[m].extent, &mb->extent); m++)
			;
		j = json_object();
		json_object_set_new(j, "member", m < l->members ? json_integer(m) : json_null());
		json_object_set_new(j, "path", mb->path[0] ? json_string(mb->path) : json_null());
		jset_uuid(j, "drive", &mb->drive);
		jset_uuid(j, "extent", &mb->extent);
		jset_u64(j, "ios", mb->abandoned);
		json_array_append_new(list, j);
	}
	abandoned_free(&a);
	return list;
}

static void show(struct req *r, const struct store_volume *v, const struct layout *l)
{
	json_t *segments = json_array(), *members = json_array();
	struct meshblk_volume k;
	bool there = !kernel_volume(&v->uuid, &k);
	u32 i;

	r->result = volume_json_of(v, l, there ? &k : NULL);
	for (i = 0; i < l->segments; i++)
		json_array_append_new(segments, segment_json(l, &l->segment[i]));
	for (i = 0; i < l->members; i++)
		json_array_append_new(members, member_json(l, i, there ? &k : NULL));
	json_object_set_new(r->result, "segments", segments);
	json_object_set_new(r->result, "groups", there ? groups_json(&k) : json_array());
	json_object_set_new(r->result, "members", members);
	json_object_set_new(r->result, "abandoned", abandoned_json(v, l));
	if (there)
		meshblk_volume_free(&k);
}

int cmd_volume_show(struct req *r)
{
	struct layout *l __free(free) = malloc(sizeof(*l));
	struct store_volume v;

	if (volume_find(r, &v, l))
		return -1;
	show(r, &v, l);
	return 0;
}

static void add_stats(struct mesh_stats *sum, const struct mesh_stats *s)
{
	unsigned int i;

	for (i = 0; i <= MESHBLK_S_MAX; i++)
		sum->v[i] += s->v[i];
	sum->kept |= s->kept;
}

static json_t *stat_volumes(struct mesh *m)
{
	struct meshblk_volume *v;
	json_t *list = json_array(), *j;
	char device[48];
	size_t i, n;
	u32 k;

	if (meshblk_volumes(m, &v, &n))
		return list;
	for (i = 0; i < n; i++) {
		struct mesh_stats sum = { 0 };

		for (k = 0; k < v[i].nr_members; k++)
			add_stats(&sum, &v[i].members[k].stats);
		j = json_object();
		jset_str(j, "name", v[i].name);
		jset_uuid(j, "uuid", &v[i].uuid);
		snprintf(device, sizeof(device), "/dev/%s", v[i].disk);
		jset_str(j, "device", device);
		json_object_set_new(j, "stats", stats_json(&sum));
		json_array_append_new(list, j);
	}
	meshblk_volumes_free(v, n);
	return list;
}

static json_t *stat_targets(struct mesh *m)
{
	json_t *list = json_array(), *j;
	struct meshblk_target *t __free(free) = NULL;
	size_t i, n;

	meshblk_targets(m, &t, &n);
	for (i = 0; i < n; i++) {
		j = json_object();
		jset_str(j, "addr", t[i].addr);
		jset_uuid(j, "uuid", &t[i].host);
		jset_str(j, "state", t[i].state);
		json_object_set_new(j, "stats", stats_json(&t[i].stats));
		json_array_append_new(list, j);
	}
	return list;
}

static json_t *stat_sessions(struct mesh *m)
{
	json_t *list = json_array(), *j;
	struct meshtgt_session *s __free(free) = NULL;
	size_t i, n;

	meshtgt_sessions(m, &s, &n);
	for (i = 0; i < n; i++) {
		j = json_object();
		jset_u64(j, "session", s[i].id);
		jset_uuid(j, "host", &s[i].host);
		jset_str(j, "state", s[i].state);
		jset_u64(j, "channels", s[i].channels);
		jset_u64(j, "memory", s[i].memory);
		json_object_set_new(j, "stats", stats_json(&s[i].stats));
		json_array_append_new(list, j);
	}
	return list;
}

int cmd_stats(struct req *r)
{
	struct mesh *m __free(mesh_close) = mesh_open();

	if (!m)
		return req_fail(r, "netlink does not work");
	r->result = json_pack("{s:o, s:o, s:o}", "volumes", stat_volumes(m), "targets", stat_targets(m),
			      "sessions", stat_sessions(m));
	return 0;
}
