// SPDX-License-Identifier: GPL-2.0-only
/* meshctl volume create, extend, rename */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "userspace/format/layout_text.h"
#include "userspace/format/size.h"
#include "userspace/meshd/busy.h"
#include "userspace/meshd/crash.h"
#include "userspace/meshd/volume.h"

#define ACTIVE_MS	20000
#define STRIP		65536

/* A number of bytes, or "max": as much as there is room for. */
static u64 size_wanted(const struct req *r)
{
	return !strcmp(arg_str(r, "size"), "max") ? SIZE_MAX_ROOM : arg_num(r, "size");
}

/* Without a word it stays what it is. */
static bool by_host(const struct req *r, bool is)
{
	return arg_str(r, "domain")[0] ? !strcmp(arg_str(r, "domain"), "host") : is;
}

static int name_free(struct req *r, const char *name)
{
	struct store_volume v;
	int err = store_volume_find(name, &v, NULL);

	if (!err)
		return req_fail(r, "there is a volume %s already; choose another name", name);
	return err == -ENOENT ? 0 : req_fail(r, "%s", store_words(err));
}

/* Version 1 counts from here on; what is left of it the reconciler does. */
static int create_live(struct req *r, struct store_volume *v, struct layout *l, bool attach)
{
	struct bring b = { .r = r, .wait_ms = ACTIVE_MS };
	char why[REASON];
	struct store_volume was;
	int err;

	v->state = STORE_LIVE;
	was = *v;
	v->attached = attach;
	err = store_volume_commit(v, l);
	if (err)
		return req_fail(r, "%s", store_unwritten(err));
	crash_point(CRASH_CREATE_STORED);
	err = attach ? volume_bring(v, l, &b, why) : volume_record(v, l, why);
	if (err && attach && !stopping())
		volume_give_up(&was, l, &b);
	if (err)
		return req_fail(r, attach ? "volume %s is made, but not attached: %s; attach it when that "
				"is over" : "volume %s is made, but not recorded yet: %s", l->name, why);
	return volume_result(r, &l->volume);
}

static int create(struct req *r, const struct segment_req *q, struct layout *l)
{
	static const int steps[] = {
		CRASH_CREATE_INTENT, CRASH_CREATE_SOME, CRASH_CREATE_ALL, CRASH_CREATE_READY,
	};
	struct store_volume v = { .uuid = l->volume, .version = 1, .state = STORE_CREATING };

	memcpy(v.name, l->name, sizeof(v.name));
	if (extents_get(r, &v, l, q, steps))
		return -1;
	return create_live(r, &v, l, !json_is_false(json_object_get(r->args, "attach")));
}

int cmd_volume_create(struct req *r)
{
	const char *name = arg_str(r, "name");
	struct segment_req q = { .bytes = size_wanted(r),
			  .strip = arg_num(r, "strip") ? arg_num(r, "strip") : STRIP,
			  .drives = json_object_get(r->args, "drives"), .force = arg_bool(r, "force"),
			  .erase_label = arg_bool(r, "erase_label") };
	struct layout *l __free(free) = NULL;
	int err;

	layout_parse(arg_str(r, "layout"), &q.shape);
	if (arg_num(r, "groups"))
		layout_regroup(&q.shape, arg_num(r, "groups"));
	/* Redundancy that goes with one host is little of it. */
	q.by_host = by_host(r, layout_width(&q.shape) > 1);
	if (name_free(r, name))
		return -1;
	l = calloc(1, sizeof(*l));
	if (!l)
		return req_fail(r, "out of memory");
	uuid_random(&l->volume);
	snprintf(l->name, sizeof(l->name), "%s", name);
	l->version = 1;
	l->commit = commit_id();
	l->lba = 512;
	l->created = time(NULL);
	l->salt = commit_id();
	l->spares = arg_num(r, "spares");
	busy_take(&l->volume);
	err = create(r, &q, l);
	busy_drop(&l->volume);
	reconcile_kick();
	return err;
}

/* Only the host that holds a volume for writing may make a new version of it. */
int volume_must_hold(struct req *r, const struct store_volume *v)
{
	struct meshblk_volume k;
	bool there = !kernel_head(&v->uuid, &k);
	/* a store that was put back may say something else than the kernel does */
	bool readonly = v->readonly || (there && k.readonly);

	if (there && !readonly && !strcmp(k.state, MESHBLK_STATE_ACTIVE))
		return 0;
	if (there && readonly)
		return req_fail(r, "volume %s is attached for reading only; detach it, and attach it for "
				"writing first", v->name);
	return req_fail(r, "volume %s is not %s here; %s first", v->name, there ? "active" : "attached",
			there ? "see meshctl volume show what it waits for" : "attach it");
}

/* A new layout is decided by the labels of all members: none of them may be away. */
static int all_there(struct req *r, const struct store_volume *v, const struct layout *l)
{
	struct meshblk_volume k;
	char why[REASON] = "";
	bool lacks;

	if (kernel_volume(&v->uuid, &k))
		return 0;
	lacks = volume_health(&k) >= HEALTH_DEGRADED && groups_why(l, &k, why, sizeof(why));
	meshblk_volume_free(&k);
	return lacks ? req_fail(r, "volume %s lacks a member, and is changed only with all of them: %s; bring "
				"it back, or meshctl volume replace it", v->name, why) : 0;
}

/* What was begun before and is not settled cannot be built upon. */
static int settled(struct req *r, struct store_volume *v, struct layout *l)
{
	char why[REASON];

	if (v->pending && pending_settle(v, why))
		return req_fail(r, "an earlier change of volume %s is not finished: %s%s", v->name, why,
				pending_undoable(v) ? "; if that is lost for good: unmount it, meshctl volume "
				"detach --stale, then volume attach --stale" : "");
	return store_volume_get(&v->uuid, v, l) ? req_fail(r, "the store has lost the volume") : 0;
}

static int change(struct req *r, struct store_volume *v, struct layout *l, struct layout *next)
{
	const u64 had = v->version;
	char why[REASON];
	int err = volume_change(v, l, next, why);

	if (err == -EBUSY || err == -ESTALE)
		return req_fail(r, "volume %s is not this host's to change: %s", v->name, why);
	if (err && v->version > had && v->version == next->version)
		return req_fail(r, "volume %s has its new version, but not here yet: %s", v->name, why);
	if (err)
		return req_fail(r, "volume %s is not changed yet: %s; meshctl volume list says how it goes "
				"on", v->name, why);
	return volume_result(r, &v->uuid);
}

static int extend_by(struct req *r, struct store_volume *v, struct layout *l, struct layout *next)
{
	static const int steps[] = {
		CRASH_EXTEND_INTENT, CRASH_NONE, CRASH_NONE, CRASH_EXTEND_READY,
	};
	const struct layout_segment *last = &l->segment[l->segments - 1];
	u64 size = size_wanted(r);
	/* Blocks of a disk cannot change their size under a file system. */
	struct segment_req q = { .shape = layout_shape(last), .strip = last->strip,
			  .by_host = by_host(r, last->domain == LAYOUT_DOMAIN_HOST),
			  .drives = json_object_get(r->args, "drives"), .force = arg_bool(r, "force"),
			  .erase_label = arg_bool(r, "erase_label"), .lba_max = l->lba };
	char text[SIZE_TEXT];

	size_text(l->size, text);
	if (size <= l->size)
		return req_fail(r, "volume %s has %s already; --size is its new size, and it cannot "
				"shrink", l->name, text);
	q.bytes = size == SIZE_MAX_ROOM ? size : size - l->size;
	memcpy(next, l, sizeof(*next));
	if (extents_get(r, v, next, &q, steps))
		return -1;
	/* It may have been taken, or have lost a member, while zeroes were written. */
	if (volume_must_hold(r, v) || all_there(r, v, l)) {
		intents_drop(&v->uuid, v->name);
		return -1;
	}
	if (change(r, v, l, next))
		return -1;
	volume_attached(v, l);
	return 0;
}

static int rename_to(struct req *r, struct store_volume *v, struct layout *l, struct layout *next)
{
	const char *name = arg_str(r, "name");

	if (name_free(r, name))
		return -1;
	memcpy(next, l, sizeof(*next));
	snprintf(next->name, sizeof(next->name), "%s", name);
	/* A name of this host's own goes with the one of the volume. */
	memcpy(l->name, v->name, sizeof(l->name));
	if (change(r, v, l, next))
		return -1;
	if (strcmp(v->name, name))
		req_note(r, "another volume was given the name %s here meanwhile: other hosts call this one "
			 "%s, and here it stays %s; rename one of them", name, name, v->name);
	return 0;
}

int volume_with_next(struct req *r, bool whole, int (*fn)(struct req *r, struct store_volume *v,
							  struct layout *l, struct layout *next))
{
	struct layout *l __free(free) = malloc(sizeof(*l)), *next __free(free) = NULL;
	struct store_volume v;
	int err = l ? volume_take(r, arg_str(r, "volume"), &v, l) : req_fail(r, "out of memory");

	if (err)
		return err;
	next = malloc(sizeof(*next));
	if (!next)
		err = req_fail(r, "out of memory");
	else if (volume_dying(r, &v) || settled(r, &v, l) || volume_must_hold(r, &v) ||
		 (whole && all_there(r, &v, l)))
		err = -1;
	else
		err = fn(r, &v, l, next);
	busy_drop(&v.uuid);
	reconcile_kick();
	return err;
}

int cmd_volume_extend(struct req *r)
{
	return volume_with_next(r, true, extend_by);
}

int cmd_volume_rename(struct req *r)
{
	return volume_with_next(r, true, rename_to);
}
