// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>

#include "userspace/plan/drain.h"

static const struct plan_drain_volume *volume_of(const struct plan_drain *d, const struct muuid *uuid)
{
	for (u32 i = 0; i < d->volumes; i++) {
		if (muuid_equal(&d->volume[i].volume->uuid, uuid))
			return &d->volume[i];
	}
	return NULL;
}

/* The place of the extent in the layout; the number of places: it is no member. */
static u32 place_of(const struct plan_layout *l, const struct muuid *extent)
{
	u32 i = 0;

	while (i < l->places && !muuid_equal(&l->place[i].extent, extent))
		i++;
	return i;
}

/* One extent of the drive: @s becomes its eviction, or the reason why not. */
static void judge(const struct plan_drain *d, const struct plan_extent *x, struct plan_drain_step *s)
{
	const struct plan_drain_volume *v = volume_of(d, &x->volume);

	*s = (struct plan_drain_step) { .what = PLAN_D_WAIT, .why = PLAN_D_FREED, .volume = x->volume };
	if (!v || x->state != PLAN_READY || v->volume->state != PLAN_VOLUME_READY)
		return;
	s->place = place_of(&v->volume->layout, &x->uuid);
	if (s->place == v->volume->layout.places)
		return;
	if (v->volume->layout.place[s->place].group == PLAN_NO_GROUP)
		s->why = PLAN_D_ALONE;
	else if (v->busy)
		s->why = PLAN_D_RUNS;
	else if (v->refused)
		s->why = PLAN_D_REFUSED;
	else if (!plan_in_sync(v->rosters, v->access, &x->uuid))
		s->why = PLAN_D_DETACHED;
	else
		s->what = PLAN_D_EVICT;
}

static void members(const struct plan_drain *d, struct plan_drain_step *s)
{
	struct plan_drain_step first = { .what = PLAN_D_OUT }, at;

	for (u32 i = 0; i < d->drive->extents; i++) {
		judge(d, &d->drive->extent[i], &at);
		if (!i || at.what == PLAN_D_EVICT)
			first = at;
		if (at.what == PLAN_D_EVICT)
			break;
	}
	*s = first;
}

void plan_drain(const struct plan_drain *d, struct plan_drain_step *s)
{
	memset(s, 0, sizeof(*s));
	s->why = PLAN_D_STOPPED;
	if (d->stopped)
		return;
	if (!d->drive || d->drive->wanted == PLAN_FORGOTTEN) {
		s->what = PLAN_D_FAIL;
	} else if (d->cancel) {
		s->what = PLAN_D_BACK;
	} else if (d->drive->wanted == PLAN_IN) {
		s->what = PLAN_D_BEGIN;
	} else if (d->running) {
		s->why = PLAN_D_RUNS;
	} else {
		members(d, s);
	}
}
