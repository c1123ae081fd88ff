/* SPDX-License-Identifier: GPL-2.0-only */
/* What the hosts of replace_world.h do, step by step; replace.c, change.c, bring.c, extents.c. */
#ifndef TESTS_UNIT_REPLACE_HOSTS_H
#define TESTS_UNIT_REPLACE_HOSTS_H

#include "replace_world.h"

/* Members of the store's layout that this kernel goes on without. */
static bool goes_without(const struct world *w, const struct host *h, u8 x)
{
	return h->up && h->kern == h->store + 1 && !(w->in_sync >> x & 1);
}

static void idle(struct host *h)
{
	h->step = IDLE;
	h->i = h->target = h->member = h->spare = h->undo = h->preempt = h->stale = h->see = 0;
	memset(h->saw, 0, sizeof(h->saw));
}

/* replace.c, replace_member(): the intent, the extent, which is zeroed at once. */
static bool replace(struct world *w, u8 n)
{
	struct host *h = &w->h[n];
	u8 i, x;

	if (!w->replaces || h->pending || !h->up || h->kern != h->store + 1)
		return false;
	for (i = 0; i < width && !goes_without(w, h, w->l[h->store].m[i]); i++)
		;
	for (x = 0; x < EXT && (w->e[x].is || w->e[x].where != HERE); x++)
		;
	if (i == width || x == EXT)
		return false;
	w->replaces--;
	h->intents |= BIT8(x);
	w->e[x].is = 1;
	h->member = i;
	h->spare = x;
	h->step = NOTE;
	return true;
}

/* volume.c, extend_by(): all members are there; no extent is new here, but the record is. */
static bool extend(struct world *w, u8 n)
{
	struct host *h = &w->h[n];

	if (!w->extends || h->pending || !h->up || h->kern != h->store + 1 || w->l[h->store].grown)
		return false;
	for (u8 i = 0; i < width; i++)
		if (goes_without(w, h, w->l[h->store].m[i]))
			return false;
	w->extends--;
	h->member = width;
	h->step = BEGIN;
	return true;
}

/* note_both(), then volume_swap(). */
static bool begin(struct world *w, u8 n)
{
	struct host *h = &w->h[n];
	struct lay next = w->l[h->store];
	struct muuid me = world_uuid(3, n + 1);
	bool extends = h->member == width;
	enum truth_next is;
	struct truth_pick p;
	struct truth t;
	int k;

	world_gather(w, h);
	t = world_truth(w, h, true);
	p = truth_pick(&t);
	if (extends)
		next.grown = 1;
	else
		next.m[h->member] = h->spare;
	if (!h->undo)
		next.late = 0;
	for (u8 i = 0; i < width; i++) {
		u8 bit = BIT8(i), x = w->l[h->store].m[i];

		if (h->undo ? h->up || h->stale : !extends && goes_without(w, h, x))
			next.late |= h->undo && h->up && !h->stale && w->in_sync >> x & 1 ? 0 : bit;
		if (i == h->member || (h->see >> x & 1 && !(lagging(&t, h->store) & bit)))
			next.late &= ~bit;
		if (!(h->see >> next.m[i] & 1) && i != h->member && !(next.late & bit)) {
			idle(h);
			return true;
		}
	}
	if (truth_held(&t, &object[h->store], &me) >= 0 || !p.layout || index_of(p.layout) != h->store) {
		idle(h);
		return true;
	}
	is = truth_next(&t, &p);
	if (is != TRUTH_SAME && (is != TRUTH_LATE || extends) && !h->undo) {
		idle(h);
		return true;
	}
	k = world_layout(w, &next, h->undo ? w->l[h->store].base : h->store, truth_version(&t));
	if (k < 0)
		return false;
	h->pending = k + 1;
	h->target = k;
	h->i = 0;
	h->step = PUT_OLD;
	return true;
}

static bool objects(const struct world *w, const struct host *h, u8 top, u8 x)
{
	struct truth t = world_truth(w, h, true);
	struct muuid extent = world_uuid(2, x + 1);

	return truth_objects(&t, &object[top], &extent);
}

/* The records of put_records(), one in a step. @late: it is in flight when the host gives up. */
static bool put_next(struct world *w, u8 n, bool late)
{
	struct host *h = &w->h[n];
	const struct lay *l = &w->l[h->target];
	bool fresh = h->step == PUT_NEW || h->step == AGREE_NEW || h->step == FRESH;
	bool change = h->step == PUT_OLD || h->step == PUT_NEW;

	for (; h->i < width; h->i++) {
		u8 x = l->m[h->i];
		bool saw = h->see >> x & 1;

		if (!saw && (h->step == FRESH || l->late >> h->i & 1))
			continue;
		if (!saw)
			break;
		/* What objects to a record that is discarded comes last. */
		if (h->step == AGREE_OLD && h->member && objects(w, h, h->member - 1, x) == !h->spare)
			continue;
		if (fresh == !h->saw[x].version && h->saw[x].commit != h->target + 1)
			break;
	}
	if (h->i == width && h->member && !h->spare && h->step == AGREE_OLD) {
		h->i = 0;
		h->spare = 1;
		return !late;
	}
	if (h->i == width) {
		h->i = 0;
		if (h->step >= FRESH)
			h->member = h->spare = 0;
		h->step = h->step == PUT_OLD ? PUT_NEW : h->step == PUT_NEW ? COMMIT :
			  h->step == AGREE_OLD ? AGREE_NEW : BRING;
		return !late;
	}
	if (late) {
		if (w->late.there || !w->lates)
			return false;
		w->lates--;
		w->late = (struct in_flight) { 1, l->m[h->i], h->target, n + 1, h->saw[l->m[h->i]] };
	} else if (h->see >> l->m[h->i] & 1 &&
		   world_put(w, n + 1, l->m[h->i], h->target, &h->saw[l->m[h->i]])) {
		h->i++;
		return true;
	}
	if (change)
		h->step = SETTLE;
	else
		idle(h);
	return true;
}

/* replaced(): by the latest record that differs in one member, which is there; -1: none. */
static int replaced(const struct world *w, struct host *h, u8 *member)
{
	struct truth t;
	int at = -1, m;
	u64 best = 0;

	world_gather(w, h);
	t = world_truth(w, h, true);
	for (u32 k = 0; k < t.records; k++) {
		m = truth_swapped(t.record[k], &object[h->store]);
		if (m < 0 || t.record[k]->version <= best)
			continue;
		for (u8 x = 0; x < EXT; x++) {
			if (!(h->see & ~layout_set(&w->l[h->store]) & BIT8(x)) ||
			    w->l[index_of(t.record[k])].m[m] != x)
				continue;
			best = t.record[k]->version;
			at = x;
			*member = m;
		}
	}
	return at;
}

/* VOLUME_SET: the kernel keeps a member that has all writes. */
static bool refuses(const struct world *w, const struct host *h)
{
	return h->up && layout_set(&w->l[h->kern - 1]) & ~layout_set(&w->l[h->store]) & w->in_sync;
}

/* replace_undo(). @unused: only of a new one that no kernel has served with. */
static void undo_replace(struct world *w, u8 n, bool unused)
{
	struct host *h = &w->h[n];
	u8 member = 0, stale = h->stale, x;
	int was = replaced(w, h, &member);

	x = w->l[h->store].m[member];
	idle(h);
	if (was < 0 || (unused && !stale && (!w->e[x].is || w->e[x].where != HERE)) ||
	    (unused && w->e[x].where == HERE && w->e[x].served))
		return;
	h->member = member;
	h->spare = was;
	h->undo = 1;
	h->stale = stale;
	h->step = NOTE;
}

/* Where the kernel refuses, the member that was replaced comes back. */
static void to_kernel(struct world *w, u8 n)
{
	struct host *h = &w->h[n];

	if (refuses(w, h)) {
		undo_replace(w, n, false);
		return;
	}
	if (h->wants && h->up)
		h->kern = h->store + 1;
	idle(h);
}

static void commit(struct world *w, u8 n)
{
	struct host *h = &w->h[n];

	h->store = h->pending - 1;
	h->pending = 0;
	h->intents &= ~layout_set(&w->l[h->store]);
	h->step = KERNEL;
}

static u64 later(u64 a, u64 b)
{
	return a > b ? a : b;
}

/* Members that went since a change was begun, and that this kernel goes on without. */
static u8 leave_out(const struct world *w, u8 n, const struct truth *t)
{
	const struct host *h = &w->h[n];
	const struct lay *next = &w->l[h->pending - 1];
	struct muuid me = world_uuid(3, n + 1);
	u8 gone = 0;

	if (truth_held(t, &object[h->store], &me) >= 0)
		return 0;
	for (u8 i = 0; i < width; i++) {
		u8 x = next->m[i];

		if (!(next->late >> i & 1) && !(h->see >> x & 1) && x == w->l[h->store].m[i] &&
		    goes_without(w, h, x))
			gone |= BIT8(i);
	}
	return gone;
}

static bool fence_begin(struct world *w, struct host *h, const struct truth *t, u8 gone)
{
	struct lay x = w->l[h->store];
	int swapped = truth_swapped(&object[h->store], &object[h->pending - 1]), k;

	x.late = unseen(h, &x);
	if (x.late & ~(w->l[h->pending - 1].late | gone) & ~(swapped < 0 ? 0 : BIT8(swapped))) {
		idle(h);
		return true;
	}
	x.late |= lagging(t, h->store);
	k = world_layout(w, &x, h->store, later(truth_version(t), w->l[h->pending - 1].version) + 1);
	h->target = k;
	h->i = 0;
	h->step = FENCE;
	return k >= 0;
}

/* Beyond the change, by an undo of it that this host began. */
static bool half_undone(const struct world *w, u8 n, const struct label *s)
{
	const struct lay *old = &w->l[w->h[n].store], *l = &w->l[s->commit - 1];

	return s->holder == n + 1 && l->grown == old->grown && !memcmp(l->m, old->m, sizeof(l->m));
}

static bool fence_next(struct world *w, u8 n)
{
	struct host *h = &w->h[n];
	const struct lay *l = &w->l[h->store], *next = &w->l[h->pending - 1];
	u8 done = 0;

	for (; h->i < width; h->i++) {
		const struct label *s = &h->saw[l->m[h->i]];

		if (!(h->see >> l->m[h->i] & 1) || (s->holder && s->holder != n + 1) ||
		    (s->version > next->version && !half_undone(w, n, s)) ||
		    (s->version == next->version && s->commit != h->pending))
			continue;
		if (s->commit == h->target + 1)
			continue;
		if (world_put(w, n + 1, l->m[h->i], h->target, s))
			h->i++;
		else
			idle(h);
		return true;
	}
	for (u8 i = 0; i < width; i++)
		done |= w->e[l->m[i]].commit == h->target + 1 ? 0 : BIT8(i);
	if (!(done & ~w->l[h->target].late)) {
		h->store = h->target;
		h->kern = h->up && h->wants && !refuses(w, h) ? h->store + 1 : h->kern;
	}
	h->pending = 0;
	idle(h);
	return true;
}

/* change.c: judge_pending(), and undo() with @by_hand. @next: what is left out is late. */
static enum truth_pending judge_pending(const struct world *w, u8 n, const struct truth *t,
					const struct layout *next, bool gone, u8 by_hand)
{
	const struct host *h = &w->h[n];
	const struct layout *old = &object[h->store];
	struct muuid me = world_uuid(3, n + 1);
	enum truth_pending how = truth_pending(t, old, next);
	enum truth_undo may = truth_undo(t, old, next, &me);
	int at = truth_swapped(old, next);

	if (by_hand)
		return may == UNDO_FREE || (may == UNDO_USED && by_hand > 1) ? PENDING_DROP :
		       PENDING_WAIT;
	if (how == PENDING_DROP || (!gone && (at < 0 || h->see >> w->l[h->pending - 1].m[at] & 1)))
		return how;
	return may == UNDO_FREE ? PENDING_DROP : gone ? PENDING_WAIT : how;
}

/* change.c: settle(), and undo() with @by_hand. */
static bool settle(struct world *w, u8 n, u8 by_hand)
{
	struct host *h = &w->h[n];
	static struct layout next;
	enum truth_pending how;
	struct truth t;
	u8 gone;

	world_gather(w, h);
	t = world_truth(w, h, false);
	if (by_hand && bits(h->see & layout_set(&w->l[h->store])) < needs) {
		idle(h);
		return true;
	}
	gone = by_hand ? unseen(h, &w->l[h->pending - 1]) : leave_out(w, n, &t);
	next = object[h->pending - 1];
	for (u8 i = 0; i < width; i++)
		next.member[i].late |= gone >> i & 1 && w->l[h->pending - 1].m[i] == w->l[h->store].m[i];
	how = judge_pending(w, n, &t, &next, gone, by_hand);
	h->target = h->pending - 1;
	h->i = 0;
	if (how == PENDING_DROP)
		return fence_begin(w, h, &t, gone);
	if (how == PENDING_COMPLETE)
		h->step = PUT_OLD;
	else
		idle(h);
	return true;
}

/* extents.c: intents_undo(), of a volume that is LIVE. */
static void undo_intents(struct world *w, u8 n)
{
	struct host *h = &w->h[n];
	const struct label never = { 0 };
	struct truth t;

	world_gather(w, h);
	t = world_truth(w, h, false);
	for (u8 i = 0; i < width; i++) {
		u8 x = w->l[h->store].m[i];

		if (!(h->see >> x & 1) && !goes_without(w, h, x)) {
			idle(h);
			return;
		}
	}
	for (u8 x = 0; x < EXT; x++) {
		struct muuid extent = world_uuid(2, x + 1);

		if (!(h->intents >> x & 1) || w->e[x].where == AWAY)
			continue;
		if (truth_half_made(&t, &extent))
			continue;
		if (w->e[x].where == DEAD || world_free(w, n + 1, x, &never)) {
			h->notes &= ~BIT8(x);
			h->intents &= ~BIT8(x);
		} else if (w->e[x].version || w->e[x].holder) {
			h->intents &= ~BIT8(x);
			w->leak |= !(h->notes >> x & 1);
		}
	}
	idle(h);
}

/* replace.c: replace_finish(). */
static void finish(struct world *w, u8 n)
{
	struct host *h = &w->h[n];
	const struct lay *l = &w->l[h->store];

	world_gather(w, h);
	for (u8 x = 0; x < EXT; x++) {
		const struct label *s = &h->saw[x];

		if (!(h->notes >> x & 1))
			continue;
		if (layout_set(l) >> x & 1) {
			h->notes &= ~BIT8(x);
		} else if (h->up && h->kern == h->store + 1 && h->see >> x & 1) {
			/* A later version, or another host's: it stays, and an administrator frees it. */
			if (s->version > l->version || (s->holder && s->holder != n + 1)) {
				h->notes &= ~BIT8(x);
				w->leak = 1;
			} else if (world_free(w, n + 1, x, s)) {
				h->notes &= ~BIT8(x);
			}
		} else if (h->up && h->kern == h->store + 1 && !w->e[x].is) {
			h->notes &= ~BIT8(x);
		}
	}
	idle(h);
}

/* bring.c: segment_serves() and serves_degraded(). */
static bool serves_degraded(const struct world *w, const struct host *h, const struct truth *t,
			    const struct truth_pick *p)
{
	const struct lay *l = &w->l[index_of(p->layout)];
	u8 here = 0;

	if (p->top || (l->version > 1 && h->store != index_of(p->layout)))
		return false;
	for (u8 i = 0; i < width; i++) {
		if (!(h->see >> l->m[i] & 1) || truth_lags(t, p->layout, i))
			continue;
		if (h->saw[l->m[i]].commit != index_of(p->layout) + 1)
			return false;
		here++;
	}
	return here >= needs;
}

/* The kernel has what may count, and its group goes on without what is not seen. */
static bool held_without(const struct world *w, const struct host *h, const struct truth_pick *p)
{
	const struct lay *l = &w->l[index_of(p->layout)];

	for (u8 i = 0; i < width; i++)
		if (!(h->see >> l->m[i] & 1) && w->in_sync >> l->m[i] & 1)
			return false;
	return h->up && h->kern == index_of(p->layout) + 1;
}

static bool agree(struct world *w, struct host *h, const struct truth *t, const struct truth_pick *p)
{
	struct lay n = w->l[h->target];
	int k;

	h->i = 0;
	switch (truth_next(t, p)) {
	case TRUTH_COMPLETE:
		h->target = index_of(p->top);
		h->step = AGREE_OLD;
		return true;
	case TRUTH_DISCARD:
		for (u8 i = 0; i < width; i++)
			n.late |= h->stale || !(w->in_sync >> n.m[i] & 1) ? BIT8(i) : 0;
		n.late &= unseen(h, &n);
		n.late |= lagging(t, h->target);
		k = world_layout(w, &n, h->target, truth_version(t));
		h->target = k;
		h->member = p->top ? index_of(p->top) + 1 : 0;
		h->step = AGREE_OLD;
		return k >= 0;
	case TRUTH_LATE:
		h->step = LATE;
		return true;
	default:
		h->store = h->target;
		idle(h);
		return true;
	}
}

/* What another layout leaves of this host's is noted. */
static void adopt(struct world *w, struct host *h)
{
	h->notes |= layout_set(&w->l[h->store]) & ~layout_set(&w->l[h->target]);
	h->store = h->target;
}

/* bring.c: learn(), and what follows from it. */
static bool bring(struct world *w, u8 n)
{
	struct host *h = &w->h[n];
	struct muuid me = world_uuid(3, n + 1);
	bool fresh = false;
	struct truth_pick p;
	struct truth t;

	world_gather(w, h);
	t = world_truth(w, h, true);
	p = truth_pick(&t);
	if (h->store == NONE && p.layout && (p.verdict == TRUTH_WHOLE || h->stale))	/* import */
		h->store = index_of(p.layout);
	if (!p.layout || h->store == NONE ||
	    (p.verdict != TRUTH_WHOLE && !h->stale && !held_without(w, h, &p) && !serves_degraded(w, h, &t, &p)) ||
	    (truth_held(&t, p.layout, &me) >= 0 && !h->preempt) ||
	    w->l[index_of(p.layout)].version < w->l[h->store].version) {
		idle(h);
		return true;
	}
	h->target = index_of(p.layout);
	h->i = 0;
	for (u8 i = 0; i < width; i++)
		fresh = fresh || (h->see >> w->l[h->target].m[i] & 1 && !h->saw[w->l[h->target].m[i]].version);
	if (fresh) {
		h->step = FRESH;
		return true;
	}
	if (h->up && w->l[h->kern - 1].version == w->l[h->target].version)
		return agree(w, h, &t, &p);
	adopt(w, h);
	if (h->up) {
		to_kernel(w, n);
		return true;
	}
	h->kern = h->target + 1;
	h->open = 0;
	h->step = OPEN;
	return true;
}

/* One member, at the version that was seen. */
static void open_next(struct world *w, u8 n)
{
	struct host *h = &w->h[n];
	u8 x = h->i < width ? w->l[h->target].m[h->i] : 0;
	struct label *e = &w->e[x];

	if (h->i++ >= width) {
		kernel_turn(w, n, h->stale);
		if (h->up) {
			h->step = BRING;
			h->preempt = 0;
		} else {
			h->kern = h->open = 0;
			undo_replace(w, n, true);
		}
		return;
	}
	if (!(h->see >> x & 1) || !e->is || e->where != HERE || e->version != h->saw[x].version ||
	    (e->holder && e->holder != n + 1 && !h->preempt))
		return;
	e->holder = n + 1;
	h->open |= BIT8(x);
}

/* put_late(): what does not take it is as good as away. */
static void late_next(struct world *w, u8 n)
{
	struct host *h = &w->h[n];
	struct truth t = world_truth(w, h, false);
	bool put = false;

	for (u8 i = 0; i < width; i++) {
		u8 x = w->l[h->target].m[i];

		if (truth_lags(&t, &object[h->target], i))
			put |= world_put(w, n + 1, x, h->target, &h->saw[x]);
	}
	h->store = h->target;
	if (put)
		h->step = BRING;
	else
		idle(h);
}

static bool step(struct world *w, u8 n, bool late)
{
	struct host *h = &w->h[n];

	if (late && (h->step < PUT_OLD || h->step > PUT_NEW))
		return false;
	switch (h->step) {
	case NOTE:
		h->notes |= BIT8(h->spare) | BIT8(w->l[h->store].m[h->member]);
		h->step = BEGIN;
		return true;
	case BEGIN:
		return begin(w, n);
	case PUT_OLD:
	case PUT_NEW:
	case FRESH:
	case AGREE_OLD:
	case AGREE_NEW:
		return put_next(w, n, late);
	case COMMIT:
		commit(w, n);
		return true;
	case KERNEL:
		to_kernel(w, n);
		return true;
	case SETTLE:
		return settle(w, n, 0);
	case FENCE:
		return fence_next(w, n);
	case BRING:
		return bring(w, n);
	case OPEN:
		open_next(w, n);
		return true;
	case LATE:
		late_next(w, n);
		return true;
	}
	return false;
}

#endif
