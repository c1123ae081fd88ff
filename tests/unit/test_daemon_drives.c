// SPDX-License-Identifier: GPL-2.0-only
/*
 * Drives of this machine come and go, and the target's kernel has their tables: over files and a fake
 * kernel.
 */
#include "tests/unit/drives_rig.h"
#include "userspace/machine/guard.h"

static void test_table(void)
{
	const struct muuid a = HOST;
	struct label *kept = malloc(sizeof(*kept));
	const struct muuid drive = DRIVE;

	begin();
	add_ready(1);
	add_ready(2);
	CU_ASSERT(kernel(kernel_extent(1) && kernel_extent(2)));
	/* The table lacks it at once; I/O under it has not ended. */
	kernel_lock();
	K.set_err = -EINPROGRESS;
	kernel_unlock();
	CU_ASSERT_EQUAL(disk_ops.table(D, extent(1)), -EINPROGRESS);
	CU_ASSERT(kernel(!kernel_extent(1) && kernel_extent(2)));
	CU_ASSERT_EQUAL(disk_ops.table(D, extent(1)), -EINPROGRESS);
	CU_ASSERT_EQUAL(grant(1, &a, N(1, 1, 1), 2), -ENOENT);
	/* A grant of the other one does not wait for that. */
	OK(grant(2, &a, N(1, 1, 1), 2));
	kernel_lock();
	K.set_err = 0;
	kernel_unlock();
	OK(done(disk_ops.table(D, extent(1))));
	edit();
	label_free(&now, &now.extent[0]);
	OK(write_label());
	CU_ASSERT_PTR_NULL(extent(1));
	CU_ASSERT_EQUAL(D->nr_out, 0);
	/* A backup has what was taken out. */
	OK(disk_backup_read(state_dir, &drive, kept));
	CU_ASSERT_EQUAL(kept->extents, 2);
	free(kept);
	end();
}

/* Extents that are open still are polled, and the loop has a turn of its own for that. */
static void test_table_polled(void)
{
	struct timespec ms = { .tv_nsec = 1000000 };
	unsigned int was;
	u64 n;

	begin();
	add_ready(1);
	kernel_lock();
	K.set_err = -EINPROGRESS;
	kernel_unlock();
	CU_ASSERT_EQUAL(disk_ops.table(D, extent(1)), -EINPROGRESS);
	CU_ASSERT(until(D->push_err == -EINPROGRESS));
	if (read(job_wake_fd(), &n, sizeof(n)) < 0)
		n = 0;
	for (was = set_waits; set_waits < was + 3;)
		nanosleep(&ms, NULL);
	CU_ASSERT(read(job_wake_fd(), &n, sizeof(n)) < 0);
	end();
}

/* The answer to a table that still had the extent says nothing of it. */
static void test_table_before(void)
{
	begin();
	add_ready(1);
	CU_ASSERT(until(D->push_done == D->push_want && D->pushed));
	set_waits = 0;
	set_gate = 0;
	add(2, LABEL_ZEROING);
	CU_ASSERT(until(set_waits == 1));
	CU_ASSERT_EQUAL(disk_ops.table(D, extent(1)), -EINPROGRESS);
	set_gate = 1;
	CU_ASSERT(until(set_waits == 2));
	CU_ASSERT_EQUAL(disk_ops.table(D, extent(1)), -EINPROGRESS);
	CU_ASSERT_PTR_NOT_NULL(kernel_extent(1));
	set_gate = -1;
	OK(done(disk_ops.table(D, extent(1))));
	CU_ASSERT(kernel(!kernel_extent(1)));
	end();
}

/* The kernel has a drive of that UUID from another device: its table is left alone. */
static void test_table_other(void)
{
	begin();
	CU_ASSERT(until(D->push_done == D->push_want && D->pushed));
	kernel_lock();
	strcpy(K.drive[0].d.path, "/dev/other");
	kernel_unlock();
	add_ready(1);
	CU_ASSERT(until(D->push_err == -EEXIST));
	CU_ASSERT(kernel(!kernel_extent(1) && K.adds == 1 && !K.dels));
	CU_ASSERT(log_has("from another device"));
	end();
	/* Nor does this drive's end take it away. */
	begin();
	kernel_lock();
	strcpy(K.drive[0].d.path, "/dev/other");
	kernel_unlock();
	OK(done(disks_export_ops.leave(S, &DRIVE_, false)));
	CU_ASSERT(kernel(K.drive[0].there));
	end();
}

static void test_table_fails(void)
{
	begin();
	add_ready(1);
	kernel_lock();
	K.set_err = -EIO;
	kernel_unlock();
	CU_ASSERT_EQUAL(done(disk_ops.table(D, extent(1))), -EIO);
	CU_ASSERT(log_has("the kernel does not take it"));
	/* Without the module no host has anything open. */
	kernel_lock();
	K.set_err = 0;
	K.family = 0;
	kernel_unlock();
	CU_ASSERT(until(!disk_ops.table(D, extent(1))));
	end();
}

/* A local drive is opened by this host's own volumes, and the target's kernel does not have it. */
static void test_local(void)
{
	const struct muuid x = rig_id('x', 1), a = HOST, b = OTHER;

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
	add_ready(1);
	CU_ASSERT(until(D->pushed));
	CU_ASSERT_EQUAL(K.adds, 0);
	OK(done(disk_number(D, &x, &a, N(1, 3, 1), 0)));
	CU_ASSERT_EQUAL(file_number(path, &x), N(1, 3, 1));
	/* The result stays until it is taken; the next one is found again. */
	OK(disk_number(D, &x, &a, N(1, 3, 1), 0));
	disk_number_end(D, &x, &a, N(1, 3, 0), 0);
	OK(disk_number(D, &x, &a, N(1, 3, 1), 0));
	disk_number_end(D, &x, &a, N(1, 3, 1), 0);
	CU_ASSERT_EQUAL(disk_number(D, &x, &a, N(1, 3, 1), 0), -EINPROGRESS);
	OK(done(disk_number(D, &x, &a, N(1, 3, 1), 0)));
	CU_ASSERT_EQUAL(done(disk_number(D, &x, &a, N(1, 2, 1), 0)), -ESTALE);
	CU_ASSERT_EQUAL(done(disk_number(D, &x, &b, N(1, 3, 2), 0)), -ESTALE);
	/* A retake of what another host had in between. */
	OK(done(disk_number(D, &x, &b, N(1, 4, 0), 0)));
	CU_ASSERT_EQUAL(done(disk_number(D, &x, &a, N(1, 6, 0), N(1, 3, 1))), -ESTALE);
	OK(done(disk_number(D, &x, &a, N(1, 6, 0), 0)));
	K.member = x;
	CU_ASSERT_EQUAL(disk_ops.table(D, extent(1)), -EINPROGRESS);
	CU_ASSERT(until(D->push_err == -EINPROGRESS));
	CU_ASSERT_EQUAL(disk_ops.table(D, extent(1)), -EINPROGRESS);
	kernel_lock();
	memset(&K.member, 0, sizeof(K.member));
	kernel_unlock();
	OK(done(disk_ops.table(D, extent(1))));
	end();
}

/* The module is loaded again: all drives, then the listener. */
static void test_serve(void)
{
	const struct muuid a = HOST;

	begin();
	CU_ASSERT(K.listens && K.adds == 1);
	add_ready(1);
	CU_ASSERT(kernel(kernel_extent(1) && kernel_extent(1)->ready));
	OK(done(disks_serve(S)));
	CU_ASSERT_EQUAL(K.adds, 1);
	kernel_lock();
	K.family = 0;
	K.drive[0].there = K.listens = false;
	kernel_unlock();
	CU_ASSERT_EQUAL(done(disks_serve(S)), -ENOPKG);
	kernel_lock();
	K.family = 8;
	kernel_unlock();
	OK(done(disks_serve(S)));
	CU_ASSERT(K.listens && kernel_extent(1) && kernel_extent(1)->ready);
	OK(grant(1, &a, N(1, 1, 1), 2));
	end();
}

/* Unplugged, and back: another use of the same UUID. */
static void test_gone(void)
{
	const struct muuid drive = DRIVE, x = rig_id('x', 1), a = HOST;
	struct disk *was;

	begin();
	add_ready(1);
	OK(grant(1, &a, N(1, 5, 1), 2));
	was = D;
	kernel_lock();
	K.event_drive = DRIVE;
	K.event = true;		/* of a former use: the drive is there */
	kernel_unlock();
	CU_ASSERT(kernel(!K.event));
	CU_ASSERT_PTR_NOT_NULL(disks_find(S, &drive));
	kernel_lock();
	K.drive[0].gone = true;
	K.event = true;
	kernel_unlock();
	CU_ASSERT(until(!disks_find(S, &drive)));
	/* An agent that still has it is answered. */
	CU_ASSERT_PTR_NULL(disk_ops.label(was));
	CU_ASSERT_EQUAL(disk_ops.label_write(was, &now), -ENODEV);
	CU_ASSERT_EQUAL(done(disk_number(was, &x, &a, N(1, 6, 1), 0)), -ENODEV);
	CU_ASSERT(until(!was->threads));
	OK(take());
	CU_ASSERT(D != was && extent(1)->attach == N(1, 5, 1));
	/* The kernel has the former device: it goes first. */
	CU_ASSERT(kernel(kernel_extent(1) && !K.drive[0].gone && K.forced == 1));
	end();
}

/* A thread of the former use has not ended: two never write to one drive. */
static void test_gone_hangs(void)
{
	begin();
	edit();
	now.generation = 2;
	write_held = true;
	CU_ASSERT_EQUAL(disk_ops.label_write(D, &now), -EINPROGRESS);
	CU_ASSERT(until(write_waits));
	disk_end(D);
	CU_ASSERT_PTR_NULL(disks_find(S, &DRIVE_));
	/* The label is read, and then it waits. */
	for (int i = 0; i < 20; i++) {
		CU_ASSERT_EQUAL(disks_export_ops.take(S, path, &DRIVE_), -EINPROGRESS);
		woken();
	}
	write_held = false;
	OK(take());
	end();
}

static void test_probe(void)
{
	static const u8 swap[] = "SWAPSPACE2", pages[8] = { 1, 0, 0, 0, 255 }, block[4096], dirt[] = "dirt";

	begin();
	/* One that is served is not read. */
	CU_ASSERT_EQUAL(probe(), EXPORT_LABEL);
	CU_ASSERT(muuid_equal(&found.drive, &DRIVE_) && muuid_equal(&found.owner, &HOST_) && found.bare);
	CU_ASSERT(!found.disk.exportable && strstr(found.disk.why, "served"));
	add_ready(1);
	probe();
	CU_ASSERT_FALSE(found.bare);
	OK(record_there());
	disks_end();
	disks_begin();
	CU_ASSERT_EQUAL(probe(), EXPORT_LABEL);
	CU_ASSERT(muuid_equal(&found.drive, &DRIVE_) && muuid_equal(&found.disk.drive, &DRIVE_));
	CU_ASSERT(found.disk.size == SIZE && found.disk.lba == 512 && found.generation == 1 && !found.bare);
	CU_ASSERT_FALSE(found.disk.exportable);
	/* One copy is overwritten by something that is known. */
	junk(SIZE - MIB, block, sizeof(block));
	CU_ASSERT_EQUAL(probe(), EXPORT_LABEL);
	junk(0, block, sizeof(block));
	CU_ASSERT_EQUAL(probe(), EXPORT_DAMAGED);
	CU_ASSERT(strstr(found.what, "lost its label") != NULL);
	file_new("other");
	CU_ASSERT_EQUAL(probe(), EXPORT_EMPTY);
	CU_ASSERT(found.disk.exportable && !found.disk.why[0]);
	junk(4086, swap, 10);
	junk(1024, pages, sizeof(pages));
	CU_ASSERT_EQUAL(probe(), EXPORT_FOREIGN);
	CU_ASSERT(strstr(found.disk.why, "swap") != NULL);
	/* Force may erase that, and not where the kernel would refuse the drive. */
	K.add_err = -EOPNOTSUPP;
	CU_ASSERT_EQUAL(probe(), EXPORT_UNFIT);
	K.add_err = 0;
	file_new("third");
	now = first_label();
	OK(done(disks_export_ops.label_first(S, path, &now)));
	junk(100, dirt, sizeof(dirt));
	junk(SIZE - MIB + 20, dirt, sizeof(dirt));
	CU_ASSERT_EQUAL(probe(), EXPORT_DAMAGED);
	/* The kernel has the last word. */
	file_new("fourth");
	K.add_err = -EOPNOTSUPP;
	CU_ASSERT_EQUAL(probe(), EXPORT_UNFIT);
	K.add_err = 0;
	OK(truncate(path, MIB));
	CU_ASSERT_EQUAL(probe(), EXPORT_UNFIT);
	CU_ASSERT(strstr(found.what, "64 MiB") != NULL);
	end();
}

static void test_first(void)
{
	struct label l;
	int each[2];

	begin();
	/* A drive that is served is not written over. */
	now = first_label();
	CU_ASSERT_EQUAL(done(disks_export_ops.label_first(S, path, &now)), -EBUSY);
	add_ready(1);
	OK(record_there());
	disks_end();
	disks_begin();
	/* Another drive: nothing of the former one is left, but for a copy of its label. */
	now = first_label();
	now.drive = rig_id('d', 2);
	OK(done(disks_export_ops.label_first(S, path, &now)));
	OK(file_label(path, &l, each));
	CU_ASSERT(!each[0] && !each[1] && muuid_equal(&l.drive, &now.drive) && !l.extents);
	CU_ASSERT_EQUAL(copy_version(0), 0);
	OK(disk_backup_read(state_dir, &DRIVE_, &l));
	CU_ASSERT_EQUAL(l.extents, 1);
	/* A repeat of a task is the same drive. */
	OK(done(disks_export_ops.label_first(S, path, &now)));
	OK(file_label(path, &l, each));
	CU_ASSERT_EQUAL(l.sequence, 2);
	/* Another size than the label was made for. */
	now.size = 2 * SIZE;
	CU_ASSERT_EQUAL(done(disks_export_ops.label_first(S, path, &now)), -EINVAL);
	now.size = SIZE;
	fail_copy(1, true);
	CU_ASSERT_EQUAL(done(disks_export_ops.label_first(S, path, &now)), -EIO);
	CU_ASSERT(strstr(disks_export_ops.words(S), "cannot be written") != NULL);
	end();
}

static void test_own(void)
{
	struct label l;
	int each[2];

	begin();
	add_ready(1);
	disks_end();
	disks_begin();
	OK(done(disks_export_ops.own(S, path, &DRIVE_, &OTHER_)));
	OK(file_label(path, &l, each));
	CU_ASSERT(!each[0] && !each[1] && muuid_equal(&l.owner, &OTHER_) && l.extents == 1);
	CU_ASSERT_EQUAL(take(), -EPERM);
	OK(done(disks_export_ops.own(S, path, &DRIVE_, &HOST_)));
	OK(done(disks_export_ops.own(S, path, &DRIVE_, &HOST_)));
	CU_ASSERT_EQUAL(done(disks_export_ops.own(S, path, &OTHER_, &HOST_)), -ESTALE);
	OK(take());
	CU_ASSERT_PTR_NOT_NULL(extent(1));
	CU_ASSERT_EQUAL(done(disks_export_ops.own(S, path, &DRIVE_, &OTHER_)), -EBUSY);
	end();
}

static void test_leave(void)
{
	struct label l;
	int each[2];

	begin();
	add_ready(1);
	/* Open somewhere: it stays, and is served. */
	K.del_err = -EBUSY;
	CU_ASSERT_EQUAL(done(disks_export_ops.leave(S, &DRIVE_, false)), -EBUSY);
	CU_ASSERT_PTR_NOT_NULL(label());
	K.del_err = 0;
	CU_ASSERT_EQUAL(done(disks_export_ops.leave(S, &DRIVE_, true)), -ENOTEMPTY);
	CU_ASSERT_PTR_NOT_NULL(label());
	OK(done(disks_export_ops.leave(S, &DRIVE_, false)));
	CU_ASSERT_PTR_NULL(disks_next(S, NULL));
	CU_ASSERT_FALSE(K.drive[0].there);
	OK(file_label(path, &l, each));
	CU_ASSERT(l.flags == LABEL_F_UNEXPORTED && l.extents == 1);
	S->scanned = true;
	CU_ASSERT_EQUAL(done(disks_export_ops.leave(S, &DRIVE_, false)), -ENODEV);
	CU_ASSERT_EQUAL(probe(), EXPORT_LABEL);
	CU_ASSERT_TRUE(found.left);
	/* Taken again by command: the mark goes. */
	OK(take());
	OK(file_label(path, &l, each));
	CU_ASSERT(!l.flags && !each[0] && !each[1]);
	/* Twice is once. */
	OK(take());
	CU_ASSERT(D == disks_next(S, NULL) && !disks_next(S, D));
	edit();
	label_free(&now, &now.extent[0]);
	OK(write_label());
	OK(done(disks_export_ops.leave(S, &DRIVE_, true)));
	CU_ASSERT_EQUAL(file_label(path, &l, each), -ENODATA);
	CU_ASSERT_EQUAL(probe(), EXPORT_EMPTY);
	end();
}

/* The kernel gets no table of a drive that it has just given up. */
static void test_leave_push(void)
{
	begin();
	write_held = true;
	CU_ASSERT_EQUAL(disks_export_ops.leave(S, &DRIVE_, false), -EINPROGRESS);
	CU_ASSERT(until(write_waits));
	CU_ASSERT_FALSE(K.drive[0].there);
	pthread_mutex_lock(&D->lock);
	disk_push(D);
	pthread_mutex_unlock(&D->lock);
	for (int i = 0; i < 20; i++)
		woken();
	CU_ASSERT(kernel(K.adds == 1));
	write_held = false;
	OK(done(disks_export_ops.leave(S, &DRIVE_, false)));
	end();
}

static void test_leave_fails(void)
{
	begin();
	fail_copy(1, true);
	CU_ASSERT_EQUAL(done(disks_export_ops.leave(S, &DRIVE_, true)), -EIO);
	CU_ASSERT_PTR_NOT_NULL(label());
	/* The kernel has it again. */
	CU_ASSERT(kernel(K.drive[0].there));
	fail_copy(1, false);
	end();
}

/* A drive that was put back to an older state is not believed. */
static void test_put_back(void)
{
	static u8 head[MIB], tail[MIB];
	int fd;

	begin();
	fd = open(path, O_RDONLY);
	CU_ASSERT_EQUAL(pread(fd, head, MIB, 0), (ssize_t)MIB);
	CU_ASSERT_EQUAL(pread(fd, tail, MIB, SIZE - MIB), (ssize_t)MIB);
	close(fd);
	add_ready(1);
	disks_end();
	disks_begin();
	OK(take());		/* the daily copy */
	disks_end();
	junk(0, head, MIB);
	junk(SIZE - MIB, tail, MIB);
	disks_begin();
	CU_ASSERT_EQUAL(take(), -ESTALE);
	CU_ASSERT(strstr(disks_export_ops.words(S), "older state") != NULL);
	end();
}

/* Another disk with the label of a drive that is served. */
static void test_copy_of(void)
{
	char first[128], cmd[300];

	begin();
	strcpy(first, path);
	file_new("copy");
	snprintf(cmd, sizeof(cmd), "cp %s %s", first, path);
	OK(system(cmd));
	CU_ASSERT_EQUAL(take(), -EEXIST);
	CU_ASSERT(D && !strcmp(disk_path(D), first));
	end();
}

/* Lists were not read yet, or are read again. */
static bool half;
bool __real_copy_whole(const struct copy *c);

bool __wrap_copy_whole(const struct copy *c)
{
	return !half && __real_copy_whole(c);
}

static void test_allow(void)
{
	begin();
	store_begin();
	add_ready(1);
	OK(disks_allow(S, C));
	/* Not known: for the label's attacher alone. */
	CU_ASSERT(kernel(kernel_extent(1) && kernel_extent(1)->ready && !kernel_extent(1)->allow_all &&
			 !kernel_extent(1)->allows));
	put_volume(2);
	OK(disks_allow(S, C));
	CU_ASSERT(kernel(kernel_extent(1)->allows == 2 && !kernel_extent(1)->allow_all &&
			 muuid_equal(&kernel_extent(1)->allow[1], &OTHER_)));
	put_volume(0);
	OK(disks_allow(S, C));
	CU_ASSERT(kernel(kernel_extent(1)->allow_all && !kernel_extent(1)->allows));
	/* What the kernel has is not sent again. */
	CU_ASSERT(until(D->push_done == D->push_want));
	kernel_lock();
	K.sets = 0;
	kernel_unlock();
	put_drive(&HOST_, 0);
	OK(disks_allow(S, C));
	CU_ASSERT_EQUAL(D->push_done, D->push_want);
	/* Half a copy says nothing of volumes that are not in it. */
	half = true;
	rig_erase(O, &(struct key) { .kind = KEY_VOLUME, .volume = rig_id('v', 1) });
	rig_catch_up(C);
	OK(disks_allow(S, C));
	CU_ASSERT_EQUAL(D->push_done, D->push_want);
	half = false;
	OK(disks_allow(S, C));
	CU_ASSERT(kernel(!kernel_extent(1)->allow_all));
	/* An extent that is to stay after all is in the table again. */
	OK(done(disk_ops.table(D, extent(1))));
	put_drive(&HOST_, PLAN_FREEING);
	OK(disks_allow(S, C));
	CU_ASSERT(kernel(!kernel_extent(1)));
	CU_ASSERT_EQUAL(D->nr_out, 1);
	put_drive(&HOST_, PLAN_READY);
	OK(disks_allow(S, C));
	CU_ASSERT(kernel(kernel_extent(1)));
	store_end();
	end();
}

/* The one of them that is a map, if any. */
static const char *map;

bool __wrap_disk_stacked(const char *at)
{
	return map && !strcmp(at, map);
}

/* Jobs that do not end, for longer than a disk may take. */
static bool hung;

int __real_job_run(struct job *j);
int __wrap_job_run(struct job *j)
{
	return hung ? -EINPROGRESS : __real_job_run(j);
}

u64 __real_job_since(const struct job *j);
u64 __wrap_job_since(const struct job *j)
{
	return hung ? 60000 : __real_job_since(j);
}

/* To be freed. */
static struct obj_disk *list_new(u32 *n)
{
	struct obj_disk *all = NULL;

	OK(done(disks_list(S, &all, n)));
	CU_ASSERT_PTR_NOT_NULL_FATAL(all);
	return all;
}

/* The list that the store gets: an empty disk, and the drive at @drive. */
static void listed(const char *drive)
{
	struct obj_disk *all;
	u32 n;

	all = list_new(&n);
	CU_ASSERT_EQUAL_FATAL(n, 2);
	CU_ASSERT(all[0].exportable && !all[1].exportable && muuid_equal(&all[1].drive, &DRIVE_));
	free(all);
	/* A map that is empty is for something else; one that is a drive is found. */
	map = path;
	all = list_new(&n);
	CU_ASSERT(n == 1 && !strcmp(all[0].path, drive));
	free(all);
	map = drive;
	all = list_new(&n);
	CU_ASSERT_EQUAL(n, 2);
	free(all);
	map = NULL;
	/* One that hangs is named, so that a person sees which. */
	hung = true;
	all = list_new(&n);
	CU_ASSERT(n == 2 && !all[0].exportable && !strcmp(all[0].why, "does not answer"));
	CU_ASSERT(log_has("does not answer"));
	free(all);
	hung = false;
}

static void test_rescan(void)
{
	char first[128], cmd[300];
	const char *where;

	begin();
	store_begin();
	disks_end();
	strcpy(first, path);
	file_new("empty");
	machine[0] = path;
	machine[1] = first;
	disks_begin();
	/* A label that the store does not know is not taken. */
	CU_ASSERT_EQUAL(disks_generation(S, &where), 0);
	CU_ASSERT_FALSE(S->scanned);
	OK(done(disks_rescan(S, C)));
	CU_ASSERT(S->scanned);
	CU_ASSERT(disks_generation(S, &where) == 1 && !strcmp(where, first));
	CU_ASSERT_PTR_NULL(disks_next(S, NULL));
	CU_ASSERT(logged[0]);
	put_drive(&HOST_, 0);
	OK(done(disks_rescan(S, C)));
	CU_ASSERT(disks_next(S, NULL) && !strcmp(disk_path(disks_next(S, NULL)), first));
	OK(done(disks_rescan(S, C)));
	CU_ASSERT_PTR_NULL(disks_next(S, disks_next(S, NULL)));
	listed(first);
	/* Two disks with its label: which one is it? */
	disks_end();
	snprintf(cmd, sizeof(cmd), "cp %s %s", first, path);
	OK(system(cmd));
	disks_begin();
	OK(done(disks_rescan(S, C)));
	CU_ASSERT_PTR_NULL(disks_next(S, NULL));
	CU_ASSERT(log_has("neither is served"));
	/* Another host's. */
	machine[1] = NULL;
	put_drive(&OTHER_, 0);
	OK(done(disks_rescan(S, C)));
	CU_ASSERT_PTR_NULL(disks_next(S, NULL));
	put_drive(&HOST_, 0);
	OK(done(disks_rescan(S, C)));
	CU_ASSERT_PTR_NOT_NULL(disks_next(S, NULL));
	machine[0] = NULL;
	store_end();
	end();
}

/* While the store is away the label and what this host has seen of the store decide. */
static void test_rescan_alone(void)
{
	struct plan_seen seen = { .cluster = rig_id('c', 2), .generation = 1 };

	begin();
	add_ready(1);
	disks_end();
	machine[0] = path;
	disks_begin();
	OK(done(disks_rescan_alone(S, &seen)));
	CU_ASSERT_PTR_NULL(disks_next(S, NULL));
	seen.cluster = rig_id('c', 1);
	OK(done(disks_rescan_alone(S, &seen)));
	D = disks_next(S, NULL);
	CU_ASSERT(D && extent(1));
	machine[0] = NULL;
	end();
}

static bool agent_waits(void)
{
	guard(&D->lock);
	return D->want || D->record || D->zeroing;
}

/* The agent of the drive itself, over this machine. */
static void agent_turns(struct drive_agent *a)
{
	u64 give_up = disk_now() + UNTIL_MS;
	bool busy;
	int n;

	while (disk_now() < give_up) {
		busy = agent_waits();
		rig_catch_up(C);
		OK(disks_allow(S, C));
		n = drive_turn(a);
		CU_ASSERT(n >= 0);
		if (!n && !busy && !agent_waits())
			break;
		if (!n)
			woken();
	}
}

static void test_agent(void)
{
	struct key k = { .kind = KEY_DRIVE, .drive = DRIVE_ };
	const struct obj_drive *d;
	struct drive_agent a;

	begin();
	store_begin();
	OK(copy_follow(C, &(struct key) { .kind = KEY_ACCESS }, 0));
	put_volume(0);
	put_drive(&HOST_, PLAN_WANTED);
	a = (struct drive_agent) { .copy = C, .host = HOST_, .drive = DRIVE_, .ops = &disk_ops, .dev = D };
	OK(drive_begin(&a));
	agent_turns(&a);
	d = copy_obj(C, &k);
	CU_ASSERT(d && d->plan.extents == 1 && d->plan.extent[0].state == PLAN_READY);
	CU_ASSERT(d && d->plan.extent[0].version == 1);
	CU_ASSERT(extent(1) && extent(1)->state == LABEL_READY && extent(1)->version == 1);
	CU_ASSERT_EQUAL(copy_version(0), 1);
	CU_ASSERT(kernel(kernel_extent(1) && kernel_extent(1)->allow_all));
	store_end();
	end();
}

static const struct rig_test tests[] = {
	{ "an extent leaves the kernel's table", test_table },
	{ "... of which an older table says nothing", test_table_before },
	{ "... which is polled", test_table_polled },
	{ "... of another device", test_table_other },
	{ "... and does not", test_table_fails },
	{ "a local drive", test_local },
	{ "the kernel's module comes back", test_serve },
	{ "a drive goes, and comes back", test_gone },
	{ "... while a thread has it", test_gone_hangs },
	{ "what is on a disk", test_probe },
	{ "a first label", test_first },
	{ "another owner", test_own },
	{ "a drive leaves", test_leave },
	{ "... and gets no table", test_leave_push },
	{ "... and does not", test_leave_fails },
	{ "a drive that was put back", test_put_back },
	{ "a copy of a drive that is served", test_copy_of },
	{ "hosts that may open an extent", test_allow },
	{ "disks of the machine", test_rescan },
	{ "... while the store is away", test_rescan_alone },
	{ "under the agent of a drive", test_agent },
};

int main(void)
{
	return rig_main("daemon_drives", tests, sizeof(tests) / sizeof(tests[0]));
}
