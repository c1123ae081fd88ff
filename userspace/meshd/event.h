/* SPDX-License-Identifier: GPL-2.0-only */
/* What an administrator wants to know when it happens: a line, and of volumes the hook. */
#ifndef MESHD_EVENT_H
#define MESHD_EVENT_H

#include "userspace/format/layout.h"
#include "userspace/libmesh/mesh.h"
#include "userspace/meshd/meshd.h"

#define EVENT_TEXT	480

enum event_kind {
	EVENT_DEGRADED,		/* a member more is out */
	EVENT_DOWN,		/* too many are */
	EVENT_SPARE,		/* one was replaced without a command */
	EVENT_REBUILDING,
	EVENT_HEALED,
	EVENT_MISMATCHES,	/* a scrub ended and had found some */
};

struct event {
	enum event_kind kind;
	struct muuid uuid;		/* of the volume */
	char	volume[LAYOUT_NAME];
	char	member[12];		/* its number; "": it is of none */
	struct muuid drive;		/* its drive; zero: likewise */
	char	text[EVENT_TEXT];	/* a sentence, human-readable */
};

/* hook.c: into the log, and to the hook in its turn. Does not wait. */
void event_report(const struct event *e);
/* changes.c: keep what the kernel reports for changes_log(). Does not wait. */
void changes_note(const struct mesh_event *e);
/* Log what was noted, but for what was logged last. By one thread alone; reads the store. */
void changes_log(void);
/* Why @path must not be run, in words; NULL: it may be. */
const char *hook_wrong(const char *path);

#endif
