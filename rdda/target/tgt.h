/* SPDX-License-Identifier: GPL-2.0-only */
/* The lock, the settings and the identity that all parts of meshtgt share; core.c defines them. */
#ifndef TGT_TGT_H
#define TGT_TGT_H

#include <linux/mutex.h>
#include <linux/uuid.h>
#include <linux/workqueue.h>

struct rdda_key;

extern struct mutex tgt_lock;
extern struct workqueue_struct *tgt_wq;		/* control: unbound */
extern struct workqueue_struct *tgt_io_wq;	/* completion queues */
extern unsigned long tgt_started;		/* jiffies */
extern unsigned long tgt_listened;		/* the same, of the first listener: listen.c */
extern uuid_t tgt_boot_id;
extern unsigned int tgt_grace_ms;
extern unsigned int tgt_keepalive_ms;
extern unsigned int tgt_dead_ms;

#define TGT_MS_LEAST	100U		/* a tick may be 10 ms long, and a CPU busy */
#define TGT_MS_MOST	(3600U * 1000)	/* every computation with it fits 32 bits */

static inline unsigned int tgt_keepalive(void)
{
	return clamp(READ_ONCE(tgt_keepalive_ms), TGT_MS_LEAST, TGT_MS_MOST / 3);
}

/*
 * At least three keep-alive intervals, for any dead_ms: one late keep-alive must not end a session.
 */
static inline unsigned int tgt_dead(void)
{
	return clamp(READ_ONCE(tgt_dead_ms), 3 * tgt_keepalive(), TGT_MS_MOST);
}

extern unsigned int tgt_proof_ms;

static inline unsigned int tgt_proof(void)
{
	return max(READ_ONCE(tgt_proof_ms), TGT_MS_LEAST);
}

extern unsigned int tgt_credits;
extern unsigned int tgt_cmds;
extern unsigned int tgt_busy_poll_us;
extern bool tgt_stopping;

bool tgt_identity(uuid_t *host);
bool tgt_identity_counts(const struct rdda_key *key);
int tgt_identity_key(u16 id, u8 role, struct rdda_key *key);
void tgt_identity_set(const uuid_t *host, const struct rdda_key *key);
bool tgt_identity_removed(const uuid_t *host);
uuid_t *tgt_identity_remove(uuid_t *hosts, u32 nr);

#endif
