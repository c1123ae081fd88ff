/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Several devices with one label: a copy (dd, snapshot of a disk image) or a
 * second path to one drive. Which of them may be served, if any; and, when they
 * are exported by several hosts, which of them may be used.
 */
#ifndef FORMAT_TWIN_H
#define FORMAT_TWIN_H

#include <linux/types.h>

/* What distinguishes one device from another; "" where the device does not say. */
struct twin_id {
	char	model[64];
	char	serial[64];
	char	wwid[128];
};

struct twin {
	struct twin_id id;
	bool	served;		/* the kernel has it open and up as this drive */
};

enum twin_match {
	TWIN_DIFFERS,
	TWIN_UNKNOWN,		/* neither says enough to distinguish them */
	TWIN_SAME,
};

/* Whether @is the device that @noted was taken from. */
enum twin_match twin_match(const struct twin_id *noted, const struct twin_id *is);

/**
 * twin_pick() - which of @n devices with one label is the drive
 * @noted: the device that was served last under that label; NULL: not known
 *
 * The one that is being served; else the only one that matches @noted; else a
 * single device, unless it is known to be another than @noted.
 *
 * Return: its index, or -1: the administrator has to decide.
 */
int twin_pick(const struct twin *t, size_t n, const struct twin_id *noted);

/* The hosts that export one drive UUID. */
struct twin_hosts {
	u32	hosts;	/* number of them */
	u32	owners;	/* how many of them the label there names as its owner */
	u32	host;	/* index of the one that has the drive: the owner, else the first */
	u32	other;	/* another one, when there is one */
};

/* @t begins as zero. @owner: the label that @host serves names @host as its owner. */
void twin_hosts_add(struct twin_hosts *t, u32 host, bool owner);
/* Nothing distinguishes the drive from its copy: neither may be used. */
bool twin_hosts_doubt(const struct twin_hosts *t);

#endif
