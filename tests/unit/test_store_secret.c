// SPDX-License-Identifier: GPL-2.0-only
/* Keys of the cluster and tokens: known answers, and each input counts. */
#include <errno.h>
#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <stdlib.h>
#include <string.h>

#include "suite.h"
#include "userspace/store/token.h"

static size_t unhex(const char *hex, u8 *out)
{
	size_t n = strlen(hex) / 2;
	unsigned int v;

	for (size_t i = 0; i < n; i++) {
		sscanf(hex + 2 * i, "%2x", &v);
		out[i] = v;
	}
	return n;
}

static bool is_hex(const void *b, size_t n, const char *hex)
{
	u8 want[128];

	return unhex(hex, want) == n && !memcmp(b, want, n);
}

static void hkdf_is(const char *ikm, const char *salt, const char *info, const char *okm)
{
	u8 i[128], s[128], f[128], out[128];
	size_t in = unhex(ikm, i), sn = unhex(salt, s), fn = unhex(info, f), on = strlen(okm) / 2;

	secret_hkdf(i, in, s, sn, f, fn, out, on);
	CU_ASSERT(is_hex(out, on, okm));
}

/* RFC 5869, appendix A.1 to A.3. */
static void test_rfc5869(void)
{
	hkdf_is("0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b", "000102030405060708090a0b0c",
		"f0f1f2f3f4f5f6f7f8f9",
		"3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865");
	hkdf_is("000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
		"202122232425262728292a2b2c2d2e2f303132333435363738393a3b3c3d3e3f"
		"404142434445464748494a4b4c4d4e4f",
		"606162636465666768696a6b6c6d6e6f707172737475767778797a7b7c7d7e7f"
		"808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9f"
		"a0a1a2a3a4a5a6a7a8a9aaabacadaeaf",
		"b0b1b2b3b4b5b6b7b8b9babbbcbdbebfc0c1c2c3c4c5c6c7c8c9cacbcccdcecf"
		"d0d1d2d3d4d5d6d7d8d9dadbdcdddedfe0e1e2e3e4e5e6e7e8e9eaebecedeeef"
		"f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff",
		"b11e398dc80327a1c8e7f78c596a49344f012eda2d4efad8a050cc4c19afa97c"
		"59045a99cac7827271cb41c65e590e09da3275600c2f09b8367793a9aca3db71"
		"cc30c58179ec3e87c14c01d5c1f3434f1d87");
	hkdf_is("0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b", "", "",
		"8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8");
}

static struct secret_master master(u8 byte)
{
	struct secret_master m = { .id = 1 };

	memset(m.key.b, byte, SECRET_BYTES);
	return m;
}

static struct muuid counted(void)
{
	struct muuid u;

	for (u8 i = 0; i < 16; i++)
		u.b[i] = i + 1;
	return u;
}

/* By another implementation of HKDF. */
static void test_known_answers(void)
{
	struct secret_master m = master(0x11), l = master(0x22);
	struct muuid u = counted();
	char print[SECRET_FINGERPRINT];
	struct secret_proof proof;
	struct secret host, s;
	u8 cluster[SECRET_CLUSTER];

	secret_host(&m, &u, PLAN_CLIENT, &host);
	CU_ASSERT(is_hex(host.b, 32, "ee92897d98255602a0a42cbfdff0d3190758028b8d54317c7c77ed6a886205ea"));
	secret_tls(&host, &s);
	CU_ASSERT(is_hex(s.b, 32, "1eaf5a3b1bbf36413968897310532ee7fec22969742dbf13dd3bed61c5491249"));
	secret_login(&host, &s);
	CU_ASSERT(is_hex(s.b, 32, "8b58454a7588758b63cf24259680d54aca99a676cbf4d09597c729309de8721f"));
	secret_token(&m, &u, &s);
	CU_ASSERT(is_hex(s.b, 32, "18e27ee32687764d94cb69004da7c4f3cbe3c8b9c451cce0a0bc15f0889dbe4f"));
	secret_drive(&l.key, &u, &s);
	CU_ASSERT(is_hex(s.b, 32, "f00b1a8c17929238c5eb89e03bfe3ef3ed8e588abe106f87dca4b2e4527a1887"));
	secret_cluster(&l.key, &u, cluster);
	CU_ASSERT(is_hex(cluster, 8, "d835a499141f2f41"));
	secret_lease(&l.key, &u, 0x0102030405060708, &proof);
	CU_ASSERT(is_hex(proof.b, 16, "5a38dc85002dc869edea171607d952c2"));
	secret_fingerprint(&m.key, print);
	CU_ASSERT_STRING_EQUAL(print, "6286-3092");
}

/* Every derivation from every input; no two of them are the same. */
static void test_inputs_count(void)
{
	struct muuid u = counted(), other = { { 9 } };
	struct secret s[24] = { 0 };
	int n = 0;

	for (u8 m = 1; m < 3; m++) {
		struct secret_master a = master(m);

		secret_host(&a, &u, PLAN_CLIENT, &s[n++]);
		secret_host(&a, &u, PLAN_STORAGE, &s[n++]);
		secret_host(&a, &u, PLAN_STORE, &s[n++]);
		secret_host(&a, &other, PLAN_CLIENT, &s[n++]);
		secret_token(&a, &u, &s[n++]);
		secret_token(&a, &other, &s[n++]);
		secret_tls(&a.key, &s[n++]);
		secret_login(&a.key, &s[n++]);
		secret_drive(&a.key, &u, &s[n++]);
		secret_drive(&a.key, &other, &s[n++]);
	}
	for (int i = 0; i < n; i++)
		for (int k = 0; k < i; k++)
			CU_ASSERT(memcmp(s[i].b, s[k].b, 8) && !secret_equal(&s[i], &s[k]));
	CU_ASSERT(secret_equal(&s[0], &s[0]));
}

static void test_short_ones_count(void)
{
	struct secret_master a = master(1), b = master(2);
	struct muuid u = counted(), other = { { 9 } };
	struct secret_proof p[4];
	u8 c[3][SECRET_CLUSTER];
	char f[2][SECRET_FINGERPRINT];

	secret_cluster(&a.key, &u, c[0]);
	secret_cluster(&a.key, &other, c[1]);
	secret_cluster(&b.key, &u, c[2]);
	CU_ASSERT(memcmp(c[0], c[1], 8) && memcmp(c[0], c[2], 8));
	secret_lease(&a.key, &u, 1, &p[0]);
	secret_lease(&a.key, &u, 1ULL << 56, &p[1]);
	secret_lease(&a.key, &other, 1, &p[2]);
	secret_lease(&b.key, &u, 1, &p[3]);
	for (int i = 0; i < 4; i++)
		for (int k = 0; k < i; k++)
			CU_ASSERT_FALSE(secret_proof_equal(&p[i], &p[k]));
	secret_fingerprint(&a.key, f[0]);
	secret_fingerprint(&b.key, f[1]);
	CU_ASSERT(strcmp(f[0], f[1]));
}

static void test_rotate(void)
{
	struct secret_masters m = { 0 };
	struct secret_master first;

	CU_ASSERT_PTR_NULL(secret_find(&m, 0));
	CU_ASSERT_EQUAL(secret_rotate(&m), 0);
	CU_ASSERT(m.now.id == 1 && !m.before.id);
	CU_ASSERT_PTR_NULL(secret_find(&m, 0));
	first = m.now;
	CU_ASSERT_EQUAL(secret_rotate(&m), 0);
	CU_ASSERT(m.now.id == 2 && m.before.id == 1);
	CU_ASSERT(secret_equal(&m.before.key, &first.key) && !secret_equal(&m.now.key, &first.key));
	CU_ASSERT_PTR_EQUAL(secret_find(&m, 1), &m.before);
	CU_ASSERT_PTR_EQUAL(secret_find(&m, 2), &m.now);
	CU_ASSERT_PTR_NULL(secret_find(&m, 3));
	m.now.id = 0xffff;
	CU_ASSERT_EQUAL(secret_rotate(&m), 0);
	CU_ASSERT_EQUAL(m.now.id, 1);
}

static struct token sample(size_t addresses)
{
	static const char *const names[] = { "store1", "192.0.2.7", "2001:db8::7", "fe80::1%eth0", "a.b-c_d",
					     "6", "7", "8" };
	struct token t;

	/* padding counts where tokens are compared */
	memset(&t, 0, sizeof(t));
	t.role = PLAN_STORAGE;
	t.key_id = 65535;
	t.id = counted();
	t.addresses = addresses;
	memset(t.secret.b, 0xab, SECRET_BYTES);
	memset(t.cluster, 0xcd, SECRET_CLUSTER);
	for (size_t i = 0; i < addresses; i++) {
		strcpy(t.address[i].name, names[i]);
		t.address[i].port = i % 2 ? 4500 + i : ADDRESS_PORT;
	}
	return t;
}

static void test_token(void)
{
	char text[TOKEN_TEXT], again[TOKEN_TEXT];
	struct token t, back;

	for (size_t n = 1; n <= ADDRESS_MAX; n++) {
		t = sample(n);
		CU_ASSERT_EQUAL(token_print(&t, text), 0);
		CU_ASSERT_EQUAL(strcspn(text, " \t\n\"'`$&|;<>()[]{}*?!#\\"), strlen(text));
		CU_ASSERT_EQUAL(token_parse(text, &back), 0);
		CU_ASSERT_EQUAL(memcmp(&t, &back, sizeof(t)), 0);
		CU_ASSERT_EQUAL(token_print(&back, again), 0);
		CU_ASSERT_STRING_EQUAL(text, again);
	}
	t = sample(2);
	CU_ASSERT_EQUAL(token_print(&t, text), 0);
	CU_ASSERT_EQUAL(strncmp(text, "meshjoin1/storage/65535/0102030405060708090a0b0c0d0e0f10/abab", 60), 0);
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "/cdcdcdcdcdcdcdcd/store1,192.0.2.7~4501/"));
}

/* Any one character that is lost, added or another one. */
static void test_token_damaged(void)
{
	char text[TOKEN_TEXT], bad[TOKEN_TEXT + 2];
	struct token t = sample(2), back;
	size_t n;

	CU_ASSERT_EQUAL(token_print(&t, text), 0);
	n = strlen(text);
	for (size_t i = 0; i < n; i++) {
		strcpy(bad, text);
		bad[i] = bad[i] == '0' ? '1' : '0';
		CU_ASSERT_EQUAL(token_parse(bad, &back), i < strlen("meshjoin") ? -EINVAL : -EBADMSG);
		memmove(bad + i, text + i + 1, n - i);
		CU_ASSERT(token_parse(bad, &back) < 0);
		strcpy(bad, text);
		bad[i] = 0;
		CU_ASSERT(token_parse(bad, &back) < 0);
		snprintf(bad, sizeof(bad), "%.*s0%s", (int)i, text, text + i);
		CU_ASSERT(token_parse(bad, &back) < 0);
		/* nothing of a secret is left behind */
		CU_ASSERT(back.secret.b[0] == 0 && back.secret.b[31] == 0);
	}
	CU_ASSERT_EQUAL(token_parse("", &back), -EINVAL);
	CU_ASSERT_EQUAL(token_parse("something else", &back), -EINVAL);
	CU_ASSERT_EQUAL(token_parse("meshjoin1", &back), -EBADMSG);
}

/* Text with a right checksum, as token.c computes it, and something wrong in it. */
static int parse_forged(const char *replace, const char *by)
{
	static const char *const all[] = { "meshjoin1", "storage", "65535", "0102030405060708090a0b0c0d0e0f10",
		"abababababababababababababababababababababababababababababababab", "cdcdcdcdcdcdcdcd", "store1" };
	char text[TOKEN_TEXT] = "";
	struct token t, one = sample(1);
	u8 sum[32];
	size_t at = 0;

	for (int i = 0; i < 7; i++)
		at += snprintf(text + at, sizeof(text) - at, "%s/", strcmp(all[i], replace) ? all[i] : by);
	/* the digest by a token that is printed: its check is over the same bytes */
	gnutls_hash_fast(GNUTLS_DIG_SHA256, text, at, sum);
	for (int i = 0; i < 4; i++)
		at += snprintf(text + at, sizeof(text) - at, "%02x", sum[i]);
	if (token_parse(text, &t))
		return token_parse(text, &t);
	return memcmp(&t, &one, sizeof(t)) ? 1 : 0;
}

static void test_token_forged(void)
{
	CU_ASSERT_EQUAL(parse_forged("none", ""), 0);
	CU_ASSERT_EQUAL(parse_forged("meshjoin1", "meshjoin2"), -EPROTONOSUPPORT);
	CU_ASSERT_EQUAL(parse_forged("storage", "root"), -EINVAL);
	CU_ASSERT_EQUAL(parse_forged("storage", "Storage"), -EINVAL);
	CU_ASSERT_EQUAL(parse_forged("65535", "0"), -EINVAL);
	CU_ASSERT_EQUAL(parse_forged("65535", "65536"), -EINVAL);
	CU_ASSERT_EQUAL(parse_forged("65535", "065535"), -EINVAL);
	CU_ASSERT_EQUAL(parse_forged("65535", "+65535"), -EINVAL);
	CU_ASSERT_EQUAL(parse_forged("0102030405060708090a0b0c0d0e0f10", "00000000000000000000000000000000"),
			-EINVAL);
	CU_ASSERT_EQUAL(parse_forged("0102030405060708090a0b0c0d0e0f10", "0102030405060708090A0B0C0D0E0F10"),
			-EINVAL);
	CU_ASSERT_EQUAL(parse_forged("cdcdcdcdcdcdcdcd", "cdcdcdcdcdcdcdcdcd"), -EINVAL);
	CU_ASSERT_EQUAL(parse_forged("store1", ""), -EINVAL);
	CU_ASSERT_EQUAL(parse_forged("store1", "a b"), -EINVAL);
	CU_ASSERT_EQUAL(parse_forged("store1", "a;b"), -EINVAL);
	CU_ASSERT_EQUAL(parse_forged("store1", "store1~4421"), -EINVAL);
	CU_ASSERT_EQUAL(parse_forged("store1", "store1~"), -EINVAL);
	CU_ASSERT_EQUAL(parse_forged("store1", "store1~70000"), -EINVAL);
	CU_ASSERT_EQUAL(parse_forged("store1", "1,2,3,4,5,6,7,8,9"), -EINVAL);
	CU_ASSERT_EQUAL(parse_forged("store1", "store1/x"), -EINVAL);
}

static void test_token_unprintable(void)
{
	char text[TOKEN_TEXT];
	struct token t = sample(1);

	t.role = 0;
	CU_ASSERT_EQUAL(token_print(&t, text), -EINVAL);
	t = sample(1);
	t.key_id = 0;
	CU_ASSERT_EQUAL(token_print(&t, text), -EINVAL);
	t = sample(1);
	t.addresses = 0;
	CU_ASSERT_EQUAL(token_print(&t, text), -EINVAL);
	t = sample(1);
	strcpy(t.address[0].name, "a/b");
	CU_ASSERT_EQUAL(token_print(&t, text), -EINVAL);
	t = sample(1);
	memset(&t.id, 0, sizeof(t.id));
	CU_ASSERT_EQUAL(token_print(&t, text), -EINVAL);
}

static void address_is(const char *text, const char *name, u16 port, const char *again)
{
	char out[ADDRESS_TEXT];
	struct address a;

	CU_ASSERT_EQUAL(address_parse(text, &a), 0);
	CU_ASSERT_STRING_EQUAL(a.name, name);
	CU_ASSERT_EQUAL(a.port, port);
	address_text(&a, out);
	CU_ASSERT_STRING_EQUAL(out, again);
}

static void test_addresses(void)
{
	static const char *const bad[] = { "", ":4421", "a:", "a:0", "a:65536", "a:99999999999", "a:4x", "a:+4",
		"a:04421", "[::1", "[::1]x", "[::1]:", "[a]:1", "a b", "-a", "a/b", "[]", "\xff", "a:-1" };
	char longest[ADDRESS_NAME + 2];
	struct address a;

	address_is("store1", "store1", 4421, "store1");
	address_is("store1:4421", "store1", 4421, "store1");
	address_is("a.example.net:4500", "a.example.net", 4500, "a.example.net:4500");
	address_is("192.0.2.7:1", "192.0.2.7", 1, "192.0.2.7:1");
	address_is("2001:db8::7", "2001:db8::7", 4421, "2001:db8::7");
	address_is("[2001:db8::7]", "2001:db8::7", 4421, "2001:db8::7");
	address_is("[2001:db8::7]:65535", "2001:db8::7", 65535, "[2001:db8::7]:65535");
	address_is("fe80::1%eth0", "fe80::1%eth0", 4421, "fe80::1%eth0");
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		CU_ASSERT_EQUAL(address_parse(bad[i], &a), -EINVAL);
	memset(longest, 'a', sizeof(longest));
	longest[ADDRESS_NAME - 1] = 0;
	CU_ASSERT_EQUAL(address_parse(longest, &a), 0);
	longest[ADDRESS_NAME - 1] = 'a';
	longest[ADDRESS_NAME] = 0;
	CU_ASSERT_EQUAL(address_parse(longest, &a), -EINVAL);
}

static const struct suite_test tests[] = {
	{ "HKDF as RFC 5869 has it", test_rfc5869 },
	{ "known answers", test_known_answers },
	{ "each input counts", test_inputs_count },
	{ "each input of short ones counts", test_short_ones_count },
	{ "rotation of the master", test_rotate },
	{ "a token and its text", test_token },
	{ "a damaged token", test_token_damaged },
	{ "a forged token", test_token_forged },
	{ "what is no token", test_token_unprintable },
	{ "addresses of store hosts", test_addresses },
	{ NULL, NULL }
};

int main(void)
{
	return suite_main("keys of the cluster", tests);
}
