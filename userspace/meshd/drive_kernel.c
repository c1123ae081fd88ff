// SPDX-License-Identifier: GPL-2.0-only
/* What the kernel is given of a drive, and what it serves under its UUID. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/meshd/drive.h"

int tdrive_table(const struct tdrive *d, const struct label *l, struct meshtgt_drive *out)
{
	u32 i;

	memset(out, 0, sizeof(*out));
	out->uuid = d->uuid;
	snprintf(out->path, sizeof(out->path), "%s", d->path);
	out->nr_extents = l->extents;
	out->extents = calloc(l->extents + 1, sizeof(*out->extents));
	if (!out->extents)
		return -ENOMEM;
	for (i = 0; i < l->extents; i++) {
		const struct label_extent *e = &l->extent[i];

		out->extents[i] = (struct meshtgt_extent) {
			.uuid = e->uuid, .start = e->start, .length = e->length,
			.holder = e->holder, .version = e->version,
			.attach = e->attach, .attacher = e->attacher,
			/* What is open stays so; no host gets more of what another one serves. */
			.ready = e->state == LABEL_READY && !d->foreign,
		};
	}
	return 0;
}

enum kernel_view { KERNEL_HAS_NOT, KERNEL_HAS, KERNEL_GONE, KERNEL_OTHER, KERNEL_SILENT };

/* What the kernel has under the drive's UUID; @path: the device, if another. */
static enum kernel_view kernel_has(struct mesh *m, const struct tdrive *d, char *path, size_t size)
{
	enum kernel_view view = KERNEL_HAS_NOT;
	struct meshtgt_drive *all;
	size_t i, n;
	int err = meshtgt_drives(m, &all, &n);

	if (err)
		return err == -ENOENT ? view : KERNEL_SILENT;
	for (i = 0; i < n; i++) {
		if (!muuid_equal(&all[i].uuid, &d->uuid))
			continue;
		view = !strcmp(all[i].state, MESHBLK_STATE_GONE) ? KERNEL_GONE :
		       strcmp(all[i].path, d->path) ? KERNEL_OTHER : KERNEL_HAS;
		snprintf(path, size, "%s", all[i].path);
	}
	meshtgt_drives_free(all, n);
	return view;
}

/* Another device below open extents would give their volumes other data. */
static void other_served(const struct tdrive *d, const char *path)
{
	log_error("%s: the kernel serves the drive of that label from %s; %s is left alone", d->path,
		  path, d->path);
}

bool tdrive_elsewhere(struct tdrive *d)
{
	struct mesh *m __free(mesh_close) = mesh_open();
	char path[MGMT_PATH];

	if (!m || kernel_has(m, d, path, sizeof(path)) != KERNEL_OTHER)
		return false;
	other_served(d, path);
	return true;
}

static int check_table(struct mesh *m, const struct meshtgt_drive *table, char *why, size_t size)
{
	int err = mesh_family_id(m, true) ? meshtgt_drive_check(m, table) : -ENOPKG;

	snprintf(why, size, "%s", err ? mesh_why(m) : "");
	return err;
}

int tdrive_check(struct tdrive *d)
{
	struct mesh *m __free(mesh_close) = d->local ? NULL : mesh_open();
	struct meshtgt_drive table;
	char path[MGMT_PATH], why[160];
	enum kernel_view view;
	int err;

	if (d->local)
		return 0;
	if (!m)
		return -ENOMEM;
	view = kernel_has(m, d, path, sizeof(path));
	if (view == KERNEL_OTHER)
		other_served(d, path);
	if (view == KERNEL_OTHER || view == KERNEL_HAS)
		return view == KERNEL_HAS ? 0 : -EEXIST;
	err = tdrive_table(d, d->label, &table);
	if (err)
		return err;
	err = check_table(m, &table, why, sizeof(why));
	if (err)
		log_warn("%s: the kernel does not take it: %s", d->path, why);
	free(table.extents);
	return err;
}

int kernel_check(const char *path, char *why, size_t size)
{
	struct mesh *m __free(mesh_close) = mesh_open();
	struct meshtgt_drive d = { .nr_extents = 0 };	/* and no UUID yet */

	why[0] = 0;
	if (!m)
		return -ENOMEM;
	snprintf(d.path, sizeof(d.path), "%s", path);
	return check_table(m, &d, why, size);
}

static int push_table(struct mesh *m, struct tdrive *d, const struct meshtgt_drive *table)
{
	char path[MGMT_PATH] = "";

	switch (kernel_has(m, d, path, sizeof(path))) {
	case KERNEL_HAS:
		return meshtgt_extents_set(m, table);
	case KERNEL_OTHER:
		other_served(d, path);
		return -EEXIST;
	case KERNEL_GONE:
		/* What the kernel has is the drive before it went away. */
		meshtgt_drive_del(m, &d->uuid, true);
		break;
	case KERNEL_HAS_NOT:
	case KERNEL_SILENT:
		break;
	}
	return meshtgt_drive_add(m, table);
}

int tdrive_push(struct tdrive *d)
{
	struct mesh *m __free(mesh_close) = NULL;
	struct meshtgt_drive table;
	bool again;
	int err;

	if (tdrive_is(d, &d->ending))
		return -ENODEV;
	if (d->local) {
		local_keep(d);
		tdrive_set(d, &d->pushed, true);
		return 0;
	}
	m = mesh_open();
	if (!m)
		return -ENOMEM;
	err = tdrive_table(d, d->label, &table);
	if (!err)
		err = push_table(m, d, &table);
	pthread_mutex_lock(&d->lock);
	d->pushed = !err;
	again = err == d->push_err;
	d->push_err = err;
	pthread_mutex_unlock(&d->lock);
	if (err && !again)
		log_warn("%s: the kernel does not take it: %s", d->path, mesh_why(m));
	free(table.extents);
	return err;
}

/*
 * The kernel did not take it: commands from before were not back, or another program had it
 * open. It waits for such commands, and requests of peers wait meanwhile: not all the time.
 */
void tdrive_push_again(struct tdrive *d)
{
	u64 now = now_ms();
	bool due;

	if (d->local && d->taken)
		local_keep(d);
	pthread_mutex_lock(&d->lock);
	due = d->taken && !d->pushed && !d->sick && !d->foreign && !d->leaving && now >= d->push_at;
	pthread_mutex_unlock(&d->lock);
	if (!due)
		return;
	if (!tdrive_push(d))
		log_info("%s: the kernel serves it now", d->path);
	d->push_at = now_ms() + 4 * (now_ms() - now);
}

/*
 * The kernel's report comes late, and then the drive may be back: lost is the device that
 * it was given for this use, not the former one that is about to be replaced.
 */
bool tdrive_lost(struct tdrive *d)
{
	struct mesh *m __free(mesh_close) = mesh_open();
	char path[MGMT_PATH];

	return m && kernel_has(m, d, path, sizeof(path)) == KERNEL_GONE && tdrive_is(d, &d->pushed);
}

int tdrive_unserve(struct tdrive *d, bool force)
{
	struct mesh *m __free(mesh_close) = d->local ? NULL : mesh_open();
	char path[MGMT_PATH];
	int err = 0;

	/* Only what no volume has here is given up. */
	if (d->local)
		return 0;
	switch (m ? kernel_has(m, d, path, sizeof(path)) : KERNEL_SILENT) {
	case KERNEL_HAS:
	case KERNEL_GONE:
		err = meshtgt_drive_del(m, &d->uuid, force);
		break;
	case KERNEL_SILENT:
		err = -EIO;
		break;
	case KERNEL_HAS_NOT:
		/* Its device may be being closed still: the target waits for that. */
		err = meshtgt_drive_del(m, &d->uuid, force);
		if (err == -ENOENT)
			err = 0;
		break;
	case KERNEL_OTHER:
		/* This drive must not end what is served from another device. */
		break;
	}
	if (err)
		log_debug("%s: %s", d->path, m ? mesh_why(m) : "no memory");
	else
		tdrive_set(d, &d->pushed, false);
	return err;
}
