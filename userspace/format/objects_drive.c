// SPDX-License-Identifier: GPL-2.0-only
/* A drive and its extents. See objects.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/format/label.h"
#include "userspace/format/objects_kind.h"

static const char *const wanted_words[] = {
	[PLAN_IN] = "in", [PLAN_DRAINING] = "draining", [PLAN_OUT] = "out", [PLAN_FORGOTTEN] = "forgotten",
};

static const char *const extent_words[] = {
	[PLAN_WANTED] = "wanted", [PLAN_READY] = "ready", [PLAN_FREEING] = "freeing",
};

static const struct field extent_fields[] = {
	FIELD_UUID("uuid", struct plan_extent, uuid),
	FIELD_UUID("volume", struct plan_extent, volume),
	FIELD_INT("place", struct plan_extent, place, 0, PROT_MEMBERS_MAX - 1),
	FIELD_WORD("state", struct plan_extent, state, extent_words),
	FIELD_INT("start", struct plan_extent, start, LABEL_AREA, INT64_MAX),
	FIELD_INT("length", struct plan_extent, length, LABEL_AREA, INT64_MAX),
	FIELD_INT("version", struct plan_extent, version, 1, INT64_MAX, .flags = FIELD_MAY),
	FIELD_INT("commit", struct plan_extent, commit, 1, INT64_MAX, .flags = FIELD_MAY),
	{ .name = NULL }
};

static const struct field drive_fields[] = {
	FIELD_UUID("drive", struct obj_drive, plan.uuid),
	FIELD_UUID("host", struct obj_drive, plan.host),
	FIELD_TEXT("name", struct obj_drive, name, layout_name_ok, .flags = FIELD_MAY),
	FIELD_TEXT("path", struct obj_drive, path, field_plain),
	FIELD_TEXT("model", struct obj_drive, model, field_plain, .flags = FIELD_MAY),
	FIELD_TEXT("wwid", struct obj_drive, wwid, field_plain, .flags = FIELD_MAY),
	FIELD_TEXT("serial", struct obj_drive, serial, field_plain, .flags = FIELD_MAY),
	FIELD_INT("size", struct obj_drive, size, 3 * LABEL_AREA, 1ULL << 62),
	FIELD_INT("lba", struct obj_drive, lba, 512, 4096),
	FIELD_BOOL("local", struct obj_drive, local),
	FIELD_WORD("wanted", struct obj_drive, plan.wanted, wanted_words),
	FIELD_INT("sequence", struct obj_drive, sequence, 1, INT64_MAX, .flags = FIELD_MAY),
	FIELD_LIST("extents", struct obj_drive, plan.extent, plan.extents, extent_fields, "uuid",
		   LABEL_EXTENTS_MAX),
	{ .name = NULL }
};

static int by_start(const void *a, const void *b)
{
	const struct plan_extent *x = *(const struct plan_extent *const *)a;
	const struct plan_extent *y = *(const struct plan_extent *const *)b;

	return x->start < y->start ? -1 : x->start > y->start;
}

/* Also extents that are being freed have their bytes until they are out of the label. */
static int check_overlap(struct field_at *a, const struct plan_drive *d)
{
	const struct plan_extent **e = d->extents ? malloc(d->extents * sizeof(*e)) : NULL;
	int err = 0;

	if (!d->extents)
		return 0;
	if (!e)
		return -ENOMEM;
	for (u32 i = 0; i < d->extents; i++)
		e[i] = &d->extent[i];
	qsort(e, d->extents, sizeof(*e), by_start);
	for (u32 i = 1; i < d->extents && !err; i++)
		if (e[i]->start - e[i - 1]->start < e[i - 1]->length)
			err = field_wrong(a, -EUCLEAN, "extents %s and %s overlap",
					  muuid_str(&e[i - 1]->uuid).s, muuid_str(&e[i]->uuid).s);
	free(e);
	return err;
}

static int check_extent(struct field_at *a, const struct obj_drive *d, const struct plan_extent *e)
{
	u64 end = d->size / LABEL_AREA * LABEL_AREA - LABEL_AREA;

	if (e->start % LABEL_AREA || e->length % LABEL_AREA)
		return field_wrong(a, -EUCLEAN, "extent %s is not aligned to 1 MiB", muuid_str(&e->uuid).s);
	if (e->start > end || e->length > end - e->start)
		return field_wrong(a, -EUCLEAN, "extent %s goes beyond the drive's room",
				   muuid_str(&e->uuid).s);
	if (!e->version != !e->commit)
		return field_wrong(a, -EUCLEAN, "extent %s has a version without commit, or the other way round",
				   muuid_str(&e->uuid).s);
	if (e->state == PLAN_WANTED && e->version)
		return field_wrong(a, -EUCLEAN, "extent %s is wanted and has a record already",
				   muuid_str(&e->uuid).s);
	return 0;
}

static int drive_check(struct field_at *a, void *x)
{
	const struct obj_drive *d = x;
	int err = obj_check_unique(a, "extents", d->plan.extent, d->plan.extents, sizeof(*d->plan.extent),
				   offsetof(struct plan_extent, uuid));

	if (!err && d->lba != 512 && d->lba != 4096)
		err = field_wrong(a, -EUCLEAN, "lba is %u, and neither 512 nor 4096", d->lba);
	for (u32 i = 0; i < d->plan.extents && !err; i++)
		err = check_extent(a, d, &d->plan.extent[i]);
	return err ? err : check_overlap(a, &d->plan);
}

static void drive_key(const void *x, struct key *k)
{
	k->drive = ((const struct obj_drive *)x)->plan.uuid;
}

const struct obj_type obj_type_drive = {
	.noun = "drive", .bytes = sizeof(struct obj_drive), .fields = drive_fields, .check = drive_check,
	.key = drive_key,
};
