// SPDX-License-Identifier: GPL-2.0-only
/* Messages about drives that the kernel answers with "call again", and when libmesh does so. */
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

struct nl_msg *mesh_msg(struct mesh *m, enum mesh_family f, u8 cmd, int flags, size_t bytes, int *err)
{
	(void)m; (void)f; (void)cmd; (void)flags; (void)bytes;
	*err = 0;
	return nlmsg_alloc();
}

int mesh_call(struct mesh *m, enum mesh_family f, struct nl_msg *msg, mesh_parse_fn fn, void *arg)
{
	int err = *answers;

	(void)m; (void)f; (void)fn; (void)arg;
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

static const struct suite_test tests[] = {
	{ "a message is sent again", repeats },
	{ "a drive that was closed meanwhile", closed_meanwhile },
	{ NULL, NULL },
};

int main(void)
{
	return suite_main("messages that are repeated", tests);
}
