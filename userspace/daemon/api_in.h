/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Verbs: what meshctl requests, as transactions of objects and waits for their end. Inside of api*.c.
 *
 *   api.c          the table of verbs; what a verb needs before it begins; arguments
 *   api_name.c     hosts, drives, volumes and tasks by what people call them, and back
 *   api_work.c     a task of the cluster: written once, then followed until it has ended
 *   api_cluster.c  cluster init, token, join, leave; version
 *   api_recover.c  cluster backup, recover
 *   api_status.c   cluster status
 *   api_host.c     host list, remove, maintenance, set
 *   api_drive.c    drive scan, list, unexport, drain, forget    api_export.c  drive export
 *   api_volume.c   volume create, extend, replace, evict, rename, set, delete
 *   api_attach.c   volume attach, detach
 *   api_show.c     volume list, show                 api_layout.c  a volume as JSON
 *   api_task.c     task list, show, cancel; event list
 *
 *       request -> objects (deal.h) -> store -> agents, controller -> copy -> answer
 *
 * Pointers to objects of the copy are good within one step, up to the next deal_close().
 */
#ifndef DAEMON_API_IN_H
#define DAEMON_API_IN_H

#include "userspace/daemon/control.h"

#define API_TXN_MS	3000
#define API_NAME	64

/* Arguments; a missing one is NULL, false, 0, NULL. */
const char *api_text(const struct api *a, const char *key);
bool api_flag(const struct api *a, const char *key);
u64 api_number(const struct api *a, const char *key);
const json_t *api_list(const struct api *a, const char *key);
u64 api_now(void);		/* seconds since 1970 */

/**
 * api_deal() - close a deal, and fail with words that a person can act on
 * Return: 1: done; -EINPROGRESS: something had changed, decide again in the next turn; negative.
 */
int api_deal(struct api *a, struct deal *d);

/* Operation id of the request: "--id", the same for each repeat; NULL: none. False: not given. */
bool api_id(const struct api *a, struct muuid *id);
int api_random(struct api *a, struct muuid *id);

/* api_name.c: 0, or -ENOENT, -ENOTUNIQ by api_fail(). @text: of a host: NULL: this one. */
int api_host(struct api *a, const char *text, const struct obj_host **out);
int api_drive(struct api *a, const char *text, const struct obj_drive **out);
int api_volume(struct api *a, const char *text, const struct obj_volume **out);
int api_task(struct api *a, const char *text, const struct obj_task **out);
/* UUIDs of a list of texts, as a JSON list; NULL: failed. */
json_t *api_hosts(struct api *a, const json_t *texts, int *err);
json_t *api_drives(struct api *a, const json_t *texts, int *err);

/* For an argument of printf(): api_host_name(a, u).s is there until the call returns. */
struct api_name {
	char s[API_NAME];
};

struct api_name api_host_name(const struct api *a, const struct muuid *host);
struct api_name api_volume_name(const struct api *a, const struct muuid *volume);
bool api_host_alive(const struct api *a, const struct muuid *host);
/* Objects of the copy; NULL: none. */
const struct obj_volume *api_volume_get(const struct api *a, const struct muuid *volume);
const struct obj_access *api_access_get(const struct api *a, const struct muuid *volume);
const struct copy_item *api_status_item(const struct api *a, const struct muuid *host, const struct muuid *about);
const struct obj_status *api_status_get(const struct api *a, const struct muuid *host, const struct muuid *about);
const char *api_mode(u8 mode);

/* api_work.c: one task of a request. */
struct api_work {
	struct muuid id;
	bool	put;		/* it is in the store */
	bool	seen;
};

/**
 * api_work() - write a task, unless it is there, and follow it
 * @args: of the task; taken over
 * @volume: NULL: none yet
 *
 * Return: -EINPROGRESS; 0: it is done; negative: it failed, or was cancelled, by api_fail().
 */
int api_work(struct api *a, struct api_work *w, const char *verb, json_t *args, const struct muuid *volume);
/* The second half of it alone. */
int api_work_wait(struct api *a, struct api_work *w);
/* Request its end. Return: 0: done, or it has ended; -EINPROGRESS; negative. */
int api_work_cancel(struct api *a, const struct muuid *task);
bool api_task_ended(const struct obj_task *t);
const char *api_task_state(u8 state);

/* api_attach.c: one host's part of an attach. */
struct api_attach {
	struct muuid volume, host;
	u8	mode;		/* enum plan_mode */
	bool	preempt;
	bool	put;		/* the want is in the store ... */
	bool	mine;		/* ... and was written by this request */
	u64	since;		/* revision of that */
	u64	since_ms;
	bool	done;
	int	err;		/* refused: what was written is undone first */
};

/**
 * api_attach_step() - want a volume on a host, and wait until it is there
 * Return: 0; -EINPROGRESS; negative by api_fail(): a want that this request wrote is gone again.
 */
int api_attach_step(struct api *a, struct api_attach *t);
/* "/dev/mesh0", or JSON's null: where a host has a volume, by its status. */
json_t *api_device(const struct obj_status *s);
/* What people do with it: name, device and host. */
json_t *api_attached_json(const struct api *a, const struct muuid *volume, const struct muuid *host);

/* api_layout.c */
json_t *api_volume_json(const struct api *a, const struct obj_volume *v);
json_t *api_volume_whole(const struct api *a, const struct obj_volume *v);
enum api_health { API_WHOLE, API_DEGRADED, API_DOWN };

/* @lacks: members that are out of sync by the rosters, or whose drive is away. Down: not all data is left. */
enum api_health api_volume_health(const struct api *a, const struct obj_volume *v, u32 *lacks);
/* NULL: it is there; else a sentence without a subject. */
const char *api_drive_away(const struct api *a, const struct obj_drive *d);

/* One for each verb. */
api_step api_cluster_init, api_cluster_token, api_cluster_join, api_cluster_leave, api_cluster_status;
api_step api_cluster_backup, api_cluster_recover;
api_step api_version;
api_step api_host_list, api_host_remove, api_host_maintenance, api_host_set;
api_step api_drive_scan, api_drive_list, api_drive_export, api_drive_unexport;
api_step api_drive_drain, api_drive_forget;
api_step api_volume_create, api_volume_list, api_volume_show, api_volume_attach, api_volume_detach;
api_step api_volume_extend, api_volume_replace, api_volume_evict, api_volume_rename, api_volume_set;
api_step api_volume_delete;
api_step api_task_list, api_task_show, api_task_cancel, api_event_list;

#endif
