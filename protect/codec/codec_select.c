// SPDX-License-Identifier: GPL-2.0-only
/* Self-check of an implementation, and the race between implementations that pass. */
#include <linux/errno.h>
#include <linux/string.h>
#include <linux/types.h>

#include "protect/codec/codec.h"

#define K	9			/* odd, and more than one group of unrolled loops */
#define LEN	PROT_CODEC_SELFTEST_LEN
#define STRIDE	PROT_CODEC_SELFTEST_STRIDE

/* Bytes that differ from strip to strip and do not repeat in step with vectors. */
static void select_fill(u8 *p, unsigned int seed)
{
	u32 x = seed * 0x9e3779b9u + 1;
	unsigned int i;

	for (i = 0; i < STRIDE; i++) {
		x = x * 1664525u + 1013904223u;
		p[i] = x >> 24;
	}
}

/* True: parity strip r is row r of the definition, with nothing written behind. */
static bool select_parity_is(const struct prot_code *code, u8 *const *strip, unsigned int r)
{
	u8 guard[STRIDE];
	unsigned int i, j;

	select_fill(guard, code->k + r);
	for (i = 0; i < LEN; i++) {
		u8 sum = 0;

		for (j = 0; j < code->k; j++)
			sum ^= prot_gf_mul(code->coef[r][j], strip[j][i]);
		if (strip[code->k + r][i] != sum)
			return false;
	}
	return !memcmp(strip[code->k + r] + LEN, guard + LEN, STRIDE - LEN);
}

static bool select_all_parity_is(const struct prot_code *code, u8 *const *strip)
{
	unsigned int r;

	for (r = 0; r < code->m; r++)
		if (!select_parity_is(code, strip, r))
			return false;
	return true;
}

/* Lose the data strips 1.. and rebuild them into the spare buffers. */
static bool select_rebuilds(const struct prot_code *code, const struct prot_codec_ops *ops,
			    struct prot_map *map, u8 *const *strip, u8 *const *spare,
			    unsigned int lost)
{
	prot_strips_t want = ((1ULL << lost) - 1) << 1;
	prot_strips_t have = prot_code_data(code) & ~want;
	u8 *src[PROT_CODEC_STRIPS_MAX];
	unsigned int s, n = 0;

	have |= prot_code_parity(code) & ~(prot_code_parity(code) << lost);
	if (prot_map_init(map, ops, code, have, want))
		return false;
	for (s = 0; s < code->k + code->m; s++)
		if (have >> s & 1)
			src[n++] = strip[s];
	prot_map_apply(map, ops, src, spare, LEN);
	for (s = 0; s < lost; s++)
		if (memcmp(spare[s], strip[1 + s], LEN))
			return false;
	return true;
}

static bool select_check_code(const struct prot_codec_ops *ops, struct prot_map *map, u8 *scratch,
			      unsigned int m)
{
	u8 *strip[17];
	struct prot_code code;
	unsigned int s;

	if (prot_code_init(&code, K, m))
		return false;
	for (s = 0; s < 17; s++) {
		strip[s] = scratch + s * STRIDE;
		select_fill(strip[s], s);
	}
	prot_map_encode(map, ops, &code);
	prot_map_apply(map, ops, strip, strip + K, LEN);
	if (!select_all_parity_is(&code, strip))
		return false;

	/* Strip 2 becomes another; buffer 15 is its difference, made by hand. */
	for (s = 0; s < LEN; s++) {
		strip[15][s] ^= strip[2][s];
		strip[2][s] ^= strip[15][s];
	}
	prot_codec_delta(map, ops, 2, strip[15], NULL, strip + K, LEN);
	if (!select_all_parity_is(&code, strip))
		return false;
	/* And strip 3, by its bytes before (14) and after. */
	memcpy(strip[14], strip[3], LEN);
	select_fill(strip[3], 77);
	prot_codec_delta(map, ops, 3, strip[14], strip[3], strip + K, LEN);
	if (!select_all_parity_is(&code, strip))
		return false;

	for (s = 1; s <= m; s++)
		if (!select_rebuilds(&code, ops, map, strip, strip + K + m, s))
			return false;
	return true;
}

int prot_codec_selftest(const struct prot_codec_ops *ops, struct prot_map *map, u8 *scratch)
{
	unsigned int m;

	for (m = PROT_CODEC_M_MIN; m <= PROT_CODEC_M_MAX; m++)
		if (!select_check_code(ops, map, scratch, m))
			return -EILSEQ;
	return 0;
}

/* The best of a few rounds: an interrupt only ever makes one slower. */
static u64 select_race_one(const struct prot_codec_ops *ops, struct prot_map *map, u8 *scratch,
			   u64 (*clock)(void))
{
	u8 *strip[PROT_CODEC_RACE_STRIPS];
	struct prot_code code;
	u64 best = ~0ULL;
	unsigned int i, round;

	for (i = 0; i < PROT_CODEC_RACE_STRIPS; i++)
		strip[i] = scratch + i * PROT_CODEC_RACE_LEN;
	if (prot_code_init(&code, PROT_CODEC_RACE_STRIPS - 3, 3))
		return best;
	prot_map_encode(map, ops, &code);
	for (round = 0; round < 16; round++) {
		u64 start = clock(), took;

		for (i = 0; i < 4; i++)
			prot_map_apply(map, ops, strip, strip + code.k, PROT_CODEC_RACE_LEN);
		took = clock() - start;
		if (took < best)
			best = took;
	}
	return best;
}

const struct prot_codec_ops *
prot_codec_select(const struct prot_codec_ops *const *list, struct prot_map *map,
		  u8 *scratch, u64 (*clock)(void))
{
	const struct prot_codec_ops *best = &prot_codec_portable;
	u64 fastest = ~0ULL;

	for (; *list; list++) {
		u64 t;

		if ((*list)->usable && !(*list)->usable())
			continue;
		if (prot_codec_selftest(*list, map, scratch))
			continue;
		t = select_race_one(*list, map, scratch, clock);
		if (t < fastest) {
			fastest = t;
			best = *list;
		}
	}
	return best;
}
