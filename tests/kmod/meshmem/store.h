/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The bytes of members in memory, by UUID, and the end of a client in mid-write.
 */
#ifndef MESHMEM_STORE_H
#define MESHMEM_STORE_H

#include <linux/mutex.h>
#include <linux/uuid.h>
#include <linux/xarray.h>

#include "driver/member/member.h"

struct mem_stage;

/**
 * struct mem_store - the bytes of a UUID
 * @node: in the list of all
 * @uuid: whose
 * @refs: members that are open
 * @lost: a member that is opened is down at first
 * @lock: makes each I/O atomic, as a drive's sector is
 * @pages: by byte / PAGE_SIZE; a page that is not there reads zero
 *
 * The list, @refs and @lost are under a lock of store.c.
 */
struct mem_store {
	struct list_head node;
	uuid_t		uuid;
	unsigned int	refs;
	bool		lost;
	struct mutex	lock;	/* one I/O at a time */
	struct xarray	pages;
};

/**
 * store_get() - the bytes of @uuid, for a member that opens
 * @lost: gets whether it is down at first
 *
 * Return: NULL without memory.
 */
struct mem_store *store_get(const uuid_t *uuid, bool *lost);

/* The member is closed; the bytes stay while some are to be kept. */
void store_put(struct mem_store *s);

/* Whether members of @uuid, whose bytes were kept, are down when they open. Return: -ENODEV. */
int store_lost(const uuid_t *uuid, bool lost);

/* Return: 0 or a negative errno, -EINVAL beyond @size. */
int store_do(struct mem_store *s, struct mesh_mio *mio, u64 size);

/*
 * Whether the client ends with this I/O, or ended with one before: it is never to end, and was
 * done wholly, in part or not at all, as if it had been in flight.
 */
bool store_cut(struct mem_store *s, struct mesh_mio *mio);

/* References to what a write has staged; it is gone with the last. */
void store_stage_get(struct mem_stage *st);
void store_stage_put(struct mem_stage *st);

/* Whether the client has ended. */
bool store_is_cut(void);

/* Forget the bytes that were kept. */
void store_exit(void);

#endif
