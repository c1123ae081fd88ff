// SPDX-License-Identifier: GPL-2.0-only
/*
 * Drives of this machine: labels, numbers, records and zeroes, each by the ops that agents call, over files and a fake kernel.
 */
#include "tests/unit/disk_rig.h"
#include "userspace/machine/guard.h"

static int each[2];

static void test_label(void)
{
	struct label l;

	begin();
	CU_ASSERT_EQUAL(label()->sequence, 1);
	add(1, LABEL_ZEROING);
	CU_ASSERT_PTR_NOT_NULL(extent(1));
	OK(file_label(path, &l, each));
	CU_ASSERT(!each[0] && !each[1] && l.extents == 1);
	CU_ASSERT(l.sequence == label()->sequence);
	/* Nothing is written that is there already. */
	edit();
	OK(disk_ops.label_write(D, &now));
	CU_ASSERT_EQUAL(label()->sequence, l.sequence);
	/* One at a time. */
	now.generation = 5;
	CU_ASSERT_EQUAL(disk_ops.label_write(D, &now), -EINPROGRESS);
	now.generation = 4;
	OK(done(disk_ops.label_write(D, &now)));
	CU_ASSERT_EQUAL(label()->generation, 4);
	end();
}

static void test_grant(void)
{
	const struct muuid a = HOST, b = OTHER;

	begin();
	add(1, LABEL_ZEROING);
	CU_ASSERT_EQUAL(grant(1, &a, N(1, 1, 1), 2), -EAGAIN);
	OK(zero(1));
	CU_ASSERT(kernel(kernel_extent(1) && kernel_extent(1)->ready));
	/* Durable in both copies before the answer. */
	OK(grant(1, &a, N(1, 1, 1), 2));
	CU_ASSERT_EQUAL(K.durable, N(1, 1, 1));
	CU_ASSERT(muuid_equal(&extent(1)->attacher, &a));
	CU_ASSERT(kernel(kernel_extent(1)->attach == N(1, 1, 1)));
	/* The same again, and a later OPEN of the same writer. */
	OK(grant(1, &a, N(1, 1, 1), 2));
	OK(grant(1, &a, N(1, 1, 2), 2));
	CU_ASSERT_EQUAL(K.durable, N(1, 1, 2));
	/* Lower, another host's equal one: the label is above. */
	CU_ASSERT_EQUAL(grant(1, &a, N(1, 1, 1), 2), -EEXIST);
	CU_ASSERT_EQUAL(grant(1, &b, N(1, 1, 9), 2), -EEXIST);
	CU_ASSERT_EQUAL(grant(1, &b, N(30, 1, 0), 2), -ERANGE);
	CU_ASSERT_EQUAL(grant(1, &b, N(1, 3 << 20, 0), 2), -ERANGE);
	OK(grant(1, &b, N(1, 2, 0), 2));
	CU_ASSERT_EQUAL(K.durable, N(1, 2, 0));
	/* Readers change nothing; one whose number is below learns it. */
	OK(grant(1, &a, N(1, 2, 0), 1));
	CU_ASSERT_EQUAL(grant(1, &a, N(1, 1, 9), 1), -EEXIST);
	CU_ASSERT_EQUAL(file_number(path, &extent(1)->uuid), N(1, 2, 0));
	CU_ASSERT_EQUAL(grant(2, &a, N(1, 1, 1), 2), -ENOENT);
	end();
}

/* Without a number, or of a drive that is not here. */
static void test_grant_refused(void)
{
	const struct muuid a = HOST;

	begin();
	add_ready(1);
	OK(grant(1, &a, N(1, 1, 1), 2));
	kernel_lock();
	K.grant.numbered = false;
	K.grant.request = 1000;
	K.pending = true;
	kernel_unlock();
	CU_ASSERT(kernel(K.answered == 1000));
	CU_ASSERT_EQUAL(K.answer, -EPROTO);
	kernel_lock();
	K.grant.numbered = true;
	K.grant.drive = rig_id('d', 9);
	K.grant.request = 1001;
	K.pending = true;
	kernel_unlock();
	CU_ASSERT(kernel(K.answered == 1001));
	CU_ASSERT_EQUAL(K.answer, -ENODEV);
	end();
}

/* The agent decided from a label of before a grant: the number stays. */
static void test_merge(void)
{
	const struct muuid a = HOST;

	begin();
	add_ready(1);
	edit();
	OK(grant(1, &a, N(1, 7, 1), 2));
	now.generation = 9;
	OK(write_label());
	CU_ASSERT_EQUAL(label()->generation, 9);
	CU_ASSERT_EQUAL(extent(1)->attach, N(1, 7, 1));
	CU_ASSERT(muuid_equal(&extent(1)->attacher, &a));
	CU_ASSERT(muuid_equal(&extent(1)->holder, &a));
	CU_ASSERT_EQUAL(extent(1)->state, LABEL_READY);
	/* Nor does it raise one, or make one. */
	edit();
	now.extent[0].attach = N(1, 9, 9);
	now.extent[0].attacher = OTHER;
	now.extent[0].state = LABEL_ZEROING;
	now.extent[0].zeroed = 0;
	now.extent[1] = (struct label_extent) { .uuid = rig_id('x', 2), .volume = rig_id('v', 1), .start = 9 * MIB,
						.length = 8 * MIB, .state = LABEL_ZEROING, .attach = 5,
						.attacher = OTHER };
	now.extents = 2;
	OK(write_label());
	CU_ASSERT_EQUAL(extent(1)->attach, N(1, 7, 1));
	CU_ASSERT_EQUAL(extent(1)->state, LABEL_READY);
	CU_ASSERT_EQUAL(extent(1)->zeroed, 8 * MIB);
	CU_ASSERT_EQUAL(extent(2)->attach, 0);
	end();
}

/* Grants of one extent while the agent changes the label all the time: no number is ever lowered. */
static void test_race(void)
{
	const struct muuid a = HOST, u = rig_id('x', 1);
	u64 seen = 0, is;
	u32 writes = 0;

	begin();
	add_ready(1);
	for (u32 i = 1; i <= 60; i++) {
		kernel_lock();
		K.path = path;
		K.grant = (struct meshtgt_grant) { .request = 5000 + i, .host = a, .drive = DRIVE, .extent = u,
						   .attach = N(1, 1, i), .access = 2, .numbered = true };
		K.pending = true;
		kernel_unlock();
		/* Half of the time the edit is of a label that is older than the number. */
		edit();
		now.generation = 1000 + i;
		writes += !done(disk_ops.label_write(D, &now));
		CU_ASSERT(kernel(K.answered == 5000 + i));
		OK(K.answer);
		CU_ASSERT(K.durable == N(1, 1, i) || !K.durable);
		is = file_number(path, &u);
		CU_ASSERT(!is || is >= seen);
		seen = is ? is : seen;
	}
	CU_ASSERT_EQUAL(writes, 60);
	CU_ASSERT_EQUAL(extent(1)->attach, N(1, 1, 60));
	CU_ASSERT_EQUAL(label()->generation, 1060);
	end();
}

/* A grant is written while the agent's label waits, which was merged with the label of before. */
static void test_merge_late(void)
{
	const struct muuid a = HOST;

	begin();
	add_ready(1);
	edit();
	write_held = true;
	grant_send(1, &a, N(1, 7, 1), 2);
	CU_ASSERT(until(write_waits));
	now.generation = 9;
	CU_ASSERT_EQUAL(disk_ops.label_write(D, &now), -EINPROGRESS);
	write_held = false;
	OK(grant_answer());
	CU_ASSERT(until(label()->generation == 9));
	CU_ASSERT_EQUAL(extent(1)->attach, N(1, 7, 1));
	CU_ASSERT(until(file_number(path, &extent(1)->uuid) == N(1, 7, 1)));
	end();
}

static bool number_waits(void)
{
	guard(&D->lock);
	return D->numbers;
}

/* A host waits for its number: it comes before all that the agent wants. */
static void test_first_grants(void)
{
	const struct muuid a = HOST;
	struct layout *l = record_of(1);

	begin();
	add_ready(1);
	edit();
	now.generation = 2;
	write_held = true;
	CU_ASSERT_EQUAL(disk_ops.label_write(D, &now), -EINPROGRESS);
	CU_ASSERT(until(write_waits));
	CU_ASSERT_EQUAL(disk_ops.record_write(D, extent(1), l), -EINPROGRESS);
	watched = D;
	grant_send(1, &a, N(1, 7, 1), 2);
	CU_ASSERT(until(number_waits()));
	write_held = false;
	OK(grant_answer());
	CU_ASSERT_TRUE(K.before);
	OK(done(disk_ops.record_write(D, extent(1), l)));
	free(l);
	end();
}

/* Another host's label, or another program's. */
static void stray(bool taken)
{
	struct label *l = malloc(sizeof(*l));
	struct label_disk on;
	int fd = disk_open(path, O_RDWR);

	CU_ASSERT_FATAL(fd >= 0 && !label_read(fd, SIZE, l, &on, each));
	if (taken)
		l->owner = OTHER;
	else
		l->flags = LABEL_F_UNEXPORTED;
	l->sequence = 77;
	OK(label_write(fd, l, &on, each));
	close(fd);
	free(l);
}

static void test_foreign(void)
{
	const struct muuid a = HOST;
	struct label l;

	idle_ms = 1000000;
	begin();
	add_ready(1);
	CU_ASSERT(kernel(kernel_extent(1) && kernel_extent(1)->ready));
	edit();
	stray(false);
	now.generation = 9;
	CU_ASSERT_EQUAL(write_label(), -EBADE);
	OK(file_label(path, &l, each));
	CU_ASSERT(l.sequence == 77 && l.generation == 1 && !each[0] && !each[1]);
	CU_ASSERT_PTR_NULL(label());
	CU_ASSERT(kernel(kernel_extent(1) && !kernel_extent(1)->ready));
	CU_ASSERT_EQUAL(grant(1, &a, N(1, 1, 1), 2), -EBADE);
	CU_ASSERT_EQUAL(disk_ops.label_write(D, &now), -EBADE);
	CU_ASSERT(log_has("another host or program writes"));
	OK(file_label(path, &l, each));
	CU_ASSERT_EQUAL(l.sequence, 77);
	end();
}

/* Its new owner may give to others what is open here. An idle drive notices it, too. */
static void test_taken_over(void)
{
	begin();
	add_ready(1);
	stray(true);
	CU_ASSERT(until(!disks_next(S, NULL)));
	CU_ASSERT_PTR_NULL(label());
	CU_ASSERT(kernel(!K.drive[0].there && K.forced));
	CU_ASSERT_EQUAL(take(), -EPERM);
	end();
}

/* A copy that cannot be written: no number is granted, no change is reported, and both come later. */
static void test_one_copy(void)
{
	const struct muuid a = HOST;

	for (int copy = 0; copy < 2; copy++) {
		begin();
		add_ready(1);
		fail_copy(copy, true);
		CU_ASSERT(grant(1, &a, N(1, 1, 1), 2) < 0);
		CU_ASSERT_EQUAL(extent(1)->attach, 0);
		edit();
		now.generation = 3;
		CU_ASSERT_EQUAL(write_label(), -EIO);
		CU_ASSERT_EQUAL(label()->generation, 1);
		/* The same number again is not taken for durable. */
		CU_ASSERT(grant(1, &a, N(1, 1, 1), 2) < 0);
		fail_copy(copy, false);
		OK(write_label());
		CU_ASSERT_EQUAL(label()->generation, 3);
		OK(grant(1, &a, N(1, 1, 1), 2));
		CU_ASSERT_EQUAL(K.durable, N(1, 1, 1));
		end();
	}
}

/* By itself, when nothing else is to be done. */
static void test_repaired(void)
{
	const struct muuid a = HOST, u = rig_id('x', 1);

	begin();
	add_ready(1);
	fail_copy(1, true);
	CU_ASSERT(grant(1, &a, N(1, 1, 1), 2) < 0);
	fail_copy(1, false);
	CU_ASSERT(until(file_number(path, &u) == N(1, 1, 1)));
	end();
}

/* The host dies between the copies: the newer one counts, in both, and the number is kept. */
static void test_crash(void)
{
	const struct muuid a = HOST, b = OTHER, u = rig_id('x', 1);
	struct label l;

	for (int copy = 0; copy < 2; copy++) {
		idle_ms = 1000000;
		begin();
		add_ready(1);
		OK(grant(1, &a, N(1, 1, 1), 2));
		fail_copy(copy, true);
		CU_ASSERT(grant(1, &b, N(1, 2, 0), 2) < 0);
		disks_end();
		kernel_reset();
		OK(file_label(path, &l, each));
		CU_ASSERT_EQUAL(l.extent[0].attach, N(1, 2, 0));
		disks_begin();
		OK(take());
		CU_ASSERT(until(extent(1) && extent(1)->attach == N(1, 2, 0)));
		CU_ASSERT(until(({ const struct label *s = label();
				   s && !file_label(path, &l, each) && !each[0] && !each[1] &&
				   file_number(path, &u) == N(1, 2, 0); })));
		OK(done(disks_serve(S)));
		CU_ASSERT_EQUAL(grant(1, &a, N(1, 1, 2), 2), -EEXIST);
		end();
	}
}

/* ... and then one of the copies cannot be written: nothing is decided from it before it can. */
static void test_crash_sick(void)
{
	const struct muuid b = OTHER;

	idle_ms = 1000000;
	begin();
	add_ready(1);
	fail_copy(1, true);
	CU_ASSERT(grant(1, &b, N(1, 2, 0), 2) < 0);
	disks_end();
	idle_ms = 20;
	disks_begin();
	OK(take());
	CU_ASSERT_PTR_NULL(label());
	fail_copy(1, false);
	CU_ASSERT(until(label()));
	CU_ASSERT(extent(1) && extent(1)->attach == N(1, 2, 0));
	end();
}

/* One copy is torn, or rots: the other one counts, and both are good again. */
static void test_torn(void)
{
	u8 junk[512] = { 1, 2, 3 };
	int fd;

	for (int copy = 0; copy < 2; copy++) {
		begin();
		add_ready(1);
		disks_end();
		fd = open(path, O_RDWR);
		CU_ASSERT_EQUAL(pwrite(fd, junk, sizeof(junk), (copy ? SIZE - MIB : 0) + 512), sizeof(junk));
		close(fd);
		disks_begin();
		OK(take());
		CU_ASSERT_PTR_NOT_NULL(extent(1));
		CU_ASSERT(until(!file_label(path, &now, each) && !each[0] && !each[1]));
		end();
	}
}

static int record(u64 version)
{
	struct layout *l = record_of(version);
	int err = done(disk_ops.record_write(D, extent(1), l));

	free(l);
	return err;
}

static u64 recorded(void)
{
	struct layout_head h;

	return disk_ops.record(D, extent(1), &h) ? 0 : h.version;
}

static void roll(u64 version)
{
	edit();
	now.extent[0].version = version;
	now.extent[0].commit = 100 + version;
	OK(write_label());
}

static void test_record(void)
{
	struct layout_head h;

	begin();
	add(1, LABEL_ZEROING);
	CU_ASSERT_EQUAL(disk_ops.record(D, extent(1), &h), -ENODATA);
	OK(zero(1));
	CU_ASSERT_EQUAL(disk_ops.record(D, extent(1), &h), -ENODATA);
	OK(record(1));
	CU_ASSERT_EQUAL(recorded(), 1);
	CU_ASSERT_EQUAL(disk_ops.record(D, &(struct label_extent) { .uuid = rig_id('x', 1), .state = LABEL_ZEROING },
					&h), -ENODATA);
	CU_ASSERT_EQUAL(copy_version(0) + copy_version(1), 1);
	roll(1);
	CU_ASSERT(until(copy_version(0) == 1 && copy_version(1) == 1));
	/* The next one is over the copy that the label does not need. */
	OK(record(2));
	CU_ASSERT_EQUAL(recorded(), 2);
	CU_ASSERT_EQUAL(copy_version(0) + copy_version(1), 3);
	/* A crash before the label: both are there; again, and then the label. */
	disks_end();
	kernel_reset();
	disks_begin();
	OK(take());
	CU_ASSERT_EQUAL(recorded(), 2);
	OK(record(3));
	CU_ASSERT_EQUAL(copy_version(0) + copy_version(1), 4);
	roll(3);
	CU_ASSERT(until(copy_version(0) == 3 && copy_version(1) == 3));
	end();
}

/* Nothing is written to a drive that another host has by now. */
static void test_record_foreign(void)
{
	struct layout *l = record_of(1);

	idle_ms = 1000000;
	begin();
	add_ready(1);
	edit();
	stray(false);
	CU_ASSERT_EQUAL(done(disk_ops.record_write(D, &now.extent[0], l)), -EBADE);
	free(l);
	CU_ASSERT_EQUAL(copy_version(0) + copy_version(1), 0);
	end();
}

/* Another volume's record of before, in an extent that is being zeroed, is none. */
static void test_record_stale(void)
{
	struct layout_head h;
	struct layout *l;

	begin();
	add_ready(1);
	l = record_of(5);
	l->volume = rig_id('v', 9);
	OK(disk_record_put(D->fd, extent(1), l));
	free(l);
	disks_end();
	disks_begin();
	OK(take());
	CU_ASSERT_EQUAL(disk_ops.record(D, extent(1), &h), -ENODATA);
	end();
}

static void test_record_fails(void)
{
	begin();
	add_ready(1);
	bad_at[0] = MIB;
	bad_at[1] = MIB + LAYOUT_COPY_BYTES;
	bad[0] = bad[1] = true;
	CU_ASSERT_EQUAL(record(1), -EIO);
	CU_ASSERT_EQUAL(recorded(), 0);
	bad[0] = bad[1] = false;
	OK(record(1));
	CU_ASSERT_EQUAL(recorded(), 1);
	end();
}

static bool all_zero(u64 at, u64 bytes)
{
	static u8 buf[MIB], none[MIB];
	int fd = open(path, O_RDONLY);
	bool is = true;

	for (; bytes && is; at += MIB, bytes -= MIB)
		is = pread(fd, buf, MIB, at) == (ssize_t)MIB && !memcmp(buf, none, MIB);
	close(fd);
	return is;
}

static void test_zero(void)
{
	const struct muuid a = HOST;
	u8 junk[4096] = { 1, 2, 3 };
	int fd;

	begin();
	add_ready(2);
	add(1, LABEL_ZEROING);
	fd = open(path, O_RDWR);
	CU_ASSERT_EQUAL(pwrite(fd, junk, sizeof(junk), 10 * MIB), sizeof(junk));
	CU_ASSERT_EQUAL(pwrite(fd, junk, sizeof(junk), 17 * MIB), sizeof(junk));
	close(fd);
	CU_ASSERT(kernel(kernel_extent(1) && !kernel_extent(1)->ready));
	/* A grant does not wait for zeroes. */
	zero_held = true;
	CU_ASSERT_EQUAL(disk_ops.zero(D, extent(1)), -EINPROGRESS);
	OK(grant(2, &a, N(1, 1, 1), 2));
	CU_ASSERT_EQUAL(extent(1)->state, LABEL_ZEROING);
	zero_held = false;
	OK(zero(1));
	CU_ASSERT_EQUAL(extent(1)->state, LABEL_READY);
	CU_ASSERT(all_zero(9 * MIB, 8 * MIB));
	/* What is behind it is not its own. */
	CU_ASSERT(!all_zero(17 * MIB, MIB));
	CU_ASSERT(kernel(kernel_extent(1) && kernel_extent(1)->ready));
	end();
}

static void test_zero_fails(void)
{
	idle_ms = 1000000;
	begin();
	add(1, LABEL_ZEROING);
	zero_err = -EIO;
	CU_ASSERT_EQUAL(zero(1), -EIO);
	CU_ASSERT_EQUAL(extent(1)->state, LABEL_ZEROING);
	zero_err = 0;
	OK(zero(1));
	/* Nor is anything zeroed of a drive that another host has by now. */
	add(2, LABEL_ZEROING);
	zeroed = 0;
	edit();
	stray(false);
	CU_ASSERT_EQUAL(done(disk_ops.zero(D, &now.extent[1])), -EBADE);
	CU_ASSERT_EQUAL(zeroed, 0);
	end();
}

static u16 smart_shown(void)
{
	struct export_disk out;

	OK(disk_look(S, path, &out));
	return out.disk.smart.known ? out.disk.smart.used : 0;
}

/* The thread of the drive was idle once more: it has repaired a copy. */
static void idle_once(u64 number)
{
	const struct muuid a = HOST, u = rig_id('x', 1);

	fail_copy(1, true);
	CU_ASSERT(grant(1, &a, number, 2) < 0);
	fail_copy(1, false);
	CU_ASSERT(until(file_number(path, &u) == number));
}

/* SMART values are read when the drive is idle, and then every ten minutes. */
static void test_smart(void)
{
	unsigned int reads = smart_reads;

	smart_used = 7;
	begin();
	add_ready(1);
	CU_ASSERT(until(smart_shown() == 7));
	smart_used = 8;
	idle_once(N(1, 1, 1));
	idle_once(N(1, 2, 1));
	CU_ASSERT(smart_shown() == 7 && smart_reads == reads + 1);
	pthread_mutex_lock(&D->lock);
	D->smart_ms -= DISK_SMART_MS;
	pthread_mutex_unlock(&D->lock);
	CU_ASSERT(until(smart_shown() == 8));
	smart_used = 0;
	end();
}

static const struct rig_test tests[] = {
	{ "a label is written", test_label },
	{ "numbers by the kernel's request", test_grant },
	{ "requests that are refused", test_grant_refused },
	{ "the agent lowers no number", test_merge },
	{ "grants and labels side by side", test_race },
	{ "a grant while a label waits", test_merge_late },
	{ "grants come first", test_first_grants },
	{ "a label that was written elsewhere", test_foreign },
	{ "another host takes the drive over", test_taken_over },
	{ "one copy cannot be written", test_one_copy },
	{ "a copy is repaired", test_repaired },
	{ "a crash between the copies", test_crash },
	{ "... and a copy that cannot be written", test_crash_sick },
	{ "a torn copy", test_torn },
	{ "records", test_record },
	{ "a record of another volume", test_record_stale },
	{ "no record over another host's drive", test_record_foreign },
	{ "a record cannot be written", test_record_fails },
	{ "zeroes", test_zero },
	{ "zeroes cannot be written", test_zero_fails },
	{ "SMART values", test_smart },
};

int main(void)
{
	return rig_main("daemon_disk", tests, sizeof(tests) / sizeof(tests[0]));
}
