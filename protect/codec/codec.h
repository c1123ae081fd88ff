/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The erasure codec: k data strips, m parity strips, any k of the k + m give
 * back the rest.
 *
 *   struct prot_code     which code: its m x k matrix
 *        |  prot_map_init(map, ops, code, have, want), or prot_map_keep() the one that is there
 *        v
 *   struct prot_map      strips had -> strips wanted, tables for one ops
 *        |  prot_map_apply(), prot_codec_delta(), prot_codec_syndrome()
 *        v
 *   struct prot_codec_ops  the loops over bytes: portable C, SSSE3, AVX2, ...
 *
 * Encoding and rebuilding are the same thing, a matrix times strips; only the
 * map differs. A strip has one number throughout: data 0..k-1, parity k..k+m-1.
 *
 * m = 1:   P = sum D_j
 * m = 2:   also Q = sum 2^j D_j; both as in the kernel's RAID-6
 * m >= 3:  parity r = sum inv((k + r) xor j) D_j: *every* row is a Cauchy row,
 *          the first too, so no parity of these is the XOR of the data.
 *
 * Buffers are pointers to bytes of any alignment and any length; multiples of
 * 64 bytes take the fast path alone. A destination must not overlap a source or
 * another destination.
 *
 * Pure: no allocation, locks or time. All functions may be called from any
 * context, with the one condition of PROT_CODEC_FPU.
 */
#ifndef PROTECT_CODEC_H
#define PROTECT_CODEC_H

#include <linux/types.h>

#include "protect/codec/gf256.h"

#define PROT_CODEC_K_MIN	2
#define PROT_CODEC_K_MAX	32
#define PROT_CODEC_M_MIN	1
#define PROT_CODEC_M_MAX	4
#define PROT_CODEC_STRIPS_MAX	(PROT_CODEC_K_MAX + PROT_CODEC_M_MAX)
#define PROT_CODEC_COEF_MAX	32	/* bytes of tables per coefficient */

/* Set of strips by number: bit s is strip s. */
typedef u64 prot_strips_t;

/* A code, constant after prot_code_init(). */
struct prot_code {
	u8	k;	/* data strips */
	u8	m;	/* parity strips */
	/* parity r = sum over j of coef[r][j] * data j */
	u8	coef[PROT_CODEC_M_MAX][PROT_CODEC_K_MAX];
};

/* Shapes of a map that have loops of their own. */
enum prot_map_shape {
	PROT_MAP_ANY,		/* a matrix */
	PROT_MAP_XOR,		/* one row of ones */
	PROT_MAP_PQ,		/* a row of ones, a row 1, 2, 4, 8, ... */
};

struct prot_codec_ops;

/*
 * Wanted strips as sums over strips at hand. Any number of threads may apply one map at once;
 * prot_map_init(), prot_map_keep() and prot_map_encode() write the map.
 */
struct prot_map {
	u8	nsrc;	/* sources, in the order of their strip numbers */
	u8	ndst;	/* destinations, likewise; 0 is allowed and does nothing */
	u8	shape;	/* enum prot_map_shape */
	/* what it was made of; @ops is NULL: of nothing yet */
	u8	m;
	const struct prot_codec_ops *ops;
	prot_strips_t have, want;
	/* dst r = sum over j of coef[r][j] * src j */
	u8	coef[PROT_CODEC_M_MAX][PROT_CODEC_K_MAX];
	/*
	 * the same as tables of the ops that the map was made for, each of their coef_size bytes;
	 * source by source, in each row by row
	 */
	u8	tbl[PROT_CODEC_M_MAX * PROT_CODEC_K_MAX * PROT_CODEC_COEF_MAX]
			__attribute__((aligned(64)));
};

/*
 * The loops use vector registers: a kernel calls them, but for prepare and
 * usable, between kernel_fpu_begin() and kernel_fpu_end(), and keeps @len short
 * since that section cannot be preempted.
 */
#define PROT_CODEC_FPU		(1U << 0)

/*
 * One implementation. None of them keeps state or fails. To use other loops for the shapes of
 * m <= 2, copy the struct and replace @xor and @pq.
 */
struct prot_codec_ops {
	const char	*name;			/* human-readable */
	unsigned int	flags;			/* PROT_CODEC_* */
	/* bytes of tables per coefficient, at most PROT_CODEC_COEF_MAX */
	unsigned int	coef_size;
	bool	(*usable)(void);	/* whether this CPU has what the loops need; NULL: always */
	void	(*prepare)(u8 c, u8 *tbl);	/* write the tables of coefficient @c to @tbl */
	/* dst r = sum tbl[j][r] * src j, for a map of any shape */
	void	(*dot)(const struct prot_map *map, u8 *const *src, u8 *const *dst, size_t len);
	/* dst = sum src j; n >= 1 */
	void	(*xor)(unsigned int n, u8 *const *src, u8 *dst, size_t len);
	/*
	 * P = sum src j, Q = sum 2^j src j; n >= 1. The pointers to P and Q follow those to the
	 * data in one array, as raid6_call.gen_syndrome() wants them
	 */
	void	(*pq)(unsigned int n, u8 *const *strips, size_t len);
	/*
	 * dst r ^= tbl r * (a ^ b); b may be NULL. Unlike elsewhere @dst are read, and a or b may
	 * be the same buffer
	 */
	void	(*mad)(const u8 *const *tbl, unsigned int ndst, const u8 *a, const u8 *b,
		       u8 *const *dst, size_t len);
};

/* Runs everywhere; the reference for the others. */
extern const struct prot_codec_ops prot_codec_portable;

/**
 * prot_code_init() - set up the matrix of a code
 * @code: receives it
 * @k: PROT_CODEC_K_MIN..PROT_CODEC_K_MAX data strips
 * @m: PROT_CODEC_M_MIN..PROT_CODEC_M_MAX parity strips
 *
 * Return: 0, or -EINVAL.
 */
int prot_code_init(struct prot_code *code, unsigned int k, unsigned int m);

/* All data strips, and all parity strips. */
static inline prot_strips_t prot_code_data(const struct prot_code *code)
{
	return (1ULL << code->k) - 1;
}

static inline prot_strips_t prot_code_parity(const struct prot_code *code)
{
	return ((1ULL << code->m) - 1) << code->k;
}

/**
 * prot_map_init() - how to get some strips from k others
 * @map: receives the map
 * @ops: the implementation that will apply it
 * @code: the code
 * @have: exactly k strips, data or parity
 * @want: any strips that are not in @have
 *
 * have = data, want = parity encodes; what was lost from what is left rebuilds;
 * want may be less than all that is missing. Takes about a microsecond for a
 * rebuild of 8 + 3, so one may make it for a request and throw it away.
 *
 * Return: 0, or -EINVAL when @have or @want are not as said.
 */
int prot_map_init(struct prot_map *map, const struct prot_codec_ops *ops,
		  const struct prot_code *code, prot_strips_t have, prot_strips_t want);

/**
 * prot_map_keep() - as prot_map_init(), unless @map is this map already
 * @map: zeroed, or made before, by any of these functions for whatever code
 *
 * Tables take more than a write of 4 KiB, so it pays to keep the map of the last one.
 */
int prot_map_keep(struct prot_map *map, const struct prot_codec_ops *ops,
		  const struct prot_code *code, prot_strips_t have, prot_strips_t want);

/**
 * prot_map_encode() - the map from all data to all parity
 * @map: receives the map
 * @ops: the implementation that will apply it
 * @code: the code
 */
void prot_map_encode(struct prot_map *map, const struct prot_codec_ops *ops,
		     const struct prot_code *code);

/**
 * prot_map_apply() - compute the wanted strips
 * @map: made for the same @ops
 * @ops: the implementation
 * @src: @map->nsrc buffers, in ascending order of their strips
 * @dst: @map->ndst buffers, likewise; not read
 * @len: bytes in each
 */
void prot_map_apply(const struct prot_map *map, const struct prot_codec_ops *ops,
		    u8 *const *src, u8 *const *dst, size_t len);

/**
 * prot_codec_delta() - bring parity up to date with one changed data strip
 * @enc: from prot_map_encode(), for the same @ops
 * @ops: the implementation
 * @strip: number of the data strip
 * @old: its bytes before
 * @new: its bytes after; NULL if @old holds the difference already
 * @parity: @enc->ndst buffers, changed in place; NULL for a parity that is lost
 * @len: bytes in each
 */
void prot_codec_delta(const struct prot_map *enc, const struct prot_codec_ops *ops,
		      unsigned int strip, const u8 *old, const u8 *new,
		      u8 *const *parity, size_t len);

/**
 * prot_codec_syndrome() - by how much the parities miss the data
 * @enc: from prot_map_encode(), for the same @ops
 * @ops: the implementation
 * @strips: all k + m strips of the code
 * @syndrome: @enc->ndst buffers for the result; all zero means consistent
 * @len: bytes in each
 */
void prot_codec_syndrome(const struct prot_map *enc, const struct prot_codec_ops *ops,
			 u8 *const *strips, u8 *const *syndrome, size_t len);

#define PROT_LOCATE_CLEAN	(-1)	/* all equations agree */
#define PROT_LOCATE_UNKNOWN	(-2)	/* more than one strip is wrong, or m is 1 */

/**
 * prot_code_locate() - the one strip that makes all equations agree
 * @code: the code; m >= 2, or else nothing can be located
 * @syndrome: from prot_codec_syndrome()
 * @len: bytes in each; one strip must explain all of them
 *
 * With m = 2 two wrong strips can look like a third one; with m >= 3 they
 * cannot (docs/codec.md).
 *
 * Return: the number of the strip, or PROT_LOCATE_*.
 */
int prot_code_locate(const struct prot_code *code, u8 *const *syndrome, size_t len);

/**
 * prot_codec_selftest() - compare an implementation with the definition
 * @ops: the implementation; must be usable
 * @map: scratch
 * @scratch: PROT_CODEC_SELFTEST_BYTES bytes of scratch
 *
 * Encodes, rebuilds and updates small strips, for every m, with lengths and
 * alignments off the fast path, and checks each byte against prot_gf_mul().
 *
 * Return: 0, or -EILSEQ when a byte is wrong.
 */
int prot_codec_selftest(const struct prot_codec_ops *ops, struct prot_map *map, u8 *scratch);

#define PROT_CODEC_SELFTEST_LEN		(64 * 9 + 45)
#define PROT_CODEC_SELFTEST_STRIDE	(64 * 10 + 1)
#define PROT_CODEC_SELFTEST_BYTES	(PROT_CODEC_SELFTEST_STRIDE * 17)

/**
 * prot_codec_select() - the fastest usable implementation that computes right
 * @list: candidates, NULL at the end
 * @map: scratch
 * @scratch: PROT_CODEC_SELECT_BYTES bytes of scratch
 * @clock: any clock that runs forward, the finer the better
 *
 * Races them at 8 + 3 in a few hundred microseconds. Where a candidate needs
 * PROT_CODEC_FPU the caller has begun that section.
 *
 * Return: one of @list, or &prot_codec_portable when none passes.
 */
const struct prot_codec_ops *
prot_codec_select(const struct prot_codec_ops *const *list, struct prot_map *map,
		  u8 *scratch, u64 (*clock)(void));

#define PROT_CODEC_RACE_STRIPS		11
#define PROT_CODEC_RACE_LEN		4096
#define PROT_CODEC_SELECT_BYTES		(PROT_CODEC_RACE_STRIPS * PROT_CODEC_RACE_LEN)

#endif
