// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "userspace/libmesh/mesh.h"
#include "userspace/machine/guard.h"
#include "userspace/machine/modules.h"
#include "userspace/meshd/done.h"
#include "userspace/meshd/home.h"
#include "userspace/meshd/roles.h"
#include "userspace/meshd/serve.h"
#include "userspace/meshd/store.h"
#include "userspace/meshd/volume.h"
#include "userspace/meshd/witness.h"

#define START_MS	60000

static struct done up = DONE_INIT;

static void client_start(void)
{
	char why[128];

	if (modules_load("meshblk", why, sizeof(why)))
		log_error("%s: no volumes on this host", why);
	witness_tick();		/* before anything is attached */
	if (reconcile_start())
		log_error("the reconciler does not start");
}

static void *roles_thread(void *arg)
{
	(void)arg;
	if (target_start())
		log_error("the target role does not start");
	client_start();
	done_set(&up);
	log_info("roles started");
	return NULL;
}

int roles_start(void)
{
	char path[256];
	int err;

	snprintf(path, sizeof(path), "%s/store.db", D.state);
	/* Drives are exported by their labels alone, whatever has become of the store. */
	if (store_open(path) == -ENOMEM)
		return -ENOMEM;
	err = thread_start(roles_thread, NULL);
	if (err)
		log_error("the roles do not start: %s", strerror(-err));
	return err;
}

int roles_need(struct req *r)
{
	if (store_broken())
		return req_fail(r, "%s; what is attached and exported stays so", store_words(-EIO));
	if (home_refused())
		return req_fail(r, "this machine is not the one that %s belongs to, so nothing is exported "
				"or attached: 'meshctl host identity accept' if it is that host on new "
				"hardware or installed again, 'meshctl host identity new' if it is a copy",
				D.state);
	if (!done_wait(&up, START_MS))
		return req_fail(r, "meshd is still starting (modules, drives): see its log, try again");
	return 0;
}

bool roles_in_use(void)
{
	struct mesh *m __free(mesh_close) = mesh_open();
	struct meshblk_volume *v;
	struct meshtgt_drive *d;
	size_t n = 0, k = 0;

	if (m && !meshblk_volumes(m, &v, &n))
		meshblk_volumes_free(v, n);
	if (m && !meshtgt_drives(m, &d, &k))
		meshtgt_drives_free(d, k);
	return n || k;
}
