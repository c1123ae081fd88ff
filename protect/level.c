// SPDX-License-Identifier: GPL-2.0-only
/* The table of levels, the only link from the rest to a level. docs/new-level.md adds one. */
#include <linux/kernel.h>

#include "protect/layout/prot.h"

const struct prot_level_ops *prot_level(unsigned int level)
{
	static const struct prot_level_ops *const levels[PROT_LEVELS] = {
		[PROT_LINEAR] = &prot_linear_ops,
		[PROT_STRIPE] = &prot_stripe_ops,
		[PROT_MIRROR] = &prot_mirror_ops,
		[PROT_RAID10] = &prot_raid10_ops,
		[PROT_EC] = &prot_ec_ops,
	};

	return level < PROT_LEVELS ? levels[level] : NULL;
}
