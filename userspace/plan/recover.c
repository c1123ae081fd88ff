// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>

#include "userspace/plan/mutant.h"
#include "userspace/plan/recover.h"

/* Highest version among the store's layout and the records; NULL: there is none. */
static const struct plan_layout *best_layout(const struct plan_recover *r)
{
	const struct plan_layout *best = r->volume ? &r->volume->layout : NULL;

	for (u32 i = 0; i < r->nr; i++) {
		const struct plan_layout *l = r->found[i].record;

		if (l && (!best || l->version > best->version))
			best = l;
	}
	return best;
}

static u64 highest_label_version(const struct plan_recover *r)
{
	u64 version = 0;

	for (u32 i = 0; i < r->nr; i++) {
		if (r->found[i].slot->version > version)
			version = r->found[i].slot->version;
	}
	return version;
}

/* Counters of all generations count: a label of an older one may be above within its own. */
static u64 highest_counter(const struct plan_recover *r, struct muuid *attacher)
{
	u64 counter = mesh_number_counter(r->served), number = 0;

	if (r->access && mesh_number_counter(r->access->number) > counter)
		counter = mesh_number_counter(r->access->number);
	for (u32 i = 0; i < r->nr; i++) {
		const struct plan_slot *s = r->found[i].slot;

		if (mesh_number_counter(s->number) > counter)
			counter = mesh_number_counter(s->number);
		if (s->number >= number) {
			number = s->number;
			*attacher = s->attacher;
		}
	}
	return counter;
}

static bool place_found(const struct plan_recover *r, const struct plan_place *p)
{
	for (u32 i = 0; i < r->nr; i++) {
		if (muuid_equal(&r->found[i].slot->extent, &p->extent))
			return true;
	}
	return false;
}

/* Places that were not found; @lone: of these, such without redundancy. */
static u32 absent(const struct plan_recover *r, const struct plan_layout *l, u32 *lone)
{
	u32 n = 0;

	*lone = 0;
	for (u32 i = 0; i < l->places; i++) {
		if (muuid_null(&l->place[i].extent) || place_found(r, &l->place[i]))
			continue;
		n++;
		*lone += l->place[i].group == PLAN_NO_GROUP;
	}
	return n;
}

u32 plan_recover_generation(u32 store, const u32 *seen, u32 nr)
{
	u32 highest = store;

	for (u32 i = 0; i < nr && !plan_mutant(PLAN_MUT_RECOVER_GENERATION); i++)
		highest = seen[i] > highest ? seen[i] : highest;
	return highest < MESH_NUMBER_GENERATION_MAX ? highest + 1 : 0;
}

enum plan_verdict plan_recover(const struct plan_recover *r, struct plan_recovered *out)
{
	const struct plan_layout *l = best_layout(r);
	struct muuid attacher = { 0 };
	u64 counter;
	u32 lone;

	if (!l || (highest_label_version(r) > l->version && !plan_mutant(PLAN_MUT_RECOVER_VERSION)))
		return PLAN_MISSING;
	memset(out, 0, sizeof(*out));
	out->layout = l;
	out->absent = absent(r, l, &lone);
	if (lone && !r->partly && !plan_mutant(PLAN_MUT_RECOVER_PART))
		return PLAN_MISSING;
	counter = highest_counter(r, &attacher);
	if (counter == MESH_NUMBER_COUNTER_MAX || r->generation > MESH_NUMBER_GENERATION_MAX)
		return PLAN_EXHAUSTED;
	out->access.number = mesh_number(r->generation, counter + 1, 0);
	if (plan_mutant(PLAN_MUT_RECOVER_NUMBER))
		out->access.number = r->access ? r->access->number : 0;
	if (plan_mutant(PLAN_MUT_RECOVER_HOLDER) && !muuid_null(&attacher)) {
		out->access.mode = PLAN_RW;
		out->access.holder = attacher;
		out->access.number = mesh_number(r->generation, counter, 0);
	}
	out->rosters = plan_mutant(PLAN_MUT_RECOVER_ROSTERS);
	return PLAN_GO;
}

/* Highest generation and counter that a label has noted. */
static u64 label_access(const struct plan_recover *r)
{
	u64 number = 0;

	for (u32 i = 0; i < r->nr; i++) {
		if (mesh_number_access(r->found[i].slot->number) > number)
			number = mesh_number_access(r->found[i].slot->number);
	}
	return number;
}

static bool was_opened(const struct plan_recover *r)
{
	return label_access(r) || r->served;
}

static bool drive_seen(const struct plan_recover *r, const struct muuid *drive)
{
	for (u32 i = 0; i < r->seens; i++) {
		if (muuid_equal(&r->seen[i], drive))
			return true;
	}
	return false;
}

bool plan_recover_gone(const struct plan_recover *r)
{
	const struct plan_layout *l = r->volume ? &r->volume->layout : NULL;

	if (!l || r->volume->state != PLAN_VOLUME_READY || r->nr || r->served)
		return false;
	for (u32 i = 0; i < l->places; i++) {
		if (!muuid_null(&l->place[i].extent) && !drive_seen(r, &l->place[i].drive))
			return false;
	}
	return true;
}

u8 plan_recover_state(const struct plan_recover *r)
{
	if (!r->volume || (r->volume->state == PLAN_CREATING && was_opened(r)))
		return PLAN_VOLUME_READY;
	return r->volume->state;
}

bool plan_recover_fresh(const struct plan_recover *r, bool fresh)
{
	return fresh && !was_opened(r);
}

const struct plan_claim *plan_recover_writer(const struct plan_recover *r, const struct plan_claim *claim, u32 nr)
{
	const struct plan_claim *best = NULL;
	u64 labels = label_access(r);

	for (u32 i = 0; i < nr; i++) {
		const struct plan_claim *c = &claim[i];

		if (c->mode != PLAN_RW || mesh_number_access(c->number) < labels)
			continue;
		if (!best || mesh_number_access(c->number) > mesh_number_access(best->number) ||
		    (mesh_number_access(c->number) == mesh_number_access(best->number) && c->serves && !best->serves))
			best = c;
	}
	return best;
}

u8 plan_recover_extent(const struct plan_extent *key, const struct plan_slot *slot, bool seen, bool named)
{
	if (seen) {
		if (!slot)
			return 0;
		return slot->zeroed ? PLAN_READY : PLAN_WANTED;
	}
	if (named)
		return PLAN_READY;
	return key && plan_mutant(PLAN_MUT_RECOVER_KEYS) ? key->state : 0;
}
