/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * meshctl: the command line.
 *
 *   main.c      noun, verb, options -> a request object
 *   verbs.c     the table of verbs: options, help, how to build, how to print
 *   control.c   meshd's socket: request out, progress and result in
 *   progress.c  the bar on a terminal
 *   complain.c  errors and notes
 *   text.c      human-readable results     json.c  results for scripts
 *
 * Exit status: 0 done, 1 it failed, 2 the command line makes no sense.
 */
#ifndef MESHCTL_H
#define MESHCTL_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#define MESHCTL_VERSION	"0.1"
#define MESHCTL_SOCKET	"/run/meshd/meshd.sock"
#define MESHCTL_VALUES	64

/* EXIT_FOUND becomes EXIT_FAILED once the result is printed. */
enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2, EXIT_FOUND = 3 };

/* What an option takes, and how it goes into the request. */
enum opt_kind {
	OPT_FLAG,	/* "force": true */
	OPT_TEXT,
	OPT_SIZE,	/* bytes with a binary suffix */
	OPT_SIZE_MAX,	/* the same, or "max" */
	OPT_NUMBER,
	OPT_LIST,	/* comma separated */
	OPT_LAYOUT,	/* linear | stripe:N -> level, columns */
	OPT_OFF,	/* "attach": false */
	OPT_LINE,	/* the last line of a file, - is standard input */
};

struct opt {
	const char *name;	/* without the dashes */
	enum opt_kind kind;
	const char *key;	/* in the request */
	const char *help;
};

/**
 * struct print_ops - one backend: how each kind of result is shown
 */
struct print_ops {
	void (*version)(const json_t *result);
	void (*scan)(const json_t *result);
	void (*drives)(const json_t *result);
	void (*health)(const json_t *result);
	void (*hosts)(const json_t *result);
	void (*checks)(const json_t *result);
	void (*key)(const json_t *result);
	void (*volumes)(const json_t *result);
	void (*volume)(const json_t *result);
	void (*device)(const json_t *result);
	void (*stats)(const json_t *result);
	void (*done)(const json_t *result);
	void (*extents)(const json_t *result);
	void (*candidates)(const json_t *result);	/* what could be imported */
	void (*identity)(const json_t *result);
	void (*dry_run)(const json_t *result);
};

typedef void (*print_fn)(const struct print_ops *p, const json_t *result);

/**
 * struct verb - one thing meshctl can do
 * @noun: NULL for verbs without one
 * @name: as typed
 * @operand: its operand's key in the request; NULL when it takes none
 * @operand_name: for help; "[NAME]" when it may be left out
 * @second: key of a second operand, or NULL
 * @second_name: for help
 * @opts: ends with a NULL name; every verb has --json and --help, too
 * @summary: one line
 * @example: lines of it
 * @print: shows the result
 */
struct verb {
	const char *noun;
	const char *name;
	const char *operand;
	const char *operand_name;
	const char *second;
	const char *second_name;
	const struct opt *opts;
	const char *summary;
	const char *example;
	print_fn print;
};

extern const struct verb verbs[];
extern const struct print_ops print_text, print_json;

void print_dry_run(const struct print_ops *p, const json_t *result);

/* complain.c: one line on standard error; with --json, an object on standard output. */
extern bool json_errors;
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
