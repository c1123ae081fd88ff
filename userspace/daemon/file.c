// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "userspace/daemon/file.h"

#define PATH_BYTES	512

/* Secrets that others could have read or written are not believed. */
static bool own_alone(int fd)
{
	struct stat st;

	return !fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_uid == geteuid() && !(st.st_mode & 077);
}

static int read_all(int fd, char *out, size_t size)
{
	size_t n = 0;
	ssize_t got;

	do {
		got = read(fd, out + n, size - n);
		if (got < 0)
			return -errno;
		n += got;
	} while (got && n < size);
	if (n == size)
		return -EFBIG;
	out[n] = 0;
	return n;
}

int file_read(const char *path, void *out, size_t size, bool secret)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | (secret ? O_NOFOLLOW : 0)), ret;

	if (fd < 0)
		return errno == ELOOP ? -EPERM : -errno;
	ret = secret && !own_alone(fd) ? -EPERM : read_all(fd, out, size);
	close(fd);
	return ret;
}

static int write_all(int fd, const char *at, size_t n)
{
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

/* A file that lies there under the temporary name may be open elsewhere, or a link. */
static int prepare(const char *path, const void *bytes, size_t n)
{
	int fd, err;

	unlink(path);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	err = write_all(fd, bytes, n);
	if (close(fd) && !err)
		err = -errno;
	return err;
}

int file_sync_folder(const char *path_of_file)
{
	const char *slash = strrchr(path_of_file, '/');
	char folder[PATH_BYTES];
	int fd, err;

	if (slash)
		snprintf(folder, sizeof(folder), "%.*s", (int)(slash - path_of_file + 1), path_of_file);
	else
		strcpy(folder, ".");
	fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	/* Some file systems have no fsync of a folder. */
	err = fsync(fd) && errno != EINVAL ? -errno : 0;
	close(fd);
	return err;
}

int file_replace(const char *path, const void *bytes, size_t n)
{
	char new[PATH_BYTES];
	int err;

	if (snprintf(new, sizeof(new), "%s.new", path) >= (int)sizeof(new))
		return -ENAMETOOLONG;
	err = prepare(new, bytes, n);
	if (!err && rename(new, path))
		err = -errno;
	if (err)
		unlink(new);
	return err ? err : file_sync_folder(path);
}
