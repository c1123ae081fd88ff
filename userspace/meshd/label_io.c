// SPDX-License-Identifier: GPL-2.0-only
/* Labels to and from both ends of a drive. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "userspace/meshd/crash.h"
#include "userspace/meshd/drive.h"

#define ALIGN	4096

static void *aligned(size_t bytes)
{
	void *p;

	return posix_memalign(&p, ALIGN, bytes) ? NULL : p;
}

static size_t padded(size_t bytes)
{
	return (bytes + ALIGN - 1) / ALIGN * ALIGN;
}

static u64 copy_at(u64 size, int copy)
{
	return copy ? size - LABEL_AREA : 0;
}

/* The header first: a label is mostly short, its area is not. */
static int read_copy(int fd, u64 at, void *buf, struct label *l)
{
	struct label_disk_head h;
	size_t bytes;

	if (pread(fd, buf, ALIGN, at) != ALIGN)
		return -EIO;
	memcpy(&h, buf, sizeof(h));
	bytes = padded(le32toh(h.bytes));
	if (label_magic(buf, ALIGN) && bytes > ALIGN && bytes <= LABEL_AREA &&
	    pread(fd, buf, bytes, at) != (ssize_t)bytes)
		return -EIO;
	return label_decode(buf, bytes > ALIGN && bytes <= LABEL_AREA ? bytes : ALIGN, l);
}

int label_read(int fd, u64 size, struct label *l, int err[2])
{
	struct label *other = malloc(sizeof(*other));
	void *buf = aligned(LABEL_AREA);
	int pick = -ENOMEM;

	if (!buf || !other || size < 3 * LABEL_AREA) {
		pick = size < 3 * LABEL_AREA ? -ENODATA : -ENOMEM;
		goto out;
	}
	l->sequence = other->sequence = 0;
	err[0] = read_copy(fd, copy_at(size, 0), buf, l);
	err[1] = read_copy(fd, copy_at(size, 1), buf, other);
	pick = label_pick(err[0], l->sequence, err[1], other->sequence);
	if (pick == 1)
		memcpy(l, other, sizeof(*l));
	if (pick >= 0 && l->size > size)
		pick = -EUCLEAN;	/* a part of another drive's copy */
out:
	free(buf);
	free(other);
	return pick < 0 ? pick : 0;
}

int label_write(int fd, const struct label *l)
{
	u8 *buf = aligned(LABEL_AREA);
	int n, copy, err[2];
	size_t bytes;

	if (!buf)
		return -ENOMEM;
	n = label_encode(l, buf, LABEL_AREA);
	if (n < 0) {
		free(buf);
		return n;
	}
	bytes = padded(n);
	memset(buf + n, 0, bytes - n);
	for (copy = 0; copy < 2; copy++) {
		err[copy] = 0;
		if (pwrite(fd, buf, bytes, copy_at(l->size, copy)) != (ssize_t)bytes)
			err[copy] = errno ? -errno : -EIO;
		if (!copy)
			crash_point(CRASH_LABEL_FIRST);
	}
	free(buf);
	/* One durable copy of this sequence is enough to be believed. */
	if (err[0] != err[1])
		log_warn("label: copy %d cannot be written: %s", err[0] ? 0 : 1,
			 strerror(-(err[0] ? err[0] : err[1])));
	return err[0] && err[1] ? err[0] : 0;
}

int label_wipe(int fd, u64 size)
{
	void *buf = aligned(LABEL_AREA);
	int err = 0;

	if (!buf)
		return -ENOMEM;
	memset(buf, 0, LABEL_AREA);
	if (pwrite(fd, buf, LABEL_AREA, copy_at(size, 1)) != (ssize_t)LABEL_AREA ||
	    pwrite(fd, buf, LABEL_AREA, copy_at(size, 0)) != (ssize_t)LABEL_AREA)
		err = -EIO;
	free(buf);
	return err;
}
