// SPDX-License-Identifier: GPL-2.0-only
/*
 * sim-roster "K+M|COPIES WRITES CRASHES ATTACHES CHANGES STORES [READERS RESTARTS STALES EVICTS]"
 * SECONDS: every order of what two hosts can do to the rosters of one group, at small bounds.
 * STORES are lost; READERS are attaches for reading; at a RESTART a host loses all it has open, and
 * knows what it served by; STALES are attaches at an administrator's word; an EVICT gives the place
 * of a member in sync to a spare.
 *
 *   extents (roster, writes it has, holder, number of its label)
 *      ^ open, number, write a roster on any of them, write data on any of them
 *   host A, host B: idle -> opens -> numbers -> attached (protect/roster/membership.c) -> idle
 *
 * A host may reach any subset of the extents when it attaches, crash at each step,
 * lose its store (one that was restored counts as lost); a roster and a write reach any subset of
 * their members first. Breadth first, so that the story of a failure is the shortest.
 * It must never be seen that an attached host reads or serves a member that lacks an
 * acknowledged write, or has one that a recovery had dropped; nor one that attaches for reading
 * a member with a write that is not recovered.
 *
 * Time is one event: a host has noticed what was taken from it. It happens, at the latest, when
 * the wait of another one ends (prot_membership_must_wait()); else nothing is known of it.
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

#include "tests/sim/roster.h"

struct roster_bounds most;
u32 width, k;
const char *bad;
enum prot_mutant prot_mutant;

/* What has been reached: each state once, with the one it came from. */
static struct state *all;
static u32 *from, *table, n_all, max_all;
static u64 table_size, edges;
static u32 here;		/* whose successors are made */

void roster_reach(const struct state *s)
{
	u64 at = XXH64(s, sizeof(*s), 1) & (table_size - 1);

	edges++;
	if (!bad)
		roster_check(s);
	for (; table[at]; at = (at + 1) & (table_size - 1))
		if (!memcmp(&all[table[at] - 1], s, sizeof(*s)))
			return;
	if (n_all == max_all)
		return;
	all[n_all] = *s;
	from[n_all++] = here;
	table[at] = n_all;
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

static const char *const phases[] = { "idle", "open", "read", "num", "wait", "on" };

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

		printf(" | %c %s", 'A' + h, x->phase == ATTACHED && x->ro ? "ro" : phases[x->phase]);
		printf(" has %x", x->has);
		if (x->lost)
			printf(" lost %x", x->lost);
		printf(" cur ");
		print(&x->cur);
		printf(" pend ");
		print(&x->pend);
		printf(" store ");
		print(&x->store);
		if (x->join < width)
			printf(" join %u", x->join);
		if (x->twin < width)
			printf(" twin %u", x->twin);
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
	s.h[0].join = s.h[1].join = s.h[0].twin = s.h[1].twin = NONE;
	n_all = edges = 0;
	memset(table, 0, table_size * sizeof(*table));
	bad = NULL;
	roster_reach(&s);
}

/* Return: whether it was completed without a violation. */
static bool search(time_t end, bool show)
{
	first_state();
	for (here = 0; here < n_all && !bad && n_all < max_all; here++) {
		struct state s = all[here];

		roster_successors(&s);
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
	MUTANT(EPOCH) = { "highest epoch whatever the attach number", "2 1 1 3 1 0" },
	MUTANT(NUMBER) = { "number not noted by OPEN", "2+1 1 1 3 0 0" },
	MUTANT(COMMIT) = { "committed before durable on all", "2 1 1 3 1 1" },
	MUTANT(ALONE) = { "removes alone with a witness", "2 1 1 3 1 1" },
	MUTANT(KEEP) = { "an uncommitted add kept by the removal after it", "2 1 0 2 3 0" },
	MUTANT(KEEP_FEW) = { "... that keeps fewer than suffice", "2+1 1 0 2 1 0" },
	MUTANT(NOTE_EARLY) = { "an add noted before it is committed", "2 1 1 3 2 1", true },
	MUTANT(ANY_STORE) = { "store trusted without WITNESS", "2 1 1 3 1 1" },
	MUTANT(FEW) = { "attaches though k were not opened", "2 1 1 3 1 1" },
	MUTANT(READ_OLD) = { "reads what the pending roster removes", "3 1 0 2 2 0" },
	MUTANT(WRITE_NEW) = { "writes only what the pending roster has", "2 1 0 2 2 0" },
	MUTANT(UNCLEAN) = { "read without a clean detach", "2 1 1 2 0 0 1" },
	MUTANT(READ_FEW) = { "read though k were not opened, or not held", "2 1 0 2 1 0 1" },
	MUTANT(HELD) = { "reads with fewer members than needed", "2+1 1 0 1 0 0 1" },
	MUTANT(HELD_K) = { "a witness goes on without a reader's k", "2 1 0 2 1 0 1" },
	MUTANT(START) = { "a reader begins with what it had opened", "2+1 1 0 1 0 0 1" },
	MUTANT(LABEL) = { "a reader ignores attaches since", "2 1 1 1 0 0 1" },
	MUTANT(DEAD) = { "no dead time", "2+1 1 0 2 0 0 0" },
	MUTANT(DEAD_HOST) = { "no dead time after the same host", "2+1 1 0 2 1 0 1" },
	MUTANT(DEAD_CLEAN) = { "no dead time where a reader may be", "2+1 1 0 2 1 0 1 1",
			       true },
	MUTANT(SWAP_WHOLE) = { "an extent swapped in before it has all data", "2 1 0 1 0 0 0 0 0 1" },
	MUTANT(SWAP_BOTH) = { "... without the writes since", "2 1 0 1 0 0 0 0 0 1" },
	MUTANT(SWAP_LAST) = { "... of the last member that suffices", "2 1 0 2 1 0 0 0 0 1" },
	MUTANT(SWAP_READ) = { "... and the one before it read meanwhile", "2 1 0 2 0 0 0 0 0 1" },
	MUTANT(SWAP_WRITE) = { "... or written", "2 1 0 2 0 0 0 0 0 1" },
	MUTANT(SWAP_KEEP) = { "... and counted as committed", "2 1 0 2 1 0 0 0 0 1" },
	MUTANT(SWAP_COMMIT) = { "... committed before durable on it", "2 1 1 2 0 0 0 0 0 1" },
	MUTANT(SWAP_NOTE) = { "... and not noted by the store first", "2 1 1 2 0 0 0 0 0 1" },
	MUTANT(SWAP_FREE) = { "... freed before that is committed", "2 1 0 1 0 0 0 0 0 1" },
	MUTANT(DEAD_SYNC) = { "no dead time with all in sync", "2+1 1 1 2 0 0 1" },
	MUTANT(STALE) = { "what is given up is not noted", "2 1 2 3 0 0 0 0 1" },
};

/* Return: whether the bounds are ones. */
static bool bounds(const char *text)
{
	char group[16];
	u32 m = 0;

	most.readers = most.restarts = most.stales = most.evicts = 0;
	if (sscanf(text, "%15s %d %d %d %d %d %d %d %d %d", group, &most.writes, &most.crashes,
		   &most.attaches, &most.changes, &most.stores, &most.readers,
		   &most.restarts, &most.stales, &most.evicts) < 6 ||
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
		fprintf(stderr, "sim-roster \"K+M|COPIES WRITES CRASHES ATTACHES CHANGES STORES [READERS RESTARTS STALES EVICTS]\" SECONDS\n"
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
