// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which host may free an extent: the holder that the label names, as it believes, and only
 * while the kernel has it open for no host, that holder included. Which may release it.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/kernel.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/meshd/alloc.c"
#include "abandoned_rig.h"
#include "suite.h"

static struct tdrive d;

bool local_opens(const struct muuid *extent) { (void)extent; return false; }

static struct label table;
static struct mgmt_req req;
static u32 opens;		/* what the kernel has */
static int kernel_err, set_err, commit_err, said, pushes, granted;
static char why[MGMT_REASON];
static const struct muuid me = { { 1 } }, other = { { 2 } }, vol = { { 3 } }, ext = { { 4 } },
			  disk = { { 5 } };

struct label *tdrive_edit(struct tdrive *drive)
{
	struct label *copy = malloc(sizeof(*copy));

	memcpy(copy, drive->label, sizeof(*copy));
	return copy;
}

int tdrive_commit(struct tdrive *drive, struct label *copy)
{
	if (!commit_err)
		memcpy(drive->label, copy, sizeof(*copy));
	free(copy);
	return commit_err;
}

int tdrive_current(struct tdrive *drive)
{
	(void)drive;
	return 0;
}

int tdrive_settled(struct tdrive *drive)
{
	(void)drive;
	return 0;
}

int tdrive_held(struct tdrive *drive, const struct label_extent *e)
{
	(void)drive, (void)e;
	return 0;
}

unsigned int tdrive_silent(struct tdrive *drive)
{
	(void)drive;
	return 0;
}

int tdrive_push(struct tdrive *drive)
{
	(void)drive;
	pushes++;
	return 0;
}

int tdrive_table(const struct tdrive *drive, const struct label *l, struct meshtgt_drive *out)
{
	(void)drive;
	(void)l;
	(void)out;
	return 0;
}

void tdrive_extent(const struct tdrive *drive, const struct label_extent *e, struct mgmt_extent *out)
{
	(void)drive;
	memset(out, 0, sizeof(*out));
	out->uuid = e->uuid;
}

/* Jobs run at once. */
void tdrive_submit(struct tdrive *drive, struct tjob *j)
{
	j->fn(drive, j, 0);
}

struct mesh *mesh_open(void)
{
	return (struct mesh *)&d;
}

void mesh_close(struct mesh *m)
{
	(void)m;
}

const char *mesh_why(const struct mesh *m)
{
	(void)m;
	return "";
}

int meshtgt_drives(struct mesh *m, struct meshtgt_drive **out, size_t *n)
{
	struct meshtgt_drive *one = calloc(1, sizeof(*one));

	(void)m;
	*out = one;
	*n = 1;
	one->uuid = disk;
	one->nr_extents = 1;
	one->extents = calloc(1, sizeof(*one->extents));
	one->extents[0].uuid = ext;
	one->extents[0].opens = opens;
	if (!kernel_err)
		return 0;
	meshtgt_drives_free(one, 1);
	return kernel_err;
}

void meshtgt_drives_free(struct meshtgt_drive *all, size_t n)
{
	while (n--)
		free(all[n].extents);
	free(all);
}

int meshtgt_extents_set(struct mesh *m, const struct meshtgt_drive *t)
{
	(void)m;
	(void)t;
	return set_err;
}

int meshtgt_grant_reply(struct mesh *m, u64 request, int err)
{
	(void)m;
	(void)request;
	granted = err;
	return 0;
}

int record_put(struct tdrive *drive, const struct mgmt_req *q, const struct muuid *host,
	       char words[MGMT_REASON])
{
	(void)drive;
	(void)q;
	(void)host;
	(void)words;
	return -EIO;
}

bool record_there(struct tdrive *drive, const struct label_extent *e)
{
	(void)drive;
	(void)e;
	return true;
}

void zero_kick(struct tdrive *drive)
{
	(void)drive;
}

const struct mgmt_req *serve_mgmt(const struct serve_req *s)
{
	(void)s;
	return &req;
}

const struct muuid *serve_host(const struct serve_req *s)
{
	(void)s;
	return &me;
}

void serve_reply(struct serve_req *s, int err, const char *reason, json_t *data)
{
	(void)s;
	(void)reason;
	said = err;
	json_decref(data);
}

void serve_refuse(struct serve_req *s, int err, const char *fmt, ...)
{
	va_list ap;

	(void)s;
	va_start(ap, fmt);
	vsnprintf(why, sizeof(why), fmt, ap);
	va_end(ap);
	said = err;
}

void log_warn(const char *fmt, ...)
{
	(void)fmt;
}

void log_info(const char *fmt, ...)
{
	(void)fmt;
}

/* The label: version 2, commit 9. */
static void begin(const struct muuid *holder)
{
	memset(&table, 0, sizeof(table));
	table.extents = 1;
	table.extent[0] = (struct label_extent) {
		.uuid = ext, .volume = vol, .start = 1 << 20, .length = 4 << 20,
		.state = LABEL_READY, .version = 2, .commit = 9,
	};
	if (holder)
		table.extent[0].holder = *holder;
	d.label = &table;
	d.uuid = disk;
	why[0] = 0;
}

/* What FREE answers to a host that believes that. */
static int freed_as(const struct muuid *holder, u64 version, u64 commit, bool preempt)
{
	bool there;

	req = (struct mgmt_req) {
		.op = MGMT_FREE, .drive = disk, .extent = ext, .volume = vol, .preempt = preempt,
		.believed = { holder ? *holder : (struct muuid) { { 0 } }, version, commit },
	};
	alloc_submit(&d, (struct serve_req *)&req);
	there = label_find(&table, &ext);
	CU_ASSERT(there == !!said);
	CU_ASSERT(!said || why[0]);
	return said;
}

/* What FREE answers when @holder is in the label and believed, and @n have it open. */
static int freed(const struct muuid *holder, u32 n, bool preempt)
{
	begin(holder);
	opens = n;
	return freed_as(holder, 2, 9, preempt);
}

static void test_mine(void)
{
	CU_ASSERT(freed(&me, 0, false) == 0);
	/* Its store may be older than its kernel: not for good, and not given up. */
	CU_ASSERT(freed(&me, 1, false) == -EAGAIN);
	CU_ASSERT(freed(&me, 2, false) == -EAGAIN);
	CU_ASSERT(freed(&me, 1, true) == 0);
}

static void test_others(void)
{
	CU_ASSERT(freed(&other, 0, false) == -EBUSY);
	CU_ASSERT(freed(&other, 1, false) == -EBUSY);
	CU_ASSERT(freed(&other, 1, true) == 0);
	CU_ASSERT(freed(NULL, 0, false) == 0);
	CU_ASSERT(freed(NULL, 1, false) == -EBUSY);
}

static void test_kernel_silent(void)
{
	kernel_err = -EIO;
	CU_ASSERT(freed(&me, 0, false) == -EIO);
	CU_ASSERT(freed(NULL, 0, false) == -EIO);
	kernel_err = -ENOENT;		/* no module: no host has anything open */
	CU_ASSERT(freed(&me, 0, false) == 0);
	kernel_err = 0;
}

/* The label went on since, or back: a commit is another version of the same number. */
static void test_believed(void)
{
	opens = 0;
	for (int preempt = 0; preempt < 2; preempt++) {
		begin(&me);
		CU_ASSERT(freed_as(&me, 2, 8, preempt) == -ESTALE);
		CU_ASSERT(freed_as(&me, 1, 9, preempt) == -ESTALE);
		CU_ASSERT(freed_as(&me, 3, 9, preempt) == -ESTALE);
		CU_ASSERT(freed_as(NULL, 2, 9, preempt) == -ESTALE);
		CU_ASSERT(freed_as(&me, 2, 9, preempt) == 0);
	}
}

/* Opened to be filled, before any record: the intent to use it, which is undone, knows of no holder. */
static void test_unrecorded(void)
{
	opens = 0;
	for (int preempt = 0; preempt < 2; preempt++) {
		begin(&me);
		table.extent[0].version = table.extent[0].commit = 0;
		CU_ASSERT(freed_as(NULL, 1, 9, preempt) == -ESTALE);
		CU_ASSERT(freed_as(&other, 0, 0, preempt) == -ESTALE);
		CU_ASSERT(freed_as(NULL, 0, 0, preempt) == 0);
		begin(&other);
		table.extent[0].version = table.extent[0].commit = 0;
		CU_ASSERT(freed_as(NULL, 0, 0, preempt) == (preempt ? -ESTALE : -EBUSY));
	}
}

/* Whatever it believes of the extent: it is not of the volume that the requester means. */
static void test_other_volume(void)
{
	for (int preempt = 0; preempt < 2; preempt++) {
		begin(&me);
		req = (struct mgmt_req) { .op = MGMT_FREE, .drive = disk, .extent = ext, .volume = other,
					  .preempt = preempt, .believed = { me, 2, 9 } };
		alloc_submit(&d, (struct serve_req *)&req);
		CU_ASSERT(said == -EPERM && label_find(&table, &ext));
		req.op = MGMT_RELEASE;
		alloc_submit(&d, (struct serve_req *)&req);
		CU_ASSERT(said == -EPERM && muuid_equal(&table.extent[0].holder, &me));
	}
}

/* The drive is gone from the kernel, or is leaving it with commands in flight. */
static void test_kernel_refuses(void)
{
	set_err = -ENODEV;
	CU_ASSERT(freed(&me, 0, false) == -ENODEV);
	/* That a host has it would be said by another errno than a drive's. */
	set_err = -EBUSY;
	CU_ASSERT(freed(&me, 0, false) == -EIO);
	set_err = kernel_err = -ENOENT;
	CU_ASSERT(freed(&me, 0, false) == 0);
	set_err = kernel_err = 0;
}

/* What RELEASE answers to this host, which believes that. */
static int released_as(const struct muuid *holder, u64 version, u64 commit)
{
	req = (struct mgmt_req) { .op = MGMT_RELEASE, .drive = disk, .extent = ext, .volume = vol,
				  .believed = { *holder, version, commit } };
	alloc_submit(&d, (struct serve_req *)&req);
	return said;
}

/* A device that has become read-only. */
static void test_drive_refuses(void)
{
	commit_err = -EPERM;
	CU_ASSERT(freed(&me, 0, false) == -EIO);
	begin(&me);
	CU_ASSERT(released_as(&me, 2, 9) == -EIO);
	commit_err = 0;
	CU_ASSERT(released_as(&me, 2, 9) == 0);
}

/* Its own word alone gives an extent back, and no longer than it is what the label says. */
static void test_release(void)
{
	begin(&other);
	CU_ASSERT(released_as(&other, 2, 9) == -EBUSY);
	CU_ASSERT(released_as(&me, 2, 9) == -ESTALE);
	CU_ASSERT(muuid_equal(&table.extent[0].holder, &other));
	begin(&me);
	CU_ASSERT(released_as(&me, 1, 9) == -ESTALE);
	CU_ASSERT(released_as(&me, 2, 8) == -ESTALE);
	CU_ASSERT(muuid_equal(&table.extent[0].holder, &me));
	CU_ASSERT(released_as(&me, 2, 9) == 0);
	CU_ASSERT(muuid_null(&table.extent[0].holder));
	/* Sent again, as it was not answered. */
	CU_ASSERT(released_as(&me, 2, 9) == 0);
}

static int grant(u8 access)
{
	struct meshtgt_grant g = { .host = me, .drive = disk, .extent = ext, .version = 2, .attach = 7,
				   .access = access };

	grant_submit(&d, NULL, &g);
	return granted;
}

/* Its device has not ended I/O of it: no option takes it from that, and nothing else gets it. */
static void test_at_risk(void)
{
	opens = 0;
	for (int preempt = 0; preempt < 2; preempt++) {
		begin(&me);
		rig_abandon(vol, disk, ext, 2);
		CU_ASSERT(freed_as(&me, 2, 9, preempt) == -EAGAIN && strstr(why, "not ended 2 I/O"));
		rig_ios = 0;
		rig_io_err = -EIO;
		CU_ASSERT(freed_as(&me, 2, 9, preempt) == -EIO);
		rig_io_err = 0;
		/* Of another extent. */
		rig_abandon(vol, disk, other, 2);
		CU_ASSERT(freed_as(&me, 2, 9, preempt) == 0);
		rig_ios = 0;
	}
	begin(&me);
	rig_abandon(vol, disk, ext, 1);
	CU_ASSERT(released_as(&me, 2, 9) == -EAGAIN && muuid_equal(&table.extent[0].holder, &me));
	CU_ASSERT(grant(2) == -EBUSY && grant(1) == -EBUSY && !table.extent[0].attach);
	rig_ios = 0;
	CU_ASSERT(grant(1) == 0 && grant(2) == 0 && table.extent[0].attach == 7);
	CU_ASSERT(released_as(&me, 2, 9) == 0 && muuid_null(&table.extent[0].holder));
}

int main(void)
{
	static const struct suite_test tests[] = {
		{ "the drive cannot be written", test_drive_refuses },
		{ "mine", test_mine },
		{ "others", test_others },
		{ "the kernel does not say", test_kernel_silent },
		{ "believed", test_believed },
		{ "opened before a record", test_unrecorded },
		{ "another volume's", test_other_volume },
		{ "the kernel refuses", test_kernel_refuses },
		{ "release", test_release },
		{ "its device has not ended I/O", test_at_risk },
		{ NULL, NULL },
	};

	return suite_main("free", tests);
}
