// SPDX-License-Identifier: GPL-2.0-only
/* This host's identity, shown to all targets; init and exit of the client. */
#define pr_fmt(fmt) "rdda: " fmt
#include <linux/mutex.h>

#include "rdda/client/channel.h"
#include "rdda/client/session.h"
#include "rdda/client/target.h"

/*
 * Made when the module is loaded and shown as the host's boot id: everything the module sent dies
 * with it.
 */
static uuid_t boot_id;
static atomic_t session_number;
static atomic_t targets;

static DEFINE_MUTEX(identity_lock);
static struct rdda_identity identity;	/* under identity_lock */
static LIST_HEAD(identity_users);	/* targets; under identity_lock */

/* The boot id: its first 32 bits are part of the incarnation, the proof holds all of it. */
const u8 *rdda_boot_id(void)
{
	return boot_id.b;
}

/* A session's number, part of its incarnation. Grows with every login. */
u32 rdda_session_number(void)
{
	return atomic_inc_return(&session_number);
}

/* Number of targets; at least 1 if a target is the caller. */
unsigned int rdda_targets(void)
{
	return atomic_read(&targets);
}

/*
 * Copy host UUID and key for one session. @older: the key before the newest, if there is one.
 * Sleeps.
 */
void rdda_identity_get(uuid_t *host, struct rdda_key *key, bool older)
{
	mutex_lock(&identity_lock);
	*host = identity.host;
	*key = identity.key[older && identity.key[1].id != RDDA_KEY_NONE];
	mutex_unlock(&identity_lock);
}

/* End the session if its key is not in use any more. */
static void identity_rekey(struct rdda_target *t)
{
	struct rdda_session *s = rdda_session_get(t);

	lockdep_assert_held(&identity_lock);
	if (!s)
		return;
	if (!rdda_key_counts(identity.key, &s->login.key.named))
		rdda_session_fail(s, -EKEYREVOKED, "its key is not in use any more");
	rdda_session_put(s);
}

/* Set the identity of this host; see rdda.h. */
int rdda_client_set_identity(const struct rdda_identity *id)
{
	bool insecure = id->key[0].id == RDDA_KEY_NONE;
	struct rdda_target *t;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(id->key); i++)
		if (rdda_key_refuse(&id->key[i]))
			return -EINVAL;
	if (uuid_is_null(&id->host))
		return -EINVAL;
	mutex_lock(&identity_lock);
	identity = *id;
	list_for_each_entry(t, &identity_users, identity_node)
		identity_rekey(t);
	mutex_unlock(&identity_lock);
	if (insecure)
		pr_notice("no cluster key is set: any host may connect\n");
	return 0;
}

/* End the target's new session if the keys changed during its login. */
void rdda_identity_check(struct rdda_target *t)
{
	mutex_lock(&identity_lock);
	identity_rekey(t);
	mutex_unlock(&identity_lock);
}

/* Register a target: its session ends when the session's key is no longer in use. */
void rdda_identity_join(struct rdda_target *t)
{
	atomic_inc(&targets);
	mutex_lock(&identity_lock);
	list_add_tail(&t->identity_node, &identity_users);
	mutex_unlock(&identity_lock);
}

/* Unregister a target. It counts in rdda_targets() until rdda_identity_gone(). */
void rdda_identity_leave(struct rdda_target *t)
{
	mutex_lock(&identity_lock);
	list_del(&t->identity_node);
	mutex_unlock(&identity_lock);
}

/* A target has no connection any more. */
void rdda_identity_gone(void)
{
	atomic_dec(&targets);
}

/* Init of the client; called before any other function of it. */
int rdda_client_init(void)
{
	uuid_gen(&boot_id);
	uuid_gen(&identity.host);
	/* In sysfs: the CPUs that the workqueue may use, and how many targets connect at once. */
	rdda_wq = alloc_workqueue("rdda", WQ_MEM_RECLAIM | WQ_UNBOUND | WQ_SYSFS, 0);
	return rdda_wq ? 0 : -ENOMEM;
}

/* Exit of the client, when every target is destroyed and every stage put. */
void rdda_client_exit(void)
{
	destroy_workqueue(rdda_wq);
	memzero_explicit(&identity, sizeof(identity));
}
