/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Rights on keys of the store, by the role that a connection proved.
 *
 *   rights.c        one table: kind of key x role x verb; a transaction is judged as a whole
 *   rights_rule.h   one transaction while it is judged
 *   rights_rules.c  rules about values: one function each
 *
 * Each role has the rights of the roles below it. A transaction is allowed if each of its
 * operations is, if no key is in it twice, and if its compares name readable keys alone. A rule that
 * depends on the former value of a key requires a compare of that key: so the value that was judged
 * is the one that the transaction replaces, or the transaction changes nothing.
 *
 * A value is decoded as a whole object before any rule sees it, of each role: one that the codec
 * refuses would stop all hosts that read it. Rules see decoded fields. Members that this meshd does
 * not know give no right: a client or storage host keeps those of an object that others change, too,
 * and adds none, since a later meshd would believe them as if they had been judged.
 *
 * No I/O: the caller reads keys for the rules.
 */
#ifndef STORE_RIGHTS_H
#define STORE_RIGHTS_H

#include "userspace/plan/objects.h"
#include "userspace/store/store.h"

#define RIGHTS_WHY	384

struct rights_who {
	u8	role;		/* enum plan_role, as the key of the connection proved it */
	struct muuid host;
};

enum rights_verdict {
	RIGHTS_ALLOWED = 0,
	RIGHTS_REFUSED,		/* the reason is in words, which are plain text whatever was requested */
	RIGHTS_STALE,		/* a compare does not hold, so the transaction changes nothing */
	RIGHTS_UNREAD,		/* a key could not be read, so nothing is known */
};

/* Reads keys for the rules. */
struct rights_source {
	/* 0: @out is the key as of now, valid until the verdict; -ENOENT; another error: RIGHTS_UNREAD. */
	int (*get)(void *priv, const char *key, const struct store_kv **out);
	void	*priv;
};

/* Read or watch all keys that begin with @prefix, or the one key of this name. */
enum rights_verdict rights_read(const struct rights_who *who, const char *prefix, char why[RIGHTS_WHY]);

/**
 * rights_txn() - judge a whole transaction
 * @err: of RIGHTS_REFUSED becomes -EACCES: there is no right to do this; or -EINVAL: no role may, as
 * the codec refuses the value or a key is there twice. Of RIGHTS_UNREAD the error of @from, or -ENOMEM
 */
enum rights_verdict rights_txn(const struct rights_who *who, const struct store_txn *t,
			       const struct rights_source *from, int *err, char why[RIGHTS_WHY]);

/* "client", "storage", "store". */
const char *rights_role(u8 role);

#endif
