// SPDX-License-Identifier: GPL-2.0-only
/*
 * A host that attaches the group for reading.
 *
 *   idle -> opens -> rosters read, one by one -> attached (prot_membership_read()) -> idle
 *                                                  | ^
 *                                                  v | opened again what was taken from it
 *
 * It writes nothing: rosters, labels and holders stay as they were.
 */
#include "tests/sim/roster.h"

/* Which extents are reached. */
void roster_ro_begin(const struct state *s, int h)
{
	u8 reachable = ((1 << width) - 1) | s->spared << SPARE;

	for (int i = 0; i < EXTENTS; i++)
		if (roster_freed(s, i))
			reachable &= ~(1 << i);
	if (s->readers == most.readers)
		return;
	for (u8 r = reachable; r; r = (r - 1) & reachable) {
		struct state t = *s;

		t.readers++;
		t.h[h].phase = OPENS;
		t.h[h].ro = 1;
		t.h[h].served = 0;
		t.h[h].todo = r;
		roster_reach(&t);
	}
}

static void ro_decide(struct state *t, int h)
{
	u8 opened[EXTENTS][PROT_UUID_LEN] = {};
	struct prot_roster found;
	struct prot_attach a = { .found = &found, .opened = opened, .host = { h + 1 } };
	struct host *x = &t->h[h];
	struct prot_membership m;

	for (int i = 0; i < EXTENTS; i++)
		if (x->opened >> i & 1)
			opened[a.n++][0] = 1 + i;
	roster_unpack(&found, &x->cur);
	if (!x->cur.attach || prot_membership_read(&m, &a)) {
		roster_release(t, h);
		return;
	}
	roster_keep(x, &m);
	x->phase = ATTACHED;
	/* the driver counts who is here when it begins, not when it has read the rosters */
	if (PROT_MUTANT(R_START))
		x->lost |= x->opened & ~x->has;
	x->opened = 0;
}

/* The roster of the next extent; the one that counts so far is in @cur. */
void roster_ro_read(const struct state *s, int h)
{
	struct prot_roster found, r;
	struct state t = *s;
	struct host *x = &t.h[h];

	do {
		int i = x->todo ? __ffs64((u64)x->todo) : EXTENTS;

		x->todo &= x->todo - 1;
		if (i == EXTENTS || !(x->has >> i & 1))
			continue;
		x->opened |= 1 << i;
		roster_unpack(&found, &x->cur);
		roster_unpack(&r, &t.e[i].roster);
		if (r.attach && (!x->cur.attach || prot_roster_cmp(&r, &found) > 0))
			x->cur = t.e[i].roster;
	} while (x->todo && t.h[!h].phase == IDLE);
	if (!x->todo)
		ro_decide(&t, h);
	roster_reach(&t);
}

/* Extents that a writer has attached since the roster: OPEN said so. */
u8 roster_ro_newer(const struct state *s, int h)
{
	bool knows = s->h[h].phase == ATTACHED && !PROT_MUTANT(R_LABEL);
	u8 newer = 0;

	for (int i = 0; i < EXTENTS && knows; i++)
		if (s->h[h].has >> i & 1 && s->e[i].label > s->h[h].cur.attach)
			newer |= 1 << i;
	return newer;
}

/* It ends, or opens again what was taken from it once no writer has it. */
void roster_ro_attached(const struct state *s, int h)
{
	const struct host *x = &s->h[h], *o = &s->h[!h];
	u8 all = roster_extents(&x->cur, x->cur.in_sync);
	struct state t = *s;

	roster_release(&t, h);
	roster_reach(&t);
	for (int i = 0; i < EXTENTS; i++) {
		if (!(all >> i & 1) || roster_freed(s, i) || x->has >> i & 1 || (!o->ro && o->has >> i & 1))
			continue;
		t = *s;
		roster_take(&t, h, i);
		roster_reach(&t);
	}
}
