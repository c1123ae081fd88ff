// SPDX-License-Identifier: GPL-2.0-only
/* The state of all links of a host, its keys, and calls. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <unistd.h>

#include "userspace/machine/line.h"
#include "userspace/meshd/links.h"

#define WARN_MS		10000
#define TRIES		3	/* of a call that the peer cannot have seen */

void links_wake(int fd)
{
	u64 one = 1;

	/* It fails when the counter is full: then it is readable anyway. */
	if (write(fd, &one, sizeof(one)) < 0 && errno != EAGAIN)
		log_debug("links: eventfd: %s", strerror(errno));
}

void links_warn(struct links *l, const char *fmt, ...)
{
	char text[LINK_REASON + 64];
	unsigned int unsaid = 0;
	u64 now = now_ms();
	bool quiet;
	va_list ap;

	pthread_mutex_lock(&l->lock);
	quiet = l->warned && now - l->warned < WARN_MS;
	if (quiet) {
		l->unsaid++;
	} else {
		unsaid = l->unsaid;
		l->unsaid = 0;
		l->warned = now;
	}
	pthread_mutex_unlock(&l->lock);
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (quiet)
		log_debug("links: %s", text);
	else if (unsaid)
		log_warn("links: %s (%u more lines like this were left out)", text, unsaid);
	else
		log_warn("links: %s", text);
}

bool links_thread(struct links *l, void *(*fn)(void *), void *arg)
{
	if (thread_start(fn, arg))
		return false;
	l->threads++;
	return true;
}

void links_thread_end(struct links *l)
{
	l->threads--;
	pthread_cond_broadcast(&l->cond);
	pthread_mutex_unlock(&l->lock);
}

bool links_key_valid(const struct links *l, const struct link_key *k)
{
	size_t i;

	for (i = 0; i < l->nr_keys; i++)
		if (l->keys[i].id == k->id && !memcmp(l->keys[i].psk, k->psk, sizeof(k->psk)))
			return true;
	return false;
}

/* Connections that are still proving a key check it when they have. */
void links_keys(struct links *l, const struct link_key *keys, size_t n)
{
	struct link_conn *c;

	n = n < LINK_KEYS ? n : LINK_KEYS;
	guard(&l->lock);
	memset(l->keys, 0, sizeof(l->keys));
	if (n)
		memcpy(l->keys, keys, n * sizeof(*keys));
	l->nr_keys = n;
	for (c = l->conns; c; c = c->next)
		if (c->state == LINK_UP && !links_key_valid(l, &c->key))
			conn_kill(c, -EKEYEXPIRED, "its key was replaced");
	links_wake(l->port_wake);
}

static void machine_boot(struct muuid *u)
{
	char line[64];

	if (read_line(line, sizeof(line), "/proc/sys/kernel/random/boot_id") || muuid_parse(line, u))
		memset(u, 0, sizeof(*u));
}

struct links *links_new(const struct muuid *host)
{
	struct links *l = calloc(1, sizeof(*l));
	pthread_condattr_t a;

	if (!l)
		return NULL;
	l->port_wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (l->port_wake < 0) {
		free(l);
		return NULL;
	}
	l->port_fd[0] = l->port_fd[1] = -1;
	l->host = *host;
	machine_boot(&l->machine);
	while (!l->boot)
		if (getrandom(&l->boot, sizeof(l->boot), 0) != sizeof(l->boot))
			l->boot = 0;
	l->times = (struct link_times) { .shake = 5000, .ping = 5000, .silent = 3, .spare = 30000 };
	pthread_mutex_init(&l->lock, NULL);
	pthread_condattr_init(&a);
	pthread_condattr_setclock(&a, CLOCK_MONOTONIC);
	pthread_cond_init(&l->cond, &a);
	pthread_condattr_destroy(&a);
	return l;
}

void links_free(struct links *l)
{
	struct link_conn *c;
	int i;

	pthread_mutex_lock(&l->lock);
	l->ending = true;
	for (c = l->conns; c; c = c->next)
		conn_kill(c, -ESHUTDOWN, "meshd ends");
	links_wake(l->port_wake);
	while (l->threads)
		pthread_cond_wait(&l->cond, &l->lock);
	pthread_mutex_unlock(&l->lock);
	for (i = 0; i < 2; i++)
		if (l->port_fd[i] >= 0)
			close(l->port_fd[i]);
	close(l->port_wake);
	pthread_cond_destroy(&l->cond);
	pthread_mutex_destroy(&l->lock);
	free(l);
}

/* Until something changed, or the deadline. */
static int wait_change(struct links *l, u64 until)
{
	struct timespec t = { .tv_sec = until / 1000, .tv_nsec = until % 1000 * 1000000 };

	return -pthread_cond_timedwait(&l->cond, &l->lock, &t);
}

/*
 * A connection that was accepted carries calls to a host that is known by its
 * UUID alone: several hosts may be behind one source address. A host that calls
 * itself has both ends in this list, and uses the one that it made.
 */
static bool usable(const struct link_conn *c, const char *addr, u16 port, const struct muuid *expect)
{
	if (c->kill || c->state == LINK_DEAD || c->port != port || strcmp(c->addr, addr))
		return false;
	return c->dialled || (c->state == LINK_UP && expect && muuid_equal(&c->peer.host, expect) &&
			      !muuid_equal(&c->peer.host, &c->l->host));
}

static struct link_conn *find_conn(struct links *l, const char *addr, u16 port,
				   const struct muuid *expect)
{
	struct link_conn *c, *best = NULL;

	for (c = l->conns; c; c = c->next) {
		if (!usable(c, addr, port, expect))
			continue;
		if (!best || (c->state == LINK_UP && best->state != LINK_UP) ||
		    (c->state == LINK_UP && best->state == LINK_UP && conn_preferred(c, best)))
			best = c;
	}
	return best;
}

struct call {
	struct links *l;
	char	addr[64];
	u16	port;
	const struct muuid *expect;
	u64	until;
	unsigned int ms;
	bool	joined;		/* it waited for a connection of another call that failed */
	char	*why;
};

static int call_late(const struct call *k, const char *doing)
{
	snprintf(k->why, LINK_REASON, "%s port %u %s in %u.%u s", k->addr, k->port, doing, k->ms / 1000,
		 k->ms / 100 % 10);
	return -ETIMEDOUT;
}

static int call_dial(struct call *k, struct link_conn **out)
{
	struct link_conn *c = conn_new(k->l, k->addr, k->port, true);

	if (!c) {
		snprintf(k->why, LINK_REASON, "out of memory or files");
		return -ENOMEM;
	}
	c->refs++;
	if (conn_start(c))
		conn_put(c);	/* the thread's */
	*out = c;
	return 0;
}

/*
 * A connection that is up, with a reference. One that was being made when the
 * call came may have begun before the peer was there: it is made again, once.
 */
static int call_conn(struct call *k, struct link_conn **out)
{
	struct links *l = k->l;
	struct link_conn *c;
	bool joined;
	int err = 0;

	if (!l->nr_keys) {
		snprintf(k->why, LINK_REASON, "this host has no key: make one with meshctl host key generate, "
			 "or bring the cluster's with meshctl host key set");
		return -ENOKEY;
	}
	c = find_conn(l, k->addr, k->port, k->expect);
	joined = c;
	if (joined)
		c->refs++;
	else
		err = call_dial(k, &c);
	if (err)
		return err;
	while (c->state == LINK_DIALS && !err)
		err = wait_change(l, k->until);
	if (c->state == LINK_UP) {
		*out = c;
		return 0;
	}
	if (c->state == LINK_DIALS) {
		err = call_late(k, "does not answer");
	} else {
		memcpy(k->why, c->why, LINK_REASON);
		err = (joined && !k->joined) || c->err == -EKEYEXPIRED ? -ERESTART : c->err;
		k->joined |= joined;
	}
	conn_put(c);
	return err;
}

static int call_check(const struct call *k, const struct link_conn *c)
{
	if (!k->expect || muuid_equal(k->expect, &c->peer.host))
		return 0;
	snprintf(k->why, LINK_REASON, "%s is host %s, not %s: another host has that address now", k->addr,
		 muuid_str(&c->peer.host).s, muuid_str(k->expect).s);
	return -EXDEV;
}

static int call_place(struct call *k, struct link_conn *c, size_t len)
{
	int err = 0;

	while (c->state == LINK_UP && !c->kill && !err &&
	       (c->nr_calls >= LINK_WINDOW || c->call_bytes + len > LINK_WINDOW_BYTES))
		err = wait_change(k->l, k->until);
	if (c->state != LINK_UP || c->kill)
		return -ERESTART;
	return err ? call_late(k, "answers none of many requests") : 0;
}

/* The deadline has passed: what has begun to leave still counts in the window. */
static int call_give_up(struct call *k, struct link_conn *c, struct link_call_state *s)
{
	struct link_call_state **at;

	if (conn_unsend(c, s)) {
		for (at = &c->calls; *at != s; at = &(*at)->next)
			;
		*at = s->next;
		c->nr_calls--;
		c->call_bytes -= s->len;
		free(s);
		pthread_cond_broadcast(&k->l->cond);
	} else {
		s->waited = false;
	}
	return call_late(k, "has not answered");
}

static int call_ended(struct call *k, struct link_conn *c, struct link_call_state *s, void **rsp,
		      size_t *rsp_len)
{
	int err = s->err;

	if (!err) {
		*rsp = s->rsp;
		*rsp_len = s->rsp_len;
	} else if (err == -ECONNRESET) {
		snprintf(k->why, LINK_REASON, "%.200s before it answered", c->why);
	} else if (err != -ERESTART) {
		snprintf(k->why, LINK_REASON, "%s refuses the request: %s", k->addr,
			 err == -EOPNOTSUPP ? "it serves nothing" : strerror(-err));
	}
	free(s);
	return err;
}

/* Under the lock; @o is taken over. */
static int call_on(struct call *k, struct link_conn *c, struct link_out *o, void **rsp,
		   size_t *rsp_len)
{
	struct link_call_state *s = calloc(1, sizeof(*s));
	int err = s ? call_check(k, c) : -ENOMEM;

	if (!s)
		snprintf(k->why, LINK_REASON, "out of memory");
	if (!err)
		err = call_place(k, c, o->f.total);
	if (err) {
		free(o);
		free(s);
		return err;
	}
	s->id = o->f.id = ++k->l->last_id;
	s->len = o->f.total;
	s->waited = true;
	o->call = s;
	s->next = c->calls;
	c->calls = s;
	c->nr_calls++;
	c->call_bytes += s->len;
	c->used = now_ms();
	conn_send(c, o, false);
	while (!s->done && !err)
		err = wait_change(k->l, k->until);
	return s->done ? call_ended(k, c, s, rsp, rsp_len) : call_give_up(k, c, s);
}

/* -ERESTART: the peer cannot have seen the request. */
static int call_once(struct call *k, const void *msg, size_t len, void **rsp, size_t *rsp_len)
{
	struct link_out *o = conn_out(LINK_REQUEST, 0, msg, len);
	struct link_conn *c = NULL;
	int err;

	if (!o) {
		snprintf(k->why, LINK_REASON, "out of memory");
		return -ENOMEM;
	}
	guard(&k->l->lock);
	err = call_conn(k, &c);
	if (err) {
		free(o);
		return err;
	}
	err = call_on(k, c, o, rsp, rsp_len);
	conn_put(c);
	return err;
}

int links_call(struct links *l, const char *addr, u16 port, const struct muuid *expect,
	       const void *msg, size_t len, unsigned int deadline_ms, void **rsp, size_t *rsp_len,
	       char *why)
{
	struct call k = { .l = l, .port = port, .expect = expect, .ms = deadline_ms,
			  .until = now_ms() + deadline_ms, .why = why };
	unsigned int tries;
	int err;

	*rsp = NULL;
	*rsp_len = 0;
	why[0] = 0;
	if (len > LINK_MSG_MAX || addr_normal(addr, k.addr) || !port) {
		err = len > LINK_MSG_MAX ? -EMSGSIZE : -EINVAL;
		snprintf(why, LINK_REASON, err == -EINVAL ? "this is no address of a host" :
			 "the request is too long");
		return err;
	}
	for (tries = 1; ; tries++) {
		err = call_once(&k, msg, len, rsp, rsp_len);
		if (err != -ERESTART)
			return err;
		if (tries == TRIES) {
			snprintf(why, LINK_REASON, "the connection to %s is lost again and again", k.addr);
			return -ECONNRESET;
		}
	}
}

void links_forget(struct links *l, const char *addr, u16 port)
{
	struct link_conn *c;
	char text[64];

	if (addr_normal(addr, text))
		return;
	guard(&l->lock);
	for (c = l->conns; c; c = c->next)
		if (c->port == port && !strcmp(c->addr, text))
			conn_kill(c, -ESHUTDOWN, "the host was removed");
}

void links_host(struct links *l, const struct muuid *host)
{
	struct link_conn *c;

	guard(&l->lock);
	l->host = *host;
	for (c = l->conns; c; c = c->next)
		conn_kill(c, -ESHUTDOWN, "this host has another UUID now");
}

static struct links *own;

static void make_own(void)
{
	own = links_new(&D.host);
	if (!own) {
		log_error("links: out of memory");
		abort();
	}
}

struct links *links_own(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, make_own);
	return own;
}
