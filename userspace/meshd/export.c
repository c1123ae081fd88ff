// SPDX-License-Identifier: GPL-2.0-only
/* meshctl drive export: what may be exported, on whose word. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/format/json.h"
#include "userspace/meshd/export.h"
#include "userspace/meshd/peers.h"
#include "userspace/meshd/spare.h"

#define CLUSTER_MS	5000
#define LOCK_MS		15000

pthread_mutex_t export_lock = PTHREAD_MUTEX_INITIALIZER;

bool export_lock_for(struct req *r)
{
	struct timespec until = ms_from_now(LOCK_MS);

	if (!pthread_mutex_clocklock(&export_lock, CLOCK_MONOTONIC, &until))
		return true;
	req_fail(r, "another drive is being exported, unexported or checked, and does not answer (see "
		 "meshctl drive list); nothing was done, try again later");
	return false;
}

static void push_fn(struct tdrive *d, struct tjob *j, int err)
{
	if (!err)
		tdrive_push(d);
	free(j);
}

void export_push(struct tdrive *d)
{
	struct tjob *j = calloc(1, sizeof(*j));

	if (!j)
		return;
	j->fn = push_fn;
	tdrive_submit(d, j);
}

bool export_cluster_ok(const struct label *l)
{
	return muuid_null(&l->cluster) || muuid_null(&D.cluster) ||
	       muuid_equal(&l->cluster, &D.cluster);
}

/* On the drive's thread. */
static int cluster_job(struct tdrive *d, void *arg)
{
	struct label *l;

	(void)arg;
	if (muuid_null(&D.cluster) || muuid_equal(&d->label->cluster, &D.cluster))
		return 0;
	l = tdrive_edit(d);
	if (!l)
		return -ENOMEM;
	l->cluster = D.cluster;
	return tdrive_commit(d, l);
}

void export_cluster(struct req *r)
{
	struct tdrive **all __free(free) = NULL;
	size_t i, n;
	int err;

	all = tdrives_all(&n);
	for (i = 0; all && i < n; i++) {
		err = tdrive_run_for(all[i], cluster_job, NULL, NULL, CLUSTER_MS);
		if (err)
			req_note(r, "%s still belongs to the cluster of the key before (%s): at the next start "
				 "it is not served until 'meshctl drive export %s --take-over'",
				 all[i]->path, strerror(-err), all[i]->path);
		tdrive_put(all[i]);
	}
}

/*
 * Whether the drives that a host lists have @drive among them, served. What cannot be read
 * may be it.
 */
static bool lists(const json_t *data, const struct muuid *drive)
{
	json_t *list = json_object_get(data, "drives"), *j;
	struct mgmt_drive m;
	size_t i;

	json_array_foreach(list, i, j)
		if (mgmt_drive_unpack(j, &m) ||
		    (muuid_equal(&m.uuid, drive) && mgmt_drive_served(&m)))
			return true;
	return !json_is_array(list);
}

/*
 * Its kernel may go on serving it without a meshd: the administrator has to say that it
 * does not, unless its label says that it was unexported.
 */
static int owner_silent(struct req *r, const struct probe *p, const char *what)
{
	if (!arg_bool(r, "stale") && !(p->label->flags & LABEL_F_UNEXPORTED))
		return req_fail(r, "%s. When that host is off, or has the drive no more, add --stale", what);
	req_note(r, "%s", what);
	return 0;
}

/* The owner knows best. One that is silent may have been taken away with the drive. */
static int query_owner(struct req *r, const struct probe *p, const char *owner)
{
	struct mgmt_req q = { .op = MGMT_DRIVES };
	char why[REASON], what[2 * REASON];
	struct store_host h;
	json_t *data;
	bool serves;
	int err;

	if (store_host_by_uuid(&p->owner, &h)) {
		snprintf(what, sizeof(what), "host %s, which exported %s last, is not known here: whether "
			 "it still serves it was not checked", owner, p->path);
		return owner_silent(r, p, what);
	}
	err = peer_call(&h, &q, &data, why);
	/* Another version of meshd, which may serve it. */
	if (err == -EBADMSG)
		return req_fail(r, "%s; unexport %s there first (meshctl drive unexport)", why, p->path);
	if (err) {
		snprintf(what, sizeof(what), "host %s, which exported %s last, does not say whether it still "
			 "serves it: %s", h.name, p->path, why);
		return owner_silent(r, p, what);
	}
	serves = lists(data, &p->drive);
	json_decref(data);
	return serves ? req_fail(r, "host %s serves %s now, or its list of drives cannot be read: unexport "
				 "it there first (meshctl drive unexport)", h.name, p->path) : 0;
}

/* What a label that another host wrote last requires. */
static int theirs_verdict(struct req *r, const struct probe *p)
{
	char owner[MUUID_TEXT];

	muuid_text(&p->owner, owner);
	if (!arg_bool(r, "take_over"))
		return req_fail(r, "%s was exported last by host %s, which may be serving it now; "
				"unexport it there (meshctl drive unexport), then add --take-over. "
				"Two hosts that serve one drive destroy what is on it", p->path, owner);
	if (p->network[0] && !arg_bool(r, "force"))
		return req_fail(r, "%s is on a network (%s): what host %s wrote may arrive later yet; "
				"when that host is off, add --force", p->path, p->network, owner);
	return query_owner(r, p, owner);
}

/*
 * A copy has all of the label, and nothing of what its members were given since: a group takes it
 * for a member that missed no more than was noted. What another host has had since is not noted here.
 */
static bool is_copy(const struct probe *p)
{
	struct twin_id was;

	return p->verdict != PROBE_THEIRS && !device_noted(&p->drive, &was) &&
	       twin_match(&was, &p->id) == TWIN_DIFFERS;
}

static int label_verdict(struct req *r, const struct probe *p)
{
	struct tdrive *d;
	u64 newer;

	if (!export_cluster_ok(p->label) && !arg_bool(r, "take_over"))
		return req_fail(r, "%s belongs to another cluster: set that cluster's key first (meshctl "
				"host key set), or add --take-over to have it belong to this one", p->path);
	d = tdrive_find(&p->drive);
	if (d && tdrive_is(d, &d->ending)) {
		req_fail(r, "%s: its last use as a drive has not ended yet; try again in a while", p->path);
		tdrive_put(d);
		return -1;
	}
	if (d) {
		req_fail(r, "%s has the same label as %s, which is exported: a copy of it, or a second "
			 "path to it; unplug it, or wipe a copy's first and last MiB (dd)",
			 p->path, d->path);
		tdrive_put(d);
		return -1;
	}
	if (p->verdict == PROBE_THEIRS && theirs_verdict(r, p))
		return -1;
	newer = backup_newer(p->label);
	if (newer && !arg_bool(r, "as_is"))
		return req_fail(r, "the label of %s has sequence %llu, but %llu was written to it: an older "
				"state of the drive was put back, and volumes may mix it with newer data. "
				"Put the newer state back, or add --as-is to go on with this one",
				p->path, (unsigned long long)p->label->sequence,
				(unsigned long long)newer);
	if (is_copy(p) && !arg_bool(r, "as_is"))
		return req_fail(r, "%s is another device than the one that had this label last. A copy that was "
				"made while its volumes were in use lacks what was written since: of a mirror, "
				"raid10 or ec use volume replace instead. Add --as-is if it was copied out of use",
				p->path);
	if (p->label->size != p->size && !arg_bool(r, "as_is"))
		return req_fail(r, "%s has %llu bytes, its label says %llu: has it grown, or is it a copy "
				"of a smaller one? If it is the drive itself, add --as-is",
				p->path, (unsigned long long)p->size,
				(unsigned long long)p->label->size);
	return 0;
}

static int export_verdict(struct req *r, const struct probe *p)
{
	if (p->verdict == PROBE_USED || p->verdict == PROBE_UNFIT)
		return req_fail(r, "%s cannot be exported: %s", p->path, p->why);
	if (p->unserved[0])
		return req_fail(r, "%s cannot be exported: %s", p->path, p->unserved);
	if (p->verdict == PROBE_NETWORK && !arg_bool(r, "force"))
		return req_fail(r, "%s %s; add --force to export it nevertheless", p->path, p->why);
	if (p->verdict == PROBE_FOREIGN && !arg_bool(r, "force"))
		return req_fail(r, "%s %s; add --force to erase it, or wipe it yourself", p->path,
				p->why);
	if (p->verdict == PROBE_DAMAGED && !arg_bool(r, "erase_label"))
		return req_fail(r, "%s %s: it was a drive with a label, and volumes may have data on it; repair "
				"that, or add --erase-label to lose all that is on it", p->path, p->why);
	return p->label ? label_verdict(r, p) : 0;
}

static void export_result(struct req *r, struct tdrive *d)
{
	struct mgmt_drive m;

	tdrive_describe(d, &m);
	r->result = mgmt_drive_pack(&m);
}

static int export_dry(struct req *r, const struct probe *p)
{
	json_t *j;

	dry_begin(r);
	if (p->label) {
		req_note(r, "%s would be taken up again with all that is on it: %s", p->path, p->why);
	} else if (p->verdict == PROBE_FOREIGN || p->verdict == PROBE_DAMAGED) {
		j = req_destroys(r, "drive", p->path);
		jset_str(j, "model", p->id.model);
		jset_str(j, "serial", p->id.serial);
		jset_str(j, "reason", p->why);
		jset_u64(j, "bytes", p->size);
		req_note(r, "%s %s: all of that would be lost", p->path, p->why);
	} else if (p->verdict == PROBE_NETWORK) {
		req_note(r, "%s carries nothing that is recognised and would be exported, although it %s",
			 p->path, p->why);
	} else {
		req_note(r, "%s carries nothing that is recognised and would be exported; anything else on it "
			 "is lost to the volumes that are made there", p->path);
	}
	return 0;
}

static void export_errors(struct req *r, int err, const char *path)
{
	if (r->error[0] || !err)
		return;
	if (err == -ENOPKG)
		req_fail(r, "%s cannot be exported: meshtgt is not loaded (modprobe meshtgt); nothing "
			 "was written", path);
	else if (err == -ETIMEDOUT)
		req_fail(r, "%s does not answer; check the drive (dmesg), then see meshctl drive list",
			 path);
	else if (err == -EBUSY)
		req_fail(r, "%s: its last use as a drive has not ended yet; try again in a while", path);
	else if (err == -ETXTBSY)
		req_fail(r, "%s cannot be exported: another program or driver holds it now; nothing was "
			 "written", path);
	else if (err == -EEXIST)
		req_fail(r, "%s cannot be exported: a drive with the same label is served from another device; "
			 "unplug the copy, or end that use first (meshctl drive unexport)", path);
	else if (err == -EROFS)
		req_fail(r, "%s was exported before, and what %s/labels keeps of that cannot be set aside "
			 "(see the log of meshd); nothing was written", path, D.state);
	else if (err == -ESTALE)
		req_fail(r, "%s is another device now than a moment ago; nothing was written", path);
	else if (err == -EBADE)
		req_fail(r, "%s: its label changes while it is taken up: another host or program writes "
			 "to it", path);
	else
		req_fail(r, "%s cannot be exported: %s (see the log of meshd); it is left as it was",
			 path, strerror(-err));
}

/* The threads of an export before this one may need a moment to end. */
static int take_patiently(struct probe *p, const struct take_how *how, struct tdrive **d)
{
	struct probe again = *p;
	int err, i;

	for (i = 0;; i++) {
		again.label = p->label ? malloc(sizeof(*p->label)) : NULL;
		if (p->label && !again.label)
			return -ENOMEM;
		if (p->label)
			memcpy(again.label, p->label, sizeof(*p->label));
		err = take_up(&again, how, d);
		if (err != -EBUSY || i == 50 || stopping())
			return err;
		sleep_ms(100);
	}
}

static int export_probed(struct req *r, struct probe *p, struct tdrive **d)
{
	struct take_how how = { .by_hand = true, .over = arg_bool(r, "take_over"),
				.grow = p->label && p->label->size != p->size,
				.fresh = !p->label };

	if (p->verdict == PROBE_EXPORTED) {
		*d = tdrive_by_path(p->path);
		if (*d && (*d)->local)
			return req_fail(r, "%s is a local drive, and never both; volumes of this host alone use it: "
					"delete them first", p->path);
		if (*d && tdrive_is(*d, &(*d)->leaving))
			return req_fail(r, "%s is being unexported; export it again when that is over",
					p->path);
		req_note(r, "%s is exported already", p->path);
		return 0;
	}
	if (p->partition && !(p->label && p->label->flags & LABEL_F_LOCAL))
		return req_fail(r, "%s cannot be exported: a partition: export the whole drive", p->path);
	if (export_verdict(r, p))
		return -1;
	if (arg_bool(r, "dry_run"))
		return export_dry(r, p);
	if (p->label)
		req_note(r, "%s was exported before: taken up again with all that is on it", p->path);
	return take_patiently(p, &how, d);
}

int cmd_drive_export(struct req *r)
{
	const char *path = arg_str(r, "path");
	struct tdrive *d = NULL;
	struct probe p;
	int err;

	if (!D.listen)
		return req_fail(r, "this meshd runs without the target role (--no-target, or target = no in "
				"/etc/meshblk/meshd.conf): it exports no drives");
	if (path[0] != '/')
		return req_usage(r, "name a device, such as /dev/nvme0n1");
	if (!export_lock_for(r))
		return -1;
	err = take_probe(path, &p);
	if (err == -ETIMEDOUT)
		req_fail(r, "%s does not answer; nothing is done with it", path);
	else if (err)
		req_fail(r, "%s: %s", path, err == -ENOTBLK ? "not a block device" : strerror(-err));
	else
		err = export_probed(r, &p, &d);
	probe_clear(&p);
	pthread_mutex_unlock(&export_lock);
	export_errors(r, err, path);
	if (!r->error[0] && d) {
		export_result(r, d);
		spare_again();
	}
	tdrive_put(d);
	/* Which of several devices is the drive is decided now. */
	export_rescan();
	return r->error[0] ? -1 : 0;
}
