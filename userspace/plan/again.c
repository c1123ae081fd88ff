// SPDX-License-Identifier: GPL-2.0-only
#include "userspace/plan/again.h"
#include "userspace/plan/change.h"
#include "userspace/plan/mutant.h"

static bool same_access(u64 a, u64 b)
{
	return mesh_number_access(a) == mesh_number_access(b);
}

bool plan_again_opens(const struct plan_attached *r, const struct muuid *host,
		      const struct plan_slot *slot)
{
	if (!muuid_equal(&slot->attacher, host) && !plan_mutant(PLAN_MUT_AGAIN_FOREIGN))
		return false;
	return same_access(slot->number, r->number) || plan_mutant(PLAN_MUT_AGAIN_OLDER) ||
	       plan_mutant(PLAN_MUT_AGAIN_FOREIGN);
}

/* The highest restart that any OPEN of this attachment can have had. */
static u64 highest_restart(const struct plan_attached *r, const struct muuid *host,
			   const struct plan_found *found, u32 nr)
{
	u64 restart = mesh_number_restart(r->number);

	for (u32 i = 0; i < nr && !plan_mutant(PLAN_MUT_AGAIN_RESTART); i++) {
		const struct plan_slot *s = found[i].slot;

		if (s && muuid_equal(&s->attacher, host) && same_access(s->number, r->number) &&
		    mesh_number_restart(s->number) > restart)
			restart = mesh_number_restart(s->number);
	}
	return restart;
}

/* How many members of the volume, or of one group, have to open. */
static bool enough(const struct plan_attached *r, const struct plan_found *found, u32 nr,
		   const struct muuid *host)
{
	u32 whole = 0, taken = 0;

	for (u32 i = 0; i < r->layout.places; i++)
		taken += !muuid_null(&r->layout.place[i].extent);
	for (u32 i = 0; i < nr; i++)
		whole += found[i].slot && plan_again_opens(r, host, found[i].slot);
	/* Of groups the kernel judges, by the rosters that it reads. */
	return r->layout.groups ? whole > 0 : whole == taken;
}

enum plan_verdict plan_again(const struct plan_attached *r, const struct muuid *host,
			     const struct plan_found *found, u32 nr, u64 *number)
{
	u64 restart;

	if (r->mode == PLAN_NONE)
		return PLAN_DONE;
	for (u32 i = 0; i < nr; i++) {
		if (found[i].slot && !plan_mutant(PLAN_MUT_AGAIN_FOREIGN) &&
		    mesh_number_access(found[i].slot->number) > mesh_number_access(r->number))
			return PLAN_ABOVE;
	}
	if (r->mode == PLAN_RO) {
		*number = mesh_number_access(r->number);
		return PLAN_GO;
	}
	if (!enough(r, found, nr, host))
		return PLAN_WAIT;
	restart = highest_restart(r, host, found, nr);
	if (restart == MESH_NUMBER_RESTART_MAX)
		return PLAN_EXHAUSTED;
	*number = mesh_number_access(r->number) | (restart + 1);
	return PLAN_GO;
}

bool plan_again_joins(const struct plan_attached *r, u32 place)
{
	return !plan_place_in(r->bar, r->barred, place) || plan_mutant(PLAN_MUT_AGAIN_UNBARRED);
}
