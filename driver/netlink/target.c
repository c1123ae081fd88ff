// SPDX-License-Identifier: GPL-2.0-only
/* IDENTITY_SET, TARGET_SET, TARGET_DEL, TARGET_GET. */
#define pr_fmt(fmt) "meshblk: " fmt

#include "driver/member/target.h"
#include "driver/netlink/netlink.h"

#define MESH_NL_TARGET_BYTES	1024

int mesh_nl_identity_set(struct sk_buff *skb, struct genl_info *info)
{
	struct nlattr **a = info->attrs;
	struct rdda_identity id;
	int err = mesh_nl_admin(skb, info);

	if (err)
		return err;
	if (!a[MESHBLK_A_HOST_UUID])
		return mesh_nl_refuse(info, -EINVAL, "which host?");
	import_uuid(&id.host, nla_data(a[MESHBLK_A_HOST_UUID]));
	if (uuid_is_null(&id.host))
		return mesh_nl_refuse(info, -EINVAL, "the host's UUID is zero");
	err = rdda_keys_get(a, MESHBLK_A_KEY_ID, id.key, info->extack);
	if (!err)
		err = rdda_client_set_identity(&id);
	if (!err)
		mesh_host_uuid = id.host;
	memzero_explicit(&id, sizeof(id));
	return err;
}

int mesh_nl_target_set(struct sk_buff *skb, struct genl_info *info)
{
	struct mesh_target_conf conf = { .port = RDDA_PORT };
	struct nlattr **a = info->attrs;
	int err = mesh_nl_admin(skb, info);

	if (err)
		return err;
	if (!a[MESHBLK_A_TARGET_ID] || !a[MESHBLK_A_ADDR])
		return mesh_nl_refuse(info, -EINVAL, "a target needs number and address");
	conf.id = nla_get_u32(a[MESHBLK_A_TARGET_ID]);
	nla_strscpy(conf.addr, a[MESHBLK_A_ADDR], sizeof(conf.addr));
	if (!mesh_nl_text(conf.addr))
		return mesh_nl_refuse(info, -EINVAL, "not an IP address");
	if (a[MESHBLK_A_PORT])
		conf.port = nla_get_u16(a[MESHBLK_A_PORT]);
	if (a[MESHBLK_A_HOST_UUID])
		import_uuid(&conf.host, nla_data(a[MESHBLK_A_HOST_UUID]));
	return mesh_target_set(&conf, info->extack);
}

static int mesh_nl_target_id(struct genl_info *info, u32 *id)
{
	if (!info->attrs[MESHBLK_A_TARGET_ID])
		return mesh_nl_refuse(info, -EINVAL, "which target?");
	*id = nla_get_u32(info->attrs[MESHBLK_A_TARGET_ID]);
	return 0;
}

int mesh_nl_target_del(struct sk_buff *skb, struct genl_info *info)
{
	u32 id;
	int err = mesh_nl_admin(skb, info) ?: mesh_nl_target_id(info, &id);

	return err ?: mesh_target_del(id, info->extack);
}

static int mesh_nl_put_target_stats(struct sk_buff *skb, const struct rdda_target_info *t)
{
	struct nlattr *nest = nla_nest_start(skb, MESHBLK_A_STATS);

	if (!nest ||
	    mesh_nl_put_u64(skb, MESHBLK_S_RDMA_SENDS, t->sends) ||
	    mesh_nl_put_u64(skb, MESHBLK_S_RDMA_WRITES, t->writes) ||
	    mesh_nl_put_u64(skb, MESHBLK_S_RDMA_READS, t->reads) ||
	    mesh_nl_put_u64(skb, MESHBLK_S_PUSHES, t->pushes) ||
	    mesh_nl_put_u64(skb, MESHBLK_S_COMMANDS, t->commands) ||
	    mesh_nl_put_u64(skb, MESHBLK_S_RECONNECTS, t->reconnects) ||
	    mesh_nl_put_u64(skb, MESHBLK_S_RDMA_WRITE_BYTES, t->write_bytes) ||
	    mesh_nl_put_u64(skb, MESHBLK_S_RDMA_INLINES, t->inlines))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

static int mesh_nl_put_target(struct sk_buff *skb, void *target)
{
	struct mesh_target *t = target;
	struct rdda_target_info info;

	rdda_target_info(t->rdda, &info);
	info.reason[sizeof(info.reason) - 1] = 0;
	if (nla_put_u32(skb, MESHBLK_A_TARGET_ID, t->conf.id) ||
	    nla_put_string(skb, MESHBLK_A_ADDR, t->conf.addr) ||
	    nla_put_u16(skb, MESHBLK_A_PORT, t->conf.port) ||
	    nla_put_string(skb, MESHBLK_A_STATE, mesh_target_state_name(info.state)) ||
	    nla_put_s32(skb, MESHBLK_A_ERROR, info.err) ||
	    nla_put_string(skb, MESHBLK_A_REASON, info.reason) ||
	    nla_put(skb, MESHBLK_A_HOST_UUID, UUID_SIZE, &info.uuid) ||
	    nla_put_u32(skb, MESHBLK_A_SESSION, info.session) ||
	    nla_put_u32(skb, MESHBLK_A_CHANNELS, info.channels) ||
	    mesh_nl_put_u64(skb, MESHBLK_A_ARENA, info.arena_bytes))
		return -EMSGSIZE;
	return mesh_nl_put_target_stats(skb, &info);
}

int mesh_nl_target_get(struct sk_buff *skb, struct genl_info *info)
{
	struct mesh_target *t;
	struct sk_buff *msg;
	void *hdr;
	u32 id;
	int err = mesh_nl_target_id(info, &id);

	if (err)
		return err;
	t = mesh_target_get(id);
	if (!t)
		return mesh_nl_refuse(info, -ENOENT, "no such target");
	msg = genlmsg_new(MESH_NL_TARGET_BYTES, GFP_KERNEL);
	hdr = msg ? genlmsg_put_reply(msg, info, &mesh_nl_family, 0, MESHBLK_CMD_TARGET_GET) : NULL;
	err = hdr ? mesh_nl_put_target(msg, t) : -ENOMEM;
	mesh_target_put(t);
	if (err) {
		nlmsg_free(msg);
		return err;
	}
	genlmsg_end(msg, hdr);
	return genlmsg_reply(msg, info);
}

static void *nl_target_next(unsigned int skip)
{
	return mesh_target_next(skip);
}

static void nl_target_put(void *target)
{
	mesh_target_put(target);
}

int mesh_nl_target_dump(struct sk_buff *skb, struct netlink_callback *cb)
{
	static const struct mesh_nl_dump_ops ops = {
		.cmd = MESHBLK_CMD_TARGET_GET,
		.next = nl_target_next,
		.fill = mesh_nl_put_target,
		.put = nl_target_put,
	};

	return mesh_nl_dump(skb, cb, &ops);
}
