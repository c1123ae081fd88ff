// SPDX-License-Identifier: GPL-2.0-only
/* Notes of rosters: what was noted last, and nothing that a copy or damage makes of it. */
#define _GNU_SOURCE
#include <linux/kernel.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/meshd/durable.c"
#include "userspace/meshd/noted.c"
#include "suite.h"

#define RECORD	(48 + MESHBLK_ROSTER_BYTES + 8)

struct meshd D;
static char folder[] = "/tmp/meshd-noted-XXXXXX";

#define QUIET(name) void name(const char *fmt, ...) { (void)fmt; }
QUIET(log_error) QUIET(log_warn) QUIET(log_debug)

static struct meshblk_note note_of(u8 volume, u32 place, u8 content)
{
	struct meshblk_note n = { .place = place, .any = true };

	n.volume.b[0] = volume;
	memset(n.roster, content, sizeof(n.roster));
	n.roster[sizeof(n.roster) - 1] = 1;
	return n;
}

static void put(u8 volume, u32 place, u8 content)
{
	struct meshblk_note n = note_of(volume, place, content);

	CU_ASSERT_EQUAL(noted_put(&n), 0);
}

/* What noted_get() returns; and where that is 0, the content, 0: none is noted. */
static int get(u8 volume, u32 place, u8 *content)
{
	struct meshblk_note n = note_of(volume, place, 0), like;
	int err = noted_get(&n);

	like = note_of(volume, place, n.roster[0]);
	*content = n.any ? n.roster[0] : 0;
	CU_ASSERT(!n.any || !memcmp(n.roster, like.roster, sizeof(n.roster)));
	CU_ASSERT(!n.any || !err);
	return err;
}

static void is(u8 volume, u32 place, u8 content)
{
	u8 has;

	CU_ASSERT_EQUAL(get(volume, place, &has), 0);
	CU_ASSERT_EQUAL(has, content);
}

static void is_none(void)
{
	u8 has;

	CU_ASSERT_EQUAL(get(1, 0, &has), -ESTALE);
	CU_ASSERT_EQUAL(has, 0);
}

static char *path(u8 volume, u32 place)
{
	static char text[2][320];
	static int n;
	struct meshblk_note note = note_of(volume, place, 0);
	char *at = text[n++ % 2];

	path_of(&note, at, sizeof(text[0]));
	return at;
}

/* All of the file's bytes. Return: how many. */
static size_t bytes(char *out)
{
	FILE *f = fopen(path(1, 0), "re");
	size_t n = f ? fread(out, 1, 2 * RECORD, f) : 0;

	if (f)
		fclose(f);
	return n;
}

/* As cp does: over what is there, so that the file stays the same one. */
static void over(const char *to, const char *in, size_t n)
{
	FILE *f = fopen(to, "we");

	CU_ASSERT_FATAL(!!f);
	CU_ASSERT(fwrite(in, 1, n, f) == n && !fclose(f));
}

static void test_last(void)
{
	is(1, 0, 0);
	put(1, 0, 10);
	is(1, 0, 10);
	put(1, 0, 11);
	put(1, 2, 12);
	put(2, 0, 13);
	is(1, 0, 11);
	is(1, 2, 12);
	is(2, 0, 13);
	is(2, 2, 0);
}

static void test_copy(void)
{
	char old[2 * RECORD], new[2 * RECORD], to[340];
	size_t n, k;

	put(1, 0, 20);
	n = bytes(old);
	CU_ASSERT_EQUAL(n, RECORD);
	put(1, 0, 21);
	k = bytes(new);
	over(path(1, 0), old, n);	/* an earlier one */
	is_none();
	put(1, 0, 22);
	is(1, 0, 22);
	/* A whole folder that is put back has other files. */
	n = bytes(new);
	snprintf(to, sizeof(to), "%s.copy", path(1, 0));
	over(to, new, k);
	CU_ASSERT_EQUAL(rename(to, path(1, 0)), 0);
	is_none();
	put(1, 0, 23);
	n = bytes(new);
	over(to, new, n);
	CU_ASSERT_EQUAL(rename(to, path(1, 0)), 0);
	is_none();
	put(1, 0, 24);
	is(1, 0, 24);
}

static void test_damage(void)
{
	char whole[2 * RECORD], bad[2 * RECORD];
	size_t n, i;

	put(1, 0, 30);
	n = bytes(whole);
	for (i = 0; i < n; i++) {
		memcpy(bad, whole, n);
		bad[i] ^= 1 << i % 8;
		over(path(1, 0), bad, n);
		is_none();
	}
	for (i = 0; i < n; i += 37) {
		over(path(1, 0), whole, i);
		is_none();
	}
	over(path(1, 0), whole, n - 1);
	is_none();
	over(path(1, 0), whole, n);
	is(1, 0, 30);
}

/* The file of another group, or of another volume. */
static void test_other(void)
{
	u8 has;

	put(1, 0, 40);
	CU_ASSERT_EQUAL(rename(path(1, 0), path(1, 2)), 0);
	CU_ASSERT_EQUAL(get(1, 2, &has), -ESTALE);
	put(1, 0, 41);
	CU_ASSERT_EQUAL(rename(path(1, 0), path(2, 0)), 0);
	CU_ASSERT_EQUAL(get(2, 0, &has), -ESTALE);
	is(1, 0, 0);
}

static void test_forget(void)
{
	struct muuid one = { .b = { 1 } }, none = { .b = { 9 } };

	put(1, 0, 50);
	put(1, 12, 51);
	put(2, 0, 52);
	noted_forget(&none);
	is(1, 12, 51);
	noted_forget(&one);
	is(1, 0, 0);
	is(1, 12, 0);
	is(2, 0, 52);
}

/* What cannot be written leaves the last one, or none is said to be there. */
static void test_unwritten(void)
{
	struct meshblk_note n = note_of(1, 0, 61);
	char to[340];

	put(1, 0, 60);
	snprintf(to, sizeof(to), "%s.new", path(1, 0));
	CU_ASSERT_EQUAL(mkdir(to, 0700), 0);
	CU_ASSERT(noted_put(&n) < 0);
	is(1, 0, 60);
	CU_ASSERT_EQUAL(rmdir(to), 0);
	put(1, 0, 61);
	is(1, 0, 61);
}

int main(void)
{
	static const struct suite_test tests[] = {
		{ "the last one", test_last },
		{ "copies", test_copy },
		{ "damage", test_damage },
		{ "of another", test_other },
		{ "forgotten", test_forget },
		{ "not written", test_unwritten },
		{ NULL, NULL },
	};
	char run[300];
	int err;

	D.state = mkdtemp(folder);
	err = suite_main("notes of rosters", tests);
	snprintf(run, sizeof(run), "rm -rf %s", folder);
	return system(run) ? 2 : err;
}
