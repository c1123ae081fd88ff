// SPDX-License-Identifier: GPL-2.0-only
/*
 * Messages about drives that the kernel answers with "call again", and when libmesh does so; tables
 * of extents, to the kernel and back.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Sending and receiving are stand-ins below. */
#define mesh_msg	genl_msg
#define mesh_call	genl_call
#define mesh_dump	genl_dump
#include "userspace/libmesh/genl.c"
#undef mesh_msg
#undef mesh_call
#undef mesh_dump
#include "userspace/libmesh/grow.c"
#include "userspace/libmesh/secret.h"

#include "suite.h"

/* What the kernel answers, one message after the other; the last one again and again. */
static const int *answers;
static unsigned int sent;
static void (*inspect)(struct nl_msg *msg);

struct nl_msg *mesh_msg(struct mesh *m, enum mesh_family f, u8 cmd, int flags, size_t bytes, int *err)
{
	struct nl_msg *msg = nlmsg_alloc_size(bytes + 4096);

	(void)m; (void)f; (void)cmd; (void)flags;
	*err = 0;
	genlmsg_put(msg, 0, 0, GENL_ID_CTRL, 0, 0, cmd, 1);
	return msg;
}

int mesh_call(struct mesh *m, enum mesh_family f, struct nl_msg *msg, mesh_parse_fn fn, void *arg)
{
	int err = *answers;

	(void)m; (void)f; (void)fn; (void)arg;
	if (inspect)
		inspect(msg);
	nlmsg_free(msg);
	sent++;
	if (answers[1] <= 0)
		answers++;
	return err;
}

int mesh_dump(struct mesh *m, enum mesh_family f, u8 cmd, mesh_parse_fn fn, struct mesh_list *l)
{
	(void)m; (void)f; (void)cmd; (void)fn;
	*l = (struct mesh_list) { NULL, 0 };
	return -ENOSYS;
}

int put_keys(struct mesh *m, struct nl_msg *msg, int first, const struct mesh_key *keys, size_t n)
{
	(void)m; (void)msg; (void)first; (void)keys; (void)n;
	return -ENOSYS;
}

int call_secret(struct mesh *m, enum mesh_family f, struct nl_msg *msg, int err)
{
	(void)m; (void)f; (void)err;
	nlmsg_free(msg);
	return -ENOSYS;
}

#include "userspace/libmesh/target.c"

#define NO_MORE	1	/* behind the last answer */

static const struct muuid uuid = { { 1 } };
static const struct meshtgt_drive table = { .path = "/dev/x" };

static int call_add(void) { return meshtgt_drive_add(NULL, &table); }
static int call_check(void) { return meshtgt_drive_check(NULL, &table); }
static int call_set(void) { return meshtgt_extents_set(NULL, &table); }
static int call_once(void) { return meshtgt_extents_once(NULL, &table); }
static int call_del(void) { return meshtgt_drive_del(NULL, &uuid, false); }
static int call_gone(void) { return meshtgt_gone_del(NULL, &uuid); }

static int (*const calls[])(void) = { call_add, call_check, call_set, call_del, call_gone };

#define CALLS (sizeof(calls) / sizeof(calls[0]))

static int answered(int (*call)(void), const int *with)
{
	answers = with;
	sent = 0;
	return call();
}

static void repeats(void)
{
	static const int once[] = { -EINPROGRESS, 0, NO_MORE }, never[] = { -EINPROGRESS, NO_MORE };
	static const int busy[] = { -EBUSY, NO_MORE }, absent[] = { -ENOENT, NO_MORE };
	static const int refused[] = { -EINPROGRESS, -EINPROGRESS, -EOPNOTSUPP, NO_MORE };
	unsigned int i;

	for (i = 0; i < CALLS; i++) {
		CU_ASSERT_EQUAL(answered(calls[i], once), 0);
		CU_ASSERT_EQUAL(sent, 2);
		CU_ASSERT_EQUAL(answered(calls[i], never), -EBUSY);
		CU_ASSERT_EQUAL(sent, WAIT_STEPS);
		CU_ASSERT_EQUAL(answered(calls[i], busy), -EBUSY);
		CU_ASSERT_EQUAL(sent, 1);
		CU_ASSERT_EQUAL(answered(calls[i], absent), -ENOENT);
		CU_ASSERT_EQUAL(sent, 1);
		CU_ASSERT_EQUAL(answered(calls[i], refused), -EOPNOTSUPP);
		CU_ASSERT_EQUAL(sent, 3);
	}
}

/* The device was closed between two messages: there is no such drive any more, as requested. */
static void closed_meanwhile(void)
{
	static const int closed[] = { -EINPROGRESS, -ENOENT, NO_MORE };

	CU_ASSERT_EQUAL(answered(call_del, closed), 0);
	CU_ASSERT_EQUAL(answered(call_gone, closed), 0);
	CU_ASSERT_EQUAL(answered(call_set, closed), -ENOENT);
}

static void not_repeated(void)
{
	static const int never[] = { -EINPROGRESS, NO_MORE };

	CU_ASSERT_EQUAL(answered(call_once, never), -EINPROGRESS);
	CU_ASSERT_EQUAL(sent, 1);
}

/* Extents of the last message, as the kernel reads them: from each EXTENTS of it. */
static struct {
	u32	extents, pieces, all, hosts;
	bool	whole;		/* no attribute was cut */
} got;

static void count_table(struct nl_msg *msg)
{
	struct nlattr *tb[MESHTGT_X_MAX + 1], *a, *nest;
	u64 bytes = 0;
	int left, rest;

	nlmsg_for_each_attr(a, nlmsg_hdr(msg), GENL_HDRLEN, left) {
		bytes += nla_total_size(nla_len(a));
		if (nla_type(a) != MESHTGT_A_EXTENTS)
			continue;
		got.pieces++;
		nla_for_each_nested(nest, a, rest) {
			CU_ASSERT_FATAL(!nla_parse_nested(tb, MESHTGT_X_MAX, nest, NULL));
			got.extents++;
			got.all += !!tb[MESHTGT_X_ALLOW_ALL];
			got.hosts += tb[MESHTGT_X_ALLOW] ? nla_len(tb[MESHTGT_X_ALLOW]) / 16 : 0;
		}
	}
	got.whole = bytes == nlmsg_hdr(msg)->nlmsg_len - NLMSG_HDRLEN - GENL_HDRLEN;
}

/* The table of a drive that is full of extents, each for as many hosts as there may be. */
static void long_table(void)
{
	static struct muuid host[MESHTGT_ALLOW_MAX];
	static struct meshtgt_extent e[4000];
	struct meshtgt_drive d = { .path = "/dev/x", .nr_extents = 4000, .extents = e };
	static const int good[] = { 0, NO_MORE };

	for (u32 i = 0; i < 4000; i++)
		e[i] = (struct meshtgt_extent) { .uuid.b = { 1 }, .ready = true, .allows = MESHTGT_ALLOW_MAX,
						 .allow = host };
	inspect = count_table;
	answers = good;
	CU_ASSERT_EQUAL(meshtgt_extents_once(NULL, &d), 0);
	CU_ASSERT(got.whole);
	CU_ASSERT_EQUAL(got.extents, 4000);
	CU_ASSERT_EQUAL(got.hosts, 4000 * MESHTGT_ALLOW_MAX);
	CU_ASSERT_EQUAL(got.all, 0);

	memset(&got, 0, sizeof(got));
	e[0].allow_all = true;
	e[1].allows = 0;
	d.nr_extents = 3;
	CU_ASSERT_EQUAL(meshtgt_drive_add(NULL, &d), 0);
	CU_ASSERT_EQUAL(got.all, 1);
	CU_ASSERT_EQUAL(got.hosts, MESHTGT_ALLOW_MAX);
	CU_ASSERT_EQUAL(got.pieces, 1);

	/* No table is cut to fit. */
	sent = 0;
	e[2].allows = MESHTGT_ALLOW_MAX + 1;
	CU_ASSERT_EQUAL(meshtgt_drive_add(NULL, &d), -EINVAL);
	CU_ASSERT_EQUAL(meshtgt_extents_set(NULL, &d), -EINVAL);
	CU_ASSERT_EQUAL(sent, 0);
	inspect = NULL;
}

static void openings(void)
{
	struct nl_msg *msg = nlmsg_alloc();
	struct meshtgt_drive d = { 0 };
	struct nlattr *all, *one;

	genlmsg_put(msg, 0, 0, GENL_ID_CTRL, 0, 0, MESHTGT_CMD_DRIVE_GET, 1);
	all = nla_nest_start(msg, NLA_F_NESTED | MESHTGT_A_EXTENTS);
	one = nla_nest_start(msg, NLA_F_NESTED | MESHTGT_A_EXTENT);
	nla_put_u32(msg, MESHTGT_X_OPENS, 5);
	nla_put_u32(msg, MESHTGT_X_WRITERS, 2);
	nla_put_u32(msg, MESHTGT_X_READERS, 3);
	nla_nest_end(msg, one);
	nla_nest_end(msg, all);
	CU_ASSERT_EQUAL(parse_extents(nlmsg_hdr(msg), &d), 0);
	CU_ASSERT_EQUAL_FATAL(d.nr_extents, 1);
	CU_ASSERT_EQUAL(d.extents[0].opens, 5);
	CU_ASSERT_EQUAL(d.extents[0].writers, 2);
	CU_ASSERT_EQUAL(d.extents[0].readers, 3);
	free(d.extents);
	nlmsg_free(msg);
}

static const struct suite_test tests[] = {
	{ "a message is sent again", repeats },
	{ "a drive that was closed meanwhile", closed_meanwhile },
	{ "a message that the caller sends again", not_repeated },
	{ "a table that is long, and its hosts", long_table },
	{ "openings of an extent", openings },
	{ NULL, NULL },
};

int main(void)
{
	return suite_main("messages that are repeated", tests);
}
