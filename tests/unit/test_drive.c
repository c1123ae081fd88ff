// SPDX-License-Identifier: GPL-2.0-only
/*
 * A served drive that is a plain file, with its thread and a clock of the test's: what
 * is answered while it hangs, is sick, or is another host's by now.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/kernel.h>
#include <semaphore.h>
#include <stdarg.h>
#include <unistd.h>

/* The copies of a label that fail, as bits: 1 the first, 2 the last. */
static unsigned int bad_reads, bad_writes;

static ssize_t test_pread(int fd, void *buf, size_t n, off_t at);
static ssize_t test_pwrite(int fd, const void *buf, size_t n, off_t at);

#define pread	test_pread
#define pwrite	test_pwrite
#include "userspace/meshd/label_io.c"
#undef pread
#undef pwrite
#include "userspace/meshd/drive.c"
#include "userspace/meshd/alloc.c"
#include "suite.h"

#define MIB	(1ULL << 20)
#define SIZE	(64 * MIB)

struct meshd D;
static const struct muuid me = { { 1 } }, other = { { 2 } }, vol = { { 3 } };
static const struct muuid ext = { { 4 } }, id = { { 5 } };
static struct tdrive *d;
static u64 clock_ms = 1000;
static const char *kernel_state;	/* of the drive in the kernel; NULL: it has none */
static int pushes, kicks, granted, ready;
static sem_t answered;

static ssize_t test_pread(int fd, void *buf, size_t n, off_t at)
{
	errno = EIO;
	return bad_reads & (at >= (off_t)(SIZE - LABEL_AREA) ? 2 : 1) ? -1 : pread(fd, buf, n, at);
}

static ssize_t test_pwrite(int fd, const void *buf, size_t n, off_t at)
{
	errno = EIO;
	return bad_writes & (at >= (off_t)(SIZE - LABEL_AREA) ? 2 : 1) ? -1 : pwrite(fd, buf, n, at);
}

/* The rest of meshd */

u64 now_ms(void)
{
	return __atomic_load_n(&clock_ms, __ATOMIC_RELAXED);
}

int thread_start(void *(*fn)(void *), void *arg)
{
	pthread_t t;
	int err = pthread_create(&t, NULL, fn, arg);

	return err ? -err : pthread_detach(t);
}

#define QUIET(name) void name(const char *fmt, ...) { (void)fmt; }
QUIET(log_error) QUIET(log_warn) QUIET(log_info) QUIET(log_debug)

void lend_rescan(void) { }

void backup_label(struct tdrive *t, const struct label *l, bool now)
{
	(void)t, (void)l, (void)now;
}

void backup_idle(struct tdrive *t)
{
	(void)t;
}

void zero_kick(struct tdrive *t)
{
	(void)t;
	kicks++;
}

bool record_there(struct tdrive *t, const struct label_extent *e)
{
	(void)t, (void)e;
	return true;
}

int record_put(struct tdrive *t, const struct mgmt_req *q, const struct muuid *host,
	       char why[MGMT_REASON])
{
	(void)t, (void)q, (void)host, (void)why;
	return -ENOSYS;
}

/* The kernel */

struct mesh *mesh_open(void)
{
	return malloc(1);
}

void mesh_close(struct mesh *m)
{
	free(m);
}

const char *mesh_why(const struct mesh *m)
{
	(void)m;
	return "";
}

int mesh_drives(struct mesh *m, struct mesh_drive **out, size_t *n)
{
	(void)m;
	*out = calloc(1, sizeof(**out));
	*n = kernel_state ? 1 : 0;
	if (kernel_state) {
		(*out)->uuid = id;
		strcpy((*out)->path, "/dev/test");
		strcpy((*out)->state, kernel_state);
	}
	return 0;
}

void mesh_drives_free(struct mesh_drive *all, size_t n)
{
	(void)n;
	free(all);
}

int mesh_drive_add(struct mesh *m, const struct mesh_drive *t)
{
	u32 i;

	(void)m;
	kernel_state = "up";
	pushes++;
	for (ready = 0, i = 0; i < t->nr_extents; i++)
		ready += t->extents[i].ready;
	return 0;
}

int mesh_extents_set(struct mesh *m, const struct mesh_drive *t)
{
	return mesh_drive_add(m, t);
}

int mesh_drive_del(struct mesh *m, const struct muuid *uuid, bool force)
{
	(void)m, (void)uuid, (void)force;
	kernel_state = NULL;
	return 0;
}

int mesh_grant_reply(struct mesh *m, u64 request, int err)
{
	(void)m, (void)request;
	granted = err;
	sem_post(&answered);
	return 0;
}

/* Requests */

struct ask {
	struct mgmt_req req;
	int err;
	char why[MGMT_REASON];
};

const struct mgmt_req *ask_req(const struct ask *a)
{
	return &a->req;
}

const struct muuid *ask_host(const struct ask *a)
{
	(void)a;
	return &me;
}

void ask_reply(struct ask *a, int err, const char *reason, json_t *data)
{
	json_decref(data);
	a->err = err;
	snprintf(a->why, sizeof(a->why), "%s", reason ? reason : "");
	sem_post(&answered);
}

void ask_refuse(struct ask *a, int err, const char *fmt, ...)
{
	char why[MGMT_REASON];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, sizeof(why), fmt, ap);
	va_end(ap);
	ask_reply(a, err, why, NULL);
}

static struct ask asked(enum mgmt_op op, const struct muuid *extent)
{
	return (struct ask) { .err = 1, .req = { .op = op, .drive = id, .extent = *extent,
						 .volume = vol, .length = 4 * MIB } };
}

static int ask(enum mgmt_op op, const struct muuid *extent)
{
	struct ask a = asked(op, extent);

	if (op == MGMT_ALLOC)
		alloc_submit(d, &a);
	else if (op == MGMT_FREE)
		free_submit(d, &a);
	else
		release_submit(d, &a);
	sem_wait(&answered);
	return a.err;
}

static int grant(u8 access)
{
	struct mesh_ask q = { .host = me, .drive = id, .extent = ext, .generation = 1,
			      .access = access };

	grant_submit(d, NULL, &q);
	sem_wait(&answered);
	return granted;
}

static const char *state(void)
{
	static struct mgmt_drive m;

	tdrive_describe(d, &m);
	return m.state;
}

static void end(void)
{
	bad_reads = bad_writes = 0;
	if (!d)
		return;
	tdrive_stop(d, true);
	tdrive_put(d);
	d = NULL;
}

/* A drive of this host, served, with one extent that this host holds. */
static void begin(void)
{
	struct label *l = calloc(1, sizeof(*l));
	struct twin_id none = { 0 };
	struct label_disk disk = { 0 };
	int fd = open("/tmp", O_TMPFILE | O_RDWR, 0600), each[2];

	end();
	CU_ASSERT_FATAL(l && fd >= 0 && !ftruncate(fd, SIZE));
	*l = (struct label) { .drive = id, .owner = me, .size = SIZE, .lba = 512, .sequence = 1,
			      .extents = 1 };
	l->extent[0] = (struct label_extent) { .uuid = ext, .volume = vol, .holder = me, .version = 1,
					       .start = MIB, .length = 4 * MIB, .state = LABEL_READY };
	CU_ASSERT_EQUAL_FATAL(label_write(fd, l, &disk, each), 0);
	/* The thread of the one before may need a moment to end. */
	while (true) {
		struct label *own = malloc(sizeof(*own));
		int err;

		memcpy(own, l, sizeof(*own));
		err = tdrive_start("/dev/test", dup(fd), own, &disk, &none, &d);
		if (err != -EBUSY)
			break;
		usleep(1000);
	}
	close(fd);
	free(l);
	CU_ASSERT_PTR_NOT_NULL_FATAL(d);
	pthread_mutex_lock(&d->lock);
	d->pushed = true;
	pthread_mutex_unlock(&d->lock);
	kernel_state = "up";
	pushes = kicks = 0;
}

/* A job that hangs, until it is let go. */
struct hung {
	struct tjob job;
	sem_t in, go;
};

static void hung_fn(struct tdrive *t, struct tjob *j, int err)
{
	struct hung *h = (struct hung *)j;

	(void)t, (void)err;
	sem_post(&h->in);
	sem_wait(&h->go);
}

static int late_fn(struct tdrive *t, void *arg)
{
	(void)t;
	*(int *)arg += 1;
	return 0;
}

struct later {
	int ran, err;
	sem_t done;
};

static void *later_thread(void *arg)
{
	struct later *l = arg;

	l->err = tdrive_run(d, late_fn, &l->ran);
	sem_post(&l->done);
	return NULL;
}

static bool queued(void)
{
	bool some;

	pthread_mutex_lock(&d->lock);
	some = d->jobs;
	pthread_mutex_unlock(&d->lock);
	return some;
}

static void test_hangs(void)
{
	struct hung h = { .job = { .fn = hung_fn } };
	struct ask a[3] = { asked(MGMT_ALLOC, &other), asked(MGMT_FREE, &other),
			    asked(MGMT_RELEASE, &ext) };
	struct later later = { 0 };
	int i, got;

	begin();
	sem_init(&h.in, 0, 0);
	sem_init(&h.go, 0, 0);
	sem_init(&later.done, 0, 0);
	tdrive_submit(d, &h.job);
	sem_wait(&h.in);
	/* One of our own waits as long as it takes. */
	CU_ASSERT_EQUAL(thread_start(later_thread, &later), 0);
	while (!queued())
		usleep(1000);
	alloc_submit(d, &a[0]);
	free_submit(d, &a[1]);
	release_submit(d, &a[2]);
	tdrives_tick();
	sem_getvalue(&answered, &got);
	CU_ASSERT_EQUAL(got, 0);
	CU_ASSERT_STRING_EQUAL(state(), "up");

	__atomic_add_fetch(&clock_ms, 8000, __ATOMIC_RELAXED);
	CU_ASSERT_STRING_EQUAL(state(), "silent");
	tdrives_tick();
	sem_getvalue(&answered, &got);
	CU_ASSERT_EQUAL_FATAL(got, 3);
	for (i = 0; i < 3; i++) {
		sem_wait(&answered);
		CU_ASSERT_EQUAL(a[i].err, -EREMOTEIO);
		CU_ASSERT_PTR_NOT_NULL(strstr(a[i].why, "/dev/test has not answered for 8 s"));
	}
	/* What comes now is not even queued. */
	CU_ASSERT_EQUAL(ask(MGMT_ALLOC, &other), -EREMOTEIO);
	CU_ASSERT_EQUAL(grant(1), -ETIMEDOUT);
	CU_ASSERT_EQUAL(later.ran, 0);

	sem_post(&h.go);
	sem_wait(&later.done);
	CU_ASSERT_EQUAL(later.ran, 1);
	CU_ASSERT_EQUAL(later.err, 0);
	CU_ASSERT_EQUAL(ask(MGMT_ALLOC, &other), 0);
	CU_ASSERT_STRING_EQUAL(state(), "up");
}

/* The second time finds what the first one did, but not that all is well. */
static void test_sick(void)
{
	begin();
	bad_writes = 2;
	CU_ASSERT_EQUAL(ask(MGMT_ALLOC, &other), -EIO);
	CU_ASSERT_STRING_EQUAL(state(), "sick");
	CU_ASSERT_EQUAL(ask(MGMT_ALLOC, &other), -EIO);
	CU_ASSERT_EQUAL(ask(MGMT_FREE, &vol), -EIO);
	CU_ASSERT_EQUAL(kicks, 0);
	/* What it serves it goes on to serve. */
	CU_ASSERT_EQUAL(grant(1), 0);
	CU_ASSERT_EQUAL(grant(2), 0);
	bad_writes = 0;
	CU_ASSERT_EQUAL(ask(MGMT_ALLOC, &other), 0);
	CU_ASSERT_EQUAL(ask(MGMT_FREE, &vol), 0);
	CU_ASSERT(kicks == 1 && pushes == 1);
	CU_ASSERT_STRING_EQUAL(state(), "up");
}

static void test_released(void)
{
	struct ask a;
	int i;

	begin();
	for (i = 0; i < 3; i++) {
		bad_writes = i < 2 ? 1 : 0;
		a = asked(MGMT_RELEASE, &ext);
		a.req.believed = (struct mgmt_believed) { me, 1, 0 };
		release_submit(d, &a);
		sem_wait(&answered);
		CU_ASSERT_EQUAL(a.err, i < 2 ? -EIO : 0);
	}
	CU_ASSERT_EQUAL(pushes, 1);
}

static void test_unreadable(void)
{
	begin();
	bad_reads = 1;
	CU_ASSERT_EQUAL(ask(MGMT_FREE, &vol), 0);
	CU_ASSERT_EQUAL(grant(1), 0);
	bad_reads = 3;
	CU_ASSERT_EQUAL(ask(MGMT_FREE, &vol), -EIO);
	CU_ASSERT_EQUAL(grant(1), -EIO);
	bad_reads = 0;
	CU_ASSERT_EQUAL(grant(1), 0);
	CU_ASSERT_STRING_EQUAL(state(), "up");
}

/*
 * Another host has taken it over: nothing is granted any more, not even what is noted;
 * not by the kernel either, which does so without asking.
 */
static void test_foreign(void)
{
	struct label_disk disk;
	struct label l;
	int each[2];

	for (u8 access = 1; access <= 2; access++) {
		begin();
		CU_ASSERT_EQUAL(grant(access), 0);
		CU_ASSERT_EQUAL(label_read(d->fd, SIZE, &l, &disk, each), 0);
		l.owner = other;
		l.sequence++;
		CU_ASSERT_EQUAL(label_write(d->fd, &l, &disk, each), 0);
		CU_ASSERT_EQUAL(tdrive_push(d), 0);
		CU_ASSERT(pushes == 1 && ready == 1);
		if (access == 1)		/* nobody asks: it is looked at now and then */
			for (int i = 0; i < 600 && strcmp(state(), "sick"); i++)
				usleep(100000);
		else
			CU_ASSERT_EQUAL(ask(MGMT_ALLOC, &vol), -EBADE);
		CU_ASSERT_STRING_EQUAL(state(), "sick");
		CU_ASSERT_EQUAL(grant(access), -EBADE);
		CU_ASSERT(pushes == 2 && ready == 0);
		CU_ASSERT_EQUAL(ask(MGMT_ALLOC, &ext), -EBADE);
		CU_ASSERT_EQUAL(ask(MGMT_FREE, &vol), -EBADE);
		CU_ASSERT_EQUAL(label_read(d->fd, SIZE, &l, &disk, each), 0);
		CU_ASSERT(muuid_equal(&l.owner, &other));
	}
}

/* A copy that rots is written again by itself; what is open stays so, and is opened again. */
static void test_damaged(void)
{
	static const u64 at[] = { 30, SIZE - LABEL_AREA + 30 };
	struct label_disk disk;
	struct label l;
	int each[2], i;

	for (size_t copy = 0; copy < 2; copy++) {
		begin();
		CU_ASSERT_EQUAL(pwrite(d->fd, "rot", 3, at[copy]), 3);
		CU_ASSERT_EQUAL(grant(1), 0);
		CU_ASSERT_STRING_EQUAL(state(), "sick");
		for (i = 0; i < 600 && strcmp(state(), "up"); i++)
			usleep(100000);
		CU_ASSERT_STRING_EQUAL(state(), "up");
		CU_ASSERT_EQUAL(label_read(d->fd, SIZE, &l, &disk, each), 0);
		CU_ASSERT(!each[0] && !each[1]);
		CU_ASSERT_EQUAL(ask(MGMT_ALLOC, &other), 0);
	}
	/* Erased meanwhile, it is not written to any more. */
	begin();
	CU_ASSERT_EQUAL(pwrite(d->fd, "rot", 3, at[1]), 3);
	CU_ASSERT_EQUAL(grant(1), 0);
	CU_ASSERT_EQUAL(pwrite(d->fd, "rot", 3, at[0]), 3);
	CU_ASSERT_EQUAL(ask(MGMT_ALLOC, &other), -EBADE);
	CU_ASSERT(label_read(d->fd, SIZE, &l, &disk, each) < 0);
}

static void test_lost(void)
{
	begin();
	CU_ASSERT(!tdrive_lost(d));		/* an event of before it came back */
	kernel_state = NULL;
	CU_ASSERT(!tdrive_lost(d));
	kernel_state = "gone";
	CU_ASSERT(tdrive_lost(d));
	pthread_mutex_lock(&d->lock);
	d->pushed = false;			/* it is about to take the place of that one */
	pthread_mutex_unlock(&d->lock);
	CU_ASSERT(!tdrive_lost(d));
	CU_ASSERT_EQUAL(tdrive_push(d), 0);
	CU_ASSERT(!tdrive_lost(d));
	end();
}

int main(void)
{
	static const struct suite_test tests[] = {
		{ "hangs", test_hangs },
		{ "sick", test_sick },
		{ "released", test_released },
		{ "unreadable", test_unreadable },
		{ "another owner", test_foreign },
		{ "damaged", test_damaged },
		{ "lost", test_lost },
		{ NULL, NULL },
	};

	D.host = me;
	alarm(120);			/* a request without an answer */
	sem_init(&answered, 0, 0);
	return suite_main("drive", tests);
}
