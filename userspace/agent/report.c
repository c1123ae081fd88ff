// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/agent/report.h"
#include "userspace/format/view.h"

#define REPORT_TXN_MS	5000
#define VOLUMES_MAX	4096
/* Of a client's values, which are bounded (store/rights_rules.c): a list must not be cut. */
#define CLIENT_EXTENTS	160
#define CLIENT_MEMBERS	100

/* One report in the making. */
struct making {
	struct report_agent *r;
	const struct obj_recover *mark;
	struct obj_report out;
};

bool report_counts(const struct obj_report *r, const struct obj_recover *mark)
{
	return r && muuid_equal(&r->recover, &mark->recover) && r->generation == mark->generation &&
	       (r->marked || mark->dry);
}

static struct key report_key(const struct report_agent *r, const struct muuid *about)
{
	return (struct key) { .kind = KEY_REPORT, .host = r->host, .about = *about };
}

static const struct obj_report *made(const struct report_agent *r, const struct muuid *about,
				     const struct obj_recover *mark)
{
	const struct key k = report_key(r, about);
	const struct obj_report *o = copy_obj(r->copy, &k);

	return report_counts(o, mark) ? o : NULL;
}

static void begin(struct making *m, struct report_agent *r, const struct obj_recover *mark, u8 subject,
		  const struct muuid *about)
{
	memset(m, 0, sizeof(*m));
	m->r = r;
	m->mark = mark;
	m->out = (struct obj_report) { .host = r->host, .about = *about, .subject = subject, .role = r->role,
				       .recover = mark->recover, .generation = mark->generation,
				       .marked = !mark->dry };
}

/* 1: done; -EINPROGRESS: something had changed; negative: the store's error. */
static int put(struct making *m)
{
	struct deal d;
	int ret;

	deal_begin(&d, m->r->copy);
	deal_same(&d, &(struct key) { .kind = KEY_RECOVER });
	deal_put(&d, KEY_REPORT, &m->out, 0);
	ret = deal_close(&d, REPORT_TXN_MS);
	return ret ? ret : -EINPROGRESS;
}

/* A drive */

/* 0; -EINPROGRESS: a record is being read. */
static int extents(struct making *m, struct drive_agent *a, const struct label *l)
{
	m->out.extent = calloc(l->extents + 1, sizeof(*m->out.extent));
	if (!m->out.extent)
		return -ENOMEM;
	for (u32 i = 0; i < l->extents; i++) {
		const struct label_extent *e = &l->extent[i];
		struct obj_found *f = &m->out.extent[m->out.extents++];
		struct layout_head head;
		int err = a->ops->record(a->dev, e, &head);

		if (err == -EINPROGRESS)
			return err;
		view_slot(e, err ? NULL : &head, &f->slot);
		f->start = e->start;
		f->length = e->length;
	}
	return 0;
}

static int about(struct making *m, struct drive_agent *a, const struct label *l)
{
	struct obj_disk disk = { .size = 0 };
	int err = m->r->ops->about(m->r->m, a, &disk);

	if (err)
		return err;
	snprintf(m->out.path, sizeof(m->out.path), "%s", disk.path);
	snprintf(m->out.model, sizeof(m->out.model), "%s", disk.model);
	snprintf(m->out.wwid, sizeof(m->out.wwid), "%s", disk.wwid);
	snprintf(m->out.serial, sizeof(m->out.serial), "%s", disk.serial);
	m->out.size = l->size;
	m->out.lba = l->lba;
	m->out.local = l->flags & LABEL_F_LOCAL;
	m->out.sequence = l->sequence;
	m->out.was = l->generation;
	return 0;
}

/* The label is marked before it is read: an agent that was about to change it sees the mark there. */
static int read_drive(struct making *m, struct drive_agent *a)
{
	const struct label *l;
	int err = m->mark->dry ? 0 : drive_mark(a, m->mark->generation);

	if (err)
		return err;
	l = a->ops->label(a->dev);
	if (!l)
		return -ENODEV;
	if (m->r->role == PLAN_CLIENT && l->extents > CLIENT_EXTENTS)
		return -E2BIG;
	err = about(m, a, l);
	return err ? err : extents(m, a, l);
}

/* A drive that fails is named in the report of the host. 1, 0, -EINPROGRESS, the store's error. */
static int report_drive(struct report_agent *r, const struct obj_recover *mark, struct drive_agent *a)
{
	struct making m;
	int err;

	begin(&m, r, mark, OBJ_OF_DRIVE, &a->drive);
	err = read_drive(&m, a);
	if (!err)
		err = put(&m);
	else if (err != -EINPROGRESS && err != -ENOMEM)
		err = 0;
	free(m.out.extent);
	return err;
}

/* 1: one was made; 0: all are, or cannot be; -EINPROGRESS; negative: the store's error. */
static int drives(struct report_agent *r, const struct obj_recover *mark)
{
	struct drive_agent *a = NULL;
	bool waits = false;

	while (r->ops && (a = r->ops->drive(r->m, a))) {
		int err = made(r, &a->drive, mark) ? 0 : report_drive(r, mark, a);

		if (err && err != -EINPROGRESS)
			return err;
		waits = waits || err;
	}
	return waits ? -EINPROGRESS : 0;
}

/* A volume */

static bool on_drive(const struct obj_report *o, const struct muuid *volume)
{
	for (u32 i = 0; o && i < o->extents; i++) {
		if (muuid_equal(&o->extent[i].slot.volume, volume))
			return true;
	}
	return false;
}

/* The store has this very layout: it need not be sent again. */
static bool is_known(const struct report_agent *r, const struct muuid *volume, const struct layout *l)
{
	const struct obj_volume *v = copy_obj(r->copy, &(struct key) { .kind = KEY_VOLUME, .volume = *volume });

	return v && v->record->version == l->version && v->record->commit == l->commit;
}

static void keep_higher(struct making *m, const struct layout *l, const struct obj_leaving *leaving, u32 leavings)
{
	struct obj_report *o = &m->out;

	if (o->record && o->record->version > l->version)
		return;
	if (!o->record)
		o->record = malloc(sizeof(*o->record));
	free(o->leaving);
	o->leaving = calloc(leavings + 1, sizeof(*leaving));
	o->leavings = 0;
	if (!o->record || !o->leaving)
		return;
	*o->record = *l;
	if (leavings)
		memcpy(o->leaving, leaving, leavings * sizeof(*leaving));
	o->leavings = leavings;
}

static int from_drives(struct making *m)
{
	struct report_agent *r = m->r;
	struct drive_agent *a = NULL;
	struct layout *l = malloc(sizeof(*l));
	int err = l ? 0 : -ENOMEM;

	while (!err && r->ops && (a = r->ops->drive(r->m, a))) {
		if (!on_drive(made(r, &a->drive, m->mark), &m->out.about))
			continue;
		err = r->ops->layout(r->m, a, &m->out.about, l);
		if (!err)
			keep_higher(m, l, NULL, 0);
		err = err == -EINPROGRESS ? err : 0;
	}
	free(l);
	return err;
}

/* No module, or nothing in it. */
static bool is_none(int err)
{
	return err == -ENOPKG || err == -ENOENT;
}

static int from_kernel(struct making *m)
{
	struct report_agent *r = m->r;
	struct attach_kernel k = { 0 };
	int err = r->attach->kernel(r->attach_m, &m->out.about, &k);

	/* A kernel that does not answer may serve it: this is tried again. */
	if (err)
		return is_none(err) ? 0 : -EINPROGRESS;
	if (k.state == ATTACH_ABSENT)
		return 0;
	m->out.number = k.number;
	m->out.serves = k.state == ATTACH_SERVING || k.served;
	if (k.state != ATTACH_FENCED && k.state != ATTACH_ENDING)
		m->out.mode = k.readonly ? PLAN_RO : PLAN_RW;
	return 0;
}

/* What is attached is in the record, also after a reboot. */
static int from_record(struct making *m)
{
	struct report_agent *r = m->r;
	struct obj_attached was = { 0 };
	int err = r->attach->record_get(r->attach_m, &m->out.about, &was);

	if (!err) {
		if (was.plan.number > m->out.number)
			m->out.number = was.plan.number;
		if (!m->out.mode)
			m->out.mode = was.plan.mode;
		m->out.io = was.io;
		if (was.record)
			keep_higher(m, was.record, was.leaving, was.leavings);
	}
	obj_free(OBJ_ATTACHED, &was);
	return err == -EINPROGRESS ? err : 0;
}

static int report_volume(struct report_agent *r, const struct obj_recover *mark, const struct muuid *volume)
{
	struct making m;
	int err;

	begin(&m, r, mark, OBJ_OF_VOLUME, volume);
	err = from_drives(&m);
	if (!err && r->attach)
		err = from_kernel(&m);
	if (!err && r->attach)
		err = from_record(&m);
	if (m.out.record && is_known(r, volume, m.out.record)) {
		free(m.out.record);
		m.out.record = NULL;
	}
	if (m.out.record && r->role == PLAN_CLIENT && m.out.record->members > CLIENT_MEMBERS) {
		free(m.out.record);
		m.out.record = NULL;
	}
	if (!m.out.record)
		m.out.leavings = 0;
	if (!err)
		err = put(&m);
	free(m.out.record);
	free(m.out.leaving);
	return err;
}

/* Volumes that this host has anything of. */
struct volumes {
	struct muuid *id;
	size_t	n, room;
};

static int add(struct volumes *v, const struct muuid *id)
{
	if (v->n == v->room) {
		size_t room = v->room ? 2 * v->room : 64;
		struct muuid *more = realloc(v->id, room * sizeof(*more));

		if (!more)
			return -ENOMEM;
		v->id = more;
		v->room = room;
	}
	v->id[v->n++] = *id;
	return 0;
}

static int add_list(struct report_agent *r, struct volumes *v, int (*get)(void *m, struct muuid *out, u32 max))
{
	struct muuid *id = calloc(VOLUMES_MAX, sizeof(*id));
	int n = id ? get(r->attach_m, id, VOLUMES_MAX) : -ENOMEM;
	int err = n >= 0 || is_none(n) ? 0 : n == -ENOMEM ? n : -EINPROGRESS;

	for (int i = 0; i < n && !err; i++)
		err = add(v, &id[i]);
	free(id);
	return err;
}

static int list(struct report_agent *r, const struct obj_recover *mark, struct volumes *v)
{
	const struct key own = { .kind = KEY_REPORT, .host = r->host };
	const struct copy_item *i = NULL;
	int err = 0;

	while ((i = copy_next(r->copy, &own, 1, i))) {
		const struct obj_report *o = i->obj;

		for (u32 e = 0; report_counts(o, mark) && e < o->extents && !err; e++)
			err = add(v, &o->extent[e].slot.volume);
	}
	if (!err && r->attach)
		err = add_list(r, v, r->attach->kernels);
	if (!err && r->attach)
		err = add_list(r, v, r->attach->records);
	return err;
}

static int by_id(const void *a, const void *b)
{
	return muuid_cmp(a, b);
}

/* As drives(), but all that can be made are. */
static int volumes(struct report_agent *r, const struct obj_recover *mark)
{
	struct volumes v = { 0 };
	bool waits = false, some = false;
	int err = list(r, mark, &v);

	if (err) {
		free(v.id);
		return err;
	}
	if (v.n)
		qsort(v.id, v.n, sizeof(*v.id), by_id);
	for (size_t i = 0; i < v.n && err >= 0; i++) {
		err = made(r, &v.id[i], mark) ? 0 : report_volume(r, mark, &v.id[i]);
		some = some || err == 1;
		waits = waits || err == -EINPROGRESS;
		err = err == -EINPROGRESS ? 0 : err;
	}
	free(v.id);
	return err < 0 ? err : some ? 1 : waits ? -EINPROGRESS : 0;
}

/* The host itself: all else is there */

static int report_host(struct report_agent *r, const struct obj_recover *mark, u32 followed)
{
	struct drive_agent *a = NULL;
	struct obj_disk disk;
	struct making m;
	size_t n = 0;

	begin(&m, r, mark, OBJ_OF_HOST, &r->host);
	m.out.followed = followed;
	while (r->ops && (a = r->ops->drive(r->m, a))) {
		memset(&disk, 0, sizeof(disk));
		if (made(r, &a->drive, mark) || r->ops->about(r->m, a, &disk))
			continue;
		if (n < sizeof(m.out.lacks))
			n += snprintf(m.out.lacks + n, sizeof(m.out.lacks) - n, "%s%s", n ? ", " : "", disk.path);
	}
	return put(&m);
}

/* What was handed in goes with the mark; that all of it is there goes first. */
static int erase(struct report_agent *r)
{
	const struct key own = { .kind = KEY_REPORT, .host = r->host }, last = report_key(r, &r->host);
	struct key *k;
	struct deal d;
	size_t n;
	int ret = 0;

	k = copy_keys(r->copy, &own, 1, &n);
	if (n) {
		deal_begin(&d, r->copy);
		deal_same(&d, &(struct key) { .kind = KEY_RECOVER });
		if (copy_get(r->copy, &last))
			deal_erase(&d, &last);
		for (size_t i = 0; i < n && i < STORE_OPS_MAX / 2 - 1; i++) {
			if (!muuid_equal(&k[i].about, &r->host))
				deal_erase(&d, &k[i]);
		}
		ret = deal_close(&d, REPORT_TXN_MS);
	}
	r->again = r->again && n;
	free(k);
	return ret;
}

/* A drive that came late, or failed before, and can be read now: the plan waits until it is there, too. */
static int late(struct report_agent *r, const struct obj_recover *mark)
{
	struct drive_agent *a = NULL;
	struct making m;
	int err;

	while (r->ops && (a = r->ops->drive(r->m, a))) {
		if (made(r, &a->drive, mark))
			continue;
		begin(&m, r, mark, OBJ_OF_DRIVE, &a->drive);
		err = read_drive(&m, a);
		free(m.out.extent);
		if (err)
			continue;
		r->again = true;
		return erase(r);
	}
	return 0;
}

int report_turn(struct report_agent *r, u32 followed)
{
	const struct key key = { .kind = KEY_RECOVER };
	const struct copy_item *i = copy_get(r->copy, &key);
	struct obj_recover mark;
	int ret;

	if (!i)
		return erase(r);
	if (!i->obj)
		return 0;
	/* A transaction changes the copy, and with it what it points to. */
	memcpy(&mark, i->obj, sizeof(mark));
	if (r->again) {
		ret = erase(r);
		if (r->again)
			return ret;
	}
	if (made(r, &r->host, &mark))
		return late(r, &mark);
	ret = drives(r, &mark);
	if (!ret)
		ret = volumes(r, &mark);
	if (!ret)
		ret = report_host(r, &mark, followed);
	return ret == -EINPROGRESS ? 0 : ret;
}
