// SPDX-License-Identifier: GPL-2.0-only
/* The agent of a host that attaches: by the store, for writing or reading, and releases. */
#include <string.h>

#include "tests/sim/cluster/objects.h"
#include "tests/sim/cluster/search.h"
#include "userspace/plan/access.h"

static char name(int h)
{
	return 'A' + h;
}

bool names(const struct store *s, int h, u16 num)
{
	return s->mode == PLAN_RW && s->holder == h + 1 && s->num == access_of(num);
}

/* What is in memory goes; the record, and what is in flight, stay. */
void host_crash(struct state *t, int h)
{
	struct host *x = &t->h[h], was = *x;

	memset(x, 0, sizeof(*x));
	x->cut = was.cut;
	x->up = was.up;
	x->rc_mode = was.rc_mode;
	x->rc_num = was.rc_num;
	x->rc_sn = was.rc_sn;
	x->rc_lay = was.rc_lay;
	/* Boots differ where writes of one number may be of two of them, or txns are late. */
	x->boot = was.boot + ((opt.record || opt.lates) && was.ph);
}

/* The kernel gets members to open under @num. */
void host_begin(struct state *t, int h, u16 num, const struct lay *l)
{
	struct host *x = &t->h[h];

	x->ph = P_OPENS;
	x->num = num;
	x->lay = *l;
	x->bel = x->infl = x->appl = 0;
}

/* What was found at the targets of the members. */
static void probe(const struct state *s, int h, struct plan_attach *a)
{
	for (int p = 0; p < PLACES; p++) {
		u8 x = s->s.lay.pl[p];

		if (!x || (s->h[h].cut >> drive_of(x) & 1) || !label_has(s, x))
			continue;
		a->open |= target_open_for_other(s, h, drive_of(x));
		a->unknown |= target_unknown(s, h, drive_of(x));
	}
}

static void attach_step(const struct state *s, int h, bool preempt)
{
	struct volume_object v;
	struct plan_access next;
	struct plan_txn p;
	struct plan_attach a = { .host = id_of_host(h), .preempt = preempt,
				 .stopped = store_stopped(&s->s) };
	struct state t = *s;
	struct txn x = { .kind = T_ATTACH, .who = h, .pre = preempt, .boot = s->h[h].boot };

	volume_object(&v, &s->s, false);
	if (!v.exists)
		return;
	a.volume = &v.v;
	a.access = &v.a;
	/* A lease may have ended at any time, so it is never what refuses here. */
	a.readers = (s->s.readers & ~(1 << h)) != 0;
	probe(s, h, &a);
	if (plan_attach_rw(&a, &next, &p) != PLAN_GO)
		return;
	x.compare = p.compare;
	x.put = p.put;
	x.erase = p.erase;
	x.num = number_packed(next.number);
	x.lay = s->s.lay;
	if (!preempt && a.open)
		complain("a plain attach takes a volume that is open for another host");
	t.attaches++;
	t.h[h].ph = P_TXN;
	t.h[h].up = opt.plain;
	txn_decided(&t, &x, preempt ? "attaches with preempt" : "attaches");
}

static void reader_step(const struct state *s, int h)
{
	struct volume_object v;
	struct plan_txn p;
	struct plan_attach a = { .host = id_of_host(h), .stopped = store_stopped(&s->s) };
	struct state t = *s;
	struct txn x = { .kind = T_READER, .who = h, .boot = s->h[h].boot };
	u64 number;

	volume_object(&v, &s->s, false);
	a.volume = &v.v;
	a.access = &v.a;
	if (!v.exists || plan_attach_ro(&a, &number, &p) != PLAN_GO)
		return;
	x.compare = p.compare;
	x.put = p.put;
	x.num = number_packed(number);
	x.lay = s->s.lay;
	t.attaches++;
	t.h[h].ph = P_TXN;
	txn_decided(&t, &x, "attaches for reading");
}

/* The transaction was done; its host may be another boot by now. */
void host_attached(struct state *t, const struct txn *x)
{
	struct host *y = &t->h[x->who];

	if (y->ph != P_TXN || y->boot != x->boot)
		return;
	host_begin(t, x->who, x->num, &x->lay);
	y->pre = x->pre;
	if (x->kind == T_READER) {
		y->ph = P_READS;
		y->sn = t->srv;
	}
	if (keeps(RULE_RECORD_ATTACH))
		again_record(t, x->who, x->kind == T_READER ? PLAN_RO : PLAN_RW);
}

static void detach_step(const struct state *s, int h, bool closed)
{
	struct state t = *s;
	u16 num = s->h[h].num;

	for (int d = 0; closed && d < DRIVES; d++) {
		if (session(s, h, d) && !s->d[d].fw)
			t.d[d].grant = t.d[d].gx = t.d[d].gnum = 0;
	}
	host_crash(&t, h);
	if (keeps(RULE_RECORD_ERASED))
		again_erase(&t, h);
	t.h[h].rel = num;
	search_reach(&t, "%c's kernel ends the attachment%s", name(h),
		     closed ? "" : ", and its CLOSE is lost");
}

static void release_step(const struct state *s, int h)
{
	struct volume_object v;
	struct plan_access next;
	struct plan_txn p;
	struct muuid host = id_of_host(h);
	struct state t = *s;
	struct txn x = { .kind = T_RELEASE, .who = h, .num = s->h[h].rel, .boot = s->h[h].boot };

	volume_object(&v, &s->s, false);
	if (store_stopped(&s->s))
		return;
	t.h[h].rel = 0;
	if (!v.exists || plan_release(&v.a, &host, number_of(x.num), &next, &p) != PLAN_GO) {
		search_reach(&t, "%c has nothing to release", name(h));
		return;
	}
	x.compare = p.compare;
	x.put = p.put;
	x.pre = next.clean;
	txn_decided(&t, &x, "releases");
}

/* The mutant of RULE_KERNEL_FIRST. */
static void release_first(const struct state *s, int h)
{
	struct state t = *s;

	t.h[h].rel = s->h[h].num;
	release_step(&t, h);
}

static void reader_end(const struct state *s, int h)
{
	struct state t = *s;

	t.s.readers &= ~(1 << h);
	txn_changed(&t, PLAN_OBJ_READERS, 0);
	if (s->s.readers >> h & 1)
		search_reach(&t, "%c's lease ends, and it reads on", name(h));
	for (int d = 0; d < DRIVES; d++)
		t.d[d].rg &= ~(1 << h);
	host_crash(&t, h);
	again_erase(&t, h);
	search_reach(&t, "%c (reader) detaches", name(h));
}

/* @late: an OPEN of it is in flight. */
static void crash_step(const struct state *s, int h, u8 late)
{
	struct state t = *s;

	t.crashes++;
	if (late) {
		t.late_host = h + 1;
		t.late_x = late;
		t.late_num = s->h[h].num;
	}
	host_crash(&t, h);
	t.h[h].up = 0;
	search_reach(&t, "%c crashes%s", name(h), late ? ", an OPEN in flight" : "");
}

static void crash_steps(const struct state *s, int h)
{
	const struct host *x = &s->h[h];
	u8 late = 0;

	if (x->ph == P_IDLE || s->crashes >= opt.crashes)
		return;
	crash_step(s, h, 0);
	if (!opt.late_opens || s->late_host || (x->ph != P_OPENS && x->ph != P_SERVES))
		return;
	for (int p = 0; p < PLACES; p++) {
		if (x->lay.pl[p] && !session(s, h, drive_of(x->lay.pl[p])))
			late = x->lay.pl[p];
	}
	if (late)
		crash_step(s, h, late);
}

/* The kernel's layout is noted, for those who free extents. */
static void note_step(const struct state *s, int h)
{
	struct volume_object v;
	struct plan_txn p;
	struct muuid host = id_of_host(h);
	struct state t = *s;
	struct txn x = { .kind = T_NOTE, .who = h, .num = s->h[h].num, .lay = s->h[h].lay };

	if (!opt.changes || (s->s.rep_num == access_of(x.num) && s->s.rep_ver == x.lay.ver))
		return;
	volume_object(&v, &s->s, false);
	if (!v.exists || plan_note(&v.v, &v.a, &host, number_of(x.num), store_stopped(&s->s),
				   &p) != PLAN_GO)
		return;
	x.compare = p.compare;
	x.put = p.put;
	txn_decided(&t, &x, "notes its kernel's version");
}

void host_steps(const struct state *s, int h)
{
	const struct host *x = &s->h[h];

	if (x->ph == P_IDLE && s->attaches < opt.attaches) {
		attach_step(s, h, true);
		if (opt.plain)
			attach_step(s, h, false);
		if (opt.readers)
			reader_step(s, h);
	}
	if (x->ph == P_SERVES && !x->infl && !x->rel) {
		detach_step(s, h, true);
		detach_step(s, h, false);
		if (!keeps(RULE_KERNEL_FIRST) && names(&s->s, h, x->num))
			release_first(s, h);
	}
	if (x->ph == P_SERVES)
		note_step(s, h);
	if (x->ph == P_READS)
		reader_end(s, h);
	if (x->rel)
		release_step(s, h);
	crash_steps(s, h);
}
