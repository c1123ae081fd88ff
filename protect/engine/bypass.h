/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reads that go around the engine, straight to the members: allowed or not, right or not. The
 * caller has a word for each bucket of addresses, and sends the I/O.
 *
 *   word    | 20 bits: writes begun | 12 bits: writes whose rows are not free |
 *
 *   read:   no write open in the buckets, the members needed are whole --> I/O
 *           all ended well, and the sum of the words is unchanged --> the read was right
 *           else the engine reads again, like any other read
 *           a member that has failed leaves, as by a read of the engine
 *
 * A write is counted before its first I/O is sent, and until PROT_EV_FREE, or PROT_EV_DONE with
 * @freed. So no read returns data that a crash could lose, and a read begun after the
 * acknowledgment of a write never misses the write.
 */
#ifndef PROTECT_BYPASS_H
#define PROTECT_BYPASS_H

#include <linux/minmax.h>

#include "protect/engine/geometry.h"
#include "protect/mutant.h"

#define PROT_BYPASS_MIRROR	0x100000U	/* bytes of a bucket, of mirrors */
#define PROT_BYPASS_OPEN	0xfffU		/* writes whose rows are not free */
#define PROT_BYPASS_BEGUN	(PROT_BYPASS_OPEN + 1)	/* one more */

/* Bytes of a bucket; ec: a stripe, because no write crosses stripes. */
static inline u32 prot_bypass_bytes(const struct prot_group_config *c)
{
	return c->m ? (u32)c->k * c->strip : PROT_BYPASS_MIRROR;
}

/* The word after the engine has begun again, without the engine's earlier writes. */
static inline u32 prot_bypass_reset(u32 word)
{
	return (word & ~PROT_BYPASS_OPEN) + PROT_BYPASS_BEGUN;
}

/*
 * Members that may be read while the group serves. The caller must compute them again before a
 * request ends under changed conditions. None while copies may differ, or while unreadable
 * rows wait for the scrub's op. A scrub writes only sectors that were unreadable or differed
 * before.
 */
static inline u64 prot_bypass_members(const struct prot_group *g)
{
	if ((g->unsynced || g->repairs) && !PROT_MUTANT(BYPASS_DIRTY))
		return 0;
	return g->in_sync & ~g->failed & ~g->avoid;
}

/* True: a read may begin; @words: of the read's buckets, ORed. */
static inline bool prot_bypass_may(u32 words)
{
	return !(words & PROT_BYPASS_OPEN) || PROT_MUTANT(BYPASS_OPEN);
}

/* True: no write came between; @before and @after: sums of the words of the buckets. */
static inline bool prot_bypass_right(u32 before, u32 after)
{
	return before == after || PROT_MUTANT(BYPASS_BLIND);
}

/*
 * Flags of the engine's read after a bypass read that ended with @err. For a mirror, the engine
 * may read another copy: unreadable sectors are to be rewritten nonetheless. With parity, the
 * engine reads the same member.
 */
static inline u8 prot_bypass_flags(const struct prot_group_config *c, int err)
{
	return prot_class(err) == PROT_C_MEDIUM && !c->m && !PROT_MUTANT(BYPASS_UNREAD) ?
	       PROT_UNREAD : 0;
}

/*
 * True: the member of a read that ended with @err has to leave by prot_group_fail(), as after a
 * read of the engine. Otherwise all reads of the member would be done twice, until a write fails.
 * @err must not be one of the caller's own retry errors.
 */
static inline bool prot_bypass_gone(int err)
{
	return prot_class(err) == PROT_C_GONE && !PROT_MUTANT(BYPASS_GONE);
}

/*
 * The part of one member in @length bytes from @addr on: member, place, length. @copy: the member
 * to be read, of a mirror.
 */
static inline void prot_bypass_piece(const struct prot_group_config *c, u32 copy, u64 addr,
				     u64 length, struct prot_io *io)
{
	u64 stripe;
	u32 at;

	io->member = copy;
	io->length = length;
	if (c->m) {
		stripe = div_u64_rem(addr, prot_bypass_bytes(c), &at);
		io->member = prot_geometry_member(c->width, stripe, at / c->strip);
		at %= c->strip;
		io->length = min_t(u64, length, c->strip - at);
		addr = stripe * c->strip + at;
	}
	io->addr = c->data[io->member] + addr;
}

#endif
