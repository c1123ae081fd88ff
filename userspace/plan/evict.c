// SPDX-License-Identifier: GPL-2.0-only
#include "userspace/plan/evict.h"

static enum plan_evict_what judge(const struct plan_place *next, const struct plan_copy *c)
{
	/* The kernel has the version, or the place is new to it. */
	if (!muuid_equal(&c->member, &next->leaving))
		return PLAN_E_SET;
	if (!muuid_null(&c->to) && !muuid_equal(&c->to, &next->extent))
		return PLAN_E_STOP;
	if (c->role == PLAN_COPY_OUT)
		return PLAN_E_SET;
	if (!muuid_null(&c->to))
		return c->bytes && c->copied == c->bytes ? PLAN_E_SET : PLAN_E_WAIT;
	return c->role == PLAN_COPY_IN_SYNC ? PLAN_E_COPY : PLAN_E_WAIT;
}

void plan_evict(const struct plan_layout *next, const struct plan_copy *copy,
		struct plan_evict_step *s)
{
	*s = (struct plan_evict_step) { .what = PLAN_E_SET };
	for (u32 i = 0; i < next->places; i++) {
		enum plan_evict_what what;

		if (muuid_null(&next->place[i].leaving))
			continue;
		what = judge(&next->place[i], &copy[i]);
		if (!muuid_null(&copy[i].to)) {
			s->copied += copy[i].copied;
			s->bytes += copy[i].bytes;
		}
		if (what > s->what) {
			s->what = what;
			s->place = i;
		}
	}
}
