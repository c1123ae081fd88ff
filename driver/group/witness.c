// SPDX-License-Identifier: GPL-2.0-only
/*
 * Rosters noted by meshd in this host's state folder, so that meshd can say later that no other
 * host has gone on with the missing members (roster/membership.h). A removal is noted before any
 * member has the roster, all other rosters after the commit.
 *
 *   group                            meshd
 *     | roster, or a question -------> | writes a file, whole and durable
 *     | <------------ noted roster --- |
 *
 * Of a volume with an access number meshd stands for the cluster's store: facts.c has what follows.
 *
 * An unanswered request is sent again each second. The noted roster is compared as a whole: no
 * answer to an older request is taken for an answer to the present one.
 */
#define pr_fmt(fmt) "meshblk: " fmt
#include <linux/slab.h>

#include "driver/group/group.h"
#include "driver/netlink/events.h"
#include "driver/volume/volume.h"
#include "driver/work.h"

#define WITNESS_AGAIN	HZ
#define WITNESS_SAYS	(10 * HZ)	/* between two lines of the log */

/*
 * True: the group needs a witness, because the members alone cannot decide a removal: k other
 * members may be left. Otherwise any k members exclude others.
 */
static bool witness_needed(const struct mesh_group *g)
{
	return !g->cfg.ro && g->geo.k <= g->width - g->geo.k;
}

/* True: what is noted counts for an attach. What is forgotten is given up with the store alone. */
static bool witness_counts(const struct mesh_group *g)
{
	return witness_needed(g) || (!g->cfg.ro && READ_ONCE(g->conf.forgotten));
}

int mesh_group_witness_init(struct mesh_group *g)
{
	struct mesh_group_witness *w = &g->witness;

	spin_lock_init(&w->lock);
	init_waitqueue_head(&w->wait);
	w->sent_at = jiffies - WITNESS_AGAIN;
	if (!witness_needed(g) && (g->cfg.ro || !g->vol->access.numbered))
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

/* True: meshd notes a removal before the removal counts; as of some moment. */
bool mesh_group_witnessed(const struct mesh_group *g)
{
	return !g->cfg.ro && READ_ONCE(g->state) != MESH_GROUP_OPENING &&
	       READ_ONCE(g->ms.cur.flags) & PROT_ROSTER_WITNESS;
}

/* meshd at @port answers with the noted roster, as bytes; @bytes 0: none is noted. */
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

/* Take the last answer, if new. Return: true if there was a new answer. */
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
	w->open_since = 0;
	w->heard_at = jiffies;
	w->any = bytes && !prot_roster_parse(w->block, &w->known, &g->cfg.owner, 0) &&
		 !memcmp(&w->known.geo, &g->geo, sizeof(g->geo));
	return true;
}

/* A request is without an answer from now on. */
static void witness_open(struct mesh_group_witness *w)
{
	if (!w->open_since)
		w->open_since = jiffies | 1;
}

/* Request meshd to note @r, NULL: to send the noted roster. At most once a second. */
static void witness_request(struct mesh_group *g, const struct prot_roster *r)
{
	struct mesh_group_witness *w = &g->witness;

	lockdep_assert_held(&g->lock);
	witness_open(w);
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

/* True: the wait for an answer is over, because an answer has come, or none will come. */
static bool witness_ends(struct mesh_group *g)
{
	return READ_ONCE(g->witness.answered) || !mesh_nl_witness() || mesh_group_abandoned(g);
}

/*
 * Return: the noted roster, as far as known, or NULL; @here: set to true if meshd has answered now.
 * Sleeps.
 */
const struct prot_roster *mesh_group_recall(struct mesh_group *g, unsigned long wait, bool *here)
{
	unsigned long until = jiffies + wait;

	*here = false;
	if (!witness_counts(g))
		return NULL;
	witness_take(g);	/* an answer to an older request */
	while (!*here && mesh_nl_witness() && time_before(jiffies, until) &&
	       !mesh_group_abandoned(g)) {
		witness_request(g, NULL);
		wait_event_timeout(g->witness.wait, witness_ends(g), WITNESS_AGAIN);
		*here = witness_take(g);
	}
	return g->witness.any ? &g->witness.known : NULL;
}

/* Request the noted roster, whenever the answer comes. */
void mesh_group_recall_later(struct mesh_group *g)
{
	lockdep_assert_held(&g->lock);
	witness_request(g, NULL);
}

/*
 * Return: true if @r is noted. If not, request the note, and wait for at most @wait. With @wait 0,
 * do not wait for meshd.
 */
bool mesh_group_noted(struct mesh_group *g, const struct prot_roster *r, unsigned long wait)
{
	struct mesh_group_witness *w = &g->witness;
	unsigned long until = jiffies + wait;

	do {
		witness_take(g);
		if (witness_has(g, r))
			return true;
		if (!mesh_nl_witness() || mesh_group_abandoned(g)) {
			witness_open(w);	/* its absence is counted, too */
			return false;
		}
		witness_request(g, r);
		if (wait)
			wait_event_timeout(w->wait, witness_ends(g), WITNESS_AGAIN);
	} while (wait && time_before(jiffies, until));
	return false;
}

/* True: the pending roster may be written. False: I/O waits for meshd's note, however long. */
bool mesh_group_may_write(struct mesh_group *g)
{
	struct mesh_group_witness *w = &g->witness;
	bool waits = prot_membership_must_note(&g->ms) && !mesh_group_noted(g, &g->ms.pend, 0);

	if (waits && !w->waits)		/* meshd has time to answer before a line is logged */
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
 * Propose a roster when meshd has come or gone: from then on meshd notes removals, or the group
 * goes on without meshd. Return: 0, or -EBUSY; -EINPROGRESS: not now.
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
	/*
	 * a meshd that cannot note would keep a removal waiting, so meshd has to note this roster
	 * first
	 */
	witness_take(g);
	if (!is && w->heard != port)
		w->any = false;
	if (!mesh_group_noted(g, cur, 0))
		return -EINPROGRESS;
	return is ? 0 : prot_membership_witness(&g->ms, true);
}
