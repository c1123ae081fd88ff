// SPDX-License-Identifier: GPL-2.0-only
/* Access numbers in messages and answers, last rosters, and MEMBER_PROBE. */
#define pr_fmt(fmt) "meshblk: " fmt
#include <linux/slab.h>

#include "driver/group/group.h"
#include "driver/member/target.h"
#include "driver/netlink/netlink.h"
#include "driver/volume/volume.h"

#define MESH_NL_PROBE_BYTES	256
#define MESH_NL_DEL_BYTES	256
/* Room for a group's last roster in an answer. */
#define MESH_NL_ROSTER_BYTES	(MESHBLK_ROSTER_BYTES + 64)
/* Rosters in one GROUPS attribute, which holds 64 KiB at most. */
#define MESH_NL_ROSTERS_CHUNK	32

/* Parse the access that a VOLUME_SET names. */
int mesh_nl_access(struct genl_info *info, bool ro, struct mesh_access_want *want)
{
	struct nlattr **a = info->attrs;
	const char *why;

	*want = (struct mesh_access_want) {
		.numbered = nla_get_flag(a[MESHBLK_A_NUMBERED]),
		.ro = ro,
		.has_attach = a[MESHBLK_A_ATTACH],
		.has_served = a[MESHBLK_A_SERVED],
		.has_facts = a[MESHBLK_A_BARS] || a[MESHBLK_A_FORGOTTEN] ||
			     a[MESHBLK_A_AGAIN] || a[MESHBLK_A_BESIDE_STORE] ||
			     a[MESHBLK_A_LEAVINGS],
		.stale = nla_get_flag(a[MESHBLK_A_STALE]),
	};
	if (want->has_attach)
		want->attach = nla_get_u64(a[MESHBLK_A_ATTACH]);
	if (want->has_served)
		want->served = nla_get_u64(a[MESHBLK_A_SERVED]);
	why = mesh_access_unfit(want);
	if (!why)
		return 0;
	if (info->extack)
		info->extack->_msg = why;
	return -EINVAL;
}

/*
 * Parse places: BARS or FORGOTTEN, as @attr says. @bits: set to a bit for each place, or to NULL.
 */
int mesh_nl_places_of(struct genl_info *info, int attr, u32 places, unsigned long **bits)
{
	const struct nlattr *a = info->attrs[attr];
	const u8 *data = a ? nla_data(a) : NULL;
	u32 i, place;

	*bits = NULL;
	if (!a)
		return 0;
	if (nla_len(a) % sizeof(u32))
		return mesh_nl_refuse(info, -EINVAL, "BARS and FORGOTTEN hold places, each a u32");
	*bits = kvcalloc(BITS_TO_LONGS(places), sizeof(**bits), GFP_KERNEL);
	if (!*bits)
		return -ENOMEM;
	for (i = 0; i < nla_len(a) / sizeof(u32); i++) {
		/* aligned to 4 bytes only */
		memcpy(&place, data + i * sizeof(u32), sizeof(u32));
		if (place >= places)
			return mesh_nl_refuse(info, -EINVAL,
					      "BARS or FORGOTTEN names no place of the layout");
		__set_bit(place, *bits);
	}
	return 0;
}

/* Put the places of groups where no member joins, as the groups have them now. */
static int nl_put_bars(struct sk_buff *skb, struct mesh_layout *l)
{
	u32 *places = kvmalloc_array(l->prot->nr_places, sizeof(*places), GFP_KERNEL);
	u32 i, n, k = 0;
	int err = 0;

	if (!places)
		return -EMSGSIZE;
	for (i = 0; l->groups && i < l->prot->nr_places; i++)
		for (n = 0; l->groups[i] && n < l->groups[i]->width; n++)
			if (READ_ONCE(l->groups[i]->bars) >> n & 1)
				places[k++] = i + n;
	if (k)
		err = nla_put(skb, MESHBLK_A_BARS, k * sizeof(*places), places);
	kvfree(places);
	return err;
}

/* Put the access of a volume; nothing without an access number. */
int mesh_nl_put_access(struct sk_buff *skb, struct mesh_volume *vol, struct mesh_layout *l)
{
	struct mesh_access_now now = mesh_access_get(vol);
	u64 before, number;
	uuid_t host;

	if (!now.numbered)
		return 0;
	before = mesh_access_before(vol);
	if (nla_put_flag(skb, MESHBLK_A_NUMBERED) ||
	    mesh_nl_put_u64(skb, MESHBLK_A_ATTACH, now.number) ||
	    (before && mesh_nl_put_u64(skb, MESHBLK_A_SERVED, before)))
		return -EMSGSIZE;
	if (mesh_access_fenced(vol, &number, &host) &&
	    (mesh_nl_put_u64(skb, MESHBLK_A_FENCED, number) ||
	     nla_put(skb, MESHBLK_A_HOST_UUID, UUID_SIZE, &host)))
		return -EMSGSIZE;
	return l ? nl_put_bars(skb, l) : 0;
}

/* Put the place of a group, and its last committed roster, into the group's nest. */
int mesh_nl_put_roster(struct sk_buff *skb, struct mesh_group *g)
{
	struct nlattr *a;

	if (!g->vol->access.numbered)
		return 0;
	if (nla_put_u32(skb, MESHBLK_P_PLACE, g->cfg.owner.group))
		return -EMSGSIZE;
	a = nla_reserve(skb, MESHBLK_P_ROSTER, MESHBLK_ROSTER_BYTES);
	if (!a)
		return -EMSGSIZE;
	if (!mesh_group_last_roster(g, nla_data(a)))
		nlmsg_trim(skb, a);
	return 0;
}

/* The rosters in the answer to a VOLUME_DEL. */
struct nl_rosters {
	struct sk_buff	*skb;
	struct nlattr	*groups;	/* the attribute that is being filled in, or NULL */
	u32		n;		/* rosters in it */
};

static int nl_put_kept(void *arg, u32 place, const void *roster)
{
	struct nl_rosters *r = arg;
	struct nlattr *nest;

	if (!r->groups)
		r->groups = nla_nest_start(r->skb, MESHBLK_A_GROUPS);
	nest = r->groups ? nla_nest_start(r->skb, MESHBLK_A_GROUP) : NULL;
	if (!nest || nla_put_u32(r->skb, MESHBLK_P_PLACE, place) ||
	    nla_put(r->skb, MESHBLK_P_ROSTER, MESHBLK_ROSTER_BYTES, roster))
		return -EMSGSIZE;
	nla_nest_end(r->skb, nest);
	if (++r->n < MESH_NL_ROSTERS_CHUNK)
		return 0;
	nla_nest_end(r->skb, r->groups);
	r->groups = NULL;
	r->n = 0;
	return 0;
}

static int nl_put_ended(struct sk_buff *skb, struct mesh_volume *vol)
{
	struct nl_rosters r = { .skb = skb };
	int err;

	if (nla_put(skb, MESHBLK_A_VOLUME_UUID, UUID_SIZE, &vol->conf.uuid))
		return -EMSGSIZE;
	if (READ_ONCE(vol->fenced))	/* the rosters are the other host's by now */
		return 0;
	err = mesh_kept_each(vol, nl_put_kept, &r);
	if (!err && r.groups)
		nla_nest_end(skb, r.groups);
	return err;
}

static int nl_count_kept(void *arg, u32 place, const void *roster)
{
	++*(u32 *)arg;
	return 0;
}

/* Return: room for the last rosters of the groups that there are, and that have ended. */
static size_t nl_rosters_bytes(struct mesh_volume *vol)
{
	struct mesh_layout *l = mesh_layout_pin(vol);
	u32 groups = 0, i;

	mesh_kept_each(vol, nl_count_kept, &groups);
	for (i = 0; l && l->groups && i < l->prot->nr_places; i++)
		groups += !!l->groups[i];
	if (l)
		mesh_layout_unpin(l);
	return groups * MESH_NL_ROSTER_BYTES;
}

/*
 * Remove a volume with an access number, and answer with the last rosters of its groups. Memory for
 * the answer comes first: the rosters are there once.
 */
static int nl_del_numbered(struct genl_info *info, struct mesh_volume *vol, bool force)
{
	struct sk_buff *msg = genlmsg_new(MESH_NL_DEL_BYTES + nl_rosters_bytes(vol), GFP_KERNEL);
	int err = -ENOMEM;
	void *hdr;

	hdr = msg ? genlmsg_put_reply(msg, info, &mesh_nl_family, 0, MESHBLK_CMD_VOLUME_DEL) : NULL;
	if (hdr)
		err = mesh_volume_del(&vol->conf.uuid, force, info->extack);
	if (!err)
		err = nl_put_ended(msg, vol);
	if (err) {
		nlmsg_free(msg);
		return err;
	}
	genlmsg_end(msg, hdr);
	return genlmsg_reply(msg, info);
}

int mesh_nl_volume_del(struct sk_buff *skb, struct genl_info *info)
{
	bool force = nla_get_flag(info->attrs[MESHBLK_A_FORCE]);
	int err = mesh_nl_admin(skb, info);
	struct mesh_volume *vol;

	if (err)
		return err;
	vol = mesh_nl_volume(info);
	if (IS_ERR(vol))
		return PTR_ERR(vol);
	if (vol->access.numbered)
		err = nl_del_numbered(info, vol, force);
	else
		err = mesh_volume_del(&vol->conf.uuid, force, info->extack);
	mesh_volume_put(vol);
	return err;
}

static int nl_put_probe(struct sk_buff *skb, const struct rdda_probe *p)
{
	return mesh_nl_put_u64(skb, MESHBLK_A_ATTACH, p->number) ?:
	       nla_put(skb, MESHBLK_A_HOST_UUID, UUID_SIZE, &p->attacher) ?:
	       nla_put_u32(skb, MESHBLK_A_WRITERS, p->writers) ?:
	       nla_put_u32(skb, MESHBLK_A_READERS, p->readers) ?:
	       (p->unknown ? nla_put_flag(skb, MESHBLK_A_UNKNOWN) : 0);
}

static int nl_probe(struct genl_info *info, struct rdda_probe *p)
{
	struct nlattr **a = info->attrs;
	struct mesh_target *t;
	uuid_t extent;
	int err;

	if (!a[MESHBLK_A_TARGET_ID] || !a[MESHBLK_A_EXTENT_UUID])
		return mesh_nl_refuse(info, -EINVAL, "a probe needs a target and an extent");
	import_uuid(&extent, nla_data(a[MESHBLK_A_EXTENT_UUID]));
	t = mesh_target_get(nla_get_u32(a[MESHBLK_A_TARGET_ID]));
	if (!t)
		return mesh_nl_refuse(info, -ENOENT, "no such target");
	err = rdda_extent_probe(t->rdda, &extent, p);
	mesh_target_put(t);
	if (err == -ENODEV)
		GENL_SET_ERR_MSG(info, "the target lacks the extent, or its drive is away");
	else if (err == -EPERM)
		GENL_SET_ERR_MSG(info, "the extent is of a volume that is not for this host");
	else if (err)
		GENL_SET_ERR_MSG(info, "the target does not answer now");
	return err;
}

int mesh_nl_member_probe(struct sk_buff *skb, struct genl_info *info)
{
	int err = mesh_nl_admin(skb, info);
	struct rdda_probe p = { 0 };
	struct sk_buff *msg;
	void *hdr = NULL;

	err = err ?: nl_probe(info, &p);
	if (err)
		return err;
	msg = genlmsg_new(MESH_NL_PROBE_BYTES, GFP_KERNEL);
	if (msg)
		hdr = genlmsg_put_reply(msg, info, &mesh_nl_family, 0, MESHBLK_CMD_MEMBER_PROBE);
	err = hdr ? nl_put_probe(msg, &p) : -ENOMEM;
	if (err) {
		nlmsg_free(msg);
		return err;
	}
	genlmsg_end(msg, hdr);
	return genlmsg_reply(msg, info);
}
