// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>

#include "userspace/plan/change.h"
#include "userspace/plan/mutant.h"

bool plan_layout_names(const struct plan_layout *l, const struct muuid *extent)
{
	for (u32 i = 0; i < l->places; i++) {
		if (muuid_equal(&l->place[i].extent, extent) || muuid_equal(&l->place[i].leaving, extent))
			return true;
	}
	return false;
}

/* What a kernel reported counts for the attachment that it is of. */
static bool current(const struct plan_rosters *r, const struct plan_access *a)
{
	return r && mesh_number_access(r->number) == mesh_number_access(a->number);
}

bool plan_place_in(const u16 *bar, u32 barred, u32 place)
{
	for (u32 i = 0; i < barred; i++) {
		if (bar[i] == place)
			return true;
	}
	return false;
}

/* @mask: members that count. */
static bool roster_names(const struct plan_roster *r, u64 mask, const struct muuid *extent)
{
	for (u32 i = 0; i < r->members; i++) {
		if ((mask >> i & 1) && muuid_equal(&r->extent[i], extent))
			return true;
	}
	return false;
}

static bool in_sync(const struct plan_rosters *r, const struct muuid *extent)
{
	for (u32 i = 0; r && i < r->groups; i++) {
		if (roster_names(&r->roster[i], r->roster[i].in_sync, extent))
			return true;
	}
	return false;
}

/* At any place, also one that is out: the next roster may add it. */
static bool rosters_name(const struct plan_rosters *r, const struct muuid *extent)
{
	if (plan_mutant(PLAN_MUT_FREE_ROSTER))
		return false;
	for (u32 i = 0; r && i < r->groups; i++) {
		if (roster_names(&r->roster[i], ~0ULL, extent))
			return !plan_mutant(PLAN_MUT_FREE_OUT) || in_sync(r, extent);
	}
	return false;
}

/*
 * The host that may use the extent has reported that it has the layout without it; or none uses it: the
 * last one ended cleanly, or the extent has no record, without which no kernel opens it.
 */
static bool reported(const struct plan_extent *x, const struct plan_layout *l, const struct plan_access *a,
		     const struct plan_rosters *r)
{
	if (a->mode == PLAN_RW)
		return (current(r, a) && r->version == l->version) || plan_mutant(PLAN_MUT_FREE_EARLY);
	return a->clean || !x->version || plan_mutant(PLAN_MUT_FREE_UNCLEAN);
}

bool plan_in_sync(const struct plan_rosters *rosters, const struct plan_access *access,
		  const struct muuid *extent)
{
	return access->mode == PLAN_RW && current(rosters, access) && rosters->committed &&
	       in_sync(rosters, extent);
}

/* Another member of the group leaves yet. */
static bool leaves(const struct plan_layout *l, u16 group)
{
	for (u32 i = 0; i < l->places; i++) {
		if (l->place[i].group == group && !muuid_null(&l->place[i].leaving))
			return true;
	}
	return false;
}

/* What the kernel has at the place is the layout's, so it can copy that. */
static enum plan_verdict may_evict(const struct plan_change *c, u32 place)
{
	const struct plan_layout *l = &c->volume->layout;

	if (place >= l->places || l->place[place].group == PLAN_NO_GROUP)
		return PLAN_ALONE;
	if (c->access->mode != PLAN_RW)
		return PLAN_NOT_HOLDER;
	if (leaves(l, l->place[place].group) && !plan_mutant(PLAN_MUT_EVICT_TWO))
		return PLAN_WAIT;
	if (!current(c->rosters, c->access) || c->rosters->version != l->version)
		return PLAN_WAIT;
	return plan_in_sync(c->rosters, c->access, &l->place[place].extent) ? PLAN_GO : PLAN_WAIT;
}

static enum plan_verdict may_put(const struct plan_change *c, const struct plan_put *p)
{
	const struct plan_layout *l = &c->volume->layout;

	if (!p->extent || !muuid_equal(&p->extent->volume, &c->volume->uuid))
		return PLAN_MISSING;
	if (p->extent->state != PLAN_READY &&
	    !(p->extent->state == PLAN_WANTED && plan_mutant(PLAN_MUT_CHANGE_UNREADY)))
		return PLAN_WAIT;
	if (c->evict)
		return may_evict(c, p->place);
	if (p->place >= l->places || muuid_null(&l->place[p->place].extent))
		return PLAN_GO;
	if (c->access->mode != PLAN_RW)
		return PLAN_NOT_HOLDER;
	if (!plan_mutant(PLAN_MUT_CHANGE_UNBARRED) &&
	    (!current(c->rosters, c->access) ||
	     !plan_place_in(c->rosters->bar, c->rosters->barred, p->place)))
		return PLAN_WAIT;
	/* Another version has reached that kernel since, or will: what it barred before may be over. */
	if (c->rosters && c->rosters->version != l->version && !plan_mutant(PLAN_MUT_CHANGE_REPORT))
		return PLAN_WAIT;
	/* The kernel's last word came before it barred the place, or the member is whole. */
	return in_sync(c->rosters, &l->place[p->place].extent) ? PLAN_WAIT : PLAN_GO;
}

enum plan_verdict plan_change(const struct plan_change *c, struct plan_txn *t)
{
	if (c->stopped)
		return PLAN_STOPPED;
	if (c->volume->state != PLAN_VOLUME_READY)
		return PLAN_NOT_READY;
	for (u32 i = 0; i < c->puts; i++) {
		enum plan_verdict v = may_put(c, &c->put[i]);

		if (v != PLAN_GO)
			return v;
	}
	*t = (struct plan_txn) { .compare = PLAN_OBJ_LEADER | PLAN_OBJ_ROSTER,
				 .put = PLAN_OBJ_VOLUME | PLAN_OBJ_DRIVES };
	if (!plan_mutant(PLAN_MUT_CHANGE_VERSION))
		t->compare |= PLAN_OBJ_VOLUME;
	if (!plan_mutant(PLAN_MUT_CHANGE_ACCESS))
		t->compare |= PLAN_OBJ_ACCESS;
	if (!plan_mutant(PLAN_MUT_CHANGE_EXTENT))
		t->compare |= PLAN_OBJ_DRIVES;
	return PLAN_GO;
}

bool plan_change_recorded(const struct plan_layout *l, u64 version, u64 commit)
{
	if (version == l->version)
		return commit == l->commit || plan_mutant(PLAN_MUT_RECORD_VERSION);
	return version > l->version;
}

bool plan_change_opens(const struct plan_layout *l, u64 version, u64 commit)
{
	return plan_change_recorded(l, version, commit) || plan_mutant(PLAN_MUT_OPEN_BEHIND);
}

static bool had(const struct plan_layout *has, const struct muuid *extent)
{
	return has && plan_layout_names(has, extent);
}

bool plan_change_set(const struct plan_layout *l, const struct plan_layout *has,
		     const bool *recorded)
{
	if (plan_mutant(PLAN_MUT_SET_EARLY))
		return true;
	for (u32 i = 0; i < l->places; i++) {
		if (muuid_null(&l->place[i].extent) || recorded[i])
			continue;
		if (l->place[i].group == PLAN_NO_GROUP || !had(has, &l->place[i].extent))
			return false;
	}
	for (u32 g = 0; g < l->groups; g++) {
		u32 have = 0;

		for (u32 i = 0; i < l->places; i++)
			have += l->place[i].group == g && recorded[i];
		if (have < l->group[g].members - l->group[g].data + 1U)
			return false;
	}
	return true;
}

/* No roster names the extent, and no kernel may use it by the layout before. */
static bool unused(const struct plan_extent *x, const struct plan_layout *l, const struct plan_access *access,
		   const struct plan_rosters *rosters)
{
	if (rosters_name(rosters, &x->uuid))
		return false;
	/* The committed roster may name more than one that was begun after it. */
	if (rosters && rosters->groups && !rosters->committed && !plan_mutant(PLAN_MUT_FREE_BEGUN))
		return false;
	return reported(x, l, access, rosters);
}

enum plan_verdict plan_left(const struct plan_volume *volume, u32 place, const struct plan_access *access,
			    const struct plan_rosters *rosters, bool stopped, struct plan_txn *t)
{
	const struct plan_layout *l = &volume->layout;
	struct plan_extent x = { .version = l->version };

	if (stopped)
		return PLAN_STOPPED;
	if (volume->state != PLAN_VOLUME_READY)
		return PLAN_NOT_READY;
	if (place >= l->places || muuid_null(&l->place[place].leaving))
		return PLAN_DONE;
	x.uuid = l->place[place].leaving;
	if (!unused(&x, l, access, rosters) && !plan_mutant(PLAN_MUT_LEFT_EARLY))
		return PLAN_WAIT;
	*t = (struct plan_txn) { .compare = PLAN_OBJ_LEADER | PLAN_OBJ_VOLUME | PLAN_OBJ_ACCESS |
				 PLAN_OBJ_ROSTER, .put = PLAN_OBJ_VOLUME };
	return PLAN_GO;
}

enum plan_verdict plan_freeable(const struct plan_extent *x, const struct plan_volume *volume,
				const struct plan_access *access, const struct plan_rosters *rosters,
				bool stopped, struct plan_txn *t)
{
	if (stopped)
		return PLAN_STOPPED;
	if (x->state == PLAN_FREEING)
		return PLAN_DONE;
	/* Of a volume that is being made its task frees, of one that is deleted plan_delete(). */
	if (volume->state != PLAN_VOLUME_READY)
		return PLAN_NOT_READY;
	if (plan_layout_names(&volume->layout, &x->uuid))
		return PLAN_READ;
	if (!unused(x, &volume->layout, access, rosters))
		return PLAN_WAIT;
	*t = (struct plan_txn) { .compare = PLAN_OBJ_LEADER | PLAN_OBJ_VOLUME | PLAN_OBJ_ACCESS |
				 PLAN_OBJ_ROSTER | PLAN_OBJ_DRIVES, .put = PLAN_OBJ_DRIVES };
	if (plan_mutant(PLAN_MUT_FREE_TXN))
		t->compare = 0;
	return PLAN_GO;
}

enum plan_verdict plan_delete(const struct plan_volume *volume, const struct plan_access *access,
			      u32 readers, bool preempt, bool stopped, struct plan_access *next,
			      struct plan_txn *t)
{
	if (stopped)
		return PLAN_STOPPED;
	if (volume->state == PLAN_DELETING)
		return PLAN_DONE;
	if (access->mode == PLAN_RW && !preempt && !plan_mutant(PLAN_MUT_DELETE_HELD))
		return PLAN_HELD;
	if (readers && !preempt)
		return PLAN_READ;
	*next = *access;
	next->mode = PLAN_NONE;
	memset(&next->holder, 0, sizeof(next->holder));
	*t = (struct plan_txn) { .compare = PLAN_OBJ_LEADER | PLAN_OBJ_VOLUME | PLAN_OBJ_ACCESS,
				 .put = PLAN_OBJ_VOLUME | PLAN_OBJ_ACCESS | PLAN_OBJ_DRIVES };
	if (preempt)
		t->erase |= PLAN_OBJ_READERS;
	else
		t->compare |= PLAN_OBJ_READERS;
	return PLAN_GO;
}
