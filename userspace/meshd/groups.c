// SPDX-License-Identifier: GPL-2.0-only
/* What the kernel says of the groups of a volume with redundancy */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/format/json.h"
#include "userspace/meshd/volume.h"

static const char *role_name(u8 role)
{
	static const char *const names[] = {
		[MESHBLK_ROLE_IN_SYNC] = "in sync", [MESHBLK_ROLE_SUSPECT] = "silent",
		[MESHBLK_ROLE_FAILED] = "failed", [MESHBLK_ROLE_OUT] = "out",
		[MESHBLK_ROLE_JOINING] = "rebuilding", [MESHBLK_ROLE_OPENING] = "not known yet",
	};

	return role && role < sizeof(names) / sizeof(*names) ? names[role] : "?";
}

static enum health group_health(const struct meshblk_group *g)
{
	enum health h = HEALTH_WHOLE;
	u32 i;

	/* one that is active has a reason as well while its reads wait */
	if (strcmp(g->state, MESHBLK_STATE_ACTIVE) || g->reason[0])
		return HEALTH_DOWN;
	for (i = 0; i < g->nr; i++) {
		if (g->roles[i] == MESHBLK_ROLE_JOINING && h == HEALTH_WHOLE)
			h = HEALTH_REBUILDING;
		else if (g->roles[i] != MESHBLK_ROLE_JOINING && g->roles[i] != MESHBLK_ROLE_IN_SYNC)
			h = HEALTH_DEGRADED;
	}
	return h;
}

enum health volume_health(const struct meshblk_volume *k)
{
	enum health worst = HEALTH_NONE, h;
	u32 i;

	for (i = 0; i < k->nr_groups; i++) {
		h = group_health(&k->groups[i]);
		worst = h > worst ? h : worst;
	}
	return worst;
}

const char *health_name(enum health h)
{
	static const char *const names[] = {
		[HEALTH_WHOLE] = "whole", [HEALTH_REBUILDING] = "rebuilding",
		[HEALTH_DEGRADED] = "degraded", [HEALTH_DOWN] = "down",
	};

	return names[h];
}

u8 groups_role(const struct meshblk_volume *k, u32 member)
{
	u32 i, m;

	for (i = 0; i < k->nr_groups; i++)
		for (m = 0; m < k->groups[i].nr; m++)
			if (k->groups[i].members[m] == member)
				return k->groups[i].roles[m];
	return 0;
}

bool groups_evict(const struct meshblk_volume *k)
{
	u32 i;

	for (i = 0; i < k->nr_groups; i++)
		if (!muuid_null(&k->groups[i].successor))
			return true;
	return false;
}

bool volume_goes_without(const struct store_volume *v, const struct layout *l, u32 member)
{
	u64 version = 0;

	return kernel_role(v, member, &version) == MESHBLK_ROLE_OUT && version == l->version;
}

int member_named(const struct layout *l, const char *what)
{
	size_t len = strlen(what);
	int hit = -1;
	char *end;
	u64 n = strtoul(what, &end, 10);
	u32 i;

	if (len && !*end && len < 4)
		return n < l->members ? (int)n : -1;
	for (i = 0; i < l->members && len >= 4; i++) {
		if (strncasecmp(muuid_str(&l->member[i].drive).s, what, len) &&
		    strncasecmp(muuid_str(&l->member[i].extent).s, what, len))
			continue;
		if (hit >= 0)
			return -2;
		hit = i;
	}
	return hit;
}

/* The first member of the group that is not in sync; @g->nr: all are. */
static u32 first_out(const struct meshblk_group *g)
{
	u32 i;

	for (i = 0; i < g->nr && g->roles[i] == MESHBLK_ROLE_IN_SYNC; i++)
		;
	return i;
}

static const struct meshblk_group *worst_group(const struct meshblk_volume *k)
{
	enum health h = volume_health(k);
	u32 i;

	for (i = 0; i < k->nr_groups; i++)
		if (h > HEALTH_WHOLE && group_health(&k->groups[i]) == h)
			return &k->groups[i];
	return NULL;
}

bool groups_why(const struct layout *l, const struct meshblk_volume *k, char *why, size_t size)
{
	const struct meshblk_group *g = worst_group(k);
	const struct layout_member *m;
	struct store_host h;
	u32 i = g ? first_out(g) : 0;

	if (!g)
		return false;
	if (group_health(g) == HEALTH_DOWN && g->reason[0]) {
		snprintf(why, size, "group %u.%u: %s", g->segment, g->column, g->reason);
		return true;
	}
	/* Of a group that is being attached nothing is known but which members are here. */
	if (i == g->nr || g->members[i] >= l->members || g->roles[i] == MESHBLK_ROLE_OPENING)
		return false;
	m = &l->member[g->members[i]];
	snprintf(why, size, "group %u.%u: member %u on host %s is %s%s%s", g->segment, g->column, g->members[i],
		 peer_of_member(m, &h) ? m->addr : h.name, role_name(g->roles[i]),
		 g->waits >> i & 1 ? ", and " WAITS_FOR : "",
		 group_unnoted(l, g) ? "; I/O waits until meshd has noted that" : "");
	return true;
}

static json_t *places_json(const struct mesh_diff *place, u32 n)
{
	json_t *places = json_array(), *d;
	u32 i;

	for (i = 0; i < n; i++) {
		d = json_object();
		jset_u64(d, "at", place[i].addr);
		jset_u64(d, "length", place[i].length);
		json_object_set_new(d, "member", place[i].member == MESH_NO_MEMBER ? json_null() :
				    json_integer(place[i].member));
		json_array_append_new(places, d);
	}
	return places;
}

static void scrub_json(json_t *j, const struct meshblk_group *g)
{
	jset_bool(j, "scrubbing", g->scrubbing);
	jset_u64(j, "scrubbed", g->scrubbed);
	jset_u64(j, "bytes", g->bytes);
	jset_u64(j, "mismatches", g->mismatches);
	jset_u64(j, "repaired", g->repaired);
	jset_u64(j, "skipped", g->skipped);
	json_object_set_new(j, "diffs", places_json(g->diffs, g->nr_diffs));
	json_object_set_new(j, "unread", places_json(g->unread, g->nr_unread));
}

/* One that is out, and would come if it were let. */
static const char *role_of(const struct meshblk_group *g, u32 i)
{
	return g->roles[i] == MESHBLK_ROLE_OUT && g->barred >> i & 1 ? "barred" : role_name(g->roles[i]);
}

static json_t *evict_json(const struct meshblk_group *g)
{
	return muuid_null(&g->successor) ? json_null() :
	       json_pack("{s:I, s:s, s:I, s:I}", "member", (json_int_t)g->evicts, "to",
			 muuid_str(&g->successor).s, "copied", (json_int_t)g->copied, "bytes",
			 (json_int_t)g->copy_bytes);
}

static json_t *behind_of(const struct meshblk_group *g, u32 i)
{
	return g->roles[i] == MESHBLK_ROLE_OPENING ? json_null() : json_integer((json_int_t)g->behind[i]);
}

static json_t *group_json(const struct meshblk_group *g)
{
	json_t *j = json_object(), *members = json_array();
	u32 i;

	jset_u64(j, "segment", g->segment);
	jset_u64(j, "group", g->column);
	jset_str(j, "state", g->state);
	jset_str(j, "health", health_name(group_health(g)));
	json_object_set_new(j, "reason", g->reason[0] ? json_string(g->reason) : json_null());
	jset_u64(j, "attach", g->attach);
	jset_u64(j, "version", g->version);
	jset_u64(j, "synced", g->synced);
	json_object_set_new(j, "witness", json_boolean(g->witness));
	scrub_json(j, g);
	json_object_set_new(j, "evicting", evict_json(g));
	for (i = 0; i < g->nr; i++)
		json_array_append_new(members, json_pack("{s:I, s:s, s:o, s:b}", "index",
							 (json_int_t)g->members[i], "role",
							 role_of(g, i), "behind", behind_of(g, i),
							 "waits", (int)(g->waits >> i & 1)));
	json_object_set_new(j, "members", members);
	return j;
}

json_t *groups_json(const struct meshblk_volume *k)
{
	json_t *list = json_array();
	u32 i;

	for (i = 0; i < k->nr_groups; i++)
		json_array_append_new(list, group_json(&k->groups[i]));
	return list;
}
