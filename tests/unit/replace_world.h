/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A small world for the search in test_truth_replace.c: one volume of one group, its extents with
 * labels and records, two hosts with a store and a kernel. Targets refuse what record_put.c and
 * alloc.c do. Rosters are taken as perfect: a group serves when it has members enough of those that
 * have all writes, whatever a layout says.
 */
#ifndef TESTS_UNIT_REPLACE_WORLD_H
#define TESTS_UNIT_REPLACE_WORLD_H

#include <string.h>
#include <linux/kernel.h>

#include "userspace/format/truth.h"

#define WIDTH	3	/* members of the group, at most */
#define SPARES	2
#define EXT	(WIDTH + SPARES)
#define LAYOUTS	12
#define NONE	255
#define BIT8(x)	((u8)(1U << (x)))

enum where { HERE, AWAY, DEAD };

struct label {
	u8 is, where, version, commit, holder;
	u8 served;	/* an attach number is noted: a kernel has served with it */
};

struct lay {
	u8 version, late, base, used, grown;	/* @grown: extended, by what has no members here */
	u8 m[WIDTH];		/* extents */
};

/* Where a host is in what it does; the numbers of truth.c's callers. */
enum step {
	IDLE, NOTE, BEGIN, PUT_OLD, PUT_NEW, COMMIT, KERNEL, SETTLE, FENCE, BRING, FRESH, OPEN, OPENED,
	AGREE_OLD, AGREE_NEW, LATE,
};

struct host {
	u8 step, i, target, member, spare, undo, preempt, stale;
	u8 store, pending, notes, intents, wants;	/* in its store; @pending: index + 1 */
	u8 kern, up, open;				/* its kernel; @kern: index + 1 */
	u8 see;						/* what was gathered */
	struct label saw[EXT];
};

struct in_flight {
	u8 there, x, layout, self;
	struct label believed;
};

struct world {
	struct label e[EXT];
	struct lay l[LAYOUTS];
	struct host h[2];
	struct in_flight late;
	u8 layouts, in_sync, last, writer;	/* @last: layout used last + 1 */
	u8 grown;	/* a kernel has used what was appended */
	u8 leak;	/* a store was lost, or another host changed it: notes are lost as well */
	u8 goes, dies, kills, reboots, loses, takes, replaces, undoes, lates, extends;
};

static u8 width, needs;
static const char *wrong;

static struct layout object[LAYOUTS];
static struct lay made[LAYOUTS];
static const struct layout *records[LAYOUTS];
static struct truth_label labels[EXT];

static inline struct muuid world_uuid(u8 kind, u8 n)
{
	return n || kind != 3 ? (struct muuid) { { kind, n } } : (struct muuid) { { 0 } };
}

static inline void world_objects(const struct world *w)
{
	for (u8 k = 0; k < w->layouts; k++) {
		struct layout *l = &object[k];

		if (l->members && !memcmp(&made[k], &w->l[k], sizeof(made[k])))
			continue;
		made[k] = w->l[k];
		l->volume = world_uuid(1, 1);
		l->version = w->l[k].version;
		l->commit = k + 1;
		l->members = l->refs = width;
		l->segments = 1 + w->l[k].grown;
		l->size = (u64)l->segments << 20;
		for (u8 i = 0; i < width; i++) {
			l->member[i].extent = world_uuid(2, w->l[k].m[i] + 1);
			l->member[i].late = w->l[k].late >> i & 1;
			l->ref[i].member = i;
		}
		l->segment[0] = (struct layout_segment) {
			.length = 1 << 20, .level = PROT_MIRROR, .data = width, .refs = width,
		};
		l->segment[1] = (struct layout_segment) { .start = 1 << 20, .length = 1 << 20 };
	}
}

static inline void world_record(struct truth *t, u8 layout)
{
	for (u32 k = 0; k < t->records; k++)
		if (records[k] == &object[layout])
			return;
	records[t->records++] = &object[layout];
}

/* What host @h has gathered. @know: its own store's layout as well. */
static inline struct truth world_truth(const struct world *w, const struct host *h, bool know)
{
	struct truth t = { .label = labels, .record = records };

	world_objects(w);
	for (u8 x = 0; x < EXT; x++) {
		if (!(h->see >> x & 1))
			continue;
		labels[t.labels++] = (struct truth_label) {
			.extent = world_uuid(2, x + 1), .holder = world_uuid(3, h->saw[x].holder),
			.version = h->saw[x].version, .commit = h->saw[x].commit, .ready = true,
		};
		if (h->saw[x].version)
			world_record(&t, h->saw[x].commit - 1);
	}
	if (know && h->store != NONE)
		world_record(&t, h->store);
	return t;
}

static inline void world_gather(const struct world *w, struct host *h)
{
	memset(h->saw, 0, sizeof(h->saw));
	h->see = 0;
	for (u8 x = 0; x < EXT; x++) {
		if (!w->e[x].is || w->e[x].where != HERE)
			continue;
		h->see |= BIT8(x);
		h->saw[x] = w->e[x];
	}
}

static inline u8 index_of(const struct layout *l)
{
	return l - object;
}

static inline u8 layout_set(const struct lay *l)
{
	u8 set = 0;

	for (u8 i = 0; i < width; i++)
		set |= BIT8(l->m[i]);
	return set;
}

/* Members of @k that were away when it was made, are back, and lack its record. */
static inline u8 lagging(const struct truth *t, u8 k)
{
	u8 lag = 0;

	for (u8 i = 0; i < width; i++)
		lag |= truth_lags(t, &object[k], i) ? BIT8(i) : 0;
	return lag;
}

static inline u8 unseen(const struct host *h, const struct lay *l)
{
	u8 late = 0;

	for (u8 i = 0; i < width; i++)
		late |= h->see >> l->m[i] & 1 ? 0 : BIT8(i);
	return late;
}

/* @like with another version and commit; -1: no room, and the search goes no further here. */
static inline int world_layout(struct world *w, const struct lay *like, u8 base, u64 version)
{
	struct lay *l = &w->l[w->layouts];

	if (w->layouts == LAYOUTS)
		return -1;
	*l = *like;
	l->version = version;
	l->base = base;
	l->used = 0;
	return w->layouts++;
}

static inline bool label_same(const struct label *a, const struct label *b)
{
	return a->version == b->version && a->commit == b->commit && a->holder == b->holder;
}

/* RECORD_PUT at its target. */
static inline bool world_put(struct world *w, u8 self, u8 x, u8 layout, const struct label *believed)
{
	struct label *e = &w->e[x];

	if (!e->is || e->where != HERE)
		return false;
	if (e->commit == layout + 1)
		return true;
	if ((e->holder && e->holder != self) || !label_same(e, believed) ||
	    w->l[layout].version <= e->version)
		return false;
	e->version = w->l[layout].version;
	e->commit = layout + 1;
	e->holder = self;
	return true;
}

/* Whether @k was made from what is on the members of @used, over whatever versions. */
static inline bool descends(const struct world *w, u8 k, u8 used)
{
	while (memcmp(w->l[k].m, w->l[used].m, sizeof(w->l[k].m)) && w->l[k].base != k)
		k = w->l[k].base;
	return !memcmp(w->l[k].m, w->l[used].m, sizeof(w->l[k].m));
}

/*
 * A kernel serves with layout @k: nothing that one has used before is forgotten. @ahead: a label
 * says more than @k, so that meshd gives it a later one before anything uses the device.
 */
static inline void world_used(struct world *w, u8 k, bool ahead)
{
	if (w->last && w->last != k + 1 && !descends(w, k, w->last - 1))
		wrong = "a layout that a kernel has used is forgotten";
	if (w->grown && !w->l[k].grown && !ahead)
		wrong = "what was appended is lost";
	w->grown |= w->l[k].grown;
	w->l[k].used = 1;
	w->last = k + 1;
}

static inline u8 bits(u8 set)
{
	return __builtin_popcount(set);
}

/* All labels, of drives that are away too. */
static inline struct truth_pick world_whole(const struct world *w)
{
	struct host all = { .store = NONE };
	struct truth t;

	for (u8 x = 0; x < EXT; x++) {
		if (!w->e[x].is || w->e[x].where == DEAD)
			continue;
		all.see |= BIT8(x);
		all.saw[x] = w->e[x];
	}
	t = world_truth(w, &all, false);
	return truth_pick(&t);
}

/* FREE at its target, which believes what the requester has seen. */
static inline bool world_free(struct world *w, u8 self, u8 x, const struct label *believed)
{
	struct label *e = &w->e[x];
	struct truth_pick p;

	if (e->where != HERE)
		return false;
	if (!e->is)
		return true;
	if ((e->holder && e->holder != self) || !label_same(e, believed))
		return false;
	p = world_whole(w);
	if (w->in_sync >> x & 1)
		wrong = "an extent that has all writes is freed";
	if (p.layout && layout_set(&w->l[index_of(p.layout)]) >> x & 1)
		wrong = "a member of the layout that counts is freed";
	memset(e, 0, sizeof(*e));
	return true;
}

/* What a kernel has open of its layout, and whether that serves; members out are left out. */
static inline void kernel_turn(struct world *w, u8 n, bool stale)
{
	struct host *h = &w->h[n];
	const struct lay *k = h->kern ? &w->l[h->kern - 1] : NULL;
	bool ahead = false;
	u8 open = 0, have;

	if (!k)
		return;
	/* Another host has attached it since: no number of this one is let in. */
	if (h->up && w->writer != n + 1) {
		h->open = 0;
		return;
	}
	for (u8 i = 0; i < width; i++) {
		const struct label *e = &w->e[k->m[i]];
		u8 bit = BIT8(k->m[i]);

		if (!e->is || e->where != HERE || (e->holder && e->holder != n + 1))
			continue;
		/* Once up, it opens what is back, and at the version that follow() gave it. */
		if (h->open & bit || (h->up && (e->version == k->version ||
						(e->version > k->version && e->holder == n + 1 &&
						 h->kern == h->store + 1))))
			open |= bit;
	}
	h->open = open;
	have = open & w->in_sync;
	if (bits(have) < needs)
		return;
	if (!h->up && have != w->in_sync && bits(w->in_sync & ~open) >= needs && w->writer != n + 1 && !stale)
		return;
	for (u8 x = 0; x < EXT; x++)
		if (open >> x & 1) {
			w->e[x].holder = n + 1;
			w->e[x].served = 1;
			ahead = ahead || w->e[x].version > k->version;
		}
	h->up = 1;
	w->writer = n + 1;
	w->in_sync = open;
	world_used(w, h->kern - 1, ahead);
}

#endif
