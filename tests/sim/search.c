// SPDX-License-Identifier: GPL-2.0-only
/*
 * sim-search COPIES REQUESTS CRASHES SILENCES IDLES SECONDS: every schedule at
 * small bounds, of mirrors; built for erasure coding, K+M takes COPIES' place, and
 * IDLES says how often a member may come back.
 *
 * Depth first over all actions from each state: each order of completions, a
 * crash at any point with any subset of what was in flight, any loss, a member
 * that falls silent at any point, comes back, is caught up and promoted. Two
 * sectors in two regions; or two stripes of one sector a strip, in two regions,
 * one ring of two slots, written in part and whole. States seen before are not gone into again; what
 * differs only in counters, timestamps and the order of tables is the same.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <xxhash.h>
#include <asm/byteorder.h>

#include "protect/ec/ec_priv.h"
#include "tests/sim/sim.h"

#define DEPTH_MAX	400
#define SEEN_BITS	27

static uint64_t *seen, states, edges, settled, folds;
static struct sim_action path[DEPTH_MAX];
static struct sim_world *worlds[DEPTH_MAX];	/* one on each level is enough */
static int incomplete, found;
static time_t deadline;

static uint32_t rank(const uint64_t *times, int n, uint64_t t)
{
	uint32_t r = 0;

	for (int i = 0; i < n; i++)
		r += times[i] < t;
	return r;
}

static void even_times(struct sim_world *w)
{
	uint64_t t[SIM_DATA * (SIM_VALUES + 1) + SIM_REQS];
	uint32_t n = 0;

	for (int s = 0; s < SIM_DATA; s++)
		for (int i = 0; i < w->oracle[s].n; i++)
			t[n++] = w->oracle[s].v[i].ended;
	for (int i = 0; i < SIM_REQS; i++)
		t[n++] = w->req[i].began;
	for (int s = 0; s < SIM_DATA; s++)
		for (int i = 0; i < SIM_VALUES; i++)
			if (i < w->oracle[s].n)
				w->oracle[s].v[i].ended = rank(t, n, w->oracle[s].v[i].ended);
			else
				memset(&w->oracle[s].v[i], 0, sizeof(w->oracle[s].v[i]));
	for (int i = 0; i < SIM_REQS; i++) {
		w->req[i].rounds = 0;
		if (w->req[i].used)
			w->req[i].began = rank(t, n, w->req[i].began);
		else
			memset(&w->req[i], 0, sizeof(w->req[i]));
	}
}

static int by_seq(const void *a, const void *b)
{
	const struct sim_io *x = a, *y = b;

	if (x->used != y->used)
		return y->used - x->used;
	return x->seq < y->seq ? -1 : x->seq > y->seq;
}

static void even_ios(struct sim_world *w)
{
	for (int i = 0; i < SIM_IOS; i++)
		if (!w->io[i].used)
			memset(&w->io[i], 0, sizeof(w->io[i]));
	qsort(w->io, SIM_IOS, sizeof(w->io[0]), by_seq);
	for (int i = 0; i < SIM_IOS; i++)
		w->io[i].seq = w->io[i].used ? i + 1 : 0;
}

static void even_record(uint8_t *sector)
{
	struct prot_bitmap_hdr *h = (struct prot_bitmap_hdr *)sector;

	if (le32_to_cpu(h->magic) == PROT_BITMAP_MAGIC) {
		h->seq = 0;
		h->sum = 0;
	}
}

/* What is left in private buffers that are not in use. */
static void even_buffers(struct prot_group *g)
{
	uint64_t used = 0;

	for (uint32_t i = 0; i < g->cfg.ops; i++)
		if (prot_gop(g, i)->phase != PROT_P_FREE && prot_gop(g, i)->buf != PROT_NONE16)
			used |= 1ULL << prot_gop(g, i)->buf;
	for (uint32_t i = 0; i < g->cfg.bufs; i++)
		if (!(used >> i & 1))
			memset(prot_group_buffer(g, PROT_BUFFER_PRIVATE + i), 0, g->shape.buf_bytes);
}

/* Bitmap blocks that are not in flight, and when those that are were filled. */
static void even_blocks(struct prot_group *g, uint32_t m)
{
	for (uint32_t n = 0; n < g->shape.nr_block_ios; n++) {
		struct prot_block_io *io = prot_block_io(g, m, n);
		uint8_t *at = prot_group_buffer(g, PROT_BUFFER_BLOCK + (io - prot_block_io(g, 0, 0)));

		even_record(at);
		if (io->busy || io->again)
			continue;
		memset(io, 0, sizeof(*io));
		memset(at, 0, g->cfg.lba);
	}
}

/* The end of a write that is answered holds no other one. */
static void even_stream(const struct prot_group *g, struct prot_ec_stream *s)
{
	const struct prot_gop *op = prot_gop(g, s->op);

	if (op->phase == PROT_P_FREE || op->phase == PROT_P_ENDED || op->acked ||
	    prot_ecop(g, op)->serial != s->serial)
		memset(s, 0, sizeof(*s));
	s->serial = !!s->serial;
}

/* Which write it is, of all there were, does not count; whether it is still the one does. */
static void even_behind(const struct prot_group *g, struct prot_ecop *e)
{
	if (e->behind && prot_ecop(g, prot_gop(g, e->behind - 1))->serial != e->behind_serial)
		e->behind = 0;
	e->behind_serial = !!e->behind;
}

static void even_streams(const struct prot_group *g)
{
	struct prot_ec_streams *s = prot_ec_streams(g);

	for (uint32_t i = 0; i < PROT_EC_STREAMS; i++) {
		even_stream(g, &s->seen[i]);
		even_stream(g, &s->grown[i]);
	}
	for (uint32_t i = 0; i < g->cfg.ops; i++)
		even_behind(g, prot_ecop(g, prot_gop(g, i)));
	for (uint32_t i = 0; i < g->cfg.ops; i++) {
		prot_ecop(g, prot_gop(g, i))->serial = !!prot_ecop(g, prot_gop(g, i))->serial;
		prot_ecop(g, prot_gop(g, i))->reads = 0;	/* only counted */
	}
	s->serial = 0;
	s->next_seen = 0;
	s->next_grown = 0;
}

static void even_engine(struct sim_world *w)
{
	struct prot_group *g = sim_group(w);

	g->seq = 0;
	g->slots_read = 0;
	g->places_written = 0;
	g->replayed = 0;
	g->synced = 0;
	memset(&g->counts, 0, sizeof(g->counts));
	g->repaired = 0;
	g->rewritten = 0;
	memset(g->last, 0, sizeof(g->last));
	for (uint32_t m = 0; m < g->cfg.width; m++) {
		even_record(prot_group_buffer(g, PROT_BUFFER_META + m));
		for (uint32_t b = 0; b < g->shape.nr_bitmaps; b++) {
			uint32_t *wr = prot_written(g, m, b, 0), v = *prot_version(g, b, 0);

			for (uint32_t n = 0; n < g->shape.nr_block_ios; n++)
				if (prot_block_io(g, m, n)->busy && prot_block_io(g, m, n)->bitmap == b)
					prot_block_io(g, m, n)->version =
						prot_block_io(g, m, n)->version == v;
			*wr = *wr == v ? 1 : *wr ? 2 : 0;
		}
		if (!g->meta[m].busy && g->state == PROT_G_SERVING) {
			uint8_t block = g->meta[m].attach_block;
			uint32_t turn = g->meta[m].turn;

			memset(&g->meta[m], 0, sizeof(g->meta[m]));
			g->meta[m].attach_block = block;
			g->meta[m].turn = turn;
		}
		even_blocks(g, m);
		if (!g->meta[m].busy && !g->meta[m].loaded)
			memset(prot_group_buffer(g, PROT_BUFFER_META + m), 0,
			       g->shape.meta_buf_bytes);
	}
	for (uint32_t b = 0; b < g->shape.nr_bitmaps; b++)
		*prot_version(g, b, 0) = 1;
	if (w->cfg.k)
		even_streams(g);
	for (uint32_t i = 0; i < g->cfg.ops; i++)
		if (prot_gop(g, i)->phase == PROT_P_FREE) {
			memset(prot_gop(g, i), 0, sizeof(struct prot_gop));
			if (w->cfg.k)
				memset(prot_ecop(g, prot_gop(g, i)), 0, sizeof(struct prot_ecop));
		}
	even_buffers(g);
}

/* Where the rings of an erasure-coded group begin on a member. */
static uint32_t rings(const struct sim_world *w)
{
	return 2 + PROT_MISSED + w->cfg.copies;
}

/* Whether slot @n of @member has a record that an attachment may believe; @attach 0: any. */
static int has_record(const struct sim_world *w, int m, uint32_t n, uint64_t attach)
{
	const struct prot_owner *o = &((const struct prot_group *)w->engine)->cfg.owner;
	const uint8_t (*at)[SIM_LBA] = &w->disk[m][rings(w) + n * (1 + w->cfg.slot)];
	const struct prot_slot_hdr *h = (const void *)at;
	struct prot_slot_place p = {
		.attach = attach, .stripes = 2, .strip_bytes = SIM_LBA, .slot_bytes = SIM_LBA,
		.rings = 1, .slot = n, .slots = w->cfg.slots, .lba = SIM_LBA, .member = m,
		.width = w->cfg.copies,
	};

	return !prot_slot_check(h, o, &p) && !prot_slot_check_payload(h, at[1], o);
}

/*
 * A slot without a valid record of the newest attachment is like any other; so is
 * all of a member that is out and does not come back.
 */
static void even_disks(struct sim_world *w)
{
	struct prot_owner *o = &sim_group(w)->cfg.owner;
	uint32_t stride = 1 + w->cfg.slot;
	uint64_t attach = 0;

	for (int m = 0; m < w->cfg.copies; m++) {
		for (int b = 0; b < 2 && w->store.in_sync >> m & 1; b++) {
			const struct prot_attach_rec *a = (void *)w->disk[m][b];

			if (!prot_attach_check(a, o, m) && le64_to_cpu(a->attach) > attach)
				attach = le64_to_cpu(a->attach);
		}
	}
	for (int m = 0; m < w->cfg.copies; m++) {
		if (!(w->store.in_sync >> m & 1) && !w->left.idles) {
			memset(w->disk[m], 0, sizeof(w->disk[m]));
			continue;
		}
		for (uint32_t n = 0; rings(w) + (n + 1) * stride <= w->meta; n++)
			if (!(w->store.in_sync >> m & 1) || !has_record(w, m, n, attach))
				memset(w->disk[m][rings(w) + n * stride], 0, stride * SIM_LBA);
	}
}

/* Whether a state like this one was seen before. */
static int known(const struct sim_world *w)
{
	static struct sim_world s;
	const uint64_t mask = (1ULL << SEEN_BITS) - 1;
	uint64_t h, i;

	s = *w;
	s.now = 0;
	s.io_seq = 0;
	s.crashes = 0;
	s.acks = 0;
	s.reads = 0;
	s.attaches = 0;
	s.slots_read = 0;
	s.places_written = 0;
	s.replayed = 0;
	s.joined = 0;
	s.in_order = 0;
	s.cached = 0;
	s.folded = 0;
	s.bypassed = 0;
	s.redone = 0;
	s.round_end = 0;
	memset(s.longest, 0, sizeof(s.longest));
	even_times(&s);
	even_ios(&s);
	even_engine(&s);
	if (s.cfg.k)
		even_disks(&s);
	for (int m = 0; m < SIM_WIDTH; m++)
		for (int k = 0; k < SIM_META; k++)
			even_record(s.disk[m][k]);
	for (int k = 0; k < SIM_IOS; k++)
		even_record(s.io[k].data);
	h = XXH3_64bits(&s, sizeof(s)) | 1;
	for (i = h >> 8 & mask; seen[i]; i = (i + 1) & mask)
		if (seen[i] == h)
			return 1;
	if (states >= 3ULL << (SEEN_BITS - 2)) {
		incomplete = 1;
		return 1;
	}
	seen[i] = h;
	states++;
	return 0;
}

static void explore(const struct sim_world *w, int depth);

static void report(const struct sim_world *w, int depth)
{
	found = 1;
	printf("found after %llu states: %s\n", (unsigned long long)states, w->bad);
	for (int i = 0; i < depth; i++) {
		printf("  %2d ", i + 1);
		sim_print_action(stdout, &path[i]);
	}
}

static uint64_t folded(const struct sim_world *w)
{
	return ((const struct prot_group *)w->engine)->counts.folded;
}

static void try(const struct sim_world *w, int depth, struct sim_action a)
{
	struct sim_world *next;

	if (found)
		return;
	if (depth == DEPTH_MAX || time(NULL) > deadline) {
		incomplete = 1;
		return;
	}
	if (!worlds[depth])
		worlds[depth] = malloc(sizeof(*next));
	next = worlds[depth];
	*next = *w;
	switch (a.kind) {
	case ACT_SUBMIT:
		next->left.requests--;
		break;
	case ACT_CRASH:
		next->left.crashes--;
		break;
	case ACT_SILENCE:
		next->left.silences--;
		break;
	case ACT_RETURN:
		next->left.idles -= !!w->cfg.k;
		break;
	case ACT_IDLE:
		next->left.idles--;
		break;
	}
	path[depth] = a;
	if (sim_do(next, &a)) {
		edges++;
		folds += folded(next) > folded(w);
		if (next->bad[0])
			report(next, depth + 1);
		else
			explore(next, depth + 1);
	}
}

/*
 * The ways in which one write in flight can come out, as far as a recovery can keep
 * them apart: what reaches a member that is lost for good does not matter, nor does
 * writing what is there already; a torn record is no record, so all that matters is
 * whether it destroys an older one.
 */
static int outcomes(const struct sim_world *w, const struct sim_io *io, uint64_t lost, uint64_t *m)
{
	static const uint8_t zero[SIM_LBA];
	const uint8_t (*disk)[SIM_LBA] = &w->disk[io->member][io->first];
	uint64_t whole = (1ULL << io->sectors) - 1;
	int n = 1;

	m[0] = 0;
	if (w->cfg.k && !w->left.idles && lost >> io->member & 1)
		return n;
	if (io->kind == PROT_WRITE && io->req == SIM_REQS ?
	    !memcmp(disk, io->data, io->sectors * SIM_LBA) :
	    io->kind == PROT_ZEROES && io->sectors == 1 && !memcmp(disk, zero, SIM_LBA))
		return n;
	if (!w->cfg.k || prot_mutant || io->first < rings(w) || io->first >= w->meta) {
		for (; m[n - 1] != whole; n++)
			m[n] = m[n - 1] + 1;
		return n;
	}
	m[n++] = whole;
	if (io->sectors > 1 && has_record(w, io->member, (io->first - rings(w)) / (1 + w->cfg.slot), 0))
		m[n++] = 1;
	return n;
}

/* The next write in flight that began after @seq, in the order in which they land. */
static const struct sim_io *next_write(const struct sim_world *w, uint64_t seq)
{
	const struct sim_io *best = NULL;

	for (const struct sim_io *io = w->io; io < w->io + SIM_IOS; io++)
		if (io->used && io->kind != PROT_READ && io->seq > seq &&
		    (!best || io->seq < best->seq))
			best = io;
	return best;
}

static void crash_with(const struct sim_world *w, int depth, uint64_t lost, uint64_t seq,
		       uint64_t landed, int bits)
{
	const struct sim_io *io = next_write(w, seq);
	uint64_t m[4];	/* of two sectors at most */
	int n;

	if (!io || bits + io->sectors > 64) {
		incomplete |= !!io;
		try(w, depth, (struct sim_action){ .kind = ACT_CRASH, .a = lost, .m = landed });
		return;
	}
	n = outcomes(w, io, lost, m);
	for (int i = 0; i < n; i++)
		crash_with(w, depth, lost, io->seq, landed | m[i] << bits, bits + io->sectors);
}

/*
 * All the ways a crash may come out. Of erasure coding, members that are out stay
 * out unless one may still come back.
 */
static void crashes(const struct sim_world *w, int depth)
{
	uint64_t all = (1ULL << w->cfg.copies) - 1, out = 0;

	if (w->cfg.k && !w->left.idles)
		out = all & ~w->store.in_sync;
	for (uint64_t lost = 0; lost <= all; lost++) {
		uint64_t left = w->store.in_sync & ~lost;

		if (lost & out || __builtin_popcountll(left) < (w->cfg.k ? w->cfg.k : 1))
			continue;
		crash_with(w, depth, lost | out, 0, 0, 0);
	}
}

/*
 * A strip of either stripe, another one of the first, all of it, zeroes, a read; of
 * writes also such that the next one is submitted together with.
 */
static void requests(const struct sim_world *w, int depth)
{
	uint8_t k = w->cfg.k;
	const uint8_t list[][3] = {
		{ PROT_WRITE, 0, 1 }, { PROT_WRITE, 1, 1 }, { PROT_WRITE, k, 1 },
		{ PROT_WRITE, 0, k }, { PROT_ZEROES, 0, k }, { PROT_READ, 0, k },
	};

	for (unsigned int i = 0; i < 2 * sizeof(list) / sizeof(list[0]); i++)
		if (i % 2 == 0 || (w->left.requests > 1 && list[i / 2][0] == PROT_WRITE))
			try(w, depth, (struct sim_action){ .kind = ACT_SUBMIT, .a = list[i / 2][0],
							   .b = list[i / 2][1],
							   .c = list[i / 2][2], .seed = i % 2 });
}

/*
 * Attaching, erasure coding: as long as no member can fail, the order in which
 * members end what they do makes no difference, since each stage waits for all of
 * them. With a crash ahead that holds for the reads only.
 */
static int one_order(const struct sim_world *w)
{
	const struct prot_group *g = (const struct prot_group *)w->engine;

	return w->cfg.k && !w->serving && !w->stopped && !w->left.silences &&
	       !(w->silent & w->store.in_sync) &&
	       (g->state == PROT_G_LOADING || !w->left.crashes);
}

/* ... and a crash among those reads is one before them. */
static void in_order(const struct sim_world *w, int depth)
{
	struct sim_world *next;

	if (found || depth == DEPTH_MAX)
		return;
	if (!worlds[depth])
		worlds[depth] = malloc(sizeof(*next));
	next = worlds[depth];
	*next = *w;
	path[depth] = (struct sim_action){ .kind = ACT_DRAIN };
	while (!next->bad[0] && sim_flying(next) && one_order(next) &&
	       sim_do(next, &(struct sim_action){ .kind = ACT_COMPLETE }))
		edges++;
	if (next->bad[0])
		report(next, depth + 1);
	else
		explore(next, depth + 1);
}

/*
 * Whether it matters when this one of an op's I/Os ends. Records; and in place, where the
 * ring has room for a write that begins meanwhile and waits for one strip at a time, or a
 * read waits for the strips that it reads.
 */
static int by_itself(const struct sim_world *w, const struct sim_io *io)
{
	const struct prot_group *g = (const struct prot_group *)w->engine;
	int reads = 0;

	if (io->tag & PROT_TAG_META)
		return 1;
	for (int i = 0; i < SIM_REQS; i++)
		reads |= w->req[i].used && w->req[i].kind == PROT_READ;
	return (w->cfg.slots > 2 || reads) &&
	       prot_gop(g, io->tag >> PROT_TAG_SHIFT)->phase == PROT_P_EC_PLACE;
}

/* Whether the n-th I/O that is answered is one that ends by itself. */
static int ends_alone(const struct sim_world *w, int n)
{
	uint64_t seq = 0;

	for (;; n--) {
		const struct sim_io *best = NULL;

		for (const struct sim_io *io = w->io; io < w->io + SIM_IOS; io++)
			if (io->used && !io->dead && io->seq > seq && (!best || io->seq < best->seq) &&
			    (io->member == SIM_NO_MEMBER || !(w->silent >> io->member & 1)))
				best = io;
		if (!best || !n)
			return best && by_itself(w, best);
		seq = best->seq;
	}
}

/*
 * I/Os of one op end together, those that by_itself() names one by one. That leaves
 * nothing out: until the last of them ends, the op's I/Os change nothing but marks of this
 * op and sectors that no other op reads, rows and slots being its own
 * (together() asserts that they start nothing). So in a schedule where they end
 * one by one, each but the last may as well end just before the last; and when a
 * crash comes first, it has all ways of those in flight to come out, "has ended"
 * among them. Reads are the same; their number in flight only says which of
 * several sources of the same bytes is read.
 */
static void endings(const struct sim_world *w, int depth)
{
	uint64_t ops = 0;
	int answered = 0, silent = 0;

	for (int i = 0; i < SIM_IOS; i++) {
		const struct sim_io *io = &w->io[i];

		if (!io->used || io->dead)
			continue;
		if (io->member != SIM_NO_MEMBER && w->silent >> io->member & 1) {
			silent++;
			continue;
		}
		answered++;
		if (!by_itself(w, io))
			ops |= 1ULL << (io->tag >> PROT_TAG_SHIFT);
	}
	for (int i = 0; i < 64; i++)
		if (ops >> i & 1)
			try(w, depth, (struct sim_action){ .kind = ACT_TOGETHER, .a = i });
	for (int i = 0; i < answered; i++)
		if (ends_alone(w, i))
			try(w, depth, (struct sim_action){ .kind = ACT_COMPLETE, .a = i });
	for (int i = 0; i < silent; i++)
		try(w, depth, (struct sim_action){ .kind = ACT_FAIL, .a = i });
}

static void explore(const struct sim_world *w, int depth)
{
	static struct sim_world end;
	int flying = sim_flying(w), sectors = w->cfg.sectors;

	if (found || known(w))
		return;
	if (!flying) {
		settled++;
		end = *w;
		sim_settle(&end);
		if (end.bad[0]) {
			report(&end, depth);
			return;
		}
	}
	if (flying && one_order(w)) {
		if (w->left.crashes)
			crashes(w, depth);
		in_order(w, depth);
		return;
	}
	endings(w, depth);
	if (w->left.requests && w->cfg.k)
		requests(w, depth);
	else if (w->left.requests)
		for (int s = 0; s < sectors; s++) {
			try(w, depth, (struct sim_action){ .kind = ACT_SUBMIT, .a = PROT_WRITE,
							   .b = s, .c = 1 });
			if (!s)
				try(w, depth, (struct sim_action){ .kind = ACT_SUBMIT,
								   .a = PROT_READ, .c = 1 });
		}
	if (w->left.crashes)
		crashes(w, depth);
	for (int i = 0; i < w->cfg.copies; i++) {
		if (w->left.silences)
			try(w, depth, (struct sim_action){ .kind = ACT_SILENCE, .a = i });
		if (w->store.in_sync >> i & 1 || (w->cfg.k && !w->left.idles))
			continue;
		try(w, depth, (struct sim_action){ .kind = ACT_RETURN, .a = i });
		try(w, depth, (struct sim_action){ .kind = ACT_RETURN, .a = i, .m = ~0ULL });
	}
	if (w->requested && !w->committed)
		try(w, depth, (struct sim_action){ .kind = ACT_COMMIT });
	if (w->committed)
		try(w, depth, (struct sim_action){ .kind = ACT_NOTIFY });
	if (w->caught)
		try(w, depth, (struct sim_action){ .kind = ACT_PROMOTE });
	if (w->left.idles)
		try(w, depth, (struct sim_action){ .kind = ACT_IDLE });
}

int main(int argc, char **argv)
{
	struct sim_config c = { .sectors = 2, .region = 1, .chunk = 1, .ops = 2, .fresh = 1 };
	time_t start = time(NULL);
	struct sim_world *w;

	if (argc != 7) {
		fprintf(stderr, "sim-search COPIES REQUESTS CRASHES SILENCES IDLES SECONDS\n");
		return 2;
	}
	if (getenv("SIM_MUTANT"))
		prot_mutant = atoi(getenv("SIM_MUTANT"));
	c.copies = atoi(argv[1]);
	if (strchr(argv[1], '+')) {
		c.k = atoi(argv[1]);
		c.m = atoi(strchr(argv[1], '+') + 1);
		c.copies = c.k + c.m;
		c.strip = 1;
		c.slot = 1;
		c.rings = 1;
		/* with two, the ring lets no write begin before the one before it is in place */
		c.slots = getenv("SIM_SLOTS") ? atoi(getenv("SIM_SLOTS")) : 2;
		c.sectors = 2 * c.k;
	}
	deadline = start + atoi(argv[6]);
	seen = calloc(1ULL << SEEN_BITS, sizeof(*seen));
	w = calloc(1, sizeof(*w));
	sim_init(w, &c);
	w->left.requests = atoi(argv[2]);
	w->left.crashes = atoi(argv[3]);
	w->left.silences = atoi(argv[4]);
	w->left.idles = atoi(argv[5]);
	/* the first empty bitmaps are written in one order only */
	while (!w->serving && sim_do(w, &(struct sim_action){ .kind = ACT_COMPLETE }))
		;
	explore(w, 0);
	printf("%s:%s, %s requests, %s crashes, %s silences, %s idles: ",
	       c.k ? "ec" : "mirror", argv[1], argv[2], argv[3], argv[4], argv[5]);
	printf("%llu states, %llu steps, %llu folded, %llu settled, %lds%s\n",
	       (unsigned long long)states, (unsigned long long)edges,
	       (unsigned long long)folds, (unsigned long long)settled,
	       (long)(time(NULL) - start),
	       found ? ", FAILED" : incomplete ? ", not finished" : ", complete");
	free(w);
	free(seen);
	if (c.slots > 2 && !folds && !found) {
		printf("no write in place was superseded: this is not the search it says\n");
		return 1;
	}
	return found || (incomplete && !getenv("SIM_PARTIAL"));
}
