/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What can be requested of meshd on its control socket, in a JSON object a line:
 *
 *   {"verb":"volume create", "args":{"name":"data", "size":1099511627776, ...}}
 *
 * meshctl reads command lines by this table and writes its help from it; meshd checks
 * requests by it, for other programs may write to the socket, too.
 */
#ifndef FORMAT_VERBS_H
#define FORMAT_VERBS_H

#include <jansson.h>
#include <stdbool.h>

#include "rdda/wire.h"

#define MESHD_VERSION	"0.1"
#define MESHD_SOCKET	"/run/meshd/meshd.sock"
#define MESH_PORT	RDDA_PORT	/* of logins over RDMA and of meshd over TCP */
#define MESH_PORT_TEXT	TEXT_OF(MESH_PORT)
#define TEXT_OF(x)	TEXT_OF_(x)
#define TEXT_OF_(x)	#x
#define VERB_OPERANDS	2
#define VERB_PERIOD_MAX	2592000		/* seconds: 30 days */
#define LOCAL_PREFIX	"bdev:"		/* of a drive that is named by a device of this host */

/* What an argument is in a request; arg_wrong() has the limits. */
enum arg_kind {
	ARG_FLAG,	/* true */
	ARG_OFF,	/* false */
	ARG_TEXT,
	ARG_HOST,	/* texts that name something */
	ARG_DRIVE,
	ARG_MEMBER,
	ARG_KEY,
	ARG_NAME,	/* layout_name_ok() */
	ARG_SIZE,	/* bytes, or "max"; no default */
	ARG_STRIP,	/* bytes */
	ARG_NUMBER,
	ARG_SECONDS,
	ARG_LIST,	/* of texts */
	ARG_ITEM,	/* typed: one of them; may be typed several times */
	ARG_LAYOUT,	/* layout_parse(); no default */
	ARG_DOMAIN,
	ARG_WORD,	/* an operand, one of the words of its name: "show|clear" */
	ARG_LINE,	/* a text; typed: the file whose last line it is */
	ARG_HOSTS,	/* of texts that name hosts; typed: with commas, and several times */
	ARG_PAIRS,	/* of "name=value"; typed: one of them, several times */
	ARG_ROLE,	/* of a host's key: "client", "storage", "store" */
	ARG_PERIOD,	/* seconds; typed: 90s, 30m, 1h, 2d */
	ARG_LABEL,	/* "drive", "host", "rack", or the name of a label of hosts */
	ARG_COUNT,	/* 0 to 1024 */
	ARG_ID,		/* a whole UUID */
};

/* An operand or an option. */
struct verb_arg {
	/* as the help shows it: "NAME", "[NAME]" when it may be left out, "--option" */
	const char *name;
	enum arg_kind kind;	/* what it is */
	const char *key;	/* in the request */
	const char *help;	/* of an option */
};

/* What is answered, for the printer of it. */
enum verb_result {
	RESULT_DONE,		/* nothing */
	RESULT_VERSION,
	RESULT_SCAN,
	RESULT_DRIVES,
	RESULT_HEALTH,
	RESULT_HOSTS,
	RESULT_CHECKS,
	RESULT_KEY,
	RESULT_VOLUMES,
	RESULT_VOLUME,
	RESULT_DEVICE,
	RESULT_STATS,
	RESULT_EXTENTS,
	RESULT_CANDIDATES,	/* what could be imported */
	RESULT_IDENTITY,
	RESULT_DRY_RUN,		/* of any verb, instead of its own */
	RESULT_CLUSTER,		/* from here on: of the daemon of the cluster store */
	RESULT_STATUS,
	RESULT_TOKEN,
	RESULT_MEMBERS,		/* hosts of the cluster */
	RESULT_DISKS,
	RESULT_EXPORTED,
	RESULT_TASKS,
	RESULT_TASK,
	RESULT_EVENTS,
	RESULT_ATTACHED,
	RESULT_LAYOUT,
	RESULT_BACKUP,
	RESULT_RECOVER,
	RESULTS
};

/* One thing that can be requested. */
struct verb {
	const char *words;			/* as typed and in requests, "volume create" */
	struct verb_arg operand[VERB_OPERANDS];	/* up to the first without a name */
	/* ends with a NULL name; meshctl has --json and --help for each verb, too */
	const struct verb_arg *opts;
	const char *summary;			/* one line */
	const char *example;			/* lines of it */
	enum verb_result result;		/* what is answered */
};

/* Of the table that a program is linked with: verbs.c, or verbs_one.c. */
extern const struct verb verbs[];	/* ends with NULL words */
/* NULL, or a sentence: arguments that are good one by one, and not together. */
const char *verbs_wrong(const struct verb *v, const json_t *args);

const struct verb *verb_find(const char *words);
bool arg_required(const struct verb_arg *a);
/* What is wanted instead of a value, or NULL when it will do. */
const char *arg_wrong(const struct verb_arg *a, const json_t *value);
/* Whether a request has all that its verb requires, and nothing wrong in it; else @why. */
bool verb_ok(const struct verb *v, const json_t *args, char *why, size_t size);

#endif
