// SPDX-License-Identifier: GPL-2.0-only
/* A local drive comes, or comes back by another path: the kernel is given its path. */
#include "tests/unit/attach_rig.h"

static void put_local(u32 i, bool local)
{
	struct plan_extent x = { .uuid = rig_id('x', 1 + i), .volume = vid(), .place = i, .state = PLAN_READY,
				 .start = 4 << 20, .length = 128 << 20, .version = 1, .commit = commits + 1 };
	struct obj_drive d = { .plan = { .uuid = rig_id('d', 1 + i), .host = hid(0), .wanted = PLAN_IN, .extents = 1,
					 .extent = &x }, .size = 1ULL << 30, .lba = 512, .path = "/dev/x",
			       .local = local };

	W.t[i].version = 1;
	W.t[i].commit = x.commit;
	rig_put(O, KEY_DRIVE, &d);
}

static void begin(bool local)
{
	rig_start();
	VOLUME(0);
	put_local(0, local);
	WANT(0, PLAN_RW);
	settle();
	CU_ASSERT(serves(0));
}

static void t_comes(void)
{
	begin(true);
	CU_ASSERT_STRING_EQUAL(settle(), "");
	W.use = 7;
	CU_ASSERT_STRING_EQUAL(settle(), "set1 ");
	CU_ASSERT_STRING_EQUAL(settle(), "");
	W.use = 8;
	CU_ASSERT_STRING_EQUAL(settle(), "set1 ");
	CU_ASSERT(serves(0));
	rig_stop();
}

/* An exported drive is reached by its target, wherever it is. */
static void t_exported(void)
{
	begin(false);
	W.use = 7;
	CU_ASSERT_STRING_EQUAL(settle(), "");
	rig_stop();
}

static void comes_back(const char *op)
{
	if (!strcmp(op, "set") && W.use == 8)
		W.use = 9;
}

/* ... while the kernel is being given the former path. */
static void t_meanwhile(void)
{
	begin(true);
	W.hook = comes_back;
	W.use = 8;
	CU_ASSERT_STRING_EQUAL(settle(), "set1 set1 ");
	CU_ASSERT_EQUAL(W.use, 9);
	CU_ASSERT_STRING_EQUAL(settle(), "");
	rig_stop();
}

/* With the store away, too: the record of the volume is all that is needed. */
static void t_away(void)
{
	begin(true);
	W.h[0].away = true;
	CU_ASSERT_STRING_EQUAL(settle(), "");
	W.use = 7;
	CU_ASSERT_STRING_EQUAL(settle(), "set1 ");
	CU_ASSERT(serves(0));
	rig_stop();
}

static const struct rig_test tests[] = {
	{ "a local drive comes", t_comes },
	{ "an exported one", t_exported },
	{ "... meanwhile", t_meanwhile },
	{ "the store is away", t_away },
};

int main(void)
{
	return rig_main("agent_attach_local", tests, sizeof(tests) / sizeof(tests[0]));
}
