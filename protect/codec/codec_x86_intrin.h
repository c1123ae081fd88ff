/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The compiler's intrinsics without libc: their header also declares an
 * allocator, which a kernel build has no <stdlib.h> for and does not need.
 */
#ifndef PROTECT_CODEC_X86_INTRIN_H
#define PROTECT_CODEC_X86_INTRIN_H

#define _MM_MALLOC_H_INCLUDED	/* gcc */
#define __MM_MALLOC_H		/* clang */
#include <immintrin.h>

#endif
