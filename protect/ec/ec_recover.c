// SPDX-License-Identifier: GPL-2.0-only
/*
 * Attaching to a group that may have crashed, and the attach number.
 *
 *   ATTACH   the highest number on any member in sync counts; records with another
 *            number are dead
 *   RINGS    all ring slots and MISSED bitmaps are read; a slot unreadable on one
 *            member is judged by the others. By ring: below the highest watermark
 *            all is in place; from there on, a transaction with records on all holders
 *            in sync is complete, with a record missing on one it is dropped
 *   ERASE    dropped and unreadable records are made invalid, or the loss of a
 *            member without the record would complete the transaction later
 *   REPLAY   complete transactions go in place again, oldest first, to each member
 *            from the member's own record
 *   MISS     members that are out miss all regions replayed, durably
 *   BUMP     a new number on all: every record so far is dead
 *
 * After a crash in here all begins again and comes to the same end. A stage is over when all
 * members are through. A failed member ends the attachment; the next attachment, after an epoch
 * without the member, begins again too.
 *
 * The number is bumped once more before a member is readmitted: see recover_promote().
 */
#include <linux/kernel.h>
#include <linux/string.h>
#include <asm/byteorder.h>

#include "protect/ec/ec_priv.h"

static void *recover_meta_buffer(struct prot_group *g, u32 member)
{
	return prot_group_buffer(g, PROT_BUFFER_META + member);
}

static u64 recover_attach_at(const struct prot_group *g, u32 member, u32 block)
{
	return g->cfg.meta[member] + (u64)block * g->cfg.lba;
}

/* Write the older of the two blocks: a torn write leaves the newer one. */
static void recover_write_attach(struct prot_group *g, u32 member, struct prot_event *ev)
{
	struct prot_attach_rec *r = recover_meta_buffer(g, member);

	memset(r, 0, g->cfg.lba);
	r->member = member;
	r->seq = cpu_to_le64(g->attach);
	r->attach = cpu_to_le64(g->attach);
	r->epoch = cpu_to_le64(g->cfg.epoch);
	prot_attach_seal(r, &g->cfg.owner);
	prot_meta_io(g, member, PROT_META_ATTACH, PROT_WRITE,
		     recover_attach_at(g, member, !g->meta[member].attach_block), 0, g->cfg.lba,
		     ev);
}

static void recover_take_attach(struct prot_group *g, u32 member)
{
	const struct prot_attach_rec *r = recover_meta_buffer(g, member);
	struct prot_meta *m = &g->meta[member];
	u32 block = m->pos++;

	if (prot_attach_check(r, &g->cfg.owner, member) || le64_to_cpu(r->attach) < m->attach)
		return;
	m->attach = le64_to_cpu(r->attach);
	m->attach_block = block;
}

static void recover_place_of(const struct prot_group *g, u32 member, u32 ring, u32 slot,
			     struct prot_slot_place *at)
{
	*at = (struct prot_slot_place){ .attach = g->attach, .strip_bytes = g->cfg.strip,
					.slot_bytes = g->cfg.slot_bytes, .ring = ring,
					.rings = g->cfg.rings, .slot = slot,
					.slots = g->cfg.slots, .lba = g->cfg.lba,
					.member = member, .width = g->cfg.width };
	at->stripes = div_u64(g->cfg.bytes, g->cfg.strip);
	if (PROT_MUTANT(EC_STALE_REPLAYED))
		at->attach = 0;
}

static void recover_slot_of(const struct prot_group *g, u32 n, u32 *ring, u32 *slot)
{
	*ring = n / g->cfg.slots;
	*slot = n % g->cfg.slots;
}

static void recover_read_slot(struct prot_group *g, u32 member, u32 ring, u32 slot, u8 what,
			      struct prot_event *ev)
{
	prot_meta_io(g, member, what, PROT_READ, prot_ec_slot(g, member, ring, slot), 0,
		     g->cfg.lba + g->cfg.slot_bytes, ev);
}

static bool recover_record_valid(struct prot_group *g, u32 member, u32 ring, u32 slot)
{
	const struct prot_slot_hdr *h = recover_meta_buffer(g, member);
	struct prot_slot_place at;

	recover_place_of(g, member, ring, slot, &at);
	return !prot_slot_check(h, &g->cfg.owner, &at) &&
	       !prot_slot_check_payload(h, (const u8 *)h + g->cfg.lba, &g->cfg.owner);
}

static void recover_take_slot(struct prot_group *g, u32 member)
{
	const struct prot_slot_hdr *h = recover_meta_buffer(g, member);
	struct prot_tx *t, own;
	struct prot_ring *l;
	u32 ring, slot;

	recover_slot_of(g, g->meta[member].pos++, &ring, &slot);
	g->slots_read++;
	/* none was ever written */
	if (!g->attach || !recover_record_valid(g, member, ring, slot))
		return;
	t = prot_tx(g, ring, slot);
	l = prot_ring(g, ring);
	if (!PROT_MUTANT(EC_NO_WATERMARK))
		l->known = max(l->known, le64_to_cpu(h->watermark));
	if (le64_to_cpu(h->txid) < t->txid)
		return;		/* used again: dead by a watermark */
	own = (struct prot_tx){ .txid = le64_to_cpu(h->txid), .kind = h->kind,
				.holders = le64_to_cpu(h->holders),
				.parts = le64_to_cpu(h->participants),
				.stripe = le64_to_cpu(h->stripe), .unread = t->unread };
	if (own.txid > t->txid)
		*t = own;
	/* records of one transaction agree; a record that differs belongs to none */
	if (own.kind == t->kind && own.holders == t->holders && own.parts == t->parts &&
	    own.stripe == t->stripe)
		t->have |= PROT_BIT(member);
}

/*
 * A slot unreadable on members @unread. A recorded transaction lives only if all holders in sync
 * have the record, on more members than may still be lost. If enough others can read the slot,
 * these others know of a live transaction. A transaction not held by the @unread members is dead
 * there, or to be dropped.
 */
static void recover_judge_unread(struct prot_group *g, const struct prot_tx *t)
{
	u64 unread = t->unread & g->in_sync, known = unread;
	int spare = g->cfg.m - (g->cfg.width - prot_weight(g->in_sync));

	if (prot_weight(unread) <= spare)
		known &= t->live ? t->holders : 0;
	if (PROT_MUTANT(EC_UNREAD_DEAD))
		known = 0;
	for (; known; known &= known - 1)
		prot_member_failed(g, prot_lowest(known));
}

/* RINGS: judge transactions: dead, complete or dropped. */
static void recover_judge(struct prot_group *g)
{
	u32 n, ring, slot;

	for (n = 0; n < (u32)g->cfg.rings * g->cfg.slots; n++) {
		struct prot_tx *t;

		recover_slot_of(g, n, &ring, &slot);
		t = prot_tx(g, ring, slot);
		t->live = t->txid && t->txid >= prot_ring(g, ring)->known;
		t->complete = !(t->holders & g->in_sync & ~t->have);
		recover_judge_unread(g, t);
		if (!t->live || !t->complete || t->kind == PROT_SLOT_BARRIER)
			continue;
		g->replayed++;
		if (!PROT_MUTANT(NO_MISS))
			prot_mark_missed(g, prot_region_of(g, t->stripe * g->cfg.strip), 0);
	}
}

/* ERASE: invalidate the next dropped record on @member. */
static bool recover_erase_next(struct prot_group *g, u32 member, struct prot_event *ev)
{
	struct prot_meta *m = &g->meta[member];
	u32 ring, slot, bytes;

	for (; m->pos < (u32)g->cfg.rings * g->cfg.slots; m->pos++) {
		const struct prot_tx *t;

		recover_slot_of(g, m->pos, &ring, &slot);
		t = prot_tx(g, ring, slot);
		bytes = g->cfg.lba;
		if (t->unread >> member & 1)
			bytes += g->cfg.slot_bytes;	/* readable again after the write */
		else if (!t->live || t->complete || !(t->have >> member & 1) ||
			 PROT_MUTANT(EC_NO_ERASE))
			continue;
		memset(recover_meta_buffer(g, member), 0, bytes);
		prot_meta_io(g, member, PROT_META_ERASE, PROT_WRITE,
			     prot_ec_slot(g, member, ring, slot), 0, bytes, ev);
		m->pos++;
		return true;
	}
	return false;
}

/* The oldest transaction of @ring after @after to be replayed. */
static const struct prot_tx *recover_replay_after(const struct prot_group *g, u32 ring, u64 after,
						  u32 *slot)
{
	const struct prot_tx *best = NULL;
	u32 i;

	for (i = 0; i < g->cfg.slots; i++) {
		const struct prot_tx *t = prot_tx(g, ring, i);

		if (!t->live || !t->complete || t->txid <= after || (best && t->txid > best->txid))
			continue;
		best = t;
		*slot = i;
	}
	return best;
}

static void recover_write_replayed(struct prot_group *g, u32 member, struct prot_event *ev)
{
	const struct prot_slot_hdr *h = recover_meta_buffer(g, member);

	g->places_written++;
	prot_meta_io(g, member, PROT_META_PLACE, PROT_WRITE,
		     g->cfg.data[member] + le64_to_cpu(h->stripe) * g->cfg.strip +
		     le32_to_cpu(h->first), g->cfg.lba, le32_to_cpu(h->length), ev);
}

static void recover_place_zeroes(struct prot_group *g, u32 member, u64 addr, struct prot_event *ev)
{
	u8 kind = PROT_MUTANT(DISCARD) ? PROT_DISCARD : PROT_ZEROES;
	bool plain = g->no_zeroes >> member & 1;

	g->places_written++;
	prot_meta_io(g, member, PROT_META_PLACE, plain ? PROT_WRITE : kind,
		     g->cfg.data[member] + addr, 0, g->cfg.strip, ev);
	if (plain)
		ev->runs[0].buffer = PROT_BUFFER_ZERO;
}

/* REPLAY: the next step to put recorded transactions in place on @member. */
static bool recover_replay_next(struct prot_group *g, u32 member, struct prot_event *ev)
{
	struct prot_meta *m = &g->meta[member];
	const struct prot_tx *t;
	u32 slot = 0;

	if (m->loaded) {
		m->loaded = 0;
		recover_write_replayed(g, member, ev);
		return true;
	}
	for (; m->pos < g->cfg.rings; m->pos++, m->last = 0)
		while ((t = recover_replay_after(g, m->pos, m->last, &slot))) {
			m->last = t->txid;
			if (t->kind == PROT_SLOT_ZERO) {
				recover_place_zeroes(g, member, t->stripe * g->cfg.strip, ev);
				return true;
			}
			if (t->kind != PROT_SLOT_PAYLOAD ||
			    !(t->parts & t->have & PROT_BIT(member)))
				continue;
			recover_read_slot(g, member, m->pos, slot, PROT_META_REPLAY, ev);
			return true;
		}
	return false;
}

/* The next I/O of @member in this stage; false: the member is through. */
static bool recover_stage_next(struct prot_group *g, u32 member, struct prot_event *ev)
{
	struct prot_meta *m = &g->meta[member];
	u32 ring, slot;

	switch (g->ec_stage) {
	case PROT_EC_ATTACH:
		if (m->pos == 2)
			return false;
		prot_meta_io(g, member, PROT_META_ATTACH, PROT_READ,
			     recover_attach_at(g, member, m->pos), 0, g->cfg.lba, ev);
		return true;
	case PROT_EC_RINGS:
		if (prot_bitmap_load(g, member, ev))
			return true;
		if (m->pos == (u32)g->cfg.rings * g->cfg.slots)
			return false;
		recover_slot_of(g, m->pos, &ring, &slot);
		recover_read_slot(g, member, ring, slot, PROT_META_SLOT, ev);
		return true;
	case PROT_EC_ERASE:
		return recover_erase_next(g, member, ev);
	case PROT_EC_REPLAY:
		return recover_replay_next(g, member, ev);
	case PROT_EC_BUMP:
		if (g->bumped >> member & 1)
			return false;
		recover_write_attach(g, member, ev);
		return true;
	default:
		return false;
	}
}

/* A number on no record, neither found nor still unread. */
static u64 recover_new_attach(const struct prot_group *g)
{
	if (PROT_MUTANT(EC_NO_BUMP))
		return max_t(u64, g->attach, 1);
	return max_t(u64, g->cfg.attach, g->cfg.fresh ? 1 : g->attach + 1);
}

/* Members that need no notice of the number: none, but for mutants. */
static u64 recover_bump_spares(const struct prot_group *g)
{
	if (PROT_MUTANT(EC_NO_BUMP) && g->attach > 1)
		return g->in_sync;
	return PROT_MUTANT(EC_BUMP_ONE) ? g->in_sync & ~PROT_BIT(prot_lowest(g->in_sync)) : 0;
}

/* A mutant: reads are served while the bump is in flight. */
static void recover_serve_early(struct prot_group *g)
{
	g->state = PROT_G_SERVING;
	g->draining = 1;
	g->bump = 1;
	g->bumping = g->in_sync;
}

/* All members are through. */
static void recover_stage_over(struct prot_group *g)
{
	u64 known = 0;
	u32 i;

	switch (g->ec_stage) {
	case PROT_EC_ATTACH:
		for (i = 0; i < g->cfg.width; i++)
			known = max(known, g->meta[i].attach);
		g->attach = known;
		break;
	case PROT_EC_RINGS:
		recover_judge(g);
		if (g->state == PROT_G_STOPPED)
			return;
		g->state = PROT_G_UNITING;
		break;
	case PROT_EC_MISS:
		g->attach = recover_new_attach(g);
		g->bumped = recover_bump_spares(g);
		if (PROT_MUTANT(EC_NO_ERASE))
			recover_serve_early(g);
		break;
	case PROT_EC_BUMP:
		prot_ec_rings_reset(g);
		g->bumped = 0;
		g->state = PROT_G_SERVING;
		break;
	}
	g->ec_stage++;
	for (i = 0; i < g->cfg.width; i++) {
		g->meta[i].pos = 0;
		g->meta[i].last = 0;
	}
}

static bool recover_attach_next(struct prot_group *g, struct prot_event *ev)
{
	bool busy;
	u32 i;

	do {
		busy = false;
		for (i = 0; i < g->cfg.width; i++) {
			if (!(g->in_sync >> i & 1))
				continue;
			busy |= g->meta[i].busy;
			if (!g->meta[i].busy && recover_stage_next(g, i, ev))
				return true;
		}
		if (g->ec_stage == PROT_EC_MISS && !prot_bitmap_settled(g))
			return false;
		if (!busy)
			recover_stage_over(g);
	} while (!busy && g->state != PROT_G_SERVING && g->state != PROT_G_STOPPED);
	return false;
}

/*
 * Readmission: a member that misses nothing has no records of transactions done without the
 * member, and may have old records. So no transaction begins, transactions in flight end, and a
 * new attach number voids all records; from then on the member takes part in each transaction.
 * Once begun on one member in sync, the bump has to be finished on all, or some records would not
 * count.
 */
static bool recover_promote(struct prot_group *g, struct prot_event *ev)
{
	u64 left = g->promoting & ~g->taken, due = 0, to;
	u32 i;

	if (!(g->promoting | g->bump | g->draining))
		return false;
	for (; left; left &= left - 1)
		if (prot_bitmap_has(g, prot_lowest(left)))
			due |= left & -left;
	if (PROT_MUTANT(EC_NO_DRAIN)) {
		g->taken |= due;
		return false;
	}
	if (!g->bump) {
		if (!due != !g->draining) {
			g->draining = !!due;
			prot_ready_all(g);
		}
		if (!due || !prot_ec_drained(g))
			return false;
		g->bump = 1;
		g->bumped = 0;
		g->half = 0;
		g->bumping = g->in_sync | due;
		g->attach++;
	}
	to = g->in_sync | g->taken | (g->bumping & g->promoting);
	for (i = 0; i < g->cfg.width; i++) {
		if (!(to & ~g->bumped & ~g->failed & PROT_BIT(i)) || g->meta[i].busy)
			continue;
		recover_write_attach(g, i, ev);
		return true;
	}
	if (to & ~g->bumped)
		return false;
	prot_ec_rings_reset(g);
	g->taken |= g->bumping & g->promoting;
	g->bump = 0;
	g->draining = 0;
	prot_ready_all(g);
	/* begin a bump for members too late for the last one; no other event may do so */
	return due & ~g->taken && recover_promote(g, ev);
}

/* Start the next I/O of records on any member, if there is one. */
bool prot_ec_meta_next(struct prot_group *g, struct prot_event *ev)
{
	if (g->state == PROT_G_SERVING)
		return recover_promote(g, ev);
	return recover_attach_next(g, ev);
}

/*
 * Readmission writes both blocks of a member. The other block of a returning member is older than
 * all later records, and either block may be the only readable one.
 */
static void recover_attach_written(struct prot_group *g, u64 bit)
{
	if (g->state == PROT_G_SERVING && !(g->half & bit)) {
		g->half |= bit;
		return;
	}
	g->half &= ~bit;
	g->bumped |= bit;
}

/* The step begun last is to be done once more. */
static void recover_step_back(struct prot_meta *m)
{
	if (m->what == PROT_META_ERASE)
		m->pos--;
	else if (m->what == PROT_META_PLACE)
		m->last--;	/* the record is read again, too */
}

void prot_ec_meta_result(struct prot_group *g, u32 member, int err)
{
	struct prot_meta *m = &g->meta[member];
	u32 ring, slot;

	m->busy = 0;
	if (prot_meta_again(g, member, err)) {
		recover_step_back(m);
		return;
	}
	if (m->what == PROT_META_SLOT && prot_class(err) == PROT_C_MEDIUM) {
		recover_slot_of(g, m->pos++, &ring, &slot);
		prot_tx(g, ring, slot)->unread |= PROT_BIT(member);
		g->slots_read++;
		return;
	}
	if (err) {
		prot_member_failed(g, member);
		return;
	}
	switch (m->what) {
	case PROT_META_ATTACH:
		if (g->state == PROT_G_LOADING) {
			recover_take_attach(g, member);
			break;
		}
		m->attach_block = !m->attach_block;
		recover_attach_written(g, PROT_BIT(member) & (g->in_sync | g->promoting));
		break;
	case PROT_META_SLOT:
		recover_take_slot(g, member);
		break;
	case PROT_META_REPLAY:
		div_u64_rem(m->last, g->cfg.slots, &slot);
		ring = m->pos;
		if (recover_record_valid(g, member, ring, slot))
			m->loaded = 1;
		else
			prot_member_failed(g, member);	/* the record was valid a moment ago */
		break;
	}
}
