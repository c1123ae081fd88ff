// SPDX-License-Identifier: GPL-2.0-only
/* Family meshtgt: drives that are exported, their extents, sessions. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/libmesh/secret.h"

int meshtgt_identity_set(struct mesh *m, const struct muuid *host, const struct mesh_key *keys,
			 size_t nr_keys)
{
	struct nl_msg *msg;
	int err;

	msg = mesh_msg(m, MESH_TGT, MESHTGT_CMD_IDENTITY_SET, 0, 256, &err);
	if (!msg)
		return err;
	put_uuid(msg, MESHTGT_A_HOST_UUID, host);
	err = put_keys(m, msg, MESHTGT_A_KEY_ID, keys, nr_keys);
	return call_secret(m, MESH_TGT, msg, err);
}

int meshtgt_identity_removed(struct mesh *m, const struct muuid *host, const struct mesh_key *keys,
			     size_t nr_keys, const struct muuid *removed, size_t n)
{
	struct nl_msg *msg;
	int err;

	if (n > MESHTGT_REMOVED_MAX)
		return -E2BIG;
	msg = mesh_msg(m, MESH_TGT, MESHTGT_CMD_IDENTITY_SET, 0, 512 + n * sizeof(*removed), &err);
	if (!msg)
		return err;
	put_uuid(msg, MESHTGT_A_HOST_UUID, host);
	if (nla_put(msg, MESHTGT_A_REMOVED, n * sizeof(*removed), removed))
		err = -EMSGSIZE;
	else
		err = put_keys(m, msg, MESHTGT_A_KEY_ID, keys, nr_keys);
	return call_secret(m, MESH_TGT, msg, err);
}

int meshtgt_listen(struct mesh *m, const char *addr, u16 port)
{
	struct nl_msg *msg;
	int err;

	msg = mesh_msg(m, MESH_TGT, MESHTGT_CMD_LISTEN, 0, 0, &err);
	if (!msg)
		return err;
	nla_put_string(msg, MESHTGT_A_ADDR, addr);
	if (port)
		nla_put_u16(msg, MESHTGT_A_PORT, port);
	return mesh_call(m, MESH_TGT, msg, NULL, NULL);
}

#define X_BYTES		128	/* of one EXTENT without hosts, rounded up */
#define X_PIECE		(48U << 10)	/* of a table in one attribute, which holds less than 64 KiB */

/* Bytes of a table; negative: an extent is for more hosts than a table holds. */
static int table_bytes(const struct meshtgt_drive *d)
{
	int bytes = 0;
	u32 i;

	for (i = 0; i < d->nr_extents; i++) {
		if (d->extents[i].allows > MESHTGT_ALLOW_MAX)
			return -EINVAL;
		bytes += X_BYTES + d->extents[i].allows * sizeof(struct muuid);
	}
	return bytes;
}

static void put_extent(struct nl_msg *msg, const struct meshtgt_extent *e)
{
	struct nlattr *nest = nla_nest_start(msg, NLA_F_NESTED | MESHTGT_A_EXTENT);

	put_uuid(msg, MESHTGT_X_UUID, &e->uuid);
	nla_put_u64(msg, MESHTGT_X_START, e->start);
	nla_put_u64(msg, MESHTGT_X_LENGTH, e->length);
	put_uuid(msg, MESHTGT_X_HOLDER, &e->holder);
	nla_put_u64(msg, MESHTGT_X_EPOCH, e->version);
	nla_put_u64(msg, MESHTGT_X_ATTACH, e->attach);
	put_uuid(msg, MESHTGT_X_ATTACHER, &e->attacher);
	if (e->ready)
		nla_put_flag(msg, MESHTGT_X_READY);
	if (e->allow_all)
		nla_put_flag(msg, MESHTGT_X_ALLOW_ALL);
	else if (e->allows)
		nla_put(msg, MESHTGT_X_ALLOW, e->allows * sizeof(*e->allow), e->allow);
	nla_nest_end(msg, nest);
}

static void put_extents(struct nl_msg *msg, const struct meshtgt_drive *d)
{
	struct nlattr *table = NULL;
	u32 i;

	for (i = 0; i < d->nr_extents; i++) {
		if (table && (char *)nlmsg_tail(nlmsg_hdr(msg)) - (char *)table > X_PIECE) {
			nla_nest_end(msg, table);
			table = NULL;
		}
		if (!table)
			table = nla_nest_start(msg, NLA_F_NESTED | MESHTGT_A_EXTENTS);
		put_extent(msg, &d->extents[i]);
	}
	/* An empty table is a table: libnl would drop an empty nest. */
	if (!table)
		table = nla_nest_start(msg, NLA_F_NESTED | MESHTGT_A_EXTENTS);
	nla_nest_end_keep_empty(msg, table);
}

/*
 * The kernel waits for the commands that a device has, and for a device that it opens or closes, but
 * not for long within one message, since all of generic netlink waits behind it: -EINPROGRESS. Such a
 * message is sent again.
 */
#define WAIT_STEPS	6	/* of 5 s */

/* True: send the message again. @step: 0 at first. @err: becomes -EBUSY when that was the last time. */
static bool again(int *err, int *step)
{
	if (*err != -EINPROGRESS)
		return false;
	if (++*step < WAIT_STEPS)
		return true;
	*err = -EBUSY;
	return false;
}

static int send_drive_add(struct mesh *m, const struct meshtgt_drive *d, bool check)
{
	int err, bytes = table_bytes(d);
	struct nl_msg *msg;

	if (bytes < 0)
		return bytes;
	msg = mesh_msg(m, MESH_TGT, MESHTGT_CMD_DRIVE_ADD, 0, bytes, &err);
	if (!msg)
		return err;
	put_uuid(msg, MESHTGT_A_DRIVE_UUID, &d->uuid);
	nla_put_string(msg, MESHTGT_A_PATH, d->path);
	put_extents(msg, d);
	if (check)
		nla_put_flag(msg, MESHTGT_A_CHECK);
	return mesh_call(m, MESH_TGT, msg, NULL, NULL);
}

static int drive_add(struct mesh *m, const struct meshtgt_drive *d, bool check)
{
	int err, step = 0;

	do
		err = send_drive_add(m, d, check);
	while (again(&err, &step));
	return err;
}

int meshtgt_drive_add(struct mesh *m, const struct meshtgt_drive *d)
{
	return drive_add(m, d, false);
}

int meshtgt_drive_check(struct mesh *m, const struct meshtgt_drive *d)
{
	return drive_add(m, d, true);
}

static int send_drive_del(struct mesh *m, const struct muuid *uuid, bool force, bool gone)
{
	struct nl_msg *msg;
	int err;

	msg = mesh_msg(m, MESH_TGT, MESHTGT_CMD_DRIVE_DEL, 0, 0, &err);
	if (!msg)
		return err;
	put_uuid(msg, MESHTGT_A_DRIVE_UUID, uuid);
	if (force)
		nla_put_flag(msg, MESHTGT_A_FORCE);
	if (gone)
		nla_put_flag(msg, MESHTGT_A_GONE);
	return mesh_call(m, MESH_TGT, msg, NULL, NULL);
}

static int drive_del(struct mesh *m, const struct muuid *uuid, bool force, bool gone)
{
	int err, step = 0;

	do
		err = send_drive_del(m, uuid, force, gone);
	while (again(&err, &step));
	/* closed between two messages */
	if (step && err == -ENOENT)
		return 0;
	return err;
}

int meshtgt_drive_del(struct mesh *m, const struct muuid *uuid, bool force)
{
	return drive_del(m, uuid, force, false);
}

int meshtgt_gone_del(struct mesh *m, const struct muuid *uuid)
{
	return drive_del(m, uuid, true, true);
}

int meshtgt_extents_once(struct mesh *m, const struct meshtgt_drive *d)
{
	int err, bytes = table_bytes(d);
	struct nl_msg *msg;

	if (bytes < 0)
		return bytes;
	msg = mesh_msg(m, MESH_TGT, MESHTGT_CMD_EXTENTS_SET, 0, bytes, &err);
	if (!msg)
		return err;
	put_uuid(msg, MESHTGT_A_DRIVE_UUID, &d->uuid);
	put_extents(msg, d);
	return mesh_call(m, MESH_TGT, msg, NULL, NULL);
}

int meshtgt_extents_set(struct mesh *m, const struct meshtgt_drive *d)
{
	int err, step = 0;

	do
		err = meshtgt_extents_once(m, d);
	while (again(&err, &step));
	return err;
}

static int parse_extents(struct nlmsghdr *h, struct meshtgt_drive *d)
{
	struct nlattr *tb[MESHTGT_X_MAX + 1], *a, *nest;
	size_t n = d->nr_extents;
	int left, rest;

	nlmsg_for_each_attr(a, h, GENL_HDRLEN, left) {
		if (nla_type(a) != MESHTGT_A_EXTENTS)
			continue;
		nla_for_each_nested(nest, a, rest) {
			struct meshtgt_extent *e;

			if (nla_parse_nested(tb, MESHTGT_X_MAX, nest, NULL))
				continue;
			e = mesh_grow((void **)&d->extents, &n, sizeof(*e));
			if (!e)
				return -ENOMEM;
			d->nr_extents = n;
			get_uuid(tb[MESHTGT_X_UUID], &e->uuid);
			e->start = get_u64(tb[MESHTGT_X_START]);
			e->length = get_u64(tb[MESHTGT_X_LENGTH]);
			get_uuid(tb[MESHTGT_X_HOLDER], &e->holder);
			e->version = get_u64(tb[MESHTGT_X_EPOCH]);
			e->attach = get_u64(tb[MESHTGT_X_ATTACH]);
			get_uuid(tb[MESHTGT_X_ATTACHER], &e->attacher);
			e->ready = tb[MESHTGT_X_READY];
			e->opens = get_u32(tb[MESHTGT_X_OPENS]);
			e->writers = get_u32(tb[MESHTGT_X_WRITERS]);
			e->readers = get_u32(tb[MESHTGT_X_READERS]);
		}
	}
	return 0;
}

static int on_drive(void *arg, struct nlattr **tb, struct nlmsghdr *h)
{
	struct mesh_list *l = arg;
	struct meshtgt_drive *d = l->n ? (struct meshtgt_drive *)l->array + l->n - 1 : NULL;
	struct muuid uuid;

	get_uuid(tb[MESHTGT_A_DRIVE_UUID], &uuid);
	if (d && muuid_equal(&d->uuid, &uuid))
		return parse_extents(h, d);
	d = mesh_grow(&l->array, &l->n, sizeof(*d));
	if (!d)
		return -ENOMEM;
	d->uuid = uuid;
	get_uuid(tb[MESHTGT_A_HOST_UUID], &d->host);
	get_str(tb[MESHTGT_A_PATH], d->path, sizeof(d->path));
	d->size = get_u64(tb[MESHTGT_A_SIZE]);
	d->lba = get_u32(tb[MESHTGT_A_LBA]);
	get_str(tb[MESHTGT_A_STATE], d->state, sizeof(d->state));
	return parse_extents(h, d);
}

void meshtgt_drives_free(struct meshtgt_drive *d, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		free(d[i].extents);
	free(d);
}

int meshtgt_drives(struct mesh *m, struct meshtgt_drive **out, size_t *n)
{
	struct mesh_list l;
	int err = mesh_dump(m, MESH_TGT, MESHTGT_CMD_DRIVE_GET, on_drive, &l);

	if (err) {
		meshtgt_drives_free(l.array, l.n);
		l = (struct mesh_list) { NULL, 0 };
	}
	*out = l.array;
	*n = l.n;
	return err;
}

static int on_session(void *arg, struct nlattr **tb, struct nlmsghdr *h)
{
	struct mesh_list *l = arg;
	struct meshtgt_session *s = mesh_grow(&l->array, &l->n, sizeof(*s));

	(void)h;
	if (!s)
		return -ENOMEM;
	s->id = get_u32(tb[MESHTGT_A_SESSION]);
	get_uuid(tb[MESHTGT_A_HOST_UUID], &s->host);
	get_str(tb[MESHTGT_A_ADDR], s->addr, sizeof(s->addr));
	get_str(tb[MESHTGT_A_STATE], s->state, sizeof(s->state));
	s->channels = get_u32(tb[MESHTGT_A_CHANNELS]);
	s->memory = get_u64(tb[MESHTGT_A_MEMORY]);
	get_stats(tb[MESHTGT_A_STATS], &s->stats);
	return 0;
}

int meshtgt_sessions(struct mesh *m, struct meshtgt_session **out, size_t *n)
{
	struct mesh_list l;
	int err = mesh_dump(m, MESH_TGT, MESHTGT_CMD_SESSION_GET, on_session, &l);

	if (err) {
		free(l.array);
		l = (struct mesh_list) { NULL, 0 };
	}
	*out = l.array;
	*n = l.n;
	return err;
}
