// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/daemon/cluster.h"
#include "userspace/daemon/disk.h"
#include "userspace/daemon/job.h"
#include "userspace/daemon/kernel.h"
#include "userspace/daemon/log.h"
#include "userspace/daemon/volumes.h"
#include "userspace/libmesh/mesh.h"
#include "userspace/machine/modules.h"

#define CHECK_MS	1000
#define LOAD_MS		5000	/* between attempts to load a module */
#define WHY		256

enum { CLIENT, TARGET, FAMILIES };

static const char *const names[FAMILIES] = { [CLIENT] = "meshblk", [TARGET] = "meshtgt" };

/* Of its thread while the job runs. */
struct load {
	const char *name;
	char	why[WHY];
};

struct family {
	bool	wanted;
	int	id;			/* of netlink; 0: absent */
	int	known;			/* the id that has identity and keys; 0: none */
	bool	begun;
	struct job *job;
	struct load *load;		/* the job's */
	u64	loaded_ms;		/* when a load was begun last; 0: never */
	char	said[WHY];		/* the last words of an error, which are logged once */
};

struct kernel {
	struct kernel_config c;
	struct mesh *m;
	struct family f[FAMILIES];
	u64	keys;			/* that the kernel has */
	u64	checked_ms;
	char	said[WHY];
};

static void log_once(char said[WHY], const char *words)
{
	if (!strncmp(said, words, WHY - 1))
		return;
	snprintf(said, WHY, "%s", words);
	if (words[0])
		log_warn("%s", words);
}

static int load_run(void *arg)
{
	struct load *l = arg;

	return modules_load(l->name, l->why, sizeof(l->why));
}

struct kernel *kernel_open(const struct kernel_config *config)
{
	struct kernel *k = calloc(1, sizeof(*k));
	bool ok = k;

	if (!k)
		return NULL;
	k->c = *config;
	k->m = mesh_open();
	k->f[CLIENT].wanted = true;
	k->f[TARGET].wanted = config->disks;
	for (int i = 0; i < FAMILIES && ok; i++) {
		k->f[i].load = calloc(1, sizeof(struct load));
		if (k->f[i].load)
			k->f[i].load->name = names[i];
		k->f[i].job = k->f[i].load ? job_new(load_run, k->f[i].load, free) : NULL;
		ok = k->f[i].job;
		if (!ok)
			free(k->f[i].load);
	}
	if (ok && k->m)
		return k;
	kernel_close(k);
	return NULL;
}

void kernel_close(struct kernel *k)
{
	if (!k)
		return;
	for (int i = 0; i < FAMILIES; i++)
		if (k->f[i].job)
			job_free(k->f[i].job);
	if (k->m)
		mesh_close(k->m);
	free(k);
}

/* A module that is not installed yet may be later: packages are updated under a running daemon. */
static void load(struct family *f, u64 now_ms)
{
	int ret;

	if (!job_since(f->job) && f->loaded_ms && now_ms - f->loaded_ms < LOAD_MS)
		return;
	if (!job_since(f->job))
		f->loaded_ms = now_ms;
	ret = job_run(f->job);
	if (ret && ret != -EINPROGRESS && ret != -EAGAIN)
		log_once(f->said, f->load->why);
}

static void find(struct kernel *k, struct family *f, bool target, u64 now_ms)
{
	if (!f->wanted)
		return;
	f->id = mesh_family_id(k->m, target);
	if (f->id != f->known)
		f->begun = false;
	if (f->id)
		f->said[0] = 0;
	else
		load(f, now_ms);
}

/* Both families are set at once: the target must know what this host's client says. */
static void identify(struct kernel *k)
{
	u64 keys = cluster_keys(k->c.cluster);
	bool due = keys != k->keys;
	int err;

	for (int i = 0; i < FAMILIES; i++)
		due = due || (k->f[i].id && k->f[i].id != k->f[i].known);
	if (!due || (!k->f[CLIENT].id && !k->f[TARGET].id))
		return;
	err = cluster_identity(k->c.cluster, k->f[TARGET].wanted);
	/* One that is absent gets them when it comes. */
	if (err && err != -ENOPKG) {
		char words[WHY];

		snprintf(words, sizeof(words), "the kernel does not take this host's identity: %s", strerror(-err));
		log_once(k->said, words);
		return;
	}
	k->said[0] = 0;
	k->keys = keys;
	for (int i = 0; i < FAMILIES; i++)
		k->f[i].known = k->f[i].id;
}

static void begin(struct kernel *k)
{
	struct family *client = &k->f[CLIENT], *target = &k->f[TARGET];

	if (target->id && target->known == target->id && !target->begun)
		target->begun = !disks_serve(k->c.disks);
	if (client->id && client->known == client->id && !client->begun)
		client->begun = !volumes_begin(k->c.volumes);
}

void kernel_turn(struct kernel *k, u64 now_ms)
{
	if (k->checked_ms && now_ms - k->checked_ms < CHECK_MS)
		return;
	k->checked_ms = now_ms;
	for (int i = 0; i < FAMILIES; i++)
		find(k, &k->f[i], i == TARGET, now_ms);
	identify(k);
	begin(k);
}

bool kernel_there(const struct kernel *k)
{
	return k->f[CLIENT].begun;
}
