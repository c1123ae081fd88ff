// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "userspace/daemon/disk_dev.h"
#include "userspace/daemon/disk_local.h"
#include "userspace/machine/guard.h"

#define OPEN_MS		10000	/* in which the kernel opens what was let go */

/* The device, alone. -ETXTBSY: something has it so. */
static int open_alone(const struct disk *d)
{
	struct disk_dev dev;
	int fd = disk_dev_open(d->path, O_RDONLY | O_EXCL, &dev);

	/* Another disk has the name by now. */
	if (fd >= 0 && dev.number != d->number) {
		close(fd);
		return -ESTALE;
	}
	return fd;
}

static bool is_at(const struct disk *d, const struct meshblk_member *m)
{
	return m->kind == MESHBLK_KIND_BDEV && muuid_equal(&m->drive, &d->uuid) && !strcmp(m->path, d->path);
}

/* By I/O that a group gave up, of a volume that may have gone. */
static bool has_abandoned(struct mesh *m, const struct disk *d)
{
	struct meshblk_abandoned *a;
	bool is = false;
	size_t n;

	if (meshblk_abandoned_get(m, &a, &n))
		return false;
	for (size_t i = 0; i < n && !is; i++)
		is = is_at(d, &a[i].member);
	free(a);
	return is;
}

/* This host's kernel has the device open. */
static bool kernel_has(const struct disk *d)
{
	struct mesh *m __free(mesh_close) = mesh_open();
	struct meshblk_volume *v;
	bool is = false;
	size_t n;

	if (!m || meshblk_volumes(m, &v, &n))
		return false;
	for (size_t i = 0; i < n && !is; i++) {
		for (u32 k = 0; k < v[i].nr_members && !is; k++)
			is = is_at(d, &v[i].members[k]);
	}
	meshblk_volumes_free(v, n);
	return is || has_abandoned(m, d);
}

int disk_local_take(struct disk *d)
{
	d->alone = open_alone(d);
	if (d->alone >= 0)
		return 0;
	d->in_use = d->alone == -ETXTBSY;
	d->alone = -1;
	return d->in_use && !kernel_has(d) ? -EBUSY : 0;
}

bool disk_local_gone(const struct disk *d)
{
	struct disk_dev dev;
	int fd = disk_dev_open(d->path, O_RDONLY, &dev);

	if (fd >= 0)
		close(fd);
	return fd >= 0 ? dev.number != d->number : fd == -ENOENT || fd == -ENXIO || fd == -ENODEV;
}

void disk_local_keep(struct disk *d)
{
	int fd;

	if (d->alone >= 0 || disk_now() < d->alone_at)
		return;
	d->alone_at = 0;
	fd = open_alone(d);
	if (fd >= 0)
		d->alone = fd;
	else if (fd == -ETXTBSY && !d->in_use && !kernel_has(d))
		disk_log(d->s, "%s: another program or driver holds this local drive alone, and may write to it",
			 d->path);
	d->in_use = fd == -ETXTBSY;
}

int disk_local_let_go(struct disk *d)
{
	int fd;

	if (d->alone >= 0)
		close(d->alone);
	d->alone = -1;
	d->alone_at = disk_now() + OPEN_MS;
	fd = open_alone(d);
	if (fd >= 0)
		close(fd);
	return fd == -ETXTBSY && !kernel_has(d) ? -EBUSY : 0;
}
