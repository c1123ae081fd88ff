// SPDX-License-Identifier: GPL-2.0-only
/* Which volumes the extents of this host's drives tell of. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "userspace/meshd/serve.h"

/* The better of an extent's two copies. */
static int read_record(struct tdrive *d, u64 start, struct layout *out, struct layout *spare)
{
	void *buf;
	int copy, err, best = -ENODATA;

	if (posix_memalign(&buf, 4096, LAYOUT_COPY_BYTES))
		return -ENOMEM;
	for (copy = 0; copy < LAYOUT_COPIES; copy++) {
		if (pread(d->fd, buf, LAYOUT_COPY_BYTES, start + copy * LAYOUT_COPY_BYTES) !=
		    LAYOUT_COPY_BYTES) {
			best = best == -ENODATA ? -EIO : best;
			continue;
		}
		err = layout_decode(buf, LAYOUT_COPY_BYTES, spare);
		if (!err && (best || spare->version > out->version)) {
			memcpy(out, spare, sizeof(*out));
			best = 0;
		} else if (err && best == -ENODATA) {
			best = err;
		}
	}
	free(buf);
	return best;
}

struct visit {
	void (*fn)(void *arg, const struct label_extent *e, const struct layout *l);
	void *arg;
	struct muuid volume;	/* zero: all */
	struct layout *l, *spare;
};

/* A copy of the table, so that no lock is held while drives are read. */
static struct label_extent *table_of(struct tdrive *d, u32 *n)
{
	struct label_extent *t;

	pthread_mutex_lock(&d->lock);
	*n = d->label->extents;
	t = malloc((*n + 1) * sizeof(*t));
	if (t)
		memcpy(t, d->label->extent, *n * sizeof(*t));
	pthread_mutex_unlock(&d->lock);
	return t;
}

static void visit_drive(struct tdrive *d, struct visit *v)
{
	struct label_extent *t;
	u32 i, n;

	t = table_of(d, &n);
	for (i = 0; t && i < n; i++) {
		if (t[i].state != LABEL_READY)
			continue;
		if (!muuid_null(&v->volume) && !muuid_equal(&v->volume, &t[i].volume))
			continue;
		if (!read_record(d, t[i].start, v->l, v->spare))
			v->fn(v->arg, &t[i], v->l);
	}
	free(t);
}

static int visit_all(struct visit *v)
{
	struct tdrive **all;
	size_t i, n;

	v->l = malloc(sizeof(*v->l));
	v->spare = malloc(sizeof(*v->spare));
	all = tdrives_all(&n);
	for (i = 0; all && i < n; i++) {
		if (v->l && v->spare)
			visit_drive(all[i], v);
		tdrive_put(all[i]);
	}
	free(all);
	i = v->l && v->spare ? 0 : 1;
	free(v->l);
	free(v->spare);
	return i ? -ENOMEM : 0;
}

struct found {
	struct mgmt_volume *v;
	size_t n;
};

static void count_volume(void *arg, const struct label_extent *e, const struct layout *l)
{
	struct found *f = arg;
	struct mgmt_volume *v, *grown;
	size_t i;

	/* A record that does not name the extent it is in belongs to none. */
	for (i = 0; i < l->members && !muuid_equal(&l->member[i].extent, &e->uuid); i++)
		;
	if (i == l->members)
		return;
	for (i = 0; i < f->n && !muuid_equal(&f->v[i].uuid, &l->volume); i++)
		;
	if (i == f->n) {
		grown = realloc(f->v, (f->n + 1) * sizeof(*f->v));
		if (!grown)
			return;
		f->v = grown;
		memset(&f->v[f->n++], 0, sizeof(*f->v));
	}
	v = &f->v[i];
	v->here++;
	if (l->version < v->version)
		return;
	v->uuid = l->volume;
	v->version = l->version;
	v->size = l->size;
	v->members = l->members;
	snprintf(v->name, sizeof(v->name), "%s", l->name);
}

void records_volumes(struct ask *a)
{
	json_t *list = json_array(), *data = json_object();
	struct found f = { NULL, 0 };
	struct visit v = { .fn = count_volume, .arg = &f };
	int err = visit_all(&v);
	size_t i;

	for (i = 0; i < f.n; i++)
		json_array_append_new(list, mgmt_volume_pack(&f.v[i]));
	free(f.v);
	json_object_set_new(data, "volumes", list);
	ask_reply(a, err, NULL, data);
}

static void keep_highest(void *arg, const struct label_extent *e, const struct layout *l)
{
	struct layout *best = arg;

	(void)e;
	if (l->version > best->version)
		memcpy(best, l, sizeof(*best));
}

void records_record(struct ask *a)
{
	struct layout *best = calloc(1, sizeof(*best));
	struct visit v = { .fn = keep_highest, .arg = best, .volume = ask_req(a)->volume };
	int err = best ? visit_all(&v) : -ENOMEM;
	json_t *data = NULL;

	if (!err && !best->version)
		err = -ENOENT;
	if (!err) {
		data = mgmt_record_pack(best);
		err = data ? 0 : -EIO;
	}
	ask_reply(a, err, err == -ENOENT ? "no record of that volume here" : NULL, data);
	free(best);
}
