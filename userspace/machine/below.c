// SPDX-License-Identifier: GPL-2.0-only
/* Finds in sysfs what a block device stands on, and a network among that. */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>

#include "userspace/machine/below.h"
#include "userspace/machine/line.h"

#define STACK_MAX	16	/* devices one above the other */

/* Absent from <linux/magic.h> */
#define FS_LUSTRE	0x0bd00bd0
#define FS_GFS2		0x01161970

/* Lists the entries of a folder that begin with @prefix, until @fn returns true. */
static bool any_entry(const char *folder, const char *prefix,
		      bool (*fn)(const char *entry, void *arg), void *arg)
{
	DIR *dir = opendir(folder);
	struct dirent *e;
	bool found = false;

	while (dir && !found && (e = readdir(dir)))
		found = e->d_name[0] != '.' && !strncmp(e->d_name, prefix, strlen(prefix)) &&
			fn(e->d_name, arg);
	if (dir)
		closedir(dir);
	return found;
}

struct walk {
	const char *sysfs;
	below_fn fn;
	void *arg;
	unsigned int depth;
};

static bool walk(const struct walk *from, const char *name);

static bool walk_slave(const char *entry, void *arg)
{
	return walk(arg, entry);
}

bool below_name(const char *sysfs, dev_t dev, char *name, size_t size)
{
	char path[256], real[PATH_MAX];

	snprintf(path, sizeof(path), "%s/dev/block/%u:%u", sysfs, major(dev), minor(dev));
	if (!realpath(path, real))
		return false;
	snprintf(name, size, "%s", strrchr(real, '/') + 1);
	return true;
}

/* The disk of a partition. */
static bool walk_disk(const struct walk *next, const char *name)
{
	char path[512], text[32], real[PATH_MAX];

	if (read_line(text, sizeof(text), "%s/class/block/%s/partition", next->sysfs, name))
		return false;
	snprintf(path, sizeof(path), "%s/class/block/%s/..", next->sysfs, name);
	return realpath(path, real) && walk(next, strrchr(real, '/') + 1);
}

/* A loop device stands on a device, or on the one that has the file's file system. */
static bool walk_file(const struct walk *next, const char *name)
{
	char file[PATH_MAX], on[NAME_MAX + 1];
	struct stat st;

	if (read_line(file, sizeof(file), "%s/class/block/%s/loop/backing_file", next->sysfs,
		      name) || stat(file, &st))
		return false;
	return below_name(next->sysfs, S_ISBLK(st.st_mode) ? st.st_rdev : st.st_dev, on,
			  sizeof(on)) && walk(next, on);
}

static bool walk(const struct walk *from, const char *name)
{
	struct walk next = *from;
	char path[512];

	if (!next.depth--)
		return next.fn(next.sysfs, NULL, next.arg);
	if (next.fn(next.sysfs, name, next.arg))
		return true;
	snprintf(path, sizeof(path), "%s/class/block/%s/slaves", next.sysfs, name);
	return any_entry(path, "", walk_slave, &next) || walk_disk(&next, name) ||
	       walk_file(&next, name);
}

bool below_any(const char *sysfs, const char *name, below_fn fn, void *arg)
{
	return walk(&(struct walk) { sysfs, fn, arg, STACK_MAX }, name);
}

/* Drivers whose disks are on a network, or may be, by the disk's name. */
static bool net_driver(const char *name, char *what, size_t size)
{
	static const struct {
		const char *prefix, *what;
	} drivers[] = {
		{ "nbd", "nbd" },
		{ "rbd", "rbd" },
		{ "drbd", "drbd" },
		{ "rnbd", "rnbd" },
		{ "etherd!", "ATA over Ethernet" },
		{ "scini", "PowerFlex" },
		{ "ublkb", "a program's disk, ublk" },
		{ "mesh", "meshblk" },
	};
	size_t i;

	for (i = 0; i < sizeof(drivers) / sizeof(*drivers); i++) {
		if (strncmp(name, drivers[i].prefix, strlen(drivers[i].prefix)))
			continue;
		snprintf(what, size, "%s", drivers[i].what);
		return true;
	}
	return false;
}

struct net {
	char	*what;
	size_t	size;
	const char *folder;	/* of an NVMe subsystem */
	unsigned int local;	/* controllers seen that are not on a network */
};

/* A controller's folder below @net's. */
static bool net_controller(const char *entry, void *arg)
{
	struct net *net = arg;
	char text[32];

	if (read_line(text, sizeof(text), "%s/%s/transport", net->folder, entry))
		return false;
	if (strcmp(text, "pcie") && strcmp(text, "apple-nvme")) {
		snprintf(net->what, net->size, "NVMe over %.20s", text);
		return true;
	}
	net->local++;
	return false;
}

/*
 * A namespace belongs to its controller, or with native multipath to a subsystem, whose controllers
 * are its paths. One whose paths are all away has been on a network: PCIe disks go with theirs.
 */
static bool net_nvme(const char *device, struct net *net)
{
	net->folder = device;
	if (net_controller(".", net))
		return true;
	if (net->local)
		return false;
	if (any_entry(device, "nvme", net_controller, net))
		return true;
	if (!net->local)
		snprintf(net->what, net->size, "NVMe without a controller");
	return !net->local;
}

/* Finds the SCSI host among the folders that lead to @device, and what drives it. */
static bool net_scsi(const char *device, struct net *net)
{
	const char *at = strstr(device, "/host"), *end;
	char text[32];

	if (strstr(device, "/session") || strstr(device, "/rport-")) {
		snprintf(net->what, net->size, "iSCSI or Fibre Channel");
		return true;
	}
	for (; at; at = strstr(at + 1, "/host")) {
		end = at + 1 + strcspn(at + 1, "/");
		if (read_line(text, sizeof(text), "%.*s/scsi_host%.*s/proc_name",
			      (int)(end - device), device, (int)(end - at), at))
			continue;
		if (!strcmp(text, "ib_srp"))
			snprintf(net->what, net->size, "SRP");
		return !strcmp(text, "ib_srp");
	}
	return false;
}

/* A file on a file system that a server, or other hosts too, write to. */
static bool net_file(const char *sysfs, const char *name, struct net *net)
{
	static const unsigned int types[] = {
		NFS_SUPER_MAGIC, SMB_SUPER_MAGIC, CIFS_SUPER_MAGIC, SMB2_SUPER_MAGIC, CEPH_SUPER_MAGIC,
		AFS_SUPER_MAGIC, AFS_FS_MAGIC, CODA_SUPER_MAGIC, V9FS_MAGIC, OCFS2_SUPER_MAGIC,
		FS_LUSTRE, FS_GFS2, FUSE_SUPER_MAGIC,
	};
	char file[PATH_MAX];
	struct statfs fs;
	size_t i;

	if (read_line(file, sizeof(file), "%s/class/block/%s/loop/backing_file", sysfs,
		      name) || statfs(file, &fs))
		return false;
	for (i = 0; i < sizeof(types) / sizeof(*types); i++) {
		if ((unsigned int)fs.f_type != types[i])
			continue;
		snprintf(net->what, net->size, "a file on a network");
		return true;
	}
	return false;
}

static bool net_here(const char *sysfs, const char *name, void *arg)
{
	struct net *net = arg;
	char path[512], device[PATH_MAX];

	net->local = 0;
	if (!name) {
		snprintf(net->what, net->size, "too many devices below to say");
		return true;
	}
	if (net_driver(name, net->what, net->size) || net_file(sysfs, name, net))
		return true;
	snprintf(path, sizeof(path), "%s/class/block/%s/device", sysfs, name);
	if (!realpath(path, device))
		return false;
	return strncmp(name, "nvme", 4) ? net_scsi(device, net) : net_nvme(device, net);
}

bool below_network(const char *sysfs, const char *name, char *what, size_t size)
{
	struct net net = { .what = what, .size = size };

	what[0] = 0;
	return below_any(sysfs, name, net_here, &net);
}

static bool is_volume(const char *sysfs, const char *name, void *arg)
{
	(void)sysfs, (void)arg;
	return !name || !strncmp(name, "mesh", 4);
}

bool below_volume(const char *sysfs, const char *name)
{
	return below_any(sysfs, name, is_volume, NULL);
}
