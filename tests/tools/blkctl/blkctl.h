/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * blkctl, inside. What it does is said in main.c.
 *
 *   main.c     the table of verbs; all but those below
 *     layout.c   make, set: members and segments of a volume
 *     storm.c    bad messages at random
 *   netlink.c  the socket: a message out, its answer in
 *   answer.c   answers and events as JSON
 */
#ifndef TESTS_TOOLS_BLKCTL_H
#define TESTS_TOOLS_BLKCTL_H

#include <jansson.h>
#include <stdint.h>
#include <netlink/genl/genl.h>
#include <netlink/netlink.h>

#include "driver/uapi/meshblk.h"

struct uuid { unsigned char b[16]; };

struct member {
	int kind;
	uint32_t target;
	uint64_t epoch, size;
	uint32_t lba;
	struct uuid uuid, drive;
	uint64_t start;
	int preempt;
	uint32_t leaves;	/* a place + 1: the extent leaves it */
	char path[256];
};

struct segment {
	uint64_t start, length;
	int level, data, parity, groups, fresh;
	uint32_t strip;
	uint32_t nr, *members;
	uint64_t *offsets;
};

typedef int (*answer_fn)(struct nl_msg *msg, void *arg);

/* main.c */
void __attribute__((noreturn, format(printf, 2, 3))) die(int status, const char *fmt, ...);
uint64_t parse_size(const char *s);
uint64_t parse_number(const char *s);	/* GENERATION.COUNTER[.RESTART], or one integer */
struct uuid parse_uuid(const char *s);
const char *show_uuid(const void *data);
void wait_freed(void);
/* Prints the disk when the volume comes to @state; "gone": is not there. */
int wait_state(const char *uuid, const char *state, double seconds);

/* netlink.c */
extern struct nl_sock *sock;
extern char refusal[256];	/* what the kernel said of the last message */
struct nl_sock *open_socket(void);
void connect_family(void);
struct nl_msg *new_msg(int cmd, int flags);
void put_uuid(struct nl_msg *m, int attr, const struct uuid *u);
/* A key of the kernel's keyrings, and its serial number as @attr. */
void secret(struct nl_msg *m, int attr, const char *kind, const char *of, const void *bytes,
	    size_t len);
/* Sends @m and waits for the end of the answer. Returns 0 or a negative errno. */
int talk(struct nl_msg *m, answer_fn fn, void *arg);
int finish(int err);		/* the exit status */

/* layout.c */
struct uuid derive_uuid(struct uuid vol, unsigned int i);
void put_layout(struct nl_msg *m, const struct member *members, int nm,
		const struct segment *segs, int ns);
const char *j_str(json_t *o, const char *key, const char *otherwise);
int cmd_make(int argc, char **argv);
int cmd_set(int argc, char **argv);
int cmd_evict(int argc, char **argv);

/* answer.c */
const char *show_number(uint64_t number);
json_t *answer_json(struct nl_msg *msg);
int print_answer(struct nl_msg *msg, void *arg);

/* witness.c */
int cmd_witness(int argc, char **argv);
int cmd_noted(int argc, char **argv);

/* keys.c */
int cmd_bad_keys(int argc, char **argv);

/* storm.c */
int cmd_storm(int argc, char **argv);

#endif
