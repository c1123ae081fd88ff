// SPDX-License-Identifier: GPL-2.0-only
/* SSSE3: two shuffles a product, 16 bytes at a time. */
#include <linux/string.h>
#include <linux/types.h>

#include "protect/codec/codec_x86.h"
#include "protect/codec/codec_x86_intrin.h"

#define NAME		prot_codec_ssse3
#define LABEL		"ssse3"
#define USABLE		prot_codec_has_ssse3
#define PREPARE		prot_gf_nibbles
#define COEF_SIZE	PROT_GF_NIBBLES
#define VB		16
#define UNROLL_1	4
#define UNROLL_2	2
#define UNROLL_3	2
#define UNROLL_4	2
#define UNROLL_XOR	4
#define UNROLL_PQ	4
#define UNROLL_MAD_12	2
#define UNROLL_MAD_34	1

typedef __m128i vec_t;

/* Products with the low and the high nibble. */
typedef struct {
	vec_t lo, hi;
} coef_t, split_t;

static inline vec_t vload(const u8 *p)
{
	return _mm_loadu_si128((const __m128i *)p);
}

static inline void vstore(u8 *p, vec_t v)
{
	_mm_storeu_si128((__m128i *)p, v);
}

static inline vec_t vxor(vec_t a, vec_t b)
{
	return _mm_xor_si128(a, b);
}

static inline vec_t vxor3(vec_t a, vec_t b, vec_t c)
{
	return vxor(a, vxor(b, c));
}

static inline vec_t vdouble(vec_t a)
{
	vec_t top = _mm_cmplt_epi8(a, _mm_setzero_si128());
	vec_t poly = _mm_set1_epi8(PROT_GF_POLY & 0xff);

	return vxor(_mm_add_epi8(a, a), _mm_and_si128(top, poly));
}

static inline coef_t coef_load(const u8 *p)
{
	return (coef_t) { vload(p), vload(p + 16) };
}

static inline split_t split(vec_t v)
{
	vec_t low = _mm_set1_epi8(15);

	return (split_t) {
		_mm_and_si128(v, low),
		_mm_and_si128(_mm_srli_epi64(v, 4), low),
	};
}

static inline vec_t vmul(coef_t c, split_t x)
{
	return vxor(_mm_shuffle_epi8(c.lo, x.lo), _mm_shuffle_epi8(c.hi, x.hi));
}

static inline vec_t vmuladd(vec_t acc, coef_t c, split_t x)
{
	return vxor3(acc, _mm_shuffle_epi8(c.lo, x.lo), _mm_shuffle_epi8(c.hi, x.hi));
}

#include "protect/codec/codec_x86_loops.h"
