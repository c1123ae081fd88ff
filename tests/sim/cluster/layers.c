// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/sim/cluster/layers.h"
#include "tests/sim/cluster/search.h"
#include "userspace/plan/mutant.h"

static const struct {
	const char *name;
	size_t at;
} options[] = {
#define OPTION(o) { #o, offsetof(struct options, o) },
	OPTIONS(OPTION)
#undef OPTION
};

/* Return: false: @text has a name that is no option. */
static bool set(const char *text)
{
	const char *eq = strchr(text, '=');

	if (!eq)
		return false;
	if (!strncmp(text, "RULE=", 5)) {
		rule_out = atoi(eq + 1);
		return true;
	}
	if (!strncmp(text, "MUTANT=", 7)) {
		plan_mutation = atoi(eq + 1);
		return true;
	}
	for (size_t i = 0; i < sizeof(options) / sizeof(*options); i++) {
		if (strlen(options[i].name) == (size_t)(eq - text) &&
		    !strncmp(options[i].name, text, eq - text)) {
			*(int *)((char *)&opt + options[i].at) = atoi(eq + 1);
			return true;
		}
	}
	return false;
}

static bool set_all(const char *text)
{
	char word[64];
	int n;

	for (; sscanf(text, "%63s%n", word, &n) == 1; text += n) {
		if (!set(word))
			return false;
	}
	return true;
}

static bool bounds(const char *text)
{
	memset(&opt, 0, sizeof(opt));
	rule_out = RULE_NONE;
	plan_mutation = PLAN_MUT_NONE;
	set_all("drives=2 flights=1 progress=1 kilo=5000");
	return set_all(text);
}

int layers_one(char **arg)
{
	struct search_end end;
	clock_t from = clock();

	if (!bounds(""))
		return 2;
	for (; *arg; arg++) {
		if (!set_all(*arg)) {
			fprintf(stderr, "sim-cluster: %s is no option\n", *arg);
			return 2;
		}
	}
	search_run((u64)opt.kilo * 1000, &end);
	printf("%llu states, %llu edges, depth %u, %.1f s: %s\n", (unsigned long long)end.states,
	       (unsigned long long)end.edges, end.depth, (double)(clock() - from) / CLOCKS_PER_SEC,
	       end.complaint ? end.complaint : end.complete ? "complete" : "not finished");
	search_story();
	return !end.complete;
}

static int passed, failed;

static void count(bool ok, const char *what, const char *name, const struct search_end *end,
		  clock_t from)
{
	printf("%s  cluster %s %-44s %8llu states, %5.1f s: %s\n", ok ? "ok  " : "FAIL", what, name,
	       (unsigned long long)end->states, (double)(clock() - from) / CLOCKS_PER_SEC,
	       end->complaint ? end->complaint : end->complete ? "complete" : "not finished");
	fflush(stdout);
	*(ok ? &passed : &failed) += 1;
}

static void one_layer(const struct layer *l, bool large)
{
	struct search_end end;
	clock_t from = clock();

	if (!bounds(l->bounds))
		exit(2);
	opt.kilo = large ? 40000 : 5000;
	search_run((u64)opt.kilo * 1000, &end);
	count(end.complete || (large && !end.complaint), "layer", l->name, &end, from);
	search_story();
}

/* A mutant ends at its first complaint; one that another rule makes up for has none. */
static void one_mutant(const struct mutant *m)
{
	struct search_end end;
	clock_t from = clock();

	if (!bounds(m->bounds))
		exit(2);
	plan_mutation = m->plan;
	rule_out = m->rule;
	search_run((u64)opt.kilo * 1000, &end);
	count(m->complaint ? end.complaint && !strncmp(end.complaint, m->complaint,
						       strlen(m->complaint)) :
	      end.complete, m->complaint ? "mutant" : "spare ", m->name, &end, from);
	if (end.complaint && !m->complaint)
		search_story();
}

static bool has_row(int plan, int rule)
{
	for (const struct mutant *m = mutants; m->name; m++) {
		if ((plan && (int)m->plan == plan) || (rule && (int)m->rule == rule))
			return true;
	}
	for (const struct elsewhere *e = elsewhere; e->why; e++) {
		if (plan && (int)e->plan == plan)
			return true;
	}
	return false;
}

int layers_all(bool large)
{
	for (int i = 1; i < PLAN_MUTANTS_NR; i++) {
		if (!has_row(i, 0)) {
			printf("FAIL  cluster: mutant %d of userspace/plan/mutant.h has no row\n", i);
			failed++;
		}
	}
	for (int i = 1; i < RULES; i++) {
		if (!has_row(0, i)) {
			printf("FAIL  cluster: rule %d of world.h has no row\n", i);
			failed++;
		}
	}
	for (const struct mutant *m = mutants; m->name; m++)
		one_mutant(m);
	for (const struct layer *l = layers; l->name; l++)
		one_layer(l, false);
	for (const struct layer *l = larger; l->name && large; l++)
		one_layer(l, true);
	printf("%d passed, %d failed\n", passed, failed);
	return failed != 0;
}
