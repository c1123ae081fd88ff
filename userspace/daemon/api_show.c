// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>

#include "userspace/daemon/api_in.h"

int api_volume_list(struct api *a)
{
	const struct key all = { .kind = KEY_VOLUME };
	const struct copy_item *i = NULL;
	bool degraded = api_flag(a, "degraded");
	json_t *list = json_array();
	u32 lacks;

	while ((i = copy_next(a->d->copy, &all, 0, i))) {
		const struct obj_volume *v = i->obj;

		if (v && (!degraded || api_volume_health(a, v, &lacks) != API_WHOLE))
			json_array_append_new(list, api_volume_json(a, v));
	}
	a->code = degraded && json_array_size(list);
	a->result = json_pack("{s:o, s:b}", "volumes", list, "degraded_alone", degraded);
	return 0;
}

int api_volume_show(struct api *a)
{
	const struct obj_volume *v;
	int err = api_volume(a, api_text(a, "volume"), &v);

	if (!err)
		a->result = api_volume_whole(a, v);
	return err;
}

int api_stats(struct api *a)
{
	a->result = volumes_stats();
	return a->result ? 0 : api_fail(a, -EIO, "failed", "netlink does not work");
}
