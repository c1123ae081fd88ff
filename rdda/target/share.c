// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sessions that have much more, or much less, than a login would be granted by now.
 *
 *   clients come, or go ---> a share is twice as large, or half ---> for SHARE_TURNS turns
 *                                                                        |
 *   the client logs in again and gets it <--- RDDA_EV_SHARE, few a turn <-'
 *
 * A turn compares two shares, at the login and now, and not the grant: where a budget or want of
 * memory made the grant smaller than the share, another login would get no more. Only a session
 * that has more channels than the share now is notified of a smaller one.
 */
#define pr_fmt(fmt) "meshtgt: " fmt
#include <linux/moduleparam.h>

#include "rdda/target/arena.h"
#include "rdda/target/channel.h"
#include "rdda/target/session.h"
#include "rdda/target/tgt.h"
#include "rdda/wire.h"

#define SHARE_TURNS	3	/* a host that boots again comes back meanwhile */
#define SHARE_PART	16	/* of the clients log in again in one turn, ... */
#define SHARE_MOST	16U	/* ... and no more */

static unsigned int rebalance_ms = 10000;
module_param(rebalance_ms, uint, 0644);
MODULE_PARM_DESC(rebalance_ms, "compare what sessions have with their share this often (10000; 0: never)");

static void share_work_fn(struct work_struct *work);
static DECLARE_DELAYED_WORK(share_work, share_work_fn);
static unsigned long share_last;	/* time of the last turn; share_work alone */

static bool share_off(const struct tgt_session *s, unsigned int clients)
{
	unsigned int then = s->share.channels, now = tgt_arena_share(s->share.use, clients);

	if (now > then)
		return now >= 2 * then;
	return 2 * now <= then && now < s->nr_channels;
}

static void share_send(struct tgt_session *s, unsigned int clients)
{
	unsigned int now = tgt_arena_share(s->share.use, clients);

	pr_info_ratelimited("session %u of %pUb: %u channels, %u for a login now\n", s->id,
			    &s->client.host, s->nr_channels, now);
	s->share.sent = true;
	tgt_session_event(s, RDDA_EV_SHARE, &uuid_null, 0, now);
}

/* Return: true if the client is to be notified, by the count of all @clients. */
static bool share_due(struct tgt_session *s, unsigned int clients)
{
	/* A session gets no event before the target has answered the proof. */
	if (s->share.sent || tgt_session_state(s) != TGT_LIVE || !s->channel[0]->proven)
		return false;
	if (!share_off(s, clients)) {
		s->share.turns = 0;
		return false;
	}
	return ++s->share.turns >= SHARE_TURNS;
}

static void share_turn(void)
{
	unsigned int clients, exact, most;
	struct tgt_session *s;

	mutex_lock(&tgt_lock);
	clients = tgt_session_clients(NULL);
	most = min(DIV_ROUND_UP(clients, SHARE_PART), SHARE_MOST);
	list_for_each_entry(s, &tgt_sessions, node) {
		if (!share_due(s, clients))
			continue;
		exact = tgt_session_clients(s);		/* as a login of this client will count */
		if (!share_off(s, exact))
			continue;
		share_send(s, exact);
		if (!--most)
			break;
	}
	mutex_unlock(&tgt_lock);
}

static void share_work_fn(struct work_struct *work)
{
	unsigned long every = msecs_to_jiffies(READ_ONCE(rebalance_ms));

	if (every && time_after_eq(jiffies, share_last + every)) {
		share_last = jiffies;
		share_turn();
	}
	/* rebalance_ms may be switched on, or be set to less */
	queue_delayed_work(tgt_wq, &share_work, min_not_zero(every, (unsigned long)HZ) + 1);
}

/* Begin to compare shares. */
void tgt_share_init(void)
{
	share_last = jiffies;
	queue_delayed_work(tgt_wq, &share_work, 0);
}

/* No client is notified after this. Sleeps. */
void tgt_share_exit(void)
{
	cancel_delayed_work_sync(&share_work);
}
