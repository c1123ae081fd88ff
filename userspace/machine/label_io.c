// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "userspace/format/layout.h"
#include "userspace/machine/guard.h"
#include "userspace/machine/label_io.h"

#define ALIGN	4096

static size_t padded(size_t bytes)
{
	return (bytes + ALIGN - 1) / ALIGN * ALIGN;
}

static u64 copy_at(u64 size, int copy)
{
	return copy ? size - LABEL_AREA : 0;
}

/* The header first: a label is mostly short, its area is not. */
static int read_copy(int fd, u64 at, void *buf, struct label *l, struct label_disk *disk, int copy)
{
	struct label_disk_head *h = &disk->head[copy];
	size_t bytes;
	int err;

	disk->known[copy] = false;
	if (pread(fd, buf, ALIGN, at) != ALIGN)
		return -EIO;
	memcpy(h, buf, sizeof(*h));
	bytes = padded(le32toh(h->bytes));
	if (label_magic(buf, ALIGN) && bytes > ALIGN && bytes <= LABEL_AREA &&
	    pread(fd, buf, bytes, at) != (ssize_t)bytes)
		return -EIO;
	err = label_decode(buf, bytes > ALIGN && bytes <= LABEL_AREA ? bytes : ALIGN, l);
	disk->known[copy] = !err;
	if (!err && l->sequence > disk->tried)
		disk->tried = l->sequence;
	return err;
}

/*
 * The second copy is at the end that copy 0 names. On a device that has grown since, that is not the
 * device's, where a copy stands already if a label_grow() ended half-way. Return: its error; *@found
 * is on the device's end, in @disk, when it begins.
 */
static int read_second(int fd, u64 size, const struct label *first, int first_err, void *buf,
		       struct label *found, struct label_disk *disk)
{
	int err = read_copy(fd, copy_at(size, 1), buf, found, disk, 1);

	if (first_err || first->size >= size)
		return err;
	if (!err && !muuid_equal(&first->drive, &found->drive))
		return err;
	if (!err && found->size == size && found->sequence > first->sequence)
		return err;
	return read_copy(fd, copy_at(first->size, 1), buf, found, disk, 1);
}

int label_read(int fd, u64 size, struct label *l, struct label_disk *disk, int err[2])
{
	struct label *other __free(free) = NULL;
	void *buf __free(free) = NULL;
	int pick;

	memset(disk, 0, sizeof(*disk));
	if (size < 3 * LABEL_AREA)
		return -ENODATA;
	other = malloc(sizeof(*other));
	buf = aligned_alloc(ALIGN, LABEL_AREA);
	if (!buf || !other)
		return -ENOMEM;
	l->sequence = other->sequence = 0;
	err[0] = read_copy(fd, copy_at(size, 0), buf, l, disk, 0);
	err[1] = read_second(fd, size, l, err[0], buf, other, disk);
	pick = label_pick(err[0], l->sequence, err[1], other->sequence);
	if (pick >= 0 && !err[0] && !err[1] && !muuid_equal(&l->drive, &other->drive))
		pick = -EUCLEAN;	/* a part of another drive was copied over it */
	if (pick == 1)
		memcpy(l, other, sizeof(*l));
	if (pick >= 0 && l->size > size)
		pick = -EUCLEAN;	/* a part of another drive's copy */
	/* Alone at the device's end, and naming another one: nothing is known of the copy there. */
	if (pick >= 0 && err[0] && l->size != size)
		disk->known[1] = false;
	return pick < 0 ? pick : 0;
}

#define DAMAGED	1

/*
 * Whether the drive has the label that was written to it. A copy whose last write failed,
 * or that rotted, may be old, new or torn, but not a whole label of another owner
 * or of a sequence that was never tried here.
 * Return: 0, DAMAGED: changed, but no label any more, -EBADE, or -EIO.
 */
static int copy_as_left(int fd, const struct label *l, const struct label_disk *disk, int copy,
			void *buf, struct label *spare)
{
	struct label_disk now = *disk;
	int err;

	if (!disk->known[copy]) {
		if (read_copy(fd, copy_at(l->size, copy), buf, spare, &now, copy))
			return 0;
		return muuid_equal(&spare->drive, &l->drive) && spare->sequence <= disk->tried &&
		       (!disk->known[!copy] ||
			!memcmp(spare->owner.b, disk->head[!copy].owner, 16)) ? 0 : -EBADE;
	}
	if (pread(fd, buf, ALIGN, copy_at(l->size, copy)) != ALIGN)
		return -EIO;
	if (!memcmp(buf, &disk->head[copy], sizeof(disk->head[copy])))
		return 0;
	err = read_copy(fd, copy_at(l->size, copy), buf, spare, &now, copy);
	return err == -ENODATA || err == -EBADMSG ? DAMAGED : err == -EIO ? -EIO : -EBADE;
}

/*
 * A copy that cannot be read may still be writable, which repairs it. So may one that
 * is damaged, while the other is as it was left: an erase of the drive wipes both.
 */
static int compare(int fd, const struct label *l, struct label_disk *disk, void *buf)
{
	struct label *spare __free(free) = malloc(sizeof(*spare));
	int copy, is[2] = { 0 }, err = spare ? 0 : -ENOMEM;

	for (copy = 0; copy < 2 && !err; copy++) {
		is[copy] = copy_as_left(fd, l, disk, copy, buf, spare);
		if (is[copy] < 0 && is[copy] != -EIO)
			err = is[copy];
	}
	for (copy = 0; copy < 2 && !err; copy++) {
		if (is[copy] != DAMAGED)
			continue;
		if (is[!copy] || !disk->known[!copy])
			err = -EBADE;
		else
			disk->known[copy] = false;
	}
	return err ? err : is[0] == -EIO && is[1] == -EIO ? -EIO : 0;
}

int label_same(int fd, const struct label *l, struct label_disk *disk)
{
	void *buf __free(free) = aligned_alloc(ALIGN, LABEL_AREA);

	return buf ? compare(fd, l, disk, buf) : -ENOMEM;
}

static int write_copy(int fd, const void *buf, size_t bytes, u64 at)
{
	errno = 0;
	if (pwrite(fd, buf, bytes, at) == (ssize_t)bytes)
		return 0;
	return errno ? -errno : -EIO;
}

int label_write(int fd, const struct label *l, struct label_disk *disk, int err[2])
{
	u8 *buf __free(free) = aligned_alloc(ALIGN, LABEL_AREA);
	int n, copy;
	size_t bytes;

	err[0] = err[1] = 0;
	if (!buf)
		return -ENOMEM;
	n = compare(fd, l, disk, buf);
	if (!n)
		n = label_encode(l, buf, LABEL_AREA);
	if (n < 0)
		return n;
	bytes = padded(n);
	memset(buf + n, 0, bytes - n);
	if (l->sequence > disk->tried)
		disk->tried = l->sequence;
	for (copy = 0; copy < 2; copy++) {
		err[copy] = write_copy(fd, buf, bytes, copy_at(l->size, copy));
		disk->known[copy] = !err[copy];
		memcpy(&disk->head[copy], buf, sizeof(disk->head[copy]));
		if (!copy)
			label_first_written();
	}
	return err[0] && err[1] ? err[0] : 0;
}

/* Not an error: the room behind it is free, and what an extent gets is zeroed first. */
static void wipe_end(int fd, u64 size)
{
	void *zero __free(free) = aligned_alloc(ALIGN, ALIGN);

	if (!zero)
		return;
	memset(zero, 0, ALIGN);
	(void)write_copy(fd, zero, ALIGN, copy_at(size, 1));
}

int label_grow(int fd, const struct label *l, u64 was, struct label_disk *disk, int err[2])
{
	u8 *buf __free(free) = aligned_alloc(ALIGN, LABEL_AREA);
	int n = buf ? label_encode(l, buf, LABEL_AREA) : -ENOMEM;
	size_t bytes;

	err[0] = err[1] = 0;
	if (n < 0)
		return n;
	if (l->size < was + LABEL_AREA)
		return -EINVAL;
	bytes = padded(n);
	memset(buf + n, 0, bytes - n);
	if (l->sequence > disk->tried)
		disk->tried = l->sequence;
	/* While copy 0 is written one of the others must be whole at an end that can be found. */
	err[1] = write_copy(fd, buf, bytes, copy_at(l->size, 1));
	if (err[1])
		return err[1];
	err[0] = write_copy(fd, buf, bytes, copy_at(l->size, 0));
	for (int copy = 0; copy < 2; copy++) {
		disk->known[copy] = !err[copy];
		memcpy(&disk->head[copy], buf, sizeof(disk->head[copy]));
	}
	if (!err[0])
		wipe_end(fd, was);
	return 0;
}

int label_wipe(int fd, u64 size)
{
	void *buf __free(free) = aligned_alloc(ALIGN, LABEL_AREA);

	if (!buf)
		return -ENOMEM;
	memset(buf, 0, LABEL_AREA);
	return pwrite(fd, buf, LABEL_AREA, copy_at(size, 1)) != (ssize_t)LABEL_AREA ||
	       pwrite(fd, buf, LABEL_AREA, copy_at(size, 0)) != (ssize_t)LABEL_AREA ? -EIO : 0;
}

#define HEAD_BYTES	(LABEL_AREA + LAYOUT_COPIES * LAYOUT_COPY_BYTES)

void *label_ends_read(int fd, u64 size)
{
	u8 *ends = aligned_alloc(ALIGN, HEAD_BYTES + LABEL_AREA);

	if (ends && pread(fd, ends, HEAD_BYTES, 0) == (ssize_t)HEAD_BYTES &&
	    pread(fd, ends + HEAD_BYTES, LABEL_AREA, copy_at(size, 1)) == (ssize_t)LABEL_AREA)
		return ends;
	free(ends);
	return NULL;
}

int label_ends_write(int fd, u64 size, const void *ends)
{
	int err = write_copy(fd, (const u8 *)ends + HEAD_BYTES, LABEL_AREA, copy_at(size, 1));

	return err ? err : write_copy(fd, ends, HEAD_BYTES, 0);
}

int label_forget(int fd, u64 size)
{
	void *buf __free(free) = aligned_alloc(ALIGN, ALIGN);
	int err, copy;

	if (!buf)
		return -ENOMEM;
	memset(buf, 0, ALIGN);
	err = label_wipe(fd, size);
	for (copy = 0; copy < LAYOUT_COPIES && !err; copy++)
		err = write_copy(fd, buf, ALIGN, LABEL_AREA + copy * LAYOUT_COPY_BYTES);
	return err;
}
