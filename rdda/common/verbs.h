/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Queue pairs, registrations and device limits: what client and target do alike.
 *
 *   rdma_cm_id --- rdda_cm_tune()      our timeouts, not the fabric's defaults
 *       |
 *   rdda_qp   one QP with one CQ, both sized for every work request, signalled
 *             or not: a QP in error flushes them all
 *
 * Linked into both modules; each has the module parameters sge_limit and
 * ack_timeout.
 */
#ifndef RDDA_COMMON_VERBS_H
#define RDDA_COMMON_VERBS_H

#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm.h>

/* Not 7, the largest: Soft-RoCE takes that for "without end". */
#define RDDA_RETRIES		6
#define RDDA_RNR_RETRIES	7	/* without end; credits make RNR a bug */
#define RDDA_RD_ATOMIC_MAX	16
#define RDDA_CM_TIMEOUT_MS	3000	/* address, route; connect: rdda_cm_connect_ms() */

/**
 * struct rdda_limits - what a device lets one queue pair do
 * @send_sge: gather entries of a SEND or WRITE
 * @read_sge: scatter entries of a READ
 * @rd_out: READs in flight that we may request
 * @rd_in: READs in flight that we may serve
 * @max_wr: work requests of a queue
 * @max_cqe: entries of a CQ
 * @mr_pages: RDDA_PAGEs of one registration
 */
struct rdda_limits {
	u32 send_sge;
	u32 read_sge;
	u32 rd_out;
	u32 rd_in;
	u32 max_wr;
	u32 max_cqe;
	u32 mr_pages;
};

/**
 * struct rdda_qp - a queue pair of a connection, and its CQs
 * @id: its connection
 * @qp: NULL before rdda_qp_create() and after rdda_qp_destroy()
 * @cq: the same; of both queues, or of the receives alone
 * @send_cq: of the send queue then, polled by its owner
 */
struct rdda_qp {
	struct rdma_cm_id *id;
	struct ib_qp *qp;
	struct ib_cq *cq;
	struct ib_cq *send_cq;
};

/**
 * struct rdda_qp_size - what a queue pair must hold
 * @send_wr: work requests of the send queue, drain marker not counted
 * @recv_wr: receives, drain marker not counted
 * @sge: of a send work request
 * @poll: where completions are handled
 * @send_event: event of the send queue's own CQ; NULL: it has none
 */
struct rdda_qp_size {
	u32 send_wr;
	u32 recv_wr;
	u32 sge;
	enum ib_poll_context poll;
	ib_comp_handler send_event;
};

int rdda_device_limits(struct ib_device *dev, u32 port, struct rdda_limits *lim);
unsigned int rdda_vector(struct ib_device *dev);
int rdda_cm_tune(struct rdma_cm_id *id);
unsigned int rdda_cm_connect_ms(void);
bool rdda_port_active(struct rdma_cm_id *id);
int rdda_qp_create(struct rdda_qp *q, struct rdma_cm_id *id, struct ib_pd *pd,
		   const struct rdda_qp_size *size, void *context);
void rdda_qp_drain(struct rdda_qp *q);
void rdda_qp_destroy(struct rdda_qp *q);
struct ib_mr *rdda_mr_register(struct rdda_qp *q, struct scatterlist *sg, int nents,
			       u32 bytes, int access);

#endif
