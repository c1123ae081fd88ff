// SPDX-License-Identifier: GPL-2.0-only
/* The store's table of volumes. A layout is kept as its record's bytes. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/libmesh/mesh.h"
#include "userspace/meshd/sql.h"
#include "userspace/meshd/store.h"

#define COLUMNS "uuid, name, version, recorded, attached, readonly, preempt, state, layout"

static int volume_row(sqlite3_stmt *s, struct store_volume *v, struct layout *l)
{
	memset(v, 0, sizeof(*v));
	row_uuid(s, 0, &v->uuid);
	row_text(s, 1, v->name, sizeof(v->name));
	v->version = sqlite3_column_int64(s, 2);
	v->recorded = sqlite3_column_int64(s, 3);
	v->attached = sqlite3_column_int(s, 4);
	v->readonly = sqlite3_column_int(s, 5);
	v->preempt = sqlite3_column_int(s, 6);
	v->state = sqlite3_column_int(s, 7);
	if (!l)
		return 0;
	return layout_decode(sqlite3_column_blob(s, 8), sqlite3_column_bytes(s, 8), l);
}

int store_volume_get(const struct muuid *uuid, struct store_volume *v, struct layout *l)
{
	sqlite3_stmt *s = sql("SELECT " COLUMNS " FROM volumes WHERE uuid = ?1");
	int err = -ENOENT;

	sql_uuid(s, 1, uuid);
	if (sql_row(s))
		err = volume_row(s, v, l);
	sqlite3_finalize(s);
	return err;
}

int store_volume_find(const char *what, struct store_volume *v, struct layout *l)
{
	sqlite3_stmt *s;
	struct muuid u;
	int err = -ENOENT;

	if (!muuid_parse(what, &u))
		return store_volume_get(&u, v, l);
	s = sql("SELECT " COLUMNS " FROM volumes WHERE name = ?1");
	sql_text(s, 1, what);
	if (sql_row(s))
		err = volume_row(s, v, l);
	sqlite3_finalize(s);
	return err;
}

int store_volumes(struct store_volume **out, size_t *n)
{
	sqlite3_stmt *s = sql("SELECT " COLUMNS " FROM volumes ORDER BY name");
	struct store_volume *v;
	void *list = NULL;

	*n = 0;
	while (sql_row(s) && (v = mesh_grow(&list, n, sizeof(*v))))
		volume_row(s, v, NULL);
	sqlite3_finalize(s);
	*out = list;
	return 0;
}

static int put_row(const struct store_volume *v, const void *record, int bytes)
{
	sqlite3_stmt *s = sql("INSERT INTO volumes (" COLUMNS ")"
			      " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)"
			      " ON CONFLICT (uuid) DO UPDATE SET name = ?2, version = ?3,"
			      " recorded = ?4, attached = ?5, readonly = ?6, preempt = ?7,"
			      " state = ?8, layout = ?9");

	sql_uuid(s, 1, &v->uuid);
	sql_text(s, 2, v->name);
	sqlite3_bind_int64(s, 3, v->version);
	sqlite3_bind_int64(s, 4, v->recorded);
	sqlite3_bind_int(s, 5, v->attached);
	sqlite3_bind_int(s, 6, v->readonly);
	sqlite3_bind_int(s, 7, v->preempt);
	sqlite3_bind_int(s, 8, v->state);
	sqlite3_bind_blob(s, 9, record, bytes, SQLITE_TRANSIENT);
	return sql_done(s);
}

int store_volume_commit(const struct store_volume *v, const struct layout *l)
{
	struct store_volume old;
	void *record = malloc(LAYOUT_BYTES_MAX);
	sqlite3_stmt *s;
	int bytes, err;

	bytes = record ? layout_encode(l, record, LAYOUT_BYTES_MAX) : -ENOMEM;
	if (bytes < 0) {
		free(record);
		return bytes;
	}
	sqlite3_mutex_enter(sqlite3_db_mutex(store_db));
	sql_done(sql("BEGIN IMMEDIATE"));
	err = store_volume_get(&v->uuid, &old, NULL);
	if (!err && old.version > l->version)
		err = -ESTALE;
	else
		err = put_row(v, record, bytes);
	if (!err) {
		s = sql("DELETE FROM intents WHERE volume = ?1");
		sql_uuid(s, 1, &v->uuid);
		err = sql_done(s);
	}
	err = sql_end(err);
	sqlite3_mutex_leave(sqlite3_db_mutex(store_db));
	free(record);
	return err;
}

int store_volume_flags(const struct store_volume *v)
{
	sqlite3_stmt *s = sql("UPDATE volumes SET recorded = ?2, attached = ?3, readonly = ?4,"
			      " preempt = ?5, state = ?6 WHERE uuid = ?1");

	sql_uuid(s, 1, &v->uuid);
	sqlite3_bind_int64(s, 2, v->recorded);
	sqlite3_bind_int(s, 3, v->attached);
	sqlite3_bind_int(s, 4, v->readonly);
	sqlite3_bind_int(s, 5, v->preempt);
	sqlite3_bind_int(s, 6, v->state);
	return sql_done(s);
}

int store_volume_erase(const struct muuid *uuid)
{
	sqlite3_stmt *s = sql("DELETE FROM volumes WHERE uuid = ?1");

	sql_uuid(s, 1, uuid);
	return sql_done(s);
}
