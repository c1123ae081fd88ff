// SPDX-License-Identifier: GPL-2.0-only
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "userspace/daemon/crash.h"
#include "userspace/daemon/file.h"
#include "userspace/daemon/volumes_in.h"

#define RECORD_BYTES	(STORE_VALUE_MAX + 1)

static void path_of(const struct volumes *s, const struct muuid *volume, char path[VOL_PATH])
{
	snprintf(path, VOL_PATH, "%s/attached/%s", s->c.state, muuid_str(volume).s);
}

int vol_records_open(struct volumes *s)
{
	char folder[VOL_PATH];

	if (snprintf(folder, sizeof(folder), "%s/attached", s->c.state) >= VOL_PATH - MUUID_TEXT - 16)
		return -ENAMETOOLONG;
	if (!mkdir(folder, 0700))
		return file_sync_folder(folder);
	return errno == EEXIST ? 0 : -errno;
}

/* Kept for a person to look into; the volume is as one that was not attached. */
static int set_aside(struct volumes *s, const char *path, const char *why)
{
	char aside[VOL_PATH + 16];

	snprintf(aside, sizeof(aside), "%s.damaged", path);
	if (rename(path, aside) || file_sync_folder(aside))
		return vol_fail(s, -EUCLEAN, "%s is damaged (%s), and cannot be renamed: %s", path, why,
				strerror(errno));
	vol_log(s, "%s is damaged (%s): it is kept as %s, and is not used", path, why, aside);
	return -ENOENT;
}

static int decode(struct volumes *s, const struct muuid *volume, const char *path, const char *text,
		  size_t len, struct obj_attached *out)
{
	char why[OBJ_WHY];
	int err = obj_decode(OBJ_ATTACHED, text, len, out, why, sizeof(why));

	if (!err && !muuid_equal(&out->plan.volume, volume)) {
		err = -EUCLEAN;
		snprintf(why, sizeof(why), "it is of another volume");
	}
	if (!err)
		return 0;
	obj_free(OBJ_ATTACHED, out);
	if (err == -ENOMEM || err == -EPROTONOSUPPORT)
		return vol_fail(s, err, "%s: %s", path, why);
	return set_aside(s, path, why);
}

int vol_record_get(void *m, const struct muuid *volume, struct obj_attached *out)
{
	struct volumes *s = m;
	char *text = malloc(RECORD_BYTES);
	char path[VOL_PATH];
	int n;

	memset(out, 0, sizeof(*out));
	if (!text)
		return vol_fail(s, -ENOMEM, "no memory");
	path_of(s, volume, path);
	n = file_read(path, text, RECORD_BYTES, false);
	if (n == -EFBIG)
		n = set_aside(s, path, "it is too long");
	else if (n >= 0)
		n = decode(s, volume, path, text, n, out);
	else if (n != -ENOENT)
		vol_fail(s, n, "%s: %s", path, strerror(-n));
	free(text);
	return n;
}

int vol_records(void *m, struct muuid *out, u32 max)
{
	const struct volumes *s = m;
	char folder[VOL_PATH];
	const struct dirent *e;
	struct muuid u;
	u32 n = 0;
	DIR *d;

	snprintf(folder, sizeof(folder), "%s/attached", s->c.state);
	d = opendir(folder);
	if (!d)
		return errno == ENOENT ? 0 : -errno;
	while (n < max && (e = readdir(d)))
		if (!muuid_parse(e->d_name, &u))
			out[n++] = u;
	closedir(d);
	return n;
}

int vol_record_put(void *m, const struct obj_attached *r)
{
	struct volumes *s = m;
	char path[VOL_PATH], why[OBJ_WHY] = "";
	char *text = NULL;
	int err = obj_encode(OBJ_ATTACHED, r, &text, why, sizeof(why));

	path_of(s, &r->plan.volume, path);
	if (!err)
		err = file_replace(path, text, strlen(text));
	free(text);
	if (!err)
		crash_point("after attached");
	return err ? vol_fail(s, err, "%s cannot be written: %s", path, why[0] ? why : strerror(-err)) : 0;
}

int vol_record_erase(void *m, const struct muuid *volume)
{
	struct volumes *s = m;
	char path[VOL_PATH];
	int err = 0;

	path_of(s, volume, path);
	if (unlink(path) && errno != ENOENT)
		err = -errno;
	/* Also where it is gone: the daemon that removed it may have died before this. */
	if (!err)
		err = file_sync_folder(path);
	if (!err)
		crash_point("after erased");
	return err ? vol_fail(s, err, "%s cannot be removed: %s", path, strerror(-err)) : 0;
}
