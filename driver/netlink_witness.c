// SPDX-License-Identifier: GPL-2.0-only
/* The witness: a meshd that notes rosters for the groups of this host (group_witness.c). */
#define pr_fmt(fmt) "meshblk: " fmt
#include <linux/netlink.h>
#include <linux/notifier.h>

#include "driver/group.h"
#include "driver/netlink.h"

/* A meshd that is started again is back within that; it need not be a roster of each group. */
#define WITNESS_AWAY	HZ

static atomic_t witness = ATOMIC_INIT(0);	/* port that sent WITNESS, 0: none */
static unsigned long witness_left;		/* jiffies; READ_ONCE() */

static_assert(sizeof(struct prot_roster_rec) == MESHBLK_ROSTER_BYTES);

/* Return: the port of the witness, 0: there is none. Any context. */
u32 mesh_nl_witness(void)
{
	return atomic_read(&witness);
}

/* Whether there is none, and was none for a while. */
bool mesh_nl_witness_away(void)
{
	return !mesh_nl_witness() && time_after(jiffies, READ_ONCE(witness_left) + WITNESS_AWAY);
}

/* The newest one counts: a meshd that died without a trace must not stand in its way. */
int mesh_nl_serve_witness(struct sk_buff *skb, struct genl_info *info)
{
	int err = mesh_nl_admin(skb, info);

	if (!err && (u32)atomic_xchg(&witness, info->snd_portid) != info->snd_portid)
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

/* Have the witness note a roster, NULL: say what is noted. A loss is made good by the next one. */
void mesh_nl_roster_note(const uuid_t *volume, u32 place, const void *roster)
{
	u32 port = mesh_nl_witness();
	struct sk_buff *msg;
	void *hdr;

	msg = port ? genlmsg_new(NLMSG_GOODSIZE, GFP_NOIO) : NULL;
	if (!msg)
		return;
	hdr = genlmsg_put(msg, port, 0, &mesh_nl_family, 0, MESHBLK_CMD_ROSTER_NOTE);
	if (!hdr || nla_put(msg, MESHBLK_A_VOLUME_UUID, UUID_SIZE, volume) ||
	    nla_put_u32(msg, MESHBLK_A_PLACE, place) ||
	    (roster && nla_put(msg, MESHBLK_A_ROSTER, MESHBLK_ROSTER_BYTES, roster))) {
		nlmsg_free(msg);
		return;
	}
	genlmsg_end(msg, hdr);
	genlmsg_unicast(&init_net, msg, port);	/* one that is gone: nl_witness_released() */
}

/* The witness's socket is closed. */
static int nl_witness_released(struct notifier_block *nb, unsigned long event, void *data)
{
	const struct netlink_notify *n = data;

	if (event == NETLINK_URELEASE && n->protocol == NETLINK_GENERIC &&
	    net_eq(n->net, &init_net) && n->portid == mesh_nl_witness()) {
		WRITE_ONCE(witness_left, jiffies);
		if (atomic_cmpxchg(&witness, n->portid, 0) == n->portid)
			mesh_groups_witness();
	}
	return NOTIFY_DONE;
}

static struct notifier_block witness_nb = {
	.notifier_call = nl_witness_released,
};

int mesh_nl_witness_init(void)
{
	witness_left = jiffies;
	return netlink_register_notifier(&witness_nb);
}

void mesh_nl_witness_exit(void)
{
	netlink_unregister_notifier(&witness_nb);
}
