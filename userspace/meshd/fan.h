/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The same work on many things at once, each on its own thread, with one
 * deadline for all: a drive or host that hangs delays its own result alone.
 */
#ifndef MESHD_FAN_H
#define MESHD_FAN_H

#include <stddef.h>

/* What is done with each thing. */
struct fan {
	/* what it returns is the result; runs on a thread, @item is its own */
	void	*(*work)(void *item);
	void	(*drop)(void *item);	/* an item is done with, also when the deadline is over */
	void	(*discard)(void *result);	/* a result that came too late */
	/*
	 * how far the work on an item is, or NULL. With it the deadline is for the next step of any
	 * of them, and the caller keeps all items until fan_run() returns
	 */
	unsigned long (*steps)(void *item);
};

/*
 * Work on all of @item. @item: each of them is taken over, the array is not. @ms: the deadline,
 * for all of them together. @result: set to the results in the same order; NULL: it came too late,
 * or there was no thread for it.
 */
void fan_run(const struct fan *f, void **item, size_t n, unsigned int ms, void **result);

#endif
