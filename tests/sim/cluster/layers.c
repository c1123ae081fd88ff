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

int layers_all(bool large)
{
	(void)large;
	return 0;
}
