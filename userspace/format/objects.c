// SPDX-License-Identifier: GPL-2.0-only
/* Objects of any kind: version, operation id, unknown members. See objects.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/format/fields.h"
#include "userspace/format/objects_kind.h"
#include "userspace/format/objects_sum.h"
#include "userspace/store/store.h"

static const struct obj_type *const types[OBJ_KINDS] = {
	[KEY_CLUSTER] = &obj_type_cluster, [KEY_LEADER] = &obj_type_leader,
	[KEY_HOST] = &obj_type_host, [KEY_ALIVE] = &obj_type_alive,
	[KEY_DEVICE] = &obj_type_device, [KEY_DRIVE] = &obj_type_drive,
	[KEY_VOLUME] = &obj_type_volume, [KEY_NAME] = &obj_type_name,
	[KEY_ACCESS] = &obj_type_access, [KEY_READER] = &obj_type_reader,
	[KEY_WANT] = &obj_type_want, [KEY_WRITER] = &obj_type_writer,
	[KEY_ROSTER] = &obj_type_roster, [KEY_TASK] = &obj_type_task,
	[KEY_EVENT] = &obj_type_event, [KEY_STATUS] = &obj_type_status,
	[KEY_TOKEN] = &obj_type_token,
	[KEY_RECOVER] = &obj_type_recover, [KEY_REPORT] = &obj_type_report,
	[OBJ_SEEN] = &obj_type_seen, [OBJ_ATTACHED] = &obj_type_attached,
	[OBJ_KNOWN] = &obj_type_known,
};

static const struct obj_type *type_of(int kind)
{
	return kind > 0 && kind < OBJ_KINDS ? types[kind] : NULL;
}

size_t obj_bytes(int kind)
{
	const struct obj_type *t = type_of(kind);

	return t ? t->bytes : 0;
}

static bool op_ok(const char *op)
{
	return op[strspn(op, "0123456789abcdefghijklmnopqrstuvwxyz-")] == 0;
}

static const struct field version_fields[] = {
	FIELD_INT("v", struct obj, v, 1, UINT32_MAX),
	{ .name = NULL }
};

static const struct field op_fields[] = {
	FIELD_TEXT("op", struct obj, op, op_ok),
	{ .name = NULL }
};

/* The version comes first: a later major may have other members in every other respect. */
static int head_get(struct field_at *a, const struct obj_type *t, const json_t *j, struct obj *o)
{
	int err = fields_get(a, version_fields, j, o);

	if (err)
		return err;
	if (o->v / 1000 > OBJ_MAJOR)
		return field_wrong(a, -EPROTONOSUPPORT, "is of format %u.%u, and this meshd reads %u.x: "
				   "update it", o->v / 1000, o->v % 1000, OBJ_MAJOR);
	if (o->v < OBJ_FORMAT(OBJ_MAJOR, 0))
		return field_wrong(a, -EINVAL, "is of format %u.%u, which never was", o->v / 1000,
				   o->v % 1000);
	return t->file ? 0 : fields_get(a, op_fields, j, o);
}

static int tree_get(struct field_at *a, const struct obj_type *t, json_t *j, void *x)
{
	struct obj *o = x;
	int err = head_get(a, t, j, o);

	o->kept = json_incref(j);
	if (!err)
		err = fields_get(a, t->fields, j, x);
	if (!err && t->check)
		err = t->check(a, x);
	return err;
}

static int type_decode(const struct obj_type *t, const void *text, size_t len, void *x,
		       struct field_at *a)
{
	json_error_t e;
	json_t *j;
	int err;

	if (len > STORE_VALUE_MAX)
		return field_wrong(a, -EINVAL, "has %zu bytes, at most %u are allowed", len, STORE_VALUE_MAX);
	if (t->file && !sum_ok(text, len))
		return field_wrong(a, -EUCLEAN, "is damaged: its checksum is wrong");
	err = obj_check_bounds(a, text, len);
	if (err)
		return err;
	j = json_loadb(text, len, JSON_REJECT_DUPLICATES, &e);
	if (!j)
		return field_wrong(a, -EINVAL, "is no JSON (byte %d: %s)", e.position, e.text);
	if (t->file)
		json_object_del(j, SUM_MEMBER);
	err = tree_get(a, t, j, x);
	json_decref(j);
	return err;
}

int obj_decode(int kind, const void *text, size_t len, void *x, char *why, size_t size)
{
	const struct obj_type *t = type_of(kind);
	struct field_at a;
	int err;

	field_begin(&a, t ? t->noun : "object", why, size);
	if (!t)
		return field_wrong(&a, -EINVAL, "is of an unknown kind");
	memset(x, 0, t->bytes);
	err = type_decode(t, text, len, x, &a);
	if (err == -ENOMEM)
		field_wrong(&a, err, "has no room in memory");
	return err;
}

int obj_read(const struct key *key, const void *text, size_t len, void *x, char *why, size_t size)
{
	int err = obj_decode(key->kind, text, len, x, why, size);
	struct field_at a;
	struct key own;

	if (err)
		return err;
	obj_key(key->kind, x, &own);
	if (key_equal(key, &own))
		return 0;
	field_begin(&a, key_word(key->kind), why, size);
	return field_wrong(&a, -EUCLEAN, "is at the key of another one");
}

static int head_put(struct field_at *a, const struct obj_type *t, const struct obj *o, json_t *j)
{
	const json_t *had = json_object_get(j, "op");
	struct obj head = *o;

	if (!head.v)
		head.v = OBJ_FORMAT(OBJ_MAJOR, OBJ_MINOR);
	if (!t->file && had && !strcmp(json_string_value(had), o->op))
		return field_wrong(a, -EINVAL, "has the operation id of the value that was read");
	return fields_put(a, version_fields, &head, j) || (!t->file && fields_put(a, op_fields, &head, j)) ?
	       (a->err ? a->err : -ENOMEM) : 0;
}

/* What this host could not read is not written: it would stop the others. */
static int tree_check(struct field_at *a, const struct obj_type *t, int kind, json_t *j)
{
	void *x = calloc(1, t->bytes);
	int err = x ? tree_get(a, t, j, x) : -ENOMEM;

	if (x)
		obj_free(kind, x);
	free(x);
	return err;
}

static int text_put(struct field_at *a, const struct obj_type *t, const json_t *j, char **text)
{
	*text = json_dumps(j, JSON_COMPACT);
	if (*text && t->file)
		*text = sum_append(*text);
	if (!*text)
		return -ENOMEM;
	if (strlen(*text) <= STORE_VALUE_MAX)
		return 0;
	field_wrong(a, -E2BIG, "would have %zu bytes, at most %u are allowed", strlen(*text), STORE_VALUE_MAX);
	free(*text);
	*text = NULL;
	return -E2BIG;
}

int obj_encode(int kind, const void *x, char **text, char *why, size_t size)
{
	const struct obj_type *t = type_of(kind);
	const struct obj *o = x;
	struct field_at a;
	json_t *j;
	int err;

	*text = NULL;
	field_begin(&a, t ? t->noun : "object", why, size);
	if (!t)
		return field_wrong(&a, -EINVAL, "is of an unknown kind");
	j = o->kept ? json_deep_copy(o->kept) : json_object();
	err = j ? head_put(&a, t, o, j) : -ENOMEM;
	if (!err)
		err = fields_put(&a, t->fields, x, j);
	if (!err)
		err = tree_check(&a, t, kind, j);
	if (!err)
		err = text_put(&a, t, j, text);
	if (err == -ENOMEM)
		field_wrong(&a, err, "has no room in memory");
	json_decref(j);
	return err;
}

int obj_gives(int kind, const void *x, const struct obj *over, const struct obj *value)
{
	const struct obj_type *t = type_of(kind);
	struct field_at a;
	json_t *j;
	int ret;

	if (!t)
		return -EINVAL;
	field_begin(&a, t->noun, NULL, 0);
	j = over ? json_deep_copy(over->kept) : json_object();
	if (!j)
		return -ENOMEM;
	ret = fields_put(&a, version_fields, x, j);
	if (!ret && !t->file)
		ret = fields_put(&a, op_fields, x, j);
	if (!ret)
		ret = fields_put(&a, t->fields, x, j);
	if (!ret)
		ret = json_equal(j, value->kept);
	json_decref(j);
	return ret;
}

void obj_key(int kind, const void *x, struct key *k)
{
	const struct obj_type *t = type_of(kind);

	memset(k, 0, sizeof(*k));
	if (!t || t->file)
		return;
	k->kind = kind;
	if (t->key)
		t->key(x, k);
}

int obj_view(int kind, void *x)
{
	const struct obj_type *t = type_of(kind);
	struct field_at a;

	if (!t || !t->drop)
		return 0;
	t->drop(x);
	field_begin(&a, t->noun, NULL, 0);
	return t->check(&a, x);
}

void obj_free(int kind, void *x)
{
	const struct obj_type *t = type_of(kind);
	struct obj *o = x;

	if (!t)
		return;
	if (t->drop)
		t->drop(x);
	fields_free(t->fields, x);
	json_decref(o->kept);
	memset(x, 0, t->bytes);
}

void obj_op(struct obj *o, const u8 random[16])
{
	for (size_t i = 0; i < 16; i++)
		snprintf(o->op + 2 * i, sizeof(o->op) - 2 * i, "%02x", random[i]);
}

int obj_check_number(struct field_at *a, const char *name, u64 number)
{
	if (number >= MESH_NUMBER_MAX || mesh_number_restart(number))
		return field_wrong(a, -EUCLEAN, "%s %llu has a restart, which is the kernel's alone", name,
				   (unsigned long long)number);
	return 0;
}

static int uuid_cmp(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct muuid));
}

int obj_check_unique(struct field_at *a, const char *name, const void *array, size_t n, size_t each,
		     size_t at)
{
	struct muuid *all = n ? malloc(n * sizeof(*all)) : NULL;
	int err = 0;

	if (n && !all)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		memcpy(&all[i], (const u8 *)array + i * each + at, sizeof(*all));
	if (n)
		qsort(all, n, sizeof(*all), uuid_cmp);
	for (size_t i = 1; i < n && !err; i++)
		if (muuid_equal(&all[i - 1], &all[i]))
			err = field_wrong(a, -EUCLEAN, "%s has %s twice", name, muuid_str(&all[i]).s);
	free(all);
	return err;
}

int obj_check_places(struct field_at *a, const u16 *place, u32 n, u32 members)
{
	u8 seen[PROT_MEMBERS_MAX] = { 0 };

	for (u32 i = 0; i < n; i++) {
		if (place[i] >= members || seen[place[i]])
			return field_wrong(a, -EUCLEAN, "bars place %u twice, or the layout has no such place",
					   place[i]);
		seen[place[i]] = 1;
	}
	return 0;
}

const struct field obj_uuid_element[] = {
	{ .name = "", .kind = FIELD_UUID, .bytes = sizeof(struct muuid) },
	{ .name = NULL }
};

const struct field obj_place_element[] = {
	{ .name = "", .kind = FIELD_INT, .bytes = sizeof(u16), .max = PROT_MEMBERS_MAX - 1 },
	{ .name = NULL }
};

const char *const obj_mode_words[3] = { [PLAN_NONE] = "none", [PLAN_RW] = "rw", [PLAN_RO] = "ro" };

bool obj_plain_name(const char *name)
{
	return *name && name[strspn(name, "0123456789abcdefghijklmnopqrstuvwxyz._-")] == 0;
}
