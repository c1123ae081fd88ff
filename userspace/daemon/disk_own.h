/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Inside the drives of this machine: what the files disk*.c share.
 *
 *   disk.c              the list of drives; struct drive_ops, on the loop's thread
 *     disk_thread.c     the thread of a drive: labels, records, numbers, checks when idle
 *     disk_label.[ch]   labels in memory: merged, compared
 *     disk_record.[ch]  layout records in extents
 *     disk_zero.c       zeroes, on a thread beside it
 *     disk_local.[ch]   a local drive is held alone while no volume has it
 *     disk_table.c      the target's table of a drive, on a thread beside it
 *     disk_allow.c      which hosts may open which volume's extents
 *   disk_serve.c        the target's kernel: GRANT, events, listening
 *   disk_take.c         struct export_ops: drives come and go
 *   disk_left.c         drives that the kernel serves, and this daemon does not
 *   disk_look.c         all disks of the machine, each by a job
 *     disk_probe.[ch]   one disk: what is on it
 *   disk_backup.c       copies of labels in the state folder
 *   disk_report.c       what recover gathers of a drive
 *   disk_dev.[ch]       what only a block device has; tests on a file have their own
 *
 *                 take                    gone: unplugged, left, another host's label
 *     (none) ------------> served ---------------------------------------------> ended
 *                           |  a copy of the label cannot be written: tried again
 *                           '- a label that was written elsewhere: never written again
 *
 * A struct disk is small and stays until disks_close(), so that a pointer that an agent has is never
 * dangling; what it has is freed when its last thread ends. A drive that hangs keeps its threads.
 * While they live no other struct disk has its UUID: two never write to one drive.
 */
#ifndef DAEMON_DISK_OWN_H
#define DAEMON_DISK_OWN_H

#include <pthread.h>

#include "userspace/daemon/disk.h"
#include "userspace/daemon/disk_label.h"
#include "userspace/libmesh/mesh.h"
#include "userspace/machine/label_io.h"

#define DISK_WORDS	400
#define DISK_RETRY_MS	5000
#define DISK_LATE_MS	5000	/* a disk that does not answer for so long is reported */
#define DISK_IDLE_MS	3000
#define DISK_SMART_MS	600000

/* A number that is to be in the label: of a GRANT, or of a local member. */
struct disk_number {
	struct disk_number *next;
	struct muuid extent, host;
	u64	number, served;
	bool	write;		/* not for reading */
	struct mesh *m;		/* of a GRANT: the socket of the answer; NULL: local, which collects @err */
	u64	request;
	bool	done;
	int	err;
};

/* A function on the drive's thread, for a thread that waits. */
struct disk_call {
	struct disk_call *next;
	int	(*fn)(struct disk *d, void *arg);
	void	*arg;
	bool	done;
	int	err;
};

/* A record that is durable in an extent, as the drive's thread knows it. */
struct disk_head {
	struct muuid extent;
	int	err;		/* -ENODATA: none is */
	struct layout_head head;
};

/* An extent that the kernel's table is to lack. */
struct disk_out {
	struct muuid extent;
	u64	push;		/* ... from this table on */
	bool	ended;		/* ... and all I/O under it has ended */
	int	err;		/* to be said once */
};

/* The last thing that the agent reported of an extent. */
struct disk_said {
	struct muuid extent;
	enum plan_extent_step what;
};

/* Hosts that may open a volume's extents. */
struct disk_allow {
	struct muuid volume;
	bool	all;
	u32	hosts;
	struct muuid host[MESHTGT_ALLOW_MAX];
};

struct disk {
	struct disk *next;		/* disks.lock; fixed, as all up to @fd */
	struct disks *s;
	struct muuid uuid;
	char	path[OBJ_PATH];
	struct obj_disk about;		/* model, serial, .. as it was taken; @lock: .smart */
	u64	number;			/* of the device: disk_dev.h */
	bool	local;			/* LABEL_F_LOCAL */
	int	fd;			/* O_DIRECT | O_DSYNC; the last thread closes it */

	int	alone;			/* disk_local.c's, of the drive's thread; -1: not held */
	u64	alone_at;		/* ... not before: the kernel opens it */
	bool	in_use;			/* ... something else has it, as it was logged */

	pthread_mutex_t io;		/* of @on, and what compares or writes labels */
	struct label_disk on;

	pthread_mutex_t lock;		/* of all below */
	pthread_cond_t wake;		/* of its threads, and of those that wait for them */
	unsigned int threads;
	u64	busy_at;		/* disk_now() when its thread began what it does; 0: it has nothing to do */
	bool	ended;			/* it is served no more */
	bool	leaving;		/* the kernel is to serve it no more */
	bool	foreign;		/* a label was written elsewhere: none of ours any more */
	struct label *label;		/* the newest; replaced by the drive's thread alone */
	struct label *both;		/* the newest that both copies have; may be @label */
	u64	both_no;		/* another one for each @both; 0: the copies differ */
	u64	size;			/* of @label */
	struct label *shown;		/* the loop's copy of @both ... */
	u64	shown_no;		/* ... and of which one */
	struct disk_number *numbers;
	struct disk_call *calls;
	struct label *want;		/* of label_write, until it is written */
	int	want_err;		/* of the last one, to be said once */
	u64	want_at;		/* not before */
	struct layout *record;		/* of record_write, likewise */
	struct muuid record_extent;
	int	record_err;
	u64	record_at;
	struct disk_head *heads;
	size_t	nr_heads;
	struct muuid zero;		/* of zero(): in work; null: none */
	bool	zeroing;		/* its thread runs */
	u64	zero_done;		/* bytes */
	int	zero_err;
	u64	zero_at;
	struct disk_out *out;
	size_t	nr_out;
	u64	push_want, push_done;	/* numbers of tables: the newest, and the one that the kernel has */
	int	push_err;		/* as it was logged */
	bool	pushing;		/* a table is at the kernel */
	bool	pushed;			/* the kernel serves it */
	struct disk_said *said;
	size_t	nr_said;
	struct disk_allow *allow;
	size_t	nr_allow;
	u64	allow_revision, allow_no;	/* the loop's: what @allow was made from */
	u64	smart_ms;		/* when SMART values were read; 0: not yet */
	u64	backup_ms;		/* when a backup was made */
	u64	backup_sequence;
	struct job *reads;		/* the loop's: of disk_layout() ... */
	struct disk_reads *read;	/* ... what it reads, which is the job's */
};

struct disk_left;
struct disk_look;
struct disk_reads;
struct disk_round;
struct disks_serving;
struct disk_work;

struct disks {
	struct disks_config config;
	unsigned int retry_ms;		/* after an error of the drive, or of the kernel */
	unsigned int idle_ms;		/* between checks of a label */
	pthread_mutex_t lock;		/* of the list, and of @family */
	struct disk *first;
	int	family;			/* of the target's kernel that is served; 0: none */
	struct job *serve;		/* the loop's, as all below but for what the job has */
	struct disks_serving *serving;	/* the job's */
	int	listens;		/* the job's: the family that does */
	struct disk_look *looks;	/* one for each path that was ever probed */
	struct disk_round *list, *scan;
	struct disk_work *works;
	struct disk_left *left;
	bool	scanned;		/* a rescan has taken up what it may */
	u32	generation;		/* of disks_generation(), with the path of the disk */
	char	generation_path[OBJ_PATH];
	char	words[DISK_WORDS];
};

/* disk.c */
u64 disk_now(void);		/* CLOCK_MONOTONIC in milliseconds */
void disk_log(const struct disks *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void disk_thread_end(struct disk *d);	/* the last thing that it does */
struct disk *disks_served(struct disks *s, const struct muuid *drive);
bool disks_ending(struct disks *s, const struct muuid *drive);	/* its last use has not ended */
struct disk *disks_at(struct disks *s, const char *path);	/* served from that path */
/* A drive whose label was read, and whose threads run from now on; -EINPROGRESS: its last use has not ended. */
int disk_begin(struct disks *s, struct disk *d);
void disk_free(struct disk *d);		/* of one that did not begin, or has ended */
/* With d->lock: until something changes, or @ms. */
void disk_wait(struct disk *d, unsigned int ms);
/* It is served no more; its threads end. Any thread. */
void disk_end(struct disk *d);

/* disk_thread.c */
void *disk_label_thread(void *arg);
/* Run on the drive's thread and wait; -ENODEV: it has ended. */
int disk_call(struct disk *d, int (*fn)(struct disk *d, void *arg), void *arg);
/* On the drive's thread: */
struct label *disk_edit(const struct disk *d);
/* Write a label to both copies; @l is taken over. -EBADE: it is another's by now; -EIO. */
int disk_commit(struct disk *d, struct label *l);
/* The label has all of the device's size, which may be more than when it was written. As disk_commit(). */
int disk_grow(struct disk *d);
/* From any thread: is the label on the drive the one in memory? 0, -EBADE, -EIO. */
int disk_current(struct disk *d);
/* Queue a number; the GRANT is answered in any case. */
void disk_grant(struct disk *d, struct mesh *m, const struct meshtgt_grant *g);

/* disk_zero.c, disk_table.c */
void *disk_zero_thread(void *arg);
void *disk_table_thread(void *arg);
/* The kernel is to have another table. With d->lock. */
void disk_push(struct disk *d);
/* The kernel's view of the drive's UUID. */
enum disk_view { DISK_HAS_NOT, DISK_HAS, DISK_GONE, DISK_OTHER, DISK_SILENT };
enum disk_view disk_kernel_has(struct mesh *m, const struct disk *d);
/* 0, or why the kernel would not serve it, in @why. -ENOPKG: no module. */
int disk_kernel_check(const char *path, const struct muuid *drive, char *why, size_t size);
/* The kernel serves it no more, and gets no table while @leaving: 0; -EBUSY: it is open. */
int disk_unserve(struct disk *d, bool force);

/* disk_serve.c */
void disks_serve_end(struct disks *s);

/* disk_look.c: as export_ops.probe; -ETIMEDOUT: the disk has not answered for a while. */
int disk_look(struct disks *s, const char *path, struct export_disk *out);
/* The same, for a command that is judged by it, which concerns that device alone. */
int disk_look_judged(struct disks *s, const char *path, struct export_disk *out);
u64 disk_judged(const struct disks *s, const char *path);	/* its number; 0: none was */
bool disks_look_end(struct disks *s, u64 until);	/* likewise */

/* disk_take.c: as export_ops.take. @number: of the device that was judged; 0: any. */
int disk_take(struct disks *s, const char *path, const struct muuid *drive, u64 number);
/* False: a disk hangs, and its thread has @s for ever. */
bool disks_take_end(struct disks *s, u64 until);

/*
 * disk_left.c: the kernel serves a drive no more that has no struct disk. Blocks. 0; -ENODEV: it does
 * not; -EBUSY: it is open; -EEXIST: it came back. @why: of an error.
 */
int disk_left_end(struct disks *s, const struct muuid *drive, bool force, char *why, size_t size);
void disks_left_end(struct disks *s);
/* disk_report.c */
void disk_report_end(struct disk *d);

/* disk_backup.c */
int disk_backup(const char *state, const struct label *l);
int disk_backup_read(const char *state, const struct muuid *drive, struct label *l);
/* With d->both: made at most once a day, or @now. Not with d->lock. */
/* The device that a drive is on, by world-wide id and serial. 0, at once where the file has it; or an errno. */
int disk_known_put(const char *state, const struct muuid *drive, const struct obj_disk *on);
int disk_known_get(const char *state, const struct muuid *drive, struct obj_known *out);
void disk_backup_due(struct disk *d, const struct label *l, bool now);

#endif
