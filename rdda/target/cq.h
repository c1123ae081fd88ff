/* SPDX-License-Identifier: GPL-2.0-only */
/* Completion queues that the receives of many channels share. */
#ifndef TGT_CQ_H
#define TGT_CQ_H

#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>

#include "rdda/wire.h"

struct tgt_channel;
struct tgt_cmd;

#define TGT_CQ_BATCH		16	/* completions of one poll */

/* One of them. Its channels hold it; the last one that goes frees it. */
struct tgt_cq {
	struct list_head	node;	/* in cqs; cqs_lock */
	struct ib_cq		*cq;
	unsigned int		vector;	/* of the device */
	unsigned int		used;	/* entries that its channels may need; cqs_lock */
	spinlock_t		lock;	/* @channels */
	struct list_head	channels;	/* by tgt_channel.on_cq */
	bool			drained;	/* not polled any more: the last channel has gone */
	struct work_struct	work;	/* polls it: queue.c */
	struct work_struct	fail;	/* the NIC reported an error */
	/* used by @work alone; on the stack many kernels would clear them first */
	struct ib_wc		wc[TGT_CQ_BATCH];	/* completions being handled: queue.c */
	struct tgt_cmd		*cmds[RDDA_CMDS_MAX];	/* of the message being handled: cmd.c */
};

int tgt_cq_get(struct tgt_channel *ch, unsigned int entries);
void tgt_cq_flush(struct tgt_channel *ch);
void tgt_cq_put(struct tgt_channel *ch, unsigned int entries);
unsigned int tgt_cq_count(void);
bool tgt_cq_deaf(struct tgt_cq *q);

#endif
