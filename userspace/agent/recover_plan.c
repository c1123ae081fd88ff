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
	const struct obj_report *o = copy_obj(r->copy, &(struct key) { .kind = KEY_REPORT, .host = *host, .about = *host });

	return report_counts(o, mark) && o->subject == OBJ_OF_HOST;
}

bool recover_left_out(const struct recover *r, const struct muuid *host)
{
	for (u32 i = 0; i < r->withouts; i++) {
		if (muuid_equal(&r->without[i], host))
			return true;
	}
	return false;
}

/* Of this run, of a host that has handed in all, and is not left out. */
static const struct obj_report *next_report(const struct recover *r, const struct obj_recover *mark,
					    const struct copy_item **i)
{
	while ((*i = copy_next(r->copy, &all_reports, 0, *i))) {
		const struct obj_report *o = (*i)->obj;

		if (report_counts(o, mark) && recover_handed_in(r, mark, &o->host) && !recover_left_out(r, &o->host))
			return o;
	}
	return NULL;
}

static const struct obj_cluster *cluster(const struct recover *r)
{
	return copy_obj(r->copy, &(struct key) { .kind = KEY_CLUSTER });
}

/* A label that was marked before its host started again has the mark's own generation. */
static u32 said(const struct obj_report *o, const struct obj_recover *mark)
{
	return o->was > mark->generation ? o->was : o->followed;
}

/*
 * Targets refuse a number whose generation is further above, so one wrong label must not become the
 * generation of all. Where nothing is known here, as after the loss of the store's host, there is no bound.
 */
static u32 generation_bound(const struct recover *r)
{
	const struct obj_cluster *c = cluster(r);
	u32 base = c && c->plan.generation > r->followed ? c->plan.generation : r->followed;

	return base ? base + MESH_NUMBER_GENERATION_STEP - 1 : UINT32_MAX;
}

u32 recover_generation(const struct recover *r, const struct obj_recover *mark)
{
	const struct obj_cluster *c = cluster(r);
	const struct copy_item *i = NULL;
	const struct obj_report *o;
	u32 highest = r->followed, bound = generation_bound(r), seen;

	while (mark && (o = next_report(r, mark, &i))) {
		seen = said(o, mark);
		if (o->role != PLAN_CLIENT && seen > highest && seen <= bound)
			highest = seen;
	}
	return plan_recover_generation(c ? c->plan.generation : 0, &highest, 1);
}

const struct obj_report *recover_far(const struct recover *r, const struct obj_recover *mark)
{
	const struct copy_item *i = NULL;
	const struct obj_report *o;

	while ((o = next_report(r, mark, &i))) {
		if (o->role != PLAN_CLIENT && said(o, mark) > generation_bound(r))
			return o;
	}
	return NULL;
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
	bool is = recover_handed_in(m->r, m->mark, host) || (x && x->plan.removed) || recover_left_out(m->r, host);

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

/* Two hosts may reach one disk: the one that wrote its label last serves it. A client's word is the last. */
static bool is_better(const struct obj_report *o, const struct obj_report *than)
{
	if ((o->role == PLAN_CLIENT) != (than->role == PLAN_CLIENT))
		return than->role == PLAN_CLIENT;
	return o->sequence > than->sequence;
}

static int take_drive(struct recover_plan *p, const struct obj_report *o, size_t *room)
{
	for (u32 i = 0; i < p->drives; i++) {
		if (!muuid_equal(&p->drive[i]->about, &o->about))
			continue;
		if (is_better(o, p->drive[i]))
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
		if (o->subject == OBJ_OF_DRIVE && !is_forgotten(r, &o->about) && recover_counts_drive(r, o))
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

static int take_reports(const struct recover *r, struct recover_plan *p)
{
	const struct copy_item *i = NULL;
	const struct obj_report *o;
	struct recover_volume *v;

	while ((o = next_report(r, p->mark, &i))) {
		if (o->subject == OBJ_OF_VOLUME)
			find(p, &o->about)->reports++;
	}
	for (v = p->volume; v < p->volume + p->volumes; v++) {
		v->report = calloc(v->reports + 1, sizeof(*v->report));
		if (!v->report)
			return -ENOMEM;
		v->reports = 0;
	}
	while ((o = next_report(r, p->mark, &i))) {
		if (o->subject != OBJ_OF_VOLUME)
			continue;
		v = find(p, &o->about);
		v->report[v->reports++] = o;
	}
	return 0;
}

static void set_elsewhere(struct recover_plan *p)
{
	for (struct recover_volume *v = p->volume; v < p->volume + p->volumes; v++) {
		v->elsewhere = v->has;
		for (u32 i = 0; i < v->reports; i++)
			v->elsewhere = v->elsewhere || v->report[i]->role != PLAN_CLIENT;
	}
	for (u32 d = 0; d < p->drives; d++) {
		for (u32 e = 0; p->drive[d]->role != PLAN_CLIENT && e < p->drive[d]->extents; e++)
			find(p, &p->drive[d]->extent[e].slot.volume)->elsewhere = true;
	}
}

/* The record of an extent, where any that was handed in, or the store's, is it. */
static const struct plan_layout *record_of(const struct recover *r, const struct recover_plan *p,
					   const struct recover_volume *v, const struct plan_slot *s)
{
	if (v->has && v->has->plan.layout.version == s->record_version &&
	    v->has->plan.layout.commit == s->record_commit)
		return &v->has->plan.layout;
	for (u32 i = 0; i < v->reports; i++) {
		const struct obj_report *o = v->report[i];

		if (recover_counts_record(r, p, v, o) && o->record->version == s->record_version &&
		    o->record->commit == s->record_commit)
			return &o->layout;
	}
	return NULL;
}

/* Evidence of a layout that no label goes with: a host's record of what it has attached. */
static const struct plan_slot no_slot;

static void take_records(const struct recover *r, const struct recover_plan *p, struct recover_volume *v)
{
	for (u32 i = 0; i < v->reports; i++) {
		if (recover_counts_record(r, p, v, v->report[i]))
			v->found[v->in.nr++] = (struct plan_evidence) { .slot = &no_slot,
									.record = &v->report[i]->layout };
	}
}

static bool is_named(const struct recover *r, const struct recover_plan *p, const struct recover_volume *v,
		     const struct muuid *extent)
{
	bool is = v->has && layout_names(v->has->record, extent);

	for (u32 i = 0; i < v->reports && !is; i++)
		is = recover_counts_record(r, p, v, v->report[i]) && layout_names(v->report[i]->record, extent);
	return is;
}

/* That a member is there is no harm: of such a slot of a client the place counts, and nothing else. */
static void take_slot(const struct recover *r, const struct recover_plan *p, const struct obj_report *o,
		      const struct plan_slot *s)
{
	struct recover_volume *v = find((struct recover_plan *)p, &s->volume);
	struct plan_evidence e = { .drive = o->about, .slot = s };

	if (recover_counts_slot(r, v, o, s)) {
		e.record = record_of(r, p, v, s);
	} else {
		if (!is_named(r, p, v, &s->extent))
			return;
		v->weak[v->weaks] = (struct plan_slot) { .extent = s->extent, .volume = s->volume, .zeroed = s->zeroed };
		e.slot = &v->weak[v->weaks++];
	}
	v->found[v->in.nr++] = e;
}

static int slots_room(struct recover_plan *p)
{
	u32 *n = calloc(p->volumes + 1, sizeof(*n));
	bool lacks = !n;

	for (u32 d = 0; d < p->drives && n; d++) {
		for (u32 e = 0; e < p->drive[d]->extents; e++)
			n[find(p, &p->drive[d]->extent[e].slot.volume) - p->volume]++;
	}
	for (u32 i = 0; i < p->volumes && !lacks; i++) {
		p->volume[i].found = calloc(n[i] + p->volume[i].reports + 1, sizeof(*p->volume[i].found));
		p->volume[i].weak = calloc(n[i] + 1, sizeof(*p->volume[i].weak));
		lacks = !p->volume[i].found || !p->volume[i].weak;
	}
	free(n);
	return lacks ? -ENOMEM : 0;
}

static int take_slots(const struct recover *r, struct recover_plan *p)
{
	int err = slots_room(p);

	if (err)
		return err;
	set_elsewhere(p);
	for (u32 d = 0; d < p->drives; d++) {
		for (u32 e = 0; e < p->drive[d]->extents; e++)
			take_slot(r, p, p->drive[d], &p->drive[d]->extent[e].slot);
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

static void set_writer(const struct recover_plan *p, struct recover_volume *v)
{
	struct plan_claim claim[v->reports + 1];
	const struct plan_claim *c;

	for (u32 i = 0; i < v->reports; i++)
		claim[i] = (struct plan_claim) { .host = v->report[i]->host, .mode = v->report[i]->mode,
						 .serves = v->report[i]->serves, .number = v->report[i]->number };
	for (u32 i = 0; i < v->reports; i++) {
		if (!recover_counts_writer(p, v, v->report[i]))
			claim[i].mode = PLAN_NONE;
	}
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

static void admit(struct recover_volume *v, const struct muuid *host)
{
	for (u32 i = 0; i < v->allows; i++) {
		if (muuid_equal(&v->allow[i], host))
			return;
	}
	if (v->allows < PLAN_ALLOW_MAX && !muuid_null(host))
		v->allow[v->allows++] = *host;
}

/* The store alone says which hosts may attach a volume. Without it: those that have, or had last, attached it. */
static int set_allow(const struct recover *r, struct recover_volume *v)
{
	const struct plan_slot *s = recover_highest(v);

	if (v->has || v->state != PLAN_VOLUME_READY)
		return 0;
	v->allow = calloc(PLAN_ALLOW_MAX, sizeof(*v->allow));
	if (!v->allow)
		return -ENOMEM;
	if (v->writer)
		admit(v, &v->writer->host);
	else if (s)
		admit(v, &s->attacher);
	for (u32 i = 0; i < v->reports; i++) {
		if (v->report[i]->mode == PLAN_RO)
			admit(v, &v->report[i]->host);
	}
	if (!v->allows)
		admit(v, &r->host);
	return 0;
}

static int set_all(const struct recover *r, struct recover_plan *p)
{
	int err = 0;

	for (struct recover_volume *v = p->volume; v < p->volume + p->volumes; v++) {
		v->in.generation = p->mark->generation;
		v->in.volume = v->has ? &v->has->plan : NULL;
		v->in.access = v->access ? &v->access->plan : NULL;
		v->in.found = v->found;
		v->in.seen = p->seen;
		v->in.seens = p->drives;
		take_records(r, p, v);
		v->in.served = served(v);
		v->fate = fate(r, v);
		if (v->state != PLAN_VOLUME_READY && v->fate == RECOVER_SAME)
			v->record = v->has->record;
		set_writer(p, v);
		err = err ?: set_allow(r, v);
		p->doubts += v->fate == RECOVER_DOUBT;
	}
	set_names(r, p);
	return err;
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
		err = take_slots(r, p);
	if (!err)
		err = set_all(r, p);
	return err;
}

void recover_plan_free(struct recover_plan *p)
{
	for (u32 i = 0; i < p->volumes; i++) {
		free(p->volume[i].found);
		free(p->volume[i].weak);
		free(p->volume[i].allow);
		free(p->volume[i].report);
	}
	free(p->volume);
	free(p->drive);
	free(p->seen);
	memset(p, 0, sizeof(*p));
}
