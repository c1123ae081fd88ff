// SPDX-License-Identifier: GPL-2.0-only
/* The verbs: what a request must have, and what is refused in it. */
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
		{ "{\"name\":\"v\", \"size\":1, \"layout\":\"ec:4+2\"}", "not served" },
		{ "{\"name\":\"v\", \"size\":1, \"layout\":\"linear\", \"strip\":6144}", "power of two" },
		{ "{\"name\":\"v\", \"size\":1, \"layout\":\"linear\", \"strip\":2097152}", "power of two" },
		{ "{\"name\":\"v\", \"size\":1, \"layout\":\"linear\", \"drives\":[1]}", "--drives: a list" },
		{ "{\"name\":\"v\", \"size\":1, \"layout\":\"linear\", \"drives\":[]}", "--drives: name at least one" },
		{ "{\"name\":\"v\", \"size\":1, \"layout\":\"linear\", \"drives\":[\"\", \"\"]}", "--drives: name at" },
		{ "{\"name\":\"v\", \"size\":1, \"layout\":\"linear\", \"drives\":[\"a\", \"\"]}", "--drives: a name in" },
		{ "{\"name\":\"v\", \"size\":1, \"layout\":\"linear\", \"strip\":4096}", "--strip: a linear volume" },
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

/* What is shown of a layout can be typed again. */
static void test_layout(void)
{
	char text[LAYOUT_TEXT];
	u32 columns;
	u8 level;

	for (u32 n = 2; n <= LAYOUT_COLUMNS_MAX; n++) {
		layout_text(PROT_STRIPE, n, text);
		CU_ASSERT(!layout_parse(text, &level, &columns));
		CU_ASSERT(level == PROT_STRIPE && columns == n);
	}
	layout_text(PROT_LINEAR, 1, text);
	CU_ASSERT(!layout_parse(text, &level, &columns) && level == PROT_LINEAR && columns == 1);
	CU_ASSERT_STRING_EQUAL(layout_level(0), "?");
	CU_ASSERT_STRING_EQUAL(layout_level(PROT_LEVELS), "?");
}

int main(void)
{
	static const struct suite_test tests[] = {
		{ "what is good", test_good },
		{ "what is refused, and why", test_bad },
		{ "a layout typed and shown", test_layout },
		{ NULL, NULL },
	};

	return suite_main("verbs", tests);
}
