// SPDX-License-Identifier: GPL-2.0-only
/* Which keys let others in, by what the state folder has and the configuration says. */
#define _GNU_SOURCE
#include <linux/kernel.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/meshd/alone_key.c"
#include "userspace/meshd/durable.c"
#include "userspace/meshd/identity.c"
#include "suite.h"

#define CLUSTER	"0c000000-0000-4000-8000-000000000001"
#define HEX	"00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"

struct meshd D;
static char folder[] = "/tmp/meshd-identity-XXXXXX";
static size_t links;			/* keys that meshds are let in with ... */
static u16 link_id[2];			/* ... and their ids */
static struct mesh_key kernels[2][2];	/* of target and client */
static size_t nr[2];

void link_psk(const void *bytes, size_t len, u16 id, struct link_key *out)
{
	(void)bytes, (void)len;
	memset(out, 0, sizeof(*out));
	out->id = id;
}

struct links *links_own(void) { return NULL; }

void links_keys(struct links *l, const struct link_key *keys, size_t n)
{
	(void)l;
	links = n;
	for (size_t i = 0; i < n; i++)
		link_id[i] = keys[i].id;
}

void links_host(struct links *l, const struct muuid *host) { (void)l, (void)host; }

static int slow;			/* 1: the next call takes long, 2: it is in that */

static int pushed(int to, const struct mesh_key *keys, size_t n)
{
	int one = 1;

	if (__atomic_compare_exchange_n(&slow, &one, 2, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
		usleep(200000);
	nr[to] = n;
	memcpy(kernels[to], keys, n * sizeof(*keys));
	return 0;
}

int meshtgt_identity_set(struct mesh *m, const struct muuid *host, const struct mesh_key *keys,
			 size_t n)
{
	(void)m, (void)host;
	return pushed(0, keys, n);
}

int meshblk_identity_set(struct mesh *m, const struct muuid *host, const struct mesh_key *keys,
			 size_t n)
{
	(void)m, (void)host;
	return pushed(1, keys, n);
}

int read_line(char *out, size_t size, const char *fmt, ...)
{
	char path[256];
	va_list ap;
	FILE *f;

	va_start(ap, fmt);
	vsnprintf(path, sizeof(path), fmt, ap);
	va_end(ap);
	out[0] = 0;
	f = fopen(path, "re");
	if (!f)
		return -errno;
	if (!fgets(out, size, f))
		out[0] = 0;
	fclose(f);
	out[strcspn(out, "\n")] = 0;
	return 0;
}

void uuid_random(struct muuid *u) { memset(u, 7, sizeof(*u)); }

#define QUIET(name) void name(const char *fmt, ...) { (void)fmt; }
QUIET(log_error) QUIET(log_warn) QUIET(log_info) QUIET(log_debug)

static int clean(void)
{
	char run[300];

	snprintf(run, sizeof(run), "rm -rf %s/*", folder);
	return system(run);
}

static void put(const char *name, const char *text)
{
	CU_ASSERT_EQUAL(state_write(name, text), 0);
}

/* meshd starts with what is in the folder. */
static int start(bool insecure)
{
	static char sock[300];
	int err;

	snprintf(sock, sizeof(sock), "%s/meshd.sock", folder);
	D.socket = sock;
	key = old_key = (struct key) { 0 };
	memset(&D.host, 0, sizeof(D.host));
	memset(&D.cluster, 0, sizeof(D.cluster));
	D.insecure = insecure;
	D.listen = "::";
	links = 99;
	err = identity_load();
	if (!err)
		CU_ASSERT_EQUAL(identity_push(NULL), 0);
	CU_ASSERT(nr[0] == nr[1] && !memcmp(kernels[0], kernels[1], nr[0] * sizeof(**kernels)));
	return err;
}

/* It exports to itself alone: the kernels share a key that no other host has. */
static bool alone_now(void)
{
	static u8 was[KEY_BYTES];
	bool fresh = memcmp(was, alone.bytes, sizeof(was));

	memcpy(was, alone.bytes, sizeof(was));
	return fresh && links == 0 && nr[0] == 1 && kernels[0][0].id == ALONE_ID &&
	       kernels[0][0].len == KEY_BYTES;
}

static void test_none(void)
{
	CU_ASSERT_EQUAL(clean(), 0);
	CU_ASSERT_EQUAL(start(false), 0);
	CU_ASSERT(alone_now() && !!key_warning());
	CU_ASSERT_EQUAL(start(true), 0);
	CU_ASSERT(nr[0] == 0 && links == 1 && link_id[0] == 0);
	CU_ASSERT_PTR_NOT_NULL(strstr(key_warning(), "INSECURE"));
}

static bool private(const char *name)
{
	char path[256];
	struct stat st;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return !stat(path, &st) && !(st.st_mode & 077);
}

/* Its sessions end with that key, so a meshd that begins again has the same one. */
static void test_alone_kept(void)
{
	static const char *const other[] = { "rm %s/alone.key", "chmod 640 %s/alone.key", "ln %1$s/alone.key %1$s/two",
		"cd %s; mv alone.key k; ln -s k alone.key", "echo x >>%s/alone.key", ": >%s/alone.key",
		"cd %s; rm alone.key; mkfifo alone.key" };
	char run[600];

	CU_ASSERT_EQUAL(clean(), 0);
	for (size_t i = 0; i < ARRAY_SIZE(other); i++) {
		CU_ASSERT_EQUAL(start(false), 0);
		CU_ASSERT(alone_now());
		CU_ASSERT_EQUAL(start(false), 0);
		CU_ASSERT_FALSE(alone_now());
		CU_ASSERT(private("alone.key"));
		snprintf(run, sizeof(run), other[i], folder);
		CU_ASSERT_EQUAL(system(run), 0);
	}
	/* No file can be made there: it works, with a key that ends with meshd. */
	snprintf(run, sizeof(run), "rm %1$s/alone.key; mkdir %1$s/alone.key", folder);
	CU_ASSERT_EQUAL(system(run), 0);
	for (int i = 0; i < 2; i++) {
		CU_ASSERT_EQUAL(start(false), 0);
		CU_ASSERT(alone_now());
	}
}

/* With a key it accepts no host without, whatever the configuration says. */
static void test_keys(void)
{
	for (int insecure = 0; insecure < 2; insecure++) {
		CU_ASSERT_EQUAL(clean(), 0);
		CU_ASSERT_EQUAL(start(insecure), 0);
		CU_ASSERT_EQUAL(key_set("meshkey1:3:" CLUSTER ":" HEX, 0), 0);
		CU_ASSERT(links == 1 && link_id[0] == 3 && !key_warning());
		CU_ASSERT_EQUAL(start(insecure), 0);
		CU_ASSERT(links == 1 && link_id[0] == 3 && nr[0] == 1 && kernels[0][0].id == 3);
		/* The one before stays good for hosts that have not got the new one. */
		CU_ASSERT_EQUAL(key_generate(), 0);
		CU_ASSERT_EQUAL(start(insecure), 0);
		CU_ASSERT(links == 2 && link_id[0] == 4 && link_id[1] == 3);
		CU_ASSERT(nr[0] == 2 && kernels[0][0].id == 4 && kernels[0][1].id == 3);
	}
	CU_ASSERT_EQUAL(start(false), 0);
	CU_ASSERT_EQUAL(key_clear(), 0);
	CU_ASSERT_EQUAL(start(false), 0);
	CU_ASSERT(alone_now());
}

/* What cannot be read is not "no key", and not another host. */
static void test_damaged(void)
{
	static const char *const bad[] = { "meshkey1:3:" CLUSTER ":", "rot", "meshkey1:0:" CLUSTER ":" HEX,
					   "meshkey1:3:" CLUSTER ":0011", "\n" };
	char path[256];

	for (int insecure = 0; insecure < 2; insecure++) {
		for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
			CU_ASSERT_EQUAL(clean(), 0);
			put("key", bad[i]);
			CU_ASSERT(start(insecure) < 0 && links == 99);
			put("key", "meshkey1:3:" CLUSTER ":" HEX);
			CU_ASSERT(private("key"));
			put("key.old", bad[i]);
			CU_ASSERT(start(insecure) < 0 && links == 99);
		}
		CU_ASSERT_EQUAL(clean(), 0);
		snprintf(path, sizeof(path), "%s/key", folder);
		CU_ASSERT_EQUAL(mkdir(path, 0700), 0);
		CU_ASSERT(start(insecure) < 0 && links == 99);
		CU_ASSERT_EQUAL(clean(), 0);
		put("host", "rot");
		CU_ASSERT(start(insecure) < 0 && muuid_null(&D.host));
	}
	CU_ASSERT_EQUAL(clean(), 0);
	put("host", CLUSTER);
	CU_ASSERT(!start(false) && D.host.b[0] == 0x0c);
}

static void same_in_file(const char *name, const struct key *k)
{
	char line[KEY_LINE], file[KEY_LINE];

	print_key(k, line);
	CU_ASSERT_EQUAL(read_line(file, sizeof(file), "%s/%s", folder, name), 0);
	CU_ASSERT_STRING_EQUAL(file, line);
}

#define THREADS	6
#define TURNS	15

static void *changer(void *arg)
{
	long *fails = arg;

	for (int i = 0; i < TURNS; i++)
		*fails += !!key_generate() + !!identity_push(NULL);
	return NULL;
}

/* What was changed last is in force everywhere, and after the next start. */
static void test_at_once(void)
{
	long fails[THREADS] = { 0 };
	pthread_t t[THREADS];

	CU_ASSERT_EQUAL(clean(), 0);
	CU_ASSERT_EQUAL(start(false), 0);
	for (int i = 0; i < THREADS; i++)
		CU_ASSERT_EQUAL_FATAL(pthread_create(&t[i], NULL, changer, &fails[i]), 0);
	for (int i = 0; i < THREADS; i++) {
		pthread_join(t[i], NULL);
		CU_ASSERT_EQUAL(fails[i], 0);
	}
	CU_ASSERT(key.id == THREADS * TURNS && old_key.id == key.id - 1);
	same_in_file("key", &key);
	same_in_file("key.old", &old_key);
	CU_ASSERT(link_id[0] == key.id && link_id[1] == old_key.id);
	for (int to = 0; to < 2; to++)
		CU_ASSERT(kernels[to][0].id == key.id && kernels[to][1].id == old_key.id);
}

static void *pusher(void *arg)
{
	identity_push(NULL);
	return arg;
}

/* A key that was read before another one was set does not reach the kernels after it. */
static void test_push_order(void)
{
	pthread_t t;

	CU_ASSERT_EQUAL(clean(), 0);
	CU_ASSERT_EQUAL(start(false), 0);
	CU_ASSERT_EQUAL(key_generate(), 0);
	slow = 1;
	CU_ASSERT_EQUAL_FATAL(pthread_create(&t, NULL, pusher, NULL), 0);
	while (__atomic_load_n(&slow, __ATOMIC_SEQ_CST) == 1)
		usleep(1000);
	CU_ASSERT(!key_generate() && !identity_push(NULL));
	pthread_join(t, NULL);
	slow = 0;
	for (int to = 0; to < 2; to++)
		CU_ASSERT_EQUAL(kernels[to][0].id, key.id);
}

/* What cannot be written changes nothing, now or at the next start. */
static void test_not_written(void)
{
	static const char *const taken[] = { "key.new", "key.old.new" };
	char path[256];

	CU_ASSERT_EQUAL(clean(), 0);
	CU_ASSERT_EQUAL(start(false), 0);
	CU_ASSERT_EQUAL(key_set("meshkey1:3:" CLUSTER ":" HEX, 0), 0);
	CU_ASSERT_EQUAL(key_generate(), 0);
	for (size_t i = 0; i < sizeof(taken) / sizeof(*taken); i++) {
		snprintf(path, sizeof(path), "%s/%s", folder, taken[i]);
		CU_ASSERT_EQUAL(mkdir(path, 0700), 0);
		CU_ASSERT(key_generate() < 0 && key.id == 4 && old_key.id == 3);
		CU_ASSERT(key_clear() < 0 && key.id == 4 && old_key.id == 3);
		CU_ASSERT_EQUAL(rmdir(path), 0);
		same_in_file("key", &key);
		same_in_file("key.old", &old_key);
	}
	/* Nor what can, but cannot be put in its place. */
	snprintf(path, sizeof(path), "%s/key", folder);
	CU_ASSERT(!unlink(path) && !mkdir(path, 0700));
	CU_ASSERT(key_generate() < 0 && key.id == 4 && old_key.id == 3);
	same_in_file("key.old", &old_key);
	CU_ASSERT_EQUAL(rmdir(path), 0);
	CU_ASSERT(!key_generate() && key.id == 5);
	CU_ASSERT_EQUAL(start(false), 0);
	CU_ASSERT(key.id == 5 && old_key.id == 4);
}

int main(void)
{
	static const struct suite_test tests[] = {
		{ "no key", test_none },
		{ "the key of a host alone", test_alone_kept },
		{ "keys", test_keys },
		{ "damaged", test_damaged },
		{ "changed at once", test_at_once },
		{ "pushed at once", test_push_order },
		{ "not written", test_not_written },
		{ NULL, NULL },
	};
	int err;

	D.state = mkdtemp(folder);
	err = suite_main("identity", tests);
	return clean() || rmdir(folder) ? 2 : err;
}
