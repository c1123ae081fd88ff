// SPDX-License-Identifier: GPL-2.0-only
/*
 * nbdkit build/nbd/meshprot.so dir=FOLDER [level=mirror:2] [size=8M] ...
 *
 * The first start in a folder without `state` makes the members: level= is
 * mirror:C, raid10:GxC, ec:K+M[xG]. size= is of the data on each
 * member. strip=, lba= and region= in bytes. delay=US holds back each member I/O
 * up to that many microseconds. medium=N: one read in N of a member's data meets a
 * sector that cannot be read until it is written, one in a group at a time.
 */
#define NBDKIT_API_VERSION 2
#define THREAD_MODEL NBDKIT_THREAD_MODEL_PARALLEL

#include <errno.h>
#include <fcntl.h>
#include <nbdkit-plugin.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/nbd/volume.h"
#include "protect/mutant.h"

static char *level = "mirror:2";
static int64_t size = 8 << 20, strip = 65536, lba = 512, region = 262144;
static unsigned int threads = 16;

static int number(const char *key, const char *value, int64_t *to)
{
	*to = nbdkit_parse_size(value);
	if (*to < 0)
		nbdkit_error("%s=%s is not a size", key, value);
	return *to < 0 ? -1 : 0;
}

static int mesh_config(const char *key, const char *value)
{
	int64_t n = 0;
	char *dir;

	if (!strcmp(key, "dir")) {
		dir = nbdkit_realpath(value);
		if (!dir || strlen(dir) >= sizeof(vol.dir))
			return -1;
		strcpy(vol.dir, dir);
		free(dir);
		return 0;
	}
	if (!strcmp(key, "level")) {
		level = strdup(value);
		return 0;
	}
	if (!strcmp(key, "size"))
		return number(key, value, &size);
	if (!strcmp(key, "strip"))
		return number(key, value, &strip);
	if (!strcmp(key, "lba"))
		return number(key, value, &lba);
	if (!strcmp(key, "region"))
		return number(key, value, &region);
	if (!strcmp(key, "delay")) {
		if (number(key, value, &n))
			return -1;
		vol.delay_us = n;
		return 0;
	}
	if (!strcmp(key, "slow")) {
		if (number(key, value, &n))
			return -1;
		vol.slow_rounds = n;
		return 0;
	}
	if (!strcmp(key, "medium")) {
		if (number(key, value, &n))
			return -1;
		vol.medium = n;
		return 0;
	}
#ifdef PROT_MUTANTS
	if (!strcmp(key, "mutant")) {
		if (number(key, value, &n))
			return -1;
		prot_mutant = n;
		return 0;
	}
#endif
	nbdkit_error("no such parameter: %s", key);
	return -1;
}

static int shape(struct state *s)
{
	unsigned int a = 0, b = 0, c = 1;

	if (sscanf(level, "mirror:%u", &a) == 1) {
		*s = (struct state){ .level = PROT_MIRROR, .data = a, .groups = 1 };
	} else if (sscanf(level, "raid10:%ux%u", &a, &b) == 2) {
		*s = (struct state){ .level = PROT_RAID10, .data = b, .groups = a };
	} else if (sscanf(level, "ec:%u+%ux%u", &a, &b, &c) >= 2) {
		*s = (struct state){ .level = PROT_EC, .data = a, .parity = b, .groups = c };
	} else {
		nbdkit_error("level=%s: mirror:C, raid10:GxC or ec:K+M[xG]", level);
		return -1;
	}
	s->members = s->groups * (s->data + s->parity);
	if (!s->members || s->members > MEMBERS_MAX || s->groups > GROUPS_MAX) {
		nbdkit_error("level=%s: too many members", level);
		return -1;
	}
	return 0;
}

static int make_member(uint32_t member, uint64_t bytes)
{
	char path[4096];
	int fd;

	snprintf(path, sizeof(path), "%s/m%u", vol.dir, member);
	fd = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
	if (fd < 0 || ftruncate(fd, bytes)) {
		nbdkit_error("%s: %m", path);
		return -1;
	}
	return close(fd);
}

/* A volume that never served: members of zeroes, all in sync. */
static int make(struct state *s)
{
	struct prot_group_config c;

	if (shape(s))
		return -1;
	s->strip = strip;
	s->lba = lba;
	s->region = region;
	s->bytes = size;
	s->meta_at = LABEL_BYTES;
	s->epoch = 1;
	s->fresh = 1;
	random_bytes(&s->salt, sizeof(s->salt));
	for (uint32_t i = 0; i < s->members; i++) {
		random_bytes(s->member[i].uuid, PROT_UUID_LEN);
		s->member[i].in_sync = 1;
	}
	state_config(s, 0, &c);
	if (!prot_group_bytes(&c)) {
		nbdkit_error("the engine does not take this group");
		return -1;
	}
	s->data_at = (s->meta_at + prot_group_meta_bytes(&c) + 65535) & ~65535ULL;
	for (uint32_t i = 0; i < s->members; i++)
		if (make_member(i, s->data_at + s->bytes))
			return -1;
	return 0;
}

static int make_layout(const struct state *s)
{
	uint32_t n = s->members;
	struct prot_layout *l;
	const char *why;

	l = prot_layout_init(calloc(1, prot_layout_bytes(1, n, n)), s->lba, 1, n, n);
	*prot_segments(l) = (struct prot_segment){
		.strip = s->strip, .level = s->level, .data = s->data, .parity = s->parity,
		.groups = s->groups,
		.length = s->bytes * s->groups * (s->level == PROT_EC ? s->data : 1) };
	for (uint32_t i = 0; i < n; i++) {
		prot_places(l)[i] = (struct prot_place){ .member = i, .offset = s->data_at };
		prot_member_sizes(l)[i] = s->data_at + s->bytes;
	}
	why = prot_layout_check(l);
	if (why)
		nbdkit_error("%s", why);
	vol.layout = l;
	return why ? -1 : 0;
}

static int mesh_config_complete(void)
{
	struct prot_group_config c;
	int err;

	if (!vol.dir[0]) {
		nbdkit_error("dir= is missing");
		return -1;
	}
	err = state_load(vol.dir, &vol.st);
	if (err == -ENOENT)
		err = make(&vol.st);
	if (err) {
		nbdkit_error("%s/state: cannot be used", vol.dir);
		return -1;
	}
	for (uint32_t i = 0; i < vol.st.groups; i++) {
		struct group *grp = &vol.grp[i];

		state_config(&vol.st, i, &c);
		grp->width = c.width;
		grp->first = i * c.width;
		grp->mem = aligned_alloc(64, (prot_group_bytes(&c) + 63) & ~63ULL);
		grp->of_op = calloc(c.ops, sizeof(*grp->of_op));
		grp->tail = &grp->head;
		if (!grp->mem || !grp->of_op)
			return -1;
	}
	return make_layout(&vol.st);
}

static int mesh_after_fork(void)
{
	return pool_start(threads) || control_start() ? -1 : 0;
}

static void mesh_cleanup(void)
{
	control_stop();
	pool_stop();
}

static void *mesh_open(int readonly)
{
	(void)readonly;
	return &vol;
}

static int64_t mesh_get_size(void *handle)
{
	(void)handle;
	return vol.layout->size;
}

static int yes(void *handle)
{
	(void)handle;
	return 1;
}

static int fua(void *handle)
{
	(void)handle;
	return NBDKIT_FUA_NATIVE;	/* members are durable at completion */
}

static int block_size(void *handle, uint32_t *least, uint32_t *preferred, uint32_t *most)
{
	(void)handle;
	*least = vol.layout->lba;
	*preferred = 4096;
	*most = 32 << 20;
	return 0;
}

/* In requests of the size that an op takes. */
static int run(uint8_t kind, void *buf, uint64_t offset, uint64_t length)
{
	uint64_t most = kind <= PROT_WRITE ? vol.layout->max_bytes : length;

	while (length) {
		uint64_t n = length < most ? length : most;
		int err = volume_run(kind, buf, offset, n);

		if (err) {
			nbdkit_error("request at %ju+%ju: %s", (uintmax_t)offset, (uintmax_t)n,
				     strerror(-err));
			nbdkit_set_error(-err);
			return -1;
		}
		buf = buf ? (uint8_t *)buf + n : NULL;
		offset += n;
		length -= n;
	}
	return 0;
}

static int mesh_pread(void *handle, void *buf, uint32_t count, uint64_t offset, uint32_t flags)
{
	(void)handle;
	(void)flags;
	return run(PROT_READ, buf, offset, count);
}

static int mesh_pwrite(void *handle, const void *buf, uint32_t count, uint64_t offset,
		       uint32_t flags)
{
	(void)handle;
	(void)flags;
	return run(PROT_WRITE, (void *)buf, offset, count);
}

static int mesh_zero(void *handle, uint32_t count, uint64_t offset, uint32_t flags)
{
	(void)handle;
	(void)flags;
	return run(PROT_ZEROES, NULL, offset, count);
}

static int mesh_trim(void *handle, uint32_t count, uint64_t offset, uint32_t flags)
{
	(void)handle;
	(void)flags;
	return run(PROT_DISCARD, NULL, offset, count);
}

static int mesh_flush(void *handle, uint32_t flags)
{
	(void)handle;
	(void)flags;
	return 0;
}

static struct nbdkit_plugin plugin = {
	.name = "meshprot",
	.longname = "Meshblk's protection policy over files",
	.config = mesh_config,
	.config_complete = mesh_config_complete,
	.after_fork = mesh_after_fork,
	.cleanup = mesh_cleanup,
	.open = mesh_open,
	.get_size = mesh_get_size,
	.block_size = block_size,
	.can_multi_conn = yes,
	.can_write = yes,
	.can_flush = yes,
	.can_trim = yes,
	.can_zero = yes,
	.can_fua = fua,
	.pread = mesh_pread,
	.pwrite = mesh_pwrite,
	.zero = mesh_zero,
	.trim = mesh_trim,
	.flush = mesh_flush,
};

NBDKIT_REGISTER_PLUGIN(plugin)
