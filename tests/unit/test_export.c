// SPDX-License-Identifier: GPL-2.0-only
/*
 * What exporting a drive requires before it is touched. Which host can stop a take-over:
 * the host that the label names, when it answers.
 */
#define _GNU_SOURCE
#include <linux/kernel.h>

#include "userspace/meshd/export.c"
#include "req_rig.h"
#include "suite.h"

struct meshd D = { .stop = -1 };
static const struct muuid me = { { 1 } }, owner = { { 2 } }, id = { { 5 } }, another = { { 6 } };
static json_t *drives;		/* what the owner answers; NULL: nothing */
static int call_err;
static struct req r;
static bool over, force, as_is, erase, dry, stale;	/* what the command says */
static u32 flags;		/* of the label */
static u64 newer;		/* than the label, in the backup */
static int takes;		/* drives that were touched */

/* The rest of meshd */

struct tdrive **tdrives_all(size_t *n) { *n = 0; return NULL; }
struct tdrive *tdrive_find(const struct muuid *u) { (void)u; return NULL; }
struct tdrive *tdrive_by_path(const char *path) { (void)path; return NULL; }
void tdrive_put(struct tdrive *d) { (void)d; }
void tdrive_submit(struct tdrive *d, struct tjob *j) { (void)d, (void)j; }
struct label *tdrive_edit(struct tdrive *d) { (void)d; return NULL; }
int tdrive_commit(struct tdrive *d, struct label *l) { (void)d, (void)l; return -ENOSYS; }
int tdrive_push(struct tdrive *d) { (void)d; return -ENOSYS; }
void tdrive_describe(struct tdrive *d, struct mgmt_drive *out) { (void)d, (void)out; }
static const char *noted;	/* the device of the label; NULL: none */

int device_noted(const struct muuid *u, struct twin_id *t)
{
	(void)u;
	memset(t, 0, sizeof(*t));
	snprintf(t->wwid, sizeof(t->wwid), "%s", noted ? noted : "");
	return noted ? 0 : -ENOENT;
}

u64 backup_newer(const struct label *l) { (void)l; return newer; }
void probe_clear(struct probe *p) { (void)p; }
int take_probe(const char *path, struct probe *p) { (void)path, (void)p; return -ENOSYS; }
void sleep_ms(unsigned int ms) { (void)ms; }
void export_rescan(void) { }
void spare_again(void) { }
void dry_begin(struct req *q) { (void)q; }
void req_note(struct req *q, const char *fmt, ...) { (void)q, (void)fmt; }
const char *arg_str(const struct req *q, const char *key) { (void)q, (void)key; return ""; }

bool arg_bool(const struct req *q, const char *key)
{
	(void)q;
	return !strcmp(key, "take_over") ? over : !strcmp(key, "force") ? force :
	       !strcmp(key, "as_is") ? as_is : !strcmp(key, "erase_label") ? erase :
	       !strcmp(key, "stale") ? stale : dry;
}

bool stopping(void) { return false; }

int tdrive_run_for(struct tdrive *d, int (*fn)(struct tdrive *d, void *arg), void *arg,
		   void (*drop)(void *arg), unsigned int ms)
{
	(void)d, (void)fn, (void)arg, (void)drop, (void)ms;
	return -ENOSYS;
}

int take_up(struct probe *p, const struct take_how *how, struct tdrive **out)
{
	(void)how, (void)out;
	free(p->label);
	takes++;
	return -ENOSYS;
}

int store_host_by_uuid(const struct muuid *u, struct store_host *h)
{
	memset(h, 0, sizeof(*h));
	strcpy(h->name, "theirs");
	return muuid_equal(u, &owner) ? 0 : -ENOENT;
}

int peer_call(const struct store_host *h, const struct mgmt_req *q, json_t **data, char *why)
{
	(void)h;
	CU_ASSERT_EQUAL(q->op, MGMT_DRIVES);
	snprintf(why, REASON, "why");
	*data = NULL;
	if (!call_err) {
		*data = json_object();
		if (drives)
			json_object_set(*data, "drives", drives);
	}
	return call_err;
}

static json_t *listed(const struct muuid *u, const char *state)
{
	struct mgmt_drive m = { .uuid = *u, .owner = owner };

	snprintf(m.state, sizeof(m.state), "%s", state);
	return mgmt_drive_pack(&m);
}

static int take_over_from(const struct muuid *host)
{
	static struct label l;
	struct probe p = { .path = "/dev/test", .verdict = PROBE_THEIRS, .drive = id, .owner = *host,
			   .size = 64ULL << 20, .label = &l };

	l = (struct label) { .drive = id, .owner = *host, .size = p.size, .flags = flags };
	r = (struct req) { .status = 0 };
	over = true;
	force = as_is = erase = dry = false;
	return export_verdict(&r, &p);
}

static int take_over(void)
{
	return take_over_from(&owner);
}

static void test_owner(void)
{
	D.host = me;
	drives = json_array();
	CU_ASSERT_EQUAL(take_over(), 0);
	json_array_append_new(drives, listed(&another, "up"));
	json_array_append_new(drives, listed(&id, "gone"));
	CU_ASSERT_EQUAL(take_over(), 0);
	json_array_append_new(drives, listed(&id, "up"));
	CU_ASSERT_EQUAL(take_over(), -1);
	CU_ASSERT_PTR_NOT_NULL(strstr(r.error, "host theirs serves /dev/test"));
	json_decref(drives);
	/* Its kernel serves it, although its meshd has refused it. */
	drives = json_array();
	json_array_append_new(drives, listed(&id, MGMT_UNMANAGED));
	CU_ASSERT_EQUAL(take_over(), -1);
	json_decref(drives);
}

/*
 * Its kernel may serve the drive while its meshd is silent: a command has to say that it does
 * not, or its label does. What it serves by its own word is not taken over by any.
 */
static void test_silent(void)
{
	for (int i = 0; i < 8; i++) {
		stale = i & 1;
		flags = i & 2 ? LABEL_F_UNEXPORTED : 0;
		call_err = i & 4 ? 0 : -EHOSTDOWN;
		CU_ASSERT_EQUAL(i & 4 ? take_over_from(&another) : take_over(), stale || flags ? 0 : -1);
		CU_ASSERT_EQUAL(!!strstr(r.error, "add --stale"), !stale && !flags);
	}
	stale = true;
	call_err = 0;
	drives = json_array();
	json_array_append_new(drives, listed(&id, "up"));
	CU_ASSERT_EQUAL(take_over(), -1);
	json_decref(drives);
	call_err = -EBADMSG;
	CU_ASSERT_EQUAL(take_over(), -1);
	call_err = flags = stale = 0;
}

/* A host that answers is not off: what cannot be read may say that it serves the drive. */
static void test_unreadable(void)
{
	json_t *j = listed(&id, "up");

	json_object_del(j, "owner");
	drives = json_array();
	json_array_append_new(drives, j);
	CU_ASSERT_EQUAL(take_over(), -1);
	json_decref(drives);
	drives = NULL;
	CU_ASSERT_EQUAL(take_over(), -1);
	call_err = -EBADMSG;		/* another version */
	CU_ASSERT_EQUAL(take_over(), -1);
	CU_ASSERT_PTR_NOT_NULL(strstr(r.error, "unexport /dev/test there first"));
	call_err = 0;
}

/* One thing that is against it each, and the option that is about that. */
static const struct {
	enum probe_verdict verdict;
	const char *network, *noted;
	u64	newer, size;
	u8	cluster;
	bool	over, force, as_is, erase, never, unserved;
} drive[] = {
	{ .verdict = PROBE_OK },
	{ .verdict = PROBE_USED, .never = true },
	{ .verdict = PROBE_UNFIT, .never = true },
	{ .verdict = PROBE_OK, .unserved = true, .never = true },
	{ .verdict = PROBE_FOREIGN, .unserved = true, .never = true },
	{ .verdict = PROBE_DAMAGED, .unserved = true, .never = true },
	{ .verdict = PROBE_NETWORK, .unserved = true, .never = true },
	{ .verdict = PROBE_THEIRS, .size = 1, .unserved = true, .never = true },
	{ .verdict = PROBE_FOREIGN, .force = true },
	{ .verdict = PROBE_DAMAGED, .erase = true },
	{ .verdict = PROBE_NETWORK, .force = true },
	{ .verdict = PROBE_OURS, .size = 1 },
	{ .verdict = PROBE_OURS, .size = 2, .as_is = true },
	{ .verdict = PROBE_OURS, .size = 1, .newer = 57, .as_is = true },
	{ .verdict = PROBE_OURS, .size = 1, .cluster = 8, .over = true },
	{ .verdict = PROBE_OURS, .size = 1, .noted = "this" },
	{ .verdict = PROBE_OURS, .size = 1, .noted = "other", .as_is = true },
	{ .verdict = PROBE_THEIRS, .size = 1, .over = true },
	{ .verdict = PROBE_THEIRS, .size = 1, .noted = "other", .over = true },
	{ .verdict = PROBE_THEIRS, .size = 1, .network = "nbd", .over = true, .force = true },
	{ .verdict = PROBE_THEIRS, .size = 1, .newer = 57, .over = true, .as_is = true },
};

/* Whether drive @i is touched with the options that are set. */
static bool touched(size_t i)
{
	static struct label l;
	struct probe p = { .path = "/dev/test", .verdict = drive[i].verdict, .drive = id,
			   .owner = owner, .size = 64ULL << 20, .label = drive[i].size ? &l : NULL,
			   .id.wwid = "this" };
	struct tdrive *d = NULL;

	l = (struct label) { .drive = id, .owner = owner, .size = p.size / (drive[i].size ?: 1),
			     .cluster = { { drive[i].cluster } }, .sequence = 12 };
	if (drive[i].network)
		strcpy(p.network, drive[i].network);
	if (drive[i].unserved)
		strcpy(p.unserved, "it carries protection information");
	newer = drive[i].newer;
	noted = drive[i].noted;
	r = (struct req) { .status = 0 };
	takes = 0;
	export_probed(&r, &p, &d);
	CU_ASSERT(takes <= 1 && !!takes == !r.error[0] * !dry);
	CU_ASSERT(!drive[i].unserved || strstr(r.error, "protection information"));
	return takes;
}

static void test_options(void)
{
	drives = json_array();
	D.cluster.b[0] = 9;
	for (int opts = 0; opts < 32; opts++) {
		over = opts & 1;
		force = opts & 2;
		dry = opts & 4;
		as_is = opts & 8;
		erase = opts & 16;
		for (size_t i = 0; i < sizeof(drive) / sizeof(*drive); i++)
			CU_ASSERT_EQUAL(touched(i), !dry && !drive[i].never &&
					(over || !drive[i].over) && (force || !drive[i].force) &&
					(as_is || !drive[i].as_is) && (erase || !drive[i].erase));
	}
	memset(&D.cluster, 0, sizeof(D.cluster));
	newer = 0;
	noted = NULL;
	json_decref(drives);
}

int main(void)
{
	static const struct suite_test tests[] = {
		{ "the owner's word", test_owner },
		{ "a silent owner", test_silent },
		{ "unreadable", test_unreadable },
		{ "options", test_options },
		{ NULL, NULL },
	};

	return suite_main("export", tests);
}
