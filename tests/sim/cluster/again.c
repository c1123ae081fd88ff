// SPDX-License-Identifier: GPL-2.0-only
/*
 * The agent of a host, continued: its record, attach by the record while the store is away, retake
 * under a live disk, HELD, and a host that is cut off from a drive.
 */
#include <string.h>

#include "tests/sim/cluster/objects.h"
#include "tests/sim/cluster/search.h"
#include "userspace/plan/access.h"
#include "userspace/plan/again.h"

static char name(int h)
{
	return 'A' + h;
}

void again_record(struct state *t, int h, u8 mode)
{
	struct host *x = &t->h[h];

	if (!opt.record)
		return;
	x->rc_mode = mode;
	x->rc_num = x->num;
	x->rc_sn = x->sn;
	x->rc_lay = x->lay;
}

void again_erase(struct state *t, int h)
{
	struct host *x = &t->h[h];

	x->rc_mode = 0;
	x->rc_num = x->rc_sn = 0;
	memset(&x->rc_lay, 0, sizeof(x->rc_lay));
}

u16 again_number(const struct state *s, int h)
{
	const struct host *x = &s->h[h];
	struct layout_object l;
	struct plan_attached r;
	struct plan_found found[PLACES];
	struct plan_slot slot[PLACES];
	struct muuid host = id_of_host(h);
	u32 n = 0;
	u64 number;

	record_object(&r, &l, x);
	for (u32 p = 0; p < PLACES; p++) {
		u8 e = x->rc_lay.pl[p];

		if (!e || s->d[drive_of(e)].moved || (x->cut >> drive_of(e) & 1) ||
		    !label_has(s, e))
			continue;
		slot_object(&slot[n], &s->d[drive_of(e)]);
		found[n] = (struct plan_found) { .place = p, .slot = &slot[n] };
		n++;
	}
	return plan_again(&r, &host, found, n, &number) == PLAN_GO ? number_packed(number) : 0;
}

static void again_step(const struct state *s, int h)
{
	u16 num = again_number(s, h);
	struct state t = *s;
	struct host *x = &t.h[h];

	if (!num)
		return;
	t.agains++;
	host_begin(&t, h, num, &s->h[h].rc_lay);
	x->nost = 1;
	x->rel = x->held = 0;
	if (x->rc_mode == PLAN_RO) {
		x->ph = P_READS;
		x->sn = x->rc_sn;
		x->pre = 1;
		search_reach(&t, "%c (reader) is up again, the store is away: %x", name(h), num);
		return;
	}
	x->pre = !opt.plain;
	x->rc_num = num;
	search_reach(&t, "%c is up again, the store is away: attaches by its record, %x, v%d",
		     name(h), num, x->lay.ver);
}

static void retake_step(const struct state *s, int h)
{
	const struct host *y = &s->h[h];
	struct volume_object v;
	struct plan_access next;
	struct plan_txn p;
	struct plan_retake r = { .host = id_of_host(h), .served = number_of(y->num),
				 .stopped = store_stopped(&s->s) };
	struct state t = *s;
	struct txn x = { .kind = T_RETAKE, .who = h, .boot = y->boot };
	u64 above;

	volume_object(&v, &s->s, false);
	r.volume = &v.v;
	r.access = &v.a;
	r.above = y->live ? number_of(y->old) : 0;
	for (int d = 0; d < DRIVES; d++) {
		if (lay_drives(&y->lay) & ~y->cut & 1 << d)
			r.open |= s->d[d].grant && s->d[d].grant != h + 1;
	}
	if (!v.exists || plan_retake(&r, &next, &above, &p) != PLAN_GO)
		return;
	x.compare = p.compare;
	x.put = p.put;
	x.num = number_packed(next.number);
	x.old = number_packed(above);
	t.retakes++;
	txn_decided(&t, &x, "retakes");
}

/* The kernel OPENs again under the live disk, which serves nothing until all members are open. */
void again_retaken(struct state *t, const struct txn *x)
{
	int h = x->who;
	struct host *y = &t->h[h];
	struct lay l = y->lay;
	u16 served = y->live ? y->sn : y->num;

	if (y->boot != x->boot || (y->ph != P_SERVES && !(y->ph == P_OPENS && y->live))) {
		/* Its kernel was fenced meanwhile. */
		if (y->up && keeps(RULE_FENCED_NONE))
			y->held = x->num;
		return;
	}
	host_begin(t, h, x->num, &l);
	y->nost = 0;
	y->live = 1;
	y->old = x->old;
	y->sn = served;
	y->pre = 1;
	again_record(t, h, PLAN_RW);
}

/* The target's answer to a plain OPEN: another host has it open. */
static void held_step(const struct state *s, int h)
{
	const struct host *x = &s->h[h];
	struct state t = *s;
	bool held = false;

	for (int d = 0; d < DRIVES; d++) {
		if (!(lay_drives(&x->lay) >> d & 1))
			continue;
		held |= target_open_for_other(s, h, d) || s->d[d].num > x->num;
		if (session(s, h, d))
			t.d[d].grant = t.d[d].gx = t.d[d].gnum = 0;
	}
	if (!held)
		return;
	host_crash(&t, h);
	again_erase(&t, h);
	if (keeps(RULE_HELD_NONE))
		t.h[h].held = x->num;
	search_reach(&t, "%c's attach %x is HELD: it closes", name(h), x->num);
}

static void held_txn(const struct state *s, int h)
{
	struct volume_object v;
	struct plan_access next;
	struct plan_txn p;
	struct muuid host = id_of_host(h);
	struct state t = *s;
	struct txn x = { .kind = T_HELD, .who = h, .num = s->h[h].held, .boot = s->h[h].boot };

	volume_object(&v, &s->s, false);
	if (store_stopped(&s->s))
		return;
	t.h[h].held = 0;
	if (!v.exists || plan_held(&v.a, &host, number_of(x.num), &next, &p) != PLAN_GO) {
		search_reach(&t, "%c has nothing to give up after HELD", name(h));
		return;
	}
	x.compare = p.compare;
	x.put = p.put;
	x.pre = next.clean;
	txn_decided(&t, &x, "gives its attach up after HELD");
}

static void cut_steps(const struct state *s, int h)
{
	for (int d = 0; d < DRIVES; d++) {
		struct state t = *s;

		if (s->h[h].cut >> d & 1) {
			t.h[h].cut &= ~(1 << d);
			search_reach(&t, "%c reaches d%d again", name(h), d);
		} else if (s->cuts < opt.cuts && (lay_drives(&s->s.lay) >> d & 1)) {
			t.cuts++;
			t.h[h].cut |= 1 << d;
			t.h[h].bel &= ~(1 << d);
			search_reach(&t, "%c is cut off from d%d", name(h), d);
			if (s->d[d].grant != h + 1 || s->d[d].fw)
				continue;
			t.d[d].grant = t.d[d].gx = t.d[d].gnum = 0;
			search_reach(&t, "%c is cut off from d%d, whose target ends its session",
				     name(h), d);
		}
	}
}

void again_steps(const struct state *s, int h)
{
	const struct host *x = &s->h[h];
	struct state t = *s;

	if (x->ph == P_IDLE && x->rc_mode && s->agains < opt.agains)
		again_step(s, h);
	if (x->nost && x->ph == P_SERVES && names(&s->s, h, x->num) && !store_stopped(&s->s)) {
		t.h[h].nost = 0;
		search_reach(&t, "%c: the store is there again and names it", name(h));
	}
	if ((x->ph == P_SERVES || (x->ph == P_OPENS && x->live)) && s->retakes < opt.retakes)
		retake_step(s, h);
	if (opt.plain && x->ph == P_OPENS && !x->pre && !x->live && !x->nost)
		held_step(s, h);
	if (x->held)
		held_txn(s, h);
	if (opt.cuts)
		cut_steps(s, h);
}
