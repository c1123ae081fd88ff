// SPDX-License-Identifier: GPL-2.0-only
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/string.h>

#include "userspace/format/place.h"

static bool taken(const u32 *out, u32 got, u32 i)
{
	u32 j;

	for (j = 0; j < got; j++)
		if (out[j] == i)
			return true;
	return false;
}

static u32 on_host(const struct place_drive *d, const u32 *out, u32 got, const struct muuid *host)
{
	u32 j, sum = 0;

	for (j = 0; j < got; j++)
		sum += muuid_equal(&d[out[j]].host, host);
	return sum;
}

static u32 place_lba(const struct place_drive *d, u32 n, u64 bytes, u32 members, u32 lba,
		     enum place_domain domain, u32 *out)
{
	u32 got, i, load, best_load = 0;
	int best;

	for (got = 0; got < members; got++) {
		best = -1;
		for (i = 0; i < n; i++) {
			if (!d[i].wanted || d[i].lba != lba || d[i].longest < bytes ||
			    taken(out, got, i))
				continue;
			load = on_host(d, out, got, &d[i].host);
			if (domain == PLACE_HOST && load)
				continue;
			if (best < 0 || load < best_load ||
			    (load == best_load && d[i].free > d[best].free)) {
				best = i;
				best_load = load;
			}
		}
		if (best < 0)
			break;
		out[got] = best;
	}
	return got;
}

u32 place_stripe(const struct place_drive *d, u32 n, u64 bytes, u32 members,
		 enum place_domain domain, u32 *out)
{
	u32 small = 0, large = 0, i, got, other, first;

	for (i = 0; i < n; i++) {
		small += d[i].wanted && d[i].lba == 512 && d[i].longest >= bytes;
		large += d[i].wanted && d[i].lba == 4096 && d[i].longest >= bytes;
	}
	first = large > small ? 4096 : 512;
	got = place_lba(d, n, bytes, members, first, domain, out);
	if (got == members)
		return got;
	other = place_lba(d, n, bytes, members, first == 512 ? 4096 : 512, domain, out);
	return max(got, other);
}

int place_one(const struct place_drive *d, u32 n, u64 bytes)
{
	int best = -1;
	u32 i;

	for (i = 0; i < n; i++)
		if (d[i].wanted && d[i].longest >= bytes &&
		    (best < 0 || d[i].longest > d[best].longest))
			best = i;
	return best;
}

int place_spare(const struct place_drive *d, u32 n, u64 bytes, enum place_domain domain,
		const struct place_drive *taken, u32 nr_taken)
{
	bool same, near, best_near = false;
	int best = -1;
	u32 i, k;

	for (i = 0; i < n; i++) {
		if (!d[i].wanted || d[i].longest < bytes)
			continue;
		same = near = false;
		for (k = 0; k < nr_taken; k++) {
			same = same || muuid_equal(&d[i].drive, &taken[k].drive);
			near = near || muuid_equal(&d[i].host, &taken[k].host);
		}
		if (same || (near && domain == PLACE_HOST))
			continue;
		if (best < 0 || (near != best_near ? best_near : d[i].free > d[best].free)) {
			best = i;
			best_near = near;
		}
	}
	return best;
}
