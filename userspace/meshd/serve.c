// SPDX-License-Identifier: GPL-2.0-only
/*
 * What other meshds request, and what the target's kernel requests. Only memory is
 * read here: what touches a drive is handed to that drive's thread, or to
 * threads with a deadline.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/machine/line.h"
#include "userspace/machine/modules.h"
#include "userspace/meshd/done.h"
#include "userspace/meshd/home.h"
#include "userspace/meshd/identity.h"
#include "userspace/meshd/export.h"
#include "userspace/meshd/link.h"
#include "userspace/meshd/serve.h"

#define PUSH_MS		5000
#define GRACE_MS	60000	/* the module's own, when it does not say */
#define START_MS	15000	/* that commands wait for the first scan of drives, at most */

#define LOCAL_MS	30000	/* that this host waits for its own drives */

/* A caller on this host, and what it waits for. */
struct local {
	struct done done;
	char	*text;
};

struct serve_req {
	struct link_req *r;	/* NULL: this host's own, in @local */
	struct local *local;
	struct mgmt_req req;
};

const struct mgmt_req *serve_mgmt(const struct serve_req *s)
{
	return &s->req;
}

const struct muuid *serve_host(const struct serve_req *s)
{
	return s->r ? &link_req_peer(s->r)->host : &D.host;
}

static const char no_memory[] = "{\"v\":2,\"error\":-12,\"reason\":\"out of memory\"}";

static void local_free(struct local *l)
{
	free(l->text);
	free(l);
}

void serve_reply(struct serve_req *s, int err, const char *reason, json_t *data)
{
	char *text = mgmt_rsp_encode(err, reason, data);

	if (text && strlen(text) > MGMT_BYTES_MAX) {
		free(text);
		text = mgmt_rsp_encode(-E2BIG, "the answer does not fit a message", NULL);
	}
	if (s->r) {
		link_reply(s->r, text ? text : no_memory, strlen(text ? text : no_memory));
		free(text);
	} else {
		s->local->text = text;
		if (!done_set(&s->local->done))
			local_free(s->local);
	}
	mgmt_req_clear(&s->req);
	free(s);
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

/*
 * When the module began to count its grace time. A meshd that was restarted
 * while the module stayed finds it in the state folder, unless that is another
 * boot's or another loading's.
 */
static u64 grace_began;		/* now_ms(); 0: the module is not there */

static void grace_note(int family)
{
	char boot[64], line[160], path[256], was[64];
	unsigned long long at;
	int id;
	FILE *f;

	if (read_line(boot, sizeof(boot), "/proc/sys/kernel/random/boot_id"))
		strcpy(boot, "?");
	grace_began = now_ms();
	if (!read_line(line, sizeof(line), "%s/grace", D.state) &&
	    sscanf(line, "%63s %d %llu", was, &id, &at) == 3 && !strcmp(was, boot) &&
	    id == family && at <= grace_began) {
		grace_began = at;
		return;
	}
	snprintf(path, sizeof(path), "%s/grace", D.state);
	f = fopen(path, "we");
	if (f)
		fprintf(f, "%s %d %llu\n", boot, family, (unsigned long long)grace_began);
	if (!f || fclose(f))
		log_debug("%s: not written", path);
}

static u32 grace_left(void)
{
	u64 grace = GRACE_MS, gone = now_ms() - grace_began;
	char text[32];

	if (!read_line(text, sizeof(text), "/sys/module/meshtgt/parameters/grace_ms"))
		grace = strtoull(text, NULL, 10);
	return grace_began && gone < grace ? grace - gone : 0;
}

static void hello(struct serve_req *s)
{
	struct mgmt_hello h = { .host = D.host, .version = MESHD_VERSION };

	snprintf(h.hostname, sizeof(h.hostname), "%s", D.hostname);
	home_words(h.machine);
	h.grace_ms = grace_left();
	serve_reply(s, 0, NULL, mgmt_hello_pack(&h));
}

static void drives(struct serve_req *s)
{
	struct mgmt_drive d, *draining __free(free) = NULL;
	struct tdrive **all __free(free) = NULL;
	json_t *list = json_array();
	size_t i, n;
	int err;

	all = tdrives_all(&n);
	for (i = 0; all && i < n; i++) {
		tdrive_describe(all[i], &d);
		json_array_append_new(list, mgmt_drive_pack(&d));
		tdrive_put(all[i]);
	}
	draining = tdrives_draining(&n);
	for (i = 0; i < n; i++)
		json_array_append_new(list, mgmt_drive_pack(&draining[i]));
	export_twins(list);
	err = left_list(list);
	if (!err) {
		serve_reply(s, 0, NULL, json_pack("{s:o}", "drives", list));
		return;
	}
	json_decref(list);
	/* An answer without it would let another host take over what is served. */
	serve_refuse(s, err, "the kernel of this host does not say which drives it serves");
}

static void on_drive(struct serve_req *s)
{
	struct tdrive *d = tdrive_find(&s->req.drive);

	if (d)
		alloc_submit(d, s);
	else
		serve_refuse(s, -ENODEV, "its drive is not here");
	tdrive_put(d);
}

static void (*const answers[MGMT_OPS])(struct serve_req *s) = {
	[MGMT_HELLO] = hello,
	[MGMT_DRIVES] = drives,
	[MGMT_EXTENTS] = records_extents,
	[MGMT_ALLOC] = on_drive,
	[MGMT_FREE] = on_drive,
	[MGMT_VOLUMES] = records_volumes,
	[MGMT_RECORDS] = records_records,
	[MGMT_RECORD_PUT] = on_drive,
	[MGMT_RELEASE] = on_drive,
	[MGMT_META] = records_meta,
	[MGMT_HEALTH] = health_drives,
};

static void begin(struct serve_req *s, const void *msg, size_t len)
{
	int err = mgmt_req_decode(msg, len, &s->req);

	if (err)
		serve_refuse(s, err, "%s", err == -EPROTONOSUPPORT ?
			     "this host runs another version of meshd" : "malformed request");
	else
		answers[s->req.op](s);
}

/* On a worker thread of the link, which may wait until the answer is there. */
static void on_request(struct link_req *r, const void *msg, size_t len)
{
	struct serve_req *s = calloc(1, sizeof(*s));

	if (!s) {
		link_reply(r, no_memory, strlen(no_memory));
		return;
	}
	s->r = r;
	begin(s, msg, len);
}

int serve_local(const void *msg, size_t len, void **rsp, size_t *rsp_len)
{
	struct local *l = calloc(1, sizeof(*l));
	struct serve_req *s = calloc(1, sizeof(*s));

	*rsp = NULL;
	*rsp_len = 0;
	if (!s || !l) {
		free(s);
		free(l);
		return -ENOMEM;
	}
	*l = (struct local) { .done = DONE_INIT };
	s->local = l;
	begin(s, msg, len);
	if (!done_wait(&l->done, LOCAL_MS))
		return -ETIMEDOUT;
	*rsp = l->text;
	*rsp_len = l->text ? strlen(l->text) : 0;
	free(l);
	return *rsp ? 0 : -ENOMEM;
}

static void on_grant(void *priv, struct meshtgt_grant *q)
{
	struct tdrive *d;

	d = tdrive_find(&q->drive);
	if (d)
		grant_submit(d, priv, q);
	else
		meshtgt_grant_reply(priv, q->request, -ENODEV);
	tdrive_put(d);
}

static int served_family;

/*
 * A socket of the family that is gone receives nothing any more: target_tick()
 * sees that and starts another thread with another socket. The old ones are
 * left: they are few, and jobs may still answer on them.
 */
static void *serve_thread(void *arg)
{
	struct mesh *m = arg;
	int err = meshtgt_serve(m, D.stop, on_grant, m);

	if (err) {
		log_error("cannot answer the kernel: %s", mesh_why(m));
		__atomic_store_n(&served_family, 0, __ATOMIC_RELAXED);	/* target_tick() */
	}
	return NULL;
}

static int serve_again(struct mesh *m)
{
	struct mesh *s = mesh_open();
	int err;

	err = identity_push(m);
	if (err)
		log_error("identity: %s", mesh_why(m));
	if (!s || thread_start(serve_thread, s)) {
		mesh_close(s);
		return -ENOMEM;
	}
	return err;
}

static void listen_again(struct mesh *m)
{
	int err = meshtgt_listen(m, D.listen, D.port);

	if (err && err != -EALREADY && err != -EEXIST)
		log_error("cannot listen on %s port %u: %s", D.listen, D.port, mesh_why(m));
}

/* All drives to a kernel that knows none yet; one that hangs is not waited for long. */
static void push_all(void)
{
	struct tdrive **all __free(free) = NULL;
	u64 until = now_ms() + PUSH_MS;
	size_t i, n;

	all = tdrives_all(&n);
	for (i = 0; all && i < n; i++) {
		tdrive_set(all[i], &all[i]->pushed, false);
		export_push(all[i]);
	}
	for (i = 0; all && i < n; i++) {
		while (!tdrive_is(all[i], &all[i]->pushed) && !tdrive_is(all[i], &all[i]->gone) &&
		       now_ms() < until && !stopping())
			sleep_ms(20);
		tdrive_put(all[i]);
	}
}

/*
 * Drives first, then the listeners: to a client that comes back an extent that is
 * not there yet is one that is gone, and its I/O would end with errors. After the
 * @first time there is something to do only when the kernel's module is another.
 */
static void target_begin(bool first)
{
	struct mesh *m = mesh_open();
	int id = m ? mesh_family_id(m, true) : 0, err;
	bool begin = id > 0 && id != __atomic_load_n(&served_family, __ATOMIC_RELAXED);

	if (begin) {
		__atomic_store_n(&served_family, id, __ATOMIC_RELAXED);
		grace_note(id);
		serve_again(m);
	}
	if (first) {
		if (export_start())
			log_error("drives that come and go are not seen");
	} else if (begin) {
		push_all();
	}
	if (begin)
		listen_again(m);
	mesh_close(m);
	if (!first)
		return;
	err = links_listen(links_own(), D.listen, D.port, on_request);
	if (err)
		log_error("cannot serve other hosts on %s port %u: %s", D.listen, D.port,
			  strerror(-err));
}

static struct done target_begun = DONE_INIT;

void target_tick(void)
{
	if (D.listen && done_wait(&target_begun, 0))
		target_begin(false);
}

static void *target_thread(void *arg)
{
	(void)arg;
	target_begin(true);
	done_set(&target_begun);
	return NULL;
}

/*
 * A disk that hangs keeps its own data from being served, not the roles from
 * starting: the administrator of this host needs them now most.
 */
int target_start(void)
{
	char why[128];
	int err;

	if (!D.listen)
		return 0;
	if (modules_load("meshtgt", why, sizeof(why)))
		log_error("%s: this host exports nothing", why);
	err = thread_start(target_thread, NULL);
	if (err)
		return err;
	done_wait(&target_begun, START_MS);
	return 0;
}
