// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <string.h>

#include "userspace/agent/task_args.h"
#include "userspace/format/fields.h"
#include "userspace/format/label.h"
#include "userspace/format/objects_kind.h"

static const struct field io_fields[] = {
	FIELD_INT("timeout_ms", struct obj_io, timeout_ms, 1, UINT32_MAX, .flags = FIELD_MAY),
	FIELD_INT("queue_depth", struct obj_io, queue_depth, 1, UINT32_MAX, .flags = FIELD_MAY),
	{ .name = NULL }
};

static bool shape_ok(const char *text)
{
	struct layout_shape s;

	return !layout_parse(text, &s);
}

#define NAME(...)	FIELD_TEXT("name", struct task_args, name, layout_name_ok, __VA_ARGS__)
#define SHAPE(...)	FIELD_TEXT("layout", struct task_args, layout, shape_ok, __VA_ARGS__), \
	FIELD_INT("groups", struct task_args, groups, 1, LAYOUT_COLUMNS_MAX, .flags = FIELD_MAY), \
	FIELD_INT("bytes", struct task_args, bytes, 1, 1ULL << 60, .flags = FIELD_MAY), \
	FIELD_BOOL("all", struct task_args, all, .flags = FIELD_MAY), \
	FIELD_INT("strip", struct task_args, strip, 4096, 1U << 30, .flags = FIELD_MAY)
#define DRIVES(most)	FIELD_LIST("drives", struct task_args, drive, drives, obj_uuid_element, NULL, most, \
	.flags = FIELD_BARE | FIELD_MAY)
#define SPARES		FIELD_INT("spares", struct task_args, spares, 1, 1024, .flags = FIELD_MAY)
#define ALLOW		FIELD_LIST("allow", struct task_args, allow, allows, obj_uuid_element, NULL, \
	PLAN_ALLOW_MAX, .flags = FIELD_BARE | FIELD_ALL | FIELD_MAY)

static const struct field create_args[] = {
	NAME(.flags = 0), SHAPE(.flags = 0), DRIVES(PROT_MEMBERS_MAX), SPARES, ALLOW,
	FIELD_TEXT("domain", struct task_args, domain, obj_plain_name),
	FIELD_PART("io", struct task_args, io, io_fields),
	{ .name = NULL }
};

static const struct field extend_args[] = {
	SHAPE(.flags = FIELD_MAY), DRIVES(PROT_MEMBERS_MAX), { .name = NULL }
};

static const struct field replace_args[] = {
	FIELD_INT("place", struct task_args, place, 0, PROT_MEMBERS_MAX - 1), DRIVES(1),
	FIELD_BOOL("spare", struct task_args, spare, .flags = FIELD_MAY),
	{ .name = NULL }
};

static const struct field evict_args[] = {
	FIELD_INT("place", struct task_args, place, 0, PROT_MEMBERS_MAX - 1), DRIVES(1),
	FIELD_UUID("drain", struct task_args, drain, .flags = FIELD_MAY),
	{ .name = NULL }
};

static const struct field drain_args[] = {
	FIELD_UUID("drive", struct task_args, on), { .name = NULL }
};

static const struct field set_args[] = {
	NAME(.flags = FIELD_MAY), SPARES, ALLOW,
	FIELD_BOOL("no_spares", struct task_args, no_spares, .flags = FIELD_MAY),
	{ .name = NULL }
};

static const struct field delete_args[] = {
	{ .name = NULL }
};

static const struct field remove_args[] = {
	FIELD_UUID("host", struct task_args, host), FIELD_BOOL("lost", struct task_args, lost, .flags = FIELD_MAY),
	{ .name = NULL }
};

static const struct field *const tables[] = {
	[PLAN_TASK_CREATE] = create_args, [PLAN_TASK_EXTEND] = extend_args,
	[PLAN_TASK_REPLACE] = replace_args, [PLAN_TASK_SET] = set_args,
	[PLAN_TASK_DELETE] = delete_args, [PLAN_TASK_EVICT] = evict_args,
	[PLAN_TASK_DRAIN] = drain_args, [PLAN_TASK_FORGET] = drain_args,
	[PLAN_TASK_REMOVE] = remove_args,
};

/* A misspelt argument is not one that was left out. */
static int check_known(struct field_at *at, const struct field *table, const json_t *args)
{
	const char *name;
	json_t *value;

	json_object_foreach((json_t *)args, name, value) {
		const struct field *f = table;

		while (f->name && strcmp(f->name, name))
			f++;
		if (!f->name && strcmp(name, "preempt"))
			return field_wrong(at, -EINVAL, "has the argument %.40s, which this verb does not take",
					   field_plain(name) ? name : "?");
	}
	return 0;
}

static int check_size(struct field_at *at, const struct task_args *a, u8 kind)
{
	if (kind != PLAN_TASK_CREATE && kind != PLAN_TASK_EXTEND)
		return 0;
	if (!a->bytes != a->all)
		return field_wrong(at, -EINVAL, "needs a size: either bytes or all");
	return 0;
}

int task_args_read(const struct obj_task *t, struct task_args *a, char *why, size_t size)
{
	u8 kind = t->plan.kind;
	json_t *args = t->args ? t->args : json_object();
	struct field_at at;
	int err;

	memset(a, 0, sizeof(*a));
	field_begin(&at, "task", why, size);
	if (!kind || kind >= sizeof(tables) / sizeof(tables[0]))
		err = field_wrong(&at, -EINVAL, "is a \"%s\", which this meshd does not know", t->verb);
	else if (!args)
		err = -ENOMEM;
	else
		err = check_known(&at, tables[kind], args);
	if (!err)
		err = fields_get(&at, tables[kind], args, a);
	if (!err)
		err = check_size(&at, a, kind);
	if (!err) {
		a->allow_given = json_object_get(args, "allow");
	}
	if (!t->args)
		json_decref(args);
	return err;
}

void task_args_free(struct task_args *a)
{
	/* Every list is in this table. */
	fields_free(create_args, a);
	memset(a, 0, sizeof(*a));
}

static const struct field export_args[] = {
	FIELD_UUID("host", struct drive_args, host, .flags = FIELD_MAY),
	FIELD_TEXT("path", struct drive_args, path, field_plain),
	FIELD_BOOL("force", struct drive_args, force, .flags = FIELD_MAY),
	FIELD_BOOL("erase_label", struct drive_args, erase_label, .flags = FIELD_MAY),
	FIELD_BOOL("local", struct drive_args, local, .flags = FIELD_MAY),
	FIELD_TEXT("name", struct drive_args, name, layout_name_ok, .flags = FIELD_MAY),
	{ .name = NULL }
};

static const struct field unexport_args[] = {
	FIELD_UUID("host", struct drive_args, host, .flags = FIELD_MAY),
	FIELD_UUID("drive", struct drive_args, drive),
	FIELD_BOOL("force", struct drive_args, force, .flags = FIELD_MAY),
	FIELD_BOOL("preempt", struct drive_args, preempt, .flags = FIELD_MAY),
	{ .name = NULL }
};

bool drive_args_are(const struct obj_task *t)
{
	return !strcmp(t->verb, TASK_EXPORT) || !strcmp(t->verb, TASK_UNEXPORT);
}

int drive_args_read(const struct obj_task *t, struct drive_args *a, char *why, size_t size)
{
	const struct field *table = strcmp(t->verb, TASK_EXPORT) ? unexport_args : export_args;
	struct field_at at;
	int err;

	memset(a, 0, sizeof(*a));
	field_begin(&at, "task", why, size);
	if (!t->args)
		return field_wrong(&at, -EINVAL, "has no arguments");
	err = check_known(&at, table, t->args);
	return err ? err : fields_get(&at, table, t->args, a);
}
