/* SPDX-License-Identifier: GPL-2.0-only */
/* Lending drives and taking lent ones up again. */
#ifndef MESHD_LEND_H
#define MESHD_LEND_H

#include "userspace/meshd/control.h"
#include "userspace/meshd/drive.h"

/* Take up every drive with our label; watch for others that come and go. */
int lend_start(void);
/* Tell the kernel of a drive, on the drive's thread. */
void lend_push(struct tdrive *d);
/* Look at block devices again, soon. */
void lend_rescan(void);
/* The kernel says that a drive is gone. */
void lend_gone(const struct muuid *drive);

int cmd_drive_lend(struct req *r);
int cmd_drive_withdraw(struct req *r);
int cmd_drive_scan(struct req *r);

/* probe.c: why a device may not be lent; 0 and what it is, or words in @why. */
enum probe_verdict {
	PROBE_OK,		/* empty: may be lent */
	PROBE_LENT,		/* we lend it */
	PROBE_OURS,		/* carries a label; may be taken up */
	PROBE_USED,		/* mounted, held, swap, partitions in use: never */
	PROBE_FOREIGN,		/* carries something: only when forced */
	PROBE_UNFIT,		/* zoned, metadata, too small, ...: never */
};

struct probe {
	char	name[64];	/* "nvme0n1" */
	char	path[80];
	char	model[64];
	char	serial[64];
	u64	size;
	u32	lba;
	bool	nvme;
	bool	discard_zeroes;
	enum probe_verdict verdict;
	char	why[160];
	struct muuid drive;	/* of its label */
	u32	extents;
};

int probe_device(const char *path, struct probe *p);
/* A quick look that disturbs nobody: does it begin or end like a lent drive? */
bool probe_labelled(const char *path);
/* Whole disks by name, malloc()ed strings; free each and the list. */
char **probe_list(size_t *n);
const char *probe_word(enum probe_verdict v);

#endif
