// SPDX-License-Identifier: GPL-2.0-only
/* Counters of groups for sysfs: no decision uses the counters. */
#include <linux/percpu.h>

#include "driver/group/group.h"
#include "driver/volume/volume.h"

/* Counters of 64 bits each, one behind the other. */
static void counts_add(void *sum, const void *more, size_t bytes)
{
	const u64 *from = more;
	u64 *to = sum;
	size_t i;

	for (i = 0; i < bytes / sizeof(u64); i++)
		to[i] += READ_ONCE(from[i]);
}

static void counts_of(struct mesh_group *g, struct mesh_groups_counts *sum)
{
	u64 wait = sum->group.wait_ms, run = sum->group.run_us;
	int cpu, idx = mesh_group_engine_begin();

	counts_add(&sum->engine, &READ_ONCE(g->engine)->counts, sizeof(sum->engine));
	mesh_group_engine_end(idx);
	counts_add(&sum->group, &g->counts, sizeof(sum->group));
	sum->group.wait_ms = max(wait, READ_ONCE(g->counts.wait_ms));
	sum->group.run_us = max(run, READ_ONCE(g->counts.run_us));
	for_each_possible_cpu(cpu)
		counts_add(&sum->cpu, per_cpu_ptr(g->cpu_counts, cpu), sizeof(sum->cpu));
	sum->engine_reads += READ_ONCE(g->read);
	sum->redone += atomic64_read(&g->redone);
}

/* @l: pinned. */
void mesh_groups_count(struct mesh_layout *l, struct mesh_groups_counts *sum)
{
	u32 i;

	memset(sum, 0, sizeof(*sum));
	for (i = 0; l->groups && i < l->prot->nr_places; i++)
		if (l->groups[i])
			counts_of(l->groups[i], sum);
}
