// SPDX-License-Identifier: GPL-2.0-only
/* Which of the drives that a scan finds are taken up, and what is said of the others. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/kernel.h>
#include <stdarg.h>

#include "userspace/meshd/fan.c"
#include "userspace/meshd/left.c"
#include "userspace/meshd/rescan.c"
#include "userspace/libmesh/grow.c"
#include "req_rig.h"
#include "suite.h"

struct meshd D = { .stop = -1 };
pthread_mutex_t export_lock = PTHREAD_MUTEX_INITIALIZER;
static const struct muuid id = { { 5 } };
static struct probe *found, *second;	/* by the scan; freed by it */
static u64 newer;
static int taken;

bool local_held(const char *path, const struct muuid *drive) { (void)path, (void)drive; return false; }

static bool noted, strange, twin;
static struct tdrive lost[3];		/* whose devices are gone */
static size_t losts;
static struct tdrive *ending;		/* the one of the drive that is found */
static int stops, drops, dels;
static bool slow;			/* the kernel waits for what they have in flight */
static bool back;			/* the first one returns while what it has in flight is waited for */
static u8 hangs;			/* the one of which the kernel gives up waiting once */
static char why[240];

static struct probe *drive_found(void)
{
	struct probe *p = calloc(1, sizeof(*p));

	strcpy(p->path, "/dev/test");
	p->verdict = PROBE_OURS;
	p->drive = id;
	p->size = 64ULL << 20;
	p->label = calloc(1, sizeof(*p->label));
	*p->label = (struct label) { .drive = id, .size = p->size, .sequence = 12 };
	return p;
}

/* The state in which drives that are not served are listed; "": it is not. */
static const char *scan(struct probe *p)
{
	static char state[64];
	json_t *list = json_array();

	found = p;
	taken = 0;
	look_for_drives();
	export_twins(list);
	snprintf(state, sizeof(state), "%s",
		 json_string_value(json_object_get(json_array_get(list, 0), "state")) ?: "");
	json_decref(list);
	if (!export_twin_why("/dev/test", why, sizeof(why)))
		why[0] = 0;
	return state;
}

/* The rest of meshd */

#define QUIET(name) void name(const char *fmt, ...) { (void)fmt; }
QUIET(log_error) QUIET(log_warn) QUIET(log_info) QUIET(log_debug)

char **probe_list(size_t *n, bool partitions)
{
	char **all = calloc(2, sizeof(*all));

	(void)partitions;
	*n = twin ? 2 : 1;
	all[0] = strdup("/dev/test");
	all[1] = twin ? strdup("/dev/twin") : NULL;
	return all;
}

/* The kernel's drives, of no struct tdrive, and what their devices are by now. */
static struct {
	u8	uuid;		/* 0: a served one's */
	const char *state;
	u8	label, owner;	/* on it; 0: none that can be read, 255: it does not answer */
	bool	gone;		/* the kernel has given it up */
	u8	host;		/* the identity of this one when it was added */
} kernel[9];
static size_t nr_kernel;
static int kernel_err;

static struct probe *kernel_probe(const char *path)
{
	struct probe *p = calloc(1, sizeof(*p));
	size_t i = path[strlen(path) - 1] - '0';

	if (kernel[i].label == 255) {
		free(p);
		return NULL;
	}
	p->verdict = kernel[i].owner ? kernel[i].owner == 1 ? PROBE_OURS : PROBE_THEIRS : PROBE_FOREIGN;
	p->drive.b[0] = kernel[i].label;
	p->owner.b[0] = kernel[i].owner;
	p->err = kernel[i].label ? 0 : -EIO;
	return p;
}

void take_probes(char **path, size_t n, bool labelled_only, struct probe **out)
{
	size_t i;

	for (i = 0; !labelled_only && i < n; i++)
		out[i] = kernel_probe(path[i]);
	if (!labelled_only)
		return;
	out[0] = found;
	if (n > 1)
		out[1] = second;
	found = second = NULL;
}

int take_up(struct probe *p, const struct take_how *how, struct tdrive **out)
{
	(void)p, (void)how, (void)out;
	taken++;
	return 0;
}

bool export_cluster_ok(const struct label *l)
{
	(void)l;
	return !strange;
}

u64 backup_newer(const struct label *l)
{
	return newer > l->sequence ? newer : 0;
}

int unexported_note(const struct muuid *u) { (void)u; return 0; }
void req_note(struct req *r, const char *f, ...) { (void)r, (void)f; }
bool arg_bool(const struct req *r, const char *key) { (void)r, (void)key; return false; }
void dry_begin(struct req *r) { (void)r; }
bool unexported_noted(const struct muuid *u) { (void)u; return noted; }
void probe_clear(struct probe *p) { free(p->label); }
bool stopping(void) { return false; }
void probe_wwid_of(const char *path, struct twin_id *t) { (void)path, (void)t; }
bool probe_passed_over(const char *path) { (void)path; return false; }
struct muuid *backup_list_of(const struct twin_id *t, size_t *n) { (void)t; *n = 0; return NULL; }

int device_noted(const struct muuid *u, struct twin_id *t)
{
	(void)u;
	memset(t, 0, sizeof(*t));
	strcpy(t->wwid, "first");
	return twin ? 0 : -ENOENT;
}

struct mesh *mesh_open(void) { return malloc(1); }
void mesh_close(struct mesh *m) { free(m); }
const char *mesh_why(const struct mesh *m) { (void)m; return ""; }

int meshtgt_drives(struct mesh *m, struct meshtgt_drive **all, size_t *n)
{
	size_t i;

	(void)m;
	*all = NULL;
	*n = 0;
	if (kernel_err || !nr_kernel)
		return kernel_err ?: -ENOENT;
	*n = nr_kernel;
	*all = calloc(nr_kernel, sizeof(**all));
	for (i = 0; i < nr_kernel; i++) {
		(*all)[i].uuid.b[0] = kernel[i].uuid;
		(*all)[i].host.b[0] = kernel[i].host;
		snprintf((*all)[i].path, sizeof((*all)[i].path), "/dev/k%zu", i);
		snprintf((*all)[i].state, sizeof((*all)[i].state), "%s", kernel[i].state);
		(*all)[i].extents = calloc(1, sizeof(*(*all)[i].extents));
	}
	return 0;
}

void meshtgt_drives_free(struct meshtgt_drive *all, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		free(all[i].extents);
	free(all);
}

int meshtgt_drive_del(struct mesh *m, const struct muuid *u, bool force)
{
	size_t i;

	(void)m;
	CU_ASSERT(force);
	__atomic_add_fetch(&dels, 1, __ATOMIC_SEQ_CST);
	for (i = 0; i < 8000 && __atomic_load_n(&slow, __ATOMIC_SEQ_CST); i++)
		usleep(1000);
	for (i = 0; i < nr_kernel; i++)
		kernel[i].gone = kernel[i].gone || kernel[i].uuid == u->b[0];
	return 0;
}

/* The kernel decides whether it is gone, whatever it said before. */
int meshtgt_gone_del(struct mesh *m, const struct muuid *u)
{
	size_t i;

	if (u->b[0] == __atomic_load_n(&hangs, __ATOMIC_SEQ_CST)) {
		__atomic_add_fetch(&dels, 1, __ATOMIC_SEQ_CST);
		usleep(1000);
		return -EBUSY;
	}
	for (i = 0; i < nr_kernel; i++)
		if (kernel[i].uuid == u->b[0] && strcmp(kernel[i].state, MESHBLK_STATE_GONE))
			return -EEXIST;
	return meshtgt_drive_del(m, u, true);
}

/* The thread of a drive that is gone waits before it tries again. */
void sleep_ms(unsigned int ms)
{
	(void)ms;
	if (!__atomic_load_n(&back, __ATOMIC_SEQ_CST))
		return;
	kernel[0].state = MESHBLK_STATE_UP;
	__atomic_store_n(&hangs, 0, __ATOMIC_SEQ_CST);
}

struct tdrive *tdrive_find(const struct muuid *u) { return u->b[0] ? ending : &lost[0]; }
struct tdrive *tdrive_by_path(const char *path) { (void)path; return NULL; }
bool tdrive_lost(struct tdrive *d) { return d; }

struct tdrive **tdrives_all(size_t *n)
{
	struct tdrive **all = calloc(losts + 1, sizeof(*all));

	for (*n = 0; *n < losts; (*n)++)
		all[*n] = &lost[*n];
	return all;
}

void tdrive_put(struct tdrive *d)
{
	if (d)
		__atomic_add_fetch(&drops, 1, __ATOMIC_SEQ_CST);
}

void tdrive_stop(struct tdrive *d, bool force)
{
	CU_ASSERT(force);
	tdrive_set(d, &d->ending, true);
	__atomic_add_fetch(&stops, 1, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(&slow, __ATOMIC_SEQ_CST))
		usleep(1000);
}

int thread_start(void *(*fn)(void *), void *arg)
{
	pthread_t t;
	int err = pthread_create(&t, NULL, fn, arg);

	return err ? -err : pthread_detach(t);
}
static int read_err = -ENOENT;		/* of the numbers of disks */
int read_line(char *out, size_t size, const char *fmt, ...)
{
	(void)out, (void)size, (void)fmt;
	return read_err;
}

/* A snapshot of it was put back: not served without an administrator's command, not forgotten. */
static void test_older(void)
{
	newer = 57;
	CU_ASSERT_STRING_EQUAL(scan(drive_found()), "refused");
	CU_ASSERT_EQUAL(taken, 0);
	CU_ASSERT(strstr(why, "sequence 12") && strstr(why, "57"));
	newer = 12;
	CU_ASSERT_STRING_EQUAL(scan(drive_found()), "");
	CU_ASSERT_EQUAL(taken, 1);
	CU_ASSERT_STRING_EQUAL(why, "");
}

/* A snapshot was put back, and a second device has the newer state: that one is no copy to wipe. */
static void test_older_twin(void)
{
	struct probe *p = drive_found();

	twin = true;
	strcpy(p->id.wwid, "first");
	second = drive_found();
	strcpy(second->path, "/dev/twin");
	strcpy(second->id.wwid, "second");
	second->label->sequence = newer = 57;
	scan(p);
	CU_ASSERT_EQUAL(taken, 0);
	CU_ASSERT_PTR_NOT_NULL(strstr(why, "an older state"));
	CU_ASSERT_STRING_EQUAL(export_twin_why("/dev/twin", why, sizeof(why)), "twice");
	CU_ASSERT_PTR_NOT_NULL(strstr(why, "same label as /dev/test, which is refused"));
	CU_ASSERT_PTR_NOT_NULL(strstr(why, "export /dev/twin"));
	CU_ASSERT_PTR_NULL(strstr(why, "wipe"));
	twin = false;
	newer = 0;
}

/* Its label could not be written, the state folder could. */
static void test_unexported(void)
{
	newer = 0;
	noted = true;
	CU_ASSERT_STRING_EQUAL(scan(drive_found()), "");
	CU_ASSERT_EQUAL(taken, 0);
	noted = false;
	scan(drive_found());
	CU_ASSERT_EQUAL(taken, 1);
}

/* By itself it takes what this host exported last, and has no order to leave. */
/* A whole drive may have been copied to a partition; what a partition holds itself is local. */
static void test_partition(void)
{
	struct probe *p;

	for (int local = 0; local < 2; local++) {
		p = drive_found();
		p->partition = true;
		p->label->flags = local ? LABEL_F_LOCAL : 0;
		CU_ASSERT_STRING_EQUAL(scan(p), "");
		CU_ASSERT_EQUAL(taken, local);
	}
}

static void test_not_ours(void)
{
	struct probe *p;

	for (int verdict = PROBE_OK; verdict <= PROBE_UNFIT; verdict++) {
		p = drive_found();
		p->verdict = verdict;
		scan(p);
		CU_ASSERT_EQUAL(taken, verdict == PROBE_OURS);
	}
	p = drive_found();
	p->err = -EIO;
	scan(p);
	CU_ASSERT_EQUAL(taken, 0);
	p = drive_found();
	p->label->flags = LABEL_F_UNEXPORTED;
	scan(p);
	CU_ASSERT_EQUAL(taken, 0);
}

/* Not passed over in silence: no other message would say why the volumes are away. */
static void test_cluster(void)
{
	strange = true;
	CU_ASSERT_STRING_EQUAL(scan(drive_found()), "refused");
	CU_ASSERT_EQUAL(taken, 0);
	CU_ASSERT(strstr(why, "another cluster") && strstr(why, "export /dev/test --take-over"));
	strange = false;
	CU_ASSERT_STRING_EQUAL(scan(drive_found()), "");
	CU_ASSERT_EQUAL(taken, 1);
}

static void wait_for(int *count, int want)
{
	for (int i = 0; i < 20000 && __atomic_load_n(count, __ATOMIC_SEQ_CST) < want; i++)
		usleep(1000);
	CU_ASSERT_EQUAL(__atomic_load_n(count, __ATOMIC_SEQ_CST), want);
}

/* A shelf loses its power: one drive that is slow to end holds up no other, and no scan. */
static void test_lost(void)
{
	losts = 3;
	slow = true;
	scan(NULL);
	wait_for(&stops, 3);
	CU_ASSERT_EQUAL(drops, 3);	/* a scan's own */
	scan(NULL);			/* they are ending already */
	CU_ASSERT_EQUAL(stops, 3);
	CU_ASSERT_EQUAL(drops, 9);
	/* One that came back meanwhile is checked again later. */
	ending = &lost[0];
	scan(drive_found());
	CU_ASSERT_EQUAL(taken, 0);
	CU_ASSERT_STRING_EQUAL(why, "");
	__atomic_store_n(&slow, false, __ATOMIC_SEQ_CST);
	wait_for(&drops, 19);
	losts = 0;
	ending = NULL;
	scan(drive_found());
	CU_ASSERT_EQUAL(taken, 1);
}

/* Only a name that is not there says that a drive is gone. */
static void test_no_descriptor(void)
{
	static const int errs[] = { -EMFILE, -ENFILE, -ENOMEM, -EACCES, -EIO };

	memset(lost, 0, sizeof(lost));
	stops = drops = 0;
	losts = 1;
	for (size_t i = 0; i < sizeof(errs) / sizeof(*errs); i++) {
		read_err = errs[i];
		scan(NULL);
		CU_ASSERT(!lost[0].ending);
	}
	read_err = -ENOENT;
	scan(NULL);
	wait_for(&stops, 1);
	losts = 0;
}

/*
 * What the kernel has left from a meshd before this one goes when its label names another
 * host; nothing else that its device says, or does not say, ends I/O.
 */
static void test_taken_over(void)
{
	static const bool goes[9] = { [1] = true, [6] = true, [7] = true };

	memcpy(kernel, (typeof(kernel)) {
		{ 0, "up", 9, 2, false, 1 },	/* it has a thread that sees to that */
		{ 11, "up", 11, 2, false, 1 },
		{ 12, "up", 12, 1, false, 1 },
		{ 13, "up", 99, 2, false, 1 },	/* another drive's label */
		{ 14, "up", 0, 0, false, 1 },
		{ 15, "up", 255, 0, false, 1 },
		{ 16, "gone", 16, 2, false, 1 },	/* its entry keeps the device */
		{ 17, "up", 17, 2, false, 1 },
		{ 18, "up", 18, 2, false, 2 },	/* this host's identity before its state was lost */
	}, sizeof(kernel));
	nr_kernel = 9;
	scan(NULL);
	for (size_t i = 0; i < nr_kernel; i++)
		CU_ASSERT_EQUAL(kernel[i].gone, goes[i]);
	nr_kernel = 0;
}

/* Drives that hang hold up neither one another nor what comes after the scan. */
static void test_taken_hang(void)
{
	memcpy(kernel, (typeof(kernel)) {
		{ 11, "up", 11, 2, false, 1 },
		{ 12, "up", 12, 2, false, 1 },
	}, sizeof(kernel));
	nr_kernel = 2;
	dels = 0;
	slow = true;
	scan(NULL);
	CU_ASSERT_EQUAL(__atomic_load_n(&dels, __ATOMIC_SEQ_CST), 2);
	for (int i = 0; i < 2; i++)
		CU_ASSERT(!__atomic_load_n(&kernel[i].gone, __ATOMIC_SEQ_CST));
	__atomic_store_n(&slow, false, __ATOMIC_SEQ_CST);
	for (int n = 0; n < 10000 && !(kernel[0].gone && kernel[1].gone); n++)
		usleep(1000);
	CU_ASSERT(kernel[0].gone && kernel[1].gone);
	nr_kernel = 0;
}

static void wait_ended(void)
{
	for (int i = 0; i < 10000 && __atomic_load_n(&endings, __ATOMIC_SEQ_CST); i++)
		usleep(1000);
	CU_ASSERT_PTR_NULL_FATAL(endings);
}

/* It comes back between two tries to end it: it is served, and must stay. */
static void test_gone_back(void)
{
	memcpy(kernel, (typeof(kernel)) { { 16, "gone", 16, 1, false, 1 } }, sizeof(kernel));
	nr_kernel = 1;
	hangs = 16;
	__atomic_store_n(&back, true, __ATOMIC_SEQ_CST);
	scan(NULL);
	wait_ended();
	CU_ASSERT(!kernel[0].gone && !strcmp(kernel[0].state, MESHBLK_STATE_UP));
	back = false;
	nr_kernel = 0;
}

/* One whose commands never come back has a thread; others that go then are ended. */
static void test_gone_hangs(void)
{
	memcpy(kernel, (typeof(kernel)) {
		{ 16, "gone", 16, 1, false, 1 },
		{ 17, "up", 17, 1, false, 1 },
	}, sizeof(kernel));
	nr_kernel = 2;
	hangs = 16;
	scan(NULL);
	CU_ASSERT(!kernel[0].gone && !kernel[1].gone);
	kernel[1].state = "gone";
	scan(NULL);
	CU_ASSERT(!kernel[0].gone && kernel[1].gone);
	CU_ASSERT_PTR_NOT_NULL_FATAL(endings);
	CU_ASSERT_PTR_NULL(endings->next);
	__atomic_store_n(&hangs, 0, __ATOMIC_SEQ_CST);
	wait_ended();
	CU_ASSERT(kernel[0].gone);
	nr_kernel = 0;
}

/* What is reported to peers: it is served, whatever a check of its label says. */
static void test_left(void)
{
	struct mgmt_drive m;
	json_t *list = json_array();

	memcpy(kernel, (typeof(kernel)) {
		{ 0, "up", 9, 1, false, 1 },
		{ 11, "up", 11, 1, false, 1 },
		{ 12, "gone", 12, 1, false, 1 },
		{ 13, "up", 0, 0, false, 1 },
	}, sizeof(kernel));
	nr_kernel = 4;
	m = (struct mgmt_drive) { .uuid.b[0] = 13, .path = "/dev/k3", .state = "refused" };
	json_array_append_new(list, mgmt_drive_pack(&m));
	CU_ASSERT_EQUAL(left_list(list), 0);
	CU_ASSERT_EQUAL_FATAL(json_array_size(list), 3);
	for (int i = 0; i < 3; i++) {
		static const struct { u8 uuid; const char *path, *state; } want[] = {
			{ 13, "/dev/k3", MGMT_UNMANAGED }, { 11, "/dev/k1", MGMT_UNMANAGED },
			{ 12, "/dev/k2", MGMT_DRAINING },
		};

		CU_ASSERT_EQUAL(mgmt_drive_unpack(json_array_get(list, i), &m), 0);
		CU_ASSERT(m.uuid.b[0] == want[i].uuid && mgmt_drive_served(&m));
		CU_ASSERT_STRING_EQUAL(m.path, want[i].path);
		CU_ASSERT_STRING_EQUAL(m.state, want[i].state);
	}
	json_decref(list);
	list = json_array();
	kernel_err = -EIO;
	CU_ASSERT_EQUAL(left_list(list), -EIO);
	kernel_err = nr_kernel = 0;
	CU_ASSERT(!left_list(list) && !json_array_size(list));
	json_decref(list);
}

static void stop_thread(pthread_t t, int fd)
{
	u64 one = 1;

	CU_ASSERT_EQUAL(write(fd, &one, sizeof(one)), sizeof(one));
	pthread_join(t, NULL);
}

/* No event comes when another host writes a label: it is checked nevertheless. */
static void test_left_later(void)
{
	pthread_t t;

	memcpy(kernel, (typeof(kernel)) { { 11, "up", 11, 1, false, 1 } }, sizeof(kernel));
	nr_kernel = 1;
	wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	D.stop = eventfd(0, EFD_CLOEXEC);
	scan(NULL);
	CU_ASSERT(!kernel[0].gone);
	__atomic_store_n(&kernel[0].owner, 2, __ATOMIC_SEQ_CST);
	CU_ASSERT_EQUAL_FATAL(pthread_create(&t, NULL, export_thread, NULL), 0);
	for (int i = 0; i < 10000 && !__atomic_load_n(&kernel[0].gone, __ATOMIC_SEQ_CST); i++)
		usleep(1000);
	CU_ASSERT(kernel[0].gone);
	stop_thread(t, D.stop);
	close(D.stop);
	close(wake_fd);
	wake_fd = D.stop = -1;
	nr_kernel = 0;
}

static void test_event(void)
{
	memset(lost, 0, sizeof(lost));
	stops = drops = 0;
	slow = true;
	ending = &lost[0];
	export_gone(&id);
	wait_for(&stops, 1);
	export_gone(&id);
	CU_ASSERT_EQUAL(stops, 1);
	__atomic_store_n(&slow, false, __ATOMIC_SEQ_CST);
	wait_for(&drops, 2);
	ending = NULL;
}

int main(void)
{
	static const struct suite_test tests[] = {
		{ "older", test_older },
		{ "older beside a newer one", test_older_twin },
		{ "unexported", test_unexported },
		{ "a partition", test_partition },
		{ "not ours", test_not_ours },
		{ "another cluster", test_cluster },
		{ "lost together", test_lost },
		{ "no descriptor", test_no_descriptor },
		{ "taken over", test_taken_over },
		{ "taken over and hanging", test_taken_hang },
		{ "gone and back", test_gone_back },
		{ "gone and hanging", test_gone_hangs },
		{ "left to the kernel", test_left },
		{ "taken over later", test_left_later },
		{ "reported gone", test_event },
		{ NULL, NULL },
	};

	alarm(120);
	return suite_main("rescan", tests);
}
