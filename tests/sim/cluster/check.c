// SPDX-License-Identifier: GPL-2.0-only
/* What must never be seen in a state. What a step must never do is where the step is. */
#include "tests/sim/cluster/world.h"

static void check_reader(const struct state *s, int h)
{
	const struct host *x = &s->h[h];
	u16 known = opt.record ? x->sn : (x->num | 63);

	for (int d = 0; d < DRIVES; d++) {
		if ((s->d[d].rg >> h & 1) && s->srv > known)
			complain("a reader reads beside or across a writer");
	}
	for (int p = 0; p < PLACES; p++) {
		u8 e = x->lay.pl[p];

		if (e && (s->d[drive_of(e)].rg >> h & 1) && s->d[drive_of(e)].x != e)
			complain("V reads bytes that are V's no more");
	}
}

static void check_writer(const struct state *s, int h)
{
	const struct host *x = &s->h[h];

	for (int p = 0; p < PLACES; p++) {
		u8 e = x->lay.pl[p];
		const struct drive *d = &s->d[drive_of(e)];

		if (!e || !session(s, h, drive_of(e)))
			continue;
		if (d->x != e)
			complain("V reads bytes that are V's no more");
		else if (!d->zeroed)
			complain("V reads bytes that are not zeroed");
		else if (s->must[p] & ~d->mask)
			complain("a read lacks an acknowledged write");
	}
	if (s->s.mode == PLAN_NONE && s->s.vst == PLAN_VOLUME_READY &&
	    access_of(x->num) == s->s.num && !s->backs)
		complain("access is none though the holder serves");
}

static void check_layout(const struct state *s)
{
	for (int p = 0; p < PLACES; p++) {
		u8 x = s->s.lay.pl[p];
		const struct key *k = x ? key_get(&s->s, x) : NULL;

		if (x && (!k || k->st != PLAN_READY))
			complain("the layout names an extent that is not ready");
	}
}

void check_state(const struct state *s)
{
	for (int h = 0; h < HOSTS; h++) {
		if (s->h[h].ph == P_READS)
			check_reader(s, h);
		if (s->h[h].ph == P_SERVES)
			check_writer(s, h);
	}
	/* After recover an extent may be wanted again, as its label says. */
	if (s->s.vst == PLAN_VOLUME_READY && !s->backs)
		check_layout(s);
}
