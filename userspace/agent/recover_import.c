// SPDX-License-Identifier: GPL-2.0-only
/*
 * Keys of a backup into a store that has none, below the mark of recover. The key "cluster" comes last: as
 * long as it is not there, the same command goes on with what is absent.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "userspace/agent/recover.h"

#define IMPORT_OPS	60
#define IMPORT_BYTES	(STORE_TXN_BYTES / 2)

struct importing {
	struct store_compare compare[IMPORT_OPS + 1];
	struct store_op op[IMPORT_OPS];
	size_t	ops, bytes;
};

static void add(struct importing *m, const struct recover_item *i)
{
	m->compare[m->ops + 1] = (struct store_compare) { .kind = STORE_ABSENT, .key = i->key };
	m->op[m->ops++] = (struct store_op) { .key = i->key, .value = i->value, .len = strlen(i->value) };
	m->bytes += strlen(i->value);
}

static bool is_cluster(const struct recover_item *i)
{
	return !strcmp(i->key, key_word(KEY_CLUSTER));
}

static void choose(const struct recover *r, struct importing *m)
{
	const struct recover_item *last = NULL;

	for (u32 n = 0; n < r->items && m->ops < IMPORT_OPS; n++) {
		const struct recover_item *i = &r->item[n];
		struct key k;

		if (is_cluster(i))
			last = i;
		/* A key of a later version is not known here, and would never be seen as there. */
		if (is_cluster(i) || key_parse(i->key, &k) || copy_get(r->copy, &k))
			continue;
		if (m->ops && m->bytes + strlen(i->value) > IMPORT_BYTES)
			return;
		add(m, i);
	}
	if (!m->ops && last)
		add(m, last);
}

int recover_import(struct recover *r)
{
	const struct copy_item *i = copy_get(r->copy, &(struct key) { .kind = KEY_RECOVER });
	struct importing m = { .ops = 0 };
	struct store_txn t = { .compare = m.compare, .op = m.op };
	u64 revision = 0;
	int ret;

	choose(r, &m);
	if (!m.ops || !i)
		return 0;
	m.compare[0] = (struct store_compare) { .kind = STORE_SAME, .key = key_word(KEY_RECOVER),
						.modified = i->modified };
	t.ops = m.ops;
	t.compares = m.ops + 1;
	if (r->crash && r->crash(r->arg))
		return -EIO;
	ret = store_txn(copy_store(r->copy), &t, &revision);
	if (ret < 0)
		snprintf(r->why, sizeof(r->why), "%s", store_why(copy_store(r->copy)));
	for (size_t n = 0; ret == 1 && n < m.ops; n++) {
		if (copy_apply(r->copy, &m.op[n], revision))
			ret = -ENOMEM;
	}
	return ret < 0 ? ret : -EINPROGRESS;
}
