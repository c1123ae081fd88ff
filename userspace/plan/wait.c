// SPDX-License-Identifier: GPL-2.0-only
#include "userspace/plan/wait.h"

static enum plan_wait_for progress(struct plan_wait *w, enum plan_wait_for what, u64 done, u64 total)
{
	w->done = done < total ? done : total;
	w->total = total;
	return what;
}

/* Members that are given data, or are waited for. */
static enum plan_wait_for behind(struct plan_wait *w, const struct plan_work *k, u8 health, u64 now_ms)
{
	w->most = k->behind > w->most ? k->behind : w->most;
	if (k->behind != w->behind || !w->since_ms || !k->unread_bytes)
		w->since_ms = now_ms;
	w->behind = k->behind;
	if (health <= PLAN_WHOLE)
		return PLAN_WAIT_DONE;
	if (k->unread_bytes && now_ms - w->since_ms >= PLAN_STUCK_MS)
		return progress(w, PLAN_WAIT_STUCK, 0, 0);
	return progress(w, health == PLAN_REBUILDING ? PLAN_WAIT_REBUILD : PLAN_WAIT_GROUPS, w->most - k->behind,
			w->most);
}

enum plan_wait_for plan_wait(struct plan_wait *w, const struct plan_work *k, bool groups, u64 now_ms)
{
	/* It is being attached. */
	u8 health = groups && k->health == PLAN_UNSEEN ? PLAN_DOWN : k->health;
	enum plan_wait_for what = behind(w, k, health, now_ms);

	if (what != PLAN_WAIT_DONE)
		return what;
	if (k->copies)
		return progress(w, PLAN_WAIT_COPY, k->copied, k->copies);
	if (k->scrubs)
		return progress(w, PLAN_WAIT_SCRUB, k->scrubbed, k->bytes);
	return progress(w, PLAN_WAIT_DONE, 0, 0);
}
