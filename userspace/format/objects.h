/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Objects of the cluster store: values, which are JSON objects, to structures and back.
 *
 *   objects.c           reading and writing of any kind, by a table of kinds
 *   objects_host.c      cluster, leader, host, alive, device, token
 *   objects_drive.c     drive
 *   objects_volume.c    volume, name
 *   objects_access.c    access, reader, want, writer
 *   objects_roster.c    roster
 *   objects_task.c      task, event, status
 *   objects_recover.c   recover, report
 *   objects_file.c      seen, attached: a host's own files, with a checksum
 *   objects_bounds.c    bounds of a value's text
 *   fields.h            the tables of members; view.h: what decisions see
 *
 *   value   { "v": 1000, "op": "5f1c..", "drive": "6d0e..", "size": 4096, .. }
 *               |          |              '- members of the kind; unknown ones are kept
 *               |          '- operation: random text of the transaction that wrote the value
 *               '- format of the value: major * 1000 + minor
 *
 * A later minor adds members alone, so a meshd of an earlier one reads the value, keeps these
 * members, and writes the value back with its minor. A later major is refused. What a value says
 * of its own key is checked against the key.
 *
 * @plan of an object goes to decisions (userspace/plan). Where @plan has a view, which says so, it
 * is computed when the object is read, and obj_view() computes it again after a change; a view is
 * never written.
 */
#ifndef FORMAT_OBJECTS_H
#define FORMAT_OBJECTS_H

#include <jansson.h>
#include <linux/types.h>

#include "driver/uapi/meshblk.h"
#include "userspace/format/keys.h"
#include "userspace/format/layout.h"
#include "userspace/plan/objects.h"

#define OBJ_MAJOR	1
#define OBJ_MINOR	0
#define OBJ_FORMAT(major, minor)	((major) * 1000 + (minor))

#define OBJ_OP		40	/* bytes of texts, each with its end */
#define OBJ_TEXT	64
#define OBJ_PATH	128
#define OBJ_WWID	256
#define OBJ_WORDS	512	/* a sentence */
#define OBJ_WHY		256	/* enough for every sentence about a value */

#define OBJ_LABELS_MAX	32
#define OBJ_ADDRESSES_MAX 16
#define OBJ_DISKS_MAX	1024
#define OBJ_AFTER_MAX	64

/*
 * Of the JSON text. A parsed value has tens of times the bytes of its text, and functions that go
 * through it call themselves for each level.
 */
#define OBJ_DEPTH_MAX	32
#define OBJ_VALUES_MAX	(128U << 10)	/* numbers, texts, lists, objects */

/* What each object begins with. Zero: an object that was never written. */
struct obj {
	u32	v;		/* 0: OBJ_FORMAT(OBJ_MAJOR, OBJ_MINOR) */
	char	op[OBJ_OP];	/* lower-case letters, digits and '-'; another one for each transaction */
	json_t	*kept;		/* the value as it was read, with members that are not known here */
};

/* cluster */
struct obj_cluster {
	struct obj o;
	struct plan_cluster plan;
	char	name[OBJ_TEXT];		/* may be empty */
	json_t	*settings;		/* those that are the same everywhere, by name; NULL: none */
};

/* leader: on the controller's lease */
struct obj_leader {
	struct obj o;
	struct muuid host;
};

/* host/H */
struct obj_address {
	char	addr[LAYOUT_ADDR];
	u16	port;			/* 0: the usual one */
};

struct obj_host {
	struct obj o;
	struct plan_host plan;
	char	name[OBJ_TEXT];
	char	rack[OBJ_TEXT];		/* may be empty */
	json_t	*labels;		/* texts by name; NULL: none; see obj_host_label() */
	u32	addresses;
	struct obj_address *address;
};

/* alive/H: on the lease of the host */
struct obj_alive {
	struct obj o;
	struct muuid host;
	struct muuid boot;		/* /proc/sys/kernel/random/boot_id */
	char	meshd[OBJ_TEXT];	/* versions */
	char	module[OBJ_TEXT];	/* of the kernel; empty: not loaded */
	u32	format;			/* the highest that this meshd writes */
	u64	started;		/* seconds since 1970 */
};

/* SMART values of an NVMe drive, as its host read them last. */
struct obj_smart {
	bool	known;			/* the drive has reported them; else all are zero */
	u8	warning;		/* bits of the drive's own "critical warning" */
	u16	temperature;		/* degrees Celsius */
	u16	used;			/* percent of the rated endurance; may be above 100 */
	u16	spare;			/* percent of the spare blocks that are left */
	u64	media_errors;
};

/* device/H */
struct obj_disk {
	char	path[OBJ_PATH];
	char	model[OBJ_TEXT];	/* this and the next two may be empty */
	char	wwid[OBJ_WWID];
	char	serial[OBJ_TEXT];
	u64	size;
	u32	lba;
	struct muuid drive;		/* of the label on the disk; null: none */
	bool	exportable;
	char	why[OBJ_WORDS];		/* the reason if not */
	struct obj_smart smart;		/* of a drive that is served */
};

struct obj_device {
	struct obj o;
	struct muuid host;
	u32	disks;
	struct obj_disk *disk;
};

/* drive/D */
struct obj_drive {
	struct obj o;
	struct plan_drive plan;
	char	name[OBJ_TEXT];		/* may be empty */
	char	path[OBJ_PATH];		/* of the device on that host, last time it was there */
	char	model[OBJ_TEXT];	/* this and the next two may be empty */
	char	wwid[OBJ_WWID];
	char	serial[OBJ_TEXT];
	u64	size;
	u32	lba;
	bool	local;			/* not exported: volumes of its own host use it */
	u64	sequence;		/* of the label when the agent wrote this last; 0: not known */
};

/* An eviction at one place of a layout: the member that @extent gives its data to is in the layout. */
struct obj_leaving {
	u16	place;
	struct muuid extent;
};

/* Settings of a volume's block device. */
struct obj_io {
	u32	timeout_ms;		/* 0: the kernel's default */
	u32	queue_depth;		/* likewise */
};

/* volume/V */
struct obj_volume {
	struct obj o;
	struct plan_volume plan;	/* @plan.layout: a view of @record and @leaving */
	struct layout *record;		/* as in the layout record of each extent */
	u32	leavings;
	struct obj_leaving *leaving;
	char	domain[OBJ_TEXT];	/* no two members of a group share it: drive, host, rack, a label */
	struct obj_io io;
};

/* name/N */
struct obj_name {
	struct obj o;
	char	name[LAYOUT_NAME];
	struct muuid volume;
};

/* access/V. The restart of numbers is 0 here and in reader/V/H. */
struct obj_access {
	struct obj o;
	struct muuid volume;
	struct plan_access plan;
};

/* reader/V/H: on the lease of the host */
struct obj_reader {
	struct obj o;
	struct muuid volume;
	struct plan_reader plan;
};

/* Work for the kernel that has the volume. Its host's agent carries it out once, and takes it away. */
enum obj_request_kind {
	OBJ_SCRUB = 1,
	OBJ_SCRUB_REPAIR,
	OBJ_SCRUB_STOP,
	OBJ_REJOIN,
};

struct obj_request {
	struct muuid id;		/* of the operation; null: nothing is requested */
	u8	what;			/* enum obj_request_kind */
	struct muuid extent;		/* a member: of OBJ_SCRUB_REPAIR the right copy, or null; of OBJ_REJOIN */
};

/* want/H/V */
struct obj_want {
	struct obj o;
	struct muuid host, volume;
	u8	mode;			/* PLAN_RW or PLAN_RO; PLAN_NONE: to be detached, then the key goes */
	bool	boot;			/* after a reboot of the host, too */
	bool	preempt;		/* of rw: fence the holder; the attach transaction clears it */
	bool	force;			/* of none: detach in spite of openers */
	bool	fenced;			/* the attachment was fenced: none is made before the next want */
	struct obj_request request;	/* of rw */
};

/* writer/V: the one host whose want is rw */
struct obj_writer {
	struct obj o;
	struct muuid volume, host;
};

/* roster/V: all groups of the layout, in their order; obj_roster_shape() makes them so. */
struct obj_group {
	u32	first;			/* MESHBLK_A_PLACE: the group's first reference in the layout */
	struct plan_roster plan;	/* a view of @kernel */
	u8	kernel[MESHBLK_ROSTER_BYTES];	/* as the kernel gave it; zero: none yet */
};

struct obj_roster {
	struct obj o;
	struct muuid volume;
	struct plan_rosters plan;	/* @plan.roster: a view; @plan.bar: not */
	u32	groups;
	struct obj_group *group;
};

/* task/T */
enum obj_task_state {
	OBJ_TASK_WAITING = 1,		/* for a controller, or for the tasks that @after names */
	OBJ_TASK_RUNNING,
	OBJ_TASK_CANCELLING,
	OBJ_TASK_DONE,			/* this and the next two are final */
	OBJ_TASK_FAILED,
	OBJ_TASK_CANCELLED,
};

struct obj_progress {
	u64	done, total;		/* in units of the step; 0 of 0: not known */
};

struct obj_task {
	struct obj o;
	/*
	 * @plan.puts and .version: how far the controller is. The rest is a view: .kind of @verb
	 * (0: none of plan/task.h), .state of @stage, .cancel of @state, .preempt of @args
	 */
	struct plan_task plan;
	u8	stage;			/* enum plan_task_state; 0: new */
	u32	segments;		/* that an extend adds, over the members of its puts in order */
	struct layout_segment *segment;	/* .start and .first_ref: 0, they are those of the day */
	struct muuid uuid;
	char	verb[OBJ_TEXT];		/* "volume create" */
	json_t	*args;			/* its arguments, an object; NULL: none */
	u8	state;			/* enum obj_task_state */
	char	step[OBJ_TEXT];		/* of the work, human-readable; may be empty */
	struct obj_progress progress;
	struct muuid host;		/* where the task was requested ... */
	char	user[OBJ_TEXT];		/* ... and by whom; may be empty */
	struct muuid volume;		/* which the task changes; may be null */
	struct muuid drive;		/* likewise; of an export chosen before its label is written */
	char	error[OBJ_WORDS];	/* why it failed, or what it waits for */
	char	fault[OBJ_TEXT];	/* why it failed, a word for scripts: "no-space"; may be empty */
	u64	created, changed;	/* seconds since 1970 */
	u32	afters;
	struct muuid *after;		/* tasks that are to end before this one begins */
};

/* event/H/S: one line of the history. Nothing is decided from it, nor from a status. */
struct obj_event {
	struct obj o;
	struct muuid host;
	u64	serial;
	u64	at;			/* milliseconds since 1970 */
	char	what[OBJ_TEXT];		/* one word for scripts */
	char	words[OBJ_WORDS];
	struct muuid volume, drive;	/* concerned; may be null */
	json_t	*details;		/* NULL: none */
};

/* status/H/U */
enum obj_subject { OBJ_OF_HOST = 1, OBJ_OF_DRIVE, OBJ_OF_VOLUME, OBJ_OF_TASK };

struct obj_status {
	struct obj o;
	struct muuid host;
	struct muuid about;
	u8	subject;		/* enum obj_subject: the kind of @about */
	u64	at;			/* milliseconds since 1970 */
	char	state[OBJ_TEXT];	/* one word for scripts */
	char	words[OBJ_WORDS];	/* may be empty */
	json_t	*details;		/* NULL: none */
};

/* token/T: admits one host; on a lease, with which it expires */
struct obj_token {
	struct obj o;
	struct muuid token;
	u8	role;			/* enum plan_role of that host */
	struct muuid host;		/* which has used it; null: none yet */
};

/*
 * recover: the mark. While it is there all hosts decide nothing, and each hands in what it has. A dry
 * run is on a lease, and marks no label.
 */
struct obj_recover {
	struct obj o;
	struct muuid recover;		/* this run */
	u32	generation;		/* to be: above all that was ever followed */
	bool	dry;
	struct muuid host;		/* the store host where it was requested */
};

/* An extent that a label names. */
struct obj_found {
	struct plan_slot slot;
	u64	start, length;
};

/*
 * report/H/U: what host H has of one of its drives, of a volume, or, last, of itself: then all others
 * of this run are there.
 */
struct obj_report {
	struct obj o;
	struct muuid host, about;
	u8	subject;		/* enum obj_subject: the kind of @about */
	u8	role;			/* enum plan_role: of the host's key */
	struct muuid recover;		/* of which run, ... */
	u32	generation;		/* ... for which generation */
	bool	marked;			/* the labels have that generation */
	/* of a host */
	u32	followed;		/* the generation that it has followed */
	char	lacks[OBJ_WORDS];	/* drives whose labels cannot be read or marked; may be empty */
	/* of a drive */
	char	path[OBJ_PATH], model[OBJ_TEXT], wwid[OBJ_WWID], serial[OBJ_TEXT];
	u64	size, sequence;
	u32	lba;
	bool	local;
	u32	was;			/* generation of the label, before it was marked */
	u32	extents;
	struct obj_found *extent;
	/* of a volume */
	u8	mode;			/* of its attachment there: enum plan_mode */
	bool	serves;			/* its kernel has the disk */
	u64	number;			/* the highest one of kernel and record; 0: it has neither */
	struct layout *record;		/* the highest one of its extents and its record; NULL: none is whole */
	u32	leavings;
	struct obj_leaving *leaving;
	struct obj_io io;
	struct plan_layout layout;	/* a view of @record and @leaving */
};

/* File of the state folder: the store as it was seen last. */
struct obj_seen {
	struct obj o;
	struct plan_seen plan;
};

/* File of the state folder: the device that a drive was on when it was served last. */
struct obj_known {
	struct obj o;
	struct muuid drive;
	char	wwid[OBJ_WWID];		/* this and the next one may be empty */
	char	serial[OBJ_TEXT];
};

/* File of the state folder: an attached volume. */
struct obj_attached {
	struct obj o;
	struct plan_attached plan;	/* @plan.layout: a view of @record and @leaving */
	struct layout *record;
	u32	leavings;
	struct obj_leaving *leaving;
	u32	lefts;
	struct layout_member *left;	/* where extents of @leaving are, which no layout says */
	bool	fresh;			/* as volume/V when it was attached */
	struct obj_io io;
};

/* One of any kind. */
union obj_any {
	struct obj o;
	struct obj_cluster cluster;
	struct obj_leader leader;
	struct obj_host host;
	struct obj_alive alive;
	struct obj_device device;
	struct obj_drive drive;
	struct obj_volume volume;
	struct obj_name name;
	struct obj_access access;
	struct obj_reader reader;
	struct obj_want want;
	struct obj_writer writer;
	struct obj_roster roster;
	struct obj_task task;
	struct obj_event event;
	struct obj_status status;
	struct obj_token token;
	struct obj_recover recover;
	struct obj_report report;
	struct obj_seen seen;
	struct obj_attached attached;
	struct obj_known known;
};

/* Kinds: enum key_kind, and the files. */
enum obj_kind {
	OBJ_SEEN = KEY_KINDS,
	OBJ_ATTACHED,
	OBJ_KNOWN,
	OBJ_KINDS
};

/**
 * obj_decode() - a value to its structure
 * @kind: enum key_kind; obj_kind for files
 * @x: the structure of that kind; to be given to obj_free() in any case
 * @why: becomes a sentence about the first thing that is wrong, at most @size bytes; may be NULL
 *
 * Return: 0; -EINVAL: no JSON object, or a member is missing, of another type or out of bounds;
 * -EPROTONOSUPPORT: written by a later major; -EUCLEAN: members contradict each other, or a file
 * is damaged; -ENOMEM.
 */
int obj_decode(int kind, const void *text, size_t len, void *x, char *why, size_t size);
/* The same, and the value is of the key at which it was: else -EUCLEAN. */
int obj_read(const struct key *key, const void *text, size_t len, void *x, char *why, size_t size);

/**
 * obj_encode() - a structure to its value
 * @text: becomes malloc()ed text; NULL on error
 *
 * Each value that is written can be read: what obj_decode() would refuse is refused here, with
 * the same errors. -EINVAL as well: @op is missing, or is the one that was read, which would let
 * store_txn_settle() take another transaction's value for its own. -E2BIG: more than STORE_VALUE_MAX.
 */
int obj_encode(int kind, const void *x, char **text, char *why, size_t size);
/**
 * obj_gives() - 1 if @x, written over the value that @over was read from, gives the one of @value
 * @over: NULL: over none
 * @value: was read
 *
 * With @x for @value: the value has the unknown members of the former one, in each nested object as
 * well, and no others. With @value for @over: the members that are known are the same as those of @x.
 *
 * Return: 1 or 0; -ENOMEM; -EINVAL: @x cannot be written.
 */
int obj_gives(int kind, const void *x, const struct obj *over, const struct obj *value);
/* The key of an object, from its members. Not of files. */
void obj_key(int kind, const void *x, struct key *k);
/* Compute the views of @plan again, after a change of their source; 0, or as obj_decode(). */
int obj_view(int kind, void *x);
/* Size of the structure of a kind; 0: no such kind. */
size_t obj_bytes(int kind);
/* Free what an object has; it is zeroed. */
void obj_free(int kind, void *x);

/* An operation id from random bytes. */
void obj_op(struct obj *o, const u8 random[16]);

/* "client", "storage", "store"; NULL: no enum plan_role. */
const char *obj_role(u8 role);

/* Value of a label of a host, also "rack"; NULL: the host has no such label. */
const char *obj_host_label(const struct obj_host *h, const char *name);

/**
 * obj_roster_shape() - one entry for each group of a layout, keeping rosters of groups that stay
 * Return: 0 or -ENOMEM; views are computed.
 */
int obj_roster_shape(struct obj_roster *r, const struct layout *l);
/* Of the checksums of a volume's records: what the kernel derives from the salt of its layout. */
u64 obj_roster_seed(u64 salt, const struct muuid *volume);
/**
 * obj_roster_note() - a roster as the kernel gave it
 * @first: MESHBLK_A_PLACE
 * @salt: of the volume's layout
 *
 * Return: 0; -ENOENT: no such group; -EBADMSG: it is no roster of that group; -ENOMEM.
 */
int obj_roster_note(struct obj_roster *r, u32 first, const u8 kernel[MESHBLK_ROSTER_BYTES], u64 salt);
/* True if there is one entry for each group of a layout, and none else. */
bool obj_roster_fits(const struct obj_roster *r, const struct layout *l);

#endif
