// SPDX-License-Identifier: GPL-2.0-only
/* A volume: its layout, state and rights; and its name. See objects.h. */
#include <errno.h>
#include <string.h>

#include "userspace/format/layout_text.h"
#include "userspace/format/objects_kind.h"
#include "userspace/format/view.h"

static const char *const kind_words[] = { [LAYOUT_KIND_RDDA] = "rdda", [LAYOUT_KIND_BDEV] = "bdev" };
static const char *const domain_words[] = { [LAYOUT_DOMAIN_DRIVE] = "drive", [LAYOUT_DOMAIN_HOST] = "host" };

const struct field obj_member_fields[] = {
	FIELD_UUID("target", struct layout_member, target),
	FIELD_UUID("drive", struct layout_member, drive),
	FIELD_UUID("extent", struct layout_member, extent),
	FIELD_INT("size", struct layout_member, size, 1, INT64_MAX),
	FIELD_WORD("kind", struct layout_member, kind, kind_words),
	FIELD_BOOL("late", struct layout_member, late),
	FIELD_TEXT("addr", struct layout_member, addr, field_plain, .flags = FIELD_MAY),
	FIELD_INT("port", struct layout_member, port, 1, UINT16_MAX, .flags = FIELD_MAY),
	{ .name = NULL }
};

const struct field obj_segment_fields[] = {
	FIELD_INT("start", struct layout_segment, start, 0, INT64_MAX),
	FIELD_INT("length", struct layout_segment, length, 1, INT64_MAX),
	FIELD_WORD("level", struct layout_segment, level, layout_levels),
	FIELD_INT("data", struct layout_segment, data, 1, UINT8_MAX),
	FIELD_INT("parity", struct layout_segment, parity, 0, UINT8_MAX),
	FIELD_WORD("domain", struct layout_segment, domain, domain_words),
	FIELD_BOOL("fresh", struct layout_segment, fresh),
	FIELD_INT("groups", struct layout_segment, groups, 1, UINT16_MAX),
	FIELD_INT("strip", struct layout_segment, strip, 0, UINT32_MAX),
	FIELD_INT("first_ref", struct layout_segment, first_ref, 0, PROT_PLACES_MAX - 1),
	FIELD_INT("refs", struct layout_segment, refs, 1, PROT_PLACES_MAX),
	{ .name = NULL }
};

static const struct field ref_fields[] = {
	FIELD_INT("member", struct layout_ref, member, 0, PROT_MEMBERS_MAX - 1),
	FIELD_INT("offset", struct layout_ref, offset, 0, INT64_MAX),
	{ .name = NULL }
};

/* Without the volume, which is beside the layout. */
const struct field obj_layout_fields[] = {
	FIELD_TEXT("name", struct layout, name, layout_name_ok),
	FIELD_INT("version", struct layout, version, 1, INT64_MAX),
	FIELD_INT("commit", struct layout, commit, 1, INT64_MAX),
	FIELD_INT("size", struct layout, size, 1, INT64_MAX),
	FIELD_INT("created", struct layout, created, 0, INT64_MAX),
	FIELD_BITS("salt", struct layout, salt, .flags = FIELD_MAY),
	FIELD_INT("spares", struct layout, spares, 0, UINT16_MAX),
	FIELD_INT("spares_used", struct layout, spares_used, 0, UINT16_MAX),
	FIELD_INT("lba", struct layout, lba, 512, 4096),
	FIELD_LIST("members", struct layout, member, members, obj_member_fields, "extent", PROT_MEMBERS_MAX,
		   .min = 1, .flags = FIELD_INSIDE),
	FIELD_LIST("segments", struct layout, segment, segments, obj_segment_fields, "start", PROT_SEGMENTS_MAX,
		   .min = 1, .flags = FIELD_INSIDE),
	FIELD_LIST("refs", struct layout, ref, refs, ref_fields, NULL, PROT_PLACES_MAX,
		   .min = 1, .flags = FIELD_INSIDE),
	{ .name = NULL }
};

const struct field obj_leaving_fields[] = {
	FIELD_INT("place", struct obj_leaving, place, 0, PROT_MEMBERS_MAX - 1),
	FIELD_UUID("extent", struct obj_leaving, extent),
	{ .name = NULL }
};

const struct field obj_io_fields[] = {
	FIELD_INT("timeout_ms", struct obj_io, timeout_ms, 1, UINT32_MAX, .flags = FIELD_MAY),
	FIELD_INT("queue_depth", struct obj_io, queue_depth, 1, UINT32_MAX, .flags = FIELD_MAY),
	{ .name = NULL }
};

/* Sentences for two faults that layout_check() refuses without one. */
static int check_bounds(struct field_at *a, const struct layout *l)
{
	u32 refs = 0;

	for (u32 i = 0; i < l->refs; i++)
		if (l->ref[i].member >= l->members)
			return field_wrong(a, -EUCLEAN, "layout.refs[%u] names member %u, and there are %u", i,
					   l->ref[i].member, l->members);
	for (u32 i = 0; i < l->segments; i++) {
		if (l->segment[i].first_ref != refs || l->segment[i].refs > l->refs - refs)
			return field_wrong(a, -EUCLEAN, "layout.segments[%u] does not follow the references of "
					   "the one before", i);
		refs += l->segment[i].refs;
	}
	return 0;
}

static int check_leaving(struct field_at *a, const struct layout *l, const struct obj_leaving *leaving,
			 u32 leavings)
{
	for (u32 i = 0; i < leavings; i++) {
		if (leaving[i].place >= l->members)
			return field_wrong(a, -EUCLEAN, "leaving[%u] is of place %u, and there are %u", i,
					   leaving[i].place, l->members);
		if (layout_names(l, &leaving[i].extent))
			return field_wrong(a, -EUCLEAN, "leaving[%u] is a member still", i);
		for (u32 k = 0; k < i; k++)
			if (leaving[k].place == leaving[i].place ||
			    muuid_equal(&leaving[k].extent, &leaving[i].extent))
				return field_wrong(a, -EUCLEAN, "leaving has place %u or its extent twice",
						   leaving[i].place);
	}
	return 0;
}

int obj_check_layout(struct field_at *a, struct layout *l, const struct muuid *volume,
		     const struct obj_leaving *leaving, u32 leavings, bool fresh)
{
	int err = check_bounds(a, l);

	l->volume = *volume;
	if (!err)
		err = obj_check_unique(a, "layout.members", l->member, l->members, sizeof(*l->member),
				       offsetof(struct layout_member, extent));
	if (!err && layout_check(l))
		err = field_wrong(a, -EUCLEAN, "layout is not one that can be: sizes, places or groups do not "
				  "fit together");
	if (!err)
		err = check_leaving(a, l, leaving, leavings);
	if (!err && fresh && !layout_fresh(l))
		err = field_wrong(a, -EUCLEAN, "fresh is set, and no segment of the layout is");
	return err;
}

static const char *const state_words[] = {
	[PLAN_CREATING] = "creating", [PLAN_VOLUME_READY] = "ready", [PLAN_DELETING] = "deleting",
};

static const struct field volume_fields[] = {
	FIELD_UUID("volume", struct obj_volume, plan.uuid),
	FIELD_WORD("state", struct obj_volume, plan.state, state_words),
	FIELD_BOOL("fresh", struct obj_volume, plan.fresh),
	FIELD_LIST("allow", struct obj_volume, plan.allow, plan.allows, obj_uuid_element, NULL,
		   PLAN_ALLOW_MAX, .flags = FIELD_BARE | FIELD_ALL),
	FIELD_OWN("layout", struct obj_volume, record, obj_layout_fields),
	FIELD_LIST("leaving", struct obj_volume, leaving, leavings, obj_leaving_fields, "place",
		   PROT_MEMBERS_MAX, .flags = FIELD_MAY),
	FIELD_LIST("barred", struct obj_volume, plan.bar, plan.barred, obj_place_element, NULL,
		   PROT_MEMBERS_MAX, .flags = FIELD_BARE | FIELD_MAY),
	FIELD_TEXT("domain", struct obj_volume, domain, obj_plain_name),
	FIELD_PART("io", struct obj_volume, io, obj_io_fields),
	{ .name = NULL }
};

static int volume_check(struct field_at *a, void *x)
{
	struct obj_volume *v = x;
	int err = obj_check_layout(a, v->record, &v->plan.uuid, v->leaving, v->leavings, v->plan.fresh);

	if (!err)
		err = obj_check_unique(a, "allow", v->plan.allow, v->plan.allows, sizeof(*v->plan.allow), 0);
	if (!err)
		err = obj_check_places(a, v->plan.bar, v->plan.barred, v->record->members);
	return err ? err : view_layout(v->record, v->leaving, v->leavings, &v->plan.layout);
}

static void volume_drop(void *x)
{
	struct obj_volume *v = x;

	view_layout_free(&v->plan.layout);
}

static void volume_key(const void *x, struct key *k)
{
	k->volume = ((const struct obj_volume *)x)->plan.uuid;
}

const struct obj_type obj_type_volume = {
	.noun = "volume", .bytes = sizeof(struct obj_volume), .fields = volume_fields,
	.check = volume_check, .drop = volume_drop, .key = volume_key,
};

static const struct field name_fields[] = {
	FIELD_TEXT("name", struct obj_name, name, layout_name_ok),
	FIELD_UUID("volume", struct obj_name, volume),
	{ .name = NULL }
};

static void name_key(const void *x, struct key *k)
{
	memcpy(k->name, ((const struct obj_name *)x)->name, sizeof(k->name));
}

const struct obj_type obj_type_name = {
	.noun = "name", .bytes = sizeof(struct obj_name), .fields = name_fields, .key = name_key,
};
