// SPDX-License-Identifier: GPL-2.0-only
/*
 * One thread: whatever wakes it, all agents have a turn until none has a step.
 *
 *   store_fd()   job_wake_fd()   volumes_fd()   udev   the control socket   a second   SIGTERM
 *        \             |              |           |           |                |          |
 *         '------------+--------------+----> daemon_turn() <--+----------------'        end
 *                                                |
 *      copy_turn -> host_turn --may decide--> lead, tasks, export_turn, drive_turn of each disk
 *                       |
 *                       '--store away--> attach_turn by records alone
 *
 * A call of the store may wait for its time-out. While it is away the host's agent tries it now and
 * then, with a short one, and nothing else does.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/epoll.h>
#include <systemd/sd-daemon.h>
#include <systemd/sd-device.h>
#include <time.h>
#include <unistd.h>

#include "userspace/agent/prune.h"
#include "userspace/agent/report.h"
#include "userspace/daemon/control.h"
#include "userspace/daemon/hook.h"
#include "userspace/daemon/job.h"
#include "userspace/daemon/kernel.h"
#include "userspace/daemon/log.h"
#include "userspace/daemon/machine.h"
#include "userspace/daemon/report.h"

#define TICK_US		1000000ULL
#define ROUNDS_MAX	64	/* then events have a turn */
#define LEASE_SECONDS	15
#define STORE_MS	3000	/* of a call of the loop's thread */
#define STORE_AWAY_MS	500
#define RESCAN_MS	60000	/* where udev reports nothing */
#define WHY		CLUSTER_WHY

/* The agent of one disk. */
struct served {
	struct served *next;
	struct disk *disk;
	struct drive_agent agent;
	bool	listed;
};

struct loop {
	sd_event_source *store, *jobs, *kernel, *tick, *ends[2];
	int	kernel_fd;		/* of @kernel; -1: none */
	ino_t	kernel_ino;
	sd_device_monitor *monitor;
	struct served *served;
	struct report_agent report;
	bool	store_on;		/* its descriptor is watched */
	bool	more;			/* agents have steps left */
	bool	rescan;
	u32	scanned_as;		/* scan_as() of the last scan */
	u64	rescan_ms;
	u64	removed_at;		/* revision of the copy that cluster_removed() had; 0: none */
	u8	status;			/* enum host_state that was notified */
	char	said[WHY];		/* the last error of the port, or of a list */
};

static const enum key_kind followed[] = {
	KEY_CLUSTER, KEY_LEADER, KEY_HOST, KEY_ALIVE, KEY_DEVICE, KEY_DRIVE, KEY_VOLUME, KEY_NAME, KEY_ACCESS,
	KEY_READER, KEY_WANT, KEY_WRITER, KEY_ROSTER, KEY_TASK, KEY_EVENT, KEY_STATUS, KEY_RECOVER,
};

static void log_once(struct loop *l, const char *words)
{
	if (!strcmp(l->said, words))
		return;
	snprintf(l->said, sizeof(l->said), "%s", words);
	if (words[0])
		log_warn("%s", words);
}

/* Drives */

static struct served *served_find(struct loop *l, const struct disk *disk)
{
	struct served *s = l->served;

	while (s && s->disk != disk)
		s = s->next;
	return s;
}

static void served_add(struct daemon *d, struct disk *disk)
{
	struct served *s = calloc(1, sizeof(*s));

	if (!s)
		return;
	s->disk = disk;
	s->listed = true;
	s->agent = (struct drive_agent) { .copy = d->copy, .host = d->host, .drive = *disk_uuid(disk),
					  .ops = &disk_ops, .dev = disk };
	s->next = d->loop->served;
	d->loop->served = s;
}

/* An agent for each disk that is served, and none for another one. */
static void served_list(struct daemon *d)
{
	struct served **at, *s;

	for (s = d->loop->served; s; s = s->next)
		s->listed = false;
	for (struct disk *disk = disks_next(d->disks, NULL); disk; disk = disks_next(d->disks, disk)) {
		s = served_find(d->loop, disk);
		if (s)
			s->listed = true;
		else
			served_add(d, disk);
	}
	for (at = &d->loop->served; (s = *at);) {
		if (s->listed) {
			at = &s->next;
			continue;
		}
		*at = s->next;
		free(s);
		/* Its device may be back already, by another name. */
		d->loop->rescan = true;
	}
}

static int drives_turn(struct daemon *d, bool stopped)
{
	int steps = 0, n;

	served_list(d);
	for (struct served *s = d->loop->served; s; s = s->next) {
		s->agent.stopped = stopped;
		n = s->agent.begun ? 0 : drive_begin(&s->agent);
		if (!n)
			n = drive_turn(&s->agent);
		if (s->agent.above[0])
			host_label_above(&d->self, s->agent.above);
		s->agent.above[0] = 0;
		if (n > 0)
			steps += n;
		else if (n < 0 && n != -EINPROGRESS)
			log_debug("drive %s: %s", muuid_str(&s->agent.drive).s, strerror(-n));
	}
	return steps;
}

/* Recover, on this machine */

static struct drive_agent *report_drive(void *m, struct drive_agent *after)
{
	struct daemon *d = m;
	struct served *s = d->loop->served;

	for (; s && after; s = s->next) {
		if (&s->agent == after) {
			s = s->next;
			break;
		}
	}
	return s ? &s->agent : NULL;
}

static int report_about(void *m, struct drive_agent *a, struct obj_disk *out)
{
	(void)m;
	return disk_about(a->dev, out);
}

static int report_layout(void *m, struct drive_agent *a, const struct muuid *volume, struct layout *out)
{
	(void)m;
	return disk_layout(a->dev, volume, out);
}

static const struct report_ops report_ops = {
	.drive = report_drive, .about = report_about, .layout = report_layout,
};

/*
 * A store that was put back may not know a drive that this host served: then its label counts, as while
 * the store is away, and with it the volumes that are attached. Recover has perhaps marked it. False:
 * the store's objects count.
 */
static bool by_labels(const struct daemon *d, struct plan_seen *seen)
{
	const struct obj_recover *mark;

	memset(seen, 0, sizeof(*seen));
	if (!d->self.seen_known || (!d->store_away && d->self.state != HOST_STOPPED))
		return false;
	*seen = d->self.seen.plan;
	mark = copy_obj(d->copy, &(struct key) { .kind = KEY_RECOVER });
	if (mark && mark->generation > seen->generation)
		seen->generation = mark->generation;
	return true;
}

/* By what disks are scanned: another number when they are to be scanned again. */
static u32 scan_as(const struct daemon *d)
{
	struct plan_seen seen;

	return by_labels(d, &seen) ? 1 + seen.generation : 0;
}

static void rescan(struct daemon *d, u64 now)
{
	struct loop *l = d->loop;
	struct plan_seen seen;
	int err;

	if (now - l->rescan_ms >= RESCAN_MS || l->scanned_as != scan_as(d))
		l->rescan = true;
	if (!l->rescan || (!copy_whole(d->copy) && !d->store_away))
		return;
	if (d->store_away && !d->self.seen_known)
		return;
	l->scanned_as = scan_as(d);
	err = by_labels(d, &seen) ? disks_rescan_alone(d->disks, &seen) : disks_rescan(d->disks, d->copy);
	if (err == -EINPROGRESS)
		return;
	l->rescan = false;
	l->rescan_ms = now;
}

/* A label of a later generation is not taken up, so no agent of a drive sees it. */
static void label_generation(struct daemon *d)
{
	const struct key k = { .kind = KEY_CLUSTER };
	const struct obj_cluster *c = copy_obj(d->copy, &k);
	const char *path;
	u32 generation = disks_generation(d->disks, &path);
	char words[WHY];

	if (!c || generation <= c->plan.generation || host_stopped(&d->self) || copy_fresh(d->copy, &k))
		return;
	c = copy_obj(d->copy, &k);
	if (!c || generation <= c->plan.generation)
		return;
	snprintf(words, sizeof(words), "the store was put back: the label of %s is of generation %u, and the store of "
		 "%u. Nothing is decided until 'meshctl cluster recover'; what is attached goes on", path, generation,
		 c->plan.generation);
	host_label_above(&d->self, words);
}

/* A twin, and a host that was removed, hand in nothing; nor does one whose disks are not all known yet. */
static int reporting(struct daemon *d)
{
	int n;

	if (d->disks && (d->loop->rescan || d->loop->scanned_as != scan_as(d)))
		return 0;
	if (d->self.state != HOST_STOPPED && d->self.state != HOST_UP)
		return 0;
	n = report_turn(&d->loop->report, d->self.seen.plan.generation);
	return n > 0 ? n : 0;
}

/* The store */

static void store_watched(struct daemon *d, bool on)
{
	if (d->loop->store_on == on || !d->loop->store)
		return;
	d->loop->store_on = on;
	sd_event_source_set_enabled(d->loop->store, on ? SD_EVENT_ON : SD_EVENT_OFF);
}

static void away(struct daemon *d, bool is, u64 now)
{
	if (is == d->store_away)
		return;
	d->store_away = is;
	d->store_away_ms = now;
	store_timeout(d->store, is ? STORE_AWAY_MS : STORE_MS);
}

/* Return: number of steps. */
static int follow(struct daemon *d, u64 now)
{
	char words[WHY];
	int err = 0, n;

	/* What is being noted must be all that the copy has. */
	if (!d->store_away && !host_notes(&d->self)) {
		err = copy_turn(d->copy, 0, NULL, NULL);
		if (err < 0) {
			snprintf(words, sizeof(words), "the store: %.300s", store_why(d->store));
			log_once(d->loop, words);
		}
	}
	n = host_turn(&d->self, now);
	away(d, d->self.state == HOST_AWAY, now);
	/* Its descriptor stays readable while the copy stays as it is, or with nothing to be read. */
	store_watched(d, !d->store_away && !host_notes(&d->self));
	return n > 0 ? n : 0;
}

/* A removed host is refused at once, by the target's kernel and by the link. */
static void removed_hosts(struct daemon *d)
{
	const struct key k = { .kind = KEY_HOST };
	const struct copy_item *i = NULL;
	struct muuid *list = NULL;
	char words[WHY];
	size_t n = 0;
	int err;

	if (!copy_whole(d->copy) || d->loop->removed_at == copy_revision(d->copy))
		return;
	/* A store that was put back may lack some; without any list recover could not reach other hosts. */
	if (d->loop->removed_at && host_stopped(&d->self))
		return;
	while ((i = copy_next(d->copy, &k, 0, i))) {
		const struct obj_host *h = i->obj;
		struct muuid *more;

		/* A value that the codec refuses is no reason to admit its host. */
		if (h && !h->plan.removed)
			continue;
		more = realloc(list, (n + 1) * sizeof(*list));
		if (!more) {
			free(list);
			return;
		}
		list = more;
		list[n++] = i->key.host;
	}
	err = cluster_removed(d->cluster, list, n);
	free(list);
	if (!err) {
		d->loop->removed_at = copy_revision(d->copy);
	} else if (err != -EAGAIN) {
		snprintf(words, sizeof(words), "the port for other hosts does not open: %s; this is tried again",
			 strerror(-err));
		log_once(d->loop, words);
	}
}

/* Turns */

static int deciding(struct daemon *d, u64 now)
{
	const bool stopped = host_stopped(&d->self);
	int steps = 0, n;

	d->tasks.now = d->exports.now = time(NULL);
	d->tasks.stopped = d->exports.stopped = stopped;
	if (cluster_role(d->cluster) == PLAN_STORE && !stopped && lead_turn(&d->lead, now) == 1) {
		n = tasks_turn(&d->tasks);
		steps += n > 0 ? n : 0;
		n = spares_turn(&d->spares, now);
		steps += n > 0 ? n : 0;
		n = prune_tasks(&d->tasks);
		steps += n > 0 ? n : 0;
	} else {
		spares_end(&d->spares);
	}
	n = stopped ? 0 : events_turn(&d->events, now);
	steps += n > 0 ? n : 0;
	n = stopped ? 0 : prune_events(d->copy, &d->host);
	steps += n > 0 ? n : 0;
	if (!d->disks)
		return steps;
	n = stopped ? 0 : export_turn(&d->exports);
	steps += n > 0 ? n : 0;
	if (n > 0)
		host_disks_changed(&d->self);
	d->says.now_ms = d->exports.now * 1000;
	drive_say_turn(&d->says);
	return steps + drives_turn(d, stopped);
}

/* One step of each agent that has one. Return: number of steps. */
static int agents(struct daemon *d, u64 now)
{
	int steps = follow(d, now), n = 0;
	char why[OBJ_WORDS];
	bool may;

	may = copy_whole(d->copy) && (host_may(&d->self) || host_stopped(&d->self));
	if (may)
		steps += deciding(d, now) + reporting(d);
	attach_may(d->attach, host_stopped(&d->self), d->self.lease);
	if ((may || d->store_away) && kernel_there(d->kernel))
		n = attach_turn(d->attach, d->store_away, now);
	if (attach_above(d->attach, why, sizeof(why)))
		host_label_above(&d->self, why);
	return steps + (n > 0 ? n : 0);
}

static void report_spare(void *priv, const struct obj_event *e)
{
	report_event(priv, e, REPORT_STORED);
}

static void notify(struct daemon *d)
{
	if (d->loop->status == d->self.state)
		return;
	d->loop->status = d->self.state;
	sd_notifyf(0, "STATUS=%s", d->self.state == HOST_UP ? "this host follows the store" : d->self.why);
}

static int kernel_event(sd_event_source *s, int fd, uint32_t events, void *arg)
{
	struct daemon *d = arg;

	(void)s;
	(void)fd;
	(void)events;
	volumes_events(d->volumes);
	return 0;
}

/* The socket of the kernel's events comes with the module, and is another one after a reload. */
static void follow_kernel(struct daemon *d)
{
	struct loop *l = d->loop;
	int fd = d->volumes ? volumes_fd(d->volumes) : -1;
	struct stat st = { 0 };

	/* Another socket may have the number of the one before it. */
	if (fd >= 0 && fstat(fd, &st))
		fd = -1;
	if (fd == l->kernel_fd && st.st_ino == l->kernel_ino)
		return;
	l->kernel = sd_event_source_disable_unref(l->kernel);
	l->kernel_fd = fd;
	l->kernel_ino = st.st_ino;
	if (fd >= 0 && sd_event_add_io(d->event, &l->kernel, fd, EPOLLIN, kernel_event, d) < 0)
		l->kernel_fd = -1;
}

void daemon_turn(struct daemon *d)
{
	u64 now = store_now_ms();
	int rounds = 0, steps;

	kernel_turn(d->kernel, now);
	follow_kernel(d);
	do
		steps = agents(d, now);
	while (steps && ++rounds < ROUNDS_MAX);
	d->loop->more = steps;
	if (d->volumes)
		volumes_watch(d->volumes, now);
	if (d->hook)
		hook_turn(d->hook);
	if (d->disks) {
		rescan(d, now);
		if (copy_whole(d->copy)) {
			label_generation(d);
			disks_allow(d->disks, d->copy);
		}
	}
	removed_hosts(d);
	notify(d);
	if (d->control)
		control_turn(d->control);
	d->again = d->again || cluster_again(d->cluster);
}

/* Sources: each only wakes the loop, but for those that must be read. */

static int woken(sd_event_source *s, int fd, uint32_t events, void *arg)
{
	(void)s;
	(void)fd;
	(void)events;
	(void)arg;
	return 0;
}

static int job_done(sd_event_source *s, int fd, uint32_t events, void *arg)
{
	u64 n;

	(void)s;
	(void)events;
	(void)arg;
	/* Nothing to be read: another wake was before it. */
	return read(fd, &n, sizeof(n)) < 0 ? 0 : 0;
}

static int ticked(sd_event_source *s, uint64_t at, void *arg)
{
	(void)at;
	(void)arg;
	sd_event_source_set_time_relative(s, TICK_US);
	return sd_event_source_set_enabled(s, SD_EVENT_ONESHOT);
}

static int disk_came(sd_device_monitor *m, sd_device *device, void *arg)
{
	struct daemon *d = arg;

	(void)m;
	(void)device;
	d->loop->rescan = true;
	return 0;
}

static int ended(sd_event_source *s, const struct signalfd_siginfo *si, void *arg)
{
	(void)si;
	(void)arg;
	return sd_event_exit(sd_event_source_get_event(s), 0);
}

/* In a container no event of a disk may come: disks are scanned now and then as well. */
static void monitor(struct daemon *d)
{
	sd_device_monitor **m = &d->loop->monitor;
	int err = sd_device_monitor_new(m);

	if (err >= 0)
		err = sd_device_monitor_filter_add_match_subsystem_devtype(*m, "block", NULL);
	if (err >= 0)
		err = sd_device_monitor_attach_event(*m, d->event);
	if (err >= 0)
		err = sd_device_monitor_start(*m, disk_came, d);
	if (err < 0)
		log_warn("disks that come are noticed within %u s, since udev does not report them: %s",
			 RESCAN_MS / 1000, strerror(-err));
}

static int sources(struct daemon *d)
{
	struct loop *l = d->loop;
	int err;

	err = sd_event_add_io(d->event, &l->store, store_fd(d->store), EPOLLIN, woken, d);
	if (err >= 0)
		err = sd_event_add_io(d->event, &l->jobs, job_wake_fd(), EPOLLIN, job_done, d);
	if (err >= 0)
		err = sd_event_add_time_relative(d->event, &l->tick, CLOCK_MONOTONIC, TICK_US, 0, ticked, d);
	if (err >= 0)
		err = sd_event_add_signal(d->event, &l->ends[0], SIGTERM, ended, d);
	if (err >= 0)
		err = sd_event_add_signal(d->event, &l->ends[1], SIGINT, ended, d);
	if (err >= 0 && d->disks)
		monitor(d);
	l->store_on = true;
	return err < 0 ? err : 0;
}

static int follow_all(struct daemon *d)
{
	int err = 0;

	/* Lists that cannot be read now are read by copy_turn(): one wait for a store that is away is enough. */
	for (size_t i = 0; i < sizeof(followed) / sizeof(*followed) && !err; i++) {
		err = copy_follow(d->copy, &(struct key) { .kind = followed[i] }, 0);
		if (err && err != -ENOMEM && err != -EINVAL) {
			store_timeout(d->store, 1);
			err = 0;
		}
	}
	/* Of other hosts a store host alone reads them. */
	if (!err)
		err = copy_follow(d->copy, &(struct key) { .kind = KEY_REPORT, .host = d->host },
				  cluster_role(d->cluster) != PLAN_STORE);
	return err == -ENOMEM || err == -EINVAL ? err : 0;
}

int daemon_follow(struct daemon *d)
{
	int err;

	d->store = cluster_store(d->cluster);
	d->copy = d->store ? copy_open(d->store) : NULL;
	if (!d->copy)
		return -ENOMEM;
	store_timeout(d->store, STORE_AWAY_MS);
	err = follow_all(d);
	store_timeout(d->store, STORE_MS);
	return err;
}

int daemon_begin(struct daemon *d)
{
	d->loop = calloc(1, sizeof(*d->loop));
	if (!d->loop)
		return -ENOMEM;
	d->loop->rescan = true;
	d->loop->kernel_fd = -1;
	d->loop->status = UINT8_MAX;
	d->self = (struct host_agent) { .copy = d->copy, .host = d->host, .boot = machine_boot(),
					.role = cluster_role(d->cluster), .ops = &machine_host_ops,
					.machine = d->machine };
	d->lead = (struct lead) { .copy = d->copy, .host = d->host, .seconds = LEASE_SECONDS };
	d->tasks = (struct tasks) { .copy = d->copy, .lead = &d->lead };
	d->spares = (struct spares) { .tasks = &d->tasks, .report = report_spare, .priv = d };
	d->events = (struct events) { .copy = d->copy };
	d->exports = (struct export_agent) { .copy = d->copy, .host = d->host, .ops = &disks_export_ops,
					     .machine = d->disks };
	d->says = (struct drive_say) { .copy = d->copy, .host = d->host, .left = disks_left, .machine = d->disks };
	d->attach = attach_open(d->copy, &d->host, &volumes_ops, d->volumes);
	d->loop->report = (struct report_agent) { .copy = d->copy, .host = d->host, .role = d->self.role,
						  .ops = &report_ops, .m = d, .attach = &volumes_ops,
						  .attach_m = d->volumes };
	return d->attach ? sources(d) : -ENOMEM;
}

int daemon_run(struct daemon *d)
{
	int err = 0;

	daemon_turn(d);
	sd_notify(0, "READY=1");
	log_info("ready");
	while (!d->again && err >= 0 && sd_event_get_state(d->event) != SD_EVENT_FINISHED) {
		err = sd_event_run(d->event, d->loop->more ? 0 : UINT64_MAX);
		if (err >= 0 && sd_event_get_state(d->event) != SD_EVENT_FINISHED)
			daemon_turn(d);
	}
	return err < 0 ? err : 0;
}

void daemon_end(struct daemon *d)
{
	struct loop *l = d->loop;
	struct served *s;

	if (d->copy && !d->store_away) {
		store_timeout(d->store, STORE_AWAY_MS);
		lead_end(&d->lead);
		/* One that only starts again keeps its lease: readers of volumes are named by keys on it. */
		if (d->again)
			host_end(&d->self);
	}
	if (d->attach)
		attach_close(d->attach);
	export_end(&d->exports);
	spares_end(&d->spares);
	events_end(&d->events);
	copy_close(d->copy);
	if (d->store)
		store_close(d->store);
	if (!l)
		return;
	while ((s = l->served)) {
		l->served = s->next;
		free(s);
	}
	sd_event_source_disable_unref(l->store);
	sd_event_source_disable_unref(l->jobs);
	sd_event_source_disable_unref(l->kernel);
	sd_event_source_disable_unref(l->tick);
	sd_event_source_disable_unref(l->ends[0]);
	sd_event_source_disable_unref(l->ends[1]);
	sd_device_monitor_unref(l->monitor);
	free(l);
	d->loop = NULL;
}
