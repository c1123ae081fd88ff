// SPDX-License-Identifier: GPL-2.0-only
/*
 * What people read of an attachment: status/H/V, and events. Nothing is decided from either, so a
 * status is written without a compare.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "userspace/agent/attach_in.h"
#include "userspace/agent/event.h"

static u64 wall_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

void attach_volume_name(const struct attach_vol *v, char out[OBJ_TEXT])
{
	const struct key k = attach_key(v, KEY_VOLUME);
	const struct obj_volume *x = copy_obj(v->a->copy, &k);
	const struct layout *l = x ? x->record : v->rec.record;

	snprintf(out, OBJ_TEXT, "%s", l ? l->name : muuid_str(&v->id).s);
}

void attach_host_name(const struct attach_vol *v, const struct muuid *host, char out[OBJ_TEXT])
{
	const struct key k = { .kind = KEY_HOST, .host = *host };
	const struct obj_host *h = copy_obj(v->a->copy, &k);

	snprintf(out, OBJ_TEXT, "%s", h ? h->name : muuid_str(host).s);
}

/* @text: NULL: the key goes. */
static int write_status(const struct attach_vol *v, const char *text)
{
	const struct key k = { .kind = KEY_STATUS, .host = v->a->host, .about = v->id };
	char key[STORE_KEY_MAX];
	struct store_op op = { .key = key, .value = text, .len = text ? strlen(text) : 0 };
	const struct store_txn t = { .op = &op, .ops = 1 };
	int err = key_text(&k, key);

	return err ? err : store_txn(copy_store(v->a->copy), &t, NULL);
}

/* What is reported beside the sentence: never NULL. */
static json_t *details(const struct attach_vol *v)
{
	json_t *j = json_object(), *work = attach_work_json(&v->k.work), *r;

	if (v->k.disk[0])
		json_object_set_new(j, "disk", json_string(v->k.disk));
	if (work)
		json_object_set_new(j, "work", work);
	if (v->evict.bytes)
		json_object_set_new(j, "copying", json_pack("{s:I, s:I}", "copied", (json_int_t)v->evict.copied,
							    "bytes", (json_int_t)v->evict.bytes));
	if (muuid_null(&v->answered))
		return j;
	r = json_pack("{s:s}", "id", muuid_str(&v->answered).s);
	if (v->answer[0])
		json_object_set_new(r, "error", json_string(v->answer));
	json_object_set_new(j, "request", r);
	return j;
}

static int write_words(const struct attach_vol *v, const char *state, const char *words, json_t *details)
{
	struct obj_status s = { .host = v->a->host, .about = v->id, .subject = OBJ_OF_VOLUME,
				.at = wall_ns() / 1000000 };
	char *text, why[OBJ_WHY];
	struct deal d;
	int ret;

	deal_begin(&d, v->a->copy);
	memcpy(s.o.op, d.op_id, sizeof(s.o.op));
	snprintf(s.state, sizeof(s.state), "%s", state);
	snprintf(s.words, sizeof(s.words), "%s", words);
	s.details = json_object_size(details) ? details : NULL;
	ret = obj_encode(KEY_STATUS, &s, &text, why, sizeof(why));
	if (ret)
		return ret;
	ret = write_status(v, text);
	free(text);
	return ret;
}

static bool same(const json_t *a, const json_t *b, const char *key)
{
	const json_t *x = json_object_get(a, key), *y = json_object_get(b, key);

	return (!x && !y) || json_equal(x, y);
}

/* Numbers and sentences of one state wait; an answer, another health and the ends of a scrub do not. */
static bool due(const struct attach_vol *v, const char *state, const char *words, const json_t *now)
{
	const json_t *work = json_object_get(now, "work"), *was = json_object_get(v->details, "work");

	if (strcmp(state, v->said) || !same(now, v->details, "request") || !same(work, was, "health") ||
	    !same(work, was, "scrubbing"))
		return true;
	if (!strcmp(words, v->words) && json_equal(now, v->details))
		return false;
	return v->a->now - v->said_ms >= ATTACH_STATUS_MS;
}

void attach_say(struct attach_vol *v, const char *state, const char *format, ...)
{
	char text[OBJ_WORDS - 128], words[OBJ_WORDS] = "", name[OBJ_TEXT];
	json_t *now;
	va_list ap;

	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	attach_volume_name(v, name);
	if (text[0])
		snprintf(words, sizeof(words), "volume %s: %s", name, text);
	if (v->a->away)
		return;
	now = details(v);
	if (!due(v, state, words, now) || write_words(v, state, words, now) < 0) {
		json_decref(now);
		return;
	}
	json_decref(v->details);
	v->details = now;
	snprintf(v->said, sizeof(v->said), "%s", state);
	snprintf(v->words, sizeof(v->words), "%s", words);
	v->said_ms = v->a->now;
}

void attach_say_verdict(struct attach_vol *v, const char *state, enum plan_verdict verdict,
			const struct muuid *host)
{
	char name[OBJ_TEXT];

	if (!host || muuid_null(host)) {
		attach_say(v, state, "it %s", plan_words(verdict));
		return;
	}
	attach_host_name(v, host, name);
	attach_say(v, state, "it %s (%s)", plan_words(verdict), name);
}

void attach_unsay(struct attach_vol *v)
{
	if (v->a->away || write_status(v, NULL) < 0)
		return;
	v->said[0] = v->words[0] = 0;
	json_decref(v->details);
	v->details = NULL;
}

void attach_event(const struct attach_vol *v, struct deal *d, const char *what, const char *format, ...)
{
	struct obj_event e;
	va_list ap;

	event_begin(&e, &v->a->host, what);
	e.volume = v->id;
	va_start(ap, format);
	vsnprintf(e.words, sizeof(e.words), format, ap);
	va_end(ap);
	deal_put(d, KEY_EVENT, &e, 0);
}
