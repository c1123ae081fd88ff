// SPDX-License-Identifier: GPL-2.0-only
/* Members, their I/O, and what requests see of them. */
#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "protect/codec/codec.h"
#include "protect/engine/group_priv.h"
#include "tests/sim/sim.h"

int sim_trace;

static void trace_io(const struct sim_world *w, const char *what, const struct sim_io *io)
{
	int meta = w->meta;
	static const char *const kinds[] = { "read", "write", "discard", "zeroes" };

	if (sim_trace)
		printf("      %s %s %s%d+%d on member %d (I/O %llu)\n", what,
		       io->work == PROT_EV_COPY ? "copy" : io->work ? "codec" : kinds[io->kind & 3],
		       io->first < meta ? "record " : "",
		       io->first < meta ? io->first : io->first - meta, io->sectors,
		       io->member, (unsigned long long)io->seq);
}

/* Sectors of data on each member. */
int sim_sectors(const struct sim_world *w)
{
	return w->cfg.k ? w->cfg.sectors / w->cfg.k : w->cfg.sectors;
}

void sim_bad(struct sim_world *w, const char *fmt, ...)
{
	va_list ap;

	if (w->bad[0])
		return;
	va_start(ap, fmt);
	vsnprintf(w->bad, sizeof(w->bad), fmt, ap);
	va_end(ap);
}

struct prot_group *sim_group(struct sim_world *w)
{
	return (struct prot_group *)w->engine;
}

static void config(const struct sim_world *w, struct prot_group_config *c)
{
	prot_bitmap_few = w->cfg.bits;
	memset(c, 0, sizeof(*c));
	memset(c->owner.volume, 0x5a, PROT_UUID_LEN);
	c->owner.salt = 0x1234567890abcdefULL;
	c->level = PROT_MIRROR;
	c->width = w->cfg.copies;
	c->lba = SIM_LBA;
	c->region = w->cfg.region * SIM_LBA;
	c->bytes = sim_sectors(w) * SIM_LBA;
	if (w->cfg.k) {
		c->level = PROT_EC;
		c->k = w->cfg.k;
		c->m = w->cfg.m;
		c->strip = w->cfg.strip * SIM_LBA;
		c->slot_bytes = w->cfg.slot * SIM_LBA;
		c->slot_head = SIM_LBA;
		c->rings = w->cfg.rings;
		c->slots = w->cfg.slots;
		c->small = SIM_LBA;
		c->spares[0] = c->spares[1] = SIM_SPARES;
		c->smalls = w->cfg.smalls ? w->cfg.smalls + SIM_SPARES : 0;
		c->cached = w->cfg.cached;
	}
	c->buf_bytes = w->cfg.chunk * SIM_LBA;
	c->depth = w->cfg.depth;
	c->bufs = 4 + c->spares[0] + (!w->cfg.k ? 0 : w->cfg.ops < 3 ? w->cfg.ops : 3);
	c->ops = (w->cfg.k ? 3 : 2) + !!c->cached + w->cfg.ops;
	if (c->depth) {
		c->bufs += 3 * (c->depth - 1);
		c->ops += 2 * (c->depth - 1);
	}
	c->errors = 1000;
	c->in_sync = w->store.in_sync;
	c->epoch = w->store.epoch;
	c->fresh = w->store.fresh;
	for (int i = 0; i < w->cfg.copies; i++) {
		c->uuid[i][0] = i + 1;
		c->uuid[i][1] = w->store.uuid[i];
		c->left[i] = w->store.left[i];
		c->data[i] = w->meta * SIM_LBA;
	}
}

/* One sector of an I/O reaches the medium. */
static void land(struct sim_world *w, struct sim_io *io, int k)
{
	uint8_t *to = w->disk[io->member][io->first + k];
	int where = io->first + k - w->meta;

	if (io->before || io->stale)
		return;
	w->bad_sectors[io->member] &= ~(1ULL << (io->first + k));
	switch (io->kind) {
	case PROT_WRITE:
		if (io->req < SIM_REQS)
			sim_fill(w, to, w->req[io->req].id, where);
		else if (io->loose)
			memcpy(to, (uint8_t *)prot_group_buffer(sim_group(w), io->buffer) + io->offset +
			       k * SIM_LBA, SIM_LBA);
		else
			memcpy(to, io->data + k * SIM_LBA, SIM_LBA);
		break;
	case PROT_ZEROES:
		memset(to, 0, SIM_LBA);
		break;
	case PROT_DISCARD:	/* what it reads as is undefined, here up to the drive */
		if (io->member & 1)
			memset(to, 0, SIM_LBA);
		break;
	}
}

int sim_pieces(const struct sim_world *w, const struct sim_io *io, int sector)
{
	return io->first + sector < w->meta ? SIM_LBA / SIM_TORN : 1;
}

/* A sector of records lands in part: its pieces in @mask. One of data is old or new. */
static void tear(struct sim_world *w, struct sim_io *io, int k, uint64_t mask)
{
	uint8_t *at = w->disk[io->member][io->first + k], old[SIM_LBA];
	int n = sim_pieces(w, io, k);

	mask &= (1ULL << n) - 1;
	if (!mask)
		return;
	memcpy(old, at, SIM_LBA);
	land(w, io, k);
	for (int i = 0; i < n; i++)
		if (!(mask >> i & 1))
			memcpy(at + i * SIM_TORN, old + i * SIM_TORN, SIM_TORN);
	trace_io(w, "lands", io);
}

static struct sim_io *free_io(struct sim_world *w)
{
	struct sim_io *io = w->io;

	while (io < w->io + SIM_IOS && io->used)
		io++;
	if (io == w->io + SIM_IOS) {
		sim_bad(w, "simulator: no room for an I/O");
		return NULL;
	}
	memset(io, 0, sizeof(*io));
	io->used = 1;
	io->seq = ++w->io_seq;
	io->req = SIM_REQS;
	return io;
}

static uint8_t request_of(struct sim_world *w, uint16_t op)
{
	uint8_t req;

	for (req = 0; req < SIM_REQS; req++)
		if (w->req[req].used && w->req[req].op == op)
			break;
	return req;
}

/* Bytes between payload and private buffer, or the codec's turn. */
static void do_work(struct sim_world *w, const struct sim_io *io)
{
	struct prot_group *g = sim_group(w);
	struct sim_req *r = &w->req[io->req];
	static struct prot_map map;
	uint8_t *buf;

	if (io->work == PROT_EV_CODEC) {
		uint32_t n = prot_group_codec_bytes(g, io->first);

		/* in pieces, as a kernel would */
		for (uint32_t at = 0; at < n; at += SIM_LBA)
			prot_group_codec(g, io->first, &prot_codec_portable, &map, at, SIM_LBA);
		return;
	}
	buf = (uint8_t *)prot_group_buffer(g, io->buffer) + io->offset;
	for (int k = 0; k < io->sectors; k++) {
		int where = r->first + io->first + k;

		if (io->out)
			r->got[io->first + k] = sim_value_of(w, buf + k * SIM_LBA, where);
		else
			sim_fill(w, buf + k * SIM_LBA, r->id, where);
	}
}

static void start_work(struct sim_world *w, const struct prot_event *ev)
{
	struct sim_io *io = free_io(w);

	if (!io)
		return;
	io->member = SIM_NO_MEMBER;
	io->kind = PROT_READ;
	io->work = ev->kind;
	io->tag = ev->io.tag;
	io->first = ev->op;
	io->req = request_of(w, ev->op);
	if (ev->kind == PROT_EV_COPY) {
		if (io->req == SIM_REQS) {
			sim_bad(w, "copy of no request");
			return;
		}
		io->out = ev->copy.out;
		io->first = ev->copy.request / SIM_LBA;
		io->sectors = ev->copy.length / SIM_LBA;
		io->buffer = ev->copy.buffer;
		io->offset = ev->copy.offset;
		if (io->first + io->sectors > w->req[io->req].count)
			sim_bad(w, "copy beyond the request");
	}
	trace_io(w, "start", io);
#ifdef SIM_SMALL_EC
	io->used = 0;		/* when it is done does not matter */
	do_work(w, io);
	prot_group_result(sim_group(w), io->tag, 0);
#endif
}

static void start_io(struct sim_world *w, const struct prot_event *ev)
{
	struct sim_io *io = free_io(w);

	if (!io)
		return;
	if (ev->io.length > SIM_IO_SECTORS * SIM_LBA) {
		sim_bad(w, "simulator: no room for an I/O");
		return;
	}
	if (w->store.in_sync != sim_group(w)->in_sync && !w->committed)
		sim_bad(w, "simulator: store and engine disagree");
	io->member = ev->io.member;
	io->kind = ev->io.kind;
	io->sectors = ev->io.length / SIM_LBA;
	io->first = ev->io.addr / SIM_LBA;
	io->tag = ev->io.tag;
	io->buffer = ev->runs[0].buffer;
	io->offset = ev->runs[0].offset;
	if (io->first + io->sectors > w->meta + sim_sectors(w))
		sim_bad(w, "I/O beyond the member");
	/* sectors in flight on a drive never overlap, unless all are read */
	for (struct sim_io *o = w->io; o < w->io + SIM_IOS; o++)
		if (o != io && o->used && !o->dead && o->member == io->member &&
		    o->first < io->first + io->sectors && io->first < o->first + o->sectors &&
		    !o->bypass && !o->before && (o->kind != PROT_READ || io->kind != PROT_READ))
			sim_bad(w, "overlapping I/O in flight on member %d", io->member);
	if (io->buffer == PROT_BUFFER_REQUEST) {
		io->req = request_of(w, ev->op);
		if (io->kind <= PROT_WRITE && io->req == SIM_REQS)
			sim_bad(w, "I/O of no request");
	} else if (io->kind == PROT_WRITE && io->buffer != PROT_BUFFER_ZERO) {
		memcpy(io->data + ev->io.stage_back,
		       (uint8_t *)prot_group_buffer(sim_group(w), io->buffer) + io->offset,
		       ev->io.length - ev->io.stage_back);
		sim_stage_begin(w, io, ev);
	}
	sim_check_scrub_io(w, io);
	trace_io(w, "start", io);
}

void sim_bypass_io(struct sim_world *w, struct sim_req *r, const struct prot_io *piece, uint32_t at)
{
	struct sim_io *io = free_io(w);

	if (!io)
		return;
	io->bypass = 1;
	io->member = piece->member;
	io->kind = PROT_READ;
	io->sectors = piece->length / SIM_LBA;
	io->first = piece->addr / SIM_LBA;
	io->req = r - w->req;
	io->offset = at;
	io->tag = PROT_TAG_META;	/* of no op */
	trace_io(w, "start bypass", io);
}

/* Its end goes to who has sent it. */
static void io_ended(struct sim_world *w, struct sim_io *io, int err)
{
	w->now++;
	if (io->bypass)
		sim_bypass_ended(w, io, err);
	else
		prot_group_result(sim_group(w), io->tag, err);
}

/* The request's op may be another one's from now on. */
static void op_free(struct sim_world *w, const struct prot_event *ev)
{
	if (!(w->taken >> ev->op & 1))
		sim_bad(w, "op %d is called free twice", ev->op);
	w->taken &= ~(1ULL << ev->op);
	sim_stage_free(w, ev->op);
	sim_bypass_free(w, ev->op);
}

static void request_done(struct sim_world *w, const struct prot_event *ev)
{
	struct sim_req *r = &w->req[ev->cookie];

	w->now++;
	if (r->kind == PROT_READ) {
		if (!ev->err)
			for (int k = 0; k < r->count; k++)
				sim_read(w, r->first + k, r->got[k], r->began);
		w->reads += !ev->err;
	} else {
		sim_acked(w, r, ev->err);
		w->acks += !ev->err;
	}
	if (ev->err && !w->stopped && !w->beyond)
		sim_bad(w, "request failed (%d) in a group that serves", ev->err);
	r->used = 0;
	if (PROT_MUTANT(BYPASS_DONE))
		sim_bypass_free(w, ev->op);
	if (ev->freed)
		op_free(w, ev);
}

/* What an attachment did before it served is bounded by the rings. */
static void attached(struct sim_world *w)
{
	struct prot_group *g = sim_group(w);
	uint64_t ring = (uint64_t)w->cfg.copies * w->cfg.rings * w->cfg.slots;

	w->slots_read += g->slots_read;
	w->places_written += g->places_written;
	w->replayed += w->cfg.k ? g->replayed : 0;
	if (g->slots_read > ring || g->places_written > ring)
		sim_bad(w, "recovery did more than the rings hold");
}

/* Let the engine go on until it has nothing more to say. */
void sim_pump(struct sim_world *w)
{
	struct prot_event ev;

	sim_bypass_allow(w);
	sim_asides(w);
	for (int i = 0; i < 5000; i++) {
		if (w->bad[0])
			return;
		prot_group_next(sim_group(w), &ev);
		switch (ev.kind) {
		case PROT_EV_NONE:
			if (sim_bypass_again(w))
				break;
			sim_check_sets(w);
			return;
		case PROT_EV_IO:
			start_io(w, &ev);
			break;
		case PROT_EV_DONE:
			request_done(w, &ev);
			break;
		case PROT_EV_FREE:
			op_free(w, &ev);
			break;
		case PROT_EV_COPY:
		case PROT_EV_CODEC:
			start_work(w, &ev);
			break;
		case PROT_EV_SERVING:
			attached(w);
			w->serving = 1;
			w->store.fresh = 0;
			sim_bypass_allow(w);
			break;
		case PROT_EV_EPOCH:
			w->requested |= ev.members;
			sim_bypass_allow(w);
			break;
		case PROT_EV_CAUGHT_UP:
			w->caught |= ev.members;
			break;
		case PROT_EV_STOPPED:
			w->stopped = 1;
			sim_bypass_allow(w);
			if (w->serving && !w->beyond)
				sim_bad(w, "stopped, though enough members answer");
			if (!w->serving)	/* begun again without those that failed */
				w->requested |= ev.members;
			break;
		}
	}
	sim_bad(w, "engine runs in circles");
}

/* What the group that ends here did. */
static void tally(struct sim_world *w)
{
	w->joined += sim_group(w)->counts.joined;
	w->in_order += sim_group(w)->counts.in_order;
	w->cached += sim_group(w)->counts.cached;
	w->folded += sim_group(w)->counts.folded;
}

void sim_attach(struct sim_world *w)
{
	struct prot_group_config c;

	tally(w);
	sim_stage_free(w, PROT_NONE16);
	sim_bypass_reset(w);
	w->requested = 0;
	w->taken = 0;
	w->committed = 0;
	w->caught = 0;
	w->serving = 0;
	w->stopped = 0;
	w->attaches++;
	config(w, &c);
	if (!prot_group_bytes(&c) || prot_group_bytes(&c) > SIM_ENGINE ||
	    prot_group_meta_bytes(&c) > w->meta * SIM_LBA || w->meta > SIM_META) {
		sim_bad(w, "simulator: the group does not fit (%zu, %d)", prot_group_bytes(&c),
			w->meta);
		return;
	}
	memset(w->engine, 0, prot_group_bytes(&c));
	prot_group_init(w->engine, &c);
	prot_group_allow(sim_group(w), PROT_NO_LIMIT, w->cfg.beside);
	memset(&w->rot, 0, sizeof(w->rot));
	memset(&w->scrub, 0, sizeof(w->scrub));
	sim_pump(w);
}

void sim_init(struct sim_world *w, const struct sim_config *c)
{
	memset(w, 0, sizeof(*w));
	struct prot_group_config gc;

	w->cfg = *c;
	config(w, &gc);
	w->meta = prot_group_meta_bytes(&gc) / SIM_LBA;
	w->store.in_sync = sim_all(w);
	w->store.epoch = 1;
	w->next_id = 1;
	sim_oracle_init(w);
	w->store.fresh = c->fresh;	/* else no bitmap is valid, all regions are dirty */
	for (int i = 0; i < c->copies && c->noise; i++)
		memset(w->disk[i], c->noise, w->meta * SIM_LBA);
	sim_attach(w);
}

int sim_flying(const struct sim_world *w)
{
	int n = 0;

	for (int i = 0; i < SIM_IOS; i++)
		n += w->io[i].used && !w->io[i].dead;
	return n;
}

int sim_flying_sectors(const struct sim_world *w)
{
	int n = 0;

	for (int i = 0; i < SIM_IOS; i++)
		if (w->io[i].used && w->io[i].kind != PROT_READ)
			n += w->io[i].sectors;
	return n;
}

/* The n-th oldest I/O in flight, of @members. */
static struct sim_io *nth_io(struct sim_world *w, int n, uint64_t members)
{
	uint64_t after = 0;

	for (;; n--) {
		struct sim_io *best = NULL;

		for (struct sim_io *io = w->io; io < w->io + SIM_IOS; io++)
			if (io->used && !io->dead && members >> io->member & 1 &&
			    io->seq > after && (!best || io->seq < best->seq))
				best = io;
		if (!best || !n)
			return best;
		after = best->seq;
	}
}

/* A read brought this to its request. */
static void got_sector(struct sim_world *w, const struct sim_io *io, int k, const uint8_t *from)
{
	struct sim_req *r = &w->req[io->req];
	int at = io->offset / SIM_LBA + k;

	r->got[at] = sim_value_of(w, from, r->first + at);
}

/* The member answers, with an error: the engine may find that it is to be replaced. */
static void refuse(struct sim_world *w, struct sim_io *io, int err)
{
	uint64_t bit = 1ULL << io->member, before = sim_group(w)->failed;

	io->used = 0;
	w->now++;
	prot_group_result(sim_group(w), io->tag, err);
	w->flaky |= sim_group(w)->failed & ~before & bit;
	if (err == -EOPNOTSUPP && sim_group(w)->failed & ~before & bit)
		sim_bad(w, "member %d takes no zeroes, and has failed", io->member);
}

/* A read that fails may have brought anything before. */
static void spoil(struct sim_world *w, const struct sim_io *io)
{
	uint8_t *buf;

	if (io->kind != PROT_READ || io->work || io->req < SIM_REQS)
		return;
	buf = prot_group_buffer(sim_group(w), io->buffer);
	memset(buf + io->offset, 0xee, io->sectors * SIM_LBA);
}

/* The member is there and says that it can't read this. */
static int medium_error(struct sim_world *w, struct sim_io *io)
{
	trace_io(w, "can't", io);
	w->medium_errors++;
	w->refused[io->member] |= w->bad_sectors[io->member] & ((1ULL << io->sectors) - 1) << io->first;
	io->used = 0;
	spoil(w, io);
	io_ended(w, io, -ENODATA);
	sim_pump(w);
	return 1;
}

static int cannot_read(const struct sim_world *w, const struct sim_io *io)
{
	return !!(w->bad_sectors[io->member] >> io->first & ((1ULL << io->sectors) - 1));
}

static int complete_io(struct sim_world *w, struct sim_io *io)
{
	struct prot_group *g = sim_group(w);
	uint32_t tag;

	if (!io)
		return 0;
	if (io->work) {
		tag = io->tag;
		trace_io(w, "done", io);
		do_work(w, io);
		io->used = 0;
		w->now++;
		prot_group_result(g, tag, 0);
		sim_pump(w);
		return 1;
	}
	if (io->kind > PROT_WRITE && w->cfg.plain >> io->member & 1) {
		trace_io(w, "unsupported", io);
		refuse(w, io, -EOPNOTSUPP);
		sim_pump(w);
		return 1;
	}
	if (io->kind == PROT_READ && (io->before ? io->bad : cannot_read(w, io)))
		return medium_error(w, io);
	for (int k = 0; k < io->sectors; k++) {
		const uint8_t *from = io->before ? io->data + k * SIM_LBA :
						   w->disk[io->member][io->first + k];

		if (io->kind != PROT_READ)
			land(w, io, k);
		else if (io->req < SIM_REQS)
			got_sector(w, io, k, from);
		else
			memcpy((uint8_t *)prot_group_buffer(g, io->buffer) + io->offset +
			       k * SIM_LBA, from, SIM_LBA);
	}
	if (io->kind == PROT_WRITE && io->req == SIM_REQS && io->buffer != PROT_BUFFER_ZERO &&
	    memcmp(io->data + io->stage_back,
		   (uint8_t *)prot_group_buffer(g, io->buffer) + io->offset,
		   io->sectors * SIM_LBA - io->stage_back))
		sim_bad(w, "a private buffer changed under its write");
	sim_stage_keep(w, io);
	trace_io(w, io->stale ? "stale" : "done", io);
	io->used = 0;
	io_ended(w, io, io->stale ? -ESTALE : 0);
	sim_pump(w);
	return 1;
}

static uint64_t answering(const struct sim_world *w)
{
	return (sim_all(w) & ~w->silent & ~w->late) | 1ULL << SIM_NO_MEMBER;
}

const struct sim_io *sim_answered(struct sim_world *w, int n)
{
	return nth_io(w, n, answering(w));
}

int sim_complete(struct sim_world *w, int n)
{
	return complete_io(w, nth_io(w, n, answering(w)));
}

/*
 * All I/Os of an op that are in flight and answered end, in the order in which they
 * began. The search takes this for any order (search.c says why it may), which
 * needs that none but the last sets the engine going.
 */
int sim_together(struct sim_world *w, uint32_t op)
{
	uint64_t began, acks;
	int done = 0;

	sim_pump(w);		/* of requests submitted together, none may be left */
	began = w->io_seq;
	acks = w->acks + w->reads;
	for (;; done++) {
		struct sim_io *first = NULL;

		for (struct sim_io *io = w->io; io < w->io + SIM_IOS; io++)
			if (io->used && !io->dead && answering(w) >> io->member & 1 &&
			    !(io->tag & PROT_TAG_META) && io->tag >> PROT_TAG_SHIFT == op &&
			    io->seq <= began && (!first || io->seq < first->seq))
				first = io;
		if (!first || w->bad[0])
			return done;
		if (w->io_seq != began || acks != w->acks + w->reads)
			sim_bad(w, "simulator: I/Os of op %u do not end together", op);
		complete_io(w, first);
	}
}

/* What it writes is settled, and it may land at any time. */
static void freeze(struct sim_world *w, struct sim_io *io)
{
	io->dead = 1;
	if (io->kind != PROT_WRITE || io->req == SIM_REQS)
		return;
	for (int k = 0; k < io->sectors; k++)
		sim_fill(w, io->data + k * SIM_LBA, w->req[io->req].id, io->first + k - w->meta);
	io->req = SIM_REQS;
}

/* Sectors, or pieces of records, that @m says land at once; @bad: others are unreadable. */
static void land_in_part(struct sim_world *w, struct sim_io *io, uint64_t m, int bad)
{
	int bit = 0;

	for (int k = 0; k < io->sectors; k++) {
		int n = sim_pieces(w, io, k);
		uint64_t landed = (m >> (bit & 63) | m << (-bit & 63)) & ((1ULL << n) - 1);

		tear(w, io, k, landed);
		if (bad && !landed)
			w->bad_sectors[io->member] |= 1ULL << (io->first + k);
		bit += n;
	}
}

/*
 * Mutants: the first sending of a held write is not over when it is sent again. It may land at any
 * time; or it ends, too, like the second.
 */
static void send_twice(struct sim_world *w, const struct sim_io *io)
{
	struct sim_io *first = free_io(w);
	uint64_t seq;

	if (!first)
		return;
	seq = first->seq;
	*first = *io;
	first->seq = seq;
	freeze(w, first);
	first->dead = PROT_MUTANT(HELD_LIVE);
	if (first->buffer == PROT_BUFFER_REQUEST)
		first->buffer = PROT_BUFFER_ZERO;	/* its data is its own */
}

int sim_hiccup(struct sim_world *w, int n, int how, uint64_t m)
{
	struct sim_io *io = nth_io(w, n, answering(w));

	trace_io(w, "hiccup", io);
	w->hiccups[how]++;
	switch (how) {
	case HICCUP_RETRY:
		land_in_part(w, io, m, 0);
		if (PROT_MUTANT(HELD_LIVE) || PROT_MUTANT(HELD_TWICE))
			send_twice(w, io);
		io->seq = ++w->io_seq;
		return 1;
	case HICCUP_MEDIUM:
		land_in_part(w, io, m, m >> 63);
		refuse(w, io, -ENODATA);
		break;
	case HICCUP_GONE:
		w->flaky |= 1 << io->member;
		freeze(w, io);
		w->now++;
		prot_group_result(sim_group(w), io->tag, -EIO);
		break;
	}
	sim_pump(w);
	return 1;
}

/*
 * Virtual time, of members that answer: a round ends when all that was in flight when
 * it began has ended. How many a request may wait for, while nothing is silent and no
 * epoch is requested, is bounded.
 */
void sim_round(struct sim_world *w)
{
	static const uint32_t bound[4] = { SIM_READ_ROUNDS, SIM_WRITE_ROUNDS, SIM_WRITE_ROUNDS,
					   SIM_WRITE_ROUNDS };

	for (int i = 0; i < SIM_IOS; i++)
		if (w->io[i].used && !w->io[i].dead &&
		    (w->io[i].seq <= w->round_end || !(answering(w) >> w->io[i].member & 1)))
			return;
	w->round_end = w->io_seq;
	for (int i = 0; i < SIM_REQS; i++) {
		struct sim_req *r = &w->req[i];

		if (!r->used || w->requested || w->committed || w->beyond || w->stopped)
			continue;
		if (++r->rounds > w->longest[r->kind])
			w->longest[r->kind] = r->rounds;
		if (r->rounds > bound[r->kind])
			sim_bad(w, "a request waits for %u rounds", r->rounds);
	}
}

/* An I/O to a silent member ends with an error; a write may land later. */
int sim_fail(struct sim_world *w, int n)
{
	struct sim_io *io = nth_io(w, n, w->silent);
	int read, member;

	if (!io)
		return 0;
	trace_io(w, "fail", io);
	spoil(w, io);
	if (io->kind == PROT_READ)
		io->used = sim_aside(w, io);
	else
		freeze(w, io);
	io->loose = io->kind == PROT_WRITE && !io->stage_back &&
		    io->buffer >= PROT_BUFFER_PRIVATE && io->buffer < PROT_BUFFER_META &&
		    prot_group_lets_go(sim_group(w), io->tag);
	read = io->bypass && !io->before;
	member = io->member;
	io_ended(w, io, -EIO);
	sim_pump(w);
	if (read && sim_bypass_from(w, member))
		sim_bad(w, "member %d failed a read, and is read on", member);
	return 1;
}

void sim_replaced(struct sim_world *w, int member)
{
	for (struct sim_io *io = w->io; io < w->io + SIM_IOS; io++)
		if (io->used && io->member == member && !io->before) {
			io->before = 1;
			io->used = !io->dead || io->aside;
			/* a bypass read, which the engine does not wait for, is of the old one */
			io->bad = cannot_read(w, io);
			for (int k = 0; io->bypass && k < io->sectors; k++)
				memcpy(io->data + k * SIM_LBA, w->disk[member][io->first + k], SIM_LBA);
		}
}

/* Writes in flight to @members come to their end: those in @m land. */
void sim_resolve(struct sim_world *w, uint64_t members, uint64_t m)
{
	int bit = 0;

	for (uint64_t seq = 1; seq <= w->io_seq; seq++)
		for (struct sim_io *io = w->io; io < w->io + SIM_IOS; io++) {
			if (!io->used || io->seq != seq || !(members >> io->member & 1))
				continue;
			for (int k = 0; k < io->sectors && io->kind != PROT_READ; k++) {
				tear(w, io, k, m >> (bit & 63) | m << (-bit & 63));
				bit += sim_pieces(w, io, k);
			}
			if (io->aside)
				sim_aside_over(w, io);
			io->used = 0;
		}
}
