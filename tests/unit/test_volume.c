// SPDX-License-Identifier: GPL-2.0-only
/* Which layout an attach brings to the kernel, and what it says when it brings none. */
#include <CUnit/Basic.h>

#include "volume_rig.h"
#include "suite.h"

#include "userspace/meshd/sql.h"
#include "userspace/meshd/bring.c"
#include "userspace/meshd/change.c"
#include "userspace/meshd/gather.c"

static const struct muuid no_host;
static char why[REASON];

/* volume_bring() of what the store has, as attach does it. */
static int bring(const char *named, bool stale)
{
	struct bring b = { .named = named, .stale = stale };
	struct layout *l = malloc(sizeof(*l));
	struct store_volume v;
	int err;

	rig_load(&v, l);
	v.attached = true;
	v.recorded = 0;
	why[0] = 0;
	err = volume_bring(&v, l, &b, why);
	free(l);
	return err;
}

/* attach --readonly --preempt, or --stale. */
static int read_now(bool stale)
{
	struct bring b = { .named = "data", .preempt = !stale, .stale = stale };
	struct layout *l = malloc(sizeof(*l));
	struct store_volume v;
	int err;

	rig_load(&v, l);
	v.attached = v.readonly = true;
	memset(&kernel, 0, sizeof(kernel));
	err = volume_bring(&v, l, &b, why);
	free(l);
	return err;
}

/* It cuts the grace time of a holder that is gone short, and takes it from no live one. */
static void test_reader_preempts(void)
{
	const struct muuid other = { { 12 } };

	rig_new(2);
	grace_ms = 0;
	CU_ASSERT(!read_now(false) && !kernel.preempted);
	at[0].e.holder = at[1].e.holder = other;
	at[1].e.opens = 1;
	CU_ASSERT(read_now(false) == -EBUSY && !kernel.there && has(why, "host h1 holds it"));
	grace_ms = 30000;
	at[0].e.holder = at[1].e.holder = other;
	CU_ASSERT(read_now(false) == -EBUSY && !kernel.there);
	at[1].e.opens = 0;
	CU_ASSERT(!read_now(false) && kernel.preempted);
	grace_ms = 0;
	at[0].e.holder = at[1].e.holder = other;
	CU_ASSERT(!read_now(false) && !kernel.preempted);
}

/* A change of which the new member has no record yet: a reader writes none. */
static void test_reader_writes_not(void)
{
	struct layout *l = malloc(sizeof(*l));
	struct bring b = { .stale = true };
	struct store_volume v;

	rig_new(2);
	rig_layout(l, 3, 2, "data");
	for (u32 i = 0; i < 2; i++)
		rig_record(i, l, no_host);
	for (int i = 0; i < 2; i++) {
		b.stale = b.preempt = i;
		rig_load(&v, l);
		v.readonly = v.attached = true;
		CU_ASSERT(volume_bring(&v, l, &b, why) == -EROFS && !kernel.there);
		CU_ASSERT(at[0].e.version == 2 && !at[2].e.version);
	}
	CU_ASSERT(!bring("data", false) && kernel.members == 3 && at[2].e.version == 2);
	free(l);
}

static void stored(struct store_volume *v)
{
	struct layout *l = malloc(sizeof(*l));

	rig_load(v, l);
	free(l);
}

/* On another host: version 2 with another name. */
static void rename_elsewhere(u32 members)
{
	struct layout *l = malloc(sizeof(*l));
	u32 i;

	rig_layout(l, members, 2, "data2");
	for (i = 0; i < members; i++)
		rig_record(i, l, no_host);
	free(l);
}

static void test_plain(void)
{
	rig_new(2);
	CU_ASSERT(!bring("data", false));
	CU_ASSERT(kernel.there && kernel.version == 1 && kernel.members == 2);
}

/* What a user calls "data" may be another volume since. */
static void test_renamed(void)
{
	struct store_volume v;

	rig_new(2);
	rename_elsewhere(2);
	CU_ASSERT(bring("data", false) && !kernel.there);
	CU_ASSERT(has(why, "data2"));
	CU_ASSERT(has(why, "01000000-0000-0000-0000-000000000000"));
	stored(&v);
	CU_ASSERT(!strcmp(v.name, "data2"));
	CU_ASSERT(!bring("data2", false) && kernel.there && kernel.version == 2);

	/* By UUID, and by no caller that might mean another. */
	rig_new(2);
	rename_elsewhere(2);
	CU_ASSERT(!bring("01000000-0000-0000-0000-000000000000", false) && kernel.there);
	CU_ASSERT(!strcmp(kernel.name, "data2"));
	rig_new(2);
	rename_elsewhere(2);
	CU_ASSERT(!bring(NULL, false) && kernel.there);
}

/* A name of this host's own stays, whatever others call it. */
static void test_alias(void)
{
	struct layout *l = malloc(sizeof(*l));
	struct store_volume v;

	rig_new(2);
	rig_load(&v, l);
	snprintf(v.name, sizeof(v.name), "mine");
	CU_ASSERT_FATAL(!store_volume_commit(&v, l));
	free(l);
	rename_elsewhere(2);
	CU_ASSERT(!bring("mine", false) && kernel.there);
	CU_ASSERT(!strcmp(kernel.name, "mine"));
}

static bool used_by(const char *host)
{
	struct layout *l = malloc(sizeof(*l));
	struct store_volume v;
	struct store_host h;
	bool uses;

	rig_load(&v, l);
	CU_ASSERT_FATAL(!store_host_find(host, &h));
	why[0] = 0;
	uses = volume_uses(&v, l, &h, why);
	free(l);
	return uses;
}

/* A drive that moved to another host: nothing is left of it on the one before. */
static void test_moved(void)
{
	rig_new(2);
	CU_ASSERT(used_by("h0") && has(why, "move its drives"));
	CU_ASSERT(!used_by("h1"));
	at[1].host = 1;
	CU_ASSERT(used_by("h0"));
	at[0].host = 1;
	CU_ASSERT(!used_by("h0"));
	CU_ASSERT(!bring("data", false) && kernel.there);
	/* The store knows by now, so that it need not query any host. */
	down[0] = down[1] = true;
	CU_ASSERT(!used_by("h0"));
	CU_ASSERT(used_by("h1") && has(why, "cannot be reached") && has(why, "lost for good"));

	rig_new(2);
	at[0].host = at[1].host = HOSTS;
	CU_ASSERT(used_by("h0") && has(why, "is not exported by any known host"));
	CU_ASSERT(has(why, "volume delete"));
}

/* A change from two members to @members, as extend makes it. */
static int change(u32 members)
{
	struct layout *l = malloc(sizeof(*l)), *next = malloc(sizeof(*next));
	struct store_volume v;
	int err;

	rig_load(&v, l);
	v.attached = true;
	rig_layout(next, members, 0, "data");
	err = volume_change(&v, l, next, why);
	free(next);
	free(l);
	return err;
}

static void test_change(void)
{
	struct store_volume v;

	rig_new(2);
	CU_ASSERT(!bring("data", false));
	CU_ASSERT(!change(3));
	stored(&v);
	CU_ASSERT(v.version == 2 && !v.pending);
	CU_ASSERT(kernel.version == 2 && kernel.members == 3);
	for (u32 i = 0; i < 3; i++)
		CU_ASSERT(at[i].e.version == 2 && muuid_equal(&at[i].e.holder, &D.host));
}

/* The old members decide: as long as one of them has not agreed, no new one is written. */
static void test_change_order(void)
{
	struct store_volume v;

	for (u32 i = 0; i < 3; i++) {
		rig_new(2);
		CU_ASSERT(!bring("data", false));
		at[i].full = true;
		CU_ASSERT(change(3) == -EIO);
		CU_ASSERT(!at[2].e.version);
		stored(&v);
		CU_ASSERT(v.version == 1 && v.pending);
		CU_ASSERT(kernel.version == 1 && kernel.members == 2);
	}
}

/* Whether each member that a host shows would be opened again after a lost session. */
static bool survives(void)
{
	u32 i;

	for (i = 0; i < kernel.members; i++)
		if (at[i].host < HOSTS && !down[at[i].host] && kernel.opens_at[i] < at[i].e.version)
			return false;
	return kernel.there;
}

/* A change is in one label alone, and the other's host goes down: it may take hours. */
static void test_change_waits(void)
{
	struct layout *l = malloc(sizeof(*l));
	struct store_volume v;

	rig_new(2);
	at[1].host = 1;
	CU_ASSERT(!bring("data", false) && survives());
	at[1].full = true;
	CU_ASSERT(change(3) == -EIO && at[0].e.version == 2 && survives());
	/* Killed before the kernel was given anything; and then the host is silent. */
	kernel.opens_at[0] = 1;
	down[1] = true;
	rig_load(&v, l);
	v.attached = true;
	CU_ASSERT(pending_settle(&v, why) == -ENODEV && survives());
	CU_ASSERT(kernel.version == 1 && kernel.members == 2 && kernel.opens_at[1] == 1);
	/* Another host has it since: what it wrote is not opened by a host that missed it. */
	kernel.opens_at[0] = 1;
	at[0].e.holder = (struct muuid) { { 12 } };
	CU_ASSERT(pending_settle(&v, why) && kernel.opens_at[0] == 1);
	at[0].e.holder = D.host;
	down[1] = at[1].full = false;
	CU_ASSERT(!pending_settle(&v, why) && kernel.version == 2 && kernel.members == 3 && survives());
	free(l);
}

static void rename_now(struct store_volume *v, const char *name, int expect)
{
	struct layout *l = malloc(sizeof(*l)), *next = malloc(sizeof(*next));

	rig_load(v, l);
	v->attached = true;
	memcpy(next, l, sizeof(*next));
	snprintf(next->name, sizeof(next->name), "%s", name);
	CU_ASSERT(volume_change(v, l, next, why) == expect);
	free(next);
	free(l);
}

/* The new name is given to another volume on this host before the change is decided. */
static void test_name_taken(void)
{
	struct layout *l = malloc(sizeof(*l));
	struct store_volume v, b = { .uuid = { { 7 } }, .name = "b", .version = 1,
				     .state = STORE_LIVE };

	rig_new(2);
	CU_ASSERT(!bring("data", false));
	rig_load(&v, l);
	l->volume = b.uuid;
	CU_ASSERT_FATAL(!store_volume_commit(&b, l));
	rename_now(&v, "b", 0);
	CU_ASSERT(kernel.version == 2 && survives());
	rig_load(&v, l);
	CU_ASSERT(v.version == 2 && !v.pending && !strcmp(v.name, "data") && !strcmp(l->name, "b"));
	store_volume_erase(&b.uuid);
	free(l);
}

static void store_full(bool is)
{
	sqlite3_exec(store_db, is ? "PRAGMA query_only = ON" : "PRAGMA query_only = OFF", NULL, NULL,
		     NULL);
}

static void fill_store(void)
{
	store_full(true);
}

/* The disk is full once the records are written. */
static void test_store_full(void)
{
	struct store_volume v;

	rig_new(2);
	CU_ASSERT(!bring("data", false));
	on_put = fill_store;
	rename_now(&v, "other", -EROFS);
	on_put = NULL;
	CU_ASSERT(has(why, "cannot be written") && kernel.version == 1 && survives());
	stored(&v);
	CU_ASSERT(v.version == 1 && v.pending);
	/* As the reconciler does it, before there is room and then. */
	v.attached = true;
	CU_ASSERT(pending_settle(&v, why) == -EROFS && kernel.version == 1 && v.pending && survives());
	store_full(false);
	stored(&v);
	v.attached = true;
	CU_ASSERT(!pending_settle(&v, why));
	stored(&v);
	CU_ASSERT(v.version == 2 && !v.pending && !strcmp(v.name, "other") && kernel.version == 2);
}

/*
 * It may be undone as long as the store does not have it: until then the device has the size
 * before, so that nothing uses what would be given up. A host that is silent has lost nothing.
 */
static void test_extend_full(void)
{
	struct store_volume v;

	rig_new(2);
	at[2].host = 1;
	CU_ASSERT(!bring("data", false));
	on_put = fill_store;
	CU_ASSERT(change(3) == -EROFS && kernel.version == 1 && kernel.members == 2 && survives());
	on_put = NULL;
	store_full(false);
	down[1] = true;
	stored(&v);
	v.attached = true;
	CU_ASSERT(v.pending && pending_settle(&v, why) == -ENODEV && kernel.members == 2 && survives());
	CU_ASSERT(pending_undo(&v, false, why) == -EHOSTUNREACH && v.pending);
	CU_ASSERT(has(why, "h1 cannot be reached") && has(why, "meshctl host remove h1"));
	/* It is back, without that drive. */
	down[1] = false;
	at[2].host = HOSTS;
	CU_ASSERT(!pending_undo(&v, false, why) && kernel.members == 2 && survives());
	stored(&v);
	CU_ASSERT(!v.pending && v.version == kernel.version);
}

/* Another change of the same number came first: it is not this host's to build on. */
static void test_change_other_commit(void)
{
	struct layout *l = malloc(sizeof(*l));
	struct store_volume v;

	rig_new(2);
	CU_ASSERT(!bring("data", false));
	rig_layout(l, 2, 1, "data");
	l->commit = 7;
	for (u32 i = 0; i < 2; i++)
		rig_record(i, l, D.host);
	CU_ASSERT(change(3) == -ESTALE && has(why, "another version"));
	stored(&v);
	CU_ASSERT(!v.pending);
	for (u32 i = 0; i < 2; i++)
		CU_ASSERT(at[i].e.version == 1 && at[i].e.commit == 7);
	free(l);
}

/* Its own extend is in the old members' labels, its new member dies before its first record. */
static void test_lost_member(void)
{
	struct layout *l = malloc(sizeof(*l)), *next = malloc(sizeof(*next));
	struct store_volume v;
	u32 i;

	rig_new(2);
	rig_layout(next, 3, 2, "data");
	CU_ASSERT_FATAL(!store_pending_set(&vol, next));
	for (i = 0; i < 2; i++)
		rig_record(i, next, D.host);
	at[2].host = HOSTS;
	rig_load(&v, l);
	CU_ASSERT(v.pending && pending_settle(&v, why) && bring("data", false));
	/* A reader does not take it over: it could not be undone any more. */
	CU_ASSERT(read_now(true) == -EROFS && !kernel.there && has(why, "for writing once"));
	rig_load(&v, l);
	CU_ASSERT(v.pending && v.version == 1 && l->members == 2);
	/* Not while another host may be using what it made. */
	at[1].e.holder = (struct muuid) { { 12 } };
	CU_ASSERT(pending_undo(&v, false, why) == -EAGAIN);
	/* Nor after it gave that back. */
	at[0].e.holder = at[1].e.holder = no_host;
	CU_ASSERT(pending_undo(&v, false, why) == -EAGAIN);
	at[0].e.holder = at[1].e.holder = D.host;
	/* It is there, and a copy of it on another host: neither lost nor to be given up. */
	at[2].host = 0;
	at[2].copied = true;
	at[2].owner = no_host;
	CU_ASSERT(pending_undo(&v, false, why) == -ENOTUNIQ && has(why, "one has a copy"));
	at[2].host = HOSTS;
	at[2].copied = false;
	/* An old member is silent, and later one fails half way: both are for another time. */
	at[0].host = HOSTS;
	CU_ASSERT(pending_undo(&v, false, why) == -EHOSTUNREACH && has(why, "is not exported"));
	at[0].host = 0;
	at[1].full = true;
	CU_ASSERT(pending_undo(&v, false, why) == -EIO && v.pending);
	CU_ASSERT(at[0].e.version > 2 && at[1].e.version == 2);
	at[1].full = false;
	CU_ASSERT(pending_settle(&v, why) == -EAGAIN);
	CU_ASSERT(!pending_undo(&v, false, why));
	rig_load(&v, l);
	CU_ASSERT(!v.pending && l->members == 2);
	CU_ASSERT(!bring("data", false) && kernel.there);
	rig_load(&v, l);
	CU_ASSERT(v.version > 2 && at[0].e.version == v.version && at[1].e.version == v.version);
	CU_ASSERT(kernel.members == 2 && kernel.version == v.version);
	/* It comes back: a label of no layout, which no record names. */
	at[2].host = 0;
	CU_ASSERT(!bring("data", false) && kernel.members == 2);
	free(next);
	free(l);
}

/*
 * Another host took it meanwhile, by force, and could not attach it: it may hold it yet, or
 * have given it back. Nothing is adopted that cannot be undone then.
 */
static void test_lost_and_taken(void)
{
	const struct muuid other = { { 12 } };
	struct layout *l = malloc(sizeof(*l)), *next = malloc(sizeof(*next));
	struct store_volume v;

	for (int held = 0; held < 2; held++) {
		rig_new(2);
		rig_layout(next, 3, 2, "data");
		CU_ASSERT_FATAL(!store_pending_set(&vol, next));
		for (u32 i = 0; i < 2; i++)
			rig_record(i, next, held ? other : no_host);
		at[2].host = HOSTS;
		rig_load(&v, l);
		CU_ASSERT(pending_undo(&v, false, why) == -EAGAIN && has(why, "add --preempt"));
		CU_ASSERT(has(why, held ? "host h1 holds it" : "may have used"));
		/* What attach does next, whatever it may override. */
		CU_ASSERT(bring("data", true) == -EHOSTUNREACH && has(why, "is not exported") && !kernel.there);
		rig_load(&v, l);
		CU_ASSERT(v.pending && v.version == 1 && l->members == 2);
		/* As the attach before left it. */
		v.readonly = kernel.there = held;
		kernel.version = 1;
		CU_ASSERT(!pending_undo(&v, true, why) && !v.pending && kernel.preempted == held);
		CU_ASSERT(!kernel.there);
		CU_ASSERT(!bring("data", false) && kernel.members == 2 && kernel.version > 2);
		for (u32 i = 0; i < 2; i++)
			CU_ASSERT(muuid_equal(&at[i].e.holder, &D.host) && at[i].e.version == kernel.version);
	}
	free(next);
	free(l);
}

/* Another host went on before a change of this one began: it is dropped, theirs stays. */
static void test_overtaken(void)
{
	struct layout *l = malloc(sizeof(*l)), *next = malloc(sizeof(*next));
	struct store_volume v;
	static const struct { struct muuid holder; u64 version; } is[] = {
		{ { { 0 } }, 5 }, { { { 12 } }, 5 }, { { { 12 } }, 1 },
	};
	size_t i, k;

	for (k = 0; k < sizeof(is) / sizeof(*is); k++) {
		rig_new(2);
		rig_layout(next, 3, 2, "data");
		CU_ASSERT_FATAL(!store_pending_set(&vol, next));
		rig_layout(l, 2, is[k].version, "data");
		for (i = 0; i < 2; i++)
			rig_record(i, l, is[k].holder);
		rig_load(&v, l);
		CU_ASSERT(!pending_settle(&v, why) && !v.pending);
		for (i = 0; i < 2; i++)
			CU_ASSERT(at[i].e.version == is[k].version && at[i].e.commit == is[k].version);
		CU_ASSERT(!at[2].e.version);
	}
	free(next);
	free(l);
}

/* The drives are there and their labels known, but no record of it can be read. */
static void test_unreadable(void)
{
	struct layout *l = malloc(sizeof(*l)), *next = malloc(sizeof(*next));
	struct store_volume v;

	rig_new(2);
	at[0].unreadable = at[1].unreadable = true;
	CU_ASSERT(!bring("data", false) && kernel.there && kernel.version == 1);
	rig_load(&v, l);
	v.attached = true;
	memcpy(next, l, sizeof(*next));
	snprintf(next->name, sizeof(next->name), "other");
	CU_ASSERT(!volume_change(&v, l, next, why));
	CU_ASSERT(at[0].e.version == 2 && at[1].e.version == 2);

	/* At another version than the store has. */
	rig_new(2);
	rename_elsewhere(2);
	at[0].unreadable = at[1].unreadable = true;
	CU_ASSERT(bring("data", false) && !kernel.there);
	CU_ASSERT(has(why, "cannot be read") && !has(why, "not exported"));
	rig_load(&v, l);
	memcpy(next, l, sizeof(*next));
	CU_ASSERT(volume_change(&v, l, next, why));
	CU_ASSERT(has(why, "cannot be read") && !has(why, "detach it"));
	/* The drive is exported, and the extent is gone; the drive is away. */
	at[0].e.length = 0;
	CU_ASSERT(bring("data", false) && has(why, "no such extent"));
	at[0].host = HOSTS;
	CU_ASSERT(bring("data", false) && has(why, "is not exported by any known host"));
	free(next);
	free(l);
}

/* Of a drive and a copy of it, --stale does not attach either: it is about what is away. */
static void test_copied(void)
{
	rig_new(2);
	at[1].copied = true;
	at[1].owner = no_host;
	for (int stale = 0; stale < 2; stale++) {
		CU_ASSERT(bring("data", stale) == -ENOTUNIQ && !kernel.there);
		CU_ASSERT(has(why, "one has a copy"));
	}
	CU_ASSERT(change(3) == -ENOTUNIQ && has(why, "one has a copy"));
}

/* A later version that cannot be read is left behind by one that is above it. */
static void test_discard(void)
{
	struct layout *l = malloc(sizeof(*l));

	rig_new(2);
	rig_layout(l, 2, 3, "data");
	rig_record(1, l, no_host);
	at[1].unreadable = true;
	CU_ASSERT(bring("data", false) == -EHOSTUNREACH && has(why, "add --stale") && !kernel.there);
	CU_ASSERT(!bring("data", true) && kernel.there && kernel.version == 4);
	for (u32 i = 0; i < 2; i++)
		CU_ASSERT(at[i].e.version == 4 && at[i].e.commit == at[0].e.commit);
	free(l);
}

/* Two changes of one number, each in the label of one member: both are known. */
static void test_two_commits(void)
{
	struct layout *l = malloc(sizeof(*l));
	struct gather g;

	rig_new(2);
	rig_layout(l, 2, 2, "data");
	rig_record(0, l, no_host);
	l->commit = 7;
	rig_record(1, l, no_host);
	CU_ASSERT_FATAL(!gather(&g, &vol, false));
	CU_ASSERT(g.truth.records == 2);
	gather_free(&g);
	free(l);
}

/* All labels and records are those of a while ago. */
static void test_set_back(void)
{
	struct layout *l = malloc(sizeof(*l));
	struct store_volume v;

	rig_new(2);
	rig_layout(l, 2, 2, "data");
	rig_store(l);
	CU_ASSERT(bring("data", false) && !kernel.there);
	CU_ASSERT(has(why, "version 1") && has(why, "version 2") && has(why, "set back"));
	CU_ASSERT(has(why, "import --stale, then attach --stale --preempt"));
	rig_load(&v, l);
	CU_ASSERT(v.version == 2 && l->version == 2);
	free(l);
}

/* mirror:2 on two drives, in the store as just made; the labels as @version says. */
static void mirror(u64 version)
{
	struct layout *l = malloc(sizeof(*l));
	u64 data;

	rig_new(2);
	rig_layout(l, 2, version, "data");
	l->salt = 5;
	l->segments = 1;
	l->size = 1 << 20;
	l->segment[0] = (struct layout_segment) {
		.length = 1 << 20, .level = PROT_MIRROR, .data = 2, .groups = 1, .strip = 65536,
		.refs = 2, .fresh = version == 1,
	};
	data = layout_data_at(&l->segment[0], 512);
	for (u32 i = 0; i < 2; i++) {
		l->ref[i].offset = data;
		l->member[i].size = data + (1 << 20);
	}
	for (u32 i = 0; i < 2; i++)
		rig_record(i, l, no_host);
	store_volume_erase(&vol);
	rig_store(l);
	free(l);
}

/* A host whose members can be replaced does not need the volume deleted. */
static void test_moved_mirror(void)
{
	mirror(1);
	CU_ASSERT(used_by("h0") && has(why, "evict or replace"));
	at[1].host = 1;
	at[0].host = HOSTS;
	CU_ASSERT(used_by("h0") && has(why, "replace NAME 0 (each") && !has(why, "delete"));
	CU_ASSERT(has(why, "is not exported by any known host"));
}

/* The first attach that has groups notes in a new version that they are fresh no more. */
static void test_mirror_fresh(void)
{
	struct layout *l = malloc(sizeof(*l));
	struct store_volume v;

	mirror(1);
	kernel.health = HEALTH_WHOLE;
	CU_ASSERT(!bring("data", false) && kernel.there && kernel.version == 2 && !kernel.fresh);
	CU_ASSERT(at[0].e.version == 2 && at[1].e.version == 2 && !kernel.stale);
	rig_load(&v, l);
	CU_ASSERT(v.version == 2 && !layout_fresh(l) && l->salt == 5);
	/* Not as long as the groups do not serve. */
	mirror(1);
	kernel.health = HEALTH_DOWN;
	CU_ASSERT(!bring("data", false) && kernel.version == 1 && kernel.fresh && at[0].e.version == 1);
	kernel.health = HEALTH_WHOLE;
	CU_ASSERT(!bring("data", false) && kernel.version == 2 && !kernel.fresh);
	free(l);
}

/* One of two is away: that is enough where the layout is known to count. */
static void test_mirror_degraded(void)
{
	struct layout *l = malloc(sizeof(*l));
	struct store_volume v;

	mirror(2);
	at[1].host = HOSTS;
	CU_ASSERT(!bring("data", false) && kernel.there && kernel.version == 2);
	CU_ASSERT(at[0].e.version == 2 && muuid_equal(&at[0].e.holder, &D.host));
	/* Both are too many. */
	mirror(2);
	at[0].host = at[1].host = HOSTS;
	CU_ASSERT(bring("data", false) && !kernel.there && !has(why, "LOST"));
	/* This host has not seen that version: what is away may be at the one before. */
	mirror(3);
	rig_load(&v, l);
	l->version = v.version = l->commit = 2;
	store_volume_erase(&vol);
	rig_store(l);
	at[1].host = HOSTS;
	CU_ASSERT(bring("data", false) == -EHOSTUNREACH && !kernel.there);
	CU_ASSERT(has(why, "with --stale it goes on") && has(why, "LOST"));
	CU_ASSERT(!bring("data", true) && kernel.version == 3 && kernel.stale);
	/* It is. */
	mirror(3);
	at[1].host = HOSTS;
	at[0].e.version = 4;
	CU_ASSERT(bring("data", false) && !kernel.there);
	free(l);
}

/* What is not whole is not changed. */
static void test_mirror_change(void)
{
	struct layout *l = malloc(sizeof(*l)), *next = malloc(sizeof(*next));
	struct store_volume v;

	mirror(2);
	CU_ASSERT(!bring("data", false));
	at[1].host = HOSTS;
	rig_load(&v, l);
	memcpy(next, l, sizeof(*next));
	strcpy(next->name, "other");
	CU_ASSERT(volume_change(&v, l, next, why) == -EHOSTUNREACH && at[0].e.version == 2 && !v.pending);
	at[1].host = 0;
	CU_ASSERT(!volume_change(&v, l, next, why) && at[0].e.version == 3 && at[1].e.version == 3);
	free(next);
	free(l);
}

int main(void)
{
	static const struct suite_test tests[] = {
		{ "attach", test_plain },
		{ "preempt for reading", test_reader_preempts },
		{ "reading what is half changed", test_reader_writes_not },
		{ "renamed on another host", test_renamed },
		{ "a name of this host's own", test_alias },
		{ "drives on another host", test_moved },
		{ "moved, of a mirror", test_moved_mirror },
		{ "a change", test_change },
		{ "a change: the old members first", test_change_order },
		{ "a change that waits, and the kernel", test_change_waits },
		{ "a change whose name is taken", test_name_taken },
		{ "a change and a full store", test_store_full },
		{ "an extend and a full store", test_extend_full },
		{ "a change: another came first", test_change_other_commit },
		{ "an extend whose new member is lost", test_lost_member },
		{ "an extend whose new member is lost, and another host", test_lost_and_taken },
		{ "a change that came too late", test_overtaken },
		{ "a drive and a copy of it", test_copied },
		{ "two changes of one number", test_two_commits },
		{ "a version that is left behind", test_discard },
		{ "records that cannot be read", test_unreadable },
		{ "drives that went back in time", test_set_back },
		{ "a mirror: the first attach", test_mirror_fresh },
		{ "a mirror: a member is away", test_mirror_degraded },
		{ "a mirror: changes", test_mirror_change },
		{ NULL, NULL },
	};
	int err = suite_main("volume", tests);

	rig_end();
	return err;
}
