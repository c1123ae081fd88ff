// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>

#include "userspace/plan/remove.h"

static bool has_data(const struct plan_remove *r)
{
	for (u32 i = 0; i < r->drives; i++) {
		if (r->drive[i].extents)
			return true;
	}
	return false;
}

static void refuse(struct plan_remove_step *s, enum plan_remove_why why)
{
	s->what = PLAN_R_FAIL;
	s->why = why;
}

static void begin(const struct plan_remove *r, struct plan_remove_step *s)
{
	if (r->host->role == PLAN_STORE && !r->stores)
		refuse(s, PLAN_R_LAST);
	else if (r->lost && r->alive)
		refuse(s, PLAN_R_ALIVE);
	else if (!r->lost && has_data(r))
		refuse(s, PLAN_R_DATA);
	else
		s->what = PLAN_R_TOMB;
}

static void drives(const struct plan_remove *r, struct plan_remove_step *s)
{
	if (r->forgets)
		return;
	s->what = PLAN_R_END;
	for (u32 i = 0; i < r->drives; i++) {
		if (r->drive[i].wanted == PLAN_FORGOTTEN)
			continue;
		s->what = PLAN_R_FORGET;
		s->drive = r->drive[i].uuid;
		return;
	}
}

void plan_remove(const struct plan_remove *r, struct plan_remove_step *s)
{
	memset(s, 0, sizeof(*s));
	s->what = PLAN_R_WAIT;
	if (r->stopped)
		return;
	if (!r->host)
		refuse(s, PLAN_R_NONE);
	else if (r->cancel)
		s->what = PLAN_R_END;
	else if (!r->host->removed)
		begin(r, s);
	else if (r->wants)
		s->what = PLAN_R_WANTS;
	else
		drives(r, s);
}
