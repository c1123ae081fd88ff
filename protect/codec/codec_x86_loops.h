/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The loops of an x86 implementation, written once for any vector. The file
 * that includes this has defined
 *
 *   NAME, LABEL, USABLE	human-readable name of the ops, and their test
 *   PREPARE, COEF_SIZE		tables of a coefficient
 *   vec_t, VB			a vector and its bytes
 *   vload, vstore		at any alignment
 *   vxor, vxor3		sums of two and of three
 *   vdouble			each byte times two
 *   coef_t, coef_load		a coefficient in registers
 *   split_t, split		what a source needs once for all its products
 *   vmul, vmuladd		product of a coefficient and a split source; added to a sum
 *   UNROLL_1 .. UNROLL_4	vectors per step of dot() with that many rows
 *   UNROLL_XOR, UNROLL_PQ	and of those two
 *   UNROLL_MAD_12, UNROLL_MAD_34	and of mad() with that many rows
 *
 * A step takes a few vectors at one position through all sources, with the sums
 * in registers; row count and unrolling are constants, so the small loops below
 * disappear. The last bytes go through a bounce of one vector.
 *
 * Pointers to destinations are copied to locals: stores of bytes may change
 * anything, so the compiler would load a pointer again behind each of them, and
 * the CPU wait for the stores. Strips tend to lie a multiple of 4096 bytes apart,
 * where it cannot distinguish their addresses either: hence a step's loads come
 * before its stores, and its stores strip by strip.
 */
#ifndef PROTECT_CODEC_X86_LOOPS_H
#define PROTECT_CODEC_X86_LOOPS_H

/* @n is a constant, at most 8. */
#define for_each_unrolled(i, n)	_Pragma("GCC unroll 8") for (i = 0; i < (n); i++)

/* Out of line, so that all tails share one small stack frame. */
static __attribute__((__noinline__)) vec_t load_tail(const u8 *p, size_t n)
{
	u8 bounce[VB] __attribute__((aligned(VB))) = { 0 };

	memcpy(bounce, p, n);
	return vload(bounce);
}

static __attribute__((__noinline__)) void store_tail(u8 *p, vec_t v, size_t n)
{
	u8 bounce[VB] __attribute__((aligned(VB)));

	vstore(bounce, v);
	memcpy(p, bounce, n);
}

/* The first @n bytes at @p, zeroes behind them. */
static __always_inline vec_t load_some(const u8 *p, size_t n)
{
	return n < VB ? load_tail(p, n) : vload(p);
}

static __always_inline void store_some(u8 *p, vec_t v, size_t n)
{
	if (n < VB)
		store_tail(p, v, n);
	else
		vstore(p, v);
}

/* @nd rows, @u vectors at @pos; @n below VB only together with @u 1. */
static __always_inline void
dot_step(const struct prot_map *map, u8 *const *src, u8 *const *dst, size_t pos,
	 const unsigned int nd, const unsigned int u, size_t n)
{
	const unsigned int nsrc = map->nsrc;
	const u8 *tbl = map->tbl;
	vec_t acc[PROT_CODEC_M_MAX][8];
	split_t x[8];
	unsigned int j, r, i;

	for_each_unrolled(i, u)
		x[i] = split(load_some(src[0] + pos + i * VB, n));
	for_each_unrolled(r, nd) {
		coef_t c = coef_load(tbl + r * COEF_SIZE);

		for_each_unrolled(i, u)
			acc[r][i] = vmul(c, x[i]);
	}
	for (j = 1; j < nsrc; j++) {
		const u8 *s = src[j] + pos;

		tbl += nd * COEF_SIZE;
		for_each_unrolled(i, u)
			x[i] = split(load_some(s + i * VB, n));
		for_each_unrolled(r, nd) {
			coef_t c = coef_load(tbl + r * COEF_SIZE);

			for_each_unrolled(i, u)
				acc[r][i] = vmuladd(acc[r][i], c, x[i]);
		}
	}
	for_each_unrolled(r, nd)
		for_each_unrolled(i, u)
			store_some(dst[r] + pos + i * VB, acc[r][i], n);
}

static __always_inline void
dot_rows(const struct prot_map *map, u8 *const *src, u8 *const *dst, size_t len,
	 const unsigned int nd, const unsigned int u)
{
	u8 *to[PROT_CODEC_M_MAX];
	unsigned int r;
	size_t pos = 0;

	for_each_unrolled(r, nd)
		to[r] = dst[r];

	for (; len - pos >= u * VB; pos += u * VB)
		dot_step(map, src, to, pos, nd, u, VB);
	for (; len - pos >= VB; pos += VB)
		dot_step(map, src, to, pos, nd, 1, VB);
	if (pos < len)
		dot_step(map, src, to, pos, nd, 1, len - pos);
}

static void dot(const struct prot_map *map, u8 *const *src, u8 *const *dst, size_t len)
{
	switch (map->ndst) {
	case 1:
		dot_rows(map, src, dst, len, 1, UNROLL_1);
		break;
	case 2:
		dot_rows(map, src, dst, len, 2, UNROLL_2);
		break;
	case 3:
		dot_rows(map, src, dst, len, 3, UNROLL_3);
		break;
	case 4:
		dot_rows(map, src, dst, len, 4, UNROLL_4);
		break;
	}
}

static __always_inline void
xor_step(unsigned int nsrc, u8 *const *src, u8 *dst, size_t pos, const unsigned int u,
	 size_t n)
{
	vec_t acc[8];
	unsigned int j, i;

	for_each_unrolled(i, u)
		acc[i] = load_some(src[0] + pos + i * VB, n);
	for (j = 1; j + 1 < nsrc; j += 2) {
		const u8 *s = src[j] + pos, *t = src[j + 1] + pos;

		for_each_unrolled(i, u)
			acc[i] = vxor3(acc[i], load_some(s + i * VB, n), load_some(t + i * VB, n));
	}
	if (j < nsrc)
		for_each_unrolled(i, u)
			acc[i] = vxor(acc[i], load_some(src[j] + pos + i * VB, n));
	for_each_unrolled(i, u)
		store_some(dst + pos + i * VB, acc[i], n);
}

static void xor(unsigned int nsrc, u8 *const *src, u8 *dst, size_t len)
{
	size_t pos = 0;

	for (; len - pos >= UNROLL_XOR * VB; pos += UNROLL_XOR * VB)
		xor_step(nsrc, src, dst, pos, UNROLL_XOR, VB);
	for (; len - pos >= VB; pos += VB)
		xor_step(nsrc, src, dst, pos, 1, VB);
	if (pos < len)
		xor_step(nsrc, src, dst, pos, 1, len - pos);
}

/* Horner's rule, from the last strip down: q = 2 q + d. */
static __always_inline void
pq_step(unsigned int nsrc, u8 *const *strips, u8 *to_p, u8 *to_q, size_t pos,
	const unsigned int u, size_t n)
{
	vec_t p[8], q[8];
	unsigned int j, i;

	for_each_unrolled(i, u) {
		p[i] = load_some(strips[nsrc - 1] + pos + i * VB, n);
		q[i] = p[i];
	}
	for (j = nsrc - 1; j--; ) {
		const u8 *s = strips[j] + pos;

		for_each_unrolled(i, u) {
			vec_t d = load_some(s + i * VB, n);

			p[i] = vxor(p[i], d);
			q[i] = vxor(vdouble(q[i]), d);
		}
	}
	for_each_unrolled(i, u)
		store_some(to_p + pos + i * VB, p[i], n);
	for_each_unrolled(i, u)
		store_some(to_q + pos + i * VB, q[i], n);
}

static void pq(unsigned int nsrc, u8 *const *strips, size_t len)
{
	u8 *p = strips[nsrc], *q = strips[nsrc + 1];
	size_t pos = 0;

	for (; len - pos >= UNROLL_PQ * VB; pos += UNROLL_PQ * VB)
		pq_step(nsrc, strips, p, q, pos, UNROLL_PQ, VB);
	for (; len - pos >= VB; pos += VB)
		pq_step(nsrc, strips, p, q, pos, 1, VB);
	if (pos < len)
		pq_step(nsrc, strips, p, q, pos, 1, len - pos);
}

static __always_inline void
mad_step(const coef_t *c, const unsigned int nd, const u8 *a, const u8 *b,
	 u8 *const *dst, size_t pos, const unsigned int u, size_t n)
{
	vec_t acc[PROT_CODEC_M_MAX][8];
	split_t x[8];
	unsigned int r, i;

	if (b)
		for_each_unrolled(i, u)
			x[i] = split(vxor(load_some(a + pos + i * VB, n),
					  load_some(b + pos + i * VB, n)));
	else
		for_each_unrolled(i, u)
			x[i] = split(load_some(a + pos + i * VB, n));
	for_each_unrolled(r, nd)
		for_each_unrolled(i, u)
			acc[r][i] = vmuladd(load_some(dst[r] + pos + i * VB, n), c[r], x[i]);
	for_each_unrolled(r, nd)
		for_each_unrolled(i, u)
			store_some(dst[r] + pos + i * VB, acc[r][i], n);
}

static __always_inline void
mad_rows(const u8 *const *tbl, const unsigned int nd, const u8 *a, const u8 *b,
	 u8 *const *dst, size_t len, const unsigned int u)
{
	u8 *to[PROT_CODEC_M_MAX];
	coef_t c[PROT_CODEC_M_MAX];
	unsigned int r;
	size_t pos = 0;

	for_each_unrolled(r, nd) {
		c[r] = coef_load(tbl[r]);
		to[r] = dst[r];
	}

	for (; len - pos >= u * VB; pos += u * VB)
		mad_step(c, nd, a, b, to, pos, u, VB);
	for (; len - pos >= VB; pos += VB)
		mad_step(c, nd, a, b, to, pos, 1, VB);
	if (pos < len)
		mad_step(c, nd, a, b, to, pos, 1, len - pos);
}

static void mad(const u8 *const *tbl, unsigned int ndst, const u8 *a, const u8 *b,
		u8 *const *dst, size_t len)
{
	switch (ndst) {
	case 1:
		mad_rows(tbl, 1, a, b, dst, len, UNROLL_MAD_12);
		break;
	case 2:
		mad_rows(tbl, 2, a, b, dst, len, UNROLL_MAD_12);
		break;
	case 3:
		mad_rows(tbl, 3, a, b, dst, len, UNROLL_MAD_34);
		break;
	case 4:
		mad_rows(tbl, 4, a, b, dst, len, UNROLL_MAD_34);
		break;
	}
}

const struct prot_codec_ops NAME = {
	.name = LABEL,
	.flags = PROT_CODEC_FPU,
	.coef_size = COEF_SIZE,
	.usable = USABLE,
	.prepare = PREPARE,
	.dot = dot,
	.xor = xor,
	.pq = pq,
	.mad = mad,
};

#endif
