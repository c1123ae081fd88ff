/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What all known hosts say of one volume: its extents, by the drive's UUID and
 * wherever that drive is now, and the layout records that they have.
 */
#ifndef MESHD_GATHER_H
#define MESHD_GATHER_H

#include "userspace/format/truth.h"
#include "userspace/format/twin.h"
#include "userspace/format/umap.h"
#include "userspace/meshd/peers.h"

/* The drives of all hosts that answered, and which of them show each. */
struct shown {
	struct umap map;
	struct twin_hosts *t;
	size_t	n;
};

/* @owner: of the label that @hosts[at] has of @drive. -ENOMEM. */
int shown_add(struct shown *s, const struct muuid *drive, const struct store_host *hosts, u32 at,
	      const struct muuid *owner);
/* NULL: no host shows it. */
const struct twin_hosts *shown_find(const struct shown *s, const struct muuid *drive);
/* Whether hosts show a drive and a copy of it, and nothing distinguishes them; in words. */
bool shown_twice(const struct shown *s, const struct muuid *drive, const struct store_host *hosts,
		 char *why);
void shown_free(struct shown *s);

/* One extent that was found. */
struct found {
	struct mgmt_extent e;
	u32	host;		/* index into hosts */
};

struct gather_host {
	int	err;		/* why it did not answer; 0: it did */
	char	why[REASON];
	u32	grace_ms;
	json_t	*data;		/* while the answers are read */
};

/* One request to all known hosts at once, and what each of them said. */
struct query {
	struct store_host *hosts;
	struct gather_host *said;
	size_t	n;
};

/* query_free() it whatever is returned. */
int query_hosts(struct query *a, const struct mgmt_req *q);
/* Why those did not answer that did not, as JSON. */
json_t *query_failed(const struct query *a);
void query_free(struct query *a);

struct gather {
	struct store_host *hosts;
	struct gather_host *said;	/* of each of them */
	size_t	nr_hosts;
	struct found *found;
	struct truth_label *label;	/* the same extents, for truth.h */
	size_t	nr_found;
	struct layout **record;
	size_t	nr_records;
	struct shown shown;
	struct truth truth;		/* label and record */
	struct muuid volume;
	bool	greet;
};

/* Query all hosts at once. @greet: for their grace times too. gather_free() it. */
int gather(struct gather *g, const struct muuid *volume, bool greet);
void gather_free(struct gather *g);

/* The store's layout of it: it counts like a record when a label names its version and commit. */
int gather_know(struct gather *g, const struct layout *l);

/*
 * The host that has an extent by now; @host stays where none is found. -ENOTUNIQ and words:
 * its drive may be a copy.
 */
int gather_home(const struct gather *g, const struct muuid *extent, const struct muuid *drive,
		struct muuid *host, char *why);
/* NULL: it was not found. */
const struct found *gather_find(const struct gather *g, const struct muuid *extent);
const struct store_host *gather_host(const struct gather *g, const struct muuid *uuid);
/* One whose record could not be read just now, and may name any extent of the volume; or NULL. */
const struct found *gather_unread(const struct gather *g);
/*
 * -ENOTUNIQ and words when a member's drive is shown by several hosts and none of them is
 * known to be right: what such a host says is left out of @found, so the member appears
 * to be away, but no option makes up for that.
 */
int gather_unique(const struct gather *g, const struct layout *l, char *why);
/* Why a member is missing, and what to do, in words. */
void gather_away(const struct gather *g, const struct layout_member *m, char *why);
/* The first member that was not found, and why; as many as it has: all were. */
u32 gather_missing(const struct gather *g, const struct layout *l, char *why);
/* "host db7", or its UUID */
#define HOST_WORDS	80
void host_words(const struct muuid *uuid, char out[HOST_WORDS]);
/* Whether another host than this one holds a member of @l, and which. */
bool gather_held(const struct gather *g, const struct layout *l, char who[HOST_WORDS]);
/* The longest grace time that is left on a host with members of @l, and that host. */
u32 gather_grace(const struct gather *g, const struct layout *l, const struct store_host **h);

/* What is done to one member by its host; for puts_run(). */
struct put {
	struct mgmt_req q;
	const struct store_host *h;
	int	err;
	char	why[REASON];
};

/* To the host that has @f, with what its label says as believed. @record: of RECORD_PUT. */
struct put put_to(const struct gather *g, const struct found *f, enum mgmt_op op,
		  const struct layout *record);
/* Carry them all out, those of one host in turn, the hosts at once. */
void puts_run(struct put *p, size_t n);
/* What the first that failed says; 0: none did. -ESTALE and -EBUSY come before others. */
int puts_result(const struct put *p, size_t n, char *why);

/*
 * Write a record to its members, as the labels stand in @g: to those of version 0 last, since the
 * others' labels decide. Members whose label has it already are skipped, and late ones that are
 * away still.
 */
int put_records(const struct gather *g, const struct layout *l, char *why);

/* To those of version 0 alone; @here: to those that are here, others or not. */
int put_fresh(const struct gather *g, const struct layout *l, bool here, char *why);

/*
 * To those of another version than 0 alone, where @top, or NULL, is not to count: members whose
 * labels object to it come last.
 */
int put_discard(const struct gather *g, const struct layout *l, const struct layout *top, char *why);

/* Write a record to those of its late members that are back, and to no others. */
int put_late(const struct gather *g, const struct layout *l, char *why);

/* Another random number of a commit, never 0. */
u64 commit_id(void);

#endif
