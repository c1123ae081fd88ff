// SPDX-License-Identifier: GPL-2.0-only
/* Messages of the netlink family: GRANTs to the meshd that serves, events to all listeners. */
#include <linux/netlink.h>
#include <linux/notifier.h>
#include <net/genetlink.h>

#include "driver/uapi/meshblk.h"
#include "rdda/target/grant.h"
#include "rdda/target/netlink.h"
#include "rdda/target/session.h"
#include "rdda/wire.h"

static const struct genl_family *family;	/* defined in netlink.c */
static atomic_t server = ATOMIC_INIT(0);	/* port that sent SERVE, 0: none */

/*
 * Note the meshd that serves. The newest one serves: a meshd that died without a trace must not
 * stand in the way.
 */
void tgt_server_set(u32 port)
{
	atomic_set(&server, port);
}

/* True if @port sent the last SERVE. */
bool tgt_server_is(u32 port)
{
	return atomic_read(&server) == port;
}

static int event_send_server(struct sk_buff *msg, u32 port)
{
	int ret = genlmsg_unicast(&init_net, msg, port);

	if (!ret)
		return 0;
	if (ret == -ECONNREFUSED)
		atomic_cmpxchg(&server, port, 0);
	return -EHOSTDOWN;	/* for the client a full socket is the same */
}

/*
 * Request meshd to note a grant in a drive's label. @request: number for the answer. Context:
 * process. Return: 0, -EHOSTDOWN or -ENOMEM.
 */
int tgt_nl_grant(u64 request, const uuid_t *drive, const uuid_t *host,
		 const struct tgt_open_request *req)
{
	u32 port = atomic_read(&server);
	struct sk_buff *msg;
	void *h;

	if (!port)
		return -EHOSTDOWN;
	msg = genlmsg_new(NLMSG_GOODSIZE, GFP_NOIO);
	if (!msg)
		return -ENOMEM;
	h = genlmsg_put(msg, port, 0, family, 0, MESHTGT_CMD_GRANT);
	if (!h || nla_put_u64_64bit(msg, MESHTGT_A_REQUEST, request, MESHTGT_A_PAD) ||
	    nla_put(msg, MESHTGT_A_DRIVE_UUID, 16, drive) ||
	    nla_put(msg, MESHTGT_A_EXTENT_UUID, 16, &req->extent) ||
	    nla_put(msg, MESHTGT_A_HOST_UUID, 16, host) ||
	    (req->numbered ? nla_put_flag(msg, MESHTGT_A_NUMBERED) :
	     nla_put_u64_64bit(msg, MESHTGT_A_EPOCH, req->epoch, MESHTGT_A_PAD)) ||
	    nla_put_u64_64bit(msg, MESHTGT_A_ATTACH, req->attach, MESHTGT_A_PAD) ||
	    nla_put_u8(msg, MESHTGT_A_ACCESS, req->rw ? RDDA_RW : RDDA_RO)) {
		nlmsg_free(msg);
		return -ENOMEM;
	}
	genlmsg_end(msg, h);
	return event_send_server(msg, port);
}

static struct sk_buff *event_new(u32 kind, void **h)
{
	struct sk_buff *msg = genlmsg_new(NLMSG_GOODSIZE, GFP_NOIO);

	if (!msg)
		return NULL;
	*h = genlmsg_put(msg, 0, 0, family, 0, MESHTGT_CMD_EVENT);
	if (*h && !nla_put_u32(msg, MESHTGT_A_EVENT, kind))
		return msg;
	nlmsg_free(msg);
	return NULL;
}

static void event_send(struct sk_buff *msg, void *h)
{
	genlmsg_end(msg, h);
	genlmsg_multicast_netns(family, &init_net, msg, 0, 0, GFP_NOIO);
}

/* Notify meshd that a drive was unplugged. */
void tgt_nl_drive_gone(const uuid_t *drive, const char *path)
{
	struct sk_buff *msg;
	void *h;

	msg = event_new(MESHTGT_EV_DRIVE_GONE, &h);
	if (!msg)
		return;
	if (nla_put(msg, MESHTGT_A_DRIVE_UUID, 16, drive) ||
	    nla_put_string(msg, MESHTGT_A_PATH, path))
		nlmsg_free(msg);
	else
		event_send(msg, h);
}

/* Notify all listeners of a session's new @state: live, or a stage of the session's end. */
void tgt_nl_session(const struct tgt_session *s, const char *state)
{
	struct sk_buff *msg;
	void *h;

	msg = event_new(MESHTGT_EV_SESSION, &h);
	if (!msg)
		return;
	if (nla_put_u32(msg, MESHTGT_A_SESSION, s->id) ||
	    nla_put(msg, MESHTGT_A_HOST_UUID, 16, &s->client.host) ||
	    nla_put_string(msg, MESHTGT_A_STATE, state))
		nlmsg_free(msg);
	else
		event_send(msg, h);
}

/* The server's socket closed. */
static int event_released(struct notifier_block *nb, unsigned long event, void *data)
{
	const struct netlink_notify *n = data;

	if (event == NETLINK_URELEASE && n->protocol == NETLINK_GENERIC &&
	    net_eq(n->net, &init_net))
		atomic_cmpxchg(&server, n->portid, 0);
	return NOTIFY_DONE;
}

static struct notifier_block event_nb = {
	.notifier_call = event_released,
};

/* Set up. Messages may be sent once @of is registered. Return: 0 or a negative errno. */
int __init tgt_events_init(const struct genl_family *of)
{
	family = of;
	return netlink_register_notifier(&event_nb);
}

/* @family is not registered any more. */
void tgt_events_exit(void)
{
	netlink_unregister_notifier(&event_nb);
	atomic_set(&server, 0);
}
