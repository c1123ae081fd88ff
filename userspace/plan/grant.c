// SPDX-License-Identifier: GPL-2.0-only
#include "driver/uapi/number.h"
#include "userspace/plan/grant.h"

/* A wrong or forged number must not use the numbers up. */
static bool far_above(u64 seen, u64 number)
{
	u64 generation = mesh_number_generation(number), was = mesh_number_generation(seen);

	if (generation != was)
		return generation - was > MESH_NUMBER_GENERATION_STEP;
	return mesh_number_counter(number) - mesh_number_counter(seen) > MESH_NUMBER_COUNTER_STEP;
}

enum plan_grant plan_grant(u64 seen, const struct muuid *attacher, const struct muuid *host, u64 number,
			   u64 served)
{
	bool self = muuid_equal(attacher, host);

	if (!number || number >= MESH_NUMBER_MAX)
		return PLAN_GRANT_FAR;
	if (!seen)
		return PLAN_GRANT_NOTE;
	if (mesh_number_fences(number, seen, self) || number < seen)
		return PLAN_GRANT_OLD;
	if (served && !self && mesh_number_fences(served, seen, false))
		return PLAN_GRANT_OLD;
	if (far_above(seen, number))
		return PLAN_GRANT_FAR;
	return number == seen ? PLAN_GRANT_SAME : PLAN_GRANT_NOTE;
}
