// SPDX-License-Identifier: GPL-2.0-only
/* The store's tables of hosts and drives; volumes: store_volume.c, extents: store_extent.c. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/libmesh/mesh.h"
#include "userspace/machine/guard.h"
#include "userspace/meshd/sql.h"
#include "userspace/meshd/store.h"

sqlite3 *store_db;
static bool broken;

#define SCHEMA_VERSION	2

static const char schema[] =
	"PRAGMA journal_mode = WAL;"
	"BEGIN IMMEDIATE;"
	"CREATE TABLE IF NOT EXISTS hosts (id INTEGER PRIMARY KEY AUTOINCREMENT, addr TEXT NOT NULL,"
	" port INTEGER NOT NULL, name TEXT NOT NULL, uuid BLOB, UNIQUE (addr, port));"
	"CREATE TABLE IF NOT EXISTS volumes (uuid BLOB PRIMARY KEY, name TEXT NOT NULL UNIQUE,"
	" version INTEGER NOT NULL, recorded INTEGER NOT NULL, attached INTEGER NOT NULL,"
	" readonly INTEGER NOT NULL, io_timeout INTEGER NOT NULL, state INTEGER NOT NULL,"
	" note TEXT NOT NULL, layout BLOB NOT NULL, pending BLOB);"
	"CREATE TABLE IF NOT EXISTS intents (extent BLOB PRIMARY KEY, volume BLOB NOT NULL,"
	" name TEXT NOT NULL, host BLOB NOT NULL, drive BLOB NOT NULL, length INTEGER NOT NULL);"
	"CREATE TABLE IF NOT EXISTS frees (extent BLOB PRIMARY KEY, volume BLOB NOT NULL,"
	" host BLOB NOT NULL, drive BLOB NOT NULL, holder BLOB NOT NULL, version INTEGER NOT NULL,"
	" number INTEGER NOT NULL, preempt INTEGER NOT NULL);"
	"CREATE TABLE IF NOT EXISTS drives (uuid BLOB PRIMARY KEY, path TEXT NOT NULL);"
	"PRAGMA user_version = 2;"
	"COMMIT;";

static void give_up(void)
{
	if (!__atomic_exchange_n(&broken, true, __ATOMIC_RELAXED))
		log_error("store.db in %s cannot be read: nothing is attached, changed or freed any more, "
			  "and what is attached or exported stays so. Stop meshd, put a good copy back or "
			  "move it away, start meshd; in the latter case add the hosts and import the volumes",
			  D.state);
}

/*
 * Another version's tables are not touched: they may be wanted again. Those of this one are
 * not written either: on a full or read-only disk a host starts as it was.
 */
static int schema_check(const char *path)
{
	char *why = NULL;
	sqlite3_stmt *s = sql("PRAGMA user_version");
	int have = sql_row(s) > 0 ? sqlite3_column_int(s, 0) : -1;

	sqlite3_finalize(s);
	if (have == SCHEMA_VERSION)
		return 0;
	if (!have && sqlite3_exec(store_db, schema, NULL, NULL, &why) == SQLITE_OK)
		return 0;
	if (!have)
		log_error("%s: cannot be made: %s", path, why);
	else if (have < 0)
		log_error("%s: cannot be read", path);
	else
		log_error("%s: written by %s meshd (tables of version %d, this one has %d); %s", path,
			  have > SCHEMA_VERSION ? "a newer" : "an older", have, SCHEMA_VERSION,
			  have > SCHEMA_VERSION ? "install that one" :
			  "move it away, then add hosts and import volumes again");
	sqlite3_free(why);
	return have <= 0 ? -EIO : -EPROTONOSUPPORT;
}

static int db_open(const char *path, bool alone)
{
	if (sqlite3_open_v2(path, &store_db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE |
			    SQLITE_OPEN_FULLMUTEX, NULL) != SQLITE_OK) {
		log_error("%s: %s", path, sqlite3_errmsg(store_db));
		return store_db ? -EIO : -ENOMEM;
	}
	sqlite3_busy_timeout(store_db, 5000);
	if (alone)	/* counts where it is the first of all */
		sqlite3_exec(store_db, "PRAGMA locking_mode = EXCLUSIVE", NULL, NULL, NULL);
	sqlite3_exec(store_db, "PRAGMA synchronous = FULL", NULL, NULL, NULL);
	return 0;
}

/*
 * To read takes a file beside the store, the index of its log, which each start makes again: a full
 * disk may have no room for it. It is for other processes. Where it cannot be had the index is in
 * memory, and no other process reads the store until the next start.
 */
static int open_readable(const char *path)
{
	int err = db_open(path, false), rc;

	if (err)
		return err;
	rc = sqlite3_exec(store_db, "PRAGMA user_version", NULL, NULL, NULL);
	if (rc != SQLITE_IOERR && rc != SQLITE_CANTOPEN)
		return 0;
	log_warn("%s: %s (%s); tried again with the index of its log in memory", path,
		 sqlite3_errmsg(store_db), strerror(sqlite3_system_errno(store_db)));
	sqlite3_close(store_db);
	return db_open(path, true);
}

int store_open(const char *path)
{
	int err = open_readable(path);

	if (!err)
		err = schema_check(path);
	if (err)
		give_up();
	return err;
}

/*
 * Other threads may be in the middle of a request. The connection's mutex is never
 * given back, so that none of them writes after the log was folded into the file:
 * a copy of store.db alone then has all of it.
 */
void store_close(void)
{
	sqlite3_stmt *s;

	if (!store_db)
		return;
	sqlite3_mutex_enter(sqlite3_db_mutex(store_db));
	if (sqlite3_wal_checkpoint_v2(store_db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL) ==
	    SQLITE_OK)
		return;
	/* A statement that a stopped thread left open is in the way. */
	while ((s = sqlite3_next_stmt(store_db, NULL)))
		sqlite3_finalize(s);
	if (sqlite3_wal_checkpoint_v2(store_db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL) !=
	    SQLITE_OK)
		log_warn("store: its log stays beside it: %s", sqlite3_errmsg(store_db));
}

bool store_broken(void)
{
	return __atomic_load_n(&broken, __ATOMIC_RELAXED);
}

const char *store_words(int err)
{
	return err == -ENOMEM ? "out of memory" : "the store (store.db in meshd's state folder) cannot "
	       "be read; see meshd's log";
}

/* A later read may give something else, so no read counts any more. */
static void unreadable(int rc)
{
	log_error("store: %s", sqlite3_errmsg(store_db));
	switch (rc & 0xff) {
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
	case SQLITE_NOMEM:
	case SQLITE_INTERRUPT:
		return;
	}
	give_up();
}

sqlite3_stmt *sql_bound(const char *text, const struct sql_value *v, int n)
{
	sqlite3_stmt *s = NULL;
	int i, rc = sqlite3_prepare_v2(store_db, text, -1, &s, NULL);

	if (rc != SQLITE_OK)
		unreadable(rc);
	for (i = 1; s && i < n; i++) {
		if (v[i].kind == SQL_NUM)
			sqlite3_bind_int64(s, i, v[i].n);
		else if (v[i].kind == SQL_TEXT)
			sqlite3_bind_text(s, i, v[i].p, -1, SQLITE_TRANSIENT);
		else
			sqlite3_bind_blob(s, i, v[i].p, v[i].n, SQLITE_TRANSIENT);
	}
	return s;
}

static int errno_of(int code)
{
	switch (code & 0xff) {
	case SQLITE_CONSTRAINT:
		return -EEXIST;
	case SQLITE_FULL:
		return -ENOSPC;
	case SQLITE_READONLY:
		return -EROFS;
	}
	return -EIO;
}

int sql_done(sqlite3_stmt *s)
{
	int rc = s ? sqlite3_step(s) : SQLITE_ERROR;
	int code = s ? sqlite3_extended_errcode(store_db) : 0;

	if (rc != SQLITE_DONE && rc != SQLITE_ROW && (code & 0xff) != SQLITE_CONSTRAINT)
		log_error("store: %s", sqlite3_errmsg(store_db));
	sqlite3_finalize(s);
	return rc == SQLITE_DONE || rc == SQLITE_ROW ? 0 : errno_of(code);
}

int sql_row(sqlite3_stmt *s)
{
	int rc = s ? sqlite3_step(s) : SQLITE_ERROR;

	if (rc == SQLITE_ROW || rc == SQLITE_DONE)
		return rc == SQLITE_ROW;
	if (s)
		unreadable(rc);
	return -EIO;
}

int sql_list(sqlite3_stmt *s, void (*row)(sqlite3_stmt *s, void *item), size_t size, void **out,
	     size_t *n)
{
	void *item;
	int more;

	*out = NULL;
	*n = 0;
	while ((more = sql_row(s)) > 0 && (item = mesh_grow(out, n, size)))
		row(s, item);
	sqlite3_finalize(s);
	if (!more)
		return 0;
	free(*out);
	*out = NULL;
	*n = 0;
	return more > 0 ? -ENOMEM : more;
}

int sql_begin(void)
{
	sqlite3_mutex_enter(sqlite3_db_mutex(store_db));
	return sql_run("BEGIN IMMEDIATE");
}

int sql_end(int err)
{
	if (!err)
		err = sql_run("COMMIT");
	/* Some errors end a transaction; in others, the next one would begin within it. */
	if (store_db && !sqlite3_get_autocommit(store_db))
		sql_run("ROLLBACK");
	sqlite3_mutex_leave(sqlite3_db_mutex(store_db));
	return err;
}

void row_uuid(sqlite3_stmt *s, int at, struct muuid *u)
{
	memset(u, 0, sizeof(*u));
	if (sqlite3_column_bytes(s, at) == sizeof(u->b))
		memcpy(u->b, sqlite3_column_blob(s, at), sizeof(u->b));
}

void row_text(sqlite3_stmt *s, int at, char *out, size_t size)
{
	const char *t = (const char *)sqlite3_column_text(s, at);

	snprintf(out, size, "%s", t ? t : "");
}

int store_host_put(struct store_host *h)
{
	int err;

	if (h->id)
		return sql_run("UPDATE hosts SET addr = ?1, port = ?2, name = ?3, uuid = ?4 WHERE id = ?5",
			       sql_text(h->addr), sql_num(h->port), sql_text(h->name),
			       sql_uuid(&h->uuid), sql_num(h->id));
	/* The id given is the connection's, so no other thread may add meanwhile. */
	sqlite3_mutex_enter(sqlite3_db_mutex(store_db));
	err = sql_run("INSERT INTO hosts (addr, port, name, uuid) VALUES (?1, ?2, ?3, ?4)",
		      sql_text(h->addr), sql_num(h->port), sql_text(h->name), sql_uuid(&h->uuid));
	if (!err)
		h->id = sqlite3_last_insert_rowid(store_db);
	sqlite3_mutex_leave(sqlite3_db_mutex(store_db));
	return err;
}

int store_hosts_swap(struct store_host *a, struct store_host *b)
{
	const struct store_host was = *a;
	struct store_host none = *a;
	int err;

	memcpy(a->addr, b->addr, sizeof(a->addr));
	a->port = b->port;
	memcpy(b->addr, was.addr, sizeof(b->addr));
	b->port = was.port;
	none.addr[0] = 0;
	err = sql_begin();
	if (!err)
		err = store_host_put(&none);
	if (!err)
		err = store_host_put(b);
	if (!err)
		err = store_host_put(a);
	return sql_end(err);
}

/* Numbers of the store are its own; those of the kernel are in use. */
int store_host_adopt(const struct store_host *h)
{
	int err = sql_begin();

	if (!err)
		err = sql_run("UPDATE hosts SET id = ?1 WHERE addr = ?2 AND port = ?3",
			      sql_num(h->id), sql_text(h->addr), sql_num(h->port));
	if (!err && !sqlite3_changes(store_db))
		err = sql_run("INSERT INTO hosts (id, addr, port, name, uuid) VALUES (?1, ?2, ?3, ?4, ?5)",
			      sql_num(h->id), sql_text(h->addr), sql_num(h->port), sql_text(h->name),
			      sql_uuid(&h->uuid));
	return sql_end(err);
}

/* Of a row that was added before a host answered there. */
int store_host_learn(u32 id, const struct muuid *uuid)
{
	static const struct muuid none;

	return sql_run("UPDATE hosts SET uuid = ?2 WHERE id = ?1 AND uuid = ?3", sql_num(id),
		       sql_uuid(uuid), sql_uuid(&none));
}

int store_host_del(u32 id)
{
	return sql_run("DELETE FROM hosts WHERE id = ?1", sql_num(id));
}

static void host_row(sqlite3_stmt *s, void *item)
{
	struct store_host *h = item;

	h->id = sqlite3_column_int(s, 0);
	row_text(s, 1, h->addr, sizeof(h->addr));
	h->port = sqlite3_column_int(s, 2);
	row_text(s, 3, h->name, sizeof(h->name));
	row_uuid(s, 4, &h->uuid);
}

int store_hosts(struct store_host **out, size_t *n)
{
	return sql_list(sql("SELECT id, addr, port, name, uuid FROM hosts ORDER BY id"), host_row,
			sizeof(**out), (void **)out, n);
}

static bool host_is(const struct store_host *h, const char *what)
{
	char both[80];

	snprintf(both, sizeof(both), "%s:%u", h->addr, h->port);
	return !strcmp(h->name, what) || !strcmp(h->addr, what) || !strcmp(both, what) ||
	       !strcasecmp(muuid_str(&h->uuid).s, what);
}

int store_host_find(const char *what, struct store_host *out)
{
	struct store_host *all __free(free) = NULL;
	size_t i, n;
	int err = store_hosts(&all, &n);

	for (i = 0; i < n; i++) {
		if (host_is(&all[i], what)) {
			*out = all[i];
			return 0;
		}
	}
	return err ? err : -ENOENT;
}

int store_host_by_uuid(const struct muuid *uuid, struct store_host *out)
{
	if (muuid_null(uuid))
		return -ENOENT;
	return store_host_find(muuid_str(uuid).s, out);
}

int store_drive_put(const struct muuid *uuid, const char *path)
{
	return sql_run("INSERT OR REPLACE INTO drives (uuid, path) VALUES (?1, ?2)", sql_uuid(uuid),
		       sql_text(path));
}

int store_drive_del(const struct muuid *uuid)
{
	return sql_run("DELETE FROM drives WHERE uuid = ?1", sql_uuid(uuid));
}
