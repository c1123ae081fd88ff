// SPDX-License-Identifier: GPL-2.0-only
/* What each action of a schedule does to the world, and whether it may. */
#include <string.h>
#include <asm/byteorder.h>

#include "protect/engine/group_priv.h"
#include "tests/sim/sim.h"

static void out_of_sync(struct sim_world *w, uint64_t members)
{
	w->store.epoch++;
	w->store.in_sync &= ~members;
	w->flaky &= ~members;
	for (int i = 0; i < w->cfg.copies; i++)
		if (members >> i & 1)
			w->store.left[i] = w->store.epoch;
}

/*
 * Are there, without @out, enough members in sync that answer and can read: their
 * records, for the next attachment, and each row? A promise is kept for no more.
 */
static int survives(const struct sim_world *w, uint64_t out)
{
	uint64_t records = (1ULL << w->meta) - 1, in = w->store.in_sync & ~out;
	int need = w->cfg.k ? w->cfg.k : 1;

	for (int i = 0; i < w->cfg.copies; i++)
		if (w->bad_sectors[i] & records)
			in &= ~(1ULL << i);
	if (__builtin_popcountll(in) < need)
		return 0;
	for (int s = 0; s < sim_sectors(w); s++) {
		uint64_t can = in;

		for (int i = 0; i < w->cfg.copies; i++)
			can &= ~((w->bad_sectors[i] >> (w->meta + s) & 1) << i);
		if (__builtin_popcountll(can) < need)
			return 0;
	}
	return 1;
}

/* The same for those that the engine relies on too. */
static int enough(const struct sim_world *w, uint64_t out)
{
	return survives(w, out | w->silent | w->flaky |
			   ~((const struct prot_group *)w->engine)->in_sync);
}

/* What two copies that differ are, one of them rotten, would be a matter of luck. */
static int needs_all(const struct sim_world *w)
{
	return w->rot.on && w->rot.repair && !w->cfg.k;
}

/* One write fails of a member that goes on to answer. */
static int hiccup(struct sim_world *w, const struct sim_action *a)
{
	const struct sim_io *io;
	int at = 0, n = a->a;

	for (; (io = sim_answered(w, at)); at++)
		if (io->kind != PROT_READ && !n--)
			break;
	if (!io || !w->serving || w->stopped)
		return 0;
	if (a->b != HICCUP_RETRY && w->store.in_sync >> io->member & 1 &&
	    (!enough(w, 1ULL << io->member) || needs_all(w)))
		return 0;
	sim_unrot(w);
	return sim_hiccup(w, at, a->b, a->m);
}

static int crash(struct sim_world *w, uint64_t lost, uint64_t m)
{
	uint64_t out;

	if (!survives(w, lost))
		return 0;
	sim_unrot(w);
	w->now++;
	w->crashes++;
	w->beyond = 0;
	sim_resolve(w, sim_all(w) | 1ULL << SIM_NO_MEMBER, m);
	sim_crashed(w);
	for (int i = 0; i < SIM_REQS; i++)
		w->req[i].used = 0;
	/* those that are silent stay away, or the crash brought them back */
	w->silent = lost & sim_all(w);
	w->flaky = 0;
	w->late = 0;
	out = w->silent & w->store.in_sync;
	if (out)
		out_of_sync(w, out);
	sim_attach(w);
	return 1;
}

/* What this write writes is, byte by byte, the header of a record that is valid now. */
static void copy_record(struct sim_world *w, uint32_t id)
{
	for (int s = 2; s < w->meta; s++) {
		const struct prot_slot_hdr *h = (const void *)w->disk[id % w->cfg.copies][s];

		if (h->magic != cpu_to_le32(w->cfg.k ? PROT_SLOT_MAGIC : PROT_BITMAP_MAGIC))
			continue;
		memcpy(w->alien, h, SIM_LBA);
		w->alien_id = id;
	}
}

static int submit(struct sim_world *w, const struct sim_action *a)
{
	struct prot_group *g = sim_group(w);
	struct sim_req *r = w->req;
	uint64_t addr = a->b * SIM_LBA;
	int op;

	while (r < w->req + SIM_REQS && r->used)
		r++;
	if (!w->serving || w->stopped || r == w->req + SIM_REQS || !a->c ||
	    a->b + a->c > w->cfg.sectors || a->c > SIM_REQ_SECTORS ||
	    a->c * SIM_LBA > prot_group_span(g, a->a, addr) || sim_rotten(w, a->b, a->c))
		return 0;
	*r = (struct sim_req){ .kind = a->a, .first = a->b, .count = a->c, .began = w->now + 1 };
	if (a->a == PROT_READ && a->m && sim_bypass_begin(w, r)) {
		r->used = 1;
		w->now++;
		return 1;
	}
	op = prot_group_submit(g, a->a, 0, addr, a->c * SIM_LBA, r - w->req);
	if (op < 0)
		return 0;
	w->now++;
	if (w->taken >> op & 1)
		sim_bad(w, "op %d was never called free, and is given out", op);
	w->taken |= 1ULL << op;
	r->used = 1;
	r->op = op;
	if (a->a == PROT_WRITE) {
		r->id = w->next_id++;
		if (!w->alien_id && r->id % 4 == 0)
			copy_record(w, r->id);
	}
	if (a->a != PROT_READ) {
		sim_wrote(w, r);
		sim_bypass_wrote(w, op, a->b, a->c);
	}
	if (!a->seed)
		sim_pump(w);
	return 1;
}

static int mutate(struct sim_world *w, int n)
{
	struct sim_req *r = &w->req[n % SIM_REQS];
	uint32_t old = r->id;

	if (!r->used || r->kind != PROT_WRITE)
		return 0;
	w->now++;
	r->id = w->next_id++;
	sim_changed(w, r, old);
	return 1;
}

/*
 * A member stops answering. When it is one more than the group stands, only if it is
 * to be so: requests may fail from then on, and a crash that brings it back ends that.
 */
static int silence(struct sim_world *w, const struct sim_action *a)
{
	if (needs_all(w))
		return 0;
	if (a->a >= w->cfg.copies || w->silent >> a->a & 1)
		return 0;
	if (!enough(w, 1ULL << a->a)) {
		/* not where the store would give up what only this one can read */
		if (sim_unreadable(w) || !a->b || !w->serving)
			return 0;
		w->beyond = 1;
	}
	sim_unrot(w);
	w->silent |= 1 << a->a;
	return 1;
}

/* The store takes out a silent member that was in no request. */
static int expel(struct sim_world *w, int member)
{
	uint64_t bit = 1ULL << member;

	if (member >= w->cfg.copies || !(w->silent & w->store.in_sync & bit) || w->committed ||
	    !w->serving || w->stopped || !survives(w, w->requested | bit))
		return 0;
	out_of_sync(w, bit);
	w->requested &= ~bit;
	w->committed = 1;
	return 1;
}

/* A member that catches up is known to have gone, before an I/O to it fails. */
static int leave(struct sim_world *w, int member)
{
	if (member >= w->cfg.copies || !(w->silent & sim_group(w)->joining & 1ULL << member))
		return 0;
	prot_group_leave(sim_group(w), member);
	sim_pump(w);
	return 1;
}

/* A sector can't be read any more, until it is written. */
static int medium(struct sim_world *w, int member, int sector)
{
	uint64_t before;
	int ok;

	if (member >= w->cfg.copies || sector >= w->meta + sim_sectors(w) || w->beyond || w->rot.on ||
	    !(w->store.in_sync >> member & 1))
		return 0;
	before = w->bad_sectors[member];
	w->bad_sectors[member] |= 1ULL << sector;
	ok = enough(w, w->requested);
	for (int i = 0; i < SIM_IOS; i++)	/* a write to it is in flight */
		ok &= !(w->io[i].used && w->io[i].member == member &&
			w->io[i].first <= sector && sector < w->io[i].first + w->io[i].sectors);
	if (!ok)
		w->bad_sectors[member] = before;
	w->mediums += ok;
	return ok && before != w->bad_sectors[member];
}

static int commit(struct sim_world *w)
{
	if (!w->requested || w->committed || !survives(w, w->requested))
		return 0;
	out_of_sync(w, w->requested);
	w->requested = 0;
	w->committed = 1;
	return 1;
}

static int notify(struct sim_world *w)
{
	if (!w->committed)
		return 0;
	w->committed = 0;
	if (w->stopped && !w->serving) {
		/* its attachment failed half-way; what was in flight is resolved */
		sim_resolve(w, sim_all(w) | 1ULL << SIM_NO_MEMBER, 0x5555555555555555ULL);
		sim_attach(w);
		return 1;
	}
	sim_unrot(w);
	w->caught &= ~w->store.in_sync;
	w->late_since = ++w->now;	/* before, those that answer may have been too few */
	prot_group_epoch(sim_group(w), w->store.epoch, w->store.in_sync);
	sim_pump(w);
	return 1;
}

static int is_out(const struct sim_world *w, int member)
{
	return member < w->cfg.copies && !(w->store.in_sync >> member & 1) && !w->committed &&
	       w->serving && !w->stopped;
}

/* Nothing of ours is in flight there: its I/O has ended, stale writes are dead. */
static int fenced(struct sim_world *w, int member, uint64_t m)
{
	if (!is_out(w, member))
		return 0;
	for (int i = 0; i < SIM_IOS; i++)
		if (w->io[i].used && !w->io[i].dead && w->io[i].member == member)
			return 0;
	sim_resolve(w, 1ULL << member, m);
	return 1;
}

static int comes_back(struct sim_world *w, int member, uint64_t m)
{
	if (!fenced(w, member, m))
		return 0;
	if (prot_group_join(sim_group(w), member))
		return 0;
	w->silent &= ~(1 << member);
	w->flaky &= ~(1 << member);
	sim_pump(w);
	return 1;
}

/*
 * A spare takes its place: full of noise, or with what it had when it was in this place before. The
 * engine, not the caller, sees to it that all I/O of the one before is back.
 */
static int replace(struct sim_world *w, int member, uint64_t m)
{
	uint8_t uuid[PROT_UUID_LEN] = { member + 1 };

	if (!is_out(w, member) || sim_group(w)->joining >> member & 1)
		return 0;
	uuid[1] = w->store.uuid[member] + 1;
	if (prot_group_replace(sim_group(w), member, uuid, w->store.epoch + 1))
		return 0;
	sim_replaced(w, member);
	if (m >> 61 & 1)
		memset(w->disk[member], 0xa5, sizeof(w->disk[member]));
	w->bad_sectors[member] = 0;
	w->store.epoch++;
	w->store.left[member] = w->store.epoch;
	w->store.uuid[member]++;
	w->scrub.replaced = 1;
	w->silent &= ~(1 << member);
	w->flaky &= ~(1 << member);
	sim_pump(w);
	return 1;
}

static int promote(struct sim_world *w)
{
	uint64_t came = w->caught & sim_group(w)->announced;

	if (!came || w->committed || w->requested || !w->serving || w->stopped)
		return 0;
	w->store.epoch++;
	w->store.in_sync |= came;
	w->caught = 0;
	w->committed = 1;
	return 1;
}

/* A member is late from now on, or any more. */
static int late(struct sim_world *w, int member, int on)
{
	uint64_t bit = 1ULL << member;

	if (member >= w->cfg.copies || !w->serving || !!(w->late & bit) == on)
		return 0;
	w->late ^= bit;
	w->late_since = ++w->now;
	prot_group_avoid(sim_group(w), w->late);
	sim_pump(w);
	return 1;
}

/* Only late members are waited for. */
static int late_answer(struct sim_world *w)
{
	if (!w->late)
		return 0;
	sim_check_late(w);
	w->late = 0;
	prot_group_avoid(sim_group(w), 0);
	sim_pump(w);
	return 1;
}

/* All that is in flight comes to its end. */
static int finish(struct sim_world *w)
{
	sim_pump(w);
	for (int i = 0; i < 4000; i++) {
		sim_round(w);
		sim_check_reads(w);
		if (w->bad[0] || !(sim_complete(w, 0) || sim_fail(w, 0) || commit(w) || notify(w) ||
				   late_answer(w)))
			return 1;
	}
	sim_bad(w, "does not come to an end");
	return 1;
}

static int action(struct sim_world *w, const struct sim_action *a)
{
	switch (a->kind) {
	case ACT_SUBMIT:
		return submit(w, a);
	case ACT_COMPLETE:
		return sim_complete(w, a->a);
	case ACT_TOGETHER:
		return sim_together(w, a->a);
	case ACT_SILENCE:
		return silence(w, a);
	case ACT_EXPEL:
		return expel(w, a->a);
	case ACT_LEAVE:
		return leave(w, a->a);
	case ACT_MEDIUM:
		return medium(w, a->a, a->b);
	case ACT_ROT:
		return sim_rot(w, a);
	case ACT_FAIL:
		return sim_fail(w, a->a);
	case ACT_HICCUP:
		return hiccup(w, a);
	case ACT_MUTATE:
		return mutate(w, a->a);
	case ACT_COMMIT:
		return commit(w);
	case ACT_NOTIFY:
		return notify(w);
	case ACT_LATE:
	case ACT_PROMPT:
		return late(w, a->a, a->kind == ACT_LATE);
	case ACT_IDLE:
		if (!(a->a % 2)) {
			prot_group_settle(sim_group(w));
			sim_pump(w);
		}
		prot_group_idle(sim_group(w));
		sim_pump(w);
		return w->serving;
	case ACT_SCRUB:
		return sim_scrub(w, a);
	case ACT_RETURN:
		return comes_back(w, a->a, a->m);
	case ACT_REPLACE:
		return replace(w, a->a, a->m);
	case ACT_PROMOTE:
		return promote(w);
	case ACT_DRAIN:
		return finish(w);
	case ACT_CRASH:
		return crash(w, a->a, a->m);
	}
	return 0;
}

int sim_do(struct sim_world *w, const struct sim_action *a)
{
	int done;

	if (sim_trace) {
		printf("  -> ");
		sim_print_action(stdout, a);
	}
	done = action(w, a);
	sim_scrubbed(w);
	return done;
}

void sim_print_action(FILE *f, const struct sim_action *a)
{
	static const char *const names[ACT_KINDS] = {
		"none", "submit", "complete", "together", "silence", "fail", "hiccup", "mutate", "commit",
		"notify", "expel", "leave", "medium error", "rot", "idle", "scrub", "return",
		"replace", "promote", "drain", "crash", "grow", "late", "prompt",
	};
	static const char *const kinds[] = { "read", "write", "discard", "zeroes" };

	static const char *const hiccups[] = { "sent again", "medium error", "gone" };

	fprintf(f, "%s", names[a->kind]);
	if (a->kind == ACT_SUBMIT)
		fprintf(f, " %s %d+%d%s%s", kinds[a->a & 3], a->b, a->c, a->seed ? " and" : "",
			a->m ? " bypass" : "");
	else if (a->kind == ACT_HICCUP)
		fprintf(f, " %d %s", a->a, hiccups[a->b]);
	else if (a->kind == ACT_MEDIUM)
		fprintf(f, " member %d sector %d", a->a, a->b);
	else if (a->kind == ACT_ROT || a->kind == ACT_SCRUB)
		fprintf(f, " member %d sector %d how %d", a->a, a->b, a->c);
	else if (a->kind == ACT_CRASH)
		fprintf(f, " lost=%x landed=%llx", a->a, (unsigned long long)a->m);
	else if (a->kind != ACT_COMMIT && a->kind != ACT_NOTIFY && a->kind != ACT_IDLE &&
		 a->kind != ACT_DRAIN)
		fprintf(f, " %d", a->a);
	fprintf(f, "\n");
}
