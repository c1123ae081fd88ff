// SPDX-License-Identifier: GPL-2.0-only
/* meshd's control socket: one JSON object a line, both ways. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "userspace/meshctl/meshctl.h"

static int connect_to(const char *path)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	int fd;

	if (strlen(path) >= sizeof(sa.sun_path)) {
		complain(EXIT_FAILED, "socket path %s is too long", path);
		return -1;
	}
	strcpy(sa.sun_path, path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd >= 0 && connect(fd, (struct sockaddr *)&sa, sizeof(sa)) == 0)
		return fd;
	if (errno == EACCES || errno == EPERM)
		complain(EXIT_FAILED, "only root may talk to meshd: use sudo");
	else
		complain(EXIT_FAILED, "meshd does not answer at %s (%s): "
			 "start it with 'systemctl start meshd'", path, strerror(errno));
	if (fd >= 0)
		close(fd);
	return -1;
}

/* Says what went wrong, in one line, with what to do about it. */
static int failed(const json_t *answer)
{
	const char *error = json_string_value(json_object_get(answer, "error"));
	const char *hint = json_string_value(json_object_get(answer, "hint"));
	const json_t *code = json_object_get(answer, "code");
	json_t *kind = json_object_get(answer, "kind");

	if (kind && !json_more)
		json_more = json_object();
	if (kind)
		json_object_set(json_more, "kind", kind);
	return complain(json_integer_value(code) == EXIT_USAGE ? EXIT_USAGE : EXIT_FAILED, "%s%s%s",
			error ? error : "meshd gave no reason", hint && *hint ? ": " : "",
			hint ? hint : "");
}

/* Take one line; returns -1 while more are to come. */
static int take(const char *line, json_t **result)
{
	json_t *answer = json_loads(line, 0, NULL), *progress, *note;
	int status = -1;

	if (!json_is_object(answer)) {
		json_decref(answer);
		return complain(EXIT_FAILED, "meshd sent what is no answer: is it of this version?");
	}
	progress = json_object_get(answer, "progress");
	note = json_object_get(answer, "note");
	if (progress) {
		progress_show(progress);
	} else if (note) {
		progress_end();
		note_show(json_string_value(note));
	} else {
		progress_end();
		if (json_is_true(json_object_get(answer, "ok"))) {
			/* A command without a result answers null: make it an object. */
			*result = json_incref(json_object_get(answer, "result"));
			if (!json_is_object(*result))
				*result = json_object();
			/* "host check" has a result even when it finds faults. */
			status = json_integer_value(json_object_get(answer, "code")) ?
				 EXIT_FOUND : EXIT_DONE;
		} else {
			status = failed(answer);
		}
	}
	json_decref(answer);
	return status;
}

static bool send_request(int fd, const json_t *request)
{
	char *text = json_dumps(request, JSON_COMPACT);
	size_t n = text ? strlen(text) : 0, at = 0;
	ssize_t k;

	if (text)
		text[n++] = '\n';	/* in place of the end */
	while (at < n) {
		k = send(fd, text + at, n - at, MSG_NOSIGNAL);
		if (k > 0)
			at += k;
		else if (errno != EINTR)
			break;
	}
	free(text);
	return n && at == n;
}

int control_call(const char *socket_path, const json_t *request, json_t **result)
{
	int fd = connect_to(socket_path), status = -1;
	char *line = NULL;
	size_t room = 0;
	bool sent;
	FILE *f;

	if (fd < 0)
		return EXIT_FAILED;
	f = fdopen(fd, "r");
	if (!f) {
		close(fd);
		return EXIT_FAILED;
	}
	/* It may have refused the request without reading it: it says why. */
	sent = send_request(fd, request);
	while (status < 0 && getline(&line, &room, f) > 0)
		status = take(line, result);
	if (status < 0) {
		progress_end();
		status = complain(EXIT_FAILED, "%s",
				  sent ? "meshd went away before it was done: see "
					 "'journalctl -u meshd', then try again" :
					 "meshd hung up: see its log");
	}
	free(line);
	fclose(f);
	return status;
}
