// SPDX-License-Identifier: GPL-2.0-only
/* meshctl host …, and queries to all hosts at once: drive list, health. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/format/json.h"
#include "userspace/machine/rdma.h"
#include "userspace/meshd/abandoned.h"
#include "userspace/meshd/identity.h"
#include "userspace/meshd/export.h"
#include "userspace/meshd/peers.h"
#include "userspace/meshd/volume.h"

#define UP_MS	12000

/* "10.0.0.1", "10.0.0.1:4422", "fe80::1%eth0", "[fd00::1]:4422" */
static int parse_addr(const char *text, struct store_host *h)
{
	const char *colon = strrchr(text, ':'), *end = text + strlen(text);
	char bare[64];
	u16 port = MESH_PORT;

	if (text[0] == '[' && strchr(text, ']')) {
		end = strchr(text, ']');
		port = end[1] == ':' ? port_parse(end + 2) : end[1] ? 0 : port;
		text++;
	} else if (colon && colon == strchr(text, ':')) {
		end = colon;
		port = port_parse(colon + 1);
	}
	if (!port || end - text >= (long)sizeof(bare))
		return -EINVAL;
	snprintf(bare, sizeof(bare), "%.*s", (int)(end - text), text);
	snprintf(h->addr, sizeof(h->addr), "%s", bare);
	h->port = port;
	return address_ok(bare) ? 0 : -EINVAL;
}

static json_t *host_json(const struct store_host *h, const struct meshblk_target *t)
{
	json_t *j = json_object();

	jset_u64(j, "id", h->id);
	jset_str(j, "name", h->name);
	jset_str(j, "addr", h->addr);
	jset_u64(j, "port", h->port);
	json_object_set_new(j, "uuid", json_null());
	if (!muuid_null(&h->uuid))
		jset_uuid(j, "uuid", &h->uuid);
	jset_bool(j, "self", muuid_equal(&h->uuid, &D.host));
	jset_str(j, "state", t ? t->state : "unknown");
	jset_str(j, "reason", t ? t->reason : "the kernel module meshblk is not loaded");
	jset_u64(j, "session", t ? t->session : 0);
	jset_u64(j, "channels", t ? t->channels : 0);
	jset_u64(j, "arena", t ? t->arena : 0);
	return j;
}

/*
 * A host has one session with another, so a second address of it would have the
 * two sessions end each other for ever.
 */
static int add_other_address(struct req *r, const struct store_host *h, struct mesh *m)
{
	struct store_host other;
	struct meshblk_target t;

	if (meshblk_target_get(m, h->id, &t) || muuid_null(&t.host) ||
	    store_host_by_uuid(&t.host, &other) || other.id == h->id)
		return 0;
	req_fail(r, "%s is host %s, known at %s already: one address a host", h->addr, other.name,
		 other.addr);
	return -EEXIST;
}

static int no_key(struct req *r, const struct store_host *h)
{
	return req_fail(r, "this host has no key, so it works for itself alone; before adding %s bring the "
			"cluster's key (meshctl host key show there, host key set here), or where there is "
			"none yet: host key generate here, host key set there", h->addr);
}

static int connected(struct req *r, struct store_host *h, struct mesh *m)
{
	struct meshblk_target t;
	char why[REASON];
	int err = peer_wait_up(h, UP_MS, why);

	if (err)
		req_fail(r, "host %s does not connect: %s; see meshctl host check %s", h->addr,
			 why, h->addr);
	else
		err = add_other_address(r, h, m);
	/* Its session shows its UUID; our own meshd needs no way to itself. */
	if (!err && !meshblk_target_get(m, h->id, &t) && muuid_equal(&t.host, &D.host))
		h->uuid = t.host;
	if (!err)
		err = peer_greet(h, why);
	if (err == -ENOKEY)
		no_key(r, h);
	if (err && !r->error[0])
		req_fail(r, "%s", why);
	return err;
}

static int add(struct req *r, struct store_host *h)
{
	struct mesh *m __free(mesh_close) = mesh_open();
	int err = m ? meshblk_target_set(m, h->id, h->addr, h->port, &h->uuid) : -ENOMEM;

	if (err)
		req_fail(r, "host %s cannot be added: %s", h->addr, m ? mesh_why(m) : "no memory");
	return err || arg_bool(r, "no_wait") ? err : connected(r, h, m);
}

/* @r: for words, or NULL. */
static int from_kernel(struct req *r, const struct store_host *h)
{
	struct mesh *m __free(mesh_close) = mesh_open();
	int err = m ? meshblk_target_del(m, h->id) : -ENOMEM;

	if (r && err && err != -ENOENT)
		req_fail(r, "host %s: %s; detach the volumes that use it first", h->name,
			 m ? mesh_why(m) : "no memory");
	return err == -ENOENT ? 0 : err;
}

/*
 * Hosts that took each other's address. Both UUIDs stay expected, so that nothing is
 * exchanged by a mistaken command; the reconciler connects the other one.
 */
static int swap(struct req *r, struct store_host *h, struct store_host *other)
{
	/* First: a host that the kernel does not know is pushed from the store at any time. */
	int err = store_hosts_swap(h, other);

	if (err)
		return req_fail(r, "%s", store_unwritten(err));
	if (!from_kernel(r, h) && !from_kernel(r, other) && !add(r, h)) {
		req_note(r, "host %s is at %s now: the two are taken to have changed places", other->name,
			 other->addr);
		return 0;
	}
	if (store_hosts_swap(h, other))
		log_error("host %s: the store cannot be written", h->name);
	from_kernel(NULL, h);
	from_kernel(NULL, other);
	return -1;
}

/*
 * A host that was installed again has another UUID at the same address, one that moved
 * the same at another. Members are found by their drives, so nothing else is changed.
 */
static int replace(struct req *r, struct store_host *h)
{
	struct store_host old, other, want = *h;
	char both[80];
	int err;

	if (store_host_find(arg_str(r, "replace"), &old))
		return req_fail(r, "no host %s to be replaced; see meshctl host list", arg_str(r, "replace"));
	*h = old;
	snprintf(both, sizeof(both), "%s:%u", want.addr, want.port);
	if (!store_host_find(both, &other) && other.id != old.id)
		return arg_bool(r, "no_wait") ?
		       req_fail(r, "%s is known as host %s: that the two have changed places is noted when "
				"%s answers there, so without --no-wait", both, other.name, old.name) :
		       swap(r, h, &other);
	memcpy(h->addr, want.addr, sizeof(h->addr));
	h->port = want.port;
	memset(&h->uuid, 0, sizeof(h->uuid));
	if (from_kernel(r, h))
		return -1;
	err = store_host_put(h);
	if (err)
		return req_fail(r, "%s", store_unwritten(err));
	if (!add(r, h))
		return 0;
	/* As it was: what cannot be reached replaces nothing. */
	from_kernel(NULL, &old);
	if (store_host_put(&old))
		log_error("host %s: the store cannot be written", old.name);
	return -1;
}

static int add_new(struct req *r, struct store_host *h)
{
	char both[80], why[REASON];
	int err = store_host_put(h);

	if (!err) {
		if (!add(r, h))
			return 0;
		peer_forget(h, why);
		return -1;
	}
	/* Added twice: it has to be there and up, no more. */
	snprintf(both, sizeof(both), "%s:%u", h->addr, h->port);
	if (store_host_find(both, h))
		return req_fail(r, "%s", store_unwritten(err));
	req_note(r, "host %s is there already", h->name);
	return add(r, h) ? -1 : 0;
}

int cmd_host_add(struct req *r)
{
	const char *addr = arg_str(r, "addr"), *name = arg_str(r, "name");
	struct meshblk_target t = { .state = MESHBLK_STATE_CONNECTING };
	struct store_host h = { 0 }, other;
	struct mesh *m;
	int err;

	if (parse_addr(addr, &h))
		return req_usage(r, "\"%s\" is not an address; give an IP address of the RDMA network", addr);
	if (arg_num(r, "port"))
		h.port = arg_num(r, "port");
	if (name[0] && arg_str(r, "replace")[0])
		return req_usage(r, "--name does not go with --replace: the host keeps its name");
	if (name[0] && !store_host_find(name, &other))
		return req_fail(r, "there is a host %s already; choose another --name, or say --replace %s "
				"instead if this is where it is now", name, name);
	snprintf(h.name, sizeof(h.name), "%s", name[0] ? name : h.addr);
	/* The kernel's numbers first, should the store have been lost. */
	m = mesh_open();
	if (m)
		peers_push(m);
	mesh_close(m);
	peers_adding(true);
	err = arg_str(r, "replace")[0] ? replace(r, &h) : add_new(r, &h);
	peers_adding(false);
	if (err)
		return -1;
	m = mesh_open();
	if (m)
		meshblk_target_get(m, h.id, &t);
	mesh_close(m);
	r->result = host_json(&h, &t);
	reconcile_kick();
	return 0;
}

int cmd_host_list(struct req *r)
{
	struct mesh *m __free(mesh_close) = mesh_open();
	struct meshblk_target *t __free(free) = NULL;
	struct store_host *hosts __free(free) = NULL;
	json_t *list = json_array();
	size_t i, n, known = 0;
	int err;

	if (m)
		meshblk_targets(m, &t, &known);
	err = store_hosts(&hosts, &n);
	for (i = 0; i < n; i++)
		json_array_append_new(list, host_json(&hosts[i], target_of(t, known, &hosts[i])));
	r->result = json_pack("{s:o}", "hosts", list);
	return err ? req_fail(r, "%s", store_words(err)) : 0;
}

/* 1, the name of a volume with a member there and what to do; 0; or a negative errno. */
static int in_use(const struct store_host *h, char *name, size_t size, char *why)
{
	struct layout *l __free(free) = malloc(sizeof(*l));
	struct store_volume *v __free(free) = NULL, full;
	size_t i, n;
	int err = store_volumes(&v, &n);

	if (!err && !l)
		err = -ENOMEM;
	for (i = 0; i < n && !err; i++) {
		err = store_volume_get(&v[i].uuid, &full, l);
		if (!err && volume_uses(&full, l, h, why)) {
			snprintf(name, size, "%s", full.name);
			return 1;
		}
	}
	return err == -ENOENT ? 0 : err;
}

int cmd_host_remove(struct req *r)
{
	const char *what = arg_str(r, "host");
	struct store_host h;
	char name[LAYOUT_NAME], why[REASON];
	int used;

	if (store_host_find(what, &h))
		return req_fail(r, "no host %s; see meshctl host list", what);
	used = in_use(&h, name, sizeof(name), why);
	if (used < 0)
		return req_fail(r, "%s", store_words(used));
	if (used)
		return req_fail(r, "volume %s has extents on host %s; %s", name, h.name, why);
	/* Extents of former members, too, are known by this host. */
	if (muuid_equal(&h.uuid, &D.host) && abandoned_bars_now(NULL, NULL, why))
		return req_fail(r, "host %s cannot be removed: %s", h.name, why);
	if (arg_bool(r, "dry_run")) {
		req_destroys(r, "host", h.name);
		return 0;
	}
	return peer_forget(&h, why) ? req_fail(r, "%s", why) : 0;
}

static void verdict(json_t *list, bool ok, const char *what, const char *text, bool *good)
{
	json_t *j = json_object();

	jset_str(j, "what", what);
	jset_bool(j, "ok", ok);
	jset_str(j, "says", text);
	json_array_append_new(list, j);
	*good = *good && ok;
}

/* Not checked, and why: it is neither good nor bad. */
static void no_verdict(json_t *list, const char *what, const char *text)
{
	json_t *j = json_object();

	jset_str(j, "what", what);
	json_object_set_new(j, "ok", json_null());
	jset_str(j, "says", text);
	json_array_append_new(list, j);
}

/*
 * Soft-RoCE's queue pair for connection messages goes to its error state when one
 * is sent while the interface is down, and never leaves it: nothing else shows that.
 */
static const char *session_advice(int error, bool link_good)
{
	if (error == -EKEYREJECTED || error == -EACCES)
		return "; carry the key over with meshctl host key";
	return link_good ? "; is meshd running there? Soft-RoCE whose interface was down is "
			   "repaired by 'rdma link delete' and 'rdma link add'" : "";
}

static bool has_session(const struct store_host *h)
{
	struct mesh *m __free(mesh_close) = mesh_open();
	struct meshblk_target t;

	return m && !meshblk_target_get(m, h->id, &t) && !strcmp(t.state, MESHBLK_STATE_UP);
}

static void check_session(json_t *list, const struct store_host *h, bool *good)
{
	struct store_host copy = *h;
	struct meshblk_target t;
	struct mesh *m = mesh_open();
	char text[REASON], why[REASON];

	if (!m || meshblk_target_get(m, h->id, &t)) {
		verdict(list, false, "session", "the kernel does not know this host: is meshblk loaded?", good);
	} else if (strcmp(t.state, MESHBLK_STATE_UP)) {
		snprintf(text, sizeof(text), "not connected: %.120s%s", t.reason[0] ? t.reason : "no answer",
			 session_advice(t.error, *good));
		verdict(list, false, "session", text, good);
	} else {
		snprintf(text, sizeof(text), "connected, %u channels, %llu KiB of its memory", t.channels,
			 (unsigned long long)t.arena >> 10);
		verdict(list, true, "session", text, good);
		if (peer_greet(&copy, why))
			verdict(list, false, "meshd", why, good);
		else
			verdict(list, true, "meshd", "its meshd answers", good);
	}
	mesh_close(m);
}

int cmd_host_check(struct req *r)
{
	const char *what = arg_str(r, "host");
	struct rdma_line lines[16];
	json_t *list = json_array();
	struct store_host h = { 0 };
	char text[128];
	bool known, good = true;
	size_t i, n;

	known = !store_host_find(what, &h);
	if (!known && parse_addr(what, &h)) {
		json_decref(list);
		return req_fail(r, "no host %s; give an address, or see meshctl host list", what);
	}
	n = rdma_check(h.addr, known && has_session(&h), lines, 16);
	for (i = 0; i < n; i++)
		verdict(list, !lines[i].bad, "link", lines[i].text, &good);
	key_words(text, sizeof(text));
	/* For itself a host needs none; that others do is no fault of this connection. */
	if (!key_id() && !D.insecure && (muuid_equal(&h.uuid, &D.host) || rdma_own(h.addr)))
		no_verdict(list, "key", text);
	else
		verdict(list, key_id() || D.insecure, "key", text, &good);
	if (known)
		check_session(list, &h, &good);
	else
		no_verdict(list, "session", "not added yet: meshctl host add");
	r->result = json_pack("{s:b, s:o}", "ok", good, "checks", list);
	if (!good)
		r->status = 1;
	return 0;
}

static int key_action(struct req *r, const char *action)
{
	if (!strcmp(action, "generate"))
		return key_generate();
	if (!strcmp(action, "set"))
		return key_set(arg_str(r, "key"), arg_num(r, "key_id"));
	if (!strcmp(action, "clear"))
		return key_clear();
	return 0;
}

/* What the administrator has to do after a change of the key. */
static void key_advice(struct req *r, const char *action, u16 before)
{
	if (!strcmp(action, "clear"))
		req_note(r, "%s", key_warning());
	else if (strcmp(action, "generate"))
		return;
	else if (before)
		req_note(r, "key %u stays valid until the next 'generate': set this one on every "
			 "other host before that", before);
	else
		req_note(r, "hosts without this key are refused: set it on every other host");
}

int cmd_host_key(struct req *r)
{
	const char *action = arg_str(r, "action");
	u16 before = key_id(), id;
	char text[KEY_LINE];
	int err;

	if (strcmp(action, "set") && (arg_str(r, "key")[0] || arg_num(r, "key_id")))
		return req_usage(r, "--key and --key-id go with 'host key set' alone");
	err = key_action(r, action);
	if (err == -EINVAL && !arg_str(r, "key")[0])
		return req_usage(r, "give the key: --key-file FILE (or - for standard input), or --key LINE; "
				 "bare hex digits need --key-id");
	if (err == -EINVAL)
		return req_usage(r, "that is no key: give the line that 'meshctl host key show' printed, or "
				 "32 hex digits and more with --key-id");
	if (err)
		return req_fail(r, "the key cannot be kept: %s", strerror(-err));
	if (strcmp(action, "show")) {
		peers_repush();
		export_cluster(r);
	}
	key_advice(r, action, before);
	r->result = json_object();
	id = key_line(text);
	jset_u64(r->result, "key_id", id);
	jset_bool(r->result, "insecure", D.insecure && !id);
	json_object_set_new(r->result, "key", text[0] ? json_string(text) : json_null());
	return 0;
}

/* Query every known host at once, and append what @key of its answer has. */
static int query_all(struct req *r, enum mgmt_op op, const char *key)
{
	struct mgmt_req q = { .op = op };
	json_t *list = json_array(), *item;
	struct query a;
	size_t i, k;
	int err = query_hosts(&a, &q);

	for (i = 0; !err && i < a.n; i++) {
		json_array_foreach(json_object_get(a.said[i].data, key), k, item) {
			if (!json_is_object(item))
				continue;
			jset_str(item, "host", a.hosts[i].name);
			jset_uuid(item, "host_uuid", &a.hosts[i].uuid);
			json_array_append(list, item);
		}
	}
	r->result = json_pack("{s:o, s:o}", key, list, "failed", query_failed(&a));
	if (!a.n && !err)
		req_note(r, "no host is known yet: meshctl host add ADDRESS (this host's own, too)");
	query_free(&a);
	return err ? req_fail(r, "%s", store_words(err)) : 0;
}

/* A drive and a copy of it on two hosts: neither is used until one of them goes. */
static void mark_twice(json_t *list)
{
	struct store_host *host __free(free) = calloc(json_array_size(list) + 1, sizeof(*host));
	struct shown s = { 0 };
	const struct twin_hosts *t;
	struct mgmt_drive m;
	json_t *j;
	size_t i;

	json_array_foreach(list, i, j)
		if (host && !mgmt_drive_unpack(j, &m) && !jget_uuid(j, "host_uuid", &host[i].uuid) &&
		    !strcmp(m.state, "up"))
			shown_add(&s, &m.uuid, host, i, &m.owner);
	json_array_foreach(list, i, j) {
		t = mgmt_drive_unpack(j, &m) ? NULL : shown_find(&s, &m.uuid);
		if (!t || t->hosts < 2 || strcmp(m.state, "up") || muuid_null(&host[i].uuid))
			continue;
		if (twin_hosts_doubt(t) || !muuid_equal(&m.owner, &host[i].uuid))
			jset_str(j, "state", twin_hosts_doubt(t) ? "doubtful" : "copy");
	}
	shown_free(&s);
}

int cmd_drive_list(struct req *r)
{
	int err = query_all(r, MGMT_DRIVES, "drives");

	mark_twice(json_object_get(r->result, "drives"));
	return err;
}

int cmd_drive_health(struct req *r)
{
	return query_all(r, MGMT_HEALTH, "drives");
}
