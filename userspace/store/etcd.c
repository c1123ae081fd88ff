// SPDX-License-Identifier: GPL-2.0-only
/* Start and end of the etcd engine, its settings, and its handles. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "userspace/store/et.h"
#include "userspace/store/key.h"

#define DIAL_MS		3000
#define PING_MS		5000
#define DEAD_MS		3000
#define PAUSE_MAX_MS	1000
#define EVENTS		(8U << 20)
#define OUTAGE_MS	3000	/* until store_next() says how long */

void et_signal(int fd)
{
	const u64 one = 1;

	/* It fails if the counter is full, which wakes as well. */
	if (write(fd, &one, sizeof(one)) < 0)
		return;
}

bool et_drain(int fd)
{
	u64 count;

	return read(fd, &count, sizeof(count)) == sizeof(count);
}

void et_leave(struct store_etcd *e, unsigned int endpoint)
{
	__atomic_compare_exchange_n(&e->current, &endpoint, (endpoint + 1) % e->endpoints, false,
				    __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

static int fd(struct store *s)
{
	return et_handle(s)->fd;
}

static void interrupt(struct store *s)
{
	et_signal(et_handle(s)->fd);
	et_signal(et_handle(s)->wake_fd);
}

static void free_handle(struct et_handle *h)
{
	et_call_reset(h);
	et_xfer_free(&h->x);
	et_watch_free_all(h);
	if (h->fd >= 0)
		close(h->fd);
	if (h->wake_fd >= 0)
		close(h->wake_fd);
	free(h);
}

static void close_handle(struct store *s)
{
	struct et_handle *h = et_handle(s);
	struct store_etcd *e = h->e;

	pthread_mutex_lock(&e->lock);
	h->closing = true;
	et_signal(e->wake_fd);
	while (!h->unlinked)
		pthread_cond_wait(&e->unlinked, &e->lock);
	pthread_mutex_unlock(&e->lock);
	free_handle(h);
}

static const struct store_ops ops = {
	.range = et_range,
	.get = et_get,
	.txn = et_txn,
	.watch = et_watch,
	.unwatch = et_unwatch,
	.next = et_next,
	.fd = fd,
	.interrupt = interrupt,
	.lease_grant = et_lease_grant,
	.lease_keep = et_lease_keep,
	.lease_revoke = et_lease_revoke,
	.identity = et_identity,
	.close = close_handle,
};

struct store *store_etcd_handle(struct store_etcd *e)
{
	struct et_handle *h = calloc(1, sizeof(*h));

	if (!h)
		return NULL;
	store_begin(&h->base, &ops);
	h->e = e;
	h->events_end = &h->events;
	h->outage_ms = OUTAGE_MS;
	h->last_id = ET_FIRST_ID;
	h->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	h->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (h->fd < 0 || h->wake_fd < 0) {
		free_handle(h);
		return NULL;
	}
	pthread_mutex_lock(&e->lock);
	h->next = e->handles;
	e->handles = h;
	pthread_mutex_unlock(&e->lock);
	return &h->base;
}

/* A user, a path or a space in it would end in a URL, and perhaps in a log. */
static bool endpoint_valid(const char *text, bool tls)
{
	const char *scheme = tls ? "https://" : "http://", *host = text + strlen(scheme), *port;

	if (strncmp(text, scheme, strlen(scheme)) || strlen(text) >= ETCD_ENDPOINT_LEN)
		return false;
	port = strrchr(host, ':');
	return port && port > host && port[1] && strspn(port + 1, "0123456789") == strlen(port + 1) &&
	       strspn(host, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_[]:") ==
	       strlen(host);
}

static int check_endpoints(const struct store_etcd_config *c, struct store *s)
{
	const bool tls = !c->plain;

	if (!c->endpoints || c->endpoints > ETCD_ENDPOINTS_MAX)
		return store_fail(s, -EINVAL, "etcd: %zu endpoints, not 1 to %u", c->endpoints,
				  ETCD_ENDPOINTS_MAX);
	for (size_t i = 0; i < c->endpoints; i++)
		if (!c->endpoint[i] || !endpoint_valid(c->endpoint[i], tls))
			return store_fail(s, -EINVAL, "etcd: endpoint %zu is not like %s://HOST:PORT", i + 1,
					  tls ? "https" : "http");
	if (tls && (!c->ca || !c->cert || !c->key))
		return store_fail(s, -EINVAL, "etcd: the files of CA, certificate and key are needed");
	return 0;
}

static int check_root(const char *root, struct store *s)
{
	if (!root || !root[0])
		return 0;
	if (strlen(root) >= ETCD_ROOT_MAX || !store_prefix_valid(root) || root[strlen(root) - 1] != '/')
		return store_fail(s, -EINVAL, "etcd: the root is not like \"meshblk/\", up to %u bytes",
				  ETCD_ROOT_MAX - 1);
	return 0;
}

static int check_file(const char *path, bool secret, struct store *s)
{
	struct stat st;
	int err = 0, fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0 || fstat(fd, &st) < 0)
		err = store_fail(s, -errno, "etcd: %s: %s", path, strerror(errno));
	else if (!S_ISREG(st.st_mode))
		err = store_fail(s, -EINVAL, "etcd: %s is no file", path);
	else if (secret && (st.st_mode & (S_IRWXG | S_IRWXO)))
		err = store_fail(s, -EACCES, "etcd: others than the owner can use the key %s: chmod 600 it",
				 path);
	else if (secret && st.st_uid && st.st_uid != geteuid())
		err = store_fail(s, -EACCES, "etcd: the key %s has another owner", path);
	if (fd >= 0)
		close(fd);
	return err;
}

static int check_files(const struct store_etcd_config *c, struct store *s)
{
	int err;

	if (c->plain)
		return 0;
	err = check_file(c->ca, false, s);
	if (!err)
		err = check_file(c->cert, false, s);
	return err ? err : check_file(c->key, true, s);
}

static int check_library(struct store *s)
{
	const curl_version_info_data *v = curl_version_info(CURLVERSION_NOW);

	return v->features & CURL_VERSION_HTTP2 ? 0 :
	       store_fail(s, -EPROTONOSUPPORT, "etcd: libcurl of this host is without HTTP/2");
}

static void free_engine(struct store_etcd *e)
{
	for (unsigned int i = 0; i < ETCD_ENDPOINTS_MAX; i++)
		free(e->endpoint[i]);
	free(e->ca);
	free(e->cert);
	free(e->key);
	if (e->wake_fd >= 0)
		close(e->wake_fd);
	pthread_cond_destroy(&e->unlinked);
	pthread_mutex_destroy(&e->lock);
	free(e);
}

static int copy(char **to, const char *from)
{
	*to = strdup(from);
	return *to ? 0 : -ENOMEM;
}

static int copy_config(struct store_etcd *e, const struct store_etcd_config *c)
{
	int err = 0;

	e->tls = !c->plain;
	for (e->endpoints = 0; !err && e->endpoints < c->endpoints; e->endpoints++)
		err = copy(&e->endpoint[e->endpoints], c->endpoint[e->endpoints]);
	if (!err && e->tls)
		err = copy(&e->ca, c->ca);
	if (!err && e->tls)
		err = copy(&e->cert, c->cert);
	if (!err && e->tls)
		err = copy(&e->key, c->key);
	strcpy(e->root, c->root ? c->root : "");
	e->dial_ms = c->dial_ms ? c->dial_ms : DIAL_MS;
	e->ping_ms = c->ping_ms ? c->ping_ms : PING_MS;
	e->dead_ms = c->dead_ms ? c->dead_ms : DEAD_MS;
	e->pause_ms = c->pause_ms ? c->pause_ms : PAUSE_MAX_MS;
	e->events = c->events ? c->events : EVENTS;
	return err;
}

static struct store_etcd *new_engine(void)
{
	struct store_etcd *e = calloc(1, sizeof(*e));

	if (!e)
		return NULL;
	pthread_mutex_init(&e->lock, NULL);
	pthread_cond_init(&e->unlinked, NULL);
	e->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return e;
}

static int start(const struct store_etcd_config *c, struct store_etcd **out, struct store *s)
{
	struct store_etcd *e = new_engine();
	int err = e && e->wake_fd >= 0 ? copy_config(e, c) : -ENOMEM;

	if (!err)
		err = et_stream_start(e);
	if (err) {
		if (e)
			free_engine(e);
		return store_fail(s, err, "etcd: the engine cannot start: %s", strerror(-err));
	}
	*out = e;
	return 0;
}

int store_etcd_open(const struct store_etcd_config *c, struct store_etcd **out, char *why, size_t size)
{
	struct store words;
	int err;

	*out = NULL;
	store_begin(&words, NULL);
	/* Counted and safe among threads since libcurl 7.84. */
	curl_global_init(CURL_GLOBAL_DEFAULT);
	err = check_library(&words);
	if (!err)
		err = check_endpoints(c, &words);
	if (!err)
		err = check_root(c->root, &words);
	if (!err)
		err = check_files(c, &words);
	if (!err)
		err = start(c, out, &words);
	if (err)
		curl_global_cleanup();
	snprintf(why, size, "%s", err ? store_why(&words) : "");
	return err;
}

void store_etcd_close(struct store_etcd *e)
{
	if (!e)
		return;
	et_stream_stop(e);
	free_engine(e);
	curl_global_cleanup();
}
