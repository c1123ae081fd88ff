/* SPDX-License-Identifier: GPL-2.0-only */
/* Inside the store: short names for what SQLite's interface makes long. */
#ifndef MESHD_SQL_H
#define MESHD_SQL_H

#include <sqlite3.h>

#include "userspace/meshd/meshd.h"

extern sqlite3 *store_db;

/* What ?1, ?2, ... of a statement are. */
struct sql_value {
	enum { SQL_NUM, SQL_TEXT, SQL_BYTES } kind;
	const void *p;		/* NULL: as in SQL */
	u64	n;		/* the number, or how many bytes */
};

static inline struct sql_value sql_num(u64 n)
{
	return (struct sql_value) { SQL_NUM, NULL, n };
}

static inline struct sql_value sql_text(const char *text)
{
	return (struct sql_value) { SQL_TEXT, text, 0 };
}

static inline struct sql_value sql_bytes(const void *p, size_t n)
{
	return (struct sql_value) { SQL_BYTES, p, n };
}

static inline struct sql_value sql_uuid(const struct muuid *u)
{
	return sql_bytes(u->b, sizeof(u->b));
}

sqlite3_stmt *sql_bound(const char *text, const struct sql_value *v, int n);
/* A statement with its values; NULL was logged, and all below take it. */
#define sql(text, ...) sql_bound(text, (struct sql_value[]) { { 0 }, ##__VA_ARGS__ },	\
		sizeof((struct sql_value[]) { { 0 }, ##__VA_ARGS__ }) / sizeof(struct sql_value))
/* The same, carried out. */
#define sql_run(text, ...) sql_done(sql(text, ##__VA_ARGS__))

int sql_done(sqlite3_stmt *s);		/* step once, finalize, errno */
/* 1: there is a row, 0: no more, -EIO: unknown. It was logged. */
int sql_row(sqlite3_stmt *s);
/*
 * All rows, each filled in by @row, and the end of @s. What was not read to the end is no
 * list: @out is NULL then, and @n zero.
 */
int sql_list(sqlite3_stmt *s, void (*row)(sqlite3_stmt *s, void *item), size_t size, void **out,
	     size_t *n);
/*
 * A transaction, in which no other thread uses the store. After an error of sql_begin(), which is
 * given to sql_end() as well, nothing is written: each statement would be a transaction by itself.
 */
int sql_begin(void);
int sql_end(int err);			/* COMMIT, or with an error ROLLBACK */
struct store_intent;
int intents_put(const struct store_intent *i, size_t n);	/* within a transaction */
void row_uuid(sqlite3_stmt *s, int at, struct muuid *u);
void row_text(sqlite3_stmt *s, int at, char *out, size_t size);

#endif
