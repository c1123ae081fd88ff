// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <linux/kernel.h>
#include <string.h>

#include "userspace/store/et_verdict.h"

/*
 * Statuses that say more than "unknown". The words are etcd's, the same since 3.4: one code
 * stands for a full disk and for too many requests, and one for a request that no leader has seen
 * and for one that a lost leader may have carried out.
 */
static const struct rule {
	int	status;
	const char *words;	/* NULL: any */
	int	err;
	bool	other;
} rules[] = {
	{ GRPC_EXHAUSTED, "database space exceeded", -ENOSPC, false },
	{ GRPC_EXHAUSTED, "too many requests", -EIO, true },
	{ GRPC_EXHAUSTED, "message larger than max", -E2BIG, false },
	{ GRPC_RANGE, "has been compacted", -ESTALE, false },
	{ GRPC_RANGE, "is a future revision", -ESTALE, false },
	{ GRPC_RANGE, "lease TTL", -EINVAL, false },
	{ GRPC_NOT_FOUND, "lease not found", -ENOENT, false },
	{ GRPC_PRECONDITION, "lease already exists", -EEXIST, false },
	{ GRPC_INVALID, "request is too large", -E2BIG, false },
	{ GRPC_INVALID, "too many operations", -E2BIG, false },
	{ GRPC_INVALID, NULL, -EINVAL, false },
	/* Said before anything is proposed, since the request wants a leader ("hasleader"). */
	{ GRPC_UNAVAILABLE, "etcdserver: no leader", -EIO, true },
	{ GRPC_PERMISSION, NULL, -EACCES, false },
	{ GRPC_UNAUTHENTICATED, NULL, -EACCES, false },
	{ GRPC_UNIMPLEMENTED, NULL, -EIO, false },
};

static bool matches(const struct rule *r, const struct grpc_head *h)
{
	return r->status == h->status && (!r->words || strstr(h->words, r->words));
}

static struct et_verdict by_status(const struct grpc_head *h)
{
	for (size_t i = 0; i < ARRAY_SIZE(rules); i++)
		if (matches(&rules[i], h))
			return (struct et_verdict) { rules[i].err, false, rules[i].other };
	switch (h->status) {
	case GRPC_DEADLINE:
	case GRPC_CANCELED:
		return (struct et_verdict) { -ETIMEDOUT, true, true };
	case GRPC_DATA_LOSS:
		return (struct et_verdict) { -EUCLEAN, true, false };
	}
	return (struct et_verdict) { -EIO, true, true };
}

struct et_verdict et_verdict(const struct et_answer *a)
{
	const struct grpc_head *h = a->head;

	const bool ok = h->http == 200 && h->grpc && a->reply && !a->cut;

	/* The status may come before the connection breaks. */
	if (h->status == GRPC_OK && ok)
		return (struct et_verdict) { 0, false, false };
	if (a->transport == -EMSGSIZE || a->transport == -ENOMEM)
		return (struct et_verdict) { a->transport, a->sent, false };
	if (h->status == GRPC_NONE || h->status == GRPC_OK)
		return (struct et_verdict) { a->transport ? a->transport : -EIO, a->sent, true };
	return by_status(h);
}
