// SPDX-License-Identifier: GPL-2.0-only
#include "userspace/plan/spare.h"

/* The holder has this layout, and said who is in sync. */
static bool known(const struct plan_spare *s)
{
	const struct plan_rosters *r = s->rosters;

	return s->access->mode == PLAN_RW && r && r->committed &&
	       mesh_number_access(r->number) == mesh_number_access(s->access->number) &&
	       r->version == s->volume->layout.version;
}

bool plan_spare_out(const struct plan_spare *s, u32 place)
{
	const struct plan_place *at = &s->volume->layout.place[place];

	return known(s) && at->group != PLAN_NO_GROUP && muuid_null(&at->leaving) &&
	       !plan_in_sync(s->rosters, s->access, &at->extent);
}

static u32 lacks(const struct plan_spare *s, u16 group)
{
	u32 n = 0;

	for (u32 i = 0; i < s->volume->layout.places; i++)
		n += s->volume->layout.place[i].group == group && plan_spare_out(s, i);
	return n;
}

static bool due(const struct plan_spare *s, u32 place)
{
	return s->away[place] && s->now >= s->away[place] && s->now - s->away[place] >= s->delay &&
	       plan_spare_out(s, place);
}

u32 plan_spare(const struct plan_spare *s)
{
	const struct plan_layout *l = &s->volume->layout;
	u32 best = PLAN_NO_PLACE, most = 0;

	if (s->stopped || s->busy || !s->left || s->volume->state != PLAN_VOLUME_READY)
		return PLAN_NO_PLACE;
	for (u32 i = 0; i < l->places; i++) {
		u32 n;

		if (!due(s, i))
			continue;
		n = lacks(s, l->place[i].group);
		if (n < most || (n == most && s->away[i] >= s->away[best]))
			continue;
		most = n;
		best = i;
	}
	return best;
}
