// SPDX-License-Identifier: GPL-2.0-only
/* The bytes under a proof: its label, and all that both sides know. */
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <linux/kernel.h>

#include "rdda/wire.h"
#include "suite.h"

/* Each side and role has its label; a target with the role of a client, and no role, has none. */
static void test_labels(void)
{
	u8 seen[16][RDDA_PROOF_BYTES], join[16][RDDA_JOIN_BYTES];
	unsigned int role, n = 0, i, k;
	bool by_client;

	for (role = 0; role < 256; role++)
		for (i = 0; i < 2; i++) {
			struct rdda_proof p = { .login.role = role, .accept.role = role };
			struct rdda_join_proof j = { .role = { role, role } };
			int want = role > 3 || (role == 1 && !i) ? -EINVAL : 0;

			by_client = i;
			CU_ASSERT_EQUAL_FATAL(rdda_proof_bytes(&p, by_client, seen[n]), want);
			CU_ASSERT_EQUAL_FATAL(rdda_join_bytes(&j, by_client, join[n]), want);
			n += !want;
		}
	CU_ASSERT_EQUAL(n, 7);
	for (i = 0; i < n; i++) {
		CU_ASSERT_EQUAL(seen[i][RDDA_LABEL_LEN - 1], 0);
		CU_ASSERT_EQUAL(join[i][RDDA_LABEL_LEN - 1], 0);
		for (k = 0; k < n; k++) {
			CU_ASSERT_EQUAL(!memcmp(seen[i], seen[k], RDDA_LABEL_LEN), i == k);
			CU_ASSERT_EQUAL(!memcmp(join[i], join[k], RDDA_LABEL_LEN), i == k);
			CU_ASSERT(memcmp(seen[i], join[k], RDDA_LABEL_LEN));
		}
	}
}

/* A byte of a role becomes another role, every other byte its inverse. */
static void flip(u8 *byte, bool role)
{
	*byte ^= role ? 2 : 0xff;
}

/* Each byte that both sides know changes the proof, and so does the side. */
static void test_proof(void)
{
	struct rdda_proof p = { 0 };
	u8 base[RDDA_PROOF_BYTES], other[RDDA_PROOF_BYTES];
	size_t i;

	rdda_proof_bytes(&p, true, base);
	rdda_proof_bytes(&p, false, other);
	CU_ASSERT_TRUE(memcmp(base, other, sizeof(base)));
	for (i = 0; i < offsetof(struct rdda_proof, boot_id) + RDDA_UUID_LEN; i++) {
		bool role = i == offsetof(struct rdda_proof, login.role) ||
			    i == offsetof(struct rdda_proof, accept.role);

		flip((u8 *)&p + i, role);
		CU_ASSERT_EQUAL(rdda_proof_bytes(&p, true, other), 0);
		/* Not in the label alone. */
		CU_ASSERT_TRUE_FATAL(memcmp(base + RDDA_LABEL_LEN, other + RDDA_LABEL_LEN,
					    sizeof(base) - RDDA_LABEL_LEN));
		flip((u8 *)&p + i, role);
	}
	p.qpn[1] = 0x010203;
	rdda_proof_bytes(&p, true, other);
	CU_ASSERT_EQUAL(memcmp(other + RDDA_PROOF_BYTES - 32, "\3\2\1", 4), 0);
	p.qpn[1] = 0;
	p.gid[1][15] = 1;
	rdda_proof_bytes(&p, true, other);
	CU_ASSERT_TRUE(memcmp(base, other, sizeof(base)));
	p.gid[1][15] = 0;
	/* What is granted is in the target's proof; the client's comes before it. */
	rdda_proof_bytes(&p, false, base);
	for (i = offsetof(struct rdda_proof, arena_bytes);
	     i < offsetof(struct rdda_proof, channels) + 2; i++) {
		((u8 *)&p)[i] ^= 0xff;
		rdda_proof_bytes(&p, false, other);
		CU_ASSERT_TRUE_FATAL(memcmp(base, other, sizeof(base)));
		((u8 *)&p)[i] ^= 0xff;
	}
}

/* The same of a channel that joins: no byte of it is left out. */
static void test_join_proof(void)
{
	u8 base[2][RDDA_JOIN_BYTES], other[RDDA_JOIN_BYTES];
	struct rdda_join_proof p = { 0 };
	size_t i, side, client = 0;

	rdda_join_bytes(&p, true, base[true]);
	rdda_join_bytes(&p, false, base[false]);
	CU_ASSERT_TRUE(memcmp(base[0], base[1], sizeof(base[0])));
	for (i = 0; i < sizeof(p); i++) {
		if (i - offsetof(struct rdda_join_proof, role) < sizeof(p.role))
			continue;
		((u8 *)&p)[i] ^= 0xff;
		CU_ASSERT_EQUAL(rdda_join_bytes(&p, false, other), 0);
		CU_ASSERT_TRUE_FATAL(memcmp(base[false], other, sizeof(other)));
		CU_ASSERT_EQUAL(rdda_join_bytes(&p, true, other), 0);
		client += !!memcmp(base[true], other, sizeof(other));
		((u8 *)&p)[i] ^= 0xff;
	}
	/* All but the target's QPN and what it grants, which come later. */
	CU_ASSERT_EQUAL(client, sizeof(p) - sizeof(p.role) - 12);
	/* Both roles, in both proofs, and not in the label alone. */
	for (i = 0; i < 4; i++) {
		side = i / 2;
		p.role[i % 2] = RDDA_ROLE_STORAGE;
		CU_ASSERT_EQUAL(rdda_join_bytes(&p, side, other), 0);
		CU_ASSERT_TRUE(memcmp(base[side] + RDDA_LABEL_LEN, other + RDDA_LABEL_LEN,
				      sizeof(other) - RDDA_LABEL_LEN));
		p.role[i % 2] = RDDA_ROLE_NONE;
	}
}

int main(void)
{
	static const struct suite_test tests[] = {
		{ "labels", test_labels },
		{ "proof covers every byte", test_proof },
		{ "the proof of a channel that joins", test_join_proof },
		{ NULL, NULL },
	};

	return suite_main("proof", tests);
}
