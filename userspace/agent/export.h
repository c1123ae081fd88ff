/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Drives that come and go by command: tasks that name a host, which its own agent carries out.
 *
 *   drive export     host path [force] [erase_label] [local] [name]
 *   drive unexport   drive [force]
 *
 *     the disk as it is --- export_verdict(), pure: may it become a drive?
 *          |
 *     task running: the drive's UUID is in it, so that a repeat makes the same drive
 *          |
 *     label written (export_ops) --- transaction: drive/D, the task has ended
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
};

/**
 * struct export_ops - -EINPROGRESS as in struct host_ops
 * @probe: what is on the disk at @path
 * @label_first: write a new drive's first label over what is there, durably in both copies
 * @take: serve the drive whose label is on the disk at @path: from now on an agent of it runs
 * @leave: serve it no more; @wipe: nothing shows any more that it was a drive
 */
struct export_ops {
	int	(*probe)(void *m, const char *path, struct export_disk *out);
	int	(*label_first)(void *m, const char *path, const struct label *l);
	int	(*take)(void *m, const char *path, const struct muuid *drive);
	int	(*leave)(void *m, const struct muuid *drive, bool wipe);
	const char *(*words)(void *m);
};

struct export_agent {
	struct copy *copy;	/* follows task/, drive/, host/ and cluster */
	struct muuid host;
	bool	stopped;
	const struct export_ops *ops;
	void	*machine;
	u64	now;		/* seconds since 1970 */
};

/**
 * export_turn() - one step of each task "drive export" and "drive unexport" of this host
 * Return: as host_turn().
 */
int export_turn(struct export_agent *e);

/**
 * export_take() - true if a disk is a drive of this host that is to be served by itself
 * @why: if not, a sentence: what is the matter and what to type; empty: it is no drive
 *
 * The label's drive is in the store, its host is this one, world-wide id and serial agree, it is not
 * on a network, the label names this host as owner and its cluster is this one. Pure.
 */
bool export_take(const struct export_disk *d, const struct obj_drive *key, const struct muuid *host,
		 const struct obj_cluster *c, char *why, size_t size);

#endif
