// SPDX-License-Identifier: GPL-2.0-only
/* On which machine the state folder is at home: the files "host" and "machine". */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <systemd/sd-id128.h>

#include "userspace/daemon/file.h"
#include "userspace/daemon/machine.h"
#include "userspace/format/machine.h"

#define PATH_BYTES	512

struct machine_paths machine_paths = {
	.board = "/sys/class/dmi/id/product_uuid",
	.boot = "/proc/sys/kernel/random/boot_id",
	.infiniband = "/sys/class/infiniband",
	.modules = "/sys/module",
};

static int say(char why[MACHINE_WHY], int err, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

static int say(char why[MACHINE_WHY], int err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, MACHINE_WHY, fmt, ap);
	va_end(ap);
	return err;
}

/* The first line of a file. 0 or a negative errno; -ENODATA: it is empty. */
static int line_of(const char *path, char *out, size_t size)
{
	int n = file_read(path, out, size, false);

	if (n < 0)
		return n;
	out[strcspn(out, "\n")] = 0;
	return out[0] ? 0 : -ENODATA;
}

static int state_line(const char *state, const char *name, char *out, size_t size)
{
	char path[PATH_BYTES];

	snprintf(path, sizeof(path), "%s/%s", state, name);
	return line_of(path, out, size);
}

static int state_write(const char *state, const char *name, const char *text)
{
	char path[PATH_BYTES], line[MACHINE_TEXT + 2];
	int n = snprintf(line, sizeof(line), "%s\n", text);

	snprintf(path, sizeof(path), "%s/%s", state, name);
	return file_replace(path, line, n);
}

struct muuid machine_boot(void)
{
	struct muuid u = { { 0 } };
	char text[64];

	if (!line_of(machine_paths.boot, text, sizeof(text)) && muuid_parse(text, &u))
		memset(&u, 0, sizeof(u));
	return u;
}

/* machine-id(5) forbids to show the ID itself: a hash of it for this program says as much. */
static struct muuid os_uuid(void)
{
	static const sd_id128_t app = SD_ID128_MAKE(4d, 1f, 9c, 0a, 63, 2e, 4b, 77, 9e, 51, d8, 30, c5, 12,
						    aa, 86);
	struct muuid u = { { 0 } };
	sd_id128_t id;

	if (!sd_id128_get_machine_app_specific(app, &id))
		memcpy(u.b, id.bytes, sizeof(u.b));
	return u;
}

static struct machine machine_here(void)
{
	struct machine m = { .os = os_uuid() };
	char text[64];

	if (!line_of(machine_paths.board, text, sizeof(text)))
		m.board = machine_uuid(text);
	return m;
}

static int note(const char *state, const struct machine *m)
{
	char text[MACHINE_TEXT];

	machine_print(m, text);
	return state_write(state, "machine", text);
}

static const char *difference(const struct machine *noted, const struct machine *here)
{
	struct machine os = { .os = here->os }, board = { .board = here->board };
	bool by_os = machine_judge(noted, &os) == MACHINE_OTHER;
	bool by_board = machine_judge(noted, &board) == MACHINE_OTHER;

	return by_os && by_board ? "machine-id and firmware UUID" : by_os ? "machine-id" : "firmware UUID";
}

/* Return: 0; -ENOENT: nothing is noted yet. */
static int read_noted(const char *state, struct machine *m, char why[MACHINE_WHY])
{
	char text[MACHINE_TEXT + 8];
	int err = state_line(state, "machine", text, sizeof(text));

	memset(m, 0, sizeof(*m));
	if (!err)
		err = machine_parse(text, m);
	if (!err || err == -ENOENT)
		return err;
	if (err == -EINVAL || err == -ENODATA || err == -EFBIG)
		return say(why, -EUCLEAN, "%s/machine is damaged: remove it on the machine that the folder belongs to",
			   state);
	return say(why, err, "%s/machine cannot be read: %s", state, strerror(-err));
}

static int random_host(const char *state, struct muuid *host)
{
	if (getrandom(host->b, sizeof(host->b), 0) != sizeof(host->b))
		return -EIO;
	muuid_mark_random(host);
	return state_write(state, "host", muuid_str(host).s);
}

/* @used: the folder belongs to a host already, whose UUID is not made again. */
static int read_host(const char *state, bool used, struct muuid *host, char why[MACHINE_WHY])
{
	char text[MACHINE_TEXT];
	int err = state_line(state, "host", text, sizeof(text));

	if (err == -ENOENT && !used) {
		err = random_host(state, host);
		return err ? say(why, err, "%s/host cannot be written: %s", state, strerror(-err)) : 0;
	}
	if (!err && (muuid_parse(text, host) || muuid_null(host)))
		err = -EUCLEAN;
	if (!err)
		return 0;
	memset(host, 0, sizeof(*host));
	return say(why, err, "%s/host has no host UUID (%s): put the right one back. Without the file in an empty "
		   "folder this is another host to the cluster", state, strerror(-err));
}

int machine_home(const char *state, struct muuid *host, char why[MACHINE_WHY])
{
	struct machine noted, here = machine_here();
	int err = read_noted(state, &noted, why);

	memset(host, 0, sizeof(*host));
	if (err && err != -ENOENT)
		return err;
	err = read_host(state, !err, host, why);
	if (err)
		return err;
	switch (machine_judge(&noted, &here)) {
	case MACHINE_OTHER:
		return say(why, -EXDEV, "%s belongs to another machine: another %s than noted, and two machines that "
			   "are both host %s would both be granted its volumes. If this is that host, on other hardware "
			   "or installed again: 'meshd --identity accept'. If it is a copy: 'meshd --identity new'", state, difference(&noted, &here), muuid_str(host).s);
	case MACHINE_LEARN:
		here = machine_merge(&noted, &here);
		err = note(state, &here);
		return err ? say(why, err, "%s/machine cannot be written: %s", state, strerror(-err)) : 0;
	case MACHINE_SAME:
		break;
	}
	return 0;
}

int machine_accept(const char *state)
{
	struct machine here = machine_here();

	return note(state, &here);
}

/* The machine last: killed in between, the next start is refused as this one was. */
int machine_renew(const char *state, struct muuid *host)
{
	int err = random_host(state, host);

	return err ? err : machine_accept(state);
}
