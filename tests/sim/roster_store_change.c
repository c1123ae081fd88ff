// SPDX-License-Identifier: GPL-2.0-only
/*
 * Changes of the layout, what frees and forgets extents, and a store that is put back.
 *
 *   bars wanted -> the kernel bars, and says so -> version 2 -> records -> the kernel has it
 *     -> freed
 */
#include <string.h>

#include "tests/sim/roster_store.h"
#include "userspace/plan/change.h"
#include "userspace/plan/forget.h"
#include "userspace/plan/mutant.h"

static struct plan_extent change_extent(const struct rs_state *s, int d)
{
	return (struct plan_extent) {
		.uuid = rs_extent_uuid(d), .volume = rs_volume_uuid(), .state = PLAN_READY,
		.version = s->d[d].record, .commit = 1,
	};
}

/* A member that is out is replaced by the spare: decided for the place that the kernel barred. */
static void change_replace(const struct rs_state *s, u32 place)
{
	struct plan_extent spare = change_extent(s, RS_SPARE);
	struct plan_put put = { .place = place, .extent = &spare };
	struct rs_state t = *s;
	struct rs_facts f;
	struct plan_change c = { .volume = &f.volume, .access = &f.access, .rosters = &f.rosters,
				 .stopped = s->back, .puts = 1, .put = &put };
	struct plan_txn txn;

	rs_facts(s, &f);
	/* a roster that is noted before its commit says nothing of who is out */
	if (s->moves == rs_most.moves || !s->s.committed || !(s->s.bar >> place & 1) ||
	    plan_change(&c, &txn) != PLAN_GO)
		return;
	t.moves++;
	t.s.version = 2;
	t.s.place = place;
	t.s.bar = 0;
	rs_reach(&t);
}

/* A member in sync gives its place to the spare: the layout names it as leaving from then on. */
static void change_evict(const struct rs_state *s, u32 place)
{
	struct plan_extent spare = change_extent(s, RS_SPARE);
	struct plan_put put = { .place = place, .extent = &spare };
	struct rs_state t = *s;
	struct rs_facts f;
	struct plan_change c = { .volume = &f.volume, .access = &f.access, .rosters = &f.rosters,
				 .stopped = s->back, .puts = 1, .put = &put, .evict = true };
	struct plan_txn txn;

	rs_facts(s, &f);
	if (s->evicts == rs_most.evicts || plan_change(&c, &txn) != PLAN_GO)
		return;
	t.evicts++;
	t.s.version = 2;
	t.s.place = place;
	t.s.bar = 0;
	t.s.leaving = 1;
	rs_reach(&t);
}

/* The place is swapped: no object but drive/D names the member any more. */
static void change_left(const struct rs_state *s)
{
	struct rs_state t = *s;
	struct plan_txn txn;
	struct rs_facts f;

	if (!s->s.leaving)
		return;
	rs_facts(s, &f);
	if (plan_left(&f.volume, s->s.place, &f.access, &f.rosters, s->back, &txn) != PLAN_GO)
		return;
	t.s.leaving = 0;
	rs_reach(&t);
}

/* The kernel gets the layout, and the bars that are wanted with it. */
static void change_set(const struct rs_state *s, int h)
{
	struct plan_place place[RS_DRIVES];
	bool recorded[RS_DRIVES] = { 0 };
	struct rs_state t = *s;
	struct rs_host *x = &t.h[h];
	struct plan_layout has;
	struct rs_facts f;

	rs_facts(s, &f);
	has = f.volume.layout;
	has.place = place;
	for (u32 i = 0; i < rs_width; i++) {
		place[i] = f.place[i];
		place[i].extent = rs_extent_uuid(rs_layout(s, x->version, i));
		recorded[i] = s->d[rs_layout(s, s->s.version, i)].record >= s->s.version;
	}
	if (!plan_change_set(&f.volume.layout, &has, recorded))
		return;
	x->version = s->s.version;
	x->barred = s->s.bar;
	rs_keep_record(x, PLAN_RW);
	if (x->join == s->s.place)
		x->join = RS_NONE;
	rs_reach(&t);
}

/*
 * Places that the store calls out are to be barred, or no more; then the kernel of the same layout
 * bars them.
 */
static void change_bar(const struct rs_state *s, int h)
{
	struct rs_state t = *s;

	if (s->s.version == 1 && s->moves < rs_most.moves) {
		for (u32 i = 0; i < rs_width && !s->s.bar; i++) {
			if (s->s.roster.in_sync >> i & 1)
				continue;
			t = *s;
			t.s.bar = 1 << i;
			rs_reach(&t);
		}
		if (s->s.bar && s->cancels < rs_most.cancels) {
			t = *s;
			t.cancels++;
			t.s.bar = 0;
			rs_reach(&t);
		}
	}
	/*
	 * A bar is lifted after roster/V confirms it no more. Else a later change of the place would
	 * rely on the confirmation of an earlier one that was cancelled.
	 */
	if (s->h[h].version != s->s.version || s->h[h].barred == s->s.bar ||
	    s->s.confirmed & ~s->s.bar)
		return;
	t = *s;
	t.h[h].barred = s->s.bar;
	rs_keep_record(&t.h[h], PLAN_RW);
	if (t.h[h].join < rs_width && s->s.bar >> t.h[h].join & 1 && !s->h[h].pending)
		t.h[h].join = RS_NONE;
	rs_reach(&t);
}

/* The holder's agent, while the store is here. */
void rs_holder_steps(const struct rs_state *s, int h)
{
	if (!rs_may_note(s, h))
		return;
	change_bar(s, h);
	if (s->h[h].version < s->s.version)
		change_set(s, h);
	for (u32 i = 0; i < rs_width && s->s.version == 1 && !s->d[RS_SPARE].freed; i++) {
		change_replace(s, i);
		change_evict(s, i);
	}
}

/* Records follow; what neither a layout nor a roster names is freed. */
static void change_agents(const struct rs_state *s)
{
	struct rs_state t;
	struct plan_txn txn;
	struct rs_facts f;

	for (int d = 0; d < RS_DRIVES; d++) {
		if (!(rs_wanted(s, s->s.version, s->forgot, false) >> d & 1) ||
		    s->d[d].record >= s->s.version)
			continue;
		t = *s;
		t.d[d].record = s->s.version;
		rs_reach(&t);
	}
	rs_facts(s, &f);
	for (u32 d = 0; d < rs_width; d++) {
		struct plan_extent x = change_extent(s, d);

		if (s->d[d].freed || d != s->s.place || s->s.version < 2 || !s->s.committed ||
		    plan_freeable(&x, &f.volume, &f.access, &f.rosters, s->back, &txn) != PLAN_GO)
			continue;
		t = *s;
		memset(&t.d[d], 0, sizeof(t.d[d]));
		t.d[d].roster.spare = RS_NONE;
		t.d[d].freed = 1;
		rs_reach(&t);
	}
}

/* Hosts drop what is forgotten from their records, too. */
static void change_record(struct rs_state *s, int h, int d)
{
	struct muuid extent = rs_extent_uuid(d);
	struct plan_attached r;
	struct rs_facts f;

	rs_record(s, h, &r, &f);
	if (plan_forget_drops(&r, &extent))
		s->h[h].rec_forgot |= 1 << d;
}

/*
 * True: a host that was preempted, or a reader, still uses the drive, out of reach of the store.
 * The administrator says that such a drive is gone, so this is excluded.
 */
static bool change_fork(const struct rs_state *s, int d)
{
	for (int h = 0; h < 2; h++) {
		const struct rs_host *x = &s->h[h];

		if (x->phase != RS_IDLE && (x->has | x->todo) >> d & 1 &&
		    (x->ro || RS_COUNTER(x->number) != s->s.counter))
			return true;
	}
	return false;
}

/*
 * Writes that stay without @drive: of those in sync by the highest roster that have it, else the
 * writes that all others have.
 */
static u8 change_rest(const struct rs_state *s, int drive)
{
	u8 others = rs_wanted(s, s->s.version, s->forgot | 1 << drive, true);
	u8 any = 0, all = 0xff, whole = 0;
	struct prot_roster best;
	struct rs_roster r;

	if (!others || !rs_find(s, (1 << RS_DRIVES) - 1, &best))
		return 0;
	r = rs_pack(&best);
	for (int d = 0; d < RS_DRIVES; d++) {
		if (!(others >> d & 1))
			continue;
		all &= s->d[d].writes;
		if (rs_drives(&r, r.in_sync) >> d & 1 && !memcmp(&s->d[d].roster, &r, sizeof(r))) {
			any |= s->d[d].writes;
			whole |= 1 << d;
		}
	}
	return whole ? any : all;
}

static void change_forget(const struct rs_state *s)
{
	struct plan_txn txn;
	struct rs_facts f;

	rs_facts(s, &f);
	if (s->forgets == rs_most.forgets ||
	    plan_forget(&f.volume, &f.access, hweight64(s->s.readers), s->back, &txn) != PLAN_GO)
		return;
	for (u32 i = 0; i < rs_width; i++) {
		struct rs_state t = *s;
		u8 d = rs_layout(s, s->s.version, i), rest;

		if (s->d[d].freed || s->forgot >> d & 1 || change_fork(s, d))
			continue;
		t.forgets++;
		t.forgot |= 1 << d;
		rest = change_rest(s, d);
		t.acked &= rest;
		t.dropped = 0;
		t.abandoned |= ((1 << s->writes) - 1) & ~rest;
		for (int h = 0; h < 2; h++)
			change_record(&t, h, d);
		rs_reach(&t);
	}
}

static void change_restore(const struct rs_state *s)
{
	struct rs_state t = *s;

	if (s->restores == rs_most.restores && !s->back)
		return;
	if (!s->copied) {
		t.copied = 1;
		t.copy = s->s;
		rs_reach(&t);
	} else if (s->restores < rs_most.restores && memcmp(&s->copy, &s->s, sizeof(s->s))) {
		t.restores++;
		t.s = s->copy;
		t.s.place = s->s.place;	/* records name it */
		t.back = 1;
		rs_reach(&t);
	}
	for (u8 drives = 1; s->back && drives < 1 << RS_DRIVES; drives++) {
		t = *s;
		if (rs_recover(&t, drives))
			rs_reach(&t);
	}
}

void rs_store_steps(const struct rs_state *s)
{
	if (!s->back) {
		change_left(s);
		change_agents(s);
		change_forget(s);
	}
	change_restore(s);
}
