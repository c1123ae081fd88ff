// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/format/umap.h"
#include "userspace/machine/guard.h"
#include "userspace/meshd/abandoned.h"
#include "userspace/meshd/meshd.h"

void abandoned_get(struct abandoned *a)
{
	struct mesh *m __free(mesh_close) = mesh_open();

	*a = (struct abandoned) { .err = -ENOMEM };
	if (m)
		a->err = meshblk_abandoned_get(m, &a->io, &a->n);
	/* No module, or one from before an upgrade, whose groups give up no I/O of a device. */
	if (a->err == -ENOENT || a->err == -EOPNOTSUPP)
		a->err = 0;
}

void abandoned_free(struct abandoned *a)
{
	free(a->io);
	*a = (struct abandoned) { 0 };
}

void abandoned_words(const struct meshblk_abandoned *io, char out[MGMT_REASON])
{
	const struct meshblk_member *m = &io->member;

	snprintf(out, MGMT_REASON, "drive %s (%.60s) has not ended %u I/O that %s given up",
		 muuid_str(&m->drive).s, m->path[0] ? m->path : "gone", m->abandoned,
		 m->abandoned == 1 ? "was" : "were");
}

int abandoned_bars(const struct abandoned *a, const struct muuid *extent, const struct muuid *drive,
		   char why[MGMT_REASON])
{
	char words[MGMT_REASON];
	size_t i;

	if (a->err) {
		snprintf(why, MGMT_REASON, "the kernel does not say which I/O its drives have not ended: %s",
			 strerror(-a->err));
		return -EIO;
	}
	for (i = 0; i < a->n; i++) {
		if ((extent && !muuid_equal(&a->io[i].member.extent, extent)) ||
		    (drive && !muuid_equal(&a->io[i].member.drive, drive)))
			continue;
		abandoned_words(&a->io[i], words);
		snprintf(why, MGMT_REASON, "%.160s: what these write may land yet; wait for the device, or "
			 "remove it", words);
		return -EAGAIN;
	}
	return 0;
}

int abandoned_bars_now(const struct muuid *extent, const struct muuid *drive, char why[MGMT_REASON])
{
	struct abandoned a;
	int err;

	abandoned_get(&a);
	err = abandoned_bars(&a, extent, drive, why);
	abandoned_free(&a);
	return err;
}

bool abandoned_at(const char *path, const struct muuid *drive)
{
	struct abandoned a;
	bool is = false;
	size_t i;

	abandoned_get(&a);
	for (i = 0; i < a.n && !is; i++)
		is = muuid_equal(&a.io[i].member.drive, drive) && !strcmp(a.io[i].member.path, path);
	abandoned_free(&a);
	return is;
}

/* The list of the pass before; the reconciler's thread alone has it. */
static struct abandoned before;

static pthread_mutex_t owed_lock = PTHREAD_MUTEX_INITIALIZER;
static struct umap owed;	/* owed_lock; 1: something of the volume is left undone */

static void owed_set(const struct muuid *volume, bool is)
{
	bool fresh;
	u32 *at;

	guard(&owed_lock);
	at = is ? umap_put(&owed, volume, &fresh) : umap_get(&owed, volume);
	if (at)
		*at = is;
}

void abandoned_owe(const struct muuid *volume)
{
	owed_set(volume, true);
}

void abandoned_settled(const struct muuid *volume)
{
	owed_set(volume, false);
}

bool abandoned_over(const struct abandoned *now, const struct muuid *volume)
{
	const u32 *at;
	size_t i;

	for (i = 0; i < now->n && !muuid_equal(&now->io[i].volume, volume); i++)
		;
	guard(&owed_lock);
	at = umap_get(&owed, volume);
	return !now->err && i == now->n && at && *at;
}

static bool is_listed(const struct abandoned *a, const struct meshblk_abandoned *io)
{
	size_t i;

	for (i = 0; i < a->n; i++)
		if (muuid_equal(&a->io[i].member.extent, &io->member.extent))
			return true;
	return false;
}

void abandoned_pass(const struct abandoned *now)
{
	struct meshblk_abandoned *copy;
	char words[MGMT_REASON];
	size_t i;

	/* What cannot be read is not empty. */
	copy = now->err ? NULL : malloc(now->n * sizeof(*copy) + 1);
	if (!copy)
		return;
	if (now->n)
		memcpy(copy, now->io, now->n * sizeof(*copy));
	for (i = 0; i < now->n; i++) {
		if (is_listed(&before, &now->io[i]))
			continue;
		abandoned_words(&now->io[i], words);
		log_warn("%s: extent %s stays allocated and held until that is over", words,
			 muuid_str(&now->io[i].member.extent).s);
	}
	for (i = 0; i < before.n; i++) {
		if (is_listed(now, &before.io[i]))
			continue;
		log_info("drive %s: the I/O that was given up is over", muuid_str(&before.io[i].member.drive).s);
		abandoned_owe(&before.io[i].volume);
	}
	free(before.io);
	before = (struct abandoned) { .io = copy, .n = now->n };
}
