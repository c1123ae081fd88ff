/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Fault points: rules taken out one at a time, to prove that a test notices.
 *
 * Only in builds made with `make FAULTS=1 modules`; elsewhere rdda_fault() is the constant false
 * and no fault point is left in the code. Each module has its own mask in the module parameter
 * "faults" (BIT(name) each, writable at run time).
 */
#ifndef RDDA_FAULT_H
#define RDDA_FAULT_H

#include <linux/bits.h>
#include <linux/delay.h>
#include <linux/types.h>

enum rdda_fault_point {
	/* target */
	RDDA_FAULT_RANGE	= 0,	/* commands may leave the opened extents */
	RDDA_FAULT_ACCESS	= 1,	/* a read grant may write */
	RDDA_FAULT_FUA		= 2,	/* writes go out without REQ_FUA, zeroes unflushed */
	RDDA_FAULT_ARENA	= 3,	/* arena freed before queue pairs are destroyed */
	RDDA_FAULT_OPEN		= 4,	/* OPEN does not wait for the old incarnation */
	RDDA_FAULT_CLOSE	= 5,	/* CLOSE, EXTENTS_SET do not wait for commands */
	RDDA_FAULT_DEAF		= 6,	/* no CPU work at all; the NIC works on */
	RDDA_FAULT_PROOF	= 7,	/* a wrong proof is accepted */
	RDDA_FAULT_PD		= 8,	/* one protection domain for all sessions */
	RDDA_FAULT_REPOST	= 9,	/* receives come back after the completions */
	RDDA_FAULT_JOIN		= 10,	/* a join is answered after dead_ms */
	RDDA_FAULT_DEAF_1	= 11,	/* as DEAF, for channel 1 only */
	RDDA_FAULT_TURN		= 12,	/* each batch of completions is the last of its work */
	RDDA_FAULT_PLAIN	= 13,	/* no features are granted, as by an old target */
	RDDA_FAULT_PAGES	= 14,	/* an arena gets only pages that were kept */
	RDDA_FAULT_ALONE	= 15,	/* polling goes on though tasks wait for its CPU */
	/* client */
	RDDA_FAULT_SQ_WAIT	= 16,	/* I/O ends without a send completion */
	RDDA_FAULT_CHANNEL	= 17,	/* data on another channel than its command */
	RDDA_FAULT_GEN		= 18,	/* any generation of a command is accepted */
	RDDA_FAULT_EARLY	= 19,	/* arena block free when its READ is posted */
	RDDA_FAULT_SETTLE	= 20,	/* OPEN does not wait for PONGs */
	RDDA_FAULT_STALE	= 21,	/* each seventh use of a stage finds the stage dropped */
	RDDA_FAULT_NOMEM	= 22,	/* each seventh I/O finds no memory */
	RDDA_FAULT_TWO		= 23,	/* no queue pair for more than two channels */
	RDDA_FAULT_OUT		= 24,	/* a message of commands never counts as arrived */
	/* target */
	RDDA_FAULT_BUFS		= 25,	/* one send fills the send queue */
	RDDA_FAULT_INLINE	= 26,	/* the client overwrites its command after the copy */
	RDDA_FAULT_LINGER	= 27,	/* a turn is slow after its polling */
	RDDA_FAULT_OLDER	= 28,	/* the newest feature is not granted */
	/* both */
	RDDA_FAULT_QP_STAYS	= 29,	/* queue pairs are not destroyed, as by a NIC that hangs */
};

#ifdef MESH_FAULTS
extern unsigned long rdda_faults;

static inline bool rdda_fault(enum rdda_fault_point f)
{
	return READ_ONCE(rdda_faults) & BIT(f);
}

/* Use once in each module. */
#define RDDA_FAULTS_DEFINE						\
	unsigned long rdda_faults;					\
									\
	module_param_named(faults, rdda_faults, ulong, 0644);		\
	MODULE_PARM_DESC(faults, "rules taken out, for tests")
#else
static inline bool rdda_fault(enum rdda_fault_point f)
{
	return false;
}

#define RDDA_FAULTS_DEFINE
#endif

/* Sleep as long as a rule is taken out. Process context. */
static inline void rdda_fault_stay(enum rdda_fault_point f)
{
	while (rdda_fault(f))
		msleep(20);
}

#endif
