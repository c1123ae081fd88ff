// SPDX-License-Identifier: GPL-2.0-only
/*
 * Events of a volume's health: each state that was, with each pass that may follow, against what the
 * events are by their meaning. Sequences of passes are in test_daemon_watch.
 */
#include <linux/kernel.h>

#include "tests/unit/suite.h"
#include "userspace/plan/health.h"

#define MS	200000ULL
#define MEMBERS	(PLAN_EV_DEGRADED | PLAN_EV_DOWN | PLAN_EV_REBUILDING | PLAN_EV_HEALED)

static const u64 since[] = { 0, MS - 70000, MS - 60000, MS - 59999, MS - 10000, MS - 9999 };

static bool down_by_time(const struct plan_health_was *w, const struct plan_health_now *n)
{
	bool served = n->stuck < w->served;

	if (n->stuck == n->groups)
		return false;
	return n->waits || (served && w->fell_ms && MS - w->fell_ms >= 10000) ||
	       (w->stuck_ms && MS - w->stuck_ms >= 60000);
}

static void judge_members(const struct plan_health_was *w, const struct plan_health_now *n,
			  const struct plan_health_was *after, u32 events)
{
	bool stuck = n->stuck < n->groups, down = stuck && (w->health == PLAN_DOWN || down_by_time(w, n));
	bool judged = !down && n->known, degraded = judged && n->named && n->out;
	bool rebuilding = judged && n->named && n->joins && !w->joining;

	CU_ASSERT_EQUAL(!!(events & PLAN_EV_DOWN), down && w->health != PLAN_DOWN);
	CU_ASSERT_EQUAL(!!(events & PLAN_EV_DEGRADED), degraded);
	CU_ASSERT_EQUAL(!!(events & PLAN_EV_REBUILDING), rebuilding);
	CU_ASSERT_EQUAL(!!(events & PLAN_EV_HEALED), judged && n->sound && (w->health != PLAN_WHOLE || degraded || rebuilding));
	if (down)
		CU_ASSERT(after->health == PLAN_DOWN && !after->joining);
	if (!down && !n->known)
		CU_ASSERT(after->health == w->health && after->joining == w->joining);
	if (!judged)
		return;
	CU_ASSERT_EQUAL(after->joining, n->joins && (w->joining || n->named));
	CU_ASSERT_EQUAL(after->health, n->sound ? PLAN_WHOLE : rebuilding ? PLAN_REBUILDING :
			degraded || w->health == PLAN_DOWN ? PLAN_DEGRADED : w->health);
}

static void judge_times(const struct plan_health_was *w, const struct plan_health_now *n,
			const struct plan_health_was *after)
{
	bool stuck = n->stuck < n->groups;

	CU_ASSERT_EQUAL(after->stuck_ms, !stuck ? 0 : w->stuck_ms ? w->stuck_ms : MS);
	CU_ASSERT_EQUAL(after->fell_ms, !stuck || n->stuck >= w->served ? 0 : w->fell_ms ? w->fell_ms : MS);
	CU_ASSERT_EQUAL(after->served, stuck ? w->served : n->groups);
}

static void one(const struct plan_health_was *w, const struct plan_health_now *n)
{
	struct plan_health_was after = *w;
	u32 events = plan_health(&after, n);

	judge_members(w, n, &after, events & MEMBERS);
	judge_times(w, n, &after);
	CU_ASSERT(after.seen && !(events & ~MEMBERS));
}

/* All passes that may follow a state. */
static void follow(const struct plan_health_was *w)
{
	for (u32 stuck = 0; stuck <= 2; stuck++)
		for (u32 bits = 0; bits < 1 << 6; bits++)
			one(w, &(struct plan_health_now) {
				.ms = MS, .groups = 2, .stuck = stuck, .waits = bits & 1 && stuck < 2,
				.known = bits & 2, .named = bits & 4, .sound = bits & 8, .out = bits & 16,
				.joins = bits & 32 });
}

static void test_members(void)
{
	for (u32 health = PLAN_WHOLE; health <= PLAN_DOWN; health++)
		for (u32 served = 0; served <= 2; served++)
			for (u32 t = 0; t < ARRAY_SIZE(since) * ARRAY_SIZE(since); t++)
				for (u32 joining = 0; joining < 2; joining++)
					follow(&(struct plan_health_was) {
						.health = health, .seen = true, .joining = joining, .served = served,
						.stuck_ms = since[t % ARRAY_SIZE(since)],
						.fell_ms = since[t / ARRAY_SIZE(since)] });
}

/* Found by a scrub; the reason of a copy's end: three values of each, before and after. */
static void test_ends(void)
{
	for (u32 i = 0; i < 3 * 3 * 3 * 3 * 16; i++) {
		u64 was_found = i % 3, found = i / 3 % 3, was_why = i / 9 % 3, why = i / 27 % 3;
		bool seen = i / 81 & 1, scrubbed = i / 81 & 2, scrubs = i / 81 & 4, evicts = i / 81 & 8;
		struct plan_health_was w = { .seen = seen, .scrubs = scrubbed, .mismatches = was_found,
					     .evict_why = was_why, .served = 1 };
		u32 events = plan_health(&w, &(struct plan_health_now) {
			.ms = MS, .groups = 1, .stuck = 1, .known = true, .sound = true, .scrubs = scrubs,
			.mismatches = found, .evicts = evicts, .evict_why = why });

		CU_ASSERT_EQUAL(!!(events & PLAN_EV_MISMATCHES),
				seen && !scrubs && found && (scrubbed || found != was_found));
		CU_ASSERT_EQUAL(!!(events & PLAN_EV_EVICT), seen && !evicts && why && why != was_why);
		CU_ASSERT(!(events & MEMBERS) && w.scrubs == scrubs);
		CU_ASSERT_EQUAL(w.mismatches, scrubs ? was_found : found);
		CU_ASSERT_EQUAL(w.evict_why, evicts ? was_why : why);
	}
}

int main(void)
{
	static const struct suite_test tests[] = {
		{ "each state and each pass", test_members },
		{ "ends of scrubs and of copies", test_ends },
		{ NULL, NULL },
	};

	return suite_main("plan_health", tests);
}
