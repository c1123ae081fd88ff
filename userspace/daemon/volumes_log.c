// SPDX-License-Identifier: GPL-2.0-only
/*
 * Lines of the log for what the kernel reports, once for each change: "host s2 (10.0.0.2) is up",
 * "volume data is active at version 7".
 */
#include <stdio.h>
#include <string.h>

#include "userspace/daemon/volumes_in.h"

void volumes_name(struct volumes *s, const struct muuid *volume, char out[LAYOUT_NAME])
{
	const struct key k = { .kind = KEY_VOLUME, .volume = *volume };
	const struct obj_volume *o = copy_obj(s->c.copy, &k);
	struct obj_attached r;

	snprintf(out, LAYOUT_NAME, "%s", o && o->record ? o->record->name : muuid_str(volume).s);
	if (o || vol_record_get(s, volume, &r))
		return;
	if (r.record)
		snprintf(out, LAYOUT_NAME, "%s", r.record->name);
	obj_free(OBJ_ATTACHED, &r);
}

static void note(struct volumes *s, const char *words)
{
	if (s->c.note)
		s->c.note(s->c.priv, words);
}

/* A host that is away is tried again every few seconds: that counts where it was up. */
static bool is_new(const struct vol_target *t, const struct mesh_event *e, const char *line)
{
	return strcmp(t->said, line) && (strcmp(e->state, MESHBLK_STATE_CONNECTING) ||
					 !strcmp(t->said, MESHBLK_STATE_UP));
}

void log_target(struct volumes *s, const struct mesh_event *e)
{
	struct vol_target *t = reach_id(s, e->id);
	const struct obj_host *h;
	char line[sizeof(t->said)], words[OBJ_WORDS];

	if (!t)
		return;
	snprintf(line, sizeof(line), "%s%s%.120s", e->state, e->reason[0] ? ": " : "", e->reason);
	if (!is_new(t, e, line))
		return;
	snprintf(t->said, sizeof(t->said), "%s", line);
	h = copy_obj(s->c.copy, &(struct key) { .kind = KEY_HOST, .host = t->host });
	snprintf(words, sizeof(words), "host %s (%s) is %s", h ? h->name : muuid_str(&t->host).s, t->addr, line);
	note(s, words);
}

void log_volume(struct volumes *s, struct vol *v, const struct mesh_event *e)
{
	char line[sizeof(v->said)], words[OBJ_WORDS], name[LAYOUT_NAME];

	snprintf(line, sizeof(line), "%s at version %llu", e->state, (unsigned long long)e->version);
	if (!strcmp(v->said, line))
		return;
	snprintf(v->said, sizeof(v->said), "%s", line);
	volumes_name(s, &v->uuid, name);
	snprintf(words, sizeof(words), "volume %s is %s", name, line);
	note(s, words);
}
