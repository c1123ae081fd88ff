// SPDX-License-Identifier: GPL-2.0-only
/* The control socket. Each request runs on its own thread: many take long. */
#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "userspace/format/json.h"
#include "userspace/meshd/control.h"

#define LINE_MAX_BYTES	(1U << 20)
#define REQUESTS_MAX	64

static unsigned int running;

static int set_error(struct req *r, int status, const char *fmt, va_list ap)
{
	vsnprintf(r->error, sizeof(r->error), fmt, ap);
	r->status = status;
	return -1;
}

int req_fail(struct req *r, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	set_error(r, 1, fmt, ap);
	va_end(ap);
	return -1;
}

int req_usage(struct req *r, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	set_error(r, 2, fmt, ap);
	va_end(ap);
	return -1;
}

/* The peer may have gone: what does not check req_cancelled() goes on. */
static void send_line(int fd, json_t *j)
{
	char *text = json_dumps(j, JSON_COMPACT);
	size_t n = text && fd >= 0 ? strlen(text) : 0, at = 0;
	ssize_t k;

	if (n)
		text[n++] = '\n';	/* in place of the end */
	while (at < n) {
		k = send(fd, text + at, n - at, MSG_NOSIGNAL);
		if (k < 0 && errno == EINTR)
			continue;
		if (k <= 0)
			break;
		at += k;
	}
	free(text);
	json_decref(j);
}

void req_note(struct req *r, const char *fmt, ...)
{
	char text[480];
	json_t *j = json_object();
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	jset_str(j, "note", text);
	send_line(r->fd, j);
}

void req_progress(struct req *r, const char *what, u64 done, u64 total)
{
	send_line(r->fd, json_pack("{s:{s:s, s:I, s:I}}", "progress", "what", what, "done",
				   (json_int_t)done, "total", (json_int_t)total));
}

/*
 * Only a connection closed both ways counts: a client that has shut
 * down only its sending side still waits for the answer.
 */
bool req_cancelled(const struct req *r)
{
	struct pollfd p = { .fd = r->fd };

	return poll(&p, 1, 0) == 1 && p.revents & (POLLHUP | POLLERR);
}

static json_t *dry_add(struct req *r, const char *key, const char *what, const char *name)
{
	json_t *j = json_object(), *list;

	if (!r->result)
		r->result = json_object();
	jset_bool(r->result, "dry_run", true);
	list = json_object_get(r->result, key);
	if (!list) {
		list = json_array();
		json_object_set_new(r->result, key, list);
	}
	jset_str(j, "what", what);
	jset_str(j, "name", name);
	json_array_append_new(list, j);
	return j;
}

json_t *req_destroys(struct req *r, const char *what, const char *name)
{
	return dry_add(r, "destroys", what, name);
}

json_t *req_unreachable(struct req *r, const char *what, const char *name)
{
	return dry_add(r, "unreachable", what, name);
}

const char *arg_str(const struct req *r, const char *key)
{
	const char *s = json_string_value(json_object_get(r->args, key));

	return s ? s : "";
}

bool arg_bool(const struct req *r, const char *key)
{
	return json_is_true(json_object_get(r->args, key));
}

u64 arg_num(const struct req *r, const char *key)
{
	u64 n;

	return jget_u64(r->args, key, &n) ? 0 : n;
}

static void answer(struct req *r)
{
	json_t *j = json_pack("{s:b}", "ok", !r->error[0]);

	if (r->error[0]) {
		jset_str(j, "error", r->error);
		jset_u64(j, "code", r->status);
	} else {
		json_object_set(j, "result", r->result ? r->result : json_null());
		if (r->status)
			jset_u64(j, "code", r->status);
	}
	send_line(r->fd, j);
}

static json_t *read_request(int fd)
{
	size_t room = 4096, n = 0;
	char *buf = malloc(room), *grown;
	json_t *j = NULL;
	ssize_t k;

	while (buf) {
		k = recv(fd, buf + n, room - n, 0);
		if (k < 0 && errno == EINTR)
			continue;
		if (k <= 0)
			break;
		n += k;
		if (memchr(buf + n - k, '\n', k)) {
			j = json_loadb(buf, n, JSON_REJECT_DUPLICATES, NULL);
			break;
		}
		if (n == room) {
			grown = room < LINE_MAX_BYTES ? realloc(buf, room *= 2) : NULL;
			if (!grown)
				break;
			buf = grown;
		}
	}
	free(buf);
	return j;
}

static void *request_thread(void *arg)
{
	struct req *r = arg;
	json_t *j = read_request(r->fd);
	const char *verb = json_string_value(json_object_get(j, "verb"));

	r->args = json_object_get(j, "args");
	if (verb)
		command_run(r, verb);
	else
		req_usage(r, "this is no request");
	answer(r);
	json_decref(r->result);
	json_decref(j);
	close(r->fd);
	free(r);
	__atomic_sub_fetch(&running, 1, __ATOMIC_RELAXED);
	return NULL;
}

/* The unit has systemd make it; by hand, and in early boot, it is missing. */
static void make_folder(const char *path)
{
	char folder[128];
	const char *end = strrchr(path, '/');

	snprintf(folder, sizeof(folder), "%.*s", end ? (int)(end - path) : 0, path);
	if (folder[0] && mkdir(folder, 0755) && errno != EEXIST)
		log_debug("%s: %s", folder, strerror(errno));
}

int control_listen(const char *path)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd;

	if (strlen(path) >= sizeof(a.sun_path))
		return -ENAMETOOLONG;
	strcpy(a.sun_path, path);
	make_folder(path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	/* The state folder's lock says that no other meshd uses it. */
	unlink(path);
	umask(0177);
	if (bind(fd, (void *)&a, sizeof(a)) || listen(fd, 32)) {
		int err = -errno;

		close(fd);
		return err;
	}
	umask(0077);
	return fd;
}

/* A request that is not even read. Few bytes on a new connection: they are sent without waiting. */
static void refuse(int fd, const char *why)
{
	struct req r = { .fd = fd };

	req_fail(&r, "%s", why);
	answer(&r);
	close(fd);
}

void control_accept(int fd)
{
	struct timeval limit = { .tv_sec = 30 };
	struct req *r;
	int c = accept4(fd, NULL, NULL, SOCK_CLOEXEC);

	if (c < 0)
		return;
	/* A client that stops reading or writing holds one thread, not for long. */
	setsockopt(c, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	setsockopt(c, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	if (__atomic_add_fetch(&running, 1, __ATOMIC_RELAXED) > REQUESTS_MAX) {
		__atomic_sub_fetch(&running, 1, __ATOMIC_RELAXED);
		refuse(c, "meshd has too many requests in hand; try again");
		return;
	}
	r = calloc(1, sizeof(*r));
	if (r)
		r->fd = c;
	if (!r || thread_start(request_thread, r)) {
		__atomic_sub_fetch(&running, 1, __ATOMIC_RELAXED);
		refuse(c, "meshd cannot start another thread; try again");
		free(r);
	}
}
