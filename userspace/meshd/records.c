// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the extents of this host's drives say: of themselves, of volumes, of
 * layouts. All drives are read at once, one thread each; a drive that does not
 * answer in time is left out, or reported from memory.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "userspace/format/json.h"
#include "userspace/format/umap.h"
#include "userspace/meshd/fan.h"
#include "userspace/meshd/serve.h"

/* A drive's part of the work: a copy of its table, so that no lock is held. */
struct scan {
	struct tdrive *d;
	struct label_extent *e;
	u32	n;
	void	*(*work)(struct scan *k);
	int	refs;		/* atomic: the thread's and the caller's */
	unsigned long steps;		/* atomic: extents that were read */
};

static void look_drop(void *item)
{
	struct scan *k = item;

	if (__atomic_sub_fetch(&k->refs, 1, __ATOMIC_ACQ_REL))
		return;
	tdrive_put(k->d);
	free(k->e);
	free(k);
}

static bool wanted(const struct mgmt_req *q, const struct label_extent *e)
{
	return (muuid_null(&q->volume) || muuid_equal(&q->volume, &e->volume)) &&
	       (muuid_null(&q->extent) || muuid_equal(&q->extent, &e->uuid));
}

static struct scan *scan_new(struct tdrive *d, const struct mgmt_req *q)
{
	struct scan *k = calloc(1, sizeof(*k));
	const struct label *l;
	u32 i;

	if (!k)
		return NULL;
	pthread_mutex_lock(&d->lock);
	l = d->label;
	k->e = calloc(l->extents + 1, sizeof(*k->e));
	for (i = 0; k->e && i < l->extents; i++)
		if (wanted(q, &l->extent[i]))
			k->e[k->n++] = l->extent[i];
	pthread_mutex_unlock(&d->lock);
	if (!k->e) {
		free(k);
		return NULL;
	}
	tdrive_get(d);
	k->d = d;
	k->refs = 1;
	return k;
}

/* What @q wants of each drive; a drive with nothing of it is not read. */
static struct scan **scans(const struct mgmt_req *q, size_t *n)
{
	struct tdrive **all __free(free) = NULL;
	struct scan **out, *k;
	size_t i, drives;

	*n = 0;
	all = tdrives_all(&drives);
	out = calloc(drives + 1, sizeof(*out));
	for (i = 0; all && i < drives; i++) {
		k = out && (muuid_null(&q->drive) || muuid_equal(&q->drive, &all[i]->uuid)) ?
		    scan_new(all[i], q) : NULL;
		if (k && !k->n)
			look_drop(k);
		else if (k)
			out[(*n)++] = k;
		tdrive_put(all[i]);
	}
	return out;
}

static unsigned long look_steps(void *item)
{
	return __atomic_load_n(&((struct scan *)item)->steps, __ATOMIC_RELAXED);
}

static void *look_work(void *item)
{
	struct scan *k = item;
	void *result;

	if (!tdrive_read_begin(k->d))
		return NULL;
	result = k->work(k);
	tdrive_read_end(k->d);
	return result;
}

/* Run @f with @work on all of @k, which stay the caller's; NULL: no memory. */
static void **run_scans(const struct fan *f, void *(*work)(struct scan *k), struct scan **k, size_t n)
{
	void **result = calloc(n + 1, sizeof(*result));
	size_t i;

	if (!result)
		return NULL;
	for (i = 0; i < n; i++) {
		k[i]->work = work;
		__atomic_add_fetch(&k[i]->refs, 1, __ATOMIC_RELAXED);
	}
	fan_run(f, (void **)k, n, SERVE_MS, result);
	return result;
}

/* The header that counts of an extent; 0 or -ENODATA, -EIO. */
static int peek(struct scan *k, const struct label_extent *e, void *buf, struct layout_head *h)
{
	int copy, err = -ENODATA;

	if (!e->version)
		return -ENODATA;
	for (copy = 0; copy < LAYOUT_COPIES; copy++) {
		if (pread(k->d->fd, buf, LAYOUT_PEEK, e->start + copy * LAYOUT_COPY_BYTES) !=
		    LAYOUT_PEEK)
			err = -EIO;
		else if (!layout_peek(buf, LAYOUT_PEEK, h) && h->version == e->version &&
			 h->commit == e->commit && muuid_equal(&h->volume, &e->volume))
			return 0;
	}
	return err;
}

/* MGMT_EXTENTS */

struct seen {
	bool	recorded;
	bool	unread;
};

static struct seen seen_as(int err)
{
	return (struct seen) { .recorded = err >= 0, .unread = err < 0 && err != -ENODATA };
}

static void *extents_work(struct scan *k)
{
	struct seen *out = calloc(k->n + 1, sizeof(*out));
	void *buf __free(free) = aligned_alloc(LAYOUT_PEEK, LAYOUT_PEEK);
	struct layout_head h;
	u32 i;

	for (i = 0; out && i < k->n; i++)
		out[i] = seen_as(buf ? peek(k, &k->e[i], buf, &h) : -ENOMEM);
	return out;
}

/* @seen: NULL: the drive did not answer in time. */
static void add_extents(json_t *list, struct scan *k, const struct seen *seen,
			const struct opens *opens)
{
	struct mgmt_extent m;
	u32 i;

	for (i = 0; i < k->n; i++) {
		pthread_mutex_lock(&k->d->lock);
		tdrive_extent(k->d, &k->e[i], &m);
		pthread_mutex_unlock(&k->d->lock);
		m.recorded = seen && seen[i].recorded;
		m.unread = seen ? seen[i].unread : k->e[i].version > 0;
		m.opens = opens_of(opens, &m.uuid);
		json_array_append_new(list, mgmt_extent_pack(&m));
	}
}

static void scans_free(struct scan **k, size_t n)
{
	size_t i;

	for (i = 0; k && i < n; i++)
		look_drop(k[i]);
	free(k);
}

json_t *records_local(const struct mgmt_req *q)
{
	static const struct fan f = { look_work, look_drop, free, NULL };
	json_t *list = json_array();
	struct opens *opens = opens_get();
	void **seen __free(free) = NULL;
	struct scan **k;
	size_t i, n;

	k = scans(q, &n);
	seen = k ? run_scans(&f, extents_work, k, n) : NULL;
	for (i = 0; k && i < n; i++) {
		add_extents(list, k[i], seen ? seen[i] : NULL, opens);
		if (seen)
			free(seen[i]);
	}
	scans_free(k, n);
	opens_free(opens);
	return list;
}

void records_extents(struct serve_req *s)
{
	serve_reply(s, 0, NULL, json_pack("{s:o}", "extents", records_local(serve_mgmt(s))));
}

/* MGMT_VOLUMES */

struct found_volume {
	struct mgmt_volume v;
	struct muuid boyer;		/* candidate for the holder of most, ... */
	u32	votes;			/* ... and by how many it leads */
};

struct found {
	struct found_volume *v;
	size_t	n, room;
	struct umap map;
};

static void found_free(void *result)
{
	struct found *f = result;

	if (!f)
		return;
	umap_free(&f->map);
	free(f->v);
	free(f);
}

static struct found_volume *found_at(struct found *f, const struct muuid *volume)
{
	struct found_volume *grown;
	bool fresh;
	u32 *at;

	if (f->n == f->room) {
		grown = realloc(f->v, (2 * f->room + 64) * sizeof(*f->v));
		if (!grown)
			return NULL;
		f->v = grown;
		f->room = 2 * f->room + 64;
	}
	at = umap_put(&f->map, volume, &fresh);
	if (!at)
		return NULL;
	if (!fresh)
		return &f->v[*at];
	*at = f->n;
	memset(&f->v[f->n], 0, sizeof(*f->v));
	return &f->v[f->n++];
}

static void vote(struct found_volume *v, const struct muuid *holder, u32 votes)
{
	if (!v->votes || muuid_equal(&v->boyer, holder)) {
		v->boyer = *holder;
		v->votes += votes;
	} else if (votes > v->votes) {
		v->boyer = *holder;
		v->votes = votes - v->votes;
	} else {
		v->votes -= votes;
	}
}

static void from_head(struct mgmt_volume *v, const struct layout_head *h)
{
	v->uuid = h->volume;
	v->version = h->version;
	v->commit = h->commit;
	v->size = h->size;
	v->members = h->members;
	v->shape = h->shape;
	snprintf(v->name, sizeof(v->name), "%s", h->name);
}

static void *volumes_work(struct scan *k)
{
	struct found *f = calloc(1, sizeof(*f));
	void *buf __free(free) = aligned_alloc(LAYOUT_PEEK, LAYOUT_PEEK);
	struct found_volume *v;
	struct layout_head h;
	u32 i;

	for (i = 0; f && buf && i < k->n; i++) {
		__atomic_store_n(&k->steps, i + 1, __ATOMIC_RELAXED);
		if (!k->e[i].version)
			continue;
		v = found_at(f, &k->e[i].volume);
		if (!v)
			break;
		v->v.here++;
		vote(v, &k->e[i].holder, 1);
		/* The same record was read already at another extent of this drive. */
		if (v->v.version >= k->e[i].version && (v->v.version > k->e[i].version ||
							v->v.commit == k->e[i].commit))
			continue;
		if (!peek(k, &k->e[i], buf, &h))
			from_head(&v->v, &h);
	}
	return f;
}

static void merge(struct found *sum, const struct found *part)
{
	struct found_volume *v;
	struct mgmt_volume was;
	size_t i;

	for (i = 0; i < part->n; i++) {
		const struct found_volume *p = &part->v[i];

		if (!p->v.version)
			continue;	/* no record of it can be read there */
		v = found_at(sum, &p->v.uuid);
		if (!v)
			return;
		was = v->v;
		if (p->v.version > was.version)
			v->v = p->v;
		v->v.here = was.here + p->v.here;
		vote(v, &p->boyer, p->votes);
	}
}

/* How many of each volume's extents are open now. */
static void count_open(struct found *f, struct scan **k, size_t n, const struct opens *o)
{
	size_t i;
	u32 j, *at;

	for (i = 0; i < n; i++) {
		for (j = 0; j < k[i]->n; j++) {
			at = opens_of(o, &k[i]->e[j].uuid) ?
			     umap_get(&f->map, &k[i]->e[j].volume) : NULL;
			if (at)
				f->v[*at].v.open++;
		}
	}
}

static json_t *volumes_pack(struct found *f)
{
	json_t *list = json_array();
	size_t i;

	for (i = 0; i < f->n; i++) {
		f->v[i].v.holder = f->v[i].boyer;
		json_array_append_new(list, mgmt_volume_pack(&f->v[i].v));
	}
	return list;
}

void records_volumes(struct serve_req *s)
{
	/* As long as drives answer they have their time: they may have thousands of extents. */
	static const struct fan f = { look_work, look_drop, found_free, look_steps };
	struct found *sum = calloc(1, sizeof(*sum));
	struct opens *opens = opens_get();
	void **part __free(free) = NULL;
	struct scan **k;
	size_t i, n, late = 0;

	k = scans(serve_mgmt(s), &n);
	part = sum && k ? run_scans(&f, volumes_work, k, n) : NULL;
	for (i = 0; part && i < n; i++) {
		if (part[i])
			merge(sum, part[i]);
		else
			late++;
		found_free(part[i]);
	}
	if (part) {
		count_open(sum, k, n, opens);
		serve_reply(s, 0, NULL, json_pack("{s:o, s:I}", "volumes", volumes_pack(sum), "late",
						  (json_int_t)late));
	} else {
		serve_refuse(s, -ENOMEM, "out of memory");
	}
	scans_free(k, n);
	opens_free(opens);
	found_free(sum);
}

/* MGMT_RECORDS */

struct records {
	json_t	*record;		/* each different one, as text */
	struct seen e[];
};

static void records_free(void *result)
{
	struct records *r = result;

	if (r)
		json_decref(r->record);
	free(r);
}

/* The record text of (version, commit) is made once for a drive. */
static void *records_work(struct scan *k)
{
	struct records *r = calloc(1, sizeof(*r) + k->n * sizeof(*r->e));
	struct layout *l __free(free) = malloc(sizeof(*l));
	void *buf __free(free) = aligned_alloc(LAYOUT_PEEK, LAYOUT_COPY_BYTES);
	u32 i, j;

	if (r)
		r->record = json_array();
	for (i = 0; r && i < k->n; i++) {
		r->e[i] = seen_as(l && buf ? record_current(k->d->fd, &k->e[i], buf, l) : -ENOMEM);
		for (j = 0; j < i; j++)
			if (r->e[j].recorded && k->e[j].version == k->e[i].version &&
			    k->e[j].commit == k->e[i].commit)
				break;
		if (r->e[i].recorded && j == i)
			json_array_append_new(r->record, mgmt_record_pack(l));
	}
	return r;
}

/* Records are equal when their bytes are: drives of one volume repeat them. */
static void add_record(json_t *all, json_t *text)
{
	json_t *have;
	size_t i;

	json_array_foreach(all, i, have)
		if (json_equal(have, text))
			return;
	json_array_append(all, text);
}

/* The owner of each drive: another host may show the same, and one of them is a copy. */
static json_t *owners(void)
{
	json_t *j = json_object();
	struct tdrive **all __free(free) = NULL;
	struct muuid owner;
	size_t i, n;

	all = tdrives_all(&n);
	for (i = 0; all && i < n; i++) {
		pthread_mutex_lock(&all[i]->lock);
		owner = all[i]->foreign ? (struct muuid) { { 0 } } : all[i]->label->owner;
		pthread_mutex_unlock(&all[i]->lock);
		jset_uuid(j, muuid_str(&all[i]->uuid).s, &owner);
		tdrive_put(all[i]);
	}
	return j;
}

static json_t *records_pack(struct scan **k, size_t n, void **part)
{
	json_t *list = json_array(), *all = json_array(), *text;
	struct opens *opens = opens_get();
	const struct records *r;
	size_t i, t;

	for (i = 0; i < n; i++) {
		r = part[i];
		add_extents(list, k[i], r ? r->e : NULL, opens);
		if (r)
			json_array_foreach(r->record, t, text)
				add_record(all, text);
	}
	opens_free(opens);
	return json_pack("{s:o, s:o, s:o}", "owners", owners(), "extents", list, "records", all);
}

void records_records(struct serve_req *s)
{
	static const struct fan f = { look_work, look_drop, records_free, NULL };
	void **part __free(free) = NULL;
	struct scan **k;
	size_t i, n;

	k = scans(serve_mgmt(s), &n);
	part = k ? run_scans(&f, records_work, k, n) : NULL;
	if (part)
		serve_reply(s, 0, NULL, records_pack(k, n, part));
	else
		serve_refuse(s, -ENOMEM, "out of memory");
	for (i = 0; part && i < n; i++)
		records_free(part[i]);
	scans_free(k, n);
}

/* MGMT_META */

struct meta {
	struct tdrive *d;
	u64	at;
	u32	n;
};

static void meta_drop(void *item)
{
	struct meta *m = item;

	tdrive_put(m->d);
	free(m);
}

static void *meta_work(void *item)
{
	struct meta *m = item;
	u64 from = m->at / LAYOUT_PEEK * LAYOUT_PEEK, skip = m->at - from;
	size_t bytes = (skip + m->n + LAYOUT_PEEK - 1) / LAYOUT_PEEK * LAYOUT_PEEK;
	void *buf __free(free) = NULL;
	json_t *text = NULL;

	if (!tdrive_read_begin(m->d))
		return NULL;
	buf = aligned_alloc(LAYOUT_PEEK, bytes);
	if (buf && pread(m->d->fd, buf, bytes, from) == (ssize_t)bytes)
		text = mgmt_hex_pack((u8 *)buf + skip, m->n);
	tdrive_read_end(m->d);
	return text;
}

static void meta_discard(void *result)
{
	json_decref(result);
}

/* The extent's place, by what memory knows; or why not, in words. */
static int meta_place(struct tdrive *d, const struct mgmt_req *q, u64 *at, char why[MGMT_REASON])
{
	struct label_extent *e;

	guard(&d->lock);
	e = label_find(d->label, &q->extent);
	if (!e) {
		snprintf(why, MGMT_REASON, "no such extent on the drive");
		return -ENOENT;
	}
	if (!muuid_equal(&e->volume, &q->volume)) {
		snprintf(why, MGMT_REASON, "this extent is another volume's");
		return -EPERM;
	}
	if (q->length > MGMT_META_MAX || q->offset > LAYOUT_DATA ||
	    q->length > LAYOUT_DATA - q->offset) {
		snprintf(why, MGMT_REASON, "that is not in the metadata of an extent");
		return -EINVAL;
	}
	*at = e->start + q->offset;
	return 0;
}

static int meta_free(const struct mgmt_req *q, char why[MGMT_REASON])
{
	struct opens *o = opens_get();
	u32 n = opens_of(o, &q->extent);

	opens_free(o);
	if (n)
		snprintf(why, MGMT_REASON, "the extent is open");
	return n ? -EBUSY : 0;
}

void records_meta(struct serve_req *s)
{
	static const struct fan f = { meta_work, meta_drop, meta_discard, NULL };
	const struct mgmt_req *q = serve_mgmt(s);
	struct tdrive *d = tdrive_find(&q->drive);
	struct meta *m = calloc(1, sizeof(*m));
	char why[MGMT_REASON] = "the drive is not here";
	void *text = NULL;
	u64 at = 0;
	int err;

	err = !d ? -ENODEV : !m ? -ENOMEM : meta_place(d, q, &at, why);
	if (!err)
		err = meta_free(q, why);
	if (err) {
		tdrive_put(d);
		free(m);
		serve_refuse(s, err, "%s", why);
		return;
	}
	*m = (struct meta) { d, at, q->length };
	fan_run(&f, (void **)&m, 1, SERVE_MS, &text);
	if (!text) {
		serve_refuse(s, -EIO, "the drive cannot be read");
		return;
	}
	serve_reply(s, 0, NULL, json_pack("{s:o}", "bytes", text));
}
