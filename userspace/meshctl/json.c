// SPDX-License-Identifier: GPL-2.0-only
/* The backend for scripts: what meshd answered, as it is (meshctl(8) lists the fields). */
#include "userspace/meshctl/meshctl.h"

static void dump(const json_t *result)
{
	json_dumpf(result, stdout, JSON_INDENT(2) | JSON_PRESERVE_ORDER);
	putchar('\n');
}

const struct print_ops print_json = {
	.version = dump,
	.scan = dump,
	.drives = dump,
	.health = dump,
	.hosts = dump,
	.checks = dump,
	.key = dump,
	.volumes = dump,
	.volume = dump,
	.device = dump,
	.stats = dump,
	.done = dump,
};
