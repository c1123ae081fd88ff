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
 * one lane of two slots, written in part and whole. States seen before are not gone into again; what
 * differs only in counters, timestamps and the order of tables is the same.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <xxhash.h>
#include <asm/byteorder.h>

#include "protect/ec_priv.h"
#include "tests/sim/sim.h"

#define DEPTH_MAX	400
#define SEEN_BITS	26

static uint64_t *seen, states, edges, settled;
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
	for (int i = 0; i < SIM_REQS; i++)
		if (w->req[i].used)
			w->req[i].began = rank(t, n, w->req[i].began);
		else
			memset(&w->req[i], 0, sizeof(w->req[i]));
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

/* What is left in private buffers that nobody uses. */
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

static void even_engine(struct sim_world *w)
{
	struct prot_group *g = sim_group(w);

	g->seq = 0;
	g->slots_read = 0;
	g->places_written = 0;
	g->replayed = 0;
	g->synced = 0;
	g->joined = 0;
	g->folded = 0;
	g->mismatches = 0;
	memset(g->last, 0, sizeof(g->last));
	for (uint32_t m = 0; m < g->cfg.width; m++) {
		even_record(prot_group_buffer(g, PROT_BUFFER_META + m));
		for (uint32_t b = 0; b < g->shape.nr_bitmaps; b++) {
			uint32_t *wr = prot_written(g, m, b, 0), v = *prot_version(g, b, 0);

			if (g->meta[m].busy && g->meta[m].bitmap == b)
				g->meta[m].version = g->meta[m].version == v;
			*wr = *wr == v ? 1 : *wr ? 2 : 0;
		}
		if (!g->meta[m].busy && g->state == PROT_G_SERVING) {
			uint8_t block = g->meta[m].attach_block;

			memset(&g->meta[m], 0, sizeof(g->meta[m]));
			g->meta[m].attach_block = block;
		}
		if (!g->meta[m].busy && !g->meta[m].loaded)
			memset(prot_group_buffer(g, PROT_BUFFER_META + m), 0,
			       g->shape.meta_buf_bytes);
	}
	for (uint32_t b = 0; b < g->shape.nr_bitmaps; b++)
		*prot_version(g, b, 0) = 1;
	for (uint32_t i = 0; i < g->cfg.ops; i++)
		if (prot_gop(g, i)->phase == PROT_P_FREE) {
			memset(prot_gop(g, i), 0, sizeof(struct prot_gop));
			if (prot_is_ec(g))
				memset(prot_ecop(g, prot_gop(g, i)), 0, sizeof(struct prot_ecop));
		}
	even_buffers(g);
}

/* Where the rings of an erasure-coded group begin on a member. */
static uint32_t rings(const struct sim_world *w)
{
	return 2 + PROT_MISSED + w->cfg.copies;
}

/*
 * A slot without a valid record of the newest attachment is like any other; so is
 * all of a member that is out and does not come back.
 */
static void even_disks(struct sim_world *w)
{
	struct prot_owner *o = &sim_group(w)->cfg.owner;
	uint32_t stride = 1 + w->cfg.slot, at;
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
		for (at = rings(w); at + stride <= w->meta; at += stride) {
			const struct prot_slot_hdr *h = (void *)w->disk[m][at];
			uint32_t n = (at - rings(w)) / stride;
			struct prot_slot_place p = {
				.attach = attach, .stripes = 2, .strip_bytes = SIM_LBA,
				.slot_bytes = SIM_LBA, .lanes = 1, .slot = n,
				.slots = w->cfg.slots, .lba = SIM_LBA, .member = m,
				.width = w->cfg.copies,
			};

			if (!(w->store.in_sync >> m & 1) || prot_slot_check(h, o, &p) ||
			    prot_slot_check_payload(h, w->disk[m][at + 1], o))
				memset(w->disk[m][at], 0, stride * SIM_LBA);
		}
	}
}

/* Was a state like this one seen before? */
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
	s.folded = 0;
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
	h = XXH64(&s, sizeof(s), 0) | 1;
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
		if (next->bad[0])
			report(next, depth + 1);
		else
			explore(next, depth + 1);
	}
}

/* All the ways a crash may come out. */
static void crashes(const struct sim_world *w, int depth)
{
	int bits = sim_flying_sectors(w);

	for (int lost = 0; lost < 1 << w->cfg.copies; lost++)
		for (uint64_t m = 0; m < 1ULL << bits; m++)
			try(w, depth, (struct sim_action){ .kind = ACT_CRASH, .a = lost, .m = m });
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
 * Attaching, erasure coding: as long as nobody can fail, the order in which
 * members end what they do is all the same, since each stage waits for all of
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
	for (int i = 0; i < flying; i++) {
		try(w, depth, (struct sim_action){ .kind = ACT_COMPLETE, .a = i });
		try(w, depth, (struct sim_action){ .kind = ACT_FAIL, .a = i });
	}
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
		if (w->cfg.k && !w->left.idles)
			continue;
		try(w, depth, (struct sim_action){ .kind = ACT_RETURN, .a = i });
		try(w, depth, (struct sim_action){ .kind = ACT_RETURN, .a = i, .m = ~0ULL });
	}
	try(w, depth, (struct sim_action){ .kind = ACT_COMMIT });
	try(w, depth, (struct sim_action){ .kind = ACT_TELL });
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
		c.lanes = 1;
		c.slots = 2;
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
	printf("%llu states, %llu steps, %llu settled, %lds%s\n", (unsigned long long)states,
	       (unsigned long long)edges, (unsigned long long)settled,
	       (long)(time(NULL) - start),
	       found ? ", FAILED" : incomplete ? ", not finished" : ", complete");
	free(w);
	free(seen);
	return found || (incomplete && !getenv("SIM_PARTIAL"));
}
