// SPDX-License-Identifier: GPL-2.0-only
/* Which extents nobody claims: what is freed without an option is nobody's for sure. */
#include <CUnit/Basic.h>

#include "volume_rig.h"
#include "suite.h"

#include "userspace/meshd/gather.c"
#include "userspace/meshd/orphan.c"

static const struct muuid nobody;
static char why[CLAIM_WHY];

const char *arg_str(const struct req *r, const char *key)
{
	(void)r;
	(void)key;
	return "";
}

bool arg_bool(const struct req *r, const char *key)
{
	(void)r;
	(void)key;
	return false;
}

static int says(const char *fmt)
{
	snprintf(why, sizeof(why), "%s", fmt);
	return -1;
}

int req_fail(struct req *r, const char *fmt, ...)
{
	(void)r;
	return says(fmt);
}

int req_usage(struct req *r, const char *fmt, ...)
{
	(void)r;
	return says(fmt);
}

json_t *req_destroys(struct req *r, const char *what, const char *name)
{
	(void)r;
	(void)what;
	(void)name;
	return NULL;
}

/* What is thought of extent @i, with all drives exported. */
static enum claim claim(u32 i)
{
	struct survey s = { 0 };
	struct gather g;
	enum claim c;
	bool fresh;
	u32 k;

	CU_ASSERT_FATAL(!gather(&g, &vol, false));
	for (k = 0; k < EXTENTS; k++)
		if (at[k].host < HOSTS)
			umap_put(&s.drives, &at[k].e.drive, &fresh);
	why[0] = 0;
	c = claim_of(&s, &g, &at[i].e, why);
	umap_free(&s.drives);
	gather_free(&g);
	return c;
}

/* Extents of version 0, and no record anywhere. */
static void unrecorded(void)
{
	u32 i;

	rig_new(2);
	for (i = 0; i < EXTENTS; i++) {
		free(at[i].record);
		at[i].record = NULL;
		at[i].e.version = at[i].e.commit = 0;
	}
	at[2].e.length = 0;
}

static void test_create(void)
{
	unrecorded();
	CU_ASSERT(claim(0) == CLAIM_UNKNOWN && has(why, "just ending"));
	at[1].e.ready = false;
	CU_ASSERT(claim(1) == CLAIM_UNKNOWN && has(why, "being zeroed"));
	/* Small ones are ready before the others are. */
	CU_ASSERT(claim(0) == CLAIM_UNKNOWN);
}

/* The third extent is an extend's: by whoever holds the volume, or it was left. */
static void test_extend(void)
{
	struct layout *l = malloc(sizeof(*l));

	rig_new(2);
	CU_ASSERT(claim(0) == CLAIM_HELD && claim(2) == CLAIM_NONE && has(why, "an extend that did not"));
	rig_layout(l, 2, 1, "data");
	rig_record(1, l, (struct muuid) { { 12 } });
	CU_ASSERT(claim(2) == CLAIM_UNKNOWN && has(why, "may be extending"));
	rig_record(1, l, D.host);
	CU_ASSERT(claim(2) == CLAIM_NONE);
	rig_record(1, l, nobody);
	at[2].e.ready = false;
	CU_ASSERT(claim(2) == CLAIM_UNKNOWN);
	free(l);
}

/* One extent is not on its drive any more: the others are all that is left. */
static void test_in_part(void)
{
	rig_new(2);
	at[1].e.length = 0;
	CU_ASSERT(claim(0) == CLAIM_UNKNOWN && has(why, "in part"));
	at[1].host = HOSTS;
	CU_ASSERT(claim(0) == CLAIM_UNKNOWN && has(why, "away"));
}

int main(void)
{
	static const struct suite_test tests[] = {
		{ "a create", test_create },
		{ "an extend", test_extend },
		{ "deleted in part", test_in_part },
		{ NULL, NULL },
	};
	int err = suite_main("orphan", tests);

	rig_end();
	return err;
}
