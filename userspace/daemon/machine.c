// SPDX-License-Identifier: GPL-2.0-only
/* struct host_ops over this machine: the file "seen", name, versions and disks. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "userspace/daemon/disk.h"
#include "userspace/daemon/file.h"
#include "userspace/daemon/job.h"
#include "userspace/daemon/machine.h"
#include "userspace/daemon/machine_net.h"
#include "userspace/format/printable.h"
#include "userspace/format/verbs.h"

#define PATH_BYTES	512
#define SEEN_BYTES	4096

struct this_machine {
	struct machine_config config;
	char	*state, *listen;
	u64	started;
	struct job *seen_job;		/* a write of the file; NULL: none */
};

/* What a thread writes, which may outlive all else. */
struct seen_write {
	char	path[PATH_BYTES];
	char	*text;
};

static int seen_write(void *arg)
{
	struct seen_write *w = arg;

	return file_replace(w->path, w->text, strlen(w->text));
}

static void seen_drop(void *arg)
{
	struct seen_write *w = arg;

	free(w->text);
	free(w);
}

static void log_words(struct this_machine *m, const char *words)
{
	if (m->config.log)
		m->config.log(m->config.priv, words);
}

static int op_seen_get(void *machine, struct obj_seen *out)
{
	struct this_machine *m = machine;
	char path[PATH_BYTES], text[SEEN_BYTES], why[OBJ_WHY], words[PATH_BYTES + OBJ_WHY + 8];
	int n, err;

	memset(out, 0, sizeof(*out));
	snprintf(path, sizeof(path), "%s/seen", m->state);
	n = file_read(path, text, sizeof(text), false);
	if (n < 0)
		return n;
	err = obj_decode(OBJ_SEEN, text, n, out, why, sizeof(why));
	if (err) {
		obj_free(OBJ_SEEN, out);
		snprintf(words, sizeof(words), "%s: %s", path, why);
		log_words(m, words);
	}
	return err;
}

/* Return: 0: a thread has the text. */
static int seen_begin(struct this_machine *m, const struct obj_seen *s)
{
	struct seen_write *w = calloc(1, sizeof(*w));
	struct obj_seen out = *s;
	u8 random[16];
	int err;

	if (!w)
		return -ENOMEM;
	if (getrandom(random, sizeof(random), 0) != sizeof(random)) {
		free(w);
		return -EIO;
	}
	obj_op(&out.o, random);
	err = obj_encode(OBJ_SEEN, &out, &w->text, NULL, 0);
	if (err) {
		free(w);
		return err;
	}
	snprintf(w->path, sizeof(w->path), "%s/seen", m->state);
	m->seen_job = job_new(seen_write, w, seen_drop);
	if (m->seen_job)
		return 0;
	seen_drop(w);
	return -ENOMEM;
}

static int op_seen_put(void *machine, const struct obj_seen *s)
{
	struct this_machine *m = machine;
	int err = m->seen_job ? 0 : seen_begin(m, s);

	if (err)
		return err;
	err = job_run(m->seen_job);
	if (err == -EINPROGRESS || err == -EAGAIN)
		return -EINPROGRESS;
	job_free(m->seen_job);
	m->seen_job = NULL;
	return err;
}

/* As host/H wants it: without what no name of a host has; empty where nothing is left. */
static void host_name(char out[OBJ_TEXT])
{
	char name[256] = "";

	out[0] = 0;
	if (gethostname(name, sizeof(name) - 1))
		return;
	name[OBJ_TEXT - 1] = 0;
	for (char *at = name; *at; at++) {
		const char one[] = { 'a', *at, 'a', 0 };

		if (!layout_name_ok(one))
			*at = '-';
	}
	if (layout_name_ok(name))
		memcpy(out, name, OBJ_TEXT);
}

/* Sources say which module it is, where it has no version. */
static void module_version(const char *module, char out[OBJ_TEXT])
{
	static const char *const files[] = { "version", "srcversion" };
	char path[PATH_BYTES], text[OBJ_TEXT];

	out[0] = 0;
	for (size_t i = 0; i < 2 && !out[0]; i++) {
		snprintf(path, sizeof(path), "%s/%s/%s", machine_paths.modules, module, files[i]);
		if (file_read(path, text, sizeof(text), false) <= 0)
			continue;
		text[strcspn(text, "\n")] = 0;
		printable(text, out, OBJ_TEXT);
	}
}

static int op_facts(void *machine, struct obj_host *host, struct obj_alive *alive)
{
	struct this_machine *m = machine;
	int err;

	host_name(host->name);
	err = machine_addresses(m->listen, m->config.port, &host->address, &host->addresses);
	if (err)
		return err;
	snprintf(alive->meshd, sizeof(alive->meshd), "%s", MESHD_VERSION);
	module_version("meshblk", alive->module);
	alive->format = OBJ_FORMAT(OBJ_MAJOR, OBJ_MINOR);
	alive->started = m->started;
	return 0;
}

static int op_disks(void *machine, struct obj_disk **out, u32 *n)
{
	struct this_machine *m = machine;

	*out = NULL;
	*n = 0;
	return m->config.disks ? disks_list(m->config.disks, out, n) : 0;
}

static void op_log(void *machine, const char *words)
{
	log_words(machine, words);
}

const struct host_ops machine_host_ops = {
	.seen_get = op_seen_get, .seen_put = op_seen_put, .facts = op_facts, .disks = op_disks, .log = op_log,
};

struct this_machine *machine_open(const struct machine_config *config)
{
	struct this_machine *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	m->config = *config;
	m->started = time(NULL);
	m->state = strdup(config->state);
	m->listen = config->listen ? strdup(config->listen) : NULL;
	if (m->state && (m->listen || !config->listen))
		return m;
	machine_close(m);
	return NULL;
}

void machine_close(struct this_machine *m)
{
	if (!m)
		return;
	if (m->seen_job)
		job_free(m->seen_job);
	free(m->state);
	free(m->listen);
	free(m);
}
