// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "userspace/daemon/control.h"
#include "userspace/format/json.h"

#define LINE_BYTES	(1U << 20)
#define REQUESTS_MAX	64
#define IDLE_US		30000000ULL	/* for a peer to send its request, or to read its answer */
#define UNDO_MS		30000		/* for the last steps of a request whose peer has gone */
#define CHATTER_BYTES	(64U << 10)	/* unread lines, beyond which progress and notes are left out */

enum conn_state {
	CONN_READING,
	CONN_WAITING,		/* for api_may() */
	CONN_RUNNING,
	CONN_ANSWERED,		/* until the peer has read it */
};

struct buffer {
	char	*text;
	size_t	len, room;
};

struct conn {
	struct api a;
	struct control *c;
	struct conn *next;
	int	fd;
	sd_event_source *io, *timer;
	u8	state;			/* enum conn_state */
	bool	eof;
	struct buffer in, out;
	size_t	sent;			/* of @out */
	json_t	*request;
	api_step *step;
	u64	gone_ms;
	char	noted[600];		/* the last note, and the last progress */
	char	what[160];
	u64	done, total;
};

struct control {
	struct daemon *d;
	int	fd;
	sd_event_source *io;
	char	path[108];
	struct conn *conns;
	unsigned int nr;
};

static struct conn *conn_of(struct api *a)
{
	return (struct conn *)((char *)a - offsetof(struct conn, a));
}

static int buffer_add(struct buffer *b, const char *text, size_t len)
{
	size_t room = b->room ? b->room : 4096;
	char *grown;

	while (room < b->len + len)
		room *= 2;
	if (room != b->room) {
		grown = realloc(b->text, room);
		if (!grown)
			return -ENOMEM;
		b->text = grown;
		b->room = room;
	}
	memcpy(b->text + b->len, text, len);
	b->len += len;
	return 0;
}

static void conn_close(struct conn *k)
{
	struct conn **at = &k->c->conns;

	while (*at != k)
		at = &(*at)->next;
	*at = k->next;
	k->c->nr--;
	sd_event_source_disable_unref(k->io);
	sd_event_source_disable_unref(k->timer);
	if (k->a.state)
		(k->a.drop ? k->a.drop : free)(k->a.state);
	json_decref(k->a.result);
	json_decref(k->a.args);
	json_decref(k->request);
	free(k->in.text);
	free(k->out.text);
	close(k->fd);
	free(k);
}

static bool conn_unsent(const struct conn *k)
{
	return k->sent < k->out.len;
}

static void conn_events(struct conn *k)
{
	uint32_t events = 0;

	if (k->state == CONN_READING && !k->eof)
		events |= EPOLLIN;
	if (conn_unsent(k))
		events |= EPOLLOUT;
	sd_event_source_set_io_events(k->io, events);
}

/* A peer that does not read stops nothing: what it leaves unread waits in @out. */
static void conn_flush(struct conn *k)
{
	while (conn_unsent(k)) {
		ssize_t n = send(k->fd, k->out.text + k->sent, k->out.len - k->sent, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		k->sent += (size_t)n;
	}
	if (!conn_unsent(k))
		k->out.len = k->sent = 0;
	conn_events(k);
}

static int conn_line(struct conn *k, json_t *j)
{
	char *text = j ? json_dumps(j, JSON_COMPACT) : NULL;
	int err = text ? 0 : -ENOMEM;

	json_decref(j);
	if (text && !k->a.gone) {
		err = buffer_add(&k->out, text, strlen(text));
		if (!err)
			err = buffer_add(&k->out, "\n", 1);
		conn_flush(k);
	}
	free(text);
	return err;
}

/* A note that does not fit is left out; the answer never is. */
static bool conn_full(const struct conn *k)
{
	return k->out.len - k->sent > CHATTER_BYTES;
}

int api_fail(struct api *a, int err, const char *kind, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(a->error, sizeof(a->error), fmt, ap);
	va_end(ap);
	a->kind = kind;
	return err;
}

void api_note(struct api *a, const char *fmt, ...)
{
	struct conn *k = conn_of(a);
	char text[sizeof(k->noted)];
	json_t *j;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (!strcmp(text, k->noted) || conn_full(k))
		return;
	memcpy(k->noted, text, sizeof(text));
	j = json_object();
	jset_str(j, "note", text);
	conn_line(k, j);
}

void api_progress(struct api *a, const char *what, u64 done, u64 total)
{
	struct conn *k = conn_of(a);

	if ((k->done == done && k->total == total && !strncmp(what, k->what, sizeof(k->what) - 1)) ||
	    conn_full(k))
		return;
	snprintf(k->what, sizeof(k->what), "%s", what);
	k->done = done;
	k->total = total;
	conn_line(k, json_pack("{s:{s:s, s:I, s:I}}", "progress", "what", k->what, "done",
			       (json_int_t)done, "total", (json_int_t)total));
}

static void conn_timer(struct conn *k, bool on)
{
	if (on)
		sd_event_source_set_time_relative(k->timer, IDLE_US);
	sd_event_source_set_enabled(k->timer, on ? SD_EVENT_ONESHOT : SD_EVENT_OFF);
}

/* The answer is the last line; the connection ends when the peer has it. */
static void conn_answer(struct conn *k, int err)
{
	struct api *a = &k->a;
	json_t *j = json_object();

	if (err && !a->error[0])
		api_fail(a, err, "failed", "%s", strerror(-err));
	jset_bool(j, "ok", !err);
	if (err) {
		jset_str(j, "error", a->error);
		jset_str(j, "kind", a->kind);
		jset_u64(j, "code", !strcmp(a->kind, "usage") ? 2 : 1);
	} else {
		json_object_set(j, "result", a->result ? a->result : json_null());
		if (a->code)
			jset_u64(j, "code", (u64)a->code);
	}
	k->state = CONN_ANSWERED;
	if (conn_line(k, j) || !conn_unsent(k)) {
		conn_close(k);
		return;
	}
	conn_timer(k, true);
}

static int conn_check(struct conn *k)
{
	struct api *a = &k->a;
	const struct verb *v = a->verb ? verb_find(a->verb) : NULL;
	char why[256];

	if (!a->verb || (a->args && !json_is_object(a->args)))
		return api_fail(a, -EINVAL, "usage", "this is no request: {\"verb\":\"..\",\"args\":{..}} is wanted");
	if (!a->args)
		a->args = json_object();
	k->step = v ? api_find(v->words) : NULL;
	if (!k->step)
		return api_fail(a, -EINVAL, "usage", "this meshd has no verb '%.40s': are meshctl and meshd of one "
				"version?", a->verb);
	if (!verb_ok(v, a->args, why, sizeof(why)))
		return api_fail(a, -EINVAL, "usage", "%s: %s: see 'meshctl %s --help'", v->words, why, v->words);
	if (a->uid && a->uid != geteuid())
		return api_fail(a, -EACCES, "refused", "only root may do this: use sudo");
	return 0;
}

static void conn_begin(struct conn *k)
{
	struct api *a = &k->a;
	int err;

	conn_timer(k, false);
	a->verb = json_string_value(json_object_get(k->request, "verb"));
	a->args = json_incref(json_object_get(k->request, "args"));
	a->since_ms = store_now_ms();
	err = conn_check(k);
	if (err) {
		conn_answer(k, err);
		return;
	}
	k->state = CONN_WAITING;
	conn_events(k);
}

/* A whole line, or the end of the peer's sending. */
static void conn_parse(struct conn *k, const char *end)
{
	const char *text = k->in.text;
	size_t len = end ? (size_t)(end - text) : 0;

	if (end && len + 1 == k->in.len)
		k->request = json_loadb(text, len, JSON_REJECT_DUPLICATES, NULL);
	conn_begin(k);
}

static void conn_read(struct conn *k)
{
	char piece[16384];
	ssize_t n = recv(k->fd, piece, sizeof(piece), MSG_DONTWAIT);
	const char *end;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		k->eof = true;
		conn_parse(k, NULL);
		return;
	}
	if (k->in.len + (size_t)n > LINE_BYTES || buffer_add(&k->in, piece, (size_t)n)) {
		conn_timer(k, false);
		conn_answer(k, api_fail(&k->a, -E2BIG, "usage", "a request is one line of at most 1 MiB"));
		return;
	}
	end = memchr(k->in.text + k->in.len - n, '\n', (size_t)n);
	if (end)
		conn_parse(k, end);
}

/*
 * Both directions are closed: ^C at meshctl. One that has shut down its sending side alone still
 * waits for the answer.
 */
static void conn_gone(struct conn *k)
{
	if (k->state != CONN_RUNNING) {
		conn_close(k);
		return;
	}
	k->a.gone = true;
	k->gone_ms = store_now_ms();
	k->out.len = k->sent = 0;
	sd_event_source_set_enabled(k->io, SD_EVENT_OFF);
}

static int on_conn(sd_event_source *s, int fd, uint32_t events, void *arg)
{
	struct conn *k = arg;

	(void)s;
	(void)fd;
	if (events & (EPOLLHUP | EPOLLERR)) {
		conn_gone(k);
		return 0;
	}
	if (events & EPOLLOUT) {
		conn_flush(k);
		if (k->state == CONN_ANSWERED && !conn_unsent(k)) {
			conn_close(k);
			return 0;
		}
	}
	if (events & EPOLLIN && k->state == CONN_READING)
		conn_read(k);
	return 0;
}

static int on_idle(sd_event_source *s, uint64_t now, void *arg)
{
	(void)s;
	(void)now;
	conn_close(arg);
	return 0;
}

/* A request that is not even read. Few bytes on a new connection: they are sent without waiting. */
static void refuse(int fd)
{
	static const char line[] = "{\"ok\":false,\"error\":\"meshd has too many requests in hand; try again\","
		"\"kind\":\"failed\",\"code\":1}\n";

	if (send(fd, line, sizeof(line) - 1, MSG_NOSIGNAL | MSG_DONTWAIT) < 0) {
		/* The peer has gone, too. */
	}
	close(fd);
}

static int conn_open(struct control *c, int fd)
{
	sd_event *e = c->d->event;
	struct conn *k = calloc(1, sizeof(*k));
	struct ucred peer;
	socklen_t len = sizeof(peer);

	if (!k)
		return -ENOMEM;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) ||
	    sd_event_add_io(e, &k->io, fd, EPOLLIN, on_conn, k) < 0 ||
	    sd_event_add_time_relative(e, &k->timer, CLOCK_MONOTONIC, IDLE_US, 0, on_idle, k) < 0) {
		sd_event_source_disable_unref(k->io);
		free(k);
		return -EIO;
	}
	k->c = c;
	k->fd = fd;
	k->a.d = c->d;
	k->a.uid = peer.uid;
	k->next = c->conns;
	c->conns = k;
	c->nr++;
	return 0;
}

static int on_accept(sd_event_source *s, int listens, uint32_t events, void *arg)
{
	struct control *c = arg;
	int fd = accept4(listens, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	(void)s;
	(void)events;
	if (fd >= 0 && (c->nr >= REQUESTS_MAX || conn_open(c, fd)))
		refuse(fd);
	return 0;
}

static void conn_turn(struct conn *k)
{
	int ret;

	if (k->state == CONN_WAITING) {
		ret = api_may(&k->a);
		if (ret == -EINPROGRESS)
			return;
		if (ret) {
			conn_answer(k, ret);
			return;
		}
		k->state = CONN_RUNNING;
	}
	ret = k->step(&k->a);
	if (ret != -EINPROGRESS)
		conn_answer(k, ret < 0 ? ret : 0);
	else if (k->a.gone && store_now_ms() - k->gone_ms > UNDO_MS)
		conn_close(k);
}

void control_turn(struct control *c)
{
	struct conn *k, *next;

	for (k = c->conns; k; k = next) {
		next = k->next;
		if (k->state == CONN_WAITING || k->state == CONN_RUNNING)
			conn_turn(k);
	}
}

/* The unit has systemd make it; by hand, and in early boot, it is missing. */
static void make_folder(const char *path)
{
	char folder[128];
	const char *end = strrchr(path, '/');

	snprintf(folder, sizeof(folder), "%.*s", end ? (int)(end - path) : 0, path);
	if (folder[0] && mkdir(folder, 0755) && errno != EEXIST)
		fprintf(stderr, "%s: %s\n", folder, strerror(errno));
}

static int bind_at(int fd, const char *path)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	mode_t mask;
	int err = 0;

	memcpy(a.sun_path, path, strlen(path) + 1);
	make_folder(path);
	/* The state folder's lock says that no other meshd uses it. */
	unlink(path);
	mask = umask(0177);
	if (bind(fd, (void *)&a, sizeof(a)) || listen(fd, 32))
		err = -errno;
	umask(mask);
	return err;
}

int control_open(struct daemon *d, const char *path, struct control **out)
{
	struct control *c;
	int err;

	if (strlen(path) >= sizeof(c->path))
		return -ENAMETOOLONG;
	c = calloc(1, sizeof(*c));
	if (!c)
		return -ENOMEM;
	c->d = d;
	snprintf(c->path, sizeof(c->path), "%s", path);
	c->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	err = c->fd < 0 ? -errno : bind_at(c->fd, path);
	if (!err)
		err = sd_event_add_io(d->event, &c->io, c->fd, EPOLLIN, on_accept, c);
	if (err < 0) {
		control_close(c);
		return err;
	}
	*out = c;
	return 0;
}

void control_close(struct control *c)
{
	if (!c)
		return;
	while (c->conns)
		conn_close(c->conns);
	sd_event_source_disable_unref(c->io);
	if (c->fd >= 0) {
		close(c->fd);
		unlink(c->path);
	}
	free(c);
}
