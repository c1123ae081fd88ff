// SPDX-License-Identifier: GPL-2.0-only
/* Recover: how far what hosts hand in is believed, of clients above all, and what comes late. */
#include "tests/unit/recover_rig.h"

/* A mirror that host 1 has attached, a stripe that no host has; host 2 is a client, its drives local. */
static void begin(bool client)
{
	world_begin();
	for (int d = 4; client && d < DRIVES; d++)
		W.d[d].label.flags = LABEL_F_LOCAL;
	if (client)
		W.role[2] = ra[2].role = PLAN_CLIENT;
	do_create(0, "mirror", PROT_MIRROR, 0, 2);
	do_create(1, "stripe", PROT_STRIPE, 1, 3);
	do_attach(0, 1);
}

static int recover_now(void)
{
	struct recover r = recover_of(0);


	return recover_run(&r);
}

static u64 version_of(int v)
{
	const struct obj_volume *o = seen(KEY_VOLUME, v);

	return o ? o->record->version : 0;
}

static const struct obj_drive *drive_now(int d)
{
	rig_catch_up(O);
	return copy_obj(O, &(struct key) { .kind = KEY_DRIVE, .drive = did(d) });
}

/* Generation */

static void t_generation_client(void)
{
	begin(true);
	store_write(&T);
	W.followed[2] = 12;
	W.d[5].label.generation = 14;
	CU_ASSERT_EQUAL(recover_now(), 1);
	CU_ASSERT_EQUAL(generation_now(), 2);
	world_end();
}

/* Of the last generation that targets take, and of one above. */
static void t_generation_far(void)
{
	struct muuid without[1] = { hid(2) };

	for (u32 over = 0; over < 2; over++) {
		struct recover r;

		begin(false);
		store_write(&T);
		W.d[5].label.generation = 16 + over;
		r = recover_of(0);
		CU_ASSERT_EQUAL(recover_run(&r), over ? -ERANGE : 1);
		CU_ASSERT(!over || (strstr(r.why, "host2") && strstr(r.why, "/dev/d5")));
		CU_ASSERT_EQUAL(W.d[0].label.generation, over ? 2 : 17);
		r.without = without;
		r.withouts = 1;
		if (over)
			CU_ASSERT_EQUAL(recover_run(&r), 1);
		CU_ASSERT_EQUAL(generation_now(), over ? 2 : 17);
		world_end();
	}
}

/* Clients */

/* It hands in a drive of another host, and one that is not local. */
static void t_client_drive(void)
{
	for (int kind = 0; kind < 3; kind++) {
		begin(true);
		W.d[3].away = kind == 1;
		if (kind < 2)
			W.d[5].label.drive = da[5].drive = did(3);
		else
			W.d[5].label.flags = 0;
		W.d[5].label.sequence = 99;
		if (kind < 2)
			store_write(&T);
		recover_now();
		CU_ASSERT_EQUAL(!!drive_now(kind < 2 ? 3 : 5), kind < 2);
		if (kind < 2)
			CU_ASSERT(muuid_equal(&drive_now(3)->plan.host, &(struct muuid) { .b = { 'h', 2 } }));
		world_end();
	}
}

/* The store has lost that drive: a host that is no client is believed whatever the sequence. */
static void t_client_same_drive(void)
{
	begin(true);
	W.d[5].label.drive = da[5].drive = did(3);
	W.d[5].label.sequence = 99;
	CU_ASSERT_EQUAL(recover_now(), 1);
	CU_ASSERT(drive_now(3) && muuid_equal(&drive_now(3)->plan.host, &(struct muuid) { .b = { 'h', 2 } }));
	world_end();
}

/* A layout that the client has made, all on its own drives. */
static struct layout *forged(int v)
{
	struct layout *l = layout_new(T.l[v]);

	l->version = 50;
	for (u32 i = 0; i < l->members; i++) {
		l->member[i].target = hid(2);
		l->member[i].drive = did(4 + i);
	}
	return l;
}

/* Of a volume of the store, and of one that only other hosts have. */
static void t_client_record(void)
{
	for (int v = 0; v < 3; v += 2) {
		begin(true);
		store_write(&T);
		if (v)
			do_create(v, "late", PROT_MIRROR, 1, 3);
		T.l[v] = forged(v);
		memset(&W.k[1], 0, sizeof(W.k[1]));
		W.k[2][v] = (struct rig_kernel) { .record = true, .readonly = true, .number = mesh_number(1, 1, 0) };
		CU_ASSERT_EQUAL(recover_now(), 1);
		CU_ASSERT_EQUAL(version_of(v), 1);
		world_end();
	}
}

/* What is on its own local drives comes back: created, or extended since; also into an empty store. */
static void t_client_own(void)
{
	for (int kind = 0; kind < 3; kind++) {
		struct rig_store copy;

		begin(true);
		copy = T;
		do_create(2, "own", PROT_STRIPE, 4, 5);
		do_attach(2, 2);
		if (kind == 1)
			copy = T;
		do_extend(2, 5);
		if (kind < 2)
			store_write(&copy);
		CU_ASSERT_EQUAL(recover_now(), 1);
		CU_ASSERT_EQUAL(version_of(2), 2);
		CU_ASSERT(is_wanted(2, 2));
		labels_check();
		world_end();
	}
}

/* It says that it writes: allowed and near, not allowed, far above, of a later generation. */
static void t_client_writer(void)
{
	for (int kind = 0; kind < 4; kind++) {
		u64 number[] = { T.number[0], 0, mesh_number(1, 1 << 30, 0), mesh_number(9, 1, 0) };

		begin(true);
		T.allow[0] = kind == 1 ? hid(1) : hid(2);
		store_write(&T);
		number[0] = number[1] = T.number[0] + (2 << MESH_NUMBER_RESTART_BITS);
		W.k[2][0] = (struct rig_kernel) { .there = true, .number = number[kind] };
		CU_ASSERT_EQUAL(recover_now(), 1);
		CU_ASSERT_EQUAL(is_wanted(0, 2), !kind);
		CU_ASSERT_EQUAL(is_wanted(0, 1), !!kind);
		world_end();
	}
}

/* Others */

/* A host that had handed in before it was left out: what it has attached is not known. */
static void t_left_out(void)
{
	struct muuid without[1] = { hid(2) };

	for (int ro = 0; ro < 2; ro++) {
		struct recover r;

		begin(false);
		do_attach(1, 2);
		store_write(&T);
		if (ro) {
			struct obj_want want = { .host = hid(2), .volume = vid(0), .mode = PLAN_RO, .boot = true };

			rig_put(O, KEY_WANT, &want);
		}
		memset(W.k[2], 0, sizeof(W.k[2]));
		r = recover_of(0);
		r.without = without;
		r.withouts = 1;
		CU_ASSERT_EQUAL(recover_run(&r), 1);
		CU_ASSERT(is_wanted(ro ? 0 : 1, 2));
		CU_ASSERT_PTR_NOT_NULL(seen(KEY_WRITER, 1));
		world_end();
	}
}

/* A drive that comes, or can be marked, when its host has handed in all the rest. */
static void t_late(void)
{
	for (int broken = 0; broken < 2; broken++) {
		struct recover r;

		begin(false);
		W.d[3].away = !broken;
		W.d[3].broken = broken;
		W.off[2] = true;
		do_extend(0, 3);
		store_write(&T);
		r = recover_of(0);
		CU_ASSERT_EQUAL(recover_run(&r), -EINPROGRESS);
		CU_ASSERT_PTR_NULL(strstr(r.why, "host1"));
		W.d[3].away = W.d[3].broken = false;
		world_turn();
		rig_catch_up(hc[0]);
		CU_ASSERT_EQUAL(recover_turn(&r), -EINPROGRESS);
		CU_ASSERT_PTR_NOT_NULL(strstr(r.why, "host1"));
		W.off[2] = false;
		CU_ASSERT_EQUAL(recover_run(&r), 1);
		CU_ASSERT_EQUAL(W.d[3].label.generation, 2);
		world_check(2);
		world_end();
	}
}

static bool allows(int v, u32 n, int h)
{
	const struct obj_volume *o = seen(KEY_VOLUME, v);
	struct muuid u = hid(h);

	return o && o->plan.allows == n && muuid_equal(&o->plan.allow[n - 1], &u);
}

/* Into an empty store: not every host may attach what comes back. */
static void t_allow(void)
{
	begin(false);
	do_create(2, "idle", PROT_STRIPE, 4, 5);
	do_attach(2, 2);
	do_detach(2, 2);
	W.k[2][0] = (struct rig_kernel) { .there = true, .readonly = true, .number = T.number[0] };
	CU_ASSERT_EQUAL(recover_now(), 1);
	CU_ASSERT(allows(0, 2, 2));
	CU_ASSERT(allows(1, 1, 0));
	CU_ASSERT(allows(2, 1, 2));
	world_end();
	begin(false);
	store_write(&T);
	CU_ASSERT_EQUAL(recover_now(), 1);
	CU_ASSERT_EQUAL(((const struct obj_volume *)seen(KEY_VOLUME, 0))->plan.allows, 0);
	world_end();
}

static const struct rig_test tests[] = {
	{ "a client's generation", t_generation_client },
	{ "a generation that is far above", t_generation_far },
	{ "a client's drive", t_client_drive },
	{ "a client's drive that another host has", t_client_same_drive },
	{ "a client's record", t_client_record },
	{ "what is a client's own", t_client_own },
	{ "a client that says it writes", t_client_writer },
	{ "a host that is left out", t_left_out },
	{ "a drive that comes late", t_late },
	{ "hosts that may attach", t_allow },
};

int main(void)
{
	return rig_main("agent_recover_believe", tests, sizeof(tests) / sizeof(tests[0]));
}
