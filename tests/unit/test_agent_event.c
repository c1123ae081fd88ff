// SPDX-License-Identifier: GPL-2.0-only
/* Events of a host that wait for the store, and what becomes of them. */
#include <errno.h>

#include "tests/unit/agent_rig.h"
#include "userspace/agent/event.h"

static struct store *agents;
static struct copy *A;
static struct events E;
static int txn_err;

int __real_store_txn_settle(struct store *s, const struct store_txn *t, u64 deadline, u64 *revision);
int __wrap_store_txn_settle(struct store *s, const struct store_txn *t, u64 deadline, u64 *revision);

int __wrap_store_txn_settle(struct store *s, const struct store_txn *t, u64 deadline, u64 *revision)
{
	return txn_err ? txn_err : __real_store_txn_settle(s, t, deadline, revision);
}

static void begin(void)
{
	rig_begin();
	agents = store_sqlite_handle(Q);
	A = copy_open(agents);
	OK(copy_follow(A, &(struct key) { .kind = KEY_EVENT }, 0));
	E = (struct events) { .copy = A };
	txn_err = 0;
}

static void end(void)
{
	events_end(&E);
	copy_close(A);
	store_close(agents);
	rig_end();
}

static struct obj_event event(const char *what, u32 n)
{
	struct obj_event e;

	event_begin(&e, &(struct muuid) { { 'h', 1 } }, what);
	e.volume = rig_id('v', n);
	e.details = json_pack("{s:i}", "member", n);
	event_words(&e, "volume %u", n);
	return e;
}

static void add(const char *what, u32 n)
{
	struct obj_event e = event(what, n);

	events_add(&E, &e);
	obj_free(KEY_EVENT, &e);
}

static u32 written(const struct obj_event **last)
{
	const struct key all = { .kind = KEY_EVENT };
	const struct copy_item *i = NULL;
	u32 n = 0;

	rig_catch_up(A);
	while ((i = copy_next(A, &all, 0, i))) {
		CU_ASSERT_PTR_NOT_NULL_FATAL(i->obj);
		*last = i->obj;
		n++;
	}
	return n;
}

static void t_written(void)
{
	const struct obj_event *e = NULL;

	begin();
	CU_ASSERT_EQUAL(events_turn(&E, 1000), 0);
	add("degraded", 1);
	add("healed", 2);
	CU_ASSERT_EQUAL(events_turn(&E, 1000), 1);
	CU_ASSERT_EQUAL(written(&e), 1);
	CU_ASSERT(!strcmp(e->what, "degraded") && !strcmp(e->words, "volume 1") && e->volume.b[1] == 1);
	CU_ASSERT(e->host.b[0] == 'h' && e->at == e->serial / 1000000 && e->at > 1700000000000ULL);
	CU_ASSERT_EQUAL(json_integer_value(json_object_get(e->details, "member")), 1);
	CU_ASSERT_EQUAL(events_turn(&E, 1000), 1);
	CU_ASSERT_EQUAL(written(&e), 2);
	CU_ASSERT(!strcmp(e->what, "healed") && e->details);
	CU_ASSERT_EQUAL(events_turn(&E, 1000), 0);
	end();
}

/* The store fails: the event waits, and the store is left alone for a while. */
static void t_waits(void)
{
	const struct obj_event *e = NULL;

	begin();
	add("down", 1);
	txn_err = -ETIMEDOUT;
	CU_ASSERT_EQUAL(events_turn(&E, 1000), -ETIMEDOUT);
	txn_err = 0;
	CU_ASSERT_EQUAL(events_turn(&E, 5999), 0);
	CU_ASSERT_EQUAL(events_turn(&E, 6000), 1);
	CU_ASSERT_EQUAL(written(&e), 1);
	/* One that is refused is not in the way of the next one. */
	add("down", 2);
	add("healed", 3);
	txn_err = -EACCES;
	CU_ASSERT_EQUAL(events_turn(&E, 6000), -EACCES);
	txn_err = 0;
	CU_ASSERT_EQUAL(events_turn(&E, 6000), 1);
	CU_ASSERT_EQUAL(written(&e), 2);
	CU_ASSERT_STRING_EQUAL(e->what, "healed");
	end();
}

static void t_bounded(void)
{
	const struct obj_event *e = NULL;

	begin();
	for (u32 i = 1; i <= EVENTS_MAX + 3; i++)
		add("down", i);
	CU_ASSERT_EQUAL(E.waiting, EVENTS_MAX);
	CU_ASSERT_EQUAL(E.event[0].volume.b[1], 4);
	CU_ASSERT_EQUAL(E.event[EVENTS_MAX - 1].volume.b[1], EVENTS_MAX + 3);
	for (u32 i = 0; i < EVENTS_MAX; i++)
		CU_ASSERT_EQUAL(events_turn(&E, 1000), 1);
	CU_ASSERT_EQUAL(written(&e), EVENTS_MAX);
	end();
}

/* A clock that was set back: none of the history is written over, known here or not yet. */
static void t_serial(void)
{
	struct obj_event x = event("down", 1), y;
	const struct obj_event *e = NULL;
	struct store *others;
	struct copy *B;

	begin();
	others = store_sqlite_handle(Q);
	B = copy_open(others);
	events_add(&E, &x);
	events_add(&E, &x);
	CU_ASSERT_EQUAL(events_turn(&E, 1000), 1);
	CU_ASSERT_EQUAL(events_turn(&E, 1000), 1);
	CU_ASSERT_EQUAL(written(&e), 2);
	CU_ASSERT_EQUAL(e->serial, x.serial + 1);
	y = event("healed", 2);
	rig_put(B, KEY_EVENT, &y);
	events_add(&E, &y);
	CU_ASSERT_EQUAL(events_turn(&E, 1000), 0);
	rig_catch_up(A);
	CU_ASSERT_EQUAL(events_turn(&E, 1000), 1);
	CU_ASSERT_EQUAL(written(&e), 4);
	CU_ASSERT_EQUAL(e->serial, y.serial + 1);
	obj_free(KEY_EVENT, &x);
	obj_free(KEY_EVENT, &y);
	copy_close(B);
	store_close(others);
	end();
}

int main(void)
{
	static const struct rig_test tests[] = {
		{ "events are written in their order", t_written },
		{ "they wait for the store", t_waits },
		{ "that many wait", t_bounded },
		{ "a clock that was set back", t_serial },
	};

	return rig_main("agent_event", tests, sizeof(tests) / sizeof(*tests));
}
