// SPDX-License-Identifier: GPL-2.0-only
/*
 * Access numbers of a volume in the driver: each message against a model in words, each number that
 * can be seen, and restarts. Fields have few values here, at their ends: all pairs are tried.
 */
#include <errno.h>
#include <string.h>

#include "driver/access.h"
#include "driver/uapi/number.h"
#include "suite.h"

#define LAST	MESH_NUMBER_RESTART_MAX
/* mesh_number(), for tables */
#define MESH_N(generation, counter, restart) \
	((u64)(generation) << 51 | (u64)(counter) << 16 | (restart))

/* In ascending order. */
static const u64 numbers[] = {
	0, 1, LAST, MESH_NUMBER_MAX - LAST,
	MESH_NUMBER_MAX - 1, MESH_NUMBER_MAX, MESH_NUMBER_MAX + 1, ~0ULL,
};
#define NUMBERS	(sizeof(numbers) / sizeof(numbers[0]))

static u64 of(u64 generation, u64 counter, u64 restart)
{
	return mesh_number(generation, counter, restart);
}

/* A message, of the bits of @i and two numbers. */
static struct mesh_access_want message(unsigned int i, u64 attach, u64 served)
{
	return (struct mesh_access_want) {
		.numbered = i & 1, .ro = i & 2, .has_attach = i & 4, .has_served = i & 8,
		.has_facts = i & 16, .stale = i & 32, .attach = attach, .served = served,
	};
}

static bool fit(const struct mesh_access_want *w)
{
	bool plain = !w->has_served && !w->has_facts;
	bool number = w->has_attach && w->attach > LAST && w->attach < MESH_NUMBER_MAX;
	bool retake = !w->ro && w->served > LAST && w->served >> 16 < w->attach >> 16;

	return w->numbered ? number && !w->stale && (!w->has_served || retake) : plain;
}

static void test_messages(void)
{
	const u64 more[] = { of(0, 1, 0), of(0, 1, LAST), of(0, 2, 0), of(1, 0, 0), of(1, 1, 5) };
	u64 all[NUMBERS + 5];
	unsigned int i, a, s, taken = 0;

	memcpy(all, numbers, sizeof(numbers));
	memcpy(all + NUMBERS, more, sizeof(more));
	for (i = 0; i < 64; i++)
		for (a = 0; a < NUMBERS + 5; a++)
			for (s = 0; s < NUMBERS + 5; s++) {
				struct mesh_access_want w = message(i, all[a], all[s]);
				const char *why = mesh_access_unfit(&w);

				CU_ASSERT_EQUAL(!why, fit(&w));
				CU_ASSERT(!why || strlen(why) > 10);
				taken += !why && w.has_served;
			}
	CU_ASSERT(taken > 20);
}

/* What a message means beside the number in use, 1.5 with some restart. */
static void test_steps(void)
{
	static const struct {
		bool numbered, live, has_served;
		u64 attach, served;
		int err;
	} rows[] = {
		/* the number in use, whatever its restart; also with SERVED, as after a retake */
		{ true, true, false, MESH_N(1, 5, 0), 0, 0 },
		{ true, false, false, MESH_N(1, 5, 0), 0, 0 },
		{ true, true, false, MESH_N(1, 5, 9), 0, 0 },
		{ true, true, true, MESH_N(1, 5, 0), MESH_N(1, 4, 0), 0 },
		{ false, true, false, 0, 0, -EINVAL },
		/* lower */
		{ true, true, false, MESH_N(1, 4, LAST), 0, -ESTALE },
		{ true, true, true, MESH_N(0, 9, 0), MESH_N(0, 8, 0), -ESTALE },
		/* higher */
		{ true, true, false, MESH_N(1, 6, 0), 0, -EINVAL },
		{ true, true, false, MESH_N(2, 1, 0), 0, -EINVAL },
		{ true, true, true, MESH_N(1, 6, 0), MESH_N(1, 5, 0), 1 },
		{ true, true, true, MESH_N(2, 6, 0), MESH_N(1, 5, 7), 1 },
		{ true, true, true, MESH_N(1, 7, 0), MESH_N(1, 6, 0), -ESTALE },
		{ true, true, true, MESH_N(1, 7, 0), MESH_N(1, 4, 0), -ESTALE },
		{ true, false, true, MESH_N(1, 6, 0), MESH_N(1, 5, 0), -EBUSY },
	};
	const struct mesh_access_want none = { 0 };
	struct mesh_access_now now = { .numbered = true, .number = of(1, 5, 3) };
	const char *why;
	unsigned int i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct mesh_access_want w = {
			.numbered = rows[i].numbered, .has_attach = true, .attach = rows[i].attach,
			.has_served = rows[i].has_served, .served = rows[i].served,
		};
		int err;

		why = NULL;
		now.live = rows[i].live;
		err = mesh_access_step(&now, &w, &why);
		if (err != rows[i].err)
			printf("row %u: %d\n", i, err);
		CU_ASSERT_EQUAL(err, rows[i].err);
		CU_ASSERT_EQUAL(!!why, err < 0);
	}
	/* one without numbers, as today: ATTACH is of its groups alone */
	now = (struct mesh_access_now) { .live = true };
	CU_ASSERT_EQUAL(mesh_access_step(&now, &none, &why), 0);
	now.numbered = true;
	CU_ASSERT_EQUAL(mesh_access_step(&now, &none, &why), -EINVAL);
}

static enum mesh_access_verdict judge(u64 number, u64 served, u64 seen, bool self, bool ro)
{
	const struct mesh_access_now now = {
		.numbered = true, .live = true, .number = number, .served = served,
	};

	return mesh_access_judge(&now, seen, self, ro);
}

static void test_seen_by_writer(void)
{
	u64 own = of(1, 5, 3);

	/* lower, equal */
	CU_ASSERT_EQUAL(judge(own, own, 0, false, false), MESH_ACCESS_FINE);
	CU_ASSERT_EQUAL(judge(own, own, of(1, 4, LAST), false, false), MESH_ACCESS_FINE);
	CU_ASSERT_EQUAL(judge(own, own, of(0, 9, 0), false, false), MESH_ACCESS_FINE);
	CU_ASSERT_EQUAL(judge(own, own, own, true, false), MESH_ACCESS_FINE);
	/* a restart of this host raises the restart; one of another host is another holder's */
	CU_ASSERT_EQUAL(judge(own, own, own + 1, true, false), MESH_ACCESS_RESTART);
	CU_ASSERT_EQUAL(judge(own, own, of(1, 5, LAST), true, false), MESH_ACCESS_RESTART);
	CU_ASSERT_EQUAL(judge(own, own, own, false, false), MESH_ACCESS_FENCED);
	CU_ASSERT_EQUAL(judge(own, own, of(1, 5, 0), false, false), MESH_ACCESS_FENCED);
	/* a higher counter or generation, also of this host: it attached once more */
	CU_ASSERT_EQUAL(judge(own, own, of(1, 6, 0), false, false), MESH_ACCESS_FENCED);
	CU_ASSERT_EQUAL(judge(own, own, of(1, 6, 0), true, false), MESH_ACCESS_FENCED);
	CU_ASSERT_EQUAL(judge(own, own, of(2, 0, 0), false, false), MESH_ACCESS_FENCED);
}

/* After a retake, 1.5 and then 2.9: what another host did in between is lost to this one. */
static void test_seen_after_retake(void)
{
	u64 first = of(1, 5, 3), own = of(2, 9, 0);

	CU_ASSERT_EQUAL(judge(own, first, of(1, 4, 9), false, false), MESH_ACCESS_FINE);
	CU_ASSERT_EQUAL(judge(own, first, of(1, 5, 2), true, false), MESH_ACCESS_FINE);
	CU_ASSERT_EQUAL(judge(own, first, of(1, 7, 0), true, false), MESH_ACCESS_FINE);
	CU_ASSERT_EQUAL(judge(own, first, of(1, 5, 2), false, false), MESH_ACCESS_FENCED);
	CU_ASSERT_EQUAL(judge(own, first, of(1, 6, 0), false, false), MESH_ACCESS_FENCED);
	CU_ASSERT_EQUAL(judge(own, first, of(2, 8, 0), false, false), MESH_ACCESS_FENCED);
	CU_ASSERT_EQUAL(judge(own, first, of(2, 9, 4), true, false), MESH_ACCESS_RESTART);
}

/* A reader has the number of the writer before it, of any restart and host. */
static void test_seen_by_reader(void)
{
	u64 own = of(1, 5, 3);

	CU_ASSERT_EQUAL(judge(own, own, own, false, true), MESH_ACCESS_FINE);
	CU_ASSERT_EQUAL(judge(own, own, of(1, 5, LAST), false, true), MESH_ACCESS_FINE);
	CU_ASSERT_EQUAL(judge(own, own, of(1, 5, LAST), true, true), MESH_ACCESS_FINE);
	CU_ASSERT_EQUAL(judge(own, own, of(1, 4, 0), false, true), MESH_ACCESS_FINE);
	CU_ASSERT_EQUAL(judge(own, own, of(1, 6, 0), false, true), MESH_ACCESS_FENCED);
	CU_ASSERT_EQUAL(judge(own, own, of(2, 0, 0), true, true), MESH_ACCESS_FENCED);
}

static void test_restarts(void)
{
	CU_ASSERT_EQUAL(mesh_access_raise(of(1, 5, 3), 0), of(1, 5, 4));
	CU_ASSERT_EQUAL(mesh_access_raise(of(1, 5, 3), of(1, 4, 9)), of(1, 5, 4));
	CU_ASSERT_EQUAL(mesh_access_raise(of(1, 5, 3), of(1, 5, 9)), of(1, 5, 10));
	CU_ASSERT_EQUAL(mesh_access_raise(of(1, 5, LAST - 1), 0), of(1, 5, LAST));
	/* it never carries */
	CU_ASSERT_EQUAL(mesh_access_raise(of(1, 5, LAST), 0), 0);
	CU_ASSERT_EQUAL(mesh_access_raise(of(1, 5, 3), of(1, 5, LAST)), 0);
}

/* A disk appears when all members are open under its number: its restart does not count. */
static void test_open_under(void)
{
	CU_ASSERT(mesh_access_is(of(1, 5, 3), of(1, 5, 0)));
	CU_ASSERT(mesh_access_is(of(1, 5, 3), of(1, 5, LAST)));
	CU_ASSERT_FALSE(mesh_access_is(of(1, 5, 3), of(1, 4, 3)));
	CU_ASSERT_FALSE(mesh_access_is(of(1, 5, 3), of(2, 5, 3)));
	CU_ASSERT_FALSE(mesh_access_is(of(1, 5, 3), 0));
}

int main(void)
{
	static const struct suite_test tests[] = {
		{ "every message", test_messages },
		{ "a message beside the number in use", test_steps },
		{ "numbers that a writer sees", test_seen_by_writer },
		{ "... after a retake", test_seen_after_retake },
		{ "numbers that a reader sees", test_seen_by_reader },
		{ "restarts", test_restarts },
		{ "open under a number", test_open_under },
		{ NULL, NULL }
	};

	return suite_main("access", tests);
}
