// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "userspace/store/rights_rule.h"
#include "userspace/store/token.h"

enum lease_use { NEVER, MAY, MUST };

/*
 * A prefix that ends in '/' stands for the keys below it, any other one for that key alone.
 * @form: segments behind the prefix: U a UUID, S other text.
 * @read: the least role that reads; @put, @erase: a rule for client, storage and store. NULL: never.
 *
 * Keys of no row, or of another form, are of a later version: only a store host reads and writes them.
 */
static const struct row {
	const char *prefix, *form;
	u8	read;
	enum lease_use lease;
	rights_rule put[3], erase[3];
} rows[] = {
	/* prefix	form	least reader	lease	put: client, storage, store	erase */
	{ "cluster",	"",	PLAN_CLIENT,	NEVER,	{ NULL, NULL, rule_any },
							{ NULL, NULL, NULL } },
	{ "leader",	"",	PLAN_CLIENT,	MUST,	{ NULL, NULL, rule_any },
							{ NULL, NULL, rule_any } },
	{ "host/",	"U",	PLAN_CLIENT,	NEVER,	{ rule_host, rule_host, rule_any },
							{ NULL, NULL, rule_any } },
	{ "alive/",	"U",	PLAN_CLIENT,	MUST,	{ rule_own, rule_own, rule_own },
							{ rule_own, rule_own, rule_any } },
	{ "device/",	"U",	PLAN_CLIENT,	MAY,	{ rule_own, rule_own, rule_any },
							{ rule_own, rule_own, rule_any } },
	{ "drive/",	"U",	PLAN_CLIENT,	NEVER,	{ rule_drive_client, rule_drive_storage, rule_any },
							{ NULL, NULL, rule_any } },
	{ "volume/",	"U",	PLAN_CLIENT,	NEVER,	{ NULL, NULL, rule_volume },
							{ NULL, NULL, rule_any } },
	{ "name/",	"S",	PLAN_CLIENT,	NEVER,	{ NULL, NULL, rule_any },
							{ NULL, NULL, rule_any } },
	{ "access/",	"U",	PLAN_CLIENT,	NEVER,	{ rule_access, rule_access, rule_any },
							{ NULL, NULL, rule_any } },
	{ "reader/",	"UU",	PLAN_CLIENT,	MAY,	{ rule_reader, rule_reader, rule_any },
							{ rule_reader_end, rule_reader_end, rule_any } },
	{ "want/",	"UU",	PLAN_CLIENT,	NEVER,	{ rule_own, rule_any, rule_any },
							{ rule_own, rule_any, rule_any } },
	{ "writer/",	"U",	PLAN_CLIENT,	NEVER,	{ rule_writer, rule_any, rule_any },
							{ rule_writer_end, rule_any, rule_any } },
	{ "roster/",	"U",	PLAN_CLIENT,	NEVER,	{ rule_roster, rule_roster, rule_any },
							{ NULL, NULL, rule_any } },
	{ "task/",	"U",	PLAN_CLIENT,	NEVER,	{ rule_task, rule_any, rule_any },
							{ NULL, NULL, rule_any } },
	{ "event/",	"US",	PLAN_CLIENT,	MAY,	{ rule_own, rule_own, rule_any },
							{ rule_own, rule_own, rule_any } },
	{ "status/",	"UU",	PLAN_CLIENT,	MAY,	{ rule_own, rule_own, rule_any },
							{ rule_own, rule_own, rule_any } },
	{ "token/",	"U",	PLAN_STORE,	MUST,	{ NULL, NULL, rule_any },
							{ NULL, NULL, rule_any } },
};

const char *rights_role(u8 role)
{
	const char *word = token_role(role);

	return word ? word : "unknown";
}

enum rights_verdict rights_refuse(struct judged *j, const char *fmt, ...)
{
	va_list ap;
	int at = snprintf(j->why, RIGHTS_WHY, "%.100s: ", j->op->key);

	va_start(ap, fmt);
	vsnprintf(j->why + at, RIGHTS_WHY - at, fmt, ap);
	va_end(ap);
	return RIGHTS_REFUSED;
}

/* NULL: the key, or part of what the prefix finds, is in no row. */
static const struct row *find_row(const char *key)
{
	for (const struct row *r = rows; r < rows + sizeof(rows) / sizeof(*rows); r++) {
		size_t n = strlen(r->prefix);

		if (r->form[0] ? !strncmp(key, r->prefix, n) : !strcmp(key, r->prefix))
			return r;
	}
	return NULL;
}

enum rights_verdict rights_read(const struct rights_who *who, const char *prefix, char why[RIGHTS_WHY])
{
	const struct row *r = find_row(prefix);

	if (who->role >= (r ? r->read : PLAN_STORE) && who->role <= PLAN_STORE)
		return RIGHTS_ALLOWED;
	snprintf(why, RIGHTS_WHY, "a %s must not read all of \"%.100s\"", rights_role(who->role), prefix);
	return RIGHTS_REFUSED;
}

static bool parse_uuid(const char *text, size_t len, struct muuid *u)
{
	char copy[MUUID_TEXT];

	if (len != MUUID_TEXT - 1)
		return false;
	memcpy(copy, text, len);
	copy[len] = 0;
	/* One text for each key: muuid_parse() takes capital letters as well. */
	return !muuid_parse(copy, u) && !muuid_null(u) && !strcmp(copy, muuid_str(u).s);
}

/* The segments behind the prefix are as the form says. */
static bool parse_form(const struct row *r, const char *key, struct muuid seg[2])
{
	const char *at = key + strlen(r->prefix), *form = r->form;
	size_t len;

	for (; *form; form++) {
		len = strcspn(at, "/");
		if (*form == 'U' ? !parse_uuid(at, len, seg++) : !len)
			return false;
		at += len;
		if (form[1] && *at++ != '/')
			return false;
	}
	return !*at;
}

static enum rights_verdict judge_lease(struct judged *j, const struct row *r)
{
	if (!j->op->value || r->lease == MAY || (r->lease == MUST) == !!j->op->lease)
		return RIGHTS_ALLOWED;
	return rights_refuse(j, r->lease == MUST ? "this key must be on a lease" :
			     "this key must not be on a lease, since it would go with it");
}

static enum rights_verdict run_rule(struct judged *j, rights_rule rule)
{
	enum rights_verdict v;

	/* rule_any has no condition on the value, rule_own none but that it is an object. */
	if (j->op->value && rule != rule_any) {
		j->value = json_loadb(j->op->value, j->op->len, JSON_REJECT_DUPLICATES, NULL);
		if (!json_is_object(j->value)) {
			json_decref(j->value);
			return rights_refuse(j, "the value is no JSON object");
		}
	}
	v = rule(j);
	json_decref(j->value);
	j->value = NULL;
	return v;
}

static enum rights_verdict judge_op(struct judged *j)
{
	const struct row *r = find_row(j->op->key);
	enum rights_verdict v;
	rights_rule rule;
	u8 role = j->who->role;

	if (!r || !parse_form(r, j->op->key, j->seg))
		return role == PLAN_STORE ? RIGHTS_ALLOWED :
		       rights_refuse(j, "a %s must not write this key", rights_role(role));
	rule = (j->op->value ? r->put : r->erase)[role - PLAN_CLIENT];
	if (!rule)
		return rights_refuse(j, "a %s must not %s this key", rights_role(role),
				     j->op->value ? "write" : "delete");
	v = judge_lease(j, r);
	return v ? v : run_rule(j, rule);
}

enum rights_verdict rights_txn(const struct rights_who *who, const struct store_txn *t,
			       const struct rights_source *from, int *err, char why[RIGHTS_WHY])
{
	enum rights_verdict v, worst = RIGHTS_ALLOWED;

	if (who->role < PLAN_CLIENT || who->role > PLAN_STORE) {
		snprintf(why, RIGHTS_WHY, "no such role");
		return RIGHTS_REFUSED;
	}
	for (size_t i = 0; i < t->compares; i++)
		if (rights_read(who, t->compare[i].key, why))
			return RIGHTS_REFUSED;
	for (size_t i = 0; i < t->ops; i++) {
		struct judged j = { .who = who, .txn = t, .from = from, .op = &t->op[i], .why = why };

		v = judge_op(&j);
		if (v == RIGHTS_REFUSED)
			return v;
		if (v == RIGHTS_UNREAD)
			*err = j.err;
		worst = v > worst ? v : worst;
	}
	return worst;
}
