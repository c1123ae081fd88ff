/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A small cluster between two steps: one volume V without redundancy, two hosts that attach it, two
 * or three drives with a label, a target and an agent each, and the store. userspace/plan/ decides
 * all that it can decide; the rest is the world's, and written here.
 *
 *   objects.[ch]   objects of plan/ from a state
 *   target.c       OPEN, sessions, what is in flight
 *   kernel.c       members, disk, writes
 *   host.c         attach, release, readers, crash
 *   again.c        the host's record, attach by it, retake, HELD
 *   drive.c        the agent of a drive, and a drive that is moved
 *   txn.c          transactions, now or late
 *   store.c        controller; the store is put back, and recovered
 *   check.c        what must never be seen
 *   progress.c     what must be possible from each state
 *   search.[ch]    breadth first over all states
 *   layers.[ch]    runs them all
 *   mutants.c      bounds, and the rules that are taken out
 *   main.c         the command line
 *
 * A state is plain bytes without padding, so that equal states are equal bytes.
 */
#ifndef SIM_CLUSTER_WORLD_H
#define SIM_CLUSTER_WORLD_H

#include <linux/types.h>

#include "userspace/plan/objects.h"

#define DRIVES	3
#define HOSTS	2
#define PLACES	3
#define KEYS	2	/* of a drive/D: two only where the store was put back */
#define LATE	2	/* transactions in flight */

#define PACKED	__attribute__((packed))

/*
 * An extent by its name: drive << 4 | other volume << 3 | id; 0: none. An id is never given twice.
 * A number: generation << 12 | counter << 6 | restart.
 */
static inline int drive_of(u8 x)
{
	return x >> 4;
}

static inline bool is_other(u8 x)
{
	return x >> 3 & 1;
}

static inline u8 extent_name(int d, bool other, u8 id)
{
	return d << 4 | other << 3 | id;
}

static inline u16 access_of(u16 num)
{
	return num & ~63;
}

struct lay {
	u8	ver, com, pl[PLACES];	/* extent of each place */
} PACKED;

struct key {			/* an extent of drive/D */
	u8	x, st, ver, com;
} PACKED;

struct store {
	u16	num, rep_num;		/* of access/V, roster/V */
	u8	vst, mode, holder;	/* holder: 1 + host */
	u8	readers;		/* hosts */
	u8	rep_ver, gen;
	u8	clean;
	u8	back;			/* it was put back, and nothing was recovered since */
	u8	dhost;			/* agents of drives */
	struct lay lay;
	struct key key[DRIVES][KEYS];
} PACKED;

struct drive {
	/* label */
	u16	num;
	u8	x, zeroed, att, ver, com, gen;
	struct lay rec;
	/* bytes: writes that they have */
	u8	mask;
	/* target: session for writing, hosts that read, the number if it is not durable */
	u16	gnum, vnum;
	u8	grant, gx, rg, unknown;
	/* a write in flight */
	u16	fnum;
	u8	fw, fh, fx, fboot;
	/* machine that it is in, and that no agent has taken it there yet */
	u8	home, moved;
} PACKED;

enum phase { P_IDLE, P_TXN, P_OPENS, P_SERVES, P_READS };

struct host {
	/* kernel; @old: the number served so far, of a retake; @sn: as @served when it began */
	u16	num, old, sn;
	u8	ph, pre, nost, live, bel, infl, appl;
	struct lay lay;
	/* agent: numbers that are to be released, or to be given up after HELD */
	u16	rel, held;
	u8	boot, cut, up;	/* up: of a plain attach: it lives, so its lease does */
	/* record on its own disk */
	u16	rc_num, rc_sn;
	u8	rc_mode;
	struct lay rc_lay;
} PACKED;

enum txn_kind {
	T_ATTACH = 1, T_READER, T_RELEASE, T_HELD, T_RETAKE, T_NOTE,	/* of hosts */
	T_CHANGE, T_FREE, T_DELETE, T_AGENT,
};

struct txn {
	u16	num, old;
	u8	kind, who, boot;	/* who: host, or drive */
	u8	compare, put, erase;	/* enum plan_object */
	u8	stale;			/* ... that have changed since they were read */
	u8	drives;			/* compared with PLAN_OBJ_DRIVES */
	u8	what, x, pre;
	struct lay lay;
} PACKED;

/* The one agent that is behind: of drive @d in machine @a. */
struct view {
	u8	on, d, a, early, fresh, stale;
	struct store s;
} PACKED;

struct state {
	struct store s, bak;
	struct drive d[DRIVES];
	struct host h[HOSTS];
	struct txn t[LATE];
	struct view v;
	/* an OPEN of a host that died is in flight */
	u16	late_num;
	u8	late_host, late_x;
	/* of the world: acknowledged at each place, newest attachment that served, ... */
	u8	must[PLACES], srvh, srvboot;
	u16	srv, dead_num;
	struct lay best;		/* the newest layout that was decided; 0: V is deleted */
	u8	followed;		/* highest generation, by all hosts */
	u8	ids[DRIVES], coms;
	u8	writes, crashes, attaches, restarts, changes, allocs, deletes, moves;
	u8	copies, backs, recovers, agains, retakes, cuts, raises, lates, views, ended;
} PACKED;

/* Bounds and features; layers.c has their values. */
#define OPTIONS(O) \
	O(drives) O(writes) O(crashes) O(attaches) O(restarts) O(flights) O(readers) O(late_opens) \
	O(lates) O(views) O(changes) O(allocs) O(others) O(deletes) O(moves) O(backs) O(recovers) \
	O(record) O(agains) O(retakes) O(plain) O(cuts) O(raises) O(window) O(unseen) O(progress) \
	O(unmarked) O(behind) O(kilo)

struct options {
#define OPTION(o) int o;
	OPTIONS(OPTION)
#undef OPTION
};

extern struct options opt;

/* Rules of the world, which a mutant takes out as those of plan/mutant.h. */
enum rule {
	RULE_NONE,
	RULE_LOWER,		/* target: a lower number is refused */
	RULE_EQUAL,		/* ... an equal one of another host */
	RULE_DURABLE,		/* ... the label is durable before the grant */
	RULE_FLIGHT,		/* ... what is in flight ends before it */
	RULE_READERS_END,	/* ... readers are ended by a writer's OPEN */
	RULE_READER_NUMBER,	/* ... a reader's OPEN is refused by a higher number */
	RULE_READER_RESTART,	/* ... which the restart does not count for */
	RULE_ZEROED,		/* ... an extent that is not zeroed is refused */
	RULE_TABLE,		/* ... sessions end before the label gives an extent up */
	RULE_TABLE_FLIGHT,	/* ... and what is in flight */
	RULE_HELD,		/* ... HELD while it is open for another host */
	RULE_UNKNOWN,		/* ... after its start a probe says "not yet known" */
	RULE_UNKNOWN_OPEN,	/* ... and so does an OPEN without preempt */
	RULE_RESTART,		/* ... a lower restart of the same host is refused */
	RULE_SERVE_ALL,		/* kernel: the disk appears when all members are open */
	RULE_KERNEL_FIRST,	/* ... it ends before the release */
	RULE_RECORD_ERASED,	/* host: its record is erased before the release */
	RULE_RECORD_SET,	/* ... and written before VOLUME_SET */
	RULE_RECORD_ATTACH,	/* ... and after the attach transaction */
	RULE_RECOVER_LABELS,	/* recover: labels get the new generation before they are read */
	RULE_HELD_NONE,		/* host: an attach that was HELD writes mode none */
	RULE_FENCED_NONE,	/* ... and so does one that was fenced while access names it */
	RULES,
};

extern enum rule rule_out;

static inline bool keeps(enum rule r)
{
	return rule_out != r;
}

/* Set by a step that shows what must never be seen. */
extern const char *bad;

static inline void complain(const char *what)
{
	if (!bad)
		bad = what;
}

/* ---- objects of the state that several files use */

u8 lay_drives(const struct lay *l);	/* drives that it names */
bool lay_names(const struct lay *l, u8 x);
struct key *key_of(struct store *s, u8 x);
const struct key *key_get(const struct store *s, u8 x);
/* V's extent @x is in the label of its drive. */
bool label_has(const struct state *s, u8 x);
/* @h has a session for writing under its number at drive @d. */
bool session(const struct state *s, int h, int d);
u8 sessions(const struct state *s, int h);
bool names(const struct store *s, int h, u16 num);

/* target.c */
bool target_may_open(const struct state *s, int h, u8 x, u16 num, bool pre);
int target_open(struct state *out, const struct state *s, int h, u8 x, u16 num);
bool target_may_read(const struct state *s, int h, u8 x, u16 num);
int target_end_flight(struct state *out, const struct state *s, int d);
void target_land(struct state *t, int d, u8 bit, int h, u16 num, u8 x, u8 boot);
int target_free(struct state *out, const struct state *s, int d);
bool target_open_for_other(const struct state *s, int h, int d);
bool target_unknown(const struct state *s, int h, int d);
void target_steps(const struct state *s);

/* kernel.c */
void kernel_steps(const struct state *s, int h);
void kernel_acked(struct state *t, int h);
void kernel_serve(struct state *t, int h);

/* host.c */
void host_steps(const struct state *s, int h);
void host_crash(struct state *t, int h);
void host_attached(struct state *t, const struct txn *x);
void host_begin(struct state *t, int h, u16 num, const struct lay *l);

/* again.c */
void again_steps(const struct state *s, int h);
void again_record(struct state *t, int h, u8 mode);
void again_erase(struct state *t, int h);
void again_retaken(struct state *t, const struct txn *x);
/* Attach by the record as far as labels go. Return: number; 0: not now. */
u16 again_number(const struct state *s, int h);

/* drive.c */
void drive_steps(const struct state *s);
/* One step of the agent where @d is. Return: false: there was nothing to do. */
bool drive_settle(struct state *t, int d);

/* txn.c: the decision @x is committed now; or later, if the bounds allow that. */
void txn_decided(const struct state *s, struct txn *x, const char *what);
bool txn_commit(struct state *t, const struct txn *x);
void txn_changed(struct state *t, u8 object, u8 drives);
void txn_steps(const struct state *s);

/* store.c */
bool store_stopped(const struct store *s);
void store_steps(const struct state *s);
bool store_recover(struct state *t, u8 reach);
bool store_behind(const struct state *s, u8 reach);
void store_gone(struct state *t);
bool store_free_one(struct state *t);

/* check.c, progress.c */
void check_state(const struct state *s);
const char *progress(const struct state *s);

/* main.c */
void world_first(struct state *s);
void world_steps(const struct state *s);
void world_swapped(struct state *t, const struct state *s);

#endif
