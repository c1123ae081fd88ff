// SPDX-License-Identifier: GPL-2.0-only
/*
 * Volumes: attach, replacement of a layout, detach. A volume exists from its first layout on; its
 * disk appears when all members have been up at once.
 */
#define pr_fmt(fmt) "meshblk: " fmt
#include <linux/module.h>
#include <linux/netlink.h>
#include <linux/slab.h>

#include "driver/block/request.h"
#include "driver/netlink/events.h"
#include "driver/volume/volume.h"
#include "driver/work.h"

/*
 * A detach waits MESH_GRACE_MS for I/O in flight to end by itself. Then the detach kicks the
 * members with I/O in flight, again every MESH_KICK_MS.
 */
#define MESH_GRACE_MS	300
#define MESH_KICK_MS	500

/*
 * A forced detach waits MESH_FORCE_MS at most for the disk to go: I/O to a target ends well within
 * that time, so I/O that is left is a local device's. Targets get MESH_CLOSE_MS to close the
 * extents, so that a detach takes less than a second in all; a slower close goes on in the
 * background.
 */
#define MESH_FORCE_MS	5000
#define MESH_CLOSE_MS	300

/* Default of sync_min: MB/s of each member that background work has beside requests. */
#define MESH_SYNC_MIN	100

static void mesh_volume_free_work(struct work_struct *work)
{
	struct mesh_volume *vol = container_of(work, struct mesh_volume, free_work);

	cancel_work_sync(&vol->fence_work);
	cancel_delayed_work_sync(&vol->raise_work);
	cancel_work_sync(&vol->state_work);
	cancel_delayed_work_sync(&vol->raise_work);	/* the state work queues it */
	cancel_delayed_work_sync(&vol->retry_work);
	destroy_workqueue(vol->wq);
	mesh_kept_exit(vol);
	mesh_plan_pools_exit(vol);
	mesh_volume_free_index(vol);
	kfree(vol);
	module_put(THIS_MODULE);
}

static void mesh_volume_set_state(struct mesh_volume *vol, enum mesh_volume_state state)
{
	mesh_volume_set_why(vol, state, 0, NULL);
}

/*
 * Make the disk: all members are up for the first time. Called with vol->lock, which is dropped and
 * taken again.
 */
static void mesh_volume_attach(struct mesh_volume *vol)
{
	int err = mesh_disk_alloc(vol);

	if (err) {
		mesh_volume_set_why(vol, vol->state, err, "no disk could be made");
		return;
	}
	mutex_unlock(&vol->lock);
	err = mesh_disk_add(vol);
	mutex_lock(&vol->lock);
	if (err) {
		if (vol->state == MESH_VOLUME_OPENING)
			mesh_volume_set_why(vol, vol->state, err, "the disk could not be added");
		mesh_disk_free(vol);
		return;
	}
	mesh_volume_set_live(vol, true);
	mesh_sysfs_add(vol);
}

/*
 * Note the steps of the access number. @want: the state that the members require. Return: the state
 * to go to: a disk appears only under its number.
 */
static enum mesh_volume_state mesh_volume_number(struct mesh_volume *vol, struct mesh_layout *l,
						 enum mesh_volume_state want)
{
	u64 number = mesh_access_get(vol).number;
	bool ready = mesh_raise_ready(vol, l);

	if (ready && mesh_access_before(vol) && mesh_groups_under(l, number))
		mesh_access_settled(vol);
	return vol->state == MESH_VOLUME_OPENING && !ready ? vol->state : want;
}

/* Return: why a volume with an access number does not go on by itself, with @err set; or NULL. */
static const char *mesh_volume_stuck(struct mesh_volume *vol, struct mesh_layout *l, int *err)
{
	*err = 0;
	if (mesh_access_spent(vol)) {
		*err = -EOVERFLOW;
		return "the restarts of its access number are used up: retake it";
	}
	if (vol->state == MESH_VOLUME_OPENING && READ_ONCE(l->order.held)) {
		*err = -EBUSY;
		return "another host has it open";
	}
	return NULL;
}

static void mesh_volume_state_work(struct work_struct *work)
{
	struct mesh_volume *vol = container_of(work, struct mesh_volume, state_work);
	enum mesh_volume_state want;
	bool announce = false;
	unsigned int down, lost;
	struct mesh_layout *l;
	const char *unfit, *why;
	int err;

	mutex_lock(&vol->lock);
	l = rcu_dereference_protected(vol->layout, lockdep_is_held(&vol->lock));
	if (!l || vol->state == MESH_VOLUME_REMOVING || READ_ONCE(vol->fenced))
		goto unlock;
	unfit = mesh_layout_refit(l, vol->conf.lba);
	/* read before the states: a group that serves by then has no reason any more */
	why = mesh_groups_why(l);
	mesh_layout_states(l, &down, &lost);
	want = mesh_volume_number(vol, l, mesh_volume_wants(vol->state, down, lost));
	why = mesh_volume_stuck(vol, l, &err) ?: why;
	why = unfit ?: want == MESH_VOLUME_ACTIVE ? NULL : why;
	if (vol->state == MESH_VOLUME_OPENING && want == MESH_VOLUME_ACTIVE) {
		mesh_volume_attach(vol);
		if (!vol->live || vol->state != MESH_VOLUME_OPENING)
			goto unlock;
	}
	/* udev does not read the disk before the volume is active: the event follows the state. */
	announce = vol->live && want == MESH_VOLUME_ACTIVE && vol->state != want;
	mesh_volume_set_why(vol, want, unfit ? -EINVAL : why ? err : 0, why);
unlock:
	mutex_unlock(&vol->lock);
	/* The disk is still there: its removal waits for this work. */
	if (announce)
		mesh_disk_announce(vol);
}

/*
 * The end of a volume. Requeued requests fail at once. Requests in flight end by themselves, or as
 * a member that does not answer is kicked. Only then does this work wait for code that itself waits
 * for requests: a partition scan, pages under writeback, the file system's own shutdown. The layout
 * closes the members, in the background.
 */
static void mesh_volume_remove_work(struct work_struct *work)
{
	struct mesh_volume *vol = container_of(work, struct mesh_volume, remove_work);
	unsigned int ms = MESH_GRACE_MS;
	bool live;

	mutex_lock(&vol->lock);
	mesh_layout_end(vol);
	mutex_unlock(&vol->lock);
	for (; !wait_for_completion_timeout(&vol->drained, msecs_to_jiffies(ms)); ms = MESH_KICK_MS)
		mesh_layout_kick(vol);
	/* it may be in an attach, whose reads have failed */
	cancel_work_sync(&vol->state_work);
	cancel_work_sync(&vol->fence_work);
	mesh_disk_kill(vol);
	mutex_lock(&vol->lock);
	live = vol->live;
	if (live)
		mesh_sysfs_remove(vol);
	mesh_volume_set_live(vol, false);
	mutex_unlock(&vol->lock);
	/* No lock: only this work still uses the disk. */
	if (live)
		mesh_disk_remove(vol);
	mesh_volume_free_index(vol);
	mesh_volume_unregister(vol);
	complete_all(&vol->removed);
	mesh_volume_put(vol);
}

static int mesh_volume_init(struct mesh_volume *vol)
{
	int err = mesh_volume_take_index(vol);

	if (err)
		return err;
	err = mesh_plan_pools(vol);
	if (err)
		goto free_index;
	vol->wq = alloc_workqueue("mesh%d", WQ_MEM_RECLAIM | WQ_UNBOUND | WQ_HIGHPRI, 1,
				  vol->index);
	if (!vol->wq) {
		err = -ENOMEM;
		goto exit_pools;
	}
	return 0;
exit_pools:
	mesh_plan_pools_exit(vol);
free_index:
	mesh_volume_free_index(vol);
	return err;
}

static struct mesh_volume *mesh_volume_alloc(const struct mesh_volume_conf *conf)
{
	struct mesh_volume *vol;
	int err;

	if (!try_module_get(THIS_MODULE))
		return ERR_PTR(-ENODEV);
	vol = kzalloc(sizeof(*vol), GFP_KERNEL);
	err = vol ? mesh_volume_init(vol) : -ENOMEM;
	if (err) {
		kfree(vol);
		module_put(THIS_MODULE);
		return ERR_PTR(err);
	}
	vol->conf = *conf;
	vol->timeout = msecs_to_jiffies(conf->timeout_ms ?: MESH_TIMEOUT_MS);
	vol->sync_min = MESH_SYNC_MIN;
	mutex_init(&vol->lock);
	mutex_init(&vol->event_lock);
	kref_init(&vol->ref);
	mutex_init(&vol->layouts_lock);
	mesh_access_init(vol, &conf->access);
	mesh_kept_init(vol);
	INIT_LIST_HEAD(&vol->layouts);
	atomic_set(&vol->draining, 1);
	atomic_set(&vol->closing, 1);
	init_completion(&vol->drained);
	init_completion(&vol->closed);
	init_completion(&vol->removed);
	INIT_WORK(&vol->state_work, mesh_volume_state_work);
	INIT_WORK(&vol->remove_work, mesh_volume_remove_work);
	INIT_WORK(&vol->fence_work, mesh_volume_fence_work);
	INIT_DELAYED_WORK(&vol->raise_work, mesh_volume_raise_work);
	INIT_WORK(&vol->free_work, mesh_volume_free_work);
	mesh_req_init_volume(vol);
	return vol;
}

/* Find the volume, or make it. Return: the volume with a reference, or an error. */
static struct mesh_volume *mesh_volume_want(const struct mesh_volume_conf *conf)
{
	struct mesh_volume *vol = mesh_volume_find(&conf->uuid), *new;

	if (vol)
		return vol;
	new = mesh_volume_alloc(conf);
	if (IS_ERR(new))
		return new;
	vol = mesh_volume_register(new);
	if (vol != new)
		mesh_volume_put(new);
	return vol;
}

/* Block size and access stay as at the first attach. Return: true if the message has the same. */
static bool mesh_volume_same_access(const struct mesh_volume *vol,
				    const struct mesh_volume_conf *conf,
				    struct netlink_ext_ack *extack)
{
	if (conf->lba == vol->conf.lba && conf->ro == vol->conf.ro)
		return true;
	if (conf->lba != vol->conf.lba)
		NL_SET_ERR_MSG(extack, "the block size changes with a detach only");
	else if (conf->ro)
		NL_SET_ERR_MSG(extack,
			       "the volume is attached for writing, or tries to be; detach it first");
	else
		NL_SET_ERR_MSG(extack, "the volume is attached for reading; detach it first");
	return false;
}

/* Check if the volume can take this layout. Return: 0, or a negative errno, with @extack set. */
static int mesh_volume_fits(struct mesh_volume *vol, const struct mesh_volume_conf *conf,
			    struct mesh_layout *new, struct mesh_layout *old,
			    struct netlink_ext_ack *extack)
{
	const char *why;

	if (old && new->epoch < old->epoch) {
		NL_SET_ERR_MSG(extack, "the epoch goes back");
		return -ESTALE;
	}
	why = mesh_disk_unfit(vol, new->prot) ?: mesh_layout_unfit(new, conf->lba);
	if (!why)
		return 0;
	extack->_msg = why;
	return -EINVAL;
}

/*
 * Compare the message's access with the access in use. Return: 0; 1: a retake; or a negative errno,
 * with @extack set.
 */
static int mesh_volume_step(struct mesh_volume *vol, const struct mesh_volume_conf *conf,
			    struct netlink_ext_ack *extack)
{
	struct mesh_access_now now = mesh_access_get(vol);
	const char *why = NULL;
	int err;

	if (READ_ONCE(vol->fenced)) {
		NL_SET_ERR_MSG(extack, "another host has the volume now; detach it");
		return -ESTALE;
	}
	err = mesh_access_step(&now, &conf->access, &why);
	if (err < 0)
		extack->_msg = why;
	return err;
}

/* Go on under the message's higher number, with the layout in use. */
static void mesh_volume_retake(struct mesh_volume *vol, const struct mesh_volume_conf *conf,
			       struct mesh_layout *l)
{
	mesh_access_retake(vol, conf->access.attach);
	mesh_raise_begin(vol);
	mesh_groups_taken(l);
}

static void mesh_volume_rename(struct mesh_volume *vol, const struct mesh_volume_conf *conf)
{
	if (!conf->name[0] || !strcmp(conf->name, vol->conf.name))
		return;
	mutex_lock(&vol->event_lock);
	strscpy(vol->conf.name, conf->name, sizeof(vol->conf.name));
	mutex_unlock(&vol->event_lock);
	if (vol->live)
		mesh_disk_announce(vol);
}

static void mesh_volume_replace(struct mesh_volume *vol, struct mesh_layout *new)
{
	vol->taken = true;
	mesh_layout_swap(vol, new);
	mesh_groups_taken(new);
	if (vol->disk)
		set_capacity_and_notify(vol->disk, new->prot->size >> SECTOR_SHIFT);
	if (vol->live)
		mesh_sysfs_members(vol, new->nr);
	mesh_volume_changed(vol);
}

/*
 * Make a layout the one in use. Called with vol->lock. *@new is set to NULL when the layout has
 * come into use.
 */
static int mesh_volume_take(struct mesh_volume *vol, const struct mesh_volume_conf *conf,
			    struct mesh_layout **new, struct netlink_ext_ack *extack)
{
	struct mesh_layout *old = rcu_dereference_protected(vol->layout,
							    lockdep_is_held(&vol->lock));
	int err, step;

	if (vol->state == MESH_VOLUME_REMOVING || READ_ONCE(vol->dying)) {
		NL_SET_ERR_MSG(extack, "the volume is being removed");
		return -EBUSY;
	}
	step = mesh_volume_step(vol, conf, extack);
	if (step < 0)
		return step;
	err = mesh_volume_fits(vol, conf, *new, old, extack);
	if (err)
		return err;
	if (step && (!old || old->epoch != (*new)->epoch)) {
		NL_SET_ERR_MSG(extack, "a retake has the layout in use");
		return -EINVAL;
	}
	if (!old || old->epoch != (*new)->epoch) {
		mesh_volume_replace(vol, *new);
		*new = NULL;
	} else if (mesh_layout_same(old, *new)) {
		/* a label that was behind may have this epoch by now */
		mesh_order_again(old);
		if (step)
			mesh_volume_retake(vol, conf, old);
	} else {
		NL_SET_ERR_MSG(extack, "this epoch is in use with another layout");
		return -ESTALE;
	}
	mesh_volume_rename(vol, conf);
	if (conf->timeout_ms)
		mesh_disk_set_timeout(vol, conf->timeout_ms);
	return 0;
}

/* Facts from the store for the groups, of a message that is taken; @new: as after that. */
static int mesh_volume_facts(struct mesh_volume *vol, const struct mesh_layout *new,
			     const struct mesh_group_conf *groups, struct netlink_ext_ack *extack)
{
	struct mesh_layout *l = mesh_layout_pin(vol);
	int err = 0;

	if (!l)
		return 0;
	if (vol->access.numbered)
		err = mesh_groups_facts(l, groups, new ?: l);
	mesh_layout_unpin(l);
	if (err)
		NL_SET_ERR_MSG(extack, "a member of a group joins it right now; try again");
	return err;
}

/* Make the message's layout, and open its members. Sleeps. @new: set, also on most errors. */
static int mesh_volume_open(struct mesh_volume *vol, struct mesh_volume_layout *m,
			    const struct mesh_group_conf *groups, struct mesh_layout **new,
			    struct netlink_ext_ack *extack)
{
	*new = mesh_layout_alloc(vol, m->epoch, m->prot->nr_members);
	if (!*new)
		return -ENOMEM;
	swap((*new)->prot, m->prot);
	swap((*new)->fresh, m->fresh);
	swap((*new)->bars, m->bars);
	swap((*new)->forgotten, m->forgotten);
	return mesh_layout_open(*new, m->members, groups, extack);
}

/*
 * Attach a volume, or give it another layout. @layout: what is used of it is set to NULL. Sleeps,
 * but no wait for a device or a target is without an end (until.h): the disk appears when the
 * members are up. No lock is held while members are opened, or closed with a layout that is not
 * taken. Return: 0, also for a layout that is in use already; or a negative errno.
 */
int mesh_volume_set(const struct mesh_volume_conf *conf, struct mesh_volume_layout *layout,
		    const struct mesh_group_conf *groups, struct netlink_ext_ack *extack)
{
	struct mesh_volume *vol = mesh_volume_want(conf);
	struct mesh_layout *new = NULL;
	int err;

	if (IS_ERR(vol))
		return PTR_ERR(vol);
	if (!mesh_volume_same_access(vol, conf, extack)) {
		mesh_volume_put(vol);
		return -EINVAL;
	}
	/* before members are opened: an OPEN must not carry a number that is refused */
	err = mesh_volume_step(vol, conf, extack);
	if (err >= 0)
		err = mesh_volume_open(vol, layout, groups, &new, extack);
	mutex_lock(&vol->lock);	/* no code waits for I/O or a target under this lock */
	if (!err)
		err = mesh_volume_take(vol, conf, &new, extack);
	if (err && !vol->taken && vol->state != MESH_VOLUME_REMOVING) {
		/* its first layout failed: the volume never existed */
		mesh_volume_set_state(vol, MESH_VOLUME_REMOVING);
		mesh_volume_unregister(vol);
		mesh_volume_put(vol);
	}
	mutex_unlock(&vol->lock);
	if (!err)
		err = mesh_volume_facts(vol, new, groups, extack);
	if (new)
		mesh_layout_drop(new);
	mesh_volume_put(vol);
	return err;
}

/* Begin the removal. Return: 0, or -EBUSY with @extack set. */
static int mesh_volume_retire(struct mesh_volume *vol, bool force,
			      struct netlink_ext_ack *extack)
{
	int err = 0;

	/*
	 * Before any lock: requeued requests may keep a lock's holder waiting, and all of them end
	 * when they are woken now.
	 */
	if (force) {
		WRITE_ONCE(vol->forced, true);
		WRITE_ONCE(vol->dying, true);
		mesh_retry_wake(vol);
	}
	mutex_lock(&vol->lock);
	if (vol->state == MESH_VOLUME_REMOVING) {
		NL_SET_ERR_MSG(extack, "the volume is being removed");
		err = -EBUSY;
	} else if (!force && mesh_disk_claim(vol)) {
		NL_SET_ERR_MSG(extack, "the volume is open; unmount it, or use force");
		err = -EBUSY;
	} else {
		mesh_volume_set_state(vol, MESH_VOLUME_REMOVING);
		queue_work(mesh_wq, &vol->remove_work);
	}
	mutex_unlock(&vol->lock);
	return err;
}

/*
 * Wait until the disk has gone and the members are closed; with @force, for the close MESH_CLOSE_MS
 * at most. Return: 0, -ETIMEDOUT, or -ERESTARTSYS: the caller is killed.
 */
static int mesh_volume_await(struct mesh_volume *vol, bool force, struct netlink_ext_ack *extack)
{
	long left = force ? msecs_to_jiffies(MESH_FORCE_MS) :
			    min(vol->timeout, msecs_to_jiffies(MESH_TIMEOUT_MS)) + 10 * HZ;

	left = wait_for_completion_killable_timeout(&vol->removed, left);
	if (left <= 0) {
		if (!left)
			NL_SET_ERR_MSG(extack, "I/O of a member does not end; removal goes on");
		return left ?: -ETIMEDOUT;
	}
	if (force)
		left = msecs_to_jiffies(MESH_CLOSE_MS);
	left = wait_for_completion_killable_timeout(&vol->closed, left);
	if (force || left > 0)
		return 0;
	if (!left)
		NL_SET_ERR_MSG(extack, "a target does not close an extent; that goes on");
	return left ?: -ETIMEDOUT;
}

/*
 * Remove a volume. @force: also an open one; its openers get errors. Sleeps until the disk has gone
 * and the members are closed; forced, until the disk has gone, and for the close MESH_CLOSE_MS at
 * most. Return: 0, -ENOENT, -EBUSY, -ERESTARTSYS, or -ETIMEDOUT: I/O of a member, or the close of
 * an extent, does not end; the removal goes on by itself.
 */
int mesh_volume_del(const uuid_t *uuid, bool force, struct netlink_ext_ack *extack)
{
	struct mesh_volume *vol = mesh_volume_find(uuid);
	int err;

	if (!vol) {
		NL_SET_ERR_MSG(extack, "no such volume");
		return -ENOENT;
	}
	err = mesh_volume_retire(vol, force, extack) ?: mesh_volume_await(vol, force, extack);
	mesh_volume_put(vol);
	return err;
}
