// SPDX-License-Identifier: GPL-2.0-only
/*
 * Replacing a member of a group, or extending it while one goes: all worlds of a few extents and
 * one or two hosts that do so, are killed or rebooted at any step, lose their store, take the
 * volume from each other, undo a change, and whose drives go, come back, or are lost for good at any
 * moment. After each step the drives that are not lost are brought back, and commands get the
 * volume to serve.
 *
 * The hosts are models of replace.c, change.c, bring.c and extents.c; the decisions are truth.c's. No
 * kernel serves with a layout that forgets one in use before; no member of the layout that counts, and
 * none that has all writes, is freed; the volume serves again in the end; no extent stays without a note.
 *
 * Rules of truth.c that it was seen to guard, each by a search without it:
 *   a late member is no witness                  all but another host's
 *   a member that is not ready is missing        the store is lost
 *   what is undone does without late members     extended, and a member is lost
 *   what may have been used is not undone        extended, and a member is lost
 */
#include <stdio.h>
#include <stdlib.h>

#include "replace_hosts.h"
#include "suite.h"

static unsigned long visited, healed;
static bool by_itself;		/* the host whose change it is gets it to serve, and no other has to */

static void reboot(struct host *h)
{
	idle(h);
	h->kern = h->up = h->open = 0;
}

static bool trace, loud;

static void show(const struct world *w, const char *how, u8 arg)
{
	const struct host *h = &w->h[0], *o = &w->h[1];

	printf("    %-8s %u |", how, arg);
	for (u8 x = 0; x < EXT; x++)
		printf(" %s%u.%u/%u", !w->e[x].is ? "-" : w->e[x].where == HERE ? "" : w->e[x].where == AWAY ?
		       "a" : "d", w->e[x].version, w->e[x].commit, w->e[x].holder);
	for (u8 k = 0; k < w->layouts; k++)
		printf("%s%u:%u%u%u~%x%s", k ? " " : " | ", w->l[k].version, w->l[k].m[0], w->l[k].m[1],
		       w->l[k].m[2], w->l[k].late, w->l[k].used ? "*" : "");
	printf(" | sync %x | step %u store %d pend %u notes %x int %x kern %u%s", w->in_sync, h->step,
	       (s8)h->store, h->pending, h->notes, h->intents, h->kern, h->up ? " up" : "");
	printf(" || step %u store %d pend %u kern %u%s\n", o->step, (s8)o->store, o->pending, o->kern,
	       o->up ? " up" : "");
}

/* Until the host has nothing more to do; false: no number is left for another layout. */
static bool run_out(struct world *w, u8 n)
{
	for (int i = 0; i < 60 && w->h[n].step != IDLE && !wrong; i++) {
		if (!step(w, n, false))
			return false;
		kernel_turn(w, n, w->h[n].stale);
		if (loud)
			show(w, "  heals", n);
	}
	return w->h[n].step == IDLE;
}

static bool act(struct world *w, u8 n, enum step what, u8 arg)
{
	struct host *h = &w->h[n];

	h->step = what;
	h->preempt = 1;
	h->stale = arg;
	return run_out(w, n);
}

static bool any_dead(const struct world *w, u8 set)
{
	for (u8 x = 0; x < EXT; x++)
		if (set >> x & 1 && w->e[x].where == DEAD)
			return true;
	return false;
}

/* What an administrator does, and meshd by itself; @off: detached first. */
static bool heal_round(struct world *w, u8 n, bool off)
{
	struct host *h = &w->h[n];
	bool dead = any_dead(w, 255);

	if (h->pending && !act(w, n, SETTLE, 0))
		return false;
	if (h->pending || off)
		reboot(h);
	if (!act(w, n, BRING, 0) || (!h->up && dead && !h->pending && !act(w, n, BRING, 1)))
		return false;
	if (h->pending && !act(w, n, SETTLE, 0))
		return false;
	if (h->pending) {
		reboot(h);
		w->last = w->grown = 0;	/* --preempt gives up what another host may have used */
		if (!settle(w, n, 2) || !run_out(w, n))
			return false;
	}
	if (h->pending || !h->up)
		return true;
	finish(w, n);
	undo_intents(w, n);
	w->replaces = 1;
	if (any_dead(w, layout_set(&w->l[h->store])) && replace(w, n) && !run_out(w, n))
		return false;
	return true;
}

/* The other host is dead, what is not lost is back: host @n gets the volume to serve. */
static void heal(const struct world *now, u8 n, bool rebooted)
{
	struct world w = *now;
	struct host *h = &w.h[n];
	u8 alive = 0;

	for (u8 x = 0; x < EXT; x++) {
		w.e[x].where = w.e[x].where == AWAY ? HERE : w.e[x].where;
		alive += w.in_sync >> x & 1 && w.e[x].where == HERE;
	}
	if (alive < needs)
		return;
	memset(&w.late, 0, sizeof(w.late));
	reboot(&w.h[!n]);
	h->wants = 1;
	if (n) {	/* a third one, in truth, which knows nothing of the volume */
		*h = (struct host) { .wants = 1, .store = NONE };
		w.leak = 1;
	}
	if (rebooted)
		reboot(h);
	kernel_turn(&w, n, false);
	healed++;
	if (!run_out(&w, n))
		return;
	for (int i = 0; i < 12 && !wrong; i++) {
		/* What this host's store does not allow is for one that knows nothing of the volume. */
		if (i == 6 && by_itself && !n)
			break;
		if (i == 6 && (!h->up || h->kern != h->store + 1 || h->pending)) {
			*h = (struct host) { .wants = 1, .store = NONE };
			w.leak = 1;
			w.last = w.grown = 0;	/* what --stale of another host does not know */
		} else if (i == 6) {
			break;
		}
		if (!heal_round(&w, n, i == 2))
			return;
	}
	if (!wrong && (!h->up || h->store == NONE || h->kern != h->store + 1 || h->pending))
		wrong = "the volume does not serve again";
	for (u8 x = 0; x < EXT && !wrong && !w.leak; x++)
		if (w.e[x].is && w.e[x].where == HERE && !(layout_set(&w.l[h->store]) >> x & 1))
			wrong = "an extent stays allocated";
	if (wrong && trace && !loud) {
		show(&w, rebooted ? "HEAL-R" : "HEAL", n);
		loud = true;
		wrong = NULL;
		heal(now, n, rebooted);
		loud = false;
		show(now, "which was", n);
	}
}

#define TABLE	(1U << 22)
static u64 *table;

static bool first_visit(const struct world *w)
{
	const u8 *p = (const u8 *)w;
	u64 h = 0xcbf29ce484222325ULL, word;
	size_t i;
	u32 at;

	for (i = 0; i + 8 <= sizeof(*w); i += 8) {
		memcpy(&word, p + i, 8);
		h = (h ^ word) * 0x9e3779b97f4a7c15ULL;
		h ^= h >> 32;
	}
	for (; i < sizeof(*w); i++)
		h = (h ^ p[i]) * 0x100000001b3ULL;
	h ^= h >> 29;
	for (at = h % TABLE; table[at]; at = (at + 1) % TABLE)
		if (table[at] == h)
			return false;
	table[at] = h;
	visited++;
	return true;
}

static void explore(const struct world *w, const char *how, u8 arg);

static void next(struct world *w, const char *how, u8 arg)
{
	kernel_turn(w, 0, false);
	kernel_turn(w, 1, false);
	if (!wrong)
		explore(w, how, arg);
	else if (trace)
		show(w, how, arg);
}

/* Commands and what meshd does by itself, of a host that does nothing. */
static void explore_idle(const struct world *now, u8 n)
{
	struct world w = *now;
	struct host *h = &w.h[n];

	if (n && !h->wants && w.takes) {
		w.takes--;
		w.leak = 1;
		h->wants = h->preempt = 1;
		h->step = BRING;
		next(&w, "take", n);
		return;
	}
	if (!h->wants)
		return;
	if (h->store != NONE && replace(&w, n) && !wrong)
		next(&w, "replace", n);
	w = *now;
	if (h->store != NONE && !wrong && extend(&w, n) && !wrong)
		next(&w, "extend", n);
	w = *now;
	if (h->pending)
		h->step = SETTLE;
	else
		h->step = BRING;
	if (!wrong)
		next(&w, h->pending ? "settle" : "bring", n);
	w = *now;
	if (!wrong && !h->pending && h->notes) {
		finish(&w, n);
		next(&w, "finish", n);
	}
	w = *now;
	if (!wrong && !h->pending && h->intents) {
		undo_intents(&w, n);
		next(&w, "intents", n);
	}
	w = *now;
	if (!wrong && h->pending && !h->up && w.undoes--) {
		if (settle(&w, n, 1) && !wrong)
			next(&w, "undo", n);
	}
}

static void explore_host(const struct world *now, u8 n)
{
	struct world w;
	struct host *h = &w.h[n];

	for (u8 late = 0; late < 2 && now->h[n].step != IDLE && !wrong; late++) {
		w = *now;
		if (step(&w, n, late) && !wrong)
			next(&w, late ? "late" : "step", n);
	}
	if (now->h[n].step == IDLE && !wrong)
		explore_idle(now, n);
	w = *now;
	if (!wrong && h->step != IDLE && w.kills) {
		w.kills--;
		idle(h);
		next(&w, "kill", n);
	}
	w = *now;
	if (!wrong && h->kern && w.reboots) {
		w.reboots--;
		reboot(h);
		next(&w, "reboot", n);
	}
	w = *now;
	if (!wrong && h->wants && h->store != NONE && w.loses) {
		w.loses--;
		w.leak = 1;
		reboot(h);
		h->store = NONE;
		h->pending = h->notes = h->intents = 0;
		next(&w, "lose", n);
	}
	w = *now;
	if (!wrong && n && h->step == IDLE && h->up && !h->pending) {
		for (u8 x = 0; x < EXT; x++)
			w.e[x].holder = w.e[x].holder == n + 1 && w.e[x].where == HERE ? 0 : w.e[x].holder;
		reboot(h);
		h->wants = 0;
		next(&w, "release", n);
	}
}

static void explore_drives(const struct world *now)
{
	struct world w;

	for (u8 x = 0; x < EXT; x++) {
		w = *now;
		if (!wrong && w.e[x].is && w.e[x].where == HERE && w.goes) {
			w.goes--;
			w.e[x].where = AWAY;
			next(&w, "away", x);
		}
		w = *now;
		if (!wrong && w.e[x].where == AWAY) {
			w.e[x].where = HERE;
			next(&w, "back", x);
		}
		w = *now;
		if (!wrong && w.e[x].is && w.e[x].where != DEAD && w.dies) {
			w.dies--;
			w.e[x].where = DEAD;
			next(&w, "dies", x);
		}
	}
}

static void explore(const struct world *w, const char *how, u8 arg)
{
	struct world n;

	if (wrong || !first_visit(w) || visited > TABLE / 2)
		return;
	for (u8 i = 0; i < 3 && !wrong; i++)
		heal(w, i >> 1, i & 1);
	for (u8 i = 0; i < 2 && !wrong; i++)
		explore_host(w, i);
	if (!wrong)
		explore_drives(w);
	if (w->late.there && !wrong) {
		n = *w;
		world_put(&n, w->late.self, w->late.x, w->late.layout, &w->late.believed);
		memset(&n.late, 0, sizeof(n.late));
		next(&n, "arrives", 0);
	}
	if (wrong && trace)
		show(w, how, arg);
}

/* Host 0 has the volume at version 1; member 1 is out, and its drive away, unless it is @whole. */
static struct world begun(u8 members, u8 k, bool whole)
{
	struct world w;

	width = members;
	needs = k;
	memset(&w, 0, sizeof(w));
	memset(made, 0, sizeof(made));
	memset(object, 0, sizeof(object));
	for (u8 i = 0; i < width; i++) {
		w.e[i] = (struct label) { .is = 1, .version = 1, .commit = 1, .holder = 1, .served = 1 };
		w.l[0].m[i] = i;
	}
	w.e[1].where = whole ? HERE : AWAY;
	w.layouts = w.last = w.writer = 1;
	w.l[0].version = w.l[0].used = 1;
	w.h[0] = (struct host) { .wants = 1, .kern = 1, .up = 1, .open = BIT8(width) - 1 - (whole ? 0 : 2) };
	w.h[1].store = NONE;
	w.in_sync = w.h[0].open;
	return w;
}

static const char *search(struct world w)
{
	wrong = NULL;
	visited = healed = 0;
	memset(table, 0, TABLE * sizeof(*table));
	explore(&w, "", 0);
	if (trace)
		printf("\n    %u members: %s, %lu worlds, %lu healed ", width, wrong ? wrong : "fine", visited,
		       healed);
	return wrong ? wrong : visited > TABLE / 2 ? "too many worlds" : NULL;
}

static void all_shapes(struct world like)
{
	static const u8 shape[][2] = { { 2, 1 }, { 3, 1 }, { 3, 2 } };

	for (u8 i = 0; i < 3; i++) {
		struct world w = begun(shape[i][0], shape[i][1], like.extends);

		/* Of three members there are too many worlds for both. */
		if (i && like.reboots && like.kills)
			like.kills = 0;
		by_itself = like.extends && !like.takes;
		memcpy(&w.goes, &like.goes, sizeof(w) - offsetof(struct world, goes));
		CU_ASSERT_PTR_NULL(search(w));
		CU_ASSERT(visited > 100);
	}
}

static void test_killed(void)
{
	all_shapes((struct world) { .goes = 1, .kills = 2, .replaces = 1 });
}

static void test_rebooted(void)
{
	all_shapes((struct world) { .goes = 1, .kills = 1, .reboots = 1, .replaces = 1 });
}

static void test_dies(void)
{
	all_shapes((struct world) { .dies = 1, .kills = 1, .replaces = 1 });
	all_shapes((struct world) { .dies = 1, .reboots = 1, .replaces = 1, .undoes = 1 });
}

static void test_twice(void)
{
	all_shapes((struct world) { .kills = 1, .replaces = 2 });
	all_shapes((struct world) { .goes = 1, .replaces = 2 });
	all_shapes((struct world) { .dies = 1, .replaces = 2 });
}

static void test_late(void)
{
	all_shapes((struct world) { .lates = 1, .kills = 1, .replaces = 1 });
	all_shapes((struct world) { .lates = 1, .goes = 1, .replaces = 1 });
	all_shapes((struct world) { .lates = 1, .dies = 1, .replaces = 1 });
}

static void test_taken(void)
{
	all_shapes((struct world) { .takes = 1, .replaces = 1 });
	all_shapes((struct world) { .takes = 1, .kills = 1, .replaces = 1 });
}

static void test_store_lost(void)
{
	all_shapes((struct world) { .loses = 1, .replaces = 1 });
	all_shapes((struct world) { .loses = 1, .goes = 1, .replaces = 1 });
	all_shapes((struct world) { .loses = 1, .kills = 1, .replaces = 1 });
}

/*
 * A change that names no other members, and one of those that are there goes while it is made: the
 * volume serves and is repaired, and what a kernel has used of the change is not undone.
 */
static void test_extends(void)
{
	all_shapes((struct world) { .extends = 1, .dies = 1, .kills = 1 });
	all_shapes((struct world) { .extends = 1, .dies = 1, .reboots = 1, .undoes = 1 });
	all_shapes((struct world) { .extends = 1, .goes = 1, .kills = 1, .reboots = 1, .undoes = 1 });
	all_shapes((struct world) { .extends = 1, .lates = 1, .dies = 1, .undoes = 1 });
	all_shapes((struct world) { .extends = 1, .takes = 1, .dies = 1, .reboots = 1, .undoes = 1 });
	all_shapes((struct world) { .extends = 1, .takes = 1, .goes = 1, .kills = 1, .undoes = 1 });
}

int main(void)
{
	static const struct suite_test tests[] = {
		{ "killed at each step", test_killed },
		{ "rebooted at each step", test_rebooted },
		{ "a drive is lost", test_dies },
		{ "two replacements", test_twice },
		{ "a record that arrives late", test_late },
		{ "another host takes it", test_taken },
		{ "the store is lost", test_store_lost },
		{ "extended, and a member is lost", test_extends },
		{ NULL, NULL },
	};

	trace = getenv("TRACE");
	table = calloc(TABLE, sizeof(*table));
	return table ? suite_main("truth_replace", tests) : 2;
}
