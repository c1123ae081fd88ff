// SPDX-License-Identifier: GPL-2.0-only
/* A host's own files: the store as it was seen, an attached volume, the device of a drive. See objects.h. */
#include <errno.h>
#include <linux/xxhash.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/format/objects_kind.h"
#include "userspace/format/objects_sum.h"
#include "userspace/format/view.h"

#define SUM_FORM	",\"" SUM_MEMBER "\":\"%016llx\"}"
#define SUM_BYTES	(4 + sizeof(SUM_MEMBER) - 1 + 1 + 16 + 2)	/* of the text */

char *sum_append(char *text)
{
	size_t n = strlen(text) - 1;	/* without the brace */
	char *whole = realloc(text, n + SUM_BYTES + 1);

	if (!whole)
		free(text);
	else
		snprintf(whole + n, SUM_BYTES + 1, SUM_FORM, (unsigned long long)xxh64(whole, n, 0));
	return whole;
}

bool sum_ok(const void *text, size_t len)
{
	char want[SUM_BYTES + 1];

	if (len <= SUM_BYTES)
		return false;
	snprintf(want, sizeof(want), SUM_FORM, (unsigned long long)xxh64(text, len - SUM_BYTES, 0));
	return !memcmp(want, (const char *)text + len - SUM_BYTES, SUM_BYTES);
}

static const struct field seen_fields[] = {
	FIELD_UUID("cluster", struct obj_seen, plan.cluster),
	FIELD_INT("generation", struct obj_seen, plan.generation, 0, MESH_NUMBER_GENERATION_MAX),
	FIELD_TEXT("id", struct obj_seen, plan.id, field_plain),
	FIELD_INT("term", struct obj_seen, plan.term, 0, INT64_MAX),
	FIELD_INT("revision", struct obj_seen, plan.revision, 0, INT64_MAX),
	{ .name = NULL }
};

const struct obj_type obj_type_seen = {
	.noun = "file of the store as it was seen", .bytes = sizeof(struct obj_seen),
	.fields = seen_fields, .file = true,
};

static const struct field known_fields[] = {
	FIELD_UUID("drive", struct obj_known, drive),
	FIELD_TEXT("wwid", struct obj_known, wwid, field_plain, .flags = FIELD_MAY),
	FIELD_TEXT("serial", struct obj_known, serial, field_plain, .flags = FIELD_MAY),
	{ .name = NULL }
};

const struct obj_type obj_type_known = {
	.noun = "file of the device of a drive", .bytes = sizeof(struct obj_known),
	.fields = known_fields, .file = true,
};

static const char *const attached_modes[] = { [PLAN_RW] = "rw", [PLAN_RO] = "ro" };

static const struct field attached_fields[] = {
	FIELD_UUID("volume", struct obj_attached, plan.volume),
	FIELD_WORD("mode", struct obj_attached, plan.mode, attached_modes),
	FIELD_INT("number", struct obj_attached, plan.number, 0, MESH_NUMBER_MAX - 1),
	FIELD_BOOL("fresh", struct obj_attached, fresh),
	FIELD_LIST("barred", struct obj_attached, plan.bar, plan.barred, obj_place_element, NULL,
		   PROT_MEMBERS_MAX, .flags = FIELD_BARE),
	FIELD_LIST("forgotten", struct obj_attached, plan.forgotten, plan.forgottens, obj_place_element, NULL,
		   PROT_MEMBERS_MAX, .flags = FIELD_BARE | FIELD_MAY),
	FIELD_OWN("layout", struct obj_attached, record, obj_layout_fields),
	FIELD_LIST("leaving", struct obj_attached, leaving, leavings, obj_leaving_fields, "place",
		   PROT_MEMBERS_MAX, .flags = FIELD_MAY),
	FIELD_LIST("left", struct obj_attached, left, lefts, obj_member_fields, "extent",
		   PROT_MEMBERS_MAX, .flags = FIELD_MAY),
	FIELD_PART("io", struct obj_attached, io, obj_io_fields),
	{ .name = NULL }
};

/* A writer's number has counted at least one attach; a reader's is of before the first one, too. */
static int attached_check(struct field_at *a, void *x)
{
	struct obj_attached *r = x;
	int err = obj_check_layout(a, r->record, &r->plan.volume, r->leaving, r->leavings, r->fresh);

	if (!err && r->plan.mode == PLAN_RW && !mesh_number_counter(r->plan.number))
		err = field_wrong(a, -EUCLEAN, "number %llu was never attached",
				  (unsigned long long)r->plan.number);
	if (!err && r->plan.mode == PLAN_RO)
		err = obj_check_number(a, "number", r->plan.number);
	if (!err)
		err = obj_check_places(a, r->plan.bar, r->plan.barred, r->record->members);
	if (!err)
		err = obj_check_places(a, r->plan.forgotten, r->plan.forgottens, r->record->members);
	return err ? err : view_layout(r->record, r->leaving, r->leavings, &r->plan.layout);
}

static void attached_drop(void *x)
{
	struct obj_attached *r = x;

	view_layout_free(&r->plan.layout);
}

const struct obj_type obj_type_attached = {
	.noun = "file of an attached volume", .bytes = sizeof(struct obj_attached),
	.fields = attached_fields, .file = true, .check = attached_check, .drop = attached_drop,
};
