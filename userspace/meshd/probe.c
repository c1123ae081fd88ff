// SPDX-License-Identifier: GPL-2.0-only
/* What a block device is, and why it must not be exported. */
#include <blkid/blkid.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libnvme.h>
#include <limits.h>
#include <linux/fs.h>
#include <mntent.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "userspace/format/layout.h"
#include "userspace/machine/below.h"
#include "userspace/machine/line.h"
#include "userspace/meshd/export.h"
#include "userspace/meshd/local.h"

#define SMALLEST	(64ULL << 20)

static const char *const words[] = {
	[PROBE_OK] = "exportable",
	[PROBE_EXPORTED] = "exported",
	[PROBE_OURS] = "exportable",
	[PROBE_THEIRS] = "refused",
	[PROBE_USED] = "refused",
	[PROBE_FOREIGN] = "refused",
	[PROBE_DAMAGED] = "refused",
	[PROBE_NETWORK] = "refused",
	[PROBE_UNFIT] = "refused",
};

const char *probe_word(enum probe_verdict v)
{
	return words[v];
}

static int verdict(struct probe *p, enum probe_verdict v, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static int verdict(struct probe *p, enum probe_verdict v, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(p->why, sizeof(p->why), fmt, ap);
	va_end(ap);
	p->verdict = v;
	return 1;
}

static int sys(const struct probe *p, const char *file, char *out, size_t size)
{
	return read_line(out, size, "/sys/class/block/%s/%s", p->name, file);
}

/* Whether the disk itself or one of its partitions is held, and by what. */
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

/* A partition that is a local drive, which nothing holds while its volume is detached and meshd starts. */
static bool is_drive(const char *name)
{
	char path[300];
	struct tdrive *d;

	snprintf(path, sizeof(path), "/dev/%.255s", name);
	d = tdrive_by_path(path);
	tdrive_put(d);
	return d;
}

static int check_holders(struct probe *p)
{
	char path[512], holder[256];
	DIR *dir;
	struct dirent *e;
	int bad = 0;

	snprintf(path, sizeof(path), "/sys/class/block/%s/holders", p->name);
	if (first_entry(path, "", holder, sizeof(holder)))
		return verdict(p, PROBE_USED, "held by %.60s", holder);
	snprintf(path, sizeof(path), "/sys/class/block/%s", p->name);
	dir = opendir(path);
	while (dir && !bad && (e = readdir(dir))) {
		if (strncmp(e->d_name, p->name, strlen(p->name)))
			continue;
		snprintf(path, sizeof(path), "/sys/class/block/%s/%s/holders", p->name, e->d_name);
		if (first_entry(path, "", holder, sizeof(holder)))
			bad = verdict(p, PROBE_USED, "partition %.40s is held by %.40s",
				      e->d_name, holder);
		else if (is_drive(e->d_name))
			bad = verdict(p, PROBE_USED, "its partition %.40s is a local drive", e->d_name);
	}
	if (dir)
		closedir(dir);
	return bad;
}

/* Whether @path is the disk or one of its partitions. */
static bool part_of(const struct probe *p, const char *path)
{
	char sysfs[160];
	const char *base = strrchr(path, '/');
	char real[PATH_MAX];

	if (strncmp(path, "/dev/", 5) || !realpath(path, real))
		return false;
	base = strrchr(real, '/') + 1;
	if (!strcmp(base, p->name))
		return true;
	snprintf(sysfs, sizeof(sysfs), "/sys/class/block/%.60s/%.60s", p->name, base);
	return !access(sysfs, F_OK);
}

static int check_mounts(struct probe *p)
{
	char line[512], path[256];
	struct mntent *e;
	int bad = 0;
	FILE *f;

	f = setmntent("/proc/self/mounts", "re");
	while (f && !bad && (e = getmntent(f)))
		if (part_of(p, e->mnt_fsname))
			bad = verdict(p, PROBE_USED, "%.40s is mounted on %.80s", e->mnt_fsname,
				      e->mnt_dir);
	if (f)
		endmntent(f);
	f = bad ? NULL : fopen("/proc/swaps", "re");
	while (f && !bad && fgets(line, sizeof(line), f))
		if (sscanf(line, "%255s", path) == 1 && part_of(p, path))
			bad = verdict(p, PROBE_USED, "%.80s is swap", path);
	if (f)
		fclose(f);
	return bad;
}

static int check_fit(struct probe *p, int fd)
{
	char text[64];
	struct nvme_id_ns *ns = NULL;
	u32 nsid;
	int err;

	if (!sys(p, "partition", text, sizeof(text)))
		p->partition = true;
	/* a partition has the queue of its disk */
	if (!sys(p, p->partition ? "../queue/zoned" : "queue/zoned", text, sizeof(text)) &&
	    strcmp(text, "none"))
		return verdict(p, PROBE_UNFIT, "zoned drives are not supported");
	if (!sys(p, "ro", text, sizeof(text)) && atoi(text))
		return verdict(p, PROBE_UNFIT, "read-only");
	if (p->lba != 512 && p->lba != 4096)
		return verdict(p, PROBE_UNFIT, "blocks of %u bytes", p->lba);
	if (p->size < SMALLEST)
		return verdict(p, PROBE_UNFIT, "smaller than 64 MiB");
	if (p->nvme && !nvme_get_nsid(fd, &nsid))
		ns = aligned_alloc(4096, sizeof(*ns));
	if (!ns)
		return 0;
	err = nvme_identify_ns(fd, nsid, ns);
	err = err ? 0 : le16toh(ns->lbaf[ns->flbas & 15].ms);
	free(ns);
	return err ? verdict(p, PROBE_UNFIT, "formatted with %d bytes of metadata a block; "
			     "use nvme format to change that", err) : 0;
}

static void describe_label(struct probe *p)
{
	const struct label *l = p->label;
	char owner[MUUID_TEXT], size[64] = "";
	bool mine = muuid_equal(&l->owner, &D.host);

	p->drive = l->drive;
	p->owner = l->owner;
	p->extents = l->extents;
	muuid_text(&l->owner, owner);
	if (l->size != p->size)
		snprintf(size, sizeof(size), ", made for %llu bytes, not %llu",
			 (unsigned long long)l->size, (unsigned long long)p->size);
	verdict(p, mine ? PROBE_OURS : PROBE_THEIRS, "drive %s with %u extents%s%s%s%s",
		muuid_str(&l->drive).s, l->extents, mine ? "" : ", exported last by host ", mine ? "" : owner,
		l->flags & LABEL_F_UNEXPORTED || unexported_noted(&l->drive) ? ", unexported" : "", size);
}

/*
 * A drive of ours whose label was overwritten appears empty: whether there is a layout
 * record where the first extent begins, or this device was exported with extents.
 */
static bool lost_label(struct probe *p, int fd)
{
	void *buf __free(free) = aligned_alloc(LAYOUT_PEEK, LAYOUT_PEEK);
	struct muuid *was __free(free) = NULL;
	struct layout_head h;
	size_t i, n;
	int copy;

	if (!buf)
		return false;
	for (copy = 0; copy < LAYOUT_COPIES; copy++)
		if (pread(fd, buf, LAYOUT_PEEK, LABEL_AREA + copy * LAYOUT_COPY_BYTES) ==
		    LAYOUT_PEEK && !layout_peek(buf, LAYOUT_PEEK, &h))
			return true;
	was = backup_list_of(&p->id, &n);
	for (i = 0; i < n; i++)
		if (!backup_read(&was[i], p->label) && p->label->extents)
			return true;
	return false;
}

static int check_signature(struct probe *p);

static int check_label(struct probe *p, int fd)
{
	char what[80];
	int err;

	p->label = malloc(sizeof(*p->label));
	if (!p->label)
		return verdict(p, PROBE_UNFIT, "out of memory");
	err = label_read(fd, p->size, p->label, &p->disk, p->each);
	if (!err) {
		/* One copy was overwritten: only the administrator knows what is to be kept. */
		if ((!p->each[0] && !p->each[1]) || !check_signature(p)) {
			describe_label(p);
			return 1;
		}
		probe_clear(p);
		snprintf(what, sizeof(what), "%.79s", p->why);
		if (p->verdict == PROBE_FOREIGN)
			verdict(p, PROBE_DAMAGED, "%s over one copy of its meshblk label (without that, see "
				"wipefs, the other copy counts)", what);
		return 1;
	}
	if (err == -ENODATA && lost_label(p, fd))
		err = -ENOKEY;
	probe_clear(p);
	if (err == -ENOKEY)
		verdict(p, PROBE_DAMAGED, "was exported and has lost its label (meshctl drive "
			"restore-label %.40s --dry-run)", p->path);
	else if (err == -EPROTONOSUPPORT)
		verdict(p, PROBE_DAMAGED, "carries a meshblk label of another version of meshd");
	else if (err == -EIO)
		verdict(p, PROBE_UNFIT, "cannot be read");
	else if (err == -EUCLEAN && !p->each[0] && !p->each[1])
		verdict(p, PROBE_DAMAGED, "carries the labels of two drives: a copy of another one was "
			"written over a part of it (meshctl drive restore-label %.40s --dry-run)", p->path);
	else if (err != -ENODATA)
		verdict(p, PROBE_DAMAGED, "carries a damaged meshblk label (meshctl drive "
			"restore-label %.40s --dry-run)", p->path);
	return err != -ENODATA;
}

void probe_clear(struct probe *p)
{
	free(p->label);
	p->label = NULL;
}

/* libblkid's reads need not be aligned, which O_DIRECT would refuse: by name, not by fd. */
int probe_signature(const char *path, char *what, size_t size)
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
	int rc = probe_signature(p->path, what, sizeof(what));

	if (rc < 0)
		verdict(p, PROBE_UNFIT, "cannot be read");
	else if (rc)
		verdict(p, PROBE_FOREIGN, "carries %s", what);
	return p->verdict != PROBE_OK;
}

/*
 * A drive that is itself on a network outlives this host: what was sent to it
 * before a crash may land after the next host was given its extents.
 */
static void check_network(struct probe *p)
{
	if (p->network[0])
		verdict(p, PROBE_NETWORK, "is on a network (%s): its writes may outlive this host",
			p->network);
}

/* Its disk's, and which part of it. */
static bool identify_partition(struct probe *p)
{
	struct twin_id *id = &p->id;
	char number[16], text[80];

	if (sys(p, "partition", number, sizeof(number)))
		return false;
	if (!sys(p, "../wwid", text, sizeof(text)) || !sys(p, "../device/wwid", text, sizeof(text)))
		snprintf(id->wwid, sizeof(id->wwid), "%.79s-part%.8s", text, number);
	if (!sys(p, "../device/serial", text, sizeof(text)))
		snprintf(id->serial, sizeof(id->serial), "%.40s-part%.8s", text, number);
	if (sys(p, "../device/model", id->model, sizeof(id->model)))
		strcpy(id->model, "");
	return true;
}

/* A device mapper's name for what it maps outlives the number of its node. */
static void identify(struct probe *p)
{
	struct twin_id *id = &p->id;
	char text[120];

	if (identify_partition(p))
		return;
	if (sys(p, "device/model", id->model, sizeof(id->model)))
		strcpy(id->model, "");
	if (sys(p, "device/serial", id->serial, sizeof(id->serial)))
		strcpy(id->serial, "");
	if (!sys(p, "dm/uuid", text, sizeof(text)) || !sys(p, "dm/name", text, sizeof(text)))
		snprintf(id->wwid, sizeof(id->wwid), "dm:%s", text);
	else if (sys(p, "wwid", id->wwid, sizeof(id->wwid)) &&
		 sys(p, "device/wwid", id->wwid, sizeof(id->wwid)))
		strcpy(id->wwid, "");
}

/* The kernel numbers every disk it sees: a name may be another one's by now. */
static u64 number_of(int fd)
{
	u64 seq = 0;

	return ioctl(fd, BLKGETDISKSEQ, &seq) ? 0 : seq;
}

bool probe_same_disk(const struct probe *p, int fd)
{
	return number_of(fd) == p->diskseq;
}

static void describe(struct probe *p, int fd)
{
	unsigned int lba = 0;

	p->diskseq = number_of(fd);
	if (ioctl(fd, BLKGETSIZE64, &p->size))
		p->size = 0;
	if (!ioctl(fd, BLKSSZGET, &lba))
		p->lba = lba;
	p->nvme = !strncmp(p->name, "nvme", 4);
	identify(p);
	below_network(SYSFS, p->name, p->network, sizeof(p->network));
}

/* Our own kernel may still hold what a meshd before this one exported; @as: the drive it is there. */
static bool exported_by_kernel(const struct probe *p, struct muuid *as)
{
	struct mesh *m __free(mesh_close) = mesh_open();
	struct meshtgt_drive *all;
	bool exported = false;
	size_t i, n;

	if (!m || meshtgt_drives(m, &all, &n))
		return false;
	for (i = 0; i < n && !exported; i++) {
		exported = !strcmp(all[i].path, p->path);
		*as = all[i].uuid;
	}
	meshtgt_drives_free(all, n);
	return exported;
}

/* One rule for what may be exported, the kernel's. A local drive is not exported. */
static void check_kernel(struct probe *p)
{
	char why[sizeof(p->unserved)];
	int err;

	if (p->partition || (p->label && p->label->flags & LABEL_F_LOCAL))
		return;
	err = kernel_check(p->path, why, sizeof(why));
	if (err && err != -ENOPKG && err != -ENOMEM)
		snprintf(p->unserved, sizeof(p->unserved), "%s", why);
}

static void check_free(struct probe *p)
{
	int fd = open(p->path, O_RDONLY | O_EXCL | O_CLOEXEC);
	struct muuid as;

	if (fd >= 0) {
		close(fd);
		check_kernel(p);
	} else if (p->label && p->label->flags & LABEL_F_LOCAL && local_held(p->path, &p->drive)) {
		;	/* by a volume of this host's */
	} else if (!exported_by_kernel(p, &as)) {
		verdict(p, PROBE_USED, "another program or driver holds it");
	} else if (!p->label || !muuid_equal(&as, &p->drive)) {
		verdict(p, PROBE_USED, "this host's kernel serves it, and its label does not say so: end that "
			"use first (meshctl drive unexport %.40s)", p->path);
	}
}

int probe_device(const char *path, struct probe *p)
{
	char real[PATH_MAX];
	struct tdrive *exported;
	struct stat st;
	int fd;

	memset(p, 0, sizeof(*p));
	/* Named also when nothing more is found out about it. */
	snprintf(p->path, sizeof(p->path), "%.79s", path);
	if (!realpath(path, real))
		return -errno;
	snprintf(p->path, sizeof(p->path), "%.79s", real);
	if (stat(real, &st))
		return -errno;
	if (!S_ISBLK(st.st_mode))
		return -ENOTBLK;
	/* Without udev a node is called otherwise than its device: /dev/mapper/NAME. */
	if (!below_name(SYSFS, st.st_rdev, p->name, sizeof(p->name)))
		snprintf(p->name, sizeof(p->name), "%.63s", strrchr(real, '/') + 1);
	fd = open(real, O_RDONLY | O_DIRECT | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	describe(p, fd);
	exported = tdrive_by_path(real);
	if (exported) {
		p->drive = exported->uuid;
		verdict(p, PROBE_EXPORTED, "exported by this host");
		tdrive_put(exported);
	} else if (!check_fit(p, fd) && !check_holders(p) && !check_mounts(p)) {
		if (!check_label(p, fd) && !check_signature(p))
			check_network(p);
		check_free(p);
	}
	close(fd);
	if (p->verdict != PROBE_OURS && p->verdict != PROBE_THEIRS)
		probe_clear(p);
	return 0;
}

/* Whether it stands on other disks; the map of several paths to one drive does so in their place. */
static bool stacked(const char *name)
{
	char folder[160], text[256];

	snprintf(folder, sizeof(folder), "/sys/class/block/%.60s/slaves", name);
	if (!first_entry(folder, "", text, sizeof(text)))
		return false;
	return read_line(text, sizeof(text), "/sys/class/block/%.60s/dm/uuid", name) ||
	       strncmp(text, "mpath-", 6);
}

/*
 * Not probed without a command: what stands on other disks (dm, md) is reached through
 * them, and may stand on a volume of ours; what something stands on is in use.
 */
bool probe_passed_over(const char *path)
{
	const char *name = strrchr(path, '/') + 1;
	char folder[160], text[256];

	snprintf(folder, sizeof(folder), "/sys/class/block/%.60s/holders", name);
	return first_entry(folder, "", text, sizeof(text)) || stacked(name);
}

void probe_wwid_of(const char *path, struct twin_id *id)
{
	struct probe p = { 0 };

	snprintf(p.name, sizeof(p.name), "%.63s", strrchr(path, '/') + 1);
	identify(&p);
	*id = p.id;
}

bool probe_labelled(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECT | O_CLOEXEC), copy;
	bool found = false;
	u64 size = 0;
	void *buf;

	if (fd < 0)
		return false;
	buf = aligned_alloc(4096, 4096);
	if (buf && !ioctl(fd, BLKGETSIZE64, &size) && size >= SMALLEST)
		for (copy = 0; copy < 2 && !found; copy++)
			found = pread(fd, buf, 4096, copy ? size - LABEL_AREA : 0) == 4096 &&
				label_magic(buf, 4096);
	free(buf);
	close(fd);
	return found;
}

static int by_name(const void *a, const void *b)
{
	return strverscmp(*(char *const *)a, *(char *const *)b);
}

/* Take over a name that asprintf() made; false: there is no memory. */
static bool list_add(char ***out, size_t *n, char *name)
{
	char **grown = name ? realloc(*out, (*n + 1) * sizeof(*grown)) : NULL;

	if (!grown) {
		free(name);
		return false;
	}
	*out = grown;
	grown[(*n)++] = name;
	return true;
}

static bool add_partitions(char ***out, size_t *n, const char *disk)
{
	char path[300], text[32], *name;
	struct dirent *e;
	bool good = true;
	DIR *dir;

	snprintf(path, sizeof(path), "/sys/block/%.200s", disk);
	dir = opendir(path);
	while (good && dir && (e = readdir(dir))) {
		if (strncmp(e->d_name, disk, strlen(disk)) ||
		    read_line(text, sizeof(text), "/sys/block/%s/%s/partition", disk, e->d_name))
			continue;
		good = asprintf(&name, "/dev/%s", e->d_name) > 0 && list_add(out, n, name);
	}
	if (dir)
		closedir(dir);
	return good;
}

static bool searched(const char *name)
{
	static const char *const skip[] = { "mesh", "zram", "sr", "fd", "loop" };
	size_t i;

	for (i = 0; i < sizeof(skip) / sizeof(*skip); i++)
		if (!strncmp(name, skip[i], strlen(skip[i])))
			return false;
	return name[0] != '.';
}

/* What is stacked is found again by what was noted of the device, where that says which one it is. */
static bool nameless(const char *path)
{
	struct twin_id id;

	probe_wwid_of(path, &id);
	return !id.wwid[0] && !id.serial[0];
}

bool probe_searched(const char *path, char *why, size_t size)
{
	const char *name = strrchr(path, '/') + 1;

	if (below_volume(SYSFS, name))
		snprintf(why, size, "it is a volume, or stands on one");
	else if (!searched(name))
		snprintf(why, size, "devices of its kind are not searched for drives: it would not be found again");
	else if (stacked(name) && nameless(path))
		snprintf(why, size, "it stands on other devices, and has neither UUID nor serial number (md): it would "
			 "not be found again; name what it stands on");
	else
		return true;
	return false;
}

char **probe_list(size_t *n, bool partitions)
{
	DIR *dir = opendir("/sys/block");
	char **out = NULL, *name, text[32];
	struct dirent *e;

	*n = 0;
	while (dir && (e = readdir(dir))) {
		if (!searched(e->d_name))
			continue;
		if (read_line(text, sizeof(text), "/sys/block/%s/size", e->d_name) || !atoll(text))
			continue;
		if (!read_line(text, sizeof(text), "/sys/block/%s/hidden", e->d_name) && atoi(text))
			continue;
		if (asprintf(&name, "/dev/%s", e->d_name) < 0 || !list_add(&out, n, name) ||
		    (partitions && !add_partitions(&out, n, e->d_name)))
			break;
	}
	if (dir)
		closedir(dir);
	if (out)
		qsort(out, *n, sizeof(*out), by_name);
	return out;
}
