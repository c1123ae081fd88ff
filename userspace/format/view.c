// SPDX-License-Identifier: GPL-2.0-only
#include <asm/byteorder.h>
#include <errno.h>
#include <linux/bitops.h>
#include <linux/kernel.h>
#include <stdlib.h>
#include <string.h>

#include "protect/roster/roster.h"
#include "userspace/format/layout_text.h"
#include "userspace/format/view.h"

_Static_assert(PLAN_GROUP_MAX >= PROT_WIDTH_MAX, "decisions have room for the widest group");
_Static_assert(sizeof(struct prot_roster_rec) == MESHBLK_ROSTER_BYTES, "the kernel's rosters");

static bool grouped(const struct layout_segment *s)
{
	struct layout_shape shape = layout_shape(s);

	return layout_width(&shape) > 1;
}

u32 view_groups(const struct layout *l)
{
	u32 n = 0;

	for (u32 i = 0; i < l->segments; i++)
		n += grouped(&l->segment[i]) ? l->segment[i].groups : 0;
	return n;
}

void view_firsts(const struct layout *l, u32 *first)
{
	for (u32 i = 0; i < l->segments; i++) {
		const struct layout_segment *s = &l->segment[i];
		struct layout_shape shape = layout_shape(s);

		for (u32 g = 0; grouped(s) && g < s->groups; g++)
			*first++ = s->first_ref + g * layout_width(&shape);
	}
}

static void segment_groups(const struct layout *l, const struct layout_segment *s, u32 at,
			   struct plan_group *group, struct plan_place *place)
{
	struct layout_shape shape = layout_shape(s);
	u32 width = layout_width(&shape);

	for (u32 g = 0; g < s->groups; g++)
		group[at + g] = (struct plan_group) { .members = width, .data = layout_needs(&shape) };
	for (u32 r = 0; r < s->groups * width; r++)
		place[l->ref[s->first_ref + r].member].group = at + r / width;
}

int view_layout(const struct layout *l, const struct obj_leaving *leaving, u32 leavings,
		struct plan_layout *out)
{
	u32 groups = view_groups(l), at = 0;
	struct plan_place *place = calloc(l->members, sizeof(*place));
	struct plan_group *group = calloc(groups + 1, sizeof(*group));

	memset(out, 0, sizeof(*out));
	if (!place || !group) {
		free(place);
		free(group);
		return -ENOMEM;
	}
	for (u32 i = 0; i < l->members; i++)
		place[i] = (struct plan_place) { .extent = l->member[i].extent, .drive = l->member[i].drive,
						 .group = PLAN_NO_GROUP };
	for (u32 i = 0; i < leavings; i++)
		place[leaving[i].place].leaving = leaving[i].extent;
	for (u32 i = 0; i < l->segments; i++) {
		if (!grouped(&l->segment[i]))
			continue;
		segment_groups(l, &l->segment[i], at, group, place);
		at += l->segment[i].groups;
	}
	*out = (struct plan_layout) { .version = l->version, .commit = l->commit, .places = l->members,
				      .groups = groups, .place = place, .group = group };
	return 0;
}

void view_layout_free(struct plan_layout *v)
{
	free((void *)v->place);
	free((void *)v->group);
	memset(v, 0, sizeof(*v));
}

void view_slot(const struct label_extent *e, const struct layout_head *head, struct plan_slot *s)
{
	*s = (struct plan_slot) {
		.extent = e->uuid, .volume = e->volume, .attacher = e->attacher, .number = e->attach,
		.version = e->version, .commit = e->commit, .zeroed = e->state == LABEL_READY,
	};
	if (head && muuid_equal(&head->volume, &e->volume)) {
		s->record_version = head->version;
		s->record_commit = head->commit;
	}
}

static bool roster_sane(const struct prot_roster_rec *rec, const struct muuid *volume, u32 first)
{
	u64 in_sync = le64_to_cpu(rec->in_sync);

	return rec->magic == cpu_to_le32(PROT_ROSTER_MAGIC) && rec->version == PROT_RECORD_VERSION &&
	       rec->length == cpu_to_le16(sizeof(*rec)) && rec->group == cpu_to_le32(first) &&
	       !memcmp(rec->volume, volume->b, sizeof(volume->b)) && rec->attach && rec->epoch &&
	       !(le64_to_cpu(rec->attach) >> 63) && !(le64_to_cpu(rec->epoch) >> 63) &&
	       rec->width && rec->width <= PROT_WIDTH_MAX && rec->k && rec->k <= rec->width &&
	       !(in_sync >> rec->width) && hweight64(in_sync) >= rec->k;
}

int view_roster(const u8 kernel[MESHBLK_ROSTER_BYTES], const struct muuid *volume, u32 first,
		struct plan_roster *out)
{
	static const u8 none[MESHBLK_ROSTER_BYTES];
	struct prot_roster_rec rec;

	memset(out, 0, sizeof(*out));
	if (!memcmp(kernel, none, sizeof(none)))
		return 0;
	memcpy(&rec, kernel, sizeof(rec));
	if (!roster_sane(&rec, volume, first))
		return -EBADMSG;
	out->attach = le64_to_cpu(rec.attach);
	out->epoch = le64_to_cpu(rec.epoch);
	out->witness = le32_to_cpu(rec.flags) & PROT_ROSTER_WITNESS;
	out->members = rec.width;
	out->in_sync = le64_to_cpu(rec.in_sync);
	for (u32 i = 0; i < rec.width; i++)
		memcpy(out->extent[i].b, rec.entry[i].uuid, sizeof(out->extent[i].b));
	return 0;
}
