/* SPDX-License-Identifier: GPL-2.0-only */
/* A schedule, and those that are written by hand. */
#ifndef TESTS_SIM_STORY_H
#define TESTS_SIM_STORY_H

#include "tests/sim/sim.h"

#define STEPS_MAX 400

struct schedule {
	struct sim_config cfg;
	int n;
	struct sim_action act[STEPS_MAX];
};

/* Run the story that is this seed's and keep what was done in @s; false: there is none. */
int sim_story(struct sim_world *w, uint64_t seed, int ec, struct schedule *s);

#endif
