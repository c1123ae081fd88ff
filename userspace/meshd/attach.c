// SPDX-License-Identifier: GPL-2.0-only
/* meshctl volume attach, detach */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/meshd/busy.h"
#include "userspace/meshd/volume.h"

#define ACTIVE_MS	20000

/* Somebody else may have changed it since this host knew it. */
static int newest(struct req *r, struct store_volume *v, struct layout *l)
{
	struct layout *n = malloc(sizeof(*n));
	char why[REASON];
	int err = n ? import_newest(l, n, why) : -ENOMEM;

	if (err && !arg_bool(r, "force")) {
		free(n);
		return req_fail(r, "%s, and it may know of changes; bring it back, or add --force", why);
	}
	if (err)
		req_note(r, "%s; attached as this host knows it", why);
	if (!err && n->version > l->version) {
		memcpy(l, n, sizeof(*l));
		v->version = v->recorded = n->version;
		memcpy(v->name, n->name, sizeof(v->name));
		err = store_volume_commit(v, l);
		if (err)
			req_fail(r, "the newer layout cannot be stored: %s", strerror(-err));
	} else {
		err = 0;
	}
	free(n);
	return err;
}

static int attach(struct req *r, struct store_volume *v, struct layout *l)
{
	char device[48], why[REASON];
	struct mesh *m;
	int err;

	if (volume_dying(r, v))
		return -1;
	kernel_device(&v->uuid, device, sizeof(device));
	if (device[0] && v->attached && v->readonly == arg_bool(r, "readonly"))
		return volume_result(r, &v->uuid);
	if (device[0] && v->attached)
		return req_fail(r, "volume %s is attached for %s as %s; detach it first", v->name,
				v->readonly ? "reading only" : "writing", device);
	if (newest(r, v, l))
		return -1;
	v->attached = true;
	v->readonly = arg_bool(r, "readonly");
	v->preempt = arg_bool(r, "force") && !v->readonly;
	err = store_volume_flags(v);
	if (err)
		return req_fail(r, "the store cannot be written: %s", strerror(-err));
	err = commit_volume(&v->uuid, ACTIVE_MS, why);
	if (!err)
		return volume_result(r, &v->uuid);
	v->attached = v->preempt = false;
	store_volume_flags(v);
	m = mesh_open();
	if (m)
		mesh_volume_del(m, &v->uuid, true);
	mesh_close(m);
	return req_fail(r, "volume %s cannot be attached: %s", v->name, why);
}

int cmd_volume_attach(struct req *r)
{
	const char *what = arg_str(r, "volume");
	struct layout *l = malloc(sizeof(*l));
	struct store_volume v;
	int err = 0;

	if (!l)
		return req_fail(r, "out of memory");
	if (store_volume_find(what, &v, l) == -ENOENT)
		err = import_volume(r, what, &v);
	if (!err)
		err = volume_take(r, what, &v, l);
	if (!err) {
		err = attach(r, &v, l);
		busy_drop(&v.uuid);
	}
	free(l);
	return err;
}

/* The store first: killed between the two, the reconciler ends the work. */
static int detach(struct req *r, struct store_volume *v)
{
	bool was = v->attached;
	struct mesh *m = mesh_open();
	int err;

	v->attached = v->preempt = false;
	err = m ? store_volume_flags(v) : -ENOMEM;
	if (!err)
		err = mesh_volume_del(m, &v->uuid, arg_bool(r, "force"));
	if (err == -ENOENT && !was)
		req_note(r, "volume %s was not attached", v->name);
	if (err == -EBUSY) {
		v->attached = was;
		store_volume_flags(v);
	}
	/* What was forced off must not come back because a member is stuck. */
	if (err == -ETIMEDOUT || err == -EINTR) {
		req_note(r, "volume %s goes when its stuck I/O does", v->name);
		err = 0;
	}
	if (err == -EBUSY)
		req_fail(r, "volume %s is in use; unmount it first (lsof, lsblk), or add --force", v->name);
	else if (err && err != -ENOENT)
		req_fail(r, "volume %s: %s", v->name, m ? mesh_why(m) : strerror(-err));
	mesh_close(m);
	return r->error[0] ? -1 : 0;
}

int cmd_volume_detach(struct req *r)
{
	struct store_volume v;
	int err;

	if (volume_take(r, arg_str(r, "volume"), &v, NULL))
		return -1;
	err = detach(r, &v);
	busy_drop(&v.uuid);
	return err;
}
