// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which layout of a volume counts: all worlds of two old members and a new one, with
 * two hosts that change the volume, take it from each other, stop at any step, come
 * back, and whose requests arrive late. The drive of the new one may be lost for good,
 * and then the first host undoes its extend. After each step a third host attaches.
 *
 * The hosts are models of bring.c and change.c, the targets one of what they refuse;
 * the decisions are truth.c's own.
 */
#include <stdlib.h>
#include <string.h>
#include <linux/kernel.h>

#include "userspace/format/truth.h"
#include "suite.h"

#define MEMBERS	3	/* at most: one or two old ones, and a new one */
#define LAYOUTS	7
#define MIB	(1ULL << 20)

struct label {
	u8 here, version, commit, holder;
};

enum step { START, PUT, USE, SETTLE, COMPLETE, FENCE, UNDO, ATTACH, FRESH, OPEN, AGREE, STOPPED };

/* A host; @store and @next are indexes of layouts. */
struct actor {
	u8 step, i, store, next, pending, intent, target, changes, restarts, undoes;
	struct label saw[MEMBERS];
};

struct late {
	u8 there, member, layout, requester;
	struct label believed;
};

struct world {
	struct label m[MEMBERS];
	struct actor a[2];
	struct late late;
	u8 layouts, lost;
	struct { u8 version, grown, used; } l[LAYOUTS];
	u8 used_version, used_grown;
};

/* What the model lets pass that it must not: each of them has to be found. */
static struct { bool no_compare, no_fence, plain_undo, any_undo; } weak;
static u8 old, last_user;
static bool grows, loses;
static const char *wrong;
static unsigned long visited;

static struct layout object[LAYOUTS];
static const struct layout *records[LAYOUTS];
static struct truth_label labels[MEMBERS];

static struct muuid uuid(u8 kind, u8 n)
{
	return n || kind != 3 ? (struct muuid) { { kind, n } } : (struct muuid) { { 0 } };
}

static void objects(const struct world *w)
{
	for (u8 k = 0; k < w->layouts; k++) {
		struct layout *l = &object[k];

		l->volume = uuid(1, 1);
		l->version = w->l[k].version;
		l->commit = k + 1;
		l->members = l->refs = w->l[k].grown ? old + 1 : old;
		l->segments = w->l[k].grown ? 2 : 1;
		l->size = l->segments * MIB;
		for (u8 i = 0; i < MEMBERS; i++) {
			l->member[i].extent = uuid(2, i);
			l->ref[i].member = i;
		}
		for (u8 i = 0; i < 2; i++)
			l->segment[i] = (struct layout_segment) {
				.start = i * MIB, .length = MIB, .level = PROT_STRIPE,
				.data = i ? 1 : old, .refs = i ? 1 : old,
			};
	}
}

/* What a host sees: labels and, of each, its record. */
static struct truth seen(const struct world *w, const struct label *m)
{
	struct truth t = { .label = labels, .record = records };

	objects(w);
	for (u8 i = 0; i < MEMBERS; i++) {
		if (!m[i].here)
			continue;
		labels[t.labels++] = (struct truth_label) {
			.extent = uuid(2, i), .holder = uuid(3, m[i].holder),
			.version = m[i].version, .commit = m[i].commit, .ready = true,
		};
		for (u32 k = 0; m[i].version && k <= t.records; k++) {
			if (k < t.records && records[k] == &object[m[i].commit - 1])
				break;
			if (k == t.records) {
				records[t.records++] = &object[m[i].commit - 1];
				break;
			}
		}
	}
	return t;
}

static u8 index_of(const struct layout *l)
{
	return l - object;
}

static bool same(const struct label *a, const struct label *b)
{
	return a->here == b->here && a->version == b->version && a->commit == b->commit &&
	       a->holder == b->holder;
}

/* RECORD_PUT at its target. */
static bool put(struct world *w, u8 requester, u8 member, u8 layout, const struct label *believed)
{
	struct label *e = &w->m[member];

	if (!e->here || (e->holder && e->holder != requester))
		return e->here && e->commit == layout + 1;
	if (e->commit == layout + 1)
		return true;
	if (!weak.no_compare && (!same(e, believed) || w->l[layout].version <= e->version))
		return false;
	e->version = w->l[layout].version;
	e->commit = layout + 1;
	e->holder = requester;
	return true;
}

static u8 members(const struct world *w, u8 layout)
{
	return w->l[layout].grown ? old + 1 : old;
}

/* The kernel has it open: it counts as used when all members let it. */
static void use(struct world *w, u8 requester, u8 layout)
{
	for (u8 i = 0; i < members(w, layout); i++)
		if (!w->m[i].here || w->m[i].holder != requester || w->m[i].version != w->l[layout].version)
			return;
	if (w->l[layout].version < w->used_version)
		wrong = "an older version was used after a newer one";
	for (u8 k = 0; k < w->layouts; k++)
		if (k != layout && w->l[k].used && w->l[k].version == w->l[layout].version)
			wrong = "two layouts of one version were used";
	if (w->used_grown && !w->l[layout].grown)
		wrong = "what was appended is lost";
	last_user = requester;
	w->l[layout].used = 1;
	w->used_version = w->l[layout].version;
	w->used_grown |= w->l[layout].grown;
}

static int new_layout(struct world *w, u8 version, u8 grown)
{
	if (w->layouts == (loses ? LAYOUTS - 2 : LAYOUTS))
		return -1;
	w->l[w->layouts].version = version;
	w->l[w->layouts].grown = grown;
	return w->layouts++;
}

/* change.c: gather, and begin a change when nothing moved. */
static bool start(struct world *w, struct actor *a, u8 self)
{
	struct truth t;
	struct truth_pick p;
	struct muuid me = uuid(3, self);
	u8 grown = w->l[a->store].grown || (grows && self == 1);
	int k;

	memcpy(a->saw, w->m, sizeof(a->saw));
	t = seen(w, a->saw);
	p = truth_pick(&t);
	if (p.verdict != TRUTH_WHOLE || index_of(p.layout) != a->store ||
	    truth_next(&t, &p) != TRUTH_SAME || truth_held(&t, p.layout, &me) >= 0) {
		a->step = a->intent ? UNDO : STOPPED;
		return true;
	}
	k = new_layout(w, truth_version(&t), grown);
	if (k < 0)
		return false;
	a->next = a->target = k;
	a->pending = 1;
	a->i = 0;
	a->step = PUT;
	return true;
}

/* One record; @late: it is in flight when the host gives up. */
static bool put_next(struct world *w, struct actor *a, u8 self, bool late)
{
	u8 n = members(w, a->target);
	bool done;

	while (a->i < n && a->saw[a->i].commit == a->target + 1)
		a->i++;
	if (a->i == n) {
		if (late)
			return false;
		a->step = a->step == AGREE ? ATTACH : USE;
		return true;
	}
	if (late) {
		if (w->late.there)
			return false;
		w->late = (struct late) { 1, a->i, a->target, self, a->saw[a->i] };
		a->step = a->step == AGREE ? ATTACH : SETTLE;
		return true;
	}
	done = put(w, self, a->i, a->target, &a->saw[a->i]);
	a->i++;
	if (!done)
		a->step = a->step == AGREE ? ATTACH : SETTLE;
	return true;
}

static void settle(struct world *w, struct actor *a)
{
	struct truth t;
	enum truth_pending what;

	memcpy(a->saw, w->m, sizeof(a->saw));
	t = seen(w, a->saw);
	what = truth_pending(&t, &object[a->store], &object[a->next]);
	a->i = 0;
	a->target = a->next;
	a->step = what == PENDING_COMPLETE ? COMPLETE : what == PENDING_DROP ? FENCE : STOPPED;
}

static bool fence(struct world *w, struct actor *a, u8 self)
{
	struct truth t = seen(w, a->saw);
	struct label *s;
	u8 all = 0;
	int x = 0;

	if (!a->i) {
		x = new_layout(w, truth_version(&t) + 1, w->l[a->store].grown);
		a->target = x;
	}
	if (x < 0)
		return false;
	for (; a->i < members(w, a->store); a->i++) {
		s = &a->saw[a->i];
		if (weak.no_fence || s->version > w->l[a->next].version ||
		    (s->version == w->l[a->next].version && s->commit != a->next + 1) ||
		    (s->holder && s->holder != self))
			continue;
		if (!put(w, self, a->i, a->target, s)) {
			a->step = SETTLE;
			return true;
		}
		a->i++;		/* the next one in the next step */
		return true;
	}
	for (u8 i = 0; i < members(w, a->store); i++)
		all += w->m[i].commit == a->target + 1;
	if (all == members(w, a->store))
		a->store = a->target;
	a->pending = 0;
	a->step = UNDO;
	return true;
}

/* FREE of what was never recorded, unless a record of another member names it. */
static void undo(struct world *w, struct actor *a)
{
	struct label *e = &w->m[old];
	struct truth t = seen(w, w->m);

	a->step = a->undoes ? ATTACH : STOPPED;
	a->undoes = 0;
	if (truth_half_made(&t, &object[0].member[old].extent) && !weak.plain_undo)
		return;
	if (a->intent && (weak.plain_undo || (!e->version && !e->holder)))
		memset(e, 0, sizeof(*e));
	a->intent = 0;
}

/* attach --stale with an extend that cannot be finished: undone unless it was used. */
static bool undo_extend(struct world *w, u8 n)
{
	struct actor *a = &w->a[n];
	struct muuid me = uuid(3, n + 1);
	struct truth t;

	if (!a->pending || !w->lost || (a->step != SETTLE && a->step != COMPLETE && a->step != STOPPED))
		return false;
	memcpy(a->saw, w->m, sizeof(a->saw));
	t = seen(w, a->saw);
	if (!weak.any_undo && truth_undo(&t, &object[a->store], &object[a->next], &me) != UNDO_FREE)
		return false;
	a->i = 0;
	a->undoes = 1;
	a->step = FENCE;
	return true;
}

/* The other host detaches the volume: nothing shows any more that it had it. */
static bool release(struct world *w, u8 n)
{
	bool any = false;

	for (u8 i = 0; w->a[n].step == STOPPED && i < MEMBERS; i++) {
		any = any || w->m[i].holder == n + 1;
		w->m[i].holder = w->m[i].holder == n + 1 ? 0 : w->m[i].holder;
	}
	return any;
}

/* bring.c: gather, choose, and what is next. */
static bool attach(struct world *w, struct actor *a, u8 self)
{
	struct truth t;
	struct truth_pick p;
	bool fresh = false, held = true;
	int x;

	memcpy(a->saw, w->m, sizeof(a->saw));
	t = seen(w, a->saw);
	p = truth_pick(&t);
	a->i = 0;
	a->step = STOPPED;
	if (p.verdict != TRUTH_WHOLE)
		return true;
	a->target = a->store = index_of(p.layout);
	for (u8 i = 0; i < p.layout->members; i++) {
		fresh = fresh || !a->saw[i].version;
		held = held && a->saw[i].holder == self;
	}
	if (fresh || !held) {
		a->step = fresh ? FRESH : OPEN;
		return true;
	}
	switch (truth_next(&t, &p)) {
	case TRUTH_SAME:
		a->step = USE;
		return true;
	case TRUTH_COMPLETE:
		a->target = index_of(p.top);
		break;
	default:
		x = new_layout(w, truth_version(&t), w->l[a->store].grown);
		if (x < 0)
			return false;
		a->target = x;
	}
	a->step = AGREE;
	return true;
}

static void fresh_next(struct world *w, struct actor *a, u8 self)
{
	while (a->i < members(w, a->target) && a->saw[a->i].version)
		a->i++;
	if (a->i == members(w, a->target) ||
	    !put(w, self, a->i, a->target, &a->saw[a->i]))
		a->step = ATTACH;
	a->i++;
}

/* OPEN with preemption, at the version that was seen. */
static void open_next(struct world *w, struct actor *a, u8 self)
{
	struct label *e = &w->m[a->i];

	if (a->i == members(w, a->target) || !e->here || e->version != a->saw[a->i].version) {
		a->step = ATTACH;
		return;
	}
	e->holder = self;
	a->i++;
}

static void used(struct world *w, struct actor *a, u8 self)
{
	use(w, self, a->target);
	a->store = a->target;
	a->pending = a->intent = 0;
	a->step = a->changes ? START : STOPPED;
	a->changes -= a->changes > 0;
}

static bool step(struct world *w, u8 n, bool late)
{
	struct actor *a = &w->a[n];
	u8 self = n + 1;

	if (late && a->step != PUT && a->step != COMPLETE && a->step != AGREE)
		return false;
	switch (a->step) {
	case START:
		return start(w, a, self);
	case PUT:
	case COMPLETE:
	case AGREE:
		return put_next(w, a, self, late);
	case USE:
		used(w, a, self);
		return true;
	case SETTLE:
		settle(w, a);
		return true;
	case FENCE:
		return fence(w, a, self);
	case UNDO:
		undo(w, a);
		return true;
	case ATTACH:
		return attach(w, a, self);
	case FRESH:
		fresh_next(w, a, self);
		return true;
	case OPEN:
		open_next(w, a, self);
		return true;
	}
	return false;
}

/*
 * Killed, and started again: the store is all it has; or a copy of it that was made
 * while the first change was prepared.
 */
static bool restart(struct world *w, u8 n, bool restored)
{
	struct actor *a = &w->a[n];

	if (!a->restarts || (restored && (n || !grows || w->late.there)))
		return false;
	a->restarts--;
	if (restored) {
		a->store = a->pending = 0;
		a->intent = 1;
	}
	a->i = a->changes = 0;
	a->step = a->pending ? SETTLE : a->intent ? UNDO : STOPPED;
	return true;
}

/* With all others dead, a host that attaches gets the volume with all that was used. */
static void third(const struct world *now)
{
	struct world w = *now;
	struct truth t = seen(&w, w.m);

	/* No host gets what the lost drive had part in, before it is undone. */
	if (w.lost && truth_pick(&t).verdict != TRUTH_WHOLE)
		return;
	memset(&w.late, 0, sizeof(w.late));
	w.a[1] = (struct actor) { .step = ATTACH };
	last_user = 0;
	for (u8 i = 0; i < MEMBERS; i++)
		w.m[i].holder = w.m[i].holder == 2 ? 1 : w.m[i].holder;
	for (int i = 0; i < 60 && w.a[1].step != STOPPED; i++)
		if (!step(&w, 1, false))
			return;		/* no number left for another layout: not a judgement */
	if (last_user != 2)
		wrong = "a third host cannot attach it";
}

#define TABLE	(1U << 22)
static u64 *table;

static bool first_visit(const struct world *w)
{
	const u8 *p = (const u8 *)w;
	u64 h = 0xcbf29ce484222325ULL;
	u32 at;

	for (size_t i = 0; i < sizeof(*w); i++)
		h = (h ^ p[i]) * 0x100000001b3ULL;
	h ^= h >> 29;
	for (at = h % TABLE; table[at]; at = (at + 1) % TABLE)
		if (table[at] == h)
			return false;
	table[at] = h;
	visited++;
	return true;
}

static void explore(const struct world *w)
{
	struct world next;

	if (wrong || !first_visit(w) || visited > TABLE / 2)
		return;
	third(w);
	for (u8 n = 0; n < 2 && !wrong; n++) {
		for (u8 late = 0; late < 2 && !wrong; late++) {
			next = *w;
			if (step(&next, n, late) && !wrong)
				explore(&next);
		}
		for (u8 restored = 0; restored < 2 && !wrong; restored++) {
			next = *w;
			if (restart(&next, n, restored))
				explore(&next);
		}
	}
	if (loses && !w->lost && w->a[0].pending && !wrong) {
		next = *w;
		next.lost = 1;
		memset(&next.m[old], 0, sizeof(next.m[old]));
		explore(&next);
	}
	next = *w;
	if (!wrong && undo_extend(&next, 0))
		explore(&next);
	next = *w;
	if (!wrong && loses && release(&next, 1))
		explore(&next);
	if (w->late.there && !wrong) {
		next = *w;
		put(&next, w->late.requester, w->late.member, w->late.layout, &w->late.believed);
		memset(&next.late, 0, sizeof(next.late));
		explore(&next);
	}
}

/* The first host holds version 1 and changes it; the second attaches by force. */
static const char *run(u8 members, bool grow, u8 changes)
{
	struct world w;

	old = members;
	memset(&w, 0, sizeof(w));
	for (u8 i = 0; i < old; i++)
		w.m[i] = (struct label) { 1, 1, 1, 1 };
	w.m[old].here = grow;
	w.layouts = 1;
	w.l[0].version = w.l[0].used = w.used_version = 1;
	w.a[0] = (struct actor) { .step = START, .intent = grow, .restarts = loses ? 1 : 2 };
	w.a[1] = (struct actor) { .step = ATTACH, .changes = changes, .restarts = !loses };
	grows = grow;
	wrong = NULL;
	visited = 0;
	memset(table, 0, TABLE * sizeof(*table));
	explore(&w);
	if (visited > TABLE / 2)
		return "too many worlds";
	return wrong;
}

static void all_worlds(bool grow, u8 changes)
{
	for (u8 n = 1; n <= 2; n++) {
		const char *why = run(n, grow, changes);

		if (why)
			printf("\n    %u members: %s, after %lu worlds ", n, why, visited);
		CU_ASSERT_PTR_NULL(why);
		CU_ASSERT(visited > 200);
	}
}

static void test_rename(void)
{
	all_worlds(false, 1);
}

static void test_extend(void)
{
	all_worlds(true, 0);
}

static void test_both_change(void)
{
	all_worlds(true, 1);
}

static void test_undo_extend(void)
{
	loses = true;
	all_worlds(true, 0);
	loses = false;
}

/* The search must find what each of these lets through. */
static void test_weak_targets(void)
{
	weak.no_compare = true;
	CU_ASSERT_PTR_NOT_NULL(run(2, true, 1));
	weak.no_compare = false;
	weak.no_fence = true;
	CU_ASSERT_PTR_NOT_NULL(run(1, true, 0));
	weak.no_fence = false;
	weak.plain_undo = true;
	CU_ASSERT_PTR_NOT_NULL(run(2, true, 0));
	weak.plain_undo = false;
	loses = weak.any_undo = true;
	run(2, true, 0);
	CU_ASSERT_PTR_NOT_NULL(wrong);	/* which the size of the search does not set */
	loses = weak.any_undo = false;
	CU_ASSERT_PTR_NULL(run(2, true, 0));
}

/* Two old members and, with @m2, a new one: versions and commits of their labels. */
static struct world two(u8 v0, u8 c0, u8 v1, u8 c1, bool m2)
{
	struct world w = { .layouts = 4, .l = { { 1, 0, 0 }, { 2, 1, 0 }, { 2, 0, 0 }, { 3, 0, 0 } } };

	old = 2;
	w.m[0] = (struct label) { !!v0, v0, c0, 1 };
	w.m[1] = (struct label) { !!v1, v1, c1, 1 };
	w.m[2].here = m2;
	return w;
}

static struct truth_pick picked(const struct world *w, struct truth *t)
{
	*t = seen(w, w->m);
	return truth_pick(t);
}

static void test_pick(void)
{
	struct world w = two(1, 1, 1, 1, false);
	struct truth t;
	struct truth_pick p = picked(&w, &t);

	CU_ASSERT(p.verdict == TRUTH_WHOLE && p.layout == &object[0] && !p.top);
	/* A record that no label confirms is not there. */
	records[t.records++] = &object[3];
	p = truth_pick(&t);
	CU_ASSERT(p.verdict == TRUTH_WHOLE && p.layout == &object[0] && !p.top);
	/* One of two members is away. */
	w = two(1, 1, 0, 0, false);
	p = picked(&w, &t);
	CU_ASSERT(p.verdict == TRUTH_AWAY && p.layout == &object[0] && p.member == 1);
	/* All old members have it, the new one is away: it may be in use. */
	w = two(2, 2, 2, 2, false);
	p = picked(&w, &t);
	CU_ASSERT(p.verdict == TRUTH_AWAY && p.layout == &object[1] && p.member == 2);
	/* One version, two commits: neither was written everywhere. */
	w = two(2, 2, 2, 3, true);
	p = picked(&w, &t);
	CU_ASSERT(p.verdict == TRUTH_NONE && p.top);
	/* A later label whose record no drive has. */
	w = two(1, 1, 3, 4, false);
	picked(&w, &t);
	t.records = 1;
	p = truth_pick(&t);
	CU_ASSERT(p.verdict == TRUTH_BLIND && p.layout == &object[0] && p.member == 1);
	CU_ASSERT_EQUAL(truth_next(&t, &p), TRUTH_DISCARD);
	CU_ASSERT_EQUAL(truth_version(&t), 4);
	w = two(1, 1, 2, 2, false);
	picked(&w, &t);
	t.records = 1;
	p = truth_pick(&t);
	CU_ASSERT(p.verdict == TRUTH_BLIND && p.layout == &object[0] && p.member == 1);
}

static void test_next(void)
{
	struct world w = two(2, 2, 1, 1, true);
	struct muuid me = uuid(3, 1), other = uuid(3, 2);
	struct truth t;
	struct truth_pick p = picked(&w, &t);

	CU_ASSERT(p.verdict == TRUTH_WHOLE && p.layout == &object[0] && p.top == &object[1]);
	CU_ASSERT_EQUAL(truth_next(&t, &p), TRUTH_COMPLETE);
	CU_ASSERT_EQUAL(truth_held(&t, p.layout, &me), -1);
	CU_ASSERT_EQUAL(truth_held(&t, p.layout, &other), 0);
	/* Its new member is being zeroed: it cannot be written yet. */
	labels[2].ready = false;
	p = truth_pick(&t);
	CU_ASSERT(p.verdict == TRUTH_WHOLE && p.layout == &object[0]);
	CU_ASSERT_EQUAL(truth_next(&t, &p), TRUTH_DISCARD);
	/* Its new member is away, or it would take something away. */
	w = two(2, 2, 1, 1, false);
	p = picked(&w, &t);
	CU_ASSERT(p.verdict == TRUTH_WHOLE && p.top == &object[1]);
	CU_ASSERT_EQUAL(truth_next(&t, &p), TRUTH_DISCARD);
	w = two(3, 4, 2, 2, true);
	p = picked(&w, &t);
	CU_ASSERT(p.verdict == TRUTH_WHOLE && p.layout == &object[1] && p.top == &object[3]);
	CU_ASSERT_EQUAL(truth_next(&t, &p), TRUTH_DISCARD);
	w = two(1, 1, 1, 1, false);
	p = picked(&w, &t);
	CU_ASSERT_EQUAL(truth_next(&t, &p), TRUTH_SAME);
}

/* The new member, where the second layout names it: before and after its own record. */
static void test_half_made(void)
{
	struct world w = two(2, 2, 1, 1, true);
	struct truth t = seen(&w, w.m);
	struct muuid new = uuid(2, 2);

	CU_ASSERT(truth_half_made(&t, &new));
	w.m[2].version = w.m[2].commit = 2;
	t = seen(&w, w.m);
	CU_ASSERT(!truth_half_made(&t, &new));
	w = two(1, 1, 1, 1, true);
	t = seen(&w, w.m);
	CU_ASSERT(!truth_half_made(&t, &new));
	/* One of two new members has its record; then that extend is undone. */
	for (int undone = 0; undone < 2; undone++) {
		w = undone ? two(3, 4, 2, 2, true) : two(2, 2, 2, 2, true);
		old = 1;
		t = seen(&w, w.m);
		object[1].members = 3;
		CU_ASSERT_EQUAL(truth_half_made(&t, &new), !undone);
	}
	/* The later one is not decided, or names it as well. */
	object[3].members = 2;
	CU_ASSERT(truth_half_made(&t, &new));
	object[3].member[1].extent = new;
	CU_ASSERT(truth_half_made(&t, &new));
}

static void test_pending(void)
{
	static const struct { u8 m[4], new; enum truth_pending is; } c[] = {	/* version, commit */
		{ { 1, 1, 1, 1 }, 0, PENDING_DROP }, { { 1, 1, 0, 0 }, 0, PENDING_WAIT },
		{ { 2, 2, 1, 1 }, 0, PENDING_COMPLETE }, { { 2, 2, 0, 0 }, 0, PENDING_COMPLETE },
		/* Another host went on from there, or beside it; an undo stopped at its last step. */
		{ { 2, 2, 3, 4 }, 0, PENDING_WAIT }, { { 2, 2, 2, 3 }, 0, PENDING_WAIT },
		{ { 3, 4, 3, 4 }, 0, PENDING_DROP }, { { 3, 4, 3, 4 }, 2, PENDING_DROP },
		{ { 2, 2, 3, 4 }, 2, PENDING_WAIT },
	};

	for (size_t i = 0; i < sizeof(c) / sizeof(*c); i++) {
		struct world w = two(c[i].m[0], c[i].m[1], c[i].m[2], c[i].m[3], true);
		struct truth t;

		w.m[2].version = w.m[2].commit = c[i].new;
		t = seen(&w, w.m);
		CU_ASSERT_EQUAL(truth_pending(&t, &object[0], &object[1]), c[i].is);
	}
}

static enum truth_undo undo_is(struct world w, u8 holder0, u8 holder1, u8 self)
{
	struct muuid me = uuid(3, self);
	struct truth t;

	w.m[0].holder = holder0;
	w.m[1].holder = holder1;
	t = seen(&w, w.m);
	return truth_undo(&t, &object[0], &object[1], &me);
}

static void test_undoable(void)
{
	struct world w = two(2, 2, 2, 2, false), before = two(2, 2, 1, 1, false);
	struct world half = two(3, 4, 2, 2, false), gone = half;

	/* The last layout of these is the old one again; here it is one of more members. */
	gone.l[3].grown = 1;
	CU_ASSERT_EQUAL(undo_is(w, 1, 1, 1), UNDO_FREE);
	/* Another host took it and gave it back: it may have used the new size. */
	CU_ASSERT_EQUAL(undo_is(w, 1, 0, 1), UNDO_USED);
	CU_ASSERT_EQUAL(undo_is(w, 0, 0, 1), UNDO_USED);
	/* It cannot have, while an old member is at the version before. */
	CU_ASSERT_EQUAL(undo_is(before, 0, 0, 1), UNDO_FREE);
	/* Its new member is there: it can be completed. */
	CU_ASSERT_EQUAL(undo_is(two(2, 2, 2, 2, true), 1, 1, 1), UNDO_NEVER);
	/* Another host holds it, or went on from there; an old member is not seen. */
	CU_ASSERT_EQUAL(undo_is(w, 1, 1, 2), UNDO_HELD);
	CU_ASSERT_EQUAL(undo_is(gone, 1, 1, 1), UNDO_NEVER);
	CU_ASSERT_EQUAL(undo_is(two(2, 2, 2, 3, false), 1, 1, 1), UNDO_NEVER);
	/* An undo stopped half way: the old content is beyond it on one member. */
	CU_ASSERT_EQUAL(undo_is(half, 1, 1, 1), UNDO_FREE);
	CU_ASSERT_EQUAL(undo_is(half, 1, 1, 2), UNDO_HELD);
	CU_ASSERT_EQUAL(undo_is(half, 1, 0, 1), UNDO_USED);
	CU_ASSERT_EQUAL(undo_is(two(2, 2, 0, 0, false), 1, 0, 1), UNDO_NEVER);
}

int main(void)
{
	static const struct suite_test tests[] = {
		{ "which record counts", test_pick },
		{ "complete or discard, and who holds it", test_next },
		{ "a change of our own after a crash", test_pending },
		{ "a change of our own whose new member is lost", test_undoable },
		{ "an extent that only a record of another member names", test_half_made },
		{ "a new version against a host that takes the volume", test_rename },
		{ "a new member against a host that takes the volume", test_extend },
		{ "both change it", test_both_change },
		{ "an extend whose new member is lost, undone by its host", test_undo_extend },
		{ "what a weaker target lets through is found", test_weak_targets },
		{ NULL, NULL },
	};

	table = calloc(TABLE, sizeof(*table));
	return table ? suite_main("truth", tests) : 2;
}
