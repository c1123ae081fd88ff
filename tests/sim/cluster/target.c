// SPDX-License-Identifier: GPL-2.0-only
/* A drive's target: who may open the extent of its label, and what is in flight there. */
#include <string.h>

#include "tests/sim/cluster/search.h"

u8 lay_drives(const struct lay *l)
{
	u8 m = 0;

	for (int p = 0; p < PLACES; p++)
		m |= l->pl[p] ? 1 << drive_of(l->pl[p]) : 0;
	return m;
}

bool lay_names(const struct lay *l, u8 x)
{
	for (int p = 0; p < PLACES; p++) {
		if (x && l->pl[p] == x)
			return true;
	}
	return false;
}

bool label_has(const struct state *s, u8 x)
{
	return s->d[drive_of(x)].x == x;
}

bool session(const struct state *s, int h, int d)
{
	return s->d[d].grant == h + 1 && s->d[d].gnum == s->h[h].num;
}

u8 sessions(const struct state *s, int h)
{
	u8 m = 0;

	for (int d = 0; d < DRIVES; d++)
		m |= session(s, h, d) << d;
	return m;
}

bool target_open_for_other(const struct state *s, int h, int d)
{
	const struct drive *e = &s->d[d];

	return (e->grant && e->grant != h + 1) || (e->rg & ~(1 << h));
}

bool target_unknown(const struct state *s, int h, int d)
{
	return s->d[d].unknown && s->d[d].att != h + 1;
}

/* The number of an OPEN for writing against the label's. */
static bool number_opens(const struct state *s, int h, int d, u16 num)
{
	const struct drive *e = &s->d[d];
	const struct host *x = &s->h[h];
	u16 label = keeps(RULE_DURABLE) ? e->num : e->vnum;
	u16 a = access_of(num), l = access_of(label);

	if (a < l && keeps(RULE_LOWER))
		return false;
	if (a == l && e->att && e->att != h + 1 && keeps(RULE_EQUAL))
		return false;
	if (a == l && e->att == h + 1 && num < label && keeps(RULE_RESTART))
		return false;
	/* A retake names the number served so far: another host was there since. */
	return !(x->live && x->num == num && x->old && l > access_of(x->old) && e->att != h + 1);
}

bool target_may_open(const struct state *s, int h, u8 x, u16 num, bool pre)
{
	int d = drive_of(x);
	const struct drive *e = &s->d[d];

	if (e->moved || e->x != x || (s->h[h].cut >> d & 1))
		return false;
	if (!e->zeroed && keeps(RULE_ZEROED))
		return false;
	if (!pre && target_open_for_other(s, h, d) && keeps(RULE_HELD))
		return false;
	if (!pre && target_unknown(s, h, d) && keeps(RULE_UNKNOWN) && keeps(RULE_UNKNOWN_OPEN))
		return false;
	return number_opens(s, h, d, num);
}

bool target_may_read(const struct state *s, int h, u8 x, u16 num)
{
	int d = drive_of(x);
	const struct drive *e = &s->d[d];

	if (e->moved || e->x != x || !e->zeroed || (s->h[h].cut >> d & 1))
		return false;
	if (!keeps(RULE_READER_RESTART) && e->num > num)
		return false;
	if (!keeps(RULE_READER_NUMBER))
		return !e->grant || e->grant == h + 1;
	return access_of(e->num) <= num && !(e->grant && access_of(e->gnum) > num);
}

void target_land(struct state *t, int d, u8 bit, int h, u16 num, u8 x, u8 boot)
{
	struct drive *e = &t->d[d];
	struct host *y = &t->h[h];

	if (e->x != x) {
		complain("a write of V lands on bytes that are V's no more");
		return;
	}
	if (t->srv > num || (t->srv == num && (t->srvh != h + 1 || t->srvboot != boot)))
		complain("a write of a former holder lands after the new one began to serve");
	e->mask |= bit;
	if (y->ph == P_SERVES && y->boot == boot && y->num == num && y->infl == bit) {
		y->appl |= 1 << d;
		kernel_acked(t, h);
	}
}

/* What is in flight ends: it has landed, or never will. Return: number of outcomes. */
int target_end_flight(struct state *out, const struct state *s, int d)
{
	struct drive e = s->d[d];

	out[0] = *s;
	if (!e.fw)
		return 1;
	for (int i = 0; i < 2; i++) {
		struct drive *q;

		out[i] = *s;
		q = &out[i].d[d];
		q->fw = q->fh = q->fx = q->fboot = q->fnum = 0;
	}
	target_land(&out[0], d, e.fw, e.fh - 1, e.fnum, e.fx, e.fboot);
	return 2;
}

int target_open(struct state *out, const struct state *s, int h, u8 x, u16 num)
{
	int d = drive_of(x), n = 1;
	const struct drive *e = &s->d[d];

	out[0] = *s;
	if (e->grant && !(e->grant == h + 1 && e->gnum == num) && keeps(RULE_FLIGHT))
		n = target_end_flight(out, s, d);
	for (int i = 0; i < n; i++) {
		struct drive *q = &out[i].d[d];

		if (keeps(RULE_DURABLE))
			q->num = num;
		else
			q->vnum = num;
		q->att = h + 1;
		q->grant = h + 1;
		q->gnum = num;
		q->gx = x;
		q->unknown = 0;
		if (keeps(RULE_READERS_END))
			q->rg = 0;
	}
	return n;
}

/* The extent leaves the kernel's table, then the label. */
int target_free(struct state *out, const struct state *s, int d)
{
	int n = 1;

	out[0] = *s;
	if (keeps(RULE_TABLE) && keeps(RULE_TABLE_FLIGHT))
		n = target_end_flight(out, s, d);
	for (int i = 0; i < n; i++) {
		struct drive *q = &out[i].d[d];

		if (keeps(RULE_TABLE))
			q->grant = q->gnum = q->gx = q->rg = 0;
		q->x = q->zeroed = q->att = q->ver = q->com = q->num = q->vnum = q->mask = 0;
		memset(&q->rec, 0, sizeof(q->rec));
	}
	return n;
}

static void restart(const struct state *s, int d)
{
	struct state out[2];
	int n = target_end_flight(out, s, d);

	for (int i = 0; i < n; i++) {
		struct drive *q = &out[i].d[d];

		out[i].restarts++;
		q->grant = q->gnum = q->gx = q->rg = 0;
		if (!keeps(RULE_DURABLE))
			q->vnum = q->num;
		q->unknown = opt.plain && keeps(RULE_UNKNOWN);
		search_reach(&out[i], "the target of d%d restarts", d);
	}
}

/* A target knows all openings again when its clients had time to come back, if they can. */
static void known(const struct state *s, int d)
{
	u8 a = s->d[d].att;
	const struct host *x = &s->h[a ? a - 1 : 0];
	struct state t = *s;

	if (a && x->ph >= P_OPENS && x->ph <= P_SERVES && !(x->cut >> d & 1) &&
	    access_of(x->num) >= access_of(s->d[d].num) && !session(s, a - 1, d))
		return;
	t.d[d].unknown = 0;
	search_reach(&t, "the target of d%d: time has passed, its openings are known", d);
}

void target_steps(const struct state *s)
{
	for (int d = 0; d < DRIVES; d++) {
		const struct drive *e = &s->d[d];
		struct state out[2];

		if (s->restarts < opt.restarts && (e->grant || e->rg))
			restart(s, d);
		if (e->fw) {
			target_end_flight(out, s, d);
			search_reach(&out[0], "the write in flight at d%d lands", d);
		}
		if (e->unknown)
			known(s, d);
	}
	if (s->late_host) {
		struct state t = *s, out[2];
		int h = s->late_host - 1, n;

		t.late_host = t.late_x = t.late_num = 0;
		if (!target_may_open(s, h, s->late_x, s->late_num, true))
			return;
		n = target_open(out, &t, h, s->late_x, s->late_num);
		for (int i = 0; i < n; i++)
			search_reach(&out[i], "the late OPEN of d%d arrives", drive_of(s->late_x));
	}
}
