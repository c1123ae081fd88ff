// SPDX-License-Identifier: GPL-2.0-only
/* Where a new segment's extents come from, until they read zero. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/format/label.h"
#include "userspace/format/place.h"
#include "userspace/format/size.h"
#include "userspace/meshd/busy.h"
#include "userspace/meshd/crash.h"
#include "userspace/meshd/volume.h"

#define MIB	(1ULL << 20)

struct choice {
	struct query all;
	struct place_drive *d;		/* candidates ... */
	u32	*host;			/* ... and whose: index into the hosts */
	size_t	n;
	size_t	misfit;			/* drives left out for their block size */
	struct shown shown;
	char	twice[REASON];		/* of one left out since it may be a copy; "" */
	struct named *named;		/* by index into the names in struct segment_req */
	char	deaf[REASON];		/* why some host could not be queried; "" */
};

/* What is known of a name in --drives. */
struct named {
	bool	found, usable;
	char	state[40];		/* of one that is not usable */
	char	host[64];
};

static void choice_free(struct choice *c)
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
		if (!strcmp(m->state, "up"))
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
	if (strcmp(m.state, "up"))
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
		.wanted = take,
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

static int choice_get(struct req *r, struct choice *c, const struct segment_req *q)
{
	struct mgmt_req drives = { .op = MGMT_DRIVES };
	int err;

	memset(c, 0, sizeof(*c));
	c->named = calloc(json_array_size(q->drives) + 1, sizeof(*c->named));
	err = c->named ? query_hosts(&c->all, &drives) : -ENOMEM;
	if (err)
		return req_fail(r, "%s", store_words(err));
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
		return req_fail(r, "no two members of a group may be on one host, and only %u of the %u hosts "
				"that takes have a drive with %s free in one run; add hosts, take fewer members "
				"or a smaller size, or --domain drive", have, width, text);
	return req_fail(r, "no two members of a group may be on one drive, and only %u of the %u drives that "
			"takes have %s free in one run; export more, take fewer members or a smaller size (meshctl "
			"drive list)", have, width, text);
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

static u32 add_member(struct layout *l, const struct choice *c, u32 drive, u64 bytes)
{
	const struct store_host *h = &c->all.hosts[c->host[drive]];
	struct layout_member *m = &l->member[l->members];

	memset(m, 0, sizeof(*m));
	m->target = h->uuid;
	m->drive = c->d[drive].drive;
	uuid_random(&m->extent);
	m->size = bytes;
	m->port = h->port;
	memcpy(m->addr, h->addr, sizeof(m->addr));
	return l->members++;
}

/* Members that hold data side by side: each has the same part of the segment. */
static u32 data_columns(const struct layout_shape *s)
{
	return s->level == PROT_MIRROR || s->level == PROT_RAID10 ? s->groups : s->groups * s->data;
}

/* What @q wants, with @each bytes of data on each member. */
static struct layout_segment segment_of(const struct segment_req *q, u64 each)
{
	return (struct layout_segment) {
		.length = each * data_columns(&q->shape), .level = q->shape.level,
		.data = q->shape.data, .parity = q->shape.parity, .groups = q->shape.groups,
		.domain = q->by_host ? LAYOUT_DOMAIN_HOST : LAYOUT_DOMAIN_DRIVE,
		.strip = q->strip, .fresh = layout_width(&q->shape) > 1,
	};
}

/* Of an extent with its metadata, whatever block size the volume gets. */
static u64 extent_bytes(const struct segment_req *q, u64 each)
{
	struct layout_segment s = segment_of(q, each);
	u64 small = layout_data_at(&s, 512), large = layout_data_at(&s, 4096);

	return each + (small > large ? small : large);
}

static void add_segment(struct layout *l, const struct segment_req *q, u32 first_member, u64 each)
{
	struct layout_segment *s = &l->segment[l->segments++];
	u64 data;
	u32 i;

	*s = segment_of(q, each);
	data = layout_data_at(s, l->lba);
	s->start = l->size;
	s->first_ref = l->refs;
	s->refs = layout_members(&q->shape);
	for (i = 0; i < s->refs; i++)
		l->ref[l->refs++] = (struct layout_ref) { first_member + i, data };
	l->size += s->length;
}

static bool layout_full(const struct layout *l, u32 more)
{
	return l->members + more > PROT_MEMBERS_MAX || l->refs + more > PROT_PLACES_MAX ||
	       l->segments >= PROT_SEGMENTS_MAX;
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
		return most_each(c, q) * data_columns(&q->shape);
	for (i = 0; i < c->n; i++)
		if (c->d[i].wanted && c->d[i].longest >= 2 * LABEL_AREA)
			sum += (c->d[i].longest - LAYOUT_DATA) / MIB * MIB;
	return sum;
}

static int plan_striped(struct req *r, struct layout *l, const struct choice *c,
			const struct segment_req *q)
{
	u32 pick[LAYOUT_COLUMNS_MAX], got, i, first = l->members, n = layout_members(&q->shape);
	u64 each = (q->bytes + data_columns(&q->shape) - 1) / data_columns(&q->shape), bytes;

	each = (each + MIB - 1) / MIB * MIB;
	bytes = extent_bytes(q, each);
	if (layout_full(l, n))
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
		if (layout_full(l, 1))
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

static int note_intents(const struct store_volume *v, const struct layout *l, u32 first)
{
	u32 n = l->members - first, i;
	struct store_intent *in __free(free) = calloc(n, sizeof(*in));

	if (!in)
		return -ENOMEM;
	for (i = 0; i < n; i++) {
		const struct layout_member *m = &l->member[first + i];

		in[i] = (struct store_intent) {
			.volume = l->volume, .host = m->target, .drive = m->drive,
			.extent = m->extent, .length = m->size,
		};
		memcpy(in[i].name, l->name, sizeof(in[i].name));
	}
	return v->state == STORE_CREATING ? store_volume_begin(v, l, in, n) : store_intents_add(in, n);
}

/*
 * The extent may be recorded by now: a change that this host forgot, in a state folder
 * that was restored. The label knows, and then it is a volume's and no intent any more.
 */
int intent_undo(const struct store_intent *i, char *why)
{
	struct mgmt_req q = { .op = MGMT_FREE, .drive = i->drive, .extent = i->extent,
			      .volume = i->volume };
	struct store_host h;
	json_t *data;
	int err = store_host_by_uuid(&i->host, &h);

	/* A host that was removed takes its extents with it: they are orphans. */
	if (err == -ENOENT) {
		log_warn("an extent of %s was never used and stays: its host was removed; see meshctl drive "
			 "extents when that is back", i->name);
		return store_intent_del(&i->extent);
	}
	if (err) {
		snprintf(why, REASON, "%s", store_words(err));
		return err;
	}
	err = peer_call(&h, &q, &data, why);
	json_decref(data);
	if (err == -ESTALE || err == -EBUSY || err == -EPERM) {
		log_warn("an extent of %s that the store has as never used was recorded: it stays (%s); see "
			 "meshctl drive extents", i->name, why);
		store_intent_del(&i->extent);
		return -ESTALE;
	}
	return err ? err : store_intent_del(&i->extent);
}

struct undo {
	const struct store_intent *in;
	struct outcome *o;
};

static void undo_one(void *arg, size_t i)
{
	struct undo *u = arg;

	u->o[i].err = intent_undo(&u->in[i], u->o[i].why);
}

/* Those of one volume, moved to the front. */
static size_t intents_of(struct store_intent *in, size_t n, const struct muuid *volume)
{
	size_t i, k = 0;

	for (i = 0; i < n; i++)
		if (muuid_equal(&in[i].volume, volume))
			in[k++] = in[i];
	return k;
}

/* The store is older than the volume: it was recorded, so what counts is on its drives. */
static int found_made(struct store_volume *v, struct layout *l, const struct gather *g)
{
	struct truth_pick p = truth_pick(&g->truth);
	char device[48];

	log_warn("volume %s was made after this host's store was saved: it is kept", v->name);
	kernel_device(&v->uuid, device, sizeof(device));
	v->state = STORE_LIVE;
	v->attached = device[0];
	v->recorded = 0;
	if (p.layout)
		memcpy(l, p.layout, sizeof(*l));
	v->version = l->version;
	return store_volume_commit(v, l);
}

/* Whether a record names any of @in, or one that cannot be read may do so. */
static int named(struct store_volume *v, const struct gather *g, const struct store_intent *in, size_t n,
		 char *why)
{
	const struct found *f = gather_unread(g);
	size_t i;

	if (f) {
		snprintf(why, REASON, "its layout record on drive %s of host %s cannot be read now; see "
			 "meshctl drive health", muuid_str(&f->e.drive).s, g->hosts[f->host].name);
		return -EAGAIN;
	}
	for (i = 0; i < n; i++) {
		if (!truth_half_made(&g->truth, &in[i].extent))
			continue;
		snprintf(why, REASON, "a change of it is half made; attach it, and it is completed or undone");
		v->recorded = 0;
		store_volume_flags(v);
		return -EAGAIN;
	}
	return 0;
}

/*
 * Whether the extents of @in were never used, as far as all of the volume's drives say:
 * a record on an old member may name a new one whose own label does not say so yet.
 * A drive may have moved, and a host have another UUID, since the intent was noted.
 */
static int never_used(struct store_volume *v, struct layout *l, struct store_intent *in, size_t n,
		      char *why)
{
	struct gather g;
	int err = gather(&g, &v->uuid, false);
	size_t i;

	if (err)
		return err;
	for (i = 0; i < n && !err; i++)
		err = gather_home(&g, &in[i].extent, &in[i].drive, &in[i].host, why);
	if (!err && v->state == STORE_CREATING && g.nr_records) {
		err = found_made(v, l, &g);
		gather_free(&g);
		return err ? err : -ESTALE;
	}
	if (!err && v->state == STORE_LIVE && gather_missing(&g, l, why) < l->members)
		err = -EAGAIN;
	/* The members of what is deleted are free by now: no record of it makes it a volume. */
	if (!err && v->state != STORE_DELETING)
		err = named(v, &g, in, n, why);
	gather_free(&g);
	return err;
}

static int undo_all(const struct store_intent *in, size_t n, char *why)
{
	struct outcome *o __free(free) = calloc(n + 1, sizeof(*o));
	size_t i;

	if (!o)
		return -ENOMEM;
	peers_each(n, undo_one, &(struct undo) { in, o });
	for (i = 0; i < n; i++) {
		if (!o[i].err || o[i].err == -ESTALE)
			continue;
		snprintf(why, REASON, "%s", o[i].why);
		return o[i].err;
	}
	return 0;
}

int intents_undo(const struct muuid *volume, char *why)
{
	struct layout *l __free(free) = malloc(sizeof(*l));
	struct store_intent *in __free(free) = NULL;
	struct store_volume v = { 0 };
	size_t n;
	int err = store_intents(&in, &n);

	snprintf(why, REASON, "%s", store_words(err ? err : -ENOMEM));
	n = intents_of(in, n, volume);
	if (!err)
		err = l ? store_volume_get(volume, &v, l) : -ENOMEM;
	if (!err && n)
		err = never_used(&v, l, in, n, why);
	if (!err)
		err = undo_all(in, n, why);
	if (!err && v.state == STORE_CREATING)
		err = store_volume_erase(volume);
	/* Made after all: there is nothing to undo. */
	return err == -ESTALE ? 0 : err;
}

static int allocate(struct req *r, const struct layout *l, u32 first, const int *steps)
{
	struct store_host *h __free(free) = NULL;
	struct put *p __free(free) = NULL;
	u32 n = l->members - first, i;
	size_t nr_hosts, k;
	char why[REASON];
	int err = store_hosts(&h, &nr_hosts);

	if (err)
		return req_fail(r, "%s", store_words(err));
	p = calloc(n, sizeof(*p));
	if (!p)
		return req_fail(r, "no memory");
	for (i = 0; i < n; i++) {
		const struct layout_member *m = &l->member[first + i];

		for (k = 0; k < nr_hosts && !muuid_equal(&h[k].uuid, &m->target); k++)
			;
		if (k == nr_hosts)
			return req_fail(r, "a host was removed meanwhile; try again");
		p[i].h = &h[k];
		p[i].q = (struct mgmt_req) {
			.op = MGMT_ALLOC, .drive = m->drive, .extent = m->extent,
			.volume = l->volume, .length = m->size,
		};
		memcpy(p[i].q.name, l->name, sizeof(p[i].q.name));
	}
	puts_run(p, 1);
	crash_point(p[0].err ? CRASH_NONE : steps[1]);
	if (!p[0].err && n > 1)
		puts_run(p + 1, n - 1);
	if (puts_result(p, n, why))
		return req_fail(r, "an extent cannot be had: %s", why);
	crash_point(steps[2]);
	return 0;
}

struct zeroed {
	struct mgmt_extent e;
	struct outcome o;
};

struct zeroing {
	const struct layout *l;
	u32 first;
	struct zeroed *d;
};

static void query_zeroed(void *arg, size_t i)
{
	struct zeroing *z = arg;
	const struct layout_member *m = &z->l->member[z->first + i];
	struct zeroed *d = &z->d[i];
	struct store_host h;

	if (peer_of_member(m, &h)) {
		snprintf(d->o.why, REASON, "its host was removed");
		d->o.err = -EHOSTUNREACH;
		return;
	}
	d->o.err = peer_extent(&h, &m->extent, &d->e, d->o.why);
	if (!d->o.err && d->e.error) {
		d->o.err = d->e.error;
		snprintf(d->o.why, REASON, "host %s cannot zero an extent: %s", h.name,
			 strerror(-d->e.error));
	}
}

/* One round over the new extents: bytes zeroed so far. */
static int zeroed_so_far(const struct layout *l, u32 first, u64 *done, bool *all, char *why)
{
	u32 n = l->members - first, i;
	struct zeroed *d __free(free) = calloc(n, sizeof(*d));
	int err = d ? 0 : -ENOMEM;

	*done = 0;
	*all = true;
	if (d)
		peers_each(n, query_zeroed, &(struct zeroing) { l, first, d });
	for (i = 0; i < n && !err; i++) {
		err = d[i].o.err;
		if (err)
			snprintf(why, REASON, "%s", d[i].o.why);
		*done += d[i].e.zeroed;
		*all = *all && d[i].e.ready;
	}
	return err;
}

/* The client waits no more, or `volume delete` of what is being made. */
static bool cancelled(const struct req *r, const struct layout *l)
{
	return req_cancelled(r) || busy_cancelled(&l->volume);
}

static int wait_zeroed(struct req *r, const struct layout *l, u32 first)
{
	u64 total = 0, done;
	char why[REASON] = "";
	unsigned int pause = 20;
	bool all = false;
	u32 i;

	for (i = first; i < l->members; i++)
		total += l->member[i].size;
	while (!all) {
		if (stopping())
			return req_fail(r, "meshd is being stopped; the volume is not made");
		if (cancelled(r, l))
			return req_fail(r, "cancelled");
		if (zeroed_so_far(l, first, &done, &all, why))
			return req_fail(r, "zeroing stopped: %s", why[0] ? why : "its host is gone");
		req_progress(r, "zeroing", done, total);
		if (!all)
			sleep_ms(pause);
		pause = pause < 500 ? pause * 2 : 500;
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

int extents_get(struct req *r, struct store_volume *v, struct layout *l,
		const struct segment_req *wanted, const int *steps)
{
	struct segment_req q = *wanted;
	u32 first = l->members;
	char why[REASON];
	struct choice c;
	int err = choice_get(r, &c, &q);

	if (!err)
		err = check_room(r, &q, most_bytes(&c, &q));
	if (!err)
		err = q.shape.level == PROT_LINEAR ? plan_linear(r, l, &c, &q) : plan_striped(r, l, &c, &q);
	choice_free(&c);
	if (err)
		return err;
	err = note_intents(v, l, first);
	if (err == -EEXIST)
		return req_fail(r, "there is a volume %s already; choose another name", l->name);
	if (err)
		return req_fail(r, "the store cannot be written: %s", strerror(-err));
	crash_point(steps[0]);
	err = allocate(r, l, first, steps);
	if (!err)
		err = wait_zeroed(r, l, first);
	if (err) {
		if (intents_undo(&l->volume, why))
			log_warn("an extent of %s stays allocated for now: %s", l->name, why);
		return err;
	}
	crash_point(steps[3]);
	return 0;
}
