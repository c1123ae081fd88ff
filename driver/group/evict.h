/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * An eviction of a member, shared by
 *
 *   evict.c       copies the member, begins and ends the eviction
 *   evict_io.c    I/O meanwhile, and decisions to go on
 *   evict_hold.c  I/O on hold
 *   swap.c        the place goes to the copy
 */
#ifndef MESH_GROUP_EVICT_H
#define MESH_GROUP_EVICT_H

#include "driver/group/group.h"

#define EVICT_PAGES	128		/* of a chunk */
#define EVICT_CHUNK	(EVICT_PAGES * PAGE_SIZE)

enum evict_state {
	EVICT_COPYING,
	EVICT_WHOLE,
	EVICT_FREEZING,		/* nothing more is sent to the place */
	EVICT_SWAPPING,		/* nothing is in flight there; a roster may have been begun */
	EVICT_OVER,
};

/*
 * Fields are accessed with the engine owned, except @link, @member and the fields of the copier
 * alone.
 */
struct mesh_evict {
	struct mesh_group	*group;
	u32			slot;
	enum evict_state	state;		/* READ_ONCE() elsewhere */
	struct mesh_member	*member;	/* the successor; a reference, until @taken */
	bool			taken;	/* the successor has the place, and @member's reference */
	bool			noted; /* the successor has this attachment's number; group->lock */
	u64			note;		/* number to be noted; 0: none; group->lock */
	struct mesh_member_link	link;
	u64			from, end;	/* bytes of the member to be copied */
	u64			pos;	/* bytes before @pos are copied; READ_ONCE() elsewhere */
	u32			chunk;		/* bytes from @pos on, awaited by writes; 0: none */
	struct list_head	held;		/* gios on hold */
	struct list_head	flying;		/* gios at the successor */
	struct list_head	again;		/* gios refused by the successor for now */
	/* jiffies when the successor was last up, without late I/O */
	unsigned long		answered;

	/* the copier's */
	struct page		*pages[EVICT_PAGES];
	struct scatterlist	sg[EVICT_PAGES];
	struct mesh_mio		mio;
	struct completion	done;
};

static inline bool evict_up(const struct mesh_member *m)
{
	/* pairs with mesh_member_step() */
	return smp_load_acquire(&m->state) == MESH_MEMBER_UP && !READ_ONCE(m->suspended);
}

static inline struct mesh_evict *evict_at(const struct mesh_group *g, u32 slot)
{
	struct mesh_evict *ev = g->evict;

	return ev && ev->slot == slot && ev->state != EVICT_OVER ? ev : NULL;
}

static inline bool evict_frozen(const struct mesh_evict *ev)
{
	return ev->state == EVICT_FREEZING || ev->state == EVICT_SWAPPING;
}

static inline bool evict_overlaps(const struct mesh_evict *ev, const struct mesh_gio *gio)
{
	return gio->io.kind != PROT_READ && gio->io.addr < ev->pos + ev->chunk &&
	       gio->io.addr + gio->io.length > ev->pos;
}

/* evict_hold.c; with the engine owned */
void mesh_evict_release(struct mesh_evict *ev);

/* evict_io.c; likewise */
void mesh_evict_over(struct mesh_evict *ev, const char *why);

/* swap.c */
void mesh_evict_note(struct mesh_group *g, struct mesh_evict *ev);

#endif
