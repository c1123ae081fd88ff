/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A drive that this host exports: its label in memory, the thread that alone
 * changes it, and what the kernel was given.
 *
 *                 label found            unplugged, or unexported
 *   (none) ------------------------> UP ------------------------> (none)
 *                                     | a copy of the label is damaged, or cannot be
 *                                     | written, or a foreign one was written
 *                                     v
 *                                   SICK    serves what was granted, no more;
 *                                           with a foreign label not even that
 *                                           is granted again
 *
 * From both it goes to (none) by force when its label names another host: that host
 * may give to others what is open here.
 *
 * A job runs on the drive's thread: it changes a copy of the label, writes it
 * to both ends of the drive and only then puts it in place of the old one.
 * Before it is written what is on the drive is compared with what was written
 * last: a label that was changed elsewhere is not touched again.
 *
 * A UUID is in use by one struct tdrive at a time, from tdrive_start() until its
 * last reference is dropped: two threads never write to one drive, even when it
 * is taken up again.
 *
 * A drive that hangs keeps its thread. What peers and the kernel request of it then is
 * refused at once: such requests must not fill up the places of others.
 */
#ifndef MESHD_DRIVE_H
#define MESHD_DRIVE_H

#include "userspace/format/label.h"
#include "userspace/format/mgmt.h"
#include "userspace/format/twin.h"
#include "userspace/machine/guard.h"
#include "userspace/machine/label_io.h"
#include "userspace/meshd/meshd.h"

struct tdrive;

/*
 * @err: -ENODEV: the drive went away before the job's turn came; then @d has no label.
 * -ETIMEDOUT, of a @prompt job alone: the one before it hangs.
 */
struct tjob {
	void (*fn)(struct tdrive *d, struct tjob *j, int err);
	struct tjob *next;
	bool	prompt;
};

struct tdrive {
	struct tdrive *next;		/* tdrives.lock; in one of its two lists */
	int	refs;			/* tdrives.lock */
	struct muuid uuid;
	char	path[MGMT_PATH];
	struct twin_id id;
	u64	size;
	u32	lba;
	int	fd;			/* O_DIRECT | O_DSYNC, kept open */
	struct label_disk disk;		/* the job thread's */
	u64	backup_ms;		/* the job thread's: when it was made last */
	bool	backup_due;		/* the job thread's */
	bool	taken;			/* the job thread's: it is to be in the kernel from now on */
	u64	push_at;		/* the job thread's: not to be pushed again before */
	bool	damaged;		/* the job thread's: a copy of the label, not written since */
	struct label *both;		/* the job thread's: what both copies had last; NULL: @label */
	bool	nvme;
	bool	local;			/* LABEL_F_LOCAL; fixed */
	int	alone;			/* the job thread's: open alone (local_keep()); -1: it is not */
	u64	alone_at;		/* the job thread's: not to be opened so before */
	bool	in_use;			/* the job thread's: something else had it open so */

	pthread_mutex_t lock;		/* of all below */
	pthread_cond_t wake;
	struct label *label;		/* read by any thread, replaced by the job thread */
	struct tjob *jobs, **jobs_end;
	u64	job_since;		/* now_ms() when the job in work began; 0: none */
	u64	home_since;		/* and when it began to write to the state folder; 0: it does not */
	u64	home_said;		/* the one of those that was logged */
	u32	readers;		/* tdrive_read_begin() */
	bool	gone;
	bool	ending;			/* the kernel gives it up, which takes a while */
	bool	leaving;		/* a caller waits for its unexport, or has given up */
	bool	sick;
	bool	foreign;		/* a foreign label was written: no more of ours */
	bool	pushed;			/* the kernel has it, or it is local */
	int	push_err;		/* why not, as it was logged */
	bool	zeroing;		/* a zeroing thread runs */
	s32	zero_error;
	u64	zero_at;		/* of the extent in work, for progress */
	struct muuid zero_extent;
	bool	cache_off;		/* its volatile write cache was switched off */
	char	twin[MGMT_PATH];	/* a device with the same label that is not served */
};

/* One of the flags under @d->lock. */
static inline bool tdrive_is(struct tdrive *d, const bool *flag)
{
	guard(&d->lock);
	return *flag;
}

static inline void tdrive_set(struct tdrive *d, bool *flag, bool to)
{
	guard(&d->lock);
	*flag = to;
}

/*
 * Put a drive in the list and start its thread. @fd, @label: taken over, whatever is returned.
 * Return: 0; -EEXIST: its UUID is listed; -EBUSY: the last use of it has not ended; or another
 * errno.
 */
int tdrive_start(const char *path, int fd, struct label *label, const struct label_disk *disk,
		 const struct twin_id *id, struct tdrive **out);
/* The kernel serves it no more; not @force: unless extents of it are open. tdrive_push() undoes it. */
int tdrive_unserve(struct tdrive *d, bool force);
/* It is gone or unexported: ends its jobs, notifies the kernel. */
void tdrive_stop(struct tdrive *d, bool force);
/* Whether what the kernel calls gone is this use of the drive, not the one before. */
bool tdrive_lost(struct tdrive *d);

struct tdrive *tdrive_find(const struct muuid *uuid);	/* with a reference */
struct tdrive *tdrive_by_path(const char *path);
void tdrive_get(struct tdrive *d);
void tdrive_put(struct tdrive *d);
/* All of them with references, malloc()ed. */
struct tdrive **tdrives_all(size_t *n);
/* Those that are listed no more and whose threads have not ended: they may write. malloc()ed. */
struct mgmt_drive *tdrives_draining(size_t *n);

void tdrive_submit(struct tdrive *d, struct tjob *j);
/* For how many seconds its thread has been at one job; 0: it answers. */
unsigned int tdrive_silent(struct tdrive *d);
/*
 * Around reads beside the drive's thread. false: the drive does not answer, and threads that
 * read it would pile up: what they would say is not known.
 */
bool tdrive_read_begin(struct tdrive *d);
void tdrive_read_end(struct tdrive *d);
/*
 * On the drive's thread, around what waits for the state folder or the store: its disk
 * may hang, and that is no silence of the drive. Not nested.
 */
void tdrive_home_begin(struct tdrive *d);
void tdrive_home_end(struct tdrive *d);
/* Every second or so: prompt jobs behind one that hangs end. */
void tdrives_tick(void);
/* Submit @fn and wait for what it returns. */
int tdrive_run(struct tdrive *d, int (*fn)(struct tdrive *d, void *arg), void *arg);

/*
 * The same with a deadline, and an @arg that @drop frees after @fn or instead of it:
 * -ETIMEDOUT means that it is not done yet, but will be if the drive answers.
 */
int tdrive_run_for(struct tdrive *d, int (*fn)(struct tdrive *d, void *arg), void *arg,
		   void (*drop)(void *arg), unsigned int ms);

/* On the drive's thread: */
struct label *tdrive_edit(struct tdrive *d);		/* a copy to change, or NULL */
int tdrive_commit(struct tdrive *d, struct label *l);	/* write and use it; takes it over */
int tdrive_push(struct tdrive *d);			/* give the kernel the label's table */
void tdrive_push_again(struct tdrive *d);		/* on its thread: if it is not there, and is to be */
/* Whether the kernel serves a drive of its UUID from another device: then it refuses this one. */
bool tdrive_elsewhere(struct tdrive *d);
/* Before anything is written: 0, or why the kernel would refuse the drive, logged. -ENOPKG: no meshtgt. */
int tdrive_check(struct tdrive *d);
/* The same of a device that has no label yet. @why: the kernel's words. */
int kernel_check(const char *path, char *why, size_t size);
/* Whether the label on the drive is the one in memory: 0, -EBADE: another's, or -EIO. */
int tdrive_current(struct tdrive *d);
/* ... and durable in both copies. Before an answer that changes nothing. */
int tdrive_settled(struct tdrive *d);
/*
 * The same as tdrive_current() while the noted holder and attach number of @e, of d->label, are in
 * both copies.
 */
int tdrive_held(struct tdrive *d, const struct label_extent *e);
/*
 * Of a local drive (local.c): open it alone while no volume has it open, so that no file system is
 * made on it by mistake; close it for what is to have it next.
 */
void local_keep(struct tdrive *d);
void local_let_go(struct tdrive *d);

/* What the kernel is given of a label's table; free(out->extents). */
int tdrive_table(const struct tdrive *d, const struct label *l, struct meshtgt_drive *out);
void tdrive_describe(struct tdrive *d, struct mgmt_drive *out);
void tdrive_extent(const struct tdrive *d, const struct label_extent *e, struct mgmt_extent *out);

/* backup.c: what the state folder keeps of each drive; of a sick one nothing new */
void backup_label(struct tdrive *d, const struct label *l, bool now);	/* job thread */
void backup_idle(struct tdrive *d);					/* job thread */
/* A copy of @drive's label in the state folder, the newest that is whole. */
int backup_read(const struct muuid *drive, struct label *l);
/* The sequence of its backup, if that is higher than @l's: the drive went back in time. */
u64 backup_newer(const struct label *l);
/* Such a backup is kept as UUID.newer, too; in its own place until the next one takes that. */
void backup_aside(const struct muuid *drive);
/*
 * What is kept of drives that the device was before, which is about to be erased, is out of
 * the way: nothing of them is restored or requested any more. Logged when it fails.
 */
int backup_erased(const struct twin_id *is);
/* The drives that there are backups of, malloc()ed. */
struct muuid *backup_list(size_t *n);
/* Those that the device @is was noted as. */
struct muuid *backup_list_of(const struct twin_id *is, size_t *n);
/* The device that was served last under a label. */
int device_note(const struct muuid *drive, const struct twin_id *id);
int device_noted(const struct muuid *drive, struct twin_id *id);
void device_forget(const struct muuid *drive);
/* Of a drive whose label could not be marked as unexported. */
int unexported_note(const struct muuid *drive);
bool unexported_noted(const struct muuid *drive);
void unexported_forget(const struct muuid *drive);

/* zero.c */
void zero_kick(struct tdrive *d);

#endif
