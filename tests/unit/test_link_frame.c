// SPDX-License-Identifier: GPL-2.0-only
/* Frames between two meshds, and messages that are put together from pages. */
#include <linux/errno.h>
#include <linux/string.h>
#include <stdlib.h>

#include "tests/unit/suite.h"
#include "userspace/format/link_frame.h"

static u8 big[3 * LINK_PAGE_MAX];

static size_t put(u8 *out, enum link_type type, u64 id, u32 total, u32 off)
{
	struct link_frame f = { .type = type, .id = id, .total = total, .off = off,
				.len = link_page(total, off) };

	link_frame_encode(&f, out);
	memcpy(out + LINK_HDR, big + off, f.len);
	return LINK_HDR + f.len;
}

static size_t put_hello(u8 *out)
{
	struct link_hello h = { .host = { { 1 } }, .boot = 7, .port = 4421 };
	size_t n = put(out, LINK_HELLO, 0, LINK_HELLO_LEN, 0);

	link_hello_encode(&h, out + LINK_HDR);
	return n;
}

/* Feed all of it in steps; the messages that came out, or the error. */
static int feed(struct link_rx *rx, const u8 *in, size_t len, size_t step, struct link_msg *m,
		int max)
{
	size_t at, end, used;
	int n = 0, err;

	for (at = 0; at < len; ) {
		end = at + step < len ? at + step : len;
		while (at < end) {
			err = link_rx_feed(rx, in + at, end - at, &used, &m[n]);
			at += used;
			if (err < 0)
				return err;
			n += err;
			CU_ASSERT_FATAL(n <= max);
			if (!err)
				break;
		}
		CU_ASSERT_EQUAL_FATAL(at, end);
	}
	return n;
}

static void test_header(void)
{
	struct link_frame f = { .type = LINK_ANSWER, .id = 0x1122334455667788ULL,
				.total = LINK_PAGE_MAX + 5, .off = LINK_PAGE_MAX, .len = 5 }, back;
	static const u8 want[LINK_HDR] = { 'M', 'L', 'N', 'K', 1, 3, 0, 0, 0x88, 0x77, 0x66, 0x55, 0x44,
		0x33, 0x22, 0x11, 5, 0, 0x10, 0, 0, 0, 0x10, 0, 5 };
	u8 b[LINK_HDR];
	int i;

	link_frame_encode(&f, b);
	CU_ASSERT_EQUAL(memcmp(b, want, sizeof(b)), 0);
	CU_ASSERT_EQUAL(link_frame_decode(b, &back), 0);
	CU_ASSERT(back.type == f.type && back.id == f.id && back.total == f.total &&
		  back.off == f.off && back.len == f.len);
	/* Each byte but those of the id is checked. */
	for (i = 0; i < LINK_HDR; i++) {
		if (i >= 8 && i < 16)
			continue;
		b[i] ^= 0x80;
		CU_ASSERT(link_frame_decode(b, &back) < 0);
		b[i] ^= 0x80;
	}
	b[4] = 2;
	CU_ASSERT_EQUAL(link_frame_decode(b, &back), -EPROTONOSUPPORT);
}

static void test_bounds(void)
{
	static const struct link_frame bad[] = {
		{ LINK_REQUEST, 1, LINK_MSG_MAX + 1, 0, LINK_PAGE_MAX },
		{ LINK_REQUEST, 1, 10, 0, 9 },
		{ LINK_REQUEST, 1, 10, 0, 11 },
		{ LINK_REQUEST, 1, 10, 5, 5 },
		{ LINK_REQUEST, 1, LINK_PAGE_MAX, LINK_PAGE_MAX, 0 },
		{ LINK_REQUEST, 1, 10, LINK_PAGE_MAX, 10 },
		{ LINK_HELLO, 1, LINK_HELLO_LEN, 0, LINK_HELLO_LEN },
		{ LINK_HELLO, 0, 4, 0, 4 },
		{ LINK_REFUSE, 1, 5, 0, 5 },
		{ LINK_PING, 1, 1, 0, 1 },
		{ LINK_TYPES, 1, 0, 0, 0 },
		{ 0, 1, 0, 0, 0 },
	};
	struct link_frame f = { LINK_REQUEST, 1, 0, 0, 0 };
	u8 b[LINK_HDR];

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		link_frame_encode(&bad[i], b);
		CU_ASSERT_EQUAL(link_frame_decode(b, &f), -EBADMSG);
	}
	f = (struct link_frame) { LINK_REQUEST, 1, 0, 0, 0 };
	link_frame_encode(&f, b);
	CU_ASSERT_EQUAL(link_frame_decode(b, &f), 0);
}

static void test_hello(void)
{
	struct link_hello h = { .host = { { 1, 2, 3 } }, .machine = { { 9 } }, .boot = 0x0102030405060708ULL,
				.flags = 1U << 31, .port = 0xabcd }, back;
	u8 b[LINK_HELLO_LEN];

	link_hello_encode(&h, b);
	CU_ASSERT_EQUAL(link_hello_decode(b, sizeof(b), &back), 0);
	CU_ASSERT(muuid_equal(&h.host, &back.host) && muuid_equal(&h.machine, &back.machine) &&
		  back.boot == h.boot && back.flags == h.flags && back.port == h.port);
	CU_ASSERT_EQUAL(link_hello_decode(b, sizeof(b) - 1, &back), -EBADMSG);
	b[46] = 1;
	CU_ASSERT_EQUAL(link_hello_decode(b, sizeof(b), &back), -EBADMSG);
	b[46] = 0;
	memset(b, 0, 16);
	CU_ASSERT_EQUAL(link_hello_decode(b, sizeof(b), &back), -EBADMSG);
}

/* Two long messages with their pages mixed and a short one between. */
static void test_pages(void)
{
	u8 *in = malloc(6 * LINK_PAGE_MAX + 4096);
	struct link_msg m[8];
	struct link_rx rx = { 0 };
	size_t n = put_hello(in), steps[] = { 1U << 30, 4099, 16384 };
	int i, got;

	n += put(in + n, LINK_ANSWER, 1, 2 * LINK_PAGE_MAX + 7, 0);
	n += put(in + n, LINK_REQUEST, 1, LINK_PAGE_MAX + 1, 0);
	n += put(in + n, LINK_ANSWER, 1, 2 * LINK_PAGE_MAX + 7, LINK_PAGE_MAX);
	n += put(in + n, LINK_REQUEST, 3, 0, 0);
	n += put(in + n, LINK_ANSWER, 1, 2 * LINK_PAGE_MAX + 7, 2 * LINK_PAGE_MAX);
	n += put(in + n, LINK_REQUEST, 1, LINK_PAGE_MAX + 1, LINK_PAGE_MAX);
	for (size_t s = 0; s < 3; s++) {
		got = feed(&rx, in, n, steps[s], m, 8);
		CU_ASSERT_EQUAL_FATAL(got, 4);
		CU_ASSERT(m[0].type == LINK_HELLO && m[1].type == LINK_REQUEST && m[1].id == 3 && !m[1].len);
		CU_ASSERT(m[2].type == LINK_ANSWER && m[2].len == 2 * LINK_PAGE_MAX + 7);
		CU_ASSERT_EQUAL(memcmp(m[2].buf, big, m[2].len), 0);
		CU_ASSERT(m[3].type == LINK_REQUEST && m[3].id == 1 && m[3].len == LINK_PAGE_MAX + 1);
		CU_ASSERT_EQUAL(memcmp(m[3].buf, big, m[3].len), 0);
		CU_ASSERT_EQUAL(rx.parts, 0);
		CU_ASSERT_EQUAL(rx.bytes, 0);
		for (i = 0; i < got; i++)
			free(m[i].buf);
		link_rx_free(&rx);
	}
	free(in);
}

/* After a HELLO: what must end the connection. */
static int after_hello(enum link_type type, u32 total, u32 off, int count)
{
	u8 *in = malloc(2 * LINK_PAGE_MAX);
	struct link_rx rx = { 0 };
	struct link_msg m[2];
	int i, err;

	feed(&rx, in, put_hello(in), 1 << 20, m, 2);
	free(m[0].buf);
	for (i = 0, err = 0; i < count && !err; i++)
		err = feed(&rx, in, put(in, type, i, total, off), 1U << 30, m, 2);
	if (err > 0)
		free(m[0].buf);
	link_rx_free(&rx);
	free(in);
	return err;
}

static void test_order(void)
{
	struct link_rx rx = { 0 };
	struct link_msg m[2];
	u8 in[256];

	CU_ASSERT_EQUAL(feed(&rx, in, put(in, LINK_PING, 1, 0, 0), 999, m, 2), -EPROTO);
	link_rx_free(&rx);
	CU_ASSERT_EQUAL(after_hello(LINK_PING, 0, 0, 1), 1);
	CU_ASSERT_EQUAL(after_hello(LINK_HELLO, LINK_HELLO_LEN, 0, 1), -EPROTO);
	CU_ASSERT_EQUAL(after_hello(LINK_REQUEST, 2 * LINK_PAGE_MAX, LINK_PAGE_MAX, 1), -EPROTO);
	CU_ASSERT_EQUAL(after_hello(LINK_REQUEST, LINK_MSG_MAX, 0, 2), 0);
	CU_ASSERT_EQUAL(after_hello(LINK_REQUEST, LINK_MSG_MAX, 0, 3), -EPROTO);
	CU_ASSERT_EQUAL(after_hello(LINK_REQUEST, LINK_PAGE_MAX + 1, 0, 2 * LINK_WINDOW + 2), -EPROTO);
}

/* A header alone takes no memory for what it promises. */
static void test_promise(void)
{
	struct link_rx rx = { 0 };
	struct link_msg m[2];
	u8 in[256];
	struct link_frame f = { LINK_REQUEST, 1, LINK_MSG_MAX, 0, LINK_PAGE_MAX };

	feed(&rx, in, put_hello(in), 999, m, 2);
	free(m[0].buf);
	link_frame_encode(&f, in);
	CU_ASSERT_EQUAL(feed(&rx, in, LINK_HDR + 10, 999, m, 2), 0);
	CU_ASSERT_EQUAL(rx.parts, 1);
	CU_ASSERT(rx.part[0].room <= 64 << 10);
	link_rx_free(&rx);
}

int main(void)
{
	static const struct suite_test tests[] = {
		{ "header", test_header },
		{ "bounds", test_bounds },
		{ "hello", test_hello },
		{ "pages", test_pages },
		{ "order", test_order },
		{ "promise", test_promise },
		{ NULL, NULL },
	};

	for (size_t i = 0; i < sizeof(big); i++)
		big[i] = i * 131 >> 3;
	return suite_main("link_frame", tests);
}
