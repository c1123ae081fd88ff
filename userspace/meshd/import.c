// SPDX-License-Identifier: GPL-2.0-only
/* Volumes from what the drives themselves say. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/format/json.h"
#include "userspace/format/layout_text.h"
#include "userspace/meshd/volume.h"

struct scan {
	struct query all;
	struct mgmt_volume *seen;	/* of the highest version; here and open are sums */
	size_t n;
};

static int seen_add(struct scan *s, const struct mgmt_volume *v)
{
	struct mgmt_volume *had;
	u32 here, open;
	size_t i;

	for (i = 0; i < s->n && !muuid_equal(&s->seen[i].uuid, &v->uuid); i++)
		;
	if (i == s->n) {
		had = mesh_grow((void **)&s->seen, &s->n, sizeof(*had));
		if (had)
			*had = *v;
		return had ? 0 : -ENOMEM;
	}
	had = &s->seen[i];
	here = had->here + v->here;
	open = had->open + v->open;
	if (v->version > had->version)
		*had = *v;
	had->here = here;
	had->open = open;
	return 0;
}

static int by_name(const void *a, const void *b)
{
	const struct mgmt_volume *x = a, *y = b;
	int c = strcmp(x->name, y->name);

	return c ? c : muuid_cmp(&x->uuid, &y->uuid);
}

/* What the known hosts have. -1 after req_fail(). */
static int scan(struct req *r, struct scan *s)
{
	struct mgmt_req q = { .op = MGMT_VOLUMES };
	struct mgmt_volume v;
	unsigned long long late;
	size_t i, k;
	json_t *j;
	int err;

	memset(s, 0, sizeof(*s));
	err = query_hosts(&s->all, &q);
	if (err)
		return req_fail(r, "%s", store_words(err));
	for (i = 0; i < s->all.n; i++) {
		json_array_foreach(json_object_get(s->all.said[i].data, "volumes"), k, j) {
			if (!err && !mgmt_volume_unpack(j, &v))
				err = seen_add(s, &v);
		}
		late = json_integer_value(json_object_get(s->all.said[i].data, "late"));
		if (late)
			req_note(r, "host %s: %llu of its drives did not answer in time and are left out",
				 s->all.hosts[i].name, late);
	}
	if (err)
		return req_fail(r, "out of memory");
	if (s->n)
		qsort(s->seen, s->n, sizeof(*s->seen), by_name);
	return 0;
}

static void scan_free(struct scan *s)
{
	query_free(&s->all);
	free(s->seen);
}

static const char *seen_state(const struct mgmt_volume *v, bool known)
{
	if (v->here < v->members)
		return "incomplete";
	if (v->here > v->members)
		return "doubtful";	/* a drive and a copy of it */
	return known ? "known" : v->open ? "in use" : "free";
}

static json_t *seen_json(const struct mgmt_volume *v)
{
	struct store_volume known;
	json_t *j = json_object();
	char text[HOST_WORDS];

	jset_str(j, "name", v->name);
	jset_uuid(j, "uuid", &v->uuid);
	jset_u64(j, "size", v->size);
	jset_u64(j, "version", v->version);
	jset_u64(j, "commit", v->commit);
	jset_u64(j, "members", v->members);
	jset_u64(j, "found", v->here);
	layout_text(&v->shape, text);
	jset_str(j, "layout", text);
	jset_str(j, "state", seen_state(v, !store_volume_get(&v->uuid, &known, NULL)));
	json_object_set_new(j, "holder", json_null());
	if (!muuid_null(&v->holder)) {
		host_words(&v->holder, text);
		jset_str(j, "holder", text);
		jset_uuid(j, "holder_uuid", &v->holder);
	}
	return j;
}

/* Everything that is on the drives of the hosts that answer. */
static int list_all(struct req *r)
{
	json_t *list = json_array();
	struct scan s;
	size_t i;
	int err = scan(r, &s);

	for (i = 0; !err && i < s.n; i++)
		json_array_append_new(list, seen_json(&s.seen[i]));
	r->result = json_pack("{s:o, s:o}", "found", list, "failed", query_failed(&s.all));
	if (!err && !s.all.n)
		err = req_fail(r, "no host is known to search for volumes; see meshctl host add");
	scan_free(&s);
	return err;
}

/* The one volume that the command names. */
static int find(struct req *r, const char *what, struct mgmt_volume *out)
{
	size_t i, hits = 0;
	struct scan s;
	int err = scan(r, &s);

	for (i = 0; !err && i < s.all.n; i++)
		if (s.all.said[i].err)
			req_note(r, "%s; its drives are left out", s.all.said[i].why);
	for (i = 0; !err && i < s.n; i++) {
		if (strcmp(s.seen[i].name, what) && strcasecmp(muuid_str(&s.seen[i].uuid).s, what))
			continue;
		*out = s.seen[i];
		hits++;
	}
	if (!err && !s.all.n)
		err = req_fail(r, "no volume %s here, and no host is known to search for it; see meshctl "
			       "host add", what);
	else if (!err && !hits)
		err = req_fail(r, "no volume %s here or on the drives of the known hosts; see meshctl volume "
			       "import", what);
	else if (!err && hits > 1)
		err = req_fail(r, "several volumes are called %s: meshctl volume import UUID --as NAME", what);
	scan_free(&s);
	return err;
}

static int keep(struct req *r, const struct layout *l, struct store_volume *v)
{
	const char *as = arg_str(r, "as");
	char device[48];
	int err;

	kernel_device(&l->volume, device, sizeof(device));
	*v = (struct store_volume) {
		.uuid = l->volume, .version = l->version, .recorded = l->version,
		.state = STORE_LIVE, .attached = device[0],
	};
	kernel_keep(v);
	snprintf(v->name, sizeof(v->name), "%s", as[0] ? as : l->name);
	err = store_volume_commit(v, l);
	if (err == -EEXIST)
		return req_fail(r, "another volume here is called %s: meshctl volume import %s --as NAME",
				v->name, muuid_str(&l->volume).s);
	if (err)
		return req_fail(r, "%s", store_unwritten(err));
	req_note(r, "volume %s was imported from its drives, version %llu", v->name,
		 (unsigned long long)l->version);
	return 0;
}

int import_volume(struct req *r, const char *what, struct store_volume *v)
{
	struct mgmt_volume found = { 0 };
	struct truth_pick p;
	char why[REASON];
	struct gather g;
	size_t i;
	int err;

	if (find(r, what, &found))
		return -1;
	err = gather(&g, &found.uuid, false);
	if (err)
		return req_fail(r, "%s", store_words(err));
	for (i = 0; i < g.nr_records && !err; i++)
		err = gather_unique(&g, g.record[i], why);
	p = truth_pick(&g.truth);
	if (err) {
		err = req_fail(r, "volume %s: %s", found.name, why);
	} else if (p.verdict == TRUTH_NONE) {
		err = req_fail(r, "volume %s: no record of it counts; its drives were changed meanwhile, or "
			       "are damaged", found.name);
	} else if (p.verdict != TRUTH_WHOLE && !arg_bool(r, "stale")) {
		gather_away(&g, &p.layout->member[p.member], why);
		err = req_fail(r, "volume %s is only half there: %s; or add --stale%s", found.name, why,
			       layout_protected(p.layout) ? ": " STALE_LOSES : "");
	} else {
		err = keep(r, p.layout, v);
	}
	gather_free(&g);
	return err;
}

int cmd_volume_import(struct req *r)
{
	const char *what = arg_str(r, "volume"), *as = arg_str(r, "as");
	struct store_volume v;

	if (!what[0])
		return list_all(r);
	if (store_volume_find(what, &v, NULL))
		return import_volume(r, what, &v) ? -1 : volume_result(r, &v.uuid);
	if (as[0] && strcmp(as, v.name))
		return req_fail(r, "the volume is known here already, as %s; see meshctl volume rename",
				v.name);
	req_note(r, "volume %s is known here already", v.name);
	return volume_result(r, &v.uuid);
}
