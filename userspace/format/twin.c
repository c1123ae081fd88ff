// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>

#include "userspace/format/twin.h"

enum twin_match twin_match(const struct twin_id *noted, const struct twin_id *is)
{
	/* A world-wide id is made to be unique; serial numbers are not always. */
	if (noted->wwid[0] && is->wwid[0])
		return strcmp(noted->wwid, is->wwid) ? TWIN_DIFFERS : TWIN_SAME;
	if (noted->serial[0] && is->serial[0])
		return strcmp(noted->serial, is->serial) || strcmp(noted->model, is->model) ?
		       TWIN_DIFFERS : TWIN_SAME;
	return TWIN_UNKNOWN;
}

int twin_pick(const struct twin *t, size_t n, const struct twin_id *noted)
{
	int same = -1, served = -1, sames = 0, serveds = 0;
	size_t i;

	for (i = 0; i < n; i++) {
		if (t[i].served) {
			served = i;
			serveds++;
		}
		if (noted && twin_match(noted, &t[i].id) == TWIN_SAME) {
			same = i;
			sames++;
		}
	}
	if (serveds)
		return serveds == 1 ? served : -1;
	if (sames)
		return sames == 1 ? same : -1;
	return n == 1 && (!noted || twin_match(noted, &t[0].id) == TWIN_UNKNOWN) ? 0 : -1;
}

void twin_hosts_add(struct twin_hosts *t, u32 host, bool owner)
{
	if (!t->hosts++) {
		t->host = host;
	} else if (owner && !t->owners) {
		t->other = t->host;
		t->host = host;
	} else {
		t->other = host;
	}
	t->owners += owner;
}

bool twin_hosts_doubt(const struct twin_hosts *t)
{
	return t->hosts > 1 && t->owners != 1;
}
