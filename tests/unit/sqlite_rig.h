/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The store in a file of a folder of its own, and a disk that fails: writes by SQLite's table of
 * system calls, syncs by fsync() and fdatasync() of this program, which SQLite finds first.
 */
#ifndef TESTS_UNIT_SQLITE_RIG_H
#define TESTS_UNIT_SQLITE_RIG_H

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "userspace/store/sq.h"

static char folder[64], file[96], copy[96], why[512];
static struct store_sqlite *Q;
static int write_errno, sync_errno;	/* 0: the disk works */
static unsigned int sync_hang_ms;
static bool sync_none;			/* where no file has to outlive the host */

/* Inodes of the syncs so far, the last ones. */
static ino_t synced[64];
static unsigned int syncs;

static int faulty_sync(int fd, long call)
{
	unsigned int ms = __atomic_load_n(&sync_hang_ms, __ATOMIC_RELAXED);
	unsigned int n = __atomic_fetch_add(&syncs, 1, __ATOMIC_RELAXED);
	struct stat st;

	if (!fstat(fd, &st))
		__atomic_store_n(&synced[n % 64], st.st_ino, __ATOMIC_RELAXED);
	if (ms)
		usleep(ms * 1000);
	if (!sync_errno)
		return sync_none ? 0 : syscall(call, fd);
	errno = sync_errno;
	return -1;
}

int fsync(int fd)
{
	return faulty_sync(fd, SYS_fsync);
}

int fdatasync(int fd)
{
	return faulty_sync(fd, SYS_fdatasync);
}

/* Among the syncs from the nth on. */
static inline bool was_synced(const char *path, unsigned int from)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return false;
	for (; from < syncs; from++)
		if (synced[from % 64] == st.st_ino)
			return true;
	return false;
}

static inline ssize_t faulty_write(void)
{
	errno = write_errno;
	return -1;
}

/* 0: as before. */
static inline void fail_writes(int err)
{
	static const char *const call[] = { "write", "pwrite", "pwrite64" };
	sqlite3_vfs *vfs = sqlite3_vfs_find(NULL);

	write_errno = err;
	for (int i = 0; i < 3; i++)
		vfs->xSetSystemCall(vfs, call[i], err ? (sqlite3_syscall_ptr)faulty_write : NULL);
}

static inline int try_open(void)
{
	int err = store_sqlite_open(file, &Q, why, sizeof(why));

	if (err)
		Q = NULL;
	return err;
}

static inline void must_open(void)
{
	if (!try_open())
		return;
	fprintf(stderr, "%s: %s\n", file, why);
	abort();
}

static inline void shut(void)
{
	store_sqlite_close(Q);
	Q = NULL;
}

static inline void run(const char *fmt, const char *a, const char *b)
{
	char command[512];

	snprintf(command, sizeof(command), fmt, a, b);
	if (system(command))
		abort();
}

static inline void rig_begin(void)
{
	const char *tmp = getenv("TMPDIR");

	snprintf(folder, sizeof(folder), "%s/store-XXXXXX", tmp && strlen(tmp) < 32 ? tmp : "/tmp");
	if (!mkdtemp(folder))
		abort();
	snprintf(file, sizeof(file), "%s/store.db", folder);
	snprintf(copy, sizeof(copy), "%s/copy.db", folder);
}

static inline void rig_end(void)
{
	shut();
	run("rm -rf '%s'%s", folder, "");
}

static inline bool there(const char *path, const char *suffix)
{
	char name[128];

	snprintf(name, sizeof(name), "%s%s", path, suffix);
	return !access(name, F_OK);
}

#endif
