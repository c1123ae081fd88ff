// SPDX-License-Identifier: GPL-2.0-only
/* What the kernel says of the groups of a volume with redundancy; meshctl volume wait */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/format/json.h"
#include "userspace/meshd/volume.h"

#define POLL_MS		300

static const char *role_name(u8 role)
{
	static const char *const names[] = {
		[MESHBLK_ROLE_IN_SYNC] = "in sync", [MESHBLK_ROLE_SUSPECT] = "silent",
		[MESHBLK_ROLE_FAILED] = "failed", [MESHBLK_ROLE_OUT] = "out",
		[MESHBLK_ROLE_JOINING] = "rebuilding",
	};

	return role && role < sizeof(names) / sizeof(*names) ? names[role] : "?";
}

static enum health group_health(const struct meshblk_group *g)
{
	enum health h = HEALTH_WHOLE;
	u32 i;

	if (strcmp(g->state, MESHBLK_STATE_ACTIVE))
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

bool volume_goes_without(const struct store_volume *v, const struct layout *l, u32 member)
{
	struct meshblk_volume k;
	bool is;

	if (!v->attached || kernel_volume(&v->uuid, &k))
		return false;
	is = k.version == l->version && groups_role(&k, member) == MESHBLK_ROLE_OUT;
	meshblk_volume_free(&k);
	return is;
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
	if (i == g->nr || g->members[i] >= l->members)
		return false;
	m = &l->member[g->members[i]];
	snprintf(why, size, "group %u.%u: member %u on host %s is %s", g->segment, g->column, g->members[i],
		 peer_of_member(m, &h) ? m->addr : h.name, role_name(g->roles[i]));
	return true;
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
	jset_u64(j, "mismatches", g->mismatches);
	for (i = 0; i < g->nr; i++)
		json_array_append_new(members, json_pack("{s:I, s:s, s:I}", "index",
							 (json_int_t)g->members[i], "role",
							 role_name(g->roles[i]), "behind",
							 (json_int_t)g->behind[i]));
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

static u64 behind(const struct meshblk_volume *k)
{
	u64 sum = 0;
	u32 i, m;

	for (i = 0; i < k->nr_groups; i++)
		for (m = 0; m < k->groups[i].nr; m++)
			sum += k->groups[i].behind[m];
	return sum;
}

/* One poll: 1 when it is whole; @most: the largest number of bytes seen to be missing. */
static int wait_step(struct req *r, const struct store_volume *v, const struct layout *l, u64 *most)
{
	struct meshblk_volume k;
	char why[REASON] = "waiting for its groups";
	enum health h;
	u64 left;

	if (kernel_volume(&v->uuid, &k))
		return req_fail(r, "volume %s is not attached here; attach it first", v->name);
	h = volume_health(&k);
	/* It is being attached. */
	if (h == HEALTH_NONE && layout_protected(l))
		h = HEALTH_DOWN;
	left = behind(&k);
	*most = left > *most ? left : *most;
	if (h == HEALTH_REBUILDING)
		snprintf(why, sizeof(why), "rebuilding");
	else
		groups_why(l, &k, why, sizeof(why));
	if (h > HEALTH_WHOLE)
		req_progress(r, why, *most - left, *most ? *most : 1);
	meshblk_volume_free(&k);
	return h <= HEALTH_WHOLE;
}

int cmd_volume_wait(struct req *r)
{
	struct layout *l __free(free) = malloc(sizeof(*l));
	const char *what = arg_str(r, "volume");
	struct store_volume v;
	int err = l ? store_volume_find(what, &v, l) : -ENOMEM;
	u64 most = 0;

	if (err == -ENOENT)
		return req_fail(r, "no volume %s; see meshctl volume list", what);
	if (err)
		return req_fail(r, "%s", store_words(err));
	while (!(err = wait_step(r, &v, l, &most))) {
		if (stopping() || req_cancelled(r))
			return req_fail(r, "cancelled");
		sleep_ms(POLL_MS);
	}
	return err < 0 ? -1 : 0;
}
