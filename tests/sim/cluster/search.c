// SPDX-License-Identifier: GPL-2.0-only
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "tests/sim/cluster/search.h"

struct node {
	u32	id;
	struct state s;
};

struct frontier {
	struct node *node;
	u32	nr, room;
};

static u64 *hash;		/* of each state, by the order in which they were found */
static u32 *from;		/* the state before it */
static u32 *table;		/* open addressing: 1 + index, 0: free */
static u64 table_size;
static u32 found, room, here;
static u64 edges, most;
static const char *complaint;
static u64 last_hash;
static struct frontier next;

/* While a story is printed, steps are compared with its hashes and none is kept. */
static bool repeating;
static u64 sought;
static bool sought_last;
static char text_of[160];
static struct state sought_state;
static bool sought_found;

static void *grown(void *p, u64 bytes)
{
	p = realloc(p, bytes);
	if (!p) {
		fprintf(stderr, "sim-cluster: no memory\n");
		exit(2);
	}
	return p;
}

static u64 hash_of(const struct state *s)
{
	struct state other;
	u64 a = XXH64(s, sizeof(*s), 1), b;

	world_swapped(&other, s);
	b = XXH64(&other, sizeof(other), 1);
	return a < b ? a : b;
}

static void table_grow(void)
{
	table_size *= 2;
	table = grown(table, table_size * sizeof(*table));
	memset(table, 0, table_size * sizeof(*table));
	for (u32 i = 0; i < found; i++) {
		u64 at = hash[i] & (table_size - 1);

		while (table[at])
			at = (at + 1) & (table_size - 1);
		table[at] = i + 1;
	}
}

/* Return: false: it was found before. */
static bool insert(u64 h)
{
	u64 at;

	if (2ULL * found >= table_size)
		table_grow();
	for (at = h & (table_size - 1); table[at]; at = (at + 1) & (table_size - 1)) {
		if (hash[table[at] - 1] == h)
			return false;
	}
	if (found == room) {
		room *= 2;
		hash = grown(hash, room * sizeof(*hash));
		from = grown(from, room * sizeof(*from));
	}
	hash[found] = h;
	from[found++] = here;
	table[at] = found;
	return true;
}

static void push(struct frontier *f, const struct state *s)
{
	if (f->nr == f->room) {
		f->room = f->room ? 2 * f->room : 1024;
		f->node = grown(f->node, f->room * sizeof(*f->node));
	}
	f->node[f->nr].id = found - 1;
	f->node[f->nr++].s = *s;
}

/* What is wrong with a state, or with the step to it. */
static const char *judge(const struct state *t, bool whole)
{
	const char *what;

	if (!bad)
		check_state(t);
	what = bad;
	bad = NULL;
	if (!what && whole && opt.progress)
		what = progress(t);
	bad = NULL;
	return what;
}

static void repeat(const struct state *t, const char *text, va_list args)
{
	const char *step = bad;

	if (!sought_found && hash_of(t) == sought &&
	    (!sought_last || (bad = step, judge(t, true)))) {
		sought_found = true;
		sought_state = *t;
		vsnprintf(text_of, sizeof(text_of), text, args);
	}
	bad = NULL;
}

void search_reach(const struct state *t, const char *text, ...)
{
	va_list args;
	const char *what;
	u64 h;

	if (repeating) {
		va_start(args, text);
		repeat(t, text, args);
		va_end(args);
		return;
	}
	edges++;
	if (complaint || found >= most) {
		bad = NULL;
		return;
	}
	h = hash_of(t);
	what = judge(t, false);
	if (!what && insert(h)) {
		if (opt.progress)
			what = progress(t);
		bad = NULL;
		push(&next, t);
	}
	if (what) {
		complaint = what;
		last_hash = h;
	}
}

static void begin(u64 max)
{
	struct state first;

	if (!table) {
		table_size = 1 << 16;
		room = 1 << 15;
		table = grown(NULL, table_size * sizeof(*table));
		hash = grown(NULL, room * sizeof(*hash));
		from = grown(NULL, room * sizeof(*from));
	}
	memset(table, 0, table_size * sizeof(*table));
	found = here = 0;
	edges = 0;
	most = max;
	complaint = NULL;
	next.nr = 0;
	world_first(&first);
	search_reach(&first, "first");
}

void search_run(u64 max, struct search_end *end)
{
	struct frontier now = { 0 }, swap;
	u32 depth = 0;

	begin(max);
	for (; next.nr && !complaint && found < most; depth++) {
		swap = now;
		now = next;
		next = swap;
		next.nr = 0;
		for (u32 i = 0; i < now.nr && !complaint && found < most; i++) {
			here = now.node[i].id;
			world_steps(&now.node[i].s);
		}
	}
	free(now.node);
	*end = (struct search_end) { .states = found, .edges = edges, .depth = depth,
				     .complaint = complaint, .complete = !complaint && found < most };
}

void search_story(void)
{
	u64 *way = NULL;
	u32 n = 0, at = here;
	struct state s;

	if (!complaint)
		return;
	for (; at; at = from[at]) {
		way = grown(way, (n + 1) * sizeof(*way));
		way[n++] = hash[at];
	}
	world_first(&s);
	repeating = true;
	for (u32 i = n + 1; i-- > 0;) {
		sought_last = !i;
		sought = i ? way[i - 1] : last_hash;
		sought_found = false;
		world_steps(&s);
		printf("  %2u %s\n", n + 1 - i, sought_found ? text_of : "?");
		s = sought_state;
	}
	repeating = false;
	free(way);
	printf("  => %s\n", complaint);
}
