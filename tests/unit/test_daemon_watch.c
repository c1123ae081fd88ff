// SPDX-License-Identifier: GPL-2.0-only
/*
 * Events of a volume as the kernel's answers change, pass by pass, and lines of the log. The kernel is
 * made up; the store's objects are real.
 */
#include "tests/unit/kernel_rig.h"
#include "userspace/daemon/report.h"

#define N	6		/* two groups of three copies, which may lose two members each */

static struct meshblk_group group[2];
static struct meshblk_member member[N];
static u64 clock_ms;

static void role(u32 i, u8 r)
{
	group[i / 3].roles[i % 3] = r;
}

/* volume/V, as the kernel has it or ahead of it. */
static void put_volume(u64 version)
{
	struct plan_place place[N] = { { .group = 0 } };
	struct obj_volume v = { .plan = { .uuid = L.volume, .state = PLAN_VOLUME_READY,
					  .layout = { .places = N, .place = place } }, .record = &L };
	u64 was = L.version;

	strcpy(v.domain, "host");
	L.version = version;
	L.commit = 33 + version;
	rig_put(A, KEY_VOLUME, &v);
	rig_catch_up(A);
	L.version = was;
}

static void world_of(u8 level)
{
	memset(group, 0, sizeof(group));
	memset(member, 0, sizeof(member));
	memset(&L, 0, sizeof(L));
	L.volume = rig_id('v', 1);
	strcpy(L.name, "data");
	L.version = 3;
	L.commit = 33;
	L.salt = SALT;
	L.lba = 512;
	segment(level, level == PROT_EC ? 4 : 3, N);
	L.segment[0].groups = level == PROT_EC ? 1 : 2;
	L.segment[0].parity = level == PROT_EC ? 2 : 0;
	for (u32 i = 0; i < N; i++)
		L.ref[i].offset = layout_data_at(&L.segment[0], 512);
	CU_ASSERT_EQUAL(layout_check(&L), 0);
	for (u32 i = 0; i < N; i++) {
		group[i / 3].members[i % 3] = i;
		group[i / 3].nr = 3;
		group[i / 3].column = i / 3;
		role(i, MESHBLK_ROLE_IN_SYNC);
		strcpy(group[i / 3].state, MESHBLK_STATE_ACTIVE);
		member[i].extent = L.member[i].extent;
	}
	put_volume(3);
	kernel_has(MESHBLK_STATE_ACTIVE);
	K.v.members = member;
	K.v.nr_members = N;
	K.v.groups = group;
	K.v.nr_groups = 2;
	clock_ms += 100000;
	OK(op->kernel(V, &L.volume, &(struct attach_kernel) { 0 }));
}

static void world(void)
{
	world_of(PROT_RAID10);
}

static void up(void)
{
	begin();
	for (u8 d = 4; d <= N; d++)
		put_drive(d, 3, false);
	world();
}

/* The events of one pass more. */
static const char *pass(void)
{
	events[0] = 0;
	clock_ms += 1000;
	volumes_watch(V, clock_ms);
	return events;
}

static const char *pass_after(u64 ms)
{
	clock_ms += ms - 1000;
	return pass();
}

/* The kernel does not have the volume for a moment: all is forgotten. */
static void from_start(void)
{
	K.there = false;
	pass();
	world();
}

/* All members of the first group, with the state that the kernel gives them. */
static void suspects(const char *state)
{
	for (u32 i = 0; i < 3; i++) {
		role(i, MESHBLK_ROLE_SUSPECT);
		strcpy(member[i].state, state);
	}
}

static void t_lost_and_back(void)
{
	up();
	CU_ASSERT_STRING_EQUAL(pass(), "");
	role(4, MESHBLK_ROLE_SUSPECT);
	CU_ASSERT_STRING_EQUAL(pass(), "");
	role(4, MESHBLK_ROLE_FAILED);
	CU_ASSERT_STRING_EQUAL(pass(), "");
	role(4, MESHBLK_ROLE_OUT);
	CU_ASSERT_STRING_EQUAL(pass(), "degraded 4;");
	CU_ASSERT(event.drive.b[0] == 'd' && event.drive.b[1] == 5 && muuid_equal(&event.volume, &L.volume));
	CU_ASSERT(muuid_equal(&event.host, &(struct muuid) { { 'h', 1 } }) && event_how == REPORT_WARN);
	CU_ASSERT_STRING_EQUAL(event.words, "volume data is degraded: member 4 (drive "
			       "64050000-0000-0000-0000-000000000000, host s3) is out; 1 more of group 0.1 may "
			       "be lost");
	CU_ASSERT_STRING_EQUAL(pass(), "");
	role(5, MESHBLK_ROLE_OUT);
	CU_ASSERT_STRING_EQUAL(pass(), "degraded 5;");
	CU_ASSERT_PTR_NOT_NULL(strstr(event.words, "; no other one of group 0.1 may be lost"));
	role(4, MESHBLK_ROLE_JOINING);
	group[1].behind[1] = 3 << 20;
	CU_ASSERT_STRING_EQUAL(pass(), "rebuilding 4;");
	CU_ASSERT_PTR_NOT_NULL(strstr(event.words, "is given what it lacks (3"));
	CU_ASSERT_EQUAL(event_how, 0);
	CU_ASSERT_STRING_EQUAL(pass(), "");
	role(5, MESHBLK_ROLE_JOINING);
	CU_ASSERT_STRING_EQUAL(pass(), "");
	role(4, MESHBLK_ROLE_IN_SYNC);
	CU_ASSERT_STRING_EQUAL(pass(), "");
	role(5, MESHBLK_ROLE_IN_SYNC);
	CU_ASSERT_STRING_EQUAL(pass(), "healed;");
	CU_ASSERT_STRING_EQUAL(event.words, "volume data is whole again");
	CU_ASSERT_STRING_EQUAL(pass(), "");
	/* Two at once; again, and back between two passes. */
	role(3, MESHBLK_ROLE_OUT);
	role(4, MESHBLK_ROLE_OUT);
	CU_ASSERT_STRING_EQUAL(pass(), "degraded 3;degraded 4;");
	role(3, MESHBLK_ROLE_IN_SYNC);
	role(4, MESHBLK_ROLE_IN_SYNC);
	CU_ASSERT_STRING_EQUAL(pass(), "healed;");
	end();
}

/* Not more often than once a second, whatever wakes the loop. */
static void t_once_a_second(void)
{
	up();
	pass();
	K.gets = 0;
	role(4, MESHBLK_ROLE_OUT);
	events[0] = 0;
	volumes_watch(V, clock_ms + 999);
	CU_ASSERT(!events[0] && !K.gets);
	CU_ASSERT_STRING_EQUAL(pass(), "degraded 4;");
	end();
}

static void t_down(void)
{
	up();
	/* Attached without a member, after a time in which nothing is known. */
	strcpy(group[0].state, MESHBLK_STATE_OPENING);
	role(0, MESHBLK_ROLE_OUT);
	CU_ASSERT_STRING_EQUAL(pass(), "");
	strcpy(group[0].state, MESHBLK_STATE_ACTIVE);
	CU_ASSERT_STRING_EQUAL(pass(), "degraded 0;");
	strcpy(group[0].state, MESHBLK_STATE_WAITING);
	strcpy(group[0].reason, "too few members are here");
	CU_ASSERT_STRING_EQUAL(pass(), "down;");
	CU_ASSERT_STRING_EQUAL(event.words, "volume data is down: group 0.0: too few members are here");
	CU_ASSERT_EQUAL(event_how, REPORT_WARN);
	CU_ASSERT_STRING_EQUAL(pass(), "");
	strcpy(group[0].state, MESHBLK_STATE_OPENING);
	CU_ASSERT_STRING_EQUAL(pass(), "");
	/* It serves again, with what it lacks. */
	strcpy(group[0].state, MESHBLK_STATE_ACTIVE);
	group[0].reason[0] = 0;
	CU_ASSERT_STRING_EQUAL(pass(), "degraded 0;");
	/* Behind one that is attached, one that the kernel has stopped is named. */
	strcpy(group[0].state, MESHBLK_STATE_OPENING);
	strcpy(group[1].state, MESHBLK_STATE_WAITING);
	CU_ASSERT_STRING_EQUAL(pass(), "down;");
	CU_ASSERT_PTR_NOT_NULL(strstr(event.words, "group 0.1: too few members answer"));
	strcpy(group[0].state, MESHBLK_STATE_ACTIVE);
	strcpy(group[1].state, MESHBLK_STATE_ACTIVE);
	role(0, MESHBLK_ROLE_IN_SYNC);
	CU_ASSERT_STRING_EQUAL(pass(), "healed;");
	end();
}

/* The kernel has stopped the group between two passes, and attaches it again for as long as it takes. */
static void t_attached_again(void)
{
	up();
	pass();
	strcpy(group[1].state, MESHBLK_STATE_OPENING);
	strcpy(group[1].reason, "too few members are here");
	role(3, MESHBLK_ROLE_SUSPECT);
	CU_ASSERT_STRING_EQUAL(pass(), "");
	CU_ASSERT_STRING_EQUAL(pass_after(9000), "");
	CU_ASSERT_STRING_EQUAL(pass(), "down;");
	CU_ASSERT_STRING_EQUAL(event.words, "volume data is down: group 0.1: too few members are here");
	CU_ASSERT_STRING_EQUAL(pass_after(60000), "");
	strcpy(group[1].state, MESHBLK_STATE_ACTIVE);
	group[1].reason[0] = 0;
	role(3, MESHBLK_ROLE_IN_SYNC);
	CU_ASSERT_STRING_EQUAL(pass(), "healed;");
	/* A first attach takes longer. */
	from_start();
	strcpy(group[0].state, MESHBLK_STATE_OPENING);
	CU_ASSERT_STRING_EQUAL(pass(), "");
	CU_ASSERT_STRING_EQUAL(pass_after(59000), "");
	CU_ASSERT_STRING_EQUAL(pass(), "down;");
	end();
}

/* Hosts that answer, and I/O that takes a second or more: it is slow, and serves. */
static void t_slow(void)
{
	up();
	pass();
	suspects(MESHBLK_STATE_UP);
	CU_ASSERT_STRING_EQUAL(pass(), "");
	CU_ASSERT_STRING_EQUAL(pass_after(60000), "");
	suspects("lost");
	CU_ASSERT_STRING_EQUAL(pass(), "");
	CU_ASSERT_STRING_EQUAL(pass_after(10000), "down;");
	/* Of a reader's they may belong to a host that writes. */
	from_start();
	K.v.readonly = true;
	pass();
	suspects(MESHBLK_STATE_UP);
	CU_ASSERT_STRING_EQUAL(pass(), "");
	CU_ASSERT_STRING_EQUAL(pass_after(10000), "down;");
	/* A member that failed, and may not leave: its roster cannot be noted. */
	from_start();
	pass();
	role(0, MESHBLK_ROLE_FAILED);
	group[0].witness = true;
	CU_ASSERT_STRING_EQUAL(pass(), "");
	CU_ASSERT_STRING_EQUAL(pass_after(10000), "down;");
	CU_ASSERT_STRING_EQUAL(event.words, "volume data is down: group 0.0: the cluster store cannot note which "
			       "members are missing");
	end();
}

/* I/O waits for members, of which one more may not be lost; the kernel has not stopped yet. */
static void t_waits(void)
{
	up();
	pass();
	role(0, MESHBLK_ROLE_OUT);
	CU_ASSERT_STRING_EQUAL(pass(), "degraded 0;");
	role(1, MESHBLK_ROLE_SUSPECT);
	CU_ASSERT_STRING_EQUAL(pass(), "");
	CU_ASSERT_STRING_EQUAL(pass_after(60000), "");
	role(2, MESHBLK_ROLE_SUSPECT);
	CU_ASSERT_STRING_EQUAL(pass(), "");
	CU_ASSERT_STRING_EQUAL(pass_after(10000), "down;");
	CU_ASSERT_STRING_EQUAL(event.words, "volume data is down: group 0.0: too few members answer");
	role(1, MESHBLK_ROLE_IN_SYNC);
	role(2, MESHBLK_ROLE_IN_SYNC);
	CU_ASSERT_STRING_EQUAL(pass(), "degraded 0;");
	role(0, MESHBLK_ROLE_IN_SYNC);
	CU_ASSERT_STRING_EQUAL(pass(), "healed;");
	/* Reads alone wait. */
	strcpy(group[1].reason, "reads wait");
	CU_ASSERT_STRING_EQUAL(pass(), "");
	CU_ASSERT_STRING_EQUAL(pass_after(10000), "down;");
	CU_ASSERT_STRING_EQUAL(event.words, "volume data is down: group 0.1: reads wait");
	group[1].reason[0] = 0;
	CU_ASSERT_STRING_EQUAL(pass(), "healed;");
	end();
}

/* Of ec:4+2 two members may be lost. */
static void t_parity(void)
{
	up();
	K.there = false;
	pass();
	world_of(PROT_EC);
	K.v.nr_groups = 1;
	group[0].nr = N;
	for (u32 i = 0; i < N; i++) {
		group[0].members[i] = i;
		group[0].roles[i] = MESHBLK_ROLE_IN_SYNC;
	}
	pass();
	role(0, MESHBLK_ROLE_OUT);
	CU_ASSERT_STRING_EQUAL(pass(), "degraded 0;");
	CU_ASSERT_PTR_NOT_NULL(strstr(event.words, "1 more of group 0.0 may be lost"));
	role(1, MESHBLK_ROLE_SUSPECT);
	pass();
	CU_ASSERT_STRING_EQUAL(pass_after(60000), "");
	role(2, MESHBLK_ROLE_SUSPECT);
	pass();
	CU_ASSERT_STRING_EQUAL(pass_after(10000), "down;");
	end();
}

/* Another extent in the place of a member that is out is no event. */
static void t_replaced(void)
{
	up();
	pass();
	role(1, MESHBLK_ROLE_OUT);
	CU_ASSERT_STRING_EQUAL(pass(), "degraded 1;");
	member[1].extent = rig_id('x', 9);
	CU_ASSERT_STRING_EQUAL(pass(), "");
	role(1, MESHBLK_ROLE_JOINING);
	CU_ASSERT_STRING_EQUAL(pass(), "rebuilding 1;");
	/* It goes once more before it is in sync: that is one. */
	role(1, MESHBLK_ROLE_OUT);
	CU_ASSERT_STRING_EQUAL(pass(), "degraded 1;");
	role(1, MESHBLK_ROLE_IN_SYNC);
	CU_ASSERT_STRING_EQUAL(pass(), "healed;");
	end();
}

/* The store is ahead of the kernel: members may have other numbers; it is reported later. */
static void t_behind(void)
{
	up();
	pass();
	put_volume(4);
	role(1, MESHBLK_ROLE_OUT);
	CU_ASSERT_STRING_EQUAL(pass(), "");
	K.v.version = 4;
	CU_ASSERT_STRING_EQUAL(pass(), "degraded 1;");
	/* It was detached in between: what lacks is reported once more. */
	K.there = false;
	CU_ASSERT_STRING_EQUAL(pass(), "");
	K.there = true;
	CU_ASSERT_STRING_EQUAL(pass(), "degraded 1;");
	/* Of a volume without groups there are no events. */
	K.v.nr_groups = 0;
	CU_ASSERT_STRING_EQUAL(pass(), "");
	end();
}

/* The host of the member is in maintenance: no alarm. */
static void t_maintenance(void)
{
	struct obj_host h;

	up();
	pass();
	h = *(const struct obj_host *)copy_obj(A, &(struct key) { .kind = KEY_HOST, .host = rig_id('h', 3) });
	h.plan.maintenance = true;
	rig_put(A, KEY_HOST, &h);
	rig_catch_up(A);
	role(4, MESHBLK_ROLE_OUT);
	CU_ASSERT_STRING_EQUAL(pass(), "degraded 4;");
	CU_ASSERT_EQUAL(event_how, REPORT_QUIET);
	role(1, MESHBLK_ROLE_OUT);
	CU_ASSERT_STRING_EQUAL(pass(), "degraded 1;");
	CU_ASSERT_EQUAL(event_how, REPORT_WARN);
	end();
}

static void t_scrub(void)
{
	up();
	group[1].mismatches = 7;	/* of a scrub before this daemon began */
	CU_ASSERT_STRING_EQUAL(pass(), "");
	group[1].mismatches = 0;
	group[0].scrubbing = group[1].scrubbing = true;
	CU_ASSERT_STRING_EQUAL(pass(), "");
	group[0].scrubbing = false;
	group[0].mismatches = 3;
	group[1].mismatches = 4;
	group[1].repaired = 2;
	CU_ASSERT_STRING_EQUAL(pass(), "");
	group[1].scrubbing = false;
	CU_ASSERT_STRING_EQUAL(pass(), "mismatches;");
	CU_ASSERT_PTR_NOT_NULL(strstr(event.words, "a scrub of volume data found 7 sectors that differ, and wrote 2 again"));
	CU_ASSERT_STRING_EQUAL(pass(), "");
	end();
}

/* A copy of a member that ended before it was whole: once for each reason. */
static void t_evict(void)
{
	up();
	strcpy(group[1].evict_reason, "of before");
	CU_ASSERT_STRING_EQUAL(pass(), "");
	group[1].successor = rig_id('x', 9);
	group[1].evict_reason[0] = 0;
	CU_ASSERT_STRING_EQUAL(pass(), "");
	memset(&group[1].successor, 0, sizeof(group[1].successor));
	strcpy(group[1].evict_reason, "the new member is away");
	CU_ASSERT_STRING_EQUAL(pass(), "evict;");
	CU_ASSERT_STRING_EQUAL(event.words, "volume data: the copy of a member of group 0.1 to another drive has "
			       "ended: the new member is away");
	CU_ASSERT_EQUAL(event_how, REPORT_WARN);
	/* It is begun again, and ends likewise. */
	group[1].successor = rig_id('x', 9);
	CU_ASSERT_STRING_EQUAL(pass(), "");
	memset(&group[1].successor, 0, sizeof(group[1].successor));
	CU_ASSERT_STRING_EQUAL(pass(), "");
	group[1].evict_reason[0] = 0;
	CU_ASSERT_STRING_EQUAL(pass(), "");
	end();
}

/* Noticed by whatever reads the kernel's answer first, and once; the agent writes the event. */
static void t_fenced(void)
{
	struct attach_kernel k;

	up();
	pass();
	strcpy(K.v.state, MESHBLK_STATE_FENCED);
	K.v.fencer = rig_id('h', 2);
	events[0] = 0;
	op->kernels(V, NULL, 0);
	OK(op->kernel(V, &L.volume, &k));
	CU_ASSERT_STRING_EQUAL(events, "fenced;");
	CU_ASSERT_EQUAL(event_how, REPORT_WARN | REPORT_STORED);
	CU_ASSERT_PTR_NOT_NULL(strstr(event.words, "volume data was attached by host s2 since"));
	role(1, MESHBLK_ROLE_OUT);
	CU_ASSERT_STRING_EQUAL(pass(), "");
	/* Attached again, and fenced again. */
	K.there = false;
	pass();
	K.there = true;
	CU_ASSERT_STRING_EQUAL(pass(), "fenced;");
	end();
}

static const char *noted(struct mesh_event e, const char *state, const char *reason)
{
	snprintf(e.state, sizeof(e.state), "%s", state);
	snprintf(e.reason, sizeof(e.reason), "%s", reason);
	noted_words[0] = 0;
	K.event[K.events++] = e;
	volumes_events(V);
	return noted_words;
}

static const char *host(u32 id, const char *state, const char *reason)
{
	return noted((struct mesh_event) { .event = MESHBLK_EV_TARGET_STATE, .id = id }, state, reason);
}

static void t_hosts(void)
{
	struct attach_set a = the_set();

	begin();
	OK(set(&a));
	CU_ASSERT_STRING_EQUAL(host(2, "connecting", "not connected yet"), "");
	CU_ASSERT_STRING_EQUAL(host(2, "up", ""), "host s2 (10.0.0.2) is up");
	/* It is away, and tried again, for a year. */
	CU_ASSERT_STRING_EQUAL(host(2, "connecting", "it is silent"), "host s2 (10.0.0.2) is connecting: it is silent");
	CU_ASSERT_STRING_EQUAL(host(2, "down", "no route"), "host s2 (10.0.0.2) is down: no route");
	for (int i = 0; i < 3; i++) {
		CU_ASSERT_STRING_EQUAL(host(2, "connecting", "no route"), "");
		CU_ASSERT_STRING_EQUAL(host(2, "down", "no route"), "");
	}
	CU_ASSERT_STRING_EQUAL(host(1, "down", "no route"), "host s1 (10.0.0.1) is down: no route");
	CU_ASSERT_STRING_EQUAL(host(2, "down", "another key"), "host s2 (10.0.0.2) is down: another key");
	CU_ASSERT_STRING_EQUAL(host(77, "down", "no route"), "");
	end();
}

static void t_volumes(void)
{
	struct mesh_event e = { .event = MESHBLK_EV_VOLUME_STATE, .version = 7 };

	up();
	e.uuid = L.volume;
	CU_ASSERT_STRING_EQUAL(noted(e, "active", ""), "volume data is active at version 7");
	CU_ASSERT_STRING_EQUAL(noted(e, "active", ""), "");
	e.version = 8;
	CU_ASSERT_STRING_EQUAL(noted(e, "active", ""), "volume data is active at version 8");
	CU_ASSERT_STRING_EQUAL(noted(e, "waiting", ""), "volume data is waiting at version 8");
	e.target = true;
	CU_ASSERT_STRING_EQUAL(noted(e, "active", ""), "");
	end();
}

/* While the store is away the host's record has the name, and the layout. */
static void t_record(void)
{
	struct obj_attached r = { .plan = { .volume = rig_id('v', 1), .mode = PLAN_RW, .number = NUMBER(5) },
				  .record = &L };
	char name[LAYOUT_NAME];
	int err;

	up();
	rig_erase(A, &(struct key) { .kind = KEY_VOLUME, .volume = L.volume });
	rig_catch_up(A);
	volumes_name(V, &L.volume, name);
	CU_ASSERT_STRING_EQUAL(name, muuid_str(&L.volume).s);
	role(1, MESHBLK_ROLE_OUT);
	CU_ASSERT_STRING_EQUAL(pass(), "");
	while ((err = op->record_put(V, &r)) == -EINPROGRESS)
		await_wake();
	OK(err);
	volumes_name(V, &L.volume, name);
	CU_ASSERT_STRING_EQUAL(name, "data");
	CU_ASSERT_STRING_EQUAL(pass(), "degraded 1;");
	CU_ASSERT_PTR_NOT_NULL(strstr(event.words, "volume data is degraded: member 1 (drive "));
	end();
}

int main(void)
{
	static const struct rig_test tests[] = {
		{ "members that go and come back", t_lost_and_back },
		{ "once a second", t_once_a_second },
		{ "down, and serving again", t_down },
		{ "down, as it is attached again", t_attached_again },
		{ "down, as too few answer", t_waits },
		{ "slow is not down", t_slow },
		{ "parity", t_parity },
		{ "another extent at a place", t_replaced },
		{ "a layout that the kernel does not have yet", t_behind },
		{ "a host in maintenance", t_maintenance },
		{ "what a scrub found", t_scrub },
		{ "copies that ended", t_evict },
		{ "fenced", t_fenced },
		{ "lines about hosts", t_hosts },
		{ "lines about volumes", t_volumes },
		{ "by the record", t_record },
	};

	return rig_main("daemon_watch", tests, sizeof(tests) / sizeof(*tests));
}
