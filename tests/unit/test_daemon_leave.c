// SPDX-License-Identifier: GPL-2.0-only
/*
 * Drives that are taken away by force, and drives that the kernel serves from the daemon before this
 * one: over files and a fake kernel.
 */
#include "tests/unit/disk_rig.h"

static int leave(unsigned int how)
{
	return done(disks_export_ops.leave(S, &DRIVE_, how));
}

static bool words(const char *w)
{
	return strstr(disks_export_ops.words(S), w);
}

/* Open at a volume: it goes by force alone, and comes back with all that is in its label. */
static void test_preempt(void)
{
	const struct muuid a = HOST;
	struct label l;
	int each[2];

	begin();
	add_ready(1);
	OK(grant(1, &a, N(1, 5, 1), 2));
	K.del_err = -EBUSY;
	CU_ASSERT_EQUAL(leave(0), -EBUSY);
	CU_ASSERT(words("--preempt"));
	CU_ASSERT(label() && !K.forced);
	CU_ASSERT_EQUAL(leave(EXPORT_WIPE | EXPORT_PREEMPT), -ENOTEMPTY);
	CU_ASSERT(label() && !K.forced);
	OK(leave(EXPORT_PREEMPT));
	CU_ASSERT(K.forced == 1 && !K.drive[0].there);
	CU_ASSERT_PTR_NULL(disks_next(S, NULL));
	OK(file_label(path, &l, each));
	CU_ASSERT(l.flags == LABEL_F_UNEXPORTED && l.extents == 1);
	OK(take());
	CU_ASSERT(kernel(kernel_extent(1)));
	CU_ASSERT(extent(1)->attach == N(1, 5, 1) && muuid_equal(&extent(1)->attacher, &a));
	OK(file_label(path, &l, each));
	CU_ASSERT(!l.flags);
	end();
}

/* What its thread does takes too long: that is reported, and over when the drive answers. */
static void test_silent(void)
{
	char w[OBJ_WORDS] = "";

	begin();
	edit();
	now.generation = 2;
	write_held = true;
	CU_ASSERT_EQUAL(disk_ops.label_write(D, &now), -EINPROGRESS);
	CU_ASSERT(until(write_waits));
	CU_ASSERT_EQUAL(disks_left(S, &DRIVE_, w, sizeof(w)), 0);
	pthread_mutex_lock(&D->lock);
	D->busy_at -= DISK_LATE_MS;
	pthread_mutex_unlock(&D->lock);
	CU_ASSERT_EQUAL(disks_left(S, &DRIVE_, w, sizeof(w)), 1);
	CU_ASSERT(strstr(w, path) && strstr(w, "does not answer"));
	write_held = false;
	OK(done(disk_ops.label_write(D, &now)));
	CU_ASSERT(until(!disks_left(S, &DRIVE_, w, sizeof(w))));
	end();
}

/* A table that is at the kernel must not have it serve the drive again behind that. */
static void test_table(void)
{
	begin();
	add_ready(1);
	CU_ASSERT(until(D->push_done == D->push_want && !D->pushing));
	set_waits = 0;
	set_gate = 0;
	pthread_mutex_lock(&D->lock);
	disk_push(D);
	pthread_mutex_unlock(&D->lock);
	CU_ASSERT(until(set_waits == 1));
	for (int i = 0; i < 20; i++) {
		CU_ASSERT_EQUAL(disks_export_ops.leave(S, &DRIVE_, EXPORT_PREEMPT), -EINPROGRESS);
		woken();
	}
	CU_ASSERT(kernel(!K.dels && K.drive[0].there));
	set_gate = -1;
	OK(leave(EXPORT_PREEMPT));
	CU_ASSERT(kernel(!K.drive[0].there && K.adds == 1));
	end();
}

/* Its commands are not back: it goes when they are, and the kernel's report of that is no other end. */
static void test_hangs(void)
{
	struct label l;
	int each[2];

	begin();
	add_ready(1);
	S->retry_ms = 1;
	K.busy = 1000000;
	CU_ASSERT_EQUAL(disks_export_ops.leave(S, &DRIVE_, EXPORT_PREEMPT), -EINPROGRESS);
	CU_ASSERT(kernel(K.drive[0].gone));
	kernel_lock();
	K.event_drive = DRIVE;
	K.event = true;
	kernel_unlock();
	CU_ASSERT(kernel(!K.event && K.busy < 999990));
	CU_ASSERT_EQUAL(disks_export_ops.leave(S, &DRIVE_, EXPORT_PREEMPT), -EINPROGRESS);
	CU_ASSERT_PTR_NOT_NULL(label());
	kernel_lock();
	K.busy = 0;
	kernel_unlock();
	OK(leave(EXPORT_PREEMPT));
	OK(file_label(path, &l, each));
	CU_ASSERT(l.flags == LABEL_F_UNEXPORTED);
	CU_ASSERT_FALSE(log_has("has gone"));
	end();
}

/* The drive fails: without force it stays, by force it goes as it is. */
static void test_unwritten(void)
{
	struct label l;
	int each[2];

	begin();
	add_ready(1);
	fail_copy(0, true);
	fail_copy(1, true);
	CU_ASSERT_EQUAL(leave(0), -EIO);
	CU_ASSERT(words("cannot be written"));
	CU_ASSERT_PTR_NOT_NULL(label());
	CU_ASSERT(kernel(K.drive[0].there));
	OK(leave(EXPORT_PREEMPT));
	CU_ASSERT_PTR_NULL(disks_next(S, NULL));
	CU_ASSERT(kernel(!K.drive[0].there));
	CU_ASSERT(log_has("its label cannot say so"));
	fail_copy(0, false);
	fail_copy(1, false);
	OK(file_label(path, &l, each));
	CU_ASSERT(!l.flags && l.extents == 1);
	end();
	/* A new drive must not be left with a label that a repeat would not find. */
	begin();
	fail_copy(1, true);
	CU_ASSERT_EQUAL(leave(EXPORT_WIPE | EXPORT_PREEMPT), -EIO);
	CU_ASSERT(words("cannot be erased"));
	CU_ASSERT_PTR_NOT_NULL(label());
	fail_copy(1, false);
	end();
}

/* No option takes a local drive from this host's own kernel. */
static void test_local(void)
{
	begin();
	disks_end();
	kernel_reset();
	file_new("local");
	disks_begin();
	now = first_label();
	now.flags = LABEL_F_LOCAL;
	OK(done(disks_export_ops.label_first(S, path, &now)));
	OK(take());
	OK(done(disks_serve(S)));
	K.member_drive = DRIVE;
	CU_ASSERT_EQUAL(leave(0), -EBUSY);
	CU_ASSERT_EQUAL(leave(EXPORT_PREEMPT), -EBUSY);
	CU_ASSERT(words("volume data has it open"));
	CU_ASSERT_PTR_NOT_NULL(label());
	memset(&K.member_drive, 0, sizeof(K.member_drive));
	K.abandoned_drive = DRIVE;
	CU_ASSERT_EQUAL(leave(EXPORT_PREEMPT), -EBUSY);
	CU_ASSERT(words("given up"));
	K.abandoned_drive = OTHER;
	OK(leave(EXPORT_PREEMPT));
	CU_ASSERT_EQUAL(K.dels, 0);
	end();
}

static bool is_left(char *out)
{
	return disks_left(S, &DRIVE_, out, OBJ_WORDS) == 1;
}

/* The daemon before this one had it served; this one does not take it up. */
static void left_begin(void)
{
	begin();
	add_ready(1);
	CU_ASSERT(kernel(kernel_extent(1)));
	disks_end();
	disks_begin();
	S->scanned = true;
}

static void test_left(void)
{
	char said[OBJ_WORDS], why[OBJ_WORDS];
	struct label l;
	int each[2];

	left_begin();
	for (S->scanned = false; !S->scanned; S->scanned = true) {
		for (int i = 0; i < 20; i++, woken())
			CU_ASSERT_FALSE(is_left(said));
	}
	CU_ASSERT(until(is_left(said)));
	CU_ASSERT_PTR_NOT_NULL(strstr(said, "the kernel serves it, meshd does not"));
	CU_ASSERT_EQUAL(disks_left(S, &OTHER_, said, sizeof(said)), 0);
	K.del_err = -EBUSY;
	CU_ASSERT_EQUAL(leave(0), -EBUSY);
	CU_ASSERT(words("--preempt") && K.drive[0].there);
	OK(leave(EXPORT_PREEMPT));
	CU_ASSERT(!K.drive[0].there && K.forced == 1);
	CU_ASSERT(until(!is_left(said)));
	OK(file_label(path, &l, each));
	CU_ASSERT(!l.flags && l.extents == 1);
	CU_ASSERT_EQUAL(leave(EXPORT_PREEMPT), -ENODEV);
	/* One that is served is none, and is not ended so. */
	OK(done(disks_serve(S)));
	OK(take());
	CU_ASSERT(kernel(kernel_extent(1)));
	for (int i = 0; i < 20; i++) {
		CU_ASSERT_FALSE(is_left(said));
		woken();
	}
	CU_ASSERT_EQUAL(disk_left_end(S, &DRIVE_, true, why, sizeof(why)), -EEXIST);
	CU_ASSERT(K.drive[0].there);
	end();
}

/* Before the disks of this machine are known: it may be about to be taken up. */
static void test_unscanned(void)
{
	left_begin();
	S->scanned = false;
	for (int i = 0; i < 20; i++, woken())
		CU_ASSERT_EQUAL(disks_export_ops.leave(S, &DRIVE_, EXPORT_PREEMPT), -EINPROGRESS);
	CU_ASSERT_TRUE(kernel(K.drive[0].there));
	S->scanned = true;
	OK(leave(EXPORT_PREEMPT));
	CU_ASSERT_FALSE(kernel(K.drive[0].there));
	end();
}

/* Its devices are closed, which takes as long as the disk hangs: the loop does not wait for that. */
static void test_close(void)
{
	struct disk *was;
	bool free_;

	begin();
	was = D;
	close_of = was->fd;
	close_held = true;
	disk_end(was);
	CU_ASSERT(until(close_waits));
	free_ = !pthread_mutex_trylock(&was->lock);
	CU_ASSERT_TRUE(free_);
	if (free_)
		pthread_mutex_unlock(&was->lock);
	CU_ASSERT_TRUE(disks_ending(S, &DRIVE_));
	close_held = false;
	CU_ASSERT(until(!disks_ending(S, &DRIVE_)));
	end();
}

/* Commands to one that has gone are not back. */
static void test_left_gone(void)
{
	char said[OBJ_WORDS];

	left_begin();
	S->retry_ms = 1;
	K.drive[0].gone = true;
	CU_ASSERT(until(is_left(said)));
	CU_ASSERT_PTR_NOT_NULL(strstr(said, "waits for commands"));
	K.busy = 10;
	OK(leave(0));
	CU_ASSERT(!K.drive[0].there && !K.dels && !K.busy);
	end();
	/* It came back in between. */
	left_begin();
	S->retry_ms = 1;
	K.busy = 1000000;
	CU_ASSERT_EQUAL(disks_export_ops.leave(S, &DRIVE_, EXPORT_PREEMPT), -EINPROGRESS);
	CU_ASSERT(kernel(K.busy < 999990));
	kernel_lock();
	K.drive[0].gone = false;
	kernel_unlock();
	CU_ASSERT_EQUAL(leave(EXPORT_PREEMPT), -EEXIST);
	CU_ASSERT(words("came back") && K.drive[0].there && K.dels == 1);
	end();
	/* Without the module nothing is. */
	left_begin();
	kernel_lock();
	K.family = 0;
	kernel_unlock();
	CU_ASSERT_EQUAL(leave(EXPORT_PREEMPT), -ENODEV);
	CU_ASSERT_FALSE(is_left(said));
	end();
}

static const struct rig_test tests[] = {
	{ "by force", test_preempt },
	{ "... while it gets a table", test_table },
	{ "... that hangs", test_hangs },
	{ "... whose label cannot be written", test_unwritten },
	{ "a local drive", test_local },
	{ "the kernel's alone", test_left },
	{ "... and gone", test_left_gone },
	{ "... before all disks are known", test_unscanned },
	{ "its device is closed", test_close },
	{ "a drive that does not answer", test_silent },
};

int main(void)
{
	return rig_main("daemon_leave", tests, sizeof(tests) / sizeof(tests[0]));
}
