// SPDX-License-Identifier: GPL-2.0-only
/*
 * A rename or an extend that was begun, and then an old member is lost: a volume with redundancy
 * goes back to the layout before, is attached and can be repaired; one without waits for its member.
 */
#include <CUnit/Basic.h>

#define EXTENTS		5
#define RIG_EXTENTS
#include "volume_rig.h"
#include "req_rig.h"
#include "suite.h"

#include "userspace/meshd/bring.c"
#include "userspace/meshd/change.c"
#include "userspace/meshd/gather.c"
#include "userspace/meshd/volume.c"

static const struct muuid no_host, other = { { 12 } };
static char why[REASON];
static struct req cmd;
static int freed;		/* how often new extents were given back */
static bool lost_zeroing;	/* a member goes while the new extents are zeroed */

int intents_undo(const struct muuid *u, char *w) { (void)u, (void)w; freed++; return 0; }
u64 arg_num(const struct req *q, const char *key) { (void)q; return *key == 's' ? 8 << 20 : 0; }
bool arg_bool(const struct req *q, const char *key) { (void)q, (void)key; return false; }
bool busy_take(const struct muuid *u) { (void)u; return true; }
void busy_drop(const struct muuid *u) { (void)u; }
void reconcile_kick(void) { }
int volume_result(struct req *q, const struct muuid *u) { (void)q, (void)u; return 0; }
int volume_dying(struct req *q, const struct store_volume *v) { (void)q, (void)v; return 0; }

const char *arg_str(const struct req *q, const char *key)
{
	(void)q;
	return strcmp(key, "name") ? "" : "other";
}

void volume_give_up(const struct store_volume *v, const struct layout *l, const struct bring *b)
{
	(void)v, (void)l, (void)b;
}

bool groups_why(const struct layout *l, const struct meshblk_volume *k, char *words, size_t size)
{
	(void)l, (void)k;
	snprintf(words, size, "group 0.0: member 1 is out");
	return true;
}

static struct store_volume stored(struct layout *l)
{
	struct store_volume v;

	rig_load(&v, l);
	v.attached = true;
	return v;
}

int volume_take(struct req *q, const char *what, struct store_volume *v, struct layout *l)
{
	(void)q, (void)what;
	*v = stored(l);
	return 0;
}

/* @copies of a mirror from member @first on, or columns of a stripe; each second one on host 1. */
static void add_members(struct layout *l, u32 first, u32 copies, u8 level)
{
	struct layout_segment *s = &l->segment[l->segments++];
	u64 data;

	*s = (struct layout_segment) {
		.start = l->size, .length = 1 << 20, .level = level, .data = copies, .groups = 1,
		.strip = 65536, .refs = copies, .first_ref = first,
	};
	data = level == PROT_STRIPE ? LAYOUT_DATA : layout_data_at(s, 512);
	for (u32 i = first; i < first + copies; i++) {
		l->ref[i] = (struct layout_ref) { i, data };
		l->member[i] = (struct layout_member) {
			.extent = { { 2, i } }, .drive = { { 3, i } }, .target = { { 11 + i % 2 } },
			.size = data + (1 << 20), .port = 4421, .addr = "10.0.0.1",
		};
		at[i].host = i % 2;
		at[i].owner = l->member[i].target;
		at[i].e.length = 4 << 20;
	}
	l->size += 1 << 20;
	l->members = l->refs = first + copies;
}

/* As extents.c does it: two members more. */
int extents_get(struct req *r, struct store_volume *v, struct layout *l, const struct segment_req *q,
		const int *steps)
{
	(void)v, (void)steps;
	if (l->members + 2 > EXTENTS)
		return req_fail(r, "no room");
	add_members(l, l->members, 2, q->shape.level);
	if (lost_zeroing)
		kernel.health = HEALTH_DEGRADED;
	return 0;
}

/* At version 2, attached and whole. */
static void begin(u32 copies, u8 level)
{
	struct layout *l = malloc(sizeof(*l));
	struct store_volume v;

	rig_new(copies);
	rig_layout(l, 0, 2, "data");
	l->salt = level == PROT_STRIPE ? 0 : 5;
	add_members(l, 0, copies, level);
	for (u32 i = 0; i < EXTENTS; i++) {
		if (i < copies)
			rig_record(i, l, D.host);
		else
			at[i].e.length = 0;
	}
	store_volume_erase(&vol);
	rig_store(l);
	v = stored(l);
	CU_ASSERT_FATAL(!store_volume_flags(&v));
	kernel.there = true;
	kernel.version = 2;
	kernel.groups = level != PROT_STRIPE;
	kernel.health = HEALTH_WHOLE;
	freed = 0;
	lost_zeroing = false;
	free(l);
}

/* The command; its error is in @cmd. */
static int change_it(bool extends)
{
	cmd.error[0] = 0;
	return extends ? cmd_volume_extend(&cmd) : cmd_volume_rename(&cmd);
}

/* A command that fails since a label cannot be written. */
static void begin_change(bool extends, u32 full)
{
	at[full].full = true;
	CU_ASSERT(change_it(extends) && has(cmd.error, "is not changed yet"));
}

/* Pulled; @out: and the group goes on without it. */
static void lose(u32 member, bool out)
{
	at[member].host = HOSTS;
	kernel.without = out << member;
	kernel.health = HEALTH_DEGRADED;
}

static int run(int (*fn)(struct store_volume *v, struct layout *l))
{
	struct layout *l = malloc(sizeof(*l));
	struct store_volume v = stored(l);
	int err;

	why[0] = 0;
	err = fn(&v, l);
	free(l);
	return err;
}

static int do_settle(struct store_volume *v, struct layout *l)
{
	(void)l;
	return pending_settle(v, why);
}

static int do_undo(struct store_volume *v, struct layout *l)
{
	(void)l;
	return pending_undo(v, false, why);
}

static int do_preempt(struct store_volume *v, struct layout *l)
{
	(void)l;
	return pending_undo(v, true, why);
}

static int is_pending(struct store_volume *v, struct layout *l) { (void)l; return v->pending; }
static int is_undoable(struct store_volume *v, struct layout *l) { (void)l; return pending_undoable(v); }
static int version_is(struct store_volume *v, struct layout *l) { (void)l; return v->version; }

static int bring_as(struct store_volume *v, struct layout *l, bool stale, bool preempt)
{
	struct bring b = { .stale = stale, .preempt = preempt };

	v->recorded = 0;
	return volume_bring(v, l, &b, why);
}

static int do_bring(struct store_volume *v, struct layout *l) { return bring_as(v, l, false, false); }
static int do_bring_stale(struct store_volume *v, struct layout *l) { return bring_as(v, l, true, false); }
static int do_take_over(struct store_volume *v, struct layout *l) { return bring_as(v, l, true, true); }

/* Nothing is pending, and the layout is what it was, with member 1 late. */
static int is_back(struct store_volume *v, struct layout *l)
{
	return !v->pending && l->members == 2 && l->segments == 1 && !strcmp(v->name, "data") &&
	       !strcmp(l->name, "data") && l->member[1].late && !l->member[0].late && v->version > 3 &&
	       at[0].e.version == v->version && at[0].e.commit == l->commit &&
	       muuid_equal(&at[0].e.holder, &D.host);
}

/* Member 1 is back, with whatever its label says: it gets the record, and a change is made again. */
static void comes_back(bool extends)
{
	const u32 host = at[1].owner.b[0] - 11;
	const u64 had = at[1].e.version;

	at[1].host = host;
	at[1].full = down[host] = false;
	CU_ASSERT(!run(do_bring) && kernel.there);
	CU_ASSERT(at[1].e.version > had && at[1].e.version == at[0].e.version);
	CU_ASSERT(at[1].e.commit == at[0].e.commit && kernel.opens_at[1] == at[1].e.version);
	CU_ASSERT(run(version_is) == (int)at[0].e.version && kernel.version == at[0].e.version);
	kernel.without = 0;
	kernel.health = HEALTH_WHOLE;
	/* What it left of new extents is another one's to free. */
	for (u32 i = 2; i < EXTENTS; i++) {
		at[i].e.version = at[i].e.commit = 0;
		at[i].e.holder = no_host;
		at[i].full = false;
	}
	CU_ASSERT(!change_it(extends) && at[0].e.version == at[1].e.version && !run(is_pending));
	CU_ASSERT(!extends || at[3].e.version == at[0].e.version);
}

/* The volume serves all the time; its new extents are given back. */
static void test_live(void)
{
	for (int extends = 0; extends < 2; extends++) {
		begin(2, PROT_MIRROR);
		begin_change(extends, 1);
		CU_ASSERT(at[0].e.version == 3 && at[1].e.version == 2 && !at[2].e.version);
		/* It is there, and then it might be back in a moment. */
		for (int out = 0; out < 2; out++) {
			kernel.without = out << 1;
			CU_ASSERT(run(do_settle) == -EIO && run(is_pending) && at[0].e.version == 3);
		}
		CU_ASSERT(change_it(extends) && has(cmd.error, "is not finished"));
		CU_ASSERT(has(cmd.error, "attach --stale"));
		lose(1, false);
		CU_ASSERT(run(do_settle) && run(is_pending) && at[0].e.version == 3 && !freed);
		lose(1, true);
		CU_ASSERT(!run(do_settle) && run(is_back) && freed == 1);
		CU_ASSERT(kernel.version == at[0].e.version && !at[2].e.version);
		CU_ASSERT(!run(do_bring) && run(is_back));
		/* What lacks a member is not changed, and nothing is left of that. */
		CU_ASSERT(change_it(extends) && has(cmd.error, "lacks a member") && !run(is_pending));
		comes_back(extends);
	}
}

/* The one that is lost has the record, and the other one does not. */
static void test_only_the_lost(void)
{
	for (int extends = 0; extends < 2; extends++) {
		for (int live = 0; live < 2; live++) {
			begin(2, PROT_MIRROR);
			begin_change(extends, 0);
			CU_ASSERT(at[0].e.version == 2 && at[1].e.version == 3);
			at[0].full = false;
			lose(1, live);
			kernel.there = live;
			CU_ASSERT(!run(live ? do_settle : do_undo) && run(is_back));
			CU_ASSERT(live || (!run(do_bring) && run(is_back)));
			comes_back(extends);
		}
	}
}

/*
 * All old members have it, and a host goes with an old and a new one: nothing waits for that. What
 * another host may have used meanwhile is kept.
 */
static void test_live_host(void)
{
	begin(2, PROT_MIRROR);
	begin_change(true, 3);
	CU_ASSERT(at[0].e.version == 3 && at[1].e.version == 3 && !at[3].e.version);
	down[1] = true;
	CU_ASSERT(run(do_settle) && run(is_pending));
	kernel.without = 1 << 1;
	kernel.health = HEALTH_DEGRADED;
	for (int gone = 0; gone < 2; gone++) {
		at[0].e.holder = gone ? no_host : other;
		CU_ASSERT(run(do_settle) && run(is_pending) && at[0].e.version == 3 && !freed);
	}
	at[0].e.holder = D.host;
	CU_ASSERT(!run(do_settle) && run(is_back) && freed == 1);
	comes_back(true);
	/* Nor is it completed by labels that do not have the member as late. */
	begin(2, PROT_MIRROR);
	begin_change(false, 1);
	lose(1, true);
	at[0].e.holder = no_host;
	CU_ASSERT(run(do_settle) == -EAGAIN && run(is_pending) && at[0].e.version == 3);
	/* Without its own record a label says nothing, where another host holds the volume. */
	begin(2, PROT_MIRROR);
	begin_change(true, 0);
	lose(1, true);
	at[0].e.holder = other;
	CU_ASSERT(run(do_settle) == -EAGAIN && run(is_pending) && !freed);
}

/* The host has restarted: a command is needed, and then that is enough. */
static void test_restarted(void)
{
	for (int extends = 0; extends < 2; extends++) {
		begin(2, PROT_MIRROR);
		begin_change(extends, 1);
		kernel.there = false;
		CU_ASSERT(run(do_settle) == -EIO && run(do_undo) == -EAGAIN);
		CU_ASSERT(has(why, "cannot be undone") && has(why, "cannot be written, remove it"));
		CU_ASSERT(run(is_undoable));
		lose(1, false);
		CU_ASSERT(run(do_settle) == -ENODEV && run(do_bring) == -EHOSTUNREACH && !kernel.there);
		CU_ASSERT(at[0].e.version == 3 && run(is_pending) && run(version_is) == 2);
		CU_ASSERT(!run(do_undo) && run(is_back) && freed == 1);
		/* The option is not needed again. */
		CU_ASSERT(!run(do_bring) && kernel.there && run(is_back));
		comes_back(extends);
	}
}

/* A host is lost, with an old and a new member: it cannot be removed before, and need not be. */
static void test_restarted_host(void)
{
	begin(2, PROT_MIRROR);
	begin_change(true, 3);
	kernel.there = false;
	down[1] = true;
	CU_ASSERT(run(do_settle) && run(do_bring_stale) == -EHOSTUNREACH);
	CU_ASSERT(!run(do_undo) && run(is_back) && !run(do_bring_stale) && run(is_back));
	comes_back(true);
	/* With new members alone it may be back. */
	begin(2, PROT_MIRROR);
	begin_change(true, 1);
	kernel.there = false;
	down[1] = true;
	at[1].owner = (struct muuid) { { 11 } };
	at[1].host = 0;
	CU_ASSERT(run(do_settle));
	at[1].host = HOSTS;
	{
		struct layout *l = malloc(sizeof(*l));
		struct store_volume v = stored(l);

		l->member[1].target = at[1].owner;
		CU_ASSERT_FATAL(!store_volume_adopt(&v, l));
		free(l);
	}
	CU_ASSERT(run(do_undo) == -EHOSTUNREACH && has(why, "meshctl host remove h1"));
	CU_ASSERT(at[0].e.version == 3 && run(is_pending));
}

/* What cannot be known is not undone: neither blindly, nor what another host may have used. */
static void test_restarted_not(void)
{
	for (int extends = 0; extends < 2; extends++) {
		begin(2, PROT_MIRROR);
		begin_change(extends, 1);
		kernel.there = false;
		down[0] = down[1] = true;
		CU_ASSERT(run(do_undo) == -EHOSTUNREACH && run(is_pending) && run(version_is) == 2);
		down[0] = down[1] = false;
		at[1].full = false;
		CU_ASSERT(!run(do_settle) && at[0].e.version == 3 && at[1].e.version == 3);
		/* Given back by another host, or held. */
		for (int held = 0; held < 2; held++) {
			begin(2, PROT_MIRROR);
			begin_change(extends, 1);
			kernel.there = kernel.stale = false;
			lose(1, false);
			at[0].e.holder = held ? other : no_host;
			CU_ASSERT(run(do_undo) == -EAGAIN && has(why, "add --preempt"));
			CU_ASSERT(at[0].e.version == 3);
			CU_ASSERT(run(do_bring_stale) == -EHOSTUNREACH && run(is_pending));
			CU_ASSERT(!run(do_preempt) && run(is_back));
			/* A group of which a member is away comes up for that, too. */
			CU_ASSERT(kernel.stale == held);
			comes_back(extends);
		}
	}
}

/* Of three, one cannot be written while it is undone: it goes on from there. */
static void test_half_undone(void)
{
	for (int live = 0; live < 2; live++) {
		begin(3, PROT_MIRROR);
		begin_change(false, 1);
		CU_ASSERT(at[0].e.version == 3 && at[2].e.version == 3);
		lose(1, live);
		kernel.there = live;
		at[2].full = true;
		CU_ASSERT(run(live ? do_settle : do_undo) == -EIO && run(is_pending));
		CU_ASSERT(at[0].e.version == 5 && at[2].e.version == 3);
		at[2].full = false;
		CU_ASSERT(!run(live ? do_settle : do_undo) && !run(is_pending));
		CU_ASSERT(at[0].e.version == at[2].e.version && at[2].e.version > 5);
		CU_ASSERT(run(version_is) == (int)at[0].e.version);
	}
}

/* Without redundancy its data is away: nothing goes on without it. */
static void test_plain(void)
{
	for (int extends = 0; extends < 2; extends++) {
		begin(2, PROT_STRIPE);
		begin_change(extends, 1);
		CU_ASSERT(run(is_undoable) == extends);
		for (int live = 1; live >= 0; live--) {
			lose(1, false);
			kernel.there = live;
			CU_ASSERT(run(do_settle) && run(do_undo) == -EHOSTUNREACH);
			CU_ASSERT(has(why, "is not exported"));
			CU_ASSERT(run(do_bring_stale) == -EHOSTUNREACH && run(is_pending));
			CU_ASSERT(at[0].e.version == 3 && run(version_is) == 2 && !freed);
		}
		at[1].host = 1;
		at[1].full = false;
		CU_ASSERT(!run(do_settle) && !run(is_pending) && at[1].e.version == 3);
	}
}

/*
 * Another host began it, and is lost with a member: this one goes on with what is here. When that
 * member is back, its label of before is no objection.
 */
static void test_taken_over(void)
{
	for (int extends = 0; extends < 2; extends++) {
		const u32 here[] = { 0, extends ? 2 : 0 };

		begin(2, PROT_MIRROR);
		begin_change(extends, 1);
		CU_ASSERT(at[0].e.version == 3 && at[1].e.version == 2 && !at[2].e.version);
		/* This host knows the volume from its records alone. */
		store_volume_erase(&vol);
		rig_store(at[0].record);
		kernel.there = false;
		kernel.without = 1 << 1 | 1 << 3;
		down[1] = true;
		CU_ASSERT(!extends || run(do_bring) == -EHOSTUNREACH);
		CU_ASSERT(at[0].e.version == 3 && !at[2].e.version);
		CU_ASSERT(!run(do_take_over) && kernel.there && run(version_is) == 4);
		for (u32 i = 0; i < ARRAY_SIZE(here); i++)
			CU_ASSERT(at[here[i]].e.version == 4 && at[here[i]].record->member[1].late);
		CU_ASSERT(!strcmp(at[0].record->name, extends ? "data" : "other"));
		CU_ASSERT(at[0].record->members == (extends ? 4 : 2));
		CU_ASSERT(!extends || at[0].record->member[3].late);
		CU_ASSERT(!run(do_take_over) && run(version_is) == 4);
		down[1] = at[1].full = false;
		CU_ASSERT(!run(do_bring) && at[1].e.version == 4 && at[1].e.commit == at[0].e.commit);
		CU_ASSERT(!extends || at[3].e.version == 4);
	}
}

/* Nothing is written where a member is not left out, or no other host had it; or that fails. */
static void test_not_left_out(void)
{
	for (int why_not = 0; why_not < 3; why_not++) {
		begin(3, PROT_MIRROR);
		at[1].host = at[2].host = HOSTS;
		kernel.there = false;
		kernel.without = why_not ? 3 << 1 : 1 << 1;
		at[0].full = why_not == 2;
		CU_ASSERT(!run(why_not == 1 ? do_bring_stale : do_take_over) && kernel.there);
		CU_ASSERT(at[0].e.version == 2 && !at[0].record->member[1].late);
	}
}

/* Zeroing takes long: a member that goes meanwhile ends the extend before a label says it. */
static void test_zeroing(void)
{
	begin(2, PROT_MIRROR);
	lost_zeroing = true;
	CU_ASSERT(change_it(true) && has(cmd.error, "lacks a member") && freed == 1);
	CU_ASSERT(!run(is_pending) && at[0].e.version == 2 && at[1].e.version == 2);
	kernel.health = HEALTH_WHOLE;
	lost_zeroing = false;
	CU_ASSERT(!change_it(true) && at[0].e.version == 3 && at[3].e.version == 3 && freed == 1);
}

int main(void)
{
	static const struct suite_test tests[] = {
		{ "while it serves", test_live },
		{ "while it serves, and a host is lost", test_live_host },
		{ "only the lost member has the record", test_only_the_lost },
		{ "the host restarted", test_restarted },
		{ "the host restarted, and another one is lost", test_restarted_host },
		{ "what is not undone", test_restarted_not },
		{ "undone half way", test_half_undone },
		{ "another host began it", test_taken_over },
		{ "what is not left out", test_not_left_out },
		{ "without redundancy", test_plain },
		{ "lost while zeroes are written", test_zeroing },
		{ NULL, NULL },
	};
	int err = suite_main("pending", tests);

	rig_end();
	return err;
}
