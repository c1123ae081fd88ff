// SPDX-License-Identifier: GPL-2.0-only
/* GFNI with AVX-512: one bit-matrix instruction a product, 64 bytes at a time. */
#include <linux/string.h>
#include <linux/types.h>

#include "protect/codec/codec_x86.h"
#include "protect/codec/codec_x86_intrin.h"

#define NAME		prot_codec_gfni_avx512
#define LABEL		"gfni-avx512"
#define USABLE		prot_codec_has_gfni_avx512
#define PREPARE		prot_codec_prepare_affine
#define COEF_SIZE	8
#define VB		64
#define UNROLL_1	4
#define UNROLL_2	4
#define UNROLL_3	2
#define UNROLL_4	2
#define UNROLL_XOR	4
#define UNROLL_PQ	4
#define UNROLL_MAD_12	4
#define UNROLL_MAD_34	4

typedef __m512i vec_t, coef_t, split_t;

static inline vec_t vload(const u8 *p)
{
	return _mm512_loadu_si512((const __m512i *)p);
}

static inline void vstore(u8 *p, vec_t v)
{
	_mm512_storeu_si512((__m512i *)p, v);
}

static inline vec_t vxor(vec_t a, vec_t b)
{
	return _mm512_xor_si512(a, b);
}

static inline vec_t vxor3(vec_t a, vec_t b, vec_t c)
{
	return _mm512_ternarylogic_epi64(a, b, c, 0x96);
}

static inline coef_t coef_load(const u8 *p)
{
	long long m;

	memcpy(&m, p, sizeof(m));
	return _mm512_set1_epi64(m);
}

static inline split_t split(vec_t v)
{
	return v;
}

static inline vec_t vmul(coef_t c, split_t x)
{
	return _mm512_gf2p8affine_epi64_epi8(x, c, 0);
}

static inline vec_t vmuladd(vec_t acc, coef_t c, split_t x)
{
	return vxor(acc, vmul(c, x));
}

/* The instruction that multiplies in a field has another polynomial. */
static inline vec_t vdouble(vec_t a)
{
	return vmul(_mm512_set1_epi64(PROT_GF_AFFINE_2), a);
}

#include "protect/codec/codec_x86_loops.h"
