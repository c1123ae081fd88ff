// SPDX-License-Identifier: GPL-2.0-only
/*
 * Late WRITEs and READs out of order for rdma_rxe; rxe_chaos.h says what they do and
 * what never. One lock and one list for all QPs: this is for finding faults,
 * not for speed, and a copy is made under the lock so that a flusher
 * knows that none of its packets is being placed when it returns.
 */
#include <linux/delay.h>
#include <linux/hrtimer.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/random.h>
#include <linux/slab.h>

#include "rxe.h"
#include "rxe_loc.h"
#include "rxe_chaos.h"

enum {
	CHAOS_LATE_WRITES	= 1,	/* WRITEs late and in any order */
	CHAOS_READ_OLD		= 2,	/* a READ does not wait for them */
	CHAOS_READ_SWAP		= 4,	/* second of two READs sampled first */
	CHAOS_WRITE_OVERTAKES	= 8,	/* a WRITE placed before an earlier READ */
	CHAOS_LOSS		= 16,	/* packets of connections get lost */
	CHAOS_READ_CUT		= 32,	/* a READ ends in the midst, and its connection */
};

static int chaos;
module_param(chaos, int, 0644);
MODULE_PARM_DESC(chaos, "1 late WRITEs, 2 READs pass them, 4 READs swap, 8 WRITEs pass READs, 16 loss, 32 READs cut");
static int chaos_pct = 30;
module_param(chaos_pct, int, 0644);
MODULE_PARM_DESC(chaos_pct, "percentage of packets treated so");
static int chaos_us = 300;
module_param(chaos_us, int, 0644);
MODULE_PARM_DESC(chaos_us, "a late WRITE is placed up to twice this much later");
static int chaos_hold_ms;
module_param(chaos_hold_ms, int, 0644);
MODULE_PARM_DESC(chaos_hold_ms, "a late WRITE takes so long while it is placed, as on a CPU that is stopped");

/* What was done, for tests to assert; under chaos_lock. */
static unsigned long chaos_late;
module_param(chaos_late, ulong, 0444);
MODULE_PARM_DESC(chaos_late, "WRITE packets placed late");
static unsigned long chaos_swapped;
module_param(chaos_swapped, ulong, 0444);
MODULE_PARM_DESC(chaos_swapped, "READs sampled before an earlier one");
static unsigned long chaos_overtook;
module_param(chaos_overtook, ulong, 0444);
MODULE_PARM_DESC(chaos_overtook, "WRITE packets placed before an earlier READ");
static unsigned long chaos_lost;
module_param(chaos_lost, ulong, 0444);
MODULE_PARM_DESC(chaos_lost, "packets dropped");
static unsigned long chaos_cut;
module_param(chaos_cut, ulong, 0444);
MODULE_PARM_DESC(chaos_cut, "READs that ended without all of their data");

#define CHAOS_SAMPLE_MAX	(132 * 1024)	/* a command and a page */
#define CHAOS_PARTS		500	/* each of them is cut: a large READ has 250, and is read again */

/* A WRITE packet that is acknowledged and not yet placed. */
struct chaos_write {
	struct list_head entry;		/* chaos_writes, under chaos_lock */
	struct rxe_qp *qp;
	struct rxe_mr *mr;
	u64 iova;
	ktime_t due;
	int len;
	u8 data[];
};

/* The data of a READ that is not yet served. */
struct chaos_sample {
	struct list_head entry;		/* chaos_samples, under chaos_lock */
	struct rxe_qp *qp;
	u32 psn;			/* of the request */
	u64 iova;
	int len;
	u8 data[];
};

static DEFINE_SPINLOCK(chaos_lock);
static LIST_HEAD(chaos_writes);
static LIST_HEAD(chaos_samples);
static struct hrtimer chaos_timer;
static bool chaos_timer_ready;		/* under chaos_lock */

static u32 chaos_below(u32 ceiling)
{
	return get_random_u32() % ceiling;
}

static bool chaos_roll(int bit)
{
	return (READ_ONCE(chaos) & bit) &&
	       chaos_below(100) < READ_ONCE(chaos_pct);
}

/*
 * Not parts of a long READ's response: rdma_rxe requests the rest from where it
 * was lost, takes the answer for an error, and warns: rxe_chaos_cut().
 */
bool rxe_chaos_lose(struct rxe_pkt_info *pkt)
{
	unsigned long flags;

	if (pkt->opcode >= IB_OPCODE_RC_RDMA_READ_RESPONSE_FIRST &&
	    pkt->opcode <= IB_OPCODE_RC_RDMA_READ_RESPONSE_LAST)
		return false;
	if ((pkt->opcode & 0xe0) != IB_OPCODE_RC || !chaos_roll(CHAOS_LOSS))
		return false;
	spin_lock_irqsave(&chaos_lock, flags);
	chaos_lost++;
	spin_unlock_irqrestore(&chaos_lock, flags);
	return true;
}

/*
 * Whether the requester takes this part of a READ's response for an error. rdma_rxe does so when
 * an acknowledgment of something that was sent twice comes between the parts, as after a stall:
 * it completes the READ as one that worked, and breaks the connection then.
 */
bool rxe_chaos_cut(struct rxe_pkt_info *pkt)
{
	static unsigned long parts;	/* chaos_lock */
	unsigned long flags;
	bool cut;

	if (pkt->opcode != IB_OPCODE_RC_RDMA_READ_RESPONSE_MIDDLE || !chaos_roll(CHAOS_READ_CUT))
		return false;
	spin_lock_irqsave(&chaos_lock, flags);
	cut = !(++parts % CHAOS_PARTS);
	chaos_cut += cut;
	spin_unlock_irqrestore(&chaos_lock, flags);
	return cut;
}

static void chaos_place(struct chaos_write *w)
{
	lockdep_assert_held(&chaos_lock);
	list_del(&w->entry);
	mdelay(READ_ONCE(chaos_hold_ms));
	rxe_mr_copy(w->mr, w->iova, w->data, w->len, RXE_TO_MR_OBJ);
	kfree(w);
}

static enum hrtimer_restart chaos_tick(struct hrtimer *timer)
{
	struct chaos_write *w, *next;
	ktime_t now = ktime_get();
	ktime_t first = KTIME_MAX;
	enum hrtimer_restart again = HRTIMER_NORESTART;
	unsigned long flags;

	spin_lock_irqsave(&chaos_lock, flags);
	list_for_each_entry_safe(w, next, &chaos_writes, entry) {
		if (ktime_before(now, w->due))
			first = min(first, w->due);
		else
			chaos_place(w);
	}
	if (first != KTIME_MAX) {
		hrtimer_set_expires(timer, first);
		again = HRTIMER_RESTART;
	}
	spin_unlock_irqrestore(&chaos_lock, flags);
	return again;
}

bool rxe_chaos_stash(struct rxe_qp *qp, struct rxe_pkt_info *pkt,
		     struct rxe_mr *mr, u64 iova, int len)
{
	struct chaos_write *w;
	unsigned long flags;
	u64 late_ns;

	if (!mr || len <= 0 || (pkt->mask & RXE_COMP_MASK) ||
	    !chaos_roll(CHAOS_LATE_WRITES) || mr_check_range(mr, iova, len))
		return false;
	w = kmalloc(struct_size(w, data, len), GFP_ATOMIC | __GFP_NOWARN);
	if (!w)
		return false;
	late_ns = (u64)chaos_below(2 * max(READ_ONCE(chaos_us), 1)) * NSEC_PER_USEC;
	w->qp = qp;
	w->mr = mr;
	w->iova = iova;
	w->len = len;
	w->due = ktime_add_ns(ktime_get(), late_ns);
	memcpy(w->data, payload_addr(pkt), len);

	spin_lock_irqsave(&chaos_lock, flags);
	if (!chaos_timer_ready) {
		hrtimer_init(&chaos_timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_SOFT);
		chaos_timer.function = chaos_tick;
		chaos_timer_ready = true;
	}
	/* either end: a flush places them in neither order */
	if (chaos_below(2))
		list_add(&w->entry, &chaos_writes);
	else
		list_add_tail(&w->entry, &chaos_writes);
	chaos_late++;
	if (!hrtimer_is_queued(&chaos_timer) ||
	    ktime_before(w->due, hrtimer_get_expires(&chaos_timer)))
		hrtimer_start(&chaos_timer, w->due, HRTIMER_MODE_ABS_SOFT);
	spin_unlock_irqrestore(&chaos_lock, flags);
	return true;
}

static void chaos_flush(struct rxe_qp *qp, struct rxe_mr *mr)
{
	struct chaos_write *w, *next;
	unsigned long flags;

	spin_lock_irqsave(&chaos_lock, flags);
	list_for_each_entry_safe(w, next, &chaos_writes, entry)
		if (w->qp == qp || w->mr == mr)
			chaos_place(w);
	spin_unlock_irqrestore(&chaos_lock, flags);
}

/*
 * Always with the lock: the last one may be off the list and not yet placed, by a
 * CPU that an emulator has stopped for a long time.
 */
void rxe_chaos_flush_qp(struct rxe_qp *qp)
{
	chaos_flush(qp, NULL);
}

void rxe_chaos_flush_mr(struct rxe_mr *mr)
{
	chaos_flush(NULL, mr);
}

void rxe_chaos_forget_qp(struct rxe_qp *qp)
{
	struct chaos_sample *s, *next;
	unsigned long flags;

	chaos_flush(qp, NULL);
	spin_lock_irqsave(&chaos_lock, flags);
	list_for_each_entry_safe(s, next, &chaos_samples, entry)
		if (s->qp == qp) {
			list_del(&s->entry);
			kfree(s);
		}
	spin_unlock_irqrestore(&chaos_lock, flags);
}

/* Take the data of a READ that stands behind another one. */
static void chaos_sample_read(struct rxe_qp *qp, struct rxe_pkt_info *pkt)
{
	u64 iova = reth_va(pkt);
	int len = reth_len(pkt);
	struct chaos_sample *s;
	struct rxe_mr *mr;
	unsigned long flags;

	if (len <= 0 || len > CHAOS_SAMPLE_MAX || rkey_is_mw(reth_rkey(pkt)))
		return;
	mr = lookup_mr(qp->pd, IB_ACCESS_REMOTE_READ, reth_rkey(pkt), RXE_LOOKUP_REMOTE);
	if (!mr)
		return;
	s = kmalloc(struct_size(s, data, len), GFP_ATOMIC | __GFP_NOWARN);
	if (!s)
		goto out;
	s->qp = qp;
	s->psn = pkt->psn;
	s->iova = iova;
	s->len = len;
	if (mr_check_range(mr, iova, len) ||
	    rxe_mr_copy(mr, iova, s->data, len, RXE_FROM_MR_OBJ)) {
		kfree(s);
		goto out;
	}
	spin_lock_irqsave(&chaos_lock, flags);
	list_add(&s->entry, &chaos_samples);
	chaos_swapped++;
	spin_unlock_irqrestore(&chaos_lock, flags);
out:
	rxe_put(mr);
}

/* Place a WRITE that stands behind a READ. It is placed once more in its turn:
 * until its own completion its memory is undefined anyway.
 */
static void chaos_early_write(struct rxe_qp *qp, struct rxe_pkt_info *pkt)
{
	int len = payload_size(pkt);
	struct rxe_mr *mr;
	unsigned long flags;

	if (len <= 0 || len > reth_len(pkt) || rkey_is_mw(reth_rkey(pkt)))
		return;
	mr = lookup_mr(qp->pd, IB_ACCESS_REMOTE_WRITE, reth_rkey(pkt), RXE_LOOKUP_REMOTE);
	if (!mr)
		return;
	if (!mr_check_range(mr, reth_va(pkt), reth_len(pkt)) &&
	    !rxe_mr_copy(mr, reth_va(pkt), payload_addr(pkt), len, RXE_TO_MR_OBJ)) {
		spin_lock_irqsave(&chaos_lock, flags);
		chaos_overtook++;
		spin_unlock_irqrestore(&chaos_lock, flags);
	}
	rxe_put(mr);
}

void rxe_chaos_before_read(struct rxe_qp *qp, struct rxe_pkt_info *pkt)
{
	struct rxe_pkt_info *behind = NULL;
	struct sk_buff *skb;
	unsigned long flags;
	u32 packets;

	if (!(READ_ONCE(chaos) & CHAOS_READ_OLD))
		rxe_chaos_flush_qp(qp);
	if (!(READ_ONCE(chaos) & (CHAOS_READ_SWAP | CHAOS_WRITE_OVERTAKES)))
		return;

	/* Only this context takes packets off; others add to the end. */
	spin_lock_irqsave(&qp->req_pkts.lock, flags);
	skb = skb_peek(&qp->req_pkts);
	if (skb)
		skb = skb_peek_next(skb, &qp->req_pkts);
	if (skb)
		behind = SKB_TO_PKT(skb);
	spin_unlock_irqrestore(&qp->req_pkts.lock, flags);
	if (!behind)
		return;

	/* It must be what comes next on the wire, not a repetition. */
	packets = max_t(u32, DIV_ROUND_UP(reth_len(pkt), qp->mtu), 1);
	if (behind->psn != ((pkt->psn + packets) & BTH_PSN_MASK))
		return;
	if (behind->opcode == IB_OPCODE_RC_RDMA_READ_REQUEST) {
		if ((qp->attr.qp_access_flags & IB_ACCESS_REMOTE_READ) &&
		    chaos_roll(CHAOS_READ_SWAP))
			chaos_sample_read(qp, behind);
	} else if (behind->opcode == IB_OPCODE_RC_RDMA_WRITE_ONLY ||
		   behind->opcode == IB_OPCODE_RC_RDMA_WRITE_FIRST) {
		if ((qp->attr.qp_access_flags & IB_ACCESS_REMOTE_WRITE) &&
		    chaos_roll(CHAOS_WRITE_OVERTAKES))
			chaos_early_write(qp, behind);
	}
}

int rxe_chaos_read_copy(struct rxe_qp *qp, struct resp_res *res,
			struct rxe_mr *mr, void *addr, int len)
{
	struct chaos_sample *s, *found = NULL;
	unsigned long flags;
	u64 at = 0;

	spin_lock_irqsave(&chaos_lock, flags);
	list_for_each_entry(s, &chaos_samples, entry) {
		if (s->qp == qp && s->psn == res->first_psn) {
			found = s;
			break;
		}
	}
	if (found) {
		at = res->read.va - found->iova;
		if (res->replay || at + len > found->len) {
			/* requested again: memory as it is now will do */
			list_del(&found->entry);
			kfree(found);
			found = NULL;
		}
	}
	if (found) {
		memcpy(addr, found->data + at, len);
		if (at + len == found->len) {
			list_del(&found->entry);
			kfree(found);
		}
	}
	spin_unlock_irqrestore(&chaos_lock, flags);
	if (found)
		return 0;
	return rxe_mr_copy(mr, res->read.va, addr, len, RXE_FROM_MR_OBJ);
}

void rxe_chaos_exit(void)
{
	if (chaos_timer_ready)
		hrtimer_cancel(&chaos_timer);
}
