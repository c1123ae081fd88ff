// SPDX-License-Identifier: GPL-2.0-only
/* Which host answers at an address, and what is noted of it. The host is a stand-in. */
#define _GNU_SOURCE
#include <linux/kernel.h>

#include "userspace/meshd/peers.c"
#include "suite.h"

struct meshd D = { .host = { { 9 } } };
static struct store_host rows[2] = {
	{ .id = 1, .name = "a", .addr = "10.0.0.1", .port = 4421, .uuid = { { 11 } } },
	{ .id = 2, .name = "10.0.1.1", .addr = "10.0.1.1", .port = 4421 },
};
static struct mgmt_hello hello = { .hostname = "a", .version = "1", .machine = "m" };
static int puts_done, hosts_err;

struct links *links_own(void) { return NULL; }

int links_call(struct links *l, const char *addr, u16 port, const struct muuid *expect, const void *req,
	       size_t len, unsigned int ms, void **rsp, size_t *n, char *said)
{
	char *text = mgmt_rsp_encode(0, NULL, mgmt_hello_pack(&hello));

	(void)l, (void)addr, (void)port, (void)expect, (void)req, (void)len, (void)ms, (void)said;
	*rsp = text;
	*n = strlen(text);
	return 0;
}

int store_hosts(struct store_host **out, size_t *n)
{
	*n = hosts_err ? 0 : 2;
	*out = hosts_err ? NULL : malloc(sizeof(rows));
	if (*out)
		memcpy(*out, rows, sizeof(rows));
	return hosts_err;
}

int store_host_put(struct store_host *h)
{
	rows[h->id - 1] = *h;
	puts_done++;
	return 0;
}

int store_host_find(const char *what, struct store_host *out)
{
	*out = rows[0];
	return strcmp(what, rows[0].name) ? -ENOENT : 0;
}

static struct meshblk_target known[2] = { { .id = 1, .host = { { 11 } } }, { .id = 2 } };
static u32 deleted;

int meshblk_targets(struct mesh *m, struct meshblk_target **t, size_t *n)
{
	(void)m;
	*n = 2;
	*t = malloc(sizeof(known));
	memcpy(*t, known, sizeof(known));
	return 0;
}

int store_host_learn(u32 id, const struct muuid *uuid)
{
	rows[id - 1].uuid = *uuid;
	return 0;
}

int store_host_del(u32 id)
{
	deleted = id;
	return 0;
}

/* What greeting does not come to */

int store_host_by_uuid(const struct muuid *u, struct store_host *h) { (void)u, (void)h; return -ENOENT; }
int store_host_adopt(const struct store_host *h) { (void)h; return -ENOSYS; }
const char *store_words(int err) { (void)err; return "the store"; }
int serve_local(const void *req, size_t len, void **rsp, size_t *n)
{
	(void)req, (void)len, (void)rsp, (void)n;
	return -ENOSYS;
}
void links_forget(struct links *l, const char *addr, u16 port) { (void)l, (void)addr, (void)port; }
int identity_push(struct mesh *m) { (void)m; return 0; }
struct mesh *mesh_open(void) { return (struct mesh *)rows; }
void mesh_close(struct mesh *m) { (void)m; }
const char *mesh_why(const struct mesh *m) { (void)m; return ""; }
int meshblk_target_get(struct mesh *m, u32 id, struct meshblk_target *t)
{
	(void)m, (void)id, (void)t;
	return -1;
}
int meshblk_target_del(struct mesh *m, u32 id) { (void)m, (void)id; return 0; }
int meshblk_target_set(struct mesh *m, u32 id, const char *addr, u16 port,
		       const struct muuid *expect)
{
	(void)m, (void)id, (void)addr, (void)port, (void)expect;
	return -1;
}
u64 now_ms(void) { return 0; }
void sleep_ms(unsigned int ms) { (void)ms; }
bool stopping(void) { return false; }
void log_error(const char *fmt, ...) { (void)fmt; }
void log_warn(const char *fmt, ...) { (void)fmt; }
void log_info(const char *fmt, ...) { (void)fmt; }

static int greet(size_t i, u8 host, char *why)
{
	struct store_host h = rows[i];

	hello.host = (struct muuid) { { host } };
	puts_done = 0;
	why[0] = 0;
	return peer_greet(&h, why);
}

/* Nothing is noted of a second address: the host counts once. */
static void test_second_address(void)
{
	char why[REASON];

	CU_ASSERT(greet(1, 11, why) == -EEXIST && !puts_done && muuid_null(&rows[1].uuid));
	CU_ASSERT(strstr(why, "known at 10.0.0.1 already") != NULL);
	CU_ASSERT(!greet(0, 11, why) && puts_done == 1);
	hosts_err = -EIO;
	CU_ASSERT(greet(1, 12, why) == -EIO && !puts_done && !strcmp(why, "the store"));
	hosts_err = 0;
	CU_ASSERT(!greet(1, 12, why) && puts_done == 1 && rows[1].uuid.b[0] == 12);
	CU_ASSERT(greet(0, 12, why) == -EXDEV && !puts_done);
}

/* The row that goes when the session of row 1 turns out to be that of @host; 0: none. */
static u32 pushed(u8 host, u8 noted)
{
	known[1].host = (struct muuid) { { host } };
	rows[1].uuid = (struct muuid) { { noted } };
	deleted = 0;
	CU_ASSERT(!peers_push(mesh_open()));
	return deleted;
}

/* Added without waiting: what it is shows when it is connected. */
static void test_added_unseen(void)
{
	CU_ASSERT(pushed(0, 0) == 0);
	CU_ASSERT(muuid_null(&rows[1].uuid));
	CU_ASSERT(pushed(12, 0) == 0 && rows[1].uuid.b[0] == 12);
	CU_ASSERT(pushed(11, 0) == 2);
	/* A host that is known goes nowhere by itself, and a command says more. */
	CU_ASSERT(pushed(11, 12) == 0);
	CU_ASSERT(rows[1].uuid.b[0] == 12);
	peers_adding(true);
	CU_ASSERT(pushed(11, 0) == 0 && pushed(13, 0) == 0 && muuid_null(&rows[1].uuid));
	peers_adding(false);
	CU_ASSERT(pushed(11, 0) == 2);
}

int main(void)
{
	static const struct suite_test tests[] = {
		{ "a second address", test_second_address },
		{ "one that was added unseen", test_added_unseen },
		{ NULL, NULL },
	};

	return suite_main("peers", tests);
}
