// SPDX-License-Identifier: GPL-2.0-only
/* Encode, decode and judge layout records. */
#include <asm/byteorder.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/string.h>
#include <linux/xxhash.h>

#include "protect/engine/geometry.h"
#include "protect/layout/prot.h"
#include "userspace/format/layout.h"

static u64 layout_csum(const void *buf, size_t bytes)
{
	struct layout_disk_head head;

	memcpy(&head, buf, sizeof(head));
	head.csum = 0;
	return xxh64((const u8 *)buf + sizeof(head), bytes - sizeof(head),
		     xxh64(&head, sizeof(head), 0));
}

static u64 head_csum(const struct layout_disk_head *h)
{
	struct layout_disk_head head = *h;

	head.csum = 0;
	head.head_csum = 0;
	return xxh64(&head, sizeof(head), 0);
}

static size_t layout_bytes(u32 members, u32 segments, u32 refs)
{
	return sizeof(struct layout_disk_head) + members * sizeof(struct layout_disk_member) +
	       segments * sizeof(struct layout_disk_segment) + refs * sizeof(struct layout_disk_ref);
}

static struct prot_segment to_prot(const struct layout_segment *s)
{
	return (struct prot_segment) {
		.start = s->start, .length = s->length, .level = s->level,
		.strip = s->strip || s->level != PROT_LINEAR ? s->strip : LAYOUT_NO_STRIP,
		.data = s->data, .parity = s->parity, .groups = s->groups,
		.first = s->first_ref,
	};
}

/* Return: whether the shape of a segment can be. */
static bool shaped(const struct layout_segment *s, struct prot_segment *p)
{
	*p = to_prot(s);
	return prot_level(s->level) && p->strip && !prot_segment_shape(p);
}

u64 layout_member_bytes(const struct layout_segment *s)
{
	struct prot_segment p;

	return shaped(s, &p) ? prot_segment_member_bytes(&p) : 0;
}

u64 layout_data_at(const struct layout_segment *s, u32 lba)
{
	struct prot_segment p;

	return shaped(s, &p) ? LAYOUT_DATA + prot_geometry_area(&p, lba) : 0;
}

u32 layout_columns(const struct layout_shape *s)
{
	return layout_mirrors(s->level) ? s->groups : s->groups * s->data;
}

u64 layout_extent_bytes(const struct layout_segment *s, u64 each)
{
	u64 small = layout_data_at(s, 512), large = layout_data_at(s, 4096);

	return each + (small > large ? small : large);
}

bool layout_has_room(const struct layout *l, u32 more)
{
	return l->members + more <= PROT_MEMBERS_MAX && l->refs + more <= PROT_PLACES_MAX &&
	       l->segments < PROT_SEGMENTS_MAX;
}

void layout_append(struct layout *l, const struct layout_segment *s, u32 first_member)
{
	struct layout_segment *at = &l->segment[l->segments++];
	u32 i;

	*at = *s;
	at->start = l->size;
	at->first_ref = l->refs;
	for (i = 0; i < at->refs; i++)
		l->ref[l->refs++] = (struct layout_ref) { first_member + i, layout_data_at(at, l->lba) };
	l->size += at->length;
}

const struct layout_segment *layout_group_of(const struct layout *l, u32 member, u32 *first)
{
	struct layout_shape shape;
	u32 i, k, width;

	for (i = 0; i < l->segments; i++) {
		const struct layout_segment *s = &l->segment[i];

		shape = layout_shape(s);
		width = layout_width(&shape);
		for (k = 0; k < s->refs && width > 1; k++) {
			if (l->ref[s->first_ref + k].member != member)
				continue;
			*first = s->first_ref + k / width * width;
			return s;
		}
	}
	return NULL;
}

static bool grouped(const struct layout_segment *s)
{
	return prot_level(s->level) && prot_level(s->level)->policy;
}

bool layout_protected(const struct layout *l)
{
	u32 i;

	for (i = 0; i < l->segments; i++)
		if (grouped(&l->segment[i]))
			return true;
	return false;
}

bool layout_fresh(const struct layout *l)
{
	u32 i;

	for (i = 0; i < l->segments; i++)
		if (l->segment[i].fresh)
			return true;
	return false;
}

bool layout_late(const struct layout *l)
{
	u32 i;

	for (i = 0; i < l->members && !l->member[i].late; i++)
		;
	return i < l->members;
}

void layout_none_late(struct layout *l)
{
	u32 i;

	for (i = 0; i < l->members; i++)
		l->member[i].late = false;
}

bool layout_names(const struct layout *l, const struct muuid *extent)
{
	u32 i;

	for (i = 0; i < l->members; i++)
		if (muuid_equal(&l->member[i].extent, extent))
			return true;
	return false;
}

/* How many references name each member. */
static void count_refs(const struct layout *l, u16 *uses)
{
	u32 i;

	memset(uses, 0, l->members * sizeof(*uses));
	for (i = 0; i < l->refs; i++)
		uses[l->ref[i].member]++;
}

/* What a record alone has rules for: its metadata area, and that of groups. @p: was checked. */
static int check_segment(const struct layout *l, const struct layout_segment *s,
			 const struct prot_segment *p, const u16 *uses)
{
	u64 data = LAYOUT_DATA + prot_geometry_area(p, l->lba);
	bool policy = grouped(s);
	u32 i;

	if (s->refs != prot_segment_places(p) || s->domain > LAYOUT_DOMAIN_HOST ||
	    (policy ? !l->salt : s->fresh || s->groups != 1))
		return -EUCLEAN;
	for (i = s->first_ref; i < s->first_ref + s->refs; i++)
		if (policy ? l->ref[i].offset != data || uses[l->ref[i].member] != 1 :
			     l->ref[i].offset < data)
			return -EUCLEAN;
	return 0;
}

/* The rest is judged by the code by which the kernel judges what it is given. */
static int check_places(const struct layout *l)
{
	u64 mem[prot_layout_bytes(l->segments, l->refs, l->members) / sizeof(u64)];
	struct prot_layout *p = prot_layout_init(mem, l->lba, l->segments, l->refs, l->members);
	u16 uses[PROT_MEMBERS_MAX];
	u32 i;

	for (i = 0; i < l->members; i++)
		prot_member_sizes(p)[i] = l->member[i].size;
	for (i = 0; i < l->refs; i++)
		prot_places(p)[i] = (struct prot_place) { .member = l->ref[i].member,
							  .offset = l->ref[i].offset };
	for (i = 0; i < l->segments; i++)
		prot_segments(p)[i] = to_prot(&l->segment[i]);
	if (prot_layout_check(p) || p->size != l->size)
		return -EUCLEAN;
	count_refs(l, uses);
	for (i = 0; i < l->segments; i++)
		if (check_segment(l, &l->segment[i], &prot_segments(p)[i], uses))
			return -EUCLEAN;
	return 0;
}

static int check_members(const struct layout *l)
{
	u32 i, j;

	for (i = 0; i < l->members; i++) {
		const struct layout_member *m = &l->member[i];

		if (m->size <= LAYOUT_DATA || muuid_null(&m->extent) || m->kind > LAYOUT_KIND_BDEV)
			return -EUCLEAN;
		if (memchr(m->addr, 0, LAYOUT_ADDR) == NULL)
			return -EUCLEAN;
		for (j = 0; j < i; j++)
			if (muuid_equal(&m->extent, &l->member[j].extent))
				return -EUCLEAN;
	}
	return 0;
}

int layout_check(const struct layout *l)
{
	if (muuid_null(&l->volume) || !l->version || !l->commit || l->commit >> 63)
		return -EUCLEAN;
	if (!memchr(l->name, 0, LAYOUT_NAME) || !layout_name_ok(l->name))
		return -EUCLEAN;
	if (!prot_layout_bytes(l->segments, l->refs, l->members))
		return -EUCLEAN;
	return check_members(l) || check_places(l) ? -EUCLEAN : 0;
}

static void encode_member(const struct layout_member *m, struct layout_disk_member *d)
{
	memset(d, 0, sizeof(*d));
	memcpy(d->target, m->target.b, 16);
	memcpy(d->drive, m->drive.b, 16);
	memcpy(d->extent, m->extent.b, 16);
	d->size = cpu_to_le64(m->size);
	d->port = cpu_to_le16(m->port);
	d->kind = m->kind;
	d->flags = m->late ? LAYOUT_LATE : 0;
	memcpy(d->addr, m->addr, LAYOUT_ADDR);
}

static void encode_segment(const struct layout_segment *s, struct layout_disk_segment *d)
{
	memset(d, 0, sizeof(*d));
	d->start = cpu_to_le64(s->start);
	d->length = cpu_to_le64(s->length);
	d->level = s->level;
	d->data = s->data;
	d->parity = s->parity;
	d->domain = s->domain;
	d->strip = cpu_to_le32(s->strip);
	d->groups = cpu_to_le16(s->groups);
	d->flags = cpu_to_le16(s->fresh ? LAYOUT_FRESH : 0);
	d->first_ref = cpu_to_le32(s->first_ref);
	d->refs = cpu_to_le32(s->refs);
}

int layout_encode(const struct layout *l, void *buf, size_t len)
{
	struct layout_disk_head *h = buf;
	struct layout_disk_member *m = (void *)(h + 1);
	struct layout_disk_segment *s;
	struct layout_disk_ref *r;
	size_t bytes;
	u32 i;
	int err = layout_check(l);

	if (err)
		return err;
	bytes = layout_bytes(l->members, l->segments, l->refs);
	if (len < bytes)
		return -ENOSPC;
	memset(h, 0, sizeof(*h));
	h->magic = cpu_to_le64(LAYOUT_MAGIC);
	h->version = cpu_to_le32(LAYOUT_VERSION);
	h->bytes = cpu_to_le32(bytes);
	h->layout_version = cpu_to_le64(l->version);
	memcpy(h->volume, l->volume.b, 16);
	h->size = cpu_to_le64(l->size);
	h->lba = cpu_to_le32(l->lba);
	h->members = cpu_to_le32(l->members);
	h->segments = cpu_to_le32(l->segments);
	h->refs = cpu_to_le32(l->refs);
	h->created = cpu_to_le64(l->created);
	h->commit = cpu_to_le64(l->commit);
	h->salt = cpu_to_le64(l->salt);
	h->spares = cpu_to_le16(l->spares);
	h->spares_used = cpu_to_le16(l->spares_used);
	h->level = l->segment[0].level;
	h->columns = l->segment[0].data;
	h->parity = l->segment[0].parity;
	h->groups = cpu_to_le16(l->segment[0].groups);
	memcpy(h->name, l->name, LAYOUT_NAME);
	for (i = 0; i < l->members; i++)
		encode_member(&l->member[i], m++);
	s = (void *)m;
	for (i = 0; i < l->segments; i++)
		encode_segment(&l->segment[i], s++);
	r = (void *)s;
	for (i = 0; i < l->refs; i++, r++) {
		memset(r, 0, sizeof(*r));
		r->member = cpu_to_le32(l->ref[i].member);
		r->offset = cpu_to_le64(l->ref[i].offset);
	}
	h->head_csum = cpu_to_le64(head_csum(h));
	h->csum = cpu_to_le64(layout_csum(buf, bytes));
	return bytes;
}

/* NULL: a flag is not known. */
static const u8 *decode_members(const u8 *p, struct layout *l)
{
	struct layout_disk_member d;
	u32 i;

	for (i = 0; i < l->members; i++, p += sizeof(d)) {
		struct layout_member *m = &l->member[i];

		memcpy(&d, p, sizeof(d));
		if (d.flags & ~LAYOUT_LATE)
			return NULL;
		memcpy(m->target.b, d.target, 16);
		memcpy(m->drive.b, d.drive, 16);
		memcpy(m->extent.b, d.extent, 16);
		m->late = d.flags & LAYOUT_LATE;
		m->size = le64_to_cpu(d.size);
		m->port = le16_to_cpu(d.port);
		m->kind = d.kind;
		memcpy(m->addr, d.addr, LAYOUT_ADDR);
	}
	return p;
}

/* NULL: a flag is not known. */
static const u8 *decode_segments(const u8 *p, struct layout *l)
{
	struct layout_disk_segment d;
	u32 i;

	for (i = 0; i < l->segments; i++, p += sizeof(d)) {
		memcpy(&d, p, sizeof(d));
		if (le16_to_cpu(d.flags) & ~LAYOUT_FRESH)
			return NULL;
		l->segment[i] = (struct layout_segment) {
			.start = le64_to_cpu(d.start), .length = le64_to_cpu(d.length),
			.level = d.level, .data = d.data, .parity = d.parity,
			.domain = d.domain, .fresh = le16_to_cpu(d.flags) & LAYOUT_FRESH,
			.strip = le32_to_cpu(d.strip), .groups = le16_to_cpu(d.groups),
			.first_ref = le32_to_cpu(d.first_ref), .refs = le32_to_cpu(d.refs),
		};
	}
	return p;
}

static int head_decode(const void *buf, size_t len, struct layout_disk_head *h)
{
	size_t bytes;

	if (len < sizeof(h->magic) || (memcpy(&h->magic, buf, sizeof(h->magic)),
				       le64_to_cpu(h->magic) != LAYOUT_MAGIC))
		return -ENODATA;
	if (len < sizeof(*h))
		return -EBADMSG;
	memcpy(h, buf, sizeof(*h));
	if (le32_to_cpu(h->version) != LAYOUT_VERSION)
		return -EPROTONOSUPPORT;
	bytes = le32_to_cpu(h->bytes);
	if (bytes < sizeof(*h) || bytes > LAYOUT_BYTES_MAX ||
	    le64_to_cpu(h->head_csum) != head_csum(h))
		return -EBADMSG;
	return 0;
}

int layout_peek(const void *buf, size_t len, struct layout_head *out)
{
	struct layout_disk_head h;
	int err = head_decode(buf, len, &h);

	if (err)
		return err;
	memcpy(out->volume.b, h.volume, 16);
	memcpy(out->name, h.name, LAYOUT_NAME);
	out->version = le64_to_cpu(h.layout_version);
	out->commit = le64_to_cpu(h.commit);
	out->size = le64_to_cpu(h.size);
	out->created = le64_to_cpu(h.created);
	out->members = le32_to_cpu(h.members);
	out->shape = (struct layout_shape) { h.level, h.columns, h.parity, le16_to_cpu(h.groups) };
	if (muuid_null(&out->volume) || !out->version || !out->commit ||
	    !memchr(out->name, 0, LAYOUT_NAME) || !layout_name_ok(out->name))
		return -EUCLEAN;
	return 0;
}

int layout_decode(const void *buf, size_t len, struct layout *l)
{
	struct layout_disk_head h;
	struct layout_disk_ref r;
	size_t bytes;
	const u8 *p;
	u32 i;
	int err = head_decode(buf, len, &h);

	if (err)
		return err;
	bytes = le32_to_cpu(h.bytes);
	if (bytes > len || le64_to_cpu(h.csum) != layout_csum(buf, bytes))
		return -EBADMSG;
	l->members = le32_to_cpu(h.members);
	l->segments = le32_to_cpu(h.segments);
	l->refs = le32_to_cpu(h.refs);
	if (h.flags || !prot_layout_bytes(l->segments, l->refs, l->members) ||
	    bytes != layout_bytes(l->members, l->segments, l->refs))
		return -EUCLEAN;
	memcpy(l->volume.b, h.volume, 16);
	memcpy(l->name, h.name, LAYOUT_NAME);
	l->version = le64_to_cpu(h.layout_version);
	l->size = le64_to_cpu(h.size);
	l->created = le64_to_cpu(h.created);
	l->commit = le64_to_cpu(h.commit);
	l->salt = le64_to_cpu(h.salt);
	l->spares = le16_to_cpu(h.spares);
	l->spares_used = le16_to_cpu(h.spares_used);
	l->lba = le32_to_cpu(h.lba);
	p = decode_members((const u8 *)buf + sizeof(h), l);
	p = p ? decode_segments(p, l) : NULL;
	if (!p)
		return -EUCLEAN;
	for (i = 0; i < l->refs; i++, p += sizeof(r)) {
		memcpy(&r, p, sizeof(r));
		l->ref[i].member = le32_to_cpu(r.member);
		l->ref[i].offset = le64_to_cpu(r.offset);
	}
	return layout_check(l);
}
