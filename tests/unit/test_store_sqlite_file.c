// SPDX-License-Identifier: GPL-2.0-only
/*
 * The file of the store's SQLite engine: another program's, a newer one's, a damaged one, one that
 * another process has, copies and logs that do not belong together, processes that are killed, and
 * a host without memory.
 */
#include <linux/kernel.h>
#include <signal.h>
#include <sys/resource.h>

#include "sqlite_rig.h"
#include "suite.h"

static struct store *S;

static int put(const char *key, const char *value)
{
	struct store_op op = { key, value, strlen(value), 0 };

	return store_txn(S, &(struct store_txn) { NULL, 0, &op, 1 }, NULL);
}

static const char *get(const char *key)
{
	static char text[64];
	struct store_page p;
	int err = store_get(S, key, &p);

	snprintf(text, sizeof(text), "%.*s", err ? 32 : (int)p.kv->len,
		 err ? strerrorname_np(-err) : (const char *)p.kv->value);
	store_page_free(&p);
	return text;
}

static void begin(void)
{
	must_open();
	S = store_sqlite_handle(Q);
	CU_ASSERT_PTR_NOT_NULL_FATAL(S);
}

static void end(void)
{
	store_close(S);
	S = NULL;
	shut();
}

static struct store_identity identity(void)
{
	struct store_identity i;

	CU_ASSERT_EQUAL(store_identity(S, &i), 0);
	return i;
}

/* A store with a few keys, closed. */
static void make_store(void)
{
	rig_begin();
	begin();
	CU_ASSERT_EQUAL(put("a", "1"), 1);
	CU_ASSERT_EQUAL(put("b", "2"), 1);
	end();
}

static char *read_all(const char *path, size_t *size)
{
	struct stat st;
	char *bytes;
	int fd = open(path, O_RDONLY);

	if (fd < 0 || fstat(fd, &st) < 0)
		abort();
	bytes = malloc(st.st_size + 1);
	*size = st.st_size;
	if (read(fd, bytes, *size) != (ssize_t)*size)
		abort();
	close(fd);
	return bytes;
}

static void write_at(const char *path, const void *bytes, size_t n, off_t at)
{
	int fd = open(path, O_RDWR | O_CREAT, 0600);

	if (fd < 0 || pwrite(fd, bytes, n, at) != (ssize_t)n)
		abort();
	close(fd);
}

/* Refused for @err, and left as it was. */
static void refused(int err)
{
	size_t before, after;
	char *was = read_all(file, &before), *is;

	CU_ASSERT_EQUAL(try_open(), err);
	CU_ASSERT(strlen(why) > 20);
	is = read_all(file, &after);
	CU_ASSERT(before == after && !memcmp(was, is, before));
	free(was);
	free(is);
	shut();
}

static void file_made(void)
{
	unsigned int n = syncs;
	char log[112];
	struct stat st;

	rig_begin();
	/* what a start left that was killed while it made the file */
	snprintf(copy, sizeof(copy), "%s/store.db-new", folder);
	write_at(copy, "half", 4, 0);
	begin();
	CU_ASSERT(was_synced(file, n) && was_synced(folder, n));
	CU_ASSERT_EQUAL(identity().term, 1);
	CU_ASSERT_EQUAL(identity().revision, 1);
	CU_ASSERT_FALSE(there(file, "-new"));
	CU_ASSERT(!stat(file, &st) && (st.st_mode & 0777) == 0600);
	CU_ASSERT_EQUAL(put("a", "0"), 1);
	/* acknowledged: durable */
	snprintf(log, sizeof(log), "%s-wal", file);
	n = syncs;
	CU_ASSERT_EQUAL(put("a", "1"), 1);
	CU_ASSERT(was_synced(log, n));
	CU_ASSERT_EQUAL(identity().revision, 3);
	CU_ASSERT(there(file, "-wal"));
	CU_ASSERT_FALSE(there(file, "-shm"));
	end();
	CU_ASSERT_FALSE(there(file, "-wal"));
	begin();
	CU_ASSERT_EQUAL(identity().term, 2);
	CU_ASSERT_STRING_EQUAL(get("a"), "1");
	end();
	/* no name is taken from another file */
	CU_ASSERT_EQUAL(sq_create(copy), 0);
	CU_ASSERT_EQUAL(sq_create(copy), -EEXIST);
	CU_ASSERT_EQUAL(sq_place(copy, file), -EEXIST);
	begin();
	CU_ASSERT_STRING_EQUAL(get("a"), "1");
	end();
	snprintf(file, sizeof(file), "%s/none/store.db", folder);
	CU_ASSERT_EQUAL(try_open(), -ENOENT);
	rig_end();
}

static void file_foreign(void)
{
	sqlite3 *db;

	rig_begin();
	write_at(file, "", 0, 0);
	refused(-EUCLEAN);
	write_at(file, "some text", 9, 0);
	refused(-EUCLEAN);
	CU_ASSERT_EQUAL(truncate(file, 0), 0);
	/* another program's, with a log that it left */
	CU_ASSERT_EQUAL(sqlite3_open(file, &db), SQLITE_OK);
	CU_ASSERT_EQUAL(sqlite3_exec(db, "PRAGMA journal_mode = WAL; CREATE TABLE t (a);"
				     "INSERT INTO t VALUES (1)", NULL, NULL, NULL), SQLITE_OK);
	sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
	sqlite3_close(db);
	CU_ASSERT(there(file, "-wal"));
	refused(-EUCLEAN);
	CU_ASSERT(there(file, "-wal"));
	/* whose own format has the number of ours, and whose tables have other columns */
	write_at(file, "\0\0\0\1", 4, 60);
	refused(-EUCLEAN);
	rig_end();
}

static void file_newer(void)
{
	static const u8 format[] = { 0, SQ_FORMAT + 1 };

	make_store();
	write_at(file, &format[1], 1, 63);
	refused(-EPROTONOSUPPORT);
	write_at(file, &format[0], 1, 63);
	refused(-EUCLEAN);
	rig_end();
}

/* Each page in turn, and each length that is cut. */
static void file_damaged(void)
{
	char page[4096], *good;
	size_t size;

	make_store();
	good = read_all(file, &size);
	CU_ASSERT(size >= 8 * sizeof(page));
	memset(page, 0x5a, sizeof(page));
	for (size_t at = 0; at < size; at += sizeof(page)) {
		write_at(file, page, sizeof(page), at);
		refused(-EUCLEAN);
		write_at(file, good, size, 0);
		CU_ASSERT_EQUAL(truncate(file, at), 0);
		refused(-EUCLEAN);
		write_at(file, good, size, 0);
	}
	/* a row of meta that is lost */
	begin();
	CU_ASSERT_EQUAL(sq_exec(Q->db, S, "DELETE FROM meta"), 0);
	end();
	CU_ASSERT_EQUAL(try_open(), -EUCLEAN);
	write_at(file, good, size, 0);
	begin();
	CU_ASSERT_STRING_EQUAL(get("a"), "1");
	end();
	free(good);
	rig_end();
}

/* Pages that go bad while the store is open: then nothing is answered any more. */
static void file_damaged_later(void)
{
	char *big = malloc(100000), page[4096], key[24];
	struct store_page p;
	size_t size;
	int err = 0;

	rig_begin();
	begin();
	memset(big, 'x', 100000);
	for (int i = 0; i < 80; i++) {
		snprintf(key, sizeof(key), "k/%d", i);
		CU_ASSERT_EQUAL(store_txn(S, &(struct store_txn) { NULL, 0, &(struct store_op) { key, big,
				100000, 0 }, 1 }, NULL), 1);
	}
	end();
	begin();
	free(read_all(file, &size));
	memset(page, 0, sizeof(page));
	for (size_t at = 10 * sizeof(page); at < size; at += sizeof(page))
		write_at(file, page, sizeof(page), at);
	for (int i = 0; !err && i < 80; i++) {
		snprintf(key, sizeof(key), "k/%d", i);
		err = store_get(S, key, &p);
		store_page_free(&p);
	}
	CU_ASSERT_EQUAL(err, -EUCLEAN);
	CU_ASSERT(strlen(store_why(S)) > 20);
	CU_ASSERT_EQUAL(store_range(S, "none/", NULL, 1, 0, &p), -EUCLEAN);
	CU_ASSERT_EQUAL(put("a", "1"), -EUCLEAN);
	CU_ASSERT_EQUAL(store_identity(S, &(struct store_identity) { .id = "" }), -EUCLEAN);
	end();
	free(big);
	rig_end();
}

/* Another program, since SQLite in a forked one would know of the locks of its parent. */
static int open_elsewhere(void)
{
	int status;
	pid_t child = fork();

	if (!child) {
		execl("/proc/self/exe", "open", file, NULL);
		_exit(99);
	}
	if (waitpid(child, &status, 0) != child || !WIFEXITED(status))
		abort();
	return -WEXITSTATUS(status);
}

static void file_locked(void)
{
	char other[96];

	make_store();
	begin();
	CU_ASSERT_EQUAL(open_elsewhere(), -EBUSY);
	/* SQLite's own locks on the file end here */
	write_at(file, "", 0, 0);
	CU_ASSERT_EQUAL(open_elsewhere(), -EBUSY);
	CU_ASSERT_EQUAL(put("a", "2"), 1);
	CU_ASSERT_EQUAL(open_elsewhere(), -EBUSY);
	end();
	CU_ASSERT_EQUAL(open_elsewhere(), 0);
	/* by another name, where the lock is another file */
	begin();
	CU_ASSERT_EQUAL(put("a", "3"), 1);
	memcpy(other, file, sizeof(other));
	CU_ASSERT_EQUAL(symlink(file, copy), 0);
	memcpy(file, copy, sizeof(copy));
	CU_ASSERT_EQUAL(open_elsewhere(), -EBUSY);
	memcpy(file, other, sizeof(other));
	/* twice in one process */
	CU_ASSERT_EQUAL(store_sqlite_open(file, &(struct store_sqlite *) { NULL }, why, sizeof(why)), -EBUSY);
	CU_ASSERT_STRING_EQUAL(get("a"), "3");
	end();
	rig_end();
}

static void file_identity(void)
{
	struct store_identity was, is;

	make_store();
	begin();
	was = identity();
	end();
	run("cp '%s' '%s'", file, copy);
	begin();
	CU_ASSERT_EQUAL(put("a", "9"), 1);
	is = identity();
	CU_ASSERT_STRING_EQUAL(is.id, was.id);
	CU_ASSERT_EQUAL(is.term, was.term + 1);
	CU_ASSERT_EQUAL(is.revision, was.revision + 1);
	end();
	run("mv '%s' '%s'", copy, file);
	begin();
	is = identity();
	CU_ASSERT_STRING_NOT_EQUAL(is.id, was.id);
	CU_ASSERT_EQUAL(is.revision, was.revision);
	end();
	/* made again in its place, perhaps with the same inode */
	run("rm '%s'%s", file, "");
	begin();
	CU_ASSERT_STRING_NOT_EQUAL(identity().id, is.id);
	end();
	rig_end();
}

/* As a killed process leaves it: what it did is in the log. */
static void leave_log(const char *value)
{
	int status;
	pid_t child = fork();

	if (!child) {
		begin();
		_exit(put("a", value) != 1);
	}
	CU_ASSERT(waitpid(child, &status, 0) == child && !status);
	CU_ASSERT(there(file, "-wal"));
}

static void file_log(void)
{
	make_store();
	run("cp '%s' '%s'", file, copy);
	leave_log("log");
	begin();
	CU_ASSERT_STRING_EQUAL(get("a"), "log");
	end();
	/* a copy is put back beside the log of the file that was there */
	leave_log("later");
	run("cp '%s' '%s'", copy, file);
	refused(-EUCLEAN);
	CU_ASSERT_PTR_NOT_NULL(strstr(why, "log of another file"));
	refused(-EUCLEAN);
	run("mv '%s-wal' '%s-wal'", file, copy);
	begin();
	CU_ASSERT_STRING_EQUAL(get("a"), "1");
	CU_ASSERT_EQUAL(store_sqlite_backup(Q, "/dev/null"), -EEXIST);
	end();
	/* a log without its file */
	leave_log("alone");
	run("rm '%s'%s", file, "");
	CU_ASSERT_EQUAL(try_open(), -EUCLEAN);
	CU_ASSERT_FALSE(there(file, ""));
	CU_ASSERT(there(file, "-wal"));
	rig_end();
}

/* The child adds one to a counter, and says so, until it is killed. */
static void count_forever(int pipe)
{
	u64 modified = 0, n = 0;
	char value[24];
	struct store_page p;
	struct store_op op = { .key = "counter", .value = value };
	struct store_compare c = { .key = "counter" };

	begin();
	if (!store_get(S, "counter", &p)) {
		snprintf(value, sizeof(value), "%.*s", (int)p.kv->len, (const char *)p.kv->value);
		modified = p.kv->modified;
		n = strtoull(value, NULL, 10);
	}
	for (;;) {
		op.len = snprintf(value, sizeof(value), "%llu", (unsigned long long)++n);
		c.kind = modified ? STORE_SAME : STORE_ABSENT;
		c.modified = modified;
		if (store_txn(S, &(struct store_txn) { &c, 1, &op, 1 }, &modified) != 1)
			_exit(1);
		if (write(pipe, &n, sizeof(n)) != sizeof(n))
			_exit(2);
	}
}

/* Return: the last number that the child has acknowledged. */
static u64 count_and_kill(unsigned int us)
{
	u64 n, last = 0;
	int ends[2], status;
	pid_t child;

	if (pipe(ends))
		abort();
	child = fork();
	if (!child) {
		close(ends[0]);
		count_forever(ends[1]);
	}
	close(ends[1]);
	if (read(ends[0], &last, sizeof(last)) != sizeof(last))
		abort();
	usleep(us);
	kill(child, SIGKILL);
	waitpid(child, &status, 0);
	CU_ASSERT(WIFSIGNALED(status));
	while (read(ends[0], &n, sizeof(n)) == sizeof(n))
		last = n;
	close(ends[0]);
	return last;
}

static void file_killed(void)
{
	u64 acknowledged, is;

	rig_begin();
	srand(1);
	for (int i = 0; i < 12; i++) {
		acknowledged = count_and_kill(rand() % 50000);
		begin();
		is = strtoull(get("counter"), NULL, 10);
		CU_ASSERT(is == acknowledged || is == acknowledged + 1);
		CU_ASSERT_EQUAL(identity().revision, is + 1);
		CU_ASSERT_EQUAL(identity().term, 2 * i + 2);
		end();
	}
	rig_end();
}

/* A file system that is read-only. */
static int open_readonly(const char *path, int flags, int mode)
{
	if ((flags & (O_RDWR | O_CREAT)) && !strstr(path, "-lock")) {
		errno = EROFS;
		return -1;
	}
	return open(path, flags, mode);
}

static void file_disk(void)
{
	sqlite3_vfs *vfs = sqlite3_vfs_find(NULL);

	make_store();
	fail_writes(ENOSPC);
	refused(-ENOSPC);
	fail_writes(0);
	leave_log("log");
	fail_writes(ENOSPC);
	refused(-ENOSPC);
	fail_writes(0);
	vfs->xSetSystemCall(vfs, "open", (sqlite3_syscall_ptr)open_readonly);
	refused(-EROFS);
	vfs->xSetSystemCall(vfs, "open", NULL);
	sync_errno = EIO;
	CU_ASSERT_EQUAL(try_open(), -EIO);
	sync_errno = 0;
	begin();
	CU_ASSERT_STRING_EQUAL(get("a"), "log");
	end();
	/* none is left of one that cannot be made */
	run("rm '%s'%s", file, "");
	fail_writes(ENOSPC);
	CU_ASSERT_EQUAL(try_open(), -ENOSPC);
	fail_writes(0);
	CU_ASSERT_FALSE(there(file, ""));
	CU_ASSERT_FALSE(there(file, "-new"));
	begin();
	end();
	rig_end();
}

/* The nth allocation from now on fails, of SQLite or of the engine; 0: none. */
static unsigned int fail_sqlite, fail_engine;
static sqlite3_mem_methods real_memory;

static bool refuse(unsigned int *failing)
{
	unsigned int left = __atomic_load_n(failing, __ATOMIC_RELAXED);

	return left && !__atomic_sub_fetch(failing, 1, __ATOMIC_RELAXED);
}

static void *sqlite_malloc(int n)
{
	return refuse(&fail_sqlite) ? NULL : real_memory.xMalloc(n);
}

static void *sqlite_realloc(void *p, int n)
{
	return refuse(&fail_sqlite) ? NULL : real_memory.xRealloc(p, n);
}

void *__real_malloc(size_t n);
void *__real_calloc(size_t nr, size_t n);
void *__real_realloc(void *p, size_t n);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t nr, size_t n);
void *__wrap_realloc(void *p, size_t n);

void *__wrap_malloc(size_t n)
{
	return refuse(&fail_engine) ? NULL : __real_malloc(n);
}

void *__wrap_calloc(size_t nr, size_t n)
{
	return refuse(&fail_engine) ? NULL : __real_calloc(nr, n);
}

void *__wrap_realloc(void *p, size_t n)
{
	return refuse(&fail_engine) ? NULL : __real_realloc(p, n);
}

static void memory_setup(void)
{
	sqlite3_mem_methods m;

	sqlite3_config(SQLITE_CONFIG_GETMALLOC, &real_memory);
	m = real_memory;
	m.xMalloc = sqlite_malloc;
	m.xRealloc = sqlite_realloc;
	sqlite3_config(SQLITE_CONFIG_MALLOC, &m);
	sqlite3_config(SQLITE_CONFIG_LOOKASIDE, 0, 0);
}

/* A bit of everything; errors are of no interest but that none is a lie. */
static void use_all(void)
{
	struct store_op op[] = { { "m/1", "x", 1, 0 }, { "m/2", "y", 1, 0 } };
	struct store_event e;
	struct store_page p;
	u64 id, lease = 0;

	if (try_open())
		return;
	S = store_sqlite_handle(Q);
	if (S) {
		store_watch(S, "m/", 1, &id);
		if (!store_lease_grant(S, 100, &lease))
			op[1].lease = lease;
		store_txn(S, &(struct store_txn) { NULL, 0, op, 2 }, NULL);
		store_range(S, "m/", NULL, 9, 0, &p);
		store_page_free(&p);
		store_range(S, "m/", NULL, 9, 1, &p);
		store_page_free(&p);
		for (int i = 0; i < 3 && store_next(S, 0, &e) == 1; i++)
			;
		if (lease)
			store_lease_revoke(S, lease);
		store_close(S);
	}
	store_sqlite_backup(Q, copy);
	S = NULL;
	shut();
}

static void check_whole(void)
{
	bool one, two;

	begin();
	one = !strcmp(get("m/1"), "x");
	two = !strcmp(get("m/2"), "y");
	CU_ASSERT(one || !two);
	CU_ASSERT(identity().revision <= 4);
	end();
}

/* Return: false once no allocation is left to fail. */
static bool without_memory(unsigned int *failing, unsigned int n)
{
	unsigned int left;

	rig_begin();
	__atomic_store_n(failing, n, __ATOMIC_RELAXED);
	use_all();
	left = __atomic_exchange_n(failing, 0, __ATOMIC_RELAXED);
	if (there(copy, ""))
		CU_ASSERT_FALSE(there(copy, "-new"));
	check_whole();
	rig_end();
	return !left;
}

static void file_memory(void)
{
	unsigned int n;

	sync_none = true;
	for (n = 1; without_memory(&fail_engine, n); n++)
		;
	CU_ASSERT(n > 10 && n < 200);
	/* SQLite's: all of the first ones, then a sample */
	for (n = 1; without_memory(&fail_sqlite, n); n += n < 40 ? 1 : 1 + n / 37)
		;
	CU_ASSERT(n > 500);
	sync_none = false;
}

static const struct suite_test tests[] = {
	{ "made whole", file_made },
	{ "another program's", file_foreign },
	{ "a newer format", file_newer },
	{ "damaged", file_damaged },
	{ "damaged while it is open", file_damaged_later },
	{ "one process has it", file_locked },
	{ "identity", file_identity },
	{ "logs that do not belong to it", file_log },
	{ "the process is killed", file_killed },
	{ "full, read-only, failing disk", file_disk },
	{ "no memory", file_memory },
	{ NULL, NULL }
};

int main(int argc, char **argv)
{
	if (argc == 2) {	/* open_elsewhere() */
		snprintf(file, sizeof(file), "%s", argv[1]);
		return -try_open();
	}
	memory_setup();
	return suite_main("the file of the store in SQLite", tests);
}
