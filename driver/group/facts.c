// SPDX-License-Identifier: GPL-2.0-only
/*
 * Groups of a volume with an access number: the cluster's store is the witness for every host
 * (roster/membership.h). The rules get the facts that the store gave with the layout, and the
 * group's reads follow the rosters.
 *
 *   VOLUME_SET --BARS, FORGOTTEN, AGAIN, BESIDE_STORE--> mesh_groups_facts() --> the next attach
 *   roster proposed, committed -----------------> mesh_group_reads_need() --> reads wait, or go on
 *   store silent for store_away_ms, all members here --> roster without WITNESS
 *   store is back, and has noted the roster -----------> roster with WITNESS
 *
 * A daemon that cannot reach the store does not answer requests, and one that has died does not,
 * either: the group counts the time since its first request without an answer. So that the store's
 * end is seen before a member's, a group with WITNESS requests now and then what is noted.
 */
#define pr_fmt(fmt) "meshblk: " fmt
#include <linux/moduleparam.h>

#include "driver/group/group.h"
#include "driver/volume/volume.h"

#define FACTS_POLL_MAX	(5 * HZ)	/* between two requests while the store answers */

static unsigned int store_away_ms = 30000;
module_param(store_away_ms, uint, 0644);
MODULE_PARM_DESC(store_away_ms, "after that without an answer of the store, a group whose members all answer goes on without a witness");

static unsigned long facts_away(void)
{
	return msecs_to_jiffies(max(READ_ONCE(store_away_ms), 100U));
}

/* The slots of a group, at @first among all places, with a bit in @places. */
static u64 facts_slots(const struct mesh_group *g, u32 first, const unsigned long *places)
{
	u64 slots = 0;
	u32 i;

	for (i = 0; places && i < g->width; i++)
		if (test_bit(first + i, places))
			slots |= BIT_ULL(i);
	return slots;
}

/*
 * Give the groups of @l the facts of a message: @conf, and the places of @with. Sleeps, as
 * mesh_group_bar() for each group. Return: 0; -EBUSY: a member joins right now, or a group still
 * writes rosters; -EINTR.
 */
int mesh_groups_facts(struct mesh_layout *l, const struct mesh_group_conf *conf,
		      const struct mesh_layout *with)
{
	int err = 0;
	u32 i;

	for (i = 0; l->groups && i < l->prot->nr_places && !err; i++) {
		struct mesh_group *g = l->groups[i];

		if (!g)
			continue;
		WRITE_ONCE(g->conf.again, conf->again);
		WRITE_ONCE(g->conf.beside_store, conf->beside_store);
		WRITE_ONCE(g->conf.forgotten, facts_slots(g, i, with->forgotten));
		err = mesh_group_bar(g, facts_slots(g, i, with->bars));
	}
	return err;
}

/* A group is made for the places of @l from @first on. */
void mesh_group_facts_init(struct mesh_group *g, const struct mesh_layout *l, u32 first)
{
	u64 bars = facts_slots(g, first, l->bars);
	u32 i;

	for (i = 0; i < g->conf.nr_leavings; i++) {
		const struct mesh_leaving *x = &g->conf.leavings[i];

		if (!x->member || x->place < first || x->place - first >= g->width ||
		    g->slots[x->place - first].leaving)
			continue;
		refcount_inc(&x->member->refs);
		g->slots[x->place - first].leaving = x->member;
	}
	g->conf.leavings = NULL;
	g->conf.nr_leavings = 0;

	g->conf.forgotten = facts_slots(g, first, l->forgotten);
	for (i = 0; i < g->width; i++)
		g->slots[i].shut = bars >> i & 1;
}

/* Add to @a what is known of an attachment with a number; the rest of @a is complete. */
void mesh_group_facts(struct mesh_group *g, struct prot_attach *a)
{
	struct mesh_access_now now = mesh_access_get(g->vol);
	u32 i;

	lockdep_assert_held(&g->lock);
	if (!now.numbered)
		return;
	a->numbered = true;
	a->number = g->cfg.ro ? now.number : mesh_access_raise(a->highest, 0);
	/* a store that answers by now knows more than this host's record */
	a->again = READ_ONCE(g->conf.again) && !a->witness;
	a->beside_store = READ_ONCE(g->conf.beside_store);
	a->forgotten = READ_ONCE(g->conf.forgotten);
	for (i = 0; i < g->width; i++)
		if (g->slots[i].shut)
			a->barred |= BIT_ULL(i);
}

/*
 * The membership has changed: reads need these members from now on. Called before a roster is
 * written anywhere, since another host may begin by that roster. No read is begun by the earlier
 * need afterwards.
 */
void mesh_group_reads_need(struct mesh_group *g)
{
	u64 heard = g->ms.numbered ? prot_membership_heard(&g->ms) : 0;
	u8 held = prot_membership_held(&g->ms);

	lockdep_assert_held(&g->lock);
	mesh_group_barred(g);
	if (held == READ_ONCE(g->held) && heard == READ_ONCE(g->heard))
		return;
	mesh_group_own(g);
	g->held = held;
	g->heard = heard;
	mesh_group_count(g);
	mesh_group_reads_allow(g);
	mesh_group_release(g);
}

/* True: the members alone cannot decide a removal, so the store can be a witness. */
static bool facts_witnessed(const struct mesh_group *g)
{
	return g->ms.numbered && g->geo.k <= g->width - g->geo.k &&
	       !(g->ms.cur.flags & PROT_ROSTER_AUTONOMOUS);
}

static u64 facts_here(const struct mesh_group *g)
{
	u64 here = 0;
	u32 i;

	for (i = 0; i < g->width; i++)
		if (mesh_group_up(&g->slots[i]) && !READ_ONCE(g->slots[i].late))
			here |= BIT_ULL(i);
	return here;
}

/* Propose a roster with or without WITNESS, if due. Return: 0 or -EBUSY. */
int mesh_group_store_step(struct mesh_group *g)
{
	struct mesh_group_witness *w = &g->witness;
	struct prot_witness now = {
		.beside_store = READ_ONCE(g->conf.beside_store),
		.here = facts_here(g),
	};
	int due;

	lockdep_assert_held(&g->lock);
	if (!facts_witnessed(g))
		return 0;
	now.noted = mesh_group_noted(g, &g->ms.cur, 0);
	if (now.noted && time_after_eq(jiffies, w->heard_at + mesh_group_store_poll(g)))
		mesh_group_recall_later(g);
	now.away = w->open_since && time_after_eq(jiffies, w->open_since + facts_away());
	/* what was noted a while ago says nothing of the store's presence */
	now.noted &= !w->open_since;
	due = prot_membership_witness_due(&g->ms, &now);
	return due ? prot_membership_witness(&g->ms, due > 0) : 0;
}

/* Return: the delay, in jiffies, until mesh_group_store_step() is to be called again; 0: never. */
unsigned long mesh_group_store_poll(const struct mesh_group *g)
{
	if (!facts_witnessed(g))
		return 0;
	if (g->witness.open_since &&
	    time_before(jiffies, g->witness.open_since + facts_away()))
		return min_t(unsigned long, HZ, facts_away());
	return clamp_t(unsigned long, facts_away() / 6, 1, FACTS_POLL_MAX);
}
