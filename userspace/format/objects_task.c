// SPDX-License-Identifier: GPL-2.0-only
/* Tasks, and the two kinds that nothing is decided from: events and status. See objects.h. */
#include <errno.h>
#include <string.h>

#include "userspace/format/label.h"
#include "userspace/format/objects_kind.h"

static const char *const task_words[] = {
	[OBJ_TASK_WAITING] = "waiting", [OBJ_TASK_RUNNING] = "running",
	[OBJ_TASK_CANCELLING] = "cancelling", [OBJ_TASK_DONE] = "done", [OBJ_TASK_FAILED] = "failed",
	[OBJ_TASK_CANCELLED] = "cancelled",
};

static const struct field progress_fields[] = {
	FIELD_INT("done", struct obj_progress, done, 0, INT64_MAX),
	FIELD_INT("total", struct obj_progress, total, 0, INT64_MAX),
	{ .name = NULL }
};

/* The controller's steps: plan/task.h. */
static const char *const stage_words[] = {
	[PLAN_TASK_PLACED] = "placed", [PLAN_TASK_DECIDED] = "decided",
	[PLAN_TASK_ENDED] = "ended",
};

static const struct {
	const char *verb;
	u8	kind;
} verbs[] = {
	{ "volume create", PLAN_TASK_CREATE }, { "volume extend", PLAN_TASK_EXTEND },
	{ "volume replace", PLAN_TASK_REPLACE }, { "volume set", PLAN_TASK_SET },
	{ "volume delete", PLAN_TASK_DELETE }, { "volume evict", PLAN_TASK_EVICT },
	{ "drive drain", PLAN_TASK_DRAIN }, { "drive forget", PLAN_TASK_FORGET },
	{ "host remove", PLAN_TASK_REMOVE },
};

static const struct field put_fields[] = {
	FIELD_INT("place", struct plan_task_put, place, 0, PROT_MEMBERS_MAX - 1),
	FIELD_UUID("drive", struct plan_task_put, drive),
	FIELD_UUID("extent", struct plan_task_put, extent),
	FIELD_INT("start", struct plan_task_put, start, LABEL_AREA, INT64_MAX),
	FIELD_INT("length", struct plan_task_put, length, LABEL_AREA, INT64_MAX),
	{ .name = NULL }
};

/* As typed: "volume create". */
static bool verb_text_ok(const char *text)
{
	return text[strspn(text, "abcdefghijklmnopqrstuvwxyz- ")] == 0;
}

static const struct field task_fields[] = {
	FIELD_UUID("task", struct obj_task, uuid),
	FIELD_TEXT("verb", struct obj_task, verb, verb_text_ok),
	FIELD_KEEP("args", struct obj_task, args),
	FIELD_WORD("state", struct obj_task, state, task_words),
	FIELD_WORD("stage", struct obj_task, stage, stage_words, .flags = FIELD_MAY),
	FIELD_INT("version", struct obj_task, plan.version, 1, INT64_MAX, .flags = FIELD_MAY),
	FIELD_LIST("segments", struct obj_task, segment, segments, obj_segment_fields, NULL,
		   PROT_SEGMENTS_MAX, .flags = FIELD_MAY),
	FIELD_LIST("puts", struct obj_task, plan.put, plan.puts, put_fields, "extent", PROT_MEMBERS_MAX,
		   .flags = FIELD_MAY),
	FIELD_TEXT("step", struct obj_task, step, field_plain, .flags = FIELD_MAY),
	FIELD_PART("progress", struct obj_task, progress, progress_fields),
	FIELD_UUID("host", struct obj_task, host),
	FIELD_TEXT("user", struct obj_task, user, field_plain, .flags = FIELD_MAY),
	FIELD_UUID("volume", struct obj_task, volume, .flags = FIELD_MAY),
	FIELD_UUID("drive", struct obj_task, drive, .flags = FIELD_MAY),
	FIELD_TEXT("error", struct obj_task, error, field_plain, .flags = FIELD_MAY),
	FIELD_TEXT("fault", struct obj_task, fault, obj_plain_name, .flags = FIELD_MAY),
	FIELD_INT("created", struct obj_task, created, 0, INT64_MAX),
	FIELD_INT("changed", struct obj_task, changed, 0, INT64_MAX),
	FIELD_LIST("after", struct obj_task, after, afters, obj_uuid_element, NULL, OBJ_AFTER_MAX,
		   .flags = FIELD_BARE),
	{ .name = NULL }
};

static void task_view(struct obj_task *t)
{
	t->plan.uuid = t->uuid;
	t->plan.volume = t->volume;
	t->plan.kind = 0;
	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
		if (!strcmp(verbs[i].verb, t->verb))
			t->plan.kind = verbs[i].kind;
	t->plan.state = t->stage ? t->stage : PLAN_TASK_NEW;
	t->plan.cancel = t->state == OBJ_TASK_CANCELLING || t->state == OBJ_TASK_CANCELLED;
	t->plan.preempt = json_is_true(json_object_get(t->args, "preempt"));
}

static int task_check(struct field_at *a, void *x)
{
	struct obj_task *t = x;
	int err;

	task_view(t);
	err = obj_check_unique(a, "puts", t->plan.put, t->plan.puts, sizeof(*t->plan.put),
			       offsetof(struct plan_task_put, extent));
	if (err)
		return err;
	if (t->progress.done > t->progress.total)
		return field_wrong(a, -EUCLEAN, "has done %llu of %llu", (unsigned long long)t->progress.done,
				   (unsigned long long)t->progress.total);
	if (t->state == OBJ_TASK_FAILED && !t->error[0])
		return field_wrong(a, -EUCLEAN, "has failed without a reason");
	for (u32 i = 0; i < t->afters; i++)
		if (muuid_equal(&t->after[i], &t->uuid))
			return field_wrong(a, -EUCLEAN, "waits for itself");
	return obj_check_unique(a, "after", t->after, t->afters, sizeof(*t->after), 0);
}

/* The view has no memory of its own; obj_view() makes it again. */
static void task_drop(void *x)
{
	struct obj_task *t = x;

	t->plan.kind = 0;
}

static void task_key(const void *x, struct key *k)
{
	k->task = ((const struct obj_task *)x)->uuid;
}

const struct obj_type obj_type_task = {
	.noun = "task", .bytes = sizeof(struct obj_task), .fields = task_fields, .check = task_check,
	.drop = task_drop, .key = task_key,
};

static const struct field event_fields[] = {
	FIELD_UUID("host", struct obj_event, host),
	FIELD_INT("serial", struct obj_event, serial, 0, INT64_MAX),
	FIELD_INT("at", struct obj_event, at, 0, INT64_MAX),
	FIELD_TEXT("what", struct obj_event, what, obj_plain_name),
	FIELD_TEXT("words", struct obj_event, words, field_plain),
	FIELD_UUID("volume", struct obj_event, volume, .flags = FIELD_MAY),
	FIELD_UUID("drive", struct obj_event, drive, .flags = FIELD_MAY),
	FIELD_KEEP("details", struct obj_event, details, .flags = FIELD_MAY),
	{ .name = NULL }
};

static void event_key(const void *x, struct key *k)
{
	const struct obj_event *e = x;

	k->host = e->host;
	k->serial = e->serial;
}

const struct obj_type obj_type_event = {
	.noun = "event", .bytes = sizeof(struct obj_event), .fields = event_fields, .key = event_key,
};

static const char *const subject_words[] = {
	[OBJ_OF_HOST] = "host", [OBJ_OF_DRIVE] = "drive", [OBJ_OF_VOLUME] = "volume", [OBJ_OF_TASK] = "task",
};

static const struct field status_fields[] = {
	FIELD_UUID("host", struct obj_status, host),
	FIELD_UUID("about", struct obj_status, about),
	FIELD_WORD("subject", struct obj_status, subject, subject_words),
	FIELD_INT("at", struct obj_status, at, 0, INT64_MAX),
	FIELD_TEXT("state", struct obj_status, state, obj_plain_name),
	FIELD_TEXT("words", struct obj_status, words, field_plain, .flags = FIELD_MAY),
	FIELD_KEEP("details", struct obj_status, details, .flags = FIELD_MAY),
	{ .name = NULL }
};

static int status_check(struct field_at *a, void *x)
{
	const struct obj_status *s = x;

	if (s->subject == OBJ_OF_HOST && !muuid_equal(&s->host, &s->about))
		return field_wrong(a, -EUCLEAN, "is of one host about another one");
	return 0;
}

static void status_key(const void *x, struct key *k)
{
	const struct obj_status *s = x;

	k->host = s->host;
	k->about = s->about;
}

const struct obj_type obj_type_status = {
	.noun = "status", .bytes = sizeof(struct obj_status), .fields = status_fields,
	.check = status_check, .key = status_key,
};
