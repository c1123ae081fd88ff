// SPDX-License-Identifier: GPL-2.0-only
/*
 * Requests of want/H/V for the kernel that has the volume, and the work of its groups as JSON.
 *
 *   want: request --> the kernel --> status: request, error --> want without it
 *
 * An agent that dies between the kernel and the last step carries the request out once more: a scrub
 * begins again, and a member that has joined joins.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/agent/attach_in.h"
#include "userspace/format/json.h"

const char *attach_health(u8 health)
{
	static const char *const words[] = {
		[PLAN_WHOLE] = "whole", [PLAN_REBUILDING] = "rebuilding", [PLAN_DEGRADED] = "degraded",
		[PLAN_DOWN] = "down",
	};

	return health < sizeof(words) / sizeof(words[0]) ? words[health] : NULL;
}

json_t *attach_work_json(const struct plan_work *w)
{
	const char *health = attach_health(w->health);
	json_t *j, *unread;

	if (!health)
		return NULL;
	j = json_object();
	jset_str(j, "health", health);
	if (w->why[0])
		jset_str(j, "reason", w->why);
	jset_u64(j, "behind", w->behind);
	jset_u64(j, "copied", w->copied);
	jset_u64(j, "of", w->copies);
	jset_bool(j, "scrubbing", w->scrubs);
	jset_u64(j, "scrubbed", w->scrubbed);
	jset_u64(j, "bytes", w->bytes);
	if (!w->unread_bytes)
		return j;
	unread = json_object();
	jset_u64(unread, "member", w->unread_member);
	jset_u64(unread, "at", w->unread_at);
	jset_u64(unread, "length", w->unread_bytes);
	json_object_set_new(j, "unread", unread);
	return j;
}

static u64 number(const json_t *j, const char *key)
{
	json_int_t n = json_integer_value(json_object_get(j, key));

	return n > 0 ? (u64)n : 0;
}

void attach_work_read(const json_t *j, struct plan_work *w)
{
	const char *health = json_string_value(json_object_get(j, "health"));
	const char *why = json_string_value(json_object_get(j, "reason"));
	const json_t *unread = json_object_get(j, "unread");

	memset(w, 0, sizeof(*w));
	for (u8 i = PLAN_WHOLE; health && i <= PLAN_DOWN; i++)
		if (!strcmp(health, attach_health(i)))
			w->health = i;
	snprintf(w->why, sizeof(w->why), "%s", why ? why : "");
	w->behind = number(j, "behind");
	w->copied = number(j, "copied");
	w->copies = number(j, "of");
	w->scrubs = json_is_true(json_object_get(j, "scrubbing"));
	w->scrubbed = number(j, "scrubbed");
	w->bytes = number(j, "bytes");
	w->unread_member = (u32)number(unread, "member");
	w->unread_at = number(unread, "at");
	w->unread_bytes = (u32)number(unread, "length");
}

void attach_requested(struct attach_vol *v, int err)
{
	v->answered = v->request.id;
	v->answer[0] = 0;
	if (err)
		snprintf(v->answer, sizeof(v->answer), "%.*s", (int)sizeof(v->answer) - 1, v->a->ops->words(v->a->m));
}

/* The store has the answer, or a later one would have replaced it. */
static bool is_said(const struct attach_vol *v)
{
	const char *id = json_string_value(json_object_get(json_object_get(v->details, "request"), "id"));

	return id && !strcmp(id, muuid_str(&v->answered).s);
}

static int take_away(struct attach_vol *v, const struct attach_objects *o)
{
	struct deal *d = attach_deal(v, NULL);
	struct obj_want want = *o->want;

	if (!d)
		return -ENOMEM;
	memset(&want.request, 0, sizeof(want.request));
	deal_put(d, KEY_WANT, &want, 0);
	return attach_close_deal(v, d);
}

int attach_request(struct attach_vol *v, const struct attach_objects *o)
{
	const struct obj_request *r = o->want ? &o->want->request : NULL;

	/* A host that served it until the store named another one carries out nothing. */
	if (!r || muuid_null(&r->id) || v->k.state != ATTACH_SERVING || !v->rec.record)
		return 0;
	if (muuid_equal(&r->id, &v->answered))
		return is_said(v) ? take_away(v, o) : 0;
	v->request = *r;
	return attach_begin(v, ATTACH_REQUESTS);
}
