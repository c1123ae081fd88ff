// SPDX-License-Identifier: GPL-2.0-only
/*
 * What drive/D adds to a host's record, so that an attach without the store gives the kernel the same:
 *
 *   leaving    extents that rosters may have in sync, and the layout does not name
 *   left       where these are
 *   forgotten  places of groups whose extents were given up
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/agent/attach_in.h"
#include "userspace/plan/forget.h"
#include "userspace/plan/members.h"

/* All drives that can be read. NULL: no memory. To be freed. */
static struct plan_drive *drives(const struct attach_vol *v, u32 *n)
{
	const struct key all = { .kind = KEY_DRIVE };
	const struct copy_item *i = NULL;
	struct plan_drive *out;
	u32 room = 1;

	while ((i = copy_next(v->a->copy, &all, 0, i)))
		room++;
	out = calloc(room, sizeof(*out));
	*n = 0;
	while (out && (i = copy_next(v->a->copy, &all, 0, i))) {
		if (i->obj)
			out[(*n)++] = ((const struct obj_drive *)i->obj)->plan;
	}
	return out;
}

/* One for each place, which has a member of a group. */
static void add(const struct obj_volume *x, struct obj_leaving *out, u32 *n, const struct plan_extent *e)
{
	const struct plan_layout *l = &x->plan.layout;

	if (e->place >= l->places || l->place[e->place].group == PLAN_NO_GROUP)
		return;
	for (u32 i = 0; i < *n; i++) {
		if (out[i].place == e->place)
			return;
	}
	out[(*n)++] = (struct obj_leaving) { .place = e->place, .extent = e->uuid };
}

int attach_leavings(const struct attach_vol *v, const struct attach_objects *o, struct obj_leaving **out,
		    u32 *n)
{
	const struct obj_volume *x = o->volume;
	u32 places = x->plan.layout.places, count, members;
	struct plan_member *m = calloc(places + 1, sizeof(*m));
	struct plan_drive *d = drives(v, &count);

	*n = x->leavings;
	*out = calloc(x->leavings + places + 1, sizeof(**out));
	if (!m || !d || !*out) {
		free(m);
		free(d);
		return -ENOMEM;
	}
	for (u32 i = 0; i < x->leavings; i++)
		(*out)[i] = x->leaving[i];
	members = plan_attach_members(&x->plan, d, count, m, places);
	for (u32 i = 0; i < members && i < places; i++)
		add(x, *out, n, m[i].extent);
	free(m);
	free(d);
	return 0;
}

/* The drive that has the extent. @unread: a drive that cannot be read might. */
static const struct obj_drive *drive_of(const struct attach_vol *v, const struct muuid *extent, u64 *length,
					bool *unread)
{
	const struct key all = { .kind = KEY_DRIVE };
	const struct copy_item *i = NULL;

	*unread = false;
	while ((i = copy_next(v->a->copy, &all, 0, i))) {
		const struct obj_drive *d = i->obj;

		*unread = *unread || !d;
		for (u32 e = 0; d && e < d->plan.extents; e++) {
			if (!muuid_equal(&d->plan.extent[e].uuid, extent))
				continue;
			*length = d->plan.extent[e].length;
			return d;
		}
	}
	return NULL;
}

static void place_left(const struct attach_vol *v, const struct obj_drive *d, struct layout_member *out)
{
	const struct obj_host *h = copy_obj(v->a->copy, &(struct key) { .kind = KEY_HOST,
					    .host = d->plan.host });

	out->target = d->plan.host;
	out->drive = d->plan.uuid;
	out->kind = d->local ? LAYOUT_KIND_BDEV : LAYOUT_KIND_RDDA;
	if (h && h->addresses) {
		snprintf(out->addr, sizeof(out->addr), "%s", h->address[0].addr);
		out->port = h->address[0].port;
	}
}

/* Of an extent that no drive has any more the record keeps what it had. */
static bool was_left(const struct attach_vol *v, const struct muuid *extent, struct layout_member *out)
{
	for (u32 i = 0; v->rec_has && i < v->rec.lefts; i++) {
		if (!muuid_equal(&v->rec.left[i].extent, extent))
			continue;
		*out = v->rec.left[i];
		return true;
	}
	return false;
}

u32 attach_lefts(const struct attach_vol *v, const struct obj_leaving *leaving, u32 n, struct layout_member *out)
{
	u32 lefts = 0;

	for (u32 i = 0; i < n; i++) {
		struct layout_member m = { .extent = leaving[i].extent };
		const struct obj_drive *d;
		bool unread;

		d = drive_of(v, &m.extent, &m.size, &unread);
		if (d)
			place_left(v, d, &m);
		else if (!was_left(v, &m.extent, &m))
			continue;
		out[lefts++] = m;
	}
	return lefts;
}

/* Of a layout's extent, whose drive is known. False where the drive cannot be read. */
static bool member_gone(const struct attach_vol *v, const struct plan_place *p)
{
	const struct copy_item *i = copy_get(v->a->copy, &(struct key) { .kind = KEY_DRIVE, .drive = p->drive });
	const struct obj_drive *d = i ? i->obj : NULL;

	return (!i || d) && plan_forgotten(d ? &d->plan : NULL, &p->extent);
}

static bool leaving_gone(const struct attach_vol *v, const struct muuid *extent)
{
	const struct obj_drive *d;
	bool unread;
	u64 length;

	d = drive_of(v, extent, &length, &unread);
	return !unread && plan_forgotten(d ? &d->plan : NULL, extent);
}

/* A place with two extents is forgotten when both are: the kernel knows places alone. */
static bool place_gone(const struct attach_vol *v, const struct plan_place *p)
{
	return p->group != PLAN_NO_GROUP && member_gone(v, p) &&
	       (muuid_null(&p->leaving) || leaving_gone(v, &p->leaving));
}

int attach_facts(const struct attach_vol *v, struct obj_attached *r)
{
	const struct plan_layout *l = &r->plan.layout;
	u16 *forgotten = calloc(l->places + 1, sizeof(*forgotten));

	if (!forgotten)
		return -ENOMEM;
	r->plan.forgotten = forgotten;
	for (u32 i = 0; i < l->places; i++) {
		if (place_gone(v, &l->place[i]))
			forgotten[r->plan.forgottens++] = i;
	}
	r->left = calloc(r->leavings + 1, sizeof(*r->left));
	if (!r->left)
		return -ENOMEM;
	r->lefts = attach_lefts(v, r->leaving, r->leavings, r->left);
	return 0;
}
