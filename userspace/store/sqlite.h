/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The store in a file of this host, by SQLite: the default, and what a cluster of one has.
 * One process has the file (a lock on it); each of its threads has a handle.
 */
#ifndef STORE_SQLITE_H
#define STORE_SQLITE_H

#include "userspace/store/store.h"

struct store_sqlite;

/**
 * store_sqlite_open() - open the file, or make it
 * @why: becomes a sentence on error
 *
 * Raises the term. -EBUSY: another process has it; -EUCLEAN: it is damaged, or no store, or
 * beside the log of another one; -EPROTONOSUPPORT: a newer meshd wrote it. A file that is damaged
 * is never replaced, nor a log without its file.
 */
int store_sqlite_open(const char *path, struct store_sqlite **out, char *why, size_t size);
/* All handles are closed before. The file is whole afterwards without its log. */
void store_sqlite_close(struct store_sqlite *q);

/*
 * A handle; NULL: no memory, or no descriptor. Its time-out bounds the wait for other threads: a
 * call that is in a system call of its own on a disk that hangs returns when the disk does.
 */
struct store *store_sqlite_handle(struct store_sqlite *q);

/*
 * How far back a watch may begin, in revisions (10,000 unless set, at least 1); the next change
 * drops older ones. A watch whose handle does not read may lag that far, then it is lost.
 */
void store_sqlite_history(struct store_sqlite *q, u64 revisions);

/*
 * A whole copy of the file as of now, made beside transactions; @path must not be there (-EEXIST).
 * It has another identity. Any thread; PATH-new is the copy until it is whole.
 */
int store_sqlite_backup(struct store_sqlite *q, const char *path);

#endif
