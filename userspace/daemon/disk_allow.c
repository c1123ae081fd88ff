// SPDX-License-Identifier: GPL-2.0-only
/*
 * Who may open what, out of the copy of the store: volume/V says the hosts, drive/D which extents are
 * there. A volume that the store does not have is for its label's attacher alone.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/daemon/disk_own.h"
#include "userspace/machine/guard.h"

static bool has(const struct disk_allow *a, size_t n, const struct muuid *volume)
{
	for (size_t i = 0; i < n; i++) {
		if (muuid_equal(&a[i].volume, volume))
			return true;
	}
	return false;
}

/* Of each volume of the label that the store has. NULL: no memory. */
static struct disk_allow *allow_make(const struct label *l, const struct copy *c, size_t *nr)
{
	struct disk_allow *a = calloc(1, sizeof(*a));
	size_t n = 0;

	for (u32 i = 0; a && i < l->extents; i++) {
		const struct key k = { .kind = KEY_VOLUME, .volume = l->extent[i].volume };
		const struct obj_volume *v = muuid_null(&k.volume) ? NULL : copy_obj(c, &k);
		struct disk_allow *grown;

		if (!v || has(a, n, &k.volume) || v->plan.allows > MESHTGT_ALLOW_MAX)
			continue;
		grown = realloc(a, (n + 1) * sizeof(*a));
		if (!grown) {
			free(a);
			return NULL;
		}
		a = grown;
		/* They are compared by bytes. */
		memset(&a[n], 0, sizeof(a[n]));
		a[n].volume = k.volume;
		a[n].all = !v->plan.allows;
		a[n].hosts = v->plan.allows;
		for (u32 h = 0; h < v->plan.allows; h++)
			a[n].host[h] = v->plan.allow[h];
		n++;
	}
	*nr = n;
	return a;
}

/* With d->lock: an extent that is ready in drive/D is no longer to leave the table. */
static bool out_again(struct disk *d, const struct obj_drive *key)
{
	size_t n = 0, was = d->nr_out;

	for (size_t i = 0; i < was; i++) {
		bool ready = false;

		for (u32 k = 0; key && k < key->plan.extents; k++)
			ready |= muuid_equal(&key->plan.extent[k].uuid, &d->out[i].extent) &&
				 key->plan.extent[k].state != PLAN_FREEING;
		if (!ready)
			d->out[n++] = d->out[i];
	}
	d->nr_out = n;
	return n != was;
}

static int allow_drive(struct disk *d, const struct copy *c)
{
	const struct key k = { .kind = KEY_DRIVE, .drive = d->uuid };
	const struct label *l = disk_ops.label(d);
	struct disk_allow *a;
	bool same;
	size_t n;

	if (!l || (d->allow_revision == copy_revision(c) && d->allow_no == d->shown_no))
		return 0;
	a = allow_make(l, c, &n);
	if (!a)
		return -ENOMEM;
	guard(&d->lock);
	same = n == d->nr_allow && !memcmp(a, d->allow ? d->allow : a, n * sizeof(*a));
	free(same ? a : d->allow);
	if (!same) {
		d->allow = a;
		d->nr_allow = n;
	}
	if (out_again(d, copy_obj(c, &k)) || !same)
		disk_push(d);
	d->allow_revision = copy_revision(c);
	d->allow_no = d->shown_no;
	return 0;
}

int disks_allow(struct disks *s, const struct copy *c)
{
	struct disk *d;
	int err = 0;

	/* Half a copy says of volumes that they are gone. */
	if (!copy_whole(c))
		return 0;
	for (d = disks_next(s, NULL); d && !err; d = disks_next(s, d))
		err = allow_drive(d, c);
	return err;
}
