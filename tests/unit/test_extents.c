// SPDX-License-Identifier: GPL-2.0-only
/*
 * Extents that the store has as being allocated are given back, unless a label or a
 * record says that they are in use by now: the store may be an older one, put back.
 */
#include <CUnit/Basic.h>

#define RIG_EXTENTS
#include "volume_rig.h"
#include "req_rig.h"
#include "suite.h"

#include "userspace/meshd/choose.c"
#include "userspace/meshd/extents.c"
#include "userspace/meshd/gather.c"

static json_t *fresh;		/* devices that are named and have no label yet */
static u32 labelled;

int local_begin(struct req *rq, const struct segment_req *named, struct locals *of)
{
	(void)rq;
	*of = (struct locals) { .q = *named };
	of->q.fresh = fresh;
	return 0;
}

void local_end(struct locals *of) { (void)of; }
int local_apart(struct req *q, const struct locals *of, const struct layout *l) { (void)q, (void)of, (void)l; return 0; }

int local_label(struct req *q, struct locals *of, const struct layout *l)
{
	(void)of, (void)l;
	labelled++;
	return req_fail(q, "that is all");
}

static const struct muuid no_host;
static char why[REASON];

void kernel_device(const struct muuid *uuid, char *out, size_t size)
{
	(void)uuid;
	snprintf(out, size, "%s", kernel.there ? "/dev/mesh0" : "");
}

static u32 unzeroed;		/* polls until an extent reads zero; 0: hosts know none */
static u32 reopened;		/* searches for local drives that are back */

int peer_extent(const struct store_host *h, const struct muuid *extent, struct mgmt_extent *out, char *words)
{
	(void)h, (void)extent, (void)words;
	*out = (struct mgmt_extent) { .ready = unzeroed == 1 };
	return unzeroed && unzeroed-- ? 0 : -ENOSYS;
}

void reconcile_locals(const struct muuid *volume)
{
	CU_ASSERT(muuid_equal(volume, &vol));
	reopened++;
}

bool busy_cancelled(const struct muuid *volume)
{
	(void)volume;
	return false;
}

/* Members from @first on are intents, their labels those of a fresh extent. */
static void begin(u32 members, u32 first)
{
	struct layout *l = malloc(sizeof(*l));
	struct store_intent in[EXTENTS];
	struct store_volume v = { .uuid = vol, .name = "data", .state = STORE_CREATING };
	u32 i;

	rig_new(first ? first : members);
	rig_layout(l, members, 1, "data");
	for (i = first; i < members; i++) {
		at[i].e.version = at[i].e.commit = 0;
		free(at[i].record);
		at[i].record = NULL;
		in[i - first] = (struct store_intent) {
			.volume = vol, .name = "data", .host = l->member[i].target,
			.drive = l->member[i].drive, .extent = l->member[i].extent,
			.length = l->member[i].size,
		};
	}
	if (first) {
		CU_ASSERT_FATAL(!store_intents_add(in, members - first));
	} else {
		store_volume_erase(&vol);
		CU_ASSERT_FATAL(!store_volume_begin(&v, l, in, members));
	}
	free(l);
}

static int undo(void)
{
	why[0] = 0;
	return intents_undo(&vol, why);
}

static void test_create(void)
{
	begin(2, 0);
	CU_ASSERT(!undo() && rig_extents() == 1 && !rig_intents() && !rig_state_is(STORE_CREATING));
	/* What cannot be reached now is for another time. */
	begin(2, 0);
	down[0] = true;
	CU_ASSERT(undo() && rig_extents() == EXTENTS && rig_intents() == 2 && rig_state_is(STORE_CREATING));
	down[0] = false;
	CU_ASSERT(!undo() && rig_extents() == 1 && !rig_intents());
	/* A drive that moved since. */
	begin(2, 0);
	at[1].host = 1;
	CU_ASSERT(!undo() && rig_extents() == 1 && !rig_intents());
}

/* The volume was made after the store was saved. */
static void test_made(void)
{
	struct layout *l = malloc(sizeof(*l));

	for (u32 records = 1; records <= 2; records++) {
		begin(2, 0);
		rig_layout(l, 2, 1, "data");
		for (u32 i = 0; i < records; i++)
			rig_record(i, l, no_host);
		CU_ASSERT(!undo() && rig_extents() == EXTENTS && rig_state_is(STORE_LIVE) && !rig_intents());
	}
	/* Its records are not to be read, but a label says that there is one. */
	begin(2, 0);
	at[0].e.version = at[0].e.commit = 1;
	CU_ASSERT(!undo() && at[0].e.length);
	free(l);
}

static void test_extend(void)
{
	struct layout *l = malloc(sizeof(*l));

	begin(3, 2);
	CU_ASSERT(!undo() && rig_extents() == 2 && !rig_intents() && rig_state_is(STORE_LIVE));
	/* A record on one old member names it by now. */
	begin(3, 2);
	rig_layout(l, 3, 2, "data");
	rig_record(0, l, D.host);
	CU_ASSERT(undo() == -EAGAIN && rig_extents() == EXTENTS && rig_intents() == 1);
	CU_ASSERT(has(why, "half made"));
	/* Or on the one that is away. */
	begin(3, 2);
	at[1].host = HOSTS;
	CU_ASSERT(undo() == -EAGAIN && rig_extents() == EXTENTS && rig_intents() == 1);
	/* It is completed: the extent is the volume's. */
	begin(3, 2);
	for (u32 i = 0; i < 3; i++)
		rig_record(i, l, D.host);
	CU_ASSERT(!undo() && rig_extents() == EXTENTS && !rig_intents());
	free(l);
}

/* The record of an old member may name it, and cannot be read just now. */
static void test_unread(void)
{
	struct layout *l = malloc(sizeof(*l));

	begin(3, 2);
	rig_layout(l, 3, 2, "data");
	rig_record(0, l, D.host);
	at[0].unread = true;
	CU_ASSERT(undo() == -EAGAIN && rig_extents() == EXTENTS && rig_intents() == 1);
	CU_ASSERT(has(why, "host h0 cannot be read now"));
	/* It answers again. */
	at[0].unread = false;
	CU_ASSERT(undo() == -EAGAIN && rig_extents() == EXTENTS && has(why, "half made"));
	rig_layout(l, 2, 3, "data");
	rig_record(0, l, D.host);
	CU_ASSERT(!undo() && rig_extents() == 2 && !rig_intents());
	free(l);
}

/* An extend by two that was undone: one had its record already, and one drive is away. */
static void test_undone(void)
{
	struct layout *l = malloc(sizeof(*l));
	struct store_volume v;

	for (int deleted = 0; deleted < 2; deleted++) {
		begin(3, 1);
		rig_layout(l, 3, 2, "data");
		rig_record(1, l, D.host);
		at[2].host = HOSTS;
		rig_layout(l, 1, 3, "data");
		rig_record(0, l, D.host);
		rig_load(&v, l);
		at[0].e.length = deleted ? 0 : at[0].e.length;
		v.state = deleted ? STORE_DELETING : STORE_LIVE;
		v.recorded = 1;
		CU_ASSERT(!store_volume_flags(&v));
		CU_ASSERT(undo() == -ENODEV && has(why, "is not exported here") && rig_intents() == 1);
		rig_load(&v, l);
		CU_ASSERT(v.recorded == 1 && at[1].e.length);
		/* It comes back. */
		at[2].host = 0;
		CU_ASSERT(!undo() && !at[2].e.length && !rig_intents());
	}
	free(l);
}

static void test_copied(void)
{
	for (u32 first = 0; first <= 2; first += 2) {
		begin(3, first);
		at[2].copied = true;
		at[2].owner = no_host;
		CU_ASSERT(undo() == -ENOTUNIQ && rig_extents() == EXTENTS && has(why, "one has a copy"));
		CU_ASSERT(rig_intents() == 3 - first);
	}
}

/* What a device carries is erased when there is a plan with it, and not before. */
static void test_labelled_last(void)
{
	static const int steps[4] = { CRASH_NONE, CRASH_NONE, CRASH_NONE, CRASH_NONE };
	struct mgmt_drive m = { .uuid = { { 50 } }, .state = MGMT_LOCAL, .free = 64 << 20, .longest = 64 << 20,
				.lba = 512, .path = "/dev/x" };
	struct segment_req q = { .shape = { PROT_LINEAR, 1, 0, 1 }, .bytes = 1ULL << 30 };
	json_t *drives = json_pack("[s]", muuid_str(&m.uuid).s), *typo = json_pack("[s, s]", muuid_str(&m.uuid).s, "y");
	struct layout *l = calloc(1, sizeof(*l));
	struct store_volume v = { .uuid = vol };
	const struct muuid was = D.host;
	struct req r = { 0 };

	begin(2, 0);
	D.host = (struct muuid) { { 11 } };
	fresh = json_pack("[o]", mgmt_drive_pack(&m));
	q.drives = drives;
	CU_ASSERT(extents_get(&r, &v, l, &q, steps) && !labelled && has(r.error, "do not fit"));
	q.bytes = 8 << 20;
	q.drives = typo;
	CU_ASSERT(extents_get(&r, &v, l, &q, steps) && !labelled && !l->members);
	q.drives = drives;
	CU_ASSERT(extents_get(&r, &v, l, &q, steps) && labelled == 1 && has(r.error, "that is all"));
	CU_ASSERT(l->members == 1 && muuid_equal(&l->member[0].drive, &m.uuid));
	CU_ASSERT(l->member[0].kind == LAYOUT_KIND_BDEV && muuid_equal(&l->member[0].target, &D.host));
	json_decref(fresh);
	json_decref(drives);
	json_decref(typo);
	fresh = NULL;
	D.host = was;
	free(l);
}

/* A local drive of the volume that comes back is not kept out for as long as an extend zeroes. */
static void test_waits(void)
{
	struct layout *l = malloc(sizeof(*l));
	struct req r = { 0 };

	rig_new(2);
	rig_layout(l, 2, 1, "data");
	unzeroed = 3;
	CU_ASSERT(!wait_zeroed(&r, l, 1, 1) && reopened == 2);
	unzeroed = 0;
	CU_ASSERT(wait_zeroed(&r, l, 1, 1) && reopened == 2);
	free(l);
}

int main(void)
{
	static const struct suite_test tests[] = {
		{ "a create that ended", test_create },
		{ "one that was made", test_made },
		{ "an extend that ended", test_extend },
		{ "a record that cannot be read just now", test_unread },
		{ "an extend that was undone", test_undone },
		{ "a drive and a copy of it", test_copied },
		{ "labels of local drives come last", test_labelled_last },
		{ "what is done while zeroes are written", test_waits },
		{ NULL, NULL },
	};
	int err = suite_main("extents", tests);

	rig_end();
	return err;
}
