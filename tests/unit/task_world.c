// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>

#include "tests/unit/task_world.h"
#include "userspace/plan/extent.h"

unsigned int tworld_left;

static u32 draw(struct tworld *w, u32 n)
{
	w->seed = w->seed * 6364136223846793005ULL + 1442695040888963407ULL;
	return (w->seed >> 33) % n;
}

static struct muuid id(u8 kind, u32 n)
{
	return (struct muuid) { .b = { kind, n >> 8, n } };
}

static const struct muuid host_id = { .b = { 'h', 0, 1 } };

/* Pointers of a copy show into the copy. */
static void anchor(struct tstore *s)
{
	s->volume.layout.place = s->place;
	s->volume.bar = s->bar;
	s->rosters.roster = &s->roster;
	s->rosters.bar = s->rbar;
	for (u32 d = 0; d < DRIVES; d++)
		s->drive[d].extent = s->extent[d];
	for (u32 t = 0; t < TASKS; t++)
		s->task[t].put = s->put[t];
}

static void read_store(struct tworld *w, struct tstore *view)
{
	*view = w->s;
	anchor(view);
}

/* @drives: bit for each that the transaction compares with PLAN_OBJ_DRIVES. */
static bool compares(const struct tworld *w, const struct tstore *v, const struct plan_txn *t, u32 drives)
{
	const struct tstore *s = &w->s;

	for (u32 d = 0; d < DRIVES; d++) {
		if ((t->compare & PLAN_OBJ_DRIVES) && (drives >> d & 1) && s->rev_drive[d] != v->rev_drive[d])
			return false;
	}
	return (!(t->compare & PLAN_OBJ_VOLUME) || s->rev_volume == v->rev_volume) &&
	       (!(t->compare & PLAN_OBJ_ACCESS) || s->rev_access == v->rev_access) &&
	       (!(t->compare & PLAN_OBJ_ROSTER) || s->rev_roster == v->rev_roster) &&
	       (!(t->compare & PLAN_OBJ_LEADER) || s->rev_leader == v->rev_leader);
}

static struct plan_extent *key_of(struct tstore *s, u32 d, const struct muuid *x)
{
	for (u32 i = 0; i < s->drive[d].extents; i++) {
		if (muuid_equal(&s->extent[d][i].uuid, x))
			return &s->extent[d][i];
	}
	return NULL;
}

static void key_del(struct tstore *s, u32 d, const struct muuid *x)
{
	struct plan_extent *e = key_of(s, d, x);

	if (!e)
		return;
	*e = s->extent[d][--s->drive[d].extents];
	s->rev_drive[d]++;
}

static struct plan_slot *slot_of(struct tlabel *l, const struct muuid *x)
{
	for (u32 i = 0; i < l->nr; i++) {
		if (muuid_equal(&l->slot[i].extent, x))
			return &l->slot[i];
	}
	return NULL;
}

static u32 drive_of(const struct muuid *d)
{
	return d->b[2];
}

/* ---- agents of drives */

static void removed(struct tworld *w, u32 d, const struct muuid *x)
{
	struct tkernel *k = &w->k;
	struct tlabel *l = &w->label[d];

	if (w->s.exists && w->s.volume.state == PLAN_VOLUME_READY &&
	    plan_layout_names(&w->s.volume.layout, x))
		w->bad = "an extent of the decided layout is removed";
	for (u32 p = 0; k->serves && p < k->places; p++) {
		if (muuid_equal(&k->place[p].extent, x) && w->s.volume.state == PLAN_VOLUME_READY)
			w->bad = "an extent that the kernel uses is removed";
	}
	*slot_of(l, x) = l->slot[l->nr - 1];
	l->nr--;
}

static void agent_txn(struct tworld *w, u32 d, enum plan_extent_step what, const struct muuid *x,
		      const struct plan_txn *t, const struct plan_slot *s)
{
	struct tstore *v = &w->agent[d];
	struct plan_extent *e;

	if (!compares(w, v, t, 1U << d))
		return;
	if (what == PLAN_X_ERASE) {
		key_del(&w->s, d, x);
		return;
	}
	e = key_of(&w->s, d, x);
	if (!e && what == PLAN_X_ADOPT && w->s.drive[d].extents < SLOTS) {
		e = &w->s.extent[d][w->s.drive[d].extents++];
		*e = (struct plan_extent) { .uuid = *x, .volume = s->volume, .state = PLAN_READY };
	}
	if (!e)
		return;
	if (what == PLAN_X_READY)
		e->state = PLAN_READY;
	e->version = s->record_version;
	w->s.rev_drive[d]++;
}

/* One extent: of drive/D, or of the label where drive/D lacks it. */
static void agent_extent(struct tworld *w, u32 d, const struct plan_extent *key, struct plan_slot *s)
{
	static const struct plan_cluster cluster;
	struct tstore *v = &w->agent[d];
	struct muuid x = key ? key->uuid : s->extent;
	struct plan_extent_facts f = { .key = key, .slot = s, .cluster = &cluster, .here = true,
				       .fresh = w->fresh[d], .volume = v->exists ? &v->volume : NULL,
				       .access = v->exists ? &v->access : NULL };
	struct plan_txn t;
	enum plan_extent_step what = plan_extent_step(&f, &t);
	struct tlabel *l = &w->label[d];

	switch (what) {
	case PLAN_X_ADD:
		l->slot[l->nr++] = (struct plan_slot) { .extent = x, .volume = key->volume };
		break;
	case PLAN_X_ZERO:
		s->zeroed = true;
		break;
	case PLAN_X_RECORD:
		s->record_version = v->volume.layout.version;
		break;
	case PLAN_X_ROLL:
		if (s->record_version < v->volume.layout.version)
			w->bad = "a label is ahead of its record";
		s->version = v->volume.layout.version;
		break;
	case PLAN_X_FRESH:
		read_store(w, v);
		w->fresh[d] = true;
		return;
	case PLAN_X_REMOVE:
		removed(w, d, &x);
		break;
	case PLAN_X_READY:
	case PLAN_X_RECORDED:
	case PLAN_X_ERASE:
	case PLAN_X_ADOPT:
		agent_txn(w, d, what, &x, &t, s);
		break;
	default:
		break;
	}
	w->fresh[d] = false;
}

static void agent(struct tworld *w, u32 d)
{
	struct tlabel *l = &w->label[d];
	struct tstore *v = &w->agent[d];
	u32 n = v->drive[d].extents + l->nr, i;

	if (!n)
		return;
	i = draw(w, n);
	if (i < v->drive[d].extents) {
		agent_extent(w, d, &v->extent[d][i], slot_of(l, &v->extent[d][i].uuid));
	} else if (!key_of(v, d, &l->slot[i - v->drive[d].extents].extent)) {
		agent_extent(w, d, NULL, &l->slot[i - v->drive[d].extents]);
	}
}

/* ---- the controllers */

/* Extents of a new task, on drives that have none of the volume. */
static void place(struct tworld *w, struct tstore *v, u32 t)
{
	struct plan_task *task = &w->s.task[t];
	u32 n = task->kind == PLAN_TASK_CREATE ? 2 : 1, first = 0;

	if (task->kind != PLAN_TASK_CREATE)
		first = task->kind == PLAN_TASK_EXTEND ? v->volume.layout.places : 0;
	for (u32 i = 0; i < n; i++) {
		w->s.put[t][i] = (struct plan_task_put) { .place = first + i, .extent = id('x', ++w->ids),
							  .drive = id('d', (draw(w, 2) + 2 * i) % DRIVES) };
	}
	if (first + n > PLACES) {
		task->state = PLAN_TASK_ENDED;
		return;
	}
	task->puts = n;
	task->state = PLAN_TASK_PLACED;
	if (task->kind != PLAN_TASK_CREATE)
		return;
	w->s.exists = true;
	w->s.volume = (struct plan_volume) { .uuid = task->volume, .state = PLAN_CREATING };
	w->s.volume.layout = (struct plan_layout) { .version = 1, .places = 2 };
	w->s.access = (struct plan_access) { .mode = PLAN_NONE };
	for (u32 i = 0; i < 2; i++)
		w->s.place[i] = (struct plan_place) { .extent = w->s.put[t][i].extent,
						      .drive = w->s.put[t][i].drive, .group = PLAN_NO_GROUP };
	anchor(&w->s);
	w->s.rev_volume++;
	w->s.rev_access++;
}

static u32 drives_of(const struct tstore *v, u32 t)
{
	u32 all = 0;

	for (u32 i = 0; i < v->task[t].puts; i++)
		all |= 1U << drive_of(&v->put[t][i].drive);
	return all;
}

static void allocate(struct tworld *w, const struct tstore *v, u32 t, const struct plan_task_step *s)
{
	for (u32 i = s->first; i < s->first + s->nr; i++) {
		const struct plan_task_put *p = &v->put[t][i];
		u32 d = drive_of(&p->drive);

		if (key_of(&w->s, d, &p->extent) || w->s.drive[d].extents == SLOTS)
			continue;
		w->s.extent[d][w->s.drive[d].extents++] = (struct plan_extent) {
			.uuid = p->extent, .volume = v->task[t].volume, .state = PLAN_WANTED };
		w->s.rev_drive[d]++;
	}
}

static void free_extents(struct tworld *w, const struct plan_task_facts *f)
{
	for (u32 d = 0; d < DRIVES; d++) {
		for (u32 i = 0; i < f->drive[d].extents; i++) {
			struct plan_extent *e = key_of(&w->s, d, &f->drive[d].extent[i].uuid);

			if (!e || !plan_task_frees(f, &f->drive[d].extent[i]))
				continue;
			e->state = PLAN_FREEING;
			w->s.rev_drive[d]++;
		}
	}
}

/* The places of this task's change; those of other tasks stay barred. */
static void unbar(struct tstore *s, const struct tstore *v, u32 t)
{
	u32 n = 0;

	for (u32 i = 0; i < s->volume.barred; i++) {
		bool done = false;

		for (u32 p = 0; p < v->task[t].puts; p++)
			done |= v->put[t][p].place == s->bar[i];
		if (!done)
			s->bar[n++] = s->bar[i];
	}
	s->volume.barred = n;
}

static void change(struct tworld *w, const struct tstore *v, u32 t, bool evict)
{
	struct tstore *s = &w->s;

	/* The new layout is made of the one that was read. */
	memcpy(s->place, v->place, sizeof(s->place));
	s->volume.layout.places = v->volume.layout.places;
	for (u32 i = 0; i < v->task[t].puts; i++) {
		const struct plan_task_put *p = &v->put[t][i];
		struct muuid leaving = evict ? v->place[p->place].extent : v->place[p->place].leaving;
		struct plan_extent *e = key_of(s, drive_of(&p->drive), &p->extent);

		if (!e || e->state != PLAN_READY)
			w->bad = "a layout names an extent that is not ready";
		if (p->place >= s->volume.layout.places)
			s->volume.layout.places = p->place + 1;
		s->place[p->place] = (struct plan_place) { .extent = p->extent, .drive = p->drive,
			.group = w->group && p->place < 2 ? 0 : PLAN_NO_GROUP, .leaving = leaving };
		if (v->task[t].kind == PLAN_TASK_EVICT && !w->group)
			w->bad = "a member without redundancy is evicted";
	}
	if (s->volume.state != PLAN_VOLUME_READY)
		w->bad = "a volume is changed that is not ready";
	if (s->volume.layout.version != v->volume.layout.version)
		w->bad = "a change is lost";
	s->task[t].version = s->volume.layout.version = v->volume.layout.version + 1;
	s->task[t].state = PLAN_TASK_DECIDED;
	unbar(s, v, t);
	s->rev_volume++;
}

static void do_txn(struct tworld *w, const struct tstore *v, u32 t, const struct plan_task_facts *f,
		   const struct plan_task_step *s)
{
	switch (s->what) {
	case PLAN_T_PLACE:
		place(w, (struct tstore *)v, t);
		break;
	case PLAN_T_ALLOCATE:
		allocate(w, v, t, s);
		break;
	case PLAN_T_BAR:
		w->s.bar[w->s.volume.barred++] = s->place;
		w->s.rev_volume++;
		break;
	case PLAN_T_READY:
		w->s.volume.state = PLAN_VOLUME_READY;
		w->s.rev_volume++;
		w->s.task[t].state = PLAN_TASK_ENDED;
		break;
	case PLAN_T_CHANGE:
		change(w, v, t, s->evict);
		break;
	case PLAN_T_LEFT:
		w->s.place[s->place].leaving = (struct muuid) { 0 };
		tworld_left++;
		w->s.rev_volume++;
		break;
	case PLAN_T_DOOM:
		if (w->k.serves && w->s.access.mode == PLAN_RW && !v->task[t].preempt)
			w->bad = "an attached volume is deleted";
		w->s.volume.state = PLAN_DELETING;
		w->s.access = s->access;
		w->s.rev_volume++;
		w->s.rev_access++;
		break;
	case PLAN_T_FREE:
		free_extents(w, f);
		break;
	case PLAN_T_ERASE:
		w->s.exists = false;
		w->s.rev_volume++;
		w->s.task[t].state = PLAN_TASK_ENDED;
		break;
	case PLAN_T_FAIL:
		w->s.task[t].cancel = true;
		break;
	case PLAN_T_END:
		w->s.task[t].state = PLAN_TASK_ENDED;
		break;
	case PLAN_T_WAIT:
		return;
	}
	w->s.rev_task[t]++;
}

static void controller(struct tworld *w, u32 c)
{
	struct tstore *v = &w->view[c];
	struct plan_task_facts f = { .drives = DRIVES, .drive = v->drive };
	struct plan_task_step s;
	u32 t, drives;

	if (!v->tasks)
		return;
	t = draw(w, v->tasks);
	f.task = &v->task[t];
	if (v->exists) {
		f.volume = &v->volume;
		f.access = &v->access;
		f.rosters = &v->rosters;
	}
	plan_task(&f, &s);
	drives = s.what == PLAN_T_ALLOCATE || s.what == PLAN_T_CHANGE ? drives_of(v, t) : ~0U;
	/* What all steps compare: the task as it was read, and that this controller leads. */
	s.txn.compare |= PLAN_OBJ_LEADER;
	if (s.what == PLAN_T_WAIT || w->s.rev_task[t] != v->rev_task[t] || !compares(w, v, &s.txn, drives))
		return;
	do_txn(w, v, t, &f, &s);
}

/* ---- the host that attaches */

static void host_attach(struct tworld *w)
{
	struct tstore *v = &w->host;
	struct plan_attach a = { .volume = &v->volume, .access = &v->access, .host = host_id };
	struct plan_access next;
	struct plan_txn t;

	if (!v->exists || plan_attach_rw(&a, &next, &t) != PLAN_GO || !compares(w, v, &t, 0))
		return;
	w->s.access = next;
	w->s.rev_access++;
	w->k = (struct tkernel) { .serves = true, .number = next.number, .version = v->volume.layout.version,
				  .places = v->volume.layout.places, .in_sync = w->group ? 3 : 0 };
	memcpy(w->k.place, v->place, sizeof(w->k.place));
	/* What leaves has the data: the copy begins again. */
	for (u32 p = 0; p < PLACES; p++) {
		if (muuid_null(&v->place[p].leaving))
			continue;
		w->k.place[p].extent = v->place[p].leaving;
		w->k.version = v->volume.layout.version - 1;
	}
	if (w->s.volume.state != PLAN_VOLUME_READY)
		w->bad = "a volume is attached that is not ready";
}

static void host_report(struct tworld *w)
{
	struct tstore *v = &w->host;
	struct plan_txn t;

	if (!v->exists || plan_note(&v->volume, &v->access, &host_id, w->k.number, false, &t) != PLAN_GO ||
	    !compares(w, v, &t, 0))
		return;
	w->s.rosters = (struct plan_rosters) { .number = w->k.number, .version = w->k.version,
					       .groups = w->group, .committed = true };
	w->s.roster = (struct plan_roster) { .attach = w->k.number, .members = 2, .in_sync = w->k.in_sync };
	for (u32 p = 0; p < 2; p++)
		w->s.roster.extent[p] = w->k.place[p].extent;
	for (u32 p = 0; p < PLACES; p++) {
		if (w->k.barred >> p & 1)
			w->s.rbar[w->s.rosters.barred++] = p;
	}
	anchor(&w->s);
	w->s.rev_roster++;
}

static void host_set(struct tworld *w)
{
	struct tstore *v = &w->host;
	const struct plan_layout *l = &v->volume.layout;
	static const struct plan_group mirror = { .members = 2, .data = 1 };
	struct plan_layout has = { .places = w->k.places, .place = w->k.place }, next = *l;
	bool recorded[PLACES] = { 0 };

	if (!v->exists || l->version <= w->k.version || v->access.number != w->k.number)
		return;
	next.groups = w->group;
	next.group = &mirror;
	for (u32 p = 0; p < l->places; p++) {
		const struct plan_extent *e = key_of(v, drive_of(&v->place[p].drive), &v->place[p].extent);

		recorded[p] = e && e->version >= l->version;
	}
	if (!plan_change_set(&next, &has, recorded))
		return;
	for (u32 p = 0; w->group && p < 2; p++) {
		/* A copy takes its time. */
		if (!muuid_null(&v->place[p].leaving) && draw(w, 3))
			return;
		if (!muuid_equal(&w->k.place[p].extent, &v->place[p].extent) && (w->k.in_sync >> p & 1) &&
		    !muuid_equal(&w->k.place[p].extent, &v->place[p].leaving))
			w->bad = "a layout drops a member in sync";
	}
	w->k.version = l->version;
	w->k.places = l->places;
	memcpy(w->k.place, v->place, sizeof(w->k.place));
	w->k.barred = 0;
	for (u32 i = 0; i < v->volume.barred; i++)
		w->k.barred |= 1U << v->bar[i];
}

static void host(struct tworld *w)
{
	struct tstore *v = &w->host;
	struct plan_access next;
	struct plan_txn t;

	if (!w->k.serves) {
		host_attach(w);
		return;
	}
	switch (draw(w, 6)) {
	case 0:		/* a member is lost, or has caught up */
		if (w->group && (w->k.in_sync & 1) && !w->k.barred)
			w->k.in_sync &= ~1U;
		else if (w->group && !(w->k.barred & 1))
			w->k.in_sync |= 1;
		break;
	case 1:
		for (u32 i = 0; v->exists && i < v->volume.barred; i++) {
			if (v->access.number == w->k.number && v->volume.layout.version == w->k.version)
				w->k.barred |= 1U << v->bar[i];
		}
		break;
	case 2:
		host_report(w);
		break;
	case 3:
		host_set(w);
		break;
	case 4:
		if (draw(w, 8) || !v->exists)
			break;
		w->k.serves = false;
		if (plan_release(&w->s.access, &host_id, w->k.number, &next, &t) == PLAN_GO) {
			w->s.access = next;
			w->s.rev_access++;
		}
		break;
	case 5:
		break;
	}
	/* A volume that was deleted under it. */
	if (w->s.access.mode != PLAN_RW)
		w->k.serves = false;
}

/* ---- the world */

static void new_task(struct tworld *w, u8 kind)
{
	u32 t = w->s.tasks;

	if (t == TASKS)
		return;
	w->s.task[t] = (struct plan_task) { .uuid = id('t', t), .volume = id('v', 1), .kind = kind,
					    .state = PLAN_TASK_NEW, .preempt = draw(w, 2) };
	w->s.tasks++;
	anchor(&w->s);
}

static void user(struct tworld *w)
{
	u32 n = draw(w, 40);

	if (!w->s.tasks)
		new_task(w, PLAN_TASK_CREATE);
	else if (n < 4)
		new_task(w, (u8[]) { PLAN_TASK_EXTEND, PLAN_TASK_REPLACE, PLAN_TASK_DELETE, PLAN_TASK_EVICT }[n]);
	else if (n == 4)
		w->s.task[draw(w, w->s.tasks)].cancel = true;
	else
		return;
	for (u32 t = 0; t < w->s.tasks; t++)
		w->s.rev_task[t]++;
}

static void once(struct tworld *w)
{
	u32 n = draw(w, 16);

	if (n < 4)
		agent(w, n);
	else if (n < 6)
		controller(w, n - 4);
	else if (n < 8)
		read_store(w, &w->view[n - 6]);
	else if (n < 12)
		read_store(w, &w->agent[n - 8]);
	else if (n == 12)
		read_store(w, &w->host);
	else if (n == 13)
		host(w);
	else if (n == 14)
		user(w);
	else if (!draw(w, 4))
		w->s.rev_leader++;
	if (w->group && w->s.exists) {
		w->s.place[0].group = w->s.place[1].group = 0;
		w->s.volume.layout.groups = 1;
	}
}

/* Everybody sees everything, again and again: what is left must be right. */
static void settle(struct tworld *w)
{
	for (u32 i = 0; i < 4000 && !w->bad; i++) {
		u32 d = draw(w, DRIVES);

		read_store(w, &w->agent[d]);
		agent(w, d);
		agent(w, d);
		read_store(w, &w->view[0]);
		controller(w, 0);
		read_store(w, &w->host);
		host(w);
	}
}

/* With all tasks ended: a former member that is still there. */
static bool left_over(const struct tworld *w)
{
	for (u32 t = 0; t < w->s.tasks; t++) {
		if (w->s.task[t].state != PLAN_TASK_ENDED)
			return false;
	}
	for (u32 d = 0; d < DRIVES; d++) {
		for (u32 i = 0; i < w->s.drive[d].extents; i++) {
			const struct plan_extent *e = &w->s.extent[d][i];

			if (e->version && !plan_layout_names(&w->s.volume.layout, &e->uuid))
				return true;
		}
	}
	return false;
}

static const char *wrong(struct tworld *w)
{
	bool gone = !w->s.exists;

	if (!gone && left_over(w))
		return "a member that was replaced is never freed";

	for (u32 t = 0; t < w->s.tasks; t++) {
		bool waits = w->s.task[t].kind == PLAN_TASK_REPLACE || w->s.task[t].kind == PLAN_TASK_DELETE;

		/* Replace waits for a member to be lost, delete for the holder. */
		if (w->s.task[t].state != PLAN_TASK_ENDED && !waits)
			return "a task never ends";
	}
	for (u32 d = 0; d < DRIVES; d++) {
		for (u32 i = 0; i < w->label[d].nr; i++) {
			const struct muuid *x = &w->label[d].slot[i].extent;

			if (!key_of(&w->s, d, x))
				return "a label has an extent that the store lacks";
		}
		for (u32 i = 0; gone && i < w->s.drive[d].extents; i++)
			return "space of a volume that is gone";
	}
	for (u32 p = 0; !gone && w->s.volume.state == PLAN_VOLUME_READY && p < w->s.volume.layout.places; p++) {
		u32 d = drive_of(&w->s.place[p].drive);
		struct plan_slot *s = slot_of(&w->label[d], &w->s.place[p].extent);

		if (!s || !s->zeroed || !key_of(&w->s, d, &w->s.place[p].extent))
			return "a layout names an extent that is not there";
		if (s->record_version < w->s.volume.layout.version)
			return "an extent lacks the record";
	}
	return NULL;
}

const char *tworld_run(u64 seed, bool group, unsigned int steps, bool *done)
{
	static struct tworld w;

	memset(&w, 0, sizeof(w));
	w.seed = seed;
	w.group = group;
	for (u32 d = 0; d < DRIVES; d++)
		w.s.drive[d].uuid = id('d', d);
	anchor(&w.s);
	read_store(&w, &w.view[0]);
	read_store(&w, &w.view[1]);
	read_store(&w, &w.host);
	for (u32 d = 0; d < DRIVES; d++)
		read_store(&w, &w.agent[d]);
	for (unsigned int i = 0; i < steps && !w.bad; i++)
		once(&w);
	if (!w.bad)
		settle(&w);
	*done = w.s.exists && w.s.volume.layout.version > 1;
	return w.bad ? w.bad : wrong(&w);
}
