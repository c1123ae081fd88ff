// SPDX-License-Identifier: GPL-2.0-only
/* What unexporting a drive writes to it, and when it goes. */
#define _GNU_SOURCE
#include "drive_rig.h"
#include "req_rig.h"
#include "abandoned_rig.h"
#include "userspace/meshd/fan.c"
#include "userspace/meshd/left.c"
#undef RETRY_MS
#include "userspace/meshd/unexport.c"

/* The rest of meshd */

pthread_mutex_t export_lock = PTHREAD_MUTEX_INITIALIZER;
static int forgotten, noted, note_err;
static u32 opens;		/* what the kernel had when it was first queried */

/* By then the kernel has given it up. */
void device_forget(const struct muuid *u) { (void)u; forgotten++; CU_ASSERT_PTR_NULL(kernel_state); }
int unexported_note(const struct muuid *u) { (void)u; noted++; return note_err; }
bool export_lock_for(struct req *q) { (void)q; return !pthread_mutex_lock(&export_lock); }
int store_drive_del(const struct muuid *u) { (void)u; return 0; }
struct opens *opens_get(void) { return rig_silent ? NULL : (void *)&opens; }
u32 opens_of(const struct opens *o, const struct muuid *e) { (void)o, (void)e; return opens; }
void opens_free(struct opens *o) { (void)o; }
static bool ends;		/* meshd */
bool stopping(void) { return ends; }
void sleep_ms(unsigned int ms) { (void)ms; }
char **probe_list(size_t *n, bool partitions) { (void)partitions; *n = 0; return NULL; }
void probe_clear(struct probe *p) { (void)p; }
const char *probe_word(enum probe_verdict v) { (void)v; return ""; }
unsigned int take_silent(const char *path) { (void)path; return 0; }

void take_probes(char **path, size_t n, bool labelled_only, struct probe **out)
{
	(void)path, (void)n, (void)labelled_only, (void)out;
}

const char *export_twin_why(const char *path, char *why, size_t size)
{
	(void)path, (void)why, (void)size;
	return NULL;
}

const char *arg_str(const struct req *r, const char *key)
{
	return json_string_value(json_object_get(r->args, key)) ?: "";
}

bool arg_bool(const struct req *r, const char *key)
{
	return json_is_true(json_object_get(r->args, key));
}

void req_note(struct req *r, const char *fmt, ...) { (void)r, (void)fmt; }

static struct req r;

static int unexport_with(bool force, bool preempt, bool dry)
{
	int err;

	json_decref(destroyed);
	json_decref(unreachable);
	destroyed = unreachable = NULL;
	r = (struct req) { .args = json_pack("{s:s, s:b, s:b, s:b}", "drive", "/dev/test", "force", force,
					     "preempt", preempt, "dry_run", dry) };
	err = cmd_drive_unexport(&r);
	json_decref(r.args);
	json_decref(r.result);
	return err;
}

static int unexport_it(bool force)
{
	return unexport_with(force, false, false);
}

static bool listed(void)
{
	struct tdrive *t = tdrive_find(&id);

	tdrive_put(t);
	return t;
}

/* Nothing of this host's is on it any more, and it goes with that. */
static void test_empty(void)
{
	/* Both copies of its label, and of the record that a first extent would begin with. */
	static const u64 at[] = { 0, SIZE - MIB, MIB, MIB + LAYOUT_COPY_BYTES };
	u64 word = 1;
	size_t i;

	rig_begin(0);
	for (i = 2; i < 4; i++)
		CU_ASSERT_EQUAL(pwrite(d->fd, &word, 8, at[i]), 8);
	CU_ASSERT_EQUAL(unexport_it(false), 0);
	CU_ASSERT(!listed());
	CU_ASSERT_EQUAL(forgotten, 1);
	for (i = 0; i < 4; i++) {
		CU_ASSERT_EQUAL(pread(d->fd, &word, 8, at[i]), 8);
		CU_ASSERT_EQUAL(word, 0);
	}
}

/* What its volumes lose, and what is in use this moment, are two things to agree to. */
static void test_options(void)
{
	struct label_disk disk;
	struct label l;
	int each[2];

	for (int opts = 0; opts < 16; opts++) {
		bool force = opts & 1, preempt = opts & 2, dry = opts & 4;
		bool may = force && (preempt || !(opts & 8));

		opens = opts & 8 ? 1 : 0;
		rig_begin(LABEL_READY);
		CU_ASSERT_EQUAL(unexport_with(force, preempt, dry), may ? 0 : -1);
		CU_ASSERT_EQUAL(listed(), dry || !may);
		CU_ASSERT_EQUAL(label_read(d->fd, SIZE, &l, &disk, each), 0);
		CU_ASSERT_EQUAL(l.sequence, listed() ? 1 : 2);
		/* What volumes have on it stays there. */
		CU_ASSERT(!destroyed && !unreachable == !(dry && may));
		CU_ASSERT(!unreachable || json_integer_value(json_object_get(unreachable, "extents")) == 1);
	}
	opens = 0;
	rig_begin(0);
	CU_ASSERT_EQUAL(unexport_with(true, true, true), 0);
	CU_ASSERT(!unreachable && destroyed);
	CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(destroyed, "what")) ?: "", "label");
	CU_ASSERT(listed());
	CU_ASSERT_EQUAL(label_read(d->fd, SIZE, &l, &disk, each), 0);
}

/* It was given an extent since it was seen to have none. */
static void test_late_extent(void)
{
	struct unexport w = { 0 };

	rig_begin(LABEL_ZEROING);
	w.since = now_ms();
	CU_ASSERT_EQUAL(tdrive_run(d, unexport_job, &w), -EBUSY);
	CU_ASSERT(listed() && !d->label->flags && d->label->extents == 1);
}

/* After the first request the kernel says what was opened since, and that stays. */
static void test_opened(void)
{
	struct label_disk disk;
	struct label l;
	int each[2];

	for (int preempt = 0; preempt < 2; preempt++) {
		for (int silent = 0; silent < 2; silent++) {
			rig_begin(LABEL_READY);
			rig_opens = !silent;
			rig_silent = silent;
			CU_ASSERT_EQUAL(unexport_with(true, preempt, false), preempt && !silent ? 0 : -1);
			CU_ASSERT_EQUAL(!!strstr(r.error, "does not say"), !preempt && silent);
			CU_ASSERT_EQUAL(listed(), !preempt || silent);
			CU_ASSERT_EQUAL(kernel_state != NULL, !preempt || silent);
			CU_ASSERT_EQUAL(label_read(d->fd, SIZE, &l, &disk, each), 0);
			CU_ASSERT_EQUAL(l.sequence, listed() ? 1 : 2);
			rig_opens = rig_silent = false;
		}
	}
	/* Its label cannot say it: the kernel has it again. */
	rig_begin(LABEL_READY);
	bad_writes = 3;
	note_err = -ENOSPC;
	CU_ASSERT_EQUAL(unexport_it(true), -1);
	CU_ASSERT(listed() && kernel_state && pushes == 1);
	note_err = 0;
}

/*
 * Commands to it are not back: by force it goes when they are. Else it stays, and what is
 * said of it is what the kernel does.
 */
static void test_hangs(void)
{
	rig_begin(LABEL_READY);
	rig_hangs = 5;
	CU_ASSERT_EQUAL(unexport_with(true, true, false), 0);
	CU_ASSERT(!listed() && !kernel_state && !rig_hangs);
	for (int i = 1; i < 3; i++) {
		rig_begin(LABEL_READY);
		rig_hangs = i;
		CU_ASSERT_EQUAL(unexport_it(true), -1);
		CU_ASSERT_PTR_NOT_NULL(strstr(r.error, "does not give"));
		CU_ASSERT(listed());
		CU_ASSERT_STRING_EQUAL(kernel_state, i == 1 ? "up" : "gone");
		CU_ASSERT_STRING_EQUAL(rig_state(), i == 1 ? "up" : "down");
	}
	/* The kernel lists it no more, but closes its device still: it has not gone before that is over. */
	rig_begin(LABEL_READY);
	rig_closing = 5;
	CU_ASSERT_EQUAL(unexport_with(true, true, false), 0);
	CU_ASSERT(!listed() && !kernel_state && !rig_closing);
	/* It ends with meshd. */
	rig_begin(LABEL_READY);
	rig_hangs = 5;
	ends = true;
	CU_ASSERT_EQUAL(unexport_with(true, true, false), -1);
	CU_ASSERT(listed() && !pushes);
	ends = false;
	rig_hangs = 0;
}

/*
 * Not taken up by this meshd, which has refused it: the same to agree to, and to the end. Not
 * by a rescan either then, whatever its label says.
 */
static void test_left(void)
{
	for (int opts = 0; opts < 16; opts++) {
		bool force = opts & 1, preempt = opts & 2, dry = opts & 4;
		bool may = force && (preempt || !(opts & 8));

		rig_end();
		kernel_state = "up";
		rig_extent = true;
		rig_opens = opts & 8;
		noted = 0;
		CU_ASSERT_EQUAL(unexport_with(force, preempt, dry), may ? 0 : -1);
		CU_ASSERT_EQUAL(!kernel_state, may && !dry);
		CU_ASSERT_EQUAL(noted, may && !dry);
		CU_ASSERT(!destroyed && !unreachable == !(dry && may));
		if (!may)
			CU_ASSERT_PTR_NOT_NULL(strstr(r.error, force ? "add --preempt" : "add --force"));
	}
	rig_opens = rig_extent = false;
	/* From one that hangs it is taken when its commands are back. */
	kernel_state = "up";
	rig_hangs = 3;
	CU_ASSERT_EQUAL(unexport_it(false), 0);
	CU_ASSERT(!kernel_state && !rig_hangs);
	/* One that it has from elsewhere, or not at all. */
	kernel_state = "up";
	kernel_path = "/dev/else";
	CU_ASSERT_EQUAL(unexport_it(false), -1);
	CU_ASSERT(kernel_state && strstr(r.error, "is not exported by this host; see"));
	kernel_path = "/dev/test";
	rig_silent = true;
	CU_ASSERT_EQUAL(unexport_it(false), -1);
	CU_ASSERT_PTR_NOT_NULL(strstr(r.error, "does not say what it serves"));
	rig_silent = false;
	kernel_state = NULL;
	CU_ASSERT_EQUAL(unexport_it(false), -1);
}

/* Idle since another host took it over: the label in memory says that it is empty. */
static void test_taken_over(void)
{
	for (int i = 0; i < 4; i++) {
		bool mine = i & 1, extents = i & 2;

		rig_begin(extents ? LABEL_READY : 0);
		taker = mine ? me : other;
		rig_take_over();
		noted = 0;
		if (mine) {
			/* Named by its new label, this host would take it up again without a note. */
			note_err = -ENOSPC;
			CU_ASSERT_EQUAL(unexport_it(extents), -1);
			CU_ASSERT(listed());
			note_err = noted = 0;
		}
		CU_ASSERT_EQUAL(unexport_it(extents), 0);
		CU_ASSERT_EQUAL(noted, mine);
		CU_ASSERT(!listed() && !kernel_state);
		CU_ASSERT(rig_theirs(d->fd));
		CU_ASSERT_EQUAL(rig_damage(d->fd), 0);
	}
	taker = other;
}

static bool label_says(u64 at, u32 flags)
{
	struct label_disk_head h;

	CU_ASSERT_EQUAL(pread(d->fd, &h, sizeof(h), at), sizeof(h));
	return label_magic(&h, sizeof(h)) && le32toh(h.flags) == flags;
}

/* With one copy the label says it; with none the state folder, or it stays. */
static void test_unwritable(void)
{
	for (unsigned int copies = 1; copies <= 3; copies++) {
		rig_begin(LABEL_READY);
		noted = 0;
		bad_writes = copies;
		CU_ASSERT_EQUAL(unexport_it(true), 0);
		CU_ASSERT(!listed());
		CU_ASSERT_EQUAL(noted, copies == 3);
		CU_ASSERT(label_says(0, copies & 1 ? 0 : LABEL_F_UNEXPORTED));
		CU_ASSERT(label_says(SIZE - MIB, copies & 2 ? 0 : LABEL_F_UNEXPORTED));
	}
	rig_begin(LABEL_READY);
	bad_writes = 3;
	note_err = -ENOSPC;
	CU_ASSERT_EQUAL(unexport_it(true), -1);
	CU_ASSERT(listed());
	note_err = 0;
	CU_ASSERT_EQUAL(unexport_it(true), 0);
	CU_ASSERT(!listed());
}

/* An ETIMEDOUT of the device itself is not the end of our own wait: it stays. */
static void test_times_out(void)
{
	rig_begin(LABEL_READY);
	bad_writes = 3;
	bad_errno = ETIMEDOUT;
	note_err = -ENOSPC;
	CU_ASSERT_EQUAL(unexport_it(true), -1);
	CU_ASSERT_PTR_NOT_NULL(strstr(r.error, "cannot be written"));
	note_err = 0;
	CU_ASSERT(listed());
	bad_errno = EIO;
	rig_end();
}

/* Its device has not ended I/O: no option unexports it, and its label stays. */
static void test_at_risk(void)
{
	struct unexport w = { .force = true, .preempt = true };

	for (int opts = 0; opts < 16; opts++) {
		rig_begin(opts & 8 ? LABEL_READY : 0);
		rig_abandon(vol, id, ext, 3);
		noted = 0;
		CU_ASSERT_EQUAL(unexport_with(opts & 1, opts & 2, opts & 4), -1);
		CU_ASSERT_PTR_NOT_NULL(strstr(r.error, "not ended 3 I/O"));
		CU_ASSERT(listed() && !noted && label_says(0, 0) && label_says(SIZE - MIB, 0));
		/* Since then. */
		w.since = now_ms();
		CU_ASSERT_EQUAL(tdrive_run(d, unexport_job, &w), AT_RISK);
		CU_ASSERT(listed() && !noted && label_says(0, 0) && label_says(SIZE - MIB, 0));
		rig_ios = 0;
	}
	rig_abandon(vol, other, ext, 3);
	CU_ASSERT_EQUAL(unexport_it(true), 0);
	CU_ASSERT(!listed());
	rig_ios = 0;
}

static int commit_job(struct tdrive *t, void *arg)
{
	struct label *l = tdrive_edit(t);

	(void)arg;
	return tdrive_commit(t, l);
}

/* What a wipe that failed has left is the drive's own doing. */
static void test_half_wiped(void)
{
	for (unsigned int copies = 1; copies <= 3; copies++) {
		rig_begin(0);
		noted = 0;
		bad_writes = copies;
		CU_ASSERT_EQUAL(unexport_it(false), -1);
		CU_ASSERT_PTR_NOT_NULL(strstr(r.error, "add --force"));
		CU_ASSERT(listed());
		CU_ASSERT_EQUAL(noted, 0);
		bad_writes = 0;
		CU_ASSERT_EQUAL(tdrive_run(d, commit_job, NULL), 0);
		bad_writes = copies;
		CU_ASSERT_EQUAL(unexport_it(true), 0);
		CU_ASSERT(!listed());
		CU_ASSERT_EQUAL(noted, 1);
	}
}

static int slow_job(struct tdrive *t, void *arg)
{
	(void)t, (void)arg;
	sleep(3);
	return 0;
}

static void test_clock(void)
{
	u64 since;

	rig_begin(0);
	since = now_ms();
	CU_ASSERT_EQUAL(tdrive_run_for(d, slow_job, NULL, NULL, 1000), -ETIMEDOUT);
	CU_ASSERT(now_ms() - since >= 900);
	rig_end();
}

int main(void)
{
	static const struct suite_test tests[] = {
		{ "empty", test_empty },
		{ "options", test_options },
		{ "an extent at the last moment", test_late_extent },
		{ "opened meanwhile", test_opened },
		{ "hangs", test_hangs },
		{ "left to the kernel", test_left },
		{ "taken over", test_taken_over },
		{ "unwritable", test_unwritable },
		{ "half wiped", test_half_wiped },
		{ "times out", test_times_out },
		{ "set back clock", test_clock },
		{ "its device has not ended I/O", test_at_risk },
		{ NULL, NULL },
	};

	alarm(120);
	return suite_main("unexport", tests);
}
