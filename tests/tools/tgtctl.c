// SPDX-License-Identifier: GPL-2.0-only
/*
 * tgtctl: drive meshtgt's netlink family from a test, without meshd.
 *
 *   identity UUID [KEYID KEYHEX [KEYID2 KEYHEX2]] [role=N] [removed=[UUID[+UUID...]]]
 *                                    KEYID: 7, master:7 or own:7
 *   listen ADDR [PORT]
 *   add UUID PATH [EXTENT...]        EXTENT: UUID,START,LENGTH[,ready][,epoch=N][,holder=UUID]
 *                                    [,attach=N,attacher=UUID][,allow=all|none|UUID[+UUID...]]
 *   del UUID [force|gone]
 *   table UUID [EXTENT...]
 *   drives | sessions                one line each
 *   fence SESSION
 *   serve [refuse|silent]            answers GRANT
 *   events                           prints events
 */
#include <errno.h>
#include <inttypes.h>
#include <netlink/genl/ctrl.h>
#include <netlink/genl/genl.h>
#include <netlink/netlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver/uapi/meshblk.h"
#include "tests/tools/secret.h"

static struct nl_sock *sk;
static int family;

static void die(const char *what, int err)
{
	fprintf(stderr, "tgtctl: %s: %s\n", what, err ? nl_geterror(err) : "bad argument");
	exit(1);
}

static int hex(const char *s, uint8_t *out, size_t max)
{
	size_t n = 0;
	unsigned int b;

	for (; *s && n < max; s += 2) {
		if (*s == '-')
			s++;
		if (sscanf(s, "%2x", &b) != 1)
			return -1;
		out[n++] = b;
	}
	return *s ? -1 : (int)n;
}

static void put_uuid(struct nl_msg *m, int attr, const char *s)
{
	uint8_t u[16];

	if (hex(s, u, 16) != 16)
		die(s, 0);
	nla_put(m, attr, 16, u);
}

static void print_uuid(const struct nlattr *a)
{
	const uint8_t *u = nla_data(a);
	int i;

	for (i = 0; i < 16; i++)
		printf("%02x%s", u[i], i == 3 || i == 5 || i == 7 || i == 9 ? "-" : "");
}

static struct nl_msg *msg_new(int cmd, int flags)
{
	struct nl_msg *m = nlmsg_alloc_size(1 << 20);

	if (!m || !genlmsg_put(m, NL_AUTO_PORT, NL_AUTO_SEQ, family, 0, flags, cmd,
			       MESHTGT_GENL_VERSION))
		die("memory", -NLE_NOMEM);
	return m;
}

/* Of the last message: not on a stack, since "serve" goes on to receive its answers. */
static int failed;
static int done;
static int steps;	/* how often it may be sent yet */

/* The kernel's own words, when it has some. */
static int on_error(struct sockaddr_nl *who, struct nlmsgerr *e, void *arg)
{
	const struct nlmsghdr *h = (const struct nlmsghdr *)e - 1;
	size_t off = sizeof(*h) + sizeof(*e);
	const struct nlattr *a;
	int rem;

	(void)who;
	(void)arg;
	failed = e->error;
	if (failed == -EINPROGRESS && steps > 1)	/* sent again */
		return NL_STOP;
	if (!(h->nlmsg_flags & NLM_F_CAPPED))
		off += e->msg.nlmsg_len - sizeof(e->msg);
	fprintf(stderr, "tgtctl: %s", strerror(-e->error));
	if (h->nlmsg_flags & NLM_F_ACK_TLVS) {
		rem = h->nlmsg_len - off;
		nla_for_each_attr(a, (struct nlattr *)((char *)h + off), rem, rem)
			if (nla_type(a) == NLMSGERR_ATTR_MSG)
				fprintf(stderr, ": %s", (char *)nla_data(a));
	}
	fprintf(stderr, "\n");
	return NL_STOP;
}

static int on_done(struct nl_msg *m, void *arg)
{
	(void)m;
	(void)arg;
	done = 1;
	return NL_STOP;
}

/* Waits as long as the kernel does, half a minute for a device: in TGTCTL_STEPS, or 6, of 5 s. */
static int send_wait(struct nl_msg *m)
{
	struct nl_cb *cb = nl_socket_get_cb(sk);
	const char *most = getenv("TGTCTL_STEPS");
	int ret;

	steps = most ? atoi(most) : 6;
again:
	failed = 0;
	nlmsg_hdr(m)->nlmsg_seq = NL_AUTO_SEQ;
	nl_cb_err(cb, NL_CB_CUSTOM, on_error, NULL);
	nl_cb_set(cb, NL_CB_ACK, NL_CB_CUSTOM, on_done, NULL);
	nl_cb_set(cb, NL_CB_FINISH, NL_CB_CUSTOM, on_done, NULL);
	ret = nl_send_auto(sk, m);
	if (ret < 0)
		die("send", ret);
	for (done = 0; !done && !failed;) {
		ret = nl_recvmsgs(sk, cb);
		if (ret < 0 && !failed)
			die("receive", ret);
	}
	if (failed == -EINPROGRESS && --steps)
		goto again;
	nlmsg_free(m);
	nl_cb_put(cb);
	return failed ? 1 : 0;
}

static void put_allow(struct nl_msg *m, char *list)
{
	uint8_t host[2 * MESHTGT_ALLOW_MAX][16];
	char *at = list, *one;
	size_t n = 0;

	if (!strcmp(list, "all")) {
		nla_put_flag(m, MESHTGT_X_ALLOW_ALL);
		return;
	}
	while (strcmp(list, "none") && (one = strsep(&at, "+")))
		if (n == 2 * MESHTGT_ALLOW_MAX || hex(one, host[n++], 16) != 16)
			die(one, 0);
	nla_put(m, MESHTGT_X_ALLOW, n * 16, host);
}

static void put_removed(struct nl_msg *m, char *list)
{
	uint8_t hosts[64 * 16];
	char *one;
	int n = 0, len;

	/* as many bytes as are given: the kernel is to refuse what is no UUID */
	while (list && *list && (one = strsep(&list, "+"))) {
		len = n + 16 > (int)sizeof(hosts) ? -1 : hex(one, hosts + n, 16);
		if (len < 0)
			die(one, 0);
		n += len;
	}
	nla_put(m, MESHTGT_A_REMOVED, n, hosts);
}

static void put_extent(struct nl_msg *m, char *spec)
{
	struct nlattr *one = nla_nest_start(m, MESHTGT_A_EXTENT);
	char *uuid = strtok(spec, ","), *start = strtok(NULL, ","), *len = strtok(NULL, ","), *o;

	if (!one || !uuid || !start || !len)
		die("extent", 0);
	put_uuid(m, MESHTGT_X_UUID, uuid);
	nla_put_u64(m, MESHTGT_X_START, strtoull(start, NULL, 0));
	nla_put_u64(m, MESHTGT_X_LENGTH, strtoull(len, NULL, 0));
	while ((o = strtok(NULL, ","))) {
		if (!strcmp(o, "ready"))
			nla_put_flag(m, MESHTGT_X_READY);
		else if (!strncmp(o, "epoch=", 6))
			nla_put_u64(m, MESHTGT_X_EPOCH, strtoull(o + 6, NULL, 0));
		else if (!strncmp(o, "holder=", 7))
			put_uuid(m, MESHTGT_X_HOLDER, o + 7);
		else if (!strncmp(o, "attach=", 7))
			nla_put_u64(m, MESHTGT_X_ATTACH, strtoull(o + 7, NULL, 0));
		else if (!strncmp(o, "attacher=", 9))
			put_uuid(m, MESHTGT_X_ATTACHER, o + 9);
		else if (!strncmp(o, "allow=", 6))
			put_allow(m, o + 6);
		else
			die(o, 0);
	}
	nla_nest_end(m, one);
}

static void put_extents(struct nl_msg *m, int n, char **spec)
{
	struct nlattr *all = nla_nest_start(m, MESHTGT_A_EXTENTS);
	int i;

	for (i = 0; i < n; i++) {
		if (i && i % 400 == 0) {	/* an attribute has less than 64 KiB */
			nla_nest_end(m, all);
			all = nla_nest_start(m, MESHTGT_A_EXTENTS);
		}
		put_extent(m, spec[i]);
	}
	nla_nest_end(m, all);
}

static void print_stats(struct nlattr *nest)
{
	static const char *const name[MESHBLK_S_MAX + 1] = {
		[MESHBLK_S_READS] = "reads", [MESHBLK_S_WRITES] = "writes",
		[MESHBLK_S_ERRORS] = "errors", [MESHBLK_S_RDMA_SENDS] = "sends",
		[MESHBLK_S_PUSHES] = "pushes", [MESHBLK_S_COMMANDS] = "commands",
	};
	struct nlattr *a;
	int rem;

	nla_for_each_nested(a, nest, rem)
		if (nla_type(a) <= MESHBLK_S_MAX && name[nla_type(a)])
			printf(" %s=%" PRIu64, name[nla_type(a)], nla_get_u64(a));
}

static void print_extents(struct nlattr *nest)
{
	struct nlattr *one, *x[MESHTGT_X_MAX + 1];
	int rem;

	nla_for_each_nested(one, nest, rem) {
		if (nla_parse_nested(x, MESHTGT_X_MAX, one, NULL))
			continue;
		printf("\n  extent=");
		print_uuid(x[MESHTGT_X_UUID]);
		printf(" start=%" PRIu64 " length=%" PRIu64 " epoch=%" PRIu64 " opens=%u holder=",
		       nla_get_u64(x[MESHTGT_X_START]), nla_get_u64(x[MESHTGT_X_LENGTH]),
		       nla_get_u64(x[MESHTGT_X_EPOCH]), nla_get_u32(x[MESHTGT_X_OPENS]));
		print_uuid(x[MESHTGT_X_HOLDER]);
		printf(" attach=%#" PRIx64 " attacher=", nla_get_u64(x[MESHTGT_X_ATTACH]));
		print_uuid(x[MESHTGT_X_ATTACHER]);
		printf(" writers=%u readers=%u", nla_get_u32(x[MESHTGT_X_WRITERS]),
		       nla_get_u32(x[MESHTGT_X_READERS]));
	}
}

static int on_print(struct nl_msg *m, void *arg)
{
	struct nlattr *a[MESHTGT_A_MAX + 1];

	(void)arg;
	if (genlmsg_parse(nlmsg_hdr(m), 0, a, MESHTGT_A_MAX, NULL))
		return NL_OK;
	if (a[MESHTGT_A_EVENT])
		printf("event=%u ", nla_get_u32(a[MESHTGT_A_EVENT]));
	if (a[MESHTGT_A_SESSION])
		printf("session=%u ", nla_get_u32(a[MESHTGT_A_SESSION]));
	if (a[MESHTGT_A_HOST_UUID]) {
		printf("host=");
		print_uuid(a[MESHTGT_A_HOST_UUID]);
	}
	if (a[MESHTGT_A_HOST_ROLE])
		printf(" role=%u", nla_get_u8(a[MESHTGT_A_HOST_ROLE]));
	if (a[MESHTGT_A_DRIVE_UUID]) {
		printf("drive=");
		print_uuid(a[MESHTGT_A_DRIVE_UUID]);
	}
	if (a[MESHTGT_A_PATH])
		printf(" path=%s", nla_get_string(a[MESHTGT_A_PATH]));
	if (a[MESHTGT_A_STATE])
		printf(" state=%s", nla_get_string(a[MESHTGT_A_STATE]));
	if (a[MESHTGT_A_CHANNELS])
		printf(" channels=%u", nla_get_u32(a[MESHTGT_A_CHANNELS]));
	if (a[MESHTGT_A_MEMORY])
		printf(" memory=%" PRIu64, nla_get_u64(a[MESHTGT_A_MEMORY]));
	if (a[MESHTGT_A_STATS])
		print_stats(a[MESHTGT_A_STATS]);
	if (a[MESHTGT_A_EXTENTS])
		print_extents(a[MESHTGT_A_EXTENTS]);
	printf("\n");
	fflush(stdout);
	return NL_OK;
}

static int dump(int cmd)
{
	nl_socket_modify_cb(sk, NL_CB_VALID, NL_CB_CUSTOM, on_print, NULL);
	return send_wait(msg_new(cmd, NLM_F_DUMP));
}

static const char *mode = "";

static int on_grant(struct nl_msg *m, void *arg)
{
	struct nlattr *a[MESHTGT_A_MAX + 1];
	struct nl_msg *r;

	(void)arg;
	if (genlmsg_parse(nlmsg_hdr(m), 0, a, MESHTGT_A_MAX, NULL) || !a[MESHTGT_A_REQUEST])
		return NL_OK;
	printf("grant request=%" PRIu64 " attach=%#" PRIx64 "%s\n", nla_get_u64(a[MESHTGT_A_REQUEST]),
	       nla_get_u64(a[MESHTGT_A_ATTACH]), a[MESHTGT_A_NUMBERED] ? " numbered" : "");
	fflush(stdout);
	if (!strcmp(mode, "silent"))
		return NL_OK;
	r = msg_new(MESHTGT_CMD_GRANT_REPLY, 0);
	nla_put_u64(r, MESHTGT_A_REQUEST, nla_get_u64(a[MESHTGT_A_REQUEST]));
	nla_put_s32(r, MESHTGT_A_ERROR, strcmp(mode, "refuse") ? 0 : -ESTALE);
	nl_send_auto(sk, r);
	nlmsg_free(r);
	return NL_OK;
}

static int forever(nl_recvmsg_msg_cb_t fn)
{
	nl_socket_disable_seq_check(sk);
	nl_socket_modify_cb(sk, NL_CB_VALID, NL_CB_CUSTOM, fn, NULL);
	for (;;)
		nl_recvmsgs_default(sk);
	return 0;
}

static int serve(int argc, char **argv)
{
	mode = argc ? argv[0] : "";
	if (send_wait(msg_new(MESHTGT_CMD_SERVE, NLM_F_ACK)))
		return 1;
	printf("serving\n");
	fflush(stdout);
	return forever(on_grant);
}

static int events(void)
{
	int group = genl_ctrl_resolve_grp(sk, MESHTGT_GENL_NAME, MESHTGT_GENL_EVENTS);

	if (group < 0 || nl_socket_add_membership(sk, group))
		die("events", group);
	return forever(on_print);
}

static int identity(int argc, char **argv)
{
	struct nl_msg *m = msg_new(MESHTGT_CMD_IDENTITY_SET, NLM_F_ACK);
	uint8_t key[64];
	int i, n;

	put_uuid(m, MESHTGT_A_HOST_UUID, argv[0]);
	if (!strncmp(argv[argc - 1], "removed=", 8))
		put_removed(m, argv[--argc] + 8);
	if (sscanf(argv[argc - 1], "role=%d", &n) == 1)
		nla_put_u8(m, MESHTGT_A_HOST_ROLE, n);
	for (i = 1; i + 1 < argc && i < 5; i += 2) {
		const char *id = argv[i], *kind = key_kind(&id);

		n = hex(argv[i + 1], key, sizeof(key));
		if (n < 0)
			die(argv[i + 1], 0);
		nla_put_u16(m, i == 1 ? MESHTGT_A_KEY_ID : MESHTGT_A_KEY_ID2, atoi(id));
		if (!put_secret(m, i == 1 ? MESHTGT_A_KEY_SERIAL : MESHTGT_A_KEY_SERIAL2,
				kind, id, key, n))
			die("add_key", 0);
	}
	return send_wait(m);
}

static int run(const char *verb, int argc, char **argv)
{
	struct nl_msg *m;

	if (!strcmp(verb, "drives"))
		return dump(MESHTGT_CMD_DRIVE_GET);
	if (!strcmp(verb, "sessions"))
		return dump(MESHTGT_CMD_SESSION_GET);
	if (!strcmp(verb, "serve"))
		return serve(argc, argv);
	if (!strcmp(verb, "events"))
		return events();
	if (argc < 1)
		die(verb, 0);
	if (!strcmp(verb, "identity"))
		return identity(argc, argv);
	if (!strcmp(verb, "listen")) {
		m = msg_new(MESHTGT_CMD_LISTEN, NLM_F_ACK);
		nla_put_string(m, MESHTGT_A_ADDR, argv[0]);
		if (argc > 1)
			nla_put_u16(m, MESHTGT_A_PORT, atoi(argv[1]));
		return send_wait(m);
	}
	if (!strcmp(verb, "add") && argc > 1) {
		m = msg_new(MESHTGT_CMD_DRIVE_ADD, NLM_F_ACK);
		put_uuid(m, MESHTGT_A_DRIVE_UUID, argv[0]);
		nla_put_string(m, MESHTGT_A_PATH, argv[1]);
		put_extents(m, argc - 2, argv + 2);
		return send_wait(m);
	}
	if (!strcmp(verb, "table")) {
		m = msg_new(MESHTGT_CMD_EXTENTS_SET, NLM_F_ACK);
		put_uuid(m, MESHTGT_A_DRIVE_UUID, argv[0]);
		put_extents(m, argc - 1, argv + 1);
		return send_wait(m);
	}
	if (!strcmp(verb, "del")) {
		m = msg_new(MESHTGT_CMD_DRIVE_DEL, NLM_F_ACK);
		put_uuid(m, MESHTGT_A_DRIVE_UUID, argv[0]);
		if (argc > 1 && !strcmp(argv[1], "force"))
			nla_put_flag(m, MESHTGT_A_FORCE);
		if (argc > 1 && !strcmp(argv[1], "gone")) {
			nla_put_flag(m, MESHTGT_A_FORCE);
			nla_put_flag(m, MESHTGT_A_GONE);
		}
		return send_wait(m);
	}
	if (!strcmp(verb, "fence")) {
		m = msg_new(MESHTGT_CMD_SESSION_DEL, NLM_F_ACK);
		nla_put_u32(m, MESHTGT_A_SESSION, strtoul(argv[0], NULL, 0));
		return send_wait(m);
	}
	die(verb, 0);
	return 2;
}

int main(int argc, char **argv)
{
	int on = 1;

	if (argc < 2) {
		fprintf(stderr, "usage: see the top of tests/tools/tgtctl.c\n");
		return 2;
	}
	sk = nl_socket_alloc();
	if (!sk || genl_connect(sk))
		die("netlink", -NLE_FAILURE);
	nl_socket_set_buffer_size(sk, 4 << 20, 4 << 20);
	nl_socket_set_msg_buf_size(sk, 1 << 20);
	setsockopt(nl_socket_get_fd(sk), SOL_NETLINK, NETLINK_EXT_ACK, &on, sizeof(on));
	family = genl_ctrl_resolve(sk, MESHTGT_GENL_NAME);
	if (family < 0)
		die("meshtgt is not loaded", family);
	return run(argv[1], argc - 2, argv + 2);
}
