// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>

#include "userspace/agent/lead.h"

#define LEAD_TXN_MS	3000

static const struct key leader = { .kind = KEY_LEADER };

bool lead_is(const struct lead *l)
{
	const struct copy_item *i = copy_get(l->copy, &leader);
	const struct obj_leader *o = i ? i->obj : NULL;

	return l->lease && o && i->lease == l->lease && muuid_equal(&o->host, &l->host);
}

void lead_compare(struct deal *d)
{
	deal_same(d, &leader);
}

static int keep(struct lead *l, u64 now_ms)
{
	int err;

	if (!l->lease || now_ms - l->kept_ms < l->seconds * 1000ULL / 3)
		return 0;
	err = store_lease_keep(copy_store(l->copy), l->lease);
	if (err == -ENOENT) {
		l->lease = 0;
		return 0;
	}
	if (!err)
		l->kept_ms = now_ms;
	return err;
}

static int take(struct lead *l, u64 now_ms)
{
	struct obj_leader o = { .host = l->host };
	struct deal d;
	int ret;

	if (!l->lease) {
		ret = store_lease_grant(copy_store(l->copy), l->seconds, &l->lease);
		if (ret)
			return ret;
		l->kept_ms = now_ms;
	}
	deal_begin(&d, l->copy);
	deal_put(&d, KEY_LEADER, &o, l->lease);
	ret = deal_close(&d, LEAD_TXN_MS);
	if (ret == -ENOENT) {
		l->lease = 0;
		return 0;
	}
	return ret < 0 ? ret : lead_is(l);
}

int lead_turn(struct lead *l, u64 now_ms)
{
	int err = keep(l, now_ms);

	if (err)
		return err;
	if (lead_is(l))
		return 1;
	return copy_get(l->copy, &leader) ? 0 : take(l, now_ms);
}

void lead_end(struct lead *l)
{
	if (l->lease)
		store_lease_revoke(copy_store(l->copy), l->lease);
	l->lease = 0;
}
