// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/machine/guard.h"
#include "userspace/meshd/meshd.h"
#include "userspace/meshd/witness.h"

/* The kernel requests it again each second, and its I/O may wait: what is not noted is not answered. */
static void on_note(void *priv, struct meshblk_note *n)
{
	static bool failed;
	int err = n->any ? noted_put(n) : noted_get(n);

	if (n->any && err) {
		if (!failed)
			log_error("a roster of volume %s cannot be noted in %s/rosters: %s. Until it can be, a "
				  "member that is lost holds up its I/O", muuid_str(&n->volume).s, D.state,
				  strerror(-err));
		failed = true;
		return;
	}
	failed = false;
	if (err)
		log_warn("the note of volume %s in %s/rosters is not believed: %s", muuid_str(&n->volume).s,
			 D.state, err == -ESTALE ? "it is a copy, or damaged" : strerror(-err));
	meshblk_roster_noted(priv, n);
}

static int served_family;

static void *witness_thread(void *arg)
{
	struct mesh *m = arg;
	int err = meshblk_witness(m, D.stop, on_note, m);

	if (err) {
		log_error("cannot note rosters for the kernel: %s", mesh_why(m));
		__atomic_store_n(&served_family, 0, __ATOMIC_RELAXED);	/* witness_tick() */
	}
	mesh_close(m);
	return NULL;
}

/*
 * A socket of a family that is gone receives nothing any more: the module that comes after it gets
 * another one. The thread of the old one is left, they are few.
 */
void witness_tick(void)
{
	static bool said;
	struct mesh *m = mesh_open();
	int id = m ? mesh_family_id(m, false) : 0, err;

	if (id > 0 && !noted_possible()) {
		if (!said)
			log_warn("%s is on a file system without birth times: rosters are not noted, and a "
				 "mirror without all copies needs --stale more often", D.state);
		said = true;
		id = 0;
	}
	if (id <= 0 || id == __atomic_load_n(&served_family, __ATOMIC_RELAXED)) {
		mesh_close(m);
		return;
	}
	err = meshblk_witness_begin(m);
	if (err)
		log_error("cannot note rosters for the kernel: %s", mesh_why(m));
	if (err || thread_start(witness_thread, m))
		mesh_close(m);
	else
		__atomic_store_n(&served_family, id, __ATOMIC_RELAXED);
}

static bool notes(const struct meshblk_volume *v)
{
	u32 i;

	for (i = 0; i < v->nr_groups; i++)
		if (v->groups[i].witness)
			return true;
	return false;
}

void witness_stops(void)
{
	struct mesh *m __free(mesh_close) = mesh_open();
	struct meshblk_volume *v, full;
	size_t i, n;

	if (!m || meshblk_volumes(m, &v, &n))
		return;
	for (i = 0; i < n; i++) {
		if (meshblk_volume_get(m, &v[i].uuid, &full))
			continue;
		if (notes(&full))
			log_warn("volume %s stays attached without meshd: if a member is lost and then this host, "
				 "the next attach may need --stale", full.name);
		meshblk_volume_free(&full);
	}
	meshblk_volumes_free(v, n);
}
