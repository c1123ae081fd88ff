// SPDX-License-Identifier: GPL-2.0-only
/* What happens to the members of a volume, pass by pass, against the events that come of it. */
#define _GNU_SOURCE
#include <linux/kernel.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "userspace/meshd/watch.c"
#include "userspace/libmesh/grow.c"
#include "suite.h"

#define N	6		/* two groups of ec:1+2, which may lose two members each */

static struct meshblk_group group[2];
static struct meshblk_member member[N];
static struct meshblk_volume kernel;
static struct store_volume stored;
static struct layout made;
static char events[1024];		/* of a pass: their kinds with the member, "degraded 1;" */
static struct event latest;
static u64 clock_ms;

static const char *const kinds[] = {
	[EVENT_DEGRADED] = "degraded", [EVENT_DOWN] = "down", [EVENT_SPARE] = "spare",
	[EVENT_REBUILDING] = "rebuilding", [EVENT_HEALED] = "healed", [EVENT_MISMATCHES] = "mismatches",
};

void event_report(const struct event *e)
{
	size_t n = strlen(events);

	snprintf(events + n, sizeof(events) - n, "%s%s%s;", kinds[e->kind], e->member[0] ? " " : "", e->member);
	latest = *e;
	CU_ASSERT(muuid_equal(&e->uuid, &stored.uuid) && !strcmp(e->volume, "data"));
}

int peer_of_member(const struct layout_member *m, struct store_host *h)
{
	(void)m;
	strcpy(h->name, "gpu3");
	return 0;
}

void mesh_close(struct mesh *m) { (void)m; }

int store_volume_get(const struct muuid *u, struct store_volume *v, struct layout *l)
{
	(void)u;
	*v = stored;
	memcpy(l, &made, sizeof(made));
	return 0;
}

static void role(u32 i, u8 r)
{
	group[i / 3].roles[i % 3] = r;
}

static void world(void)
{
	watch_done();
	watch_done();
	CU_ASSERT_PTR_NULL(all);
	memset(group, 0, sizeof(group));
	memset(member, 0, sizeof(member));
	memset(&made, 0, sizeof(made));
	made.segments = 1;
	made.members = N;
	made.segment[0] = (struct layout_segment) { .level = PROT_EC, .data = 1, .parity = 2, .groups = 2 };
	for (u32 i = 0; i < N; i++) {
		group[i / 3].members[i % 3] = i;
		group[i / 3].nr = 3;
		group[i / 3].column = i / 3;
		role(i, MESHBLK_ROLE_IN_SYNC);
		strcpy(group[i / 3].state, MESHBLK_STATE_ACTIVE);
		member[i].extent = made.member[i].extent = (struct muuid) { { 2, i } };
		made.member[i].drive = (struct muuid) { { 3, i } };
	}
	stored = (struct store_volume) { .uuid = { { 1 } }, .name = "data", .version = 4 };
	kernel = (struct meshblk_volume) { .version = 4, .members = member, .nr_members = N, .groups = group,
					   .nr_groups = 2 };
	clock_ms = 1000;
}

/* The events of one pass more. */
static const char *pass(void)
{
	events[0] = 0;
	clock_ms += 1000;
	watch_volume(&stored, &kernel, clock_ms);
	watch_done();
	return events;
}

static const char *pass_after(u64 ms)
{
	clock_ms += ms - 1000;
	return pass();
}

/* All members of the first group, with the state that the kernel gives them. */
static void suspects(const char *state)
{
	for (u32 i = 0; i < 3; i++) {
		role(i, MESHBLK_ROLE_SUSPECT);
		strcpy(member[i].state, state);
	}
}

static void test_lost_and_back(void)
{
	world();
	CU_ASSERT_STRING_EQUAL(pass(), "");
	role(4, MESHBLK_ROLE_SUSPECT);
	CU_ASSERT_STRING_EQUAL(pass(), "");
	role(4, MESHBLK_ROLE_FAILED);
	CU_ASSERT_STRING_EQUAL(pass(), "");
	role(4, MESHBLK_ROLE_OUT);
	CU_ASSERT_STRING_EQUAL(pass(), "degraded 4;");
	CU_ASSERT(latest.drive.b[0] == 3 && latest.drive.b[1] == 4);
	CU_ASSERT_STRING_EQUAL(latest.text, "volume data is degraded: member 4 (drive "
			       "03040000-0000-0000-0000-000000000000, host gpu3) is out; 1 more of group 0.1 may "
			       "be lost");
	CU_ASSERT_STRING_EQUAL(pass(), "");
	role(5, MESHBLK_ROLE_OUT);
	CU_ASSERT_STRING_EQUAL(pass(), "degraded 5;");
	CU_ASSERT_PTR_NOT_NULL(strstr(latest.text, "; no other one of group 0.1 may be lost"));
	role(4, MESHBLK_ROLE_JOINING);
	group[1].behind[1] = 3 << 20;
	CU_ASSERT_STRING_EQUAL(pass(), "rebuilding 4;");
	CU_ASSERT_PTR_NOT_NULL(strstr(latest.text, "is given what it lacks (3"));
	CU_ASSERT_STRING_EQUAL(pass(), "");
	role(5, MESHBLK_ROLE_JOINING);
	CU_ASSERT_STRING_EQUAL(pass(), "");
	role(4, MESHBLK_ROLE_IN_SYNC);
	CU_ASSERT_STRING_EQUAL(pass(), "");
	role(5, MESHBLK_ROLE_IN_SYNC);
	CU_ASSERT_STRING_EQUAL(pass(), "healed;");
	CU_ASSERT_STRING_EQUAL(latest.text, "volume data is whole again");
	CU_ASSERT_STRING_EQUAL(pass(), "");
	/* Once more, and back between two passes. */
	role(4, MESHBLK_ROLE_OUT);
	CU_ASSERT_STRING_EQUAL(pass(), "degraded 4;");
	role(4, MESHBLK_ROLE_IN_SYNC);
	CU_ASSERT_STRING_EQUAL(pass(), "healed;");
}

static void test_down(void)
{
	world();
	/* Attached without a member, after a time in which nothing is known. */
	strcpy(group[0].state, MESHBLK_STATE_OPENING);
	role(0, MESHBLK_ROLE_OUT);
	CU_ASSERT_STRING_EQUAL(pass(), "");
	strcpy(group[0].state, MESHBLK_STATE_ACTIVE);
	CU_ASSERT_STRING_EQUAL(pass(), "degraded 0;");
	strcpy(group[0].state, MESHBLK_STATE_WAITING);
	strcpy(group[0].reason, "too few members are here");
	CU_ASSERT_STRING_EQUAL(pass(), "down;");
	CU_ASSERT_STRING_EQUAL(latest.text, "volume data is down: group 0.0: too few members are here");
	CU_ASSERT_STRING_EQUAL(pass(), "");
	strcpy(group[0].state, MESHBLK_STATE_OPENING);
	CU_ASSERT_STRING_EQUAL(pass(), "");
	/* It serves again, with what it lacks. */
	strcpy(group[0].state, MESHBLK_STATE_ACTIVE);
	group[0].reason[0] = 0;
	CU_ASSERT_STRING_EQUAL(pass(), "degraded 0;");
	strcpy(group[0].state, MESHBLK_STATE_WAITING);
	CU_ASSERT_STRING_EQUAL(pass(), "down;");
	strcpy(group[0].state, MESHBLK_STATE_ACTIVE);
	role(0, MESHBLK_ROLE_IN_SYNC);
	CU_ASSERT_STRING_EQUAL(pass(), "healed;");
}

/* The kernel has stopped the group between two passes, and attaches it again for as long as it takes. */
static void test_attached_again(void)
{
	world();
	pass();
	strcpy(group[1].state, MESHBLK_STATE_OPENING);
	strcpy(group[1].reason, "too few members are here");
	role(3, MESHBLK_ROLE_SUSPECT);
	CU_ASSERT_STRING_EQUAL(pass(), "");
	CU_ASSERT_STRING_EQUAL(pass_after(9000), "");
	CU_ASSERT_STRING_EQUAL(pass(), "down;");
	CU_ASSERT_STRING_EQUAL(latest.text, "volume data is down: group 0.1: too few members are here");
	CU_ASSERT_STRING_EQUAL(pass_after(60000), "");
	strcpy(group[1].state, MESHBLK_STATE_ACTIVE);
	group[1].reason[0] = 0;
	role(3, MESHBLK_ROLE_IN_SYNC);
	CU_ASSERT_STRING_EQUAL(pass(), "healed;");
	/* A new layout, say. */
	strcpy(group[1].state, MESHBLK_STATE_OPENING);
	CU_ASSERT_STRING_EQUAL(pass(), "");
	strcpy(group[1].state, MESHBLK_STATE_ACTIVE);
	CU_ASSERT_STRING_EQUAL(pass_after(60000), "");
	strcpy(group[1].state, MESHBLK_STATE_OPENING);
	CU_ASSERT_STRING_EQUAL(pass(), "");
	/* A first attach takes longer. */
	world();
	strcpy(group[0].state, MESHBLK_STATE_OPENING);
	CU_ASSERT_STRING_EQUAL(pass(), "");
	CU_ASSERT_STRING_EQUAL(pass_after(59000), "");
	CU_ASSERT_STRING_EQUAL(pass(), "down;");
}

/* Hosts that answer, and I/O that takes a second or more: it is slow, and serves. */
static void test_slow(void)
{
	world();
	pass();
	suspects(MESHBLK_STATE_UP);
	CU_ASSERT_STRING_EQUAL(pass(), "");
	CU_ASSERT_STRING_EQUAL(pass_after(60000), "");
	suspects("lost");
	CU_ASSERT_STRING_EQUAL(pass(), "");
	CU_ASSERT_STRING_EQUAL(pass_after(10000), "down;");
	/* Of a reader's they may belong to a host that writes. */
	world();
	kernel.readonly = true;
	pass();
	suspects(MESHBLK_STATE_UP);
	CU_ASSERT_STRING_EQUAL(pass(), "");
	CU_ASSERT_STRING_EQUAL(pass_after(10000), "down;");
	/* A member that failed, and may not leave: its roster cannot be noted. */
	world();
	pass();
	role(0, MESHBLK_ROLE_FAILED);
	group[0].witness = true;
	CU_ASSERT_STRING_EQUAL(pass(), "");
	CU_ASSERT_STRING_EQUAL(pass_after(10000), "down;");
	CU_ASSERT_STRING_EQUAL(latest.text, "volume data is down: group 0.0: meshd cannot note which members are "
			       "missing");
}

/* For reading no member is out: what is away is suspect, whole or not. */
static void test_down_again(void)
{
	world();
	pass();
	suspects("lost");
	CU_ASSERT_STRING_EQUAL(pass(), "");
	CU_ASSERT_STRING_EQUAL(pass_after(10000), "down;");
	role(0, MESHBLK_ROLE_IN_SYNC);
	CU_ASSERT_STRING_EQUAL(pass(), "");
	role(0, MESHBLK_ROLE_SUSPECT);
	CU_ASSERT_STRING_EQUAL(pass(), "");
	CU_ASSERT_STRING_EQUAL(pass_after(10000), "down;");
}

/* The group of a new segment is attached to begin with, beside one that served. */
static void test_extended(void)
{
	world();
	kernel.nr_groups = 1;
	pass();
	kernel.nr_groups = 2;
	strcpy(group[1].state, MESHBLK_STATE_OPENING);
	CU_ASSERT_STRING_EQUAL(pass(), "");
	CU_ASSERT_STRING_EQUAL(pass_after(30000), "");
	/* One that served, for a moment of that time. */
	role(0, MESHBLK_ROLE_FAILED);
	CU_ASSERT_STRING_EQUAL(pass(), "");
	role(0, MESHBLK_ROLE_IN_SYNC);
	CU_ASSERT_STRING_EQUAL(pass(), "");
	strcpy(group[1].state, MESHBLK_STATE_ACTIVE);
	CU_ASSERT_STRING_EQUAL(pass(), "");
	strcpy(group[1].state, MESHBLK_STATE_OPENING);
	CU_ASSERT_STRING_EQUAL(pass(), "");
	CU_ASSERT_STRING_EQUAL(pass_after(10000), "down;");
}

/* I/O waits for members, of which one more may not be lost; the kernel has not stopped yet. */
static void test_waits(void)
{
	world();
	pass();
	role(0, MESHBLK_ROLE_OUT);
	CU_ASSERT_STRING_EQUAL(pass(), "degraded 0;");
	role(1, MESHBLK_ROLE_SUSPECT);
	CU_ASSERT_STRING_EQUAL(pass(), "");
	CU_ASSERT_STRING_EQUAL(pass_after(60000), "");
	role(2, MESHBLK_ROLE_SUSPECT);
	CU_ASSERT_STRING_EQUAL(pass(), "");
	CU_ASSERT_STRING_EQUAL(pass_after(9000), "");
	/* A pause. */
	role(2, MESHBLK_ROLE_IN_SYNC);
	CU_ASSERT_STRING_EQUAL(pass(), "");
	role(2, MESHBLK_ROLE_FAILED);
	CU_ASSERT_STRING_EQUAL(pass(), "");
	CU_ASSERT_STRING_EQUAL(pass_after(10000), "down;");
	CU_ASSERT_STRING_EQUAL(latest.text, "volume data is down: group 0.0: too few members answer");
	CU_ASSERT_STRING_EQUAL(pass(), "");
	role(1, MESHBLK_ROLE_IN_SYNC);
	role(2, MESHBLK_ROLE_IN_SYNC);
	CU_ASSERT_STRING_EQUAL(pass(), "degraded 0;");
	role(0, MESHBLK_ROLE_IN_SYNC);
	CU_ASSERT_STRING_EQUAL(pass(), "healed;");
	/* Reads alone wait. */
	world();
	pass();
	strcpy(group[1].reason, "reads wait");
	CU_ASSERT_STRING_EQUAL(pass(), "");
	CU_ASSERT_STRING_EQUAL(pass_after(10000), "down;");
	CU_ASSERT_STRING_EQUAL(latest.text, "volume data is down: group 0.1: reads wait");
	group[1].reason[0] = 0;
	CU_ASSERT_STRING_EQUAL(pass(), "healed;");
	/* Of three copies one is enough. */
	world();
	made.segment[0].level = PROT_RAID10;
	made.segment[0].data = 3;
	pass();
	role(0, MESHBLK_ROLE_SUSPECT);
	role(1, MESHBLK_ROLE_SUSPECT);
	pass();
	CU_ASSERT_STRING_EQUAL(pass_after(60000), "");
}

/* The time counts for spares; another extent in a member's place is no event. */
static void test_since(void)
{
	const struct muuid out = { { 2, 1 } }, spare = { { 2, 9 } };

	world();
	pass();
	CU_ASSERT_EQUAL(watch_out_since(&stored.uuid, &out), 0);
	role(1, MESHBLK_ROLE_OUT);
	pass();
	CU_ASSERT_EQUAL(watch_out_since(&stored.uuid, &out), 3000);
	pass();
	CU_ASSERT_EQUAL(watch_out_since(&stored.uuid, &out), 3000);
	CU_ASSERT_EQUAL(watch_out_since(&out, &out), 0);
	role(1, MESHBLK_ROLE_JOINING);
	pass();
	CU_ASSERT_EQUAL(watch_out_since(&stored.uuid, &out), 0);
	role(1, MESHBLK_ROLE_OUT);
	CU_ASSERT_STRING_EQUAL(pass(), "degraded 1;");
	CU_ASSERT_EQUAL(watch_out_since(&stored.uuid, &out), 6000);
	member[1].extent = made.member[1].extent = spare;
	CU_ASSERT_STRING_EQUAL(pass(), "");
	CU_ASSERT_EQUAL(watch_out_since(&stored.uuid, &out), 0);
	CU_ASSERT_EQUAL(watch_out_since(&stored.uuid, &spare), 7000);
	role(1, MESHBLK_ROLE_JOINING);
	CU_ASSERT_STRING_EQUAL(pass(), "rebuilding 1;");
	role(1, MESHBLK_ROLE_IN_SYNC);
	CU_ASSERT_STRING_EQUAL(pass(), "healed;");
}

/* The store is ahead of the kernel: members have other numbers, perhaps; it is reported later. */
static void test_behind(void)
{
	world();
	pass();
	stored.version = 5;
	role(1, MESHBLK_ROLE_OUT);
	CU_ASSERT_STRING_EQUAL(pass(), "");
	kernel.version = 5;
	CU_ASSERT_STRING_EQUAL(pass(), "degraded 1;");
	/* It was detached in between. */
	watch_done();
	CU_ASSERT_PTR_NULL(all);
	kernel.nr_groups = 0;
	CU_ASSERT_STRING_EQUAL(pass(), "");
	CU_ASSERT_PTR_NULL(all);
}

static void test_scrub(void)
{
	world();
	group[1].mismatches = 7;	/* of a scrub before this meshd began */
	CU_ASSERT_STRING_EQUAL(pass(), "");
	CU_ASSERT_STRING_EQUAL(pass(), "");
	group[1].mismatches = 0;
	group[0].scrubbing = group[1].scrubbing = true;
	CU_ASSERT_STRING_EQUAL(pass(), "");
	group[0].scrubbing = false;
	group[1].mismatches = 7;
	group[1].repaired = 2;
	CU_ASSERT_STRING_EQUAL(pass(), "");
	group[1].scrubbing = false;
	CU_ASSERT_STRING_EQUAL(pass(), "mismatches;");
	CU_ASSERT_PTR_NOT_NULL(strstr(latest.text, "found 7 sectors that differ, and wrote 2 again"));
	CU_ASSERT_STRING_EQUAL(pass(), "");
	/* The same is found again; then less, between two passes; then nothing. */
	group[1].scrubbing = true;
	pass();
	group[1].scrubbing = false;
	CU_ASSERT_STRING_EQUAL(pass(), "mismatches;");
	group[1].mismatches = 3;
	CU_ASSERT_STRING_EQUAL(pass(), "mismatches;");
	group[1].scrubbing = true;
	pass();
	group[1].scrubbing = false;
	group[1].mismatches = 0;
	CU_ASSERT_STRING_EQUAL(pass(), "");
}

int main(void)
{
	static const struct suite_test tests[] = {
		{ "members that go and come back", test_lost_and_back },
		{ "down, and serving again", test_down },
		{ "down, as it is attached again", test_attached_again },
		{ "down, as too few answer", test_waits },
		{ "slow is not down", test_slow },
		{ "down again, for reading", test_down_again },
		{ "extended", test_extended },
		{ "since when a member is out", test_since },
		{ "a layout that the kernel does not have yet", test_behind },
		{ "what a scrub found", test_scrub },
		{ NULL, NULL },
	};
	int ret = suite_main("watch", tests);

	watch_done();
	watch_done();
	return ret;
}
