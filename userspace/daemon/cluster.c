// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "userspace/agent/host.h"
#include "userspace/daemon/cluster_in.h"
#include "userspace/libmesh/mesh.h"

int cluster_fail(char why[CLUSTER_WHY], int err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, CLUSTER_WHY, fmt, ap);
	va_end(ap);
	return err;
}

static void keys_path(const struct cluster *c, char out[CLUSTER_PATH])
{
	snprintf(out, CLUSTER_PATH, "%s/keys", c->state);
}

static void store_path(const struct cluster *c, const struct muuid *cluster, char out[CLUSTER_PATH])
{
	snprintf(out, CLUSTER_PATH, "%s/cluster-%s.db", c->state, muuid_str(cluster).s);
}

int cluster_follow(struct cluster *c, const struct cluster_file *f, bool again, char why[CLUSTER_WHY])
{
	char path[CLUSTER_PATH];
	int err;

	keys_path(c, path);
	err = cluster_file_write(path, f, why);
	if (err)
		return err;
	pthread_mutex_lock(&c->lock);
	c->f = *f;
	c->keys++;
	c->again = c->again || again;
	pthread_mutex_unlock(&c->lock);
	return 0;
}

bool cluster_wants_etcd(const struct cluster *c)
{
	return c->store && !strncmp(c->store, "etcd ", 5);
}

size_t cluster_addresses(const struct cluster *c, struct address out[ADDRESS_MAX])
{
	char *list, *at, *one;
	size_t n = 0;

	if (!c->store || cluster_wants_etcd(c))
		return 0;
	list = at = strdup(c->store);
	while (list && n < ADDRESS_MAX && (one = strsep(&at, ", ")))
		if (one[0] && !address_parse(one, &out[n]))
			n++;
	free(list);
	return n;
}

/* Engines */

int cluster_etcd_open(struct cluster *c, struct store_etcd **out, char why[CLUSTER_WHY])
{
	struct store_etcd_config e = { .ca = c->ca, .cert = c->cert, .key = c->key, .root = "meshblk/" };
	char *list = strdup(c->store + 5), *at = list, *one;
	int err;

	*out = NULL;
	while (list && e.endpoints < ETCD_ENDPOINTS_MAX && (one = strsep(&at, ", ")))
		if (one[0])
			e.endpoint[e.endpoints++] = one;
	err = list ? store_etcd_open(&e, out, why, CLUSTER_WHY) : -ENOMEM;
	free(list);
	return err;
}

static int open_link(struct cluster *c, char why[CLUSTER_WHY])
{
	const bool client = c->f.role == PLAN_CLIENT;
	struct store_link_config l = { .self = { .role = c->f.role, .uuid = c->host } };
	struct secret key;
	int err;

	if (cluster_wants_etcd(c))
		return cluster_fail(why, -EINVAL, "store = etcd: only hosts of role store reach etcd; this "
				    "one's role is %s", obj_role(c->f.role));
	l.addresses = cluster_addresses(c, l.address);
	if (!l.addresses) {
		l.addresses = c->f.addresses;
		memcpy(l.address, c->f.address, sizeof(l.address));
	}
	if (client)
		key = c->f.own.now.key;
	else
		secret_host(&c->f.masters.now, &c->host, c->f.role, &key);
	l.self.key_id = client ? c->f.own.now.id : c->f.masters.now.id;
	secret_tls(&key, &l.psk);
	err = store_link_open(&l, &c->l);
	explicit_bzero(&key, sizeof(key));
	explicit_bzero(&l.psk, sizeof(l.psk));
	return err ? cluster_fail(why, err, "the link to the store hosts: %s", strerror(-err)) : 0;
}

/* 0: the store has the key of this cluster; -EEXIST: other keys. */
static int found_before(struct store *s, const struct muuid *cluster, char why[CLUSTER_WHY])
{
	const struct key k = { .kind = KEY_CLUSTER };
	struct store_page p = { 0 };
	union obj_any x = { 0 };
	int err = store_get(s, "cluster", &p);

	if (!err)
		err = obj_read(&k, p.kv->value, p.kv->len, &x, NULL, 0);
	if (!err && !muuid_equal(&x.cluster.plan.uuid, cluster))
		err = -EEXIST;
	if (err)
		cluster_fail(why, -EEXIST, "the store is not empty, and not of cluster %s: give this "
			     "cluster an empty one", muuid_str(cluster).s);
	obj_free(KEY_CLUSTER, &x);
	store_page_free(&p);
	return err ? -EEXIST : 0;
}

int cluster_found(struct store *s, const struct muuid *cluster, char why[CLUSTER_WHY])
{
	char words[OBJ_WHY] = "";
	int ret = host_found(s, cluster, "", words);

	if (ret < 0)
		return cluster_fail(why, ret, "the store: %s", words);
	return ret ? 0 : found_before(s, cluster, why);
}

/* An own store is founded once: an empty one later is a loss that recover repairs, and it alone. */
static int found_own(struct cluster *c, char why[CLUSTER_WHY])
{
	struct cluster_file f = c->f;
	struct store *s = cluster_store(c);
	int err = s ? cluster_found(s, &f.cluster, why) : cluster_fail(why, -ENOMEM, "no memory");

	if (s)
		store_close(s);
	f.founded = true;
	return err ? err : cluster_follow(c, &f, false, why);
}

static int open_sqlite(struct cluster *c, char why[CLUSTER_WHY])
{
	char path[CLUSTER_PATH], words[CLUSTER_WHY];
	int err;

	store_path(c, &c->f.cluster, path);
	if (c->f.founded && access(path, F_OK) && errno == ENOENT) {
		snprintf(words, sizeof(words), "%.250s is gone: the cluster's store is empty until it is put back, "
			 "or 'meshctl cluster recover' makes it from labels", path);
		c->log(c->priv, words);
	}
	strcpy(c->file, path);
	err = store_sqlite_open(path, &c->q, why, CLUSTER_WHY);
	return err || c->f.founded ? err : found_own(c, why);
}

static int open_engine(struct cluster *c, char why[CLUSTER_WHY])
{
	if (c->f.role != PLAN_STORE)
		return open_link(c, why);
	if (c->f.alone || !cluster_wants_etcd(c))
		return open_sqlite(c, why);
	return cluster_etcd_open(c, &c->e, why);
}

struct store *cluster_store(struct cluster *c)
{
	return c->q ? store_sqlite_handle(c->q) : c->e ? store_etcd_handle(c->e) : store_link_handle(c->l);
}

/* The file */

/* Keys of another host came with a copied folder, or stayed after a leave: they are kept aside. */
static int put_aside(struct cluster *c, const char *path, const struct muuid *of, char why[CLUSTER_WHY])
{
	char aside[CLUSTER_PATH + 64], words[CLUSTER_WHY];

	snprintf(aside, sizeof(aside), "%s.of-%s", path, muuid_str(of).s);
	if (link(path, aside) && errno != EEXIST)
		return cluster_fail(why, -errno, "%s: %s", aside, strerror(errno));
	snprintf(words, sizeof(words), "the keys of host %s are not this host's: they are in %.250s, and this host "
		 "is in no cluster", muuid_str(of).s, aside);
	c->log(c->priv, words);
	return 0;
}

static int load_file(struct cluster *c, char why[CLUSTER_WHY])
{
	char path[CLUSTER_PATH], words[CLUSTER_FILE_WHY];
	bool made;
	int err;

	keys_path(c, path);
	err = cluster_file_read(path, &c->f, words);
	made = err == -ENOENT;
	if (err && !made)
		return cluster_fail(why, err, "%s", words);
	if (!made && !muuid_equal(&c->f.host, &c->host)) {
		err = put_aside(c, path, &c->f.host, why);
		if (err)
			return err;
		made = true;
	}
	if (!made)
		return 0;
	err = cluster_file_new(&c->f, &c->host);
	if (err)
		return cluster_fail(why, err, "no random bytes for a first key");
	err = cluster_file_write(path, &c->f, words);
	return err ? cluster_fail(why, err, "%s", words) : 0;
}

static char *copy_text(const char *text, bool *failed)
{
	char *copy = text ? strdup(text) : NULL;

	*failed = *failed || (text && !copy);
	return copy;
}

static struct cluster *cluster_new(const struct cluster_config *config)
{
	struct cluster *c = calloc(1, sizeof(*c));
	bool failed = false;

	if (!c)
		return NULL;
	c->host = config->host;
	c->port = config->port ? config->port : ADDRESS_PORT;
	c->log = config->log;
	c->renew = config->renew;
	c->priv = config->priv;
	snprintf(c->state, sizeof(c->state), "%s", config->state);
	c->store = copy_text(config->store, &failed);
	c->ca = copy_text(config->ca, &failed);
	c->cert = copy_text(config->cert, &failed);
	c->key = copy_text(config->key, &failed);
	c->listen = copy_text(config->listen, &failed);
	pthread_mutex_init(&c->changing, NULL);
	pthread_mutex_init(&c->lock, NULL);
	if (!failed)
		return c;
	cluster_close(c);
	return NULL;
}

int cluster_open(const struct cluster_config *config, struct cluster **out, char why[CLUSTER_WHY])
{
	struct cluster *c;
	int err;

	*out = NULL;
	if (strlen(config->state) >= sizeof(c->state))
		return cluster_fail(why, -ENAMETOOLONG, "%.200s: the name is too long", config->state);
	c = cluster_new(config);
	if (!c)
		return cluster_fail(why, -ENOMEM, "no memory");
	err = load_file(c, why);
	if (!err)
		cluster_removed_read(c);
	if (!err)
		err = open_engine(c, why);
	if (err) {
		cluster_close(c);
		return err;
	}
	*out = c;
	return 0;
}

void cluster_drop(const struct cluster *c)
{
	static const char *const ends[] = { "", "-wal", "-shm", "-lock" };
	char path[CLUSTER_PATH + 8];

	for (size_t i = 0; c->q && i < sizeof(ends) / sizeof(*ends); i++) {
		snprintf(path, sizeof(path), "%s%s", c->file, ends[i]);
		unlink(path);
	}
}

void cluster_close(struct cluster *c)
{
	if (!c)
		return;
	link_server_stop(c->server);
	if (c->q)
		store_sqlite_close(c->q);
	if (c->e)
		store_etcd_close(c->e);
	store_link_close(c->l);
	pthread_mutex_destroy(&c->changing);
	pthread_mutex_destroy(&c->lock);
	free(c->store);
	free(c->ca);
	free(c->cert);
	free(c->key);
	free(c->listen);
	free(c->removed);
	explicit_bzero(c, sizeof(*c));
	free(c);
}

/* One member under the lock. */
#define LOCKED(c, member) ({						\
	struct cluster *locked_ = (struct cluster *)(c);		\
	__typeof__(locked_->member) value_;				\
									\
	pthread_mutex_lock(&locked_->lock);				\
	value_ = locked_->member;					\
	pthread_mutex_unlock(&locked_->lock);				\
	value_; })

struct cluster_file cluster_now(const struct cluster *c)
{
	return LOCKED(c, f);
}

u8 cluster_role(const struct cluster *c)
{
	return LOCKED(c, f.role);
}

bool cluster_alone(const struct cluster *c)
{
	return LOCKED(c, f.alone);
}

struct muuid cluster_uuid(const struct cluster *c)
{
	return LOCKED(c, f.cluster);
}

u64 cluster_keys(const struct cluster *c)
{
	return LOCKED(c, keys);
}

bool cluster_again(const struct cluster *c)
{
	return LOCKED(c, again);
}

/* The port */

static struct store *serve_handle(void *priv)
{
	return cluster_store(priv);
}

static void serve_secrets(void *priv, struct link_secrets *out)
{
	struct cluster_file f = cluster_now(priv);

	*out = (struct link_secrets) { .cluster = f.cluster, .masters = f.masters, .label = f.label };
	explicit_bzero(&f, sizeof(f));
}

static void serve_log(void *priv, const char *words)
{
	const struct cluster *c = priv;

	c->log(c->priv, words);
}

static int compare_uuid(const void *a, const void *b)
{
	return muuid_cmp(a, b);
}

static bool serve_removed(void *priv, const struct muuid *host)
{
	struct cluster *c = priv;
	bool is;

	pthread_mutex_lock(&c->lock);
	is = c->removeds && bsearch(host, c->removed, c->removeds, sizeof(*host), compare_uuid);
	pthread_mutex_unlock(&c->lock);
	return is;
}

int cluster_serve(struct cluster *c)
{
	struct link_server_config s = { .addr = c->listen, .port = c->port, .handle = serve_handle,
					.secrets = serve_secrets, .removed = serve_removed,
					.log = serve_log, .priv = c };

	if (c->server || !c->known || cluster_role(c) != PLAN_STORE || cluster_alone(c))
		return 0;
	return link_server_start(&s, &c->server);
}

/* True if the list is another one than before. */
static bool take_removed(struct cluster *c, struct muuid *list, size_t n)
{
	bool changed;

	qsort(list, n, sizeof(*list), compare_uuid);
	pthread_mutex_lock(&c->lock);
	changed = n != c->removeds || (n && memcmp(list, c->removed, n * sizeof(*list)));
	/* The target's kernel gets the first list, too: it may have that of a daemon before. */
	if (changed || !c->listed)
		c->keys++;
	c->saved = c->saved && c->listed && !changed;
	c->listed = true;
	if (changed) {
		struct muuid *was = c->removed;

		c->removed = list;
		c->removeds = n;
		list = was;
	}
	pthread_mutex_unlock(&c->lock);
	free(list);
	return changed;
}

/* On the thread that alone sets the list. -EAGAIN: the next turn tries it again. */
static int save_removed(struct cluster *c)
{
	struct muuid cluster = cluster_uuid(c);
	int err;

	if (c->saved)
		return 0;
	err = cluster_removed_write(c, &cluster, c->removed, c->removeds);
	c->saved = !err;
	return err ? -EAGAIN : 0;
}

int cluster_removed(struct cluster *c, const struct muuid *host, size_t n)
{
	struct muuid *list = malloc((n + 1) * sizeof(*list));
	bool changed;
	int err, saved;

	if (!list)
		return -ENOMEM;
	if (n)
		memcpy(list, host, n * sizeof(*list));
	changed = take_removed(c, list, n);
	saved = save_removed(c);
	/* A command that changes the membership holds the lock over I/O: the next turn does this. */
	if (pthread_mutex_trylock(&c->changing))
		return -EAGAIN;
	c->known = true;
	err = cluster_serve(c);
	if (changed && c->server)
		link_server_check(c->server);
	pthread_mutex_unlock(&c->changing);
	return err ? err : saved;
}

/* Keys of the kernel */

static size_t kernel_keys(const struct cluster_file *f, struct mesh_key out[2])
{
	const bool client = f->role == PLAN_CLIENT;
	const struct secret_masters *m = client ? &f->own : &f->masters;
	const struct secret_master *each[2] = { &m->now, &m->before };
	size_t n = 0;

	for (int i = 0; i < 2; i++)
		if (each[i]->id)
			out[n++] = (struct mesh_key) {
				.id = each[i]->id, .key = each[i]->key.b, .len = SECRET_BYTES,
				.kind = client ? MESH_KEY_OWN : MESH_KEY_MASTER, .role = f->role,
			};
	return n;
}

/*
 * Before the removed hosts are known, those that the target's kernel has stay. More than a message
 * holds are not given: keys of that many removed hosts are a reason to rotate the master.
 */
static int target_identity(struct cluster *c, struct mesh *m, const struct mesh_key *keys, size_t nr)
{
	struct muuid *list = NULL;
	size_t n = 0;
	bool known;
	int err;

	pthread_mutex_lock(&c->lock);
	known = c->listed;
	if (known) {
		n = c->removeds < MESHTGT_REMOVED_MAX ? c->removeds : MESHTGT_REMOVED_MAX;
		list = malloc((n + 1) * sizeof(*list));
		if (list && n)
			memcpy(list, c->removed, n * sizeof(*list));
	}
	pthread_mutex_unlock(&c->lock);
	if (!known)
		return meshtgt_identity_set(m, &c->host, keys, nr);
	err = list ? meshtgt_identity_removed(m, &c->host, keys, nr, list, n) : -ENOMEM;
	free(list);
	return err;
}

int cluster_identity(struct cluster *c, bool target)
{
	struct cluster_file f = cluster_now(c);
	struct mesh *m = mesh_open();
	struct mesh_key keys[2];
	size_t n = kernel_keys(&f, keys);
	int err = 0, other;

	if (!m) {
		explicit_bzero(&f, sizeof(f));
		return -ENOMEM;
	}
	/* The target first: it then knows what the client says. */
	if (target)
		err = target_identity(c, m, keys, n);
	other = meshblk_identity_set(m, &c->host, keys, n);
	explicit_bzero(&f, sizeof(f));
	mesh_close(m);
	err = err ? err : other;
	return err == -ENOENT ? -ENOPKG : err;
}
