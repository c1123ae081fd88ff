// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "userspace/format/json.h"
#include "userspace/format/layout_text.h"
#include "userspace/meshd/abandoned.h"
#include "userspace/meshd/export.h"
#include "userspace/meshd/local.h"
#include "userspace/meshd/serve.h"

#define HOLD_MS		5000
#define LEAVE_MS	100	/* it goes on without being waited for */
#define OPEN_MS		10000	/* in which the kernel opens what was let go for it */

/* What the kernel reads of a label, too. */
_Static_assert(MESHBLK_LABEL_MAGIC == LABEL_MAGIC, "label magic");
_Static_assert(MESHBLK_LABEL_AREA == LABEL_AREA, "label area");
_Static_assert(MESHBLK_LABEL_DRIVE == offsetof(struct label_disk_head, drive), "drive in a label");

/* Commands at work: what they have labelled has no extent yet. */
static unsigned int begun;

void local_end(struct locals *of)
{
	json_decref((json_t *)of->q.drives);
	json_decref(of->q.fresh);
	free(of->p);
	__atomic_sub_fetch(&begun, 1, __ATOMIC_ACQ_REL);
	reconcile_kick();
}

/* On the drive's thread. */
static int leave_job(struct tdrive *d, void *arg)
{
	char why[MGMT_REASON];

	(void)arg;
	/* A command that has begun since may have found it. */
	if (d->label->extents || __atomic_load_n(&begun, __ATOMIC_ACQUIRE) ||
	    abandoned_bars_now(NULL, &d->uuid, why))
		return 0;
	return export_leave(d, false);
}

/* Whether the store has a note that an extent of it is to be made, or to be freed. */
static bool noted(const struct muuid *drive)
{
	struct store_intent *in __free(free) = NULL;
	struct store_free *f __free(free) = NULL;
	size_t i, n;

	if (store_intents(&in, &n))
		return true;
	for (i = 0; i < n; i++)
		if (muuid_equal(&in[i].drive, drive))
			return true;
	if (store_frees(NULL, &f, &n))
		return true;
	for (i = 0; i < n; i++)
		if (muuid_equal(&f[i].drive, drive))
			return true;
	return false;
}

static bool empty(struct tdrive *d)
{
	guard(&d->lock);
	return d->local && !d->label->extents && !d->gone && !d->ending && !d->sick && !d->job_since;
}

void local_tidy(void)
{
	struct tdrive **all __free(free) = NULL;
	size_t i, n;

	all = tdrives_all(&n);
	for (i = 0; all && i < n; i++) {
		if (empty(all[i]) && !__atomic_load_n(&begun, __ATOMIC_ACQUIRE) && !noted(&all[i]->uuid))
			tdrive_run_for(all[i], leave_job, NULL, NULL, LEAVE_MS);
		tdrive_put(all[i]);
	}
}

static bool is_served(const struct muuid *drive)
{
	struct tdrive *d = tdrive_find(drive);

	tdrive_put(d);
	return d;
}

/* Why a device must not be labelled; 0: it may. */
static int verdict(struct req *r, const struct probe *p, const struct segment_req *q)
{
	char why[160];

	if (!probe_searched(p->path, why, sizeof(why)))
		return req_fail(r, "%s cannot be used: %s", p->path, why);
	switch (p->verdict) {
	case PROBE_OK:
	case PROBE_NETWORK:
		return 0;
	case PROBE_FOREIGN:
		return q->force ? 0 : req_fail(r, "%s %s; add --force to erase it, or wipe it yourself", p->path,
					       p->why);
	case PROBE_OURS:
		if (is_served(&p->drive))
			return req_fail(r, "%s has the same label as a drive of this host: a second path to it, or a "
					"copy of it (meshctl drive list)", p->path);
		if (p->label->flags & LABEL_F_LOCAL && !(p->label->flags & LABEL_F_UNEXPORTED))
			return req_fail(r, "%s is a local drive that is not in use now: see meshctl drive scan "
					"--all", p->path);
		/* fall through */
	case PROBE_THEIRS:
		return req_fail(r, "%s carries the label of a drive (%s); if that is needed no more, wipe its first "
				"and last MiB (dd), then add --erase-label", p->path, p->why);
	case PROBE_DAMAGED:
		return q->erase_label ? 0 : req_fail(r, "%s %s: volumes may have data on it; repair that, or add "
						     "--erase-label to lose all that is on it", p->path, p->why);
	default:
		return req_fail(r, "%s cannot be used: %s", p->path, p->why);
	}
}

/* A device that is a drive of this host already. */
static int known(struct req *r, const struct probe *p)
{
	struct tdrive *d = tdrive_find(&p->drive);
	bool local = d && d->local;

	tdrive_put(d);
	return local ? 0 : req_fail(r, "%s is exported: a drive is exported or local, never both; name it "
				    "without %s, or unexport it first", p->path, LOCAL_PREFIX);
}

/* Nothing is written. @p: keeps no label. */
static int judge(struct req *r, const char *path, const struct segment_req *q, struct probe *p)
{
	int err = take_probe(path, p);

	if (err)
		err = req_fail(r, "%s%s", path, err == -ETIMEDOUT ? " does not answer; nothing is done with it" :
			       err == -ENOTBLK ? " is no block device" : " cannot be opened");
	else
		err = p->verdict == PROBE_EXPORTED ? known(r, p) : verdict(r, p, q);
	probe_clear(p);
	return err;
}

/* Its own drives are reached as those of any host that is known. */
static int may_have(struct req *r)
{
	struct store_host h;

	if (!D.listen)
		return req_fail(r, "this meshd runs without the target role (--no-target, or target = no in "
				"/etc/meshblk/meshd.conf): it has no local drives");
	if (store_host_by_uuid(&D.host, &h))
		return req_fail(r, "this host does not know itself: meshctl host add with its own address first");
	return 0;
}

static bool is_local(const char *name)
{
	return !strncmp(name, LOCAL_PREFIX, strlen(LOCAL_PREFIX));
}

static bool any_local(const json_t *names)
{
	json_t *j;
	size_t i;

	json_array_foreach((json_t *)names, i, j)
		if (is_local(json_string_value(j)))
			return true;
	return false;
}

static bool named(const json_t *names, const char *name)
{
	json_t *j;
	size_t i;

	json_array_foreach((json_t *)names, i, j)
		if (!strcmp(json_string_value(j), name))
			return true;
	return false;
}

/* The device that becomes a drive of that UUID; NULL: it is none of them. */
static const struct probe *find_new(const struct locals *of, const char *path, const struct muuid *drive)
{
	size_t i;

	for (i = 0; i < of->n; i++)
		if (path ? !strcmp(of->p[i].path, path) : muuid_equal(&of->p[i].drive, drive))
			return &of->p[i];
	return NULL;
}

/* Of a disk and a partition of it each appears free until the other has its label. */
static const struct probe *find_over(const struct locals *of, const struct probe *p)
{
	size_t i;

	for (i = 0; i < of->n; i++)
		if (p->diskseq && of->p[i].diskseq == p->diskseq && of->p[i].partition != p->partition)
			return &of->p[i];
	return NULL;
}

/* As its host lists it once it has its label. */
static json_t *drive_json(const struct probe *p)
{
	struct mgmt_drive m = { .uuid = p->drive, .owner = D.host, .state = MGMT_LOCAL, .size = p->size,
				.lba = p->lba };
	struct label *l __free(free) = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->size = p->size;
	m.free = label_room(l, &m.longest);
	snprintf(m.path, sizeof(m.path), "%s", p->path);
	return mgmt_drive_pack(&m);
}

/* One name behind the prefix; its @drive may be one that the device gets. */
static int take_name(struct req *r, const char *path, struct locals *of, struct muuid *drive)
{
	char real[PATH_MAX];
	struct probe p, *at;

	if (path[0] != '/')
		return req_usage(r, "%s%s: name a device of this host, such as %s/dev/disk/by-id/...",
				 LOCAL_PREFIX, path, LOCAL_PREFIX);
	/* Names in /dev/disk/by-id are long, and change their devices. */
	if (!realpath(path, real))
		return req_fail(r, "%s is not here", path);
	if (judge(r, real, &of->q, &p))
		return -1;
	if (p.verdict != PROBE_EXPORTED && find_over(of, &p))
		return req_fail(r, "%s and %s overlap: name the disk or partitions of it", p.path,
				find_over(of, &p)->path);
	if (p.verdict != PROBE_EXPORTED && find_new(of, p.path, NULL)) {
		p.drive = find_new(of, p.path, NULL)->drive;
	} else if (p.verdict != PROBE_EXPORTED) {
		uuid_random(&p.drive);
		at = mesh_grow((void **)&of->p, &of->n, sizeof(*at));
		if (!at || json_array_append_new(of->q.fresh, drive_json(&p)))
			return req_fail(r, "out of memory");
		*at = p;
	}
	*drive = p.drive;
	return 0;
}

int local_begin(struct req *r, const struct segment_req *q, struct locals *of)
{
	json_t *names = q->drives ? json_array() : NULL, *j;
	bool local = any_local(q->drives);
	struct muuid drive;
	const char *name;
	size_t i;
	int err = 0;

	__atomic_add_fetch(&begun, 1, __ATOMIC_ACQ_REL);
	*of = (struct locals) { .q = *q };
	of->q.drives = names;
	of->q.fresh = json_array();
	if (local && (may_have(r) || !export_lock_for(r)))
		return -1;
	json_array_foreach((json_t *)q->drives, i, j) {
		name = json_string_value(j);
		if (is_local(name) && !err)
			err = take_name(r, name + strlen(LOCAL_PREFIX), of, &drive);
		if (is_local(name) && !err && named(names, muuid_str(&drive).s))
			err = req_fail(r, "%s is named twice: a local drive is one member", name);
		json_array_append_new(names, json_string(is_local(name) && !err ? muuid_str(&drive).s : name));
	}
	if (local)
		pthread_mutex_unlock(&export_lock);
	return err;
}

static bool uses(const struct layout *l, const struct muuid *drive)
{
	u32 i;

	for (i = 0; i < l->members && !muuid_equal(&l->member[i].drive, drive); i++)
		;
	return i < l->members;
}

/* What @was is now, while nothing else of meshd labels anything: it may have changed since. */
static int judge_again(struct req *r, const struct probe *was, const struct segment_req *q,
		       struct probe *p)
{
	if (judge(r, was->path, q, p))
		return -1;
	if (p->verdict == PROBE_EXPORTED || p->diskseq != was->diskseq || p->size != was->size)
		return req_fail(r, "%s is another device, or drive, now than a moment ago; try again", was->path);
	p->drive = was->drive;
	return 0;
}

static int label_it(struct req *r, struct probe *p)
{
	struct take_how how = { .by_hand = true, .fresh = true, .local = true, .drive = p->drive };
	struct tdrive *d = NULL;
	int err = take_up(p, &how, &d);

	tdrive_put(d);
	return !err ? 0 : req_fail(r, "%s cannot be used: %s", p->path, err == -ETXTBSY ?
				   "another program or driver holds it now; nothing was written" :
				   err == -ETIMEDOUT ? "it does not answer" : strerror(-err));
}

int local_label(struct req *r, struct locals *of, const struct layout *l)
{
	struct probe was;
	int err = 0;
	size_t i;

	if (!of->n)
		return 0;
	if (!export_lock_for(r))
		return -1;
	/* All of them first: where one is refused nothing is lost on the others. */
	for (i = 0; i < of->n && !err; i++) {
		was = of->p[i];
		if (uses(l, &was.drive))
			err = judge_again(r, &was, &of->q, &of->p[i]);
	}
	for (i = 0; i < of->n && !err; i++)
		if (uses(l, &of->p[i].drive))
			err = label_it(r, &of->p[i]);
	pthread_mutex_unlock(&export_lock);
	return err;
}

/* The disk that a local drive is, or is a part of; "": it is not here. */
static void disk_of(const struct locals *of, const struct layout_member *m, char disk[80])
{
	struct tdrive *d = m->kind == LAYOUT_KIND_BDEV ? tdrive_find(&m->drive) : NULL;
	const struct probe *p = find_new(of, NULL, &m->drive);
	char path[PATH_MAX], real[PATH_MAX];

	disk[0] = 0;
	if (d || p) {
		snprintf(real, sizeof(real), "%s", p ? p->path : d->path);
		snprintf(path, sizeof(path), "/sys/class/block/%.60s/partition", strrchr(real, '/') + 1);
		if (!access(path, F_OK) && realpath(path, real)) {
			/* .../DISK/PARTITION/partition */
			*strrchr(real, '/') = 0;
			*strrchr(real, '/') = 0;
		}
		snprintf(disk, 80, "%.79s", strrchr(real, '/') + 1);
	}
	tdrive_put(d);
}

/* A group of @width members, of which @at is the first place. */
static int group_apart(struct req *r, const struct locals *of, const struct layout *l,
		       const struct layout_ref *at, u32 width)
{
	char one[80], two[80];
	u32 i, k;

	for (i = 0; i < width; i++) {
		disk_of(of, &l->member[at[i].member], one);
		for (k = i + 1; k < width && one[0]; k++) {
			disk_of(of, &l->member[at[k].member], two);
			if (!strcmp(one, two))
				return req_fail(r, "two members of a group would be parts of one disk, %s, and lost "
						"together: name partitions of others", one);
		}
	}
	return 0;
}

int local_apart(struct req *r, const struct locals *of, const struct layout *l)
{
	struct layout_shape shape;
	u32 i, k, width;
	int err = 0;

	for (i = 0; i < l->segments && !err; i++) {
		shape = layout_shape(&l->segment[i]);
		width = layout_width(&shape);
		for (k = 0; k < l->segment[i].refs && width > 1 && !err; k += width)
			err = group_apart(r, of, l, &l->ref[l->segment[i].first_ref + k], width);
	}
	return err;
}

/* The device that @fd is open on, alone. -EBUSY: something else has it so. */
static int open_alone(const char *path, int fd)
{
	int alone = open(path, O_RDONLY | O_EXCL | O_CLOEXEC), err = alone < 0 ? -errno : 0;
	u64 is = 0, was = 0;

	if (err || ioctl(alone, BLKGETDISKSEQ, &is) || ioctl(fd, BLKGETDISKSEQ, &was) || is == was)
		return err ? err : alone;
	close(alone);
	return -ESTALE;
}

void local_keep(struct tdrive *d)
{
	int fd;

	if (d->alone >= 0 || tdrive_is(d, &d->gone) ||
	    (now_ms() < d->alone_at && !local_held(d->path, &d->uuid)))
		return;
	d->alone_at = 0;
	fd = open_alone(d->path, d->fd);
	if (fd >= 0)
		d->alone = fd;
	else if (fd == -EBUSY && !d->in_use && !local_held(d->path, &d->uuid))
		log_error("%s: another program or driver holds this local drive alone, and may write to it",
			  d->path);
	d->in_use = fd == -EBUSY;
}

void local_let_go(struct tdrive *d)
{
	if (d->alone >= 0)
		close(d->alone);
	d->alone = -1;
	d->alone_at = now_ms() + OPEN_MS;
}

static int note_job(struct tdrive *d, void *arg)
{
	return grant_note(d, arg);
}

/* The kernel opens it next; -EBUSY: something else has it by now. */
static int hold_job(struct tdrive *d, void *arg)
{
	int err = grant_note(d, arg), fd;

	if (err)
		return err;
	local_let_go(d);
	fd = open_alone(d->path, d->fd);
	if (fd >= 0)
		close(fd);
	return fd == -EBUSY && !local_held(d->path, &d->uuid) ? -EBUSY : 0;
}

/* Whether it is not used for a while, as if it were away: what its group may go on without. */
static bool is_away(int err)
{
	return err && err != -ESTALE && err != -EAGAIN && err != -EEXIST && err != -ENOMEM && err != -EBUSY;
}

/* The first of this kernel's local members that @fits; its path is "" while it is away. */
static bool find_member(bool (*fits)(const struct meshblk_member *m, const void *arg), const void *arg)
{
	struct mesh *m __free(mesh_close) = mesh_open();
	struct meshblk_volume *v;
	bool found = false;
	size_t i, n;
	u32 k;

	if (!m || meshblk_volumes(m, &v, &n))
		return false;
	for (i = 0; i < n && !found; i++)
		for (k = 0; k < v[i].nr_members && !found; k++)
			found = v[i].members[k].kind == MESHBLK_KIND_BDEV && fits(&v[i].members[k], arg);
	meshblk_volumes_free(v, n);
	return found;
}

struct place {
	const char *path;
	const struct muuid *drive;
};

static bool is_at(const struct meshblk_member *m, const void *arg)
{
	const struct place *p = arg;

	return muuid_equal(&m->drive, p->drive) && !strcmp(m->path, p->path);
}

/*
 * The kernel refuses to open it, too: its group goes on without it until local_returned(). What the kernel
 * has open as a member of the volume stays that.
 */
static bool left_out(const struct tdrive *d, const struct meshblk_member *m)
{
	char why[MGMT_REASON];

	if (abandoned_bars_now(&m->extent, NULL, why) != -EAGAIN ||
	    find_member(is_at, &(struct place) { d->path, &d->uuid }))
		return false;
	log_warn("this local drive is left out for now: %s", why);
	return true;
}

int local_hold(const struct meshblk_member *m, bool readonly, char *path, size_t size, char *why)
{
	struct meshtgt_grant *g = malloc(sizeof(*g));
	struct tdrive *d = tdrive_find(&m->drive);
	int err = -ENODEV;

	path[0] = 0;
	if (d && left_out(d, m)) {
		free(g);
		tdrive_put(d);
		return 0;
	}
	if (d && d->local && g) {
		*g = (struct meshtgt_grant) { .host = D.host, .drive = m->drive, .extent = m->extent,
					      .version = m->version, .access = readonly ? 1 : 2 };
		err = tdrive_run_for(d, hold_job, g, free, HOLD_MS);
		g = NULL;
	}
	if (!err)
		snprintf(path, size, "%s", d->path);
	else if (d && is_away(err))
		log_warn("%s: this local drive is left out for now: %s", d->path, strerror(-err));
	else if (err == -EBUSY)
		snprintf(why, REASON, "local drive %s (%.79s) is mounted, or another program or driver holds it: end "
			 "that first; the volume does not know what it wrote", muuid_str(&m->drive).s, d->path);
	else if (!is_away(err))
		snprintf(why, REASON, "local drive %s %s", muuid_str(&m->drive).s, err == -EAGAIN ?
			 "is still being zeroed" : "has another version of the layout now; try again");
	free(g);
	tdrive_put(d);
	return is_away(err) ? 0 : err;
}

/* The number is that of a group in this kernel; a version that is another by now is refused. */
static void note_number(const struct meshblk_member *m, u64 number)
{
	struct tdrive *d = tdrive_find(&m->drive);
	struct meshtgt_grant *g = NULL;
	const struct label_extent *e;

	if (d && d->local && !tdrive_silent(d))
		g = malloc(sizeof(*g));
	if (g) {
		pthread_mutex_lock(&d->lock);
		e = label_find(d->label, &m->extent);
		*g = (struct meshtgt_grant) { .host = D.host, .drive = m->drive, .extent = m->extent,
					      .access = 2, .attach = number };
		if (e && e->attach < number && muuid_equal(&e->holder, &D.host))
			g->version = e->version;
		pthread_mutex_unlock(&d->lock);
	}
	if (g && g->version)
		tdrive_run_for(d, note_job, g, free, 1);
	else
		free(g);
	tdrive_put(d);
}

void local_note(const struct meshblk_volume *k)
{
	const struct meshblk_group *g;
	u32 i, m;

	for (i = 0; i < k->nr_groups && !k->readonly; i++) {
		g = &k->groups[i];
		for (m = 0; m < g->nr; m++)
			if (g->members[m] < k->nr_members &&
			    k->members[g->members[m]].kind == MESHBLK_KIND_BDEV &&
			    (g->roles[m] == MESHBLK_ROLE_IN_SYNC || g->roles[m] == MESHBLK_ROLE_JOINING))
				note_number(&k->members[g->members[m]], g->attach);
	}
}

bool local_held(const char *path, const struct muuid *drive)
{
	return find_member(is_at, &(struct place) { path, drive }) || abandoned_at(path, drive);
}

static bool is_of(const struct meshblk_member *m, const void *extent)
{
	return muuid_equal(&m->extent, extent);
}

bool local_opens(const struct muuid *extent)
{
	return find_member(is_of, extent);
}

bool local_returned(const struct meshblk_volume *k)
{
	char why[MGMT_REASON];
	struct tdrive *d;
	bool is = false;
	u32 i;

	for (i = 0; i < k->nr_members && !is; i++) {
		if (k->members[i].kind != MESHBLK_KIND_BDEV ||
		    strcmp(k->members[i].state, MESHBLK_STATE_GONE))
			continue;
		d = tdrive_find(&k->members[i].drive);
		/* The device that has gone may not have been missed yet. */
		is = d && d->local && !tdrive_is(d, &d->gone) && export_there(d) &&
		     !abandoned_bars_now(&k->members[i].extent, NULL, why);
		tdrive_put(d);
	}
	return is;
}

int local_reopen(struct store_volume *v, const struct layout *l, char *why)
{
	struct gather g;
	int err = gather(&g, &v->uuid, false);

	if (err) {
		snprintf(why, REASON, "%s", store_words(err));
		return err;
	}
	err = kernel_set(v, l, &(struct kernel_set) { .g = &g }, why);
	gather_free(&g);
	return err;
}
