// SPDX-License-Identifier: GPL-2.0-only
/*
 * A member of a group that gets a new extent: what the labels, the store and the kernel have in the
 * end, also when meshd was cut off at a step and started again.
 */
#include <CUnit/Basic.h>

#define EXTENTS	4
#include "volume_rig.h"
#include "req_rig.h"
#include "suite.h"

#include "userspace/meshd/bring.c"
#include "userspace/meshd/change.c"
#include "userspace/meshd/gather.c"
#include "userspace/meshd/replace.c"

#define SPARE	2	/* the extent that takes the place of member 1 */

static char why[REASON];
static struct layout old, new;
static bool allowed;		/* a spare is */
static bool back_zeroing;	/* the member gets what it lacks while ... */
static bool lost_zeroing;	/* the member comes back while the new extent is zeroed */

/* Chosen, allocated and zeroed; extents.c is tested elsewhere. */
int extents_swap(struct req *r, struct store_volume *v, struct layout *l, u32 slot,
		 const struct segment_req *q, const int *steps)
{
	(void)r, (void)v, (void)q, (void)steps;
	l->member[slot].extent = (struct muuid) { { 2, SPARE } };
	l->member[slot].drive = (struct muuid) { { 3, SPARE } };
	at[SPARE].e.length = l->member[slot].size;
	if (lost_zeroing)
		kernel.without = 0;
	if (back_zeroing)
		kernel.joining = 1 << 1;
	return 0;
}

static int ended;		/* evictions, before a copy is freed */
bool spare_allowed(const struct layout *l) { (void)l; return allowed; }
int volume_must_hold(struct req *r, const struct store_volume *v) { (void)r, (void)v; return 0; }
void evict_end(const struct store_volume *v, u32 member) { (void)v, (void)member; ended++; }
int volume_result(struct req *r, const struct muuid *u) { (void)r, (void)u; return 0; }
const char *arg_str(const struct req *r, const char *key) { (void)r, (void)key; return ""; }
bool arg_bool(const struct req *r, const char *key) { (void)r, (void)key; return false; }
int member_named(const struct layout *l, const char *what) { (void)l, (void)what; return -1; }

int volume_with_next(struct req *r, bool whole, int (*fn)(struct req *r, struct store_volume *v,
							  struct layout *l, struct layout *next))
{
	(void)r, (void)whole, (void)fn;
	return -1;
}

static struct store_volume stored(struct layout *l)
{
	struct store_volume v;

	rig_load(&v, l);
	v.attached = true;
	return v;
}

/* mirror:@copies at version 2, attached; member 1 is away and out. @new is what is to be made. */
static void lose(u32 copies)
{
	struct store_volume v;
	u64 data;

	rig_new(copies);
	rig_layout(&old, copies, 2, "data");
	old.salt = 5;
	old.segments = 1;
	old.size = 1 << 20;
	old.segment[0] = (struct layout_segment) {
		.length = 1 << 20, .level = PROT_MIRROR, .data = copies, .groups = 1, .strip = 65536,
		.refs = copies,
	};
	data = layout_data_at(&old.segment[0], 512);
	for (u32 i = 0; i < copies; i++) {
		old.ref[i].offset = data;
		old.member[i].size = data + (1 << 20);
		rig_record(i, &old, D.host);
	}
	/* The last of three has another number: SPARE is the spare's. */
	for (u32 i = copies; i < EXTENTS; i++)
		at[i].e.length = 0;
	store_volume_erase(&vol);
	rig_store(&old);
	v = stored(&old);
	CU_ASSERT_FATAL(!store_volume_flags(&v));
	kernel.there = true;
	kernel.version = 2;
	kernel.groups = 1;
	kernel.health = HEALTH_DEGRADED;
	kernel.without = 1 << 1;
	kernel.busy = lost_zeroing = back_zeroing = allowed = false;
	kernel.joining = 0;
	at[1].host = HOSTS;
	memcpy(&new, &old, sizeof(new));
	new.member[1].extent = (struct muuid) { { 2, SPARE } };
	new.member[1].drive = (struct muuid) { { 3, SPARE } };
	new.version = new.commit = 3;
}

static int replace_it(struct req *r)
{
	struct layout *l = malloc(sizeof(*l)), *next = malloc(sizeof(*next));
	struct store_volume v = stored(l);
	int err;

	r->error[0] = 0;
	err = replace_member(r, &v, l, next, 1);
	free(next);
	free(l);
	return err;
}

/* Of the volume in the store, by the extent of its member 1. */
static bool has_extent(u32 x)
{
	struct layout *l = malloc(sizeof(*l));
	bool is;

	stored(l);
	is = l->member[1].extent.b[1] == x;
	free(l);
	return is;
}

static size_t frees(void)
{
	struct store_free *f;
	size_t n;

	CU_ASSERT_FATAL(!store_frees(&vol, &f, &n));
	free(f);
	return n;
}

static int finish(void)
{
	struct layout *l = malloc(sizeof(*l));
	struct store_volume v = stored(l);
	int err;

	err = replace_finish(&v, l, why);
	free(l);
	return err;
}

static int settle_it(void)
{
	struct layout *l = malloc(sizeof(*l));
	struct store_volume v = stored(l);
	int err;

	v.pending = true;
	err = pending_settle(&v, why);
	free(l);
	return err;
}

static int bring_it(void)
{
	struct bring b = { 0 };
	struct layout *l = malloc(sizeof(*l));
	struct store_volume v = stored(l);
	int err;

	v.recorded = 0;
	err = volume_bring(&v, l, &b, why);
	free(l);
	return err;
}

static void test_replaced(void)
{
	struct req r = { 0 };

	lose(2);
	CU_ASSERT(!replace_it(&r) && has_extent(SPARE) && kernel.version == 3);
	CU_ASSERT(at[0].e.version == 3 && at[SPARE].e.version == 3 && at[1].e.version == 2);
	/* Its drive is away: the note of it stays, that of the new one went. */
	CU_ASSERT(frees() == 1 && finish() == -EAGAIN && frees() == 1);
	/* It comes back with what it had: that is no member's, and is freed. */
	at[1].host = 0;
	CU_ASSERT(!bring_it() && kernel.version == 3 && has_extent(SPARE));
	CU_ASSERT(!finish() && !frees() && !at[1].e.length && at[0].e.length && at[SPARE].e.length);
}

/* Another host has replaced the member: this one frees what it had, too. */
static void test_by_another_host(void)
{
	lose(2);
	kernel.there = false;
	kernel.without = 0;
	at[SPARE].e.length = 4 << 20;
	rig_record(0, &new, (struct muuid) { { 0 } });
	rig_record(SPARE, &new, (struct muuid) { { 0 } });
	CU_ASSERT(!bring_it() && kernel.version == 3 && has_extent(SPARE) && frees() == 1);
	at[1].host = 0;
	CU_ASSERT(!finish() && !frees() && !at[1].e.length && at[SPARE].e.length);
}

/* What is on it was written later, by attach --stale; and one that its drive has no more. */
static void test_not_freed(void)
{
	struct req r = { 0 };

	lose(2);
	CU_ASSERT(!replace_it(&r) && frees() == 1);
	at[1].host = 0;
	at[1].e.attach = 9;
	kernel.health = HEALTH_WHOLE;
	CU_ASSERT(!finish() && !frees() && at[1].e.length);
	lose(2);
	CU_ASSERT(!replace_it(&r) && finish() == -EAGAIN && frees() == 1);
	at[1].host = 0;
	at[1].e.length = 0;
	CU_ASSERT(!finish() && !frees());
}

/* What had data is kept until the new one has all of it. */
static void test_kept(void)
{
	struct req r = { 0 };

	lose(2);
	at[0].e.attach = at[1].e.attach = 1;
	at[1].host = 0;
	CU_ASSERT(!replace_it(&r) && has_extent(SPARE) && frees() == 1 && at[1].e.length);
	kernel.health = HEALTH_REBUILDING;
	CU_ASSERT(finish() == -EAGAIN && frees() == 1 && at[1].e.length);
	kernel.health = HEALTH_WHOLE;
	/* The layout names the copy of one that leaves, and no roster does yet. */
	kernel.evicts = true;
	CU_ASSERT(!finish() && frees() == 1 && at[1].e.length);
	kernel.evicts = false;
	/* The former member has its place yet, and writes to it. */
	kernel.waits = 1 << 1;
	CU_ASSERT(!finish() && frees() == 1 && at[1].e.length);
	kernel.waits = 0;
	CU_ASSERT(!finish() && !frees() && !at[1].e.length);
}

/* A drive that is there and bad, and never had data: its extent is given back at once. */
static void test_present(void)
{
	struct req r = { 0 };

	lose(2);
	at[1].host = 0;
	CU_ASSERT(!replace_it(&r) && has_extent(SPARE) && !frees() && !at[1].e.length);
}

static void test_refused(void)
{
	struct req r = { 0 };

	lose(2);
	kernel.without = 0;
	CU_ASSERT(replace_it(&r) && has(r.error, "in sync") && at[0].e.version == 2 && !frees());
	kernel.there = false;
	CU_ASSERT(replace_it(&r) && has(r.error, "attach it first"));
	lose(2);
	lost_zeroing = true;
	CU_ASSERT(replace_it(&r) && has(r.error, "in sync") && at[0].e.version == 2 && has_extent(1));
	/* Of two extents in a new layout neither would have a record. */
	lose(2);
	kernel.evicts = true;
	CU_ASSERT(replace_it(&r) && has(r.error, "is leaving") && at[0].e.version == 2 && has_extent(1));
	kernel.evicts = false;
	/* The one before has not taken effect. Another place that waits does not matter. */
	lose(2);
	kernel.waits = 1 << 1;
	CU_ASSERT(replace_it(&r) && has(r.error, "has a new drive already") && at[0].e.version == 2 && has_extent(1));
	kernel.waits = 1 << 0;
	CU_ASSERT(!replace_it(&r) && has_extent(SPARE));
	kernel.waits = 0;
	/* Another member is away, and its group has not gone on without it. */
	lose(2);
	at[0].host = HOSTS;
	ended = 0;
	CU_ASSERT(replace_it(&r) && ended == 1);
	CU_ASSERT(has(r.error, "not changed") && has_extent(1) && !at[SPARE].e.version);
}

/* The kernel says that the old one is in sync after all. */
static void test_undone(void)
{
	struct req r = { 0 };

	lose(2);
	at[1].host = 0;
	kernel.busy = true;
	CU_ASSERT(replace_it(&r) && has(r.error, "is not replaced") && has_extent(1));
	CU_ASSERT(kernel.version == 4 && at[0].e.version == 4 && at[1].e.version == 4);
	CU_ASSERT(!finish() && !frees() && !at[SPARE].e.length && at[1].e.length);
	/* Or meshd was killed before the kernel had it. */
	lose(2);
	at[1].host = 0;
	kernel.busy = true;
	rig_record(0, &new, D.host);
	at[SPARE].e.length = 4 << 20;
	rig_record(SPARE, &new, D.host);
	CU_ASSERT(!note_both(&old, &new, 1, why));
	{
		struct layout *l = malloc(sizeof(*l));
		struct store_volume v = stored(l);

		v.version = 3;
		CU_ASSERT(!store_volume_commit(&v, &new));
		memcpy(l, &new, sizeof(*l));
		CU_ASSERT(bring_it() == -EBUSY && kernel.version == 2);
		/* Not where a host has attached what it would throw out. */
		at[SPARE].e.attach = 5;
		CU_ASSERT(replace_undo(&v, l, false, why) && kernel.version == 2 && has_extent(SPARE));
		at[SPARE].e.attach = 0;
		CU_ASSERT(!replace_undo(&v, l, false, why) && kernel.version == 4 && has_extent(1));
		free(l);
	}
	CU_ASSERT(!finish() && !frees() && !at[SPARE].e.length && at[1].e.length);
}

/* Cut off: the notes, then the pending version, then one record after the other. */
static void test_cut_off(void)
{
	lose(2);
	at[SPARE].e.length = 4 << 20;
	CU_ASSERT(!note_both(&old, &new, 1, why) && frees() == 2);
	CU_ASSERT(!finish() && !frees() && !at[SPARE].e.length && has_extent(1));
	for (u32 records = 0; records <= 2; records++) {
		lose(2);
		at[SPARE].e.length = 4 << 20;
		CU_ASSERT(!note_both(&old, &new, 1, why) && !store_pending_set(&vol, &new));
		CU_ASSERT(!finish() && frees() == 2 && at[SPARE].e.length);
		if (records > 0)
			rig_record(0, &new, D.host);
		if (records > 1)
			rig_record(SPARE, &new, D.host);
		CU_ASSERT(!settle_it());
		CU_ASSERT(has_extent(records ? SPARE : 1));
		CU_ASSERT(at[0].e.version == (records ? 3 : 4) && kernel.version == at[0].e.version);
		CU_ASSERT(at[SPARE].e.version == (records ? 3 : 0) && at[1].e.version == 2);
	}
}

/* The new drive goes as well, while its records are written: the one before is not given up. */
static void test_new_lost(void)
{
	struct req r = { 0 };

	lose(2);
	at[SPARE].e.length = 4 << 20;
	CU_ASSERT(!note_both(&old, &new, 1, why) && !store_pending_set(&vol, &new));
	rig_record(0, &new, D.host);
	at[SPARE].host = HOSTS;
	CU_ASSERT(!settle_it() && has_extent(1) && at[0].e.version == 5 && kernel.version == 5);
	/* The old one is late by now, and gets the record when it is back. */
	CU_ASSERT(!bring_it() && at[1].e.version == 2);
	at[1].host = 0;
	CU_ASSERT(!bring_it() && at[1].e.version == 5 && kernel.opens_at[1] == 5);
	/* The same within the command; what it had of the new one is freed when that is back. */
	lose(2);
	at[SPARE].host = HOSTS;
	CU_ASSERT(replace_it(&r) && has_extent(1) && at[0].e.version == 4 && frees() == 2);
	CU_ASSERT(has(r.error, "is not changed"));
	at[SPARE].host = 0;
	CU_ASSERT(!finish() && !frees() && !at[SPARE].e.length);
}

/*
 * The same, and this host has restarted: the volume does not wait for the one drive or the other.
 */
static void test_new_lost_restarted(void)
{
	lose(2);
	kernel.there = false;
	at[SPARE].e.length = 4 << 20;
	CU_ASSERT(!note_both(&old, &new, 1, why) && !store_pending_set(&vol, &new));
	rig_record(0, &new, D.host);
	at[SPARE].host = HOSTS;
	CU_ASSERT(!settle_it() && has_extent(1) && at[0].e.version == 5);
	CU_ASSERT(!bring_it() && kernel.version == 5);
	/* Another host may have used it: that is said, and --preempt gives it up. */
	lose(2);
	kernel.there = false;
	at[SPARE].e.length = 4 << 20;
	CU_ASSERT(!note_both(&old, &new, 1, why) && !store_pending_set(&vol, &new));
	rig_record(0, &new, (struct muuid) { { 0 } });
	at[SPARE].host = HOSTS;
	CU_ASSERT(settle_it() && has_extent(1));
	{
		struct layout *l = malloc(sizeof(*l));
		struct store_volume v = stored(l);

		v.pending = true;
		CU_ASSERT(pending_undoable(&v));
		/* The one that it was to replace says nothing of what the others have. */
		at[0].host = HOSTS;
		at[1].host = 0;
		CU_ASSERT(pending_undo(&v, true, why) == -EAGAIN && at[1].e.version == 2);
		at[0].host = 0;
		at[1].host = HOSTS;
		CU_ASSERT(pending_undo(&v, false, why) == -EAGAIN && has(why, "--preempt"));
		CU_ASSERT(!pending_undo(&v, true, why) && has_extent(1) && at[0].e.version == 5);
		free(l);
	}
	CU_ASSERT(!bring_it() && kernel.version == 5);
}

/*
 * The power goes after the records, and before the kernel had them: it has the old member in sync
 * by its rosters, and the other one does not do without.
 */
static void test_power_cut(void)
{
	struct layout *l = malloc(sizeof(*l));
	struct store_volume v;

	for (int served = 0; served < 2; served++) {
		lose(2);
		kernel.there = false;
		kernel.without = 0;
		kernel.refuses = true;
		at[1].host = 0;
		at[SPARE].e.length = 4 << 20;
		at[SPARE].e.attach = served;
		rig_record(0, &new, D.host);
		rig_record(SPARE, &new, D.host);
		v = stored(l);
		v.version = 3;
		CU_ASSERT(!store_volume_commit(&v, &new));
		memcpy(l, &new, sizeof(*l));
		CU_ASSERT(bring_it() && kernel.version == 3 && kernel.refused);
		/* A kernel has used the new one: then it is not given up. */
		CU_ASSERT(!replace_undo(&v, l, false, why) == !served);
		CU_ASSERT(has_extent(1) == !served);
		if (!served)
			CU_ASSERT(!bring_it() && kernel.version == 4 && !kernel.refused);
	}
	kernel.refuses = false;
	free(l);
}

/* Only what the kernel keeps is undone, and of several extents before the last one comes back. */
static void test_undo_which(void)
{
	struct layout *l = malloc(sizeof(*l));
	struct store_volume v;

	/* Another error than that it is in sync. */
	lose(2);
	at[1].host = 0;
	at[SPARE].e.length = 4 << 20;
	rig_record(0, &new, D.host);
	rig_record(SPARE, &new, D.host);
	v = stored(l);
	v.version = 3;
	CU_ASSERT(!note_both(&old, &new, 1, why) && !store_volume_commit(&v, &new));
	memcpy(l, &new, sizeof(*l));
	CU_ASSERT(replace_undo(&v, l, false, why) == -ENOENT && has_extent(SPARE));
	/* Extent 3 was there before extent 1. */
	kernel.without = 0;
	at[3].e.length = 4 << 20;
	at[3].e.holder = D.host;
	old.member[1].extent.b[1] = old.member[1].drive.b[1] = 3;
	old.version = old.commit = 1;
	rig_record(3, &old, D.host);
	CU_ASSERT(!note_both(&old, &new, 1, why));
	CU_ASSERT(!replace_undo(&v, l, false, why) && has_extent(1));
	free(l);
}

/* Two of three are lost: one is replaced without the other, which comes back. */
static void test_late(void)
{
	struct layout *l = malloc(sizeof(*l));
	struct req r = { 0 };

	lose(3);
	/* Member 2 is on extent 3, so that 2 is the spare's. */
	old.member[2].extent.b[1] = old.member[2].drive.b[1] = 3;
	rig_store(&old);
	for (u32 i = 0; i < EXTENTS; i++)
		if (i != SPARE)
			rig_record(i, &old, D.host);
	at[3].e.length = 4 << 20;
	at[SPARE].e.length = at[SPARE].e.version = at[SPARE].e.commit = 0;
	free(at[SPARE].record);
	at[SPARE].record = NULL;
	memset(&at[SPARE].e.holder, 0, sizeof(at[SPARE].e.holder));
	at[3].host = HOSTS;
	/* It might have just gone: it is known to be out first. */
	CU_ASSERT(replace_it(&r) && has_extent(1) && at[0].e.version == 2);
	kernel.without |= 1 << 2;
	CU_ASSERT(!replace_it(&r) && has_extent(SPARE) && at[0].e.version == 3 && at[SPARE].e.version == 3);
	stored(l);
	CU_ASSERT(l->member[2].late && !l->member[1].late && !l->member[0].late);
	CU_ASSERT(!bring_it() && at[3].e.version == 2);
	/* Its label has an older version: that is no reason to go back. */
	at[3].host = 0;
	CU_ASSERT(!bring_it() && at[3].e.version == 3 && kernel.opens_at[3] == 3 && kernel.version == 3);
	/* All are there: the next version is for all. */
	kernel.without = 0;
	{
		struct layout *next = malloc(sizeof(*next));
		struct store_volume v = stored(l);

		memcpy(next, l, sizeof(*next));
		strcpy(next->name, "other");
		CU_ASSERT(!volume_change(&v, l, next, why) && !layout_late(l) && at[3].e.version == 4);
		free(next);
	}
	free(l);
}

/* Spares that were used, as the store has it. */
static u16 used(void)
{
	struct layout *l = malloc(sizeof(*l));
	u16 n;

	stored(l);
	n = l->spares_used;
	free(l);
	return n;
}

/* Without a command: counted with the version that has it, and only what stays away. */
static void test_spare(void)
{
	struct req r = { .fd = -1 }, command = { 0 };

	lose(2);
	CU_ASSERT(replace_it(&r) && has(r.error, "no spare left") && has_extent(1) && !used() && !frees());
	allowed = true;
	CU_ASSERT(!replace_it(&r) && has_extent(SPARE) && used() == 1);
	CU_ASSERT(at[0].record->spares_used == 1 && at[SPARE].record->spares_used == 1);
	lose(2);
	CU_ASSERT(!replace_it(&command) && has_extent(SPARE) && !used());
	/* It is back, before or while the new extent is zeroed. */
	for (int late = 0; late < 2; late++) {
		lose(2);
		allowed = true;
		back_zeroing = late;
		kernel.joining = late ? 0 : 1 << 1;
		CU_ASSERT(replace_it(&r) && has(r.error, "is back") && has_extent(1) && !used());
	}
	lose(2);
	kernel.joining = 1 << 1;
	CU_ASSERT(!replace_it(&command) && has_extent(SPARE));
	/* Undone, it was none. */
	lose(2);
	allowed = kernel.busy = true;
	at[1].host = 0;
	CU_ASSERT(replace_it(&r) && has(r.error, "is not replaced") && has_extent(1) && !used());
}

int main(void)
{
	static const struct suite_test tests[] = {
		{ "a member is replaced", test_replaced },
		{ "a member whose drive is there", test_present },
		{ "replaced by another host", test_by_another_host },
		{ "an extent that is not freed", test_not_freed },
		{ "kept until all is made again", test_kept },
		{ "refused", test_refused },
		{ "undone", test_undone },
		{ "cut off", test_cut_off },
		{ "the new drive is lost", test_new_lost },
		{ "the new drive is lost, and the host restarted", test_new_lost_restarted },
		{ "a power cut before the kernel has it", test_power_cut },
		{ "what is undone", test_undo_which },
		{ "another member is away", test_late },
		{ "a spare", test_spare },
		{ NULL, NULL },
	};
	int err = suite_main("replace", tests);

	rig_end();
	return err;
}
