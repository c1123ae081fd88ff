// SPDX-License-Identifier: GPL-2.0-only
/* Which verb is which function, and the few that fit here. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "userspace/format/json.h"
#include "userspace/format/verbs.h"
#include "userspace/machine/line.h"
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

#define ANY_TIME	1	/* answered before the roles are up, and on a machine that is not this host's */
#define SAYS_KEY	2	/* with a note what it means to have no key */

static const struct {
	const char *name;
	int (*fn)(struct req *r);
	unsigned int flags;
} commands[] = {
	{ "version", cmd_version, ANY_TIME },
	{ "host identity", cmd_host_identity, ANY_TIME },
	{ "stats", cmd_stats, 0 },
	{ "drive scan", cmd_drive_scan, 0 },
	{ "drive export", cmd_drive_export, SAYS_KEY },
	{ "drive unexport", cmd_drive_unexport, 0 },
	{ "drive list", cmd_drive_list, 0 },
	{ "drive extents", cmd_drive_extents, 0 },
	{ "drive free", cmd_drive_free, 0 },
	{ "drive restore-label", cmd_drive_restore, 0 },
	{ "drive health", cmd_drive_health, 0 },
	{ "host add", cmd_host_add, SAYS_KEY },
	{ "host list", cmd_host_list, 0 },
	{ "host remove", cmd_host_remove, 0 },
	{ "host check", cmd_host_check, 0 },
	{ "host key", cmd_host_key, 0 },
	{ "volume create", cmd_volume_create, 0 },
	{ "volume list", cmd_volume_list, 0 },
	{ "volume show", cmd_volume_show, 0 },
	{ "volume wait", cmd_volume_wait, 0 },
	{ "volume attach", cmd_volume_attach, 0 },
	{ "volume detach", cmd_volume_detach, 0 },
	{ "volume extend", cmd_volume_extend, 0 },
	{ "volume replace", cmd_volume_replace, 0 },
	{ "volume evict", cmd_volume_evict, 0 },
	{ "volume scrub", cmd_volume_scrub, 0 },
	{ "volume rejoin", cmd_volume_rejoin, 0 },
	{ "volume delete", cmd_volume_delete, 0 },
	{ "volume rename", cmd_volume_rename, 0 },
	{ "volume import", cmd_volume_import, 0 },
};

static int run(struct req *r, int (*fn)(struct req *r), unsigned int flags)
{
	int err = flags & ANY_TIME ? 0 : roles_need(r);

	if (!err)
		err = fn(r);
	if (!err && arg_bool(r, "dry_run") && !json_object_get(r->result, "destroys")) {
		if (!r->result)
			r->result = json_object();
		json_object_update_new(r->result, json_pack("{s:b, s:[]}", "dry_run", true, "destroys"));
	}
	if (!err && flags & SAYS_KEY && key_warning())
		req_note(r, "%s", key_warning());
	return err;
}

int command_run(struct req *r, const char *cmd)
{
	const struct verb *v = verb_find(cmd);
	char why[REASON];
	size_t i;

	if (v && !verb_ok(v, r->args, why, sizeof(why)))
		return req_usage(r, "%s: %s", cmd, why);
	for (i = 0; i < sizeof(commands) / sizeof(*commands); i++) {
		if (!strcmp(commands[i].name, cmd)) {
			log_debug("%s", cmd);
			return run(r, commands[i].fn, commands[i].flags);
		}
	}
	return req_usage(r, "this meshd knows no \"%s\"; is it older than meshctl?", cmd);
}
