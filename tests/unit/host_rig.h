/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * An agent of a host over a store in a file. The machine is in memory, and its file may be slow, damaged
 * or full; the store may not answer.
 */
#ifndef TESTS_UNIT_HOST_RIG_H
#define TESTS_UNIT_HOST_RIG_H

#include <errno.h>

#include "tests/unit/agent_rights.h"
#include "tests/unit/agent_rig.h"
#include "userspace/agent/host.h"

#define SECOND	1000ULL

int __real_store_txn_settle(struct store *s, const struct store_txn *t, u64 deadline_ms, u64 *revision);
int __wrap_store_txn_settle(struct store *s, const struct store_txn *t, u64 deadline_ms, u64 *revision);

static struct store *S, *other;
static struct copy *C, *O;		/* the agent's, the test's */
static u64 now;

/* The machine. */
static struct {
	struct obj_seen seen;
	bool	has_seen;
	int	get_err, put_err, facts_err, disks_err;
	u32	slow;			/* calls of seen_put() that answer -EINPROGRESS first */
	u32	puts, tries;
	char	name[OBJ_TEXT];
	const char *addr[3];
	char	module[OBJ_TEXT];
	struct obj_disk disk[3];
	u32	disks, scans;
	char	log[4096];
} dev;

static struct host_agent agent;

/* The store does not answer. */
static int away_err;
static u32 away_calls;

int __real_store_identity(struct store *s, struct store_identity *out);
int __wrap_store_identity(struct store *s, struct store_identity *out);

int __wrap_store_identity(struct store *s, struct store_identity *out)
{
	away_calls++;
	return away_err ? away_err : __real_store_identity(s, out);
}

int __wrap_store_txn_settle(struct store *s, const struct store_txn *t, u64 deadline_ms, u64 *revision)
{
	if (s == S)
		rights_check(other, agent.role, &agent.host, t);
	return __real_store_txn_settle(s, t, deadline_ms, revision);
}

static int op_seen_get(void *m, struct obj_seen *out)
{
	(void)m;
	if (dev.get_err)
		return dev.get_err;
	*out = dev.seen;
	return dev.has_seen ? 0 : -ENOENT;
}

static int op_seen_put(void *m, const struct obj_seen *s)
{
	(void)m;
	dev.tries++;
	if (dev.put_err)
		return dev.put_err;
	if (dev.slow && dev.slow--)
		return -EINPROGRESS;
	dev.seen = *s;
	dev.has_seen = true;
	dev.puts++;
	return 0;
}

static int op_facts(void *m, struct obj_host *host, struct obj_alive *alive)
{
	(void)m;
	if (dev.facts_err)
		return dev.facts_err;
	strcpy(host->name, dev.name);
	host->address = calloc(3, sizeof(*host->address));
	for (u32 i = 0; i < 3 && dev.addr[i]; i++)
		strcpy(host->address[host->addresses++].addr, dev.addr[i]);
	strcpy(alive->meshd, "0.1");
	strcpy(alive->module, dev.module);
	alive->format = OBJ_FORMAT(1, 0);
	alive->started = 77;
	return 0;
}

static int op_disks(void *m, struct obj_disk **out, u32 *n)
{
	(void)m;
	if (dev.disks_err)
		return dev.disks_err;
	dev.scans++;
	*n = dev.disks;
	*out = calloc(dev.disks + 1, sizeof(**out));
	memcpy(*out, dev.disk, dev.disks * sizeof(**out));
	return 0;
}

static void op_log(void *m, const char *words)
{
	size_t n = strlen(dev.log);

	(void)m;
	snprintf(dev.log + n, sizeof(dev.log) - n, "%s\n", words);
}

static const struct host_ops ops = {
	.seen_get = op_seen_get, .seen_put = op_seen_put, .facts = op_facts, .disks = op_disks, .log = op_log,
};

static int follow(struct copy *c)
{
	static const enum key_kind kinds[] = { KEY_CLUSTER, KEY_HOST, KEY_ALIVE, KEY_DEVICE, KEY_RECOVER };
	int err = 0;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds) && !err; i++)
		err = copy_follow(c, &(struct key) { .kind = kinds[i] }, 0);
	return err;
}

static void agent_start(u8 boot)
{
	S = store_sqlite_handle(Q);
	C = copy_open(S);
	OK(follow(C));
	agent = (struct host_agent) { .copy = C, .host = rig_id('h', 1), .boot = rig_id('b', boot),
				      .role = PLAN_STORE, .ops = &ops, .seconds = 60 };
}

/* As after a crash: the lease lives on. */
static void agent_stop(void)
{
	copy_close(C);
	store_close(S);
}

static void test_start(void)
{
	other = store_sqlite_handle(Q);
	O = copy_open(other);
	OK(follow(O));
}

static void put_cluster(u8 uuid, u32 generation)
{
	struct obj_cluster c = { .plan = { .uuid = rig_id('c', uuid), .generation = generation, .format = 1000 } };

	rig_put(O, KEY_CLUSTER, &c);
}

static void begin(void)
{
	memset(&dev, 0, sizeof(dev));
	strcpy(dev.name, "s1");
	dev.addr[0] = "10.0.0.1";
	now = 100 * SECOND;
	rig_begin();
	test_start();
	agent_start(1);
}

static void end(void)
{
	agent_stop();
	copy_close(O);
	store_close(other);
	rig_end();
}

/* Turns until nothing more is done. */
static void turns(void)
{
	int n = 1, idle = 0;

	for (int i = 0; i < 50 && idle < 3; i++) {
		rig_catch_up(C);
		n = host_turn(&agent, now);
		idle = n > 0 ? 0 : idle + 1;
	}
	rig_catch_up(O);
}

static inline const struct obj_host *host_key(void)
{
	return copy_obj(O, &(struct key) { .kind = KEY_HOST, .host = rig_id('h', 1) });
}

static inline const struct copy_item *alive_item(void)
{
	return copy_get(O, &(struct key) { .kind = KEY_ALIVE, .host = rig_id('h', 1) });
}

static inline const struct copy_item *device_item(void)
{
	return copy_get(O, &(struct key) { .kind = KEY_DEVICE, .host = rig_id('h', 1) });
}

static inline bool says(const char *words)
{
	bool ok = strstr(agent.why, words);

	if (!ok)
		printf("\n  \"%s\" has not: %s\n", agent.why, words);
	return ok;
}

static inline void begin_up(void)
{
	begin();
	put_cluster(1, 1);
	turns();
	CU_ASSERT_EQUAL_FATAL(agent.state, HOST_UP);
}

#endif
