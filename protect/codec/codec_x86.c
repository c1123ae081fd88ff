// SPDX-License-Identifier: GPL-2.0-only
/*
 * Parts of the x86 implementations around the loops. This file is compiled without any -m flag,
 * so nothing here touches a vector register not claimed by a kernel.
 */
#include <linux/string.h>
#include <linux/types.h>

#include "protect/codec/codec_x86.h"

#ifdef __KERNEL__
#include <asm/cpufeature.h>
#include <asm/fpu/api.h>

static bool x86_has_ymm(void)
{
	return cpu_has_xfeatures(XFEATURE_MASK_SSE | XFEATURE_MASK_YMM, NULL);
}

static bool x86_has_zmm(void)
{
	return x86_has_ymm() && cpu_has_xfeatures(XFEATURE_MASK_AVX512, NULL);
}

#define HAS_SSSE3	boot_cpu_has(X86_FEATURE_SSSE3)
#define HAS_AVX2	(boot_cpu_has(X86_FEATURE_AVX2) && x86_has_ymm())
#define HAS_GFNI	boot_cpu_has(X86_FEATURE_GFNI)
#define HAS_AVX512	(boot_cpu_has(X86_FEATURE_AVX512BW) && x86_has_zmm())
#else
/* The compiler's test includes that the operating system saves the registers. */
#define HAS_SSSE3	__builtin_cpu_supports("ssse3")
#define HAS_AVX2	__builtin_cpu_supports("avx2")
#define HAS_GFNI	__builtin_cpu_supports("gfni")
#define HAS_AVX512	__builtin_cpu_supports("avx512bw")
#endif

bool prot_codec_has_ssse3(void)
{
	return HAS_SSSE3;
}

bool prot_codec_has_avx2(void)
{
	return HAS_AVX2;
}

bool prot_codec_has_gfni_avx2(void)
{
	return HAS_AVX2 && HAS_GFNI;
}

bool prot_codec_has_gfni_avx512(void)
{
	return HAS_AVX512 && HAS_GFNI;
}

void prot_codec_prepare_affine(u8 c, u8 *tbl)
{
	u64 m = prot_gf_affine(c);

	memcpy(tbl, &m, sizeof(m));
}

const struct prot_codec_ops *const prot_codec_x86_list[] = {
	&prot_codec_gfni_avx512,
	&prot_codec_gfni_avx2,
	&prot_codec_avx2,
	&prot_codec_ssse3,
	&prot_codec_portable,
	NULL,
};
