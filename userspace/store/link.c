// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "userspace/store/link_client.h"

#define LINE_STACK	(1U << 20)

static struct link_handle *of(struct store *s)
{
	return (struct link_handle *)s;
}

void link_wake(struct store_link *l)
{
	/* It fails when the counter is full: then it is readable anyway. */
	(void)!write(l->wake, &(u64){ 1 }, sizeof(u64));
}

void link_poke(struct link_handle *h)
{
	(void)!write(h->fd, &(u64){ 1 }, sizeof(u64));
}

/* Under the mutex. False: the call is queued, and the deadline has not come. */
static bool call_over(struct link_handle *h, u64 until, bool *interrupted)
{
	struct timespec t = { .tv_sec = until / 1000, .tv_nsec = until % 1000 * 1000000 };

	*interrupted = store_interrupted(&h->base);
	if (h->call.state >= CALL_DONE || *interrupted || store_now_ms() >= until)
		return true;
	pthread_cond_timedwait(&h->cond, &h->l->lock, &t);
	return false;
}

/* Under the mutex: @bytes are taken over. */
static void call_queue(struct link_handle *h, u64 id, u64 watch, u8 *bytes, size_t len)
{
	h->call = (struct link_call) {
		.state = CALL_QUEUED, .id = id, .order = ++h->l->last_order, .bytes = bytes, .len = len,
		.watch = watch,
	};
}

static int call_failed(struct link_handle *h, bool interrupted)
{
	const char *why = h->l->why;

	if (h->call.state == CALL_LOST)
		return store_fail(&h->base, -EIO, "the connection to the store host ended: %.300s", why);
	if (interrupted)
		return store_fail(&h->base, -ECANCELED, "interrupted before the store host answered");
	if (h->l->up)
		return store_fail(&h->base, -ETIMEDOUT, "the store host has not answered in %u ms",
				  h->base.timeout_ms);
	return store_fail(&h->base, -ETIMEDOUT, "no store host is reached: %.300s", why);
}

static u64 next_id(struct store_link *l)
{
	u64 id;

	pthread_mutex_lock(&l->lock);
	id = ++l->last_id;
	pthread_mutex_unlock(&l->lock);
	return id;
}

/* One attempt. -EIO: the connection ended after the request had left; -ETIMEDOUT, -ECANCELED. */
static int call_once(struct link_handle *h, struct frame *f, u64 until)
{
	struct store_link *l = h->l;
	u64 now = store_now_ms();
	bool interrupted = false;
	size_t len;
	u8 *bytes;
	int err;

	f->id = next_id(l);
	f->ms = now < until ? until - now : 1;
	err = frame_encode(f, &bytes, &len);
	if (err)
		return store_fail(&h->base, err, "a request that cannot be sent: %s", strerror(-err));
	pthread_mutex_lock(&l->lock);
	call_queue(h, f->id, f->type == FRAME_WATCH ? f->watch : 0, bytes, len);
	link_wake(l);
	while (!call_over(h, until, &interrupted))
		;
	if (h->call.state != CALL_DONE)
		err = call_failed(h, interrupted);
	/* An answer that comes later finds no call with its id. */
	free(h->call.bytes);
	h->call.bytes = NULL;
	if (err)
		h->call.state = CALL_NONE;
	pthread_mutex_unlock(&l->lock);
	return err;
}

void link_call_end(struct link_handle *h)
{
	frame_end(&h->call.f);
	if (h->call.payload && h->call.f.type == FRAME_KEYS)
		explicit_bzero(h->call.payload, h->call.payload_len);
	free(h->call.payload);
	pthread_mutex_lock(&h->l->lock);
	h->call = (struct link_call) { .state = CALL_NONE };
	pthread_mutex_unlock(&h->l->lock);
}

static enum frame_type answer_of(enum frame_type request)
{
	switch (request) {
	case FRAME_RANGE:
	case FRAME_GET:
		return FRAME_PAGE;
	case FRAME_TXN:
		return FRAME_DONE;
	case FRAME_GRANT:
		return FRAME_LEASE;
	case FRAME_IDENTITY:
		return FRAME_IS;
	case FRAME_JOIN:
	case FRAME_RENEW:
		return FRAME_KEYS;
	default:
		return FRAME_OK;
	}
}

int link_call(struct link_handle *h, struct frame *f, bool again)
{
	u64 until = store_now_ms() + h->base.timeout_ms;
	int err;

	do {
		err = call_once(h, f, until);
	} while (err == -EIO && again && store_now_ms() < until);
	if (err)
		return err;
	if (h->call.f.type == FRAME_ERROR)
		err = store_fail(&h->base, h->call.f.err, "%s", h->call.f.text);
	else if (h->call.f.type != answer_of(f->type))
		err = store_fail(&h->base, -EIO, "the store host answers something else");
	if (err)
		link_call_end(h);
	return err;
}

/* The page has its own memory, the answer's goes. */
static int take_page(struct link_handle *h, struct store_page *out)
{
	const struct frame *f = &h->call.f;
	int err = 0;

	out->revision = f->revision;
	out->more = f->more;
	for (size_t i = 0; i < f->nr && !err; i++)
		err = store_page_add(out, &f->kv[i], strlen(f->kv[i].key));
	if (err)
		store_page_free(out);
	return err ? store_fail(&h->base, err, "no memory for a page") : 0;
}

static int op_range(struct store *s, const struct store_span *span, struct store_page *out)
{
	struct frame f = { .type = FRAME_RANGE, .text = span->prefix, .after = span->after,
			   .limit = span->limit, .at = span->at };
	int err = link_call(of(s), &f, true);

	if (err)
		return err;
	err = take_page(of(s), out);
	link_call_end(of(s));
	return err;
}

static int op_get(struct store *s, const char *key, struct store_page *out)
{
	struct frame f = { .type = FRAME_GET, .text = key };
	int err = link_call(of(s), &f, true);

	if (err)
		return err;
	err = take_page(of(s), out);
	link_call_end(of(s));
	if (!err && !out->nr)
		err = store_fail(s, -ENOENT, "there is no %s", key);
	return err;
}

/* All zero for a lease that this host was not granted: the store host finds none. */
static void find_proof(struct store_link *l, u64 lease, struct secret_proof *out)
{
	struct link_lease *e;

	memset(out, 0, sizeof(*out));
	pthread_mutex_lock(&l->lock);
	for (e = l->leases; e && e->id != lease; e = e->next)
		;
	if (e)
		*out = e->proof;
	pthread_mutex_unlock(&l->lock);
}

static int op_txn(struct store *s, const struct store_txn *t, u64 *revision)
{
	struct secret_proof proof[STORE_OPS_MAX];
	struct frame f = { .type = FRAME_TXN, .txn = *t, .proof = proof };
	int ret;

	for (size_t i = 0; i < t->ops; i++)
		find_proof(of(s)->l, t->op[i].lease, &proof[i]);
	ret = link_call(of(s), &f, false);
	if (ret)
		return ret;
	*revision = of(s)->call.f.revision;
	ret = of(s)->call.f.done;
	link_call_end(of(s));
	return ret;
}

static int op_fd(struct store *s)
{
	return of(s)->fd;
}

static void op_interrupt(struct store *s)
{
	struct link_handle *h = of(s);

	pthread_mutex_lock(&h->l->lock);
	pthread_cond_broadcast(&h->cond);
	link_poke(h);
	pthread_mutex_unlock(&h->l->lock);
}

static int op_lease_grant(struct store *s, unsigned int seconds, u64 *lease)
{
	struct frame f = { .type = FRAME_GRANT, .seconds = seconds };
	struct link_handle *h = of(s);
	struct link_lease *e = calloc(1, sizeof(*e));
	int err;

	if (!e)
		return store_fail(s, -ENOMEM, "no memory for a lease");
	/* Sent again it leaves a lease without keys behind, which ends. */
	err = link_call(h, &f, true);
	if (err) {
		free(e);
		return err;
	}
	*lease = e->id = h->call.f.lease;
	e->proof = h->call.f.owner;
	link_call_end(h);
	pthread_mutex_lock(&h->l->lock);
	e->next = h->l->leases;
	h->l->leases = e;
	pthread_mutex_unlock(&h->l->lock);
	return 0;
}

static void forget_lease(struct store_link *l, u64 lease)
{
	struct link_lease **at, *e;

	pthread_mutex_lock(&l->lock);
	for (at = &l->leases; *at && (*at)->id != lease; at = &(*at)->next)
		;
	e = *at;
	if (e)
		*at = e->next;
	pthread_mutex_unlock(&l->lock);
	free(e);
}

static int call_lease(struct store *s, enum frame_type type, u64 lease)
{
	struct frame f = { .type = type, .lease = lease };
	int err;

	find_proof(of(s)->l, lease, &f.owner);
	err = link_call(of(s), &f, true);
	if (!err)
		link_call_end(of(s));
	if (err == -ENOENT || (!err && type == FRAME_REVOKE))
		forget_lease(of(s)->l, lease);
	return err;
}

static int op_lease_keep(struct store *s, u64 lease)
{
	return call_lease(s, FRAME_KEEP, lease);
}

/* Sent again it finds no lease, where the first one was carried out: gone is gone. */
static int op_lease_revoke(struct store *s, u64 lease)
{
	return call_lease(s, FRAME_REVOKE, lease);
}

static int op_identity(struct store *s, struct store_identity *out)
{
	struct frame f = { .type = FRAME_IDENTITY };
	struct link_handle *h = of(s);
	int err = link_call(h, &f, true);

	if (err)
		return err;
	snprintf(out->id, sizeof(out->id), "%s", h->call.f.text);
	out->term = h->call.f.term;
	out->revision = h->call.f.revision;
	link_call_end(h);
	return 0;
}

static void op_close(struct store *s)
{
	struct link_handle *h = of(s), **at;

	link_watches_free(h);
	pthread_mutex_lock(&h->l->lock);
	for (at = &h->l->handles; *at != h; at = &(*at)->next)
		;
	*at = h->next;
	pthread_mutex_unlock(&h->l->lock);
	pthread_cond_destroy(&h->cond);
	close(h->fd);
	free(h);
}

const struct store_ops link_ops = {
	.range = op_range, .get = op_get, .txn = op_txn,
	.watch = link_watch_begin, .unwatch = link_watch_end, .next = link_watch_next,
	.fd = op_fd, .interrupt = op_interrupt,
	.lease_grant = op_lease_grant, .lease_keep = op_lease_keep, .lease_revoke = op_lease_revoke,
	.identity = op_identity, .close = op_close,
};

struct store *store_link_handle(struct store_link *l)
{
	struct link_handle *h = calloc(1, sizeof(*h));
	pthread_condattr_t a;

	if (!h)
		return NULL;
	store_begin(&h->base, &link_ops);
	h->l = l;
	h->outage_ms = h->base.timeout_ms;
	h->events_end = &h->events;
	h->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (h->fd < 0) {
		free(h);
		return NULL;
	}
	pthread_condattr_init(&a);
	pthread_condattr_setclock(&a, CLOCK_MONOTONIC);
	pthread_cond_init(&h->cond, &a);
	pthread_condattr_destroy(&a);
	pthread_mutex_lock(&l->lock);
	h->next = l->handles;
	l->handles = h;
	pthread_mutex_unlock(&l->lock);
	return &h->base;
}

static bool config_ok(const struct store_link_config *c)
{
	if (!c->addresses || c->addresses > ADDRESS_MAX || !c->self.key_id || muuid_null(&c->self.uuid))
		return false;
	for (size_t i = 0; i < c->addresses; i++)
		if (!address_name_ok(c->address[i].name) || !c->address[i].port)
			return false;
	return true;
}

static struct store_link *link_new(const struct store_link_config *c)
{
	struct store_link *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (l->wake < 0) {
		free(l);
		return NULL;
	}
	l->dial_ms = c->dial_ms ? c->dial_ms : 2000;
	l->ping_ms = c->ping_ms ? c->ping_ms : 5000;
	l->dead_ms = c->dead_ms ? c->dead_ms : 2000;
	l->pause_ms = c->pause_ms ? c->pause_ms : 2000;
	memcpy(l->address, c->address, sizeof(l->address));
	l->addresses = c->addresses;
	l->self = c->self;
	l->psk = c->psk;
	l->turn = c->self.uuid.b[15];	/* hosts spread over the store hosts */
	l->fd = -1;
	l->outage = 1;
	l->down_since = store_now_ms();
	snprintf(l->why, sizeof(l->why), "no connection was made yet");
	pthread_mutex_init(&l->lock, NULL);
	return l;
}

static void link_free(struct store_link *l)
{
	struct link_lease *e;

	while ((e = l->leases)) {
		l->leases = e->next;
		free(e);
	}
	explicit_bzero(&l->psk, sizeof(l->psk));
	free(l->unwatch);
	pthread_mutex_destroy(&l->lock);
	close(l->wake);
	free(l);
}

int store_link_open(const struct store_link_config *config, struct store_link **out)
{
	pthread_attr_t a;
	int err;

	*out = NULL;
	if (!config_ok(config))
		return -EINVAL;
	*out = link_new(config);
	if (!*out)
		return -ENOMEM;
	pthread_attr_init(&a);
	pthread_attr_setstacksize(&a, LINE_STACK);
	err = pthread_create(&(*out)->thread, &a, link_line_thread, *out);
	pthread_attr_destroy(&a);
	if (!err)
		return 0;
	link_free(*out);
	*out = NULL;
	return -EAGAIN;
}

void store_link_close(struct store_link *l)
{
	if (!l)
		return;
	pthread_mutex_lock(&l->lock);
	l->ending = true;
	pthread_mutex_unlock(&l->lock);
	link_wake(l);
	pthread_join(l->thread, NULL);
	link_free(l);
}

void store_link_identity(struct store_link *l, const struct link_identity *self, const struct secret *psk)
{
	pthread_mutex_lock(&l->lock);
	l->self = *self;
	l->psk = *psk;
	l->again = true;
	pthread_mutex_unlock(&l->lock);
	link_wake(l);
}

void store_link_addresses(struct store_link *l, const struct address *address, size_t nr)
{
	if (!nr || nr > ADDRESS_MAX)
		return;
	pthread_mutex_lock(&l->lock);
	memcpy(l->address, address, nr * sizeof(*address));
	l->addresses = nr;
	l->again = true;
	pthread_mutex_unlock(&l->lock);
	link_wake(l);
}

static int take_keys(struct link_handle *h, struct frame *f, struct link_keys *out)
{
	int err = link_call(h, f, true);

	memset(out, 0, sizeof(*out));
	if (err)
		return err;
	*out = h->call.f.keys;
	link_call_end(h);
	return 0;
}

int store_link_keys(struct store *s, struct link_keys *out)
{
	struct frame f = { .type = FRAME_RENEW };
	bool token;

	pthread_mutex_lock(&of(s)->l->lock);
	token = of(s)->l->self.role == LINK_TOKEN;
	pthread_mutex_unlock(&of(s)->l->lock);
	if (token)
		return store_fail(s, -EACCES, "a token has no keys of a host");
	return take_keys(of(s), &f, out);
}

static int join_by(struct store_link *l, const struct token *t, const struct muuid *host, unsigned int ms,
		   struct link_keys *out, char why[LINK_WHY])
{
	struct frame f = { .type = FRAME_JOIN, .host = *host, .role = t->role };
	struct store *s = store_link_handle(l);
	int err;

	if (!s)
		return -ENOMEM;
	store_timeout(s, ms);
	err = take_keys(of(s), &f, out);
	if (err) {
		snprintf(why, LINK_WHY, "%s", store_why(s));
	} else if (memcmp(out->fingerprint, t->cluster, SECRET_CLUSTER) || out->role != t->role) {
		snprintf(why, LINK_WHY, "the cluster that answers is not the one of the token");
		explicit_bzero(out, sizeof(*out));
		err = -EXDEV;
	}
	store_close(s);
	return err;
}

int link_join(const struct token *t, const struct muuid *host, unsigned int ms, struct link_keys *out,
	      char why[LINK_WHY])
{
	struct store_link_config c = { .addresses = t->addresses,
				       .self = { t->key_id, LINK_TOKEN, t->id } };
	struct store_link *l;
	int err;

	snprintf(why, LINK_WHY, "no memory, or the token is damaged");
	memcpy(c.address, t->address, sizeof(c.address));
	secret_tls(&t->secret, &c.psk);
	err = store_link_open(&c, &l);
	explicit_bzero(&c.psk, sizeof(c.psk));
	if (err)
		return err;
	err = join_by(l, t, host, ms, out, why);
	store_link_close(l);
	return err;
}
