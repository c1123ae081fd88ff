/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * meshctl: the command line.
 *
 *   main.c      noun, verb, options -> a request object, by format/verbs.h
 *   control.c   meshd's socket: request out, progress and result in
 *   progress.c  the bar on a terminal
 *   complain.c  errors and notes
 *   text.c      human-readable results, by table.[ch]; text_one.c those of the cluster store's daemon
 *   json.c      results for scripts
 *
 * Exit status: 0 done, 1 it failed, 2 the command line makes no sense.
 */
#ifndef MESHCTL_H
#define MESHCTL_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "userspace/format/verbs.h"

/* EXIT_FOUND becomes EXIT_FAILED once the result is printed. */
enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2, EXIT_FOUND = 3 };

typedef void (*print_fn)(const json_t *result);

/* text.c: by enum verb_result */
extern const print_fn print_text[RESULTS];
/* Groups of a volume as a kernel has them: roles, rebuilds, scrubs, evictions. */
void print_kernel(const json_t *k);
/* A volume's segments for a table; the caller's. */
json_t *segments_of(const json_t *r);

/* text_one.c */
void print_cluster(const json_t *r);
void print_status(const json_t *r);
void print_token(const json_t *r);
void print_members(const json_t *r);
void print_disks(const json_t *r);
void print_exported(const json_t *r);
void print_exports(const json_t *r);
void print_tasks(const json_t *r);
void print_task(const json_t *r);
void print_events(const json_t *r);
void print_attached(const json_t *r);
void print_layout(const json_t *r);
void print_backup(const json_t *r);
void print_recover(const json_t *r);

/* complain.c: one line on standard error; with --json, an object on standard output. */
extern bool json_errors;
extern json_t *json_more;	/* what is known beside the error; NULL: nothing */
int complain(int status, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void note_show(const char *text);

/* json.c */
void json_show(const json_t *j);

/* control.c: EXIT_DONE with *result, or says why not and returns the status. */
int control_call(const char *socket_path, const json_t *request, json_t **result);

/* progress.c; nothing is drawn unless standard error is a terminal. */
void progress_show(const json_t *progress);
void progress_end(void);

#endif
