/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Points at which a test build can be ordered to die, or to wait. An order is the first line of a
 * file: the name of a point, "NAME" or "NAME:N", the Nth time that it is passed since then.
 *
 *   before KIND, after KIND   a transaction that writes a key of that kind: "after task", ..
 *   before label, between labels, after label     a label: no copy, one, both are durable
 *   after record, after records                   a layout record: one copy, the other one too
 *   zero                                          a part of an extent is zeroed, and the label says so
 *   after attached, after erased                  this host's record of an attached volume
 *   after set, after del                          the kernel has a volume, or has it no more
 */
#ifndef DAEMON_CRASH_H
#define DAEMON_CRASH_H

#ifdef MESHD_CRASH_POINTS
/* From --die-at FILE: die at the point that it names. */
void crash_at(const char *file);
/*
 * From --pause-at FILE: the thread that comes to the point makes FILE.here, and waits until FILE is
 * gone, so that a test needs no timing.
 */
void crash_pause_at(const char *file);
void crash_point(const char *name);
#else
static inline void crash_point(const char *name)
{
	(void)name;
}
#endif

#endif
