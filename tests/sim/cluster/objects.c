// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>

#include "tests/sim/cluster/objects.h"

struct muuid id_of_host(int h)
{
	return (struct muuid) { .b = { 'h', h + 1 } };
}

int host_of(const struct muuid *u)
{
	return u->b[0] == 'h' ? u->b[1] - 1 : -1;
}

struct muuid id_of_extent(u8 x)
{
	return x ? (struct muuid) { .b = { 'x', x } } : (struct muuid) { 0 };
}

struct muuid id_of_volume(bool other)
{
	return (struct muuid) { .b = { 'v', other ? 2 : 1 } };
}

static struct muuid id_of_drive(int d)
{
	return (struct muuid) { .b = { 'd', d + 1 } };
}

u64 number_of(u16 num)
{
	return mesh_number(num >> 12, num >> 6 & 63, num & 63);
}

u16 number_packed(u64 number)
{
	return mesh_number_generation(number) << 12 | mesh_number_counter(number) << 6 |
	       mesh_number_restart(number);
}

void layout_object(struct layout_object *o, const struct lay *l)
{
	u32 n = 0;

	for (u32 p = 0; p < PLACES; p++) {
		if (!l->pl[p])
			continue;
		o->place[p] = (struct plan_place) { .extent = id_of_extent(l->pl[p]),
						    .drive = id_of_drive(drive_of(l->pl[p])),
						    .group = PLAN_NO_GROUP };
		n = p + 1;
	}
	o->l = (struct plan_layout) { .version = l->ver, .commit = l->com, .places = n,
				      .place = o->place };
}

void volume_object(struct volume_object *o, const struct store *s, bool other)
{
	static const struct lay empty = { .ver = 1 };

	o->exists = other || s->vst;
	layout_object(&o->l, other ? &empty : &s->lay);
	o->v = (struct plan_volume) { .uuid = id_of_volume(other), .layout = o->l.l,
				      .state = other ? PLAN_VOLUME_READY : s->vst };
	o->a = (struct plan_access) { .mode = PLAN_NONE };
	o->r = (struct plan_rosters) { .number = 0, .committed = true };
	if (!other) {
		o->a.mode = s->mode;
		o->a.clean = s->clean;
		o->a.number = number_of(s->num);
		if (s->holder)
			o->a.holder = id_of_host(s->holder - 1);
		o->r.number = number_of(s->rep_num);
		o->r.version = s->rep_ver;
	}
	o->c = (struct plan_cluster) { .generation = s->gen };
}

void slot_object(struct plan_slot *o, const struct drive *d)
{
	*o = (struct plan_slot) {
		.extent = id_of_extent(d->x), .volume = id_of_volume(is_other(d->x)),
		.number = number_of(d->num), .version = d->ver, .commit = d->com,
		.record_version = d->rec.ver, .record_commit = d->rec.com, .zeroed = d->zeroed,
	};
	if (d->att)
		o->attacher = id_of_host(d->att - 1);
}

void extent_object(struct plan_extent *o, const struct key *k)
{
	*o = (struct plan_extent) {
		.uuid = id_of_extent(k->x), .volume = id_of_volume(is_other(k->x)), .state = k->st,
		.version = k->ver, .commit = k->com,
	};
}

void record_object(struct plan_attached *o, struct layout_object *l, const struct host *x)
{
	layout_object(l, &x->rc_lay);
	*o = (struct plan_attached) { .volume = id_of_volume(false), .mode = x->rc_mode,
				      .number = number_of(x->rc_num), .layout = l->l };
}
