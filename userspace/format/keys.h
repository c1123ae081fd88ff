/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Keys of the cluster store: the name of each object, in segments that '/' divides.
 *
 *   cluster   leader    host/H     alive/H    device/H    drive/D    volume/V    name/N
 *   access/V  reader/V/H   want/H/V   writer/V   roster/V   task/T   event/H/S   status/H/U
 *   token/I   recover    report/H/U
 *
 *   H, D, V, T, I   UUID of a host, drive, volume, task or token, in lower case, never null
 *   U               UUID of a host, drive, volume or task
 *   N               name of a volume, layout_name_ok()
 *   S               number of an event of that host: 16 hexadecimal digits, so that the order of
 *                   keys is the order of events
 *
 * Each object has exactly one text: the parser refuses every other spelling.
 */
#ifndef FORMAT_KEYS_H
#define FORMAT_KEYS_H

#include <linux/types.h>

#include "userspace/format/layout_text.h"
#include "userspace/format/uuid.h"
#include "userspace/store/store.h"

enum key_kind {
	KEY_CLUSTER = 1,
	KEY_LEADER,	/* the host whose meshd is the controller */
	KEY_HOST,
	KEY_ALIVE,
	KEY_DEVICE,
	KEY_DRIVE,
	KEY_VOLUME,
	KEY_NAME,
	KEY_ACCESS,
	KEY_READER,
	KEY_WANT,
	KEY_WRITER,
	KEY_ROSTER,
	KEY_TASK,
	KEY_EVENT,
	KEY_STATUS,
	KEY_TOKEN,
	KEY_RECOVER,	/* the mark: until it goes all hosts decide nothing */
	KEY_REPORT,	/* of a host, for recover */
	KEY_KINDS
};

#define KEY_NAME_MAX	64	/* bytes of a volume's name with its end */
#define KEY_SEGMENTS	2	/* behind the first word */

struct key {
	enum key_kind kind;
	/* segments that the kind has; the others are zero */
	struct muuid host, drive, volume, task, token;
	struct muuid about;	/* of KEY_STATUS, KEY_REPORT */
	u64	serial;		/* of KEY_EVENT, below 2^63 */
	char	name[KEY_NAME_MAX];
};

/* 0; -EINVAL: the kind is not known, a UUID is null, or the name is not allowed. */
int key_text(const struct key *k, char out[STORE_KEY_MAX]);

/**
 * key_prefix() - the beginning of all keys of a kind, for store_range() and store_watch()
 * @given: number of segments that are fixed: KEY_WANT with 1 is "want/H/"
 *
 * Return: 0; -EINVAL: as key_text(), or no key can follow since @given is all segments.
 */
int key_prefix(const struct key *k, unsigned int given, char out[STORE_KEY_MAX]);

/* 0; -EINVAL: no key of the table. @k is written in either case. */
int key_parse(const char *text, struct key *k);

/* The first word: "volume"; NULL: no such kind. */
const char *key_word(enum key_kind kind);
/* True if every segment that the kind has is the same. */
bool key_equal(const struct key *a, const struct key *b);

#endif
