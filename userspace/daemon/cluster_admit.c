// SPDX-License-Identifier: GPL-2.0-only
/*
 * How a host comes into a cluster, and out of it.
 *
 *   init    file "keys": alone no ........................ then the port opens
 *   join    own store names nothing; link_join() ......... file "keys": the cluster's; start again
 *   leave   nothing here is used; file "host": another UUID; file "keys": a cluster of one;
 *           host/H a tombstone; start again
 *
 * The file is the one step that counts: a crash before it leaves the former membership, and the
 * command is repeated. Between the two files of a leave the keys are those of a host that no longer
 * is: cluster_open() puts them aside.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/agent/deal.h"
#include "userspace/daemon/cluster_in.h"
#include "userspace/format/fields.h"
#include "userspace/format/objects.h"
#include "userspace/store/join.h"

#define TXN_MS		10000
#define JOIN_MS		20000
#define TRIES		8
#define TOKEN_SECONDS	3600
#define TOKEN_SECONDS_MAX (30 * 86400)

/* A handle for one command, which may wait longer than the loop. */
static struct store *handle(struct cluster *c, char why[CLUSTER_WHY])
{
	struct store *s = cluster_store(c);

	if (s)
		store_timeout(s, TXN_MS);
	else
		cluster_fail(why, -ENOMEM, "no memory");
	return s;
}

/*
 * Change one object that is there: @fn, until no other transaction comes between. -ENOENT: it is
 * not there.
 */
static int change(struct store *s, const struct key *k, void (*fn)(union obj_any *x, const void *arg),
		  const void *arg, char why[CLUSTER_WHY])
{
	struct copy *c = copy_open(s);
	union obj_any x;
	struct deal d;
	int ret = c ? 0 : -ENOMEM;

	for (int i = 0; !ret && i < TRIES; i++) {
		ret = copy_fresh(c, k);
		if (!ret && !copy_obj(c, k))
			ret = -ENOENT;
		if (ret)
			break;
		memcpy(&x, copy_obj(c, k), obj_bytes(k->kind));
		fn(&x, arg);
		deal_begin(&d, c);
		deal_put(&d, k->kind, &x, 0);
		ret = deal_close(&d, TXN_MS);
	}
	if (ret < 0)
		cluster_fail(why, ret, "%s of the store: %.200s", key_word(k->kind),
			     ret == -ENOENT ? "it is not there" : store_why(s));
	copy_close(c);
	return ret == 1 ? 0 : ret ? ret : cluster_fail(why, -EIO, "the store changes too fast: try again");
}

/* init */

static void set_name(union obj_any *x, const void *name)
{
	snprintf(x->cluster.name, sizeof(x->cluster.name), "%s", (const char *)name);
}

static int name_cluster(struct store *s, const char *name, char why[CLUSTER_WHY])
{
	const struct key k = { .kind = KEY_CLUSTER };

	return name && name[0] ? change(s, &k, set_name, name, why) : 0;
}

/* Into etcd goes a cluster of which nothing has to be carried over. */
static int init_etcd(struct cluster *c, const char *name, char why[CLUSTER_WHY])
{
	struct muuid cluster = cluster_uuid(c);
	struct store *own = handle(c, why), *s = NULL;
	struct store_etcd *e = NULL;
	int err = own ? cluster_store_used(own, why) : -ENOMEM;

	if (!err)
		err = cluster_etcd_open(c, &e, why);
	if (!err) {
		s = store_etcd_handle(e);
		err = s ? 0 : cluster_fail(why, -ENOMEM, "no memory");
	}
	if (!err)
		err = cluster_found(s, &cluster, why);
	if (!err)
		err = name_cluster(s, name, why);
	if (s)
		store_close(s);
	if (e)
		store_etcd_close(e);
	if (own)
		store_close(own);
	return err;
}

static int init_own(struct cluster *c, const char *name, char why[CLUSTER_WHY])
{
	struct store *s = handle(c, why);
	int err = s ? name_cluster(s, name, why) : -ENOMEM;

	if (s)
		store_close(s);
	return err;
}

static int init_locked(struct cluster *c, const char *name, char why[CLUSTER_WHY])
{
	struct cluster_file f = cluster_now(c);
	const bool etcd = cluster_wants_etcd(c);
	int err;

	if (!f.alone)
		return cluster_fail(why, -EEXIST, "this host is in cluster %s already: meshctl cluster status",
				    muuid_str(&f.cluster).s);
	if (name && (!field_plain(name) || strlen(name) >= OBJ_TEXT))
		return cluster_fail(why, -EINVAL, "a name of the cluster is plain text of at most %u bytes",
				    OBJ_TEXT - 1);
	err = etcd ? init_etcd(c, name, why) : init_own(c, name, why);
	f.alone = false;
	if (!err)
		err = cluster_follow(c, &f, etcd, why);
	explicit_bzero(&f, sizeof(f));
	if (err || etcd)
		return err;
	err = cluster_serve(c);
	return err ? cluster_fail(why, err, "the cluster is there, but its port %u cannot be opened: %s; this "
				  "is tried again", c->port, strerror(-err)) : 0;
}

int cluster_init(struct cluster *c, const char *name, char why[CLUSTER_WHY])
{
	int err;

	pthread_mutex_lock(&c->changing);
	err = init_locked(c, name, why);
	pthread_mutex_unlock(&c->changing);
	return err;
}

/* token */

static int token_addresses(struct cluster *c, struct store *s, struct token *t, char why[CLUSTER_WHY])
{
	int err;

	t->addresses = cluster_addresses(c, t->address);
	if (t->addresses)
		return 0;
	err = cluster_store_hosts(s, c->port, t->address, &t->addresses, why);
	if (!err && !t->addresses)
		err = cluster_fail(why, -EADDRNOTAVAIL, "no address of a store host is known: write store = "
				   "ADDRESS into meshd.conf of this host, and start meshd again");
	return err;
}

static int token_may(struct cluster *c, const struct cluster_file *f, u8 role, char why[CLUSTER_WHY])
{
	if (f->alone)
		return cluster_fail(why, -EINVAL, "this host is in no cluster: meshctl cluster init begins one");
	if (f->role != PLAN_STORE)
		return cluster_fail(why, -EACCES, "tokens are made on a store host; this one's role is %s",
				    obj_role(f->role));
	if (!obj_role(role))
		return cluster_fail(why, -EINVAL, "roles are client, storage and store");
	if (role == PLAN_STORE && c->q)
		return cluster_fail(why, -EINVAL, "the store is a file of this host, so this is the only store "
				    "host; more of them need etcd");
	return 0;
}

int cluster_token(struct cluster *c, u8 role, unsigned int seconds, char text[TOKEN_TEXT],
		  char why[CLUSTER_WHY])
{
	struct cluster_file f = cluster_now(c);
	struct token t = { .role = role, .key_id = f.masters.now.id };
	struct store *s = NULL;
	int err = token_may(c, &f, role, why);

	if (!err && seconds > TOKEN_SECONDS_MAX)
		err = cluster_fail(why, -EINVAL, "a token expires after 30 days at most");
	if (!err) {
		s = handle(c, why);
		err = s ? token_addresses(c, s, &t, why) : -ENOMEM;
	}
	if (!err)
		err = join_issue(s, &t, seconds ? seconds : TOKEN_SECONDS, why);
	if (!err) {
		secret_token(&f.masters.now, &t.id, &t.secret);
		secret_cluster(&f.label, &f.cluster, t.cluster);
		err = token_print(&t, text);
		if (err)
			cluster_fail(why, err, "an address of a store host cannot stand in a token");
	}
	if (s)
		store_close(s);
	explicit_bzero(&t, sizeof(t));
	explicit_bzero(&f, sizeof(f));
	return err;
}

/* join */

static int read_token(const char *text, struct token *t, char why[CLUSTER_WHY])
{
	int err = token_parse(text, t);

	switch (err) {
	case 0:
		return 0;
	case -EPROTONOSUPPORT:
		return cluster_fail(why, err, "the token is of a later version: install the same version here");
	case -EBADMSG:
		return cluster_fail(why, err, "the token is damaged, or cut: copy all of it");
	}
	return cluster_fail(why, err, "this is no token; 'meshctl cluster token' on a store host prints one");
}

static int may_join(struct cluster *c, const struct cluster_file *f, const struct token *t,
		    char why[CLUSTER_WHY])
{
	if (!f->alone)
		return cluster_fail(why, -EEXIST, "this host is in cluster %s already, as %s: meshctl cluster "
				    "leave", muuid_str(&f->cluster).s, obj_role(f->role));
	if (t->role == PLAN_STORE && !cluster_wants_etcd(c))
		return cluster_fail(why, -EINVAL, "a store host reaches etcd: write store = etcd URL, ca, cert "
				    "and key into meshd.conf first, and start meshd again");
	if (t->role != PLAN_STORE && cluster_wants_etcd(c))
		return cluster_fail(why, -EINVAL, "store = etcd in meshd.conf is for store hosts, and the token "
				    "is for a host of role %s", obj_role(t->role));
	return 0;
}

static int own_empty(struct cluster *c, char why[CLUSTER_WHY])
{
	struct store *s = handle(c, why);
	int err = s ? cluster_store_used(s, why) : -ENOMEM;

	if (s)
		store_close(s);
	return err;
}

static void file_of(struct cluster *c, const struct link_keys *k, const struct token *t,
		    struct cluster_file *f)
{
	*f = (struct cluster_file) { .cluster = k->cluster, .host = c->host, .role = k->role,
				     .founded = true, .addresses = t->addresses };
	memcpy(f->address, t->address, sizeof(f->address));
	if (k->knows) {
		f->masters = k->masters;
		f->label = k->label;
	} else {
		f->own.now = (struct secret_master) { k->key_id, k->host };
	}
}

static int join_locked(struct cluster *c, const struct token *t, char why[CLUSTER_WHY])
{
	struct cluster_file f = cluster_now(c);
	char words[LINK_WHY] = "";
	struct link_keys k;
	int err = may_join(c, &f, t, why);

	if (!err)
		err = own_empty(c, why);
	if (!err) {
		err = link_join(t, &c->host, JOIN_MS, &k, words);
		if (err)
			cluster_fail(why, err, "%s", words);
	}
	/* Once more: the cluster may have taken its time, and a drive was exported here meanwhile. */
	if (!err)
		err = own_empty(c, why);
	if (!err) {
		file_of(c, &k, t, &f);
		err = cluster_follow(c, &f, true, why);
	}
	if (!err)
		cluster_drop(c);
	explicit_bzero(&k, sizeof(k));
	explicit_bzero(&f, sizeof(f));
	return err;
}

int cluster_join(struct cluster *c, const char *text, char why[CLUSTER_WHY])
{
	struct token t;
	int err = read_token(text, &t, why);

	if (!err) {
		pthread_mutex_lock(&c->changing);
		err = join_locked(c, &t, why);
		pthread_mutex_unlock(&c->changing);
	}
	explicit_bzero(&t, sizeof(t));
	return err;
}

/* leave */

static void set_removed(union obj_any *x, const void *arg)
{
	(void)arg;
	x->host.plan.removed = true;
}

/*
 * The key of this host stays derivable, so a tombstone refuses it from now on. The store host that
 * reads it ends this connection, perhaps before the answer: the outcome is no matter, as this host
 * has left already.
 */
static void leave_tombstone(struct cluster *c, struct store *s)
{
	const struct key k = { .kind = KEY_HOST, .host = c->host };
	char why[CLUSTER_WHY], words[CLUSTER_WHY + 128];

	if (!change(s, &k, set_removed, NULL, why))
		return;
	snprintf(words, sizeof(words), "this host has left; if its former cluster still lists host %s: meshctl host "
		 "remove it there (%s)", muuid_str(&c->host).s, why);
	c->log(c->priv, words);
}

static int leave_file(struct cluster *c, char why[CLUSTER_WHY])
{
	struct cluster_file next;
	struct muuid host;
	int err = c->renew ? c->renew(c->priv, &host) : -ENOSYS;

	if (err)
		return cluster_fail(why, err, "the next UUID of this host: %s", strerror(-err));
	err = cluster_file_new(&next, &host);
	if (!err)
		err = cluster_follow(c, &next, true, why);
	explicit_bzero(&next, sizeof(next));
	return err;
}

static int leave_locked(struct cluster *c, char why[CLUSTER_WHY])
{
	struct store *s;
	int err;

	if (cluster_alone(c))
		return cluster_fail(why, -EINVAL, "this host is in no cluster");
	if (c->q)
		return cluster_fail(why, -EINVAL, "this host has the cluster's store, so it cannot leave: remove "
				    "the other hosts, and this cluster is of one host again");
	s = handle(c, why);
	err = s ? cluster_host_used(s, &c->host, why) : -ENOMEM;
	if (!err)
		err = leave_file(c, why);
	if (!err)
		leave_tombstone(c, s);
	if (s)
		store_close(s);
	return err;
}

int cluster_leave(struct cluster *c, char why[CLUSTER_WHY])
{
	int err;

	pthread_mutex_lock(&c->changing);
	err = leave_locked(c, why);
	pthread_mutex_unlock(&c->changing);
	return err;
}
