/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A set of numbers below some n, in flat memory, that finds its next member in
 * a few steps whatever n is: a bit a number, above it a bit for each 64 of
 * them that says "there is one", and so on up to one word.
 *
 *   n = 200     [ 1 0 0 1 ]                        level 1: one word
 *               [..5..][......][......][192]       level 0: four words
 *
 * Which numbers are in it says all about its memory, so states of a group that
 * mean the same look the same to a checker.
 */
#ifndef PROTECT_SET_H
#define PROTECT_SET_H

#include <linux/types.h>

#define PROT_SET_NONE	0xffffffffU

/* 64-bit words of memory, zeroed at first, for numbers below @n, which is not 0. */
u32 prot_set_words(u32 n);

void prot_set_put(u64 *set, u32 n, u32 i);
void prot_set_drop(u64 *set, u32 n, u32 i);

/* Numbers @from.. @from + 63, a bit each in @bits, into it; none of them reaches @n. */
void prot_set_put_word(u64 *set, u32 n, u32 from, u64 bits);

/* The members of @from, another set of numbers below @n, into it. */
void prot_set_add(u64 *set, const u64 *from, u32 n);

/* The numbers from @from on, a bit each; those that are @n or higher are not in it. */
u64 prot_set_word(const u64 *set, u32 n, u32 from);

static inline bool prot_set_has(const u64 *set, u32 i)
{
	return set[i / 64] >> (i % 64) & 1;
}

/* The lowest member that is @from or higher, or PROT_SET_NONE. */
u32 prot_set_next(const u64 *set, u32 n, u32 from);

#endif
