// SPDX-License-Identifier: GPL-2.0-only
/* Volumes of a kernel that is made up: what it gets, and what the agent sees of it. */
#include "tests/unit/kernel_rig.h"

static void test_set(void)
{
	const struct obj_io io = { .timeout_ms = 70, .queue_depth = 8 };
	u16 bar[] = { 1 };
	struct attach_set a = the_set();

	begin();
	make_layout(true);
	a.layout = &L;
	a.io = &io;
	a.fresh = true;
	a.preempt = true;
	a.served = NUMBER(4);
	a.barred = 1;
	a.bar = bar;
	OK(set(&a));
	CU_ASSERT_EQUAL(K.sets, 1);
	CU_ASSERT(muuid_equal(&K.set.uuid, &L.volume) && !strcmp(K.set.name, "db"));
	CU_ASSERT(K.set.numbered && K.set.attach == NUMBER(5) && K.set.served == NUMBER(4));
	CU_ASSERT(K.set.version == 3 && K.set.lba == 512 && !K.set.readonly && K.set.salt == SALT);
	CU_ASSERT(K.set.io_timeout_ms == 70 && K.set.queue_depth == 8);
	CU_ASSERT_FATAL(K.set.nr_members == 3 && K.set.nr_segments == 2);
	CU_ASSERT(!K.set.segments[0].fresh && K.set.segments[1].fresh && K.set.segments[1].nr_places == 2 &&
		  K.set.segments[1].members[1] == 2 && K.set.segments[1].offsets[0] == L.ref[1].offset);
	CU_ASSERT_EQUAL(K.set.segments[0].strip, LAYOUT_NO_STRIP);
	/* Member 1 is at the kernel's place 1: the first reference is member 0's. */
	CU_ASSERT(K.set.nr_bars == 1 && K.set.bars[0] == 1);
	for (u32 i = 0; i < 3; i++) {
		const struct meshblk_member *m = &K.set.members[i];
		u32 t = at_of(m->target_id);

		CU_ASSERT(m->kind == MESHBLK_KIND_RDDA && m->preempt && m->size == 64ULL << 20);
		CU_ASSERT(muuid_equal(&m->extent, &L.member[i].extent) && muuid_equal(&m->drive, &L.member[i].drive));
		CU_ASSERT_FATAL(t < K.targets);
		CU_ASSERT(K.target[t].host.b[1] == i + 1 && K.target[t].addr[7] == (char)('1' + i));
		CU_ASSERT_EQUAL(K.target[t].port, 4421);
	}
	CU_ASSERT_EQUAL(K.targets, 3);
	/* The record says fresh as long as it has its version, the object no longer. */
	a.fresh = false;
	a.readonly = true;
	OK(set(&a));
	CU_ASSERT(!K.set.segments[1].fresh && K.set.readonly && K.targets == 3);
	end();
}

/* A bar is by members, and the kernel's by references, which a layout may have in another order. */
static void test_set_bars(void)
{
	u16 bar[] = { 2, 0 };
	struct attach_set a = the_set();

	begin();
	make_layout(true);
	L.ref[1].member = 2;
	L.ref[2].member = 1;
	a.barred = 1;
	a.bar = bar;
	OK(set(&a));
	CU_ASSERT(K.set.nr_bars == 1 && K.set.bars[0] == 1);
	end();
}

static void test_set_errors(void)
{
	struct attach_set a = the_set();

	begin();
	K.set_err = -ESTALE;
	CU_ASSERT_EQUAL(set(&a), -ESTALE);
	CU_ASSERT_PTR_NOT_NULL(strstr(op->words(V), "the kernel's words"));
	/* The result is taken: the next call sends it again. */
	K.set_err = 0;
	OK(set(&a));
	CU_ASSERT_EQUAL(K.sets, 2);
	end();
}

/* Other arguments while it goes on: what it says is not their result. */
static void test_set_other(void)
{
	bool open[] = { true, true };
	u16 bar[] = { 1 };
	struct attach_set a = the_set();

	begin();
	a.barred = 1;
	a.bar = bar;
	a.open = open;
	for (u32 i = 0; i < 4; i++) {
		lock();
		K.sets = 0;
		K.set_waits = true;
		unlock();
		CU_ASSERT_EQUAL(op->set(V, &a), -EINPROGRESS);
		if (i == 0)
			a.number = NUMBER(6);
		else if (i == 1)
			bar[0] = 0;
		else if (i == 2)
			open[1] = false;
		CU_ASSERT_EQUAL(op->set(V, &a), -EINPROGRESS);
		lock();
		K.set_waits = false;
		pthread_cond_broadcast(&moved);
		unlock();
		OK(set(&a));
		CU_ASSERT_EQUAL(K.sets, i < 3 ? 2 : 1);
	}
	CU_ASSERT(K.set.attach == NUMBER(6) && K.set.bars[0] == 0);
	end();
}

/* The daemon and the kernel's targets. */
static void restart(void)
{
	volumes_close(V);
	K.targets = 0;
	open_volumes();
	OK(volumes_begin(V));
}

static void test_set_away(void)
{
	struct attach_set a = the_set();

	begin();
	/* host 2 has no address but that of the layout */
	rig_erase(A, &(struct key) { .kind = KEY_HOST, .host = rig_id('h', 2) });
	OK(set(&a));
	CU_ASSERT_STRING_EQUAL(K.target[at_of(K.set.members[1].target_id)].addr, "10.9.9.9");
	restart();
	L.member[1].addr[0] = 0;
	OK(set(&a));
	CU_ASSERT(K.set.members[0].kind == MESHBLK_KIND_RDDA);
	CU_ASSERT(K.set.members[1].kind == MESHBLK_KIND_BDEV && !K.set.members[1].path[0]);
	CU_ASSERT(muuid_equal(&K.set.members[1].drive, &L.member[1].drive));
	/* Of a volume without redundancy none may be away. */
	make_layout(true);
	L.member[0].addr[0] = 0;
	rig_erase(A, &(struct key) { .kind = KEY_HOST, .host = rig_id('h', 1) });
	restart();
	CU_ASSERT_EQUAL(set(&a), -EHOSTUNREACH);
	CU_ASSERT_PTR_NOT_NULL(strstr(op->words(V), "no address"));
	end();
}

static void test_closed(void)
{
	bool open[] = { true, false };
	struct attach_set a = the_set();
	struct meshblk_member has[] = { { .extent = rig_id('x', 2), .kind = MESHBLK_KIND_RDDA, .target_id = 1 } };

	begin();
	a.open = open;
	/* Its host is not alive: the kernel cannot open it either. */
	OK(set(&a));
	put_alive(2);
	put_device(2, 2);
	CU_ASSERT_EQUAL(set(&a), -EAGAIN);
	CU_ASSERT_PTR_NOT_NULL(strstr(op->words(V), "member 1"));
	CU_ASSERT_EQUAL(K.sets, 1);
	/* The kernel has it open under the version before. */
	kernel_has(MESHBLK_STATE_ACTIVE);
	K.v.members = has;
	K.v.nr_members = 1;
	K.v.version = 2;
	OK(set(&a));
	K.v.nr_members = 0;
	op->kernels(V, NULL, 0);
	CU_ASSERT_EQUAL(set(&a), -EAGAIN);
	open[1] = true;
	OK(set(&a));
	end();
}

static void store_host(u8 h, u8 role, bool removed)
{
	struct obj_address addr = { .addr = "10.0.0.9" };
	struct obj_host host = { .plan = { .uuid = rig_id('h', h), .role = role, .removed = removed },
				 .addresses = 1, .address = &addr };

	snprintf(host.name, sizeof(host.name), "s%u", h);
	rig_put(A, KEY_HOST, &host);
	rig_catch_up(A);
}

/* The daemon's host is 1; the members are on hosts 1 and 2. */
static void test_beside_store(void)
{
	struct attach_set a = the_set();

	begin();
	OK(set(&a));
	CU_ASSERT_FALSE(K.set.beside_store);
	store_host(2, PLAN_STORE, false);
	restart();
	OK(set(&a));
	CU_ASSERT(K.set.beside_store);
	/* Another store host serves the witness. */
	store_host(1, PLAN_STORE, false);
	restart();
	OK(set(&a));
	CU_ASSERT_FALSE(K.set.beside_store);
	store_host(1, PLAN_STORAGE, false);
	store_host(4, PLAN_STORE, true);
	restart();
	OK(set(&a));
	CU_ASSERT(K.set.beside_store);
	/* A store host that has no member, or that is this host. */
	store_host(2, PLAN_STORAGE, false);
	store_host(4, PLAN_STORE, false);
	restart();
	OK(set(&a));
	CU_ASSERT_FALSE(K.set.beside_store);
	store_host(4, PLAN_CLIENT, false);
	store_host(1, PLAN_STORE, false);
	restart();
	OK(set(&a));
	CU_ASSERT_FALSE(K.set.beside_store);
	end();
}

/* A drive that its host lacks, or that was given up: no agent rolls it forward, so nothing waits for it. */
static void test_closed_away(void)
{
	const bool open[] = { true, false };
	struct attach_set a = the_set();
	struct plan_extent x = { .uuid = rig_id('x', 2), .volume = rig_id('v', 1), .place = 1, .state = PLAN_READY,
				 .start = 5ULL << 20, .length = 64ULL << 20 };
	struct obj_drive d = { .plan = { .uuid = rig_id('d', 2), .host = rig_id('h', 2), .extents = 1, .extent = &x },
			       .size = 1ULL << 30, .lba = 512, .path = "/dev/nvme0n1" };

	begin();
	a.open = open;
	put_alive(2);
	put_device(2, 2);
	CU_ASSERT_EQUAL(set(&a), -EAGAIN);
	put_device(2, 0);
	OK(set(&a));
	restart();
	put_device(2, 2);
	CU_ASSERT_EQUAL(set(&a), -EAGAIN);
	d.plan.wanted = PLAN_DRAINING;
	rig_put(A, KEY_DRIVE, &d);
	rig_catch_up(A);
	CU_ASSERT_EQUAL(set(&a), -EAGAIN);
	d.plan.wanted = PLAN_FORGOTTEN;
	rig_put(A, KEY_DRIVE, &d);
	rig_catch_up(A);
	OK(set(&a));
	end();
}

/* Two numbers of one volume are written, one after another: neither is written again for the other. */
static void test_local_numbers(void)
{
	struct attach_set a = the_set();

	begin();
	put_drive(1, 1, true);
	D.label.extents = 2;
	D.label.extent[1] = D.label.extent[0];
	D.label.extent[1].uuid = rig_id('x', 2);
	D.label.extent[1].start = 70ULL << 20;
	L.member[1].drive = rig_id('d', 1);
	L.member[1].target = rig_id('h', 1);
	for (u32 i = 1; i <= 2; i++) {
		memset(D.begun, 0, sizeof(D.begun));
		D.calls[i] = 1;
		D.calls[3 - i] = 3;
		a.number = NUMBER(5 + i);
		OK(set(&a));
		CU_ASSERT(D.begun[1] == 1 && D.begun[2] == 1);
		CU_ASSERT(!D.kept[1] && !D.kept[2]);
	}
	/* A result that refuses is not kept either: the next attempt begins again. */
	D.err = -ESTALE;
	a.number = NUMBER(8);
	CU_ASSERT_EQUAL(set(&a), -ESTALE);
	CU_ASSERT(!D.kept[1] && !D.kept[2]);
	/* Nor is one by which a drive counts as away. */
	D.err = -EIO;
	OK(set(&a));
	CU_ASSERT(!D.kept[1] && !D.kept[2]);
	D.err = 0;
	OK(set(&a));
	end();
}

static void test_local(void)
{
	struct attach_set a = the_set();

	begin();
	put_drive(1, 1, true);
	a.served = NUMBER(3);
	D.err = -EINPROGRESS;
	CU_ASSERT_EQUAL(op->set(V, &a), -EINPROGRESS);
	CU_ASSERT(D.numbers == 1 && D.number == NUMBER(5) && D.served == NUMBER(3));
	CU_ASSERT_EQUAL(K.sets, 0);
	D.err = 0;
	OK(set(&a));
	CU_ASSERT_EQUAL(D.numbers, 2);
	CU_ASSERT(K.sets == 1 && K.set.members[0].kind == MESHBLK_KIND_BDEV);
	CU_ASSERT_STRING_EQUAL(K.set.members[0].path, "/dev/nvme9n1");
	CU_ASSERT(K.set.members[0].start == 5ULL << 20 && K.set.members[1].kind == MESHBLK_KIND_RDDA);
	a.number = NUMBER(6);
	D.err = -ESTALE;
	CU_ASSERT_EQUAL(set(&a), -ESTALE);
	/* No group does without it. */
	make_layout(true);
	D.err = -EIO;
	CU_ASSERT_EQUAL(set(&a), -EIO);
	make_layout(false);
	/* Something else has the device. */
	D.err = -EBUSY;
	CU_ASSERT_EQUAL(set(&a), -EBUSY);
	CU_ASSERT(strstr(op->words(V), "(/dev/nvme9n1) is mounted") != NULL);
	CU_ASSERT_EQUAL(K.sets, 1);
	D.err = 0;
	/* A reader writes no number, and compares. */
	D.numbers = 0;
	a.readonly = true;
	OK(set(&a));
	D.label.extent[0].attach = NUMBER(7);
	a.preempt = true;
	CU_ASSERT_EQUAL(set(&a), -ESTALE);
	CU_ASSERT(!D.numbers && D.readers == 2);
	D.use = 5;
	CU_ASSERT_EQUAL(op->local(V, &D.label.drive), 5);
	CU_ASSERT_EQUAL(op->local(V, &a.volume), 0);
	/* Away, at the same byte. */
	D.away = true;
	OK(set(&a));
	CU_ASSERT(K.set.members[0].kind == MESHBLK_KIND_BDEV && !K.set.members[0].path[0] &&
		  K.set.members[0].start == 5ULL << 20);
	/* A local drive of another host. */
	put_drive(2, 2, true);
	make_layout(true);
	L.member[1].drive = rig_id('d', 1);
	L.member[0].drive = rig_id('d', 2);
	CU_ASSERT_EQUAL(set(&a), -EREMOTE);
	end();
}

static bool set_away(void)
{
	return K.set.members[0].kind == MESHBLK_KIND_BDEV && !K.set.members[0].path[0] &&
	       K.set.members[0].start == 5ULL << 20;
}

static u64 use(void)
{
	return op->local(V, &D.label.drive);
}

/* A drive of a group fails, or hangs: the group decides without it, until it would do again. */
static void test_local_fails(void)
{
	struct attach_set a = the_set();
	u64 was;

	begin();
	put_drive(1, 1, true);
	D.use = 5;
	D.err = -EIO;
	OK(set(&a));
	CU_ASSERT(K.sets == 1 && set_away() && !D.kept[1]);
	volumes_watch(V, 20000);
	was = use();
	CU_ASSERT_NOT_EQUAL(was, 5);
	volumes_watch(V, 40000);
	CU_ASSERT(use() != 5 && use() != was);
	D.err = 0;
	OK(set(&a));
	CU_ASSERT_STRING_EQUAL(K.set.members[0].path, "/dev/nvme9n1");
	CU_ASSERT_EQUAL(use(), 5);
	D.hangs = true;
	D.err = -EINPROGRESS;
	OK(set(&a));
	CU_ASSERT(K.sets == 3 && set_away());
	was = use();
	CU_ASSERT_NOT_EQUAL(was, 5);
	volumes_watch(V, 60000);
	CU_ASSERT_EQUAL(use(), was);
	D.hangs = false;
	D.err = 0;
	CU_ASSERT(use() != 5 && use() != was);
	OK(set(&a));
	CU_ASSERT(!set_away() && use() == 5);
	end();
}

/* The kernel could not open what it was given: it gets that again from time to time. */
static void test_local_gone(void)
{
	struct meshblk_member has = { .extent = rig_id('x', 1), .drive = rig_id('d', 1),
				      .kind = MESHBLK_KIND_BDEV, .state = MESHBLK_STATE_GONE };
	struct attach_kernel k;
	u64 was;

	begin();
	put_drive(1, 1, true);
	D.use = 5;
	kernel_has(MESHBLK_STATE_ACTIVE);
	K.v.members = &has;
	K.v.nr_members = 1;
	OK(op->kernel(V, &L.volume, &k));
	was = use();
	CU_ASSERT_NOT_EQUAL(was, 5);
	volumes_watch(V, 20000);
	CU_ASSERT_NOT_EQUAL(use(), was);
	/* Of one that is away no path is known. */
	D.away = true;
	CU_ASSERT_EQUAL(use(), 5);
	D.away = false;
	strcpy(has.state, MESHBLK_STATE_UP);
	op->kernels(V, NULL, 0);
	OK(op->kernel(V, &L.volume, &k));
	CU_ASSERT_EQUAL(use(), 5);
	end();
}

/* Of one version the kernel keeps each member as it got it. */
static void test_targets_kept(void)
{
	struct meshblk_member has[] = {
		{ .extent = rig_id('x', 1), .kind = MESHBLK_KIND_RDDA, .target_id = 7 },
		{ .extent = rig_id('x', 2), .kind = MESHBLK_KIND_BDEV },
	};
	struct attach_set a = the_set();

	begin();
	/* The daemon before this one set target 7; no session was made since. */
	volumes_close(V);
	K.targets = 1;
	K.target[0] = (struct meshblk_target) { .id = 7, .addr = "10.7.7.7", .port = 4421 };
	open_volumes();
	OK(volumes_begin(V));
	kernel_has(MESHBLK_STATE_ACTIVE);
	K.v.members = has;
	K.v.nr_members = 2;
	OK(set(&a));
	CU_ASSERT_EQUAL(K.set.members[0].target_id, 7);
	CU_ASSERT(K.set.members[1].kind == MESHBLK_KIND_BDEV && !K.set.members[1].path[0]);
	CU_ASSERT_STRING_EQUAL(K.target[0].addr, "10.0.0.1");	/* the kernel's doing: it has no members there */
	/* The drive is on another host by now. */
	put_drive(1, 3, false);
	a.preempt = true;
	OK(set(&a));
	CU_ASSERT_EQUAL(K.set.members[0].target_id, 7);
	L.version = 4;
	OK(set(&a));
	CU_ASSERT(K.set.members[0].target_id != 7 && K.set.members[1].kind == MESHBLK_KIND_RDDA);
	CU_ASSERT_STRING_EQUAL(K.target[at_of(K.set.members[0].target_id)].addr, "10.0.0.3");
	end();
}

/* A target without a host yet is the one at the host's address. */
static void test_targets_adopted(void)
{
	struct attach_set a = the_set();

	begin();
	volumes_close(V);
	K.targets = 2;
	K.target[0] = (struct meshblk_target) { .id = 1, .addr = "10.0.0.9", .port = 4421 };
	K.target[1] = (struct meshblk_target) { .id = 2, .addr = "10.0.0.2", .port = 4421 };
	open_volumes();
	OK(volumes_begin(V));
	OK(set(&a));
	CU_ASSERT(K.set.members[0].target_id == 3 && K.set.members[1].target_id == 2);
	end();
}

static void target_event(u32 id, const char *state, int err)
{
	K.event[0] = (struct mesh_event) { .event = MESHBLK_EV_TARGET_STATE, .id = id, .error = err };
	strcpy(K.event[0].state, state);
	K.events = 1;
	volumes_events(V);
}

static void test_addresses(void)
{
	struct attach_set a = the_set();
	struct attach_found f[2];
	u32 id;

	begin();
	put_host(2, "10.0.0.2", "10.1.0.2");
	OK(probe(f));
	id = K.target[0].host.b[1] == 2 ? K.target[0].id : K.target[1].id;
	CU_ASSERT_STRING_EQUAL(K.target[at_of(id)].addr, "10.0.0.2");
	target_event(id, MESHBLK_STATE_DOWN, -ETIMEDOUT);
	OK(probe(f));
	CU_ASSERT_STRING_EQUAL(K.target[at_of(id)].addr, "10.1.0.2");
	CU_ASSERT_EQUAL(K.target[at_of(id)].port, 999);
	/* It is up: the address stays. */
	target_event(id, MESHBLK_STATE_DOWN, -ETIMEDOUT);
	target_event(id, MESHBLK_STATE_UP, 0);
	OK(probe(f));
	CU_ASSERT_STRING_EQUAL(K.target[at_of(id)].addr, "10.1.0.2");
	/* The host has moved. */
	put_host(2, "10.2.0.2", NULL);
	K.used[id] = true;
	OK(set(&a));
	CU_ASSERT_EQUAL(K.set.members[1].target_id, id);
	CU_ASSERT_STRING_EQUAL(K.target[at_of(id)].addr, "10.1.0.2");
	K.used[id] = false;
	OK(probe(f));
	CU_ASSERT_STRING_EQUAL(K.target[at_of(id)].addr, "10.2.0.2");
	target_event(id, MESHBLK_STATE_DOWN, -ETIMEDOUT);
	OK(probe(f));
	CU_ASSERT_STRING_EQUAL(K.target[at_of(id)].addr, "10.2.0.2");
	end();
}

static void test_probe(void)
{
	struct attach_found f[2];

	begin();
	K.connects = 3;
	K.probe = (struct meshblk_probe) { .attach = NUMBER(4), .attacher = rig_id('h', 2), .writers = 1,
					   .readers = 2, .unknown = true };
	OK(probe(f));
	CU_ASSERT_EQUAL(K.probes, 2);
	CU_ASSERT(!f[0].err && f[0].number == NUMBER(5) && f[1].number == NUMBER(6));
	CU_ASSERT(f[0].unknown && f[0].writers == 1 && f[0].readers == 2 && f[0].attacher.b[1] == 2);
	/* Each call is a probe of its own. */
	K.probe_err = -ENODEV;
	OK(probe(f));
	CU_ASSERT(K.probes == 4 && f[0].err == -ENODEV && f[1].err == -ENODEV && !f[1].number);
	/* A target that fails has no session: nothing is sent to it. */
	K.probe_err = 0;
	strcpy(K.target[at_of(1)].state, MESHBLK_STATE_DOWN);
	K.target[at_of(1)].error = -ECONNREFUSED;
	K.lists = 0;
	OK(probe(f));
	CU_ASSERT_EQUAL(K.lists, 1);
	CU_ASSERT(K.probes == 5 && f[0].err == -ENOLINK && !f[1].err);
	end();
}

/* With an extent that leaves behind the members it is another probe than the one that goes on. */
static void test_probe_more(void)
{
	struct attach_found f[3];

	begin();
	CU_ASSERT_EQUAL(op->probe(V, &L, f), -EINPROGRESS);
	L.member[2] = L.member[1];
	L.member[2].extent = rig_id('x', 3);
	L.members = 3;
	OK(probe(f));
	CU_ASSERT(!f[0].err && !f[1].err && !f[2].err);
	end();
}

/* Two members of a host that does not answer cost one wait. */
static void test_probe_silent(void)
{
	struct attach_found f[2];

	begin();
	put_drive(2, 1, false);
	K.probe_err = -ETIMEDOUT;
	OK(probe(f));
	CU_ASSERT(K.probes == 1 && f[0].err == -ETIMEDOUT && f[1].err == -ENOLINK);
	end();
}

static void test_probe_local(void)
{
	struct attach_found f[2];

	begin();
	put_drive(1, 1, true);
	put_drive(2, 2, true);
	OK(probe(f));
	CU_ASSERT(!f[0].err && f[0].number == NUMBER(4) && f[0].attacher.b[1] == 1 && f[1].err == -EREMOTE);
	CU_ASSERT_EQUAL(K.probes, 0);
	D.away = true;
	OK(probe(f));
	CU_ASSERT_EQUAL(f[0].err, -ENODEV);
	end();
}

static void test_states(void)
{
	static const struct { const char *word; u8 state; } states[] = {
		{ MESHBLK_STATE_OPENING, ATTACH_OPENING }, { MESHBLK_STATE_ACTIVE, ATTACH_SERVING },
		{ MESHBLK_STATE_WAITING, ATTACH_SERVING }, { MESHBLK_STATE_BROKEN, ATTACH_SERVING },
		{ MESHBLK_STATE_REMOVING, ATTACH_ENDING }, { MESHBLK_STATE_FENCED, ATTACH_FENCED },
	};
	struct attach_kernel k;
	struct muuid all[2];

	begin();
	OK(op->kernel(V, &L.volume, &k));
	CU_ASSERT_EQUAL(k.state, ATTACH_ABSENT);
	CU_ASSERT_EQUAL(op->kernels(V, all, 2), 0);
	for (size_t i = 0; i < ARRAY_SIZE(states); i++) {
		kernel_has(states[i].word);
		OK(op->kernel(V, &L.volume, &k));
		CU_ASSERT_EQUAL(k.state, states[i].state);
		CU_ASSERT(k.number == (NUMBER(5) | 7) && k.version == 3 && !k.held && !k.readonly);
	}
	/* What is not numbered is another program's. */
	CU_ASSERT(op->kernels(V, all, 2) == 1 && muuid_equal(&all[0], &L.volume));
	K.get_err = -EIO;
	CU_ASSERT_EQUAL(op->kernel(V, &L.volume, &k), -EIO);
	CU_ASSERT_PTR_NOT_NULL(strstr(op->words(V), "the kernel's words"));
	end();
}

static void test_kernel(void)
{
	struct meshblk_member m[] = { { .error = -EBUSY }, { .error = -EBUSY, .holder = rig_id('h', 3) } };
	static struct meshblk_group g;
	u32 bars[] = { 2, 11, 40 };
	struct attach_kernel k;

	begin();
	kernel_has(MESHBLK_STATE_OPENING);
	g = (struct meshblk_group) { .place = 10, .nr = 2, .members = { 6, 5 }, .reason = "too few" };
	K.v.members = m;
	K.v.nr_members = 2;
	K.v.groups = &g;
	K.v.nr_groups = 1;
	K.v.bars = bars;
	K.v.nr_bars = 3;
	K.v.served = NUMBER(4);
	K.v.fenced = NUMBER(9);
	K.v.fencer = rig_id('h', 2);
	K.v.openers = 2;
	K.v.readonly = true;
	strcpy(K.v.disk, "mesh3");
	OK(op->kernel(V, &L.volume, &k));
	CU_ASSERT(k.held && k.holder.b[1] == 3);
	CU_ASSERT(k.barred == 1 && k.bar[0] == 5);
	CU_ASSERT(k.served == NUMBER(4) && k.fenced_by == NUMBER(9) && k.fencer.b[1] == 2);
	CU_ASSERT(k.openers == 2 && k.readonly && !strcmp(k.disk, "mesh3"));
	CU_ASSERT_STRING_EQUAL(k.reason, "too few");
	/* I/O that was given up at a device is no holder. */
	K.v.nr_members = 1;
	op->kernels(V, NULL, 0);
	OK(op->kernel(V, &L.volume, &k));
	CU_ASSERT(!k.held);
	/* One that serves has no member that holds up its attach. */
	K.v.nr_members = 2;
	strcpy(K.v.state, MESHBLK_STATE_ACTIVE);
	op->kernels(V, NULL, 0);
	OK(op->kernel(V, &L.volume, &k));
	CU_ASSERT(!k.held);
	end();
}

/* The kernel is read once in a turn, and again after an event. */
static void test_cache(void)
{
	struct attach_kernel k;

	begin();
	kernel_has(MESHBLK_STATE_OPENING);
	K.gets = 0;
	OK(op->kernel(V, &L.volume, &k));
	OK(op->kernel(V, &L.volume, &k));
	CU_ASSERT_EQUAL(K.gets, 1);
	strcpy(K.v.state, MESHBLK_STATE_ACTIVE);
	K.event[0] = (struct mesh_event) { .event = MESHBLK_EV_VOLUME_STATE, .uuid = L.volume };
	K.events = 1;
	volumes_events(V);
	OK(op->kernel(V, &L.volume, &k));
	CU_ASSERT_EQUAL(k.state, ATTACH_SERVING);
	strcpy(K.v.state, MESHBLK_STATE_FENCED);
	op->kernels(V, NULL, 0);
	OK(op->kernel(V, &L.volume, &k));
	CU_ASSERT_EQUAL(k.state, ATTACH_FENCED);
	end();
}

/* What this host has just done shows within the same turn. */
static void test_cache_set(void)
{
	struct attach_set a = the_set();
	struct attach_kernel k;

	begin();
	OK(op->kernel(V, &L.volume, &k));
	CU_ASSERT_EQUAL(k.state, ATTACH_ABSENT);
	CU_ASSERT_EQUAL(op->set(V, &a), -EINPROGRESS);
	K.v = (struct meshblk_volume) { .uuid = L.volume, .numbered = true, .state = MESHBLK_STATE_OPENING };
	K.there = true;
	OK(set(&a));
	OK(op->kernel(V, &L.volume, &k));
	CU_ASSERT_EQUAL(k.state, ATTACH_OPENING);
	end();
}

int main(void)
{
	static const struct rig_test tests[] = {
		{ "a layout to the kernel", test_set },
		{ "bars are by members", test_set_bars },
		{ "errors", test_set_errors },
		{ "arguments that change", test_set_other },
		{ "members without a way", test_set_away },
		{ "members that must not be opened yet", test_closed }, { "away, not waited for", test_closed_away }, { "beside the store", test_beside_store },
		{ "local drives", test_local },
		{ "numbers of local drives", test_local_numbers },
		{ "local drives that fail", test_local_fails },
		{ "local drives that the kernel did not open", test_local_gone },
		{ "members stay with their targets", test_targets_kept },
		{ "targets of the daemon before", test_targets_adopted },
		{ "addresses of a host", test_addresses },
		{ "a probe of all members", test_probe },
		{ "a target that is silent", test_probe_silent },
		{ "a probe of local drives", test_probe_local },
		{ "a probe of more members", test_probe_more },
		{ "states", test_states },
		{ "what the kernel has of a volume", test_kernel },
		{ "what is read once in a turn", test_cache },
		{ "a set shows in the same turn", test_cache_set },
	};

	return rig_main("volumes of a kernel", tests, ARRAY_SIZE(tests));
}
