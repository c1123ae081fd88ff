/* SPDX-License-Identifier: GPL-2.0-only */
/* Exporting drives and taking exported ones up again. */
#ifndef MESHD_EXPORT_H
#define MESHD_EXPORT_H

#include <string.h>

#include "userspace/meshd/control.h"
#include "userspace/meshd/drive.h"

/* probe.c: why a device must not be exported; 0 and what it is, or words in @why. */
enum probe_verdict {
	PROBE_OK,		/* empty: may be exported */
	PROBE_EXPORTED,		/* exported by this host */
	PROBE_OURS,		/* carries a label of this host; may be taken up */
	PROBE_THEIRS,		/* ... of another host */
	PROBE_USED,		/* mounted, held, swap, partitions in use: never */
	PROBE_FOREIGN,		/* carries something: only when forced */
	PROBE_DAMAGED,		/* carries what is left of a drive of ours: never by --force */
	PROBE_NETWORK,		/* empty, but on a network: only when forced */
	PROBE_UNFIT,		/* zoned, metadata, too small, ...: never */
};

struct probe {
	int	err;		/* it cannot be opened; nothing but @path and @why is set */
	char	name[64];	/* "nvme0n1" */
	char	path[80];
	struct twin_id id;
	u64	diskseq;	/* the kernel's number of the disk; 0: it has none */
	u64	size;
	u32	lba;
	bool	nvme;
	bool	partition;
	enum probe_verdict verdict;
	char	why[240];
	char	network[64];	/* by which it is reached, or "" */
	char	unserved[80];	/* why the kernel would not export it, or "" */
	struct muuid drive;	/* of its label */
	struct muuid owner;
	u32	extents;
	struct label *label;	/* OURS and THEIRS; probe_clear() */
	struct label_disk disk;
	int	each[2];
};

int probe_device(const char *path, struct probe *p);
void probe_clear(struct probe *p);
/* Of take_probes(); or NULL. */
static inline void probe_free(void *p)
{
	if (p)
		probe_clear(p);
	free(p);
}

/* A quick check without side effects: whether it begins or ends like an exported drive. */
bool probe_labelled(const char *path);
/* Whether a disk must not be probed without a command: stacked on others, or in use by them. */
bool probe_passed_over(const char *path);
/* Whether @fd, opened by name, is the disk that was probed. */
bool probe_same_disk(const struct probe *p, int fd);
/* A file system or partition table on @path: 1 and what, 0: none is known, or -EIO. */
int probe_signature(const char *path, char *what, size_t size);
/* Whether a command calls a drive so: by UUID or device, with or without /dev/. */
static inline bool drive_called(const struct muuid *uuid, const char *path, const char *what)
{
	struct muuid u;

	if (!muuid_parse(what, &u))
		return muuid_equal(&u, uuid);
	return !strcmp(path, what) || (!strncmp(path, "/dev/", 5) && !strcmp(path + 5, what));
}

/* What distinguishes it from others, from sysfs alone. */
void probe_wwid_of(const char *path, struct twin_id *id);
/*
 * Whether a device of this kind is searched for labels, so that a drive on it is found again. @why:
 * if not, what it is.
 */
bool probe_searched(const char *path, char *why, size_t size);
/* Whole disks by name, and their @partitions; malloc()ed strings: free each and the list. */
char **probe_list(size_t *n, bool partitions);
const char *probe_word(enum probe_verdict v);

/* take.c: probing with deadlines, and taking up. */

/* probe_device() with a deadline. Return: as probe_device(), or -ETIMEDOUT: it does not answer. */
int take_probe(const char *path, struct probe *p);
/* All of @path at once; out[i]: malloc()ed, NULL: it does not answer. */
void take_probes(char **path, size_t n, bool labelled_only, struct probe **out);
/* For how long a disk has not answered, in seconds; 0: it has. */
unsigned int take_silent(const char *path);

/* What taking up may change. */
struct take_how {
	bool	by_hand;
	bool	over;		/* ... and another cluster's becomes this one's */
	bool	grow;		/* the label's size becomes the device's */
	bool	fresh;		/* a new label; what was on it is lost */
	struct muuid drive;	/* ... of that drive; null: of another one */
	bool	local;		/* ... of a drive that is not exported */
};

/*
 * Serve a drive that has a label, or is given a new one. @p: stays the caller's, without its
 * label. Return: 0, -ETIMEDOUT: the drive does not answer, else why it is not served.
 */
int take_up(struct probe *p, const struct take_how *how, struct tdrive **out);

/* One at a time: exporting, unexporting, scanning for drives. */
extern pthread_mutex_t export_lock;
/* For a command, which takes it; false after req_fail(): it is held for long. */
bool export_lock_for(struct req *r);

/* Whether a label is of this host's cluster, or of none. */
bool export_cluster_ok(const struct label *l);
/* After a key was set: what is exported belongs to its cluster. */
void export_cluster(struct req *r);

/* Take up every drive with our label; watch for others that come and go. */
int export_start(void);
/* Pass a drive to the kernel, on the drive's thread. */
void export_push(struct tdrive *d);
/* Scan the block devices again, soon. */
void export_rescan(void);
/* The kernel says that a drive is gone. */
void export_gone(const struct muuid *drive);
/* Drives of which several devices claim to be the one, for MGMT_DRIVES. */
void export_twins(json_t *list);
/* The state of a device with our label that is not served, and why; else NULL. */
const char *export_twin_why(const char *path, char *why, size_t size);

/* left.c: what the kernel serves from a meshd before this one, and no struct tdrive has. */

/* All of it, also what it calls gone, for meshtgt_drives_free(). */
int left_drives(struct mesh *m, struct meshtgt_drive **out, size_t *n);
/* What it serves of that goes into a list of drives, or is marked there. */
int left_list(json_t *list);
/* drive unexport of one of them, with export_lock. */
int left_unexport(struct req *r, const char *what);
/* What another host has taken over is served no more. Return: whether to check again soon. */
bool left_end_taken_over(void);

/* The result of --dry-run, to which req_destroys() adds. */
void dry_begin(struct req *r);

/* Whether the device that it was taken up from is still here, and has its name. */
bool export_there(struct tdrive *d);

/* On the drive's thread: its label says that it is no drive any more, and it is not. */
int export_leave(struct tdrive *d, bool force);

int cmd_drive_export(struct req *r);
int cmd_drive_unexport(struct req *r);
int cmd_drive_scan(struct req *r);
int cmd_drive_extents(struct req *r);
int cmd_drive_free(struct req *r);
int cmd_drive_restore(struct req *r);

#endif
