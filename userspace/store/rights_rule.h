/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One operation of a transaction while it is judged: rights.c prepares it, the rules of
 * rights_rules.c decide.
 */
#ifndef STORE_RIGHTS_RULE_H
#define STORE_RIGHTS_RULE_H

#include "userspace/format/objects.h"
#include "userspace/store/rights.h"

struct judged {
	const struct rights_who *who;
	const struct store_txn *txn;
	const struct rights_source *from;
	const struct store_op *op;
	struct key key;			/* of @op */
	const union obj_any *is;	/* the value, decoded; NULL: a delete */
	int	err;			/* of a verdict that is not RIGHTS_ALLOWED or RIGHTS_STALE */
	char	*why;			/* RIGHTS_WHY bytes */
};

typedef enum rights_verdict (*rights_rule)(struct judged *j);

/* The verdict RIGHTS_REFUSED, -EACCES, with words about the key. */
__attribute__((format(printf, 2, 3)))
enum rights_verdict rights_refuse(struct judged *j, const char *fmt, ...);

/* Rules of any verb; each about the key first, then the value, which the codec has accepted. */
enum rights_verdict rule_any(struct judged *j);
enum rights_verdict rule_report(struct judged *j);	/* ... and says its role */
enum rights_verdict rule_own(struct judged *j);		/* the key is of this host */
enum rights_verdict rule_host(struct judged *j);
enum rights_verdict rule_drive_client(struct judged *j);
enum rights_verdict rule_drive_storage(struct judged *j);
enum rights_verdict rule_drive_end(struct judged *j);
enum rights_verdict rule_access(struct judged *j);
enum rights_verdict rule_reader(struct judged *j);
enum rights_verdict rule_reader_end(struct judged *j);
enum rights_verdict rule_writer(struct judged *j);
enum rights_verdict rule_writer_end(struct judged *j);
enum rights_verdict rule_roster(struct judged *j);
enum rights_verdict rule_volume(struct judged *j);
enum rights_verdict rule_task(struct judged *j);

#endif
