// SPDX-License-Identifier: GPL-2.0-only
/* A message's members and segments, as a checked layout and member confs. */
#define pr_fmt(fmt) "meshblk: " fmt
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/sort.h>

#include "driver/group/group.h"
#include "driver/netlink/netlink.h"
#include "protect/engine/geometry.h"

#define MESH_NL_UUID	NLA_POLICY_EXACT_LEN(UUID_SIZE)

static const struct nla_policy member_policy[MESHBLK_M_MAX + 1] = {
	[MESHBLK_M_KIND] = NLA_POLICY_RANGE(NLA_U8, MESHBLK_KIND_RDDA, MESHBLK_KIND_MEM),
	[MESHBLK_M_TARGET_ID] = { .type = NLA_U32 },
	[MESHBLK_M_EXTENT_UUID] = MESH_NL_UUID,
	[MESHBLK_M_DRIVE_UUID] = MESH_NL_UUID,
	[MESHBLK_M_EPOCH] = { .type = NLA_U64 },
	[MESHBLK_M_PREEMPT] = { .type = NLA_FLAG },
	[MESHBLK_M_PATH] = { .type = NLA_NUL_STRING, .len = MESH_PATH_MAX - 1 },
	[MESHBLK_M_SIZE] = NLA_POLICY_MIN(NLA_U64, 1),
	[MESHBLK_M_LBA] = { .type = NLA_U32 },
	[MESHBLK_M_START] = { .type = NLA_U64 },
	[MESHBLK_M_PLACE] = { .type = NLA_U32 },
};

static const struct nla_policy segment_policy[MESHBLK_G_MAX + 1] = {
	[MESHBLK_G_START] = { .type = NLA_U64 },
	[MESHBLK_G_LENGTH] = NLA_POLICY_MIN(NLA_U64, 1),
	[MESHBLK_G_LEVEL] = { .type = NLA_U8 },
	[MESHBLK_G_STRIP] = { .type = NLA_U32 },
	[MESHBLK_G_DATA] = { .type = NLA_U8 },
	[MESHBLK_G_PARITY] = { .type = NLA_U8 },
	[MESHBLK_G_GROUPS] = { .type = NLA_U16 },
	[MESHBLK_G_MEMBERS] = NLA_POLICY_MIN(NLA_BINARY, sizeof(u32)),
	[MESHBLK_G_OFFSETS] = NLA_POLICY_MIN(NLA_BINARY, sizeof(u64)),
	[MESHBLK_G_FRESH] = { .type = NLA_FLAG },
};

/* Numbers of the entries in a message. */
struct mesh_nl_counts {
	u32 members;
	u32 segments;
	u32 places;
};

static int mesh_nl_member_kind(struct mesh_member_conf *conf, struct nlattr **tb,
			       struct genl_info *info)
{
	switch (conf->kind) {
	case MESHBLK_KIND_RDDA:
		if (!tb[MESHBLK_M_TARGET_ID] || !tb[MESHBLK_M_DRIVE_UUID])
			return mesh_nl_refuse(info, -EINVAL,
					      "an rdda member needs a target and a drive");
		conf->target = nla_get_u32(tb[MESHBLK_M_TARGET_ID]);
		import_uuid(&conf->drive, nla_data(tb[MESHBLK_M_DRIVE_UUID]));
		if (tb[MESHBLK_M_EPOCH])
			conf->epoch = nla_get_u64(tb[MESHBLK_M_EPOCH]);
		conf->preempt = nla_get_flag(tb[MESHBLK_M_PREEMPT]);
		return 0;
	case MESHBLK_KIND_BDEV:
		if (!tb[MESHBLK_M_PATH] && !tb[MESHBLK_M_DRIVE_UUID])
			return mesh_nl_refuse(info, -EINVAL,
					      "a bdev member needs a path, or the drive that is away");
		if (tb[MESHBLK_M_DRIVE_UUID])
			import_uuid(&conf->drive, nla_data(tb[MESHBLK_M_DRIVE_UUID]));
		if (tb[MESHBLK_M_START])
			conf->start = nla_get_u64(tb[MESHBLK_M_START]);
		if (conf->start % SZ_4K || conf->start > PROT_SIZE_MAX)
			return mesh_nl_refuse(info, -EINVAL,
					      "a member begins at a multiple of 4096 bytes");
		break;
	default:
		if (tb[MESHBLK_M_LBA])
			conf->lba = nla_get_u32(tb[MESHBLK_M_LBA]);
		if (conf->lba && conf->lba != 512 && conf->lba != 4096)
			return mesh_nl_refuse(info, -EINVAL, "a block is 512 or 4096 bytes");
	}
	if (tb[MESHBLK_M_PATH])
		nla_strscpy(conf->path, tb[MESHBLK_M_PATH], sizeof(conf->path));
	if (!mesh_nl_text(conf->path))
		return mesh_nl_refuse(info, -EINVAL, "a path is printable ASCII without spaces");
	return 0;
}

/* Parse a MEMBER attribute. @rw: the member is to be opened for writing. */
int mesh_nl_member(struct nlattr *attr, struct mesh_member_conf *conf, bool rw,
		   struct genl_info *info)
{
	struct nlattr *tb[MESHBLK_M_MAX + 1];
	int err;

	err = nla_parse_nested(tb, MESHBLK_M_MAX, attr, member_policy, info->extack);
	if (err)
		return err;
	if (!tb[MESHBLK_M_KIND] || !tb[MESHBLK_M_EXTENT_UUID] || !tb[MESHBLK_M_SIZE])
		return mesh_nl_refuse(info, -EINVAL, "a member needs kind, extent and size");
	memset(conf, 0, sizeof(*conf));
	conf->kind = nla_get_u8(tb[MESHBLK_M_KIND]);
	conf->rw = rw;
	conf->size = nla_get_u64(tb[MESHBLK_M_SIZE]);
	import_uuid(&conf->uuid, nla_data(tb[MESHBLK_M_EXTENT_UUID]));
	if (uuid_is_null(&conf->uuid))
		return mesh_nl_refuse(info, -EINVAL, "the extent's UUID is zero");
	if (conf->size > PROT_SIZE_MAX)
		return mesh_nl_refuse(info, -EINVAL, "a member is too large");
	return mesh_nl_member_kind(conf, tb, info);
}

/* For each attribute @top of the message with this type, for each entry @e in its array. */
#define mesh_nl_for_each_entry(e, top, type, info, rem1, rem2) \
	nlmsg_for_each_attr(top, (info)->nlhdr, GENL_HDRLEN, rem1) \
		if (nla_type(top) == (type)) \
			nla_for_each_nested(e, top, rem2)

static int mesh_nl_count(struct genl_info *info, struct mesh_nl_counts *n)
{
	struct nlattr *top, *e;
	int rem1, rem2;

	mesh_nl_for_each_entry(e, top, MESHBLK_A_MEMBERS, info, rem1, rem2) {
		if (nla_type(e) != MESHBLK_A_MEMBER)
			return mesh_nl_refuse(info, -EINVAL, "MEMBERS holds MEMBER alone");
		n->members++;
	}
	mesh_nl_for_each_entry(e, top, MESHBLK_A_SEGMENTS, info, rem1, rem2) {
		struct nlattr *tb[MESHBLK_G_MAX + 1];
		int err;

		if (nla_type(e) != MESHBLK_A_SEGMENT)
			return mesh_nl_refuse(info, -EINVAL, "SEGMENTS holds SEGMENT alone");
		n->segments++;
		err = nla_parse_nested(tb, MESHBLK_G_MAX, e, segment_policy, info->extack);
		if (err)
			return err;
		if (tb[MESHBLK_G_MEMBERS])
			n->places += nla_len(tb[MESHBLK_G_MEMBERS]) / sizeof(u32);
	}
	if (!n->members || !n->segments || !n->places)
		return mesh_nl_refuse(info, -EINVAL, "a layout needs members and segments");
	return 0;
}

static int mesh_nl_places(struct prot_layout *l, u32 first, struct nlattr **tb,
			  struct genl_info *info)
{
	const u8 *members = nla_data(tb[MESHBLK_G_MEMBERS]);
	const u8 *offsets = nla_data(tb[MESHBLK_G_OFFSETS]);
	u32 i, n = nla_len(tb[MESHBLK_G_MEMBERS]) / sizeof(u32);

	if (nla_len(tb[MESHBLK_G_MEMBERS]) % sizeof(u32) ||
	    nla_len(tb[MESHBLK_G_OFFSETS]) != n * sizeof(u64))
		return mesh_nl_refuse(info, -EINVAL, "a segment needs one offset for each member");
	for (i = 0; i < n; i++) {
		struct prot_place *p = &prot_places(l)[first + i];

		/* attributes are aligned to 4 bytes only */
		memcpy(&p->member, members + i * sizeof(u32), sizeof(u32));
		memcpy(&p->offset, offsets + i * sizeof(u64), sizeof(u64));
	}
	return n;
}

static u32 mesh_nl_u8_or(struct nlattr *attr, u8 otherwise)
{
	return attr ? nla_get_u8(attr) : otherwise;
}

/* Return: the number of the segment's places, or a negative errno. */
static int mesh_nl_segment(struct nlattr *attr, struct prot_layout *l, u32 index, u32 first,
			   unsigned long *fresh, struct genl_info *info)
{
	struct nlattr *tb[MESHBLK_G_MAX + 1];
	int err, n;

	err = nla_parse_nested(tb, MESHBLK_G_MAX, attr, segment_policy, info->extack);
	if (err)
		return err;
	if (!tb[MESHBLK_G_START] || !tb[MESHBLK_G_LENGTH] || !tb[MESHBLK_G_LEVEL] ||
	    !tb[MESHBLK_G_STRIP] || !tb[MESHBLK_G_MEMBERS] || !tb[MESHBLK_G_OFFSETS])
		return mesh_nl_refuse(info, -EINVAL, "a segment lacks an attribute");
	n = mesh_nl_places(l, first, tb, info);
	if (n < 0)
		return n;
	if (nla_get_flag(tb[MESHBLK_G_FRESH]))
		__set_bit(index, fresh);
	prot_segments(l)[index] = (struct prot_segment) {
		.start = nla_get_u64(tb[MESHBLK_G_START]),
		.length = nla_get_u64(tb[MESHBLK_G_LENGTH]),
		.strip = nla_get_u32(tb[MESHBLK_G_STRIP]),
		.level = nla_get_u8(tb[MESHBLK_G_LEVEL]),
		.data = mesh_nl_u8_or(tb[MESHBLK_G_DATA], 1),
		.parity = mesh_nl_u8_or(tb[MESHBLK_G_PARITY], 0),
		.groups = tb[MESHBLK_G_GROUPS] ? nla_get_u16(tb[MESHBLK_G_GROUPS]) : 1,
		.first = first,
	};
	return n;
}

static int mesh_nl_segments(struct genl_info *info, struct prot_layout *l,
			    unsigned long *fresh)
{
	u32 index = 0, first = 0;
	struct nlattr *top, *e;
	int rem1, rem2, n;

	mesh_nl_for_each_entry(e, top, MESHBLK_A_SEGMENTS, info, rem1, rem2) {
		n = mesh_nl_segment(e, l, index++, first, fresh, info);
		if (n < 0)
			return n;
		first += n;
	}
	return 0;
}

static int mesh_nl_members(struct genl_info *info, struct prot_layout *l,
			   struct mesh_member_conf *confs, bool rw)
{
	struct nlattr *top, *e;
	int rem1, rem2, err;
	u32 i = 0;

	mesh_nl_for_each_entry(e, top, MESHBLK_A_MEMBERS, info, rem1, rem2) {
		err = mesh_nl_member(e, &confs[i], rw, info);
		if (err)
			return err;
		prot_member_sizes(l)[i] = confs[i].size;
		i++;
	}
	return 0;
}

static int mesh_nl_conf_by_uuid(const void *a, const void *b)
{
	const struct mesh_member_conf *const *x = a, *const *y = b;

	return memcmp(&(*x)->uuid, &(*y)->uuid, sizeof(uuid_t));
}

/* Refuse a layout with one extent twice: the extent would be handed out to two places. */
static int mesh_nl_unique(const struct mesh_member_conf *confs, u32 n, struct genl_info *info)
{
	const struct mesh_member_conf **sorted = kvmalloc_array(n, sizeof(*sorted), GFP_KERNEL);
	bool twice = false;
	u32 i;

	if (!sorted)
		return -ENOMEM;
	for (i = 0; i < n; i++)
		sorted[i] = &confs[i];
	sort(sorted, n, sizeof(*sorted), mesh_nl_conf_by_uuid, NULL);
	for (i = 1; i < n; i++)
		twice |= uuid_equal(&sorted[i]->uuid, &sorted[i - 1]->uuid);
	kvfree(sorted);
	return twice ? mesh_nl_refuse(info, -EINVAL, "an extent is a member twice") : 0;
}

/* Return: why groups of the layout cannot be served, or NULL. */
static const char *mesh_nl_unserved(const struct prot_layout *l)
{
	u32 i, n;

	for (i = 0; i < l->nr_segments; i++) {
		const struct prot_segment *s = prot_segments(l) + i;
		u64 area = prot_geometry_area(s, l->lba);

		for (n = 0; area && n < prot_segment_places(s); n++)
			if (prot_places(l)[s->first + n].offset < area)
				return "data of a group leaves no room for its records";
	}
	return NULL;
}

/*
 * Make the layout of a VOLUME_SET. @rw: members are opened for writing. @prot: set to a checked
 * layout, @confs: to its members, @fresh: to a bit for each segment that was never attached. Each
 * is to be freed with kvfree().
 */
int mesh_nl_layout(struct genl_info *info, u32 lba, bool rw, struct prot_layout **prot,
		   struct mesh_member_conf **confs, unsigned long **fresh)
{
	struct mesh_nl_counts n = { 0 };
	struct prot_layout *l;
	const char *why;
	size_t bytes;
	void *mem;
	int err;

	err = mesh_nl_count(info, &n);
	if (err)
		return err;
	bytes = prot_layout_bytes(n.segments, n.places, n.members);
	if (!bytes)
		return mesh_nl_refuse(info, -EINVAL,
				      "a layout has at most 1024 members, 512 segments, 2048 places");
	mem = kvzalloc(bytes, GFP_KERNEL);
	*confs = kvcalloc(n.members, sizeof(**confs), GFP_KERNEL);
	*fresh = kvcalloc(BITS_TO_LONGS(n.segments), sizeof(**fresh), GFP_KERNEL);
	err = -ENOMEM;
	if (!mem || !*confs || !*fresh)
		goto free;
	l = prot_layout_init(mem, lba, n.segments, n.places, n.members);
	err = mesh_nl_members(info, l, *confs, rw) ?: mesh_nl_unique(*confs, n.members, info) ?:
	      mesh_nl_segments(info, l, *fresh);
	if (err)
		goto free;
	why = prot_layout_check(l) ?: mesh_nl_unserved(l);
	if (why) {
		err = -EINVAL;
		if (info->extack)
			info->extack->_msg = why;
		goto free;
	}
	*prot = l;
	return 0;
free:
	kvfree(*fresh);
	kvfree(*confs);
	kvfree(mem);
	return err;
}

/*
 * Parse LEAVINGS, of a message with the checked layout @l. @groups: the array is set, to be freed
 * with kvfree().
 */
int mesh_nl_leavings(struct genl_info *info, const struct prot_layout *l, bool rw,
		     struct mesh_group_conf *groups)
{
	struct nlattr *top = info->attrs[MESHBLK_A_LEAVINGS], *e;
	struct mesh_leaving *x;
	int rem, err;
	u32 n = 0;

	if (!top)
		return 0;
	nla_for_each_nested(e, top, rem)
		n++;
	groups->leavings = kvcalloc(n, sizeof(*groups->leavings), GFP_KERNEL);
	if (n && !groups->leavings)
		return -ENOMEM;
	nla_for_each_nested(e, top, rem) {
		struct nlattr *place;

		x = &groups->leavings[groups->nr_leavings];
		err = nla_type(e) == MESHBLK_A_MEMBER ? mesh_nl_member(e, &x->conf, rw, info) :
		      mesh_nl_refuse(info, -EINVAL, "LEAVINGS holds MEMBER alone");
		if (err)
			return err;
		place = nla_find(nla_data(e), nla_len(e), MESHBLK_M_PLACE);
		if (!place || nla_get_u32(place) >= l->nr_places)
			return mesh_nl_refuse(info, -EINVAL,
					      "LEAVINGS names no place of the layout");
		x->place = nla_get_u32(place);
		groups->nr_leavings++;
	}
	return 0;
}
