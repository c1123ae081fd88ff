// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>

#include "userspace/daemon/disk_label.h"

void disk_label_merge(struct label *want, const struct label *now)
{
	/* The drive may have grown meanwhile, and its second copy stands at the new end. */
	want->size = now->size;
	for (u32 i = 0; i < want->extents; i++) {
		struct label_extent *e = &want->extent[i];
		const struct label_extent *is = label_find(now, &e->uuid);

		e->attach = is ? is->attach : 0;
		e->attacher = is ? is->attacher : (struct muuid) { { 0 } };
		e->holder = is ? is->holder : (struct muuid) { { 0 } };
		if (!is || is->start != e->start || is->length != e->length)
			continue;
		if (is->state == LABEL_READY)
			e->state = LABEL_READY;
		if (is->zeroed > e->zeroed)
			e->zeroed = is->zeroed;
	}
}

bool disk_label_equal(const struct label *a, const struct label *b)
{
	if (a->extents != b->extents || a->size != b->size || a->lba != b->lba || a->flags != b->flags ||
	    a->generation != b->generation || !muuid_equal(&a->drive, &b->drive) ||
	    !muuid_equal(&a->cluster, &b->cluster) || !muuid_equal(&a->owner, &b->owner))
		return false;
	for (u32 i = 0; i < a->extents; i++) {
		const struct label_extent *x = &a->extent[i], *y = &b->extent[i];

		if (!muuid_equal(&x->uuid, &y->uuid) || !muuid_equal(&x->volume, &y->volume) ||
		    !muuid_equal(&x->holder, &y->holder) || !muuid_equal(&x->attacher, &y->attacher) ||
		    x->start != y->start || x->length != y->length || x->version != y->version ||
		    x->commit != y->commit || x->zeroed != y->zeroed || x->attach != y->attach ||
		    x->state != y->state || strcmp(x->name, y->name))
			return false;
	}
	return true;
}
