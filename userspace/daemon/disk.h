/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Drives of this machine: struct drive_ops of one, and the table that the target's kernel has.
 *
 *   agent/drive.c (loop) --- drive_ops ---+
 *                                         v
 *   struct disk: the label in memory; one thread, which alone writes the drive
 *                                         ^
 *   the kernel's GRANT (its own thread) --+   number, attacher: durable before the answer
 *
 * Numbers in labels are written by grants alone, all else by the agent; both by the disk's thread, in
 * turn, so that neither overwrites the other's. A grant needs no store: a target reads the label.
 */
#ifndef DAEMON_DISK_H
#define DAEMON_DISK_H

#include "userspace/agent/drive.h"
#include "userspace/agent/export.h"

struct disk;
struct disks;

struct disks_config {
	struct muuid host;
	const char *state;		/* folder: backups of labels */
	const char *listen;		/* address of the target; NULL: this host exports nothing */
	u16	port;
	void	(*log)(void *priv, const char *words);
	void	*priv;
};

/* 0, or an errno with the words logged. */
int disks_open(const struct disks_config *config, struct disks **out);
void disks_close(struct disks *s);
/*
 * The target's kernel may listen from now on: identity and keys are set. Called again after
 * meshtgt was loaded again. -EINPROGRESS, -ENOPKG: no module.
 */
int disks_serve(struct disks *s);
/* Tables: the hosts that may open each volume's extents, from the copy; each turn. */
int disks_allow(struct disks *s, const struct copy *c);

/* Of struct export_ops and host_ops; @m: struct disks. */
extern const struct export_ops disks_export_ops;
int disks_list(void *m, struct obj_disk **out, u32 *n);

/*
 * Highest generation of the store that a label of this cluster has, of all disks that a rescan has
 * found, also those that are not taken up. 0: none was found. @path: of that disk.
 */
u32 disks_generation(const struct disks *s, const char **path);

/* Of struct drive_say. */
int disks_left(void *m, const struct muuid *drive, char *words, size_t size);

/* Of struct drive_ops; @dev: struct disk. */
extern const struct drive_ops disk_ops;
/*
 * Scan the disks of this machine, and take up each drive that export_take() lets. One round of
 * jobs: -EINPROGRESS until all have answered, or are late. The loop calls it at its start, and when
 * udev reports a disk.
 */
int disks_rescan(struct disks *s, const struct copy *c);
/* The same while the store is away: by export_take_alone(). */
int disks_rescan_alone(struct disks *s, const struct plan_seen *seen);

/*
 * All that are served, in any order; NULL after the last. A struct disk stays until disks_close():
 * of one that is served no more label() is NULL.
 */
struct disk *disks_next(struct disks *s, struct disk *after);
const struct muuid *disk_uuid(const struct disk *d);
/* Of the disk that has this drive; NULL: none. For local members: its path. */
struct disk *disks_find(struct disks *s, const struct muuid *drive);
const char *disk_path(const struct disk *d);
/* True: what its thread does takes long by now. */
bool disk_hangs(struct disk *d);
/* Of the last disk that had this drive, also where it has gone: another one each time that it comes; 0: none. */
u64 disks_use(struct disks *s, const struct muuid *drive);
/* For reports of recover: path, model and so on of a drive that is served; -ENODEV. */
int disk_about(struct disk *d, struct obj_disk *out);
/*
 * The highest whole layout record among the drive's extents of a volume. -ENODATA: none; -EINPROGRESS: it is
 * read, and what was begun for another volume is dropped.
 */
int disk_layout(struct disk *d, const struct muuid *volume, struct layout *out);
/*
 * A member that this host's kernel opens itself has no target: compare and write the number, and let the
 * device go, which is held exclusively until then. 0; -ESTALE: the label's is above; -EBUSY: something
 * else has the device; -EINPROGRESS. disk_reader(): nothing is written. The result stays until
 * disk_number_end(): a volume with many such members has all results at once, whichever came first.
 */
int disk_number(struct disk *d, const struct muuid *extent, const struct muuid *host, u64 number, u64 served);
int disk_reader(struct disk *d, const struct muuid *extent, const struct muuid *host, u64 number);
/* The next one of them begins again. One in progress stays. @served: 0 of a reader. */
void disk_number_end(struct disk *d, const struct muuid *extent, const struct muuid *host, u64 number, u64 served);

#endif
