// SPDX-License-Identifier: GPL-2.0-only
/* Records on members: sealed, checked, and refused when anything differs. */
#include <errno.h>
#include <string.h>
#include <linux/kernel.h>
#include <asm/byteorder.h>

#include "protect/record/journal.h"
#include "suite.h"

static const struct prot_owner owner = { .volume = { 1, 2, 3 }, .salt = 77, .group = 5 };

static struct prot_bitmap_hdr want(u8 kind)
{
	struct prot_bitmap_hdr h = { .kind = kind, .member = 2, .block = cpu_to_le32(9) };

	if (kind >= PROT_MISSED) {
		h.absent = 3;
		h.epoch = cpu_to_le64(41);
		h.uuid[0] = 0xaa;
	}
	return h;
}

static void sealed(u64 *block, u32 lba, u8 kind)
{
	memset(block, 0, lba);
	*(struct prot_bitmap_hdr *)block = want(kind);
	memset(prot_bitmap_bytes(block), 0x81, prot_bitmap_bits(lba) / 8);
	prot_bitmap_seal(block, lba, &owner);
}

/* Every bit of a block counts: none may flip unseen. */
static void test_flips(void)
{
	u64 block[4096 / 8];
	static const u32 lbas[] = { 512, 4096 };
	u8 kind;
	u32 l, i;

	for (kind = 0; kind < PROT_BITMAPS; kind++)
		for (l = 0; l < ARRAY_SIZE(lbas); l++) {
			struct prot_bitmap_hdr w = want(kind);

			sealed(block, lbas[l], kind);
			CU_ASSERT_EQUAL(prot_bitmap_check(block, lbas[l], &owner, &w), 0);
			for (i = 0; i < lbas[l] * 8; i++) {
				((u8 *)block)[i / 8] ^= 1 << (i & 7);
				CU_ASSERT_EQUAL_FATAL(prot_bitmap_check(block, lbas[l], &owner, &w),
						      -EBADMSG);
				((u8 *)block)[i / 8] ^= 1 << (i & 7);
			}
		}
}

/* A valid block of something else is not valid here. */
static void test_others(void)
{
	u64 block[512 / 8];
	struct prot_bitmap_hdr w = want(PROT_MISSED);
	struct prot_owner o = owner;

	sealed(block, 512, PROT_MISSED);
	CU_ASSERT_EQUAL(prot_bitmap_check(block, 512, &owner, &w), 0);
#define OTHER(field, value) do { \
	typeof(field) keep_ = field; \
	field = value; \
	CU_ASSERT_EQUAL(prot_bitmap_check(block, 512, &o, &w), -EBADMSG); \
	field = keep_; \
	} while (0)
	OTHER(w.kind, PROT_MISSED + 1);
	OTHER(w.kind, PROT_INTENT);
	OTHER(w.member, 1);
	OTHER(w.block, cpu_to_le32(8));
	OTHER(w.absent, 2);
	OTHER(w.epoch, cpu_to_le64(40));
	OTHER(w.uuid[0], 0xab);
	OTHER(o.salt, 78);
	OTHER(o.group, 4);
	OTHER(o.volume[15], 1);
#undef OTHER
	/* truncated: the rest of an older block behind it */
	memset((u8 *)block + 256, 0, 256);
	CU_ASSERT_EQUAL(prot_bitmap_check(block, 512, &owner, &w), -EBADMSG);
}

static void test_attach(void)
{
	struct prot_attach_rec r = { .member = 4, .seq = cpu_to_le64(1),
				     .attach = cpu_to_le64(12), .epoch = cpu_to_le64(3) };
	struct prot_owner o = owner;
	u32 i;

	prot_attach_seal(&r, &owner);
	CU_ASSERT_EQUAL(prot_attach_check(&r, &owner, 4), 0);
	CU_ASSERT_EQUAL(prot_attach_check(&r, &owner, 3), -EBADMSG);
	o.salt++;
	CU_ASSERT_EQUAL(prot_attach_check(&r, &o, 4), -EBADMSG);
	for (i = 0; i < sizeof(r) * 8; i++) {
		((u8 *)&r)[i / 8] ^= 1 << (i & 7);
		CU_ASSERT_EQUAL_FATAL(prot_attach_check(&r, &owner, 4), -EBADMSG);
		((u8 *)&r)[i / 8] ^= 1 << (i & 7);
	}
}

/* On disk it is little endian, whatever machine wrote it. */
static void test_bytes(void)
{
	u64 block[512 / 8] = { 0 };
	const u8 *b = (const u8 *)block;

	sealed(block, 512, PROT_MISSED);
	CU_ASSERT(!memcmp(b, "MMAP", 4));
	CU_ASSERT_EQUAL(b[4], 1);
	CU_ASSERT_EQUAL(b[16], 41);
	CU_ASSERT_EQUAL(b[60], 9);
	CU_ASSERT_EQUAL(b[56], 5);
}

static const struct prot_slot_place place = {
	.attach = 12, .stripes = 100, .strip_bytes = 4096, .slot_bytes = 4096, .ring = 1,
	.rings = 3, .slot = 2, .slots = 5, .lba = 512, .member = 3, .width = 6,
};

/* A record as it should be: transaction 17 of ring 1, stripe 7, three sectors. */
static struct prot_slot_hdr slot_record(u8 *payload)
{
	struct prot_slot_hdr h = { .kind = PROT_SLOT_PAYLOAD, .member = 3, .strip = 2,
				   .ring = cpu_to_le32(1), .attach = cpu_to_le64(12),
				   .txid = cpu_to_le64(17), .watermark = cpu_to_le64(15),
				   .participants = cpu_to_le64(0x38),
				   .holders = cpu_to_le64(0x38), .stripe = cpu_to_le64(7),
				   .first = cpu_to_le32(512), .length = cpu_to_le32(1536) };

	memset(payload, 0x77, 1536);
	h.payload_sum = cpu_to_le64(prot_slot_payload_sum(payload, 1536, &owner, 12, 17, 3));
	prot_slot_seal(&h, &owner);
	return h;
}

static void test_slot_flips(void)
{
	u8 payload[1536];
	struct prot_slot_hdr h = slot_record(payload);
	u32 i;

	CU_ASSERT_EQUAL(prot_slot_check(&h, &owner, &place), 0);
	CU_ASSERT_EQUAL(prot_slot_check_payload(&h, payload, &owner), 0);
	for (i = 0; i < sizeof(h) * 8; i++) {
		((u8 *)&h)[i / 8] ^= 1 << (i & 7);
		CU_ASSERT_EQUAL_FATAL(prot_slot_check(&h, &owner, &place), -EBADMSG);
		((u8 *)&h)[i / 8] ^= 1 << (i & 7);
	}
	for (i = 0; i < sizeof(payload) * 8; i += 7) {
		payload[i / 8] ^= 1 << (i & 7);
		CU_ASSERT_EQUAL_FATAL(prot_slot_check_payload(&h, payload, &owner), -EBADMSG);
		payload[i / 8] ^= 1 << (i & 7);
	}
	/* cut off: the end of an older payload behind it */
	memset(payload + 512, 0, 1024);
	CU_ASSERT_EQUAL(prot_slot_check_payload(&h, payload, &owner), -EBADMSG);
}

/* Sealed as it should be, but one field is not of here, or out of bounds. */
static void test_slot_fields(void)
{
	u8 payload[1536];
	struct prot_slot_hdr h;

#define BAD(field, value) do { \
	h = slot_record(payload); \
	h.field = value; \
	prot_slot_seal(&h, &owner); \
	CU_ASSERT_EQUAL(prot_slot_check(&h, &owner, &place), -EBADMSG); \
	} while (0)
	BAD(kind, 0);
	BAD(kind, PROT_SLOT_SUMMED);
	BAD(kind, PROT_SLOT_RECOVER);
	BAD(kind, PROT_SLOT_KINDS);
	BAD(kind, PROT_SLOT_ZERO);	/* with a payload */
	BAD(member, 2);
	BAD(strip, 6);
	BAD(ring, cpu_to_le32(0));
	BAD(attach, cpu_to_le64(11));	/* of an older attachment: stale */
	BAD(attach, cpu_to_le64(13));
	BAD(txid, cpu_to_le64(16));	/* of another slot */
	BAD(txid, 0);
	BAD(watermark, 0);
	BAD(watermark, cpu_to_le64(18));
	BAD(holders, cpu_to_le64(0x30));	/* not this member */
	BAD(holders, cpu_to_le64(0x78));
	BAD(participants, cpu_to_le64(0x78));
	BAD(stripe, cpu_to_le64(8));	/* of another ring */
	BAD(stripe, cpu_to_le64(100));
	BAD(strip, 1);			/* of another member */
	BAD(participants, cpu_to_le64(0x30));	/* a payload for nothing */
	BAD(length, 0);
	BAD(first, cpu_to_le32(511));
	BAD(first, cpu_to_le32(4096));
	BAD(first, cpu_to_le32(0xfffffe00));
	BAD(length, cpu_to_le32(4608));
	BAD(length, cpu_to_le32(0xfffffe00));
	BAD(length, cpu_to_le32(100));
#undef BAD
}

/* The same record, expected elsewhere. */
static void test_slot_others(void)
{
	u8 payload[1536];
	struct prot_slot_hdr h;
	struct prot_slot_place at;
	struct prot_owner o = owner;

#define PLACE(field, value) do { \
	h = slot_record(payload); \
	at = place; \
	at.field = value; \
	CU_ASSERT_EQUAL(prot_slot_check(&h, &owner, &at), -EBADMSG); \
	} while (0)
	PLACE(slot, 1);
	PLACE(ring, 2);
	PLACE(member, 4);
	PLACE(attach, 13);
	PLACE(stripes, 7);
	PLACE(slot_bytes, 1024);
#undef PLACE
	h = slot_record(payload);
	o.salt++;
	CU_ASSERT_EQUAL(prot_slot_check(&h, &o, &place), -EBADMSG);
	CU_ASSERT_EQUAL(prot_slot_check_payload(&h, payload, &o), -EBADMSG);
	o = owner;
	o.group++;
	CU_ASSERT_EQUAL(prot_slot_check(&h, &o, &place), -EBADMSG);
	o = owner;
	o.volume[15] = 1;
	CU_ASSERT_EQUAL(prot_slot_check(&h, &o, &place), -EBADMSG);
}

/* A payload of another record: the header is right, what is behind it is not its own. */
static void test_slot_payload_of(void)
{
	u8 payload[1536];
	struct prot_slot_hdr h;

#define OTHER(field, value) do { \
	h = slot_record(payload); \
	h.field = value; \
	CU_ASSERT_EQUAL(prot_slot_check_payload(&h, payload, &owner), -EBADMSG); \
	} while (0)
	OTHER(attach, cpu_to_le64(11));
	OTHER(attach, cpu_to_le64(13));
	OTHER(txid, cpu_to_le64(16));
	OTHER(txid, cpu_to_le64(18));
	OTHER(member, 2);
	OTHER(member, 4);
#undef OTHER
}

static void test_slot_bytes(void)
{
	u8 payload[1536];
	struct prot_slot_hdr h = slot_record(payload);
	const u8 *b = (const u8 *)&h;

	CU_ASSERT(!memcmp(b, "SLOT", 4));
	CU_ASSERT_EQUAL(b[4], 1);
	CU_ASSERT_EQUAL(b[12], 1);
	CU_ASSERT_EQUAL(b[16], 12);
	CU_ASSERT_EQUAL(b[24], 17);
	CU_ASSERT_EQUAL(b[48], 0x38);
	CU_ASSERT_EQUAL(b[73], 2);	/* first = 512 */
}

int main(void)
{
	static const struct suite_test tests[] = {
		{ "flipped bits", test_flips },
		{ "records of others", test_others },
		{ "attach record", test_attach },
		{ "bytes", test_bytes },
		{ "slot: flipped bits", test_slot_flips },
		{ "slot: a field of others", test_slot_fields },
		{ "slot: records of others", test_slot_others },
		{ "slot: payloads of others", test_slot_payload_of },
		{ "slot: bytes", test_slot_bytes },
		{ NULL, NULL },
	};

	return suite_main("prot_record", tests);
}
