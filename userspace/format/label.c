// SPDX-License-Identifier: GPL-2.0-only
/* Encode, decode and judge drive labels; the table's own bookkeeping. */
#include <asm/byteorder.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/string.h>
#include <linux/xxhash.h>

#include "userspace/format/label.h"

/* The checksum field counts as zero, without a copy of the whole label. */
static u64 label_csum(const void *buf, size_t bytes)
{
	struct label_disk_head head;
	const u8 *p = buf;
	u64 seed;

	memcpy(&head, buf, sizeof(head));
	head.csum = 0;
	seed = xxh64(&head, sizeof(head), 0);
	return xxh64(p + sizeof(head), bytes - sizeof(head), seed);
}

bool label_magic(const void *buf, size_t len)
{
	__le64 magic;

	if (len < sizeof(magic))
		return false;
	memcpy(&magic, buf, sizeof(magic));
	return le64_to_cpu(magic) == LABEL_MAGIC;
}

static void encode_extent(const struct label_extent *e, struct label_disk_extent *d)
{
	memset(d, 0, sizeof(*d));
	memcpy(d->uuid, e->uuid.b, 16);
	memcpy(d->volume, e->volume.b, 16);
	memcpy(d->holder, e->holder.b, 16);
	d->start = cpu_to_le64(e->start);
	d->length = cpu_to_le64(e->length);
	d->version = cpu_to_le64(e->version);
	d->commit = cpu_to_le64(e->commit);
	d->zeroed = cpu_to_le64(e->zeroed);
	d->state = e->state;
	memcpy(d->name, e->name, LABEL_NAME);
	d->attach = cpu_to_le64(e->attach);
	memcpy(d->attacher, e->attacher.b, 16);
}

static void decode_extent(const struct label_disk_extent *d, struct label_extent *e)
{
	memcpy(e->uuid.b, d->uuid, 16);
	memcpy(e->volume.b, d->volume, 16);
	memcpy(e->holder.b, d->holder, 16);
	e->start = le64_to_cpu(d->start);
	e->length = le64_to_cpu(d->length);
	e->version = le64_to_cpu(d->version);
	e->commit = le64_to_cpu(d->commit);
	e->zeroed = le64_to_cpu(d->zeroed);
	e->state = d->state;
	memcpy(e->name, d->name, LABEL_NAME);
	e->attach = le64_to_cpu(d->attach);
	memcpy(e->attacher.b, d->attacher, 16);
}

int label_encode(const struct label *l, void *buf, size_t len)
{
	struct label_disk_head *h = buf;
	struct label_disk_extent *d = (void *)(h + 1);
	size_t bytes;
	u32 i;
	int err = label_check(l);

	if (err)
		return err;
	bytes = sizeof(*h) + l->extents * sizeof(*d);
	if (len < bytes)
		return -ENOSPC;
	memset(h, 0, sizeof(*h));
	h->magic = cpu_to_le64(LABEL_MAGIC);
	h->version = cpu_to_le32(LABEL_VERSION);
	h->bytes = cpu_to_le32(bytes);
	h->sequence = cpu_to_le64(l->sequence);
	memcpy(h->drive, l->drive.b, 16);
	memcpy(h->cluster, l->cluster.b, 16);
	memcpy(h->owner, l->owner.b, 16);
	h->size = cpu_to_le64(l->size);
	h->lba = cpu_to_le32(l->lba);
	h->flags = cpu_to_le32(l->flags);
	h->generation = cpu_to_le32(l->generation);
	h->extents = cpu_to_le32(l->extents);
	for (i = 0; i < l->extents; i++)
		encode_extent(&l->extent[i], &d[i]);
	h->csum = cpu_to_le64(label_csum(buf, bytes));
	return bytes;
}

int label_decode(const void *buf, size_t len, struct label *l)
{
	struct label_disk_extent d;
	struct label_disk_head h;
	size_t bytes;
	u32 i;

	if (!label_magic(buf, len))
		return -ENODATA;
	if (len < sizeof(h))
		return -EBADMSG;
	memcpy(&h, buf, sizeof(h));
	if (le32_to_cpu(h.version) != LABEL_VERSION)
		return -EPROTONOSUPPORT;
	bytes = le32_to_cpu(h.bytes);
	if (bytes < sizeof(h) || bytes > len || bytes > LABEL_BYTES_MAX)
		return -EBADMSG;
	if (le64_to_cpu(h.csum) != label_csum(buf, bytes))
		return -EBADMSG;
	l->extents = le32_to_cpu(h.extents);
	if (l->extents > LABEL_EXTENTS_MAX || bytes != sizeof(h) + l->extents * sizeof(d))
		return -EUCLEAN;
	l->sequence = le64_to_cpu(h.sequence);
	memcpy(l->drive.b, h.drive, 16);
	memcpy(l->cluster.b, h.cluster, 16);
	memcpy(l->owner.b, h.owner, 16);
	l->size = le64_to_cpu(h.size);
	l->lba = le32_to_cpu(h.lba);
	l->flags = le32_to_cpu(h.flags);
	l->generation = le32_to_cpu(h.generation);
	for (i = 0; i < l->extents; i++) {
		memcpy(&d, (const u8 *)buf + sizeof(h) + i * sizeof(d), sizeof(d));
		decode_extent(&d, &l->extent[i]);
	}
	return label_check(l);
}

static int check_extent(const struct label *l, const struct label_extent *e, u64 at)
{
	if (e->start < at || e->start % LABEL_AREA)
		return -EUCLEAN;
	if (!e->length || e->length % LABEL_AREA || e->length > l->size - 2 * LABEL_AREA)
		return -EUCLEAN;
	if (e->start > l->size - LABEL_AREA - e->length)
		return -EUCLEAN;
	if (e->state != LABEL_ZEROING && e->state != LABEL_READY)
		return -EUCLEAN;
	if (e->zeroed > e->length || muuid_null(&e->uuid))
		return -EUCLEAN;
	if (!e->attach != muuid_null(&e->attacher) || e->attach > LABEL_ATTACH_MAX)
		return -EUCLEAN;
	return e->name[LABEL_NAME - 1] ? -EUCLEAN : 0;
}

#define SEEN	8192		/* twice the extents: a power of two */
_Static_assert(SEEN >= 2 * LABEL_EXTENTS_MAX, "room in the hash table");

/* Every write of a label checks it: a table of many extents must not take long. */
static int check_twice(const struct label *l)
{
	u16 seen[SEEN] = { 0 };		/* index + 1 */
	const struct muuid *u;
	u32 i, at;

	for (i = 0; i < l->extents; i++) {
		u = &l->extent[i].uuid;
		at = xxh64(u->b, sizeof(u->b), l->sequence) % SEEN;
		for (; seen[at]; at = (at + 1) % SEEN)
			if (muuid_equal(u, &l->extent[seen[at] - 1].uuid))
				return -EUCLEAN;
		seen[at] = i + 1;
	}
	return 0;
}

int label_check(const struct label *l)
{
	u64 at = LABEL_AREA;
	u32 i;

	if (l->lba != 512 && l->lba != 4096)
		return -EUCLEAN;
	if (l->size < 3 * LABEL_AREA || l->size > 1ULL << 62 || muuid_null(&l->drive))
		return -EUCLEAN;
	if (l->extents > LABEL_EXTENTS_MAX || l->flags & ~(LABEL_F_UNEXPORTED | LABEL_F_LOCAL))
		return -EUCLEAN;
	for (i = 0; i < l->extents; i++) {
		if (check_extent(l, &l->extent[i], at))
			return -EUCLEAN;
		at = l->extent[i].start + l->extent[i].length;
	}
	return check_twice(l);
}

int label_pick(int err0, u64 seq0, int err1, u64 seq1)
{
	if (!err0 && !err1)
		return seq1 > seq0;
	if (!err0)
		return 0;
	if (!err1)
		return 1;
	return err0 == -ENODATA ? err1 : err0;
}

struct label_extent *label_find(const struct label *l, const struct muuid *uuid)
{
	u32 i;

	for (i = 0; i < l->extents; i++)
		if (muuid_equal(&l->extent[i].uuid, uuid))
			return (struct label_extent *)&l->extent[i];
	return NULL;
}

/* Where the hole before extent @i begins and ends; @i == extents: the last. */
static u64 hole(const struct label *l, u32 i, u64 *start)
{
	u64 end = l->size / LABEL_AREA * LABEL_AREA - LABEL_AREA;

	*start = i ? l->extent[i - 1].start + l->extent[i - 1].length : LABEL_AREA;
	if (i < l->extents)
		end = l->extent[i].start;
	/* The last copy begins where size says, which need not be aligned. */
	return end > *start ? end - *start : 0;
}

struct label_extent *label_alloc(struct label *l, const struct muuid *uuid, u64 length)
{
	u64 start, room, best = ~0ULL, at = 0;
	struct label_extent *e;
	u32 i, place = 0;

	if (!length || length % LABEL_AREA || l->extents == LABEL_EXTENTS_MAX)
		return NULL;
	for (i = 0; i <= l->extents; i++) {
		room = hole(l, i, &start);
		if (room >= length && room < best) {
			best = room;
			at = start;
			place = i;
		}
	}
	if (best == ~0ULL)
		return NULL;
	e = &l->extent[place];
	memmove(e + 1, e, (l->extents - place) * sizeof(*e));
	memset(e, 0, sizeof(*e));
	e->uuid = *uuid;
	e->start = at;
	e->length = length;
	e->state = LABEL_ZEROING;
	l->extents++;
	return e;
}

void label_free(struct label *l, struct label_extent *e)
{
	u32 i = e - l->extent;

	memmove(e, e + 1, (l->extents - i - 1) * sizeof(*e));
	l->extents--;
}

bool label_attach_may(const struct label_extent *e, const struct muuid *host, u64 number)
{
	return !number || number > e->attach ||
	       (number == e->attach && muuid_equal(host, &e->attacher));
}

u64 label_room(const struct label *l, u64 *longest)
{
	u64 start, room, sum = 0;
	u32 i;

	*longest = 0;
	for (i = 0; i <= l->extents; i++) {
		room = hole(l, i, &start);
		sum += room;
		if (room > *longest)
			*longest = room;
	}
	return sum;
}
