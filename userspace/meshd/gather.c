// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/meshd/crash.h"
#include "userspace/meshd/gather.h"

#define RECORDS_MAX	64	/* different ones of one volume; more is an attack */

static void query_records(void *arg, size_t i)
{
	struct gather *g = arg;
	struct gather_host *s = &g->said[i];
	struct mgmt_req q = { .op = MGMT_RECORDS, .volume = g->volume }, hello = { .op = MGMT_HELLO };
	struct mgmt_hello h;
	json_t *data;

	s->err = peer_call(&g->hosts[i], &q, &s->data, s->why);
	if (s->err || !g->greet)
		return;
	s->err = peer_call(&g->hosts[i], &hello, &data, s->why);
	if (!s->err && !mgmt_hello_unpack(data, &h))
		s->grace_ms = h.grace_ms;
	json_decref(data);
}

struct query_part {
	struct query *a;
	const struct mgmt_req *q;
};

static void query_one(void *arg, size_t i)
{
	struct query_part *p = arg;
	struct gather_host *s = &p->a->said[i];

	s->err = peer_call(&p->a->hosts[i], p->q, &s->data, s->why);
}

int query_hosts(struct query *a, const struct mgmt_req *q)
{
	int err;

	*a = (struct query) { 0 };
	err = store_hosts(&a->hosts, &a->n);
	a->said = err ? NULL : calloc(a->n + 1, sizeof(*a->said));
	if (!a->said)
		return err ? err : -ENOMEM;
	peers_each(a->n, query_one, &(struct query_part) { a, q });
	return 0;
}

json_t *query_failed(const struct query *a)
{
	json_t *list = json_array();
	size_t i;

	for (i = 0; a->said && i < a->n; i++)
		if (a->said[i].err)
			json_array_append_new(list, json_string(a->said[i].why));
	return list;
}

void query_free(struct query *a)
{
	size_t i;

	for (i = 0; a->said && i < a->n; i++)
		json_decref(a->said[i].data);
	free(a->said);
	free(a->hosts);
}

int shown_add(struct shown *s, const struct muuid *drive, const struct store_host *hosts, u32 at,
	      const struct muuid *owner)
{
	bool fresh;
	u32 *i = umap_put(&s->map, drive, &fresh);
	const struct muuid *host = &hosts[at].uuid;
	struct twin_hosts *t;

	if (i && fresh)
		*i = s->n;
	if (!i || (fresh && !mesh_grow((void **)&s->t, &s->n, sizeof(*s->t))))
		return -ENOMEM;
	t = &s->t[*i];
	/* Known at two addresses, but one host. */
	if (!muuid_null(host) && ((t->hosts && muuid_equal(host, &hosts[t->host].uuid)) ||
				  (t->hosts > 1 && muuid_equal(host, &hosts[t->other].uuid))))
		return 0;
	twin_hosts_add(t, at, muuid_equal(owner, host));
	return 0;
}

const struct twin_hosts *shown_find(const struct shown *s, const struct muuid *drive)
{
	const u32 *i = umap_get(&s->map, drive);

	return i ? &s->t[*i] : NULL;
}

bool shown_twice(const struct shown *s, const struct muuid *drive, const struct store_host *hosts,
		 char *why)
{
	const struct twin_hosts *t = shown_find(s, drive);

	if (!t || !twin_hosts_doubt(t))
		return false;
	snprintf(why, REASON, "drive %s is exported by host %.40s and by host %.40s, so one has a copy; "
		 "there meshctl drive unexport --force (--preempt if extents are open)",
		 muuid_str(drive).s, hosts[t->host].name, hosts[t->other].name);
	return true;
}

void shown_free(struct shown *s)
{
	umap_free(&s->map);
	free(s->t);
}

static int add_extent(struct gather *g, u32 host, const struct mgmt_extent *e)
{
	const struct twin_hosts *t = shown_find(&g->shown, &e->drive);
	struct found *f;

	if (!muuid_equal(&e->volume, &g->volume) ||
	    (t && (twin_hosts_doubt(t) || t->host != host)))
		return 0;
	f = mesh_grow((void **)&g->found, &g->nr_found, sizeof(*f));
	if (!f)
		return -ENOMEM;
	f->e = *e;
	f->host = host;
	return 0;
}

/* @l is taken over. */
static int keep_record(struct gather *g, struct layout *l)
{
	struct layout **at = NULL;
	bool skip;
	size_t i;

	for (i = 0; i < g->nr_records; i++)
		if (g->record[i]->version == l->version && g->record[i]->commit == l->commit)
			break;
	skip = i < g->nr_records || i == RECORDS_MAX;
	if (!skip)
		at = mesh_grow((void **)&g->record, &g->nr_records, sizeof(*at));
	if (at)
		*at = l;
	else
		free(l);
	return at || skip ? 0 : -ENOMEM;
}

static int add_record(struct gather *g, const json_t *text)
{
	struct layout *l = malloc(sizeof(*l));
	int err = l ? mgmt_record_unpack(text, l) : -ENOMEM;

	if (!err && muuid_equal(&l->volume, &g->volume))
		return keep_record(g, l);
	free(l);
	return err == -ENOMEM ? err : 0;
}

int gather_know(struct gather *g, const struct layout *l)
{
	struct layout *copy = malloc(sizeof(*copy));
	int err = -ENOMEM;

	if (copy) {
		memcpy(copy, l, sizeof(*copy));
		err = keep_record(g, copy);
	}
	g->truth.record = (const struct layout *const *)g->record;
	g->truth.records = g->nr_records;
	return err;
}

static int read_owners(struct gather *g, u32 i)
{
	struct muuid drive, owner;
	const char *key;
	json_t *j;
	int err = 0;

	json_object_foreach(json_object_get(g->said[i].data, "owners"), key, j) {
		if (err || !json_is_string(j) || muuid_parse(key, &drive) ||
		    muuid_parse(json_string_value(j), &owner))
			continue;
		err = shown_add(&g->shown, &drive, g->hosts, i, &owner);
	}
	return err;
}

static int read_answer(struct gather *g, u32 i)
{
	const json_t *data = g->said[i].data, *j;
	struct mgmt_extent e;
	size_t k;
	int err = 0;

	json_array_foreach(json_object_get(data, "extents"), k, j) {
		if (!err && !mgmt_extent_unpack(j, &e))
			err = add_extent(g, i, &e);
	}
	json_array_foreach(json_object_get(data, "records"), k, j) {
		if (!err)
			err = add_record(g, j);
	}
	return err;
}

static int truth_make(struct gather *g)
{
	size_t i;

	g->label = calloc(g->nr_found + 1, sizeof(*g->label));
	if (!g->label)
		return -ENOMEM;
	for (i = 0; i < g->nr_found; i++) {
		const struct mgmt_extent *e = &g->found[i].e;

		g->label[i] = (struct truth_label) {
			.extent = e->uuid, .holder = e->holder, .version = e->version,
			.commit = e->commit, .ready = e->ready,
		};
	}
	g->truth = (struct truth) {
		.label = g->label, .labels = g->nr_found,
		.record = (const struct layout *const *)g->record, .records = g->nr_records,
	};
	return 0;
}

int gather(struct gather *g, const struct muuid *volume, bool greet)
{
	int err;
	size_t i;

	*g = (struct gather) { .volume = *volume, .greet = greet };
	err = store_hosts(&g->hosts, &g->nr_hosts);
	g->said = calloc(g->nr_hosts + 1, sizeof(*g->said));
	if (!g->said)
		err = -ENOMEM;
	if (!err)
		peers_each(g->nr_hosts, query_records, g);
	for (i = 0; i < g->nr_hosts && !err; i++) {
		if (!g->said[i].err)
			err = read_owners(g, i);
	}
	for (i = 0; i < g->nr_hosts && !err; i++) {
		if (!g->said[i].err)
			err = read_answer(g, i);
	}
	if (!err)
		err = truth_make(g);
	if (err)
		gather_free(g);
	return err;
}

void gather_free(struct gather *g)
{
	size_t i;

	for (i = 0; g->said && i < g->nr_hosts; i++)
		json_decref(g->said[i].data);
	for (i = 0; i < g->nr_records; i++)
		free(g->record[i]);
	free(g->record);
	shown_free(&g->shown);
	free(g->label);
	free(g->found);
	free(g->said);
	free(g->hosts);
	memset(g, 0, sizeof(*g));
}

const struct found *gather_find(const struct gather *g, const struct muuid *extent)
{
	size_t i;

	for (i = 0; i < g->nr_found; i++)
		if (muuid_equal(&g->found[i].e.uuid, extent))
			return &g->found[i];
	return NULL;
}

int gather_home(const struct gather *g, const struct muuid *extent, const struct muuid *drive,
		struct muuid *host, char *why)
{
	const struct found *f = gather_find(g, extent);

	if (f)
		*host = g->hosts[f->host].uuid;
	return shown_twice(&g->shown, drive, g->hosts, why) ? -ENOTUNIQ : 0;
}

const struct store_host *gather_host(const struct gather *g, const struct muuid *uuid)
{
	size_t i;

	for (i = 0; i < g->nr_hosts; i++)
		if (muuid_equal(&g->hosts[i].uuid, uuid))
			return &g->hosts[i];
	return NULL;
}

const struct found *gather_unread(const struct gather *g)
{
	size_t i;

	for (i = 0; i < g->nr_found; i++)
		if (g->found[i].e.unread)
			return &g->found[i];
	return NULL;
}

void host_words(const struct muuid *uuid, char out[HOST_WORDS])
{
	struct store_host h;

	if (muuid_equal(uuid, &D.host))
		snprintf(out, HOST_WORDS, "this host");
	else if (!store_host_by_uuid(uuid, &h))
		snprintf(out, HOST_WORDS, "host %s", h.name);
	else
		snprintf(out, HOST_WORDS, "host %s", muuid_str(uuid).s);
}

bool gather_held(const struct gather *g, const struct layout *l, char who[HOST_WORDS])
{
	int at = truth_held(&g->truth, l, &D.host);

	if (at >= 0)
		host_words(&truth_find(&g->truth, &l->member[at].extent)->holder, who);
	return at >= 0;
}

/* Its drive is exported all right. */
static bool there(const struct gather *g, const struct layout_member *m, const char *drive, char *why)
{
	const struct twin_hosts *t = shown_find(&g->shown, &m->drive);
	const struct found *f = gather_find(g, &m->extent);

	if (!f && t)
		snprintf(why, REASON, "drive %s of host %s has no such extent any more", drive,
			 g->hosts[t->host].name);
	else if (f && !f->e.ready)
		snprintf(why, REASON, "drive %s of host %s is still being zeroed for it", drive,
			 g->hosts[f->host].name);
	else if (f)
		snprintf(why, REASON, "drive %s of host %s is exported, but the layout record on it cannot be "
			 "read; see meshctl drive health", drive, g->hosts[f->host].name);
	return f || t;
}

void gather_away(const struct gather *g, const struct layout_member *m, char *why)
{
	const struct store_host *h = gather_host(g, &m->target);
	char drive[MUUID_TEXT], where[HOST_WORDS];
	size_t i;

	if (shown_twice(&g->shown, &m->drive, g->hosts, why))
		return;
	muuid_text(&m->drive, drive);
	if (there(g, m, drive, why))
		return;
	if (h && g->said[h - g->hosts].err) {
		snprintf(why, REASON, "%s", g->said[h - g->hosts].why);
		return;
	}
	/* The drive may be on any host that is silent. */
	for (i = 0; i < g->nr_hosts; i++) {
		if (!g->said[i].err)
			continue;
		snprintf(why, REASON, "drive %s is on no host that answers; %.180s", drive,
			 g->said[i].why);
		return;
	}
	host_words(&m->target, where);
	snprintf(why, REASON, "drive %s, last on %.70s, is not exported by any known host; bring it back, or "
		 "meshctl host add the host that has it", drive, where);
}

u32 gather_missing(const struct gather *g, const struct layout *l, char *why)
{
	u32 i;

	for (i = 0; i < l->members && gather_find(g, &l->member[i].extent); i++)
		;
	if (i < l->members)
		gather_away(g, &l->member[i], why);
	return i;
}

int gather_unique(const struct gather *g, const struct layout *l, char *why)
{
	u32 i;

	for (i = 0; i < l->members; i++)
		if (shown_twice(&g->shown, &l->member[i].drive, g->hosts, why))
			return -ENOTUNIQ;
	return 0;
}

u32 gather_grace(const struct gather *g, const struct layout *l, const struct store_host **h)
{
	const struct found *f;
	u32 i, most = 0;

	for (i = 0; i < l->members; i++) {
		f = gather_find(g, &l->member[i].extent);
		if (!f || g->said[f->host].grace_ms <= most)
			continue;
		/* Grace is for a noted holder alone. */
		if (muuid_null(&f->e.holder) || muuid_equal(&f->e.holder, &D.host))
			continue;
		most = g->said[f->host].grace_ms;
		*h = &g->hosts[f->host];
	}
	return most;
}

struct puts {
	struct put *p;
	size_t n;
	const struct store_host **host;
};

static void put_host(void *arg, size_t at)
{
	struct puts *s = arg;
	json_t *data;
	size_t i;

	for (i = 0; i < s->n; i++) {
		struct put *p = &s->p[i];

		if (p->h != s->host[at])
			continue;
		p->err = peer_call(p->h, &p->q, &data, p->why);
		json_decref(data);
		if (!i && !p->err && p->q.op == MGMT_RECORD_PUT)
			crash_point(CRASH_RECORD_FIRST);
		/* Silent once: it is not waited for again and again. */
		if (p->err == -EREMOTEIO || p->err == -EHOSTUNREACH || p->err == -EHOSTDOWN) {
			for (size_t k = i + 1; k < s->n; k++) {
				if (s->p[k].h != p->h)
					continue;
				s->p[k].err = p->err;
				memcpy(s->p[k].why, p->why, REASON);
			}
			break;
		}
	}
}

struct put put_to(const struct gather *g, const struct found *f, enum mgmt_op op,
		  const struct layout *record)
{
	return (struct put) {
		.h = &g->hosts[f->host],
		.q = { .op = op, .drive = f->e.drive, .extent = f->e.uuid, .volume = g->volume,
		       .record = record, .believed = { f->e.holder, f->e.version, f->e.commit } },
	};
}

void puts_run(struct put *p, size_t n)
{
	struct puts s = { .p = p, .n = n, .host = calloc(n + 1, sizeof(*s.host)) };
	size_t i, k, hosts = 0;

	for (i = 0; i < n; i++) {
		p[i].err = s.host ? 0 : -ENOMEM;
		p[i].why[0] = 0;
		for (k = 0; s.host && k < hosts && s.host[k] != p[i].h; k++)
			;
		if (s.host && k == hosts)
			s.host[hosts++] = p[i].h;
	}
	if (s.host)
		peers_each(hosts, put_host, &s);
	free(s.host);
}

int puts_result(const struct put *p, size_t n, char *why)
{
	const struct put *bad = NULL;
	size_t i;

	for (i = 0; i < n; i++)
		if (p[i].err && (!bad || ((p[i].err == -ESTALE || p[i].err == -EBUSY) &&
					  bad->err != -ESTALE && bad->err != -EBUSY)))
			bad = &p[i];
	if (bad)
		snprintf(why, REASON, "%s", bad->why[0] ? bad->why : strerror(-bad->err));
	return bad ? bad->err : 0;
}

/* Which members a record is written to. */
struct put_which {
	bool fresh;			/* of version 0, or the others */
	bool here;			/* also while others are away */
	const struct layout *top;	/* NULL, or only those whose label objects to it, ... */
	bool objects;			/* ... or only the others */
};

static int put_some(const struct gather *g, const struct layout *l, const struct put_which *which, char *why)
{
	struct put *p __free(free) = calloc(l->members, sizeof(*p));
	const struct found *f;
	size_t n = 0;
	u32 i;

	if (!p) {
		snprintf(why, REASON, "out of memory");
		return -ENOMEM;
	}
	for (i = 0; i < l->members; i++) {
		f = gather_find(g, &l->member[i].extent);
		if (!f && (l->member[i].late || which->here))
			continue;
		if (!f) {
			gather_away(g, &l->member[i], why);
			return -ENODEV;
		}
		if (which->top &&
		    truth_objects(&g->truth, which->top, &l->member[i].extent) != which->objects)
			continue;
		if (which->fresh == !f->e.version &&
		    (f->e.version != l->version || f->e.commit != l->commit))
			p[n++] = put_to(g, f, MGMT_RECORD_PUT, l);
	}
	puts_run(p, n);
	return puts_result(p, n, why);
}

int put_fresh(const struct gather *g, const struct layout *l, bool here, char *why)
{
	return put_some(g, l, &(struct put_which) { .fresh = true, .here = here }, why);
}

int put_records(const struct gather *g, const struct layout *l, char *why)
{
	int err = put_some(g, l, &(struct put_which) { }, why);

	return err ? err : put_fresh(g, l, false, why);
}

int put_discard(const struct gather *g, const struct layout *l, const struct layout *top, char *why)
{
	int err = put_some(g, l, &(struct put_which) { .top = top }, why);

	if (err || !top)
		return err;
	return put_some(g, l, &(struct put_which) { .top = top, .objects = true }, why);
}

int put_late(const struct gather *g, const struct layout *l, char *why)
{
	struct put *p __free(free) = calloc(l->members, sizeof(*p));
	size_t n = 0;
	u32 i;

	snprintf(why, REASON, "out of memory");
	if (!p)
		return -ENOMEM;
	for (i = 0; i < l->members; i++)
		if (truth_lags(&g->truth, l, i))
			p[n++] = put_to(g, gather_find(g, &l->member[i].extent), MGMT_RECORD_PUT, l);
	puts_run(p, n);
	return puts_result(p, n, why);
}

u64 commit_id(void)
{
	struct muuid u;
	u64 id;

	do {
		uuid_random(&u);
		memcpy(&id, u.b, sizeof(id));
		id >>= 1;	/* JSON's integers have a sign */
	} while (!id);
	return id;
}
