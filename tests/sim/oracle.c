// SPDX-License-Identifier: GPL-2.0-only
/*
 * What each sector may read as after writes, errors and crashes.
 *
 * A sector has a set of values. Submitting a write adds its value. When a write
 * is acknowledged, values whose writes had ended before it began are gone; the
 * same when a read returns one. A crash or an error ends a write without
 * saying how: its value stays until something later rules it out.
 */
#include <string.h>

#include "tests/sim/sim.h"

static uint64_t mix(uint64_t x)
{
	x ^= x >> 33;
	x *= 0xff51afd7ed558ccdULL;
	x ^= x >> 29;
	return x;
}

/* Content that says which write and which sector it is of; write 0 is zeroes. */
void sim_fill(const struct sim_world *w, uint8_t *sector, uint32_t id, uint32_t where)
{
	uint64_t word[SIM_LBA / 8], i;

	if (id && id == w->alien_id) {
		memcpy(sector, w->alien, SIM_LBA);
		return;
	}
	for (i = 0; i < SIM_LBA / 8; i++)
		word[i] = id ? mix((uint64_t)id << 32 | where << 12 | i) : 0;
	if (id)
		word[0] = (uint64_t)id << 32 | where;
	memcpy(sector, word, SIM_LBA);
}

uint32_t sim_value_of(const struct sim_world *w, const uint8_t *sector, uint32_t where)
{
	uint8_t want[SIM_LBA];
	uint64_t head;
	uint32_t id;

	memcpy(&head, sector, 8);
	id = head >> 32;
	if (w->alien_id && !memcmp(sector, w->alien, SIM_LBA))
		return w->alien_id;
	sim_fill(w, want, id, where);
	return memcmp(want, sector, SIM_LBA) ? SIM_GARBAGE : id;
}

void sim_oracle_init(struct sim_world *w)
{
	for (int s = 0; s < SIM_DATA; s++)
		w->oracle[s].n = 1;	/* zeroes, ended at time 0 */
}

static void add(struct sim_world *w, struct sim_oracle *o, const struct sim_req *r, int changing)
{
	if (o->n == SIM_VALUES) {
		sim_bad(w, "simulator: too many values of a sector");
		return;
	}
	o->v[o->n++] = (struct sim_value){ .id = r->id, .live = 1, .changing = changing,
					   .req = r - w->req };
}

void sim_wrote(struct sim_world *w, const struct sim_req *r)
{
	for (int s = r->first; s < r->first + r->count; s++)
		add(w, &w->oracle[s], r, 0);
}

/* The buffer of @r changed in flight: either content may be on each copy. */
void sim_changed(struct sim_world *w, const struct sim_req *r, uint32_t old)
{
	for (int s = r->first; s < r->first + r->count; s++) {
		struct sim_oracle *o = &w->oracle[s];

		for (int i = 0; i < o->n; i++)
			if (o->v[i].id == old && o->v[i].live)
				o->v[i].changing = !w->cfg.k;
		/* ec has a private copy: one of the two it is, from the first read on */
		add(w, o, r, !w->cfg.k);
		if (!w->cfg.k) {
			o->tainted = w->now;
			w->scrub.changed |= 1ULL << s;
		}
	}
}

/* Drop what had ended before @began, but @keep. */
static void rule_out(struct sim_world *w, uint32_t sector, uint64_t began, uint32_t keep)
{
	struct sim_oracle *o = &w->oracle[sector];
	int n = 0;

	for (int i = 0; i < o->n; i++)
		if (o->v[i].live || o->v[i].ended > began || o->v[i].id == keep)
			o->v[n++] = o->v[i];
		else
			sim_bypass_had(w, sector, o->v[i].id);
	o->n = n;
}

void sim_acked(struct sim_world *w, const struct sim_req *r, int err)
{
	for (int s = r->first; s < r->first + r->count; s++) {
		struct sim_oracle *o = &w->oracle[s];
		int live = 0;

		for (int i = 0; i < o->n; i++) {
			if (o->v[i].live && o->v[i].req == r - w->req) {
				o->v[i].live = 0;
				o->v[i].ended = w->now;
			}
			live |= o->v[i].live;
		}
		if (err)
			continue;
		rule_out(w, s, r->began, r->id);
		if (o->tainted && o->tainted < r->began && !live)
			o->tainted = 0;
	}
}

void sim_crashed(struct sim_world *w)
{
	for (int s = 0; s < w->cfg.sectors; s++)
		for (int i = 0; i < w->oracle[s].n; i++)
			if (w->oracle[s].v[i].live) {
				w->oracle[s].v[i].live = 0;
				w->oracle[s].v[i].ended = w->now;
			}
}

void sim_read(struct sim_world *w, uint32_t sector, uint32_t value, uint64_t began)
{
	struct sim_oracle *o = &w->oracle[sector];
	int found = 0, changing = 0;

	for (int i = 0; i < o->n; i++)
		if (o->v[i].id == value) {
			found = 1;
			changing |= o->v[i].changing;
		}
	if (!found)
		sim_bad(w, "sector %u reads as %s%u, which it must not", sector,
			value == SIM_GARBAGE ? "garbage " : "write ", value);
	else if (!changing)
		rule_out(w, sector, began, value);
}

int sim_tainted(const struct sim_world *w, uint32_t sector)
{
	return w->oracle[sector].tainted != 0;
}
