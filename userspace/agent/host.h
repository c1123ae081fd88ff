/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The agent of a host: what the cluster knows of this machine, and which store it follows.
 *
 *    store_identity(), cluster ---> plan_store_judge() with the file "seen" ---> stopped or not
 *    host/H      name, addresses, made by join or, where there is none, by this agent
 *    alive/H     on this host's lease: boot id, versions
 *    device/H    its disks: exportable, or the reason why not; which drive a label says
 *    task/T      "drive export", "drive unexport" that name this host: carried out here (export.h)
 *
 * The file is durable before anything is decided from what was read. alive/H of another boot, which
 * lives, belongs to a second machine with this host's UUID, or to this one before it started again:
 * this one decides nothing while that lease lives.
 */
#ifndef AGENT_HOST_H
#define AGENT_HOST_H

#include "userspace/agent/deal.h"
#include "userspace/plan/setback.h"

/**
 * struct host_ops - the machine below the agent
 *
 * None waits: -EINPROGRESS as in struct attach_ops.
 * @seen_get: the host's file; -ENOENT: none
 * @seen_put: durable when it returns
 * @facts: name, addresses and versions of this machine; the agent gives both to obj_free(). An empty
 *	name, and no addresses, leave what host/H has
 * @disks: all disks as obj_disk[], malloc()ed; the agent frees it
 */
struct host_ops {
	int	(*seen_get)(void *m, struct obj_seen *out);
	int	(*seen_put)(void *m, const struct obj_seen *s);
	int	(*facts)(void *m, struct obj_host *host, struct obj_alive *alive);
	int	(*disks)(void *m, struct obj_disk **out, u32 *n);
	void	(*log)(void *m, const char *words);
};

enum host_state {
	HOST_STARTING,		/* nothing was read yet */
	HOST_UP,		/* follows the store */
	HOST_AWAY,		/* the store does not answer: since @since_ms */
	HOST_STOPPED,		/* put back, or another cluster's: until recover */
	HOST_TWIN,		/* a second machine with this UUID is alive */
	HOST_REMOVED,		/* host/H is a tombstone */
};

struct host_agent {
	struct copy *copy;	/* follows host/, alive/, device/H and cluster */
	struct muuid host, boot;
	u8	role;		/* enum plan_role, of this host's key */
	const struct host_ops *ops;
	void	*machine;
	unsigned int seconds;	/* of the lease; 0: 15 */

	u8	state;		/* enum host_state; the agent's, as all below */
	u64	since_ms;	/* CLOCK_MONOTONIC, when @state began */
	u64	lease;		/* 0: none */
	u64	kept_ms, disks_ms;
	struct obj_seen seen;	/* as it is durable */
	bool	seen_known;
	char	why[OBJ_WORDS];	/* of a state that is not HOST_UP: a sentence, with what to do */

	struct obj_seen noting;	/* what seen_put() is at */
	bool	is_noting;
	u64	failed_ms;	/* when seen_put() failed last; 0: it has not, or is tried again */
	/* What the copy was read from: the store's id, and the highest revision of it; empty: none yet. */
	char	store_id[STORE_ID_MAX];
	u64	store_revision;
	bool	sure;		/* the last turn has judged the store, and @seen is of then */
	bool	announced;	/* alive/H was put on @lease */
	u64	tried_ms;	/* of HOST_AWAY: when the store was tried last */
	u64	facts_ms;	/* when facts were compared last; 0: not yet */
	u32	label_generation;	/* of the store that a label was above */
	char	label_why[OBJ_WORDS];	/* empty: none was */
};

/**
 * host_turn() - judge the store, then keep alive/H, host/H and device/H; after each copy_turn()
 *
 * Return: number of transactions made; 0; negative: the store's error, with the state HOST_AWAY.
 */
int host_turn(struct host_agent *h, u64 now_ms);
/**
 * host_may() - true while this host may decide: HOST_UP, and what the copy has is in the file
 *
 * False with HOST_UP: the file is being written. Agents skip the turn then, and are not to be called
 * with "stopped": host_stopped().
 */
bool host_may(const struct host_agent *h);
/*
 * True while the file is being written. The caller leaves the copy as it is meanwhile: a store that
 * changes more often than a slow disk writes would keep this host from all decisions else.
 */
bool host_notes(const struct host_agent *h);
/* True if decisions end for longer: HOST_STOPPED, HOST_TWIN, HOST_REMOVED. */
bool host_stopped(const struct host_agent *h);
/* A label that was read proves that the store was put back: HOST_STOPPED until a higher generation. */
void host_label_above(struct host_agent *h, const char *why);
/* device/H is of before, and is made again: else a new drive would be called away for some seconds. */
void host_disks_changed(struct host_agent *h);
/* End the lease: alive/H goes at once. */
void host_end(struct host_agent *h);

/**
 * host_found() - found a cluster of one: the key `cluster`, in a store that has no key
 * @cluster: UUID of the cluster, random
 * @name: may be empty
 * @why: becomes a sentence of an error
 *
 * Return: 1: made; 0: the store has keys, nothing was written; negative: the store's error.
 */
int host_found(struct store *s, const struct muuid *cluster, const char *name, char why[OBJ_WHY]);

#endif
