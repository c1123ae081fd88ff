// SPDX-License-Identifier: GPL-2.0-only
/*
 * The group's own work, which may sleep: attach, rosters.
 *
 *   enough members up -> read rosters -> decide (roster/membership.h) -> targets note the number
 *        ^                                                                     |
 *        '- a member fails: without the member - roster durable on all <-------'
 *                                                          |
 *                                                          v
 *                                                    engine begins: LOADING
 *
 * One work item does all steps, so only one roster is written at a time.
 */
#define pr_fmt(fmt) "meshblk: " fmt
#include <linux/moduleparam.h>

#include "driver/group/group.h"
#include "driver/member/target.h"
#include "driver/trace.h"
#include "driver/uapi/number.h"
#include "driver/volume/volume.h"
#include "driver/work.h"

#define START_AGAIN	(HZ / 2)	/* a later try of work not possible now */
#define START_RESTART	(2 * HZ)	/* how long a restart waits for the rest of the members */
#define START_FAILED	(2 * HZ)	/* the same, where labels may have been written */
#define START_NOTED	(5 * HZ)	/* how long an attach waits for meshd to answer */
#define START_AWAY	HZ		/* the same, where meshd has said that the store is away */

static unsigned int attach_wait_ms = 30000;
module_param(attach_wait_ms, uint, 0644);
MODULE_PARM_DESC(attach_wait_ms, "an attach waits that long for members beyond those it needs");

static void start_again(struct mesh_group *g, unsigned long delay)
{
	if (!test_bit(MESH_G_CLOSING, &g->flags))
		queue_delayed_work(mesh_wq, &g->start_work, delay);
}

static u64 start_members_up(struct mesh_group *g)
{
	u64 up = 0;
	u32 i;

	for (i = 0; i < g->width; i++)
		if (mesh_group_up(&g->slots[i]))
			up |= BIT_ULL(i);
	return up;
}

static u64 start_members_busy(struct mesh_group *g)
{
	u64 busy = 0;
	u32 i;

	for (i = 0; i < g->width; i++)
		if (atomic_read(&g->slots[i].member->abandoned))
			busy |= BIT_ULL(i);
	return busy;
}

/* Findings of an attach on the members that are up. */
struct start_found {
	struct prot_roster best;
	u64	opened;		/* members whose blocks could be read */
	u64	blank;		/* of @opened, members without a roster */
	u64	highest;	/* the highest attach number */
	bool	any;		/* @best is valid */
	int	refused;	/* error of the decision, 0: not refused */
	bool	deaf;		/* meshd has not noted a roster: go on without meshd */
	const struct prot_roster *store;	/* noted by meshd; NULL: none is known */
	bool	heard;		/* meshd has answered */
	bool	waits;		/* other hosts may read on for a while */
};

/* Return: true if the roster is one of this group. */
static bool start_fits(struct mesh_group *g, const struct prot_roster *r, u32 i)
{
	return !memcmp(&r->geo, &g->geo, sizeof(g->geo)) &&
	       !memcmp(r->uuid[i], &g->slots[i].member->conf.uuid, PROT_UUID_LEN);
}

/*
 * Return: a number below the attach numbers that the group may take. The restart of an access
 * number is counted from the labels and rosters of this group, which other groups do not raise.
 */
static u64 start_floor(struct mesh_group *g)
{
	struct mesh_access_now now = mesh_access_get(g->vol);

	return now.numbered ? mesh_number_access(now.number) : g->conf.attach;
}

/* True: another host has the volume by now, as the roster says: it is fenced. */
static bool start_fenced(struct mesh_group *g, const struct prot_roster *r)
{
	uuid_t host;

	import_uuid(&host, r->host);
	return mesh_access_seen(g->vol, r->attach, &host, true);
}

/* Read the rosters of members @up. Return: NULL, or the reason why the group cannot be attached. */
static const char *start_read(struct mesh_group *g, u64 up, struct start_found *f)
{
	struct prot_roster *r = &g->ms.pend;	/* free until the decision */
	bool deaf = f->deaf;
	u32 i;

	memset(f, 0, sizeof(*f));
	f->deaf = deaf;
	f->highest = start_floor(g);
	for (i = 0; i < g->width; i++)
		g->slots[i].number = 0;
	for (i = 0; i < g->width; i++) {
		int err = up >> i & 1 ? mesh_roster_read(g, i, r) : -ENOLINK;

		if (err && err != -ENODATA)
			continue;
		f->opened |= BIT_ULL(i);
		g->slots[i].number = READ_ONCE(g->slots[i].member->info.attach);
		f->highest = max(f->highest, READ_ONCE(g->slots[i].member->info.attach));
		if (err) {
			f->blank |= BIT_ULL(i);
			continue;
		}
		if (!start_fits(g, r, i))
			return "the records of a member are those of another group";
		if (start_fenced(g, r))
			return "another host has it now";
		f->highest = max(f->highest, r->attach);
		if (!f->any || prot_roster_cmp(r, &f->best) > 0)
			f->best = *r;
		f->any = true;
	}
	return NULL;
}

/*
 * Find out what meshd has noted. Return: NULL, or the reason why the rosters are to be read again:
 * the roster to go on from names another extent at a place.
 */
static const char *start_recall(struct mesh_group *g, struct start_found *f)
{
	const struct prot_roster *base = f->any ? &f->best : NULL;

	f->store = mesh_group_recall(g, READ_ONCE(g->conf.again) ? START_AWAY : START_NOTED,
				     &f->heard);
	if (f->store && (!base || prot_roster_cmp(f->store, base) > 0))
		base = f->store;
	return base && mesh_group_place(g, base) ? "an extent that leaves is opened" : NULL;
}

/* The roster before the first one: all members are in sync, and equally empty. */
static void start_first(struct mesh_group *g, struct prot_roster *r)
{
	u32 i;

	memset(r, 0, sizeof(*r));
	r->geo = g->geo;
	r->in_sync = GENMASK_ULL(g->width - 1, 0);
	for (i = 0; i < g->width; i++)
		memcpy(r->uuid[i], &g->slots[i].member->conf.uuid, PROT_UUID_LEN);
	memcpy(r->host, &mesh_host_uuid, PROT_UUID_LEN);
}

/* Return: NULL, or the reason why the group may not begin under the number after @a->highest. */
static const char *start_barred(struct mesh_group *g, const struct prot_attach *a)
{
	if (!g->vol->access.numbered || g->cfg.ro)
		return NULL;
	if (a->store && start_fenced(g, a->store))
		return "another host has it now";
	return mesh_access_raise(a->highest, 0) ? NULL :
	       "the restarts of its access number are used up: retake it";
}

/* Decide on the attach. Return: NULL, or the reason why the group cannot be attached now. */
static const char *start_decide(struct mesh_group *g, struct start_found *f)
{
	struct prot_attach a = { .stale = g->conf.stale, .served = g->cfg.attach };
	u8 (*opened)[PROT_UUID_LEN];
	const char *why;
	int err;
	u32 i;

	g->cfg.fresh = !f->any;
	if (!f->any) {
		u64 here = g->conf.stale ? f->opened : GENMASK_ULL(g->width - 1, 0);

		if (!g->conf.fresh || f->blank != here)
			return "no member that is here has records of the group";
		start_first(g, &f->best);
	}
	opened = kcalloc(g->width, PROT_UUID_LEN, GFP_KERNEL);
	if (!opened)
		return "no memory";
	for (i = 0; i < g->width; i++)
		if (f->opened >> i & 1)
			memcpy(opened[a.n++], &g->slots[i].member->conf.uuid, PROT_UUID_LEN);
	a.store = f->store;
	a.witness = f->heard && !f->deaf;
	a.highest = max(f->highest, a.store ? a.store->attach : 0);
	a.found = &f->best;
	a.opened = opened;
	memcpy(a.host, &mesh_host_uuid, PROT_UUID_LEN);
	why = start_barred(g, &a);
	if (why) {
		kfree(opened);
		return why;
	}
	mesh_group_facts(g, &a);
	err = g->cfg.ro ? prot_membership_read(&g->ms, &a) : prot_membership_begin(&g->ms, &a);
	f->waits = prot_membership_must_wait(&a);
	kfree(opened);
	f->refused = err;
	if (err == -ENODATA)
		return "too few of the members that have all writes are here";
	if (err == -EUCLEAN)
		return "it was not detached cleanly; bring it in sync by an attach for writing";
	if (err == -EEXIST)
		return "its records are of a later access number";
	if (err == -EAGAIN || (err && f->deaf))
		return "meshd cannot note which members are missing";
	if (err)
		return "the members that are missing may have newer data; stale: go on without it";
	return NULL;
}

/* Request targets to note the number of this attachment. Return: members without the note. */
static u64 start_note(struct mesh_group *g, u64 members)
{
	u64 bad = 0;
	u32 i;

	for (i = 0; i < g->width; i++) {
		g->slots[i].noted = false;	/* an earlier note was of an earlier number */
		if (!(members >> i & 1))
			continue;
		g->slots[i].noted = !mesh_group_note(g, g->slots[i].member, g->ms.pend.attach);
		if (!g->slots[i].noted)
			bad |= BIT_ULL(i);
	}
	return bad;
}

/* Begin the engine with the committed roster. */
static void start_engine(struct mesh_group *g)
{
	const struct prot_roster *r = &g->ms.cur;
	struct prot_counts counts;
	u32 i;

	mesh_group_own(g);
	g->cfg.attach = r->attach;
	g->cfg.epoch = r->epoch;
	g->cfg.in_sync = r->in_sync;
	g->held = prot_membership_held(&g->ms);
	g->heard = g->ms.numbered ? prot_membership_heard(&g->ms) : 0;
	mesh_group_barred(g);
	WRITE_ONCE(g->witness.waits, false);
	for (i = 0; g->cfg.ro && i < g->width; i++) {
		/* a new member in another one's place, without data from the writer */
		if (!mesh_group_named(g, i))
			g->cfg.in_sync &= ~BIT_ULL(i);
		/*
		 * the roster's number is for members that come later; the label's higher number of
		 * a member here may be of an attach that failed
		 */
		g->slots[i].number = max(g->slots[i].number, r->attach);
	}
	memcpy(g->cfg.left, r->left, sizeof(g->cfg.left));
	/* if the layout names another extent by now, the extent comes when the group serves */
	memcpy(g->cfg.uuid, r->uuid, sizeof(g->cfg.uuid));
	counts = g->engine->counts;
	memset(g->engine, 0, prot_group_bytes(&g->cfg));
	mesh_group_stages_end(g, ~0ULL);
	memset(g->gops, 0, g->cfg.ops * sizeof(*g->gops));
	prot_group_init(g->engine, &g->cfg);
	g->engine->counts = counts;	/* for users, across attachments */
	mesh_group_reads_reset(g);
	mesh_group_scrub_lost(g);
	for (i = 0; i < g->width; i++) {
		g->slots[i].failing = false;
		g->slots[i].stuck_at = 0;
		g->slots[i].late = false;
	}
	mesh_group_set_state(g, MESH_GROUP_LOADING, "its records are read");
	set_bit(MESH_G_BEGUN, &g->flags);
	mesh_group_release(g);
}

/* The pending roster is durable on members @good. Return: true if now committed. */
static bool start_written(struct mesh_group *g, u64 good)
{
	bool committed = prot_membership_written(&g->ms, good);

	trace_mesh_group_roster(g, committed ? &g->ms.cur : &g->ms.pend, good, committed);
	return committed;
}

/*
 * Return: jiffies when the group may serve, 0: now. Another host that had the group may be cut off
 * from the members that are here, and read on from a member that is not here. The other host
 * notices in the dead time of the sessions. The dead time runs since the last member came, and
 * fenced other hosts; twice, as timers may be late.
 */
static unsigned long start_dead(const struct mesh_group *g)
{
	unsigned long at;
	u64 ms = 0;
	u32 i;

	for (i = 0; i < g->width; i++)
		ms = max(ms, 2ULL * READ_ONCE(g->slots[i].member->info.dead_ms));
	at = g->since + msecs_to_jiffies(min_t(u64, ms, INT_MAX));
	return time_before(jiffies, at) ? at | 1 : 0;
}

/* Attach with members @up. Return: NULL, or the reason why not now. */
static const char *start_attach(struct mesh_group *g, u64 up)
{
	struct start_found *f = kzalloc(sizeof(*f), GFP_KERNEL);
	const char *why = f ? NULL : "no memory";
	u64 bad, broken, had = up;

	while (!why) {
		why = start_read(g, up, f) ?: start_recall(g, f) ?: start_decide(g, f);
		/* if some members have failed meanwhile, the next try may succeed */
		WRITE_ONCE(g->refused, up == had ? f->refused : 0);
		if (why || g->cfg.ro)
			break;
		bad = start_note(g, f->opened);
		if (!bad && prot_membership_must_note(&g->ms)) {
			f->deaf = !mesh_group_noted(g, &g->ms.pend, START_NOTED);
			if (f->deaf)
				continue;
		}
		if (!bad) {
			u64 want = prot_membership_unwritten(&g->ms);
			u64 good = mesh_roster_write(g, want, &broken);

			bad = want & ~good;
			if (start_written(g, good)) {
				mesh_access_raised(g->vol, g->ms.cur.attach);
				mesh_group_committed(g);
				g->dead_at = f->waits ? start_dead(g) : 0;
				break;
			}
		}
		up &= ~bad;	/* decide again as if the bad members had not been there */
		if (!bad || hweight64(up) < g->geo.k)
			why = "members fail while the group is attached";
	}
	kfree(f);
	return why;
}

/* True: attach now with the members that are up. False: wait for more members. */
static bool start_now(struct mesh_group *g, u64 up)
{
	/* a member with I/O that was given up does not come soon */
	bool soon = g->cfg.epoch || (up | start_members_busy(g)) == GENMASK_ULL(g->width - 1, 0);
	unsigned long wait = soon ? START_RESTART : msecs_to_jiffies(READ_ONCE(attach_wait_ms));

	if (hweight64(up) < g->geo.k) {
		g->since = 0;
		mesh_group_set_state(g, MESH_GROUP_OPENING, "too few members are here");
		return false;
	}
	/* the wait counts from the last member's coming, which fences other hosts, or going */
	if (!g->since || up != g->since_up) {
		g->since = jiffies | 1;
		g->since_up = up;
	}
	if (up == GENMASK_ULL(g->width - 1, 0) || time_after_eq(jiffies, g->since + wait))
		return true;
	mesh_group_set_state(g, MESH_GROUP_OPENING, "a member is waited for");
	start_again(g, min_t(unsigned long, g->since + wait - jiffies + 1, HZ));
	return false;
}

static void start_serve(struct mesh_group *g)
{
	g->since = 0;
	g->dead_at = 0;
	if (g->ms.cur.in_sync != GENMASK_ULL(g->width - 1, 0))
		pr_warn("%s: group %u.%u is attached without some of its members (in sync: %#llx)\n",
			g->vol->conf.name, g->segment, g->column, g->ms.cur.in_sync);
	start_engine(g);
}

static void start_open(struct mesh_group *g)
{
	u64 up = start_members_up(g);
	const char *why;

	if (!start_now(g, up))
		return;
	why = mesh_group_mem_renew(g) ? start_attach(g, up) :
					"no memory: members have I/O yet that names what it had";
	if (why) {	/* the wait is over: from now on each try is at once */
		mesh_group_set_state(g, MESH_GROUP_OPENING, why);
		mesh_volume_changed(g->vol);
		start_again(g, g->refused ? START_AGAIN : START_FAILED);
		return;
	}
	/* @stale was for this attach alone: members missing at the next attach are not given up */
	g->conf.stale = false;
	if (g->dead_at) {
		mesh_group_set_state(g, MESH_GROUP_OPENING,
				     "a host that held it may not know it yet");
		start_again(g, HZ);
		return;
	}
	start_serve(g);
}

/* True: the volume goes on under a higher access number than the group: a retake. */
static bool start_outdated(struct mesh_group *g)
{
	struct mesh_access_now now = mesh_access_get(g->vol);

	return now.numbered && !g->cfg.ro && !mesh_access_is(now.number, g->ms.cur.attach);
}

/* Stop a group that is to begin again under a higher access number; requests wait meanwhile. */
static void start_retake(struct mesh_group *g)
{
	u32 i;

	mesh_group_own(g);
	for (i = 0; i < g->width && g->state == MESH_GROUP_ACTIVE; i++)
		prot_group_fail(g->engine, i);
	mesh_group_release(g);
	mesh_group_flag(g, MESH_G_TICK);
}

/* Attach, or serve when an attached group's time has come. */
static void start_opening(struct mesh_group *g)
{
	if (!g->dead_at || start_outdated(g))
		start_open(g);
	else if (time_before(jiffies, g->dead_at))
		start_again(g, min_t(unsigned long, g->dead_at - jiffies + 1, HZ));
	else
		start_serve(g);
}

/*
 * Propose the next roster, if the newest one lacks a change of the engine or the layout: members
 * lost by the engine are out, another member is in a slot, a member has caught up, or meshd notes
 * removals from now on, or no longer. Return: 0; -EBUSY, -EINPROGRESS: not now; -EAGAIN: the engine
 * is to be given the committed roster again, because a joining member that failed waits for the
 * roster.
 */
static int start_propose(struct mesh_group *g)
{
	const struct prot_roster *last = g->ms.pending ? &g->ms.pend : &g->ms.cur;
	const struct prot_group *e = g->engine;
	u64 lost, add, gone;
	int err;
	u32 i;

	mesh_group_own(g);
	lost = e->failed & e->requested & last->in_sync;
	gone = e->failed & e->announced & ~last->in_sync;
	add = e->announced & ~e->failed & ~e->in_sync & ~last->in_sync;
	mesh_group_release(g);
	for (i = 0; i < g->width; i++)
		if (g->slots[i].shut)
			add &= ~BIT_ULL(i);
	if (lost) {
		err = prot_membership_remove(&g->ms, lost);
		if (err == -EBUSY)
			mesh_evict_stuck(g);
		return err;
	}
	if (g->ms.pending)
		return 0;
	if (gone)
		return -EAGAIN;
	for (i = 0; i < g->width; i++)
		if (!(last->in_sync >> i & 1) && !mesh_group_named(g, i))
			return prot_membership_replace(&g->ms, i,
						       (u8 *)&g->slots[i].member->conf.uuid);
	if (mesh_evict_propose(g))
		return -EBUSY;
	if (g->ms.pending)
		return 0;
	if (add)
		return prot_membership_add(&g->ms, __ffs64(add));
	return g->ms.numbered ? mesh_group_store_step(g) : mesh_group_witness_step(g);
}

/* Fail the members on which a roster cannot be written. */
static void start_broken(struct mesh_group *g, u64 members)
{
	u32 i;

	mesh_group_own(g);
	for (i = 0; i < g->width && g->state == MESH_GROUP_ACTIVE; i++)
		if (members >> i & 1)
			prot_group_fail(g->engine, i);
	mesh_group_release(g);
}

static void start_commit(struct mesh_group *g)
{
	u64 before = READ_ONCE(g->engine->in_sync), now = g->ms.cur.in_sync;

	mesh_group_own(g);
	g->commit.epoch = g->ms.cur.epoch;
	g->commit.in_sync = now;
	set_bit(MESH_G_COMMITTED, &g->flags);
	mesh_group_release(g);
	mesh_group_committed(g);
	mesh_evict_committed(g);
	mesh_group_left(g, before & ~now);
	if (before & ~now)
		pr_warn("%s: group %u.%u goes on without members %#llx, %u of %u are left\n",
			g->vol->conf.name, g->segment, g->column, before & ~now,
			(unsigned int)hweight64(now), g->width);
	if (now & ~before)
		pr_info("%s: group %u.%u has members %#llx again\n", g->vol->conf.name,
			g->segment, g->column, now & ~before);
}

/* No roster is pending. @err: of start_propose(), which is called again after a while. */
static void start_settled(struct mesh_group *g, int err)
{
	unsigned long delay = err ? START_AGAIN : mesh_group_store_poll(g);

	if (delay)
		start_again(g, delay);
}

/*
 * Write rosters, one after the other, until no change is left. A roster that a member did not take
 * is written again later; only a member with a lasting error is failed. A roster that adds a member
 * under an access number is written in two steps, the new member last.
 */
static void start_rosters(struct mesh_group *g)
{
	u64 want, good, broken;
	int err;

	while (!test_bit(MESH_G_CLOSING, &g->flags) && READ_ONCE(g->state) == MESH_GROUP_ACTIVE) {
		err = start_propose(g);
		if (err == -EAGAIN)
			start_commit(g);
		mesh_group_reads_need(g);
		if (!g->ms.pending) {
			start_settled(g, err);
			return;
		}
		if (!mesh_group_may_write(g)) {
			start_again(g, HZ);
			return;
		}
		want = prot_membership_unwritten(&g->ms);
		good = mesh_roster_write(g, want, &broken);
		if (start_written(g, good)) {
			start_commit(g);
			mesh_group_reads_need(g);
			continue;
		}
		if (good == want)
			continue;
		start_broken(g, broken);
		start_again(g, START_AGAIN);
		return;
	}
}

/* Begin a stopped group again, once nothing is in flight. */
static void start_stopped(struct mesh_group *g)
{
	mesh_group_own(g);
	if (g->state == MESH_GROUP_STOPPED && mesh_group_drained(g)) {
		mesh_group_set_state(g, MESH_GROUP_OPENING, "too few members answer");
		g->since = 0;
	}
	mesh_group_release(g);
}

void mesh_group_start_work(struct work_struct *work)
{
	struct mesh_group *g = container_of(to_delayed_work(work), struct mesh_group, start_work);
	unsigned int noio = mesh_noio_begin();

	mutex_lock(&g->lock);
	if (!mesh_group_abandoned(g)) {
		mesh_group_refill(g);
		mesh_rosters_overdue(g);
		if (READ_ONCE(g->state) == MESH_GROUP_STOPPED)
			start_stopped(g);
		if (READ_ONCE(g->state) != MESH_GROUP_LOADING && !g->cfg.ro)
			mesh_group_swap(g);
		if (READ_ONCE(g->state) == MESH_GROUP_OPENING)
			start_opening(g);
		if (READ_ONCE(g->state) == MESH_GROUP_ACTIVE && start_outdated(g)) {
			start_retake(g);
		} else if (READ_ONCE(g->state) == MESH_GROUP_ACTIVE && !g->cfg.ro) {
			start_rosters(g);
			if (!test_bit(MESH_G_ENDING, &g->flags))
				queue_delayed_work(mesh_wq, &g->join_work, 0);
		}
	}
	mutex_unlock(&g->lock);
	mesh_noio_end(noio);
}
