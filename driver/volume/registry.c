// SPDX-License-Identifier: GPL-2.0-only
/*
 * The registry of volumes: by UUID, and by the N of meshN. References to a volume and pins of its
 * layout are here, too, since files that volume.c and layout.c call need them.
 */
#define pr_fmt(fmt) "meshblk: " fmt
#include <linux/idr.h>

#include "driver/volume/volume.h"
#include "driver/work.h"

static DEFINE_MUTEX(mesh_volumes_lock);
static LIST_HEAD(mesh_volumes);
static DEFINE_IDA(mesh_index);

/*
 * Reserve the name of a volume's disk: meshN, with the first N that is free. Return: 0 or an error.
 */
int mesh_volume_take_index(struct mesh_volume *vol)
{
	vol->index = ida_alloc(&mesh_index, GFP_KERNEL);
	return min(vol->index, 0);
}

/* Free the name of a volume's disk: the next volume's disk may get it. */
void mesh_volume_free_index(struct mesh_volume *vol)
{
	if (vol->index >= 0)
		ida_free(&mesh_index, vol->index);
	vol->index = -1;
}

static void mesh_volume_release(struct kref *ref)
{
	struct mesh_volume *vol = container_of(ref, struct mesh_volume, ref);

	queue_work(mesh_wq, &vol->free_work);
}

void mesh_volume_get(struct mesh_volume *vol)
{
	kref_get(&vol->ref);
}

/* Any context; a work frees a volume without references. */
void mesh_volume_put(struct mesh_volume *vol)
{
	kref_put(&vol->ref, mesh_volume_release);
}

static struct mesh_volume *mesh_volume_lookup(const uuid_t *uuid)
{
	struct mesh_volume *vol;

	lockdep_assert_held(&mesh_volumes_lock);
	list_for_each_entry(vol, &mesh_volumes, node) {
		if (uuid_equal(&vol->conf.uuid, uuid)) {
			mesh_volume_get(vol);
			return vol;
		}
	}
	return NULL;
}

/* Return: the volume with this UUID and a reference, or NULL. */
struct mesh_volume *mesh_volume_find(const uuid_t *uuid)
{
	struct mesh_volume *vol;

	mutex_lock(&mesh_volumes_lock);
	vol = mesh_volume_lookup(uuid);
	mutex_unlock(&mesh_volumes_lock);
	return vol;
}

/* For dumps: the volume after the first @skip. Return: the volume with a reference, or NULL. */
struct mesh_volume *mesh_volume_next(unsigned int skip)
{
	struct mesh_volume *vol, *found = NULL;

	mutex_lock(&mesh_volumes_lock);
	list_for_each_entry(vol, &mesh_volumes, node) {
		if (!skip--) {
			mesh_volume_get(vol);
			found = vol;
			break;
		}
	}
	mutex_unlock(&mesh_volumes_lock);
	return found;
}

/* Return: @new with one more reference, or the volume that has the same UUID already, likewise. */
struct mesh_volume *mesh_volume_register(struct mesh_volume *new)
{
	struct mesh_volume *vol;

	mutex_lock(&mesh_volumes_lock);
	vol = mesh_volume_lookup(&new->conf.uuid);
	if (!vol) {
		list_add_tail(&new->node, &mesh_volumes);
		mesh_volume_get(new);
		vol = new;
	}
	mutex_unlock(&mesh_volumes_lock);
	return vol;
}

/* Remove a volume from the registry; the registry's reference is the caller's. */
void mesh_volume_unregister(struct mesh_volume *vol)
{
	mutex_lock(&mesh_volumes_lock);
	list_del(&vol->node);
	mutex_unlock(&mesh_volumes_lock);
}

/* Queue the work that sets the volume's state: a member or group has changed. Any context. */
void mesh_volume_changed(struct mesh_volume *vol)
{
	queue_work(mesh_wq, &vol->state_work);
}

/*
 * Pin the current layout until mesh_layout_unpin(). Any context. Return: the layout; NULL: the
 * volume goes.
 */
struct mesh_layout *mesh_layout_pin(struct mesh_volume *vol)
{
	struct mesh_layout *l;

	rcu_read_lock();
	do {
		l = rcu_dereference(vol->layout);
		/* a killed layout was replaced just now: try again */
	} while (l && !percpu_ref_tryget_live_rcu(&l->ref));
	rcu_read_unlock();
	return l;
}

/* Volumes pin the module: no volume is left, except for the last steps of one. */
void mesh_volumes_exit(void)
{
	WARN_ON_ONCE(!list_empty(&mesh_volumes));
	ida_destroy(&mesh_index);
}
