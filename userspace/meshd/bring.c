// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which layout of a volume counts, and how it gets to the kernel: records of
 * members that were never written first, then VOLUME_SET, and when this host holds
 * the volume, all labels to one version.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/meshd/crash.h"
#include "userspace/meshd/volume.h"

#define ROUNDS		8	/* each of them changes something */
#define GROUPS_MS	45000	/* the kernel's attach_wait_ms, its dead time, time for the rosters */

/* One volume that is brought. */
struct way {
	struct store_volume *v;
	struct layout *l;
	struct bring *o;
	struct gather g;
	struct truth_pick p;
	bool	took;		/* preempted already */
	char	*why;
};

int volume_put_as(struct store_volume *v, const struct layout *l, const char *had,
		  int (*put)(const struct store_volume *v, const struct layout *l))
{
	int err = put(v, l);

	if (err != -EEXIST || !strcmp(had, v->name))
		return err;
	memcpy(v->name, had, sizeof(v->name));
	return put(v, l);
}

int volume_adopt(struct store_volume *v, struct layout *l, const struct layout *found)
{
	bool alias = v->name[0] && strcmp(v->name, l->name);
	char had[LAYOUT_NAME];

	if (found->version == l->version && found->commit == l->commit && v->version == l->version)
		return 0;
	memcpy(had, v->name, sizeof(had));
	if (l != found)
		memcpy(l, found, sizeof(*l));
	v->version = found->version;
	v->recorded = 0;
	/* A name of this host's own stays, and so does one that another volume has here. */
	if (!alias)
		memcpy(v->name, found->name, sizeof(v->name));
	return volume_put_as(v, l, had, store_volume_adopt);
}

bool volume_renamed(struct store_volume *v, struct layout *l, const struct truth_pick *p,
		    const char *named, char *why)
{
	const struct layout *found = p->layout;

	/* A name of this host's own is not the volume's to change. */
	if (!found || found->version < l->version || strcmp(named, v->name) ||
	    strcmp(v->name, l->name) || !strcmp(v->name, found->name))
		return false;
	snprintf(why, REASON, "another host has renamed it to %s, and may have another %s by now; if it is "
		 "meant, name it by its UUID, %s", found->name, named, muuid_str(&v->uuid).s);
	if (p->verdict == TRUTH_WHOLE && volume_adopt(v, l, found))
		log_warn("volume %s: the store cannot be written", v->name);
	return true;
}

/* A volume whose first records were never written is known by the store alone. */
static void pick(struct way *w)
{
	const struct truth_label *e;
	bool fresh = w->l->version == 1;
	u32 i;

	w->p = truth_pick(&w->g.truth);
	if (w->p.verdict != TRUTH_NONE || w->v->state != STORE_LIVE)
		return;
	for (i = 0; i < w->l->members && fresh; i++) {
		e = truth_find(&w->g.truth, &w->l->member[i].extent);
		w->p.member = i;
		if (!e || !e->ready) {
			w->p.verdict = TRUTH_AWAY;
			w->p.layout = w->l;
			return;
		}
		fresh = !e->version;
	}
	if (fresh) {
		w->p.verdict = TRUTH_WHOLE;
		w->p.layout = w->l;
	}
}

/*
 * A change of this host's own that a member is missing for: it can be undone while the store
 * has the layout before it, and an option must not take that away. A reader gets a longer message.
 */
static bool undo_first(const struct way *w)
{
	struct layout *next __free(free) = malloc(sizeof(*next));
	int err = next ? store_pending_get(&w->v->uuid, next) : -ENOMEM;
	bool own = err ? err != -ENOENT : next->version == w->p.layout->version &&
					  next->commit == w->p.layout->commit;

	return own && !w->v->readonly;
}

/* Of each group of @s as many members are there as it needs; all that are must say @l. */
static bool segment_serves(const struct way *w, const struct layout *l, const struct layout_segment *s)
{
	struct layout_shape shape = layout_shape(s);
	u32 width = layout_width(&shape), here, g, i;
	const struct truth_label *e;

	for (g = 0; g < s->refs; g += width) {
		for (i = here = 0; i < width; i++) {
			e = truth_find(&w->g.truth, &l->member[l->ref[s->first_ref + g + i].member].extent);
			if (e && truth_lags(&w->g.truth, l, l->ref[s->first_ref + g + i].member))
				continue;
			if (e && (e->version != l->version || e->commit != l->commit))
				return false;
			here += !!e;
		}
		if (here < layout_needs(&shape))
			return false;
	}
	return true;
}

/* Of a volume with redundancy. */
static bool serves(const struct way *w, const struct layout *l)
{
	bool all = layout_protected(l);
	u32 i;

	for (i = 0; i < l->segments && all; i++)
		all = segment_serves(w, l, &l->segment[i]);
	return all;
}

/*
 * Whether a volume can do without the members that are away. Which of their data counts is written
 * in the rosters of its groups. The layout counts if this host has used it, or if it is the first.
 */
static bool serves_degraded(const struct way *w)
{
	const struct layout *l = w->p.layout;

	if (w->p.top || (l->version > 1 && (w->l->version != l->version || w->l->commit != l->commit)))
		return false;
	return serves(w, l);
}

/* The kernel has what may count, and groups that go on without the members that are away. */
static bool held_without(const struct way *w)
{
	const struct layout *l = w->p.layout;
	u64 version = 0;
	u32 i;

	if (!kernel_active(&w->v->uuid, &version) || version != l->version)
		return false;
	for (i = 0; i < l->members; i++)
		if (!gather_find(&w->g, &l->member[i].extent) && !volume_goes_without(w->v, l, i))
			return false;
	return true;
}

/* -EHOSTUNREACH and words when what counts cannot be known. */
static int judge(struct way *w)
{
	const struct layout *l = w->p.layout;
	char away[REASON];

	if (w->p.verdict == TRUTH_NONE && w->l->members) {
		gather_away(&w->g, &w->l->member[0], w->why);
		return -EHOSTUNREACH;
	}
	if (w->p.verdict == TRUTH_NONE) {
		snprintf(w->why, REASON, "no record of it is on the drives of the known hosts");
		return -ENOENT;
	}
	if (w->p.verdict == TRUTH_AWAY && (serves_degraded(w) || held_without(w)))
		return 0;
	if (w->p.verdict == TRUTH_AWAY && (!w->o->stale || undo_first(w))) {
		gather_away(&w->g, &l->member[w->p.member], away);
		snprintf(w->why, REASON, !w->o->stale && serves(w, l) && !undo_first(w) ? "%.110s; with --stale "
			 STALE_LOSES : "%s", away);
		return -EHOSTUNREACH;
	}
	if (w->p.verdict == TRUTH_BLIND && !w->o->stale) {
		snprintf(w->why, REASON, "drive %s has a later version than %llu that cannot be read; "
			 "add --stale to go back to this one", muuid_str(&l->member[w->p.member].drive).s,
			 (unsigned long long)l->version);
		return -EHOSTUNREACH;
	}
	return 0;
}

/* Whether another host has it open: this one counts once where its kernel has it. */
static bool open_elsewhere(const struct way *w)
{
	u64 version;
	u32 own = kernel_active(&w->v->uuid, &version);
	size_t i;

	for (i = 0; i < w->g.nr_found; i++)
		if (w->g.found[i].e.opens > own)
			return true;
	return false;
}

/*
 * Whether this one may come beside the noted holder, or take it from that. A reader takes it from
 * no host: --preempt spares it the grace time of a holder that is gone. Of a volume with redundancy
 * a holder that is noted has not detached it: nothing is to be read, and a reader that waits with
 * extents open would keep the holder itself out when its link comes back.
 */
static bool may_pass(const struct way *w)
{
	if (!w->v->readonly)
		return w->o->preempt;
	return w->o->preempt ? !open_elsewhere(w) : !layout_protected(w->p.layout);
}

/* -EBUSY and words when another host holds it. */
static int holders(struct way *w)
{
	char who[HOST_WORDS];

	if (!gather_held(&w->g, w->p.layout, who) || may_pass(w))
		return 0;
	if (w->v->readonly && !w->o->preempt) {
		snprintf(w->why, REASON, "%s holds it, and has to detach it before it is attached for reading", who);
		return -EBUSY;
	}
	snprintf(w->why, REASON, w->v->readonly ? "%s holds it, and it is open; detach it there: --preempt takes "
		 "it from no host that is alive when it is for reading" : "%s holds it; detach it there, or add "
		 "--preempt to take it (that host's writes then fail)", who);
	return -EBUSY;
}

/* A target that has just started opens for the noted holder alone. */
static int grace(struct way *w)
{
	const struct store_host *h = NULL;
	u32 left = gather_grace(&w->g, w->p.layout, &h), all = left;
	char words[120];
	u64 until = now_ms() + left;

	if (!left || w->o->preempt)
		return 0;
	snprintf(w->why, REASON, "host %s has just started and waits %u s for the host that held the "
		 "volume before; --preempt takes it at once", h->name, (left + 999) / 1000);
	if (!w->o->r)
		return -EAGAIN;
	req_note(w->o->r, "%s", w->why);
	snprintf(words, sizeof(words), "waiting for the grace time of host %s", h->name);
	while (now_ms() < until) {
		if (stopping() || req_cancelled(w->o->r))
			return -EINTR;
		req_progress(w->o->r, words, all - (until - now_ms()), all);
		sleep_ms(500);
	}
	return 0;
}

static bool fresh_members(const struct gather *g, const struct layout *l)
{
	const struct truth_label *e;
	u32 i;

	for (i = 0; i < l->members; i++) {
		e = truth_find(&g->truth, &l->member[i].extent);
		if (e && !e->version)
			return true;
	}
	return false;
}

bool volume_rehome(const struct gather *g, struct layout *l)
{
	const struct store_host *h;
	const struct found *f;
	bool moved = false;
	u32 i;

	for (i = 0; i < l->members; i++) {
		struct layout_member *m = &l->member[i];

		f = gather_find(g, &m->extent);
		if (!f)
			continue;
		h = &g->hosts[f->host];
		moved = moved || !muuid_equal(&m->target, &h->uuid) || m->port != h->port ||
			strcmp(m->addr, h->addr);
		m->target = h->uuid;
		m->port = h->port;
		memcpy(m->addr, h->addr, sizeof(m->addr));
	}
	return moved;
}

bool volume_uses(const struct store_volume *v, struct layout *l, const struct store_host *h, char *why)
{
	char away[REASON];
	struct store_host of;
	struct gather g;
	bool hint = false;
	u32 i;

	for (i = 0; i < l->members; i++)
		hint = hint || (!peer_of_member(&l->member[i], &of) && of.id == h->id);
	if (!hint)
		return false;
	snprintf(why, REASON, "what its drives say is not known; try again");
	if (gather(&g, &v->uuid, false))
		return true;
	volume_rehome(&g, l);
	for (i = 0; i < l->members; i++)
		if (!peer_of_member(&l->member[i], &of) && of.id == h->id)
			break;
	if (i < l->members && gather_find(&g, &l->member[i].extent)) {
		snprintf(why, REASON, layout_protected(l) ? "evict or replace its members there first, or move "
			 "its drives to another host" : "delete it first, or move its drives to another host");
	} else if (i < l->members) {
		gather_away(&g, &l->member[i], away);
		if (layout_protected(l))
			snprintf(why, REASON, "last seen there: %.120s; if lost for good: meshctl volume replace NAME "
				 "%u (each of its members there), then remove the host", away, i);
		else
			snprintf(why, REASON, "last seen there: %.172s; if lost for good: meshctl volume delete "
				 "--force --stale", away);
	}
	gather_free(&g);
	return i < l->members;
}

/*
 * A member that another host has replaced, or this one before its store was put back: what it was
 * on is freed as what this host replaces is.
 */
static int note_replaced(const struct way *w)
{
	int at = truth_swapped(w->l, w->p.layout);
	const struct layout_member *m = at < 0 ? NULL : &w->l->member[at];
	struct store_free note;

	if (!m || w->v->readonly || w->v->state != STORE_LIVE)
		return 0;
	note = free_note(&w->g, w->l, m);
	return store_frees_add(&note, 1);
}

/* What was found, into the store. A version that was there once does not go away by itself. */
static int adopt(struct way *w)
{
	unsigned long long had = w->v->version, found = w->p.layout->version;
	int err = note_replaced(w);

	if (!err)
		err = volume_adopt(w->v, w->l, w->p.layout);
	if (err == -ESTALE) {
		snprintf(w->why, REASON, "its drives have version %llu, this host has seen version %llu: set "
			 "back, or replaced; bring the later state back. If that is lost for good, on a host that "
			 "does not know the volume: volume import --stale, then attach --stale --preempt",
			 found, had);
		return -EUCLEAN;
	}
	if (err)
		snprintf(w->why, REASON, "%s", store_unwritten(err));
	return err;
}

/*
 * The content of the layout that counts, under a version that no label or record has reached. Where
 * a later one is not decided, that is discarded.
 */
static int write_beyond(struct way *w)
{
	struct layout *n __free(free) = malloc(sizeof(*n));
	u32 i;

	if (!n)
		return -ENOMEM;
	memcpy(n, w->p.layout, sizeof(*n));
	n->version = truth_version(&w->g.truth);
	n->commit = commit_id();
	for (i = 0; i < n->members; i++)
		n->member[i].late = gather_find(&w->g, &n->member[i].extent) ?
				    truth_lags(&w->g.truth, w->p.layout, i) :
				    n->member[i].late || w->o->stale ||
				    volume_goes_without(w->v, w->p.layout, i);
	volume_rehome(&w->g, n);
	log_info("volume %s: version %llu is what %llu was", w->v->name, (unsigned long long)n->version,
		 (unsigned long long)w->p.layout->version);
	return put_discard(&w->g, n, w->p.top, w->why);
}

/* Members that were away at the last change get its record, and the kernel opens them. */
static int catch_up(struct way *w)
{
	struct kernel_set set = { .g = &w->g, .written = true };
	int err = put_late(&w->g, w->p.layout, w->why);

	if (!err)
		log_info("volume %s: what was away at version %llu is given it", w->v->name,
			 (unsigned long long)w->p.layout->version);
	return err ? err : kernel_set(w->v, w->p.layout, &set, w->why);
}

/* Whether some of them are away still, or did not take it: then this is to be done again. */
static bool lacks_late(const struct way *w)
{
	const struct layout *l = w->p.layout;
	u32 i;

	for (i = 0; i < l->members; i++)
		if (l->member[i].late && (!gather_find(&w->g, &l->member[i].extent) ||
					  truth_lags(&w->g.truth, l, i)))
			return true;
	return false;
}

/*
 * Whether this host takes the volume from one that is lost, and members are lost with it that the
 * record does not have as late. The label of one may still say the version before a change that was
 * begun there, and would object to it when they are back. @held: by the kernel, whose groups go on
 * without all of them.
 */
static bool leaves_out(const struct way *w, bool held)
{
	const struct layout *l = w->p.layout;
	bool any = false;
	u32 i;

	if (!w->o->stale || !w->o->preempt || !layout_protected(l))
		return false;
	for (i = 0; i < l->members; i++) {
		if (gather_find(&w->g, &l->member[i].extent) || l->member[i].late)
			continue;
		if (held && !volume_goes_without(w->v, l, i))
			return false;
		any = true;
	}
	return any;
}

/* They are late in one more version. Where that cannot be written the volume serves nonetheless. */
static int leave_behind(struct way *w)
{
	if (!leaves_out(w, true))
		return 0;
	if (!write_beyond(w))
		return 1;
	log_warn("volume %s: members that are lost are not left behind yet: %s", w->v->name, w->why);
	w->why[0] = 0;
	return 0;
}

/* With the volume held: 1 when something was written, 0 when all labels agree. */
static int agree(struct way *w)
{
	const struct layout *top = w->p.top;
	int err;

	switch (truth_next(&w->g.truth, &w->p)) {
	case TRUTH_COMPLETE:
		log_info("volume %s: version %llu is completed", w->v->name,
			 (unsigned long long)top->version);
		err = put_records(&w->g, top, w->why);
		return err ? err : 1;
	case TRUTH_DISCARD:
		err = write_beyond(w);
		return err ? err : 1;
	case TRUTH_LATE:
		if (!catch_up(w))
			return 1;
		/* One that cannot be written is as good as away: the others do not wait for it. */
		log_debug("volume %s: a member that is back does not take its record: %s", w->v->name,
			  w->why);
		w->why[0] = 0;
		return 0;
	default:
		return leave_behind(w);
	}
}

/* Gather and judge: 0 when w->p.layout counts, and no member of it is fresh. */
static int learn(struct way *w)
{
	bool fresh;
	int err;

	gather_free(&w->g);
	err = gather(&w->g, &w->v->uuid, !w->o->preempt || w->v->readonly);
	if (!err && w->v->state == STORE_LIVE)
		err = gather_know(&w->g, w->l);
	if (err) {
		snprintf(w->why, REASON, "%s", store_words(err));
		return err;
	}
	pick(w);
	/* What the kernel has attached stays with the host that it had. */
	err = gather_unique(&w->g, w->p.layout ? w->p.layout : w->l, w->why);
	if (!err)
		err = judge(w);
	if (!err && w->o->named && volume_renamed(w->v, w->l, &w->p, w->o->named, w->why))
		err = -ENOENT;
	if (!err)
		err = holders(w);
	if (err)
		return err;
	fresh = fresh_members(&w->g, w->p.layout);
	/* A reader finishes no change, and one that its host began must be undone first. */
	if (w->v->readonly && (fresh || (w->v->pending && w->p.layout->version != w->l->version))) {
		snprintf(w->why, REASON, "a change of it was begun and not finished; attach it for "
			 "writing once");
		return -EROFS;
	}
	if (!fresh)
		return 0;
	err = put_fresh(&w->g, w->p.layout, leaves_out(w, false), w->why);
	return err ? err : 1;
}

static int to_kernel(struct way *w)
{
	struct kernel_set set = { .g = &w->g, .preempt = w->o->preempt && !w->took,
				  .stale = w->o->stale };
	bool waits = layout_protected(w->p.layout) && w->o->r;
	const struct store_host *h;
	struct meshblk_volume k;
	bool there = !kernel_head(&w->v->uuid, &k);
	char words[REASON];
	int err;

	set.preempt = set.preempt && (!w->v->readonly || gather_grace(&w->g, w->p.layout, &h));
	/* preempt does not reach members that the kernel has already, and stale no groups. */
	there = there && (!(set.preempt || (set.stale && layout_protected(w->p.layout))) ||
			  !strcmp(k.state, MESHBLK_STATE_ACTIVE) || kernel_del(&w->v->uuid, false));
	err = adopt(w);
	if (err)
		return err;
	err = kernel_set(w->v, w->l, &set, w->why);
	if (err)
		return err;
	w->o->made = w->o->made || !there;
	if (waits && gather_missing(&w->g, w->l, words) < w->l->members)
		req_note(w->o->r, "%s; the volume goes on without it if it is not there within 30 s", words);
	err = kernel_wait(&w->v->uuid, w->o->wait_ms + (waits ? GROUPS_MS : 0), w->why);
	w->took = w->took || !err;
	return err;
}

/* The records say where members are now only from their next version on. */
static int rehome(struct way *w, u64 recorded)
{
	int err = volume_rehome(&w->g, w->l) ? store_volume_adopt(w->v, w->l) : 0;

	if (!err) {
		w->v->recorded = recorded;
		err = store_volume_flags(w->v);
	}
	if (err)
		snprintf(w->why, REASON, "%s", store_unwritten(err));
	return err;
}

/* One round: 1 when another is needed. */
static int bring_once(struct way *w)
{
	u64 version = 0;
	bool held;
	int err = learn(w);

	if (err)
		return err;
	held = kernel_active(&w->v->uuid, &version) && version == w->p.layout->version;
	if (held && !w->v->readonly && (!w->o->preempt || w->took)) {
		err = agree(w);
		if (err)
			return err;
		err = adopt(w);
		return err ? err : rehome(w, lacks_late(w) ? 0 : w->v->version);
	}
	err = grace(w);
	if (!err)
		err = to_kernel(w);
	if (!err && w->v->readonly)
		return rehome(w, w->v->version);
	/* A member's label went on between the two: what counts is found out again. */
	return err == -ESTALE ? 1 : err ? err : 1;
}

int volume_bring(struct store_volume *v, struct layout *l, struct bring *o, char *why)
{
	struct way w = { .v = v, .l = l, .o = o, .why = why };
	int i, err = 1;

	snprintf(why, REASON, "out of memory");
	for (i = 0; i < ROUNDS && err == 1; i++)
		err = bring_once(&w);
	gather_free(&w.g);
	if (!err)
		volume_attached(v, l);
	if (err != 1)
		return err;
	snprintf(why, REASON, "it changes faster than it can be followed; is it attached elsewhere?");
	return -EAGAIN;
}

int volume_record(struct store_volume *v, struct layout *l, char *why)
{
	struct bring o = { 0 };
	struct way w = { .v = v, .l = l, .o = &o, .why = why };
	int i, err = 1;

	for (i = 0; i < ROUNDS && err == 1; i++)
		err = learn(&w);
	if (!err) {
		crash_point(CRASH_RECORD_ALL);
		/* Its records made this host the holder, and it will not attach it. */
		if (volume_release(v, l, why))
			log_info("volume %s stays noted as held by this host for now: %s", v->name, why);
		else
			v->recorded = v->version;
		err = store_volume_flags(v);
	} else if (err == -EBUSY && !fresh_members(&w.g, w.p.layout)) {
		/* Written, released, and another host has it since: killed before that was noted. */
		v->recorded = v->version;
		err = store_volume_flags(v);
	}
	gather_free(&w.g);
	return err == 1 ? -EAGAIN : err;
}
