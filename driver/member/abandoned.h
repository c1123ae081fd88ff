/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * I/O that its submitter has given up, and its device has neither ended nor failed: it is the
 * member's from then on, with the memory that it names.
 *
 *   flies --device ends it--> done()
 *     '--mesh_abandon()--> left --device ends it--> free(), by a work of the member
 *
 * Its sectors are at risk until then: what lands late could land over newer data. So a member
 * that has any is DOWN, with -EBUSY; it stays in the registry, and its device open alone, when no
 * layout and no group has it any more.
 */
#ifndef DRIVER_ABANDONED_H
#define DRIVER_ABANDONED_H

#include <linux/atomic.h>
#include <linux/llist.h>

struct mesh_member;
struct work_struct;

enum {
	MESH_IO_FLIES,
	MESH_IO_ENDED,
	MESH_IO_LEFT,
	MESH_IO_STAYS,		/* is never left: its member can be kicked */
};

/* In an I/O that may be left. */
struct mesh_abandoned {
	struct llist_node	node;		/* in member->returned */
	struct mesh_member	*member;	/* a reference, once it is left */
	atomic_t		fate;
	/* it was left, and has ended; process context */
	void			(*free)(struct mesh_abandoned *a);
};

void mesh_abandoned_init(struct mesh_abandoned *a, const struct mesh_member *m);
bool mesh_abandon(struct mesh_abandoned *a, struct mesh_member *m,
		  void (*free)(struct mesh_abandoned *a));
bool mesh_abandoned_ended(struct mesh_abandoned *a);
void mesh_abandoned_work(struct work_struct *work);

#endif
