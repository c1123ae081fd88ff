// SPDX-License-Identifier: GPL-2.0-only
/* The store's table of volumes. A layout is kept as its record's bytes. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/libmesh/mesh.h"
#include "userspace/meshd/sql.h"
#include "userspace/meshd/store.h"

#define COLUMNS "uuid, name, version, recorded, attached, readonly, io_timeout, state, note, layout"
#define PENDING ", pending IS NOT NULL"

static int volume_row(sqlite3_stmt *s, struct store_volume *v, struct layout *l)
{
	memset(v, 0, sizeof(*v));
	row_uuid(s, 0, &v->uuid);
	row_text(s, 1, v->name, sizeof(v->name));
	v->version = sqlite3_column_int64(s, 2);
	v->recorded = sqlite3_column_int64(s, 3);
	v->attached = sqlite3_column_int(s, 4);
	v->readonly = sqlite3_column_int(s, 5);
	v->io_timeout_ms = sqlite3_column_int(s, 6);
	v->state = sqlite3_column_int(s, 7);
	row_text(s, 8, v->note, sizeof(v->note));
	v->pending = sqlite3_column_int(s, 10);
	if (!l)
		return 0;
	return layout_decode(sqlite3_column_blob(s, 9), sqlite3_column_bytes(s, 9), l);
}

static int volume_one(sqlite3_stmt *s, struct store_volume *v, struct layout *l)
{
	int err = sql_row(s);

	err = err > 0 ? volume_row(s, v, l) : err ? err : -ENOENT;
	sqlite3_finalize(s);
	return err;
}

int store_volume_get(const struct muuid *uuid, struct store_volume *v, struct layout *l)
{
	sqlite3_stmt *s = sql("SELECT " COLUMNS PENDING " FROM volumes WHERE uuid = ?1");

	sql_uuid(s, 1, uuid);
	return volume_one(s, v, l);
}

int store_volume_find(const char *what, struct store_volume *v, struct layout *l)
{
	sqlite3_stmt *s;
	struct muuid u;

	if (!muuid_parse(what, &u))
		return store_volume_get(&u, v, l);
	s = sql("SELECT " COLUMNS PENDING " FROM volumes WHERE name = ?1");
	sql_text(s, 1, what);
	return volume_one(s, v, l);
}

int store_volumes(struct store_volume **out, size_t *n)
{
	sqlite3_stmt *s = sql("SELECT " COLUMNS PENDING " FROM volumes ORDER BY name");
	struct store_volume *v;
	void *list = NULL;
	int more, err;

	*n = 0;
	while ((more = sql_row(s)) > 0 && (v = mesh_grow(&list, n, sizeof(*v))))
		volume_row(s, v, NULL);
	err = sql_listed(s, more, &list, n);
	*out = list;
	return err;
}

#define PUT_ROW "INSERT INTO volumes (" COLUMNS ")"				\
	" VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)"			\
	" ON CONFLICT (uuid) DO UPDATE SET name = ?2, version = ?3, recorded = ?4,"	\
	" attached = ?5, readonly = ?6, io_timeout = ?7, state = ?8, note = ?9, layout = ?10"

static int put_row(const struct store_volume *v, const void *record, int bytes, bool last)
{
	sqlite3_stmt *s = sql(last ? PUT_ROW ", pending = NULL" : PUT_ROW);

	sql_uuid(s, 1, &v->uuid);
	sql_text(s, 2, v->name);
	sqlite3_bind_int64(s, 3, v->version);
	sqlite3_bind_int64(s, 4, v->recorded);
	sqlite3_bind_int(s, 5, v->attached);
	sqlite3_bind_int(s, 6, v->readonly);
	sqlite3_bind_int(s, 7, v->io_timeout_ms);
	sqlite3_bind_int(s, 8, v->state);
	sql_text(s, 9, v->note);
	sqlite3_bind_blob(s, 10, record, bytes, SQLITE_TRANSIENT);
	return sql_done(s);
}

static void *encode(const struct layout *l, int *bytes)
{
	void *record = malloc(LAYOUT_BYTES_MAX);

	*bytes = record ? layout_encode(l, record, LAYOUT_BYTES_MAX) : -ENOMEM;
	if (*bytes >= 0)
		return record;
	free(record);
	return NULL;
}

static int forget_intents(const struct muuid *volume)
{
	sqlite3_stmt *s = sql("DELETE FROM intents WHERE volume = ?1");

	sql_uuid(s, 1, volume);
	return sql_done(s);
}

int store_volume_begin(const struct store_volume *v, const struct layout *l,
		       const struct store_intent *i, size_t n)
{
	int bytes, err;
	void *record = encode(l, &bytes);

	if (!record)
		return bytes;
	sqlite3_mutex_enter(sqlite3_db_mutex(store_db));
	sql_done(sql("BEGIN IMMEDIATE"));
	err = put_row(v, record, bytes, true);
	if (!err)
		err = intents_put(i, n);
	err = sql_end(err);
	sqlite3_mutex_leave(sqlite3_db_mutex(store_db));
	free(record);
	return err;
}

/* @last: nothing that was begun is left. */
static int volume_put(const struct store_volume *v, const struct layout *l, bool last)
{
	struct store_volume old;
	int bytes, err;
	void *record = encode(l, &bytes);

	if (!record)
		return bytes;
	sqlite3_mutex_enter(sqlite3_db_mutex(store_db));
	sql_done(sql("BEGIN IMMEDIATE"));
	err = store_volume_get(&v->uuid, &old, NULL);
	if (!err && old.version > l->version)
		err = -ESTALE;
	else if (!err || err == -ENOENT)
		err = put_row(v, record, bytes, last);
	if (!err && last)
		err = forget_intents(&v->uuid);
	err = sql_end(err);
	sqlite3_mutex_leave(sqlite3_db_mutex(store_db));
	free(record);
	return err;
}

int store_volume_commit(const struct store_volume *v, const struct layout *l)
{
	return volume_put(v, l, true);
}

int store_volume_adopt(const struct store_volume *v, const struct layout *l)
{
	return volume_put(v, l, false);
}

int store_volume_flags(const struct store_volume *v)
{
	sqlite3_stmt *s = sql("UPDATE volumes SET recorded = ?2, attached = ?3, readonly = ?4,"
			      " io_timeout = ?5, state = ?6, note = ?7 WHERE uuid = ?1");

	sql_uuid(s, 1, &v->uuid);
	sqlite3_bind_int64(s, 2, v->recorded);
	sqlite3_bind_int(s, 3, v->attached);
	sqlite3_bind_int(s, 4, v->readonly);
	sqlite3_bind_int(s, 5, v->io_timeout_ms);
	sqlite3_bind_int(s, 6, v->state);
	sql_text(s, 7, v->note);
	return sql_done(s);
}

int store_pending_set(const struct muuid *uuid, const struct layout *l)
{
	int bytes = 0;
	void *record = l ? encode(l, &bytes) : NULL;
	sqlite3_stmt *s;

	if (l && !record)
		return bytes;
	s = sql("UPDATE volumes SET pending = ?2 WHERE uuid = ?1");
	sql_uuid(s, 1, uuid);
	if (record)
		sqlite3_bind_blob(s, 2, record, bytes, SQLITE_TRANSIENT);
	free(record);
	return sql_done(s);
}

int store_pending_get(const struct muuid *uuid, struct layout *l)
{
	sqlite3_stmt *s = sql("SELECT pending FROM volumes WHERE uuid = ?1 AND pending IS NOT NULL");
	int err;

	sql_uuid(s, 1, uuid);
	err = sql_row(s);
	if (err > 0)
		err = layout_decode(sqlite3_column_blob(s, 0), sqlite3_column_bytes(s, 0), l);
	else if (!err)
		err = -ENOENT;
	sqlite3_finalize(s);
	return err;
}

int store_volume_erase(const struct muuid *uuid)
{
	sqlite3_stmt *s;
	int err;

	sqlite3_mutex_enter(sqlite3_db_mutex(store_db));
	sql_done(sql("BEGIN IMMEDIATE"));
	s = sql("DELETE FROM frees WHERE volume = ?1");
	sql_uuid(s, 1, uuid);
	err = sql_done(s);
	if (!err)
		err = forget_intents(uuid);
	if (!err) {
		s = sql("DELETE FROM volumes WHERE uuid = ?1");
		sql_uuid(s, 1, uuid);
		err = sql_done(s);
	}
	err = sql_end(err);
	sqlite3_mutex_leave(sqlite3_db_mutex(store_db));
	return err;
}
