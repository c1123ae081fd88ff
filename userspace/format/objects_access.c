// SPDX-License-Identifier: GPL-2.0-only
/* Who has a volume, and who wants it. See objects.h. */
#include <errno.h>

#include "userspace/format/objects_kind.h"

static const struct field access_fields[] = {
	FIELD_UUID("volume", struct obj_access, volume),
	FIELD_WORD("mode", struct obj_access, plan.mode, obj_mode_words),
	FIELD_UUID("holder", struct obj_access, plan.holder, .flags = FIELD_MAY),
	FIELD_INT("number", struct obj_access, plan.number, 0, MESH_NUMBER_MAX - 1),
	FIELD_BOOL("clean", struct obj_access, plan.clean),
	{ .name = NULL }
};

static int access_check(struct field_at *a, void *x)
{
	const struct plan_access *p = &((const struct obj_access *)x)->plan;

	if ((p->mode == PLAN_RW) == muuid_null(&p->holder))
		return field_wrong(a, -EUCLEAN, "mode and holder contradict each other: rw alone has a holder");
	if (p->mode == PLAN_RW && p->clean)
		return field_wrong(a, -EUCLEAN, "is clean, and a host holds the volume");
	if (p->mode == PLAN_RW && !mesh_number_counter(p->number))
		return field_wrong(a, -EUCLEAN, "has a holder, and number %llu was never attached",
				   (unsigned long long)p->number);
	return obj_check_number(a, "number", p->number);
}

static void access_key(const void *x, struct key *k)
{
	k->volume = ((const struct obj_access *)x)->volume;
}

const struct obj_type obj_type_access = {
	.noun = "access", .bytes = sizeof(struct obj_access), .fields = access_fields,
	.check = access_check, .key = access_key,
};

static const struct field reader_fields[] = {
	FIELD_UUID("volume", struct obj_reader, volume),
	FIELD_UUID("host", struct obj_reader, plan.host),
	FIELD_INT("number", struct obj_reader, plan.number, 0, MESH_NUMBER_MAX - 1),
	{ .name = NULL }
};

static int reader_check(struct field_at *a, void *x)
{
	return obj_check_number(a, "number", ((const struct obj_reader *)x)->plan.number);
}

static void reader_key(const void *x, struct key *k)
{
	const struct obj_reader *r = x;

	k->volume = r->volume;
	k->host = r->plan.host;
}

const struct obj_type obj_type_reader = {
	.noun = "reader", .bytes = sizeof(struct obj_reader), .fields = reader_fields,
	.check = reader_check, .key = reader_key,
};

static const char *const request_words[] = {
	[OBJ_SCRUB] = "scrub", [OBJ_SCRUB_REPAIR] = "repair", [OBJ_SCRUB_STOP] = "stop", [OBJ_REJOIN] = "rejoin",
};

static const struct field want_fields[] = {
	FIELD_UUID("host", struct obj_want, host),
	FIELD_UUID("volume", struct obj_want, volume),
	FIELD_WORD("mode", struct obj_want, mode, obj_mode_words),
	FIELD_BOOL("boot", struct obj_want, boot),
	FIELD_BOOL("preempt", struct obj_want, preempt, .flags = FIELD_MAY),
	FIELD_BOOL("force", struct obj_want, force, .flags = FIELD_MAY),
	FIELD_BOOL("fenced", struct obj_want, fenced, .flags = FIELD_MAY),
	FIELD_UUID("request", struct obj_want, request.id, .flags = FIELD_MAY),
	FIELD_WORD("request_what", struct obj_want, request.what, request_words, .flags = FIELD_MAY),
	FIELD_UUID("request_extent", struct obj_want, request.extent, .flags = FIELD_MAY),
	{ .name = NULL }
};

static int request_check(struct field_at *a, const struct obj_want *w)
{
	const struct obj_request *r = &w->request;
	bool named = !muuid_null(&r->extent);

	if (muuid_null(&r->id) != !r->what)
		return field_wrong(a, -EUCLEAN, "has a part of a request: its UUID and what it is go together");
	if (r->what && w->mode != PLAN_RW)
		return field_wrong(a, -EUCLEAN, "has a request, and does not attach for writing");
	if (r->what == OBJ_REJOIN && !named)
		return field_wrong(a, -EUCLEAN, "requests that a member joins again, and names none");
	if (named && r->what != OBJ_REJOIN && r->what != OBJ_SCRUB_REPAIR)
		return field_wrong(a, -EUCLEAN, "names a member in a request that is of none");
	return 0;
}

static int want_check(struct field_at *a, void *x)
{
	const struct obj_want *w = x;

	if (w->preempt && w->mode != PLAN_RW)
		return field_wrong(a, -EUCLEAN, "preempts, and does not attach for writing");
	if (w->force && w->mode != PLAN_NONE)
		return field_wrong(a, -EUCLEAN, "is forced, and does not detach");
	return request_check(a, w);
}

static void want_key(const void *x, struct key *k)
{
	const struct obj_want *w = x;

	k->host = w->host;
	k->volume = w->volume;
}

const struct obj_type obj_type_want = {
	.noun = "want", .bytes = sizeof(struct obj_want), .fields = want_fields,
	.check = want_check, .key = want_key,
};

static const struct field writer_fields[] = {
	FIELD_UUID("volume", struct obj_writer, volume),
	FIELD_UUID("host", struct obj_writer, host),
	{ .name = NULL }
};

static void writer_key(const void *x, struct key *k)
{
	k->volume = ((const struct obj_writer *)x)->volume;
}

const struct obj_type obj_type_writer = {
	.noun = "writer", .bytes = sizeof(struct obj_writer), .fields = writer_fields, .key = writer_key,
};
