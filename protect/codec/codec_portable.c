// SPDX-License-Identifier: GPL-2.0-only
/*
 * The codec in portable C: eight bytes in a word, CHUNK bytes at a time.
 *
 * A coefficient is a sum of powers of two, so a source chunk is doubled up to
 * seven times and added to each destination where the coefficient has the bit. That
 * costs no table look-ups and lets a compiler vectorise every inner loop.
 */
#include <linux/minmax.h>
#include <linux/string.h>
#include <linux/types.h>

#include "protect/codec/codec.h"

#define CHUNK	128
#define WORDS	(CHUNK / 8)

struct chunk {
	u64 w[WORDS];
};

static inline void chunk_load(struct chunk *c, const u8 *p, size_t n)
{
	if (n < CHUNK)
		memset(c, 0, sizeof(*c));
	memcpy(c, p, n);
}

static inline void chunk_add(struct chunk *c, const struct chunk *d)
{
	unsigned int i;

	for (i = 0; i < WORDS; i++)
		c->w[i] ^= d->w[i];
}

/* Each byte times two: shift, and reduce the bytes that overflowed. */
static inline void chunk_double(struct chunk *c)
{
	unsigned int i;

	for (i = 0; i < WORDS; i++) {
		u64 top = c->w[i] & 0x8080808080808080ULL;

		c->w[i] = (c->w[i] ^ top) << 1 ^ (top >> 7) * (PROT_GF_POLY & 0xff);
	}
}

/* acc[r] += coef[r] * d; d is destroyed. */
static void chunk_mad(struct chunk *acc, const u8 *coef, unsigned int n, struct chunk *d)
{
	unsigned int bit, r, rest = 0;

	for (r = 0; r < n; r++)
		rest |= coef[r];
	for (bit = 0; rest >> bit; bit++) {
		if (bit)
			chunk_double(d);
		for (r = 0; r < n; r++)
			if (coef[r] >> bit & 1)
				chunk_add(&acc[r], d);
	}
}

static void portable_prepare(u8 c, u8 *tbl)
{
	*tbl = c;
}

static void portable_dot(const struct prot_map *map, u8 *const *src, u8 *const *dst, size_t len)
{
	struct chunk acc[PROT_CODEC_M_MAX], d;
	unsigned int r, j;
	size_t pos, n;

	for (pos = 0; pos < len; pos += n) {
		n = min_t(size_t, len - pos, CHUNK);
		memset(acc, 0, map->ndst * sizeof(*acc));
		for (j = 0; j < map->nsrc; j++) {
			chunk_load(&d, src[j] + pos, n);
			chunk_mad(acc, map->tbl + j * map->ndst, map->ndst, &d);
		}
		for (r = 0; r < map->ndst; r++)
			memcpy(dst[r] + pos, &acc[r], n);
	}
}

static void portable_xor(unsigned int nsrc, u8 *const *src, u8 *dst, size_t len)
{
	struct chunk acc, d;
	unsigned int j;
	size_t pos, n;

	for (pos = 0; pos < len; pos += n) {
		n = min_t(size_t, len - pos, CHUNK);
		chunk_load(&acc, src[0] + pos, n);
		for (j = 1; j < nsrc; j++) {
			chunk_load(&d, src[j] + pos, n);
			chunk_add(&acc, &d);
		}
		memcpy(dst + pos, &acc, n);
	}
}

/* Horner's rule, from the last strip down: q = 2 q + d. */
static void portable_pq(unsigned int nsrc, u8 *const *strips, size_t len)
{
	struct chunk p, q, d;
	unsigned int j;
	size_t pos, n;

	for (pos = 0; pos < len; pos += n) {
		n = min_t(size_t, len - pos, CHUNK);
		chunk_load(&p, strips[nsrc - 1] + pos, n);
		q = p;
		for (j = nsrc - 1; j--; ) {
			chunk_load(&d, strips[j] + pos, n);
			chunk_double(&q);
			chunk_add(&p, &d);
			chunk_add(&q, &d);
		}
		memcpy(strips[nsrc] + pos, &p, n);
		memcpy(strips[nsrc + 1] + pos, &q, n);
	}
}

static void portable_mad(const u8 *const *tbl, unsigned int ndst, const u8 *a, const u8 *b,
			 u8 *const *dst, size_t len)
{
	struct chunk acc[PROT_CODEC_M_MAX], d;
	u8 coef[PROT_CODEC_M_MAX];
	unsigned int r;
	size_t pos, n;

	for (r = 0; r < ndst; r++)
		coef[r] = *tbl[r];
	for (pos = 0; pos < len; pos += n) {
		n = min_t(size_t, len - pos, CHUNK);
		chunk_load(&d, a + pos, n);
		if (b) {
			chunk_load(&acc[0], b + pos, n);
			chunk_add(&d, &acc[0]);
		}
		for (r = 0; r < ndst; r++)
			chunk_load(&acc[r], dst[r] + pos, n);
		chunk_mad(acc, coef, ndst, &d);
		for (r = 0; r < ndst; r++)
			memcpy(dst[r] + pos, &acc[r], n);
	}
}

const struct prot_codec_ops prot_codec_portable = {
	.name = "portable",
	.coef_size = 1,
	.prepare = portable_prepare,
	.dot = portable_dot,
	.xor = portable_xor,
	.pq = portable_pq,
	.mad = portable_mad,
};
