// SPDX-License-Identifier: GPL-2.0-only
/* Groups in answers, VOLUME_SCRUB, VOLUME_REJOIN and VOLUME_EVICT. */
#define pr_fmt(fmt) "meshblk: " fmt
#include "driver/group/group.h"
#include "driver/netlink/netlink.h"
#include "driver/volume/volume.h"

/* Groups in one GROUPS attribute, which holds 64 KiB at most. */
#define MESH_NL_GROUPS_CHUNK	16

/* An entry of MESHBLK_P_DIFFS and MESHBLK_P_UNREAD. */
struct mesh_nl_diff {
	u64	addr;
	u32	length;
	u32	member;
};

/*
 * Put the @has first entries of @from, PROT_DIFFS at most; as of some moment: the engine may go on.
 */
static int mesh_nl_put_diffs(struct sk_buff *skb, int type, const struct mesh_layout *l, u32 first,
			     const struct prot_diff *from, u32 has)
{
	const struct mesh_group *g = l->groups[first];
	struct mesh_nl_diff diffs[PROT_DIFFS];
	u32 n = min_t(u32, has, PROT_DIFFS), i;

	for (i = 0; i < n; i++) {
		const struct prot_diff *d = &from[i];
		u32 slot = READ_ONCE(d->member);

		diffs[i] = (struct mesh_nl_diff) {
			.addr = READ_ONCE(d->addr),
			.length = READ_ONCE(d->length),
			.member = slot < g->width ? prot_places(l->prot)[first + slot].member :
						    U32_MAX,
		};
	}
	return n ? nla_put(skb, type, n * sizeof(*diffs), diffs) : 0;
}

static int mesh_nl_put_scrub(struct sk_buff *skb, const struct mesh_layout *l, u32 first)
{
	const struct mesh_group *g = l->groups[first];
	const struct prot_group *e = READ_ONCE(g->engine);

	if ((READ_ONCE(e->scrubbing) && nla_put_flag(skb, MESHBLK_P_SCRUBBING)) ||
	    mesh_nl_put_u64(skb, MESHBLK_P_SCRUBBED, READ_ONCE(e->scrub_pos)) ||
	    mesh_nl_put_u64(skb, MESHBLK_P_BYTES, g->geo.bytes) ||
	    mesh_nl_put_u64(skb, MESHBLK_P_MISMATCHES, READ_ONCE(e->mismatches)) ||
	    mesh_nl_put_u64(skb, MESHBLK_P_REPAIRED, READ_ONCE(e->repaired)) ||
	    mesh_nl_put_u64(skb, MESHBLK_P_SKIPPED, READ_ONCE(e->skipped)))
		return -EMSGSIZE;
	return mesh_nl_put_diffs(skb, MESHBLK_P_DIFFS, l, first, e->diffs,
				 READ_ONCE(e->nr_diffs));
}

/* Put the regions that keep joining members from being whole; if no member joins, put nothing. */
static int mesh_nl_put_unread(struct sk_buff *skb, const struct mesh_layout *l, u32 first)
{
	const struct prot_group *e = READ_ONCE(l->groups[first]->engine);

	return READ_ONCE(e->joining) ? mesh_nl_put_diffs(skb, MESHBLK_P_UNREAD, l, first, e->unread,
							 READ_ONCE(e->nr_unread)) : 0;
}

static int mesh_nl_put_evict(struct sk_buff *skb, const struct mesh_layout *l, u32 first)
{
	struct mesh_group *g = l->groups[first];
	const char *why = READ_ONCE(g->evict_why);
	struct mesh_evict_seen seen;

	if (!mesh_evict_seen(g, &seen))
		return why ? nla_put_string(skb, MESHBLK_P_EVICT_REASON, why) : 0;
	return nla_put_u32(skb, MESHBLK_P_EVICTS, prot_places(l->prot)[first + seen.slot].member) ?:
	       nla_put(skb, MESHBLK_P_SUCCESSOR, UUID_SIZE, &seen.extent) ?:
	       mesh_nl_put_u64(skb, MESHBLK_P_COPIED, seen.copied) ?:
	       mesh_nl_put_u64(skb, MESHBLK_P_COPY_BYTES, seen.bytes);
}

static int mesh_nl_put_group(struct sk_buff *skb, struct mesh_layout *l, u32 first)
{
	struct nlattr *nest = nla_nest_start(skb, MESHBLK_A_GROUP);
	struct mesh_group *g = l->groups[first];
	const char *state, *why = mesh_group_stands(g, &state);
	u32 members[PROT_WIDTH_MAX], i;
	u64 barred = 0, waits = 0;
	u64 behind[PROT_WIDTH_MAX];
	u8 roles[PROT_WIDTH_MAX];

	for (i = 0; i < g->width; i++) {
		members[i] = prot_places(l->prot)[first + i].member;
		roles[i] = mesh_group_role(g, i);
		behind[i] = mesh_group_behind(g, i);
		if (READ_ONCE(g->slots[i].barred))
			barred |= BIT_ULL(i);
		if (READ_ONCE(g->slots[i].member) != l->member_slots[members[i]].member)
			waits |= BIT_ULL(i);
	}
	if (!nest || nla_put_u32(skb, MESHBLK_P_SEGMENT, g->segment) ||
	    nla_put_u32(skb, MESHBLK_P_COLUMN, g->column) ||
	    nla_put_string(skb, MESHBLK_P_STATE, state) ||
	    (why && nla_put_string(skb, MESHBLK_P_REASON, why)) ||
	    mesh_nl_put_u64(skb, MESHBLK_P_ATTACH, READ_ONCE(g->cfg.attach)) ||
	    mesh_nl_put_u64(skb, MESHBLK_P_EPOCH, READ_ONCE(g->ms.cur.epoch)) ||
	    nla_put(skb, MESHBLK_P_MEMBERS, g->width * sizeof(*members), members) ||
	    nla_put(skb, MESHBLK_P_ROLES, g->width, roles) ||
	    nla_put(skb, MESHBLK_P_BEHIND, g->width * sizeof(*behind), behind) ||
	    mesh_nl_put_u64(skb, MESHBLK_P_SYNCED, READ_ONCE(READ_ONCE(g->engine)->synced)) ||
	    mesh_nl_put_u64(skb, MESHBLK_P_READS, READ_ONCE(g->read)) ||
	    mesh_nl_put_u64(skb, MESHBLK_P_REDONE, atomic64_read(&g->redone)) ||
	    nla_put_s32(skb, MESHBLK_P_ERROR, READ_ONCE(g->refused)) ||
	    (waits && mesh_nl_put_u64(skb, MESHBLK_P_WAITS, waits)) ||
	    (barred && mesh_nl_put_u64(skb, MESHBLK_P_BARRED, barred)) ||
	    (mesh_group_witnessed(g) && nla_put_flag(skb, MESHBLK_P_WITNESS)) ||
	    mesh_nl_put_roster(skb, g) ||
	    mesh_nl_put_unread(skb, l, first) ||
	    mesh_nl_put_evict(skb, l, first) ||
	    mesh_nl_put_scrub(skb, l, first))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

/* Put the groups of a layout, in as many attributes as they need. Return: 0 or -EMSGSIZE. */
int mesh_nl_put_groups(struct sk_buff *skb, struct mesh_layout *l)
{
	int idx = mesh_group_engine_begin();
	u32 i = 0, n;
	int err = 0;

	while (!err && l->groups && i < l->prot->nr_places) {
		struct nlattr *nest = nla_nest_start(skb, MESHBLK_A_GROUPS);

		err = nest ? 0 : -EMSGSIZE;
		for (n = 0; !err && n < MESH_NL_GROUPS_CHUNK && i < l->prot->nr_places; i++) {
			if (!l->groups[i])
				continue;
			err = mesh_nl_put_group(skb, l, i);
			n++;
		}
		if (!err)
			nla_nest_end(skb, nest);
	}
	mesh_group_engine_end(idx);
	return err;
}

/* Pin the layout in use of the volume that a message names. Return: the layout or an error. */
static struct mesh_layout *mesh_nl_pin(struct genl_info *info)
{
	struct mesh_volume *vol = mesh_nl_volume(info);
	struct mesh_layout *l;

	if (IS_ERR(vol))
		return ERR_CAST(vol);
	l = mesh_layout_pin(vol);
	mesh_volume_put(vol);	/* the layout has a reference, too */
	return l ?: ERR_PTR(mesh_nl_refuse(info, -EBUSY, "the volume is being removed"));
}

int mesh_nl_volume_scrub(struct sk_buff *skb, struct genl_info *info)
{
	struct mesh_scrub_conf conf = { .source = -1 };
	struct nlattr **a = info->attrs;
	struct mesh_layout *l;
	int err = mesh_nl_admin(skb, info);

	if (err)
		return err;
	conf.repair = nla_get_flag(a[MESHBLK_A_REPAIR]);
	if (a[MESHBLK_A_INDEX]) {
		if (!conf.repair || nla_get_u32(a[MESHBLK_A_INDEX]) > S32_MAX)
			return mesh_nl_refuse(info, -EINVAL, "INDEX says what REPAIR takes");
		conf.source = nla_get_u32(a[MESHBLK_A_INDEX]);
	}
	l = mesh_nl_pin(info);
	if (IS_ERR(l))
		return PTR_ERR(l);
	if (nla_get_flag(a[MESHBLK_A_STOP]))
		mesh_groups_scrub_stop(l);
	else
		err = mesh_groups_scrub(l, &conf, info->extack);
	mesh_layout_unpin(l);
	return err;
}

int mesh_nl_volume_rejoin(struct sk_buff *skb, struct genl_info *info)
{
	struct mesh_layout *l;
	int err = mesh_nl_admin(skb, info);

	if (err)
		return err;
	if (!info->attrs[MESHBLK_A_INDEX])
		return mesh_nl_refuse(info, -EINVAL, "INDEX says which member");
	l = mesh_nl_pin(info);
	if (IS_ERR(l))
		return PTR_ERR(l);
	err = mesh_groups_rejoin(l, nla_get_u32(info->attrs[MESHBLK_A_INDEX]));
	if (err == -EINVAL)
		GENL_SET_ERR_MSG(info, "no group keeps that member out");
	else if (err)
		GENL_SET_ERR_MSG(info, "a group of the volume waits for a member; try again");
	mesh_layout_unpin(l);
	return err;
}

int mesh_nl_volume_evict(struct sk_buff *skb, struct genl_info *info)
{
	struct nlattr **a = info->attrs;
	struct mesh_member_conf conf;
	struct mesh_layout *l;
	int err = mesh_nl_admin(skb, info);

	if (err)
		return err;
	if (!a[MESHBLK_A_INDEX] || !a[MESHBLK_A_MEMBER] == !nla_get_flag(a[MESHBLK_A_STOP]))
		return mesh_nl_refuse(info, -EINVAL, "INDEX, and MEMBER or STOP are wanted");
	err = a[MESHBLK_A_MEMBER] ? mesh_nl_member(a[MESHBLK_A_MEMBER], &conf, true, info) : 0;
	if (err)
		return err;
	l = mesh_nl_pin(info);
	if (IS_ERR(l))
		return PTR_ERR(l);
	mesh_access_conf(l->vol, &conf);
	if (a[MESHBLK_A_MEMBER])
		err = mesh_groups_evict(l, nla_get_u32(a[MESHBLK_A_INDEX]), &conf, info->extack);
	else if (mesh_groups_evict_stop(l, nla_get_u32(a[MESHBLK_A_INDEX])))
		err = mesh_nl_refuse(info, -EBUSY,
				     "the member's place goes to its copy right now, or I/O of it does not end");
	mesh_layout_unpin(l);
	return err;
}
