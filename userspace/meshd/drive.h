/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A drive that this host lends: its label in memory, the thread that alone
 * changes it, and what the kernel was told.
 *
 *                 label found            unplugged, or withdrawn
 *   (none) ------------------------> UP ------------------------> (none)
 *                                     | label cannot be written
 *                                     v
 *                                   SICK    serves what was granted, no more
 *
 * A job runs on the drive's thread: it changes a copy of the label, writes it
 * to both ends of the drive and only then puts it in place of the old one.
 */
#ifndef MESHD_DRIVE_H
#define MESHD_DRIVE_H

#include <pthread.h>

#include "userspace/format/label.h"
#include "userspace/format/mgmt.h"
#include "userspace/libmesh/mesh.h"
#include "userspace/meshd/meshd.h"

struct tdrive;

/* @err: the drive went away before the job's turn came; then @d has no label */
struct tjob {
	void (*fn)(struct tdrive *d, struct tjob *j, int err);
	struct tjob *next;
};

struct tdrive {
	struct tdrive *next;		/* tdrives.lock */
	int	refs;			/* tdrives.lock */
	struct muuid uuid;
	char	path[MGMT_PATH];
	char	model[MGMT_NAME];
	char	serial[MGMT_NAME];
	u64	size;
	u32	lba;
	int	fd;			/* O_DIRECT | O_DSYNC, kept open */
	bool	discard_zeroes;

	pthread_mutex_t lock;		/* of all below */
	pthread_cond_t wake;
	struct label *label;		/* read by anybody, replaced by the job thread */
	struct tjob *jobs, **jobs_end;
	bool	gone;
	bool	sick;
	bool	pushed;			/* the kernel has it */
	bool	zeroing;		/* a zeroing thread runs */
	s32	zero_error;
	u64	zero_at;		/* of the extent in work, for progress */
	struct muuid zero_extent;
	bool	cache_off;		/* its volatile write cache was switched off */
};

/* Put a drive in the list and start its thread; takes @fd and @label over. */
int tdrive_start(const char *path, int fd, struct label *label, struct tdrive **out);
/* It is gone or withdrawn: ends its jobs, tells the kernel. */
void tdrive_stop(struct tdrive *d, bool force);

struct tdrive *tdrive_find(const struct muuid *uuid);	/* with a reference */
struct tdrive *tdrive_by_path(const char *path);
struct tdrive *tdrive_of_extent(const struct muuid *extent);
void tdrive_get(struct tdrive *d);
void tdrive_put(struct tdrive *d);
/* All of them with references, malloc()ed. */
struct tdrive **tdrives_all(size_t *n);

void tdrive_submit(struct tdrive *d, struct tjob *j);
/* Submit @fn and wait for what it returns. */
int tdrive_run(struct tdrive *d, int (*fn)(struct tdrive *d, void *arg), void *arg);

/* On the drive's thread: */
struct label *tdrive_edit(struct tdrive *d);		/* a copy to change, or NULL */
int tdrive_commit(struct tdrive *d, struct label *l);	/* write and use it; takes it over */
int tdrive_push(struct tdrive *d);			/* tell the kernel the label's table */

/* What the kernel is told of a label's table; free(out->extents). */
int tdrive_table(const struct tdrive *d, const struct label *l, struct mesh_drive *out);
void tdrive_describe(struct tdrive *d, struct mgmt_drive *out);
void tdrive_extent(const struct tdrive *d, const struct label_extent *e, struct mgmt_extent *out);

/* label_io.c: read the better copy; both copies' states in @err. */
int label_read(int fd, u64 size, struct label *l, int err[2]);
int label_write(int fd, const struct label *l);
int label_wipe(int fd, u64 size);

/* zero.c */
void zero_kick(struct tdrive *d);


#endif
