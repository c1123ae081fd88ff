// SPDX-License-Identifier: GPL-2.0-only
/* Evictions of a version that a kernel does not have yet: all that it may have at two places. */
#include <linux/kernel.h>
#include <string.h>

#include "tests/unit/suite.h"
#include "userspace/plan/evict.h"

static const struct muuid none, L = { { 'l' } }, S = { { 's' } }, X = { { 'x' } };
static const struct muuid *const members[] = { &none, &L, &S, &X }, *const tos[] = { &none, &S, &X };
static const struct { u64 copied, bytes; } figures[] = { { 0, 0 }, { 0, 8 }, { 7, 8 }, { 8, 8 } };

#define ROLES	3
#define STATES	(ARRAY_SIZE(members) * ARRAY_SIZE(tos) * ROLES * ARRAY_SIZE(figures))

/* The extents of each place are its own. */
static struct muuid of(const struct muuid *u, u32 place)
{
	struct muuid out = *u;

	if (!muuid_null(u))
		out.b[1] = place;
	return out;
}

static void make(struct plan_copy *c, u32 n, u32 place)
{
	c->member = of(members[n % ARRAY_SIZE(members)], place);
	n /= ARRAY_SIZE(members);
	c->to = of(tos[n % ARRAY_SIZE(tos)], place);
	n /= ARRAY_SIZE(tos);
	c->role = n % ROLES;
	n /= ROLES;
	c->copied = figures[n].copied;
	c->bytes = figures[n].bytes;
}

/* As the page of the rule has it, without its order. */
static bool leaves(const struct plan_copy *c, u32 place)
{
	const struct muuid is = of(&L, place);

	return muuid_equal(&c->member, &is);
}

static bool whole(const struct plan_copy *c, u32 place)
{
	const struct muuid to = of(&S, place);

	return muuid_equal(&c->to, &to) && c->bytes && c->copied == c->bytes;
}

static bool strays(const struct plan_copy *c, u32 place)
{
	const struct muuid to = of(&X, place);

	return leaves(c, place) && muuid_equal(&c->to, &to);
}

static bool done(const struct plan_copy *c, u32 place)
{
	return !leaves(c, place) || (!strays(c, place) && (c->role == PLAN_COPY_OUT || whole(c, place)));
}

static bool begins(const struct plan_copy *c, u32 place)
{
	return leaves(c, place) && muuid_null(&c->to) && c->role == PLAN_COPY_IN_SYNC;
}

static void check(const struct plan_layout *next, const struct plan_copy c[2], u32 leaving)
{
	u64 copied = 0, bytes = 0;
	struct plan_evict_step s;
	bool all = true, any[2] = { false, false };

	plan_evict(next, c, &s);
	for (u32 i = 0; i < 2; i++) {
		if (!(leaving >> i & 1))
			continue;
		all = all && done(&c[i], i);
		any[0] = any[0] || strays(&c[i], i);
		any[1] = any[1] || begins(&c[i], i);
		if (!muuid_null(&c[i].to)) {
			copied += c[i].copied;
			bytes += c[i].bytes;
		}
	}
	CU_ASSERT_EQUAL(s.what == PLAN_E_SET, all);
	CU_ASSERT_EQUAL(s.what == PLAN_E_STOP, any[0]);
	CU_ASSERT_EQUAL(s.what == PLAN_E_COPY, !any[0] && any[1]);
	CU_ASSERT(s.copied == copied && s.bytes == bytes);
	if (s.what == PLAN_E_STOP)
		CU_ASSERT(leaving >> s.place & 1 && strays(&c[s.place], s.place));
	if (s.what == PLAN_E_COPY)
		CU_ASSERT(leaving >> s.place & 1 && begins(&c[s.place], s.place));
}

static void test_all(void)
{
	for (u32 leaving = 0; leaving < 4; leaving++) {
		struct plan_place place[2] = { { .extent = of(&S, 0) }, { .extent = of(&S, 1) } };
		const struct plan_layout next = { .version = 2, .places = 2, .place = place };

		for (u32 i = 0; i < 2; i++)
			place[i].leaving = leaving >> i & 1 ? of(&L, i) : none;
		for (u32 n = 0; n < STATES * STATES; n++) {
			struct plan_copy c[2];

			make(&c[0], n % STATES, 0);
			make(&c[1], n / STATES, 1);
			check(&next, c, leaving);
		}
	}
}

static const struct suite_test tests[] = {
	{ "all that a kernel may have at two places", test_all },
	{ NULL, NULL },
};

int main(void)
{
	return suite_main("evictions before a version", tests);
}
