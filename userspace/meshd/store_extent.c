// SPDX-License-Identifier: GPL-2.0-only
/* The store's tables of extents: intents, and those that a deletion frees. */
#include "userspace/meshd/sql.h"
#include "userspace/meshd/store.h"

int intents_put(const struct store_intent *i, size_t n)
{
	int err = 0;

	for (; n && !err; n--, i++)
		err = sql_run("INSERT INTO intents (extent, volume, name, host, drive, length)"
			      " VALUES (?1, ?2, ?3, ?4, ?5, ?6)", sql_uuid(&i->extent),
			      sql_uuid(&i->volume), sql_text(i->name), sql_uuid(&i->host),
			      sql_uuid(&i->drive), sql_num(i->length));
	return err;
}

int store_intents_add(const struct store_intent *i, size_t n)
{
	int err = sql_begin();

	if (!err)
		err = intents_put(i, n);
	return sql_end(err);
}

static void intent_row(sqlite3_stmt *s, void *item)
{
	struct store_intent *i = item;

	row_uuid(s, 0, &i->extent);
	row_uuid(s, 1, &i->volume);
	row_text(s, 2, i->name, sizeof(i->name));
	row_uuid(s, 3, &i->host);
	row_uuid(s, 4, &i->drive);
	i->length = sqlite3_column_int64(s, 5);
}

int store_intents(struct store_intent **out, size_t *n)
{
	return sql_list(sql("SELECT extent, volume, name, host, drive, length FROM intents"), intent_row,
			sizeof(**out), (void **)out, n);
}

int store_intent_del(const struct muuid *extent)
{
	return sql_run("DELETE FROM intents WHERE extent = ?1", sql_uuid(extent));
}

static int free_put(const struct store_free *f)
{
	return sql_run("INSERT OR REPLACE INTO frees (extent, volume, host, drive, holder,"
		       " version, number, preempt) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
		       sql_uuid(&f->extent), sql_uuid(&f->volume), sql_uuid(&f->host),
		       sql_uuid(&f->drive), sql_uuid(&f->holder), sql_num(f->version),
		       sql_num(f->commit), sql_num(f->preempt));
}

int store_volume_doom(const struct store_volume *v, const struct store_free *f, size_t n)
{
	int err = sql_begin();

	/* What is noted already, of members that were replaced, goes with the rest. */
	for (; n && !err; n--, f++)
		err = free_put(f);
	if (!err)
		err = store_volume_flags(v);
	return sql_end(err);
}

int store_frees_add(const struct store_free *f, size_t n)
{
	int err = sql_begin();

	for (; n && !err; n--, f++)
		err = free_put(f);
	return sql_end(err);
}

static void free_row(sqlite3_stmt *s, void *item)
{
	struct store_free *f = item;

	row_uuid(s, 0, &f->extent);
	row_uuid(s, 1, &f->volume);
	row_uuid(s, 2, &f->host);
	row_uuid(s, 3, &f->drive);
	row_uuid(s, 4, &f->holder);
	f->version = sqlite3_column_int64(s, 5);
	f->commit = sqlite3_column_int64(s, 6);
	f->preempt = sqlite3_column_int(s, 7);
}

int store_frees(const struct muuid *volume, struct store_free **out, size_t *n)
{
	return sql_list(sql("SELECT extent, volume, host, drive, holder, version, number, preempt"
			    " FROM frees WHERE volume = ?1 OR ?1 IS NULL",
			    volume ? sql_uuid(volume) : sql_bytes(NULL, 0)), free_row,
			sizeof(**out), (void **)out, n);
}

int store_free_del(const struct muuid *extent)
{
	return sql_run("DELETE FROM frees WHERE extent = ?1", sql_uuid(extent));
}
