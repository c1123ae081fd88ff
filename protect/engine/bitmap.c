// SPDX-License-Identifier: GPL-2.0-only
/*
 * INTENT and MISSED bitmaps on the members. A block in memory has a version; each member holds
 * some version of the block. Blocks with differing versions are written, several at a time for
 * each member, but only one write of a block is in flight: a set waits for the clear in flight. A
 * bit absent from an outgoing block stops counting as durable when the block is sent. A bit
 * present in an outgoing block counts when the block has arrived.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/string.h>
#include <asm/byteorder.h>

#include "protect/engine/group_priv.h"

/* The dirty set of @member has a block exactly when the member's version differs. */
static void bitmap_compare(struct prot_group *g, u32 member, u32 bitmap, u32 block)
{
	u64 *set = prot_dirty(g, member, bitmap);
	u32 n = g->shape.nr_blocks;

	if (*prot_written(g, member, bitmap, block) != *prot_version(g, bitmap, block)) {
		prot_set_put(set, n, block);
		g->meta[member].dirty |= PROT_BIT(bitmap);
		return;
	}
	prot_set_drop(set, n, block);
	if (prot_set_next(set, n, 0) == PROT_SET_NONE)
		g->meta[member].dirty &= ~PROT_BIT(bitmap);
}

/* @member holds @version of the block; 0: no valid version. */
static void bitmap_holds(struct prot_group *g, u32 member, u32 bitmap, u32 block, u32 version)
{
	u32 *w = prot_written(g, member, bitmap, block);

	*prot_unwritten(g, member, bitmap) += !version - !*w;
	*w = version;
	bitmap_compare(g, member, bitmap, block);
}

static void bitmap_changed(struct prot_group *g, u32 bitmap, u32 block)
{
	u32 *version = prot_version(g, bitmap, block), i;

	if (!++*version)
		++*version;	/* 0 is "never written" */
	for (i = 0; i < g->cfg.width; i++)
		bitmap_compare(g, i, bitmap, block);
}

void prot_bitmap_touch(struct prot_group *g, u32 bitmap, u32 region)
{
	bitmap_changed(g, bitmap, prot_block_of(g, region));
}

void prot_bitmap_touch_all(struct prot_group *g, u32 bitmap)
{
	u32 b;

	for (b = 0; b < g->shape.nr_blocks; b++)
		bitmap_changed(g, bitmap, b);
}

/* Absent members outside @got lack a write to @region from now on. */
void prot_mark_missed(struct prot_group *g, u32 region, u64 got)
{
	u64 slots = prot_absent(g) & ~got;

	for (; slots; slots &= slots - 1) {
		u32 i = prot_lowest(slots);

		if (prot_region_in(g, PROT_SET_MISSED + i, region))
			continue;
		prot_region_miss(g, region, i);
		prot_bitmap_touch(g, PROT_MISSED + i, region);
	}
}

/* @member holds no valid block: all of the member's blocks are to be written. */
void prot_bitmap_forget(struct prot_group *g, u32 member)
{
	u32 n, b;

	for (n = 0; n < g->shape.nr_bitmaps; n++)
		for (b = 0; b < g->shape.nr_blocks; b++)
			bitmap_holds(g, member, n, b, 0);
	for (n = 0; n < g->shape.nr_block_ios; n++)
		prot_block_io(g, member, n)->again = 0;
	g->meta[member].again = 0;
}

/* Bitmaps kept on @member: the bitmaps in use, without the MISSED bitmap of the member itself. */
static u64 bitmap_kept(const struct prot_group *g, u32 member)
{
	return g->kept & ~PROT_BIT(PROT_MISSED + member);
}

static bool bitmap_dirty(const struct prot_group *g, u32 member, u32 bitmap, u32 block)
{
	return bitmap_kept(g, member) >> bitmap & 1 &&
	       prot_set_has(prot_dirty(g, member, bitmap), block);
}

/* Each block of @member was written at least once since prot_bitmap_forget(). */
bool prot_bitmap_has(struct prot_group *g, u32 member)
{
	u64 left = bitmap_kept(g, member);

	if (PROT_MUTANT(NO_INTENT_JOIN))
		return true;
	for (; left; left &= left - 1)
		if (*prot_unwritten(g, member, prot_lowest(left)))
			return false;
	return true;
}

/*
 * MISSED bits of @region are on all members in sync and on promoted members: an epoch in flight
 * may call promoted members in sync, and after a crash only promoted members may be left.
 */
bool prot_missed_durable(const struct prot_group *g, u32 region)
{
	u64 missed = prot_region_missed(g, region), on = g->in_sync;
	u32 i, b = prot_block_of(g, region);

	if (!PROT_MUTANT(MISSED_PROMOTED))
		on |= g->promoting;
	for (; missed; missed &= missed - 1)
		for (i = 0; i < g->cfg.width; i++)
			if (on >> i & 1 &&
			    bitmap_dirty(g, i, PROT_MISSED + prot_lowest(missed), b))
				return false;
	return true;
}

/* No member in sync lacks anything of any bitmap. */
bool prot_bitmap_settled(const struct prot_group *g)
{
	u32 i;

	for (i = 0; i < g->cfg.width; i++)
		if (g->in_sync >> i & 1 && g->meta[i].dirty & bitmap_kept(g, i))
			return false;
	return true;
}

static void bitmap_fill_header(const struct prot_group *g, struct prot_bitmap_hdr *h, u32 member,
			       u32 bitmap, u32 block)
{
	memset(h, 0, sizeof(*h));
	h->kind = bitmap;
	h->member = member;
	h->block = cpu_to_le32(block);
	if (bitmap >= PROT_MISSED) {
		h->absent = bitmap - PROT_MISSED;
		h->epoch = cpu_to_le64(g->cfg.left[h->absent]);
		memcpy(h->uuid, g->cfg.uuid[h->absent], PROT_UUID_LEN);
	}
}

/* The set of regions that a block of @bitmap holds. */
static u32 bitmap_set(u32 bitmap)
{
	return bitmap == PROT_INTENT ? PROT_SET_INTENT : PROT_SET_MISSED + bitmap - PROT_MISSED;
}

/* Number of regions of @block; @first: the first region. */
static u32 bitmap_regions(const struct prot_group *g, u32 block, u32 *first)
{
	u32 bits = prot_bitmap_bits(g->cfg.lba);

	*first = block * bits;
	return min(bits, g->shape.nr_regions - *first);
}

/* 64 bits of a block in its buffer, from bit @at on; @n: bits of the block in use. */
static u64 bitmap_get(void *mem, u32 at, u32 n)
{
	__le64 word;

	memcpy(&word, prot_bitmap_bytes(mem) + at / 8, sizeof(word));
	return le64_to_cpu(word) & (n - at < 64 ? PROT_BIT(n - at) - 1 : ~0ULL);
}

/* A bit not sent to @member with the others stops counting as durable there. */
static void bitmap_undurable(struct prot_group *g, u32 member, u32 from, u64 gone)
{
	gone &= prot_set_word(prot_regions(g, prot_durable(g, member)), g->shape.nr_regions, from);
	for (; gone; gone &= gone - 1)
		prot_region_drop(g, prot_durable(g, member), from + prot_lowest(gone));
}

static void bitmap_fill_block(struct prot_group *g, void *mem, u32 member, u32 bitmap, u32 block)
{
	const u64 *set = prot_regions(g, bitmap_set(bitmap));
	u32 first, n = bitmap_regions(g, block, &first), i;

	memset(mem, 0, g->cfg.lba);
	bitmap_fill_header(g, mem, member, bitmap, block);
	((struct prot_bitmap_hdr *)mem)->seq = cpu_to_le64(++g->seq);
	for (i = 0; i < n; i += 64) {
		u64 all = n - i < 64 ? PROT_BIT(n - i) - 1 : ~0ULL;
		u64 bits = prot_set_word(set, g->shape.nr_regions, first + i) & all;
		__le64 word = cpu_to_le64(bits);

		memcpy(prot_bitmap_bytes(mem) + i / 8, &word, sizeof(word));
		if (bitmap == PROT_INTENT && !PROT_MUTANT(CLEAR_RACE))
			bitmap_undurable(g, member, first + i, all & ~bits);
	}
	prot_bitmap_seal(mem, g->cfg.lba, &g->cfg.owner);
}

static u64 bitmap_addr(const struct prot_group *g, u32 member, u32 bitmap, u32 block)
{
	return g->cfg.meta[member] +
	       (u64)g->cfg.lba * (2 + bitmap * g->shape.nr_blocks + block);
}

/* LOADING: the next block of @member to read in this attachment. */
bool prot_bitmap_load(struct prot_group *g, u32 member, struct prot_event *ev)
{
	struct prot_meta *m = &g->meta[member];

	for (; m->cursor < g->shape.nr_bitmaps * g->shape.nr_blocks; m->cursor++) {
		u32 bitmap = m->cursor / g->shape.nr_blocks, block = m->cursor % g->shape.nr_blocks;

		if (!(bitmap_kept(g, member) >> bitmap & 1))
			continue;
		m->bitmap = bitmap;
		m->block = block;
		prot_meta_io(g, member, PROT_META_BITMAP, PROT_READ,
			     bitmap_addr(g, member, bitmap, block), 0, g->cfg.lba, ev);
		return true;
	}
	return false;
}

static bool bitmap_loaded(const struct prot_group *g)
{
	u32 all = g->shape.nr_bitmaps * g->shape.nr_blocks, i;

	for (i = 0; i < g->cfg.width; i++)
		if (g->in_sync >> i & 1 && (g->meta[i].busy || g->meta[i].cursor < all))
			return false;
	return true;
}

/* 64 regions from @at on: regions with a bit on any member are dirty, and go to all members. */
static void bitmap_unite_word(struct prot_group *g, u32 at, bool alone)
{
	u64 dirty = prot_set_word(prot_regions(g, PROT_SET_INTENT), g->shape.nr_regions, at), left;
	u32 i;

	if (!dirty)
		return;
	g->replayed += prot_weight(dirty);
	if (!alone)
		prot_regions_put(g, PROT_SET_UNSYNCED, at, dirty);
	if (!PROT_MUTANT(NO_MISS) && prot_absent(g))
		for (left = dirty; left; left &= left - 1)
			prot_mark_missed(g, at + prot_lowest(left), 0);
	for (i = 0; i < g->cfg.width; i++) {
		const u64 *has = prot_regions(g, prot_durable(g, i));

		if (!(g->in_sync >> i & 1))
			continue;
		/* bits set on other members are written here first */
		left = dirty & ~prot_set_word(has, g->shape.nr_regions, at);
		if (PROT_MUTANT(NO_UNION))
			prot_regions_put(g, prot_durable(g, i), at, left);
		else
			for (; left; left &= left - 1)
				bitmap_holds(g, i, PROT_INTENT,
					     prot_block_of(g, at + prot_lowest(left)), 0);
	}
}

/* The bitmaps become the union of all bitmaps read, and the union goes to all copies first. */
static void bitmap_unite(struct prot_group *g)
{
	bool alone = prot_weight(g->in_sync) == 1;
	u32 i, b;

	for (i = 0; i < g->cfg.width; i++)
		for (b = 0; b < g->shape.nr_blocks; b++)
			bitmap_holds(g, i, PROT_INTENT, b, *prot_version(g, PROT_INTENT, b));
	for (i = 0; i < g->shape.nr_regions; i += 64)
		bitmap_unite_word(g, i, alone);
	g->state = PROT_G_UNITING;
}

static void bitmap_check_united(struct prot_group *g)
{
	u32 i;

	for (i = 0; i < g->cfg.width; i++)
		if (g->in_sync >> i & 1 &&
		    g->meta[i].dirty & bitmap_kept(g, i) & PROT_BIT(PROT_INTENT))
			return;
	g->state = PROT_G_SERVING;
}

/* LOADING and UNITING, for levels with no records to read but bitmaps. */
bool prot_bitmap_attach(struct prot_group *g, struct prot_event *ev)
{
	u32 i;

	if (g->state == PROT_G_LOADING) {
		for (i = 0; i < g->cfg.width; i++)
			if (prot_live(g) >> i & 1 && !g->meta[i].busy && prot_bitmap_load(g, i, ev))
				return true;
		if (!bitmap_loaded(g))
			return false;
		bitmap_unite(g);
	}
	if (g->state == PROT_G_UNITING)
		bitmap_check_united(g);
	return false;
}

bool prot_bitmap_busy(const struct prot_group *g, u32 member)
{
	u32 i;

	for (i = 0; i < g->shape.nr_block_ios; i++)
		if (prot_block_io(g, member, i)->busy)
			return true;
	return false;
}

/* An I/O free for a block of @member; NULL: all are in flight. */
static struct prot_block_io *bitmap_free_io(const struct prot_group *g, u32 member)
{
	u32 i;

	for (i = 0; i < g->shape.nr_block_ios; i++)
		if (!prot_block_io(g, member, i)->busy && !prot_block_io(g, member, i)->again)
			return prot_block_io(g, member, i);
	return NULL;
}

/* An I/O that failed and is to be sent once more, with the same bytes; NULL: none. */
static struct prot_block_io *bitmap_failed_io(const struct prot_group *g, u32 member)
{
	u32 i;

	if (!g->meta[member].again)
		return NULL;
	for (i = 0; i < g->shape.nr_block_ios; i++)
		if (prot_block_io(g, member, i)->again)
			return prot_block_io(g, member, i);
	return NULL;
}

/* True: a write of the block is in flight or to be sent once more, so the block must wait. */
static bool bitmap_flying(const struct prot_group *g, u32 member, u32 bitmap, u32 block)
{
	u32 i;

	for (i = 0; i < g->shape.nr_block_ios; i++) {
		const struct prot_block_io *io = prot_block_io(g, member, i);

		if ((io->busy || io->again) && io->bitmap == bitmap && io->block == block)
			return true;
	}
	return false;
}

/* The next block of @bitmap, at or after @from, missing on @member. */
static u32 bitmap_search(const struct prot_group *g, u32 member, u32 bitmap, u32 from)
{
	const u64 *set = prot_dirty(g, member, bitmap);
	u32 b = prot_set_next(set, g->shape.nr_blocks, from);

	while (b != PROT_SET_NONE && bitmap_flying(g, member, bitmap, b))
		b = prot_set_next(set, g->shape.nr_blocks, b + 1);
	return b;
}

/*
 * The next block missing on @member, in turn: behind the last one written, through all bitmaps,
 * and around. Each block is written, however often blocks before it change.
 */
static bool bitmap_turn(const struct prot_group *g, u32 member, u64 todo, u32 *bitmap, u32 *block)
{
	u32 n = g->shape.nr_blocks, at = g->meta[member].turn, i;

	*bitmap = at / n;
	for (i = 0; i <= g->shape.nr_bitmaps; i++) {
		if (todo >> *bitmap & 1) {
			*block = bitmap_search(g, member, *bitmap, i ? 0 : at % n);
			if (*block != PROT_SET_NONE)
				return true;
		}
		*bitmap = *bitmap + 1 < g->shape.nr_bitmaps ? *bitmap + 1 : 0;
	}
	return false;
}

static u32 bitmap_buffer(const struct prot_group *g, const struct prot_block_io *io)
{
	return PROT_BUFFER_BLOCK + (io - prot_block_io(g, 0, 0));
}

static void bitmap_send(struct prot_group *g, u32 member, struct prot_block_io *io,
			struct prot_event *ev)
{
	io->busy = 1;
	io->twice = io->again;
	g->meta[member].again -= io->again;
	io->again = 0;
	prot_records_io(ev, member, PROT_WRITE, bitmap_addr(g, member, io->bitmap, io->block),
			g->cfg.lba, bitmap_buffer(g, io));
	ev->io.tag |= (io - prot_block_io(g, member, 0) + 1) << PROT_TAG_SHIFT;
}

/* Write the next block of @member, if there is one; mostly there is none. */
static bool bitmap_write(struct prot_group *g, u32 member, struct prot_event *ev)
{
	u64 todo = g->meta[member].dirty & bitmap_kept(g, member);
	struct prot_block_io *io = bitmap_failed_io(g, member);
	u32 bitmap, block, n;

	if (io) {
		bitmap_send(g, member, io, ev);
		return true;
	}
	if (!todo)
		return false;
	io = bitmap_free_io(g, member);
	if (!io || !bitmap_turn(g, member, todo, &bitmap, &block))
		return false;
	n = g->shape.nr_bitmaps * g->shape.nr_blocks;
	g->meta[member].turn = bitmap * g->shape.nr_blocks + block + 1;
	if (g->meta[member].turn == n)
		g->meta[member].turn = 0;
	bitmap_fill_block(g, prot_group_buffer(g, bitmap_buffer(g, io)), member, bitmap, block);
	io->bitmap = bitmap;
	io->block = block;
	io->version = *prot_version(g, bitmap, block);
	bitmap_send(g, member, io, ev);
	g->counts.bitmap_writes++;
	return true;
}

/* Write the next block of any member, if there is one. */
bool prot_bitmap_next(struct prot_group *g, struct prot_event *ev)
{
	u64 to = (g->in_sync | g->promoting) & ~g->failed;

	if (g->state == PROT_G_STOPPED || g->state == PROT_G_LOADING)
		return false;
	for (; to; to &= to - 1)
		if (bitmap_write(g, prot_lowest(to), ev))
			return true;
	return false;
}

/* True: the block read is the block wanted, of this absence. */
static bool bitmap_block_valid(const struct prot_group *g, const struct prot_bitmap_hdr *h,
			       u32 member, u32 bitmap, u32 block)
{
	struct prot_bitmap_hdr want;

	bitmap_fill_header(g, &want, member, bitmap, block);
	if (PROT_MUTANT(OLD_MISSED)) {
		want.epoch = h->epoch;
		memcpy(want.uuid, h->uuid, PROT_UUID_LEN);
	}
	return PROT_MUTANT(NO_SUM) || !prot_bitmap_check(h, g->cfg.lba, &g->cfg.owner, &want);
}

/* A block was read while LOADING; an invalid block counts as all ones. */
static void bitmap_take_block(struct prot_group *g, u32 member, u32 bitmap, u32 block)
{
	void *mem = prot_group_buffer(g, PROT_BUFFER_META + member);
	bool valid = bitmap_block_valid(g, mem, member, bitmap, block);
	u32 first, n = bitmap_regions(g, block, &first), i;

	if (PROT_MUTANT(UNION_ONE) && bitmap == PROT_INTENT && member != prot_lowest(g->in_sync))
		return;
	if (!valid)
		memset(prot_bitmap_bytes(mem), 0xff, g->cfg.lba - sizeof(struct prot_bitmap_hdr));
	for (i = 0; i < n; i += 64) {
		u64 bits = bitmap_get(mem, i, n);

		prot_regions_put(g, bitmap_set(bitmap), first + i, bits);
		if (bitmap == PROT_INTENT && valid)
			prot_regions_put(g, prot_durable(g, member), first + i, bits);
	}
}

/* Durable bits changed: ops of this block's regions may go on. */
static void bitmap_wake_block(struct prot_group *g, u32 block)
{
	u32 i;

	for (i = 0; i < g->cfg.ops; i++) {
		struct prot_gop *op = prot_gop(g, i);

		if (op->phase != PROT_P_FREE &&
		    prot_block_of(g, prot_region_of(g, op->addr)) == block)
			prot_ready(g, op);
	}
}

static void bitmap_block_arrived(struct prot_group *g, u32 member, const struct prot_block_io *io)
{
	u32 first, n = bitmap_regions(g, io->block, &first), i;
	void *mem = prot_group_buffer(g, bitmap_buffer(g, io));

	for (i = 0; i < n; i += 64)
		prot_regions_put(g, prot_durable(g, member), first + i, bitmap_get(mem, i, n));
}

/* A block was read. True: @member has failed. */
bool prot_bitmap_result(struct prot_group *g, u32 member, int err)
{
	struct prot_meta *m = &g->meta[member];

	m->busy = 0;
	if (err)
		return true;
	bitmap_take_block(g, member, m->bitmap, m->block);
	m->cursor++;
	return false;
}

/* The @n-th block write of @member has ended. True: @member has failed. */
bool prot_bitmap_written(struct prot_group *g, u32 member, u32 n, int err)
{
	struct prot_block_io *io = prot_block_io(g, member, n);

	io->busy = 0;
	if (prot_class(err) == PROT_C_MEDIUM && !io->twice) {
		io->again = 1;
		g->meta[member].again++;
		return false;
	}
	if (err)
		return true;
	if (!((g->in_sync | g->promoting) >> member & 1))
		return false;	/* the member has left meanwhile */
	bitmap_holds(g, member, io->bitmap, io->block, io->version);
	if (io->bitmap == PROT_INTENT)
		bitmap_block_arrived(g, member, io);
	bitmap_wake_block(g, io->block);
	return false;
}

/* True: no write uses the region, and missed writes are known without the intent bit. */
static bool bitmap_may_clear(struct prot_group *g, u32 region)
{
	return (!prot_region(g, region)->users || PROT_MUTANT(CLEAR_BUSY)) &&
	       (prot_missed_durable(g, region) || PROT_MUTANT(MISSED_LATE));
}

/* Clear idle bits of 64 regions from @at on. */
static void bitmap_age_word(struct prot_group *g, u32 at)
{
	u32 n = g->shape.nr_regions, touched = PROT_SET_NONE;
	u64 recent = prot_set_word(prot_regions(g, PROT_SET_RECENT), n, at);
	u64 old = prot_set_word(prot_regions(g, PROT_SET_INTENT), n, at);

	if (!g->aging_all)
		old &= ~recent;
	if (!PROT_MUTANT(CLEAR_DIRTY))
		old &= ~prot_set_word(prot_regions(g, PROT_SET_UNSYNCED), n, at);
	for (; recent; recent &= recent - 1)
		prot_region_drop(g, PROT_SET_RECENT, at + prot_lowest(recent));
	for (; old; old &= old - 1) {
		u32 region = at + prot_lowest(old);

		if (!bitmap_may_clear(g, region))
			continue;
		prot_region_drop(g, PROT_SET_INTENT, region);
		if (prot_block_of(g, region) != touched)
			prot_bitmap_touch(g, PROT_INTENT, region);
		touched = prot_block_of(g, region);
	}
}

/*
 * A step of the pass over unneeded bits. A region's bit outlives one pass after the region's last
 * write, so regions written now and then keep their bits. True: words were gone through.
 */
bool prot_bitmap_age(struct prot_group *g)
{
	const u64 *intent = prot_regions(g, PROT_SET_INTENT);
	u32 steps, i;

	for (steps = 0; g->aging && steps < 16; steps++) {
		i = prot_set_next(intent, g->shape.nr_regions, g->aging - 1);
		if (i == PROT_SET_NONE || g->failed || g->state != PROT_G_SERVING) {
			g->aging = 0;
			g->aging_all = 0;
			return steps;
		}
		bitmap_age_word(g, i - i % 64);
		g->aging = i - i % 64 + 64 + 1;
	}
	return steps;
}

/* Regions not in use by a write need no intent bit any more: begin a pass, unless one goes on. */
void prot_bitmap_clear(struct prot_group *g)
{
	if (!g->aging)
		g->aging = 1;
}

/* Like prot_bitmap_clear(), also for regions written just now. True: no region has a bit. */
bool prot_bitmap_settle(struct prot_group *g)
{
	if (prot_none(g, PROT_SET_INTENT))
		return true;
	if (!g->aging_all) {
		g->aging = 1;
		g->aging_all = 1;
	}
	return false;
}
