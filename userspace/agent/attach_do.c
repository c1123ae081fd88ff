// SPDX-License-Identifier: GPL-2.0-only
/* One operation of the machine at a time for each volume. See attach_in.h. */
#include <errno.h>
#include <linux/xxhash.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/agent/attach_in.h"

/* A local drive that comes back is opened by its path: in the kernel's hands once it is set again. */
static u64 local_way(const struct attach_vol *v, const struct layout_member *mb, const struct obj_drive *d)
{
	bool local = d ? d->local : mb->kind == LAYOUT_KIND_BDEV;

	return local && v->a->ops->local ? v->a->ops->local(v->a->m, &mb->drive) : 0;
}

u64 attach_sum(const struct attach_vol *v, const struct attach_aim *aim)
{
	const struct obj_attached *r = &v->rec;
	struct {
		u64 version, commit, number, served;
		u32 timeout, depth;
		u8 mode, fresh, preempt, again, some;
	} head = { r->record->version, r->record->commit, mesh_number_access(r->plan.number), aim->served,
		   r->io.timeout_ms, r->io.queue_depth, r->plan.mode, r->fresh, aim->preempt, aim->again,
		   aim->some };
	u64 sum = xxh64(&head, offsetof(typeof(head), some) + 1, 1);

	sum = xxh64(r->plan.bar, r->plan.barred * sizeof(*r->plan.bar), sum);
	sum = xxh64(r->plan.forgotten, r->plan.forgottens * sizeof(*r->plan.forgotten), sum);
	for (u32 i = 0; i < r->leavings; i++)
		sum = xxh64(&r->leaving[i].extent, sizeof(struct muuid), sum + r->leaving[i].place);
	if (aim->some)
		sum = xxh64(aim->open, r->record->members * sizeof(*aim->open), sum);
	/* Where members are is no part of the record: the drive's host, and its addresses. */
	for (u32 i = 0; i < r->record->members; i++) {
		const struct key drive = { .kind = KEY_DRIVE, .drive = r->record->member[i].drive };
		const struct obj_drive *d = copy_obj(v->a->copy, &drive);
		struct key host = { .kind = KEY_HOST };
		const struct copy_item *h;
		u64 modified, way = local_way(v, &r->record->member[i], d);

		if (way)
			sum = xxh64(&way, sizeof(way), sum);
		if (d)
			host.host = d->plan.host;
		h = copy_get(v->a->copy, &host);
		modified = h ? h->modified : 0;
		sum = xxh64(&host.host, sizeof(host.host), xxh64(&modified, sizeof(modified), sum));
	}
	return sum ? sum : 1;
}

static int set(struct attach_vol *v)
{
	const struct obj_attached *r = &v->rec;
	struct attach_set s = {
		.volume = v->id, .layout = r->record, .leavings = r->leavings, .leaving = r->leaving,
		.lefts = r->lefts, .left = r->left, .forgottens = r->plan.forgottens,
		.forgotten = r->plan.forgotten, .again = v->aim.again, .io = &r->io,
		.fresh = r->fresh, .readonly = r->plan.mode == PLAN_RO,
		.preempt = v->aim.preempt, .number = r->plan.number, .served = v->aim.served,
		.barred = r->plan.barred, .bar = r->plan.bar, .open = v->aim.some ? v->aim.open : NULL,
	};

	return v->a->ops->set(v->a->m, &s);
}

static int run(struct attach_vol *v)
{
	const struct attach_ops *ops = v->a->ops;
	void *m = v->a->m;

	switch ((enum attach_doing)v->doing) {
	case ATTACH_PROBES:
		return ops->probe(m, v->probed, v->found);
	case ATTACH_PUTS:
		return ops->record_put(m, &v->put);
	case ATTACH_ERASES:
		return ops->record_erase(m, &v->id);
	case ATTACH_SETS:
		return set(v);
	case ATTACH_DELS:
		return ops->del(m, &v->id, v->force, &v->last);
	case ATTACH_READS:
		return ops->slots(m, &v->rec, v->slot, v->reached);
	case ATTACH_REQUESTS:
		return ops->request(m, &v->id, v->rec.record, &v->request);
	case ATTACH_EVICTS:
		return ops->evict(m, &v->evict_put);
	case ATTACH_NOTHING:
		break;
	}
	return 0;
}

/* The kernel has ended the attachment: under that number, with all members open once, or not. */
static void ended(struct attach_vol *v)
{
	if (!v->ends.readonly) {
		v->ended = v->ends.number;
		v->ended_version = v->ends.version;
		v->ended_clean = v->ends.state == ATTACH_SERVING && !v->ends.served;
	}
	v->taken = v->above = v->set = v->again = 0;
}

static void done(struct attach_vol *v, enum attach_doing what)
{
	switch (what) {
	case ATTACH_PROBES:
		v->found_any = true;
		v->found_ms = v->a->now;
		break;
	case ATTACH_PUTS:
		obj_free(OBJ_ATTACHED, &v->rec);
		v->rec = v->put;
		memset(&v->put, 0, sizeof(v->put));
		v->rec_has = true;
		break;
	case ATTACH_ERASES:
		obj_free(OBJ_ATTACHED, &v->rec);
		v->rec_has = false;
		break;
	case ATTACH_SETS:
		v->set = v->setting;
		v->by_record = v->again;
		v->again = 0;
		break;
	case ATTACH_DELS:
		ended(v);
		break;
	case ATTACH_READS:
		v->read_any = true;
		break;
	case ATTACH_EVICTS:
		v->copying = v->evict_put.to ? v->evict_put.to->extent : (struct muuid) { 0 };
		v->evict_why[0] = 0;
		break;
	case ATTACH_REQUESTS:
	case ATTACH_NOTHING:
		break;
	}
}

static const char *what_failed(enum attach_doing what)
{
	static const char *const words[] = {
		[ATTACH_NOTHING] = "nothing", [ATTACH_PROBES] = "its members cannot be probed",
		[ATTACH_PUTS] = "this host's record of it cannot be written",
		[ATTACH_ERASES] = "this host's record of it cannot be erased",
		[ATTACH_SETS] = "the kernel does not take it", [ATTACH_DELS] = "the kernel does not let it go",
		[ATTACH_READS] = "labels of its members cannot be read", [ATTACH_EVICTS] = "nothing",
		[ATTACH_REQUESTS] = "a request",
	};

	return words[what];
}

int attach_go_on(struct attach_vol *v)
{
	enum attach_doing what = v->doing;
	int err = run(v);

	if (err == -EINPROGRESS)
		return 0;
	v->doing = ATTACH_NOTHING;
	/* A failure is its answer: it is not tried again. */
	if (what == ATTACH_REQUESTS) {
		attach_requested(v, err);
		return 1;
	}
	if (!err) {
		done(v, what);
		return 1;
	}
	/* The volume is served meanwhile, and all else goes on. */
	if (what == ATTACH_EVICTS) {
		snprintf(v->evict_why, sizeof(v->evict_why), "%s", v->a->ops->words(v->a->m));
		v->evict_ms = v->a->now + ATTACH_EVICT_MS;
		return 0;
	}
	if (what == ATTACH_PUTS)
		obj_free(OBJ_ATTACHED, &v->put);
	v->again_ms = v->a->now + ATTACH_RETRY_MS;
	attach_say(v, what == ATTACH_DELS ? "detaching" : "waiting", "%s: %s", what_failed(what),
		   v->a->ops->words(v->a->m));
	return 0;
}

int attach_begin(struct attach_vol *v, enum attach_doing what)
{
	v->doing = what;
	if (what == ATTACH_SETS)
		v->setting = attach_sum(v, &v->aim);
	return attach_go_on(v);
}

void attach_vol_free(struct attach_vol *v)
{
	obj_free(OBJ_ATTACHED, &v->rec);
	obj_free(OBJ_ATTACHED, &v->put);
	obj_free(KEY_ROSTER, &v->last);
	free(v->probed);
	free(v->found);
	free(v->slot);
	free(v->reached);
	json_decref(v->details);
	free(v);
}

struct deal *attach_deal(const struct attach_vol *v, const struct plan_txn *t)
{
	struct deal *d = malloc(sizeof(*d));
	static const struct { u32 object; enum key_kind kind; } keys[] = {
		{ PLAN_OBJ_VOLUME, KEY_VOLUME }, { PLAN_OBJ_ACCESS, KEY_ACCESS }, { PLAN_OBJ_ROSTER, KEY_ROSTER },
	};

	if (!d)
		return NULL;
	deal_begin(d, v->a->copy);
	for (size_t i = 0; t && i < sizeof(keys) / sizeof(keys[0]); i++) {
		struct key k = attach_key(v, keys[i].kind);

		if (t->compare & keys[i].object)
			deal_same(d, &k);
	}
	if (t && t->compare & PLAN_OBJ_READERS) {
		struct key k = attach_key(v, KEY_READER);

		deal_none_below(d, &k, 1);
	}
	return d;
}

/* The way to the store is broken, and not this transaction alone refused. */
static bool away(int err)
{
	return err == -ETIMEDOUT || err == -EIO || err == -ECANCELED || err == -EUCLEAN;
}

int attach_close_deal(struct attach_vol *v, struct deal *d)
{
	bool local = d->err < 0;
	int ret = deal_close(d, ATTACH_TXN_MS);

	if (ret < 0 && (local || !away(ret))) {
		v->again_ms = v->a->now + ATTACH_RETRY_MS;
		attach_say(v, "waiting", "the store does not take what is to be written: %s", d->why);
		ret = 0;
	}
	free(d);
	return ret;
}
