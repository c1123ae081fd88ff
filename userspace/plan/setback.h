/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A store that was put back to an older state knows less than hosts and labels do. It must
 * decide nothing: an extent that it calls free may be a live volume's.
 *
 *                    generation       identity, term, revision
 *     followed       the same         the same id; neither lower          -> go on
 *     newer          higher           any (recover made it)               -> follow it
 *     put back       the same         another id, or one is lower         -> stop until recover
 *     old            lower            any                                 -> never follow
 *
 * A label whose generation, counter or version is above what the store says of its volume proves
 * the same. I/O and detach go on meanwhile.
 */
#ifndef PLAN_SETBACK_H
#define PLAN_SETBACK_H

#include "userspace/plan/objects.h"

enum plan_store {
	PLAN_STORE_SAME,
	PLAN_STORE_NEWER,
	PLAN_STORE_BACK,
	PLAN_STORE_OLD,		/* also another cluster's */
};

/* @seen: durable on this host; a null cluster: it has seen none. @now: of the store it talks to. */
enum plan_store plan_store_judge(const struct plan_seen *seen, const struct plan_seen *now);

/**
 * plan_label_above() - true if a label proves that the store was put back
 * @slot: an extent of the label
 * @label_generation: of the label's header
 * @cluster, @volume, @access: read after the label; the last two NULL: the store has none
 */
bool plan_label_above(const struct plan_slot *slot, u32 label_generation,
		      const struct plan_cluster *cluster, const struct plan_volume *volume,
		      const struct plan_access *access);

#endif
