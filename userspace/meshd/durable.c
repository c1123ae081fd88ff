// SPDX-License-Identifier: GPL-2.0-only
/* Small files of the state folder that are whole after a crash. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "userspace/meshd/meshd.h"

int file_write(int fd, const void *buf, size_t n)
{
	const char *at = buf;
	ssize_t done;

	for (; n; at += done, n -= done) {
		done = write(fd, at, n);
		if (done < 0)
			return -errno;
		if (!done)
			return -EIO;
	}
	return fsync(fd) ? -errno : 0;
}

int folder_sync(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), err;

	if (fd < 0)
		return -errno;
	/* Some file systems have no fsync of a folder. */
	err = fsync(fd) && errno != EINVAL ? -errno : 0;
	close(fd);
	return err;
}

int file_prepare(const char *path, const void *buf, size_t n)
{
	char tmp[320];
	int fd, err;

	snprintf(tmp, sizeof(tmp), "%s.new", path);
	fd = open(tmp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	err = file_write(fd, buf, n);
	close(fd);
	if (err)
		unlink(tmp);
	return err;
}

int file_commit(const char *path, const char *old)
{
	char tmp[320];

	snprintf(tmp, sizeof(tmp), "%s.new", path);
	if (old && rename(path, old) && errno != ENOENT)
		log_debug("%s: %s", path, strerror(errno));
	if (rename(tmp, path)) {
		int err = -errno;

		unlink(tmp);
		return err;
	}
	return 0;
}

int file_replace(const char *path, const char *old, const void *buf, size_t n)
{
	int err = file_prepare(path, buf, n);
	char folder[320];

	if (!err)
		err = file_commit(path, old);
	if (err)
		return err;
	snprintf(folder, sizeof(folder), "%.*s", (int)(strrchr(path, '/') - path), path);
	return folder_sync(folder);
}
