// SPDX-License-Identifier: GPL-2.0-only
/*
 * A new version of a volume that this host holds. Its records on the old members are
 * a compare-and-swap: each is refused when the label went on meanwhile or another
 * host holds the extent. Only when all of them are written it is this host's word.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/meshd/crash.h"
#include "userspace/meshd/volume.h"

#define ACTIVE_MS	20000
#define TAKE_MS		65000	/* the kernel's attach_wait_ms in it, for members that are away */

/*
 * The members whose labels were not seen: none but those that @next names no more, or that it
 * does without. Those of @next that were seen are written.
 */
static int lacking(const struct gather *g, const struct layout *l, struct layout *next, char *why)
{
	u32 i;

	for (i = 0; i < next->members; i++) {
		if (gather_find(g, &next->member[i].extent)) {
			/* Of one that lacks @l's record the label says nothing: it may be the last to get it. */
			next->member[i].late = layout_names(l, &next->member[i].extent) &&
					       truth_lags(&g->truth, l, i);
		} else if (layout_names(l, &next->member[i].extent) && !next->member[i].late) {
			gather_away(g, &next->member[i], why);
			return -EHOSTUNREACH;
		}
	}
	for (i = 0; i < l->members; i++) {
		if (layout_names(next, &l->member[i].extent) || truth_swapped(l, next) == (int)i ||
		    gather_find(g, &l->member[i].extent))
			continue;
		gather_away(g, &l->member[i], why);
		return -EHOSTUNREACH;
	}
	return 0;
}

/* The labels say what the store says, and no other host holds a member. */
static int unchanged(const struct gather *g, const struct layout *l, struct layout *next, bool undo,
		     char *why)
{
	struct truth_pick p = truth_pick(&g->truth);
	char who[HOST_WORDS];
	int err = gather_unique(g, l, why), next_is;

	if (err)
		return err;
	if (gather_held(g, l, who)) {
		snprintf(why, REASON, "%s has taken it meanwhile", who);
		return -EBUSY;
	}
	if (p.verdict == TRUTH_NONE && !p.top) {
		gather_away(g, &l->member[0], why);
		return -EHOSTUNREACH;
	}
	err = lacking(g, l, next, why);
	if (err)
		return err;
	next_is = truth_next(&g->truth, &p);
	/* A late member that is back, and has not got its record yet, gets the next one. */
	if (undo || (next_is == TRUTH_LATE && truth_swapped(l, next) >= 0))
		next_is = TRUTH_SAME;
	if ((p.verdict != TRUTH_WHOLE && p.verdict != TRUTH_AWAY) || p.layout->version != l->version ||
	    p.layout->commit != l->commit || next_is != TRUTH_SAME) {
		snprintf(why, REASON, "its drives have another version than this host; detach it and "
			 "attach it again");
		return -ESTALE;
	}
	return 0;
}

static int write_all(const struct gather *g, const struct layout *next, char *why)
{
	int err = put_records(g, next, why);

	if (!err)
		crash_point(CRASH_RECORD_ALL);
	return err;
}

static int gather_labels(struct gather *g, const struct store_volume *v, char *why)
{
	int err = gather(g, &v->uuid, false);

	if (err)
		snprintf(why, REASON, "%s", store_words(err));
	return err;
}

/*
 * A change that waits is in some of the labels, written by this host. The kernel goes on with
 * the layout before it, and opens a member again at the version of its label alone.
 */
static void follow(struct store_volume *v, const struct layout *l, const struct gather *g)
{
	struct kernel_set set = { .g = g };
	const struct found *f;
	struct meshblk_volume k;
	char why[REASON];
	bool ahead = false;
	u32 i;

	for (i = 0; i < l->members; i++) {
		f = gather_find(g, &l->member[i].extent);
		if (!f || f->e.version <= l->version)
			continue;
		/* This kernel must not open what another host has written. */
		if (!muuid_equal(&f->e.holder, &D.host))
			return;
		ahead = true;
	}
	if (ahead && v->attached && !kernel_head(&v->uuid, &k) && k.version == l->version &&
	    strcmp(k.state, MESHBLK_STATE_REMOVING) && kernel_set(v, l, &set, why))
		log_warn("volume %s: the kernel does not get the versions of its labels: %s", v->name, why);
}

/*
 * The store first: what it does not have yet may be undone, and then no kernel has used it.
 * Where it cannot be written the kernel goes on with the layout before.
 */
static int decided(struct store_volume *v, struct layout *l, const struct gather *g,
		   const struct layout *next, char *why)
{
	struct kernel_set set = { .g = g, .written = true };
	struct store_volume now = *v;
	struct gather written;
	u64 version;
	int err;

	now.version = next->version;
	now.recorded = layout_late(next) ? 0 : next->version;	/* volume_bring() sees to them */
	now.note[0] = 0;
	now.pending = false;
	if (!strcmp(v->name, l->name))
		memcpy(now.name, next->name, sizeof(now.name));
	err = volume_put_as(&now, next, v->name, store_volume_commit);
	if (err) {
		if (!gather_labels(&written, v, why)) {
			follow(v, l, &written);
			gather_free(&written);
		}
		snprintf(why, REASON, "%s", store_unwritten(err));
		return err;
	}
	*v = now;
	memcpy(l, next, sizeof(*l));
	if (!v->attached || !kernel_active(&v->uuid, &version))
		return 0;
	err = kernel_set(v, l, &set, why);
	return err ? err : kernel_wait(&v->uuid, ACTIVE_MS, why);
}

int volume_swap(struct store_volume *v, struct layout *l, struct layout *next, bool undo, char *why)
{
	char settled[REASON];
	struct gather g;
	int err;

	err = gather(&g, &v->uuid, false);
	if (!err)
		err = gather_know(&g, l);
	if (err) {
		snprintf(why, REASON, "%s", store_words(err));
		goto out;
	}
	err = unchanged(&g, l, next, undo, why);
	if (err)
		goto out;
	next->version = truth_version(&g.truth);
	next->commit = commit_id();
	volume_rehome(&g, next);
	err = store_pending_set(&v->uuid, next);
	if (err) {
		snprintf(why, REASON, "%s", store_unwritten(err));
		goto out;
	}
	v->pending = true;
	crash_point(CRASH_EXTEND_STORED);
	err = write_all(&g, next, why);
	if (!err) {
		err = decided(v, l, &g, next, why);
		goto out;
	}
	log_warn("volume %s: version %llu is not written everywhere: %s", v->name,
		 (unsigned long long)next->version, why);
	snprintf(v->note, sizeof(v->note), "%s", why);
	store_volume_flags(v);
	if (pending_settle(v, settled))
		log_info("volume %s: %s", v->name, settled);
out:
	gather_free(&g);
	return err;
}

int volume_change(struct store_volume *v, struct layout *l, struct layout *next, char *why)
{
	layout_none_late(next);
	return volume_swap(v, l, next, false, why);
}

/* Whether this kernel has attached all groups of @l: their members have rosters. */
static bool groups_attached(const struct store_volume *v, const struct layout *l)
{
	struct meshblk_volume k;
	struct layout_shape shape;
	u32 i, groups = 0;
	bool all;

	for (i = 0; i < l->segments; i++) {
		shape = layout_shape(&l->segment[i]);
		groups += layout_width(&shape) > 1 ? shape.groups : 0;
	}
	if (kernel_volume(&v->uuid, &k))
		return false;
	all = k.nr_groups == groups && volume_health(&k) < HEALTH_DOWN;
	meshblk_volume_free(&k);
	return all;
}

void volume_attached(struct store_volume *v, struct layout *l)
{
	struct layout *next __free(free) = NULL;
	char why[REASON];
	u32 i;

	/* Too early it would make them groups without a beginning; too late does no harm. */
	if (!layout_fresh(l) || v->readonly || v->pending || !groups_attached(v, l))
		return;
	next = malloc(sizeof(*next));
	if (!next)
		return;
	memcpy(next, l, sizeof(*next));
	for (i = 0; i < next->segments; i++)
		next->segment[i].fresh = false;
	if (volume_change(v, l, next, why))
		log_info("volume %s: its groups are still noted as never attached: %s", v->name, why);
}

/*
 * What goes back to @old: a member that is away stays as late as @next has it, and the one that
 * @next names no more may be gone. -EAGAIN and words: of another one it must be known.
 */
static int fence_layout(const struct gather *g, const struct layout *old, const struct layout *next,
			struct layout *x, u32 *due, char *why)
{
	int swapped = truth_swapped(old, next);
	bool away;
	u32 i;

	memcpy(x, old, sizeof(*x));
	x->version = truth_version(&g->truth) + 1;
	if (x->version <= next->version)	/* of whose labels none may be seen */
		x->version = next->version + 1;
	x->commit = commit_id();
	*due = 0;
	for (i = 0; i < x->members; i++) {
		away = !gather_find(g, &x->member[i].extent);
		x->member[i].late = away || truth_lags(&g->truth, old, i);
		*due += !away;
		if (!away || (int)i == swapped || next->member[i].late)
			continue;
		gather_away(g, &x->member[i], why);
		return -EAGAIN;
	}
	volume_rehome(g, x);
	return 0;
}

/* Whether the label of @f is not beyond @next, or by an undo of it here that got no further. */
static bool fenceable(const struct gather *g, const struct layout *old, const struct layout *next,
		      const struct found *f)
{
	if (f->e.version < next->version ||
	    (f->e.version == next->version && f->e.commit == next->commit))
		return muuid_null(&f->e.holder) || muuid_equal(&f->e.holder, &D.host);
	return muuid_equal(&f->e.holder, &D.host) && truth_undone(&g->truth, &f->e.uuid, old, next);
}

/* Members whose label no host but this one may change. */
static size_t fence_puts(const struct gather *g, const struct layout *old,
			 const struct layout *next, const struct layout *x, struct put *p)
{
	const struct found *f;
	size_t n = 0;
	u32 i;

	for (i = 0; i < old->members; i++) {
		f = gather_find(g, &old->member[i].extent);
		if (f && fenceable(g, old, next, f))
			p[n++] = put_to(g, f, MGMT_RECORD_PUT, x);
	}
	return n;
}

/*
 * A record of ours may still be in flight to a drive that is slow. Before its new
 * extents are freed it is made to fail: the old members get the old content under a
 * version beyond it. Those that another host holds refuse it anyhow.
 */
static int fence(struct store_volume *v, struct layout *old, const struct layout *next,
		 const struct gather *g, char *why)
{
	struct put *p __free(free) = calloc(old->members, sizeof(*p));
	struct layout *x __free(free) = malloc(sizeof(*x));
	struct kernel_set set = { .g = g, .written = true };
	size_t n = 0;
	u64 version;
	u32 due = 0;
	int err;

	if (!p || !x)
		return -ENOMEM;
	err = fence_layout(g, old, next, x, &due, why);
	if (!err) {
		n = fence_puts(g, old, next, x, p);
		puts_run(p, n);
		err = puts_result(p, n, why);
	}
	if (!err && n && n < due)
		v->recorded = 0;	/* the labels differ: volume_bring() sees to that */
	if (!err && n < due)
		err = store_volume_flags(v);
	if (err || n < due)
		return err;
	err = volume_adopt(v, old, x);
	if (!err && v->attached && kernel_active(&v->uuid, &version))
		err = kernel_set(v, old, &set, why);
	if (err)
		return err;
	v->recorded = layout_late(old) ? 0 : v->version;
	return store_volume_flags(v);
}

static int drop(struct store_volume *v, struct layout *old, const struct layout *next,
		const struct gather *g, char *why)
{
	int err = fence(v, old, next, g, why);

	if (err == -EBUSY || err == -ESTALE)
		err = -EAGAIN;	/* the labels changed just now: read them again */
	if (err)
		return err;
	err = store_pending_set(&v->uuid, NULL);
	if (err) {
		snprintf(why, REASON, "%s", store_unwritten(err));
		return err;
	}
	log_info("volume %s: a change that cannot be completed was dropped", v->name);
	v->pending = false;
	intents_undo(&v->uuid, why);
	return 0;
}

/*
 * Old members that went since @next was begun, and that this kernel's groups go on without, are
 * late in what comes of it. A kernel that has lost the volume to another host knows nothing of them.
 */
static bool leave_out(const struct store_volume *v, const struct layout *l, struct layout *next,
		      const struct gather *g)
{
	bool any = false;
	u32 i;

	if (truth_held(&g->truth, l, &D.host) >= 0)
		return false;
	for (i = 0; i < next->members; i++) {
		if (next->member[i].late || gather_find(g, &next->member[i].extent) ||
		    !layout_names(l, &next->member[i].extent) || !volume_goes_without(v, l, i))
			continue;
		next->member[i].late = any = true;
	}
	return any;
}

/* The drive that was to take the place of another is lost, too, before a kernel has seen it. */
static bool swap_lost(const struct layout *l, const struct layout *next, const struct gather *g)
{
	int at = truth_swapped(l, next);

	return at >= 0 && !gather_find(g, &next->member[at].extent);
}

/*
 * The volume is not kept from being repaired, or from serving, until drives are back that may be
 * lost for good: what they are missing for is given up. A record that does not have as late what
 * went is not completed without that: when it is back, its label would be a witness.
 */
static enum truth_pending judge_pending(const struct store_volume *v, const struct layout *l,
					struct layout *next, const struct gather *g)
{
	bool gone = leave_out(v, l, next, g);
	enum truth_pending how = truth_pending(&g->truth, l, next);

	if (how == PENDING_DROP || (!gone && !swap_lost(l, next, g)))
		return how;
	if (truth_undo(&g->truth, l, next, &D.host) == UNDO_FREE)
		return PENDING_DROP;
	return gone ? PENDING_WAIT : how;
}

static int settle(struct store_volume *v, struct layout *l, struct layout *next, char *why)
{
	struct gather g;
	int err = gather_labels(&g, v, why);

	if (err)
		return err;
	follow(v, l, &g);
	switch (judge_pending(v, l, next, &g)) {
	case PENDING_COMPLETE:
		err = write_all(&g, next, why);
		if (!err)
			err = decided(v, l, &g, next, why);
		break;
	case PENDING_DROP:
		err = drop(v, l, next, &g, why);
		break;
	default:
		err = -EAGAIN;
		snprintf(why, REASON, "another host has changed it meanwhile; attach it again to see");
		gather_missing(&g, l, why);
	}
	gather_free(&g);
	return err;
}

/* Whether an old member is given up that was on @host: so is what the host has of new ones. */
static bool given_up(const struct layout *l, const struct layout *next, const struct muuid *host)
{
	u32 i;

	for (i = 0; i < l->members; i++)
		if (next->member[i].late && muuid_equal(&l->member[i].target, host))
			return true;
	return false;
}

/* A host that does not answer may be back soon, with a new member that is not lost at all. */
static int silent(const struct gather *g, const struct layout *l, const struct layout *next, char *why)
{
	const struct store_host *h;
	u32 i;

	for (i = l->members; i < next->members; i++) {
		h = gather_host(g, &next->member[i].target);
		if (!h || !g->said[h - g->hosts].err || gather_find(g, &next->member[i].extent) ||
		    given_up(l, next, &h->uuid))
			continue;
		snprintf(why, REASON, "%.140s; if it is gone for good: meshctl host remove %.63s first",
			 g->said[h - g->hosts].why, h->name);
		return -EHOSTUNREACH;
	}
	return 0;
}

/*
 * Another host holds it: it is fenced by the kernel, which gets the layout before the change. What
 * may be undone by force does without members that are away.
 */
static int take(const struct store_volume *v, const struct layout *l, const struct gather *g, char *why)
{
	struct kernel_set set = { .g = g, .preempt = true, .stale = true };
	struct store_volume writer = *v;
	int err;

	writer.readonly = false;
	kernel_del(&v->uuid, false);	/* preempt does not reach members that it has */
	err = kernel_set(&writer, l, &set, why);
	if (!err)
		err = kernel_wait(&v->uuid, TAKE_MS, why);
	/* udev may have it open for a moment: then it goes on as what is attached next. */
	kernel_del(&v->uuid, false);
	return err;
}

/* Of each group as many members as it needs; where there is no redundancy, all of them. */
static bool enough_seen(const struct gather *g, const struct layout *l)
{
	const struct layout_ref *ref;
	struct layout_shape shape;
	u32 s, i, m, here;

	for (s = 0; s < l->segments; s++) {
		shape = layout_shape(&l->segment[s]);
		ref = &l->ref[l->segment[s].first_ref];
		for (i = 0; i < l->segment[s].refs; i += layout_width(&shape)) {
			for (m = here = 0; m < layout_width(&shape); m++, ref++)
				here += !!gather_find(g, &l->member[ref->member].extent);
			if (here < layout_needs(&shape))
				return false;
		}
	}
	return true;
}

/*
 * What is undone by command is undone without the old members that are away, where the others can
 * serve: these are late from then on. The rosters say whether the others have all writes.
 */
static bool undo_without(const struct gather *g, const struct layout *l, struct layout *next)
{
	u32 i;

	if (!enough_seen(g, l))
		return false;
	for (i = 0; i < next->members; i++)
		if (layout_names(l, &next->member[i].extent) && !gather_find(g, &next->member[i].extent))
			next->member[i].late = true;
	return true;
}

static int undo_gather(struct gather *g, const struct store_volume *v, const struct layout *l,
		       struct layout *next, char *why)
{
	int err = gather_labels(g, v, why);

	if (err)
		return err;
	err = gather_unique(g, next, why);
	if (!err && !undo_without(g, l, next)) {
		gather_missing(g, l, why);
		err = -EHOSTUNREACH;
	}
	if (!err)
		err = silent(g, l, next, why);
	if (err)
		gather_free(g);
	return err;
}

/* -EAGAIN and words. @preempt: what another host holds, and may have used, is given up. */
static int undo_allowed(const struct gather *g, const struct layout *l, const struct layout *next,
			bool preempt, char *why)
{
	enum truth_undo is = truth_undo(&g->truth, l, next, &D.host);
	char who[HOST_WORDS];

	if (is == UNDO_FREE || (is == UNDO_USED && preempt))
		return 0;
	snprintf(why, REASON, is == UNDO_NEVER ?
		 "it cannot be undone: all its drives are present, or another host has changed the "
		 "volume since. If one hangs or cannot be written, remove it, or unexport it with "
		 "--force, and try again" :
		 "another host has had it since, and may have used what would be given up; add --preempt "
		 "to undo it nevertheless");
	if (is == UNDO_HELD && gather_held(g, l, who))
		snprintf(why, REASON, "%s holds it; detach it there, or add --preempt to undo it nevertheless",
			 who);
	return -EAGAIN;
}

static int undo_by(struct store_volume *v, struct layout *l, struct layout *next, bool preempt, char *why)
{
	struct gather g;
	int err = undo_gather(&g, v, l, next, why);

	if (!err && preempt && truth_undo(&g.truth, l, next, &D.host) == UNDO_HELD) {
		err = take(v, l, &g, why);
		gather_free(&g);
		if (!err)
			err = undo_gather(&g, v, l, next, why);
	}
	if (err)
		return err;
	err = undo_allowed(&g, l, next, preempt, why);
	if (!err)
		err = drop(v, l, next, &g, why);
	gather_free(&g);
	return err;
}

static int undo(struct store_volume *v, struct layout *l, struct layout *next, char *why)
{
	return undo_by(v, l, next, false, why);
}

static int undo_taking(struct store_volume *v, struct layout *l, struct layout *next, char *why)
{
	return undo_by(v, l, next, true, why);
}

static int pending_with(struct store_volume *v, char *why,
			int (*fn)(struct store_volume *v, struct layout *l, struct layout *next, char *why))
{
	struct layout *l __free(free) = malloc(sizeof(*l)), *next __free(free) = malloc(sizeof(*next));
	struct store_volume fresh;
	int err = l && next ? store_volume_get(&v->uuid, &fresh, l) : -ENOMEM;

	if (!err)
		err = store_pending_get(&v->uuid, next);
	snprintf(why, REASON, "%s", store_words(err));
	return err == -ENOENT ? 0 : err ? err : fn(v, l, next, why);
}

int pending_settle(struct store_volume *v, char *why)
{
	return pending_with(v, why, settle);
}

static int may_lose(struct store_volume *v, struct layout *l, struct layout *next, char *why)
{
	(void)v, (void)why;
	return next->members > l->members || layout_protected(l);
}

bool pending_undoable(struct store_volume *v)
{
	char why[REASON];

	return v->pending && pending_with(v, why, may_lose) > 0;
}

int pending_undo(struct store_volume *v, bool preempt, char *why)
{
	return pending_with(v, why, preempt ? undo_taking : undo);
}
