// SPDX-License-Identifier: GPL-2.0-only
/* The hash table from UUIDs to numbers. */
#include <string.h>
#include <linux/kernel.h>

#include "userspace/format/umap.h"
#include "suite.h"

static struct muuid uuid(u32 n)
{
	struct muuid u = { { 0 } };

	memcpy(u.b + 4, &n, sizeof(n));
	return u;
}

static void test_many(void)
{
	struct umap m = { 0 };
	struct muuid u = uuid(1);
	bool fresh;
	u32 i, *at;

	CU_ASSERT_PTR_NULL(umap_get(&m, &u));
	for (i = 0; i < 20000; i++) {
		u = uuid(i * 64);
		at = umap_put(&m, &u, &fresh);
		CU_ASSERT(at && fresh && !*at);
		*at = i + 1;
	}
	CU_ASSERT_EQUAL(m.n, 20000);
	for (i = 0; i < 20000; i++) {
		u = uuid(i * 64);
		at = umap_get(&m, &u);
		CU_ASSERT(at && *at == i + 1);
		at = umap_put(&m, &u, &fresh);
		CU_ASSERT(at && !fresh && *at == i + 1);
		u = uuid(i * 64 + 1);
		CU_ASSERT_PTR_NULL(umap_get(&m, &u));
	}
	umap_free(&m);
	CU_ASSERT_PTR_NULL(umap_get(&m, &u));
}

int main(void)
{
	static const struct suite_test tests[] = {
		{ "many", test_many },
		{ NULL, NULL },
	};

	return suite_main("umap", tests);
}
