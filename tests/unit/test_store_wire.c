// SPDX-License-Identifier: GPL-2.0-only
/*
 * Frames of the link: each type comes back as it was sent, whatever the pieces in which it comes;
 * each frame that is cut, longer, or has another byte is refused, or is exactly what it says.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "suite.h"
#include "userspace/store/link_wire.h"

static struct store_compare compares[] = {
	{ STORE_SAME, "access/1", 0x1122334455667788 }, { STORE_ABSENT, "host/2", 0 }, { STORE_NONE_BELOW, "", 0 },
};

static struct store_op ops[] = {
	{ "a", "value", 5, 0 }, { "b", "", 0, 77 }, { "c", NULL, 0, 0 }, { "d", "\0\xff", 2, 1 },
};

static struct secret_proof proofs[4] = { { { 0 } }, { { 1, 2, 3 } }, { { 0 } }, { { 255 } } };

static struct store_kv kvs[] = {
	{ "drive/1", "x", 1, 5, 9, 0 }, { "drive/2", "", 0, 6, 10, 4 },
};

static struct frame sample(int n)
{
	static const struct frame all[] = {
		{ .type = FRAME_RANGE, .id = 1, .ms = 3000, .text = "drive/", .after = "drive/1", .limit = 7, .at = 9 },
		{ .type = FRAME_RANGE, .id = 2, .text = "", .limit = 1 },
		{ .type = FRAME_GET, .id = ~0ULL, .ms = 1, .text = "cluster" },
		{ .type = FRAME_TXN, .id = 4, .ms = 2, .txn = { compares, 3, ops, 4 }, .proof = proofs },
		{ .type = FRAME_TXN, .id = 4 },
		{ .type = FRAME_WATCH, .id = 5, .watch = 6, .text = "want/", .at = 7 },
		{ .type = FRAME_UNWATCH, .watch = 8 },
		{ .type = FRAME_GRANT, .id = 9, .seconds = 10 },
		{ .type = FRAME_KEEP, .id = 11, .lease = 12, .owner = { { 13 } } },
		{ .type = FRAME_REVOKE, .id = 14, .lease = 15, .owner = { { 16 } } },
		{ .type = FRAME_IDENTITY, .id = 17, .ms = 18 },
		{ .type = FRAME_JOIN, .id = 19, .host = { { 20, 21 } }, .role = PLAN_STORE },
		{ .type = FRAME_RENEW, .id = 22 },
		{ .type = FRAME_PING, .id = 23 },
		{ .type = FRAME_PAGE, .id = 24, .kv = kvs, .nr = 2, .more = true, .revision = 25 },
		{ .type = FRAME_PAGE, .id = 24, .revision = 25 },
		{ .type = FRAME_DONE, .id = 26, .done = true, .revision = 27 },
		{ .type = FRAME_OK, .id = 28 },
		{ .type = FRAME_LEASE, .id = 29, .lease = 30, .owner = { { 31 } } },
		{ .type = FRAME_IS, .id = 32, .text = "id", .term = 33, .revision = 34 },
		{ .type = FRAME_KEYS, .id = 35, .keys = { .key_id = 36, .role = PLAN_CLIENT, .host = { { 37 } } } },
		{ .type = FRAME_KEYS, .id = 35, .keys = { .key_id = 36, .role = PLAN_STORE, .cluster = { { 1 } },
		  .fingerprint = { 2 }, .host = { { 37 } }, .knows = true,
		  .masters = { { 36, { { 38 } } }, { 35, { { 39 } } } }, .label = { { 40 } } } },
		{ .type = FRAME_ERROR, .id = 41, .err = -EACCES, .text = "words" },
		{ .type = FRAME_EVENT, .kind = STORE_PUT, .watch = 42, .kv = kvs, .nr = 1 },
		{ .type = FRAME_EVENT, .kind = STORE_DELETED, .watch = 43, .kv = kvs, .nr = 1 },
		{ .type = FRAME_EVENT, .kind = STORE_RELIST, .watch = 44 },
		{ .type = FRAME_PONG, .id = 45 },
		{ .type = 0 },
	};

	return all[n];
}

#define EACH(f) (int n_ = 0; (f = sample(n_)).type; n_++)

static bool is_request(const struct frame *f)
{
	return f->type < FRAME_REQUESTS;
}

static u8 *bytes_of(const struct frame *f, size_t *len)
{
	u8 *b;

	CU_ASSERT_EQUAL_FATAL(frame_encode(f, &b, len), 0);
	return b;
}

/* Decoded and encoded again: the same bytes. */
static bool same_again(struct frame *f, const u8 *bytes, size_t len)
{
	size_t again_len;
	u8 *again;
	bool is;

	if (frame_encode(f, &again, &again_len))
		return false;
	is = again_len == len && !memcmp(again, bytes, len);
	free(again);
	return is;
}

static void test_types(void)
{
	struct frame f, back;
	size_t len;
	u32 n;
	u8 *b;

	for EACH(f) {
		b = bytes_of(&f, &len);
		CU_ASSERT_EQUAL(frame_header(b, is_request(&f), &back, &n), 0);
		CU_ASSERT(back.type == f.type && back.id == f.id && n == len - FRAME_HDR);
		CU_ASSERT_EQUAL(frame_decode(&back, b + FRAME_HDR, n), 0);
		CU_ASSERT(same_again(&back, b, len));
		frame_end(&back);
		/* no side takes what itself sends */
		CU_ASSERT_EQUAL(frame_header(b, !is_request(&f), &back, &n), -EBADMSG);
		free(b);
	}
}

static void test_members(void)
{
	struct frame f = sample(3), back;
	size_t len;
	u32 n;
	u8 *b = bytes_of(&f, &len);

	CU_ASSERT_EQUAL(frame_header(b, true, &back, &n), 0);
	CU_ASSERT_EQUAL_FATAL(frame_decode(&back, b + FRAME_HDR, n), 0);
	CU_ASSERT(back.txn.compares == 3 && back.txn.ops == 4 && back.ms == 2);
	for (int i = 0; i < 3; i++)
		CU_ASSERT(back.compare[i].kind == compares[i].kind && !strcmp(back.compare[i].key, compares[i].key) &&
			  back.compare[i].modified == compares[i].modified);
	for (int i = 0; i < 4; i++) {
		CU_ASSERT(!strcmp(back.op[i].key, ops[i].key) && back.op[i].len == ops[i].len);
		/* an empty value is no delete */
		CU_ASSERT_EQUAL(!back.op[i].value, !ops[i].value);
		CU_ASSERT(!ops[i].len || !memcmp(back.op[i].value, ops[i].value, ops[i].len));
		CU_ASSERT_EQUAL(back.op[i].lease, ops[i].lease);
		CU_ASSERT(secret_proof_equal(&back.proof[i], &proofs[i]));
	}
	frame_end(&back);
	free(b);
}

/* Not a byte less and not a byte more. */
static void test_lengths(void)
{
	struct frame f, back;
	size_t len;
	u32 n;
	u8 *b, *longer;

	for EACH(f) {
		b = bytes_of(&f, &len);
		longer = realloc(b, len + 1);
		CU_ASSERT_PTR_NOT_NULL_FATAL(longer);
		b = longer;
		b[len] = 0;
		for (size_t cut = FRAME_HDR; cut <= len + 1; cut++) {
			u8 *part = malloc(cut - FRAME_HDR ? cut - FRAME_HDR : 1);

			/* a block of its own: the sanitizer sees each byte behind it */
			memcpy(part, b + FRAME_HDR, cut - FRAME_HDR);
			CU_ASSERT_EQUAL(frame_header(b, is_request(&f), &back, &n), 0);
			CU_ASSERT_EQUAL(frame_decode(&back, part, cut - FRAME_HDR), cut == len ? 0 : -EBADMSG);
			frame_end(&back);
			free(part);
		}
		free(b);
	}
}

/* Each byte with each other value: refused, or a frame that is written back the same. */
static void test_bytes(void)
{
	struct frame f, back;
	unsigned int taken = 0, refused = 0, wrong = 0;
	size_t len;
	u32 n;
	u8 *b, was;

	for EACH(f) {
		b = bytes_of(&f, &len);
		for (size_t at = 0; at < len; at++) {
			was = b[at];
			for (int v = 0; v < 256; v++) {
				b[at] = v;
				if (frame_header(b, is_request(&f), &back, &n) || n != len - FRAME_HDR ||
				    frame_decode(&back, b + FRAME_HDR, n)) {
					refused++;
				} else {
					taken++;
					wrong += !same_again(&back, b, len);
				}
				frame_end(&back);
			}
			b[at] = was;
		}
		free(b);
	}
	CU_ASSERT_EQUAL(wrong, 0);
	CU_ASSERT(taken > 1000 && refused > 1000);
}

static void test_header(void)
{
	struct frame f = sample(2), back;
	size_t len;
	u32 n;
	u8 *b = bytes_of(&f, &len);

	b[4] = 2;
	CU_ASSERT_EQUAL(frame_header(b, true, &back, &n), -EPROTONOSUPPORT);
	b[4] = 1;
	memset(b + 8, 0, 8);
	CU_ASSERT_EQUAL(frame_header(b, true, &back, &n), -EBADMSG);
	b[8] = 1;
	memcpy(b + 16, "\0\0\x40\0", 4);
	CU_ASSERT_EQUAL(frame_header(b, true, &back, &n), 0);
	CU_ASSERT_EQUAL(n, FRAME_MAX);
	b[16] = 1;
	CU_ASSERT_EQUAL(frame_header(b, true, &back, &n), -EBADMSG);
	free(b);
	/* an unwatch with an id, an event with one */
	f = (struct frame) { .type = FRAME_UNWATCH, .id = 1, .watch = 1 };
	CU_ASSERT_EQUAL(frame_encode(&f, &b, &len), -EINVAL);
	f = (struct frame) { .type = FRAME_EVENT, .id = 1, .kind = STORE_RELIST };
	CU_ASSERT_EQUAL(frame_encode(&f, &b, &len), -EINVAL);
	f = (struct frame) { .type = FRAME_REQUESTS, .id = 1 };
	CU_ASSERT_EQUAL(frame_encode(&f, &b, &len), -EINVAL);
}

/* What the format has no room for is refused where it is written. */
static void test_too_much(void)
{
	static struct store_op many[STORE_OPS_MAX + 1];
	static char long_key[STORE_KEY_MAX + 1];
	char *big = calloc(1, STORE_VALUE_MAX + 1);
	struct store_kv page[5] = { 0 };
	struct frame f = { .type = FRAME_TXN, .id = 1, .txn = { NULL, 0, many, STORE_OPS_MAX + 1 } };
	size_t len;
	u8 *b;

	for (int i = 0; i <= STORE_OPS_MAX; i++)
		many[i].key = "k";
	CU_ASSERT_EQUAL(frame_encode(&f, &b, &len), -EINVAL);
	f.txn.ops--;
	CU_ASSERT_EQUAL(frame_encode(&f, &b, &len), 0);
	free(b);
	memset(long_key, 'k', STORE_KEY_MAX);
	f = (struct frame) { .type = FRAME_GET, .id = 1, .text = long_key };
	CU_ASSERT_EQUAL(frame_encode(&f, &b, &len), -EINVAL);
	long_key[STORE_KEY_MAX - 1] = 0;
	CU_ASSERT_EQUAL(frame_encode(&f, &b, &len), 0);
	free(b);
	for (int i = 0; i < 5; i++)
		page[i] = (struct store_kv) { .key = "k", .value = big, .len = STORE_VALUE_MAX };
	f = (struct frame) { .type = FRAME_PAGE, .id = 1, .kv = page, .nr = 3 };
	CU_ASSERT_EQUAL(frame_encode(&f, &b, &len), 0);
	free(b);
	f.nr = 5;
	CU_ASSERT_EQUAL(frame_encode(&f, &b, &len), -E2BIG);
	CU_ASSERT_PTR_NULL(b);
	page[0].len++;
	f.nr = 1;
	CU_ASSERT_EQUAL(frame_encode(&f, &b, &len), -EINVAL);
	free(big);
}

/* Whole in every byte, but for one element too many. */
static void test_counts(void)
{
	static const u8 erase[] = { 0, 2, 0, 'k', 0 }, absent[] = { STORE_ABSENT, 2, 0, 'k', 0 };
	u8 payload[8 + 5 * (STORE_OPS_MAX + 1)];
	struct frame f;

	for (int compares = 0; compares < 2; compares++)
		for (int n = STORE_OPS_MAX; n <= STORE_OPS_MAX + 1; n++) {
			size_t len = 8 + 5 * n, at = compares ? 6 : 8;

			memset(payload, 0, sizeof(payload));
			payload[compares ? 4 : 6] = n;
			for (int i = 0; i < n; i++)
				memcpy(payload + at + 5 * i, compares ? absent : erase, 5);
			f = (struct frame) { .type = FRAME_TXN, .id = 1 };
			CU_ASSERT_EQUAL(frame_decode(&f, payload, len), n > STORE_OPS_MAX ? -EBADMSG : 0);
			frame_end(&f);
		}
}

/* All frames behind each other, in pieces of each size. */
static void test_stream(void)
{
	struct frame_rx rx;
	struct frame f;
	size_t total = 0, len, used;
	u8 all[8192], *b;
	int frames, err;

	for EACH(f) {
		if (!is_request(&f))
			continue;
		b = bytes_of(&f, &len);
		memcpy(all + total, b, len);
		total += len;
		free(b);
	}
	for (size_t step = 1; step < 200; step++) {
		memset(&rx, 0, sizeof(rx));
		frames = 0;
		for (size_t at = 0; at < total; at += used) {
			err = frame_feed(&rx, true, all + at, step < total - at ? step : total - at, &used);
			CU_ASSERT_FATAL(err >= 0);
			if (err != 1)
				continue;
			CU_ASSERT_EQUAL(frame_decode(&rx.f, rx.payload, rx.len), 0);
			CU_ASSERT_EQUAL(rx.f.type, sample(frames++).type);
			frame_end(&rx.f);
			frame_next(&rx, false);
		}
		CU_ASSERT_EQUAL(frames, 14);
		CU_ASSERT(!rx.hdr_got && !rx.payload);
		frame_rx_end(&rx);
	}
}

/* A promise of 4 MiB costs what came. */
static void test_memory(void)
{
	static const u8 hdr[FRAME_HDR] = { 'M', 'S', 'T', 'R', 1, FRAME_GET, 0, 0, 1, [18] = 0x40 };
	struct frame_rx rx = { 0 };
	size_t used, got = 0;
	u8 junk[1000] = { 0 };

	CU_ASSERT_EQUAL(frame_feed(&rx, true, hdr, sizeof(hdr), &used), 0);
	CU_ASSERT(used == sizeof(hdr) && rx.room <= 4096);
	for (int i = 0; i < 300; i++) {
		CU_ASSERT_EQUAL(frame_feed(&rx, true, junk, sizeof(junk), &used), 0);
		got += used;
		CU_ASSERT(rx.room <= 2 * got + 4096);
	}
	frame_rx_end(&rx);
}

/* The numbers of errors are the format's. */
static void test_errors(void)
{
	static const int kept[] = { EINVAL, E2BIG, ETIMEDOUT, EIO, ENOSPC, EROFS, EACCES, ECANCELED, ENOMEM,
				    ENOENT, ESTALE, EUCLEAN };
	struct frame f = { .type = FRAME_ERROR, .id = 1, .text = "w" }, back;
	size_t len;
	u32 n;
	u8 *b;

	for (size_t i = 0; i < sizeof(kept) / sizeof(*kept) + 1; i++) {
		f.err = i < sizeof(kept) / sizeof(*kept) ? -kept[i] : -EXDEV;
		b = bytes_of(&f, &len);
		CU_ASSERT_EQUAL(b[FRAME_HDR], i < sizeof(kept) / sizeof(*kept) ? i + 1 : 4);
		CU_ASSERT_EQUAL(frame_header(b, false, &back, &n), 0);
		CU_ASSERT_EQUAL(frame_decode(&back, b + FRAME_HDR, n), 0);
		CU_ASSERT_EQUAL(back.err, f.err == -EXDEV ? -EIO : f.err);
		frame_end(&back);
		free(b);
	}
}

static const struct suite_test tests[] = {
	{ "each type", test_types },
	{ "members of a transaction", test_members },
	{ "each length", test_lengths },
	{ "each byte", test_bytes },
	{ "headers", test_header },
	{ "more than the format has room for", test_too_much },
	{ "an element too many", test_counts },
	{ "a stream in pieces", test_stream },
	{ "memory", test_memory },
	{ "errors", test_errors },
	{ NULL, NULL }
};

int main(void)
{
	return suite_main("frames of the link", tests);
}
