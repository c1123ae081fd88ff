// SPDX-License-Identifier: GPL-2.0-only
#include "userspace/plan/health.h"

static bool is_down(struct plan_health_was *w, const struct plan_health_now *n)
{
	if (n->stuck == n->groups) {
		w->served = n->groups;
		w->fell_ms = w->stuck_ms = 0;
		return false;
	}
	if (n->stuck >= w->served)
		w->fell_ms = 0;
	else if (!w->fell_ms)
		w->fell_ms = n->ms;
	if (!w->stuck_ms)
		w->stuck_ms = n->ms;
	return w->health == PLAN_DOWN || n->waits || (w->fell_ms && n->ms - w->fell_ms >= PLAN_DOWN_MS) ||
	       n->ms - w->stuck_ms >= PLAN_FIRST_MS;
}

static u32 fell(struct plan_health_was *w)
{
	u32 events = w->health == PLAN_DOWN ? 0 : PLAN_EV_DOWN;

	w->health = PLAN_DOWN;
	w->joining = false;
	return events;
}

static u32 members(struct plan_health_was *w, const struct plan_health_now *n)
{
	u32 events = 0;

	if (is_down(w, n))
		return fell(w);
	if (!n->known)
		return 0;
	if (n->out && n->named) {
		events |= PLAN_EV_DEGRADED;
		w->health = PLAN_DEGRADED;
	}
	/* It serves, so its next end is another event. */
	if (w->health == PLAN_DOWN && !n->sound)
		w->health = PLAN_DEGRADED;
	if (n->joins && !w->joining && n->named) {
		events |= PLAN_EV_REBUILDING;
		w->joining = true;
		w->health = PLAN_REBUILDING;
	}
	w->joining = w->joining && n->joins;
	if (n->sound && w->health != PLAN_WHOLE) {
		events |= PLAN_EV_HEALED;
		w->health = PLAN_WHOLE;
	}
	return events;
}

/* An end that was before the first pass may have been reported by the daemon of then. */
static u32 scrub(struct plan_health_was *w, const struct plan_health_now *n)
{
	bool ended = !n->scrubs && w->seen && n->mismatches && (w->scrubs || n->mismatches != w->mismatches);

	w->scrubs = n->scrubs;
	if (!n->scrubs)
		w->mismatches = n->mismatches;
	return ended ? PLAN_EV_MISMATCHES : 0;
}

/* A copy that is begun again, and ends for the same reason, is no further event. */
static u32 evict(struct plan_health_was *w, const struct plan_health_now *n)
{
	bool ended = w->seen && !n->evicts && n->evict_why && n->evict_why != w->evict_why;

	if (!n->evicts)
		w->evict_why = n->evict_why;
	return ended ? PLAN_EV_EVICT : 0;
}

u32 plan_health(struct plan_health_was *was, const struct plan_health_now *now)
{
	u32 events;

	if (was->health == PLAN_UNSEEN)
		was->health = PLAN_WHOLE;
	events = members(was, now) | scrub(was, now) | evict(was, now);
	was->seen = true;
	return events;
}
