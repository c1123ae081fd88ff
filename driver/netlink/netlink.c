// SPDX-License-Identifier: GPL-2.0-only
/* The netlink family: the commands, and the attributes that each may carry. */
#define pr_fmt(fmt) "meshblk: " fmt
#include "driver/netlink/netlink.h"
#include "driver/volume/volume.h"

#define MESH_NL_UUID	NLA_POLICY_EXACT_LEN(UUID_SIZE)

static struct netlink_range_validation timeout_range = {
	.min = MESH_TIMEOUT_MS_MIN,
	.max = MESH_TIMEOUT_MS_MAX,
};

static const struct nla_policy identity_policy[MESHBLK_A_MAX + 1] = {
	[MESHBLK_A_HOST_UUID] = MESH_NL_UUID,
	[MESHBLK_A_KEY_ID] = NLA_POLICY_MIN(NLA_U16, 1),
	[MESHBLK_A_KEY_SERIAL] = NLA_POLICY_MIN(NLA_S32, 1),
	[MESHBLK_A_KEY_ID2] = NLA_POLICY_MIN(NLA_U16, 1),
	[MESHBLK_A_KEY_SERIAL2] = NLA_POLICY_MIN(NLA_S32, 1),
	[MESHBLK_A_HOST_ROLE] = NLA_POLICY_RANGE(NLA_U8, MESHBLK_HOST_CLIENT, MESHBLK_HOST_STORE),
};

static const struct nla_policy target_policy[MESHBLK_A_MAX + 1] = {
	[MESHBLK_A_TARGET_ID] = { .type = NLA_U32 },
	[MESHBLK_A_ADDR] = { .type = NLA_NUL_STRING, .len = 64 },
	[MESHBLK_A_PORT] = NLA_POLICY_MIN(NLA_U16, 1),
	[MESHBLK_A_HOST_UUID] = MESH_NL_UUID,
};

static const struct nla_policy target_id_policy[MESHBLK_A_MAX + 1] = {
	[MESHBLK_A_TARGET_ID] = { .type = NLA_U32 },
};

static const struct nla_policy volume_policy[MESHBLK_A_MAX + 1] = {
	[MESHBLK_A_VOLUME_UUID] = MESH_NL_UUID,
	[MESHBLK_A_NAME] = { .type = NLA_NUL_STRING, .len = MESHBLK_NAME_MAX },
	[MESHBLK_A_EPOCH] = NLA_POLICY_MIN(NLA_U64, 1),
	[MESHBLK_A_LBA] = { .type = NLA_U32 },
	[MESHBLK_A_READONLY] = { .type = NLA_FLAG },
	[MESHBLK_A_QUEUE_DEPTH] = NLA_POLICY_RANGE(NLA_U32, 1, MESH_DEPTH_MAX),
	[MESHBLK_A_IO_TIMEOUT_MS] = NLA_POLICY_FULL_RANGE(NLA_U32, &timeout_range),
	[MESHBLK_A_MEMBERS] = { .type = NLA_NESTED },
	[MESHBLK_A_SEGMENTS] = { .type = NLA_NESTED },
	[MESHBLK_A_SALT_SERIAL] = NLA_POLICY_MIN(NLA_S32, 1),
	[MESHBLK_A_ATTACH] = { .type = NLA_U64 },
	[MESHBLK_A_STALE] = { .type = NLA_FLAG },
	[MESHBLK_A_NUMBERED] = { .type = NLA_FLAG },
	[MESHBLK_A_SERVED] = { .type = NLA_U64 },
	[MESHBLK_A_BARS] = { .type = NLA_BINARY },
	[MESHBLK_A_FORGOTTEN] = { .type = NLA_BINARY },
	[MESHBLK_A_AGAIN] = { .type = NLA_FLAG },
	[MESHBLK_A_BESIDE_STORE] = { .type = NLA_FLAG },
	[MESHBLK_A_LEAVINGS] = { .type = NLA_NESTED },
};

static const struct nla_policy volume_del_policy[MESHBLK_A_MAX + 1] = {
	[MESHBLK_A_VOLUME_UUID] = MESH_NL_UUID,
	[MESHBLK_A_FORCE] = { .type = NLA_FLAG },
};

static const struct nla_policy volume_scrub_policy[MESHBLK_A_MAX + 1] = {
	[MESHBLK_A_VOLUME_UUID] = MESH_NL_UUID,
	[MESHBLK_A_STOP] = { .type = NLA_FLAG },
	[MESHBLK_A_REPAIR] = { .type = NLA_FLAG },
	[MESHBLK_A_INDEX] = { .type = NLA_U32 },
};

static const struct nla_policy volume_rejoin_policy[MESHBLK_A_MAX + 1] = {
	[MESHBLK_A_VOLUME_UUID] = MESH_NL_UUID,
	[MESHBLK_A_INDEX] = { .type = NLA_U32 },
};

static const struct nla_policy no_policy[MESHBLK_A_MAX + 1] = { };

static const struct nla_policy roster_policy[MESHBLK_A_MAX + 1] = {
	[MESHBLK_A_VOLUME_UUID] = MESH_NL_UUID,
	[MESHBLK_A_PLACE] = { .type = NLA_U32 },
	[MESHBLK_A_ROSTER] = NLA_POLICY_EXACT_LEN(MESHBLK_ROSTER_BYTES),
};

static const struct nla_policy volume_evict_policy[MESHBLK_A_MAX + 1] = {
	[MESHBLK_A_VOLUME_UUID] = MESH_NL_UUID,
	[MESHBLK_A_INDEX] = { .type = NLA_U32 },
	[MESHBLK_A_MEMBER] = { .type = NLA_NESTED },
	[MESHBLK_A_STOP] = { .type = NLA_FLAG },
};

static const struct nla_policy volume_id_policy[MESHBLK_A_MAX + 1] = {
	[MESHBLK_A_VOLUME_UUID] = MESH_NL_UUID,
};

static const struct nla_policy member_probe_policy[MESHBLK_A_MAX + 1] = {
	[MESHBLK_A_TARGET_ID] = { .type = NLA_U32 },
	[MESHBLK_A_EXTENT_UUID] = MESH_NL_UUID,
};

#define MESH_NL_OP(c, p, d)	{ .cmd = MESHBLK_CMD_##c, .policy = (p), \
				  .maxattr = MESHBLK_A_MAX, .doit = (d) }
#define MESH_NL_GET(c, p, d, l)	{ .cmd = MESHBLK_CMD_##c, .policy = (p), \
				  .maxattr = MESHBLK_A_MAX, .doit = (d), .dumpit = (l) }

static const struct genl_ops mesh_nl_ops[] = {
	MESH_NL_OP(IDENTITY_SET, identity_policy, mesh_nl_identity_set),
	MESH_NL_OP(TARGET_SET, target_policy, mesh_nl_target_set),
	MESH_NL_OP(TARGET_DEL, target_id_policy, mesh_nl_target_del),
	MESH_NL_GET(TARGET_GET, target_id_policy, mesh_nl_target_get, mesh_nl_target_dump),
	MESH_NL_OP(VOLUME_SET, volume_policy, mesh_nl_volume_set),
	MESH_NL_OP(VOLUME_DEL, volume_del_policy, mesh_nl_volume_del),
	MESH_NL_GET(VOLUME_GET, volume_id_policy, mesh_nl_volume_get, mesh_nl_volume_dump),
	MESH_NL_OP(VOLUME_SCRUB, volume_scrub_policy, mesh_nl_volume_scrub),
	MESH_NL_OP(VOLUME_REJOIN, volume_rejoin_policy, mesh_nl_volume_rejoin),
	MESH_NL_OP(WITNESS, no_policy, mesh_nl_serve_witness),
	MESH_NL_OP(ROSTER_NOTED, roster_policy, mesh_nl_roster_noted),
	MESH_NL_OP(VOLUME_EVICT, volume_evict_policy, mesh_nl_volume_evict),
	MESH_NL_GET(ABANDONED_GET, no_policy, NULL, mesh_nl_abandoned_dump),
	MESH_NL_OP(MEMBER_PROBE, member_probe_policy, mesh_nl_member_probe),
};

int mesh_nl_init(void)
{
	int err = mesh_nl_witness_init();

	if (err)
		return err;
	mesh_nl_family.ops = mesh_nl_ops;
	mesh_nl_family.n_ops = ARRAY_SIZE(mesh_nl_ops);
	err = genl_register_family(&mesh_nl_family);
	if (err)
		mesh_nl_witness_exit();
	return err;
}

void mesh_nl_exit(void)
{
	genl_unregister_family(&mesh_nl_family);
	mesh_nl_witness_exit();
}
