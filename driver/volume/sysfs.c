// SPDX-License-Identifier: GPL-2.0-only
/*
 * /sys/block/meshN/mesh/: attributes of the volume, its members, its tunables.
 *
 *   uuid name epoch state number fenced_by layout size inflight queue_depth io_timeout_ms
 *   degraded sync_action sync_completed sync_min sync_max mismatches skipped
 *   counters/    joined folded full_stripes ...
 *   members/<i>/ uuid kind state error path reads ...
 *
 * No code here takes vol->lock, under which directories come and go: readers pin the layout as
 * requests do.
 */
#define pr_fmt(fmt) "meshblk: " fmt
#include <linux/kobject.h>
#include <linux/slab.h>
#include <linux/sysfs.h>

#include "driver/group/group.h"
#include "driver/uapi/number.h"
#include "driver/volume/volume.h"

/* A directory of a volume. */
struct mesh_dir {
	struct kobject		kobj;
	struct mesh_volume	*vol;	/* a counted reference */
	u32			index;	/* of a member, in members/<i> */
};

static void mesh_dir_release(struct kobject *kobj)
{
	struct mesh_dir *d = container_of(kobj, struct mesh_dir, kobj);

	mesh_volume_put(d->vol);
	kfree(d);
}

/* An attribute of a volume. */
struct mesh_vol_attr {
	struct attribute attr;
	bool bare;	/* shown without a layout, too: of a fenced volume */
	ssize_t (*show)(struct mesh_volume *vol, struct mesh_layout *l, char *buf);
	int (*store)(struct mesh_volume *vol, const char *buf);
};

static ssize_t mesh_dir_show_vol(struct kobject *kobj, struct attribute *attr, char *buf)
{
	struct mesh_vol_attr *a = container_of(attr, struct mesh_vol_attr, attr);
	struct mesh_volume *vol = container_of(kobj, struct mesh_dir, kobj)->vol;
	struct mesh_layout *l = mesh_layout_pin(vol);
	ssize_t n;

	if (!l && !a->bare)
		return -ENODEV;
	n = a->show(vol, l, buf);
	if (l)
		mesh_layout_unpin(l);
	return n;
}

static ssize_t mesh_dir_store_vol(struct kobject *kobj, struct attribute *attr, const char *buf,
				  size_t n)
{
	struct mesh_vol_attr *a = container_of(attr, struct mesh_vol_attr, attr);

	return (a->store ? a->store(container_of(kobj, struct mesh_dir, kobj)->vol, buf) :
			   -EIO) ?: n;
}

static const struct sysfs_ops mesh_vol_ops = {
	.show = mesh_dir_show_vol,
	.store = mesh_dir_store_vol,
};

static ssize_t vol_uuid_show(struct mesh_volume *vol, struct mesh_layout *l, char *buf)
{
	return sysfs_emit(buf, "%pUb\n", &vol->conf.uuid);
}

static ssize_t vol_name_show(struct mesh_volume *vol, struct mesh_layout *l, char *buf)
{
	ssize_t n;

	mutex_lock(&vol->event_lock);
	n = sysfs_emit(buf, "%s\n", vol->conf.name);
	mutex_unlock(&vol->event_lock);
	return n;
}

static ssize_t vol_epoch_show(struct mesh_volume *vol, struct mesh_layout *l, char *buf)
{
	return sysfs_emit(buf, "%llu\n", l->epoch);
}

static ssize_t vol_state_show(struct mesh_volume *vol, struct mesh_layout *l, char *buf)
{
	return sysfs_emit(buf, "%s\n", mesh_volume_state_name(READ_ONCE(vol->state)));
}

/* GENERATION.COUNTER.RESTART */
static ssize_t vol_number_show(struct mesh_volume *vol, struct mesh_layout *l, char *buf)
{
	struct mesh_access_now now = mesh_access_get(vol);

	if (!now.numbered)
		return sysfs_emit(buf, "none\n");
	return sysfs_emit(buf, "%llu.%llu.%llu\n", mesh_number_generation(now.number),
			  mesh_number_counter(now.number), mesh_number_restart(now.number));
}

static ssize_t vol_fenced_by_show(struct mesh_volume *vol, struct mesh_layout *l, char *buf)
{
	uuid_t host;
	u64 number;

	if (!mesh_access_fenced(vol, &number, &host))
		return sysfs_emit(buf, "none\n");
	return sysfs_emit(buf, "%pUb %llu.%llu.%llu\n", &host, mesh_number_generation(number),
			  mesh_number_counter(number), mesh_number_restart(number));
}

static ssize_t vol_size_show(struct mesh_volume *vol, struct mesh_layout *l, char *buf)
{
	return sysfs_emit(buf, "%llu\n", l->prot->size);
}

/* One line a segment, as many as fit in a page: start length level strip members... */
static ssize_t vol_layout_show(struct mesh_volume *vol, struct mesh_layout *l, char *buf)
{
	u32 i, j;
	int n = 0;

	for (i = 0; i < l->prot->nr_segments; i++) {
		const struct prot_segment *s = prot_segments(l->prot) + i;

		n += sysfs_emit_at(buf, n, "%llu %llu %s strip=%u", s->start, s->length,
				   prot_level(s->level)->name, s->strip);
		for (j = 0; j < prot_segment_places(s); j++)
			n += sysfs_emit_at(buf, n, " %u+%llu",
					   prot_places(l->prot)[s->first + j].member,
					   prot_places(l->prot)[s->first + j].offset);
		n += sysfs_emit_at(buf, n, "\n");
	}
	return n;
}

static ssize_t vol_inflight_show(struct mesh_volume *vol, struct mesh_layout *l, char *buf)
{
	u64 sum = 0;
	u32 i;

	for (i = 0; i < l->nr; i++)
		sum += mesh_member_inflight(l->member_slots[i].member);
	return sysfs_emit(buf, "%llu\n", sum);
}

static ssize_t vol_queue_depth_show(struct mesh_volume *vol, struct mesh_layout *l, char *buf)
{
	return sysfs_emit(buf, "%u\n", vol->set.queue_depth);
}

static ssize_t vol_io_timeout_ms_show(struct mesh_volume *vol, struct mesh_layout *l, char *buf)
{
	return sysfs_emit(buf, "%u\n", jiffies_to_msecs(READ_ONCE(vol->timeout)));
}

static int vol_io_timeout_ms_store(struct mesh_volume *vol, const char *buf)
{
	unsigned int ms;

	if (kstrtouint(buf, 0, &ms) || ms < MESH_TIMEOUT_MS_MIN || ms > MESH_TIMEOUT_MS_MAX)
		return -EINVAL;
	mesh_disk_set_timeout(vol, ms);
	return 0;
}

static ssize_t vol_degraded_show(struct mesh_volume *vol, struct mesh_layout *l, char *buf)
{
	struct mesh_groups_sum s;

	mesh_groups_sum(l, &s);
	return sysfs_emit(buf, "%u\n", s.out);
}

static ssize_t vol_sync_action_show(struct mesh_volume *vol, struct mesh_layout *l, char *buf)
{
	struct mesh_groups_sum s;

	mesh_groups_sum(l, &s);
	return sysfs_emit(buf, "%s\n", !s.groups ? "none" : s.joining ? "recover" :
			  s.repair ? "repair" : s.scrubbing ? "check" : "idle");
}

static int vol_sync_action_store(struct mesh_volume *vol, const char *buf)
{
	struct mesh_scrub_conf conf = { .source = -1, .repair = sysfs_streq(buf, "repair") };
	struct mesh_layout *l;
	int err = 0;

	if (!conf.repair && !sysfs_streq(buf, "check") && !sysfs_streq(buf, "idle"))
		return -EINVAL;
	l = mesh_layout_pin(vol);
	if (!l)
		return -EBUSY;
	if (sysfs_streq(buf, "idle"))
		mesh_groups_scrub_stop(l);
	else
		err = mesh_groups_scrub(l, &conf, NULL);
	mesh_layout_unpin(l);
	return err;
}

static ssize_t vol_sync_completed_show(struct mesh_volume *vol, struct mesh_layout *l, char *buf)
{
	struct mesh_groups_sum s;

	mesh_groups_sum(l, &s);
	if (s.joining)
		return sysfs_emit(buf, "%llu / %llu\n", s.synced, s.synced + s.behind);
	if (s.scrubbing)
		return sysfs_emit(buf, "%llu / %llu\n", s.scrubbed, s.bytes);
	return sysfs_emit(buf, "none\n");
}

static int vol_speed_store(struct mesh_volume *vol, u32 *speed, const char *buf)
{
	struct mesh_layout *l;
	u32 mbs;

	if (kstrtou32(buf, 0, &mbs))
		return -EINVAL;
	WRITE_ONCE(*speed, mbs);
	l = mesh_layout_pin(vol);
	if (l) {
		/* else an idle group sees the change up to a second later */
		mesh_groups_wake(l);
		mesh_layout_unpin(l);
	}
	return 0;
}

static ssize_t vol_sync_min_show(struct mesh_volume *vol, struct mesh_layout *l, char *buf)
{
	return sysfs_emit(buf, "%u\n", READ_ONCE(vol->sync_min));
}

static int vol_sync_min_store(struct mesh_volume *vol, const char *buf)
{
	return vol_speed_store(vol, &vol->sync_min, buf);
}

static ssize_t vol_sync_max_show(struct mesh_volume *vol, struct mesh_layout *l, char *buf)
{
	return sysfs_emit(buf, "%u\n", READ_ONCE(vol->sync_max));
}

static int vol_sync_max_store(struct mesh_volume *vol, const char *buf)
{
	return vol_speed_store(vol, &vol->sync_max, buf);
}

static ssize_t vol_mismatches_show(struct mesh_volume *vol, struct mesh_layout *l, char *buf)
{
	struct mesh_groups_sum s;

	mesh_groups_sum(l, &s);
	return sysfs_emit(buf, "%llu\n", s.mismatches);
}

static ssize_t vol_skipped_show(struct mesh_volume *vol, struct mesh_layout *l, char *buf)
{
	struct mesh_groups_sum s;

	mesh_groups_sum(l, &s);
	return sysfs_emit(buf, "%llu\n", s.skipped);
}

#define MESH_VOL_RO(n) \
	static struct mesh_vol_attr vol_##n = { \
		.attr = { .name = #n, .mode = 0444 }, .show = vol_##n##_show }
#define MESH_VOL_BARE(n) \
	static struct mesh_vol_attr vol_##n = { \
		.attr = { .name = #n, .mode = 0444 }, .bare = true, .show = vol_##n##_show }
#define MESH_VOL_RW(n) \
	static struct mesh_vol_attr vol_##n = { \
		.attr = { .name = #n, .mode = 0644 }, \
		.show = vol_##n##_show, .store = vol_##n##_store }

MESH_VOL_BARE(uuid);
MESH_VOL_BARE(name);
MESH_VOL_RO(epoch);
MESH_VOL_BARE(state);
MESH_VOL_BARE(number);
MESH_VOL_BARE(fenced_by);
MESH_VOL_RO(size);
MESH_VOL_RO(layout);
MESH_VOL_RO(inflight);
MESH_VOL_RO(queue_depth);
MESH_VOL_RW(io_timeout_ms);
MESH_VOL_RO(degraded);
MESH_VOL_RW(sync_action);
MESH_VOL_RO(sync_completed);
MESH_VOL_RW(sync_min);
MESH_VOL_RW(sync_max);
MESH_VOL_RO(mismatches);
MESH_VOL_RO(skipped);

static struct attribute *mesh_vol_attrs[] = {
	&vol_uuid.attr, &vol_name.attr, &vol_epoch.attr, &vol_state.attr, &vol_number.attr,
	&vol_fenced_by.attr, &vol_size.attr,
	&vol_layout.attr, &vol_inflight.attr, &vol_queue_depth.attr, &vol_io_timeout_ms.attr,
	&vol_degraded.attr, &vol_sync_action.attr, &vol_sync_completed.attr,
	&vol_sync_min.attr, &vol_sync_max.attr, &vol_mismatches.attr, &vol_skipped.attr,
	NULL
};
ATTRIBUTE_GROUPS(mesh_vol);

static const struct kobj_type mesh_vol_type = {
	.release = mesh_dir_release,
	.sysfs_ops = &mesh_vol_ops,
	.default_groups = mesh_vol_groups,
};

/* A counter of a volume's groups. */
struct mesh_count_attr {
	struct attribute attr;
	size_t counter;		/* offset in struct mesh_groups_counts */
};

static ssize_t mesh_dir_show_count(struct kobject *kobj, struct attribute *attr, char *buf)
{
	struct mesh_count_attr *a = container_of(attr, struct mesh_count_attr, attr);
	struct mesh_layout *l = mesh_layout_pin(container_of(kobj, struct mesh_dir, kobj)->vol);
	struct mesh_groups_counts c;

	if (!l)
		return -ENODEV;
	mesh_groups_count(l, &c);
	mesh_layout_unpin(l);
	return sysfs_emit(buf, "%llu\n", *(u64 *)((void *)&c + a->counter));
}

static const struct sysfs_ops mesh_count_ops = {
	.show = mesh_dir_show_count,
};

#define MESH_COUNT(file, field) \
	static struct mesh_count_attr count_##file = { \
		.attr = { .name = #file, .mode = 0444 }, \
		.counter = offsetof(struct mesh_groups_counts, field) }

MESH_COUNT(joined, engine.joined);
MESH_COUNT(in_order, engine.in_order);
MESH_COUNT(folded, engine.folded);
MESH_COUNT(full_stripes, engine.full);
MESH_COUNT(partial_stripes, engine.partial);
MESH_COUNT(cached, engine.cached);
MESH_COUNT(bitmap_writes, engine.bitmap_writes);
MESH_COUNT(buffer_waits, engine.buffer_waits);
MESH_COUNT(ring_waits, engine.ring_waits);
MESH_COUNT(direct_reads, cpu.direct);
MESH_COUNT(engine_reads, engine_reads);
MESH_COUNT(redone_reads, redone);
MESH_COUNT(held, group.held);
MESH_COUNT(starved, group.starved);
MESH_COUNT(longest_wait_ms, group.wait_ms);
MESH_COUNT(longest_run_us, group.run_us);
MESH_COUNT(codec_vector, cpu.codec_vector);
MESH_COUNT(codec_portable, cpu.codec_portable);

static struct attribute *mesh_count_attrs[] = {
	&count_joined.attr, &count_in_order.attr, &count_folded.attr, &count_full_stripes.attr,
	&count_partial_stripes.attr, &count_cached.attr, &count_bitmap_writes.attr,
	&count_buffer_waits.attr, &count_ring_waits.attr, &count_direct_reads.attr,
	&count_engine_reads.attr,
	&count_redone_reads.attr, &count_held.attr, &count_starved.attr,
	&count_longest_wait_ms.attr, &count_longest_run_us.attr, &count_codec_vector.attr,
	&count_codec_portable.attr,
	NULL
};
ATTRIBUTE_GROUPS(mesh_count);

static const struct kobj_type mesh_count_type = {
	.release = mesh_dir_release,
	.sysfs_ops = &mesh_count_ops,
	.default_groups = mesh_count_groups,
};

/* An attribute of a member. */
struct mesh_member_attr {
	struct attribute attr;
	ssize_t (*show)(struct mesh_member *m, char *buf);
	size_t counter;		/* offset in struct mesh_member_stats, without @show */
};

static ssize_t mesh_dir_show_member(struct kobject *kobj, struct attribute *attr, char *buf)
{
	struct mesh_member_attr *a = container_of(attr, struct mesh_member_attr, attr);
	struct mesh_dir *d = container_of(kobj, struct mesh_dir, kobj);
	struct mesh_layout *l = mesh_layout_pin(d->vol);
	struct mesh_member_stats s;
	struct mesh_member *m;
	ssize_t n = -ENODEV;

	if (l && d->index < l->nr) {
		m = l->member_slots[d->index].member;
		if (a->show) {
			n = a->show(m, buf);
		} else {
			mesh_member_stats(m, &s);
			n = sysfs_emit(buf, "%llu\n", *(u64 *)((void *)&s + a->counter));
		}
	}
	if (l)
		mesh_layout_unpin(l);
	return n;
}

static const struct sysfs_ops mesh_member_sysfs_ops = {
	.show = mesh_dir_show_member,
};

static ssize_t member_uuid_show(struct mesh_member *m, char *buf)
{
	return sysfs_emit(buf, "%pUb\n", &m->conf.uuid);
}

static ssize_t member_kind_show(struct mesh_member *m, char *buf)
{
	return sysfs_emit(buf, "%s\n", m->ops->kind);
}

static ssize_t member_state_show(struct mesh_member *m, char *buf)
{
	return sysfs_emit(buf, "%s\n", mesh_member_state_name(READ_ONCE(m->state)));
}

static ssize_t member_error_show(struct mesh_member *m, char *buf)
{
	return sysfs_emit(buf, "%d\n", READ_ONCE(m->err));
}

static ssize_t member_path_show(struct mesh_member *m, char *buf)
{
	char path[MESH_PATH_MAX];

	if (m->conf.kind == MESHBLK_KIND_RDDA)
		return sysfs_emit(buf, "target %u drive %pUb\n", m->conf.target, &m->conf.drive);
	mesh_member_path(m, path);
	return sysfs_emit(buf, "%s\n", path);
}

static ssize_t member_inflight_show(struct mesh_member *m, char *buf)
{
	return sysfs_emit(buf, "%llu\n", mesh_member_inflight(m));
}

#define MESH_MEMBER_SHOW(n) \
	static struct mesh_member_attr member_##n = { \
		.attr = { .name = #n, .mode = 0444 }, .show = member_##n##_show }
#define MESH_MEMBER_COUNT(n) \
	static struct mesh_member_attr member_##n = { \
		.attr = { .name = #n, .mode = 0444 }, \
		.counter = offsetof(struct mesh_member_stats, n) }

MESH_MEMBER_SHOW(uuid);
MESH_MEMBER_SHOW(kind);
MESH_MEMBER_SHOW(state);
MESH_MEMBER_SHOW(error);
MESH_MEMBER_SHOW(path);
MESH_MEMBER_SHOW(inflight);
MESH_MEMBER_COUNT(reads);
MESH_MEMBER_COUNT(read_bytes);
MESH_MEMBER_COUNT(writes);
MESH_MEMBER_COUNT(write_bytes);
MESH_MEMBER_COUNT(discards);
MESH_MEMBER_COUNT(errors);
MESH_MEMBER_COUNT(retries);
MESH_MEMBER_COUNT(staged);
MESH_MEMBER_COUNT(stale);
MESH_MEMBER_COUNT(polled);

static struct attribute *mesh_member_attrs[] = {
	&member_uuid.attr, &member_kind.attr, &member_state.attr, &member_error.attr,
	&member_path.attr, &member_inflight.attr, &member_reads.attr,
	&member_read_bytes.attr, &member_writes.attr, &member_write_bytes.attr,
	&member_discards.attr, &member_errors.attr, &member_retries.attr,
	&member_staged.attr, &member_stale.attr, &member_polled.attr,
	NULL
};
ATTRIBUTE_GROUPS(mesh_member);

static const struct kobj_type mesh_member_type = {
	.release = mesh_dir_release,
	.sysfs_ops = &mesh_member_sysfs_ops,
	.default_groups = mesh_member_groups,
};

static struct kobject *mesh_dir_add(struct mesh_volume *vol, const struct kobj_type *type,
				    struct kobject *parent, u32 index, const char *name)
{
	struct mesh_dir *d = kzalloc(sizeof(*d), GFP_KERNEL);

	if (!d)
		return NULL;
	mesh_volume_get(vol);
	d->vol = vol;
	d->index = index;
	if (kobject_init_and_add(&d->kobj, (void *)type, parent, "%s", name)) {
		kobject_put(&d->kobj);
		return NULL;
	}
	return &d->kobj;
}

static struct kobject *mesh_dir_add_member(struct mesh_volume *vol, u32 index)
{
	char name[12];

	snprintf(name, sizeof(name), "%u", index);
	return mesh_dir_add(vol, &mesh_member_type, vol->members_dir, index, name);
}

static void mesh_dir_del(struct kobject *kobj)
{
	if (!kobj)
		return;
	kobject_del(kobj);
	kobject_put(kobj);
}

/*
 * Make one directory for each member. @vol: locked, with its disk added. A directory that cannot be
 * made matters to readers of sysfs only.
 */
void mesh_sysfs_members(struct mesh_volume *vol, u32 nr)
{
	struct kobject **dirs;
	u32 i;

	lockdep_assert_held(&vol->lock);
	if (!vol->members_dir || nr == vol->nr_members)
		return;
	dirs = kvcalloc(nr, sizeof(*dirs), GFP_KERNEL);
	if (!dirs)
		nr = 0;
	for (i = nr; i < vol->nr_members; i++)
		mesh_dir_del(vol->members[i]);
	for (i = 0; i < nr && i < vol->nr_members; i++)
		dirs[i] = vol->members[i];
	for (; i < nr; i++)
		dirs[i] = mesh_dir_add_member(vol, i);
	kvfree(vol->members);
	vol->members = dirs;
	vol->nr_members = nr;
}

/* Add the volume's directory below the directory of its disk. Called with vol->lock. */
void mesh_sysfs_add(struct mesh_volume *vol)
{
	struct mesh_layout *l = rcu_dereference_protected(vol->layout,
							  lockdep_is_held(&vol->lock));

	vol->kobj = mesh_dir_add(vol, &mesh_vol_type, &disk_to_dev(vol->disk)->kobj, 0, "mesh");
	if (vol->kobj) {
		vol->members_dir = kobject_create_and_add("members", vol->kobj);
		vol->counters_dir = mesh_dir_add(vol, &mesh_count_type, vol->kobj, 0, "counters");
	}
	if (l)
		mesh_sysfs_members(vol, l->nr);
}

void mesh_sysfs_remove(struct mesh_volume *vol)
{
	mesh_sysfs_members(vol, 0);
	kvfree(vol->members);
	vol->members = NULL;
	mesh_dir_del(vol->members_dir);
	mesh_dir_del(vol->counters_dir);
	mesh_dir_del(vol->kobj);
	vol->members_dir = NULL;
	vol->counters_dir = NULL;
	vol->kobj = NULL;
}
