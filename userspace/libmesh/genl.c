// SPDX-License-Identifier: GPL-2.0-only
/* One generic netlink socket: requests, answers, and the kernel's error texts. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "userspace/libmesh/genl.h"

static const char *const family_name[] = { MESHBLK_GENL_NAME, MESHTGT_GENL_NAME };

/* The kernel makes it twice that; FOREIGN_MAX is more messages than it then holds. */
#define MESH_RCVBUF	(4 << 20)
#define FOREIGN_MAX	(2 * MESH_RCVBUF / 256)

/*
 * The kernel's messages alone are received: CAP_NET_ADMIN lets any process send to this
 * socket, with any type and sequence. An answer of the kernel is in the queue when its request
 * has been sent, so it is behind at most FOREIGN_MAX others, however many more arrive.
 */
static int recv_from_kernel(struct nl_sock *sk, struct sockaddr_nl *from, unsigned char **buf,
			    struct ucred **creds)
{
	int i, n;

	for (i = 0; i < FOREIGN_MAX; i++) {
		n = nl_recv(sk, from, buf, creds);
		if (n <= 0 || !from->nl_pid)
			return n;
		free(*buf);
		*buf = NULL;
	}
	return 0;
}

/* Every callback set is a copy of the socket's, which has recv_from_kernel(). */
struct nl_cb *mesh_cb(struct mesh *m)
{
	struct nl_cb *cb = nl_socket_get_cb(m->sock), *copy = nl_cb_clone(cb);

	nl_cb_put(cb);
	return copy;
}

static void filter(struct nl_sock *sk)
{
	struct nl_cb *cb = nl_socket_get_cb(sk);

	nl_cb_overwrite_recv(cb, recv_from_kernel);
	nl_cb_put(cb);
}

struct mesh *mesh_open(void)
{
	struct mesh *m = calloc(1, sizeof(*m));
	struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };
	int one = 1, bytes = MESH_RCVBUF;

	if (!m)
		return NULL;
	pthread_mutex_init(&m->send_lock, NULL);
	m->sock = nl_socket_alloc();
	if (!m->sock || genl_connect(m->sock)) {
		mesh_close(m);
		return NULL;
	}
	filter(m->sock);
	/* Connected to the kernel, others cannot fill the queue either, but by multicast. */
	if (connect(nl_socket_get_fd(m->sock), (void *)&kernel, sizeof(kernel))) {
		mesh_close(m);
		return NULL;
	}
	nl_socket_set_buffer_size(m->sock, MESH_RCVBUF, MESH_RCVBUF);
	/* rmem_max would cut that to less than one long message. */
	setsockopt(nl_socket_get_fd(m->sock), SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof(bytes));
	/* A message that does not fit is refused: the table of a drive of 4000 extents has megabytes. */
	setsockopt(nl_socket_get_fd(m->sock), SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof(bytes));
	setsockopt(nl_socket_get_fd(m->sock), SOL_NETLINK, NETLINK_EXT_ACK, &one, sizeof(one));
	nl_socket_set_msg_buf_size(m->sock, MESH_MSG_MAX);
	nl_socket_disable_auto_ack(m->sock);
	return m;
}

void mesh_close(struct mesh *m)
{
	if (!m)
		return;
	if (m->sock)
		nl_socket_free(m->sock);
	pthread_mutex_destroy(&m->send_lock);
	free(m);
}

const char *mesh_why(const struct mesh *m)
{
	return m->why;
}

static int fail(struct mesh *m, int err)
{
	snprintf(m->why, sizeof(m->why), "%s", strerror(-err));
	return err;
}

static int family(struct mesh *m, enum mesh_family f)
{
	int id;

	if (m->family[f])
		return m->family[f];
	id = genl_ctrl_resolve(m->sock, family_name[f]);
	if (id < 0) {
		snprintf(m->why, sizeof(m->why), "kernel module %s is not loaded", family_name[f]);
		return -ENOENT;
	}
	return m->family[f] = id;
}

int mesh_family_id(struct mesh *m, bool target)
{
	int id = family(m, target ? MESH_TGT : MESH_BLK);

	return id < 0 ? 0 : id;
}

struct nl_msg *mesh_msg(struct mesh *m, enum mesh_family f, u8 cmd, int flags, size_t bytes,
			int *err)
{
	struct nl_msg *msg;
	int id = family(m, f);

	*err = id < 0 ? id : -ENOMEM;
	if (id < 0)
		return NULL;
	msg = nlmsg_alloc_size(NLMSG_ALIGN(bytes) + 4096);
	if (msg && !genlmsg_put(msg, NL_AUTO_PORT, NL_AUTO_SEQ, id, 0, flags | NLM_F_REQUEST, cmd, 1)) {
		nlmsg_free(msg);
		msg = NULL;
	}
	if (!msg)
		fail(m, -ENOMEM);
	return msg;
}

struct call {
	struct mesh *m;
	enum mesh_family family;
	mesh_parse_fn fn;
	void *arg;
	int err;
	bool done;
};

static int on_valid(struct nl_msg *msg, void *arg)
{
	struct nlattr *tb[MESHBLK_A_MAX > MESHTGT_A_MAX ? MESHBLK_A_MAX + 1 : MESHTGT_A_MAX + 1];
	struct call *c = arg;
	int max = c->family == MESH_BLK ? MESHBLK_A_MAX : MESHTGT_A_MAX;

	if (!c->fn || c->err)
		return NL_OK;
	if (genlmsg_parse(nlmsg_hdr(msg), 0, tb, max, NULL) < 0)
		c->err = fail(c->m, -EPROTO);
	else
		c->err = c->fn(c->arg, tb, nlmsg_hdr(msg));
	return NL_OK;
}

static int on_end(struct nl_msg *msg, void *arg)
{
	struct call *c = arg;

	(void)msg;
	c->done = true;
	return NL_STOP;
}

/* The text of an extended acknowledgment, behind the message it refuses. */
static void ext_ack(struct call *c, struct nlmsgerr *e)
{
	struct nlmsghdr *h = (void *)((char *)e - NLMSG_HDRLEN);
	size_t at = sizeof(*e);
	struct nlattr *a;
	int left;

	if (!(h->nlmsg_flags & NLM_F_ACK_TLVS))
		return;
	if (!(h->nlmsg_flags & NLM_F_CAPPED))
		at += e->msg.nlmsg_len - NLMSG_HDRLEN;
	left = (int)h->nlmsg_len - NLMSG_HDRLEN - (int)NLMSG_ALIGN(at);
	if (left <= 0)
		return;
	a = nla_find((void *)((char *)e + NLMSG_ALIGN(at)), left, NLMSGERR_ATTR_MSG);
	if (a)
		snprintf(c->m->why, sizeof(c->m->why), "%.*s", nla_len(a), (char *)nla_data(a));
}

static int on_error(struct sockaddr_nl *who, struct nlmsgerr *e, void *arg)
{
	struct call *c = arg;

	(void)who;
	c->done = true;
	if (!c->err && e->error) {
		c->err = fail(c->m, e->error);
		ext_ack(c, e);
	}
	return NL_STOP;
}

int mesh_call(struct mesh *m, enum mesh_family f, struct nl_msg *msg, mesh_parse_fn fn, void *arg)
{
	struct call c = { .m = m, .family = f, .fn = fn, .arg = arg };
	struct nl_cb *cb = mesh_cb(m);
	int err;

	m->why[0] = 0;
	if (!cb) {
		nlmsg_free(msg);
		return fail(m, -ENOMEM);
	}
	nlmsg_hdr(msg)->nlmsg_flags |= NLM_F_ACK;
	err = nl_send_auto(m->sock, msg);
	nlmsg_free(msg);
	nl_cb_set(cb, NL_CB_VALID, NL_CB_CUSTOM, on_valid, &c);
	nl_cb_set(cb, NL_CB_FINISH, NL_CB_CUSTOM, on_end, &c);
	nl_cb_set(cb, NL_CB_ACK, NL_CB_CUSTOM, on_end, &c);
	nl_cb_err(cb, NL_CB_CUSTOM, on_error, &c);
	while (err >= 0 && !c.done)
		err = nl_recvmsgs(m->sock, cb);
	nl_cb_put(cb);
	if (c.err)
		return c.err;
	/* A family that went away with its module comes back under a new id. */
	if (err < 0 && !c.done) {
		m->family[f] = 0;
		snprintf(m->why, sizeof(m->why), "netlink: %s", nl_geterror(err));
		return -EIO;
	}
	return 0;
}

int mesh_dump(struct mesh *m, enum mesh_family f, u8 cmd, mesh_parse_fn fn, struct mesh_list *l)
{
	struct nl_msg *msg;
	int err;

	*l = (struct mesh_list) { NULL, 0 };
	msg = mesh_msg(m, f, cmd, NLM_F_DUMP, 0, &err);
	return msg ? mesh_call(m, f, msg, fn, l) : err;
}

void put_uuid(struct nl_msg *msg, int attr, const struct muuid *u)
{
	nla_put(msg, attr, sizeof(u->b), u->b);
}

void get_uuid(const struct nlattr *a, struct muuid *u)
{
	memset(u, 0, sizeof(*u));
	if (a && nla_len(a) == sizeof(u->b))
		memcpy(u->b, nla_data(a), sizeof(u->b));
}

void get_str(const struct nlattr *a, char *out, size_t size)
{
	out[0] = 0;
	if (a)
		nla_strlcpy(out, a, size);
}

u32 get_u32(const struct nlattr *a)
{
	if (a && nla_len(a) == 2)
		return nla_get_u16(a);
	if (a && nla_len(a) == 1)
		return nla_get_u8(a);
	return a && nla_len(a) >= 4 ? nla_get_u32(a) : 0;
}

u64 get_u64(const struct nlattr *a)
{
	return a && nla_len(a) >= 8 ? nla_get_u64(a) : get_u32(a);
}

s32 get_s32(const struct nlattr *a)
{
	return (s32)get_u32(a);
}

bool get_roster(const struct nlattr *a, u8 out[MESHBLK_ROSTER_BYTES])
{
	if (!a || nla_len(a) != MESHBLK_ROSTER_BYTES)
		return false;
	memcpy(out, nla_data(a), MESHBLK_ROSTER_BYTES);
	return true;
}

void get_stats(struct nlattr *a, struct mesh_stats *s)
{
	struct nlattr *n;
	int left;

	memset(s, 0, sizeof(*s));
	if (!a)
		return;
	nla_for_each_nested(n, a, left)
		if (nla_type(n) <= MESHBLK_S_MAX) {
			s->v[nla_type(n)] = get_u64(n);
			s->kept |= 1u << nla_type(n);
		}
}

struct nlattr *table_piece(struct nl_msg *msg, struct nlattr *table, int attr, u32 i)
{
	if (table && i % MESH_TABLE_PIECE)
		return table;
	if (table)
		nla_nest_end(msg, table);
	return nla_nest_start(msg, NLA_F_NESTED | attr);
}

static const char *const stat_names[] = {
	[MESHBLK_S_READS] = "reads",
	[MESHBLK_S_READ_BYTES] = "read_bytes",
	[MESHBLK_S_WRITES] = "writes",
	[MESHBLK_S_WRITE_BYTES] = "write_bytes",
	[MESHBLK_S_DISCARDS] = "discards",
	[MESHBLK_S_ERRORS] = "errors",
	[MESHBLK_S_RETRIES] = "retries",
	[MESHBLK_S_INFLIGHT] = "inflight",
	[MESHBLK_S_RDMA_SENDS] = "rdma_sends",
	[MESHBLK_S_RDMA_WRITES] = "rdma_writes",
	[MESHBLK_S_RDMA_READS] = "rdma_reads",
	[MESHBLK_S_PUSHES] = "pushes",
	[MESHBLK_S_COMMANDS] = "commands",
	[MESHBLK_S_RECONNECTS] = "reconnects",
	[MESHBLK_S_RDMA_WRITE_BYTES] = "rdma_write_bytes",
	[MESHBLK_S_STAGED] = "staged",
	[MESHBLK_S_STALE] = "stale",
	[MESHBLK_S_RDMA_INLINES] = "rdma_inlines",
};

const char *mesh_stat_name(unsigned int s)
{
	return s <= MESHBLK_S_MAX ? stat_names[s] : NULL;
}
