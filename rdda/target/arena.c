// SPDX-License-Identifier: GPL-2.0-only
/*
 * The arena: target memory given to a session, managed by its client.
 *
 *   offset 0         piece size        2 * piece size
 *     |  piece 0, MR 0  |  piece 1, MR 1  | ...
 *     |  channel 0's part     |  channel 1's part     | ...
 *
 * A piece is physically contiguous, so a run of arena pages is a handful of bio_vecs or scatter
 * entries. Each piece has one memory region, zero based, made for this session and destroyed with
 * the session. The target never interprets the data.
 *
 * Memory of a session = arena + channels * (1.4 KiB a receive, 0.4 KiB a command context). For the
 * defaults and the budgets of 1,000 sessions see docs/architecture.md.
 *
 * A host may be the client of its own target, and write back or swap to such a volume. When the
 * host's session is lost, no memory comes free before the next session lives, and the next session
 * first needs an arena. So the target keeps pages of ended sessions: as many as one session takes.
 */
#define pr_fmt(fmt) "meshtgt: " fmt
#include <linux/bio.h>
#include <linux/dma-mapping.h>
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/slab.h>

#include "rdda/common/fault.h"
#include "rdda/target/arena.h"
#include "rdda/target/channel.h"
#include "rdda/target/session.h"
#include "rdda/target/tgt.h"
#include "rdda/wire.h"

#define PART_MIN	(512U << 10)	/* enough for some commands of a channel */
#define PIECE_MAX	(2U << 20)
#define PIECE_MIN	(128U << 10)	/* the client's buddies need aligned borders */
#define SPARE_BYTES	(8U << 20)	/* kept at least, if sessions have left as many */
#define CHANNELS_UNSAID	4		/* of a session whose client does not say how many */
#define CHANNELS_LEAST	2		/* of one client beside many, before the budgets */

static unsigned int channels_max = TGT_CHANNELS_MAX;
module_param(channels_max, uint, 0644);
MODULE_PARM_DESC(channels_max, "channels of a session, at most one a CPU of its client (16)");

static unsigned int channels_shared = 128;
module_param(channels_shared, uint, 0644);
MODULE_PARM_DESC(channels_shared, "channels that clients share evenly, if at least 2 are left for each (128)");

static unsigned int channels_budget = 8192;
module_param(channels_budget, uint, 0644);
MODULE_PARM_DESC(channels_budget, "channels of all sessions (8192)");

static unsigned int part_kib = 2048;
module_param(part_kib, uint, 0644);
MODULE_PARM_DESC(part_kib, "arena of a channel in KiB while memory is plenty (2048)");

static unsigned long arena_budget;
module_param(arena_budget, ulong, 0644);
MODULE_PARM_DESC(arena_budget, "arena of all sessions in bytes (0: a quarter of memory)");

static DEFINE_SPINLOCK(budget_lock);
unsigned long tgt_arena_used;		/* budget_lock for writing */
static unsigned int channels_used;	/* budget_lock */
static LIST_HEAD(spare);		/* pages of ended sessions; budget_lock */
static unsigned int spare_bytes;	/* budget_lock */

/* The limit of all sessions' arenas together, in bytes. */
unsigned long tgt_arena_limit(void)
{
	return READ_ONCE(arena_budget) ?: totalram_pages() << (PAGE_SHIFT - 2);
}

/*
 * A session's share. @use: channels that the client has a use for, 0: not said. @clients: all,
 * including this one. A client alone may load the target from each of its CPUs; many clients with
 * many channels would only make more messages of the same work. Return: channels, before the
 * budgets.
 */
unsigned int tgt_arena_share(unsigned int use, unsigned int clients)
{
	unsigned int share = max(READ_ONCE(channels_shared) / clients, CHANNELS_LEAST + 0U);

	use = use ?: min(num_online_cpus(), CHANNELS_UNSAID + 0U);
	return clamp_t(unsigned int, min3(use, share, READ_ONCE(channels_max)), 1,
		       TGT_CHANNELS_MAX);
}

/*
 * Reserve the channels and the arena of a new session. @channels: in: channels that the client has
 * a use for, 0: not said; out: channels granted. @clients: clients logged in, including this one.
 * @old_bytes, @old_channels: of sessions that the new one replaces; they count as free. No session
 * gets more than a quarter of the memory that is left, or the least part, nor more than an eighth
 * of the channels that are left, or one: many sessions get less each, and none stays without for
 * long. Return: bytes of arena, 0 when a budget is used up.
 */
u32 tgt_arena_reserve(unsigned int *channels, unsigned int clients, unsigned long old_bytes,
		      unsigned int old_channels)
{
	unsigned long budget = tgt_arena_limit();
	u32 part = (clamp(READ_ONCE(part_kib), PART_MIN >> 10, 8U << 10) << 10) & ~(PART_MIN - 1);
	unsigned int n = tgt_arena_share(*channels, clients);
	unsigned int most = READ_ONCE(channels_budget), used;
	unsigned long left;
	u32 bytes = 0;

	spin_lock(&budget_lock);
	left = budget - min(budget, tgt_arena_used - old_bytes);
	used = channels_used - old_channels;
	if (used >= most)
		goto out;
	n = min(n, max((most - used) / 8, 1U));
	while (part > PART_MIN && (unsigned long)n * part > left / 4)
		part = max(part / 2 & ~(PART_MIN - 1), PART_MIN);
	while (n > 1 && (unsigned long)n * part > left / 4)
		n--;
	if ((unsigned long)n * part > left)
		goto out;
	bytes = n * part;
	tgt_arena_used += bytes;
	channels_used += n;
	*channels = n;
out:
	spin_unlock(&budget_lock);
	return bytes;
}

/* Release a reservation of tgt_arena_reserve(). */
void tgt_arena_unreserve(u32 bytes, unsigned int channels)
{
	spin_lock(&budget_lock);
	tgt_arena_used -= bytes;
	channels_used -= channels;
	spin_unlock(&budget_lock);
}

/* Return: the largest piece, in bytes, that the session's NIC can register and map at once. */
static u32 piece_bytes(const struct tgt_session *s)
{
	unsigned long most = min_t(unsigned long, PIECE_MAX, s->arena.bytes);
	struct ib_device *dev = s->dev;

	most = min_t(unsigned long, most,
		     (unsigned long)s->lim.mr_pages << RDDA_PAGE_SHIFT);
	if (!ib_uses_virt_dma(dev))
		most = min_t(unsigned long, most, dma_max_mapping_size(dev->dma_device));
	return most < PAGE_SIZE ? 0 : rounddown_pow_of_two(most);
}

/* Return: a kept page of @size bytes, zeroed, near the NIC or not; NULL: none is kept. */
static struct page *spare_take(u32 size)
{
	struct page *page, *hit = NULL;

	spin_lock(&budget_lock);
	list_for_each_entry(page, &spare, lru) {
		if (page_size(page) != size)
			continue;
		list_del(&page->lru);
		spare_bytes -= size;
		hit = page;
		break;
	}
	spin_unlock(&budget_lock);
	if (hit)
		memset(page_address(hit), 0, size);
	return hit;
}

static void spare_free(void)
{
	struct page *page, *next;
	LIST_HEAD(pages);

	spin_lock(&budget_lock);
	list_splice_init(&spare, &pages);
	spare_bytes = 0;
	spin_unlock(&budget_lock);
	list_for_each_entry_safe(page, next, &pages, lru)
		__free_pages(page, compound_order(page));
}

/*
 * Keep a page, if at most @most bytes are then kept in all. Return: false if the page is not kept.
 */
static bool spare_put(struct page *page, u32 most)
{
	bool room;

	spin_lock(&budget_lock);
	room = spare_bytes + page_size(page) <= most;
	if (room) {
		list_add(&page->lru, &spare);
		spare_bytes += page_size(page);
	}
	spin_unlock(&budget_lock);
	return room;
}

/* Free the pages that ended sessions left. */
void tgt_arena_exit(void)
{
	spare_free();
}

static int pieces_alloc(struct tgt_arena *a, u32 size, int node, bool spares)
{
	gfp_t gfp = GFP_NOIO | __GFP_ZERO | __GFP_COMP | __GFP_NOWARN | __GFP_NORETRY;
	unsigned int i;

	a->nr = a->bytes / size;
	a->shift = ilog2(size);
	a->piece = kcalloc(a->nr, sizeof(*a->piece), GFP_NOIO);
	if (!a->piece)
		return -ENOMEM;
	for (i = 0; i < a->nr; i++) {
		a->piece[i].page = spares ? spare_take(size) : NULL;
		if (!a->piece[i].page && !rdda_fault(RDDA_FAULT_PAGES))
			a->piece[i].page = alloc_pages_node(node, gfp, get_order(size));
		if (!a->piece[i].page)
			return -ENOMEM;
	}
	return 0;
}

/* Free the pieces. @keep: most bytes to keep for the next session, including pages kept before. */
static void pieces_free(struct tgt_arena *a, u32 keep)
{
	unsigned int i;

	for (i = 0; a->piece && i < a->nr; i++)
		if (a->piece[i].page && !spare_put(a->piece[i].page, keep))
			__free_pages(a->piece[i].page, get_order(1UL << a->shift));
	kfree(a->piece);
	a->piece = NULL;
	a->nr = 0;
}

/*
 * True if pages are kept for this session's host, which is so for this machine's own: where memory
 * is short because a volume on the machine's own drives cannot be written, a login must not fail
 * for want of memory. Other hosts can wait.
 */
static bool spares_for(const struct tgt_session *s)
{
	uuid_t host;

	return tgt_identity(&host) && uuid_equal(&s->client.host, &host);
}

/* Context: process, noio. Return: 0; -ENOMEM: as many bytes are kept as before. */
static int pieces_try(struct tgt_session *s, bool spares)
{
	int node = dev_to_node(s->dev->dma_device ?: &s->dev->dev);
	u32 keep = spares ? READ_ONCE(spare_bytes) : 0;
	u32 size = piece_bytes(s);
	int ret = -ENOMEM;

	while (size && s->arena.bytes % size)
		size /= 2;
	for (; size >= PIECE_MIN && s->arena.bytes / size <= RDDA_PIECES_MAX; size /= 2) {
		ret = pieces_alloc(&s->arena, size, node, spares);
		if (!ret)
			return 0;
		/* The next try may make smaller pieces of these pages. */
		pieces_free(&s->arena, keep);
	}
	return ret;
}

/*
 * Allocate the pages, zeroed: the client must not read old data. Fewer channels may fit into the
 * kept pages. So the kept pages are given up for pieces of another size only when one channel is
 * left: other allocations may take pages that were given up. @s: its @arena.bytes reserved.
 * Context: process, noio. Return: 0 or -ENOMEM.
 */
int tgt_arena_alloc(struct tgt_session *s)
{
	bool spares = spares_for(s);
	int ret = pieces_try(s, spares);

	if (ret && spares && s->nr_channels == 1) {
		spare_free();
		ret = pieces_try(s, false);
	}
	/* The session will leave its own pages for the next one. */
	if (!ret && spares)
		spare_free();
	return ret;
}

static int piece_register(struct tgt_session *s, struct tgt_channel *ch, struct tgt_piece *p)
{
	u32 size = 1U << s->arena.shift;

	sg_init_table(&p->sg, 1);
	sg_set_page(&p->sg, p->page, size, 0);
	if (ib_dma_map_sg(s->dev, &p->sg, 1, DMA_BIDIRECTIONAL) != 1) {
		sg_init_table(&p->sg, 1);
		return -EIO;
	}
	/* A bounced mapping could not be synced in time: the client moves the data. */
	if (!ib_uses_virt_dma(s->dev) &&
	    dma_need_sync(s->dev->dma_device, sg_dma_address(&p->sg)))
		return -EOPNOTSUPP;
	p->mr = rdda_mr_register(ch->q.qp, &p->sg, 1, size, IB_ACCESS_LOCAL_WRITE |
				 IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_WRITE);
	if (IS_ERR(p->mr)) {
		int ret = PTR_ERR(p->mr);

		p->mr = NULL;
		return ret;
	}
	return 0;
}

/*
 * Register one memory region a piece, for this session alone. @ch: channel 0, whose client has
 * proved the key; nothing else is posted on the send queue yet. Context: control work of @ch.
 */
int tgt_arena_register(struct tgt_session *s, struct tgt_channel *ch)
{
	unsigned int i;
	int ret;

	s->arena.mapped = true;
	for (i = 0; i < s->arena.nr; i++) {
		ret = READ_ONCE(ch->dead) ? -ESHUTDOWN :
			piece_register(s, ch, &s->arena.piece[i]);
		if (ret)
			return ret;
	}
	return 0;
}

/* End all access to the arena by RDMA. @s: session; its queue pairs are destroyed. */
void tgt_arena_unregister(struct tgt_session *s)
{
	unsigned int i;

	if (!s->arena.mapped)
		return;
	s->arena.mapped = false;
	for (i = 0; i < s->arena.nr; i++) {
		struct tgt_piece *p = &s->arena.piece[i];

		if (p->mr)
			ib_dereg_mr(p->mr);
		p->mr = NULL;
		if (sg_page(&p->sg))
			ib_dma_unmap_sg(s->dev, &p->sg, 1, DMA_BIDIRECTIONAL);
		sg_init_table(&p->sg, 1);
	}
}

/* Free the pages, or keep them for the next session. @s: session; none of its bios is in flight. */
void tgt_arena_free(struct tgt_session *s)
{
	pieces_free(&s->arena, spares_for(s) ? max(s->arena.bytes, SPARE_BYTES) : 0);
}

/*
 * Copy out of the arena, where the client may write meanwhile. @off: arena offset, checked. @len:
 * bytes, within one page.
 */
void tgt_arena_copy(const struct tgt_session *s, void *to, u32 off, u32 len)
{
	memcpy(to, tgt_arena_at(&s->arena, off), len);
	barrier();	/* from here on the copy is checked, and the arena not read again */
}

/*
 * Add a run of the arena to a bio. @bio: with room for the run. @off: arena offset, checked. @len:
 * bytes, checked. Return: 0, or -ENOSPC when the bio has no room.
 */
int tgt_arena_bio(struct tgt_session *s, struct bio *bio, u32 off, u32 len)
{
	const struct tgt_arena *a = &s->arena;
	u32 size = 1U << a->shift;

	while (len) {
		u32 at = off & (size - 1), n = min(len, size - at);

		if (bio->bi_vcnt == bio->bi_max_vecs)
			return -ENOSPC;
		__bio_add_page(bio, a->piece[off >> a->shift].page, n, at);
		off += n;
		len -= n;
	}
	return 0;
}

/*
 * Fill scatter entries with a run of the arena, the source of a WRITE. @max: entries at @sge. @off:
 * arena offset, checked. @len: bytes, checked. Return: entries used; @max + 1 if @max do not
 * suffice.
 */
unsigned int tgt_arena_sge(struct tgt_session *s, struct ib_sge *sge, unsigned int max,
			   u32 off, u32 len)
{
	const struct tgt_arena *a = &s->arena;
	u32 size = 1U << a->shift;
	unsigned int i;

	for (i = 0; len; i++) {
		u32 at = off & (size - 1), n = min(len, size - at);

		if (i == max)
			return max + 1;
		sge[i].addr = sg_dma_address(&a->piece[off >> a->shift].sg) + at;
		sge[i].length = n;
		sge[i].lkey = s->pd->local_dma_lkey;
		off += n;
		len -= n;
	}
	return i;
}
