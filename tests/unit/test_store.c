// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the store keeps of what is begun, and until when. With its file damaged, what cannot
 * be read is an error, and not an empty or partial list, since what a list does not have is
 * forgotten and freed.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/kernel.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "userspace/meshd/sql.h"
#include "userspace/meshd/store.h"
#include "userspace/libmesh/grow.c"
#include "suite.h"

#define PAGE	4096
#define ROWS	200	/* more than one page of each table */

struct meshd D = { .state = "the state folder" };
static char path[64];
static const struct muuid vol = { { 7 } };

void log_error(const char *fmt, ...) { (void)fmt; }
void log_warn(const char *fmt, ...) { (void)fmt; }

static struct muuid number(int i)
{
	return (struct muuid) { { 1, i, i >> 8 } };
}

static void layout_make(struct layout *l, const struct muuid *uuid, const char *name)
{
	memset(l, 0, sizeof(*l));
	l->volume = *uuid;
	l->version = l->commit = 1;
	l->lba = 512;
	l->size = 1 << 20;
	l->members = l->segments = l->refs = 1;
	snprintf(l->name, sizeof(l->name), "%s", name);
	l->member[0] = (struct layout_member) { .extent = *uuid, .size = 4 << 20 };
	l->segment[0] = (struct layout_segment) { .length = 1 << 20, .level = PROT_LINEAR,
						  .data = 1, .groups = 1, .refs = 1 };
	l->ref[0] = (struct layout_ref) { 0, LAYOUT_DATA };
}

static int put(const struct muuid *uuid, const char *name)
{
	struct layout *l = malloc(sizeof(*l));
	struct store_volume v = { .uuid = *uuid, .version = 1, .state = STORE_LIVE };
	int err;

	layout_make(l, uuid, name);
	snprintf(v.name, sizeof(v.name), "%s", name);
	err = store_volume_commit(&v, l);
	free(l);
	return err;
}

static void fill(void)
{
	struct store_intent in = { .volume = vol };
	struct store_free f[ROWS];
	struct store_host h;
	struct store_volume v;
	struct muuid u;
	char name[32];
	int i;

	memset(f, 0, sizeof(f));
	/* The rows go in one by one: without this they wait for the disk each. */
	CU_ASSERT(!sqlite3_exec(store_db, "PRAGMA synchronous = OFF", NULL, NULL, NULL));
	CU_ASSERT_FATAL(!put(&vol, "doomed"));
	for (i = 0; i < ROWS; i++) {
		u = number(i);
		f[i].volume = vol;
		snprintf(name, sizeof(name), "v%d", i);
		CU_ASSERT_FATAL(!put(&u, name));
		h = (struct store_host) { .port = 4420, .uuid = u };
		snprintf(h.addr, sizeof(h.addr), "10.0.0.%d", i);
		snprintf(h.name, sizeof(h.name), "host%d", i);
		CU_ASSERT_FATAL(!store_host_put(&h));
		in.extent = f[i].extent = u;
		CU_ASSERT_FATAL(!store_intents_add(&in, 1));
	}
	CU_ASSERT_FATAL(!store_volume_get(&vol, &v, NULL));
	v.state = STORE_DELETING;
	CU_ASSERT_FATAL(!store_volume_doom(&v, f, ROWS));
}

/* Closed, changed where @damage says, and opened again: what store_open() returns. */
static int reopened(void (*damage)(int fd, off_t size))
{
	int fd, err;

	sqlite3_wal_checkpoint_v2(store_db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
	CU_ASSERT_FATAL(sqlite3_close(store_db) == SQLITE_OK);
	fd = open(path, O_RDWR);
	CU_ASSERT_FATAL(fd >= 0);
	damage(fd, lseek(fd, 0, SEEK_END));
	close(fd);
	err = store_open(path);
	return err;
}

static void nothing(int fd, off_t size)
{
	(void)fd;
	(void)size;
}

static size_t intents(void)
{
	struct store_intent *all;
	size_t n;

	CU_ASSERT_FATAL(!store_intents(&all, &n));
	free(all);
	return n;
}

/* A change that is begun stays so, whatever is adopted meanwhile, until it is committed. */
static void test_begun(void)
{
	const struct muuid u = { { 9 } };
	struct store_intent in = { .volume = u, .extent = { { 9, 1 } }, .name = "begun" };
	struct layout *l = malloc(sizeof(*l)), *next = malloc(sizeof(*next));
	struct store_volume v;

	CU_ASSERT_FATAL(!put(&u, "begun") && !store_intents_add(&in, 1));
	CU_ASSERT_FATAL(!store_volume_get(&u, &v, l));
	memcpy(next, l, sizeof(*next));
	next->version = next->commit = 3;
	CU_ASSERT_FATAL(!store_pending_set(&u, next));
	l->version = v.version = 2;
	CU_ASSERT(!store_volume_adopt(&v, l) && !store_volume_flags(&v));
	CU_ASSERT(!store_pending_get(&u, next) && next->version == 3);
	CU_ASSERT(intents() == 1);
	/* What was seen once is not forgotten. */
	l->version = v.version = 1;
	CU_ASSERT(store_volume_adopt(&v, l) == -ESTALE && store_volume_commit(&v, l) == -ESTALE);
	CU_ASSERT(!store_pending_get(&u, next));
	v.version = 3;
	CU_ASSERT(!store_volume_commit(&v, next));
	CU_ASSERT(store_pending_get(&u, l) == -ENOENT);
	CU_ASSERT(intents() == 0);
	CU_ASSERT(!store_volume_erase(&u));
	free(next);
	free(l);
}

static int pragma(const char *what)
{
	sqlite3_stmt *s = sql(what);
	int is = sql_row(s) > 0 ? sqlite3_column_int(s, 0) : -1;

	sqlite3_finalize(s);
	return is;
}

/* All but the page that names the tables. */
static void pages(int fd, off_t size)
{
	char junk[PAGE];
	off_t at;

	memset(junk, 0xff, sizeof(junk));
	for (at = PAGE; at < size; at += PAGE)
		CU_ASSERT(pwrite(fd, junk, PAGE, at) == PAGE);
}

/* The end of it: lists begin well. */
static void last_pages(int fd, off_t size)
{
	char junk[PAGE];
	off_t at;

	memset(junk, 0xff, sizeof(junk));
	for (at = size / PAGE / 2 * PAGE; at < size; at += PAGE)
		CU_ASSERT(pwrite(fd, junk, PAGE, at) == PAGE);
}

static void first_page(int fd, off_t size)
{
	char junk[PAGE];

	(void)size;
	memset(junk, 0xff, sizeof(junk));
	CU_ASSERT(pwrite(fd, junk, PAGE, 0) == PAGE);
}

/* A list is all of it, or an error and nothing. */
static void list(int err, size_t n, void *list, int *errors)
{
	CU_ASSERT(!err || err == -EIO);
	CU_ASSERT(err ? !n && !list : n >= ROWS);
	*errors += !!err;
	free(list);
}

/* How many of the four lists failed. */
static int lists(void)
{
	struct store_intent *in;
	struct store_volume *v;
	struct store_host *h;
	struct store_free *f;
	int errors = 0, err;
	size_t n;

	err = store_hosts(&h, &n);
	list(err, n, h, &errors);
	err = store_volumes(&v, &n);
	list(err, n, v, &errors);
	err = store_intents(&in, &n);
	list(err, n, in, &errors);
	err = store_frees(&vol, &f, &n);
	list(err, n, f, &errors);
	return errors;
}

static void test_whole(void)
{
	struct store_volume v;

	fill();
	CU_ASSERT(!reopened(nothing));
	CU_ASSERT(lists() == 0);
	CU_ASSERT(store_volume_find("none", &v, NULL) == -ENOENT);
	CU_ASSERT(!store_broken());
}

/* Addresses are unique, but two hosts may have exchanged them. */
static void test_swap(void)
{
	struct store_host a, b, h;

	CU_ASSERT_FATAL(!store_host_find("host1", &a) && !store_host_find("host2", &b));
	CU_ASSERT(!store_hosts_swap(&a, &b));
	CU_ASSERT(!store_host_find("host1", &h) && h.id == a.id && h.port == a.port);
	CU_ASSERT(!strcmp(h.addr, a.addr) && strcmp(h.addr, b.addr));
	CU_ASSERT(!store_host_find(b.addr, &h) && h.id == b.id);
}

/* Of a host that was never seen, and of no other. */
static void test_learn(void)
{
	struct store_host a, b, h = { .port = 4420, .addr = "10.1.0.1", .name = "unseen" };
	struct muuid other = number(ROWS + 1);

	CU_ASSERT_FATAL(!store_host_put(&h) && !store_host_find("unseen", &h));
	CU_ASSERT_FATAL(!store_host_find("host1", &a));
	CU_ASSERT(!store_host_learn(h.id, &vol) && !store_host_learn(a.id, &vol));
	CU_ASSERT(!store_host_learn(h.id, &other));
	CU_ASSERT(!store_host_find("unseen", &b) && muuid_equal(&b.uuid, &vol));
	CU_ASSERT(!store_host_find("host1", &b) && muuid_equal(&b.uuid, &a.uuid));
	CU_ASSERT(!store_host_del(h.id));
}

/* In its own process: what is broken stays so. */
static int alone(int (*fn)(void))
{
	int status = 1;
	pid_t child = fork();

	if (!child)
		_exit(fn());
	return waitpid(child, &status, 0) == child ? status : -1;
}

/* The other writer ends when a transaction of ours has just been refused for its sake. */
static int other_ends(void *writer, int times)
{
	(void)times;
	sqlite3_exec(writer, "ROLLBACK", NULL, NULL, NULL);
	return 0;
}

/* A transaction that did not begin is not carried out statement by statement. */
static void test_not_begun(void)
{
	struct store_host a, b, h;
	sqlite3 *writer;

	CU_ASSERT_FATAL(!store_host_find("host1", &a) && !store_host_find("host2", &b));
	CU_ASSERT_FATAL(sqlite3_open(path, &writer) == SQLITE_OK);
	CU_ASSERT(!sqlite3_exec(writer, "BEGIN IMMEDIATE", NULL, NULL, NULL));
	sqlite3_busy_handler(store_db, other_ends, writer);
	CU_ASSERT(store_hosts_swap(&a, &b) == -EIO);
	CU_ASSERT(sqlite3_get_autocommit(writer));
	CU_ASSERT(!store_host_find("host1", &h) && !strcmp(h.addr, b.addr));
	CU_ASSERT(!store_host_find("host2", &h) && !strcmp(h.addr, a.addr));
	sqlite3_busy_handler(store_db, NULL, NULL);
	CU_ASSERT(sqlite3_close(writer) == SQLITE_OK);
}

static int deny_commit(void *arg, int what, const char *op, const char *b, const char *db,
		       const char *by)
{
	(void)arg, (void)b, (void)db, (void)by;
	return what == SQLITE_TRANSACTION && !strcmp(op, "COMMIT") ? SQLITE_DENY : SQLITE_OK;
}

/* One that could not end leaves nothing, and the next one is its own. */
static int not_ended(void)
{
	const struct muuid u = { { 12 } }, w = { { 13 } };
	struct store_volume v;
	int errors = 0;

	sqlite3_set_authorizer(store_db, deny_commit, NULL);
	errors += put(&u, "lost") != -EIO;
	errors += !sqlite3_get_autocommit(store_db);
	sqlite3_set_authorizer(store_db, NULL, NULL);
	errors += !!put(&w, "kept");
	errors += store_volume_find("lost", &v, NULL) != -ENOENT;
	errors += !!store_volume_find("kept", &v, NULL);
	return errors;
}

static void test_not_ended(void)
{
	CU_ASSERT(!alone(not_ended));
}

static void test_in_part(void)
{
	CU_ASSERT(!reopened(last_pages));
	CU_ASSERT(lists() > 0);
	CU_ASSERT(store_broken());
}

/* Neither absent nor free to be made again. */
static void test_unreadable(void)
{
	struct muuid u = number(1);
	struct store_host h;
	struct store_volume v;
	struct layout *l = malloc(sizeof(*l));

	CU_ASSERT(!reopened(pages));
	CU_ASSERT(lists() == 4);
	CU_ASSERT(store_volume_get(&u, &v, NULL) == -EIO);
	CU_ASSERT(store_volume_find("v1", &v, NULL) == -EIO);
	CU_ASSERT(store_volume_find("none", &v, NULL) == -EIO);
	CU_ASSERT(store_pending_get(&u, l) == -EIO);
	CU_ASSERT(store_host_find("host1", &h) == -EIO);
	CU_ASSERT(store_host_by_uuid(&u, &h) == -EIO);
	CU_ASSERT(put(&u, "v1") == -EIO);
	CU_ASSERT(store_broken());
	free(l);
}

/* Each word of it is durable when it is given. */
static void test_opened(void)
{
	CU_ASSERT(pragma("PRAGMA synchronous") == 2);
	CU_ASSERT(pragma("PRAGMA user_version") == 2);
}

static void test_no_store(void)
{
	CU_ASSERT(reopened(first_page) == -EIO);
	CU_ASSERT(store_broken());
}

/* A start writes nothing to a store that is there: the disk may be full, or read-only. */
static void test_start_reads(void)
{
	sqlite3 *writer;

	CU_ASSERT_FATAL(sqlite3_open(path, &writer) == SQLITE_OK);
	CU_ASSERT(!sqlite3_exec(writer, "BEGIN IMMEDIATE", NULL, NULL, NULL));
	CU_ASSERT(!reopened(nothing) && !lists() && !store_broken());
	CU_ASSERT(!sqlite3_exec(writer, "ROLLBACK", NULL, NULL, NULL));
	CU_ASSERT(sqlite3_close(writer) == SQLITE_OK);
}

/* What cannot even be opened, or made: every call says so, and none of them dies of it. */
static int cannot_open(void)
{
	struct store_host h = { .port = 1 };
	struct muuid u = number(1);

	int errors = 0;

	errors += store_broken();
	errors += store_open("/proc/self/no such folder/store.db") != -EIO;
	errors += !store_broken() + (lists() != 4);
	errors += !store_host_put(&h) + !put(&u, "v1") + !store_drive_put(&u, "/dev/x");
	errors += store_host_find("host1", &h) != -EIO;
	store_close();
	return errors;
}

/* Tables that this meshd does not know, older or newer, are left as they are. */
static int of_another_version(void)
{
	static const char *const set[] = { "PRAGMA user_version = 1", "PRAGMA user_version = 3" };
	char other[80];
	int i, errors = store_broken();
	sqlite3 *db;

	snprintf(other, sizeof(other), "%s-other", path);
	for (i = 0; i < 2; i++) {
		errors += sqlite3_open(other, &db) != SQLITE_OK;
		errors += sqlite3_exec(db, set[i], NULL, NULL, NULL) != SQLITE_OK;
		sqlite3_close(db);
		errors += store_open(other) != -EPROTONOSUPPORT || !store_broken();
		errors += pragma("PRAGMA user_version") != (i ? 3 : 1);
	}
	unlink(other);
	return errors;
}

/* The index of the log finds no room on a full disk: what is there is read, and written once there is. */
static int no_room(void)
{
	struct rlimit size, none = { 0 };
	const struct muuid u = number(1), w = number(2);
	int errors = store_broken();
	char other[80];

	snprintf(other, sizeof(other), "%s-other", path);
	errors += !!store_open(other) + !!put(&u, "v1") + (sqlite3_close(store_db) != SQLITE_OK);
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &size);
	none.rlim_max = size.rlim_max;
	setrlimit(RLIMIT_FSIZE, &none);
	errors += !!store_open(other) + store_broken() + lists();
	errors += !put(&w, "v2");
	setrlimit(RLIMIT_FSIZE, &size);
	errors += !!put(&w, "v2") + lists() + store_broken();
	sqlite3_close(store_db);
	unlink(other);
	return errors;
}

/* Adds volumes until one finds no page. */
static int full(const struct muuid *first)
{
	struct muuid u = *first;
	char name[32];
	int err = 0;

	for (; !err && u.b[1] < 200; u.b[1]++) {
		snprintf(name, sizeof(name), "full%d", u.b[1]);
		err = put(&u, name);
	}
	return err;
}

/* What cannot be written says why: a full disk is not a broken one. */
static void test_no_room(void)
{
	const struct muuid u = { { 11 } };

	CU_ASSERT(!alone(no_room));
	CU_ASSERT(!sqlite3_exec(store_db, "PRAGMA max_page_count = 1", NULL, NULL, NULL));
	CU_ASSERT(full(&u) == -ENOSPC);
	CU_ASSERT_PTR_NOT_NULL(strstr(store_unwritten(-ENOSPC), "full"));
	CU_ASSERT(!sqlite3_exec(store_db, "PRAGMA max_page_count = 1000000", NULL, NULL, NULL));
	CU_ASSERT(!sqlite3_exec(store_db, "PRAGMA query_only = ON", NULL, NULL, NULL));
	CU_ASSERT(put(&u, "late") == -EROFS);
	CU_ASSERT(!sqlite3_exec(store_db, "PRAGMA query_only = OFF", NULL, NULL, NULL));
	CU_ASSERT(!store_broken());
}

static void test_cannot_open(void)
{
	CU_ASSERT(!alone(cannot_open));
	CU_ASSERT(!alone(of_another_version));
}

int main(void)
{
	static const struct suite_test tests[] = {
		{ "opened", test_opened },
		{ "what is begun", test_begun },
		{ "whole", test_whole },
		{ "two hosts that changed places", test_swap },
		{ "a host that shows who it is", test_learn },
		{ "a transaction that does not begin", test_not_begun },
		{ "a transaction that does not end", test_not_ended },
		{ "a start that cannot write", test_start_reads },
		{ "a store that cannot be opened", test_cannot_open },
		{ "no room", test_no_room },
		{ "damaged in part", test_in_part },
		{ "unreadable", test_unreadable },
		{ "no store at all", test_no_store },
		{ NULL, NULL },
	};
	int failed;

	snprintf(path, sizeof(path), "/tmp/test-store-%d", getpid());
	if (store_open(path))
		return 2;
	failed = suite_main("store", tests);
	sqlite3_close(store_db);
	unlink(path);
	for (char *end = path + strlen(path), **s = (char *[]){ "-wal", "-shm", NULL }; *s; s++) {
		strcpy(end, *s);
		unlink(path);
	}
	return failed;
}
