// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>

#include "userspace/plan/access.h"
#include "userspace/plan/mutant.h"

/* The next number, for another attachment: its restart begins at 0. */
static bool next_number(u64 number, u64 *next)
{
	u64 counter = mesh_number_counter(number);

	if (counter == MESH_NUMBER_COUNTER_MAX)
		return false;
	*next = mesh_number(mesh_number_generation(number), counter + 1, 0);
	return true;
}

static bool allowed(const struct plan_volume *v, const struct muuid *host)
{
	for (u32 i = 0; i < v->allows; i++) {
		if (muuid_equal(&v->allow[i], host))
			return true;
	}
	return !v->allows;
}

/* What holds for every attach, whatever its mode. */
static enum plan_verdict may_begin(const struct plan_attach *a)
{
	if (a->stopped)
		return PLAN_STOPPED;
	if (a->volume->state != PLAN_VOLUME_READY && !plan_mutant(PLAN_MUT_ATTACH_DELETED))
		return PLAN_NOT_READY;
	return allowed(a->volume, &a->host) ? PLAN_GO : PLAN_NOT_ALLOWED;
}

static bool is_holder(const struct plan_access *access, const struct muuid *host, u64 number)
{
	return access->mode == PLAN_RW && muuid_equal(&access->holder, host) &&
	       mesh_number_access(access->number) == mesh_number_access(number);
}

/* Who a plain attach would fence. */
static enum plan_verdict would_fence(const struct plan_attach *a)
{
	bool own = muuid_equal(&a->access->holder, &a->host);

	if (a->access->mode == PLAN_RW && !own && a->holder_alive)
		return PLAN_HELD;
	if (a->readers)
		return PLAN_READ;
	if (plan_mutant(PLAN_MUT_ATTACH_OPEN))
		return PLAN_GO;
	if (a->open)
		return PLAN_OPEN;
	return a->unknown ? PLAN_UNKNOWN : PLAN_GO;
}

enum plan_verdict plan_attach_rw(const struct plan_attach *a, struct plan_access *next,
				 struct plan_txn *t)
{
	enum plan_verdict v = may_begin(a);
	u64 number;

	if (v == PLAN_GO && !a->preempt)
		v = would_fence(a);
	if (v != PLAN_GO)
		return v;
	if (!next_number(a->access->number, &number))
		return PLAN_EXHAUSTED;
	if (plan_mutant(PLAN_MUT_ATTACH_OWN) && a->access->mode == PLAN_RW &&
	    muuid_equal(&a->access->holder, &a->host))
		number = a->access->number;
	*next = (struct plan_access) { .mode = PLAN_RW, .holder = a->host, .number = number };
	/* The volume: ready, and the layout that the kernel gets is the one that was read. */
	*t = (struct plan_txn) { .put = PLAN_OBJ_ACCESS };
	if (!plan_mutant(PLAN_MUT_ATTACH_BLIND))
		t->compare |= PLAN_OBJ_ACCESS;
	if (!plan_mutant(PLAN_MUT_ATTACH_LAYOUT))
		t->compare |= PLAN_OBJ_VOLUME;
	if (a->preempt)
		t->erase |= PLAN_OBJ_READERS;
	else
		t->compare |= PLAN_OBJ_READERS;
	return PLAN_GO;
}

bool plan_attach_enough(const struct plan_layout *l, const bool *reached)
{
	for (u32 i = 0; i < l->places; i++) {
		if (l->place[i].group == PLAN_NO_GROUP && !muuid_null(&l->place[i].extent) && !reached[i])
			return false;
	}
	for (u32 g = 0; g < l->groups; g++) {
		u32 have = 0;

		for (u32 i = 0; i < l->places; i++)
			have += l->place[i].group == g && reached[i];
		if (have < l->group[g].data)
			return false;
	}
	return true;
}

enum plan_verdict plan_attach_ro(const struct plan_attach *a, u64 *number, struct plan_txn *t)
{
	enum plan_verdict v = may_begin(a);

	if (v != PLAN_GO)
		return v;
	/* Also a holder that is dead: its last writes may have to be settled by a writer first. */
	if (a->access->mode == PLAN_RW)
		return PLAN_HELD;
	/* After recover, or an attach that was held, a kernel may serve that access does not name. */
	if (!a->access->clean && !plan_mutant(PLAN_MUT_READER_UNCLEAN))
		return PLAN_UNCLEAN;
	*number = mesh_number_access(a->access->number);
	*t = (struct plan_txn) { .compare = PLAN_OBJ_VOLUME, .put = PLAN_OBJ_READERS };
	if (!plan_mutant(PLAN_MUT_READER_BLIND))
		t->compare |= PLAN_OBJ_ACCESS;
	return PLAN_GO;
}

enum plan_verdict plan_release(const struct plan_access *access, const struct muuid *host,
			       u64 number, struct plan_access *next, struct plan_txn *t)
{
	bool ours = is_holder(access, host, number);

	if (plan_mutant(PLAN_MUT_RELEASE_HOLDER))
		ours = access->mode == PLAN_RW && muuid_equal(&access->holder, host);
	if (!ours && !plan_mutant(PLAN_MUT_RELEASE_ANY))
		return PLAN_NOT_HOLDER;
	*next = *access;
	next->mode = PLAN_NONE;
	next->clean = true;
	memset(&next->holder, 0, sizeof(next->holder));
	*t = (struct plan_txn) { .compare = PLAN_OBJ_ACCESS, .put = PLAN_OBJ_ACCESS };
	if (!plan_mutant(PLAN_MUT_RELEASE_ROSTERS))
		t->put |= PLAN_OBJ_ROSTER;
	return PLAN_GO;
}

enum plan_verdict plan_held(const struct plan_access *access, const struct muuid *host,
			    u64 number, struct plan_access *next, struct plan_txn *t)
{
	if (!is_holder(access, host, number) && !plan_mutant(PLAN_MUT_HELD_ANY))
		return PLAN_NOT_HOLDER;
	*next = *access;
	next->mode = PLAN_NONE;
	memset(&next->holder, 0, sizeof(next->holder));
	*t = (struct plan_txn) { .compare = PLAN_OBJ_ACCESS, .put = PLAN_OBJ_ACCESS };
	return PLAN_GO;
}

/* PLAN_GO: access names no host that could still decide for the volume. */
static enum plan_verdict no_other(const struct plan_retake *r)
{
	if (r->access->mode != PLAN_RW || muuid_equal(&r->access->holder, &r->host))
		return PLAN_GO;
	if (r->holder_alive || plan_mutant(PLAN_MUT_RETAKE_FREE))
		return PLAN_HELD;
	return r->open ? PLAN_OPEN : PLAN_GO;
}

enum plan_verdict plan_retake(const struct plan_retake *r, struct plan_access *next, u64 *above,
			      struct plan_txn *t)
{
	enum plan_verdict v;
	u64 number;

	if (r->stopped || mesh_number_access(r->served) > mesh_number_access(r->access->number))
		return PLAN_STOPPED;
	if (is_holder(r->access, &r->host, r->served) &&
	    mesh_number_restart(r->served) < PLAN_RESTART_HIGH)
		return PLAN_DONE;
	if (r->volume->state != PLAN_VOLUME_READY)
		return PLAN_NOT_READY;
	v = no_other(r);
	if (v != PLAN_GO)
		return v;
	if (!next_number(r->access->number, &number))
		return PLAN_EXHAUSTED;
	if (plan_mutant(PLAN_MUT_RETAKE_SAME))
		number = mesh_number_access(r->access->number);
	*next = (struct plan_access) { .mode = PLAN_RW, .holder = r->host, .number = number };
	*above = r->above && !plan_mutant(PLAN_MUT_RETAKE_AGAIN) ? r->above : r->served;
	if (plan_mutant(PLAN_MUT_RETAKE_OPEN))
		*above = 0;
	*t = (struct plan_txn) { .compare = PLAN_OBJ_VOLUME, .put = PLAN_OBJ_ACCESS };
	if (!plan_mutant(PLAN_MUT_RETAKE_BLIND))
		t->compare |= PLAN_OBJ_ACCESS;
	return PLAN_GO;
}

enum plan_verdict plan_note(const struct plan_volume *volume, const struct plan_access *access,
			    const struct muuid *host, u64 number, bool stopped, struct plan_txn *t)
{
	if (stopped)
		return PLAN_STOPPED;
	if (volume->state != PLAN_VOLUME_READY)
		return PLAN_NOT_READY;
	if (!is_holder(access, host, number) && !plan_mutant(PLAN_MUT_NOTE_ANY))
		return PLAN_NOT_HOLDER;
	*t = (struct plan_txn) { .put = PLAN_OBJ_ROSTER };
	if (!plan_mutant(PLAN_MUT_NOTE_ANY))
		t->compare |= PLAN_OBJ_ACCESS;
	return PLAN_GO;
}

enum plan_verdict plan_fresh_over(const struct plan_volume *volume, const struct plan_access *access,
				  const struct plan_rosters *rosters, const struct muuid *host,
				  u64 number, bool stopped, struct plan_txn *t)
{
	enum plan_verdict v = plan_note(volume, access, host, number, stopped, t);

	if (!volume->fresh)
		return PLAN_DONE;
	if (v != PLAN_GO)
		return v;
	if (!rosters || !rosters->committed || rosters->groups != volume->layout.groups)
		return PLAN_WAIT;
	for (u32 i = 0; i < rosters->groups; i++) {
		if (!rosters->roster[i].attach)
			return PLAN_WAIT;
	}
	*t = (struct plan_txn) { .compare = PLAN_OBJ_VOLUME | PLAN_OBJ_ACCESS | PLAN_OBJ_ROSTER,
				 .put = PLAN_OBJ_VOLUME };
	return PLAN_GO;
}

int plan_roster_cmp(const struct plan_roster *a, const struct plan_roster *b)
{
	if (a->attach != b->attach)
		return a->attach > b->attach ? 1 : -1;
	if (a->epoch != b->epoch)
		return a->epoch > b->epoch ? 1 : -1;
	return 0;
}

bool plan_note_raises(const struct plan_roster *noted, const struct plan_roster *next)
{
	return plan_roster_cmp(next, noted) >= 0 || plan_mutant(PLAN_MUT_NOTE_LOWER);
}
