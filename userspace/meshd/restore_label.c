// SPDX-License-Identifier: GPL-2.0-only
/*
 * meshctl drive restore-label: a label put together again from the copy in the
 * state folder and the layout records on the drive, when both copies on the
 * drive are unreadable. What becomes of each extent: format/restore.h.
 */
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "userspace/format/json.h"
#include "userspace/format/restore.h"
#include "userspace/meshd/export.h"
#include "userspace/meshd/serve.h"

#define LINES_MAX	(3 * LABEL_EXTENTS_MAX)

static const char *const what_words[] = {
	[RESTORE_CONFIRMED] = "confirmed by its record",
	[RESTORE_KEPT] = "kept, although no record names it: check it with drive extents",
	[RESTORE_FOUND] = "found on the drive, not in the backup",
	[RESTORE_NAMELESS] = "found, but which member it is does not show: an orphan",
	[RESTORE_DROPPED] = "left out: never recorded, or the trace of what was freed",
};

struct work {
	struct req *r;
	int	fd;
	u64	size;
	struct label *label, *out;
	struct label_disk disk;
	struct restore_scan scan;
	struct restore_line *line;
	struct layout *l, *spare;
	void	*buf;
};

static void work_free(struct work *w)
{
	if (w->fd >= 0)
		close(w->fd);
	restore_scan_free(&w->scan);
	free(w->label);
	free(w->out);
	free(w->line);
	free(w->l);
	free(w->spare);
	free(w->buf);
}

static int work_begin(struct work *w, const struct probe *p)
{
	w->label = malloc(sizeof(*w->label));
	w->out = malloc(sizeof(*w->out));
	w->line = calloc(LINES_MAX, sizeof(*w->line));
	w->l = malloc(sizeof(*w->l));
	w->spare = malloc(sizeof(*w->spare));
	w->buf = aligned_alloc(LAYOUT_PEEK, LAYOUT_COPY_BYTES);
	if (!w->label || !w->out || !w->line || !w->l || !w->spare || !w->buf)
		return -ENOMEM;
	w->fd = open(p->path, O_RDWR | O_DIRECT | O_DSYNC | O_EXCL | O_CLOEXEC);
	if (w->fd < 0)
		return -errno;
	if (!probe_same_disk(p, w->fd))
		return -ESTALE;
	return ioctl(w->fd, BLKGETSIZE64, &w->size) ? -errno : 0;
}

/*
 * The better of the two copies at @at: the highest version that is whole. One that
 * cannot be read may be it.
 */
static int record_at(struct work *w, u64 at, struct layout *best)
{
	int copy, err, found = -ENODATA;

	for (copy = 0; copy < LAYOUT_COPIES; copy++) {
		err = record_read(w->fd, at + copy * LAYOUT_COPY_BYTES, w->buf, w->spare);
		if (err == -EIO)
			return err;
		if (err || (!found && w->spare->version <= best->version))
			continue;
		memcpy(best, w->spare, sizeof(*best));
		found = 0;
	}
	return found;
}

/* How many records of the drive @l, a backup, has where they are. */
static u32 confirmed_by(struct work *w, const struct label *l)
{
	u32 i, n = 0;

	for (i = 0; i < l->extents; i++)
		n += l->extent[i].version && !record_at(w, l->extent[i].start, w->l) &&
		     layout_names(w->l, &l->extent[i].uuid);
	return n;
}

/*
 * The backup that fits best: by what is on the drive, then by the device. -ENOTUNIQ: two of
 * them, @was, have been this device. One was erased since, and records of it
 * may stand there yet, more than of the other.
 */
static int choose_backup(struct work *w, const struct twin_id *id, struct muuid was[2])
{
	u32 best = 0, n, devices = 0;
	struct muuid *all __free(free) = NULL;
	struct twin_id noted;
	size_t i, count;
	bool same;

	all = backup_list(&count);
	for (i = 0; i < count && devices < 2; i++) {
		if (backup_read(&all[i], w->out) || w->out->size != w->size)
			continue;
		same = !device_noted(&all[i], &noted) && twin_match(&noted, id) == TWIN_SAME;
		if (same)
			was[devices++] = all[i];
		n = 2 * confirmed_by(w, w->out) + same;
		if (n > best) {
			best = n;
			memcpy(w->label, w->out, sizeof(*w->label));
		}
	}
	return devices > 1 ? -ENOTUNIQ : best ? 0 : -ENOENT;
}

static int backup_verdict(struct work *w, const struct probe *p)
{
	struct muuid was[2];
	int err = choose_backup(w, &p->id, was);

	if (err == -ENOENT)
		return req_fail(w->r, "no copy of a label in %s/labels belongs to %s: neither the device "
				"nor a layout record on it matches one", D.state, p->path);
	if (!err)
		return 0;
	return req_fail(w->r, "%s has been drive %s and drive %s: one of them was erased, and the copies of "
			"labels in %s/labels do not say which; move what that folder has of the erased one "
			"away, then try again", p->path, muuid_str(&was[0]).s, muuid_str(&was[1]).s, D.state);
}

/* Bytes of the extent at @start, if the backup has it and its record agrees; else 0. */
static u64 confirmed_length(const struct label *l, u64 start, const struct layout *rec)
{
	u32 i;

	for (i = 0; i < l->extents; i++)
		if (l->extent[i].start == start && layout_names(rec, &l->extent[i].uuid))
			return l->extent[i].length;
	return 0;
}

/* It may be good as soon as the drive reads again: nothing is put in its place. */
static int unread(struct req *r, const char *what, u64 at)
{
	return req_fail(r, "%s at byte %llu cannot be read now (see dmesg); nothing was written. Try again "
			"when the drive reads there, or overwrite that block if it never will", what,
			(unsigned long long)at);
}

/*
 * Every place where an extent may begin. What is inside one that the backup
 * confirms is data, whatever it contains; behind others each MiB is checked.
 */
static int scan_drive(struct work *w)
{
	u64 at, next, length, said = 0;
	int err, rec;

	for (at = LABEL_AREA; at + LABEL_AREA < w->size; at = next) {
		next = at + LABEL_AREA;
		if (now_ms() - said > 500) {
			req_progress(w->r, "scanning for layout records", at, w->size);
			said = now_ms();
			if (req_cancelled(w->r))
				return -ECANCELED;
		}
		rec = record_at(w, at, w->l);
		if (rec == -EIO)
			return unread(w->r, "what may be a layout record", at);
		if (rec)
			continue;
		err = restore_add(&w->scan, at, w->l, &w->label->drive);
		if (err == -ENOMEM)
			return err;
		length = confirmed_length(w->label, at, w->l);
		if (!err && length)
			next = at + length;
	}
	return 0;
}

static void list_lines(struct work *w, int n)
{
	json_t *list = json_array(), *j;
	const struct restore_line *s;

	for (s = w->line; s < w->line + n; s++) {
		j = json_object();
		jset_uuid(j, "uuid", &s->extent.uuid);
		jset_uuid(j, "drive", &w->label->drive);
		jset_uuid(j, "volume", &s->extent.volume);
		jset_str(j, "name", s->extent.name);
		jset_u64(j, "start", s->extent.start);
		jset_u64(j, "length", s->extent.length);
		jset_u64(j, "version", s->extent.version);
		jset_str(j, "reason", what_words[s->what]);
		json_array_append_new(list, j);
		req_note(w->r, "at %llu MiB, %llu MiB of volume %s: %s",
			 (unsigned long long)s->extent.start >> 20,
			 (unsigned long long)s->extent.length >> 20,
			 s->extent.name[0] ? s->extent.name : "?", what_words[s->what]);
	}
	json_object_set_new(w->r->result, "extents", list);
}

/* Sequences that damaged copies still show are not used again. */
static u64 highest_sequence(const struct label_disk *disk)
{
	u64 best = 0, is;
	int copy;

	for (copy = 0; copy < 2; copy++) {
		is = le64toh(disk->head[copy].sequence);
		/* A rotten field may say anything; what no label reaches is no sequence. */
		if (label_magic(&disk->head[copy], sizeof(disk->head[copy])) && is < 1ULL << 48 &&
		    is > best)
			best = is;
	}
	return best;
}

static int write_label(struct work *w)
{
	struct label_disk none = { 0 };
	int err, each[2];

	err = label_wipe(w->fd, w->size);
	if (!err)
		err = label_write(w->fd, w->out, &none, each);
	if (!err && (each[0] || each[1]))
		err = -EIO;
	return err;
}

/* What is against it, in words: noted by a dry run, else a refusal without --force. */
static int objection(struct work *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static int objection(struct work *w, const char *fmt, ...)
{
	char why[320];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, sizeof(why), fmt, ap);
	va_end(ap);
	if (!arg_bool(w->r, "dry_run") && !arg_bool(w->r, "force"))
		return req_fail(w->r, "%s; add --force", why);
	req_note(w->r, "%s%s", why, arg_bool(w->r, "force") ? "" : "; needs --force");
	return 0;
}

/* Made since the label was lost, it has what the drive is used for now. */
static int check_signature(struct work *w, const char *path)
{
	char self[32], what[80];
	json_t *j;
	int rc;

	snprintf(self, sizeof(self), "/proc/self/fd/%d", w->fd);
	rc = probe_signature(self, what, sizeof(what));
	if (rc < 0)
		return req_fail(w->r, "%s cannot be probed for file systems", path);
	if (!rc)
		return 0;
	if (arg_bool(w->r, "dry_run")) {
		j = req_destroys(w->r, "drive", path);
		jset_str(j, "reason", what);
	}
	return objection(w, "%s carries %s, which its label would overwrite in part", path, what);
}

/* The device alone may be another drive's by now: one that was erased and used again. */
static int check_records(struct work *w, const char *path, int n)
{
	int i;

	for (i = 0; i < n; i++)
		if (w->line[i].what == RESTORE_CONFIRMED || w->line[i].what == RESTORE_FOUND ||
		    w->line[i].what == RESTORE_NAMELESS)
			return 0;
	return objection(w, "no layout record on %s names drive %s: nothing but the device says that it "
			 "was that drive once", path, muuid_str(&w->out->drive).s);
}

static int restore(struct work *w, const struct probe *p)
{
	const char *path = p->path;
	int n, each[2] = { 0 }, err = label_read(w->fd, w->size, w->out, &w->disk, each);

	if (!err)
		return req_fail(w->r, "%s has a label that can be read; nothing to restore", path);
	if (each[0] == -EIO || each[1] == -EIO)
		return unread(w->r, "a copy of the label", each[0] == -EIO ? 0 : w->size - LABEL_AREA);
	if (err != -EBADMSG && err != -EUCLEAN && err != -ENODATA)
		return req_fail(w->r, "%s: %s", path, strerror(-err));
	if (err == -EUCLEAN && !each[0] && !each[1] &&
	    objection(w, "%s carries the labels of two drives: one of them was overwritten in part by the "
		      "other", path))
		return -1;
	dry_begin(w->r);
	if (!arg_bool(w->r, "dry_run"))
		json_object_del(w->r->result, "dry_run");
	if (check_signature(w, path))
		return -1;
	if (backup_verdict(w, p))
		return -1;
	err = scan_drive(w);
	if (err)
		return w->r->error[0] ? -1 : req_fail(w->r, "%s: %s", path, strerror(-err));
	n = restore_build(w->label, &w->scan, highest_sequence(&w->disk), w->out, w->line, LINES_MAX,
			  uuid_random);
	if (n < 0)
		return req_fail(w->r, "%s: what is found makes no label: %s", path, strerror(-n));
	if (check_records(w, path, n))
		return -1;
	list_lines(w, n);
	jset_uuid(w->r->result, "drive", &w->out->drive);
	jset_u64(w->r->result, "sequence", w->out->sequence);
	if (p->unserved[0] && !(w->out->flags & LABEL_F_LOCAL))
		return req_fail(w->r, "%s cannot be exported: %s; nothing was written", path, p->unserved);
	if (arg_bool(w->r, "dry_run"))
		return 0;
	err = write_label(w);
	if (err)
		return req_fail(w->r, "%s: its label cannot be written: %s", path, strerror(-err));
	/* It was unexported for this command. */
	unexported_forget(&w->out->drive);
	req_note(w->r, "%s has its label again with %u extents; it is taken up in a moment", path,
		 w->out->extents);
	return 0;
}

/* Sick or another's, it does not get its label by itself, or not before a change. */
static int exported_now(struct req *r, const char *path)
{
	struct tdrive *d = tdrive_by_path(path);
	bool sick = d && tdrive_is(d, &d->sick);

	tdrive_put(d);
	if (sick)
		return req_fail(r, "%s is exported now, but its label is damaged, cannot be written or is "
				"another's: unexport it first (meshctl drive unexport %s --force), then "
				"restore its label", path, path);
	return req_fail(r, "%s is exported now: its label is in memory and is written again by itself",
			path);
}

static int may_restore(struct req *r, const char *path, struct probe *p)
{
	int err = take_probe(path, p);

	if (err)
		return req_fail(r, "%s: %s", path, err == -ETIMEDOUT ? "does not answer" :
				err == -ENOTBLK ? "not a block device" : strerror(-err));
	if (p->verdict == PROBE_EXPORTED)
		return exported_now(r, path);
	if (p->verdict == PROBE_USED)
		return req_fail(r, "%s is in use: %s", path, p->why);
	return 0;
}

int cmd_drive_restore(struct req *r)
{
	const char *path = arg_str(r, "path");
	struct work w = { .r = r, .fd = -1 };
	struct probe p;
	int err;

	if (path[0] != '/')
		return req_usage(r, "name a device, such as /dev/nvme0n1");
	err = may_restore(r, path, &p);
	probe_clear(&p);
	if (err)
		return err;
	err = work_begin(&w, &p);
	if (err == -ESTALE)
		req_fail(r, "%s is another device now than a moment ago; nothing was written", path);
	else if (err)
		req_fail(r, "%s: %s", path, strerror(-err));
	else
		err = restore(&w, &p);
	work_free(&w);
	export_rescan();
	return err;
}
