// SPDX-License-Identifier: GPL-2.0-only
/* The store's tables of extents: intents, and those that a deletion frees. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/libmesh/mesh.h"
#include "userspace/meshd/sql.h"
#include "userspace/meshd/store.h"

int intents_put(const struct store_intent *i, size_t n)
{
	sqlite3_stmt *s;
	int err = 0;

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
	return err;
}

int store_intents_add(const struct store_intent *i, size_t n)
{
	int err;

	sqlite3_mutex_enter(sqlite3_db_mutex(store_db));
	sql_done(sql("BEGIN IMMEDIATE"));
	err = sql_end(intents_put(i, n));
	sqlite3_mutex_leave(sqlite3_db_mutex(store_db));
	return err;
}

int store_intents(struct store_intent **out, size_t *n)
{
	sqlite3_stmt *s = sql("SELECT extent, volume, name, host, drive, length FROM intents");
	struct store_intent *i;
	void *list = NULL;
	int more, err;

	*n = 0;
	while ((more = sql_row(s)) > 0 && (i = mesh_grow(&list, n, sizeof(*i)))) {
		row_uuid(s, 0, &i->extent);
		row_uuid(s, 1, &i->volume);
		row_text(s, 2, i->name, sizeof(i->name));
		row_uuid(s, 3, &i->host);
		row_uuid(s, 4, &i->drive);
		i->length = sqlite3_column_int64(s, 5);
	}
	err = sql_listed(s, more, &list, n);
	*out = list;
	return err;
}

int store_intent_del(const struct muuid *extent)
{
	sqlite3_stmt *s = sql("DELETE FROM intents WHERE extent = ?1");

	sql_uuid(s, 1, extent);
	return sql_done(s);
}

static int free_put(const struct store_free *f)
{
	sqlite3_stmt *s = sql("INSERT OR REPLACE INTO frees (extent, volume, host, drive, holder,"
			      " version, number, preempt) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)");

	sql_uuid(s, 1, &f->extent);
	sql_uuid(s, 2, &f->volume);
	sql_uuid(s, 3, &f->host);
	sql_uuid(s, 4, &f->drive);
	sql_uuid(s, 5, &f->holder);
	sqlite3_bind_int64(s, 6, f->version);
	sqlite3_bind_int64(s, 7, f->commit);
	sqlite3_bind_int(s, 8, f->preempt);
	return sql_done(s);
}

int store_volume_doom(const struct store_volume *v, const struct store_free *f, size_t n)
{
	sqlite3_stmt *s;
	int err;

	sqlite3_mutex_enter(sqlite3_db_mutex(store_db));
	sql_done(sql("BEGIN IMMEDIATE"));
	s = sql("DELETE FROM frees WHERE volume = ?1");
	sql_uuid(s, 1, &v->uuid);
	err = sql_done(s);
	for (; n && !err; n--, f++)
		err = free_put(f);
	if (!err)
		err = store_volume_flags(v);
	err = sql_end(err);
	sqlite3_mutex_leave(sqlite3_db_mutex(store_db));
	return err;
}

int store_frees(const struct muuid *volume, struct store_free **out, size_t *n)
{
	sqlite3_stmt *s = sql("SELECT extent, volume, host, drive, holder, version, number, preempt"
			      " FROM frees WHERE volume = ?1");
	struct store_free *f;
	void *list = NULL;
	int more, err;

	*n = 0;
	sql_uuid(s, 1, volume);
	while ((more = sql_row(s)) > 0 && (f = mesh_grow(&list, n, sizeof(*f)))) {
		row_uuid(s, 0, &f->extent);
		row_uuid(s, 1, &f->volume);
		row_uuid(s, 2, &f->host);
		row_uuid(s, 3, &f->drive);
		row_uuid(s, 4, &f->holder);
		f->version = sqlite3_column_int64(s, 5);
		f->commit = sqlite3_column_int64(s, 6);
		f->preempt = sqlite3_column_int(s, 7);
	}
	err = sql_listed(s, more, &list, n);
	*out = list;
	return err;
}

int store_free_del(const struct muuid *extent)
{
	sqlite3_stmt *s = sql("DELETE FROM frees WHERE extent = ?1");

	sql_uuid(s, 1, extent);
	return sql_done(s);
}
