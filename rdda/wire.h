/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * RDDA on the wire: login, control messages, commands, completions.
 *
 *   client                                              target
 *     | CM REQ      private data: struct rdda_login        |  channel 0
 *     |--------------------------------------------------->|
 *     | CM REP      private data: struct rdda_accept       |
 *     |<---------------------------------------------------|
 *     | SEND PROVE  boot id, HMAC over all of the above    |
 *     |--------------------------------------------------->|
 *     | SEND PROVED HMAC, channels and arena granted       |
 *     |<---------------------------------------------------|
 *     | SEND ARENA  pieces and their keys                  |
 *     |<---------------------------------------------------|
 *     | CM REQ      private data: struct rdda_join, proved |  channels 1..n
 *     |--------------------------------------------------->|
 *     | CM REP      private data: struct rdda_joined       |
 *     |<---------------------------------------------------|
 *     | SEND BOUNCE key of the client's bounce arena       |  channel 0
 *     |--------------------------------------------------->|
 *     |          OPEN/OPENED, CMDS, pushes, DONE, ...      |
 *
 * Everything is little endian. A SEND begins with struct rdda_hdr and is at
 * most RDDA_MSG_MAX bytes, since every posted receive must be able to hold the
 * largest one. A page is RDDA_PAGE bytes whatever PAGE_SIZE is.
 *
 * A data WRITE and the SEND of the command that uses it travel on the same
 * channel: the receive completion of that SEND is what makes the data visible.
 *
 * This file is pure: the kernel modules and the tests compile the same wire.c.
 */
#ifndef RDDA_WIRE_H
#define RDDA_WIRE_H

#include <linux/build_bug.h>
#include <linux/types.h>

#define RDDA_MAGIC		0x41444452	/* "RDDA" */
#define RDDA_MAGIC_JOIN		0x4a444452	/* "RDDJ" */
#define RDDA_VERSION		2
#define RDDA_PORT		4421
#define RDDA_PAGE_SHIFT		12
#define RDDA_PAGE		(1U << RDDA_PAGE_SHIFT)
#define RDDA_UUID_LEN		16
#define RDDA_NONCE_LEN		16
#define RDDA_HMAC_LEN		32
#define RDDA_LABEL_LEN		16		/* of a proof's label, padded with zeroes */
#define RDDA_KEY_NONE		0		/* key id: without authentication */

/* Features: a login names those that the client knows, its answer those in use. */
#define RDDA_FEAT_RUNS		1U		/* one push may carry several reads */
#define RDDA_FEAT_INLINE	2U		/* a WRITE may carry a command behind its payload */
#define RDDA_FEAT_INLINE_REST	4U		/* ... also if the first PRP is elsewhere */
#define RDDA_FEAT_INLINE_HEAD	8U		/* ... also with its header, the command first */
#define RDDA_FEATURES		(RDDA_FEAT_RUNS | RDDA_FEAT_INLINE | RDDA_FEAT_INLINE_REST | \
				 RDDA_FEAT_INLINE_HEAD)

#define RDDA_ATTACH_MAX		(~0ULL >> 1)	/* largest attach number */
#define RDDA_CMDS_MAX		16		/* commands in one SEND */
#define RDDA_DONES_MAX		64		/* completions in one SEND */
#define RDDA_MSG_MAX		1040		/* header + 16 commands */
#define RDDA_CMD_BYTES		(128U << 10)	/* payload of a command, ... */
#define RDDA_CMD_BYTES_MAX	(RDDA_CMD_BYTES + RDDA_PAGE) /* ... with a record's header */

/* Roles of a host in its cluster, in order: each has the rights of those before it. */
enum rdda_role {
	RDDA_ROLE_NONE		= 0,	/* a key that all hosts share, or none */
	RDDA_ROLE_CLIENT	= 1,	/* knows its own key alone; no target */
	RDDA_ROLE_STORAGE	= 2,	/* knows the master, as does ... */
	RDDA_ROLE_STORE		= 3,	/* ... a store host */
};

/* CM private data. A login makes a session with its channel 0. */

struct rdda_login {
	__le32	magic;
	u8	version_min;
	u8	version_max;
	__le32	features;
	__le16	key_id;
	u8	host_uuid[RDDA_UUID_LEN];
	u8	nonce[RDDA_NONCE_LEN];
	__le32	boot;		/* first 32 bits of the client's boot id */
	__le32	number;		/* number of this session within that boot */
	u8	rail;
	u8	channels;	/* channels that the client can use, at most; 0: not said */
	u8	role;		/* enum rdda_role: of the client; selects its key */
} __attribute__((packed));
static_assert(sizeof(struct rdda_login) == 55, "CM REQ carries 56 bytes at most");

struct rdda_accept {
	__le32	magic;
	u8	version;
	u8	role;		/* enum rdda_role: of the target; not set if the login has none */
	__le16	key_id;
	__le32	features;
	__le32	session;	/* the target's number for this session */
	__le16	credits;	/* CMDS messages in flight, per channel */
	__le16	cmds;		/* commands in flight, per channel */
	__le16	controls;	/* control messages in flight, per channel and direction */
	__le16	reserved2;
	__le32	cmd_bytes;	/* largest payload of a command */
	__le32	keepalive_ms;
	__le32	dead_ms;
	u8	nonce[RDDA_NONCE_LEN];
	u8	host_uuid[RDDA_UUID_LEN];
	u8	boot_id[RDDA_UUID_LEN];
} __attribute__((packed));
static_assert(sizeof(struct rdda_accept) == 84, "CM REP carries 196 bytes at most");

/* Another channel of a proved session, with its own proof: see rdda_join_bytes(). */
struct rdda_join {
	__le32	magic;		/* RDDA_MAGIC_JOIN */
	__le32	session;	/* as in the accept of channel 0 */
	u8	channel;	/* from 1 on; each is taken once in a session's life */
	u8	rail;
	u8	reserved[2];
	u8	hmac[RDDA_HMAC_LEN];	/* zero without authentication */
} __attribute__((packed));
static_assert(sizeof(struct rdda_join) == 44, "CM REQ carries 56 bytes at most");

struct rdda_joined {
	__le32	magic;		/* RDDA_MAGIC_JOIN */
	__le32	session;
	u8	channel;
	u8	reserved[3];
	__le32	arena_off;	/* of this channel, in the session's arena */
	__le32	arena_len;
	u8	hmac[RDDA_HMAC_LEN];
} __attribute__((packed));
static_assert(sizeof(struct rdda_joined) == 52, "CM REP carries 196 bytes at most");

enum rdda_reject_reason {
	RDDA_REJ_MALFORMED	= 1,
	RDDA_REJ_VERSION	= 2,
	RDDA_REJ_KEY		= 3,	/* unknown key id, or a key is needed */
	RDDA_REJ_BUSY		= 4,	/* too many unproven connections, or out of budget */
	RDDA_REJ_CHANNEL	= 5,	/* no such session, channel taken or not granted */
	RDDA_REJ_STALE		= 6,	/* the target has seen a newer incarnation */
	RDDA_REJ_NOT_READY	= 7,	/* the target has no identity yet: meshd not running */
	RDDA_REJ_TWIN		= 8,	/* another boot of this host UUID lives */
	RDDA_REJ_ROLE		= 9,	/* the key named or proved is not of the role named */
	RDDA_REJ_REMOVED	= 10,	/* the host was removed from the cluster */
	RDDA_REJ_LAST		= RDDA_REJ_REMOVED
};

struct rdda_reject {
	__le32	magic;
	__le16	reason;
	u8	version_min;
	u8	version_max;
} __attribute__((packed));
static_assert(sizeof(struct rdda_reject) == 8, "wire format");

/* Messages */

enum rdda_type {
	RDDA_CMDS	= 1,	/* c>t  hdr.count commands */
	RDDA_DONE	= 2,	/* t>c  hdr.count completions */

	RDDA_PROVE	= 16,	/* c>t */
	RDDA_PROVED	= 17,	/* t>c */
	RDDA_ARENA	= 18,	/* t>c  hdr.count pieces */
	RDDA_BOUNCE	= 19,	/* c>t */
	RDDA_PING	= 20,	/* both; answered by PONG with the same tag */
	RDDA_PONG	= 21,
	RDDA_OPEN	= 22,	/* c>t */
	RDDA_OPENED	= 23,	/* t>c */
	RDDA_CLOSE	= 24,	/* c>t */
	RDDA_CLOSED	= 25,	/* t>c after every command admitted under the opening */
	RDDA_EVENT	= 26,	/* t>c */
	RDDA_BYE	= 28,	/* both: the sender ends the session, in order */
	RDDA_ERROR	= 29,	/* both: answer to an unknown control message */
	RDDA_GROW	= 30,	/* reserved: more arena */
	RDDA_RETURN	= 31,	/* reserved: arena given back */
	RDDA_SHRINK	= 32,	/* reserved: target requests arena back */
};

/* Header of every SEND. */
struct rdda_hdr {
	u8	type;	/* enum rdda_type */
	u8	flags;	/* per type, else zero */
	__le16	count;	/* entries behind the fixed part, for types with entries */
	__le32	len;	/* bytes of the whole message, this header included */
	__le64	tag;	/* tag of a request; the answer carries the same */
} __attribute__((packed));
static_assert(sizeof(struct rdda_hdr) == 16, "wire format");

struct rdda_prove {
	struct rdda_hdr hdr;
	u8	boot_id[RDDA_UUID_LEN];
	u8	hmac[RDDA_HMAC_LEN];	/* without authentication: with a key of zeroes */
} __attribute__((packed));
static_assert(sizeof(struct rdda_prove) == 64, "wire format");

struct rdda_proved {
	struct rdda_hdr hdr;
	u8	hmac[RDDA_HMAC_LEN];
	__le32	arena_bytes;		/* of the whole session */
	__le32	arena_len;		/* part of channel 0, the first one */
	__le16	channels;		/* granted to the session, all rails */
	__le16	pieces;			/* number of pieces in ARENA */
	__le32	reserved;
} __attribute__((packed));
static_assert(sizeof(struct rdda_proved) == 64, "wire format");

/* One MR of the arena, zero based; pieces are contiguous in arena offsets. */
struct rdda_piece {
	__le32	off;
	__le32	len;
	__le32	rkey;
	__le32	reserved;
} __attribute__((packed));
static_assert(sizeof(struct rdda_piece) == 16, "wire format");
#define RDDA_PIECES_MAX		64

struct rdda_bounce {
	struct rdda_hdr hdr;
	__le32	rkey;
	__le32	len;
	__le64	reserved;
} __attribute__((packed));
static_assert(sizeof(struct rdda_bounce) == 32, "wire format");

enum rdda_access {
	RDDA_RO = 1,
	RDDA_RW = 2,
};

/* hdr.flags */
#define RDDA_OPEN_PREEMPT	1	/* fence the holder first */
#define RDDA_OPEN_AGAIN		2	/* this client had the extent open before */
#define RDDA_OPEN_NUMBERED	4	/* @attach is an access number, of a reader too */
#define RDDA_OPEN_PROBE		8	/* alone, with RDDA_RO: answer, and change nothing */
#define RDDA_OPEN_RETAKE	16	/* with NUMBERED, RDDA_RW: @served counts */

struct rdda_open {
	struct rdda_hdr hdr;
	u8	extent[RDDA_UUID_LEN];
	__le64	epoch;			/* epoch of the layout; refused below the highest seen */
	/* number to note with RDDA_RW, 0: none; NUMBERED: the access number */
	__le64	attach;
	__le64	served;			/* RETAKE: number under which this client served so far */
	u8	access;			/* enum rdda_access */
	u8	reserved[7];
} __attribute__((packed));
static_assert(sizeof(struct rdda_open) == 64, "wire format");

/* Status of OPENED and CLOSED; a client reacts differently to each. */
enum rdda_open_status {
	RDDA_OPEN_OK		= 0,
	RDDA_OPEN_NO_EXTENT	= 1,	/* not on this target (drive away, or freed) */
	RDDA_OPEN_HELD		= 2,	/* by @holder; RDDA_OPEN_PREEMPT fences the holder */
	RDDA_OPEN_STALE		= 3,	/* a higher epoch was seen */
	RDDA_OPEN_DRAINING	= 4,	/* commands of an old incarnation not dead yet: try again */
	RDDA_OPEN_GRACE		= 5,	/* target just started, noted holder first: try again */
	RDDA_OPEN_DRIVE_GONE	= 6,
	RDDA_OPEN_NO_DAEMON	= 7,	/* the label must be written first and no meshd is there */
	RDDA_OPEN_NOT_READY	= 8,	/* not zeroed, or drives are being exported: try again */
	RDDA_OPEN_LIMIT		= 9,	/* too many opened extents in this session */
	RDDA_OPEN_OLD_ATTACH	= 10,	/* a higher attach number is noted, or another host's */
	RDDA_OPEN_UNKNOWN	= 11,	/* target just started, openings not known: try again */
	RDDA_OPEN_NOT_ALLOWED	= 12,	/* NUMBERED: the volume is not for this host */
	RDDA_OPEN_FAR		= 13,	/* NUMBERED: too far above the number that is noted */
};

#define RDDA_DRIVE_WRITE_ZEROES		2
#define RDDA_DRIVE_DISCARD		4
#define RDDA_DRIVE_ROTATIONAL		8

struct rdda_opened {
	struct rdda_hdr hdr;
	u8	extent[RDDA_UUID_LEN];
	u8	drive[RDDA_UUID_LEN];
	union {
		u8	holder[RDDA_UUID_LEN];	/* with RDDA_OPEN_HELD */
		/* with RDDA_OPEN_OK: the longest dead_ms of a client of this target; 0: not said */
		__le32	dead_ms;
	};
	__le64	slba;			/* where the extent begins on the drive */
	__le64	blocks;			/* length of the extent */
	__le64	attach;			/* highest number noted, with any status; 0: none */
	__le32	nsid;			/* the session's handle of the drive */
	__le32	handle;			/* handle of this opening, for CLOSE */
	__le32	max_bytes;		/* largest command to this drive */
	__le32	discard_blocks;		/* granularity */
	u8	lba_shift;		/* 9 or 12 */
	u8	status;			/* enum rdda_open_status */
	__le16	flags;			/* RDDA_DRIVE_* */
	__le32	phys_bytes;		/* physical block size */
	u8	attacher[RDDA_UUID_LEN]; /* host for which @attach was noted, with any status */
	__le32	writers;		/* openings of the extent, before this one */
	__le32	readers;		/* the same, for reading */
} __attribute__((packed));
static_assert(sizeof(struct rdda_opened) == 136, "wire format");

struct rdda_close {
	struct rdda_hdr hdr;
	__le32	handle;
	__le32	status;			/* in CLOSED: enum rdda_open_status */
} __attribute__((packed));
static_assert(sizeof(struct rdda_close) == 24, "wire format");

enum rdda_event_kind {
	RDDA_EV_DRIVE_GONE	= 1,
	RDDA_EV_DRIVE_BACK	= 2,
	RDDA_EV_REVOKED		= 3,	/* the opened extent @handle was taken away */
	RDDA_EV_SHARE		= 4,	/* another login would be granted @handle channels now */
};

struct rdda_event {
	struct rdda_hdr hdr;
	u8	drive[RDDA_UUID_LEN];
	__le32	kind;
	__le32	nsid;
	__le32	handle;
	__le32	reserved;
} __attribute__((packed));
static_assert(sizeof(struct rdda_event) == 48, "wire format");

/*
 * BYE and ERROR: the reason, as a positive errno. A BYE that refuses a login after its proof was
 * read has the enum rdda_reject_reason too.
 */
struct rdda_note {
	struct rdda_hdr hdr;
	__le32	err;
	__le32	reason;
} __attribute__((packed));
static_assert(sizeof(struct rdda_note) == 24, "wire format");

/* Commands: NVMe NVM command set, base specification figure "Common Command
 * Format", read/write figures of the NVM command set specification.
 */

enum rdda_opcode {
	RDDA_OP_FLUSH		= 0x00,
	RDDA_OP_WRITE		= 0x01,
	RDDA_OP_READ		= 0x02,
	RDDA_OP_WRITE_ZEROES	= 0x08,
	RDDA_OP_DSM		= 0x09,
};

#define RDDA_CTRL_FUA		0x4000
#define RDDA_CTRL_DEAC		0x0200	/* write zeroes may deallocate */
#define RDDA_DSM_AD		0x4	/* deallocate, in cdw13 */
#define RDDA_MPTR_PUSH		1	/* the rest of mptr is a bounce offset */

/* A real NVMe command. */
struct rdda_cmd {
	u8	opcode;		/* enum rdda_opcode; all others are refused */
	u8	flags;		/* zero (no fused operation, PRPs) */
	__le16	cid;		/* command slot and generation, see RDDA_CID() */
	__le32	nsid;		/* the session's handle of a drive, from OPENED */
	__le32	cdw2;		/* zero */
	__le32	cdw3;		/* zero */
	/* pushed read: bounce offset (a multiple of RDDA_PAGE) | RDDA_MPTR_PUSH; else zero */
	__le64	mptr;
	__le64	prp1;	/* arena offset where the payload begins; runs to the end of its page */
	/*
	 * arena offset of the rest, a multiple of RDDA_PAGE, one run; zero when the first page
	 * holds all
	 */
	__le64	prp2;
	__le64	slba;		/* first block, absolute on the drive */
	__le16	nlb;		/* blocks - 1; DSM: the low half of a 32-bit count of blocks */
	__le16	control;	/* FUA; write zeroes: DEAC; DSM: the high half of the count */
	__le32	cdw13;		/* zero; DSM: RDDA_DSM_AD */
	__le32	cdw14;		/* zero */
	__le32	cdw15;		/* zero */
} __attribute__((packed));
static_assert(sizeof(struct rdda_cmd) == 64, "NVMe 2.0: a command is 64 bytes");

struct rdda_cmds {
	struct rdda_hdr hdr;
	struct rdda_cmd cmd[];
} __attribute__((packed));

/* NVMe status field as in a CQ entry without its phase bit: SCT << 8 | SC. */
enum rdda_status {
	RDDA_ST_OK		= 0x000,
	RDDA_ST_INVALID_FIELD	= 0x002,
	RDDA_ST_INTERNAL	= 0x006,
	RDDA_ST_INVALID_NS	= 0x00b,
	RDDA_ST_RO		= 0x020,	/* namespace is write protected */
	RDDA_ST_LBA_RANGE	= 0x080,
	RDDA_ST_NS_NOT_READY	= 0x082,
	RDDA_ST_WRITE_FAULT	= 0x280,
	RDDA_ST_READ_ERROR	= 0x281,
	RDDA_ST_ACCESS_DENIED	= 0x286,
	RDDA_ST_GONE		= 0x371,	/* command aborted, drive removed */
};

struct rdda_done {
	__le16	cid;
	__le16	status;
	__le32	reserved;
} __attribute__((packed));
static_assert(sizeof(struct rdda_done) == 8, "wire format");

struct rdda_dones {
	struct rdda_hdr hdr;
	struct rdda_done done[];
} __attribute__((packed));

/*
 * CID: 10 bits are the command slot, 6 are the generation, which changes with each use of the slot:
 * a late or forged CID is recognized.
 */
#define RDDA_CID_SLOT_BITS	10
#define RDDA_CMD_SLOTS_MAX	(1U << RDDA_CID_SLOT_BITS)
#define RDDA_CID(slot, gen)	((u16)((slot) | (gen) << RDDA_CID_SLOT_BITS))
#define RDDA_CID_SLOT(cid)	((cid) & (RDDA_CMD_SLOTS_MAX - 1))
#define RDDA_CID_GEN(cid)	((u16)(cid) >> RDDA_CID_SLOT_BITS)
#define RDDA_GEN_MASK		0x3f

/*
 * The immediate of a push: bits 0-15 are the CID of the first read. With RDDA_FEAT_RUNS, bits 16-19
 * are the number of further reads in the same WRITE, with consecutive bounce pages, and bits 20-25
 * are the sum of their generations. A read that failed is in a DONE.
 */
#define RDDA_IMM(cid, more, gens) \
	((u32)(cid) | (u32)(more) << 16 | (u32)((gens) & RDDA_GEN_MASK) << 20)
#define RDDA_IMM_CID(imm)	((u16)(imm))
#define RDDA_IMM_MORE(imm)	((imm) >> 16 & (RDDA_RUN_MAX - 1))
#define RDDA_IMM_GENS(imm)	((imm) >> 20 & RDDA_GEN_MASK)
#define RDDA_IMM_VALID		0x03ffffffU
#define RDDA_RUN_MAX		16		/* reads in one push */

/*
 * The immediate of a write that carries its own command (RDDA_FEAT_INLINE), the other way: bits
 * 0-19 are the arena page where the payload of the WRITE begins, bits 20-30 the length of the
 * payload in units of 512 bytes. The struct rdda_cmd lies behind the payload, in the same WRITE,
 * and names the payload by its first PRP. With RDDA_FEAT_INLINE_REST the second PRP may name the
 * payload: then the first PRP names a header elsewhere, which came before. With
 * RDDA_FEAT_INLINE_HEAD the header may lie right before the payload's page and be in the same
 * WRITE, which is longer by that much: the command is then in front of the header.
 */
#define RDDA_INLINE_UNIT	512U
#define RDDA_INLINE_MAX		(0x7ffU * RDDA_INLINE_UNIT)
#define RDDA_INLINE_IMM(off, len) \
	((u32)(off) >> RDDA_PAGE_SHIFT | (u32)(len) / RDDA_INLINE_UNIT << 20)
#define RDDA_INLINE_OFF(imm)	(((imm) & 0xfffffU) << RDDA_PAGE_SHIFT)
#define RDDA_INLINE_LEN(imm)	(((imm) >> 20 & 0x7ffU) * RDDA_INLINE_UNIT)
#define RDDA_INLINE_VALID	0x7fffffffU

/* Checks: pure, shared by modules, unit tests and fuzzers (wire.c) */

/* An opened extent as command checking sees it. */
struct rdda_extent_view {
	u64	slba;	/* first block on the drive */
	u64	blocks;	/* length */
	bool	rw;	/* opened for writing */
};

/* Rights and limits that a command is checked against. */
struct rdda_check {
	/* opened extents of the drive that @nsid names, sorted by slba, not overlapping */
	const struct rdda_extent_view *ext;
	unsigned int nr_ext;	/* entries of @ext; zero when the session has no such drive */
	unsigned int lba_shift;	/* LBA size of the drive, as a shift */
	u32	max_bytes;	/* largest payload of a command */
	u32	arena_off;	/* the channel's part of the arena */
	u32	arena_len;	/* length of that part */
	u32	bounce_len;	/* the client's bounce arena; zero before BOUNCE */
};

/* A command that passed, in host order. */
struct rdda_parsed {
	u8	opcode;	/* enum rdda_opcode */
	u16	cid;	/* as sent */
	bool	fua;	/* write or write zeroes: force unit access */
	bool	deac;	/* write zeroes may deallocate */
	bool	push;	/* a read to be pushed to @bounce */
	u64	slba;	/* first block */
	u64	blocks;	/* number of blocks */
	u32	bytes;	/* payload bytes; zero for discard, write zeroes, flush */
	u32	off[2];	/* arena offsets of the two runs */
	u32	len[2];	/* bytes of each run */
	u32	bounce;	/* offset in the client's bounce arena */
};

/* Places, in the arena, of the parts of a WRITE that carries its command. */
struct rdda_inline {
	u32	off;	/* the payload, at the beginning of a page */
	u32	bytes;	/* payload bytes */
	u32	head;	/* bytes of a header right before the payload, in the same WRITE */
	u32	cmd;	/* the command: behind the payload, or before the header */
};

int rdda_login_check(const void *data, size_t len);
int rdda_accept_check(const void *data, size_t len, const struct rdda_login *login);
int rdda_join_check(const void *data, size_t len);
int rdda_joined_check(const void *data, size_t len, const struct rdda_join *join);
int rdda_proved_check(const struct rdda_proved *m);
int rdda_msg_check(const void *msg, size_t len, bool from_client);
int rdda_open_check(const struct rdda_open *m);
int rdda_cmd_parse(const struct rdda_cmd *cmd, const struct rdda_check *chk,
		   struct rdda_parsed *out);
int rdda_inline_check(u32 imm, size_t len, u32 features, const struct rdda_check *chk,
		      struct rdda_inline *out);
int rdda_inline_cmd_check(const struct rdda_inline *in, u32 features, const struct rdda_parsed *p);

/* Data of channel 0 that both sides know, proved with the key. */
struct rdda_proof {
	struct rdda_login login;	/* as sent by the client, byte for byte */
	struct rdda_accept accept;	/* as sent by the target */
	u8	boot_id[RDDA_UUID_LEN];	/* the client's, whole */
	u32	qpn[2];			/* of client and target */
	u8	gid[2][16];		/* of client and target */
	u32	arena_bytes;		/* granted, as in PROVED; only in the target's proof */
	u32	arena_len;		/* the same */
	u16	channels;		/* the same */
};

#define RDDA_PROOF_BYTES	(RDDA_LABEL_LEN + 55 + 84 + 16 + 2 * 20 + 12)
int rdda_proof_bytes(const struct rdda_proof *p, bool by_client, u8 out[RDDA_PROOF_BYTES]);

/* The same for another channel of a proved session. */
struct rdda_join_proof {
	u32	session;	/* number, from the accept of channel 0 */
	u32	channel;	/* index */
	u32	role[2];	/* of client and target, from login and accept of channel 0 */
	/* of client and target, from login and accept of channel 0 */
	u8	nonce[2][RDDA_NONCE_LEN];
	/* of client and target, of this channel; the target's only in its own proof */
	u32	qpn[2];
	u8	gid[2][16];	/* of client and target, of this channel */
	u32	arena_off;	/* granted to this channel; only in the target's proof */
	u32	arena_len;	/* the same */
};

#define RDDA_JOIN_BYTES		(RDDA_LABEL_LEN + 16 + 2 * RDDA_NONCE_LEN + 2 * 20 + 8)
int rdda_join_bytes(const struct rdda_join_proof *p, bool by_client, u8 out[RDDA_JOIN_BYTES]);

#endif
