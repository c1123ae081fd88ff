// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>
#include <string.h>

#include "userspace/format/umap.h"

/* UUIDs are random, but a peer makes them: all bytes count. */
static size_t place(const struct umap *m, const struct muuid *uuid)
{
	u64 a, b;

	memcpy(&a, uuid->b, 8);
	memcpy(&b, uuid->b + 8, 8);
	a = (a ^ b * 0x9e3779b97f4a7c15ULL) * 0xbf58476d1ce4e5b9ULL;
	return (a ^ a >> 29) & (m->room - 1);
}

static struct umap_entry *find(const struct umap *m, const struct muuid *uuid)
{
	size_t i = place(m, uuid);

	while (m->entry[i].used && !muuid_equal(&m->entry[i].uuid, uuid))
		i = (i + 1) & (m->room - 1);
	return &m->entry[i];
}

static bool grow(struct umap *m)
{
	struct umap bigger = { .room = m->room ? 2 * m->room : 64, .n = m->n };
	size_t i;

	bigger.entry = calloc(bigger.room, sizeof(*bigger.entry));
	if (!bigger.entry)
		return false;
	for (i = 0; i < m->room; i++)
		if (m->entry[i].used)
			*find(&bigger, &m->entry[i].uuid) = m->entry[i];
	free(m->entry);
	*m = bigger;
	return true;
}

u32 *umap_put(struct umap *m, const struct muuid *uuid, bool *fresh)
{
	struct umap_entry *s;

	*fresh = false;
	if (2 * m->n >= m->room && !grow(m))
		return NULL;
	s = find(m, uuid);
	if (!s->used) {
		s->used = *fresh = true;
		s->uuid = *uuid;
		m->n++;
	}
	return &s->value;
}

u32 *umap_get(const struct umap *m, const struct muuid *uuid)
{
	struct umap_entry *s = m->room ? find(m, uuid) : NULL;

	return s && s->used ? &s->value : NULL;
}

void umap_free(struct umap *m)
{
	free(m->entry);
	memset(m, 0, sizeof(*m));
}
