// SPDX-License-Identifier: GPL-2.0-only
/*
 * meshctl drive extents, drive free: extents that no volume claims, and why. An
 * extent is claimed when this host's store or a layout record that counts on any
 * known host names it; a host that cannot be reached may know more.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/format/json.h"
#include "userspace/format/umap.h"
#include "userspace/meshd/gather.h"
#include "userspace/meshd/export.h"
#include "userspace/meshd/store.h"

#define CLAIM_WHY	(REASON + 160)

enum claim {
	CLAIM_HELD,		/* a volume claims it, or will */
	CLAIM_NONE,		/* an orphan */
	CLAIM_UNKNOWN,		/* a host that may know cannot be reached, or it may be needed */
};

static const char *const claim_words[] = { "claimed", "orphan", "unknown" };

struct host_said {
	struct store_host h;
	int	err;
	char	why[REASON];
	json_t	*extents, *drives;
};

struct survey {
	struct host_said *host;
	size_t	n;
	struct umap drives;		/* those that some host exports now */
};

static void query_host_of(void *arg, size_t i)
{
	struct host_said *s = &((struct survey *)arg)->host[i];
	struct mgmt_req q = { .op = MGMT_EXTENTS };

	s->err = peer_call(&s->h, &q, &s->extents, s->why);
	q.op = MGMT_DRIVES;
	if (!s->err)
		s->err = peer_call(&s->h, &q, &s->drives, s->why);
}

static void note_drives(struct survey *v, json_t *data)
{
	struct mgmt_drive d;
	json_t *j;
	bool fresh;
	size_t i;

	/* The extents of a drive that meshd has not taken up are not reported. */
	json_array_foreach(json_object_get(data, "drives"), i, j)
		if (!mgmt_drive_unpack(j, &d) && mgmt_drive_served(&d) &&
		    strcmp(d.state, MGMT_UNMANAGED) && strcmp(d.state, MGMT_DRAINING))
			umap_put(&v->drives, &d.uuid, &fresh);
}

/* This host is checked even if it does not know itself as a host. */
static int survey(struct survey *v)
{
	struct store_host *hosts __free(free) = NULL;
	bool self = false;
	size_t i, n;
	int err = store_hosts(&hosts, &n);

	memset(v, 0, sizeof(*v));
	if (err)
		return err;
	v->host = calloc(n + 1, sizeof(*v->host));
	if (!v->host)
		return -ENOMEM;
	for (i = 0; i < n; i++) {
		v->host[i].h = hosts[i];
		self = self || muuid_equal(&hosts[i].uuid, &D.host);
	}
	v->n = n + !self;
	if (!self) {
		v->host[n].h.uuid = D.host;
		snprintf(v->host[n].h.name, sizeof(v->host[n].h.name), "%.63s", D.hostname);
	}
	peers_each(v->n, query_host_of, v);
	for (i = 0; i < v->n; i++)
		note_drives(v, v->host[i].drives);
	return 0;
}

static void survey_free(struct survey *v)
{
	size_t i;

	for (i = 0; i < v->n; i++) {
		json_decref(v->host[i].extents);
		json_decref(v->host[i].drives);
	}
	umap_free(&v->drives);
	free(v->host);
}

/* What this host's store says: layouts of its volumes, and what is being allocated. */
static int store_claims(struct umap *claims)
{
	struct layout *l __free(free) = malloc(sizeof(*l));
	struct store_volume *v __free(free) = NULL, full;
	struct store_intent *in __free(free) = NULL;
	size_t i, n;
	bool fresh;
	int err = l ? store_volumes(&v, &n) : -ENOMEM;
	u32 k;

	for (i = 0; !err && i < n; i++) {
		err = store_volume_get(&v[i].uuid, &full, l);
		for (k = 0; !err && k < l->members; k++)
			err = umap_put(claims, &l->member[k].extent, &fresh) ? 0 : -ENOMEM;
		err = err == -ENOENT ? 0 : err;	/* deleted just now */
	}
	if (!err)
		err = store_intents(&in, &n);
	for (i = 0; !err && i < n; i++)
		err = umap_put(claims, &in[i].extent, &fresh) ? 0 : -ENOMEM;
	return err;
}

/* A layout names it, but some member is not there: whether for good or only for now. */
static enum claim claim_partial(const struct survey *s, const struct gather *g,
				const struct layout *l, char why[CLAIM_WHY])
{
	u32 i;

	for (i = 0; i < l->members; i++) {
		const struct layout_member *m = &l->member[i];

		if (gather_find(g, &m->extent))
			continue;
		if (!umap_get(&s->drives, &m->drive)) {
			snprintf(why, CLAIM_WHY, "volume %s, whose member %u is on a drive that is away",
				 l->name, i);
			return CLAIM_UNKNOWN;
		}
		/* Or that drive is not what it was, and this is all that is left of the volume. */
		snprintf(why, CLAIM_WHY, "volume %s, whose member %u is gone from its drive: deleted in "
			 "part, or that drive was set back", l->name, i);
		return CLAIM_UNKNOWN;
	}
	snprintf(why, CLAIM_WHY, "volume %s (meshctl volume import %s)", l->name, l->name);
	return CLAIM_HELD;
}

static bool claim_unread(const struct gather *g, const struct mgmt_extent *e, char why[CLAIM_WHY])
{
	const struct found *f = gather_unread(g);

	if (!f)
		return false;
	snprintf(why, CLAIM_WHY, "volume %s, whose layout record on drive %s of host %s cannot be read now",
		 e->name, muuid_str(&f->e.drive).s, g->hosts[f->host].name);
	return true;
}

/* No record names it: whether a host that is in no record yet works on it. */
static enum claim claim_fresh(const struct gather *g, const struct mgmt_extent *e, char why[CLAIM_WHY])
{
	const struct mgmt_extent *o;
	char who[HOST_WORDS];
	size_t i;

	for (i = 0; i < g->nr_found; i++) {
		o = &g->found[i].e;
		if (!o->version && !o->ready) {
			snprintf(why, CLAIM_WHY, "a create or extend of volume %s that is still being zeroed, "
				 "perhaps by another host", e->name);
			return CLAIM_UNKNOWN;
		}
		if (!muuid_null(&o->holder) && !muuid_equal(&o->holder, &D.host)) {
			host_words(&o->holder, who);
			snprintf(why, CLAIM_WHY, "%s holds volume %s and may be extending it", who, e->name);
			return CLAIM_UNKNOWN;
		}
	}
	/* Between the last zero and the first record only its own host's store knows. */
	if (!g->nr_records) {
		snprintf(why, CLAIM_WHY, "volume %s, which was never recorded: a create that did not end, or "
			 "that another host is just ending", e->name);
		return CLAIM_UNKNOWN;
	}
	snprintf(why, CLAIM_WHY, "never recorded: an extend that did not end");
	return CLAIM_NONE;
}

/*
 * Whether it was a member's that was replaced, and may have what one needs that is not whole yet:
 * meshd frees it later by itself. The notes of a volume that is being deleted are about all of it.
 * In words; what the store does not say may be so.
 */
static bool kept(const struct mgmt_extent *e, char why[CLAIM_WHY])
{
	struct store_free *f __free(free) = NULL;
	struct store_volume v;
	size_t i, n = 0;
	int err = store_volume_get(&e->volume, &v, NULL);

	if (err == -ENOENT || (!err && v.state != STORE_LIVE))
		return false;
	if (!err)
		err = store_frees(&e->volume, &f, &n);
	for (i = 0; i < n && !muuid_equal(&f[i].extent, &e->uuid); i++)
		;
	snprintf(why, CLAIM_WHY, "%s", err ? store_words(err) :
		 "of a member that was replaced: kept until its volume is whole, then freed by meshd");
	return err || i < n;
}

static enum claim claim_of(const struct survey *s, const struct gather *g,
			   const struct mgmt_extent *e, char why[CLAIM_WHY])
{
	struct truth_pick p = truth_pick(&g->truth);
	size_t i;

	for (i = 0; i < g->nr_hosts; i++) {
		if (g->said[i].err) {
			snprintf(why, CLAIM_WHY, "host %s could claim it, but %s", g->hosts[i].name,
				 g->said[i].why);
			return CLAIM_UNKNOWN;
		}
	}
	if (shown_twice(&g->shown, &e->drive, g->hosts, why))
		return CLAIM_UNKNOWN;
	if (!gather_find(g, &e->uuid)) {
		snprintf(why, CLAIM_WHY, "its host is not known here (meshctl host add)");
		return CLAIM_UNKNOWN;
	}
	if (p.top && layout_names(p.top, &e->uuid))
		return claim_partial(s, g, p.top, why);
	if (p.layout && layout_names(p.layout, &e->uuid))
		return claim_partial(s, g, p.layout, why);
	if (claim_unread(g, e, why))
		return CLAIM_UNKNOWN;
	if (!e->version)
		return claim_fresh(g, e, why);
	if (kept(e, why))
		return CLAIM_UNKNOWN;
	if (p.layout)
		snprintf(why, CLAIM_WHY, "version %llu of volume %s does not name it",
			 (unsigned long long)p.layout->version, p.layout->name);
	else
		snprintf(why, CLAIM_WHY, "no layout record of its volume can be read anywhere");
	return CLAIM_NONE;
}

/* One gather() a volume, kept for its next extent. */
struct judge {
	const struct survey *s;
	struct umap claims;
	struct gather g;
	struct muuid volume;
	bool	have;
};

static enum claim judge(struct judge *j, const struct mgmt_extent *e, char why[CLAIM_WHY])
{
	if (umap_get(&j->claims, &e->uuid)) {
		snprintf(why, CLAIM_WHY, "a volume of this host");
		return CLAIM_HELD;
	}
	if (!j->have || !muuid_equal(&j->volume, &e->volume)) {
		if (j->have)
			gather_free(&j->g);
		j->volume = e->volume;
		j->have = !gather(&j->g, &e->volume, false);
	}
	if (j->have)
		return claim_of(j->s, &j->g, e, why);
	snprintf(why, CLAIM_WHY, "out of memory");
	return CLAIM_UNKNOWN;
}

static int claims_get(struct req *r, struct judge *j)
{
	int err = store_claims(&j->claims);

	return err ? req_fail(r, "%s", store_words(err)) : 0;
}

static void judge_end(struct judge *j)
{
	if (j->have)
		gather_free(&j->g);
	umap_free(&j->claims);
}

static json_t *extent_json(const struct mgmt_extent *e, const struct store_host *h,
			   enum claim claim, const char *why)
{
	json_t *j = mgmt_extent_pack(e);

	json_object_del(j, "extent");
	jset_uuid(j, "uuid", &e->uuid);
	jset_str(j, "host", h->name);
	jset_uuid(j, "host_uuid", &h->uuid);
	if (muuid_null(&e->holder))
		json_object_set_new(j, "holder", json_null());
	jset_str(j, "state", claim == CLAIM_HELD && e->opens ? "open" : claim_words[claim]);
	jset_str(j, "reason", why);
	return j;
}

/* The drives of @s that are meant; with @uuid: that one, if it is among them. */
static bool drive_wanted(const char *what, const struct muuid *uuid, const struct host_said *s)
{
	struct mgmt_drive d;
	json_t *j;
	size_t i;

	json_array_foreach(json_object_get(s->drives, "drives"), i, j)
		if (!mgmt_drive_unpack(j, &d) && (!uuid || muuid_equal(&d.uuid, uuid)) &&
		    drive_called(&d.uuid, d.path, what))
			return true;
	return false;
}

/* No host has it, and none is silent that could: -1 after req_fail(). */
static int drive_known(struct req *r, const struct survey *s)
{
	const char *what = arg_str(r, "drive");
	size_t i;

	for (i = 0; what[0] && i < s->n; i++)
		if (s->host[i].err || drive_wanted(what, NULL, &s->host[i]))
			return 0;
	return what[0] ? req_fail(r, "no exported drive is called %s; see meshctl drive list", what) : 0;
}

static int by_volume(const void *a, const void *b)
{
	const struct mgmt_extent *x = a, *y = b;

	return muuid_cmp(&x->volume, &y->volume);
}

/* A host's extents in the order of volumes: each volume is looked up once. */
static void list_host(struct req *r, json_t *list, struct judge *j, const struct host_said *s)
{
	json_t *all = json_object_get(s->extents, "extents"), *item;
	struct mgmt_extent *e __free(free) = calloc(json_array_size(all) + 1, sizeof(*e));
	const char *what = arg_str(r, "drive");
	char why[CLAIM_WHY];
	enum claim claim;
	size_t i, n = 0;

	json_array_foreach(all, i, item)
		if (e && !mgmt_extent_unpack(item, &e[n]) &&
		    (!what[0] || drive_wanted(what, &e[n].drive, s)))
			n++;
	if (e)
		qsort(e, n, sizeof(*e), by_volume);
	for (i = 0; i < n && !req_cancelled(r); i++) {
		claim = judge(j, &e[i], why);
		if (claim != CLAIM_HELD || arg_bool(r, "all"))
			json_array_append_new(list, extent_json(&e[i], &s->h, claim, why));
	}
}

int cmd_drive_extents(struct req *r)
{
	json_t *list = json_array(), *failed = json_array();
	struct survey s;
	struct judge j = { .s = &s };
	size_t i;
	int err;

	err = survey(&s);
	if (err) {
		json_decref(list);
		json_decref(failed);
		return req_fail(r, "%s", store_words(err));
	}
	err = drive_known(r, &s) ? -1 : claims_get(r, &j);
	for (i = 0; !err && i < s.n; i++) {
		if (s.host[i].err)
			json_array_append_new(failed, json_string(s.host[i].why));
		else
			list_host(r, list, &j, &s.host[i]);
	}
	judge_end(&j);
	survey_free(&s);
	r->result = json_pack("{s:o, s:o}", "extents", list, "failed", failed);
	return err;
}

static const struct host_said *find_extent(const struct survey *s, const struct muuid *uuid,
					   struct mgmt_extent *e)
{
	json_t *item;
	size_t i, k;

	for (i = 0; i < s->n; i++)
		json_array_foreach(json_object_get(s->host[i].extents, "extents"), k, item)
			if (!mgmt_extent_unpack(item, e) && muuid_equal(&e->uuid, uuid))
				return &s->host[i];
	return NULL;
}

static int free_verdict(struct req *r, const struct mgmt_extent *e, enum claim claim,
			const char *why)
{
	char holder[MUUID_TEXT];

	if (claim == CLAIM_HELD)
		return req_fail(r, "%s claims this extent: delete the volume instead", why);
	if (claim == CLAIM_UNKNOWN && !arg_bool(r, "stale"))
		return req_fail(r, "%s; when that is over, or gone for good, add --stale", why);
	if (!muuid_null(&e->holder) && !muuid_equal(&e->holder, &D.host) && !arg_bool(r, "preempt")) {
		muuid_text(&e->holder, holder);
		return req_fail(r, "host %s is noted as its holder and may be using it; when it is not, "
				"add --preempt", holder);
	}
	return 0;
}

/* Several hosts may show the drive: the one that has it, if that is known. */
static int free_place(struct req *r, const struct survey *s, const struct judge *j,
		      struct mgmt_extent *e, const struct host_said **at)
{
	const struct found *f = j->have ? gather_find(&j->g, &e->uuid) : NULL;
	char why[REASON];
	size_t i;

	if (j->have && shown_twice(&j->g.shown, &e->drive, j->g.hosts, why))
		return req_fail(r, "%s", why);
	for (i = 0; f && i < s->n; i++)
		if (muuid_equal(&s->host[i].h.uuid, &j->g.hosts[f->host].uuid))
			*at = &s->host[i];
	if (f)
		*e = f->e;
	return 0;
}

static int free_dry(struct req *r, const struct mgmt_extent *e, const struct store_host *h,
		    const char *why)
{
	json_t *j;

	j = req_destroys(r, "extent", muuid_str(&e->uuid).s);
	jset_str(j, "host", h->name);
	jset_uuid(j, "drive", &e->drive);
	jset_str(j, "volume", e->name);
	jset_u64(j, "bytes", e->length);
	if (!muuid_null(&e->holder))
		jset_uuid(j, "holder", &e->holder);
	jset_str(j, "reason", why);
	return 0;
}

static int free_it(struct req *r, const struct mgmt_extent *e, const struct store_host *h)
{
	struct mgmt_req q = { .op = MGMT_FREE, .drive = e->drive, .extent = e->uuid,
			      .volume = e->volume, .preempt = arg_bool(r, "preempt"),
			      .believed = { e->holder, e->version, e->commit } };
	char why[REASON];
	json_t *data;
	int err = peer_call(h, &q, &data, why);

	json_decref(data);
	return err ? req_fail(r, "%s", why) : 0;
}

int cmd_drive_free(struct req *r)
{
	const char *what = arg_str(r, "extent");
	const struct host_said *at;
	struct mgmt_extent e;
	struct survey s;
	struct judge j = { .s = &s };
	char why[CLAIM_WHY] = "";
	enum claim claim = CLAIM_UNKNOWN;
	struct muuid uuid;
	int err;

	if (muuid_parse(what, &uuid))
		return req_usage(r, "name an extent by its UUID; see meshctl drive extents");
	err = survey(&s);
	if (err)
		return req_fail(r, "%s", store_words(err));
	err = claims_get(r, &j);
	at = find_extent(&s, &uuid, &e);
	if (!err && !at)
		err = req_fail(r, "no host that answers has an extent %s; see meshctl drive extents", what);
	if (!err)
		claim = judge(&j, &e, why);
	/* No option frees what is shown twice. */
	if (!err)
		err = free_place(r, &s, &j, &e, &at);
	if (!err)
		err = free_verdict(r, &e, claim, why);
	if (!err)
		err = arg_bool(r, "dry_run") ? free_dry(r, &e, &at->h, why) : free_it(r, &e, &at->h);
	judge_end(&j);
	survey_free(&s);
	return err;
}
