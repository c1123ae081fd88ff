// SPDX-License-Identifier: GPL-2.0-only
/*
 * Objects of the store, each kind: round trips, each member missing and of each wrong type, unknown
 * members, damaged text. test_objects_rules.c has what members say together.
 */
#include "objects_rig.h"

#define each_kind(k) const struct rig_kind *k = rig_kinds; k < rig_kinds + ARRAY_SIZE(rig_kinds); k++

static int decode(int kind, const char *text, union obj_any *x, char *why)
{
	return obj_decode(kind, text, strlen(text), x, why, OBJ_WHY);
}

static void test_round_trip(void)
{
	union obj_any x, y;
	char why[OBJ_WHY], *text, *again;

	for (each_kind(k)) {
		for (int i = 0; i < 60; i++) {
			rig_fill(k->kind, &x);
			text = rig_text(k->kind, &x, why);
			CU_ASSERT_PTR_NOT_NULL_FATAL(text);
			CU_ASSERT_STRING_EQUAL(why, "");
			CU_ASSERT_EQUAL(decode(k->kind, text, &y, why), 0);
			CU_ASSERT_STRING_EQUAL(why, "");
			CU_ASSERT_EQUAL(y.o.v, 1000);
			CU_ASSERT(rig_same(k->kind, &x, &y));
			/* Read and written again, with another operation: nothing else changes. */
			if (!rig_file(k->kind)) {
				memset(x.o.op, 0, sizeof(x.o.op));
				strcpy(x.o.op, "another");
				strcpy(y.o.op, "another");
			}
			again = rig_text(k->kind, &y, why);
			CU_ASSERT_PTR_NOT_NULL_FATAL(again);
			if (rig_file(k->kind))
				CU_ASSERT_STRING_EQUAL(text, again);
			obj_free(k->kind, &y);
			CU_ASSERT_EQUAL(decode(k->kind, again, &y, why), 0);
			CU_ASSERT(rig_same(k->kind, &x, &y));
			free(text);
			free(again);
			obj_free(k->kind, &x);
			obj_free(k->kind, &y);
		}
	}
}

/* A file is its own checksum's to judge: it is taken off, and put right for a changed text. */
static json_t *tree_of(int kind, const char *text)
{
	json_t *j = json_loads(text, 0, NULL);

	if (rig_file(kind))
		json_object_del(j, "sum");
	return j;
}

static int decode_tree(int kind, const json_t *j, union obj_any *x, char *why)
{
	char *text = json_dumps(j, JSON_COMPACT);
	int err;

	if (rig_file(kind)) {
		size_t n = strlen(text) - 1;
		char *whole = malloc(n + 27);

		sprintf(whole, "%.*s,\"sum\":\"%016llx\"}", (int)n, text,
			(unsigned long long)XXH64(text, n, 0));
		free(text);
		text = whole;
	}
	err = decode(kind, text, x, why);
	free(text);
	return err;
}

/* Members that may be missing, and what is said of an object then. */
static const struct { int kind; const char *path; int err; } may[] = {
	{ KEY_CLUSTER, ".name", 0 }, { KEY_CLUSTER, ".settings", 0 },
	{ KEY_HOST, ".rack", 0 }, { KEY_HOST, ".labels", 0 }, { KEY_HOST, ".addresses[].port", 0 },
	{ KEY_ALIVE, ".module", 0 },
	{ KEY_DEVICE, ".disks[].model", 0 }, { KEY_DEVICE, ".disks[].wwid", 0 },
	{ KEY_DEVICE, ".disks[].serial", 0 }, { KEY_DEVICE, ".disks[].drive", 0 },
	{ KEY_DEVICE, ".disks[].why", -EUCLEAN }, { KEY_DEVICE, ".disks[].smart", 0 },
	{ KEY_DRIVE, ".name", 0 }, { KEY_DRIVE, ".model", 0 }, { KEY_DRIVE, ".wwid", 0 },
	{ KEY_DRIVE, ".serial", 0 }, { KEY_DRIVE, ".sequence", 0 },
	{ KEY_DRIVE, ".extents[].version", -EUCLEAN }, { KEY_DRIVE, ".extents[].commit", -EUCLEAN },
	{ KEY_VOLUME, ".leaving", 0 }, { KEY_VOLUME, ".barred", 0 }, { KEY_VOLUME, ".io.timeout_ms", 0 },
	{ KEY_VOLUME, ".io.queue_depth", 0 }, { KEY_VOLUME, ".layout.members[].addr", 0 },
	{ KEY_VOLUME, ".layout.members[].port", 0 }, { KEY_VOLUME, ".layout.salt", -EUCLEAN },
	{ KEY_ACCESS, ".holder", -EUCLEAN },
	{ KEY_WANT, ".preempt", 0 }, { KEY_WANT, ".force", 0 }, { KEY_WANT, ".fenced", 0 },
	{ KEY_ROSTER, ".groups[].attach", -EUCLEAN }, { KEY_ROSTER, ".groups[].epoch", -EUCLEAN },
	{ KEY_ROSTER, ".groups[].extents", -EUCLEAN }, { KEY_ROSTER, ".groups[].in_sync", -EUCLEAN },
	{ KEY_ROSTER, ".groups[].kernel", -EUCLEAN },
	{ KEY_TASK, ".step", 0 }, { KEY_TASK, ".user", 0 }, { KEY_TASK, ".volume", 0 },
	{ KEY_TASK, ".drive", 0 }, { KEY_TASK, ".error", 0 }, { KEY_TASK, ".stage", 0 }, { KEY_TASK, ".version", 0 },
	{ KEY_TASK, ".puts", 0 }, { KEY_TASK, ".segments", 0 },
	{ KEY_EVENT, ".volume", 0 }, { KEY_EVENT, ".drive", 0 }, { KEY_EVENT, ".details", 0 },
	{ KEY_STATUS, ".words", 0 }, { KEY_STATUS, ".details", 0 },
	{ KEY_TOKEN, ".host", 0 },
	{ OBJ_KNOWN, ".wwid", 0 }, { OBJ_KNOWN, ".serial", 0 },
	{ KEY_REPORT, ".followed", 0 }, { KEY_REPORT, ".lacks", 0 }, { KEY_REPORT, ".path", -EUCLEAN },
	{ KEY_REPORT, ".model", 0 }, { KEY_REPORT, ".wwid", 0 }, { KEY_REPORT, ".serial", 0 },
	{ KEY_REPORT, ".size", -EUCLEAN }, { KEY_REPORT, ".sequence", 0 }, { KEY_REPORT, ".lba", -EUCLEAN },
	{ KEY_REPORT, ".local", 0 }, { KEY_REPORT, ".was", 0 }, { KEY_REPORT, ".extents", 0 },
	{ KEY_REPORT, ".extents[].attacher", 0 }, { KEY_REPORT, ".extents[].number", 0 },
	{ KEY_REPORT, ".extents[].version", 0 }, { KEY_REPORT, ".extents[].commit", 0 },
	{ KEY_REPORT, ".extents[].record_version", 0 }, { KEY_REPORT, ".extents[].record_commit", 0 },
	{ KEY_REPORT, ".mode", 0 }, { KEY_REPORT, ".serves", 0 }, { KEY_REPORT, ".number", 0 },
	{ KEY_REPORT, ".layout", 0 }, { KEY_REPORT, ".leaving", 0 }, { KEY_REPORT, ".io.timeout_ms", 0 },
	{ KEY_REPORT, ".io.queue_depth", 0 }, { KEY_REPORT, ".layout.members[].addr", 0 },
	{ KEY_REPORT, ".layout.members[].port", 0 }, { KEY_REPORT, ".layout.salt", -EUCLEAN },
	{ OBJ_ATTACHED, ".forgotten", 0 }, { OBJ_ATTACHED, ".left", 0 }, { OBJ_ATTACHED, ".left[].addr", 0 },
	{ OBJ_ATTACHED, ".left[].port", 0 }, { OBJ_ATTACHED, ".leaving", 0 }, { OBJ_ATTACHED, ".io.timeout_ms", 0 },
	{ OBJ_ATTACHED, ".io.queue_depth", 0 }, { OBJ_ATTACHED, ".layout.members[].addr", 0 },
	{ OBJ_ATTACHED, ".layout.members[].port", 0 }, { OBJ_ATTACHED, ".layout.salt", -EUCLEAN },
};

/* Objects whose members belong to others. */
static bool kept_whole(const char *path)
{
	return !strcmp(path, ".settings") || !strcmp(path, ".labels") || !strcmp(path, ".args") ||
	       !strcmp(path, ".details");
}

static int missing_is(int kind, const char *path)
{
	for (size_t i = 0; i < ARRAY_SIZE(may); i++)
		if (may[i].kind == kind && !strcmp(may[i].path, path))
			return may[i].err;
	return -EINVAL;
}

struct walk {
	int kind;
	json_t *root;
	u32 tried;
};

static void refused(struct walk *w, const char *path, int want)
{
	char why[OBJ_WHY];
	union obj_any x;
	int err = decode_tree(w->kind, w->root, &x, why);

	w->tried++;
	if (err != want || (err && strlen(why) < 10))
		printf("kind %d, %s: %d, and not %d: %s\n", w->kind, path, err, want, why);
	CU_ASSERT_EQUAL(err, want);
	CU_ASSERT_EQUAL(!err, !why[0]);
	obj_free(w->kind, &x);
}

static bool same_type(const json_t *a, const json_t *b)
{
	return json_typeof(a) == json_typeof(b) || (json_is_boolean(a) && json_is_boolean(b));
}

/* @set: puts a value into its place */
static void each_type(struct walk *w, const char *path, json_t *holder, const char *name, size_t at)
{
	json_t *had = name ? json_object_get(holder, name) : json_array_get(holder, at);
	json_t *types[] = { json_null(), json_true(), json_integer(5), json_real(1.5), json_string("\x01"),
			    json_array(), json_object() };

	json_incref(had);
	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		if (!same_type(types[i], had)) {
			if (name)
				json_object_set(holder, name, types[i]);
			else
				json_array_set(holder, at, types[i]);
			refused(w, path, -EINVAL);
		}
		json_decref(types[i]);
	}
	if (json_is_integer(had) || json_is_string(had)) {
		json_t *bad = json_is_integer(had) ? json_integer(-1) : json_string("\x01 not a word");

		if (name)
			json_object_set_new(holder, name, bad);
		else
			json_array_set_new(holder, at, bad);
		refused(w, path, -EINVAL);
	}
	if (name)
		json_object_set_new(holder, name, had);
	else
		json_array_set_new(holder, at, had);
}

static void walk_value(struct walk *w, const char *path, json_t *j);

static void walk_object(struct walk *w, const char *path, json_t *j)
{
	json_t *copy = json_copy(j), *value;
	char next[200];
	const char *name;

	json_object_foreach(copy, name, value) {
		snprintf(next, sizeof(next), "%s.%s", path, name);
		json_object_del(j, name);
		refused(w, next, missing_is(w->kind, next));
		json_object_set(j, name, value);
		each_type(w, next, j, name, 0);
		if (!kept_whole(next))
			walk_value(w, next, value);
	}
	json_decref(copy);
}

static void walk_value(struct walk *w, const char *path, json_t *j)
{
	char next[200];

	snprintf(next, sizeof(next), "%s[]", path);
	for (size_t i = 0; i < json_array_size(j); i++) {
		each_type(w, next, j, NULL, i);
		walk_value(w, next, json_array_get(j, i));
	}
	if (json_is_object(j))
		walk_object(w, path, j);
}

static void test_each_member(void)
{
	union obj_any x;
	char why[OBJ_WHY], *text;

	for (each_kind(k)) {
		struct walk w = { .kind = k->kind };

		rig_fill(k->kind, &x);
		/* A roster that says false has nothing to contradict when its kernel bytes go. */
		if (k->kind == KEY_TASK)
			x.task.state = OBJ_TASK_RUNNING;
		text = rig_text(k->kind, &x, why);
		w.root = tree_of(k->kind, text);
		walk_object(&w, "", w.root);
		/* All is back, so all is well. */
		refused(&w, "", 0);
		CU_ASSERT(w.tried > 8);
		json_decref(w.root);
		free(text);
		obj_free(k->kind, &x);
	}
}

/* The root itself of each type. */
static void test_root(void)
{
	static const char *const bad[] = { "", " ", "null", "true", "7", "1.5", "\"x\"", "[]", "{}", "{", "[{}]",
					   "{\"v\":1000}x", "\xff", "{\"v\":99999999999999999999}" };
	union obj_any x;
	char why[OBJ_WHY];

	for (each_kind(k))
		for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
			int err = decode(k->kind, bad[i], &x, why);

			CU_ASSERT_EQUAL(err, rig_file(k->kind) ? -EUCLEAN : -EINVAL);
			CU_ASSERT(strlen(why) > 10);
			obj_free(k->kind, &x);
			CU_ASSERT_EQUAL(obj_decode(k->kind, bad[i], strlen(bad[i]), &x, NULL, 0), err);
			obj_free(k->kind, &x);
		}
	CU_ASSERT_EQUAL(obj_decode(0, "{}", 2, &x, why, OBJ_WHY), -EINVAL);
	CU_ASSERT_EQUAL(obj_decode(OBJ_KINDS, "{}", 2, &x, why, OBJ_WHY), -EINVAL);
	CU_ASSERT_EQUAL(obj_decode(-1, "{}", 2, &x, why, OBJ_WHY), -EINVAL);
}

static void test_truncated(void)
{
	union obj_any x;
	char why[OBJ_WHY], *text;

	for (each_kind(k)) {
		rig_fill(k->kind, &x);
		text = rig_text(k->kind, &x, why);
		obj_free(k->kind, &x);
		for (size_t n = 0; n < strlen(text); n++) {
			CU_ASSERT(obj_decode(k->kind, text, n, &x, why, OBJ_WHY) < 0);
			CU_ASSERT(why[0]);
			obj_free(k->kind, &x);
		}
		free(text);
	}
}

/* A member twice, at the beginning of every nested object: a reader must not choose one. */
static void test_duplicates(void)
{
	char why[OBJ_WHY], *text, *twice;
	union obj_any x;
	u32 tried;

	for (each_kind(k)) {
		if (rig_file(k->kind))
			continue;
		rig_fill(k->kind, &x);
		text = rig_text(k->kind, &x, why);
		obj_free(k->kind, &x);
		twice = malloc(2 * strlen(text));
		tried = 0;
		for (char *p = strstr(text, "{\""); p; p = strstr(p + 1, "{\"")) {
			size_t name = strcspn(p + 2, "\"") + 2;

			sprintf(twice, "%.*s{%.*s:0,%s", (int)(p - text), text, (int)name, p + 1, p + 1);
			CU_ASSERT_EQUAL(decode(k->kind, twice, &x, why), -EINVAL);
			obj_free(k->kind, &x);
			tried++;
		}
		CU_ASSERT(tried);
		free(twice);
		free(text);
	}
}

/* Into every object that this meshd knows the members of. */
static u32 add_unknown(json_t *j, const char *path)
{
	json_t *value, *copy;
	char next[200];
	const char *name;
	u32 n = 0;

	for (size_t i = 0; i < json_array_size(j); i++)
		n += add_unknown(json_array_get(j, i), path);
	if (!json_is_object(j) || kept_whole(path))
		return n;
	copy = json_copy(j);
	json_object_foreach(copy, name, value) {
		snprintf(next, sizeof(next), "%s.%s", path, name);
		n += add_unknown(value, next);
	}
	json_decref(copy);
	json_object_set_new(j, "later", json_pack("{s:[i,n,{s:s}]}", "a", (int)rnd_below(1000), "b", "c"));
	return n + 1;
}

static void test_unknown_kept(void)
{
	union obj_any x;
	char why[OBJ_WHY], *text;
	json_t *want, *got;

	for (each_kind(k)) {
		rig_fill(k->kind, &x);
		text = rig_text(k->kind, &x, why);
		obj_free(k->kind, &x);
		want = tree_of(k->kind, text);
		free(text);
		CU_ASSERT(add_unknown(want, "") >= 1);
		json_object_set_new(want, "v", json_integer(1007));
		CU_ASSERT_EQUAL(decode_tree(k->kind, want, &x, why), 0);
		CU_ASSERT_EQUAL(x.o.v, 1007);
		rig_op(&x.o);
		text = rig_text(k->kind, &x, why);
		CU_ASSERT_PTR_NOT_NULL_FATAL(text);
		got = tree_of(k->kind, text);
		if (!rig_file(k->kind))
			json_object_set_new(want, "op", json_string(x.o.op));
		CU_ASSERT(json_equal(want, got));
		json_decref(want);
		json_decref(got);
		free(text);
		obj_free(k->kind, &x);
	}
}

static void test_versions(void)
{
	static const struct { json_int_t v; int err; } tries[] = {
		{ 0, -EINVAL }, { 1, -EINVAL }, { 999, -EINVAL }, { 1000, 0 }, { 1999, 0 },
		{ 2000, -EPROTONOSUPPORT }, { 4000000000, -EPROTONOSUPPORT }, { 1LL << 32, -EINVAL },
	};
	union obj_any x;
	char why[OBJ_WHY], *text;
	json_t *j;

	for (each_kind(k)) {
		rig_fill(k->kind, &x);
		text = rig_text(k->kind, &x, why);
		obj_free(k->kind, &x);
		j = tree_of(k->kind, text);
		for (size_t i = 0; i < ARRAY_SIZE(tries); i++) {
			json_object_set_new(j, "v", json_integer(tries[i].v));
			CU_ASSERT_EQUAL(decode_tree(k->kind, j, &x, why), tries[i].err);
			obj_free(k->kind, &x);
		}
		/* Whatever else a later major has. */
		json_object_clear(j);
		json_object_set_new(j, "v", json_integer(2001));
		CU_ASSERT_EQUAL(decode_tree(k->kind, j, &x, why), -EPROTONOSUPPORT);
		CU_ASSERT_PTR_NOT_NULL(strstr(why, "2.1"));
		obj_free(k->kind, &x);
		json_decref(j);
		free(text);
	}
}

/* store_txn_settle() knows its transaction by the value. */
static void test_operation(void)
{
	static const char *const bad[] = { "", "A", "a b", "a_", "\xc3\xa4" };
	union obj_any x;
	char why[OBJ_WHY], *text;

	for (each_kind(k)) {
		if (rig_file(k->kind))
			continue;
		rig_fill(k->kind, &x);
		for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
			strcpy(x.o.op, bad[i]);
			CU_ASSERT_EQUAL(obj_encode(k->kind, &x, &text, why, OBJ_WHY), -EINVAL);
			CU_ASSERT_PTR_NULL(text);
			CU_ASSERT_PTR_NOT_NULL(strstr(why, "op"));
		}
		rig_op(&x.o);
		CU_ASSERT_EQUAL(strlen(x.o.op), 32);
		text = rig_text(k->kind, &x, why);
		obj_free(k->kind, &x);
		CU_ASSERT_EQUAL(decode(k->kind, text, &x, why), 0);
		free(text);
		CU_ASSERT_PTR_NULL(rig_text(k->kind, &x, why));
		CU_ASSERT_PTR_NOT_NULL(strstr(why, "operation id of the value that was read"));
		rig_op(&x.o);
		text = rig_text(k->kind, &x, why);
		CU_ASSERT_PTR_NOT_NULL(text);
		free(text);
		obj_free(k->kind, &x);
	}
}

/* A value knows where it belongs. */
static void test_keys(void)
{
	union obj_any x, y;
	char why[OBJ_WHY], *text, name[STORE_KEY_MAX];
	struct key key;

	for (each_kind(k)) {
		rig_fill(k->kind, &x);
		obj_key(k->kind, &x, &key);
		CU_ASSERT_EQUAL(key.kind, rig_file(k->kind) ? 0 : k->kind);
		if (!rig_file(k->kind)) {
			text = rig_text(k->kind, &x, why);
			CU_ASSERT_EQUAL(key_text(&key, name), 0);
			CU_ASSERT_EQUAL(key_parse(name, &key), 0);
			CU_ASSERT_EQUAL(obj_read(&key, text, strlen(text), &y, why, OBJ_WHY), 0);
			obj_free(k->kind, &y);
			/* One segment after the other is another one. */
			for (char *p = strchr(name, '/'); p; p = strchr(p + 1, '/')) {
				p[1] = p[1] == 'a' ? 'b' : k->kind == KEY_EVENT && p != strchr(name, '/') ? '0' : 'a';
				if (k->kind == KEY_EVENT && p != strchr(name, '/'))
					p[16] = p[16] == 'a' ? 'b' : 'a';
				CU_ASSERT_EQUAL(key_parse(name, &key), 0);
				CU_ASSERT_EQUAL(obj_read(&key, text, strlen(text), &y, why, OBJ_WHY), -EUCLEAN);
				CU_ASSERT_PTR_NOT_NULL(strstr(why, "key of another"));
				obj_free(k->kind, &y);
				obj_key(k->kind, &x, &key);
				key_text(&key, name);
			}
			free(text);
		}
		obj_free(k->kind, &x);
	}
}

/* A file of the state folder in which any one bit is another one. */
static void test_damaged_files(void)
{
	union obj_any x;
	char why[OBJ_WHY], *text;

	for (each_kind(k)) {
		if (!rig_file(k->kind))
			continue;
		rig_fill(k->kind, &x);
		text = rig_text(k->kind, &x, why);
		obj_free(k->kind, &x);
		for (size_t i = 0; i < strlen(text); i++) {
			text[i] ^= 1 << i % 7;
			CU_ASSERT_EQUAL(obj_decode(k->kind, text, strlen(text), &x, why, OBJ_WHY), -EUCLEAN);
			CU_ASSERT_PTR_NOT_NULL(strstr(why, "damaged"));
			obj_free(k->kind, &x);
			text[i] ^= 1 << i % 7;
		}
		CU_ASSERT_EQUAL(decode(k->kind, text, &x, why), 0);
		obj_free(k->kind, &x);
		free(text);
	}
}

int main(void)
{
	static const struct suite_test tests[] = {
		{ "round trips", test_round_trip },
		{ "each member missing, and of each type", test_each_member },
		{ "roots", test_root },
		{ "truncated", test_truncated },
		{ "members twice", test_duplicates },
		{ "unknown members", test_unknown_kept },
		{ "versions", test_versions },
		{ "operation ids", test_operation },
		{ "keys", test_keys },
		{ "damaged files", test_damaged_files },
		{ NULL, NULL },
	};

	return suite_main("objects", tests);
}
