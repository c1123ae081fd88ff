// SPDX-License-Identifier: GPL-2.0-only
/* userspace/plan/grant.c, and that the target's kernel says the same. */
#include <linux/kernel.h>

#include "driver/uapi/number.h"
#include "rdda/target/state.h"
#include "rdda/wire.h"
#include "tests/unit/suite.h"
#include "userspace/plan/grant.h"

static const struct muuid A = { .b = { 1 } }, B = { .b = { 2 } };

#define N(g, c, r)	((u64)(g) << 51 | (u64)(c) << 16 | (r))

static const struct {
	u64	seen;
	const struct muuid *attacher;
	u64	number, served;
	enum plan_grant is;
} rows[] = {
	/* A label at 0 takes any, but for all ones. */
	{ 0, NULL, N(1, 1, 0), 0, PLAN_GRANT_NOTE },
	{ 0, NULL, N(4000, 1ULL << 34, 9), 0, PLAN_GRANT_NOTE },
	{ 0, NULL, MESH_NUMBER_MAX, 0, PLAN_GRANT_FAR },
	{ 0, NULL, ~0ULL, 0, PLAN_GRANT_FAR },
	{ 0, NULL, 0, 0, PLAN_GRANT_FAR },
	/* Its own. */
	{ N(1, 5, 3), &A, N(1, 5, 3), 0, PLAN_GRANT_SAME },
	{ N(1, 5, 3), &A, N(1, 5, 4), 0, PLAN_GRANT_NOTE },
	{ N(1, 5, 3), &A, N(1, 5, 2), 0, PLAN_GRANT_OLD },
	{ N(1, 5, 3), &A, N(1, 6, 0), 0, PLAN_GRANT_NOTE },
	{ N(1, 5, 3), &A, N(1, 4, 9), 0, PLAN_GRANT_OLD },
	/* Another host's: the restart counts nothing. */
	{ N(1, 5, 3), &B, N(1, 5, 3), 0, PLAN_GRANT_OLD },
	{ N(1, 5, 3), &B, N(1, 5, 9), 0, PLAN_GRANT_OLD },
	{ N(1, 5, 3), &B, N(1, 6, 0), 0, PLAN_GRANT_NOTE },
	{ N(2, 5, 0), &B, N(1, 9, 0), 0, PLAN_GRANT_OLD },
	/* Fields are judged alone. */
	{ N(1, 5, 0), &B, N(17, 0, 0), 0, PLAN_GRANT_NOTE },
	{ N(1, 5, 0), &B, N(18, 0, 0), 0, PLAN_GRANT_FAR },
	{ N(1, 5, 0), &B, N(2, 1ULL << 34, 0), 0, PLAN_GRANT_NOTE },
	{ N(1, 5, 0), &B, N(1, 5 + (1 << 20), 0), 0, PLAN_GRANT_NOTE },
	{ N(1, 5, 0), &B, N(1, 6 + (1 << 20), 0), 0, PLAN_GRANT_FAR },
	/* A retake: another host wrote in between. */
	{ N(1, 5, 0), &B, N(1, 9, 0), N(1, 4, 0), PLAN_GRANT_OLD },
	{ N(1, 5, 0), &B, N(1, 9, 0), N(1, 5, 0), PLAN_GRANT_OLD },
	{ N(1, 5, 0), &B, N(1, 9, 0), N(1, 6, 0), PLAN_GRANT_NOTE },
	{ N(1, 5, 0), &A, N(1, 9, 0), N(1, 4, 0), PLAN_GRANT_NOTE },
};

static void test_rows(void)
{
	static const struct muuid none;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		enum plan_grant g = plan_grant(rows[i].seen, rows[i].attacher ? rows[i].attacher : &none, &A,
					       rows[i].number, rows[i].served);

		if (g != rows[i].is)
			printf("row %zu: %d, not %d\n", i, g, rows[i].is);
		CU_ASSERT_EQUAL(g, rows[i].is);
	}
}

static void test_kernel(void)
{
	static const struct muuid none;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct muuid *attacher = rows[i].attacher ? rows[i].attacher : &none;
		struct tgt_open_facts f = {
			.found = true, .ready = true, .rw = true, .numbered = true, .allowed = true,
			.attach = rows[i].number, .attach_seen = rows[i].seen, .served = rows[i].served,
			.attach_self = muuid_equal(attacher, &A),
		};
		int is = tgt_open_decide(&f);

		/* The kernel reads no message with these two. */
		if (!rows[i].number || rows[i].number > MESH_NUMBER_MAX)
			continue;
		CU_ASSERT_EQUAL(is, rows[i].is == PLAN_GRANT_SAME ? RDDA_OPEN_OK :
				rows[i].is == PLAN_GRANT_NOTE ? TGT_OPEN_REQUEST :
				rows[i].is == PLAN_GRANT_OLD ? RDDA_OPEN_OLD_ATTACH : RDDA_OPEN_FAR);
		if (is == RDDA_OPEN_NOT_READY)
			printf("row %zu\n", i);
	}
}

static const struct suite_test tests[] = {
	{ "a number against a label", test_rows },
	{ "the kernel says the same", test_kernel },
	{ NULL, NULL },
};

int main(void)
{
	return suite_main("plan_grant", tests);
}
