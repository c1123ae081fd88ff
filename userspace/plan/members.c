// SPDX-License-Identifier: GPL-2.0-only
#include "userspace/plan/change.h"
#include "userspace/plan/members.h"
#include "userspace/plan/mutant.h"

static bool opens(const struct plan_volume *v, const struct plan_drive *d, const struct plan_extent *x)
{
	return muuid_equal(&x->volume, &v->uuid) && !plan_layout_names(&v->layout, &x->uuid) &&
	       x->state == PLAN_READY && x->version && d->wanted != PLAN_FORGOTTEN &&
	       !plan_mutant(PLAN_MUT_MEMBERS_LAYOUT);
}

u32 plan_attach_members(const struct plan_volume *volume, const struct plan_drive *drive, u32 drives,
			struct plan_member *out, u32 max)
{
	u32 n = 0;

	for (u32 d = 0; d < drives; d++) {
		for (u32 i = 0; i < drive[d].extents; i++) {
			const struct plan_extent *x = &drive[d].extent[i];

			if (!opens(volume, &drive[d], x))
				continue;
			if (n < max)
				out[n] = (struct plan_member) { .drive = &drive[d], .extent = x };
			n++;
		}
	}
	return n;
}
