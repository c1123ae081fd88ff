// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a client or storage host writes is judged by content: for each kind of key a value that is
 * allowed, then that value with each of its members changed, and what else an attacker would try.
 */
#include "rights_rig.h"

/* A member of a good value that becomes another one: allowed, or refused with these words. */
struct change {
	const char *path, *json, *words;
	int	err;		/* 0: allowed */
};

#define MAY(path, json)		{ path, json, NULL, 0 }
#define PUTS	"[{\"place\":0,\"drive\":\"00000000-0000-4000-8000-000000000001\"," \
	"\"extent\":\"00000000-0000-4000-8000-000000000002\",\"start\":1048576,\"length\":1048576}]"
#define MUST_NOT(path, json, words) { path, json, words, -EACCES }
#define IS_BAD(path, json, words) { path, json, words, -EINVAL }

/* A put of a key beside compares. */
struct attempt {
	const char *key, *good;
	u64	lease;
	const char *also[2];
};

static enum rights_verdict try_put(u8 role, const struct attempt *a, const char *value)
{
	return op(role, a->key, value, a->lease, a->also[0], a->also[1], END);
}

static void try_changes(u8 role, const struct attempt *a, const struct change *c, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		const char *value = edit(a->good, c[i].path, c[i].json);

		if (!c[i].err) {
			YES(try_put(role, a, value));
			continue;
		}
		NO_ERR(try_put(role, a, value), c[i].words, c[i].err);
		CU_ASSERT_PTR_NOT_NULL(strstr(why, a->key));
	}
}

/* Each member that the value has is in the list: one that is added later needs a verdict. */
static void each_member_is_tried(const struct attempt *a, const struct change *c, size_t nr)
{
	json_t *j = json_loads(a->good, 0, NULL), *value;
	const char *name;
	size_t i, n;

	json_object_foreach(j, name, value) {
		n = strlen(name);
		for (i = 0; i < nr && (strncmp(c[i].path, name, n) || (c[i].path[n] && c[i].path[n] != '.')); i++)
			;
		if (i == nr && strcmp(name, "v") && strcmp(name, "op"))
			printf("\n  %s: %s is not tried\n", a->key, name);
		CU_ASSERT(i < nr || !strcmp(name, "v") || !strcmp(name, "op"));
	}
	json_decref(j);
}

/* The unknown member of a later version: as the key has it, and in no other way. */
static void try_unknown(u8 role, const struct attempt *a)
{
	static const char words[] = "does not know";
	const char *was = rig_find(a->key) ? rig_own(strdup(rig_now(a->key))) : NULL;

	NO(try_put(role, a, edit(a->good, "later", "{\"holder\":" Q(OTHER) "}")), words);
	if (!was)
		return;
	rig_change(a->key, edit(was, "later", "[1]"));
	YES(try_put(role, a, edit(a->good, "later", "[1]")));
	NO(try_put(role, a, edit(a->good, "later", "[2]")), words);
	NO(try_put(role, a, a->good), words);
	rig_change(a->key, was);
}

static void try_kind(u8 role, const struct attempt *a, const struct change *c, size_t nr)
{
	YES(try_put(role, a, a->good));
	try_changes(role, a, c, nr);
	each_member_is_tried(a, c, nr);
	/* what no codec reads */
	NO_ERR(try_put(role, a, edit(a->good, "v", "2000")), "format 2.0", -EINVAL);
	NO_ERR(try_put(role, a, edit(a->good, "op", NULL)), "op is missing", -EINVAL);
}

#define TRY(role, a, c)	try_kind(role, a, c, ARRAY_SIZE(c))

/* Without the compare of a key that a verdict needs; one of the revision before is stale. */
static void needs_compare(u8 role, const struct attempt *a, const char *of)
{
	const char *key[3] = { a->key, a->also[0], a->also[1] };
	struct store_op o = { a->key, a->good, strlen(a->good), a->lease };
	struct store_compare c[3];
	struct store_txn t = { c, 0, &o, 1 };
	char words[2 * STORE_KEY_MAX];

	for (int i = 0; i < 3; i++)
		if (key[i] && strcmp(key[i], of))
			c[t.compares++] = compare_now(key[i]);
	snprintf(words, sizeof(words), "must compare %s", of);
	NO(judge(role, &t), words);
	c[t.compares++] = (struct store_compare) { STORE_NONE_BELOW, of, 0 };
	NO(judge(role, &t), words);
	c[t.compares - 1] = (struct store_compare) { STORE_SAME, of, 1 };
	CU_ASSERT_EQUAL(judge(role, &t), RIGHTS_STALE);
}

#define each_low_role(r) u8 r = PLAN_CLIENT; r <= PLAN_STORAGE; r++

static void test_host(void)
{
	rights_begin();
	for (each_low_role(role)) {
		const struct attempt a = { .key = "host/" SELF, .good = a_host(SELF, role, false) };
		const struct change c[] = {
			IS_BAD("host", Q(OTHER), "key of another one"),
			MUST_NOT("role", role == PLAN_CLIENT ? Q("storage") : Q("client"), "the role of this host is"),
			MUST_NOT("role", Q("store"), "the role of this host is"),
			IS_BAD("role", Q("root"), "role has a word"),
			IS_BAD("role", NULL, "role is missing"),
			MAY("removed", "true"),		/* it leaves */
			MAY("maintenance", "true"),
			MAY("name", Q("other")),
			IS_BAD("name", Q("../x"), "name"),
			MAY("rack", NULL),
			MAY("labels", NULL),
			IS_BAD("labels", "{\"zone\":\"\\u001b[2J\"}", "labels"),
			MAY("addresses", "[]"),
			IS_BAD("addresses.1.addr", Q("a b"), "addresses[1]"),
		};

		TRY(role, &a, c);
		try_unknown(role, &a);
		needs_compare(role, &a, a.key);
		NO(op(role, "host/" OTHER, a_host(OTHER, role, false), 0, END), "another host");
		NO(op(role, a.key, NULL, 0, END), "must not delete");
	}
	/* a tombstone stays */
	rig_change("host/" SELF, a_host(SELF, PLAN_CLIENT, true));
	NO(CLIENT("host/" SELF, a_host(SELF, PLAN_CLIENT, false), 0), "this host was removed");
	NO(CLIENT("host/" SELF, a_host(SELF, PLAN_CLIENT, true), 0), "this host was removed");
	rights_end();
}

/* Kinds of which a host writes all that is its own, and nothing else. */
static void test_own(void)
{
	static const struct { int kind; const char *own, *foreign; u64 lease; } t[] = {
		{ KEY_ALIVE, "alive/" SELF, "alive/" OTHER, 7 },
		{ KEY_DEVICE, "device/" SELF, "device/" OTHER, 0 },
		{ KEY_WANT, "want/" SELF "/" VOL, "want/" OTHER "/" VOL, 0 },
		{ KEY_STATUS, "status/" SELF "/" VOL, "status/" OTHER "/" VOL, 0 },
		{ KEY_EVENT, "event/" SELF "/0000000000000007", "event/" OTHER "/0000000000000007", 0 },
	};
	union obj_any x;

	rights_begin();
	for (size_t i = 0; i < ARRAY_SIZE(t); i++) {
		struct attempt a = { .key = t[i].own, .lease = t[i].lease };
		const char *foreign;

		rig_fill(t[i].kind, &x);
		a.good = edit(rig_value(t[i].kind, &x), "host", Q(SELF));
		if (t[i].kind == KEY_WANT)
			a.good = edit(a.good, "volume", Q(VOL));
		if (t[i].kind == KEY_STATUS)
			a.good = edit(a.good, "about", Q(VOL));
		if (t[i].kind == KEY_EVENT)
			a.good = edit(a.good, "serial", "7");
		foreign = edit(a.good, "host", Q(OTHER));
		for (each_low_role(role)) {
			bool any = role == PLAN_STORAGE && t[i].kind == KEY_WANT;

			YES(try_put(role, &a, a.good));
			BAD(try_put(role, &a, foreign), "key of another one");
			YES(op(role, a.key, NULL, 0, END));
			if (any) {
				YES(op(role, t[i].foreign, foreign, 0, END));
				YES(op(role, t[i].foreign, NULL, 0, END));
			} else {
				NO(op(role, t[i].foreign, foreign, a.lease, END), "another host");
				NO(op(role, t[i].foreign, NULL, 0, END), "another host");
			}
			/* its own: a later version's members are kept, and nothing is decided from them here */
			YES(try_put(role, &a, edit(a.good, "later", "1")));
		}
	}
	rights_end();
}

/* Recover believes reports by the role that they say. */
static void test_report(void)
{
	struct attempt a = { .key = "report/" SELF "/" VOL };
	union obj_any x;

	rights_begin();
	rig_fill(KEY_REPORT, &x);
	a.good = edit(edit(rig_value(KEY_REPORT, &x), "host", Q(SELF)), "about", Q(VOL));
	for (each_low_role(role)) {
		a.good = edit(a.good, "role", role == PLAN_CLIENT ? Q("client") : Q("storage"));
		YES(try_put(role, &a, a.good));
		NO(try_put(role, &a, edit(a.good, "role", Q("store"))), "by its key");
		NO(try_put(role, &a, edit(a.good, "role", role == PLAN_CLIENT ? Q("storage") : Q("client"))), "by its key");
	}
	rights_end();
}

#define TAKEN	mesh_number(1, 6, 0)

static void test_access_take(void)
{
	rights_begin();
	for (each_low_role(role)) {
		const struct attempt a = { .key = "access/" VOL, .good = an_access(VOL, SELF, TAKEN),
					   .also = { "volume/" VOL } };
		const struct change c[] = {
			IS_BAD("volume", Q(OURS), "key of another one"),
			MUST_NOT("holder", Q(OTHER), "for another one"),
			IS_BAD("holder", NULL, "mode and holder"),
			IS_BAD("holder", Q("00000000-0000-0000-0000-000000000000"), "null UUID"),
			IS_BAD("mode", Q("none"), "mode and holder"),
			IS_BAD("mode", Q("ro"), "mode and holder"),
			IS_BAD("clean", "true", "is clean"),
			MUST_NOT("number", number_text(mesh_number(1, 5, 0)), "exactly 1"),
			MUST_NOT("number", number_text(mesh_number(1, 7, 0)), "exactly 1"),
			MUST_NOT("number", number_text(mesh_number(1, 4, 0)), "exactly 1"),
			MUST_NOT("number", number_text(mesh_number(0, 6, 0)), "exactly 1"),
			MUST_NOT("number", number_text(mesh_number(2, 6, 0)), "exactly 1"),
			MUST_NOT("number", number_text(mesh_number(2, 1, 0)), "exactly 1"),
			IS_BAD("number", number_text(mesh_number(2, 0, 0)), "never attached"),
			IS_BAD("number", number_text(mesh_number(1, 6, 1)), "restart"),
			IS_BAD("number", number_text(mesh_number(1, 6, 65535)), "restart"),
			IS_BAD("number", number_text(MESH_NUMBER_MAX), "number is"),
			IS_BAD("number", "9223372036854775808", "is no JSON"),
			IS_BAD("number", "\"2251799814078464\"", "not a whole number"),
			IS_BAD("number", "2251799814078464.0", "not a whole number"),
			IS_BAD("number", NULL, "number is missing"),
		};

		YES(try_put(role, &a, a.good));
		for (size_t i = 0; i < ARRAY_SIZE(c); i++)
			if (!c[i].json || !strstr(c[i].json, "9223372036854775808"))
				try_changes(role, &a, &c[i], 1);
		each_member_is_tried(&a, c, ARRAY_SIZE(c));
		try_unknown(role, &a);
		needs_compare(role, &a, "access/" VOL);
		needs_compare(role, &a, "volume/" VOL);
		NO(op(role, a.key, NULL, 0, END), "must not delete");
	}
	rights_end();
}

static enum rights_verdict take(const char *volume, u64 number)
{
	char access[STORE_KEY_MAX], key[STORE_KEY_MAX];

	snprintf(access, sizeof(access), "access/%s", volume);
	snprintf(key, sizeof(key), "volume/%s", volume);
	return CLIENT(access, an_access(volume, SELF, number), 0, key);
}

static void test_access_take_of(void)
{
	rights_begin();
	YES(take(THEIRS, TAKEN));	/* preempt */
	YES(take(OURS, TAKEN));		/* retake; its allow names this host */
	NO(take(NONE, TAKEN), "controller makes");
	NO(take(CLOSED, TAKEN), "not in the allow");
	NO(take(DOOMED, TAKEN), "not ready");
	rig_change("volume/" DOOMED, a_volume(DOOMED, PLAN_CREATING, NULL, NULL));
	NO(take(DOOMED, TAKEN), "not ready");
	/* a counter that has no next one does not carry into the generation */
	rig_change("access/" VOL, an_access(VOL, NULL, mesh_number(1, MESH_NUMBER_COUNTER_MAX, 0)));
	NO(take(VOL, mesh_number(2, 0, 0) | 1 << 16), "exactly 1");
	NO(take(VOL, mesh_number(1, 1, 0)), "exactly 1");
	BAD(CLIENT("access/" VOL, edit(an_access(VOL, SELF, TAKEN), "number", number_text(mesh_number(2, 0, 0))), 0,
		   "volume/" VOL), "never attached");
	rig_change("access/" VOL, an_access(VOL, NULL, mesh_number(1, MESH_NUMBER_COUNTER_MAX - 1, 0)));
	YES(take(VOL, mesh_number(1, MESH_NUMBER_COUNTER_MAX, 0)));
	rights_end();
}

static void test_access_release(void)
{
	rights_begin();
	for (each_low_role(role)) {
		const struct attempt a = { .key = "access/" OURS, .good = an_access(OURS, NULL, NUMBER) };
		const struct change c[] = {
			IS_BAD("volume", Q(VOL), "key of another one"),
			IS_BAD("mode", Q("rw"), "mode and holder"),
			MUST_NOT("mode", Q("ro"), "must be rw or none"),
			IS_BAD("holder", Q(SELF), "mode and holder"),
			IS_BAD("holder", Q(OTHER), "mode and holder"),
			IS_BAD("holder", "null", "not a text"),
			MAY("clean", "true"),
			MUST_NOT("number", number_text(TAKEN), "keep the number"),
			MUST_NOT("number", number_text(mesh_number(1, 4, 0)), "keep the number"),
			MUST_NOT("number", number_text(mesh_number(2, 5, 0)), "keep the number"),
			MUST_NOT("number", "0", "keep the number"),
			IS_BAD("number", number_text(NUMBER + 1), "restart"),
		};

		TRY(role, &a, c);
		try_unknown(role, &a);
		needs_compare(role, &a, a.key);
		NO(op(role, "access/" THEIRS, an_access(THEIRS, NULL, NUMBER), 0, END), "not the holder");
		NO(op(role, "access/" VOL, an_access(VOL, NULL, NUMBER), 0, END), "not the holder");
		NO(op(role, "access/" NONE, an_access(NONE, NULL, NUMBER), 0, END), "controller makes");
	}
	rights_end();
}

static void test_roster(void)
{
	rights_begin();
	for (each_low_role(role)) {
		const struct attempt a = { .key = "roster/" OURS, .good = a_roster(OURS, NUMBER, NUMBER + 2),
					   .also = { "access/" OURS } };
		const struct change c[] = {
			IS_BAD("volume", Q(VOL), "no roster of that group"),
			MUST_NOT("number", number_text(TAKEN), "another attachment"),
			MUST_NOT("number", "0", "another attachment"),
			MAY("number", number_text(NUMBER + 3)),	/* its kernel's restart */
			MAY("version", "2"),
			MAY("committed", "true"),
			IS_BAD("groups.0.attach", number_text(TAKEN), "contradicts"),
			IS_BAD("groups.0.epoch", "1", "contradicts"),
			IS_BAD("groups.0.in_sync", "1", "contradicts"),
			IS_BAD("groups.0.kernel", NULL, "contradicts"),
			IS_BAD("groups.0.first", "9", "groups["),
			MAY("groups", "[]"),
			IS_BAD("groups", "{}", "not a list"),
			MAY("barred", "[7]"),
			IS_BAD("barred", "[7,7]", "twice"),
			MAY("later", "1"),
		};

		TRY(role, &a, c);
		needs_compare(role, &a, "access/" OURS);
		/* of an earlier attachment, and none yet; of a later one, in any group */
		YES(try_put(role, &a, a_roster(OURS, mesh_number(0, 9, 0), 0)));
		NO(try_put(role, &a, a_roster(OURS, TAKEN, 0)), "groups[0] is of a later attachment");
		NO(try_put(role, &a, a_roster(OURS, NUMBER, TAKEN + 1)), "groups[1] is of a later attachment");
		NO(try_put(role, &a, a_roster(OURS, mesh_number(2, 1, 0), 0)), "later attachment");
		/* beside the compare of another volume, or of one that another host or none holds */
		NO(op(role, a.key, a.good, 0, "access/" THEIRS, END), "must compare access/" OURS);
		NO(op(role, "roster/" VOL, a_roster(VOL, NUMBER, 0), 0, "access/" VOL, END), "only the holder");
		NO(op(role, "roster/" THEIRS, a_roster(THEIRS, NUMBER, 0), 0, "access/" THEIRS, END), "only the holder");
		NO(op(role, "roster/" NONE, a_roster(NONE, NUMBER, 0), 0, "access/" NONE, END), "no access key");
		NO(op(role, a.key, NULL, 0, "access/" OURS, END), "must not delete");
	}
	rights_end();
}

/* A holder clears fresh of its volume, and changes nothing else. */
static void test_volume(void)
{
	rights_begin();
	rig_change("volume/" OURS, edit(rig_now("volume/" OURS), "fresh", "true"));
	for (each_low_role(role)) {
		const char *good = edit(rig_now("volume/" OURS), "fresh", "false");
		const char *theirs = edit(rig_now("volume/" THEIRS), "fresh", "false");
		const char *ours = "access/" OURS;

		YES(op(role, "volume/" OURS, good, 0, ours, END));
		NO(op(role, "volume/" OURS, rig_now("volume/" OURS), 0, ours, END), "clear fresh");
		NO(op(role, "volume/" OURS, edit(good, "state", Q("deleting")), 0, ours, END), "nothing else");
		NO(op(role, "volume/" OURS, edit(good, "allow", Q("all")), 0, ours, END), "nothing else");
		NO(op(role, "volume/" OURS, edit(good, "layout.version", "77"), 0, ours, END), "nothing else");
		NO(op(role, "volume/" OURS, edit(good, "later", "1"), 0, ours, END), "none must be added");
		NO(op(role, "volume/" OURS, good, 0, END), "must compare access/" OURS);
		NO(op(role, "volume/" THEIRS, theirs, 0, "access/" THEIRS, END), "only the holder");
		NO(op(role, "volume/" VOL, edit(rig_now("volume/" VOL), "fresh", "false"), 0, "access/" VOL, END),
		   "only the holder");
		NO(op(role, "volume/" OURS, NULL, 0, ours, END), "must not delete");
	}
	rights_end();
}

static void test_reader(void)
{
	rights_begin();
	for (each_low_role(role)) {
		const struct attempt a = { .key = "reader/" VOL "/" SELF, .good = a_reader(VOL, SELF, NUMBER),
					   .lease = 7, .also = { "access/" VOL, "volume/" VOL } };
		const struct change c[] = {
			IS_BAD("volume", Q(OURS), "key of another one"),
			IS_BAD("host", Q(OTHER), "key of another one"),
			MUST_NOT("number", number_text(TAKEN), "the number is not"),
			MUST_NOT("number", number_text(mesh_number(1, 4, 0)), "the number is not"),
			MUST_NOT("number", number_text(mesh_number(2, 5, 0)), "the number is not"),
			IS_BAD("number", number_text(NUMBER + 1), "restart"),
		};

		TRY(role, &a, c);
		needs_compare(role, &a, "access/" VOL);
		needs_compare(role, &a, "volume/" VOL);
		NO(op(role, "reader/" VOL "/" OTHER, a_reader(VOL, OTHER, NUMBER), 7, "access/" VOL, "volume/" VOL,
		      END), "for another one");
		NO(op(role, "reader/" CLOSED "/" SELF, a_reader(CLOSED, SELF, NUMBER), 7, "access/" CLOSED,
		      "volume/" CLOSED, END), "not in the allow");
		NO(op(role, "reader/" DOOMED "/" SELF, a_reader(DOOMED, SELF, NUMBER), 7, "access/" DOOMED,
		      "volume/" DOOMED, END), "not ready");
		NO(op(role, "reader/" NONE "/" SELF, a_reader(NONE, SELF, NUMBER), 7, "access/" NONE,
		      "volume/" NONE, END), "no access key");
		YES(op(role, a.key, NULL, 0, END));
		NO(op(role, "reader/" VOL "/" OTHER, NULL, 0, END), "only where this host attaches");
	}
	rights_end();
}

/* Another host's reader ends with an attach for writing, and only in its transaction. */
static void test_reader_end(void)
{
	struct store_compare c[3];
	struct store_op o[2] = { { "reader/" VOL "/" OTHER, NULL, 0, 0 }, { "access/" VOL, NULL, 0, 0 } };
	struct store_txn t = { c, 3, o, 2 };
	const char *value;

	rights_begin();
	c[0] = compare_now("access/" VOL);
	c[1] = compare_now("volume/" VOL);
	c[2] = compare_now("access/" OURS);
	value = an_access(VOL, SELF, TAKEN);
	o[1].value = value;
	o[1].len = strlen(value);
	YES(judge(PLAN_CLIENT, &t));
	/* the attach is judged by itself */
	value = an_access(VOL, OTHER, TAKEN);
	o[1].value = value;
	NO(judge(PLAN_CLIENT, &t), "for another one");
	o[1].value = edit(value, "holder", NULL);
	o[1].len = strlen(o[1].value);
	NO(judge(PLAN_CLIENT, &t), "only where this host attaches");
	t.ops = 1;
	NO(judge(PLAN_CLIENT, &t), "only where this host attaches");
	/* of another volume; a release */
	value = an_access(OURS, SELF, TAKEN);
	c[1] = compare_now("volume/" OURS);
	o[1] = (struct store_op) { "access/" OURS, value, strlen(value), 0 };
	t.ops = 2;
	NO(judge(PLAN_CLIENT, &t), "only where this host attaches");
	value = an_access(OURS, NULL, NUMBER);
	o[1] = (struct store_op) { "access/" OURS, value, strlen(value), 0 };
	t.ops = 2;
	NO(judge(PLAN_CLIENT, &t), "only where this host attaches");
	o[0].key = "reader/" OURS "/" OTHER;
	NO(judge(PLAN_CLIENT, &t), "only where this host attaches");
	rights_end();
}

static void test_writer(void)
{
	struct attempt b = { .key = "writer/" VOL };

	rights_begin();
	b.good = a_writer(VOL, SELF);
	const struct change c[] = {
		IS_BAD("volume", Q(OURS), "key of another one"),
		MUST_NOT("host", Q(OTHER), "another host as the writer"),
		IS_BAD("host", NULL, "host is missing"),
	};

	TRY(PLAN_CLIENT, &b, c);
	try_unknown(PLAN_CLIENT, &b);
	needs_compare(PLAN_CLIENT, &b, b.key);
	b = (struct attempt) { .key = "writer/" OURS, .good = a_writer(OURS, SELF) };
	YES(try_put(PLAN_CLIENT, &b, b.good));
	try_unknown(PLAN_CLIENT, &b);
	YES(CLIENT("writer/" OURS, NULL, 0));
	YES(CLIENT("writer/" THEIRS, a_writer(THEIRS, SELF), 0));
	NO(CLIENT("writer/" THEIRS, NULL, 0), "another host is to be");
	NO(CLIENT("writer/" CLOSED, a_writer(CLOSED, SELF), 0), "not in the allow");
	NO(CLIENT("writer/" NONE, a_writer(NONE, SELF), 0), "no such volume");
	YES(STORAGE("writer/" THEIRS, a_writer(THEIRS, OTHER), 0));
	rights_end();
}

static void test_task_new(void)
{
	rights_begin();
	const struct attempt a = { .key = "task/" NONE,
				   .good = a_task(NONE, "volume extend", OURS, SELF, OBJ_TASK_WAITING) };
	const struct change c[] = {
		IS_BAD("task", Q(T1), "key of another one"),
		MAY("verb", Q("volume delete")),
		MUST_NOT("verb", Q("drive drain"), "may only create"),
		MUST_NOT("verb", Q("volume"), "may only create"),
		MUST_NOT("verb", Q("host remove"), "may only create"),
		MUST_NOT("verb", Q("volume create"), "a create names no volume"),
		MAY("args", "{}"),
		IS_BAD("args", "{\"a\":\"\\u001b\"}", "args"),
		MUST_NOT("state", Q("running"), "a new task waits"),
		MUST_NOT("state", Q("cancelling"), "a new task waits"),
		MUST_NOT("state", Q("done"), "a new task waits"),
		MUST_NOT("progress.total", "5", "a new task waits"),
		MUST_NOT("progress", "{\"done\":1,\"total\":1}", "a new task waits"),
		MUST_NOT("step", Q("zero"), "a new task waits"),
		MUST_NOT("stage", Q("placed"), "only the controller"),
		MUST_NOT("version", "2", "only the controller"),
		MUST_NOT("puts", PUTS, "only the controller"),
		MUST_NOT("drive", Q(D1), "only the controller"),
		MUST_NOT("error", Q("failed"), "a new task waits"),
		MUST_NOT("host", Q(OTHER), "must name the host"),
		MAY("user", Q("root")),
		MUST_NOT("volume", Q(CLOSED), "not in the allow"),
		MUST_NOT("volume", Q(NONE), "no such volume"),
		MUST_NOT("volume", NULL, "may only create"),
		MAY("created", "1"),
		MAY("changed", "1"),
		MAY("after", "[]"),
		IS_BAD("after", "[" Q(NONE) "]", "waits for itself"),
	};

	TRY(PLAN_CLIENT, &a, c);
	try_unknown(PLAN_CLIENT, &a);
	needs_compare(PLAN_CLIENT, &a, a.key);
	YES(CLIENT("task/" NONE, a_task(NONE, "volume create", NULL, SELF, OBJ_TASK_WAITING), 0));
	NO(CLIENT("task/" NONE, a_task(NONE, "volume create", NULL, OTHER, OBJ_TASK_WAITING), 0), "must name the host");
	/* a cancelled create deletes its volume */
	NO(CLIENT("task/" NONE, a_task(NONE, "volume create", CLOSED, SELF, OBJ_TASK_WAITING), 0), "names no volume");
	YES(STORAGE("task/" NONE, a_task(NONE, "drive drain", NULL, OTHER, OBJ_TASK_RUNNING), 0));
	rights_end();
}

static enum rights_verdict cancel(const char *key)
{
	return CLIENT(key, edit(rig_now(key), "state", Q("cancelling")), 0);
}

static void test_task_change(void)
{
	rights_begin();
	const struct attempt a = { .key = "task/" T1, .good = edit(rig_now("task/" T1), "state", Q("cancelling")) };
	const struct change c[] = {
		IS_BAD("task", Q(T2), "key of another one"),
		MUST_NOT("verb", Q("volume delete"), "nothing else"),
		MUST_NOT("args", "{}", "nothing else"),
		MUST_NOT("args.nested", "{\"list\":[2,null]}", "nothing else"),
		MUST_NOT("state", Q("waiting"), "may only cancel"),
		MUST_NOT("state", Q("running"), "may only cancel"),
		MUST_NOT("state", Q("done"), "may only cancel"),
		MUST_NOT("state", Q("cancelled"), "may only cancel"),
		MUST_NOT("step", Q("other"), "nothing else"),
		MUST_NOT("stage", Q("ended"), "nothing else"),
		MUST_NOT("version", "5000", "nothing else"),
		MUST_NOT("puts", PUTS, "nothing else"),
		MUST_NOT("segments", NULL, "nothing else"),
		MUST_NOT("progress.done", "1000", "nothing else"),
		MUST_NOT("progress.total", "1001", "nothing else"),
		MUST_NOT("host", Q(OTHER), "nothing else"),
		MUST_NOT("user", Q("root"), "nothing else"),
		MUST_NOT("volume", Q(OURS), "nothing else"),
		MUST_NOT("volume", NULL, "nothing else"),
		MUST_NOT("drive", Q(D1), "nothing else"),
		MUST_NOT("error", Q("other"), "nothing else"),
		MUST_NOT("created", "1", "nothing else"),
		MAY("changed", "1"),
		MUST_NOT("after", "[]", "nothing else"),
		MUST_NOT("after.0", Q(T3), "nothing else"),
		IS_BAD("v", "3000", "format 3.0"),
		MAY("v", "1001"),
	};

	TRY(PLAN_CLIENT, &a, c);
	try_unknown(PLAN_CLIENT, &a);
	needs_compare(PLAN_CLIENT, &a, a.key);
	YES(cancel("task/" T4));
	YES(cancel("task/" T7));	/* its allow names this host */
	NO(cancel("task/" T2), "another host has requested");
	NO(cancel("task/" T3), "not in the allow");
	NO(cancel("task/" T5), "has not ended");
	NO(cancel("task/" T6), "may only create");
	/* again */
	rig_change("task/" T1, edit(rig_now("task/" T1), "state", Q("cancelling")));
	YES(cancel("task/" T1));
	NO(CLIENT("task/" T1, NULL, 0), "must not delete");
	rights_end();
}

/* Its agent carries the task out: as far as it is, with the drive that it has chosen, and no more. */
static void test_task_agent(void)
{
	rights_begin();
	rig_put("task/" NONE, drive_task(NONE, "drive export", LOCAL_ARGS));
	const struct attempt a = { .key = "task/" NONE,
				   .good = edit(edit(rig_now("task/" NONE), "state", Q("running")), "drive", Q(D1)) };
	const struct change c[] = {
		IS_BAD("task", Q(T2), "key of another one"),
		MUST_NOT("verb", Q("drive unexport"), "nothing else"),
		MUST_NOT("args", "{}", "nothing else"),
		MAY("state", Q("done")),
		MAY("state", Q("cancelled")),
		MAY("step", Q("label")),
		MUST_NOT("stage", Q("ended"), "nothing else"),
		MUST_NOT("version", "5000", "nothing else"),
		MUST_NOT("puts", PUTS, "nothing else"),
		MAY("progress", "{\"done\":1,\"total\":2}"),
		MUST_NOT("host", Q(OTHER), "nothing else"),
		MUST_NOT("user", Q("root"), "nothing else"),
		MUST_NOT("volume", Q(OURS), "nothing else"),
		MAY("drive", NULL),
		MAY("error", Q("other")),
		MUST_NOT("created", "1", "nothing else"),
		MAY("changed", "1"),
		MUST_NOT("after", "[]", "nothing else"),
		IS_BAD("v", "3000", "format 3.0"),
		MAY("v", "1001"),
	};

	TRY(PLAN_CLIENT, &a, c);
	try_unknown(PLAN_CLIENT, &a);
	needs_compare(PLAN_CLIENT, &a, a.key);
	/* the drive is chosen once; a cancel changes nothing but the state */
	rig_change("task/" NONE, a.good);
	NO(CLIENT(a.key, edit(a.good, "drive", Q(D3)), 0), "drive of a task stays");
	NO(CLIENT(a.key, edit(edit(a.good, "state", Q("cancelling")), "step", Q("x")), 0), "nothing else");
	YES(CLIENT(a.key, edit(a.good, "state", Q("cancelling")), 0));
	rig_change("task/" NONE, edit(a.good, "state", Q("cancelling")));
	YES(CLIENT(a.key, edit(a.good, "state", Q("done")), 0));
	rig_change("task/" NONE, edit(a.good, "state", Q("done")));
	NO(CLIENT(a.key, edit(a.good, "state", Q("running")), 0), "may only cancel");
	/* of another host */
	rig_change("task/" NONE, edit(a.good, "host", Q(OTHER)));
	NO(CLIENT(a.key, edit(edit(a.good, "host", Q(OTHER)), "step", Q("x")), 0), "of its own");
	rig_change("task/" NONE, edit(a.good, "args.host", Q(OTHER)));
	NO(CLIENT(a.key, edit(edit(a.good, "args.host", Q(OTHER)), "step", Q("x")), 0), "of its own");
	/* one that another host has requested, and that this one refuses */
	rig_change("task/" NONE, edit(edit(edit(a.good, "args.local", NULL), "host", Q(OTHER)), "args.host", Q(SELF)));
	YES(CLIENT(a.key, edit(rig_now(a.key), "state", Q("done")), 0));
	rig_change("task/" NONE, edit(edit(a.good, "verb", Q("drive unexport")), "args.drive", Q(D2)));
	NO(CLIENT(a.key, edit(rig_now(a.key), "state", Q("done")), 0), "of its own");
	rig_change("task/" NONE, edit(edit(edit(a.good, "verb", Q("drive unexport")), "args.drive", Q(D3)), "host", Q(OTHER)));
	YES(CLIENT(a.key, edit(rig_now(a.key), "state", Q("done")), 0));
	rights_end();
}

/* In what both kinds of agents may change of a drive. */
static void try_drive(u8 role, const struct attempt *a)
{
	const struct change c[] = {
		IS_BAD("drive", Q(D2), "key of another one"),
		MUST_NOT("host", Q(OTHER), "another host"),
		MAY("name", Q("other")),
		MAY("path", Q("/dev/other")),
		MAY("model", Q("M")),
		MAY("wwid", Q("eui.2")),
		MAY("serial", Q("S2")),
		MAY("size", "4611686018426339328"),
		MAY("lba", "4096"),
		MAY("lba", "512"),
		IS_BAD("lba", "1024", "lba"),
		role == PLAN_CLIENT ? (struct change) MUST_NOT("local", "false", "not local") :
				      (struct change) MAY("local", "true"),
		MAY("wanted", Q("out")),
		MAY("wanted", Q("draining")),
		MUST_NOT("wanted", Q("forgotten"), "forgotten"),
		MAY("sequence", "9"),
		MUST_NOT("extents.0.uuid", Q(E4), "drop an extent"),
		MUST_NOT("extents.0.volume", Q(OURS), "change the volume"),
		MUST_NOT("extents.0.place", "7", "change the place"),
		MUST_NOT("extents.0.start", "2097152", "change the start"),
		MUST_NOT("extents.0.length", "2097152", "change the length"),
		MUST_NOT("extents.0.state", Q("freeing"), "change the state"),
		MUST_NOT("extents.1.state", Q("ready"), "change the state"),
		MAY("extents.2.state", Q("ready")),
		MUST_NOT("extents.2.state", Q("freeing"), "change the state"),
		MAY("extents.0.version", "9"),
		MAY("extents.0.commit", "9"),
		MUST_NOT("extents.0", NULL, "drop an extent"),
		MAY("extents.1", NULL),		/* freed */
		MUST_NOT("extents.2", NULL, "drop an extent"),
		MUST_NOT("extents", "[]", "drop an extent"),
		MAY("extents.3", "{\"uuid\":" Q(E4) ",\"volume\":" Q(VOL)
		    ",\"place\":1,\"state\":\"ready\",\"start\":1048576,\"length\":1048576}"),
		MUST_NOT("extents.3", "{\"uuid\":" Q(E4) ",\"volume\":" Q(VOL)
			 ",\"place\":1,\"state\":\"freeing\",\"start\":1048576,\"length\":1048576}", "add an extent"),
		IS_BAD("extents.3", "{\"uuid\":" Q(E1) ",\"volume\":" Q(VOL)
		       ",\"place\":1,\"state\":\"ready\",\"start\":1048576,\"length\":1048576}", "twice"),
		IS_BAD("extents.0.start", "1048577", "aligned"),
		MUST_NOT("extents.0.later", "1", "does not know"),
	};

	TRY(role, a, c);
	try_unknown(role, a);
	needs_compare(role, a, a->key);
	NO(op(role, a->key, NULL, 0, END), "has extents");
}

/* D1 with @nr more extents, each of another volume; the last one is of @last. */
static const char *with_added(u32 nr, const char *last)
{
	const char *drive = rig_now("drive/" D1);
	char one[256], path[32], volume[MUUID_TEXT];

	for (u32 i = 0; i < nr; i++) {
		snprintf(path, sizeof(path), "extents.%u", 3 + i);
		snprintf(volume, sizeof(volume), "33333333-3333-4333-8333-3333333333%02x", 0x40 + i);
		snprintf(one, sizeof(one), "{\"uuid\":\"99999999-9999-4999-8999-9999999999%02x\",\"volume\":\"%s\","
			 "\"place\":1,\"state\":\"ready\",\"start\":%u,\"length\":1048576}", 0xa0 + i,
			 i == nr - 1 ? last : volume, (i + 1) << 20);
		drive = edit(drive, path, one);
	}
	return drive;
}

/* An extent of a volume that is not this client's would keep it from being deleted. */
static void try_added(void)
{
	NO(CLIENT("drive/" D1, with_added(1, CLOSED), 0), "not in the allow of volume " CLOSED);
	NO(CLIENT("drive/" D1, with_added(5, CLOSED), 0), "not in the allow of volume " CLOSED);
	YES(CLIENT("drive/" D1, with_added(5, OURS), 0));
	/* of volumes that the store does not know, too; not many at once */
	YES(CLIENT("drive/" D1, with_added(16, NONE), 0));
	NO(CLIENT("drive/" D1, with_added(17, NONE), 0), "more than 16 volumes");
	/* a target has those of others; what the key has stays */
	YES(STORAGE("drive/" D1, with_added(17, CLOSED), 0));
	rig_change("drive/" D1, with_added(17, CLOSED));
	YES(CLIENT("drive/" D1, rig_now("drive/" D1), 0));
}

static void test_drive(void)
{
	struct attempt a = { .key = "drive/" D1 };

	rights_begin();
	a.good = rig_now(a.key);
	try_drive(PLAN_CLIENT, &a);
	YES(CLIENT("drive/" NONE, edit(a_drive(NONE, SELF, true, PLAN_IN), "extents", "[]"), 0));
	NO(CLIENT("drive/" NONE, a_drive(NONE, SELF, true, PLAN_IN), 0), "add an extent");
	NO(CLIENT("drive/" NONE, a_drive(NONE, SELF, false, PLAN_IN), 0), "not local");
	NO(CLIENT("drive/" NONE, a_drive(NONE, OTHER, true, PLAN_IN), 0), "another host");
	NO(CLIENT("drive/" NONE, a_drive(NONE, SELF, true, PLAN_FORGOTTEN), 0), "forgotten");
	try_added();
	NO(CLIENT("drive/" D2, edit(rig_now("drive/" D2), "host", Q(SELF)), 0), "another host");
	NO(CLIENT("drive/" D3, edit(rig_now("drive/" D3), "local", "true"), 0), "not local");
	NO(CLIENT("drive/" D6, edit(rig_now("drive/" D6), "host", Q(SELF)), 0), "another host");
	NO(CLIENT("drive/" D5, edit(rig_now("drive/" D5), "wanted", Q("in")), 0), "forgotten");
	NO(CLIENT("drive/" D5, rig_now("drive/" D5), 0), "forgotten");
	rights_end();
}

static void test_drive_storage(void)
{
	struct attempt a = { .key = "drive/" D3 };
	const char *taken;

	rights_begin();
	a.good = rig_now(a.key);
	try_drive(PLAN_STORAGE, &a);
	YES(STORAGE("drive/" NONE, edit(a_drive(NONE, SELF, false, PLAN_IN), "extents", "[]"), 0));
	NO(STORAGE("drive/" NONE, a_drive(NONE, OTHER, false, PLAN_IN), 0), "another host");
	NO(STORAGE("drive/" D2, edit(rig_now("drive/" D2), "host", Q(SELF)), 0), "still exported");
	NO(STORAGE("drive/" D5, edit(rig_now("drive/" D5), "wanted", Q("in")), 0), "forgotten");
	/* one that has left its former host, with all that is on it */
	taken = edit(edit(rig_now("drive/" D4), "host", Q(SELF)), "wanted", Q("in"));
	YES(STORAGE("drive/" D4, taken, 0));
	NO(STORAGE("drive/" D4, edit(taken, "wwid", Q("eui.9")), 0), "this is a copy");
	NO(STORAGE("drive/" D4, edit(taken, "wwid", NULL), 0), "this is a copy");
	NO(STORAGE("drive/" D4, edit(taken, "serial", Q("S9")), 0), "this is a copy");
	NO(STORAGE("drive/" D4, edit(taken, "extents", "[]"), 0), "drop an extent");
	/* the former host is removed */
	rig_change("host/" OTHER, a_host(OTHER, PLAN_CLIENT, true));
	YES(STORAGE("drive/" D2, edit(rig_now("drive/" D2), "host", Q(SELF)), 0));
	NO(STORAGE("drive/" D2, edit(edit(rig_now("drive/" D2), "host", Q(SELF)), "serial", Q("S9")), 0),
	   "this is a copy");
	NO(CLIENT("drive/" D2, edit(rig_now("drive/" D2), "host", Q(SELF)), 0), "another host");
	rights_end();
}

static const struct suite_test tests[] = {
	{ "host", test_host },
	{ "keys of the host itself", test_own },
	{ "report", test_report },
	{ "access: take", test_access_take },
	{ "access: take of which volumes", test_access_take_of },
	{ "access: release", test_access_release },
	{ "roster", test_roster },
	{ "volume", test_volume },
	{ "reader", test_reader },
	{ "reader of another host", test_reader_end },
	{ "writer", test_writer },
	{ "task: new", test_task_new },
	{ "task: cancel", test_task_change },
	{ "task of a drive", test_task_agent },
	{ "drive of a client", test_drive },
	{ "drive of a storage host", test_drive_storage },
	{ NULL, NULL }
};

int main(void)
{
	return suite_main("rights by content", tests);
}
