// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "userspace/agent/host.h"
#include "userspace/format/printable.h"

#define HOST_TXN_MS	3000
#define HOST_SECONDS	15	/* of the lease, unless set */
#define HOST_SCAN_MS	10000	/* between two comparisons of disks and facts with the store */
#define HOST_RETRY_MS	2000	/* each call to a store that is away takes its time-out */

static const struct key cluster_key = { .kind = KEY_CLUSTER };
static const struct key recover_key = { .kind = KEY_RECOVER };

static struct key own_key(const struct host_agent *h, enum key_kind kind)
{
	return (struct key) { .kind = kind, .host = h->host };
}

/* Logged once for each state and sentence, not once a turn. */
static void enter(struct host_agent *h, enum host_state state, u64 now_ms, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

static void enter(struct host_agent *h, enum host_state state, u64 now_ms, const char *fmt, ...)
{
	char raw[OBJ_WORDS], words[OBJ_WORDS];
	bool other = h->state != state;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(raw, sizeof(raw), fmt, ap);
	va_end(ap);
	printable(raw, words, sizeof(words));
	if (other)
		h->since_ms = now_ms;
	if (other || (state != HOST_UP && strcmp(h->why, words)))
		h->ops->log(h->machine, words);
	h->state = state;
	snprintf(h->why, sizeof(h->why), "%s", state == HOST_UP ? "" : words);
}

/* Return: 1: the file is known; 0: not yet. */
static int seen_read(struct host_agent *h, u64 now_ms)
{
	int err;

	if (h->seen_known)
		return 1;
	err = h->ops->seen_get(h->machine, &h->seen);
	if (err == -EINPROGRESS)
		return 0;
	if (err == -ENOENT)
		memset(&h->seen, 0, sizeof(h->seen));
	else if (err) {
		enter(h, HOST_STOPPED, now_ms, "which store this host has followed cannot be read from the file "
		      "\"seen\" of the state folder (%s), so the store is not known to be that one: nothing is "
		      "decided. Put the file back from a backup, or remove it if the store was not put back",
		      strerror(-err));
		return 0;
	}
	h->seen_known = true;
	return 1;
}

/* Return: 1: no write is in flight; 0: it goes on, or the file cannot be written. */
static int seen_write(struct host_agent *h, u64 now_ms)
{
	int err;

	if (!h->is_noting)
		return 1;
	if (h->failed_ms && now_ms - h->failed_ms < HOST_RETRY_MS)
		return 0;
	h->failed_ms = 0;
	err = h->ops->seen_put(h->machine, &h->noting);
	if (err == -EINPROGRESS)
		return 0;
	if (err) {
		h->failed_ms = now_ms ? now_ms : 1;
		enter(h, HOST_STOPPED, now_ms, "the file \"seen\" of the state folder cannot be written (%s), so a "
		      "store that is put back would not be noticed: nothing is decided. Check the disk with the "
		      "state folder", strerror(-err));
		return 0;
	}
	h->is_noting = false;
	h->seen = h->noting;
	return 1;
}

/* True once if the store is not the one, or is behind the one, that this host has talked to before. */
static bool is_other(struct host_agent *h, const struct store_identity *id)
{
	bool other = h->store_id[0] && (strcmp(h->store_id, id->id) || id->revision < h->store_revision);

	snprintf(h->store_id, sizeof(h->store_id), "%s", id->id);
	h->store_revision = id->revision;
	return other;
}

/* Return: 1: @now is what the store is; 0: that cannot be said yet; negative: the store's error. */
static int store_as_it_is(struct host_agent *h, u64 now_ms, struct plan_seen *now)
{
	const struct copy_item *i;
	struct store_identity id;
	const struct obj_cluster *c;
	int err = store_identity(copy_store(h->copy), &id);

	if (err)
		return err;
	if (is_other(h, &id))
		copy_again(h->copy);
	if (!copy_whole(h->copy))
		return 0;
	i = copy_get(h->copy, &cluster_key);
	if (i && !i->obj) {
		enter(h, HOST_STOPPED, now_ms, "the store's key \"cluster\" cannot be read, so nothing is decided: %s. "
		      "Install the version of the other hosts", i->why);
		return 0;
	}
	c = i ? i->obj : NULL;
	*now = (struct plan_seen) { .term = id.term, .revision = id.revision };
	snprintf(now->id, sizeof(now->id), "%s", id.id);
	if (c) {
		now->cluster = c->plan.uuid;
		now->generation = c->plan.generation;
	} else if (muuid_null(&h->seen.plan.cluster)) {
		enter(h, HOST_STARTING, now_ms, "the store has no cluster yet");
		return 0;
	}
	return 1;
}

static void say_back(struct host_agent *h, u64 now_ms, const struct plan_seen *now)
{
	const struct plan_seen *was = &h->seen.plan;

	if (strcmp(was->id, now->id))
		enter(h, HOST_STOPPED, now_ms, "the store was put back, or made again: it is %s, and this host has "
		      "followed %s. Nothing is decided until 'meshctl cluster recover'; what is attached goes on",
		      now->id, was->id);
	else
		enter(h, HOST_STOPPED, now_ms, "the store was put back to an older state: it is at revision %llu of "
		      "term %llu, and this host has seen revision %llu of term %llu. Nothing is decided until "
		      "'meshctl cluster recover'; what is attached goes on",
		      (unsigned long long)now->revision, (unsigned long long)now->term,
		      (unsigned long long)was->revision, (unsigned long long)was->term);
}

static void say_old(struct host_agent *h, u64 now_ms, const struct plan_seen *now)
{
	const struct plan_seen *was = &h->seen.plan;

	if (muuid_null(&now->cluster))
		enter(h, HOST_STOPPED, now_ms, "the store was put back, or emptied: it has no cluster, and this host "
		      "belongs to %s. Nothing is decided until 'meshctl cluster recover'", muuid_str(&was->cluster).s);
	else if (!muuid_equal(&was->cluster, &now->cluster))
		enter(h, HOST_STOPPED, now_ms, "the store is of cluster %s, and this host belongs to %s. Nothing is "
		      "decided: check 'store' in meshd.conf, or 'meshctl cluster leave' here and join the other one",
		      muuid_str(&now->cluster).s, muuid_str(&was->cluster).s);
	else
		enter(h, HOST_STOPPED, now_ms, "the store was put back to generation %u, and this host has followed "
		      "generation %u. Nothing is decided: start the newer store again, or 'meshctl cluster recover'; "
		      "what is attached goes on", now->generation, was->generation);
}

static bool is_followed(enum plan_store v)
{
	return v == PLAN_STORE_SAME || v == PLAN_STORE_NEWER;
}

/* Return: 1: the store is followed, and the file says so; 0: not now; negative: the store's error. */
static int follow(struct host_agent *h, u64 now_ms)
{
	struct plan_seen now;
	enum plan_store v;
	int ret = seen_read(h, now_ms);

	if (ret == 1)
		ret = seen_write(h, now_ms);
	if (ret == 1)
		ret = store_as_it_is(h, now_ms, &now);
	if (ret != 1)
		return ret;
	v = plan_store_judge(&h->seen.plan, &now);
	if (!is_followed(v)) {
		/* Recover has perhaps raised the generation a moment ago. */
		ret = copy_fresh(h->copy, &cluster_key);
		if (!ret)
			ret = store_as_it_is(h, now_ms, &now);
		if (ret != 1)
			return ret;
		v = plan_store_judge(&h->seen.plan, &now);
	}
	if (v == PLAN_STORE_BACK)
		say_back(h, now_ms, &now);
	else if (v == PLAN_STORE_OLD)
		say_old(h, now_ms, &now);
	if (!is_followed(v))
		return 0;
	if (copy_get(h->copy, &recover_key)) {
		enter(h, HOST_STOPPED, now_ms, "the cluster store is being recovered: nothing is decided until that has "
		      "ended. If it was interrupted, 'meshctl cluster recover' on a store host goes on with it; what is "
		      "attached goes on");
		return 0;
	}
	if (h->label_why[0] && now.generation <= h->label_generation) {
		enter(h, HOST_STOPPED, now_ms, "%s", h->label_why);
		return 0;
	}
	/* What is decided from is in the copy: a store that changes all the time is not noted all the time. */
	if (v == PLAN_STORE_SAME && copy_revision(h->copy) <= h->seen.plan.revision && now.term == h->seen.plan.term)
		return 1;
	h->noting = (struct obj_seen) { .plan = now };
	h->is_noting = true;
	return seen_write(h, now_ms);
}

/* Return: 1: done; 0: something had changed, or is refused by the codec; negative: the store's error. */
static int put(struct host_agent *h, enum key_kind kind, void *x, u64 lease)
{
	struct deal d;

	deal_begin(&d, h->copy);
	deal_put(&d, kind, x, lease);
	if (!d.err)
		return deal_close(&d, HOST_TXN_MS);
	h->ops->log(h->machine, d.why);
	deal_drop(&d);
	return 0;
}

/* Return: 1: the lease lives as far as is known, or there is none; negative: the store's error. */
static int lease_keep(struct host_agent *h, u64 now_ms)
{
	u64 every = (h->seconds ? h->seconds : HOST_SECONDS) * 1000ULL / 3;
	int err;

	if (!h->lease || now_ms - h->kept_ms < every)
		return 1;
	err = store_lease_keep(copy_store(h->copy), h->lease);
	if (err == -ENOENT) {
		h->lease = 0;
		h->announced = false;
		return 1;
	}
	if (!err)
		h->kept_ms = now_ms;
	return err ? err : 1;
}

static int lease_grant(struct host_agent *h, u64 now_ms)
{
	int err;

	if (h->lease)
		return 0;
	err = store_lease_grant(copy_store(h->copy), h->seconds ? h->seconds : HOST_SECONDS, &h->lease);
	if (!err)
		h->kept_ms = now_ms;
	return err;
}

/*
 * A daemon that starts again takes the key over from the one before, of the same boot, once. A machine
 * that was copied with its memory has the same boot, too, and the key of the first of both is gone then.
 */
static bool is_twin(const struct host_agent *h, const struct copy_item *i)
{
	const struct obj_alive *a = i->obj;

	if (i->lease && i->lease == h->lease)
		return false;
	return !a || !muuid_equal(&a->boot, &h->boot) || h->announced;
}

static bool alive_same(const struct obj_alive *a, const struct obj_alive *b)
{
	return !strcmp(a->meshd, b->meshd) && !strcmp(a->module, b->module) && a->format == b->format &&
	       a->started == b->started && muuid_equal(&a->boot, &b->boot);
}

/* Facts of this machine, at their time. Return: 1; 0: not now. @due: they are to be compared. */
static int facts(struct host_agent *h, u64 now_ms, bool must, struct obj_host *host,
		 struct obj_alive *alive, bool *due)
{
	int err;

	memset(host, 0, sizeof(*host));
	memset(alive, 0, sizeof(*alive));
	*due = must || !h->facts_ms || now_ms - h->facts_ms >= HOST_SCAN_MS;
	if (!*due)
		return 1;
	err = h->ops->facts(h->machine, host, alive);
	if (err == -EINPROGRESS)
		return 0;
	if (err) {
		enter(h, HOST_STOPPED, now_ms, "what this machine is cannot be read (%s), so no host knows how to reach "
		      "it", strerror(-err));
		return 0;
	}
	alive->host = h->host;
	alive->boot = h->boot;
	h->facts_ms = now_ms ? now_ms : 1;
	return 1;
}

/* Return: 1: alive/H is this machine's; 0: not now. @n: transactions. */
static int announce(struct host_agent *h, u64 now_ms, struct obj_alive *is, bool due, int *n)
{
	struct key k = own_key(h, KEY_ALIVE);
	const struct copy_item *i = copy_get(h->copy, &k);
	const struct obj_alive *was = i ? i->obj : NULL;
	int ret;

	if (i && i->lease == h->lease && h->lease && was && (!due || alive_same(was, is))) {
		h->announced = true;
		return 1;
	}
	ret = lease_grant(h, now_ms);
	if (ret)
		return ret;
	if (was)
		is->o = was->o;
	ret = put(h, KEY_ALIVE, is, h->lease);
	is->o.kept = NULL;
	if (ret == -ENOENT) {
		h->lease = 0;
		return 0;
	}
	if (ret == 1) {
		h->announced = true;
		++*n;
	}
	return ret;
}

static bool addresses_same(const struct obj_host *a, const struct obj_host *b)
{
	if (a->addresses != b->addresses)
		return false;
	for (u32 i = 0; i < a->addresses; i++) {
		if (strcmp(a->address[i].addr, b->address[i].addr) || a->address[i].port != b->address[i].port)
			return false;
	}
	return true;
}

/*
 * Rack, labels and maintenance are an administrator's. An interface that is down has no address for
 * now: others keep trying the one that it had.
 */
static int describe(struct host_agent *h, const struct obj_host *is, int *n)
{
	struct key k = own_key(h, KEY_HOST);
	const struct obj_host *was = copy_obj(h->copy, &k);
	struct obj_host out = { .plan.uuid = h->host };
	int ret;

	if (was)
		out = *was;
	out.plan.role = h->role;
	if (is->name[0])
		memcpy(out.name, is->name, sizeof(out.name));
	else if (!was)
		snprintf(out.name, sizeof(out.name), "host-%.8s", muuid_str(&h->host).s);
	if (is->addresses || !was) {
		out.addresses = is->addresses;
		out.address = is->address;
	}
	if (was && was->plan.role == out.plan.role && !strcmp(was->name, out.name) && addresses_same(was, &out))
		return 1;
	ret = put(h, KEY_HOST, &out, 0);
	if (ret == 1)
		++*n;
	return ret;
}

/* A temperature that moves by some degrees is no reason to write. */
static bool smart_same(const struct obj_smart *a, const struct obj_smart *b)
{
	int apart = a->temperature - b->temperature;

	return a->known == b->known && a->warning == b->warning && a->used == b->used && a->spare == b->spare &&
	       a->media_errors == b->media_errors && apart < 5 && apart > -5;
}

static bool disk_same(const struct obj_disk *a, const struct obj_disk *b)
{
	return !strcmp(a->path, b->path) && !strcmp(a->model, b->model) && !strcmp(a->wwid, b->wwid) &&
	       !strcmp(a->serial, b->serial) && a->size == b->size && a->lba == b->lba &&
	       muuid_equal(&a->drive, &b->drive) && a->exportable == b->exportable && !strcmp(a->why, b->why) &&
	       smart_same(&a->smart, &b->smart);
}

static int by_path(const void *a, const void *b)
{
	return strcmp(((const struct obj_disk *)a)->path, ((const struct obj_disk *)b)->path);
}

static bool disks_same(const struct obj_device *was, const struct obj_device *is)
{
	if (was->disks != is->disks)
		return false;
	for (u32 i = 0; i < is->disks; i++) {
		if (!disk_same(&was->disk[i], &is->disk[i]))
			return false;
	}
	return true;
}

/* Disks that hang must not keep the host from all else: this is the last step of a turn. */
static int list_disks(struct host_agent *h, u64 now_ms, int *n)
{
	struct key k = own_key(h, KEY_DEVICE);
	const struct obj_device *was = copy_obj(h->copy, &k);
	struct obj_device out = { .host = h->host };
	int ret;

	if (h->disks_ms && now_ms - h->disks_ms < HOST_SCAN_MS)
		return 1;
	ret = h->ops->disks(h->machine, &out.disk, &out.disks);
	if (ret == -EINPROGRESS)
		return 1;
	h->disks_ms = now_ms ? now_ms : 1;
	if (ret)
		return 1;
	if (out.disks > OBJ_DISKS_MAX)
		out.disks = OBJ_DISKS_MAX;
	if (out.disks)
		qsort(out.disk, out.disks, sizeof(*out.disk), by_path);
	if (was)
		out.o = was->o;
	ret = 1;
	if (!was || !disks_same(was, &out)) {
		ret = put(h, KEY_DEVICE, &out, 0);
		if (ret == 1)
			++*n;
	}
	free(out.disk);
	return ret;
}

/* Return: 1: no tombstone, and no second machine; 0: this host decides nothing. */
static int is_at_home(struct host_agent *h, u64 now_ms)
{
	struct key own = own_key(h, KEY_HOST), alive = own_key(h, KEY_ALIVE);
	const struct copy_item *i = copy_get(h->copy, &own);
	const struct obj_host *o = i ? i->obj : NULL;

	if (i && !o) {
		enter(h, HOST_STOPPED, now_ms, "the store's key of this host cannot be read, so nothing is decided: %s. "
		      "Install the version of the other hosts", i->why);
		return 0;
	}
	if (o && o->plan.removed) {
		host_end(h);
		enter(h, HOST_REMOVED, now_ms, "this host was removed from the cluster: it decides nothing, and other "
		      "hosts refuse it. Its kernel keeps the drives that it serves, and what is attached. 'meshctl cluster "
		      "leave', then 'meshctl cluster join' with a token, makes it a member again");
		return 0;
	}
	i = copy_get(h->copy, &alive);
	if (!i)
		h->announced = false;
	else if (is_twin(h, i)) {
		enter(h, HOST_TWIN, now_ms, "a host with this UUID is alive. If that is this machine before it started "
		      "again, its lease ends within %u s; else one of both is a copy: run 'meshd --identity new' "
		      "on the copy. Until then this one decides nothing", h->seconds ? h->seconds : HOST_SECONDS);
		return 0;
	}
	return 1;
}

static int turn(struct host_agent *h, u64 now_ms, int *n)
{
	struct key own = own_key(h, KEY_HOST);
	struct obj_alive alive;
	struct obj_host host;
	bool due;
	/* A disk on which the file is not written for now ends no lease. */
	int ret = lease_keep(h, now_ms);

	if (ret == 1)
		ret = follow(h, now_ms);
	if (ret == 1)
		ret = is_at_home(h, now_ms);
	if (ret != 1)
		return ret;
	ret = facts(h, now_ms, !h->announced || !copy_get(h->copy, &own), &host, &alive, &due);
	if (ret == 1)
		ret = announce(h, now_ms, &alive, due, n);
	if (ret == 1 && due)
		ret = describe(h, &host, n);
	obj_free(KEY_HOST, &host);
	obj_free(KEY_ALIVE, &alive);
	if (ret != 1)
		return ret;
	h->sure = true;
	enter(h, HOST_UP, now_ms, "this host follows the store");
	return list_disks(h, now_ms, n);
}

int host_turn(struct host_agent *h, u64 now_ms)
{
	int n = 0, ret;

	if (h->state == HOST_AWAY && now_ms - h->tried_ms < HOST_RETRY_MS)
		return 0;
	h->tried_ms = now_ms;
	h->sure = false;
	ret = turn(h, now_ms, &n);
	if (ret >= 0)
		return n;
	h->sure = false;
	enter(h, HOST_AWAY, now_ms, "the store does not answer: %s. What is attached goes on; nothing can be created, "
	      "changed or attached elsewhere", store_why(copy_store(h->copy)));
	return ret;
}

bool host_may(const struct host_agent *h)
{
	return h->state == HOST_UP && h->sure && copy_revision(h->copy) <= h->seen.plan.revision;
}

bool host_notes(const struct host_agent *h)
{
	return h->is_noting;
}

bool host_stopped(const struct host_agent *h)
{
	return h->state == HOST_STOPPED || h->state == HOST_TWIN || h->state == HOST_REMOVED;
}

void host_label_above(struct host_agent *h, const char *why)
{
	snprintf(h->label_why, sizeof(h->label_why), "%s", why);
	h->label_generation = h->seen.plan.generation;
	enter(h, HOST_STOPPED, store_now_ms(), "%s", h->label_why);
}

void host_disks_changed(struct host_agent *h)
{
	h->disks_ms = 0;
}

void host_end(struct host_agent *h)
{
	if (h->lease)
		store_lease_revoke(copy_store(h->copy), h->lease);
	h->lease = 0;
	h->announced = false;
}

int host_found(struct store *s, const struct muuid *cluster, const char *name, char why[OBJ_WHY])
{
	struct obj_cluster c = { .plan = { .uuid = *cluster, .generation = 1,
					   .format = OBJ_FORMAT(OBJ_MAJOR, OBJ_MINOR) } };
	struct store_compare compare[] = {
		{ .kind = STORE_NONE_BELOW, .key = "" }, { .kind = STORE_ABSENT, .key = key_word(KEY_CLUSTER) },
	};
	struct store_op op = { .key = key_word(KEY_CLUSTER) };
	struct store_txn t = { .compare = compare, .compares = 2, .op = &op, .ops = 1 };
	u8 random[16];
	char *text;
	int ret;

	snprintf(c.name, sizeof(c.name), "%s", name);
	if (getrandom(random, sizeof(random), 0) != sizeof(random)) {
		snprintf(why, OBJ_WHY, "the kernel has no random numbers yet");
		return -EIO;
	}
	obj_op(&c.o, random);
	ret = obj_encode(KEY_CLUSTER, &c, &text, why, OBJ_WHY);
	if (ret)
		return ret;
	op.value = text;
	op.len = strlen(text);
	ret = store_txn_settle(s, &t, store_now_ms() + HOST_TXN_MS, NULL);
	free(text);
	if (ret < 0 && ret != -ESTALE)
		snprintf(why, OBJ_WHY, "%.*s", OBJ_WHY - 1, store_why(s));
	return ret == -ESTALE ? 0 : ret;
}
