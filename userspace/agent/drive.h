/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The agent of one drive: keeps its label and its kernel's table as drive/D says.
 *
 *      drive/D, volume/V, access/V (the copy)       the label (drive_ops)
 *                        \                           /
 *                         plan_extent_step(), each extent of either
 *                        /                           \
 *      a transaction: ready, recorded,          record, label, zeroes,
 *      erased, adopted                          the kernel's table
 *
 * A step reads what it changes afresh where plan/extent.h wants that, and is made again from what
 * is there after a crash.
 */
#ifndef AGENT_DRIVE_H
#define AGENT_DRIVE_H

#include "userspace/agent/deal.h"
#include "userspace/format/label.h"
#include "userspace/plan/extent.h"

/**
 * struct drive_ops - what an agent does to its machine
 *
 * Each returns 0; -EINPROGRESS: it goes on, and the agent's next turn calls it again; or another
 * negative errno: this extent waits for the next turn.
 * @label: the label as it is durable on the drive, which stays until the next call; NULL: away
 * @record: the header of the layout record that is durable in an extent; -ENODATA: none is
 * @label_write: durable in both copies when it returns
 * @record_write: likewise
 * @zero: the extent reads as zeroes up to its length, and the label says so
 * @table: the kernel's table lacks the extent, and all I/O under it has ended
 */
struct drive_ops {
	const struct label *(*label)(void *dev);
	int	(*record)(void *dev, const struct label_extent *e, struct layout_head *head);
	int	(*label_write)(void *dev, const struct label *l);
	int	(*record_write)(void *dev, const struct label_extent *e, const struct layout *l);
	int	(*zero)(void *dev, const struct label_extent *e);
	int	(*table)(void *dev, const struct label_extent *e);
	/* What an administrator has to know: PLAN_X_STOP, _OVER, _LOST. May be NULL. */
	void	(*report)(void *dev, const struct muuid *extent, enum plan_extent_step what);
};

struct drive_agent {
	struct copy *copy;	/* follows drive/, volume/, access/ and cluster */
	struct muuid host, drive;
	const struct drive_ops *ops;
	void	*dev;
	bool	stopped;	/* plan/setback.h */
	bool	begun;
	/* A sentence: its label is above the store, which was put back. For host_label_above(), which clears it. */
	char	above[OBJ_WORDS];
};

/**
 * drive_begin() - act for a drive from now on
 *
 * Reads drive/D afresh: an older view may name an extent that the agent before removed.
 * Return: 0 or the store's error.
 */
int drive_begin(struct drive_agent *a);

/**
 * drive_mark() - raise the generation in the label's header, durably
 *
 * Recover does so before it counts a label as evidence: an agent that is about to remove an extent
 * by what it read before sees the generation there, and stops. Return: 0 or the errno of the write.
 */
int drive_mark(struct drive_agent *a, u32 generation);

/**
 * drive_turn() - one step for each extent that needs one
 *
 * Return: number of steps made; 0: all is as it should be, or waits; negative: the store's error.
 */
int drive_turn(struct drive_agent *a);

#endif
