// SPDX-License-Identifier: GPL-2.0-only
/*
 * sim-roster "K+M|COPIES WRITES CRASHES ATTACHES CHANGES STORES" SECONDS: every order of
 * what two hosts can do to the rosters of one group, at small bounds. STORES are lost.
 *
 *   extents (roster, writes it has, holder, number of its label)
 *      ^ open, number, write a roster on any of them, write data on any of them
 *   host A, host B: idle -> opens -> numbers -> attached (protect/membership.c) -> idle
 *
 * A host may reach any subset of the extents when it attaches, crash at each step,
 * lose its store (one that was restored counts as lost); a roster and a write reach any subset of
 * their members first. Breadth first, so that the story of a failure is the shortest.
 * It must never be seen that an attached host reads or serves a member that lacks an
 * acknowledged write, or has one that a recovery had dropped.
 *
 * What is in flight and in which order it lands are the crash protocol's: sim-search.
 * A write is a bit here; recovery after a crash keeps or drops one that was not
 * acknowledged, as the crash protocol would with those members.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <xxhash.h>
#include <linux/bitops.h>

#include "protect/membership.h"
#include "protect/mutant.h"

#define EXTENTS		5	/* of 4 members, and a spare */
#define SPARE		(EXTENTS - 1)
#define NONE		7	/* no member */
#define WRITES_MAX	4

struct packed {			/* a roster; attach 0: none */
	u8	attach, epoch, in_sync, flags, host, spare;
};

struct extent {
	struct packed roster;
	u8	writes;		/* that it has */
	u8	holder;		/* 1 + host, or 0 */
	u8	label;		/* attach number that OPEN noted */
};

enum phase { IDLE, OPENS, NUMBERS, ATTACHED };

struct host {
	struct packed cur, pend, store;
	u8	phase;
	u8	preempts;
	u8	todo;		/* extents: to open, to number */
	u8	has;		/* extents that were not taken from it */
	u8	named, durable;	/* of struct prot_membership */
	u8	serving, pending, noted;
	u8	unnoted;	/* the store has yet to note what is pending */
	u8	write;		/* in flight */
	u8	landed;		/* extents that have it */
	u8	join;		/* member that is caught up and gets all writes, or NONE */
};

struct state {
	struct extent e[EXTENTS];
	struct host h[2];
	u8	acked, dropped;	/* writes */
	u8	writes, crashes, attaches, changes, stores;	/* so far */
	u8	spared;		/* the spare is, or was to be, a member */
};

static struct { int writes, crashes, attaches, changes, stores; } most;
static u32 width, k;

enum prot_mutant prot_mutant;

/* What has been reached: each state once, with the one it came from. */
static struct state *all;
static u32 *from, *table, n_all, max_all;
static u64 table_size, edges;
static const char *bad;
static u32 here;		/* whose successors are made */

static void unpack(struct prot_roster *r, const struct packed *p)
{
	memset(r, 0, sizeof(*r));
	r->attach = p->attach;
	r->epoch = p->epoch;
	r->in_sync = p->in_sync;
	r->flags = p->flags;
	r->host[0] = p->host;
	r->geo.k = k;
	r->geo.width = width;
	for (u32 i = 0; i < width; i++)
		r->uuid[i][0] = 1 + (i == p->spare ? SPARE : i);
}

static struct packed pack(const struct prot_roster *r)
{
	struct packed p = {
		.attach = r->attach, .epoch = r->epoch, .in_sync = r->in_sync,
		.flags = r->flags, .host = r->host[0], .spare = NONE,
	};

	for (u32 i = 0; i < width; i++)
		if (r->uuid[i][0] == 1 + SPARE)
			p.spare = i;
	return p;
}

static void load(struct prot_membership *m, const struct host *x)
{
	memset(m, 0, sizeof(*m));
	unpack(&m->cur, &x->cur);
	unpack(&m->pend, &x->pend);
	m->named = x->named;
	m->durable = x->durable;
	m->serving = x->serving;
	m->pending = x->pending;
	m->noted = x->noted;
}

static void keep(struct host *x, const struct prot_membership *m)
{
	static const struct packed none;

	x->cur = pack(&m->cur);
	x->pend = m->pending ? pack(&m->pend) : none;
	x->named = m->named;
	x->durable = m->durable;
	x->serving = m->serving;
	x->pending = m->pending;
	x->noted = m->noted;
}

/* Extents of members. */
static u8 extents(const struct packed *r, u64 members)
{
	u8 e = members;

	if (r->spare < width && members >> r->spare & 1)
		e = (e & ~(1 << r->spare)) | 1 << SPARE;
	return e;
}

static u8 readers(const struct host *x)
{
	struct prot_membership m;

	load(&m, x);
	return extents(&x->cur, prot_membership_readers(&m)) & x->has;
}

static u8 writers(const struct host *x)
{
	const struct packed *r = x->pending ? &x->pend : &x->cur;
	struct prot_membership m;

	load(&m, x);
	return extents(r, prot_membership_writers(&m)) |
	       (x->join < width ? extents(r, 1 << x->join) : 0);
}

static void check_reads(const struct state *s)
{
	for (int h = 0; h < 2; h++) {
		u8 may = s->h[h].phase == ATTACHED && s->h[h].serving ? readers(&s->h[h]) : 0;

		if (hweight64(may) < k)
			continue;
		for (int i = 0; i < EXTENTS; i++) {
			if (!(may >> i & 1))
				continue;
			if (s->acked & ~s->e[i].writes)
				bad = "a member is read that lacks an acknowledged write";
			if (s->dropped & s->e[i].writes)
				bad = "a write is read again that a recovery had dropped";
		}
	}
}

/* @s is reached from the state at hand. */
static void reach(const struct state *s)
{
	u64 at = XXH64(s, sizeof(*s), 1) & (table_size - 1);

	edges++;
	if (!bad)
		check_reads(s);
	for (; table[at]; at = (at + 1) & (table_size - 1))
		if (!memcmp(&all[table[at] - 1], s, sizeof(*s)))
			return;
	if (n_all == max_all)
		return;
	all[n_all] = *s;
	from[n_all++] = here;
	table[at] = n_all;
}

static void forget(struct state *s, int h)
{
	struct host *x = &s->h[h];
	struct packed store = x->store;

	memset(x, 0, sizeof(*x));
	x->store = store;
	x->join = NONE;
}

static void release(struct state *s, int h)
{
	for (int i = 0; i < EXTENTS; i++)
		if (s->h[h].has >> i & 1 && s->e[i].holder == h + 1)
			s->e[i].holder = 0;
	forget(s, h);
}

static void ack(struct state *s, struct host *x)
{
	if (!x->write || writers(x) & ~x->landed)
		return;
	if (s->dropped & x->write)
		bad = "a write is acknowledged that a recovery had dropped";
	s->acked |= x->write;
	x->write = x->landed = 0;
}

/* Attach: which extents are reached. Those that the other host has want a preempt. */
static void begin(const struct state *s, int h)
{
	u8 reachable = ((1 << width) - 1) | s->spared << SPARE;

	if (s->attaches == most.attaches)
		return;
	for (u8 r = reachable; r; r = (r - 1) & reachable) {
		for (int preempts = 0; preempts < 2; preempts++) {
			struct state t = *s;

			t.attaches++;
			t.h[h].phase = OPENS;
			t.h[h].preempts = preempts;
			t.h[h].todo = r;
			reach(&t);
		}
	}
}

/* One at a time where another host may do something in between. */
static void open_next(const struct state *s, int h)
{
	struct state t = *s;
	struct host *x = &t.h[h];

	do {
		int i = __ffs64((u64)x->todo);

		x->todo &= ~(1 << i);
		if (t.e[i].holder != 2 - h || x->preempts) {
			t.e[i].holder = h + 1;
			x->has |= 1 << i;
			t.h[!h].has &= ~(1 << i);
		}
	} while (x->todo && t.h[!h].phase == IDLE);
	if (!x->todo)
		x->preempts = 0;
	reach(&t);
}

/* The highest roster of what was opened. Return: there is one. */
static bool find(const struct state *s, const struct host *x, struct prot_roster *found, u64 *highest)
{
	struct prot_roster r;
	bool any = false;

	*highest = x->store.attach;
	for (int i = 0; i < EXTENTS; i++) {
		if (!(x->has >> i & 1))
			continue;
		*highest = *highest > s->e[i].label ? *highest : s->e[i].label;
		if (!s->e[i].roster.attach)
			continue;
		unpack(&r, &s->e[i].roster);
		*highest = *highest > r.attach ? *highest : r.attach;
		if (!any || prot_roster_cmp(&r, found) > 0)
			*found = r;
		any = true;
	}
	return any;
}

static void decide(const struct state *s, int h)
{
	u8 opened[EXTENTS][PROT_UUID_LEN] = {}, n = 0;
	struct prot_roster found, store = {};
	struct prot_membership m;
	const struct host *x = &s->h[h];
	struct prot_attach a = {
		.found = &found, .store = x->store.attach ? &store : NULL,
		.opened = opened, .host = { h + 1 },
	};
	struct state t;

	for (int i = 0; i < EXTENTS; i++)
		if (x->has >> i & 1)
			opened[n++][0] = 1 + i;
	a.n = n;
	unpack(&store, &x->store);
	if (find(s, x, &found, &a.highest)) {
		for (int witness = 0; witness < 2; witness++) {
			a.witness = witness;
			if (prot_membership_begin(&m, &a))
				continue;
			t = *s;
			keep(&t.h[h], &m);
			t.h[h].phase = NUMBERS;
			t.h[h].todo = x->has;
			t.h[h].unnoted = prot_membership_must_note(&m);
			reach(&t);
		}
	}
	t = *s;
	release(&t, h);
	reach(&t);
}

/* OPEN again with the number: refused where another host has come since. */
static void number_next(const struct state *s, int h)
{
	struct state t = *s;
	struct host *x = &t.h[h];

	do {
		int i = __ffs64((u64)x->todo);

		if (!(x->has >> i & 1) || t.e[i].label >= x->pend.attach) {
			release(&t, h);
			break;
		}
		if (!PROT_MUTANT(R_NUMBER))
			t.e[i].label = x->pend.attach;
		x->todo &= ~(1 << i);
		if (!x->todo)
			x->phase = ATTACHED;
	} while (x->todo && t.h[!h].phase == IDLE);
	reach(&t);
}

/* The crash protocol's part: writes that were not acknowledged are kept, or dropped. */
static void recover(const struct state *s, u8 in_sync, int w)
{
	u8 bit = 1 << w, has = 0;
	struct state t;

	while (w < s->writes && (s->acked | s->dropped) & bit) {
		w++;
		bit <<= 1;
	}
	if (w == s->writes) {
		reach(s);
		return;
	}
	for (int i = 0; i < EXTENTS; i++)
		if (in_sync >> i & 1 && s->e[i].writes & bit)
			has |= 1 << i;
	if (has && (has == in_sync || hweight64(has) >= k)) {
		t = *s;
		t.acked |= bit;
		for (int i = 0; i < EXTENTS; i++)
			if (in_sync >> i & 1)
				t.e[i].writes |= bit;
		recover(&t, in_sync, w + 1);
	}
	if (has != in_sync) {
		t = *s;
		t.dropped |= bit;
		for (int i = 0; i < EXTENTS; i++)
			if (in_sync >> i & 1)
				t.e[i].writes &= ~bit;
		recover(&t, in_sync, w + 1);
	}
}

static void serve(struct state *t, int h)
{
	u8 in_sync = extents(&t->h[h].cur, t->h[h].cur.in_sync);

	if (in_sync & ~t->h[h].has) {	/* taken from it meanwhile: its attach ends */
		release(t, h);
		reach(t);
		return;
	}
	check_reads(t);
	recover(t, in_sync, 0);
}

static void commit(struct state *t, int h, bool first)
{
	struct host *x = &t->h[h];

	if (x->cur.flags & PROT_ROSTER_CLEAN) {
		release(t, h);
		reach(t);
		return;
	}
	if (x->join < width && x->cur.in_sync >> x->join & 1)
		x->join = NONE;
	if (first) {
		serve(t, h);
		return;
	}
	ack(t, x);
	reach(t);
}

/* The pending roster lands on any subset of those that lack it. */
static void write_roster(const struct state *s, int h)
{
	const struct host *x = &s->h[h];
	struct prot_membership m;
	u64 left;

	load(&m, x);
	left = prot_membership_unwritten(&m);
	for (u64 now = left; now; now = (now - 1) & left) {
		struct state t = *s;
		u8 on = extents(&x->pend, now);
		bool first = !x->serving;

		if (on & ~x->has)
			continue;
		for (int i = 0; i < EXTENTS; i++)
			if (on >> i & 1)
				t.e[i].roster = x->pend;
		load(&m, x);
		if (prot_membership_written(&m, now)) {
			keep(&t.h[h], &m);
			commit(&t, h, first);
		} else {
			keep(&t.h[h], &m);
			reach(&t);
		}
	}
}

static void changed(const struct state *s, int h, const struct prot_membership *m, u8 join)
{
	struct state t = *s;

	t.changes++;
	keep(&t.h[h], m);
	t.spared |= t.h[h].pend.spare != NONE;
	t.h[h].join = join;
	t.h[h].unnoted = prot_membership_must_note(m);
	ack(&t, &t.h[h]);
	reach(&t);
}

static void changes(const struct state *s, int h)
{
	static const u8 spare[PROT_UUID_LEN] = { 1 + SPARE };
	const struct host *x = &s->h[h];
	u8 in_sync = x->pending ? x->pend.in_sync : x->cur.in_sync;
	struct prot_membership m;

	if (s->changes == most.changes)
		return;
	for (u8 gone = in_sync; gone; gone = (gone - 1) & in_sync) {
		load(&m, x);
		if (!prot_membership_remove(&m, gone))
			changed(s, h, &m, x->join < width && gone >> x->join & 1 ? NONE : x->join);
	}
	load(&m, x);
	if (x->join < width && !prot_membership_add(&m, x->join))
		changed(s, h, &m, x->join);
	for (u32 i = 0; i < width && x->cur.spare == NONE && x->join == NONE; i++) {
		load(&m, x);
		if (!s->spared && !prot_membership_replace(&m, i, spare))
			changed(s, h, &m, NONE);
	}
	for (int on = 0; on < 2; on++) {
		load(&m, x);
		if (on != !!(x->cur.flags & PROT_ROSTER_WITNESS) && k <= width - k &&
		    !prot_membership_witness(&m, on))
			changed(s, h, &m, x->join);
	}
	load(&m, x);
	if (!x->write && x->join == NONE && !prot_membership_clean(&m))
		changed(s, h, &m, NONE);
}

/* Opened for this host, with its number, and caught up. */
static void join(const struct state *s, int h)
{
	const struct host *x = &s->h[h];
	u8 in_sync = extents(&x->cur, x->cur.in_sync), has = 0xff;
	struct state t;

	for (int i = 0; i < EXTENTS; i++)
		if (in_sync >> i & 1)
			has &= s->e[i].writes;
	for (u32 i = 0; i < width; i++) {
		u8 e = __ffs64((u64)extents(&x->cur, 1 << i));

		if (x->cur.in_sync >> i & 1 || s->e[e].holder == 2 - h ||
		    s->e[e].label > x->cur.attach)
			continue;
		t = *s;
		t.e[e].holder = h + 1;
		t.e[e].label = x->cur.attach;
		t.e[e].writes = has;
		t.h[h].has |= 1 << e;
		t.h[h].join = i;
		t.h[h].landed &= ~(1 << e);
		reach(&t);
	}
}

static void write_data(const struct state *s, int h)
{
	const struct host *x = &s->h[h];
	u8 to = writers(x) & x->has;
	u8 left = x->write ? to & ~x->landed : to;

	if (!x->write && s->writes == most.writes)
		return;
	for (u8 now = left; now; now = (now - 1) & left) {
		struct state t = *s;

		if (!x->write)
			t.h[h].write = 1 << t.writes++;
		t.h[h].landed |= now;
		for (int i = 0; i < EXTENTS; i++)
			if (now >> i & 1)
				t.e[i].writes |= t.h[h].write;
		ack(&t, &t.h[h]);
		reach(&t);
	}
}

/* What has to be noted first; all else once it is committed, or never. */
static void note(const struct state *s, int h)
{
	const struct host *x = &s->h[h];
	struct state t = *s;

	if (x->pending ? !x->unnoted && !PROT_MUTANT(R_NOTE_EARLY) : !x->serving)
		return;
	t.h[h].store = x->pending ? x->pend : x->cur;
	t.h[h].unnoted = 0;
	reach(&t);
}

static void attached(const struct state *s, int h)
{
	const struct host *x = &s->h[h];
	struct state t;

	if (x->pending && !x->unnoted)
		write_roster(s, h);
	note(s, h);
	if (!x->serving)
		return;
	changes(s, h);
	if (!x->pending && x->join == NONE && hweight64(readers(x)) >= k)
		join(s, h);
	if (!x->pending && x->join != NONE) {
		t = *s;
		t.h[h].join = NONE;
		ack(&t, &t.h[h]);
		reach(&t);
	}
	if (!(x->pending && x->pend.flags & PROT_ROSTER_CLEAN))
		write_data(s, h);
}

static void mishaps(const struct state *s, int h)
{
	const struct host *x = &s->h[h];
	struct state t = *s;

	if (x->phase != IDLE && s->crashes < most.crashes) {
		t.crashes++;
		forget(&t, h);
		reach(&t);
	}
	if (s->stores == most.stores)
		return;
	if (x->phase == IDLE && x->store.attach) {
		t = *s;
		t.stores++;
		memset(&t.h[h].store, 0, sizeof(t.h[h].store));
		reach(&t);
	}
}

static void successors(const struct state *s)
{
	for (int h = 0; h < 2; h++) {
		switch (s->h[h].phase) {
		case IDLE:
			begin(s, h);
			break;
		case OPENS:
			if (s->h[h].todo)
				open_next(s, h);
			else
				decide(s, h);
			break;
		case NUMBERS:
			number_next(s, h);
			break;
		case ATTACHED:
			attached(s, h);
			break;
		}
		mishaps(s, h);
	}
}

static void print(const struct packed *r)
{
	if (r->attach)
		printf("%u.%u/%x%s%s%s", r->attach, r->epoch, r->in_sync, r->spare < width ? "s" : "",
		       r->flags & PROT_ROSTER_CLEAN ? "c" : "",
		       r->flags & PROT_ROSTER_WITNESS ? "w" : "");
	else
		printf("-");
}

/* The states of a story, from the first on: what changed is for the reader to see. */
static void story(u32 i)
{
	const struct state *s = &all[i];

	if (i)
		story(from[i]);
	printf("acked %x dropped %x |", s->acked, s->dropped);
	for (int e = 0; e < EXTENTS; e++) {
		if (e >= (int)width && e != SPARE)
			continue;
		printf(" %c%c:", e == SPARE ? 's' : '0' + e, " AB"[s->e[e].holder]);
		print(&s->e[e].roster);
		printf(":%x#%u", s->e[e].writes, s->e[e].label);
	}
	for (int h = 0; h < 2; h++) {
		const struct host *x = &s->h[h];

		printf(" | %c %s", 'A' + h, &"idle\0open\0num\0\0on"[5 * x->phase]);
		printf(" has %x cur ", x->has);
		print(&x->cur);
		printf(" pend ");
		print(&x->pend);
		printf(" store ");
		print(&x->store);
		if (x->join < width)
			printf(" join %u", x->join);
		if (x->write)
			printf(" write %x on %x", x->write, x->landed);
	}
	printf("\n");
}

static void first_state(void)
{
	struct state s = {};

	for (u32 i = 0; i < width; i++)
		s.e[i].roster = (struct packed) {
			.attach = 1, .epoch = 1, .in_sync = (1 << width) - 1,
			.flags = PROT_ROSTER_CLEAN, .host = 3, .spare = NONE,
		};
	s.h[0].join = s.h[1].join = NONE;
	n_all = edges = 0;
	memset(table, 0, table_size * sizeof(*table));
	bad = NULL;
	reach(&s);
}

/* Return: whether it was completed without a violation. */
static bool search(time_t end, bool show)
{
	first_state();
	for (here = 0; here < n_all && !bad && n_all < max_all; here++) {
		struct state s = all[here];

		successors(&s);
		if (!(here % 65536) && time(NULL) > end)
			break;
	}
	if (bad && show) {
		story(n_all - 1);
		printf("%s\n", bad);
	}
	return !bad && here == n_all;
}

static const struct {
	const char *name, *bounds;
	bool large;		/* only in tier long */
} mutant[] = {
#define MUTANT(m)	[PROT_MUT_R_##m - PROT_MUT_R_FIRST]
	MUTANT(EPOCH) = { "highest epoch whatever the attach number", "2+1 1 1 3 1 0", true },
	MUTANT(NUMBER) = { "number not noted by OPEN", "2+1 1 1 3 0 0" },
	MUTANT(COMMIT) = { "committed before durable on all", "2 1 1 3 1 1" },
	MUTANT(ALONE) = { "removes alone with a witness", "2 1 1 3 1 1" },
	MUTANT(KEEP) = { "an uncommitted add kept by the removal after it", "2 1 0 2 3 0" },
	MUTANT(NOTE_EARLY) = { "an add noted before it is committed", "2 1 1 3 2 1", true },
	MUTANT(ANY_STORE) = { "store trusted without WITNESS", "2 1 1 3 1 1" },
	MUTANT(FEW) = { "attaches though k were not opened", "2 1 1 3 1 1" },
	MUTANT(READ_OLD) = { "reads what the pending roster removes", "3 1 0 2 2 0" },
	MUTANT(WRITE_NEW) = { "writes only what the pending roster has", "2 1 0 2 2 0" },
};

/* Return: whether the bounds are ones. */
static bool bounds(const char *text)
{
	char group[16];
	u32 m = 0;

	if (sscanf(text, "%15s %d %d %d %d %d", group, &most.writes, &most.crashes,
		   &most.attaches, &most.changes, &most.stores) != 6 ||
	    sscanf(group, "%u+%u", &k, &m) < 1)
		return false;
	width = m ? k + m : k;
	k = m ? k : 1;
	return width >= 2 && width <= SPARE && most.writes <= WRITES_MAX;
}

static int mutants(bool large, int seconds)
{
	int passed = 0, failed = 0;

	for (int i = 0; i < PROT_MUT_R_END - PROT_MUT_R_FIRST; i++) {
		if (mutant[i].large && !large)
			continue;
		prot_mutant = PROT_MUT_R_FIRST + i;
		bad = NULL;
		if (bounds(mutant[i].bounds))
			search(time(NULL) + seconds, false);
		printf("%s  roster mutant %-52s %s %u states\n", bad ? "ok  " : "FAIL",
		       mutant[i].name, bad ? "caught after" : "not caught in", n_all);
		fflush(stdout);
		*(bad ? &passed : &failed) += 1;
	}
	printf("%d passed, %d failed\n", passed, failed);
	return failed != 0;
}

static int one(const char *text, int seconds)
{
	bool ok;

	if (!bounds(text)) {
		fprintf(stderr, "sim-roster \"K+M|COPIES WRITES CRASHES ATTACHES CHANGES STORES\" SECONDS\n"
			"sim-roster mutants|all-mutants SECONDS\n");
		return 2;
	}
	ok = search(time(NULL) + seconds, true);
	printf("rosters %s: %u states, %llu edges, %s\n", text, n_all, (unsigned long long)edges,
	       bad ? "VIOLATED" : ok ? "complete" : "not finished");
	return !ok;
}

int main(int argc, char **argv)
{
	const char *million = getenv("SIM_MILLIONS"), *what = argc > 1 ? argv[1] : "";
	int seconds = argc > 2 ? atoi(argv[2]) : 1800;

	max_all = (million ? atoi(million) : 24) * 1000000;
	for (table_size = 1; table_size < 2ULL * max_all; table_size *= 2)
		;
	all = malloc(max_all * sizeof(*all));
	from = malloc(max_all * sizeof(*from));
	table = malloc(table_size * sizeof(*table));
	if (!all || !from || !table) {
		fprintf(stderr, "sim-roster: no memory\n");
		return 2;
	}
	if (strstr(what, "mutants"))
		return mutants(!strcmp(what, "all-mutants"), seconds);
	return one(what, seconds);
}
