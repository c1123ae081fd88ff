// SPDX-License-Identifier: GPL-2.0-only
/*
 * Drives that the kernel serves from a meshd before this one, which has not taken them up:
 * their labels are damaged, another cluster's, or of another size. No thread
 * checks their labels, no label says here what is open, but clients go on with what they opened.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/format/json.h"
#include "userspace/meshd/fan.h"
#include "userspace/meshd/export.h"

#define END_MS		20000
#define TAKEN_MS	2000	/* that other drives, and at the start peers, wait for those that hang */
#define RETRY_MS	1000

int left_drives(struct mesh *m, struct meshtgt_drive **out, size_t *n)
{
	struct meshtgt_drive *all = NULL;
	struct tdrive *d;
	size_t i, count = 0, k = 0;
	int err = m ? meshtgt_drives(m, &all, &count) : -ENOMEM;

	*out = NULL;
	*n = 0;
	if (err)
		return err == -ENOENT ? 0 : err;	/* without the module nothing is served */
	for (i = 0; i < count; i++) {
		d = tdrive_find(&all[i].uuid);
		if (d)
			free(all[i].extents);
		else
			all[k++] = all[i];
		tdrive_put(d);
	}
	*out = all;
	*n = k;
	return 0;
}

/* The entry of a device that is listed with its reason, which stays to be found in a scan. */
static json_t *entry_of(json_t *list, const struct meshtgt_drive *k)
{
	struct mgmt_drive m;
	json_t *j;
	size_t i;

	json_array_foreach(list, i, j)
		if (!mgmt_drive_unpack(j, &m) && muuid_equal(&m.uuid, &k->uuid) &&
		    !strcmp(m.path, k->path))
			return j;
	return NULL;
}

/* The kernel serves it no more, and waits for commands that are not back. */
static bool is_gone(const struct meshtgt_drive *k)
{
	return !strcmp(k->state, MESHBLK_STATE_GONE);
}

int left_list(json_t *list)
{
	struct mesh *m __free(mesh_close) = mesh_open();
	struct meshtgt_drive *k;
	const char *state;
	struct mgmt_drive d;
	size_t i, n;
	json_t *j;
	int err = left_drives(m, &k, &n);

	for (i = 0; i < n; i++) {
		/* What clients sent before may land yet: another host must not serve it. */
		state = is_gone(&k[i]) ? MGMT_DRAINING : MGMT_UNMANAGED;
		j = entry_of(list, &k[i]);
		if (j) {
			jset_str(j, "state", state);
			continue;
		}
		d = (struct mgmt_drive) { .uuid = k[i].uuid, .size = k[i].size, .lba = k[i].lba,
					  .extents = k[i].nr_extents };
		strcpy(d.state, state);
		snprintf(d.path, sizeof(d.path), "%s", k[i].path);
		json_array_append_new(list, mgmt_drive_pack(&d));
	}
	meshtgt_drives_free(k, n);
	return err;
}

struct ending {
	struct ending *next;	/* in endings */
	struct muuid drive;
	char	path[MGMT_PATH];
	bool	force;
	bool	gone;		/* already when it began */
};

static pthread_mutex_t endings_lock = PTHREAD_MUTEX_INITIALIZER;
/* Drives with a thread that waits for their commands. */
static struct ending *endings;

/* Whether it was not exported again meanwhile. */
static bool still_gone(struct mesh *m, const struct muuid *drive)
{
	struct meshtgt_drive *k;
	bool is = false;
	size_t i, n;

	if (left_drives(m, &k, &n))
		return false;
	for (i = 0; i < n; i++)
		is = is || (muuid_equal(&k[i].uuid, drive) && is_gone(&k[i]));
	meshtgt_drives_free(k, n);
	return is;
}

/* The kernel waits for what is in flight, and says when that takes too long. */
static void *end_work(void *item)
{
	const struct ending *e = item;
	struct mesh *m __free(mesh_close) = mesh_open();
	int err = -ENOMEM, *out;

	if (m)
		err = e->gone ? meshtgt_gone_del(m, &e->drive) : meshtgt_drive_del(m, &e->drive, e->force);
	/* Unless its extents are merely open. It may come back at any time, and is not ended then. */
	while (err == -EBUSY && !stopping() && still_gone(m, &e->drive)) {
		sleep_ms(RETRY_MS);
		err = meshtgt_gone_del(m, &e->drive);
	}
	if (err == -ENOENT)
		err = 0;
	if (err == -EEXIST)
		log_info("%s: it came back, and is served again", e->path);
	else if (err)
		log_error("%s: %s", e->path, m ? mesh_why(m) : strerror(-err));
	else
		log_info("%s: the kernel does not serve it any more", e->path);
	out = malloc(sizeof(*out));
	if (out)
		*out = err;
	return out;
}

static void ending_drop(void *item)
{
	struct ending *e = item, **p;

	pthread_mutex_lock(&endings_lock);
	for (p = &endings; *p != e; p = &(*p)->next)
		;
	*p = e->next;
	pthread_mutex_unlock(&endings_lock);
	free(e);
}

static bool is_ending(const struct muuid *drive)
{
	const struct ending *e;

	guard(&endings_lock);
	for (e = endings; e; e = e->next)
		if (muuid_equal(&e->drive, drive))
			return true;
	return false;
}

static const struct fan enders = { .work = end_work, .drop = ending_drop, .discard = free };

static struct ending *ending_of(const struct meshtgt_drive *k, bool force)
{
	struct ending *e = malloc(sizeof(*e));

	if (!e)
		return NULL;
	*e = (struct ending) { .drive = k->uuid, .force = force, .gone = is_gone(k) };
	snprintf(e->path, sizeof(e->path), "%s", k->path);
	guard(&endings_lock);
	e->next = endings;
	endings = e;
	return e;
}

/* -ETIMEDOUT: it is not done yet, and will be when its commands are back. */
static int end_one(const struct meshtgt_drive *k, bool force)
{
	struct ending *e = ending_of(k, force);
	int *done __free(free) = NULL;

	if (!e)
		return -ENOMEM;
	fan_run(&enders, (void **)&e, 1, END_MS, (void **)&done);
	return done ? *done : -ETIMEDOUT;
}

static int end_verdict(struct req *r, const struct meshtgt_drive *k)
{
	u32 i, open = 0;
	u64 bytes = 0;
	json_t *j;

	for (i = 0; i < k->nr_extents; i++) {
		open += k->extents[i].opens > 0;
		bytes += k->extents[i].length;
	}
	if (k->nr_extents && !arg_bool(r, "force"))
		return req_fail(r, "%s holds %u extents of volumes, and the kernel alone serves them; add --force "
				"to take it from them", k->path, k->nr_extents);
	if (open && !arg_bool(r, "preempt"))
		return req_fail(r, "%u of its extents are open now (meshctl volume list on the clients); detach "
				"those volumes first, or add --preempt: their I/O fails", open);
	if (!arg_bool(r, "dry_run"))
		return 0;
	dry_begin(r);
	j = req_unreachable(r, "drive", k->path);
	jset_uuid(j, "uuid", &k->uuid);
	jset_u64(j, "extents", k->nr_extents);
	jset_u64(j, "bytes", bytes);
	jset_u64(j, "open", open);
	req_note(r, "the kernel would serve it no more; what is on it stays; %u of its extents are open now",
		 open);
	return 0;
}

/* Its label says nothing, or nothing that is believed here: it is not touched. */
static int end_it(struct req *r, const struct meshtgt_drive *k)
{
	int err = end_one(k, arg_bool(r, "preempt"));

	if (err == -EBUSY)
		return req_fail(r, "the kernel does not give %s up: its extents may have just been opened; it "
				"stays, try again or add --preempt", k->path);
	if (err == -EEXIST)
		return req_fail(r, "%s came back meanwhile, and is served again", k->path);
	if (err && err != -ETIMEDOUT)
		return req_fail(r, "the kernel does not give %s up: %s", k->path, strerror(-err));
	if (unexported_note(&k->uuid))
		req_note(r, "it cannot be noted that %s was unexported: with a good label of this host it is "
			 "taken up again", k->path);
	if (err)
		return req_fail(r, "%s: commands to it are not back; it goes when they are", k->path);
	req_note(r, "the kernel serves %s no more; its label was not written (meshctl drive scan)", k->path);
	return 0;
}

int left_unexport(struct req *r, const char *what)
{
	struct mesh *m __free(mesh_close) = mesh_open();
	struct meshtgt_drive *k;
	size_t i, n;
	int err = left_drives(m, &k, &n);

	for (i = 0; i < n && !drive_called(&k[i].uuid, k[i].path, what); i++)
		;
	if (err)
		err = req_fail(r, "%s is not exported by this host, whose kernel does not say what it serves: %s",
			       what, strerror(-err));
	else if (i == n)
		err = req_fail(r, "%s is not exported by this host; see meshctl drive list", what);
	else
		err = end_verdict(r, &k[i]);
	if (!err && !arg_bool(r, "dry_run"))
		err = end_it(r, &k[i]);
	meshtgt_drives_free(k, n);
	return err;
}

/*
 * The host that has taken a drive over since may give to others what is open here. One that
 * does not answer, or has no whole label, says nothing of that, nor does the name that this
 * host had before its state was lost.
 */
static bool names_other(const struct meshtgt_drive *k, const struct probe *p)
{
	return p && !p->err && p->verdict == PROBE_THEIRS && muuid_equal(&p->drive, &k->uuid) &&
	       !muuid_equal(&p->owner, &k->host);
}

/* All at once; one whose commands hang is left to its thread. */
static void end_all(void **ending, size_t n)
{
	void **done __free(free) = calloc(n + 1, sizeof(*done));
	size_t i;

	if (done)
		fan_run(&enders, ending, n, TAKEN_MS, done);
	for (i = 0; i < n; i++) {
		if (done)
			free(done[i]);
		else
			ending_drop(ending[i]);
	}
}

/* Those that no thread of a meshd waits for: their entries keep the devices from other uses. */
static void end_gone(const struct meshtgt_drive *k, size_t n)
{
	void **ending __free(free) = calloc(n + 1, sizeof(*ending));
	size_t i, ends = 0;

	for (i = 0; ending && i < n; i++) {
		ending[ends] = is_gone(&k[i]) && !is_ending(&k[i].uuid) ? ending_of(&k[i], true) : NULL;
		ends += !!ending[ends];
	}
	if (ends)
		end_all(ending, ends);
}

static void end_taken_over(const struct meshtgt_drive *k, struct probe **p, size_t n)
{
	void **ending __free(free) = calloc(n + 1, sizeof(*ending));
	size_t i, ends = 0;

	for (i = 0; ending && i < n; i++) {
		if (!names_other(&k[i], p[i]))
			continue;
		log_error("%s: host %s has taken it over: the kernel, which had it from a meshd before this "
			  "one, serves it no more, and what was open is taken away", k[i].path,
			  muuid_str(&p[i]->owner).s);
		ending[ends] = ending_of(&k[i], true);
		ends += !!ending[ends];
	}
	if (ends)
		end_all(ending, ends);
}

bool left_end_taken_over(void)
{
	struct mesh *m __free(mesh_close) = mesh_open();
	struct meshtgt_drive *k;
	size_t i, n, served = 0;
	bool stays = left_drives(m, &k, &n) || n;
	struct probe **p __free(free) = calloc(n + 1, sizeof(*p));
	char **path __free(free) = calloc(n + 1, sizeof(*path));

	end_gone(k, n);
	for (i = 0; i < n; i++) {
		if (!path || !p || is_gone(&k[i])) {
			free(k[i].extents);
			continue;
		}
		k[served] = k[i];
		path[served] = k[served].path;
		served++;
	}
	if (served)
		take_probes(path, served, false, p);
	if (served)
		end_taken_over(k, p, served);
	for (i = 0; i < served; i++)
		probe_free(p[i]);
	meshtgt_drives_free(k, served);
	return stays;
}
