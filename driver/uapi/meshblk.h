/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * Generic netlink families "meshblk" (clients) and "meshtgt" (targets).
 *
 * Plain attribute tables; unknown attributes are refused. Reading needs no right; a change of state
 * needs CAP_SYS_ADMIN in the initial user namespace. A refused message says why in its extended
 * acknowledgment. UUIDs are 16 bytes, addresses are strings ("10.0.0.1", "fe80::1%eth0"), sizes and
 * offsets are u64 bytes. An attribute holds less than 64 KiB: MEMBERS, SEGMENTS and GROUPS may
 * occur several times in a message, and are read one after the other.
 */
#ifndef _UAPI_MESHBLK_H
#define _UAPI_MESHBLK_H

#define MESHBLK_GENL_NAME	"meshblk"
#define MESHBLK_GENL_VERSION	1
#define MESHBLK_GENL_EVENTS	"events"

#define MESHBLK_NAME_MAX	63	/* bytes of a volume's name at most */
#define MESHBLK_KEY_MAX		64
/*
 * Secrets do not travel by netlink: a message has the serial number of a key of type "logon" in a
 * keyring of the thread that sends the message. The key's description is one of these prefixes,
 * then the key's id, or the volume's UUID as text. A key of the cluster, with its id, is one that
 * all hosts share, the master from which each host's key is derived, or this host's own key.
 */
#define MESHBLK_KEY_NAME	"meshblk:key:"
#define MESHBLK_MASTER_NAME	"meshblk:master:"
#define MESHBLK_OWN_NAME	"meshblk:own:"
#define MESHBLK_SALT_NAME	"meshblk:salt:"
#define MESHBLK_ROSTER_BYTES	992

/* Role of a host in its cluster, in order: each has the rights of those before it. */
enum meshblk_host_role {
	MESHBLK_HOST_CLIENT = 1,
	MESHBLK_HOST_STORAGE = 2,
	MESHBLK_HOST_STORE = 3,
};

/* STATE of targets: up, down, connecting; of members: up, down, gone, refused */
#define MESHBLK_STATE_UP		"up"
#define MESHBLK_STATE_DOWN		"down"
#define MESHBLK_STATE_CONNECTING	"connecting"
#define MESHBLK_STATE_GONE		"gone"		/* also of a target's drive */
#define MESHBLK_STATE_REFUSED		"refused"
/* STATE of volumes */
#define MESHBLK_STATE_OPENING		"opening"
#define MESHBLK_STATE_ACTIVE		"active"
#define MESHBLK_STATE_WAITING		"waiting"
#define MESHBLK_STATE_BROKEN		"broken"
#define MESHBLK_STATE_REMOVING		"removing"
#define MESHBLK_STATE_FENCED		"fenced"

enum meshblk_cmd {
	MESHBLK_CMD_UNSPEC,
	/* HOST_UUID [KEY_ID KEY_SERIAL [KEY_ID2 KEY_SERIAL2]] [HOST_ROLE] */
	MESHBLK_CMD_IDENTITY_SET,
	MESHBLK_CMD_TARGET_SET,		/* TARGET_ID ADDR [PORT] [HOST_UUID: expected] */
	MESHBLK_CMD_TARGET_DEL,		/* TARGET_ID */
	MESHBLK_CMD_TARGET_GET,		/* dump, or TARGET_ID */
	/*
	 * the whole layout; attaches or replaces. [NUMBERED ATTACH [SERVED] [BARS] [FORGOTTEN]
	 * [AGAIN] [BESIDE_STORE] [LEAVINGS]]: who may use the volume is ordered by access numbers
	 * (number.h); BARS to BESIDE_STORE are in effect as the last message has them
	 */
	MESHBLK_CMD_VOLUME_SET,
	/* VOLUME_UUID [FORCE]; of a NUMBERED volume the answer has GROUPS, with PLACE and ROSTER */
	MESHBLK_CMD_VOLUME_DEL,
	MESHBLK_CMD_VOLUME_GET,		/* dump, or VOLUME_UUID */
	MESHBLK_CMD_EVENT,		/* multicast: EVENT and its attributes */
	/* VOLUME_UUID [STOP] [REPAIR [INDEX]]: INDEX: of mirrors, the member with the right copy */
	MESHBLK_CMD_VOLUME_SCRUB,
	MESHBLK_CMD_VOLUME_REJOIN,	/* VOLUME_UUID INDEX: a member that is barred may join */
	MESHBLK_CMD_WITNESS,		/* this socket answers ROSTER_NOTE from now on */
	/*
	 * to the witness: VOLUME_UUID PLACE [ROSTER]: note the roster durably in place of the last
	 * one, and reply; without ROSTER: only reply. NUMBERED: the witness stands for the
	 * cluster's store, and does not reply while it cannot reach the store
	 */
	MESHBLK_CMD_ROSTER_NOTE,
	/* VOLUME_UUID PLACE [ROSTER]: the roster that is noted, if any */
	MESHBLK_CMD_ROSTER_NOTED,
	/* VOLUME_UUID INDEX MEMBER|STOP: copy a member in sync to MEMBER, which takes its place */
	MESHBLK_CMD_VOLUME_EVICT,
	/* dump: VOLUME_UUID MEMBER of each member with ABANDONED, also of volumes that have gone */
	MESHBLK_CMD_ABANDONED_GET,
	/*
	 * TARGET_ID EXTENT_UUID: the state of an extent, found without opening it: ATTACH HOST_UUID
	 * WRITERS READERS [UNKNOWN]; changes nothing
	 */
	MESHBLK_CMD_MEMBER_PROBE,
	__MESHBLK_CMD_MAX,
};

#define MESHBLK_CMD_MAX (__MESHBLK_CMD_MAX - 1)

enum meshblk_attr {
	MESHBLK_A_UNSPEC,
	MESHBLK_A_PAD,
	MESHBLK_A_HOST_UUID,		/* 16 bytes */
	MESHBLK_A_KEY_ID,		/* u16; the five in this order: rdda_keys_get() */
	/*
	 * s32: of key MESHBLK_KEY_NAME KEY_ID, 16 to 64 bytes; or, with HOST_ROLE, of
	 * MESHBLK_MASTER_NAME KEY_ID or MESHBLK_OWN_NAME KEY_ID, 32 bytes
	 */
	MESHBLK_A_KEY_SERIAL,
	MESHBLK_A_KEY_ID2,		/* the older of two while keys are rotated */
	MESHBLK_A_KEY_SERIAL2,
	MESHBLK_A_HOST_ROLE,		/* u8: enum meshblk_host_role, of this host */
	MESHBLK_A_TARGET_ID,		/* u32, given by meshd */
	MESHBLK_A_ADDR,			/* string */
	MESHBLK_A_PORT,			/* u16 */
	MESHBLK_A_STATE,		/* string */
	MESHBLK_A_ERROR,		/* s32, negative errno */
	MESHBLK_A_REASON,		/* human-readable string */
	MESHBLK_A_SESSION,		/* u32 */
	MESHBLK_A_CHANNELS,		/* u32 */
	MESHBLK_A_ARENA,		/* u64 */
	MESHBLK_A_STATS,		/* nest of MESHBLK_S_* u64 */
	MESHBLK_A_VOLUME_UUID,		/* 16 bytes */
	MESHBLK_A_NAME,			/* string */
	MESHBLK_A_EPOCH,		/* u64 */
	MESHBLK_A_LBA,			/* u32: 512 or 4096 */
	MESHBLK_A_SIZE,			/* u64 */
	MESHBLK_A_READONLY,		/* flag */
	MESHBLK_A_FORCE,		/* flag */
	MESHBLK_A_DISK,			/* string: "mesh0" */
	MESHBLK_A_OPENERS,		/* u32 */
	MESHBLK_A_MEMBERS,		/* nested array of MEMBER */
	MESHBLK_A_MEMBER,		/* nest of MESHBLK_M_* */
	MESHBLK_A_SEGMENTS,		/* nested array of SEGMENT */
	MESHBLK_A_SEGMENT,		/* nest of MESHBLK_G_* */
	MESHBLK_A_QUEUE_DEPTH,		/* u32 */
	MESHBLK_A_IO_TIMEOUT_MS,	/* u32 */
	MESHBLK_A_EVENT,		/* u32: enum meshblk_event */
	MESHBLK_A_INDEX,		/* u32: of a member in its volume */
	/*
	 * s32: of key MESHBLK_SALT_NAME VOLUME_UUID, 8 bytes, from which the kernel derives the
	 * seed of the records' checksums; protected levels
	 */
	MESHBLK_A_SALT_SERIAL,
	/*
	 * u64: the number of this attachment is above it; likewise. NUMBERED: the access number
	 * (number.h), on every level and for readers; in answers the number in use
	 */
	MESHBLK_A_ATTACH,
	MESHBLK_A_STALE,		/* flag: attach, though newer data may exist elsewhere */
	MESHBLK_A_GROUPS,		/* nested array of GROUP, in answers */
	MESHBLK_A_GROUP,		/* nest of MESHBLK_P_* */
	MESHBLK_A_STOP,			/* flag: end a scrub */
	MESHBLK_A_REPAIR,		/* flag: change readable copies that differ */
	MESHBLK_A_PLACE,		/* u32: of a group's first member among all places */
	/* MESHBLK_ROSTER_BYTES: in the kernel's format, kept unchanged */
	MESHBLK_A_ROSTER,
	MESHBLK_A_NUMBERED,		/* flag: ATTACH is an access number, with all its rules */
	/*
	 * u64: the number served so far, of a live volume that goes on under a higher ATTACH: a
	 * retake; in answers: not everything that is here has the higher number yet
	 */
	MESHBLK_A_SERVED,
	/*
	 * u32[]: places where no member may join its group; in answers those where none does, which
	 * leaves out the places of a group while a roster of it is being written
	 */
	MESHBLK_A_BARS,
	MESHBLK_A_EXTENT_UUID,		/* 16 bytes */
	MESHBLK_A_WRITERS,		/* u32: openings of an extent for writing */
	MESHBLK_A_READERS,		/* u32: the same, for reading */
	/* flag: the target started a moment ago, and may not know all openings yet */
	MESHBLK_A_UNKNOWN,
	/* u64: the number that ended the use of a fenced volume, of HOST_UUID */
	MESHBLK_A_FENCED,
	/*
	 * u32[]: places whose extents were forgotten for good: what only these have is given up;
	 * each has some member in the message that is away
	 */
	MESHBLK_A_FORGOTTEN,
	/* flag: the store is away, and this host comes back by its own record: no witness */
	MESHBLK_A_AGAIN,
	/*
	 * flag: a member is on the only store host, and this host is another one: where a group
	 * could go on with half of its members, the store is no witness
	 */
	MESHBLK_A_BESIDE_STORE,
	/*
	 * nested array of MEMBER with PLACE, at most one of a group: extents that a roster may have
	 * in sync at a place for which the layout names another one. Count at an attach, which then
	 * begins with them, and copies them
	 */
	MESHBLK_A_LEAVINGS,
	__MESHBLK_A_MAX,
};

#define MESHBLK_A_MAX (__MESHBLK_A_MAX - 1)

/* MESHBLK_A_MEMBER: the place of one extent, and the way to reach the extent */
enum meshblk_member_attr {
	MESHBLK_M_UNSPEC,
	MESHBLK_M_PAD,
	MESHBLK_M_KIND,			/* u8: enum meshblk_member_kind */
	MESHBLK_M_TARGET_ID,		/* u32, RDDA */
	MESHBLK_M_EXTENT_UUID,		/* 16 bytes, RDDA: of the extent; else of the member */
	/*
	 * 16 bytes, RDDA: of the extent's drive; BDEV, optional: the UUID that the device's label
	 * must have, see MESHBLK_LABEL_DRIVE
	 */
	MESHBLK_M_DRIVE_UUID,
	MESHBLK_M_EPOCH,		/* u64, RDDA: of the extent's label, not of the message */
	MESHBLK_M_PREEMPT,		/* flag, RDDA */
	MESHBLK_M_PATH,			/* string, BDEV; none: the drive is away */
	MESHBLK_M_SIZE,			/* u64: bytes of the member */
	MESHBLK_M_LBA,			/* u32, MEM: block size to show */
	MESHBLK_M_STATE,		/* string, in answers */
	MESHBLK_M_ERROR,		/* s32, in answers */
	MESHBLK_M_STATS,		/* nest of MESHBLK_S_*, in answers */
	MESHBLK_M_START,		/* u64, BDEV: byte of the device where the member begins */
	/*
	 * u32, in answers: number of I/Os that the member's group has given up, and that the device
	 * has neither ended nor failed; absent: 0. Until all have ended the device stays open, and
	 * the extent is refused: EBUSY
	 */
	MESHBLK_M_ABANDONED,
	/* u64, in answers: highest access number that the extent has noted; absent: none */
	MESHBLK_M_ATTACH,
	/* 16 bytes, in answers, refused with EBUSY: the host that has the extent open */
	MESHBLK_M_HOLDER,
	/* u32, LEAVINGS: the place */
	MESHBLK_M_PLACE,
	__MESHBLK_M_MAX,
};

#define MESHBLK_M_MAX (__MESHBLK_M_MAX - 1)

/*
 * The label of a local drive has copies at both ends of its device. When the device was opened
 * alone, the kernel reads two fields of the label: a magic number at its start, and the drive's
 * UUID.
 */
/* distance of the last copy's start from the device's end */
#define MESHBLK_LABEL_AREA	(1U << 20)
#define MESHBLK_LABEL_MAGIC	0x4556495244534d42ULL	/* little endian */
#define MESHBLK_LABEL_DRIVE	32		/* byte of the label where the UUID begins */

enum meshblk_member_kind {
	MESHBLK_KIND_RDDA = 1,
	MESHBLK_KIND_BDEV = 2,
	MESHBLK_KIND_MEM = 3,		/* sparse memory; only in tests */
};

/* MESHBLK_A_SEGMENT */
enum meshblk_segment_attr {
	MESHBLK_G_UNSPEC,
	MESHBLK_G_PAD,
	MESHBLK_G_START,		/* u64: byte of the volume */
	MESHBLK_G_LENGTH,		/* u64 */
	MESHBLK_G_LEVEL,		/* u8: enum meshblk_level */
	MESHBLK_G_STRIP,		/* u32 bytes */
	MESHBLK_G_DATA,			/* u8: k (data members), or copies */
	MESHBLK_G_PARITY,		/* u8: m */
	MESHBLK_G_GROUPS,		/* u16: equal groups striped over */
	MESHBLK_G_MEMBERS,		/* u32[]: indexes into MEMBERS, group after group */
	MESHBLK_G_OFFSETS,		/* u64[]: byte of each member where its data begins */
	/*
	 * flag: the segment's members are zeroed and were never attached; counts only if no member
	 * has a record and, without STALE, all members are there
	 */
	MESHBLK_G_FRESH,
	__MESHBLK_G_MAX,
};

#define MESHBLK_G_MAX (__MESHBLK_G_MAX - 1)

/* The numbers are in layout records, too. */
enum meshblk_level {
	MESHBLK_LEVEL_LINEAR = 1,
	MESHBLK_LEVEL_STRIPE = 2,
	MESHBLK_LEVEL_MIRROR = 3,
	MESHBLK_LEVEL_RAID10 = 4,
	MESHBLK_LEVEL_EC = 5,
};

/* MESHBLK_A_GROUP: a protection group */
enum meshblk_group_attr {
	MESHBLK_P_UNSPEC,
	MESHBLK_P_PAD,
	MESHBLK_P_SEGMENT,		/* u32: index */
	MESHBLK_P_COLUMN,		/* u32: which group of the segment */
	MESHBLK_P_STATE,		/* string: opening, active, waiting, broken */
	/* human-readable string: why the group does not serve, or its reads wait */
	MESHBLK_P_REASON,
	MESHBLK_P_ATTACH,		/* u64: number of the attachment */
	MESHBLK_P_EPOCH,		/* u64: of the group's roster */
	MESHBLK_P_MEMBERS,		/* u32[]: indexes into MEMBERS */
	MESHBLK_P_ROLES,		/* u8[]: enum meshblk_role, of each member */
	MESHBLK_P_BEHIND,		/* u64[]: bytes that each member has yet to be given */
	MESHBLK_P_SYNCED,		/* u64: bytes given to members since the attach */
	MESHBLK_P_MISMATCHES,		/* u64: sectors that a scrub found unequal */
	MESHBLK_P_READS,		/* u64: pieces of reads that went through the engine */
	/* u64: reads around the engine that the engine had to repeat */
	MESHBLK_P_REDONE,
	MESHBLK_P_SCRUBBING,		/* flag */
	MESHBLK_P_SCRUBBED,		/* u64: bytes of each member compared in this scrub */
	MESHBLK_P_BYTES,		/* u64: of data on each member */
	MESHBLK_P_REPAIRED,		/* u64: sectors that scrubs have rewritten */
	MESHBLK_P_SKIPPED,		/* u64: bytes that could not be compared */
	/*
	 * the first sectors that the scrub found unequal: { u64 byte of the member's data, u32
	 * length, u32 index into MEMBERS, 0xffffffff: no known member }[]
	 */
	MESHBLK_P_DIFFS,
	/*
	 * s32: why the members that are here are not enough for an attach, after a wait for more:
	 * -ENODATA: too few of the members have all writes; -ESTALE: other members may have newer
	 * data
	 */
	MESHBLK_P_ERROR,
	/* as DIFFS: first sectors of regions that no member can give to a member that lacks them */
	MESHBLK_P_UNREAD,
	/* u64: bits of places: members that left too often, until VOLUME_REJOIN */
	MESHBLK_P_BARRED,
	/* flag: the witness notes a member's removal before the removal counts */
	MESHBLK_P_WITNESS,
	/* u32: index of the member that is copied and then leaves */
	MESHBLK_P_EVICTS,
	MESHBLK_P_SUCCESSOR,		/* 16 bytes: extent that is to take that member's place */
	/* u64: bytes that the successor has; all: ready for the swap */
	MESHBLK_P_COPIED,
	MESHBLK_P_COPY_BYTES,		/* u64: bytes that the successor is to have */
	MESHBLK_P_EVICT_REASON,		/* human-readable string: why the last eviction ended */
	/*
	 * u64: bits of places that have another member yet than the layout names: a replacement or
	 * a swap is not in effect
	 */
	MESHBLK_P_WAITS,
	MESHBLK_P_PLACE,		/* u32: of the group's first member among all places */
	/* MESHBLK_ROSTER_BYTES, NUMBERED: the roster that was committed last */
	MESHBLK_P_ROSTER,
	__MESHBLK_P_MAX,
};

#define MESHBLK_P_MAX (__MESHBLK_P_MAX - 1)

/* Role of a member in its group. */
enum meshblk_role {
	MESHBLK_ROLE_IN_SYNC = 1,	/* has every acknowledged write */
	MESHBLK_ROLE_SUSPECT = 2,	/* in sync, and does not answer at present */
	MESHBLK_ROLE_FAILED = 3,	/* in sync until the roster without it is written */
	MESHBLK_ROLE_OUT = 4,		/* lacks writes */
	MESHBLK_ROLE_JOINING = 5,	/* is given the data that it lacks */
	/* the group is not attached: the member's role is not known */
	MESHBLK_ROLE_OPENING = 6,
};

/* Counters, u64 each */
enum meshblk_stat_attr {
	MESHBLK_S_UNSPEC,
	MESHBLK_S_PAD,
	MESHBLK_S_READS,
	MESHBLK_S_READ_BYTES,
	MESHBLK_S_WRITES,
	MESHBLK_S_WRITE_BYTES,
	MESHBLK_S_DISCARDS,
	MESHBLK_S_ERRORS,
	MESHBLK_S_RETRIES,
	MESHBLK_S_INFLIGHT,
	MESHBLK_S_RDMA_SENDS,
	MESHBLK_S_RDMA_WRITES,
	MESHBLK_S_RDMA_READS,
	MESHBLK_S_PUSHES,
	MESHBLK_S_COMMANDS,
	MESHBLK_S_RECONNECTS,
	MESHBLK_S_RDMA_WRITE_BYTES,	/* payload of RDMA_WRITES */
	MESHBLK_S_STAGED,		/* writes that sent only a command, from a stage */
	/* writes that found the stage dropped, and were sent whole */
	MESHBLK_S_STALE,
	MESHBLK_S_RDMA_INLINES,		/* WRITEs among RDMA_SENDS that carried their command */
	__MESHBLK_S_MAX,
};

#define MESHBLK_S_MAX (__MESHBLK_S_MAX - 1)

enum meshblk_event {
	MESHBLK_EV_TARGET_STATE = 1,	/* TARGET_ID STATE [ERROR REASON] */
	MESHBLK_EV_MEMBER_STATE = 2,	/* VOLUME_UUID INDEX STATE [ERROR] */
	MESHBLK_EV_VOLUME_STATE = 3,	/* VOLUME_UUID STATE EPOCH */
	MESHBLK_EV_LAYOUT_FREED = 4,	/* VOLUME_UUID EPOCH: the layout has no user any more */
	/*
	 * VOLUME_UUID MEMBER{EXTENT_UUID DRIVE_UUID ABANDONED}: a member has abandoned I/O now;
	 * with ABANDONED 0 none any more, since all has ended or the device has gone
	 */
	MESHBLK_EV_ABANDONED = 5,
	/*
	 * VOLUME_UUID ATTACH HOST_UUID: another host has the volume, under this number; once, and
	 * the volume is fenced for good
	 */
	MESHBLK_EV_FENCED = 6,
	MESHBLK_EV_ROSTER = 7,	/* VOLUME_UUID PLACE ROSTER: a roster is committed; NUMBERED */
};

/* The target's family */

#define MESHTGT_GENL_NAME	"meshtgt"
#define MESHTGT_GENL_VERSION	1
#define MESHTGT_GENL_EVENTS	"events"

enum meshtgt_cmd {
	MESHTGT_CMD_UNSPEC,
	/*
	 * HOST_UUID [KEY_ID KEY_SERIAL [KEY_ID2 KEY_SERIAL2]] [HOST_ROLE] [REMOVED]; answered when
	 * sessions of removed hosts, and of keys no longer in use, have been ended
	 */
	MESHTGT_CMD_IDENTITY_SET,
	MESHTGT_CMD_LISTEN,		/* ADDR [PORT]: "0.0.0.0" and "::" for all */
	/*
	 * DRIVE_UUID PATH EXTENTS (CHECK); EINPROGRESS after 5 s: the device is not open yet, and
	 * the message is to be sent again
	 */
	MESHTGT_CMD_DRIVE_ADD,
	/* DRIVE_UUID [FORCE] [GONE]: with GONE a drive that is served (again) stays: EEXIST */
	MESHTGT_CMD_DRIVE_DEL,
	/*
	 * dump, or DRIVE_UUID; HOST_UUID: the target's host UUID when the drive got its table; in a
	 * dump a long table goes on in messages with the same DRIVE_UUID
	 */
	MESHTGT_CMD_DRIVE_GET,
	/*
	 * DRIVE_UUID EXTENTS: the whole table. Answered when all I/O that was admitted under
	 * removed entries has ended, or after 5 s with EINPROGRESS: the message is to be sent
	 * again. DRIVE_DEL is answered likewise, and waits for the device's close, too
	 */
	MESHTGT_CMD_EXTENTS_SET,
	MESHTGT_CMD_SESSION_GET,	/* dump */
	MESHTGT_CMD_SESSION_DEL,	/* SESSION: fence a client */
	MESHTGT_CMD_SERVE,		/* this socket answers GRANT from now on */
	/*
	 * to the server: REQUEST DRIVE_UUID EXTENT_UUID HOST_UUID (EPOCH or NUMBERED) ATTACH
	 * ACCESS: note the grant in the label, then reply; NUMBERED: whatever epoch the label has
	 */
	MESHTGT_CMD_GRANT,
	/*
	 * REQUEST ERROR: ESTALE: the label has another epoch; EEXIST: the label has a higher attach
	 * number, or the number of another host; EBUSY: a device has I/O that has not ended, try
	 * later
	 */
	MESHTGT_CMD_GRANT_REPLY,
	MESHTGT_CMD_EVENT,		/* multicast */
	__MESHTGT_CMD_MAX,
};

#define MESHTGT_CMD_MAX (__MESHTGT_CMD_MAX - 1)

enum meshtgt_attr {
	MESHTGT_A_UNSPEC,
	MESHTGT_A_PAD,
	MESHTGT_A_HOST_UUID,		/* 16 bytes */
	MESHTGT_A_KEY_ID,		/* u16; the five in this order */
	MESHTGT_A_KEY_SERIAL,		/* s32: as MESHBLK_A_KEY_SERIAL */
	MESHTGT_A_KEY_ID2,		/* the older of two while keys are rotated */
	MESHTGT_A_KEY_SERIAL2,
	MESHTGT_A_HOST_ROLE,		/* u8: enum meshblk_host_role; of a session: its client's */
	MESHTGT_A_ADDR,			/* string */
	MESHTGT_A_PORT,			/* u16 */
	MESHTGT_A_DRIVE_UUID,		/* 16 bytes */
	MESHTGT_A_PATH,			/* string */
	MESHTGT_A_SIZE,			/* u64 */
	MESHTGT_A_LBA,			/* u32 */
	MESHTGT_A_STATE,		/* string */
	MESHTGT_A_FORCE,		/* flag */
	MESHTGT_A_EXTENTS,		/* nested array of EXTENT */
	MESHTGT_A_EXTENT,		/* nest of MESHTGT_X_* */
	MESHTGT_A_SESSION,		/* u32 */
	MESHTGT_A_CHANNELS,		/* u32 */
	MESHTGT_A_MEMORY,		/* u64: bytes given to the session and used for it */
	MESHTGT_A_STATS,		/* nest of MESHBLK_S_* */
	MESHTGT_A_REQUEST,		/* u64 */
	MESHTGT_A_ERROR,		/* s32, negative errno */
	MESHTGT_A_EXTENT_UUID,		/* 16 bytes */
	MESHTGT_A_EPOCH,		/* u64 */
	MESHTGT_A_ACCESS,		/* u8: 1 ro, 2 rw */
	MESHTGT_A_EVENT,		/* u32: enum meshtgt_event */
	MESHTGT_A_GONE,			/* flag: only a drive that is gone */
	MESHTGT_A_ATTACH,		/* u64: number to be noted, 0: none */
	MESHTGT_A_CHECK,		/* flag: give the same answer, and change nothing */
	MESHTGT_A_NUMBERED,		/* flag: ATTACH is an access number, and orders alone */
	/*
	 * hosts that were removed from the cluster, 16 bytes each, all of them: refused whatever
	 * key they have; without it, those that were set before stay
	 */
	MESHTGT_A_REMOVED,
	__MESHTGT_A_MAX,
};

#define MESHTGT_A_MAX (__MESHTGT_A_MAX - 1)

/* MESHTGT_A_EXTENT: a line of the drive's own table */
enum meshtgt_extent_attr {
	MESHTGT_X_UNSPEC,
	MESHTGT_X_PAD,
	MESHTGT_X_UUID,			/* 16 bytes */
	MESHTGT_X_START,		/* u64 byte on the drive */
	MESHTGT_X_LENGTH,		/* u64 */
	MESHTGT_X_HOLDER,		/* 16 bytes: host last granted rw, zero: none */
	MESHTGT_X_EPOCH,		/* u64: highest granted */
	MESHTGT_X_READY,		/* flag: zeroed, may be opened */
	MESHTGT_X_OPENS,		/* u32, in answers */
	MESHTGT_X_ATTACH,		/* u64: highest attach number noted, 0: none */
	MESHTGT_X_ATTACHER,		/* 16 bytes: host that the attach number was noted for */
	/*
	 * hosts that may OPEN with an access number, 16 bytes each, up to MESHTGT_ALLOW_MAX;
	 * without ALLOW and ALLOW_ALL: the attacher alone
	 */
	MESHTGT_X_ALLOW,
	MESHTGT_X_ALLOW_ALL,		/* flag: any host, in place of ALLOW */
	MESHTGT_X_WRITERS,		/* u32, in answers: of OPENS, those for writing */
	MESHTGT_X_READERS,		/* u32, in answers: the others */
	__MESHTGT_X_MAX,
};

#define MESHTGT_X_MAX (__MESHTGT_X_MAX - 1)
#define MESHTGT_ALLOW_MAX	64

enum meshtgt_event {
	MESHTGT_EV_DRIVE_GONE = 1,	/* DRIVE_UUID PATH */
	MESHTGT_EV_SESSION = 2,		/* SESSION HOST_UUID STATE */
};

#endif
