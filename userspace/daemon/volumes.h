/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Volumes of this machine's kernel: struct attach_ops over libmesh.
 *
 *   attach agent (loop) -- attach_ops --> jobs: VOLUME_SET, VOLUME_DEL, MEMBER_PROBE, TARGET_SET
 *                                  <----- events: FENCED, ROSTER, VOLUME_STATE, MEMBER_STATE
 *                                  <----- the witness's thread: ROSTER_NOTE waits for the agent
 *
 * A member is reached by the target of its drive's host: host/H says the addresses, and each host has
 * one target, whose id is kept as long as the kernel has it.
 */
#ifndef DAEMON_VOLUMES_H
#define DAEMON_VOLUMES_H

#include "userspace/agent/attach.h"
#include "userspace/daemon/disk.h"

struct volumes;

struct volumes_config {
	struct muuid host;
	const char *state;		/* folder: records of attached volumes */
	struct disks *disks;		/* local members; NULL: none */
	const struct copy *copy;	/* drive/D and host/H */
	void	(*log)(void *priv, const char *words);
	void	(*note)(void *priv, const char *words);	/* a change that is no trouble; may be NULL */
	/* @how: bits of enum report_how; may be NULL */
	void	(*event)(void *priv, const struct obj_event *e, u32 how);
	void	*priv;
};

int volumes_open(const struct volumes_config *config, struct volumes **out);
void volumes_close(struct volumes *v);
/* The kernel's module is there, with identity and keys: from now on. 0, -ENOPKG. */
int volumes_begin(struct volumes *v);
/* Events of the kernel, for the loop: an fd, and to be called when that is readable. */
int volumes_fd(struct volumes *v);
void volumes_events(struct volumes *v);

/* Each turn: events of what the kernel has, once a second. */
void volumes_watch(struct volumes *v, u64 now_ms);
/* What people call it: by the store's objects, else by this host's record, else its UUID. */
void volumes_name(struct volumes *v, const struct muuid *volume, char out[LAYOUT_NAME]);

extern const struct attach_ops volumes_ops;	/* @m: struct volumes */

/* For meshctl: the kernel's answer about one volume, as JSON; NULL: it does not have it. */
json_t *volumes_show(struct volumes *v, const struct muuid *volume);
/* The work of its groups; false: the kernel does not have the volume, or cannot be read. */
bool volumes_work(struct volumes *v, const struct muuid *volume, struct plan_work *out);
/* Counters of what both kernel modules have: volumes, targets, and sessions of other hosts with this one. */
json_t *volumes_stats(void);

#endif
