// SPDX-License-Identifier: GPL-2.0-only
#include "userspace/plan/prune.h"

u32 plan_prune(const struct plan_past *p, u32 n, u64 now, u64 age, u32 most)
{
	u32 go = n > most ? n - most : 0;

	while (age && go < n && p[go].at < now && now - p[go].at > age)
		go++;
	return go;
}
