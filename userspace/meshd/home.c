// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <systemd/sd-id128.h>

#include "userspace/format/json.h"
#include "userspace/format/machine.h"
#include "userspace/machine/guard.h"
#include "userspace/machine/line.h"
#include "userspace/meshd/home.h"
#include "userspace/meshd/identity.h"
#include "userspace/meshd/roles.h"

#define BOARD_UUID	"/sys/class/dmi/id/product_uuid"

static struct machine noted, here;
static bool refused;
/* One answer to it at a time. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* machine-id(5) forbids showing the ID itself: what is derived from it for meshd says as much. */
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

	if (!read_line(text, sizeof(text), BOARD_UUID))
		m.board = machine_uuid(text);
	return m;
}

static int note(const struct machine *m)
{
	char text[MACHINE_TEXT];
	int err;

	machine_print(m, text);
	err = state_write("machine", text);
	if (!err)
		noted = *m;
	return err;
}

/* "machine-id", "firmware UUID", or both: what differs. */
static const char *difference(void)
{
	struct machine os = { .os = here.os }, board = { .board = here.board };
	bool by_os = machine_judge(&noted, &os) == MACHINE_OTHER;
	bool by_board = machine_judge(&noted, &board) == MACHINE_OTHER;

	return by_os && by_board ? "machine-id and firmware UUID" :
	       by_os ? "machine-id" : by_board ? "firmware UUID" : "nothing";
}

static void say_refused(void)
{
	log_error("%s belongs to another machine: another %s than noted. No drive is exported and no "
		  "volume attached, since two machines that are both host %s would both be granted "
		  "its volumes", D.state, difference(), muuid_str(&D.host).s);
	log_error("is this that host, on new hardware or installed again? 'meshctl host identity "
		  "accept'. Is it a copy of it? 'meshctl host identity new'");
}

int home_load(void)
{
	char line[MACHINE_TEXT + 8];
	struct machine m;
	int err = read_line(line, sizeof(line), "%s/machine", D.state);

	here = machine_here();
	memset(&noted, 0, sizeof(noted));
	if (!err)
		err = machine_parse(line, &noted);
	if (err == -EINVAL || err == -ENODATA)
		log_error("%s/machine is damaged: remove it on the machine whose folder this is", D.state);
	else if (err && err != -ENOENT)
		log_error("%s/machine cannot be read: %s", D.state, strerror(-err));
	if (err && err != -ENOENT)
		return err;
	switch (machine_judge(&noted, &here)) {
	case MACHINE_OTHER:
		refused = true;
		say_refused();
		return 0;
	case MACHINE_LEARN:
		m = machine_merge(&noted, &here);
		err = note(&m);
		/* It is no other machine, and can be noted at the next start. */
		if (err)
			log_warn("%s/machine: %s", D.state, strerror(-err));
		break;
	case MACHINE_SAME:
		break;
	}
	return 0;
}

bool home_refused(void)
{
	return __atomic_load_n(&refused, __ATOMIC_RELAXED);
}

static void words(const struct machine *m, char out[HOME_WORDS])
{
	char os[MUUID_TEXT], board[MUUID_TEXT];

	muuid_text(&m->os, os);
	muuid_text(&m->board, board);
	snprintf(out, HOME_WORDS, "machine-id hash %.8s, firmware UUID %.8s", muuid_null(&m->os) ? "unknown" : os,
		 muuid_null(&m->board) ? "unknown" : board);
}

void home_words(char out[HOME_WORDS])
{
	words(&here, out);
}

static int accept_machine(struct req *r)
{
	int err = note(&here);

	if (err)
		return req_fail(r, "%s/machine cannot be written: %s", D.state, strerror(-err));
	log_warn("this machine is accepted as the host that it was");
	return 0;
}

/* What this host wanted is the other one's: it is kept aside, for the administrator. */
static int put_store_aside(void)
{
	static const char *const names[] = { "store.db-wal", "store.db-shm", "store.db" };
	char from[256], to[272];

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		snprintf(from, sizeof(from), "%s/%s", D.state, names[i]);
		snprintf(to, sizeof(to), "%s/copied-%s", D.state, names[i]);
		if (rename(from, to) && errno != ENOENT)
			return -errno;
	}
	return 0;
}

/*
 * The store first, the machine last: killed between any two, the next start is
 * refused as this one was, and the command is repeated.
 */
static int another_host(struct req *r)
{
	int err;

	if (roles_in_use())
		return req_fail(r, "drives or volumes of this host are in use in the kernel, so it is no "
				"copy: meshctl host identity accept");
	err = put_store_aside();
	if (!err)
		err = identity_renew();
	if (!err)
		err = note(&here);
	if (err)
		return req_fail(r, "%s cannot be written: %s", D.state, strerror(-err));
	req_note(r, "this host has a new UUID; it knows no hosts and volumes yet, and does not take up "
		 "drives of the one it was copied from");
	return 0;
}

static json_t *describe(void)
{
	json_t *j = json_object();
	char text[HOME_WORDS];

	jset_uuid(j, "host_uuid", &D.host);
	words(&here, text);
	jset_str(j, "machine", text);
	words(&noted, text);
	jset_str(j, "noted", text);
	jset_bool(j, "ok", !refused);
	jset_str(j, "state", refused ? "another machine" : "at home");
	if (refused)
		jset_str(j, "differs", difference());
	return j;
}

static int settle(struct req *r, const char *action)
{
	int err;

	if (!refused && !strcmp(action, "new"))
		return req_fail(r, "this machine is the one that is noted; for another host UUID stop meshd "
				"and empty %s", D.state);
	if (!refused)
		return 0;
	err = strcmp(action, "new") ? accept_machine(r) : another_host(r);
	if (err)
		return err;
	err = roles_start();
	if (err)
		return req_fail(r, "the roles do not start: see meshd's log");
	__atomic_store_n(&refused, false, __ATOMIC_RELAXED);
	return 0;
}

int cmd_host_identity(struct req *r)
{
	const char *action = arg_str(r, "action");
	int err = 0;

	guard(&lock);
	if (strcmp(action, "show"))
		err = settle(r, action);
	if (!err)
		r->result = describe();
	return err;
}
