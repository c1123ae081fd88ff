/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * GF(2^8): bytes as polynomials over GF(2) modulo x^8 + x^4 + x^3 + x^2 + 1
 * (0x11d). Addition is XOR; 2 generates all 255 non-zero elements. The same
 * field as the kernel's RAID-6 and as ISA-L. docs/codec.md has the page of maths.
 *
 * All functions are pure and may be called from any context.
 */
#ifndef PROTECT_GF256_H
#define PROTECT_GF256_H

#include <linux/types.h>

#define PROT_GF_POLY		0x11d
#define PROT_GF_ORDER_MAX	4	/* largest matrix that is ever inverted: M */
#define PROT_GF_NIBBLES		32	/* bytes that prot_gf_nibbles() writes */

extern const u8 prot_gf_exp[510];
extern const u8 prot_gf_log[256];

static inline u8 prot_gf_double(u8 a)
{
	return (u8)(a << 1) ^ (a & 0x80 ? PROT_GF_POLY & 0xff : 0);
}

static inline u8 prot_gf_mul(u8 a, u8 b)
{
	return a && b ? prot_gf_exp[prot_gf_log[a] + prot_gf_log[b]] : 0;
}

/* @a: not zero (zero has no inverse; 1 comes back). */
static inline u8 prot_gf_inv(u8 a)
{
	return prot_gf_exp[255 - prot_gf_log[a]];
}

/* @n: any exponent below 255. */
static inline u8 prot_gf_pow2(unsigned int n)
{
	return prot_gf_exp[n];
}

/**
 * prot_gf_invert() - invert a small matrix
 * @a: n x n in the upper left corner; destroyed
 * @out: receives the inverse in the same corner
 * @n: 0..PROT_GF_ORDER_MAX
 *
 * Return: 0, or -EINVAL when @a is singular.
 */
int prot_gf_invert(u8 (*a)[PROT_GF_ORDER_MAX], u8 (*out)[PROT_GF_ORDER_MAX], unsigned int n);

/**
 * prot_gf_nibbles() - tables for byte shuffles
 * @c: coefficient
 * @tbl: PROT_GF_NIBBLES bytes: c * 0..15, then c * 0x00, 0x10 .. 0xf0
 *
 * c * x is tbl[x & 15] ^ tbl[16 + (x >> 4)].
 */
void prot_gf_nibbles(u8 c, u8 *tbl);

/**
 * prot_gf_affine() - the same as a bit matrix for GF2P8AFFINEQB
 * @c: coefficient
 *
 * The instruction takes bit i of a product as the parity of x AND byte 7 - i.
 *
 * Return: eight rows, the one of bit 7 in the lowest byte.
 */
u64 prot_gf_affine(u8 c);

#endif
