// SPDX-License-Identifier: GPL-2.0-only
#include "userspace/plan/objects.h"

static const char *const words[PLAN_VERDICTS] = {
	[PLAN_GO] = "may be done",
	[PLAN_WAIT] = "waits for members or for the host that has it attached",
	[PLAN_DONE] = "is done already",
	[PLAN_STOPPED] = "cannot be decided: the cluster store was put back to an older state; run 'meshctl "
			 "cluster recover --dry-run'",
	[PLAN_NOT_READY] = "is being created or deleted",
	[PLAN_NOT_ALLOWED] = "does not allow this host",
	[PLAN_HELD] = "is attached for writing by another host that is alive",
	[PLAN_OPEN] = "is still open at a target for another host",
	[PLAN_READ] = "is attached for reading by other hosts",
	[PLAN_UNCLEAN] = "was not detached cleanly by its last holder; attach it for writing and detach it",
	[PLAN_UNKNOWN] = "has members on a host that has just started and does not know yet who uses them; "
			 "try again in half a minute",
	[PLAN_NOT_HOLDER] = "is not attached by this host any more",
	[PLAN_ABOVE] = "was attached by another host since",
	[PLAN_CHANGED] = "was changed meanwhile; try again",
	[PLAN_MISSING] = "cannot be recovered from the drives that were found",
	[PLAN_ALONE] = "has no redundancy there, so the member cannot be copied while it is used; copy its "
		       "data to another volume",
	[PLAN_EXHAUSTED] = "has used up its numbers",
};

const char *plan_words(enum plan_verdict v)
{
	return (unsigned int)v < PLAN_VERDICTS && words[v] ? words[v] : "cannot be decided";
}
