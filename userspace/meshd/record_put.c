// SPDX-License-Identifier: GPL-2.0-only
/*
 * Layout records on a drive. The one that counts in an extent is the copy whose
 * version and commit are the label's; the next one is written over the other
 * copy, and counts from the moment in which the label says so.
 */
#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "userspace/meshd/serve.h"

/* The header first: records are short but for those of very large volumes. */
int record_read(int fd, u64 at, void *buf, struct layout *l)
{
	struct layout_disk_head h;
	size_t bytes;

	if (pread(fd, buf, LAYOUT_PEEK, at) != LAYOUT_PEEK)
		return -EIO;
	memcpy(&h, buf, sizeof(h));
	bytes = (le32toh(h.bytes) + LAYOUT_PEEK - 1) / LAYOUT_PEEK * LAYOUT_PEEK;
	if (bytes <= LAYOUT_PEEK || bytes > LAYOUT_COPY_BYTES)
		return layout_decode(buf, LAYOUT_PEEK, l);
	if (pread(fd, buf, bytes, at) != (ssize_t)bytes)
		return -EIO;
	return layout_decode(buf, bytes, l);
}

int record_current(int fd, const struct label_extent *e, void *buf, struct layout *l)
{
	int copy, err, worst = -ENODATA;

	if (!e->version)
		return -ENODATA;
	for (copy = 0; copy < LAYOUT_COPIES; copy++) {
		err = record_read(fd, e->start + copy * LAYOUT_COPY_BYTES, buf, l);
		if (!err && l->version == e->version && l->commit == e->commit &&
		    muuid_equal(&l->volume, &e->volume) && layout_names(l, &e->uuid))
			return copy;
		if (err == -EIO)
			worst = err;
	}
	return worst;
}

bool record_there(struct tdrive *d, const struct label_extent *e)
{
	struct layout *l __free(free) = malloc(sizeof(*l));
	void *buf __free(free) = aligned_alloc(LAYOUT_PEEK, LAYOUT_COPY_BYTES);

	return l && buf && record_current(d->fd, e, buf, l) >= 0;
}

static int write_copy(struct tdrive *d, const struct label_extent *e, int copy, const void *buf,
		      size_t bytes)
{
	errno = 0;
	if (pwrite(d->fd, buf, bytes, e->start + copy * LAYOUT_COPY_BYTES) == (ssize_t)bytes)
		return 0;
	return errno ? -errno : -EIO;
}

/* Whether it is allowed, or why not; @e is the label's. */
static int put_allowed(const struct label_extent *e, const struct mgmt_req *q,
		       const struct muuid *host, char why[MGMT_REASON])
{
	if (!muuid_equal(&q->volume, &e->volume)) {
		snprintf(why, MGMT_REASON, "this extent is another volume's");
		return -EPERM;
	}
	if (!muuid_equal(&q->record->volume, &q->volume) || !layout_names(q->record, &e->uuid)) {
		snprintf(why, MGMT_REASON, "the record does not name this extent");
		return -EINVAL;
	}
	if (!muuid_null(&e->holder) && !muuid_equal(&e->holder, host)) {
		snprintf(why, MGMT_REASON, "host %s holds this extent at version %llu",
			 muuid_str(&e->holder).s, (unsigned long long)e->version);
		return -EBUSY;
	}
	if (e->state != LABEL_READY) {
		snprintf(why, MGMT_REASON, "the extent is still being zeroed");
		return -EAGAIN;
	}
	if (e->version == q->record->version && e->commit == q->record->commit)
		return 0;
	if (!alloc_believed(e, &q->believed, why))
		return -ESTALE;
	if (q->record->version <= e->version) {
		snprintf(why, MGMT_REASON, "version %llu of the layout is here already",
			 (unsigned long long)e->version);
		return -ESTALE;
	}
	return 0;
}

static int put_label(struct tdrive *d, const struct mgmt_req *q, const struct muuid *host)
{
	struct label *l = tdrive_edit(d);
	struct label_extent *e = l ? label_find(l, &q->extent) : NULL;

	if (!e) {
		free(l);
		return -ENOMEM;
	}
	e->version = q->record->version;
	e->commit = q->record->commit;
	snprintf(e->name, sizeof(e->name), "%.*s", LABEL_NAME - 1, q->record->name);
	e->holder = *host;		/* the caller was it, or no host was */
	return tdrive_commit(d, l);
}

/* @buf has room for a copy. */
static int put(struct tdrive *d, const struct mgmt_req *q, const struct muuid *host, void *buf,
	       struct layout *spare, char why[MGMT_REASON])
{
	const struct label_extent *e = label_find(d->label, &q->extent);
	int first, n, err = tdrive_current(d);
	size_t bytes;

	/* The record comes before the label: at its place may be another host's data by now. */
	snprintf(why, MGMT_REASON, "the drive's label cannot be confirmed: %s", strerror(-err));
	if (err)
		return err;
	first = record_current(d->fd, e, buf, spare) == 0;
	n = layout_encode(q->record, buf, LAYOUT_COPY_BYTES);
	if (n < 0)
		return n;
	bytes = (n + LAYOUT_PEEK - 1) / LAYOUT_PEEK * LAYOUT_PEEK;
	memset((char *)buf + n, 0, bytes - n);
	err = write_copy(d, e, first, buf, bytes);
	snprintf(why, MGMT_REASON, "the record cannot be written: %s", strerror(-err));
	if (!err) {
		err = put_label(d, q, host);
		snprintf(why, MGMT_REASON, "the drive's label cannot be written: %s", strerror(-err));
	}
	if (err)
		return err;
	/* One copy counts by now; the other is for when a block of it rots. */
	e = label_find(d->label, &q->extent);
	if (write_copy(d, e, !first, buf, bytes))
		log_warn("%s: one copy of a layout record cannot be written", d->path);
	tdrive_push(d);
	return 0;
}

int record_put(struct tdrive *d, const struct mgmt_req *q, const struct muuid *host,
	       char why[MGMT_REASON])
{
	const struct label_extent *e = label_find(d->label, &q->extent);
	struct layout *spare __free(free) = NULL;
	void *buf __free(free) = NULL;
	int err;

	if (!e) {
		snprintf(why, MGMT_REASON, "no such extent on the drive");
		return -ENOENT;
	}
	err = put_allowed(e, q, host, why);
	if (err)
		return err;
	if (e->version == q->record->version && e->commit == q->record->commit) {
		err = tdrive_settled(d);
		snprintf(why, MGMT_REASON, "drive %s is sick: its label cannot be confirmed: %s",
			 d->path, strerror(-err));
		return err;
	}
	spare = malloc(sizeof(*spare));
	buf = aligned_alloc(LAYOUT_PEEK, LAYOUT_COPY_BYTES);
	snprintf(why, MGMT_REASON, "out of memory");
	return spare && buf ? put(d, q, host, buf, spare, why) : -ENOMEM;
}
