// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/format/objects.h"
#include "userspace/store/token.h"

#define VERSION		"meshjoin1"
#define FAMILY		"meshjoin"
#define CHECK_BYTES	4
#define FIELDS		6	/* between the version and the check */

const char *token_role(u8 role)
{
	return obj_role(role);
}

u8 token_role_of(const char *word)
{
	for (u8 role = PLAN_CLIENT; role <= PLAN_STORE; role++)
		if (!strcmp(obj_role(role), word))
			return role;
	return 0;
}

static size_t put_hex(char *out, const u8 *b, size_t n)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < n; i++) {
		*out++ = digits[b[i] >> 4];
		*out++ = digits[b[i] & 15];
	}
	*out = 0;
	return 2 * n;
}

static int get_hex(const char *text, u8 *b, size_t n)
{
	static const char digits[] = "0123456789abcdef";
	const char *high, *low;

	if (strlen(text) != 2 * n)
		return -EINVAL;
	for (; n; n--, text += 2) {
		high = strchr(digits, text[0]);
		low = strchr(digits, text[1]);
		if (!high || !low)
			return -EINVAL;
		*b++ = (high - digits) << 4 | (low - digits);
	}
	return 0;
}

static void check_text(const char *text, size_t len, char out[2 * CHECK_BYTES + 1])
{
	u8 sum[32];

	if (gnutls_hash_fast(GNUTLS_DIG_SHA256, text, len, sum) < 0)
		abort();
	put_hex(out, sum, CHECK_BYTES);
}

static bool whole(const struct token *t)
{
	if (!token_role(t->role) || !t->key_id || muuid_null(&t->id) || !t->addresses ||
	    t->addresses > ADDRESS_MAX)
		return false;
	for (size_t i = 0; i < t->addresses; i++)
		if (!address_name_ok(t->address[i].name) || !t->address[i].port)
			return false;
	return true;
}

int token_print(const struct token *t, char out[TOKEN_TEXT])
{
	size_t at;

	if (!whole(t))
		return -EINVAL;
	at = snprintf(out, TOKEN_TEXT, VERSION "/%s/%u/", token_role(t->role), t->key_id);
	at += put_hex(out + at, t->id.b, sizeof(t->id.b));
	out[at++] = '/';
	at += put_hex(out + at, t->secret.b, SECRET_BYTES);
	out[at++] = '/';
	at += put_hex(out + at, t->cluster, SECRET_CLUSTER);
	for (size_t i = 0; i < t->addresses; i++) {
		at += snprintf(out + at, TOKEN_TEXT - at, "%c%s", i ? ',' : '/', t->address[i].name);
		if (t->address[i].port != ADDRESS_PORT)
			at += snprintf(out + at, TOKEN_TEXT - at, "~%u", t->address[i].port);
	}
	out[at++] = '/';
	check_text(out, at, out + at);
	return 0;
}

static int parse_number(const char *text, u16 *out)
{
	char *end;
	unsigned long v = strtoul(text, &end, 10);

	*out = v;
	return *end || !v || v > 0xffff ? -EINVAL : 0;
}

static int parse_addresses(char *text, struct token *t)
{
	struct address *a;
	char *one, *port;

	while ((one = strsep(&text, ","))) {
		if (t->addresses == ADDRESS_MAX)
			return -EINVAL;
		a = &t->address[t->addresses++];
		port = one;
		strsep(&port, "~");
		a->port = ADDRESS_PORT;
		if (!address_name_ok(one) || (port && parse_number(port, &a->port)))
			return -EINVAL;
		memcpy(a->name, one, strlen(one) + 1);
	}
	return 0;
}

static int parse_fields(char *text, struct token *t)
{
	char *field[FIELDS];

	for (int i = 0; i < FIELDS; i++) {
		field[i] = strsep(&text, "/");
		if (!field[i])
			return -EINVAL;
	}
	t->role = token_role_of(field[0]);
	if (text || parse_number(field[1], &t->key_id) || get_hex(field[2], t->id.b, sizeof(t->id.b)) ||
	    get_hex(field[3], t->secret.b, SECRET_BYTES) || get_hex(field[4], t->cluster, SECRET_CLUSTER))
		return -EINVAL;
	return parse_addresses(field[5], t);
}

/* Printed again it must be the same text: that refuses each second spelling. */
static int parse_whole(char *text, const char *original, struct token *t)
{
	char again[TOKEN_TEXT];
	int err = parse_fields(text, t);

	if (!err)
		err = token_print(t, again);
	if (!err && strcmp(again, original))
		err = -EINVAL;
	explicit_bzero(again, sizeof(again));
	return err;
}

int token_parse(const char *text, struct token *t)
{
	char copy[TOKEN_TEXT], sum[2 * CHECK_BYTES + 1], *slash;
	size_t n = strlen(text);
	int err;

	memset(t, 0, sizeof(*t));
	if (strncmp(text, FAMILY, sizeof(FAMILY) - 1) || n >= TOKEN_TEXT)
		return -EINVAL;
	memcpy(copy, text, n + 1);
	slash = strrchr(copy, '/');
	if (!slash)
		return -EBADMSG;
	check_text(copy, slash + 1 - copy, sum);
	err = strcmp(sum, slash + 1) ? -EBADMSG : 0;
	if (strncmp(text, VERSION "/", sizeof(VERSION)))
		err = err ? err : -EPROTONOSUPPORT;
	*slash = 0;
	if (!err)
		err = parse_whole(copy + sizeof(VERSION), text, t);
	explicit_bzero(copy, sizeof(copy));
	if (err)
		explicit_bzero(t, sizeof(*t));
	return err;
}
