// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "userspace/format/printable.h"
#include "userspace/store/et_grpc.h"

#define ROOM_FIRST	4096

void grpc_head_begin(struct grpc_head *h)
{
	memset(h, 0, sizeof(*h));
	h->status = GRPC_NONE;
}

/* Digits alone, up to three of them; else @otherwise. */
static int number(const char *text, size_t len, int otherwise)
{
	int n = 0;

	if (!len || len > 3)
		return otherwise;
	for (size_t i = 0; i < len; i++) {
		if (text[i] < '0' || text[i] > '9')
			return otherwise;
		n = 10 * n + text[i] - '0';
	}
	return n;
}

static int hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* A '%' without two hexadecimal digits stands for itself, as gRPC wants it. */
static void decode_words(const char *text, size_t len, char out[GRPC_WORDS])
{
	char plain[GRPC_WORDS];
	size_t n = 0;

	for (size_t i = 0; i < len && n < sizeof(plain) - 1; i++) {
		if (text[i] == '%' && len - i > 2 && hex(text[i + 1]) >= 0 && hex(text[i + 2]) >= 0) {
			plain[n++] = hex(text[i + 1]) << 4 | hex(text[i + 2]);
			i += 2;
		} else {
			plain[n++] = text[i];
		}
		if (!plain[n - 1])
			plain[n - 1] = ' ';
	}
	plain[n] = 0;
	printable(plain, out, GRPC_WORDS);
}

static bool is(const char *name, size_t len, const char *want)
{
	return len == strlen(want) && !strncasecmp(name, want, len);
}

/* "HTTP/2 200" and "HTTP/1.1 200 OK". */
static bool status_line(struct grpc_head *h, const char *line, size_t len)
{
	const char *code = memchr(line, ' ', len);
	size_t n = 0;

	if (len < 5 || memcmp(line, "HTTP/", 5))
		return false;
	grpc_head_begin(h);
	if (!code)
		return true;
	code++;
	while (code + n < line + len && code[n] != ' ')
		n++;
	h->http = number(code, n, 0);
	return true;
}

void grpc_header(struct grpc_head *h, const char *line, size_t len)
{
	const char *value;
	size_t name;

	while (len && (line[len - 1] == '\r' || line[len - 1] == '\n' || line[len - 1] == ' '))
		len--;
	if (status_line(h, line, len))
		return;
	value = len ? memchr(line, ':', len) : NULL;
	if (!value)
		return;
	name = value++ - line;
	while (value < line + len && *value == ' ')
		value++;
	len -= value - line;
	if (is(line, name, "grpc-status"))
		h->status = number(value, len, GRPC_NONE);
	else if (is(line, name, "grpc-message"))
		decode_words(value, len, h->words);
	else if (is(line, name, "content-type"))
		h->grpc = len >= 16 && !strncasecmp(value, "application/grpc", 16);
}

static int take_prefix(struct grpc_rx *rx, const u8 *bytes, size_t n, size_t *used)
{
	size_t take = GRPC_PREFIX - rx->prefix_got;

	if (take > n)
		take = n;
	memcpy(rx->prefix + rx->prefix_got, bytes, take);
	rx->prefix_got += take;
	*used += take;
	if (rx->prefix_got < GRPC_PREFIX)
		return 0;
	rx->len = (size_t)rx->prefix[1] << 24 | rx->prefix[2] << 16 | rx->prefix[3] << 8 | rx->prefix[4];
	if (rx->prefix[0])
		return -EPROTO;
	return rx->len > rx->max ? -EMSGSIZE : 0;
}

static int reserve(struct grpc_rx *rx, size_t want)
{
	size_t room = rx->room ? rx->room : ROOM_FIRST;
	u8 *more;

	if (want <= rx->room)
		return 0;
	while (room < want)
		room *= 2;
	more = realloc(rx->msg, room);
	if (!more)
		return -ENOMEM;
	rx->msg = more;
	rx->room = room;
	return 0;
}

int grpc_feed(struct grpc_rx *rx, const u8 *bytes, size_t n, size_t *used)
{
	size_t take;
	int err;

	*used = 0;
	if (rx->prefix_got < GRPC_PREFIX) {
		err = take_prefix(rx, bytes, n, used);
		if (err || rx->prefix_got < GRPC_PREFIX)
			return err;
	}
	take = rx->len - rx->got;
	if (take > n - *used)
		take = n - *used;
	err = reserve(rx, rx->got + take);
	if (err)
		return err;
	if (take)
		memcpy(rx->msg + rx->got, bytes + *used, take);
	rx->got += take;
	*used += take;
	return rx->got == rx->len;
}

void grpc_next(struct grpc_rx *rx)
{
	rx->prefix_got = 0;
	rx->len = 0;
	rx->got = 0;
}

bool grpc_cut(const struct grpc_rx *rx)
{
	return rx->prefix_got;
}

void grpc_rx_end(struct grpc_rx *rx)
{
	free(rx->msg);
	memset(rx, 0, sizeof(*rx));
}

void grpc_prefix(u8 prefix[GRPC_PREFIX], size_t len)
{
	prefix[0] = 0;
	prefix[1] = len >> 24;
	prefix[2] = len >> 16;
	prefix[3] = len >> 8;
	prefix[4] = len;
}
