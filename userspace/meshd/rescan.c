// SPDX-License-Identifier: GPL-2.0-only
/*
 * Drives that come, go, and claim to be one another. Every disk with our label is
 * taken up by itself, unless several devices carry one label: then the one that
 * is being served goes on, else the one that was served last; else the
 * administrator has to decide.
 */
#include <errno.h>
#include <libudev.h>
#include <linux/fs.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "userspace/machine/line.h"
#include "userspace/meshd/fan.h"
#include "userspace/meshd/export.h"
#include "userspace/meshd/local.h"

#define STOP_MS		2000
#define BURST_MS	300
#define LEFT_MS		3000	/* between checks of what the kernel alone serves */

static int wake_fd = -1;
static bool left_served;		/* this file's thread's: the kernel serves what no struct tdrive has */

/* A device with our label that is not served; found by the last scan. */
struct refused {
	struct muuid drive;
	char	path[80];
	char	why[240];
	const char *state;	/* in lists of drives; NULL: another device is served in its place */
	u64	size;
	u32	lba;
	u32	extents;
	struct twin_id id;
};

static struct {
	pthread_mutex_t lock;
	struct refused *all;
	size_t	n;
} refused = { .lock = PTHREAD_MUTEX_INITIALIZER };

const char *export_twin_why(const char *path, char *why, size_t size)
{
	size_t i;

	guard(&refused.lock);
	for (i = 0; i < refused.n; i++) {
		if (strcmp(refused.all[i].path, path))
			continue;
		snprintf(why, size, "%s", refused.all[i].why);
		return refused.all[i].state ? refused.all[i].state : "twice";
	}
	return NULL;
}

void export_twins(json_t *list)
{
	struct mgmt_drive m;
	size_t i;

	guard(&refused.lock);
	for (i = 0; i < refused.n; i++) {
		const struct refused *t = &refused.all[i];

		if (!t->state)
			continue;
		m = (struct mgmt_drive) { .uuid = t->drive, .size = t->size, .lba = t->lba,
					  .extents = t->extents };
		snprintf(m.state, sizeof(m.state), "%s", t->state);
		snprintf(m.path, sizeof(m.path), "%s", t->path);
		snprintf(m.model, sizeof(m.model), "%s", t->id.model);
		snprintf(m.serial, sizeof(m.serial), "%s", t->id.serial);
		json_array_append_new(list, mgmt_drive_pack(&m));
	}
}

/* What a scan finds, before it replaces what the last one found. */
struct finds {
	struct refused *all;
	size_t	n;
};

static void refuse(struct finds *f, const struct probe *p, const char *state, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

static void refuse(struct finds *f, const struct probe *p, const char *state, const char *fmt, ...)
{
	struct refused *t = mesh_grow((void **)&f->all, &f->n, sizeof(*t));
	char was[240];
	va_list ap;

	if (!t)
		return;
	*t = (struct refused) { .drive = p->drive, .state = state, .size = p->size,
				.lba = p->lba, .extents = p->extents, .id = p->id };
	snprintf(t->path, sizeof(t->path), "%s", p->path);
	va_start(ap, fmt);
	vsnprintf(t->why, sizeof(t->why), fmt, ap);
	va_end(ap);
	if (!export_twin_why(p->path, was, sizeof(was)) || strcmp(was, t->why))
		log_error("%s: not served: %s", t->path, t->why);
}

static void finds_use(struct finds *f)
{
	guard(&refused.lock);
	free(refused.all);
	refused.all = f->all;
	refused.n = f->n;
}

/* Of a drive that is served: which device claims to be it, too. */
static void mark_twin(struct tdrive *d, const char *path)
{
	guard(&d->lock);
	snprintf(d->twin, sizeof(d->twin), "%s", path);
}

/* On a partition a label of a drive that is exported is part of a copy. */
static bool may_be_taken(const struct probe *p)
{
	return p && !p->err && p->verdict == PROBE_OURS && p->label &&
	       (!p->partition || p->label->flags & LABEL_F_LOCAL) &&
	       !(p->label->flags & LABEL_F_UNEXPORTED) && !unexported_noted(&p->label->drive);
}

static bool kernel_serves(const struct meshtgt_drive *k, size_t n, const struct probe *p)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (muuid_equal(&k[i].uuid, &p->drive) && !strcmp(k[i].path, p->path) &&
		    strcmp(k[i].state, MESHBLK_STATE_GONE))
			return true;
	return local_held(p->path, &p->drive);
}

/* Return: whether the administrator has to decide. */
static bool take_one(struct finds *f, struct probe *p)
{
	static const struct take_how by_itself = { .by_hand = false };
	u64 newer = backup_newer(p->label);
	struct tdrive *d = NULL;
	int err;

	if (newer) {
		refuse(f, p, "refused", "its label has sequence %llu, but %llu was written to it: an older "
		       "state of it was put back; 'meshctl drive export %s --as-is' if that is wanted",
		       (unsigned long long)p->label->sequence, (unsigned long long)newer, p->path);
		return true;
	}
	if (!export_cluster_ok(p->label)) {
		refuse(f, p, "refused", "it belongs to another cluster than this host's key: set the right key "
		       "(meshctl host key set), or 'meshctl drive export %s --take-over'", p->path);
		return true;
	}
	if (p->label->size != p->size) {
		refuse(f, p, "refused", "it has %llu bytes, its label says %llu: a copy of another drive, or "
		       "grown; 'meshctl drive export %s --as-is' if it is the drive itself",
		       (unsigned long long)p->size, (unsigned long long)p->label->size, p->path);
		return true;
	}
	err = take_up(p, &by_itself, &d);
	if (err && err != -ETIMEDOUT)
		log_error("%s: not taken up: %s", p->path, strerror(-err));
	tdrive_put(d);
	return false;
}

/* It is unknown which one it is: serving the wrong one gives stale data to volumes. */
static void refuse_all(struct finds *f, struct probe **p, size_t n, bool noted)
{
	size_t i;

	for (i = 0; i < n; i++) {
		if (n == 1)
			refuse(f, p[i], "twice", "its label was served from another device last: a copy lacks what "
			       "was written since; of a mirror, raid10 or ec volume replace instead; 'meshctl drive "
			       "export %s --as-is' if it was copied out of use", p[i]->path);
		else
			refuse(f, p[i], "twice", "same label as %s%s; unplug the copy, or decide with "
			       "'meshctl drive export %s'", p[i ? 0 : 1]->path, noted ?
			       ", and neither alone is the device of last time" : "", p[i]->path);
	}
}

/*
 * Beside the one that was picked, @d if it is served. One that is refused may be older
 * than these, and one that could not be taken up may be broken: they are no mere copies.
 */
static void refuse_others(struct finds *f, struct probe **p, size_t n, int pick, struct tdrive *d,
			  bool left)
{
	size_t i;

	for (i = 0; i < n; i++) {
		if ((int)i == pick)
			continue;
		if (d)
			refuse(f, p[i], NULL, "same label as %s, which is served; unplug this one, or "
			       "wipe a copy's first and last MiB (dd)", d->path);
		else
			refuse(f, p[i], "twice", "same label as %s, which %s; decide with "
			       "'meshctl drive export %s'", p[pick]->path,
			       left ? "is refused" : "is not served yet", p[i]->path);
		if (d)
			mark_twin(d, p[i]->path);
	}
}

/* All the devices that carry the label of one drive. */
static void decide(struct finds *f, struct probe **p, size_t n, const struct meshtgt_drive *k,
		   size_t drives)
{
	struct tdrive *d = tdrive_find(&p[0]->drive);
	struct twin *t = d && tdrive_is(d, &d->ending) ? NULL : calloc(n, sizeof(*t));
	struct twin_id noted;
	bool known = !device_noted(&p[0]->drive, &noted), left = false;
	int pick = -1;
	size_t i;

	/* Another scan starts when the one before has ended. */
	if (!t) {
		tdrive_put(d);
		return;
	}
	for (i = 0; i < n; i++) {
		t[i].id = p[i]->id;
		t[i].served = kernel_serves(k, drives, p[i]);
	}
	if (!d) {
		pick = twin_pick(t, n, known ? &noted : NULL);
		if (pick < 0)
			refuse_all(f, p, n, known);
		else
			left = take_one(f, p[pick]);
		d = pick < 0 ? NULL : tdrive_find(&p[0]->drive);
	}
	if (d || pick >= 0)
		refuse_others(f, p, n, pick, d, left);
	tdrive_put(d);
	free(t);
}

static void clear_twins(void)
{
	struct tdrive **all __free(free) = NULL;
	size_t i, n;

	all = tdrives_all(&n);
	for (i = 0; all && i < n; i++) {
		mark_twin(all[i], "");
		tdrive_put(all[i]);
	}
}

static int by_drive(const void *a, const void *b)
{
	const struct probe *p = *(struct probe *const *)a, *q = *(struct probe *const *)b;
	int c = muuid_cmp(&p->drive, &q->drive);

	return c ? c : strverscmp(p->path, q->path);
}

static void decide_all(struct probe **p, size_t n)
{
	struct mesh *m __free(mesh_close) = mesh_open();
	struct meshtgt_drive *k = NULL;
	struct finds f = { NULL, 0 };
	size_t i, j, drives = 0;

	if (m && meshtgt_drives(m, &k, &drives))
		drives = 0;
	clear_twins();
	qsort(p, n, sizeof(*p), by_drive);
	for (i = 0; i < n; i = j) {
		for (j = i + 1; j < n && muuid_equal(&p[i]->drive, &p[j]->drive); j++)
			;
		decide(&f, p + i, j - i, k, drives);
	}
	finds_use(&f);
	if (drives)
		meshtgt_drives_free(k, drives);
}

/* A drive that was stacked and exported by command is taken up again as it was. */
static bool was_exported(const char *path)
{
	struct twin_id is;
	size_t n;

	probe_wwid_of(path, &is);
	free(backup_list_of(&is, &n));
	return n;
}

static bool exported(const char *path)
{
	struct tdrive *d = tdrive_by_path(path);

	tdrive_put(d);
	return d;
}

/*
 * A name may be another drive's by now: the kernel numbers every disk it sees. What cannot
 * be found out, without a descriptor or memory to do it, is no reason to end I/O.
 */
bool export_there(struct tdrive *d)
{
	const char *name = strrchr(d->path, '/') + 1;
	char text[32];
	u64 seq = 0;
	int err;

	err = read_line(text, sizeof(text), "/sys/class/block/%s/diskseq", name);
	if (err == -ENOENT)	/* a partition has that of its disk */
		err = read_line(text, sizeof(text), "/sys/class/block/%s/../diskseq", name);
	if (err)
		return err != -ENOENT;
	return ioctl(d->fd, BLKGETDISKSEQ, &seq) || seq == strtoull(text, NULL, 10);
}

static void *stop_work(void *item)
{
	tdrive_stop(item, true);
	return NULL;
}

static void stop_drop(void *item)
{
	tdrive_put(item);
}

/*
 * The kernel waits for each to complete what it has in flight; one that does not is
 * left to its thread. With all the references, which are taken over.
 */
static void stop_gone(struct tdrive **d, size_t n, unsigned int ms)
{
	static const struct fan f = { .work = stop_work, .drop = stop_drop };
	void **none __free(free) = calloc(n + 1, sizeof(*none));
	size_t i;

	for (i = 0; i < n; i++)
		if (none)
			log_warn("%s: the drive is gone", d[i]->path);
		else
			tdrive_put(d[i]);
	if (none && n)
		fan_run(&f, (void **)d, n, ms, none);
}

static void drop_gone(void)
{
	struct tdrive **all __free(free) = NULL;
	size_t i, n, k = 0;

	all = tdrives_all(&n);
	for (i = 0; all && i < n; i++) {
		if (!tdrive_is(all[i], &all[i]->ending) && !export_there(all[i]))
			all[k++] = all[i];
		else
			tdrive_put(all[i]);
	}
	if (all)
		stop_gone(all, k, STOP_MS);
}

/* The disks to check: neither served already nor below something else. */
static size_t candidates(char **all, size_t n)
{
	size_t i, k = 0;

	for (i = 0; i < n; i++) {
		if (exported(all[i]) || (probe_passed_over(all[i]) && !was_exported(all[i])))
			free(all[i]);
		else
			all[k++] = all[i];
	}
	return k;
}

static void look_for_drives(void)
{
	struct probe **p __free(free) = NULL;
	char **all __free(free) = NULL;
	size_t i, n, k = 0;

	guard(&export_lock);
	drop_gone();
	all = probe_list(&n, true);
	n = candidates(all, n);
	p = calloc(n + 1, sizeof(*p));
	if (p)
		take_probes(all, n, true, p);
	for (i = 0; p && i < n; i++) {
		if (may_be_taken(p[i]))
			p[k++] = p[i];
		else
			probe_free(p[i]);
	}
	if (p)
		decide_all(p, k);
	for (i = 0; p && i < k; i++)
		probe_free(p[i]);
	for (i = 0; i < n; i++)
		free(all[i]);
	left_served = left_end_taken_over();
}

void export_rescan(void)
{
	u64 one = 1;

	if (wake_fd >= 0 && write(wake_fd, &one, sizeof(one)) < 0)
		log_debug("rescan is pending already");
}

void export_gone(const struct muuid *drive)
{
	struct tdrive *d = tdrive_find(drive);

	if (!d)
		return;
	if (!tdrive_is(d, &d->ending) && tdrive_lost(d))
		stop_gone(&d, 1, 0);	/* other events do not wait for it */
	else
		tdrive_put(d);
	export_rescan();
}

/* Of whole disks, once udev and the scan of their partitions are done with them. */
static struct udev_monitor *disk_events(void)
{
	struct udev *u = udev_new();
	struct udev_monitor *m = u ? udev_monitor_new_from_netlink(u, "udev") : NULL;

	/* Without udevd libudev makes a monitor that receives nothing. */
	if (!m || udev_monitor_filter_add_match_subsystem_devtype(m, "block", "disk") < 0 ||
	    udev_monitor_enable_receiving(m) < 0 || access("/run/udev/control", F_OK))
		log_warn("no events of udev: drives that return are seen only at the next start");
	if (!m)
		udev_unref(u);
	return m;
}

/* Volumes are no drives, and have an event whenever a program that wrote to one ends. */
static bool event_taken(struct udev_monitor *m)
{
	struct udev_device *d;
	bool volume = true;

	while (volume && m && (d = udev_monitor_receive_device(m))) {
		volume = !strncmp(udev_device_get_sysname(d), "mesh", 4);
		udev_device_unref(d);
	}
	return !volume;
}

/* No thread checks the label of such a drive: what another host says is all there is. */
static void look_at_left(void)
{
	guard(&export_lock);
	left_served = left_end_taken_over();
}

static void *export_thread(void *arg)
{
	struct pollfd fds[3] = { { .events = POLLIN }, { .events = POLLIN }, { .events = POLLIN } };
	struct udev_monitor *m = arg;
	struct udev *u;
	u64 count;
	int n;

	fds[0].fd = m ? udev_monitor_get_fd(m) : -1;
	fds[1].fd = wake_fd;
	fds[2].fd = D.stop;
	for (;;) {
		n = poll(fds, 3, left_served ? LEFT_MS : -1);
		if (n < 0 && errno != EINTR)
			break;
		if (!n)
			look_at_left();
		if (fds[2].revents)
			break;
		if (fds[1].revents && read(wake_fd, &count, sizeof(count)) < 0)
			continue;
		if (!fds[1].revents && !event_taken(m))
			continue;
		/* A burst, of a shelf that is switched on, is one. */
		sleep_ms(BURST_MS);
		while (event_taken(m))
			;
		look_for_drives();
	}
	/* the monitor names it, without a reference */
	u = m ? udev_monitor_get_udev(m) : NULL;
	udev_monitor_unref(m);
	udev_unref(u);
	return NULL;
}

int export_start(void)
{
	struct udev_monitor *m = disk_events();	/* before the first scan: nothing is missed between */

	wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	look_for_drives();
	return thread_start(export_thread, m);
}
