// SPDX-License-Identifier: GPL-2.0-only
/*
 * The erasure codec: field, matrices, every implementation that this CPU runs,
 * every loss pattern of small codes, and ISA-L as the judge where it exists.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <linux/kernel.h>

#include "protect/codec/codec.h"
#include "suite.h"

#ifdef __x86_64__
#include <isa-l.h>
#include "protect/codec/codec_x86.h"
#define ALL_OPS prot_codec_x86_list
#else
static const struct prot_codec_ops *const portable_list[] = { &prot_codec_portable, NULL };
#define ALL_OPS portable_list
#endif

#define STRIPS	PROT_CODEC_STRIPS_MAX
#define ROOM	4096			/* bytes of a strip, offset included */
#define GUARD	0xa5

/* One failed assertion says enough; a loop would repeat it a million times. */
#define CHECK(cond) do { if (!(cond)) { CU_ASSERT(cond); return; } } while (0)

static u8 buffer[2 * STRIPS + 8][ROOM] __attribute__((aligned(64)));
static u8 *good[STRIPS];		/* a consistent stripe */
static u8 *out[STRIPS];
static struct prot_map map;

static u32 rnd_state = 1;

static u32 rnd(u32 below)
{
	rnd_state = rnd_state * 1664525u + 1013904223u;
	return (u32)(((u64)rnd_state * below) >> 32);
}

static void fill_random(u8 *p, size_t len)
{
	while (len--)
		*p++ = rnd(256);
}

static const struct prot_codec_ops *const *first_usable(const struct prot_codec_ops *const *o)
{
	while (*o && (*o)->usable && !(*o)->usable())
		o++;
	return o;
}

#define for_each_ops(o) \
	for (o = first_usable(ALL_OPS); *o; o = first_usable(o + 1))

/* Multiplication by its definition. */
static u8 slow_mul(u8 a, u8 b)
{
	unsigned int x = a, sum = 0;

	for (; b; b >>= 1, x <<= 1) {
		if (x & 0x100)
			x ^= 0x11d;
		if (b & 1)
			sum ^= x;
	}
	return sum;
}

/* The stripe by the definition, into good[]. */
static void make_stripe(const struct prot_code *code, size_t len)
{
	static u8 product[256][256];
	unsigned int r, j, a, b;
	size_t i;

	if (!product[1][1])
		for (a = 0; a < 256; a++)
			for (b = 0; b < 256; b++)
				product[a][b] = slow_mul(a, b);
	for (j = 0; j < code->k; j++)
		fill_random(good[j], len);
	for (r = 0; r < code->m; r++) {
		u8 *p = good[code->k + r];

		memset(p, 0, len);
		for (j = 0; j < code->k; j++)
			for (i = 0; i < len; i++)
				p[i] ^= product[code->coef[r][j]][good[j][i]];
	}
}

/* Give every strip its own place, @skew bytes apart from alignment. */
static void place_strips(unsigned int skew)
{
	unsigned int s;

	for (s = 0; s < STRIPS; s++) {
		good[s] = buffer[s] + (skew * (s + 1)) % 64;
		out[s] = buffer[STRIPS + s] + (skew * (s + 7)) % 64;
	}
}

static bool all_are(const u8 *p, u8 v, size_t n)
{
	for (; n; n--)
		if (*p++ != v)
			return false;
	return true;
}

/* Apply the map, with guards around the destinations. */
static bool gives(const struct prot_codec_ops *ops, prot_strips_t have, prot_strips_t want,
		  size_t len)
{
	u8 *src[STRIPS], *dst[STRIPS];
	unsigned int s, ns = 0, nd = 0;

	for (s = 0; s < STRIPS; s++) {
		if (have >> s & 1)
			src[ns++] = good[s];
		if (want >> s & 1) {
			memset(buffer[STRIPS + s], GUARD, len + 128);
			dst[nd++] = out[s];
		}
	}
	if (ns != map.nsrc || nd != map.ndst)
		return false;
	prot_map_apply(&map, ops, src, dst, len);
	for (s = 0; s < STRIPS; s++)
		if (want >> s & 1 &&
		    (memcmp(out[s], good[s], len) ||
		     !all_are(buffer[STRIPS + s], GUARD, out[s] - buffer[STRIPS + s]) ||
		     !all_are(out[s] + len, GUARD, 64)))
			return false;
	return true;
}

static void test_field(void)
{
	unsigned int a, b;

	for (a = 0; a < 256; a++) {
		u64 m = prot_gf_affine(a);
		u8 t[PROT_GF_NIBBLES];

		prot_gf_nibbles(a, t);
		CHECK(prot_gf_double(a) == slow_mul(a, 2));
		for (b = 0; b < 256; b++) {
			u8 c = slow_mul(a, b), by_rows = 0;
			unsigned int i;

			for (i = 0; i < 8; i++)
				by_rows |= __builtin_parity((m >> (8 * (7 - i)) & 0xff) & b) << i;
			CHECK(prot_gf_mul(a, b) == c);
			CHECK((t[b & 15] ^ t[16 + (b >> 4)]) == c);
			CHECK(by_rows == c);
		}
		CHECK(!a || slow_mul(a, prot_gf_inv(a)) == 1);
	}
	for (a = 0, b = 1; a < 255; a++, b = slow_mul(b, 2))
		CHECK(prot_gf_pow2(a) == b && prot_gf_exp[a + 255] == b && prot_gf_log[b] == a);
}

static void test_invert(void)
{
	u8 a[4][4], copy[4][4], inv[4][4];
	unsigned int n, i, j, l, round, singular = 0, regular = 0;

	for (round = 0; round < 20000; round++) {
		n = 1 + rnd(4);
		for (i = 0; i < n; i++)
			for (j = 0; j < n; j++)
				a[i][j] = rnd(2) ? rnd(256) : 0;
		if (n > 1 && !rnd(8))
			memcpy(a[0], a[1], n);
		memcpy(copy, a, sizeof(a));
		if (prot_gf_invert(a, inv, n)) {
			singular++;
			continue;
		}
		regular++;
		for (i = 0; i < n; i++) {
			for (j = 0; j < n; j++) {
				u8 sum = 0;

				for (l = 0; l < n; l++)
					sum ^= slow_mul(copy[i][l], inv[l][j]);
				CHECK(sum == (i == j));
			}
		}
	}
	CU_ASSERT(singular > 1000 && regular > 1000);

	/* Pivots of zero that a swap gets over, and two equal rows. */
	memset(a, 0, sizeof(a));
	a[0][1] = a[1][2] = a[2][3] = a[3][0] = 9;
	CU_ASSERT_EQUAL(prot_gf_invert(a, inv, 4), 0);
	CU_ASSERT_EQUAL(inv[0][3], prot_gf_inv(9));
	memset(a, 7, sizeof(a));
	CU_ASSERT_EQUAL(prot_gf_invert(a, inv, 2), -EINVAL);
}

static void test_matrix(void)
{
	struct prot_code c;
	unsigned int k, m, r, j;

	CU_ASSERT_EQUAL(prot_code_init(&c, 1, 1), -EINVAL);
	CU_ASSERT_EQUAL(prot_code_init(&c, 33, 1), -EINVAL);
	CU_ASSERT_EQUAL(prot_code_init(&c, 4, 0), -EINVAL);
	CU_ASSERT_EQUAL(prot_code_init(&c, 4, 5), -EINVAL);
	for (k = 2; k <= 32; k++) {
		for (m = 1; m <= 4; m++) {
			CHECK(!prot_code_init(&c, k, m));
			for (r = 0; r < m; r++)
				for (j = 0; j < k; j++) {
					u8 x = c.coef[r][j];

					if (m > 2)
						CHECK(slow_mul(x, (k + r) ^ j) == 1);
					else if (!r)
						CHECK(x == 1);
					else
						CHECK(x == (j ? slow_mul(c.coef[r][j - 1], 2) : 1));
				}
		}
	}
}

static void test_map_args(void)
{
	const struct prot_codec_ops *ops = &prot_codec_portable;
	struct prot_code c;

	CHECK(!prot_code_init(&c, 4, 2));
	CU_ASSERT_EQUAL(prot_map_init(&map, ops, &c, 0x0f, 0x30), 0);
	CU_ASSERT_EQUAL(map.shape, PROT_MAP_PQ);
	CU_ASSERT_EQUAL(prot_map_init(&map, ops, &c, 0x1e, 0x01), 0);
	CU_ASSERT_EQUAL(map.shape, PROT_MAP_XOR);
	CU_ASSERT_EQUAL(prot_map_init(&map, ops, &c, 0x2e, 0x01), 0);
	CU_ASSERT_EQUAL(map.shape, PROT_MAP_ANY);
	CU_ASSERT_EQUAL(prot_map_init(&map, ops, &c, 0x0f, 0), 0);	/* nothing to do */
	CU_ASSERT_EQUAL(map.ndst, 0);
	CU_ASSERT_EQUAL(prot_map_init(&map, ops, &c, 0x07, 0x08), -EINVAL);	/* too few */
	CU_ASSERT_EQUAL(prot_map_init(&map, ops, &c, 0x1f, 0x20), -EINVAL);	/* too many */
	CU_ASSERT_EQUAL(prot_map_init(&map, ops, &c, 0x0f, 0x11), -EINVAL);	/* both */
	CU_ASSERT_EQUAL(prot_map_init(&map, ops, &c, 0x4e, 0x01), -EINVAL);	/* no such strip */
	CU_ASSERT_EQUAL(prot_map_init(&map, ops, &c, 0x0f, 0x40), -EINVAL);
	CU_ASSERT_EQUAL(prot_map_init(&map, ops, &c, 0x00, 0x01), -EINVAL);
	CHECK(!prot_code_init(&c, 8, 4));
	CU_ASSERT_EQUAL(prot_map_init(&map, ops, &c, 0xf07, 0x008), -EINVAL);	/* 5 missing */
}

/* Every length around the steps of every loop, at several alignments. */
static void test_lengths(void)
{
	static const unsigned int skews[] = { 0, 1, 17, 32 };
	const struct prot_codec_ops *const *o;
	unsigned int m, i;
	struct prot_code c;
	size_t len;

	for (i = 0; i < ARRAY_SIZE(skews); i++) {
		for (m = 1; m <= 4; m++) {
			place_strips(skews[i]);
			CHECK(!prot_code_init(&c, 5 + m % 2, m));
			make_stripe(&c, 700);
			for_each_ops(o) {
				prot_map_encode(&map, *o, &c);
				for (len = 0; len <= 700; len += len < 200 ? 1 : 13)
					CHECK(gives(*o, prot_code_data(&c), prot_code_parity(&c), len));
			}
		}
	}
}

static void encode_one(unsigned int k, unsigned int m, size_t len)
{
	const struct prot_codec_ops *const *o;
	struct prot_code c;

	CHECK(!prot_code_init(&c, k, m));
	make_stripe(&c, len);
	for_each_ops(o) {
		prot_map_encode(&map, *o, &c);
		CHECK(gives(*o, prot_code_data(&c), prot_code_parity(&c), len));
	}
}

static void test_encode(void)
{
	unsigned int k, m;

	for (k = 2; k <= 32; k++)
		for (m = 1; m <= 4; m++) {
			place_strips(rnd(64));
			encode_one(k, m, 320 + rnd(200));
		}
}

/* Rebuild @lost from every choice of k survivors. */
static void rebuild_all_ways(const struct prot_code *c, prot_strips_t lost, size_t len)
{
	prot_strips_t all = prot_code_data(c) | prot_code_parity(c), have;
	const struct prot_codec_ops *const *o;

	for (have = 0; have <= all; have++) {
		if (have & lost || __builtin_popcountll(have) != c->k)
			continue;
		for_each_ops(o) {
			CHECK(!prot_map_init(&map, *o, c, have, lost));
			CHECK(gives(*o, have, lost, len));
		}
	}
}

static void test_losses_small(void)
{
	unsigned int k, m, losses;
	prot_strips_t lost;
	struct prot_code c;

	place_strips(3);
	for (k = 2; k <= 8; k++) {
		for (m = 1; m <= 4; m++) {
			CHECK(!prot_code_init(&c, k, m));
			make_stripe(&c, 93);
			for (lost = 1; !(lost >> (k + m)); lost++) {
				losses = __builtin_popcountll(lost);
				if (losses <= m)
					rebuild_all_ways(&c, lost, 93);
			}
		}
	}
}

/* @n strips out of those in @from. */
static prot_strips_t pick(prot_strips_t from, unsigned int n)
{
	prot_strips_t got = 0;

	while (n) {
		prot_strips_t s = 1ULL << rnd(STRIPS);

		if (!(s & from & ~got))
			continue;
		got |= s;
		n--;
	}
	return got;
}

static void test_losses_large(void)
{
	const struct prot_codec_ops *const *o;
	unsigned int k, m, round;
	struct prot_code c;

	for (k = 9; k <= 32; k++) {
		for (m = 1; m <= 4; m++) {
			size_t len = 100 + rnd(300);

			CHECK(!prot_code_init(&c, k, m));
			place_strips(rnd(64));
			make_stripe(&c, len);
			for (round = 0; round < 200; round++) {
				prot_strips_t all = prot_code_data(&c) | prot_code_parity(&c);
				prot_strips_t lost = pick(all, 1 + rnd(m));
				prot_strips_t have = pick(all & ~lost, k);

				for_each_ops(o) {
					CHECK(!prot_map_init(&map, *o, &c, have, lost));
					CHECK(gives(*o, have, lost, len));
				}
			}
		}
	}
}

/* Change data strips one after the other; parity must follow, without some too. */
static void delta_one(const struct prot_codec_ops *ops, const struct prot_code *c, size_t len,
		      unsigned int lost)
{
	u8 *parity[PROT_CODEC_M_MAX], *old = out[0], *diff = out[1];
	unsigned int r, j;
	size_t i;

	make_stripe(c, len);
	for (r = 0; r < c->m; r++) {
		parity[r] = lost >> r & 1 ? NULL : out[2 + r];
		memset(buffer[STRIPS + 2 + r], GUARD, len + 128);
		memcpy(out[2 + r], good[c->k + r], len);
	}
	prot_map_encode(&map, ops, c);
	for (j = 0; j < c->k; j++) {
		memcpy(old, good[j], len);
		fill_random(good[j], len);
		for (i = 0; i < len; i++)
			diff[i] = old[i] ^ good[j][i];
		if (j & 1)
			prot_codec_delta(&map, ops, j, old, good[j], parity, len);
		else
			prot_codec_delta(&map, ops, j, diff, NULL, parity, len);
	}
	/* A full encode, proved elsewhere, must come to the same. */
	prot_map_apply(&map, ops, good, good + c->k, len);
	for (r = 0; r < c->m; r++) {
		if (parity[r])
			CHECK(!memcmp(parity[r], good[c->k + r], len));
		CHECK(all_are(out[2 + r] + len, GUARD, 64));
	}
}

static void test_delta(void)
{
	const struct prot_codec_ops *const *o;
	unsigned int k, m, lost;
	struct prot_code c;

	for (k = 2; k <= 32; k += k < 6 ? 1 : 13) {
		for (m = 1; m <= 4; m++) {
			CHECK(!prot_code_init(&c, k, m));
			for (lost = 0; lost < 1U << m; lost++) {
				place_strips(rnd(64));
				for_each_ops(o)
					delta_one(*o, &c, 64 * rnd(4) + rnd(70), lost);
			}
		}
	}
}

static int locate(const struct prot_codec_ops *ops, const struct prot_code *c, size_t len)
{
	unsigned int r;

	for (r = 0; r < c->m; r++)
		memset(out[r], GUARD, len);
	prot_map_encode(&map, ops, c);
	prot_codec_syndrome(&map, ops, good, out, len);
	return prot_code_locate(c, out, len);
}

static void locate_each(const struct prot_codec_ops *ops, const struct prot_code *c, size_t len)
{
	unsigned int s, t, i;
	u8 saved[ROOM], other[ROOM];

	CHECK(locate(ops, c, len) == PROT_LOCATE_CLEAN);
	for (s = 0; s < (unsigned int)c->k + c->m; s++) {
		/* One byte, first to last, then several, then all. */
		memcpy(saved, good[s], len);
		good[s][s % len] ^= 1 + rnd(255);
		CHECK(locate(ops, c, len) == (c->m > 1 ? (int)s : PROT_LOCATE_UNKNOWN));
		for (i = 0; i < 5; i++)
			good[s][rnd(len)] ^= 0x80;
		good[s][len - 1] = saved[len - 1] ^ 1;
		CHECK(locate(ops, c, len) == (c->m > 1 ? (int)s : PROT_LOCATE_UNKNOWN));
		for (i = 0; i < len; i++)
			good[s][i] = ~saved[i];
		CHECK(locate(ops, c, len) == (c->m > 1 ? (int)s : PROT_LOCATE_UNKNOWN));
		memcpy(good[s], saved, len);

		/* Two strips wrong at different bytes; with m > 2 also at the same. */
		t = (s + 1 + rnd(c->k + c->m - 1)) % (c->k + c->m);
		memcpy(other, good[t], len);
		good[s][1] ^= 0x55;
		good[t][len - 1] ^= 0x66;
		CHECK(locate(ops, c, len) == PROT_LOCATE_UNKNOWN);
		good[t][1] ^= 1 + rnd(255);
		if (c->m > 2)
			CHECK(locate(ops, c, len) == PROT_LOCATE_UNKNOWN);
		memcpy(good[s], saved, len);
		memcpy(good[t], other, len);
	}
}

static void test_locate(void)
{
	const struct prot_codec_ops *const *o;
	unsigned int k, m;
	struct prot_code c;
	size_t len;

	for (k = 2; k <= 32; k += k < 9 ? 1 : 23)
		for (m = 1; m <= 4; m++)
			for_each_ops(o) {
				len = 60 + rnd(200);
				place_strips(rnd(64));
				CHECK(!prot_code_init(&c, k, m));
				make_stripe(&c, len);
				locate_each(*o, &c, len);
			}
}

/* Implementations that err in one place each; the self-check must see it. */
static const struct prot_codec_ops *victim;

static void bad_dot(const struct prot_map *m, u8 *const *src, u8 *const *dst, size_t len)
{
	victim->dot(m, src, dst, len);
	if (m->ndst == 4 && len)
		dst[3][len - 1] ^= 1;
}

static void bad_dot_overrun(const struct prot_map *m, u8 *const *src, u8 *const *dst, size_t len)
{
	victim->dot(m, src, dst, len);
	dst[0][len] ^= 1;
}

static void bad_xor(unsigned int n, u8 *const *src, u8 *dst, size_t len)
{
	victim->xor(n - 1, src, dst, len);
}

static void bad_pq(unsigned int n, u8 *const *strips, size_t len)
{
	victim->pq(n, strips, len);
	strips[n + 1][0] ^= 0x10;
}

static void bad_mad(const u8 *const *tbl, unsigned int ndst, const u8 *a, const u8 *b,
		    u8 *const *dst, size_t len)
{
	(void)b;
	victim->mad(tbl, ndst, a, NULL, dst, len);
}

static void bad_prepare(u8 c, u8 *tbl)
{
	victim->prepare(c == 0x8e ? 0x8f : c, tbl);	/* 0x8e = 1 / 2 */
}

static void test_selftest(void)
{
	static u8 scratch[PROT_CODEC_SELFTEST_BYTES];
	const struct prot_codec_ops *const *o;
	struct prot_codec_ops bad;

	for_each_ops(o) {
		CHECK(!prot_codec_selftest(*o, &map, scratch));
		victim = *o;
#define BREAK(field) do { \
	bad = **o; \
	bad.field = bad_##field; \
	CU_ASSERT_EQUAL(prot_codec_selftest(&bad, &map, scratch), -EILSEQ); \
} while (0)
		BREAK(dot);
		BREAK(xor);
		BREAK(pq);
		BREAK(mad);
		BREAK(prepare);
		bad = **o;
		bad.dot = bad_dot_overrun;
		CU_ASSERT_EQUAL(prot_codec_selftest(&bad, &map, scratch), -EILSEQ);
	}
}

/* A clock that each call of slow_dot() moves, and nothing else. */
static u64 now;

static u64 fake_clock(void)
{
	return now++;
}

static void slow_dot(const struct prot_map *m, u8 *const *src, u8 *const *dst, size_t len)
{
	now += 100;
	prot_codec_portable.dot(m, src, dst, len);
}

static void medium_dot(const struct prot_map *m, u8 *const *src, u8 *const *dst, size_t len)
{
	now += 50;
	prot_codec_portable.dot(m, src, dst, len);
}

static bool not_here(void)
{
	return false;
}

static void test_select(void)
{
	static u8 scratch[PROT_CODEC_SELECT_BYTES];
	struct prot_codec_ops slow = prot_codec_portable, medium = slow, wrong = slow, away = slow;
	const struct prot_codec_ops *list[] = { &slow, &wrong, &medium, &away, NULL };

	CU_ASSERT(sizeof(scratch) >= PROT_CODEC_SELFTEST_BYTES);
	victim = &prot_codec_portable;
	slow.dot = slow_dot;
	medium.dot = medium_dot;
	wrong.pq = bad_pq;
	away.usable = not_here;
	CU_ASSERT(prot_codec_select(list, &map, scratch, fake_clock) == &medium);
	list[2] = NULL;
	CU_ASSERT(prot_codec_select(list, &map, scratch, fake_clock) == &slow);
	list[0] = &wrong;
	CU_ASSERT(prot_codec_select(list, &map, scratch, fake_clock) == &prot_codec_portable);
}

#ifdef __x86_64__
static u8 isal_tables[32 * STRIPS * STRIPS];
static u8 isal_matrix[STRIPS * STRIPS];

static void test_isal_matrix(void)
{
	unsigned int k, m, r;
	struct prot_code c;

	for (k = 2; k <= 32; k++)
		for (m = 3; m <= 4; m++) {
			CHECK(!prot_code_init(&c, k, m));
			gf_gen_cauchy1_matrix(isal_matrix, k + m, k);
			for (r = 0; r < m; r++)
				CHECK(!memcmp(isal_matrix + (k + r) * k, c.coef[r], k));
		}
}

/* Parity from ISA-L into good[]: its Cauchy code, or its RAID-6. */
static bool isal_encode(unsigned int k, unsigned int m, size_t len)
{
	void *array[STRIPS + 2];
	unsigned int s;

	for (s = 0; s < k + m; s++)
		array[s] = good[s];
	if (m == 1)
		return !xor_gen(k + 1, len, array);
	if (m == 2)
		return !pq_gen(k + 2, len, array);
	gf_gen_cauchy1_matrix(isal_matrix, k + m, k);
	ec_init_tables(k, m, isal_matrix + k * k, isal_tables);
	ec_encode_data(len, k, m, isal_tables, good, good + k);
	return true;
}

static void test_isal_encode(void)
{
	const struct prot_codec_ops *const *o;
	unsigned int k, m, j, round;
	struct prot_code c;

	for (k = 2; k <= 32; k++) {
		for (m = 1; m <= 4; m++) {
			for (round = 0; round < 10; round++) {
				/* Its RAID functions want alignment, its general one does not. */
				size_t len = m < 3 ? 32 * (1 + rnd(60)) : 1 + rnd(2000);

				place_strips(m < 3 ? 0 : rnd(64));
				for (j = 0; j < k; j++)
					fill_random(good[j], len);
				CHECK(isal_encode(k, m, len));
				CHECK(!prot_code_init(&c, k, m));
				for_each_ops(o) {
					prot_map_encode(&map, *o, &c);
					CHECK(gives(*o, prot_code_data(&c), prot_code_parity(&c), len));
				}
			}
		}
	}
}

/* ISA-L's own inversion of the whole k x k matrix, and its decode, to dst[]. */
static bool isal_rebuild(const struct prot_code *c, prot_strips_t have, prot_strips_t want,
			 u8 **dst, size_t len)
{
	static u8 a[STRIPS * STRIPS], inv[STRIPS * STRIPS], rows[4 * STRIPS];
	unsigned int s, i, j, n = 0, k = c->k;
	u8 *src[STRIPS];

	for (s = 0; s < k + c->m; s++) {
		if (!(have >> s & 1))
			continue;
		for (j = 0; j < k; j++)
			a[n * k + j] = s < k ? s == j : c->coef[s - k][j];
		src[n++] = good[s];
	}
	if (gf_invert_matrix(a, inv, k))
		return false;
	for (s = n = 0; s < k + c->m; s++) {
		if (!(want >> s & 1))
			continue;
		for (j = 0; j < k; j++) {
			rows[n * k + j] = 0;
			for (i = 0; i < k; i++)
				rows[n * k + j] ^= gf_mul(s < k ? s == i : c->coef[s - k][i],
							  inv[i * k + j]);
		}
		n++;
	}
	ec_init_tables(k, n, rows, isal_tables);
	ec_encode_data(len, k, n, isal_tables, src, dst);
	return true;
}

static void test_isal_rebuild(void)
{
	const struct prot_codec_ops *const *o;
	unsigned int round, r, s;
	struct prot_code c;

	for (round = 0; round < 4000; round++) {
		unsigned int k = 2 + rnd(31), m = 1 + rnd(4), n = 0;
		prot_strips_t all, lost, have;
		size_t len = 64 + rnd(600);
		u8 *dst[PROT_CODEC_M_MAX];

		CHECK(!prot_code_init(&c, k, m));
		all = prot_code_data(&c) | prot_code_parity(&c);
		place_strips(rnd(64));
		/* Not a stripe at all: both must still agree on what follows from it. */
		for (s = 0; s < k + m; s++)
			fill_random(good[s], len);
		lost = pick(all, 1 + rnd(m));
		have = pick(all & ~lost, k);
		for (s = 0; s < k + m; s++)
			if (lost >> s & 1)
				dst[n++] = good[s];
		for (r = 0; r < n; r++)
			memset(dst[r], GUARD, len);
		CHECK(isal_rebuild(&c, have, lost, dst, len));
		for_each_ops(o) {
			CHECK(!prot_map_init(&map, *o, &c, have, lost));
			CHECK(gives(*o, have, lost, len));
		}
	}
}
#endif

static void test_names(void)
{
	const struct prot_codec_ops *const *o;

	printf("\n    run here:");
	for_each_ops(o)
		printf(" %s", (*o)->name);
	printf("\n    not run: ");
	for (o = ALL_OPS; *o; o++)
		if ((*o)->usable && !(*o)->usable())
			printf(" %s", (*o)->name);
	printf(" ");
	CU_ASSERT(*ALL_OPS != NULL);
}

int main(void)
{
	static const struct suite_test tests[] = {
		{ "implementations", test_names },
		{ "field", test_field },
		{ "matrix inversion", test_invert },
		{ "code matrices", test_matrix },
		{ "arguments of a map", test_map_args },
		{ "lengths and alignments", test_lengths },
		{ "encode, every k and m", test_encode },
		{ "every loss, k <= 8", test_losses_small },
		{ "sampled losses, k > 8", test_losses_large },
		{ "delta", test_delta },
		{ "locate", test_locate },
		{ "self-check", test_selftest },
		{ "selection", test_select },
#ifdef __x86_64__
		{ "ISA-L: matrices", test_isal_matrix },
		{ "ISA-L: encode", test_isal_encode },
		{ "ISA-L: rebuild", test_isal_rebuild },
#endif
		{ NULL, NULL },
	};

	return suite_main("codec", tests);
}
