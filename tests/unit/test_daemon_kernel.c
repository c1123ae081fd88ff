// SPDX-License-Identifier: GPL-2.0-only
/* Modules that come late, go and come again: loaded, identified and used, over a kernel of the test. */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "suite.h"
#include "userspace/daemon/cluster.h"
#include "userspace/daemon/disk.h"
#include "userspace/daemon/job.h"
#include "userspace/daemon/kernel.h"
#include "userspace/daemon/log.h"
#include "userspace/daemon/volumes.h"
#include "userspace/libmesh/mesh.h"
#include "userspace/machine/modules.h"

static struct {
	int	id[2];			/* of netlink's families: meshblk, meshtgt */
	unsigned int loads[2];
	int	load_err;
	u64	keys;
	int	identity_err, serve_err, begin_err;
	unsigned int identities, serves, begins, lines;
	bool	target;			/* of the last cluster_identity() */
	char	line[256];
} K;

static u64 now;
static struct kernel *kernel;

struct mesh *mesh_open(void) { return (struct mesh *)&K; }
void mesh_close(struct mesh *m) { (void)m; }
u64 cluster_keys(const struct cluster *c) { (void)c; return K.keys; }

int mesh_family_id(struct mesh *m, bool target)
{
	(void)m;
	return K.id[target];
}

int cluster_identity(struct cluster *c, bool target)
{
	(void)c;
	K.identities++;
	K.target = target;
	return K.identity_err;
}

int disks_serve(struct disks *s)
{
	(void)s;
	K.serves++;
	return K.serve_err;
}

int volumes_begin(struct volumes *v)
{
	(void)v;
	K.begins++;
	return K.begin_err;
}

int modules_load(const char *name, char *why, size_t size)
{
	K.loads[!strcmp(name, "meshtgt")]++;
	snprintf(why, size, "module %s: no", name);
	return K.load_err;
}

void log_warn(const char *fmt, ...)
{
	va_list ap;

	K.lines++;
	va_start(ap, fmt);
	vsnprintf(K.line, sizeof(K.line), fmt, ap);
	va_end(ap);
}

/* Jobs without threads: the first call begins, the second one has the result. */
struct job {
	int	(*fn)(void *arg);
	void	*arg;
	void	(*drop)(void *arg);
	bool	runs;
};

struct job *job_new(int (*fn)(void *arg), void *arg, void (*drop)(void *arg))
{
	struct job *j = calloc(1, sizeof(*j));

	*j = (struct job) { fn, arg, drop, false };
	return j;
}

int job_run(struct job *j)
{
	j->runs = !j->runs;
	return j->runs ? -EINPROGRESS : j->fn(j->arg);
}

u64 job_since(const struct job *j)
{
	return j->runs;
}

void job_free(struct job *j)
{
	j->drop(j->arg);
	free(j);
}

static void begin(bool target)
{
	struct kernel_config c = { .cluster = (void *)1, .disks = target ? (void *)2 : NULL, .volumes = (void *)3 };

	memset(&K, 0, sizeof(K));
	K.load_err = -ENOENT;
	now = 1000;
	kernel = kernel_open(&c);
	CU_ASSERT_PTR_NOT_NULL_FATAL(kernel);
}

static void second(void)
{
	now += 1000;
	kernel_turn(kernel, now);
}

static void test_load(void)
{
	begin(true);
	for (int i = 0; i < 31; i++)
		second();
	/* Again and again, but not each second; said once. */
	CU_ASSERT_TRUE(K.loads[0] >= 5 && K.loads[0] <= 7 && K.loads[1] == K.loads[0]);
	CU_ASSERT_EQUAL(K.lines, 2);
	CU_ASSERT_EQUAL(K.identities + K.serves + K.begins, 0);
	CU_ASSERT_FALSE(kernel_there(kernel));
	K.id[0] = 30;
	second();
	CU_ASSERT_TRUE(K.identities == 1 && K.target && K.begins == 1 && !K.serves);
	CU_ASSERT_TRUE(kernel_there(kernel));
	K.id[1] = 31;
	second();
	CU_ASSERT_TRUE(K.identities == 2 && K.begins == 1 && K.serves == 1);
	second();
	CU_ASSERT_TRUE(K.identities == 2 && K.begins == 1 && K.serves == 1);
	kernel_close(kernel);
}

static void test_each_second(void)
{
	begin(true);
	K.id[0] = 30;
	K.id[1] = 31;
	K.begin_err = -EINPROGRESS;
	K.serve_err = -EINPROGRESS;
	kernel_turn(kernel, now);
	kernel_turn(kernel, now + 999);
	CU_ASSERT_TRUE(K.begins == 1 && K.serves == 1);
	CU_ASSERT_FALSE(kernel_there(kernel));
	K.begin_err = K.serve_err = 0;
	second();
	CU_ASSERT_TRUE(K.begins == 2 && K.serves == 2 && kernel_there(kernel));
	kernel_close(kernel);
}

static void test_again(void)
{
	begin(true);
	K.id[0] = 30;
	K.id[1] = 31;
	second();
	CU_ASSERT_TRUE(K.identities == 1 && K.begins == 1 && K.serves == 1);
	/* Loaded again between two turns. */
	K.id[1] = 32;
	second();
	CU_ASSERT_TRUE(K.identities == 2 && K.begins == 1 && K.serves == 2);
	K.id[0] = 0;
	second();
	CU_ASSERT_FALSE(kernel_there(kernel));
	K.id[0] = 33;
	second();
	CU_ASSERT_TRUE(K.identities == 3 && K.begins == 2 && kernel_there(kernel));
	kernel_close(kernel);
}

static void test_keys(void)
{
	begin(true);
	K.id[0] = 30;
	K.id[1] = 31;
	second();
	K.keys = 5;
	second();
	CU_ASSERT_TRUE(K.identities == 2 && K.begins == 1 && K.serves == 1);
	second();
	CU_ASSERT_EQUAL(K.identities, 2);
	kernel_close(kernel);
}

/* Nothing is served, and nothing attached, by a kernel that does not have the keys. */
static void test_refused(void)
{
	begin(true);
	K.id[0] = 30;
	K.id[1] = 31;
	K.identity_err = -EPERM;
	second();
	second();
	CU_ASSERT_TRUE(K.identities == 2 && !K.begins && !K.serves && K.lines == 1);
	CU_ASSERT_FALSE(kernel_there(kernel));
	K.identity_err = -ENOPKG;
	second();
	CU_ASSERT_TRUE(K.begins == 1 && K.serves == 1);
	kernel_close(kernel);
}

static void test_no_target(void)
{
	begin(false);
	K.id[1] = 31;
	for (int i = 0; i < 7; i++)
		second();
	CU_ASSERT_TRUE(!K.loads[1] && K.loads[0] && !K.serves);
	K.id[0] = 30;
	second();
	CU_ASSERT_TRUE(K.identities == 1 && !K.target && K.begins == 1 && !K.serves);
	kernel_close(kernel);
}

int main(void)
{
	static const struct suite_test tests[] = {
		{ "load", test_load }, { "each second", test_each_second }, { "loaded again", test_again },
		{ "other keys", test_keys }, { "identity refused", test_refused },
		{ "no target", test_no_target }, { NULL, NULL },
	};

	return suite_main("daemon_kernel", tests);
}
