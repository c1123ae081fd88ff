// SPDX-License-Identifier: GPL-2.0-only
/* Access numbers of a volume: rules. access.h says which. */
#include <linux/errno.h>
#include <linux/minmax.h>

#include "driver/access.h"
#include "driver/uapi/number.h"

const char *mesh_access_unfit(const struct mesh_access_want *want)
{
	if (!want->numbered)
		return want->has_served || want->has_facts ?
		       "SERVED, BARS and facts from the store are for a volume that is NUMBERED" :
		       NULL;
	if (want->stale)
		return "data of a volume that is NUMBERED is given up by FORGOTTEN, not by STALE";
	if (!want->has_attach)
		return "a volume that is NUMBERED needs its access number, ATTACH";
	if (want->attach >= MESH_NUMBER_MAX)
		return "ATTACH is above all access numbers";
	if (!mesh_number_access(want->attach))
		return "ATTACH has neither generation nor counter";
	if (!want->has_served)
		return NULL;
	if (want->ro)
		return "what is attached for reading is attached again, not retaken";
	if (!mesh_number_access(want->served))
		return "SERVED has neither generation nor counter";
	if (mesh_number_access(want->served) >= mesh_number_access(want->attach))
		return "ATTACH of a retake is above SERVED";
	return NULL;
}

int mesh_access_step(const struct mesh_access_now *now, const struct mesh_access_want *want,
		     const char **why)
{
	if (now->numbered != want->numbered) {
		*why = "the volume is attached by other rules of access; detach it first";
		return -EINVAL;
	}
	/* a retake that was taken is no error when the message comes again */
	if (!now->numbered || mesh_access_is(now->number, want->attach))
		return 0;
	if (want->attach < now->number) {
		*why = "the volume is attached under a higher number";
		return -ESTALE;
	}
	if (!want->has_served) {
		*why = "a higher number needs SERVED, the number in use";
		return -EINVAL;
	}
	if (!mesh_access_is(now->number, want->served)) {
		*why = "SERVED is not the number in use";
		return -ESTALE;
	}
	if (!now->live) {
		*why = "the volume has no disk yet; detach it first";
		return -EBUSY;
	}
	return 1;
}

enum mesh_access_verdict mesh_access_judge(const struct mesh_access_now *now, u64 seen, bool self,
					   bool ro)
{
	if (mesh_number_fences(now->number, seen, self || ro))
		return MESH_ACCESS_FENCED;
	if (!self && !ro && !mesh_access_is(now->number, now->served) &&
	    mesh_number_fences(now->served, seen, false))
		return MESH_ACCESS_FENCED;
	return !ro && seen > now->number ? MESH_ACCESS_RESTART : MESH_ACCESS_FINE;
}

u64 mesh_access_raise(u64 own, u64 highest)
{
	u64 from = max(own, highest);

	return mesh_number_restart(from) == MESH_NUMBER_RESTART_MAX ? 0 : from + 1;
}

bool mesh_access_is(u64 number, u64 noted)
{
	return mesh_number_access(number) == mesh_number_access(noted);
}
