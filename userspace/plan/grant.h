/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * An OPEN for writing, against the label: the highest number under which the extent was opened, and
 * its host. The target's kernel decides so from its table (rdda/target/state.c), which may be behind
 * the label; the writer of the label decides again.
 */
#ifndef PLAN_GRANT_H
#define PLAN_GRANT_H

#include "userspace/plan/objects.h"

enum plan_grant {
	PLAN_GRANT_SAME,	/* the label has it */
	PLAN_GRANT_NOTE,	/* to be written, durably, before the host is let in */
	PLAN_GRANT_OLD,		/* the label is above it: another attachment has followed */
	PLAN_GRANT_FAR,		/* no label takes it */
};

/**
 * plan_grant() - one number, against the label
 * @seen, @attacher: the label's; 0: none was noted
 * @host: the one that opens, under @number
 * @served: of a retake: the number that it served so far; else 0. Another host's that is above it has
 *	written in between, also under a number that is below @number
 */
enum plan_grant plan_grant(u64 seen, const struct muuid *attacher, const struct muuid *host, u64 number,
			   u64 served);

#endif
