// SPDX-License-Identifier: GPL-2.0-only
/*
 * Rosters that meshd notes in this host's state folder, so that it can say later that no other
 * host has gone on with the members that are missing (roster/membership.h): a removal before any
 * member has its roster, all others once they are committed.
 *
 *   group                            meshd
 *     | roster, or what is noted? ---> | writes a file, whole and durable
 *     | <------------ what is noted -- |
 *
 * A question that is not answered is sent again each second. What is noted is compared as a whole:
 * no answer to an older question is taken for one to this.
 */
#define pr_fmt(fmt) "meshblk: " fmt
#include <linux/slab.h>

#include "driver/group/group.h"
#include "driver/netlink/events.h"
#include "driver/volume/volume.h"
#include "driver/work.h"

#define WITNESS_AGAIN	HZ
#define WITNESS_SAYS	(10 * HZ)	/* between two lines of the log */

/* Whether a removal could be decided by the members alone: any k of them exclude others. */
static bool witness_needed(const struct mesh_group *g)
{
	return !g->cfg.ro && g->geo.k <= g->width - g->geo.k;
}

int mesh_group_witness_init(struct mesh_group *g)
{
	struct mesh_group_witness *w = &g->witness;

	spin_lock_init(&w->lock);
	init_waitqueue_head(&w->wait);
	w->sent_at = jiffies - WITNESS_AGAIN;
	if (!witness_needed(g))
		return 0;
	w->block = kzalloc(PROT_ROSTER_BLOCK, GFP_KERNEL);
	w->answer = kzalloc(MESHBLK_ROSTER_BYTES, GFP_KERNEL);
	return w->block && w->answer ? 0 : -ENOMEM;
}

void mesh_group_witness_exit(struct mesh_group *g)
{
	kfree(g->witness.block);
	kfree(g->witness.answer);
}

/* Whether meshd notes a removal before it counts; as of some moment. */
bool mesh_group_witnessed(const struct mesh_group *g)
{
	return !g->cfg.ro && READ_ONCE(g->state) != MESH_GROUP_OPENING &&
	       READ_ONCE(g->ms.cur.flags) & PROT_ROSTER_WITNESS;
}

/* What meshd at @port has noted, as bytes; @bytes 0: nothing. */
void mesh_group_answered(struct mesh_group *g, u32 port, const void *roster, u32 bytes)
{
	struct mesh_group_witness *w = &g->witness;

	if (!w->answer || (bytes && bytes != MESHBLK_ROSTER_BYTES))
		return;
	spin_lock(&w->lock);
	if (bytes)
		memcpy(w->answer, roster, bytes);
	w->bytes = bytes;
	w->port = port;
	w->answered = true;
	spin_unlock(&w->lock);
	wake_up_all(&w->wait);
	if (!test_bit(MESH_G_CLOSING, &g->flags))
		mod_delayed_work(mesh_wq, &g->start_work, 0);
}

/* Take the last answer, if one has come since. Return: whether it has. */
static bool witness_take(struct mesh_group *g)
{
	struct mesh_group_witness *w = &g->witness;
	u32 bytes = 0;
	bool answered;

	lockdep_assert_held(&g->lock);
	spin_lock(&w->lock);
	answered = w->answered;
	if (answered) {
		w->answered = false;
		w->heard = w->port;
		bytes = w->bytes;
		memcpy(w->block, w->answer, bytes);
	}
	spin_unlock(&w->lock);
	if (!answered)
		return false;
	w->sent_at = jiffies - WITNESS_AGAIN;	/* the next question need not wait */
	w->any = bytes && !prot_roster_parse(w->block, &w->known, &g->cfg.owner, 0) &&
		 !memcmp(&w->known.geo, &g->geo, sizeof(g->geo));
	return true;
}

/* Note @r, NULL: what is noted? Not more often than each second. */
static void witness_request(struct mesh_group *g, const struct prot_roster *r)
{
	struct mesh_group_witness *w = &g->witness;

	lockdep_assert_held(&g->lock);
	if (time_before(jiffies, w->sent_at + WITNESS_AGAIN))
		return;
	w->sent_at = jiffies;
	if (r)
		prot_roster_seal(w->block, r, &g->cfg.owner, 0);
	mesh_nl_roster_note(&g->vol->conf.uuid, g->cfg.owner.group, r ? w->block : NULL);
}

static bool witness_has(const struct mesh_group *g, const struct prot_roster *r)
{
	const struct prot_roster *known = &g->witness.known;

	return g->witness.any && !prot_roster_cmp(known, r) && known->in_sync == r->in_sync &&
	       known->flags == r->flags && !memcmp(known->host, r->host, sizeof(r->host)) &&
	       !memcmp(known->uuid, r->uuid, sizeof(r->uuid));
}

/* Whether the wait for an answer is over: there is one, or none will come. */
static bool witness_ends(struct mesh_group *g)
{
	return READ_ONCE(g->witness.answered) || !mesh_nl_witness() || mesh_group_abandoned(g);
}

/* Return: what is known of the store, or NULL; @here: whether meshd has said that. Sleeps. */
const struct prot_roster *mesh_group_recall(struct mesh_group *g, unsigned long wait, bool *here)
{
	unsigned long until = jiffies + wait;

	*here = false;
	if (!witness_needed(g))
		return NULL;
	witness_take(g);	/* of an older question */
	while (!*here && mesh_nl_witness() && time_before(jiffies, until) &&
	       !mesh_group_abandoned(g)) {
		witness_request(g, NULL);
		wait_event_timeout(g->witness.wait, witness_ends(g), WITNESS_AGAIN);
		*here = witness_take(g);
	}
	return g->witness.any ? &g->witness.known : NULL;
}

/* Whether @r is noted; if not, it is requested, and waited for. With @wait 0 it does not sleep. */
bool mesh_group_noted(struct mesh_group *g, const struct prot_roster *r, unsigned long wait)
{
	unsigned long until = jiffies + wait;

	do {
		witness_take(g);
		if (witness_has(g, r))
			return true;
		if (!mesh_nl_witness() || mesh_group_abandoned(g))
			return false;
		witness_request(g, r);
		if (wait)
			wait_event_timeout(g->witness.wait, witness_ends(g), WITNESS_AGAIN);
	} while (wait && time_before(jiffies, until));
	return false;
}

/* Whether the pending roster may be written; else I/O waits for that as long as it takes. */
bool mesh_group_may_write(struct mesh_group *g)
{
	struct mesh_group_witness *w = &g->witness;
	bool waits = prot_membership_must_note(&g->ms) && !mesh_group_noted(g, &g->ms.pend, 0);

	if (waits && !w->waits)		/* it is to answer before that is worth a line */
		w->said_at = jiffies - WITNESS_SAYS + WITNESS_AGAIN;
	WRITE_ONCE(w->waits, waits);
	if (waits && time_after_eq(jiffies, w->said_at + WITNESS_SAYS)) {
		w->said_at = jiffies;
		pr_warn("%s: group %u.%u waits for meshd, which has to note its members: is it running?\n",
			g->vol->conf.name, g->segment, g->column);
	}
	return !waits;
}

/*
 * A roster more, when meshd has come or gone: from now on it notes what is removed, or the group
 * goes on by itself. Return: 0, or -EBUSY; -EINPROGRESS: not now.
 */
int mesh_group_witness_step(struct mesh_group *g)
{
	struct mesh_group_witness *w = &g->witness;
	const struct prot_roster *cur = &g->ms.cur;
	bool is = cur->flags & PROT_ROSTER_WITNESS;
	u32 port = mesh_nl_witness();

	if (!witness_needed(g) || cur->flags & PROT_ROSTER_AUTONOMOUS)
		return 0;
	if (!port && is)
		return mesh_nl_witness_away() ? prot_membership_witness(&g->ms, false) :
						-EINPROGRESS;
	if (!port)
		return 0;
	/* one that cannot note would keep a removal waiting: this one has to show that it can */
	witness_take(g);
	if (!is && w->heard != port)
		w->any = false;
	if (!mesh_group_noted(g, cur, 0))
		return -EINPROGRESS;
	return is ? 0 : prot_membership_witness(&g->ms, true);
}
