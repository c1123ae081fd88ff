// SPDX-License-Identifier: GPL-2.0-only
/* Attach, commit, and what may follow. See membership.h. */
#include <linux/bitops.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/string.h>

#include "driver/uapi/number.h"
#include "protect/roster/membership.h"
#include "protect/mutant.h"

/* The opened members of a roster: by UUID, since a replacement has another. */
static u64 membership_opened(const struct prot_roster *r, const struct prot_attach *a)
{
	u64 members = 0;
	u32 i, n;

	for (i = 0; i < r->geo.width; i++)
		for (n = 0; n < a->n; n++)
			if (!memcmp(r->uuid[i], a->opened[n], PROT_UUID_LEN))
				members |= 1ULL << i;
	return members;
}

/* True: the store is away, so it neither says what it saw nor notes a roster. */
static bool membership_again(const struct prot_attach *a)
{
	return a->numbered && a->again && !PROT_MUTANT(N_AGAIN);
}

/*
 * True: the cluster store saw each removal since @found. The store's roster is of the same
 * attachment or of a later one; of the same one, the store may lack an add, which the caller takes
 * from @found.
 */
static bool membership_store_counts(const struct prot_attach *a)
{
	if (PROT_MUTANT(N_STORE_EPOCH) && prot_roster_cmp(a->store, a->found) < 0)
		return false;
	return a->store->attach >= a->found->attach || PROT_MUTANT(N_STORE_OLD);
}

/*
 * True: the store saw each removal since @found. The host that wrote @found is this one, removals
 * were noted first, and the store is from then or later.
 */
static bool membership_is_witness(const struct prot_attach *a)
{
	if (!a->store || membership_again(a) ||
	    !(a->found->flags & PROT_ROSTER_WITNESS || PROT_MUTANT(R_ANY_STORE)))
		return false;
	if (a->numbered)
		return membership_store_counts(a);
	return !memcmp(a->found->host, a->host, PROT_UUID_LEN) &&
	       !memcmp(a->store->host, a->host, PROT_UUID_LEN) &&
	       prot_roster_cmp(a->store, a->found) >= 0;
}

/* Members no longer in sync have left with this roster. */
static void membership_leave(struct prot_roster *next, u64 members)
{
	u32 i;

	next->in_sync &= ~members;
	for (i = 0; i < next->geo.width; i++)
		if (members >> i & 1)
			next->left[i] = next->epoch;
}

static void membership_propose(struct prot_membership *m)
{
	m->durable = 0;
	m->pending = true;
	m->named |= m->pend.in_sync;
	m->noted |= !!(m->pend.flags & PROT_ROSTER_WITNESS);
}

/* Check that enough members of @base were opened. @may: k or more unopened members are allowed. */
static int membership_enough(const struct prot_roster *base, const struct prot_attach *a, bool may)
{
	u64 opened = membership_opened(base, a);
	u8 k = base->geo.k;

	if (hweight64(base->in_sync & opened) < k)
		return -ENODATA;
	if (hweight64(base->in_sync & ~opened) >= k && !may && !PROT_MUTANT(R_FEW))
		return -ESTALE;
	return 0;
}

/* The members of @r in sync that were neither opened nor forgotten. */
static u64 membership_missing(const struct prot_roster *r, const struct prot_attach *a)
{
	u64 forgotten = a->numbered ? a->forgotten : 0;

	return r->in_sync & ~membership_opened(r, a) & ~forgotten;
}

/*
 * True: only forgotten members are missing, of @found and of the store's roster, and all others are
 * opened, so data is given up that was given up before. One forgotten member must not admit a copy
 * that lacks writes on another one.
 */
static bool membership_given_up(const struct prot_attach *a)
{
	if (!a->numbered || !a->forgotten || membership_enough(a->found, a, true))
		return false;
	if (PROT_MUTANT(N_FORGET_ANY))
		return true;
	/* one that is away may have a higher roster than those found */
	if (a->n + hweight64(a->forgotten) < a->found->geo.width && !PROT_MUTANT(N_FORGET_AWAY))
		return false;
	if (membership_missing(a->found, a))
		return false;
	return !a->store || prot_roster_cmp(a->store, a->found) <= 0 ||
	       !membership_missing(a->store, a) || PROT_MUTANT(N_FORGET_FOUND);
}

/* The first roster of an attachment: number and flags. */
static void membership_number(struct prot_roster *pend, const struct prot_attach *a)
{
	u8 k = pend->geo.k;

	pend->attach = a->numbered ? a->number : a->highest + 1;
	if (a->numbered && PROT_MUTANT(N_RESTART))
		pend->attach = mesh_number_access(pend->attach);
	/* an earlier try of this attachment, with other members, may have been noted alone */
	if (a->numbered && a->store)
		pend->epoch = max(pend->epoch, a->store->epoch);
	pend->epoch++;
	memcpy(pend->host, a->host, PROT_UUID_LEN);
	pend->flags &= PROT_ROSTER_AUTONOMOUS;
	if (membership_again(a) || (a->numbered && a->beside_store && !PROT_MUTANT(N_BESIDE)))
		return;
	if (a->witness && !pend->flags && k <= pend->geo.width - k)
		pend->flags = PROT_ROSTER_WITNESS;
}

int prot_membership_begin(struct prot_membership *m, const struct prot_attach *a)
{
	bool witness = membership_is_witness(a);
	/* the cluster's store may be behind @found by adds */
	bool behind = witness && a->numbered && prot_roster_cmp(a->store, a->found) < 0;
	const struct prot_roster *base = witness && !behind ? a->store : a->found;
	/*
	 * A store that speaks for unopened members has to note the new roster as well. Otherwise it
	 * would let the next attach begin with those members alone.
	 */
	int err = membership_enough(base, a, witness && a->witness);
	u8 k = base->geo.k;

	if (a->numbered && a->found->attach > a->number)
		return -EEXIST;
	if (err && membership_given_up(a)) {
		base = a->found;
		err = a->witness ? 0 : -EAGAIN;
	}
	if (err && a->stale) {
		base = a->found;
		err = membership_enough(base, a, true);
		/*
		 * unnoted, a roster on the members given up could make the store speak for these
		 * alone
		 */
		if (!err && !a->witness && k <= base->geo.width - k && !PROT_MUTANT(R_STALE))
			err = -EAGAIN;
	}
	if (err)
		return err;
	memset(m, 0, sizeof(*m));
	m->cur = *base;
	m->pend = *base;
	m->held = k;
	m->numbered = a->numbered;
	m->relies = a->numbered && !PROT_MUTANT(N_RELIES) &&
		    membership_enough(a->found, a, false) != 0;
	m->barred = a->barred;
	membership_number(&m->pend, a);
	membership_leave(&m->pend, base->in_sync & ~membership_opened(base, a));
	membership_propose(m);
	return 0;
}

int prot_membership_read(struct prot_membership *m, const struct prot_attach *a)
{
	const struct prot_roster *r = a->found;
	bool stale = a->stale || PROT_MUTANT(R_READ_FEW);
	/*
	 * no member is given up here: one that was catching up may have writes that are not
	 * recovered
	 */
	bool may = stale || (PROT_MUTANT(N_READ_FORGOTTEN) && membership_given_up(a));
	int err = membership_enough(r, a, may);
	u8 k = r->geo.k, n = hweight64(r->in_sync);
	bool all = r->flags & PROT_ROSTER_WITNESS || (a->numbered && !PROT_MUTANT(N_READ_FLAG));

	if (a->numbered && mesh_number_access(r->attach) > mesh_number_access(a->number))
		return -EEXIST;
	if (!err && !(r->flags & PROT_ROSTER_CLEAN) && !PROT_MUTANT(R_UNCLEAN))
		err = -EUCLEAN;
	if (err)
		return err;
	memset(m, 0, sizeof(*m));
	m->cur = *r;
	m->held = k;
	if (all && !may && !PROT_MUTANT(R_HELD_K))
		m->held = max_t(u8, k, n - k + 1);
	m->named = m->cur.in_sync;
	m->serving = true;
	return 0;
}

bool prot_membership_must_wait(const struct prot_attach *a)
{
	const struct prot_roster *r = a->found;
	u64 members = (1ULL << r->geo.width) - 1;

	/* no other host has attached since, and a reader attaches clean rosters only */
	if (a->served && a->served == r->attach &&
	    (!(r->flags & PROT_ROSTER_CLEAN) || PROT_MUTANT(R_DEAD_CLEAN)))
		return false;
	if (PROT_MUTANT(R_DEAD) ||
	    (PROT_MUTANT(R_DEAD_HOST) && !memcmp(r->host, a->host, PROT_UUID_LEN)))
		return false;
	if (PROT_MUTANT(R_DEAD_SYNC))
		members = r->in_sync;
	/* extents of the layout, which may not be the members of the roster found */
	if (PROT_MUTANT(N_DEAD) && a->n >= r->geo.width)
		return false;
	return members & ~membership_opened(r, a);
}

/* The next roster follows a pending one; the first one changes the committed one. */
static void membership_next(struct prot_membership *m)
{
	if (!m->pending)
		m->pend = m->cur;
	m->pend.epoch++;
	m->pend.flags &= ~PROT_ROSTER_CLEAN;
}

/* All changes but removals change the committed roster, one at a time. */
static int membership_change(struct prot_membership *m)
{
	if (!m->serving || m->pending)
		return -EBUSY;
	membership_next(m);
	return 0;
}

/* Places in sync before and after, with another extent in the pending roster. */
static u64 membership_swapped(const struct prot_membership *m)
{
	u64 places = 0;
	u32 i;

	for (i = 0; m->pending && i < m->cur.geo.width; i++)
		if ((m->cur.in_sync & m->pend.in_sync) >> i & 1 &&
		    memcmp(m->cur.uuid[i], m->pend.uuid[i], PROT_UUID_LEN))
			places |= 1ULL << i;
	return places;
}

int prot_membership_remove(struct prot_membership *m, u64 members)
{
	u64 swapped = PROT_MUTANT(R_SWAP_KEEP) ? 0 : membership_swapped(m);
	const struct prot_roster *last = m->pending ? &m->pend : &m->cur;
	u64 left = last->in_sync & ~members;

	if (!m->serving || (m->pending && m->pend.flags & PROT_ROSTER_CLEAN))
		return -EBUSY;
	/* A member with an uncommitted add has to be added again. */
	if (!PROT_MUTANT(R_KEEP))
		left &= m->cur.in_sync;
	if (!PROT_MUTANT(R_KEEP_FEW) && hweight64(left & ~swapped) < m->cur.geo.k)
		return -EBUSY;
	/* members removed by an uncommitted roster leave with this one, which the engine gets */
	members = (last->in_sync | m->cur.in_sync) & ~left;
	membership_next(m);
	membership_leave(&m->pend, members);
	membership_propose(m);
	return 0;
}

/* True: the layout is about to give @place to another extent. */
static bool membership_bars(const struct prot_membership *m, u32 place)
{
	return m->barred >> place & 1 && !PROT_MUTANT(N_BAR);
}

int prot_membership_add(struct prot_membership *m, u32 member)
{
	if (membership_bars(m, member) || membership_change(m))
		return -EBUSY;
	m->pend.in_sync |= 1ULL << member;
	membership_propose(m);
	return 0;
}

int prot_membership_replace(struct prot_membership *m, u32 member, const u8 *uuid)
{
	if (m->cur.in_sync >> member & 1 || membership_change(m))
		return -EBUSY;
	memcpy(m->pend.uuid[member], uuid, PROT_UUID_LEN);
	m->pend.left[member] = m->pend.epoch;
	membership_propose(m);
	return 0;
}

int prot_membership_swap(struct prot_membership *m, u32 member, const u8 *uuid)
{
	u64 others = m->cur.in_sync & ~(1ULL << member);

	if (others == m->cur.in_sync || membership_bars(m, member) ||
	    (hweight64(others) < m->cur.geo.k && !PROT_MUTANT(R_SWAP_LAST)) || membership_change(m))
		return -EBUSY;
	memcpy(m->pend.uuid[member], uuid, PROT_UUID_LEN);
	membership_propose(m);
	return 0;
}

int prot_membership_witness(struct prot_membership *m, bool on)
{
	if (m->cur.flags & PROT_ROSTER_AUTONOMOUS || membership_change(m))
		return -EBUSY;
	if (on)
		m->pend.flags |= PROT_ROSTER_WITNESS;
	else
		m->pend.flags &= ~PROT_ROSTER_WITNESS;
	membership_propose(m);
	return 0;
}

int prot_membership_witness_due(const struct prot_membership *m, const struct prot_witness *w)
{
	bool is = m->cur.flags & PROT_ROSTER_WITNESS;
	u8 k = m->cur.geo.k;

	if (!m->numbered || !m->serving || m->pending || k > m->cur.geo.width - k ||
	    m->cur.flags & PROT_ROSTER_AUTONOMOUS)
		return 0;
	if (is && (w->away || w->beside_store))
		return m->cur.in_sync & ~w->here ? 0 : -1;
	return !is && !w->away && w->noted && !w->beside_store;
}

u64 prot_membership_barred(const struct prot_membership *m)
{
	return m->pending && !PROT_MUTANT(N_BAR_EARLY) ? 0 : m->barred;
}

int prot_membership_clean(struct prot_membership *m)
{
	if (membership_change(m))
		return -EBUSY;
	m->pend.flags |= PROT_ROSTER_CLEAN;
	membership_propose(m);
	return 0;
}

bool prot_membership_must_note(const struct prot_membership *m)
{
	bool begins = !m->serving || !(m->cur.flags & PROT_ROSTER_WITNESS);
	u64 swapped = PROT_MUTANT(R_SWAP_NOTE) ? 0 : membership_swapped(m);
	u64 members = m->cur.in_sync;

	/*
	 * A member of an add that is not committed may have that roster, which is above what this
	 * store notes last, and so would be the base.
	 */
	if (m->numbered && !PROT_MUTANT(N_NOTE_NAMED))
		members |= m->named;

	if (!m->pending)
		return false;
	if (begins && m->pend.flags & PROT_ROSTER_WITNESS)
		return true;
	if (!m->serving && m->relies)
		return true;
	return m->noted && (members & ~m->pend.in_sync || swapped) && !PROT_MUTANT(R_ALONE);
}

u64 prot_membership_unwritten(const struct prot_membership *m)
{
	u64 left = m->pend.in_sync & ~m->durable, added;

	if (!m->pending)
		return 0;
	if (!m->numbered || !m->serving || PROT_MUTANT(N_ADD_ORDER))
		return left;
	added = (m->pend.in_sync & ~m->cur.in_sync) | membership_swapped(m);
	return left & ~added ? left & ~added : left;
}

bool prot_membership_written(struct prot_membership *m, u64 members)
{
	u64 swapped = PROT_MUTANT(R_SWAP_COMMIT) ? membership_swapped(m) : 0;

	m->durable |= members;
	if (!m->pending ||
	    (m->pend.in_sync & ~m->durable & ~swapped && !PROT_MUTANT(R_COMMIT)))
		return false;
	m->cur = m->pend;
	m->pending = false;
	m->serving = true;
	m->named = m->cur.in_sync;
	m->noted = m->cur.flags & PROT_ROSTER_WITNESS;
	return true;
}

u64 prot_membership_readers(const struct prot_membership *m)
{
	u64 members = m->cur.in_sync;

	if (m->pending && !PROT_MUTANT(R_READ_OLD))
		members &= m->pend.in_sync;
	if (!PROT_MUTANT(R_SWAP_READ))
		members &= ~membership_swapped(m);
	return m->serving ? members : 0;
}

u64 prot_membership_heard(const struct prot_membership *m)
{
	u64 members = m->cur.in_sync;

	/* an earlier roster that was begun may be on the member that it adds, and count there */
	if (m->numbered && m->pending && !PROT_MUTANT(N_HELD_ADD))
		members |= PROT_MUTANT(N_HELD_NAMED) ? m->pend.in_sync : m->named;
	return m->serving ? members : 0;
}

u8 prot_membership_held(const struct prot_membership *m)
{
	u32 flags = m->cur.flags;
	u8 k = m->cur.geo.k;

	if (m->numbered && m->pending && !PROT_MUTANT(N_HELD_CUR))
		flags |= m->pend.flags;
	if (!m->numbered || !(flags & PROT_ROSTER_WITNESS) || PROT_MUTANT(N_HELD_K))
		return m->held;
	return max_t(u8, m->held, hweight64(prot_membership_heard(m)) - k + 1);
}

u64 prot_membership_writers(const struct prot_membership *m)
{
	if (PROT_MUTANT(R_WRITE_NEW) && m->pending)
		return m->pend.in_sync;
	return m->cur.in_sync | (m->pending ? m->named : 0);
}
