// SPDX-License-Identifier: GPL-2.0-only
/* The backend for scripts: what meshd answered, as it is (meshctl(8) lists the fields). */
#include "userspace/meshctl/meshctl.h"

void json_show(const json_t *j)
{
	json_dumpf(j, stdout, JSON_INDENT(2) | JSON_PRESERVE_ORDER | JSON_ENSURE_ASCII);
	putchar('\n');
}

const struct print_ops print_json = {
	.version = json_show,
	.scan = json_show,
	.drives = json_show,
	.health = json_show,
	.hosts = json_show,
	.checks = json_show,
	.key = json_show,
	.volumes = json_show,
	.volume = json_show,
	.device = json_show,
	.stats = json_show,
	.done = json_show,
	.extents = json_show,
	.candidates = json_show,
	.identity = json_show,
	.dry_run = json_show,
};
