// SPDX-License-Identifier: GPL-2.0-only
/* Waits of a message's handler: until.h. */
#include <linux/kref.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include "driver/until.h"
#include "driver/work.h"

static unsigned long until_left(unsigned long until)
{
	return time_before(jiffies, until) ? until - jiffies : 0;
}

/*
 * Wait while @busy(@arg) is true. @lock: held by the caller, also when @busy is called and on
 * return; dropped while this sleeps. Return: 0; -EBUSY: still busy at @until; -EINTR: the caller is
 * killed.
 */
int mesh_wait_until(struct wait_queue_head *wq, struct mutex *lock, bool (*busy)(void *arg),
		    void *arg, unsigned long until)
{
	DEFINE_WAIT_FUNC(wait, woken_wake_function);
	int err = 0;

	add_wait_queue(wq, &wait);
	while (!err && busy(arg)) {
		mutex_unlock(lock);
		if (fatal_signal_pending(current))
			err = -EINTR;
		else if (!until_left(until))
			err = -EBUSY;
		else
			wait_woken(&wait, TASK_KILLABLE, until_left(until));
		mutex_lock(lock);
	}
	remove_wait_queue(wq, &wait);
	return err;
}

/*
 * Take a lock that a work may hold for as long as members do not answer. Return: 0, -EBUSY or
 * -EINTR.
 */
int mesh_lock_until(struct mutex *lock, unsigned long until)
{
	while (!mutex_trylock(lock)) {
		if (fatal_signal_pending(current))
			return -EINTR;
		if (!until_left(until))
			return -EBUSY;
		schedule_timeout_killable(1);
	}
	return 0;
}

struct until_run {
	struct work_struct	work;
	struct completion	done;
	struct kref		ref;	/* one of the work, one of the waiting caller */
	void			(*fn)(void *arg);
	void			*arg;
};

static void until_release(struct kref *ref)
{
	kfree(container_of(ref, struct until_run, ref));
}

static void until_work(struct work_struct *work)
{
	struct until_run *r = container_of(work, struct until_run, work);

	r->fn(r->arg);
	complete(&r->done);
	kref_put(&r->ref, until_release);
}

/*
 * Run @fn in a work and wait for its end, at most until @until or until the caller is killed. After
 * that @fn goes on in the background.
 */
void mesh_run_until(void (*fn)(void *arg), void *arg, unsigned long until)
{
	struct until_run *r = kzalloc(sizeof(*r), GFP_KERNEL | __GFP_NOFAIL);

	INIT_WORK(&r->work, until_work);
	init_completion(&r->done);
	kref_init(&r->ref);
	kref_get(&r->ref);
	r->fn = fn;
	r->arg = arg;
	queue_work(mesh_wq, &r->work);
	wait_for_completion_killable_timeout(&r->done, max(until_left(until), 1UL));
	kref_put(&r->ref, until_release);
}
