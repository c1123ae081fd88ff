// SPDX-License-Identifier: GPL-2.0-only
/* Requests and answers: the envelope. What is in an answer: mgmt_data.c. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/format/json.h"
#include "userspace/format/mgmt.h"

/* What each operation cannot do without. */
enum {
	NEED_DRIVE = 1,
	NEED_EXTENT = 2,
	NEED_VOLUME = 4,
	NEED_LENGTH = 8,
};

static const struct {
	const char *name;
	unsigned int needs;
} ops[MGMT_OPS] = {
	[MGMT_HELLO] = { "hello", 0 },
	[MGMT_DRIVES] = { "drives", 0 },
	[MGMT_EXTENTS] = { "extents", 0 },
	[MGMT_ALLOC] = { "alloc", NEED_DRIVE | NEED_EXTENT | NEED_VOLUME | NEED_LENGTH },
	[MGMT_FREE] = { "free", NEED_EXTENT },
	[MGMT_VOLUMES] = { "volumes", 0 },
	[MGMT_RECORD] = { "record", NEED_VOLUME },
	[MGMT_HEALTH] = { "health", 0 },
};

static char *dump(json_t *j)
{
	char *text = j ? json_dumps(j, JSON_COMPACT) : NULL;

	json_decref(j);
	return text;
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
	if (r->length)
		jset_u64(j, "length", r->length);
	if (r->name[0])
		jset_str(j, "name", r->name);
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

static int req_fields(const json_t *j, struct mgmt_req *r)
{
	unsigned int needs = ops[r->op].needs;

	if (maybe_uuid(j, "drive", &r->drive) || maybe_uuid(j, "extent", &r->extent) ||
	    maybe_uuid(j, "volume", &r->volume))
		return -EINVAL;
	if (json_object_get(j, "length") && jget_u64(j, "length", &r->length))
		return -EINVAL;
	if (json_object_get(j, "name") && jget_str(j, "name", r->name, sizeof(r->name)))
		return -EINVAL;
	if (r->name[0] && !layout_name_ok(r->name))
		return -EINVAL;
	if ((needs & NEED_DRIVE && muuid_null(&r->drive)) ||
	    (needs & NEED_EXTENT && muuid_null(&r->extent)) ||
	    (needs & NEED_VOLUME && muuid_null(&r->volume)) ||
	    (needs & NEED_LENGTH && !r->length))
		return -EINVAL;
	return 0;
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
	if (e && jget_str(j, "reason", reason, MGMT_REASON))
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
