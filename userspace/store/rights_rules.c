// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "driver/uapi/number.h"
#include "userspace/format/json.h"
#include "userspace/store/rights_rule.h"
#include "userspace/store/token.h"

#define VERB_CREATE	"volume create"	/* the task that is about no volume yet */

#define VERDICT(expr)	do {					\
		enum rights_verdict verdict_ = (expr);		\
		if (verdict_)					\
			return verdict_;			\
	} while (0)

enum rights_verdict rule_any(struct judged *j)
{
	(void)j;
	return RIGHTS_ALLOWED;
}

static bool is_self(const struct judged *j, const struct muuid *u)
{
	return muuid_equal(u, &j->who->host);
}

/* The member is a UUID, and is this host. */
static bool names_self(const struct judged *j, const json_t *o, const char *member)
{
	struct muuid u;

	return !jget_uuid(o, member, &u) && is_self(j, &u);
}

/* No holder: the member is missing, null, or a UUID of zeros. */
static bool names_none(const json_t *o, const char *member)
{
	const json_t *m = json_object_get(o, member);
	struct muuid u;

	return !m || json_is_null(m) || (!jget_uuid(o, member, &u) && muuid_null(&u));
}

static bool has_word(const json_t *o, const char *member, const char *word)
{
	const char *s = json_string_value(json_object_get(o, member));

	return s && !strcmp(s, word);
}

/* A key of the store, decoded. @out: NULL if there is none. Release it with json_decref(). */
static enum rights_verdict read_key(struct judged *j, const char *key, json_t **out, u64 *modified)
{
	const struct store_kv *kv;
	int err = j->from->get(j->from->priv, key, &kv);

	*out = NULL;
	*modified = 0;
	if (err == -ENOENT)
		return RIGHTS_ALLOWED;
	if (err) {
		j->err = err;
		return RIGHTS_UNREAD;
	}
	*modified = kv->modified;
	*out = json_loadb(kv->value, kv->len, 0, NULL);
	if (json_is_object(*out))
		return RIGHTS_ALLOWED;
	json_decref(*out);
	*out = NULL;
	return rights_refuse(j, "%.100s is damaged: its value is no JSON object", key);
}

/* The compare of @key by which this transaction depends on the value; NULL: there is none. */
static const struct store_compare *compare_of(const struct judged *j, const char *key)
{
	for (size_t i = 0; i < j->txn->compares; i++)
		if (j->txn->compare[i].kind != STORE_NONE_BELOW && !strcmp(j->txn->compare[i].key, key))
			return &j->txn->compare[i];
	return NULL;
}

/* read_key() of the very value that the transaction compares. */
static enum rights_verdict read_compared(struct judged *j, const char *key, json_t **out)
{
	const struct store_compare *c = compare_of(j, key);
	u64 modified;

	*out = NULL;
	if (!c)
		return rights_refuse(j, "the transaction must compare %.100s", key);
	VERDICT(read_key(j, key, out, &modified));
	if (modified == (c->kind == STORE_SAME ? c->modified : 0))
		return RIGHTS_ALLOWED;
	json_decref(*out);
	*out = NULL;
	return RIGHTS_STALE;
}

static void volume_key(const char *word, const struct muuid *volume, char key[STORE_KEY_MAX])
{
	snprintf(key, STORE_KEY_MAX, "%s/%s", word, muuid_str(volume).s);
}

/* A list of hosts that is well formed: no more than a target's table can have. */
static bool allow_whole(const json_t *allow)
{
	struct muuid u;
	const json_t *one;
	size_t i;

	if (!json_is_array(allow) || !json_array_size(allow) || json_array_size(allow) > PLAN_ALLOW_MAX)
		return false;
	json_array_foreach(allow, i, one) {
		if (!json_is_string(one) || muuid_parse(json_string_value(one), &u))
			return false;
	}
	return true;
}

/* Every host is allowed. */
static bool allow_all(const json_t *volume)
{
	const json_t *allow = json_object_get(volume, "allow");

	return json_is_string(allow) && !strcmp(json_string_value(allow), "all");
}

static bool allows_self(const struct judged *j, const json_t *volume)
{
	const json_t *allow = json_object_get(volume, "allow"), *one;
	struct muuid u;
	size_t i;

	if (allow_all(volume))
		return true;
	if (!allow_whole(allow))
		return false;
	json_array_foreach(allow, i, one) {
		if (!muuid_parse(json_string_value(one), &u) && is_self(j, &u))
			return true;
	}
	return false;
}

/* The volume exists and its allow names this host. @compared: the transaction depends on it. */
static enum rights_verdict check_allow(struct judged *j, const struct muuid *volume, bool compared,
				       const char *state)
{
	char key[STORE_KEY_MAX];
	enum rights_verdict v;
	json_t *o;
	u64 modified;
	bool ok, state_ok;

	volume_key("volume", volume, key);
	v = compared ? read_compared(j, key, &o) : read_key(j, key, &o, &modified);
	if (v)
		return v;
	if (!o)
		return rights_refuse(j, "there is no volume %s", muuid_str(volume).s);
	ok = allows_self(j, o);
	state_ok = !state || has_word(o, "state", state);
	json_decref(o);
	if (!ok)
		return rights_refuse(j, "this host is not in the allow of volume %s", muuid_str(volume).s);
	return state_ok ? RIGHTS_ALLOWED :
	       rights_refuse(j, "volume %s is not %s", muuid_str(volume).s, state);
}

enum rights_verdict rule_own(struct judged *j)
{
	return is_self(j, &j->seg[0]) ? RIGHTS_ALLOWED :
	       rights_refuse(j, "a %s must not write keys of another host", rights_role(j->who->role));
}

/* The role is what the key of the connection proved; a tombstone stays. */
enum rights_verdict rule_host(struct judged *j)
{
	const char *role = json_string_value(json_object_get(j->value, "role"));
	bool removed = false;
	json_t *old;

	VERDICT(rule_own(j));
	if (!role || token_role_of(role) != j->who->role)
		return rights_refuse(j, "the role of this host is %s, by its key",
				     rights_role(j->who->role));
	VERDICT(read_compared(j, j->op->key, &old));
	if (old)
		jget_bool(old, "removed", &removed);
	json_decref(old);
	return removed ? rights_refuse(j, "this host was removed") : RIGHTS_ALLOWED;
}

/* @n: of the extent in the array of @drive with this UUID; NULL: none. */
static const json_t *find_extent(const json_t *drive, const char *uuid)
{
	const json_t *one;
	size_t i;

	json_array_foreach(json_object_get(drive, "extents"), i, one) {
		if (has_word(one, "uuid", uuid))
			return one;
	}
	return NULL;
}

static bool same_member(const json_t *a, const json_t *b, const char *member)
{
	const json_t *x = json_object_get(a, member), *y = json_object_get(b, member);

	return x == y || json_equal(x, y);
}

/*
 * Space is given out by the controller and freed once nothing needs it: an agent moves no extent,
 * and drops only those that are freeing. One that its label has and the key lacks it may add.
 */
static enum rights_verdict check_extents(struct judged *j, const json_t *old)
{
	static const char *const fixed[] = { "volume", "place", "start", "length" };
	const json_t *list = json_object_get(j->value, "extents"), *one, *was;
	const char *uuid;
	size_t i, k;

	if (list && !json_is_array(list))
		return rights_refuse(j, "extents are no array");
	json_array_foreach(list, i, one) {
		uuid = json_string_value(json_object_get(one, "uuid"));
		if (!uuid || find_extent(j->value, uuid) != one)
			return rights_refuse(j, "an extent has no UUID, or that of another one");
		was = find_extent(old, uuid);
		for (k = 0; was && k < sizeof(fixed) / sizeof(*fixed); k++)
			if (!same_member(one, was, fixed[k]))
				return rights_refuse(j, "an agent must not change the %s of an extent",
						     fixed[k]);
	}
	json_array_foreach(json_object_get(old, "extents"), i, was) {
		uuid = json_string_value(json_object_get(was, "uuid"));
		if (uuid && !find_extent(j->value, uuid) && !has_word(was, "state", "freeing"))
			return rights_refuse(j, "an agent must not drop an extent that is not freeing");
	}
	return RIGHTS_ALLOWED;
}

static bool is_local(const json_t *drive)
{
	bool local;

	return !jget_bool(drive, "local", &local) && local;
}

/* A drive of this machine that no other host reaches. */
enum rights_verdict rule_drive_client(struct judged *j)
{
	enum rights_verdict v;
	json_t *old;

	VERDICT(read_compared(j, j->op->key, &old));
	if (!names_self(j, j->value, "host") || (old && !names_self(j, old, "host")))
		v = rights_refuse(j, "a client must not write drives of another host");
	else if (!is_local(j->value) || (old && !is_local(old)))
		v = rights_refuse(j, "a client must not write drives that are not local ones");
	else
		v = check_extents(j, old);
	json_decref(old);
	return v;
}

/* A storage host takes over a drive that has left its former host. */
static bool has_left(const json_t *drive)
{
	return has_word(drive, "wanted", "out") || names_none(drive, "host");
}

enum rights_verdict rule_drive_storage(struct judged *j)
{
	enum rights_verdict v;
	json_t *old;

	VERDICT(read_compared(j, j->op->key, &old));
	if (!names_self(j, j->value, "host"))
		v = rights_refuse(j, "a storage host must not write drives of another host");
	else if (old && !names_self(j, old, "host") && !has_left(old))
		v = rights_refuse(j, "the drive is still exported by its former host");
	else
		v = check_extents(j, old);
	json_decref(old);
	return v;
}

/* The layout is judged by the controller; the list must fit a target's table. */
enum rights_verdict rule_volume(struct judged *j)
{
	return allow_all(j->value) || allow_whole(json_object_get(j->value, "allow")) ? RIGHTS_ALLOWED :
	       rights_refuse(j, "allow is neither \"all\" nor 1 to %u hosts", PLAN_ALLOW_MAX);
}

static enum rights_verdict check_take(struct judged *j, const json_t *old)
{
	u64 was, is;

	if (!names_self(j, j->value, "holder"))
		return rights_refuse(j, "a host must not attach for another one");
	if (jget_u64(old, "number", &was) || jget_u64(j->value, "number", &is))
		return rights_refuse(j, "the number is missing");
	if (mesh_number_counter(was) == MESH_NUMBER_COUNTER_MAX ||
	    is != mesh_number(mesh_number_generation(was), mesh_number_counter(was) + 1, 0))
		return rights_refuse(j, "an attach must raise the counter by exactly 1");
	return check_allow(j, &j->seg[0], true, "ready");
}

static enum rights_verdict check_release(struct judged *j, const json_t *old)
{
	u64 was, is;

	if (!has_word(old, "mode", "rw") || !names_self(j, old, "holder"))
		return rights_refuse(j, "this host is not the holder");
	if (!names_none(j->value, "holder"))
		return rights_refuse(j, "without a mode there is no holder");
	if (jget_u64(old, "number", &was) || jget_u64(j->value, "number", &is) || was != is)
		return rights_refuse(j, "a release must keep the number");
	return RIGHTS_ALLOWED;
}

enum rights_verdict rule_access(struct judged *j)
{
	enum rights_verdict v;
	json_t *old;

	VERDICT(read_compared(j, j->op->key, &old));
	if (!old)
		v = rights_refuse(j, "the controller makes this key, with its volume");
	else if (has_word(j->value, "mode", "rw"))
		v = check_take(j, old);
	else if (has_word(j->value, "mode", "none"))
		v = check_release(j, old);
	else
		v = rights_refuse(j, "the mode must be rw or none");
	json_decref(old);
	return v;
}

/* access/V as this transaction compares it. */
static enum rights_verdict read_access(struct judged *j, json_t **out)
{
	char key[STORE_KEY_MAX];

	volume_key("access", &j->seg[0], key);
	VERDICT(read_compared(j, key, out));
	return *out ? RIGHTS_ALLOWED : rights_refuse(j, "there is no %.100s", key);
}

static bool same_number(const json_t *a, const json_t *b)
{
	u64 x, y;

	return !jget_u64(a, "number", &x) && !jget_u64(b, "number", &y) &&
	       mesh_number_access(x) == mesh_number_access(y);
}

/* A reader's OPENs have the number under which it attached; a later one would be refused for good. */
enum rights_verdict rule_reader(struct judged *j)
{
	json_t *access;
	bool same;

	if (!is_self(j, &j->seg[1]))
		return rights_refuse(j, "a host must not attach for another one");
	VERDICT(read_access(j, &access));
	same = same_number(j->value, access);
	json_decref(access);
	if (!same)
		return rights_refuse(j, "the number is not that of the volume's access");
	return check_allow(j, &j->seg[0], true, "ready");
}

/* A writer that preempts removes all readers, in the transaction that takes the volume. */
enum rights_verdict rule_reader_end(struct judged *j)
{
	char key[STORE_KEY_MAX];

	if (is_self(j, &j->seg[1]))
		return RIGHTS_ALLOWED;
	volume_key("access", &j->seg[0], key);
	for (size_t i = 0; i < j->txn->ops; i++) {
		const struct store_op *op = &j->txn->op[i];

		/* rule_access judges the operation itself: with a holder it is an attach of this host. */
		if (op->value && !strcmp(op->key, key)) {
			json_t *o = json_loadb(op->value, op->len, 0, NULL);
			bool takes = has_word(o, "mode", "rw");

			json_decref(o);
			if (takes)
				return RIGHTS_ALLOWED;
		}
	}
	return rights_refuse(j, "another host's reader ends only where this host attaches for writing");
}

static enum rights_verdict check_writer(struct judged *j)
{
	json_t *old;
	bool free_or_own;

	VERDICT(read_compared(j, j->op->key, &old));
	free_or_own = !old || names_self(j, old, "host");
	json_decref(old);
	return free_or_own ? RIGHTS_ALLOWED : rights_refuse(j, "another host is to be the writer");
}

enum rights_verdict rule_writer(struct judged *j)
{
	if (!names_self(j, j->value, "host"))
		return rights_refuse(j, "a client must not choose another host as the writer");
	VERDICT(check_writer(j));
	return check_allow(j, &j->seg[0], false, NULL);
}

enum rights_verdict rule_writer_end(struct judged *j)
{
	return check_writer(j);
}

/* No roster is of a later attachment than the store gave: all that read it would stop. */
static bool rosters_fit(const json_t *value, const json_t *access)
{
	const json_t *one;
	u64 number, attach;
	size_t i;

	if (jget_u64(access, "number", &number) || !json_is_array(json_object_get(value, "groups")))
		return false;
	json_array_foreach(json_object_get(value, "groups"), i, one) {
		if (json_object_get(one, "attach") &&
		    (jget_u64(one, "attach", &attach) ||
		     mesh_number_access(attach) > mesh_number_access(number)))
			return false;
	}
	return true;
}

/* Only the holder knows them, and only while it is the holder. */
enum rights_verdict rule_roster(struct judged *j)
{
	bool holder, fit;
	json_t *access;

	VERDICT(read_access(j, &access));
	holder = has_word(access, "mode", "rw") && names_self(j, access, "holder");
	fit = rosters_fit(j->value, access);
	json_decref(access);
	if (!holder)
		return rights_refuse(j, "only the holder notes rosters");
	return fit ? RIGHTS_ALLOWED : rights_refuse(j, "a roster is of a later attachment");
}

/* A create has no volume yet; any other task is about one whose allow names this host. */
static enum rights_verdict check_task(struct judged *j, const json_t *task)
{
	struct muuid volume;

	if (has_word(task, "verb", VERB_CREATE))
		return RIGHTS_ALLOWED;
	if (jget_uuid(task, "volume", &volume))
		return rights_refuse(j, "a client may only create volumes, and change those that allow it");
	return check_allow(j, &volume, false, NULL);
}

enum rights_verdict rule_task(struct judged *j)
{
	enum rights_verdict v;
	json_t *old;

	if (!names_self(j, j->value, "host"))
		return rights_refuse(j, "the task must name the host that requests it");
	VERDICT(read_compared(j, j->op->key, &old));
	v = check_task(j, j->value);
	if (!v && old)
		v = check_task(j, old);
	if (!v && old && (!same_member(old, j->value, "verb") || !same_member(old, j->value, "volume")))
		v = rights_refuse(j, "what a task is about must not change");
	if (!v && old && has_word(old, "verb", VERB_CREATE) && !names_self(j, old, "host"))
		v = rights_refuse(j, "another host has requested this task");
	json_decref(old);
	return v;
}
