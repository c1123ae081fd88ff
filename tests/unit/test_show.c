// SPDX-License-Identifier: GPL-2.0-only
/* What volume list, show and stats print of what applies, and of what does not. */
#define _GNU_SOURCE
#include <linux/kernel.h>
#include <stdlib.h>

#include "userspace/libmesh/mesh.h"

struct mesh *genl_open(void);
void genl_close(struct mesh *m);
const char *genl_why(const struct mesh *m);

#define mesh_open	genl_open
#define mesh_close	genl_close
#define mesh_why	genl_why
#include "userspace/libmesh/genl.c"
#undef mesh_open
#undef mesh_close
#undef mesh_why
/* Its parser; what it calls are stand-ins below. */
#define meshblk_targets		client_targets
#define meshblk_volumes		client_volumes
#define meshblk_abandoned_get	client_abandoned_get
#define meshblk_volume_free	client_volume_free
#define meshblk_volumes_free	client_volumes_free
#define meshblk_volume_scrub	client_volume_scrub
#define meshblk_volume_rejoin	client_volume_rejoin
#include "userspace/libmesh/client.c"
#include "userspace/libmesh/access.c"
#include "userspace/libmesh/secret.c"
#include "userspace/libmesh/grow.c"
#undef meshblk_targets
#undef meshblk_volumes
#undef meshblk_abandoned_get
#undef meshblk_volume_free
#undef meshblk_volumes_free
#undef meshblk_volume_scrub
#undef meshblk_volume_rejoin
#include "userspace/meshd/show.c"
#include "userspace/meshd/groups.c"
#include "userspace/meshd/scrub.c"
#include "abandoned_rig.h"
#include "suite.h"
#include "req_rig.h"

/* The store and the kernel: one volume, @kernel is what is known of it. */

struct meshd D;
static u64 slept;
static struct layout made;
static struct meshblk_volume kernel;
static struct meshblk_target target;
static struct store_volume stored = { .state = STORE_LIVE, .attached = true };

struct mesh *mesh_open(void) { return (void *)&kernel; }
void mesh_close(struct mesh *m) { (void)m; }
int store_volume_find(const char *w, struct store_volume *v, struct layout *l) { (void)w; return store_volume_get(NULL, v, l); }
const char *store_words(int err) { (void)err; return ""; }
bool busy_take_wait(const struct muuid *u, unsigned int ms) { (void)u, (void)ms; return true; }
void busy_drop(const struct muuid *u) { (void)u; }
int peer_of_member(const struct layout_member *m, struct store_host *h) { (void)m, (void)h; return -ENOENT; }
void meshblk_volume_free(struct meshblk_volume *v) { (void)v; }
void meshblk_volumes_free(struct meshblk_volume *v, size_t n) { (void)v, (void)n; }
const char *arg_str(const struct req *r, const char *key) { const char *s = json_string_value(json_object_get(r->args, key)); return s ? s : ""; }
static bool degraded;			/* --degraded */
bool arg_bool(const struct req *r, const char *key) { return !strcmp(key, "degraded") ? degraded : json_is_true(json_object_get(r->args, key)); }
u64 arg_num(const struct req *r, const char *key) { return json_integer_value(json_object_get(r->args, key)); }
u64 now_ms(void) { return slept; }
static u32 notes;
void log_warn(const char *fmt, ...) { (void)fmt; }
void log_info(const char *fmt, ...) { (void)fmt; }
void req_note(struct req *r, const char *fmt, ...) { (void)r, (void)fmt; notes++; }
const char *mesh_why(const struct mesh *m) { (void)m; return "a scrub runs already"; }
static struct mesh_scrub scrubbed;	/* as the kernel got it last */
static int scrubs, scrub_err, rejoined;
int meshblk_volume_rejoin(struct mesh *m, const struct muuid *u, u32 i) { (void)m, (void)u; rejoined = i; return scrub_err; }
int meshblk_volume_scrub(struct mesh *m, const struct muuid *u, const struct mesh_scrub *s) { (void)m, (void)u; scrubbed = *s; scrubs++; return scrub_err; }
static u32 polls;			/* how often it was waited */
static void (*on_poll)(void);
void sleep_ms(unsigned int ms) { slept += ms; polls++; on_poll(); }
bool stopping(void) { return polls > 9; }
bool req_cancelled(const struct req *r) { (void)r; return false; }
static u64 shown_done, shown_total;
void req_progress(struct req *r, const char *what, u64 done, u64 total) { (void)r, (void)what; shown_done = done; shown_total = total; }
static u32 queries;
int kernel_volume(const struct muuid *u, struct meshblk_volume *v) { (void)u; *v = kernel; queries++; return 0; }

int store_volume_get(const struct muuid *u, struct store_volume *v, struct layout *l)
{
	(void)u;
	*v = stored;
	if (l)
		memcpy(l, &made, sizeof(made));
	return 0;
}

static size_t volumes;

int store_volumes(struct store_volume **v, size_t *n)
{
	*n = volumes;
	*v = calloc(volumes + 1, sizeof(**v));
	for (size_t i = 0; i < volumes; i++)
		(*v)[i].attached = true;
	return 0;
}

int meshblk_volumes(struct mesh *m, struct meshblk_volume **v, size_t *n)
{
	(void)m;
	*v = &kernel;
	*n = 1;
	return 0;
}

int meshblk_targets(struct mesh *m, struct meshblk_target **t, size_t *n)
{
	(void)m;
	*n = 1;
	*t = malloc(sizeof(target));
	**t = target;
	return 0;
}

int meshtgt_sessions(struct mesh *m, struct meshtgt_session **s, size_t *n)
{
	(void)m;
	*s = NULL;
	*n = 0;
	return 0;
}

/* As the kernel puts them: @a counts 7, @b 0. */
static struct mesh_stats counted(int a, int b)
{
	struct nl_msg *msg = nlmsg_alloc();
	struct nlattr *nest = nla_nest_start(msg, MESHBLK_A_STATS);
	struct mesh_stats s;

	nla_put_u64(msg, a, 7);
	nla_put_u64(msg, b, 0);
	nla_nest_end(msg, nest);
	get_stats(nest, &s);
	nlmsg_free(msg);
	return s;
}

static json_t *stat(const json_t *r, const char *list, const char *name)
{
	return json_object_get(json_object_get(json_array_get(json_object_get(r, list), 0), "stats"), name);
}

/* A counter that is zero is another thing than one that is not kept. */
static void test_stats(void)
{
	struct meshblk_member members[2] = {
		{ .stats = counted(MESHBLK_S_READS, MESHBLK_S_ERRORS) },
		{ .stats = counted(MESHBLK_S_READS, MESHBLK_S_ERRORS) },
	};
	struct req r = { 0 };

	kernel = (struct meshblk_volume) { .members = members, .nr_members = 2 };
	target = (struct meshblk_target) { .stats = counted(MESHBLK_S_RDMA_SENDS, MESHBLK_S_RECONNECTS) };
	CU_ASSERT_EQUAL(cmd_stats(&r), 0);
	CU_ASSERT_EQUAL(json_integer_value(stat(r.result, "volumes", "reads")), 14);
	CU_ASSERT(json_is_integer(stat(r.result, "volumes", "errors")));
	CU_ASSERT(json_is_null(stat(r.result, "volumes", "rdma_sends")));
	CU_ASSERT_EQUAL(json_integer_value(stat(r.result, "targets", "rdma_sends")), 7);
	CU_ASSERT(json_is_integer(stat(r.result, "targets", "reconnects")));
	CU_ASSERT(json_is_null(stat(r.result, "targets", "reads")));
	json_decref(r.result);
	kernel = (struct meshblk_volume) { 0 };
}

/* The store notes a strip for a linear segment, too. */
static void test_strip(void)
{
	static const u8 levels[] = { PROT_LINEAR, PROT_STRIPE };
	const json_t *segment;

	for (size_t i = 0; i < 2; i++) {
		struct req r = { 0 };

		made = (struct layout) { .segments = 1 };
		made.segment[0] = (struct layout_segment) { .level = levels[i], .data = i + 1, .strip = 65536 };
		CU_ASSERT_EQUAL(cmd_volume_show(&r), 0);
		segment = json_array_get(json_object_get(r.result, "segments"), 0);
		if (levels[i] == PROT_LINEAR) {
			CU_ASSERT(json_is_null(json_object_get(r.result, "strip")));
			CU_ASSERT(json_is_null(json_object_get(segment, "strip")));
		} else {
			CU_ASSERT_EQUAL(json_integer_value(json_object_get(r.result, "strip")), 65536);
			CU_ASSERT_EQUAL(json_integer_value(json_object_get(segment, "strip")), 65536);
		}
		json_decref(r.result);
	}
}

/* Two mirrors, the second of them with a member in @role and @behind bytes. */
static struct meshblk_group two[2];

static void mirrors(u8 role, u64 behind)
{
	for (u32 i = 0; i < 2; i++) {
		two[i] = (struct meshblk_group) { .column = i, .state = "active", .nr = 2,
						  .members = { 2 * i, 2 * i + 1 },
						  .roles = { MESHBLK_ROLE_IN_SYNC, MESHBLK_ROLE_IN_SYNC } };
	}
	two[1].roles[1] = role;
	two[1].behind[1] = behind;
	kernel = (struct meshblk_volume) { .state = "active", .groups = two, .nr_groups = 2 };
	made = (struct layout) { .segments = 1, .members = 4, .refs = 4 };
	made.segment[0] = (struct layout_segment) { .level = PROT_RAID10, .data = 2, .groups = 2,
						    .strip = 65536, .refs = 4 };
	strcpy(made.member[3].addr, "10.0.0.4");
}

static const char *reason_of(const json_t *r)
{
	return json_string_value(json_object_get(r, "reason"));
}

/* Of a group that is being attached nothing is known of its members but which are here. */
static void test_opening(void)
{
	static struct meshblk_member members[4];
	struct req r = { 0 };
	const json_t *m;

	mirrors(MESHBLK_ROLE_OPENING, 0);
	two[1].roles[0] = MESHBLK_ROLE_OPENING;
	strcpy(two[1].state, "opening");
	strcpy(kernel.state, "opening");
	kernel.members = members;
	kernel.nr_members = 4;
	for (u32 i = 0; i < 4; i++) {
		made.member[i].extent = members[i].extent = (struct muuid) { { 5, i } };
		strcpy(members[i].state, i == 3 ? "down" : "up");
	}
	cmd_volume_show(&r);
	CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(r.result, "health")), "down");
	/* The one that is not here is the reason, whichever is first. */
	CU_ASSERT_PTR_NOT_NULL(strstr(reason_of(r.result), "member 3: no session with host 10.0.0.4"));
	for (u32 i = 0; i < 2; i++) {
		m = json_array_get(json_object_get(json_array_get(json_object_get(r.result, "groups"), 1), "members"), i);
		CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(m, "role")), "not known yet");
		CU_ASSERT(json_is_null(json_object_get(m, "behind")));
	}
	m = json_array_get(json_object_get(json_array_get(json_object_get(r.result, "groups"), 0), "members"), 0);
	CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(m, "role")), "in sync");
	CU_ASSERT(json_is_integer(json_object_get(m, "behind")));
	json_decref(r.result);
	/* A local drive that is away, or has not ended I/O. */
	made.member[3].kind = LAYOUT_KIND_BDEV;
	for (u32 i = 0; i < 2; i++) {
		members[3].abandoned = i;
		r = (struct req) { 0 };
		cmd_volume_show(&r);
		CU_ASSERT_PTR_NOT_NULL(strstr(reason_of(r.result), i ? "has not ended I/O" : "is not here"));
		json_decref(r.result);
	}
}

/* A place that waits for I/O of the former member, and that I/O. */
static void test_waits(void)
{
	struct req r = { 0 };
	const json_t *m, *a;

	mirrors(MESHBLK_ROLE_OUT, 0);
	made.member[3].extent = (struct muuid) { { 5, 3 } };
	two[1].waits = 1 << 1;
	rig_abandon(stored.uuid, (struct muuid) { { 6 } }, made.member[3].extent, 2);
	rig_abandon(stored.uuid, (struct muuid) { { 7 } }, (struct muuid) { { 8 } }, 1);
	rig_abandon((struct muuid) { { 9 } }, (struct muuid) { { 7 } }, (struct muuid) { { 8 } }, 1);
	cmd_volume_show(&r);
	CU_ASSERT_STRING_EQUAL(reason_of(r.result), "group 0.1: member 3 on host 10.0.0.4 is out, and waits until the "
			       "I/O of the former member has ended");
	for (u32 i = 0; i < 2; i++) {
		m = json_array_get(json_object_get(json_array_get(json_object_get(r.result, "groups"), 1), "members"), i);
		CU_ASSERT_EQUAL(json_is_true(json_object_get(m, "waits")), i);
	}
	CU_ASSERT_EQUAL(json_array_size(json_object_get(r.result, "abandoned")), 2);
	a = json_array_get(json_object_get(r.result, "abandoned"), 0);
	CU_ASSERT(json_integer_value(json_object_get(a, "member")) == 3);
	CU_ASSERT(json_integer_value(json_object_get(a, "ios")) == 2);
	CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(a, "path")), "/dev/test");
	a = json_array_get(json_object_get(r.result, "abandoned"), 1);
	CU_ASSERT(json_is_null(json_object_get(a, "member")));
	rig_ios = 0;
	json_decref(r.result);
}

/* What is noted of a volume that does not come up is no reason once it serves, nor the other way round. */
static void test_note(void)
{
	static const struct { const char *note, *state; bool pending, shown; } of[] = {
		{ "too few members are here", "opening", false, true },
		{ "too few members are here", "active", false, false },
		{ "too few members are here", "active", true, true },
		{ NOTE_ACTIVE "host a does not answer", "active", false, true },
		{ NOTE_ACTIVE "host a does not answer", "waiting", false, false },
		{ NOTE_KEPT ": host b holds it", "active", false, true },
		{ NOTE_KEPT ": host b holds it", "waiting", false, true },
		{ "", "active", false, false },
		{ "", "active", true, false },
	};

	for (size_t i = 0; i < sizeof(of) / sizeof(*of); i++) {
		struct req r = { 0 };

		made = (struct layout) { .segments = 1 };
		made.segment[0] = (struct layout_segment) { .level = PROT_LINEAR, .data = 1 };
		kernel = (struct meshblk_volume) { 0 };
		strcpy(kernel.state, of[i].state);
		strcpy(stored.note, of[i].note);
		stored.pending = of[i].pending;
		cmd_volume_show(&r);
		CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(r.result, "state")), of[i].state);
		CU_ASSERT(of[i].shown ? !strcmp(reason_of(r.result) ?: "", of[i].note) : !reason_of(r.result));
		json_decref(r.result);
	}
	stored.note[0] = 0;
	stored.pending = false;
}

/* All of one moment: the kernel is queried once, though a group is up the next time. */
static void test_moment(void)
{
	struct req r = { 0 };

	mirrors(MESHBLK_ROLE_IN_SYNC, 0);
	strcpy(two[0].state, "opening");
	strcpy(two[0].reason, "too few members are here");
	queries = 0;
	cmd_volume_show(&r);
	CU_ASSERT_EQUAL(queries, 1);
	json_decref(r.result);
}

static void test_health(void)
{
	static const struct { u8 role; const char *health, *why; } of[] = {
		{ MESHBLK_ROLE_IN_SYNC, "whole", NULL },
		{ MESHBLK_ROLE_JOINING, "rebuilding", "group 0.1: member 3 on host 10.0.0.4 is rebuilding" },
		{ MESHBLK_ROLE_SUSPECT, "degraded", "member 3 on host 10.0.0.4 is silent" },
		{ MESHBLK_ROLE_FAILED, "degraded", "member 3 on host 10.0.0.4 is failed" },
		{ MESHBLK_ROLE_OUT, "degraded", "member 3 on host 10.0.0.4 is out" },
	};
	const char *why;

	for (size_t i = 0; i < sizeof(of) / sizeof(*of); i++) {
		struct req r = { 0 };
		json_t *group;

		mirrors(of[i].role, 4096);
		CU_ASSERT_EQUAL(cmd_volume_show(&r), 0);
		CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(r.result, "layout")), "raid10:2x2");
		CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(r.result, "health")), of[i].health);
		why = json_string_value(json_object_get(r.result, "reason"));
		CU_ASSERT(of[i].why ? why && strstr(why, of[i].why) : !why);
		group = json_array_get(json_object_get(r.result, "groups"), 1);
		CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(group, "health")), of[i].health);
		CU_ASSERT_EQUAL(json_array_size(json_object_get(group, "members")), 2);
		json_decref(r.result);
	}
	struct req r = { 0 };

	/* The roster without it is not noted yet. */
	mirrors(MESHBLK_ROLE_FAILED, 0);
	two[1].witness = true;
	cmd_volume_show(&r);
	CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(r.result, "reason")), "group 0.1: member 3 on "
			       "host 10.0.0.4 is failed; I/O waits until meshd has noted that");
	json_decref(r.result);
	mirrors(MESHBLK_ROLE_OUT, 0);
	strcpy(two[0].state, "opening");
	strcpy(two[0].reason, "too few members are here");
	r = (struct req) { 0 };
	cmd_volume_show(&r);
	CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(r.result, "health")), "down");
	CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(r.result, "reason")),
			       "group 0.0: too few members are here");
	json_decref(r.result);
	/* A group that is active, and whose reads wait. */
	mirrors(MESHBLK_ROLE_SUSPECT, 0);
	strcpy(two[1].reason, "reads wait");
	r = (struct req) { 0 };
	cmd_volume_show(&r);
	CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(r.result, "health")), "down");
	CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(r.result, "reason")), "group 0.1: reads wait");
	json_decref(r.result);
	kernel = (struct meshblk_volume) { .state = "active" };
	r = (struct req) { 0 };
	cmd_volume_show(&r);
	CU_ASSERT(json_is_null(json_object_get(r.result, "health")));
	json_decref(r.result);
}

/* Numbers where members can be replaced, else null. */
static void test_spares(void)
{
	for (u16 used = 0; used < 4; used++) {
		struct req r = { 0 };

		mirrors(MESHBLK_ROLE_IN_SYNC, 0);
		made.spares = 2;
		made.spares_used = used;
		CU_ASSERT_EQUAL(cmd_volume_show(&r), 0);
		CU_ASSERT_EQUAL(json_integer_value(json_object_get(r.result, "spares")), 2);
		CU_ASSERT_EQUAL(json_integer_value(json_object_get(r.result, "spares_left")), used < 2 ? 2 - used : 0);
		json_decref(r.result);
	}
	struct req r = { 0 };

	made.segment[0].level = PROT_LINEAR;
	CU_ASSERT_EQUAL(cmd_volume_show(&r), 0);
	CU_ASSERT(json_is_null(json_object_get(r.result, "spares")));
	CU_ASSERT(json_is_null(json_object_get(r.result, "spares_left")));
	json_decref(r.result);
}

static void test_list_degraded(void)
{
	static const u8 roles[] = { MESHBLK_ROLE_IN_SYNC, MESHBLK_ROLE_OUT };

	volumes = 1;
	for (int only = 0; only < 2; only++) {
		for (size_t i = 0; i < 2; i++) {
			struct req r = { 0 };

			mirrors(roles[i], 0);
			degraded = only;
			CU_ASSERT_EQUAL(cmd_volume_list(&r), 0);
			CU_ASSERT_EQUAL(json_array_size(json_object_get(r.result, "volumes")), !only || i);
			CU_ASSERT_EQUAL(r.status, only && i);
			json_decref(r.result);
		}
	}
	volumes = 0;
}

/* It is out, then given what it lacks. */
static void poll_once(void)
{
	two[1].roles[1] = polls < 3 ? MESHBLK_ROLE_OUT : polls < 6 ? MESHBLK_ROLE_JOINING : MESHBLK_ROLE_IN_SYNC;
	two[1].behind[1] = polls < 3 ? 6 << 20 : (u64)(6 - polls) << 20;
}

static void nothing(void) { }

static void test_wait(void)
{
	struct req r = { 0 };

	mirrors(MESHBLK_ROLE_OUT, 6 << 20);
	on_poll = poll_once;
	CU_ASSERT(!cmd_volume_wait(&r) && polls == 6);
	CU_ASSERT(shown_total == 6 << 20 && shown_done == 5 << 20);
	polls = 0;
	CU_ASSERT(!cmd_volume_wait(&r) && !polls);
	/* Not whole when meshd ends. */
	mirrors(MESHBLK_ROLE_OUT, 0);
	on_poll = nothing;
	CU_ASSERT(cmd_volume_wait(&r) && r.status == 1);
}

/* Both groups are scrubbed, one after the other. */
static void scrub_once(void)
{
	for (u32 i = 0; i < 2; i++) {
		two[i].bytes = 4 << 20;
		two[i].scrubbed = polls > 4 * i ? (u64)(polls - 4 * i) << 20 : 0;
		two[i].scrubbing = two[i].scrubbed < two[i].bytes;
	}
}

static void test_wait_scrub(void)
{
	struct req r = { 0 };

	mirrors(MESHBLK_ROLE_IN_SYNC, 0);
	polls = 0;
	on_poll = scrub_once;
	scrub_once();
	CU_ASSERT(!cmd_volume_wait(&r) && polls == 8 && shown_done == 7 << 20 && shown_total == 8 << 20);
	/* Not for ever. */
	mirrors(MESHBLK_ROLE_OUT, 0);
	on_poll = nothing;
	polls = 0;
	r = (struct req) { .args = json_pack("{s:i}", "timeout", 1) };
	CU_ASSERT(cmd_volume_wait(&r) && r.status == 1 && strstr(r.error, "not done after 1 s"));
	CU_ASSERT(strstr(r.error, "member 3 on host 10.0.0.4 is out") && polls == 4);
	json_decref(r.args);
}

/* As the kernel puts them. */
static void test_parse(void)
{
	static const struct mesh_diff diffs[] = { { 4096, 512, 1 }, { 8192, 1024, MESH_NO_MEMBER } };
	struct nl_msg *msg = nlmsg_alloc();
	struct nlattr *nest = nla_nest_start(msg, MESHBLK_A_GROUP);
	struct meshblk_group g = { 0 };
	const json_t *list;
	json_t *j;

	nla_put_flag(msg, MESHBLK_P_SCRUBBING);
	nla_put_u64(msg, MESHBLK_P_SCRUBBED, 3);
	nla_put_u64(msg, MESHBLK_P_BYTES, 4);
	nla_put_u64(msg, MESHBLK_P_WAITS, 6);
	nla_put_u64(msg, MESHBLK_P_MISMATCHES, 5);
	nla_put_u64(msg, MESHBLK_P_REPAIRED, 6);
	nla_put_u64(msg, MESHBLK_P_SKIPPED, 7);
	nla_put(msg, MESHBLK_P_DIFFS, sizeof(diffs), diffs);
	nla_nest_end(msg, nest);
	parse_group(nest, &g);
	CU_ASSERT(g.scrubbing && g.scrubbed == 3 && g.bytes == 4 && g.mismatches == 5 && g.repaired == 6);
	CU_ASSERT_EQUAL(g.waits, 6);
	CU_ASSERT(g.skipped == 7 && g.nr_diffs == 2 && !memcmp(g.diffs, diffs, sizeof(diffs)));
	j = group_json(&g);
	CU_ASSERT(json_is_true(json_object_get(j, "scrubbing")));
	CU_ASSERT(json_integer_value(json_object_get(j, "repaired")) == 6);
	list = json_object_get(j, "diffs");
	CU_ASSERT(json_integer_value(json_object_get(json_array_get(list, 0), "member")) == 1);
	CU_ASSERT(json_integer_value(json_object_get(json_array_get(list, 1), "at")) == 8192);
	CU_ASSERT(json_is_null(json_object_get(json_array_get(list, 1), "member")));
	json_decref(j);
	nlmsg_free(msg);
	/* A kernel without scrubs. */
	msg = nlmsg_alloc();
	nest = nla_nest_start(msg, MESHBLK_A_GROUP);
	nla_nest_end(msg, nest);
	parse_group(nest, &g);
	CU_ASSERT(!g.scrubbing && !g.nr_diffs && !g.bytes);
	nlmsg_free(msg);
}

static int scrub_with(struct req *r, json_t *args)
{
	int err;

	json_decref(r->args);
	*r = (struct req) { .args = args };
	scrubs = 0;
	notes = 0;
	err = cmd_volume_scrub(r);
	return err;
}

static int rejoin(struct req *r, const char *volume, const char *member)
{
	json_decref(r->args);
	*r = (struct req) { .args = json_pack("{s:s, s:s}", "volume", volume, "member", member) };
	rejoined = -1;
	return cmd_volume_rejoin(r);
}

/* Of two copies the lower one is not taken for right. */
static void test_scrub_two(void)
{
	struct req r = { 0 };

	mirrors(MESHBLK_ROLE_IN_SYNC, 0);
	made.segment[0].data = 2;
	CU_ASSERT(scrub_with(&r, json_pack("{s:s, s:b}", "volume", "v", "repair", 1)) && !scrubs);
	CU_ASSERT(!!strstr(r.error, "--from MEMBER"));
	CU_ASSERT(!scrub_with(&r, json_pack("{s:s}", "volume", "v")) && scrubs == 1);
	volumes = 2;
	CU_ASSERT(scrub_with(&r, json_pack("{s:b, s:b}", "all", 1, "repair", 1)) && !scrubs && notes == 2);
	volumes = 0;
	/* Three, of which one is out. */
	made.segment[0].data = 3;
	CU_ASSERT(scrub_with(&r, json_pack("{s:s, s:b}", "volume", "v", "repair", 1)) && !scrubs);
	for (u32 i = 0; i < 2; i++) {
		two[i].nr = 3;
		two[i].roles[2] = MESHBLK_ROLE_IN_SYNC;
	}
	CU_ASSERT(!scrub_with(&r, json_pack("{s:s, s:b}", "volume", "v", "repair", 1)) && scrubs == 1);
	made.segment[0].level = PROT_EC;
	two[0].nr = two[1].nr = 2;
	CU_ASSERT(!scrub_with(&r, json_pack("{s:s, s:b}", "volume", "v", "repair", 1)) && scrubs == 1);
	json_decref(r.args);
}

static void test_rejoin(void)
{
	struct req r = { 0 };

	mirrors(MESHBLK_ROLE_IN_SYNC, 0);
	scrub_err = 0;
	CU_ASSERT(!rejoin(&r, "v", "2") && rejoined == 2);
	CU_ASSERT(rejoin(&r, "v", "4") && rejoined == -1);
	CU_ASSERT(!!strstr(r.error, "no member 4"));
	scrub_err = -ENOENT;
	CU_ASSERT(rejoin(&r, "v", "2") && strstr(r.error, "not attached here"));
	scrub_err = -EINVAL;
	CU_ASSERT(rejoin(&r, "v", "2") && strstr(r.error, "not let in"));
	scrub_err = 0;
	json_decref(r.args);
}

static void test_scrub(void)
{
	struct req r = { 0 };

	mirrors(MESHBLK_ROLE_IN_SYNC, 0);
	for (u32 i = 0; i < 4; i++)
		made.ref[i].member = i;
	scrub_err = 0;
	CU_ASSERT(!scrub_with(&r, json_pack("{s:s}", "volume", "v")) && scrubs == 1);
	CU_ASSERT(!scrubbed.stop && !scrubbed.repair && !scrubbed.from);
	CU_ASSERT(!scrub_with(&r, json_pack("{s:s, s:b}", "volume", "v", "stop", 1)) && scrubbed.stop);
	CU_ASSERT(!scrub_with(&r, json_pack("{s:s, s:b, s:s}", "volume", "v", "repair", 1, "from", "3")));
	CU_ASSERT(scrubbed.repair && scrubbed.from && scrubbed.index == 3);
	CU_ASSERT(scrub_with(&r, json_pack("{s:s, s:s}", "volume", "v", "from", "3")) && !scrubs);
	CU_ASSERT(scrub_with(&r, json_pack("{s:s, s:b, s:b}", "volume", "v", "repair", 1, "stop", 1)) && !scrubs);
	CU_ASSERT(scrub_with(&r, json_pack("{s:s, s:b, s:s}", "volume", "v", "repair", 1, "from", "4")));
	CU_ASSERT(strstr(r.error, "no member 4") && !scrubs);
	CU_ASSERT(scrub_with(&r, json_object()) && scrub_with(&r, json_pack("{s:s, s:b}", "volume", "v", "all", 1)));
	CU_ASSERT(scrub_with(&r, json_pack("{s:b, s:b, s:b}", "all", 1, "repair", 1, "stop", 1)) && !scrubs);
	made.segment[0].level = PROT_EC;
	CU_ASSERT(scrub_with(&r, json_pack("{s:s, s:b, s:s}", "volume", "v", "repair", 1, "from", "3")));
	CU_ASSERT(!!strstr(r.error, "no copy of a mirror"));
	made.segment[0].level = PROT_STRIPE;
	CU_ASSERT(scrub_with(&r, json_pack("{s:s}", "volume", "v")) && strstr(r.error, "no redundancy"));
	made.segment[0].level = PROT_MIRROR;
	scrub_err = -EBUSY;
	CU_ASSERT(scrub_with(&r, json_pack("{s:s}", "volume", "v")) && strstr(r.error, "a scrub runs already"));
	/* The timer's: of all, unless it is not wanted. */
	volumes = 3;
	CU_ASSERT(scrub_with(&r, json_pack("{s:b}", "all", 1)) && scrubs == 3 && notes == 3 && r.status == 1);
	scrub_err = 0;
	CU_ASSERT(!scrub_with(&r, json_pack("{s:b}", "timer", 1)) && scrubs == 3 && !notes);
	D.scrub_never = true;
	CU_ASSERT(!scrub_with(&r, json_pack("{s:b}", "timer", 1)) && !scrubs);
	CU_ASSERT(!scrub_with(&r, json_pack("{s:b}", "all", 1)) && scrubs == 3);
	D.scrub_never = false;
	volumes = 0;
	json_decref(r.args);
}

int main(void)
{
	static const struct suite_test tests[] = {
		{ "counters", test_stats },
		{ "a strip", test_strip },
		{ "health of groups", test_health },
		{ "groups that are being attached", test_opening },
		{ "places that wait", test_waits },
		{ "a note of another state", test_note },
		{ "of one moment", test_moment },
		{ "spares of a volume", test_spares },
		{ "list of what is degraded", test_list_degraded },
		{ "wait", test_wait },
		{ "wait: a scrub, and not for ever", test_wait_scrub },
		{ "a scrub in answers", test_parse },
	{ "let in again", test_rejoin },
		{ "scrub", test_scrub },
		{ "scrub of two copies", test_scrub_two },
		{ NULL, NULL },
	};

	return suite_main("show", tests);
}
