// SPDX-License-Identifier: GPL-2.0-only
/* What answers carry: structures to JSON objects and back. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/format/json.h"
#include "userspace/format/layout_text.h"
#include "userspace/format/mgmt.h"

bool mgmt_printable(const char *text)
{
	for (; *text; text++)
		if (*text < ' ' || *text > '~')
			return false;
	return true;
}

/* A peer's string goes to root's terminal and into file names: plain text alone. */
static int get_text(const json_t *j, const char *key, char *v, size_t size)
{
	return jget_str(j, key, v, size) || !mgmt_printable(v) ? -EINVAL : 0;
}

json_t *mgmt_hello_pack(const struct mgmt_hello *h)
{
	json_t *j = json_object();

	jset_uuid(j, "host", &h->host);
	jset_str(j, "hostname", h->hostname);
	jset_str(j, "version", h->version);
	jset_str(j, "machine", h->machine);
	jset_u64(j, "grace_ms", h->grace_ms);
	return j;
}

int mgmt_hello_unpack(const json_t *j, struct mgmt_hello *h)
{
	return jget_uuid(j, "host", &h->host) ||
	       get_text(j, "hostname", h->hostname, sizeof(h->hostname)) ||
	       get_text(j, "version", h->version, sizeof(h->version)) ||
	       get_text(j, "machine", h->machine, sizeof(h->machine)) ||
	       jget_u32(j, "grace_ms", &h->grace_ms) || !layout_name_ok(h->hostname) ? -EINVAL : 0;
}

json_t *mgmt_drive_pack(const struct mgmt_drive *d)
{
	json_t *j = json_object();

	jset_uuid(j, "uuid", &d->uuid);
	jset_uuid(j, "owner", &d->owner);
	jset_str(j, "path", d->path);
	jset_str(j, "model", d->model);
	jset_str(j, "serial", d->serial);
	jset_str(j, "state", d->state);
	jset_u64(j, "size", d->size);
	jset_u64(j, "free", d->free);
	jset_u64(j, "longest", d->longest);
	jset_u64(j, "sequence", d->sequence);
	jset_u64(j, "lba", d->lba);
	jset_u64(j, "extents", d->extents);
	return j;
}

bool mgmt_drive_served(const struct mgmt_drive *d)
{
	return strcmp(d->state, "gone") && strcmp(d->state, "twice") && strcmp(d->state, "refused");
}

int mgmt_drive_unpack(const json_t *j, struct mgmt_drive *d)
{
	return jget_uuid(j, "uuid", &d->uuid) || jget_uuid(j, "owner", &d->owner) ||
	       get_text(j, "path", d->path, sizeof(d->path)) ||
	       get_text(j, "model", d->model, sizeof(d->model)) ||
	       get_text(j, "serial", d->serial, sizeof(d->serial)) ||
	       get_text(j, "state", d->state, sizeof(d->state)) ||
	       jget_u64(j, "size", &d->size) || jget_u64(j, "free", &d->free) ||
	       jget_u64(j, "longest", &d->longest) ||
	       jget_u64(j, "sequence", &d->sequence) || jget_u32(j, "lba", &d->lba) ||
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
	jset_u64(j, "version", e->version);
	jset_u64(j, "commit", e->commit);
	jset_u64(j, "opens", e->opens);
	jset_bool(j, "recorded", e->recorded);
	jset_bool(j, "unread", e->unread);
	if (!muuid_null(&e->holder))
		jset_uuid(j, "holder", &e->holder);
	if (e->attach) {
		jset_u64(j, "attach", e->attach);
		jset_uuid(j, "attacher", &e->attacher);
	}
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
	e->attach = 0;
	memset(&e->attacher, 0, sizeof(e->attacher));
	if (json_object_get(j, "attach") &&
	    (jget_u64(j, "attach", &e->attach) || jget_uuid(j, "attacher", &e->attacher)))
		return -EINVAL;
	if (error > 0 || error < -4095)
		return -EINVAL;
	e->error = error;
	e->unread = json_is_true(json_object_get(j, "unread"));
	return jget_uuid(j, "extent", &e->uuid) || jget_uuid(j, "drive", &e->drive) ||
	       jget_uuid(j, "volume", &e->volume) ||
	       get_text(j, "name", e->name, sizeof(e->name)) ||
	       jget_u64(j, "start", &e->start) || jget_u64(j, "length", &e->length) ||
	       jget_bool(j, "ready", &e->ready) || jget_u64(j, "zeroed", &e->zeroed) ||
	       jget_u64(j, "version", &e->version) || jget_u64(j, "commit", &e->commit) ||
	       jget_u32(j, "opens", &e->opens) || jget_bool(j, "recorded", &e->recorded) ||
	       e->zeroed > e->length ? -EINVAL : 0;
}

json_t *mgmt_volume_pack(const struct mgmt_volume *v)
{
	json_t *j = json_object();

	jset_uuid(j, "volume", &v->uuid);
	jset_str(j, "name", v->name);
	jset_u64(j, "version", v->version);
	jset_u64(j, "commit", v->commit);
	jset_u64(j, "size", v->size);
	jset_u64(j, "members", v->members);
	jset_u64(j, "here", v->here);
	jset_u64(j, "open", v->open);
	jset_u64(j, "level", v->shape.level);
	jset_u64(j, "columns", v->shape.data);
	jset_u64(j, "parity", v->shape.parity);
	jset_u64(j, "groups", v->shape.groups);
	if (!muuid_null(&v->holder))
		jset_uuid(j, "holder", &v->holder);
	return j;
}

int mgmt_volume_unpack(const json_t *j, struct mgmt_volume *v)
{
	u32 level, columns, parity, groups;

	memset(&v->holder, 0, sizeof(v->holder));
	if (json_object_get(j, "holder") && jget_uuid(j, "holder", &v->holder))
		return -EINVAL;
	if (jget_uuid(j, "volume", &v->uuid) || jget_str(j, "name", v->name, sizeof(v->name)) ||
	    jget_u64(j, "version", &v->version) || jget_u64(j, "commit", &v->commit) ||
	    jget_u64(j, "size", &v->size) || jget_u32(j, "members", &v->members) ||
	    jget_u32(j, "here", &v->here) || jget_u32(j, "open", &v->open) ||
	    jget_u32(j, "level", &level) || jget_u32(j, "columns", &columns) ||
	    jget_u32(j, "parity", &parity) || jget_u32(j, "groups", &groups) ||
	    level > 255 || columns > 255 || parity > 255 || groups > 65535)
		return -EINVAL;
	v->shape = (struct layout_shape) { level, columns, parity, groups };
	return layout_name_ok(v->name) ? 0 : -EINVAL;
}

json_t *mgmt_hex_pack(const void *buf, size_t len)
{
	static const char hex[] = "0123456789abcdef";
	char *text = malloc(2 * len + 1);
	const u8 *raw = buf;
	json_t *j;
	size_t i;

	if (!text)
		return NULL;
	for (i = 0; i < len; i++) {
		text[2 * i] = hex[raw[i] >> 4];
		text[2 * i + 1] = hex[raw[i] & 15];
	}
	j = json_stringn_nocheck(text, 2 * len);
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

int mgmt_hex_unpack(const json_t *text, void *buf, size_t size)
{
	const char *t = json_string_value(text);
	size_t i, n = json_string_length(text) / 2;
	u8 *raw = buf;
	int hi, lo;

	if (!t || !n || n > size || json_string_length(text) % 2)
		return -EINVAL;
	for (i = 0; i < n; i++) {
		hi = unhex(t[2 * i]);
		lo = unhex(t[2 * i + 1]);
		if (hi < 0 || lo < 0)
			return -EINVAL;
		raw[i] = hi << 4 | lo;
	}
	return n;
}

json_t *mgmt_record_pack(const struct layout *l)
{
	u8 *raw = malloc(LAYOUT_BYTES_MAX);
	int n = raw ? layout_encode(l, raw, LAYOUT_BYTES_MAX) : -ENOMEM;
	json_t *j = n > 0 ? mgmt_hex_pack(raw, n) : NULL;

	free(raw);
	return j;
}

int mgmt_record_unpack(const json_t *text, struct layout *l)
{
	u8 *raw = malloc(LAYOUT_BYTES_MAX);
	int n;

	if (!raw)
		return -ENOMEM;
	n = mgmt_hex_unpack(text, raw, LAYOUT_BYTES_MAX);
	if (n > 0)
		n = layout_decode(raw, n, l);
	free(raw);
	return n;
}
