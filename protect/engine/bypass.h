/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reads that go around the engine, straight to the members: which may, and which were right. The
 * caller has a word for each bucket of addresses, and sends the I/O.
 *
 *   word    | 20 bits: writes begun | 12 bits: writes whose rows are not free |
 *
 *   read:   none is open in its buckets, the members it needs are whole --> I/O
 *           all ended well, and the words add up to what they did before --> it was right
 *           else the engine reads it again, like one that never came here
 *           a member that has failed leaves, as by a read of the engine
 *
 * A write is counted before any I/O of it is sent, and until PROT_EV_FREE, or a PROT_EV_DONE that
 * says so. So nothing is returned that a crash could lose, and no read that began after a write was
 * acknowledged misses it.
 */
#ifndef PROTECT_BYPASS_H
#define PROTECT_BYPASS_H

#include <linux/minmax.h>

#include "protect/engine/geometry.h"
#include "protect/mutant.h"

#define PROT_BYPASS_MIRROR	0x100000U	/* bytes of a bucket, of mirrors */
#define PROT_BYPASS_OPEN	0xfffU		/* writes whose rows are not free */
#define PROT_BYPASS_BEGUN	(PROT_BYPASS_OPEN + 1)	/* one more */

/* Bytes of a bucket; of ec a stripe: no write leaves it. */
static inline u32 prot_bypass_bytes(const struct prot_group_config *c)
{
	return c->m ? (u32)c->k * c->strip : PROT_BYPASS_MIRROR;
}

/* A word once the engine has begun again, without the writes that it had. */
static inline u32 prot_bypass_reset(u32 word)
{
	return (word & ~PROT_BYPASS_OPEN) + PROT_BYPASS_BEGUN;
}

/*
 * Members that may be read while the group serves; to be found out before a request ends under
 * what has changed. None while copies may differ, or unreadable sectors are rewritten. A scrub
 * writes only what cannot be read, or what differed before.
 */
static inline u64 prot_bypass_members(const struct prot_group *g)
{
	if ((g->unsynced || g->repairs) && !PROT_MUTANT(BYPASS_DIRTY))
		return 0;
	return g->in_sync & ~g->failed & ~g->avoid;
}

/* Whether a read may begin; @words: of its buckets, ORed. */
static inline bool prot_bypass_may(u32 words)
{
	return !(words & PROT_BYPASS_OPEN) || PROT_MUTANT(BYPASS_OPEN);
}

/* Whether no write came between; @before and @after: the words of its buckets, added up. */
static inline bool prot_bypass_right(u32 before, u32 after)
{
	return before == after || PROT_MUTANT(BYPASS_BLIND);
}

/*
 * Flags of the engine's read after one that ended with @err. Of mirrors it may be of another copy:
 * what could not be read is to be rewritten nonetheless. With parity it is of the same member.
 */
static inline u8 prot_bypass_flags(const struct prot_group_config *c, int err)
{
	return prot_class(err) == PROT_C_MEDIUM && !c->m && !PROT_MUTANT(BYPASS_UNREAD) ?
	       PROT_UNREAD : 0;
}

/*
 * Whether the member of a read that ended with @err is to leave, as after a read of the engine:
 * prot_group_fail(). Else all of its reads would be done twice, until a write meets it. The
 * caller's errors that are to be sent again are not for this.
 */
static inline bool prot_bypass_gone(int err)
{
	return prot_class(err) == PROT_C_GONE && !PROT_MUTANT(BYPASS_GONE);
}

/*
 * What one member has of @length bytes from @addr on: which, where, how much. @copy: of a mirror,
 * the one to be read.
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
