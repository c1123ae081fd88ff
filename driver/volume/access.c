// SPDX-License-Identifier: GPL-2.0-only
/*
 * The access number of a volume, and the numbers that its members and groups have seen. The rules
 * are in driver/access.h. Groups, layouts and handlers of messages call this file; what follows
 * from a number is done by two works, which volume.c names: fence.c and raise.c.
 *
 *   number in use, only raised: by a restart (raise.c), by a group that begins, by a retake
 */
#define pr_fmt(fmt) "meshblk: " fmt
#include "driver/block/request.h"
#include "driver/member/target.h"
#include "driver/uapi/number.h"
#include "driver/volume/volume.h"
#include "driver/work.h"

void mesh_access_init(struct mesh_volume *vol, const struct mesh_access_want *want)
{
	struct mesh_access *a = &vol->access;

	spin_lock_init(&a->lock);
	a->numbered = want->numbered;
	if (!a->numbered)
		return;
	a->number = want->attach;
	a->served = want->attach;
}

/* The access as of one moment. Any context. */
struct mesh_access_now mesh_access_get(struct mesh_volume *vol)
{
	struct mesh_access *a = &vol->access;
	struct mesh_access_now now;
	unsigned long flags;

	spin_lock_irqsave(&a->lock, flags);
	now = (struct mesh_access_now) {
		.numbered = a->numbered,
		.live = READ_ONCE(vol->live),
		.number = a->number,
		.served = a->served,
	};
	spin_unlock_irqrestore(&a->lock, flags);
	return now;
}

/*
 * Return: the number that this host served before its first retake, for an OPEN under a later
 * number; 0: no retake since the attach.
 */
static u64 access_served(const struct mesh_access_now *now)
{
	return mesh_access_is(now->number, now->served) ? 0 : now->served;
}

/* Make a member of the volume carry its number from its first OPEN on. */
void mesh_access_conf(struct mesh_volume *vol, struct mesh_member_conf *conf)
{
	struct mesh_access_now now = mesh_access_get(vol);

	if (!now.numbered)
		return;
	conf->numbered = true;
	conf->number = now.number;
	conf->served = access_served(&now);
	conf->epoch = 0;	/* an epoch guards no access */
}

/*
 * Make a member's extent note a number. Process context, sleeps. Return: as mesh_member_attach();
 * the number for which an extent is refused is judged.
 */
int mesh_access_note(struct mesh_volume *vol, struct mesh_member *m, u64 number)
{
	struct mesh_access_now now = mesh_access_get(vol);
	int err = mesh_member_attach(m, number, access_served(&now));

	if (err == -ESTALE && now.numbered) {
		mutex_lock(&m->lock);
		mesh_access_refused(vol, m);
		mutex_unlock(&m->lock);
	}
	return err;
}

static void access_fence(struct mesh_volume *vol, u64 number, const uuid_t *host)
{
	struct mesh_access *a = &vol->access;

	lockdep_assert_held(&a->lock);
	a->fence_number = number;
	a->fence_host = *host;
	WRITE_ONCE(vol->forced, true);	/* groups start nothing more */
	smp_wmb();	/* a reader of @fenced sees the number */
	WRITE_ONCE(vol->fenced, true);
}

/*
 * Judge a number of @host that a label, or with @roster a roster, has. A roster of an earlier
 * restart is what its group goes on from; a label's refuses an OPEN, so the restart is raised. Any
 * context. Return: true if the volume is fenced.
 */
bool mesh_access_seen(struct mesh_volume *vol, u64 number, const uuid_t *host, bool roster)
{
	bool self = uuid_equal(host, &mesh_host_uuid), fenced, raise;
	struct mesh_access_now now = mesh_access_get(vol);
	struct mesh_access *a = &vol->access;
	enum mesh_access_verdict verdict;
	unsigned long flags;

	if (!now.numbered || READ_ONCE(vol->fenced))
		return now.numbered;
	/* a number that is raised meanwhile changes no verdict for the worse */
	verdict = mesh_access_judge(&now, number, self, vol->conf.ro);
	spin_lock_irqsave(&a->lock, flags);
	fenced = verdict == MESH_ACCESS_FENCED && !vol->fenced;
	raise = verdict == MESH_ACCESS_RESTART && !roster;
	if (fenced)
		access_fence(vol, number, host);
	if (raise)
		a->highest = max(a->highest, number);
	spin_unlock_irqrestore(&a->lock, flags);
	if (fenced) {
		mesh_retry_wake(vol);
		queue_work(mesh_wq, &vol->fence_work);
	}
	if (raise)
		mod_delayed_work(mesh_wq, &vol->raise_work, 0);
	return verdict == MESH_ACCESS_FENCED;
}

/* An extent's OPEN may have been refused as stale: judge the number that the extent has noted. */
void mesh_access_refused(struct mesh_volume *vol, struct mesh_member *m)
{
	lockdep_assert_held(&m->lock);
	mesh_access_seen(vol, m->info.attach, &m->info.attacher, false);
}

/*
 * Raise the restart, if a label has a higher one of this host. Return: the number in use; 0: the
 * restarts are used up, and only a retake helps.
 */
u64 mesh_access_restart(struct mesh_volume *vol)
{
	struct mesh_access *a = &vol->access;
	u64 number;

	spin_lock_irq(&a->lock);
	number = a->number;
	if (a->highest > a->number) {
		number = mesh_access_raise(a->number, a->highest);
		a->number = number ?: a->number;
	}
	a->spent = !number;
	spin_unlock_irq(&a->lock);
	return number;
}

/* A group has begun under a number of this access: it is in use from now on. */
void mesh_access_raised(struct mesh_volume *vol, u64 number)
{
	struct mesh_access *a = &vol->access;

	spin_lock_irq(&a->lock);
	if (a->numbered && mesh_access_is(a->number, number))
		a->number = max(a->number, number);
	spin_unlock_irq(&a->lock);
}

/* Go on under a higher access. @number: mesh_access_step() has returned 1 under vol->lock. */
void mesh_access_retake(struct mesh_volume *vol, u64 number)
{
	struct mesh_access *a = &vol->access;

	lockdep_assert_held(&vol->lock);
	spin_lock_irq(&a->lock);
	a->before = a->number;
	a->number = number;
	a->highest = 0;
	a->spent = false;
	spin_unlock_irq(&a->lock);
	mesh_volume_changed(vol);
}

/* The last retake has reached all that is here. */
void mesh_access_settled(struct mesh_volume *vol)
{
	struct mesh_access *a = &vol->access;

	spin_lock_irq(&a->lock);
	a->before = 0;
	spin_unlock_irq(&a->lock);
}

/* Return: the number before a retake that is not complete, or 0. */
u64 mesh_access_before(struct mesh_volume *vol)
{
	struct mesh_access *a = &vol->access;
	u64 before;

	spin_lock_irq(&a->lock);
	before = a->before;
	spin_unlock_irq(&a->lock);
	return before;
}

/* Return: true if the restarts of the access in use are used up. */
bool mesh_access_spent(struct mesh_volume *vol)
{
	return READ_ONCE(vol->access.spent);
}

/* Get the number and the host that fenced the volume. Return: false if it is not fenced. */
bool mesh_access_fenced(struct mesh_volume *vol, u64 *number, uuid_t *host)
{
	if (!READ_ONCE(vol->fenced))
		return false;
	smp_rmb();	/* pairs with access_fence() */
	*number = vol->access.fence_number;
	*host = vol->access.fence_host;
	return true;
}
