/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Drives that come and go by command: tasks that name a host, which its own agent carries out.
 *
 *   drive export     [host] path [force] [erase_label] [local] [name]
 *   drive unexport   drive [force] [preempt]
 *
 *     the disk as it is --- export_verdict(), pure: may it become a drive?      export_judge.c
 *          |
 *     task running: the drive's UUID is in it, so that a repeat makes the same drive
 *          |
 *     label written (export_ops), served --- transaction: drive/D, the task has ended
 *
 *     drive that was one before: its label grows with its device, then drive/D has that size
 *     drive of another host that has left it: drive/D names this host first, then its label does
 *
 *     unexport:  task running, drive/D draining: no extent is placed there any more
 *          |
 *     served no more, label wiped --- transaction: drive/D erased; with extents: out
 *
 * A drive with a label of this cluster that drive/D knows is taken up again by itself: export_take().
 */
#ifndef AGENT_EXPORT_H
#define AGENT_EXPORT_H

#include "userspace/agent/host.h"
#include "userspace/format/label.h"

/* What stands on a disk. */
enum export_found {
	EXPORT_EMPTY,
	EXPORT_LABEL,		/* a label of this cluster */
	EXPORT_STRANGER,	/* ... of another cluster, or of none */
	EXPORT_DAMAGED,		/* what is left of a label */
	EXPORT_FOREIGN,		/* a file system, a partition table, .. */
	EXPORT_USED,		/* mounted, held, swap */
	EXPORT_UNFIT,		/* too small, zoned, metadata, .. */
};

struct export_disk {
	struct obj_disk disk;		/* as in device/H */
	u8	found;			/* enum export_found */
	bool	network;		/* reached by a network */
	char	what[OBJ_WORDS];	/* of FOREIGN, USED, UNFIT: a sentence */
	struct muuid drive, owner, cluster;	/* of a label */
	u64	sequence;
	u32	generation;
	bool	bare;			/* the label names no extent; false where that is not known */
	bool	left;			/* LABEL_F_UNEXPORTED */
	u64	number;			/* of the device in the kernel: its name may be another's later */
	bool	known;			/* this host's file has the device that the drive was on last: ... */
	char	known_wwid[OBJ_WWID], known_serial[OBJ_TEXT];
};

/* How a drive leaves. */
#define EXPORT_WIPE	1U	/* nothing shows any more that it was a drive */
#define EXPORT_PREEMPT	2U	/* although it is open: its I/O fails; its label is written if it can be */

/**
 * struct export_ops - -EINPROGRESS as in struct host_ops
 * @probe: what is on the disk at @path; @out is written when it returns 0
 * @label_first: write a new drive's first label over what is there, durably in both copies
 * @take: serve the drive whose label is on the disk at @path: from now on an agent of it runs. 0, too,
 *	where it is served from there already; -EEXIST: it is served from another disk. The label's
 *	LABEL_F_UNEXPORTED goes
 * @leave: serve it no more; @how: bits of EXPORT_WIPE, without which its label has LABEL_F_UNEXPORTED,
 *	and of EXPORT_PREEMPT. -ENOTEMPTY: to be wiped, and its label names an extent, so nothing was
 *	done; -EBUSY, -EEXIST: it is open, or came back, and stays; -ENODEV: it is not served
 * @words: a sentence about the last error, without its subject; NULL or empty: none
 * @own: the label's owner becomes @host, durably in both copies, all else in it stays; 0, too,
 *	where it is. Before @take, of a drive that was another host's. NULL: not possible
 * @grow: the label of a drive that is served has all of its device, which may have grown; @size: of the
 *	label, set on an error as well. NULL: not possible
 */
struct export_ops {
	int	(*probe)(void *m, const char *path, struct export_disk *out);
	int	(*label_first)(void *m, const char *path, const struct label *l);
	int	(*take)(void *m, const char *path, const struct muuid *drive);
	int	(*leave)(void *m, const struct muuid *drive, unsigned int how);
	const char *(*words)(void *m);
	int	(*own)(void *m, const char *path, const struct muuid *drive, const struct muuid *host);
	int	(*grow)(void *m, const struct muuid *drive, u64 *size);
};

/* Of a task that is carried out: what would be found out again after a restart. */
struct export_work;

struct export_agent {
	struct copy *copy;	/* follows task/, drive/, host/, alive/, volume/ and cluster */
	struct muuid host;
	bool	stopped;	/* host_stopped() */
	const struct export_ops *ops;
	void	*machine;
	u64	now;		/* seconds since 1970 */
	struct export_work *work;	/* the agent's own */
};

/**
 * export_turn() - one step of each task "drive export" and "drive unexport" of this host
 *
 * An error of the machine ends the task, with a sentence. So does a host that is no member any more,
 * by the host that requested the task.
 * Return: as host_turn().
 */
int export_turn(struct export_agent *e);
/* Forget what is in work; the tasks stay. */
void export_end(struct export_agent *e);

/* A command's permission for one disk. */
struct export_request {
	bool	force;		/* what is foreign on it may be lost; it may be on a network */
	bool	erase_label;	/* a damaged or unknown label may be lost, with all that it names */
	bool	local;
	struct muuid drive;	/* that the task has chosen; null: none yet */
};

/* What the store says that concerns a disk. */
struct export_facts {
	const struct obj_cluster *cluster;	/* NULL: it cannot be read */
	const struct obj_host *self;		/* host/H of this host; NULL: there is none */
	const struct obj_drive *key;		/* drive/D of the label; NULL: none */
	bool	key_refused;			/* ... or one that the codec refuses */
	const struct obj_host *former;		/* host/H of @key; NULL: none */
	bool	former_alive;
};

enum export_answer {
	EXPORT_REFUSED,		/* the sentence says why, and what to do */
	EXPORT_FRESH,		/* it becomes a new drive, what is on it is lost */
	EXPORT_AGAIN,		/* the drive of this host that its label says, with all that is on it */
	EXPORT_MOVE,		/* the drive of another host, which has left it, likewise */
};

/* May a disk become a drive by command? Pure. @why: of EXPORT_REFUSED. */
enum export_answer export_verdict(const struct export_disk *d, const struct export_request *r,
				  const struct export_facts *f, char *why, size_t size);

/**
 * export_take() - true if a disk is a drive of this host that is to be served by itself
 * @key: drive/D of the label; NULL: none
 * @why: if not, a sentence: what is the matter and what to type; empty: it is no drive
 *
 * The label's drive is in the store, its host is this one, world-wide id and serial agree, it is not
 * on a network, the label names this host as owner and its cluster is this one. Pure.
 */
bool export_take(const struct export_disk *d, const struct obj_drive *key, const struct muuid *host,
		 const struct obj_cluster *c, char *why, size_t size);
/**
 * export_take_alone() - the same while the store is away: what the label and the host's file say
 * @seen: the store that this host followed last
 *
 * After a power cut each host serves what it has, in any order. World-wide id and serial are compared with
 * the host's own file, as export_take() does it with the store. The caller takes neither of two disks
 * with one label. What the store knows better it says later: the agent of the drive then does nothing
 * for a drive of another host.
 */
bool export_take_alone(const struct export_disk *d, const struct plan_seen *seen, const struct muuid *host,
		       char *why, size_t size);

#endif
