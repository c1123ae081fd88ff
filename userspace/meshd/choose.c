// SPDX-License-Identifier: GPL-2.0-only
/* Which drives a segment's extents come from, or one that takes the place of another. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/format/label.h"
#include "userspace/format/size.h"
#include "userspace/meshd/choose.h"

#define MIB	(1ULL << 20)

/* What is known of a name in --drives. */
struct named {
	bool	found, usable;
	char	state[40];		/* of one that is not usable */
	char	host[64];
};

void choice_free(struct choice *c)
{
	query_free(&c->all);
	free(c->d);
	free(c->host);
	free(c->named);
	shown_free(&c->shown);
}

/* A drive is named by UUID, a start of it, device, or HOST:DEVICE. */
static bool called(const char *want, const struct store_host *h, const struct mgmt_drive *m)
{
	char host_path[200], host_base[200];
	const char *base = strrchr(m->path, '/');

	base = base ? base + 1 : m->path;
	snprintf(host_path, sizeof(host_path), "%s:%s", h->name, m->path);
	snprintf(host_base, sizeof(host_base), "%s:%s", h->name, base);
	return !strcmp(want, m->path) || !strcmp(want, base) || !strcmp(want, host_path) ||
	       !strcmp(want, host_base) ||
	       (strlen(want) >= 4 && !strncasecmp(muuid_str(&m->uuid).s, want, strlen(want)));
}

/* Local ones for this host alone, each for one extent. */
static bool usable(const struct store_host *h, const struct mgmt_drive *m)
{
	return !strcmp(m->state, "up") ||
	       (!strcmp(m->state, MGMT_LOCAL) && muuid_equal(&h->uuid, &D.host) && !m->extents);
}

/* Whether @q names it, or any drive. Notes which of the names have a drive. */
static bool wanted(struct choice *c, const struct segment_req *q, const struct store_host *h,
		   const struct mgmt_drive *m)
{
	bool any = !q->drives;
	const char *want;
	size_t i;
	json_t *n;

	json_array_foreach((json_t *)q->drives, i, n) {
		want = json_string_value(n);
		if (!want || !called(want, h, m))
			continue;
		c->named[i].found = any = true;
		if (usable(h, m))
			c->named[i].usable = true;
		snprintf(c->named[i].state, sizeof(c->named[i].state), "%.39s", m->state);
		snprintf(c->named[i].host, sizeof(c->named[i].host), "%.63s", h->name);
	}
	return any;
}

/*
 * A name without an exported drive is a mistake, or its host is silent; a drive that is
 * sick or hangs is named: neither counts as a drive without room.
 */
static int all_found(struct req *r, const struct choice *c, const struct segment_req *q)
{
	const struct named *d;
	const char *want;
	size_t i;
	json_t *n;

	json_array_foreach((json_t *)q->drives, i, n) {
		want = json_string_value(n);
		d = &c->named[i];
		if (!d->found && c->deaf[0])
			return req_fail(r, "no exported drive of the hosts that answer is called %.100s, and %s",
					want ? want : "that", c->deaf);
		if (!d->found)
			return req_fail(r, "no exported drive is called %.100s; see meshctl drive list",
					want ? want : "that");
		if (!d->usable && !strcmp(d->state, "silent"))
			return req_fail(r, "drive %.100s of host %s does not answer its host; name another",
					want, d->host);
		if (!d->usable && !strcmp(d->state, MGMT_LOCAL))
			return req_fail(r, "drive %.100s is a local drive of host %s: that host alone uses it, for one "
					"extent, and then it is full; name another", want, d->host);
		if (!d->usable)
			return req_fail(r, "drive %.100s of host %s is not up (%s); name another, or see "
					"meshctl drive list", want, d->host, d->state);
	}
	return 0;
}

static int choice_add(struct choice *c, u32 host, const json_t *j, const struct segment_req *q)
{
	size_t drives, hosts;
	struct place_drive *d;
	struct mgmt_drive m;
	bool take;
	u32 *at;

	if (mgmt_drive_unpack(j, &m))
		return 0;
	take = wanted(c, q, &c->all.hosts[host], &m);
	/* No command gets a local drive that it does not name. */
	if (!usable(&c->all.hosts[host], &m) || (strcmp(m.state, "up") && (!take || !q->drives)))
		return 0;
	if (q->lba_max && m.lba > q->lba_max) {
		c->misfit++;
		return 0;
	}
	drives = hosts = c->n;
	d = mesh_grow((void **)&c->d, &drives, sizeof(*d));
	at = mesh_grow((void **)&c->host, &hosts, sizeof(*at));
	if (!d || !at)
		return -ENOMEM;
	*at = host;
	*d = (struct place_drive) {
		.host = c->all.hosts[host].uuid, .drive = m.uuid, .free = m.free,
		.longest = m.longest, .lba = m.lba,
		.wanted = take, .local = !strcmp(m.state, MGMT_LOCAL),
	};
	c->n++;
	return 0;
}

/* 1: it is not this host's to give, or that is unknown; -ENOTUNIQ when @q names it. */
static int choice_skips(struct choice *c, u32 host, const json_t *j, const struct segment_req *q)
{
	const struct twin_hosts *t;
	struct mgmt_drive m;

	if (mgmt_drive_unpack(j, &m) || strcmp(m.state, "up"))
		return 0;
	t = shown_find(&c->shown, &m.uuid);
	if (t && !twin_hosts_doubt(t))
		return t->host != host;
	if (!shown_twice(&c->shown, &m.uuid, c->all.hosts, c->twice))
		return 0;
	return q->drives && wanted(c, q, &c->all.hosts[host], &m) ? -ENOTUNIQ : 1;
}

static int choice_read(struct req *r, struct choice *c, const struct segment_req *q)
{
	const struct gather_host *said = c->all.said;
	struct mgmt_drive m;
	size_t i, k;
	json_t *j;
	int err = 0;

	for (i = 0; i < c->all.n; i++) {
		if (said[i].err) {
			req_note(r, "%s; its drives are left out", said[i].why);
			snprintf(c->deaf, sizeof(c->deaf), "%s", said[i].why);
		}
		json_array_foreach(json_object_get(said[i].data, "drives"), k, j)
			if (!err && !mgmt_drive_unpack(j, &m) && !strcmp(m.state, "up"))
				err = shown_add(&c->shown, &m.uuid, c->all.hosts, i, &m.owner);
	}
	for (i = 0; i < c->all.n; i++) {
		json_array_foreach(json_object_get(said[i].data, "drives"), k, j)
			if (err >= 0)
				err = choice_skips(c, i, j, q) ?: choice_add(c, i, j, q);
	}
	if (err < 0)
		return req_fail(r, "%s", err == -ENOTUNIQ ? c->twice : "no memory");
	if (c->twice[0])
		req_note(r, "%s; neither is used", c->twice);
	return 0;
}

/* This host does not list yet what gets its label with the plan. */
static void add_fresh(struct choice *c, const struct segment_req *q)
{
	size_t i;

	for (i = 0; i < c->all.n && !muuid_equal(&c->all.hosts[i].uuid, &D.host); i++)
		;
	if (i < c->all.n && q->fresh)
		json_array_extend(json_object_get(c->all.said[i].data, "drives"), q->fresh);
}

int choice_get(struct req *r, struct choice *c, const struct segment_req *q)
{
	struct mgmt_req drives = { .op = MGMT_DRIVES };
	int err;

	memset(c, 0, sizeof(*c));
	c->named = calloc(json_array_size(q->drives) + 1, sizeof(*c->named));
	err = c->named ? query_hosts(&c->all, &drives) : -ENOMEM;
	if (err)
		return req_fail(r, "%s", store_words(err));
	add_fresh(c, q);
	err = choice_read(r, c, q);
	if (err)
		return err;
	if (!c->all.n)
		return req_fail(r, "no host is known; add those that export drives with meshctl host add ADDRESS");
	if (all_found(r, c, q))
		return -1;
	if (!c->n && c->misfit)
		return req_fail(r, "the drives that are exported have blocks of 4096 bytes, the volume has %u; "
				"export others", q->lba_max);
	if (!c->n && c->twice[0])
		return req_fail(r, "%s", c->twice);
	if (!c->n)
		return req_fail(r, "no host exports a drive; export some with meshctl drive export, then see "
				"meshctl drive list");
	return 0;
}

static enum place_domain domain_of(const struct segment_req *q)
{
	return q->by_host ? PLACE_HOST : PLACE_DRIVE;
}

static int too_few_of_groups(struct req *r, const struct choice *c, const struct segment_req *q,
			     u64 bytes)
{
	u32 width = layout_width(&q->shape), have = place_domains(c->d, c->n, bytes, domain_of(q));
	char text[SIZE_TEXT];

	size_text(bytes, text);
	if (have >= width)
		return req_fail(r, "%u groups of %u members with %s each do not fit on the drives; take fewer "
				"groups, a smaller size, or export more drives (meshctl drive list)",
				q->shape.groups, width, text);
	if (q->by_host)
		return req_fail(r, "no two members of a group may be on one host: that takes %u hosts with a drive that "
				"has %s free in one run, and there are %u; add hosts, take fewer members or a "
				"smaller size, or --domain drive", width, text, have);
	return req_fail(r, "no two members of a group may be on one drive: that takes %u drives that have %s free "
			"in one run, and there are %u; export more, take fewer members or a smaller size (meshctl "
			"drive list)", width, text, have);
}

static int too_few(struct req *r, const struct choice *c, const struct segment_req *q, u32 got,
		   u64 bytes)
{
	u32 n = layout_members(&q->shape), width = layout_width(&q->shape);
	char text[SIZE_TEXT], misfit[80] = "";

	size_text(bytes, text);
	if (c->misfit)
		snprintf(misfit, sizeof(misfit), "; %zu more have blocks of 4096 bytes, the volume %u",
			 c->misfit, q->lba_max);
	/* Groups may share drives, members of one do not. */
	if (q->drives && json_array_size(q->drives) < (width > 1 ? width : n))
		return req_fail(r, "--drives names %zu, and %u are wanted; name more, or leave out "
				"--drives", json_array_size(q->drives), width > 1 ? width : n);
	if (width > 1)
		return too_few_of_groups(r, c, q, bytes);
	if (q->by_host)
		return req_fail(r, "only %u of %u hosts have a drive with %s free in one run; take fewer "
				"members, a smaller size or --domain drive", got, n, text);
	return req_fail(r, "only %u of %u drives have %s free in one run (%zu are exported%s%s); take %sa "
			"smaller size, see meshctl drive list", got, n, text, c->n,
			q->drives ? ", --drives names some" : "", misfit,
			got ? "fewer members or " : "");
}

static void set_member(struct layout_member *m, const struct choice *c, u32 drive, u64 bytes)
{
	const struct store_host *h = &c->all.hosts[c->host[drive]];

	memset(m, 0, sizeof(*m));
	m->target = h->uuid;
	m->drive = c->d[drive].drive;
	uuid_random(&m->extent);
	m->size = bytes;
	m->kind = c->d[drive].local ? LAYOUT_KIND_BDEV : LAYOUT_KIND_RDDA;
	m->port = h->port;
	memcpy(m->addr, h->addr, sizeof(m->addr));
}

static u32 add_member(struct layout *l, const struct choice *c, u32 drive, u64 bytes)
{
	set_member(&l->member[l->members], c, drive, bytes);
	return l->members++;
}

/* What @q wants, with @each bytes of data on each member. */
static struct layout_segment segment_of(const struct segment_req *q, u64 each)
{
	return (struct layout_segment) {
		.length = each * layout_columns(&q->shape), .level = q->shape.level,
		.data = q->shape.data, .parity = q->shape.parity, .groups = q->shape.groups,
		.domain = q->by_host ? LAYOUT_DOMAIN_HOST : LAYOUT_DOMAIN_DRIVE,
		.strip = q->strip, .fresh = layout_width(&q->shape) > 1, .refs = layout_members(&q->shape),
	};
}

static u64 extent_bytes(const struct segment_req *q, u64 each)
{
	struct layout_segment s = segment_of(q, each);

	return layout_extent_bytes(&s, each);
}

static void add_segment(struct layout *l, const struct segment_req *q, u32 first_member, u64 each)
{
	struct layout_segment s = segment_of(q, each);

	layout_append(l, &s, first_member);
}

/* Drives for @q. Return: how many were found, as many as it has members when it can be. */
static u32 choose(const struct choice *c, const struct segment_req *q, u64 bytes, u32 *pick)
{
	struct place_groups p = { bytes, q->shape.groups, layout_width(&q->shape), domain_of(q) };
	u32 n = layout_members(&q->shape);

	if (p.width < 2)
		return place_stripe(c->d, c->n, bytes, n, p.domain, pick);
	return place_groups(c->d, c->n, &p, pick) ? 0 : n;
}

/* The most data that each member of @q has room for; 0: none. */
static u64 most_each(const struct choice *c, const struct segment_req *q)
{
	u64 lo = 0, hi = 1ULL << 40, mid;	/* MiB */
	u32 pick[LAYOUT_COLUMNS_MAX];

	while (lo < hi) {
		mid = lo + (hi - lo + 1) / 2;
		if (choose(c, q, extent_bytes(q, mid * MIB), pick) == layout_members(&q->shape))
			lo = mid;
		else
			hi = mid - 1;
	}
	return lo * MIB;
}

/* All the room there is, as one segment of @q can use it. */
static u64 most_bytes(const struct choice *c, const struct segment_req *q)
{
	u64 sum = 0;
	size_t i;

	if (q->shape.level != PROT_LINEAR)
		return most_each(c, q) * layout_columns(&q->shape);
	for (i = 0; i < c->n; i++)
		if (c->d[i].wanted && c->d[i].longest >= 2 * LABEL_AREA)
			sum += (c->d[i].longest - LAYOUT_DATA) / MIB * MIB;
	return sum;
}

static int plan_striped(struct req *r, struct layout *l, const struct choice *c,
			const struct segment_req *q)
{
	u32 pick[LAYOUT_COLUMNS_MAX], got, i, first = l->members, n = layout_members(&q->shape);
	u64 each = (q->bytes + layout_columns(&q->shape) - 1) / layout_columns(&q->shape), bytes;

	each = (each + MIB - 1) / MIB * MIB;
	bytes = extent_bytes(q, each);
	if (!layout_has_room(l, n))
		return req_fail(r, "the volume has too many pieces; copy it to a new one");
	got = choose(c, q, bytes, pick);
	if (got < n)
		return too_few(r, c, q, got, bytes);
	for (i = 0; i < n; i++) {
		add_member(l, c, pick[i], bytes);
		if (c->d[pick[i]].lba > l->lba)
			l->lba = c->d[pick[i]].lba;
	}
	add_segment(l, q, first, each);
	return 0;
}

/* One extent if a drive holds it, else several, the longest runs first. */
static int plan_linear(struct req *r, struct layout *l, struct choice *c, const struct segment_req *q)
{
	u64 left = (q->bytes + MIB - 1) / MIB * MIB, take;
	char text[SIZE_TEXT];
	int d;

	while (left) {
		d = place_one(c->d, c->n, left + LAYOUT_DATA);
		if (d < 0)
			d = place_one(c->d, c->n, 2 * LABEL_AREA);
		if (d < 0) {
			size_text(left, text);
			return req_fail(r, "the exported drives have %s too little free space; export more, "
					"or take a smaller size (meshctl drive list)", text);
		}
		if (!layout_has_room(l, 1))
			return req_fail(r, "the volume has too many pieces; copy it to a new one");
		take = c->d[d].longest - LAYOUT_DATA;
		take = take < left ? take : left;
		add_segment(l, q, add_member(l, c, d, take + LAYOUT_DATA), take);
		if (c->d[d].lba > l->lba)
			l->lba = c->d[d].lba;
		/* What is left of that run may serve again, another run of it may not. */
		c->d[d].free -= take + LAYOUT_DATA;
		c->d[d].longest = 0;
		left -= take;
	}
	return 0;
}

/* @most: bytes that fit; none where too few drives have room, which the plan explains. */
static int check_room(struct req *r, struct segment_req *q, u64 most)
{
	char wanted[SIZE_TEXT], room[SIZE_TEXT];

	if (q->bytes == SIZE_MAX_ROOM)
		q->bytes = most;
	if (!q->bytes)
		return req_fail(r, "the drives that are exported have no room for %u members; see meshctl "
				"drive list", q->shape.level == PROT_LINEAR ? 1 : layout_members(&q->shape));
	if (!most || q->bytes <= most)
		return 0;
	size_text(q->bytes, wanted);
	size_text(most, room);
	return req_fail(r, "%s do not fit, at most %s do: take --size max, a smaller size, other members, "
			"or export more drives (meshctl drive list)", wanted, room);
}

int choice_plan(struct req *r, struct layout *l, struct choice *c, const struct segment_req *wanted)
{
	struct segment_req q = *wanted;

	if (check_room(r, &q, most_bytes(c, &q)))
		return -1;
	return q.shape.level == PROT_LINEAR ? plan_linear(r, l, c, &q) : plan_striped(r, l, c, &q);
}

/* The drive of a member, and the host that has it now. */
static struct place_drive drive_of(const struct choice *c, const struct layout_member *m)
{
	struct place_drive d = { .host = m->target, .drive = m->drive };
	const struct twin_hosts *t = shown_find(&c->shown, &m->drive);

	if (t)
		d.host = c->all.hosts[t->host].uuid;
	return d;
}

static int no_spare(struct req *r, const struct choice *c, const struct segment_req *q, u64 bytes,
		    enum place_domain domain)
{
	const char *named = json_string_value(json_array_get(q->drives, 0));
	char text[SIZE_TEXT];
	bool room = false;
	size_t i;

	size_text(bytes, text);
	for (i = 0; i < c->n; i++)
		room = room || (c->d[i].wanted && c->d[i].longest >= bytes);
	if (!room && named)
		return req_fail(r, "drive %.100s has no run of %s free%s; name another, or leave out --with "
				"(meshctl drive list)", named, text, c->misfit ? ", or blocks larger than the "
				"volume's" : "");
	if (!room)
		return req_fail(r, "no exported drive has a run of %s free%s; export another (meshctl drive "
				"export)", text, c->misfit ? " and blocks as small as the volume's" : "");
	if (named)
		return req_fail(r, domain == PLACE_HOST ? "drive %.100s is the member's own, or on a host with "
				"another member of its group; name one on another host (meshctl drive list)" :
				"drive %.100s has a member of the group already; name another (meshctl drive "
				"list)", named);
	return req_fail(r, domain == PLACE_HOST ? "every drive with a run of %s free is the member's own, "
			"or on a host with another member of its group; export a drive of another host" :
			"every drive with a run of %s free has a member of the group already; export another",
			text);
}

/* The member's own drive is none of its domain's: another one of the same host may do. */
int choice_swap(struct req *r, struct layout *l, u32 slot, struct choice *c,
		const struct segment_req *q)
{
	struct place_drive taken[LAYOUT_COLUMNS_MAX + 1];
	u64 bytes = l->member[slot].size;
	const struct layout_segment *s;
	enum place_domain domain;
	struct layout_shape shape;
	u32 first, i, n = 0;
	int at;

	s = layout_group_of(l, slot, &first);
	if (!s)
		return req_fail(r, "member %u is in no group: what is on it cannot be made again", slot);
	shape = layout_shape(s);
	domain = s->domain == LAYOUT_DOMAIN_HOST ? PLACE_HOST : PLACE_DRIVE;
	for (i = first; i < first + layout_width(&shape); i++) {
		taken[n] = drive_of(c, &l->member[l->ref[i].member]);
		if (l->ref[i].member == slot)
			memset(&taken[n].host, 0, sizeof(taken[n].host));
		n++;
	}
	at = place_spare(c->d, c->n, bytes, domain, taken, n);
	if (at < 0)
		return no_spare(r, c, q, bytes, domain);
	set_member(&l->member[slot], c, at, bytes);
	return 0;
}
