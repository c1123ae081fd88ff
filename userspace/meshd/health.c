// SPDX-License-Identifier: GPL-2.0-only
/* The health of drives: SMART where it is NVMe, and what meshd saw itself. */
#include <libnvme.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/format/json.h"
#include "userspace/meshd/fan.h"
#include "userspace/meshd/serve.h"

static u64 le128_low(const u8 *p)
{
	u64 v;

	memcpy(&v, p, sizeof(v));
	return le64toh(v);
}

static void smart(struct tdrive *d, json_t *j)
{
	struct nvme_smart_log log;

	if (nvme_get_log_smart(d->fd, NVME_NSID_ALL, true, &log)) {
		jset_bool(j, "smart", false);
		return;
	}
	jset_bool(j, "smart", true);
	jset_u64(j, "critical_warning", log.critical_warning);
	json_object_set_new(j, "temperature_c",
			    json_integer((log.temperature[0] | log.temperature[1] << 8) - 273));
	jset_u64(j, "used_percent", log.percent_used);
	jset_u64(j, "spare_percent", log.avail_spare);
	jset_u64(j, "media_errors", le128_low(log.media_errors));
	jset_u64(j, "unsafe_shutdowns", le128_low(log.unsafe_shutdowns));
	jset_u64(j, "power_on_hours", le128_low(log.power_on_hours));
	jset_u64(j, "bytes_written", le128_low(log.data_units_written) * 512000);
}

json_t *health_of(struct tdrive *d)
{
	json_t *j = json_object();
	struct mgmt_drive m;
	bool zeroing;

	tdrive_describe(d, &m);
	jset_uuid(j, "uuid", &m.uuid);
	jset_str(j, "path", m.path);
	jset_str(j, "model", m.model);
	jset_str(j, "serial", m.serial);
	jset_str(j, "state", m.state);
	pthread_mutex_lock(&d->lock);
	zeroing = d->zeroing;
	jset_str(j, "volatile_cache", d->cache_off ? "off" : "unknown");
	pthread_mutex_unlock(&d->lock);
	jset_bool(j, "zeroing", zeroing);
	smart(d, j);
	return j;
}

static void *health_work(void *item)
{
	json_t *j;

	if (!tdrive_read_begin(item))
		return NULL;
	j = health_of(item);
	tdrive_read_end(item);
	return j;
}

static void health_drop(void *item)
{
	tdrive_put(item);
}

static void health_discard(void *result)
{
	json_decref(result);
}

/* A drive that does not answer is listed, too: that is its state. */
static json_t *health_silent(struct tdrive *d)
{
	json_t *j = json_object();

	jset_uuid(j, "uuid", &d->uuid);
	jset_str(j, "path", d->path);
	jset_str(j, "model", d->id.model);
	jset_str(j, "serial", d->id.serial);
	jset_str(j, "state", "silent");
	json_object_update_new(j, json_pack("{s:n, s:n, s:b}", "zeroing", "volatile_cache", "smart", false));
	return j;
}

void health_drives(struct serve_req *s)
{
	static const struct fan f = { health_work, health_drop, health_discard, NULL };
	const struct mgmt_req *r = serve_mgmt(s);
	struct tdrive **all __free(free) = NULL;
	void **result __free(free) = NULL;
	json_t *list = json_array();
	size_t i, n, kept = 0;

	all = tdrives_all(&n);
	for (i = 0; all && i < n; i++) {
		if (muuid_null(&r->drive) || muuid_equal(&r->drive, &all[i]->uuid))
			all[kept++] = all[i];
		else
			tdrive_put(all[i]);
	}
	result = calloc(kept + 1, sizeof(*result));
	for (i = 0; result && i < kept; i++)
		tdrive_get(all[i]);	/* the threads' */
	if (result)
		fan_run(&f, (void **)all, kept, SERVE_MS, result);
	for (i = 0; i < kept; i++) {
		json_array_append_new(list, result && result[i] ? result[i] : health_silent(all[i]));
		tdrive_put(all[i]);
	}
	serve_reply(s, 0, NULL, json_pack("{s:o}", "drives", list));
}
