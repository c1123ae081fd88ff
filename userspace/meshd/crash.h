/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The numbered steps at which a test build can be ordered to die, or to wait. A step names
 * what has just become durable, or was just passed to the kernel.
 */
#ifndef MESHD_CRASH_H
#define MESHD_CRASH_H

enum crash_step {
	CRASH_NONE,
	CRASH_CREATE_INTENT,		/* 1: extents to be allocated are in the store */
	CRASH_CREATE_SOME,		/* 2: one extent is allocated */
	CRASH_CREATE_ALL,		/* 3: all are, none zeroed perhaps */
	CRASH_CREATE_READY,		/* 4: all read zero */
	CRASH_CREATE_STORED,		/* 5: version 1 is LIVE in the store */
	CRASH_RECORD_FIRST,		/* 6: ... in the record of one member */
	CRASH_RECORD_ALL,		/* 7: ... of all members */
	CRASH_KERNEL,			/* 8: the kernel has the version */
	CRASH_EXTEND_INTENT,		/* 9: extents for it are in the store */
	CRASH_EXTEND_READY,		/* 10: they are allocated and read zero */
	CRASH_EXTEND_STORED,		/* 11: the next version is pending in the store */
	CRASH_DELETE_KERNEL,		/* 12: the kernel alone has released it */
	CRASH_DELETE_STORED,		/* 13: the volume is marked for deletion */
	CRASH_DELETE_SOME,		/* 14: one extent is free */
	CRASH_DELETE_ALL,		/* 15: all are */
	CRASH_LABEL_FIRST,		/* 16: copy 0 of a label is written, copy 1 not */
	CRASH_ALLOC_LABEL,		/* 17: an extent is in the label, not reported yet */
	CRASH_ZERO_SOME,		/* 18: part of an extent is zeroed and noted */
	CRASH_STEPS
};

#ifdef MESHD_CRASH_POINTS
/* From --die-at FILE: die at the step whose number it holds, as soon as it does. */
void crash_at(const char *file);
/*
 * From --pause-at FILE: the thread that comes to the step whose number it holds makes
 * FILE.here and waits until FILE is gone, so that a test needs no timing.
 */
void pause_at(const char *file);
void crash_point(enum crash_step step);
#else
static inline void crash_point(enum crash_step step)
{
	(void)step;
}
#endif

#endif
