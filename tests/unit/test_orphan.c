// SPDX-License-Identifier: GPL-2.0-only
/* Which extents are orphans: what is freed without an option is one for sure. */
#include <CUnit/Basic.h>

#include "volume_rig.h"
#include "req_rig.h"
#include "suite.h"

#include "userspace/meshd/gather.c"
#include "userspace/meshd/orphan.c"
#include "userspace/meshd/sql.h"

static const struct muuid no_host;
static char why[CLAIM_WHY];
static bool stale, preempt, dry;	/* what drive free says ... */
static char extent[MUUID_TEXT];		/* ... and names */
static struct req r;

const char *arg_str(const struct req *q, const char *key)
{
	(void)q;
	return strcmp(key, "extent") ? "" : extent;
}

bool arg_bool(const struct req *q, const char *key)
{
	(void)q;
	return !strcmp(key, "stale") ? stale : !strcmp(key, "preempt") ? preempt : dry;
}

/* How extent @i is judged, with all drives exported. */
static enum claim claim(u32 i)
{
	struct survey s = { 0 };
	struct gather g;
	enum claim c;
	bool fresh;
	u32 k;

	CU_ASSERT_FATAL(!gather(&g, &vol, false));
	for (k = 0; k < EXTENTS; k++)
		if (at[k].host < HOSTS)
			umap_put(&s.drives, &at[k].e.drive, &fresh);
	why[0] = 0;
	c = claim_of(&s, &g, &at[i].e, why);
	umap_free(&s.drives);
	gather_free(&g);
	return c;
}

/* Extents of version 0, and no record anywhere. */
static void unrecorded(void)
{
	u32 i;

	rig_new(2);
	for (i = 0; i < EXTENTS; i++) {
		free(at[i].record);
		at[i].record = NULL;
		at[i].e.version = at[i].e.commit = 0;
	}
	at[2].e.length = 0;
}

static void test_create(void)
{
	unrecorded();
	CU_ASSERT(claim(0) == CLAIM_UNKNOWN && has(why, "just ending"));
	at[1].e.ready = false;
	CU_ASSERT(claim(1) == CLAIM_UNKNOWN && has(why, "being zeroed"));
	/* Small ones are ready before the others are. */
	CU_ASSERT(claim(0) == CLAIM_UNKNOWN);
}

/* The third extent is an extend's: by the volume's holder, or it was left. */
static void test_extend(void)
{
	struct layout *l = malloc(sizeof(*l));

	rig_new(2);
	CU_ASSERT(claim(0) == CLAIM_HELD && claim(2) == CLAIM_NONE && has(why, "an extend that did not"));
	rig_layout(l, 2, 1, "data");
	rig_record(1, l, (struct muuid) { { 12 } });
	CU_ASSERT(claim(2) == CLAIM_UNKNOWN && has(why, "may be extending"));
	rig_record(1, l, D.host);
	CU_ASSERT(claim(2) == CLAIM_NONE);
	rig_record(1, l, no_host);
	at[2].e.ready = false;
	CU_ASSERT(claim(2) == CLAIM_UNKNOWN);
	free(l);
}

/* One extent is not on its drive any more: the others are all that is left. */
static void test_in_part(void)
{
	rig_new(2);
	at[1].e.length = 0;
	CU_ASSERT(claim(0) == CLAIM_UNKNOWN && has(why, "in part"));
	at[1].host = HOSTS;
	CU_ASSERT(claim(0) == CLAIM_UNKNOWN && has(why, "away"));
}

/* A host that does not answer may know more, of what was never recorded too. */
static void test_silent(void)
{
	unrecorded();
	down[1] = true;
	CU_ASSERT(claim(0) == CLAIM_UNKNOWN && has(why, "h1"));
	rig_new(2);
	down[1] = true;
	CU_ASSERT(claim(2) == CLAIM_UNKNOWN && has(why, "h1"));
}

/* All the records are there, but some cannot be read now; and none are, for good. */
static void test_unread(void)
{
	u32 i;

	for (i = 0; i < 2; i++) {
		rig_new(2);
		at[0].unread = at[1].unread = true;
		at[i].unread = false;
		CU_ASSERT(claim(0) == CLAIM_HELD);
		/* What is not named by the record that was read, a later one may name. */
		CU_ASSERT(claim(2) == CLAIM_UNKNOWN && has(why, "cannot be read now"));
		at[i].unread = true;
		CU_ASSERT(claim(0) == CLAIM_UNKNOWN && has(why, "drive 0300") && has(why, "host h0"));
		CU_ASSERT(claim(1) == CLAIM_UNKNOWN && claim(2) == CLAIM_UNKNOWN);
		at[0].unread = at[1].unread = false;
		at[0].unreadable = at[1].unreadable = true;
		CU_ASSERT(claim(i) == CLAIM_NONE);
	}
}

/* An extend that is in one old member's label: its new extent may be the volume's by now. */
static void test_half_way(void)
{
	struct layout *l = malloc(sizeof(*l));

	rig_new(2);
	rig_layout(l, 3, 2, "data");
	rig_record(0, l, no_host);
	CU_ASSERT(claim(2) == CLAIM_HELD);
	free(l);
}

/* drive free of extent @i: 0, or -1 and words. Whether it is gone goes with that. */
static int freed(u32 i)
{
	int err;

	muuid_text(&at[i].e.uuid, extent);
	r = (struct req) { 0 };
	err = cmd_drive_free(&r);
	CU_ASSERT(!at[i].e.length == (!err && !dry));
	return err;
}

/* Its options are about one thing each, and a dry run frees nothing. */
static void free_with(int opts, bool needs_stale, bool needs_preempt, const char *words)
{
	stale = opts & 1;
	preempt = opts & 2;
	dry = opts & 4;
	if ((!needs_stale || stale) && (!needs_preempt || preempt)) {
		CU_ASSERT(!freed(2));
	} else {
		CU_ASSERT(freed(2) == -1 && has(r.error, words));
	}
	stale = preempt = dry = false;
}

static void test_free(void)
{
	struct store_intent in = { .volume = vol, .extent = { { 2, 2 } }, .host = { { 11 } },
				   .drive = { { 3, 2 } }, .length = 4 << 20 };

	for (int opts = 0; opts < 8; opts++) {
		rig_new(2);
		store_volume_erase(&vol);	/* it is another host's */
		free_with(opts, false, false, "");
		rig_new(2);
		store_volume_erase(&vol);
		down[1] = true;
		free_with(opts, true, false, "add --stale");
		rig_new(2);
		store_volume_erase(&vol);
		at[0].unread = at[1].unread = true;
		rig_record(2, at[0].record, no_host);
		at[2].unread = true;
		free_with(opts, true, false, "add --stale");
		rig_new(2);
		store_volume_erase(&vol);
		at[2].e.holder = (struct muuid) { { 12 } };
		at[2].e.version = at[2].e.commit = 5;
		free_with(opts, false, true, "add --preempt");
		/* What this host is making, or has in a volume, no option frees. */
		rig_new(3);
		stale = preempt = true;
		CU_ASSERT(freed(2) == -1 && has(r.error, "delete the volume"));
		rig_new(2);
		CU_ASSERT_FATAL(!store_intents_add(&in, 1));
		stale = preempt = true;
		CU_ASSERT(freed(2) == -1 && has(r.error, "delete the volume"));
		CU_ASSERT_FATAL(!store_intent_del(&in.extent));
		/* Nor what may be a copy's. */
		rig_new(2);
		at[2].copied = true;
		at[2].owner = no_host;
		CU_ASSERT(freed(2) == -1 && has(r.error, "one has a copy"));
		stale = preempt = false;
	}
}

static void drop(const char *table)
{
	char text[40];

	snprintf(text, sizeof(text), "DROP TABLE %s", table);
	CU_ASSERT(sqlite3_exec(store_db, text, NULL, NULL, NULL) == SQLITE_OK);
}

/* One that may be kept stays where the store does not say. No test comes after that. */
static void test_store_fails(void)
{
	struct survey s = { 0 };
	struct gather g;

	rig_new(2);
	at[2].e.version = 1;
	CU_ASSERT(claim(2) == CLAIM_NONE);
	CU_ASSERT_FATAL(!gather(&g, &vol, false));
	drop("frees");
	CU_ASSERT(claim_of(&s, &g, &at[2].e, why) == CLAIM_UNKNOWN && has(why, "the store"));
	drop("volumes");
	CU_ASSERT(claim_of(&s, &g, &at[2].e, why) == CLAIM_UNKNOWN && has(why, "the store"));
	gather_free(&g);
}

int main(void)
{
	static const struct suite_test tests[] = {
		{ "a create", test_create },
		{ "an extend", test_extend },
		{ "deleted in part", test_in_part },
		{ "silent hosts", test_silent },
		{ "an extend that is half way", test_half_way },
		{ "records that are not read", test_unread },
		{ "drive free", test_free },
		{ "the store fails", test_store_fails },
		{ NULL, NULL },
	};
	int err = suite_main("orphan", tests);

	rig_end();
	return err;
}
