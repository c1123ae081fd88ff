// SPDX-License-Identifier: GPL-2.0-only
/* The cluster, its controller, its hosts, and tokens that admit hosts. See objects.h. */
#include <errno.h>
#include <string.h>

#include "userspace/format/objects_kind.h"

static const struct field cluster_fields[] = {
	FIELD_UUID("cluster", struct obj_cluster, plan.uuid),
	FIELD_TEXT("name", struct obj_cluster, name, field_plain, .flags = FIELD_MAY),
	FIELD_INT("generation", struct obj_cluster, plan.generation, 0, MESH_NUMBER_GENERATION_MAX),
	FIELD_INT("format", struct obj_cluster, plan.format, OBJ_FORMAT(1, 0), UINT32_MAX),
	FIELD_KEEP("settings", struct obj_cluster, settings, .flags = FIELD_MAY),
	{ .name = NULL }
};

static int cluster_check(struct field_at *a, void *x)
{
	const struct obj_cluster *c = x;
	const char *name;
	json_t *value;

	json_object_foreach(c->settings, name, value) {
		if (!obj_plain_name(name) || json_is_object(value) || json_is_array(value) ||
		    json_is_null(value))
			return field_wrong(a, -EUCLEAN, "has a setting that is no plain name with a number, a "
					   "text, true or false");
	}
	return 0;
}

const struct obj_type obj_type_cluster = {
	.noun = "cluster", .bytes = sizeof(struct obj_cluster), .fields = cluster_fields,
	.check = cluster_check,
};

static const struct field leader_fields[] = {
	FIELD_UUID("host", struct obj_leader, host),
	{ .name = NULL }
};

const struct obj_type obj_type_leader = {
	.noun = "leader", .bytes = sizeof(struct obj_leader), .fields = leader_fields,
};

const char *const obj_role_words[4] = {
	[PLAN_CLIENT] = "client", [PLAN_STORAGE] = "storage", [PLAN_STORE] = "store",
};

const char *obj_role(u8 role)
{
	return role < sizeof(obj_role_words) / sizeof(*obj_role_words) ? obj_role_words[role] : NULL;
}

/* An address or a name of DNS. */
static bool address_ok(const char *text)
{
	return text[strspn(text, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.:%_-")] == 0;
}

static const struct field address_fields[] = {
	FIELD_TEXT("addr", struct obj_address, addr, address_ok),
	FIELD_INT("port", struct obj_address, port, 1, UINT16_MAX, .flags = FIELD_MAY),
	{ .name = NULL }
};

static const struct field host_fields[] = {
	FIELD_UUID("host", struct obj_host, plan.uuid),
	FIELD_TEXT("name", struct obj_host, name, layout_name_ok),
	FIELD_WORD("role", struct obj_host, plan.role, obj_role_words),
	FIELD_BOOL("maintenance", struct obj_host, plan.maintenance),
	FIELD_BOOL("removed", struct obj_host, plan.removed),
	FIELD_TEXT("rack", struct obj_host, rack, field_plain, .flags = FIELD_MAY),
	FIELD_KEEP("labels", struct obj_host, labels, .flags = FIELD_MAY),
	FIELD_LIST("addresses", struct obj_host, address, addresses, address_fields, "addr",
		   OBJ_ADDRESSES_MAX),
	{ .name = NULL }
};

/* Names that have a meaning as domain of a volume, beside labels. */
static bool label_reserved(const char *name)
{
	return !strcmp(name, "rack") || !strcmp(name, "host") || !strcmp(name, "drive");
}

static int host_check(struct field_at *a, void *x)
{
	const struct obj_host *h = x;
	const char *name;
	json_t *value;

	if (json_object_size(h->labels) > OBJ_LABELS_MAX)
		return field_wrong(a, -EUCLEAN, "has %zu labels, at most %u are allowed",
				   json_object_size(h->labels), OBJ_LABELS_MAX);
	json_object_foreach(h->labels, name, value) {
		const char *text = json_string_value(value);

		if (!obj_plain_name(name) || strlen(name) >= OBJ_TEXT || label_reserved(name))
			return field_wrong(a, -EUCLEAN, "has a label whose name is not allowed");
		if (!text || !*text || strlen(text) >= OBJ_TEXT)
			return field_wrong(a, -EUCLEAN, "has the label %s, which is no text, or none of 1 to %u"
					   " bytes", name, OBJ_TEXT - 1);
	}
	for (u32 i = 0; i < h->addresses; i++)
		for (u32 k = 0; k < i; k++)
			if (!strcmp(h->address[i].addr, h->address[k].addr))
				return field_wrong(a, -EUCLEAN, "has the address %s twice", h->address[i].addr);
	return 0;
}

static void host_key(const void *x, struct key *k)
{
	k->host = ((const struct obj_host *)x)->plan.uuid;
}

const struct obj_type obj_type_host = {
	.noun = "host", .bytes = sizeof(struct obj_host), .fields = host_fields, .check = host_check,
	.key = host_key,
};

const char *obj_host_label(const struct obj_host *h, const char *name)
{
	if (!strcmp(name, "rack"))
		return h->rack[0] ? h->rack : NULL;
	return json_string_value(json_object_get(h->labels, name));
}

static const struct field alive_fields[] = {
	FIELD_UUID("host", struct obj_alive, host),
	FIELD_UUID("boot", struct obj_alive, boot),
	FIELD_TEXT("meshd", struct obj_alive, meshd, field_plain),
	FIELD_TEXT("module", struct obj_alive, module, field_plain, .flags = FIELD_MAY),
	FIELD_INT("format", struct obj_alive, format, OBJ_FORMAT(1, 0), UINT32_MAX),
	FIELD_INT("started", struct obj_alive, started, 0, INT64_MAX),
	{ .name = NULL }
};

static void alive_key(const void *x, struct key *k)
{
	k->host = ((const struct obj_alive *)x)->host;
}

const struct obj_type obj_type_alive = {
	.noun = "alive", .bytes = sizeof(struct obj_alive), .fields = alive_fields, .key = alive_key,
};

static const struct field smart_fields[] = {
	FIELD_BOOL("known", struct obj_smart, known),
	FIELD_INT("warning", struct obj_smart, warning, 0, UINT8_MAX),
	FIELD_INT("temperature", struct obj_smart, temperature, 0, UINT16_MAX),
	FIELD_INT("used", struct obj_smart, used, 0, UINT16_MAX),
	FIELD_INT("spare", struct obj_smart, spare, 0, UINT16_MAX),
	FIELD_INT("media_errors", struct obj_smart, media_errors, 0, INT64_MAX),
	{ .name = NULL }
};

static const struct field disk_fields[] = {
	FIELD_TEXT("path", struct obj_disk, path, field_plain),
	FIELD_TEXT("model", struct obj_disk, model, field_plain, .flags = FIELD_MAY),
	FIELD_TEXT("wwid", struct obj_disk, wwid, field_plain, .flags = FIELD_MAY),
	FIELD_TEXT("serial", struct obj_disk, serial, field_plain, .flags = FIELD_MAY),
	FIELD_INT("size", struct obj_disk, size, 0, INT64_MAX),
	FIELD_INT("lba", struct obj_disk, lba, 1, 1 << 20),
	FIELD_UUID("drive", struct obj_disk, drive, .flags = FIELD_MAY),
	FIELD_BOOL("exportable", struct obj_disk, exportable),
	FIELD_TEXT("why", struct obj_disk, why, field_plain, .flags = FIELD_MAY),
	{ .name = "smart", .kind = FIELD_PART, .flags = FIELD_MAY, FIELD_AT(struct obj_disk, smart),
	  .of = smart_fields },
	{ .name = NULL }
};

static const struct field device_fields[] = {
	FIELD_UUID("host", struct obj_device, host),
	FIELD_LIST("disks", struct obj_device, disk, disks, disk_fields, "path", OBJ_DISKS_MAX),
	{ .name = NULL }
};

static bool smart_ok(const struct obj_smart *s)
{
	return s->known || !(s->warning | s->temperature | s->used | s->spare | s->media_errors);
}

static int device_check(struct field_at *a, void *x)
{
	const struct obj_device *d = x;

	for (u32 i = 0; i < d->disks; i++) {
		if (d->disk[i].exportable == !!d->disk[i].why[0])
			return field_wrong(a, -EUCLEAN, "disks[%u] is exportable with a reason against it, or is "
					   "not without one", i);
		if (!smart_ok(&d->disk[i].smart))
			return field_wrong(a, -EUCLEAN, "disks[%u] has SMART values that are not known", i);
		for (u32 k = 0; k < i; k++)
			if (!strcmp(d->disk[i].path, d->disk[k].path))
				return field_wrong(a, -EUCLEAN, "has the disk %s twice", d->disk[i].path);
	}
	return 0;
}

static void device_key(const void *x, struct key *k)
{
	k->host = ((const struct obj_device *)x)->host;
}

const struct obj_type obj_type_device = {
	.noun = "device", .bytes = sizeof(struct obj_device), .fields = device_fields,
	.check = device_check, .key = device_key,
};

static const struct field token_fields[] = {
	FIELD_UUID("token", struct obj_token, token),
	FIELD_WORD("role", struct obj_token, role, obj_role_words),
	FIELD_UUID("host", struct obj_token, host, .flags = FIELD_MAY),
	{ .name = NULL }
};

static void token_key(const void *x, struct key *k)
{
	k->token = ((const struct obj_token *)x)->token;
}

const struct obj_type obj_type_token = {
	.noun = "token", .bytes = sizeof(struct obj_token), .fields = token_fields, .key = token_key,
};
