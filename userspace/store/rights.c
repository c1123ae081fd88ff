// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "userspace/format/printable.h"
#include "userspace/store/rights_rule.h"

enum lease_use { NEVER, MAY, MUST };

/*
 * @read: the least role that reads; @put, @erase: a rule for client, storage and store. NULL: never.
 *
 * Keys of no kind, or of another form, are of a later version: only a store host reads and writes them.
 */
static const struct row {
	u8	read;
	enum lease_use lease;
	rights_rule put[3], erase[3];
} rows[KEY_KINDS] = {
	/* least reader	lease	put: client, storage, store	erase */
	[KEY_CLUSTER] =	{ PLAN_CLIENT,	NEVER,	{ NULL, NULL, rule_any },
						{ NULL, NULL, NULL } },
	[KEY_LEADER] =	{ PLAN_CLIENT,	MUST,	{ NULL, NULL, rule_any },
						{ NULL, NULL, rule_any } },
	[KEY_HOST] =	{ PLAN_CLIENT,	NEVER,	{ rule_host, rule_host, rule_any },
						{ NULL, NULL, rule_any } },
	[KEY_ALIVE] =	{ PLAN_CLIENT,	MUST,	{ rule_own, rule_own, rule_own },
						{ rule_own, rule_own, rule_any } },
	[KEY_DEVICE] =	{ PLAN_CLIENT,	MAY,	{ rule_own, rule_own, rule_any },
						{ rule_own, rule_own, rule_any } },
	[KEY_DRIVE] =	{ PLAN_CLIENT,	NEVER,	{ rule_drive_client, rule_drive_storage, rule_any },
						{ rule_drive_end, rule_drive_end, rule_any } },
	[KEY_VOLUME] =	{ PLAN_CLIENT,	NEVER,	{ rule_volume, rule_volume, rule_any },
						{ NULL, NULL, rule_any } },
	[KEY_NAME] =	{ PLAN_CLIENT,	NEVER,	{ NULL, NULL, rule_any },
						{ NULL, NULL, rule_any } },
	[KEY_ACCESS] =	{ PLAN_CLIENT,	NEVER,	{ rule_access, rule_access, rule_any },
						{ NULL, NULL, rule_any } },
	[KEY_READER] =	{ PLAN_CLIENT,	MAY,	{ rule_reader, rule_reader, rule_any },
						{ rule_reader_end, rule_reader_end, rule_any } },
	[KEY_WANT] =	{ PLAN_CLIENT,	NEVER,	{ rule_own, rule_any, rule_any },
						{ rule_own, rule_any, rule_any } },
	[KEY_WRITER] =	{ PLAN_CLIENT,	NEVER,	{ rule_writer, rule_any, rule_any },
						{ rule_writer_end, rule_any, rule_any } },
	[KEY_ROSTER] =	{ PLAN_CLIENT,	NEVER,	{ rule_roster, rule_roster, rule_any },
						{ NULL, NULL, rule_any } },
	[KEY_TASK] =	{ PLAN_CLIENT,	NEVER,	{ rule_task, rule_any, rule_any },
						{ NULL, NULL, rule_any } },
	[KEY_EVENT] =	{ PLAN_CLIENT,	MAY,	{ rule_own, rule_own, rule_any },
						{ rule_own, rule_own, rule_any } },
	[KEY_STATUS] =	{ PLAN_CLIENT,	MAY,	{ rule_own, rule_own, rule_any },
						{ rule_own, rule_own, rule_any } },
	[KEY_TOKEN] =	{ PLAN_STORE,	MUST,	{ NULL, NULL, rule_any },
						{ NULL, NULL, rule_any } },
	[KEY_RECOVER] =	{ PLAN_CLIENT,	MAY,	{ NULL, NULL, rule_any },
						{ NULL, NULL, rule_any } },
	[KEY_REPORT] =	{ PLAN_CLIENT,	NEVER,	{ rule_report, rule_report, rule_any },
						{ rule_own, rule_own, rule_any } },
};

const char *rights_role(u8 role)
{
	const char *word = obj_role(role);

	return word ? word : "unknown";
}

/* Keys are a peer's, and not checked yet. */
__attribute__((format(printf, 2, 3)))
static enum rights_verdict refuse(char why[RIGHTS_WHY], const char *fmt, ...)
{
	char raw[RIGHTS_WHY];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(raw, sizeof(raw), fmt, ap);
	va_end(ap);
	printable(raw, why, RIGHTS_WHY);
	return RIGHTS_REFUSED;
}

enum rights_verdict rights_refuse(struct judged *j, const char *fmt, ...)
{
	char words[RIGHTS_WHY];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(words, sizeof(words), fmt, ap);
	va_end(ap);
	j->err = -EACCES;
	return refuse(j->why, "%.100s: %s", j->op->key, words);
}

/* The kind of which all keys that begin with @prefix are, or the one of this name; 0: of several, or none. */
static int kind_of_prefix(const char *prefix)
{
	char begin[STORE_KEY_MAX];

	for (int kind = KEY_CLUSTER; kind < KEY_KINDS; kind++) {
		const struct key k = { .kind = kind };

		if (key_prefix(&k, 0, begin) ? !strcmp(prefix, key_word(kind)) :
		    !strncmp(prefix, begin, strlen(begin)))
			return kind;
	}
	return 0;
}

enum rights_verdict rights_read(const struct rights_who *who, const char *prefix, char why[RIGHTS_WHY])
{
	int kind = kind_of_prefix(prefix);

	if (who->role >= (kind ? rows[kind].read : PLAN_STORE) && who->role <= PLAN_STORE)
		return RIGHTS_ALLOWED;
	return refuse(why, "a host of role %s must not read all of \"%.100s\"", rights_role(who->role), prefix);
}

static enum rights_verdict judge_lease(struct judged *j, const struct row *r)
{
	if (!j->op->value || r->lease == MAY || (r->lease == MUST) == !!j->op->lease)
		return RIGHTS_ALLOWED;
	return rights_refuse(j, r->lease == MUST ? "this key must be on a lease" :
			     "this key must not be on a lease, since it would go with it");
}

/* The codec's own sentence names the object. */
static enum rights_verdict judge_value(struct judged *j, rights_rule rule)
{
	union obj_any is;
	char why[OBJ_WHY];
	enum rights_verdict v;
	int err = obj_read(&j->key, j->op->value, j->op->len, &is, why, sizeof(why));

	if (err == -ENOMEM) {
		j->err = err;
		v = RIGHTS_UNREAD;
	} else if (err) {
		v = rights_refuse(j, "%s", why);
		j->err = -EINVAL;
	} else {
		j->is = &is;
		v = rule(j);
		j->is = NULL;
	}
	obj_free(j->key.kind, &is);
	return v;
}

/* Rules find one operation for a key. */
static bool is_twice(const struct judged *j)
{
	for (const struct store_op *op = j->txn->op; op < j->op; op++)
		if (!strcmp(op->key, j->op->key))
			return true;
	return false;
}

static enum rights_verdict judge_op(struct judged *j)
{
	u8 role = j->who->role;
	const struct row *r;
	rights_rule rule;
	enum rights_verdict v;

	if (is_twice(j)) {
		v = rights_refuse(j, "this key is in the transaction twice");
		j->err = -EINVAL;
		return v;
	}
	if (key_parse(j->op->key, &j->key))
		return role == PLAN_STORE ? RIGHTS_ALLOWED :
		       rights_refuse(j, "a host of role %s must not write this key", rights_role(role));
	r = &rows[j->key.kind];
	rule = (j->op->value ? r->put : r->erase)[role - PLAN_CLIENT];
	if (!rule)
		return rights_refuse(j, "a host of role %s must not %s this key", rights_role(role),
				     j->op->value ? "write" : "delete");
	v = judge_lease(j, r);
	if (v)
		return v;
	return j->op->value ? judge_value(j, rule) : rule(j);
}

static enum rights_verdict judge_ops(const struct rights_who *who, const struct store_txn *t,
				     const struct rights_source *from, int *err, char why[RIGHTS_WHY])
{
	enum rights_verdict v, worst = RIGHTS_ALLOWED;

	for (size_t i = 0; i < t->ops; i++) {
		struct judged j = { .who = who, .txn = t, .from = from, .op = &t->op[i], .why = why };

		v = judge_op(&j);
		if (v == RIGHTS_REFUSED || v == RIGHTS_UNREAD)
			*err = j.err;
		if (v == RIGHTS_REFUSED)
			return v;
		worst = v > worst ? v : worst;
	}
	return worst;
}

enum rights_verdict rights_txn(const struct rights_who *who, const struct store_txn *t,
			       const struct rights_source *from, int *err, char why[RIGHTS_WHY])
{
	*err = -EACCES;
	if (who->role < PLAN_CLIENT || who->role > PLAN_STORE)
		return refuse(why, "no such role");
	for (size_t i = 0; i < t->compares; i++)
		if (rights_read(who, t->compare[i].key, why))
			return RIGHTS_REFUSED;
	*err = 0;
	return judge_ops(who, t, from, err, why);
}
