// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sessions: one incarnation of one client each, the unit of trust and fencing.
 *
 * A session ends in this order and no other: queue pairs destroyed and drained, memory regions
 * destroyed, bios back, memory freed. The kill work does the first two. No thread waits for bios:
 * the last view to go queues the free work. So a hung drive costs the memory of a dead session, and
 * costs other sessions nothing. Beside that, the leave work destroys the connections' ids.
 */
#define pr_fmt(fmt) "meshtgt: " fmt
#include <linux/delay.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "rdda/common/fault.h"
#include "rdda/target/arena.h"
#include "rdda/target/channel.h"
#include "rdda/target/grant.h"
#include "rdda/target/netlink.h"
#include "rdda/target/session.h"
#include "rdda/target/tgt.h"
#include "rdda/wire.h"

#define TGT_PORT_MS		500	/* between two polls of a port that is down */
#define TGT_OLDER_MAX		2	/* older sessions of a host, beside the budget */

/* A session that ended without a good-bye. */
struct tgt_past {
	struct list_head	node;	/* in past; tgt_lock for all */
	uuid_t			host;	/* of the client */
	u8			boot_id[RDDA_UUID_LEN];	/* of the client */
	struct sockaddr_storage	addr;	/* address of the client */
	u64			until;	/* jiffies at which the host counts as silent */
	unsigned int		dead_ms;	/* dead_ms at the login */
};

LIST_HEAD(tgt_sessions);		/* tgt_lock */
static LIST_HEAD(past);			/* tgt_lock */
static atomic_t leaving;		/* sessions that still have connections */
static u32 next_id;			/* tgt_lock */
static DECLARE_WAIT_QUEUE_HEAD(empty_wait);
#ifdef MESH_FAULTS
static struct ib_pd *shared_pd;
#endif

static void session_release(struct kref *ref)
{
	struct tgt_session *s = container_of(ref, struct tgt_session, ref);
	unsigned int i;

	for (i = 0; i < TGT_CHANNELS_MAX; i++)
		if (s->channel[i])
			tgt_channel_free(s->channel[i]);
	xa_destroy(&s->grants.drives);
	xa_destroy(&s->grants.opens);
	kfree(s->end.past);
	kfree(s);
}

/* Return: the sum of a counter over all channels of a session. */
u64 tgt_session_count(struct tgt_session *s, enum tgt_count which)
{
	const struct tgt_channel *ch;
	unsigned int i;
	u64 n = 0;

	for (i = 0; i < TGT_CHANNELS_MAX; i++) {
		/* Pairs with the release in tgt_session_attach(). */
		ch = smp_load_acquire(&s->channel[i]);
		if (ch)
			n += READ_ONCE(ch->count[which]);
	}
	return n;
}

/* Return: bytes given to a session and used for the session. Context: tgt_lock held. */
u64 tgt_session_memory(struct tgt_session *s)
{
	u64 n = sizeof(*s);
	unsigned int i;

	lockdep_assert_held(&tgt_lock);
	n += (u64)s->arena.nr << s->arena.shift;
	n += s->grants.nr_opens * (u64)(sizeof(struct tgt_open) + sizeof(struct rdda_extent_view));
	spin_lock_bh(&s->lock);
	for (i = 0; i < TGT_CHANNELS_MAX; i++)
		if (s->channel[i])
			n += tgt_channel_memory(s->channel[i]);
	spin_unlock_bh(&s->lock);
	return n;
}

static void session_watch_work(struct work_struct *work)
{
	struct tgt_session *s = container_of(work, struct tgt_session, end.watch.work);
	unsigned long dead = msecs_to_jiffies(s->client.dead_ms);

	if (tgt_session_state(s) != TGT_LIVE)
		return;
	/*
	 * With RDDA_FAULT_DEAF the target's CPUs do nothing: then the watch does not end sessions
	 * either.
	 */
	if (time_after(jiffies, READ_ONCE(s->client.heard) + dead) &&
	    !rdda_fault(RDDA_FAULT_DEAF)) {
		pr_info("session %u of %pUb: nothing heard for %u ms; ended\n", s->id,
			&s->client.host, jiffies_to_msecs(jiffies - s->client.heard));
		tgt_session_kill(s, -ETIMEDOUT);
		return;
	}
	queue_delayed_work(tgt_wq, &s->end.watch, dead / 8 + 1);
}

/*
 * Return: when the client counts as silent: its last message plus dead_ms; in jiffies that do not
 * wrap.
 */
static u64 session_until(const struct tgt_session *s)
{
	/* signed: a message may come between the two reads of the clock */
	return get_jiffies_64() - (long)(jiffies - READ_ONCE(s->client.heard)) +
	       msecs_to_jiffies(s->client.dead_ms);
}

/* Forget ended sessions whose time is over, and all of @host, which may be NULL. */
static void past_prune(const uuid_t *host)
{
	struct tgt_past *p, *next;

	lockdep_assert_held(&tgt_lock);
	list_for_each_entry_safe(p, next, &past, node) {
		if (time_before64(get_jiffies_64(), p->until) &&
		    !(host && uuid_equal(&p->host, host)))
			continue;
		list_del(&p->node);
		kfree(p);
	}
}

/* Remember a session that is gone, but whose host may live: see session_admit(). */
static void past_add(struct tgt_session *s)
{
	lockdep_assert_held(&tgt_lock);
	past_prune(NULL);
	if (!s->client.proved || READ_ONCE(s->client.left))
		return;
	s->end.past->host = s->client.host;
	memcpy(s->end.past->boot_id, s->client.boot_id, sizeof(s->client.boot_id));
	s->end.past->addr = s->client.addr;
	s->end.past->until = session_until(s);
	s->end.past->dead_ms = s->client.dead_ms;
	list_add(&s->end.past->node, &past);
	s->end.past = NULL;
}

static void session_free_work(struct work_struct *work)
{
	struct tgt_session *s = container_of(work, struct tgt_session, end.free);
	unsigned int noio = memalloc_noio_save();

	tgt_sysfs_del(s);
	tgt_arena_free(s);
	tgt_arena_unreserve(s->arena.bytes, s->nr_channels);
	tgt_session_set(s, TGT_DEAD, 0);
	mutex_lock(&tgt_lock);
	list_del(&s->node);
	past_add(s);
	mutex_unlock(&tgt_lock);
	pr_info_ratelimited("session %u of %pUb: gone\n", s->id, &s->client.host);
	tgt_session_put(s);
	wake_up_all(&empty_wait);
	memalloc_noio_restore(noio);
}

/* A queue pair, or the arena, is gone: drop its hold on the protection domain. */
void tgt_session_pd_put(struct tgt_session *s)
{
	if (!refcount_dec_and_test(&s->pd_users))
		return;
#ifdef MESH_FAULTS
	if (s->pd == shared_pd)
		return;
#endif
	ib_dealloc_pd(s->pd);
}

/*
 * Destroy the connections, last, and when their port is up, since this sends messages. Only the
 * memory of the channels waits for the port. A device that is being removed waits for the
 * connections: then, and when the target stops, this work does not wait for the port.
 */
static void session_leave_work(struct work_struct *work)
{
	struct tgt_session *s = container_of(work, struct tgt_session, end.leave.work);
	unsigned int noio = memalloc_noio_save();
	bool force = READ_ONCE(tgt_stopping) || READ_ONCE(s->end.removed);
	unsigned int i;

	for (i = 0; i < TGT_CHANNELS_MAX && !force; i++) {
		if (!s->channel[i] || rdda_port_active(s->channel[i]->cm))
			continue;
		queue_delayed_work(tgt_wq, &s->end.leave, msecs_to_jiffies(TGT_PORT_MS));
		goto out;
	}
	for (i = 0; i < TGT_CHANNELS_MAX; i++)
		if (s->channel[i])
			tgt_channel_leave(s->channel[i]);
	tgt_session_put(s);
	atomic_dec(&leaving);
out:
	memalloc_noio_restore(noio);
}

static void session_kill_work(struct work_struct *work)
{
	struct tgt_session *s = container_of(work, struct tgt_session, end.kill);
	unsigned int noio = memalloc_noio_save();
	unsigned int i;

	if (s->client.proved)
		tgt_nl_session(s, tgt_state_name(TGT_DYING));
	if (rdda_fault(RDDA_FAULT_ARENA)) {
		tgt_arena_free(s);
		ssleep(1);
	}
	/* No channel attaches any more: the state forbids it. */
	for (i = 0; i < TGT_CHANNELS_MAX; i++)
		if (s->channel[i])
			tgt_channel_stop(s->channel[i]);
	/*
	 * The control work of the proof, which arms the watch or finds the session ended, is over
	 * by now.
	 */
	cancel_delayed_work_sync(&s->end.watch);
	tgt_arena_unregister(s);
	for (i = 0; i < TGT_CHANNELS_MAX; i++)
		if (s->channel[i])
			tgt_session_pd_put(s);
	if (s->channel[0])	/* else listen_login() has dropped this hold */
		tgt_session_pd_put(s);
	atomic_inc(&leaving);
	tgt_session_set(s, TGT_DRAINING, 0);
	mutex_lock(&tgt_lock);
	tgt_grant_session_end(s);
	tgt_session_drained(s);
	mutex_unlock(&tgt_lock);
	queue_delayed_work(tgt_wq, &s->end.leave, 0);	/* takes over this work's reference */
	memalloc_noio_restore(noio);
}

/* End all sessions. @err: why, as for tgt_session_kill(). */
void tgt_session_kill_all(int err)
{
	struct tgt_session *s;

	mutex_lock(&tgt_lock);
	list_for_each_entry(s, &tgt_sessions, node)
		tgt_session_kill(s, err);
	mutex_unlock(&tgt_lock);
}

/*
 * Return: 0; -EKEYREVOKED: the client's host was removed; -EKEYREJECTED: it logged in with a key
 * that is not in use any more.
 */
static int session_counts(const struct tgt_session *s)
{
	if (tgt_identity_removed(&s->client.host))
		return -EKEYREVOKED;
	return tgt_identity_counts(&s->channel[0]->login.key.named) ? 0 : -EKEYREJECTED;
}

/*
 * The keys, or the hosts that were removed, have changed: end sessions that do not count any more.
 * A session that is logging in is checked in tgt_session_live().
 */
void tgt_session_rekeyed(void)
{
	struct tgt_session *s;

	mutex_lock(&tgt_lock);
	list_for_each_entry(s, &tgt_sessions, node)
		if (s->client.proved && session_counts(s))
			tgt_session_kill(s, -EKEYREVOKED);
	mutex_unlock(&tgt_lock);
}

/*
 * Return: the longest silence, in ms, during which a client may go on as if its session lived;
 * dead_ms may have been changed since its login. Context: tgt_lock held.
 */
unsigned int tgt_session_dead_most(void)
{
	const struct tgt_session *s;
	const struct tgt_past *p;
	unsigned int ms = tgt_dead();

	past_prune(NULL);
	list_for_each_entry(s, &tgt_sessions, node)
		if (s->client.proved && !READ_ONCE(s->client.left))
			ms = max(ms, s->client.dead_ms);
	list_for_each_entry(p, &past, node)
		ms = max(ms, p->dead_ms);
	return ms;
}

static bool sessions_quiet(void)
{
	struct tgt_session *s;
	bool quiet = true;

	mutex_lock(&tgt_lock);
	list_for_each_entry(s, &tgt_sessions, node)
		quiet &= tgt_session_state(s) >= TGT_DRAINING;
	mutex_unlock(&tgt_lock);
	return quiet;
}

/* Wait, for @ms at most, until no queue pair is left: no client writes to this host any more. */
void tgt_session_quiet(unsigned int ms)
{
	unsigned long end = jiffies + msecs_to_jiffies(ms);

	while (!sessions_quiet() && time_before(jiffies, end))
		msleep(20);
}

/* Return: a session by number, with a reference, or NULL. */
struct tgt_session *tgt_session_find(u32 id)
{
	struct tgt_session *s, *found = NULL;

	mutex_lock(&tgt_lock);
	list_for_each_entry(s, &tgt_sessions, node) {
		if (s->id == id) {
			tgt_session_get(s);
			found = s;
			break;
		}
	}
	mutex_unlock(&tgt_lock);
	return found;
}

static int session_pd_alloc(struct tgt_session *s)
{
#ifdef MESH_FAULTS
	if (rdda_fault(RDDA_FAULT_PD)) {
		if (!shared_pd)
			shared_pd = ib_alloc_pd(s->dev, 0);
		s->pd = shared_pd;
		return PTR_ERR_OR_ZERO(s->pd);
	}
#endif
	s->pd = ib_alloc_pd(s->dev, 0);
	return PTR_ERR_OR_ZERO(s->pd);
}

static struct tgt_session *session_create(struct rdma_cm_id *cm, const struct rdda_login *l,
					  const struct rdda_limits *lim)
{
	struct tgt_session *s = kzalloc(sizeof(*s), GFP_NOIO);

	if (!s)
		return NULL;
	kref_init(&s->ref);
	s->release = session_release;
	refcount_set(&s->pd_users, 1);
	spin_lock_init(&s->lock);
	xa_init_flags(&s->grants.drives, XA_FLAGS_ALLOC1);
	xa_init_flags(&s->grants.opens, XA_FLAGS_ALLOC1);
	INIT_DELAYED_WORK(&s->end.watch, session_watch_work);
	INIT_WORK(&s->end.kill, session_kill_work);
	INIT_DELAYED_WORK(&s->end.leave, session_leave_work);
	INIT_WORK(&s->end.free, session_free_work);
	import_uuid(&s->client.host, l->host_uuid);
	s->client.role = l->role;
	s->client.boot = le32_to_cpu(l->boot);
	s->client.number = le32_to_cpu(l->number);
	s->client.addr = cm->route.addr.dst_addr;
	s->dev = cm->device;
	s->lim = *lim;
	s->client.heard = jiffies;
	s->client.dead_ms = tgt_dead();
	s->end.past = kzalloc(sizeof(*s->end.past), GFP_NOIO);
	if (s->end.past && !session_pd_alloc(s))
		return s;
	kfree(s->end.past);
	kfree(s);
	return NULL;
}

static bool session_same_host(const struct tgt_session *s, const struct rdda_login *l)
{
	uuid_t host;

	import_uuid(&host, l->host_uuid);
	return uuid_equal(&s->client.host, &host);
}

/*
 * Refuse an incarnation that has been seen, or an older one. Only a session that proved the key
 * counts as seen: any host can send the UUID of another. Return: RDDA_REJ_STALE or 0.
 */
static int session_stale_login(const struct rdda_login *l)
{
	struct tgt_session *s;

	lockdep_assert_held(&tgt_lock);
	list_for_each_entry(s, &tgt_sessions, node)
		if (s->client.proved && session_same_host(s, l) &&
		    s->client.boot == le32_to_cpu(l->boot) &&
		    s->client.number >= le32_to_cpu(l->number))
			return RDDA_REJ_STALE;
	return 0;
}

/*
 * Create a session for a login. @l: nothing in the login is proved yet, so no other session is
 * touched. @lim: limits of the connection's device. @reason: set to the enum rdda_reject_reason
 * when NULL is returned. All memory is allocated before tgt_lock is taken: under tgt_lock, fencing
 * must not wait for memory. Context: CM's work queue, noio. Return: a referenced session or NULL.
 */
struct tgt_session *tgt_session_login(struct rdma_cm_id *cm, const struct rdda_login *l,
				      const struct rdda_limits *lim, int *reason)
{
	struct tgt_session *s;

	mutex_lock(&tgt_lock);
	*reason = session_stale_login(l);
	mutex_unlock(&tgt_lock);
	if (*reason)
		return NULL;
	*reason = RDDA_REJ_BUSY;
	s = session_create(cm, l, lim);
	if (!s)
		return NULL;
	mutex_lock(&tgt_lock);
	s->id = ++next_id;
	list_add_tail(&s->node, &tgt_sessions);	/* the list has the first reference */
	tgt_session_get(s);
	mutex_unlock(&tgt_lock);
	return s;
}

/*
 * Find the session of another channel. @j: join, not proved. Return: a referenced session that was
 * live just now, or NULL.
 */
struct tgt_session *tgt_session_joined(struct rdma_cm_id *cm, const struct rdda_join *j)
{
	struct tgt_session *s = tgt_session_find(le32_to_cpu(j->session));

	if (!s)
		return NULL;
	if (tgt_session_state(s) == TGT_LIVE && s->dev == cm->device &&
	    j->channel < s->nr_channels)
		return s;
	tgt_session_put(s);
	return NULL;
}

/*
 * Take the place of a channel that has proved the key, for good. Return: false when the place was
 * taken before, or the session has ended.
 */
bool tgt_session_take(struct tgt_session *s, unsigned int channel)
{
	bool took;

	spin_lock_bh(&s->lock);
	took = s->state == TGT_LIVE && !__test_and_set_bit(channel, &s->taken);
	spin_unlock_bh(&s->lock);
	return took;
}

/*
 * Attach a channel: from now on the session ends the channel. @ch: channel, ready to be accepted.
 * The deadline of channel 0's proof is armed under the lock, too: the end of the channel comes
 * later and cancels the deadline. Return: 0, or -ESTALE when the session has ended.
 */
int tgt_session_attach(struct tgt_channel *ch)
{
	struct tgt_session *s = ch->s;
	int ret = -ESTALE;

	spin_lock_bh(&s->lock);
	if (s->state == (ch->index ? TGT_LIVE : TGT_LOGIN)) {
		/*
		 * for tgt_session_count(); all other readers find the channel under the lock, or
		 * later
		 */
		smp_store_release(&s->channel[ch->index], ch);
		tgt_poller_kick(ch);	/* a turn polls, and requests events */
		if (!ch->index)
			queue_delayed_work(tgt_wq, &ch->login.deadline,
					   msecs_to_jiffies(tgt_proof()));
		ret = 0;
	}
	spin_unlock_bh(&s->lock);
	return ret;
}

static int session_twin(const struct tgt_session *s, const struct sockaddr_storage *addr)
{
	pr_warn_ratelimited("host %pUb: login from %pIS refused, the same UUID lives at %pIS: two hosts with one UUID?\n",
			    &s->client.host, &s->client.addr, addr);
	return -ENOTUNIQ;
}

/*
 * Decide if a session may live beside the others of its host UUID. An older session of the same
 * boot will be superseded. A session of another boot that sent something within dead_ms and did not
 * say good-bye belongs to another machine, as a host that has really booted again is silent for
 * that long. If both machines went on, they would take the session from each other and write the
 * same extents by turns. An ended session proves as much as a live one: the link of a living
 * machine may be down. Return: 0; -ESTALE: a newer session of the same boot exists; -ENOTUNIQ:
 * another machine lives under the UUID.
 */
static int session_admit(const struct tgt_session *s)
{
	const struct tgt_session *o;
	const struct tgt_past *p;

	lockdep_assert_held(&tgt_lock);
	past_prune(NULL);
	list_for_each_entry(o, &tgt_sessions, node) {
		if (o == s || !o->client.proved || !uuid_equal(&o->client.host, &s->client.host))
			continue;
		if (memcmp(o->client.boot_id, s->client.boot_id, sizeof(s->client.boot_id))) {
			if (!READ_ONCE(o->client.left) &&
			    time_before64(get_jiffies_64(), session_until(o)))
				return session_twin(s, &o->client.addr);
		} else if (o->client.number >= s->client.number) {
			return -ESTALE;
		}
	}
	list_for_each_entry(p, &past, node)
		if (uuid_equal(&p->host, &s->client.host) &&
		    memcmp(p->boot_id, s->client.boot_id, sizeof(s->client.boot_id)))
			return session_twin(s, &p->addr);
	return 0;
}

static bool session_host(const struct tgt_session *s, const uuid_t *host)
{
	return s && uuid_equal(&s->client.host, host);
}

/*
 * Count the clients that share the target: @s, all others that have memory or are about to, and
 * clients whose session was lost just now. Without the lost ones, the first logins of a storm would
 * take a large share, while the rest are not back yet. @s: NULL: count all; a client that has lost
 * a session and is back may then count twice. Context: tgt_lock held. Return: 1 at least.
 */
unsigned int tgt_session_clients(const struct tgt_session *s)
{
	const struct tgt_session *o;
	const struct tgt_past *p;
	unsigned int n = !!s;

	past_prune(NULL);
	list_for_each_entry(o, &tgt_sessions, node)
		n += o->nr_channels && !READ_ONCE(o->client.left) &&
		     !session_host(s, &o->client.host);
	list_for_each_entry(p, &past, node)
		n += !session_host(s, &p->host);
	return max(n, 1U);
}

/*
 * Reserve the memory of a session. The sessions of the same host that @s supersedes, or that have
 * just lost their connections, do not count against @s: after a reconnect storm, each login would
 * find the budgets full of the earlier sessions, take less, and keep less. A session that waits for
 * bios counts, since bios may take any time. A NIC may destroy no queue pairs: so no more than
 * TGT_OLDER_MAX sessions of a host have memory beyond the budgets.
 */
static int session_reserve(struct tgt_session *s, unsigned int use)
{
	unsigned int channels = 0, older = 0, clients = tgt_session_clients(s);
	unsigned long bytes = 0;
	struct tgt_session *o;

	lockdep_assert_held(&tgt_lock);
	list_for_each_entry(o, &tgt_sessions, node) {
		enum tgt_state state = tgt_session_state(o);

		if (o == s || !o->client.proved || !uuid_equal(&o->client.host, &s->client.host) ||
		    (state != TGT_LIVE && state != TGT_DYING) || older == TGT_OLDER_MAX)
			continue;
		older++;
		bytes += o->arena.bytes;
		channels += o->nr_channels;
	}
	s->share.use = use;
	s->share.channels = tgt_arena_share(use, clients);
	bytes = tgt_arena_reserve(&use, clients, bytes, channels);
	if (!bytes)
		return -EBUSY;
	s->nr_channels = use;
	s->arena.bytes = bytes;
	return 0;
}

/*
 * Give back half of a grant: there is no memory for all of it now. @s: the client does not know the
 * grant yet. Context: control work of channel 0. Return: false when @s has one channel.
 */
bool tgt_session_halve(struct tgt_session *s)
{
	unsigned int n;
	u32 bytes;

	mutex_lock(&tgt_lock);
	n = s->nr_channels / 2;
	bytes = s->arena.bytes / s->nr_channels * n;
	s->nr_channels -= n;
	s->arena.bytes -= bytes;
	tgt_arena_unreserve(bytes, n);
	mutex_unlock(&tgt_lock);
	return n;
}

/*
 * Reserve channels and arena of a session whose client has proved the key. @boot_id: the client's,
 * whole. @use: channels that the client has a use for, 0: not said. Context: control work of
 * channel 0. Return: 0; -ESTALE: a newer session of the same boot came first; -ENOTUNIQ: another
 * host lives under the client's UUID; -EBUSY: a budget is used up.
 */
int tgt_session_grant(struct tgt_session *s, const u8 *boot_id, unsigned int use)
{
	int ret;

	mutex_lock(&tgt_lock);
	memcpy(s->client.boot_id, boot_id, sizeof(s->client.boot_id));
	ret = session_admit(s);
	if (!ret)
		ret = session_reserve(s, use);
	mutex_unlock(&tgt_lock);
	return ret;
}

/*
 * The memory of @s is there: make @s live, and end older incarnations of its client. Return: 0;
 * -ESTALE: also when the session ended meanwhile; as session_counts(); -ENOTUNIQ:
 * as for tgt_session_grant().
 */
int tgt_session_live(struct tgt_session *s)
{
	struct tgt_session *o;
	int ret;

	mutex_lock(&tgt_lock);
	ret = session_admit(s);		/* another session may have come since */
	if (!ret)
		ret = session_counts(s);	/* and the keys may have changed */
	if (ret)
		goto out;
	WRITE_ONCE(s->client.heard, jiffies);
	s->client.proved = true;
	ret = -ESTALE;
	if (!tgt_session_set(s, TGT_LIVE, 0))
		goto out;
	ret = 0;
	/* @s was admitted beside the others: from here on @s alone speaks for its host. */
	past_prune(&s->client.host);
	list_for_each_entry(o, &tgt_sessions, node) {
		if (o == s || !uuid_equal(&o->client.host, &s->client.host) || !o->client.proved)
			continue;
		WRITE_ONCE(o->client.left, true);
		tgt_session_kill(o, -ESTALE);
	}
	queue_delayed_work(tgt_wq, &s->end.watch, 1);
out:
	mutex_unlock(&tgt_lock);
	if (!ret)
		pr_info_ratelimited("session %u of %pUb: live, %u channels, %u KiB\n", s->id,
				    &s->client.host, s->nr_channels, s->arena.bytes >> 10);
	return ret;
}

/*
 * Send the client an EVENT, which answers no request. @drive: null UUID for an event without a
 * drive. No event is sent before PROVED: the client could not act on one. Context: process,
 * tgt_lock held, which keeps the channel.
 */
void tgt_session_event(struct tgt_session *s, u32 kind, const uuid_t *drive, u32 nsid, u32 handle)
{
	struct rdda_event m = {
		.hdr.type = RDDA_EVENT,
		.hdr.len = cpu_to_le32(sizeof(m)),
		.kind = cpu_to_le32(kind),
		.nsid = cpu_to_le32(nsid),
		.handle = cpu_to_le32(handle),
	};

	lockdep_assert_held(&tgt_lock);
	export_uuid(m.drive, drive);
	if (tgt_session_state(s) == TGT_LIVE && s->channel[0]->proven)
		tgt_ctl_event(s->channel[0], &m, sizeof(m));
}

void tgt_session_init(void)
{
	get_random_bytes(&next_id, sizeof(next_id));
	next_id &= 0xffff;
}

static bool sessions_empty(void)
{
	bool empty;

	mutex_lock(&tgt_lock);
	empty = list_empty(&tgt_sessions);
	mutex_unlock(&tgt_lock);
	return empty;
}

/* End all sessions and wait until their bios are back. */
void tgt_session_exit(void)
{
	struct tgt_past *p, *next;

	tgt_session_kill_all(-ESHUTDOWN);
	while (!sessions_empty() || atomic_read(&leaving))
		wait_event_timeout(empty_wait, false, HZ / 20);
	flush_workqueue(tgt_wq);
	list_for_each_entry_safe(p, next, &past, node)
		kfree(p);
#ifdef MESH_FAULTS
	if (shared_pd)
		ib_dealloc_pd(shared_pd);
#endif
}
