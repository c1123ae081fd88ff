/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A Soft-RoCE that is as unkind as the InfiniBand rules allow, for tests only.
 *
 *        packets, in order                      memory
 *   WRITE ──► acknowledged ──► stash ──(late, any order)──► placed
 *   READ  ──► its data may be sampled before an earlier READ's (bit 2)
 *   WRITE ──► may be placed before an earlier READ is sampled (bit 3)
 *   SEND, WRITE with immediate ──► stash of this QP emptied, then completed
 *
 * What holds whatever the bits say: everything written on a QP is placed before
 * a receive completion, an atomic or a flush of that QP; nothing is placed once
 * its QP is destroyed or reset, or its MR deregistered or invalidated (what was
 * stashed is placed before that returns). Memory windows are not handled.
 */
#ifndef RXE_CHAOS_H
#define RXE_CHAOS_H

struct rxe_qp;
struct rxe_mr;
struct rxe_pkt_info;
struct resp_res;

/* True when the payload was taken, to be placed later. */
bool rxe_chaos_stash(struct rxe_qp *qp, struct rxe_pkt_info *pkt,
		     struct rxe_mr *mr, u64 iova, int len);

/* Place what is stashed, of a QP or for an MR. */
void rxe_chaos_flush_qp(struct rxe_qp *qp);
void rxe_chaos_flush_mr(struct rxe_mr *mr);

/* The QP goes or starts again: place its stash, forget its samples. */
void rxe_chaos_forget_qp(struct rxe_qp *qp);

/* Whether this packet, which has just arrived, is to be lost. */
bool rxe_chaos_lose(struct rxe_pkt_info *pkt);
bool rxe_chaos_cut(struct rxe_pkt_info *pkt);

/* Before a new READ is served: let what stands behind it pass. */
void rxe_chaos_before_read(struct rxe_qp *qp, struct rxe_pkt_info *pkt);

/* In place of rxe_mr_copy() for the data of a READ response. */
int rxe_chaos_read_copy(struct rxe_qp *qp, struct resp_res *res,
			struct rxe_mr *mr, void *addr, int len);

void rxe_chaos_exit(void);

#endif /* RXE_CHAOS_H */
