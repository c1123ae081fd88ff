// SPDX-License-Identifier: GPL-2.0-only
/* Parts of messages that handlers share: the family, permission, text, numbers, the volume. */
#define pr_fmt(fmt) "meshblk: " fmt
#include <linux/capability.h>
#include <linux/ctype.h>
#include <linux/module.h>

#include "driver/netlink/netlink.h"
#include "driver/volume/volume.h"

static const struct genl_multicast_group mesh_nl_groups[] = {
	{ .name = MESHBLK_GENL_EVENTS },
};

/*
 * Initial network namespace only (netnsok is not set). Commands run in parallel: VOLUME_DEL waits
 * for others. mesh_nl_init() adds the table of commands, since files that handlers call use the
 * family, too: they build messages.
 */
struct genl_family mesh_nl_family __ro_after_init = {
	.name = MESHBLK_GENL_NAME,
	.version = MESHBLK_GENL_VERSION,
	.module = THIS_MODULE,
	.parallel_ops = true,
	.resv_start_op = MESHBLK_CMD_IDENTITY_SET,	/* all are strict */
	.mcgrps = mesh_nl_groups,
	.n_mcgrps = ARRAY_SIZE(mesh_nl_groups),
};

/* A change of state needs more than CAP_NET_ADMIN, which any CNI pod has. */
int mesh_nl_admin(struct sk_buff *skb, struct genl_info *info)
{
	if (netlink_capable(skb, CAP_SYS_ADMIN))
		return 0;
	return mesh_nl_refuse(info, -EPERM, "needs CAP_SYS_ADMIN in the initial user namespace");
}

/*
 * Return: true if the text may be shown in sysfs, uevents and logs: printable ASCII without spaces.
 */
bool mesh_nl_text(const char *s)
{
	for (; *s; s++)
		if (!isascii(*s) || !isgraph(*s))
			return false;
	return true;
}

int mesh_nl_put_u64(struct sk_buff *skb, int attr, u64 value)
{
	/* the pad attribute is 1 in all our tables */
	return nla_put_u64_64bit(skb, attr, value, MESHBLK_A_PAD);
}

/* Find the volume that a message names. Return: the volume with a reference, or an error. */
struct mesh_volume *mesh_nl_volume(struct genl_info *info)
{
	struct mesh_volume *vol;
	uuid_t u;

	if (!info->attrs[MESHBLK_A_VOLUME_UUID]) {
		GENL_SET_ERR_MSG(info, "which volume?");
		return ERR_PTR(-EINVAL);
	}
	import_uuid(&u, nla_data(info->attrs[MESHBLK_A_VOLUME_UUID]));
	vol = mesh_volume_find(&u);
	if (vol)
		return vol;
	GENL_SET_ERR_MSG(info, "no such volume");
	return ERR_PTR(-ENOENT);
}

/*
 * Answer a dump, with as many objects as fit into @skb. cb->args[0]: number of objects sent so far.
 * Return: as a dumpit handler.
 */
int mesh_nl_dump(struct sk_buff *skb, struct netlink_callback *cb,
		 const struct mesh_nl_dump_ops *ops)
{
	void *object, *hdr;
	int err = 0;

	while (!err && (object = ops->next(cb->args[0]))) {
		hdr = genlmsg_put(skb, NETLINK_CB(cb->skb).portid, cb->nlh->nlmsg_seq,
				  &mesh_nl_family, NLM_F_MULTI, ops->cmd);
		err = hdr ? ops->fill(skb, object) : -EMSGSIZE;
		ops->put(object);
		if (!err) {
			genlmsg_end(skb, hdr);
			cb->args[0]++;
		} else if (hdr) {
			genlmsg_cancel(skb, hdr);
		}
	}
	return skb->len ?: err;
}
