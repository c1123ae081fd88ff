// SPDX-License-Identifier: GPL-2.0-only
/* The store's table of volumes. A layout is kept as its record's bytes. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/machine/guard.h"
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
	return volume_one(sql("SELECT " COLUMNS PENDING " FROM volumes WHERE uuid = ?1", sql_uuid(uuid)),
			  v, l);
}

int store_volume_find(const char *what, struct store_volume *v, struct layout *l)
{
	struct muuid u;

	if (!muuid_parse(what, &u))
		return store_volume_get(&u, v, l);
	return volume_one(sql("SELECT " COLUMNS PENDING " FROM volumes WHERE name = ?1", sql_text(what)),
			  v, l);
}

static void list_row(sqlite3_stmt *s, void *item)
{
	volume_row(s, item, NULL);
}

int store_volumes(struct store_volume **out, size_t *n)
{
	return sql_list(sql("SELECT " COLUMNS PENDING " FROM volumes ORDER BY name"), list_row,
			sizeof(**out), (void **)out, n);
}

#define PUT_ROW "INSERT INTO volumes (" COLUMNS ")"				\
	" VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)"			\
	" ON CONFLICT (uuid) DO UPDATE SET name = ?2, version = ?3, recorded = ?4,"	\
	" attached = ?5, readonly = ?6, io_timeout = ?7, state = ?8, note = ?9, layout = ?10"

static int put_row(const struct store_volume *v, const void *record, int bytes, bool last)
{
	return sql_run(last ? PUT_ROW ", pending = NULL" : PUT_ROW, sql_uuid(&v->uuid),
		       sql_text(v->name), sql_num(v->version), sql_num(v->recorded),
		       sql_num(v->attached), sql_num(v->readonly), sql_num(v->io_timeout_ms),
		       sql_num(v->state), sql_text(v->note), sql_bytes(record, bytes));
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
	return sql_run("DELETE FROM intents WHERE volume = ?1", sql_uuid(volume));
}

int store_volume_begin(const struct store_volume *v, const struct layout *l,
		       const struct store_intent *i, size_t n)
{
	int bytes, err;
	void *record __free(free) = encode(l, &bytes);

	if (!record)
		return bytes;
	err = sql_begin();
	if (!err)
		err = put_row(v, record, bytes, true);
	if (!err)
		err = intents_put(i, n);
	return sql_end(err);
}

/* @last: nothing that was begun is left. */
static int volume_put(const struct store_volume *v, const struct layout *l, bool last)
{
	struct store_volume old = { 0 };
	int bytes, err;
	void *record __free(free) = encode(l, &bytes);

	if (!record)
		return bytes;
	err = sql_begin();
	if (!err) {
		err = store_volume_get(&v->uuid, &old, NULL);
		err = err == -ENOENT ? 0 : err;
	}
	if (!err)
		err = old.version > l->version ? -ESTALE : put_row(v, record, bytes, last);
	if (!err && last)
		err = forget_intents(&v->uuid);
	return sql_end(err);
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
	return sql_run("UPDATE volumes SET recorded = ?2, attached = ?3, readonly = ?4,"
		       " io_timeout = ?5, state = ?6, note = ?7 WHERE uuid = ?1", sql_uuid(&v->uuid),
		       sql_num(v->recorded), sql_num(v->attached), sql_num(v->readonly),
		       sql_num(v->io_timeout_ms), sql_num(v->state), sql_text(v->note));
}

int store_pending_set(const struct muuid *uuid, const struct layout *l)
{
	int bytes = 0;
	void *record __free(free) = l ? encode(l, &bytes) : NULL;

	if (l && !record)
		return bytes;
	return sql_run("UPDATE volumes SET pending = ?2 WHERE uuid = ?1", sql_uuid(uuid),
		       sql_bytes(record, bytes));
}

int store_pending_get(const struct muuid *uuid, struct layout *l)
{
	sqlite3_stmt *s = sql("SELECT pending FROM volumes WHERE uuid = ?1 AND pending IS NOT NULL",
			      sql_uuid(uuid));
	int err = sql_row(s);

	if (err > 0)
		err = layout_decode(sqlite3_column_blob(s, 0), sqlite3_column_bytes(s, 0), l);
	else if (!err)
		err = -ENOENT;
	sqlite3_finalize(s);
	return err;
}

int store_volume_erase(const struct muuid *uuid)
{
	int err = sql_begin();

	if (!err)
		err = sql_run("DELETE FROM frees WHERE volume = ?1", sql_uuid(uuid));
	if (!err)
		err = forget_intents(uuid);
	if (!err)
		err = sql_run("DELETE FROM volumes WHERE uuid = ?1", sql_uuid(uuid));
	return sql_end(err);
}
