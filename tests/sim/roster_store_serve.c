// SPDX-License-Identifier: GPL-2.0-only
/* A host that has the group: rosters, joins, writes, and the end. */
#include <string.h>

#include "tests/sim/roster_store.h"

void rs_unpack(struct prot_roster *r, const struct rs_roster *p)
{
	memset(r, 0, sizeof(*r));
	r->attach = p->attach ? rs_number(p->attach) : 0;
	r->epoch = p->epoch;
	r->in_sync = p->in_sync;
	r->flags = p->flags;
	r->geo.k = rs_k;
	r->geo.width = rs_width;
	for (u32 i = 0; i < rs_width; i++)
		r->uuid[i][0] = 1 + (i == p->spare ? RS_SPARE : i);
}

struct rs_roster rs_pack(const struct prot_roster *r)
{
	struct rs_roster p = {
		.attach = rs_packed(r->attach), .epoch = r->epoch, .in_sync = r->in_sync,
		.flags = r->flags, .spare = RS_NONE,
	};

	for (u32 i = 0; i < rs_width; i++)
		if (r->uuid[i][0] == 1 + RS_SPARE)
			p.spare = i;
	return p;
}

void rs_load(struct prot_membership *m, const struct rs_host *x)
{
	memset(m, 0, sizeof(*m));
	rs_unpack(&m->cur, &x->cur);
	rs_unpack(&m->pend, &x->pend);
	m->named = x->named;
	m->durable = x->durable;
	m->serving = x->serving;
	m->pending = x->pending;
	m->noted = x->noted;
	m->held = x->held;
	m->barred = x->barred;
	m->numbered = !x->ro;
}

void rs_keep(struct rs_host *x, const struct prot_membership *m)
{
	static const struct rs_roster none;

	x->cur = rs_pack(&m->cur);
	x->pend = m->pending ? rs_pack(&m->pend) : none;
	x->named = m->named;
	x->durable = m->durable;
	x->serving = m->serving;
	x->pending = m->pending;
	x->noted = m->noted;
	x->held = m->held;
	x->barred = m->barred;
}

/* The drives of a roster's places. */
u8 rs_drives(const struct rs_roster *r, u64 places)
{
	u8 d = places;

	if (r->spare < rs_width && places >> r->spare & 1)
		d = (d & ~(1 << r->spare)) | 1 << RS_SPARE;
	return d;
}

/* The drive of a place in a layout. */
u8 rs_layout(const struct rs_state *s, u8 version, u32 place)
{
	return version > 1 && place == s->s.place ? RS_SPARE : place;
}

/* Drives that the host has open indeed. */
u8 rs_real(const struct rs_state *s, int h)
{
	const struct rs_host *x = &s->h[h];
	u8 real = 0;

	for (int d = 0; d < RS_DRIVES; d++) {
		if (x->ro ? s->d[d].readers >> h & 1 : s->d[d].grant == h + 1)
			real |= 1 << d;
	}
	return real & x->has;
}

/*
 * The place of a member in sync whose extent changes, or that is lost then, with what is pending.
 */
static u32 serve_swapped(const struct rs_host *x)
{
	u32 i = x->pend.spare;

	return x->pending && i < rs_width && x->cur.spare != i && x->cur.in_sync >> i & 1 ?
	       i : RS_NONE;
}

/* Drives that a write needs before it is acknowledged. */
static u8 serve_writers(const struct rs_state *s, int h)
{
	const struct rs_host *x = &s->h[h];
	const struct rs_roster *r = x->pending ? &x->pend : &x->cur;
	struct prot_membership m;
	u8 to;

	rs_load(&m, x);
	to = rs_drives(r, prot_membership_writers(&m));
	if (x->join < rs_width)
		to |= rs_drives(r, 1 << x->join);
	if (x->twin < rs_width)
		to |= 1 << RS_SPARE;
	return to;
}

static void serve_ack(struct rs_state *s, int h)
{
	struct rs_host *x = &s->h[h];

	if (!x->write || serve_writers(s, h) & ~x->landed)
		return;
	if (s->dropped & x->write)
		rs_bad = "a write is acknowledged that a recovery had dropped";
	s->acked |= x->write & ~s->abandoned;
	x->write = x->landed = 0;
}

/* The crash protocol's part: writes that were not acknowledged are kept, or dropped. */
static void serve_recover(const struct rs_state *s, u8 in_sync, int w)
{
	u8 bit = 1 << w, has = 0;
	struct rs_state t;

	while (w < s->writes && (s->acked | s->dropped) & bit) {
		w++;
		bit <<= 1;
	}
	if (w == s->writes) {
		rs_reach(s);
		return;
	}
	for (int d = 0; d < RS_DRIVES; d++)
		if (in_sync >> d & 1 && s->d[d].writes & bit)
			has |= 1 << d;
	if (has && (has == in_sync || hweight64(has) >= rs_k)) {
		t = *s;
		t.acked |= bit;
		for (int d = 0; d < RS_DRIVES; d++)
			if (in_sync >> d & 1)
				t.d[d].writes |= bit;
		serve_recover(&t, in_sync, w + 1);
	}
	if (has != in_sync) {
		t = *s;
		t.dropped |= bit;
		for (int d = 0; d < RS_DRIVES; d++)
			if (in_sync >> d & 1)
				t.d[d].writes &= ~bit;
		serve_recover(&t, in_sync, w + 1);
	}
}

/*
 * The first roster is committed, and a holder that was cut off has noticed where that is waited
 * for.
 */
static void serve_begin(struct rs_state *t, int h)
{
	struct rs_host *x = &t->h[h];
	u8 in_sync = rs_drives(&x->cur, x->cur.in_sync);

	if (in_sync & ~rs_real(t, h)) {		/* taken from it meanwhile: its attach ends */
		rs_close(t, h);
		rs_reach(t);
		return;
	}
	if (x->waits)
		t->h[!h].has = rs_real(t, !h);
	x->waits = 0;
	rs_check(t);
	for (int d = 0; d < RS_DRIVES; d++) {
		if (!(in_sync >> d & 1))
			continue;
		if (t->acked & ~t->d[d].writes)
			rs_bad = "a member is served that lacks an acknowledged write";
		if (t->dropped & t->d[d].writes)
			rs_bad = "a write is back that a recovery had dropped";
	}
	serve_recover(t, in_sync, 0);
}

static void serve_detached(struct rs_state *t, int h)
{
	struct rs_roster last = t->h[h].cur;
	u8 number = t->h[h].number;

	rs_close(t, h);
	t->h[h].rec_mode = PLAN_NONE;	/* erased before the release is sent */
	t->h[h].ends = number;
	t->h[h].last = last;
	rs_reach(t);
}

static void serve_commit(struct rs_state *t, int h, bool first)
{
	struct rs_host *x = &t->h[h];

	if (x->cur.flags & PROT_ROSTER_CLEAN) {
		serve_detached(t, h);
		return;
	}
	if (x->join < rs_width && x->cur.in_sync >> x->join & 1)
		x->join = RS_NONE;
	if (x->twin < rs_width && (x->cur.spare == x->twin || !(x->cur.in_sync >> x->twin & 1)))
		x->twin = RS_NONE;
	if (first) {
		serve_begin(t, h);
		return;
	}
	serve_ack(t, h);
	rs_reach(t);
}

/* The pending roster lands on any subset of those that may have it next. */
static void serve_write_roster(const struct rs_state *s, int h)
{
	const struct rs_host *x = &s->h[h];
	struct prot_membership m;
	u64 left;

	rs_load(&m, x);
	left = prot_membership_unwritten(&m);
	for (u64 now = left; now; now = (now - 1) & left) {
		u8 on = rs_drives(&x->pend, now);
		bool first = !x->serving;
		struct rs_state t = *s;

		if (on & ~rs_real(s, h))
			continue;
		for (int d = 0; d < RS_DRIVES; d++)
			if (on >> d & 1)
				t.d[d].roster = x->pend;
		if (now == left)
			rs_reach(&t);	/* and the answers are lost */
		rs_load(&m, x);
		if (prot_membership_written(&m, now)) {
			rs_keep(&t.h[h], &m);
			serve_commit(&t, h, first);
		} else {
			rs_keep(&t.h[h], &m);
			rs_reach(&t);
		}
	}
}

/* @counts: the change is one of those that are bounded. */
static void serve_changed(const struct rs_state *s, int h, const struct prot_membership *m, u8 join,
			  bool counts)
{
	struct rs_state t = *s;

	t.changes += counts;
	rs_keep(&t.h[h], m);
	t.h[h].join = join;
	t.h[h].unnoted = prot_membership_must_note(m);
	serve_ack(&t, h);
	rs_reach(&t);
}

/* WITNESS follows the store: with it for 30 s, or without it. */
static void serve_witness(const struct rs_state *s, int h)
{
	const struct rs_host *x = &s->h[h];
	struct prot_membership m;
	struct prot_witness w = {
		.beside_store = rs_most.beside && h, .here = (1 << rs_width) - 1,
		.noted = !memcmp(&s->s.roster, &x->cur, sizeof(x->cur)),
	};

	for (int away = 0; away < 2; away++) {
		int due;

		rs_load(&m, x);
		w.away = away;
		if (!away && !rs_may_note(s, h))
			continue;
		due = prot_membership_witness_due(&m, &w);
		if (due && !prot_membership_witness(&m, due > 0))
			serve_changed(s, h, &m, x->join, true);
	}
}

static void serve_changes(const struct rs_state *s, int h)
{
	const struct rs_host *x = &s->h[h];
	u8 in_sync = x->pending ? x->pend.in_sync : x->cur.in_sync;
	struct prot_membership m;

	rs_load(&m, x);
	if (!x->write && x->join == RS_NONE && x->twin == RS_NONE && !prot_membership_clean(&m))
		serve_changed(s, h, &m, RS_NONE, false);
	if (s->changes == rs_most.changes)
		return;
	for (u8 gone = in_sync; gone; gone = (gone - 1) & in_sync) {
		rs_load(&m, x);
		if (!prot_membership_remove(&m, gone))
			serve_changed(s, h, &m, x->join < rs_width && gone >> x->join & 1 ?
				      RS_NONE : x->join, true);
	}
	rs_load(&m, x);
	if (x->join < rs_width && !prot_membership_add(&m, x->join))
		serve_changed(s, h, &m, x->join, true);
	serve_witness(s, h);
}

/*
 * A place that is not in sync: its extent becomes the layout's, then it is opened and catches up.
 */
static void serve_join(const struct rs_state *s, int h)
{
	const struct rs_host *x = &s->h[h];
	u8 in_sync = rs_drives(&x->cur, x->cur.in_sync), has = 0xff;
	u8 uuid[PROT_UUID_LEN] = { 0 };
	struct prot_membership m;
	struct rs_state t;

	for (int d = 0; d < RS_DRIVES; d++)
		if (in_sync >> d & 1)
			has &= s->d[d].writes;
	for (u32 i = 0; i < rs_width; i++) {
		u8 d = rs_layout(s, x->version, i);

		if (x->cur.in_sync >> i & 1 || x->forgot >> d & 1 || s->d[d].freed)
			continue;
		rs_load(&m, x);
		uuid[0] = 1 + d;
		if (m.cur.uuid[i][0] != uuid[0]) {
			if (!prot_membership_replace(&m, i, uuid))
				serve_changed(s, h, &m, RS_NONE, false);
			continue;
		}
		if (x->barred >> i & 1 && !PROT_MUTANT(N_BAR))
			continue;
		if (!rs_may_take(s, h, d))
			continue;
		t = *s;
		rs_take(&t, h, d);
		t.d[d].writes = has;
		t.h[h].join = i;
		t.h[h].landed &= ~(1 << d);
		rs_reach(&t);
	}
}

/* A place in sync by another extent than the layout's: copied, then swapped by one roster. */
static void serve_evict(const struct rs_state *s, int h)
{
	static const u8 spare[PROT_UUID_LEN] = { 1 + RS_SPARE };
	const struct rs_host *x = &s->h[h];
	struct prot_membership m;
	struct rs_state t = *s;
	u32 i = s->s.place;

	if (x->twin < rs_width) {
		rs_load(&m, x);
		if (x->write && (x->landed >> x->twin & 1) != (x->landed >> RS_SPARE & 1))
			return;
		if (!prot_membership_swap(&m, x->twin, spare)) {
			rs_keep(&t.h[h], &m);
			t.h[h].unnoted = prot_membership_must_note(&m);
			rs_reach(&t);
		}
		return;
	}
	if (i >= rs_width || x->version < 2 || x->cur.spare == i || !(x->cur.in_sync >> i & 1) ||
	    x->join != RS_NONE || !(rs_real(s, h) >> i & 1) || s->d[RS_SPARE].freed ||
	    !rs_may_take(s, h, RS_SPARE))
		return;
	rs_take(&t, h, RS_SPARE);
	t.d[RS_SPARE].writes = s->d[i].writes;
	t.h[h].landed &= ~(1 << RS_SPARE);	/* of an earlier copy */
	if (x->landed >> i & 1)
		t.h[h].landed |= 1 << RS_SPARE;
	t.h[h].twin = i;
	rs_reach(&t);
}

static void serve_write(const struct rs_state *s, int h)
{
	const struct rs_host *x = &s->h[h];
	u32 swapped = serve_swapped(x);
	u8 to = serve_writers(s, h) & rs_real(s, h), left;

	if (swapped != RS_NONE)
		to &= ~(1 << swapped | 1 << RS_SPARE);
	left = x->write ? to & ~x->landed : to;
	if (!x->write && s->writes == rs_most.writes)
		return;
	for (u8 now = left; now; now = (now - 1) & left) {
		struct rs_state t = *s;

		if (!x->write)
			t.h[h].write = 1 << t.writes++;
		t.h[h].landed |= now;
		for (int d = 0; d < RS_DRIVES; d++)
			if (now >> d & 1)
				t.d[d].writes |= t.h[h].write;
		serve_ack(&t, h);
		rs_reach(&t);
	}
}

static void serve_rosters(const struct rs_state *s, int h)
{
	const struct rs_host *x = &s->h[h];
	struct rs_state t = *s;

	if (x->pending && !x->unnoted)
		serve_write_roster(s, h);
	/* a daemon without the store that noted by itself would be no witness */
	if (x->again && !x->serving && x->unnoted) {
		t.h[h].unnoted = 0;
		rs_reach(&t);
		t = *s;
	}
	if (rs_may_note(s, h) && rs_note(&t, h))
		rs_reach(&t);
}

void rs_attached(const struct rs_state *s, int h)
{
	const struct rs_host *x = &s->h[h];
	struct rs_state t = *s;

	if (x->has & ~rs_real(s, h)) {
		t.h[h].has = rs_real(s, h);	/* it notices what was taken from it */
		rs_reach(&t);
	}
	if (!x->ro) {
		serve_rosters(s, h);
	} else if (s->s.readers >> h & 1) {
		t = *s;
		t.s.readers &= ~(1 << h);	/* its lease ends, and it reads on */
		rs_reach(&t);
	}
	if (x->ro || !x->serving) {
		t = *s;
		rs_give_up(&t, h);
		rs_reach(&t);
		return;
	}
	rs_begin_again(s, h);
	rs_holder_steps(s, h);
	serve_changes(s, h);
	if (!x->pending && x->join == RS_NONE) {
		struct prot_membership m;
		u8 from;

		rs_load(&m, x);
		from = rs_drives(&x->cur, prot_membership_readers(&m)) & rs_real(s, h);
		if (hweight64(from) >= rs_k && x->twin == RS_NONE)
			serve_join(s, h);
		serve_evict(s, h);
	}
	if (!x->pending && (x->join != RS_NONE || x->twin != RS_NONE)) {
		t = *s;
		t.h[h].join = t.h[h].twin = RS_NONE;
		serve_ack(&t, h);
		rs_reach(&t);
	}
	if (!(x->pending && x->pend.flags & PROT_ROSTER_CLEAN))
		serve_write(s, h);
}
