// SPDX-License-Identifier: GPL-2.0-only
/*
 * Messages that the kernel did not send: another socket of this machine sends everything that
 * libmesh parses. Each is received when the filter is taken away, so it is well made; with the
 * filter it is not. The kernel's generic netlink is real, the families are not there: nlctrl,
 * which is always there, stands for them.
 */
#include <keyutils.h>
#include <linux/capability.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include "tests/unit/suite.h"
#include "userspace/libmesh/secret.h"
/* The file itself: serve() is called without a family that would have to answer SERVE. */
#include "userspace/libmesh/serve.c"

#define FLOOD	200

enum layers {
	NONE,		/* no filter: the message must come through */
	RECEIVE,	/* the receive filter alone, as for what is multicast */
	ALL,
};

static struct nl_sock *foreign;
static int seen;

static struct mesh *opened(enum layers layers)
{
	struct sockaddr unspec = { .sa_family = AF_UNSPEC };
	struct mesh *m = mesh_open();
	struct nl_cb *cb;

	CU_ASSERT_FATAL(m != NULL);
	if (layers != ALL)
		CU_ASSERT_FATAL(!connect(nl_socket_get_fd(m->sock), &unspec, sizeof(unspec)));
	m->family[MESH_BLK] = GENL_ID_CTRL;
	m->family[MESH_TGT] = GENL_ID_CTRL + 1;
	cb = nl_socket_get_cb(m->sock);
	if (layers == NONE)
		nl_cb_overwrite_recv(cb, NULL);
	nl_cb_put(cb);
	return m;
}

static u32 next_seq(struct mesh *m)
{
	return nl_socket_use_seq(m->sock) + 1;
}

/* From the other socket to @m's, or, without @m, to all of @group. Return: 0, or an errno. */
static int forge_to(struct mesh *m, u32 group, struct nl_msg *msg)
{
	struct sockaddr_nl to = { .nl_family = AF_NETLINK, .nl_groups = group,
				  .nl_pid = m ? nl_socket_get_local_port(m->sock) : 0 };
	struct nlmsghdr *h = nlmsg_hdr(msg);
	int err;

	h->nlmsg_pid = 0;	/* as the kernel writes it: it proves nothing */
	err = sendto(nl_socket_get_fd(foreign), h, h->nlmsg_len, 0, (void *)&to, sizeof(to)) < 0 ?
		errno : 0;
	nlmsg_free(msg);
	return err;
}

static struct nl_msg *forged(struct mesh *m, enum mesh_family f, u8 cmd, u32 seq, int flags)
{
	struct nl_msg *msg = nlmsg_alloc();

	CU_ASSERT_FATAL(msg && genlmsg_put(msg, 0, seq, m->family[f], 0, flags, cmd, 1));
	return msg;
}

static void forge_error(struct mesh *m, int err)
{
	struct nl_msg *msg = nlmsg_alloc();
	struct nlmsgerr e = { .error = err };

	CU_ASSERT_FATAL(nlmsg_put(msg, 0, next_seq(m), NLMSG_ERROR, 0, 0) != NULL);
	CU_ASSERT_FATAL(!nlmsg_append(msg, &e, sizeof(e), NLMSG_ALIGNTO));
	CU_ASSERT(!forge_to(m, 0, msg));
}

static struct nl_msg *grant(struct mesh *m)
{
	struct nl_msg *msg = forged(m, MESH_TGT, MESHTGT_CMD_GRANT, 0, 0);

	nla_put_u64(msg, MESHTGT_A_REQUEST, 7);
	nla_put_u64(msg, MESHTGT_A_ATTACH, ~0ULL >> 1);
	return msg;
}

static struct nl_msg *note(struct mesh *m)
{
	struct nl_msg *msg = forged(m, MESH_BLK, MESHBLK_CMD_ROSTER_NOTE, 0, 0);

	nla_put_u32(msg, MESHBLK_A_PLACE, 0);
	return msg;
}

static struct nl_msg *blk_event(struct mesh *m)
{
	struct nl_msg *msg = forged(m, MESH_BLK, MESHBLK_CMD_EVENT, 0, 0);

	nla_put_u32(msg, MESHBLK_A_EVENT, MESHBLK_EV_VOLUME_STATE);
	return msg;
}

static struct nl_msg *tgt_event(struct mesh *m)
{
	struct nl_msg *msg = forged(m, MESH_TGT, MESHTGT_CMD_EVENT, 0, 0);

	nla_put_u32(msg, MESHTGT_A_EVENT, MESHTGT_EV_DRIVE_GONE);
	return msg;
}

static void count_grant(void *priv, struct meshtgt_grant *g)
{
	(void)priv;
	seen += g->request == 7;
}

static void count_note(void *priv, struct meshblk_note *n)
{
	(void)priv;
	(void)n;
	seen++;
}

static void count_event(void *priv, const struct mesh_event *e)
{
	(void)priv;
	seen += e->event != 0;
}

static void read_events(struct mesh *m)
{
	mesh_events_read(m, count_event, NULL);
}

/* A witness's thread, until it has read all there is. */
struct thread {
	struct mesh *m;
	int	stop;
	bool	grants;
};

static void *serving(void *arg)
{
	struct thread *t = arg;
	struct server s = { t->m, count_grant, NULL };

	if (t->grants)
		serve(t->m, t->stop, on_grant, &s, NULL);
	else
		meshblk_witness(t->m, t->stop, count_note, NULL);
	return NULL;
}

static void read_thread(struct mesh *m, bool grants)
{
	struct pollfd p = { .fd = nl_socket_get_fd(m->sock), .events = POLLIN };
	struct thread t = { m, -1, grants };
	pthread_t id;
	int fd[2];

	CU_ASSERT_FATAL(!pipe(fd));
	t.stop = fd[0];
	CU_ASSERT_FATAL(!pthread_create(&id, NULL, serving, &t));
	while (poll(&p, 1, 0) > 0)
		usleep(1000);
	CU_ASSERT_EQUAL(write(fd[1], "", 1), 1);
	pthread_join(id, NULL);
	close(fd[0]);
	close(fd[1]);
}

static void serve_grants(struct mesh *m)
{
	read_thread(m, true);
}

static void serve_notes(struct mesh *m)
{
	read_thread(m, false);
}

static const struct own {
	struct nl_msg *(*make)(struct mesh *m);
	void (*read)(struct mesh *m);
} own[] = {
	{ grant, serve_grants }, { note, serve_notes },
	{ blk_event, read_events }, { tgt_event, read_events },
};

/* What the kernel sends by itself. */
static void test_own(void)
{
	enum layers l;
	size_t i;

	for (i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		for (l = NONE; l <= ALL; l++) {
			struct mesh *m = opened(l);

			nl_socket_set_nonblocking(m->sock);
			seen = 0;
			CU_ASSERT_EQUAL(forge_to(m, 0, own[i].make(m)), l == ALL ? ECONNREFUSED : 0);
			own[i].read(m);
			CU_ASSERT_EQUAL(seen, l == NONE);
			mesh_close(m);
		}
}

/* Connected or not, a member of a group receives what anybody sends to that. */
static void test_multicast(void)
{
	enum layers l;

	for (l = NONE; l <= ALL; l++) {
		struct mesh *m = opened(l);

		CU_ASSERT_FATAL(!nl_socket_add_membership(m->sock, GENL_ID_CTRL));
		nl_socket_set_nonblocking(m->sock);
		seen = 0;
		CU_ASSERT_EQUAL(forge_to(NULL, 1 << (GENL_ID_CTRL - 1), blk_event(m)), 0);
		read_events(m);
		CU_ASSERT_EQUAL(seen, l == NONE);
		mesh_close(m);
	}
}

static int count(void *arg, struct nlattr **tb, struct nlmsghdr *h)
{
	(void)arg;
	(void)tb;
	(void)h;
	seen++;
	return 0;
}

/* A request that the kernel refuses, and one that it answers with one message. */
static int refused(struct mesh *m)
{
	int err;
	struct nl_msg *msg = mesh_msg(m, MESH_BLK, 200, 0, 0, &err);

	return mesh_call(m, MESH_BLK, msg, count, NULL);
}

static int answered(struct mesh *m)
{
	int err;
	struct nl_msg *msg = mesh_msg(m, MESH_BLK, CTRL_CMD_GETFAMILY, 0, 0, &err);

	nla_put_u16(msg, CTRL_ATTR_FAMILY_ID, GENL_ID_CTRL);
	return mesh_call(m, MESH_BLK, msg, count, NULL);
}

static int dumped(struct mesh *m)
{
	struct mesh_list l;

	return mesh_dump(m, MESH_BLK, CTRL_CMD_GETFAMILY, count, &l);
}

/* The answers to a request, each with its sequence. */
static void test_ack(void)
{
	struct mesh *m = opened(NONE);

	forge_error(m, 0);
	CU_ASSERT_EQUAL(refused(m), 0);
	mesh_close(m);
	m = opened(RECEIVE);
	forge_error(m, 0);
	CU_ASSERT_EQUAL(refused(m), -EOPNOTSUPP);
	mesh_close(m);
}

static void test_error(void)
{
	struct mesh *m = opened(NONE);

	forge_error(m, -ENOSPC);
	CU_ASSERT_EQUAL(answered(m), -ENOSPC);
	mesh_close(m);
	m = opened(RECEIVE);
	forge_error(m, -ENOSPC);
	seen = 0;
	CU_ASSERT(!answered(m) && seen == 1);
	mesh_close(m);
}

static void test_dump(void)
{
	struct mesh *m = opened(ALL);
	struct nl_msg *msg;
	enum layers l;
	int families;

	seen = 0;
	CU_ASSERT(!dumped(m) && seen > 0);
	families = seen;
	mesh_close(m);
	for (l = NONE; l < ALL; l++) {
		m = opened(l);
		msg = forged(m, MESH_BLK, CTRL_CMD_NEWFAMILY, next_seq(m), NLM_F_MULTI);
		CU_ASSERT(!forge_to(m, 0, msg));
		seen = 0;
		CU_ASSERT(!dumped(m));
		CU_ASSERT_EQUAL(seen, families + (l == NONE));
		mesh_close(m);
	}
}

/* An end that comes too early. */
static void test_done(void)
{
	enum layers l;

	for (l = NONE; l < ALL; l++) {
		struct mesh *m = opened(l);
		struct nl_msg *msg = nlmsg_alloc();
		int err = 0;

		CU_ASSERT_FATAL(nlmsg_put(msg, 0, next_seq(m), NLMSG_DONE, 0, NLM_F_MULTI) != NULL);
		nlmsg_append(msg, &err, sizeof(err), NLMSG_ALIGNTO);
		CU_ASSERT(!forge_to(m, 0, msg));
		seen = 0;
		CU_ASSERT(!dumped(m) && !seen == (l == NONE));
		mesh_close(m);
	}
}

/* The number of a family that is not there. */
static void test_resolve(void)
{
	enum layers l;

	for (l = NONE; l < ALL; l++) {
		struct mesh *m = opened(l);
		struct nl_msg *msg = forged(m, MESH_BLK, CTRL_CMD_NEWFAMILY, next_seq(m), 0);

		nla_put_u16(msg, CTRL_ATTR_FAMILY_ID, 77);
		nla_put_string(msg, CTRL_ATTR_FAMILY_NAME, MESHBLK_GENL_NAME);
		m->family[MESH_BLK] = 0;
		CU_ASSERT(!forge_to(m, 0, msg));
		CU_ASSERT_EQUAL(mesh_family_id(m, false), l == NONE ? 77 : 0);
		mesh_close(m);
	}
}

/* Many that are skipped do not hide the kernel's answer behind them. */
static void test_flood(void)
{
	struct mesh *m = opened(RECEIVE);
	int i;

	for (i = 0; i < FLOOD; i++)
		CU_ASSERT(!forge_to(m, 0, grant(m)));
	seen = 0;
	CU_ASSERT(!answered(m) && seen == 1);
	mesh_close(m);
}

static void may(bool admin)
{
	struct __user_cap_header_struct h = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct d[2];

	CU_ASSERT_FATAL(!syscall(SYS_capget, &h, d));
	if (admin)
		d[0].effective |= 1u << CAP_NET_ADMIN;
	else
		d[0].effective &= ~(1u << CAP_NET_ADMIN);
	CU_ASSERT_FATAL(!syscall(SYS_capset, &h, d));
}

/* Without CAP_NET_ADMIN Linux sends to the kernel alone, and not to groups. */
static void test_unprivileged(void)
{
	struct mesh *m = opened(NONE);
	size_t i;

	may(false);
	for (i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		CU_ASSERT_EQUAL(forge_to(m, 0, own[i].make(m)), EPERM);
	CU_ASSERT_EQUAL(forge_to(NULL, 1 << (GENL_ID_CTRL - 1), blk_event(m)), EPERM);
	may(true);
	mesh_close(m);
}

static void key_is(struct nlmsghdr *h, int attr, u16 id, const char *name)
{
	struct nlattr *a = nlmsg_find_attr(h, 0, attr), *serial = nlmsg_find_attr(h, 0, attr + 1);
	char *text = NULL;

	CU_ASSERT_FATAL(a && serial && nla_get_u16(a) == id);
	CU_ASSERT_FATAL(keyctl_describe_alloc(nla_get_s32(serial), &text) > 0);
	CU_ASSERT(!strncmp(text, "logon;", 6) && !strcmp(strrchr(text, ';') + 1, name));
	free(text);
}

/* A message names keys by what they are for, and this host's role beside those that have one. */
static void test_keys(void)
{
	static const struct mesh_key shared = { .id = 7, .key = "0123456789abcdef", .len = 16 },
		master = { .id = 65535, .key = "0123456789abcdef0123456789abcdef", .len = 32,
			   .kind = MESH_KEY_MASTER, .role = MESHBLK_HOST_STORE },
		own = { .id = 9, .key = "0123456789abcdef0123456789abcdef", .len = 32,
			.kind = MESH_KEY_OWN, .role = MESHBLK_HOST_CLIENT };
	static const struct {
		struct mesh_key keys[2];
		const char *name[2];
		u8 role;
	} all[] = {
		{ { shared, master }, { "meshblk:key:7", "meshblk:master:65535" }, MESHBLK_HOST_STORE },
		{ { own, shared }, { "meshblk:own:9", "meshblk:key:7" }, MESHBLK_HOST_CLIENT },
		{ { shared, shared }, { "meshblk:key:7", "meshblk:key:7" }, 0 },
	};
	struct mesh *m = opened(ALL);

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		struct nl_msg *msg = nlmsg_alloc();
		struct nlmsghdr *h = nlmsg_put(msg, 0, 0, 0, 0, 0);
		struct nlattr *role;

		CU_ASSERT_EQUAL(put_keys(m, msg, MESHTGT_A_KEY_ID, all[i].keys, 2), 0);
		key_is(h, MESHTGT_A_KEY_ID, all[i].keys[0].id, all[i].name[0]);
		key_is(h, MESHTGT_A_KEY_ID2, all[i].keys[1].id, all[i].name[1]);
		role = nlmsg_find_attr(h, 0, MESHTGT_A_HOST_ROLE);
		CU_ASSERT(all[i].role ? role && nla_get_u8(role) == all[i].role : !role);
		keyctl_clear(KEY_SPEC_THREAD_KEYRING);
		nlmsg_free(msg);
	}
	mesh_close(m);
}

int main(void)
{
	static const struct suite_test tests[] = {
		{ "names of keys, and the role", test_keys },
		{ "messages that the kernel sends by itself", test_own },
		{ "multicast by others", test_multicast },
		{ "a forged acknowledgment", test_ack },
		{ "a forged error", test_error },
		{ "a forged answer in a dump", test_dump },
		{ "a forged end of a dump", test_done },
		{ "a forged family", test_resolve },
		{ "many forged messages", test_flood },
		{ "without CAP_NET_ADMIN", test_unprivileged },
		{ NULL, NULL },
	};

	/* Groups of its own, and the right to send there. */
	if (unshare(CLONE_NEWNET) && unshare(CLONE_NEWUSER | CLONE_NEWNET)) {
		perror("a network namespace for test_genl");
		return 1;
	}
	foreign = nl_socket_alloc();
	if (!foreign || genl_connect(foreign))
		return 1;
	return suite_main("genl", tests);
}
