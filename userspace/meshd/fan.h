/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The same work on many things at once, each on its own thread, with one
 * deadline for all: a drive or host that hangs delays its own result alone.
 */
#ifndef MESHD_FAN_H
#define MESHD_FAN_H

#include <stddef.h>

/**
 * struct fan - what is done with each thing
 * @work: what it returns is the result; runs on a thread, @item is its own
 * @drop: an item is done with, also when the deadline is over
 * @discard: a result that came too late
 * @steps: how far the work on an item is, or NULL. With it the deadline is for the
 *	next step of any of them, and the caller keeps all items until fan_run() returns
 */
struct fan {
	void	*(*work)(void *item);
	void	(*drop)(void *item);
	void	(*discard)(void *result);
	unsigned long (*steps)(void *item);
};

/**
 * fan_run() - work on all of @item
 * @item: taken over, each of them, not the array
 * @ms: the deadline, for all of them together
 * @result: set to the results in the same order; NULL: it came too late, or
 *	there was no thread for it
 */
void fan_run(const struct fan *f, void **item, size_t n, unsigned int ms, void **result);

#endif
