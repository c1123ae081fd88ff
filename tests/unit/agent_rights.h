/* SPDX-License-Identifier: GPL-2.0-only */
/* Transactions of agents, judged as a store host would that they reach by the link. */
#ifndef TESTS_UNIT_AGENT_RIGHTS_H
#define TESTS_UNIT_AGENT_RIGHTS_H

#include <CUnit/Basic.h>
#include <errno.h>
#include <stdio.h>

#include "userspace/store/rights.h"

static inline int rights_get(void *priv, const char *key, const struct store_kv **out)
{
	static struct store_page page;
	int err;

	store_page_free(&page);
	if (!key)
		return 0;
	err = store_get(priv, key, &page);
	*out = page.kv;
	return err;
}

/* What a host of this role may not do fails the test. @s: a handle of the test's own. */
static inline void rights_check(struct store *s, u8 role, const struct muuid *host, const struct store_txn *t)
{
	struct rights_source from = { rights_get, s };
	struct rights_who who = { .role = role, .host = *host };
	char words[RIGHTS_WHY] = "";
	enum rights_verdict v;
	int err;

	v = rights_txn(&who, t, &from, &err, words);
	rights_get(s, NULL, NULL);
	if (v == RIGHTS_ALLOWED || v == RIGHTS_STALE)
		return;
	printf("\n  %s\n", words);
	CU_FAIL("an agent does what it has no right to");
}

#endif
