// SPDX-License-Identifier: GPL-2.0-only
/* The state of a volume, and what readers see beside it. Tables: driver/states.c. */
#define pr_fmt(fmt) "meshblk: " fmt
#include "driver/netlink/events.h"
#include "driver/volume/volume.h"

/*
 * The one setter of a volume's state and of the reason that goes with the state: why the volume is
 * not attached, or a member is refused. @err 0, @reason NULL: all is well.
 */
void mesh_volume_set_why(struct mesh_volume *vol, enum mesh_volume_state state, int err,
			 const char *reason)
{
	struct mesh_layout *l = rcu_dereference_protected(vol->layout,
							  lockdep_is_held(&vol->lock));

	mutex_lock(&vol->event_lock);
	vol->err = err;
	vol->reason = reason;
	if (vol->state != state && !WARN_ON_ONCE(!mesh_volume_may(vol->state, state))) {
		WRITE_ONCE(vol->state, state);
		mesh_event_volume(vol, state, l ? l->epoch : 0);
	}
	mutex_unlock(&vol->event_lock);
}

/* Allow or forbid readers the use of vol->disk. */
void mesh_volume_set_live(struct mesh_volume *vol, bool live)
{
	lockdep_assert_held(&vol->lock);
	mutex_lock(&vol->event_lock);
	vol->live = live;
	mutex_unlock(&vol->event_lock);
}
