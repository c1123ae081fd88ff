// SPDX-License-Identifier: GPL-2.0-only
/*
 * A host takes the group.
 *
 *   idle --txn--> opens --prot_membership_begin()--> attached (roster_store_serve.c)
 *    | '--its record, the store is away--> opens
 *    '--txn or record--> opens for reading --prot_membership_read()--> attached
 */
#include <string.h>

#include "tests/sim/roster_store.h"

/* All that the host has in memory goes; its record, and a release to be sent, stay. */
void rs_close(struct rs_state *s, int h)
{
	struct rs_host *x = &s->h[h], old = *x;

	for (int d = 0; d < RS_DRIVES; d++) {
		if (s->d[d].grant == h + 1)
			s->d[d].grant = 0;
		s->d[d].readers &= ~(1 << h);
	}
	memset(x, 0, sizeof(*x));
	x->join = x->twin = RS_NONE;
	x->ends = old.ends;
	x->last = old.last;
	x->rec_mode = old.rec_mode;
	x->rec_number = old.rec_number;
	x->rec_version = old.rec_version;
	x->rec_bar = old.rec_bar;
	x->rec_forgot = old.rec_forgot;
}

/* Durable on the host; left out where no host comes back by it. */
void rs_keep_record(struct rs_host *x, u8 mode)
{
	if (!rs_most.agains)
		return;
	x->rec_mode = mode;
	x->rec_number = x->number;
	x->rec_version = x->version;
	x->rec_bar = x->barred;
	x->rec_forgot = x->forgot;
}

/* An attach ends without a disk, or a reader ends: record first, then the store. */
void rs_give_up(struct rs_state *s, int h)
{
	if (!s->h[h].again || s->h[h].ro)
		s->h[h].rec_mode = PLAN_NONE;
	rs_txn_held(s, h);
	rs_close(s, h);
}

/* A target lets the host open a drive under its number. */
bool rs_may_take(const struct rs_state *s, int h, int d)
{
	const struct rs_host *x = &s->h[h];
	const struct rs_drive *e = &s->d[d];

	if (e->freed || (!x->again && !rs_recorded(s, h, d)))
		return false;
	if (x->ro)	/* the restart counts for writers alone */
		return RS_ACCESS(e->number) <= x->number && !e->grant;
	if (x->again && !rs_may_again(s, h, d))
		return false;
	if (e->number > x->number)
		return false;
	return e->number < x->number || !e->attacher || e->attacher == h + 1;
}

/* A drive is opened: a host that had it reads on until it notices that. */
void rs_take(struct rs_state *s, int h, int d)
{
	struct rs_drive *e = &s->d[d];
	struct rs_host *x = &s->h[h];

	x->has |= 1 << d;
	if (x->ro) {
		e->readers |= 1 << h;
		return;
	}
	e->grant = e->attacher = h + 1;
	e->number = x->number;
	e->readers = 0;
}

/* One host's view of what it reaches: each subset. */
static void attach_begin(const struct rs_state *s, int h)
{
	const struct rs_host *x = &s->h[h];
	u8 all = rs_wanted(s, x->version, x->forgot, !x->again);

	for (u8 r = all; r; r = (r - 1) & all) {
		struct rs_state t = *s;

		t.h[h].todo = r;
		rs_reach(&t);
	}
}

static void idle_store(const struct rs_state *s, int h)
{
	struct rs_state t = *s;

	/* the hosts differ in name alone until the first attach */
	if (s->attaches == rs_most.attaches || (!s->attaches && h && !rs_most.beside))
		return;
	t.attaches++;
	if (!rs_txn_attach(&t, h))
		return;
	if (s->crashes < rs_most.crashes) {	/* before its record is written */
		struct rs_state u = *s;

		u.s = t.s;
		u.attaches++;
		u.crashes++;
		rs_reach(&u);
	}
	rs_keep_record(&t.h[h], PLAN_RW);
	attach_begin(&t, h);
}

static void idle_read(const struct rs_state *s, int h)
{
	struct rs_state t = *s;

	if (s->readers == rs_most.readers || !rs_txn_read(&t, h))
		return;
	t.readers++;
	rs_keep_record(&t.h[h], PLAN_RO);
	attach_begin(&t, h);
}

/* The store is away: the host goes by its record, and by the labels that it reaches. */
static void idle_again(const struct rs_state *s, int h)
{
	const struct rs_host *x = &s->h[h];
	u8 all = rs_wanted(s, x->rec_version, x->rec_forgot, false);

	if (s->agains == rs_most.agains || x->rec_mode == PLAN_NONE)
		return;
	for (u8 r = all; r; r = (r - 1) & all) {
		struct rs_state t = *s;

		if (!rs_txn_again(&t, h, r))
			continue;
		t.agains++;
		t.h[h].todo = r;
		rs_reach(&t);
	}
}

void rs_idle(const struct rs_state *s, int h)
{
	const struct rs_host *x = &s->h[h];
	struct rs_state t = *s;

	if (x->ends && !s->back) {
		rs_txn_release(&t, h);
		rs_reach(&t);
	}
	idle_store(s, h);
	idle_read(s, h);
	idle_again(s, h);
}

/* The highest roster on @drives. Return: there is one. */
bool rs_find(const struct rs_state *s, u8 drives, struct prot_roster *found)
{
	struct prot_roster r;
	bool any = false;

	for (int d = 0; d < RS_DRIVES; d++) {
		if (!(drives >> d & 1) || !s->d[d].roster.attach)
			continue;
		rs_unpack(&r, &s->d[d].roster);
		if (!any || prot_roster_cmp(&r, found) > 0)
			*found = r;
		any = true;
	}
	return any;
}

u8 rs_opened(u8 drives, u8 (*opened)[PROT_UUID_LEN])
{
	u8 n = 0;

	for (int d = 0; d < RS_DRIVES; d++)
		if (drives >> d & 1)
			opened[n++][0] = 1 + d;
	return n;
}

/* What the agent gives to the kernel with the layout. */
void rs_attach_facts(const struct rs_state *s, const struct rs_host *x, struct prot_attach *a)
{
	a->numbered = true;
	a->number = rs_number(x->number);
	a->served = x->served ? rs_number(x->served) : 0;
	a->again = x->again;
	a->beside_store = rs_most.beside && x == &s->h[1];
	a->barred = x->barred;
	for (u32 i = 0; i < rs_width; i++)
		if (x->forgot >> rs_layout(s, x->version, i) & 1)
			a->forgotten |= 1 << i;
	/* its own record says nothing of what the store forgot */
	if (x->again)
		a->forgotten = 0;
}

static void attach_decided(const struct rs_state *s, int h, const struct prot_attach *a,
			   const struct prot_membership *m)
{
	struct rs_state t = *s;
	struct rs_host *x = &t.h[h];

	rs_keep(x, m);
	x->served = 0;
	x->phase = RS_ATTACHED;
	x->unnoted = prot_membership_must_note(m);
	x->waits = prot_membership_must_wait(a);
	/* The kernel's mask and the plan's UUIDs are one rule. */
	if (a->forgotten && prot_mutant == PROT_MUT_NONE) {
		struct prot_membership other;
		struct prot_attach without = *a;

		without.forgotten = 0;
		if (prot_membership_begin(&other, &without) && !rs_given_up(s, a))
			rs_bad = "the kernel gives up what the plan does not";
	}
	rs_reach(&t);
}

static void attach_decide(const struct rs_state *s, int h)
{
	u8 opened[RS_DRIVES][PROT_UUID_LEN] = {};
	struct prot_roster found, store;
	const struct rs_host *x = &s->h[h];
	struct prot_attach a = {
		.found = &found, .opened = opened, .host = { h + 1 },
	};
	u8 real = rs_real(s, h);
	struct prot_membership m;
	struct rs_state t;

	a.n = rs_opened(real, opened);
	rs_unpack(&store, &s->s.roster);
	if (s->s.roster.attach)
		a.store = &store;
	rs_attach_facts(s, x, &a);
	if (rs_find(s, real, &found)) {
		int witness = rs_may_note(s, h);

		if (x->again) {		/* the last note that this host can know */
			a.store = &found;
			witness = true;
		}

		for (; witness >= 0; witness--) {
			a.witness = witness;
			if (!prot_membership_begin(&m, &a))
				attach_decided(s, h, &a, &m);
			else if (a.forgotten && witness && prot_mutant == PROT_MUT_NONE &&
				 rs_given_up(s, &a))
				rs_bad = "the plan gives up what the kernel does not";
		}
	}
	t = *s;
	rs_give_up(&t, h);
	rs_reach(&t);
}

static void attach_decide_ro(const struct rs_state *s, int h)
{
	u8 opened[RS_DRIVES][PROT_UUID_LEN] = {};
	struct prot_attach a = { .opened = opened, .host = { h + 1 } };
	const struct rs_host *x = &s->h[h];
	u8 real = rs_real(s, h);
	struct prot_roster found, store;
	struct prot_membership m;
	struct rs_state t = *s;

	a.n = rs_opened(real, opened);
	rs_unpack(&store, &s->s.roster);
	a.found = &found;
	a.store = !x->again && s->s.roster.attach ? &store : NULL;
	rs_attach_facts(s, x, &a);
	if (!rs_find(s, real, &found) || prot_membership_read(&m, &a)) {
		rs_give_up(&t, h);
		rs_reach(&t);
		return;
	}
	rs_keep(&t.h[h], &m);
	t.h[h].phase = RS_ATTACHED;
	rs_reach(&t);
}

/* The kernel's group stops and begins again, under the next restart. */
void rs_begin_again(const struct rs_state *s, int h)
{
	const struct rs_host *x = &s->h[h];
	struct rs_state t = *s;
	struct rs_host *y = &t.h[h];

	if (s->restarts == rs_most.restarts || RS_RESTART(x->number) == 7)
		return;
	t.restarts++;
	rs_close(&t, h);
	y->phase = RS_OPENS;
	y->again = x->again && !rs_may_note(s, h);
	y->number = x->number + 1;
	y->version = x->version;
	y->forgot = x->forgot;
	y->barred = x->barred;
	y->served = x->cur.attach;
	attach_begin(&t, h);
}

/* One at a time where another host may do something in between. */
void rs_opens(const struct rs_state *s, int h)
{
	struct rs_state t = *s;
	struct rs_host *x = &t.h[h];

	if (!x->todo && x->ro) {
		attach_decide_ro(s, h);
		return;
	}
	if (!x->todo) {
		attach_decide(s, h);
		return;
	}
	do {
		int d = __ffs64((u64)x->todo);

		x->todo &= ~(1 << d);
		if (rs_may_take(&t, h, d)) {
			rs_take(&t, h, d);
		} else if (!x->again && RS_ACCESS(t.d[d].number) > RS_ACCESS(x->number)) {
			rs_close(&t, h);	/* fenced for good */
			break;
		}
	} while (x->todo && t.h[!h].phase == RS_IDLE);
	rs_reach(&t);
}
