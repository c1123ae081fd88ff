// SPDX-License-Identifier: GPL-2.0-only
/*
 * Rings: places, transaction ids, the ring's slots, watermarks, gate and retirement.
 *
 *   txid   .. 41   42   43   44   45   46   47
 *             retired |  in flight   |    next
 *                  oldest = 44
 *
 * Each record names the watermark: the oldest transaction of the ring not retired when the record
 * was made. Every transaction below is in place. The slots below a watermark may be used again
 * once the record is durable on enough members: at least one copy must survive all losses still
 * allowed. "Finished" is not enough, the memory of the fact must survive. One slot always stays
 * unused by transactions in flight, or the whole ring could be retired without a record to say
 * so.
 */
#include <linux/kernel.h>
#include <linux/string.h>
#include <asm/byteorder.h>

#include "protect/ec/ec_priv.h"

static u64 ring_rings_at(const struct prot_group_config *c, u64 records)
{
	return round_up(records, (u64)c->slot_head);
}

/* Bytes of the rings, with padding to align the rings behind @records bytes. */
u64 prot_ec_ring_bytes(const struct prot_group_config *c, u64 records)
{
	return ring_rings_at(c, records) - records +
	       (u64)c->rings * c->slots * (c->slot_head + c->slot_bytes);
}

u64 prot_ec_slot(const struct prot_group *g, u32 member, u32 ring, u32 slot)
{
	u64 records = (u64)g->cfg.lba * (2 + g->shape.nr_bitmaps * g->shape.nr_blocks);
	u64 head = g->cfg.slot_head - g->cfg.lba;

	return g->cfg.meta[member] + ring_rings_at(&g->cfg, records) + head +
	       ((u64)ring * g->cfg.slots + slot) * (g->cfg.slot_head + g->cfg.slot_bytes);
}

void prot_ec_rings_reset(struct prot_group *g)
{
	u32 i;

	for (i = 0; i < g->cfg.rings; i++)
		*prot_ring(g, i) = (struct prot_ring){ .next = 1, .oldest = 1 };
}

/* Number of records needed for one to survive, on members in sync or about to be in sync. */
static int ring_holders_needed(const struct prot_group *g)
{
	int out = g->cfg.width - prot_weight(g->in_sync);

	return g->cfg.m - out + 1 + prot_weight(g->taken & ~g->in_sync);
}

/* Header-only holders: in sync first. */
static u64 ring_pick_holders(const struct prot_group *g)
{
	u64 from = prot_ec_full(g), set = 0;
	int need = PROT_MUTANT(EC_HOLDERS_ONE) ? 1 : ring_holders_needed(g);

	for (; need > 0 && from; need--) {
		u64 pool = from & g->in_sync ? from & g->in_sync : from;

		set |= PROT_BIT(prot_lowest(pool));
		from &= ~set;
	}
	return set;
}

/* True: the old record in the ring's next slot is below a surviving watermark. */
static bool ring_slot_dead(const struct prot_group *g, const struct prot_ring *l)
{
	return l->next < l->durable + g->cfg.slots || PROT_MUTANT(EC_SLOT_FINISHED);
}

/* True: the ring may give out the next id; one ring slot stays unused by transactions in flight. */
static bool ring_slot_free(const struct prot_group *g, const struct prot_ring *l)
{
	u64 keep = PROT_MUTANT(EC_RING_JAM) ? 1 : 2;

	return ring_slot_dead(g, l) && l->next + keep <= l->oldest + g->cfg.slots;
}

/* After a crash, the last record of the ring could still go in place. */
static bool ring_replayable(const struct prot_ring *l)
{
	return l->recorded && l->recorded >= l->durable && !PROT_MUTANT(EC_UNRECORDED);
}

/*
 * One sector is written whole or not at all, so a lone strip needs no record. Exception: the last
 * record of the ring could still be replayed.
 */
static bool ring_unrecorded(const struct prot_group *g, const struct prot_ecop *e)
{
	if (PROT_MUTANT(EC_NO_JOURNAL) && e->kind == PROT_SLOT_PAYLOAD)
		return true;
	if (PROT_MUTANT(EC_INTENT_ONLY) && e->kind == PROT_SLOT_PAYLOAD &&
	    e->bytes == g->cfg.k * g->cfg.strip)
		return true;
	return prot_weight(e->parts) == 1 && !e->joins && !ring_replayable(prot_ring(g, e->ring));
}

static void ring_count(struct prot_group *g, const struct prot_gop *op)
{
	const struct prot_ecop *e = prot_ecop(g, op);

	if (op->purpose == PROT_FOR_REQUEST) {
		*(e->gather ? &g->counts.partial : &g->counts.full) += 1;
		g->counts.cached += e->gather && !e->reads;
	}
}

/* P1: settle the participants and take a ring slot; the op's phase then has the result. */
void prot_ec_txid(struct prot_group *g, struct prot_gop *op)
{
	struct prot_ecop *e = prot_ecop(g, op);
	struct prot_ring *l = prot_ring(g, e->ring);
	u64 strips = e->data | prot_ec_all_parity(g), changed;

	if (g->draining) {
		g->counts.ring_waits += prot_wait(g, op, PROT_Q_RING + e->ring);
		return;
	}
	if (e->kind == PROT_SLOT_ZERO)
		strips = PROT_BIT(g->cfg.width) - 1;
	if (e->kind == PROT_SLOT_BARRIER)
		strips = 0;
	changed = prot_ec_members(g, e, strips);
	e->parts = changed & prot_ec_full(g);
	e->joins &= changed & g->joining & ~e->parts;
	if (e->kind != PROT_SLOT_BARRIER && ring_unrecorded(g, e)) {
		ring_count(g, op);
		prot_phase(g, op, PROT_P_EC_PLACE);
		return;
	}
	if (!ring_slot_free(g, l) || !prot_turn(g, op, PROT_Q_RING + e->ring)) {
		prot_ec_run_hurry(g);
		g->counts.ring_waits += prot_wait(g, op, PROT_Q_RING + e->ring);
		return;
	}
	e->mark = l->oldest;
	e->txid = l->next++;
	e->holders = e->kind == PROT_SLOT_PAYLOAD ? e->parts : ring_pick_holders(g);
	e->named_holders = e->holders;
	e->named_parts = e->parts;
	if (e->kind != PROT_SLOT_BARRIER)
		l->recorded = e->txid;
	ring_count(g, op);
	prot_phase(g, op, PROT_P_EC_RECORD);
}

/* P2: the record of @member. */
void prot_ec_record(struct prot_group *g, struct prot_gop *op, u32 member,
		    struct prot_event *ev)
{
	struct prot_ecop *e = prot_ecop(g, op);
	u32 strip = prot_ec_strip(g, e, member), from = 0, length = 0, at, slot;
	struct prot_slot_hdr *h;

	if (e->kind == PROT_SLOT_PAYLOAD)
		prot_ec_part(g, op, strip, &from, &length);
	at = prot_ec_new(g, op, strip) + from - g->cfg.lba;
	h = (struct prot_slot_hdr *)(prot_ec_frame(g, op) + at);
	memset(h, 0, g->cfg.lba);
	h->kind = e->kind;
	h->member = member;
	h->strip = e->kind == PROT_SLOT_PAYLOAD ? strip : 0;
	h->ring = cpu_to_le32(e->ring);
	h->attach = cpu_to_le64(g->attach);
	h->txid = cpu_to_le64(e->txid);
	h->watermark = cpu_to_le64(e->mark);
	h->epoch = cpu_to_le64(g->cfg.epoch);
	h->participants = cpu_to_le64(e->named_parts);
	h->holders = cpu_to_le64(e->named_holders);
	h->stripe = cpu_to_le64(e->stripe);
	h->first = cpu_to_le32(e->kind == PROT_SLOT_PAYLOAD ? e->row + from : 0);
	h->length = cpu_to_le32(length);
	if (length)
		h->payload_sum = cpu_to_le64(prot_slot_payload_sum((u8 *)h + g->cfg.lba, length,
								   &g->cfg.owner, g->attach,
								   e->txid, member));
	prot_slot_seal(h, &g->cfg.owner);
	div_u64_rem(e->txid, g->cfg.slots, &slot);
	prot_io_fill(g, op, member, PROT_WRITE, 0, g->cfg.lba + length, ev);
	ev->io.addr = prot_ec_slot(g, member, e->ring, slot);
	ev->runs[0].buffer = PROT_BUFFER_PRIVATE + op->buf;
	ev->runs[0].offset = at;
	if (length) {
		ev->io.stage_do = PROT_STAGE_KEEP;
		ev->io.stage = ev->io.tag;
		ev->io.stage_offset = g->cfg.lba;
		ev->io.stage_after = prot_ec_run_after(g, op, member);
		ev->io.stage_room = prot_ec_run_room(g, op);
	}
}

/* Of @members, the members that must have the write: failed members as well, until an epoch. */
u64 prot_ec_must_have(const struct prot_group *g, u64 members)
{
	return PROT_MUTANT(EC_GATE_NO_EPOCH) ? members & ~g->failed : members;
}

/* P3: each holder has a record, or is out by a committed epoch. */
bool prot_ec_gate(const struct prot_group *g, const struct prot_gop *op)
{
	u64 need = prot_ec_must_have(g, prot_ecop(g, op)->holders);

	if (PROT_MUTANT(EC_EARLY) && op->ok)
		need = 0;
	return !(op->sent & ~op->ended) && !(need & ~op->ok);
}

void prot_ec_gated(struct prot_group *g, struct prot_gop *op)
{
	struct prot_ecop *e = prot_ecop(g, op);
	struct prot_ring *l = prot_ring(g, e->ring);

	if (e->mark > l->durable &&
	    prot_weight(e->holders & prot_ec_full(g)) >= ring_holders_needed(g)) {
		l->durable = e->mark;
		prot_wake(g, PROT_Q_RING + e->ring);
	}
}

/* P6: the transaction is in place on all members, and missed rows are known durably. */
void prot_ec_retire(struct prot_group *g, struct prot_gop *op)
{
	struct prot_ecop *e = prot_ecop(g, op);
	struct prot_ring *l = prot_ring(g, e->ring);
	u32 slot;

	div_u64_rem(e->txid, g->cfg.slots, &slot);
	l->retired |= PROT_BIT(slot);
	for (; l->oldest < l->next; l->oldest++) {
		div_u64_rem(l->oldest, g->cfg.slots, &slot);
		if (!(l->retired >> slot & 1))
			break;
		l->retired &= ~PROT_BIT(slot);
	}
	prot_wake(g, PROT_Q_RING + e->ring);
}

/* Move on the watermark of the next ring whose last record would hold up a lone write. */
bool prot_ec_barrier(struct prot_group *g)
{
	struct prot_gop *op = prot_gop(g, PROT_OP_BARRIER);
	struct prot_ecop *e = prot_ecop(g, op);
	u32 i;

	if (!g->barriers || op->phase != PROT_P_FREE || g->state != PROT_G_SERVING)
		return false;
	for (i = g->barriers - 1; i < g->cfg.rings; i++) {
		const struct prot_ring *l = prot_ring(g, i);

		if (l->oldest != l->next || l->recorded < l->durable)
			continue;
		g->barriers = i + 2;
		memset(e, 0, sizeof(*e));
		e->ring = i;
		op->kind = PROT_WRITE;
		op->flags = 0;
		op->purpose = PROT_FOR_BARRIER;
		prot_start(g, op, 0, 0);
		return true;
	}
	g->barriers = 0;
	return false;
}

/* True: a crash now would leave no record to be replayed. */
bool prot_ec_settled(const struct prot_group *g)
{
	u32 i;

	for (i = 0; i < g->cfg.rings; i++) {
		const struct prot_ring *l = prot_ring(g, i);

		if (l->oldest != l->next || (l->recorded && l->recorded >= l->durable))
			return false;
	}
	return true;
}

/* True: no transaction is between id and retirement. */
bool prot_ec_drained(const struct prot_group *g)
{
	u32 i;

	for (i = 0; i < g->cfg.ops; i++) {
		const struct prot_gop *op = prot_gop(g, i);

		if (op->purpose != PROT_FOR_SYNC && op->purpose != PROT_FOR_SCRUB &&
		    (op->phase == PROT_P_EC_RECORD || op->phase == PROT_P_EC_PLACE ||
		     op->phase == PROT_P_EC_RETIRE))
			return false;
	}
	return true;
}
