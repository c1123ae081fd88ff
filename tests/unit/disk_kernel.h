/* SPDX-License-Identifier: GPL-2.0-only */
/* The target's kernel that disk_rig.h serves drives by: its tables, its requests for numbers, its end of a drive. */
#ifndef TESTS_UNIT_DISK_KERNEL_H
#define TESTS_UNIT_DISK_KERNEL_H

/* The target's kernel. */
#define KERNEL_DRIVES	4

static struct {
	pthread_mutex_t lock;
	int	family;		/* 0: no module */
	int	add_err, set_err, del_err;
	bool	listens;
	u32	adds, sets, dels, forced;
	struct kernel_drive {
		bool	there, gone;
		struct meshtgt_drive d;
		struct muuid allow[16][MESHTGT_ALLOW_MAX];
	} drive[KERNEL_DRIVES];
	/* GRANT that waits to be read; its answer */
	bool	pending;
	struct meshtgt_grant grant;
	u32	answers;
	u64	answered;
	int	answer;
	bool	before;		/* ... and a record waited for the drive's thread, when the answer came */
	u64	durable;	/* number that both copies had when the answer came */
	bool	event;
	struct muuid event_drive;
	const char *path;	/* of @durable */
	struct muuid member;	/* extent of a volume of this host's own kernel ... */
	struct muuid member_drive, abandoned_drive;	/* ... and drives */
	u32	busy;		/* times that a drive which is taken away by force has commands still */
	const char *member_path;	/* ... of this drive; NULL: by none */
	bool	abandoned;	/* ... or of I/O that was given up */
} K = { .lock = PTHREAD_MUTEX_INITIALIZER, .family = 7 };

struct mesh { int fd; };

struct mesh *mesh_open(void)
{
	struct mesh *m = calloc(1, sizeof(*m));

	m->fd = -1;
	return m;
}

void mesh_close(struct mesh *m)
{
	if (m && m->fd >= 0)
		close(m->fd);
	free(m);
}

const char *mesh_why(const struct mesh *m)
{
	(void)m;
	return "the fake kernel says so";
}

int mesh_family_id(struct mesh *m, bool target)
{
	(void)m;
	(void)target;
	return K.family;
}

static struct kernel_drive *kernel_find(const struct muuid *u)
{
	for (int i = 0; i < KERNEL_DRIVES; i++) {
		if (K.drive[i].there && muuid_equal(&K.drive[i].d.uuid, u))
			return &K.drive[i];
	}
	return NULL;
}

static inline void kernel_lock(void)
{
	pthread_mutex_lock(&K.lock);
}

static inline void kernel_unlock(void)
{
	pthread_mutex_unlock(&K.lock);
}

static void kernel_table(struct kernel_drive *k, const struct meshtgt_drive *d)
{
	struct meshtgt_extent *e = calloc(d->nr_extents + 1, sizeof(*e));

	for (u32 i = 0; i < d->nr_extents; i++) {
		e[i] = d->extents[i];
		for (u32 h = 0; h < e[i].allows; h++)
			k->allow[i][h] = d->extents[i].allow[h];
		e[i].allow = k->allow[i];
	}
	free(k->d.extents);
	k->d = *d;
	k->d.extents = e;
	strcpy(k->d.state, "up");
}

int meshtgt_drive_add(struct mesh *m, const struct meshtgt_drive *d)
{
	int err;

	(void)m;
	kernel_lock();
	K.adds++;
	err = !K.family ? -ENOENT : kernel_find(&d->uuid) ? -EEXIST : K.add_err;
	for (int i = 0; i < KERNEL_DRIVES && !err; i++) {
		if (K.drive[i].there)
			continue;
		K.drive[i].there = true;
		K.drive[i].gone = false;
		kernel_table(&K.drive[i], d);
		break;
	}
	kernel_unlock();
	return err;
}

int meshtgt_drive_check(struct mesh *m, const struct meshtgt_drive *d)
{
	(void)m;
	(void)d;
	return K.family ? K.add_err : -ENOENT;
}

static _Atomic int set_gate = -1;	/* that many tables more; negative: any */
static _Atomic unsigned int set_waits;	/* tables that came */

int meshtgt_extents_once(struct mesh *m, const struct meshtgt_drive *d)
{
	struct timespec ms = { .tv_nsec = 1000000 };
	struct kernel_drive *k;
	int err = -ENODEV;

	(void)m;
	set_waits++;
	while (!set_gate)
		nanosleep(&ms, NULL);
	if (set_gate > 0)
		set_gate--;
	kernel_lock();
	K.sets++;
	k = kernel_find(&d->uuid);
	if (k && (!K.set_err || K.set_err == -EINPROGRESS))
		kernel_table(k, d);
	if (k)
		err = K.set_err;
	kernel_unlock();
	return err;
}

int meshtgt_drive_del(struct mesh *m, const struct muuid *uuid, bool force)
{
	struct kernel_drive *k;
	int err;

	(void)m;
	kernel_lock();
	K.dels++;
	K.forced += force;
	k = kernel_find(uuid);
	err = !k ? -ENOENT : force ? 0 : K.del_err;
	if (k && force && K.busy) {
		K.busy--;
		k->gone = true;
		err = -EBUSY;
	}
	if (k && !err)
		k->there = false;
	kernel_unlock();
	return err;
}

int meshtgt_gone_del(struct mesh *m, const struct muuid *uuid)
{
	struct kernel_drive *k;
	int err;

	(void)m;
	kernel_lock();
	k = kernel_find(uuid);
	err = !k ? -ENOENT : !k->gone ? -EEXIST : K.busy ? -EBUSY : 0;
	K.busy -= err == -EBUSY;
	if (k && !err)
		k->there = false;
	kernel_unlock();
	return err;
}

int meshtgt_drives(struct mesh *m, struct meshtgt_drive **out, size_t *n)
{
	(void)m;
	*out = K.family ? calloc(KERNEL_DRIVES, sizeof(**out)) : NULL;
	*n = 0;
	kernel_lock();
	for (int i = 0; *out && i < KERNEL_DRIVES; i++) {
		if (!K.drive[i].there)
			continue;
		(*out)[*n] = K.drive[i].d;
		(*out)[*n].extents = NULL;
		(*out)[*n].nr_extents = 0;
		strcpy((*out)[*n].state, K.drive[i].gone ? MESHBLK_STATE_GONE : "up");
		++*n;
	}
	kernel_unlock();
	return *out ? 0 : -ENOENT;
}

void meshtgt_drives_free(struct meshtgt_drive *d, size_t n)
{
	(void)n;
	free(d);
}

int meshtgt_listen(struct mesh *m, const char *addr, u16 port)
{
	(void)m;
	(void)addr;
	(void)port;
	kernel_lock();
	/* All drives are there before the first client is. */
	K.listens = true;
	for (int i = 0; i < KERNEL_DRIVES; i++)
		K.listens &= !i || !K.drive[0].there || K.adds;
	kernel_unlock();
	return 0;
}

int meshtgt_serve(struct mesh *m, int stop, void (*fn)(void *priv, struct meshtgt_grant *g), void *priv)
{
	struct pollfd p = { .fd = stop, .events = POLLIN };
	struct meshtgt_grant g;
	bool pending;

	(void)m;
	while (poll(&p, 1, 1) == 0) {
		kernel_lock();
		pending = K.pending;
		g = K.grant;
		K.pending = false;
		kernel_unlock();
		if (pending)
			fn(priv, &g);
	}
	return 0;
}

static struct disk *watched;

/* On the drive's thread. */
int meshtgt_grant_reply(struct mesh *m, u64 request, int err)
{
	u64 durable = K.path ? file_number(K.path, &K.grant.extent) : 0;

	(void)m;
	kernel_lock();
	K.answers++;
	K.before = watched && watched->record;
	K.answered = request;
	K.answer = err;
	K.durable = durable;
	kernel_unlock();
	return 0;
}

int mesh_events_join(struct mesh *m)
{
	(void)m;
	return 0;
}

/* Always readable: an event is there or not. */
int mesh_fd(const struct mesh *m)
{
	if (m->fd < 0)
		((struct mesh *)m)->fd = open("/dev/null", O_RDONLY);
	return m->fd;
}

int mesh_events_read(struct mesh *m, void (*fn)(void *priv, const struct mesh_event *e), void *priv)
{
	struct mesh_event e = { .target = true, .event = MESHTGT_EV_DRIVE_GONE };
	struct timespec ms = { .tv_nsec = 1000000 };
	bool event;

	(void)m;
	kernel_lock();
	event = K.event;
	K.event = false;
	e.uuid = K.event_drive;
	kernel_unlock();
	if (event)
		fn(priv, &e);
	else
		nanosleep(&ms, NULL);
	return 0;
}

static inline void kernel_member(struct meshblk_member *m)
{
	m->kind = MESHBLK_KIND_BDEV;
	m->drive = muuid_null(&K.member_drive) ? (struct muuid) { .b = { 'd', 1 } } : K.member_drive;
	if (K.member_path)
		snprintf(m->path, sizeof(m->path), "%s", K.member_path);
}

int meshblk_volumes(struct mesh *m, struct meshblk_volume **out, size_t *n)
{
	(void)m;
	*n = !muuid_null(&K.member) || !muuid_null(&K.member_drive);
	*out = calloc(1, sizeof(**out));
	strcpy((*out)->name, "data");
	(*out)->nr_members = 1;
	(*out)->members = calloc(1, sizeof(*(*out)->members));
	(*out)->members[0].extent = K.member;
	kernel_member((*out)->members);
	return 0;
}

void meshblk_volumes_free(struct meshblk_volume *v, size_t n)
{
	(void)n;
	free(v->members);
	free(v);
}

int meshblk_abandoned_get(struct mesh *m, struct meshblk_abandoned **out, size_t *n)
{
	(void)m;
	*n = K.abandoned || !muuid_null(&K.abandoned_drive);
	*out = calloc(1, sizeof(**out));
	kernel_member(&(*out)->member);
	if (!muuid_null(&K.abandoned_drive))
		(*out)->member.drive = K.abandoned_drive;
	return 0;
}

#endif
