// SPDX-License-Identifier: GPL-2.0-only
/* A host's kernel: opens the members, has a disk, writes, is fenced, gets another layout. */
#include <string.h>

#include "tests/sim/cluster/objects.h"
#include "tests/sim/cluster/search.h"
#include "userspace/plan/again.h"
#include "userspace/plan/change.h"

static char name(int h)
{
	return 'A' + h;
}

void kernel_acked(struct state *t, int h)
{
	struct host *x = &t->h[h];

	if (!x->infl || x->ph != P_SERVES || (lay_drives(&x->lay) & ~x->appl))
		return;
	if (t->dead_num && access_of(x->num) >= t->dead_num)
		complain("a volume that was deleted before its attach acknowledges writes");
	for (int p = 0; p < PLACES; p++)
		t->must[p] |= x->lay.pl[p] ? x->infl : 0;
	x->infl = x->appl = 0;
}

/* The members that the kernel opens, and may by the decisions of its agent. */
static bool may_open(const struct state *s, int h, u8 x)
{
	const struct host *y = &s->h[h];
	struct layout_object l;
	struct layout_object rl;
	struct plan_attached r;
	struct plan_slot slot;
	struct muuid host = id_of_host(h);

	if (!target_may_open(s, h, x, y->num, y->pre))
		return false;
	layout_object(&l, &y->lay);
	slot_object(&slot, &s->d[drive_of(x)]);
	if (!plan_change_opens(&l.l, slot.record_version, slot.record_commit))
		return false;
	if (!y->nost || y->ph != P_OPENS)
		return true;
	record_object(&r, &rl, y);
	return plan_again_opens(&r, &host, &slot);
}

static bool fences_one_that_lives(const struct state *s, int h, int d)
{
	const struct host *o = &s->h[1 - h];
	const struct drive *e = &s->d[d];

	return o->ph == P_SERVES && e->att == 2 - h && access_of(e->num) == access_of(o->num) &&
	       e->num < s->h[h].num && !(o->cut >> d & 1) && (o->bel >> d & 1);
}

static void open_member(const struct state *s, int h, u8 x)
{
	const struct host *y = &s->h[h];
	struct state out[2];
	int d = drive_of(x), n;

	if (!y->pre && fences_one_that_lives(s, h, d))
		complain("a plain attach fences a holder that lives and reaches the member");
	n = target_open(out, s, h, x, y->num);
	for (int i = 0; i < n; i++) {
		out[i].h[h].bel |= 1 << d;
		search_reach(&out[i], "%c opens d%d for writing with %x%s", name(h), d, y->num,
			     s->d[d].grant && s->d[d].grant != h + 1 ? ": the other is fenced there" :
			     "");
	}
}

static void open_steps(const struct state *s, int h)
{
	const struct host *x = &s->h[h];

	for (int p = 0; p < PLACES; p++) {
		u8 e = x->lay.pl[p];

		if (e && !(session(s, h, drive_of(e)) && (x->bel >> drive_of(e) & 1)) &&
		    may_open(s, h, e))
			open_member(s, h, e);
	}
}

static void read_open_steps(const struct state *s, int h)
{
	const struct host *x = &s->h[h];

	for (int p = 0; p < PLACES; p++) {
		u8 e = x->lay.pl[p];
		int d = drive_of(e), n;
		struct state out[2];

		if (!e || (s->d[d].rg >> h & 1) || !target_may_read(s, h, e, x->num))
			continue;
		out[0] = *s;
		n = s->d[d].grant ? target_end_flight(out, s, d) : 1;
		for (int i = 0; i < n; i++) {
			out[i].d[d].rg |= 1 << h;
			out[i].d[d].grant = out[i].d[d].gx = out[i].d[d].gnum = 0;
			search_reach(&out[i], "%c opens d%d for reading with %x", name(h), d,
				     x->num);
		}
	}
}

/* The disk is there; after a retake it was there all the time. */
void kernel_serve(struct state *t, int h)
{
	struct host *x = &t->h[h];
	bool all = !(lay_drives(&x->lay) & ~sessions(t, h));

	if (x->live && t->srv != x->sn && all)
		complain("a retake goes on under the live disk although another host served meanwhile");
	for (int p = 0; p < PLACES && all; p++) {
		if (!x->lay.pl[p] && t->must[p])
			complain("an older layout is served: acknowledged writes are missing");
	}
	x->ph = P_SERVES;
	x->live = x->old = x->sn = 0;
	x->pre = opt.plain ? 0 : x->pre;
	if (x->num >= t->srv) {
		t->srv = x->num;
		t->srvh = h + 1;
		t->srvboot = x->boot;
	}
}

/* @to: drives where it lands at once; @flies: one where it is in flight, or -1. */
static void write_one(const struct state *s, int h, u8 to, int flies)
{
	struct state t = *s;
	struct host *x = &t.h[h];
	u8 bit = 1 << t.writes++;

	x->infl = bit;
	x->appl = 0;
	if (flies >= 0) {
		struct drive *e = &t.d[flies];

		e->fw = bit;
		e->fh = h + 1;
		e->fnum = x->num;
		e->fx = e->gx;
		e->fboot = x->boot;
	}
	for (int d = 0; d < DRIVES && !bad; d++) {
		if (to >> d & 1)
			target_land(&t, d, bit, h, s->h[h].num, t.d[d].gx, s->h[h].boot);
	}
	search_reach(&t, "%c writes %x: lands on drives %x%s%s", name(h), bit, to,
		     flies >= 0 ? ", in flight at one more" : "", x->infl ? "" : ", acknowledged");
}

static void write_steps(const struct state *s, int h)
{
	const struct host *x = &s->h[h];
	u8 can = lay_drives(&x->lay) & sessions(s, h);

	if (!x->infl && s->writes < opt.writes) {
		for (u8 to = can;; to = (to - 1) & can) {
			for (int d = 0; opt.flights && d < DRIVES; d++) {
				if ((can & ~to) >> d & 1 && !s->d[d].fw)
					write_one(s, h, to, d);
			}
			if (!to)
				break;
			write_one(s, h, to, -1);
		}
	}
	if (x->infl) {
		struct state t = *s;
		u8 more = can & ~x->appl;

		for (int d = 0; d < DRIVES; d++)
			more &= s->d[d].fw ? ~(1 << d) : 0xff;
		for (int d = 0; d < DRIVES && !bad; d++) {
			if (more >> d & 1)
				target_land(&t, d, x->infl, h, x->num, s->d[d].gx, x->boot);
		}
		if (more)
			search_reach(&t, "%c's write goes on to drives %x%s", name(h), more,
				     t.h[h].infl ? "" : ", acknowledged");
	}
}

/* A label above the kernel's number: another host has taken V, and the disk is dead for good. */
static void fence_step(const struct state *s, int h)
{
	const struct host *x = &s->h[h];
	struct state t = *s;
	bool above = false;

	for (int d = 0; d < DRIVES; d++) {
		const struct drive *e = &s->d[d];

		if (!lay_names(&x->lay, e->x) || (x->cut >> d & 1) || e->moved)
			continue;
		above |= access_of(e->num) > x->num;
		above |= x->live && x->old && e->num > access_of(x->old) + 63 && e->att != h + 1;
	}
	if (!above)
		return;
	for (int d = 0; d < DRIVES; d++) {
		if (session(s, h, d) && !s->d[d].fw)
			t.d[d].grant = t.d[d].gx = t.d[d].gnum = 0;
	}
	host_crash(&t, h);
	/* Its agent lives: while access names it, no other kernel that serves could be named. */
	if (names(&s->s, h, x->num) && keeps(RULE_FENCED_NONE))
		t.h[h].held = x->num;
	search_reach(&t, "%c sees a label above its number: fenced for good", name(h));
}

static void notice_step(const struct state *s, int h)
{
	struct state t = *s;

	t.h[h].bel &= sessions(s, h);
	if (t.h[h].bel != s->h[h].bel)
		search_reach(&t, "%c notices the sessions that it lost", name(h));
}

/* The kernel itself raises the restart where it lost a session. */
static void raise_step(const struct state *s, int h)
{
	struct state t = *s;

	if (s->raises >= opt.raises || !(lay_drives(&s->h[h].lay) & ~sessions(s, h)))
		return;
	t.raises++;
	t.h[h].num++;
	search_reach(&t, "%c's kernel lost a session: restart %d", name(h), t.h[h].num & 63);
}

/* The next version of the layout, from the agent that has written the record of its own host. */
static void set_step(const struct state *s, int h)
{
	const struct host *x = &s->h[h];
	struct layout_object l, has;
	struct state t = *s;
	bool recorded[PLACES] = { 0 };

	if (store_stopped(&s->s) || !names(&s->s, h, x->num) || s->s.lay.ver <= x->lay.ver)
		return;
	layout_object(&l, &s->s.lay);
	layout_object(&has, &x->lay);
	for (int p = 0; p < PLACES; p++) {
		const struct key *k = s->s.lay.pl[p] ? key_get(&s->s, s->s.lay.pl[p]) : NULL;

		recorded[p] = k && plan_change_recorded(&l.l, k->ver, k->com);
	}
	if (!plan_change_set(&l.l, &has.l, recorded))
		return;
	t.h[h].lay = s->s.lay;
	if (opt.record && keeps(RULE_RECORD_SET))
		t.h[h].rc_lay = s->s.lay;
	search_reach(&t, "%c's kernel gets version %d", name(h), s->s.lay.ver);
	if (opt.record && keeps(RULE_RECORD_SET) && s->crashes < opt.crashes) {
		host_crash(&t, h);
		t.crashes++;
		search_reach(&t, "%c writes version %d to its record and crashes", name(h),
			     s->s.lay.ver);
	}
}

/* Where the record follows the kernel: the mutant of RULE_RECORD_SET. */
static void late_record_step(const struct state *s, int h)
{
	struct state t = *s;

	if (keeps(RULE_RECORD_SET) || !opt.record || s->h[h].rc_lay.ver >= s->h[h].lay.ver)
		return;
	t.h[h].rc_lay = s->h[h].lay;
	search_reach(&t, "%c writes its version to its record", name(h));
}

void kernel_steps(const struct state *s, int h)
{
	const struct host *x = &s->h[h];

	if (x->ph == P_READS) {
		read_open_steps(s, h);
		fence_step(s, h);
	}
	if (x->ph != P_OPENS && x->ph != P_SERVES)
		return;
	open_steps(s, h);
	notice_step(s, h);
	fence_step(s, h);
	if (x->ph == P_OPENS && (!(lay_drives(&x->lay) & ~x->bel) || !keeps(RULE_SERVE_ALL))) {
		struct state t = *s;

		kernel_serve(&t, h);
		search_reach(&t, "%c has all members: the disk is there", name(h));
	}
	if (x->ph != P_SERVES)
		return;
	write_steps(s, h);
	raise_step(s, h);
	set_step(s, h);
	late_record_step(s, h);
}
