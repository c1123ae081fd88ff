// SPDX-License-Identifier: GPL-2.0-only
/*
 * The agent of a drive: one step for one extent at a time, by the store as it is or, where this
 * agent is behind, as it was. A drive that is moved has another agent, once that one has taken it.
 */
#include <string.h>

#include "tests/sim/cluster/objects.h"
#include "tests/sim/cluster/search.h"
#include "userspace/plan/extent.h"

static const char *const steps[] = {
	[PLAN_X_ADD] = "its label gets", [PLAN_X_ZERO] = "zeroes", [PLAN_X_READY] = "reports ready",
	[PLAN_X_RECORD] = "writes the record of", [PLAN_X_ROLL] = "rolls the label of",
	[PLAN_X_RECORDED] = "reports the record of", [PLAN_X_FRESH] = "reads again, for",
	[PLAN_X_REMOVE] = "removes", [PLAN_X_ERASE] = "erases the key of",
	[PLAN_X_ADOPT] = "writes the key of",
};

/* The store as one agent has it. */
struct eyes {
	const struct store *s;
	int d, a;
	u8 stale;
	bool fresh;
};

static enum plan_extent_step decide(const struct state *s, const struct eyes *e,
				    const struct key *k, bool in_label, struct plan_txn *p)
{
	const struct drive *d = &s->d[e->d];
	struct plan_extent key;
	struct plan_slot slot;
	struct volume_object v;
	bool own = in_label && (!k || k->x == d->x);
	struct plan_extent_facts f = {
		.cluster = &v.c, .label_generation = d->gen, .stopped = store_stopped(e->s),
		.here = d->home == e->a && !d->moved, .fresh = e->fresh,
	};

	if (k) {
		extent_object(&key, k);
		f.key = &key;
	}
	slot_object(&slot, d);
	if (own)
		f.slot = &slot;
	if (k && d->x && k->x != d->x)
		f.over = &slot;
	volume_object(&v, e->s, is_other(k ? k->x : d->x));
	if (v.exists) {
		f.volume = &v.v;
		f.access = &v.a;
	}
	return plan_extent_step(&f, p);
}

/* The newest layout that was decided is what counts, even if the store was put back since. */
static void check_free(const struct state *s, int d)
{
	const struct drive *e = &s->d[d];
	const struct key *k = key_get(&s->s, e->x);
	bool same = !memcmp(&s->best, &s->s.lay, sizeof(s->best)), written = false;

	if (is_other(e->x)) {
		if (k && k->st != PLAN_FREEING && !s->backs)
			complain("a live extent of another volume is removed");
		return;
	}
	if ((e->num > (s->s.num | 63) || e->ver > s->s.lay.ver) && !s->deletes && s->s.vst)
		complain("an extent is removed by a store that its label proves to be put back");
	for (int p = 0; p < PLACES; p++)
		written |= s->best.pl[p] == e->x && s->must[p];
	if (lay_names(&s->best, e->x) && (!s->backs || same || written))
		complain("an extent of the decided layout is removed");
}

static void add(struct state *t, int d, u8 x)
{
	struct drive *e = &t->d[d];

	if (e->x && is_other(e->x) && key_get(&t->s, e->x) && !t->backs &&
	    key_get(&t->s, e->x)->st != PLAN_FREEING)
		complain("a live extent of another volume is written over");
	if (lay_names(&t->best, e->x))
		complain("an extent of the decided layout is written over");
	e->x = x;
	e->zeroed = e->att = e->ver = e->com = e->num = e->vnum = 0;
	memset(&e->rec, 0, sizeof(e->rec));
	e->mask = 0xff;		/* whatever was there before */
}

/* A step on the machine of the agent itself. Return: number of outcomes. */
static int local(struct state *out, const struct state *s, const struct eyes *e,
		 enum plan_extent_step what, u8 x)
{
	struct drive *d = &out[0].d[e->d];

	out[0] = *s;
	switch (what) {
	case PLAN_X_ADD:
		add(&out[0], e->d, x);
		break;
	case PLAN_X_ZERO:
		d->zeroed = 1;
		d->mask = 0;
		break;
	case PLAN_X_RECORD:
		d->rec = e->s->lay;
		break;
	case PLAN_X_ROLL:
		d->ver = e->s->lay.ver;
		d->com = e->s->lay.com;
		break;
	case PLAN_X_REMOVE:
		check_free(s, e->d);
		return target_free(out, s, e->d);
	default:
		return 0;
	}
	if (d->gen < e->s->gen)
		d->gen = e->s->gen;
	return 1;
}

static bool is_txn(enum plan_extent_step what)
{
	return what == PLAN_X_READY || what == PLAN_X_RECORDED || what == PLAN_X_ERASE ||
	       what == PLAN_X_ADOPT;
}

static void fill(struct txn *x, const struct state *s, const struct eyes *e,
		 enum plan_extent_step what, u8 name, const struct plan_txn *p)
{
	const struct drive *d = &s->d[e->d];

	*x = (struct txn) { .kind = T_AGENT, .who = e->d, .compare = p->compare, .put = p->put,
			    .stale = e->stale, .drives = 1 << e->d, .what = what, .x = name };
	if (d->x == name) {
		x->lay = d->rec;
		x->pre = d->zeroed;
	}
}

static bool one_extent(const struct state *s, const struct eyes *e, const struct key *k)
{
	struct plan_txn p;
	u8 x = k ? k->x : s->d[e->d].x;
	enum plan_extent_step what = decide(s, e, k, s->d[e->d].x, &p);
	struct state out[2];
	struct txn txn;
	int n;

	if (what == PLAN_X_FRESH) {
		out[0] = *s;
		memset(&out[0].v, 0, sizeof(out[0].v));
		search_reach(&out[0], "the agent of d%d in machine %d reads again", e->d, e->a);
		return true;
	}
	if (is_txn(what)) {
		fill(&txn, s, e, what, x, &p);
		txn_decided(s, &txn, steps[what]);
		return true;
	}
	n = local(out, s, e, what, x);
	for (int i = 0; i < n; i++) {
		if (out[i].v.on && out[i].v.d == e->d && out[i].v.a == e->a)
			out[i].v.fresh = 0;
		search_reach(&out[i], "the agent of d%d %s %x%s", e->d, steps[what], x,
			     e->s == &s->s ? "" : ", and is behind");
	}
	return n;
}

static void agent_steps(const struct state *s, int d, int a)
{
	struct eyes e = { .s = &s->s, .d = d, .a = a, .fresh = true };
	bool known = false;

	if (s->v.on && s->v.d == d && s->v.a == a) {
		if (!plan_take_may(2, s->v.early ? 1 : 2))
			return;
		e.s = &s->v.s;
		e.fresh = s->v.fresh;
		e.stale = s->v.stale;
	}
	for (int i = 0; i < KEYS; i++) {
		if (!e.s->key[d][i].x)
			continue;
		one_extent(s, &e, &e.s->key[d][i]);
		known |= e.s->key[d][i].x == s->d[d].x;
	}
	if (!known && s->d[d].x)
		one_extent(s, &e, NULL);
}

bool drive_settle(struct state *t, int d)
{
	struct eyes e = { .s = &t->s, .d = d, .a = t->d[d].home, .fresh = true };
	struct state out[2];
	struct plan_txn p;
	struct txn txn;
	bool known = false;

	for (int i = 0; i <= KEYS; i++) {
		struct key key = i < KEYS ? t->s.key[d][i] : (struct key) { 0 };
		u8 x = i < KEYS ? key.x : t->d[d].x;
		enum plan_extent_step what;

		if (!x || (i == KEYS && known))
			continue;
		known |= x == t->d[d].x;
		what = decide(t, &e, i < KEYS ? &key : NULL, t->d[d].x, &p);
		if (is_txn(what)) {
			fill(&txn, t, &e, what, x, &p);
			return txn_commit(t, &txn);
		}
		if (local(out, t, &e, what, x)) {
			*t = out[0];
			return true;
		}
	}
	return false;
}

/* The agent of @d in machine @a stays at what the store is now, as far as it concerns it. */
static void freeze(const struct state *s, int d, int a)
{
	struct state t = *s;
	struct store *v = &t.v.s;

	t.views++;
	t.v = (struct view) { .on = 1, .d = d, .a = a, .fresh = opt.window, .s = s->s };
	t.v.early = s->d[d].home != a || s->d[d].moved;
	v->rep_num = 0;
	v->readers = v->rep_ver = v->holder = v->mode = 0;
	for (int i = 0; i < DRIVES; i++) {
		if (i != d)
			memset(v->key[i], 0, sizeof(v->key[i]));
	}
	search_reach(&t, "the agent of d%d in machine %d is behind from now on", d, a);
}

static void move_steps(const struct state *s, int d)
{
	struct state out[2];
	int n;

	if (s->d[d].moved) {
		out[0] = *s;
		if (store_stopped(&s->s))
			return;
		out[0].d[d].moved = 0;
		out[0].s.dhost = (s->s.dhost & ~(1 << d)) | s->d[d].home << d;
		txn_changed(&out[0], PLAN_OBJ_DRIVES, 1 << d);
		search_reach(&out[0], "d%d is taken by the agent of machine %d", d, s->d[d].home);
		return;
	}
	if (s->moves >= opt.moves)
		return;
	n = target_end_flight(out, s, d);
	for (int i = 0; i < n; i++) {
		struct drive *e = &out[i].d[d];

		out[i].moves++;
		e->grant = e->gx = e->gnum = e->rg = 0;
		e->home ^= 1;
		e->moved = 1;
		search_reach(&out[i], "d%d is moved to machine %d", d, e->home);
	}
}

void drive_steps(const struct state *s)
{
	for (int d = 0; d < opt.drives; d++) {
		for (int a = 0; a < (opt.moves ? 2 : 1); a++) {
			agent_steps(s, d, a);
			if (!s->v.on && s->views < opt.views &&
			    (!opt.behind || (opt.behind >> d & 1)))
				freeze(s, d, a);
		}
		move_steps(s, d);
	}
	if (s->v.on) {
		struct state t = *s;

		memset(&t.v, 0, sizeof(t.v));
		search_reach(&t, "the agent of d%d in machine %d sees the store as it is",
			     s->v.d, s->v.a);
	}
}
