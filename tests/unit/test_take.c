// SPDX-License-Identifier: GPL-2.0-only
/* Taking a drive up: what is opened, and that it is what was probed. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/kernel.h>
#include <stdarg.h>
#include <sys/ioctl.h>
#include <unistd.h>

static int test_open(const char *path, int flags, ...);

#define open	test_open
#include "userspace/meshd/take.c"
#undef open
#include "suite.h"

#define SIZE	(64ULL << 20)

struct meshd D;
static int file;		/* behind the device's name */
static bool excluded, other_disk;
static int alone_fd;
static int wiped, wiped_alone, started;
static int set_aside, aside_err;	/* what was kept of the drive that it was before */

static int test_open(const char *path, int flags, ...)
{
	int fd;

	(void)path;
	if ((flags & O_EXCL) && excluded) {
		errno = EBUSY;
		return -1;
	}
	fd = dup(file);
	if (flags & O_EXCL)
		alone_fd = fd;
	return fd;
}

static bool held_alone(void)
{
	return alone_fd >= 0 && fcntl(alone_fd, F_GETFD) >= 0;
}

bool probe_same_disk(const struct probe *p, int fd)
{
	(void)p, (void)fd;
	return !other_disk;
}



int backup_erased(const struct twin_id *is)
{
	CU_ASSERT_STRING_EQUAL(is->wwid, "this");
	CU_ASSERT_EQUAL(wiped, 0);
	set_aside++;
	return aside_err;
}

int label_forget(int fd, u64 size)
{
	(void)fd, (void)size;
	wiped++;
	wiped_alone += held_alone();
	return 0;
}

static int write_err;

int label_write(int fd, const struct label *l, struct label_disk *disk, int err[2])
{
	(void)fd, (void)l, (void)disk;
	wiped_alone += held_alone();
	err[0] = err[1] = 0;
	return write_err;
}

static char *ends;		/* what the device had where a label goes */
static int put_back_ends;

void *label_ends_read(int fd, u64 size)
{
	(void)fd, (void)size;
	CU_ASSERT(!wiped && held_alone());
	return ends ? strdup(ends) : NULL;
}

int label_ends_write(int fd, u64 size, const void *was)
{
	(void)fd, (void)size;
	/* Nothing else may have the device by now. */
	CU_ASSERT(held_alone() && !strcmp(was, ends));
	put_back_ends++;
	return 0;
}

static int check_err;		/* of the kernel, before anything is written */

int kernel_check(const char *path, char *why, size_t size)
{
	(void)path, (void)size;
	CU_ASSERT_EQUAL(wiped + set_aside, 0);
	why[0] = 0;
	return check_err;
}

int tdrive_start(const char *path, int fd, struct label *label, const struct label_disk *disk,
		 const struct twin_id *id, struct tdrive **out)
{
	(void)path, (void)disk, (void)id, (void)out;
	/* The kernel cannot take what we hold alone. */
	started += held_alone() ? 100 : 1;
	close(fd);
	free(label);
	return -EEXIST;
}

/* What take() does not come to here */

#define QUIET(name) void name(const char *fmt, ...) { (void)fmt; }
QUIET(log_error) QUIET(log_warn) QUIET(log_info) QUIET(log_debug)

u64 now_ms(void) { return 1; }
void sleep_ms(unsigned int ms) { (void)ms; }
void uuid_random(struct muuid *u) { memset(u, 7, sizeof(*u)); }
void export_rescan(void) { }
bool probe_labelled(const char *path) { (void)path; return false; }
int probe_device(const char *path, struct probe *p) { (void)path, (void)p; return -ENOSYS; }
void probe_clear(struct probe *p) { free(p->label); p->label = NULL; }
static int commits, commit_err, pushes, push_err;
static bool unexported;
static bool elsewhere;		/* the kernel serves it from another device */
static const struct twin_id before = { .wwid = "before" };
static struct twin_id noted;	/* the device of last time */
static int backups;
static u64 newer;

struct label *tdrive_edit(struct tdrive *d)
{
	struct label *l = malloc(sizeof(*l));

	memcpy(l, d->label, sizeof(*l));
	return l;
}

int tdrive_commit(struct tdrive *d, struct label *l)
{
	if (commit_err) {
		free(l);
		return commit_err;
	}
	l->sequence = d->label->sequence + 1;
	memcpy(d->label, l, sizeof(*l));
	free(l);
	commits++;
	return 0;
}
bool tdrive_elsewhere(struct tdrive *d) { (void)d; return elsewhere; }
int tdrive_check(struct tdrive *d) { (void)d; return elsewhere ? -EEXIST : check_err; }
bool unexported_noted(const struct muuid *u) { (void)u; return unexported; }
int unexported_note(const struct muuid *u) { (void)u; unexported = true; return 0; }

/* The device is noted by the time that it is written to. */
int tdrive_push(struct tdrive *d)
{
	CU_ASSERT(!strcmp(noted.wwid, d->id.wwid));
	pushes++;
	return push_err;
}
void tdrive_stop(struct tdrive *d, bool force) { (void)d, (void)force; }
void tdrive_put(struct tdrive *d) { (void)d; }
void tdrive_home_begin(struct tdrive *d) { (void)d; }
void tdrive_home_end(struct tdrive *d) { (void)d; }
void zero_kick(struct tdrive *d) { (void)d; }
int store_drive_put(const struct muuid *u, const char *path) { (void)u, (void)path; return 0; }
u64 backup_newer(const struct label *l) { (void)l; return newer; }
void backup_aside(const struct muuid *u) { (void)u; }
void unexported_forget(const struct muuid *u) { (void)u; unexported = false; }
int device_note(const struct muuid *u, const struct twin_id *id) { (void)u; noted = *id; return 0; }
void device_forget(const struct muuid *u) { (void)u; memset(&noted, 0, sizeof(noted)); }

int device_noted(const struct muuid *u, struct twin_id *id)
{
	(void)u;
	*id = noted;
	return noted.wwid[0] ? 0 : -ENOENT;
}

int tdrive_run(struct tdrive *d, int (*fn)(struct tdrive *d, void *arg), void *arg)
{
	(void)d, (void)fn, (void)arg;
	return -ENOSYS;
}

void backup_label(struct tdrive *d, const struct label *l, bool now)
{
	(void)d, (void)l, (void)now;
	backups++;
}

void fan_run(const struct fan *f, void **item, size_t n, unsigned int ms, void **result)
{
	(void)f, (void)item, (void)n, (void)ms, (void)result;
}

static int taken(bool fresh)
{
	struct taking t = { .how = { .by_hand = true, .fresh = fresh }, .p = { .size = SIZE, .lba = 512, .id.wwid = "this" } };

	alone_fd = -1;
	wiped = wiped_alone = started = set_aside = put_back_ends = 0;
	if (!fresh)
		t.p.label = calloc(1, sizeof(*t.p.label));
	file = open("/tmp", O_TMPFILE | O_RDWR, 0600);
	CU_ASSERT_FATAL(file >= 0);
	t.err = take(&t);
	CU_ASSERT(!held_alone());
	close(file);
	probe_clear(&t.p);
	return t.err;
}

static void test_fresh(void)
{
	CU_ASSERT_EQUAL(taken(true), -EEXIST);
	CU_ASSERT_EQUAL(wiped, 1);
	CU_ASSERT_EQUAL(wiped_alone, 2);
	CU_ASSERT_EQUAL(started, 1);
	/* One that is served already may be held by the kernel. */
	excluded = true;
	CU_ASSERT_EQUAL(taken(false), -EEXIST);
	CU_ASSERT_EQUAL(started, 1);
	CU_ASSERT_EQUAL(wiped, 0);
	excluded = false;
}

/* The kernel's verdict comes first; one that comes later leaves the device as it was. */
static void test_refused(void)
{
	static const int errs[] = { -EOPNOTSUPP, -ENOPKG, -ENOMEM };

	ends = "before";
	for (size_t i = 0; i < 3; i++) {
		check_err = errs[i];
		CU_ASSERT_EQUAL(taken(true), errs[i]);
		CU_ASSERT_EQUAL(wiped + started + set_aside + put_back_ends, 0);
	}
	check_err = -EBUSY;
	CU_ASSERT_EQUAL(taken(true), -ETXTBSY);
	CU_ASSERT_EQUAL(wiped + started + set_aside + put_back_ends, 0);
	check_err = 0;
	CU_ASSERT_EQUAL(taken(true), -EEXIST);
	CU_ASSERT(wiped == 1 && put_back_ends == 1);
	/* A device that cannot be written, too. */
	write_err = -EIO;
	CU_ASSERT_EQUAL(taken(true), -EIO);
	CU_ASSERT(started == 0 && put_back_ends == 1);
	write_err = 0;
	/* With a label nothing was erased. */
	CU_ASSERT_EQUAL(taken(false), -EEXIST);
	CU_ASSERT_EQUAL(wiped + put_back_ends, 0);
	ends = NULL;
}

/* A drive of another host stays that host's. */
static void test_refused_label(void)
{
	static const struct label before = { .owner = { { 9 } }, .size = SIZE / 2, .flags = LABEL_F_UNEXPORTED };
	struct label l = before;
	struct tdrive d = { .label = &l, .size = SIZE };
	struct up u = { .how = { .by_hand = true, .over = true } };

	check_err = -EOPNOTSUPP;
	commits = pushes = backups = 0;
	CU_ASSERT_EQUAL(up_job(&d, &u), -EOPNOTSUPP);
	CU_ASSERT(!commits && !pushes && !backups && !memcmp(&l, &before, sizeof(l)));
	check_err = 0;
	push_err = -EOPNOTSUPP;
	unexported = true;
	CU_ASSERT_EQUAL(up_job(&d, &u), -EOPNOTSUPP);
	CU_ASSERT(commits == 2 && pushes == 1 && !backups && unexported);
	CU_ASSERT(l.sequence == 2 && muuid_equal(&l.owner, &before.owner) && l.size == before.size &&
		  l.flags == before.flags);
	unexported = false;
	push_err = 0;
}

/* What is kept of the drive of before would be restored over what the new one gets. */
static void test_set_aside(void)
{
	set_aside = 0;
	CU_ASSERT_EQUAL(taken(false), -EEXIST);
	CU_ASSERT_EQUAL(set_aside, 0);
	CU_ASSERT_EQUAL(taken(true), -EEXIST);
	CU_ASSERT(set_aside == 1 && wiped == 1);
	aside_err = -ENOSPC;
	CU_ASSERT_EQUAL(taken(true), -EROFS);
	CU_ASSERT_EQUAL(wiped + started, 0);
	aside_err = 0;
}

static void test_in_use(void)
{
	excluded = true;
	CU_ASSERT_EQUAL(taken(true), -ETXTBSY);
	CU_ASSERT_EQUAL(wiped + started, 0);
	excluded = false;
}

static void test_other_disk(void)
{
	other_disk = true;
	for (int fresh = 0; fresh < 2; fresh++) {
		CU_ASSERT_EQUAL(taken(fresh), -ESTALE);
		CU_ASSERT_EQUAL(wiped + started, 0);
	}
	other_disk = false;
}

static int put_right_as(bool over, u8 cluster)
{
	static const int each[2];
	static struct label l;
	struct tdrive d = { .label = &l, .size = SIZE, .disk.tried = 12 };
	struct take_how how = { .by_hand = true, .over = over };

	commits = 0;
	l = (struct label) { .owner = D.host, .size = SIZE, .sequence = 12, .cluster = { { cluster } } };
	CU_ASSERT_EQUAL(put_right(&d, &how, each), 0);
	CU_ASSERT_EQUAL(d.disk.tried, newer ? newer : 12);
	return l.cluster.b[0];
}

static void test_put_right(void)
{
	D.cluster.b[0] = 9;
	CU_ASSERT_EQUAL(put_right_as(false, 9), 9);
	CU_ASSERT_EQUAL(commits, 0);
	CU_ASSERT_EQUAL(put_right_as(false, 0), 9);
	CU_ASSERT_EQUAL(commits, 1);
	CU_ASSERT_EQUAL(put_right_as(false, 8), 8);
	CU_ASSERT_EQUAL(put_right_as(true, 8), 9);
	CU_ASSERT_EQUAL(commits, 1);
	/* Without a key it stays what it was. */
	memset(&D.cluster, 0, sizeof(D.cluster));
	CU_ASSERT_EQUAL(put_right_as(true, 8), 8);
	/* An older state goes on above all that was written. */
	newer = 57;
	CU_ASSERT_EQUAL(put_right_as(false, 8), 8);
	CU_ASSERT_EQUAL(commits, 1);
	newer = 0;
}

/* Taken over by hand, it is served when its label says so: until then it is another's. */
static void test_unwritable(void)
{
	struct label l = { .owner = { { 9 } }, .size = SIZE };
	struct tdrive d = { .label = &l, .size = SIZE };
	struct up u = { .how = { .by_hand = true, .over = true } };

	pushes = 0;
	commit_err = -EIO;
	CU_ASSERT_EQUAL(up_job(&d, &u), -EIO);
	CU_ASSERT(pushes == 0 && l.owner.b[0] == 9);
	commit_err = 0;
	CU_ASSERT_EQUAL(up_job(&d, &u), 0);
	CU_ASSERT(pushes == 1 && muuid_equal(&l.owner, &D.host));
}

/* A refused copy leaves no trace, on it or in the state folder; by itself a drive waits for the module. */
static void test_copy(void)
{
	static const int errs[] = { 0, -ENOENT, -EEXIST, -EBUSY };

	for (int by_hand = 0; by_hand < 2; by_hand++) {
		for (size_t i = 0; i < 8; i++) {
			struct label l = { .owner = D.host, .size = SIZE / 2 };
			struct tdrive d = { .label = &l, .size = SIZE, .id.wwid = "copy" };
			struct up u = { .how.by_hand = by_hand };
			bool up = i % 4 == 0 || (i % 4 != 2 && !by_hand);

			noted = i < 4 ? before : (struct twin_id) { 0 };
			push_err = errs[i % 4];
			backups = pushes = 0;
			CU_ASSERT_EQUAL(up_job(&d, &u), push_err);
			CU_ASSERT_EQUAL(backups, up);
			CU_ASSERT_STRING_EQUAL(noted.wwid, up ? "copy" : i < 4 ? "before" : "");
			elsewhere = true;
			push_err = backups = commits = pushes = 0;
			noted = before;
			CU_ASSERT_EQUAL(up_job(&d, &u), -EEXIST);
			CU_ASSERT(!backups && !commits && !pushes && !strcmp(noted.wwid, "before"));
			elsewhere = false;
		}
	}
}

int main(void)
{
	static const struct suite_test tests[] = {
		{ "fresh", test_fresh },
		{ "set aside", test_set_aside },
		{ "refused", test_refused },
		{ "refused with a label", test_refused_label },
		{ "in use", test_in_use },
		{ "another disk", test_other_disk },
		{ "put right", test_put_right },
		{ "unwritable", test_unwritable },
		{ "copy", test_copy },
		{ NULL, NULL },
	};

	return suite_main("take", tests);
}
