/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One volume of the agent of attachments, between its files:
 *
 *   attach.c         the table of volumes; which of the steps below a volume needs
 *   attach_do.c      one operation of the machine at a time, called again until it is done
 *   attach_record.c  the host's record, as it is to be: layout, number, barred places
 *   attach_take.c    attach for writing and for reading; an attach that is HELD
 *   attach_facts.c   what the record has from drive/D: extents that leave, and forgotten places
 *   attach_evict.c   members that leave are copied before the kernel gets the version
 *   attach_keep.c    retake, new versions, barred places, readers' keys
 *   attach_note.c    rosters into the store, requests of the kernel as witness, the end of fresh
 *   attach_end.c     detach and release, a fenced kernel, what a crash left
 *   attach_again.c   by the record, while the store is away
 *   attach_work.c    requests of want/H/V, each once; the work of groups in the background
 *   attach_say.c     status and events
 */
#ifndef AGENT_ATTACH_IN_H
#define AGENT_ATTACH_IN_H

#include "userspace/agent/attach.h"
#include "userspace/plan/setback.h"

#define ATTACH_TXN_MS	5000
#define ATTACH_RETRY_MS	2000	/* after a refusal that no change of an object ends */
#define ATTACH_HELD_MS	30000	/* after a target refused what the probe did not see: each attach counts */
#define ATTACH_EVICT_MS	10000	/* between two tries of a copy that ends, or does not begin */
#define ATTACH_STATUS_MS 5000	/* between two sentences of one state */

/* The operation of the machine that goes on. */
enum attach_doing {
	ATTACH_NOTHING,
	ATTACH_PROBES,
	ATTACH_PUTS,
	ATTACH_ERASES,
	ATTACH_SETS,
	ATTACH_DELS,
	ATTACH_READS,		/* labels, without the store */
	ATTACH_REQUESTS,
	ATTACH_EVICTS,
};

/* What the kernel is to get beside the record. */
struct attach_aim {
	u64	served;
	bool	preempt;
	bool	again;		/* by the record, while the store is away */
	bool	some;		/* @open counts; else all members may be opened */
	bool	open[PROT_MEMBERS_MAX];
};

struct attach_vol {
	struct attach_vol *next;
	struct attach_agent *a;
	struct muuid id;
	bool	listed;			/* in this turn: something concerns it */
	struct attach_kernel k;		/* of this turn */

	/* attach_do.c */
	u8	doing;			/* enum attach_doing */
	u64	again_ms;		/* no step is made before, unless the want is another one */
	bool	rec_read, rec_has;	/* @rec is the record on the disk; it may be damaged: no @rec.record */
	struct obj_attached rec, put;
	struct attach_aim aim;		/* of ATTACH_SETS */
	u64	setting;		/* sum of what ATTACH_SETS began with: where members are changes meanwhile */
	u64	set;			/* sum of what the kernel got last; 0: not known */
	bool	force;			/* of ATTACH_DELS */
	struct attach_kernel ends;	/* ... the kernel before it */
	struct obj_roster last;		/* ... rosters that the kernel had at its end */
	struct layout *probed;		/* of ATTACH_PROBES: the layout's members, and what leaves behind them */
	struct attach_found *found;
	bool	found_any;		/* the probe has ended, at @found_ms, and was not evaluated yet */
	u64	found_ms;
	struct plan_slot *slot;		/* of ATTACH_READS, by places */
	bool	*reached;
	bool	read_any;

	/* attach_evict.c */
	struct plan_evict_step evict;	/* of this turn */
	struct attach_evict evict_put;	/* of ATTACH_EVICTS; ... */
	struct layout_member evict_to;	/* ... the member of it */
	struct muuid copying;		/* extent to which a copy runs, or has begun; null: none is known */
	char	evict_why[128];		/* why a copy did not begin, or has ended */
	u64	evict_ms;		/* none begins before */

	/* Of transactions that this agent made: what follows is begun from these. */
	u64	taken;			/* attach or retake under this number; its kernel is to be set */
	u64	above;			/* of a retake */
	bool	preempt;
	u64	ended;			/* the kernel's end of this attachment is to be released */
	u64	ended_version;
	bool	ended_clean;		/* all that it needs to begin was open once under the number */
	bool	held;			/* ... or a target refused it, as @holder has it open */
	struct muuid holder;
	bool	busy;			/* to be detached, and its disk is open */
	u64	again;			/* to be attached by the record, under this number */
	bool	by_record;		/* the kernel has what it was given so */

	u64	want;			/* revision of want/H/V that @again_ms is of */
	/* attach_work.c */
	struct obj_request request;	/* of ATTACH_REQUESTS */
	struct muuid answered;		/* the last request that was carried out; null: none ... */
	char	answer[OBJ_WORDS / 2];	/* ... and why it was not; empty: it was */

	char	said[OBJ_TEXT];
	char	words[OBJ_WORDS];
	json_t	*details;
	u64	said_ms;
};

struct attach_agent {
	struct copy *copy;
	struct muuid host;
	const struct attach_ops *ops;
	void	*m;
	bool	away;			/* in this turn nothing can be decided or written ... */
	bool	alone;			/* ... and the store is away: records count */
	bool	stopped;
	u64	stopped_at;		/* revision of the store then: later wants are of now */
	char	above[OBJ_WORDS];	/* of attach_above() */
	struct plan_seen stopped_as;	/* the store as it was judged last while stopped */
	u64	lease;
	u64	now;
	bool	begun;			/* the list of records was read */
	struct attach_vol *vol;
	struct attach_note answer;
	bool	answers;		/* @answer goes on */
};

/* The objects of a volume, as the copy has them: until the next transaction. */
struct attach_objects {
	const struct copy_item *want_item;
	const struct obj_want *want;
	const struct obj_volume *volume;
	const struct obj_access *access;
	const struct obj_writer *writer;
	const struct obj_roster *roster;
	const struct copy_item *reader_item;	/* this host's own key */
	const struct obj_reader *reader;
	const char *refused;			/* the sentence of one that the codec refuses; NULL: none */
};

struct key attach_key(const struct attach_vol *v, enum key_kind kind);
void attach_look(const struct attach_vol *v, struct attach_objects *o);
/* access/V names this host, under the generation and counter of @number. */
bool attach_names(const struct attach_vol *v, const struct attach_objects *o, u64 number);
bool attach_alive(const struct attach_vol *v, const struct muuid *host);
u32 attach_readers(const struct attach_vol *v);	/* of other hosts */
/* Names for sentences, or UUIDs. */
void attach_volume_name(const struct attach_vol *v, char out[OBJ_TEXT]);
void attach_host_name(const struct attach_vol *v, const struct muuid *host, char out[OBJ_TEXT]);

/**
 * attach_begin() - begin the next operation
 * Return: 1: done; 0: it goes on, or has failed, and a later turn begins it again.
 */
int attach_begin(struct attach_vol *v, enum attach_doing what);
/* Go on with @doing; as attach_begin(). */
int attach_go_on(struct attach_vol *v);
void attach_vol_free(struct attach_vol *v);
/* Sum of what the kernel gets by the record and @aim. */
u64 attach_sum(const struct attach_vol *v, const struct attach_aim *aim);

/*
 * attach_facts.c. The record of a new attach names extents of drive/D beside the layout's, too; each
 * record says which places are forgotten. 0 or -ENOMEM.
 */
int attach_leavings(const struct attach_vol *v, const struct attach_objects *o, struct obj_leaving **out,
		    u32 *n);
int attach_facts(const struct attach_vol *v, struct obj_attached *r);
/* Where such extents are. @out: has room for @n; those that no drive has are left out. Return: their number. */
u32 attach_lefts(const struct attach_vol *v, const struct obj_leaving *leaving, u32 n, struct layout_member *out);

/* attach_evict.c: @v->evict, of this turn; then the step of it. 1, 0, or negative. */
int attach_evict_look(struct attach_vol *v, const struct attach_objects *o);
int attach_evict(struct attach_vol *v, const struct attach_objects *o);
/* The words of a copy that runs, or does not; empty: no member leaves. */
#define ATTACH_EVICT_WORDS	200
void attach_evict_words(const struct attach_vol *v, char out[ATTACH_EVICT_WORDS]);

/* A transaction of this volume, with the compares of @t; by attach_close_deal(). */
struct deal *attach_deal(const struct attach_vol *v, const struct plan_txn *t);
/* As deal_close(), but a refusal that is this volume's alone becomes a status, and 0. */
int attach_close_deal(struct attach_vol *v, struct deal *d);

int attach_record_copy(const struct obj_attached *from, u64 number, struct obj_attached *out);
/* Record first, then the kernel, as far as either differs. 1: a step; 0: all is so, or it waits. */
int attach_follow(struct attach_vol *v, const struct attach_objects *o, u8 mode, u64 number,
		  const struct attach_aim *aim);
/*
 * What roster/V is to say: of each group the higher one of what the kernel committed and what is noted.
 * @kernel: by the layout that the kernel has. Free @out by attach_rosters_free().
 */
int attach_rosters(const struct attach_vol *v, const struct attach_objects *o, const struct obj_roster *kernel,
		   u64 number, u64 version, struct obj_roster *out);
void attach_rosters_free(struct obj_roster *r);
/* Of the kernel's barred places those that roster/V may confirm. Return: their number. */
u32 attach_confirms(const struct attach_vol *v, const struct attach_objects *o, u16 *bar);

/*
 * Probe all members, and the extents that leave; attach_probed(): once true behind that, where the layout is the same still. What was
 * found a while ago decides nothing.
 */
int attach_probe(struct attach_vol *v, const struct attach_objects *o);
bool attach_probed(struct attach_vol *v, const struct attach_objects *o);
bool attach_open_elsewhere(const struct attach_vol *v);

/* Steps: 1: made; 0: none, or it waits; negative: the store's error. */
int attach_take(struct attach_vol *v, const struct attach_objects *o);
int attach_take_reader(struct attach_vol *v, const struct attach_objects *o);
int attach_held(struct attach_vol *v, const struct attach_objects *o);
int attach_keep(struct attach_vol *v, const struct attach_objects *o);
int attach_keep_reader(struct attach_vol *v, const struct attach_objects *o);
int attach_note(struct attach_vol *v, const struct attach_objects *o);
int attach_fresh(struct attach_vol *v, const struct attach_objects *o);
int attach_request(struct attach_vol *v, const struct attach_objects *o);
int attach_end(struct attach_vol *v, const struct attach_objects *o, bool force);
int attach_fenced(struct attach_vol *v, const struct attach_objects *o);
int attach_rest(struct attach_vol *v, const struct attach_objects *o);
int attach_give_up(struct attach_vol *v, const struct attach_objects *o);
int attach_reader_end(struct attach_vol *v);
int attach_again(struct attach_vol *v);
/* ATTACH_REQUESTS has ended: that is its answer. */
void attach_requested(struct attach_vol *v, int err);
/* Requests of the kernel for the store as witness, of all volumes. */
int attach_answer(struct attach_agent *a, bool decides);

/* Write status/H/V if it is another one. */
__attribute__((format(printf, 3, 4)))
void attach_say(struct attach_vol *v, const char *state, const char *format, ...);
/* "volume NAME" and the verdict, with the host that it is about; NULL: none. */
void attach_say_verdict(struct attach_vol *v, const char *state, enum plan_verdict verdict,
			const struct muuid *host);
void attach_unsay(struct attach_vol *v);
/* Add event/H/S to a transaction. */
__attribute__((format(printf, 4, 5)))
void attach_event(const struct attach_vol *v, struct deal *d, const char *what, const char *format, ...);

#endif
