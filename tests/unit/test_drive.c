// SPDX-License-Identifier: GPL-2.0-only
/*
 * A served drive that is a plain file, with its thread and a clock of the test's: what
 * is answered while it hangs, is sick, or is another host's by now.
 */
#define _GNU_SOURCE
#include <semaphore.h>

#include "drive_rig.h"
#include "userspace/meshd/alloc.c"
#include "abandoned_rig.h"

static int kicks, granted;
static bool member;		/* the client's kernel has the extent of a local drive */

bool local_opens(const struct muuid *extent) { (void)extent; return member; }

static sem_t answered;

/* The rest of meshd */

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

int meshtgt_grant_reply(struct mesh *m, u64 request, int err)
{
	(void)m, (void)request;
	granted = err;
	sem_post(&answered);
	return 0;
}

/* Requests */

struct serve_req {
	struct mgmt_req req;
	int err;
	char why[MGMT_REASON];
};

const struct mgmt_req *serve_mgmt(const struct serve_req *s)
{
	return &s->req;
}

const struct muuid *serve_host(const struct serve_req *s)
{
	(void)s;
	return &me;
}

void serve_reply(struct serve_req *s, int err, const char *reason, json_t *data)
{
	json_decref(data);
	s->err = err;
	snprintf(s->why, sizeof(s->why), "%s", reason ? reason : "");
	sem_post(&answered);
}

void serve_refuse(struct serve_req *s, int err, const char *fmt, ...)
{
	char why[MGMT_REASON];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, sizeof(why), fmt, ap);
	va_end(ap);
	serve_reply(s, err, why, NULL);
}

static struct serve_req request_of(enum mgmt_op op, const struct muuid *extent)
{
	return (struct serve_req) { .err = 1, .req = { .op = op, .drive = id, .extent = *extent,
						 .volume = vol, .length = 4 * MIB } };
}

static int request(enum mgmt_op op, const struct muuid *extent)
{
	struct serve_req s = request_of(op, extent);

	alloc_submit(d, &s);
	sem_wait(&answered);
	return s.err;
}

static int grant_of(const struct meshtgt_grant *q)
{
	grant_submit(d, NULL, q);
	sem_wait(&answered);
	return granted;
}

static int grant_to(const struct muuid *host, u8 access, u64 version)
{
	struct meshtgt_grant q = { .host = *host, .drive = id, .extent = ext,
				   .version = version, .access = access };

	return grant_of(&q);
}

/* A writer that attaches with a number. */
static int attach(const struct muuid *host, u64 number)
{
	struct meshtgt_grant q = { .host = *host, .drive = id, .extent = ext,
				   .version = 1, .access = 2, .attach = number };

	return grant_of(&q);
}

static int grant_at(u8 access, u64 version)
{
	return grant_to(&me, access, version);
}

static int grant_as(const struct muuid *host, u8 access)
{
	return grant_to(host, access, 1);
}

static int grant(u8 access)
{
	return grant_at(access, 1);
}

static void begin(void)
{
	rig_begin(LABEL_READY);
	kicks = 0;
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
	struct serve_req s[3] = { request_of(MGMT_ALLOC, &other), request_of(MGMT_FREE, &other),
			    request_of(MGMT_RELEASE, &ext) };
	struct later later = { 0 };
	int i, got;

	begin();
	sem_init(&later.done, 0, 0);
	rig_hang(&h);
	/* One of our own waits as long as it takes. */
	CU_ASSERT_EQUAL(thread_start(later_thread, &later), 0);
	while (!queued())
		usleep(1000);
	alloc_submit(d, &s[0]);
	alloc_submit(d, &s[1]);
	alloc_submit(d, &s[2]);
	tdrives_tick();
	sem_getvalue(&answered, &got);
	CU_ASSERT_EQUAL(got, 0);
	CU_ASSERT_STRING_EQUAL(rig_state(), "up");

	__atomic_add_fetch(&clock_ms, 8000, __ATOMIC_RELAXED);
	CU_ASSERT_STRING_EQUAL(rig_state(), "silent");
	tdrives_tick();
	sem_getvalue(&answered, &got);
	CU_ASSERT_EQUAL_FATAL(got, 3);
	for (i = 0; i < 3; i++) {
		sem_wait(&answered);
		CU_ASSERT_EQUAL(s[i].err, -EREMOTEIO);
		CU_ASSERT_PTR_NOT_NULL(strstr(s[i].why, "/dev/test has not answered for 8 s"));
	}
	/* What comes now is not even queued. */
	CU_ASSERT_EQUAL(request(MGMT_ALLOC, &other), -EREMOTEIO);
	CU_ASSERT_EQUAL(grant(1), -ETIMEDOUT);
	CU_ASSERT_EQUAL(later.ran, 0);

	sem_post(&h.go);
	sem_wait(&later.done);
	CU_ASSERT_EQUAL(later.ran, 1);
	CU_ASSERT_EQUAL(later.err, 0);
	CU_ASSERT_EQUAL(request(MGMT_ALLOC, &other), 0);
	CU_ASSERT_STRING_EQUAL(rig_state(), "up");
}

static void home_fn(struct tdrive *t, struct tjob *j, int err)
{
	struct hung *h = (struct hung *)j;

	(void)err;
	tdrive_home_begin(t);
	sem_post(&h->in);
	sem_wait(&h->go);
	tdrive_home_end(t);
	sem_post(&h->in);
	sem_wait(&h->go);
}

/* The state folder's disk hangs: that is said, and the drive is not called silent. */
static void test_home(void)
{
	static struct hung h = { .job = { .fn = home_fn } };
	int said;

	begin();
	rig_hang(&h);
	said = errors;
	tdrives_tick();
	CU_ASSERT_EQUAL(errors, said);
	__atomic_add_fetch(&clock_ms, 8000, __ATOMIC_RELAXED);
	CU_ASSERT_STRING_EQUAL(rig_state(), "up");
	tdrives_tick();
	tdrives_tick();
	CU_ASSERT_EQUAL(errors, said + 1);
	sem_post(&h.go);
	sem_wait(&h.in);
	CU_ASSERT_STRING_EQUAL(rig_state(), "up");
	__atomic_add_fetch(&clock_ms, 8000, __ATOMIC_RELAXED);
	CU_ASSERT_STRING_EQUAL(rig_state(), "silent");
	tdrives_tick();
	CU_ASSERT_EQUAL(errors, said + 1);
	sem_post(&h.go);
	rig_end();
}

/* The second time finds what the first one did, but not that all is well. */
static void test_sick(void)
{
	begin();
	bad_writes = 2;
	CU_ASSERT_EQUAL(request(MGMT_ALLOC, &other), -EIO);
	CU_ASSERT_STRING_EQUAL(rig_state(), "sick");
	CU_ASSERT_EQUAL(request(MGMT_ALLOC, &other), -EIO);
	CU_ASSERT_EQUAL(request(MGMT_FREE, &vol), -EIO);
	CU_ASSERT_EQUAL(kicks, 0);
	/* What it serves it goes on to serve. */
	CU_ASSERT_EQUAL(grant(1), 0);
	CU_ASSERT_EQUAL(grant(2), 0);
	bad_writes = 0;
	CU_ASSERT_EQUAL(request(MGMT_ALLOC, &other), 0);
	CU_ASSERT_EQUAL(request(MGMT_FREE, &vol), 0);
	CU_ASSERT(kicks == 1 && pushes == 1);
	CU_ASSERT_STRING_EQUAL(rig_state(), "up");
}

/* No copy could be written: nothing of it counts. */
static void test_unwritable(void)
{
	struct mgmt_drive m;
	struct serve_req s = request_of(MGMT_RELEASE, &ext);

	begin();
	bad_writes = 3;
	CU_ASSERT_EQUAL(request(MGMT_ALLOC, &other), -EIO);
	s.req.believed = (struct mgmt_believed) { me, 1, 0 };
	alloc_submit(d, &s);
	sem_wait(&answered);
	CU_ASSERT_EQUAL(s.err, -EIO);
	tdrive_describe(d, &m);
	CU_ASSERT(m.extents == 1 && m.sequence == 1);
	CU_ASSERT(muuid_equal(&d->label->extent[0].holder, &me));
	bad_writes = 0;
}

/*
 * A new holder that is in one copy alone is refused at each request; one that was in
 * both before the drive became sick goes on.
 */
static void test_half_held(void)
{
	begin();
	bad_writes = 2;
	CU_ASSERT_EQUAL(request(MGMT_ALLOC, &vol), -EIO);
	CU_ASSERT_EQUAL(grant(2), 0);
	CU_ASSERT_EQUAL(grant_as(&other, 2), -EIO);
	CU_ASSERT_EQUAL(grant_as(&other, 2), -EIO);
	CU_ASSERT_EQUAL(request(MGMT_ALLOC, &vol), -EIO);
	CU_ASSERT_EQUAL(grant_as(&other, 2), -EIO);
	CU_ASSERT_EQUAL(grant(1), 0);
	bad_writes = 0;
	CU_ASSERT_EQUAL(grant_as(&other, 2), 0);
	CU_ASSERT_STRING_EQUAL(rig_state(), "up");
	bad_writes = 1;
	CU_ASSERT_EQUAL(grant(2), -EIO);
	CU_ASSERT_EQUAL(grant_as(&other, 2), -EIO);
	bad_writes = 0;
}

/* What the label on the drive, in both copies, says of the extent; and the copies of it. */
static bool noted(u64 number, const struct muuid *attacher, const struct muuid *holder, int kept)
{
	static struct label l;
	struct label_disk disk;
	int each[2];

	if (label_read(d->fd, SIZE, &l, &disk, each) || each[0] || each[1])
		return false;
	return l.extent[0].attach == number && muuid_equal(&l.extent[0].attacher, attacher) &&
	       muuid_equal(&l.extent[0].holder, holder) && backups == kept &&
	       disk.head[0].sequence == disk.head[1].sequence;
}

/*
 * A higher number is in the label and its copy in the state folder before the answer; a lower
 * one, or the same of another host, changes nothing, and the kernel gets to know why.
 */
static void test_attach(void)
{
	static const struct muuid none;

	begin();
	CU_ASSERT(noted(0, &none, &me, 0));
	CU_ASSERT_EQUAL(attach(&me, 5), 0);
	CU_ASSERT(noted(5, &me, &me, 1));
	CU_ASSERT_EQUAL(attach(&me, 5), 0);
	CU_ASSERT(noted(5, &me, &me, 1) && d->label->sequence == 2 && !pushes);
	CU_ASSERT_EQUAL(attach(&other, 4), -EEXIST);
	CU_ASSERT_EQUAL(attach(&other, 5), -EEXIST);
	CU_ASSERT_EQUAL(attach(&me, 4), -EEXIST);
	CU_ASSERT(noted(5, &me, &me, 1) && d->label->sequence == 2 && pushes == 3);
	CU_ASSERT_EQUAL(attach(&other, 6), 0);
	CU_ASSERT(noted(6, &other, &other, 2));
	CU_ASSERT_EQUAL(grant(2), 0);		/* without a number */
	CU_ASSERT(noted(6, &other, &me, 2));
	CU_ASSERT_EQUAL(attach(&me, 6), -EEXIST);
	CU_ASSERT_EQUAL(attach(&me, LABEL_ATTACH_MAX), 0);
	CU_ASSERT(noted(LABEL_ATTACH_MAX, &me, &me, 3));
	CU_ASSERT_EQUAL(attach(&me, LABEL_ATTACH_MAX + 1), -EUCLEAN);
	CU_ASSERT(noted(LABEL_ATTACH_MAX, &me, &me, 3));
}

/* A number that did not reach both copies is not granted, and not taken when it reached none. */
static void test_attach_unwritten(void)
{
	begin();
	CU_ASSERT_EQUAL(attach(&me, 5), 0);
	bad_writes = 3;
	CU_ASSERT_EQUAL(attach(&me, 7), -EIO);
	bad_writes = 0;
	CU_ASSERT(noted(5, &me, &me, 1));
	CU_ASSERT_EQUAL(attach(&other, 6), 0);
	CU_ASSERT(noted(6, &other, &other, 2));
	bad_writes = 2;
	CU_ASSERT_EQUAL(attach(&other, 8), -EIO);
	CU_ASSERT_EQUAL(attach(&other, 8), -EIO);
	CU_ASSERT_EQUAL(attach(&me, 8), -EEXIST);
	bad_writes = 0;
	CU_ASSERT_EQUAL(attach(&other, 8), 0);
	CU_ASSERT(noted(8, &other, &other, backups));
}

/* A write that failed may have landed: its number means nothing else later. */
static void test_sequence(void)
{
	struct label_disk disk;
	struct label l;
	int each[2];

	begin();
	for (bad_writes = 1; bad_writes <= 3; bad_writes++)
		CU_ASSERT_EQUAL(request(MGMT_ALLOC, &other), -EIO);
	bad_writes = 0;
	CU_ASSERT_EQUAL(request(MGMT_ALLOC, &other), 0);
	CU_ASSERT_EQUAL(label_read(d->fd, SIZE, &l, &disk, each), 0);
	CU_ASSERT_EQUAL(l.sequence, 5);
}

static void test_released(void)
{
	struct serve_req s;
	int i;

	begin();
	for (i = 0; i < 3; i++) {
		bad_writes = i < 2 ? 1 : 0;
		s = request_of(MGMT_RELEASE, &ext);
		s.req.believed = (struct mgmt_believed) { me, 1, 0 };
		alloc_submit(d, &s);
		sem_wait(&answered);
		CU_ASSERT_EQUAL(s.err, i < 2 ? -EIO : 0);
	}
	CU_ASSERT_EQUAL(pushes, 1);
}

static void test_unreadable(void)
{
	begin();
	bad_reads = 1;
	CU_ASSERT_EQUAL(request(MGMT_FREE, &vol), 0);
	CU_ASSERT_EQUAL(grant(1), 0);
	bad_reads = 3;
	CU_ASSERT_EQUAL(request(MGMT_FREE, &vol), -EIO);
	CU_ASSERT_EQUAL(grant(1), -EIO);
	bad_reads = 0;
	CU_ASSERT_EQUAL(grant(1), 0);
	CU_ASSERT_STRING_EQUAL(rig_state(), "up");
}

/* The target's kernel does not get it, it holds one extent, and what a client has is not freed. */
static void test_local(void)
{
	struct serve_req s;
	int had;

	begin();
	d->local = true;
	had = pushes;
	CU_ASSERT_EQUAL(tdrive_push(d), 0);
	CU_ASSERT_EQUAL(pushes, had);
	CU_ASSERT_STRING_EQUAL(rig_state(), MGMT_LOCAL);
	CU_ASSERT_EQUAL(request(MGMT_ALLOC, &other), -EBUSY);
	s = request_of(MGMT_FREE, &ext);
	s.req.believed = (struct mgmt_believed) { me, 1, 0 };
	for (member = true; ; member = false) {
		alloc_submit(d, &s);
		sem_wait(&answered);
		CU_ASSERT_EQUAL(s.err, member ? -EAGAIN : 0);
		if (!member)
			break;
		s.err = 1;
	}
	CU_ASSERT_EQUAL(d->label->extents, 0);
	CU_ASSERT_EQUAL(request(MGMT_ALLOC, &other), 0);
	CU_ASSERT_EQUAL(pushes, had);
}

static void written_as(const struct muuid *owner)
{
	struct label_disk disk;
	struct label l;
	int each[2];

	CU_ASSERT_EQUAL(label_read(d->fd, SIZE, &l, &disk, each), 0);
	l.owner = *owner;
	l.sequence++;
	CU_ASSERT_EQUAL(label_write(d->fd, &l, &disk, each), 0);
}

/*
 * Another host has taken it over and may give it to others: nothing is open here any more,
 * whatever the kernel thinks of that, and its label is left alone.
 */
static void test_taken_over(void)
{
	struct label_disk disk;
	struct tdrive *t;
	struct label l;
	int each[2];

	for (int how = 0; how < 4; how++) {
		begin();
		rig_opens = true;
		written_as(&other);
		if (how == 0) {			/* no request: it is checked now and then */
			for (int i = 0; i < 600 && strcmp(rig_state(), "gone"); i++)
				usleep(100000);
		} else if (how == 3) {		/* its first copy is whole, the other not yet */
			CU_ASSERT_EQUAL(pwrite(d->fd, "rot", 3, SIZE - MIB + 30), 3);
			CU_ASSERT_EQUAL(request(MGMT_ALLOC, &vol), -EBADE);
		} else {
			CU_ASSERT_EQUAL(how == 1 ? grant(2) : request(MGMT_ALLOC, &vol), -EBADE);
		}
		CU_ASSERT_STRING_EQUAL(rig_state(), "gone");
		CU_ASSERT(!kernel_state && !pushes);
		CU_ASSERT_EQUAL(tdrive_push(d), -ENODEV);
		t = tdrive_find(&id);
		CU_ASSERT_PTR_NULL(t);
		CU_ASSERT_EQUAL(label_read(d->fd, SIZE, &l, &disk, each), 0);
		CU_ASSERT(muuid_equal(&l.owner, &other));
		rig_opens = false;
	}
}

/*
 * Another label that names this host, too, was written: nothing is granted any
 * more, not even what is noted; not by the kernel either, which does so without a request.
 */
static void test_foreign(void)
{
	struct label_disk disk;
	struct label l;
	int each[2];

	for (u8 access = 1; access <= 2; access++) {
		begin();
		CU_ASSERT_EQUAL(grant(access), 0);
		written_as(&me);
		CU_ASSERT_EQUAL(tdrive_push(d), 0);
		CU_ASSERT(pushes == 1 && ready == 1);
		if (access == 1)		/* no request: it is checked now and then */
			for (int i = 0; i < 600 && strcmp(rig_state(), "sick"); i++)
				usleep(100000);
		else
			CU_ASSERT_EQUAL(request(MGMT_ALLOC, &vol), -EBADE);
		CU_ASSERT_STRING_EQUAL(rig_state(), "sick");
		CU_ASSERT_EQUAL(grant(access), -EBADE);
		CU_ASSERT(pushes == 2 && ready == 0);
		CU_ASSERT_EQUAL(request(MGMT_ALLOC, &ext), -EBADE);
		CU_ASSERT_EQUAL(request(MGMT_FREE, &vol), -EBADE);
		CU_ASSERT_EQUAL(label_read(d->fd, SIZE, &l, &disk, each), 0);
		CU_ASSERT_EQUAL(l.sequence, 2);
	}
}

/* A copy that rots is written again by itself; what is open stays so, and is opened again. */
static void test_damaged(void)
{
	static const u64 at[] = { 30, SIZE - MIB + 30 };
	struct label_disk disk;
	struct label l;
	int each[2], i;

	for (size_t copy = 0; copy < 2; copy++) {
		begin();
		CU_ASSERT_EQUAL(pwrite(d->fd, "rot", 3, at[copy]), 3);
		CU_ASSERT_EQUAL(grant(1), 0);
		CU_ASSERT_STRING_EQUAL(rig_state(), "sick");
		for (i = 0; i < 600 && strcmp(rig_state(), "up"); i++)
			usleep(100000);
		CU_ASSERT_STRING_EQUAL(rig_state(), "up");
		CU_ASSERT_EQUAL(label_read(d->fd, SIZE, &l, &disk, each), 0);
		CU_ASSERT(!each[0] && !each[1]);
		CU_ASSERT_EQUAL(request(MGMT_ALLOC, &other), 0);
	}
	/* Erased meanwhile, it is not written to any more. */
	begin();
	CU_ASSERT_EQUAL(pwrite(d->fd, "rot", 3, at[1]), 3);
	CU_ASSERT_EQUAL(grant(1), 0);
	CU_ASSERT_EQUAL(pwrite(d->fd, "rot", 3, at[0]), 3);
	CU_ASSERT_EQUAL(request(MGMT_ALLOC, &other), -EBADE);
	CU_ASSERT(label_read(d->fd, SIZE, &l, &disk, each) < 0);
}

/* Only the version whose record is there is opened: no older one, and none that is made up. */
static void test_version(void)
{
	for (u8 access = 1; access <= 2; access++) {
		begin();
		CU_ASSERT_EQUAL(grant_at(access, 0), -ESTALE);
		CU_ASSERT_EQUAL(grant_at(access, 2), -ESTALE);
		CU_ASSERT_EQUAL(grant_at(access, 1), 0);
		rig_begin(LABEL_ZEROING);	/* it has none yet */
		CU_ASSERT_EQUAL(grant_at(access, 0), -EAGAIN);
	}
	/* Zeroed, and without a record: to be filled, not to be read. */
	begin();
	pthread_mutex_lock(&d->lock);
	d->label->extent[0].version = 0;
	d->label->extent[0].holder = (struct muuid) { { 0 } };
	pthread_mutex_unlock(&d->lock);
	CU_ASSERT_EQUAL(grant_at(1, 0), -ESTALE);
	CU_ASSERT_EQUAL(grant_at(2, 1), -ESTALE);
	CU_ASSERT_EQUAL(grant_at(2, 0), 0);
	CU_ASSERT(muuid_equal(&d->label->extent[0].holder, &me));
}

/* An extent's UUID that is there already, for another volume or of another length. */
static void test_taken(void)
{
	struct serve_req s;

	begin();
	for (int i = 0; i < 3; i++) {
		s = request_of(MGMT_ALLOC, &ext);
		if (i == 1)
			s.req.volume = other;
		if (i == 2)
			s.req.length = 8 * MIB;
		alloc_submit(d, &s);
		sem_wait(&answered);
		CU_ASSERT_EQUAL(s.err, i ? -EEXIST : 0);
	}
}

/* Another label was written, whatever became of that: the administrator decides. */
static void test_foreign_again(void)
{
	static u8 was[2][LABEL_AREA];

	begin();
	for (int i = 0; i < 2; i++)
		CU_ASSERT_EQUAL(pread(d->fd, was[i], LABEL_AREA, i ? SIZE - MIB : 0), (ssize_t)LABEL_AREA);
	taker = me;
	rig_take_over();
	taker = other;
	CU_ASSERT_EQUAL(request(MGMT_ALLOC, &other), -EBADE);
	for (int i = 0; i < 2; i++)
		CU_ASSERT_EQUAL(pwrite(d->fd, was[i], LABEL_AREA, i ? SIZE - MIB : 0), (ssize_t)LABEL_AREA);
	CU_ASSERT_EQUAL(request(MGMT_ALLOC, &other), -EBADE);
	CU_ASSERT_EQUAL(grant(2), -EBADE);
}

/* One UUID, one device: the second is not listed, under whatever name it comes. */
static void test_twin(void)
{
	struct label_disk disk = { 0 };
	struct twin_id none = { 0 };
	struct tdrive *second = NULL;
	struct label *l;

	begin();
	for (int other_path = 0; other_path < 2; other_path++) {
		l = tdrive_edit(d);
		CU_ASSERT_EQUAL(tdrive_start(other_path ? "/dev/second" : "/dev/test", dup(d->fd), l, &disk,
					     &none, &second), -EEXIST);
		CU_ASSERT_PTR_NULL(second);
	}
}

/* What the kernel serves from another device is neither given a table nor taken away. */
static void test_other_device(void)
{
	begin();
	kernel_path = "/dev/other";
	CU_ASSERT_EQUAL(tdrive_push(d), -EEXIST);
	CU_ASSERT_EQUAL(pushes, 0);
	CU_ASSERT_STRING_EQUAL(rig_state(), "down");
	rig_end();
	CU_ASSERT_PTR_NOT_NULL(kernel_state);
	kernel_path = "/dev/test";
}

/* The kernel serves its drive already, or checks it and is given nothing. */
static void test_check(void)
{
	static const struct {
		const char *state, *path;
		int check, want;
	} all[] = {
		{ "up", "/dev/test", -EOPNOTSUPP, 0 },
		{ "up", "/dev/other", 0, -EEXIST },
		{ "gone", "/dev/test", -EBUSY, -EBUSY },
		{ NULL, "/dev/test", -EOPNOTSUPP, -EOPNOTSUPP },
		{ NULL, "/dev/test", 0, 0 },
	};

	begin();
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		kernel_state = all[i].state;
		kernel_path = all[i].path;
		rig_check = all[i].check;
		CU_ASSERT_EQUAL(tdrive_check(d), all[i].want);
		CU_ASSERT(!pushes && kernel_state == all[i].state);
	}
	kernel_path = "/dev/test";
	rig_check = 0;
	rig_end();
}

/* The kernel waits for commands from before, refuses it, and takes it when they are back. */
static void test_push_again(void)
{
	begin();
	kernel_state = "gone";
	rig_hangs = true;
	CU_ASSERT(tdrive_push(d) < 0);
	CU_ASSERT_STRING_EQUAL(rig_state(), "down");
	rig_hangs = false;
	tdrive_push_again(d);			/* it is being taken up: its caller decides */
	CU_ASSERT_STRING_EQUAL(rig_state(), "down");
	d->taken = true;
	d->push_at = now_ms() + 60000;
	tdrive_push_again(d);
	CU_ASSERT_STRING_EQUAL(rig_state(), "down");
	d->push_at = 0;
	pthread_mutex_lock(&d->lock);
	d->leaving = true;
	pthread_mutex_unlock(&d->lock);
	tdrive_push_again(d);
	CU_ASSERT_STRING_EQUAL(kernel_state, "gone");
	pthread_mutex_lock(&d->lock);
	d->leaving = false;
	pthread_mutex_unlock(&d->lock);
	for (int i = 0; i < 10000 && strcmp(rig_state(), "up"); i++)
		usleep(1000);			/* by its thread, when that is idle */
	CU_ASSERT_STRING_EQUAL(rig_state(), "up");
	rig_end();
}

static void test_lost(void)
{
	begin();
	CU_ASSERT(!tdrive_lost(d));		/* an event from before it came back */
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
	rig_end();
}

int main(void)
{
	static const struct suite_test tests[] = {
		{ "hangs", test_hangs },
		{ "pushed again", test_push_again },
		{ "the state folder hangs", test_home },
		{ "sick", test_sick },
		{ "unwritable", test_unwritable },
		{ "half held", test_half_held },
		{ "attach numbers", test_attach },
		{ "attach numbers that were not written", test_attach_unwritten },
		{ "sequence", test_sequence },
		{ "released", test_released },
		{ "unreadable", test_unreadable },
		{ "a local drive", test_local },
		{ "another owner", test_taken_over },
		{ "somebody else's label", test_foreign },
		{ "damaged", test_damaged },
		{ "version", test_version },
		{ "taken", test_taken },
		{ "another owner once", test_foreign_again },
		{ "a second device", test_twin },
		{ "another device in the kernel", test_other_device },
		{ "checked before", test_check },
		{ "lost", test_lost },
		{ NULL, NULL },
	};

	clock_ms = 1000;
	alarm(120);			/* a request without an answer */
	sem_init(&answered, 0, 0);
	return suite_main("drive", tests);
}
