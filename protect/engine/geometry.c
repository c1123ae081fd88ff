// SPDX-License-Identifier: GPL-2.0-only
/* Sizes of regions, rings and slots, by the size of a group. See geometry.h. */
#include <linux/kernel.h>
#include <linux/log2.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/string.h>

#include "protect/engine/geometry.h"

#define GEO_REGION_MIN		(1U << 20)
#define GEO_REGION_MAX		(1U << 30)
/* Most regions of a group, unless regions have the largest size already. */
#define GEO_REGIONS		65536
#define GEO_SYNC_BYTES		65536	/* bytes of a chunk when mirrors are copied */
#define GEO_RINGS		8
#define GEO_SLOTS_LEAST		4
#define GEO_SLOTS		16
#define GEO_RING_BYTES		(2U << 20)	/* bytes of a ring, unless slots are few */
#define GEO_HEAD		4096
#define GEO_CACHE_BYTES		(4U << 20)	/* bytes of data kept in memory, see ec_cache.c */
#define GEO_AREA		(1U << 20)

static u32 geometry_region(u64 bytes, u32 strip)
{
	u32 region = max(strip, GEO_REGION_MIN);

	while (region < GEO_REGION_MAX && div_u64(bytes, region) > GEO_REGIONS)
		region <<= 1;
	return region;
}

void prot_geometry_init(struct prot_geometry *geo, const struct prot_segment *s, u32 lba)
{
	memset(geo, 0, sizeof(*geo));
	geo->bytes = prot_segment_member_bytes(s);
	geo->strip = s->strip;
	geo->region = geometry_region(geo->bytes, s->strip);
	geo->lba = lba;
	geo->level = s->level;
	geo->width = s->width;
	geo->k = 1;
	if (!s->parity)
		return;
	geo->k = s->data;
	geo->slot_bytes = s->strip;
	geo->slot_head = GEO_HEAD;
	geo->rings = GEO_RINGS;
	geo->slots = min_t(u32, GEO_RING_BYTES / (s->strip + GEO_HEAD), GEO_SLOTS);
	geo->slots = max_t(u32, geo->slots, GEO_SLOTS_LEAST);
}

void prot_geometry_config(const struct prot_geometry *geo, struct prot_group_config *c)
{
	c->bytes = geo->bytes;
	c->region = geo->region;
	c->lba = geo->lba;
	c->level = geo->level;
	c->width = geo->width;
	c->buf_bytes = GEO_SYNC_BYTES;
	c->k = 1;
	c->m = 0;
	if (!geo->rings)
		return;
	c->k = geo->k;
	c->m = geo->width - geo->k;
	c->strip = geo->strip;
	c->slot_bytes = geo->slot_bytes;
	c->slot_head = geo->slot_head;
	c->rings = geo->rings;
	c->slots = geo->slots;
	c->cached = min_t(u32, PROT_CACHED_MAX, GEO_CACHE_BYTES / (c->k * c->strip));
}

u64 prot_geometry_area(const struct prot_segment *s, u32 lba)
{
	struct prot_group_config c = { 0 };
	struct prot_geometry geo;

	if (s->width < 2)
		return 0;
	prot_geometry_init(&geo, s, lba);
	prot_geometry_config(&geo, &c);
	/* the number of requests in flight changes nothing on the members */
	c.ops = 64;
	c.bufs = 32;
	return round_up(2 * PROT_ROSTER_BLOCK + prot_group_meta_bytes(&c), GEO_AREA);
}
