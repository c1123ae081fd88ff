// SPDX-License-Identifier: GPL-2.0-only
/* What answers carry: structures to JSON objects and back. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/format/json.h"
#include "userspace/format/mgmt.h"

json_t *mgmt_hello_pack(const struct mgmt_hello *h)
{
	json_t *j = json_object();

	jset_uuid(j, "host", &h->host);
	jset_str(j, "hostname", h->hostname);
	jset_str(j, "version", h->version);
	return j;
}

int mgmt_hello_unpack(const json_t *j, struct mgmt_hello *h)
{
	return jget_uuid(j, "host", &h->host) ||
	       jget_str(j, "hostname", h->hostname, sizeof(h->hostname)) ||
	       jget_str(j, "version", h->version, sizeof(h->version)) ? -EINVAL : 0;
}

json_t *mgmt_drive_pack(const struct mgmt_drive *d)
{
	json_t *j = json_object();

	jset_uuid(j, "uuid", &d->uuid);
	jset_str(j, "path", d->path);
	jset_str(j, "model", d->model);
	jset_str(j, "serial", d->serial);
	jset_str(j, "state", d->state);
	jset_u64(j, "size", d->size);
	jset_u64(j, "free", d->free);
	jset_u64(j, "longest", d->longest);
	jset_u64(j, "lba", d->lba);
	jset_u64(j, "extents", d->extents);
	return j;
}

int mgmt_drive_unpack(const json_t *j, struct mgmt_drive *d)
{
	return jget_uuid(j, "uuid", &d->uuid) ||
	       jget_str(j, "path", d->path, sizeof(d->path)) ||
	       jget_str(j, "model", d->model, sizeof(d->model)) ||
	       jget_str(j, "serial", d->serial, sizeof(d->serial)) ||
	       jget_str(j, "state", d->state, sizeof(d->state)) ||
	       jget_u64(j, "size", &d->size) || jget_u64(j, "free", &d->free) ||
	       jget_u64(j, "longest", &d->longest) || jget_u32(j, "lba", &d->lba) ||
	       jget_u32(j, "extents", &d->extents) ? -EINVAL : 0;
}

json_t *mgmt_extent_pack(const struct mgmt_extent *e)
{
	json_t *j = json_object();

	jset_uuid(j, "extent", &e->uuid);
	jset_uuid(j, "drive", &e->drive);
	jset_uuid(j, "volume", &e->volume);
	jset_str(j, "name", e->name);
	jset_u64(j, "start", e->start);
	jset_u64(j, "length", e->length);
	jset_bool(j, "ready", e->ready);
	jset_u64(j, "zeroed", e->zeroed);
	jset_u64(j, "generation", e->generation);
	if (!muuid_null(&e->holder))
		jset_uuid(j, "holder", &e->holder);
	if (e->error)
		json_object_set_new(j, "error", json_integer(e->error));
	return j;
}

int mgmt_extent_unpack(const json_t *j, struct mgmt_extent *e)
{
	json_int_t error = json_integer_value(json_object_get(j, "error"));

	memset(&e->holder, 0, sizeof(e->holder));
	if (json_object_get(j, "holder") && jget_uuid(j, "holder", &e->holder))
		return -EINVAL;
	if (error > 0 || error < -4095)
		return -EINVAL;
	e->error = error;
	return jget_uuid(j, "extent", &e->uuid) || jget_uuid(j, "drive", &e->drive) ||
	       jget_uuid(j, "volume", &e->volume) ||
	       jget_str(j, "name", e->name, sizeof(e->name)) ||
	       jget_u64(j, "start", &e->start) || jget_u64(j, "length", &e->length) ||
	       jget_bool(j, "ready", &e->ready) || jget_u64(j, "zeroed", &e->zeroed) ||
	       jget_u64(j, "generation", &e->generation) ||
	       e->zeroed > e->length ? -EINVAL : 0;
}

json_t *mgmt_volume_pack(const struct mgmt_volume *v)
{
	json_t *j = json_object();

	jset_uuid(j, "volume", &v->uuid);
	jset_str(j, "name", v->name);
	jset_u64(j, "epoch", v->epoch);
	jset_u64(j, "size", v->size);
	jset_u64(j, "members", v->members);
	jset_u64(j, "here", v->here);
	return j;
}

int mgmt_volume_unpack(const json_t *j, struct mgmt_volume *v)
{
	if (jget_uuid(j, "volume", &v->uuid) || jget_str(j, "name", v->name, sizeof(v->name)) ||
	    jget_u64(j, "epoch", &v->epoch) || jget_u64(j, "size", &v->size) ||
	    jget_u32(j, "members", &v->members) || jget_u32(j, "here", &v->here))
		return -EINVAL;
	return layout_name_ok(v->name) ? 0 : -EINVAL;
}

json_t *mgmt_record_pack(const struct layout *l)
{
	static const char hex[] = "0123456789abcdef";
	u8 *raw = malloc(LAYOUT_BYTES_MAX);
	char *text = malloc(2 * LAYOUT_BYTES_MAX + 1);
	json_t *j = NULL;
	int i, n;

	n = raw && text ? layout_encode(l, raw, LAYOUT_BYTES_MAX) : -ENOMEM;
	if (n > 0) {
		for (i = 0; i < n; i++) {
			text[2 * i] = hex[raw[i] >> 4];
			text[2 * i + 1] = hex[raw[i] & 15];
		}
		text[2 * n] = 0;
		j = json_object();
		jset_str(j, "record", text);
	}
	free(raw);
	free(text);
	return j;
}

static int unhex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return -1;
}

int mgmt_record_unpack(const json_t *j, struct layout *l)
{
	const char *text = json_string_value(json_object_get(j, "record"));
	size_t i, n = text ? strlen(text) / 2 : 0;
	int hi, lo, err = 0;
	u8 *raw;

	if (!n || n > LAYOUT_BYTES_MAX || text[2 * n])
		return -EINVAL;
	raw = malloc(n);
	if (!raw)
		return -ENOMEM;
	for (i = 0; i < n && !err; i++) {
		hi = unhex(text[2 * i]);
		lo = unhex(text[2 * i + 1]);
		if (hi < 0 || lo < 0)
			err = -EINVAL;
		else
			raw[i] = hi << 4 | lo;
	}
	if (!err)
		err = layout_decode(raw, n, l);
	free(raw);
	return err;
}
