// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the state folder keeps of each drive, in labels/:
 *
 *   UUID         its label, the bytes of one copy: made when it is taken up, daily, and before an
 *                extent is taken out
 *   UUID.old     the one before
 *   UUID.known   the device that it was on when it was served last: format/objects.h, with a checksum
 *
 * For an administrator that restores a label. A label whose sequence is below its backup's is one of a
 * drive that was put back to an older state.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "userspace/daemon/disk_own.h"
#include "userspace/machine/guard.h"

#define DAY_MS	(24ULL * 3600 * 1000)
#define PATH	320
#define KNOWN_BYTES	4096

static void file_of(char out[PATH], const char *state, const struct muuid *drive, const char *suffix)
{
	snprintf(out, PATH, "%s/labels/%s%s", state, muuid_str(drive).s, suffix);
}

static int folder_sync(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), err;

	if (fd < 0)
		return -errno;
	/* Some file systems have no fsync of a folder. */
	err = fsync(fd) && errno != EINVAL ? -errno : 0;
	close(fd);
	return err;
}

static int folder_make(const char *state)
{
	char folder[PATH];

	snprintf(folder, sizeof(folder), "%s/labels", state);
	if (!mkdir(folder, 0700))
		return folder_sync(state);
	return errno == EEXIST ? 0 : -errno;
}

static int file_write(const char *path, const void *buf, size_t n)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600), err = 0;

	if (fd < 0)
		return -errno;
	errno = 0;
	if (write(fd, buf, n) != (ssize_t)n || fsync(fd))
		err = errno ? -errno : -EIO;
	close(fd);
	return err;
}

/*
 * Whole after a crash: the new one, or the one before under its own name or the old one's, which is @old;
 * NULL: under its own.
 */
static int file_put(const char *state, const struct muuid *drive, const char *suffix, const char *old,
		    const void *buf, size_t n)
{
	char path[PATH], was[PATH], new[PATH], folder[PATH];
	int err = folder_make(state);

	file_of(path, state, drive, suffix);
	file_of(was, state, drive, old ? old : "");
	file_of(new, state, drive, old ? ".new" : ".next");
	if (!err)
		err = file_write(new, buf, n);
	if (!err && old && rename(path, was) && errno != ENOENT)
		err = -errno;
	if (!err && rename(new, path))
		err = -errno;
	if (err)
		return err;
	snprintf(folder, sizeof(folder), "%s/labels", state);
	return folder_sync(folder);
}

int disk_backup(const char *state, const struct label *l)
{
	void *buf __free(free) = malloc(LABEL_BYTES_MAX);
	int n = buf ? label_encode(l, buf, LABEL_BYTES_MAX) : -ENOMEM;

	return n < 0 ? n : file_put(state, &l->drive, "", ".old", buf, n);
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

int disk_backup_read(const char *state, const struct muuid *drive, struct label *l)
{
	static const char *const suffix[] = { "", ".old" };
	void *buf __free(free) = malloc(LABEL_BYTES_MAX);
	int n, err = buf ? -ENOENT : -ENOMEM;
	char path[PATH];

	for (size_t i = 0; buf && err && i < 2; i++) {
		file_of(path, state, drive, suffix[i]);
		n = file_get(path, buf, LABEL_BYTES_MAX);
		err = n < 0 ? n : label_decode(buf, n, l);
		if (!err && !muuid_equal(&l->drive, drive))
			err = -EUCLEAN;
	}
	return err;
}

int disk_known_get(const char *state, const struct muuid *drive, struct obj_known *out)
{
	char path[PATH], text[KNOWN_BYTES];
	int n, err;

	memset(out, 0, sizeof(*out));
	file_of(path, state, drive, ".known");
	n = file_get(path, text, sizeof(text));
	err = n < 0 ? n : obj_decode(OBJ_KNOWN, text, n, out, NULL, 0);
	if (!err && !muuid_equal(&out->drive, drive))
		err = -EUCLEAN;
	if (err)
		obj_free(OBJ_KNOWN, out);
	return err;
}

int disk_known_put(const char *state, const struct muuid *drive, const struct obj_disk *on)
{
	struct obj_known k;
	u8 random[16];
	char *text;
	int err = disk_known_get(state, drive, &k);
	bool same = !err && !strcmp(k.wwid, on->wwid) && !strcmp(k.serial, on->serial);

	obj_free(OBJ_KNOWN, &k);
	if (same)
		return 0;
	if (getrandom(random, sizeof(random), 0) != sizeof(random))
		return -EIO;
	k = (struct obj_known) { .drive = *drive };
	memcpy(k.wwid, on->wwid, sizeof(k.wwid));
	memcpy(k.serial, on->serial, sizeof(k.serial));
	obj_op(&k.o, random);
	err = obj_encode(OBJ_KNOWN, &k, &text, NULL, 0);
	if (err)
		return err;
	err = file_put(state, drive, ".known", NULL, text, strlen(text));
	free(text);
	return err;
}

void disk_backup_due(struct disk *d, const struct label *l, bool now)
{
	int err;

	if (!d->s->config.state || l->sequence == d->backup_sequence ||
	    (!now && d->backup_ms && disk_now() - d->backup_ms < DAY_MS))
		return;
	err = disk_backup(d->s->config.state, l);
	if (err)
		disk_log(d->s, "%s: no copy of its label is kept: %s", d->path, strerror(-err));
	d->backup_ms = disk_now();
	d->backup_sequence = err ? 0 : l->sequence;
}
