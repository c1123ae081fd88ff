/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Verbs: what meshctl requests, as transactions of objects and waits for their end. Inside of api*.c.
 *
 *   api.c          the table of verbs; what a verb needs before it begins; arguments
 *   api_name.c     hosts, drives, volumes and tasks by what people call them, and back
 *   api_work.c     a task of the cluster: written once, then followed until it has ended
 *   api_cluster.c  cluster init, token, join, leave, set; version
 *   api_recover.c  cluster backup, recover
 *   api_status.c   cluster status
 *   api_host.c     host list, remove, maintenance, set        api_check.c   host check
 *   api_drive.c    drive scan, list, unexport, drain, forget    api_export.c  drive export
 *   api_health.c   drive health
 *   api_volume.c   volume create, extend, replace, evict, rename, set, delete
 *   api_attach.c   volume attach, detach
 *   api_scrub.c    volume scrub, rejoin              api_wait.c    volume wait
 *   api_show.c     volume list, show; stats          api_layout.c  a volume as JSON
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
/* A member by its number, or by the start of its drive's UUID or its extent's. */
int api_member(struct api *a, const struct obj_volume *v, const char *text, u64 *place);
/* UUIDs of a list of texts, as a JSON list; NULL: failed. */
json_t *api_hosts(struct api *a, const json_t *texts, int *err);
json_t *api_drives(struct api *a, const json_t *texts, int *err);

/* For an argument of printf(): api_host_name(a, u).s is there until the call returns. */
struct api_name {
	char s[API_NAME];
};

struct api_name api_host_name(const struct api *a, const struct muuid *host);
struct api_name api_volume_name(const struct api *a, const struct muuid *volume);
/*
 * Where a drive is now, by its host's list of disks; where it was last while it is away; empty: another disk
 * has that name by now.
 */
const char *api_drive_path(const struct api *a, const struct obj_drive *d);
/* The disk that has it; NULL: its host does not find it. A copy has its label, and is another device. */
const struct obj_disk *api_drive_disk(const struct api *a, const struct obj_drive *d);
/* @text names the device at @path of that host: on this one by any of its names, those in /dev/disk are links. */
bool api_at(const struct api *a, const struct muuid *host, const char *text, const char *path);
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
/* How far a task is; of an eviction, by the status of the volume's holder. */
struct obj_progress api_task_progress(const struct api *a, const struct obj_task *t);
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
#define API_WORN	64
/* True if the drive is to be replaced soon, with a sentence without an end in @words. */
bool api_smart_worn(const struct obj_smart *s, char words[API_WORN]);
/* api_layout.c: NULL: it is there; else a sentence without a subject. */
const char *api_drive_away(const struct api *a, const struct obj_drive *d);

/* One for each verb. */
api_step api_cluster_init, api_cluster_token, api_cluster_join, api_cluster_leave, api_cluster_set,
	api_cluster_status, api_cluster_backup, api_cluster_recover;
api_step api_version, api_stats;
api_step api_host_list, api_host_remove, api_host_maintenance, api_host_set, api_host_check;
api_step api_drive_scan, api_drive_list, api_drive_export, api_drive_unexport;
api_step api_drive_drain, api_drive_forget, api_drive_health;
api_step api_volume_create, api_volume_list, api_volume_show, api_volume_attach, api_volume_detach;
api_step api_volume_extend, api_volume_replace, api_volume_evict, api_volume_rename, api_volume_set;
api_step api_volume_delete, api_volume_wait, api_volume_scrub, api_volume_rejoin;
api_step api_task_list, api_task_show, api_task_cancel, api_event_list;

#endif
