// SPDX-License-Identifier: GPL-2.0-only
/* Layouts: sizes, checks, finding the segment of a byte. See layout.h. */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/log2.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/sort.h>
#include <linux/string.h>

#include "protect/layout/layout.h"
#include "protect/layout/prot.h"

size_t prot_layout_bytes(u32 nr_segments, u32 nr_places, u32 nr_members)
{
	if (!nr_segments || nr_segments > PROT_SEGMENTS_MAX ||
	    !nr_places || nr_places > PROT_PLACES_MAX ||
	    !nr_members || nr_members > PROT_MEMBERS_MAX)
		return 0;
	return sizeof(struct prot_layout) + nr_segments * sizeof(struct prot_segment) +
	       nr_places * (sizeof(struct prot_place) + sizeof(struct prot_span)) +
	       nr_members * sizeof(u64);
}

struct prot_layout *prot_layout_init(void *mem, u32 lba, u32 nr_segments, u32 nr_places,
				     u32 nr_members)
{
	struct prot_layout *l = mem;
	size_t bytes = prot_layout_bytes(nr_segments, nr_places, nr_members);

	memset(mem, 0, bytes);
	l->bytes = bytes;
	l->lba = lba;
	l->nr_segments = nr_segments;
	l->nr_places = nr_places;
	l->nr_members = nr_members;
	return l;
}

static struct prot_span *layout_spans(const struct prot_layout *l)
{
	return (struct prot_span *)(prot_member_sizes(l) + l->nr_members);
}

/* Data members of all groups: a member holds length / this number. */
static u32 layout_data_columns(const struct prot_segment *s)
{
	return s->columns * (s->unit / s->strip);
}

u64 prot_segment_member_bytes(const struct prot_segment *s)
{
	return div_u64(s->length, layout_data_columns(s));
}

const char *prot_segment_shape(struct prot_segment *s)
{
	if (!s->groups || !s->data)
		return "segment without members";
	s->columns = s->groups;
	s->width = 1;
	s->unit = s->strip;
	return prot_level(s->level)->check(s);
}

static const char *layout_check_segment(const struct prot_layout *l, struct prot_segment *s,
					u64 start, u32 place)
{
	const char *why;
	u64 row;

	if (!prot_level(s->level))
		return "segment of unknown level";
	if (s->strip < PROT_STRIP_MIN || s->strip > PROT_STRIP_MAX || !is_power_of_2(s->strip))
		return "strip is not a power of two from 4k to 1m";
	why = prot_segment_shape(s);
	if (why)
		return why;
	if (s->start != start)
		return s->start < start ? "segments overlap or are out of order" :
					  "gap between segments";
	if (!s->length || s->length & (l->lba - 1))
		return "segment length is not a multiple of the block size";
	if (s->length > PROT_SIZE_MAX - start)
		return "volume is too large";
	row = (u64)s->columns * s->unit;
	if (layout_data_columns(s) > 1) {
		u32 rest;

		if (row >> 32)	/* more than 4095 columns of 1m */
			return "row of a segment is too large";
		div_u64_rem(s->length, row, &rest);
		if (rest)
			return "segment length is not a whole number of rows";
	}
	if (s->first != place)
		return "places of segments are not in order";
	if (prot_segment_places(s) > l->nr_places - place)
		return "segment has more members than are given";
	return NULL;
}

static const char *layout_check_groups(const struct prot_layout *l, const struct prot_segment *s)
{
	const struct prot_place *p = prot_places(l) + s->first;
	u32 g, i, j;

	for (g = 0; g < s->columns; g++, p += s->width)
		for (i = 0; i < s->width; i++)
			for (j = 0; j < i; j++)
				if (p[i].member == p[j].member)
					return "a member is twice in one protection group";
	return NULL;
}

static const char *layout_check_places(const struct prot_layout *l, const struct prot_segment *s)
{
	const u64 *sizes = prot_member_sizes(l);
	u32 n = prot_segment_places(s), i;
	u64 used = prot_segment_member_bytes(s);

	for (i = s->first; i < s->first + n; i++) {
		const struct prot_place *p = prot_places(l) + i;

		if (p->member >= l->nr_members)
			return "segment names a member that is not there";
		if (p->offset & (l->lba - 1))
			return "data of a member is not aligned to the block size";
		if (p->offset > sizes[p->member] || used > sizes[p->member] - p->offset)
			return "segment goes beyond the end of a member";
		layout_spans(l)[i] = (struct prot_span){ p->member, p->offset, p->offset + used };
	}
	return layout_check_groups(l, s);
}

static int layout_span_cmp(const void *a, const void *b)
{
	const struct prot_span *x = a, *y = b;

	if (x->member != y->member)
		return x->member < y->member ? -1 : 1;
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return 0;
}

static const char *layout_check_overlap(const struct prot_layout *l)
{
	struct prot_span *sp = layout_spans(l);
	u32 i;

	sort(sp, l->nr_places, sizeof(*sp), layout_span_cmp, NULL);
	for (i = 1; i < l->nr_places; i++)
		if (sp[i].member == sp[i - 1].member && sp[i].start < sp[i - 1].end)
			return "two segments use the same bytes of a member";
	return NULL;
}

const char *prot_layout_check(struct prot_layout *l)
{
	struct prot_segment *s = prot_segments(l);
	u64 start = 0;
	u32 place = 0, i;
	const char *why;

	if (!prot_layout_bytes(l->nr_segments, l->nr_places, l->nr_members))
		return "too many or no segments or members";
	if (l->lba != 512 && l->lba != 4096)
		return "block size is neither 512 nor 4096";
	for (i = 0; i < l->nr_members; i++)
		if (prot_member_sizes(l)[i] > PROT_SIZE_MAX)
			return "member is too large";
	for (i = 0; i < l->nr_segments; i++, s++) {
		why = layout_check_segment(l, s, start, place);
		if (!why)
			why = layout_check_places(l, s);
		if (why)
			return why;
		start += s->length;
		place += prot_segment_places(s);
	}
	if (place != l->nr_places)
		return "more members are given than segments use";
	why = layout_check_overlap(l);
	if (why)
		return why;
	l->size = start;
	l->max_bytes = PROT_REQUEST_MAX;
	return NULL;
}

u32 prot_segment_at(const struct prot_layout *l, u64 offset)
{
	const struct prot_segment *s = prot_segments(l);
	u32 lo = 0, hi = l->nr_segments - 1;

	while (lo < hi) {
		u32 mid = hi - (hi - lo) / 2;

		if (s[mid].start <= offset)
			lo = mid;
		else
			hi = mid - 1;
	}
	return lo;
}

void prot_layout_limits(const struct prot_layout *l, struct prot_limits *limits)
{
	const struct prot_segment *s = prot_segments(l);
	u32 i;

	memset(limits, 0, sizeof(*limits));
	limits->max_bytes = l->max_bytes;
	limits->discard = true;
	for (i = 0; i < l->nr_segments; i++, s++) {
		u64 opt = layout_data_columns(s) > 1 ? (u64)s->columns * s->unit : 0;

		limits->discard &= prot_level(s->level)->discard;
		if (s->width > 1)
			limits->max_zeroes = PROT_ZEROES_MAX;
		if (opt)
			limits->io_min = max(limits->io_min, s->strip);
		if (!i)
			limits->io_opt = opt;
		else if (limits->io_opt != opt)
			limits->io_opt = 0;
	}
}
