// SPDX-License-Identifier: GPL-2.0-only
#include <time.h>

#include "userspace/codec.h"

#ifdef __x86_64__
#include "protect/codec/codec_x86.h"

const struct prot_codec_ops *const *const codec_list = prot_codec_x86_list;
#else
static const struct prot_codec_ops *const portable[] = { &prot_codec_portable, NULL };

const struct prot_codec_ops *const *const codec_list = portable;
#endif

static u64 nanoseconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

const struct prot_codec_ops *codec_best(void)
{
	static const struct prot_codec_ops *best;
	static u8 scratch[PROT_CODEC_SELECT_BYTES] __attribute__((aligned(4096)));
	static struct prot_map map;

	if (!best)
		best = prot_codec_select(codec_list, &map, scratch, nanoseconds);
	return best;
}
