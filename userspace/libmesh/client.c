// SPDX-License-Identifier: GPL-2.0-only
/* Family meshblk: identity, targets, volumes. Access numbers are in access.c. */
#include <asm/byteorder.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/libmesh/access.h"
#include "userspace/libmesh/secret.h"

int meshblk_identity_set(struct mesh *m, const struct muuid *host, const struct mesh_key *keys,
			 size_t nr_keys)
{
	struct nl_msg *msg;
	int err;

	msg = mesh_msg(m, MESH_BLK, MESHBLK_CMD_IDENTITY_SET, 0, 256, &err);
	if (!msg)
		return err;
	put_uuid(msg, MESHBLK_A_HOST_UUID, host);
	err = put_keys(m, msg, MESHBLK_A_KEY_ID, keys, nr_keys);
	return call_secret(m, MESH_BLK, msg, err);
}

int meshblk_target_set(struct mesh *m, u32 id, const char *addr, u16 port,
		       const struct muuid *expect)
{
	struct nl_msg *msg;
	int err;

	msg = mesh_msg(m, MESH_BLK, MESHBLK_CMD_TARGET_SET, 0, 0, &err);
	if (!msg)
		return err;
	nla_put_u32(msg, MESHBLK_A_TARGET_ID, id);
	nla_put_string(msg, MESHBLK_A_ADDR, addr);
	if (port)
		nla_put_u16(msg, MESHBLK_A_PORT, port);
	if (expect && !muuid_null(expect))
		put_uuid(msg, MESHBLK_A_HOST_UUID, expect);
	return mesh_call(m, MESH_BLK, msg, NULL, NULL);
}

int meshblk_target_del(struct mesh *m, u32 id)
{
	struct nl_msg *msg;
	int err;

	msg = mesh_msg(m, MESH_BLK, MESHBLK_CMD_TARGET_DEL, 0, 0, &err);
	if (!msg)
		return err;
	nla_put_u32(msg, MESHBLK_A_TARGET_ID, id);
	return mesh_call(m, MESH_BLK, msg, NULL, NULL);
}

static void parse_target(struct nlattr **tb, struct meshblk_target *t)
{
	t->id = get_u32(tb[MESHBLK_A_TARGET_ID]);
	get_uuid(tb[MESHBLK_A_HOST_UUID], &t->host);
	get_str(tb[MESHBLK_A_ADDR], t->addr, sizeof(t->addr));
	t->port = get_u32(tb[MESHBLK_A_PORT]);
	get_str(tb[MESHBLK_A_STATE], t->state, sizeof(t->state));
	t->error = get_s32(tb[MESHBLK_A_ERROR]);
	get_str(tb[MESHBLK_A_REASON], t->reason, sizeof(t->reason));
	t->session = get_u32(tb[MESHBLK_A_SESSION]);
	t->channels = get_u32(tb[MESHBLK_A_CHANNELS]);
	t->arena = get_u64(tb[MESHBLK_A_ARENA]);
	get_stats(tb[MESHBLK_A_STATS], &t->stats);
}

static int on_target(void *arg, struct nlattr **tb, struct nlmsghdr *h)
{
	struct mesh_list *l = arg;
	struct meshblk_target *t = mesh_grow(&l->array, &l->n, sizeof(*t));

	(void)h;
	if (!t)
		return -ENOMEM;
	parse_target(tb, t);
	return 0;
}

int meshblk_targets(struct mesh *m, struct meshblk_target **out, size_t *n)
{
	struct mesh_list l;
	int err = mesh_dump(m, MESH_BLK, MESHBLK_CMD_TARGET_GET, on_target, &l);

	if (err) {
		free(l.array);
		l = (struct mesh_list) { NULL, 0 };
	}
	*out = l.array;
	*n = l.n;
	return err;
}

int meshblk_target_get(struct mesh *m, u32 id, struct meshblk_target *out)
{
	struct meshblk_target *all;
	size_t i, n;
	int err = meshblk_targets(m, &all, &n);

	for (i = 0; i < n && all[i].id != id; i++)
		;
	if (i < n)
		*out = all[i];
	else if (!err)
		err = -ENOENT;
	free(all);
	return err;
}

void put_member(struct nl_msg *msg, const struct meshblk_member *mb)
{
	nla_put_u8(msg, MESHBLK_M_KIND, mb->kind);
	put_uuid(msg, MESHBLK_M_EXTENT_UUID, &mb->extent);
	if (mb->kind == MESHBLK_KIND_RDDA) {
		nla_put_u32(msg, MESHBLK_M_TARGET_ID, mb->target_id);
		put_uuid(msg, MESHBLK_M_DRIVE_UUID, &mb->drive);
		nla_put_u64(msg, MESHBLK_M_EPOCH, mb->version);
		if (mb->preempt)
			nla_put_flag(msg, MESHBLK_M_PREEMPT);
	}
	if (mb->kind == MESHBLK_KIND_BDEV) {
		put_uuid(msg, MESHBLK_M_DRIVE_UUID, &mb->drive);
		nla_put_u64(msg, MESHBLK_M_START, mb->start);
		if (mb->path[0])
			nla_put_string(msg, MESHBLK_M_PATH, mb->path);
	}
	if (mb->kind == MESHBLK_KIND_MEM && mb->lba)
		nla_put_u32(msg, MESHBLK_M_LBA, mb->lba);
	nla_put_u64(msg, MESHBLK_M_SIZE, mb->size);
}

static void put_members(struct nl_msg *msg, const struct meshblk_volume *v)
{
	struct nlattr *table = NULL, *nest;
	u32 i;

	for (i = 0; i < v->nr_members; i++) {
		table = table_piece(msg, table, MESHBLK_A_MEMBERS, i);
		nest = nla_nest_start(msg, NLA_F_NESTED | MESHBLK_A_MEMBER);
		put_member(msg, &v->members[i]);
		nla_nest_end(msg, nest);
	}
	if (table)
		nla_nest_end(msg, table);
}

static void put_segment(struct nl_msg *msg, const struct meshblk_segment *s)
{
	nla_put_u64(msg, MESHBLK_G_START, s->start);
	nla_put_u64(msg, MESHBLK_G_LENGTH, s->length);
	nla_put_u8(msg, MESHBLK_G_LEVEL, s->level);
	nla_put_u32(msg, MESHBLK_G_STRIP, s->strip);
	nla_put_u8(msg, MESHBLK_G_DATA, s->data);
	nla_put_u8(msg, MESHBLK_G_PARITY, s->parity);
	nla_put_u16(msg, MESHBLK_G_GROUPS, s->groups);
	nla_put(msg, MESHBLK_G_MEMBERS, s->nr_places * sizeof(u32), s->members);
	nla_put(msg, MESHBLK_G_OFFSETS, s->nr_places * sizeof(u64), s->offsets);
	if (s->fresh)
		nla_put_flag(msg, MESHBLK_G_FRESH);
}

static void put_segments(struct nl_msg *msg, const struct meshblk_volume *v)
{
	struct nlattr *table = NULL, *nest;
	u32 i;

	for (i = 0; i < v->nr_segments; i++) {
		table = table_piece(msg, table, MESHBLK_A_SEGMENTS, i);
		nest = nla_nest_start(msg, NLA_F_NESTED | MESHBLK_A_SEGMENT);
		put_segment(msg, &v->segments[i]);
		nla_nest_end(msg, nest);
	}
	if (table)
		nla_nest_end(msg, table);
}

static int put_salt(struct mesh *m, struct nl_msg *msg, const struct meshblk_volume *v)
{
	char name[sizeof(MESHBLK_SALT_NAME) + MUUID_TEXT];
	__le64 salt = cpu_to_le64(v->salt);

	snprintf(name, sizeof(name), MESHBLK_SALT_NAME "%s", muuid_str(&v->uuid).s);
	return put_secret(m, msg, MESHBLK_A_SALT_SERIAL, name, &salt, sizeof(salt));
}

int meshblk_volume_set(struct mesh *m, const struct meshblk_volume *v)
{
	size_t bytes = (v->nr_members + v->nr_leavings) * 320 +
		       (v->nr_bars + v->nr_forgotten) * sizeof(*v->bars);
	struct nl_msg *msg;
	int err;
	u32 i;

	for (i = 0; i < v->nr_segments; i++)
		bytes += 128 + v->segments[i].nr_places * 12;
	msg = mesh_msg(m, MESH_BLK, MESHBLK_CMD_VOLUME_SET, 0, bytes, &err);
	if (!msg)
		return err;
	put_uuid(msg, MESHBLK_A_VOLUME_UUID, &v->uuid);
	nla_put_string(msg, MESHBLK_A_NAME, v->name);
	nla_put_u64(msg, MESHBLK_A_EPOCH, v->version);
	nla_put_u32(msg, MESHBLK_A_LBA, v->lba);
	err = v->salt ? put_salt(m, msg, v) : 0;
	if (v->numbered)
		put_access(msg, v);
	else if (v->salt)
		nla_put_u64(msg, MESHBLK_A_ATTACH, v->attach);
	if (v->stale)
		nla_put_flag(msg, MESHBLK_A_STALE);
	if (v->readonly)
		nla_put_flag(msg, MESHBLK_A_READONLY);
	if (v->io_timeout_ms)
		nla_put_u32(msg, MESHBLK_A_IO_TIMEOUT_MS, v->io_timeout_ms);
	if (v->queue_depth)
		nla_put_u32(msg, MESHBLK_A_QUEUE_DEPTH, v->queue_depth);
	put_members(msg, v);
	put_segments(msg, v);
	return call_secret(m, MESH_BLK, msg, err);
}

int meshblk_volume_scrub(struct mesh *m, const struct muuid *uuid, const struct mesh_scrub *s)
{
	struct nl_msg *msg;
	int err;

	msg = mesh_msg(m, MESH_BLK, MESHBLK_CMD_VOLUME_SCRUB, 0, 0, &err);
	if (!msg)
		return err;
	put_uuid(msg, MESHBLK_A_VOLUME_UUID, uuid);
	if (s->stop)
		nla_put_flag(msg, MESHBLK_A_STOP);
	if (s->repair)
		nla_put_flag(msg, MESHBLK_A_REPAIR);
	if (s->repair && s->from)
		nla_put_u32(msg, MESHBLK_A_INDEX, s->index);
	return mesh_call(m, MESH_BLK, msg, NULL, NULL);
}

int meshblk_volume_rejoin(struct mesh *m, const struct muuid *uuid, u32 member)
{
	struct nl_msg *msg;
	int err;

	msg = mesh_msg(m, MESH_BLK, MESHBLK_CMD_VOLUME_REJOIN, 0, 0, &err);
	if (!msg)
		return err;
	put_uuid(msg, MESHBLK_A_VOLUME_UUID, uuid);
	nla_put_u32(msg, MESHBLK_A_INDEX, member);
	return mesh_call(m, MESH_BLK, msg, NULL, NULL);
}

int meshblk_volume_evict(struct mesh *m, const struct muuid *uuid, u32 member,
			 const struct meshblk_member *to)
{
	struct nlattr *nest;
	struct nl_msg *msg;
	int err;

	msg = mesh_msg(m, MESH_BLK, MESHBLK_CMD_VOLUME_EVICT, 0, 0, &err);
	if (!msg)
		return err;
	put_uuid(msg, MESHBLK_A_VOLUME_UUID, uuid);
	nla_put_u32(msg, MESHBLK_A_INDEX, member);
	if (to) {
		nest = nla_nest_start(msg, NLA_F_NESTED | MESHBLK_A_MEMBER);
		put_member(msg, to);
		nla_nest_end(msg, nest);
	} else {
		nla_put_flag(msg, MESHBLK_A_STOP);
	}
	return mesh_call(m, MESH_BLK, msg, NULL, NULL);
}

static void parse_member(struct nlattr *nest, void *entry)
{
	struct nlattr *tb[MESHBLK_M_MAX + 1];
	struct meshblk_member *mb = entry;

	if (nla_parse_nested(tb, MESHBLK_M_MAX, nest, NULL))
		return;
	mb->kind = get_u32(tb[MESHBLK_M_KIND]);
	mb->target_id = get_u32(tb[MESHBLK_M_TARGET_ID]);
	get_uuid(tb[MESHBLK_M_EXTENT_UUID], &mb->extent);
	get_uuid(tb[MESHBLK_M_DRIVE_UUID], &mb->drive);
	mb->version = get_u64(tb[MESHBLK_M_EPOCH]);
	get_str(tb[MESHBLK_M_PATH], mb->path, sizeof(mb->path));
	mb->size = get_u64(tb[MESHBLK_M_SIZE]);
	get_str(tb[MESHBLK_M_STATE], mb->state, sizeof(mb->state));
	mb->error = get_s32(tb[MESHBLK_M_ERROR]);
	mb->start = get_u64(tb[MESHBLK_M_START]);
	mb->abandoned = get_u32(tb[MESHBLK_M_ABANDONED]);
	mb->attach = get_u64(tb[MESHBLK_M_ATTACH]);
	get_uuid(tb[MESHBLK_M_HOLDER], &mb->holder);
	get_stats(tb[MESHBLK_M_STATS], &mb->stats);
}

/* Up to @n entries of @size bytes. Return: how many it has. */
static u32 get_array(const struct nlattr *a, void *out, u32 n, size_t size)
{
	u32 has = a ? nla_len(a) / size : 0;

	has = has < n ? has : n;
	if (has)
		memcpy(out, nla_data(a), has * size);
	return has;
}

static void parse_scrub(struct nlattr **tb, struct meshblk_group *g)
{
	g->scrubbing = tb[MESHBLK_P_SCRUBBING];
	g->scrubbed = get_u64(tb[MESHBLK_P_SCRUBBED]);
	g->bytes = get_u64(tb[MESHBLK_P_BYTES]);
	g->mismatches = get_u64(tb[MESHBLK_P_MISMATCHES]);
	g->repaired = get_u64(tb[MESHBLK_P_REPAIRED]);
	g->skipped = get_u64(tb[MESHBLK_P_SKIPPED]);
	g->nr_diffs = get_array(tb[MESHBLK_P_DIFFS], g->diffs, MESH_DIFFS_MAX, sizeof(*g->diffs));
	g->nr_unread = get_array(tb[MESHBLK_P_UNREAD], g->unread, MESH_DIFFS_MAX, sizeof(*g->unread));
}

static void parse_evict(struct nlattr **tb, struct meshblk_group *g)
{
	g->evicts = get_u32(tb[MESHBLK_P_EVICTS]);
	get_uuid(tb[MESHBLK_P_SUCCESSOR], &g->successor);
	g->copied = get_u64(tb[MESHBLK_P_COPIED]);
	g->copy_bytes = get_u64(tb[MESHBLK_P_COPY_BYTES]);
	get_str(tb[MESHBLK_P_EVICT_REASON], g->evict_reason, sizeof(g->evict_reason));
}

static void parse_group(struct nlattr *nest, void *entry)
{
	struct nlattr *tb[MESHBLK_P_MAX + 1];
	struct meshblk_group *g = entry;

	if (nla_parse_nested(tb, MESHBLK_P_MAX, nest, NULL))
		return;
	g->segment = get_u32(tb[MESHBLK_P_SEGMENT]);
	g->column = get_u32(tb[MESHBLK_P_COLUMN]);
	get_str(tb[MESHBLK_P_STATE], g->state, sizeof(g->state));
	get_str(tb[MESHBLK_P_REASON], g->reason, sizeof(g->reason));
	g->error = get_s32(tb[MESHBLK_P_ERROR]);
	g->attach = get_u64(tb[MESHBLK_P_ATTACH]);
	g->version = get_u64(tb[MESHBLK_P_EPOCH]);
	g->synced = get_u64(tb[MESHBLK_P_SYNCED]);
	g->barred = get_u64(tb[MESHBLK_P_BARRED]);
	g->waits = get_u64(tb[MESHBLK_P_WAITS]);
	g->witness = tb[MESHBLK_P_WITNESS];
	g->place = get_u32(tb[MESHBLK_P_PLACE]);
	g->any = get_roster(tb[MESHBLK_P_ROSTER], g->roster);
	parse_scrub(tb, g);
	parse_evict(tb, g);
	g->nr = get_array(tb[MESHBLK_P_MEMBERS], g->members, MESH_GROUP_MAX, sizeof(u32));
	get_array(tb[MESHBLK_P_ROLES], g->roles, MESH_GROUP_MAX, sizeof(u8));
	get_array(tb[MESHBLK_P_BEHIND], g->behind, MESH_GROUP_MAX, sizeof(u64));
}

/* Entries of attributes of @type behind the @nr that are there, of @size bytes each. */
static int parse_table(struct nlmsghdr *h, int type, void **array, u32 *nr, size_t size,
		       void (*parse)(struct nlattr *nest, void *entry))
{
	struct nlattr *a, *nest;
	size_t n = *nr;
	int left, rest;
	void *entry;

	nlmsg_for_each_attr(a, h, GENL_HDRLEN, left) {
		if (nla_type(a) != type)
			continue;
		nla_for_each_nested(nest, a, rest) {
			entry = mesh_grow(array, &n, size);
			if (!entry)
				return -ENOMEM;
			*nr = n;
			parse(nest, entry);
		}
	}
	return 0;
}

int parse_groups(struct nlmsghdr *h, struct meshblk_group **groups, u32 *n)
{
	return parse_table(h, MESHBLK_A_GROUPS, (void **)groups, n, sizeof(**groups), parse_group);
}

static int parse_tables(struct nlmsghdr *h, struct meshblk_volume *v)
{
	int err = parse_table(h, MESHBLK_A_MEMBERS, (void **)&v->members, &v->nr_members,
			      sizeof(*v->members), parse_member);

	return err ? err : parse_groups(h, &v->groups, &v->nr_groups);
}

static int parse_volume(struct nlattr **tb, struct nlmsghdr *h, struct meshblk_volume *v)
{
	get_uuid(tb[MESHBLK_A_VOLUME_UUID], &v->uuid);
	get_str(tb[MESHBLK_A_NAME], v->name, sizeof(v->name));
	v->version = get_u64(tb[MESHBLK_A_EPOCH]);
	v->size = get_u64(tb[MESHBLK_A_SIZE]);
	v->lba = get_u32(tb[MESHBLK_A_LBA]);
	v->readonly = tb[MESHBLK_A_READONLY];
	get_str(tb[MESHBLK_A_DISK], v->disk, sizeof(v->disk));
	get_str(tb[MESHBLK_A_STATE], v->state, sizeof(v->state));
	v->openers = get_u32(tb[MESHBLK_A_OPENERS]);
	v->error = get_s32(tb[MESHBLK_A_ERROR]);
	get_str(tb[MESHBLK_A_REASON], v->reason, sizeof(v->reason));
	v->io_timeout_ms = get_u32(tb[MESHBLK_A_IO_TIMEOUT_MS]);
	v->queue_depth = get_u32(tb[MESHBLK_A_QUEUE_DEPTH]);
	return parse_access(tb, v) ? -ENOMEM : parse_tables(h, v);
}

static int on_volume(void *arg, struct nlattr **tb, struct nlmsghdr *h)
{
	struct mesh_list *l = arg;
	struct meshblk_volume *v = l->n ? (struct meshblk_volume *)l->array + l->n - 1 : NULL;
	struct muuid uuid;

	/* A long volume may come in several messages: they are one volume. */
	get_uuid(tb[MESHBLK_A_VOLUME_UUID], &uuid);
	if (v && muuid_equal(&v->uuid, &uuid))
		return parse_tables(h, v);
	v = mesh_grow(&l->array, &l->n, sizeof(*v));
	return v ? parse_volume(tb, h, v) : -ENOMEM;
}

void meshblk_volume_free(struct meshblk_volume *v)
{
	u32 i;

	for (i = 0; v->segments && i < v->nr_segments; i++) {
		free(v->segments[i].members);
		free(v->segments[i].offsets);
	}
	free(v->segments);
	free(v->members);
	free(v->groups);
	free(v->bars);
	free(v->forgotten);
	free(v->leavings);
	v->bars = NULL;
	v->forgotten = NULL;
	v->leavings = NULL;
	v->segments = NULL;
	v->members = NULL;
	v->groups = NULL;
}

void meshblk_volumes_free(struct meshblk_volume *v, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		meshblk_volume_free(&v[i]);
	free(v);
}

int meshblk_volume_get(struct mesh *m, const struct muuid *uuid, struct meshblk_volume *out)
{
	struct mesh_list l = { NULL, 0 };
	struct nl_msg *msg;
	int err;

	memset(out, 0, sizeof(*out));
	msg = mesh_msg(m, MESH_BLK, MESHBLK_CMD_VOLUME_GET, 0, 0, &err);
	if (!msg)
		return err;
	put_uuid(msg, MESHBLK_A_VOLUME_UUID, uuid);
	err = mesh_call(m, MESH_BLK, msg, on_volume, &l);
	if (err || !l.n) {
		meshblk_volumes_free(l.array, l.n);
		return err ? err : -ENOENT;
	}
	*out = *(struct meshblk_volume *)l.array;
	free(l.array);
	return 0;
}

/* A dump has no members of a volume that does not fit into one message: an answer of its own has them. */
static int fetch_members(struct mesh *m, struct meshblk_volume *v, size_t *n)
{
	size_t out = 0;
	int err = 0;

	for (size_t i = 0; i < *n; i++) {
		struct meshblk_volume whole = v[i];

		if (!err && !whole.nr_members) {
			err = meshblk_volume_get(m, &v[i].uuid, &whole);
			meshblk_volume_free(&v[i]);
		}
		/* It has ended since the dump. */
		if (err == -ENOENT)
			err = 0;
		else
			v[out++] = whole;
	}
	*n = out;
	return err;
}

int meshblk_volumes(struct mesh *m, struct meshblk_volume **out, size_t *n)
{
	struct mesh_list l;
	int err = mesh_dump(m, MESH_BLK, MESHBLK_CMD_VOLUME_GET, on_volume, &l);

	if (!err)
		err = fetch_members(m, l.array, &l.n);
	if (err) {
		meshblk_volumes_free(l.array, l.n);
		l = (struct mesh_list) { NULL, 0 };
	}
	*out = l.array;
	*n = l.n;
	return err;
}

static int on_abandoned(void *arg, struct nlattr **tb, struct nlmsghdr *h)
{
	struct mesh_list *l = arg;
	struct meshblk_abandoned *a = mesh_grow(&l->array, &l->n, sizeof(*a));

	(void)h;
	if (!a)
		return -ENOMEM;
	get_uuid(tb[MESHBLK_A_VOLUME_UUID], &a->volume);
	if (tb[MESHBLK_A_MEMBER])
		parse_member(tb[MESHBLK_A_MEMBER], &a->member);
	return 0;
}

int meshblk_abandoned_get(struct mesh *m, struct meshblk_abandoned **out, size_t *n)
{
	struct mesh_list l;
	int err = mesh_dump(m, MESH_BLK, MESHBLK_CMD_ABANDONED_GET, on_abandoned, &l);

	if (err) {
		free(l.array);
		l = (struct mesh_list) { NULL, 0 };
	}
	*out = l.array;
	*n = l.n;
	return err;
}
