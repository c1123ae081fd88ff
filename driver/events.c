// SPDX-License-Identifier: GPL-2.0-only
/* Events to the listeners. Process context; a lost one does no harm, since
 * listeners read the whole state after an overrun.
 */
#define pr_fmt(fmt) "meshblk: " fmt
#include "driver/netlink.h"
#include "driver/volume.h"

#define MESH_EVENT_BYTES	512

static struct sk_buff *mesh_event_new(u32 event, void **hdr)
{
	/* sent under event_lock, and by what ends I/O that reclaim may wait for */
	struct sk_buff *msg = genlmsg_new(MESH_EVENT_BYTES, GFP_NOIO);

	if (!msg)
		return NULL;
	*hdr = genlmsg_put(msg, 0, 0, &mesh_nl_family, 0, MESHBLK_CMD_EVENT);
	if (!*hdr || nla_put_u32(msg, MESHBLK_A_EVENT, event)) {
		nlmsg_free(msg);
		return NULL;
	}
	return msg;
}

static void mesh_event_send(struct sk_buff *msg, void *hdr, int err)
{
	if (WARN_ON_ONCE(err)) {	/* MESH_EVENT_BYTES is too small */
		nlmsg_free(msg);
		return;
	}
	genlmsg_end(msg, hdr);
	genlmsg_multicast(&mesh_nl_family, msg, 0, 0, GFP_NOIO);
}

void mesh_event_member(struct mesh_volume *vol, u32 index, enum mesh_member_state s, int err)
{
	void *hdr;
	struct sk_buff *msg = mesh_event_new(MESHBLK_EV_MEMBER_STATE, &hdr);

	pr_info("%s: member %u is %s\n", vol->conf.name, index, mesh_member_state_name(s));
	if (!msg)
		return;
	mesh_event_send(msg, hdr,
			nla_put(msg, MESHBLK_A_VOLUME_UUID, UUID_SIZE, &vol->conf.uuid) ?:
			nla_put_u32(msg, MESHBLK_A_INDEX, index) ?:
			nla_put_string(msg, MESHBLK_A_STATE, mesh_member_state_name(s)) ?:
			nla_put_s32(msg, MESHBLK_A_ERROR, err));
}

void mesh_event_volume(struct mesh_volume *vol, enum mesh_volume_state s, u64 epoch)
{
	void *hdr;
	struct sk_buff *msg = mesh_event_new(MESHBLK_EV_VOLUME_STATE, &hdr);

	if (!msg)
		return;
	mesh_event_send(msg, hdr,
			nla_put(msg, MESHBLK_A_VOLUME_UUID, UUID_SIZE, &vol->conf.uuid) ?:
			nla_put_string(msg, MESHBLK_A_STATE, mesh_volume_state_name(s)) ?:
			mesh_nl_put_u64(msg, MESHBLK_A_EPOCH, epoch));
}

void mesh_event_layout_freed(struct mesh_volume *vol, u64 epoch)
{
	void *hdr;
	struct sk_buff *msg = mesh_event_new(MESHBLK_EV_LAYOUT_FREED, &hdr);

	if (!msg)
		return;
	mesh_event_send(msg, hdr,
			nla_put(msg, MESHBLK_A_VOLUME_UUID, UUID_SIZE, &vol->conf.uuid) ?:
			mesh_nl_put_u64(msg, MESHBLK_A_EPOCH, epoch));
}

void mesh_event_abandoned(struct mesh_member *m, u32 left)
{
	struct nlattr *nest;
	void *hdr;
	struct sk_buff *msg = mesh_event_new(MESHBLK_EV_ABANDONED, &hdr);
	int err;

	if (!msg)
		return;
	err = nla_put(msg, MESHBLK_A_VOLUME_UUID, UUID_SIZE, &m->volume);
	nest = nla_nest_start(msg, MESHBLK_A_MEMBER);
	if (!nest || nla_put(msg, MESHBLK_M_EXTENT_UUID, UUID_SIZE, &m->conf.uuid) ||
	    nla_put(msg, MESHBLK_M_DRIVE_UUID, UUID_SIZE, &m->conf.drive) ||
	    nla_put_u32(msg, MESHBLK_M_ABANDONED, left))
		err = -EMSGSIZE;
	else
		nla_nest_end(msg, nest);
	mesh_event_send(msg, hdr, err);
}

void mesh_event_target(u32 id, const char *state, int err, const char *reason)
{
	void *hdr;
	struct sk_buff *msg = mesh_event_new(MESHBLK_EV_TARGET_STATE, &hdr);

	if (!msg)
		return;
	mesh_event_send(msg, hdr,
			nla_put_u32(msg, MESHBLK_A_TARGET_ID, id) ?:
			nla_put_string(msg, MESHBLK_A_STATE, state) ?:
			nla_put_s32(msg, MESHBLK_A_ERROR, err) ?:
			nla_put_string(msg, MESHBLK_A_REASON, reason));
}
