// SPDX-License-Identifier: GPL-2.0-only
/* Volumes from what the drives themselves tell. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/meshd/volume.h"

int import_newest(const struct layout *l, struct layout *newest, char *why)
{
	struct layout *one = malloc(sizeof(*one));
	struct store_host h, seen = { 0 };
	int err, failed = one ? 0 : -ENOMEM;
	u32 i;

	newest->version = 0;
	for (i = 0; one && i < l->members; i++) {
		err = peer_of_member(&l->member[i], &h);
		if (err) {
			snprintf(why, REASON, "a member's host (%s) is not known", l->member[i].addr);
			failed = err;
			continue;
		}
		if (h.id == seen.id)
			continue;	/* members mostly come host by host */
		seen = h;
		err = peer_record(&h, &l->volume, one, why);
		/* Made, but died before any record was written: the store has it. */
		if (err == -ENOENT && l->version == 1)
			continue;
		if (!err && one->version > newest->version)
			memcpy(newest, one, sizeof(*newest));
		failed = err ? err : failed;
	}
	free(one);
	return failed;
}

/* Ask everybody which volumes there are and keep the one that is meant. */
static int find(struct req *r, const char *what, struct mgmt_volume *out, struct store_host *host)
{
	struct mgmt_req q = { .op = MGMT_VOLUMES };
	struct store_host *hosts;
	struct mgmt_volume v;
	char why[REASON], text[MUUID_TEXT];
	size_t i, k, n, hits = 0;
	json_t *data, *j;

	store_hosts(&hosts, &n);
	for (i = 0; i < n; i++) {
		if (peer_call(&hosts[i], &q, &data, why)) {
			req_note(r, "%s; not asked", why);
			continue;
		}
		json_array_foreach(json_object_get(data, "volumes"), k, j) {
			if (mgmt_volume_unpack(j, &v))
				continue;
			muuid_text(&v.uuid, text);
			if (strcmp(v.name, what) && strcasecmp(text, what))
				continue;
			if (hits && !muuid_equal(&v.uuid, &out->uuid)) {
				hits = 99;
				continue;
			}
			if (!hits || v.version > out->version) {
				*out = v;
				*host = hosts[i];
			}
			hits = hits ? hits : 1;
		}
		json_decref(data);
	}
	free(hosts);
	if (!n)
		return req_fail(r, "no volume %s here, and no host is known to look for it; see "
				"meshctl host add", what);
	if (!hits)
		return req_fail(r, "no volume %s here or on the drives of the known hosts", what);
	if (hits == 99)
		return req_fail(r, "several volumes are called %s; name it by its UUID", what);
	return 0;
}

static int import_record(struct req *r, const struct mgmt_volume *found, const struct store_host *host,
			 struct layout *l, struct layout *best)
{
	char why[REASON];
	int err = peer_record(host, &found->uuid, l, why);

	if (err)
		return req_fail(r, "%s", why);
	err = import_newest(l, best, why);
	if (err && !arg_bool(r, "force"))
		return req_fail(r, "volume %s is only half there: %s; bring it back, or add --force",
				found->name, why);
	if (best->version > l->version)
		memcpy(l, best, sizeof(*l));
	return 0;
}

int import_volume(struct req *r, const char *what, struct store_volume *v)
{
	struct layout *l = calloc(1, sizeof(*l)), *best = calloc(1, sizeof(*best));
	struct mgmt_volume found = { 0 };
	struct store_host host;
	char device[48];
	int err = l && best ? find(r, what, &found, &host) : -ENOMEM;

	if (!err)
		err = import_record(r, &found, &host, l, best);
	if (!err) {
		kernel_device(&l->volume, device, sizeof(device));
		*v = (struct store_volume) {
			.uuid = l->volume, .version = l->version, .recorded = l->version,
			.state = STORE_LIVE, .attached = device[0],
		};
		memcpy(v->name, l->name, sizeof(v->name));
		err = store_volume_commit(v, l);
		if (err == -EEXIST)
			req_fail(r, "another volume here is called %s; rename that first", l->name);
		else if (err)
			req_fail(r, "the store cannot be written: %s", strerror(-err));
		else
			req_note(r, "volume %s was imported from its drives, version %llu", l->name,
				 (unsigned long long)l->version);
	}
	free(l);
	free(best);
	return err ? -1 : 0;
}

int cmd_volume_import(struct req *r)
{
	const char *what = arg_str(r, "volume");
	struct store_volume v;

	if (!store_volume_find(what, &v, NULL))
		req_note(r, "volume %s is known here already", v.name);
	else if (import_volume(r, what, &v))
		return -1;
	return volume_result(r, &v.uuid);
}
