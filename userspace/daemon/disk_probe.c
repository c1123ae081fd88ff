// SPDX-License-Identifier: GPL-2.0-only
#include <blkid/blkid.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <mntent.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "userspace/daemon/disk_dev.h"
#include "userspace/daemon/disk_own.h"
#include "userspace/daemon/disk_probe.h"
#include "userspace/machine/below.h"
#include "userspace/machine/guard.h"
#include "userspace/machine/line.h"

#define SMALLEST	(64ULL << 20)

struct probe {
	struct export_disk *out;
	struct disk_dev dev;
	const char *path;	/* real */
	int	fd;
	struct label *label;
};

static int verdict(struct probe *p, enum export_found found, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static int verdict(struct probe *p, enum export_found found, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(p->out->what, sizeof(p->out->what), fmt, ap);
	va_end(ap);
	p->out->found = found;
	return 1;
}

static int sys(const struct probe *p, const char *file, char *out, size_t size)
{
	return read_line(out, size, SYSFS "/class/block/%s/%s", p->dev.name, file);
}

static bool first_entry(const char *path, const char *prefix, char *out, size_t size)
{
	DIR *dir = opendir(path);
	struct dirent *e;
	bool found = false;

	while (dir && !found && (e = readdir(dir))) {
		if (e->d_name[0] == '.' || strncmp(e->d_name, prefix, strlen(prefix)))
			continue;
		snprintf(out, size, "%s", e->d_name);
		found = true;
	}
	if (dir)
		closedir(dir);
	return found;
}

/* The disk itself, or one of its partitions, is held. */
static int check_holders(struct probe *p)
{
	char path[512], holder[256];
	struct dirent *e;
	int bad = 0;
	DIR *dir;

	snprintf(path, sizeof(path), SYSFS "/class/block/%s/holders", p->dev.name);
	if (first_entry(path, "", holder, sizeof(holder)))
		return verdict(p, EXPORT_USED, "held by %.60s", holder);
	snprintf(path, sizeof(path), SYSFS "/class/block/%s", p->dev.name);
	dir = opendir(path);
	while (dir && !bad && (e = readdir(dir))) {
		if (strncmp(e->d_name, p->dev.name, strlen(p->dev.name)))
			continue;
		snprintf(path, sizeof(path), SYSFS "/class/block/%s/%s/holders", p->dev.name, e->d_name);
		if (first_entry(path, "", holder, sizeof(holder)))
			bad = verdict(p, EXPORT_USED, "partition %.40s is held by %.40s", e->d_name, holder);
	}
	if (dir)
		closedir(dir);
	return bad;
}

/* True if @path is the disk or one of its partitions. */
static bool part_of(const struct probe *p, const char *path)
{
	char sysfs[200], real[PATH_MAX];
	const char *base;

	if (strncmp(path, "/dev/", 5) || !realpath(path, real))
		return false;
	base = strrchr(real, '/') + 1;
	if (!strcmp(base, p->dev.name))
		return true;
	snprintf(sysfs, sizeof(sysfs), SYSFS "/class/block/%.60s/%.60s", p->dev.name, base);
	return !access(sysfs, F_OK);
}

static int check_mounts(struct probe *p)
{
	char line[4096], path[256];
	struct mntent e;
	int bad = 0;
	FILE *f;

	/* Several disks are probed at once. */
	f = setmntent("/proc/self/mounts", "re");
	while (f && !bad && getmntent_r(f, &e, line, sizeof(line)))
		if (part_of(p, e.mnt_fsname))
			bad = verdict(p, EXPORT_USED, "%.40s is mounted on %.80s", e.mnt_fsname, e.mnt_dir);
	if (f)
		endmntent(f);
	f = bad ? NULL : fopen("/proc/swaps", "re");
	while (f && !bad && fgets(line, sizeof(line), f))
		if (sscanf(line, "%255s", path) == 1 && part_of(p, path))
			bad = verdict(p, EXPORT_USED, "%.80s is swap", path);
	if (f)
		fclose(f);
	return bad;
}

static int check_fit(struct probe *p)
{
	char text[64];
	bool partition = !sys(p, "partition", text, sizeof(text));
	unsigned int bytes;

	/* A partition has the queue of its disk. */
	if (!sys(p, partition ? "../queue/zoned" : "queue/zoned", text, sizeof(text)) && strcmp(text, "none"))
		return verdict(p, EXPORT_UNFIT, "zoned drives are not supported");
	if (!sys(p, "ro", text, sizeof(text)) && atoi(text))
		return verdict(p, EXPORT_UNFIT, "read-only");
	if (p->dev.lba != 512 && p->dev.lba != 4096)
		return verdict(p, EXPORT_UNFIT, "blocks of %u bytes", p->dev.lba);
	if (p->dev.size < SMALLEST)
		return verdict(p, EXPORT_UNFIT, "smaller than 64 MiB");
	if (below_volume(SYSFS, p->dev.name))
		return verdict(p, EXPORT_UNFIT, "it is a volume, or stands on one");
	bytes = strncmp(p->dev.name, "nvme", 4) ? 0 : disk_dev_metadata(p->fd);
	return bytes ? verdict(p, EXPORT_UNFIT, "formatted with %u bytes of metadata a block; use nvme "
			       "format to change that", bytes) : 0;
}

/* libblkid's reads need not be aligned, which O_DIRECT would refuse: by name, not by fd. */
static int signature(const char *path, char *what, size_t size)
{
	blkid_probe pr = blkid_new_probe_from_filename(path);
	const char *type = NULL, *table = NULL;
	int rc;

	what[0] = 0;
	if (!pr)
		return -EIO;
	blkid_probe_enable_superblocks(pr, 1);
	blkid_probe_set_superblocks_flags(pr, BLKID_SUBLKS_TYPE);
	blkid_probe_enable_partitions(pr, 1);
	rc = blkid_do_safeprobe(pr);
	if (rc == -2) {
		snprintf(what, size, "several signatures at once");
	} else if (rc == 0) {
		blkid_probe_lookup_value(pr, "TYPE", &type, NULL);
		blkid_probe_lookup_value(pr, "PTTYPE", &table, NULL);
		if (type)
			snprintf(what, size, "%s", type);
		else if (table)
			snprintf(what, size, "a partition table (%s)", table);
	}
	blkid_free_probe(pr);
	return what[0] ? 1 : rc < 0 ? -EIO : 0;
}

static int check_signature(struct probe *p)
{
	char what[80];
	int rc = signature(p->path, what, sizeof(what));

	if (rc < 0)
		return verdict(p, EXPORT_UNFIT, "cannot be read");
	return rc ? verdict(p, EXPORT_FOREIGN, "carries %s", what) : 0;
}

/* A drive whose label was overwritten appears empty; a record where the first extent began does not. */
static bool lost_label(const struct probe *p)
{
	void *buf __free(free) = aligned_alloc(LAYOUT_PEEK, LAYOUT_PEEK);
	struct layout_head h;

	for (int copy = 0; buf && copy < LAYOUT_COPIES; copy++) {
		if (pread(p->fd, buf, LAYOUT_PEEK, LABEL_AREA + copy * LAYOUT_COPY_BYTES) == LAYOUT_PEEK &&
		    !layout_peek(buf, LAYOUT_PEEK, &h))
			return true;
	}
	return false;
}

static void describe_label(struct probe *p)
{
	const struct label *l = p->label;

	p->out->drive = p->out->disk.drive = l->drive;
	p->out->owner = l->owner;
	p->out->cluster = l->cluster;
	p->out->sequence = l->sequence;
	p->out->generation = l->generation;
	p->out->bare = !l->extents;
	p->out->left = l->flags & LABEL_F_UNEXPORTED;
	verdict(p, muuid_null(&l->cluster) ? EXPORT_STRANGER : EXPORT_LABEL, "drive %s with %u extents",
		muuid_str(&l->drive).s, l->extents);
}

static int check_label(struct probe *p)
{
	struct label_disk on;
	int err, each[2];

	err = label_read(p->fd, p->dev.size, p->label, &on, each);
	if (!err) {
		/* One copy was overwritten: only an administrator knows what is to be kept. */
		if ((each[0] || each[1]) && check_signature(p)) {
			p->out->found = EXPORT_DAMAGED;
			return 1;
		}
		describe_label(p);
		return 1;
	}
	if (err == -EIO)
		return verdict(p, EXPORT_UNFIT, "cannot be read");
	if (err == -EPROTONOSUPPORT)
		return verdict(p, EXPORT_DAMAGED, "carries a meshblk label of another version of meshd");
	if (err == -EUCLEAN && !each[0] && !each[1])
		return verdict(p, EXPORT_DAMAGED, "carries the labels of two drives: a copy of another one was "
			       "written over a part of it");
	if (err != -ENODATA)
		return verdict(p, EXPORT_DAMAGED, "carries a damaged meshblk label");
	return lost_label(p) ? verdict(p, EXPORT_DAMAGED, "was a drive and has lost its label") : 0;
}

/* The kernel may still serve what a meshd before this one exported. */
static bool kernel_serves(const struct probe *p)
{
	struct mesh *m __free(mesh_close) = mesh_open();
	struct meshtgt_drive *all;
	bool serves = false;
	size_t i, n;

	if (!m || meshtgt_drives(m, &all, &n))
		return false;
	for (i = 0; i < n && !serves; i++)
		serves = !strcmp(all[i].path, p->path) && muuid_equal(&all[i].uuid, &p->out->drive);
	meshtgt_drives_free(all, n);
	return serves;
}

/*
 * One rule for what may be exported, the kernel's. What it refuses is not erased by force either; a
 * drive that has a label already is judged when it is taken.
 */
static void check_kernel(struct probe *p)
{
	char why[200];
	int err;

	if (p->out->found != EXPORT_EMPTY && p->out->found != EXPORT_FOREIGN)
		return;
	err = disk_kernel_check(p->path, NULL, why, sizeof(why));
	if (err && err != -ENOPKG && err != -ENOMEM && err != -ENOENT)
		verdict(p, EXPORT_UNFIT, "%s", why);
}

static void check_free(struct probe *p)
{
	struct disk_dev dev;
	int fd = disk_dev_open(p->path, O_RDONLY | O_EXCL, &dev);

	if (fd >= 0) {
		close(fd);
		check_kernel(p);
	} else if (p->out->found == EXPORT_LABEL && p->label->flags & LABEL_F_LOCAL) {
		;	/* by a volume of this host's */
	} else if (!kernel_serves(p)) {
		verdict(p, EXPORT_USED, "another program or driver holds it");
	}
}

void disk_identify(const char *name, struct obj_disk *out)
{
	const char *at = SYSFS "/class/block";
	char number[16], text[120];
	bool part = !read_line(number, sizeof(number), "%s/%s/partition", at, name);
	const char *up = part ? "../" : "";

	if (read_line(out->model, sizeof(out->model), "%s/%s/%sdevice/model", at, name, up))
		out->model[0] = 0;
	out->serial[0] = out->wwid[0] = 0;
	if (!read_line(text, sizeof(text), "%s/%s/%sdevice/serial", at, name, up))
		snprintf(out->serial, sizeof(out->serial), "%.40s%s%.8s", text, part ? "-part" : "",
			 part ? number : "");
	/* A device mapper's name for what it maps outlives the number of its node. */
	if (!part && (!read_line(text, sizeof(text), "%s/%s/dm/uuid", at, name) ||
		      !read_line(text, sizeof(text), "%s/%s/dm/name", at, name)))
		snprintf(out->wwid, sizeof(out->wwid), "dm:%s", text);
	else if (!read_line(text, sizeof(text), "%s/%s/%swwid", at, name, up) ||
		 !read_line(text, sizeof(text), "%s/%s/%sdevice/wwid", at, name, up))
		snprintf(out->wwid, sizeof(out->wwid), "%s%s%.8s", text, part ? "-part" : "", part ? number : "");
}

static void look(struct probe *p)
{
	char what[80];

	if (check_fit(p) || check_holders(p) || check_mounts(p))
		return;
	if (!check_label(p))
		check_signature(p);
	check_free(p);
	p->out->network = below_network(SYSFS, p->dev.name, what, sizeof(what));
	if (p->out->network && p->out->found == EXPORT_EMPTY)
		snprintf(p->out->what, sizeof(p->out->what),
			 "is on a network (%s): its writes may outlive this host", what);
}

int disk_probe(const char *path, struct export_disk *out)
{
	struct label *label __free(free) = malloc(sizeof(*label));
	struct probe p = { .out = out, .label = label };
	char real[PATH_MAX];

	memset(out, 0, sizeof(*out));
	out->found = EXPORT_UNFIT;
	snprintf(out->disk.path, sizeof(out->disk.path), "%s", path);
	snprintf(out->what, sizeof(out->what), "cannot be opened");
	if (!label)
		return -ENOMEM;
	if (!realpath(path, real))
		return -errno;
	p.path = real;
	p.fd = disk_dev_open(real, O_RDONLY, &p.dev);
	if (p.fd < 0) {
		snprintf(out->what, sizeof(out->what), "cannot be opened: %s", strerror(-p.fd));
		return p.fd;
	}
	snprintf(out->disk.path, sizeof(out->disk.path), "%.*s", OBJ_PATH - 1, real);
	out->disk.size = p.dev.size;
	out->disk.lba = p.dev.lba;
	out->number = p.dev.number;
	out->found = EXPORT_EMPTY;
	out->what[0] = 0;
	disk_identify(p.dev.name, &out->disk);
	look(&p);
	close(p.fd);
	out->disk.exportable = out->found == EXPORT_EMPTY && !out->network;
	if (!out->disk.exportable)
		snprintf(out->disk.why, sizeof(out->disk.why), "%s", out->what);
	return 0;
}

bool disk_stacked(const char *path)
{
	const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
	char folder[160], text[256];

	snprintf(folder, sizeof(folder), SYSFS "/class/block/%.60s/slaves", name);
	if (!first_entry(folder, "", text, sizeof(text)))
		return false;
	return read_line(text, sizeof(text), SYSFS "/class/block/%.60s/dm/uuid", name) ||
	       strncmp(text, "mpath-", 6);
}

/* Not probed without a command: what is no disk, or is in use by something above, as paths are by their map. */
static bool passed_over(const char *name)
{
	static const char *const skip[] = { "mesh", "zram", "ram", "sr", "fd", "loop" };
	char folder[160], text[256];

	for (size_t i = 0; i < sizeof(skip) / sizeof(*skip); i++)
		if (!strncmp(name, skip[i], strlen(skip[i])))
			return true;
	if (name[0] == '.' || read_line(text, sizeof(text), SYSFS "/class/block/%.60s/size", name) || !atoll(text))
		return true;
	if (!read_line(text, sizeof(text), SYSFS "/class/block/%.60s/hidden", name) && atoi(text))
		return true;
	snprintf(folder, sizeof(folder), SYSFS "/class/block/%.60s/holders", name);
	return first_entry(folder, "", text, sizeof(text));
}

/* Maps are last: a machine may have more logical volumes than the store takes disks of it. */
static int by_name(const void *a, const void *b)
{
	const char *x = *(char *const *)a, *y = *(char *const *)b;
	bool map_x = !strncmp(x, "/dev/dm-", 8), map_y = !strncmp(y, "/dev/dm-", 8);

	return map_x != map_y ? map_x - map_y : strverscmp(x, y);
}

char **disk_paths(size_t *n)
{
	DIR *dir = opendir(SYSFS "/class/block");
	char **out = NULL, **at, *name;
	struct dirent *e;

	*n = 0;
	while (dir && (e = readdir(dir))) {
		if (passed_over(e->d_name))
			continue;
		at = asprintf(&name, "/dev/%s", e->d_name) < 0 ? NULL : mesh_grow((void **)&out, n, sizeof(*at));
		if (!at)
			break;
		*at = name;
	}
	if (dir)
		closedir(dir);
	if (out)
		qsort(out, *n, sizeof(*out), by_name);
	return out;
}
