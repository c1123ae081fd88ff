/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The codec's x86-64 implementations. Not pure files: each is compiled with the
 * -m flags of its instruction set (protect/codec/codec.mk) and must only run where
 * its usable() says so.
 */
#ifndef PROTECT_CODEC_X86_H
#define PROTECT_CODEC_X86_H

#include "protect/codec/codec.h"

extern const struct prot_codec_ops prot_codec_ssse3;
extern const struct prot_codec_ops prot_codec_avx2;
extern const struct prot_codec_ops prot_codec_gfni_avx2;
extern const struct prot_codec_ops prot_codec_gfni_avx512;

/* All of them, NULL at the end; prot_codec_portable is the last. */
extern const struct prot_codec_ops *const prot_codec_x86_list[];

/* The parts that run without vector registers, in codec_x86.c. */
bool prot_codec_has_ssse3(void);
bool prot_codec_has_avx2(void);
bool prot_codec_has_gfni_avx2(void);
bool prot_codec_has_gfni_avx512(void);
void prot_codec_prepare_affine(u8 c, u8 *tbl);

#define PROT_GF_AFFINE_2	0x8001828488102040ULL	/* prot_gf_affine(2) */

#endif
