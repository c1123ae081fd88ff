// SPDX-License-Identifier: GPL-2.0-only
/* meshctl volume create, extend, delete, rename */
#include <blkid/blkid.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "userspace/format/json.h"
#include "userspace/format/size.h"
#include "userspace/meshd/busy.h"
#include "userspace/meshd/crash.h"
#include "userspace/meshd/volume.h"

#define ACTIVE_MS	20000
#define STRIP		65536
#define COLUMNS_MAX	255

static int create_wish(struct req *r, struct wish *w)
{
	const char *level = arg_str(r, "level"), *domain = arg_str(r, "domain");

	w->bytes = arg_num(r, "size");
	w->strip = arg_num(r, "strip") ? arg_num(r, "strip") : STRIP;
	w->columns = arg_num(r, "columns");
	w->drives = json_object_get(r->args, "drives");
	w->by_host = !strcmp(domain, "host");
	w->level = !strcmp(level, "linear") ? LAYOUT_LINEAR : LAYOUT_STRIPE;
	if (strcmp(level, "linear") && strcmp(level, "stripe"))
		return req_usage(r, "--layout is linear or stripe:N");
	if (domain[0] && strcmp(domain, "host") && strcmp(domain, "drive"))
		return req_usage(r, "--domain is host or drive, not %s (racks are not "
				 "known yet)", domain);
	if (!w->bytes || w->bytes > 1ULL << 60)
		return req_usage(r, "--size is from 1M to 1024P");
	if (w->level == LAYOUT_STRIPE && (w->columns < 2 || w->columns > COLUMNS_MAX))
		return req_usage(r, "a stripe goes over 2 to %d drives", COLUMNS_MAX);
	if (arg_num(r, "strip") > 1 << 20 || w->strip < 4096 || w->strip & (w->strip - 1))
		return req_usage(r, "--strip is a power of two from 4k to 1m");
	return 0;
}

static int name_free(struct req *r, const char *name)
{
	struct store_volume v;

	if (!layout_name_ok(name))
		return req_usage(r, "\"%s\" cannot be a name: up to 63 letters, digits, '.', '_', '-'", name);
	if (!store_volume_find(name, &v, NULL))
		return req_fail(r, "there is a volume %s already; choose another name", name);
	return 0;
}

static int create(struct req *r, const struct wish *w, struct layout *l)
{
	static const int steps[] = {
		CRASH_CREATE_INTENT, CRASH_CREATE_SOME, CRASH_CREATE_ALL, CRASH_CREATE_READY,
	};
	bool attach = !json_is_false(json_object_get(r->args, "attach"));
	struct store_volume v = { .uuid = l->volume, .version = 1, .attached = attach,
				  .state = STORE_LIVE };
	char why[REASON];
	int err;

	if (extents_get(r, l, w, steps))
		return -1;
	memcpy(v.name, l->name, sizeof(v.name));
	err = store_volume_commit(&v, l);
	if (err == -EEXIST)
		return req_fail(r, "there is a volume %s already; choose another name", l->name);
	if (err)
		return req_fail(r, "the store cannot be written: %s", strerror(-err));
	crash_point(CRASH_CREATE_STORED);
	err = commit_volume(&l->volume, ACTIVE_MS, why);
	if (err)
		return req_fail(r, "volume %s is made, but not attached yet: %s", l->name, why);
	return volume_result(r, &l->volume);
}

int cmd_volume_create(struct req *r)
{
	const char *name = arg_str(r, "name");
	struct layout *l;
	struct wish w;
	int err;

	if (create_wish(r, &w) || name_free(r, name))
		return -1;
	l = calloc(1, sizeof(*l));
	if (!l)
		return req_fail(r, "out of memory");
	uuid_random(&l->volume);
	snprintf(l->name, sizeof(l->name), "%s", name);
	l->version = 1;
	l->lba = 512;
	l->created = time(NULL);
	busy_take(&l->volume);
	err = create(r, &w, l);
	busy_drop(&l->volume);
	reconcile_kick();
	free(l);
	return err;
}

/* Only who holds a volume for writing may make a new version of it. */
static int must_hold(struct req *r, const struct store_volume *v)
{
	struct mesh_volume k;
	bool there = !kernel_volume(&v->uuid, &k), active;

	active = there && !strcmp(k.state, "active");
	if (there)
		mesh_volume_free(&k);
	if (active && !v->readonly)
		return 0;
	if (v->readonly && there)
		return req_fail(r, "volume %s is attached for reading only; detach it, and attach it for "
				"writing first", v->name);
	return req_fail(r, "volume %s is not %s here; %s first", v->name, there ? "active" : "attached",
			there ? "see meshctl volume show what it waits for" : "attach it");
}

static int extend(struct req *r, struct store_volume *v, struct layout *l)
{
	static const int steps[] = {
		CRASH_EXTEND_INTENT, CRASH_NONE, CRASH_NONE, CRASH_EXTEND_READY,
	};
	const struct layout_segment *last = &l->segment[l->segments - 1];
	u64 size = arg_num(r, "size");
	/* Blocks of a disk cannot change their size under a file system. */
	struct wish w = { .level = last->level, .columns = last->data, .strip = last->strip,
			  .drives = json_object_get(r->args, "drives"), .lba_max = l->lba };
	char text[SIZE_TEXT], why[REASON];
	int err;

	if (volume_dying(r, v) || must_hold(r, v))
		return -1;
	size_text(l->size, text);
	if (size <= l->size)
		return req_fail(r, "volume %s has %s already; --size is its new size, and it cannot "
				"shrink", l->name, text);
	w.bytes = size - l->size;
	if (extents_get(r, l, &w, steps))
		return -1;
	v->version = ++l->version;
	err = store_volume_commit(v, l);
	if (err)
		return req_fail(r, "the store cannot be written: %s", strerror(-err));
	crash_point(CRASH_EXTEND_STORED);
	err = commit_volume(&v->uuid, ACTIVE_MS, why);
	if (err)
		return req_fail(r, "volume %s will be larger, but not yet: %s", l->name, why);
	return volume_result(r, &v->uuid);
}

int cmd_volume_extend(struct req *r)
{
	struct layout *l = malloc(sizeof(*l));
	struct store_volume v;
	int err = -1;

	if (l && !volume_take(r, arg_str(r, "volume"), &v, l)) {
		err = extend(r, &v, l);
		busy_drop(&v.uuid);
		reconcile_kick();
	}
	free(l);
	return err;
}

static int rename_to(struct req *r, struct store_volume *v, struct layout *l)
{
	const char *name = arg_str(r, "name");
	char why[REASON];
	int err;

	if (volume_dying(r, v) || must_hold(r, v) || name_free(r, name))
		return -1;
	snprintf(l->name, sizeof(l->name), "%s", name);
	memcpy(v->name, l->name, sizeof(v->name));
	v->version = ++l->version;
	err = store_volume_commit(v, l);
	if (err)
		return req_fail(r, "the store cannot be written: %s", strerror(-err));
	err = commit_volume(&v->uuid, ACTIVE_MS, why);
	if (err)
		return req_fail(r, "the new name is noted, but not everywhere yet: %s", why);
	return volume_result(r, &v->uuid);
}

int cmd_volume_rename(struct req *r)
{
	struct layout *l = malloc(sizeof(*l));
	struct store_volume v;
	int err = -1;

	if (l && !volume_take(r, arg_str(r, "volume"), &v, l)) {
		err = rename_to(r, &v, l);
		busy_drop(&v.uuid);
		reconcile_kick();
	}
	free(l);
	return err;
}

int volume_finish_delete(const struct muuid *uuid, char *why)
{
	struct layout *l = malloc(sizeof(*l));
	struct store_volume v;
	struct store_host h;
	int err, failed = 0;
	u32 i;

	err = l ? store_volume_get(uuid, &v, l) : -ENOMEM;
	if (err) {
		free(l);
		return err;
	}
	for (i = 0; i < l->members; i++) {
		err = peer_of_member(&l->member[i], &h);
		if (!err)
			err = peer_free(&h, &l->member[i].drive, &l->member[i].extent, uuid, why);
		else
			err = 0;	/* its host was removed: nobody to tell */
		failed = err ? err : failed;
		if (!i)
			crash_point(CRASH_DELETE_SOME);
	}
	free(l);
	if (failed)
		return failed;
	crash_point(CRASH_DELETE_ALL);
	return store_volume_erase(uuid);
}

/* "xfs", or NULL: what is on it, as far as one can see. */
static const char *data_on(const struct muuid *uuid, char *out, size_t size)
{
	char device[48];
	blkid_probe pr;
	const char *type = NULL;
	int rc;

	kernel_device(uuid, device, sizeof(device));
	pr = device[0] ? blkid_new_probe_from_filename(device) : NULL;
	if (!pr)
		return NULL;
	blkid_probe_enable_partitions(pr, 1);
	rc = blkid_do_safeprobe(pr);
	if (rc == -2)
		snprintf(out, size, "%s", type = "several signatures");
	if (!rc && (!blkid_probe_lookup_value(pr, "TYPE", &type, NULL) ||
					!blkid_probe_lookup_value(pr, "PTTYPE", &type, NULL)))
		snprintf(out, size, "%s", type);
	blkid_free_probe(pr);
	return type ? out : NULL;
}

/* Before anything is lost: is it ours to delete, and is there nothing on it? */
static int may_delete(struct req *r, const struct store_volume *v)
{
	char type[32], device[48];

	if (v->state != STORE_LIVE || arg_bool(r, "force"))
		return 0;
	kernel_device(&v->uuid, device, sizeof(device));
	if (!device[0])
		return req_fail(r, "volume %s is not attached, so what is on it cannot be seen; attach it, "
				"or add --force", v->name);
	if (data_on(&v->uuid, type, sizeof(type)))
		return req_fail(r, "volume %s carries %s; add --force to delete it with all that is on it",
				v->name, type);
	return 0;
}

/* Out of this kernel, and nobody else's: -1 after req_fail(). */
static int let_go(struct req *r, struct store_volume *v, const struct layout *l)
{
	struct mesh *m = mesh_open();
	char why[REASON] = "";
	int err = m ? mesh_volume_del(m, &v->uuid, false) : -ENOMEM;

	if (err == -EBUSY)
		req_fail(r, "volume %s is in use; unmount it first (lsof, lsblk), or detach it with --force",
			 v->name);
	else if (err && err != -ENOENT)
		req_fail(r, "volume %s cannot be let go: %s", v->name, m ? mesh_why(m) : "no memory");
	mesh_close(m);
	if (r->error[0])
		return -1;
	if (v->state != STORE_LIVE)
		return 0;
	err = commit_probe(v, l, why);
	if (err == -EBUSY || err == -ESTALE)
		return req_fail(r, "volume %s is not this host's to delete: %s; detach it there, or attach "
				"it here with --force first", v->name, why);
	return 0;
}

static int delete_volume(struct req *r, struct store_volume *v, const struct layout *l)
{
	enum store_vstate before = v->state;
	bool force = arg_bool(r, "force");
	char why[REASON] = "";
	int err;

	if (may_delete(r, v) || let_go(r, v, l))
		return -1;
	crash_point(CRASH_DELETE_KERNEL);
	v->state = STORE_DELETING;
	v->attached = false;
	err = store_volume_flags(v);
	if (err)
		return req_fail(r, "the store cannot be written: %s", strerror(-err));
	crash_point(CRASH_DELETE_STORED);
	err = volume_finish_delete(&v->uuid, why);
	if (err && before == STORE_DELETING && force) {
		req_note(r, "%s; what volume %s has there stays allocated", why, v->name);
		err = store_volume_erase(&v->uuid);
	}
	if (err)
		return req_fail(r, "volume %s is gone, but not all its extents are free yet: %s; bring "
				"that back and meshd frees them, or forget them with --force", v->name,
				why);
	return 0;
}

int cmd_volume_delete(struct req *r)
{
	struct layout *l = malloc(sizeof(*l));
	struct store_volume v;
	int err = -1;

	if (l && !volume_take(r, arg_str(r, "volume"), &v, l)) {
		err = delete_volume(r, &v, l);
		busy_drop(&v.uuid);
	}
	free(l);
	return err;
}
