// SPDX-License-Identifier: GPL-2.0-only
/* Which extents are orphans: three of one volume, on three drives of one host. */
#define _GNU_SOURCE
#include <linux/kernel.h>
#include <stdarg.h>

#include "userspace/format/truth.h"

static struct truth_pick picked;

static struct truth_pick test_pick(const struct truth *t)
{
	(void)t;
	return picked;
}

#define truth_pick(t)	test_pick(t)
#include "userspace/meshd/orphan.c"
#undef truth_pick
#include "suite.h"

struct meshd D = { .stop = -1 };
static const struct muuid vol = { { 3 } };
static struct mgmt_extent ext[3];
static struct mgmt_drive drive[3];
static bool there[3];			/* the extents, on their drives */
static struct layout l;
static struct found f;

/* The rest of meshd */

int store_hosts(struct store_host **out, size_t *n) { *out = NULL; *n = 0; return 0; }
int store_volumes(struct store_volume **out, size_t *n) { *out = NULL; *n = 0; return 0; }
int store_intents(struct store_intent **out, size_t *n) { *out = NULL; *n = 0; return 0; }

int store_volume_get(const struct muuid *u, struct store_volume *v, struct layout *out)
{
	(void)u, (void)v, (void)out;
	return -ENOENT;
}

int peer_call(const struct store_host *h, const struct mgmt_req *q, json_t **data, char *why)
{
	json_t *list = json_array();

	(void)h, (void)why;
	for (int i = 0; i < 3; i++) {
		if (q->op == MGMT_DRIVES)
			json_array_append_new(list, mgmt_drive_pack(&drive[i]));
		else if (there[i])
			json_array_append_new(list, mgmt_extent_pack(&ext[i]));
	}
	*data = json_object();
	json_object_set_new(*data, q->op == MGMT_DRIVES ? "drives" : "extents", list);
	return 0;
}

void peers_each(size_t n, void (*fn)(void *arg, size_t i), void *arg)
{
	for (size_t i = 0; i < n; i++)
		fn(arg, i);
}

int gather(struct gather *g, const struct muuid *volume, bool greet)
{
	(void)volume, (void)greet;
	memset(g, 0, sizeof(*g));
	return 0;
}

void gather_free(struct gather *g) { (void)g; }

const struct found *gather_find(const struct gather *g, const struct muuid *extent)
{
	(void)g;
	for (int i = 0; i < 3; i++)
		if (there[i] && muuid_equal(&ext[i].uuid, extent))
			return &f;
	return NULL;
}

int req_fail(struct req *r, const char *fmt, ...) { (void)r, (void)fmt; return -1; }
int req_usage(struct req *r, const char *fmt, ...) { (void)r, (void)fmt; return -1; }
bool req_cancelled(const struct req *r) { (void)r; return false; }
const char *arg_str(const struct req *r, const char *key) { (void)r, (void)key; return ""; }
bool arg_bool(const struct req *r, const char *key) { (void)r, (void)key; return false; }

json_t *req_destroys(struct req *r, const char *what, const char *name)
{
	(void)r, (void)what, (void)name;
	return NULL;
}

static void begin(u64 version)
{
	memset(&l, 0, sizeof(l));
	l.volume = vol;
	strcpy(l.name, "v");
	l.members = 3;
	for (u8 i = 0; i < 3; i++) {
		there[i] = true;
		drive[i] = (struct mgmt_drive) { .uuid = { { 5, i } }, .state = "up" };
		ext[i] = (struct mgmt_extent) { .uuid = { { 4, i } }, .drive = drive[i].uuid, .ready = true,
						.volume = vol, .version = version };
		l.member[i] = (struct layout_member) { .drive = drive[i].uuid, .extent = ext[i].uuid };
	}
}

static char why[CLAIM_WHY];

static enum claim verdict(void)
{
	struct survey s;
	struct judge j = { .s = &s };
	enum claim is;

	CU_ASSERT_EQUAL_FATAL(survey(&s), 0);
	is = judge(&j, &ext[0], why);
	judge_end(&j);
	survey_free(&s);
	return is;
}

/* Another host is making it, which takes hours: its extents are zeroed one after another. */
static void test_made(void)
{
	begin(0);
	picked = (struct truth_pick) { .layout = NULL };
	ext[2].ready = false;
	CU_ASSERT_EQUAL(verdict(), CLAIM_UNKNOWN);
	ext[0].ready = false;
	CU_ASSERT_EQUAL(verdict(), CLAIM_UNKNOWN);
	ext[0].ready = ext[2].ready = true;
	CU_ASSERT_EQUAL(verdict(), CLAIM_NONE);
	/* What is zeroed for other volumes is no reason. */
	ext[2].ready = false;
	ext[2].volume.b[1] = 1;
	CU_ASSERT_EQUAL(verdict(), CLAIM_NONE);
}

/* One extent that is gone does not make the others free room. */
static void test_part(void)
{
	begin(1);
	picked = (struct truth_pick) { .layout = &l };
	CU_ASSERT_EQUAL(verdict(), CLAIM_HELD);
	there[1] = false;
	CU_ASSERT_EQUAL(verdict(), CLAIM_UNKNOWN);
	CU_ASSERT_PTR_NOT_NULL(strstr(why, "was deleted in part"));
	strcpy(drive[1].state, "refused");	/* there, and nobody looks into it */
	CU_ASSERT_EQUAL(verdict(), CLAIM_UNKNOWN);
	CU_ASSERT_PTR_NOT_NULL(strstr(why, "on a drive that is away"));
	picked = (struct truth_pick) { .layout = NULL };
	CU_ASSERT_EQUAL(verdict(), CLAIM_NONE);
}

int main(void)
{
	static const struct suite_test tests[] = {
		{ "being made", test_made },
		{ "in part", test_part },
		{ NULL, NULL },
	};

	return suite_main("orphan", tests);
}
