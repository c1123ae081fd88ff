// SPDX-License-Identifier: GPL-2.0-only
/*
 * mirror, raid10, ec: what a request needs of each protection group. What a
 * group makes of it is the engine's (group.h).
 *
 * Groups side by side are dealt rows like the columns of a stripe, a row being
 * what one group holds of one: a strip (mirror, raid10), or K strips (ec).
 *
 *   ec:4+2 over 12 drives, strips of 64k: two groups, a unit is 256k
 *
 *   volume    0     256k   512k   768k   1m
 *             | g0   | g1   | g0   | g1   |
 *   of g0     0 .. 256k     256k .. 512k
 *
 * A group's I/O is addressed in the group's own bytes: 0 is the first that it
 * holds of the segment, and @member is the index of its first place.
 */
#include <linux/kernel.h>

#include "protect/prot.h"

static const char *check_copies(struct prot_segment *s)
{
	if (s->parity)
		return "a mirror has no parity";
	if (s->data < 2 || s->data > PROT_COPIES_MAX)
		return "a mirror has 2 to 4 copies";
	s->width = s->data;
	return NULL;
}

static const char *mirror_check(struct prot_segment *s)
{
	if (s->groups != 1)
		return "mirror is one group of copies; raid10 is more";
	return check_copies(s);
}

static const char *raid10_check(struct prot_segment *s)
{
	if (s->groups < 2)
		return "raid10 has at least two groups of copies";
	return check_copies(s);
}

static const char *ec_check(struct prot_segment *s)
{
	if (s->data < 2 || s->data > PROT_DATA_MAX)
		return "ec has 2 to 32 data members in a group";
	if (!s->parity || s->parity > PROT_PARITY_MAX)
		return "ec has 1 to 4 parity members in a group";
	s->width = s->data + s->parity;
	s->unit = s->strip * s->data;
	return NULL;
}

const struct prot_level_ops prot_mirror_ops = {
	.name = "mirror",
	.check = mirror_check,
	.next = prot_stripe_next,
};

const struct prot_level_ops prot_raid10_ops = {
	.name = "raid10",
	.check = raid10_check,
	.next = prot_stripe_next,
};

const struct prot_level_ops prot_ec_ops = {
	.name = "ec",
	.check = ec_check,
	.next = prot_stripe_next,
};
