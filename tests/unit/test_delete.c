// SPDX-License-Identifier: GPL-2.0-only
/* volume delete: what it requires before an extent is freed, and what is freed then. */
#include <CUnit/Basic.h>

#define RIG_EXTENTS
#include "volume_rig.h"
#include "req_rig.h"
#include "suite.h"

#include "userspace/meshd/bring.c"
#include "userspace/meshd/delete.c"
#include "userspace/meshd/choose.c"
#include "userspace/meshd/extents.c"
#include "userspace/meshd/gather.c"

/* No device is named; drives are as they are typed. */
int local_begin(struct req *rq, const struct segment_req *named, struct locals *of)
{
	(void)rq;
	*of = (struct locals) { .q = *named };
	return 0;
}

void local_end(struct locals *of) { (void)of; }
int local_apart(struct req *q, const struct locals *of, const struct layout *l) { (void)q, (void)of, (void)l; return 0; }
int local_label(struct req *q, struct locals *of, const struct layout *l) { (void)q, (void)of, (void)l; return 0; }

static const struct muuid no_host, other = { { 12 } };
static struct req r;
static bool force, stale, preempt, dry;	/* what it says */
static bool attached;			/* it has a device here ... */
static int probe_rc = 1;		/* ... on which that is found: 1: nothing */
static const char *probe_type;
static char device[] = "/tmp/test_delete.XXXXXX";	/* what the volume has on it */
static int device_fd;

const char *arg_str(const struct req *q, const char *key)
{
	(void)q;
	return strcmp(key, "volume") ? "" : "data";
}

bool arg_bool(const struct req *q, const char *key)
{
	(void)q;
	return !strcmp(key, "force") ? force : !strcmp(key, "stale") ? stale :
	       !strcmp(key, "preempt") ? preempt : dry;
}

void volume_attached(struct store_volume *v, struct layout *l)
{
	(void)v, (void)l;
}

void kernel_device(const struct muuid *uuid, char *out, size_t size)
{
	(void)uuid;
	snprintf(out, size, "%s", attached ? device : "");
}

int volume_detached(const struct muuid *volume, char *words)
{
	(void)volume;
	snprintf(words, REASON, "it is attached here");
	return kernel.there ? -EBUSY : 0;
}

int meshblk_volume_del(struct mesh *m, const struct muuid *uuid, bool forced)
{
	(void)m;
	CU_ASSERT(!forced);
	return kernel.openers ? -EBUSY : kernel_del(uuid, forced);
}

void reconcile_locals(const struct muuid *volume) { (void)volume; }

int peer_extent(const struct store_host *h, const struct muuid *extent, struct mgmt_extent *out, char *words)
{
	(void)h, (void)extent, (void)out, (void)words;
	return -ENOSYS;
}

int volume_do(struct req *q, int (*fn)(struct req *r, struct store_volume *v, struct layout *l))
{
	struct layout *l = malloc(sizeof(*l));
	struct store_volume v;
	int err = store_volume_find(arg_str(q, "volume"), &v, l);

	if (!err)
		err = fn(q, &v, l);
	free(l);
	return err;
}

struct mesh *mesh_open(void) { return (struct mesh *)&kernel; }
void mesh_close(struct mesh *m) { (void)m; }
const char *mesh_why(const struct mesh *m) { (void)m; return ""; }
static bool busy;
bool busy_is(const struct muuid *volume) { (void)volume; return busy; }
bool busy_cancelled(const struct muuid *volume) { (void)volume; return false; }
bool busy_cancel(const struct muuid *volume, unsigned int ms) { (void)volume, (void)ms; return false; }
void busy_drop(const struct muuid *volume) { (void)volume; }

blkid_probe blkid_new_probe_from_filename(const char *path) { return (void *)path; }
int blkid_probe_enable_partitions(blkid_probe p, int on) { (void)p, (void)on; return 0; }
int blkid_do_safeprobe(blkid_probe p) { (void)p; errno = EIO; return probe_rc; }
void blkid_free_probe(blkid_probe p) { (void)p; }

int blkid_probe_lookup_value(blkid_probe p, const char *name, const char **value, size_t *len)
{
	(void)p, (void)len;
	if (!probe_type || strcmp(name, "TYPE"))
		return -1;
	*value = probe_type;
	return 0;
}

/* Two members, and a third extent that is none of its. */
static void begin(void)
{
	rig_new(2);
	force = true;
	stale = preempt = dry = attached = false;
	probe_rc = 1;
	probe_type = NULL;
}

static int delete(void)
{
	r = (struct req) { 0 };
	return cmd_volume_delete(&r);
}

/* Refused, and nothing of it is touched. */
static bool refuses(const char *words)
{
	bool was = kernel.there;

	return delete() == -1 && has(r.error, words) && rig_extents() == EXTENTS && rig_state_is(STORE_LIVE) &&
	       kernel.there == was;
}

static bool gone(void)
{
	struct store_volume v;

	return store_volume_get(&vol, &v, NULL) == -ENOENT;
}

static bool deletes(void)
{
	return !delete() && !at[0].e.length && !at[1].e.length && at[2].e.length && gone();
}

static void test_plain(void)
{
	begin();
	dry = true;
	CU_ASSERT(!delete() && rig_extents() == EXTENTS && rig_state_is(STORE_LIVE));
	dry = false;
	CU_ASSERT(deletes());
}

/* --force is about what is on it, and about nothing else. */
static void test_data(void)
{
	begin();
	force = false;
	stale = preempt = true;
	CU_ASSERT(refuses("is not attached"));
	attached = true;
	probe_rc = 0;
	probe_type = "xfs";
	CU_ASSERT(refuses("carries xfs"));
	probe_rc = -2;
	CU_ASSERT(refuses("carries several things"));
	probe_rc = -1;
	probe_type = NULL;
	CU_ASSERT(refuses("cannot be read"));
	probe_rc = 1;
	for (int i = 0; i < 3; i++) {
		/* In the first block, in the middle, and at the end. */
		off_t at = i * (8 << 20) - (i == 2 ? 64 << 10 : 0);

		CU_ASSERT_EQUAL(pwrite(device_fd, "x", 1, at), 1);
		CU_ASSERT(refuses("carries data of no known kind"));
		CU_ASSERT_EQUAL(pwrite(device_fd, "", 1, at), 1);
	}
	CU_ASSERT(deletes());
}

/* Its holder may be using it; --preempt is about that. */
static void test_held(void)
{
	for (u32 i = 0; i < 2; i++) {
		begin();
		stale = true;
		at[i].e.holder = other;
		CU_ASSERT(refuses("is held by host h1"));
		at[i].e.holder = no_host;
		at[i].e.opens = 1;		/* a reader: in no label */
		CU_ASSERT(refuses("is open on another host"));
		preempt = true;
		CU_ASSERT(deletes());
		begin();
		at[i].e.holder = other;
		preempt = true;
		CU_ASSERT(deletes());
	}
}

/* Its holder cannot be learned; --stale is about that. What comes back is freed then. */
static void test_away(void)
{
	struct store_volume v;
	char why[REASON];

	begin();
	preempt = true;
	at[1].host = HOSTS;
	CU_ASSERT(refuses("add --stale"));
	stale = true;
	CU_ASSERT(delete() == -1 && has(r.error, "not all its extents are free"));
	CU_ASSERT(rig_extents() == EXTENTS - 1 && rig_state_is(STORE_DELETING));
	at[1].host = 1;
	CU_ASSERT_FATAL(!store_volume_get(&vol, &v, NULL));
	CU_ASSERT(!volume_finish_delete(&v, why) && !at[1].e.length && at[2].e.length && gone());
}

/* Deleted without member 1, which was away: what became of it, once it is back? */
static int back(struct muuid holder, struct muuid attacher, u64 attach)
{
	struct store_volume v;
	char why[REASON];

	stale = true;
	at[1].host = HOSTS;
	CU_ASSERT(delete() == -1 && has(r.error, "not all its extents are free"));
	at[1].host = 1;
	at[1].e.holder = holder;
	at[1].e.attacher = attacher;
	at[1].e.attach = attach;
	CU_ASSERT_FATAL(!store_volume_get(&vol, &v, NULL));
	return volume_finish_delete(&v, why);
}

/* Its label may name this host, and need not: it was away when the volume was detached, or later. */
static void test_away_before(void)
{
	struct layout *l = malloc(sizeof(*l));

	begin();
	CU_ASSERT(!back(D.host, D.host, 2) && gone() && rig_extents() == EXTENTS - 2);
	begin();
	CU_ASSERT(!back(no_host, no_host, 0) && gone() && rig_extents() == EXTENTS - 2);
	/* The others were held, or attached by another host, whose data both are. */
	begin();
	at[0].e.holder = D.host;
	CU_ASSERT(!back(no_host, D.host, 1) && gone());
	begin();
	at[0].e.attacher = other;
	at[0].e.attach = 3;
	CU_ASSERT(!back(no_host, other, 2) && gone());
	/* It missed the last change. */
	begin();
	rig_layout(l, 2, 2, "data");
	rig_record(0, l, no_host);
	CU_ASSERT(!back(D.host, no_host, 0) && gone());
	free(l);
}

/* It was moved to another host, which has used it: it stays. */
static void test_used_since(void)
{
	begin();
	CU_ASSERT(back(no_host, other, 2) == -ESTALE && rig_state_is(STORE_LIVE) && at[1].e.length);
	begin();
	at[0].host = HOSTS;
	CU_ASSERT(back(no_host, other, 2) == -ESTALE && rig_state_is(STORE_LIVE) && rig_extents() == EXTENTS);
	begin();
	CU_ASSERT(back(other, other, 2) == -ESTALE && at[1].e.length);
}

static void test_copied(void)
{
	begin();
	stale = preempt = true;
	at[1].copied = true;
	at[1].owner = no_host;
	CU_ASSERT(refuses("one has a copy"));
}

/* Another host has extended it: what counts is deleted, and not what is remembered. */
static void test_newer(void)
{
	struct layout *l = malloc(sizeof(*l));

	begin();
	rig_layout(l, 3, 2, "data");
	for (u32 i = 0; i < 3; i++)
		rig_record(i, l, no_host);
	CU_ASSERT(!delete() && !rig_extents() && gone());
	/* A change that is in one label alone: each is freed as its own label says. */
	begin();
	rig_layout(l, 2, 2, "data");
	rig_record(0, l, no_host);
	CU_ASSERT(deletes());
	free(l);
}

/* The deletion was begun, and this host stopped: then something happened, or nothing. */
static int begun(void)
{
	struct layout *l = malloc(sizeof(*l));
	struct store_free f[2] = { { .extent = { { 0 } } } };
	struct store_volume v;
	char why[REASON] = "";
	int err;

	rig_load(&v, l);
	for (u32 i = 0; i < 2; i++)
		f[i] = (struct store_free) { .volume = vol, .drive = l->member[i].drive,
					     .extent = l->member[i].extent, .host = { { 11 } },
					     .version = 1, .commit = 1 };
	v.state = STORE_DELETING;
	CU_ASSERT_FATAL(!store_volume_doom(&v, f, 2));
	err = volume_finish_delete(&v, why);
	free(l);
	return err;
}

static void test_goes_on(void)
{
	struct layout *l = malloc(sizeof(*l));

	begin();
	at[1].host = 1;				/* its drive moved meanwhile */
	CU_ASSERT(!begun() && rig_extents() == 1 && gone());
	/* The kernel has it: the store is an older one, put back. */
	begin();
	kernel.there = true;
	CU_ASSERT(begun() == -EBUSY && rig_extents() == EXTENTS && rig_state_is(STORE_LIVE));
	/* Another host has it, or changed it: not even what it has not touched is freed. */
	begin();
	at[0].e.holder = other;
	CU_ASSERT(begun() == -ESTALE && rig_extents() == EXTENTS && rig_state_is(STORE_LIVE));
	begin();
	rig_layout(l, 2, 2, "data");
	rig_record(0, l, no_host);
	CU_ASSERT(begun() == -ESTALE && rig_extents() == EXTENTS && rig_state_is(STORE_LIVE));
	begin();
	at[1].copied = true;
	at[1].owner = no_host;
	CU_ASSERT(begun() == -ENOTUNIQ && rig_extents() == EXTENTS && rig_state_is(STORE_DELETING));
	free(l);
}

/* Extent 2 is being allocated: for an extend, or with @v CREATING. */
static void intend(void)
{
	struct store_intent in = { .volume = vol, .name = "data", .host = { { 11 } },
				   .drive = { { 3, 2 } }, .extent = { { 2, 2 } }, .length = 4 << 20 };

	at[2].e.version = 0;
	CU_ASSERT_FATAL(!store_intents_add(&in, 1));
}

/* An extend was begun, and nothing of it recorded: what it allocated goes as well. */
static void test_unfinished(void)
{
	struct layout *l = malloc(sizeof(*l));
	struct store_volume v;
	char why[REASON];

	begin();
	intend();
	CU_ASSERT(!delete() && !rig_extents() && gone() && !rig_intents());
	/* Its host is away, and comes back. */
	begin();
	intend();
	at[2].host = 1;
	down[1] = stale = true;
	CU_ASSERT(delete() == -1 && has(r.error, "not all its extents are free"));
	CU_ASSERT(rig_extents() == 1 && rig_state_is(STORE_DELETING) && rig_intents() == 1);
	rig_load(&v, l);
	down[1] = false;
	at[2].host = 0;
	CU_ASSERT(!volume_finish_delete(&v, why) && !rig_extents() && gone() && !rig_intents());
	/* Another volume's by now. */
	begin();
	intend();
	rig_layout(l, 3, 5, "data");
	rig_record(2, l, other);
	at[2].e.volume = other;
	CU_ASSERT(!delete() && rig_extents() == 1 && gone() && !rig_intents());
	free(l);
}

static int destroys(void)
{
	int err;

	json_decref(destroyed);
	destroyed = NULL;
	dry = true;
	err = delete();
	dry = false;
	return err ? -1 : json_integer_value(json_object_get(destroyed, "extents"));
}

/* A dry run refuses what the real one refuses, and counts what that takes. */
static void test_dry(void)
{
	struct layout *l = malloc(sizeof(*l));
	struct store_volume v;

	begin();
	CU_ASSERT(destroys() == 2);
	intend();
	CU_ASSERT(destroys() == 3 && rig_extents() == EXTENTS && rig_intents() == 1);
	kernel.there = true;
	kernel.openers = 1;
	CU_ASSERT(destroys() == -1 && has(r.error, "is in use"));
	CU_ASSERT(refuses("is in use"));
	/* One extent is not free yet. */
	begin();
	stale = true;
	intend();
	at[1].host = HOSTS;
	CU_ASSERT(delete() == -1 && rig_state_is(STORE_DELETING));
	CU_ASSERT(destroys() == 2 && rig_state_is(STORE_DELETING) && rig_intents() == 1);
	/* Being made, by a command that runs and by one that was killed. */
	for (busy = false;; busy = true) {
		begin();
		rig_load(&v, l);
		v.state = STORE_CREATING;
		CU_ASSERT(!store_volume_flags(&v));
		intend();
		CU_ASSERT(destroys() == 1 && rig_extents() == EXTENTS && rig_state_is(STORE_CREATING));
		if (busy)
			break;
	}
	busy = false;
	free(l);
}

int main(void)
{
	static const struct suite_test tests[] = {
		{ "plain", test_plain },
		{ "data", test_data },
		{ "held", test_held },
		{ "away", test_away },
		{ "away before", test_away_before },
		{ "used since", test_used_since },
		{ "copied", test_copied },
		{ "newer", test_newer },
		{ "goes on", test_goes_on },
		{ "an unfinished extend", test_unfinished },
		{ "dry runs", test_dry },
		{ NULL, NULL },
	};
	int err;

	device_fd = mkstemp(device);
	if (device_fd < 0 || ftruncate(device_fd, 16 << 20))
		return 2;
	err = suite_main("delete", tests);
	unlink(device);
	rig_end();
	return err;
}
