// SPDX-License-Identifier: GPL-2.0-only
/* Memory of pages, the same for all engines: a block for each key with its value. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/store/engine.h"

struct block {
	struct block *next;
	char	bytes[];	/* the value, then the key with its end */
};

/* One, two, four, ...: room for a power of two is full when @nr is one. */
static int grow(struct store_page *p)
{
	struct store_kv *kv;

	if (p->nr & (p->nr - 1))
		return 0;
	kv = realloc(p->kv, (p->nr ? 2 * p->nr : 1) * sizeof(*kv));
	if (!kv)
		return -ENOMEM;
	p->kv = kv;
	return 0;
}

int store_page_add(struct store_page *p, const struct store_kv *kv, size_t key_len)
{
	struct block *b = malloc(sizeof(*b) + kv->len + key_len + 1);
	struct store_kv *to;

	if (!b || grow(p) < 0) {
		free(b);
		return -ENOMEM;
	}
	b->next = p->memory;
	p->memory = b;
	if (kv->len)
		memcpy(b->bytes, kv->value, kv->len);
	memcpy(b->bytes + kv->len, kv->key, key_len);
	b->bytes[kv->len + key_len] = 0;
	to = &p->kv[p->nr++];
	*to = *kv;
	to->value = kv->value ? b->bytes : NULL;
	to->key = b->bytes + kv->len;
	return 0;
}

void store_page_free(struct store_page *p)
{
	struct block *b, *next;

	for (b = p->memory; b; b = next) {
		next = b->next;
		free(b);
	}
	free(p->kv);
	memset(p, 0, sizeof(*p));
}
