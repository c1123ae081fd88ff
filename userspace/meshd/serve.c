// SPDX-License-Identifier: GPL-2.0-only
/*
 * The thread that answers the target's kernel. It looks at memory only: what
 * touches a drive is handed to that drive's thread, or to one of its own.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/format/json.h"
#include "userspace/meshd/identity.h"
#include "userspace/meshd/lend.h"
#include "userspace/meshd/serve.h"

#define PUSH_MS	5000

struct ask {
	struct mesh *m;			/* the serving socket, kept for good */
	struct mesh_ask q;
	struct mgmt_req req;
	void (*fn)(struct ask *a);
};

const struct mgmt_req *ask_req(const struct ask *a)
{
	return &a->req;
}

const struct muuid *ask_host(const struct ask *a)
{
	return &a->q.host;
}

void ask_reply(struct ask *a, int err, const char *reason, json_t *data)
{
	char *text = mgmt_rsp_encode(err, reason, data);

	if (text && strlen(text) > MGMT_BYTES_MAX) {
		free(text);
		text = mgmt_rsp_encode(-E2BIG, "the answer does not fit a message", NULL);
	}
	if (text)
		mesh_mgmt_reply(a->m, &a->q, 0, text, strlen(text));
	else
		mesh_mgmt_reply(a->m, &a->q, -ENOMEM, NULL, 0);
	free(text);
	free(a->q.data);
	free(a);
}

static void *ask_thread(void *arg)
{
	struct ask *a = arg;

	a->fn(a);
	return NULL;
}

static void on_thread(struct ask *a, void (*fn)(struct ask *a))
{
	a->fn = fn;
	if (thread_start(ask_thread, a))
		ask_reply(a, -EAGAIN, "this host is out of threads", NULL);
}

static void hello(struct ask *a)
{
	struct mgmt_hello h = { .host = D.host, .version = MESHD_VERSION };

	snprintf(h.hostname, sizeof(h.hostname), "%s", D.hostname);
	ask_reply(a, 0, NULL, mgmt_hello_pack(&h));
}

static void drives(struct ask *a)
{
	json_t *list = json_array(), *data = json_object();
	struct tdrive **all;
	struct mgmt_drive d;
	size_t i, n;

	all = tdrives_all(&n);
	for (i = 0; all && i < n; i++) {
		tdrive_describe(all[i], &d);
		json_array_append_new(list, mgmt_drive_pack(&d));
		tdrive_put(all[i]);
	}
	free(all);
	json_object_set_new(data, "drives", list);
	ask_reply(a, 0, NULL, data);
}

static void extents(struct ask *a)
{
	json_t *list = json_array(), *data = json_object();
	const struct mgmt_req *r = &a->req;
	struct tdrive **all;
	struct mgmt_extent e;
	size_t i, n;
	u32 k;

	all = tdrives_all(&n);
	for (i = 0; all && i < n; i++) {
		pthread_mutex_lock(&all[i]->lock);
		for (k = 0; k < all[i]->label->extents; k++) {
			tdrive_extent(all[i], &all[i]->label->extent[k], &e);
			if ((muuid_null(&r->volume) || muuid_equal(&r->volume, &e.volume)) &&
			    (muuid_null(&r->drive) || muuid_equal(&r->drive, &e.drive)) &&
			    (muuid_null(&r->extent) || muuid_equal(&r->extent, &e.uuid)))
				json_array_append_new(list, mgmt_extent_pack(&e));
		}
		pthread_mutex_unlock(&all[i]->lock);
		tdrive_put(all[i]);
	}
	free(all);
	json_object_set_new(data, "extents", list);
	ask_reply(a, 0, NULL, data);
}

static void alloc(struct ask *a)
{
	struct tdrive *d = tdrive_find(&a->req.drive);

	if (d)
		alloc_submit(d, a);
	else
		ask_reply(a, -ENODEV, "no such drive is lent here", NULL);
	tdrive_put(d);
}

static void release(struct ask *a)
{
	struct tdrive *d = tdrive_of_extent(&a->req.extent);

	if (!d && !muuid_null(&a->req.drive)) {
		/* Gone for good, or only unplugged? */
		d = tdrive_find(&a->req.drive);
		if (!d) {
			ask_reply(a, -ENODEV, "its drive is not here", NULL);
			return;
		}
	}
	if (d)
		free_submit(d, a);
	else
		ask_reply(a, 0, NULL, json_object());
	tdrive_put(d);
}

static void mgmt(struct mesh *m, struct mesh_ask *q)
{
	struct ask *a = calloc(1, sizeof(*a));
	int err;

	if (!a) {
		mesh_mgmt_reply(m, q, -ENOMEM, NULL, 0);
		free(q->data);
		return;
	}
	a->m = m;
	a->q = *q;
	err = mgmt_req_decode(q->data ? q->data : "", q->len, &a->req);
	if (err) {
		ask_reply(a, err, err == -EPROTONOSUPPORT ?
			  "this host runs another version of meshd" : "malformed request", NULL);
		return;
	}
	switch (a->req.op) {
	case MGMT_HELLO:
		hello(a);
		break;
	case MGMT_DRIVES:
		drives(a);
		break;
	case MGMT_EXTENTS:
		extents(a);
		break;
	case MGMT_ALLOC:
		alloc(a);
		break;
	case MGMT_FREE:
		release(a);
		break;
	case MGMT_VOLUMES:
		on_thread(a, records_volumes);
		break;
	case MGMT_RECORD:
		on_thread(a, records_record);
		break;
	default:
		on_thread(a, health_ask);
	}
}

static void on_ask(void *priv, struct mesh_ask *q)
{
	struct tdrive *d;

	if (!q->is_grant) {
		mgmt(priv, q);
		return;
	}
	d = tdrive_find(&q->drive);
	if (d)
		grant_submit(d, priv, q);
	else
		mesh_grant_reply(priv, q->request, -ENODEV);
	tdrive_put(d);
}

static int served_family;

/*
 * A socket of the family that is gone hears nothing any more: target_tick()
 * sees that and starts another thread with another socket. The old ones are
 * left: they are few, and jobs may still answer on them.
 */
static void *serve_thread(void *arg)
{
	struct mesh *m = arg;
	int err = mesh_serve(m, D.stop, on_ask, m);

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
	int err = mesh_tgt_listen(m, D.listen, D.port);

	if (err && err != -EALREADY && err != -EEXIST)
		log_error("cannot listen on %s port %u: %s", D.listen, D.port, mesh_why(m));
}

static bool pushed(struct tdrive *d)
{
	bool done;

	pthread_mutex_lock(&d->lock);
	done = d->pushed || d->gone;
	pthread_mutex_unlock(&d->lock);
	return done;
}

/* All drives to a kernel that knows none yet; one that hangs is not waited for long. */
static void push_all(void)
{
	u64 until = now_ms() + PUSH_MS;
	struct tdrive **all;
	size_t i, n;

	all = tdrives_all(&n);
	for (i = 0; all && i < n; i++) {
		pthread_mutex_lock(&all[i]->lock);
		all[i]->pushed = false;
		pthread_mutex_unlock(&all[i]->lock);
		lend_push(all[i]);
	}
	for (i = 0; all && i < n; i++) {
		while (!pushed(all[i]) && now_ms() < until && !stopping())
			sleep_ms(20);
		tdrive_put(all[i]);
	}
	free(all);
}

/*
 * Drives first, then the listener: to a client that comes back an extent that is
 * not there yet is one that is gone, and its I/O would end with errors. After the
 * @first time there is something to do only when the kernel's module is another.
 */
static void target_begin(bool first)
{
	struct mesh *m = mesh_open();
	int id = m ? mesh_family_id(m, true) : 0;
	bool begin = id > 0 && id != __atomic_load_n(&served_family, __ATOMIC_RELAXED);

	if (begin) {
		__atomic_store_n(&served_family, id, __ATOMIC_RELAXED);
		serve_again(m);
	}
	if (first) {
		if (lend_start())
			log_error("drives that come and go are not seen");
	} else if (begin) {
		push_all();
	}
	if (begin)
		listen_again(m);
	mesh_close(m);
}

void target_tick(void)
{
	if (D.listen)
		target_begin(false);
}

int target_start(void)
{
	char why[128];

	if (!D.listen)
		return 0;
	if (modules_load("meshtgt", why, sizeof(why)))
		log_error("%s: this host lends nothing", why);
	target_begin(true);
	return 0;
}
