// SPDX-License-Identifier: GPL-2.0-only
/* What a host can do next to a group that it attaches, and what must never be read. */
#include <string.h>

#include "tests/sim/roster.h"

void roster_unpack(struct prot_roster *r, const struct packed *p)
{
	memset(r, 0, sizeof(*r));
	r->attach = p->attach;
	r->epoch = p->epoch;
	r->in_sync = p->in_sync;
	r->flags = p->flags;
	r->host[0] = p->host;
	r->geo.k = k;
	r->geo.width = width;
	for (u32 i = 0; i < width; i++)
		r->uuid[i][0] = 1 + (i == p->spare ? SPARE : i);
}

static struct packed pack(const struct prot_roster *r)
{
	struct packed p = {
		.attach = r->attach, .epoch = r->epoch, .in_sync = r->in_sync,
		.flags = r->flags, .host = r->host[0], .spare = NONE,
	};

	for (u32 i = 0; i < width; i++)
		if (r->uuid[i][0] == 1 + SPARE)
			p.spare = i;
	return p;
}

void roster_load(struct prot_membership *m, const struct host *x)
{
	memset(m, 0, sizeof(*m));
	roster_unpack(&m->cur, &x->cur);
	roster_unpack(&m->pend, &x->pend);
	m->named = x->named;
	m->durable = x->durable;
	m->serving = x->serving;
	m->pending = x->pending;
	m->noted = x->noted;
	m->held = x->held;
}

void roster_keep(struct host *x, const struct prot_membership *m)
{
	static const struct packed none;

	x->cur = pack(&m->cur);
	x->pend = m->pending ? pack(&m->pend) : none;
	x->named = m->named;
	x->durable = m->durable;
	x->serving = m->serving;
	x->pending = m->pending;
	x->noted = m->noted;
	x->held = m->held;
}

/* Extents of members. */
u8 roster_extents(const struct packed *r, u64 members)
{
	u8 e = members;

	if (r->spare < width && members >> r->spare & 1)
		e = (e & ~(1 << r->spare)) | 1 << SPARE;
	return e;
}

static u8 readers(const struct host *x)
{
	struct prot_membership m;

	roster_load(&m, x);
	return roster_extents(&x->cur, prot_membership_readers(&m)) & x->has;
}

static u8 writers(const struct host *x)
{
	const struct packed *r = x->pending ? &x->pend : &x->cur;
	struct prot_membership m;

	roster_load(&m, x);
	return roster_extents(r, prot_membership_writers(&m)) | roster_evict_writers(x) |
	       (x->join < width ? roster_extents(r, 1 << x->join) : 0);
}

/* What may be read of what the host holds, as it believes. */
static u8 readable(const struct state *s, int h)
{
	const struct host *x = &s->h[h];
	struct prot_membership m;
	u8 here;

	if (x->phase != ATTACHED || !x->serving)
		return 0;
	roster_load(&m, x);
	here = roster_extents(&x->cur, prot_membership_readers(&m)) & (x->has | x->lost);
	if (x->ro)
		here &= ~roster_ro_newer(s, h);
	if (hweight64(here) < m.held && !PROT_MUTANT(R_HELD))
		return 0;
	return here & x->has;
}

void roster_check(const struct state *s)
{
	const char *evict = roster_evict_check(s);

	if (evict)
		bad = evict;
	for (int h = 0; h < 2; h++) {
		u8 may = readable(s, h);

		for (int i = 0; may && i < EXTENTS; i++) {
			if (!(may >> i & 1))
				continue;
			if (s->acked & ~s->e[i].writes)
				bad = "a member is read that lacks an acknowledged write";
			if (s->dropped & s->e[i].writes)
				bad = "a write is read again that a recovery had dropped";
			if (s->h[h].ro && s->e[i].writes & ~s->acked)
				bad = "a write is read before it is recovered";
		}
	}
}

static void forget(struct state *s, int h)
{
	struct host *x = &s->h[h];
	struct packed store = x->store;

	memset(x, 0, sizeof(*x));
	x->store = store;
	x->join = x->twin = NONE;
}

void roster_release(struct state *s, int h)
{
	u8 served = s->h[h].served;

	for (int i = 0; i < EXTENTS; i++)
		if (s->h[h].has >> i & 1 && s->e[i].holder == h + 1 && !s->h[h].ro)
			s->e[i].holder = 0;
	forget(s, h);
	s->h[h].served = served;	/* it may try again */
}

static void ack(struct state *s, struct host *x)
{
	if (!x->write || writers(x) & ~x->landed)
		return;
	if (s->dropped & x->write)
		bad = "a write is acknowledged that a recovery had dropped";
	s->acked |= x->write;
	x->write = x->landed = 0;
}

void roster_acked(struct state *s, int h)
{
	ack(s, &s->h[h]);
}

/* Attach: which extents are reached. Those that the other host has want a preempt. */
static void begin(const struct state *s, int h)
{
	u8 reachable = ((1 << width) - 1) | s->spared << SPARE;

	for (int i = 0; i < EXTENTS; i++)
		if (roster_freed(s, i))
			reachable &= ~(1 << i);
	if (s->attaches == most.attaches)
		return;
	for (u8 r = reachable; r; r = (r - 1) & reachable) {
		for (int preempts = 0; preempts < 2; preempts++) {
			struct state t = *s;

			t.attaches++;
			t.h[h].phase = OPENS;
			t.h[h].preempts = preempts;
			t.h[h].todo = r;
			roster_reach(&t);
		}
	}
}

/* An extent is opened; a host that had it may read on until it notices that. */
void roster_take(struct state *s, int h, int i)
{
	struct host *x = &s->h[h], *o = &s->h[!h];
	u8 bit = 1 << i;

	x->has |= bit;
	x->lost &= ~bit;
	if (x->ro)
		return;
	s->e[i].holder = h + 1;
	if (o->ro ? !(roster_ro_newer(s, !h) & bit) : k > 1 && o->phase == ATTACHED)
		o->lost |= o->has & bit;
	o->has &= ~bit;
}

/* Held by a writer, or, for a writer, by anyone. */
static bool refused(const struct state *s, int h, int i)
{
	const struct host *x = &s->h[h], *o = &s->h[!h];

	if (roster_freed(s, i))
		return true;
	if (x->ro)
		return !o->ro && o->has >> i & 1;
	return !x->preempts && (s->e[i].holder == 2 - h || o->has >> i & 1);
}

/* One at a time where another host may do something in between. */
static void open_next(const struct state *s, int h)
{
	struct state t = *s;
	struct host *x = &t.h[h];

	do {
		int i = __ffs64((u64)x->todo);

		x->todo &= ~(1 << i);
		if (!refused(&t, h, i))
			roster_take(&t, h, i);
	} while (x->todo && t.h[!h].phase == IDLE);
	if (!x->todo)
		x->preempts = 0;
	if (!x->todo && x->ro) {
		x->phase = READS;
		x->todo = x->has;
	}
	roster_reach(&t);
}

static void decided(struct state *t, int h, const struct prot_attach *a,
		    const struct prot_membership *m)
{
	struct host *x = &t->h[h];

	roster_keep(x, m);
	x->phase = NUMBERS;
	x->todo = x->has;
	x->unnoted = prot_membership_must_note(m);
	x->waits = prot_membership_must_wait(a);
}

/* The highest roster of what was opened. Return: there is one. */
static bool find(const struct state *s, const struct host *x, struct prot_roster *found, u64 *highest)
{
	struct prot_roster r;
	bool any = false;

	*highest = x->store.attach;
	for (int i = 0; i < EXTENTS; i++) {
		if (!(x->has >> i & 1))
			continue;
		*highest = *highest > s->e[i].label ? *highest : s->e[i].label;
		if (!s->e[i].roster.attach)
			continue;
		roster_unpack(&r, &s->e[i].roster);
		*highest = *highest > r.attach ? *highest : r.attach;
		if (!any || prot_roster_cmp(&r, found) > 0)
			*found = r;
		any = true;
	}
	return any;
}

/*
 * Both hosts are known to be down, and what this one has not opened is given up: it comes back only
 * where this one attaches it, so the other one's store is of no use.
 */
static void decide_stale(const struct state *s, int h, struct prot_attach *a)
{
	struct prot_membership m;
	struct state t = *s;

	for (int witness = 0; witness < 2 && s->h[!h].phase == IDLE; witness++) {
		u8 in_sync, all = 0xff, any = 0;

		a->witness = witness;
		a->stale = false;
		if (!prot_membership_begin(&m, a))
			continue;
		a->stale = true;
		if (prot_membership_begin(&m, a))
			continue;
		t = *s;
		decided(&t, h, a, &m);
		in_sync = roster_extents(&t.h[h].pend, t.h[h].pend.in_sync);
		for (int i = 0; i < EXTENTS; i++)
			if (in_sync >> i & 1) {
				all &= t.e[i].writes;
				any |= t.e[i].writes;
			}
		t.stales++;
		t.acked &= all;
		t.dropped &= ~any;
		memset(&t.h[!h].store, 0, sizeof(t.h[!h].store));
		roster_reach(&t);
	}
}

static void decide(const struct state *s, int h)
{
	u8 opened[EXTENTS][PROT_UUID_LEN] = {}, n = 0;
	struct prot_roster found, store = {};
	struct prot_membership m;
	const struct host *x = &s->h[h];
	struct prot_attach a = {
		.found = &found, .store = x->store.attach ? &store : NULL,
		.opened = opened, .host = { h + 1 }, .served = x->served,
	};
	struct state t;

	for (int i = 0; i < EXTENTS; i++)
		if (x->has >> i & 1)
			opened[n++][0] = 1 + i;
	a.n = n;
	roster_unpack(&store, &x->store);
	if (find(s, x, &found, &a.highest)) {
		for (int witness = 0; witness < 2; witness++) {
			a.witness = witness;
			if (prot_membership_begin(&m, &a))
				continue;
			t = *s;
			decided(&t, h, &a, &m);
			roster_reach(&t);
		}
		if (s->stales < most.stales)
			decide_stale(s, h, &a);
	}
	t = *s;
	roster_release(&t, h);
	roster_reach(&t);
}

/* OPEN again with the number: refused where another host has come since. */
static void number_next(const struct state *s, int h)
{
	struct state t = *s;
	struct host *x = &t.h[h];

	do {
		int i = __ffs64((u64)x->todo);

		if (!(x->has >> i & 1) || t.e[i].label >= x->pend.attach) {
			roster_release(&t, h);
			break;
		}
		if (!PROT_MUTANT(R_NUMBER))
			t.e[i].label = x->pend.attach;
		x->todo &= ~(1 << i);
		if (!x->todo)
			x->phase = ATTACHED;
	} while (x->todo && t.h[!h].phase == IDLE);
	roster_reach(&t);
}

/* The crash protocol's part: writes that were not acknowledged are kept, or dropped. */
static void recover(const struct state *s, u8 in_sync, int w)
{
	u8 bit = 1 << w, has = 0;
	struct state t;

	while (w < s->writes && (s->acked | s->dropped) & bit) {
		w++;
		bit <<= 1;
	}
	if (w == s->writes) {
		roster_reach(s);
		return;
	}
	for (int i = 0; i < EXTENTS; i++)
		if (in_sync >> i & 1 && s->e[i].writes & bit)
			has |= 1 << i;
	if (has && (has == in_sync || hweight64(has) >= k)) {
		t = *s;
		t.acked |= bit;
		for (int i = 0; i < EXTENTS; i++)
			if (in_sync >> i & 1)
				t.e[i].writes |= bit;
		recover(&t, in_sync, w + 1);
	}
	if (has != in_sync) {
		t = *s;
		t.dropped |= bit;
		for (int i = 0; i < EXTENTS; i++)
			if (in_sync >> i & 1)
				t.e[i].writes &= ~bit;
		recover(&t, in_sync, w + 1);
	}
}

static void serve(struct state *t, int h)
{
	u8 in_sync = roster_extents(&t->h[h].cur, t->h[h].cur.in_sync);

	if (in_sync & ~t->h[h].has) {	/* taken from it meanwhile: its attach ends */
		roster_release(t, h);
		roster_reach(t);
		return;
	}
	t->h[h].waits = 0;
	t->h[h].phase = ATTACHED;
	roster_check(t);
	recover(t, in_sync, 0);
}

static void commit(struct state *t, int h, bool first)
{
	struct host *x = &t->h[h];

	if (x->cur.flags & PROT_ROSTER_CLEAN) {
		struct packed last = x->cur;

		x->served = 0;
		roster_release(t, h);
		roster_reach(t);
		x->store = last;	/* noted, or it has crashed before */
		roster_reach(t);
		return;
	}
	if (x->join < width && x->cur.in_sync >> x->join & 1)
		x->join = NONE;
	if (x->twin < width && (x->cur.spare != NONE || !(x->cur.in_sync >> x->twin & 1)))
		x->twin = NONE;
	if (first && x->waits && t->h[!h].lost) {
		x->phase = WAITS;
		roster_reach(t);
		return;
	}
	if (first) {
		serve(t, h);
		return;
	}
	ack(t, x);
	roster_reach(t);
}

/* The pending roster lands on any subset of those that lack it. */
static void write_roster(const struct state *s, int h)
{
	const struct host *x = &s->h[h];
	struct prot_membership m;
	u64 left;

	roster_load(&m, x);
	left = prot_membership_unwritten(&m);
	for (u64 now = left; now; now = (now - 1) & left) {
		struct state t = *s;
		u8 on = roster_extents(&x->pend, now);
		bool first = !x->serving;

		if (on & ~x->has)
			continue;
		for (int i = 0; i < EXTENTS; i++)
			if (on >> i & 1)
				t.e[i].roster = x->pend;
		roster_load(&m, x);
		if (prot_membership_written(&m, now)) {
			roster_keep(&t.h[h], &m);
			commit(&t, h, first);
		} else {
			roster_keep(&t.h[h], &m);
			roster_reach(&t);
		}
	}
}

static void changed(const struct state *s, int h, const struct prot_membership *m, u8 join)
{
	struct state t = *s;

	t.changes++;
	roster_keep(&t.h[h], m);
	t.spared |= t.h[h].pend.spare != NONE;
	t.h[h].join = join;
	t.h[h].unnoted = prot_membership_must_note(m);
	ack(&t, &t.h[h]);
	roster_reach(&t);
}

static void changes(const struct state *s, int h)
{
	static const u8 spare[PROT_UUID_LEN] = { 1 + SPARE };
	const struct host *x = &s->h[h];
	u8 in_sync = x->pending ? x->pend.in_sync : x->cur.in_sync;
	struct prot_membership m;

	if (s->changes == most.changes)
		return;
	for (u8 gone = in_sync; gone; gone = (gone - 1) & in_sync) {
		roster_load(&m, x);
		if (!prot_membership_remove(&m, gone))
			changed(s, h, &m, x->join < width && gone >> x->join & 1 ? NONE : x->join);
	}
	roster_load(&m, x);
	if (x->join < width && !prot_membership_add(&m, x->join))
		changed(s, h, &m, x->join);
	for (u32 i = 0; i < width && x->cur.spare == NONE && x->join == NONE; i++) {
		roster_load(&m, x);
		if (!s->spared && !prot_membership_replace(&m, i, spare))
			changed(s, h, &m, NONE);
	}
	for (int on = 0; on < 2; on++) {
		roster_load(&m, x);
		if (on != !!(x->cur.flags & PROT_ROSTER_WITNESS) && k <= width - k &&
		    !prot_membership_witness(&m, on))
			changed(s, h, &m, x->join);
	}
	roster_load(&m, x);
	if (!x->write && x->join == NONE && !prot_membership_clean(&m))
		changed(s, h, &m, NONE);
}

/* Opened for this host, with its number, and caught up. */
static void join(const struct state *s, int h)
{
	const struct host *x = &s->h[h];
	u8 in_sync = roster_extents(&x->cur, x->cur.in_sync), has = 0xff;
	struct state t;

	for (int i = 0; i < EXTENTS; i++)
		if (in_sync >> i & 1)
			has &= s->e[i].writes;
	for (u32 i = 0; i < width; i++) {
		u8 e = __ffs64((u64)roster_extents(&x->cur, 1 << i));

		if (x->cur.in_sync >> i & 1 || s->e[e].holder == 2 - h ||
		    s->e[e].label > x->cur.attach)
			continue;
		t = *s;
		roster_take(&t, h, e);
		t.e[e].label = x->cur.attach;
		t.e[e].writes = has;
		t.h[h].join = i;
		t.h[h].landed &= ~(1 << e);
		roster_reach(&t);
	}
}

static void write_data(const struct state *s, int h)
{
	const struct host *x = &s->h[h];
	u8 to = writers(x) & x->has & ~roster_evict_held(x);
	u8 left = x->write ? to & ~x->landed : to;

	if (!x->write && s->writes == most.writes)
		return;
	for (u8 now = left; now; now = (now - 1) & left) {
		struct state t = *s;

		if (!x->write)
			t.h[h].write = 1 << t.writes++;
		t.h[h].landed |= now;
		for (int i = 0; i < EXTENTS; i++)
			if (now >> i & 1)
				t.e[i].writes |= t.h[h].write;
		ack(&t, &t.h[h]);
		roster_reach(&t);
	}
}

/* What has to be noted first; all else once it is committed, or never. */
static void note(const struct state *s, int h)
{
	const struct host *x = &s->h[h];
	struct state t = *s;

	if (x->pending ? !x->unnoted && !PROT_MUTANT(R_NOTE_EARLY) : !x->serving)
		return;
	t.h[h].store = x->pending ? x->pend : x->cur;
	t.h[h].unnoted = 0;
	roster_reach(&t);
}

static void attached(const struct state *s, int h)
{
	const struct host *x = &s->h[h];
	struct state t;

	if (x->pending && !x->unnoted)
		write_roster(s, h);
	note(s, h);
	if (!x->serving)
		return;
	changes(s, h);
	roster_evict(s, h);
	if (!x->pending && x->join == NONE && hweight64(readers(x)) >= k)
		join(s, h);
	if (!x->pending && x->join != NONE) {
		t = *s;
		t.h[h].join = NONE;
		ack(&t, &t.h[h]);
		roster_reach(&t);
	}
	if (!(x->pending && x->pend.flags & PROT_ROSTER_CLEAN))
		write_data(s, h);
}

static void mishaps(const struct state *s, int h)
{
	const struct host *x = &s->h[h];
	struct state t = *s;

	if (x->phase != IDLE && s->crashes < most.crashes) {
		t.crashes++;
		forget(&t, h);
		roster_reach(&t);
	}
	if (x->phase == ATTACHED && x->serving && s->restarts < most.restarts) {
		t = *s;
		t.restarts++;
		forget(&t, h);
		t.h[h].served = x->cur.attach;
		roster_reach(&t);
	}
	if (s->stores == most.stores)
		return;
	if (x->phase == IDLE && x->store.attach) {
		t = *s;
		t.stores++;
		memset(&t.h[h].store, 0, sizeof(t.h[h].store));
		roster_reach(&t);
	}
}

/* The time is over in which the other host notices what was taken from it. */
static void waited(const struct state *s, int h)
{
	struct state t = *s;

	t.h[!h].lost = 0;
	serve(&t, h);
}

void roster_successors(const struct state *s)
{
	for (int h = 0; h < 2; h++) {
		switch (s->h[h].phase) {
		case IDLE:
			begin(s, h);
			roster_ro_begin(s, h);
			break;
		case OPENS:
			if (s->h[h].todo)
				open_next(s, h);
			else
				decide(s, h);
			break;
		case READS:
			roster_ro_read(s, h);
			break;
		case NUMBERS:
			number_next(s, h);
			break;
		case WAITS:
			waited(s, h);
			break;
		case ATTACHED:
			if (s->h[h].ro)
				roster_ro_attached(s, h);
			else
				attached(s, h);
			break;
		}
		if (!s->h[h].ro)
			mishaps(s, h);
	}
}
