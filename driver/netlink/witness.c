// SPDX-License-Identifier: GPL-2.0-only
/* The witness: a meshd that notes rosters for the groups of this host (group/witness.c). */
#define pr_fmt(fmt) "meshblk: " fmt
#include <linux/netlink.h>
#include <linux/notifier.h>

#include "driver/group/group.h"
#include "driver/netlink/events.h"
#include "driver/netlink/netlink.h"

static_assert(sizeof(struct prot_roster_rec) == MESHBLK_ROSTER_BYTES);

int mesh_nl_serve_witness(struct sk_buff *skb, struct genl_info *info)
{
	int err = mesh_nl_admin(skb, info);

	if (!err && mesh_nl_witness_begin(info->snd_portid))
		mesh_groups_witness();
	return err;
}

int mesh_nl_roster_noted(struct sk_buff *skb, struct genl_info *info)
{
	struct nlattr *roster = info->attrs[MESHBLK_A_ROSTER];
	int err = mesh_nl_admin(skb, info);
	uuid_t u;

	if (err)
		return err;
	if (info->snd_portid != mesh_nl_witness())
		return mesh_nl_refuse(info, -EPERM, "only the socket of the witness may answer");
	if (!info->attrs[MESHBLK_A_VOLUME_UUID] || !info->attrs[MESHBLK_A_PLACE])
		return mesh_nl_refuse(info, -EINVAL, "the roster of which group?");
	import_uuid(&u, nla_data(info->attrs[MESHBLK_A_VOLUME_UUID]));
	mesh_groups_answered(&u, nla_get_u32(info->attrs[MESHBLK_A_PLACE]), info->snd_portid,
			     roster ? nla_data(roster) : NULL, roster ? nla_len(roster) : 0);
	return 0;
}

/* A netlink socket is closed: if it was the witness's, notify the groups. */
static int nl_witness_released(struct notifier_block *nb, unsigned long event, void *data)
{
	const struct netlink_notify *n = data;

	if (event == NETLINK_URELEASE && n->protocol == NETLINK_GENERIC &&
	    net_eq(n->net, &init_net) && mesh_nl_witness_end(n->portid))
		mesh_groups_witness();
	return NOTIFY_DONE;
}

static struct notifier_block witness_nb = {
	.notifier_call = nl_witness_released,
};

int mesh_nl_witness_init(void)
{
	mesh_nl_witness_none();
	return netlink_register_notifier(&witness_nb);
}

void mesh_nl_witness_exit(void)
{
	netlink_unregister_notifier(&witness_nb);
}
