// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "userspace/format/keys.h"
#include "userspace/format/layout.h"

_Static_assert(KEY_NAME_MAX == LAYOUT_NAME, "a key has room for a volume's name");

enum segment { NONE, HOST, DRIVE, VOLUME, TASK, TOKEN, ABOUT, NAME, SERIAL };

#define SERIAL_DIGITS	16

static const struct key_form {
	const char *word;
	enum segment segment[KEY_SEGMENTS];
} forms[KEY_KINDS] = {
	[KEY_CLUSTER]	= { "cluster",	{ NONE } },
	[KEY_LEADER]	= { "leader",	{ NONE } },
	[KEY_HOST]	= { "host",	{ HOST } },
	[KEY_ALIVE]	= { "alive",	{ HOST } },
	[KEY_DEVICE]	= { "device",	{ HOST } },
	[KEY_DRIVE]	= { "drive",	{ DRIVE } },
	[KEY_VOLUME]	= { "volume",	{ VOLUME } },
	[KEY_NAME]	= { "name",	{ NAME } },
	[KEY_ACCESS]	= { "access",	{ VOLUME } },
	[KEY_READER]	= { "reader",	{ VOLUME, HOST } },
	[KEY_WANT]	= { "want",	{ HOST, VOLUME } },
	[KEY_WRITER]	= { "writer",	{ VOLUME } },
	[KEY_ROSTER]	= { "roster",	{ VOLUME } },
	[KEY_TASK]	= { "task",	{ TASK } },
	[KEY_EVENT]	= { "event",	{ HOST, SERIAL } },
	[KEY_STATUS]	= { "status",	{ HOST, ABOUT } },
	[KEY_TOKEN]	= { "token",	{ TOKEN } },
	[KEY_RECOVER]	= { "recover",	{ NONE } },
	[KEY_REPORT]	= { "report",	{ HOST, ABOUT } },
};

static const struct key_form *form_of(enum key_kind kind)
{
	return kind > 0 && kind < KEY_KINDS ? &forms[kind] : NULL;
}

static unsigned int segments_of(const struct key_form *f)
{
	unsigned int n = 0;

	while (n < KEY_SEGMENTS && f->segment[n] != NONE)
		n++;
	return n;
}

/* NULL: the segment is no UUID. */
static struct muuid *uuid_of(struct key *k, enum segment s)
{
	switch (s) {
	case HOST:
		return &k->host;
	case DRIVE:
		return &k->drive;
	case VOLUME:
		return &k->volume;
	case TASK:
		return &k->task;
	case TOKEN:
		return &k->token;
	case ABOUT:
		return &k->about;
	default:
		return NULL;
	}
}

static int segment_text(const struct key *k, enum segment s, char *out, size_t size)
{
	/* The copy is for uuid_of(), which serves the parser, too. */
	struct key key = *k;
	const struct muuid *u = uuid_of(&key, s);

	if (u) {
		if (muuid_null(u))
			return -EINVAL;
		muuid_text(u, out);
	} else if (s == NAME) {
		if (!memchr(k->name, 0, sizeof(k->name)) || !layout_name_ok(k->name))
			return -EINVAL;
		snprintf(out, size, "%s", k->name);
	} else {
		if (k->serial >> 63)
			return -EINVAL;
		snprintf(out, size, "%016llx", (unsigned long long)k->serial);
	}
	return 0;
}

/* The first @given segments, each behind a '/'. */
static int text_of(const struct key *k, unsigned int given, char *out)
{
	const struct key_form *f = form_of(k->kind);
	char segment[KEY_NAME_MAX];
	size_t at;

	if (!f || given > segments_of(f))
		return -EINVAL;
	at = snprintf(out, STORE_KEY_MAX, "%s", f->word);
	for (unsigned int i = 0; i < given; i++) {
		if (segment_text(k, f->segment[i], segment, sizeof(segment)))
			return -EINVAL;
		at += snprintf(out + at, STORE_KEY_MAX - at, "/%s", segment);
	}
	return 0;
}

int key_text(const struct key *k, char out[STORE_KEY_MAX])
{
	const struct key_form *f = form_of(k->kind);

	return f ? text_of(k, segments_of(f), out) : -EINVAL;
}

int key_prefix(const struct key *k, unsigned int given, char out[STORE_KEY_MAX])
{
	const struct key_form *f = form_of(k->kind);

	if (!f || given >= segments_of(f) || text_of(k, given, out))
		return -EINVAL;
	/* Without the '/' a key with a longer first word would be found, too. */
	strcat(out, "/");
	return 0;
}

static int serial_parse(const char *text, u64 *serial)
{
	size_t n;

	*serial = 0;
	for (n = 0; text[n]; n++) {
		static const char hex[] = "0123456789abcdef";
		const char *digit = strchr(hex, text[n]);

		if (n == SERIAL_DIGITS || !digit)
			return -EINVAL;
		*serial = *serial << 4 | (u64)(digit - hex);
	}
	return n == SERIAL_DIGITS && !(*serial >> 63) ? 0 : -EINVAL;
}

static int segment_parse(struct key *k, enum segment s, const char *text)
{
	struct muuid *u = uuid_of(k, s);

	if (s == NAME) {
		if (!layout_name_ok(text))
			return -EINVAL;
		snprintf(k->name, sizeof(k->name), "%s", text);
		return 0;
	}
	if (s == SERIAL)
		return serial_parse(text, &k->serial);
	if (!u || muuid_parse(text, u) || muuid_null(u))
		return -EINVAL;
	/* muuid_parse() accepts capital letters: a second text for the same object. */
	return strcmp(text, muuid_str(u).s) ? -EINVAL : 0;
}

int key_parse(const char *text, struct key *k)
{
	char copy[STORE_KEY_MAX], *rest = copy, *word;
	const struct key_form *f;
	int kind;

	memset(k, 0, sizeof(*k));
	if (strlen(text) >= sizeof(copy))
		return -EINVAL;
	memcpy(copy, text, strlen(text) + 1);
	word = strsep(&rest, "/");
	for (kind = KEY_CLUSTER; kind < KEY_KINDS && strcmp(forms[kind].word, word); kind++)
		;
	f = form_of(kind);
	if (!f)
		return -EINVAL;
	k->kind = kind;
	for (unsigned int i = 0; i < segments_of(f); i++) {
		word = strsep(&rest, "/");
		if (!word || segment_parse(k, f->segment[i], word))
			return -EINVAL;
	}
	return rest ? -EINVAL : 0;
}

const char *key_word(enum key_kind kind)
{
	const struct key_form *f = form_of(kind);

	return f ? f->word : NULL;
}

bool key_equal(const struct key *a, const struct key *b)
{
	char x[STORE_KEY_MAX], y[STORE_KEY_MAX];

	return !key_text(a, x) && !key_text(b, y) && !strcmp(x, y);
}
