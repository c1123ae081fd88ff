// SPDX-License-Identifier: GPL-2.0-only
/* Which extents have to stay as they are while devices have not ended I/O, and what is done when they have. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "abandoned_rig.h"
#include "suite.h"

static const struct muuid vol = { { 1 } }, other_vol = { { 2 } };
static char why[MGMT_REASON];
static bool no_mesh;
static u32 warned, informed;

struct mesh *mesh_open(void) { return no_mesh ? NULL : (struct mesh *)why; }
void mesh_close(struct mesh *m) { (void)m; }
void log_warn(const char *fmt, ...) { (void)fmt; warned++; }
void log_info(const char *fmt, ...) { (void)fmt; informed++; }

static struct muuid drive(u32 i) { return (struct muuid) { { 3, i } }; }
static struct muuid extent(u32 i) { return (struct muuid) { { 4, i } }; }

static int bars(const struct muuid *e, const struct muuid *d)
{
	why[0] = 0;
	return abandoned_bars_now(e, d, why);
}

/* Every list of two drives, and every way to name what it is about. */
static void test_bars(void)
{
	for (u32 list = 0; list < 4; list++) {
		rig_ios = 0;
		for (u32 i = 0; i < 2; i++)
			if (list & 1u << i)
				rig_abandon(vol, drive(i), extent(i), i + 1);
		for (u32 i = 0; i < 3; i++) {
			bool is = i < 2 && list & 1u << i;
			struct muuid e = extent(i), d = drive(i), wrong = drive(i + 1);

			CU_ASSERT_EQUAL(bars(&e, NULL), is ? -EAGAIN : 0);
			CU_ASSERT_EQUAL(!!why[0], is);
			CU_ASSERT_EQUAL(bars(NULL, &d), is ? -EAGAIN : 0);
			CU_ASSERT_EQUAL(bars(&e, &d), is ? -EAGAIN : 0);
			CU_ASSERT_EQUAL(bars(&e, &wrong), 0);
		}
		CU_ASSERT_EQUAL(bars(NULL, NULL), list ? -EAGAIN : 0);
	}
	CU_ASSERT_PTR_NOT_NULL(strstr(why, "(/dev/test) has not ended 1 I/O that was given up: what"));
	CU_ASSERT(abandoned_at("/dev/test", &(struct muuid) { { 3, 1 } }));
	CU_ASSERT(!abandoned_at("/dev/tes", &(struct muuid) { { 3, 1 } }));
	CU_ASSERT(!abandoned_at("/dev/test", &(struct muuid) { { 3, 2 } }));
	rig_ios = 0;
}

/* What cannot be read is not empty, but where there is no module there is no I/O. */
static void test_not_said(void)
{
	static const struct { int err, is; } of[] = {
		{ -ENOENT, 0 }, { -EOPNOTSUPP, 0 }, { -EIO, -EIO }, { -EPROTO, -EIO }, { -ENOMEM, -EIO },
	};
	struct muuid e = extent(0);

	for (size_t i = 0; i < sizeof(of) / sizeof(*of); i++) {
		rig_io_err = of[i].err;
		CU_ASSERT_EQUAL(bars(&e, NULL), of[i].is);
		CU_ASSERT_EQUAL(!!why[0], !!of[i].is);
	}
	rig_io_err = 0;
	no_mesh = true;
	CU_ASSERT_EQUAL(bars(&e, NULL), -EIO);
	no_mesh = false;
}

static void pass(void)
{
	struct abandoned a;

	abandoned_get(&a);
	abandoned_pass(&a);
	abandoned_free(&a);
}

static bool over(const struct muuid *volume)
{
	struct abandoned a;
	bool is;

	abandoned_get(&a);
	is = abandoned_over(&a, volume);
	abandoned_free(&a);
	return is;
}

/* Each extent is logged once when it is in the list, and once when it is not any more. */
static void test_pass(void)
{
	pass();
	CU_ASSERT(!warned && !informed && !over(&vol));
	rig_abandon(vol, drive(0), extent(0), 2);
	rig_abandon(vol, drive(1), extent(1), 1);
	pass();
	rig_io[0].member.abandoned = 1;
	pass();
	CU_ASSERT(warned == 2 && !informed && !over(&vol));
	/* A list that cannot be had is not an empty one. */
	rig_io_err = -EIO;
	pass();
	CU_ASSERT(!informed && !over(&vol));
	rig_io_err = 0;
	/* One of two is over: the volume is not. */
	rig_ios = 1;
	pass();
	CU_ASSERT(informed == 1 && !over(&vol) && !over(&other_vol));
	rig_ios = 0;
	pass();
	CU_ASSERT(informed == 2 && over(&vol) && over(&vol) && !over(&other_vol));
	abandoned_settled(&vol);
	CU_ASSERT(!over(&vol));
	pass();
	CU_ASSERT(informed == 2 && warned == 2);
}

/* What is left undone for I/O that no pass has seen is done, too. */
static void test_owed(void)
{
	rig_abandon(other_vol, drive(0), extent(0), 1);
	abandoned_owe(&other_vol);
	CU_ASSERT(!over(&other_vol));
	rig_ios = 0;
	rig_io_err = -EIO;
	CU_ASSERT(!over(&other_vol));
	rig_io_err = 0;
	CU_ASSERT(over(&other_vol));
	abandoned_settled(&other_vol);
	CU_ASSERT(!over(&other_vol));
}

int main(void)
{
	static const struct suite_test tests[] = {
		{ "what has to stay", test_bars },
		{ "the kernel does not say", test_not_said },
		{ "it begins and ends", test_pass },
		{ "what is left undone", test_owed },
		{ NULL, NULL },
	};

	return suite_main("abandoned", tests);
}
