// SPDX-License-Identifier: GPL-2.0-only
/* How often the target's kernel has each extent open, read once for many. */
#include <errno.h>
#include <stdlib.h>

#include "userspace/format/umap.h"
#include "userspace/meshd/serve.h"

struct opens {
	struct umap map;
};

/* Those of local drives, which the client's kernel has. */
static int add_locals(struct opens *o, struct mesh *m)
{
	struct meshblk_volume *v;
	bool fresh;
	size_t i, n;
	u32 k, *at;
	int err = meshblk_volumes(m, &v, &n);

	if (err)
		return err == -ENOENT ? 0 : err;
	for (i = 0; i < n; i++) {
		for (k = 0; k < v[i].nr_members; k++) {
			at = v[i].members[k].kind == MESHBLK_KIND_BDEV ?
			     umap_put(&o->map, &v[i].members[k].extent, &fresh) : NULL;
			if (at)
				*at = 1;
		}
	}
	meshblk_volumes_free(v, n);
	return 0;
}

struct opens *opens_get(void)
{
	struct opens *o = calloc(1, sizeof(*o));
	struct mesh *m __free(mesh_close) = mesh_open();
	struct meshtgt_drive *all;
	size_t i, n = 0;
	bool fresh;
	u32 k, *at;
	int err;

	err = o && m ? add_locals(o, m) : -ENOMEM;
	if (!err)
		err = meshtgt_drives(m, &all, &n);
	/* Without the module nothing is open. */
	if (err == -ENOENT)
		return o;
	if (err) {
		free(o);
		return NULL;
	}
	for (i = 0; i < n; i++) {
		for (k = 0; k < all[i].nr_extents; k++) {
			if (!all[i].extents[k].opens)
				continue;
			at = umap_put(&o->map, &all[i].extents[k].uuid, &fresh);
			if (at)
				*at = all[i].extents[k].opens;
		}
	}
	meshtgt_drives_free(all, n);
	return o;
}

u32 opens_of(const struct opens *o, const struct muuid *extent)
{
	const u32 *n = o ? umap_get(&o->map, extent) : NULL;

	return n ? *n : 0;
}

void opens_free(struct opens *o)
{
	if (o)
		umap_free(&o->map);
	free(o);
}
