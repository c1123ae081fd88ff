// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a client is believed: it may say what it likes, so it gets back what is on its own local drives,
 * and changes nothing of what the store or other hosts have. See recover.h.
 */
#include "userspace/agent/recover.h"

static const struct obj_drive *stored(const struct recover *r, const struct muuid *drive)
{
	return copy_obj(r->copy, &(struct key) { .kind = KEY_DRIVE, .drive = *drive });
}

static bool is_local_of(const struct obj_drive *d, const struct muuid *host)
{
	return d->local && muuid_equal(&d->plan.host, host);
}

bool recover_counts_drive(const struct recover *r, const struct obj_report *o)
{
	const struct obj_drive *d = stored(r, &o->about);

	return o->role != PLAN_CLIENT || (o->local && (!d || is_local_of(d, &o->host)));
}

/* False: another host has that drive. */
static bool is_own_drive(const struct recover *r, const struct recover_plan *p, const struct muuid *drive,
			 const struct muuid *host)
{
	const struct obj_drive *d = stored(r, drive);

	if (d)
		return is_local_of(d, host);
	for (u32 i = 0; i < p->drives; i++) {
		if (muuid_equal(&p->drive[i]->about, drive))
			return muuid_equal(&p->drive[i]->host, host);
	}
	return true;
}

static bool is_on_own(const struct recover *r, const struct recover_plan *p, const struct layout *l,
		      const struct muuid *host)
{
	for (u32 i = 0; i < l->members; i++) {
		if (!muuid_equal(&l->member[i].target, host) || !is_own_drive(r, p, &l->member[i].drive, host))
			return false;
	}
	return true;
}

bool recover_counts_record(const struct recover *r, const struct recover_plan *p, const struct recover_volume *v,
			   const struct obj_report *o)
{
	if (!o->record || o->role != PLAN_CLIENT)
		return o->record;
	if (!is_on_own(r, p, o->record, &o->host))
		return false;
	return v->has ? is_on_own(r, p, v->has->record, &o->host) : !v->elsewhere;
}

bool recover_counts_slot(const struct recover *r, const struct recover_volume *v, const struct obj_report *o,
			 const struct plan_slot *s)
{
	const struct obj_drive *d = stored(r, &o->about);

	if (o->role != PLAN_CLIENT || !v->elsewhere)
		return true;
	for (u32 i = 0; d && i < d->plan.extents; i++) {
		if (muuid_equal(&d->plan.extent[i].uuid, &s->extent))
			return true;
	}
	return false;
}

const struct plan_slot *recover_highest(const struct recover_volume *v)
{
	const struct plan_slot *best = NULL;

	for (u32 i = 0; i < v->in.nr; i++) {
		const struct plan_slot *s = v->found[i].slot;

		if (s->number && (!best || s->number > best->number))
			best = s;
	}
	return best;
}

/* The access key may be of this run already: its generation says nothing. */
static bool is_near(const struct recover_plan *p, const struct recover_volume *v, u64 number)
{
	const struct plan_slot *s = recover_highest(v);
	u64 label = s ? s->number : 0, access = v->access ? v->access->plan.number : 0;
	u64 generation = mesh_number_generation(label), counter = mesh_number_counter(label);

	if (p->cluster && p->cluster->plan.generation > generation)
		generation = p->cluster->plan.generation;
	if (mesh_number_counter(access) > counter)
		counter = mesh_number_counter(access);
	return mesh_number_generation(number) <= generation &&
	       mesh_number_counter(number) <= counter + MESH_NUMBER_COUNTER_STEP;
}

bool recover_counts_writer(const struct recover_plan *p, const struct recover_volume *v, const struct obj_report *o)
{
	const struct plan_slot *s = recover_highest(v);

	if (o->role != PLAN_CLIENT)
		return true;
	if (!is_near(p, v, o->number))
		return false;
	if (!v->has)
		return s && muuid_equal(&s->attacher, &o->host);
	for (u32 i = 0; i < v->has->plan.allows; i++) {
		if (muuid_equal(&v->has->plan.allow[i], &o->host))
			return true;
	}
	return !v->has->plan.allows;
}
