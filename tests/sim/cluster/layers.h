/* SPDX-License-Identifier: GPL-2.0-only */
/* Bounds that are searched, and the rules that are taken out one by one: each must be noticed. */
#ifndef SIM_CLUSTER_LAYERS_H
#define SIM_CLUSTER_LAYERS_H

#include "tests/sim/cluster/world.h"
#include "userspace/plan/mutant.h"

struct layer {
	const char *name, *bounds;
};

/* A rule of plan/ or of the world that is taken out. */
struct mutant {
	enum plan_mutant plan;
	enum rule rule;
	const char *name;	/* with the counter-example of the contract that it brings back */
	const char *bounds;
	const char *complaint;	/* begins so; NULL: another rule is enough, nothing is noticed */
};

/* A mutant of plan/ that this world cannot show. */
struct elsewhere {
	enum plan_mutant plan;
	const char *why;
};

/* mutants.c; each ends with an empty one. */
extern const struct layer layers[];
extern const struct layer larger[];	/* in tier long */
extern const struct mutant mutants[];
extern const struct elsewhere elsewhere[];

/* layers.c. Return: exit status. */
int layers_all(bool large);
int layers_one(char **arg);

#endif
