// SPDX-License-Identifier: GPL-2.0-only
/* What meshd says when it does not start: never nothing. */
#define _GNU_SOURCE
#include "userspace/machine/line.c"
#include "userspace/meshd/util.c"
#include "userspace/meshd/home.c"
#define main meshd_main
#include "userspace/meshd/main.c"
#undef main
#include "req_rig.h"
#include "suite.h"

static char folder[] = "/tmp/meshd-start-XXXXXX";

/* The rest of meshd */

int state_write(const char *name, const char *text) { (void)name, (void)text; return 0; }
int identity_renew(void) { return 0; }
int identity_load(void) { return 0; }
int roles_start(void) { return 0; }
bool roles_in_use(void) { return false; }
void store_close(void) { }
const char *hook_wrong(const char *path) { (void)path; return NULL; }
int control_listen(const char *p) { (void)p; return -EIO; }
void control_accept(int fd) { (void)fd; }
void req_note(struct req *r, const char *fmt, ...) { (void)r, (void)fmt; }
const char *arg_str(const struct req *r, const char *key) { (void)r, (void)key; return ""; }

/* What @fn has on standard error. */
static const char *words_of(int (*fn)(void), int *err)
{
	static char said[1024];
	char path[64];
	int was = dup(2), fd;
	ssize_t n;

	snprintf(path, sizeof(path), "%s/said", folder);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	dup2(fd, 2);
	*err = fn();
	dup2(was, 2);
	n = pread(fd, said, sizeof(said) - 1, 0);
	said[n < 0 ? 0 : n] = 0;
	close(was);
	close(fd);
	unlink(path);
	return said;
}

/* @n bytes of @c, and @text behind them; @c 0: a folder. */
static const char *file(const char *name, char c, size_t n, const char *text)
{
	static char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	remove(path);
	if (!c) {
		CU_ASSERT_EQUAL(mkdir(path, 0700), 0);
		return path;
	}
	f = fopen(path, "w");
	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	while (n--)
		fputc(c, f);
	fputs(text, f);
	fclose(f);
	return path;
}

static void test_machine(void)
{
	static const struct { char c; const char *text, *says; int err; } in[] = {
		{ 'x', "", "machine is damaged: remove it", -ENODATA },
		{ 'x', "\n", "machine is damaged: remove it", -EINVAL },
		{ 'x', "rot", "machine is damaged: remove it", -EINVAL },
		{ 0, "", "machine cannot be read: Is a directory", -EISDIR },
	};
	const char *path = NULL, *said;
	int err;

	for (size_t i = 0; i < sizeof(in) / sizeof(*in); i++) {
		path = file("machine", in[i].c, 0, in[i].text);
		said = words_of(home_load, &err);
		CU_ASSERT_EQUAL(err, in[i].err);
		CU_ASSERT_PTR_NOT_NULL(strstr(said, in[i].says));
	}
	remove(path);
	said = words_of(home_load, &err);
	CU_ASSERT_EQUAL(err, 0);
	CU_ASSERT_STRING_EQUAL(said, "");
}

/* Keys of spares and of the hook, and what they cannot be. */
static void test_spare_keys(void)
{
	static const struct { const char *text, *says; u32 delay; bool is_auto; } in[] = {
		{ "spare = auto\nspare_delay = 30\n", "", 30, true },
		{ "spare = none\nspare_delay = 9999999\nhook = /etc/h\n", "", 9999999, false },
		{ "spare = yes\n", ", line 1: none or auto is wanted\n", 600, false },
		{ "spare_delay = 0\n", ", line 1: a number of seconds from 1 to 9999999 is wanted\n", 0, false },
		{ "spare_delay = 10000000\n", ", line 1: a number of seconds from 1 to 9999999 is wanted\n", 0, false },
		{ "spare_delay = 4294967326\n", ", line 1: a number of seconds from 1 to 9999999 is wanted\n", 0, false },
		{ "spare_delay = 5m\n", ", line 1: a number of seconds from 1 to 9999999 is wanted\n", 0, false },
		{ "\nhook = h\n", ", line 2: a path that begins with / is wanted\n", 600, false },
		{ "hooks = /h\n", ", line 1: no such key; meshd(8) has them all\n", 600, false },
	};
	const char *said;
	char want[256];
	int err;

	for (size_t i = 0; i < sizeof(in) / sizeof(*in); i++) {
		config = file("conf", 'x', 0, in[i].text);
		D.spare_delay = 600;
		D.spare_auto = false;
		D.hook = NULL;
		said = words_of(configure, &err);
		CU_ASSERT_EQUAL(err, in[i].says[0] ? 2 : 0);
		snprintf(want, sizeof(want), "meshd: %s%s", config, in[i].says);
		CU_ASSERT_STRING_EQUAL(said, in[i].says[0] ? want : "");
		if (!in[i].says[0])
			CU_ASSERT(D.spare_delay == in[i].delay && D.spare_auto == in[i].is_auto);
		CU_ASSERT(i != 1 || !strcmp(D.hook, "/etc/h"));
		free((void *)D.hook);
	}
	remove(config);
}

/* With a state folder elsewhere, it is alone by the usual one, where that can be. */
static const char *usual;

static int is_alone(void)
{
	int held = lock_folder(folder), is = alone(usual, held);

	close(held);
	return is;
}

static void test_alone(void)
{
	char path[80];
	int is, other;

	usual = path;
	snprintf(path, sizeof(path), "%s/none/meshd", folder);
	CU_ASSERT(!!strstr(words_of(is_alone, &is), "none/meshd cannot be made: No such file"));
	CU_ASSERT(is);
	snprintf(path, sizeof(path), "%s/meshd", folder);
	CU_ASSERT_STRING_EQUAL(words_of(is_alone, &is), "");
	CU_ASSERT(is);
	/* The one before is not closed: a meshd has it for as long as it runs. */
	CU_ASSERT(!!strstr(words_of(is_alone, &is), "another meshd runs"));
	CU_ASSERT(!is);
	rmdir(path);
	/* A file has its name: something is wrong there. */
	other = open(path, O_CREAT | O_WRONLY, 0600);
	CU_ASSERT(!!strstr(words_of(is_alone, &is), "Not a directory"));
	CU_ASSERT(!is);
	close(other);
	unlink(path);
	usual = folder;
	CU_ASSERT_STRING_EQUAL(words_of(is_alone, &is), "");
	CU_ASSERT(is);
}

static void test_config(void)
{
	static const struct { char c; size_t n; const char *text, *says; } in[] = {
		{ 'x', 0, "", "" },
		{ 'x', 0, "port = 4421", "" },
		{ '\n', 8192 - 12, "port = 4421\n", "" },
		{ '\n', 8192 - 11, "port = 4421\n", ": the file is longer than 8 KiB\n" },
		{ '#', 100000, "\n", ": the file is longer than 8 KiB\n" },
		{ '\n', 2, "port = x\n", ", line 3: a number from 1 to 65535 is wanted\n" },
		{ 0, 0, "", ": Is a directory\n" },
	};
	const char *said;
	char want[256];
	int err;

	for (size_t i = 0; i < sizeof(in) / sizeof(*in); i++) {
		config = file("conf", in[i].c, in[i].n, in[i].text);
		D.port = 1;
		said = words_of(configure, &err);
		CU_ASSERT_EQUAL(err, in[i].says[0] ? 2 : 0);
		snprintf(want, sizeof(want), "meshd: %s%s", config, in[i].says);
		CU_ASSERT_STRING_EQUAL(said, in[i].says[0] ? want : "");
		CU_ASSERT(in[i].says[0] || D.port == (in[i].text[0] ? 4421 : 1));
	}
	remove(config);
	words_of(configure, &err);
	CU_ASSERT_EQUAL(err, 2);
}

int main(void)
{
	static const struct suite_test tests[] = {
		{ "machine", test_machine },
		{ "keys of spares and of the hook", test_spare_keys },
		{ "configuration", test_config },
		{ "alone", test_alone },
		{ NULL, NULL },
	};
	int err;

	D.state = mkdtemp(folder);
	err = suite_main("start", tests);
	return rmdir(folder) ? 2 : err;
}
