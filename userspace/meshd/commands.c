// SPDX-License-Identifier: GPL-2.0-only
/* Which verb is which function, and the few that fit here. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "userspace/format/json.h"
#include "userspace/meshd/control.h"
#include "userspace/meshd/home.h"
#include "userspace/meshd/identity.h"
#include "userspace/meshd/export.h"
#include "userspace/meshd/roles.h"
#include "userspace/meshd/volume.h"

static void module_state(json_t *j, const char *name)
{
	char path[64], text[96];

	snprintf(path, sizeof(path), "/sys/module/%s", name);
	if (access(path, F_OK)) {
		jset_str(j, name, "not loaded");
		return;
	}
	if (read_line(text, sizeof(text), "/sys/module/%s/srcversion", name))
		strcpy(text, "?");
	jset_str(j, name, text[0] == '?' ? "loaded" : text);
}

static int cmd_version(struct req *r)
{
	json_t *modules = json_object();

	r->result = json_object();
	jset_str(r->result, "version", MESHD_VERSION);
	jset_uuid(r->result, "host_uuid", &D.host);
	jset_str(r->result, "hostname", D.hostname);
	jset_u64(r->result, "key_id", key_id());
	jset_bool(r->result, "insecure", D.insecure && !key_id());
	jset_str(r->result, "identity", home_refused() ? "another machine" : "at home");
	module_state(modules, "meshblk");
	module_state(modules, "meshtgt");
	json_object_set_new(r->result, "modules", modules);
	return 0;
}

/* Answered before the roles are up, and on a machine that is not this host's. */
static const char *const any_time[] = { "version", "host identity", NULL };
/* Their result notes what it means to have no key. */
static const char *const says_key[] = { "drive export", "host add", NULL };

static const struct {
	const char *name;
	int (*fn)(struct req *r);
} commands[] = {
	{ "version", cmd_version },
	{ "host identity", cmd_host_identity },
	{ "stats", cmd_stats },
	{ "drive scan", cmd_drive_scan },
	{ "drive export", cmd_drive_export },
	{ "drive unexport", cmd_drive_unexport },
	{ "drive list", cmd_drive_list },
	{ "drive extents", cmd_drive_extents },
	{ "drive free", cmd_drive_free },
	{ "drive restore-label", cmd_drive_restore },
	{ "drive health", cmd_drive_health },
	{ "host add", cmd_host_add },
	{ "host list", cmd_host_list },
	{ "host remove", cmd_host_remove },
	{ "host check", cmd_host_check },
	{ "host key", cmd_host_key },
	{ "volume create", cmd_volume_create },
	{ "volume list", cmd_volume_list },
	{ "volume show", cmd_volume_show },
	{ "volume attach", cmd_volume_attach },
	{ "volume detach", cmd_volume_detach },
	{ "volume extend", cmd_volume_extend },
	{ "volume delete", cmd_volume_delete },
	{ "volume rename", cmd_volume_rename },
	{ "volume import", cmd_volume_import },
};

static bool among(const char *const *list, const char *name)
{
	while (*list && strcmp(*list, name))
		list++;
	return *list;
}

static int run(struct req *r, const char *name, int (*fn)(struct req *r))
{
	int err = among(any_time, name) ? 0 : roles_need(r);

	if (!err)
		err = fn(r);
	if (!err && arg_bool(r, "dry_run") && !json_object_get(r->result, "destroys")) {
		if (!r->result)
			r->result = json_object();
		jset_bool(r->result, "dry_run", true);
		json_object_set_new(r->result, "destroys", json_array());
	}
	if (!err && among(says_key, name) && key_warning())
		req_note(r, "%s", key_warning());
	return err;
}

int command_run(struct req *r, const char *cmd)
{
	size_t i;

	for (i = 0; i < sizeof(commands) / sizeof(*commands); i++) {
		if (!strcmp(commands[i].name, cmd)) {
			log_debug("%s", cmd);
			return run(r, cmd, commands[i].fn);
		}
	}
	return req_usage(r, "this meshd knows no \"%s\"; is it older than meshctl?", cmd);
}
