// SPDX-License-Identifier: GPL-2.0-only
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "userspace/daemon/disk_record.h"
#include "userspace/machine/guard.h"

/* The header first: records are short but for those of very large volumes. */
static int read_copy(int fd, const struct label_extent *e, int copy, void *buf, struct layout *l)
{
	u64 at = e->start + copy * LAYOUT_COPY_BYTES;
	struct layout_disk_head h;
	size_t bytes;
	int err;

	if (pread(fd, buf, LAYOUT_PEEK, at) != LAYOUT_PEEK)
		return -EIO;
	memcpy(&h, buf, sizeof(h));
	bytes = (le32toh(h.bytes) + LAYOUT_PEEK - 1) / LAYOUT_PEEK * LAYOUT_PEEK;
	if (bytes <= LAYOUT_PEEK || bytes > LAYOUT_COPY_BYTES)
		bytes = LAYOUT_PEEK;
	else if (pread(fd, buf, bytes, at) != (ssize_t)bytes)
		return -EIO;
	err = layout_decode(buf, bytes, l);
	/* An extent that leaves its volume has the record, and is not named by it. */
	return !err && !muuid_equal(&l->volume, &e->volume) ? -ENODATA : err;
}

struct copies {
	void	*buf;
	struct layout *l;
};

static int begin(struct copies *c)
{
	c->buf = aligned_alloc(LAYOUT_PEEK, LAYOUT_COPY_BYTES);
	c->l = malloc(sizeof(*c->l));
	return c->buf && c->l ? 0 : -ENOMEM;
}

static void end(struct copies *c)
{
	free(c->buf);
	free(c->l);
}

int disk_record_head(int fd, const struct label_extent *e, struct layout_head *head)
{
	int copy, err, ret = -ENODATA;
	struct layout_head h;
	struct copies c;

	err = begin(&c);
	for (copy = 0; copy < LAYOUT_COPIES && err != -ENOMEM; copy++) {
		err = read_copy(fd, e, copy, c.buf, c.l);
		if (!err)
			err = layout_peek(c.buf, LAYOUT_PEEK, &h);
		if (err == -EIO && ret)
			ret = -EIO;
		if (err || (!ret && h.version <= head->version))
			continue;
		*head = h;
		ret = 0;
	}
	end(&c);
	return err == -ENOMEM ? err : ret;
}

int disk_record_get(int fd, const struct label_extent *e, struct layout *out)
{
	int copy, err, ret = -ENODATA;
	struct copies c;

	err = begin(&c);
	for (copy = 0; copy < LAYOUT_COPIES && err != -ENOMEM; copy++) {
		err = read_copy(fd, e, copy, c.buf, c.l);
		if (err == -EIO && ret)
			ret = -EIO;
		if (err || (!ret && c.l->version <= out->version))
			continue;
		*out = *c.l;
		ret = 0;
	}
	end(&c);
	return err == -ENOMEM ? err : ret;
}

/* The copy that the label names; -1: none. Its bytes are in @c. */
static int named(int fd, const struct label_extent *e, const struct copies *c)
{
	for (int copy = 0; copy < LAYOUT_COPIES; copy++) {
		if (!read_copy(fd, e, copy, c->buf, c->l) && c->l->version == e->version &&
		    c->l->commit == e->commit)
			return copy;
	}
	return -1;
}

static int write_copy(int fd, const struct label_extent *e, int copy, const struct copies *c,
		      const struct layout *l)
{
	int n = layout_encode(l, c->buf, LAYOUT_COPY_BYTES);
	size_t bytes;

	if (n < 0)
		return n;
	bytes = (n + LAYOUT_PEEK - 1) / LAYOUT_PEEK * LAYOUT_PEEK;
	memset((char *)c->buf + n, 0, bytes - n);
	errno = 0;
	if (pwrite(fd, c->buf, bytes, e->start + copy * LAYOUT_COPY_BYTES) == (ssize_t)bytes)
		return 0;
	return errno ? -errno : -EIO;
}

int disk_record_put(int fd, const struct label_extent *e, const struct layout *l)
{
	struct copies c;
	int err = begin(&c);

	if (!err)
		err = write_copy(fd, e, named(fd, e, &c) == 0, &c, l);
	end(&c);
	return err;
}

int disk_record_both(int fd, const struct label_extent *e)
{
	struct copies c;
	int err = begin(&c), copy;

	if (!err) {
		copy = named(fd, e, &c);
		err = copy < 0 ? -ENODATA : write_copy(fd, e, !copy, &c, c.l);
	}
	end(&c);
	return err;
}
