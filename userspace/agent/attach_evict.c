// SPDX-License-Identifier: GPL-2.0-only
/*
 * Evictions: the kernel copies a member that leaves before it gets the version that names the copy.
 * What a kernel does is read from it in each turn, so a daemon that starts again goes on.
 *
 *   volume/V leaving --> copy() of each place --> plan_evict() --COPY, STOP--> evict()
 *                                                     |--WAIT--> the status has the figures
 *                                                     '--SET---> attach_record.c: record, kernel
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/agent/attach_in.h"

#define MIB	(1ULL << 20)

static bool present(const struct attach_vol *v)
{
	return v->k.state == ATTACH_OPENING || v->k.state == ATTACH_SERVING;
}

/* The reason why the copy at the place that comes next has ended, if one has. */
static void look_at(struct attach_vol *v, const struct plan_layout *next, const struct plan_copy *copy)
{
	const struct plan_evict_step *s = &v->evict;

	if (s->what == PLAN_E_WAIT && !muuid_null(&copy[s->place].to))
		v->copying = copy[s->place].to;
	if (s->what == PLAN_E_SET)
		v->copying = (struct muuid) { 0 };
	if (s->what == PLAN_E_COPY && !muuid_equal(&v->copying, &next->place[s->place].extent))
		v->copying = (struct muuid) { 0 };
}

int attach_evict_look(struct attach_vol *v, const struct attach_objects *o)
{
	const struct plan_layout *next = &o->volume->plan.layout;
	struct plan_copy *copy;
	int err = 0;

	if (!present(v) || !o->volume->leavings)
		return 0;
	copy = calloc(next->places, sizeof(*copy));
	if (!copy)
		return -ENOMEM;
	for (u32 i = 0; i < o->volume->leavings && !err; i++) {
		u32 place = o->volume->leaving[i].place;
		struct attach_copy c = { .why = "" };

		err = v->a->ops->copy(v->a->m, &v->id, place, &c);
		copy[place] = c.plan;
		if (c.why[0] && muuid_null(&c.plan.to) && !muuid_null(&v->copying))
			snprintf(v->evict_why, sizeof(v->evict_why), "%s", c.why);
	}
	if (err) {
		/* Nothing is known: the kernel keeps what it has. */
		v->evict.what = PLAN_E_WAIT;
	} else {
		plan_evict(next, copy, &v->evict);
		look_at(v, next, copy);
	}
	free(copy);
	return 0;
}

/* A copy that was begun is there no more: an event, then a pause. */
static int ended(struct attach_vol *v)
{
	struct deal *d = attach_deal(v, NULL);
	char name[OBJ_TEXT];
	int ret;

	if (!d)
		return -ENOMEM;
	attach_volume_name(v, name);
	attach_event(v, d, "copy-ended", "volume %s: member %u keeps its place, as its copy has ended: %s; it "
		     "begins again", name, v->evict.place, v->evict_why[0] ? v->evict_why : "no reason is known");
	ret = attach_close_deal(v, d);
	if (ret == 1) {
		v->copying = (struct muuid) { 0 };
		v->evict_ms = v->a->now + ATTACH_EVICT_MS;
	}
	return ret;
}

int attach_evict(struct attach_vol *v, const struct attach_objects *o)
{
	bool stop = v->evict.what == PLAN_E_STOP;

	if (v->k.state != ATTACH_SERVING || (v->evict.what != PLAN_E_COPY && !stop))
		return 0;
	if (!stop && !muuid_null(&v->copying))
		return ended(v);
	if (v->a->now < v->evict_ms)
		return 0;
	v->evict_to = o->volume->record->member[v->evict.place];
	v->evict_put = (struct attach_evict) {
		.volume = v->id, .place = v->evict.place, .to = stop ? NULL : &v->evict_to,
		.number = v->k.number,
	};
	return attach_begin(v, ATTACH_EVICTS);
}

void attach_evict_words(const struct attach_vol *v, char out[ATTACH_EVICT_WORDS])
{
	const struct plan_evict_step *s = &v->evict;

	out[0] = 0;
	if (s->bytes)
		snprintf(out, ATTACH_EVICT_WORDS, "a member leaves: %llu of %llu MiB are copied",
			 (unsigned long long)(s->copied / MIB), (unsigned long long)(s->bytes / MIB));
	else if (s->what == PLAN_E_COPY && v->evict_why[0])
		snprintf(out, ATTACH_EVICT_WORDS, "member %u leaves, and is not copied: %s", s->place, v->evict_why);
	else if (s->what != PLAN_E_SET)
		snprintf(out, ATTACH_EVICT_WORDS, "member %u leaves, and is not copied yet", s->place);
}
