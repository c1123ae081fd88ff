// SPDX-License-Identifier: GPL-2.0-only
/* For scripts: what meshd answered, as it is (meshctl(8) lists the fields). */
#include "userspace/meshctl/meshctl.h"

void json_show(const json_t *j)
{
	json_dumpf(j, stdout, JSON_INDENT(2) | JSON_PRESERVE_ORDER | JSON_ENSURE_ASCII);
	putchar('\n');
}
