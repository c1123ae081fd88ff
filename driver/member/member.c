// SPDX-License-Identifier: GPL-2.0-only
/* The registry of members: opened, shared, closed. */
#define pr_fmt(fmt) "meshblk: " fmt
#include <linux/module.h>
#include <linux/netlink.h>
#include <linux/slab.h>
#include <linux/wait.h>

#include "driver/member/member.h"
#include "driver/until.h"

#define MEMBER_LATE_IO "the device still has I/O that was given up; it is free when that has ended"

/*
 * Guards the kinds, the registry, and conf.epoch, conf.size, @opening and @dev of the members. Not
 * held while a member is opened or closed, since a device or a target may take any time for that;
 * never taken on the I/O path.
 */
static DEFINE_MUTEX(mesh_members_lock);
static LIST_HEAD(mesh_members);

/* For callers that wait until a member of some UUID has been opened or closed. */
static DECLARE_WAIT_QUEUE_HEAD(mesh_members_settled);

/* Registered by main.c, and by tests/kmod/meshmem. */
static const struct mesh_member_ops *mesh_member_kinds[MESHBLK_KIND_MEM + 1];

/*
 * Register the ops of a kind. @kind: has no ops yet. @ops: NULL: the module that registered the ops
 * goes; no member pins the module any more.
 */
void mesh_member_set_kind(u8 kind, const struct mesh_member_ops *ops)
{
	mutex_lock(&mesh_members_lock);
	mesh_member_kinds[kind] = ops;
	mutex_unlock(&mesh_members_lock);
}
EXPORT_SYMBOL_GPL(mesh_member_set_kind);

static bool mesh_member_same(const struct mesh_member_conf *a, const struct mesh_member_conf *b)
{
	if (a->kind != b->kind || a->rw != b->rw || a->target != b->target || a->lba != b->lba ||
	    a->start != b->start || !uuid_equal(&a->uuid, &b->uuid) ||
	    !uuid_equal(&a->drive, &b->drive))
		return false;
	/* A known drive is the same member by any path. */
	return (a->kind == MESHBLK_KIND_BDEV && !uuid_is_null(&a->drive)) ||
	       !strcmp(a->path, b->path);
}

static void mesh_member_put_work(struct work_struct *work)
{
	mesh_member_put(container_of(work, struct mesh_member, put_work));
}

static void mesh_member_kick_work(struct work_struct *work)
{
	struct mesh_member *m = container_of(work, struct mesh_member, kick_work);

	m->ops->kick(m);
	/* not mesh_member_put() here, where other members wait for their kick to get memory free */
	mesh_member_put_later(m);
}

/* Add a new member to the registry. Return: the member, or an error, which @extack explains. */
static struct mesh_member *mesh_member_add(const struct mesh_member_conf *conf,
					   const uuid_t *volume, struct netlink_ext_ack *extack)
{
	const struct mesh_member_ops *ops = NULL;
	struct mesh_member *m;

	lockdep_assert_held(&mesh_members_lock);
	if (conf->kind < ARRAY_SIZE(mesh_member_kinds))
		ops = mesh_member_kinds[conf->kind];
	if (!ops || !try_module_get(ops->owner)) {
		NL_SET_ERR_MSG(extack, "members of this kind need a module that is not loaded");
		return ERR_PTR(-EOPNOTSUPP);
	}
	/* a member with abandoned I/O outlives its volume, which pins the module, too */
	if (!try_module_get(THIS_MODULE)) {
		module_put(ops->owner);
		return ERR_PTR(-ENODEV);
	}
	m = kzalloc(sizeof(*m), GFP_KERNEL);
	if (!m)
		goto put;
	m->stats = alloc_percpu(struct mesh_member_stats);
	if (!m->stats)
		goto free;
	m->ops = ops;
	m->conf = *conf;
	m->volume = *volume;
	m->number = conf->number;
	m->err = -ENOLINK;
	m->opening = true;
	spin_lock_init(&m->path_lock);
	mutex_init(&m->attach_lock);
	mutex_init(&m->lock);
	INIT_LIST_HEAD(&m->links);
	INIT_WORK(&m->kick_work, mesh_member_kick_work);
	INIT_WORK(&m->put_work, mesh_member_put_work);
	init_llist_head(&m->returned);
	INIT_WORK(&m->abandoned_work, mesh_abandoned_work);
	init_completion(&m->opened);
	refcount_set(&m->refs, 1);
	list_add_tail(&m->node, &mesh_members);
	return m;
free:
	kfree(m);
put:
	module_put(THIS_MODULE);
	module_put(ops->owner);
	return ERR_PTR(-ENOMEM);
}

/*
 * Find an open member with this conf, and raise the member's size and epoch. Return: the member
 * with a reference, or NULL.
 */
static struct mesh_member *mesh_member_share(const struct mesh_member_conf *conf)
{
	struct mesh_member *m;

	lockdep_assert_held(&mesh_members_lock);
	list_for_each_entry(m, &mesh_members, node) {
		if (!mesh_member_same(&m->conf, conf) || !refcount_inc_not_zero(&m->refs))
			continue;
		m->conf.size = max(m->conf.size, conf->size);
		if (conf->epoch > m->conf.epoch) {
			m->conf.epoch = conf->epoch;
			if (m->ops->epoch)
				m->ops->epoch(m, conf->epoch);
		}
		if (m->ops->moved && conf->path[0] && !uuid_is_null(&conf->drive))
			m->ops->moved(m, conf->path);
		return m;
	}
	return NULL;
}

/*
 * Check if another volume has the extent: each of the two would give the extent back, and zero it,
 * by itself. Abandoned I/O may be all that is left of that volume. Return: the reason or NULL.
 */
static const char *mesh_member_taken(const uuid_t *uuid, const uuid_t *volume)
{
	struct mesh_member *m;

	lockdep_assert_held(&mesh_members_lock);
	list_for_each_entry(m, &mesh_members, node)
		if (uuid_equal(&m->conf.uuid, uuid) && !uuid_equal(&m->volume, volume))
			return atomic_read(&m->abandoned) ? MEMBER_LATE_IO :
			       "another volume has an extent of this layout";
	return NULL;
}

/* Return: true if a member of this UUID is being opened, or closed (then it has no references). */
static bool mesh_member_unsettled(void *arg)
{
	const uuid_t *uuid = arg;
	struct mesh_member *m;

	lockdep_assert_held(&mesh_members_lock);
	list_for_each_entry(m, &mesh_members, node)
		if (uuid_equal(&m->conf.uuid, uuid) && (m->opening || !refcount_read(&m->refs)))
			return true;
	return false;
}

/* Remove a member that could not be opened, or was closed, from the registry, and free it. */
static void mesh_member_drop(struct mesh_member *m)
{
	mutex_lock(&mesh_members_lock);
	list_del(&m->node);
	mutex_unlock(&mesh_members_lock);
	wake_up_all(&mesh_members_settled);
	module_put(m->ops->owner);
	free_percpu(m->stats);
	kfree(m);
	module_put(THIS_MODULE);
}

/* For the kinds: the device or target was tried for the first time, with this result. */
void mesh_member_opened(struct mesh_member *m, int err, const char *why)
{
	if (completion_done(&m->opened))
		return;
	m->open_err = err;
	m->open_why = why;
	complete_all(&m->opened);
}

/*
 * Wait until @until for a member that is being opened; a slower one comes up later. Return: 0;
 * -EINTR: the caller is killed; or the error of the open, which @extack explains.
 */
int mesh_member_await(struct mesh_member *m, unsigned long until, struct netlink_ext_ack *extack)
{
	long left = time_before(jiffies, until) ? until - jiffies : 1;

	left = wait_for_completion_killable_timeout(&m->opened, left);
	if (left <= 0)
		return left ? -EINTR : 0;
	if (m->open_err && m->open_why && extack)
		extack->_msg = m->open_why;
	return m->open_err;
}

/*
 * Open a member, or share an open one. @volume: the volume whose layouts share the member; any
 * other volume is refused. @mp: set on success. @extack: explains an error, may be NULL. Sleeps,
 * within MESH_SETTLE_MS. Return: 0; 1: the member is being opened, see mesh_member_await(); or a
 * negative errno.
 */
int mesh_member_get(const struct mesh_member_conf *conf, const uuid_t *volume,
		    struct mesh_member **mp, struct netlink_ext_ack *extack)
{
	unsigned long until = jiffies + msecs_to_jiffies(MESH_SETTLE_MS);
	uuid_t uuid = conf->uuid;
	struct mesh_member *m;
	const char *why;
	bool shared;
	int err;

	mutex_lock(&mesh_members_lock);
	err = mesh_wait_until(&mesh_members_settled, &mesh_members_lock, mesh_member_unsettled,
			      &uuid, until);
	why = err ? "an extent of this layout is being closed yet" :
		    mesh_member_taken(&conf->uuid, volume);
	if (why) {
		mutex_unlock(&mesh_members_lock);
		if (extack)
			extack->_msg = why;
		return err ?: -EBUSY;
	}
	m = mesh_member_share(conf);
	shared = m;
	if (!shared)
		m = mesh_member_add(conf, volume, extack);
	mutex_unlock(&mesh_members_lock);
	if (IS_ERR(m))
		return PTR_ERR(m);
	if (shared) {
		*mp = m;
		return !completion_done(&m->opened);
	}
	err = m->ops->open(m, extack);
	if (err && err != -EINPROGRESS) {
		mesh_member_drop(m);
		return err;
	}
	if (!err)
		mesh_member_opened(m, 0, NULL);
	mutex_lock(&mesh_members_lock);
	m->opening = false;
	mutex_unlock(&mesh_members_lock);
	wake_up_all(&mesh_members_settled);
	*mp = m;
	return err == -EINPROGRESS;
}

/* Sleeps if the reference is the last one. All I/O of the caller has ended. */
void mesh_member_put(struct mesh_member *m)
{
	if (!refcount_dec_and_mutex_lock(&m->refs, &mesh_members_lock))
		return;
	/*
	 * The member stays in the registry while it is closed: a target must not see an open of the
	 * same extent before the close. The lock is dropped, so that other members do not wait for
	 * the close.
	 */
	mutex_unlock(&mesh_members_lock);
	/* the work may be queued once too often, without I/O */
	cancel_work_sync(&m->abandoned_work);
	m->ops->close(m);
	mesh_member_drop(m);
}

/*
 * Check that no other extent UUID uses the device, and note the device for @m, which is being
 * opened. All our exclusive opens have one holder, so that a member can be reached by two paths for
 * a while; so two extents on one device are detected here. Return: 0; -EBUSY: another extent has
 * the device, @why says so; -EAGAIN: another member of the same extent has abandoned I/O at the
 * device.
 */
int mesh_member_bdev_taken(struct mesh_member *m, dev_t dev, const char **why)
{
	struct mesh_member *other;
	int err = 0;

	mutex_lock(&mesh_members_lock);
	list_for_each_entry(other, &mesh_members, node) {
		bool late = atomic_read(&other->abandoned);

		if (other == m || other->dev != dev || !refcount_read(&other->refs))
			continue;
		if (!uuid_equal(&other->conf.uuid, &m->conf.uuid)) {
			*why = late ? MEMBER_LATE_IO : "the device is another member already";
			err = -EBUSY;
		} else if (late && !err) {
			err = -EAGAIN;
		}
	}
	if (!err)
		m->dev = dev;
	mutex_unlock(&mesh_members_lock);
	return err;
}

/*
 * For dumps: of the members with abandoned I/O, the one after the first @skip. Return: the member
 * with a reference, or NULL.
 */
struct mesh_member *mesh_member_next_abandoned(unsigned int skip)
{
	struct mesh_member *m, *found = NULL;

	mutex_lock(&mesh_members_lock);
	list_for_each_entry(m, &mesh_members, node) {
		if (atomic_read(&m->abandoned) && !skip-- && refcount_inc_not_zero(&m->refs)) {
			found = m;
			break;
		}
	}
	mutex_unlock(&mesh_members_lock);
	return found;
}

void mesh_members_exit(void)
{
	WARN_ON_ONCE(!list_empty(&mesh_members));
}
