// SPDX-License-Identifier: GPL-2.0-only
/*
 * The target's kernel: GRANT on a socket, events on another, each with a thread.
 *
 * Drives first, then the listener: to a client that comes back an extent that is not there yet is one
 * that is gone, and its I/O would end with errors.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "userspace/daemon/disk_own.h"
#include "userspace/daemon/job.h"
#include "userspace/machine/guard.h"

#define PUSH_MS		5000	/* that the listener waits for a drive that hangs */

/*
 * The sockets of one loading of the module. A socket of a family that is gone receives nothing any
 * more; it stays until disks_close(), since threads of drives may answer on it.
 */
struct disks_serving {
	struct disks_serving *next;
	struct disks *s;
	struct mesh *grants, *events;
	pthread_t grant_thread, event_thread;
	bool	runs_grants, runs_events;
	int	stop;		/* an eventfd */
};

static void on_grant(void *priv, struct meshtgt_grant *g)
{
	struct disks_serving *v = priv;
	struct disk *d = disks_served(v->s, &g->drive);

	if (d)
		disk_grant(d, v->grants, g);
	else
		meshtgt_grant_reply(v->grants, g->request, -ENODEV);
}

static void *grant_thread(void *arg)
{
	struct disks_serving *v = arg;
	int err = meshtgt_serve(v->grants, v->stop, on_grant, v);

	if (!err)
		return NULL;
	disk_log(v->s, "cannot answer the target's kernel: %s", mesh_why(v->grants));
	/* disks_serve() begins again. */
	pthread_mutex_lock(&v->s->lock);
	v->s->family = 0;
	pthread_mutex_unlock(&v->s->lock);
	job_wake();
	return NULL;
}

/*
 * The kernel's report comes late, and then the drive may be back: lost is the device that the kernel
 * was given for this use, not the former one that is about to be replaced. One that leaves by force is
 * gone for the kernel, and ends when its label says so.
 */
static void on_event(void *priv, const struct mesh_event *e)
{
	struct disks_serving *v = priv;
	struct mesh *m __free(mesh_close) = NULL;
	struct disk *d;
	bool pushed;

	if (!e->target || e->event != MESHTGT_EV_DRIVE_GONE)
		return;
	d = disks_served(v->s, &e->uuid);
	m = d ? mesh_open() : NULL;
	if (!m || disk_kernel_has(m, d) != DISK_GONE)
		return;
	pthread_mutex_lock(&d->lock);
	pushed = d->pushed && !d->leaving;
	pthread_mutex_unlock(&d->lock);
	if (!pushed)
		return;
	disk_log(v->s, "%s: the drive has gone", d->path);
	disk_end(d);
}

static void *event_thread(void *arg)
{
	struct disks_serving *v = arg;
	struct pollfd p[2] = { { .fd = mesh_fd(v->events), .events = POLLIN },
			       { .fd = v->stop, .events = POLLIN } };

	while (poll(p, 2, -1) > 0 || errno == EINTR) {
		if (p[1].revents)
			break;
		if (p[0].revents)
			mesh_events_read(v->events, on_event, v);
	}
	return NULL;
}

static void stop(struct disks_serving *v)
{
	static const u64 one = 1;

	if (v->stop >= 0 && write(v->stop, &one, sizeof(one)) != sizeof(one))
		return;
	if (v->runs_grants)
		pthread_join(v->grant_thread, NULL);
	if (v->runs_events)
		pthread_join(v->event_thread, NULL);
	v->runs_grants = v->runs_events = false;
}

static void drop(struct disks_serving *v)
{
	stop(v);
	mesh_close(v->grants);
	mesh_close(v->events);
	if (v->stop >= 0)
		close(v->stop);
	free(v);
}

static int begin(struct disks *s)
{
	struct disks_serving *v = calloc(1, sizeof(*v));

	if (!v)
		return -ENOMEM;
	v->s = s;
	v->stop = eventfd(0, EFD_CLOEXEC);
	v->grants = mesh_open();
	v->events = mesh_open();
	if (v->stop < 0 || !v->grants || !v->events)
		goto err_drop;
	if (mesh_events_join(v->events))
		disk_log(s, "drives that are unplugged are noticed late: no events of the target's kernel");
	if (s->serving)
		stop(s->serving);
	v->runs_grants = !pthread_create(&v->grant_thread, NULL, grant_thread, v);
	v->runs_events = !pthread_create(&v->event_thread, NULL, event_thread, v);
	if (!v->runs_grants)
		goto err_drop;
	v->next = s->serving;
	s->serving = v;
	return 0;

err_drop:
	drop(v);
	return -ENOMEM;
}

/* All drives to a kernel that knows none yet; one that hangs is not waited for long. */
static void push_all(struct disks *s)
{
	u64 until = disk_now() + PUSH_MS, now;
	struct disk *d;

	for (d = disks_next(s, NULL); d; d = disks_next(s, d)) {
		guard(&d->lock);
		d->pushed = false;
		disk_push(d);
	}
	for (d = disks_next(s, NULL); d; d = disks_next(s, d)) {
		guard(&d->lock);
		while (!d->pushed && !d->ended && !d->push_err && (now = disk_now()) < until)
			disk_wait(d, until - now < 20 ? until - now : 20);
	}
}

/* A job. */
static int serve(void *arg)
{
	struct mesh *m __free(mesh_close) = mesh_open();
	struct disks *s = arg;
	int family = m ? mesh_family_id(m, true) : 0, err;
	bool known;

	pthread_mutex_lock(&s->lock);
	known = family > 0 && s->family == family;
	pthread_mutex_unlock(&s->lock);
	if (family <= 0)
		return m ? -ENOPKG : -ENOMEM;
	if (!known) {
		err = begin(s);
		if (err)
			return err;
		pthread_mutex_lock(&s->lock);
		s->family = family;
		pthread_mutex_unlock(&s->lock);
		push_all(s);
	}
	if (s->listens == family)
		return 0;
	err = meshtgt_listen(m, s->config.listen, s->config.port);
	if (!err || err == -EALREADY || err == -EEXIST) {
		s->listens = family;
		return 0;
	}
	disk_log(s, "cannot listen on %s port %u: %s", s->config.listen, s->config.port, mesh_why(m));
	return err;
}

int disks_serve(struct disks *s)
{
	if (!s->config.listen)
		return 0;
	if (!s->serve)
		s->serve = job_new(serve, s, NULL);
	return s->serve ? job_run(s->serve) : -ENOMEM;
}

void disks_serve_end(struct disks *s)
{
	struct disks_serving *v;

	/* The job uses the sockets; the kernel makes none wait for long. */
	while (s->serve && job_since(s->serve))
		usleep(10000);
	job_free(s->serve);
	while ((v = s->serving)) {
		s->serving = v->next;
		drop(v);
	}
}
