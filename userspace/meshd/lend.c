// SPDX-License-Identifier: GPL-2.0-only
/* Lend a drive, take it back, and take lent ones up again when they return. */
#include <errno.h>
#include <fcntl.h>
#include <libnvme.h>
#include <linux/fs.h>
#include <linux/netlink.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "userspace/format/json.h"
#include "userspace/meshd/lend.h"
#include "userspace/meshd/store.h"

static int wake_fd = -1;
/* Lending, withdrawing and looking for drives come one at a time. */
static pthread_mutex_t lend_lock = PTHREAD_MUTEX_INITIALIZER;

static int push_job(struct tdrive *d, void *arg)
{
	(void)arg;
	return tdrive_push(d);
}

struct push_async {
	struct tjob job;
};

static void push_fn(struct tdrive *d, struct tjob *j, int err)
{
	if (!err)
		tdrive_push(d);
	free(j);
}

void lend_push(struct tdrive *d)
{
	struct push_async *p = calloc(1, sizeof(*p));

	if (!p)
		return;
	p->job.fn = push_fn;
	tdrive_submit(d, &p->job);
}

/* Only cheap insurance: the target's writes carry FUA anyway. */
static void cache_off(struct tdrive *d, bool nvme)
{
	u32 result;
	bool off = nvme && !nvme_set_features_volatile_wc(d->fd, false, false, &result);

	pthread_mutex_lock(&d->lock);
	d->cache_off = off;
	pthread_mutex_unlock(&d->lock);
}

/* Start serving a drive that has a label; @l is taken over. */
static int serve_drive(const struct probe *p, int fd, struct label *l, struct tdrive **out)
{
	struct tdrive *d;
	int err = tdrive_start(p->path, fd, l, &d);

	if (err)
		return err;
	snprintf(d->model, sizeof(d->model), "%s", p->model);
	snprintf(d->serial, sizeof(d->serial), "%s", p->serial);
	d->discard_zeroes = p->discard_zeroes;
	cache_off(d, p->nvme);
	store_drive_put(&d->uuid, d->path);
	err = tdrive_run(d, push_job, NULL);
	zero_kick(d);
	if (out)
		*out = d;
	else
		tdrive_put(d);
	return err;
}

static int open_drive(const char *path)
{
	int fd = open(path, O_RDWR | O_DIRECT | O_DSYNC | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static bool cluster_ok(const struct label *l)
{
	return muuid_null(&l->cluster) || muuid_null(&D.cluster) ||
	       muuid_equal(&l->cluster, &D.cluster);
}

/* By itself only what this very host lent; by order whatever has a label. */
static int take_up(const struct probe *p, struct req *r, struct tdrive **out)
{
	struct label *l = malloc(sizeof(*l));
	int fd, err, each[2];
	bool change;

	fd = l ? open_drive(p->path) : -ENOMEM;
	err = fd < 0 ? fd : label_read(fd, p->size, l, each);
	if (!err && !r && (l->flags & LABEL_F_WITHDRAWN || !muuid_equal(&l->owner, &D.host) ||
			   !cluster_ok(l)))
		err = -EPERM;
	if (!err && r && !cluster_ok(l)) {
		err = -EPERM;
		req_fail(r, "%s belongs to another cluster; set that cluster's key first "
			 "(meshctl host key set)", p->path);
	}
	if (err) {
		if (fd >= 0)
			close(fd);
		free(l);
		return err;
	}
	change = l->flags & LABEL_F_WITHDRAWN || !muuid_equal(&l->owner, &D.host) ||
		 each[0] || each[1] || (muuid_null(&l->cluster) && !muuid_null(&D.cluster));
	l->flags &= ~LABEL_F_WITHDRAWN;
	l->owner = D.host;
	if (muuid_null(&l->cluster))
		l->cluster = D.cluster;
	if (change) {
		l->sequence++;
		err = label_write(fd, l);
		if (err)
			log_error("%s: its label cannot be written: %s", p->path, strerror(-err));
	}
	log_info("%s: taken up as lent, %u extents", p->path, l->extents);
	return serve_drive(p, fd, l, out);
}

static int lend_new(const struct probe *p, struct tdrive **out)
{
	struct label *l = calloc(1, sizeof(*l));
	int fd, err;

	fd = l ? open_drive(p->path) : -ENOMEM;
	if (fd < 0) {
		free(l);
		return fd;
	}
	uuid_random(&l->drive);
	l->owner = D.host;
	l->cluster = D.cluster;
	l->size = p->size;
	l->lba = p->lba;
	l->sequence = 1;
	err = label_wipe(fd, p->size);
	if (!err)
		err = label_write(fd, l);
	if (err) {
		close(fd);
		free(l);
		return err;
	}
	if (p->verdict == PROBE_FOREIGN)
		ioctl(fd, BLKRRPART);
	log_info("%s: lent", p->path);
	return serve_drive(p, fd, l, out);
}

static int lend_verdict(struct req *r, const struct probe *p)
{
	if (p->verdict == PROBE_USED)
		return req_fail(r, "%s cannot be lent: %s", p->path, p->why);
	if (p->verdict == PROBE_UNFIT)
		return req_fail(r, "%s cannot be lent: %s", p->path, p->why);
	if (p->verdict == PROBE_FOREIGN && !arg_bool(r, "force"))
		return req_fail(r, "%s %s; add --force to erase it, or wipe it yourself", p->path,
				p->why);
	return 0;
}

static void lend_result(struct req *r, struct tdrive *d)
{
	struct mgmt_drive m;

	tdrive_describe(d, &m);
	r->result = mgmt_drive_pack(&m);
}

int cmd_drive_lend(struct req *r)
{
	const char *path = arg_str(r, "path");
	struct tdrive *d = NULL;
	struct probe p;
	int err;

	if (!D.listen)
		return req_fail(r, "this meshd runs without the target role; start it without --no-target");
	if (path[0] != '/')
		return req_usage(r, "name a device, such as /dev/nvme0n1");
	pthread_mutex_lock(&lend_lock);
	err = probe_device(path, &p);
	if (err) {
		req_fail(r, "%s: %s", path, err == -ENOTBLK ? "not a block device" : strerror(-err));
	} else if (p.verdict == PROBE_LENT) {
		d = tdrive_by_path(p.path);
		req_note(r, "%s is lent already", path);
	} else if (p.verdict == PROBE_OURS) {
		req_note(r, "%s was lent before: taken up again with all that is on it", path);
		err = take_up(&p, r, &d);
	} else {
		err = lend_verdict(r, &p);
		if (!err)
			err = lend_new(&p, &d);
	}
	pthread_mutex_unlock(&lend_lock);
	if (!r->error[0] && err && !d)
		req_fail(r, "%s cannot be lent: %s", path, strerror(-err));
	else if (!r->error[0] && err)
		req_fail(r, "%s has its label, but the kernel does not serve it: %s (is meshtgt loaded?)",
			 path, strerror(-err));
	if (!r->error[0] && d)
		lend_result(r, d);
	tdrive_put(d);
	return r->error[0] ? -1 : 0;
}

/* On the drive's thread: note in the label that it is not to come back. */
static int withdraw_label(struct tdrive *d)
{
	struct label *l;

	if (!d->label->extents)
		return label_wipe(d->fd, d->size);
	l = tdrive_edit(d);
	if (!l)
		return -ENOMEM;
	l->flags |= LABEL_F_WITHDRAWN;
	return tdrive_commit(d, l);
}

static int withdraw_job(struct tdrive *d, void *arg)
{
	bool force = *(bool *)arg;
	int err;

	if (d->label->extents && !force)
		return -EBUSY;
	err = withdraw_label(d);
	if (err)
		return err;
	/* Jobs that were queued behind it find no drive: they would label it again. */
	pthread_mutex_lock(&d->lock);
	d->gone = true;
	pthread_mutex_unlock(&d->lock);
	return 0;
}

static struct tdrive *named_drive(const char *what)
{
	struct muuid u;
	char path[128];

	if (!muuid_parse(what, &u))
		return tdrive_find(&u);
	snprintf(path, sizeof(path), "%s%s", what[0] == '/' ? "" : "/dev/", what);
	return tdrive_by_path(path);
}

int cmd_drive_withdraw(struct req *r)
{
	const char *what = arg_str(r, "drive");
	bool force = arg_bool(r, "force");
	struct tdrive *d;
	int err;

	if (!what[0])
		return req_usage(r, "name a drive: its device or UUID (meshctl drive list)");
	pthread_mutex_lock(&lend_lock);
	d = named_drive(what);
	if (!d) {
		pthread_mutex_unlock(&lend_lock);
		return req_fail(r, "%s is not lent by this host; see meshctl drive list", what);
	}
	err = tdrive_run(d, withdraw_job, &force);
	if (!err) {
		tdrive_stop(d, force);
		store_drive_del(&d->uuid);
		log_info("%s: withdrawn", d->path);
	}
	pthread_mutex_unlock(&lend_lock);
	tdrive_put(d);
	if (err == -EBUSY)
		return req_fail(r, "%s holds extents of volumes; delete those first, or add --force "
				"to take it from them", what);
	if (err)
		return req_fail(r, "%s: %s", what, strerror(-err));
	return 0;
}

int cmd_drive_scan(struct req *r)
{
	json_t *list = json_array(), *j;
	struct probe p;
	size_t i, n;
	char **all = probe_list(&n);

	for (i = 0; i < n; i++) {
		if ((!strncmp(all[i], "/dev/nvme", 9) || arg_bool(r, "all")) &&
		    !probe_device(all[i], &p)) {
			j = json_object();
			jset_str(j, "path", p.path);
			jset_str(j, "model", p.model);
			jset_str(j, "serial", p.serial);
			jset_u64(j, "size", p.size);
			jset_u64(j, "lba", p.lba);
			jset_str(j, "state", probe_word(p.verdict));
			jset_str(j, "reason", p.why);
			json_object_set_new(j, "uuid", json_null());
			if (!muuid_null(&p.drive))
				jset_uuid(j, "uuid", &p.drive);
			json_array_append_new(list, j);
		}
		free(all[i]);
	}
	free(all);
	r->result = json_object();
	json_object_set_new(r->result, "drives", list);
	return 0;
}

/* A name may be another drive's by now: the kernel numbers every disk it sees. */
static bool still_there(struct tdrive *d)
{
	char text[32];
	u64 seq = 0;

	if (read_line(text, sizeof(text), "/sys/class/block/%s/diskseq", strrchr(d->path, '/') + 1))
		return false;
	return ioctl(d->fd, BLKGETDISKSEQ, &seq) || seq == strtoull(text, NULL, 10);
}

static void drop_gone(void)
{
	struct tdrive **all;
	size_t i, n;

	all = tdrives_all(&n);
	for (i = 0; all && i < n; i++) {
		if (!still_there(all[i])) {
			log_warn("%s: the drive is gone", all[i]->path);
			tdrive_stop(all[i], true);
		}
		tdrive_put(all[i]);
	}
	free(all);
}

static void look_for_drives(void)
{
	struct probe p;
	size_t i, n;
	char **all;

	pthread_mutex_lock(&lend_lock);
	drop_gone();
	all = probe_list(&n);
	for (i = 0; i < n; i++) {
		if (probe_labelled(all[i]) && !probe_device(all[i], &p) &&
		    p.verdict == PROBE_OURS)
			take_up(&p, NULL, NULL);
		free(all[i]);
	}
	free(all);
	pthread_mutex_unlock(&lend_lock);
}

void lend_rescan(void)
{
	u64 one = 1;

	if (wake_fd >= 0 && write(wake_fd, &one, sizeof(one)) < 0)
		log_debug("rescan is pending already");
}

void lend_gone(const struct muuid *drive)
{
	struct tdrive *d = tdrive_find(drive);

	if (!d)
		return;
	log_warn("%s: the drive is gone", d->path);
	tdrive_stop(d, true);
	tdrive_put(d);
	lend_rescan();
}

/* Whether a burst of uevents has a whole disk in it. */
static bool disk_events(int fd)
{
	char buf[8192];
	bool disk = false;
	ssize_t n;

	while ((n = recv(fd, buf, sizeof(buf) - 1, MSG_DONTWAIT)) > 0) {
		buf[n] = 0;
		for (char *p = buf; p < buf + n; p += strlen(p) + 1)
			disk = disk || !strcmp(p, "DEVTYPE=disk");
	}
	return disk;
}

static void *lend_thread(void *arg)
{
	struct sockaddr_nl a = { .nl_family = AF_NETLINK, .nl_groups = 1 };
	struct pollfd fds[3] = { { .events = POLLIN }, { .events = POLLIN }, { .events = POLLIN } };
	u64 count;

	(void)arg;
	fds[0].fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_KOBJECT_UEVENT);
	if (fds[0].fd < 0 || bind(fds[0].fd, (void *)&a, sizeof(a)))
		log_warn("no uevents: drives that return are seen only at the next start");
	fds[1].fd = wake_fd;
	fds[2].fd = D.stop;
	for (;;) {
		if (poll(fds, 3, -1) < 0 && errno != EINTR)
			break;
		if (fds[2].revents)
			break;
		if (fds[1].revents && read(wake_fd, &count, sizeof(count)) < 0)
			continue;
		if (!fds[1].revents && !disk_events(fds[0].fd))
			continue;
		/* udev and the partition scan come first, and a burst is one. */
		sleep_ms(300);
		disk_events(fds[0].fd);
		look_for_drives();
	}
	close(fds[0].fd);
	return NULL;
}

int lend_start(void)
{
	wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	look_for_drives();
	return thread_start(lend_thread, NULL);
}
