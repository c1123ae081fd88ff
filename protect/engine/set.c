// SPDX-License-Identifier: GPL-2.0-only
/* Sets of numbers; see set.h. */
#include <linux/bitops.h>
#include <linux/kernel.h>

#include "protect/engine/set.h"
#include "protect/count.h"

#define LEVELS	6	/* of 64 each: any u32 */

#ifdef PROT_COUNT
u64 prot_looked;
#endif

static u32 set_words(u32 n)
{
	return (n - 1) / 64 + 1;
}

u32 prot_set_words(u32 n)
{
	u32 sum = 0;

	do {
		n = set_words(n);
		sum += n;
	} while (n > 1);
	return sum;
}

void prot_set_put(u64 *set, u32 n, u32 i)
{
	for (;; set += n, i /= 64) {
		bool had = set[i / 64];

		set[i / 64] |= 1ULL << (i % 64);
		n = set_words(n);
		if (had || n == 1)
			return;
	}
}

static void set_put_aligned(u64 *set, u32 n, u32 word, u64 bits)
{
	bool had = set[word];

	set[word] |= bits;
	if (bits && !had && set_words(n) > 1)
		prot_set_put(set + set_words(n), set_words(n), word);
}

void prot_set_put_word(u64 *set, u32 n, u32 from, u64 bits)
{
	u32 shift = from % 64;

	set_put_aligned(set, n, from / 64, bits << shift);
	if (shift && bits >> (64 - shift))
		set_put_aligned(set, n, from / 64 + 1, bits >> (64 - shift));
}

/* A bit of an upper word stands for a used word below, so upper words are ORed as well. */
void prot_set_add(u64 *set, const u64 *from, u32 n)
{
	u32 words = prot_set_words(n), i;

	for (i = 0; i < words; i++)
		set[i] |= from[i];
}

u64 prot_set_word(const u64 *set, u32 n, u32 from)
{
	u32 shift = from % 64, i = from / 64;
	u64 bits = set[i] >> shift;

	if (shift && i + 1 < set_words(n))
		bits |= set[i + 1] << (64 - shift);
	return n - from < 64 ? bits & ((1ULL << (n - from)) - 1) : bits;
}

void prot_set_drop(u64 *set, u32 n, u32 i)
{
	for (;; set += n, i /= 64) {
		set[i / 64] &= ~(1ULL << (i % 64));
		n = set_words(n);
		if (set[i / 64] || n == 1)
			return;
	}
}

/* Go up until a level has a bit at @from or later, then down to the number. */
u32 prot_set_next(const u64 *set, u32 n, u32 from)
{
	const u64 *level[LEVELS] = { set };
	u32 up = 0, i = from;

	for (;;) {
		u64 word;

		if (i >= n)
			return PROT_SET_NONE;
		PROT_LOOK();
		word = level[up][i / 64] >> (i % 64);
		if (word) {
			i += __ffs64(word);
			break;
		}
		n = set_words(n);
		if (n == 1)
			return PROT_SET_NONE;
		level[up + 1] = level[up] + n;
		up++;
		i = i / 64 + 1;
	}
	while (up--) {
		PROT_LOOK();
		i = i * 64 + __ffs64(level[up][i]);
	}
	return i;
}
