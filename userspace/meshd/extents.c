// SPDX-License-Identifier: GPL-2.0-only
/* Where a new segment's extents come from, until they read zero. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/format/label.h"
#include "userspace/format/place.h"
#include "userspace/format/size.h"
#include "userspace/meshd/crash.h"
#include "userspace/meshd/volume.h"

#define MIB	(1ULL << 20)

struct choice {
	struct store_host *hosts;
	size_t nr_hosts;
	struct place_drive *d;		/* candidates ... */
	struct mgmt_drive *info;	/* ... what they are ... */
	u32	*host;			/* ... and whose: index into hosts */
	size_t	n;
	size_t	misfit;			/* drives left out for their block size */
	bool	*found;			/* by index into the wish's names */
};

static void choice_free(struct choice *c)
{
	free(c->hosts);
	free(c->d);
	free(c->info);
	free(c->host);
	free(c->found);
}

/* A drive is named by UUID, a start of it, device, or HOST:DEVICE. */
static bool called(const char *want, const struct store_host *h, const struct mgmt_drive *m)
{
	char uuid[MUUID_TEXT], host_path[200], host_base[200];
	const char *base = strrchr(m->path, '/');

	base = base ? base + 1 : m->path;
	muuid_text(&m->uuid, uuid);
	snprintf(host_path, sizeof(host_path), "%s:%s", h->name, m->path);
	snprintf(host_base, sizeof(host_base), "%s:%s", h->name, base);
	return !strcmp(want, m->path) || !strcmp(want, base) || !strcmp(want, host_path) ||
	       !strcmp(want, host_base) ||
	       (strlen(want) >= 4 && !strncasecmp(uuid, want, strlen(want)));
}

/* Is it one of those that are wished for? Notes which names are somebody's. */
static bool wanted(struct choice *c, const struct wish *w, const struct store_host *h,
		   const struct mgmt_drive *m)
{
	bool any = !w->drives;
	const char *want;
	size_t i;
	json_t *n;

	json_array_foreach((json_t *)w->drives, i, n) {
		want = json_string_value(n);
		if (want && called(want, h, m))
			c->found[i] = any = true;
	}
	return any;
}

/* A name that is no lent drive's is a slip, not a drive without room. */
static int all_found(struct req *r, const struct choice *c, const struct wish *w)
{
	const char *want;
	size_t i;
	json_t *n;

	json_array_foreach((json_t *)w->drives, i, n) {
		want = json_string_value(n);
		if (!c->found[i])
			return req_fail(r, "no lent drive is called %.100s; see meshctl drive list",
					want ? want : "that");
	}
	return 0;
}

static int choice_add(struct choice *c, u32 host, const json_t *j, const struct wish *w)
{
	void *d = realloc(c->d, (c->n + 1) * sizeof(*c->d));
	void *info = realloc(c->info, (c->n + 1) * sizeof(*c->info));
	void *hosts = realloc(c->host, (c->n + 1) * sizeof(*c->host));
	struct mgmt_drive *m;
	bool take;

	c->d = d ? d : c->d;
	c->info = info ? info : c->info;
	c->host = hosts ? hosts : c->host;
	if (!d || !info || !hosts)
		return -ENOMEM;
	m = &c->info[c->n];
	if (mgmt_drive_unpack(j, m))
		return 0;
	take = wanted(c, w, &c->hosts[host], m);
	if (strcmp(m->state, "up"))
		return 0;
	if (w->lba_max && m->lba > w->lba_max) {
		c->misfit++;
		return 0;
	}
	c->host[c->n] = host;
	c->d[c->n] = (struct place_drive) {
		.host = c->hosts[host].uuid, .drive = m->uuid, .free = m->free,
		.longest = m->longest, .lba = m->lba,
		.wanted = take,
	};
	c->n++;
	return 0;
}

static int choice_get(struct req *r, struct choice *c, const struct wish *w)
{
	struct mgmt_req q = { .op = MGMT_DRIVES };
	char why[REASON];
	json_t *data, *j;
	size_t i, k;

	memset(c, 0, sizeof(*c));
	c->found = calloc(json_array_size(w->drives) + 1, sizeof(*c->found));
	if (!c->found)
		return req_fail(r, "no memory");
	store_hosts(&c->hosts, &c->nr_hosts);
	for (i = 0; i < c->nr_hosts; i++) {
		if (peer_call(&c->hosts[i], &q, &data, why)) {
			req_note(r, "%s; its drives are left out", why);
			continue;
		}
		json_array_foreach(json_object_get(data, "drives"), k, j)
			choice_add(c, i, j, w);
		json_decref(data);
	}
	if (!c->nr_hosts)
		return req_fail(r, "no host is known; add those that lend drives with meshctl host add ADDRESS");
	if (!c->n && c->misfit)
		return req_fail(r, "the drives that are lent have blocks of 4096 bytes, the volume has %u; "
				"lend others", w->lba_max);
	if (!c->n)
		return req_fail(r, "no host lends a drive; lend some with meshctl drive lend, then see "
				"meshctl drive list");
	return all_found(r, c, w);
}

static int too_few(struct req *r, const struct choice *c, const struct wish *w, u32 got, u64 bytes)
{
	char text[SIZE_TEXT], misfit[80] = "";

	size_text(bytes, text);
	if (c->misfit)
		snprintf(misfit, sizeof(misfit), "; %zu more have blocks of 4096 bytes, the volume %u",
			 c->misfit, w->lba_max);
	if (w->drives && json_array_size(w->drives) < w->columns)
		return req_fail(r, "--drives names %zu, and %u are wanted; name more, or leave out "
				"--drives", json_array_size(w->drives), w->columns);
	if (w->by_host)
		return req_fail(r, "only %u of %u hosts have a drive with %s free in one run; take fewer "
				"members, a smaller size or --domain drive", got, w->columns, text);
	return req_fail(r, "only %u of %u drives have %s free in one run (%zu are lent%s%s); take %sa "
			"smaller size, see meshctl drive list", got, w->columns, text, c->n,
			w->drives ? ", --drives names some" : "", misfit,
			got ? "fewer members or " : "");
}

static u32 add_member(struct layout *l, const struct choice *c, u32 drive, u64 bytes)
{
	const struct store_host *h = &c->hosts[c->host[drive]];
	struct layout_member *m = &l->member[l->members];

	memset(m, 0, sizeof(*m));
	m->target = h->uuid;
	m->drive = c->info[drive].uuid;
	uuid_random(&m->extent);
	m->size = bytes;
	m->port = h->port;
	memcpy(m->addr, h->addr, sizeof(m->addr));
	return l->members++;
}

static void add_segment(struct layout *l, const struct wish *w, u32 first_member, u32 members,
			u64 bytes)
{
	struct layout_segment *s = &l->segment[l->segments++];
	u32 i;

	*s = (struct layout_segment) {
		.start = l->size, .length = bytes, .level = w->level, .data = members,
		.groups = 1, .strip = w->strip, .first_ref = l->refs, .refs = members,
	};
	for (i = 0; i < members; i++)
		l->ref[l->refs++] = (struct layout_ref) { first_member + i, LAYOUT_DATA };
	l->size += bytes;
}

static bool layout_full(const struct layout *l, u32 more)
{
	return l->members + more > LAYOUT_MEMBERS_MAX || l->refs + more > LAYOUT_REFS_MAX ||
	       l->segments >= LAYOUT_SEGMENTS_MAX;
}

static int plan_stripe(struct req *r, struct layout *l, const struct choice *c,
		       const struct wish *w)
{
	u64 each = (w->bytes + w->columns - 1) / w->columns;
	u32 pick[256], got, i, first = l->members;

	each = (each + MIB - 1) / MIB * MIB;
	if (layout_full(l, w->columns))
		return req_fail(r, "the volume has too many pieces; copy it to a new one");
	got = place_stripe(c->d, c->n, each + LAYOUT_DATA, w->columns,
			   w->by_host ? PLACE_HOST : PLACE_DRIVE, pick);
	if (got < w->columns)
		return too_few(r, c, w, got, each + LAYOUT_DATA);
	for (i = 0; i < got; i++) {
		add_member(l, c, pick[i], each + LAYOUT_DATA);
		if (c->d[pick[i]].lba > l->lba)
			l->lba = c->d[pick[i]].lba;
	}
	add_segment(l, w, first, got, each * got);
	return 0;
}

/* One extent if a drive holds it, else several, the longest runs first. */
static int plan_linear(struct req *r, struct layout *l, struct choice *c, const struct wish *w)
{
	u64 left = (w->bytes + MIB - 1) / MIB * MIB, take;
	char text[SIZE_TEXT];
	int d;

	while (left) {
		d = place_one(c->d, c->n, left + LAYOUT_DATA);
		if (d < 0)
			d = place_one(c->d, c->n, 2 * LABEL_AREA);
		if (d < 0) {
			size_text(left, text);
			return req_fail(r, "%s more than the lent drives have free; lend more, or take a "
					"smaller size (meshctl drive list)", text);
		}
		if (layout_full(l, 1))
			return req_fail(r, "the volume has too many pieces; copy it to a new one");
		take = c->d[d].longest - LAYOUT_DATA;
		take = take < left ? take : left;
		add_segment(l, w, add_member(l, c, d, take + LAYOUT_DATA), 1, take);
		if (c->d[d].lba > l->lba)
			l->lba = c->d[d].lba;
		/* What is left of that run may serve again, another run of it may not. */
		c->d[d].free -= take + LAYOUT_DATA;
		c->d[d].longest = 0;
		left -= take;
	}
	return 0;
}

static int note_intents(const struct layout *l, u32 first)
{
	u32 n = l->members - first, i;
	struct store_intent *in = calloc(n, sizeof(*in));
	int err;

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
	err = store_intents_add(in, n);
	free(in);
	return err;
}

int intent_undo(const struct store_intent *i, char *why)
{
	struct store_host h;
	int err = store_host_by_uuid(&i->host, &h);

	/* A host that was removed takes its extents with it: they are orphans. */
	if (!err)
		err = peer_free(&h, &i->drive, &i->extent, &i->volume, why);
	else
		err = 0;
	return err ? err : store_intent_del(&i->extent);
}

static void take_back(const struct layout *l)
{
	struct store_intent *in;
	char why[REASON];
	size_t i, n;

	store_intents(&in, &n);
	for (i = 0; i < n; i++)
		if (muuid_equal(&in[i].volume, &l->volume) && intent_undo(&in[i], why))
			log_warn("an extent stays allocated for now: %s", why);
	free(in);
}

static int allocate(struct req *r, const struct layout *l, u32 first, const int *steps)
{
	struct store_host h;
	char why[REASON];
	json_t *data;
	u32 i;

	for (i = first; i < l->members; i++) {
		const struct layout_member *m = &l->member[i];
		struct mgmt_req q = {
			.op = MGMT_ALLOC, .drive = m->drive, .extent = m->extent,
			.volume = l->volume, .length = m->size,
		};

		memcpy(q.name, l->name, sizeof(q.name));
		if (peer_of_member(m, &h))
			return req_fail(r, "a host has gone meanwhile; try again");
		if (peer_call(&h, &q, &data, why))
			return req_fail(r, "an extent cannot be had: %s", why);
		json_decref(data);
		if (i == first)
			crash_point(steps[1]);
	}
	crash_point(steps[2]);
	return 0;
}

/* One round over the new extents: bytes zeroed so far. */
static int zeroed_so_far(const struct layout *l, u32 first, u64 *done, bool *all, char *why)
{
	struct mgmt_extent e;
	struct store_host h;
	int err;
	u32 i;

	*done = 0;
	*all = true;
	for (i = first; i < l->members; i++) {
		if (peer_of_member(&l->member[i], &h))
			return -EHOSTUNREACH;
		err = peer_extent(&h, &l->member[i].extent, &e, why);
		if (err)
			return err;
		if (e.error) {
			snprintf(why, REASON, "host %s cannot zero an extent: %s", h.name,
				 strerror(-e.error));
			return e.error;
		}
		*done += e.zeroed;
		*all = *all && e.ready;
	}
	return 0;
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
		if (zeroed_so_far(l, first, &done, &all, why))
			return req_fail(r, "zeroing stopped: %s", why[0] ? why : "its host is gone");
		req_progress(r, "zeroing", done, total);
		if (!all)
			sleep_ms(pause);
		pause = pause < 500 ? pause * 2 : 500;
	}
	return 0;
}

int extents_get(struct req *r, struct layout *l, const struct wish *w, const int *steps)
{
	u32 first = l->members;
	struct choice c;
	int err = choice_get(r, &c, w);

	if (!err)
		err = w->level == LAYOUT_LINEAR ? plan_linear(r, l, &c, w) : plan_stripe(r, l, &c, w);
	choice_free(&c);
	if (err)
		return err;
	err = note_intents(l, first);
	if (err)
		return req_fail(r, "the store cannot be written: %s", strerror(-err));
	crash_point(steps[0]);
	err = allocate(r, l, first, steps);
	if (!err)
		err = wait_zeroed(r, l, first);
	if (err) {
		take_back(l);
		return err;
	}
	crash_point(steps[3]);
	return 0;
}
