// SPDX-License-Identifier: GPL-2.0-only
/*
 * Holders: the hosts that have an extent now or may still write to it, and the host that may have
 * the extent next. state.c decides on these facts.
 */
#define pr_fmt(fmt) "meshtgt: " fmt
#include "rdda/common/fault.h"
#include "rdda/target/drive.h"
#include "rdda/target/grant.h"
#include "rdda/target/session.h"
#include "rdda/target/state.h"
#include "rdda/target/tgt.h"
#include "rdda/wire.h"

#define TGT_CLAIM_MS		15000	/* longer than a client waits between two OPENs */

/* True if an older incarnation of the session's host may still have commands on the drive. */
static bool holders_old_self(const struct tgt_session *s, const struct tgt_drive *d)
{
	const struct tgt_sdrive *sd;

	if (rdda_fault(RDDA_FAULT_OPEN))
		return false;
	list_for_each_entry(sd, &d->sdrives, on_drive)
		if (sd->s != s && uuid_equal(&sd->s->client.host, &s->client.host) &&
		    !(list_empty(&sd->views) && list_empty(&sd->opens) &&
		      list_empty(&sd->closing)))
			return true;
	return false;
}

/* True if commands may still run under a revoked extent, where the requested extent is now. */
static bool holders_dying(const struct tgt_extent *e)
{
	const struct tgt_drive *d = e->drive;
	u64 slba = e->start >> d->lba_shift, end = slba + (e->len >> d->lba_shift);
	const struct tgt_sdrive *sd;
	const struct tgt_open *o;

	if (rdda_fault(RDDA_FAULT_CLOSE))
		return false;
	list_for_each_entry(sd, &d->sdrives, on_drive)
		list_for_each_entry(o, &sd->closing, on_sdrive)
			if (!o->ext && o->slba < end && slba < o->slba + o->blocks)
				return true;
	return false;
}

static void holders_others(struct tgt_open_facts *f, const struct tgt_session *s,
			   const struct tgt_extent *e, struct tgt_open **self, uuid_t *holder)
{
	struct tgt_open *o;

	list_for_each_entry(o, &e->opens, on_extent) {
		if (o->sd->s == s) {
			if (o->closing)
				f->others_dying = true;	/* its CLOSE is not answered */
			else if (o->rw == f->rw)
				*self = o;
			else
				f->self_other = true;
		} else if (o->closing || tgt_session_state(o->sd->s) != TGT_LIVE) {
			/* old_self makes the same host wait; a fault may skip that. */
			if (!uuid_equal(&o->sd->s->client.host, &s->client.host))
				f->others_dying = true;
		} else {
			f->other_rw |= o->rw;
			f->other_ro |= !o->rw;
			uuid_copy(holder, &o->sd->s->client.host);
		}
	}
}

/* End the sessions of all others that have an extent open. Context: tgt_lock held. */
void tgt_holders_fence(const struct tgt_session *s, const struct tgt_extent *e)
{
	struct tgt_open *o;

	list_for_each_entry(o, &e->opens, on_extent) {
		if (o->sd->s == s)
			continue;
		pr_info("session %u of %pUb: fenced by %pUb\n", o->sd->s->id,
			&o->sd->s->client.host, &s->client.host);
		tgt_session_kill(o->sd->s, -EACCES);
	}
}

static bool holders_claim_holds(const struct tgt_extent *e)
{
	return !uuid_is_null(&e->claim) && time_before(jiffies, e->claim_until);
}

/* True if another host just now preempts the extent or logs in again for the extent. */
static bool holders_claimed(const struct tgt_extent *e, const uuid_t *host)
{
	return holders_claim_holds(e) && !uuid_equal(&e->claim, host);
}

/* Claim an extent for @host, unless another host has claimed it. */
static void holders_claim_set(struct tgt_extent *e, const uuid_t *host)
{
	if (holders_claimed(e, host))
		return;
	uuid_copy(&e->claim, host);
	e->claim_until = jiffies + msecs_to_jiffies(TGT_CLAIM_MS);
}

/*
 * A client has left to log in again for another share: no other host gets the extents that the
 * client has open for writing, for a while. No other host has a reason to take them. Context:
 * tgt_lock held.
 */
void tgt_holders_renew(struct tgt_session *s)
{
	struct tgt_open *o;
	unsigned long i;

	lockdep_assert_held(&tgt_lock);
	if (!s->share.sent || !READ_ONCE(s->client.left))
		return;
	xa_for_each(&s->grants.opens, i, o)
		if (o->rw && !o->closing && o->ext)
			holders_claim_set(o->ext, &s->client.host);
}

/*
 * The host that preempts gets the extent next, as long as the host repeats its OPEN. The fenced
 * host lives, and would get its extents back before the preempting host sends the next OPEN.
 */
static void holders_claim(struct tgt_extent *e, const uuid_t *host, int decision)
{
	switch (decision) {
	case RDDA_OPEN_DRAINING:
	case TGT_OPEN_FENCE:
	case TGT_OPEN_REQUEST:
		holders_claim_set(e, host);
		break;
	case RDDA_OPEN_OK:
		uuid_copy(&e->claim, &uuid_null);
		break;
	}
}

/* True if the extent's volume is for @host. Without a list, it is its last writer's alone. */
static bool holders_allowed(const struct tgt_extent *e, const uuid_t *host)
{
	unsigned int i;

	if (!e->allow)
		return uuid_equal(&e->attacher, host);
	for (i = 0; i < e->allow->nr; i++)
		if (uuid_equal(&e->allow->host[i], host))
			return true;
	return e->allow->all;
}

/*
 * True while clients of the time before a restart may not have come back: each of them notices a
 * lost session, and logs in, within a few times dead_ms.
 */
static bool holders_unknown(void)
{
	return time_before(jiffies, READ_ONCE(tgt_listened) + msecs_to_jiffies(3 * tgt_dead()));
}

/*
 * Decide on an OPEN. @noted: meshd has just noted this grant in the label. @e: extent, NULL: no
 * extent has the requested name. @self: set to the opening that @s already has with this access, if
 * any. @out: its holder is filled in with RDDA_OPEN_HELD. Context: tgt_lock held. Return: as
 * tgt_open_decide().
 */
int tgt_holders_decide(struct tgt_session *s, const struct tgt_open_request *req, bool noted,
		       struct tgt_extent *e, struct tgt_open **self, struct rdda_opened *out)
{
	struct tgt_open_facts f = {
		.rw = req->rw,
		.preempt = req->preempt,
		.again = req->again,
		.epoch = req->epoch,
		.attach = req->attach,
		.served = req->served,
		.numbered = req->numbered,
		.probe = req->probe,
		.noted = noted,
		.unknown = holders_unknown(),
		.grace = time_before(jiffies, tgt_started + msecs_to_jiffies(tgt_grace_ms)),
	};
	uuid_t holder = uuid_null;
	int ret;

	lockdep_assert_held(&tgt_lock);
	if (e) {
		f.found = true;
		tgt_drive_check(e->drive);
		f.drive_gone = e->drive->state == TGT_DRIVE_GONE;
		f.ready = e->ready;
		f.seen = e->epoch;
		f.attach_seen = e->attach;
		f.attach_self = uuid_equal(&e->attacher, &s->client.host);
		f.allowed = holders_allowed(e, &s->client.host);
		f.pending = e->pending;
		f.holder_none = uuid_is_null(&e->holder);
		f.holder_self = uuid_equal(&e->holder, &s->client.host);
		f.old_self = holders_old_self(s, e->drive);
		f.claimed = holders_claimed(e, &s->client.host);
		f.others_dying = holders_dying(e);
		holders_others(&f, s, e, self, &holder);
	}
	ret = tgt_open_decide(&f);
	/* A reader's preempt ends grace times, but keeps out no writer that lost its session. */
	if (e && req->rw && (req->preempt || (holders_claim_holds(e) && !f.claimed)))
		holders_claim(e, &s->client.host, ret);
	if (ret == RDDA_OPEN_HELD)
		export_uuid(out->holder, &holder);
	return ret;
}
