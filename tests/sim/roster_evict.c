// SPDX-License-Identifier: GPL-2.0-only
/*
 * A member in sync whose place another extent takes.
 *
 *   copied to the spare --> both get each write --> nothing at the place --> roster durable
 *            |                       |                                            |
 *            '------ it fails: as if it had never been <-'          the one before is freed
 *
 * The copy is one step: what of it is in flight is ordered by the driver, a chunk at a time.
 */
#include <string.h>

#include "tests/sim/roster.h"

#define FREED	0xff	/* label of an extent that is no more */

/* The place of a member whose extent changes, or that is lost then, with what is pending. */
static u32 evict_swapped(const struct host *x)
{
	u32 i = x->pend.spare;

	return x->pending && i < width && x->cur.spare == NONE && x->cur.in_sync >> i & 1 ?
	       i : NONE;
}

/* Extents that get no write now: those of a place that is swapped. */
u8 roster_evict_held(const struct host *x)
{
	u32 i = evict_swapped(x);

	if (i == NONE)
		return 0;
	return PROT_MUTANT(R_SWAP_WRITE) ? 1 << i : 1 << i | 1 << SPARE;
}

/* Extents that a write needs beyond the rosters' members. */
u8 roster_evict_writers(const struct host *x)
{
	return x->twin < width && !PROT_MUTANT(R_SWAP_BOTH) ? 1 << SPARE : 0;
}

bool roster_freed(const struct state *s, int extent)
{
	return s->e[extent].label == FREED;
}

static void evict_free(struct state *s, int i)
{
	memset(&s->e[i], 0, sizeof(s->e[i]));
	s->e[i].label = FREED;
	for (int h = 0; h < 2; h++) {
		s->h[h].has &= ~(1 << i);
		s->h[h].lost &= ~(1 << i);
	}
}

/* What counts if all is found must not name what was freed, and all that it names has a roster. */
const char *roster_evict_check(const struct state *s)
{
	struct prot_roster best, r;
	const struct packed *top = NULL;
	int freed = -1;
	u8 named;

	for (int i = 0; i < EXTENTS; i++) {
		if (roster_freed(s, i))
			freed = i;
		if (!s->e[i].roster.attach)
			continue;
		roster_unpack(&r, &s->e[i].roster);
		if (top && prot_roster_cmp(&r, &best) <= 0)
			continue;
		best = r;
		top = &s->e[i].roster;
	}
	if (freed < 0 || !top)
		return NULL;
	named = roster_extents(top, top->in_sync);
	if (named >> freed & 1)
		return "a member in sync is freed";
	for (int i = 0; i < EXTENTS; i++)
		if (named >> i & 1 && !s->e[i].roster.attach)
			return "what took the place of a member that is freed has no roster";
	return NULL;
}

/* The spare is opened for this host, noted, and given all that the member has. */
static void evict_copy(const struct state *s, int h, u32 i)
{
	struct state t = *s;
	struct host *x = &t.h[h];

	if (s->e[SPARE].holder == 2 - h || s->e[SPARE].label > x->cur.attach || !(x->has >> i & 1))
		return;
	roster_take(&t, h, SPARE);
	t.spared = 1;
	t.e[SPARE].label = x->cur.attach;
	if (!PROT_MUTANT(R_SWAP_WHOLE))
		t.e[SPARE].writes = t.e[i].writes;
	if (x->landed >> i & 1)
		x->landed |= 1 << SPARE;
	x->twin = i;
	roster_reach(&t);
}

/* What was sent to the place has ended on both. */
static void evict_swap(const struct state *s, int h)
{
	static const u8 spare[PROT_UUID_LEN] = { 1 + SPARE };
	const struct host *x = &s->h[h];
	struct prot_membership m;
	struct state t = *s;
	u32 i = x->twin;

	if (x->write && (x->landed >> i & 1) != (x->landed >> SPARE & 1))
		return;
	roster_load(&m, x);
	if (prot_membership_swap(&m, i, spare))
		return;
	roster_keep(&t.h[h], &m);
	t.h[h].unnoted = prot_membership_must_note(&m);
	if (PROT_MUTANT(R_SWAP_FREE))
		evict_free(&t, i);
	roster_reach(&t);
}

void roster_evict(const struct state *s, int h)
{
	const struct host *x = &s->h[h];
	u32 i = x->cur.spare;
	struct state t;

	if (i < width && x->cur.in_sync >> i & 1 && !roster_freed(s, i) && s->evicts) {
		t = *s;
		evict_free(&t, i);
		roster_reach(&t);
	}
	if (x->twin < width && !x->pending) {
		evict_swap(s, h);
		t = *s;
		t.h[h].twin = NONE;
		roster_acked(&t, h);
		roster_reach(&t);
	}
	if (s->evicts == most.evicts || s->spared || x->pending || x->twin != NONE)
		return;
	t = *s;
	t.evicts++;
	for (i = 0; i < width; i++)
		if (x->cur.in_sync >> i & 1)
			evict_copy(&t, h, i);
}
