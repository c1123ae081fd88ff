// SPDX-License-Identifier: GPL-2.0-only
/*
 * The last committed rosters of a volume's groups, kept from a group's end to the volume's: the
 * answer to VOLUME_DEL has them.
 */
#define pr_fmt(fmt) "meshblk: " fmt
#include <linux/slab.h>

#include "driver/volume/volume.h"

void mesh_kept_init(struct mesh_volume *vol)
{
	spin_lock_init(&vol->kept_lock);
	INIT_LIST_HEAD(&vol->kept);
}

/* Keep a roster, allocated with kmalloc(), in place of an earlier one of the same place. */
void mesh_kept_add(struct mesh_volume *vol, struct mesh_kept *kept)
{
	struct mesh_kept *k, *old = NULL;

	spin_lock(&vol->kept_lock);
	list_for_each_entry(k, &vol->kept, node)
		if (k->place == kept->place)
			old = k;
	if (old)
		list_del(&old->node);
	list_add_tail(&kept->node, &vol->kept);
	spin_unlock(&vol->kept_lock);
	kfree(old);
}

/* Call @fn, which does not sleep, for each roster, until it fails. Return: its error, or 0. */
int mesh_kept_each(struct mesh_volume *vol, int (*fn)(void *arg, u32 place, const void *roster),
		   void *arg)
{
	struct mesh_kept *k;
	int err = 0;

	spin_lock(&vol->kept_lock);
	list_for_each_entry(k, &vol->kept, node) {
		err = fn(arg, k->place, k->roster);
		if (err)
			break;
	}
	spin_unlock(&vol->kept_lock);
	return err;
}

void mesh_kept_exit(struct mesh_volume *vol)
{
	struct mesh_kept *k, *next;

	list_for_each_entry_safe(k, next, &vol->kept, node)
		kfree(k);
}
