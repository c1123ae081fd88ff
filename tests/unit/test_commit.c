// SPDX-License-Identifier: GPL-2.0-only
/* Local members that are given to the kernel: which of them without a device, and which are refused. */
#include <stdlib.h>

#include "userspace/meshd/commit.c"
#include "suite.h"

struct meshd D = { .host = { { 1 } } };
static const struct muuid old_host = { { 2 } }, third_host = { { 3 } };
static struct store_host hosts[] = { { .uuid = { { 1 } } }, { .uuid = { { 3 } } } };
static struct found seen;		/* member 1 */
static struct meshblk_member given[2];	/* to the kernel */
static char why[REASON];

const struct found *gather_find(const struct gather *g, const struct muuid *extent)
{
	return g->nr_found && muuid_equal(&seen.e.uuid, extent) ? &seen : NULL;
}

int local_hold(const struct meshblk_member *m, bool readonly, char *path, size_t size, char *words)
{
	bool here = m->drive.b[0] == 10;

	(void)readonly, (void)words;
	snprintf(path, size, "%s", here ? "/dev/here" : "");
	return 0;
}

int meshblk_volume_set(struct mesh *m, const struct meshblk_volume *v)
{
	(void)m;
	memcpy(given, v->members, v->nr_members * sizeof(*given));
	return 0;
}

void meshblk_volume_free(struct meshblk_volume *v)
{
	u32 i;

	for (i = 0; i < v->nr_segments && v->segments; i++) {
		free(v->segments[i].members);
		free(v->segments[i].offsets);
	}
	free(v->segments);
	free(v->members);
}

void host_words(const struct muuid *uuid, char out[HOST_WORDS])
{
	snprintf(out, HOST_WORDS, "host %u", uuid->b[0]);
}

struct mesh *mesh_open(void) { return malloc(1); }
void mesh_close(struct mesh *m) { free(m); }
const char *mesh_why(const struct mesh *m) { (void)m; return ""; }
int meshblk_volume_get(struct mesh *m, const struct muuid *u, struct meshblk_volume *v)
{ (void)m, (void)u, (void)v; return -ENOENT; }
int meshblk_volume_del(struct mesh *m, const struct muuid *u, bool f) { (void)m, (void)u, (void)f; return 0; }
int meshblk_target_set(struct mesh *m, u32 id, const char *a, u16 p, const struct muuid *u)
{ (void)m, (void)id, (void)a, (void)p, (void)u; return 0; }
int peer_of_member(const struct layout_member *m, struct store_host *h) { (void)m, (void)h; return -ENOENT; }
int peer_extent(const struct store_host *h, const struct muuid *x, struct mgmt_extent *e, char *w)
{ (void)h, (void)x, (void)e, (void)w; return -ENOENT; }
const char *store_words(int err) { (void)err; return ""; }
int store_host_put(struct store_host *h) { (void)h; return 0; }
int store_hosts(struct store_host **h, size_t *n) { *h = NULL; *n = 0; return -ENOMEM; }
enum health volume_health(const struct meshblk_volume *k) { (void)k; return HEALTH_NONE; }
u64 now_ms(void) { return 0; }
void sleep_ms(unsigned int ms) { (void)ms; }
bool stopping(void) { return true; }

/* Member 0 is here; member 1 was of @was, and is seen at @at, or nowhere. Into @given what the kernel gets. */
static int set(u8 level, const struct muuid *was, int at)
{
	struct layout *l = calloc(1, sizeof(*l));
	struct store_volume v = { 0 };
	struct gather g = { .hosts = hosts, .nr_hosts = 2, .found = &seen,
			    .nr_found = at >= 0 };
	int err;

	l->members = 2;
	l->segments = 1;
	l->segment[0] = (struct layout_segment) { .level = level, .data = level == PROT_MIRROR ? 2 : 1, .groups = 1,
						  .refs = 2 };
	for (u32 i = 0; i < 2; i++) {
		l->ref[i].member = i;
		l->member[i] = (struct layout_member) {
			.kind = LAYOUT_KIND_BDEV, .drive = { { 10 + i } }, .extent = { { 20 + i } },
			.target = i ? *was : D.host,
		};
	}
	seen = (struct found) { .e.uuid = { { 21 } }, .host = at };
	why[0] = 0;
	memset(given, 0, sizeof(given));
	err = kernel_set(&v, l, &(struct kernel_set) { .g = &g }, why);
	free(l);
	return err;
}

static void test_moved(void)
{
	/* The drive of the former host that did not survive it. */
	CU_ASSERT(!set(PROT_MIRROR, &old_host, -1));
	CU_ASSERT(!strcmp(given[0].path, "/dev/here"));
	CU_ASSERT(given[1].kind == MESHBLK_KIND_BDEV && !given[1].path[0]);
	/* Without a group nothing is attached without it. */
	CU_ASSERT_EQUAL(set(PROT_LINEAR, &old_host, -1), -EREMOTE);
	CU_ASSERT(strstr(why, "bring it here") && strstr(why, "host 2"));
	/* One that is away, as before. */
	CU_ASSERT(!set(PROT_LINEAR, &D.host, -1));
}

static void test_elsewhere(void)
{
	static const u8 level[] = { PROT_LINEAR, PROT_MIRROR };

	for (int i = 0; i < 2; i++) {
		CU_ASSERT_EQUAL(set(level[i], &D.host, 1), -EREMOTE);
		CU_ASSERT(strstr(why, "attach the volume there") && strstr(why, "host 3"));
		/* It came here. */
		CU_ASSERT(!set(level[i], &third_host, 0));
	}
}

int main(void)
{
	static const struct suite_test tests[] = {
		{ "moved, and one is lost", test_moved },
		{ "seen on another host", test_elsewhere },
		{ NULL, NULL },
	};

	return suite_main("commit", tests);
}
