// SPDX-License-Identifier: GPL-2.0-only
/*
 * A group's state, and the members' roles in the group. All files of the group, and readers
 * outside, call these functions, which call no other file of the group.
 */
#define pr_fmt(fmt) "meshblk: " fmt
#include <linux/moduleparam.h>
#include <linux/srcu.h>

#include "driver/group/group.h"
#include "driver/trace.h"
#include "driver/volume/volume.h"

static unsigned int member_timeout_ms = 8000;
module_param(member_timeout_ms, uint, 0644);
MODULE_PARM_DESC(member_timeout_ms, "a member of a group that answers nothing is out after that");

/* Readers of an engine without ownership; the engine may move. */
DEFINE_STATIC_SRCU(state_engines);

/*
 * Around reads of a group's engine without ownership and without group->lock. The reader may sleep.
 */
int mesh_group_engine_begin(void)
	__acquires(&state_engines)
{
	return srcu_read_lock(&state_engines);
}

void mesh_group_engine_end(int idx)
	__releases(&state_engines)
{
	srcu_read_unlock(&state_engines, idx);
}

/* Wait for readers of an engine that has moved. Sleeps. */
void mesh_group_engine_wait(void)
{
	synchronize_srcu(&state_engines);
}

void mesh_group_set_state(struct mesh_group *g, enum mesh_group_state state, const char *why)
{
	if (g->state != state)
		trace_mesh_group_state(g, state);
	spin_lock_bh(&g->state_lock);
	WRITE_ONCE(g->why, why);
	WRITE_ONCE(g->state, state);
	spin_unlock_bh(&g->state_lock);
}

static const char *state_name(enum mesh_group_state state)
{
	static const char *const names[] = {
		[MESH_GROUP_OPENING] = MESHBLK_STATE_OPENING,
		[MESH_GROUP_LOADING] = MESHBLK_STATE_OPENING,
		[MESH_GROUP_ACTIVE] = MESHBLK_STATE_ACTIVE,
		[MESH_GROUP_STOPPED] = MESHBLK_STATE_WAITING,
	};

	return names[state];
}

/*
 * Get the group's state, and the reason why the group does not serve, or serves no reads; state and
 * reason are of one moment. Return: the reason, or NULL: the group serves.
 */
const char *mesh_group_stands(struct mesh_group *g, const char **state)
{
	enum mesh_group_state s;
	const char *why;

	spin_lock_bh(&g->state_lock);
	s = g->state;
	why = g->why;
	spin_unlock_bh(&g->state_lock);
	*state = state_name(s);
	if (s != MESH_GROUP_ACTIVE)
		return why;
	if (READ_ONCE(g->overtaken))
		return "another host has attached it for writing; detach it, and attach it again";
	return READ_ONCE(g->few) ? "reads wait: too few members are here" : NULL;
}

/* True: nothing new is started, because the volume goes, or no layout has the group. */
bool mesh_group_abandoned(struct mesh_group *g)
{
	if (test_bit(MESH_G_CLOSING, &g->flags) || READ_ONCE(g->vol->forced))
		return true;
	if (!READ_ONCE(g->vol->dying))
		return false;
	smp_rmb();	/* pairs with disk_retire() */
	return !READ_ONCE(g->vol->orderly);
}

/* True: the slot's member is here. With group->lock, or in an RCU section. */
bool mesh_group_up(const struct mesh_group_slot *slot)
{
	struct mesh_member *m = READ_ONCE(slot->member);

	/* pairs with mesh_member_step() */
	return smp_load_acquire(&m->state) == MESH_MEMBER_UP && !READ_ONCE(m->suspended) &&
	       !atomic_read(&m->abandoned);	/* with abandoned I/O, DOWN soon */
}

static u8 state_role(const struct mesh_group *g, u32 i)
{
	const struct prot_group *e = READ_ONCE(g->engine);
	u64 bit = BIT_ULL(i);

	if (READ_ONCE(e->joining) & bit)
		return MESHBLK_ROLE_JOINING;
	if (!(READ_ONCE(e->in_sync) & bit))
		return MESHBLK_ROLE_OUT;
	if (READ_ONCE(e->failed) & bit)
		return MESHBLK_ROLE_FAILED;
	return READ_ONCE(g->slots[i].late) ? MESHBLK_ROLE_SUSPECT : MESHBLK_ROLE_IN_SYNC;
}

/*
 * Return: a member's role in the group, as of some moment. While the group is opening, no roster is
 * decided on, so the members with all writes are not known.
 */
u8 mesh_group_role(struct mesh_group *g, u32 i)
{
	u8 role;
	int idx;

	if (READ_ONCE(g->state) == MESH_GROUP_OPENING)
		return MESHBLK_ROLE_OPENING;
	idx = mesh_group_engine_begin();
	role = state_role(g, i);
	mesh_group_engine_end(idx);
	return role;
}

u64 mesh_group_behind(struct mesh_group *g, u32 i)
{
	u64 behind;
	int idx;

	if (READ_ONCE(g->state) == MESH_GROUP_OPENING)
		return 0;
	idx = mesh_group_engine_begin();
	behind = prot_group_behind(READ_ONCE(g->engine), i);
	mesh_group_engine_end(idx);
	return behind;
}

/* True: the slot's member is the one named by the roster. With group->lock. */
bool mesh_group_named(const struct mesh_group *g, u32 i)
{
	lockdep_assert_held(&g->lock);
	return !memcmp(g->ms.cur.uuid[i], &g->slots[i].member->conf.uuid, PROT_UUID_LEN);
}

/* The membership, or its bars, have changed: readers see the confirmed bars. With group->lock. */
void mesh_group_barred(struct mesh_group *g)
{
	lockdep_assert_held(&g->lock);
	WRITE_ONCE(g->bars, prot_membership_barred(&g->ms));
}

/*
 * Request the member's target to note an attachment. An extent shared with another group may know a
 * higher number by now: as a number of the same host, the higher one fences as well. Return: 0, or
 * a negative errno.
 */
int mesh_group_note(struct mesh_group *g, struct mesh_member *m, u64 attach)
{
	u64 noted = READ_ONCE(m->info.attach);

	/* a higher access number is another attachment's, which refuses this one */
	if (g->vol->access.numbered && !mesh_access_is(attach, noted))
		noted = 0;
	return mesh_access_note(g->vol, m, max(attach, noted));
}

/*
 * True: a writer has attached the group after this attach for reading, so the data may differ from
 * the roster.
 */
bool mesh_group_overtaken(const struct mesh_group_slot *slot)
{
	return slot->group->cfg.ro && READ_ONCE(slot->member->info.attach) > slot->number;
}

unsigned long mesh_group_member_timeout(void)
{
	return msecs_to_jiffies(max(READ_ONCE(member_timeout_ms), 100U));
}
