// SPDX-License-Identifier: GPL-2.0-only
/* The device below a drive: it grows, has another name, is a copy, or something else holds it. */
#include "tests/unit/drives_rig.h"

static _Atomic u64 later;		/* milliseconds that have passed beside the clock's */
u64 __real_disk_now(void);

u64 __wrap_disk_now(void)
{
	return __real_disk_now() + later;
}

/* A device has grown: both copies of its label count, and it grows by command. */
static void test_grow(void)
{
	struct label *l = malloc(sizeof(*l));
	const struct muuid a = HOST;
	u64 size = 0;
	int each[2];

	begin();
	add_ready(1);
	/* Nothing to do. */
	OK(done(disks_export_ops.grow(S, &DRIVE_, &size)));
	CU_ASSERT_EQUAL(size, SIZE);
	disks_end();
	OK(truncate(path, 2 * SIZE));
	disks_begin();
	OK(take());
	OK(done(disks_serve(S)));
	CU_ASSERT(until(D && D->pushed));
	CU_ASSERT(label() && label()->size == SIZE);
	OK(grant(1, &a, N(1, 1, 1), 2));
	OK(file_label(path, l, each));
	CU_ASSERT(!each[0] && !each[1] && l->extent[0].attach == N(1, 1, 1));
	/* The agent has the label of before in its hands meanwhile. */
	edit();
	OK(done(disks_export_ops.grow(S, &DRIVE_, &size)));
	CU_ASSERT_EQUAL(size, 2 * SIZE);
	CU_ASSERT_EQUAL(label()->size, 2 * SIZE);
	now.generation = 2;
	OK(write_label());
	OK(file_label(path, l, each));
	CU_ASSERT(!each[0] && !each[1] && l->size == 2 * SIZE && l->generation == 2 && l->extents == 1);
	OK(grant(1, &a, N(1, 2, 1), 2));
	/* Less than a label's area more is no room for another copy. */
	OK(truncate(path, 2 * SIZE + MIB / 2));
	OK(done(disks_export_ops.grow(S, &DRIVE_, &size)));
	CU_ASSERT_EQUAL(size, 2 * SIZE);
	disks_end();
	OK(truncate(path, 2 * SIZE));
	/* An administrator's erase finds both. */
	disks_begin();
	OK(take());
	edit();
	now.extents = 0;
	OK(write_label());
	OK(done(disks_export_ops.leave(S, &DRIVE_, true)));
	CU_ASSERT_EQUAL(file_label(path, l, each), -ENODATA);
	CU_ASSERT_EQUAL(done(disks_export_ops.grow(S, &DRIVE_, &size)), -ENODEV);
	free(l);
	end();
}

/* ... while one copy cannot be written. */
static void test_grow_fails(void)
{
	struct label *l = malloc(sizeof(*l));
	u64 size;
	int each[2];

	begin();
	add_ready(1);
	OK(truncate(path, 2 * SIZE));
	bad_at[1] = 2 * SIZE - LABEL_AREA;
	bad[1] = true;
	CU_ASSERT_EQUAL(done(disks_export_ops.grow(S, &DRIVE_, &size)), -EIO);
	CU_ASSERT_EQUAL(size, SIZE);
	CU_ASSERT(strstr(disks_export_ops.words(S), "cannot be written") != NULL);
	CU_ASSERT_EQUAL(label()->size, SIZE);
	bad[1] = false;
	edit();
	now.generation = 2;
	OK(write_label());
	OK(file_label(path, l, each));
	CU_ASSERT(!each[0] && !each[1] && l->size == SIZE);
	/* Copy 0: the drive's thread writes it when that works again. */
	fail_copy(0, true);
	CU_ASSERT_EQUAL(done(disks_export_ops.grow(S, &DRIVE_, &size)), -EIO);
	CU_ASSERT(log_has("copy 0 of its label"));
	fail_copy(0, false);
	CU_ASSERT(until(label()->size == 2 * SIZE));
	OK(file_label(path, l, each));
	CU_ASSERT(!each[0] && !each[1] && l->size == 2 * SIZE && l->extents == 1);
	OK(done(disks_export_ops.grow(S, &DRIVE_, &size)));
	CU_ASSERT_EQUAL(size, 2 * SIZE);
	free(l);
	end();
}

/* Its label is of other blocks: formatted again, or a copy. */
static void test_blocks(void)
{
	begin();
	disks_end();
	dev_lba = 4096;
	disks_begin();
	CU_ASSERT_EQUAL(take(), -EUCLEAN);
	CU_ASSERT(strstr(disks_export_ops.words(S), "blocks of 4096 bytes") != NULL);
	dev_lba = 512;
	OK(take());
	end();
}

static const struct rig_test tests[] = {
	{ "a device has grown", test_grow },
	{ "... and cannot be written", test_grow_fails },
	{ "blocks of another size", test_blocks },
};

int main(void)
{
	return rig_main("daemon_devices", tests, sizeof(tests) / sizeof(tests[0]));
}
