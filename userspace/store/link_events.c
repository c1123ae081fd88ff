// SPDX-License-Identifier: GPL-2.0-only
/*
 * The watch thread: one handle of the engine has the watches of all connections.
 *
 *   command WATCH    --> store_watch() --> OK or ERROR to the peer
 *   event            --> the peer's queue; beyond its bound: STORE_RELIST, and the watch has ended
 *   dead connection  --> store_unwatch() of each of its watches
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "userspace/store/engine.h"
#include "userspace/store/link_serve.h"

#define WAIT_MS		60000
#define AGAIN_MS	100	/* after an error of the engine */

bool serve_command(struct serve_conn *c, enum serve_verb verb, const struct frame *f)
{
	struct serve_command *k = calloc(1, sizeof(*k));
	struct link_server *s = c->s;

	if (!k)
		return false;
	k->verb = verb;
	k->conn = c;
	k->request = f->id;
	k->watch = f->watch;
	k->after = f->at;
	if (f->text)
		memcpy(k->prefix, f->text, strlen(f->text) + 1);
	pthread_mutex_lock(&s->lock);
	c->refs++;
	*s->commands_end = k;
	s->commands_end = &k->next;
	pthread_mutex_unlock(&s->lock);
	store_interrupt(s->watch_handle);
	return true;
}

static struct serve_watch **bucket(struct link_server *s, u64 engine_id)
{
	return &s->watch[engine_id % SERVE_BUCKETS];
}

static void count_watch(struct link_server *s, struct serve_conn *c, int n)
{
	pthread_mutex_lock(&s->lock);
	s->nr_watches += n;
	if (n < 0)
		c->watches--;
	pthread_mutex_unlock(&s->lock);
}

/* It is out of its bucket already. */
static void end_watch(struct link_server *s, struct serve_watch *w)
{
	store_unwatch(s->watch_handle, w->engine_id);
	count_watch(s, w->conn, -1);
	serve_put(w->conn);
	free(w);
}

static struct serve_watch **find_peer(struct link_server *s, const struct serve_conn *c, u64 peer_id)
{
	struct serve_watch **at;

	for (int i = 0; i < SERVE_BUCKETS; i++)
		for (at = &s->watch[i]; *at; at = &(*at)->next)
			if ((*at)->conn == c && (*at)->peer_id == peer_id)
				return at;
	return NULL;
}

static void remove_at(struct link_server *s, struct serve_watch **at)
{
	struct serve_watch *w = *at;

	*at = w->next;
	end_watch(s, w);
}

static bool is_dead(struct serve_conn *c)
{
	bool dead;

	pthread_mutex_lock(&c->s->lock);
	dead = c->state == SERVE_DEAD;
	pthread_mutex_unlock(&c->s->lock);
	return dead;
}

static void give_up(struct link_server *s, const struct serve_command *k, int err, const char *why)
{
	pthread_mutex_lock(&s->lock);
	k->conn->watches--;
	pthread_mutex_unlock(&s->lock);
	serve_error(k->conn, k->request, err, "%s", why);
}

/* store_interrupt() says that commands wait, which the loop sees; the call itself goes on. */
static int engine_watch(struct link_server *s, const struct serve_command *k, u64 *id)
{
	int err;

	do {
		err = store_watch(s->watch_handle, k->prefix, k->after, id);
	} while (err == -ECANCELED);
	return err;
}

static void begin_watch(struct link_server *s, const struct serve_command *k)
{
	struct frame ok = { .type = FRAME_OK, .id = k->request };
	struct serve_watch *w;
	int err;

	if (find_peer(s, k->conn, k->watch)) {
		give_up(s, k, -EINVAL, "this watch exists");
		return;
	}
	w = is_dead(k->conn) ? NULL : calloc(1, sizeof(*w));
	if (!w) {
		give_up(s, k, -ENOMEM, "no memory at the store host");
		return;
	}
	err = engine_watch(s, k, &w->engine_id);
	if (err) {
		free(w);
		give_up(s, k, err, store_why(s->watch_handle));
		return;
	}
	w->peer_id = k->watch;
	w->conn = k->conn;
	serve_get(w->conn);
	w->next = *bucket(s, w->engine_id);
	*bucket(s, w->engine_id) = w;
	count_watch(s, w->conn, 1);
	serve_answer(w->conn, &ok);
}

static void run_command(struct link_server *s, struct serve_command *k)
{
	struct serve_watch **at;

	if (k->verb == SERVE_WATCH) {
		begin_watch(s, k);
	} else {
		at = find_peer(s, k->conn, k->watch);
		if (at)
			remove_at(s, at);
	}
	serve_put(k->conn);
	free(k);
}

/* Watches of dead connections. */
static void sweep(struct link_server *s)
{
	struct serve_watch **at;

	for (int i = 0; i < SERVE_BUCKETS; i++)
		for (at = &s->watch[i]; *at;)
			if (is_dead((*at)->conn))
				remove_at(s, at);
			else
				at = &(*at)->next;
}

/* False: the server ends. */
static bool run_commands(struct link_server *s)
{
	struct serve_command *k;
	bool swept, end;

	do {
		pthread_mutex_lock(&s->lock);
		k = s->commands;
		if (k) {
			s->commands = k->next;
			if (!s->commands)
				s->commands_end = &s->commands;
		}
		swept = s->sweep && !k;
		if (swept)
			s->sweep = false;
		end = s->watch_ending && !k && !swept;
		pthread_mutex_unlock(&s->lock);
		if (k)
			run_command(s, k);
		if (swept)
			sweep(s);
	} while (k || swept);
	return !end;
}

static void deliver(struct link_server *s, const struct store_event *e)
{
	struct frame f = { .type = FRAME_EVENT, .kind = e->kind, .kv = (struct store_kv *)&e->kv, .nr = 1 };
	struct serve_watch **at = bucket(s, e->watch);

	while (*at && (*at)->engine_id != e->watch)
		at = &(*at)->next;
	if (!*at)
		return;
	f.watch = (*at)->peer_id;
	if (e->kind != STORE_RELIST && serve_event((*at)->conn, &f))
		return;
	f.kind = STORE_RELIST;
	serve_event((*at)->conn, &f);
	remove_at(s, at);
}

void *serve_watch_thread(void *server)
{
	struct link_server *s = server;
	struct store_event e;
	bool down = false;
	int ret;

	while (run_commands(s)) {
		ret = store_next(s->watch_handle, WAIT_MS, &e);
		if (ret == 1)
			deliver(s, &e);
		if (ret < 0 && ret != -ECANCELED) {
			if (!down)
				serve_log(s, "watches of other hosts: %s", store_why(s->watch_handle));
			usleep(AGAIN_MS * 1000);
		}
		down = ret < 0 && (ret != -ECANCELED || down);
	}
	for (int i = 0; i < SERVE_BUCKETS; i++)
		while (s->watch[i])
			remove_at(s, &s->watch[i]);
	return NULL;
}
