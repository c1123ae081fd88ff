// SPDX-License-Identifier: GPL-2.0-only
/* A layout to the kernel, and what the kernel says of it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "userspace/meshd/crash.h"
#include "userspace/meshd/local.h"
#include "userspace/meshd/volume.h"


/* A host that the store has forgotten is in the record: address and UUID. */
static int member_host(const struct layout_member *mb, struct store_host *h, char *why)
{
	struct mesh *m __free(mesh_close) = NULL;
	int err = peer_of_member(mb, h);

	if (!err)
		return 0;
	if (err != -ENOENT) {
		snprintf(why, REASON, "%s", store_words(err));
		return err;
	}
	memset(h, 0, sizeof(*h));
	h->uuid = mb->target;
	h->port = mb->port;
	snprintf(h->addr, sizeof(h->addr), "%s", mb->addr);
	snprintf(h->name, sizeof(h->name), "%s", mb->addr);
	if (!mb->addr[0]) {
		snprintf(why, REASON, "a member's host is not known; add it with meshctl host add");
		return -ENOENT;
	}
	err = store_host_put(h);
	if (err) {
		snprintf(why, REASON, "%s", store_unwritten(err));
		return err;
	}
	m = mesh_open();
	err = m ? meshblk_target_set(m, h->id, h->addr, h->port, &h->uuid) : -ENOMEM;
	if (err)
		snprintf(why, REASON, "host %s: %.150s", h->addr, m ? mesh_why(m) : "no memory");
	return err;
}

/*
 * The only extent of a drive begins behind the first copy of its label. One that no host shows is
 * away, whatever host it was in last: a group's rosters, and stale, say whether it does without.
 */
static int fill_local(const struct layout *l, u32 i, const struct store_host *shows,
		      struct meshblk_member *out, char *why)
{
	const struct layout_member *mb = &l->member[i];
	char host[HOST_WORDS];

	out->kind = MESHBLK_KIND_BDEV;
	out->start = LABEL_AREA;
	if (muuid_equal(shows ? &shows->uuid : &mb->target, &D.host) || (!shows && layout_protected(l)))
		return 0;
	host_words(shows ? &shows->uuid : &mb->target, host);
	if (shows)
		snprintf(why, REASON, "member %u is a local drive of %s: attach the volume there", i, host);
	else
		snprintf(why, REASON, "member %u is local drive %s, last of %s, and no host shows it: bring it here",
			 i, muuid_str(&mb->drive).s, host);
	return -EREMOTE;
}

/*
 * Each member is opened at the version of its own label: no host may invent one. What
 * was not seen is at the layout's, or will be refused.
 */
static int fill_member(const struct layout *l, u32 i, const struct kernel_set *o,
		       struct meshblk_member *out, char *why)
{
	const struct layout_member *mb = &l->member[i];
	const struct found *f = o->g ? gather_find(o->g, &mb->extent) : NULL;
	struct store_host h;
	int err;

	*out = (struct meshblk_member) {
		.kind = MESHBLK_KIND_RDDA, .extent = mb->extent, .drive = mb->drive,
		.version = f ? f->e.version : l->version, .preempt = o->preempt,
		.size = mb->size,
	};
	if (f && f->e.version < l->version && o->written)
		out->version = l->version;
	if (mb->kind == LAYOUT_KIND_BDEV)
		return fill_local(l, i, f ? &o->g->hosts[f->host] : NULL, out, why);
	if (f) {
		out->target_id = o->g->hosts[f->host].id;
		return 0;
	}
	err = member_host(mb, &h, why);
	out->target_id = h.id;
	return err;
}

static int fill_segment(const struct layout *l, u32 i, struct meshblk_segment *out)
{
	const struct layout_segment *s = &l->segment[i];
	u32 k;

	*out = (struct meshblk_segment) {
		.start = s->start, .length = s->length, .level = s->level,
		.strip = s->strip ? s->strip : LAYOUT_NO_STRIP, .data = s->data,
		.parity = s->parity, .groups = s->groups, .nr_places = s->refs, .fresh = s->fresh,
	};
	out->members = calloc(s->refs, sizeof(*out->members));
	out->offsets = calloc(s->refs, sizeof(*out->offsets));
	if (!out->members || !out->offsets)
		return -ENOMEM;
	for (k = 0; k < s->refs; k++) {
		out->members[k] = l->ref[s->first_ref + k].member;
		out->offsets[k] = l->ref[s->first_ref + k].offset;
	}
	return 0;
}

/* Above what the labels have; the kernel, which reads the rosters, goes on from there. */
static u64 attach_number(const struct gather *g)
{
	u64 highest = 0;
	size_t i;

	for (i = 0; g && i < g->nr_found; i++)
		if (g->found[i].e.attach > highest)
			highest = g->found[i].e.attach;
	return highest + 1;
}

static int build(const struct store_volume *v, const struct layout *l, const struct kernel_set *o,
		 struct meshblk_volume *out, char *why)
{
	int err = 0;
	u32 i;

	*out = (struct meshblk_volume) {
		.uuid = l->volume, .version = l->version, .size = l->size, .lba = l->lba,
		.readonly = v->readonly, .io_timeout_ms = v->io_timeout_ms,
		.nr_members = l->members, .nr_segments = l->segments,
	};
	snprintf(out->name, sizeof(out->name), "%s", v->name);
	if (layout_protected(l)) {
		out->salt = l->salt;
		out->attach = attach_number(o->g);
		out->stale = o->stale;
	}
	out->members = calloc(l->members, sizeof(*out->members));
	out->segments = calloc(l->segments, sizeof(*out->segments));
	if (!out->members || !out->segments)
		err = -ENOMEM;
	for (i = 0; i < l->members && !err; i++)
		err = fill_member(l, i, o, &out->members[i], why);
	for (i = 0; i < l->segments && !err; i++)
		err = fill_segment(l, i, &out->segments[i]);
	if (err == -ENOMEM)
		snprintf(why, REASON, "out of memory");
	if (err)
		meshblk_volume_free(out);
	return err;
}

int kernel_volume(const struct muuid *uuid, struct meshblk_volume *out)
{
	struct mesh *m __free(mesh_close) = mesh_open();

	return m ? meshblk_volume_get(m, uuid, out) : -ENOMEM;
}

void kernel_device(const struct muuid *uuid, char *out, size_t size)
{
	struct meshblk_volume v;

	out[0] = 0;
	if (!kernel_head(uuid, &v) && v.disk[0] && strcmp(v.state, MESHBLK_STATE_OPENING))
		snprintf(out, size, "/dev/%s", v.disk);
}

bool kernel_active(const struct muuid *uuid, u64 *version)
{
	struct meshblk_volume v;

	if (kernel_head(uuid, &v))
		return false;
	*version = v.version;
	return !strcmp(v.state, MESHBLK_STATE_ACTIVE);
}

/* What was set in sysfs applies to the next attach, too. */
void kernel_keep(struct store_volume *v)
{
	struct meshblk_volume k;

	if (!kernel_head(&v->uuid, &k) && k.io_timeout_ms)
		v->io_timeout_ms = k.io_timeout_ms;
}

int kernel_del(const struct muuid *uuid, bool force)
{
	struct mesh *m __free(mesh_close) = mesh_open();

	return m ? meshblk_volume_del(m, uuid, force) : -ENOMEM;
}

/* Local drives have no kernel that would have its opens noted. */
static int hold_locals(struct meshblk_volume *mv, char *why)
{
	struct meshblk_member *m;
	int err = 0;
	u32 i;

	for (i = 0; i < mv->nr_members && !err; i++) {
		m = &mv->members[i];
		if (m->kind == MESHBLK_KIND_BDEV)
			err = local_hold(m, mv->readonly, m->path, sizeof(m->path), why);
	}
	return err;
}

int kernel_set(struct store_volume *v, const struct layout *l, const struct kernel_set *o, char *why)
{
	struct mesh *m __free(mesh_close) = mesh_open();
	struct meshblk_volume mv;
	int err;

	kernel_keep(v);
	snprintf(why, REASON, "out of memory");
	err = m ? build(v, l, o, &mv, why) : -ENOMEM;
	if (err)
		return err;
	err = hold_locals(&mv, why);
	if (err) {
		meshblk_volume_free(&mv);
		return err;
	}
	err = meshblk_volume_set(m, &mv);
	if (err)
		snprintf(why, REASON, "the kernel refuses it: %s", mesh_why(m));
	else
		crash_point(CRASH_KERNEL);
	meshblk_volume_free(&mv);
	return err;
}

static const char *member_words(const struct meshblk_member *m)
{
	switch (m->error) {
	case -EBUSY:
		return "is held by another host; volume attach --preempt takes it";
	case -ESTALE:
		return "has another version of the layout now; try again";
	default:
		return "cannot be opened yet";
	}
}

/* The first member that cannot come up. The kernel opens all or none, so query each. */
static void members_why(const struct meshblk_volume *v, char *why)
{
	char reason[REASON];
	struct store_host *hosts __free(free) = NULL;
	struct mgmt_extent e;
	size_t k, n;
	u32 i;
	int err;

	snprintf(why, REASON, "its members do not come up: %.150s",
		 v->reason[0] ? v->reason : "see meshctl host list");
	if (store_hosts(&hosts, &n))
		return;
	for (i = 0; i < v->nr_members; i++) {
		const struct meshblk_member *m = &v->members[i];

		/* what a group says of members that are missing is less than why one was refused */
		if (v->reason[0] && m->error != -EBUSY && m->error != -ESTALE)
			continue;
		if (m->kind == MESHBLK_KIND_BDEV && strcmp(m->state, MESHBLK_STATE_UP))
			snprintf(why, REASON, "the device of local drive %s %s", muuid_str(&m->drive).s,
				 local_lacks(m));
		for (k = 0; k < n && (m->kind == MESHBLK_KIND_BDEV || hosts[k].id != m->target_id); k++)
			;
		if (!strcmp(m->state, MESHBLK_STATE_UP) || k == n)
			continue;
		err = peer_extent(&hosts[k], &m->extent, &e, reason);
		if (err && err != -ENOENT) {
			snprintf(why, REASON, "%s", reason);
			return;
		}
		snprintf(why, REASON, "drive %s of host %s %s", muuid_str(&m->drive).s, hosts[k].name,
			 err ? "is not exported there" : member_words(m));
		if (err || m->error == -EBUSY || m->error == -ESTALE)
			return;
	}
}

/* A refusal explains more than a timeout. */
static int member_error(const struct meshblk_volume *v, int err)
{
	u32 i;

	for (i = 0; i < v->nr_members; i++)
		if (v->members[i].error == -EBUSY || v->members[i].error == -ESTALE)
			return v->members[i].error;
	return err;
}

/* A group has waited for more members, and may not be attached with those that are here. */
static bool groups_refused(const struct meshblk_volume *v)
{
	u32 i;

	for (i = 0; i < v->nr_groups; i++)
		if (v->groups[i].error && !strcmp(v->groups[i].state, MESHBLK_STATE_OPENING))
			return true;
	return false;
}

bool kernel_refuses(const struct muuid *uuid)
{
	struct meshblk_volume v;
	bool is;

	if (kernel_volume(uuid, &v))
		return false;
	is = groups_refused(&v);
	meshblk_volume_free(&v);
	return is;
}

int kernel_wait(const struct muuid *uuid, unsigned int ms, char *why)
{
	u64 until = now_ms() + ms;
	struct meshblk_volume v;
	char path[48];
	bool over;
	int err;

	for (;;) {
		err = kernel_volume(uuid, &v);
		if (err) {
			snprintf(why, REASON, "the kernel has lost it: %s", strerror(-err));
			return err;
		}
		snprintf(path, sizeof(path), "/dev/%s", v.disk);
		err = v.error ? v.error : -ETIMEDOUT;
		/* Groups of a segment that is new come up behind the others. */
		if (!strcmp(v.state, MESHBLK_STATE_ACTIVE) && v.disk[0] && !access(path, F_OK) &&
		    volume_health(&v) != HEALTH_DOWN)
			err = 0;
		over = !err || now_ms() >= until || stopping() || groups_refused(&v);
		if (err && over) {
			members_why(&v, why);
			err = member_error(&v, err);
		}
		meshblk_volume_free(&v);
		if (over)
			return err;
		sleep_ms(50);
	}
}
