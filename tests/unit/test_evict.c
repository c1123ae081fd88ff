// SPDX-License-Identifier: GPL-2.0-only
/*
 * volume evict, while it waits: the volume is busy all that time, so what the reconciler does for it
 * otherwise is done there. Kernel, hosts and store are stand-ins.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/meshd/evict.c"
#include "req_rig.h"
#include "suite.h"

struct meshd D = { .host = { { 1 } } };

static struct meshblk_group group;
static struct store_volume volume = { .uuid = { { 9 } }, .name = "data", .version = 3 };
static bool away;		/* a local drive of another member; its device is here again */
static bool takes;		/* the group takes the copy when that is used */
static int reopened;
static u64 clock_ms;
static const char *with = "";
static int swaps;		/* extents that were taken for a copy */

int kernel_volume(const struct muuid *uuid, struct meshblk_volume *k)
{
	*k = (struct meshblk_volume) { .uuid = *uuid, .version = 3, .groups = &group, .nr_groups = 1 };
	return 0;
}

enum health volume_health(const struct meshblk_volume *k)
{
	(void)k;
	return away ? HEALTH_DEGRADED : HEALTH_WHOLE;
}

void reconcile_locals(const struct muuid *uuid)
{
	CU_ASSERT(muuid_equal(uuid, &volume.uuid));
	reopened++;
	away = false;
	if (takes)
		group.successor = (struct muuid) { { 0 } };
}

void sleep_ms(unsigned int ms) { clock_ms += ms; }
u64 now_ms(void) { return clock_ms; }
/* So that a test ends that waits for ever. */
bool stopping(void) { return clock_ms > 2 * SWAP_MS; }

const char *arg_str(const struct req *r, const char *name)
{
	(void)r;
	return strcmp(name, "with") ? "0" : with;
}

bool arg_bool(const struct req *r, const char *name) { (void)r, (void)name; return false; }
bool req_cancelled(const struct req *r) { (void)r; return false; }
void req_progress(struct req *r, const char *what, u64 done, u64 total) { (void)r, (void)what, (void)done, (void)total; }
bool busy_cancelled(const struct muuid *u) { (void)u; return false; }
void meshblk_volume_free(struct meshblk_volume *k) { (void)k; }
struct mesh *mesh_open(void) { return NULL; }
void mesh_close(struct mesh *m) { (void)m; }
const char *mesh_why(const struct mesh *m) { (void)m; return ""; }
int meshblk_volume_evict(struct mesh *m, const struct muuid *u, u32 i, const struct meshblk_member *mb)
{ (void)m, (void)u, (void)i, (void)mb; return 0; }
u8 groups_role(const struct meshblk_volume *k, u32 member) { (void)k, (void)member; return MESHBLK_ROLE_IN_SYNC; }
int peer_of_member(const struct layout_member *m, struct store_host *h) { (void)m, (void)h; return -ENOENT; }
void log_info(const char *fmt, ...) { (void)fmt; }
void log_warn(const char *fmt, ...) { (void)fmt; }
const char *store_words(int err) { (void)err; return ""; }
int intents_undo(const struct muuid *u, char *why) { (void)u, (void)why; return 0; }
int volume_must_hold(struct req *r, const struct store_volume *v) { (void)r, (void)v; return 0; }
int volume_result(struct req *r, const struct muuid *u) { (void)r, (void)u; return 0; }
int volume_find(struct req *r, struct store_volume *v, struct layout *l) { (void)r, (void)v, (void)l; return -1; }
int volume_with_next(struct req *r, bool whole, int (*fn)(struct req *r, struct store_volume *v, struct layout *l,
							   struct layout *next))
{ (void)r, (void)whole, (void)fn; return -1; }
int replace_named(struct req *r, const struct store_volume *v, const struct layout *l)
{ (void)r, (void)v, (void)l; return 0; }
int replace_swap_in(struct req *r, struct store_volume *v, struct layout *l, struct layout *next, u32 member)
{ (void)r, (void)v, (void)l, (void)next, (void)member; return -1; }
int replace_finish(struct store_volume *v, const struct layout *l, char *why) { (void)v, (void)l, (void)why; return 0; }

int extents_swap(struct req *r, struct store_volume *v, struct layout *l, u32 slot, const struct segment_req *q,
		 const int *steps)
{
	(void)v, (void)l, (void)slot, (void)q, (void)steps;
	swaps++;
	return req_fail(r, "no drive fits");
}

static void begin(void)
{
	group = (struct meshblk_group) { .nr = 2, .members = { 0, 1 }, .copied = 8, .copy_bytes = 8,
					 .successor = { { 7 } } };
	strcpy(group.state, MESHBLK_STATE_ACTIVE);
	clock_ms = 1000;
	reopened = 0;
	takes = false;
}

/* The copy has all, and the member leaves when none is missing. */
static void test_copied(void)
{
	struct req r = { 0 };

	begin();
	CU_ASSERT(!wait_copied(&r, &volume, 0) && !reopened);
	away = true;
	CU_ASSERT(!wait_copied(&r, &volume, 0) && reopened == 1);
}

static void test_swapped(void)
{
	struct req r = { 0 };

	begin();
	away = takes = true;
	CU_ASSERT(!wait_swapped(&r, &volume, 0) && reopened == 1);
}

/* Its new drive has not got the place yet: no other extent is taken for it. */
static void test_waits(void)
{
	struct layout *l = calloc(2, sizeof(*l));
	struct req r = { 0 };

	begin();
	l[0].version = l[1].version = 3;
	l[0].members = 2;
	l[0].member[0].kind = l[0].member[1].kind = LAYOUT_KIND_RDDA;
	group.waits = 1 << 0;
	swaps = 0;
	CU_ASSERT(evict_member(&r, &volume, &l[0], &l[1], 0) && !swaps);
	CU_ASSERT_PTR_NOT_NULL(strstr(r.error, "has a new drive already"));
	/* That of another member. */
	group.waits = 1 << 1;
	CU_ASSERT(evict_member(&r, &volume, &l[0], &l[1], 0) && swaps == 1);
	free(l);
}

/* Nothing is chosen or erased, and no --force is named, which evict has not. */
static void test_local(void)
{
	struct layout *l = calloc(2, sizeof(*l));
	struct req r = { 0 };

	begin();
	with = "bdev:/dev/sdx";
	l->members = 2;
	l->version = 3;
	CU_ASSERT(evict(&r, &volume, l, l + 1) && !swaps);
	CU_ASSERT_STRING_EQUAL(r.error, "a member is not evicted to a local drive: export /dev/sdx first (meshctl drive "
			       "export), then name it without bdev:");
	with = "/dev/sdx";
	CU_ASSERT(evict(&r, &volume, l, l + 1) && swaps == 1);
	free(l);
}

int main(void)
{
	static const struct suite_test tests[] = {
		{ "a local drive is back while it copies", test_copied },
		{ "... while the group takes the copy", test_swapped },
		{ "to a local drive", test_local },
		{ "a place that waits", test_waits },
		{ NULL, NULL },
	};

	return suite_main("evict", tests);
}
