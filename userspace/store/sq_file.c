// SPDX-License-Identifier: GPL-2.0-only
/*
 * The file of the SQLite engine: made whole or not at all, refused where it is not ours.
 *
 *	PATH		the store; application_id says that it is one, user_version its format
 *	PATH-wal	its log while it is open, and after a crash
 *	PATH-lock	locked by the process that has the store; a separate file, as SQLite's locks
 *			on PATH end when any descriptor of PATH is closed
 *	PATH-new	a store that is being made
 *
 * SQLite carries out any log beside the file. Where a copy was put back beside the log of the
 * former file, pages of both would be mixed. So each start writes a tag of file and term into the
 * header, by a rollback journal while there is no log. A log with another term gives another tag
 * than the header: it belongs to another file, or to another time of the same one.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "userspace/store/sq.h"

#define AT_USER_VERSION	60	/* in the header, big-endian */
#define AT_APPLICATION	68
#define HEADER_BYTES	100
#define TAG_BITS	23	/* above the format's 8, in a number with a sign */

static const char schema[] =
	"BEGIN IMMEDIATE;"
	"CREATE TABLE meta (one INTEGER PRIMARY KEY CHECK (one = 1), made INTEGER NOT NULL,"
	" term INTEGER NOT NULL, revision INTEGER NOT NULL, compacted INTEGER NOT NULL);"
	"CREATE TABLE kv (key BLOB NOT NULL, modified INTEGER NOT NULL, ended INTEGER NOT NULL,"
	" created INTEGER NOT NULL, lease INTEGER NOT NULL, value BLOB);"
	"CREATE UNIQUE INDEX kv_now ON kv (key) WHERE ended = 0;"
	"CREATE UNIQUE INDEX kv_key ON kv (key, modified);"
	"CREATE INDEX kv_modified ON kv (modified);"
	"CREATE INDEX kv_ended ON kv (ended) WHERE ended > 0;"
	"CREATE INDEX kv_lease ON kv (lease) WHERE lease > 0 AND ended = 0;"
	"CREATE TABLE lease (id INTEGER PRIMARY KEY, seconds INTEGER NOT NULL);";

static int fail_path(struct store *s, int err, const char *path, const char *what)
{
	return store_fail(s, err, "store: %s: %s: %s", path, what, strerror(-err));
}

static u32 be32(const u8 *p)
{
	return (u32)p[0] << 24 | p[1] << 16 | p[2] << 8 | p[3];
}

/* Any mixing does: the tag finds mistakes, no attack. */
int sq_user_version(u64 made, u64 term)
{
	u64 mix = (made ^ term * 0x9e3779b97f4a7c15ULL) * 0xff51afd7ed558ccdULL;

	return (int)(mix >> (64 - TAG_BITS) << 8) | SQ_FORMAT;
}

static char *beside(const char *path, const char *suffix)
{
	char *out;

	return asprintf(&out, "%s%s", path, suffix) < 0 ? NULL : out;
}

int sq_lock(struct store_sqlite *q, struct store *s)
{
	char *path = beside(q->path, "-lock");
	int err = 0;

	if (!path)
		return store_fail(s, -ENOMEM, "store: the host is out of memory");
	q->lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (q->lock_fd < 0)
		err = fail_path(s, -errno, path, "cannot be opened");
	else if (flock(q->lock_fd, LOCK_EX | LOCK_NB) < 0)
		err = errno == EWOULDBLOCK ?
		      store_fail(s, -EBUSY, "store: another process has %s: end that one first", q->path) :
		      fail_path(s, -errno, path, "cannot be locked");
	free(path);
	return err;
}

/* By a rollback journal: the new file must be whole without a log beside it. */
static int fill_new(const char *path, struct store *s)
{
	char numbers[256];
	sqlite3 *db = NULL;
	u64 made;
	int err = sq_random(&made), rc;

	if (err)
		return store_fail(s, err, "store: the host gives no random numbers");
	rc = sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
	if (rc == SQLITE_OK)
		err = sq_exec(db, s, "PRAGMA synchronous = FULL; PRAGMA locking_mode = EXCLUSIVE");
	else
		err = db ? sq_fail(db, s, rc) : store_fail(s, -ENOMEM, "store: the host is out of memory");
	snprintf(numbers, sizeof(numbers), "INSERT INTO meta VALUES (1, %llu, 0, %d, 0);"
		 "PRAGMA application_id = %d; PRAGMA user_version = %d; COMMIT", (unsigned long long)made,
		 SQ_FIRST, SQ_APPLICATION, sq_user_version(made, 0));
	if (!err)
		err = sq_exec(db, s, schema);
	if (!err)
		err = sq_exec(db, s, numbers);
	sqlite3_close(db);
	return err;
}

static int make(struct store_sqlite *q, struct store *s)
{
	char *path = beside(q->path, "-new");
	int err;

	if (!path)
		return store_fail(s, -ENOMEM, "store: the host is out of memory");
	unlink(path);
	err = sq_create(path);
	if (err) {
		err = fail_path(s, err, path, "cannot be made");
		free(path);
		return err;
	}
	err = fill_new(path, s);
	if (!err) {
		err = sq_sync_file(path);
		if (!err)
			err = sq_place(path, q->path);
		if (!err)
			err = sq_sync_folder(q->path);
		if (err)
			fail_path(s, err, q->path, "cannot be made");
	}
	unlink(path);
	free(path);
	return err;
}

/* A log without its file is all that may be left of a store: a new one would delete it. */
static int check_absent(struct store_sqlite *q, struct store *s)
{
	static const char *const suffix[] = { "-wal", "-journal" };
	struct stat st;
	char *path;
	int err = 0;

	for (int i = 0; !err && i < 2; i++) {
		path = beside(q->path, suffix[i]);
		if (!path)
			return store_fail(s, -ENOMEM, "store: the host is out of memory");
		if (!stat(path, &st) && st.st_size)
			err = store_fail(s, -EUCLEAN, "store: %s is there without its file: put both back,"
					 " or move it away", path);
		free(path);
	}
	return err;
}

/* By the header alone, without SQLite, which would begin to repair another program's file. */
static int check_header(struct store_sqlite *q, struct store *s)
{
	u8 h[HEADER_BYTES];
	int fd = open(q->path, O_RDONLY | O_CLOEXEC), format;
	ssize_t n;

	if (fd < 0)
		return fail_path(s, -errno, q->path, "cannot be opened");
	n = pread(fd, h, sizeof(h), 0);
	close(fd);
	if (n < 0)
		return fail_path(s, -EIO, q->path, "cannot be read");
	if (n != sizeof(h) || memcmp(h, "SQLite format 3", 16))
		return store_fail(s, -EUCLEAN, "store: %s is damaged, or no store: put a backup back, or move"
				  " it away for a new one", q->path);
	if (be32(h + AT_APPLICATION) != SQ_APPLICATION)
		return store_fail(s, -EUCLEAN, "store: %s is a file of another program: move it away",
				  q->path);
	format = be32(h + AT_USER_VERSION) & 0xff;
	if (format > SQ_FORMAT)
		return store_fail(s, -EPROTONOSUPPORT, "store: %s has format %d of a newer meshd, this one"
				  " has %d: install that one", q->path, format, SQ_FORMAT);
	if (format != SQ_FORMAT)
		return store_fail(s, -EUCLEAN, "store: %s has no format: put a backup back", q->path);
	return 0;
}

/* SQLite opens such a file read-only, and would then fail with the error of a lock. */
static int check_writable(struct store_sqlite *q, struct store *s)
{
	int err;

	if (sqlite3_db_readonly(q->db, "main") != 1)
		return 0;
	err = access(q->path, W_OK) < 0 ? -errno : -EROFS;
	return store_fail(s, err, "store: %s cannot be written: %s", q->path, strerror(-err));
}

/* A file that is refused is closed as it is: its log is not folded in. */
static int connect_file(struct store_sqlite *q, struct store *s)
{
	char found[200];
	int err, rc;

	rc = sqlite3_open_v2(q->path, &q->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
	if (!q->db)
		return store_fail(s, -ENOMEM, "store: the host is out of memory");
	if (rc != SQLITE_OK)
		return sq_fail(q->db, s, rc);
	sqlite3_extended_result_codes(q->db, 1);
	sqlite3_db_config(q->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
	err = check_writable(q, s);
	if (!err)
		err = sq_exec(q->db, s, "PRAGMA locking_mode = EXCLUSIVE; PRAGMA synchronous = FULL;"
			      "PRAGMA cell_size_check = ON; PRAGMA trusted_schema = OFF");
	if (!err)
		err = sq_pragma(q->db, s, "PRAGMA integrity_check(1)", found, sizeof(found));
	if (!err && strcmp(found, "ok"))
		err = store_fail(s, -EUCLEAN, "store: %s is damaged (%s): put a backup back", q->path, found);
	return err;
}

static int read_meta(struct store_sqlite *q, struct store *s)
{
	int ret = sq_step(q, s, SQ_META);

	if (ret < 0)
		return ret;
	if (!ret)
		return store_fail(s, -EUCLEAN, "store: %s is damaged, it has no term: put a backup back",
				  q->path);
	q->made = sq_column(q, SQ_META, 0);
	q->term = sq_column(q, SQ_META, 1);
	q->revision = sq_column(q, SQ_META, 2);
	q->compacted = sq_column(q, SQ_META, 3);
	sq_reset(q, SQ_META);
	return 0;
}

/* Table meta is read with the changes in the log, the header directly from the file. */
static int check_log(struct store_sqlite *q, struct store *s)
{
	sqlite3_file *file = NULL;
	u8 h[4];
	int rc = sqlite3_file_control(q->db, "main", SQLITE_FCNTL_FILE_POINTER, &file);

	if (rc == SQLITE_OK)
		rc = file->pMethods->xRead(file, h, sizeof(h), AT_USER_VERSION);
	if (rc != SQLITE_OK)
		return sq_fail(q->db, s, rc);
	if (be32(h) != (u32)sq_user_version(q->made, q->term))
		return store_fail(s, -EUCLEAN, "store: %s-wal is the log of another file: move it away if %s"
				  " was put back from a copy", q->path, q->path);
	return 0;
}

static int set_journal(struct store_sqlite *q, struct store *s, const char *sql, const char *mode)
{
	char found[32];
	int err = sq_pragma(q->db, s, sql, found, sizeof(found));

	if (!err && strcmp(found, mode))
		err = store_fail(s, -EIO, "store: %s: the journal is \"%s\" and cannot be \"%s\"", q->path,
				 found, mode);
	return err;
}

static int raise_term(struct store_sqlite *q, struct store *s)
{
	char sql[200];
	int err = set_journal(q, s, "PRAGMA journal_mode = DELETE", "delete");

	snprintf(sql, sizeof(sql), "BEGIN IMMEDIATE; UPDATE meta SET term = %llu;"
		 "PRAGMA user_version = %d; COMMIT", (unsigned long long)q->term + 1,
		 sq_user_version(q->made, q->term + 1));
	if (!err)
		err = sq_exec(q->db, s, sql);
	if (!err)
		err = set_journal(q, s, "PRAGMA journal_mode = WAL", "wal");
	if (!err)
		q->term++;
	return err;
}

/* The birth time is 0 on a file system without one; @made still differs for each file. */
static int identify(struct store_sqlite *q, struct store *s)
{
	struct statx st;

	if (statx(AT_FDCWD, q->path, 0, STATX_INO | STATX_BTIME, &st) < 0)
		return fail_path(s, -errno, q->path, "has no inode number");
	if (!(st.stx_mask & STATX_BTIME))
		memset(&st.stx_btime, 0, sizeof(st.stx_btime));
	snprintf(q->id, sizeof(q->id), "sqlite-%016llx-%llx-%llx.%09u", (unsigned long long)q->made,
		 (unsigned long long)st.stx_ino, (unsigned long long)st.stx_btime.tv_sec,
		 st.stx_btime.tv_nsec);
	return 0;
}

int sq_open(struct store_sqlite *q, struct store *s)
{
	int err = 0;

	if (access(q->path, F_OK) < 0) {
		err = errno == ENOENT ? check_absent(q, s) : fail_path(s, -errno, q->path, "not accessible");
		if (!err)
			err = make(q, s);
	}
	if (!err)
		err = check_header(q, s);
	if (!err)
		err = connect_file(q, s);
	if (!err)
		err = sq_prepare(q, s);
	if (!err)
		err = read_meta(q, s);
	if (!err)
		err = check_log(q, s);
	if (!err)
		err = raise_term(q, s);
	if (!err)
		err = identify(q, s);
	if (!err)
		sqlite3_db_config(q->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0, NULL);
	return err;
}
