// SPDX-License-Identifier: GPL-2.0-only
/* The agent of a host: which store it follows, by what it has noted before, and the keys of this host. */
#include "tests/unit/host_rig.h"

static const struct obj_host *host_key(void)
{
	return copy_obj(O, &(struct key) { .kind = KEY_HOST, .host = rig_id('h', 1) });
}

static const struct copy_item *alive_item(void)
{
	return copy_get(O, &(struct key) { .kind = KEY_ALIVE, .host = rig_id('h', 1) });
}

static const struct copy_item *device_item(void)
{
	return copy_get(O, &(struct key) { .kind = KEY_DEVICE, .host = rig_id('h', 1) });
}

static bool says(const char *words)
{
	bool ok = strstr(agent.why, words);

	if (!ok)
		printf("\n  \"%s\" has not: %s\n", agent.why, words);
	return ok;
}

static void begin_up(void)
{
	begin();
	put_cluster(1, 1);
	turns();
	CU_ASSERT_EQUAL_FATAL(agent.state, HOST_UP);
}

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

static void put_alive(u8 boot)
{
	struct obj_alive a = { .host = rig_id('h', 1), .boot = rig_id('b', boot), .meshd = "1", .format = 1000 };

	rig_put(O, KEY_ALIVE, &a);
}

static void t_twin(void)
{
	struct key k = { .kind = KEY_ALIVE, .host = rig_id('h', 1) };

	begin();
	put_cluster(1, 1);
	put_alive(2);
	turns();
	CU_ASSERT_EQUAL(agent.state, HOST_TWIN);
	CU_ASSERT(says("host identity new") && !host_may(&agent) && host_stopped(&agent));
	CU_ASSERT_PTR_NULL(host_key());
	rig_erase(O, &k);
	turns();
	CU_ASSERT_EQUAL(agent.state, HOST_UP);
	/* the other one comes later, with its own lease or with the same memory */
	for (u8 boot = 1; boot <= 2; boot++) {
		put_alive(boot);
		turns();
		CU_ASSERT_EQUAL(agent.state, HOST_TWIN);
		CU_ASSERT_EQUAL(alive_item()->lease, 0);
		rig_erase(O, &k);
		turns();
		CU_ASSERT_EQUAL(agent.state, HOST_UP);
	}
	/* this daemon, started again in the same boot, does not wait for its former lease */
	agent_stop();
	agent_start(1);
	turns();
	CU_ASSERT_EQUAL(agent.state, HOST_UP);
	CU_ASSERT_EQUAL(alive_item()->lease, agent.lease);
	/* another boot does */
	agent_stop();
	agent_start(2);
	turns();
	CU_ASSERT_EQUAL(agent.state, HOST_TWIN);
	end();
}

static void t_lease(void)
{
	u64 kept, lease;

	begin_up();
	kept = agent.kept_ms;
	lease = agent.lease;
	now += 19 * SECOND;
	turns();
	CU_ASSERT_EQUAL(agent.kept_ms, kept);
	now += SECOND;
	turns();
	CU_ASSERT_EQUAL(agent.kept_ms, now);
	/* it ended meanwhile */
	OK(store_lease_revoke(other, lease));
	rig_catch_up(O);
	CU_ASSERT_PTR_NULL(alive_item());
	now += 20 * SECOND;
	turns();
	CU_ASSERT_EQUAL(agent.state, HOST_UP);
	CU_ASSERT(agent.lease && agent.lease != lease);
	CU_ASSERT_PTR_NOT_NULL_FATAL(alive_item());
	CU_ASSERT_EQUAL(alive_item()->lease, agent.lease);
	/* before the time to keep it: the key goes, and the put finds out */
	lease = agent.lease;
	OK(store_lease_revoke(other, lease));
	rig_catch_up(C);
	CU_ASSERT_EQUAL(host_turn(&agent, now), 0);
	CU_ASSERT(agent.state == HOST_UP && !host_may(&agent));
	turns();
	CU_ASSERT(agent.state == HOST_UP && host_may(&agent));
	CU_ASSERT_PTR_NOT_NULL(alive_item());
	CU_ASSERT(agent.lease != lease);
	host_end(&agent);
	rig_catch_up(O);
	CU_ASSERT_PTR_NULL(alive_item());
	end();
}

static void t_host(void)
{
	struct obj_host h;
	u64 modified;

	begin_up();
	/* an administrator's members stay */
	h = *host_key();
	strcpy(h.rack, "r1");
	h.plan.maintenance = true;
	h.labels = json_pack("{s:s}", "room", "3");
	rig_put(O, KEY_HOST, &h);
	json_decref(h.labels);
	modified = copy_get(O, &(struct key) { .kind = KEY_HOST, .host = rig_id('h', 1) })->modified;
	strcpy(dev.name, "s2");
	dev.addr[1] = "10.0.0.2";
	now += 9 * SECOND;
	turns();
	CU_ASSERT_EQUAL(copy_get(O, &(struct key) { .kind = KEY_HOST, .host = rig_id('h', 1) })->modified, modified);
	now += SECOND;
	turns();
	CU_ASSERT_STRING_EQUAL(host_key()->name, "s2");
	CU_ASSERT_EQUAL(host_key()->addresses, 2);
	CU_ASSERT_STRING_EQUAL(host_key()->rack, "r1");
	CU_ASSERT(host_key()->plan.maintenance);
	CU_ASSERT_STRING_EQUAL(obj_host_label(host_key(), "room"), "3");
	/* what is not known for now leaves what is there */
	dev.name[0] = 0;
	dev.addr[0] = NULL;
	now += 10 * SECOND;
	turns();
	CU_ASSERT_STRING_EQUAL(host_key()->name, "s2");
	CU_ASSERT_EQUAL(host_key()->addresses, 2);
	/* no change, no write */
	modified = copy_get(O, &(struct key) { .kind = KEY_HOST, .host = rig_id('h', 1) })->modified;
	now += 10 * SECOND;
	turns();
	CU_ASSERT_EQUAL(copy_get(O, &(struct key) { .kind = KEY_HOST, .host = rig_id('h', 1) })->modified, modified);
	/* a module that is loaded later */
	strcpy(dev.module, "0.1");
	now += 10 * SECOND;
	turns();
	CU_ASSERT_STRING_EQUAL(((const struct obj_alive *)alive_item()->obj)->module, "0.1");
	CU_ASSERT_EQUAL(alive_item()->lease, agent.lease);
	/* the role is what its key proves */
	agent.role = PLAN_STORAGE;
	now += 10 * SECOND;
	turns();
	CU_ASSERT_EQUAL(host_key()->plan.role, PLAN_STORAGE);
	end();
}

static void t_removed(void)
{
	struct obj_host h;

	begin_up();
	h = *host_key();
	h.plan.removed = true;
	rig_put(O, KEY_HOST, &h);
	now += 10 * SECOND;
	turns();
	CU_ASSERT_EQUAL(agent.state, HOST_REMOVED);
	CU_ASSERT(says("cluster join") && !host_may(&agent) && host_stopped(&agent));
	CU_ASSERT_EQUAL(agent.lease, 0);
	CU_ASSERT_PTR_NULL(alive_item());
	CU_ASSERT(host_key()->plan.removed);
	end();
}

static void set_disk(u32 at, const char *path, const char *reason)
{
	struct obj_disk *d = &dev.disk[at];

	*d = (struct obj_disk) { .size = 1 << 30, .lba = 512, .exportable = !reason };
	strcpy(d->path, path);
	if (reason)
		strcpy(d->why, reason);
}

static void t_disks(void)
{
	const struct obj_device *d;
	u64 modified;
	u32 scans;

	begin();
	put_cluster(1, 1);
	set_disk(0, "/dev/b", NULL);
	set_disk(1, "/dev/a", "is mounted");
	dev.disks = 2;
	dev.disks_err = -EINPROGRESS;
	turns();
	CU_ASSERT_EQUAL(agent.state, HOST_UP);
	CU_ASSERT_PTR_NULL(device_item());
	dev.disks_err = 0;
	turns();
	CU_ASSERT_PTR_NOT_NULL_FATAL(device_item());
	d = device_item()->obj;
	CU_ASSERT_EQUAL_FATAL(d->disks, 2);
	CU_ASSERT_STRING_EQUAL(d->disk[0].path, "/dev/a");
	modified = device_item()->modified;
	scans = dev.scans;
	/* another order is no change; at most once in 10 s */
	set_disk(0, "/dev/a", "is mounted");
	set_disk(1, "/dev/b", NULL);
	now += 9 * SECOND;
	turns();
	CU_ASSERT_EQUAL(dev.scans, scans);
	now += SECOND;
	turns();
	CU_ASSERT_EQUAL(dev.scans, scans + 1);
	CU_ASSERT_EQUAL(device_item()->modified, modified);
	set_disk(0, "/dev/a", NULL);
	now += 10 * SECOND;
	turns();
	CU_ASSERT(device_item()->modified > modified);
	CU_ASSERT(((const struct obj_device *)device_item()->obj)->disk[0].exportable);
	modified = device_item()->modified;
	/* what the codec refuses stops neither the host nor the next list */
	set_disk(0, "/dev/a", NULL);
	strcpy(dev.disk[0].model, "\x1b[0m");
	now += 10 * SECOND;
	turns();
	CU_ASSERT_EQUAL(agent.state, HOST_UP);
	CU_ASSERT_EQUAL(device_item()->modified, modified);
	dev.disks = 0;
	now += 10 * SECOND;
	turns();
	CU_ASSERT_EQUAL(((const struct obj_device *)device_item()->obj)->disks, 0);
	end();
}

/* The store stops answering, and is back when this host's lease has ended. */
static void t_away(void)
{
	u32 puts, tried;

	begin_up();
	puts = dev.puts;
	away_err = -ETIMEDOUT;
	now += SECOND;
	CU_ASSERT_EQUAL(host_turn(&agent, now), -ETIMEDOUT);
	CU_ASSERT_EQUAL(agent.state, HOST_AWAY);
	CU_ASSERT_EQUAL(agent.since_ms, now);
	CU_ASSERT(says("does not answer") && !host_may(&agent) && !host_stopped(&agent));
	/* each call may take its time-out: not at each turn */
	tried = away_calls;
	now += SECOND;
	CU_ASSERT_EQUAL(host_turn(&agent, now), 0);
	CU_ASSERT_EQUAL(away_calls, tried);
	CU_ASSERT_EQUAL(agent.state, HOST_AWAY);
	now += SECOND;
	CU_ASSERT_EQUAL(host_turn(&agent, now), -ETIMEDOUT);
	CU_ASSERT_EQUAL(agent.since_ms, now - 2 * SECOND);
	CU_ASSERT_EQUAL(dev.puts, puts);
	/* its lease ended meanwhile */
	OK(store_lease_revoke(other, agent.lease));
	away_err = 0;
	now += 60 * SECOND;
	turns();
	CU_ASSERT_EQUAL(agent.state, HOST_UP);
	CU_ASSERT_EQUAL(agent.since_ms, now);
	CU_ASSERT(alive_item() && alive_item()->lease == agent.lease);
	CU_ASSERT_STRING_EQUAL(agent.why, "");
	end();
}

static void t_found(void)
{
	struct muuid u = rig_id('c', 7), v = rig_id('c', 8);
	const struct obj_cluster *c;
	char words[OBJ_WHY];

	begin();
	CU_ASSERT_EQUAL(host_found(other, &u, "", words), 1);
	rig_catch_up(O);
	c = copy_obj(O, &(struct key) { .kind = KEY_CLUSTER });
	CU_ASSERT_PTR_NOT_NULL_FATAL(c);
	CU_ASSERT(muuid_equal(&c->plan.uuid, &u) && c->plan.generation == 1);
	CU_ASSERT_EQUAL(c->plan.format, OBJ_FORMAT(OBJ_MAJOR, OBJ_MINOR));
	/* once */
	CU_ASSERT_EQUAL(host_found(other, &v, "", words), 0);
	rig_catch_up(O);
	c = copy_obj(O, &(struct key) { .kind = KEY_CLUSTER });
	CU_ASSERT(muuid_equal(&c->plan.uuid, &u));
	turns();
	CU_ASSERT_EQUAL(agent.state, HOST_UP);
	end();
	/* a store that lost this key alone is no new one */
	begin();
	put_alive(3);
	CU_ASSERT_EQUAL(host_found(other, &u, "", words), 0);
	rig_catch_up(O);
	CU_ASSERT_PTR_NULL(copy_obj(O, &(struct key) { .kind = KEY_CLUSTER }));
	end();
}

static const struct rig_test tests[] = {
	{ "first", t_first },
	{ "durable", t_durable },
	{ "put back", t_put_back },
	{ "term", t_term },
	{ "recovered", t_recovered },
	{ "another store", t_other_store },
	{ "emptied", t_emptied },
	{ "recovering", t_recovering },
	{ "later", t_later },
	{ "nameless", t_nameless },
	{ "file", t_file },
	{ "label", t_label },
	{ "twin", t_twin },
	{ "lease", t_lease },
	{ "host", t_host },
	{ "removed", t_removed },
	{ "disks", t_disks },
	{ "away", t_away },
	{ "found", t_found },
};

int main(void)
{
	return rig_main("agent_host", tests, sizeof(tests) / sizeof(tests[0]));
}
