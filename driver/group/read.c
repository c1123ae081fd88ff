// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reads around the engine, straight to the members, as most reads of a clean group.
 * protect/engine/bypass.h has the rules, and the format of g->writes.
 *
 * A read begun after a write's acknowledgment never misses the write: if a write went on without a
 * member, the mask lost the member before the write ended, and a reader that sees the write's end
 * in the bucket sees the mask, too.
 */
#include <linux/math64.h>
#include <linux/slab.h>

#include "driver/group/group.h"
#include "driver/trace.h"
#include "driver/volume/volume.h"
#include "protect/engine/bypass.h"

#define READ_BUCKETS	4096		/* a power of two */

static void read_count(struct mesh_group *g, u64 addr, u64 length, int add)
{
	u64 at = div_u64(addr, prot_bypass_bytes(&g->cfg));
	u64 last = div_u64(addr + length - 1, prot_bypass_bytes(&g->cfg));

	for (; at <= last; at++)
		atomic_add(add, &g->writes[at % READ_BUCKETS]);
}

/* Before the I/O of a write is sent; with the engine owned. */
void mesh_group_write_begins(struct mesh_group *g, u64 addr, u64 length)
{
	read_count(g, addr, length, PROT_BYPASS_BEGUN + 1);
}

/* The rows of a write are free; with the engine owned. */
void mesh_group_write_ended(struct mesh_group *g, u64 addr, u64 length)
{
	/* the mask without a member that failed is seen first; pairs with read_may() */
	smp_mb__before_atomic();
	read_count(g, addr, length, -1);
}

/* The engine begins again, without the earlier writes; with the engine owned. */
void mesh_group_reads_reset(struct mesh_group *g)
{
	u32 i;

	for (i = 0; i < READ_BUCKETS; i++)
		atomic_set(&g->writes[i], prot_bypass_reset(atomic_read(&g->writes[i])));
}

/* Set the mask of members that may be read around the engine; with the engine owned. */
void mesh_group_reads_allow(struct mesh_group *g)
{
	u64 mask = 0;

	if (g->state == MESH_GROUP_ACTIVE)
		mask = prot_bypass_members(g->engine) & ~mesh_evict_frozen(g);
	/* with fewer members, a reader that is cut off might not notice that other hosts go on */
	if (hweight64(mask) < g->held)
		mask = 0;
	if (mask != g->readable)
		WRITE_ONCE(g->readable, mask);
}

/*
 * Sum up a read's buckets; every write changes the sum. Return: true if no bucket has an open
 * write.
 */
static bool read_sum(struct mesh_group *g, u64 addr, u64 length, u32 *sum)
{
	u64 at = div_u64(addr, prot_bypass_bytes(&g->cfg));
	u64 last = div_u64(addr + length - 1, prot_bypass_bytes(&g->cfg));
	u32 words = 0, v;

	for (*sum = 0; at <= last; at++) {
		v = atomic_read(&g->writes[at % READ_BUCKETS]);
		*sum += v;
		words |= v;
	}
	return prot_bypass_may(words);
}

/* All reads of a MiB go to the same member, so sequential reads of the MiB stay one stream. */
static u32 read_copy(u64 mask, u64 addr)
{
	u32 n = hash_64(addr >> 20, 16) % hweight64(mask);

	while (n--)
		mask &= mask - 1;
	return __ffs64(mask);
}

/*
 * Do prot_bypass_piece() for slots @readable. Return: true if the piece's slot is one of @readable.
 */
static bool read_piece(const struct mesh_group *g, u64 readable, u64 addr, u64 length,
		       struct prot_io *io)
{
	prot_bypass_piece(&g->cfg, g->cfg.m ? 0 : read_copy(readable, addr), addr, length, io);
	return readable >> io->member & 1;
}

/*
 * Choose the slots for a read. @seen: set to the sum of the read's buckets before the read is sent.
 * Return: slots; 0: the read is for the engine.
 */
static u64 read_may(struct mesh_group *g, u64 addr, u64 length, u32 *seen)
{
	if (!READ_ONCE(g->readable) || !read_sum(g, addr, length, seen))
		return 0;
	/*
	 * a reader that sees the end of a write without a member sees the mask, too; pairs with
	 * mesh_group_write_ended()
	 */
	smp_rmb();
	return READ_ONCE(g->readable);
}

/* All data of a read is there. Return: true if no write came between, so the read was right. */
static bool read_undisturbed(struct mesh_group *g, u64 addr, u64 length, u32 seen)
{
	u32 sum;

	smp_rmb();	/* the data was there before the buckets are read */
	read_sum(g, addr, length, &sum);
	return prot_bypass_right(seen, sum);
}

/*
 * Begin a read of one piece. @io: the read's place in the group, set to the place on the member.
 * @seen: for mesh_group_read_right(). Return: the member; NULL: the read has more pieces, or is for
 * the engine. In an RCU read section.
 */
struct mesh_member *mesh_group_read_single(struct mesh_group *g, struct prot_io *io, u32 *seen)
{
	u64 length = io->length, readable = read_may(g, io->addr, length, seen);

	if (!readable || !read_piece(g, readable, io->addr, length, io) || io->length != length)
		return NULL;
	mesh_group_used(g);
	return g->slots[io->member].member;
}

/*
 * A read around the engine has ended, with @err. @addr: the read's place in the group. Return: true
 * if the read is over; false: the engine is to read again. Any context.
 */
bool mesh_group_read_right(struct mesh_group *g, u64 addr, u64 length, u32 seen, int err)
{
	if (likely(!err && read_undisturbed(g, addr, length, seen))) {
		this_cpu_inc(g->cpu_counts->direct);
		return true;
	}
	atomic64_inc(&g->redone);
	trace_mesh_group_redone(g, addr, length);
	return false;
}

/* True: a part may go to the members directly; mesh_group_read_next() then gives the pieces. */
bool mesh_group_read_begin(struct mesh_part *part)
{
	struct mesh_group *g = part->group;
	struct prot_io io __mesh_uninit;
	u64 pos;

	part->readable = read_may(g, part->addr, part->length, &part->seen);
	if (!part->readable)
		return false;
	for (pos = 0; pos < part->length; pos += io.length)
		if (!read_piece(g, part->readable, part->addr + pos, part->length - pos, &io))
			return false;
	atomic_set(&part->pieces, 1);
	mesh_group_used(g);
	return true;
}

/*
 * Get the next piece. @io: set to the piece's length and byte of the member. Return: the member;
 * NULL: no more pieces.
 */
struct mesh_member *mesh_group_read_next(struct mesh_part *part, struct prot_io *io)
{
	if (part->pos == part->length)
		return NULL;
	read_piece(part->group, part->readable, part->addr + part->pos, part->length - part->pos,
		   io);
	part->pos += io->length;
	atomic_inc(&part->pieces);
	return part->group->slots[io->member].member;
}

/* A piece has ended, or, as the last, all were sent. Any context. */
void mesh_group_read_ended(struct mesh_part *part, int err)
{
	struct mesh_group *g = part->group;

	if (unlikely(err))
		WRITE_ONCE(part->worst, err);
	if (!atomic_dec_and_test(&part->pieces))
		return;
	if (mesh_group_read_right(g, part->addr, part->length, part->seen, part->worst)) {
		part->done(part, 0);
		return;
	}
	part->flags |= prot_bypass_flags(&g->cfg, part->worst);
	part->pos = 0;
	part->worst = 0;
	mesh_group_post(g, &part->msg);
}

/*
 * A piece of a read around the engine has ended on @m with @err. Errors to be retried are left to
 * the engine's read; a failed member has to leave before the engine reads elsewhere. Any context.
 */
void mesh_group_read_failed(struct mesh_group *g, const struct mesh_member *m, int err)
{
	u32 i;

	if (err == -ENOLINK || err == -ENOMEM || err == -EAGAIN || !prot_bypass_gone(err))
		return;
	for (i = 0; i < g->width; i++)
		if (READ_ONCE(g->slots[i].member) == m)
			atomic64_or(BIT_ULL(i), &g->unfit);
}

/* Report members that failed such reads to the engine; with the engine owned. */
void mesh_group_reads_failed(struct mesh_group *g)
{
	u64 slots;
	u32 i;

	if (likely(!atomic64_read(&g->unfit)))
		return;
	slots = atomic64_xchg(&g->unfit, 0);
	/* a group attached for reading has no member out: the engine reads from other members */
	if (g->state != MESH_GROUP_ACTIVE || g->cfg.ro)
		return;
	for (i = 0; i < g->width; i++)
		if (slots & g->engine->in_sync & BIT_ULL(i))
			prot_group_fail(g->engine, i);
}

int mesh_group_reads_init(struct mesh_group *g)
{
	g->writes = kvcalloc(READ_BUCKETS, sizeof(*g->writes), GFP_KERNEL);
	return g->writes ? 0 : -ENOMEM;
}

void mesh_group_reads_exit(struct mesh_group *g)
{
	kvfree(g->writes);
}
