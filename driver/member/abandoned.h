/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * I/O that its submitter has given up, and that the device has neither ended nor failed: from then
 * on the I/O belongs to the member, with the memory that the I/O names.
 *
 *   flies --device ends it--> done()
 *     '--mesh_abandon()--> left --device ends it--> free(), by a work of the member
 *
 * Until the device ends the I/O, a late write could land over newer data. So a member with such I/O
 * is DOWN, with -EBUSY; when no layout and no group has the member any more, the member stays in
 * the registry, and its device stays exclusively open.
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
	MESH_IO_STAYS,		/* never left: the member can be kicked */
};

/* Embedded in an I/O that may be left. */
struct mesh_abandoned {
	struct llist_node	node;		/* in member->returned */
	struct mesh_member	*member;	/* a reference, once the I/O is left */
	atomic_t		fate;
	/* called when a left I/O has ended; process context */
	void			(*free)(struct mesh_abandoned *a);
};

void mesh_abandoned_init(struct mesh_abandoned *a, const struct mesh_member *m);
bool mesh_abandon(struct mesh_abandoned *a, struct mesh_member *m,
		  void (*free)(struct mesh_abandoned *a));
bool mesh_abandoned_ended(struct mesh_abandoned *a);
void mesh_abandoned_work(struct work_struct *work);

#endif
