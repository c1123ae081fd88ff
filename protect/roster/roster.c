// SPDX-License-Identifier: GPL-2.0-only
/* Bytes of rosters, and which one counts. See roster.h. */
#include <linux/bitops.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/string.h>
#include <linux/xxhash.h>
#include <asm/byteorder.h>

#include "protect/mutant.h"
#include "protect/roster/roster.h"

int prot_roster_cmp(const struct prot_roster *a, const struct prot_roster *b)
{
	if (a->attach != b->attach && !PROT_MUTANT(R_EPOCH))
		return a->attach > b->attach ? 1 : -1;
	if (a->epoch != b->epoch)
		return a->epoch > b->epoch ? 1 : -1;
	return 0;
}

static u64 roster_sum(const struct prot_roster_rec *rec, u64 salt)
{
	u64 seed = xxh64(rec, offsetof(struct prot_roster_rec, sum), salt);

	return xxh64(rec->entry, sizeof(rec->entry), seed);
}

static void roster_put_geometry(struct prot_roster_rec *rec, const struct prot_geometry *g)
{
	rec->bytes = cpu_to_le64(g->bytes);
	rec->region = cpu_to_le32(g->region);
	rec->strip = cpu_to_le32(g->strip);
	rec->slot_bytes = cpu_to_le32(g->slot_bytes);
	rec->slot_head = cpu_to_le32(g->slot_head);
	rec->lba = cpu_to_le32(g->lba);
	rec->rings = cpu_to_le16(g->rings);
	rec->slots = cpu_to_le16(g->slots);
	rec->level = g->level;
	rec->k = g->k;
	rec->width = g->width;
}

void prot_roster_seal(void *block, const struct prot_roster *r, const struct prot_owner *o,
		      u8 member)
{
	struct prot_roster_rec *rec = block;
	u32 i;

	memset(block, 0, PROT_ROSTER_BLOCK);
	rec->magic = cpu_to_le32(PROT_ROSTER_MAGIC);
	rec->version = PROT_RECORD_VERSION;
	rec->member = member;
	rec->length = cpu_to_le16(sizeof(*rec));
	rec->attach = cpu_to_le64(r->attach);
	rec->epoch = cpu_to_le64(r->epoch);
	rec->in_sync = cpu_to_le64(r->in_sync);
	rec->flags = cpu_to_le32(r->flags);
	rec->group = cpu_to_le32(o->group);
	memcpy(rec->host, r->host, PROT_UUID_LEN);
	memcpy(rec->volume, o->volume, PROT_UUID_LEN);
	roster_put_geometry(rec, &r->geo);
	for (i = 0; i < r->geo.width; i++) {
		rec->entry[i].left = cpu_to_le64(r->left[i]);
		memcpy(rec->entry[i].uuid, r->uuid[i], PROT_UUID_LEN);
	}
	rec->sum = cpu_to_le64(roster_sum(rec, o->salt));
}

static void roster_get_geometry(struct prot_geometry *g, const struct prot_roster_rec *rec)
{
	g->bytes = le64_to_cpu(rec->bytes);
	g->region = le32_to_cpu(rec->region);
	g->strip = le32_to_cpu(rec->strip);
	g->slot_bytes = le32_to_cpu(rec->slot_bytes);
	g->slot_head = le32_to_cpu(rec->slot_head);
	g->lba = le32_to_cpu(rec->lba);
	g->rings = le16_to_cpu(rec->rings);
	g->slots = le16_to_cpu(rec->slots);
	g->level = rec->level;
	g->k = rec->k;
	g->width = rec->width;
}

/* Beyond the checksum: all numbers are in bounds. */
static bool roster_sane(const struct prot_roster *r)
{
	u8 width = r->geo.width, k = r->geo.k;

	return width && width <= PROT_WIDTH_MAX && k && k <= width && r->attach && r->epoch &&
	       !(r->in_sync >> width) && hweight64(r->in_sync) >= k &&
	       !(r->flags & ~PROT_ROSTER_FLAGS) &&
	       !(r->flags & PROT_ROSTER_WITNESS && r->flags & PROT_ROSTER_AUTONOMOUS);
}

int prot_roster_parse(const void *block, struct prot_roster *r, const struct prot_owner *o,
		      u8 member)
{
	const struct prot_roster_rec *rec = block;
	u32 i;

	if (rec->magic != cpu_to_le32(PROT_ROSTER_MAGIC) || rec->version != PROT_RECORD_VERSION ||
	    rec->length != cpu_to_le16(sizeof(*rec)) || rec->member != member ||
	    rec->group != cpu_to_le32(o->group) ||
	    memcmp(rec->volume, o->volume, PROT_UUID_LEN) ||
	    le64_to_cpu(rec->sum) != roster_sum(rec, o->salt))
		return -EBADMSG;
	memset(r, 0, sizeof(*r));
	r->attach = le64_to_cpu(rec->attach);
	r->epoch = le64_to_cpu(rec->epoch);
	r->in_sync = le64_to_cpu(rec->in_sync);
	r->flags = le32_to_cpu(rec->flags);
	memcpy(r->host, rec->host, PROT_UUID_LEN);
	roster_get_geometry(&r->geo, rec);
	if (!roster_sane(r) || member >= r->geo.width)
		return -EBADMSG;
	for (i = 0; i < r->geo.width; i++) {
		r->left[i] = le64_to_cpu(rec->entry[i].left);
		memcpy(r->uuid[i], rec->entry[i].uuid, PROT_UUID_LEN);
	}
	return 0;
}

int prot_roster_pick(const void *blocks, struct prot_roster *r, const struct prot_owner *o,
		     u8 member)
{
	struct prot_roster other;
	int first, second;

	first = prot_roster_parse(blocks, r, o, member);
	second = prot_roster_parse((const u8 *)blocks + PROT_ROSTER_BLOCK, &other, o, member);
	if (second)
		return first ? -EBADMSG : 0;
	if (!first && prot_roster_cmp(r, &other) >= 0)
		return 0;
	*r = other;
	return 1;
}
