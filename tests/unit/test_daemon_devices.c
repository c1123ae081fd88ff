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

static int outside = -1;

/* Another program, as mkfs does it. */
static bool mkfs(void)
{
	outside = disk_open(path, O_RDWR);
	if (!flock(outside, LOCK_EX | LOCK_NB))
		return true;
	close(outside);
	return false;
}

static void mkfs_ends(void)
{
	close(outside);
}

static bool is_alone(void)
{
	bool is = !mkfs();

	if (!is)
		mkfs_ends();
	return is;
}

/* The kernel has it open: by a file of its own. */
static void kernel_opens(void)
{
	CU_ASSERT(mkfs());
	kernel_lock();
	K.member_path = path;
	K.member = rig_id('x', 1);
	kernel_unlock();
}

static void kernel_closes(void)
{
	mkfs_ends();
	kernel_lock();
	K.member_path = NULL;
	memset(&K.member, 0, sizeof(K.member));
	kernel_unlock();
}

static void local_begin(void)
{
	begin();
	disks_end();
	kernel_reset();
	file_new("local");
	disks_begin();
	now = first_label();
	now.flags = LABEL_F_LOCAL;
	OK(done(disks_export_ops.label_first(S, path, &now)));
}

/* One that no volume has is held alone; the kernel gets it for an attach, and then it is held again. */
static void test_alone(void)
{
	const struct muuid x = rig_id('x', 1), a = HOST;

	local_begin();
	OK(take());
	CU_ASSERT(is_alone());
	add_ready(1);
	OK(done(disk_number(D, &x, &a, N(1, 3, 1), 0)));
	/* Not before the kernel has had its time. */
	for (int i = 0; i < 20; i++)
		woken();
	kernel_opens();
	CU_ASSERT(until(D->in_use));
	/* A later layout: it is the kernel that has it. */
	OK(done(disk_number(D, &x, &a, N(1, 4, 1), 0)));
	CU_ASSERT_FALSE(log_has("another program"));
	CU_ASSERT(until(D->in_use && !D->alone_at));
	kernel_closes();
	CU_ASSERT(until(is_alone()));
	/* A reader's attach, which the kernel gives up. */
	OK(done(disk_reader(D, &x, &a, N(1, 4, 0))));
	CU_ASSERT_FALSE(is_alone());
	CU_ASSERT_EQUAL(file_number(path, &x), N(1, 4, 1));
	CU_ASSERT_EQUAL(done(disk_reader(D, &x, &a, N(1, 3, 0))), -ESTALE);
	later += 11000;
	CU_ASSERT(until(is_alone()));
	/* One that is refused leaves it held. */
	CU_ASSERT_EQUAL(done(disk_number(D, &x, &a, N(1, 2, 1), 0)), -ESTALE);
	CU_ASSERT(is_alone());
	OK(done(disks_export_ops.leave(S, &DRIVE_, false)));
	CU_ASSERT(until(!is_alone()));
	end();
}

/* Something else has it. */
static void test_in_use(void)
{
	const struct muuid x = rig_id('x', 1), a = HOST;

	local_begin();
	CU_ASSERT(mkfs());
	CU_ASSERT_EQUAL(take(), -EBUSY);
	CU_ASSERT(strstr(disks_export_ops.words(S), "another program") != NULL);
	mkfs_ends();
	/* This host's own kernel, by an attach of a meshd before this one ... */
	kernel_opens();
	OK(take());
	CU_ASSERT_FALSE(log_has("another program"));
	/* ... or by I/O that has not ended. */
	kernel_lock();
	memset(&K.member, 0, sizeof(K.member));
	K.abandoned = true;
	kernel_unlock();
	disks_end();
	disks_begin();
	OK(take());
	K.abandoned = false;
	kernel_closes();
	CU_ASSERT(until(is_alone()));
	/* By another name it is another's use. */
	add_ready(1);
	OK(done(disk_number(D, &x, &a, N(1, 3, 1), 0)));
	CU_ASSERT(mkfs());
	CU_ASSERT_EQUAL(done(disk_number(D, &x, &a, N(1, 3, 2), 0)), -EBUSY);
	log_clear();
	later += 11000;
	CU_ASSERT(until(log_has("another program")));
	kernel_lock();
	K.member_path = "/dev/other";
	K.member = x;
	kernel_unlock();
	CU_ASSERT_EQUAL(done(disk_number(D, &x, &a, N(1, 3, 3), 0)), -EBUSY);
	kernel_lock();
	K.member_path = NULL;
	memset(&K.member, 0, sizeof(K.member));
	kernel_unlock();
	mkfs_ends();
	OK(done(disk_number(D, &x, &a, N(1, 3, 4), 0)));
	end();
}

/* An exported drive is the target's kernel's, and not held here. */
static void test_exported(void)
{
	begin();
	for (int i = 0; i < 20; i++)
		woken();
	CU_ASSERT_FALSE(is_alone());
	end();
}

/* Each use of a drive has its own number, which stays when that ends. */
static void test_use(void)
{
	u64 first;

	local_begin();
	CU_ASSERT_EQUAL(disks_use(S, &DRIVE_), 0);
	OK(take());
	first = disks_use(S, &DRIVE_);
	CU_ASSERT(first != 0 && disks_use(S, &OTHER_) == 0);
	disk_end(D);
	CU_ASSERT_EQUAL(disks_use(S, &DRIVE_), first);
	OK(take());
	CU_ASSERT(disks_use(S, &DRIVE_) != first && disks_use(S, &DRIVE_));
	end();
}

static const struct rig_test tests[] = {
	{ "a local drive is held alone", test_alone },
	{ "uses of a drive", test_use },
	{ "... and something else has it", test_in_use },
	{ "... which an exported one is not", test_exported },
	{ "a device has grown", test_grow },
	{ "... and cannot be written", test_grow_fails },
	{ "blocks of another size", test_blocks },
};

int main(void)
{
	return rig_main("daemon_devices", tests, sizeof(tests) / sizeof(tests[0]));
}
