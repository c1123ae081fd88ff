// SPDX-License-Identifier: GPL-2.0-only
/*
 * Drives for groups. Domains, hosts or single drives, have room for a number of extents each and
 * give one at most to a group. Drives are taken in the order of preference, each only if what is
 * left can still be placed. That is known exactly (maximal flow, minimal cut): for each k up to the
 * number of groups still to come, and with or without the group in hand,
 *
 *   the sum over domains of min(room, k [+ 1: it may serve the group in hand])
 *       >=  k * width [+ what the group in hand lacks]
 *
 * The left side is concave in k and the right one linear, so the ends alone are checked.
 */
#include <errno.h>
#include <stdlib.h>
#include <linux/minmax.h>

#include "userspace/format/place.h"

struct placing {
	const struct place_drive *d;
	u32	n;
	const struct place_groups *p;
	u32	lba;
	u32	*domain;	/* of each drive: the first drive of the same */
	u32	*host;		/* likewise */
	u32	*room;		/* extents that each drive can take */
	u32	*used;		/* extents taken of each drive ... */
	u32	*busy;		/* ... and of each host */
	u32	*left;		/* by domain: extents that it can take */
	bool	*here;		/* by domain: it serves the group in hand */
	bool	*not;		/* drives behind which the rest cannot be placed */
};

static void placing_free(struct placing *c)
{
	free(c->domain);
	free(c->here);
}

static int placing_new(struct placing *c, const struct place_drive *d, u32 n,
		       const struct place_groups *p)
{
	*c = (struct placing) { .d = d, .n = n, .p = p };
	c->domain = calloc(6 * ((size_t)n + 1), sizeof(u32));
	c->here = calloc(2 * ((size_t)n + 1), sizeof(bool));
	if (!c->domain || !c->here) {
		placing_free(c);
		return -ENOMEM;
	}
	c->host = c->domain + n;
	c->room = c->host + n;
	c->used = c->room + n;
	c->busy = c->used + n;
	c->left = c->busy + n;
	c->not = c->here + n;
	return 0;
}

static void placing_start(struct placing *c, u32 lba)
{
	u32 i, k;

	for (i = 0; i < c->n; i++)
		c->used[i] = c->busy[i] = c->left[i] = 0;
	for (i = 0; i < c->n; i++) {
		const struct place_drive *d = &c->d[i];

		for (k = 0; k < i && !muuid_equal(&c->d[k].host, &d->host); k++)
			;
		c->host[i] = k;
		if (c->p->domain == PLACE_DRIVE)
			for (k = 0; k < i && !muuid_equal(&c->d[k].drive, &d->drive); k++)
				;
		c->domain[i] = k;
		c->room[i] = d->wanted && d->lba == lba ?
			     min_t(u64, d->longest / c->p->bytes, c->p->groups) : 0;
		c->left[k] += c->room[i];
	}
}

/* Whether @groups more, and @lacks members of the one in hand, can be placed. */
static bool feasible(const struct placing *c, u32 groups, u32 lacks)
{
	u64 now = 0, later = 0, all = 0;
	u32 i;

	for (i = 0; i < c->n; i++) {
		if (c->domain[i] != i)
			continue;
		now += c->left[i] && !c->here[i];
		later += min(c->left[i], groups);
		all += min(c->left[i], groups + !c->here[i]);
	}
	return now >= lacks && later >= (u64)groups * c->p->width &&
	       all >= (u64)groups * c->p->width + lacks;
}

static bool better(const struct placing *c, u32 a, u32 b)
{
	if (c->used[a] != c->used[b])
		return c->used[a] < c->used[b];
	if (c->busy[c->host[a]] != c->busy[c->host[b]])
		return c->busy[c->host[a]] < c->busy[c->host[b]];
	return c->d[a].free - c->used[a] * c->p->bytes > c->d[b].free - c->used[b] * c->p->bytes;
}

static void take(struct placing *c, u32 i)
{
	c->room[i]--;
	c->used[i]++;
	c->busy[c->host[i]]++;
	c->left[c->domain[i]]--;
	c->here[c->domain[i]] = true;
}

static void give(struct placing *c, u32 i)
{
	c->room[i]++;
	c->used[i]--;
	c->busy[c->host[i]]--;
	c->left[c->domain[i]]++;
	c->here[c->domain[i]] = false;
}

/* The best drive behind which the rest can be placed. One that cannot be had is not tried again. */
static int place_next(struct placing *c, u32 groups, u32 lacks)
{
	u32 i;
	int best;

	for (;;) {
		best = -1;
		for (i = 0; i < c->n; i++)
			if (c->room[i] && !c->here[c->domain[i]] && !c->not[i] &&
			    (best < 0 || better(c, i, best)))
				best = i;
		if (best < 0)
			return -1;
		take(c, best);
		if (feasible(c, groups, lacks - 1))
			return best;
		give(c, best);
		c->not[best] = true;
	}
}

static int place_lba(struct placing *c, u32 lba, u32 *out)
{
	u32 g, m, i;
	int at;

	placing_start(c, lba);
	for (g = 0; g < c->p->groups; g++) {
		for (i = 0; i < c->n; i++)
			c->here[i] = false;
		for (m = 0; m < c->p->width; m++) {
			for (i = 0; i < c->n; i++)
				c->not[i] = false;
			at = place_next(c, c->p->groups - g - 1, c->p->width - m);
			if (at < 0)
				return -ENOSPC;
			*out++ = at;
		}
	}
	return 0;
}

int place_groups(const struct place_drive *d, u32 n, const struct place_groups *p, u32 *out)
{
	struct placing c;
	int err = placing_new(&c, d, n, p);

	if (err)
		return err;
	err = place_lba(&c, 512, out);
	if (err)
		err = place_lba(&c, 4096, out);
	placing_free(&c);
	return err;
}

u32 place_domains(const struct place_drive *d, u32 n, u64 bytes, enum place_domain domain)
{
	const struct place_groups p = { bytes, 1, 1, domain };
	u32 lba, i, most = 0, sum;
	struct placing c;

	if (placing_new(&c, d, n, &p))
		return 0;
	for (lba = 512; lba <= 4096; lba *= 8) {
		placing_start(&c, lba);
		for (i = sum = 0; i < n; i++)
			sum += c.domain[i] == i && c.left[i];
		most = max(most, sum);
	}
	placing_free(&c);
	return most;
}
