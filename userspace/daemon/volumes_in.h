/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Inside volumes.h: the files, and what they share. All of it is of the loop's thread; a thread of
 * a job has an argument of its own, which nothing else touches while the job runs.
 *
 *   volumes.c            the table of volumes, states, events, rosters; the ops
 *     volumes_set.c      VOLUME_SET
 *     volumes_evict.c      VOLUME_EVICT, and what the kernel copies
 *     volumes_probe.c    MEMBER_PROBE of all members of a layout
 *     volumes_end.c      VOLUME_DEL; targets that no member uses go
 *     volumes_groups.c   what groups do in the background; VOLUME_SCRUB, VOLUME_REJOIN
 *     volumes_show.c     the kernel's answer as JSON
 *     volumes_watch.c    events of members and of volumes, once a second
 *     volumes_log.c      what the kernel reports, as lines by names
 *     volumes_record.c   files attached/UUID
 *     volumes_witness.c  ROSTER_NOTE: a thread takes them into a queue
 *       volumes_reach.c  how a member is reached: targets by host, local drives
 *       volumes_work.c   one job of a volume, until its result is taken
 */
#ifndef DAEMON_VOLUMES_IN_H
#define DAEMON_VOLUMES_IN_H

#include "userspace/daemon/job.h"
#include "userspace/daemon/volumes.h"
#include "userspace/libmesh/mesh.h"

#define VOL_PATH	300	/* of a file in the state folder */

/* A job that goes on for a volume; zero: none. */
struct vol_work {
	struct job *job;
	u64	of;		/* checksum of the arguments: another call's result is dropped */
	void	*arg;		/* of the job */
};

#define WORK_NONE	1

/* The result, once: the argument is there until work_end(); -EINPROGRESS; WORK_NONE: begin it. */
int work_result(struct vol_work *w, u64 of);
/* Begin it. @arg: freed by @drop, also on error. Return: -EINPROGRESS; -ENOMEM; -EAGAIN. */
int work_begin(struct vol_work *w, u64 of, int (*fn)(void *arg), void *arg, void (*drop)(void *arg));
void work_end(struct vol_work *w);
/* True: it runs. A result that no call took is dropped. */
bool work_runs(struct vol_work *w);

/* A session of this host's kernel with another host's target. */
struct vol_target {
	u32	id;
	struct muuid host;	/* null: not seen yet */
	char	addr[LAYOUT_ADDR];
	u16	port;
	bool	failed;		/* no session came about at this address */
	char	said[160];	/* the last line about it */
};

/* A roster that the kernel has committed. */
struct vol_roster {
	u32	place;
	u64	attach, epoch;	/* they order the rosters of a group */
	u8	bytes[MESHBLK_ROSTER_BYTES];
};

struct vol {
	struct vol *next;
	struct muuid uuid;
	u64	salt;		/* of its layout; 0: not known here */
	bool	known;		/* @there and @k are as the kernel says now */
	bool	there;
	struct meshblk_volume k;
	u32	rosters;
	struct vol_roster *roster;
	struct vol_work set, probe, end, request, evict;
	struct vol_watch *watch;	/* of volumes_watch.c; NULL: it is not watched */
	bool	fenced;		/* that was reported */
	char	said[48];	/* the last line about it */
};

struct vol_witness;

struct volumes {
	struct volumes_config c;
	int	family;		/* of the kernel's module; 0: not begun */
	struct mesh *m;		/* of calls that do not wait; NULL: not begun */
	struct mesh *events;
	struct vol *vol;
	size_t	targets;
	struct vol_target *target;
	size_t	failures;
	struct muuid *failed;	/* local drives that did not take a number */
	bool	sweeps;		/* targets may be without members */
	struct vol_work sweep;
	struct vol_witness *witness;
	u64	watch_ms;	/* of the last pass of volumes_watch() */
	char	words[OBJ_WORDS];
};

/* Set the words. Return: @err. */
int vol_fail(struct volumes *s, int err, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
void vol_log(struct volumes *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* NULL: no memory. */
struct vol *vol_get(struct volumes *s, const struct muuid *volume);
/* As the kernel has it now: @v->there, @v->k. 0, also where it is absent; or a negative errno. */
int vol_look(struct volumes *s, struct vol *v);
/* Rosters that the kernel has committed, into @r. 0 or -ENOMEM. */
int vol_note_kept(struct volumes *s, struct vol *v, struct obj_roster *r);
/* The same of rosters of an answer. */
int vol_note_groups(struct volumes *s, struct vol *v, const struct meshblk_group *g, u32 n,
		    struct obj_roster *r);
void vol_forget_rosters(struct vol *v);
/* "in sync", "out": the @i-th member of a group. */
const char *vol_role(const struct meshblk_group *g, u32 i);
/* volumes_groups.c */
void vol_groups(const struct meshblk_volume *k, struct plan_work *w);

/* volumes_reach.c */

struct reach {
	int	err;		/* 0; negative: there is no way to it, and @why */
	u8	kind;		/* MESHBLK_KIND_RDDA, MESHBLK_KIND_BDEV */
	u32	target;		/* of RDDA */
	struct muuid host;	/* whose agent acts for the drive */
	struct disk *disk;	/* of BDEV; NULL: the drive is away */
	struct disk *failed;	/* ... or counts as away, since this one does not take the number */
	u64	start;		/* of BDEV */
	char	why[160];
};

/* Of each member of @l; NULL: no memory. To be freed. */
struct reach *reach_layout(struct volumes *s, const struct vol *v, const struct layout *l);
/* The same of one extent of a layout, or beside it. */
void reach_member(struct volumes *s, const struct vol *v, u64 version, const struct layout_member *mb,
		  struct reach *r);
/* The targets that @n members are reached by; NULL: no memory. To be freed. */
struct vol_target *reach_targets(const struct volumes *s, const struct reach *r, u32 n, u32 *targets);
/* The targets that the kernel has. 0 or a negative errno. */
int reach_load(struct volumes *s);
/* MESHBLK_EV_TARGET_STATE. */
void reach_event(struct volumes *s, const struct mesh_event *e);
struct vol_target *reach_id(const struct volumes *s, u32 id);
void reach_forget(struct volumes *s, u32 id);
u64 vol_local(void *m, const struct muuid *drive);
/* The drive took a number, or failed to. True: it fails, and did not before. */
bool reach_took(struct volumes *s, const struct muuid *drive, bool took);
/* The label's entry of a local member; NULL: it cannot be read. */
const struct label_extent *reach_label(const struct reach *r, const struct muuid *extent);
/* On a thread: have the kernel keep sessions with @n targets. 0 or an errno with the words. */
int reach_connect(struct mesh *m, const struct vol_target *t, u32 n, char *why, size_t size);

/* volumes_set.c: a member as VOLUME_SET and VOLUME_EVICT name it. */
void set_member(const struct layout_member *mb, const struct reach *r, bool preempt,
		struct meshblk_member *out);
/*
 * The number, in the label of a local member, before the kernel opens that. 0; -EINPROGRESS; -ESTALE: the
 * label has a higher one; or another errno, with the words.
 */
int set_local(struct volumes *s, const struct reach *r, const struct muuid *extent,
	      const struct muuid *drive, u64 number, u64 served);

/* Ops. */
int vol_copy(void *m, const struct muuid *volume, u32 place, struct attach_copy *out);
int vol_evict(void *m, const struct attach_evict *e);
int vol_set(void *m, const struct attach_set *a);
int vol_probe(void *m, const struct layout *l, struct attach_found *out);
int vol_slots(void *m, const struct obj_attached *r, struct plan_slot *slot, bool *reached);
int vol_del(void *m, const struct muuid *volume, bool force, struct obj_roster *last);
/* Each turn: end sessions with targets that no member uses. */
void vol_sweep(struct volumes *s);
/* True while that goes on: no call may count on a target. */
bool vol_sweeping(struct volumes *s);
int vol_record_get(void *m, const struct muuid *volume, struct obj_attached *out);
int vol_records(void *m, struct muuid *out, u32 max);
int vol_record_put(void *m, const struct obj_attached *r);
int vol_record_erase(void *m, const struct muuid *volume);
int vol_request(void *m, const struct muuid *volume, const struct layout *l, const struct obj_request *r);
int vol_note(void *m, struct attach_note *n);
int vol_noted(void *m, const struct attach_note *n);

/* volumes_watch.c */
void watch_free(struct vol *v);
/* The kernel says that the volume is fenced: an event, once. */
void watch_fenced(struct volumes *s, struct vol *v);
/* volumes_log.c: MESHBLK_EV_TARGET_STATE, MESHBLK_EV_VOLUME_STATE of @v. */
void log_target(struct volumes *s, const struct mesh_event *e);
void log_volume(struct volumes *s, struct vol *v, const struct mesh_event *e);

/* The folder of records. 0 or a negative errno. */
int vol_records_open(struct volumes *s);
/* Take the kernel's requests from now on; the former thread ends. 0 or a negative errno. */
int witness_begin(struct volumes *s);
void witness_end(struct volumes *s);

#endif
