// SPDX-License-Identifier: GPL-2.0-only
/* Where a new segment's extents come from, until they read zero. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/meshd/busy.h"
#include "userspace/meshd/choose.h"
#include "userspace/meshd/crash.h"
#include "userspace/meshd/local.h"
#include "userspace/meshd/volume.h"

static int note_intents(const struct store_volume *v, const struct layout *l, u32 first, u32 n)
{
	struct store_intent *in __free(free) = calloc(n, sizeof(*in));
	u32 i;

	if (!in)
		return -ENOMEM;
	for (i = 0; i < n; i++) {
		const struct layout_member *m = &l->member[first + i];

		in[i] = (struct store_intent) {
			.volume = l->volume, .host = m->target, .drive = m->drive,
			.extent = m->extent, .length = m->size,
		};
		memcpy(in[i].name, l->name, sizeof(in[i].name));
	}
	return v->state == STORE_CREATING ? store_volume_begin(v, l, in, n) : store_intents_add(in, n);
}

/*
 * The extent may be recorded by now: a change that this host forgot, in a state folder
 * that was restored. The label knows, and then it is a volume's and no intent any more.
 */
int intent_undo(const struct store_intent *i, char *why)
{
	struct mgmt_req q = { .op = MGMT_FREE, .drive = i->drive, .extent = i->extent,
			      .volume = i->volume };
	struct store_host h;
	json_t *data;
	int err = store_host_by_uuid(&i->host, &h);

	/* A host that was removed takes its extents with it: they are orphans. */
	if (err == -ENOENT) {
		log_warn("an extent of %s was never used and stays: its host was removed; see meshctl drive "
			 "extents when that is back", i->name);
		return store_intent_del(&i->extent);
	}
	if (err) {
		snprintf(why, REASON, "%s", store_words(err));
		return err;
	}
	err = peer_call(&h, &q, &data, why);
	json_decref(data);
	if (err == -ESTALE || err == -EBUSY || err == -EPERM) {
		log_warn("an extent of %s that the store has as never used was recorded: it stays (%s); see "
			 "meshctl drive extents", i->name, why);
		store_intent_del(&i->extent);
		return -ESTALE;
	}
	if (err)
		return err;
	/* One that was to replace a member has a note, too: there is nothing more to free. */
	store_free_del(&i->extent);
	return store_intent_del(&i->extent);
}

struct undo {
	const struct store_intent *in;
	struct outcome *o;
};

static void undo_one(void *arg, size_t i)
{
	struct undo *u = arg;

	u->o[i].err = intent_undo(&u->in[i], u->o[i].why);
}

/* Those of one volume, moved to the front. */
static size_t intents_of(struct store_intent *in, size_t n, const struct muuid *volume)
{
	size_t i, k = 0;

	for (i = 0; i < n; i++)
		if (muuid_equal(&in[i].volume, volume))
			in[k++] = in[i];
	return k;
}

/* The store is older than the volume: it was recorded, so what counts is on its drives. */
static int found_made(struct store_volume *v, struct layout *l, const struct gather *g)
{
	struct truth_pick p = truth_pick(&g->truth);
	char device[48];

	log_warn("volume %s was made after this host's store was saved: it is kept", v->name);
	kernel_device(&v->uuid, device, sizeof(device));
	v->state = STORE_LIVE;
	v->attached = device[0];
	v->recorded = 0;
	if (p.layout)
		memcpy(l, p.layout, sizeof(*l));
	v->version = l->version;
	return store_volume_commit(v, l);
}

/* Whether a record names any of @in, or one that cannot be read may do so. */
static int named(struct store_volume *v, const struct gather *g, const struct store_intent *in, size_t n,
		 char *why)
{
	const struct found *f = gather_unread(g);
	size_t i;

	if (f) {
		snprintf(why, REASON, "its layout record on drive %s of host %s cannot be read now; see "
			 "meshctl drive health", muuid_str(&f->e.drive).s, g->hosts[f->host].name);
		return -EAGAIN;
	}
	for (i = 0; i < n; i++) {
		if (!truth_half_made(&g->truth, &in[i].extent))
			continue;
		snprintf(why, REASON, "a change of it is half made; attach it, and it is completed or undone");
		v->recorded = 0;
		store_volume_flags(v);
		return -EAGAIN;
	}
	return 0;
}

/* Whether a member is away whose record may still count; one its group goes on without has none. */
static bool may_be_named(const struct store_volume *v, const struct layout *l, const struct gather *g,
			 char *why)
{
	u32 i;

	for (i = 0; i < l->members; i++) {
		if (gather_find(g, &l->member[i].extent) || volume_goes_without(v, l, i))
			continue;
		gather_away(g, &l->member[i], why);
		return true;
	}
	return false;
}

/*
 * Whether the extents of @in were never used, as far as all of the volume's drives say:
 * a record on an old member may name a new one whose own label does not say so yet.
 * A drive may have moved, and a host have another UUID, since the intent was noted.
 */
static int never_used(struct store_volume *v, struct layout *l, struct store_intent *in, size_t n,
		      char *why)
{
	struct gather g;
	int err = gather(&g, &v->uuid, false);
	size_t i;

	if (err)
		return err;
	for (i = 0; i < n && !err; i++)
		err = gather_home(&g, &in[i].extent, &in[i].drive, &in[i].host, why);
	if (!err && v->state == STORE_CREATING && g.nr_records) {
		err = found_made(v, l, &g);
		gather_free(&g);
		return err ? err : -ESTALE;
	}
	if (!err && v->state == STORE_LIVE && may_be_named(v, l, &g, why))
		err = -EAGAIN;
	/* The members of what is deleted are free by now: no record of it makes it a volume. */
	if (!err && v->state != STORE_DELETING)
		err = named(v, &g, in, n, why);
	gather_free(&g);
	return err;
}

static int undo_all(const struct store_intent *in, size_t n, char *why)
{
	struct outcome *o __free(free) = calloc(n + 1, sizeof(*o));
	size_t i;

	if (!o)
		return -ENOMEM;
	peers_each(n, undo_one, &(struct undo) { in, o });
	for (i = 0; i < n; i++) {
		if (!o[i].err || o[i].err == -ESTALE)
			continue;
		snprintf(why, REASON, "%s", o[i].why);
		return o[i].err;
	}
	return 0;
}

int intents_undo(const struct muuid *volume, char *why)
{
	struct layout *l __free(free) = malloc(sizeof(*l));
	struct store_intent *in __free(free) = NULL;
	struct store_volume v = { 0 };
	size_t n;
	int err = store_intents(&in, &n);

	snprintf(why, REASON, "%s", store_words(err ? err : -ENOMEM));
	n = intents_of(in, n, volume);
	if (!err)
		err = l ? store_volume_get(volume, &v, l) : -ENOMEM;
	if (!err && n)
		err = never_used(&v, l, in, n, why);
	if (!err)
		err = undo_all(in, n, why);
	if (!err && v.state == STORE_CREATING)
		err = store_volume_erase(volume);
	/* Made after all: there is nothing to undo. */
	return err == -ESTALE ? 0 : err;
}

static int allocate(struct req *r, const struct layout *l, u32 first, u32 n, const int *steps)
{
	struct store_host *h __free(free) = NULL;
	struct put *p __free(free) = NULL;
	size_t nr_hosts, k;
	u32 i;
	char why[REASON];
	int err = store_hosts(&h, &nr_hosts);

	if (err)
		return req_fail(r, "%s", store_words(err));
	p = calloc(n, sizeof(*p));
	if (!p)
		return req_fail(r, "no memory");
	for (i = 0; i < n; i++) {
		const struct layout_member *m = &l->member[first + i];

		for (k = 0; k < nr_hosts && !muuid_equal(&h[k].uuid, &m->target); k++)
			;
		if (k == nr_hosts)
			return req_fail(r, "a host was removed meanwhile; try again");
		p[i].h = &h[k];
		p[i].q = (struct mgmt_req) {
			.op = MGMT_ALLOC, .drive = m->drive, .extent = m->extent,
			.volume = l->volume, .length = m->size,
		};
		memcpy(p[i].q.name, l->name, sizeof(p[i].q.name));
	}
	puts_run(p, 1);
	crash_point(p[0].err ? CRASH_NONE : steps[1]);
	if (!p[0].err && n > 1)
		puts_run(p + 1, n - 1);
	if (puts_result(p, n, why))
		return req_fail(r, "an extent cannot be had: %s", why);
	crash_point(steps[2]);
	return 0;
}

struct zeroed {
	struct mgmt_extent e;
	struct outcome o;
};

struct zeroing {
	const struct layout *l;
	u32 first;
	struct zeroed *d;
};

static void query_zeroed(void *arg, size_t i)
{
	struct zeroing *z = arg;
	const struct layout_member *m = &z->l->member[z->first + i];
	struct zeroed *d = &z->d[i];
	struct store_host h;

	if (peer_of_member(m, &h)) {
		snprintf(d->o.why, REASON, "its host was removed");
		d->o.err = -EHOSTUNREACH;
		return;
	}
	d->o.err = peer_extent(&h, &m->extent, &d->e, d->o.why);
	if (!d->o.err && d->e.error) {
		d->o.err = d->e.error;
		snprintf(d->o.why, REASON, "host %s cannot zero an extent: %s", h.name,
			 strerror(-d->e.error));
	}
}

/* One round over the new extents: bytes zeroed so far. */
static int zeroed_so_far(const struct layout *l, u32 first, u32 n, u64 *done, bool *all, char *why)
{
	struct zeroed *d __free(free) = calloc(n, sizeof(*d));
	int err = d ? 0 : -ENOMEM;
	u32 i;

	*done = 0;
	*all = true;
	if (d)
		peers_each(n, query_zeroed, &(struct zeroing) { l, first, d });
	for (i = 0; i < n && !err; i++) {
		err = d[i].o.err;
		if (err)
			snprintf(why, REASON, "%s", d[i].o.why);
		*done += d[i].e.zeroed;
		*all = *all && d[i].e.ready;
	}
	return err;
}

/* The client waits no more, or `volume delete` of what is being made. */
static bool cancelled(const struct req *r, const struct layout *l)
{
	return req_cancelled(r) || busy_cancelled(&l->volume);
}

static int wait_zeroed(struct req *r, const struct layout *l, u32 first, u32 n)
{
	u64 total = 0, done;
	char why[REASON] = "";
	unsigned int pause = 20;
	bool all = false;
	u32 i;

	for (i = first; i < first + n; i++)
		total += l->member[i].size;
	while (!all) {
		if (stopping())
			return req_fail(r, "meshd is being stopped; nothing is made");
		if (cancelled(r, l))
			return req_fail(r, "cancelled");
		if (zeroed_so_far(l, first, n, &done, &all, why))
			return req_fail(r, "zeroing stopped: %s", why[0] ? why : "its host is gone");
		req_progress(r, "zeroing", done, total);
		if (!all) {
			reconcile_locals(&l->volume);
			sleep_ms(pause);
		}
		pause = pause < 500 ? pause * 2 : 500;
	}
	return 0;
}

/* @n planned members from @first on, until they read zero; undone when that fails. */
static int acquire(struct req *r, struct store_volume *v, const struct layout *l, u32 first, u32 n,
		   const int *steps)
{
	int err = note_intents(v, l, first, n);

	if (err == -EEXIST)
		return req_fail(r, "there is a volume %s already; choose another name", l->name);
	if (err)
		return req_fail(r, "%s", store_unwritten(err));
	crash_point(steps[0]);
	err = allocate(r, l, first, n, steps);
	if (!err)
		err = wait_zeroed(r, l, first, n);
	if (err) {
		intents_drop(&l->volume, l->name);
		return err;
	}
	crash_point(steps[3]);
	return 0;
}

static int plan(struct req *r, struct layout *l, struct locals *of)
{
	struct choice c;
	int err = choice_get(r, &c, &of->q);

	if (!err)
		err = choice_plan(r, l, &c, &of->q);
	choice_free(&c);
	return err ? err : local_apart(r, of, l);
}

static int plan_swap(struct req *r, struct layout *l, u32 slot, struct locals *of)
{
	struct choice c;
	int err = choice_get(r, &c, &of->q);

	if (!err)
		err = choice_swap(r, l, slot, &c, &of->q);
	choice_free(&c);
	return err ? err : local_apart(r, of, l);
}

/* What local devices carry is erased once all that can be refused has been checked. */
int extents_get(struct req *r, struct store_volume *v, struct layout *l, const struct segment_req *q,
		const int *steps)
{
	u32 first = l->members;
	struct locals of;
	int err = local_begin(r, q, &of);

	if (!err)
		err = plan(r, l, &of);
	if (!err)
		err = local_label(r, &of, l);
	if (!err)
		err = acquire(r, v, l, first, l->members - first, steps);
	local_end(&of);
	return err;
}

int extents_swap(struct req *r, struct store_volume *v, struct layout *l, u32 slot,
		 const struct segment_req *q, const int *steps)
{
	struct locals of;
	int err = local_begin(r, q, &of);

	if (!err)
		err = plan_swap(r, l, slot, &of);
	if (!err)
		err = local_label(r, &of, l);
	if (!err)
		err = acquire(r, v, l, slot, 1, steps);
	local_end(&of);
	return err;
}
