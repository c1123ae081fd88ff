// SPDX-License-Identifier: GPL-2.0-only
/* Recover: its mark, and what hosts hand in for it. See objects.h. */
#include <errno.h>
#include <stdlib.h>

#include "userspace/format/label.h"
#include "userspace/format/objects_kind.h"
#include "userspace/format/view.h"

static const struct field recover_fields[] = {
	FIELD_UUID("recover", struct obj_recover, recover),
	FIELD_INT("generation", struct obj_recover, generation, 1, MESH_NUMBER_GENERATION_MAX),
	FIELD_BOOL("dry", struct obj_recover, dry),
	FIELD_UUID("host", struct obj_recover, host),
	{ .name = NULL }
};

const struct obj_type obj_type_recover = {
	.noun = "recover", .bytes = sizeof(struct obj_recover), .fields = recover_fields,
};

static const struct field found_fields[] = {
	FIELD_UUID("uuid", struct obj_found, slot.extent),
	FIELD_UUID("volume", struct obj_found, slot.volume),
	FIELD_UUID("attacher", struct obj_found, slot.attacher, .flags = FIELD_MAY),
	FIELD_INT("start", struct obj_found, start, LABEL_AREA, INT64_MAX),
	FIELD_INT("length", struct obj_found, length, LABEL_AREA, INT64_MAX),
	FIELD_INT("number", struct obj_found, slot.number, 1, INT64_MAX, .flags = FIELD_MAY),
	FIELD_INT("version", struct obj_found, slot.version, 1, INT64_MAX, .flags = FIELD_MAY),
	FIELD_INT("commit", struct obj_found, slot.commit, 1, INT64_MAX, .flags = FIELD_MAY),
	FIELD_INT("record_version", struct obj_found, slot.record_version, 1, INT64_MAX, .flags = FIELD_MAY),
	FIELD_INT("record_commit", struct obj_found, slot.record_commit, 1, INT64_MAX, .flags = FIELD_MAY),
	FIELD_BOOL("zeroed", struct obj_found, slot.zeroed),
	{ .name = NULL }
};

static const char *const subject_words[] = {
	[OBJ_OF_HOST] = "host", [OBJ_OF_DRIVE] = "drive", [OBJ_OF_VOLUME] = "volume",
};

static const struct field report_fields[] = {
	FIELD_UUID("host", struct obj_report, host),
	FIELD_UUID("about", struct obj_report, about),
	FIELD_WORD("subject", struct obj_report, subject, subject_words),
	FIELD_WORD("role", struct obj_report, role, obj_role_words),
	FIELD_UUID("recover", struct obj_report, recover),
	FIELD_INT("generation", struct obj_report, generation, 1, MESH_NUMBER_GENERATION_MAX),
	FIELD_BOOL("marked", struct obj_report, marked),
	FIELD_INT("followed", struct obj_report, followed, 1, MESH_NUMBER_GENERATION_MAX, .flags = FIELD_MAY),
	FIELD_TEXT("lacks", struct obj_report, lacks, field_plain, .flags = FIELD_MAY),
	FIELD_TEXT("path", struct obj_report, path, field_plain, .flags = FIELD_MAY),
	FIELD_TEXT("model", struct obj_report, model, field_plain, .flags = FIELD_MAY),
	FIELD_TEXT("wwid", struct obj_report, wwid, field_plain, .flags = FIELD_MAY),
	FIELD_TEXT("serial", struct obj_report, serial, field_plain, .flags = FIELD_MAY),
	FIELD_INT("size", struct obj_report, size, 3 * LABEL_AREA, 1ULL << 62, .flags = FIELD_MAY),
	FIELD_INT("sequence", struct obj_report, sequence, 1, INT64_MAX, .flags = FIELD_MAY),
	FIELD_INT("lba", struct obj_report, lba, 512, 4096, .flags = FIELD_MAY),
	FIELD_BOOL("local", struct obj_report, local, .flags = FIELD_MAY),
	FIELD_INT("was", struct obj_report, was, 1, UINT32_MAX, .flags = FIELD_MAY),
	FIELD_LIST("extents", struct obj_report, extent, extents, found_fields, "uuid", LABEL_EXTENTS_MAX,
		   .flags = FIELD_MAY),
	FIELD_WORD("mode", struct obj_report, mode, obj_mode_words, .flags = FIELD_MAY),
	FIELD_BOOL("serves", struct obj_report, serves, .flags = FIELD_MAY),
	FIELD_INT("number", struct obj_report, number, 1, INT64_MAX, .flags = FIELD_MAY),
	{ .name = "layout", .kind = FIELD_OWN, .flags = FIELD_MAY, FIELD_AT(struct obj_report, record),
	  .of = obj_layout_fields, .each = sizeof(struct layout) },
	FIELD_LIST("leaving", struct obj_report, leaving, leavings, obj_leaving_fields, "place",
		   PROT_MEMBERS_MAX, .flags = FIELD_MAY),
	FIELD_PART("io", struct obj_report, io, obj_io_fields),
	{ .name = NULL }
};

static int report_check(struct field_at *a, void *x)
{
	struct obj_report *r = x;
	bool own = muuid_equal(&r->host, &r->about);
	int err;

	if (r->subject == OBJ_OF_HOST && !own)
		return field_wrong(a, -EUCLEAN, "is of a host, and of another one than its own");
	/* Recover takes the key report/H/H for the end of what a host hands in. */
	if (r->subject != OBJ_OF_HOST && own)
		return field_wrong(a, -EUCLEAN, "is at the key of its host's report, and is of something else");
	if (r->subject == OBJ_OF_DRIVE && (!r->path[0] || !r->size || !r->lba))
		return field_wrong(a, -EUCLEAN, "is of a drive without path, size or block size");
	err = obj_check_unique(a, "extents", r->extent, r->extents, sizeof(*r->extent),
			       offsetof(struct obj_found, slot.extent));
	if (err || !r->record)
		return err;
	err = obj_check_layout(a, r->record, &r->about, r->leaving, r->leavings, false);
	return err ? err : view_layout(r->record, r->leaving, r->leavings, &r->layout);
}

static void report_drop(void *x)
{
	view_layout_free(&((struct obj_report *)x)->layout);
}

static void report_key(const void *x, struct key *k)
{
	const struct obj_report *r = x;

	k->host = r->host;
	k->about = r->about;
}

const struct obj_type obj_type_report = {
	.noun = "report", .bytes = sizeof(struct obj_report), .fields = report_fields,
	.check = report_check, .drop = report_drop, .key = report_key,
};
