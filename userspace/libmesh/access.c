// SPDX-License-Identifier: GPL-2.0-only
/* Family meshblk: access numbers, last rosters, and the state of extents that are not opened here. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/libmesh/access.h"

static void put_leavings(struct nl_msg *msg, const struct meshblk_volume *v)
{
	struct nlattr *table = nla_nest_start(msg, NLA_F_NESTED | MESHBLK_A_LEAVINGS), *nest;

	for (u32 i = 0; i < v->nr_leavings; i++) {
		nest = nla_nest_start(msg, NLA_F_NESTED | MESHBLK_A_MEMBER);
		put_member(msg, &v->leavings[i].member);
		nla_put_u32(msg, MESHBLK_M_PLACE, v->leavings[i].place);
		nla_nest_end(msg, nest);
	}
	nla_nest_end(msg, table);
}

void put_access(struct nl_msg *msg, const struct meshblk_volume *v)
{
	nla_put_flag(msg, MESHBLK_A_NUMBERED);
	nla_put_u64(msg, MESHBLK_A_ATTACH, v->attach);
	if (v->served)
		nla_put_u64(msg, MESHBLK_A_SERVED, v->served);
	if (v->again)
		nla_put_flag(msg, MESHBLK_A_AGAIN);
	if (v->beside_store)
		nla_put_flag(msg, MESHBLK_A_BESIDE_STORE);
	if (v->nr_bars)
		nla_put(msg, MESHBLK_A_BARS, v->nr_bars * sizeof(*v->bars), v->bars);
	if (v->nr_forgotten)
		nla_put(msg, MESHBLK_A_FORGOTTEN, v->nr_forgotten * sizeof(*v->forgotten), v->forgotten);
	if (v->nr_leavings)
		put_leavings(msg, v);
}

static int parse_bars(const struct nlattr *a, struct meshblk_volume *v)
{
	u32 n = a ? nla_len(a) / sizeof(*v->bars) : 0;

	if (!n)
		return 0;
	v->bars = calloc(n, sizeof(*v->bars));
	if (!v->bars)
		return -ENOMEM;
	memcpy(v->bars, nla_data(a), n * sizeof(*v->bars));
	v->nr_bars = n;
	return 0;
}

int parse_access(struct nlattr **tb, struct meshblk_volume *v)
{
	v->numbered = tb[MESHBLK_A_NUMBERED];
	v->attach = get_u64(tb[MESHBLK_A_ATTACH]);
	v->served = get_u64(tb[MESHBLK_A_SERVED]);
	v->fenced = get_u64(tb[MESHBLK_A_FENCED]);
	get_uuid(tb[MESHBLK_A_HOST_UUID], &v->fencer);
	return parse_bars(tb[MESHBLK_A_BARS], v);
}

struct ended {
	struct meshblk_group *groups;
	u32	n;
};

static int on_ended(void *arg, struct nlattr **tb, struct nlmsghdr *h)
{
	struct ended *e = arg;

	(void)tb;
	return parse_groups(h, &e->groups, &e->n);
}

static int volume_del(struct mesh *m, const struct muuid *uuid, bool force, struct ended *e)
{
	struct nl_msg *msg;
	int err;

	msg = mesh_msg(m, MESH_BLK, MESHBLK_CMD_VOLUME_DEL, 0, 0, &err);
	if (!msg)
		return err;
	put_uuid(msg, MESHBLK_A_VOLUME_UUID, uuid);
	if (force)
		nla_put_flag(msg, MESHBLK_A_FORCE);
	return mesh_call(m, MESH_BLK, msg, e ? on_ended : NULL, e);
}

int meshblk_volume_del(struct mesh *m, const struct muuid *uuid, bool force)
{
	return volume_del(m, uuid, force, NULL);
}

int meshblk_volume_end(struct mesh *m, const struct muuid *uuid, bool force,
		       struct meshblk_group **groups, u32 *n)
{
	struct ended e = { NULL, 0 };
	int err = volume_del(m, uuid, force, &e);

	if (err) {
		free(e.groups);
		e = (struct ended) { NULL, 0 };
	}
	*groups = e.groups;
	*n = e.n;
	return err;
}

static int on_probe(void *arg, struct nlattr **tb, struct nlmsghdr *h)
{
	struct meshblk_probe *p = arg;

	(void)h;
	p->attach = get_u64(tb[MESHBLK_A_ATTACH]);
	get_uuid(tb[MESHBLK_A_HOST_UUID], &p->attacher);
	p->writers = get_u32(tb[MESHBLK_A_WRITERS]);
	p->readers = get_u32(tb[MESHBLK_A_READERS]);
	p->unknown = tb[MESHBLK_A_UNKNOWN];
	return 0;
}

int meshblk_member_probe(struct mesh *m, u32 target, const struct muuid *extent,
			 struct meshblk_probe *out)
{
	struct nl_msg *msg;
	int err;

	memset(out, 0, sizeof(*out));
	msg = mesh_msg(m, MESH_BLK, MESHBLK_CMD_MEMBER_PROBE, 0, 0, &err);
	if (!msg)
		return err;
	nla_put_u32(msg, MESHBLK_A_TARGET_ID, target);
	put_uuid(msg, MESHBLK_A_EXTENT_UUID, extent);
	return mesh_call(m, MESH_BLK, msg, on_probe, out);
}
