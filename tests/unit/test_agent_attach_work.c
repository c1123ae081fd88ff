// SPDX-License-Identifier: GPL-2.0-only
/* Requests of wants, each carried out once and answered; the work of groups in what a host reports. */
#include "tests/unit/attach_rig.h"

static const struct plan_work some = {
	.health = PLAN_REBUILDING, .behind = 1ULL << 40, .copied = 3, .copies = 7, .scrubs = true, .scrubbed = 11,
	.bytes = 13, .unread_member = 1, .unread_bytes = 512, .unread_at = 4096, .why = "member 1 is rebuilt",
};

static bool same_work(const struct plan_work *a, const struct plan_work *b)
{
	return a->health == b->health && a->behind == b->behind && a->copied == b->copied &&
	       a->copies == b->copies && a->scrubs == b->scrubs && a->scrubbed == b->scrubbed &&
	       a->bytes == b->bytes && a->unread_member == b->unread_member && a->unread_at == b->unread_at &&
	       a->unread_bytes == b->unread_bytes && !strcmp(a->why, b->why);
}

static void t_json(void)
{
	struct plan_work w = some, back;
	json_t *j;

	for (u8 health = 0; health <= PLAN_DOWN + 1; health++) {
		w.health = health;
		j = attach_work_json(&w);
		CU_ASSERT_EQUAL(!j, health == PLAN_UNSEEN || health > PLAN_DOWN);
		memset(&back, 0xff, sizeof(back));
		attach_work_read(j, &back);
		CU_ASSERT(same_work(&back, j ? &w : &(struct plan_work) { .scrubs = false }));
		json_decref(j);
	}
	w = (struct plan_work) { .health = PLAN_WHOLE };
	j = attach_work_json(&w);
	CU_ASSERT_PTR_NULL(json_object_get(j, "unread"));
	CU_ASSERT_PTR_NULL(json_object_get(j, "reason"));
	json_decref(j);
}

static const json_t *detail(int h, const char *key)
{
	const struct obj_status *s = seen(KEY_STATUS, h);

	return s ? json_object_get(s->details, key) : NULL;
}

static const char *answer(int h, const char *key)
{
	const char *text = json_string_value(json_object_get(detail(h, "request"), key));

	return text ? text : "";
}

static json_int_t work(int h, const char *key)
{
	return json_integer_value(json_object_get(detail(h, "work"), key));
}

static void request(int h, u8 id, u8 what, const struct muuid *extent)
{
	const struct obj_want *now = seen(KEY_WANT, h);
	struct obj_want w;

	CU_ASSERT_PTR_NOT_NULL_FATAL(now);
	w = *now;
	w.request = (struct obj_request) { .id = rig_id('r', id), .what = what };
	if (extent)
		w.request.extent = *extent;
	rig_put(O, KEY_WANT, &w);
}

static bool requested(int h)
{
	const struct obj_want *w = seen(KEY_WANT, h);

	return w && !muuid_null(&w->request.id);
}

static void begin(void)
{
	rig_start();
	VOLUME(.level = PROT_MIRROR);
	WANT(0, PLAN_RW);
	settle();
	CU_ASSERT_FATAL(serves(0));
}

static void t_request(void)
{
	struct muuid x = rig_id('x', 2), id = rig_id('r', 2);

	begin();
	CU_ASSERT_PTR_NULL(detail(0, "request"));
	request(0, 1, OBJ_SCRUB, NULL);
	CU_ASSERT_STRING_EQUAL(settle(), "request1 txn1 ");
	CU_ASSERT_EQUAL(W.h[0].k.requests, 1);
	CU_ASSERT_EQUAL(W.h[0].k.request.what, OBJ_SCRUB);
	CU_ASSERT(muuid_null(&W.h[0].k.request.extent));
	CU_ASSERT(!requested(0));
	CU_ASSERT_STRING_EQUAL(answer(0, "error"), "");
	/* Another one, that goes on for a turn, and is refused. */
	W.slow = true;
	W.h[0].k.refuses = true;
	request(0, 2, OBJ_REJOIN, &x);
	CU_ASSERT_STRING_EQUAL(settle(), "request1 txn1 ");
	W.slow = false;
	CU_ASSERT_EQUAL(W.h[0].k.requests, 2);
	CU_ASSERT_EQUAL(W.h[0].k.request.what, OBJ_REJOIN);
	CU_ASSERT(muuid_equal(&W.h[0].k.request.extent, &x));
	CU_ASSERT_STRING_EQUAL(answer(0, "id"), muuid_str(&id).s);
	CU_ASSERT_STRING_EQUAL(answer(0, "error"), "the machine says no");
	CU_ASSERT(!requested(0) && status_is(0, "attached", NULL));
	/* The same once more is not carried out again. */
	request(0, 2, OBJ_REJOIN, &x);
	CU_ASSERT_STRING_EQUAL(settle(), "txn1 ");
	CU_ASSERT_EQUAL(W.h[0].k.requests, 2);
	CU_ASSERT(!requested(0));
	/* One that is done has no error of the one before. */
	W.h[0].k.refuses = false;
	request(0, 3, OBJ_SCRUB_STOP, NULL);
	settle();
	CU_ASSERT_STRING_EQUAL(answer(0, "error"), "");
	rig_stop();
}

static void cut_off(const char *op)
{
	if (!strcmp(op, "set"))
		W.h[0].cut = 3;
}

/* It waits for the disk. */
static void t_request_early(void)
{
	rig_start();
	VOLUME(.level = PROT_MIRROR);
	W.hook = cut_off;
	WANT(0, PLAN_RW);
	settle();
	W.hook = NULL;
	CU_ASSERT_FATAL(W.h[0].k.there && !serves(0));
	request(0, 1, OBJ_SCRUB, NULL);
	settle();
	CU_ASSERT_EQUAL(W.h[0].k.requests, 0);
	CU_ASSERT(requested(0));
	W.h[0].cut = 0;
	settle();
	CU_ASSERT_EQUAL(W.h[0].k.requests, 1);
	CU_ASSERT(!requested(0));
	rig_stop();
}

/* A want that is of this boot alone, with a request: it is detached after a reboot. */
static void t_request_lapses(void)
{
	const struct obj_want *now;
	struct obj_want w;

	rig_start();
	VOLUME(.level = PROT_MIRROR);
	WANT(0, PLAN_RW, .no_boot = true);
	settle();
	host_restart(0, true);
	now = seen(KEY_WANT, 0);
	CU_ASSERT_PTR_NOT_NULL_FATAL(now);
	w = *now;
	w.request = (struct obj_request) { .id = rig_id('r', 1), .what = OBJ_SCRUB };
	rig_put(O, KEY_WANT, &w);
	settle();
	CU_ASSERT_PTR_NULL(seen(KEY_WANT, 0));
	CU_ASSERT(!W.h[0].k.there);
	rig_stop();
}

/* The agent dies before and behind each of its operations: what is requested is done and answered. */
static void t_request_crash(void)
{
	for (int at = 1; at <= 4; at++)
		for (int behind = 0; behind < 2; behind++) {
			begin();
			W.crash_at = at;
			W.crash_behind = behind;
			request(0, 1, OBJ_SCRUB, NULL);
			settle();
			W.crash_at = 0;
			settle();
			/* Twice where it dies between the kernel and the last transaction. */
			CU_ASSERT_EQUAL(W.h[0].k.requests, at - !behind == 1 ? 2 : 1);
			CU_ASSERT(!requested(0));
			rig_stop();
		}
}

/* No store, no answer: it is kept until the store is back, and not done again. */
static void t_request_away(void)
{
	begin();
	request(0, 1, OBJ_SCRUB, NULL);
	W.now += 500;
	CU_ASSERT_EQUAL(host_turn(0), 1);
	CU_ASSERT_EQUAL(W.h[0].k.requests, 1);
	W.h[0].away = true;
	settle();
	CU_ASSERT(requested(0));
	CU_ASSERT_STRING_EQUAL(answer(0, "id"), "");
	W.h[0].away = false;
	settle();
	CU_ASSERT_EQUAL(W.h[0].k.requests, 1);
	CU_ASSERT(!requested(0));
	CU_ASSERT(answer(0, "id")[0]);
	rig_stop();
}

static json_int_t later(u64 ms)
{
	W.now += ms;
	host_turn(0);
	return work(0, "behind");
}

/* Numbers are reported each 5 s; another health, and the ends of a scrub, at once. */
static void t_status(void)
{
	struct plan_work *w = &W.h[0].k.work;

	begin();
	CU_ASSERT_PTR_NULL(detail(0, "work"));
	w->health = PLAN_WHOLE;
	later(6000);
	CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(detail(0, "work"), "health")), "whole");
	w->health = PLAN_REBUILDING;
	w->behind = 100;
	CU_ASSERT_EQUAL(later(100), 100);
	w->behind = 90;
	CU_ASSERT_EQUAL(later(4000), 100);
	CU_ASSERT_EQUAL(later(999), 100);
	CU_ASSERT_EQUAL(later(1), 90);
	w->behind = 80;
	w->scrubs = true;
	CU_ASSERT_EQUAL(later(1), 80);
	w->behind = 70;
	w->scrubs = false;
	CU_ASSERT_EQUAL(later(1), 70);
	w->behind = 0;
	w->health = PLAN_WHOLE;
	CU_ASSERT_EQUAL(later(1), 0);
	CU_ASSERT_STRING_EQUAL(json_string_value(detail(0, "disk")), "mesh0");
	rig_stop();
}

/* An answer does not wait, whatever was reported a moment ago. */
static void t_answer(void)
{
	begin();
	W.h[0].k.work.health = PLAN_WHOLE;
	later(0);
	request(0, 1, OBJ_SCRUB_STOP, NULL);
	for (int i = 0; i < 3; i++)
		later(0);
	CU_ASSERT_EQUAL(W.h[0].k.requests, 1);
	CU_ASSERT(answer(0, "id")[0] && !requested(0));
	/* One that cannot be written is owed: the request stays until it is there. */
	strcpy(W.h[0].k.work.why, "\1");
	request(0, 2, OBJ_SCRUB_STOP, NULL);
	settle();
	CU_ASSERT(requested(0) && W.h[0].k.requests == 2);
	W.h[0].k.work.why[0] = 0;
	settle();
	CU_ASSERT(!requested(0) && W.h[0].k.requests == 2);
	rig_stop();
}

static const struct rig_test tests[] = {
	{ "work as JSON", t_json },
	{ "requests", t_request },
	{ "a request before the disk is there", t_request_early },
	{ "a request of a want that lapses", t_request_lapses },
	{ "a request, and crashes", t_request_crash },
	{ "a request, and the store goes away", t_request_away },
	{ "work in the status", t_status },
	{ "an answer in the status", t_answer },
};

int main(void)
{
	return rig_main("agent_attach_work", tests, sizeof(tests) / sizeof(tests[0]));
}
