// SPDX-License-Identifier: GPL-2.0-only
/* The verbs: what a request must have, and what is refused in it. */
#include <stdio.h>
#include <string.h>

#include "userspace/format/layout_text.h"
#include "userspace/format/verbs.h"
#include "suite.h"

/* Whether @text is good as the arguments of @verb; if not, @part is in why. */
static void check(const char *verb, const char *text, const char *part)
{
	json_t *args = json_loads(text, 0, NULL);
	char why[256] = "";
	bool ok = verb_ok(verb_find(verb), args, why, sizeof(why));

	if (ok != !part || (part && !strstr(why, part)))
		fprintf(stderr, "%s %s: \"%s\"\n", verb, text, why);
	CU_ASSERT(ok == !part && (!part || strstr(why, part)));
	json_decref(args);
}

static void test_good(void)
{
	check("version", "{}", NULL);
	check("stats", "[]", NULL);
	check("volume create", "{\"name\":\"v\", \"size\":1, \"layout\":\"linear\"}", NULL);
	check("volume create", "{\"name\":\"v\", \"size\":\"max\", \"layout\":\"stripe:255\", \"strip\":4096,"
	      "\"drives\":[\"a\",\"b\"], \"domain\":\"host\", \"attach\":false, \"x\":1}", NULL);
	check("volume create", "{\"name\":\"v\", \"size\":1, \"layout\":\"linear\", \"force\":true,"
	      "\"drives\":[\"a\",\"bdev:/dev/b\"]}", NULL);
	check("volume replace", "{\"volume\":\"v\", \"member\":\"1\", \"force\":true, \"with\":\"bdev:/dev/b\"}", NULL);
	check("volume replace", "{\"volume\":\"v\", \"member\":\"1\", \"erase_label\":true, \"with\":\"bdev:/dev/b\"}",
	      NULL);
	check("volume delete", "{\"volume\":\"v\", \"force\":true}", NULL);
	check("drive extents", "{}", NULL);
	check("host key", "{\"action\":\"clear\"}", NULL);
	check("host add", "{\"addr\":\"x\", \"port\":65535, \"no_wait\":true}", NULL);
}

static void test_bad(void)
{
	static const struct { const char *args, *why; } bad[] = {
		{ "7", "NAME is missing" },
		{ "{\"name\":7}", "NAME: that cannot be a name" },
		{ "{\"name\":\"a/b\"}", "NAME: that cannot be a name" },
		{ "{\"name\":\"v\"}", "--size is missing" },
		{ "{\"name\":\"v\", \"size\":0}", "--size: a size like" },
		{ "{\"name\":\"v\", \"size\":-1}", "--size: a size like" },
		{ "{\"name\":\"v\", \"size\":\"most\"}", "or max" },
		{ "{\"name\":\"v\", \"size\":1152921504606846977}", "too large" },
		{ "{\"name\":\"v\", \"size\":1}", "--layout is missing" },
		{ "{\"name\":\"v\", \"size\":1, \"layout\":4}", "say linear" },
		{ "{\"name\":\"v\", \"size\":1, \"layout\":\"linear:1\"}", "say linear" },
		{ "{\"name\":\"v\", \"size\":1, \"layout\":\"stripe\"}", "say linear" },
		{ "{\"name\":\"v\", \"size\":1, \"layout\":\"stripe:1\"}", "2 to 255" },
		{ "{\"name\":\"v\", \"size\":1, \"layout\":\"stripe:256\"}", "2 to 255" },
		{ "{\"name\":\"v\", \"size\":1, \"layout\":\"ec:4+5\"}", "loss of 1 to 4" },
		{ "{\"name\":\"v\", \"size\":1, \"layout\":\"linear\", \"strip\":6144}", "power of two" },
		{ "{\"name\":\"v\", \"size\":1, \"layout\":\"linear\", \"strip\":2097152}", "power of two" },
		{ "{\"name\":\"v\", \"size\":1, \"layout\":\"linear\", \"drives\":[1]}", "--drives: a list" },
		{ "{\"name\":\"v\", \"size\":1, \"layout\":\"linear\", \"drives\":[]}", "--drives: name at least one" },
		{ "{\"name\":\"v\", \"size\":1, \"layout\":\"linear\", \"drives\":[\"\", \"\"]}", "--drives: name at" },
		{ "{\"name\":\"v\", \"size\":1, \"layout\":\"linear\", \"drives\":[\"a\", \"\"]}", "--drives: a name in" },
		{ "{\"name\":\"v\", \"size\":1, \"layout\":\"linear\", \"strip\":4096}", "--strip: a linear volume" },
		{ "{\"name\":\"v\", \"size\":1, \"layout\":\"ec:2+1\", \"strip\":1048576}", "512k at most" },
		{ "{\"name\":\"v\", \"size\":1, \"layout\":\"stripe:2\", \"spares\":1}", "without redundancy" },
		{ "{\"name\":\"v\", \"size\":1, \"layout\":\"mirror:2\", \"spares\":0}", "from 1 to 65535" },
		{ "{\"name\":\"v\", \"size\":1, \"layout\":\"linear\", \"force\":true}", "--force: goes with bdev:" },
		{ "{\"name\":\"v\", \"size\":1, \"layout\":\"linear\", \"erase_label\":true, \"drives\":[\"a\"]}",
		  "--erase-label: goes with bdev:" },
		{ "{\"name\":\"v\", \"size\":1, \"layout\":\"linear\", \"force\":true, \"drives\":[\"bdev\"]}",
		  "--force: goes with bdev:" },
		{ "{\"name\":\"v\", \"size\":1, \"layout\":\"linear\", \"domain\":\"ho\"}", "--domain: host or" },
		{ "{\"name\":\"v\", \"size\":1, \"layout\":\"linear\", \"attach\":\"no\"}", "--no-attach: true or" },
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		check("volume create", bad[i].args, bad[i].why);
	check("host key", "{\"action\":\"set|show\"}", "one of these");
	check("host key", "{\"action\":\"se\"}", "one of these");
	check("host key", "{\"action\":\"set\", \"key_id\":65536}", "--key-id: a number from 1 to 65535");
	check("host add", "{\"addr\":\"x\", \"port\":0}", "--port: a number from 1 to 65535");
	check("volume show", "{\"volume\":[]}", "VOLUME: a text");
	check("volume delete", "{\"volume\":\"v\", \"force\":1}", "--force: true or");
}

static void typed(const char *text, struct layout_shape is)
{
	struct layout_shape s;
	char again[LAYOUT_TEXT];

	CU_ASSERT(!layout_parse(text, &s) && !memcmp(&s, &is, sizeof(s)));
	layout_text(&is, again);
	CU_ASSERT_STRING_EQUAL(again, text);
}

/* What is shown of a layout can be typed again. */
static void test_layout(void)
{
	char text[LAYOUT_TEXT];

	for (u8 n = 2; n < LAYOUT_COLUMNS_MAX; n++) {
		snprintf(text, sizeof(text), "stripe:%u", n);
		typed(text, (struct layout_shape) { PROT_STRIPE, n, 0, 1 });
	}
	typed("linear", (struct layout_shape) { PROT_LINEAR, 1, 0, 1 });
	typed("mirror:2", (struct layout_shape) { PROT_MIRROR, 2, 0, 1 });
	typed("mirror:4", (struct layout_shape) { PROT_MIRROR, 4, 0, 1 });
	typed("raid10:2x3", (struct layout_shape) { PROT_RAID10, 3, 0, 2 });
	typed("raid10:127x2", (struct layout_shape) { PROT_RAID10, 2, 0, 127 });
	typed("ec:2+1", (struct layout_shape) { PROT_EC, 2, 1, 1 });
	typed("ec:32+4", (struct layout_shape) { PROT_EC, 32, 4, 1 });
	CU_ASSERT_STRING_EQUAL(layout_level(0), "?");
	CU_ASSERT_STRING_EQUAL(layout_level(PROT_LEVELS), "?");
}

static void test_layout_refused(void)
{
	static const char *const bad[] = {
		"", ":", "linear:1", "linear:", "stripe", "stripe:", "stripe:1", "stripe:256", "stripe:2x",
		"stripe: 2", "stripe:+2", "mirror", "mirror:1", "mirror:5", "mirror:2x2", "mirror:-2",
		"raid10:2", "raid10:1x2", "raid10:2x1", "raid10:2x5", "raid10:128x2", "raid10:2x", "raid10:x2",
		"ec:4", "ec:1+1", "ec:33+1", "ec:4+0", "ec:4+5", "ec:4+", "ec:+2", "ec:4+2+1", "ec:4x2",
		"raid5:3", "stripe:99999999999999999999", "ec:4294967298+1",
	};
	struct layout_shape s;

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		if (!layout_parse(bad[i], &s))
			fprintf(stderr, "taken: %s\n", bad[i]);
		CU_ASSERT_PTR_NOT_NULL(layout_parse(bad[i], &s));
	}
}

static void test_groups(void)
{
	struct layout_shape s;

	layout_parse("mirror:2", &s);
	CU_ASSERT(!layout_regroup(&s, 1) && s.level == PROT_MIRROR && layout_members(&s) == 2);
	CU_ASSERT(!layout_regroup(&s, 3) && s.level == PROT_RAID10 && layout_members(&s) == 6);
	CU_ASSERT(layout_regroup(&s, 2) && !layout_regroup(&s, 3) && layout_width(&s) == 2);
	CU_ASSERT(layout_needs(&s) == 1);
	layout_parse("ec:4+2", &s);
	CU_ASSERT(!layout_regroup(&s, 2) && layout_members(&s) == 12 && layout_width(&s) == 6);
	CU_ASSERT(layout_needs(&s) == s.data && s.parity);
	CU_ASSERT_PTR_NOT_NULL(layout_regroup(&s, 43));
	layout_parse("stripe:4", &s);
	CU_ASSERT(layout_regroup(&s, 2) && layout_members(&s) == 4 && layout_width(&s) == 1);
	CU_ASSERT(layout_needs(&s) == 1);
	layout_parse("linear", &s);
	CU_ASSERT(layout_regroup(&s, 1) && layout_members(&s) == 1);
}

int main(void)
{
	static const struct suite_test tests[] = {
		{ "what is good", test_good },
		{ "what is refused, and why", test_bad },
		{ "a layout typed and shown", test_layout },
		{ "layouts refused", test_layout_refused },
		{ "groups of a layout", test_groups },
		{ NULL, NULL },
	};

	return suite_main("verbs", tests);
}
