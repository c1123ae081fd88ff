// SPDX-License-Identifier: GPL-2.0-only
/*
 * The codec's work for an op, on the op's private buffer. Of the group only the plan is used, so
 * the work may run next to all other calls.
 */
#include <linux/kernel.h>
#include <linux/string.h>

#include "protect/ec/ec_priv.h"

/* One call: buffers, by strip, at the piece's first byte. */
struct work {
	const struct prot_codec_ops *ops;
	struct prot_map *map;
	const struct prot_code *code;
	u8 *fresh[PROT_CODEC_STRIPS_MAX];
	u8 *old[PROT_CODEC_STRIPS_MAX];
	u32 from;
	u32 length;
};

u32 prot_group_codec_bytes(const struct prot_group *g, u32 op)
{
	return prot_ecop(g, prot_gop(g, op))->length;
}

/* The map from all data to all parity; a map of the code itself, so keeping the map cannot fail. */
static void codec_encode_map(struct work *w)
{
	prot_map_keep(w->map, w->ops, w->code, prot_code_data(w->code),
		      prot_code_parity(w->code));
}

/* Compute strips @want from strips @have. @src, @dst: buffers, indexed by strip number. */
static void codec_apply(struct work *w, u64 have, u64 want, u8 *const *src, u8 *const *dst)
{
	u8 *from[PROT_CODEC_STRIPS_MAX], *to[PROT_CODEC_STRIPS_MAX];
	u32 strip, n = 0, m = 0;

	for (strip = 0; strip < w->code->k + w->code->m; strip++) {
		if (have >> strip & 1)
			from[n++] = src[strip];
		if (want >> strip & 1)
			to[m++] = dst[strip];
	}
	if (WARN_ON_ONCE(prot_map_keep(w->map, w->ops, w->code, have, want)))
		return;
	prot_map_apply(w->map, w->ops, from, to, w->length);
}

/* The bytes of @strip requested by the op and within the piece; none: false. */
static bool codec_part(const struct prot_group *g, const struct prot_gop *op,
		       const struct work *w, u32 strip, u32 *skip, u32 *n)
{
	u32 from, length, lo, hi;

	if (!(prot_ecop(g, op)->data >> strip & 1))
		return false;
	prot_ec_part(g, op, strip, &from, &length);
	lo = max(from, w->from);
	hi = min(from + length, w->from + w->length);
	if (lo >= hi)
		return false;
	*skip = lo - w->from;
	*n = hi - lo;
	return true;
}

static void codec_zero(const struct prot_group *g, const struct prot_gop *op, struct work *w)
{
	u32 strip, skip, n;

	for (strip = 0; strip < w->code->k; strip++)
		if (codec_part(g, op, w, strip, &skip, &n))
			memset(w->fresh[strip] + skip, 0, n);
}

static void codec_delta(const struct prot_group *g, const struct prot_gop *op, struct work *w)
{
	const struct prot_ecop *e = prot_ecop(g, op);
	u32 strip, skip, n, r;
	u8 *parity[PROT_CODEC_M_MAX];

	if (!e->want)
		return;
	codec_encode_map(w);
	for (strip = 0; strip < w->code->k; strip++) {
		if (!codec_part(g, op, w, strip, &skip, &n))
			continue;
		for (r = 0; r < w->code->m; r++)
			parity[r] = e->want >> (w->code->k + r) & 1 ?
				    w->fresh[w->code->k + r] + skip : NULL;
		prot_codec_delta(w->map, w->ops, strip, w->old[strip] + skip,
				 w->fresh[strip] + skip, parity, n);
	}
}

static void codec_encode(const struct prot_group *g, const struct prot_gop *op, struct work *w)
{
	const struct prot_ecop *e = prot_ecop(g, op);
	u32 strip, skip, n;
	u8 *src[PROT_CODEC_STRIPS_MAX];

	for (strip = 0; strip < w->code->k + w->code->m; strip++)
		src[strip] = strip < w->code->k ? w->old[strip] : w->fresh[strip];
	if (e->lost)
		codec_apply(w, e->have, e->lost, src, src);
	for (strip = 0; strip < w->code->k; strip++) {
		if (prot_ec_whole(g, op, strip))
			src[strip] = w->fresh[strip];
		else if (codec_part(g, op, w, strip, &skip, &n))
			memcpy(src[strip] + skip, w->fresh[strip] + skip, n);
	}
	codec_apply(w, prot_code_data(w->code), e->want, src, w->fresh);
}

static bool codec_all_zero(u8 *const *p, u32 n, u32 length)
{
	u32 i, j;

	for (i = 0; i < n; i++)
		for (j = 0; j < length; j++)
			if (p[i][j])
				return false;
	return true;
}

/*
 * Check one row with syndrome @w->old and, if known, restore the right content. Return: PROT_ROW_
 * or strip plus one.
 */
static u8 codec_verify_row(const struct prot_group *g, const struct prot_ecop *e, struct work *w)
{
	u64 have = PROT_BIT(g->cfg.width) - 1;
	int bad = prot_code_locate(w->code, w->old, g->cfg.lba);
	u32 i;

	if (bad < 0) {
		if (e->remake)
			codec_apply(w, prot_code_data(w->code), prot_code_parity(w->code),
				    w->fresh, w->fresh);
		return PROT_ROW_UNEXPLAINED;
	}
	have &= ~PROT_BIT(bad);
	for (i = g->cfg.width; prot_weight(have) > g->cfg.k; i--)
		have &= ~PROT_BIT(i - 1);
	codec_apply(w, have, PROT_BIT(bad), w->fresh, w->fresh);
	return bad + 1;
}

/* Row by row: find the one strip explaining the mismatch, and the strip's right content. */
static void codec_verify(struct prot_group *g, struct prot_gop *op, struct work *w)
{
	u32 end = w->length, at, i;

	codec_encode_map(w);
	prot_codec_syndrome(w->map, w->ops, w->fresh, w->old, w->length);
	w->length = g->cfg.lba;
	for (at = 0; at < end; at += g->cfg.lba) {
		u8 row = PROT_ROW_RIGHT;

		if (!codec_all_zero(w->old, w->code->m, g->cfg.lba))
			row = codec_verify_row(g, prot_ecop(g, op), w);
		*w->old[0] = row;
		for (i = 0; i < g->cfg.width; i++) {
			w->fresh[i] += g->cfg.lba;
			w->old[i] += g->cfg.lba;
		}
	}
}

void prot_group_codec(struct prot_group *g, u32 op_index, const struct prot_codec_ops *ops,
		      struct prot_map *map, u32 from, u32 length)
{
	struct prot_gop *op = prot_gop(g, op_index);
	struct prot_ecop *e = prot_ecop(g, op);
	struct work w = { .ops = ops, .map = map, .code = prot_ec_code(g), .from = from,
			  .length = length };
	u8 *frame = prot_ec_frame(g, op);
	u32 strip;

	for (strip = 0; strip < g->cfg.width; strip++) {
		w.fresh[strip] = frame + prot_ec_new(g, op, strip) + e->from + from;
		if (strip < max_t(u32, g->cfg.k, g->cfg.m))
			w.old[strip] = frame + prot_ec_old(g, op, strip) + e->from + from;
	}
	if (op->purpose == PROT_FOR_REQUEST && op->kind != PROT_READ && op->kind != PROT_WRITE)
		codec_zero(g, op, &w);
	switch (e->plan) {
	case PROT_PLAN_DELTA:
		codec_delta(g, op, &w);
		break;
	case PROT_PLAN_ENCODE:
		codec_encode(g, op, &w);
		break;
	case PROT_PLAN_REBUILD:
		codec_apply(&w, e->have, e->lost, w.fresh, w.fresh);
		break;
	case PROT_PLAN_VERIFY:
		codec_verify(g, op, &w);
		break;
	}
}
