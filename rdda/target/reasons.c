// SPDX-License-Identifier: GPL-2.0-only
/* Counts of refused logins by reason, and places for connections that have not proved the key. */
#include <linux/slab.h>

#include "rdda/target/listen.h"
#include "rdda/target/session.h"
#include "rdda/wire.h"

#define TGT_UNPROVEN_ADDR	4	/* of TGT_UNPROVEN_MAX, places for one address */

/* A connection that has not proved the key. */
struct tgt_unproven {
	struct list_head	node;		/* in unproven; unproven_lock for all */
	u8			gid[16];	/* address of the client */
	/* session, which lives as long as this entry is in the list; NULL while being made */
	struct tgt_session	*s;
	bool			evicted;	/* @s was ended in favour of a newer one */
};

static DEFINE_SPINLOCK(unproven_lock);
static LIST_HEAD(unproven);		/* oldest first */
static atomic64_t refused[RDDA_REJ_LAST + 1];

/* Return: a human-readable text. @reason: enum rdda_reject_reason. */
const char *tgt_refused_text(int reason)
{
	switch (reason) {
	case RDDA_REJ_MALFORMED:
		return "no login at all";
	case RDDA_REJ_VERSION:
		return "another protocol version";
	case RDDA_REJ_KEY:
		return "another cluster key, or one of both has none";
	case RDDA_REJ_BUSY:
		return "too many unproven connections, or arena_budget or channels_budget used up";
	case RDDA_REJ_CHANNEL:
		return "a channel of no session that lives";
	case RDDA_REJ_STALE:
		return "a newer session of that host was seen";
	case RDDA_REJ_NOT_READY:
		return "meshd has not said yet which host this is";
	case RDDA_REJ_TWIN:
		return "another machine lives under that host's UUID";
	case RDDA_REJ_ROLE:
		return "its key is not of the role that it names";
	case RDDA_REJ_REMOVED:
		return "it was removed from the cluster";
	default:
		return "unknown reason";
	}
}

/* Count a refused login. */
void tgt_refused(int reason)
{
	if (reason > 0 && reason <= RDDA_REJ_LAST)
		atomic64_inc(&refused[reason]);
}

/* Return: the number of refused logins since start. @reason: enum rdda_reject_reason, 0 for all. */
u64 tgt_refused_count(int reason)
{
	u64 n = 0;
	int i;

	for (i = 1; i <= RDDA_REJ_LAST; i++)
		if (!reason || i == reason)
			n += atomic64_read(&refused[i]);
	return n;
}

/*
 * Make room for one more connection, if possible. There are at most TGT_UNPROVEN_ADDR places of one
 * address and TGT_UNPROVEN_MAX in all. If all are taken, the oldest connection is evicted, since an
 * honest client needs a place for a round trip only. Evicted connections count, to twice the
 * limits, until their queue pair is gone: so a flood of connects waits for the target, and the
 * target does not wait for the flood. Return: false if no place can be made.
 */
static bool unproven_room(const u8 gid[16])
{
	struct tgt_unproven *u, *first = NULL, *oldest = NULL;
	unsigned int all = 0, live = 0, same = 0, same_live = 0;

	lockdep_assert_held(&unproven_lock);
	list_for_each_entry(u, &unproven, node) {
		bool here = !memcmp(u->gid, gid, sizeof(u->gid));

		all++;
		same += here;
		if (u->evicted)
			continue;
		live++;
		same_live += here;
		if (!u->s)
			continue;
		oldest = oldest ?: u;
		if (here)
			first = first ?: u;
	}
	if (all >= 2 * TGT_UNPROVEN_MAX || same >= 2 * TGT_UNPROVEN_ADDR)
		return false;
	if (same_live < TGT_UNPROVEN_ADDR) {
		if (live < TGT_UNPROVEN_MAX)
			return true;
		first = oldest;
	}
	if (!first)
		return false;
	first->evicted = true;
	tgt_session_kill(first->s, -EBUSY);
	return true;
}

/* Take a place for one more connection. Return: NULL: no place is free, or no memory. */
struct tgt_unproven *tgt_unproven_get(struct rdma_cm_id *cm)
{
	struct tgt_unproven *u = kzalloc(sizeof(*u), GFP_NOIO);
	bool room;

	if (!u)
		return NULL;
	rdma_read_gids(cm, NULL, (union ib_gid *)u->gid);
	spin_lock(&unproven_lock);
	room = unproven_room(u->gid);
	if (room)
		list_add_tail(&u->node, &unproven);
	spin_unlock(&unproven_lock);
	if (room)
		return u;
	kfree(u);
	return NULL;
}

/* Give a place back. @u: may be NULL. */
void tgt_unproven_free(struct tgt_unproven *u)
{
	if (!u)
		return;
	spin_lock(&unproven_lock);
	list_del(&u->node);
	spin_unlock(&unproven_lock);
	kfree(u);
}

/* Name the session of a place. From now on the session may be evicted. */
void tgt_unproven_set(struct tgt_unproven *u, struct tgt_session *s)
{
	s->unproven = u;
	spin_lock(&unproven_lock);
	u->s = s;
	spin_unlock(&unproven_lock);
}

/*
 * Give back a session's place: its connection proved the key, or ended. May be called twice; the
 * second call does nothing.
 */
void tgt_unproven_put(struct tgt_session *s)
{
	tgt_unproven_free(xchg(&s->unproven, NULL));
}

/* Return: the number of connections that have not proved the key yet, without evicted ones. */
unsigned int tgt_unproven(void)
{
	struct tgt_unproven *u;
	unsigned int n = 0;

	spin_lock(&unproven_lock);
	list_for_each_entry(u, &unproven, node)
		n += !u->evicted;
	spin_unlock(&unproven_lock);
	return n;
}
