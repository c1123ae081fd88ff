/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The life of a session on its target, and the decision on an OPEN. Pure.
 *
 *   LOGIN --proof of channel 0--> LIVE
 *     |                             |
 *     |  (refused, silent for 5 s)  |  (a channel lost, silent for dead_ms,
 *     |                             |   superseded, fenced, BYE)
 *     `-----------> DYING <---------'
 *                     |  QPs destroyed and drained, memory regions destroyed
 *                 DRAINING     bios of hung drives keep a session here
 *                     |  every bio back, memory freed
 *                    DEAD
 */
#ifndef TGT_STATE_H
#define TGT_STATE_H

#include <linux/types.h>

enum tgt_state {
	TGT_LOGIN,
	TGT_LIVE,
	TGT_DYING,
	TGT_DRAINING,
	TGT_DEAD,
	TGT_STATES
};

bool tgt_state_may(enum tgt_state from, enum tgt_state to);
const char *tgt_state_name(enum tgt_state state);

/* What an OPEN is decided from. */
struct tgt_open_facts {
	bool	found;		/* this target has such an extent */
	bool	drive_gone;	/* its drive was unplugged */
	bool	ready;		/* it is zeroed */
	bool	rw;		/* requested */
	bool	preempt;	/* requested */
	bool	again;		/* the requesting client had it open before */
	u64	epoch;		/* requested */
	u64	seen;		/* highest granted before */
	u64	attach;		/* requested number; 0: none */
	u64	attach_seen;	/* highest noted before */
	bool	attach_self;	/* that was noted for the requesting host */
	/* an older incarnation of the requesting host has, or may have, commands on that drive */
	bool	old_self;
	bool	others_dying;	/* a session of another host that had it open is being torn down */
	bool	claimed;	/* another host is preempting it */
	bool	other_rw;	/* a living session has it open for writing */
	bool	other_ro;	/* living sessions have it open for reading */
	bool	self_other;	/* the requesting session has it open with another access */
	bool	pending;	/* a grant of it was requested from meshd, which has not answered */
	bool	noted;		/* meshd just wrote this grant into the label */
	bool	holder_none;	/* the label names no holder */
	bool	holder_self;	/* the label names the requesting host */
	bool	grace;		/* the target just started */
};

/* Beyond enum rdda_open_status: */
#define TGT_OPEN_FENCE	100	/* end the others' sessions, then DRAINING */
#define TGT_OPEN_REQUEST	101	/* meshd must write the label first */
#define TGT_OPEN_REVOKE	102	/* take the readers' openings away, then DRAINING */

int tgt_open_decide(const struct tgt_open_facts *f);

#endif
