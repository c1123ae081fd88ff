// SPDX-License-Identifier: GPL-2.0-only
/* The family "meshblk": a message out, its answer in. */
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <netlink/genl/ctrl.h>

#include "tests/tools/blkctl/blkctl.h"
#include "tests/tools/secret.h"

#define MSG_MAX	(1 << 20)

struct nl_sock *sock;
char refusal[256];
static int family;

static int on_error(struct sockaddr_nl *who, struct nlmsgerr *e, void *arg)
{
	struct nlmsghdr *h = (struct nlmsghdr *)((char *)e - NLMSG_HDRLEN);
	unsigned int skip = sizeof(*e);
	struct nlattr *a;
	int rem;

	(void)who;
	*(int *)arg = e->error;
	if (!(h->nlmsg_flags & NLM_F_ACK_TLVS))
		return NL_STOP;
	if (!(h->nlmsg_flags & NLM_F_CAPPED))
		skip += e->msg.nlmsg_len - NLMSG_HDRLEN;
	rem = (int)h->nlmsg_len - NLMSG_HDRLEN - (int)skip;
	for (a = (struct nlattr *)((char *)e + skip); nla_ok(a, rem); a = nla_next(a, &rem))
		if (nla_type(a) == NLMSGERR_ATTR_MSG)
			snprintf(refusal, sizeof(refusal), "%s", nla_get_string(a));
	return NL_STOP;
}

static int on_end(struct nl_msg *msg, void *arg)
{
	(void)msg;
	*(int *)arg = 0;
	return NL_STOP;
}

struct nl_sock *open_socket(void)
{
	struct nl_sock *s = nl_socket_alloc();
	int one = 1;

	if (!s || genl_connect(s))
		die(2, "no generic netlink");
	nl_socket_set_buffer_size(s, 4 << 20, 4 << 20);
	nl_socket_set_msg_buf_size(s, MSG_MAX);
	nl_socket_disable_auto_ack(s);
	setsockopt(nl_socket_get_fd(s), 270 /* SOL_NETLINK */, 11 /* NETLINK_EXT_ACK */, &one,
		   sizeof(one));
	return s;
}

void connect_family(void)
{
	sock = open_socket();
	family = genl_ctrl_resolve(sock, MESHBLK_GENL_NAME);
	if (family < 0)
		die(2, "no family %s: is the module loaded?", MESHBLK_GENL_NAME);
}

struct nl_msg *new_msg(int cmd, int flags)
{
	struct nl_msg *m = nlmsg_alloc_size(MSG_MAX);

	if (!m || !genlmsg_put(m, 0, 0, family, 0, flags | NLM_F_REQUEST, cmd, MESHBLK_GENL_VERSION))
		die(2, "out of memory");
	return m;
}

/* Sends @m and waits for the end of the answer. Returns 0 or a negative errno. */
int talk(struct nl_msg *m, answer_fn fn, void *arg)
{
	struct nl_cb *cb = nl_cb_alloc(NL_CB_DEFAULT);
	int err = 1, n;

	if (!(nlmsg_hdr(m)->nlmsg_flags & NLM_F_DUMP))
		nlmsg_hdr(m)->nlmsg_flags |= NLM_F_ACK;
	refusal[0] = 0;
	n = nl_send_auto(sock, m);
	nlmsg_free(m);
	if (n < 0)
		die(2, "send: %s", nl_geterror(n));
	nl_cb_err(cb, NL_CB_CUSTOM, on_error, &err);
	nl_cb_set(cb, NL_CB_FINISH, NL_CB_CUSTOM, on_end, &err);
	nl_cb_set(cb, NL_CB_ACK, NL_CB_CUSTOM, on_end, &err);
	if (fn)
		nl_cb_set(cb, NL_CB_VALID, NL_CB_CUSTOM, fn, arg);
	while (err > 0) {
		n = nl_recvmsgs(sock, cb);
		if (n < 0 && err > 0)
			die(2, "receive: %s", nl_geterror(n));
	}
	nl_cb_put(cb);
	return err;
}

int finish(int err)
{
	if (!err)
		return 0;
	fprintf(stderr, "blkctl: %s%s%s\n", refusal, refusal[0] ? ": " : "", strerror(-err));
	return 1;
}

void put_uuid(struct nl_msg *m, int attr, const struct uuid *u)
{
	nla_put(m, attr, sizeof(*u), u);
}

void secret(struct nl_msg *m, int attr, const char *kind, const char *of, const void *bytes,
	    size_t len)
{
	if (!put_secret(m, attr, kind, of, bytes, len))
		die(2, "no key %s%s in the kernel's keyrings", kind, of);
}
