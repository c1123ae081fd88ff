// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>

#include "userspace/daemon/daemon.h"
#include "userspace/daemon/hook.h"
#include "userspace/daemon/log.h"
#include "userspace/daemon/report.h"

static void to_hook(struct daemon *d, const struct obj_event *e)
{
	const json_t *member = json_object_get(e->details, "member");
	struct hook_event h = { .uuid = e->volume, .drive = e->drive };

	snprintf(h.what, sizeof(h.what), "%s", e->what);
	snprintf(h.words, sizeof(h.words), "%s", e->words);
	volumes_name(d->volumes, &e->volume, h.volume);
	if (json_is_integer(member))
		snprintf(h.member, sizeof(h.member), "%u", (u32)json_integer_value(member));
	hook_add(d->hook, &h);
}

void report_event(void *daemon, const struct obj_event *e, u32 how)
{
	struct daemon *d = daemon;

	if (how & REPORT_WARN)
		log_warn("%s", e->words);
	else
		log_info("%s", e->words);
	if (!(how & REPORT_STORED))
		events_add(&d->events, e);
	if (d->hook && !(how & REPORT_QUIET))
		to_hook(d, e);
}
