// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "userspace/store/engine.h"
#include "userspace/store/link_serve.h"

#define WARN_MS		10000

int serve_find(void *server, const struct link_identity *who, struct secret *psk)
{
	struct link_server *s = server;
	const struct secret_master *m;
	struct link_secrets known;
	struct secret key;
	int err = 0;

	s->c.secrets(s->c.priv, &known);
	m = secret_find(&known.masters, who->key_id);
	if (!m || muuid_null(&who->uuid))
		err = -ENOKEY;
	else if (who->role == LINK_TOKEN)
		secret_token(m, &who->uuid, &key);
	else if (s->c.removed(s->c.priv, &who->uuid))
		err = -EACCES;
	else
		secret_host(m, &who->uuid, who->role, &key);
	if (!err)
		secret_tls(&key, psk);
	explicit_bzero(&known, sizeof(known));
	explicit_bzero(&key, sizeof(key));
	return err;
}

void serve_wake(struct link_server *s)
{
	/* It fails when the counter is full: then it is readable anyway. */
	(void)!write(s->wake, &(u64){ 1 }, sizeof(u64));
}

void serve_log(struct link_server *s, const char *fmt, ...)
{
	char words[FRAME_WORDS];
	va_list ap;

	if (!s->c.log)
		return;
	va_start(ap, fmt);
	vsnprintf(words, sizeof(words), fmt, ap);
	va_end(ap);
	s->c.log(s->c.priv, words);
}

void serve_warn(struct link_server *s, const char *fmt, ...)
{
	u64 now = store_now_ms();
	char words[256];
	va_list ap;

	if (s->warned && now - s->warned < WARN_MS) {
		s->unsaid++;
		return;
	}
	va_start(ap, fmt);
	vsnprintf(words, sizeof(words), fmt, ap);
	va_end(ap);
	if (s->unsaid)
		serve_log(s, "%s (%u more lines like this were left out)", words, s->unsaid);
	else
		serve_log(s, "%s", words);
	s->warned = now;
	s->unsaid = 0;
}

void serve_get(struct serve_conn *c)
{
	pthread_mutex_lock(&c->s->lock);
	c->refs++;
	pthread_mutex_unlock(&c->s->lock);
}

void serve_put(struct serve_conn *c)
{
	bool last;

	pthread_mutex_lock(&c->s->lock);
	last = !--c->refs;
	pthread_mutex_unlock(&c->s->lock);
	if (!last)
		return;
	explicit_bzero(&c->psk, sizeof(c->psk));
	free(c);
}

void link_server_check(struct link_server *s)
{
	pthread_mutex_lock(&s->lock);
	s->check = true;
	pthread_mutex_unlock(&s->lock);
	serve_wake(s);
}

u16 link_server_port(const struct link_server *s)
{
	return s->port;
}

void link_server_count(struct link_server *s, struct link_server_count *out)
{
	pthread_mutex_lock(&s->lock);
	*out = (struct link_server_count) {
		.conns = s->nr_conns, .strangers = s->strangers_shown, .watches = s->nr_watches,
		.jobs = s->nr_jobs, .events = s->event_bytes,
	};
	pthread_mutex_unlock(&s->lock);
}

static void defaults(struct link_server_config *c)
{
	c->conns = c->conns ? c->conns : 2048;
	c->conns_host = c->conns_host ? c->conns_host : 8;
	c->strangers = c->strangers ? c->strangers : 128;
	c->strangers_addr = c->strangers_addr ? c->strangers_addr : 16;
	c->shake_ms = c->shake_ms ? c->shake_ms : 5000;
	c->silent_ms = c->silent_ms ? c->silent_ms : 30000;
	c->events = c->events ? c->events : 1U << 20;
	c->events_all = c->events_all ? c->events_all : 64U << 20;
}

static void server_free(struct link_server *s)
{
	for (int i = 0; i < SERVE_WORKERS; i++)
		store_close(s->handle[i]);
	store_close(s->watch_handle);
	for (int i = 0; i < 2; i++)
		if (s->listen[i] >= 0)
			close(s->listen[i]);
	if (s->wake >= 0)
		close(s->wake);
	if (s->epoll >= 0)
		close(s->epoll);
	pthread_cond_destroy(&s->work);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

static int server_open(struct link_server *s)
{
	struct epoll_event e = { .events = EPOLLIN };
	bool handles = true;

	s->epoll = epoll_create1(EPOLL_CLOEXEC);
	s->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (s->epoll < 0 || s->wake < 0 || epoll_ctl(s->epoll, EPOLL_CTL_ADD, s->wake, &e))
		return -errno;
	s->watch_handle = s->c.handle(s->c.priv);
	for (int i = 0; i < SERVE_WORKERS; i++) {
		s->handle[i] = s->c.handle(s->c.priv);
		handles = handles && s->handle[i];
	}
	return handles && s->watch_handle ? serve_listen(s) : -ENOMEM;
}

static void server_end(struct link_server *s)
{
	pthread_mutex_lock(&s->lock);
	s->ending = true;
	pthread_cond_broadcast(&s->work);
	pthread_mutex_unlock(&s->lock);
	serve_wake(s);
}

static void end_watcher(struct link_server *s)
{
	pthread_mutex_lock(&s->lock);
	s->watch_ending = true;
	pthread_mutex_unlock(&s->lock);
	store_interrupt(s->watch_handle);
	pthread_join(s->watcher, NULL);
}

static int start_threads(struct link_server *s)
{
	pthread_attr_t a;
	int err = 0, n = 0;

	pthread_attr_init(&a);
	pthread_attr_setstacksize(&a, SERVE_STACK);
	while (n < SERVE_WORKERS && !err) {
		err = pthread_create(&s->worker[n], &a, serve_work_thread, s);
		n += !err;
	}
	if (!err)
		err = pthread_create(&s->watcher, &a, serve_watch_thread, s);
	if (!err) {
		err = pthread_create(&s->io, &a, serve_io_thread, s);
		if (err)
			end_watcher(s);
	}
	pthread_attr_destroy(&a);
	if (!err)
		return 0;
	server_end(s);
	while (n)
		pthread_join(s->worker[--n], NULL);
	return -EAGAIN;
}

int link_server_start(const struct link_server_config *config, struct link_server **out)
{
	struct link_server *s = calloc(1, sizeof(*s));
	int err;

	*out = NULL;
	if (!s)
		return -ENOMEM;
	s->c = *config;
	defaults(&s->c);
	s->listen[0] = s->listen[1] = s->epoll = s->wake = -1;
	s->ready_end = &s->ready;
	s->commands_end = &s->commands;
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->work, NULL);
	err = server_open(s);
	if (!err)
		err = start_threads(s);
	if (err) {
		server_free(s);
		return err;
	}
	*out = s;
	return 0;
}

/*
 * Calls of the workers end early. The I/O thread ends the connections, after which the watch
 * thread has its last work.
 */
void link_server_stop(struct link_server *s)
{
	if (!s)
		return;
	server_end(s);
	for (int i = 0; i < SERVE_WORKERS; i++)
		store_interrupt(s->handle[i]);
	pthread_join(s->io, NULL);
	for (int i = 0; i < SERVE_WORKERS; i++)
		pthread_join(s->worker[i], NULL);
	serve_ready_end(s);
	end_watcher(s);
	server_free(s);
}
