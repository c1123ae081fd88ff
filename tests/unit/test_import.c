// SPDX-License-Identifier: GPL-2.0-only
/* volume import takes what counts on the drives, when all of it is there. */
#include <CUnit/Basic.h>

#include "volume_rig.h"
#include "req_rig.h"
#include "suite.h"

#include "userspace/meshd/gather.c"
#include "userspace/meshd/import.c"

static const struct muuid no_host;
static struct req r;
static bool stale;
static const char *as, *what;

const char *arg_str(const struct req *q, const char *key)
{
	(void)q;
	return !strcmp(key, "as") ? as : what;
}

bool arg_bool(const struct req *q, const char *key)
{
	(void)q;
	return !strcmp(key, "stale") && stale;
}

void kernel_device(const struct muuid *uuid, char *out, size_t size)
{
	(void)uuid;
	snprintf(out, size, "%s", kernel.there ? "/dev/mesh0" : "");
}

void kernel_keep(struct store_volume *v) { (void)v; }
int volume_result(struct req *q, const struct muuid *uuid) { (void)q, (void)uuid; return 0; }

/* Two members on the drives, and a store that knows nothing. */
static void begin(void)
{
	rig_new(2);
	store_volume_erase(&vol);
	stale = false;
	as = "";
	what = "data";
}

static int import(void)
{
	r = (struct req) { 0 };
	return cmd_volume_import(&r);
}

static bool known(u64 version, const char *name)
{
	struct layout *l = malloc(sizeof(*l));
	struct store_volume v;
	bool is = !store_volume_get(&vol, &v, l) && v.version == version && l->version == version &&
		  v.state == STORE_LIVE && v.attached == kernel.there && !strcmp(v.name, name);

	free(l);
	return is;
}

static bool refuses(const char *words)
{
	struct store_volume v;

	return import() == -1 && has(r.error, words) && store_volume_get(&vol, &v, NULL) == -ENOENT;
}

static void test_plain(void)
{
	begin();
	CU_ASSERT(!import() && known(1, "data"));
	begin();
	as = "mine";
	kernel.there = true;
	CU_ASSERT(!import() && known(1, "mine"));
	begin();
	what = "01000000-0000-0000-0000-000000000000";
	CU_ASSERT(!import() && known(1, "data"));
	begin();
	what = "other";
	CU_ASSERT(refuses("no volume other"));
}

/* Its last version may be on the drive that is not there. */
static void test_away(void)
{
	begin();
	at[1].host = HOSTS;
	CU_ASSERT(refuses("only half there") && !has(r.error, "LOST"));
	stale = true;
	CU_ASSERT(!import() && known(1, "data"));
}

/* Of a mirror the other copies may be newer, which no error says once it goes on. */
static void test_away_mirror(void)
{
	struct layout *l = malloc(sizeof(*l));

	begin();
	rig_layout(l, 2, 1, "data");
	l->salt = 5;
	l->segments = 1;
	l->size = 1 << 20;
	l->segment[0] = (struct layout_segment) {
		.length = 1 << 20, .level = PROT_MIRROR, .data = 2, .groups = 1, .strip = 65536, .refs = 2,
	};
	for (u32 i = 0; i < 2; i++) {
		l->ref[i].offset = layout_data_at(&l->segment[0], 512);
		l->member[i].size = l->ref[i].offset + (1 << 20);
	}
	rig_record(0, l, no_host);
	at[1].host = HOSTS;
	CU_ASSERT(refuses("only half there") && has(r.error, "LOST when they return"));
	free(l);
}

/* --stale is about what is away: which of a drive and its copy counts is not known. */
static void test_copied(void)
{
	begin();
	at[1].copied = true;
	at[1].owner = no_host;
	CU_ASSERT(refuses("one has a copy"));
	stale = true;
	CU_ASSERT(refuses("one has a copy"));
}

/* A change that is half way: what counts is the version before, and not the highest. */
static void test_half_way(void)
{
	struct layout *l = malloc(sizeof(*l));

	begin();
	rig_layout(l, 3, 2, "data");
	rig_record(0, l, no_host);
	CU_ASSERT(!import() && known(1, "data"));
	free(l);
}

int main(void)
{
	static const struct suite_test tests[] = {
		{ "plain", test_plain },
		{ "away", test_away },
		{ "away, of a mirror", test_away_mirror },
		{ "copied", test_copied },
		{ "half way", test_half_way },
		{ NULL, NULL },
	};
	int err = suite_main("import", tests);

	rig_end();
	return err;
}
