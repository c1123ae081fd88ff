/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The agent of a drive keeps its label as drive/D says, one extent at a time.
 *
 *     drive/D        label                          step
 *     -------        -----                          ----
 *     wanted         not there                      ADD: write the label
 *     wanted         there, not zeroed              ZERO
 *     wanted         there, zeroed                  READY: transaction (of a volume that is being
 *                                                   created after RECORD and ROLL)
 *     ready          older record than volume/V     RECORD: write the layout record, durably
 *     ready          older version than the record  ROLL: the label gets version and commit
 *     ready          recorded, drive/D lags         RECORDED: transaction
 *     freeing        there                          FRESH: read drive/D and volume/V again, then
 *                                                   REMOVE: kernel's table, then the label
 *     freeing        not there                      ERASE: transaction deletes it from drive/D
 *     not there      there                          ADOPT: transaction writes it from the label
 *
 * The label is written before the transaction that reports it, so a crash between the two is
 * decided again from what is there. A record comes before the label's version: a label that is ahead
 * of every record would stop recover for ever.
 */
#ifndef PLAN_EXTENT_H
#define PLAN_EXTENT_H

#include "userspace/plan/access.h"

enum plan_extent_step {
	PLAN_X_NONE,		/* as it should be */
	PLAN_X_STOP,		/* the store was put back: nothing is done until recover */
	PLAN_X_ADD,
	PLAN_X_ZERO,
	PLAN_X_READY,
	PLAN_X_RECORD,
	PLAN_X_ROLL,
	PLAN_X_RECORDED,
	PLAN_X_FRESH,
	PLAN_X_REMOVE,
	PLAN_X_ERASE,
	PLAN_X_ADOPT,
	PLAN_X_OVER,		/* its space is another extent's in the label: reported, not written */
	PLAN_X_LOST,		/* ready in the store, and not in the label: reported */
};

struct plan_extent_facts {
	const struct plan_extent *key;		/* in drive/D as it was read; NULL: not there */
	const struct plan_slot *slot;		/* that extent in the label; NULL: not there */
	const struct plan_slot *over;		/* another one in its space; NULL: none */
	const struct plan_volume *volume;	/* NULL: the store has none */
	const struct plan_access *access;	/* NULL: the store has none */
	const struct plan_cluster *cluster;
	u32	label_generation;
	bool	stopped;	/* this host decides nothing, see setback.h */
	bool	forgotten;	/* the drive is: its label counts for nothing, and stays as it is */
	bool	here;		/* the drive is in this machine, and is this agent's */
	bool	fresh;		/* drive/D and volume/V were read after the last step of this agent */
};

/* @t: of the steps that are transactions; their drive/D is the one of which @key is. */
enum plan_extent_step plan_extent_step(const struct plan_extent_facts *f, struct plan_txn *t);

/**
 * plan_take_may() - true if an agent may act for a drive that has come to it
 * @taken: revision of the transaction that gave it the drive
 * @view: revision at which it read drive/D
 *
 * An older view may name an extent that the agent before it removed, and that no agent would free.
 */
bool plan_take_may(u64 taken, u64 view);

#endif
