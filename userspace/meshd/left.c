// SPDX-License-Identifier: GPL-2.0-only
/*
 * Drives that the kernel serves from a meshd before this one, which has not taken them up:
 * their labels are damaged, another cluster's, or of another size. No thread of theirs looks
 * at the label, no label says here what is open, but clients go on with what they opened.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/format/json.h"
#include "userspace/meshd/lend.h"

int left_drives(struct mesh *m, struct mesh_drive **out, size_t *n)
{
	struct mesh_drive *all = NULL;
	struct tdrive *d;
	size_t i, count = 0, k = 0;
	int err = m ? mesh_drives(m, &all, &count) : -ENOMEM;

	*out = NULL;
	*n = 0;
	if (err)
		return err == -ENOENT ? 0 : err;	/* without the module nothing is served */
	for (i = 0; i < count; i++) {
		d = tdrive_find(&all[i].uuid);
		if (d)
			free(all[i].extents);
		else
			all[k++] = all[i];
		tdrive_put(d);
	}
	*out = all;
	*n = k;
	return 0;
}

/* The entry of a device that is listed with its reason, which stays to be found in a scan. */
static json_t *listed(json_t *list, const struct mesh_drive *k)
{
	struct mgmt_drive m;
	json_t *j;
	size_t i;

	json_array_foreach(list, i, j)
		if (!mgmt_drive_unpack(j, &m) && muuid_equal(&m.uuid, &k->uuid) &&
		    !strcmp(m.path, k->path))
			return j;
	return NULL;
}

int left_list(json_t *list)
{
	struct mesh *m = mesh_open();
	struct mesh_drive *k;
	struct mgmt_drive d;
	size_t i, n;
	json_t *j;
	int err = left_drives(m, &k, &n);

	mesh_close(m);
	for (i = 0; i < n; i++) {
		if (!strcmp(k[i].state, "gone"))
			continue;
		j = listed(list, &k[i]);
		if (j) {
			jset_str(j, "state", MGMT_UNMANAGED);
			continue;
		}
		d = (struct mgmt_drive) { .uuid = k[i].uuid, .size = k[i].size, .lba = k[i].lba,
					  .extents = k[i].nr_extents, .state = MGMT_UNMANAGED };
		snprintf(d.path, sizeof(d.path), "%s", k[i].path);
		json_array_append_new(list, mgmt_drive_pack(&d));
	}
	mesh_drives_free(k, n);
	return err;
}

static void kernel_end(struct mesh *m, const struct mesh_drive *k, const struct probe *p)
{
	char owner[MUUID_TEXT];

	muuid_text(&p->owner, owner);
	log_error("%s: host %s has taken it over: the kernel, which had it from a meshd before this one, "
		  "serves it no more, and what was open is taken away", k->path, owner);
	if (mesh_drive_del(m, &k->uuid, true))
		log_error("%s: %s", k->path, mesh_why(m));
}

/*
 * The host that has taken a drive over since may give to others what is open here. One that
 * does not answer, or has no whole label, says nothing of that, nor does the name that this
 * host had before its state was lost.
 */
static bool taken_over(const struct mesh_drive *k, const struct probe *p)
{
	return p && !p->err && p->verdict == PROBE_THEIRS && muuid_equal(&p->drive, &k->uuid) &&
	       !muuid_equal(&p->owner, &k->host);
}

bool left_end_taken_over(void)
{
	struct mesh *m = mesh_open();
	struct mesh_drive *k, one;
	size_t i, n, served = 0;
	bool stays, unknown = left_drives(m, &k, &n) != 0;
	struct probe **p = calloc(n + 1, sizeof(*p));
	char **path = calloc(n + 1, sizeof(*path));

	for (i = 0; path && p && i < n; i++) {
		if (!strcmp(k[i].state, "gone"))
			continue;
		one = k[served];
		k[served] = k[i];
		k[i] = one;
		path[served] = k[served].path;
		served++;
	}
	if (served)
		take_probes(path, served, false, p);
	stays = unknown || served || !path || !p;
	for (i = 0; i < served; i++) {
		if (taken_over(&k[i], p[i]))
			kernel_end(m, &k[i], p[i]);
		if (p[i])
			probe_clear(p[i]);
		free(p[i]);
	}
	free(p);
	free(path);
	mesh_drives_free(k, n);
	mesh_close(m);
	return stays;
}
