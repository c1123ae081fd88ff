// SPDX-License-Identifier: GPL-2.0-only
/* The last committed rosters of a volume's groups. See objects.h. */
#include <asm/byteorder.h>
#include <errno.h>
#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <stdlib.h>
#include <string.h>

#include "protect/roster/roster.h"
#include "userspace/format/objects_kind.h"
#include "userspace/format/view.h"

/* The decoded members are for other programs; they have to agree with the kernel's bytes. */
static const struct field group_fields[] = {
	FIELD_INT("first", struct obj_group, first, 0, PROT_PLACES_MAX - 1),
	FIELD_INT("attach", struct obj_group, plan.attach, 1, INT64_MAX, .flags = FIELD_MAY),
	FIELD_INT("epoch", struct obj_group, plan.epoch, 1, INT64_MAX, .flags = FIELD_MAY),
	FIELD_BOOL("witness", struct obj_group, plan.witness),
	FIELD_LIST("extents", struct obj_group, plan.extent, plan.members, obj_uuid_element, NULL,
		   PROT_WIDTH_MAX, .flags = FIELD_BARE | FIELD_INSIDE | FIELD_MAY),
	FIELD_INT("in_sync", struct obj_group, plan.in_sync, 1, (1ULL << PROT_WIDTH_MAX) - 1,
		  .flags = FIELD_MAY),
	FIELD_HEX("kernel", struct obj_group, kernel, .flags = FIELD_MAY),
	{ .name = NULL }
};

static const struct field roster_fields[] = {
	FIELD_UUID("volume", struct obj_roster, volume),
	FIELD_INT("number", struct obj_roster, plan.number, 0, MESH_NUMBER_MAX - 1),
	FIELD_INT("version", struct obj_roster, plan.version, 0, INT64_MAX),
	FIELD_BOOL("committed", struct obj_roster, plan.committed),
	FIELD_LIST("groups", struct obj_roster, group, groups, group_fields, "first", PROT_PLACES_MAX),
	FIELD_LIST("barred", struct obj_roster, plan.bar, plan.barred, obj_place_element, NULL,
		   PROT_MEMBERS_MAX, .flags = FIELD_BARE),
	{ .name = NULL }
};

static bool same_view(const struct plan_roster *a, const struct plan_roster *b)
{
	if (a->attach != b->attach || a->epoch != b->epoch || a->witness != b->witness ||
	    a->members != b->members || a->in_sync != b->in_sync)
		return false;
	for (u32 i = 0; i < a->members; i++)
		if (!muuid_equal(&a->extent[i], &b->extent[i]))
			return false;
	return true;
}

static int check_group(struct field_at *a, const struct obj_roster *r, u32 i)
{
	const struct obj_group *g = &r->group[i];
	struct plan_roster seen;
	int err;

	if (i && g->first <= r->group[i - 1].first)
		return field_wrong(a, -EUCLEAN, "groups[%u] is not behind the one before", i);
	if (view_roster(g->kernel, &r->volume, g->first, &seen))
		return field_wrong(a, -EUCLEAN, "groups[%u].kernel is no roster of that group", i);
	if (!same_view(&seen, &g->plan))
		return field_wrong(a, -EUCLEAN, "groups[%u] contradicts the kernel's roster in it", i);
	err = obj_check_unique(a, "a group", g->plan.extent, g->plan.members, sizeof(*g->plan.extent), 0);
	return err;
}

static int view(struct obj_roster *r)
{
	struct plan_roster *all = calloc(r->groups + 1, sizeof(*all));

	if (!all)
		return -ENOMEM;
	for (u32 i = 0; i < r->groups; i++)
		all[i] = r->group[i].plan;
	r->plan.groups = r->groups;
	r->plan.roster = all;
	return 0;
}

static int roster_check(struct field_at *a, void *x)
{
	struct obj_roster *r = x;
	int err = obj_check_places(a, r->plan.bar, r->plan.barred, PROT_MEMBERS_MAX);

	for (u32 i = 0; i < r->groups && !err; i++)
		err = check_group(a, r, i);
	return err ? err : view(r);
}

static void roster_drop(void *x)
{
	struct obj_roster *r = x;

	free((void *)r->plan.roster);
	r->plan.roster = NULL;
	r->plan.groups = 0;
}

static void roster_key(const void *x, struct key *k)
{
	k->volume = ((const struct obj_roster *)x)->volume;
}

const struct obj_type obj_type_roster = {
	.noun = "roster", .bytes = sizeof(struct obj_roster), .fields = roster_fields,
	.check = roster_check, .drop = roster_drop, .key = roster_key,
};

static int renew(struct obj_roster *r)
{
	roster_drop(r);
	return view(r);
}

static struct obj_group *group_at(const struct obj_roster *r, u32 first)
{
	for (u32 i = 0; i < r->groups; i++)
		if (r->group[i].first == first)
			return &r->group[i];
	return NULL;
}

int obj_roster_shape(struct obj_roster *r, const struct layout *l)
{
	u32 n = view_groups(l);
	struct obj_group *group = calloc(n + 1, sizeof(*group));
	u32 *first = calloc(n + 1, sizeof(*first));

	if (!group || !first) {
		free(group);
		free(first);
		return -ENOMEM;
	}
	view_firsts(l, first);
	for (u32 i = 0; i < n; i++) {
		const struct obj_group *had = group_at(r, first[i]);

		if (had)
			group[i] = *had;
		group[i].first = first[i];
	}
	free(first);
	free(r->group);
	r->volume = l->volume;
	r->group = group;
	r->groups = n;
	return renew(r);
}

u64 obj_roster_seed(u64 salt, const struct muuid *volume)
{
	__le64 key = cpu_to_le64(salt), hmac[4];

	/* No roster is taken for one by a checksum that was not made. */
	if (gnutls_hmac_fast(GNUTLS_MAC_SHA256, &key, sizeof(key), volume->b, sizeof(volume->b), hmac) < 0)
		abort();
	return le64_to_cpu(hmac[0]);
}

int obj_roster_note(struct obj_roster *r, u32 first, const u8 kernel[MESHBLK_ROSTER_BYTES], u64 salt)
{
	struct prot_owner owner = { .salt = obj_roster_seed(salt, &r->volume), .group = first };
	struct obj_group *g = group_at(r, first);
	u8 block[PROT_ROSTER_BLOCK] = { 0 };
	struct prot_roster parsed;
	struct plan_roster seen;
	u8 member;

	if (!g)
		return -ENOENT;
	memcpy(owner.volume, r->volume.b, sizeof(owner.volume));
	memcpy(block, kernel, MESHBLK_ROSTER_BYTES);
	member = block[offsetof(struct prot_roster_rec, member)];
	if (prot_roster_parse(block, &parsed, &owner, member) ||
	    view_roster(kernel, &r->volume, first, &seen))
		return -EBADMSG;
	memcpy(g->kernel, kernel, sizeof(g->kernel));
	g->plan = seen;
	return renew(r);
}

bool obj_roster_fits(const struct obj_roster *r, const struct layout *l)
{
	u32 first[PROT_PLACES_MAX];

	if (!muuid_equal(&r->volume, &l->volume) || r->groups != view_groups(l))
		return false;
	view_firsts(l, first);
	for (u32 i = 0; i < r->groups; i++)
		if (r->group[i].first != first[i])
			return false;
	return true;
}
