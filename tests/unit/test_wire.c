// SPDX-License-Identifier: GPL-2.0-only
/* The wire format: layouts, every check's edges, every bit of a command. */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <linux/kernel.h>
#include <asm/byteorder.h>

#include "rdda/wire.h"
#include "suite.h"

/* Offsets are the NVMe specification's, not ours to move. */
static void test_command_layout(void)
{
	CU_ASSERT_EQUAL(offsetof(struct rdda_cmd, cid), 2);
	CU_ASSERT_EQUAL(offsetof(struct rdda_cmd, nsid), 4);
	CU_ASSERT_EQUAL(offsetof(struct rdda_cmd, mptr), 16);
	CU_ASSERT_EQUAL(offsetof(struct rdda_cmd, prp1), 24);
	CU_ASSERT_EQUAL(offsetof(struct rdda_cmd, prp2), 32);
	CU_ASSERT_EQUAL(offsetof(struct rdda_cmd, slba), 40);
	CU_ASSERT_EQUAL(offsetof(struct rdda_cmd, nlb), 48);
	CU_ASSERT_EQUAL(offsetof(struct rdda_cmd, control), 50);
	CU_ASSERT_EQUAL(offsetof(struct rdda_cmd, cdw13), 52);
}

static void test_login(void)
{
	struct rdda_login l = { .magic = cpu_to_le32(RDDA_MAGIC), .version_min = 2, .version_max = 2 };
	u8 padded[57] = { 0 };
	unsigned int role, len;

	memcpy(padded, &l, sizeof(l));
	/* Each size: less is no login, more is padding. */
	for (len = 0; len <= sizeof(padded); len++)
		CU_ASSERT_EQUAL(rdda_login_check(padded, len), len < sizeof(l) ? RDDA_REJ_MALFORMED : 0);
	for (len = sizeof(l); len < sizeof(padded); len++) {
		padded[len] = 1;
		CU_ASSERT_EQUAL(rdda_login_check(padded, sizeof(padded)), RDDA_REJ_MALFORMED);
		padded[len] = 0;
	}
	/* One of another version says so, whatever its size. */
	padded[4] = padded[5] = 1;
	for (len = 6; len <= sizeof(padded); len++)
		CU_ASSERT_EQUAL(rdda_login_check(padded, len), RDDA_REJ_VERSION);
	for (role = 0; role < 256; role++) {
		l.role = role;
		CU_ASSERT_EQUAL(rdda_login_check(&l, sizeof(l)), role > 3 ? RDDA_REJ_ROLE : 0);
	}
	l.role = 0;
	l.version_min = 3;
	l.version_max = 4;
	CU_ASSERT_EQUAL(rdda_login_check(&l, sizeof(l)), RDDA_REJ_VERSION);
	l.version_min = 1;
	CU_ASSERT_EQUAL(rdda_login_check(&l, sizeof(l)), 0);
	l.version_max = 1;
	CU_ASSERT_EQUAL(rdda_login_check(&l, sizeof(l)), RDDA_REJ_VERSION);
	l.version_max = 2;
	l.magic ^= 1;
	CU_ASSERT_EQUAL(rdda_login_check(&l, sizeof(l)), RDDA_REJ_MALFORMED);
}

static const struct rdda_login good_login = {
	.version_min = 2, .version_max = 2,
};

static struct rdda_accept good_accept(void)
{
	return (struct rdda_accept) {
		.magic = cpu_to_le32(RDDA_MAGIC), .version = 2,
		.credits = cpu_to_le16(32), .cmds = cpu_to_le16(128),
		.controls = cpu_to_le16(8), .cmd_bytes = cpu_to_le32(RDDA_CMD_BYTES_MAX),
		.keepalive_ms = cpu_to_le32(1000), .dead_ms = cpu_to_le32(5000),
	};
}

/* Which role of a target may answer which role of a client. */
static void test_accept_roles(void)
{
	struct rdda_login l = good_login;
	struct rdda_accept a = good_accept();
	unsigned int role;

	for (l.role = 0; l.role <= 3; l.role++)
		for (role = 0; role < 256; role++) {
			bool good = l.role ? role == 2 || role == 3 : !role;

			a.role = role;
			CU_ASSERT_EQUAL(rdda_accept_check(&a, sizeof(a), &l), good ? 0 : -EKEYREJECTED);
		}
}

static void test_accept(void)
{
	struct rdda_accept a = good_accept();

	CU_ASSERT_EQUAL(rdda_accept_check(&a, sizeof(a), &good_login), 0);
	CU_ASSERT_EQUAL(rdda_accept_check(&a, sizeof(a) - 1, &good_login), -EPROTO);

#define BAD(field, value) do { \
	a = good_accept(); \
	a.field = (value); \
	CU_ASSERT_EQUAL(rdda_accept_check(&a, sizeof(a), &good_login), -EPROTO); \
	} while (0)
	BAD(magic, 0);
	BAD(version, 3);
	BAD(version, 1);
	BAD(key_id, cpu_to_le16(7));
	BAD(features, cpu_to_le32(1));
	BAD(credits, 0);
	BAD(credits, cpu_to_le16(129));
	BAD(cmds, 0);
	BAD(cmds, cpu_to_le16(RDDA_CMD_SLOTS_MAX + 1));
	BAD(controls, 0);
	BAD(controls, cpu_to_le16(65));
	BAD(cmd_bytes, cpu_to_le32(RDDA_CMD_BYTES_MAX + RDDA_PAGE));
	BAD(cmd_bytes, cpu_to_le32(512));
	BAD(cmd_bytes, cpu_to_le32(RDDA_PAGE + 1));
	BAD(keepalive_ms, 0);
	BAD(dead_ms, cpu_to_le32(1000));
#undef BAD
}

static void test_join(void)
{
	struct rdda_join j = {
		.magic = cpu_to_le32(RDDA_MAGIC_JOIN), .session = cpu_to_le32(9), .channel = 1,
	};
	const struct rdda_joined good = {
		.magic = cpu_to_le32(RDDA_MAGIC_JOIN), .session = cpu_to_le32(9), .channel = 1,
		.arena_off = cpu_to_le32(RDDA_PAGE), .arena_len = cpu_to_le32(RDDA_PAGE),
	};
	struct rdda_joined a = good;
	u8 padded[56] = { 0 };

	memcpy(padded, &j, sizeof(j));
	CU_ASSERT_EQUAL(rdda_join_check(padded, sizeof(padded)), 0);
	CU_ASSERT_EQUAL(rdda_join_check(&j, sizeof(j) - 1), RDDA_REJ_MALFORMED);
	CU_ASSERT_EQUAL(rdda_login_check(padded, sizeof(padded)), RDDA_REJ_MALFORMED);
	CU_ASSERT_EQUAL(rdda_joined_check(&a, sizeof(a), &j), 0);
	CU_ASSERT_EQUAL(rdda_joined_check(&a, sizeof(a) - 1, &j), -EPROTO);
#define BAD(field, value) do { \
	a = good; \
	a.field = (value); \
	CU_ASSERT_EQUAL(rdda_joined_check(&a, sizeof(a), &j), -EPROTO); \
	} while (0)
	BAD(magic, cpu_to_le32(RDDA_MAGIC));
	BAD(session, cpu_to_le32(8));
	BAD(channel, 2);
	BAD(arena_off, cpu_to_le32(512));
	BAD(arena_len, cpu_to_le32(RDDA_PAGE + 512));
#undef BAD
	j.channel = 0;		/* that one logs in */
	CU_ASSERT_EQUAL(rdda_join_check(&j, sizeof(j)), RDDA_REJ_MALFORMED);
	j.channel = 1;
	j.magic = cpu_to_le32(RDDA_MAGIC);
	CU_ASSERT_EQUAL(rdda_join_check(&j, sizeof(j)), RDDA_REJ_MALFORMED);
}

static void test_proved(void)
{
	const struct rdda_proved good = {
		.arena_bytes = cpu_to_le32(2 << 20), .arena_len = cpu_to_le32(1 << 20),
		.channels = cpu_to_le16(2), .pieces = cpu_to_le16(1),
	};
	struct rdda_proved m = good;

	CU_ASSERT_EQUAL(rdda_proved_check(&m), 0);
#define BAD(field, value) do { \
	m = good; \
	m.field = (value); \
	CU_ASSERT_EQUAL(rdda_proved_check(&m), -EPROTO); \
	} while (0)
	BAD(arena_bytes, 0);
	BAD(arena_bytes, cpu_to_le32((2 << 20) + 512));
	BAD(arena_len, cpu_to_le32((2 << 20) + RDDA_PAGE));
	BAD(arena_len, cpu_to_le32(512));
	BAD(channels, 0);
	BAD(pieces, 0);
	BAD(pieces, cpu_to_le16(RDDA_PIECES_MAX + 1));
#undef BAD
}

/* Every type, every count, every length near the right one, both directions. */
static void test_frames(void)
{
	static const struct { u8 type; u16 fixed, entry, most; bool c, t; } want[] = {
		{ RDDA_CMDS, 16, 64, 16, true, false }, { RDDA_DONE, 16, 8, 64, false, true },
		{ RDDA_PROVE, 64, 0, 0, true, false }, { RDDA_PROVED, 64, 0, 0, false, true },
		{ RDDA_ARENA, 16, 16, 64, false, true }, { RDDA_BOUNCE, 32, 0, 0, true, false },
		{ RDDA_PING, 16, 0, 0, true, true }, { RDDA_PONG, 16, 0, 0, true, true },
		{ RDDA_OPEN, 64, 0, 0, true, false }, { RDDA_OPENED, 136, 0, 0, false, true },
		{ RDDA_CLOSE, 24, 0, 0, true, false }, { RDDA_CLOSED, 24, 0, 0, false, true },
		{ RDDA_EVENT, 48, 0, 0, false, true }, { RDDA_BYE, 24, 0, 0, true, true },
		{ RDDA_ERROR, 24, 0, 0, true, true },
	};
	union { struct rdda_hdr h; u64 align[RDDA_MSG_MAX / 8 + 8]; } m;
	unsigned int i, count, len;

	for (i = 0; i < ARRAY_SIZE(want); i++)
		for (count = 0; count < 70; count++)
			for (len = 16; len <= RDDA_MSG_MAX + 8; len += 4) {
				bool fits = count <= want[i].most && (!want[i].entry || count) &&
					    len == want[i].fixed + count * want[i].entry &&
					    len <= RDDA_MSG_MAX;

				memset(&m, 0, sizeof(m.h));
				m.h.type = want[i].type;
				m.h.count = cpu_to_le16(count);
				m.h.len = cpu_to_le32(len);
				CU_ASSERT_EQUAL_FATAL(rdda_msg_check(&m, len, true) == 0, fits && want[i].c);
				CU_ASSERT_EQUAL_FATAL(rdda_msg_check(&m, len, false) == 0, fits && want[i].t);
			}
}

static void test_frame_edges(void)
{
	union { struct rdda_hdr hdr; u64 align[RDDA_MSG_MAX / 8]; } u = { 0 };

	u.hdr.type = RDDA_PING;
	u.hdr.len = cpu_to_le32(16);
	CU_ASSERT_EQUAL(rdda_msg_check(&u, 15, true), -EPROTO);
	CU_ASSERT_EQUAL(rdda_msg_check(&u, 24, true), -EPROTO);
	u.hdr.type = 0;
	CU_ASSERT_EQUAL(rdda_msg_check(&u, 16, true), -EPROTO);
	u.hdr.type = 3;
	CU_ASSERT_EQUAL(rdda_msg_check(&u, 16, true), -EPROTO);
	/* a control message of a later version can be answered */
	u.hdr.type = RDDA_GROW;
	CU_ASSERT_EQUAL(rdda_msg_check(&u, 16, true), -EOPNOTSUPP);
	u.hdr.type = 27;	/* the number of what carried management once */
	CU_ASSERT_EQUAL(rdda_msg_check(&u, 16, true), -EOPNOTSUPP);
	CU_ASSERT_EQUAL(rdda_msg_check(&u, 16, false), -EOPNOTSUPP);
	u.hdr.type = 255;
	CU_ASSERT_EQUAL(rdda_msg_check(&u, 16, false), -EOPNOTSUPP);
}

static const struct rdda_extent_view extents[] = {
	{ 2048, 2048, true }, { 4096, 2048, false }, { 8192, 64, true },
	{ 0xffffffffffffff00ULL, 0xff, true },
};

static const struct rdda_check check = {
	.ext = extents, .nr_ext = ARRAY_SIZE(extents), .lba_shift = 9,
	.max_bytes = RDDA_CMD_BYTES_MAX, .arena_off = 0x100000, .arena_len = 0x100000,
	.bounce_len = 0x10000,
};

static struct rdda_cmd rw(u8 op, u64 slba, u32 blocks)
{
	struct rdda_cmd c = {
		.opcode = op, .cid = cpu_to_le16(5), .nsid = cpu_to_le32(1),
		.slba = cpu_to_le64(slba), .nlb = cpu_to_le16(blocks - 1),
	};

	if (op == RDDA_OP_READ || op == RDDA_OP_WRITE) {
		c.prp1 = cpu_to_le64(0x100000);
		if (blocks > 8)
			c.prp2 = cpu_to_le64(0x102000);
	}
	return c;
}

static int parse(struct rdda_cmd c, struct rdda_parsed *p)
{
	return rdda_cmd_parse(&c, &check, p);
}

static void test_ranges(void)
{
	struct rdda_parsed p;

	CU_ASSERT_EQUAL(parse(rw(RDDA_OP_READ, 2048, 8), &p), 0);
	CU_ASSERT_EQUAL(p.bytes, 4096);
	CU_ASSERT_EQUAL(parse(rw(RDDA_OP_READ, 2047, 8), &p), RDDA_ST_LBA_RANGE);
	CU_ASSERT_EQUAL(parse(rw(RDDA_OP_READ, 0, 1), &p), RDDA_ST_LBA_RANGE);
	/* across two extents that touch */
	CU_ASSERT_EQUAL(parse(rw(RDDA_OP_READ, 4092, 8), &p), 0);
	CU_ASSERT_EQUAL(parse(rw(RDDA_OP_WRITE, 4092, 4), &p), 0);
	CU_ASSERT_EQUAL(parse(rw(RDDA_OP_WRITE, 4092, 5), &p), RDDA_ST_ACCESS_DENIED);
	CU_ASSERT_EQUAL(parse(rw(RDDA_OP_WRITE, 4096, 1), &p), RDDA_ST_ACCESS_DENIED);
	CU_ASSERT_EQUAL(parse(rw(RDDA_OP_WRITE_ZEROES, 4096, 1), &p), RDDA_ST_ACCESS_DENIED);
	/* off the end, into the gap, past the last */
	CU_ASSERT_EQUAL(parse(rw(RDDA_OP_READ, 6143, 1), &p), 0);
	CU_ASSERT_EQUAL(parse(rw(RDDA_OP_READ, 6143, 2), &p), RDDA_ST_LBA_RANGE);
	CU_ASSERT_EQUAL(parse(rw(RDDA_OP_READ, 8192, 64), &p), 0);
	CU_ASSERT_EQUAL(parse(rw(RDDA_OP_READ, 8192, 65), &p), RDDA_ST_LBA_RANGE);
	/* no wrap */
	CU_ASSERT_EQUAL(parse(rw(RDDA_OP_READ, 0xffffffffffffff00ULL, 8), &p), 0);
	CU_ASSERT_EQUAL(parse(rw(RDDA_OP_READ, 0xfffffffffffffff8ULL, 16), &p), RDDA_ST_LBA_RANGE);
	CU_ASSERT_EQUAL(parse(rw(RDDA_OP_READ, ~0ULL, 1), &p), RDDA_ST_LBA_RANGE);
}

/* The most that a command carries is counted in bytes, not in blocks. */
static void test_most(void)
{
	u32 shift, most;
	struct rdda_check chk = check;
	struct rdda_parsed p;
	struct rdda_cmd c;

	for (shift = 9; shift <= 12; shift += 3) {
		chk.lba_shift = shift;
		most = RDDA_CMD_BYTES_MAX >> shift;
		c = rw(RDDA_OP_READ, 2048, most);
		CU_ASSERT_EQUAL(rdda_cmd_parse(&c, &chk, &p), 0);
		CU_ASSERT_EQUAL(p.bytes, RDDA_CMD_BYTES_MAX);
		c = rw(RDDA_OP_READ, 2048, most + 1);
		CU_ASSERT_EQUAL(rdda_cmd_parse(&c, &chk, &p), -EPROTO);
	}
}

/* Block by block, what the search must find. */
static int slow_range(const struct rdda_check *chk, u64 slba, u64 blocks, bool write)
{
	unsigned int i;

	for (; blocks; slba++, blocks--) {
		for (i = 0; i < chk->nr_ext; i++)
			if (slba >= chk->ext[i].slba && slba - chk->ext[i].slba < chk->ext[i].blocks)
				break;
		if (i == chk->nr_ext)
			return RDDA_ST_LBA_RANGE;
		if (write && !chk->ext[i].rw)
			return RDDA_ST_ACCESS_DENIED;
	}
	return 0;
}

static void test_many_extents(void)
{
	struct rdda_extent_view ext[40];
	struct rdda_check chk = check;
	unsigned int round, i, bad = 0;
	struct rdda_parsed p;

	chk.ext = ext;
	srand(7);
	for (round = 0; round < 200; round++) {
		u64 at = rand() % 4;

		chk.nr_ext = 1 + rand() % ARRAY_SIZE(ext);
		for (i = 0; i < chk.nr_ext; i++) {
			at += rand() % 3 ? 0 : rand() % 20;
			ext[i] = (struct rdda_extent_view) {
				.slba = at, .blocks = 1 + rand() % 9, .rw = rand() % 4,
			};
			at += ext[i].blocks;
		}
		for (i = 0; i < 300; i++) {
			u8 op = rand() & 1 ? RDDA_OP_WRITE_ZEROES : RDDA_OP_READ;
			u32 n = 1 + rand() % 8;
			u64 slba = rand() % (at + 4);
			struct rdda_cmd c = rw(op, slba, n);

			if (rdda_cmd_parse(&c, &chk, &p) !=
			    slow_range(&chk, slba, n, op != RDDA_OP_READ))
				bad++;
		}
	}
	CU_ASSERT_EQUAL(bad, 0);
}

static void test_no_drive(void)
{
	struct rdda_check none = check;
	struct rdda_cmd c = rw(RDDA_OP_READ, 2048, 8), f = { .opcode = RDDA_OP_FLUSH };
	struct rdda_parsed p;

	none.nr_ext = 0;
	CU_ASSERT_EQUAL(rdda_cmd_parse(&c, &none, &p), RDDA_ST_INVALID_NS);
	CU_ASSERT_EQUAL(rdda_cmd_parse(&f, &none, &p), RDDA_ST_INVALID_NS);
	CU_ASSERT_EQUAL(rdda_cmd_parse(&f, &check, &p), 0);
}

static void test_payload(void)
{
	struct rdda_cmd c = rw(RDDA_OP_WRITE, 2048, 256);
	struct rdda_parsed p;

	CU_ASSERT_EQUAL(parse(c, &p), 0);
	CU_ASSERT_EQUAL(p.len[0], 4096);
	CU_ASSERT_EQUAL(p.len[1], 255 * 512 - 4096 + 512);
	CU_ASSERT_EQUAL(p.off[1], 0x102000);
	/* a record: its header in the last block of a page, 128 KiB behind */
	c = rw(RDDA_OP_WRITE, 2048, 257);
	c.prp1 = cpu_to_le64(0x100e00);
	CU_ASSERT_EQUAL(parse(c, &p), 0);
	CU_ASSERT_EQUAL(p.len[0], 512);
	CU_ASSERT_EQUAL(p.len[1], 128 << 10);
	/* more than a command may carry */
	CU_ASSERT_EQUAL(parse(rw(RDDA_OP_WRITE, 2048, 265), &p), -EPROTO);

	c = rw(RDDA_OP_READ, 2048, 8);
	c.prp1 = cpu_to_le64(0xff000);
	CU_ASSERT_EQUAL(parse(c, &p), -EPROTO);
	c.prp1 = cpu_to_le64(0x1ff000);
	CU_ASSERT_EQUAL(parse(c, &p), 0);
	c.prp1 = cpu_to_le64(0x200000);
	CU_ASSERT_EQUAL(parse(c, &p), -EPROTO);
	c.prp1 = cpu_to_le64(0xfffffffffffff000ULL);
	CU_ASSERT_EQUAL(parse(c, &p), -EPROTO);
	c.prp1 = cpu_to_le64(0x100002);
	CU_ASSERT_EQUAL(parse(c, &p), -EPROTO);
	c.prp1 = cpu_to_le64(0x100200);		/* now the rest needs PRP2 */
	CU_ASSERT_EQUAL(parse(c, &p), -EPROTO);
	c.prp2 = cpu_to_le64(0x1ff200);
	CU_ASSERT_EQUAL(parse(c, &p), -EPROTO);
	c.prp2 = cpu_to_le64(0x1ff000);
	CU_ASSERT_EQUAL(parse(c, &p), 0);
	c = rw(RDDA_OP_READ, 2048, 8);
	c.prp2 = cpu_to_le64(0x101000);		/* not needed: must be zero */
	CU_ASSERT_EQUAL(parse(c, &p), -EPROTO);
	c = rw(RDDA_OP_READ, 2048, 32);
	c.prp2 = cpu_to_le64(0x1fe000);		/* 12 KiB do not fit behind it */
	CU_ASSERT_EQUAL(parse(c, &p), -EPROTO);
	c.prp2 = cpu_to_le64(0x1fd000);
	CU_ASSERT_EQUAL(parse(c, &p), 0);
}

static void test_push(void)
{
	struct rdda_cmd c = rw(RDDA_OP_READ, 2048, 8);
	struct rdda_parsed p;

	c.mptr = cpu_to_le64(0x3000 | RDDA_MPTR_PUSH);
	CU_ASSERT_EQUAL(parse(c, &p), 0);
	CU_ASSERT_TRUE(p.push);
	CU_ASSERT_EQUAL(p.bounce, 0x3000);
	c.mptr = cpu_to_le64(0xf000 | RDDA_MPTR_PUSH);
	CU_ASSERT_EQUAL(parse(c, &p), 0);
	c.nlb = cpu_to_le16(9 - 1);		/* a block more than there is room for */
	c.prp2 = cpu_to_le64(0x102000);
	CU_ASSERT_EQUAL(parse(c, &p), -EPROTO);
	c = rw(RDDA_OP_READ, 2048, 8);
	c.mptr = cpu_to_le64(0x10000 | RDDA_MPTR_PUSH);
	CU_ASSERT_EQUAL(parse(c, &p), -EPROTO);
	c.mptr = cpu_to_le64(0x3000);
	CU_ASSERT_EQUAL(parse(c, &p), -EPROTO);
	c.mptr = cpu_to_le64(0x3200 | RDDA_MPTR_PUSH);
	CU_ASSERT_EQUAL(parse(c, &p), -EPROTO);
	c.mptr = cpu_to_le64(~0ULL << 12 | RDDA_MPTR_PUSH);
	CU_ASSERT_EQUAL(parse(c, &p), -EPROTO);
	c = rw(RDDA_OP_WRITE, 2048, 8);
	c.mptr = cpu_to_le64(0x3000 | RDDA_MPTR_PUSH);
	CU_ASSERT_EQUAL(parse(c, &p), -EPROTO);
}

static void test_immediate(void)
{
	u16 cid = RDDA_CID(1023, 63);
	u32 imm = RDDA_IMM(cid, 0, 0);

	/* to a client without RDDA_FEAT_RUNS it is the CID */
	CU_ASSERT_EQUAL(imm, cid);
	CU_ASSERT_EQUAL(RDDA_IMM_MORE(imm), 0);
	imm = RDDA_IMM(cid, RDDA_RUN_MAX - 1, 15 * 63);
	CU_ASSERT_EQUAL(RDDA_IMM_CID(imm), cid);
	CU_ASSERT_EQUAL(RDDA_IMM_MORE(imm), RDDA_RUN_MAX - 1);
	CU_ASSERT_EQUAL(RDDA_IMM_GENS(imm), 15 * 63 % 64);
	CU_ASSERT_EQUAL(imm & ~RDDA_IMM_VALID, 0);
	CU_ASSERT_EQUAL(RDDA_IMM(0xffff, 15, 63), RDDA_IMM_VALID);
}

#define FEAT_REST	(RDDA_FEAT_INLINE | RDDA_FEAT_INLINE_REST)
#define FEAT_HEAD	(FEAT_REST | RDDA_FEAT_INLINE_HEAD)

static const u32 inline_features[] = { RDDA_FEAT_INLINE, FEAT_REST, FEAT_HEAD };

/* Whether what a WRITE says is right; @placed: bytes, of a part that goes from 0x3000 to 0x7000. */
static bool inline_good(u32 off, u32 len, u32 placed, u32 features)
{
	u32 head = placed - len - sizeof(struct rdda_cmd);
	u64 end = (u64)off + len + (head ? 0 : sizeof(struct rdda_cmd));

	if (!len || off < 0x3000 || end > 0x7000 || placed < len + sizeof(struct rdda_cmd))
		return false;
	if (!head)
		return true;
	return features == FEAT_HEAD && head % 512 == 0 && head < 4096 && off > 0x3000;
}

/* Each page and length of a small arena, and each length that the NIC may say beside it. */
static void test_inline(void)
{
	const struct rdda_check chk = { .arena_off = 0x3000, .arena_len = 0x4000 };
	struct rdda_inline in;
	u32 off, len, placed, i;

	for (i = 0; i < ARRAY_SIZE(inline_features); i++)
		for (off = 0; off < 0xa000; off += RDDA_PAGE)
			for (len = 0; len <= 0x5000; len += RDDA_INLINE_UNIT)
				for (placed = 0; placed <= 0x6200; placed += 64) {
					bool good = inline_good(off, len, placed, inline_features[i]);
					int ret = rdda_inline_check(RDDA_INLINE_IMM(off, len), placed,
								    inline_features[i], &chk, &in);

					CU_ASSERT_EQUAL_FATAL(ret, good ? 0 : -EPROTO);
					if (ret)
						continue;
					CU_ASSERT_EQUAL_FATAL(in.off, off);
					CU_ASSERT_EQUAL_FATAL(in.bytes, len);
					CU_ASSERT_EQUAL_FATAL(in.head + len + 64, placed);
					CU_ASSERT_EQUAL_FATAL(in.cmd, in.head ? off - in.head - 64 :
							      off + len);
				}
}

static void test_inline_edges(void)
{
	struct rdda_check chk = { .arena_off = 0, .arena_len = 0xfffff000 };
	u32 imm = RDDA_INLINE_IMM(0xff000000, RDDA_INLINE_MAX);
	size_t most = RDDA_INLINE_MAX + 64;
	struct rdda_inline in;

	CU_ASSERT_EQUAL(RDDA_INLINE_OFF(imm), 0xff000000);
	CU_ASSERT_EQUAL(RDDA_INLINE_LEN(imm), RDDA_INLINE_MAX);
	CU_ASSERT_EQUAL(imm & ~RDDA_INLINE_VALID, 0);
	CU_ASSERT_EQUAL(rdda_inline_check(imm, most, FEAT_HEAD, &chk, &in), 0);
	CU_ASSERT_EQUAL(in.cmd, 0xff000000 + RDDA_INLINE_MAX);
	CU_ASSERT_EQUAL(rdda_inline_check(imm | 1U << 31, most, FEAT_HEAD, &chk, &in), -EPROTO);
	/* the last page: the end would be 0 with 32 bits */
	imm = RDDA_INLINE_IMM(0xfffff000, 4096);
	CU_ASSERT_EQUAL(rdda_inline_check(imm, 4096 + 64, FEAT_HEAD, &chk, &in), -EPROTO);
	/* before the first page; the last has no room for the command */
	imm = RDDA_INLINE_IMM(0, 4096);
	CU_ASSERT_EQUAL(rdda_inline_check(imm, 512 + 4096 + 64, FEAT_HEAD, &chk, &in), -EPROTO);
	imm = RDDA_INLINE_IMM(0xffffe000, 4096);
	CU_ASSERT_EQUAL(rdda_inline_check(imm, 512 + 4096 + 64, FEAT_HEAD, &chk, &in), 0);
	CU_ASSERT_EQUAL(in.cmd, 0xffffe000 - 512 - 64);
}

static void test_inline_payload(void)
{
	struct rdda_parsed p = { .opcode = RDDA_OP_WRITE, .bytes = 4096, .off = { 0x100000 },
				 .len = { 4096 } };
	struct rdda_inline in = { .off = 0x100000, .bytes = 4096 };
	u32 f, i;

	for (i = 0; i < ARRAY_SIZE(inline_features); i++) {
		f = inline_features[i];
		p.off[0] = 0x100000;
		CU_ASSERT_EQUAL(rdda_inline_cmd_check(&in, f, &p), 0);
		p.opcode = RDDA_OP_READ;
		CU_ASSERT_EQUAL(rdda_inline_cmd_check(&in, f, &p), -EPROTO);
		p.opcode = RDDA_OP_WRITE;
		in.bytes = 4096 + 512;
		CU_ASSERT_EQUAL(rdda_inline_cmd_check(&in, f, &p), -EPROTO);
		in.bytes = 4096;
		p.off[0] = 0x101000;
		CU_ASSERT_EQUAL(rdda_inline_cmd_check(&in, f, &p), -EPROTO);
		p.bytes = 0;
		CU_ASSERT_EQUAL(rdda_inline_cmd_check(&in, f, &p), 0);
		p.opcode = RDDA_OP_FLUSH;
		CU_ASSERT_EQUAL(rdda_inline_cmd_check(&in, f, &p), -EPROTO);
		p.opcode = RDDA_OP_WRITE;
		p.bytes = 4096;
		/* PRP2 is 0, and not used */
		in.off = 0;
		CU_ASSERT_EQUAL(rdda_inline_cmd_check(&in, f, &p), -EPROTO);
		in.off = 0x100000;
	}
}

/* Its beginning is elsewhere, and came before. */
static void test_inline_rest(void)
{
	struct rdda_parsed p = { .opcode = RDDA_OP_WRITE, .bytes = 4096 + 512,
				 .off = { 0x101000, 0x100000 }, .len = { 4096, 512 } };
	struct rdda_inline in = { .off = 0x100000, .bytes = 512 };

	CU_ASSERT_EQUAL(rdda_inline_cmd_check(&in, FEAT_REST, &p), 0);
	CU_ASSERT_EQUAL(rdda_inline_cmd_check(&in, RDDA_FEAT_INLINE, &p), -EPROTO);
	in.bytes = 4096;
	CU_ASSERT_EQUAL(rdda_inline_cmd_check(&in, FEAT_REST, &p), -EPROTO);
	in.off = 0x101000;
	CU_ASSERT_EQUAL(rdda_inline_cmd_check(&in, FEAT_REST, &p), -EPROTO);
	p.off[1] = 0;
	in = (struct rdda_inline){ .bytes = 512 };
	CU_ASSERT_EQUAL(rdda_inline_cmd_check(&in, FEAT_REST, &p), 0);
}

/* Its beginning came with it, and is what the command names, not more, less or another. */
static void test_inline_head(void)
{
	const struct rdda_inline in = { .off = 0x101000, .bytes = 4096, .head = 512 };
	u32 first, rest, i;

	for (i = 0; i < ARRAY_SIZE(inline_features); i++)
		for (first = 0x100000; first < 0x102000; first += 512)
			for (rest = 0x100000; rest <= 0x102000; rest += RDDA_PAGE) {
				u32 len = RDDA_PAGE - first % RDDA_PAGE;
				struct rdda_parsed p = { .opcode = RDDA_OP_WRITE,
							 .bytes = 4096 + 512, .off = { first, rest },
							 .len = { len, 4096 + 512 - len } };
				bool good = first == 0x100e00 && rest == 0x101000 &&
					    inline_features[i] != RDDA_FEAT_INLINE;

				CU_ASSERT_EQUAL_FATAL(rdda_inline_cmd_check(&in, inline_features[i],
									    &p), good ? 0 : -EPROTO);
			}
}

static void test_dsm_and_zeroes(void)
{
	struct rdda_cmd c = rw(RDDA_OP_DSM, 2048, 1);
	struct rdda_parsed p;

	c.nlb = cpu_to_le16(2048);
	c.cdw13 = cpu_to_le32(RDDA_DSM_AD);
	CU_ASSERT_EQUAL(parse(c, &p), 0);
	CU_ASSERT_EQUAL(p.blocks, 2048);
	CU_ASSERT_EQUAL(p.bytes, 0);
	c.control = cpu_to_le16(1);		/* 65536 blocks more */
	CU_ASSERT_EQUAL(parse(c, &p), RDDA_ST_ACCESS_DENIED);
	c.control = 0;
	c.nlb = 0;
	CU_ASSERT_EQUAL(parse(c, &p), RDDA_ST_LBA_RANGE);
	c.nlb = cpu_to_le16(8);
	c.cdw13 = 0;
	CU_ASSERT_EQUAL(parse(c, &p), -EPROTO);
	c.cdw13 = cpu_to_le32(RDDA_DSM_AD);
	c.prp1 = cpu_to_le64(0x100000);
	CU_ASSERT_EQUAL(parse(c, &p), -EPROTO);

	c = rw(RDDA_OP_WRITE_ZEROES, 2048, 2048);
	c.control = cpu_to_le16(RDDA_CTRL_FUA | RDDA_CTRL_DEAC);
	CU_ASSERT_EQUAL(parse(c, &p), 0);
	CU_ASSERT_TRUE(p.fua && p.deac);
}

/* Flip each bit of a good command: what is reserved must be refused. */
static void test_reserved_bits(void)
{
	static const u8 ops[] = { RDDA_OP_READ, RDDA_OP_WRITE, RDDA_OP_WRITE_ZEROES, RDDA_OP_FLUSH };
	struct rdda_parsed p;
	unsigned int op, bit;

	for (op = 0; op < ARRAY_SIZE(ops); op++)
		for (bit = 0; bit < 512; bit++) {
			struct rdda_cmd c = rw(ops[op], 2048, 8);
			unsigned int byte = bit / 8;
			bool reserved;

			if (ops[op] == RDDA_OP_FLUSH)
				c.slba = c.nlb = 0;
			CU_ASSERT_EQUAL_FATAL(parse(c, &p), 0);
			((u8 *)&c)[byte] ^= 1 << bit % 8;
			reserved = byte == 1 || (byte >= 8 && byte < 16) || byte >= 52;
			if (byte >= 50 && byte < 52) {
				u16 may = ops[op] == RDDA_OP_WRITE ? RDDA_CTRL_FUA :
					  ops[op] == RDDA_OP_WRITE_ZEROES ?
					  RDDA_CTRL_FUA | RDDA_CTRL_DEAC : 0;

				reserved = le16_to_cpu(c.control) & ~may;
			}
			if (reserved)
				CU_ASSERT_EQUAL_FATAL(parse(c, &p), -EPROTO);
		}
	for (op = 0; op < 256; op++) {
		struct rdda_cmd c = rw(op, 2048, 8);

		if (op > RDDA_OP_READ && op != RDDA_OP_WRITE_ZEROES && op != RDDA_OP_DSM)
			CU_ASSERT_EQUAL_FATAL(parse(c, &p), -EPROTO);
	}
}

/* A context serves command after command: nothing of the last one is left in it. */
static void test_nothing_left(void)
{
	static const u8 ops[] = { RDDA_OP_FLUSH, RDDA_OP_WRITE, RDDA_OP_READ,
				  RDDA_OP_WRITE_ZEROES, RDDA_OP_DSM };
	struct rdda_check none = check;
	struct rdda_parsed p;
	unsigned int i;

	none.nr_ext = 0;
	for (i = 0; i < 2 * ARRAY_SIZE(ops); i++) {
		u8 op = ops[i / 2];
		struct rdda_cmd c = rw(op, 2048, 8);
		bool data = i % 2 && (op == RDDA_OP_WRITE || op == RDDA_OP_READ);

		if (op == RDDA_OP_FLUSH)
			c.slba = c.nlb = 0;
		if (op == RDDA_OP_DSM)
			c.cdw13 = cpu_to_le32(RDDA_DSM_AD);
		memset(&p, 0xff, sizeof(p));
		CU_ASSERT_EQUAL(rdda_cmd_parse(&c, i % 2 ? &check : &none, &p),
				i % 2 ? 0 : RDDA_ST_INVALID_NS);
		CU_ASSERT_FALSE(p.push || p.fua || p.deac);
		CU_ASSERT_EQUAL(p.bounce, 0);
		CU_ASSERT_EQUAL(p.bytes, data ? 4096 : 0);
		CU_ASSERT_EQUAL(p.off[0], data ? 0x100000 : 0);
		CU_ASSERT_EQUAL(p.len[0], data ? 4096 : 0);
		CU_ASSERT_EQUAL(p.off[1], 0);
		CU_ASSERT_EQUAL(p.len[1], 0);
	}
}

/* A flush is of all blocks. */
static void test_flush(void)
{
	struct rdda_cmd c = { .opcode = RDDA_OP_FLUSH, .slba = cpu_to_le64(2048) };
	struct rdda_parsed p;

	CU_ASSERT_EQUAL(parse(c, &p), -EPROTO);
	c.slba = 0;
	c.nlb = cpu_to_le16(1);
	CU_ASSERT_EQUAL(parse(c, &p), -EPROTO);
	c.nlb = 0;
	CU_ASSERT_EQUAL(parse(c, &p), 0);
}

static void test_cid(void)
{
	unsigned int slot, gen;

	for (slot = 0; slot < RDDA_CMD_SLOTS_MAX; slot++)
		for (gen = 0; gen <= RDDA_GEN_MASK; gen++) {
			u16 cid = RDDA_CID(slot, gen);

			CU_ASSERT_EQUAL_FATAL(RDDA_CID_SLOT(cid), slot);
			CU_ASSERT_EQUAL_FATAL(RDDA_CID_GEN(cid), gen);
		}
}

int main(void)
{
	static const struct suite_test tests[] = {
		{ "command layout is NVMe's", test_command_layout },
		{ "login", test_login },
		{ "accept", test_accept },
		{ "role of a target that accepts", test_accept_roles },
		{ "join and its answer", test_join },
		{ "what PROVED grants", test_proved },
		{ "frames of every type", test_frames },
		{ "frame edges and management fragments", test_frame_edges },
		{ "block ranges", test_ranges },
		{ "the most bytes", test_most },
		{ "many extents", test_many_extents },
		{ "a session without the drive", test_no_drive },
		{ "payload runs", test_payload },
		{ "pushed reads", test_push },
		{ "immediates", test_immediate },
		{ "a write with its command", test_inline },
		{ "the same, edges", test_inline_edges },
		{ "the same, its payload", test_inline_payload },
		{ "the same, the rest of its payload", test_inline_rest },
		{ "the same, with what is before its page", test_inline_head },
		{ "discard and write zeroes", test_dsm_and_zeroes },
		{ "reserved bits", test_reserved_bits },
		{ "nothing is left of the last command", test_nothing_left },
		{ "flush", test_flush },
		{ "command ids", test_cid },
		{ NULL, NULL },
	};

	return suite_main("wire", tests);
}
