// SPDX-License-Identifier: GPL-2.0-only
/* Which machine a state folder belongs to: all combinations of what is noted and seen. */
#include <errno.h>
#include <string.h>
#include <linux/kernel.h>

#include "userspace/format/machine.h"
#include "suite.h"

/* A value of one kind: 0 unknown, else one of two. */
static struct muuid value(int n, int kind)
{
	struct muuid u = { { 0 } };

	if (n)
		u.b[0] = 16 * kind + n;
	return u;
}

static struct machine machine(int os, int board)
{
	return (struct machine) { value(os, 1), value(board, 2) };
}

static void test_judge(void)
{
	struct machine noted, now, merged;
	enum machine_verdict v;
	int n[4], differs, learns, at;

	for (at = 0; at < 81; at++) {
		n[0] = at % 3, n[1] = at / 3 % 3, n[2] = at / 9 % 3, n[3] = at / 27;
		noted = machine(n[0], n[1]);
		now = machine(n[2], n[3]);
		differs = (n[0] && n[2] && n[0] != n[2]) + (n[1] && n[3] && n[1] != n[3]);
		learns = (!n[0] && n[2]) + (!n[1] && n[3]);
		v = machine_judge(&noted, &now);
		CU_ASSERT_EQUAL(v, differs ? MACHINE_OTHER : learns ? MACHINE_LEARN : MACHINE_SAME);
		if (differs)
			continue;
		/* What was learnt is never learnt twice, and nothing noted is lost. */
		merged = machine_merge(&noted, &now);
		CU_ASSERT_EQUAL(machine_judge(&merged, &now), MACHINE_SAME);
		CU_ASSERT_NOT_EQUAL(machine_judge(&merged, &noted), MACHINE_OTHER);
		CU_ASSERT(muuid_equal(&merged.os, n[0] ? &noted.os : &now.os));
		CU_ASSERT(muuid_equal(&merged.board, n[1] ? &noted.board : &now.board));
	}
}

static void test_uuid(void)
{
	static const struct { const char *text; bool known; } in[] = {
		{ "4c4c4544-0033-4d10-8051-b4c04f564432", true },
		{ "4C4C4544-0033-4D10-8051-B4C04F564432", true },
		{ "00000000-0000-0000-0000-000000000000", false },
		{ "ffffffff-ffff-ffff-ffff-ffffffffffff", false },
		{ "FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF", false },
		{ "00000000-0000-0000-0000-000000000001", true },
		{ "ffffffff-ffff-ffff-ffff-fffffffffffe", true },
		{ "Not Settable", false }, { "", false }, { "4c4c4544-0033-4d10-8051-b4c04f56443", false },
	};
	struct muuid u;

	for (size_t i = 0; i < ARRAY_SIZE(in); i++) {
		u = machine_uuid(in[i].text);
		CU_ASSERT_EQUAL(!muuid_null(&u), in[i].known);
	}
}

static void test_text(void)
{
	struct machine m, back;
	char text[MACHINE_TEXT], bad[MACHINE_TEXT + 1];

	for (int at = 0; at < 9; at++) {
		m = machine(at % 3, at / 3);
		machine_print(&m, text);
		CU_ASSERT_EQUAL(machine_parse(text, &back), 0);
		CU_ASSERT(!memcmp(&m, &back, sizeof(m)));
	}
	for (size_t i = 0; i < strlen(text); i++) {
		memcpy(bad, text, sizeof(text));
		bad[i] = 'x';
		CU_ASSERT_EQUAL(machine_parse(bad, &back), -EINVAL);
		bad[i] = 0;
		CU_ASSERT_EQUAL(machine_parse(bad, &back), -EINVAL);
	}
	snprintf(bad, sizeof(bad), "%sx", text);
	CU_ASSERT_EQUAL(machine_parse(bad, &back), -EINVAL);
}

int main(void)
{
	static const struct suite_test tests[] = {
		{ "same machine", test_judge }, { "known or not", test_uuid },
		{ "text", test_text }, { NULL, NULL },
	};

	return suite_main("machine", tests);
}
