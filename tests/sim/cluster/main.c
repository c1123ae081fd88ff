// SPDX-License-Identifier: GPL-2.0-only
/*
 * sim-cluster check|long             all layers and mutants
 * sim-cluster one LAYER [NAME=N...]  a layer, with other bounds; RULE=N, MUTANT=N take a rule out
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/cluster/layers.h"
#include "tests/sim/cluster/search.h"
#include "userspace/plan/mutant.h"

struct options opt;
enum rule rule_out;
const char *bad;

void world_first(struct state *s)
{
	memset(s, 0, sizeof(*s));
	s->s.vst = PLAN_VOLUME_READY;
	s->s.lay.ver = s->s.clean = 1;
	for (int d = 0; d < 2; d++) {
		u8 x = extent_name(d, false, 1);

		s->s.lay.pl[d] = x;
		s->s.key[d][0] = (struct key) { .x = x, .st = PLAN_READY, .ver = 1 };
		s->ids[d] = 1;
	}
	for (int d = 0; d < 2; d++) {
		s->d[d].x = extent_name(d, false, 1);
		s->d[d].zeroed = s->d[d].ver = 1;
		s->d[d].rec = s->s.lay;
	}
	s->best = s->s.lay;
}

void world_steps(const struct state *s)
{
	for (int h = 0; h < HOSTS; h++) {
		host_steps(s, h);
		kernel_steps(s, h);
		again_steps(s, h);
	}
	target_steps(s);
	drive_steps(s);
	txn_steps(s);
	store_steps(s);
}

static void swap_host(u8 *h)
{
	*h = *h == 1 ? 2 : *h == 2 ? 1 : *h;
}

static void swap_bits(u8 *m)
{
	*m = (*m & ~3) | (*m & 1) << 1 | (*m >> 1 & 1);
}

/* The same with the two hosts' names exchanged. */
void world_swapped(struct state *t, const struct state *s)
{
	*t = *s;
	t->h[0] = s->h[1];
	t->h[1] = s->h[0];
	for (int d = 0; d < DRIVES; d++) {
		swap_host(&t->d[d].att);
		swap_host(&t->d[d].grant);
		swap_host(&t->d[d].fh);
		swap_bits(&t->d[d].rg);
	}
	for (int i = 0; i < LATE; i++) {
		if (t->t[i].kind && t->t[i].kind < T_CHANGE)
			t->t[i].who ^= 1;
	}
	swap_host(&t->s.holder);
	swap_host(&t->bak.holder);
	swap_bits(&t->s.readers);
	swap_bits(&t->bak.readers);
	swap_host(&t->late_host);
	swap_host(&t->srvh);
}

int main(int argc, char **argv)
{
	if (argc == 2 && (!strcmp(argv[1], "check") || !strcmp(argv[1], "long")))
		return layers_all(!strcmp(argv[1], "long"));
	if (argc > 2 && !strcmp(argv[1], "one"))
		return layers_one(argv + 2);
	fprintf(stderr, "sim-cluster check|long\nsim-cluster one LAYER [NAME=N...]\n");
	return 2;
}
