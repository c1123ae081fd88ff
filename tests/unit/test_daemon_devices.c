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
	CU_ASSERT(probe() == EXPORT_LABEL && found.disk.size == 2 * SIZE + MIB / 2);
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
	later += 11000;
	CU_ASSERT(until(D->in_use));
	/* A later layout: it is the kernel that has it. */
	OK(done(disk_number(D, &x, &a, N(1, 4, 1), 0)));
	CU_ASSERT_FALSE(log_has("another program"));
	later += 11000;
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

/* The kernel has the drive as one that went away, by this path: it is to open what is let go. */
static void test_gone_in_kernel(void)
{
	const struct muuid x = rig_id('x', 1), a = HOST;

	local_begin();
	OK(take());
	add_ready(1);
	CU_ASSERT(is_alone());
	kernel_lock();
	K.member_path = path;
	K.member = x;
	kernel_unlock();
	OK(done(disk_number(D, &x, &a, N(1, 3, 1), 0)));
	for (int i = 0; i < 20; i++)
		woken();
	CU_ASSERT_FALSE(is_alone());
	later += 11000;
	CU_ASSERT(until(is_alone()));
	kernel_lock();
	K.member_path = NULL;
	memset(&K.member, 0, sizeof(K.member));
	kernel_unlock();
	end();
}

/* Something else has it. */
static void test_in_use(void)
{
	const struct muuid x = rig_id('x', 1), a = HOST;

	local_begin();
	CU_ASSERT(mkfs());
	to_write = 0;
	CU_ASSERT_EQUAL(take(), -EBUSY);
	CU_ASSERT(strstr(disks_export_ops.words(S), "another program") != NULL);
	CU_ASSERT_EQUAL(to_write, 0);
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

/* A former use whose thread has not ended holds the device: that is nothing else's use of it. */
static void test_ending(void)
{
	local_begin();
	OK(take());
	edit();
	now.generation = 2;
	write_held = true;
	CU_ASSERT_EQUAL(disk_ops.label_write(D, &now), -EINPROGRESS);
	CU_ASSERT(until(write_waits));
	disk_end(D);
	for (int i = 0; i < 20; i++) {
		CU_ASSERT_EQUAL(disks_export_ops.take(S, path, &DRIVE_), -EINPROGRESS);
		woken();
	}
	write_held = false;
	OK(take());
	CU_ASSERT(is_alone());
	end();
}

static bool has_done(void)
{
	bool is;

	pthread_mutex_lock(&D->lock);
	is = D->numbers && D->numbers->done;
	pthread_mutex_unlock(&D->lock);
	return is;
}

/* What a reader's number has come to says nothing of the same number of a writer, which is noted. */
static void test_reader(void)
{
	const struct muuid x = rig_id('x', 1), a = HOST;

	local_begin();
	OK(take());
	add_ready(1);
	CU_ASSERT_EQUAL(disk_reader(D, &x, &a, N(1, 5, 0)), -EINPROGRESS);
	CU_ASSERT(until(has_done()));
	OK(done(disk_number(D, &x, &a, N(1, 5, 0), 0)));
	CU_ASSERT_EQUAL(file_number(path, &x), N(1, 5, 0));
	OK(disk_reader(D, &x, &a, N(1, 5, 0)));
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

static struct plan_seen seen = { .cluster = { .b = { 'c', 1 } }, .generation = 1 };

/* Another disk gets this one's name: the file that was there has another one. */
static void swap_with(const char *name)
{
	char other[128], cmd[600];

	snprintf(other, sizeof(other), "%s/%s", state_dir, name);
	snprintf(cmd, sizeof(cmd), "mv %s %s.was && mv %s %s", path, path, other, path);
	OK(system(cmd));
}

static void copy_as(const char *name)
{
	char cmd[400];

	snprintf(cmd, sizeof(cmd), "cp --sparse=always %s %s/%s", path, state_dir, name);
	OK(system(cmd));
}

/* A name is judged, and is another disk's when it is written: nothing is. */
static void test_swapped(void)
{
	static const char text[] = "another's data";
	struct label l = first_label();
	char is[sizeof(text)] = "";
	int fd, each[2];

	begin();
	disks_end();
	disks_begin();
	/* A first label, over a disk that was empty. */
	file_new("precious");
	junk(0, text, sizeof(text));
	file_new("empty");
	CU_ASSERT_EQUAL(probe(), EXPORT_EMPTY);
	swap_with("precious");
	CU_ASSERT_EQUAL(done(disks_export_ops.label_first(S, path, &l)), -ESTALE);
	CU_ASSERT(strstr(disks_export_ops.words(S), "another disk has its name") != NULL);
	fd = open(path, O_RDONLY);
	CU_ASSERT(pread(fd, is, sizeof(is), 0) == (ssize_t)sizeof(is) && !strcmp(is, text));
	close(fd);
	/* Judged again it is the one that is there. */
	probe();
	OK(done(disks_export_ops.label_first(S, path, &l)));
	/* An owner, and a take: of the drive's copy. */
	CU_ASSERT_EQUAL(probe(), EXPORT_LABEL);
	copy_as("copy");
	swap_with("copy");
	CU_ASSERT_EQUAL(done(disks_export_ops.own(S, path, &DRIVE_, &OTHER_)), -ESTALE);
	CU_ASSERT_EQUAL(take(), -ESTALE);
	OK(file_label(path, &l, each));
	CU_ASSERT(muuid_equal(&l.owner, &HOST_));
	CU_ASSERT_EQUAL(probe(), EXPORT_LABEL);
	OK(take());
	end();
}

static void swap_with_copy(void)
{
	swap_with("copy");
}

static void written(u64 sequence, const struct muuid *owner)
{
	struct label *l = malloc(sizeof(*l));
	int fd = disk_open(path, O_RDWR), each[2];
	struct label_disk on;

	OK(label_read(fd, SIZE, l, &on, each));
	l->owner = *owner;
	l->sequence = sequence;
	OK(label_write(fd, l, &on, each));
	close(fd);
	free(l);
}

static void owned_by_other(void)
{
	written(50, &OTHER_);
}

static void owned_still(void)
{
	written(60, &HOST_);
}

/* A drive that is refused is no change for udev, and one that is not the judged one any more is not taken up. */
static void test_refused(void)
{
	begin();
	disks_end();
	disks_begin();
	copy_as("copy");
	to_write = 0;
	written(40, &OTHER_);
	CU_ASSERT_EQUAL(take(), -EPERM);
	CU_ASSERT_EQUAL(to_write, 0);
	written(45, &HOST_);
	before_write = swap_with_copy;
	CU_ASSERT_EQUAL(take(), -ESTALE);
	CU_ASSERT(strstr(disks_export_ops.words(S), "another disk has its name") != NULL);
	strcat(path, ".was");
	before_write = owned_by_other;
	CU_ASSERT_EQUAL(take(), -EPERM);
	written(55, &HOST_);
	before_write = owned_still;
	CU_ASSERT_EQUAL(take(), -ESTALE);
	CU_ASSERT_EQUAL(to_write, 3);
	OK(take());
	end();
}

/* Another disk with the drive's name is not held; a drive is where its device is, by whatever link. */
static void test_names(void)
{
	const struct muuid x = rig_id('x', 1), a = HOST;
	char link[128], real[120];

	local_begin();
	snprintf(real, sizeof(real), "%.119s", path);
	snprintf(link, sizeof(link), "%s/by-id", state_dir);
	OK(symlink(path, link));
	strcpy(path, link);
	OK(take());
	CU_ASSERT_STRING_EQUAL(disk_path(D), real);
	CU_ASSERT_PTR_EQUAL(disks_at(S, link), D);
	OK(take());
	strcpy(path, real);
	add_ready(1);
	file_new("other");
	strcpy(path, real);
	OK(done(disk_number(D, &x, &a, N(1, 3, 1), 0)));
	swap_with("other");
	CU_ASSERT(until(!disks_find(S, &DRIVE_)));
	CU_ASSERT(log_has("has gone"));
	later += 11000;
	CU_ASSERT(until(!is_alone()));
	/* Back, by another name. */
	snprintf(path, sizeof(path), "%s.was", real);
	OK(take());
	CU_ASSERT(is_alone());
	OK(unlink(path));
	CU_ASSERT(until(!disks_find(S, &DRIVE_)));
	end();
}

/* A probe that no agent came for is made again: another disk may have the name by now. */
static void test_old_probe(void)
{
	static const u8 swap[] = "SWAPSPACE2", pages[8] = { 1, 0, 0, 0, 255 };
	struct pollfd p = { .events = POLLIN };
	struct export_disk out;
	u64 n;

	begin();
	disks_end();
	disks_begin();
	for (int old = 0; old < 2; old++) {
		file_new("disk");
		p.fd = job_wake_fd();
		while (poll(&p, 1, 0) > 0)
			CU_ASSERT_EQUAL(read(p.fd, &n, sizeof(n)), (ssize_t)sizeof(n));
		CU_ASSERT_EQUAL(disks_export_ops.probe(S, path, &out), -EINPROGRESS);
		/* The job wakes the loop when it has ended; nothing else does here. */
		CU_ASSERT_EQUAL(poll(&p, 1, UNTIL_MS), 1);
		junk(4086, swap, 10);
		junk(1024, pages, sizeof(pages));
		later += old * 6000;
		CU_ASSERT_EQUAL(probe(), old ? EXPORT_FOREIGN : EXPORT_EMPTY);
	}
	end();
}

/* While the store is away a copy is recognised by what this host has noted. */
static void test_clone(void)
{
	struct obj_disk on = { .wwid = "eui.1", .serial = "S1" };
	struct obj_known k;
	char file[200], cmd[500];

	begin();
	/* The file says which device it was, as it was taken. */
	OK(disk_known_get(state_dir, &DRIVE_, &k));
	CU_ASSERT(!k.wwid[0] && !k.serial[0]);
	obj_free(OBJ_KNOWN, &k);
	disks_end();
	machine[0] = path;
	disks_begin();
	OK(done(disks_rescan_alone(S, &seen)));
	CU_ASSERT_PTR_NOT_NULL(disks_next(S, NULL));
	disks_end();
	/* The drive was another device: this is a copy. */
	OK(disk_known_put(state_dir, &DRIVE_, &on));
	disks_begin();
	OK(done(disks_rescan_alone(S, &seen)));
	CU_ASSERT_PTR_NULL(disks_next(S, NULL));
	CU_ASSERT(log_has("a copy of it"));
	OK(disk_known_get(state_dir, &DRIVE_, &k));
	CU_ASSERT_STRING_EQUAL(k.wwid, "eui.1");
	CU_ASSERT_STRING_EQUAL(k.serial, "S1");
	obj_free(OBJ_KNOWN, &k);
	/* Damaged, it says nothing. */
	snprintf(file, sizeof(file), "%s/labels/%s.known", state_dir, muuid_str(&DRIVE_).s);
	snprintf(cmd, sizeof(cmd), "sed -i s/eui.1/eui.2/ %s", file);
	OK(system(cmd));
	CU_ASSERT_EQUAL(disk_known_get(state_dir, &DRIVE_, &k), -EUCLEAN);
	/* Nor one of another drive. */
	OK(disk_known_put(state_dir, &OTHER_, &on));
	snprintf(cmd, sizeof(cmd), "cp %s/labels/%s.known %s", state_dir, muuid_str(&OTHER_).s, file);
	OK(system(cmd));
	CU_ASSERT_EQUAL(disk_known_get(state_dir, &DRIVE_, &k), -EUCLEAN);
	/* By the store's word it is noted again. */
	machine[0] = NULL;
	OK(take());
	OK(disk_known_get(state_dir, &DRIVE_, &k));
	CU_ASSERT_EQUAL(k.wwid[0], 0);
	obj_free(OBJ_KNOWN, &k);
	end();
}

static const struct rig_test tests[] = {
	{ "a name that is another's by now", test_swapped },
	{ "a refused drive", test_refused },
	{ "names of a drive that is served", test_names },
	{ "a probe that is old", test_old_probe },
	{ "a copy, while the store is away", test_clone },
	{ "a local drive is held alone", test_alone },
	{ "... that the kernel has as gone", test_gone_in_kernel },
	{ "... until its last use has ended", test_ending },
	{ "... also for a reader", test_reader },
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
