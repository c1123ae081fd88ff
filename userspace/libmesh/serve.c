// SPDX-License-Identifier: GPL-2.0-only
/*
 * Messages that the kernel sends by itself: requests to the process that serves,
 * and multicast events. Both come with sequence 0 and are never waited for.
 */
#include <errno.h>
#include <poll.h>
#include <string.h>

#include "userspace/libmesh/genl.h"

#define TICK_MS	2000

struct server {
	struct mesh *m;
	void (*fn)(void *priv, struct meshtgt_grant *grant);
	void *priv;
};

struct witness {
	struct mesh *m;
	void (*fn)(void *priv, struct meshblk_note *note);
	void *priv;
};

static int on_grant(struct nl_msg *msg, void *arg)
{
	struct server *s = arg;
	struct nlmsghdr *h = nlmsg_hdr(msg);
	struct genlmsghdr *g = nlmsg_data(h);
	struct nlattr *tb[MESHTGT_A_MAX + 1];
	struct meshtgt_grant grant = { 0 };

	if (h->nlmsg_type != s->m->family[MESH_TGT] ||
	    genlmsg_parse(h, 0, tb, MESHTGT_A_MAX, NULL) < 0)
		return NL_OK;
	if (g->cmd != MESHTGT_CMD_GRANT)
		return NL_OK;
	grant.request = get_u64(tb[MESHTGT_A_REQUEST]);
	get_uuid(tb[MESHTGT_A_HOST_UUID], &grant.host);
	get_uuid(tb[MESHTGT_A_DRIVE_UUID], &grant.drive);
	get_uuid(tb[MESHTGT_A_EXTENT_UUID], &grant.extent);
	grant.version = get_u64(tb[MESHTGT_A_EPOCH]);
	grant.attach = get_u64(tb[MESHTGT_A_ATTACH]);
	grant.access = get_u32(tb[MESHTGT_A_ACCESS]);
	grant.numbered = tb[MESHTGT_A_NUMBERED];
	s->fn(s->priv, &grant);
	return NL_OK;
}

static int on_note(struct nl_msg *msg, void *arg)
{
	struct witness *w = arg;
	struct nlmsghdr *h = nlmsg_hdr(msg);
	struct genlmsghdr *g = nlmsg_data(h);
	struct nlattr *tb[MESHBLK_A_MAX + 1];
	struct meshblk_note note = { 0 };

	if (h->nlmsg_type != w->m->family[MESH_BLK] ||
	    genlmsg_parse(h, 0, tb, MESHBLK_A_MAX, NULL) < 0 || g->cmd != MESHBLK_CMD_ROSTER_NOTE)
		return NL_OK;
	get_uuid(tb[MESHBLK_A_VOLUME_UUID], &note.volume);
	note.place = get_u32(tb[MESHBLK_A_PLACE]);
	note.any = get_roster(tb[MESHBLK_A_ROSTER], note.roster);
	w->fn(w->priv, &note);
	return NL_OK;
}

/*
 * The kernel's own messages have sequence 0. Others answer a reply that it refused, which needs
 * no handling here: the kernel's deadline for replies does it.
 */
static int own_seq(struct nl_msg *msg, void *arg)
{
	(void)arg;
	return nlmsg_hdr(msg)->nlmsg_seq ? NL_SKIP : NL_OK;
}

/* With @cmd the kernel sends to this socket from now on. */
static int serve_begin(struct mesh *m, enum mesh_family family, u8 cmd)
{
	struct nl_msg *msg;
	int err;

	msg = mesh_msg(m, family, cmd, 0, 0, &err);
	if (!msg)
		return err;
	err = mesh_call(m, family, msg, NULL, NULL);
	m->serving = !err;
	return err;
}

static int send_reply(struct mesh *m, struct nl_msg *msg)
{
	int err;

	pthread_mutex_lock(&m->send_lock);
	err = nl_send_auto(m->sock, msg);
	pthread_mutex_unlock(&m->send_lock);
	nlmsg_free(msg);
	return err < 0 ? -EIO : 0;
}

/* Give to @valid, with @arg, what it sends, until @stop is readable; @tick, if any, each 2 s. */
static int serve(struct mesh *m, int stop, nl_recvmsg_msg_cb_t valid, void *arg,
		 void (*tick)(struct mesh *m))
{
	struct pollfd fds[2] = { { .events = POLLIN }, { .fd = stop, .events = POLLIN } };
	struct nl_cb *cb = mesh_cb(m);
	int err = 0;

	if (!cb)
		return -ENOMEM;
	nl_cb_set(cb, NL_CB_SEQ_CHECK, NL_CB_CUSTOM, own_seq, NULL);
	nl_cb_set(cb, NL_CB_VALID, NL_CB_CUSTOM, valid, arg);
	nl_socket_set_nonblocking(m->sock);
	fds[0].fd = nl_socket_get_fd(m->sock);
	while (!err) {
		int n = poll(fds, 2, tick ? TICK_MS : -1);

		if (n < 0 && errno != EINTR)
			err = -errno;
		if (!n)
			tick(m);
		if (n <= 0)
			continue;
		if (fds[1].revents)
			break;
		/*
		 * A family that is gone leaves the socket silent, not broken. After
		 * an overrun (-NLE_NOMEM) what was lost is requested again.
		 */
		if (fds[0].revents)
			nl_recvmsgs(m->sock, cb);
	}
	nl_cb_put(cb);
	return err;
}

int meshtgt_serve(struct mesh *m, int stop, void (*fn)(void *priv, struct meshtgt_grant *grant),
		  void *priv)
{
	struct server s = { m, fn, priv };
	int err = serve_begin(m, MESH_TGT, MESHTGT_CMD_SERVE);

	return err ? err : serve(m, stop, on_grant, &s, NULL);
}

/* Another socket may have taken its place, and be gone or not. */
static void witness_again(struct mesh *m)
{
	struct nl_msg *msg;
	int err;

	msg = mesh_msg(m, MESH_BLK, MESHBLK_CMD_WITNESS, 0, 0, &err);
	if (msg)
		send_reply(m, msg);
}

int meshblk_witness_begin(struct mesh *m)
{
	return serve_begin(m, MESH_BLK, MESHBLK_CMD_WITNESS);
}

int meshblk_witness(struct mesh *m, int stop, void (*fn)(void *priv, struct meshblk_note *note),
		    void *priv)
{
	struct witness w = { m, fn, priv };

	return serve(m, stop, on_note, &w, witness_again);
}

int meshtgt_grant_reply(struct mesh *m, u64 request, int err)
{
	struct nl_msg *msg;
	int e;

	msg = mesh_msg(m, MESH_TGT, MESHTGT_CMD_GRANT_REPLY, 0, 64, &e);
	if (!msg)
		return e;
	nla_put_u64(msg, MESHTGT_A_REQUEST, request);
	nla_put_s32(msg, MESHTGT_A_ERROR, err);
	return send_reply(m, msg);
}

int meshblk_roster_noted(struct mesh *m, const struct meshblk_note *note)
{
	struct nl_msg *msg;
	int e;

	msg = mesh_msg(m, MESH_BLK, MESHBLK_CMD_ROSTER_NOTED, 0, sizeof(note->roster) + 64, &e);
	if (!msg)
		return e;
	put_uuid(msg, MESHBLK_A_VOLUME_UUID, &note->volume);
	nla_put_u32(msg, MESHBLK_A_PLACE, note->place);
	if (note->any)
		nla_put(msg, MESHBLK_A_ROSTER, sizeof(note->roster), note->roster);
	return send_reply(m, msg);
}

int mesh_events_join(struct mesh *m)
{
	static const struct { const char *family, *group; } g[] = {
		{ MESHBLK_GENL_NAME, MESHBLK_GENL_EVENTS },
		{ MESHTGT_GENL_NAME, MESHTGT_GENL_EVENTS },
	};
	int i, id, all = 0;

	for (i = 0; i < MESH_FAMILIES; i++) {
		if (m->joined[i])
			continue;
		id = genl_ctrl_resolve(m->sock, g[i].family);
		if (id < 0) {
			all = -ENOENT;
			continue;
		}
		m->family[i] = id;
		id = genl_ctrl_resolve_grp(m->sock, g[i].family, g[i].group);
		if (id < 0 || nl_socket_add_membership(m->sock, id))
			all = -ENOENT;
		else
			m->joined[i] = true;
	}
	nl_socket_set_nonblocking(m->sock);
	return all;
}

int mesh_fd(const struct mesh *m)
{
	return nl_socket_get_fd(m->sock);
}

struct listener {
	struct mesh *m;
	void (*fn)(void *priv, const struct mesh_event *e);
	void *priv;
};

static void parse_blk_event(struct nlattr **tb, struct mesh_event *e)
{
	const struct nlattr *roster = tb[MESHBLK_A_ROSTER];

	e->event = get_u32(tb[MESHBLK_A_EVENT]);
	e->id = get_u32(tb[MESHBLK_A_TARGET_ID]);
	e->index = get_u32(tb[MESHBLK_A_INDEX]);
	e->version = get_u64(tb[MESHBLK_A_EPOCH]);
	e->attach = get_u64(tb[MESHBLK_A_ATTACH]);
	get_uuid(tb[MESHBLK_A_HOST_UUID], &e->host);
	e->place = get_u32(tb[MESHBLK_A_PLACE]);
	if (roster && nla_len(roster) == MESHBLK_ROSTER_BYTES)
		e->roster = nla_data(roster);
	get_uuid(tb[MESHBLK_A_VOLUME_UUID], &e->uuid);
	get_str(tb[MESHBLK_A_STATE], e->state, sizeof(e->state));
	e->error = get_s32(tb[MESHBLK_A_ERROR]);
	get_str(tb[MESHBLK_A_REASON], e->reason, sizeof(e->reason));
}

static void parse_tgt_event(struct nlattr **tb, struct mesh_event *e)
{
	e->target = true;
	e->event = get_u32(tb[MESHTGT_A_EVENT]);
	e->id = get_u32(tb[MESHTGT_A_SESSION]);
	get_uuid(tb[MESHTGT_A_DRIVE_UUID] ? tb[MESHTGT_A_DRIVE_UUID] : tb[MESHTGT_A_HOST_UUID],
		 &e->uuid);
	get_str(tb[MESHTGT_A_STATE], e->state, sizeof(e->state));
	get_str(tb[MESHTGT_A_PATH], e->reason, sizeof(e->reason));
}

static int on_event(struct nl_msg *msg, void *arg)
{
	struct listener *l = arg;
	struct nlmsghdr *h = nlmsg_hdr(msg);
	struct nlattr *tb[MESHBLK_A_MAX > MESHTGT_A_MAX ? MESHBLK_A_MAX + 1 : MESHTGT_A_MAX + 1];
	struct mesh_event e = { 0 };

	if (h->nlmsg_type == l->m->family[MESH_BLK]) {
		if (genlmsg_parse(h, 0, tb, MESHBLK_A_MAX, NULL) < 0)
			return NL_OK;
		parse_blk_event(tb, &e);
	} else if (h->nlmsg_type == l->m->family[MESH_TGT]) {
		if (genlmsg_parse(h, 0, tb, MESHTGT_A_MAX, NULL) < 0)
			return NL_OK;
		parse_tgt_event(tb, &e);
	}
	if (e.event)
		l->fn(l->priv, &e);
	return NL_OK;
}

int mesh_events_read(struct mesh *m, void (*fn)(void *priv, const struct mesh_event *e),
		     void *priv)
{
	struct listener l = { m, fn, priv };
	struct nl_cb *cb = mesh_cb(m);

	if (!cb)
		return -ENOMEM;
	nl_cb_set(cb, NL_CB_SEQ_CHECK, NL_CB_CUSTOM, own_seq, NULL);
	nl_cb_set(cb, NL_CB_VALID, NL_CB_CUSTOM, on_event, &l);
	nl_recvmsgs(m->sock, cb);
	nl_cb_put(cb);
	return 0;
}
