// SPDX-License-Identifier: GPL-2.0-only
/*
 * A higher access number under a live volume: a restart, or a retake. Members outside groups get
 * the number here; a group gives it to its members when it begins again.
 *
 *   OPEN refused for an own, later restart --> the restart is raised --.
 *   VOLUME_SET: a retake ---------------------------------------------+--> OPEN under the number
 *   a member comes up that missed it ---------------------------------'
 */
#define pr_fmt(fmt) "meshblk: " fmt
#include "driver/volume/volume.h"
#include "driver/work.h"

#define RAISE_AGAIN	(HZ / 4)	/* a later try at members that could not note the number */

/* True: the slot's member is to note a number at once. */
static bool raise_due(const struct mesh_member_slot *slot, u64 number)
{
	const struct mesh_member *m = slot->member;
	enum mesh_member_state state = READ_ONCE(m->state);

	if (!m->ops->attach || !m->conf.rw)
		return false;
	if (state == MESH_MEMBER_REFUSED)
		return READ_ONCE(m->err) == -ESTALE && READ_ONCE(m->number) < number;
	return state == MESH_MEMBER_UP && !slot->grouped &&
	       !mesh_access_is(number, READ_ONCE(m->info.attach));
}

/*
 * Return: false: there is no member @i. Else @m is set to the member, with a reference, if it is
 * due, or to NULL. The layout is not pinned longer: a detach would wait for targets that do not
 * answer.
 */
static bool raise_next(struct mesh_volume *vol, u32 i, u64 number, struct mesh_member **m)
{
	struct mesh_layout *l = mesh_layout_pin(vol);
	bool is;

	*m = NULL;
	if (!l)
		return false;
	is = i < l->nr;
	if (is && raise_due(&l->member_slots[i], number)) {
		*m = l->member_slots[i].member;
		refcount_inc(&(*m)->refs);
	}
	mesh_layout_unpin(l);
	return is;
}

void mesh_volume_raise_work(struct work_struct *work)
{
	struct mesh_volume *vol = container_of(to_delayed_work(work), struct mesh_volume,
					       raise_work);
	u64 number = mesh_access_restart(vol);
	unsigned int noio = mesh_noio_begin();
	struct mesh_member *m;
	u32 i;

	for (i = 0; number && raise_next(vol, i, number, &m); i++) {
		if (!m)
			continue;
		mesh_access_note(vol, m, number);
		mesh_member_put_later(m);
	}
	mesh_noio_end(noio);
	mesh_volume_changed(vol);	/* a retake may be complete, or the restarts used up */
}

/* Judge the number of a refused member: it may have been refused before the layout was linked. */
static void raise_judge(struct mesh_volume *vol, struct mesh_member *m)
{
	if (READ_ONCE(m->state) != MESH_MEMBER_REFUSED || READ_ONCE(m->err) != -ESTALE)
		return;
	mutex_lock(&m->lock);
	mesh_access_refused(vol, m);
	mutex_unlock(&m->lock);
}

/*
 * Return: true if members outside groups are open under the number in use, as far as they are up:
 * readers', and those of kinds without numbers, always are. If not, they are opened so.
 */
bool mesh_raise_ready(struct mesh_volume *vol, struct mesh_layout *l)
{
	struct mesh_access_now now = mesh_access_get(vol);
	bool ready = true;
	u32 i;

	for (i = 0; now.numbered && i < l->nr; i++) {
		raise_judge(vol, l->member_slots[i].member);
		ready &= !raise_due(&l->member_slots[i], now.number);
	}
	if (!ready)
		queue_delayed_work(mesh_wq, &vol->raise_work, RAISE_AGAIN);
	return ready;
}

/* The number in use has grown: all that is here is to go on under it, soon. */
void mesh_raise_begin(struct mesh_volume *vol)
{
	mod_delayed_work(mesh_wq, &vol->raise_work, 0);
}
