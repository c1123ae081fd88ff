// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>
#include <string.h>

#include "driver/uapi/number.h"
#include "userspace/daemon/volumes_in.h"
#include "userspace/format/json.h"

static json_t *text_or_null(const char *text)
{
	return text[0] ? json_string(text) : json_null();
}

static json_t *uuid_or_null(const struct muuid *u)
{
	return muuid_null(u) ? json_null() : json_string(muuid_str(u).s);
}

/* "GENERATION.COUNTER.RESTART": as one integer it would be more than scripts can hold. */
static json_t *number_json(u64 number)
{
	return number ? json_sprintf("%llu.%llu.%llu", (unsigned long long)mesh_number_generation(number),
				     (unsigned long long)mesh_number_counter(number),
				     (unsigned long long)mesh_number_restart(number)) : json_null();
}

/* A counter that the object does not keep is null. */
static json_t *stats_json(const struct mesh_stats *s)
{
	json_t *j = json_object();

	for (unsigned int i = MESHBLK_S_READS; i <= MESHBLK_S_MAX; i++)
		if (mesh_stat_name(i))
			json_object_set_new(j, mesh_stat_name(i), s->kept & 1u << i ?
					    json_integer((json_int_t)s->v[i]) : json_null());
	return j;
}

static json_t *member_json(const struct volumes *s, const struct meshblk_volume *k, u32 i)
{
	const struct meshblk_member *m = &k->members[i];
	const struct vol_target *t = m->kind == MESHBLK_KIND_RDDA ? reach_id(s, m->target_id) : NULL;
	const struct muuid *host = t ? &t->host : &s->c.host;
	json_t *j = json_object();

	jset_u64(j, "index", i);
	jset_str(j, "kind", m->kind == MESHBLK_KIND_BDEV ? "bdev" : "rdda");
	json_object_set_new(j, "host", t || m->kind == MESHBLK_KIND_BDEV ? uuid_or_null(host) : json_null());
	json_object_set_new(j, "address", text_or_null(t ? t->addr : ""));
	jset_uuid(j, "drive", &m->drive);
	jset_uuid(j, "extent", &m->extent);
	jset_u64(j, "size", m->size);
	json_object_set_new(j, "path", text_or_null(m->path));
	jset_str(j, "state", m->state);
	json_object_set_new(j, "error", json_integer(m->error));
	json_object_set_new(j, "number", number_json(m->attach));
	json_object_set_new(j, "holder", uuid_or_null(&m->holder));
	jset_u64(j, "abandoned", m->abandoned);
	json_object_set_new(j, "stats", stats_json(&m->stats));
	return j;
}

const char *vol_role(const struct meshblk_group *g, u32 i)
{
	static const char *const names[] = {
		[MESHBLK_ROLE_IN_SYNC] = "in sync", [MESHBLK_ROLE_SUSPECT] = "silent",
		[MESHBLK_ROLE_FAILED] = "failed", [MESHBLK_ROLE_OUT] = "out",
		[MESHBLK_ROLE_JOINING] = "rebuilding", [MESHBLK_ROLE_OPENING] = "not known yet",
	};
	u8 role = g->roles[i];

	/* One that is out, and would come if it were let. */
	if (role == MESHBLK_ROLE_OUT && g->barred >> i & 1)
		return "barred";
	return role && role < sizeof(names) / sizeof(*names) ? names[role] : "?";
}

static json_t *diffs_json(const struct mesh_diff *d, u32 n)
{
	json_t *list = json_array(), *j;

	for (u32 i = 0; i < n; i++) {
		j = json_object();
		jset_u64(j, "at", d[i].addr);
		jset_u64(j, "length", d[i].length);
		json_object_set_new(j, "member", d[i].member == MESH_NO_MEMBER ? json_null() :
				    json_integer(d[i].member));
		json_array_append_new(list, j);
	}
	return list;
}

static void set_scrub(json_t *j, const struct meshblk_group *g)
{
	jset_bool(j, "scrubbing", g->scrubbing);
	jset_u64(j, "scrubbed", g->scrubbed);
	jset_u64(j, "bytes", g->bytes);
	jset_u64(j, "mismatches", g->mismatches);
	jset_u64(j, "repaired", g->repaired);
	jset_u64(j, "skipped", g->skipped);
	json_object_set_new(j, "diffs", diffs_json(g->diffs, g->nr_diffs));
	json_object_set_new(j, "unread", diffs_json(g->unread, g->nr_unread));
}

static json_t *group_members(const struct meshblk_group *g)
{
	json_t *list = json_array(), *j;

	for (u32 i = 0; i < g->nr; i++) {
		j = json_object();
		jset_u64(j, "index", g->members[i]);
		jset_str(j, "role", vol_role(g, i));
		json_object_set_new(j, "behind", g->roles[i] == MESHBLK_ROLE_OPENING ? json_null() :
				    json_integer((json_int_t)g->behind[i]));
		jset_bool(j, "waits", g->waits >> i & 1);
		json_array_append_new(list, j);
	}
	return list;
}

static json_t *evict_json(const struct meshblk_group *g)
{
	json_t *j;

	if (muuid_null(&g->successor))
		return json_null();
	j = json_object();
	jset_u64(j, "member", g->evicts);
	jset_uuid(j, "to", &g->successor);
	jset_u64(j, "copied", g->copied);
	jset_u64(j, "bytes", g->copy_bytes);
	return j;
}

static json_t *group_json(const struct meshblk_group *g)
{
	json_t *j = json_object();

	jset_u64(j, "segment", g->segment);
	jset_u64(j, "group", g->column);
	jset_u64(j, "place", g->place);
	jset_str(j, "state", g->state);
	json_object_set_new(j, "reason", text_or_null(g->reason));
	json_object_set_new(j, "number", number_json(g->attach));
	jset_u64(j, "version", g->version);
	jset_u64(j, "synced", g->synced);
	jset_bool(j, "witness", g->witness);
	set_scrub(j, g);
	json_object_set_new(j, "evicting", evict_json(g));
	json_object_set_new(j, "members", group_members(g));
	return j;
}

static json_t *stats_volumes(struct mesh *m)
{
	struct meshblk_volume *v;
	json_t *list = json_array(), *j;
	size_t n;

	if (meshblk_volumes(m, &v, &n))
		return list;
	for (size_t i = 0; i < n; i++) {
		struct mesh_stats sum = { .kept = 0 };

		for (u32 k = 0; k < v[i].nr_members; k++) {
			for (unsigned int c = 0; c <= MESHBLK_S_MAX; c++)
				sum.v[c] += v[i].members[k].stats.v[c];
			sum.kept |= v[i].members[k].stats.kept;
		}
		j = json_object();
		jset_str(j, "name", v[i].name);
		jset_uuid(j, "uuid", &v[i].uuid);
		json_object_set_new(j, "device", v[i].disk[0] ? json_sprintf("/dev/%s", v[i].disk) : json_null());
		json_object_set_new(j, "stats", stats_json(&sum));
		json_array_append_new(list, j);
	}
	meshblk_volumes_free(v, n);
	return list;
}

static json_t *stats_targets(struct mesh *m)
{
	struct meshblk_target *t = NULL;
	json_t *list = json_array(), *j;
	size_t n = 0;

	if (meshblk_targets(m, &t, &n))
		n = 0;
	for (size_t i = 0; i < n; i++) {
		j = json_object();
		jset_str(j, "addr", t[i].addr);
		json_object_set_new(j, "uuid", uuid_or_null(&t[i].host));
		jset_str(j, "state", t[i].state);
		json_object_set_new(j, "stats", stats_json(&t[i].stats));
		json_array_append_new(list, j);
	}
	free(t);
	return list;
}

static json_t *stats_sessions(struct mesh *m)
{
	struct meshtgt_session *s = NULL;
	json_t *list = json_array(), *j;
	size_t n = 0;

	if (meshtgt_sessions(m, &s, &n))
		n = 0;
	for (size_t i = 0; i < n; i++) {
		j = json_object();
		jset_u64(j, "session", s[i].id);
		jset_uuid(j, "host", &s[i].host);
		jset_str(j, "state", s[i].state);
		jset_u64(j, "channels", s[i].channels);
		jset_u64(j, "memory", s[i].memory);
		json_object_set_new(j, "stats", stats_json(&s[i].stats));
		json_array_append_new(list, j);
	}
	free(s);
	return list;
}

/* A socket of its own: a host that exports drives may have the target's module alone. */
json_t *volumes_stats(void)
{
	struct mesh *m = mesh_open();
	json_t *j;

	if (!m)
		return NULL;
	j = json_pack("{s:o, s:o, s:o}", "volumes", stats_volumes(m), "targets", stats_targets(m),
		      "sessions", stats_sessions(m));
	mesh_close(m);
	return j;
}

/* I/O that groups gave up and devices have not ended, of members and of former ones. */
static json_t *abandoned_json(const struct volumes *s, const struct meshblk_volume *k)
{
	struct meshblk_abandoned *io;
	json_t *list = json_array(), *j;
	size_t n;
	u32 m;

	if (meshblk_abandoned_get(s->m, &io, &n))
		return list;
	for (size_t i = 0; i < n; i++) {
		const struct meshblk_member *mb = &io[i].member;

		if (!muuid_equal(&io[i].volume, &k->uuid))
			continue;
		for (m = 0; m < k->nr_members && !muuid_equal(&k->members[m].extent, &mb->extent); m++)
			;
		j = json_object();
		json_object_set_new(j, "member", m < k->nr_members ? json_integer(m) : json_null());
		json_object_set_new(j, "path", text_or_null(mb->path));
		jset_uuid(j, "drive", &mb->drive);
		jset_u64(j, "ios", mb->abandoned);
		json_array_append_new(list, j);
	}
	free(io);
	return list;
}

json_t *volumes_show(struct volumes *s, const struct muuid *volume)
{
	struct vol *v = vol_get(s, volume);
	json_t *j, *members, *groups;
	const struct meshblk_volume *k;

	if (!v || vol_look(s, v) || !v->there)
		return NULL;
	k = &v->k;
	j = json_object();
	members = json_array();
	groups = json_array();
	jset_str(j, "state", k->state);
	json_object_set_new(j, "reason", text_or_null(k->reason));
	json_object_set_new(j, "error", json_integer(k->error));
	json_object_set_new(j, "device", k->disk[0] ? json_sprintf("/dev/%s", k->disk) : json_null());
	jset_u64(j, "openers", k->openers);
	jset_u64(j, "size", k->size);
	jset_u64(j, "lba", k->lba);
	jset_u64(j, "version", k->version);
	jset_bool(j, "readonly", k->readonly);
	json_object_set_new(j, "number", number_json(k->attach));
	json_object_set_new(j, "retake_of", number_json(k->served));
	json_object_set_new(j, "fenced_by", number_json(k->fenced));
	json_object_set_new(j, "fencer", uuid_or_null(&k->fencer));
	for (u32 i = 0; i < k->nr_members; i++)
		json_array_append_new(members, member_json(s, k, i));
	for (u32 i = 0; i < k->nr_groups; i++)
		json_array_append_new(groups, group_json(&k->groups[i]));
	json_object_set_new(j, "members", members);
	json_object_set_new(j, "groups", groups);
	json_object_set_new(j, "abandoned", abandoned_json(s, k));
	return j;
}
