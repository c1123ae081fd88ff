/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The client role's volumes.
 *
 * A new version goes the same way whatever changed:
 *
 *   intents in store -> extents allocated, zeroed -> layout in store (the version
 *   is decided) -> record on every member -> VOLUME_SET
 *
 * Before the layout is in the store a crash is undone, after it completed:
 * reconcile.c does both.
 */
#ifndef MESHD_VOLUME_H
#define MESHD_VOLUME_H

#include "userspace/meshd/peers.h"

/* commit.c */

/**
 * commit_volume() - bring records and kernel to the version of the store
 * @wait_ms: how long an attached volume may take to become active; 0: no wait
 * @why: REASON bytes
 */
int commit_volume(const struct muuid *uuid, unsigned int wait_ms, char *why);
/* What the kernel is told; mesh_volume_free() it. Adds hosts by hint. */
int commit_build(const struct store_volume *v, const struct layout *l, struct mesh_volume *out,
		 char *why);
/*
 * Open every member for writing, once: -EBUSY when another host holds one, -ESTALE
 * when one knows of a later version; else what is wrong with one of them.
 */
int commit_probe(const struct store_volume *v, const struct layout *l, char *why);
/* The kernel's view; -ENOENT. */
int kernel_volume(const struct muuid *uuid, struct mesh_volume *out);
/* "/dev/mesh0", or "" while there is none */
void kernel_device(const struct muuid *uuid, char *out, size_t size);

/* extents.c */

/* What a segment asks for. */
struct wish {
	u8	level;
	u32	columns;
	u32	strip;
	u64	bytes;			/* of the volume, at least */
	bool	by_host;		/* failure domain */
	const json_t *drives;		/* names, or NULL */
	u32	lba_max;		/* drives of larger blocks do not fit; 0: any */
};

/**
 * extents_get() - members and segments for @w, appended to @l
 * Chooses drives, notes the intents, allocates, waits for zeroes. What fails
 * is taken back. @steps: crash points for intent, some, all, ready.
 */
int extents_get(struct req *r, struct layout *l, const struct wish *w, const int *steps);
/* Free what an intent names and forget it; for the reconciler, too. */
int intent_undo(const struct store_intent *i, char *why);

int cmd_volume_create(struct req *r);
int cmd_volume_extend(struct req *r);
int cmd_volume_delete(struct req *r);
int cmd_volume_rename(struct req *r);
int cmd_volume_attach(struct req *r);
int cmd_volume_detach(struct req *r);
int cmd_volume_import(struct req *r);
int cmd_volume_list(struct req *r);
int cmd_volume_show(struct req *r);
int cmd_stats(struct req *r);

/* volume.c: free the extents of a volume marked for deletion, then forget it. */
int volume_finish_delete(const struct muuid *uuid, char *why);

/* import.c: find @what on the known hosts' drives and put it in the store. */
int import_volume(struct req *r, const char *what, struct store_volume *v);
/* The highest version that members know; -EHOSTUNREACH when some are silent. */
int import_newest(const struct layout *l, struct layout *newest, char *why);

/* show.c */
json_t *volume_json(const struct store_volume *v, const struct layout *l);
/* name, uuid, size and device of one volume as the result */
int volume_result(struct req *r, const struct muuid *uuid);
/* By name or UUID in the store, and taken as busy; -1 after req_fail(). */
int volume_take(struct req *r, const char *what, struct store_volume *v, struct layout *l);

/* -1 after req_fail() when it is marked for deletion. */
int volume_dying(struct req *r, const struct store_volume *v);

/* reconcile.c */
int reconcile_start(void);
void reconcile_kick(void);

#endif
