// SPDX-License-Identifier: GPL-2.0-only
/* Which disks become drives, by command and by themselves: each rule, with all others in favour. */
#include <stdio.h>
#include <string.h>

#include "suite.h"
#include "userspace/agent/export.h"

static struct export_disk d;
static struct export_request r;
static struct export_facts f;
static struct obj_cluster cluster;
static struct obj_host self, former;
static struct obj_drive key;
static char why[OBJ_WORDS];

static struct muuid id(u8 kind, u8 n)
{
	return (struct muuid) { .b = { kind, n } };
}

/* A drive of this host, whole. */
static void whole(void)
{
	memset(&d, 0, sizeof(d));
	memset(&r, 0, sizeof(r));
	memset(&key, 0, sizeof(key));
	d.disk = (struct obj_disk) { .path = "/dev/d", .serial = "S", .wwid = "W", .size = 1 << 30, .lba = 512 };
	d.found = EXPORT_LABEL;
	d.drive = id('d', 1);
	d.owner = id('h', 1);
	d.cluster = id('c', 1);
	d.generation = 3;
	d.known = true;
	strcpy(d.known_wwid, "W");
	strcpy(d.known_serial, "S");
	cluster = (struct obj_cluster) { .plan = { .uuid = id('c', 1), .generation = 3 } };
	self = (struct obj_host) { .plan = { .uuid = id('h', 1), .role = PLAN_STORAGE }, .name = "s1" };
	former = (struct obj_host) { .plan = { .uuid = id('h', 2), .role = PLAN_STORAGE }, .name = "s2" };
	key.plan = (struct plan_drive) { .uuid = id('d', 1), .host = id('h', 1), .wanted = PLAN_IN };
	strcpy(key.serial, "S");
	strcpy(key.wwid, "W");
	key.lba = 512;
	f = (struct export_facts) { .cluster = &cluster, .self = &self, .key = &key, .former = &self,
				    .former_alive = true };
}

static bool answers(enum export_answer want, const char *words)
{
	enum export_answer a = export_verdict(&d, &r, &f, why, sizeof(why));
	bool ok = a == want && strstr(why, words) && !why[0] == (a != EXPORT_REFUSED);

	if (!ok)
		printf("\n  %d, and not %d: \"%s\"\n", (int)a, (int)want, why);
	return ok;
}

#define IS(a, w)	CU_ASSERT(answers(a, w))
#define NO(w)		IS(EXPORT_REFUSED, w)

/* @with: of what loses something, by which flag alone. */
static void flags(bool *with, const char *words)
{
	bool *const all[] = { &r.force, &r.erase_label };

	NO(words);
	for (int i = 0; i < 2; i++) {
		*all[i] = true;
		CU_ASSERT(answers(all[i] == with ? EXPORT_FRESH : EXPORT_REFUSED, all[i] == with ? "" : words));
		*all[i] = false;
	}
}

static void test_content(void)
{
	whole();
	d.found = EXPORT_EMPTY;
	IS(EXPORT_FRESH, "");
	d.found = EXPORT_FOREIGN;
	flags(&r.force, "is not empty. To erase that add --force");
	strcpy(d.what, "has a partition table");
	flags(&r.force, "has a partition table. To");
	d.found = EXPORT_DAMAGED;
	flags(&r.erase_label, "restore-label");
	d.found = EXPORT_STRANGER;
	flags(&r.erase_label, "another cluster");
	d.found = EXPORT_LABEL;
	d.cluster = id('c', 2);
	flags(&r.erase_label, "another cluster");
	whole();
	r.force = r.erase_label = true;
	strcpy(d.what, "it is mounted");
	d.found = EXPORT_USED;
	NO("cannot be exported: it is mounted");
	d.found = EXPORT_UNFIT;
	NO("cannot be exported: it is mounted");
	d.found = 99;
	NO("cannot be exported");
}

static void test_machine(void)
{
	whole();
	d.found = EXPORT_EMPTY;
	d.disk.size = (3 << 20) - 512;
	NO("3 MiB");
	d.disk.size = 3 << 20;
	IS(EXPORT_FRESH, "");
	d.disk.lba = 1024;
	NO("512 or 4096");
	d.disk.lba = 4096;
	IS(EXPORT_FRESH, "");
	d.network = true;
	NO("by a network");
	r.erase_label = true;
	NO("by a network");
	r.force = true;
	IS(EXPORT_FRESH, "");
	/* a drive that is one, too */
	whole();
	d.network = true;
	NO("by a network");
	whole();
	self.plan.role = PLAN_CLIENT;
	NO("client");
	r.force = r.erase_label = true;
	NO("client");
	r.local = key.local = true;
	IS(EXPORT_AGAIN, "");
	whole();
	f.self = NULL;
	NO("try again");
	whole();
	f.cluster = NULL;
	NO("try again");
}

static void test_own(void)
{
	whole();
	IS(EXPORT_AGAIN, "");
	key.plan.wanted = PLAN_OUT;
	IS(EXPORT_AGAIN, "");
	key.plan.wanted = PLAN_DRAINING;
	IS(EXPORT_AGAIN, "");
	/* flags lose nothing of it */
	r.force = r.erase_label = true;
	IS(EXPORT_AGAIN, "");
	whole();
	key.plan.wanted = PLAN_FORGOTTEN;
	flags(&r.erase_label, "forgotten");
	whole();
	strcpy(key.serial, "S2");
	flags(&r.erase_label, "a copy");
	whole();
	strcpy(d.disk.wwid, "W2");
	flags(&r.erase_label, "a copy");
	d.disk.wwid[0] = 0;
	flags(&r.erase_label, "a copy");
	key.wwid[0] = 0;
	IS(EXPORT_AGAIN, "");
	d.disk.lba = 4096;
	flags(&r.erase_label, "of blocks of 512 bytes, and has blocks of 4096");
	d.disk.lba = 512;
	r.local = true;
	NO("an exported one");
	key.local = true;
	IS(EXPORT_AGAIN, "");
	r.local = false;
	NO("a local one");
}

static void test_unknown(void)
{
	whole();
	f.key = NULL;
	flags(&r.erase_label, "cluster recover");
	d.bare = true;
	IS(EXPORT_FRESH, "");
	d.bare = false;
	/* the task itself has written it */
	r.drive = id('d', 1);
	IS(EXPORT_FRESH, "");
	r.drive = id('d', 2);
	NO("cluster recover");
	/* a store that was put back knows less: nothing helps but recover */
	d.generation = 4;
	d.bare = r.erase_label = r.force = true;
	NO("put back");
	whole();
	d.generation = 4;
	NO("put back");
	whole();
	f.key = NULL;
	f.key_refused = true;
	d.bare = r.erase_label = true;
	NO("cannot be read");
}

static void test_move(void)
{
	whole();
	key.plan.host = d.owner = former.plan.uuid;
	f.former = &former;
	NO("has not left it");
	key.plan.wanted = PLAN_DRAINING;
	NO("has not left it");
	r.force = r.erase_label = true;
	NO("has not left it");
	f.former_alive = false;
	NO("host remove s2 --lost");
	f.former = NULL;
	NO("not alive");
	f.former = &former;
	former.plan.removed = true;
	IS(EXPORT_MOVE, "");
	former.plan.removed = false;
	f.former_alive = true;
	key.plan.wanted = PLAN_OUT;
	IS(EXPORT_MOVE, "");
	strcpy(key.serial, "S2");
	r.erase_label = false;
	NO("a copy");
	/* the store decides, and not the label */
	whole();
	d.owner = former.plan.uuid;
	IS(EXPORT_AGAIN, "");
}

static bool takes(void)
{
	struct muuid host = id('h', 1);
	bool is = export_take(&d, f.key, &host, f.cluster, why, sizeof(why));

	CU_ASSERT(!is || !why[0]);
	return is;
}

static void test_take(void)
{
	static const u8 none[] = { EXPORT_EMPTY, EXPORT_FOREIGN, EXPORT_USED, EXPORT_UNFIT };

	whole();
	CU_ASSERT(takes());
	key.plan.wanted = PLAN_DRAINING;
	CU_ASSERT(takes());
	for (size_t i = 0; i < sizeof(none); i++) {
		whole();
		d.found = none[i];
		CU_ASSERT(!takes());
		CU_ASSERT_EQUAL(why[0], 0);
	}
#define NOT(change, words) do { whole(); change; CU_ASSERT(!takes() && strstr(why, words)); } while (0)
	NOT(d.found = EXPORT_DAMAGED, "restore-label");
	NOT(d.found = EXPORT_STRANGER, "another cluster");
	NOT(d.cluster = id('c', 2), "another cluster");
	NOT(f.cluster = NULL, "before the store says");
	NOT(f.key = NULL, "does not know it");
	NOT(d.generation = 4, "cluster recover");
	NOT(key.plan.wanted = PLAN_FORGOTTEN, "forgotten");
	NOT(key.plan.wanted = PLAN_OUT, "was unexported");
	NOT(key.plan.host = id('h', 2), "another host's");
	NOT(d.owner = id('h', 2), "names another host");
	NOT(strcpy(d.disk.wwid, "W2"), "a copy");
	NOT(strcpy(d.disk.serial, ""), "a copy");
	NOT(d.disk.lba = 4096, "blocks of another size");
	NOT(d.network = true, "--force");
}

static void test_alone(void)
{
	struct plan_seen seen = { .cluster = id('c', 1), .generation = 3 };
	struct muuid host = id('h', 1);

#define ALONE()	export_take_alone(&d, &seen, &host, why, sizeof(why))
	whole();
	CU_ASSERT(ALONE() && !why[0]);
	d.found = EXPORT_EMPTY;
	CU_ASSERT(!ALONE() && !why[0]);
	/* without a store the probe does not know whose cluster this is */
	d.found = EXPORT_STRANGER;
	CU_ASSERT(ALONE());
#define NOT_ALONE(change, words) do { whole(); change; CU_ASSERT(!ALONE() && strstr(why, words)); } while (0)
	NOT_ALONE(d.cluster = id('c', 2), "cluster");
	NOT_ALONE(d.generation = 4, "later generation");
	NOT_ALONE(d.owner = id('h', 2), "another host");
	NOT_ALONE(d.left = true, "unexported");
	NOT_ALONE(d.network = true, "network");
	NOT_ALONE(d.known = false, "no file of the device");
	NOT_ALONE(strcpy(d.disk.wwid, "W2"), "a copy");
	NOT_ALONE(strcpy(d.disk.serial, "S2"), "a copy");
	NOT_ALONE(d.disk.wwid[0] = 0, "a copy");
	/* One that says neither always says so. */
	whole();
	d.disk.wwid[0] = d.disk.serial[0] = d.known_wwid[0] = d.known_serial[0] = 0;
	CU_ASSERT(ALONE());
	/* which store this host has followed is not known; nor is the cluster of the label */
	memset(&seen.cluster, 0, sizeof(seen.cluster));
	NOT_ALONE(memset(&d.cluster, 0, sizeof(d.cluster)), "cluster");
}

int main(void)
{
	static const struct suite_test tests[] = {
		{ "content", test_content }, { "machine", test_machine }, { "own", test_own },
		{ "unknown", test_unknown }, { "move", test_move }, { "take", test_take },
		{ "alone", test_alone }, { NULL, NULL },
	};

	return suite_main("export judge", tests);
}
