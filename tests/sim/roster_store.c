// SPDX-License-Identifier: GPL-2.0-only
/*
 * sim-roster-store "K+M|COPIES [LETTER N]..." SECONDS: every order of the actions of two hosts that
 * take one group by the cluster store, at small bounds. protect/roster and userspace/plan decide.
 *
 *   w writes      c crashes of a host        a attaches by the store     g ... by the host's record
 *   e changes of rosters                     r attaches for reading      v replacements of a member
 *   x evictions   f forgotten drives         b stores put back           u bars that are cancelled
 *   k kernels that begin their group again
 *   o 1: drive 0 is in the only store host, which is host A
 *   h 1, of three copies: copy 1 left with a roster of 1 and 2, then copy 0 came back to 2
 *
 *   drives (roster, writes, label)           the store (access, roster, layout)
 *      ^ open, write rosters and data             ^ attach, note, release, change, forget, recover
 *   host A, host B: idle -> opens -> attached -> idle
 *
 * At an attach any subset of the drives is reached; each step that needs the store happens now,
 * later or never; rosters and writes reach any subset of their members first. Each attach may
 * preempt.
 *
 * Never: a member is read or served without an acknowledged write, or with one that a recovery
 * dropped. Always: when all is repaired, an attach succeeds and all that was acknowledged is there.
 * Where the highest roster names a witness and all members, and is on all of them, that holds with
 * any m drives lost.
 *
 * Violated so far: "3 a1 w1 e1 f1 x1". The copy of an eviction takes the place of a member that went
 * out meanwhile, which is freed; then the drive of the last complete copy is forgotten. The roster of the
 * third one names the freed extent, which is neither there nor forgotten, so the attach is refused. Of
 * two copies nothing is left then, and the search says so ("2 a1 w1 e1 f1 x1").
 *
 * Writes in flight and their order are sim-search's, targets that restart, retakes and late
 * transactions the search of the whole cluster's.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <xxhash.h>

#include "tests/sim/roster_store.h"

struct rs_bounds rs_most;
u32 rs_width, rs_k;
const char *rs_bad;

/* What has been reached: each state once, with the one it came from. */
static struct rs_state *all;
static u32 *from, *table, n_all, max_all;
static u64 table_size, edges;
static u32 here;		/* whose successors are made */
static u32 bad_at;		/* 1 + index of the first one that must not be */

void rs_reach(const struct rs_state *s)
{
	u64 at = XXH64(s, sizeof(*s), 1) & (table_size - 1);

	if (bad_at || n_all == max_all)
		return;
	edges++;
	for (; table[at]; at = (at + 1) & (table_size - 1))
		if (!rs_bad && !memcmp(&all[table[at] - 1], s, sizeof(*s)))
			return;
	if (!rs_bad)
		rs_check(s);
	if (!rs_bad)
		rs_check_progress(s);
	all[n_all] = *s;
	from[n_all++] = here;
	table[at] = n_all;
	if (rs_bad)
		bad_at = n_all;
}

static void print(const struct rs_roster *r)
{
	if (r->attach)
		printf("%u.%u.%u/%x%s%s%s", RS_COUNTER(r->attach), RS_RESTART(r->attach), r->epoch,
		       r->in_sync, r->spare < rs_width ? "s" : "",
		       r->flags & PROT_ROSTER_CLEAN ? "c" : "",
		       r->flags & PROT_ROSTER_WITNESS ? "w" : "");
	else
		printf("-");
}

static void print_host(const struct rs_host *x, int h)
{
	static const char *const phases[] = { "idle", "open", "on" };

	printf(" | %c %s%s%s %u.%u v%u has %x cur ", 'A' + h, phases[x->phase], x->ro ? " ro" : "",
	       x->again ? " again" : "", RS_COUNTER(x->number), RS_RESTART(x->number), x->version, x->has);
	print(&x->cur);
	printf(" pend ");
	print(&x->pend);
	if (x->unnoted)
		printf(" unnoted");
	if (x->barred)
		printf(" barred %x", x->barred);
	if (x->join < rs_width)
		printf(" join %u", x->join);
	if (x->twin < rs_width)
		printf(" twin %u", x->twin);
	if (x->write)
		printf(" write %x on %x", x->write, x->landed);
	if (x->ends) {
		printf(" ends %u ", RS_COUNTER(x->ends));
		print(&x->last);
	}
	if (x->rec_mode)
		printf(" rec %s%u.%u v%u bar %x", x->rec_mode == PLAN_RO ? "ro " : "",
		       RS_COUNTER(x->rec_number), RS_RESTART(x->rec_number), x->rec_version, x->rec_bar);
}

/* The states of a story, from the first on: what changed is for the reader to see. */
static void story(u32 i)
{
	const struct rs_state *s = &all[i];

	if (i)
		story(from[i]);
	printf("acked %x dropped %x forgot %x |", s->acked, s->dropped, s->forgot);
	for (u32 d = 0; d < RS_DRIVES; d++) {
		if (d >= rs_width && d != RS_SPARE)
			continue;
		printf(" %c%c", d == RS_SPARE ? 's' : '0' + (int)d, " AB"[s->d[d].grant]);
		if (s->d[d].freed) {
			printf(":freed");
			continue;
		}
		printf(":");
		print(&s->d[d].roster);
		printf(":%x#%u.%u%c", s->d[d].writes, RS_COUNTER(s->d[d].number),
		       RS_RESTART(s->d[d].number), "-AB"[s->d[d].attacher]);
	}
	printf(" | store%s %s%c %u v%u ", s->back ? " put back" : "",
	       s->s.mode ? "rw" : "-", s->s.mode ? 'A' + s->s.holder : '-', s->s.counter,
	       s->s.version);
	print(&s->s.roster);
	if (s->s.bar || s->s.confirmed)
		printf(" bar %x confirmed %x", s->s.bar, s->s.confirmed);
	for (int h = 0; h < 2; h++)
		print_host(&s->h[h], h);
	printf("\n");
}

static void first_state(void)
{
	struct rs_state s = {};
	struct rs_roster first = {
		.attach = 1 << 3, .epoch = 1, .in_sync = (1 << rs_width) - 1, .spare = RS_NONE,
		.flags = PROT_ROSTER_CLEAN | (rs_k <= rs_width - rs_k ? PROT_ROSTER_WITNESS : 0),
	};

	s.s.counter = 1;
	s.s.clean = 1;
	s.s.version = s.s.reported = 1;
	s.s.reporter = 1 << 3;
	s.s.committed = 1;
	s.s.place = RS_NONE;
	s.s.roster = first;
	for (u32 d = 0; d < RS_DRIVES; d++) {
		s.d[d].roster.spare = RS_NONE;
		if (d >= rs_width)
			continue;
		s.d[d].roster = first;
		s.d[d].record = 1;
	}
	if (rs_most.history) {
		s.d[1].roster.in_sync = 6;
		first.in_sync = 5;
		first.epoch = 3;
		s.s.roster = s.d[0].roster = s.d[2].roster = first;
		s.d[0].writes = s.d[2].writes = s.acked = s.writes = 1;
	}
	s.h[0].join = s.h[1].join = s.h[0].twin = s.h[1].twin = RS_NONE;
	n_all = edges = bad_at = 0;
	memset(table, 0, table_size * sizeof(*table));
	rs_bad = NULL;
	rs_reach(&s);
}

static void successors(const struct rs_state *s)
{
	for (int h = 0; h < 2; h++) {
		switch (s->h[h].phase) {
		case RS_IDLE:
			rs_idle(s, h);
			break;
		case RS_OPENS:
			rs_opens(s, h);
			break;
		case RS_ATTACHED:
			rs_attached(s, h);
			break;
		}
		if (s->h[h].phase != RS_IDLE && s->crashes < rs_most.crashes) {
			struct rs_state t = *s;

			t.crashes++;
			rs_close(&t, h);
			rs_reach(&t);
		}
	}
	rs_store_steps(s);
}

/* Return: whether the bounds are ones. */
static bool bounds(const char *text)
{
	static const char letters[] = "wcagervxfbukoh";
	int *const most[] = {
		&rs_most.writes, &rs_most.crashes, &rs_most.attaches, &rs_most.agains,
		&rs_most.changes, &rs_most.readers, &rs_most.moves, &rs_most.evicts,
		&rs_most.forgets, &rs_most.restores, &rs_most.cancels,
		&rs_most.restarts, &rs_most.beside, &rs_most.history,
	};
	char *end;
	u32 m = 0;

	memset(&rs_most, 0, sizeof(rs_most));
	rs_k = strtoul(text, &end, 10);
	if (*end == '+')
		m = strtoul(end + 1, &end, 10);
	while (*end) {
		const char *at = *end == ' ' ? end + 1 : "";
		const char *letter = *at ? strchr(letters, *at) : NULL;

		if (!letter)
			return false;
		*most[letter - letters] = strtoul(at + 1, &end, 10);
	}
	rs_width = m ? rs_k + m : rs_k;
	rs_k = m ? rs_k : 1;
	return rs_width >= 2 && rs_width <= RS_SPARE && rs_most.writes <= RS_WRITES;
}

/* @seconds: of the CPU. Return: true if all states were reached, without a violation. */
static bool search(int seconds, bool show)
{
	clock_t end = clock() + seconds * (clock_t)CLOCKS_PER_SEC;

	first_state();
	for (here = 0; here < n_all && !bad_at && n_all < max_all; here++) {
		struct rs_state s = all[here];

		successors(&s);
		if (!(here % 65536) && clock() > end)
			break;
	}
	if (bad_at && show) {
		story(bad_at - 1);
		printf("%s\n", rs_bad);
	}
	return !bad_at && here == n_all;
}

const char *rs_search(const char *text, int seconds, u32 *states)
{
	bool ok = bounds(text) && search(seconds, false);

	*states = n_all;
	return ok ? "" : rs_bad;
}

static int one(const char *text, int seconds)
{
	bool ok;

	if (!bounds(text)) {
		fprintf(stderr, "sim-roster-store \"K+M|COPIES [wcagervxfbukoh N]...\" SECONDS\n"
			"sim-roster-store mutants|all-mutants SECONDS\n"
			"sim-roster-store BOUNDS SECONDS MUTANT\n");
		return 2;
	}
	ok = search(seconds, true);
	printf("rosters by the store, %s: %u states, %llu edges, %s\n", text, n_all,
	       (unsigned long long)edges, rs_bad ? "VIOLATED" : ok ? "complete" : "not finished");
	return !ok;
}

int main(int argc, char **argv)
{
	const char *million = getenv("SIM_MILLIONS"), *what = argc > 1 ? argv[1] : "";
	int seconds = argc > 2 ? atoi(argv[2]) : 1800;

	max_all = (million ? atoi(million) : 12) * 1000000;
	for (table_size = 1; table_size < 2ULL * max_all; table_size *= 2)
		;
	all = malloc(max_all * sizeof(*all));
	from = malloc(max_all * sizeof(*from));
	table = malloc(table_size * sizeof(*table));
	if (!all || !from || !table) {
		fprintf(stderr, "sim-roster-store: no memory\n");
		return 2;
	}
	if (strstr(what, "mutants"))
		return rs_mutants(!strcmp(what, "all-mutants"), seconds);
	if (argc > 3 && !rs_mutant(argv[3]))
		return 2;
	return one(what, seconds);
}
