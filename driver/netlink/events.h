/* SPDX-License-Identifier: GPL-2.0-only */
/* Messages to meshd: events for all listeners, notes of rosters for the witness. */
#ifndef DRIVER_EVENTS_H
#define DRIVER_EVENTS_H

#include <linux/types.h>
#include <linux/uuid.h>

#include "driver/states.h"

struct mesh_member;
struct mesh_volume;

void mesh_event_member(struct mesh_volume *vol, u32 index, enum mesh_member_state s, int err);
void mesh_event_volume(struct mesh_volume *vol, enum mesh_volume_state s, u64 epoch);
void mesh_event_layout_freed(struct mesh_volume *vol, u64 epoch);
void mesh_event_abandoned(struct mesh_member *m, u32 left);
void mesh_event_fenced(struct mesh_volume *vol, u64 number, const uuid_t *host);
void mesh_event_roster(struct mesh_volume *vol, u32 place, const void *roster);
void mesh_event_target(u32 id, const char *state, int err, const char *reason);

u32 mesh_nl_witness(void);
bool mesh_nl_witness_away(void);
bool mesh_nl_witness_begin(u32 port);
bool mesh_nl_witness_end(u32 port);
void mesh_nl_witness_none(void);
void mesh_nl_roster_note(const uuid_t *volume, u32 place, const void *roster);

#endif
