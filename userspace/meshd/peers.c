// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/meshd/identity.h"
#include "userspace/meshd/peers.h"

#define FRESH_MS	20000
#define CONNECT_MS	6000

static int explain(const struct store_host *h, struct mesh *m, int err, char *why)
{
	struct mesh_target t;

	if (err == -EHOSTDOWN)
		snprintf(why, REASON, "meshd does not run on %s; start it there (systemctl start meshd)",
			 h->name);
	else if (err == -ETIMEDOUT)
		snprintf(why, REASON, "meshd on %s did not answer in 5 s", h->name);
	else if (err == -ENOTCONN && !mesh_target_get(m, h->id, &t) && t.reason[0])
		snprintf(why, REASON, "host %s is not connected: %s", h->name, t.reason);
	else if (err == -ENOTCONN)
		snprintf(why, REASON, "host %s is not connected; see meshctl host check %s", h->name,
			 h->name);
	else
		snprintf(why, REASON, "host %s: %.150s", h->name, mesh_why(m));
	return err;
}

static bool connecting(struct mesh *m, const struct store_host *h)
{
	struct mesh_target t;

	return now_ms() - D.started < FRESH_MS && !mesh_target_get(m, h->id, &t);
}

int peer_call(const struct store_host *h, const struct mgmt_req *q, json_t **data, char *why)
{
	char *text = mgmt_req_encode(q), said[MGMT_REASON];
	struct mesh *m = mesh_open();
	void *rsp = NULL;
	size_t n = 0;
	int err;

	*data = NULL;
	if (!text || !m) {
		free(text);
		mesh_close(m);
		snprintf(why, REASON, "out of memory");
		return -ENOMEM;
	}
	err = mesh_mgmt(m, h->id, text, strlen(text), &rsp, &n);
	/* Sessions take a moment after a start, and after a link was away. */
	if (err == -ENOTCONN && connecting(m, h) && !peer_wait_up(h, CONNECT_MS, why))
		err = mesh_mgmt(m, h->id, text, strlen(text), &rsp, &n);
	if (err) {
		explain(h, m, err, why);
	} else {
		err = mgmt_rsp_decode(rsp ? rsp : "", n, data, said);
		if (err == -EBADMSG)
			snprintf(why, REASON, "host %s answered what cannot be read; same version there?",
				 h->name);
		else if (err)
			snprintf(why, REASON, "host %s: %s", h->name, said[0] ? said : strerror(-err));
	}
	free(rsp);
	free(text);
	mesh_close(m);
	return err;
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

int peer_free(const struct store_host *h, const struct muuid *drive, const struct muuid *extent,
	      const struct muuid *volume, char *why)
{
	struct mgmt_req q = { .op = MGMT_FREE, .drive = *drive, .extent = *extent,
			      .volume = *volume };
	json_t *data;
	int err = peer_call(h, &q, &data, why);

	json_decref(data);
	return err;
}

int peer_record(const struct store_host *h, const struct muuid *volume, struct layout *out,
		char *why)
{
	struct mgmt_req q = { .op = MGMT_RECORD, .volume = *volume };
	json_t *data;
	int err = peer_call(h, &q, &data, why);

	if (err)
		return err;
	err = mgmt_record_unpack(data, out);
	if (!err && !muuid_equal(&out->volume, volume))
		err = -EBADMSG;
	if (err)
		snprintf(why, REASON, "host %s sent a layout record that cannot be", h->name);
	json_decref(data);
	return err;
}

static int push_one(struct mesh *m, const struct store_host *h)
{
	int err = mesh_target_set(m, h->id, h->addr, h->port, &h->uuid);

	if (err)
		log_warn("host %s: %s", h->name, mesh_why(m));
	return err;
}

/* The kernel may know hosts that a lost store does not: their numbers count. */
static void adopt(struct mesh *m, const struct mesh_target *t)
{
	struct store_host h = { .uuid = t->host, .port = t->port };

	snprintf(h.addr, sizeof(h.addr), "%s", t->addr);
	snprintf(h.name, sizeof(h.name), "%s", t->addr);
	if (store_host_put(&h))
		return;
	log_info("host %s: known to the kernel, not to the store; noted", t->addr);
	if (h.id != t->id && !mesh_target_del(m, t->id))
		push_one(m, &h);
}

/* The kernel's hosts and the store's are changed together, or compared. */
static pthread_mutex_t both = PTHREAD_MUTEX_INITIALIZER;

int peer_forget(const struct store_host *h, char *why)
{
	struct mesh *m = mesh_open();
	int err;

	pthread_mutex_lock(&both);
	err = m ? mesh_target_del(m, h->id) : -ENOMEM;
	if (err && err != -ENOENT)
		snprintf(why, REASON, "host %s: %.150s", h->name, m ? mesh_why(m) : "no memory");
	else
		err = store_host_del(h->id);
	pthread_mutex_unlock(&both);
	mesh_close(m);
	return err;
}

int peers_push(struct mesh *m)
{
	struct store_host *hosts;
	struct mesh_target *t;
	size_t i, k, n, known;
	int err;

	pthread_mutex_lock(&both);
	err = mesh_targets(m, &t, &known);
	if (err) {
		pthread_mutex_unlock(&both);
		return err;
	}
	store_hosts(&hosts, &n);
	for (i = 0; i < n; i++) {
		for (k = 0; k < known && t[k].id != hosts[i].id; k++)
			;
		if (k == known)
			push_one(m, &hosts[i]);
	}
	for (k = 0; k < known; k++) {
		for (i = 0; i < n && t[k].id != hosts[i].id && strcmp(t[k].addr, hosts[i].addr); i++)
			;
		if (i == n)
			adopt(m, &t[k]);
	}
	pthread_mutex_unlock(&both);
	free(hosts);
	free(t);
	return 0;
}

int peers_repush(void)
{
	struct mesh *m = mesh_open();
	struct store_host *hosts;
	size_t i, n;
	int err;

	if (!m)
		return -ENOMEM;
	err = identity_push(m);
	store_hosts(&hosts, &n);
	for (i = 0; i < n; i++)
		push_one(m, &hosts[i]);
	free(hosts);
	mesh_close(m);
	return err;
}

int peer_wait_up(const struct store_host *h, unsigned int ms, char *why)
{
	u64 until = now_ms() + ms;
	struct mesh_target t = { 0 };
	struct mesh *m = mesh_open();
	int err = m ? 0 : -ENOMEM;

	while (!err) {
		err = mesh_target_get(m, h->id, &t);
		if (err) {
			snprintf(why, REASON, "%s", mesh_why(m));
			break;
		}
		if (!strcmp(t.state, "up"))
			break;
		if (now_ms() > until || stopping()) {
			snprintf(why, REASON, "%s", t.reason[0] ? t.reason : "no answer");
			err = t.error ? t.error : -ETIMEDOUT;
			break;
		}
		sleep_ms(50);
	}
	mesh_close(m);
	return err;
}

int peer_of_member(const struct layout_member *mb, struct store_host *out)
{
	char both[96];

	if (!store_host_by_uuid(&mb->target, out))
		return 0;
	snprintf(both, sizeof(both), "%s:%u", mb->addr, mb->port);
	return store_host_find(both, out);
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
	h->uuid = hello.host;
	/* What it calls itself, unless somebody else is called that here. */
	if ((!h->name[0] || !strcmp(h->name, h->addr)) &&
	    (store_host_find(hello.hostname, &other) || other.id == h->id))
		snprintf(h->name, sizeof(h->name), "%s", hello.hostname);
	return store_host_put(h);
}
