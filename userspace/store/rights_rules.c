// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <string.h>

#include "driver/uapi/number.h"
#include "userspace/store/rights_rule.h"

#define VERB_CREATE	"volume create"	/* the task that is about no volume yet */
#define VERB_VOLUME	"volume "	/* tasks that are about one begin so */
/* Tasks that the agent of a host carries out by itself. */
#define VERB_EXPORT	"drive export"
#define VERB_UNEXPORT	"drive unexport"

#define ADDED_MAX	16		/* volumes of which a client adds extents in one transaction */

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

static enum rights_verdict unread(struct judged *j, int err)
{
	j->err = err;
	return RIGHTS_UNREAD;
}

/* False: the store has no such key. */
static bool is_there(const union obj_any *x)
{
	return x->o.v;
}

/* A key of the store, decoded; empty if there is none. Release it with obj_free() in any case. */
static enum rights_verdict read_key(struct judged *j, const struct key *k, union obj_any *out,
				    u64 *modified)
{
	char key[STORE_KEY_MAX], why[OBJ_WHY];
	const struct store_kv *kv;
	int err = key_text(k, key);

	memset(out, 0, sizeof(*out));
	*modified = 0;
	if (!err)
		err = j->from->get(j->from->priv, key, &kv);
	if (err)
		return err == -ENOENT ? RIGHTS_ALLOWED : unread(j, err);
	*modified = kv->modified;
	err = obj_read(k, kv->value, kv->len, out, why, sizeof(why));
	if (!err)
		return RIGHTS_ALLOWED;
	return err == -ENOMEM ? unread(j, err) :
	       rights_refuse(j, "%s cannot be judged from: %s", key, why);
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
static enum rights_verdict read_compared(struct judged *j, const struct key *k, union obj_any *out)
{
	const struct store_compare *c;
	char key[STORE_KEY_MAX];
	u64 modified;

	memset(out, 0, sizeof(*out));
	if (key_text(k, key))
		return unread(j, -EINVAL);
	c = compare_of(j, key);
	if (!c)
		return rights_refuse(j, "the transaction must compare %s", key);
	VERDICT(read_key(j, k, out, &modified));
	return modified == (c->kind == STORE_SAME ? c->modified : 0) ? RIGHTS_ALLOWED : RIGHTS_STALE;
}

/*
 * A rule about the value that the key has, and the one that it gets. @old: compared; empty if there
 * is none.
 */
typedef enum rights_verdict (*change_rule)(struct judged *j, const union obj_any *old);

static enum rights_verdict judge_change(struct judged *j, change_rule rule)
{
	union obj_any old;
	enum rights_verdict v = read_compared(j, &j->key, &old);

	if (!v)
		v = rule(j, &old);
	obj_free(j->key.kind, &old);
	return v;
}

/* Members that are not known here cannot be judged. */
static enum rights_verdict check_unknown(struct judged *j, const union obj_any *old)
{
	int ret = obj_gives(j->key.kind, j->is, is_there(old) ? &old->o : NULL, &j->is->o);

	if (ret < 0)
		return unread(j, ret);
	return ret ? RIGHTS_ALLOWED :
	       rights_refuse(j, "members that this version does not know must stay as they are, and none"
			     " must be added");
}

static bool allows_self(const struct judged *j, const struct plan_volume *v)
{
	for (u32 i = 0; i < v->allows; i++)
		if (is_self(j, &v->allow[i]))
			return true;
	return !v->allows;
}

static enum rights_verdict check_volume(struct judged *j, const struct obj_volume *v, bool ready)
{
	if (!v->o.v)
		return rights_refuse(j, "there is no such volume");
	if (!allows_self(j, &v->plan))
		return rights_refuse(j, "this host is not in the allow of volume %s", muuid_str(&v->plan.uuid).s);
	if (ready && v->plan.state != PLAN_VOLUME_READY)
		return rights_refuse(j, "volume %s is not ready", muuid_str(&v->plan.uuid).s);
	return RIGHTS_ALLOWED;
}

/* The volume exists and its allow names this host. */
static enum rights_verdict check_allow(struct judged *j, const struct muuid *volume)
{
	const struct key k = { .kind = KEY_VOLUME, .volume = *volume };
	enum rights_verdict v;
	union obj_any x;
	u64 modified;

	v = read_key(j, &k, &x, &modified);
	if (!v)
		v = check_volume(j, &x.volume, false);
	obj_free(k.kind, &x);
	return v;
}

/* The same, the volume is ready, and the transaction depends on it. */
static enum rights_verdict check_ready(struct judged *j, const struct muuid *volume)
{
	const struct key k = { .kind = KEY_VOLUME, .volume = *volume };
	enum rights_verdict v;
	union obj_any x;

	v = read_compared(j, &k, &x);
	if (!v)
		v = check_volume(j, &x.volume, true);
	obj_free(k.kind, &x);
	return v;
}

enum rights_verdict rule_own(struct judged *j)
{
	return is_self(j, &j->key.host) ? RIGHTS_ALLOWED :
	       rights_refuse(j, "a host of role %s must not write keys of another host", rights_role(j->who->role));
}

/* Recover believes a client less, so the role is what the key of the connection proved. */
enum rights_verdict rule_report(struct judged *j)
{
	VERDICT(rule_own(j));
	return j->is->report.role == j->who->role ? RIGHTS_ALLOWED :
	       rights_refuse(j, "the role of this host is %s, by its key", rights_role(j->who->role));
}

/* The role is what the key of the connection proved; a tombstone stays. */
static enum rights_verdict change_host(struct judged *j, const union obj_any *old)
{
	if (j->is->host.plan.role != j->who->role)
		return rights_refuse(j, "the role of this host is %s, by its key",
				     rights_role(j->who->role));
	if (old->host.plan.removed)
		return rights_refuse(j, "this host was removed");
	return check_unknown(j, old);
}

enum rights_verdict rule_host(struct judged *j)
{
	VERDICT(rule_own(j));
	return judge_change(j, change_host);
}

static const struct plan_extent *find_extent(const struct plan_drive *d, const struct muuid *extent)
{
	for (u32 i = 0; i < d->extents; i++)
		if (muuid_equal(&d->extent[i].uuid, extent))
			return &d->extent[i];
	return NULL;
}

/* An agent labels and zeroes an extent that is wanted; all else is decided by the controller. */
static enum rights_verdict check_extent(struct judged *j, const struct plan_extent *was,
					const struct plan_extent *is)
{
	const char *what = NULL;

	if (!muuid_equal(&was->volume, &is->volume))
		what = "volume";
	else if (was->place != is->place)
		what = "place";
	else if (was->start != is->start)
		what = "start";
	else if (was->length != is->length)
		what = "length";
	else if (was->state != is->state && !(was->state == PLAN_WANTED && is->state == PLAN_READY))
		what = "state";
	return what ? rights_refuse(j, "an agent must not change the %s of an extent", what) : RIGHTS_ALLOWED;
}

/*
 * Space is given out by the controller and freed once nothing needs it: an agent moves no extent,
 * and drops only those that are freeing. One that its label has and the key lacks it may add.
 */
static enum rights_verdict check_extents(struct judged *j, const struct plan_drive *old)
{
	const struct plan_drive *d = &j->is->drive.plan;
	const struct plan_extent *was;

	for (u32 i = 0; i < d->extents; i++) {
		was = find_extent(old, &d->extent[i].uuid);
		if (was)
			VERDICT(check_extent(j, was, &d->extent[i]));
		else if (d->extent[i].state == PLAN_FREEING)
			return rights_refuse(j, "an agent must not add an extent that is freeing");
	}
	for (u32 i = 0; i < old->extents; i++)
		if (old->extent[i].state != PLAN_FREEING && !find_extent(d, &old->extent[i].uuid))
			return rights_refuse(j, "an agent must not drop an extent that is not freeing");
	return RIGHTS_ALLOWED;
}

/* A drive that was given up stays so until a command erases it. */
static enum rights_verdict check_drive(struct judged *j, const union obj_any *old)
{
	if (j->is->drive.plan.wanted == PLAN_FORGOTTEN || old->drive.plan.wanted == PLAN_FORGOTTEN)
		return rights_refuse(j, "a drive is forgotten, and remembered again, by the controller alone");
	VERDICT(check_extents(j, &old->drive.plan));
	return check_unknown(j, old);
}

/*
 * A delete waits for all extents of its volume, and so would for one of a client that it was never
 * given. A volume that the store does not have may come back by recover.
 */
static enum rights_verdict check_added(struct judged *j, const struct plan_drive *old)
{
	const struct plan_drive *d = &j->is->drive.plan;
	const struct muuid *last = NULL;
	enum rights_verdict v = RIGHTS_ALLOWED;
	u32 added = 0;

	for (u32 i = 0; i < d->extents && !v; i++) {
		const struct key k = { .kind = KEY_VOLUME, .volume = d->extent[i].volume };
		union obj_any x;
		u64 modified;

		if (find_extent(old, &d->extent[i].uuid) || (last && muuid_equal(last, &k.volume)))
			continue;
		last = &d->extent[i].volume;
		/* Each one is read from the store while the others wait. */
		if (++added > ADDED_MAX)
			return rights_refuse(j, "extents of more than %u volumes are added at once", ADDED_MAX);
		v = read_key(j, &k, &x, &modified);
		if (!v && is_there(&x))
			v = check_volume(j, &x.volume, false);
		obj_free(k.kind, &x);
	}
	return v;
}

/* A drive of this machine that no other host reaches. */
static enum rights_verdict change_drive_client(struct judged *j, const union obj_any *old)
{
	bool had = is_there(old);

	if (!is_self(j, &j->is->drive.plan.host) || (had && !is_self(j, &old->drive.plan.host)))
		return rights_refuse(j, "a client must not write drives of another host");
	if (!j->is->drive.local || (had && !old->drive.local))
		return rights_refuse(j, "a client must not write drives that are not local ones");
	VERDICT(check_drive(j, old));
	return check_added(j, &old->drive.plan);
}

enum rights_verdict rule_drive_client(struct judged *j)
{
	return judge_change(j, change_drive_client);
}

/* Tombstones stay: this one needs no compare. */
static enum rights_verdict read_removed(struct judged *j, const struct muuid *host, bool *removed)
{
	const struct key k = { .kind = KEY_HOST, .host = *host };
	enum rights_verdict v;
	union obj_any x;
	u64 modified;

	v = read_key(j, &k, &x, &modified);
	*removed = !v && is_there(&x) && x.host.plan.removed;
	obj_free(k.kind, &x);
	return v;
}

/* A storage host takes over a drive that has left its former host, and is the same hardware. */
static enum rights_verdict check_move(struct judged *j, const struct obj_drive *old)
{
	const struct obj_drive *is = &j->is->drive;
	bool removed;

	VERDICT(read_removed(j, &old->plan.host, &removed));
	if (old->plan.wanted != PLAN_OUT && !removed)
		return rights_refuse(j, "the drive is still exported by its former host");
	if (strcmp(old->wwid, is->wwid) || strcmp(old->serial, is->serial))
		return rights_refuse(j, "world-wide id or serial are not those of the drive that its former host"
				     " had: this is a copy");
	return RIGHTS_ALLOWED;
}

static enum rights_verdict change_drive_storage(struct judged *j, const union obj_any *old)
{
	if (!is_self(j, &j->is->drive.plan.host))
		return rights_refuse(j, "a storage host must not write drives of another host");
	if (is_there(old) && !is_self(j, &old->drive.plan.host))
		VERDICT(check_move(j, &old->drive));
	return check_drive(j, old);
}

enum rights_verdict rule_drive_storage(struct judged *j)
{
	return judge_change(j, change_drive_storage);
}

/* Nothing is on it, so nothing is lost: what a drive has is freed before, or stays with the drive. */
static enum rights_verdict change_drive_end(struct judged *j, const union obj_any *old)
{
	const struct obj_drive *d = &old->drive;

	if (!is_there(old))
		return RIGHTS_ALLOWED;
	if (!is_self(j, &d->plan.host))
		return rights_refuse(j, "a host of role %s must not delete drives of another host",
				     rights_role(j->who->role));
	if (j->who->role == PLAN_CLIENT && !d->local)
		return rights_refuse(j, "a client must not delete drives that are not local ones");
	if (d->plan.wanted == PLAN_FORGOTTEN)
		return rights_refuse(j, "a drive that was forgotten stays so");
	return d->plan.extents ? rights_refuse(j, "the drive has extents") : RIGHTS_ALLOWED;
}

enum rights_verdict rule_drive_end(struct judged *j)
{
	return judge_change(j, change_drive_end);
}

static enum rights_verdict check_take(struct judged *j, const struct plan_access *old)
{
	const struct plan_access *is = &j->is->access.plan;

	if (!is_self(j, &is->holder))
		return rights_refuse(j, "a host must not attach for another one");
	/* Beyond the highest counter this is 0, with which the codec accepts no holder. */
	if (is->number != mesh_number(mesh_number_generation(old->number),
				      mesh_number_counter(old->number) + 1, 0))
		return rights_refuse(j, "an attach must raise the counter by exactly 1");
	return check_ready(j, &j->key.volume);
}

static enum rights_verdict check_release(struct judged *j, const struct plan_access *old)
{
	if (!is_self(j, &old->holder))
		return rights_refuse(j, "this host is not the holder");
	return j->is->access.plan.number == old->number ? RIGHTS_ALLOWED :
	       rights_refuse(j, "a release must keep the number");
}

/* The codec knows that a holder and rw go together: a value has both or none. */
static enum rights_verdict change_access(struct judged *j, const union obj_any *old)
{
	if (!is_there(old))
		return rights_refuse(j, "the controller makes this key, with its volume");
	if (j->is->access.plan.mode == PLAN_RW)
		VERDICT(check_take(j, &old->access.plan));
	else if (j->is->access.plan.mode == PLAN_NONE)
		VERDICT(check_release(j, &old->access.plan));
	else
		return rights_refuse(j, "the mode must be rw or none");
	return check_unknown(j, old);
}

enum rights_verdict rule_access(struct judged *j)
{
	return judge_change(j, change_access);
}

/* access/V as this transaction compares it. */
static enum rights_verdict read_access(struct judged *j, struct obj_access *out)
{
	const struct key k = { .kind = KEY_ACCESS, .volume = j->key.volume };
	union obj_any x;
	enum rights_verdict v = read_compared(j, &k, &x);

	if (!v && !is_there(&x))
		v = rights_refuse(j, "the volume has no access key");
	if (!v) {
		*out = x.access;
		out->o.kept = NULL;
	}
	obj_free(k.kind, &x);
	return v;
}

/* A reader's OPENs have the number under which it attached; a later one would be refused for good. */
enum rights_verdict rule_reader(struct judged *j)
{
	struct obj_access access;

	if (!is_self(j, &j->key.host))
		return rights_refuse(j, "a host must not attach for another one");
	VERDICT(read_access(j, &access));
	if (j->is->reader.plan.number != access.plan.number)
		return rights_refuse(j, "the number is not that of the volume's access");
	return check_ready(j, &j->key.volume);
}

/* True if this operation takes the volume for writing, which rule_access judges by itself. */
static bool takes(const struct store_op *op, const struct key *access)
{
	union obj_any x;
	struct key k;
	bool is;

	if (!op->value || key_parse(op->key, &k) || !key_equal(&k, access))
		return false;
	is = !obj_read(&k, op->value, op->len, &x, NULL, 0) && x.access.plan.mode == PLAN_RW;
	obj_free(k.kind, &x);
	return is;
}

/* A writer that preempts removes all readers, in the transaction that takes the volume. */
enum rights_verdict rule_reader_end(struct judged *j)
{
	const struct key access = { .kind = KEY_ACCESS, .volume = j->key.volume };

	if (is_self(j, &j->key.host))
		return RIGHTS_ALLOWED;
	for (size_t i = 0; i < j->txn->ops; i++)
		if (takes(&j->txn->op[i], &access))
			return RIGHTS_ALLOWED;
	return rights_refuse(j, "another host's reader ends only where this host attaches for writing");
}

/*
 * A host that may attach the volume may be its writer in place of another one: it may fence that
 * host in any case. It must not leave the volume without the writer that is another host.
 */
static enum rights_verdict change_writer(struct judged *j, const union obj_any *old)
{
	if (!j->is && is_there(old) && !is_self(j, &old->writer.host))
		return rights_refuse(j, "another host is to be the writer");
	return j->is ? check_unknown(j, old) : RIGHTS_ALLOWED;
}

enum rights_verdict rule_writer(struct judged *j)
{
	if (!is_self(j, &j->is->writer.host))
		return rights_refuse(j, "a client must not choose another host as the writer");
	VERDICT(judge_change(j, change_writer));
	return check_allow(j, &j->key.volume);
}

enum rights_verdict rule_writer_end(struct judged *j)
{
	return judge_change(j, change_writer);
}

/* Only the holder knows them, and only while it is the holder. */
enum rights_verdict rule_roster(struct judged *j)
{
	const struct obj_roster *r = &j->is->roster;
	struct obj_access access;

	VERDICT(read_access(j, &access));
	if (!is_self(j, &access.plan.holder))
		return rights_refuse(j, "only the holder notes rosters");
	if (mesh_number_access(r->plan.number) != access.plan.number)
		return rights_refuse(j, "the rosters are of another attachment than the one that holds the volume");
	/* All that read one of a later attachment than the store gave would stop. */
	for (u32 i = 0; i < r->groups; i++)
		if (mesh_number_access(r->group[i].plan.attach) > access.plan.number)
			return rights_refuse(j, "groups[%u] is of a later attachment", i);
	return RIGHTS_ALLOWED;
}

/* Of volume/V a holder changes one thing: the first rosters of its groups are in the store. */
static enum rights_verdict change_volume(struct judged *j, const union obj_any *old)
{
	struct obj_volume want = old->volume;
	int ret;

	if (!is_there(old))
		return rights_refuse(j, "the controller makes this key");
	memcpy(want.o.op, j->is->o.op, sizeof(want.o.op));
	want.o.v = j->is->o.v;
	want.plan.fresh = false;
	ret = obj_gives(KEY_VOLUME, &want, &j->is->o, &j->is->o);
	if (ret < 0)
		return unread(j, ret);
	if (!ret)
		return rights_refuse(j, "the holder of a volume may clear fresh, and nothing else");
	return check_unknown(j, old);
}

enum rights_verdict rule_volume(struct judged *j)
{
	struct obj_access access;

	VERDICT(read_access(j, &access));
	if (access.plan.mode != PLAN_RW || !is_self(j, &access.plan.holder))
		return rights_refuse(j, "only the holder writes that a volume is not fresh any more");
	return judge_change(j, change_volume);
}

static bool is_create(const struct obj_task *t)
{
	return !strcmp(t->verb, VERB_CREATE);
}

static bool is_drive_task(const struct obj_task *t)
{
	return !strcmp(t->verb, VERB_EXPORT) || !strcmp(t->verb, VERB_UNEXPORT);
}

static bool uuid_arg(const struct obj_task *t, const char *name, struct muuid *out)
{
	const char *text = json_string_value(json_object_get(t->args, name));

	return text && !muuid_parse(text, out);
}

/* The host that carries the task out, if not the one that has its drive. */
static enum rights_verdict host_of_task(struct judged *j, const struct obj_task *t, struct muuid *out)
{
	*out = t->host;
	return json_object_get(t->args, "host") && !uuid_arg(t, "host", out) ?
	       rights_refuse(j, "the host is no UUID") : RIGHTS_ALLOWED;
}

/* An agent carries out its own tasks, whichever host has requested them. @local: a local drive. */
static enum rights_verdict check_carries(struct judged *j, const struct obj_task *t, bool local)
{
	struct key k = { .kind = KEY_DRIVE };
	enum rights_verdict v;
	struct muuid host;
	union obj_any x;
	u64 modified;

	VERDICT(host_of_task(j, t, &host));
	memset(&x, 0, sizeof(x));
	if (!strcmp(t->verb, VERB_UNEXPORT)) {
		if (!uuid_arg(t, "drive", &k.drive))
			return rights_refuse(j, "the drive is no UUID");
		v = read_key(j, &k, &x, &modified);
		if (!v && is_there(&x)) {
			host = x.drive.plan.host;
			local = local && !x.drive.local;
		} else {
			local = false;
		}
		obj_free(k.kind, &x);
		if (v)
			return v;
	}
	if (!is_self(j, &host))
		return rights_refuse(j, "a client may only export and unexport drives of its own");
	return local ? rights_refuse(j, "a client may only unexport local drives") : RIGHTS_ALLOWED;
}

/* A client exports and unexports drives that no other host reaches. */
static enum rights_verdict check_drive_task(struct judged *j, const struct obj_task *t)
{
	bool export = !strcmp(t->verb, VERB_EXPORT);

	if (export && !json_is_true(json_object_get(t->args, "local")))
		return rights_refuse(j, "a client may only export local drives");
	return check_carries(j, t, !export);
}

static enum rights_verdict check_about(struct judged *j, const struct obj_task *t)
{
	if (is_drive_task(t))
		return check_drive_task(j, t);
	if (strncmp(t->verb, VERB_VOLUME, strlen(VERB_VOLUME)) || muuid_null(&t->volume))
		return rights_refuse(j, "a client may only create volumes, and change those that allow it");
	return check_allow(j, &t->volume);
}

/* The controller names the volume of a create; one that exists would be deleted by a cancel. */
static enum rights_verdict check_new_task(struct judged *j, const struct obj_task *t)
{
	if (!is_self(j, &t->host))
		return rights_refuse(j, "the task must name the host that requests it");
	if (t->state != OBJ_TASK_WAITING || t->progress.total || t->step[0] || t->error[0])
		return rights_refuse(j, "a new task waits, and only the controller reports its progress");
	if (t->stage || t->plan.version || t->plan.puts || t->segments || !muuid_null(&t->drive))
		return rights_refuse(j, "only the controller chooses drives and decides versions");
	if (!is_create(t))
		return check_about(j, t);
	return muuid_null(&t->volume) ? RIGHTS_ALLOWED :
	       rights_refuse(j, "a create names no volume: the controller does");
}

static bool is_running(const struct obj_task *t)
{
	return t->state == OBJ_TASK_WAITING || t->state == OBJ_TASK_RUNNING || t->state == OBJ_TASK_CANCELLING;
}

/* Of a task that is there a client changes one thing: it requests the end. */
static enum rights_verdict check_cancel(struct judged *j, const struct obj_task *old)
{
	struct obj_task want = *old;
	int ret;

	if (j->is->task.state != OBJ_TASK_CANCELLING || !is_running(old))
		return rights_refuse(j, "a client may only cancel a task, and one that has not ended");
	memcpy(want.o.op, j->is->o.op, sizeof(want.o.op));
	want.o.v = j->is->o.v;
	want.state = OBJ_TASK_CANCELLING;
	want.changed = j->is->task.changed;
	ret = obj_gives(KEY_TASK, &want, &j->is->o, &j->is->o);
	if (ret < 0)
		return unread(j, ret);
	if (!ret)
		return rights_refuse(j, "a cancel must change nothing else of a task");
	if (!is_create(old))
		return check_about(j, old);
	return is_self(j, &old->host) ? RIGHTS_ALLOWED :
	       rights_refuse(j, "another host has requested this task");
}

/*
 * The agent of a client carries out its own drive tasks: it reports how far it is, and which drive
 * it has chosen, once.
 */
static enum rights_verdict check_progress(struct judged *j, const struct obj_task *old)
{
	const struct obj_task *is = &j->is->task;
	struct obj_task want = *is;
	int ret;

	if (!muuid_null(&old->drive) && !muuid_equal(&old->drive, &is->drive))
		return rights_refuse(j, "the drive of a task stays");
	want.o = old->o;
	memcpy(want.o.op, is->o.op, sizeof(want.o.op));
	want.o.v = is->o.v;
	want.args = old->args;
	want.uuid = old->uuid;
	memcpy(want.verb, old->verb, sizeof(want.verb));
	memcpy(want.user, old->user, sizeof(want.user));
	want.host = old->host;
	want.volume = old->volume;
	want.created = old->created;
	want.stage = old->stage;
	want.plan = old->plan;
	want.segments = old->segments;
	want.segment = old->segment;
	want.afters = old->afters;
	want.after = old->after;
	ret = obj_gives(KEY_TASK, &want, &is->o, &is->o);
	if (ret < 0)
		return unread(j, ret);
	return ret ? check_carries(j, old, false) :
	       rights_refuse(j, "an agent reports the state of its task, and must change nothing else of it");
}

static enum rights_verdict check_old_task(struct judged *j, const struct obj_task *old)
{
	if (is_drive_task(old) && is_running(old) && j->is->task.state != OBJ_TASK_CANCELLING)
		return check_progress(j, old);
	return check_cancel(j, old);
}

static enum rights_verdict change_task(struct judged *j, const union obj_any *old)
{
	VERDICT(is_there(old) ? check_old_task(j, &old->task) : check_new_task(j, &j->is->task));
	return check_unknown(j, old);
}

enum rights_verdict rule_task(struct judged *j)
{
	return judge_change(j, change_task);
}
