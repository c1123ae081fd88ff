// SPDX-License-Identifier: GPL-2.0-only
/* Whether a change of our own is undone without an old member, and how far an undo has got. */
#include <string.h>
#include <linux/kernel.h>

#include "userspace/format/truth.h"
#include "suite.h"

static const struct muuid me = { { 3, 1 } }, other = { { 3, 2 } }, no_host;
static struct layout old, next, back;	/* versions 1, 2 and, of the content of 1, 3 */
static struct truth_label label[2];
static const struct layout *const record[] = { &old, &next, &back };
static struct truth t;

static struct muuid extent(u8 n)
{
	return (struct muuid) { { 2, n } };
}

static void layout(struct layout *l, u8 version, u32 members)
{
	memset(l, 0, sizeof(*l));
	l->volume = (struct muuid) { { 1 } };
	l->version = l->commit = version;
	l->members = members;
	for (u32 i = 0; i < members; i++)
		l->member[i].extent = extent(i);
}

/* Two old members that this host holds, at these versions; 0: it is not seen. */
static void begin(u8 v0, u8 v1)
{
	layout(&old, 1, 2);
	layout(&next, 2, 3);
	layout(&back, 3, 2);
	t = (struct truth) { .label = label, .record = record, .records = 3 };
	for (u8 i = 0; i < 2; i++) {
		u8 v = i ? v1 : v0;

		if (v)
			label[t.labels++] = (struct truth_label) {
				.extent = extent(i), .holder = me, .version = v, .commit = v, .ready = true,
			};
	}
}

static enum truth_undo is(void)
{
	return truth_undo(&t, &old, &next, &me);
}

/* It is lost, and its group can do without it: a change that names it has it as late. */
static void test_late(void)
{
	begin(2, 0);
	CU_ASSERT_EQUAL(is(), UNDO_NEVER);
	next.member[1].late = true;
	CU_ASSERT_EQUAL(is(), UNDO_FREE);
	/* Another host may have used the change, or holds it. */
	label[0].holder = no_host;
	CU_ASSERT_EQUAL(is(), UNDO_USED);
	label[0].holder = other;
	CU_ASSERT_EQUAL(is(), UNDO_HELD);
	/* No host has used it where the one that is left is at the version before. */
	begin(1, 0);
	next.member[1].late = true;
	label[0].holder = no_host;
	CU_ASSERT_EQUAL(is(), UNDO_FREE);
	label[0].commit = 9;
	CU_ASSERT_EQUAL(is(), UNDO_NEVER);
}

/* Of those that are not late one is seen at least. */
static void test_none_left(void)
{
	begin(2, 2);
	next.member[0].late = next.member[1].late = true;
	CU_ASSERT_EQUAL(is(), UNDO_NEVER);
	t.labels = 0;
	CU_ASSERT_EQUAL(is(), UNDO_NEVER);
	next.member[0].late = false;
	begin(2, 2);
	CU_ASSERT_EQUAL(is(), UNDO_FREE);
}

static void test_half_way(void)
{
	struct muuid x[] = { extent(0), extent(1), extent(2) };

	begin(3, 2);
	CU_ASSERT(truth_undone(&t, &x[0], &old, &next));
	/* The change itself; no label; other content; a record that was not found. */
	CU_ASSERT(!truth_undone(&t, &x[1], &old, &next));
	CU_ASSERT(!truth_undone(&t, &x[2], &old, &next));
	layout(&back, 3, 3);
	CU_ASSERT(!truth_undone(&t, &x[0], &old, &next));
	begin(3, 2);
	t.records = 2;
	CU_ASSERT(!truth_undone(&t, &x[0], &old, &next));
}

int main(void)
{
	static const struct suite_test tests[] = {
		{ "without an old member", test_late },
		{ "without all of them", test_none_left },
		{ "undone half way", test_half_way },
		{ NULL, NULL },
	};

	return suite_main("truth_undo", tests);
}
