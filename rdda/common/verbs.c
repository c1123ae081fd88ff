// SPDX-License-Identifier: GPL-2.0-only
/* Timeouts, registrations and device limits; see verbs.h. */
#define pr_fmt(fmt) "rdda: " fmt
#include <linux/module.h>
#include <linux/moduleparam.h>

#include "rdda/common/verbs.h"
#include "rdda/wire.h"

static unsigned int sge_limit;
module_param(sge_limit, uint, 0644);
MODULE_PARM_DESC(sge_limit, "most scatter entries of a work request, 0: what the NIC has (for tests)");

/*
 * 4.096 us << 16 = 268 ms; with RDDA_RETRIES about two seconds to an error, which ends the session.
 * Longer than a fabric needs to find another path, shorter than the keep-alive's dead time.
 */
static unsigned int ack_timeout = 16;
module_param(ack_timeout, uint, 0644);
MODULE_PARM_DESC(ack_timeout, "a queue pair sends again after 4.096 us << this, 8 to 20 (16)");

/* CMA_CM_RESPONSE_TIMEOUT of the RDMA core, 4.096 us << 20, rounded as the core does. */
#define CM_RESPONSE_MS	4096

static u32 sge_clamp(u32 sge)
{
	u32 limit = READ_ONCE(sge_limit);

	return limit ? min(sge, limit) : sge;
}

/*
 * Check that RDDA can run on this port, and find the device's limits. @lim: filled in on success.
 * RDDA needs reliable connections with immediates and fast registration: iWARP has no immediates
 * and would need a remotely writable registration for each READ. Return: 0, or -EOPNOTSUPP after a
 * line in the log.
 */
int rdda_device_limits(struct ib_device *dev, u32 port, struct rdda_limits *lim)
{
	const struct ib_device_attr *a = &dev->attrs;

	if (rdma_protocol_iwarp(dev, port)) {
		pr_err_ratelimited("%s is iWARP: RDDA runs on InfiniBand and RoCE, use NVMe over Fabrics (bdev members) there\n",
				   dev_name(&dev->dev));
		return -EOPNOTSUPP;
	}
	if (!(a->device_cap_flags & IB_DEVICE_MEM_MGT_EXTENSIONS)) {
		pr_err_ratelimited("%s cannot register memory fast (no memory management extensions)\n",
				   dev_name(&dev->dev));
		return -EOPNOTSUPP;
	}
	lim->send_sge = sge_clamp(max(a->max_send_sge, 1));
	lim->read_sge = min_t(u32, lim->send_sge, max(a->max_sge_rd, 1));
	lim->rd_out = clamp(a->max_qp_init_rd_atom, 1, RDDA_RD_ATOMIC_MAX);
	lim->rd_in = clamp(a->max_qp_rd_atom, 1, RDDA_RD_ATOMIC_MAX);
	lim->max_wr = a->max_qp_wr - RDDA_DRAIN_WR;
	lim->mr_pages = a->max_fast_reg_page_list_len;
	/*
	 * if Soft-RoCE takes the answer to a READ for an error, the READ completes without error,
	 * and the queue pair breaks only then
	 */
	lim->prove_reads = dev->ops.driver_id == RDMA_DRIVER_RXE;
	return 0;
}

static unsigned int ack_timeout_now(void)
{
	return clamp(READ_ONCE(ack_timeout), 8U, 20U);
}

/*
 * Set RDDA's own timeouts for a connection. @id: before its route is resolved (client), or before
 * rdma_accept(). With the defaults a dead peer is noticed after 17 s, and an RNR waits 655 ms.
 */
int rdda_cm_tune(struct rdma_cm_id *id)
{
	int ret;

	ret = rdma_set_ack_timeout(id, ack_timeout_now());
	if (!ret)
		ret = rdma_set_min_rnr_timer(id, IB_RNR_TIMER_000_12);
	return ret;
}

/*
 * How long a connect request may take, in ms.
 *
 * The core sends a request, or the answer, again if nothing has come for the core's response time
 * and twice the life of a packet. RDDA cannot set the response time. The packet's life is, on RoCE,
 * half of our ACK timeout, rounded as 1 << (timeout - 8) ms:
 *
 *   4096 ms + 256 ms = 4.4 s with an ack_timeout of 16, 8.2 s with 20
 *
 * The result is twice that: one message may be lost, and the next one has as long as the first. A
 * shorter step would end before anything was sent again.
 */
unsigned int rdda_cm_connect_ms(void)
{
	return 2 * (CM_RESPONSE_MS + (1U << (ack_timeout_now() - 8)));
}

/*
 * True if messages of the connection manager may be sent. @id: connection with a device. While the
 * port is down they are held back: they would be lost, and Soft-RoCE's queue pair for such messages
 * never works again after one that it could not send.
 */
bool rdda_port_active(struct rdma_cm_id *id)
{
	struct ib_port_attr attr;

	return !ib_query_port(id->device, id->port_num, &attr) && attr.state == IB_PORT_ACTIVE;
}

/*
 * Choose a completion vector for one more CQ, in turn over all connections. If each session's first
 * channel used vector 0, that one would do all the work of a target with many clients.
 */
unsigned int rdda_vector(struct ib_device *dev)
{
	static atomic_t next = ATOMIC_INIT(-1);

	return (unsigned int)atomic_inc_return(&next) % dev->num_comp_vectors;
}

struct reg_wait {
	struct ib_cqe cqe;
	struct completion done;
	enum ib_wc_status status;
};

static void reg_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct reg_wait *w = container_of(wc->wr_cqe, struct reg_wait, cqe);

	w->status = wc->status;
	complete(&w->done);
}

/*
 * Register memory for the other side, zero-based. @qp: connected queue pair; takes one work request
 * of its send queue, kept free by the caller. @sg: mapped, each entry page aligned. @nents: its
 * mapped entries. @bytes: their sum. @access: IB_ACCESS_*, no more than the peer needs. Sleeps
 * until the registration is in force. The page size is RDDA_PAGE, whatever PAGE_SIZE is. Return:
 * the MR, for ib_dereg_mr(), or an ERR_PTR().
 */
struct ib_mr *rdda_mr_register(struct ib_qp *qp, struct scatterlist *sg, int nents,
			       u32 bytes, int access)
{
	struct reg_wait w = { .cqe.done = reg_done };
	struct ib_reg_wr wr = {};
	struct ib_mr *mr;
	int ret;

	mr = ib_alloc_mr(qp->pd, IB_MR_TYPE_MEM_REG, DIV_ROUND_UP(bytes, RDDA_PAGE));
	if (IS_ERR(mr))
		return mr;
	ret = ib_map_mr_sg(mr, sg, nents, NULL, RDDA_PAGE);
	if (ret != nents) {
		ret = ret < 0 ? ret : -EINVAL;
		goto out_mr;
	}
	/* The peer gets offsets, never our addresses. */
	mr->iova = 0;
	init_completion(&w.done);
	wr.wr.opcode = IB_WR_REG_MR;
	wr.wr.wr_cqe = &w.cqe;
	wr.wr.send_flags = IB_SEND_SIGNALED;
	wr.mr = mr;
	wr.key = mr->rkey;
	wr.access = access;
	ret = ib_post_send(qp, &wr.wr, NULL);
	if (ret)
		goto out_mr;
	wait_for_completion(&w.done);
	if (w.status == IB_WC_SUCCESS)
		return mr;
	ret = -EIO;
out_mr:
	ib_dereg_mr(mr);
	return ERR_PTR(ret);
}
