// SPDX-License-Identifier: GPL-2.0-only
/* ec as a level: shape, memory, phases, table. */
#include <linux/kernel.h>
#include <linux/log2.h>
#include <linux/minmax.h>

#include "protect/ec/ec_priv.h"

#define EC_HEAD_MAX	4096	/* of private buffers: a page */

static const u32 ec_phases[PROT_P_EC_END] = {
	[PROT_P_LOCK] = PROT_TO(LOCK) | PROT_TO(BUF) | PROT_TO(EC_READ) | PROT_TO(EC_JOINED) |
			PROT_TO(EC_FILL),
	[PROT_P_BUF] = PROT_TO(EC_COPY) | PROT_TO(EC_GATHER) | PROT_TO(EC_CODEC) |
		       PROT_TO(EC_TXID) | PROT_TO(EC_READ) | PROT_TO(EC_JOINED) |
		       PROT_TO(EC_REPAIR),
	[PROT_P_EC_READ] = PROT_TO(LOCK) | PROT_TO(BUF) | PROT_TO(EC_GATHER) | PROT_TO(EC_REPAIR),
	[PROT_P_EC_COPY] = PROT_TO(EC_GATHER) | PROT_TO(EC_CODEC) | PROT_TO(EC_TXID) |
			   PROT_TO(EC_READ) | PROT_TO(EC_REPAIR),
	[PROT_P_EC_GATHER] = PROT_TO(EC_GATHER) | PROT_TO(EC_CODEC) | PROT_TO(EC_TXID) |
			     PROT_TO(EC_READ) | PROT_TO(EC_REPAIR),
	[PROT_P_EC_CODEC] = PROT_TO(EC_COPY) | PROT_TO(EC_TXID) | PROT_TO(EC_PLACE),
	[PROT_P_EC_TXID] = PROT_TO(EC_RECORD) | PROT_TO(EC_PLACE),
	[PROT_P_EC_RECORD] = PROT_TO(EC_PLACE),
	[PROT_P_EC_PLACE] = PROT_TO(EC_RETIRE) | PROT_TO(EC_GATHER),
	[PROT_P_EC_JOINED] = PROT_TO(LOCK),
	[PROT_P_EC_REPAIR] = PROT_TO(LOCK),
};

/* For reads, of @n buffers. */
static u32 ec_kept(u32 n)
{
	return n < 8 ? 1 : min_t(u32, n / 4, 4);
}

/* True: @spares of @n buffers are enough to go on while reads hang in the rest. */
static bool ec_spares_ok(u32 n, u32 spares)
{
	return !spares || (spares + 1 < n && spares >= ec_kept(n - spares) + 3);
}

static bool ec_config_ok(const struct prot_group_config *c)
{
	return c->k >= 2 && c->k <= PROT_DATA_MAX && c->m >= 1 && c->m <= PROT_PARITY_MAX &&
	       c->width == c->k + c->m && is_power_of_2(c->strip) && c->strip >= c->lba &&
	       c->strip <= PROT_STRIP_MAX && c->region >= c->strip &&
	       !(c->bytes & (c->strip - 1)) && is_power_of_2(c->slot_bytes) &&
	       c->slot_bytes >= c->strip && c->slot_bytes <= PROT_STRIP_MAX &&
	       is_power_of_2(c->slot_head) && c->slot_head >= c->lba &&
	       c->rings && c->rings <= PROT_RINGS_MAX &&
	       c->slots >= PROT_SLOTS_MIN && c->slots <= PROT_SLOTS_MAX &&
	       (!c->smalls || (c->smalls > 1 && is_power_of_2(c->small) && c->small >= c->lba &&
			       c->small <= c->strip && ec_spares_ok(c->smalls, c->spares[1]))) &&
	       c->cached <= PROT_CACHED_MAX && c->ops > PROT_OP_FILL + !!c->cached &&
	       c->bufs > PROT_BUF_FIRST * prot_depth(c) + 1 &&
	       ec_spares_ok(c->bufs - PROT_BUF_FIRST * prot_depth(c), c->spares[0]);
}

static u32 ec_frame_bytes(const struct prot_shape *h, const struct prot_group_config *c,
			  u32 window)
{
	return c->width * (h->head + window) + max(c->k, c->m) * window;
}

static void ec_arrange(struct prot_shape *h, const struct prot_group_config *c, u64 *end)
{
	u32 own = PROT_BUF_FIRST * prot_depth(c);

	h->data = c->k;
	h->bucket_shift = ilog2(c->strip);
	h->window = c->strip;
	h->zeroes_max = c->k * c->strip;	/* less than a stripe costs more */
	h->head = min_t(u32, c->slot_head, EC_HEAD_MAX);
	h->align = h->head;
	h->buf_bytes = ec_frame_bytes(h, c, h->window);
	h->small_bytes = ec_frame_bytes(h, c, c->small);
	h->meta_buf_bytes = c->lba + c->slot_bytes;
	h->cached_bytes = c->k * c->strip;
	h->first_op = c->cached ? PROT_OP_FILL + 1 : PROT_OP_BARRIER + 1;
	h->nr_queues = PROT_Q_RING + c->rings;
	h->kept_bufs[0] = c->bufs < own + 8 ? 1 : ec_kept(c->bufs - own - c->spares[0]);
	h->kept_bufs[1] = ec_kept(c->smalls ? c->smalls - c->spares[1] : 0);
	h->off_code = prot_take(end, 1, sizeof(struct prot_code));
	h->off_rings = prot_take(end, c->rings, sizeof(struct prot_ring));
	h->off_ecops = prot_take(end, c->ops, sizeof(struct prot_ecop));
	h->off_ranges = prot_take(end, (u64)c->ops * c->k, sizeof(struct prot_ec_range));
	h->off_streams = prot_take(end, 1, sizeof(struct prot_ec_streams));
	h->off_txs = prot_take(end, (u64)c->rings * c->slots, sizeof(struct prot_tx));
	h->off_cache = prot_take(end, c->cached, prot_ec_cached_bytes(c));
}

static void ec_init(struct prot_group *g)
{
	g->ec_stage = g->cfg.fresh ? PROT_EC_MISS : PROT_EC_ATTACH;
	g->attach = max_t(u64, g->cfg.attach, 1);
	prot_ec_rings_reset(g);
	WARN_ON_ONCE(prot_code_init(prot_ec_code(g), g->cfg.k, g->cfg.m));
}

static bool ec_may_join(const struct prot_group *g, u32 member)
{
	return g->taken >> member & 1;
}

static void ec_idle(struct prot_group *g)
{
	prot_ec_run_hurry(g);
	g->barriers = 1;
}

static bool ec_settle(struct prot_group *g)
{
	if (prot_ec_settled(g))
		return true;
	if (!g->barriers)
		g->barriers = 1;
	return false;
}

static const struct prot_policy ec_policy = {
	.phases = ec_phases,
	.config_ok = ec_config_ok,
	.arrange = ec_arrange,
	.meta_bytes = prot_ec_ring_bytes,
	.init = ec_init,
	.span = prot_ec_span,
	.start = prot_ec_start,
	.start_rows = prot_ec_start_rows,
	.conflict = prot_ec_conflict,
	.step = prot_ec_step,
	.result = prot_ec_result,
	.set_aside = prot_ec_set_aside,
	.stop = prot_ec_stop,
	.meta_next = prot_ec_meta_next,
	.meta_result = prot_ec_meta_result,
	.strike = prot_ec_strike,
	.miss_unfinished = prot_ec_miss_unfinished,
	.may_join = ec_may_join,
	.repaired = prot_ec_repaired,
	.idle = ec_idle,
	.hurry = prot_ec_run_hurry,
	.settle = ec_settle,
	.background = prot_ec_barrier,
};

static const char *ec_check(struct prot_segment *s)
{
	if (s->data < 2 || s->data > PROT_DATA_MAX)
		return "ec has 2 to 32 data members in a group";
	if (!s->parity || s->parity > PROT_PARITY_MAX)
		return "ec has 1 to 4 parity members in a group";
	if (s->strip > PROT_EC_STRIP_MAX)
		return "strips of erasure coding are 512k at most";
	s->width = s->data + s->parity;
	s->unit = s->strip * s->data;
	return NULL;
}

const struct prot_level_ops prot_ec_ops = {
	.name = "ec",
	.check = ec_check,
	.next = prot_stripe_next,
	.policy = &ec_policy,
};
