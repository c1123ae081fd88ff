// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/agent/choose.h"
#include "userspace/format/label.h"
#include "userspace/format/size.h"

#define MIB	(1ULL << 20)

/* What is taken of a drive: its extents, also those being freed, and puts of this task. */
struct taken {
	u64	start, end;
};

static int by_start(const void *a, const void *b)
{
	const struct taken *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

/* In order, with an end that is the drive's. NULL: no memory. */
static struct taken *taken_of(const struct obj_drive *d, const struct plan_task_put *put, u32 puts, u32 *nr)
{
	u64 end = d->size / LABEL_AREA * LABEL_AREA - LABEL_AREA;
	struct taken *t = malloc((d->plan.extents + puts + 1) * sizeof(*t));
	u32 n = 0;

	if (!t)
		return NULL;
	for (u32 i = 0; i < d->plan.extents; i++)
		t[n++] = (struct taken) { d->plan.extent[i].start,
					  d->plan.extent[i].start + d->plan.extent[i].length };
	for (u32 i = 0; i < puts; i++) {
		if (muuid_equal(&put[i].drive, &d->plan.uuid))
			t[n++] = (struct taken) { put[i].start, put[i].start + put[i].length };
	}
	qsort(t, n, sizeof(*t), by_start);
	t[n++] = (struct taken) { end, end };
	*nr = n;
	return t;
}

/* The holes of a drive; @at: of the smallest one that has @length bytes, 0: none has. */
struct holes {
	u64	free, longest, at;
};

static struct holes holes_of(const struct obj_drive *d, const struct plan_task_put *put, u32 puts, u64 length)
{
	u64 at = LABEL_AREA, best = ~0ULL, room;
	struct holes h = { 0 };
	struct taken *t;
	u32 n = 0;

	/* The label has no line for another extent, whatever room there is. */
	if (d->plan.extents >= LABEL_EXTENTS_MAX)
		return h;
	t = taken_of(d, put, puts, &n);
	for (u32 i = 0; t && i < n; i++) {
		room = t[i].start > at ? t[i].start - at : 0;
		h.free += room;
		if (room > h.longest)
			h.longest = room;
		if (room >= length && room < best) {
			best = room;
			h.at = at;
		}
		if (t[i].end > at)
			at = t[i].end;
	}
	free(t);
	return h;
}

u64 choose_room(const struct obj_drive *d, const struct plan_task_put *put, u32 puts, u64 length)
{
	return holes_of(d, put, puts, length).at;
}

/*
 * What no two members of a group share, as a UUID that place.h compares. A host without the label
 * is a domain of its own.
 */
static struct muuid domain_id(const struct obj_host *h, const char *domain)
{
	const char *value = !strcmp(domain, "drive") || !strcmp(domain, "host") ? NULL :
			    obj_host_label(h, domain);
	struct muuid id = { .b = { 1 } };
	u64 hash = 14695981039346656037ULL, more = 0;

	if (!value)
		return h->plan.uuid;
	for (const char *c = value; *c; c++) {
		hash = (hash ^ (u8)*c) * 1099511628211ULL;
		more = more * 31 + (u8)*c;
	}
	memcpy(id.b + 1, &hash, sizeof(hash));
	memcpy(id.b + 9, &more, 7);
	return id;
}

static enum place_domain kind_of(const char *domain)
{
	return strcmp(domain, "drive") ? PLACE_HOST : PLACE_DRIVE;
}

static struct place_drive *candidates(const struct choose_drive *d, u32 n, const char *domain, u32 lba_max,
				      u32 *misfit)
{
	struct place_drive *p = calloc(n + 1, sizeof(*p));

	for (u32 i = 0; p && i < n; i++) {
		struct holes h = holes_of(d[i].drive, NULL, 0, 0);

		p[i] = (struct place_drive) { .host = domain_id(d[i].host, domain),
					      .drive = d[i].drive->plan.uuid, .lba = d[i].drive->lba,
					      .free = h.free, .longest = h.longest,
					      .wanted = d[i].wanted, .local = d[i].drive->local };
		if (lba_max && p[i].lba > lba_max) {
			p[i].wanted = false;
			p[i].free = p[i].longest = 0;
			(*misfit)++;
		}
	}
	return p;
}

/* One request, and what it is decided from. */
struct chooser {
	const struct choose_drive *d;
	struct place_drive *p;
	u32	n;
	const struct choose_request *r;
	struct layout *l;
	const struct muuid *id;
	struct plan_task_put *put;
	u32	puts, misfit;
	char	*why;
};

static int refuse(struct chooser *c, const char *words)
{
	snprintf(c->why, CHOOSE_WHY, "%s%s", words, c->misfit ?
		 "; drives with blocks larger than the volume's do not count" : "");
	return -ENOSPC;
}

static struct layout_segment segment_of(const struct choose_request *r, u64 each)
{
	return (struct layout_segment) {
		.length = each * layout_columns(&r->shape), .level = r->shape.level, .data = r->shape.data,
		.parity = r->shape.parity, .groups = r->shape.groups, .strip = r->strip,
		.domain = kind_of(r->domain) == PLACE_HOST ? LAYOUT_DOMAIN_HOST : LAYOUT_DOMAIN_DRIVE,
		.fresh = layout_width(&r->shape) > 1, .refs = layout_members(&r->shape),
	};
}

static u64 extent_bytes(const struct choose_request *r, u64 each)
{
	struct layout_segment s = segment_of(r, each);

	return layout_extent_bytes(&s, each);
}

void choose_set(struct layout_member *m, const struct obj_drive *d, const struct obj_host *h,
		const struct plan_task_put *put)
{
	memset(m, 0, sizeof(*m));
	m->target = h->plan.uuid;
	m->drive = put->drive;
	m->extent = put->extent;
	m->size = put->length;
	m->kind = d->local ? LAYOUT_KIND_BDEV : LAYOUT_KIND_RDDA;
	if (h->addresses) {
		m->port = h->address[0].port;
		memcpy(m->addr, h->address[0].addr, sizeof(m->addr));
	}
}

static void set_member(struct chooser *c, u32 slot, u32 drive, u64 bytes, u64 start)
{
	const struct choose_drive *d = &c->d[drive];
	struct plan_task_put *p = &c->put[c->puts];

	*p = (struct plan_task_put) { .place = slot, .drive = d->drive->plan.uuid, .extent = c->id[c->puts],
				      .start = start, .length = bytes };
	c->puts++;
	choose_set(&c->l->member[slot], d->drive, d->host, p);
}

/* False: the hole that was measured has been taken by another member of this request. */
static bool add_member(struct chooser *c, u32 drive, u64 bytes)
{
	u64 start = choose_room(c->d[drive].drive, c->put, c->puts, bytes);

	if (!start)
		return false;
	set_member(c, c->l->members++, drive, bytes, start);
	if (c->d[drive].drive->lba > c->l->lba)
		c->l->lba = c->d[drive].drive->lba;
	return true;
}

static void add_segment(struct chooser *c, u32 first_member, u64 each)
{
	struct layout_segment s = segment_of(c->r, each);

	layout_append(c->l, &s, first_member);
}

/* Return: how many drives were found, as many as the segment has members when it can be. */
static u32 pick_drives(const struct chooser *c, u64 bytes, u32 *pick)
{
	const struct layout_shape *s = &c->r->shape;
	struct place_groups p = { bytes, s->groups, layout_width(s), kind_of(c->r->domain) };
	u32 n = layout_members(s);

	if (p.width < 2)
		return place_stripe(c->p, c->n, bytes, n, p.domain, pick);
	return place_groups(c->p, c->n, &p, pick) ? 0 : n;
}

/* The most data that each member has room for; 0: none. */
static u64 most_each(const struct chooser *c)
{
	u64 lo = 0, hi = 1ULL << 40, mid;	/* MiB */
	u32 pick[LAYOUT_COLUMNS_MAX];

	while (lo < hi) {
		mid = lo + (hi - lo + 1) / 2;
		if (pick_drives(c, extent_bytes(c->r, mid * MIB), pick) == layout_members(&c->r->shape))
			lo = mid;
		else
			hi = mid - 1;
	}
	return lo * MIB;
}

static int too_few(struct chooser *c, u32 got, u64 bytes)
{
	u32 width = layout_width(&c->r->shape), n = layout_members(&c->r->shape);
	u32 have = place_domains(c->p, c->n, bytes, kind_of(c->r->domain));
	const char *plural = kind_of(c->r->domain) == PLACE_HOST ? c->r->domain : "drive";
	char words[CHOOSE_WHY - 80], text[SIZE_TEXT];

	size_text(bytes, text);
	if (width > 1 && have >= width)
		snprintf(words, sizeof(words), "%u groups of %u members with %s each do not fit on the drives; "
			 "take fewer groups, a smaller size, or export more drives", c->r->shape.groups, width, text);
	else if (width > 1)
		snprintf(words, sizeof(words), "a group has no two members of one %s: that takes %u with a drive "
			 "that has %s free in one run, and there are %u; export more drives, or take fewer members "
			 "or a smaller size", plural, width, text, have);
	else
		snprintf(words, sizeof(words), "%u members with %s free in one run are needed, and %u were found; "
			 "export more drives, or take fewer members or a smaller size", n, text, got);
	return refuse(c, words);
}

static int striped(struct chooser *c)
{
	u32 pick[LAYOUT_COLUMNS_MAX], n = layout_members(&c->r->shape), first = c->l->members, got;
	u32 columns = layout_columns(&c->r->shape);
	u64 each, bytes;

	if (!layout_has_room(c->l, n))
		return refuse(c, "the volume has too many pieces; copy it to a new one");
	each = c->r->bytes == CHOOSE_ALL ? most_each(c) :
	       ((c->r->bytes + columns - 1) / columns + MIB - 1) / MIB * MIB;
	if (!each)
		return too_few(c, 0, extent_bytes(c->r, MIB));
	bytes = extent_bytes(c->r, each);
	got = pick_drives(c, bytes, pick);
	if (got < n)
		return too_few(c, got, bytes);
	for (u32 i = 0; i < n; i++) {
		if (!add_member(c, pick[i], bytes))
			return too_few(c, i, bytes);
	}
	add_segment(c, first, each);
	return 0;
}

/* One extent if a drive holds it, else several, the longest runs first. */
static int linear(struct chooser *c)
{
	u64 left = c->r->bytes == CHOOSE_ALL ? CHOOSE_ALL : (c->r->bytes + MIB - 1) / MIB * MIB, take;
	bool any = false;
	u32 first;
	int d;

	while (left) {
		d = left == CHOOSE_ALL ? -1 : place_one(c->p, c->n, left + LAYOUT_DATA);
		if (d < 0)
			d = place_one(c->p, c->n, 2 * LABEL_AREA);
		if (d < 0 && left == CHOOSE_ALL && any)
			return 0;
		if (d < 0)
			return refuse(c, "the drives have too little free space; export more, or take a smaller size");
		if (!layout_has_room(c->l, 1))
			return refuse(c, "the volume has too many pieces; copy it to a new one");
		take = (c->p[d].longest - LAYOUT_DATA) / MIB * MIB;
		take = take < left ? take : left;
		first = c->l->members;
		if (!add_member(c, d, take + LAYOUT_DATA))
			return refuse(c, "the drives have too little free space; export more, or take a smaller size");
		add_segment(c, first, take);
		any = true;
		/* What is left of that run may serve again, another run of the drive may not. */
		c->p[d].free -= take + LAYOUT_DATA;
		c->p[d].longest = 0;
		if (left != CHOOSE_ALL)
			left -= take;
	}
	return 0;
}

int choose_segment(const struct choose_drive *d, u32 n, const struct choose_request *r, struct layout *l,
		   const struct muuid *id, struct plan_task_put *put, u32 *puts, char why[CHOOSE_WHY])
{
	struct chooser c = { .d = d, .n = n, .r = r, .l = l, .id = id, .put = put, .why = why };
	int err;

	c.p = candidates(d, n, r->domain, r->lba_max, &c.misfit);
	if (!c.p)
		return -ENOMEM;
	err = r->shape.level == PROT_LINEAR ? linear(&c) : striped(&c);
	free(c.p);
	*puts = c.puts;
	return err;
}

/* The domain of a member: of its drive's host, where the store knows the drive. */
static struct place_drive of_member(const struct chooser *c, const struct layout_member *m)
{
	struct place_drive p = { .host = m->target, .drive = m->drive };

	for (u32 i = 0; i < c->n; i++) {
		if (muuid_equal(&c->p[i].drive, &m->drive))
			p.host = c->p[i].host;
	}
	return p;
}

int choose_member(const struct choose_drive *d, u32 n, const char *domain, u32 slot, struct layout *l,
		  const struct muuid *id, struct plan_task_put *put, char why[CHOOSE_WHY])
{
	struct chooser c = { .d = d, .n = n, .l = l, .id = id, .put = put, .why = why };
	struct place_drive taken[LAYOUT_COLUMNS_MAX + 1];
	const struct layout_segment *s;
	struct layout_shape shape;
	u32 first, nr = 0;
	u64 bytes = l->member[slot].size, start;
	char words[CHOOSE_WHY - 80], text[SIZE_TEXT];
	int at;

	s = layout_group_of(l, slot, &first);
	if (!s)
		return refuse(&c, "the member is in no group: what is on it cannot be made again");
	shape = layout_shape(s);
	c.p = candidates(d, n, domain, l->lba, &c.misfit);
	if (!c.p)
		return -ENOMEM;
	for (u32 i = first; i < first + layout_width(&shape); i++) {
		taken[nr] = of_member(&c, &l->member[l->ref[i].member]);
		/* Another drive of the member's own domain may do. */
		if (l->ref[i].member == slot)
			memset(&taken[nr].host, 0, sizeof(taken[nr].host));
		nr++;
	}
	at = place_spare(c.p, n, bytes, kind_of(domain), taken, nr);
	start = at < 0 ? 0 : choose_room(d[at].drive, NULL, 0, bytes);
	free(c.p);
	if (!start) {
		size_text(bytes, text);
		snprintf(words, sizeof(words), "no drive has a run of %s free that is outside the %ss of the "
			 "group's other members; export another one", text,
			 kind_of(domain) == PLACE_HOST ? domain : "drive");
		return refuse(&c, words);
	}
	set_member(&c, slot, at, bytes, start);
	return 0;
}
