// SPDX-License-Identifier: GPL-2.0-only
/* Statements, prepared once, and errors of SQLite as errno with words. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "userspace/store/sq.h"

#define COLUMNS	"SELECT rowid, key, value, created, modified, lease FROM kv "

static const char *const text[SQ_STMTS] = {
	[SQ_BEGIN] = "BEGIN IMMEDIATE",
	[SQ_COMMIT] = "COMMIT",
	[SQ_ROLLBACK] = "ROLLBACK",
	[SQ_META] = "SELECT made, term, revision, compacted FROM meta",
	[SQ_META_SET] = "UPDATE meta SET revision = ?1, compacted = ?2",
	[SQ_COMPACT] = "DELETE FROM kv WHERE ended > 0 AND ended <= ?1",
	[SQ_NOW] = COLUMNS "INDEXED BY kv_now WHERE ended = 0 AND key >= ?1 AND key < ?2"
		" ORDER BY key LIMIT ?3",
	[SQ_AT] = COLUMNS "INDEXED BY kv_key WHERE key >= ?1 AND key < ?2 AND modified <= ?4"
		" AND (ended = 0 OR ended > ?4) ORDER BY key LIMIT ?3",
	[SQ_KEY] = COLUMNS "INDEXED BY kv_now WHERE ended = 0 AND key = ?1",
	[SQ_SINCE] = COLUMNS "INDEXED BY kv_modified WHERE modified >= ?4 AND"
		" (modified > ?4 OR rowid > ?5) AND key >= ?1 AND key < ?2"
		" ORDER BY modified, rowid LIMIT ?3",
	[SQ_CHANGED] = "SELECT key FROM kv INDEXED BY kv_modified WHERE modified = ?1",
	[SQ_MODIFIED] = "SELECT modified FROM kv INDEXED BY kv_now WHERE ended = 0 AND key = ?1",
	[SQ_BELOW] = "SELECT 1 FROM kv INDEXED BY kv_now WHERE ended = 0 AND key >= ?1 AND key < ?2"
		" LIMIT 1",
	[SQ_OLD] = "SELECT rowid, created FROM kv INDEXED BY kv_now WHERE ended = 0 AND key = ?1",
	[SQ_ENDED] = "UPDATE kv SET ended = ?2 WHERE rowid = ?1",
	[SQ_PUT] = "INSERT INTO kv (key, modified, ended, created, lease, value)"
		" VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
	[SQ_ON_LEASE] = "SELECT rowid, key FROM kv INDEXED BY kv_lease"
		" WHERE lease > 0 AND ended = 0 AND lease = ?1 LIMIT 1",
	[SQ_LEASES] = "SELECT id, seconds FROM lease",
	[SQ_LEASE_ADD] = "INSERT INTO lease (id, seconds) VALUES (?1, ?2)",
	[SQ_LEASE_DEL] = "DELETE FROM lease WHERE id = ?1",
};

/*
 * A write that was cut short is a full disk by another name. A sync that fails is not: it leaves
 * open what the disk has.
 */
static int errno_of_io(int rc, int system)
{
	if (rc == SQLITE_IOERR_NOMEM)
		return -ENOMEM;
	if (rc == SQLITE_IOERR_CORRUPTFS)
		return -EUCLEAN;
	if (rc == SQLITE_IOERR_WRITE && (system == ENOSPC || system == EDQUOT || system == EFBIG))
		return -ENOSPC;
	if ((rc & 0xff) != SQLITE_CANTOPEN)
		return -EIO;
	switch (system) {
	case EROFS:
	case ENOSPC:
	case EACCES:
		return -system;
	case EDQUOT:
		return -ENOSPC;
	}
	return -EIO;
}

static int errno_of(int rc, int system)
{
	switch (rc & 0xff) {
	case SQLITE_FULL:
		return -ENOSPC;
	case SQLITE_READONLY:
		return -EROFS;
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
		return -EUCLEAN;
	case SQLITE_NOMEM:
		return -ENOMEM;
	case SQLITE_PERM:
	case SQLITE_AUTH:
		return -EACCES;
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return -EBUSY;
	}
	return errno_of_io(rc, system);
}

static const char *remedy(int err)
{
	switch (err) {
	case -ENOSPC:
		return "make room on the disk of the store's file";
	case -EROFS:
		return "make the file system of the store's file writable";
	case -EUCLEAN:
		return "stop meshd and put a backup back";
	case -ENOMEM:
		return "the host is out of memory";
	case -EBUSY:
		return "end the other program that has the file open";
	}
	return "check the disk of the store's file";
}

int sq_fail(sqlite3 *db, struct store *s, int rc)
{
	int err = errno_of(rc, sqlite3_system_errno(db));

	return store_fail(s, err, "store: %s (%d, %s): %s", sqlite3_errmsg(db), rc,
			  strerror(sqlite3_system_errno(db)), remedy(err));
}

int sq_prepare(struct store_sqlite *q, struct store *s)
{
	int rc;

	for (int i = 0; i < SQ_STMTS; i++) {
		rc = sqlite3_prepare_v3(q->db, text[i], -1, SQLITE_PREPARE_PERSISTENT, &q->stmt[i], NULL);
		if (rc != SQLITE_OK)
			return sq_fail(q->db, s, rc);
	}
	return 0;
}

void sq_finalize(struct store_sqlite *q)
{
	for (int i = 0; i < SQ_STMTS; i++) {
		sqlite3_finalize(q->stmt[i]);
		q->stmt[i] = NULL;
	}
}

static void bound(struct store_sqlite *q, int rc)
{
	if (rc != SQLITE_OK && !q->bind)
		q->bind = rc;
}

void sq_num(struct store_sqlite *q, enum sq_stmt n, int at, u64 value)
{
	bound(q, sqlite3_bind_int64(q->stmt[n], at, value));
}

/* Neither is copied: both are there until the statement is reset or bound again. */
void sq_bytes(struct store_sqlite *q, enum sq_stmt n, int at, const void *bytes, size_t len)
{
	bound(q, sqlite3_bind_blob(q->stmt[n], at, bytes, len, SQLITE_STATIC));
}

void sq_text(struct store_sqlite *q, enum sq_stmt n, int at, const char *key)
{
	sq_bytes(q, n, at, key, strlen(key));
}

void sq_reset(struct store_sqlite *q, enum sq_stmt n)
{
	sqlite3_reset(q->stmt[n]);
	sqlite3_clear_bindings(q->stmt[n]);
}

int sq_step(struct store_sqlite *q, struct store *s, enum sq_stmt n)
{
	int err = 0, rc = q->bind;

	if (!rc)
		rc = sqlite3_step(q->stmt[n]);
	if (rc == SQLITE_ROW)
		return 1;
	if (rc != SQLITE_DONE)
		err = sq_fail(q->db, s, rc);
	if (err == -EUCLEAN)
		q->damaged = true;
	q->bind = 0;
	sq_reset(q, n);
	return err;
}

u64 sq_column(struct store_sqlite *q, enum sq_stmt n, int at)
{
	return sqlite3_column_int64(q->stmt[n], at);
}

int sq_only(struct store_sqlite *q, struct store *s, enum sq_stmt n)
{
	int ret = sq_step(q, s, n);

	if (ret == 1)
		sq_reset(q, n);
	return ret;
}

/* SQLite gives NULL for an empty value, and for one that it has no memory for. */
int sq_row_add(struct store_sqlite *q, struct store *s, enum sq_stmt n, struct store_page *p)
{
	sqlite3_stmt *row = q->stmt[n];
	bool put = sqlite3_column_type(row, SQ_ROW_VALUE) != SQLITE_NULL;
	struct store_kv kv = {
		.key = sqlite3_column_blob(row, SQ_ROW_KEY),
		.value = sqlite3_column_blob(row, SQ_ROW_VALUE),
		.len = sqlite3_column_bytes(row, SQ_ROW_VALUE),
		.created = sq_column(q, n, SQ_ROW_CREATED),
		.modified = sq_column(q, n, SQ_ROW_MODIFIED),
		.lease = sq_column(q, n, SQ_ROW_LEASE),
	};

	if (put && !kv.len)
		kv.value = "";
	if (!kv.key || (put && !kv.value) ||
	    store_page_add(p, &kv, sqlite3_column_bytes(row, SQ_ROW_KEY)) < 0)
		return store_fail(s, -ENOMEM, "store: the host is out of memory");
	return 0;
}

int sq_exec(sqlite3 *db, struct store *s, const char *sql)
{
	int rc = sqlite3_exec(db, sql, NULL, NULL, NULL);

	return rc == SQLITE_OK ? 0 : sq_fail(db, s, sqlite3_extended_errcode(db));
}

int sq_pragma(sqlite3 *db, struct store *s, const char *sql, char *out, size_t size)
{
	sqlite3_stmt *row;
	const char *first;
	int rc = sqlite3_prepare_v2(db, sql, -1, &row, NULL);

	out[0] = 0;
	if (rc == SQLITE_OK)
		rc = sqlite3_step(row);
	if (rc == SQLITE_ROW) {
		first = (const char *)sqlite3_column_text(row, 0);
		snprintf(out, size, "%s", first ? first : "");
		rc = sqlite3_step(row);		/* some are carried out by their last step */
	}
	if (rc != SQLITE_DONE && rc != SQLITE_ROW) {
		rc = sq_fail(db, s, sqlite3_extended_errcode(db));
		sqlite3_finalize(row);
		return rc;
	}
	sqlite3_finalize(row);
	return 0;
}
