// SPDX-License-Identifier: GPL-2.0-only
/*
 * The generic netlink family "meshtgt": orders, requests and answers of meshd.
 *
 * Operations run in parallel: some sleep until commands are back, and the same meshd must be able
 * to answer a GRANT meanwhile. An operation that changes state needs CAP_SYS_ADMIN in the initial
 * user namespace; the network plugin of every container has CAP_NET_ADMIN, which the core could
 * check. The family lives in the initial network namespace alone.
 *
 * An attribute's length has 16 bits, so EXTENTS may come several times in a message; they are put
 * together in order.
 */
#define pr_fmt(fmt) "meshtgt: " fmt
#include <linux/mm.h>
#include <linux/netlink.h>
#include <linux/slab.h>
#include <net/genetlink.h>

#include "driver/uapi/meshblk.h"
#include "rdda/common/secret.h"
#include "rdda/target/drive.h"
#include "rdda/target/grant.h"
#include "rdda/target/listen.h"
#include "rdda/target/netlink.h"
#include "rdda/target/session.h"
#include "rdda/target/tgt.h"
#include "rdda/wire.h"

static struct genl_family family;

static const struct nla_policy policy[MESHTGT_A_MAX + 1] = {
	[MESHTGT_A_HOST_UUID]	= NLA_POLICY_EXACT_LEN(16),
	[MESHTGT_A_KEY_ID]	= NLA_POLICY_MIN(NLA_U16, 1),
	[MESHTGT_A_KEY_SERIAL]	= NLA_POLICY_MIN(NLA_S32, 1),
	[MESHTGT_A_KEY_ID2]	= NLA_POLICY_MIN(NLA_U16, 1),
	[MESHTGT_A_KEY_SERIAL2]	= NLA_POLICY_MIN(NLA_S32, 1),
	[MESHTGT_A_HOST_ROLE]	= NLA_POLICY_RANGE(NLA_U8, MESHBLK_HOST_CLIENT, MESHBLK_HOST_STORE),
	[MESHTGT_A_ADDR]	= { .type = NLA_NUL_STRING, .len = 63 },
	[MESHTGT_A_PORT]	= NLA_POLICY_MIN(NLA_U16, 1),
	[MESHTGT_A_DRIVE_UUID]	= NLA_POLICY_EXACT_LEN(16),
	[MESHTGT_A_PATH]	= { .type = NLA_NUL_STRING, .len = PATH_MAX - 1 },
	[MESHTGT_A_FORCE]	= { .type = NLA_FLAG },
	[MESHTGT_A_EXTENTS]	= { .type = NLA_NESTED },
	[MESHTGT_A_SESSION]	= { .type = NLA_U32 },
	[MESHTGT_A_REQUEST]	= { .type = NLA_U64 },
	[MESHTGT_A_ERROR]	= NLA_POLICY_RANGE(NLA_S32, -MAX_ERRNO, 0),
	[MESHTGT_A_GONE]	= { .type = NLA_FLAG },
	[MESHTGT_A_CHECK]	= { .type = NLA_FLAG },
	[MESHTGT_A_REMOVED]	= { .type = NLA_BINARY },
};

static const struct nla_policy extent_policy[MESHTGT_X_MAX + 1] = {
	[MESHTGT_X_UUID]	= NLA_POLICY_EXACT_LEN(16),
	[MESHTGT_X_START]	= { .type = NLA_U64 },
	[MESHTGT_X_LENGTH]	= { .type = NLA_U64 },
	[MESHTGT_X_HOLDER]	= NLA_POLICY_EXACT_LEN(16),
	[MESHTGT_X_EPOCH]	= { .type = NLA_U64 },
	[MESHTGT_X_READY]	= { .type = NLA_FLAG },
	[MESHTGT_X_ATTACH]	= { .type = NLA_U64 },
	[MESHTGT_X_ATTACHER]	= NLA_POLICY_EXACT_LEN(16),
	[MESHTGT_X_ALLOW]	= { .type = NLA_BINARY, .len = 16 * MESHTGT_ALLOW_MAX },
	[MESHTGT_X_ALLOW_ALL]	= { .type = NLA_FLAG },
};

static int nl_may_change(struct sk_buff *skb, struct genl_info *info)
{
	if (netlink_capable(skb, CAP_SYS_ADMIN))
		return 0;
	NL_SET_ERR_MSG(info->extack, "needs CAP_SYS_ADMIN in the initial user namespace");
	return -EPERM;
}

static struct nlattr *nl_need(struct genl_info *info, int attr)
{
	if (!info->attrs[attr])
		NL_SET_ERR_MSG(info->extack, "a needed attribute is missing");
	return info->attrs[attr];
}

static void nl_attr_uuid(const struct nlattr *a, uuid_t *uuid)
{
	import_uuid(uuid, nla_data(a));
}

/* Copy the hosts that were removed. @hosts: set to the copy; NULL: none. Return: 0 or an error. */
static int nl_removed(struct genl_info *info, uuid_t **hosts)
{
	const struct nlattr *a = info->attrs[MESHTGT_A_REMOVED];

	*hosts = NULL;
	if (!a || !nla_len(a))
		return 0;
	if (nla_len(a) % sizeof(uuid_t)) {
		NL_SET_ERR_MSG(info->extack, "REMOVED holds host UUIDs");
		return -EINVAL;
	}
	*hosts = kvmalloc(nla_len(a), GFP_KERNEL);
	if (!*hosts)
		return -ENOMEM;
	memcpy(*hosts, nla_data(a), nla_len(a));
	return 0;
}

static int nl_identity_set(struct sk_buff *skb, struct genl_info *info)
{
	const struct nlattr *removed = info->attrs[MESHTGT_A_REMOVED];
	struct rdda_key key[2];
	uuid_t host, *hosts;
	int err;

	if (nl_may_change(skb, info))
		return -EPERM;
	if (!nl_need(info, MESHTGT_A_HOST_UUID))
		return -EINVAL;
	nl_attr_uuid(info->attrs[MESHTGT_A_HOST_UUID], &host);
	if (uuid_is_null(&host)) {
		NL_SET_ERR_MSG(info->extack, "a host UUID is not all zeroes");
		return -EINVAL;
	}
	err = nl_removed(info, &hosts);
	if (err)
		return err;
	err = rdda_keys_get(info->attrs, MESHTGT_A_KEY_ID, key, info->extack);
	if (!err) {
		tgt_identity_set(&host, key);
		if (removed)
			hosts = tgt_identity_remove(hosts, nla_len(removed) / sizeof(uuid_t));
		tgt_session_rekeyed();
	}
	kvfree(hosts);
	memzero_explicit(key, sizeof(key));
	return err;
}

static int nl_listen(struct sk_buff *skb, struct genl_info *info)
{
	struct nlattr *port = info->attrs[MESHTGT_A_PORT];

	if (nl_may_change(skb, info))
		return -EPERM;
	if (!nl_need(info, MESHTGT_A_ADDR))
		return -EINVAL;
	return tgt_listen(nla_data(info->attrs[MESHTGT_A_ADDR]),
			  port ? nla_get_u16(port) : RDDA_PORT, info->extack);
}

/* Parse the hosts that a line of the table is for. Return: 0 or a negative errno. */
static int allow_parse(struct tgt_extent *e, const struct nlattr *list, bool all,
		       struct netlink_ext_ack *extack)
{
	unsigned int len = list ? nla_len(list) : 0;

	if (!list && !all)
		return 0;
	if (len % sizeof(uuid_t) || (len && all)) {
		NL_SET_ERR_MSG(extack, "ALLOW holds host UUIDs, or ALLOW_ALL is there alone");
		return -EINVAL;
	}
	e->allow = kzalloc(struct_size(e->allow, host, len / sizeof(uuid_t)), GFP_KERNEL);
	if (!e->allow)
		return -ENOMEM;
	e->allow->all = all;
	e->allow->nr = len / sizeof(uuid_t);
	if (len)
		memcpy(e->allow->host, nla_data(list), len);
	return 0;
}

static struct tgt_extent *extent_parse(const struct nlattr *nest, struct netlink_ext_ack *extack)
{
	struct nlattr *tb[MESHTGT_X_MAX + 1];
	struct tgt_extent *e;
	int ret;

	ret = nla_parse_nested(tb, MESHTGT_X_MAX, nest, extent_policy, extack);
	if (ret)
		return ERR_PTR(ret);
	if (!tb[MESHTGT_X_UUID] || !tb[MESHTGT_X_START] || !tb[MESHTGT_X_LENGTH]) {
		NL_SET_ERR_MSG(extack, "an extent needs UUID, START, LENGTH");
		return ERR_PTR(-EINVAL);
	}
	e = kzalloc(sizeof(*e), GFP_KERNEL);
	if (!e)
		return ERR_PTR(-ENOMEM);
	INIT_LIST_HEAD(&e->opens);
	nl_attr_uuid(tb[MESHTGT_X_UUID], &e->uuid);
	e->start = nla_get_u64(tb[MESHTGT_X_START]);
	e->len = nla_get_u64(tb[MESHTGT_X_LENGTH]);
	if (tb[MESHTGT_X_HOLDER])
		nl_attr_uuid(tb[MESHTGT_X_HOLDER], &e->holder);
	if (tb[MESHTGT_X_EPOCH])
		e->epoch = nla_get_u64(tb[MESHTGT_X_EPOCH]);
	if (tb[MESHTGT_X_ATTACH])
		e->attach = nla_get_u64(tb[MESHTGT_X_ATTACH]);
	if (tb[MESHTGT_X_ATTACHER])
		nl_attr_uuid(tb[MESHTGT_X_ATTACHER], &e->attacher);
	e->ready = nla_get_flag(tb[MESHTGT_X_READY]);
	ret = allow_parse(e, tb[MESHTGT_X_ALLOW], tb[MESHTGT_X_ALLOW_ALL], extack);
	if (!ret)
		return e;
	kfree(e);
	return ERR_PTR(ret);
}

static int extents_parse(struct genl_info *info, struct list_head *extents)
{
	struct nlattr *a, *nest;
	struct tgt_extent *e;
	int rem, nrem;

	nlmsg_for_each_attr(a, info->nlhdr, GENL_HDRLEN, rem) {
		if (nla_type(a) != MESHTGT_A_EXTENTS)
			continue;
		nla_for_each_nested(nest, a, nrem) {
			if (nla_type(nest) != MESHTGT_A_EXTENT) {
				NL_SET_ERR_MSG(info->extack, "EXTENTS holds EXTENTs only");
				return -EINVAL;
			}
			e = extent_parse(nest, info->extack);
			if (IS_ERR(e))
				return PTR_ERR(e);
			list_add_tail(&e->node, extents);
		}
	}
	return 0;
}

static int nl_drive_add(struct sk_buff *skb, struct genl_info *info)
{
	LIST_HEAD(extents);
	uuid_t uuid;
	int ret;

	if (nl_may_change(skb, info))
		return -EPERM;
	if (!nl_need(info, MESHTGT_A_DRIVE_UUID))
		return -EINVAL;
	if (!nl_need(info, MESHTGT_A_PATH))
		return -EINVAL;
	nl_attr_uuid(info->attrs[MESHTGT_A_DRIVE_UUID], &uuid);
	ret = extents_parse(info, &extents);
	if (!ret)
		ret = tgt_export(&uuid, nla_data(info->attrs[MESHTGT_A_PATH]), &extents,
				 nla_get_flag(info->attrs[MESHTGT_A_CHECK]), info->extack);
	tgt_extents_free(&extents);
	return ret;
}

static int nl_drive_del(struct sk_buff *skb, struct genl_info *info)
{
	uuid_t uuid;

	if (nl_may_change(skb, info))
		return -EPERM;
	if (!nl_need(info, MESHTGT_A_DRIVE_UUID))
		return -EINVAL;
	nl_attr_uuid(info->attrs[MESHTGT_A_DRIVE_UUID], &uuid);
	return tgt_unexport(&uuid, nla_get_flag(info->attrs[MESHTGT_A_FORCE]),
			    nla_get_flag(info->attrs[MESHTGT_A_GONE]), info->extack);
}

static int nl_extents_set(struct sk_buff *skb, struct genl_info *info)
{
	LIST_HEAD(extents);
	uuid_t uuid;
	int ret;

	if (nl_may_change(skb, info))
		return -EPERM;
	if (!nl_need(info, MESHTGT_A_DRIVE_UUID))
		return -EINVAL;
	nl_attr_uuid(info->attrs[MESHTGT_A_DRIVE_UUID], &uuid);
	ret = extents_parse(info, &extents);
	if (!ret)
		ret = tgt_grant_table(&uuid, &extents, info->extack);
	tgt_extents_free(&extents);
	return ret;
}

/*
 * Dumps: cb->args[0] counts the objects sent. If a drive's table does not fit into one message,
 * further messages with the same DRIVE_UUID continue the table: cb->args[1] counts its extents.
 */

#define X_BYTES		176	/* of one EXTENT, rounded up */

static int extent_fill(struct sk_buff *skb, const struct tgt_extent *e)
{
	struct nlattr *one = nla_nest_start(skb, MESHTGT_A_EXTENT);
	u32 writers, readers;

	tgt_extent_counts(e, &writers, &readers);
	if (!one || nla_put(skb, MESHTGT_X_UUID, 16, &e->uuid) ||
	    nla_put_u64_64bit(skb, MESHTGT_X_START, e->start, MESHTGT_X_PAD) ||
	    nla_put_u64_64bit(skb, MESHTGT_X_LENGTH, e->len, MESHTGT_X_PAD) ||
	    nla_put(skb, MESHTGT_X_HOLDER, 16, &e->holder) ||
	    nla_put_u64_64bit(skb, MESHTGT_X_EPOCH, e->epoch, MESHTGT_X_PAD) ||
	    nla_put_u64_64bit(skb, MESHTGT_X_ATTACH, e->attach, MESHTGT_X_PAD) ||
	    nla_put(skb, MESHTGT_X_ATTACHER, 16, &e->attacher) ||
	    (e->ready && nla_put_flag(skb, MESHTGT_X_READY)) ||
	    nla_put_u32(skb, MESHTGT_X_OPENS, writers + readers) ||
	    nla_put_u32(skb, MESHTGT_X_WRITERS, writers) ||
	    nla_put_u32(skb, MESHTGT_X_READERS, readers))
		return -EMSGSIZE;
	nla_nest_end(skb, one);
	return 0;
}

/* Fill one EXTENTS attribute with as many extents as fit. Return: the next extent's number. */
static long extents_fill(struct sk_buff *skb, const struct tgt_drive *d, long from)
{
	struct nlattr *all = nla_nest_start(skb, MESHTGT_A_EXTENTS);
	const struct tgt_extent *e;
	long i = 0;

	if (!all)
		return -EMSGSIZE;
	list_for_each_entry(e, &d->extents, node) {
		if (i++ < from)
			continue;
		if (skb_tailroom(skb) < X_BYTES ||
		    skb_tail_pointer(skb) - (u8 *)all > U16_MAX - X_BYTES) {
			i--;
			break;
		}
		if (extent_fill(skb, e))
			return -EMSGSIZE;
	}
	nla_nest_end(skb, all);
	return i;
}

static long table_length(const struct tgt_drive *d)
{
	struct list_head *pos;
	long n = 0;

	lockdep_assert_held(&tgt_lock);
	list_for_each(pos, &d->extents)
		n++;
	return n;
}

/*
 * @from: number of the first extent; set to the next one, or to -1 when all were sent. @whole: put
 * the whole table in this message, or nothing.
 */
static int drive_fill(struct sk_buff *skb, const struct tgt_drive *d, u32 port, u32 seq, int flags,
		      long *from, bool whole)
{
	void *h = genlmsg_put(skb, port, seq, &family, flags, MESHTGT_CMD_DRIVE_GET);
	long n = table_length(d), at = *from, next;

	if (!h)
		return -EMSGSIZE;
	if (nla_put(skb, MESHTGT_A_DRIVE_UUID, 16, &d->uuid) ||
	    nla_put(skb, MESHTGT_A_HOST_UUID, 16, &d->host) ||
	    nla_put_string(skb, MESHTGT_A_PATH, d->path) ||
	    nla_put_u64_64bit(skb, MESHTGT_A_SIZE, bdev_nr_bytes(d->bd), MESHTGT_A_PAD) ||
	    nla_put_u32(skb, MESHTGT_A_LBA, 1U << d->lba_shift) ||
	    nla_put_string(skb, MESHTGT_A_STATE, d->state == TGT_DRIVE_UP ?
			   MESHBLK_STATE_UP : MESHBLK_STATE_GONE))
		goto err;
	do {
		next = extents_fill(skb, d, at);
		if (next < 0 || (next == at && at < n))
			goto err;
		at = next;
	} while (whole && at < n);
	genlmsg_end(skb, h);
	*from = at < n ? at : -1;
	return 0;
err:
	genlmsg_cancel(skb, h);
	return -EMSGSIZE;
}

static int nl_drive_dump(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct tgt_drive *d;
	long i = 0;

	mutex_lock(&tgt_lock);
	list_for_each_entry(d, &tgt_drives, node) {
		if (i++ < cb->args[0])
			continue;
		if (drive_fill(skb, d, NETLINK_CB(cb->skb).portid, cb->nlh->nlmsg_seq, NLM_F_MULTI,
			       &cb->args[1], false))
			break;
		if (cb->args[1] >= 0)
			break;
		cb->args[0]++;
		cb->args[1] = 0;
	}
	mutex_unlock(&tgt_lock);
	return skb->len;
}

static int nl_drive_get(struct sk_buff *skb, struct genl_info *info)
{
	struct sk_buff *msg = NULL;
	struct tgt_drive *d;
	int ret = -ENOENT;
	long from = 0;
	uuid_t uuid;

	if (!nl_need(info, MESHTGT_A_DRIVE_UUID))
		return -EINVAL;
	nl_attr_uuid(info->attrs[MESHTGT_A_DRIVE_UUID], &uuid);
	mutex_lock(&tgt_lock);
	d = tgt_drive_find(&uuid);
	if (d)
		msg = genlmsg_new(NLMSG_GOODSIZE + PATH_MAX + table_length(d) * X_BYTES, GFP_NOIO);
	if (d && !msg)
		ret = -ENOMEM;
	else if (d)
		ret = drive_fill(msg, d, info->snd_portid, info->snd_seq, 0, &from, true);
	mutex_unlock(&tgt_lock);
	if (!ret)
		return genlmsg_reply(msg, info);
	if (ret == -ENOENT)
		NL_SET_ERR_MSG(info->extack, "no such drive");
	else
		NL_SET_ERR_MSG(info->extack, "its table is too long for one message: dump it");
	nlmsg_free(msg);
	return ret;
}

static int stats_fill(struct sk_buff *skb, struct tgt_session *s)
{
	const struct {
		int attr;
		u64 n;
	} all[] = {
		{ MESHBLK_S_READS, tgt_session_count(s, TGT_READS) },
		{ MESHBLK_S_READ_BYTES, tgt_session_count(s, TGT_READ_BYTES) },
		{ MESHBLK_S_WRITES, tgt_session_count(s, TGT_WRITES) },
		{ MESHBLK_S_WRITE_BYTES, tgt_session_count(s, TGT_WRITE_BYTES) },
		{ MESHBLK_S_DISCARDS, tgt_session_count(s, TGT_DISCARDS) },
		{ MESHBLK_S_ERRORS, tgt_session_count(s, TGT_ERRORS) },
		{ MESHBLK_S_RDMA_SENDS, tgt_session_count(s, TGT_SENDS) },
		{ MESHBLK_S_PUSHES, tgt_session_count(s, TGT_PUSHES) },
		{ MESHBLK_S_COMMANDS, tgt_session_count(s, TGT_COMMANDS) },
	};
	struct nlattr *nest = nla_nest_start(skb, MESHTGT_A_STATS);
	unsigned int i;

	if (!nest)
		return -EMSGSIZE;
	for (i = 0; i < ARRAY_SIZE(all); i++)
		if (nla_put_u64_64bit(skb, all[i].attr, all[i].n, MESHBLK_S_PAD))
			return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

static int session_fill(struct sk_buff *skb, struct tgt_session *s, u32 port, u32 seq, int flags)
{
	void *h = genlmsg_put(skb, port, seq, &family, flags, MESHTGT_CMD_SESSION_GET);

	if (!h)
		return -EMSGSIZE;
	if (nla_put_u32(skb, MESHTGT_A_SESSION, s->id) ||
	    nla_put(skb, MESHTGT_A_HOST_UUID, 16, &s->client.host) ||
	    (s->client.role && nla_put_u8(skb, MESHTGT_A_HOST_ROLE, s->client.role)) ||
	    nla_put_string(skb, MESHTGT_A_STATE, tgt_state_name(tgt_session_state(s))) ||
	    nla_put_s32(skb, MESHTGT_A_ERROR, s->err) ||
	    nla_put_u32(skb, MESHTGT_A_CHANNELS, s->nr_channels) ||
	    nla_put_u64_64bit(skb, MESHTGT_A_MEMORY, tgt_session_memory(s), MESHTGT_A_PAD) ||
	    stats_fill(skb, s)) {
		genlmsg_cancel(skb, h);
		return -EMSGSIZE;
	}
	genlmsg_end(skb, h);
	return 0;
}

static int nl_session_dump(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct tgt_session *s;
	long i = 0;

	mutex_lock(&tgt_lock);
	list_for_each_entry(s, &tgt_sessions, node) {
		if (!s->client.proved || i++ < cb->args[0])
			continue;
		if (session_fill(skb, s, NETLINK_CB(cb->skb).portid, cb->nlh->nlmsg_seq,
				 NLM_F_MULTI))
			break;
		cb->args[0]++;
	}
	mutex_unlock(&tgt_lock);
	return skb->len;
}

static int nl_session_del(struct sk_buff *skb, struct genl_info *info)
{
	struct tgt_session *s;

	if (nl_may_change(skb, info))
		return -EPERM;
	if (!nl_need(info, MESHTGT_A_SESSION))
		return -EINVAL;
	s = tgt_session_find(nla_get_u32(info->attrs[MESHTGT_A_SESSION]));
	if (!s) {
		NL_SET_ERR_MSG(info->extack, "no such session");
		return -ENOENT;
	}
	tgt_session_kill(s, -EACCES);
	tgt_session_put(s);
	return 0;
}

static int nl_serve(struct sk_buff *skb, struct genl_info *info)
{
	if (nl_may_change(skb, info))
		return -EPERM;
	tgt_server_set(info->snd_portid);
	return 0;
}

static int nl_is_server(struct genl_info *info)
{
	if (tgt_server_is(info->snd_portid))
		return 0;
	NL_SET_ERR_MSG(info->extack, "only the socket that serves may answer");
	return -EPERM;
}

static int nl_grant_reply(struct sk_buff *skb, struct genl_info *info)
{
	struct nlattr *err = info->attrs[MESHTGT_A_ERROR];
	int ret;

	if (nl_may_change(skb, info) || nl_is_server(info))
		return -EPERM;
	if (!nl_need(info, MESHTGT_A_REQUEST))
		return -EINVAL;
	ret = tgt_open_answered(nla_get_u64(info->attrs[MESHTGT_A_REQUEST]),
				err ? nla_get_s32(err) : 0);
	if (ret)
		NL_SET_ERR_MSG(info->extack, "no request waits for this answer (any more)");
	return ret;
}

#define OP(name, fn)	{ .cmd = MESHTGT_CMD_##name, .doit = fn }

static const struct genl_ops ops[] = {
	OP(IDENTITY_SET, nl_identity_set),
	OP(LISTEN, nl_listen),
	OP(DRIVE_ADD, nl_drive_add),
	OP(DRIVE_DEL, nl_drive_del),
	{ .cmd = MESHTGT_CMD_DRIVE_GET, .doit = nl_drive_get, .dumpit = nl_drive_dump },
	OP(EXTENTS_SET, nl_extents_set),
	{ .cmd = MESHTGT_CMD_SESSION_GET, .dumpit = nl_session_dump },
	OP(SESSION_DEL, nl_session_del),
	OP(SERVE, nl_serve),
	OP(GRANT_REPLY, nl_grant_reply),
};

static const struct genl_multicast_group groups[] = {
	{ .name = MESHTGT_GENL_EVENTS },
};

static struct genl_family family __ro_after_init = {
	.name		= MESHTGT_GENL_NAME,
	.version	= MESHTGT_GENL_VERSION,
	.maxattr	= MESHTGT_A_MAX,
	.policy		= policy,
	.parallel_ops	= true,
	.netnsok	= false,
	.module		= THIS_MODULE,
	.ops		= ops,
	.n_ops		= ARRAY_SIZE(ops),
	.resv_start_op	= MESHTGT_CMD_IDENTITY_SET,
	.mcgrps		= groups,
	.n_mcgrps	= ARRAY_SIZE(groups),
};

/* Take orders. */
int __init tgt_nl_init(void)
{
	int ret = tgt_events_init(&family);

	if (ret)
		return ret;
	ret = genl_register_family(&family);
	if (ret)
		tgt_events_exit();
	return ret;
}

/* Take no more orders; waits for those being carried out. */
void tgt_nl_exit(void)
{
	genl_unregister_family(&family);
	tgt_events_exit();
}
