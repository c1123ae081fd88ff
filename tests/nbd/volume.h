/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The workload runner: protect/ over plain files, behind NBD.
 *
 *   nbdkit threads --request--> prot_op --pieces--> prot_group --member I/O--> pool
 *        ^                        (volume.c)             ^                      |
 *        '------ request done ------'                    '------ results -------'
 *   control thread: member files that vanish, come back or are replaced; epochs,
 *   which it commits to the state file before it notifies a group (control.c)
 *
 * In the folder: m0, m1, .. members; `state`, what meshd's store would know,
 * replaced whole by rename; `status`, for scripts that wait; `scrub`, when
 * one is requested.
 *
 * One lock for all of it: what is tested is the policy, not this program.
 */
#ifndef TESTS_NBD_VOLUME_H
#define TESTS_NBD_VOLUME_H

#include <pthread.h>
#include <stdint.h>

#include "protect/codec/codec.h"
#include "protect/engine/group.h"

#define MEMBERS_MAX	64
#define GROUPS_MAX	16
#define LABEL_BYTES	4096U
#define LABEL_MAGIC	"MESHNBD1"	/* then 16 bytes of UUID; a spare has zeroes */

/* What is in the state file. */
struct state {
	uint32_t level, data, parity, groups, strip, lba, region;
	uint64_t bytes;			/* of data on each member */
	uint64_t meta_at, data_at;	/* byte of each member */
	uint64_t epoch, attach, salt;
	uint32_t fresh;			/* has never served */
	uint32_t members;
	struct {
		uint8_t uuid[PROT_UUID_LEN];
		uint64_t left;
		uint32_t in_sync;
	} member[MEMBERS_MAX];
};

struct member {
	int fd;
	bool gone;		/* nothing reaches it */
	uint32_t jobs;		/* in flight, on all threads */
};

struct piece;

struct group {
	struct prot_group *g;
	void *mem;
	uint32_t first, width;		/* members */
	struct piece *head, **tail;	/* wait for an op */
	struct piece **of_op;
	uint64_t requested, caught;		/* members that epochs are due for */
	uint32_t due;			/* rounds until the store has one, plus one */
	uint32_t jobs;
	bool admit;			/* requests may come */
	bool again;			/* stopped half-way: attach again */
	bool kick;
	bool bad;			/* one sector can't be read until it is written: */
	uint32_t bad_member;
	uint64_t bad_addr;
};

struct request {
	struct prot_op op;
	uint8_t *data;		/* a write's bytes; where a read's go */
	bool done;
	uint32_t refs;
	pthread_cond_t cond;
};

struct job {
	struct job *next;
	struct group *grp;
	struct request *rq;	/* whose payload it touches */
	uint32_t tag, op, member, nr;
	uint64_t addr, length;
	uint8_t kind;
	enum prot_event_kind what;
	struct prot_copy copy;
	struct { uint8_t *at; uint32_t length; } vec[PROT_RUNS_MAX + 2];
};

struct volume {
	pthread_mutex_t lock;
	pthread_cond_t work;		/* there are jobs, or it is over */
	char dir[3072];
	struct state st;
	struct prot_layout *layout;
	struct member member[MEMBERS_MAX];
	struct group grp[GROUPS_MAX];
	struct job *jobs, **jobs_tail;
	uint32_t nr_jobs;		/* waiting */
	uint32_t requests;		/* in flight */
	uint32_t delay_us;		/* a member I/O is held back up to that long */
	uint32_t slow_rounds;		/* of control, that an epoch may take */
	uint32_t medium;		/* one read in that many meets a bad sector; 0: none */
	uint32_t scrubs;		/* begun */
	uint64_t unequal, unexplained;	/* found by those before the last one */
	bool over;
};

extern struct volume vol;

/* state.c */
int state_load(const char *dir, struct state *s);
int state_commit(const char *dir, const struct state *s);	/* durable when it returns */
void state_config(const struct state *s, uint32_t group, struct prot_group_config *c);
void random_bytes(void *to, size_t n);

/* volume.c: all with the lock held, but for volume_run() */
int volume_run(uint8_t kind, void *buf, uint64_t offset, uint64_t length);
void volume_attach(struct group *grp);
void volume_job_done(struct job *j);
void volume_drive(void);	/* let all groups go on that were kicked */

/* pool.c */
void pool_add(struct job *j);
int pool_start(unsigned int threads);
void pool_stop(void);

/* control.c */
int control_start(void);
void control_stop(void);

#endif
