// SPDX-License-Identifier: GPL-2.0-only
/* What must never be read, and what must always be possible. */
#include <string.h>

#include "tests/sim/roster_store.h"

/* Places of which each extent, of the rosters that count, is heard, as the host believes. */
static u8 check_here(const struct rs_host *x, u64 places)
{
	u8 here = 0;

	for (u32 i = 0; i < rs_width; i++) {
		u8 drives = 0;

		if (!(places >> i & 1))
			continue;
		if (x->cur.in_sync >> i & 1)
			drives |= rs_drives(&x->cur, 1 << i);
		if (x->pending && (x->pend.in_sync | x->named) >> i & 1)
			drives |= rs_drives(&x->pend, 1 << i);
		if (!(drives & ~x->has))
			here |= 1 << i;
	}
	return here;
}

/* Drives that may be read now. */
static u8 check_readable(const struct rs_state *s, int h)
{
	const struct rs_host *x = &s->h[h];
	struct prot_membership m;

	if (x->phase != RS_ATTACHED || !x->serving)
		return 0;
	rs_load(&m, x);
	if (hweight64(check_here(x, prot_membership_heard(&m))) < prot_membership_held(&m))
		return 0;
	return rs_drives(&x->cur, prot_membership_readers(&m)) & rs_real(s, h);
}

/*
 * Drive 0 and the store go at once with their host: the other one, which has all members, has to go
 * on by itself.
 */
static void check_beside(const struct rs_state *s)
{
	const struct rs_host *x = &s->h[1];
	struct prot_membership m;

	if (!rs_most.beside || x->phase != RS_ATTACHED || !x->serving || x->pending || x->ro ||
	    x->cur.in_sync != (1 << rs_width) - 1)
		return;
	rs_load(&m, x);
	if (!prot_membership_remove(&m, 1) && prot_membership_must_note(&m))
		rs_bad = "writes wait for ever, as a member and the store are lost with one host";
}

void rs_check(const struct rs_state *s)
{
	for (int h = 0; h < 2; h++) {
		u8 may = check_readable(s, h);

		for (int d = 0; may && d < RS_DRIVES; d++) {
			if (!(may >> d & 1))
				continue;
			if (s->acked & ~s->d[d].writes)
				rs_bad = s->h[h].ro ? "a reader reads old data" : "a stale read";
			if (s->dropped & s->d[d].writes)
				rs_bad = "a write is read again that a recovery had dropped";
			if (s->h[h].ro && s->d[d].writes & ~s->acked & ~s->abandoned)
				rs_bad = "a write is read before it is recovered";
		}
	}
	check_beside(s);
}

/*
 * All is repaired but the drives that are @lost: an attach succeeds, and all that was acknowledged
 * is there.
 */
static const char *check_repaired(const struct rs_state *s, u8 lost)
{
	u8 opened[RS_DRIVES][PROT_UUID_LEN] = {}, real, in_sync;
	struct prot_attach a = { .opened = opened, .witness = true };
	struct prot_roster found, store;
	struct prot_membership m;
	struct rs_state t = *s;
	struct rs_roster first;

	rs_close(&t, 0);
	rs_close(&t, 1);
	if (t.back && !rs_recover(&t, ((1 << RS_DRIVES) - 1) & ~lost))
		return "recover refuses, though all drives are there";
	if (!rs_txn_attach(&t, 0))
		return "an attach is refused by the store";
	for (u32 i = 0; i < rs_width; i++) {	/* agents write the records that are missing */
		struct rs_drive *d = &t.d[rs_layout(&t, t.s.version, i)];

		d->record = d->record < t.s.version ? t.s.version : d->record;
	}
	real = rs_wanted(&t, t.h[0].version, t.h[0].forgot, true) & ~lost;
	for (int d = 0; d < RS_DRIVES; d++)
		if (real >> d & 1 && !rs_may_take(&t, 0, d))
			real &= ~(1 << d);
	a.n = rs_opened(real, opened);
	a.found = &found;
	a.store = t.s.roster.attach ? &store : NULL;
	rs_unpack(&store, &t.s.roster);
	rs_attach_facts(&t, &t.h[0], &a);
	if (!rs_find(&t, real, &found))
		return "no roster is found";
	if (prot_membership_begin(&m, &a))
		return lost ? "no more than m members are lost, and the attach is refused" :
			      "all is repaired, and the attach is refused";
	first = rs_pack(&m.pend);
	in_sync = rs_drives(&first, first.in_sync);
	for (int d = 0; d < RS_DRIVES; d++) {
		if (in_sync >> d & 1 && t.acked & ~t.d[d].writes)
			return "all is repaired, and a member lacks an acknowledged write";
		if (in_sync >> d & 1 && t.dropped & t.d[d].writes)
			return "all is repaired, and a write is back that was dropped";
	}
	return NULL;
}

/*
 * True: a witness, and the highest roster has all members and is on all of them, so any m may be
 * lost.
 */
static bool check_whole(const struct rs_state *s)
{
	u8 all = ((1 << RS_DRIVES) - 1) & ~s->forgot, in_sync;
	struct prot_roster best, store;
	struct rs_roster r;

	if (s->back || !rs_find(s, all, &best))
		return false;
	rs_unpack(&store, &s->s.roster);
	if (s->s.roster.attach && prot_roster_cmp(&store, &best) > 0)
		best = store;
	if (best.in_sync != (1 << rs_width) - 1U)
		return false;
	if (rs_k <= rs_width - rs_k && (!(best.flags & PROT_ROSTER_WITNESS) || !s->s.roster.attach))
		return false;
	r = rs_pack(&best);
	in_sync = rs_drives(&r, r.in_sync);
	for (int d = 0; d < RS_DRIVES; d++)
		if (in_sync >> d & 1 && memcmp(&s->d[d].roster, &r, sizeof(r)))
			return false;
	return true;
}

void rs_check_progress(const struct rs_state *s)
{
	const char *why = check_repaired(s, 0);

	if (!why && check_whole(s))
		for (u8 lost = 1; !why && lost < 1 << RS_DRIVES; lost++)
			if (hweight64(lost | s->forgot) <= rs_width - rs_k)
				why = check_repaired(s, lost);
	if (why)
		rs_bad = why;
}
