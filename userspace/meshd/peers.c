// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/meshd/identity.h"
#include "userspace/meshd/link.h"
#include "userspace/meshd/peers.h"
#include "userspace/meshd/serve.h"

#define CALL_MS		5000
#define RECORDS_MS	15000
#define WRITE_MS	30000
#define SCAN_MS		60000
#define EACH_MAX	64
#define EACH_STACK	(512 << 10)

/* Reading is quick; what writes waits for drives, and they may be slow. */
static unsigned int deadline(enum mgmt_op op)
{
	switch (op) {
	case MGMT_ALLOC:
	case MGMT_FREE:
	case MGMT_RECORD_PUT:
	case MGMT_RELEASE:
		return WRITE_MS;
	case MGMT_VOLUMES:
	case MGMT_HEALTH:
		return SCAN_MS;
	case MGMT_RECORDS:
	case MGMT_META:
		return RECORDS_MS;
	default:
		return CALL_MS;
	}
}

/* Words for what stopped a call before it was answered. */
static int explain(const struct store_host *h, int err, unsigned int ms, const char *said, char *why)
{
	switch (err) {
	case -ENOKEY:
		snprintf(why, REASON, "no key is set here, so other hosts cannot be queried: bring the cluster's "
			 "(meshctl host key show on host %s, host key set here); only where there is none "
			 "yet: host key generate", h->name);
		return err;
	case -EHOSTDOWN:
		snprintf(why, REASON, "meshd does not run on host %s, or has no key; start it there "
			 "(systemctl start meshd)", h->name);
		return err;
	case -EHOSTUNREACH:
		snprintf(why, REASON, "host %s cannot be reached; see meshctl host check %s", h->name,
			 h->name);
		return err;
	case -EKEYREJECTED:
		snprintf(why, REASON, "host %s has another key; carry this one over with meshctl host "
			 "key", h->name);
		return err;
	case -EXDEV:
		snprintf(why, REASON, "another host answers at the address of host %s; if it took its "
			 "place: meshctl host add ADDRESS --replace %.40s", h->name, h->name);
		return err;
	case -ETIMEDOUT:
		snprintf(why, REASON, "meshd on host %s did not answer in %u s", h->name, ms / 1000);
		return -EREMOTEIO;
	case -ECONNRESET:
		snprintf(why, REASON, "host %s: the connection broke before the answer", h->name);
		return -EREMOTEIO;
	default:
		snprintf(why, REASON, "host %s: %.150s", h->name, said[0] ? said : strerror(-err));
		return err;
	}
}

static int answered(const struct store_host *h, const void *rsp, size_t n, json_t **data, char *why)
{
	char said[MGMT_REASON];
	int err = mgmt_rsp_decode(rsp ? rsp : "", n, data, said);

	if (err == -EBADMSG)
		snprintf(why, REASON, "host %s answered what cannot be read; same version there?", h->name);
	else if (err)
		snprintf(why, REASON, "host %s: %.150s", h->name, said[0] ? said : strerror(-err));
	return err;
}

int peer_call(const struct store_host *h, const struct mgmt_req *q, json_t **data, char *why)
{
	const struct muuid *expect = muuid_null(&h->uuid) ? NULL : &h->uuid;
	char *text __free(free) = mgmt_req_encode(q), said[LINK_REASON] = "";
	unsigned int ms = deadline(q->op);
	void *rsp __free(free) = NULL;
	size_t n = 0;
	int err;

	*data = NULL;
	if (!text) {
		snprintf(why, REASON, "out of memory");
		return -ENOMEM;
	}
	/* A host without a key works for itself alone. */
	if (expect && muuid_equal(expect, &D.host))
		err = serve_local(text, strlen(text), &rsp, &n);
	else
		err = links_call(links_own(), h->addr, h->port, expect, text, strlen(text), ms, &rsp, &n, said);
	return err ? explain(h, err, ms, said, why) : answered(h, rsp, n, data, why);
}

struct each {
	void (*fn)(void *arg, size_t i);
	void *arg;
	size_t i;
	pthread_t thread;
	bool started;
};

static void *each_thread(void *arg)
{
	struct each *e = arg;

	e->fn(e->arg, e->i);
	return NULL;
}

static void each_some(size_t first, size_t n, void (*fn)(void *arg, size_t i), void *arg)
{
	struct each e[EACH_MAX];
	pthread_attr_t a;
	size_t i;

	pthread_attr_init(&a);
	pthread_attr_setstacksize(&a, EACH_STACK);
	for (i = 0; i < n; i++) {
		e[i] = (struct each) { .fn = fn, .arg = arg, .i = first + i };
		/* The last one on this thread: mostly there is but one. */
		e[i].started = i + 1 < n && !pthread_create(&e[i].thread, &a, each_thread, &e[i]);
		if (!e[i].started)
			fn(arg, first + i);
	}
	pthread_attr_destroy(&a);
	for (i = 0; i < n; i++)
		if (e[i].started)
			pthread_join(e[i].thread, NULL);
}

void peers_each(size_t n, void (*fn)(void *arg, size_t i), void *arg)
{
	size_t first, some;

	for (first = 0; first < n; first += some) {
		some = n - first < EACH_MAX ? n - first : EACH_MAX;
		each_some(first, some, fn, arg);
	}
}

int peer_extent(const struct store_host *h, const struct muuid *extent, struct mgmt_extent *out,
		char *why)
{
	struct mgmt_req q = { .op = MGMT_EXTENTS, .extent = *extent };
	json_t *data;
	int err = peer_call(h, &q, &data, why);

	if (err)
		return err;
	err = -ENOENT;
	if (!mgmt_extent_unpack(json_array_get(json_object_get(data, "extents"), 0), out))
		err = muuid_equal(&out->uuid, extent) ? 0 : -ENOENT;
	json_decref(data);
	if (err)
		snprintf(why, REASON, "host %s has lost an extent, or its drive", h->name);
	return err;
}

static int push_one(struct mesh *m, const struct store_host *h)
{
	int err = meshblk_target_set(m, h->id, h->addr, h->port, &h->uuid);

	if (err)
		log_warn("host %s: %s", h->name, mesh_why(m));
	return err;
}

/*
 * The kernel may know hosts that a lost store does not. Its number is kept: a second
 * session to the same host would end the first one, and volumes name hosts by number.
 */
static void adopt(const struct meshblk_target *t)
{
	struct store_host h = { .id = t->id, .uuid = t->host, .port = t->port };

	snprintf(h.addr, sizeof(h.addr), "%s", t->addr);
	snprintf(h.name, sizeof(h.name), "%s", t->addr);
	if (!store_host_adopt(&h))
		log_info("host %s: known to the kernel, not to the store; noted", t->addr);
}

const struct meshblk_target *target_of(const struct meshblk_target *t, size_t n,
				       const struct store_host *h)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (t[i].id == h->id)
			return &t[i];
	return NULL;
}

/* The kernel's hosts and the store's are changed together, or compared. */
static pthread_mutex_t both = PTHREAD_MUTEX_INITIALIZER;

int peer_forget(const struct store_host *h, char *why)
{
	struct mesh *m __free(mesh_close) = mesh_open();
	int err;

	guard(&both);
	err = m ? meshblk_target_del(m, h->id) : -ENOMEM;
	if (err && err != -ENOENT) {
		snprintf(why, REASON, "host %s: %.150s", h->name, m ? mesh_why(m) : "no memory");
		return err;
	}
	err = store_host_del(h->id);
	if (err)
		snprintf(why, REASON, "%s", store_unwritten(err));
	else
		links_forget(links_own(), h->addr, h->port);
	return err;
}

/* Another row of the host @uuid than @h; NULL: there is none. */
static const struct store_host *other_row(const struct store_host *all, size_t n,
					  const struct store_host *h, const struct muuid *uuid)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (all[i].id != h->id && muuid_equal(&all[i].uuid, uuid))
			return &all[i];
	return NULL;
}

static unsigned int adding;		/* commands that find out themselves which host answers */

void peers_adding(bool begin)
{
	__atomic_add_fetch(&adding, begin ? 1 : -1, __ATOMIC_RELAXED);
}

/*
 * One that was added without waiting shows its UUID by its session. A host has one
 * session with another: that of a second address and the first end each other for ever.
 */
static void learn(const struct meshblk_target *t, size_t known, struct store_host *all, size_t n)
{
	const struct store_host *other;
	const struct meshblk_target *is;
	char why[REASON];
	size_t i;

	for (i = 0; i < n && !__atomic_load_n(&adding, __ATOMIC_RELAXED); i++) {
		is = target_of(t, known, &all[i]);
		if (!is || muuid_null(&is->host) || !muuid_null(&all[i].uuid))
			continue;
		other = other_row(all, n, &all[i], &is->host);
		if (!other) {
			all[i].uuid = is->host;
			store_host_learn(all[i].id, &is->host);
		} else if (!peer_forget(&all[i], why)) {
			log_error("host %s is host %s, known at %s already: one address a host, so it is "
				  "forgotten", all[i].addr, other->name, other->addr);
		}
	}
}

/* The kernel's hosts, and the store's as they are when each side knows those of the other. */
static int compare(struct mesh *m, struct meshblk_target **t, size_t *known,
		   struct store_host **hosts, size_t *n)
{
	size_t i, k;
	int err;

	*n = 0;
	guard(&both);
	err = meshblk_targets(m, t, known);
	/* The kernel's first: a host that is put into an empty store must not take a number of these. */
	if (!err)
		err = store_hosts(hosts, n);
	for (k = 0; k < *known && !err; k++) {
		for (i = 0; i < *n && (*t)[k].id != (*hosts)[i].id; i++)
			;
		if (i == *n)
			adopt(&(*t)[k]);
	}
	free(*hosts);
	*hosts = NULL;
	*n = 0;
	if (!err)
		err = store_hosts(hosts, n);
	for (i = 0; i < *n; i++)
		if (!target_of(*t, *known, &(*hosts)[i]))
			push_one(m, &(*hosts)[i]);
	return err;
}

int peers_push(struct mesh *m)
{
	struct meshblk_target *t __free(free) = NULL;
	struct store_host *hosts __free(free) = NULL;
	size_t n, known = 0;
	int err = compare(m, &t, &known, &hosts, &n);

	learn(t, known, hosts, n);
	return err;
}

int peers_repush(void)
{
	struct mesh *m __free(mesh_close) = mesh_open();
	struct store_host *hosts __free(free) = NULL;
	size_t i, n;
	int err;

	if (!m)
		return -ENOMEM;
	err = identity_push(m);
	store_hosts(&hosts, &n);
	for (i = 0; i < n; i++)
		push_one(m, &hosts[i]);
	return err;
}

int peer_wait_up(const struct store_host *h, unsigned int ms, char *why)
{
	u64 until = now_ms() + ms;
	struct meshblk_target t = { 0 };
	struct mesh *m __free(mesh_close) = mesh_open();
	int err;

	while (m) {
		err = meshblk_target_get(m, h->id, &t);
		if (err) {
			snprintf(why, REASON, "%s", mesh_why(m));
			return err;
		}
		if (!strcmp(t.state, MESHBLK_STATE_UP))
			return 0;
		if (now_ms() > until || stopping()) {
			snprintf(why, REASON, "%s", t.reason[0] ? t.reason : "no answer");
			return t.error ? t.error : -ETIMEDOUT;
		}
		sleep_ms(50);
	}
	return -ENOMEM;
}

int peer_of_member(const struct layout_member *mb, struct store_host *out)
{
	char both[96];

	if (!store_host_by_uuid(&mb->target, out))
		return 0;
	snprintf(both, sizeof(both), "%s:%u", mb->addr, mb->port);
	return store_host_find(both, out);
}

/* -EEXIST and words when another address of @uuid is known. */
static int peer_known(const struct store_host *h, const struct muuid *uuid, char *why)
{
	const struct store_host *other;
	struct store_host *all __free(free) = NULL;
	size_t n;
	int err = store_hosts(&all, &n);

	snprintf(why, REASON, "%s", store_words(err));
	other = err ? NULL : other_row(all, n, h, uuid);
	if (!other)
		return err;
	snprintf(why, REASON, "%.60s is host %.60s, known at %.60s already: one address a host; "
		 "meshctl host remove one", h->addr, other->name, other->addr);
	return -EEXIST;
}

int peer_greet(struct store_host *h, char *why)
{
	struct mgmt_req q = { .op = MGMT_HELLO };
	struct store_host other;
	struct mgmt_hello hello;
	json_t *data;
	int err = peer_call(h, &q, &data, why);

	if (err)
		return err;
	err = mgmt_hello_unpack(data, &hello);
	json_decref(data);
	if (err) {
		snprintf(why, REASON, "its meshd does not say who it is");
		return err;
	}
	if (!muuid_null(&h->uuid) && !muuid_equal(&h->uuid, &hello.host)) {
		snprintf(why, REASON, "another host answers at the address of host %s", h->name);
		return -EXDEV;
	}
	err = peer_known(h, &hello.host, why);
	if (err)
		return err;
	/* What it calls itself, unless another host has that name here. */
	if ((!h->name[0] || !strcmp(h->name, h->addr)) &&
	    (store_host_find(hello.hostname, &other) || other.id == h->id))
		snprintf(h->name, sizeof(h->name), "%s", hello.hostname);
	h->uuid = hello.host;
	err = store_host_put(h);
	if (err)
		snprintf(why, REASON, "%s", store_unwritten(err));
	return err;
}
