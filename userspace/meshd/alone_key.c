// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "userspace/meshd/alone_key.h"
#include "userspace/meshd/meshd.h"

/* Whether the file is one that this user alone could read and write since it was made. */
static bool ours(int fd, size_t size)
{
	struct stat st;

	return !fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_uid == geteuid() &&
	       !(st.st_mode & (S_IRWXG | S_IRWXO)) && st.st_nlink == 1 && st.st_size == (off_t)size;
}

static bool load(const char *path, unsigned char *bytes, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	bool ok;

	if (fd < 0) {
		if (errno != ENOENT)
			log_warn("%s: %s; another key is made", path, strerror(errno));
		return false;
	}
	ok = ours(fd, size);
	if (!ok)
		log_warn("%s is not a file of this user alone, or not whole; another key is made", path);
	ok = ok && read(fd, bytes, size) == (ssize_t)size;
	close(fd);
	return ok;
}

int alone_key(const char *folder, unsigned char *bytes, size_t size)
{
	char path[256], tmp[272];
	int err;

	snprintf(path, sizeof(path), "%s/alone.key", folder);
	if (load(path, bytes, size))
		return 0;
	if (getrandom(bytes, size, 0) != (ssize_t)size)
		return -EIO;
	/* What lies there under the temporary name may be open elsewhere, or a link. */
	snprintf(tmp, sizeof(tmp), "%s.new", path);
	unlink(tmp);
	err = file_prepare(path, bytes, size);
	if (!err)
		err = file_commit(path, NULL);
	if (err)
		log_warn("%s: %s; sessions end when meshd begins again", path, strerror(-err));
	return 0;
}
