// SPDX-License-Identifier: GPL-2.0-only
/* What a stranger's value must not do: control a terminal by a sentence, cost memory, hide members. */
#include "objects_rig.h"
#include "userspace/format/printable.h"

#define each_kind(k) const struct rig_kind *k = rig_kinds; k < rig_kinds + ARRAY_SIZE(rig_kinds); k++

/* A value of a kind of the store, for a change of its text. */
static char *good_text(int kind)
{
	char why[OBJ_WHY], *text;
	union obj_any x;

	rig_fill(kind, &x);
	text = rig_text(kind, &x, why);
	obj_free(kind, &x);
	CU_ASSERT_PTR_NOT_NULL_FATAL(text);
	return text;
}

/* @err, with @words in its sentence, which a terminal may show. */
static void decodes(int kind, const char *text, size_t len, int err, const char *words)
{
	char why[OBJ_WHY] = "";
	union obj_any x;
	int got = obj_decode(kind, text, len, &x, why, sizeof(why));

	obj_free(kind, &x);
	if (got != err || !printable_ok(why) || !!got != !!why[0] || (words && !strstr(why, words)))
		printf("\n  kind %d: %d, not %d: %s\n", kind, got, err, why);
	CU_ASSERT_EQUAL(got, err);
	CU_ASSERT(printable_ok(why));
	CU_ASSERT_EQUAL(!!got, !!why[0]);
	CU_ASSERT(!words || strstr(why, words));
}

/* At each place of a value: escapes, controls of one byte and of two, a turn of the direction. */
static void test_sentences(void)
{
	static const char *const junk[] = { "\x1b[2J", "\x07", "\x7f", "\xc2\x9b" "2J", "\xe2\x80\xae", "\xff", "\n" };
	char why[OBJ_WHY], *text, *bad;
	union obj_any x;
	size_t len, n;

	for (each_kind(k)) {
		text = good_text(k->kind);
		len = strlen(text);
		bad = malloc(len + 16);
		for (size_t at = 0; at <= len; at += 1 + len / 1500) {
			const char *j = junk[rnd_below(ARRAY_SIZE(junk))];

			n = sprintf(bad, "%.*s%s", (int)at, text, j);
			memcpy(bad + n, text + at, len - at);
			if (obj_decode(k->kind, bad, n + len - at, &x, why, sizeof(why))) {
				CU_ASSERT(strlen(why) > 10);
				CU_ASSERT(printable_ok(why));
			}
			obj_free(k->kind, &x);
		}
		free(bad);
		free(text);
	}
	/* The parser's sentence has some bytes of the text: they are there, and harmless. */
	bad = "{\"v\":1000,\x7f}";
	decodes(KEY_LEADER, bad, strlen(bad), -EINVAL, "\\x7f");
	bad = "{\"v\":1000,\"\x1b]0;x\"}";
	decodes(KEY_LEADER, bad, strlen(bad), -EINVAL, "JSON");
}

/* What does not fit is cut between characters, whatever the room. */
static void test_sentences_cut(void)
{
	char why[OBJ_WHY];
	union obj_any x;

	for (size_t size = 1; size < sizeof(why); size++) {
		memset(why, 'x', sizeof(why));
		CU_ASSERT_EQUAL(obj_decode(KEY_LEADER, "{\"v\":1000,\"a\":\xc3\xa4\x7f}", 18, &x, why, size), -EINVAL);
		CU_ASSERT(strnlen(why, size) < size);
		CU_ASSERT(printable_ok(why));
		obj_free(KEY_LEADER, &x);
	}
}

/* A leader with one more member: @levels lists inside of each other, and @values zeroes. */
static char *leader_with(unsigned int levels, unsigned int values, size_t *len)
{
	char *text = good_text(KEY_LEADER), *more = malloc(strlen(text) + 2 * levels + 2 * values + 64);
	size_t n = strlen(text) - 1;

	memcpy(more, text, n);
	n += sprintf(more + n, ",\"later\":");
	for (unsigned int i = 0; i < levels; i++)
		more[n++] = '[';
	for (unsigned int i = 0; i < values; i++)
		n += sprintf(more + n, "%s0", i ? "," : "");
	for (unsigned int i = 0; i < levels; i++)
		more[n++] = ']';
	more[n++] = '}';
	free(text);
	*len = n;
	return more;
}

static void test_depth(void)
{
	static char deep[STORE_VALUE_MAX];
	const char *quoted = "{\"v\":1000,\"op\":\"a\",\"host\":\"11111111-1111-4111-8111-1111111111ab\","
			     "\"a\":\"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[\\\""
			     "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[\"}";
	size_t len;
	char *text;

	for (unsigned int levels = 1; levels < 200; levels++) {
		bool deeper = levels + 1 > OBJ_DEPTH_MAX;

		text = leader_with(levels, 0, &len);
		decodes(KEY_LEADER, text, len, deeper ? -EINVAL : 0, deeper ? "levels" : NULL);
		free(text);
	}
	/* brackets in texts are no levels, also behind an escaped quote */
	decodes(KEY_LEADER, quoted, strlen(quoted), 0, NULL);
	for (each_kind(k)) {
		memset(deep, '[', sizeof(deep));
		decodes(k->kind, deep, sizeof(deep), rig_file(k->kind) ? -EUCLEAN : -EINVAL,
			rig_file(k->kind) ? NULL : "levels");
		memset(deep, ']', sizeof(deep));
		decodes(k->kind, deep, sizeof(deep), rig_file(k->kind) ? -EUCLEAN : -EINVAL, NULL);
	}
}

/* A leader has an object and three values; the fourth one is the list. */
static void test_values(void)
{
	size_t len;
	char *text;

	/* a list is counted twice where it has a first value: as begun, and by its bracket */
	text = leader_with(1, OBJ_VALUES_MAX - 6, &len);
	decodes(KEY_LEADER, text, len, 0, NULL);
	free(text);
	text = leader_with(1, OBJ_VALUES_MAX, &len);
	decodes(KEY_LEADER, text, len, -EINVAL, "values, at most");
	free(text);
}

/* In each list of each kind: as many elements as no list may have. */
static u32 grow_lists(int kind, json_t *root, json_t *j)
{
	size_t n = json_array_size(j);
	const char *name;
	json_t *one;
	char *text;
	u32 tried = 0;

	for (size_t i = 0; i < n && i < 2; i++)
		tried += grow_lists(kind, root, json_array_get(j, i));
	json_object_foreach(j, name, one) {
		if (strcmp(name, "args") && strcmp(name, "details"))
			tried += grow_lists(kind, root, one);
	}
	if (!n)
		return tried;
	while (json_array_size(j) <= LABEL_EXTENTS_MAX)
		json_array_append_new(j, json_null());
	text = json_dumps(root, JSON_COMPACT);
	decodes(kind, text, strlen(text), -EINVAL, "elements, at most");
	free(text);
	while (json_array_size(j) > n)
		json_array_remove(j, n);
	return tried + 1;
}

static void test_lengths(void)
{
	u32 tried = 0;
	json_t *root;
	char *text;

	for (each_kind(k)) {
		if (rig_file(k->kind))
			continue;
		text = good_text(k->kind);
		root = json_loads(text, 0, NULL);
		tried += grow_lists(k->kind, root, root);
		json_decref(root);
		free(text);
	}
	/*
	 * addresses, disks, extents, allow, leaving, members, segments, refs, barred of a volume, groups and
	 * theirs, barred, after, segments of a task, puts; extents, members, segments, refs and leaving
	 * of a report
	 */
	CU_ASSERT_EQUAL(tried, 21);
}

/* @text with what stands behind the first @name replaced up to the next ',' or '}'. */
static char *with_value(const char *text, const char *name, const char *value)
{
	const char *at = strstr(text, name), *end;
	char *out;

	CU_ASSERT_PTR_NOT_NULL_FATAL(at);
	at += strlen(name);
	end = at + strcspn(at, ",}");
	out = malloc(strlen(text) + strlen(value) + 1);
	sprintf(out, "%.*s%s%s", (int)(at - text), text, value, end);
	return out;
}

static void number_is(int kind, const char *name, const char *value, int err, const char *words)
{
	char *text = good_text(kind), *other = with_value(text, name, value);

	decodes(kind, other, strlen(other), err, words);
	free(text);
	free(other);
}

/* 63 bits, exactly: no wrap, no fraction, no power of ten. */
static void test_numbers(void)
{
	static const char *const bad[] = { "9223372036854775808", "18446744073709551616", "18446744073709551617",
		"99999999999999999999999999999999", "-9223372036854775809", "-1", "1.0", "1e3", "1E0", "0.5",
		"1e999", "0x10", "010", "+1", "NaN", "Infinity", "\"1\"", "" };

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		number_is(KEY_ALIVE, "\"started\":", bad[i], -EINVAL, NULL);
		number_is(KEY_ACCESS, "\"number\":", bad[i], -EINVAL, NULL);
		number_is(KEY_LEADER, "\"v\":", bad[i], -EINVAL, NULL);
	}
	number_is(KEY_ALIVE, "\"started\":", "-1", -EINVAL, "below zero");
	number_is(KEY_ALIVE, "\"started\":", "9223372036854775807", 0, NULL);
	number_is(KEY_ALIVE, "\"format\":", "4294967296", -EINVAL, "between");
	number_is(KEY_ALIVE, "\"format\":", "4294968296", -EINVAL, "between");
}

/* Above 2^53, where other programs round: as it came, in members that are known and unknown. */
static void test_numbers_exact(void)
{
	const char *text = "{\"v\":1000,\"op\":\"a\",\"host\":\"11111111-1111-4111-8111-1111111111ab\","
		"\"boot\":\"11111111-1111-4111-8111-1111111111ac\",\"meshd\":\"1\",\"format\":1000,"
		"\"started\":9007199254740993,\"later\":[9223372036854775807,-9223372036854775808,"
		"9007199254740993]}";
	char why[OBJ_WHY], *out;
	union obj_any x;

	CU_ASSERT_EQUAL_FATAL(obj_decode(KEY_ALIVE, text, strlen(text), &x, why, sizeof(why)), 0);
	CU_ASSERT_EQUAL(x.alive.started, 9007199254740993ULL);
	strcpy(x.o.op, "b");
	out = rig_text(KEY_ALIVE, &x, why);
	CU_ASSERT_PTR_NOT_NULL_FATAL(out);
	CU_ASSERT_PTR_NOT_NULL(strstr(out, "\"started\":9007199254740993,"));
	CU_ASSERT_PTR_NOT_NULL(strstr(out, "[9223372036854775807,-9223372036854775808,9007199254740993]"));
	free(out);
	obj_free(KEY_ALIVE, &x);
}

/* The second of two members is not hidden by another spelling of its name. */
static void test_duplicates(void)
{
	char *text, *twice;

	for (each_kind(k)) {
		if (rig_file(k->kind))
			continue;
		text = good_text(k->kind);
		twice = malloc(strlen(text) + 32);
		sprintf(twice, "{\"\\u0076\":1000,%s", text + 1);
		decodes(k->kind, twice, strlen(twice), -EINVAL, "duplicate");
		sprintf(twice, "{\"\\u006f\\u0070\":\"a\",%s", text + 1);
		decodes(k->kind, twice, strlen(twice), -EINVAL, "duplicate");
		free(twice);
		free(text);
	}
	twice = "{\"v\":1000,\"op\":\"a\",\"host\":\"11111111-1111-4111-8111-1111111111ab\",\"later\":{\"x\":1,\"\\u0078\":2}}";
	decodes(KEY_LEADER, twice, strlen(twice), -EINVAL, "duplicate");
}

/* A zero byte ends what C sees of a text: behind it anything could stand. */
static void test_zero_bytes(void)
{
	char *text, *bad;
	size_t len;

	for (each_kind(k)) {
		if (rig_file(k->kind))
			continue;
		text = good_text(k->kind);
		len = strlen(text);
		bad = malloc(len + 8);
		for (char *p = strchr(text, '"'); p; p = strchr(p + 1, '"')) {
			sprintf(bad, "%.*s\\u0000%s", (int)(p + 1 - text), text, p + 1);
			decodes(k->kind, bad, len + 6, -EINVAL, NULL);
		}
		for (size_t at = 0; at <= len; at += 1 + len / 300) {
			memcpy(bad, text, at);
			bad[at] = 0;
			memcpy(bad + at + 1, text + at, len - at);
			decodes(k->kind, bad, len + 1, -EINVAL, NULL);
		}
		free(bad);
		free(text);
	}
}

static void kept_is(int kind, const char *name, json_t *value, int err, const char *words)
{
	char *text = good_text(kind);
	json_t *j = json_loads(text, 0, NULL);

	free(text);
	json_object_set_new(j, name, value);
	text = json_dumps(j, 0);
	decodes(kind, text, strlen(text), err, words);
	free(text);
	json_decref(j);
}

/* Members with rules of their own are shown and logged, too. */
static void test_kept_plain(void)
{
	static const struct { int kind; const char *name; } kept[] = {
		{ KEY_TASK, "args" }, { KEY_EVENT, "details" }, { KEY_STATUS, "details" },
		{ KEY_CLUSTER, "settings" }, { KEY_HOST, "labels" },
	};
	char *longer = calloc(1, 5000);

	memset(longer, 'x', 4999);
	for (size_t i = 0; i < ARRAY_SIZE(kept); i++) {
		int kind = kept[i].kind;

		kept_is(kind, kept[i].name, json_pack("{s:s}", "a", "\x1b[2J"), -EINVAL,
			"characters");
		kept_is(kind, kept[i].name, json_pack("{s:s}", "a\x07", "b"), -EINVAL, "characters");
		kept_is(kind, kept[i].name, json_object(), kind == KEY_TASK ? 0 : -EINVAL,
			kind == KEY_TASK ? NULL : "is empty");
		kept_is(kind, kept[i].name, json_pack("{s:s}", "a", "\xc3\xa4 b"), 0, NULL);
	}
	kept_is(KEY_TASK, "args", json_pack("{s:[{s:s}]}", "a", "b", "\xe2\x80\xae"), -EINVAL, "characters");
	kept_is(KEY_TASK, "args", json_pack("{s:[{s:i}]}", "a", "\x1b", 1), -EINVAL, "characters");
	/* of any length */
	kept_is(KEY_TASK, "args", json_pack("{s:s}", "a", longer), 0, NULL);
	longer[4998] = 7;
	kept_is(KEY_TASK, "args", json_pack("{s:s}", "a", longer), -EINVAL, "characters");
	free(longer);
}

static int read_kept(int kind, json_t *j, union obj_any *x)
{
	char why[OBJ_WHY], *text = json_dumps(j, 0);
	int err = obj_decode(kind, text, strlen(text), x, why, sizeof(why));

	free(text);
	return err;
}

/* 1: a value may follow another one; 0: an unknown member is another one, was added, or is gone. */
static int follows(int kind, json_t *was, json_t *is)
{
	union obj_any x = { 0 }, y = { 0 };
	int ret;

	CU_ASSERT(!was || !read_kept(kind, was, &x));
	CU_ASSERT_EQUAL(read_kept(kind, is, &y), 0);
	ret = obj_gives(kind, &y, was ? &x.o : NULL, &y.o);
	if (was)
		obj_free(kind, &x);
	obj_free(kind, &y);
	return ret;
}

static void test_gives(void)
{
	json_t *j, *was, *is, *later = json_pack("{s:[i]}", "a", 1);
	char *text;

	for (each_kind(k)) {
		if (rig_file(k->kind))
			continue;
		text = good_text(k->kind);
		j = json_loads(text, 0, NULL);
		free(text);
		was = json_deep_copy(j);
		is = json_deep_copy(j);
		json_object_set_new(is, "op", json_string("another"));
		CU_ASSERT_EQUAL(follows(k->kind, NULL, is), 1);
		CU_ASSERT_EQUAL(follows(k->kind, was, is), 1);
		json_object_set(is, "later", later);
		CU_ASSERT_EQUAL(follows(k->kind, NULL, is), 0);
		CU_ASSERT_EQUAL(follows(k->kind, was, is), 0);
		json_object_set(was, "later", later);
		CU_ASSERT_EQUAL(follows(k->kind, was, is), 1);
		json_object_set_new(is, "later", json_integer(1));
		CU_ASSERT_EQUAL(follows(k->kind, was, is), 0);
		json_object_del(is, "later");
		CU_ASSERT_EQUAL(follows(k->kind, was, is), 0);
		json_decref(was);
		json_decref(is);
		json_decref(j);
	}
	json_decref(later);
}

/* In an element that stays, in one that is new, and of one that goes. */
static void test_gives_nested(void)
{
	char *text = good_text(KEY_DRIVE);
	json_t *was = json_loads(text, 0, NULL), *is = json_deep_copy(was), *w, *i, *last;

	free(text);
	w = json_object_get(was, "extents");
	i = json_object_get(is, "extents");
	json_object_set_new(json_array_get(w, 1), "later", json_integer(1));
	CU_ASSERT_EQUAL(follows(KEY_DRIVE, was, is), 0);
	json_object_set_new(json_array_get(i, 1), "later", json_integer(1));
	CU_ASSERT_EQUAL(follows(KEY_DRIVE, was, is), 1);
	/* another place in the list, the same element */
	last = json_incref(json_array_get(i, 1));
	json_array_remove(i, 1);
	json_array_append_new(i, last);
	CU_ASSERT_EQUAL(follows(KEY_DRIVE, was, is), 1);
	json_array_remove(i, 3);
	CU_ASSERT_EQUAL(follows(KEY_DRIVE, was, is), 1);
	last = json_deep_copy(json_array_get(w, 1));
	json_object_set_new(last, "uuid", json_string("11111111-1111-4111-8111-1111111111ab"));
	json_array_append_new(i, last);
	CU_ASSERT_EQUAL(follows(KEY_DRIVE, was, is), 0);
	json_object_del(last, "later");
	CU_ASSERT_EQUAL(follows(KEY_DRIVE, was, is), 1);
	json_decref(was);
	json_decref(is);
}

/* Elements whose identity is a number. */
static void test_gives_numbered(void)
{
	static const struct { int kind; const char *list; } t[] = {
		{ KEY_ROSTER, "groups" }, { KEY_VOLUME, "leaving" },
	};

	for (size_t n = 0; n < ARRAY_SIZE(t); n++) {
		char *text = good_text(t[n].kind);
		json_t *was = json_loads(text, 0, NULL), *is;

		free(text);
		json_object_set_new(json_array_get(json_object_get(was, t[n].list), 1), "later", json_integer(1));
		is = json_deep_copy(was);
		json_array_remove(json_object_get(is, t[n].list), 0);
		CU_ASSERT_EQUAL(follows(t[n].kind, was, is), 1);
		json_object_del(json_array_get(json_object_get(is, t[n].list), 0), "later");
		CU_ASSERT_EQUAL(follows(t[n].kind, was, is), 0);
		json_decref(was);
		json_decref(is);
	}
}

int main(void)
{
	static const struct suite_test tests[] = {
		{ "sentences are plain", test_sentences },
		{ "sentences that are cut", test_sentences_cut },
		{ "depth", test_depth },
		{ "number of values", test_values },
		{ "lengths of lists", test_lengths },
		{ "numbers", test_numbers },
		{ "numbers above 2^53", test_numbers_exact },
		{ "members twice, spelled differently", test_duplicates },
		{ "zero bytes", test_zero_bytes },
		{ "members with rules of their own", test_kept_plain },
		{ "unknown members of the former value", test_gives },
		{ "the same in nested objects", test_gives_nested },
		{ "the same in numbered elements", test_gives_numbered },
		{ NULL, NULL },
	};

	return suite_main("objects_bounds", tests);
}
