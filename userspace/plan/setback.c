// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>

#include "userspace/plan/mutant.h"
#include "userspace/plan/setback.h"

enum plan_store plan_store_judge(const struct plan_seen *seen, const struct plan_seen *now)
{
	if (muuid_null(&seen->cluster))
		return PLAN_STORE_NEWER;
	if (!muuid_equal(&seen->cluster, &now->cluster) || now->generation < seen->generation)
		return PLAN_STORE_OLD;
	if (now->generation > seen->generation)
		return PLAN_STORE_NEWER;
	if (plan_mutant(PLAN_MUT_BACK_UNSEEN))
		return PLAN_STORE_SAME;
	if (strcmp(seen->id, now->id) || now->term < seen->term || now->revision < seen->revision)
		return PLAN_STORE_BACK;
	return PLAN_STORE_SAME;
}

bool plan_label_above(const struct plan_slot *slot, u32 label_generation,
		      const struct plan_cluster *cluster, const struct plan_volume *volume,
		      const struct plan_access *access)
{
	if (plan_mutant(PLAN_MUT_BACK_LABEL))
		return false;
	if (label_generation > cluster->generation)
		return true;
	/* An extent that was made, but neither attached nor recorded, may be of a create that was given up. */
	if (!volume)
		return slot->number || slot->version;
	if (slot->version > volume->layout.version)
		return true;
	/* Fields apart: the generation of the store's number may be higher, its counter is then, too. */
	return mesh_number_access(slot->number) > (access ? mesh_number_access(access->number) : 0);
}
