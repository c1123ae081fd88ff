// SPDX-License-Identifier: GPL-2.0-only
/* A volume that the kernel has attached for writing: named by access/V, and as volume/V says. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/agent/attach_in.h"

/* The disk is there, also while a retake opens its members again. */
static bool serves(const struct attach_vol *v)
{
	return v->k.state == ATTACH_SERVING || v->k.served;
}

static int take_again(struct attach_vol *v, const struct attach_objects *o, const struct plan_access *next,
		      u64 above, const struct plan_txn *t)
{
	struct deal *d = attach_deal(v, t);
	struct obj_access access = *o->access;
	u64 number = next->number;
	int ret;

	if (!d)
		return -ENOMEM;
	access.plan = *next;
	deal_put(d, KEY_ACCESS, &access, 0);
	ret = attach_close_deal(v, d);
	if (ret == 1) {
		v->taken = number;
		v->above = above;
		v->preempt = false;
	}
	return ret;
}

/*
 * 1: access names this attachment, and may name it on; else @step is what was made: the kernel is to
 * be named again, or may not be.
 */
static bool named(struct attach_vol *v, const struct attach_objects *o, int *step)
{
	struct plan_retake r = {
		.volume = &o->volume->plan, .access = &o->access->plan, .host = v->a->host,
		.served = v->k.number, .above = v->k.served, .stopped = v->a->stopped,
		.holder_alive = attach_alive(v, &o->access->plan.holder),
	};
	bool other = r.access->mode == PLAN_RW && !muuid_equal(&r.access->holder, &r.host), probed;
	enum plan_verdict verdict;
	struct plan_access next;
	struct plan_txn t;
	u64 above;

	*step = 0;
	probed = attach_probed(v, o);
	r.open = probed && attach_open_elsewhere(v);
	verdict = plan_retake(&r, &next, &above, &t);
	if (verdict == PLAN_DONE)
		return true;
	if (verdict == PLAN_GO && other && !probed) {
		*step = attach_probe(v, o);
	} else if (verdict == PLAN_GO) {
		*step = take_again(v, o, &next, above, &t);
	} else {
		v->again_ms = verdict == PLAN_OPEN ? v->a->now + ATTACH_RETRY_MS : 0;
		attach_say_verdict(v, "waiting", verdict, other ? &r.access->holder : NULL);
	}
	return false;
}

/* A retake that was decided: its number is recorded, then the kernel OPENs under it. */
static bool retaken(struct attach_vol *v, const struct attach_objects *o, int *step)
{
	struct attach_aim aim = { .served = v->above, .preempt = true };

	if (!v->taken)
		return false;
	if (!attach_names(v, o, v->taken) ||
	    mesh_number_access(v->taken) == mesh_number_access(v->k.number)) {
		v->taken = v->above = 0;
		return false;
	}
	*step = attach_follow(v, o, PLAN_RW, v->taken, &aim);
	return true;
}

static void say(struct attach_vol *v)
{
	char copies[ATTACH_EVICT_WORDS];

	if (v->busy)
		return;
	attach_evict_words(v, copies);
	if (serves(v))
		attach_say(v, "attached", "%s", v->k.reason[0] ? v->k.reason : copies);
	else
		attach_say(v, "attaching", "%s", v->k.reason[0] ? v->k.reason : "its members are opened");
}

int attach_keep(struct attach_vol *v, const struct attach_objects *o)
{
	struct attach_aim aim = { .served = v->k.served,
				  .preempt = v->k.served || (v->preempt && v->k.state == ATTACH_OPENING) };
	int step;

	if (!o->volume || !o->access) {
		attach_say(v, "waiting", "the cluster has no such volume");
		return 0;
	}
	step = attach_evict_look(v, o);
	if (step)
		return step;
	if (retaken(v, o, &step))
		return step;
	if (!serves(v) && !attach_names(v, o, v->k.number)) {
		/* Nothing was served, and another attachment has followed, or none: begin again. */
		if (mesh_number_access(v->k.number) <= mesh_number_access(o->access->plan.number))
			return attach_end(v, o, true);
		attach_say_verdict(v, "waiting", PLAN_STOPPED, NULL);
		return 0;
	}
	if (serves(v) && !named(v, o, &step))
		return step;
	step = attach_evict(v, o);
	if (step)
		return step;
	/* The record has the highest restart that is known: it orders this host's OPENs after a reboot, too. */
	step = attach_follow(v, o, PLAN_RW, v->k.number, &aim);
	if (!step)
		step = attach_note(v, o);
	if (!step)
		step = attach_fresh(v, o);
	if (step)
		return step;
	say(v);
	return attach_request(v, o);
}
