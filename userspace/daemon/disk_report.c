// SPDX-License-Identifier: GPL-2.0-only
/* What recover gathers of a drive. Records are read by a job on a descriptor of its own: disks may hang. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "userspace/daemon/disk_own.h"
#include "userspace/daemon/disk_record.h"
#include "userspace/daemon/job.h"
#include "userspace/machine/guard.h"

struct disk_reads {
	int	fd;
	struct muuid volume;
	struct layout out, one;
	u32	n;
	struct label_extent e[];
};

static void reads_drop(void *arg)
{
	struct disk_reads *r = arg;

	close(r->fd);
	free(r);
}

static int reads_run(void *arg)
{
	struct disk_reads *r = arg;
	int ret = -ENODATA;

	for (u32 i = 0; i < r->n; i++) {
		int err = disk_record_get(r->fd, &r->e[i], &r->one);

		if (err == -ENOMEM || (err && ret))
			ret = err;
		if (err || (!ret && r->one.version <= r->out.version))
			continue;
		r->out = r->one;
		ret = 0;
	}
	return ret;
}

void disk_report_end(struct disk *d)
{
	if (d->reads)
		job_free(d->reads);
	d->reads = NULL;
	d->read = NULL;
}

/* An extent that is being zeroed has what stood there before. */
static bool is_of(const struct label_extent *e, const struct muuid *volume)
{
	return muuid_equal(&e->volume, volume) && e->state == LABEL_READY;
}

static int begin(struct disk *d, const struct muuid *volume)
{
	const struct label *l = disk_ops.label(d);
	struct disk_reads *r;
	u32 n = 0;

	for (u32 i = 0; l && i < l->extents; i++)
		n += is_of(&l->extent[i], volume);
	if (!n)
		return l ? -ENODATA : -ENODEV;
	r = calloc(1, sizeof(*r) + n * sizeof(r->e[0]));
	if (!r)
		return -ENOMEM;
	r->volume = *volume;
	for (u32 i = 0; i < l->extents; i++) {
		if (is_of(&l->extent[i], volume))
			r->e[r->n++] = l->extent[i];
	}
	r->fd = fcntl(d->fd, F_DUPFD_CLOEXEC, 0);
	if (r->fd < 0) {
		free(r);
		return -errno;
	}
	d->read = r;
	d->reads = job_new(reads_run, r, reads_drop);
	if (!d->reads)
		reads_drop(r);
	return d->reads ? 0 : -ENOMEM;
}

int disk_layout(struct disk *d, const struct muuid *volume, struct layout *out)
{
	int err = 0;

	if (d->reads && !muuid_equal(&d->read->volume, volume))
		disk_report_end(d);
	if (!d->reads)
		err = begin(d, volume);
	if (!err)
		err = job_run(d->reads);
	if (err == -EINPROGRESS)
		return err;
	if (!err)
		*out = d->read->out;
	disk_report_end(d);
	return err;
}

int disk_about(struct disk *d, struct obj_disk *out)
{
	guard(&d->lock);
	if (d->ended)
		return -ENODEV;
	*out = d->about;
	snprintf(out->path, sizeof(out->path), "%s", d->path);
	return 0;
}
