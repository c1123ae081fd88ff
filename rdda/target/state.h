/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The life of a session on its target, and the decision on an OPEN. Pure.
 *
 *   LOGIN --proof of channel 0--> LIVE
 *     |                             |
 *     |  (refused, or no proof      |  (a channel lost, silent for dead_ms,
 *     |   within proof_ms)          |   superseded, fenced, BYE)
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

/* The facts from which an OPEN is decided. Numbers: see driver/uapi/number.h. */
struct tgt_open_facts {
	bool	found;		/* this target has such an extent */
	bool	drive_gone;	/* the extent's drive was unplugged, or is being unexported */
	bool	ready;		/* the extent is zeroed */
	bool	rw;		/* requested */
	bool	preempt;	/* requested */
	bool	again;		/* the requesting client had the extent open before */
	bool	numbered;	/* requested: @attach is an access number */
	bool	probe;		/* requested: nothing is to be opened, but found out */
	bool	allowed;	/* the volume is for the requesting host */
	/* the target started so recently that clients may not have come back yet */
	bool	unknown;
	u64	epoch;		/* requested */
	u64	seen;		/* highest granted before */
	u64	attach;		/* requested number; 0: none */
	u64	attach_seen;	/* highest noted before */
	bool	attach_self;	/* @attach_seen was noted for the requesting host */
	/* number under which the host served the volume before it took the volume again; 0: none */
	u64	served;
	/*
	 * an older incarnation of the requesting host has, or may have, commands on the extent's
	 * drive
	 */
	bool	old_self;
	/*
	 * the requesting session is closing the extent; or another host has a closing opening of
	 * it, or one in an ending session; or commands may still run where an opening was revoked
	 */
	bool	others_dying;
	bool	claimed;	/* another host preempts or renews the extent */
	bool	other_rw;	/* another living session has the extent open for writing */
	bool	other_ro;	/* other living sessions have the extent open for reading */
	bool	self_other;	/* the requesting session has the extent open with another access */
	/* meshd was requested to note a grant of the extent and has not answered yet */
	bool	pending;
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
