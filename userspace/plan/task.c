// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>

#include "userspace/plan/task.h"

static void step(struct plan_task_step *s, enum plan_task_what what, u32 compare, u32 put)
{
	s->what = what;
	s->txn = (struct plan_txn) { .compare = compare, .put = put };
}

static void wait_for(struct plan_task_step *s, enum plan_task_why why, const struct muuid *drive)
{
	s->what = PLAN_T_WAIT;
	s->why = why;
	if (drive)
		s->drive = *drive;
}

/* Some verdicts change with time, others not before the command is another one. */
static void refused(struct plan_task_step *s, enum plan_verdict v)
{
	s->what = v == PLAN_WAIT || v == PLAN_STOPPED || v == PLAN_UNKNOWN ? PLAN_T_WAIT : PLAN_T_FAIL;
	s->why = PLAN_WHY_VERDICT;
	s->verdict = v;
}

static const struct plan_extent *find(const struct plan_task_facts *f, const struct plan_task_put *p)
{
	for (u32 d = 0; d < f->drives; d++) {
		if (!muuid_equal(&f->drive[d].uuid, &p->drive))
			continue;
		for (u32 i = 0; i < f->drive[d].extents; i++) {
			if (muuid_equal(&f->drive[d].extent[i].uuid, &p->extent))
				return &f->drive[d].extent[i];
		}
	}
	return NULL;
}

static bool is_put(const struct plan_task *t, const struct muuid *extent)
{
	for (u32 i = 0; i < t->puts; i++) {
		if (muuid_equal(&t->put[i].extent, extent))
			return true;
	}
	return false;
}

/* Another extent takes the place of a member, which is freed at the end. */
static bool replaces(const struct plan_task *t)
{
	return t->kind == PLAN_TASK_REPLACE || t->kind == PLAN_TASK_EVICT;
}

/* The whole volume goes: deleted, or its create was cancelled. */
static bool goes(const struct plan_task_facts *f)
{
	return f->volume && f->volume->state == PLAN_DELETING;
}

bool plan_task_frees(const struct plan_task_facts *f, const struct plan_extent *x)
{
	struct plan_txn t;

	if (!muuid_equal(&x->volume, &f->task->volume) || x->state == PLAN_FREEING || !f->volume)
		return false;
	if (goes(f))
		return true;
	/* What another task allocates for this volume is not named either, until it is decided. */
	if (f->task->state == PLAN_TASK_PLACED && f->task->cancel)
		return is_put(f->task, &x->uuid) && !plan_layout_names(&f->volume->layout, &x->uuid);
	if (!replaces(f->task) || f->task->state != PLAN_TASK_DECIDED ||
	    is_put(f->task, &x->uuid) || x->version == 0)
		return false;
	return plan_freeable(x, f->volume, f->access, f->rosters, f->stopped, &t) == PLAN_GO;
}

/* PLAN_T_FREE if an extent is to be freed now, else a wait for those that are being freed. */
static bool free_step(const struct plan_task_facts *f, struct plan_task_step *s, bool await)
{
	bool wait = false;

	for (u32 d = 0; d < f->drives; d++) {
		for (u32 i = 0; i < f->drive[d].extents; i++) {
			const struct plan_extent *x = &f->drive[d].extent[i];

			if (plan_task_frees(f, x)) {
				step(s, PLAN_T_FREE, PLAN_OBJ_VOLUME | PLAN_OBJ_ACCESS | PLAN_OBJ_ROSTER |
				     PLAN_OBJ_DRIVES, PLAN_OBJ_DRIVES);
				return true;
			}
			if (!await || wait || !muuid_equal(&x->volume, &f->task->volume))
				continue;
			wait = true;
			wait_for(s, PLAN_WHY_FREED, &f->drive[d].uuid);
		}
	}
	return wait;
}

/* Keys of all puts. Return: false: @s says what is to be done first. */
static bool allocated(const struct plan_task_facts *f, struct plan_task_step *s)
{
	const struct plan_task *t = f->task;
	u32 first = t->puts, nr = 0;

	for (u32 i = 0; i < t->puts; i++) {
		if (find(f, &t->put[i]))
			continue;
		if (!nr)
			first = i;
		/* Puts in a row; what lies between them is allocated already. */
		if (i - first >= PLAN_TASK_DRIVES)
			break;
		nr = i - first + 1;
	}
	if (!nr)
		return true;
	step(s, PLAN_T_ALLOCATE, PLAN_OBJ_VOLUME | PLAN_OBJ_DRIVES, PLAN_OBJ_DRIVES);
	s->first = first;
	s->nr = nr;
	return false;
}

/* All puts are zeroed, and have the record of @version. */
static bool prepared(const struct plan_task_facts *f, struct plan_task_step *s, u64 version)
{
	for (u32 i = 0; i < f->task->puts; i++) {
		const struct plan_task_put *p = &f->task->put[i];
		const struct plan_extent *x = find(f, p);

		if (!x || x->state == PLAN_FREEING) {
			s->what = PLAN_T_FAIL;
			s->why = PLAN_WHY_ZERO;
			s->drive = p->drive;
			return false;
		}
		if (x->state != PLAN_READY || x->version < version) {
			wait_for(s, x->state != PLAN_READY ? PLAN_WHY_ZERO : PLAN_WHY_RECORD, &p->drive);
			return false;
		}
	}
	return true;
}

static const struct plan_place *place_of(const struct plan_task_facts *f, const struct plan_task_put *p)
{
	const struct plan_layout *l = &f->volume->layout;

	return p->place < l->places ? &l->place[p->place] : NULL;
}

/* True: the member is in sync, and is copied; else what it has is rebuilt. */
static bool copies(const struct plan_task_facts *f)
{
	const struct plan_place *at = f->task->puts ? place_of(f, &f->task->put[0]) : NULL;

	return f->task->kind == PLAN_TASK_EVICT && at && plan_in_sync(f->rosters, f->access, &at->extent);
}

/* An eviction is possible, and the holder has said if the member is in sync. */
static bool judged(const struct plan_task_facts *f, struct plan_task_step *s)
{
	const struct plan_place *at = f->task->puts ? place_of(f, &f->task->put[0]) : NULL;
	const struct plan_rosters *r = f->rosters;

	if (f->task->kind != PLAN_TASK_EVICT)
		return true;
	if (!at || at->group == PLAN_NO_GROUP) {
		refused(s, PLAN_ALONE);
		return false;
	}
	if (f->access->mode == PLAN_RW &&
	    (!r || !r->committed || mesh_number_access(r->number) != mesh_number_access(f->access->number))) {
		wait_for(s, PLAN_WHY_KERNEL, NULL);
		return false;
	}
	return true;
}

static void decide(const struct plan_task_facts *f, struct plan_task_step *s)
{
	const struct plan_task *t = f->task;
	struct plan_put put[PLAN_TASK_DRIVES];
	struct plan_change c = { .volume = f->volume, .access = f->access, .rosters = f->rosters,
				 .stopped = f->stopped, .put = put, .evict = copies(f) };
	enum plan_verdict v = PLAN_GO;

	/* One change, judged in parts: a part that may not be done forbids it all. */
	for (u32 i = 0; v == PLAN_GO && (i < t->puts || !i); i += PLAN_TASK_DRIVES) {
		for (c.puts = 0; c.puts < PLAN_TASK_DRIVES && i + c.puts < t->puts; c.puts++)
			put[c.puts] = (struct plan_put) { .place = t->put[i + c.puts].place,
							  .extent = find(f, &t->put[i + c.puts]) };
		v = plan_change(&c, &s->txn);
	}
	if (v != PLAN_GO) {
		refused(s, v);
		return;
	}
	s->what = PLAN_T_CHANGE;
	s->evict = c.evict;
}

/* Whether each place that is replaced is barred by the kernel of the present attachment. */
static bool barred(const struct plan_task_facts *f, struct plan_task_step *s)
{
	const struct plan_task *t = f->task;

	if (!replaces(t) || copies(f))
		return true;
	if (f->access->mode != PLAN_RW) {
		refused(s, PLAN_NOT_HOLDER);
		return false;
	}
	for (u32 i = 0; i < t->puts; i++) {
		if (plan_place_in(f->volume->bar, f->volume->barred, t->put[i].place))
			continue;
		step(s, PLAN_T_BAR, PLAN_OBJ_VOLUME | PLAN_OBJ_ACCESS, PLAN_OBJ_VOLUME);
		s->place = t->put[i].place;
		return false;
	}
	for (u32 i = 0; i < t->puts; i++) {
		const struct plan_rosters *r = f->rosters;

		if (r && mesh_number_access(r->number) == mesh_number_access(f->access->number) &&
		    plan_place_in(r->bar, r->barred, t->put[i].place))
			continue;
		wait_for(s, PLAN_WHY_BARRED, NULL);
		s->place = t->put[i].place;
		return false;
	}
	return true;
}

/* The record of the layout is where plan_change_set() wants it. */
static bool recorded(const struct plan_task_facts *f, struct plan_task_step *s)
{
	const struct plan_layout *l = &f->volume->layout;

	for (u32 d = 0; d < f->drives; d++) {
		for (u32 i = 0; i < f->drive[d].extents; i++) {
			const struct plan_extent *x = &f->drive[d].extent[i];

			if (!muuid_equal(&x->volume, &f->volume->uuid) || !plan_layout_names(l, &x->uuid) ||
			    plan_change_recorded(l, x->version, x->commit))
				continue;
			/* Of a group some may be away; the kernel's agent judges by plan_change_set(). */
			if (l->groups && !is_put(f->task, &x->uuid))
				continue;
			wait_for(s, PLAN_WHY_RECORD, &f->drive[d].uuid);
			return false;
		}
	}
	return true;
}

/* A former member that is not freed yet, as a roster names it or a kernel may use it; NULL: none. */
static const struct plan_drive *former(const struct plan_task_facts *f)
{
	for (u32 d = 0; d < f->drives; d++) {
		for (u32 i = 0; i < f->drive[d].extents; i++) {
			const struct plan_extent *x = &f->drive[d].extent[i];

			if (muuid_equal(&x->volume, &f->volume->uuid) && x->state == PLAN_READY && x->version &&
			    !plan_layout_names(&f->volume->layout, &x->uuid))
				return &f->drive[d];
		}
	}
	return NULL;
}

/* The member that leaves is dropped when its copy has the place. False: @s says what is to be done. */
static bool left(const struct plan_task_facts *f, struct plan_task_step *s)
{
	for (u32 i = 0; f->task->kind == PLAN_TASK_EVICT && i < f->task->puts; i++) {
		u32 place = f->task->put[i].place;
		enum plan_verdict v = plan_left(f->volume, place, f->access, f->rosters, f->stopped, &s->txn);

		if (v == PLAN_DONE)
			continue;
		if (v == PLAN_GO)
			s->what = PLAN_T_LEFT;
		else
			wait_for(s, PLAN_WHY_COPIED, NULL);
		s->place = place;
		return false;
	}
	return true;
}

static void roll_out(const struct plan_task_facts *f, struct plan_task_step *s)
{
	if (f->volume->layout.version < f->task->version) {
		refused(s, PLAN_STOPPED);
		return;
	}
	if (!recorded(f, s) || !left(f, s))
		return;
	if (f->access->mode == PLAN_RW &&
	    (!f->rosters || f->rosters->version < f->task->version ||
	     mesh_number_access(f->rosters->number) != mesh_number_access(f->access->number))) {
		wait_for(s, PLAN_WHY_KERNEL, NULL);
		return;
	}
	if (free_step(f, s, false))
		return;
	if (replaces(f->task) && former(f))
		wait_for(s, PLAN_WHY_FREED, &former(f)->uuid);
	else
		step(s, PLAN_T_END, 0, 0);
}

/* A volume that goes: free, wait, erase. */
static void remove_volume(const struct plan_task_facts *f, struct plan_task_step *s)
{
	if (!free_step(f, s, true))
		step(s, PLAN_T_ERASE, PLAN_OBJ_VOLUME, PLAN_OBJ_VOLUME | PLAN_OBJ_ACCESS | PLAN_OBJ_ROSTER);
}

static void doom(const struct plan_task_facts *f, struct plan_task_step *s)
{
	enum plan_verdict v = plan_delete(f->volume, f->access, f->readers, f->task->preempt, f->stopped,
					  &s->access, &s->txn);

	if (v == PLAN_GO)
		s->what = PLAN_T_DOOM;
	else
		refused(s, v);
}

static void cancelled(const struct plan_task_facts *f, struct plan_task_step *s)
{
	if (f->task->state == PLAN_TASK_NEW || !f->volume)
		step(s, PLAN_T_END, 0, 0);
	else if (f->task->kind == PLAN_TASK_CREATE && f->volume->state == PLAN_CREATING)
		doom(f, s);
	else if (!free_step(f, s, false))
		step(s, PLAN_T_END, 0, 0);
}

void plan_task(const struct plan_task_facts *f, struct plan_task_step *s)
{
	const struct plan_task *t = f->task;

	memset(s, 0, sizeof(*s));
	if (f->stopped) {
		refused(s, PLAN_STOPPED);
	} else if (t->state == PLAN_TASK_ENDED) {
		s->verdict = PLAN_DONE;
	} else if (goes(f)) {
		/* Also the end of other tasks whose volume is deleted. */
		if (t->kind == PLAN_TASK_DELETE || t->kind == PLAN_TASK_CREATE)
			remove_volume(f, s);
		else
			step(s, PLAN_T_END, 0, 0);
	} else if (t->cancel && t->state < PLAN_TASK_DECIDED) {
		cancelled(f, s);
	} else if (!f->volume && !(t->kind == PLAN_TASK_CREATE && t->state == PLAN_TASK_NEW)) {
		step(s, PLAN_T_END, 0, 0);
	} else if (t->kind == PLAN_TASK_DELETE) {
		doom(f, s);
	} else if (t->state == PLAN_TASK_NEW && t->kind != PLAN_TASK_SET) {
		step(s, PLAN_T_PLACE, PLAN_OBJ_VOLUME, t->kind == PLAN_TASK_CREATE ? PLAN_OBJ_VOLUME : 0);
	} else if (t->state == PLAN_TASK_DECIDED) {
		roll_out(f, s);
	} else if (!allocated(f, s)) {
		return;
	} else if (t->kind == PLAN_TASK_CREATE) {
		if (f->volume->state == PLAN_VOLUME_READY)
			step(s, PLAN_T_END, 0, 0);
		else if (prepared(f, s, f->volume->layout.version))
			step(s, PLAN_T_READY, PLAN_OBJ_VOLUME, PLAN_OBJ_VOLUME);
	} else if (prepared(f, s, 0) && judged(f, s) && barred(f, s)) {
		decide(f, s);
	}
}
