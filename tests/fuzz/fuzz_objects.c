// SPDX-License-Identifier: GPL-2.0-only
/* Objects of the store and their keys, from arbitrary bytes: what is read is written and read again. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/xxhash.h>

#include "userspace/format/objects.h"

static union {
	struct obj o;
	struct obj_cluster cluster;
	struct obj_host host;
	struct obj_alive alive;
	struct obj_device device;
	struct obj_drive drive;
	struct obj_volume volume;
	struct obj_access access;
	struct obj_roster roster;
	struct obj_task task;
	struct obj_event event;
	struct obj_status status;
	struct obj_seen seen;
	struct obj_attached attached;
} x, again;

static void try_key(const uint8_t *data, size_t size)
{
	char text[STORE_KEY_MAX], back[STORE_KEY_MAX];
	struct key k;

	if (size >= sizeof(text))
		return;
	memcpy(text, data, size);
	text[size] = 0;
	if (!key_parse(text, &k) && (key_text(&k, back) || strcmp(text, back)))
		abort();
}

static void try_kind(int kind, const char *text, size_t size)
{
	char why[OBJ_WHY], *out, *twice;
	struct key key;

	if (obj_decode(kind, text, size, &x, why, sizeof(why))) {
		if (!why[0])
			abort();
		obj_free(kind, &x);
		return;
	}
	strcpy(x.o.op, strcmp(x.o.op, "fuzz") ? "fuzz" : "fuzz-2");
	if (obj_encode(kind, &x, &out, why, sizeof(why)) ||
	    obj_decode(kind, out, strlen(out), &again, why, sizeof(why)))
		abort();
	strcpy(again.o.op, "fuzz-3");
	strcpy(x.o.op, "fuzz-3");
	if (kind < KEY_KINDS) {
		obj_key(kind, &again, &key);
		free(out);
		if (obj_encode(kind, &x, &out, why, sizeof(why)))
			abort();
	}
	if (obj_encode(kind, &again, &twice, why, sizeof(why)) || strcmp(out, twice))
		abort();
	if (kind < KEY_KINDS) {
		obj_free(kind, &x);
		if (obj_read(&key, twice, strlen(twice), &x, why, sizeof(why)))
			abort();
	}
	free(out);
	free(twice);
	obj_free(kind, &again);
	obj_free(kind, &x);
}

/* A file with the right checksum behind it. */
static void try_file(int kind, const uint8_t *data, size_t size)
{
	char *text = malloc(size + 64);

	memcpy(text, data, size);
	size += sprintf(text + size, ",\"sum\":\"%016llx\"}", (unsigned long long)xxh64(text, size, 0));
	try_kind(kind, text, size);
	free(text);
}

/* The first byte says which kind. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int kind;

	if (!size)
		return 0;
	kind = 1 + data[0] % (OBJ_KINDS - 1);
	data++;
	size--;
	try_key(data, size);
	if (kind < KEY_KINDS)
		try_kind(kind, (const char *)data, size);
	else
		try_file(kind, data, size);
	return 0;
}
