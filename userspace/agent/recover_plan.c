// SPDX-License-Identifier: GPL-2.0-only
/* What recover makes of the store and of what hosts have handed in: in memory, see recover.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/agent/recover.h"
#include "userspace/agent/report.h"

static const struct key all_reports = { .kind = KEY_REPORT };

bool recover_handed_in(const struct recover *r, const struct obj_recover *mark, const struct muuid *host)
{
	return report_counts(copy_obj(r->copy, &(struct key) { .kind = KEY_REPORT, .host = *host, .about = *host }), mark);
}

/* Of this run, of a host that has handed in all, and is not left out. */
static const struct obj_report *next_report(const struct recover *r, const struct obj_recover *mark,
					    const struct copy_item **i)
{
	while ((*i = copy_next(r->copy, &all_reports, 0, *i))) {
		const struct obj_report *o = (*i)->obj;
		bool out = !report_counts(o, mark) || !recover_handed_in(r, mark, &o->host);

		for (u32 w = 0; w < r->withouts && !out; w++)
			out = muuid_equal(&r->without[w], &o->host);
		if (!out)
			return o;
	}
	return NULL;
}

static const struct obj_cluster *cluster(const struct recover *r)
{
	return copy_obj(r->copy, &(struct key) { .kind = KEY_CLUSTER });
}

u32 recover_generation(const struct recover *r, const struct obj_recover *mark)
{
	const struct obj_cluster *c = cluster(r);
	const struct copy_item *i = NULL;
	const struct obj_report *o;
	u32 highest = r->followed, seen;

	while (mark && (o = next_report(r, mark, &i))) {
		/* A label that was marked before its host started again has the mark's own generation. */
		seen = o->was > mark->generation ? o->was : o->followed;
		highest = seen > highest ? seen : highest;
	}
	return plan_recover_generation(c ? c->plan.generation : 0, &highest, 1);
}

/* Hosts that have not handed in */

#define SHOWN_MAX	6

struct missing {
	struct recover *r;
	const struct obj_recover *mark;
	struct muuid host[SHOWN_MAX];
	u32	hosts;
	size_t	at;
};

static bool handed_in(const struct missing *m, const struct muuid *host)
{
	const struct key h = { .kind = KEY_HOST, .host = *host };
	const struct obj_host *x = copy_obj(m->r->copy, &h);
	bool is = recover_handed_in(m->r, m->mark, host) || (x && x->plan.removed);

	for (u32 i = 0; i < m->r->withouts && !is; i++)
		is = muuid_equal(&m->r->without[i], host);
	for (u32 i = 0; i < m->hosts && !is; i++)
		is = muuid_equal(&m->host[i], host);
	return is;
}

static void expect(struct missing *m, const struct muuid *host)
{
	const struct key h = { .kind = KEY_HOST, .host = *host };
	const struct obj_host *x = copy_obj(m->r->copy, &h);
	struct recover *r = m->r;

	if (muuid_null(host) || m->hosts == SHOWN_MAX || handed_in(m, host))
		return;
	m->host[m->hosts++] = *host;
	m->at += snprintf(r->why + m->at, sizeof(r->why) - m->at, "%s%s", m->at ? ", " : "waits for ",
			  x ? x->name : muuid_str(host).s);
}

bool recover_gathered(struct recover *r, const struct obj_recover *mark)
{
	const struct key hosts = { .kind = KEY_HOST };
	struct missing m = { .r = r, .mark = mark };
	const struct copy_item *i = NULL;
	const struct obj_report *o;

	r->why[0] = 0;
	expect(&m, &r->host);
	while ((i = copy_next(r->copy, &hosts, 0, i)))
		expect(&m, &i->key.host);
	/* A store that is empty knows no hosts: labels and layouts name them. */
	for (i = NULL; (o = next_report(r, mark, &i));) {
		for (u32 e = 0; e < o->extents; e++)
			expect(&m, &o->extent[e].slot.attacher);
		for (u32 n = 0; o->record && n < o->record->members; n++)
			expect(&m, &o->record->member[n].target);
	}
	if (m.hosts)
		snprintf(r->why + m.at, sizeof(r->why) - m.at, "%s: start it, or leave it out by --without",
			 m.hosts == SHOWN_MAX ? " and perhaps more" : "");
	return !m.hosts;
}

/* Volumes of the plan, by their UUIDs */

static int by_id(const void *a, const void *b)
{
	return muuid_cmp(&((const struct recover_volume *)a)->id, &((const struct recover_volume *)b)->id);
}

const struct recover_volume *recover_find(const struct recover_plan *p, const struct muuid *volume)
{
	const struct recover_volume k = { .id = *volume };

	return p->volumes ? bsearch(&k, p->volume, p->volumes, sizeof(k), by_id) : NULL;
}

static struct recover_volume *find(struct recover_plan *p, const struct muuid *volume)
{
	return (struct recover_volume *)recover_find(p, volume);
}

/* Two hosts may reach one disk: the one that wrote its label last serves it. */
static int take_drive(struct recover_plan *p, const struct obj_report *o, size_t *room)
{
	for (u32 i = 0; i < p->drives; i++) {
		if (!muuid_equal(&p->drive[i]->about, &o->about))
			continue;
		if (o->sequence > p->drive[i]->sequence)
			p->drive[i] = o;
		return 0;
	}
	if (p->drives == *room) {
		size_t more = *room ? 2 * *room : 16;
		void *drive = reallocarray(p->drive, more, sizeof(*p->drive));

		if (!drive)
			return -ENOMEM;
		p->drive = drive;
		*room = more;
	}
	p->drive[p->drives++] = o;
	return 0;
}

/* What a drive that was forgotten has is erased by command alone, and counts for nothing. */
static bool is_forgotten(const struct recover *r, const struct muuid *drive)
{
	const struct obj_drive *d = copy_obj(r->copy, &(struct key) { .kind = KEY_DRIVE, .drive = *drive });

	return d && d->plan.wanted == PLAN_FORGOTTEN;
}

static int take_drives(const struct recover *r, struct recover_plan *p)
{
	const struct copy_item *i = NULL;
	const struct obj_report *o;
	size_t room = 0;
	int err = 0;

	while (!err && (o = next_report(r, p->mark, &i))) {
		p->hosts += o->subject == OBJ_OF_HOST;
		if (o->subject == OBJ_OF_DRIVE && !is_forgotten(r, &o->about))
			err = take_drive(p, o, &room);
	}
	p->seen = calloc(p->drives + 1, sizeof(*p->seen));
	if (!p->seen)
		return -ENOMEM;
	for (u32 d = 0; d < p->drives; d++)
		p->seen[d] = p->drive[d]->about;
	return err;
}

/* Every volume that is named anywhere, some several times; NULL in @id: count alone. */
static u32 name_volumes(const struct recover *r, const struct recover_plan *p, struct recover_volume *v)
{
	const struct key all = { .kind = KEY_VOLUME };
	const struct copy_item *i = NULL;
	const struct obj_report *o;
	u32 n = 0;

#define NAME(uuid) do { if (v) v[n].id = (uuid); n++; } while (0)
	while ((i = copy_next(r->copy, &all, 0, i)))
		NAME(i->key.volume);
	for (u32 d = 0; d < p->drives; d++) {
		for (u32 e = 0; e < p->drive[d]->extents; e++)
			NAME(p->drive[d]->extent[e].slot.volume);
	}
	for (i = NULL; (o = next_report(r, p->mark, &i));) {
		if (o->subject == OBJ_OF_VOLUME)
			NAME(o->about);
	}
#undef NAME
	return n;
}

static int take_volumes(const struct recover *r, struct recover_plan *p)
{
	u32 n = name_volumes(r, p, NULL);

	p->volume = calloc(n + 1, sizeof(*p->volume));
	if (!p->volume)
		return -ENOMEM;
	name_volumes(r, p, p->volume);
	if (n)
		qsort(p->volume, n, sizeof(*p->volume), by_id);
	for (u32 i = 0; i < n; i++) {
		if (!i || !muuid_equal(&p->volume[i].id, &p->volume[p->volumes - 1].id))
			p->volume[p->volumes++].id = p->volume[i].id;
	}
	return 0;
}

/* Evidence */

/* A client may say what it likes of its own drives alone. */
static bool is_believed(const struct obj_report *o)
{
	for (u32 i = 0; o->role == PLAN_CLIENT && o->record && i < o->record->members; i++) {
		if (!muuid_equal(&o->record->member[i].target, &o->host))
			return false;
	}
	return o->record;
}

static int take_reports(const struct recover *r, struct recover_plan *p)
{
	const struct copy_item *i = NULL;
	const struct obj_report *o;
	struct recover_volume *v;

	while ((o = next_report(r, p->mark, &i))) {
		if (o->subject != OBJ_OF_VOLUME)
			continue;
		v = find(p, &o->about);
		if (!v->report)
			v->report = calloc(p->hosts + 1, sizeof(*v->report));
		if (!v->report)
			return -ENOMEM;
		v->report[v->reports++] = o;
	}
	return 0;
}

/* The record of an extent, where any that was handed in, or the store's, is it. */
static const struct plan_layout *record_of(const struct recover_volume *v, const struct plan_slot *s)
{
	if (v->has && v->has->plan.layout.version == s->record_version &&
	    v->has->plan.layout.commit == s->record_commit)
		return &v->has->plan.layout;
	for (u32 i = 0; i < v->reports; i++) {
		const struct obj_report *o = v->report[i];

		if (is_believed(o) && o->record->version == s->record_version && o->record->commit == s->record_commit)
			return &o->layout;
	}
	return NULL;
}

/* Evidence of a layout that no label goes with: a host's record of what it has attached. */
static const struct plan_slot no_slot;

static void take_records(struct recover_volume *v)
{
	for (u32 i = 0; i < v->reports; i++) {
		if (is_believed(v->report[i]))
			v->found[v->in.nr++] = (struct plan_evidence) { .slot = &no_slot,
									.record = &v->report[i]->layout };
	}
}

static int take_slots(struct recover_plan *p)
{
	u32 *n = calloc(p->volumes + 1, sizeof(*n));

	if (!n)
		return -ENOMEM;
	for (u32 d = 0; d < p->drives; d++) {
		for (u32 e = 0; e < p->drive[d]->extents; e++)
			n[find(p, &p->drive[d]->extent[e].slot.volume) - p->volume]++;
	}
	for (u32 i = 0; i < p->volumes; i++) {
		p->volume[i].found = calloc(n[i] + p->volume[i].reports + 1, sizeof(*p->volume[i].found));
		if (!p->volume[i].found) {
			free(n);
			return -ENOMEM;
		}
	}
	free(n);
	for (u32 d = 0; d < p->drives; d++) {
		for (u32 e = 0; e < p->drive[d]->extents; e++) {
			const struct plan_slot *s = &p->drive[d]->extent[e].slot;
			struct recover_volume *v = find(p, &s->volume);

			v->found[v->in.nr++] = (struct plan_evidence) { .drive = p->drive[d]->about, .slot = s,
									.record = record_of(v, s) };
		}
	}
	return 0;
}

/* A client's number counts as far as it may have risen above what others know. */
static u64 served(const struct recover_volume *v)
{
	u64 known = v->access ? mesh_number_counter(v->access->plan.number) : 0, number = 0;

	for (u32 i = 0; i < v->in.nr; i++) {
		if (mesh_number_counter(v->found[i].slot->number) > known)
			known = mesh_number_counter(v->found[i].slot->number);
	}
	for (u32 i = 0; i < v->reports; i++) {
		const struct obj_report *o = v->report[i];

		if (o->role == PLAN_CLIENT && mesh_number_counter(o->number) > known + MESH_NUMBER_COUNTER_STEP)
			continue;
		/* plan_recover() takes the counter of it alone. */
		if (mesh_number_counter(o->number) > mesh_number_counter(number))
			number = o->number;
	}
	return number;
}

/* Decisions */

static void set_writer(struct recover_volume *v)
{
	struct plan_claim claim[v->reports + 1];
	const struct plan_claim *c;

	for (u32 i = 0; i < v->reports; i++)
		claim[i] = (struct plan_claim) { .host = v->report[i]->host, .mode = v->report[i]->mode,
						 .serves = v->report[i]->serves, .number = v->report[i]->number };
	c = plan_recover_writer(&v->in, claim, v->reports);
	v->writer = c ? v->report[c - claim] : NULL;
}

/* A run that goes on keeps the number that it has written. */
static enum plan_verdict decide(struct recover_volume *v, bool partly)
{
	struct plan_recover in = v->in;
	enum plan_verdict verdict;

	in.partly = partly;
	in.access = NULL;
	verdict = plan_recover(&in, &v->out);
	if (verdict == PLAN_GO && v->access && v->access->plan.mode == PLAN_NONE &&
	    mesh_number_generation(v->access->plan.number) == in.generation &&
	    v->access->plan.number >= v->out.access.number) {
		v->out.access = v->access->plan;
		return PLAN_GO;
	}
	in.access = v->in.access;
	return plan_recover(&in, &v->out);
}

/* A record that goes with no extent is of a drive that was forgotten. */
static bool is_bare(const struct recover_volume *v)
{
	for (u32 i = 0; i < v->in.nr; i++) {
		const struct plan_slot *s = v->found[i].slot;

		if (s != &no_slot && (s->number || s->version || v->found[i].record))
			return false;
	}
	return !v->has && !v->in.served;
}

static void set_layout(struct recover_volume *v)
{
	v->record = v->has ? v->has->record : NULL;
	for (u32 i = 0; i < v->reports; i++) {
		if (v->out.layout == &v->report[i]->layout) {
			v->from = v->report[i];
			v->record = v->from->record;
		}
	}
	v->fresh = plan_recover_fresh(&v->in, v->has && !v->from ? v->has->plan.fresh : layout_fresh(v->record));
}

static bool given_up(const struct recover *r, const struct muuid *volume)
{
	for (u32 i = 0; i < r->partlies; i++) {
		if (muuid_equal(&r->partly[i], volume))
			return true;
	}
	return false;
}

static u8 fate(const struct recover *r, struct recover_volume *v)
{
	enum plan_verdict verdict;
	bool part = false;

	v->state = plan_recover_state(&v->in);
	if (v->state != PLAN_VOLUME_READY)
		return decide(v, true) == PLAN_GO && v->out.layout == &v->has->plan.layout ? RECOVER_SAME : RECOVER_DOUBT;
	if (plan_recover_gone(&v->in))
		return RECOVER_GONE;
	if (is_bare(v))
		return RECOVER_BARE;
	verdict = decide(v, false);
	if (verdict == PLAN_MISSING && given_up(r, &v->id)) {
		part = true;
		verdict = decide(v, true);
	}
	if (verdict != PLAN_GO)
		return RECOVER_DOUBT;
	set_layout(v);
	if (part)
		return RECOVER_PART;
	return v->from || !v->has || v->state != v->has->plan.state ? RECOVER_BACK : RECOVER_SAME;
}

/* Names: of two volumes with one the store's has it, or the one with the lower UUID; both keep their data */

static const char *name_of(const struct recover_volume *v)
{
	return v->record && v->fate != RECOVER_DOUBT ? v->record->name : NULL;
}

static bool is_first(const struct recover *r, const struct recover_plan *p, const struct recover_volume *v)
{
	const char *name = name_of(v);
	struct key k = { .kind = KEY_NAME };
	const struct obj_name *n;
	const struct recover_volume *owner;

	snprintf(k.name, sizeof(k.name), "%s", name);
	n = copy_obj(r->copy, &k);
	owner = n ? recover_find(p, &n->volume) : NULL;
	if (owner && name_of(owner) && !strcmp(name_of(owner), name))
		return owner == v;
	for (const struct recover_volume *o = p->volume; o < v; o++) {
		if (name_of(o) && !strcmp(name_of(o), name))
			return false;
	}
	return true;
}

static void set_names(const struct recover *r, struct recover_plan *p)
{
	for (struct recover_volume *v = p->volume; v < p->volume + p->volumes; v++) {
		if (!name_of(v) || v->state != PLAN_VOLUME_READY || is_first(r, p, v))
			continue;
		snprintf(v->name, sizeof(v->name), "%.40s-%.8s", name_of(v), muuid_str(&v->id).s);
		v->fate = v->fate == RECOVER_SAME ? RECOVER_BACK : v->fate;
	}
}

static void set_all(const struct recover *r, struct recover_plan *p)
{
	for (struct recover_volume *v = p->volume; v < p->volume + p->volumes; v++) {
		v->in.generation = p->mark->generation;
		v->in.volume = v->has ? &v->has->plan : NULL;
		v->in.access = v->access ? &v->access->plan : NULL;
		v->in.found = v->found;
		v->in.seen = p->seen;
		v->in.seens = p->drives;
		take_records(v);
		v->in.served = served(v);
		v->fate = fate(r, v);
		if (v->state != PLAN_VOLUME_READY && v->fate == RECOVER_SAME)
			v->record = v->has->record;
		set_writer(v);
		p->doubts += v->fate == RECOVER_DOUBT;
	}
	set_names(r, p);
}

int recover_plan(const struct recover *r, struct recover_plan *p)
{
	const struct obj_recover *mark = copy_obj(r->copy, &(struct key) { .kind = KEY_RECOVER });
	int err;

	memset(p, 0, sizeof(*p));
	if (!mark)
		return -ENOENT;
	p->mark = mark;
	p->cluster = cluster(r);
	err = take_drives(r, p);
	if (!err)
		err = take_volumes(r, p);
	for (u32 i = 0; i < p->volumes; i++) {
		struct key k = { .kind = KEY_VOLUME, .volume = p->volume[i].id };

		p->volume[i].has = copy_obj(r->copy, &k);
		k.kind = KEY_ACCESS;
		p->volume[i].access = copy_obj(r->copy, &k);
	}
	if (!err)
		err = take_reports(r, p);
	if (!err)
		err = take_slots(p);
	if (!err)
		set_all(r, p);
	return err;
}

void recover_plan_free(struct recover_plan *p)
{
	for (u32 i = 0; i < p->volumes; i++) {
		free(p->volume[i].found);
		free(p->volume[i].report);
	}
	free(p->volume);
	free(p->drive);
	free(p->seen);
	memset(p, 0, sizeof(*p));
}
