// SPDX-License-Identifier: GPL-2.0-only
/* Layout records to all members, then the layout to the kernel. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "userspace/meshd/crash.h"
#include "userspace/meshd/volume.h"

#define LINEAR_STRIP	65536	/* of no meaning there, but one is asked for */

static void fill_member(const struct store_volume *v, const struct layout *l, u32 i, u32 target,
			struct mesh_member *out)
{
	const struct layout_member *mb = &l->member[i];

	*out = (struct mesh_member) {
		.kind = MESHBLK_KIND_RDDA, .target_id = target, .extent = mb->extent,
		.drive = mb->drive, .generation = l->version, .preempt = v->preempt,
		.size = mb->size,
	};
}

/* A host that the store has forgotten is in the record: address and UUID. */
static int member_host(const struct layout_member *mb, struct store_host *h, char *why)
{
	struct mesh *m;
	int err;

	if (!peer_of_member(mb, h))
		return 0;
	memset(h, 0, sizeof(*h));
	h->uuid = mb->target;
	h->port = mb->port;
	snprintf(h->addr, sizeof(h->addr), "%s", mb->addr);
	snprintf(h->name, sizeof(h->name), "%s", mb->addr);
	err = mb->addr[0] ? store_host_put(h) : -ENOENT;
	if (err) {
		snprintf(why, REASON, "a member's host is not known; add it with meshctl host add");
		return err;
	}
	m = mesh_open();
	err = m ? mesh_target_set(m, h->id, h->addr, h->port, &h->uuid) : -ENOMEM;
	if (err)
		snprintf(why, REASON, "host %s: %.150s", h->addr, m ? mesh_why(m) : "no memory");
	mesh_close(m);
	return err;
}

static int fill_segment(const struct layout *l, u32 i, struct mesh_segment *out)
{
	const struct layout_segment *s = &l->segment[i];
	u32 k;

	*out = (struct mesh_segment) {
		.start = s->start, .length = s->length, .level = s->level,
		.strip = s->strip ? s->strip : LINEAR_STRIP, .data = s->data,
		.parity = s->parity, .groups = s->groups, .nr_places = s->refs,
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

int commit_build(const struct store_volume *v, const struct layout *l, struct mesh_volume *out,
		 char *why)
{
	struct store_host h;
	int err = 0;
	u32 i;

	*out = (struct mesh_volume) {
		.uuid = l->volume, .version = l->version, .size = l->size, .lba = l->lba,
		.readonly = v->readonly, .nr_members = l->members, .nr_segments = l->segments,
	};
	snprintf(out->name, sizeof(out->name), "%s", l->name);
	out->members = calloc(l->members, sizeof(*out->members));
	out->segments = calloc(l->segments, sizeof(*out->segments));
	if (!out->members || !out->segments)
		err = -ENOMEM;
	for (i = 0; i < l->members && !err; i++) {
		err = member_host(&l->member[i], &h, why);
		fill_member(v, l, i, h.id, &out->members[i]);
	}
	for (i = 0; i < l->segments && !err; i++)
		err = fill_segment(l, i, &out->segments[i]);
	if (err == -ENOMEM)
		snprintf(why, REASON, "out of memory");
	if (err)
		mesh_volume_free(out);
	return err;
}

/* Copy 0 is durable before copy 1 is begun: one of them is always whole. */
static int write_records(struct mesh *m, const struct mesh_volume *mv, const struct layout *l,
			 char *why)
{
	struct store_host h;
	size_t bytes;
	int n, copy, err = 0;
	u32 i;
	u8 *buf;

	if (posix_memalign((void **)&buf, 4096, LAYOUT_COPY_BYTES))
		return -ENOMEM;
	memset(buf, 0, LAYOUT_COPY_BYTES);
	n = layout_encode(l, buf, LAYOUT_COPY_BYTES);
	bytes = ((size_t)n + 4095) / 4096 * 4096;
	for (i = 0; i < mv->nr_members && n > 0 && !err; i++) {
		for (copy = 0; copy < LAYOUT_COPIES && !err; copy++)
			err = mesh_meta_write(m, &mv->uuid, &mv->members[i],
					      (u64)copy * LAYOUT_COPY_BYTES, buf, bytes);
		if (!i && !err)
			crash_point(CRASH_RECORD_FIRST);
	}
	free(buf);
	if (n < 0) {
		snprintf(why, REASON, "the layout is not valid");
		return n;
	}
	if (err && !peer_of_member(&l->member[i - 1], &h))
		snprintf(why, REASON, "the layout record cannot be written on host %s: %.120s", h.name,
			 mesh_why(m));
	return err;
}

int commit_probe(const struct store_volume *v, const struct layout *l, char *why)
{
	struct store_volume asking = *v;
	struct mesh *m = mesh_open();
	struct mesh_volume mv;
	struct store_host h;
	int err, away = 0, worst = 0;
	u8 buf[4096];
	u32 i;

	asking.preempt = false;
	err = m ? commit_build(&asking, l, &mv, why) : -ENOMEM;
	if (err) {
		mesh_close(m);
		return err;
	}
	/* Each that is away takes its time to say so; two tell enough. */
	for (i = 0; i < mv.nr_members && away < 2 && worst != -EBUSY && worst != -ESTALE; i++) {
		err = mesh_meta_read(m, &mv.uuid, &mv.members[i], 0, buf, sizeof(buf));
		if (!err)
			continue;
		away += err != -EBUSY && err != -ESTALE;
		worst = err;
		snprintf(why, REASON, "host %s: %.150s", peer_of_member(&l->member[i], &h) ?
			 l->member[i].addr : h.name, mesh_why(m));
	}
	mesh_volume_free(&mv);
	mesh_close(m);
	return worst;
}

int kernel_volume(const struct muuid *uuid, struct mesh_volume *out)
{
	struct mesh *m = mesh_open();
	int err = m ? mesh_volume_get(m, uuid, out) : -ENOMEM;

	mesh_close(m);
	return err;
}

void kernel_device(const struct muuid *uuid, char *out, size_t size)
{
	struct mesh_volume v;

	out[0] = 0;
	if (kernel_volume(uuid, &v))
		return;
	if (v.disk[0] && strcmp(v.state, "opening"))
		snprintf(out, size, "/dev/%s", v.disk);
	mesh_volume_free(&v);
}

static const char *member_words(const struct mesh_member *m)
{
	switch (m->error) {
	case -EBUSY:
		return "is held by another host; add --force to take it";
	case -ESTALE:
		return "knows a newer layout; import the volume";
	default:
		return "cannot be opened yet";
	}
}

/* The first member that cannot come up. The kernel opens all or none, so ask. */
static void members_why(const struct mesh_volume *v, char *why)
{
	char drive[MUUID_TEXT], asked[REASON];
	struct mgmt_extent e;
	struct store_host *hosts;
	size_t k, n;
	u32 i;
	int err;

	snprintf(why, REASON, "its members do not come up: %.150s",
		 v->reason[0] ? v->reason : "see meshctl host list");
	store_hosts(&hosts, &n);
	for (i = 0; i < v->nr_members && !v->reason[0]; i++) {
		const struct mesh_member *m = &v->members[i];

		for (k = 0; k < n && hosts[k].id != m->target_id; k++)
			;
		if (!strcmp(m->state, "up") || k == n)
			continue;
		muuid_text(&m->drive, drive);
		err = peer_extent(&hosts[k], &m->extent, &e, asked);
		if (err && err != -ENOENT) {
			snprintf(why, REASON, "%s", asked);
			break;
		}
		snprintf(why, REASON, "drive %s of host %s %s", drive, hosts[k].name,
			 err ? "is not lent there" : member_words(m));
		if (err || m->error == -EBUSY || m->error == -ESTALE)
			break;
	}
	free(hosts);
}

static int wait_active(const struct muuid *uuid, unsigned int ms, char *why)
{
	u64 until = now_ms() + ms;
	struct mesh_volume v;
	bool over;
	char path[48];
	int err;

	for (;;) {
		err = kernel_volume(uuid, &v);
		if (err) {
			snprintf(why, REASON, "the kernel has lost it: %s", strerror(-err));
			return err;
		}
		snprintf(path, sizeof(path), "/dev/%s", v.disk);
		err = v.error ? v.error : -ETIMEDOUT;
		if (!strcmp(v.state, "active") && v.disk[0] && !access(path, F_OK))
			err = 0;
		over = !err || now_ms() >= until || stopping();
		if (err && over)
			members_why(&v, why);
		mesh_volume_free(&v);
		if (over)
			return err;
		sleep_ms(50);
	}
}

static int push_kernel(struct mesh *m, struct store_volume *v, const struct mesh_volume *mv,
		       unsigned int wait_ms, char *why)
{
	struct mesh_volume have;
	bool there, active = false;
	int err;

	there = !mesh_volume_get(m, &v->uuid, &have);
	if (there) {
		active = !strcmp(have.state, "active");
		mesh_volume_free(&have);
	}
	if (!there || have.version < mv->version) {
		err = mesh_volume_set(m, mv);
		if (err) {
			snprintf(why, REASON, "the kernel refuses it: %s", mesh_why(m));
			return err;
		}
		crash_point(CRASH_KERNEL);
	}
	err = wait_ms ? wait_active(&v->uuid, wait_ms, why) : 0;
	if (!err && v->preempt && (wait_ms || active)) {
		v->preempt = false;
		store_volume_flags(v);
	}
	return err;
}

int commit_volume(const struct muuid *uuid, unsigned int wait_ms, char *why)
{
	struct layout *l = malloc(sizeof(*l));
	struct mesh *m = mesh_open();
	struct mesh_volume mv;
	struct store_volume v;
	int err;

	snprintf(why, REASON, "out of memory");
	err = l && m ? store_volume_get(uuid, &v, l) : -ENOMEM;
	if (!err)
		err = commit_build(&v, l, &mv, why);
	if (err)
		goto out;
	if (v.recorded < v.version) {
		err = write_records(m, &mv, l, why);
		if (!err) {
			crash_point(CRASH_RECORD_ALL);
			v.recorded = v.version;
			err = store_volume_flags(&v);
		}
	}
	if (!err && v.attached)
		err = push_kernel(m, &v, &mv, wait_ms, why);
	mesh_volume_free(&mv);
out:
	mesh_close(m);
	free(l);
	return err;
}
