/* SPDX-License-Identifier: GPL-2.0-only */
/* From UUIDs to small numbers: a hash table that only grows. */
#ifndef FORMAT_UMAP_H
#define FORMAT_UMAP_H

#include <linux/types.h>
#include <stddef.h>

#include "userspace/format/uuid.h"

/* All-zero is an empty one. */
struct umap {
	struct umap_entry {
		struct muuid	uuid;
		u32		value;
		bool		used;
	}	*entry;
	size_t	room;		/* a power of two, or 0 */
	size_t	n;
};

/* The place of @uuid's number, @fresh: it was not there and is zero; NULL: no memory. */
u32 *umap_put(struct umap *m, const struct muuid *uuid, bool *fresh);
/* NULL: it is not there. */
u32 *umap_get(const struct umap *m, const struct muuid *uuid);
void umap_free(struct umap *m);

#endif
