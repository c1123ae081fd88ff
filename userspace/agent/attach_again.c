// SPDX-License-Identifier: GPL-2.0-only
/* Attach by the host's record while the store is away: labels say that no other host has followed. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/agent/attach_in.h"
#include "userspace/plan/change.h"

static int read_labels(struct attach_vol *v)
{
	u32 n = v->rec.record->members;

	free(v->slot);
	free(v->reached);
	v->slot = calloc(n, sizeof(*v->slot));
	v->reached = calloc(n, sizeof(*v->reached));
	if (!v->slot || !v->reached)
		return -ENOMEM;
	return attach_begin(v, ATTACH_READS);
}

static enum plan_verdict decide(const struct attach_vol *v, u64 *number)
{
	u32 n = v->rec.record->members;
	struct plan_found *found = calloc(n, sizeof(*found));
	enum plan_verdict verdict;

	if (!found)
		return PLAN_WAIT;
	for (u32 i = 0; i < n; i++)
		found[i] = (struct plan_found) { .place = i, .slot = v->reached[i] ? &v->slot[i] : NULL };
	verdict = plan_again(&v->rec.plan, &v->a->host, found, n, number);
	free(found);
	return verdict;
}

/* A reader opens any member whose label is not above its number, which plan_again() has judged. */
static void opens(const struct attach_vol *v, struct attach_aim *aim)
{
	const struct obj_attached *r = &v->rec;

	*aim = (struct attach_aim) { .again = true, .some = r->plan.mode == PLAN_RW };
	for (u32 i = 0; i < r->record->members && aim->some; i++) {
		const struct plan_slot *s = &v->slot[i];

		aim->open[i] = v->reached[i] && plan_again_opens(&r->plan, &v->a->host, s) &&
			       plan_change_opens(&r->plan.layout, s->record_version, s->record_commit);
	}
}

static bool all_open(const struct attach_vol *v)
{
	for (u32 i = 0; v->aim.some && i < v->rec.record->members; i++) {
		if (!v->aim.open[i])
			return false;
	}
	return true;
}

/* More members are reached than before: those that the record may open. */
static int more(struct attach_vol *v)
{
	struct attach_aim aim;

	opens(v, &aim);
	if (attach_sum(v, &aim) == v->set)
		return 0;
	v->aim = aim;
	v->again = v->rec.plan.number;
	return attach_begin(v, ATTACH_SETS);
}

static int attach_by_record(struct attach_vol *v)
{
	enum plan_verdict verdict;
	u64 number;
	int err;

	v->read_any = false;
	verdict = decide(v, &number);
	if (verdict != PLAN_GO) {
		v->again_ms = v->a->now + ATTACH_RETRY_MS;
		return 0;
	}
	if (v->k.state != ATTACH_ABSENT)
		return more(v);
	opens(v, &v->aim);
	v->again = number;
	if (v->rec.plan.number == number)
		return attach_begin(v, ATTACH_SETS);
	err = attach_record_copy(&v->rec, number, &v->put);
	return err ? err : attach_begin(v, ATTACH_PUTS);
}

/* Of what the kernel got nothing changes while the store is away, but for a local drive that comes. */
static bool local_came(const struct attach_vol *v)
{
	return v->set && !v->by_record && v->k.version == v->rec.record->version &&
	       mesh_number_access(v->k.number) == mesh_number_access(v->rec.plan.number) &&
	       attach_sum(v, &v->aim) != v->set;
}

int attach_again(struct attach_vol *v)
{
	bool absent = v->k.state == ATTACH_ABSENT;

	if (!v->rec_has || !v->rec.record || v->k.state == ATTACH_FENCED || v->k.state == ATTACH_ENDING)
		return 0;
	if (!absent && v->a->now >= v->again_ms && local_came(v))
		return attach_begin(v, ATTACH_SETS);
	if (!absent && (!v->by_record || all_open(v)))
		return 0;
	if (v->a->now < v->again_ms)
		return 0;
	/* Its number is recorded: no OPEN has had it before. */
	if (absent && v->again && v->rec.plan.number == v->again)
		return attach_begin(v, ATTACH_SETS);
	if (v->read_any)
		return attach_by_record(v);
	if (!absent)
		v->again_ms = v->a->now + ATTACH_RETRY_MS;
	return read_labels(v);
}
