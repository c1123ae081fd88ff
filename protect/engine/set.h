/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A set of numbers below some n, in flat memory. The next number is found in a few steps for any
 * n: one bit a number, above that one bit for each 64 numbers ("there is one"), and so on up to
 * one word.
 *
 *   n = 200     [ 1 0 0 1 ]                        level 1: one word
 *               [..5..][......][......][192]       level 0: four words
 *
 * Equal sets have equal memory, so equal states of a group look equal to a checker.
 */
#ifndef PROTECT_SET_H
#define PROTECT_SET_H

#include <linux/types.h>

#define PROT_SET_NONE	0xffffffffU

/* 64-bit words of memory, zeroed at first, for numbers below @n, which is not 0. */
u32 prot_set_words(u32 n);

void prot_set_put(u64 *set, u32 n, u32 i);
void prot_set_drop(u64 *set, u32 n, u32 i);

/* Put numbers @from .. @from + 63 with a bit in @bits; no number may reach @n. */
void prot_set_put_word(u64 *set, u32 n, u32 from, u64 bits);

/* Put all numbers of @from, another set of numbers below @n. */
void prot_set_add(u64 *set, const u64 *from, u32 n);

/* The numbers from @from on, a bit each; bits of numbers from @n on are zero. */
u64 prot_set_word(const u64 *set, u32 n, u32 from);

static inline bool prot_set_has(const u64 *set, u32 i)
{
	return set[i / 64] >> (i % 64) & 1;
}

/* The lowest number at or above @from, or PROT_SET_NONE. */
u32 prot_set_next(const u64 *set, u32 n, u32 from);

#endif
