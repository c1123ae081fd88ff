// SPDX-License-Identifier: GPL-2.0-only
/* Which of several devices with one label is served. */
#include <string.h>
#include <linux/kernel.h>

#include "userspace/format/twin.h"
#include "suite.h"

static struct twin_id id(const char *serial, const char *wwid)
{
	struct twin_id i = { .model = "M" };

	strcpy(i.serial, serial);
	strcpy(i.wwid, wwid);
	return i;
}

static const struct twin_id mute;

static void test_match(void)
{
	struct twin_id a = id("S1", ""), b = id("S2", ""), w = id("S1", "eui.1"), x = id("S1", "eui.2");

	CU_ASSERT_EQUAL(twin_match(&a, &a), TWIN_SAME);
	CU_ASSERT_EQUAL(twin_match(&a, &b), TWIN_DIFFERS);
	CU_ASSERT_EQUAL(twin_match(&w, &w), TWIN_SAME);
	/* One drive with two namespaces, or makers that repeat serial numbers. */
	CU_ASSERT_EQUAL(twin_match(&w, &x), TWIN_DIFFERS);
	CU_ASSERT_EQUAL(twin_match(&a, &w), TWIN_SAME);
	CU_ASSERT_EQUAL(twin_match(&mute, &a), TWIN_UNKNOWN);
	CU_ASSERT_EQUAL(twin_match(&mute, &mute), TWIN_UNKNOWN);
	strcpy(b.serial, "S1");
	strcpy(b.model, "N");
	CU_ASSERT_EQUAL(twin_match(&a, &b), TWIN_DIFFERS);
}

static void test_pick(void)
{
	struct twin t[2] = { { .id = id("S1", "") }, { .id = id("S2", "") } };
	struct twin_id s1 = id("S1", ""), s2 = id("S2", ""), s3 = id("S3", "");

	/* Alone. */
	CU_ASSERT_EQUAL(twin_pick(t, 1, NULL), 0);
	CU_ASSERT_EQUAL(twin_pick(t, 1, &s1), 0);
	CU_ASSERT_EQUAL(twin_pick(t, 1, &mute), 0);
	CU_ASSERT_EQUAL(twin_pick(t, 1, &s2), -1);	/* a copy that came first */
	/* Two. */
	CU_ASSERT_EQUAL(twin_pick(t, 2, NULL), -1);
	CU_ASSERT_EQUAL(twin_pick(t, 2, &mute), -1);
	CU_ASSERT_EQUAL(twin_pick(t, 2, &s1), 0);
	CU_ASSERT_EQUAL(twin_pick(t, 2, &s2), 1);
	CU_ASSERT_EQUAL(twin_pick(t, 2, &s3), -1);
	t[1].id = s1;
	CU_ASSERT_EQUAL(twin_pick(t, 2, &s1), -1);	/* both claim to be it */
	/* What is open by clients is not swapped, whatever was noted. */
	t[1].id = s2;
	t[1].served = true;
	CU_ASSERT_EQUAL(twin_pick(t, 2, &s1), 1);
	CU_ASSERT_EQUAL(twin_pick(t, 2, NULL), 1);
	t[0].served = true;
	CU_ASSERT_EQUAL(twin_pick(t, 2, &s1), -1);
}

int main(void)
{
	static const struct suite_test tests[] = {
		{ "match", test_match },
		{ "pick", test_pick },
		{ NULL, NULL },
	};

	return suite_main("twin", tests);
}
