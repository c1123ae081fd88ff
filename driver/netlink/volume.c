// SPDX-License-Identifier: GPL-2.0-only
/* VOLUME_SET, VOLUME_GET, ABANDONED_GET. */
#define pr_fmt(fmt) "meshblk: " fmt
#include <linux/slab.h>

#include "driver/group/group.h"
#include "driver/netlink/netlink.h"
#include "driver/volume/volume.h"
#include "rdda/rdda.h"

/* Room for a volume, and for each of its members, in an answer. */
#define MESH_NL_VOLUME_BYTES	1280
#define MESH_NL_MEMBER_BYTES	800
/* ... and for the last roster of each group, which has two members at least. */
#define MESH_NL_NUMBERED_BYTES	(MESHBLK_ROSTER_BYTES / 2 + 32)

/* Members in one MEMBERS attribute, which holds 64 KiB at most. */
#define MESH_NL_MEMBERS_CHUNK	64

static int mesh_nl_conf(struct genl_info *info, struct mesh_volume_conf *conf)
{
	struct nlattr **a = info->attrs;

	if (!a[MESHBLK_A_VOLUME_UUID] || !a[MESHBLK_A_EPOCH] || !a[MESHBLK_A_LBA])
		return mesh_nl_refuse(info, -EINVAL, "a volume needs uuid, epoch and block size");
	memset(conf, 0, sizeof(*conf));
	import_uuid(&conf->uuid, nla_data(a[MESHBLK_A_VOLUME_UUID]));
	if (uuid_is_null(&conf->uuid))
		return mesh_nl_refuse(info, -EINVAL, "the volume's UUID is zero");
	if (a[MESHBLK_A_NAME])
		nla_strscpy(conf->name, a[MESHBLK_A_NAME], sizeof(conf->name));
	if (!mesh_nl_text(conf->name) || strchr(conf->name, '/'))
		return mesh_nl_refuse(info, -EINVAL,
				      "a name is printable ASCII without spaces and slashes");
	conf->lba = nla_get_u32(a[MESHBLK_A_LBA]);
	if (conf->lba != 512 && conf->lba != 4096)
		return mesh_nl_refuse(info, -EINVAL, "a block is 512 or 4096 bytes");
	conf->ro = nla_get_flag(a[MESHBLK_A_READONLY]);
	if (a[MESHBLK_A_QUEUE_DEPTH])
		conf->depth = nla_get_u32(a[MESHBLK_A_QUEUE_DEPTH]);
	if (a[MESHBLK_A_IO_TIMEOUT_MS])
		conf->timeout_ms = nla_get_u32(a[MESHBLK_A_IO_TIMEOUT_MS]);
	return 0;
}

/*
 * The seed of records is the first 8 bytes, little endian, of the HMAC of the volume's UUID. The
 * key is the salt, a secret. @salt: set to the seed.
 */
static int mesh_nl_salt(struct genl_info *info, const uuid_t *volume, u64 *salt)
{
	char name[sizeof(MESHBLK_SALT_NAME) + UUID_STRING_LEN];
	__le64 hmac[RDDA_HMAC_LEN / sizeof(__le64)];
	u8 secret[sizeof(*salt)];
	int err;

	snprintf(name, sizeof(name), MESHBLK_SALT_NAME "%pUb", volume);
	err = rdda_secret_read(nla_get_s32(info->attrs[MESHBLK_A_SALT_SERIAL]), name, secret,
			       sizeof(secret), info->extack);
	if (err >= 0 && err != sizeof(secret))
		err = mesh_nl_refuse(info, -EINVAL, "a volume's salt has 8 bytes");
	if (err > 0)
		err = rdda_hmac(secret, sizeof(secret), volume, sizeof(*volume), (u8 *)hmac);
	if (!err)
		*salt = le64_to_cpu(hmac[0]);
	memzero_explicit(secret, sizeof(secret));
	memzero_explicit(hmac, sizeof(hmac));
	return err;
}

static int mesh_nl_groups(struct genl_info *info, const uuid_t *volume,
			  struct mesh_group_conf *groups)
{
	struct nlattr **a = info->attrs;

	*groups = (struct mesh_group_conf) {
		.stale = nla_get_flag(a[MESHBLK_A_STALE]),
		.again = nla_get_flag(a[MESHBLK_A_AGAIN]),
		.beside_store = nla_get_flag(a[MESHBLK_A_BESIDE_STORE]),
	};
	if (a[MESHBLK_A_ATTACH])
		groups->attach = nla_get_u64(a[MESHBLK_A_ATTACH]);
	return a[MESHBLK_A_SALT_SERIAL] ? mesh_nl_salt(info, volume, &groups->salt) : 0;
}

int mesh_nl_volume_set(struct sk_buff *skb, struct genl_info *info)
{
	struct mesh_volume_layout layout = { 0 };
	struct mesh_group_conf groups;
	struct mesh_volume_conf conf;
	int err;

	err = mesh_nl_admin(skb, info) ?: mesh_nl_conf(info, &conf) ?:
	      mesh_nl_access(info, conf.ro, &conf.access) ?:
	      mesh_nl_groups(info, &conf.uuid, &groups);
	if (err)
		return err;
	layout.epoch = nla_get_u64(info->attrs[MESHBLK_A_EPOCH]);
	err = mesh_nl_layout(info, conf.lba, !conf.ro, &layout.prot, &layout.members,
			     &layout.fresh);
	if (err)
		return err;
	err = mesh_nl_places_of(info, MESHBLK_A_BARS, layout.prot->nr_places, &layout.bars) ?:
	      mesh_nl_places_of(info, MESHBLK_A_FORGOTTEN, layout.prot->nr_places,
				&layout.forgotten) ?:
	      mesh_nl_leavings(info, layout.prot, !conf.ro, &groups) ?:
	      mesh_volume_set(&conf, &layout, &groups, info->extack);
	kvfree(groups.leavings);
	kvfree(layout.forgotten);
	kvfree(layout.bars);
	kvfree(layout.fresh);
	kvfree(layout.members);
	kvfree(layout.prot);
	return err;
}

static int mesh_nl_put_stats(struct sk_buff *skb, struct mesh_member *m)
{
	struct nlattr *nest = nla_nest_start(skb, MESHBLK_M_STATS);
	struct mesh_member_stats s;

	if (!nest)
		return -EMSGSIZE;
	mesh_member_stats(m, &s);
	if (mesh_nl_put_u64(skb, MESHBLK_S_READS, s.reads) ||
	    mesh_nl_put_u64(skb, MESHBLK_S_READ_BYTES, s.read_bytes) ||
	    mesh_nl_put_u64(skb, MESHBLK_S_WRITES, s.writes) ||
	    mesh_nl_put_u64(skb, MESHBLK_S_WRITE_BYTES, s.write_bytes) ||
	    mesh_nl_put_u64(skb, MESHBLK_S_DISCARDS, s.discards) ||
	    mesh_nl_put_u64(skb, MESHBLK_S_ERRORS, s.errors) ||
	    mesh_nl_put_u64(skb, MESHBLK_S_RETRIES, s.retries) ||
	    mesh_nl_put_u64(skb, MESHBLK_S_STAGED, s.staged) ||
	    mesh_nl_put_u64(skb, MESHBLK_S_STALE, s.stale) ||
	    mesh_nl_put_u64(skb, MESHBLK_S_INFLIGHT, s.started - s.ended))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

/* Put the place of a member, and the number of its abandoned I/Os. */
static int mesh_nl_put_place(struct sk_buff *skb, struct mesh_member *m, u64 size)
{
	u32 abandoned = atomic_read(&m->abandoned);
	char path[MESH_PATH_MAX];

	if (nla_put_u8(skb, MESHBLK_M_KIND, m->conf.kind) ||
	    nla_put(skb, MESHBLK_M_EXTENT_UUID, UUID_SIZE, &m->conf.uuid) ||
	    mesh_nl_put_u64(skb, MESHBLK_M_SIZE, size) ||
	    (abandoned && nla_put_u32(skb, MESHBLK_M_ABANDONED, abandoned)))
		return -EMSGSIZE;
	if (m->conf.kind == MESHBLK_KIND_RDDA &&
	    nla_put_u32(skb, MESHBLK_M_TARGET_ID, m->conf.target))
		return -EMSGSIZE;
	if (!uuid_is_null(&m->conf.drive) &&
	    nla_put(skb, MESHBLK_M_DRIVE_UUID, UUID_SIZE, &m->conf.drive))
		return -EMSGSIZE;
	mesh_member_path(m, path);
	if (path[0] && nla_put_string(skb, MESHBLK_M_PATH, path))
		return -EMSGSIZE;
	return m->conf.start ? mesh_nl_put_u64(skb, MESHBLK_M_START, m->conf.start) : 0;
}

/* Put the access number of a member's extent, and the host that has the extent open. */
static int mesh_nl_put_holder(struct sk_buff *skb, struct mesh_member *m)
{
	uuid_t holder;
	u64 attach;

	mutex_lock(&m->lock);
	attach = m->info.attach;
	holder = m->info.holder;
	mutex_unlock(&m->lock);
	if (attach && mesh_nl_put_u64(skb, MESHBLK_M_ATTACH, attach))
		return -EMSGSIZE;
	if (READ_ONCE(m->err) != -EBUSY || uuid_is_null(&holder))
		return 0;
	return nla_put(skb, MESHBLK_M_HOLDER, UUID_SIZE, &holder);
}

static int mesh_nl_put_member(struct sk_buff *skb, struct mesh_member_slot *slot)
{
	struct nlattr *nest = nla_nest_start(skb, MESHBLK_A_MEMBER);
	struct mesh_member *m = slot->member;

	if (!nest || mesh_nl_put_place(skb, m, slot->size) ||
	    nla_put_string(skb, MESHBLK_M_STATE, mesh_member_state_name(READ_ONCE(m->state))) ||
	    nla_put_s32(skb, MESHBLK_M_ERROR, READ_ONCE(m->err)) || mesh_nl_put_stats(skb, m) ||
	    (slot->layout->vol->access.numbered && mesh_nl_put_holder(skb, m)))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

static int mesh_nl_put_members(struct sk_buff *skb, struct mesh_layout *l)
{
	struct nlattr *nest;
	u32 i, end;
	int err;

	for (i = 0; i < l->nr;) {
		nest = nla_nest_start(skb, MESHBLK_A_MEMBERS);
		if (!nest)
			return -EMSGSIZE;
		for (end = min(l->nr, i + MESH_NL_MEMBERS_CHUNK); i < end; i++) {
			err = mesh_nl_put_member(skb, &l->member_slots[i]);
			if (err)
				return err;
		}
		nla_nest_end(skb, nest);
	}
	return 0;
}

/*
 * Put name, state, disk and reason as of one moment: a reason goes with the state that it explains.
 * Without vol->lock, which may be held for as long as an attach or detach takes.
 */
static int mesh_nl_put_disk(struct sk_buff *skb, struct mesh_volume *vol)
{
	int err;

	mutex_lock(&vol->event_lock);
	err = nla_put_string(skb, MESHBLK_A_NAME, vol->conf.name) ?:
	      nla_put_string(skb, MESHBLK_A_STATE, mesh_volume_state_name(vol->state));
	if (!err && vol->live)
		err = nla_put_string(skb, MESHBLK_A_DISK, vol->disk->disk_name) ?:
		      nla_put_u32(skb, MESHBLK_A_OPENERS, disk_openers(vol->disk));
	if (!err && vol->err)
		err = nla_put_s32(skb, MESHBLK_A_ERROR, vol->err);
	if (!err && vol->reason)
		err = nla_put_string(skb, MESHBLK_A_REASON, vol->reason);
	mutex_unlock(&vol->event_lock);
	return err;
}

static int mesh_nl_put_volume(struct sk_buff *skb, struct mesh_volume *vol,
			      struct mesh_layout *l, bool members)
{
	int err;

	if (nla_put(skb, MESHBLK_A_VOLUME_UUID, UUID_SIZE, &vol->conf.uuid))
		return -EMSGSIZE;
	err = mesh_nl_put_disk(skb, vol);
	if (err)
		return err;
	if (nla_put_u32(skb, MESHBLK_A_LBA, vol->conf.lba) ||
	    nla_put_u32(skb, MESHBLK_A_IO_TIMEOUT_MS, jiffies_to_msecs(READ_ONCE(vol->timeout))) ||
	    (vol->conf.ro && nla_put_flag(skb, MESHBLK_A_READONLY)))
		return -EMSGSIZE;
	err = mesh_nl_put_access(skb, vol, l);
	if (err || !l)
		return err;
	if (mesh_nl_put_u64(skb, MESHBLK_A_EPOCH, l->epoch) ||
	    mesh_nl_put_u64(skb, MESHBLK_A_SIZE, l->prot->size))
		return -EMSGSIZE;
	return members ? mesh_nl_put_members(skb, l) ?: mesh_nl_put_groups(skb, l) : 0;
}

/* Return: room for members and groups in an answer. */
static size_t mesh_nl_members_bytes(const struct mesh_volume *vol, const struct mesh_layout *l)
{
	size_t bytes = l ? (size_t)l->nr * MESH_NL_MEMBER_BYTES : 0;

	if (l && vol->access.numbered)	/* a roster in each place's share, and the place barred */
		bytes += l->prot->nr_places * (MESH_NL_NUMBERED_BYTES + sizeof(u32));
	return bytes;
}

int mesh_nl_volume_get(struct sk_buff *skb, struct genl_info *info)
{
	struct mesh_volume *vol = mesh_nl_volume(info);
	struct mesh_layout *l;
	struct sk_buff *msg;
	int err = -ENOMEM;
	void *hdr;

	if (IS_ERR(vol))
		return PTR_ERR(vol);
	l = mesh_layout_pin(vol);
	msg = genlmsg_new(MESH_NL_VOLUME_BYTES + mesh_nl_members_bytes(vol, l), GFP_KERNEL);
	if (!msg)
		goto put;
	hdr = genlmsg_put_reply(msg, info, &mesh_nl_family, 0, MESHBLK_CMD_VOLUME_GET);
	err = hdr ? mesh_nl_put_volume(msg, vol, l, true) : -EMSGSIZE;
	if (err) {
		nlmsg_free(msg);
		goto put;
	}
	genlmsg_end(msg, hdr);
	err = genlmsg_reply(msg, info);
put:
	if (l)
		mesh_layout_unpin(l);
	mesh_volume_put(vol);
	return err;
}

/* Put one volume into a dump; without its members if they do not fit into an empty message. */
static int mesh_nl_dump_one(struct sk_buff *skb, struct netlink_callback *cb,
			    struct mesh_volume *vol)
{
	bool members, first = !skb->len;
	struct mesh_layout *l;
	int err = -EMSGSIZE;
	void *hdr;

	l = mesh_layout_pin(vol);
	for (members = true;; members = false) {
		hdr = genlmsg_put(skb, NETLINK_CB(cb->skb).portid, cb->nlh->nlmsg_seq,
				  &mesh_nl_family, NLM_F_MULTI, MESHBLK_CMD_VOLUME_GET);
		if (!hdr)
			break;
		err = mesh_nl_put_volume(skb, vol, l, members);
		if (!err)
			genlmsg_end(skb, hdr);
		else
			genlmsg_cancel(skb, hdr);
		if (!err || !members || !first)
			break;
	}
	if (l)
		mesh_layout_unpin(l);
	return err;
}

int mesh_nl_volume_dump(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct mesh_volume *vol;
	int err = 0;

	while (!err && (vol = mesh_volume_next(cb->args[0]))) {
		err = mesh_nl_dump_one(skb, cb, vol);
		if (!err)
			cb->args[0]++;
		mesh_volume_put(vol);
	}
	return skb->len ?: err;
}

static int mesh_nl_put_abandoned(struct sk_buff *skb, void *member)
{
	struct mesh_member *m = member;
	struct nlattr *nest;

	if (nla_put(skb, MESHBLK_A_VOLUME_UUID, UUID_SIZE, &m->volume))
		return -EMSGSIZE;
	nest = nla_nest_start(skb, MESHBLK_A_MEMBER);
	if (!nest || mesh_nl_put_place(skb, m, READ_ONCE(m->conf.size)))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

static void *nl_abandoned_next(unsigned int skip)
{
	return mesh_member_next_abandoned(skip);
}

static void nl_abandoned_put(void *member)
{
	mesh_member_put_later(member);
}

/* Dump the members with abandoned I/O, also of volumes that have gone. */
int mesh_nl_abandoned_dump(struct sk_buff *skb, struct netlink_callback *cb)
{
	static const struct mesh_nl_dump_ops ops = {
		.cmd = MESHBLK_CMD_ABANDONED_GET,
		.next = nl_abandoned_next,
		.fill = mesh_nl_put_abandoned,
		.put = nl_abandoned_put,
	};

	return mesh_nl_dump(skb, cb, &ops);
}
