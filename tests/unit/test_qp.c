// SPDX-License-Identifier: GPL-2.0-only
/*
 * The queue pair code of client and target: buffers, the chain of work requests, the
 * count of a send queue. Verbs are stand-ins: soft RoCE unmaps nothing and fails no post.
 */
#include <rdma/ib_verbs.h>

#include "suite.h"

#include "rdda/common/qp.c"

#define BUFS	7
#define SIZE	64
#define CHAIN	8

static struct ib_device dev = { .attrs = { .max_cqe = 1000, .max_qp_wr = 1000 } };
static struct ib_pd pd = { .device = &dev, .local_dma_lkey = 9 };
static struct ib_qp ibqp = { .device = &dev };
static struct rdma_cm_id id = { .device = &dev };
static int maps, map_fails, cqs, qps, creates_fail, post_err, posts, synced;
static unsigned int posted;
static const struct ib_send_wr *first;

static struct ib_cq *cq_new(u32 cqe)
{
	struct ib_cq *cq = --creates_fail ? calloc(1, sizeof(*cq)) : ERR_PTR(-ENOMEM);

	if (!IS_ERR(cq)) {
		cq->cqe = cqe;
		cqs++;
	}
	return cq;
}

struct ib_cq *ib_create_cq(struct ib_device *d, ib_comp_handler done, ib_event_handler failed,
			   void *context, const struct ib_cq_init_attr *attr)
{
	(void)d, (void)done, (void)failed, (void)context;
	return cq_new(attr->cqe);
}

struct ib_cq *ib_alloc_cq(struct ib_device *d, void *context, u32 cqe, u32 vector, int poll)
{
	(void)d, (void)context, (void)vector, (void)poll;
	return cq_new(cqe);
}

void ib_destroy_cq(struct ib_cq *cq)
{
	cqs--;
	free(cq);
}

void ib_free_cq(struct ib_cq *cq) { ib_destroy_cq(cq); }
unsigned int rdda_vector(struct ib_device *d) { (void)d; return 0; }

struct ib_qp *ib_create_qp(struct ib_pd *p, struct ib_qp_init_attr *attr)
{
	(void)p, (void)attr;
	if (!--creates_fail)
		return ERR_PTR(-ENOMEM);
	qps++;
	return &ibqp;
}

int rdma_create_qp(struct rdma_cm_id *i, struct ib_pd *p, struct ib_qp_init_attr *attr)
{
	struct ib_qp *qp = ib_create_qp(p, attr);

	i->qp = IS_ERR(qp) ? NULL : qp;
	return IS_ERR(qp) ? PTR_ERR(qp) : 0;
}

void ib_drain_qp(struct ib_qp *qp) { (void)qp; }
void ib_destroy_qp(struct ib_qp *qp) { (void)qp; qps--; }

void rdma_destroy_qp(struct rdma_cm_id *i)
{
	i->qp = NULL;
	qps--;
}

u64 ib_dma_map_page(struct ib_device *d, struct page *page, u32 off, u32 len, int dir)
{
	(void)d, (void)len, (void)dir;
	if (!--map_fails)
		return 0;
	maps++;
	return (uintptr_t)page_address(page) + off;
}

bool ib_dma_mapping_error(struct ib_device *d, u64 dma) { (void)d; return !dma; }

void ib_dma_unmap_page(struct ib_device *d, u64 dma, u32 len, int dir)
{
	(void)d, (void)dma, (void)len, (void)dir;
	maps--;
}

void ib_dma_sync_single_for_device(struct ib_device *d, u64 dma, u32 len, int dir)
{
	(void)d, (void)dma, (void)dir;
	synced += len;
}

int ib_post_recv(struct ib_qp *qp, const struct ib_recv_wr *wr, void *bad)
{
	(void)qp, (void)bad;
	posted = wr->sg_list->length;
	return 0;
}

int ib_post_send(struct ib_qp *qp, const struct ib_send_wr *wr, void *bad)
{
	(void)qp, (void)bad;
	posts++;
	first = wr;
	for (posted = 0; wr; wr = wr->next)
		posted++;
	return post_err;
}

static int dones;
static void done(struct ib_cq *cq, struct ib_wc *wc) { (void)cq, (void)wc, dones++; }

/* Each in lines of its own; after any failure all goes back, once. */
static void test_bufs(void)
{
	struct rdda_pages kept;
	struct rdda_bufs b = { 0 };
	unsigned int i, n;

	rdda_pages_init(&kept);
	CU_ASSERT_FATAL(!rdda_bufs_alloc(&b, &pd, &kept, BUFS, DMA_FROM_DEVICE, done));
	CU_ASSERT(b.nr == BUFS && maps == (int)b.pages && b.pages == 3);
	for (i = 0; i < BUFS; i++) {
		CU_ASSERT(b.buf[i].sge.addr == (uintptr_t)b.buf[i].data);
		CU_ASSERT(b.buf[i].sge.length == RDDA_MSG_MAX && b.buf[i].sge.lkey == 9);
		memset(b.buf[i].data, i + 1, RDDA_MSG_MAX);
	}
	for (i = 0; i < BUFS; i++)
		for (n = 0; n < RDDA_MSG_MAX; n++)
			CU_ASSERT_FATAL(((u8 *)b.buf[i].data)[n] == i + 1);
	rdda_bufs_free(&b);
	CU_ASSERT(!maps && !list_empty(&kept.list));
	/* The pages that were kept come back zeroed. */
	CU_ASSERT_FATAL(!rdda_bufs_alloc(&b, &pd, &kept, BUFS, DMA_FROM_DEVICE, done));
	CU_ASSERT(list_empty(&kept.list));
	for (i = 0; i < BUFS; i++)
		CU_ASSERT(!((u8 *)b.buf[i].data)[0] && !((u8 *)b.buf[i].data)[RDDA_MSG_MAX - 1]);
	rdda_bufs_free(&b);
	for (i = 1; i <= 3; i++) {
		map_fails = i;
		CU_ASSERT(rdda_bufs_alloc(&b, &pd, NULL, BUFS, DMA_TO_DEVICE, done) == -ENOMEM);
		rdda_bufs_free(&b);
		CU_ASSERT(!maps);
	}
	rdda_pages_free(&kept);
	CU_ASSERT(list_empty(&kept.list));
}

static void test_create(void)
{
	struct rdda_qp_attr a = { .send_wr = 10, .recv_wr = 20, .sge = 1 };
	struct rdda_qp q = { 0 };
	int i, n;

	for (i = 0; i < 4; i++) {
		a.by_hand = i & 1;
		a.send_event = i & 2 ? (ib_comp_handler)(uintptr_t)1 : NULL;
		for (n = 1; n < (i & 2 ? 4 : 3); n++) {
			creates_fail = n;
			CU_ASSERT(rdda_qp_create(&q, &id, &pd, &a, NULL) == -ENOMEM);
			CU_ASSERT(!cqs && !qps && !q.qp);
		}
		creates_fail = 0;
		CU_ASSERT_FATAL(!rdda_qp_create(&q, &id, &pd, &a, NULL));
		/* All work requests make completions when it fails, and so do the markers. */
		CU_ASSERT(q.cq->cqe + (q.send_cq ? q.send_cq->cqe : 0) == 10 + 20 + 2);
		CU_ASSERT(cqs == (i & 2 ? 2 : 1) && qps == 1);
		rdda_qp_destroy(&q);
		CU_ASSERT(!cqs && !qps && !q.qp && !q.cq && !q.send_cq);
	}
	dev.attrs.max_qp_wr = 20;
	CU_ASSERT(rdda_qp_create(&q, &id, &pd, &a, NULL) == -EOPNOTSUPP);
	dev.attrs.max_qp_wr = 1000;
}

/* One work request, of those that hold @held. Return: it is signalled. */
static bool add(struct rdda_sq *sq, u32 held, struct ib_cqe *cqe)
{
	struct ib_rdma_wr *wr = rdda_sq_add(sq, IB_WR_RDMA_WRITE);

	wr->wr.num_sge = 1;
	rdda_sq_end(sq, wr, held, cqe);
	if (!cqe)
		cqe = wr->wr.send_flags & IB_SEND_SIGNALED ? &sq->mark : &sq->quiet;
	CU_ASSERT(wr->wr.wr_cqe == cqe);
	if (sq->nr == CHAIN)
		CU_ASSERT(!rdda_sq_post(sq));
	return wr->wr.send_flags & IB_SEND_SIGNALED;
}

static void test_count(void)
{
	struct rdda_sq sq = { .size = SIZE, .sge_max = 3 };
	struct rdda_qp q = { .qp = &ibqp };
	struct ib_cqe cqe = { .done = done };
	u32 i, turn;

	CU_ASSERT_FATAL(!rdda_sq_init(&sq, &q, CHAIN, done));
	CU_ASSERT(sq.free == SIZE && sq.mark.done == done);
	/* Of those that nothing waits for, the last of each quarter. */
	for (turn = 0; turn < 3; turn++) {
		for (i = 1; i <= SIZE; i++)
			CU_ASSERT(add(&sq, i % 16 == 3, NULL) == !(i % (SIZE / 4)));
		CU_ASSERT(!sq.free);
		for (i = 1; i <= 4; i++) {
			CU_ASSERT(rdda_sq_retire(&sq) == 1);
			CU_ASSERT(sq.free == i * SIZE / 4);
		}
	}
	/* One that is waited for, with what came before it and no more. */
	CU_ASSERT(!add(&sq, 1, NULL) && !add(&sq, 1, NULL) && add(&sq, 5, &cqe));
	CU_ASSERT(!add(&sq, 1, NULL) && add(&sq, 0, &cqe));
	CU_ASSERT(rdda_sq_retire(&sq) == 7 && sq.free == SIZE - 2);
	CU_ASSERT(rdda_sq_retire(&sq) == 1 && sq.free == SIZE);
	for (i = 0; i < SIZE; i++)
		CU_ASSERT(add(&sq, i, &cqe));
	for (i = 0; i < SIZE; i++)
		CU_ASSERT(rdda_sq_retire(&sq) == i && sq.free == i + 1);
	rdda_sq_free(&sq);
}

/* An unsignalled one completes only when it fails. */
static void test_quiet(void)
{
	struct rdda_sq sq = { .size = SIZE, .sge_max = 3 };
	struct ib_wc wc = { .wr_cqe = &sq.quiet, .status = IB_WC_WR_FLUSH_ERR };
	struct rdda_qp q = { .qp = &ibqp };
	struct ib_cq cq = { 0 };

	CU_ASSERT_FATAL(!rdda_sq_init(&sq, &q, CHAIN, done));
	dones = 0;
	sq.quiet.done(&cq, &wc);
	CU_ASSERT(dones == 1);
	rdda_sq_free(&sq);
}

static void test_chain(void)
{
	struct rdda_sq sq = { .size = SIZE, .sge_max = 3 };
	struct rdda_qp q = { .qp = &ibqp };
	struct rdda_buf b = { .sge = { 0x1000, RDDA_MSG_MAX, 9 } };
	struct ib_rdma_wr *wr, *last = NULL;
	u32 i;

	CU_ASSERT_FATAL(!rdda_sq_init(&sq, &q, CHAIN, done));
	posts = 0;
	CU_ASSERT(!rdda_sq_post(&sq) && !posts);
	for (i = 0; i < 3; i++) {
		wr = rdda_sq_add(&sq, IB_WR_RDMA_READ);
		CU_ASSERT(!last || wr->wr.sg_list == last->wr.sg_list + 3);
		rdda_sq_end(&sq, wr, 0, NULL);
		last = wr;
	}
	synced = 0;
	wr = rdda_sq_send(&sq, &b, 100);
	CU_ASSERT(wr->wr.opcode == IB_WR_SEND && wr->wr.num_sge == 1 && wr->wr.sg_list == &b.sge);
	CU_ASSERT(b.sge.length == 100 && synced == 100);
	rdda_sq_end(&sq, wr, 0, &b.cqe);
	CU_ASSERT(!rdda_sq_post(&sq) && posts == 1 && posted == 4 && !sq.nr);
	CU_ASSERT(first->opcode == IB_WR_RDMA_READ && !first->send_flags);
	/* After one that failed there is none: it would run without what it needs. */
	post_err = -EINVAL;
	rdda_sq_end(&sq, rdda_sq_add(&sq, IB_WR_RDMA_WRITE), 0, NULL);
	CU_ASSERT(rdda_sq_post(&sq) == -EINVAL && posts == 2);
	post_err = 0;
	rdda_sq_end(&sq, rdda_sq_add(&sq, IB_WR_RDMA_WRITE), 0, NULL);
	CU_ASSERT(rdda_sq_post(&sq) == -EINVAL && posts == 2 && !sq.nr);
	rdda_sq_free(&sq);
	CU_ASSERT(!rdda_buf_post(&q, &b) && synced == 100 + RDDA_MSG_MAX);
}

int main(void)
{
	static const struct suite_test tests[] = {
		{ "message buffers", test_bufs },
		{ "made and ended", test_create },
		{ "what is signalled, and sets free", test_count },
		{ "unsignalled ones that fail", test_quiet },
		{ "the chain", test_chain },
		{ NULL, NULL },
	};

	return suite_main("qp", tests);
}
