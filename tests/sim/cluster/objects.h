/* SPDX-License-Identifier: GPL-2.0-only */
/* Objects of userspace/plan/ from those of a state, as format/ would decode them. */
#ifndef SIM_CLUSTER_OBJECTS_H
#define SIM_CLUSTER_OBJECTS_H

#include "tests/sim/cluster/world.h"

struct muuid id_of_host(int h);
struct muuid id_of_extent(u8 x);
struct muuid id_of_volume(bool other);
int host_of(const struct muuid *u);	/* -1: none */

u64 number_of(u16 num);
u16 number_packed(u64 number);

struct layout_object {
	struct plan_layout l;
	struct plan_place place[PLACES];
};

void layout_object(struct layout_object *o, const struct lay *l);

/* V in a store, or the other volume, which stays as it is. */
struct volume_object {
	struct plan_volume v;
	struct layout_object l;
	struct plan_access a;
	struct plan_rosters r;
	struct plan_cluster c;
	bool	exists;
};

void volume_object(struct volume_object *o, const struct store *s, bool other);

void slot_object(struct plan_slot *o, const struct drive *d);
void extent_object(struct plan_extent *o, const struct key *k);
void record_object(struct plan_attached *o, struct layout_object *l, const struct host *x);

#endif
