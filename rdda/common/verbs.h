/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Timeouts of RDDA, instead of the fabric's defaults; registrations and device limits.
 *
 * Linked into both modules; each has the module parameters sge_limit and ack_timeout.
 */
#ifndef RDDA_COMMON_VERBS_H
#define RDDA_COMMON_VERBS_H

#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm.h>

/* Not 7, the largest: Soft-RoCE takes 7 for "without end". */
#define RDDA_RETRIES		6
#define RDDA_RNR_RETRIES	7	/* without end; credits make RNR a bug */
#define RDDA_RD_ATOMIC_MAX	16
#define RDDA_DRAIN_WR		1	/* marker of each queue, for draining */
#define RDDA_CM_TIMEOUT_MS	3000	/* address, route; connect: rdda_cm_connect_ms() */

/* Limits of a device for one queue pair. */
struct rdda_limits {
	u32 send_sge;	/* gather entries of a SEND or WRITE */
	u32 read_sge;	/* scatter entries of a READ */
	u32 rd_out;	/* READs in flight, requested by this side */
	u32 rd_in;	/* READs in flight, served by this side */
	u32 max_wr;	/* work requests of a queue */
	u32 mr_pages;	/* RDDA_PAGEs of one registration */
	bool prove_reads;	/* a failed READ may complete without error */
};

int rdda_device_limits(struct ib_device *dev, u32 port, struct rdda_limits *lim);
unsigned int rdda_vector(struct ib_device *dev);
int rdda_cm_tune(struct rdma_cm_id *id);
unsigned int rdda_cm_connect_ms(void);
bool rdda_port_active(struct rdma_cm_id *id);
struct ib_mr *rdda_mr_register(struct ib_qp *qp, struct scatterlist *sg, int nents,
			       u32 bytes, int access);

#endif
