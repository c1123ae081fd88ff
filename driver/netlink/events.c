// SPDX-License-Identifier: GPL-2.0-only
/*
 * Messages to meshd. Process context. Events go to all listeners; a lost event does no harm, since
 * listeners read the whole state after an overrun. Notes of rosters go to the witness, the meshd
 * that sent WITNESS last.
 */
#define pr_fmt(fmt) "meshblk: " fmt
#include "driver/netlink/events.h"
#include "driver/netlink/netlink.h"
#include "driver/volume/volume.h"

#define MESH_EVENT_BYTES	512
#define MESH_EVENT_ROSTER	(MESH_EVENT_BYTES + MESHBLK_ROSTER_BYTES)

/*
 * A restarted meshd is back within this time, so that its restart need not cost a roster of each
 * group.
 */
#define WITNESS_AWAY	HZ

static atomic_t witness = ATOMIC_INIT(0);	/* port that sent WITNESS, 0: none */
/* jiffies when the last witness left; READ_ONCE() */
static unsigned long witness_left;

static struct sk_buff *mesh_event_room(u32 event, size_t bytes, void **hdr)
{
	/* sent under event_lock, and by works that end I/O, for which reclaim may wait */
	struct sk_buff *msg = genlmsg_new(bytes, GFP_NOIO);

	if (!msg)
		return NULL;
	*hdr = genlmsg_put(msg, 0, 0, &mesh_nl_family, 0, MESHBLK_CMD_EVENT);
	if (!*hdr || nla_put_u32(msg, MESHBLK_A_EVENT, event)) {
		nlmsg_free(msg);
		return NULL;
	}
	return msg;
}

static struct sk_buff *mesh_event_new(u32 event, void **hdr)
{
	return mesh_event_room(event, MESH_EVENT_BYTES, hdr);
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

void mesh_event_fenced(struct mesh_volume *vol, u64 number, const uuid_t *host)
{
	void *hdr;
	struct sk_buff *msg = mesh_event_new(MESHBLK_EV_FENCED, &hdr);

	if (!msg)
		return;
	mesh_event_send(msg, hdr,
			nla_put(msg, MESHBLK_A_VOLUME_UUID, UUID_SIZE, &vol->conf.uuid) ?:
			mesh_nl_put_u64(msg, MESHBLK_A_ATTACH, number) ?:
			nla_put(msg, MESHBLK_A_HOST_UUID, UUID_SIZE, host));
}

/* @roster: MESHBLK_ROSTER_BYTES. */
void mesh_event_roster(struct mesh_volume *vol, u32 place, const void *roster)
{
	void *hdr;
	struct sk_buff *msg = mesh_event_room(MESHBLK_EV_ROSTER, MESH_EVENT_ROSTER, &hdr);

	if (!msg)
		return;
	mesh_event_send(msg, hdr,
			nla_put(msg, MESHBLK_A_VOLUME_UUID, UUID_SIZE, &vol->conf.uuid) ?:
			nla_put_u32(msg, MESHBLK_A_PLACE, place) ?:
			nla_put(msg, MESHBLK_A_ROSTER, MESHBLK_ROSTER_BYTES, roster));
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

/* Return: the port of the witness, 0: there is none. Any context. */
u32 mesh_nl_witness(void)
{
	return atomic_read(&witness);
}

/* Return: true if there is no witness, and has been none for WITNESS_AWAY. */
bool mesh_nl_witness_away(void)
{
	return !mesh_nl_witness() && time_after(jiffies, READ_ONCE(witness_left) + WITNESS_AWAY);
}

/*
 * Make @port the witness. The newest witness counts: a meshd that died without a trace must not
 * block a new one. Return: true if @port was not the witness before.
 */
bool mesh_nl_witness_begin(u32 port)
{
	return (u32)atomic_xchg(&witness, port) != port;
}

/* The socket with @port is closed. Return: true if @port was the witness, and no other has come. */
bool mesh_nl_witness_end(u32 port)
{
	if (port != mesh_nl_witness())
		return false;
	WRITE_ONCE(witness_left, jiffies);
	return atomic_cmpxchg(&witness, port, 0) == port;
}

/* The module is loaded: a running meshd gets WITNESS_AWAY to become the witness. */
void mesh_nl_witness_none(void)
{
	witness_left = jiffies;
}

/*
 * Request the witness to note @roster; NULL: to return the noted one. The caller repeats the
 * request, so that a loss is harmless.
 */
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
	genlmsg_unicast(&init_net, msg, port);	/* a witness that is gone: nl_witness_released() */
}
