// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shared by all parts of meshtgt: the lock, the work queues, the settings and the target's
 * identity.
 */
#define pr_fmt(fmt) "meshtgt: " fmt
#include <linux/module.h>

#include "rdda/key.h"
#include "rdda/target/tgt.h"

DEFINE_MUTEX(tgt_lock);	/* see tgt.h */
struct workqueue_struct *tgt_wq;
struct workqueue_struct *tgt_io_wq;
unsigned long tgt_started;
unsigned long tgt_listened;
uuid_t tgt_boot_id;	/* of this load of the module: no command of an earlier load is in flight */
bool tgt_stopping;

unsigned int tgt_grace_ms = 60000;
module_param_named(grace_ms, tgt_grace_ms, uint, 0644);
MODULE_PARM_DESC(grace_ms, "after start, only the noted holder of an extent gets it (60000)");

unsigned int tgt_keepalive_ms = 1000;
module_param_named(keepalive_ms, tgt_keepalive_ms, uint, 0644);
MODULE_PARM_DESC(keepalive_ms, "clients say something this often (1000)");

unsigned int tgt_dead_ms = 5000;
module_param_named(dead_ms, tgt_dead_ms, uint, 0644);
MODULE_PARM_DESC(dead_ms, "a client silent for so long is dead (5000)");

/* Longer than the default rdda_cm_connect_ms(): the target's answer may be lost once. */
unsigned int tgt_proof_ms = 10000;
module_param_named(proof_ms, tgt_proof_ms, uint, 0644);
MODULE_PARM_DESC(proof_ms, "a connection that has not proved the key ends after (10000)");

unsigned int tgt_credits = 32;
module_param_named(credits, tgt_credits, uint, 0644);
MODULE_PARM_DESC(credits, "command messages in flight, per channel (32)");

unsigned int tgt_cmds = 128;
module_param_named(cmds, tgt_cmds, uint, 0644);
MODULE_PARM_DESC(cmds, "commands in flight, per channel (128)");

unsigned int tgt_busy_poll_us;
module_param_named(busy_poll_us, tgt_busy_poll_us, uint, 0644);
MODULE_PARM_DESC(busy_poll_us, "poll for so long before an event is waited for (0)");

static DEFINE_SPINLOCK(identity_lock);
static uuid_t identity_host;		/* identity_lock */
static struct rdda_key identity_key[2];	/* identity_lock */
static uuid_t *identity_gone;		/* hosts that were removed; identity_lock */
static u32 identity_nr_gone;		/* identity_lock */

/* Get the UUID of this target. Return: false while meshd has not set a UUID. */
bool tgt_identity(uuid_t *host)
{
	spin_lock(&identity_lock);
	uuid_copy(host, &identity_host);
	spin_unlock(&identity_lock);
	return !uuid_is_null(host);
}

/* True if a key with which a session has logged in is still in use. */
bool tgt_identity_counts(const struct rdda_key *key)
{
	bool counts;

	spin_lock(&identity_lock);
	counts = rdda_key_counts(identity_key, key);
	spin_unlock(&identity_lock);
	return counts;
}

/*
 * Set the target's UUID and keys. @key: the key in use and the key before; RDDA_KEY_NONE: no key.
 * The caller ends sessions that have logged in with another key: tgt_session_rekeyed().
 */
void tgt_identity_set(const uuid_t *host, const struct rdda_key *key)
{
	spin_lock(&identity_lock);
	uuid_copy(&identity_host, host);
	memcpy(identity_key, key, sizeof(identity_key));
	spin_unlock(&identity_lock);
	if (key[0].id == RDDA_KEY_NONE)
		pr_warn("no key is set: every host that reaches this one can log in\n");
}

/*
 * Copy the key with which a login is checked. @id, @role: as the login names them; RDDA_KEY_NONE is
 * found only while no key is set. Return: 0, or the enum rdda_reject_reason to refuse with.
 */
int tgt_identity_key(u16 id, u8 role, struct rdda_key *key)
{
	const struct rdda_key *found;
	int reason;

	spin_lock(&identity_lock);
	reason = rdda_key_find(identity_key, id, role, &found);
	if (!reason)
		*key = *found;
	spin_unlock(&identity_lock);
	return reason;
}

/*
 * True if the host was removed from the cluster. A master derives that host's key like any other,
 * so the key alone does not say so.
 */
bool tgt_identity_removed(const uuid_t *host)
{
	bool removed = false;
	u32 i;

	spin_lock(&identity_lock);
	for (i = 0; i < identity_nr_gone && !removed; i++)
		removed = uuid_equal(&identity_gone[i], host);
	spin_unlock(&identity_lock);
	return removed;
}

/*
 * Set the hosts that were removed, all of them. @hosts: belongs to this file from here on. The
 * caller ends their sessions: tgt_session_rekeyed(). Return: the former list, for kvfree().
 */
uuid_t *tgt_identity_remove(uuid_t *hosts, u32 nr)
{
	spin_lock(&identity_lock);
	swap(identity_gone, hosts);
	identity_nr_gone = nr;
	spin_unlock(&identity_lock);
	return hosts;
}
