// SPDX-License-Identifier: GPL-2.0-only
/* The agent of a host: which store it follows, by what it has noted before. test_agent_host_keys.c: its keys. */
#include "tests/unit/back_store.h"
#include "tests/unit/host_rig.h"
#include "userspace/agent/drive.h"

static void first(u8 role)
{
	const struct obj_alive *a;

	begin();
	agent.role = role;
	/* an empty store is none of a cluster */
	turns();
	CU_ASSERT_EQUAL(agent.state, HOST_STARTING);
	CU_ASSERT(!host_may(&agent) && !host_stopped(&agent));
	CU_ASSERT_PTR_NULL(alive_item());
	put_cluster(1, 1);
	turns();
	CU_ASSERT_EQUAL(agent.state, HOST_UP);
	CU_ASSERT(host_may(&agent));
	CU_ASSERT_STRING_EQUAL(agent.why, "");
	CU_ASSERT_PTR_NOT_NULL_FATAL(host_key());
	CU_ASSERT_STRING_EQUAL(host_key()->name, "s1");
	CU_ASSERT_EQUAL(host_key()->plan.role, role);
	CU_ASSERT_EQUAL(host_key()->addresses, 1);
	CU_ASSERT_STRING_EQUAL(host_key()->address[0].addr, "10.0.0.1");
	CU_ASSERT_PTR_NOT_NULL_FATAL(alive_item());
	a = alive_item()->obj;
	CU_ASSERT_EQUAL(alive_item()->lease, agent.lease);
	CU_ASSERT(agent.lease && muuid_equal(&a->boot, &agent.boot) && a->started == 77);
	CU_ASSERT_PTR_NOT_NULL(device_item());
	CU_ASSERT(muuid_equal(&dev.seen.plan.cluster, &(struct muuid) { .b = { 'c', 1 } }));
	CU_ASSERT_EQUAL(dev.seen.plan.generation, 1);
	CU_ASSERT(dev.seen.plan.id[0] && dev.seen.plan.term && dev.seen.plan.revision >= copy_revision(C));
	end();
}

static void t_first(void)
{
	for (u8 role = PLAN_CLIENT; role <= PLAN_STORE; role++)
		first(role);
}

/* Nothing is decided from a revision before it is in the file. */
static void t_durable(void)
{
	u64 was;

	begin_up();
	was = dev.seen.plan.revision;
	put_cluster(1, 1);
	dev.slow = 2;
	for (int i = 0; i < 3; i++) {
		rig_catch_up(C);
		host_turn(&agent, now);
		CU_ASSERT_EQUAL(agent.state, HOST_UP);
		CU_ASSERT(!host_stopped(&agent));
		CU_ASSERT_EQUAL(host_may(&agent), i == 2);
		CU_ASSERT_EQUAL(dev.seen.plan.revision > was, i == 2);
	}
	/* what came behind the turn */
	put_cluster(1, 1);
	rig_catch_up(C);
	CU_ASSERT(!host_may(&agent));
	dev.put_err = -ENOSPC;
	turns();
	CU_ASSERT_EQUAL(agent.state, HOST_STOPPED);
	CU_ASSERT(says("No space left") && !host_may(&agent) && host_stopped(&agent));
	dev.put_err = 0;
	now += 3 * SECOND;
	turns();
	CU_ASSERT_EQUAL(agent.state, HOST_UP);
	/* a quiet store costs no write */
	was = dev.puts;
	turns();
	CU_ASSERT_EQUAL(dev.puts, was);
	/* nor does one whose changes are none of the copy's, or come while the file is written */
	put_cluster(1, 1);
	rig_catch_up(C);
	dev.slow = 2;
	CU_ASSERT(!host_notes(&agent));
	for (int i = 0; i < 3; i++) {
		host_turn(&agent, now);
		CU_ASSERT(host_notes(&agent) == (i < 2) && host_may(&agent) == (i == 2));
		put_cluster(1, 1);
	}
	host_turn(&agent, now);
	CU_ASSERT(host_may(&agent));
	CU_ASSERT_EQUAL(dev.puts, was + 1);
	turns();
	CU_ASSERT(host_may(&agent) && dev.puts == was + 2);
	/* the first time, too */
	agent_stop();
	dev.has_seen = false;
	dev.slow = 100;
	agent_start(1);
	turns();
	CU_ASSERT_EQUAL(agent.state, HOST_STARTING);
	CU_ASSERT_EQUAL(agent.lease, 0);
	end();
}

/* A full state folder: the file is tried again now and then, not each turn, and the lease is kept meanwhile. */
static void t_full(void)
{
	u64 kept;
	u32 tries;

	begin_up();
	kept = agent.kept_ms;
	put_cluster(1, 1);
	dev.put_err = -ENOSPC;
	turns();
	CU_ASSERT(host_stopped(&agent) && host_notes(&agent));
	tries = dev.tries;
	turns();
	CU_ASSERT_EQUAL(dev.tries, tries);
	now += 3 * SECOND;
	turns();
	CU_ASSERT_EQUAL(dev.tries, tries + 1);
	now += 30 * SECOND;
	turns();
	CU_ASSERT(agent.kept_ms > kept && agent.lease);
	dev.put_err = 0;
	now += 3 * SECOND;
	turns();
	CU_ASSERT(host_may(&agent));
	end();
}

/* The daemon starts again with a file that says @change of what it saw. */
static void again_with(void (*change)(struct plan_seen *s))
{
	begin_up();
	host_end(&agent);
	agent_stop();
	change(&dev.seen.plan);
	dev.log[0] = 0;
	agent_start(1);
	turns();
}

static void no_change(struct plan_seen *s)
{
	(void)s;
}

static void other_id(struct plan_seen *s)
{
	strcpy(s->id, "another");
}

static void higher_term(struct plan_seen *s)
{
	s->term++;
}

static void higher_revision(struct plan_seen *s)
{
	s->revision += 100;
}

static void higher_generation(struct plan_seen *s)
{
	s->generation++;
}

static void other_cluster(struct plan_seen *s)
{
	s->cluster = rig_id('c', 9);
}

static void t_put_back(void)
{
	static const struct {
		void (*change)(struct plan_seen *s);
		const char *words;
	} c[] = {
		{ other_id, "put back, or made again" }, { higher_term, "an older state" },
		{ higher_revision, "an older state" }, { higher_generation, "back to generation 1" },
		{ other_cluster, "belongs to" },
	};
	struct plan_seen seen;

	again_with(no_change);
	CU_ASSERT_EQUAL(agent.state, HOST_UP);
	end();
	for (size_t i = 0; i < 5; i++) {
		again_with(c[i].change);
		seen = dev.seen.plan;
		CU_ASSERT_EQUAL(agent.state, HOST_STOPPED);
		CU_ASSERT(says(c[i].words) && !host_may(&agent) && host_stopped(&agent));
		CU_ASSERT_EQUAL(agent.lease, 0);
		CU_ASSERT_PTR_NULL(alive_item());
		/* said once, and never forgotten */
		CU_ASSERT_PTR_NULL(strstr(strchr(dev.log, '\n') + 1, "\n"));
		CU_ASSERT_EQUAL(memcmp(&seen, &dev.seen.plan, sizeof(seen)), 0);
		put_cluster(1, 2);
		turns();
		/* recover's generation is followed, whatever the store; not another cluster's, nor an equal one */
		CU_ASSERT_EQUAL(agent.state, c[i].change == other_cluster ? HOST_STOPPED : HOST_UP);
		end();
	}
}

/* The store's engine starts again: its term, too, is in the file before anything is decided. */
static void t_term(void)
{
	u64 term;

	begin_up();
	term = dev.seen.plan.term;
	agent_stop();
	copy_close(O);
	store_close(other);
	store_sqlite_close(Q);
	OK(store_sqlite_open(file, &Q, why, sizeof(why)));
	test_start();
	agent_start(1);
	dev.slow = 1;
	CU_ASSERT_EQUAL(host_turn(&agent, now), 0);
	CU_ASSERT(host_notes(&agent) && !agent.lease && dev.seen.plan.term == term);
	turns();
	CU_ASSERT(host_may(&agent) && dev.seen.plan.term > term);
	end();
}

/* The copy is behind recover, whose store is another one. */
static void t_recovered(void)
{
	begin_up();
	strcpy(agent.seen.plan.id, "before");
	put_cluster(1, 2);
	dev.log[0] = 0;
	host_turn(&agent, now);
	CU_ASSERT_EQUAL(agent.state, HOST_UP);
	CU_ASSERT_STRING_EQUAL(dev.log, "");
	CU_ASSERT_EQUAL(dev.seen.plan.generation, 2);
	end();
}

/* The way to the store leads to another one: watches would go on in that, so all lists are read again. */
static void t_other_store(void)
{
	begin_up();
	strcpy(agent.store_id, "before");
	CU_ASSERT(copy_whole(C));
	host_turn(&agent, now);
	CU_ASSERT(!copy_whole(C) && !host_may(&agent));
	turns();
	CU_ASSERT(copy_whole(C) && host_may(&agent));
	agent.store_revision += 1000;
	host_turn(&agent, now);
	CU_ASSERT(!copy_whole(C) && !host_may(&agent));
	turns();
	CU_ASSERT(copy_whole(C) && host_may(&agent));
	end();
}

/* The store loses its keys while it is followed. */
static void t_emptied(void)
{
	struct key k = { .kind = KEY_CLUSTER };

	begin_up();
	rig_erase(O, &k);
	turns();
	CU_ASSERT_EQUAL(agent.state, HOST_STOPPED);
	CU_ASSERT(says("emptied"));
	end();
}

/* The mark of recover stops a host that follows its store, and the next generation lets it go on. */
static void t_recovering(void)
{
	struct obj_recover m = { .recover = rig_id('r', 1), .generation = 2, .host = rig_id('h', 9) };
	const struct key k = { .kind = KEY_RECOVER };

	begin_up();
	rig_put(O, KEY_RECOVER, &m);
	turns();
	CU_ASSERT_EQUAL(agent.state, HOST_STOPPED);
	CU_ASSERT(says("being recovered"));
	CU_ASSERT(!host_may(&agent));
	put_cluster(1, 2);
	turns();
	CU_ASSERT_EQUAL(agent.state, HOST_STOPPED);
	CU_ASSERT_EQUAL(dev.seen.plan.generation, 1);
	rig_erase(O, &k);
	turns();
	CU_ASSERT_EQUAL(agent.state, HOST_UP);
	CU_ASSERT_EQUAL(dev.seen.plan.generation, 2);
	end();
}

static void put_raw(const char *key, const char *value)
{
	struct store_op op = { .key = key, .value = value, .len = strlen(value) };
	struct store_txn t = { .op = &op, .ops = 1 };

	CU_ASSERT_EQUAL(store_txn(other, &t, NULL), 1);
}

/* A key of a later version that this one cannot read is not one that is absent. */
static void t_later(void)
{
	struct key k = { .kind = KEY_HOST, .host = rig_id('h', 1) };
	char text[STORE_KEY_MAX];

	begin();
	put_raw("cluster", "{\"v\":2000,\"op\":\"later\"}");
	turns();
	CU_ASSERT_EQUAL(agent.state, HOST_STOPPED);
	CU_ASSERT(says("\"cluster\" cannot be read"));
	end();
	begin_up();
	OK(key_text(&k, text));
	put_raw(text, "{\"v\":2000,\"op\":\"later\"}");
	turns();
	CU_ASSERT_EQUAL(agent.state, HOST_STOPPED);
	CU_ASSERT(says("key of this host cannot be read"));
	rig_catch_up(O);
	CU_ASSERT_PTR_NULL(host_key());
	end();
}

static void t_nameless(void)
{
	begin();
	dev.name[0] = 0;
	dev.addr[0] = NULL;
	put_cluster(1, 1);
	turns();
	CU_ASSERT_EQUAL(agent.state, HOST_UP);
	CU_ASSERT_PTR_NOT_NULL_FATAL(host_key());
	CU_ASSERT_STRING_EQUAL(host_key()->name, "host-68010000");
	end();
}

static void t_file(void)
{
	begin();
	put_cluster(1, 1);
	dev.get_err = -EUCLEAN;
	turns();
	CU_ASSERT_EQUAL(agent.state, HOST_STOPPED);
	CU_ASSERT(says("\"seen\"") && !host_may(&agent));
	CU_ASSERT_EQUAL(dev.puts, 0);
	dev.get_err = -EINPROGRESS;
	turns();
	CU_ASSERT_EQUAL(dev.puts, 0);
	dev.get_err = 0;
	turns();
	CU_ASSERT_EQUAL(agent.state, HOST_UP);
	end();
}

static void test_store(struct store_sqlite *q)
{
	copy_close(O);
	store_close(other);
	other = store_sqlite_handle(q);
	O = copy_open(other);
	OK(follow(O));
}

/* Put back under a host that runs, and recovered: it follows revisions that are lower than it has seen. */
static void t_recovered_below(void)
{
	struct store_sqlite *older;
	char path[96];

	begin();
	agent_stop();
	S = back_begin(store_sqlite_handle(Q));
	C = copy_open(S);
	OK(follow(C));
	agent.copy = C;
	put_cluster(1, 1);
	turns();
	CU_ASSERT(host_may(&agent));
	snprintf(path, sizeof(path), "%s/older", folder);
	OK(store_sqlite_backup(Q, path));
	for (int i = 0; i < 200; i++)
		put_cluster(1, 1);
	turns();
	CU_ASSERT(host_may(&agent));
	OK(store_sqlite_open(path, &older, why, sizeof(why)));
	back_turn(S, store_sqlite_handle(older));
	test_store(older);
	turns();
	CU_ASSERT(agent.state == HOST_STOPPED && says("was put back"));
	put_cluster(1, 2);
	turns();
	CU_ASSERT(agent.state == HOST_UP && host_may(&agent));
	CU_ASSERT(agent.seen.plan.revision < 100);
	agent_stop();
	test_store(Q);
	store_sqlite_close(older);
	agent_start(1);
	end();
}

static void t_label(void)
{
	begin_up();
	host_label_above(&agent, "the label of /dev/x is above the store");
	CU_ASSERT(!host_may(&agent) && host_stopped(&agent));
	turns();
	CU_ASSERT_EQUAL(agent.state, HOST_STOPPED);
	CU_ASSERT(says("/dev/x"));
	put_cluster(1, 2);
	turns();
	CU_ASSERT_EQUAL(agent.state, HOST_UP);
	turns();
	CU_ASSERT_EQUAL(agent.state, HOST_UP);
	end();
}

/* A drive whose label has an extent of a volume that was created, and attached, since. */
static struct label drive_label;
static u32 drive_writes;

static const struct label *op_label(void *dev)
{
	(void)dev;
	return &drive_label;
}

static int op_no_record(void *dev, const struct label_extent *e, struct layout_head *head)
{
	(void)dev;
	(void)e;
	(void)head;
	return -ENODATA;
}

static int op_write(void *dev, const struct label *l)
{
	(void)dev;
	(void)l;
	drive_writes++;
	return 0;
}

static int op_table(void *dev, const struct label_extent *e)
{
	(void)dev;
	(void)e;
	drive_writes++;
	return 0;
}

static const struct drive_ops drive_ops = {
	.label = op_label, .record = op_no_record, .label_write = op_write, .table = op_table, .zero = op_table,
};

/* As the daemon's loop joins both. */
static void drive_turns(struct drive_agent *d)
{
	for (int i = 0; i < 5; i++) {
		turns();
		d->stopped = host_stopped(&agent);
		CU_ASSERT(drive_turn(d) >= 0);
		if (d->above[0])
			host_label_above(&agent, d->above);
		d->above[0] = 0;
	}
}

/*
 * The store was put back to before an attach, under a host that has not followed it before: the store
 * has room where a volume is. Nothing is decided, and nothing is freed.
 */
static void t_attached_since(void)
{
	static const enum key_kind kinds[] = { KEY_DRIVE, KEY_VOLUME, KEY_ACCESS };
	struct plan_extent x = { .uuid = rig_id('x', 1), .volume = rig_id('v', 1), .state = PLAN_FREEING,
				 .start = 4 << 20, .length = 64 << 20 };
	struct obj_drive o = { .plan = { .uuid = rig_id('d', 1), .host = rig_id('h', 1), .wanted = PLAN_IN, .extents = 1,
					 .extent = &x }, .size = 1ULL << 30, .lba = 512, .path = "/dev/x" };
	struct drive_agent d;

	begin_up();
	for (size_t i = 0; i < 3; i++) {
		OK(copy_follow(C, &(struct key) { .kind = kinds[i] }, 0));
		OK(copy_follow(O, &(struct key) { .kind = kinds[i] }, 0));
	}
	rig_put(O, KEY_DRIVE, &o);
	drive_label = (struct label) { .drive = rig_id('d', 1), .owner = rig_id('h', 1), .size = 1ULL << 30, .lba = 512,
				       .generation = 1, .extents = 1 };
	drive_label.extent[0] = (struct label_extent) { .uuid = x.uuid, .volume = x.volume, .start = x.start,
		.length = x.length, .state = LABEL_READY, .attach = mesh_number(1, 5, 0), .attacher = rig_id('h', 2) };
	rig_catch_up(C);
	d = (struct drive_agent) { .copy = C, .host = rig_id('h', 1), .drive = rig_id('d', 1), .ops = &drive_ops };
	OK(drive_begin(&d));
	drive_turns(&d);
	CU_ASSERT(host_stopped(&agent) && !host_may(&agent) && says("later attachment"));
	CU_ASSERT_EQUAL(drive_writes, 0);
	CU_ASSERT_PTR_NOT_NULL(copy_obj(O, &(struct key) { .kind = KEY_DRIVE, .drive = rig_id('d', 1) }));
	/* A generation that does not bring the volume back is no recover. */
	put_cluster(1, 2);
	drive_turns(&d);
	CU_ASSERT(host_stopped(&agent));
	CU_ASSERT_EQUAL(drive_writes, 0);
	/* The same extent where no host has attached it is of a create that was given up. */
	drive_label.extent[0].attach = 0;
	put_cluster(1, 3);
	drive_turns(&d);
	CU_ASSERT(host_may(&agent) && drive_writes);
	end();
}

static const struct rig_test tests[] = {
	{ "first", t_first },
	{ "durable", t_durable },
	{ "full", t_full },
	{ "put back", t_put_back },
	{ "term", t_term },
	{ "recovered", t_recovered },
	{ "another store", t_other_store },
	{ "emptied", t_emptied },
	{ "recovering", t_recovering },
	{ "later", t_later },
	{ "nameless", t_nameless },
	{ "file", t_file },
	{ "put back, and recovered", t_recovered_below },
	{ "label", t_label },
	{ "attached since", t_attached_since },
};

int main(void)
{
	return rig_main("agent_host", tests, sizeof(tests) / sizeof(tests[0]));
}
