// SPDX-License-Identifier: GPL-2.0-only
/* States of members (tables: states.c), and the layouts and groups that are notified of them. */
#define pr_fmt(fmt) "meshblk: " fmt
#include <linux/module.h>

#include "driver/member/member.h"
#include "driver/trace.h"

/* Copy the path at which the member is open; "" if that is unknown. */
void mesh_member_path(struct mesh_member *m, char path[MESH_PATH_MAX])
{
	spin_lock(&m->path_lock);
	strscpy(path, m->conf.path, MESH_PATH_MAX);
	spin_unlock(&m->path_lock);
}

/*
 * Link a layout to the member. If a layout gave the member back and has gone since, the member is
 * opened again. Sleeps.
 */
void mesh_member_link(struct mesh_member *m, struct mesh_member_link *link)
{
	mutex_lock(&m->lock);
	list_add_tail(&link->node, &m->links);
	if (m->ops->retry && !m->suspended)
		m->ops->retry(m, false);
	mutex_unlock(&m->lock);
}

void mesh_member_unlink(struct mesh_member *m, struct mesh_member_link *link)
{
	mutex_lock(&m->lock);
	list_del(&link->node);
	mutex_unlock(&m->lock);
}

static void mesh_member_step(struct mesh_member *m, enum mesh_member_state state, int err)
{
	struct mesh_member_link *link;

	lockdep_assert_held(&m->lock);
	trace_mesh_member_state(m, state, err);
	WRITE_ONCE(m->err, err);
	/* pairs with readers' smp_load_acquire(): a reader that sees UP sees the info */
	smp_store_release(&m->state, state);
	list_for_each_entry(link, &m->links, node)
		link->changed(link, state, err);
}

static bool mesh_member_unfit(struct mesh_member *m)
{
	struct mesh_member_link *link;

	lockdep_assert_held(&m->lock);
	list_for_each_entry(link, &m->links, node)
		if (link->unfit(link))
			return true;
	return false;
}

static void mesh_member_go(struct mesh_member *m, enum mesh_member_state state, int err)
{
	if (state == MESH_MEMBER_UP && mesh_member_unfit(m)) {
		state = MESH_MEMBER_REFUSED;
		err = -EINVAL;
	} else if (state == MESH_MEMBER_UP && atomic_read(&m->abandoned)) {
		state = MESH_MEMBER_DOWN;
		err = -EBUSY;
	}
	if (m->state == state &&
	    mesh_member_errno(state, m->err) == mesh_member_errno(state, err)) {
		WRITE_ONCE(m->err, err);
	} else {
		if (!mesh_member_may(m->state, state))
			mesh_member_step(m, MESH_MEMBER_DOWN, -ENOLINK);
		mesh_member_step(m, state, err);
	}
}

/*
 * The one setter of a member's state, for the kinds. @err: why the member is not UP, 0 for UP.
 * Process context, sleeps. A change that the table does not allow goes by DOWN. Instead of UP, a
 * member that cannot serve one of its layouts is REFUSED with -EINVAL, and a member with abandoned
 * I/O is DOWN with -EBUSY. A REFUSED member that is tried again stays REFUSED until the answer.
 */
void mesh_member_set_state(struct mesh_member *m, enum mesh_member_state state, int err)
{
	mutex_lock(&m->lock);
	m->there = state == MESH_MEMBER_UP;
	if (state != MESH_MEMBER_DOWN)
		WRITE_ONCE(m->retrying, false);
	if (state != MESH_MEMBER_DOWN || m->state != MESH_MEMBER_REFUSED)
		mesh_member_go(m, state, err);
	mutex_unlock(&m->lock);
}
EXPORT_SYMBOL_GPL(mesh_member_set_state);

/*
 * Check again whether the member can serve: another layout came into use, or I/O was abandoned, or
 * such I/O has ended. Sleeps.
 */
void mesh_member_refit(struct mesh_member *m)
{
	mutex_lock(&m->lock);
	if (m->there)
		mesh_member_go(m, MESH_MEMBER_UP, 0);
	mutex_unlock(&m->lock);
}

/*
 * Note that a layout gives the member back for a while. @m: the caller releases the member after
 * this call. No disk comes up with the member before mesh_member_resume().
 */
void mesh_member_suspend(struct mesh_member *m)
{
	mutex_lock(&m->lock);
	WRITE_ONCE(m->suspended, m->suspended + 1);
	mutex_unlock(&m->lock);
}

/*
 * The layout that gave the member back needs it again, or goes. @m: released. The member is opened
 * if any layout has it, and no other layout has given it back. Sleeps.
 */
void mesh_member_resume(struct mesh_member *m)
{
	mutex_lock(&m->lock);
	WRITE_ONCE(m->suspended, m->suspended - 1);
	if (!m->suspended && !list_empty(&m->links))
		m->ops->retry(m, false);
	mutex_unlock(&m->lock);
}

/*
 * Open a refused member again. @m: of a kind that can give members back. The member stays REFUSED,
 * with @retrying set, until the answer. Sleeps.
 */
void mesh_member_retry(struct mesh_member *m)
{
	mutex_lock(&m->lock);
	/* No answer follows for an unfit member until it has changed. */
	WRITE_ONCE(m->retrying, m->state == MESH_MEMBER_REFUSED && !m->there);
	m->ops->retry(m, true);
	mutex_unlock(&m->lock);
}
