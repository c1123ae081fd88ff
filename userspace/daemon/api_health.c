// SPDX-License-Identifier: GPL-2.0-only
/* The health of drives, of all hosts: what each has reported of its own in device/H. */
#include <stdio.h>

#include "userspace/daemon/api_in.h"
#include "userspace/format/json.h"

#define WORN_PERCENT	90

/* The drive's own warnings go before its age; in the order of what they mean for data. */
bool api_smart_worn(const struct obj_smart *s, char words[API_WORN])
{
	static const struct {
		u8 bit;
		const char *words;
	} warnings[] = {
		{ 1 << 3, "its media is read-only" },
		{ 1 << 2, "it is unreliable by its own account" },
		{ 1 << 0, "its spare blocks are nearly used up" },
		{ 1 << 4, "the backup of its volatile memory has failed" },
		{ 1 << 5, "its persistent memory is unreliable" },
		{ 1 << 1, "its temperature is out of range" },
	};

	for (size_t i = 0; i < sizeof(warnings) / sizeof(*warnings); i++) {
		if (!(s->warning & warnings[i].bit))
			continue;
		snprintf(words, API_WORN, "%s", warnings[i].words);
		return true;
	}
	if (s->used < WORN_PERCENT)
		return false;
	snprintf(words, API_WORN, "%u %% of its rated endurance is used", s->used);
	return true;
}

static json_t *health_json(const struct api *a, const struct obj_drive *d)
{
	const struct obj_disk *disk = api_drive_disk(a, d);
	const char *away = api_drive_away(a, d);
	json_t *j = json_object();
	char worn[API_WORN];

	jset_uuid(j, "uuid", &d->plan.uuid);
	jset_str(j, "host", api_host_name(a, &d->plan.host).s);
	jset_str(j, "path", d->path);
	jset_str(j, "model", d->model);
	jset_str(j, "serial", d->serial);
	jset_bool(j, "smart", disk && disk->smart.known);
	if (disk && disk->smart.known) {
		jset_u64(j, "critical_warning", disk->smart.warning);
		jset_u64(j, "temperature_c", disk->smart.temperature);
		jset_u64(j, "used_percent", disk->smart.used);
		jset_u64(j, "spare_percent", disk->smart.spare);
		jset_u64(j, "media_errors", disk->smart.media_errors);
	}
	jset_str(j, "state", away ? "away" : disk && api_smart_worn(&disk->smart, worn) ? "worn" : "good");
	if (away)
		jset_str(j, "reason", away);
	else if (disk && api_smart_worn(&disk->smart, worn))
		jset_str(j, "reason", worn);
	return j;
}

int api_drive_health(struct api *a)
{
	const struct key all = { .kind = KEY_DRIVE };
	const struct copy_item *i = NULL;
	const struct obj_drive *one = NULL;
	json_t *list;
	int err = api_text(a, "drive") ? api_drive(a, api_text(a, "drive"), &one) : 0;

	if (err)
		return err;
	list = json_array();
	while ((i = copy_next(a->d->copy, &all, 0, i))) {
		const struct obj_drive *d = i->obj;

		if (d && (d == one || (!one && d->plan.wanted != PLAN_FORGOTTEN)))
			json_array_append_new(list, health_json(a, d));
	}
	a->result = json_pack("{s:o}", "drives", list);
	return 0;
}
