// SPDX-License-Identifier: GPL-2.0-only
/*
 * Who logs in where, and which target a client believes: each kind of key on either side, with
 * each claim about host and role. The keys of hosts come from userspace/store/secret.c, so that
 * both derivations are bound; hmac(sha256) is the TLS library's.
 */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <asm/byteorder.h>

#include "suite.h"
#include "userspace/store/secret.h"

#include "rdda/common/auth.c"
#include "rdda/state.h"

#define SHARED_ID	7
#define FIRST_ID	8
#define SECOND_ID	9
#define ROLES		(RDDA_ROLE_STORE + 2)	/* one more than there are */

static const struct muuid hosts[2] = { { { 1, 2, 3 } }, { { 1, 2, 4 } } };

void rdma_read_gids(struct rdma_cm_id *id, union ib_gid *sgid, union ib_gid *dgid)
{
	(void)id, (void)sgid, (void)dgid;
}

static const u8 *bytes_of(u8 fill)
{
	static u8 bytes[256][32];

	memset(bytes[fill], fill, sizeof(bytes[fill]));
	return bytes[fill];
}

static struct rdda_key key_of(u16 id, u8 kind, u8 role, const u8 *bytes)
{
	struct rdda_key k = { .id = id, .kind = kind, .role = role, .len = 32 };

	memcpy(k.key, bytes, 32);
	return k;
}

/* The key that a store host sends to @host. */
static struct rdda_key own_of(u16 id, u8 fill, const struct muuid *host, u8 role)
{
	struct secret_master m = { .id = id };
	struct secret s;

	memcpy(m.key.b, bytes_of(fill), SECRET_BYTES);
	secret_host(&m, host, role, &s);
	return key_of(id, RDDA_KEY_OWN, role, s.b);
}

/* A key as any host may have it, and what it comes from. */
struct sample {
	struct rdda_key key;
	u8	fill;		/* of the shared key, or of the master */
	u8	host;		/* own key: whose */
};

static struct sample samples[64];
static unsigned int nr_samples;

static void sample(struct rdda_key key, u8 fill, u8 host)
{
	samples[nr_samples++] = (struct sample) { key, fill, host };
}

/* Every kind of key; with each number also a key of another content, and of another kind. */
static void samples_make(void)
{
	static const u8 fills[] = { 0x11, 0x22 };

	nr_samples = 0;
	sample((struct rdda_key) { 0 }, 0, 0);
	for (u16 id = SHARED_ID; id <= FIRST_ID; id++)
		for (int f = 0; f < 2; f++) {
			u8 fill = fills[f];

			sample(key_of(id, RDDA_KEY_SHARED, 0, bytes_of(fill)), fill, 0);
			sample(key_of(id, RDDA_KEY_MASTER, 2, bytes_of(fill)), fill, 0);
			sample(key_of(id, RDDA_KEY_MASTER, 3, bytes_of(fill)), fill, 0);
			for (u8 role = 1; role <= 3; role++)
				for (u8 h = 0; h < 2; h++)
					sample(own_of(id, fill, &hosts[h], role), fill, h);
		}
}

/* A connection in the middle of its login. */
struct attempt {
	struct rdda_login login;
	struct rdda_session_key client, target;
	struct rdda_proof proof;
	u8	hmac[RDDA_HMAC_LEN];
};

static void attempt_login(struct attempt *a, const struct sample *s, u8 host, u8 role)
{
	memset(a, 0, sizeof(*a));
	a->login.magic = cpu_to_le32(RDDA_MAGIC);
	a->login.version_min = RDDA_VERSION;
	a->login.version_max = RDDA_VERSION;
	a->login.key_id = cpu_to_le16(s->key.id);
	a->login.role = role;
	memcpy(a->login.host_uuid, hosts[host].b, RDDA_UUID_LEN);
	a->client.named = s->key;
	CU_ASSERT_EQUAL_FATAL(rdda_auth_key(&a->client, &a->login), 0);
	a->proof.login = a->login;
}

static void attempt_accept(struct attempt *a, u8 role)
{
	a->proof.accept = (struct rdda_accept) {
		.magic = cpu_to_le32(RDDA_MAGIC), .version = RDDA_VERSION,
		.key_id = a->login.key_id, .role = role,
		.credits = cpu_to_le16(32), .cmds = cpu_to_le16(128), .controls = cpu_to_le16(8),
		.cmd_bytes = cpu_to_le32(RDDA_PAGE), .keepalive_ms = cpu_to_le32(1000),
		.dead_ms = cpu_to_le32(5000),
	};
}

/* A target with these keys, as listen.c and channel.c do it. Return: 0, or the reason to refuse. */
static int target_checks(struct attempt *a, const struct rdda_key table[2])
{
	const struct rdda_key *key;
	int ret = rdda_login_check(&a->login, sizeof(a->login));

	if (!ret)
		ret = rdda_key_find(table, le16_to_cpu(a->login.key_id), a->login.role, &key);
	if (ret)
		return ret;
	a->target.named = *key;
	CU_ASSERT_EQUAL_FATAL(rdda_auth_key(&a->target, &a->login), 0);
	attempt_accept(a, key->role);
	CU_ASSERT_EQUAL_FATAL(rdda_auth_make(&a->client.proof, &a->proof, true, a->hmac), 0);
	ret = rdda_auth_login_check(&a->target, &a->proof, a->hmac);
	return ret == -EPERM ? RDDA_REJ_ROLE : ret == -EKEYREJECTED ? RDDA_REJ_KEY : ret;
}

/* A client, as connect.c does it. Return: 0; -EKEYREJECTED. */
static int client_checks(struct attempt *a, const u8 hmac[RDDA_HMAC_LEN])
{
	return rdda_accept_check(&a->proof.accept, sizeof(a->proof.accept), &a->login) ?:
	       rdda_auth_check(&a->client.proof, &a->proof, false, hmac);
}

/*
 * The rule, in words of the contract: a shared key admits who has it, without a role; a master
 * admits the host and the role whose key was proved. Return: 0, or the reason.
 */
static int admitted(const struct sample *s, u8 host, u8 role, const struct sample *t)
{
	if (role > RDDA_ROLE_STORE)
		return RDDA_REJ_ROLE;
	if (t->key.kind == RDDA_KEY_OWN || t->key.id != s->key.id)
		return RDDA_REJ_KEY;
	if ((t->key.kind == RDDA_KEY_MASTER) == !role)
		return RDDA_REJ_ROLE;
	if (t->key.kind != s->key.kind && (!role || s->key.kind == RDDA_KEY_SHARED))
		return RDDA_REJ_KEY;
	if (t->fill != s->fill)
		return RDDA_REJ_KEY;
	if (s->key.kind != RDDA_KEY_OWN || (s->host == host && s->key.role == role))
		return 0;
	return s->host == host ? RDDA_REJ_ROLE : RDDA_REJ_KEY;
}

static void login_try(const struct sample *s, const struct sample *t)
{
	struct rdda_key table[2] = { t->key };
	u8 hmac[RDDA_HMAC_LEN];
	struct attempt a;

	for (u8 host = 0; host < 2; host++)
		for (u8 role = 0; role < ROLES; role++) {
			int want = admitted(s, host, role, t);

			attempt_login(&a, s, host, role);
			CU_ASSERT_EQUAL_FATAL(target_checks(&a, table), want);
			if (want)
				continue;
			/* The client believes that target, and its own proof sent back to it does not. */
			CU_ASSERT_EQUAL(rdda_auth_make(&a.target.proof, &a.proof, false, hmac), 0);
			CU_ASSERT_EQUAL(client_checks(&a, hmac), 0);
			CU_ASSERT_EQUAL(client_checks(&a, a.hmac), -EKEYREJECTED);
			hmac[31] ^= 1;
			CU_ASSERT_EQUAL(client_checks(&a, hmac), -EKEYREJECTED);
		}
}

/* Each key of a client, with each claim, at a target with each key. */
static void test_logins(void)
{
	samples_make();
	for (unsigned int i = 0; i < nr_samples; i++)
		for (unsigned int k = 0; k < nr_samples; k++)
			login_try(&samples[i], &samples[k]);
}

/*
 * A host that poses as a target keeps to no rule: it answers with any role, and proves with what
 * can be derived from its key. A client that is honest believes those alone that have its key: a
 * shared one, or the master. The exception is its own key, when it is stolen.
 */
static void pose_try(const struct sample *s, const struct sample *poser)
{
	bool knows = poser->key.kind == RDDA_KEY_MASTER ||
		     (poser->key.kind == RDDA_KEY_OWN && poser->host == s->host &&
		      poser->key.role == s->key.role);
	u8 hmac[RDDA_HMAC_LEN];
	struct attempt a;

	for (u8 role = 0; role < ROLES; role++) {
		bool good = poser->fill == s->fill;

		if (s->key.kind == RDDA_KEY_SHARED)
			good &= poser->key.kind == RDDA_KEY_SHARED && !role;
		else
			good &= knows && (role == RDDA_ROLE_STORAGE || role == RDDA_ROLE_STORE);
		attempt_login(&a, s, s->host, s->key.role);
		attempt_accept(&a, role);
		a.target.named = poser->key;
		CU_ASSERT_EQUAL_FATAL(rdda_auth_key(&a.target, &a.login), 0);
		if (rdda_auth_make(&a.target.proof, &a.proof, false, hmac))
			memset(hmac, 0, sizeof(hmac));	/* there is no such proof */
		CU_ASSERT_EQUAL_FATAL(client_checks(&a, hmac), good ? 0 : -EKEYREJECTED);
	}
}

static void test_posers(void)
{
	samples_make();
	for (unsigned int i = 0; i < nr_samples; i++)
		for (unsigned int k = 0; k < nr_samples; k++)
			pose_try(&samples[i], &samples[k]);
}

/* Two keys are in use: that of the number named counts, and of the kind that the role needs. */
static void test_two_keys(void)
{
	samples_make();
	for (unsigned int i = 0; i < nr_samples; i++)
		for (unsigned int k = 1; k < nr_samples; k++)
			for (unsigned int n = 1; n < nr_samples; n++) {
				const struct sample *s = &samples[i], *t = &samples[k], *u = &samples[n];
				struct rdda_key table[2] = { t->key, u->key };
				const struct rdda_key *key = NULL;
				u8 role = s->key.role;
				bool first = t->key.id == s->key.id && t->key.kind != RDDA_KEY_OWN &&
					     (t->key.kind == RDDA_KEY_MASTER) == !!role;
				bool second = u->key.id == s->key.id && u->key.kind != RDDA_KEY_OWN &&
					      (u->key.kind == RDDA_KEY_MASTER) == !!role;

				CU_ASSERT_EQUAL(!rdda_key_find(table, s->key.id, role, &key), first || second);
				if (first || second)
					CU_ASSERT_PTR_EQUAL(key, first ? &table[0] : &table[1]);
			}
}

/* A master is followed by another: hosts with the key of either log in, until one leaves. */
static void test_rotation(void)
{
	const struct rdda_key one = key_of(FIRST_ID, RDDA_KEY_MASTER, 2, bytes_of(0x11)),
		two = key_of(SECOND_ID, RDDA_KEY_MASTER, 2, bytes_of(0x22)), none = { 0 },
		shared = key_of(SHARED_ID, RDDA_KEY_SHARED, 0, bytes_of(0x33));
	const struct rdda_key steps[][2] = {
		{ shared, none }, { one, shared }, { one, none }, { two, one }, { two, none },
		{ shared, two }, { shared, none },
	};
	static const bool let_in[][3] = {	/* shared key, key of one, key of two */
		{ 1, 0, 0 }, { 1, 1, 0 }, { 0, 1, 0 }, { 0, 1, 1 }, { 0, 0, 1 }, { 1, 0, 1 }, { 1, 0, 0 },
	};
	const struct sample s[] = {
		{ shared, 0x33, 0 }, { own_of(FIRST_ID, 0x11, &hosts[0], 1), 0x11, 0 },
		{ own_of(SECOND_ID, 0x22, &hosts[0], 1), 0x22, 0 },
	};
	struct attempt a;

	for (unsigned int i = 0; i < ARRAY_SIZE(steps); i++)
		for (unsigned int k = 0; k < ARRAY_SIZE(s); k++) {
			attempt_login(&a, &s[k], 0, s[k].key.role);
			CU_ASSERT_EQUAL(!target_checks(&a, steps[i]), let_in[i][k]);
			if (!let_in[i][k])
				continue;
			/* The session lives as long as its key is in a later table. */
			for (unsigned int n = 0; n < ARRAY_SIZE(steps); n++)
				CU_ASSERT_EQUAL(rdda_key_counts(steps[n], &a.target.named),
						let_in[n][k]);
		}
}

/* A session goes on while its key is in use: number, kind, role and content. */
static void test_counts(void)
{
	struct rdda_key table[2] = { own_of(FIRST_ID, 0x11, &hosts[0], 2) }, other = table[0];

	for (size_t i = 0; i < offsetof(struct rdda_key, key) + RDDA_KEY_MAX; i++) {
		((u8 *)&other)[i] ^= 1;
		CU_ASSERT_FALSE(rdda_key_counts(table, &other));
		((u8 *)&other)[i] ^= 1;
		CU_ASSERT_TRUE(rdda_key_counts(table, &other));
	}
	samples_make();
	for (unsigned int i = 0; i < nr_samples; i++)
		for (unsigned int k = 0; k < nr_samples; k++)
			for (unsigned int n = 0; n < (k ? nr_samples : 1); n++) {
				bool counts = i == k || (i && i == n);

				table[0] = samples[k].key;
				table[1] = samples[n].key;
				CU_ASSERT_EQUAL_FATAL(rdda_key_counts(table, &samples[i].key), counts);
			}
}

/* Other channels: each side's proof, of this client alone, with the roles of channel 0. */
static void test_joins(void)
{
	struct rdda_join_proof p = { .session = 3, .channel = 1 };
	struct rdda_session_key key[2] = {
		{ .named = own_of(FIRST_ID, 0x11, &hosts[0], 1) },
		{ .named = own_of(FIRST_ID, 0x11, &hosts[1], 1) },
	};
	struct rdda_login login = { .role = 1 };
	u8 hmac[RDDA_HMAC_LEN];

	for (int i = 0; i < 2; i++)
		CU_ASSERT_EQUAL(rdda_auth_key(&key[i], &login), 0);
	for (u8 client = 0; client < ROLES; client++)
		for (u8 target = 0; target < ROLES; target++) {
			bool may[2] = { target <= 3 && target != 1, client <= 3 };

			p.role[0] = client;
			p.role[1] = target;
			for (int side = 0; side < 2; side++) {
				int ret = rdda_auth_join_make(&key[0].proof, &p, side, hmac);

				CU_ASSERT_EQUAL(ret, may[side] ? 0 : -EINVAL);
				if (ret)
					continue;
				CU_ASSERT_EQUAL(rdda_auth_join_check(&key[0].proof, &p, side, hmac), 0);
				CU_ASSERT_NOT_EQUAL(rdda_auth_join_check(&key[0].proof, &p, !side, hmac), 0);
				CU_ASSERT_NOT_EQUAL(rdda_auth_join_check(&key[1].proof, &p, side, hmac), 0);
				p.role[side] ^= 1;
				CU_ASSERT_NOT_EQUAL(rdda_auth_join_check(&key[0].proof, &p, side, hmac), 0);
				p.role[side] ^= 1;
			}
		}
}

/* The kernel's derivation gives the keys of userspace/store/secret.c, and the known answer. */
static void test_derivation(void)
{
	static const u8 known[] = {
		0x8b, 0x58, 0x45, 0x4a, 0x75, 0x88, 0x75, 0x8b, 0x63, 0xcf, 0x24, 0x25, 0x96, 0x80, 0xd5, 0x4a,
		0xca, 0x99, 0xa6, 0x76, 0xcb, 0xf4, 0xd0, 0x95, 0x97, 0xc7, 0x29, 0x30, 0x9d, 0xe8, 0x72, 0x1f,
	};
	struct secret_master m = { .id = FIRST_ID };
	struct rdda_login login = { 0 };
	struct rdda_session_key shared = {
		.named = key_of(SHARED_ID, RDDA_KEY_SHARED, 0, bytes_of(0x33)),
	};
	struct secret host, want;

	CU_ASSERT_EQUAL(rdda_auth_key(&shared, &login), 0);
	CU_ASSERT_FALSE(memcmp(&shared.proof, &shared.named, sizeof(shared.named)));
	memcpy(m.key.b, bytes_of(0x11), SECRET_BYTES);
	for (u8 i = 0; i < RDDA_UUID_LEN; i++)
		login.host_uuid[i] = i + 1;
	for (login.role = PLAN_CLIENT; login.role <= PLAN_STORE; login.role++) {
		struct rdda_session_key key = {
			.named = key_of(FIRST_ID, RDDA_KEY_MASTER, 3, bytes_of(0x11)),
		};

		secret_host(&m, (const struct muuid *)login.host_uuid, login.role, &host);
		secret_login(&host, &want);
		CU_ASSERT_EQUAL(rdda_auth_key(&key, &login), 0);
		CU_ASSERT(key.proof.len == SECRET_BYTES && !memcmp(key.proof.key, want.b, SECRET_BYTES));
		if (login.role == PLAN_CLIENT)
			CU_ASSERT(!memcmp(key.proof.key, known, sizeof(known)));
		key.named = key_of(FIRST_ID, RDDA_KEY_OWN, login.role, host.b);
		CU_ASSERT_EQUAL(rdda_auth_key(&key, &login), 0);
		CU_ASSERT(key.proof.len == SECRET_BYTES && !memcmp(key.proof.key, want.b, SECRET_BYTES));
	}
	CU_ASSERT((int)PLAN_CLIENT == RDDA_ROLE_CLIENT && (int)PLAN_STORAGE == RDDA_ROLE_STORAGE &&
		  (int)PLAN_STORE == RDDA_ROLE_STORE);
}

/* Which keys a host takes at all. */
static void test_refused(void)
{
	for (u8 kind = 0; kind < 3; kind++)
		for (u8 role = 0; role < ROLES; role++)
			for (unsigned int len = 0; len <= RDDA_KEY_MAX + 1; len++)
				for (u16 id = 0; id < 2; id++) {
					struct rdda_key k = { id, kind, role, len, { 0 } };
					bool good = kind ? len == 32 && role >= kind % 2 + 1 && role <= 3 :
						    !role && len >= 16 && len <= RDDA_KEY_MAX;

					if (!id)
						good = !kind && !role && !len;
					if (kind == RDDA_KEY_OWN && id)
						good = len == 32 && role >= 1 && role <= 3;
					CU_ASSERT_EQUAL_FATAL(!rdda_key_refuse(&k), good);
				}
}

/* A login that failed for its key is tried with the other one. */
static void test_other(void)
{
	for (int reason = 0; reason <= RDDA_REJ_ROLE + 1; reason++)
		CU_ASSERT_EQUAL(rdda_key_other(rdda_reject_errno(reason)),
				reason == RDDA_REJ_KEY || reason == RDDA_REJ_ROLE);
}

int main(void)
{
	static const struct suite_test tests[] = {
		{ "every key and claim at every target", test_logins },
		{ "hosts that pose as a target", test_posers },
		{ "two keys in use", test_two_keys },
		{ "from a shared key to a master, to the next, and back", test_rotation },
		{ "sessions whose key leaves", test_counts },
		{ "other channels", test_joins },
		{ "derivation", test_derivation },
		{ "keys that no host takes", test_refused },
		{ "the other key", test_other },
		{ NULL, NULL },
	};

	return suite_main("login", tests);
}
