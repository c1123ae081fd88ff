// SPDX-License-Identifier: GPL-2.0-only
/* The store's tables of hosts, drives and intents; volumes: store_volume.c. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/libmesh/mesh.h"
#include "userspace/meshd/sql.h"
#include "userspace/meshd/store.h"

sqlite3 *store_db;

static const char schema[] =
	"PRAGMA journal_mode = WAL;"
	"PRAGMA synchronous = FULL;"
	"CREATE TABLE IF NOT EXISTS hosts (id INTEGER PRIMARY KEY AUTOINCREMENT, addr TEXT NOT NULL,"
	" port INTEGER NOT NULL, name TEXT NOT NULL, uuid BLOB, UNIQUE (addr, port));"
	"CREATE TABLE IF NOT EXISTS volumes (uuid BLOB PRIMARY KEY, name TEXT NOT NULL UNIQUE,"
	" version INTEGER NOT NULL, recorded INTEGER NOT NULL, attached INTEGER NOT NULL,"
	" readonly INTEGER NOT NULL, preempt INTEGER NOT NULL, state INTEGER NOT NULL,"
	" layout BLOB NOT NULL);"
	"CREATE TABLE IF NOT EXISTS intents (extent BLOB PRIMARY KEY, volume BLOB NOT NULL,"
	" name TEXT NOT NULL, host BLOB NOT NULL, drive BLOB NOT NULL, length INTEGER NOT NULL);"
	"CREATE TABLE IF NOT EXISTS drives (uuid BLOB PRIMARY KEY, path TEXT NOT NULL);"
	"PRAGMA user_version = 1;";

int store_open(const char *path)
{
	char *why = NULL;

	if (sqlite3_open_v2(path, &store_db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE |
			    SQLITE_OPEN_FULLMUTEX, NULL) != SQLITE_OK) {
		log_error("%s: %s", path, sqlite3_errmsg(store_db));
		return -EIO;
	}
	sqlite3_busy_timeout(store_db, 5000);
	if (sqlite3_exec(store_db, schema, NULL, NULL, &why) != SQLITE_OK) {
		log_error("%s: %s", path, why);
		sqlite3_free(why);
		return -EIO;
	}
	return 0;
}

sqlite3_stmt *sql(const char *text)
{
	sqlite3_stmt *s = NULL;

	if (sqlite3_prepare_v2(store_db, text, -1, &s, NULL) != SQLITE_OK)
		log_error("store: %s", sqlite3_errmsg(store_db));
	return s;
}

int sql_done(sqlite3_stmt *s)
{
	int rc = s ? sqlite3_step(s) : SQLITE_ERROR;
	int code = s ? sqlite3_extended_errcode(store_db) : 0;

	if (rc != SQLITE_DONE && rc != SQLITE_ROW && (code & 0xff) != SQLITE_CONSTRAINT)
		log_error("store: %s", sqlite3_errmsg(store_db));
	sqlite3_finalize(s);
	if (rc == SQLITE_DONE || rc == SQLITE_ROW)
		return 0;
	return (code & 0xff) == SQLITE_CONSTRAINT ? -EEXIST : -EIO;
}

bool sql_row(sqlite3_stmt *s)
{
	return s && sqlite3_step(s) == SQLITE_ROW;
}

void sql_uuid(sqlite3_stmt *s, int at, const struct muuid *u)
{
	sqlite3_bind_blob(s, at, u->b, sizeof(u->b), SQLITE_TRANSIENT);
}

void sql_text(sqlite3_stmt *s, int at, const char *text)
{
	sqlite3_bind_text(s, at, text, -1, SQLITE_TRANSIENT);
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
	sqlite3_stmt *s;
	int err;

	if (h->id)
		s = sql("UPDATE hosts SET addr = ?1, port = ?2, name = ?3, uuid = ?4 WHERE id = ?5");
	else
		s = sql("INSERT INTO hosts (addr, port, name, uuid) VALUES (?1, ?2, ?3, ?4)");
	if (!s)
		return -EIO;
	sql_text(s, 1, h->addr);
	sqlite3_bind_int(s, 2, h->port);
	sql_text(s, 3, h->name);
	sql_uuid(s, 4, &h->uuid);
	if (h->id)
		sqlite3_bind_int(s, 5, h->id);
	/* The id given is the connection's, so nobody else may add meanwhile. */
	sqlite3_mutex_enter(sqlite3_db_mutex(store_db));
	err = sql_done(s);
	if (!err && !h->id)
		h->id = sqlite3_last_insert_rowid(store_db);
	sqlite3_mutex_leave(sqlite3_db_mutex(store_db));
	return err;
}

int store_host_del(u32 id)
{
	sqlite3_stmt *s = sql("DELETE FROM hosts WHERE id = ?1");

	sqlite3_bind_int(s, 1, id);
	return sql_done(s);
}

int store_hosts(struct store_host **out, size_t *n)
{
	sqlite3_stmt *s = sql("SELECT id, addr, port, name, uuid FROM hosts ORDER BY id");
	void *list = NULL;
	struct store_host *h;

	*n = 0;
	while (sql_row(s) && (h = mesh_grow(&list, n, sizeof(*h)))) {
		h->id = sqlite3_column_int(s, 0);
		row_text(s, 1, h->addr, sizeof(h->addr));
		h->port = sqlite3_column_int(s, 2);
		row_text(s, 3, h->name, sizeof(h->name));
		row_uuid(s, 4, &h->uuid);
	}
	sqlite3_finalize(s);
	*out = list;
	return 0;
}

static bool host_is(const struct store_host *h, const char *what)
{
	char text[MUUID_TEXT], both[80];

	muuid_text(&h->uuid, text);
	snprintf(both, sizeof(both), "%s:%u", h->addr, h->port);
	return !strcmp(h->name, what) || !strcmp(h->addr, what) || !strcmp(both, what) ||
	       !strcasecmp(text, what);
}

int store_host_find(const char *what, struct store_host *out)
{
	struct store_host *all;
	size_t i, n;
	int err = -ENOENT;

	store_hosts(&all, &n);
	for (i = 0; i < n && err; i++) {
		if (host_is(&all[i], what)) {
			*out = all[i];
			err = 0;
		}
	}
	free(all);
	return err;
}

int store_host_by_uuid(const struct muuid *uuid, struct store_host *out)
{
	char text[MUUID_TEXT];

	if (muuid_null(uuid))
		return -ENOENT;
	muuid_text(uuid, text);
	return store_host_find(text, out);
}

int store_intents_add(const struct store_intent *i, size_t n)
{
	sqlite3_stmt *s;
	int err = 0;

	sqlite3_mutex_enter(sqlite3_db_mutex(store_db));
	sql_done(sql("BEGIN IMMEDIATE"));
	for (; n && !err; n--, i++) {
		s = sql("INSERT INTO intents (extent, volume, name, host, drive, length)"
			" VALUES (?1, ?2, ?3, ?4, ?5, ?6)");
		sql_uuid(s, 1, &i->extent);
		sql_uuid(s, 2, &i->volume);
		sql_text(s, 3, i->name);
		sql_uuid(s, 4, &i->host);
		sql_uuid(s, 5, &i->drive);
		sqlite3_bind_int64(s, 6, i->length);
		err = sql_done(s);
	}
	err = sql_end(err);
	sqlite3_mutex_leave(sqlite3_db_mutex(store_db));
	return err;
}

int sql_end(int err)
{
	int e = sql_done(sql(err ? "ROLLBACK" : "COMMIT"));

	return err ? err : e;
}

int store_intents(struct store_intent **out, size_t *n)
{
	sqlite3_stmt *s = sql("SELECT extent, volume, name, host, drive, length FROM intents");
	struct store_intent *i;
	void *list = NULL;

	*n = 0;
	while (sql_row(s) && (i = mesh_grow(&list, n, sizeof(*i)))) {
		row_uuid(s, 0, &i->extent);
		row_uuid(s, 1, &i->volume);
		row_text(s, 2, i->name, sizeof(i->name));
		row_uuid(s, 3, &i->host);
		row_uuid(s, 4, &i->drive);
		i->length = sqlite3_column_int64(s, 5);
	}
	sqlite3_finalize(s);
	*out = list;
	return 0;
}

int store_intent_del(const struct muuid *extent)
{
	sqlite3_stmt *s = sql("DELETE FROM intents WHERE extent = ?1");

	sql_uuid(s, 1, extent);
	return sql_done(s);
}

int store_drive_put(const struct muuid *uuid, const char *path)
{
	sqlite3_stmt *s = sql("INSERT OR REPLACE INTO drives (uuid, path) VALUES (?1, ?2)");

	sql_uuid(s, 1, uuid);
	sql_text(s, 2, path);
	return sql_done(s);
}

int store_drive_del(const struct muuid *uuid)
{
	sqlite3_stmt *s = sql("DELETE FROM drives WHERE uuid = ?1");

	sql_uuid(s, 1, uuid);
	return sql_done(s);
}

int store_drives_missing(const struct muuid *have, size_t n, size_t *missing)
{
	sqlite3_stmt *s = sql("SELECT uuid FROM drives");
	struct muuid u;
	size_t i;

	*missing = 0;
	while (sql_row(s)) {
		row_uuid(s, 0, &u);
		for (i = 0; i < n && !muuid_equal(&have[i], &u); i++)
			;
		*missing += i == n;
	}
	sqlite3_finalize(s);
	return 0;
}
