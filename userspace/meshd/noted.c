// SPDX-License-Identifier: GPL-2.0-only
/*
 * Notes: a file for each group, with the roster as the kernel gave it.
 *
 *   rosters/VOLUME.PLACE    | head: which file this is | roster | checksum |
 *
 * A note that was put back from a copy says what was true once: members would be taken for whole
 * that are not. So a file names its own inode and birth, which a copy does not have, whatever wrote
 * it, over the old file or beside it. A file system or virtual machine that goes back to a snapshot
 * as a whole is not noticed.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <asm/byteorder.h>
#include <linux/build_bug.h>
#include <linux/xxhash.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "userspace/meshd/meshd.h"
#include "userspace/meshd/witness.h"

#define NOTED_MAGIC	0x444e524d	/* "MRND" */
#define NOTED_VERSION	1

struct noted_rec {
	__le32	magic;
	__le16	version;
	__le16	length;
	u8	volume[16];
	__le32	place;
	__le32	born_nsec;
	__le64	born;
	__le64	inode;
	u8	roster[MESHBLK_ROSTER_BYTES];
	__le64	sum;		/* xxh64 of what is before it */
};

static_assert(sizeof(struct noted_rec) == 48 + MESHBLK_ROSTER_BYTES + 8, "in files");

static void path_of(const struct meshblk_note *n, char *path, size_t size)
{
	snprintf(path, size, "%s/rosters/%s.%u", D.state, muuid_str(&n->volume).s, n->place);
}

/* All but the roster of what the file @fd has to hold. */
static int fill(int fd, const struct meshblk_note *n, struct noted_rec *r)
{
	struct statx x;

	memset(r, 0, sizeof(*r));
	if (statx(fd, "", AT_EMPTY_PATH, STATX_INO | STATX_BTIME, &x))
		return -errno;
	if (!(x.stx_mask & STATX_BTIME))
		return -EOPNOTSUPP;
	r->magic = cpu_to_le32(NOTED_MAGIC);
	r->version = cpu_to_le16(NOTED_VERSION);
	r->length = cpu_to_le16(sizeof(*r));
	memcpy(r->volume, n->volume.b, sizeof(r->volume));
	r->place = cpu_to_le32(n->place);
	r->inode = cpu_to_le64(x.stx_ino);
	r->born = cpu_to_le64(x.stx_btime.tv_sec);
	r->born_nsec = cpu_to_le32(x.stx_btime.tv_nsec);
	return 0;
}

static __le64 sum_of(const struct noted_rec *r)
{
	return cpu_to_le64(xxh64(r, offsetof(struct noted_rec, sum), 0));
}

static int write_new(const char *path, const struct meshblk_note *n)
{
	struct noted_rec r;
	int fd, err;

	/* Always another file: its birth is what a copy does not have. */
	if (unlink(path) && errno != ENOENT)
		return -errno;
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	err = fill(fd, n, &r);
	memcpy(r.roster, n->roster, sizeof(r.roster));
	r.sum = sum_of(&r);
	if (!err)
		err = file_write(fd, &r, sizeof(r));
	close(fd);
	return err;
}

bool noted_possible(void)
{
	struct statx x;

	return !statx(AT_FDCWD, D.state, 0, STATX_BTIME, &x) && x.stx_mask & STATX_BTIME;
}

int noted_put(const struct meshblk_note *n)
{
	char path[320], tmp[328], folder[300];
	int err;

	snprintf(folder, sizeof(folder), "%s/rosters", D.state);
	if (!mkdir(folder, 0700))
		err = folder_sync(D.state);
	else
		err = errno == EEXIST ? 0 : -errno;
	path_of(n, path, sizeof(path));
	snprintf(tmp, sizeof(tmp), "%s.new", path);
	if (!err)
		err = write_new(tmp, n);
	if (!err)
		err = file_commit(path, NULL);
	return err ? err : folder_sync(folder);
}

static bool is_note(int fd, const struct meshblk_note *n, const struct noted_rec *r)
{
	struct noted_rec own;

	return !fill(fd, n, &own) && !memcmp(&own, r, offsetof(struct noted_rec, roster)) &&
	       r->sum == sum_of(r);
}

int noted_get(struct meshblk_note *n)
{
	struct noted_rec r;
	char path[320];
	int fd, err = -ESTALE;

	n->any = false;
	path_of(n, path, sizeof(path));
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	if (read(fd, &r, sizeof(r)) == sizeof(r) && is_note(fd, n, &r)) {
		memcpy(n->roster, r.roster, sizeof(n->roster));
		n->any = true;
		err = 0;
	}
	close(fd);
	return err;
}

void noted_forget(const struct muuid *volume)
{
	char folder[300], path[600];
	const struct dirent *e;
	DIR *d;

	snprintf(folder, sizeof(folder), "%s/rosters", D.state);
	d = opendir(folder);
	while (d && (e = readdir(d))) {
		if (strncmp(e->d_name, muuid_str(volume).s, strlen(muuid_str(volume).s)))
			continue;
		snprintf(path, sizeof(path), "%s/%s", folder, e->d_name);
		if (unlink(path))
			log_debug("%s: %s", path, strerror(errno));
	}
	if (d)
		closedir(d);
}
