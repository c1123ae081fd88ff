// SPDX-License-Identifier: GPL-2.0-only
/* Attach by the store: for writing, after a probe of all members; for reading, on the host's lease. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/agent/attach_in.h"

/* One member that is open for another host; NULL: none. */
static const struct attach_found *open_for(const struct attach_vol *v)
{
	for (u32 i = 0; i < v->probed->members; i++) {
		const struct attach_found *f = &v->found[i];

		if (!f->err && ((f->writers && !muuid_equal(&f->attacher, &v->a->host)) || f->readers))
			return f;
	}
	return NULL;
}

static bool unknown(const struct attach_vol *v)
{
	for (u32 i = 0; i < v->probed->members; i++) {
		const struct attach_found *f = &v->found[i];

		if (!f->err && f->unknown && !muuid_equal(&f->attacher, &v->a->host))
			return true;
	}
	return false;
}

/* Another host may serve by the extents that leave, with none that the layout names. */
static int add_leavings(struct attach_vol *v, const struct attach_objects *o)
{
	struct layout_member *left = NULL;
	struct obj_leaving *leaving;
	u32 n, lefts = 0;
	int err = attach_leavings(v, o, &leaving, &n);

	if (!err)
		left = calloc(n + 1, sizeof(*left));
	if (left)
		lefts = attach_lefts(v, leaving, n, left);
	for (u32 i = 0; i < lefts && v->probed->members < PROT_MEMBERS_MAX; i++)
		v->probed->member[v->probed->members++] = left[i];
	err = err ? err : left ? 0 : -ENOMEM;
	free(left);
	free(leaving);
	return err;
}

int attach_probe(struct attach_vol *v, const struct attach_objects *o)
{
	int err;

	free(v->probed);
	free(v->found);
	v->found = NULL;
	v->probed = malloc(sizeof(*v->probed));
	if (!v->probed)
		return -ENOMEM;
	*v->probed = *o->volume->record;
	err = add_leavings(v, o);
	if (err)
		return err;
	v->found = calloc(v->probed->members, sizeof(*v->found));
	return v->found ? attach_begin(v, ATTACH_PROBES) : -ENOMEM;
}

bool attach_probed(struct attach_vol *v, const struct attach_objects *o)
{
	bool ret = v->found_any && v->a->now - v->found_ms < ATTACH_RETRY_MS && v->probed->version == o->volume->record->version &&
		   v->probed->commit == o->volume->record->commit;

	v->found_any = false;
	return ret;
}

bool attach_open_elsewhere(const struct attach_vol *v)
{
	return open_for(v);
}

static bool enough(struct attach_vol *v, const struct attach_objects *o)
{
	u32 n = o->volume->plan.layout.places, have = 0;
	bool *reached = calloc(n, sizeof(*reached)), ret;

	if (!reached)
		return false;
	for (u32 i = 0; i < n; i++) {
		reached[i] = !v->found[i].err;
		have += reached[i];
	}
	ret = plan_attach_enough(&o->volume->plan.layout, reached);
	free(reached);
	if (!ret)
		attach_say(v, "waiting", "%u of %u members are reached, which are too few", have, n);
	return ret;
}

static void facts(const struct attach_vol *v, const struct attach_objects *o, struct plan_attach *a)
{
	*a = (struct plan_attach) {
		.volume = &o->volume->plan, .access = &o->access->plan, .host = v->a->host,
		.stopped = v->a->stopped, .preempt = o->want->preempt,
		.holder_alive = attach_alive(v, &o->access->plan.holder), .readers = attach_readers(v),
	};
}

/* A verdict that is not PLAN_GO; @open: the member that it is about, or NULL. */
static int refused(struct attach_vol *v, const struct attach_objects *o, enum plan_verdict verdict,
		   const struct attach_found *open)
{
	bool waits = verdict == PLAN_UNKNOWN || verdict == PLAN_NOT_READY;
	const struct muuid *host = verdict == PLAN_HELD ? &o->access->plan.holder :
				   open && open->writers ? &open->attacher : NULL;

	attach_say_verdict(v, waits ? "waiting" : "refused", verdict, host);
	/*
	 * An earlier attach of this host, whose end a crash has left open: while access names this host,
	 * the kernel that has the members open could not be named.
	 */
	if (verdict == PLAN_OPEN && attach_names(v, o, o->access->plan.number))
		return attach_give_up(v, o);
	/* No change of an object reports that a target has closed. */
	if (verdict == PLAN_OPEN || verdict == PLAN_UNKNOWN)
		v->again_ms = v->a->now + ATTACH_RETRY_MS;
	return 0;
}

static void erase_readers(const struct attach_vol *v, struct deal *d)
{
	const struct key k = attach_key(v, KEY_READER);
	const struct copy_item *i = NULL;

	while ((i = copy_next(v->a->copy, &k, 1, i)))
		deal_erase(d, &i->key);
}

/* The attach transaction: from now on this host is the holder, under one more number. */
static int take(struct attach_vol *v, const struct attach_objects *o, const struct plan_access *next,
		const struct plan_txn *t)
{
	struct deal *d = attach_deal(v, t);
	struct obj_access access = *o->access;
	struct obj_want want = *o->want;
	struct key writer = attach_key(v, KEY_WRITER), alive = { .kind = KEY_ALIVE, .host = o->writer->host };
	struct obj_writer is = *o->writer;
	u64 number = next->number;
	bool preempt = want.preempt;
	int ret;

	if (!d)
		return -ENOMEM;
	access.plan = *next;
	deal_put(d, KEY_ACCESS, &access, 0);
	if (t->erase & PLAN_OBJ_READERS)
		erase_readers(v, d);
	if (muuid_equal(&o->writer->host, &v->a->host)) {
		deal_same(d, &writer);
	} else {
		is.host = v->a->host;
		deal_same(d, &alive);
		deal_put(d, KEY_WRITER, &is, 0);
	}
	deal_same(d, &o->want_item->key);
	want.preempt = false;
	if (preempt)
		deal_put(d, KEY_WANT, &want, 0);
	ret = attach_close_deal(v, d);
	if (ret == 1) {
		v->taken = number;
		v->above = 0;
		v->preempt = preempt;
	}
	return ret;
}

/* A member whose target has a higher number than the copy's; NULL: none. */
static const struct attach_found *above(const struct attach_vol *v, const struct attach_objects *o)
{
	const struct obj_cluster *c = copy_obj(v->a->copy, &(struct key) { .kind = KEY_CLUSTER });

	for (u32 i = 0; c && i < v->probed->members; i++) {
		const struct attach_found *f = &v->found[i];
		const struct plan_slot slot = { .extent = v->probed->member[i].extent, .number = f->number };

		if (!f->err && plan_label_above(&slot, 0, &c->plan, &o->volume->plan, &o->access->plan))
			return f;
	}
	return NULL;
}

/*
 * The copy may be behind the store; the store itself, read after the targets, is not.
 * Return: 1: the store was put back; 0: it was not; negative: the store's error.
 */
static int put_back(struct attach_vol *v)
{
	const struct key k = attach_key(v, KEY_ACCESS);
	const struct attach_found *f;
	struct attach_objects now;
	char name[OBJ_TEXT];
	int err = copy_fresh(v->a->copy, &k);

	if (err)
		return err;
	attach_look(v, &now);
	f = now.volume && now.access && !now.refused ? above(v, &now) : NULL;
	if (!f)
		return 0;
	attach_volume_name(v, name);
	snprintf(v->a->above, sizeof(v->a->above), "the store was put back: a drive has volume %s under a later "
		 "attachment than the store knows, of host %s. Nothing is decided until 'meshctl cluster recover'; what "
		 "is attached goes on", name, muuid_str(&f->attacher).s);
	attach_say_verdict(v, "waiting", PLAN_STOPPED, NULL);
	return 1;
}

static int decide(struct attach_vol *v, const struct attach_objects *o)
{
	const struct attach_found *open = open_for(v);
	enum plan_verdict verdict;
	struct plan_access next;
	struct plan_attach a;
	struct plan_txn t;
	int err;

	if (above(v, o)) {
		err = put_back(v);
		return err < 0 ? err : 0;
	}
	facts(v, o, &a);
	a.open = open;
	a.unknown = unknown(v);
	verdict = plan_attach_rw(&a, &next, &t);
	if (verdict != PLAN_GO)
		return refused(v, o, verdict, open);
	if (!enough(v, o)) {
		v->again_ms = v->a->now + ATTACH_RETRY_MS;
		return 0;
	}
	attach_say(v, "attaching", "its members are opened");
	return take(v, o, &next, &t);
}

/*
 * The writer is this host, or one that has died. Such a host stays the writer until this one has the
 * volume: where that is refused, the other one attaches again after its reboot.
 */
static bool may_write(const struct attach_vol *v, const struct attach_objects *o)
{
	return o->writer && (muuid_equal(&o->writer->host, &v->a->host) || !attach_alive(v, &o->writer->host));
}

int attach_take(struct attach_vol *v, const struct attach_objects *o)
{
	struct attach_aim aim = { .preempt = v->preempt };
	enum plan_verdict verdict;
	struct plan_access next;
	struct plan_attach a;
	struct plan_txn t;

	if (v->taken && attach_names(v, o, v->taken))
		return attach_follow(v, o, PLAN_RW, v->taken, &aim);
	v->taken = 0;
	if (o->reader_item)
		return v->rec_has ? attach_begin(v, ATTACH_ERASES) : attach_reader_end(v);
	if (!may_write(v, o)) {
		attach_say(v, "refused", "another host is to write it; attach it again to have this host do so");
		return 0;
	}
	if (attach_probed(v, o))
		return decide(v, o);
	/* What the store alone refuses needs no probe. */
	facts(v, o, &a);
	verdict = plan_attach_rw(&a, &next, &t);
	if (verdict != PLAN_GO)
		return refused(v, o, verdict, NULL);
	return attach_probe(v, o);
}

int attach_held(struct attach_vol *v, const struct attach_objects *o)
{
	v->held = true;
	v->holder = v->k.holder;
	return attach_end(v, o, true);
}

static int put_reader(struct attach_vol *v, const struct attach_objects *o, u64 number,
		      const struct plan_txn *t)
{
	struct deal *d = attach_deal(v, t);
	struct obj_reader r = { .volume = v->id };

	if (!d)
		return -ENOMEM;
	if (o->reader)
		r = *o->reader;
	r.plan = (struct plan_reader) { .host = v->a->host, .number = number };
	deal_same(d, &o->want_item->key);
	deal_put(d, KEY_READER, &r, v->a->lease);
	return attach_close_deal(v, d);
}

enum reader_key {
	READER_THERE,
	READER_STEP,		/* its transaction was made, or is to be made again */
	READER_REFUSED,
};

/* The key that protects this host's reads. @number: 0, or of the kernel that reads; becomes the key's. */
static enum reader_key reader_key(struct attach_vol *v, const struct attach_objects *o, u64 *number,
				  int *step)
{
	u64 reads = mesh_number_access(*number);
	enum plan_verdict verdict;
	struct plan_attach a;
	struct plan_txn t;

	*step = 0;
	facts(v, o, &a);
	verdict = plan_attach_ro(&a, number, &t);
	if (verdict == PLAN_GO && v->k.state != ATTACH_ABSENT && reads != *number)
		verdict = PLAN_ABOVE;
	if (verdict != PLAN_GO) {
		attach_say_verdict(v, "refused", verdict, verdict == PLAN_HELD ? &o->access->plan.holder : NULL);
		return READER_REFUSED;
	}
	if (o->reader && o->reader_item->lease == v->a->lease && o->reader->plan.number == *number)
		return READER_THERE;
	*step = put_reader(v, o, *number, &t);
	return READER_STEP;
}

static bool leased(struct attach_vol *v)
{
	if (!v->a->lease)
		attach_say(v, "waiting", "this host has no lease of the store yet");
	return v->a->lease;
}

int attach_take_reader(struct attach_vol *v, const struct attach_objects *o)
{
	const struct attach_aim aim = { 0 };
	u64 number = 0;
	int step;

	if (attach_names(v, o, o->access->plan.number))
		return attach_give_up(v, o);
	if (!leased(v))
		return 0;
	switch (reader_key(v, o, &number, &step)) {
	case READER_THERE:
		attach_say(v, "attaching", "its members are opened for reading");
		return attach_follow(v, o, PLAN_RO, number, &aim);
	case READER_STEP:
		return step;
	case READER_REFUSED:
		break;
	}
	/* No kernel reads: the key of an earlier boot would keep writers away. */
	return o->reader_item ? attach_reader_end(v) : 0;
}

int attach_keep_reader(struct attach_vol *v, const struct attach_objects *o)
{
	const struct attach_aim aim = { 0 };
	u64 number = v->k.number;
	int step;

	if (!o->volume || !o->access || !o->want || !leased(v))
		return 0;
	if (reader_key(v, o, &number, &step) != READER_THERE)
		return step;
	step = attach_follow(v, o, PLAN_RO, number, &aim);
	if (!step && !v->busy)
		attach_say(v, v->k.state == ATTACH_SERVING ? "attached" : "attaching", "%s", v->k.reason);
	return step;
}
