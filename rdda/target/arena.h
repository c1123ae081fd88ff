/* SPDX-License-Identifier: GPL-2.0-only */
/* Memory that is given to sessions. */
#ifndef TGT_ARENA_H
#define TGT_ARENA_H

#include <linux/mm.h>
#include <linux/scatterlist.h>

#include "rdda/wire.h"

struct bio;
struct ib_mr;
struct ib_sge;
struct page;
struct tgt_channel;
struct tgt_session;

/* Physically contiguous pages behind one memory region. */
struct tgt_piece {
	struct page *page;	/* the first page; zeroed before the client gets the piece */
	struct scatterlist sg;	/* the piece, mapped for the session's device */
	struct ib_mr *mr;	/* remote read and write, zero based */
};

struct tgt_arena {
	u32 bytes;			/* granted in the login */
	u32 shift;			/* log2 of a piece's size */
	unsigned int nr;
	bool mapped;
	struct tgt_piece *piece;
};

/*
 * Return: the piece that holds the whole payload as one run, as nearly always; NULL: the payload is
 * several runs. @at: set to the payload's offset in the piece.
 */
static inline const struct tgt_piece *tgt_arena_piece(const struct tgt_arena *a,
						      const struct rdda_parsed *p, u32 *at)
{
	u32 off = p->off[0], size = 1U << a->shift;

	*at = off & (size - 1);
	if (*at + p->bytes > size || (p->len[1] && p->off[1] != off + p->len[0]))
		return NULL;
	return &a->piece[off >> a->shift];
}

/*
 * Return: the address of a byte of the arena, valid to the end of the byte's page. @off: checked.
 */
static inline void *tgt_arena_at(const struct tgt_arena *a, u32 off)
{
	return page_address(a->piece[off >> a->shift].page) + (off & ((1U << a->shift) - 1));
}

extern unsigned long tgt_arena_used;
unsigned long tgt_arena_limit(void);
unsigned int tgt_arena_share(unsigned int use, unsigned int clients);
u32 tgt_arena_reserve(unsigned int *channels, unsigned int clients, unsigned long old_bytes,
		      unsigned int old_channels);
void tgt_arena_unreserve(u32 bytes, unsigned int channels);
int tgt_arena_alloc(struct tgt_session *s);
int tgt_arena_register(struct tgt_session *s, struct tgt_channel *ch);
void tgt_arena_unregister(struct tgt_session *s);
void tgt_arena_free(struct tgt_session *s);
void tgt_arena_exit(void);
void tgt_arena_copy(const struct tgt_session *s, void *to, u32 off, u32 len);
int tgt_arena_bio(struct tgt_session *s, struct bio *bio, u32 off, u32 len);
unsigned int tgt_arena_sge(struct tgt_session *s, struct ib_sge *sge, unsigned int max,
			   u32 off, u32 len);

#endif
