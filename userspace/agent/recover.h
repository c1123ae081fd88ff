/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Recover, on a store host: a new generation of the store from what hosts hand in (report.h).
 *
 *   mark      recover {run, generation}, the leader's key goes: no host decides any more
 *     |
 *   import    keys of a backup, if one is given and the store is empty
 *     |
 *   gather    until each host that is expected has handed in, or was left out by command
 *     |
 *   plan      recover_plan.c: plan_recover() of each volume, in memory
 *     |       a dry run ends here: the mark goes
 *   write     recover_write.c: objects that differ from the plan, some at a time
 *     |
 *   end       cluster {generation}, the mark goes: hosts follow, as the generation is a higher one
 *
 * Each transaction compares the mark. There is no state beside the store: whichever transaction was the
 * last one, the same command goes on from there, and ends the same, since all of it only raises.
 */
#ifndef AGENT_RECOVER_H
#define AGENT_RECOVER_H

#include "userspace/agent/deal.h"
#include "userspace/plan/recover.h"

enum recover_fate {
	RECOVER_SAME,		/* as the store has it, under a new number */
	RECOVER_BACK,		/* from labels and records: the store has less, or nothing */
	RECOVER_PART,		/* likewise, without members that were not found */
	RECOVER_GONE,		/* deleted since the store was copied */
	RECOVER_BARE,		/* extents of a create that was never finished: they stay as they are */
	RECOVER_DOUBT,		/* too little was found: it is left to the administrator */
};

/* One volume in the plan. Pointers are into the copy, and into the plan itself. */
struct recover_volume {
	struct muuid id;
	u8	fate;			/* enum recover_fate */
	const struct obj_volume *has;	/* in the store; NULL: none */
	const struct obj_access *access;
	const struct obj_report *from;	/* whose layout it is; NULL: the store's */
	const struct layout *record;	/* NULL: none */
	char	name[LAYOUT_NAME];	/* another one than the record's where two share that */
	struct plan_recovered out;
	u8	state;			/* enum plan_volume_state */
	bool	fresh;
	const struct obj_report *writer;	/* NULL: none goes on */
	struct plan_recover in;
	struct plan_evidence *found;
	struct plan_slot *weak;		/* of @found: slots of clients of which the place alone counts */
	u32	weaks;
	const struct obj_report **report;	/* hosts with the volume */
	u32	reports;
	bool	elsewhere;		/* the store, or a host that is no client, has it */
	struct muuid *allow;		/* of one that the store has not; NULL: the store has it */
	u32	allows;
};

struct recover_plan {
	const struct obj_recover *mark;
	const struct obj_cluster *cluster;	/* NULL: the store has none */
	struct recover_volume *volume;	/* by their UUIDs */
	u32	volumes;
	const struct obj_report **drive;	/* one for each drive that was found */
	u32	drives;
	struct muuid *seen;		/* their UUIDs */
	u32	hosts;			/* that have handed in */
	u32	doubts;
};

/* A key of a backup. */
struct recover_item {
	char	*key, *value;
};

struct recover {
	struct copy *copy;	/* follows all kinds but tokens, and all reports */
	struct muuid host, cluster;
	u32	followed;	/* generation that this host has followed */
	bool	dry;
	const struct muuid *without;	/* hosts that are not waited for */
	u32	withouts;
	const struct muuid *partly;	/* volumes whose lost members are given up */
	u32	partlies;
	const struct recover_item *item;	/* of a backup, for a store without the key "cluster" */
	u32	items;
	u64	now_ms;
	/* Called before each transaction; true: stop here, as if the power went. Tests set it. */
	bool	(*crash)(void *arg);
	void	*arg;
	/* Of a dry run and of the last plan before anything was written: to be shown. May be NULL. */
	void	(*show)(struct recover *r, const struct recover_plan *p);

	struct muuid run;	/* the agent's, as all below */
	bool	shown;
	u64	lease, kept_ms;
	char	why[OBJ_WORDS];	/* what it waits for, or why it was refused */
};

/**
 * recover_turn() - do what can be done now
 *
 * Return: 1: it is done; -EINPROGRESS: call again after the next turn of the copy; -EBUSY: volumes are
 * in doubt; -EOVERFLOW: numbers are exhausted; -ECANCELED: it was ended elsewhere; another negative
 * errno: the store's. @why has the words.
 */
int recover_turn(struct recover *r);

/* recover_plan.c */
int recover_plan(const struct recover *r, struct recover_plan *p);
void recover_plan_free(struct recover_plan *p);
/* The next generation by all that is known now; 0: there is none. */
u32 recover_generation(const struct recover *r, const struct obj_recover *mark);
/* True once all that are expected have handed in; else @r->why names those that have not. */
bool recover_gathered(struct recover *r, const struct obj_recover *mark);
/* A host has handed in all that it has. */
bool recover_handed_in(const struct recover *r, const struct obj_recover *mark, const struct muuid *host);
/* The report, of a host that is no client, that would raise the generation too far; NULL: none. */
const struct obj_report *recover_far(const struct recover *r, const struct obj_recover *mark);
bool recover_left_out(const struct recover *r, const struct muuid *host);
const struct recover_volume *recover_find(const struct recover_plan *p, const struct muuid *volume);

/*
 * recover_client.c: true if that of a report counts. Of a client only what is its own does; of any other
 * host all.
 */
bool recover_counts_drive(const struct recover *r, const struct obj_report *o);
bool recover_counts_record(const struct recover *r, const struct recover_plan *p, const struct recover_volume *v,
			   const struct obj_report *o);
/* @o: of the drive. */
bool recover_counts_slot(const struct recover *r, const struct recover_volume *v, const struct obj_report *o,
			 const struct plan_slot *s);
bool recover_counts_writer(const struct recover_plan *p, const struct recover_volume *v, const struct obj_report *o);
/* Of the highest number in labels; NULL: there is none. */
const struct plan_slot *recover_highest(const struct recover_volume *v);

/* Close a deal of a run, with its mark compared; 1: done; 0: nothing was in it; -EINPROGRESS; negative. */
int recover_close(struct recover *r, struct deal *d);
/* recover_import.c: 0: all is there; -EINPROGRESS; negative. */
int recover_import(struct recover *r);
/* recover_write.c: 1: something was written; 0: all is as planned; -EINPROGRESS: it has changed; negative. */
int recover_write(struct recover *r, const struct recover_plan *p);

#endif
