/* SPDX-License-Identifier: GPL-2.0-only */
/* For tests of drives that come and go: the disks of the machine, and what the store says of them. */
#ifndef TESTS_UNIT_DRIVES_RIG_H
#define TESTS_UNIT_DRIVES_RIG_H

#include "tests/unit/disk_rig.h"

/* As found by a probe. */
static struct export_disk found;

static inline u8 probe(void)
{
	OK(done(disks_export_ops.probe(S, path, &found)));
	return found.found;
}

static inline void junk(u64 at, const void *bytes, size_t n)
{
	int fd = open(path, O_RDWR);

	CU_ASSERT_EQUAL(pwrite(fd, bytes, n, at), (ssize_t)n);
	close(fd);
}

/* The copy of the store, for what it says of this drive. */
static struct store *Store, *Other_store;
static struct copy *C, *O;

static inline void store_begin(void)
{
	struct obj_cluster c = { .plan = { .uuid = rig_id('c', 1), .generation = 1, .format = 1000 } };

	rig_begin();
	Store = store_sqlite_handle(Q);
	Other_store = store_sqlite_handle(Q);
	C = copy_open(Store);
	O = copy_open(Other_store);
	for (enum key_kind k = KEY_CLUSTER; k < KEY_KINDS; k++) {
		if (k != KEY_CLUSTER && k != KEY_DRIVE && k != KEY_VOLUME)
			continue;
		OK(copy_follow(C, &(struct key) { .kind = k }, 0));
		OK(copy_follow(O, &(struct key) { .kind = k }, 0));
	}
	rig_put(O, KEY_CLUSTER, &c);
	rig_catch_up(C);
}

static inline void store_end(void)
{
	copy_close(C);
	copy_close(O);
	store_close(Store);
	store_close(Other_store);
	rig_end();
}

static inline void put_volume(u32 allows)
{
	struct muuid allow[2] = { HOST_, OTHER_ };
	struct layout *l = record_of(1);
	struct obj_volume v = { .plan = { .uuid = rig_id('v', 1), .state = PLAN_VOLUME_READY, .allows = allows,
					  .allow = allow }, .record = l, .domain = "host" };

	rig_put(O, KEY_VOLUME, &v);
	free(l);
	rig_catch_up(C);
}

static inline void put_drive(const struct muuid *host, u8 extent_state)
{
	struct plan_extent x = { .uuid = rig_id('x', 1), .volume = rig_id('v', 1), .state = extent_state,
				 .start = MIB, .length = 8 * MIB };
	struct obj_drive d = { .plan = { .uuid = DRIVE_, .host = *host, .wanted = PLAN_IN, .extents = !!extent_state,
					 .extent = &x }, .path = "/dev/x", .size = SIZE, .lba = 512 };

	rig_put(O, KEY_DRIVE, &d);
	rig_catch_up(C);
}

/* The disks of the machine are the files that the test names. */
static const char *machine[4];

char **__wrap_disk_paths(size_t *n)
{
	char **out = calloc(4, sizeof(*out));

	for (*n = 0; *n < 4 && machine[*n]; ++*n)
		out[*n] = strdup(machine[*n]);
	return out;
}

#endif
