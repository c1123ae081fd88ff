/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Breadth first over all states of world.h, so that the story of a failure is the shortest one.
 * A state is kept as 64 bits of hash, up to the names of the two hosts; the story is found by
 * running the steps again from the first state.
 */
#ifndef SIM_CLUSTER_SEARCH_H
#define SIM_CLUSTER_SEARCH_H

#include "tests/sim/cluster/world.h"

struct search_end {
	u64	states, edges;
	u32	depth;
	const char *complaint;	/* NULL: none */
	bool	complete;
};

/* A step leads to @t; if @bad is set, it is the last one. The text is for the story. */
void search_reach(const struct state *t, const char *text, ...)
	__attribute__((format(printf, 2, 3)));

void search_run(u64 max, struct search_end *end);

/* Print the steps to the complaint of the last run. */
void search_story(void);

#endif
