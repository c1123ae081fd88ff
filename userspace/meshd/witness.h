/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The witness: rosters of this host's groups, noted in the state folder when the kernel requests it.
 * With them an attach may go on without members of a mirror, or of ec with no more data than parity,
 * since no removal counts that was not noted (protect/roster/membership.h).
 *
 *   witness.c   the thread that answers the kernel
 *   noted.c     a file for each group
 */
#ifndef MESHD_WITNESS_H
#define MESHD_WITNESS_H

#include "userspace/libmesh/mesh.h"

/* Answer the kernel, if its module is there and was not answered yet. From one thread at a time. */
void witness_tick(void);
/* meshd ends: name the volumes that go on without it. */
void witness_stops(void);

/* Whether the state folder is on a file system that says when a file was born. */
bool noted_possible(void);
/* Durably in place of the last one. 0 or a negative errno: then the last one, or this. */
int noted_put(const struct meshblk_note *n);
/* @n->roster, with @n->any; 0, also where there is none; -ESTALE: what is there does not count. */
int noted_get(struct meshblk_note *n);
/* What is noted of any group of the volume. */
void noted_forget(const struct muuid *volume);

#endif
