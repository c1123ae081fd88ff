/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The store: what this host wants, in SQLite. It is a cache: the layout
 * records on the drives are the authority, and a lost store is imported again.
 *
 * Any thread; each function is one transaction. They return 0 or a negative
 * errno: -ENOENT, -EEXIST, -EIO. What cannot be read is not empty: a list is whole
 * or an error, and after the first error of reading the client role stops.
 */
#ifndef MESHD_STORE_H
#define MESHD_STORE_H

#include <errno.h>

#include "userspace/format/layout.h"
#include "userspace/meshd/meshd.h"

/*
 * What fails was logged, and the store is broken from then on; -EPROTONOSUPPORT: another
 * version of meshd wrote it. After -ENOMEM no other function may be called.
 */
int store_open(const char *path);
/* Make the file whole without its log, and end all use of it. */
void store_close(void);
/* Something in it could not be read: it does not count until meshd starts again. */
bool store_broken(void);
/* What a list or a look-up that failed with @err came to, in words. */
const char *store_words(int err);

/* What a write of it that failed with @err came to, in words. */
static inline const char *store_unwritten(int err)
{
	switch (err) {
	case -ENOSPC:
		return "the store (store.db in meshd's state folder) cannot be written: the disk is full";
	case -EROFS:
		return "the store (store.db in meshd's state folder) cannot be written: it is read-only";
	}
	return "the store (store.db in meshd's state folder) cannot be written; see meshd's log";
}

struct store_host {
	u32	id;		/* the kernel's TARGET_ID */
	char	addr[64];
	u16	port;
	char	name[64];
	struct muuid uuid;	/* zero: never seen */
};

/* @h->id zero: a new one is given. -EEXIST: the address is there already. */
int store_host_put(struct store_host *h);
/* Two that took each other's address. They are changed even when it fails. */
int store_hosts_swap(struct store_host *a, struct store_host *b);
/* A host of the kernel's with its number; a row of the same address gets that number. */
int store_host_adopt(const struct store_host *h);
/* The UUID of @id, as its session shows; nothing changes where one is known. */
int store_host_learn(u32 id, const struct muuid *uuid);
int store_host_del(u32 id);
int store_hosts(struct store_host **out, size_t *n);
/* By name, address or UUID text. */
int store_host_find(const char *what, struct store_host *out);
int store_host_by_uuid(const struct muuid *uuid, struct store_host *out);

enum store_vstate {
	STORE_LIVE = 1,
	STORE_DELETING = 2,
	STORE_CREATING = 3,	/* its extents are intents; nothing was recorded yet */
};

#define STORE_NOTE	256

/* The volume's layout, its version and name go with store_volume_commit() alone. */
struct store_volume {
	struct muuid uuid;
	char	name[LAYOUT_NAME];
	u64	version;
	u64	recorded;	/* highest version durable on all members */
	bool	attached;	/* wanted so */
	bool	readonly;
	u32	io_timeout_ms;	/* 0: the kernel's default */
	enum store_vstate state;
	bool	pending;	/* a version of our own is being written */
	char	note[STORE_NOTE];	/* what is wrong with it, human-readable */
};

/* An extent that is being allocated for a volume. */
struct store_intent {
	struct muuid volume;
	char	name[LAYOUT_NAME];
	struct muuid host;
	struct muuid drive;
	struct muuid extent;
	u64	length;
};

/* An extent of a deleted volume that is to be freed, if it still is what it was. */
struct store_free {
	struct muuid volume;
	struct muuid host;	/* where it was found last */
	struct muuid drive;
	struct muuid extent;
	struct muuid holder;
	u64	version;
	u64	commit;
	bool	preempt;
};

/* By name or UUID text; @l may be NULL. */
int store_volume_find(const char *what, struct store_volume *v, struct layout *l);
int store_volume_get(const struct muuid *uuid, struct store_volume *v, struct layout *l);
int store_volumes(struct store_volume **out, size_t *n);
/* A new volume in state CREATING with its intents. -EEXIST: the name is taken. */
int store_volume_begin(const struct store_volume *v, const struct layout *l,
		       const struct store_intent *i, size_t n);
/**
 * store_volume_commit() - a new version; drops intents and pending layout with it
 * -EEXIST: another volume has the name. -ESTALE: the store has a higher version.
 */
int store_volume_commit(const struct store_volume *v, const struct layout *l);
/* The same, and what is begun here stays. */
int store_volume_adopt(const struct store_volume *v, const struct layout *l);
int store_volume_flags(const struct store_volume *v);	/* all but layout and pending */
int store_volume_erase(const struct muuid *uuid);

/* The next layout, noted before any record of it is written. NULL: no more. */
int store_pending_set(const struct muuid *uuid, const struct layout *l);
int store_pending_get(const struct muuid *uuid, struct layout *l);

int store_intents_add(const struct store_intent *i, size_t n);
int store_intents(struct store_intent **out, size_t *n);
int store_intent_del(const struct muuid *extent);

/* Mark @v as deleted and note what is to be freed, in one. */
int store_volume_doom(const struct store_volume *v, const struct store_free *f, size_t n);
/* The same for extents of a LIVE volume: those that its layout does not name are to be freed. */
int store_frees_add(const struct store_free *f, size_t n);
/* @volume NULL: of all. */
int store_frees(const struct muuid *volume, struct store_free **out, size_t *n);
int store_free_del(const struct muuid *extent);

/* Drives this host exports. */
int store_drive_put(const struct muuid *uuid, const char *path);
int store_drive_del(const struct muuid *uuid);

#endif
