/* SPDX-License-Identifier: GPL-2.0-only */
/* What rdda/common/qp.[ch] has of the kernel, for test_qp.c, which says what verbs do. */
#ifndef TESTS_UNIT_VERBS_H
#define TESTS_UNIT_VERBS_H

#include <errno.h>
#include <linux/bug.h>
#include <linux/kernel.h>
#include <linux/log2.h>
#include <linux/minmax.h>
#include <linux/string.h>
#include <stdlib.h>

#define PAGE_SIZE	4096UL
#define ALIGN(n, to)	round_up(n, to)
#define roundup_pow_of_two(n)	(1UL << (ilog2((n) - 1) + 1))
#define GFP_NOIO	0
#define __GFP_ZERO	0
#define __GFP_NORETRY	0
#define __GFP_NOWARN	0
typedef int gfp_t;
typedef int spinlock_t;
#define spin_lock_init(lock)	((void)(*(lock) = 0))
#define spin_lock(lock)		((void)++*(lock))
#define spin_unlock(lock)	((void)--*(lock))
#define pr_debug(...)		do { } while (0)
#define pr_err_ratelimited(...)	do { } while (0)
#define ERR_PTR(err)	((void *)(intptr_t)(err))
#define PTR_ERR(p)	((int)(intptr_t)(p))
#define IS_ERR(p)	((uintptr_t)(p) >= (uintptr_t)-4095)
#define kcalloc(n, each, gfp)	calloc(n, each)
#define kvcalloc(n, each, gfp)	calloc(n, each)
#define kfree(p)	free(p)
#define kvfree(p)	free(p)

struct list_head {
	struct list_head *next, *prev;
};

struct page {
	struct list_head lru;
	u8	byte[PAGE_SIZE];
};

#define page_address(page)	((void *)(page)->byte)
#define clear_page(p)		memset(p, 0, PAGE_SIZE)
#define alloc_page(gfp)		((void)(gfp), (struct page *)calloc(1, sizeof(struct page)))
#define __free_page(page)	free(page)
#define list_first_entry_or_null(head, type, member) \
	((head)->next == (head) ? NULL : container_of((head)->next, type, member))

static inline void list_add(struct list_head *node, struct list_head *head)
{
	*node = (struct list_head) { head->next, head };
	head->next->prev = node;
	head->next = node;
}

static inline void list_del(struct list_head *node)
{
	node->next->prev = node->prev;
	node->prev->next = node->next;
}

#define LIST_HEAD(name)		struct list_head name = { &(name), &(name) }
#define INIT_LIST_HEAD(head)	((void)(*(head) = (struct list_head) { head, head }))
#define list_empty(head)	((head)->next == (head))
#define list_for_each_entry_safe(pos, n, head, member) \
	for (pos = container_of((head)->next, __typeof__(*pos), member); \
	     n = container_of(pos->member.next, __typeof__(*pos), member), &pos->member != (head); \
	     pos = n)

static inline void list_splice_init(struct list_head *from, struct list_head *to)
{
	if (list_empty(from))
		return;
	from->prev->next = to->next;
	to->next->prev = from->prev;
	to->next = from->next;
	from->next->prev = to;
	INIT_LIST_HEAD(from);
}

enum dma_data_direction { DMA_TO_DEVICE, DMA_FROM_DEVICE };
enum { IB_POLL_SOFTIRQ, IB_QPT_RC, IB_SIGNAL_REQ_WR, IB_SEND_SIGNALED = 2 };
enum ib_wr_opcode { IB_WR_RDMA_WRITE, IB_WR_SEND, IB_WR_RDMA_READ };

struct ib_mr;
struct ib_wc;
struct scatterlist;
struct ib_device {
	struct {
		u32 max_cqe, max_qp_wr;
	} attrs;
};

struct ib_pd {
	struct ib_device *device;
	u32 local_dma_lkey;
};

struct ib_cq {
	u32 cqe;
};

struct ib_qp {
	struct ib_device *device;
};

struct ib_event {
	int event;
};

struct ib_cqe {
	void (*done)(struct ib_cq *cq, struct ib_wc *wc);
};

enum ib_wc_status { IB_WC_SUCCESS, IB_WC_WR_FLUSH_ERR };

struct ib_wc {
	struct ib_cqe *wr_cqe;
	enum ib_wc_status status;
};

struct ib_sge {
	u64 addr;
	u32 length, lkey;
};

struct ib_send_wr {
	struct ib_send_wr *next;
	struct ib_cqe *wr_cqe;
	struct ib_sge *sg_list;
	int num_sge;
	enum ib_wr_opcode opcode;
	int send_flags;
};

struct ib_rdma_wr {
	struct ib_send_wr wr;
	u64 remote_addr;
	u32 rkey;
};

struct ib_recv_wr {
	struct ib_cqe *wr_cqe;
	struct ib_sge *sg_list;
	int num_sge;
};

typedef void (*ib_comp_handler)(struct ib_cq *cq, void *context);
typedef void (*ib_event_handler)(struct ib_event *event, void *context);

struct ib_cq_init_attr {
	u32 cqe, comp_vector;
};

struct ib_qp_init_attr {
	ib_event_handler event_handler;
	void *qp_context;
	struct ib_cq *send_cq, *recv_cq;
	int qp_type, sq_sig_type, port_num;
	struct {
		u32 max_send_wr, max_recv_wr, max_send_sge, max_recv_sge;
	} cap;
};

struct rdma_cm_id {
	struct ib_device *device;
	struct ib_qp *qp;
	int port_num;
};

#define ib_event_msg(event)	((void)(event), "")
struct ib_cq *ib_create_cq(struct ib_device *dev, ib_comp_handler done, ib_event_handler failed,
			   void *context, const struct ib_cq_init_attr *attr);
struct ib_cq *ib_alloc_cq(struct ib_device *dev, void *context, u32 cqe, u32 vector, int poll);
void ib_destroy_cq(struct ib_cq *cq);
void ib_free_cq(struct ib_cq *cq);
struct ib_qp *ib_create_qp(struct ib_pd *pd, struct ib_qp_init_attr *attr);
int rdma_create_qp(struct rdma_cm_id *id, struct ib_pd *pd, struct ib_qp_init_attr *attr);
void ib_drain_qp(struct ib_qp *qp);
void ib_destroy_qp(struct ib_qp *qp);
void rdma_destroy_qp(struct rdma_cm_id *id);
u64 ib_dma_map_page(struct ib_device *dev, struct page *page, u32 off, u32 len, int dir);
bool ib_dma_mapping_error(struct ib_device *dev, u64 dma);
void ib_dma_unmap_page(struct ib_device *dev, u64 dma, u32 len, int dir);
void ib_dma_sync_single_for_device(struct ib_device *dev, u64 dma, u32 len, int dir);
int ib_post_recv(struct ib_qp *qp, const struct ib_recv_wr *wr, void *bad);
int ib_post_send(struct ib_qp *qp, const struct ib_send_wr *wr, void *bad);

#endif
