// SPDX-License-Identifier: GPL-2.0-only
/* A copy of the file, beside transactions. It has another identity, so hosts notice its return. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "userspace/store/sq.h"

#define PAGES	64	/* copied in one turn */

/*
 * SQLite writes a page that changes after it was copied to the copy too. The pause lets waiting
 * threads have the turn. @words has no time-out and no interrupt, so sq_take() never fails.
 */
static int copy_pages(struct store_sqlite *q, struct store *words, sqlite3 *to)
{
	sqlite3_backup *b;
	int err = sq_turn(q, words), rc;

	if (err)
		return err;
	b = sqlite3_backup_init(to, "main", q->db, "main");
	while (b && sqlite3_backup_step(b, PAGES) == SQLITE_OK) {
		sq_turn_end(q);
		nanosleep(&(struct timespec) { .tv_nsec = 1000000 }, NULL);
		sq_take(q, words);
	}
	rc = b ? sqlite3_backup_finish(b) : sqlite3_extended_errcode(to);
	sq_turn_end(q);
	return rc == SQLITE_OK ? 0 : sq_fail(to, words, rc);
}

/* Durable by one sync at the end, so that no turn waits for the copy's disk. */
static int copy(struct store_sqlite *q, struct store *words, const char *path)
{
	sqlite3 *to = NULL;
	int rc = sqlite3_open_v2(path, &to, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL), err;

	if (!to)
		return -ENOMEM;
	sqlite3_extended_result_codes(to, 1);
	err = rc == SQLITE_OK ? sq_exec(to, words, "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF") :
	      sq_fail(to, words, rc);
	if (!err)
		err = copy_pages(q, words, to);
	sqlite3_close(to);
	return err;
}

static int mark(struct store_sqlite *q, struct store *words, const char *path)
{
	sqlite3 *db = NULL;
	char sql[256];
	u64 made;
	int rc, err = sq_random(&made);

	if (err)
		return err;
	rc = sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
	if (!db)
		return -ENOMEM;
	snprintf(sql, sizeof(sql), "PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = DELETE;"
		 "BEGIN; UPDATE meta SET made = %llu; PRAGMA user_version = %d; COMMIT",
		 (unsigned long long)made, sq_user_version(made, q->term));
	err = rc == SQLITE_OK ? sq_exec(db, words, sql) : sq_fail(db, words, rc);
	sqlite3_close(db);
	return err;
}

static void discard(const char *path)
{
	static const char *const suffix[] = { "", "-wal", "-journal" };
	char *name;

	for (int i = 0; i < 3; i++) {
		if (asprintf(&name, "%s%s", path, suffix[i]) < 0)
			return;
		unlink(name);
		free(name);
	}
}

static int make(struct store_sqlite *q, const char *part, const char *path)
{
	struct store words;
	int err;

	store_begin(&words, NULL);
	store_timeout(&words, UINT_MAX);
	discard(part);
	err = sq_create(part);
	if (!err)
		err = copy(q, &words, part);
	if (!err)
		err = mark(q, &words, part);
	if (!err)
		err = sq_sync_file(part);
	if (!err)
		err = sq_place(part, path);
	discard(part);
	return err ? err : sq_sync_folder(path);
}

int store_sqlite_backup(struct store_sqlite *q, const char *path)
{
	char *part;
	int err;

	if (!faccessat(AT_FDCWD, path, F_OK, AT_SYMLINK_NOFOLLOW))
		return -EEXIST;
	if (asprintf(&part, "%s-new", path) < 0)
		return -ENOMEM;
	pthread_mutex_lock(&q->backup);
	err = make(q, part, path);
	pthread_mutex_unlock(&q->backup);
	free(part);
	return err;
}
