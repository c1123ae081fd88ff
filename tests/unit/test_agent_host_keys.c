// SPDX-License-Identifier: GPL-2.0-only
/* The agent of a host: its own keys in the store, and a second machine that has its UUID. */
#include "tests/unit/host_rig.h"

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
	CU_ASSERT(says("'meshd --identity new'") && !host_may(&agent) && host_stopped(&agent));
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
	CU_ASSERT(says("keeps the drives that it serves") && says("makes it a member again"));
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

static void t_smart(void)
{
	u64 modified;

	begin();
	put_cluster(1, 1);
	set_disk(0, "/dev/a", NULL);
	dev.disks = 1;
	turns();
	modified = device_item()->modified;
	/* some degrees are no change, percents of use are */
	dev.disk[0].smart = (struct obj_smart) { .known = true, .temperature = 40, .used = 7 };
	now += 10 * SECOND;
	turns();
	CU_ASSERT(device_item()->modified > modified);
	modified = device_item()->modified;
	dev.disk[0].smart.temperature = 44;
	now += 10 * SECOND;
	turns();
	CU_ASSERT_EQUAL(device_item()->modified, modified);
	dev.disk[0].smart.temperature = 35;
	now += 10 * SECOND;
	turns();
	CU_ASSERT(device_item()->modified > modified);
	modified = device_item()->modified;
	dev.disk[0].smart.temperature = 40;
	now += 10 * SECOND;
	turns();
	CU_ASSERT(device_item()->modified > modified);
	modified = device_item()->modified;
	dev.disk[0].smart.used = 8;
	now += 10 * SECOND;
	turns();
	CU_ASSERT(device_item()->modified > modified);
	CU_ASSERT_EQUAL(((const struct obj_device *)device_item()->obj)->disk[0].smart.used, 8);
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
	{ "twin", t_twin },
	{ "lease", t_lease },
	{ "host", t_host },
	{ "removed", t_removed },
	{ "disks", t_disks },
	{ "SMART values", t_smart },
	{ "away", t_away },
	{ "found", t_found },
};

int main(void)
{
	return rig_main("agent_host_keys", tests, sizeof(tests) / sizeof(tests[0]));
}
