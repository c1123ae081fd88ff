// SPDX-License-Identifier: GPL-2.0-only
/* Scrubs of a volume's groups: begin, stop and progress. */
#define pr_fmt(fmt) "meshblk: " fmt
#include <linux/netlink.h>

#include "driver/group/group.h"
#include "driver/volume/volume.h"

/* Return: the slot of a layout's member in a group, or PROT_NO_SOURCE. */
static u8 scrub_slot(const struct mesh_layout *l, const struct mesh_group *g, u32 member)
{
	u32 first = g->cfg.owner.group, i;

	for (i = 0; i < g->width; i++)
		if (prot_places(l->prot)[first + i].member == member)
			return i;
	return PROT_NO_SOURCE;
}

static bool scrub_goes_on(const struct mesh_group *g)
{
	int idx = mesh_group_engine_begin();
	bool goes_on = READ_ONCE(READ_ONCE(g->engine)->scrubbing);

	mesh_group_engine_end(idx);
	return goes_on;
}

/* Return: NULL, or the reason why a scrub of the layout's groups cannot begin, with @err set. */
static const char *scrub_unfit(struct mesh_layout *l, const struct mesh_scrub_conf *conf, int *err)
{
	bool found = conf->source < 0;
	u32 i, n = 0;

	*err = -EBUSY;
	for (i = 0; l->groups && i < l->prot->nr_places; i++) {
		struct mesh_group *g = l->groups[i];

		if (!g)
			continue;
		n++;
		if (READ_ONCE(g->state) != MESH_GROUP_ACTIVE)
			return "a group does not serve";
		if (g->cfg.ro)
			return "the volume is attached for reading";
		if (scrub_goes_on(g))
			return "a scrub goes on; stop it first";
		if (conf->source < 0)
			continue;
		if (g->cfg.m)
			return "a right copy is named for mirrors alone";
		if (scrub_slot(l, g, conf->source) != PROT_NO_SOURCE) {
			if (mesh_group_role(g, scrub_slot(l, g, conf->source)) !=
			    MESHBLK_ROLE_IN_SYNC)
				return "the copy that is to be right lacks writes";
			found = true;
		}
	}
	if (!n) {
		*err = -EOPNOTSUPP;
		return "the volume has no redundancy";
	}
	return found ? NULL : "no group has that member";
}

/*
 * Begin a scrub of all groups of a layout; with a source, only of the source's groups. Sleeps.
 * Return: 0, or with @extack set -EOPNOTSUPP for a layout without groups, else -EBUSY.
 */
int mesh_groups_scrub(struct mesh_layout *l, const struct mesh_scrub_conf *conf,
		      struct netlink_ext_ack *extack)
{
	const char *why;
	int err;
	u32 i;

	why = scrub_unfit(l, conf, &err);
	if (why) {
		if (extack)
			extack->_msg = why;
		return err;
	}
	for (i = 0; i < l->prot->nr_places; i++) {
		struct mesh_group *g = l->groups[i];
		struct prot_scrub how = { .repair = conf->repair, .source = PROT_NO_SOURCE };

		if (!g)
			continue;
		if (conf->source >= 0) {
			how.source = scrub_slot(l, g, conf->source);
			if (how.source == PROT_NO_SOURCE)
				continue;
		}
		mesh_group_own(g);
		if (g->state == MESH_GROUP_ACTIVE) {
			prot_group_scrub(g->engine, &how);
			set_bit(MESH_G_PACE, &g->flags);	/* starts the pacer */
			g->scrubs = true;
		}
		mesh_group_release(g);
	}
	return 0;
}

/* Time has passed: log the findings of an ended scrub once; with the engine owned. */
void mesh_group_scrub_watch(struct mesh_group *g)
{
	const struct prot_group *e = g->engine;

	if (!g->scrubs || e->scrubbing)
		return;
	g->scrubs = false;
	if (e->scrub_pos < g->geo.bytes)
		pr_info("%s: the scrub of group %u.%u has ended at byte %llu of %llu\n",
			g->vol->conf.name, g->segment, g->column, e->scrub_pos, g->geo.bytes);
	if (e->mismatches || e->repaired || e->skipped)
		pr_warn("%s: group %u.%u: %llu sectors differ, %llu were written again, %llu bytes could not be compared\n",
			g->vol->conf.name, g->segment, g->column, e->mismatches, e->repaired,
			e->skipped);
	else
		pr_info("%s: group %u.%u: what was compared is equal\n", g->vol->conf.name,
			g->segment, g->column);
}

/* The engine begins again, without the scrub. */
void mesh_group_scrub_lost(struct mesh_group *g)
{
	if (g->scrubs)
		pr_warn("%s: the scrub of group %u.%u ends as the group has stopped; begin it again\n",
			g->vol->conf.name, g->segment, g->column);
	g->scrubs = false;
}

/* End scrubs; chunks in flight still end. Sleeps. */
void mesh_groups_scrub_stop(struct mesh_layout *l)
{
	u32 i;

	for (i = 0; l->groups && i < l->prot->nr_places; i++) {
		struct mesh_group *g = l->groups[i];

		if (!g)
			continue;
		mesh_group_own(g);
		if (g->state == MESH_GROUP_ACTIVE)
			prot_group_scrub_stop(g->engine);
		mesh_group_release(g);
	}
}
