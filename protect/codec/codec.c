// SPDX-License-Identifier: GPL-2.0-only
/* The code's matrices, maps from strips to strips, deltas and syndromes. */
#include <linux/errno.h>
#include <linux/string.h>
#include <linux/types.h>

#include "protect/codec/codec.h"

int prot_code_init(struct prot_code *code, unsigned int k, unsigned int m)
{
	unsigned int r, j;

	if (k < PROT_CODEC_K_MIN || k > PROT_CODEC_K_MAX ||
	    m < PROT_CODEC_M_MIN || m > PROT_CODEC_M_MAX)
		return -EINVAL;
	memset(code, 0, sizeof(*code));
	code->k = k;
	code->m = m;
	for (r = 0; r < m; r++)
		for (j = 0; j < k; j++)
			code->coef[r][j] = m > 2 ? prot_gf_inv((k + r) ^ j) :
						   prot_gf_pow2(r * j);
	return 0;
}

/* Row of strip @s over the data: a unit row for data, the code's for parity. */
static u8 codec_strip_coef(const struct prot_code *code, unsigned int s, unsigned int j)
{
	return s < code->k ? s == j : code->coef[s - code->k][j];
}

static bool map_is_xor(const struct prot_map *map, unsigned int row)
{
	unsigned int j;

	for (j = 0; j < map->nsrc; j++)
		if (map->coef[row][j] != 1)
			return false;
	return true;
}

static enum prot_map_shape map_shape(const struct prot_map *map)
{
	unsigned int j;

	if (map->ndst == 1 && map_is_xor(map, 0))
		return PROT_MAP_XOR;
	if (map->ndst != 2 || !map_is_xor(map, 0))
		return PROT_MAP_ANY;
	for (j = 0; j < map->nsrc; j++)
		if (map->coef[1][j] != prot_gf_pow2(j))
			return PROT_MAP_ANY;
	return PROT_MAP_PQ;
}

static void map_tables(struct prot_map *map, const struct prot_codec_ops *ops,
		       const struct prot_code *code, prot_strips_t have, prot_strips_t want)
{
	u8 *tbl = map->tbl;
	unsigned int r, j;

	map->m = code->m;
	map->ops = ops;
	map->have = have;
	map->want = want;
	map->shape = map_shape(map);
	for (j = 0; j < map->nsrc; j++)
		for (r = 0; r < map->ndst; r++, tbl += ops->coef_size)
			ops->prepare(map->coef[r][j], tbl);
}

/* Strips not at hand, and the equations to compute them. */
struct unknowns {
	unsigned int n;			/* data strips missing = parities at hand */
	u8 data[PROT_CODEC_M_MAX];
	u8 parity[PROT_CODEC_M_MAX];	/* row in the code */
	u8 inv[PROT_GF_ORDER_MAX][PROT_GF_ORDER_MAX];
};

/*
 * Missing data is solved for alone: with as many equations as unknowns, the
 * matrix to invert is at most m x m, never k x k.
 */
static int codec_unknowns_find(struct unknowns *u, const struct prot_code *code, prot_strips_t have)
{
	u8 a[PROT_GF_ORDER_MAX][PROT_GF_ORDER_MAX];
	unsigned int s, i, j, n = 0;

	u->n = 0;
	for (s = 0; s < code->k; s++) {
		if (have >> s & 1)
			continue;
		if (u->n == PROT_CODEC_M_MAX)
			return -EINVAL;
		u->data[u->n++] = s;
	}
	for (; s < code->k + code->m; s++)
		if (have >> s & 1)
			u->parity[n++] = s - code->k;
	if (n != u->n)
		return -EINVAL;
	for (i = 0; i < n; i++)
		for (j = 0; j < n; j++)
			a[i][j] = code->coef[u->parity[i]][u->data[j]];
	return prot_gf_invert(a, u->inv, n);
}

/*
 * weight[e]: factor of equation e in strip @s. Unknown i is the sum over e of inv[i][e] times
 * (parity e minus the known data's part).
 */
static void codec_unknowns_weigh(const struct unknowns *u, const struct prot_code *code,
				 unsigned int s, u8 *weight)
{
	unsigned int i, e;

	memset(weight, 0, PROT_CODEC_M_MAX);
	for (e = 0; e < u->n; e++)
		for (i = 0; i < u->n; i++)
			weight[e] ^= prot_gf_mul(codec_strip_coef(code, s, u->data[i]),
						 u->inv[i][e]);
}

static void map_row(struct prot_map *map, u8 *row, const struct unknowns *u,
		    const struct prot_code *code, prot_strips_t have, unsigned int s)
{
	u8 weight[PROT_CODEC_M_MAX];	/* of the parities at hand, in strip s */
	unsigned int src, e = 0, i, n = 0;

	codec_unknowns_weigh(u, code, s, weight);
	for (src = 0; src < code->k + code->m; src++) {
		if (!(have >> src & 1))
			continue;
		if (src >= code->k) {
			row[n++] = weight[e++];
			continue;
		}
		row[n] = codec_strip_coef(code, s, src);
		for (i = 0; i < u->n; i++)
			row[n] ^= prot_gf_mul(weight[i], code->coef[u->parity[i]][src]);
		n++;
	}
	map->nsrc = n;
}

int prot_map_init(struct prot_map *map, const struct prot_codec_ops *ops,
		  const struct prot_code *code, prot_strips_t have, prot_strips_t want)
{
	prot_strips_t all = prot_code_data(code) | prot_code_parity(code);
	struct unknowns u;
	unsigned int s;
	int err;

	if ((have | want) & ~all || have & want)
		return -EINVAL;
	err = codec_unknowns_find(&u, code, have);
	if (err)
		return err;
	memset(map->coef, 0, sizeof(map->coef));
	map->nsrc = code->k;
	map->ndst = 0;
	for (s = 0; s < code->k + code->m; s++)
		if (want >> s & 1)
			map_row(map, map->coef[map->ndst++], &u, code, have, s);
	map_tables(map, ops, code, have, want);
	return 0;
}

int prot_map_keep(struct prot_map *map, const struct prot_codec_ops *ops,
		  const struct prot_code *code, prot_strips_t have, prot_strips_t want)
{
	/* k and m say which code it is */
	if (map->ops == ops && map->nsrc == code->k && map->m == code->m && map->have == have &&
	    map->want == want)
		return 0;
	return prot_map_init(map, ops, code, have, want);
}

void prot_map_encode(struct prot_map *map, const struct prot_codec_ops *ops,
		     const struct prot_code *code)
{
	memcpy(map->coef, code->coef, sizeof(map->coef));
	map->nsrc = code->k;
	map->ndst = code->m;
	map_tables(map, ops, code, prot_code_data(code), prot_code_parity(code));
}

void prot_map_apply(const struct prot_map *map, const struct prot_codec_ops *ops,
		    u8 *const *src, u8 *const *dst, size_t len)
{
	u8 *strips[PROT_CODEC_STRIPS_MAX];

	switch (map->ndst ? map->shape : -1) {
	case PROT_MAP_XOR:
		ops->xor(map->nsrc, src, dst[0], len);
		break;
	case PROT_MAP_PQ:
		memcpy(strips, src, map->nsrc * sizeof(*strips));
		strips[map->nsrc] = dst[0];
		strips[map->nsrc + 1] = dst[1];
		ops->pq(map->nsrc, strips, len);
		break;
	case PROT_MAP_ANY:
		ops->dot(map, src, dst, len);
		break;
	}
}

void prot_codec_delta(const struct prot_map *enc, const struct prot_codec_ops *ops,
		      unsigned int strip, const u8 *old, const u8 *new,
		      u8 *const *parity, size_t len)
{
	const u8 *tbl[PROT_CODEC_M_MAX];
	u8 *dst[PROT_CODEC_M_MAX];
	unsigned int r, n = 0;

	for (r = 0; r < enc->ndst; r++) {
		if (!parity[r])
			continue;
		tbl[n] = enc->tbl + (strip * enc->ndst + r) * ops->coef_size;
		dst[n++] = parity[r];
	}
	if (n)
		ops->mad(tbl, n, old, new, dst, len);
}

void prot_codec_syndrome(const struct prot_map *enc, const struct prot_codec_ops *ops,
			 u8 *const *strips, u8 *const *syndrome, size_t len)
{
	u8 one[PROT_CODEC_COEF_MAX];
	const u8 *tbl = one;
	unsigned int r;

	ops->prepare(1, one);
	prot_map_apply(enc, ops, strips, syndrome, len);
	for (r = 0; r < enc->ndst; r++)
		ops->mad(&tbl, 1, strips[enc->nsrc + r], NULL, &syndrome[r], len);
}

/* Find the strip that explains column @x of the syndromes. */
static int codec_locate_column(const struct prot_code *code, u8 *const *syndrome, size_t x)
{
	unsigned int r, j, wrong = 0;
	int last = PROT_LOCATE_CLEAN;

	for (r = 0; r < code->m; r++) {
		if (!syndrome[r][x])
			continue;
		last = code->k + r;
		wrong++;
	}
	if (wrong <= 1)
		return last;
	/* A wrong data strip shows in every row, as its error times the coefficient. */
	for (j = 0; j < code->k; j++) {
		u8 e = prot_gf_mul(syndrome[0][x], prot_gf_inv(code->coef[0][j]));

		for (r = 1; r < code->m; r++)
			if (syndrome[r][x] != prot_gf_mul(code->coef[r][j], e))
				break;
		if (r == code->m)
			return j;
	}
	return PROT_LOCATE_UNKNOWN;
}

int prot_code_locate(const struct prot_code *code, u8 *const *syndrome, size_t len)
{
	int found = PROT_LOCATE_CLEAN;
	size_t x;

	for (x = 0; x < len; x++) {
		int here = codec_locate_column(code, syndrome, x);

		if (here == PROT_LOCATE_CLEAN)
			continue;
		if (code->m < 2 || (found != PROT_LOCATE_CLEAN && here != found))
			return PROT_LOCATE_UNKNOWN;
		found = here;
	}
	return found;
}
