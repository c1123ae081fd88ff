// SPDX-License-Identifier: GPL-2.0-only
/*
 * Drives that were exported for years, in a moment: sparse files with a label of many
 * extents each, and the layout records of the volumes on them.
 *
 *   mkdrives --owner UUID [--cluster UUID] [--drives 24] [--extents 1000]
 *            [--orphans 1] FOLDER
 *
 * Makes FOLDER/drive0 and so on. Volume K ("vol-K") is a stripe over extent K of each
 * drive. The last extents of each drive, as many as --orphans says, carry no record.
 * The UUIDs say what is what, and are the same each time: two sets of drives cannot be
 * shown to one host.
 */
#include <endian.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rdda/wire.h"
#include "userspace/format/label.h"
#include "userspace/format/layout.h"

#define EXTENT		(2 * LABEL_AREA)	/* metadata and one MiB of data */
#define STRIP		65536

enum kind { KIND_DRIVE = 0xd0, KIND_VOLUME = 0xf0, KIND_EXTENT = 0xe0 };

static struct {
	struct muuid owner, cluster;
	u32	drives, extents, orphans;
	const char *folder;
} arg = { .drives = 24, .extents = 1000, .orphans = 1 };

static struct muuid name(enum kind kind, u32 a, u32 b)
{
	__be32 be[2] = { htobe32(a), htobe32(b) };
	struct muuid u = { { kind } };

	memcpy(u.b + 8, be, sizeof(be));
	muuid_mark_random(&u);
	return u;
}

static u64 drive_bytes(void)
{
	return 2 * LABEL_AREA + arg.extents * EXTENT;
}

static u64 extent_at(u32 k)
{
	return LABEL_AREA + k * EXTENT;
}

static bool orphan(u32 k)
{
	return k >= arg.extents - arg.orphans;
}

/* What is written once is never 0; it differs from volume to volume. */
static u64 commit_of(u32 k)
{
	return 0x5eed000000000000ULL + k;
}

static void fill_label(struct label *l, u32 drive)
{
	u32 k;

	memset(l, 0, sizeof(*l));
	l->drive = name(KIND_DRIVE, drive, 0);
	l->cluster = arg.cluster;
	l->owner = arg.owner;
	l->sequence = 1;
	l->size = drive_bytes();
	l->lba = 512;
	l->extents = arg.extents;
	for (k = 0; k < arg.extents; k++) {
		struct label_extent *e = &l->extent[k];

		e->uuid = name(KIND_EXTENT, k, drive);
		e->volume = name(KIND_VOLUME, k, 0);
		e->start = extent_at(k);
		e->length = EXTENT;
		e->zeroed = EXTENT;
		e->state = LABEL_READY;
		e->version = 1;
		e->commit = commit_of(k);
		snprintf(e->name, sizeof(e->name), "vol-%u", k);
	}
}

static void fill_layout(struct layout *l, u32 k)
{
	u32 i;

	memset(l, 0, sizeof(*l));
	l->volume = name(KIND_VOLUME, k, 0);
	snprintf(l->name, sizeof(l->name), "vol-%u", k);
	l->version = 1;
	l->commit = commit_of(k);
	l->created = 1700000000;
	l->lba = 512;
	l->size = arg.drives * (EXTENT - LAYOUT_DATA);
	l->members = l->refs = arg.drives;
	for (i = 0; i < arg.drives; i++) {
		l->member[i].target = arg.owner;
		l->member[i].drive = name(KIND_DRIVE, i, 0);
		l->member[i].extent = name(KIND_EXTENT, k, i);
		l->member[i].size = EXTENT;
		l->member[i].port = RDDA_PORT;
		l->ref[i] = (struct layout_ref) { i, LAYOUT_DATA };
	}
	l->segments = 1;
	l->segment[0] = (struct layout_segment) {
		.length = l->size, .level = arg.drives > 1 ? PROT_STRIPE : PROT_LINEAR,
		.data = arg.drives, .groups = 1, .strip = STRIP, .refs = arg.drives,
	};
}

static void put(int fd, const void *buf, int bytes, u64 at)
{
	if (bytes < 0)
		errx(1, "what is to be written cannot be: %s", strerror(-bytes));
	if (pwrite(fd, buf, bytes, at) != bytes)
		err(1, "write");
}

static int make_drive(u32 i, struct label *l, void *buf)
{
	char path[4096];
	int fd, n;

	snprintf(path, sizeof(path), "%s/drive%u", arg.folder, i);
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0 || ftruncate(fd, drive_bytes()))
		err(1, "%s", path);
	fill_label(l, i);
	n = label_encode(l, buf, LABEL_BYTES_MAX);
	put(fd, buf, n, 0);
	put(fd, buf, n, drive_bytes() - LABEL_AREA);
	return fd;
}

static u32 number(const char *text, u32 most)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);

	if (!*text || *end || n > most)
		errx(2, "%s: a number up to %u is wanted", text, most);
	return n;
}

static void options(int argc, char **argv)
{
	static const struct option opts[] = {
		{ "owner", 1, NULL, 'o' }, { "cluster", 1, NULL, 'c' }, { "drives", 1, NULL, 'd' },
		{ "extents", 1, NULL, 'e' }, { "orphans", 1, NULL, 'r' }, { NULL, 0, NULL, 0 },
	};
	int c, bad = 0;

	while (!bad && (c = getopt_long(argc, argv, "", opts, NULL)) != -1) {
		if (c == 'o')
			bad = muuid_parse(optarg, &arg.owner);
		else if (c == 'c')
			bad = muuid_parse(optarg, &arg.cluster);
		else if (c == 'd')
			arg.drives = number(optarg, 255);
		else if (c == 'e')
			arg.extents = number(optarg, LABEL_EXTENTS_MAX);
		else if (c == 'r')
			arg.orphans = number(optarg, LABEL_EXTENTS_MAX);
		else
			bad = 1;
	}
	if (bad || optind + 1 != argc || muuid_null(&arg.owner) || !arg.drives ||
	    arg.orphans > arg.extents)
		errx(2, "usage: mkdrives --owner UUID [--cluster UUID] [--drives N] [--extents N] "
		     "[--orphans N] FOLDER");
	arg.folder = argv[optind];
}

int main(int argc, char **argv)
{
	struct label *label = malloc(sizeof(*label));
	struct layout *layout = malloc(sizeof(*layout));
	void *buf = malloc(LABEL_BYTES_MAX > LAYOUT_BYTES_MAX ? LABEL_BYTES_MAX : LAYOUT_BYTES_MAX);
	int fd[256], copy, n;
	u32 i, k;

	options(argc, argv);
	if (!label || !layout || !buf)
		errx(1, "out of memory");
	for (i = 0; i < arg.drives; i++)
		fd[i] = make_drive(i, label, buf);
	for (k = 0; k < arg.extents && !orphan(k); k++) {
		fill_layout(layout, k);
		n = layout_encode(layout, buf, LAYOUT_BYTES_MAX);
		for (i = 0; i < arg.drives; i++)
			for (copy = 0; copy < LAYOUT_COPIES; copy++)
				put(fd[i], buf, n, extent_at(k) + copy * LAYOUT_COPY_BYTES);
	}
	for (i = 0; i < arg.drives; i++)
		if (close(fd[i]))
			err(1, "close");
	free(label);
	free(layout);
	free(buf);
	return 0;
}
