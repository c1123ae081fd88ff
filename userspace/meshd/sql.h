/* SPDX-License-Identifier: GPL-2.0-only */
/* Inside the store: short names for what SQLite's interface makes long. */
#ifndef MESHD_SQL_H
#define MESHD_SQL_H

#include <sqlite3.h>

#include "userspace/meshd/meshd.h"

extern sqlite3 *store_db;

sqlite3_stmt *sql(const char *text);	/* NULL was logged; all below take it */
int sql_done(sqlite3_stmt *s);		/* step once, finalize, errno */
/* 1: there is a row, 0: no more, -EIO: unknown. It was logged. */
int sql_row(sqlite3_stmt *s);
/*
 * The end of a list; @more is what sql_row() returned last. What was not read to the
 * end is no list: @list is freed then, and @n zero.
 */
int sql_listed(sqlite3_stmt *s, int more, void **list, size_t *n);
int sql_end(int err);			/* COMMIT or ROLLBACK */
struct store_intent;
int intents_put(const struct store_intent *i, size_t n);	/* within a transaction */
void sql_uuid(sqlite3_stmt *s, int at, const struct muuid *u);
void sql_text(sqlite3_stmt *s, int at, const char *text);
void row_uuid(sqlite3_stmt *s, int at, struct muuid *u);
void row_text(sqlite3_stmt *s, int at, char *out, size_t size);

#endif
