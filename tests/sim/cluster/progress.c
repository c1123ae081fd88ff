// SPDX-License-Identifier: GPL-2.0-only
/*
 * From each state: everything is repaired, all that is in flight or behind is gone. Then the volume
 * attaches with all that was acknowledged, and no space is lost.
 */
#include <string.h>

#include "tests/sim/cluster/objects.h"
#include "userspace/plan/access.h"
#include "userspace/plan/change.h"

static bool all_sessions(const struct state *s, int h)
{
	return s->h[h].ph == P_SERVES && !(lay_drives(&s->h[h].lay) & ~sessions(s, h));
}

/* A power cut of a host that serves, with the store away: its record brings it back. */
static const char *power_cut(const struct state *s, int h)
{
	const struct host *x = &s->h[h];
	struct state t = *s;
	u16 num;

	if (x->rc_mode != PLAN_RW || access_of(x->rc_num) != access_of(x->num))
		return "power cut now: nothing on the host says what was attached";
	t.h[h].cut = 0;
	host_crash(&t, h);
	num = again_number(&t, h);
	if (!num)
		return "power cut now: the record attaches nothing";
	for (int p = 0; p < PLACES; p++) {
		if (x->rc_lay.pl[p] && !target_may_open(&t, h, x->rc_lay.pl[p], num, true))
			return "power cut now: a label refuses its own attacher";
	}
	return NULL;
}

/* A kernel serves, and the host that access names is dead: it can be named again. */
static const char *named_again(const struct state *s, int h)
{
	const struct host *o = &s->h[1 - h];
	struct volume_object v;
	struct plan_access next;
	struct plan_txn p;
	struct plan_retake r = { .host = id_of_host(h), .served = number_of(s->h[h].num) };
	u64 above;

	r.holder_alive = o->up;
	if (o->ph != P_IDLE || o->held || o->rel || s->t[0].kind || s->t[1].kind)
		return NULL;
	if (s->s.vst != PLAN_VOLUME_READY || s->s.back || store_behind(s, 0xff))
		return NULL;
	for (int d = 0; d < DRIVES; d++) {
		if (s->d[d].grant == 2 - h)
			return NULL;
	}
	volume_object(&v, &s->s, false);
	r.volume = &v.v;
	r.access = &v.a;
	if (plan_retake(&r, &next, &above, &p) == PLAN_HELD)
		return "a kernel serves, access names a host that is dead: nothing can be decided";
	return NULL;
}

/* No holder: the store's number is good enough for a reader at each label. */
static const char *readable(const struct state *s)
{
	if (s->s.mode != PLAN_NONE || s->s.vst != PLAN_VOLUME_READY)
		return NULL;
	for (int p = 0; p < PLACES; p++) {
		u8 x = s->s.lay.pl[p];
		struct state t;

		if (!x || !label_has(s, x) || !s->d[drive_of(x)].zeroed)
			continue;
		t = *s;
		t.h[0].cut = t.d[drive_of(x)].grant = t.d[drive_of(x)].moved = 0;
		t.d[drive_of(x)].unknown = 0;
		if (!target_may_read(&t, 0, x, s->s.num))
			return "no holder, and a reader with the store's number is refused";
	}
	return NULL;
}

static void repaired(struct state *t)
{
	memset(t->t, 0, sizeof(t->t));
	memset(&t->v, 0, sizeof(t->v));
	t->late_host = 0;
	for (int h = 0; h < HOSTS; h++) {
		host_crash(t, h);
		t->h[h].cut = t->h[h].rc_mode = 0;
	}
	for (int d = 0; d < DRIVES; d++) {
		struct drive *e = &t->d[d];

		e->fw = e->grant = e->gx = e->rg = e->unknown = e->moved = 0;
		e->gnum = 0;
		e->vnum = e->num;
		t->s.dhost = (t->s.dhost & ~(1 << d)) | e->home << d;
	}
}

/* All agents and the controller, until none of them has anything to do. */
static bool settled(struct state *t)
{
	for (int i = 0; i < 64; i++) {
		bool done = true;

		for (int d = 0; d < opt.drives; d++) {
			if (drive_settle(t, d))
				done = false;
		}
		if (store_free_one(t))
			done = false;
		if (done)
			return true;
	}
	return false;
}

static const char *space(const struct state *t)
{
	for (int d = 0; d < opt.drives; d++) {
		const struct key *k = t->d[d].x ? key_get(&t->s, t->d[d].x) : NULL;

		if (t->d[d].x && !k)
			return "space that nothing will ever free: the store does not know it";
		for (int i = 0; i < KEYS; i++) {
			if (!t->s.key[d][i].x)
				continue;
			if (t->s.key[d][i].st != PLAN_READY)
				return "an extent that never becomes ready, or is never freed";
			if (t->d[d].x != t->s.key[d][i].x)
				return "the store calls an extent ready that its label does not have";
		}
	}
	return NULL;
}

static const char *records(const struct state *t)
{
	for (int p = 0; p < PLACES; p++) {
		u8 x = t->s.lay.pl[p];

		if (x && label_has(t, x) &&
		    memcmp(&t->d[drive_of(x)].rec, &t->s.lay, sizeof(t->s.lay)))
			return "a record that stays another one than the store's layout";
	}
	return NULL;
}

static const char *attaches(struct state *t)
{
	struct volume_object v;
	struct plan_access next;
	struct plan_txn p;
	struct plan_attach a = { .host = id_of_host(0), .preempt = true };
	u16 num;

	volume_object(&v, &t->s, false);
	a.volume = &v.v;
	a.access = &v.a;
	if (plan_attach_rw(&a, &next, &p) != PLAN_GO)
		return "everything is repaired, and the attach is refused";
	num = number_packed(next.number);
	for (int i = 0; i < PLACES; i++) {
		u8 x = t->s.lay.pl[i];

		if (!x && t->must[i])
			return "attached after repair, a part of the volume is gone";
		if (!x)
			continue;
		if (!target_may_open(t, 0, x, num, true) ||
		    !plan_change_opens(&v.l.l, t->d[drive_of(x)].rec.ver, t->d[drive_of(x)].rec.com))
			return "everything is repaired, and a member refuses its OPEN";
		if (t->must[i] & ~t->d[drive_of(x)].mask)
			return "attached after repair, an acknowledged write is gone";
	}
	return NULL;
}

const char *progress(const struct state *s)
{
	static struct state t;
	const char *what = NULL;

	for (int h = 0; h < HOSTS && !what; h++) {
		if (!all_sessions(s, h))
			continue;
		if (opt.record)
			what = power_cut(s, h);
		if (opt.retakes && !what)
			what = named_again(s, h);
	}
	if (!s->backs && store_behind(s, 0xff) && !what)
		what = "a store that was never put back is taken for one";
	if (opt.readers && !s->backs && !what)
		what = readable(s);
	if (what)
		return what;
	t = *s;
	repaired(&t);
	if (store_behind(&t, 0xff) && !store_recover(&t, 0xff))
		return "recover refuses though every drive is there";
	if (!settled(&t))
		return "agents that never come to an end";
	/* What a kernel may still use is freed after V was attached and released. */
	t.s.clean = 1;
	t.s.mode = PLAN_NONE;
	if (!settled(&t))
		return "agents that never come to an end after a release";
	what = space(&t);
	if (!what && t.s.vst == PLAN_DELETING)
		what = "a volume that is being deleted for ever";
	if (!what && t.s.vst == PLAN_VOLUME_READY && !s->deletes)
		what = attaches(&t);
	if (!what && t.s.vst == PLAN_VOLUME_READY)
		what = records(&t);
	if (!what && !t.s.vst && !s->deletes)
		what = "the volume is gone";
	return what;
}
