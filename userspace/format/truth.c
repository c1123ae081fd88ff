// SPDX-License-Identifier: GPL-2.0-only
#include <linux/kernel.h>
#include <linux/string.h>

#include "userspace/format/truth.h"

const struct truth_label *truth_find(const struct truth *t, const struct muuid *extent)
{
	u32 i;

	for (i = 0; i < t->labels; i++)
		if (muuid_equal(&t->label[i].extent, extent))
			return &t->label[i];
	return NULL;
}

static bool says(const struct truth_label *e, const struct layout *l)
{
	return e->version == l->version && e->commit == l->commit;
}

static bool witness(const struct truth_label *e, const struct layout *l)
{
	return e->version && (e->version < l->version ||
			      (e->version == l->version && e->commit != l->commit));
}

bool truth_objects(const struct truth *t, const struct layout *l, const struct muuid *extent)
{
	const struct truth_label *e = truth_find(t, extent);

	return e && layout_names(l, extent) && witness(e, l);
}

/* One that was away when @l was made, and has not been given its record since. */
static bool behind(const struct truth_label *e, const struct layout *l, u32 member)
{
	return l->member[member].late && e->version && e->version < l->version;
}

/* A record counts only if a label of one of its members confirms it. */
static bool confirmed(const struct truth *t, const struct layout *l)
{
	const struct truth_label *e;
	u32 i;

	for (i = 0; i < l->members; i++) {
		e = truth_find(t, &l->member[i].extent);
		if (e && says(e, l))
			return true;
	}
	return false;
}

static bool decided(const struct truth *t, const struct layout *l)
{
	const struct truth_label *e;
	u32 i;

	for (i = 0; i < l->members; i++) {
		e = truth_find(t, &l->member[i].extent);
		/* One that was away may have another record of the same version as well. */
		if (e && witness(e, l) && !l->member[i].late)
			return false;
	}
	return true;
}

/* The first member that was not seen, or that cannot be written; -1: none. */
static int missing(const struct truth *t, const struct layout *l)
{
	const struct truth_label *e;
	u32 i;

	for (i = 0; i < l->members; i++) {
		e = truth_find(t, &l->member[i].extent);
		if (!e || (!e->version && !e->ready))
			return i;
	}
	return -1;
}

static bool known(const struct truth *t, const struct truth_label *e)
{
	u32 i;

	for (i = 0; i < t->records; i++)
		if (says(e, t->record[i]))
			return true;
	return false;
}

/* A member whose label is later than @l and whose record was not found; -1: none. */
static int unreadable(const struct truth *t, const struct layout *l)
{
	const struct truth_label *e;
	u32 i;

	for (i = 0; i < l->members; i++) {
		e = truth_find(t, &l->member[i].extent);
		if (e && e->version > l->version && !known(t, e))
			return i;
	}
	return -1;
}

/* Before @than in the order of versions, and the next one to it. */
static const struct layout *next_lower(const struct truth *t, const struct layout *than)
{
	const struct layout *best = NULL, *l;
	u32 i;

	for (i = 0; i < t->records; i++) {
		l = t->record[i];
		if (than && (l->version > than->version ||
			     (l->version == than->version && l->commit >= than->commit)))
			continue;
		if (best && (l->version < best->version ||
			     (l->version == best->version && l->commit <= best->commit)))
			continue;
		if (confirmed(t, l))
			best = l;
	}
	return best;
}

struct truth_pick truth_pick(const struct truth *t)
{
	struct truth_pick p = { .verdict = TRUTH_NONE };
	const struct layout *l = NULL;
	int at;

	while ((l = next_lower(t, l))) {
		if (!decided(t, l)) {
			p.top = p.top ? p.top : l;
			continue;
		}
		p.layout = l;
		at = missing(t, l);
		p.verdict = at < 0 ? TRUTH_WHOLE : TRUTH_AWAY;
		if (at < 0) {
			at = unreadable(t, l);
			p.verdict = at < 0 ? TRUTH_WHOLE : TRUTH_BLIND;
		}
		p.member = at < 0 ? 0 : at;
		break;
	}
	return p;
}

bool truth_grows(const struct layout *old, const struct layout *next)
{
	u32 i;

	if (!muuid_equal(&old->volume, &next->volume) || next->size < old->size ||
	    next->members < old->members || next->segments < old->segments ||
	    next->refs < old->refs || next->lba != old->lba)
		return false;
	for (i = 0; i < old->members; i++)
		if (!muuid_equal(&old->member[i].extent, &next->member[i].extent))
			return false;
	for (i = 0; i < old->segments; i++) {
		const struct layout_segment *a = &old->segment[i], *b = &next->segment[i];

		if (a->start != b->start || a->length != b->length || a->level != b->level ||
		    a->strip != b->strip || a->data != b->data || a->parity != b->parity ||
		    a->groups != b->groups || a->refs != b->refs)
			return false;
	}
	for (i = 0; i < old->refs; i++)
		if (old->ref[i].member != next->ref[i].member ||
		    old->ref[i].offset != next->ref[i].offset)
			return false;
	return true;
}

bool truth_lags(const struct truth *t, const struct layout *l, u32 member)
{
	const struct truth_label *e = truth_find(t, &l->member[member].extent);

	return e && behind(e, l, member);
}

int truth_swapped(const struct layout *old, const struct layout *next)
{
	int at = -1;
	u32 i;

	if (old->members != next->members)
		return -1;
	for (i = 0; i < old->members; i++) {
		if (muuid_equal(&old->member[i].extent, &next->member[i].extent))
			continue;
		if (at >= 0)
			return -1;
		at = i;
	}
	return at;
}

enum truth_next truth_next(const struct truth *t, const struct truth_pick *p)
{
	enum truth_next next = TRUTH_SAME;
	const struct truth_label *e;
	u32 i;

	if (p->top)
		return missing(t, p->top) < 0 && truth_grows(p->layout, p->top) ?
		       TRUTH_COMPLETE : TRUTH_DISCARD;
	for (i = 0; i < p->layout->members; i++) {
		e = truth_find(t, &p->layout->member[i].extent);
		if (e && behind(e, p->layout, i))
			next = TRUTH_LATE;
		else if (e && e->version && !says(e, p->layout))
			return TRUTH_DISCARD;
	}
	return next;
}

u64 truth_version(const struct truth *t)
{
	u64 v = 0;
	u32 i;

	for (i = 0; i < t->labels; i++)
		v = t->label[i].version > v ? t->label[i].version : v;
	for (i = 0; i < t->records; i++)
		v = t->record[i]->version > v ? t->record[i]->version : v;
	return v + 1;
}

int truth_held(const struct truth *t, const struct layout *l, const struct muuid *self)
{
	const struct truth_label *e;
	u32 i;

	for (i = 0; i < l->members; i++) {
		e = truth_find(t, &l->member[i].extent);
		if (e && !muuid_null(&e->holder) && !muuid_equal(&e->holder, self))
			return i;
	}
	return -1;
}

enum truth_pending truth_pending(const struct truth *t, const struct layout *old,
				 const struct layout *next)
{
	bool ours = false, moved = false, all = true, beyond = true, due;
	const struct truth_label *e;
	u32 i;

	for (i = 0; i < next->members; i++) {
		e = truth_find(t, &next->member[i].extent);
		/* It was to be written: neither new nor left out. */
		due = layout_names(old, &next->member[i].extent) && !next->member[i].late;
		if (due)
			beyond = beyond && e && e->version > next->version;
		if (!e) {
			all = all && !due;
			continue;
		}
		ours = ours || says(e, next);
		/* Above ours, or ours in number alone: another writer went on. */
		moved = moved || e->version > next->version ||
			(e->version == next->version && !says(e, next));
	}
	if (ours && !moved)
		return PENDING_COMPLETE;
	/*
	 * Ours and another writer's later one: the volume's holder brings it to one
	 * record, and until then the new extents may be part of it. What every old member
	 * is beyond, by an undo that stopped before its last step say, comes back no more.
	 */
	return (ours && !beyond) || !all ? PENDING_WAIT : PENDING_DROP;
}

/* What an undo that went half way wrote: @old's content, beyond @next. */
static bool undone(const struct truth *t, const struct truth_label *e, const struct layout *old,
		   const struct layout *next)
{
	const struct layout *l;
	u32 i;

	for (i = 0; i < t->records; i++) {
		l = t->record[i];
		if (says(e, l) && l->version > next->version && truth_grows(old, l) &&
		    truth_grows(l, old))
			return true;
	}
	return false;
}

bool truth_undone(const struct truth *t, const struct muuid *extent, const struct layout *old,
		  const struct layout *next)
{
	const struct truth_label *e = truth_find(t, extent);

	return e && undone(t, e, old, next);
}

/* Its label is one that a change from @old to @next, or an undo of it, may have left. */
static bool undoable(const struct truth *t, const struct truth_label *e, const struct layout *old,
		     const struct layout *next, u32 member)
{
	return says(e, old) || says(e, next) || behind(e, old, member) || undone(t, e, old, next);
}

enum truth_undo truth_undo(const struct truth *t, const struct layout *old, const struct layout *next,
			   const struct muuid *self)
{
	bool lost = false, before = false, ours = true, any = false, due;
	int swapped = truth_swapped(old, next);
	const struct truth_label *e;
	u32 i;

	for (i = 0; i < old->members; i++) {
		/* @next is decided without the others, whatever their labels say. */
		due = (int)i != swapped && !next->member[i].late;
		e = truth_find(t, &old->member[i].extent);
		if (!e && !due)
			continue;
		if (!e || !undoable(t, e, old, next, i))
			return UNDO_NEVER;
		any = any || due;
		before = before || (due && says(e, old));
		ours = ours && (!due || muuid_equal(&e->holder, self));
	}
	for (i = 0; i < next->members; i++)
		lost = lost || !truth_find(t, &next->member[i].extent);
	if (!lost || !any)
		return UNDO_NEVER;
	if (truth_held(t, old, self) >= 0)
		return UNDO_HELD;
	return before || ours ? UNDO_FREE : UNDO_USED;
}

bool truth_half_made(const struct truth *t, const struct muuid *extent)
{
	const struct truth_label *e = truth_find(t, extent);
	struct truth_pick p = truth_pick(t);
	const struct layout *l;
	bool out;		/* the layout that counts does not name it */
	u32 i;

	if (e && e->version)
		return false;
	out = p.verdict == TRUTH_WHOLE && !layout_names(p.layout, extent);
	for (i = 0; i < t->records; i++) {
		l = t->record[i];
		if (layout_names(l, extent) && confirmed(t, l) && !(out && l->version < p.layout->version))
			return true;
	}
	return false;
}
