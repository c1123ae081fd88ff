// SPDX-License-Identifier: GPL-2.0-only
/* Local drives by command: nothing is written to any device before all of them are judged. */
#include "req_rig.h"
#include "suite.h"

#include "userspace/libmesh/grow.c"
#include "userspace/meshd/local.c"
#include "abandoned_rig.h"

#define MIB	(1ULL << 20)

struct meshd D = { .host = { { 1 } }, .listen = "10.0.0.1" };
pthread_mutex_t export_lock = PTHREAD_MUTEX_INITIALIZER;

/* What is found on /dev/null and zero: block devices for this test. */
static struct {
	const char *path;
	enum probe_verdict verdict;
	u64	seq;
	bool	partition;
} device[] = { { .path = "/dev/null" }, { .path = "/dev/zero" } };

static char labelled[100];	/* the devices that were, in that order */
static struct muuid given;	/* to the last of them */
static struct req r;
static int left, held;		/* jobs: a drive that is one no more, or is held for the kernel */

int take_probe(const char *path, struct probe *p)
{
	u32 i;

	memset(p, 0, sizeof(*p));
	for (i = 0; i < 2 && strcmp(device[i].path, path); i++)
		;
	if (i == 2)
		return -ENOTBLK;
	snprintf(p->path, sizeof(p->path), "%s", path);
	snprintf(p->why, sizeof(p->why), "carries that");
	p->verdict = device[i].verdict;
	p->diskseq = device[i].seq;
	p->partition = device[i].partition;
	p->size = 100 * MIB;
	p->lba = 4096;
	return 0;
}

int take_up(struct probe *p, const struct take_how *how, struct tdrive **out)
{
	CU_ASSERT(how->fresh && how->local && !muuid_null(&how->drive));
	strcat(labelled, p->path);
	given = how->drive;
	*out = NULL;
	return 0;
}

void probe_clear(struct probe *p) { p->label = NULL; }
bool probe_searched(const char *path, char *why, size_t size) { (void)path, (void)why, (void)size; return true; }
bool export_lock_for(struct req *q) { (void)q; return !pthread_mutex_trylock(&export_lock); }
int export_leave(struct tdrive *d, bool force) { (void)d, (void)force; left++; return 0; }
bool export_there(struct tdrive *d) { (void)d; return true; }
static struct tdrive *served;	/* any drive is that; NULL: none is served */
struct tdrive *tdrive_find(const struct muuid *u) { (void)u; return served; }
struct tdrive **tdrives_all(size_t *n) { *n = 0; return NULL; }
void tdrive_put(struct tdrive *d) { (void)d; }
unsigned int tdrive_silent(struct tdrive *d) { (void)d; return 0; }
int tdrive_run_for(struct tdrive *d, int (*fn)(struct tdrive *d, void *arg), void *arg, void (*drop)(void *arg),
		   unsigned int ms)
{ (void)d, (void)fn, (void)ms; held++; if (drop) drop(arg); return 0; }
int grant_note(struct tdrive *d, const struct meshtgt_grant *g) { (void)d, (void)g; return 0; }
int store_host_by_uuid(const struct muuid *u, struct store_host *h) { (void)u, (void)h; return 0; }
int store_intents(struct store_intent **out, size_t *n) { *out = NULL; *n = 0; return 0; }
int store_frees(const struct muuid *v, struct store_free **out, size_t *n) { (void)v, *out = NULL; *n = 0; return 0; }
const char *store_words(int err) { (void)err; return ""; }
struct mesh *mesh_open(void) { return (struct mesh *)&r; }
void mesh_close(struct mesh *m) { (void)m; }
static struct meshblk_volume *attached;	/* the one in the kernel */
int meshblk_volumes(struct mesh *m, struct meshblk_volume **v, size_t *n) { (void)m, *v = attached, *n = !!attached; return 0; }
void meshblk_volumes_free(struct meshblk_volume *v, size_t n) { (void)v, (void)n; }
int gather(struct gather *g, const struct muuid *v, bool greet) { (void)g, (void)v, (void)greet; return -ENOMEM; }
void gather_free(struct gather *g) { (void)g; }
int kernel_set(struct store_volume *v, const struct layout *l, const struct kernel_set *o, char *why)
{ (void)v, (void)l, (void)o, (void)why; return 0; }
void reconcile_kick(void) { }
u64 now_ms(void) { return 0; }
void log_warn(const char *fmt, ...) { (void)fmt; }
void log_error(const char *fmt, ...) { (void)fmt; }
void log_info(const char *fmt, ...) { (void)fmt; }

void uuid_random(struct muuid *u)
{
	static u8 n = 100;

	*u = (struct muuid) { { ++n } };
}

static struct locals of;
static bool erase_label;

/* What becomes of names. @force: what they carry may be erased. */
static int begin(const char *one, const char *two, bool force)
{
	json_t *names = json_pack("[s, s]", one, two);
	struct segment_req q = { .drives = names, .force = force, .erase_label = erase_label };
	int err;

	r.error[0] = labelled[0] = 0;
	err = local_begin(&r, &q, &of);
	json_decref(names);
	return err;
}

static bool says(const char *words)
{
	return strstr(r.error, words);
}

static void refused(const char *one, const char *two, bool force, const char *words)
{
	CU_ASSERT(begin(one, two, force) && says(words) && !labelled[0]);
	local_end(&of);
}

static void test_judged(void)
{
	device[0].verdict = PROBE_FOREIGN;
	refused("bdev:/dev/null", "bdev:/dev/zero", false, "add --force");
	refused("bdev:/dev/null", "bdev:/dev/no-such", true, "is not here");
	refused("bdev:/dev/null", "bdev:/dev/full", true, "no block device");
	refused("bdev:/dev/null", "bdev:/dev/null", true, "named twice");
	device[1].verdict = PROBE_USED;
	refused("bdev:/dev/null", "bdev:/dev/zero", true, "cannot be used");
	device[1].verdict = PROBE_OK;
	/* A disk and a partition of it. */
	device[0].seq = device[1].seq = 7;
	device[1].partition = true;
	refused("bdev:/dev/null", "bdev:/dev/zero", true, "overlap");
	refused("bdev:/dev/zero", "bdev:/dev/null", true, "overlap");
	device[0].partition = true;
	CU_ASSERT(!begin("bdev:/dev/null", "bdev:/dev/zero", true));
	local_end(&of);
	device[0].partition = device[1].partition = false;
	device[0].seq = device[1].seq = 0;
	/* What was a drive of ours is not erased by --force. */
	device[0].verdict = PROBE_DAMAGED;
	refused("bdev:/dev/null", "bdev:/dev/zero", true, "add --erase-label");
	erase_label = true;
	CU_ASSERT(!begin("bdev:/dev/null", "bdev:/dev/zero", false));
	local_end(&of);
	device[0].verdict = PROBE_THEIRS;
	refused("bdev:/dev/null", "bdev:/dev/zero", true, "then add --erase-label");
	device[0].verdict = PROBE_FOREIGN;
	refused("bdev:/dev/null", "bdev:/dev/zero", false, "add --force");
	erase_label = false;
}

/* As its host would list it. */
static void test_candidates(void)
{
	struct mgmt_drive m;

	CU_ASSERT(!begin("bdev:/dev/null", "x", true) && of.n == 1 && !labelled[0]);
	CU_ASSERT_FATAL(json_array_size(of.q.fresh) == 1 && !mgmt_drive_unpack(json_array_get(of.q.fresh, 0), &m));
	CU_ASSERT(m.size == 100 * MIB && m.longest == 98 * MIB && m.free == m.longest && m.lba == 4096);
	CU_ASSERT(!strcmp(m.state, MGMT_LOCAL) && !strcmp(m.path, "/dev/null"));
	CU_ASSERT(!strcmp(json_string_value(json_array_get(of.q.drives, 0)), muuid_str(&m.uuid).s));
	CU_ASSERT(!strcmp(json_string_value(json_array_get(of.q.drives, 1)), "x"));
	local_end(&of);
}

static void test_labelled(void)
{
	struct layout *l = calloc(1, sizeof(*l));

	l->members = 2;
	/* A device that has no part in the plan keeps what it carries. */
	CU_ASSERT_FATAL(!begin("bdev:/dev/null", "bdev:/dev/zero", true));
	l->member[1].drive = of.p[1].drive;
	CU_ASSERT(!local_label(&r, &of, l) && !strcmp(labelled, "/dev/zero"));
	CU_ASSERT(muuid_equal(&given, &l->member[1].drive));
	local_end(&of);
	/* The second one is in use by now, or another device: the first one is left alone, too. */
	for (int i = 0; i < 2; i++) {
		device[1].verdict = PROBE_OK;
		CU_ASSERT_FATAL(!begin("bdev:/dev/null", "bdev:/dev/zero", true));
		l->member[0].drive = of.p[0].drive;
		l->member[1].drive = of.p[1].drive;
		if (i)
			device[1].seq++;
		else
			device[1].verdict = PROBE_USED;
		CU_ASSERT(local_label(&r, &of, l) && says(i ? "another device" : "cannot be used") && !labelled[0]);
		local_end(&of);
	}
	CU_ASSERT_FATAL(!begin("bdev:/dev/null", "bdev:/dev/zero", true));
	l->member[0].drive = of.p[0].drive;
	l->member[1].drive = of.p[1].drive;
	CU_ASSERT(!local_label(&r, &of, l) && !strcmp(labelled, "/dev/null/dev/zero"));
	local_end(&of);
	free(l);
}

/* Its device has not ended I/O: it is no member again, and keeps its label, until it has. */
static void test_at_risk(void)
{
	const struct muuid u = { { 3 } }, x = { { 4 } };
	struct meshblk_member m = { .kind = MESHBLK_KIND_BDEV, .drive = u, .extent = x, .state = "gone" };
	struct meshblk_volume k = { .members = &m, .nr_members = 1 };
	struct label *l = calloc(1, sizeof(*l));
	struct tdrive d = { .local = true, .uuid = u, .path = "/dev/test", .label = l,
			    .lock = PTHREAD_MUTEX_INITIALIZER };
	char path[128], why[REASON] = "";

	served = &d;
	rig_abandon((struct muuid) { { 1 } }, u, x, 1);
	held = left = 0;
	strcpy(path, "x");
	CU_ASSERT(!local_hold(&m, false, path, sizeof(path), why) && !path[0] && !held);
	CU_ASSERT(!local_returned(&k));
	CU_ASSERT(local_held("/dev/test", &u) && !local_held("/dev/test", &x));
	CU_ASSERT(!leave_job(&d, NULL) && !left);
	rig_ios = 0;
	CU_ASSERT(!local_hold(&m, false, path, sizeof(path), why) && !strcmp(path, "/dev/test") && held == 1);
	CU_ASSERT(local_returned(&k) && !local_held("/dev/test", &u));
	CU_ASSERT(!leave_job(&d, NULL) && left == 1);
	/* The kernel has it open for the volume yet, or for I/O alone, and has the member as one that is away. */
	rig_abandon((struct muuid) { { 1 } }, u, x, 1);
	attached = &k;
	CU_ASSERT(!local_hold(&m, false, path, sizeof(path), why) && !path[0] && held == 1);
	strcpy(m.path, "/dev/test");
	CU_ASSERT(!local_hold(&m, false, path, sizeof(path), why) && !strcmp(path, "/dev/test") && held == 2);
	attached = NULL;
	rig_ios = 0;
	/* The kernel does not say: it refuses what is not to be opened by itself. */
	rig_io_err = -EIO;
	CU_ASSERT(!local_hold(&m, false, path, sizeof(path), why) && !strcmp(path, "/dev/test"));
	CU_ASSERT(!leave_job(&d, NULL) && left == 1);
	rig_io_err = 0;
	served = NULL;
	free(l);
}

int main(void)
{
	static const struct suite_test tests[] = {
		{ "all names are judged first", test_judged },
		{ "what may become a drive", test_candidates },
		{ "labels come last", test_labelled },
		{ "its device has not ended I/O", test_at_risk },
		{ NULL, NULL },
	};

	return suite_main("local", tests);
}
