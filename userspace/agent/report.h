/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The part of each host in recover: it hands in what it has, by objects of its own.
 *
 *   recover (the mark) --> labels of its drives get the new generation, durably (drive_mark())
 *                              |
 *                          report/H/D   each drive: the extents of its label
 *                          report/H/V   each volume: layout record, number, whether it is attached
 *                          report/H/H   last: all of these are there
 *
 * A report that is there is not made again, so a host that starts again goes on. Once the mark is gone
 * the host erases what it handed in.
 */
#ifndef AGENT_REPORT_H
#define AGENT_REPORT_H

#include "userspace/agent/attach.h"
#include "userspace/agent/drive.h"

/**
 * struct report_ops - the machine below: -EINPROGRESS as in struct host_ops
 * @drive: the agents of all drives that are served; NULL after the last
 * @about: of one: path, model, size and so on
 * @layout: the highest whole layout record among its extents of a volume; -ENODATA: none
 */
struct report_ops {
	struct drive_agent *(*drive)(void *m, struct drive_agent *after);
	int	(*about)(void *m, struct drive_agent *a, struct obj_disk *out);
	int	(*layout)(void *m, struct drive_agent *a, const struct muuid *volume, struct layout *out);
};

struct report_agent {
	struct copy *copy;	/* follows recover, report/, volume/ and drive/ */
	struct muuid host;
	u8	role;		/* enum plan_role */
	const struct report_ops *ops;
	void	*m;
	const struct attach_ops *attach;
	void	*attach_m;

	bool	again;		/* the agent's: what was handed in is erased, and made again */
};

/**
 * report_turn() - one object that is due
 * @followed: the generation that this host has followed
 *
 * Return: 1: one transaction; 0: none is due, or it waits; negative: the store's error.
 */
int report_turn(struct report_agent *r, u32 followed);
/* True if an object of a report is of this run, generation and marking. */
bool report_counts(const struct obj_report *r, const struct obj_recover *mark);

#endif
