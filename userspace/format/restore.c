// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/format/restore.h"

int restore_add(struct restore_scan *s, u64 start, const struct layout *l,
		const struct muuid *drive)
{
	struct restore_hit *h;
	void *grown;
	u32 i, n = 0;

	for (i = 0; i < l->members; i++)
		n += muuid_equal(&l->member[i].drive, drive);
	if (!n)
		return -ENOENT;
	grown = realloc(s->member, (s->nr_members + n) * sizeof(*s->member));
	if (!grown)
		return -ENOMEM;
	s->member = grown;
	grown = realloc(s->hit, (s->hits + 1) * sizeof(*s->hit));
	if (!grown)
		return -ENOMEM;
	s->hit = grown;
	h = &s->hit[s->hits++];
	*h = (struct restore_hit) {
		.start = start, .volume = l->volume, .version = l->version,
		.commit = l->commit, .first = s->nr_members, .members = n,
	};
	memcpy(h->name, l->name, sizeof(h->name));
	for (i = 0; i < l->members; i++)
		if (muuid_equal(&l->member[i].drive, drive))
			s->member[s->nr_members++] = (struct restore_member) {
				.extent = l->member[i].extent, .size = l->member[i].size };
	return 0;
}

void restore_scan_free(struct restore_scan *s)
{
	free(s->hit);
	free(s->member);
	memset(s, 0, sizeof(*s));
}

struct build {
	const struct restore_scan *s;
	struct label *out;
	struct restore_line *line;
	u32	lines, max;
	void	(*fresh)(struct muuid *u);
};

static void say(struct build *b, enum restore_what what, const struct label_extent *e)
{
	if (b->lines < b->max)
		b->line[b->lines] = (struct restore_line) { what, *e };
	b->lines++;
}

static const struct restore_hit *hit_at(const struct restore_scan *s, u64 start)
{
	u32 lo = 0, hi = s->hits, mid;

	while (lo < hi) {
		mid = (lo + hi) / 2;
		if (s->hit[mid].start == start)
			return &s->hit[mid];
		if (s->hit[mid].start < start)
			lo = mid + 1;
		else
			hi = mid;
	}
	return NULL;
}

static const struct restore_member *member_of(const struct restore_scan *s,
					      const struct restore_hit *h, const struct muuid *u)
{
	u32 i;

	for (i = 0; i < h->members; i++)
		if (muuid_equal(&s->member[h->first + i].extent, u))
			return &s->member[h->first + i];
	return NULL;
}

/* Its place among those that are there, or -1: it overlaps one of them or the ends. */
static int place_of(const struct label *l, const struct label_extent *e)
{
	u64 end = e->start + e->length;
	u32 i;

	if (e->start < LABEL_AREA || e->start % LABEL_AREA || !e->length ||
	    e->length % LABEL_AREA || e->length > l->size || end > l->size - LABEL_AREA)
		return -1;
	for (i = 0; i < l->extents && l->extent[i].start < e->start; i++)
		if (l->extent[i].start + l->extent[i].length > e->start)
			return -1;
	return i < l->extents && l->extent[i].start < end ? -1 : (int)i;
}

static bool insert(struct build *b, const struct label_extent *e)
{
	struct label *l = b->out;
	int at = l->extents == LABEL_EXTENTS_MAX ? -1 : place_of(l, e);

	if (at < 0 || label_find(l, &e->uuid))
		return false;
	memmove(&l->extent[at + 1], &l->extent[at], (l->extents - at) * sizeof(*e));
	l->extent[at] = *e;
	l->extents++;
	return true;
}

static void record_of(struct label_extent *e, const struct restore_hit *h)
{
	e->volume = h->volume;
	e->version = h->version;
	e->commit = h->commit;
	e->state = LABEL_READY;
	snprintf(e->name, sizeof(e->name), "%.*s", LABEL_NAME - 1, h->name);
}

/* First what both know: nothing else may take its place. */
static void take_confirmed(struct build *b, const struct label *backup)
{
	const struct restore_hit *h;
	struct label_extent e;
	u32 i;

	for (i = 0; i < backup->extents; i++) {
		e = backup->extent[i];
		h = hit_at(b->s, e.start);
		if (!h || !member_of(b->s, h, &e.uuid))
			continue;
		/*
		 * A record of later than the backup counts, even when it was being
		 * written as the label went: a member that knows too little would
		 * have the others' version discarded, one that knows too much is
		 * brought in line with them.
		 */
		if (h->version > e.version)
			record_of(&e, h);
		e.state = LABEL_READY;
		if (insert(b, &e))
			say(b, RESTORE_CONFIRMED, &e);
	}
}

/*
 * Then what the backup has alone, if data may be in it. A place where a record
 * of another extent stands was given to that one since.
 */
static void take_kept(struct build *b, const struct label *backup)
{
	struct label_extent e;
	u32 i;

	for (i = 0; i < backup->extents; i++) {
		e = backup->extent[i];
		if (label_find(b->out, &e.uuid))
			continue;
		if (!e.version || hit_at(b->s, e.start) || !insert(b, &e))
			say(b, RESTORE_DROPPED, &e);
		else
			say(b, RESTORE_KEPT, &e);
	}
}

/* Which member begins at @h: the only one that has no place yet. */
static const struct restore_member *only_member(struct build *b, const struct restore_hit *h)
{
	const struct restore_member *m, *one = NULL;
	u32 i;

	for (i = 0; i < h->members; i++) {
		m = &b->s->member[h->first + i];
		if (label_find(b->out, &m->extent))
			continue;
		if (one)
			return NULL;
		one = m;
	}
	return one;
}

static u64 smallest(const struct restore_scan *s, const struct restore_hit *h)
{
	u64 size = ~0ULL;
	u32 i;

	for (i = 0; i < h->members; i++)
		if (s->member[h->first + i].size < size)
			size = s->member[h->first + i].size;
	return size;
}

/* Two places with records of one volume that both lack an owner cannot be distinguished. */
static bool sole_place(struct build *b, const struct restore_hit *h)
{
	u32 i;

	for (i = 0; i < b->s->hits; i++) {
		const struct restore_hit *o = &b->s->hit[i];
		struct label_extent at = { .start = o->start, .length = LABEL_AREA };

		if (o != h && muuid_equal(&o->volume, &h->volume) && place_of(b->out, &at) >= 0)
			return false;
	}
	return true;
}

static void take_found(struct build *b)
{
	const struct restore_member *m;
	const struct restore_hit *h;
	u32 i, n = b->s->hits;
	bool *sole = calloc(n + 1, sizeof(*sole));

	for (i = 0; sole && i < n; i++)
		sole[i] = sole_place(b, &b->s->hit[i]);
	for (i = 0; i < n; i++) {
		struct label_extent e = { .state = LABEL_READY };

		h = &b->s->hit[i];
		e.start = h->start;
		e.length = LABEL_AREA;
		if (place_of(b->out, &e) < 0)
			continue;		/* stands in an extent that is known */
		record_of(&e, h);
		m = sole && sole[i] ? only_member(b, h) : NULL;
		e.length = m ? m->size : smallest(b->s, h);
		if (m)
			e.uuid = m->extent;
		else
			b->fresh(&e.uuid);
		/* Of a length that cannot be there: the last trace of what was freed. */
		say(b, !insert(b, &e) ? RESTORE_DROPPED : m ? RESTORE_FOUND : RESTORE_NAMELESS, &e);
	}
	free(sole);
}

int restore_build(const struct label *backup, const struct restore_scan *s, u64 sequence,
		  struct label *out, struct restore_line *line, u32 max,
		  void (*fresh)(struct muuid *u))
{
	struct build b = { .s = s, .out = out, .line = line, .max = max, .fresh = fresh };

	if (label_check(backup))
		return -EUCLEAN;
	memset(out, 0, sizeof(*out));
	out->drive = backup->drive;
	out->cluster = backup->cluster;
	out->owner = backup->owner;
	out->size = backup->size;
	out->lba = backup->lba;
	out->flags = backup->flags;
	out->sequence = (sequence > backup->sequence ? sequence : backup->sequence) + 1;
	take_confirmed(&b, backup);
	take_kept(&b, backup);
	take_found(&b);
	if (label_check(out))
		return -EUCLEAN;
	return b.lines > max ? -E2BIG : (int)b.lines;
}
