// SPDX-License-Identifier: GPL-2.0-only
/* AVX2: two shuffles a product, 32 bytes at a time. */
#include <linux/string.h>
#include <linux/types.h>

#include "protect/codec/codec_x86.h"
#include "protect/codec/codec_x86_intrin.h"

#define NAME		prot_codec_avx2
#define LABEL		"avx2"
#define USABLE		prot_codec_has_avx2
#define PREPARE		prot_gf_nibbles
#define COEF_SIZE	PROT_GF_NIBBLES
#define VB		32
#define UNROLL_1	4
#define UNROLL_2	2
#define UNROLL_3	2
#define UNROLL_4	2
#define UNROLL_XOR	4
#define UNROLL_PQ	4
#define UNROLL_MAD_12	2
#define UNROLL_MAD_34	1

typedef __m256i vec_t;

/* Products with the low and the high nibble; the table repeats in both lanes. */
typedef struct {
	vec_t lo, hi;
} coef_t, split_t;

static inline vec_t vload(const u8 *p)
{
	return _mm256_loadu_si256((const __m256i *)p);
}

static inline void vstore(u8 *p, vec_t v)
{
	_mm256_storeu_si256((__m256i *)p, v);
}

static inline vec_t vxor(vec_t a, vec_t b)
{
	return _mm256_xor_si256(a, b);
}

static inline vec_t vxor3(vec_t a, vec_t b, vec_t c)
{
	return vxor(a, vxor(b, c));
}

static inline vec_t vdouble(vec_t a)
{
	vec_t top = _mm256_cmpgt_epi8(_mm256_setzero_si256(), a);
	vec_t poly = _mm256_set1_epi8(PROT_GF_POLY & 0xff);

	return vxor(_mm256_add_epi8(a, a), _mm256_and_si256(top, poly));
}

static inline coef_t coef_load(const u8 *p)
{
	return (coef_t) {
		_mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)p)),
		_mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(p + 16))),
	};
}

static inline split_t split(vec_t v)
{
	vec_t low = _mm256_set1_epi8(15);

	return (split_t) {
		_mm256_and_si256(v, low),
		_mm256_and_si256(_mm256_srli_epi64(v, 4), low),
	};
}

static inline vec_t vmul(coef_t c, split_t x)
{
	return vxor(_mm256_shuffle_epi8(c.lo, x.lo), _mm256_shuffle_epi8(c.hi, x.hi));
}

static inline vec_t vmuladd(vec_t acc, coef_t c, split_t x)
{
	return vxor3(acc, _mm256_shuffle_epi8(c.lo, x.lo), _mm256_shuffle_epi8(c.hi, x.hi));
}

#include "protect/codec/codec_x86_loops.h"
