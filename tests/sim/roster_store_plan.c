// SPDX-License-Identifier: GPL-2.0-only
/*
 * The store's objects as userspace/plan sees them, and each transaction by its decision there. A
 * decision and its transaction are one step here: each compares all that it was made from, which is
 * searched elsewhere.
 */
#include <string.h>

#include "tests/sim/roster_store.h"
#include "userspace/plan/again.h"
#include "userspace/plan/change.h"
#include "userspace/plan/forget.h"
#include "userspace/plan/members.h"
#include "userspace/plan/recover.h"

u64 rs_number(u8 number)
{
	return mesh_number(1, RS_COUNTER(number), RS_RESTART(number));
}

u8 rs_packed(u64 number)
{
	return mesh_number_counter(number) << 3 | mesh_number_restart(number);
}

struct muuid rs_host_uuid(int h)
{
	return (struct muuid) { { 0x10 + h } };
}

struct muuid rs_extent_uuid(int d)
{
	return (struct muuid) { { 1 + d } };
}

static struct muuid plan_drive_of(int d)
{
	return (struct muuid) { { 0x20 + d } };
}

struct muuid rs_volume_uuid(void)
{
	return (struct muuid) { { 0x30 } };
}

static u32 plan_places(u16 *list, u8 mask)
{
	u32 n = 0;

	for (u32 i = 0; i < rs_width; i++)
		if (mask >> i & 1)
			list[n++] = i;
	return n;
}

static void plan_layout(const struct rs_state *s, u8 version, u8 forgot, struct plan_place *place,
			struct plan_group *group, struct plan_layout *l)
{
	*group = (struct plan_group) { .members = rs_width, .data = rs_k };
	*l = (struct plan_layout) { .version = version, .commit = 1, .places = rs_width,
				    .groups = 1, .place = place, .group = group };
	for (u32 i = 0; i < rs_width; i++) {
		u8 d = rs_layout(s, version, i);

		place[i] = (struct plan_place) { .group = 0 };
		if (forgot >> d & 1)
			continue;
		place[i].extent = rs_extent_uuid(d);
		place[i].drive = plan_drive_of(d);
	}
}

static void plan_roster(struct plan_roster *to, const struct rs_roster *r)
{
	*to = (struct plan_roster) {
		.attach = r->attach ? rs_number(r->attach) : 0, .epoch = r->epoch,
		.witness = r->flags & PROT_ROSTER_WITNESS, .members = rs_width,
		.in_sync = r->in_sync,
	};
	for (u32 i = 0; i < rs_width; i++)
		to->extent[i] = rs_extent_uuid(i == r->spare ? RS_SPARE : i);
}

void rs_facts(const struct rs_state *s, struct rs_facts *f)
{
	memset(f, 0, sizeof(*f));
	f->volume.uuid = rs_volume_uuid();
	f->volume.state = PLAN_VOLUME_READY;
	f->volume.bar = f->bar;
	f->volume.barred = plan_places(f->bar, s->s.bar);
	plan_layout(s, s->s.version, s->forgot, f->place, &f->group, &f->volume.layout);
	if (s->s.leaving)
		f->place[s->s.place].leaving = rs_extent_uuid(s->s.place);
	f->access.mode = s->s.mode;
	f->access.number = rs_number(s->s.counter << 3);
	f->access.clean = s->s.clean;
	if (s->s.mode == PLAN_RW)
		f->access.holder = rs_host_uuid(s->s.holder);
	plan_roster(&f->roster, &s->s.roster);
	f->rosters = (struct plan_rosters) {
		.number = rs_number(s->s.reporter), .version = s->s.reported,
		.groups = !!s->s.roster.attach, .roster = &f->roster, .bar = f->confirmed,
		.committed = s->s.committed,
	};
	f->rosters.barred = plan_places(f->confirmed, s->s.confirmed);
}

/* Extents of drive/D that an attach opens, too: drive d has that of UUID d + 1. */
static u8 plan_beside(const struct rs_state *s)
{
	struct plan_extent extent[RS_DRIVES];
	struct plan_drive drive[RS_DRIVES];
	struct plan_member m[RS_DRIVES];
	struct rs_facts f;
	u8 all = 0;
	u32 n;

	rs_facts(s, &f);
	for (int d = 0; d < RS_DRIVES; d++) {
		extent[d] = (struct plan_extent) {
			.uuid = rs_extent_uuid(d), .volume = f.volume.uuid, .place = d,
			.state = s->d[d].freed ? PLAN_FREEING : PLAN_READY, .version = s->d[d].record,
		};
		drive[d] = (struct plan_drive) {
			.uuid = plan_drive_of(d), .extents = 1, .extent = &extent[d],
			.wanted = s->forgot >> d & 1 ? PLAN_FORGOTTEN : PLAN_IN,
		};
	}
	n = plan_attach_members(&f.volume, drive, RS_DRIVES, m, RS_DRIVES);
	for (u32 i = 0; i < n; i++)
		all |= 1 << (m[i].extent->uuid.b[0] - 1);
	return all;
}

/*
 * Drives that an attach opens: of the layout, also the one that leaves, and those that the store has
 * beside it, where it is @store. What its rosters name in sync is among these, as it is not freed.
 */
u8 rs_wanted(const struct rs_state *s, u8 version, u8 forgot, bool store)
{
	u8 all = store ? plan_beside(s) : 0;

	if (store && s->s.leaving)
		all |= 1 << s->s.place;
	for (u32 i = 0; i < rs_width; i++)
		all |= 1 << rs_layout(s, version, i);
	for (int d = 0; d < RS_DRIVES; d++)
		if (s->d[d].freed)
			all &= ~(1 << d);
	return all & ~forgot;
}

/* The record of a member of the host's layout is not older than that. */
bool rs_recorded(const struct rs_state *s, int h, int d)
{
	const struct plan_layout l = { .version = s->h[h].version, .commit = 1 };

	for (u32 i = 0; i < rs_width; i++)
		if (rs_layout(s, s->h[h].version, i) == d)
			return plan_change_opens(&l, s->d[d].record, 1);
	return true;
}

bool rs_txn_attach(struct rs_state *s, int h)
{
	struct rs_host *x = &s->h[h];
	struct plan_access next;
	struct plan_txn txn;
	struct rs_facts f;
	struct plan_attach a = { .volume = &f.volume, .access = &f.access, .host = rs_host_uuid(h),
				 .stopped = s->back, .preempt = true };

	rs_facts(s, &f);
	if (plan_attach_rw(&a, &next, &txn) != PLAN_GO)
		return false;
	s->s.mode = next.mode;
	s->s.clean = next.clean;
	s->s.holder = h;
	s->s.counter = mesh_number_counter(next.number);
	s->s.readers = 0;
	x->phase = RS_OPENS;
	x->number = rs_packed(next.number);
	x->version = s->s.version;
	x->forgot = s->forgot;
	x->barred = s->s.bar;
	return true;
}

bool rs_txn_read(struct rs_state *s, int h)
{
	struct rs_host *x = &s->h[h];
	struct plan_txn txn;
	struct rs_facts f;
	struct plan_attach a = { .volume = &f.volume, .access = &f.access, .host = rs_host_uuid(h),
				 .stopped = s->back };
	u64 number;

	rs_facts(s, &f);
	/* The rule of readers and a clean release is not counted on: rosters guard readers here. */
	f.access.clean = true;
	if (plan_attach_ro(&a, &number, &txn) != PLAN_GO)
		return false;
	s->s.readers |= 1 << h;
	x->phase = RS_OPENS;
	x->ro = 1;
	x->number = rs_packed(number);
	x->version = s->s.version;
	x->forgot = s->forgot;
	return true;
}

static struct plan_slot plan_slot(const struct rs_state *s, int d)
{
	const struct rs_drive *e = &s->d[d];
	struct plan_slot slot = {
		.extent = rs_extent_uuid(d), .volume = rs_volume_uuid(),
		.number = e->number ? rs_number(e->number) : 0, .version = e->record, .commit = 1,
		.record_version = e->record, .record_commit = 1, .zeroed = true,
	};

	if (e->attacher)
		slot.attacher = rs_host_uuid(e->attacher - 1);
	return slot;
}

/* The host's record; its arrays are in @f. */
void rs_record(const struct rs_state *s, int h, struct plan_attached *r, struct rs_facts *f)
{
	const struct rs_host *x = &s->h[h];

	memset(f, 0, sizeof(*f));
	*r = (struct plan_attached) { .volume = rs_volume_uuid(), .mode = x->rec_mode,
				      .number = rs_number(x->rec_number), .bar = f->bar };
	r->barred = plan_places(f->bar, x->rec_bar);
	plan_layout(s, x->rec_version, x->rec_forgot, f->place, &f->group, &r->layout);
}

bool rs_may_again(const struct rs_state *s, int h, int d)
{
	struct plan_slot slot = plan_slot(s, d);
	struct plan_attached r;
	struct rs_facts f;
	struct muuid host = rs_host_uuid(h);

	rs_record(s, h, &r, &f);
	return plan_again_opens(&r, &host, &slot);
}

/* Places at which nothing joins, as the host knows after it has come back. */
static u8 plan_again_bars(const struct plan_attached *r)
{
	u8 bars = 0;

	for (u32 i = 0; i < rs_width; i++)
		if (!plan_again_joins(r, i))
			bars |= 1 << i;
	return bars;
}

bool rs_txn_again(struct rs_state *s, int h, u8 drives)
{
	struct rs_host *x = &s->h[h];
	struct plan_slot slot[RS_DRIVES];
	struct plan_found found[RS_DRIVES];
	struct muuid host = rs_host_uuid(h);
	struct plan_attached r;
	struct rs_facts f;
	u64 number;

	rs_record(s, h, &r, &f);
	for (u32 i = 0; i < rs_width; i++) {
		u8 d = rs_layout(s, x->rec_version, i);

		slot[i] = plan_slot(s, d);
		found[i] = (struct plan_found) { .place = i,
						 .slot = drives >> d & 1 ? &slot[i] : NULL };
	}
	if (plan_again(&r, &host, found, rs_width, &number) != PLAN_GO ||
	    mesh_number_restart(number) > 7)
		return false;
	x->phase = RS_OPENS;
	x->again = 1;
	x->ro = x->rec_mode == PLAN_RO;
	x->number = rs_packed(number);
	x->version = x->rec_version;
	x->forgot = x->rec_forgot;
	x->barred = plan_again_bars(&r);
	if (!x->ro)
		x->rec_number = x->number;
	return true;
}

/* An attach ends that has served nothing; a reader's key goes. */
void rs_txn_held(struct rs_state *s, int h)
{
	struct muuid host = rs_host_uuid(h);
	struct plan_access next;
	struct plan_txn txn;
	struct rs_facts f;

	if (s->back)
		return;
	s->s.readers &= ~(1 << h);
	rs_facts(s, &f);
	if (!s->h[h].ro && !s->h[h].again &&
	    plan_held(&f.access, &host, rs_number(s->h[h].number), &next, &txn) == PLAN_GO) {
		s->s.mode = next.mode;
		s->s.clean = next.clean;
	}
}

void rs_txn_release(struct rs_state *s, int h)
{
	static const struct rs_roster none;
	struct rs_host *x = &s->h[h];
	struct muuid host = rs_host_uuid(h);
	struct plan_access next;
	struct plan_txn txn;
	struct rs_facts f;

	rs_facts(s, &f);
	if (plan_release(&f.access, &host, rs_number(x->ends), &next, &txn) == PLAN_GO) {
		s->s.mode = next.mode;
		s->s.clean = next.clean;
		if (txn.put & PLAN_OBJ_ROSTER) {
			s->s.roster = x->last;
			s->s.reporter = RS_ACCESS(x->ends);
			s->s.confirmed = 0;
			s->s.committed = 1;
		}
	}
	x->ends = 0;
	x->last = none;
}

bool rs_may_note(const struct rs_state *s, int h)
{
	struct muuid host = rs_host_uuid(h);
	struct plan_txn txn;
	struct rs_facts f;

	rs_facts(s, &f);
	return plan_note(&f.volume, &f.access, &host, rs_number(s->h[h].number), s->back,
			 &txn) == PLAN_GO;
}

/*
 * roster/V becomes what the kernel says now: the roster to be noted first, else the committed one,
 * unless a later one is noted. What is noted first is always later. Return: true if it did.
 */
bool rs_note(struct rs_state *s, int h)
{
	struct rs_host *x = &s->h[h];
	bool first = x->pending && x->unnoted;
	struct plan_roster next, noted;
	struct prot_membership m;

	if (!first && !x->serving)
		return false;
	plan_roster(&next, first ? &x->pend : &x->cur);
	plan_roster(&noted, &s->s.roster);
	if (!plan_note_raises(&noted, &next)) {
		if (first)
			rs_bad = "a roster that is to be noted first is older than the one noted";
		return false;
	}
	rs_load(&m, x);
	s->s.roster = first ? x->pend : x->cur;
	s->s.committed = !first;
	s->s.reporter = RS_ACCESS(x->number);
	s->s.reported = x->version;
	s->s.confirmed = prot_membership_barred(&m) & s->s.bar;	/* those still wanted */
	if (first)
		x->unnoted = 0;
	return true;
}

static u64 plan_mask(const struct plan_roster *r, u8 drives)
{
	u64 mask = 0;

	for (u32 i = 0; i < rs_width; i++)
		if (drives >> (r->extent[i].b[0] - 1) & 1)
			mask |= 1ULL << i;
	return mask;
}

bool rs_given_up(const struct rs_state *s, const struct prot_attach *a)
{
	struct rs_roster found = rs_pack(a->found);
	struct plan_roster p, noted;
	struct plan_group_found g = { .found = &p, .data = rs_k };
	u8 drives = 0;

	for (u32 i = 0; i < a->n; i++)
		drives |= 1 << (a->opened[i][0] - 1);
	plan_roster(&p, &found);
	plan_roster(&noted, &s->s.roster);
	g.noted = a->store ? &noted : NULL;
	g.found_opened = plan_mask(&p, drives);
	g.found_forgotten = plan_mask(&p, s->forgot);
	g.noted_opened = plan_mask(&noted, drives);
	g.noted_forgotten = plan_mask(&noted, s->forgot);
	g.away = rs_wanted(s, s->s.version, s->forgot, false) & ~drives;
	return plan_given_up(&g);
}

/* Also of drives that are not found: it stands for the generation, which is above all of them. */
static u8 plan_highest(const struct rs_state *s)
{
	u8 n = 0;

	for (int d = 0; d < RS_DRIVES; d++)
		n = s->d[d].number > n ? s->d[d].number : n;

	for (int h = 0; h < 2; h++) {
		const struct rs_host *x = &s->h[h];

		n = x->number > n ? x->number : n;
		n = x->rec_number > n ? x->rec_number : n;
		n = x->ends > n ? x->ends : n;
	}
	return n;
}

/* cluster recover, with the labels and records of @drives. */
bool rs_recover(struct rs_state *s, u8 drives)
{
	static const struct rs_roster none;
	struct plan_place place[RS_DRIVES][RS_DRIVES];
	struct plan_group group[RS_DRIVES];
	struct plan_layout record[RS_DRIVES];
	struct plan_slot slot[RS_DRIVES];
	struct plan_evidence found[RS_DRIVES];
	struct plan_recovered out;
	struct rs_facts f;
	struct plan_recover r = { .generation = 1, .volume = &f.volume, .access = &f.access,
				  .found = found };

	rs_facts(s, &f);
	r.served = rs_number(plan_highest(s));
	for (int d = 0; d < RS_DRIVES; d++) {
		if (!(drives >> d & 1) || s->d[d].freed || !s->d[d].record)
			continue;
		slot[d] = plan_slot(s, d);
		plan_layout(s, s->d[d].record, s->forgot, place[d], &group[d], &record[d]);
		found[r.nr++] = (struct plan_evidence) {
			.drive = plan_drive_of(d), .slot = &slot[d], .record = &record[d],
		};
	}
	if (plan_recover(&r, &out) != PLAN_GO)
		return false;
	s->s.mode = out.access.mode;
	s->s.clean = out.access.clean;
	for (int h = 0; h < 2 && out.access.mode == PLAN_RW; h++) {
		struct muuid host = rs_host_uuid(h);

		if (muuid_equal(&out.access.holder, &host))
			s->s.holder = h;
	}
	s->s.counter = mesh_number_counter(out.access.number);
	s->s.version = out.layout->version;
	s->s.bar = s->s.confirmed = s->s.leaving = 0;
	s->s.readers = 0;
	if (!out.rosters)
		s->s.roster = none;
	s->back = 0;
	return true;
}
