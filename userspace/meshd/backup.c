// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the state folder keeps of each exported drive, in labels/:
 *
 *   UUID         its label as it was written last, the bytes of one copy
 *   UUID.old     the one before
 *   UUID.newer   the newest of a drive of which an older state was put back
 *   UUID.unexported  set when its label could not be marked as unexported
 *   UUID.device  model, serial and world-wide id of the device, a line each
 *   *.erased     all of these of a drive that was erased; no code reads them
 *
 * Copies for the administrator and for `drive restore-label`. While the drive itself has a label
 * that can be read, one that stands here says no more than that the drive is older.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "userspace/meshd/drive.h"

#define EVERY_MS	10000	/* when only holders changed */

static void file_of(char *out, size_t size, const struct muuid *drive, const char *suffix)
{
	snprintf(out, size, "%s/labels/%s%s", D.state, muuid_str(drive).s, suffix);
}

/* As file_replace(), in a folder that may have to be made first. */
static int file_put(const char *path, const char *old, const void *buf, size_t n)
{
	char folder[256];
	int err;

	snprintf(folder, sizeof(folder), "%s/labels", D.state);
	if (!mkdir(folder, 0700)) {
		err = folder_sync(D.state);
		if (err)
			return err;
	} else if (errno != EEXIST) {
		return -errno;
	}
	return file_replace(path, old, buf, n);
}

static int file_get(const char *path, void *buf, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = read(fd, buf, size);
	close(fd);
	return n < 0 ? -EIO : (int)n;
}

static void make(struct tdrive *d, const struct label *l)
{
	char path[256], old[256];
	void *buf = malloc(LABEL_BYTES_MAX);
	int n = buf ? label_encode(l, buf, LABEL_BYTES_MAX) : -ENOMEM;

	tdrive_home_begin(d);
	file_of(path, sizeof(path), &d->uuid, "");
	file_of(old, sizeof(old), &d->uuid, ".old");
	d->backup_ms = now_ms();
	d->backup_due = false;
	if (n > 0)
		n = file_put(path, old, buf, n);
	if (n < 0)
		log_warn("%s: no copy of its label is kept: %s", d->path, strerror(-n));
	tdrive_home_end(d);
	free(buf);
}

/*
 * A label that only one copy holds is not backed up: if that copy became unreadable, the other
 * would look older than the backup. Made as soon as both have it.
 */
static bool one_copy_only(struct tdrive *d)
{
	bool sick = tdrive_is(d, &d->sick);

	if (sick) {
		d->backup_due = true;
		d->backup_ms = 0;
	}
	return sick;
}

void backup_label(struct tdrive *d, const struct label *l, bool now)
{
	if (one_copy_only(d))
		return;
	if (now || !d->backup_ms || now_ms() - d->backup_ms > EVERY_MS)
		make(d, l);
	else
		d->backup_due = true;
}

void backup_idle(struct tdrive *d)
{
	if (d->backup_due && (!d->backup_ms || now_ms() - d->backup_ms > EVERY_MS) && !one_copy_only(d))
		make(d, d->label);
}

int backup_read(const struct muuid *drive, struct label *l)
{
	static const char *const suffixes[] = { "", ".old" };
	void *buf __free(free) = malloc(LABEL_BYTES_MAX);
	char path[256];
	int n, err = -ENOENT;
	size_t i;

	if (!buf)
		return -ENOMEM;
	for (i = 0; err && i < 2; i++) {
		file_of(path, sizeof(path), drive, suffixes[i]);
		n = file_get(path, buf, LABEL_BYTES_MAX);
		err = n < 0 ? n : label_decode(buf, n, l);
		if (!err && !muuid_equal(&l->drive, drive))
			err = -EUCLEAN;
	}
	return err;
}

u64 backup_newer(const struct label *l)
{
	struct label *kept __free(free) = malloc(sizeof(*kept));

	return kept && !backup_read(&l->drive, kept) && kept->sequence > l->sequence ? kept->sequence : 0;
}

void backup_aside(const struct muuid *drive)
{
	char path[256], aside[256];

	file_of(path, sizeof(path), drive, "");
	file_of(aside, sizeof(aside), drive, ".newer");
	unlink(aside);
	if (link(path, aside))
		log_warn("%s: not kept as %s: %s", path, aside, strerror(errno));
}

/* The drive of a backup's name, once for both of its files: -1 for any other. */
static int backup_of(const char *name, struct muuid *u)
{
	const char *suffix = name + strnlen(name, MUUID_TEXT - 1);
	char path[256], text[MUUID_TEXT];

	snprintf(text, sizeof(text), "%.*s", MUUID_TEXT - 1, name);
	if (muuid_parse(text, u) || (*suffix && strcmp(suffix, ".old")))
		return -1;
	file_of(path, sizeof(path), u, "");
	return *suffix && !access(path, F_OK) ? -1 : 0;
}

struct muuid *backup_list(size_t *n)
{
	struct muuid *out = NULL, *at, u;
	struct dirent *e;
	char path[256];
	DIR *dir;

	*n = 0;
	snprintf(path, sizeof(path), "%s/labels", D.state);
	dir = opendir(path);
	while (dir && (e = readdir(dir))) {
		if (backup_of(e->d_name, &u))
			continue;
		at = mesh_grow((void **)&out, n, sizeof(*at));
		if (!at)
			break;
		*at = u;
	}
	if (dir)
		closedir(dir);
	return out;
}

static int file_erased(const struct muuid *drive, const char *suffix)
{
	char path[256], aside[272];

	file_of(path, sizeof(path), drive, suffix);
	snprintf(aside, sizeof(aside), "%s.erased", path);
	return rename(path, aside) && errno != ENOENT ? -errno : 0;
}

struct muuid *backup_list_of(const struct twin_id *is, size_t *n)
{
	struct twin_id noted;
	size_t i, all;
	struct muuid *out = backup_list(&all);

	for (*n = i = 0; i < all; i++)
		if (!device_noted(&out[i], &noted) && twin_match(&noted, is) == TWIN_SAME)
			out[(*n)++] = out[i];
	return out;
}

int backup_erased(const struct twin_id *is)
{
	static const char *const suffixes[] = { "", ".old", ".device" };
	struct muuid *all __free(free) = NULL;
	size_t i, k, n;
	int err = 0;

	all = backup_list_of(is, &n);
	for (i = 0; i < n; i++)
		for (k = 0; k < 3 && !err; k++)
			err = file_erased(&all[i], suffixes[k]);
	if (err)
		log_error("%s/labels: what it has of a drive that is to be erased cannot be renamed: %s",
			  D.state, strerror(-err));
	return err;
}

int device_note(const struct muuid *drive, const struct twin_id *id)
{
	char path[256], text[sizeof(*id) + 8];
	int n = snprintf(text, sizeof(text), "%s\n%s\n%s\n", id->model, id->serial, id->wwid);

	file_of(path, sizeof(path), drive, ".device");
	return file_put(path, NULL, text, n);
}

int device_noted(const struct muuid *drive, struct twin_id *id)
{
	char path[256], text[sizeof(*id) + 8], *at = text, *line;
	int n;

	memset(id, 0, sizeof(*id));
	file_of(path, sizeof(path), drive, ".device");
	n = file_get(path, text, sizeof(text) - 1);
	if (n < 0)
		return n;
	text[n] = 0;
	line = strsep(&at, "\n");
	snprintf(id->model, sizeof(id->model), "%s", line ? line : "");
	line = strsep(&at, "\n");
	snprintf(id->serial, sizeof(id->serial), "%s", line ? line : "");
	line = strsep(&at, "\n");
	snprintf(id->wwid, sizeof(id->wwid), "%s", line ? line : "");
	return 0;
}

void device_forget(const struct muuid *drive)
{
	char path[256];

	file_of(path, sizeof(path), drive, ".device");
	unlink(path);
}

int unexported_note(const struct muuid *drive)
{
	char path[256];

	file_of(path, sizeof(path), drive, ".unexported");
	return file_put(path, NULL, "", 0);
}

bool unexported_noted(const struct muuid *drive)
{
	char path[256];

	file_of(path, sizeof(path), drive, ".unexported");
	return !access(path, F_OK);
}

void unexported_forget(const struct muuid *drive)
{
	char path[256];

	file_of(path, sizeof(path), drive, ".unexported");
	unlink(path);
}
