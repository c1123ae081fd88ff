// SPDX-License-Identifier: GPL-2.0-only
/*
 * Grants: the extents, the openings of sessions, and the views under which commands run.
 *
 * A view is the set of extents that a session may reach on a drive at one time. Each command holds
 * the view under which it was admitted until its last bio is back. Revoking or closing makes a new
 * view and kills the old one; the extent is free for others when all older views are gone. `seq`
 * orders views, a `cut` is a number between two of them.
 *
 *   OPEN  a         v1 {a}
 *   OPEN  b         v1 dying   v2 {a b}
 *   CLOSE a, cut 3  v1 dying   v2 dying   v3 {b}     answered when v1, v2 are gone
 *
 * All of this is under tgt_lock, except for commands, which take a view under RCU.
 */
#define pr_fmt(fmt) "meshtgt: " fmt
#include <linux/module.h>
#include <linux/netlink.h>
#include <linux/slab.h>

#include "rdda/common/fault.h"
#include "rdda/target/channel.h"
#include "rdda/target/drive.h"
#include "rdda/target/grant.h"
#include "rdda/target/session.h"
#include "rdda/target/tgt.h"
#include "rdda/wire.h"

#define TGT_OPENS_MAX		65536	/* of a session */

static u64 view_seq;		/* tgt_lock */

/* A netlink handler waits until no killed view older than @cut lives on a drive. */
struct waiter {
	struct list_head	node;	/* in tgt_drive.waiters */
	u64			cut;	/* the handler waits for views with a lower seq */
	struct completion	done;	/* completed when these views are gone */
};

static bool view_older(const struct tgt_sdrive *sd, u64 cut)
{
	const struct tgt_view *v;

	list_for_each_entry(v, &sd->views, node)
		if (v->seq < cut && v->killed)
			return true;
	return false;
}

static bool drive_older(const struct tgt_drive *d, u64 cut)
{
	const struct tgt_sdrive *sd;

	list_for_each_entry(sd, &d->sdrives, on_drive)
		if (view_older(sd, cut))
			return true;
	return false;
}

static void sdrive_free(struct tgt_sdrive *sd)
{
	struct tgt_session *s = sd->s;

	tgt_sched_leave(sd);
	xa_erase(&s->grants.drives, sd->nsid);
	list_del(&sd->on_drive);
	tgt_drive_put(sd->d);
	kfree_rcu(sd, rcu);
	s->grants.undrained--;
	tgt_session_drained(s);
	tgt_session_put(s);
}

static void open_closed(struct tgt_open *o)
{
	struct tgt_session *s = o->sd->s;
	struct rdda_close m = {
		.hdr.type = RDDA_CLOSED,
		.hdr.len = cpu_to_le32(sizeof(m)),
		.hdr.tag = cpu_to_le64(o->tag),
		.handle = cpu_to_le32(o->handle),
		.status = cpu_to_le32(RDDA_OPEN_OK),
	};

	/*
	 * Before the answer: once the client has received it, the module may be unloaded at once.
	 * The unload waits for tgt_lock, and so for this function.
	 */
	module_put(THIS_MODULE);
	/*
	 * The session's channels live as long as the session, and the sdrive references the
	 * session.
	 */
	if (o->ch)
		tgt_ctl_send(o->ch, &m, sizeof(m));
	if (o->ext)
		list_del(&o->on_extent);
	list_del(&o->on_sdrive);
	xa_erase(&s->grants.opens, o->handle);
	s->grants.nr_opens--;
	kfree(o);
}

/* A view or an opening has gone: answer CLOSEs and wake waiters. @sd may be freed on return. */
static void sdrive_check(struct tgt_sdrive *sd)
{
	struct tgt_drive *d = sd->d;
	struct tgt_open *o, *next;
	struct waiter *w;
	bool stub;

	lockdep_assert_held(&tgt_lock);
	list_for_each_entry_safe(o, next, &sd->closing, on_sdrive)
		if (!view_older(sd, o->cut) || rdda_fault(RDDA_FAULT_CLOSE))
			open_closed(o);
	list_for_each_entry(w, &d->waiters, node)
		if (!drive_older(d, w->cut))
			complete(&w->done);
	/* A lost drive keeps its number, to answer commands that come late. */
	stub = sd->gone && tgt_session_state(sd->s) == TGT_LIVE;
	if (list_empty(&sd->opens) && list_empty(&sd->closing) && list_empty(&sd->views) && !stub)
		sdrive_free(sd);
}

static void view_work(struct work_struct *work)
{
	struct tgt_view *v = container_of(work, struct tgt_view, work);

	mutex_lock(&tgt_lock);
	list_del(&v->node);
	sdrive_check(v->sd);
	mutex_unlock(&tgt_lock);
	percpu_ref_exit(&v->ref);
	kfree_rcu(v, rcu);
}

/* Any context: the last command admitted under a dead view is back. */
static void view_release(struct percpu_ref *ref)
{
	struct tgt_view *v = container_of(ref, struct tgt_view, ref);

	queue_work(tgt_wq, &v->work);
}

static struct tgt_view *view_build(struct tgt_sdrive *sd)
{
	struct tgt_open *o;
	struct tgt_view *v;
	unsigned int n = 0;

	list_for_each_entry(o, &sd->opens, on_sdrive)
		n++;
	if (!n)
		return NULL;
	v = kvmalloc(struct_size(v, ext, n), GFP_NOIO | __GFP_ZERO);
	if (!v)
		return ERR_PTR(-ENOMEM);
	if (percpu_ref_init(&v->ref, view_release, 0, GFP_NOIO)) {
		kvfree(v);
		return ERR_PTR(-ENOMEM);
	}
	INIT_WORK(&v->work, view_work);
	v->sd = sd;
	list_for_each_entry(o, &sd->opens, on_sdrive) {
		v->ext[v->nr].slba = o->slba;
		v->ext[v->nr].blocks = o->blocks;
		v->ext[v->nr].rw = o->rw;
		v->nr++;
	}
	return v;
}

/* From now on commands are admitted under @v, or not at all if @v is NULL. */
static void view_swap(struct tgt_sdrive *sd, struct tgt_view *v)
{
	struct tgt_view *old = rcu_dereference_protected(sd->view, lockdep_is_held(&tgt_lock));

	if (v) {
		v->seq = ++view_seq;
		list_add_tail(&v->node, &sd->views);
	}
	rcu_assign_pointer(sd->view, v);
	if (old) {
		old->killed = true;
		percpu_ref_kill(&old->ref);
	}
}

static struct tgt_sdrive *sdrive_find(struct tgt_session *s, const struct tgt_drive *d)
{
	struct tgt_sdrive *sd;

	list_for_each_entry(sd, &d->sdrives, on_drive)
		if (sd->s == s)
			return sd;
	return NULL;
}

static struct tgt_sdrive *sdrive_create(struct tgt_session *s, struct tgt_drive *d)
{
	struct tgt_sdrive *sd = kzalloc(sizeof(*sd), GFP_NOIO);

	if (!sd)
		return NULL;
	INIT_LIST_HEAD(&sd->views);
	INIT_LIST_HEAD(&sd->opens);
	INIT_LIST_HEAD(&sd->closing);
	sd->s = s;
	sd->d = d;
	tgt_sched_join(sd);
	/* Cyclic: a number given back just now does not mean another drive at once. */
	if (xa_alloc_cyclic(&s->grants.drives, &sd->nsid, sd, xa_limit_31b,
			    &s->grants.next_nsid, GFP_NOIO) < 0) {
		kfree(sd);
		return NULL;
	}
	tgt_session_get(s);
	kref_get(&d->ref);
	s->grants.undrained++;
	list_add_tail(&sd->on_drive, &d->sdrives);
	return sd;
}

static struct tgt_extent *extent_find(const uuid_t *uuid)
{
	struct tgt_drive *d;
	struct tgt_extent *e;

	list_for_each_entry(d, &tgt_drives, node)
		list_for_each_entry(e, &d->extents, node)
			if (uuid_equal(&e->uuid, uuid))
				return e;
	return NULL;
}

static void opened_fill(const struct tgt_open *o, struct rdda_opened *out)
{
	const struct tgt_drive *d = o->sd->d;
	u16 flags = RDDA_DRIVE_WRITE_ZEROES;

	export_uuid(out->drive, &d->uuid);
	out->slba = cpu_to_le64(o->slba);
	out->blocks = cpu_to_le64(o->blocks);
	out->nsid = cpu_to_le32(o->sd->nsid);
	out->handle = cpu_to_le32(o->handle);
	out->max_bytes = cpu_to_le32(d->most);
	out->lba_shift = d->lba_shift;
	out->phys_bytes = cpu_to_le32(bdev_physical_block_size(d->bd));
	out->dead_ms = cpu_to_le32(tgt_session_dead_most());
	if (bdev_max_discard_sectors(d->bd)) {
		flags |= RDDA_DRIVE_DISCARD;
		out->discard_blocks =
			cpu_to_le32(max(bdev_discard_granularity(d->bd) >> d->lba_shift, 1U));
	}
	if (!bdev_nonrot(d->bd))
		flags |= RDDA_DRIVE_ROTATIONAL;
	out->flags = cpu_to_le16(flags);
}

static void open_insert(struct tgt_sdrive *sd, struct tgt_open *o)
{
	struct tgt_open *at;

	list_for_each_entry(at, &sd->opens, on_sdrive)
		if (at->slba > o->slba)
			break;
	list_add_tail(&o->on_sdrive, &at->on_sdrive);
}

/*
 * Create an opening. Each opening holds the module until its last command is back: while a client
 * uses a drive, or a device has not returned a client's I/O, an unload is refused, rather than
 * begun and never ended.
 */
static struct tgt_open *open_create(struct tgt_session *s, struct tgt_extent *e, bool rw)
{
	struct tgt_sdrive *sd = sdrive_find(s, e->drive);
	struct tgt_open *o;
	struct tgt_view *v;

	if (s->grants.nr_opens >= TGT_OPENS_MAX)
		return ERR_PTR(-ENOSPC);
	if (!try_module_get(THIS_MODULE))
		return ERR_PTR(-ENODEV);
	if (!sd)
		sd = sdrive_create(s, e->drive);
	if (!sd)
		goto err_module;
	o = kzalloc(sizeof(*o), GFP_NOIO);
	if (!o)
		goto err_sdrive;
	o->sd = sd;
	o->ext = e;
	o->rw = rw;
	o->slba = e->start >> e->drive->lba_shift;
	o->blocks = e->len >> e->drive->lba_shift;
	if (xa_alloc_cyclic(&s->grants.opens, &o->handle, o, xa_limit_31b,
			    &s->grants.next_handle, GFP_NOIO) < 0)
		goto err_open;
	open_insert(sd, o);
	v = view_build(sd);
	if (IS_ERR(v))
		goto err_handle;
	view_swap(sd, v);
	list_add_tail(&o->on_extent, &e->opens);
	s->grants.nr_opens++;
	return o;

err_handle:
	list_del(&o->on_sdrive);
	xa_erase(&s->grants.opens, o->handle);
err_open:
	kfree(o);
err_sdrive:
	sdrive_check(sd);
err_module:
	module_put(THIS_MODULE);
	return ERR_PTR(-ENOMEM);
}

/*
 * Close an opening. The caller then makes a view without the opening; the opening is freed when all
 * older views are gone.
 */
static void open_close(struct tgt_open *o)
{
	o->closing = true;
	list_move_tail(&o->on_sdrive, &o->sd->closing);
	o->cut = view_seq + 1;
}

/* Make a new view, after some openings of a session were closed. */
static void sdrive_review(struct tgt_sdrive *sd)
{
	struct tgt_view *v = view_build(sd);

	if (IS_ERR(v)) {	/* the session would reach less than granted: end the session */
		tgt_session_kill(sd->s, -ENOMEM);
		v = NULL;
	}
	view_swap(sd, v);
}

/* Revoke an extent from all sessions but @but, which may be NULL. */
static void extent_revoke(struct tgt_extent *e, const struct tgt_session *but)
{
	struct tgt_open *o, *next;

	list_for_each_entry_safe(o, next, &e->opens, on_extent) {
		struct tgt_sdrive *sd = o->sd;

		if (sd->s == but)
			continue;
		tgt_session_event(sd->s, RDDA_EV_REVOKED, &e->drive->uuid, sd->nsid, o->handle);
		list_del(&o->on_extent);
		o->ext = NULL;
		if (!o->closing) {
			open_close(o);
			sdrive_review(sd);
		}
		sdrive_check(sd);
	}
}

/* Note an attach number and its host; the highest number stays. */
static void extent_attach(struct tgt_extent *e, u64 attach, const uuid_t *host)
{
	if (attach <= e->attach)
		return;
	e->attach = attach;
	uuid_copy(&e->attacher, host);
}

/* meshd has noted a grant in the label. */
static void extent_note(struct tgt_extent *e, const struct tgt_open_request *req,
			const uuid_t *host)
{
	e->pending = false;
	e->epoch = max(e->epoch, req->epoch);	/* 0 of a numbered OPEN */
	extent_attach(e, req->attach, host);
	if (req->rw)
		uuid_copy(&e->holder, host);
}

/* Count the openings of an extent, with those that wait for their last command. */
void tgt_extent_counts(const struct tgt_extent *e, u32 *writers, u32 *readers)
{
	const struct tgt_open *o;

	lockdep_assert_held(&tgt_lock);
	*writers = 0;
	*readers = 0;
	list_for_each_entry(o, &e->opens, on_extent) {
		if (o->rw)
			++*writers;
		else
			++*readers;
	}
}

/* Fill in who has the extent; part of an answer with any status. */
static void opened_note(const struct tgt_extent *e, struct rdda_opened *out)
{
	u32 writers, readers;

	tgt_extent_counts(e, &writers, &readers);
	out->attach = cpu_to_le64(e->attach);
	export_uuid(out->attacher, &e->attacher);
	out->writers = cpu_to_le32(writers);
	out->readers = cpu_to_le32(readers);
}

/*
 * Decide on an OPEN and carry it out. @noted: meshd has just noted this grant in the label. @out:
 * filled in, but for its header. Context: process; takes tgt_lock. Return: enum rdda_open_status;
 * TGT_OPEN_REQUEST: meshd has to note the grant, the extent waits for that until tgt_grant_open()
 * with @noted or tgt_grant_clear_pending(); -ESHUTDOWN: the session ended, no answer can be sent.
 */
int tgt_grant_open(struct tgt_channel *ch, const struct tgt_open_request *req, bool noted,
		   struct rdda_opened *out)
{
	struct tgt_session *s = ch->s;
	struct tgt_open *self = NULL;
	struct tgt_extent *e;
	int ret;

	memset(out, 0, sizeof(*out));
	export_uuid(out->extent, &req->extent);
	mutex_lock(&tgt_lock);
	e = extent_find(&req->extent);
	if (e && noted)
		extent_note(e, req, &s->client.host);
	ret = -ESHUTDOWN;
	if (tgt_session_state(s) != TGT_LIVE)
		goto out;
	ret = tgt_holders_decide(s, req, noted, e, &self, out);
	if (e)
		opened_note(e, out);
	if (req->probe)
		goto out;
	switch (ret) {
	case TGT_OPEN_REQUEST:
		e->pending = true;
		export_uuid(out->drive, &e->drive->uuid);
		break;
	case RDDA_OPEN_OLD_ATTACH:
		pr_info_ratelimited("session %u of %pUb: attach number %llu of extent %pUb is refused: %llu of %pUb is noted\n",
				    s->id, &s->client.host, req->attach, &e->uuid, e->attach,
				    &e->attacher);
		break;
	case RDDA_OPEN_NOT_ALLOWED:
	case RDDA_OPEN_FAR:
		pr_info_ratelimited("session %u of %pUb: extent %pUb is refused: %s\n", s->id,
				    &s->client.host, &e->uuid, ret == RDDA_OPEN_FAR ?
				    "the number is too far above the label's" :
				    "its volume is not for this host");
		break;
	case TGT_OPEN_FENCE:
		tgt_holders_fence(s, e);
		ret = RDDA_OPEN_DRAINING;
		break;
	case TGT_OPEN_REVOKE:
		extent_revoke(e, s);
		ret = RDDA_OPEN_DRAINING;
		break;
	case RDDA_OPEN_OK:
		if (!self)
			self = open_create(s, e, req->rw);
		if (!IS_ERR(self))
			opened_fill(self, out);
		else	/* memory may be there at the next OPEN */
			ret = PTR_ERR(self) == -ENOSPC ? RDDA_OPEN_LIMIT : RDDA_OPEN_DRAINING;
		break;
	}
out:
	mutex_unlock(&tgt_lock);
	return ret;
}

/*
 * meshd did not answer a GRANT, or refused: no grant of the extent is pending any more. meshd may
 * have given the kernel a newer table before. @out: the highest attach number is filled in.
 */
void tgt_grant_clear_pending(const uuid_t *extent, struct rdda_opened *out)
{
	struct tgt_extent *e;

	mutex_lock(&tgt_lock);
	e = extent_find(extent);
	if (e) {
		e->pending = false;
		opened_note(e, out);
	}
	mutex_unlock(&tgt_lock);
}

/*
 * A CLOSE, answered when the last command of the opening is back. Return: 0, or -ENOENT: no such
 * handle, already being closed by a CLOSE, or the session has ended.
 */
int tgt_grant_close(struct tgt_channel *ch, u32 handle, u64 tag)
{
	struct tgt_sdrive *sd;
	struct tgt_open *o;
	int ret = -ENOENT;

	mutex_lock(&tgt_lock);
	o = xa_load(&ch->s->grants.opens, handle);
	if (o && !o->ch && tgt_session_state(ch->s) == TGT_LIVE) {
		sd = o->sd;
		o->ch = ch;
		o->tag = tag;
		if (!o->closing) {
			open_close(o);
			sdrive_review(sd);
		}
		sdrive_check(sd);
		ret = 0;
	}
	mutex_unlock(&tgt_lock);
	return ret;
}

static void sdrive_close_all(struct tgt_sdrive *sd)
{
	struct tgt_open *o, *next;

	list_for_each_entry_safe(o, next, &sd->opens, on_sdrive)
		open_close(o);
	view_swap(sd, NULL);
}

/*
 * Close everything that a session has open: the session is over. @s: its queue pairs are destroyed.
 * Context: tgt_lock held.
 */
void tgt_grant_session_end(struct tgt_session *s)
{
	struct tgt_sdrive *sd;
	struct tgt_open *o;
	unsigned long i;

	lockdep_assert_held(&tgt_lock);
	tgt_holders_renew(s);
	xa_for_each(&s->grants.opens, i, o)
		o->ch = NULL;
	xa_for_each(&s->grants.drives, i, sd) {
		sdrive_close_all(sd);
		tgt_sched_purge(sd);
		sdrive_check(sd);
	}
}

/*
 * Take a lost drive from all sessions that have it open, and notify them. @d: drive, not UP any
 * more. Context: tgt_lock held.
 */
void tgt_grant_drive_lost(struct tgt_drive *d)
{
	struct tgt_sdrive *sd, *next;

	lockdep_assert_held(&tgt_lock);
	list_for_each_entry_safe(sd, next, &d->sdrives, on_drive) {
		if (sd->gone)
			continue;
		WRITE_ONCE(sd->gone, true);
		sdrive_close_all(sd);
		tgt_session_event(sd->s, RDDA_EV_DRIVE_GONE, &d->uuid, sd->nsid, 0);
		sdrive_check(sd);
	}
}

/*
 * Free the sessions' stubs of a lost drive. @d: drive; its commands are back. Context: tgt_lock
 * held.
 */
void tgt_grant_drive_forget(struct tgt_drive *d)
{
	struct tgt_sdrive *sd, *next;

	lockdep_assert_held(&tgt_lock);
	list_for_each_entry_safe(sd, next, &d->sdrives, on_drive) {
		sd->gone = false;
		sdrive_check(sd);
	}
}

/* Notify all sessions that a drive is here. Context: tgt_lock held. */
void tgt_grant_drive_back(const uuid_t *drive)
{
	struct tgt_session *s;

	lockdep_assert_held(&tgt_lock);
	list_for_each_entry(s, &tgt_sessions, node)
		tgt_session_event(s, RDDA_EV_DRIVE_BACK, drive, 0, 0);
}

/*
 * True if no killed view of a drive lives: all commands under such views are back. Context:
 * tgt_lock held.
 */
bool tgt_grant_drained(struct tgt_drive *d)
{
	lockdep_assert_held(&tgt_lock);
	return !drive_older(d, view_seq + 1);
}

/*
 * Wait until the commands under killed views of a drive are back. @d: drive, referenced. Context:
 * process; takes tgt_lock. Return: 0, -EINPROGRESS at @until (call again), or -EINTR when killed.
 */
int tgt_grant_wait(struct tgt_drive *d, unsigned long until)
{
	struct waiter w;
	int ret;

	if (rdda_fault(RDDA_FAULT_CLOSE))
		return 0;
	init_completion(&w.done);
	mutex_lock(&tgt_lock);
	w.cut = view_seq + 1;
	list_add_tail(&w.node, &d->waiters);
	if (!drive_older(d, w.cut))
		complete(&w.done);
	mutex_unlock(&tgt_lock);
	ret = tgt_await(&w.done, until);
	mutex_lock(&tgt_lock);
	list_del(&w.node);
	if (ret && !drive_older(d, w.cut))
		ret = 0;
	mutex_unlock(&tgt_lock);
	return ret;
}

static void extent_free(struct tgt_extent *e)
{
	list_del(&e->node);
	kfree(e->allow);
	kfree(e);
}

/*
 * Free a table. @extents: no session reaches any of them; openings that are left lose the extent.
 */
void tgt_extents_free(struct list_head *extents)
{
	struct tgt_extent *e, *next;

	list_for_each_entry_safe(e, next, extents, node) {
		struct tgt_open *o, *no;

		list_for_each_entry_safe(o, no, &e->opens, on_extent) {
			o->ext = NULL;
			list_del(&o->on_extent);
		}
		extent_free(e);
	}
}

static struct tgt_extent *table_find(struct list_head *extents, const uuid_t *uuid)
{
	struct tgt_extent *e;

	list_for_each_entry(e, extents, node)
		if (uuid_equal(&e->uuid, uuid))
			return e;
	return NULL;
}

/* Replace a drive's table. Extents that the new table lacks, or has elsewhere, are revoked. */
static void table_swap(struct tgt_drive *d, struct list_head *extents)
{
	struct tgt_extent *e, *next, *n;
	struct tgt_open *o;

	list_for_each_entry(e, extents, node)
		e->drive = d;
	list_for_each_entry_safe(e, next, &d->extents, node) {
		n = table_find(extents, &e->uuid);
		if (n && n->start == e->start && n->len == e->len) {
			/* A grant that is being noted is perhaps not in meshd's table yet. */
			n->pending = e->pending;
			n->claim = e->claim;
			n->claim_until = e->claim_until;
			n->epoch = max(n->epoch, e->epoch);
			extent_attach(n, e->attach, &e->attacher);
			list_splice_init(&e->opens, &n->opens);
			list_for_each_entry(o, &n->opens, on_extent)
				o->ext = n;
		} else {
			extent_revoke(e, NULL);
		}
		extent_free(e);
	}
	list_splice_init(extents, &d->extents);
}

/*
 * Set a drive's table. @extents: meshd's table, in order of start; taken over. Context: process;
 * takes tgt_lock. Returns when every command is back that was admitted under extents that the new
 * table takes away: these extents may then be given to others. Return: 0, -EINPROGRESS (the table
 * is in force; call again), or a negative errno.
 */
int tgt_grant_table(const uuid_t *uuid, struct list_head *extents,
		    struct netlink_ext_ack *extack)
{
	struct tgt_drive *d;
	int ret = -ENOENT;

	mutex_lock(&tgt_lock);
	d = tgt_drive_find(uuid);
	if (!d)
		NL_SET_ERR_MSG(extack, "no such drive");
	else if (d->state != TGT_DRIVE_UP)
		NL_SET_ERR_MSG(extack, "the drive is gone");
	else
		ret = tgt_table_check(d, extents, extack);
	if (!ret) {
		/*
		 * If this host lost its state, its UUID is another one; the drive's label names
		 * that UUID by now.
		 */
		tgt_identity(&d->host);
		table_swap(d, extents);
		kref_get(&d->ref);
	}
	mutex_unlock(&tgt_lock);
	if (ret)
		return ret;
	ret = tgt_grant_wait(d, jiffies + msecs_to_jiffies(TGT_WAIT_MS));
	tgt_drive_put(d);
	if (ret == -EINPROGRESS)
		NL_SET_ERR_MSG(extack, "in force, but older commands are not back; try again");
	return ret;
}
