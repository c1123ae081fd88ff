// SPDX-License-Identifier: GPL-2.0-only
/*
 * Completion queues of receives: one for each completion vector of a device, shared by
 * the channels that are on it.
 *
 *   vector 0   cq --- channel, channel, channel ...     full: the next channel makes
 *              cq --- channel                           another one
 *   vector 1   cq --- channel ...
 *
 * With many clients a queue of its own for each channel has one message in it when its
 * event comes; a shared one has a batch. It is never given more channels than it has
 * entries for, marker of the drain included: an overrun would end all of them. The
 * kernel's pool of shared queues (ib_cq_pool_get()) is of no use here, since its poller
 * does not report where a batch ends.
 *
 * Sends are not among them: each channel polls the queue of its own sends, under its own
 * lock (push.c).
 *
 * Leaving one: the queue pair is drained, so that its last completion has been handled;
 * tgt_cq_flush() waits for the batch which that was in; the queue pair is destroyed; then
 * tgt_cq_put() gives its entries to others.
 */
#define pr_fmt(fmt) "meshtgt: " fmt
#include <linux/module.h>
#include <linux/slab.h>

#include "rdda/common/fault.h"
#include "rdda/common/verbs.h"
#include "rdda/target/channel.h"
#include "rdda/target/cq.h"
#include "rdda/target/tgt.h"

/* On mlx5, 64 bytes each: 128 KiB a vector, and 40 channels with default settings. */
static unsigned int cq_entries = 2048;
module_param(cq_entries, uint, 0644);
MODULE_PARM_DESC(cq_entries, "entries of a completion queue that channels share (2048)");

static DEFINE_MUTEX(cqs_lock);
static LIST_HEAD(cqs);			/* cqs_lock */

/* The completion queue has something. */
static void cq_event(struct ib_cq *cq, void *ctx)
{
	struct tgt_cq *q = ctx;

	queue_work(tgt_io_wq, &q->work);
}

/* NICs report these from their interrupt, where no lock of ours may be taken. */
static void cq_failed(struct ib_event *ev, void *ctx)
{
	struct tgt_cq *q = ctx;

	pr_warn_ratelimited("completion queue error %d\n", ev->event);
	queue_work(tgt_wq, &q->fail);
}

static void cq_fail_work(struct work_struct *work)
{
	struct tgt_cq *q = container_of(work, struct tgt_cq, fail);
	struct tgt_channel *ch;

	spin_lock(&q->lock);
	list_for_each_entry(ch, &q->channels, on_cq)
		tgt_channel_kill(ch, -EIO);
	spin_unlock(&q->lock);
}

static struct tgt_cq *cq_create(struct ib_device *dev, unsigned int vector, unsigned int entries)
{
	unsigned int most = dev->attrs.max_cqe;
	struct ib_cq_init_attr attr = {
		.cqe = min(max(READ_ONCE(cq_entries), entries), most),
		.comp_vector = vector,
	};
	struct tgt_cq *q;

	if (entries > most)
		return ERR_PTR(-EOPNOTSUPP);
	q = kzalloc(sizeof(*q), GFP_NOIO);
	if (!q)
		return ERR_PTR(-ENOMEM);
	q->vector = vector;
	spin_lock_init(&q->lock);
	INIT_LIST_HEAD(&q->channels);
	INIT_WORK(&q->work, tgt_queue_work);
	INIT_WORK(&q->fail, cq_fail_work);
	q->cq = ib_create_cq(dev, cq_event, cq_failed, q, &attr);
	if (IS_ERR(q->cq)) {
		int err = PTR_ERR(q->cq);

		kfree(q);
		return ERR_PTR(err);
	}
	list_add_tail(&q->node, &cqs);
	queue_work(tgt_io_wq, &q->work);	/* requests its first event */
	return q;
}

/*
 * The event of a queue whose CPU was delayed may queue the work once more behind its
 * cancel: that run sees @drained and leaves the queue alone. After the queue is destroyed
 * there are no events.
 */
static void cq_destroy(struct tgt_cq *q)
{
	list_del(&q->node);
	WRITE_ONCE(q->drained, true);
	cancel_work_sync(&q->work);
	ib_destroy_cq(q->cq);
	cancel_work_sync(&q->work);
	cancel_work_sync(&q->fail);
	kfree(q);
}

/* One with room, on that vector. The NIC may have made it larger than requested. */
static struct tgt_cq *cq_find(struct ib_device *dev, unsigned int vector, unsigned int entries)
{
	struct tgt_cq *q;

	lockdep_assert_held(&cqs_lock);
	list_for_each_entry(q, &cqs, node)
		if (q->cq->device == dev && q->vector == vector &&
		    q->used + entries <= q->cq->cqe)
			return q;
	return NULL;
}

/*
 * A channel's place on a queue: sets @ch->cq. @entries: receives that it may have posted, and the
 * marker of the drain. Context: process; sleeps, noio. Return: 0, -ENOMEM, or -EOPNOTSUPP when the
 * device has no queue that large.
 */
int tgt_cq_get(struct tgt_channel *ch, unsigned int entries)
{
	struct ib_device *dev = ch->cm->device;
	unsigned int vector = rdda_vector(dev);
	struct tgt_cq *q;

	mutex_lock(&cqs_lock);
	q = cq_find(dev, vector, entries) ?: cq_create(dev, vector, entries);
	if (!IS_ERR(q)) {
		q->used += entries;
		spin_lock(&q->lock);
		list_add_tail(&ch->on_cq, &q->channels);
		spin_unlock(&q->lock);
		ch->cq = q;
	}
	mutex_unlock(&cqs_lock);
	return PTR_ERR_OR_ZERO(q);
}

/*
 * Wait for the poller to be done with a channel. @ch: its queue pair is drained. Context: process,
 * not the poller; sleeps as long as the others' batches take that the poller has begun.
 */
void tgt_cq_flush(struct tgt_channel *ch)
{
	if (ch->cq)
		flush_work(&ch->cq->work);
}

/*
 * Give a channel's place back. @ch: its queue pair is destroyed; may be without a place. @entries:
 * as for tgt_cq_get(). Context: process; sleeps.
 */
void tgt_cq_put(struct tgt_channel *ch, unsigned int entries)
{
	struct tgt_cq *q = ch->cq;

	if (!q)
		return;
	mutex_lock(&cqs_lock);
	ch->cq = NULL;
	spin_lock(&q->lock);
	list_del(&ch->on_cq);
	spin_unlock(&q->lock);
	q->used -= entries;
	if (!q->used)
		cq_destroy(q);
	mutex_unlock(&cqs_lock);
}

/* How many there are, on all devices. Context: process; sleeps. */
unsigned int tgt_cq_count(void)
{
	unsigned int n;

	mutex_lock(&cqs_lock);
	n = list_count_nodes(&cqs);
	mutex_unlock(&cqs_lock);
	return n;
}

/* Whether the poller has to do nothing, for a test. One that is torn down wakes it up. */
bool tgt_cq_deaf(struct tgt_cq *q)
{
	struct tgt_channel *ch;
	bool deaf, dead = false;

	if (!rdda_fault(RDDA_FAULT_DEAF) && !rdda_fault(RDDA_FAULT_DEAF_1))
		return false;
	deaf = rdda_fault(RDDA_FAULT_DEAF);
	spin_lock(&q->lock);
	list_for_each_entry(ch, &q->channels, on_cq) {
		deaf |= ch->index == 1;
		dead |= READ_ONCE(ch->dead);
	}
	spin_unlock(&q->lock);
	return deaf && !dead;
}
