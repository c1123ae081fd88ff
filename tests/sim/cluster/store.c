// SPDX-License-Identifier: GPL-2.0-only
/* The controller's work for V; and a store that is copied, put back, and recovered. */
#include <string.h>

#include "tests/sim/cluster/objects.h"
#include "tests/sim/cluster/search.h"
#include "userspace/plan/change.h"
#include "userspace/plan/recover.h"
#include "userspace/plan/setback.h"

/*
 * Each host followed the store before it was put back, and each follows a recovered one at once:
 * what a host has seen is the store's generation, and another identity where it was put back.
 */
bool store_stopped(const struct store *s)
{
	struct plan_seen seen = { .cluster = { .b = { 'c' } }, .generation = s->gen,
				  .id = "followed" };
	struct plan_seen now = seen;

	if (s->back && !opt.unseen)
		now.id[0] = 'F';
	return plan_store_judge(&seen, &now) >= PLAN_STORE_BACK;
}

/* When the last key of a volume that is deleted has gone, so has the volume. */
void store_gone(struct state *t)
{
	if (t->s.vst != PLAN_DELETING)
		return;
	for (int d = 0; d < DRIVES; d++) {
		for (int i = 0; i < KEYS; i++) {
			if (t->s.key[d][i].x && !is_other(t->s.key[d][i].x))
				return;
		}
	}
	t->s.vst = 0;
	memset(&t->s.lay, 0, sizeof(t->s.lay));
	txn_changed(t, PLAN_OBJ_VOLUME, 0);
}

/* Space of @d that no key has becomes an extent that is wanted. */
static void allocate(const struct state *s, int d, bool other)
{
	struct state t = *s;
	u8 x = extent_name(d, other, s->ids[d] + 1);

	t.allocs++;
	t.ids[d]++;
	t.s.key[d][0] = (struct key) { .x = x, .st = PLAN_WANTED };
	txn_changed(&t, PLAN_OBJ_DRIVES, 1 << d);
	search_reach(&t, "%x is allocated on d%d for %s", x, d, other ? "another volume" : "V");
}

/* @k: the extent that becomes the third member; NULL: a change of the name alone. */
static void change_step(const struct state *s, const struct volume_object *v, const struct key *k)
{
	struct plan_extent key;
	struct plan_put put = { .place = PLACES - 1, .extent = &key };
	struct plan_change c = { .volume = &v->v, .access = &v->a, .rosters = &v->r, .puts = !!k,
				 .put = &put, .stopped = store_stopped(&s->s) };
	struct plan_txn p;
	struct state t = *s;
	struct txn x = { .kind = T_CHANGE, .lay = s->s.lay };

	if (k)
		extent_object(&key, k);
	if (plan_change(&c, &p) != PLAN_GO)
		return;
	x.compare = p.compare;
	x.put = p.put;
	x.lay.ver++;
	x.lay.com = ++t.coms;
	t.changes++;
	if (k) {
		x.x = k->x;
		x.drives = 1 << drive_of(k->x);
		x.lay.pl[PLACES - 1] = k->x;
	}
	txn_decided(&t, &x, k ? "extends V" : "renames V");
}

static bool freeable(const struct state *s, const struct key *k, struct plan_txn *p)
{
	struct volume_object v;
	struct plan_extent key;

	volume_object(&v, &s->s, false);
	extent_object(&key, k);
	return v.exists && plan_freeable(&key, &v.v, &v.a, &v.r, store_stopped(&s->s), p) == PLAN_GO;
}

static void free_step(const struct state *s, const struct key *k)
{
	struct plan_txn p;
	struct txn x = { .kind = T_FREE, .x = k->x, .drives = 1 << drive_of(k->x) };

	if (!freeable(s, k, &p))
		return;
	x.compare = p.compare;
	x.put = p.put;
	txn_decided(s, &x, "frees what no layout names");
}

bool store_free_one(struct state *t)
{
	struct plan_txn p;

	for (int d = 0; d < DRIVES; d++) {
		for (int i = 0; i < KEYS; i++) {
			struct key *k = &t->s.key[d][i];

			if (k->x && !is_other(k->x) && k->st != PLAN_FREEING && freeable(t, k, &p)) {
				k->st = PLAN_FREEING;
				return true;
			}
		}
	}
	return false;
}

static void delete_step(const struct state *s, const struct volume_object *v, bool preempt)
{
	struct plan_access next;
	struct plan_txn p;
	struct state t = *s;
	struct txn x = { .kind = T_DELETE, .pre = preempt, .drives = 0xff };

	if (plan_delete(&v->v, &v->a, s->s.readers, preempt, store_stopped(&s->s), &next,
			&p) != PLAN_GO)
		return;
	x.compare = p.compare;
	x.put = p.put;
	x.erase = p.erase;
	t.deletes++;
	txn_decided(&t, &x, preempt ? "deletes V with preempt" : "deletes V");
}

static void controller_steps(const struct state *s)
{
	struct volume_object v;

	volume_object(&v, &s->s, false);
	for (int d = 0; d < opt.drives; d++) {
		bool space = !s->s.key[d][0].x && s->allocs < opt.allocs && s->ids[d] < 7;

		if (space && v.exists && s->s.vst == PLAN_VOLUME_READY && opt.changes)
			allocate(s, d, false);
		if (space && opt.others)
			allocate(s, d, true);
		for (int i = 0; v.exists && i < KEYS; i++) {
			const struct key *k = &s->s.key[d][i];

			if (!k->x || is_other(k->x) || lay_names(&s->s.lay, k->x))
				continue;
			free_step(s, k);
			if (s->changes < opt.changes && !s->s.lay.pl[PLACES - 1])
				change_step(s, &v, k);
		}
	}
	if (!v.exists)
		return;
	if (s->changes < opt.changes)
		change_step(s, &v, NULL);
	if (s->deletes < opt.deletes) {
		delete_step(s, &v, false);
		delete_step(s, &v, true);
	}
}

/* ---- the store is put back */

static bool above(const struct state *s, int d)
{
	struct volume_object v;
	struct plan_slot slot;

	if (!s->d[d].x)
		return false;
	volume_object(&v, &s->s, is_other(s->d[d].x));
	slot_object(&slot, &s->d[d]);
	return plan_label_above(&slot, s->d[d].gen, &v.c, v.exists ? &v.v : NULL,
				v.exists ? &v.a : NULL);
}

bool store_behind(const struct state *s, u8 reach)
{
	bool behind = store_stopped(&s->s);

	for (int d = 0; d < opt.drives; d++)
		behind |= (reach >> d & 1) && above(s, d);
	return behind;
}

static u32 generation(const struct state *s, u8 reach)
{
	u32 seen[DRIVES + 1] = { s->followed }, n = 1;

	for (int d = 0; d < opt.drives; d++) {
		if (reach >> d & 1)
			seen[n++] = s->d[d].gen;
	}
	return plan_recover_generation(s->s.gen, seen, n);
}

static u16 counter_max(const struct state *s)
{
	u16 n = s->late_num;

	for (int h = 0; h < HOSTS; h++) {
		n = n < s->h[h].num ? s->h[h].num : n;
		n = n < s->h[h].rc_num ? s->h[h].rc_num : n;
	}
	return n;
}

static void recover_keys(struct state *t, u8 reach)
{
	for (int d = 0; d < opt.drives; d++) {
		struct key was[KEYS + 1], *to = t->s.key[d];
		bool seen = reach >> d & 1;
		int n = 0;

		memcpy(was, t->s.key[d], sizeof(t->s.key[d]));
		memset(t->s.key[d], 0, sizeof(t->s.key[d]));
		was[KEYS] = (struct key) { .x = seen ? t->d[d].x : 0 };
		for (int p = 0; p < PLACES && !seen; p++) {
			if (t->s.lay.pl[p] && drive_of(t->s.lay.pl[p]) == d)
				was[KEYS].x = t->s.lay.pl[p];
		}
		for (int i = 0; i <= KEYS && n < KEYS; i++) {
			struct plan_extent key;
			struct plan_slot slot;
			bool label = seen && t->d[d].x == was[i].x;
			u8 st;

			if (!was[i].x || (i < KEYS && was[i].x == was[KEYS].x))
				continue;
			extent_object(&key, &was[i]);
			slot_object(&slot, &t->d[d]);
			st = plan_recover_extent(was[i].st ? &key : NULL, label ? &slot : NULL, seen,
						 lay_names(&t->s.lay, was[i].x));
			if (!st)
				continue;
			to[n] = (struct key) { .x = was[i].x, .st = st };
			if (label) {
				to[n].ver = t->d[d].rec.ver;
				to[n].com = t->d[d].rec.com;
			}
			n++;
		}
	}
}

bool store_recover(struct state *t, u8 reach)
{
	struct plan_evidence found[DRIVES];
	struct plan_slot slot[DRIVES];
	struct layout_object rec[DRIVES];
	struct volume_object v;
	struct plan_recovered out;
	struct plan_recover r = { .generation = generation(t, reach), .found = found,
				  .served = number_of(counter_max(t)) };
	u8 on[DRIVES];

	volume_object(&v, &t->s, false);
	if (v.exists) {
		r.volume = &v.v;
		r.access = &v.a;
	}
	for (int d = 0; d < opt.drives; d++) {
		if (!(reach >> d & 1) || !t->d[d].x || is_other(t->d[d].x))
			continue;
		slot_object(&slot[r.nr], &t->d[d]);
		layout_object(&rec[r.nr], &t->d[d].rec);
		found[r.nr] = (struct plan_evidence) {
			.slot = &slot[r.nr], .record = t->d[d].rec.ver ? &rec[r.nr].l : NULL };
		on[r.nr++] = d;
	}
	if (plan_recover(&r, &out) != PLAN_GO)
		return false;
	for (u32 i = 0; i < r.nr; i++) {
		if (out.layout == &rec[i].l)
			t->s.lay = t->d[on[i]].rec;
	}
	t->s.vst = PLAN_VOLUME_READY;
	t->s.mode = out.access.mode;
	t->s.holder = out.access.mode ? host_of(&out.access.holder) + 1 : 0;
	t->s.num = number_packed(out.access.number);
	t->s.gen = r.generation;
	t->s.clean = out.access.clean;
	/* Hosts follow a generation that is new to them, and no other store of a known one. */
	t->s.back = t->s.gen <= t->followed;
	t->followed = t->s.back ? t->followed : t->s.gen;
	t->s.readers = t->s.rep_ver = 0;
	t->s.rep_num = 0;
	for (int d = 0; d < opt.drives && keeps(RULE_RECOVER_LABELS) && !opt.unmarked; d++)
		t->d[d].gen = reach >> d & 1 ? t->s.gen : t->d[d].gen;
	recover_keys(t, reach);
	txn_changed(t, 0xff, 0xff);
	return true;
}

static void put_back(const struct state *s)
{
	struct state t = *s;

	t.backs++;
	t.s = s->bak;
	t.s.back = 1;
	/* Connections end, and what was in flight in them. */
	memset(t.t, 0, sizeof(t.t));
	for (int h = 0; h < HOSTS; h++) {
		if (t.h[h].ph == P_TXN)
			t.h[h].ph = P_IDLE;
	}
	t.v.stale = t.v.on ? 0xff : 0;
	search_reach(&t, "the store is put back: number %x, version %d", t.s.num, t.s.lay.ver);
}

static void back_steps(const struct state *s)
{
	struct state t = *s;

	if (!s->copies) {
		t.copies = 1;
		t.bak = s->s;
		search_reach(&t, "the store is copied: number %x, version %d", s->s.num,
			     s->s.lay.ver);
	} else if (s->backs < opt.backs && memcmp(&s->bak, &s->s, sizeof(s->s))) {
		put_back(s);
	}
	if (!s->backs || s->recovers >= opt.recovers || !store_behind(s, 0xff))
		return;
	for (u8 reach = 1; reach < 1 << opt.drives; reach++) {
		t = *s;
		if (!store_recover(&t, reach))
			continue;
		t.recovers++;
		if (t.s.back)
			complain("hosts do not follow a store that was recovered");
		search_reach(&t, "recover with drives %x: number %x, version %d%s", reach, t.s.num,
			     t.s.lay.ver, t.s.mode ? ", held" : "");
	}
}

void store_steps(const struct state *s)
{
	if (!store_stopped(&s->s))
		controller_steps(s);
	if (opt.backs)
		back_steps(s);
}
