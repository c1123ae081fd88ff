// SPDX-License-Identifier: GPL-2.0-only
/* The configuration file's parser, and what may go to a terminal. */
#include <errno.h>
#include <string.h>
#include <linux/kernel.h>

#include "userspace/format/conf.h"
#include "userspace/format/printable.h"
#include "suite.h"

static char got[256];

static const char *collect(void *priv, const char *key, const char *value)
{
	size_t n = strlen(got);

	(void)priv;
	if (!strcmp(key, "bad"))
		return "no such key";
	snprintf(got + n, sizeof(got) - n, "%s=%s;", key, value);
	return NULL;
}

static void test_conf(void)
{
	static const struct { const char *text, *got, *why; unsigned int line; } in[] = {
		{ "", "", NULL, 1 },
		{ "\n\n# nothing\n  \t\r\n", "", NULL, 5 },
		{ "insecure = yes\n", "insecure=yes;", NULL, 2 },
		{ "insecure=yes", "insecure=yes;", NULL, 2 },
		{ "  a\t=  b c \r\n#x = y\n d = e # f\n", "a=b c;d=e;", NULL, 4 },
		{ "a = b = c\n", "a=b = c;", NULL, 2 },
		{ "a = 1\nword\nb = 2\n", "a=1;", "no 'key = value'", 2 },
		{ "= 1\n", "", "no key before '='", 1 },
		{ "\na =\n", "", "no value after '='", 2 },
		{ "\na = # b\n", "", "no value after '='", 2 },
		{ "a = 1\n\nbad = 1\nb = 1\n", "a=1;", "no such key", 3 },
		{ "a = \x1b[2J\n", "", "a control character", 1 },
		{ "a2345678901234567890123456789012 = 1\n", "", "too long", 1 },
		{ "a23456789012345678901234567890 = 1\n", "a23456789012345678901234567890=1;", NULL, 2 },
	};
	const char *why;
	unsigned int line;

	for (size_t i = 0; i < ARRAY_SIZE(in); i++) {
		got[0] = 0;
		why = conf_parse(in[i].text, collect, NULL, &line);
		CU_ASSERT(why ? in[i].why && !strcmp(why, in[i].why) : !in[i].why);
		CU_ASSERT_STRING_EQUAL(got, in[i].got);
		CU_ASSERT_EQUAL(line, in[i].line);
	}
}

static void test_bool(void)
{
	bool b;

	CU_ASSERT(!conf_bool("yes", &b) && b);
	CU_ASSERT(!conf_bool("no", &b) && !b);
	CU_ASSERT(!conf_bool("1", &b) && b);
	CU_ASSERT(!conf_bool("off", &b) && !b);
	CU_ASSERT_EQUAL(conf_bool("Yes!", &b), -EINVAL);
	CU_ASSERT_EQUAL(conf_bool("", &b), -EINVAL);
}

static void test_printable(void)
{
	static const struct { const char *in, *out; } p[] = {
		{ "", "" }, { "gpu-7.rack_2", "gpu-7.rack_2" }, { "a b", "a b" },
		{ "\x1b[2Jx", "\\x1b[2Jx" }, { "a\nb\r", "a\\x0ab\\x0d" }, { "\x7f", "\\x7f" },
		{ "\u2026 \u00e4", "\u2026 \u00e4" },		/* an ellipsis, a letter */
		{ "\xc2\x9b" "2J", "\\xc2\\x9b2J" },			/* CSI as one character */
		{ "\u202egnp", "\\xe2\\x80\\xaegnp" },		/* right to left */
		{ "\u2028", "\\xe2\\x80\\xa8" }, { "\ufeff", "\\xef\\xbb\\xbf" },
		{ "\xff", "\\xff" }, { "\xc3", "\\xc3" }, { "\xe2\x80", "\\xe2\\x80" },
		{ "\xc0\xaf", "\\xc0\\xaf" }, { "\xed\xa0\x80", "\\xed\\xa0\\x80" },
		{ "\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80" }, { "\U0001f600", "\U0001f600" },
	};
	char out[128], longest[8];

	for (size_t i = 0; i < ARRAY_SIZE(p); i++) {
		printable(p[i].in, out, sizeof(out));
		CU_ASSERT_STRING_EQUAL(out, p[i].out);
		/* Never beyond its room, and never half a character. */
		for (size_t n = 1; n < sizeof(longest); n++) {
			memset(longest, '!', sizeof(longest));
			printable(p[i].in, longest, n);
			CU_ASSERT(strlen(longest) < n);
			CU_ASSERT(!strncmp(longest, p[i].out, strlen(longest)));
		}
	}
	printable("ab\u00e4", longest, 4);
	CU_ASSERT_STRING_EQUAL(longest, "ab");
	printable("ab\x01", longest, 6);
	CU_ASSERT_STRING_EQUAL(longest, "ab");
}

int main(void)
{
	static const struct suite_test tests[] = {
		{ "lines", test_conf }, { "yes and no", test_bool },
		{ "printable", test_printable }, { NULL, NULL },
	};

	return suite_main("conf", tests);
}
