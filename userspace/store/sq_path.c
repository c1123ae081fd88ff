// SPDX-License-Identifier: GPL-2.0-only
/* Files and their names, durably. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "userspace/store/sq.h"

static int sync_opened(int fd)
{
	int err;

	if (fd < 0)
		return -errno;
	err = fsync(fd) < 0 ? -errno : 0;
	close(fd);
	return err;
}

/* Not for a file that SQLite has open: its locks end when any descriptor is closed. */
int sq_sync_file(const char *path)
{
	return sync_opened(open(path, O_RDONLY | O_CLOEXEC));
}

int sq_sync_folder(const char *path)
{
	char *folder = strdup(path), *slash;
	int err;

	if (!folder)
		return -ENOMEM;
	slash = strrchr(folder, '/');
	if (slash)
		slash[slash == folder] = 0;
	err = sync_opened(open(slash ? folder : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	free(folder);
	return err;
}

int sq_create(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

/* A file system without RENAME_NOREPLACE has a moment between check and rename. */
int sq_place(const char *from, const char *to)
{
	if (!renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE))
		return 0;
	if (errno != EINVAL && errno != ENOSYS)
		return -errno;
	if (!faccessat(AT_FDCWD, to, F_OK, AT_SYMLINK_NOFOLLOW))
		return -EEXIST;
	return rename(from, to) < 0 ? -errno : 0;
}

int sq_random(u64 *out)
{
	do {
		if (getrandom(out, sizeof(*out), 0) != sizeof(*out))
			return -EIO;
		*out &= ~0ULL >> 1;
	} while (!*out);
	return 0;
}
