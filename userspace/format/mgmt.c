// SPDX-License-Identifier: GPL-2.0-only
/* Requests and answers: the envelope. What is in an answer: mgmt_data.c. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/format/json.h"
#include "userspace/format/layout_text.h"
#include "userspace/format/mgmt.h"

/* What each operation requires. */
enum {
	NEED_DRIVE = 1,
	NEED_EXTENT = 2,
	NEED_VOLUME = 4,
	NEED_LENGTH = 8,
	NEED_BELIEVED = 16,
	NEED_RECORD = 32,
	NEED_PLACE = NEED_DRIVE | NEED_EXTENT | NEED_VOLUME,
};

static const struct {
	const char *name;
	unsigned int needs;
} ops[MGMT_OPS] = {
	[MGMT_HELLO] = { "hello", 0 },
	[MGMT_DRIVES] = { "drives", 0 },
	[MGMT_EXTENTS] = { "extents", 0 },
	[MGMT_ALLOC] = { "alloc", NEED_PLACE | NEED_LENGTH },
	[MGMT_FREE] = { "free", NEED_PLACE | NEED_BELIEVED },
	[MGMT_VOLUMES] = { "volumes", 0 },
	[MGMT_RECORDS] = { "records", NEED_VOLUME },
	[MGMT_RECORD_PUT] = { "record-put", NEED_PLACE | NEED_BELIEVED | NEED_RECORD },
	[MGMT_RELEASE] = { "release", NEED_PLACE | NEED_BELIEVED },
	[MGMT_META] = { "meta", NEED_PLACE | NEED_LENGTH },
	[MGMT_HEALTH] = { "health", 0 },
};

static char *dump(json_t *j)
{
	char *text = j ? json_dumps(j, JSON_COMPACT) : NULL;

	json_decref(j);
	return text;
}

static json_t *believed_pack(const struct mgmt_believed *b)
{
	json_t *j = json_object();

	if (!muuid_null(&b->holder))
		jset_uuid(j, "holder", &b->holder);
	jset_u64(j, "version", b->version);
	jset_u64(j, "commit", b->commit);
	return j;
}

char *mgmt_req_encode(const struct mgmt_req *r)
{
	json_t *j = json_object();

	jset_u64(j, "v", MGMT_VERSION);
	jset_str(j, "op", ops[r->op].name);
	if (!muuid_null(&r->drive))
		jset_uuid(j, "drive", &r->drive);
	if (!muuid_null(&r->extent))
		jset_uuid(j, "extent", &r->extent);
	if (!muuid_null(&r->volume))
		jset_uuid(j, "volume", &r->volume);
	if (r->offset)
		jset_u64(j, "offset", r->offset);
	if (r->length)
		jset_u64(j, "length", r->length);
	if (r->name[0])
		jset_str(j, "name", r->name);
	if (r->preempt)
		jset_bool(j, "preempt", true);
	if (ops[r->op].needs & NEED_BELIEVED)
		json_object_set_new(j, "believed", believed_pack(&r->believed));
	if (r->record)
		json_object_set_new(j, "record", mgmt_record_pack(r->record));
	return dump(j);
}

static int op_by_name(const char *name)
{
	int i;

	for (i = MGMT_HELLO; i < MGMT_OPS; i++)
		if (name && !strcmp(ops[i].name, name))
			return i;
	return -EPROTONOSUPPORT;
}

/* A UUID that may be absent, but not wrong. */
static int maybe_uuid(const json_t *j, const char *key, struct muuid *u)
{
	return json_object_get(j, key) ? jget_uuid(j, key, u) : 0;
}

static int maybe_u64(const json_t *j, const char *key, u64 *v)
{
	return json_object_get(j, key) ? jget_u64(j, key, v) : 0;
}

static int believed_unpack(const json_t *j, struct mgmt_believed *b)
{
	return !json_is_object(j) || maybe_uuid(j, "holder", &b->holder) ||
	       jget_u64(j, "version", &b->version) || jget_u64(j, "commit", &b->commit) ?
	       -EINVAL : 0;
}

static int record_field(const json_t *j, struct mgmt_req *r)
{
	struct layout *l = malloc(sizeof(*l));
	int err = l ? mgmt_record_unpack(j, l) : -ENOMEM;

	if (err)
		free(l);
	else
		r->record = l;
	return err == -ENOMEM ? err : err ? -EINVAL : 0;
}

static int req_needs(const json_t *j, struct mgmt_req *r)
{
	unsigned int needs = ops[r->op].needs;

	if ((needs & NEED_DRIVE && muuid_null(&r->drive)) ||
	    (needs & NEED_EXTENT && muuid_null(&r->extent)) ||
	    (needs & NEED_VOLUME && muuid_null(&r->volume)) ||
	    (needs & NEED_LENGTH && !r->length))
		return -EINVAL;
	if (needs & NEED_BELIEVED && believed_unpack(json_object_get(j, "believed"), &r->believed))
		return -EINVAL;
	return needs & NEED_RECORD ? record_field(json_object_get(j, "record"), r) : 0;
}

static int req_fields(const json_t *j, struct mgmt_req *r)
{
	if (maybe_uuid(j, "drive", &r->drive) || maybe_uuid(j, "extent", &r->extent) ||
	    maybe_uuid(j, "volume", &r->volume) || maybe_u64(j, "offset", &r->offset) ||
	    maybe_u64(j, "length", &r->length))
		return -EINVAL;
	if (json_object_get(j, "preempt") && jget_bool(j, "preempt", &r->preempt))
		return -EINVAL;
	if (json_object_get(j, "name") && jget_str(j, "name", r->name, sizeof(r->name)))
		return -EINVAL;
	if (r->name[0] && !layout_name_ok(r->name))
		return -EINVAL;
	return req_needs(j, r);
}

void mgmt_req_clear(struct mgmt_req *r)
{
	free((void *)r->record);
	r->record = NULL;
}

int mgmt_req_decode(const void *buf, size_t len, struct mgmt_req *r)
{
	json_t *j = len > MGMT_BYTES_MAX ? NULL : json_loadb(buf, len, JSON_REJECT_DUPLICATES, NULL);
	u64 version;
	int op, err = 0;

	memset(r, 0, sizeof(*r));
	if (!json_is_object(j) || jget_u64(j, "v", &version)) {
		json_decref(j);
		return -EBADMSG;
	}
	op = op_by_name(json_string_value(json_object_get(j, "op")));
	if (version != MGMT_VERSION || op < 0)
		err = -EPROTONOSUPPORT;
	if (!err) {
		r->op = op;
		err = req_fields(j, r);
	}
	json_decref(j);
	return err;
}

char *mgmt_rsp_encode(int error, const char *reason, json_t *data)
{
	json_t *j = json_object();

	jset_u64(j, "v", MGMT_VERSION);
	json_object_set_new(j, "error", json_integer(error));
	if (error && reason)
		jset_str(j, "reason", reason);
	if (data)
		json_object_set_new(j, "data", data);
	return dump(j);
}

int mgmt_rsp_decode(const void *buf, size_t len, json_t **data, char *reason)
{
	json_t *j = len > MGMT_BYTES_MAX ? NULL : json_loadb(buf, len, JSON_REJECT_DUPLICATES, NULL);
	json_t *error = json_object_get(j, "error");
	u64 version;
	json_int_t e;
	int err = -EBADMSG;

	*data = NULL;
	reason[0] = 0;
	if (!json_is_object(j) || jget_u64(j, "v", &version) || version != MGMT_VERSION ||
	    !json_is_integer(error))
		goto out;
	e = json_integer_value(error);
	if (e > 0 || e < -4095)
		goto out;
	if (e && (jget_str(j, "reason", reason, MGMT_REASON) || !mgmt_printable(reason)))
		reason[0] = 0;
	if (!e && !json_is_object(json_object_get(j, "data")))
		goto out;
	if (!e)
		*data = json_incref(json_object_get(j, "data"));
	err = e;
out:
	json_decref(j);
	return err;
}
