/* SPDX-License-Identifier: GPL-2.0-only */
/* A request that keeps its error, for tests of commands of meshd. */
#ifndef TESTS_UNIT_REQ_RIG_H
#define TESTS_UNIT_REQ_RIG_H

#include <stdarg.h>
#include <stdio.h>

#include "userspace/meshd/control.h"

int req_fail(struct req *q, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(q->error, sizeof(q->error), fmt, ap);
	va_end(ap);
	q->status = 1;
	return -1;
}

int req_usage(struct req *q, const char *fmt, ...)
{
	(void)fmt;
	return req_fail(q, "usage");
}

/* What a dry run named last; NULL: nothing. */
static json_t *destroyed;

json_t *req_destroys(struct req *q, const char *what, const char *name)
{
	(void)q;
	json_decref(destroyed);
	destroyed = json_pack("{s:s, s:s}", "what", what, "name", name);
	return destroyed;
}

static json_t *unreachable;

json_t *req_unreachable(struct req *q, const char *what, const char *name)
{
	(void)q;
	json_decref(unreachable);
	unreachable = json_pack("{s:s, s:s}", "what", what, "name", name);
	return unreachable;
}

#endif
