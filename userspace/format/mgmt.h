/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Management messages between two meshds: what a client requests of a target's
 * drives. They travel over the link (meshd/link.h) as JSON objects:
 *
 *   {"v":3, "op":"alloc", "drive":UUID, "extent":UUID, "length":N, ...}
 *   {"v":3, "error":0, "data":{...}}     or {"v":3, "error":-28, "reason":"..."}
 *
 * A member that an operation does not know is ignored, one that it needs and
 * does not find is an error. Every operation may be sent twice: the second
 * time it finds what the first one did, and says so with success.
 *
 * Every change of an extent carries what the caller believes of it, and the
 * meshd of the drive's own host compares that with the label first. What
 * differs is refused with -ESTALE and the truth in words; an extent that
 * another host holds, with -EBUSY. So no memory, path name or restored file of
 * any host can destroy what the drive itself knows to be in use.
 *
 *   label of an extent:   holder   version  commit
 *   ALLOC                 -        0        0
 *   RECORD_PUT            caller   n+1      of the record     believed: n
 *   OPEN for writing      client   as it is                   by the kernel
 *   RELEASE               -        as it is                   believed: caller, n
 *   FREE undo             believed: no holder, version 0
 *   FREE                  believed: holder, n
 */
#ifndef FORMAT_MGMT_H
#define FORMAT_MGMT_H

#include <jansson.h>
#include <linux/types.h>

#include "userspace/format/layout.h"
#include "userspace/format/uuid.h"

#define MGMT_VERSION	3
#define MGMT_BYTES_MAX	(64U << 20)
#define MGMT_REASON	256
#define MGMT_NAME	64
#define MGMT_PATH	128
#define MGMT_UNMANAGED	"unmanaged"	/* drive: the kernel serves it, meshd has not taken it up */
#define MGMT_LOCAL	"local"		/* drive: its own host alone uses it, as block device */
#define MGMT_DRAINING	"draining"	/* drive: served no more, but what was sent to it may still land */
#define MGMT_META_MAX	(512U << 10)	/* bytes of one META */

enum mgmt_op {
	MGMT_HELLO = 1,		/* -> struct mgmt_hello */
	MGMT_DRIVES,		/* -> "drives": struct mgmt_drive[] */
	MGMT_EXTENTS,		/* [drive] [extent] [volume] -> "extents": struct mgmt_extent[] */
	MGMT_ALLOC,		/* drive extent length volume name -> struct mgmt_extent */
	MGMT_FREE,		/* drive extent volume believed [preempt] */
	MGMT_VOLUMES,		/* -> "volumes": struct mgmt_volume[] found in records, "late":
				 * drives that did not answer in time
				 */
	MGMT_RECORDS,		/* volume -> "extents": struct mgmt_extent[] of it, "records":
				 * each different layout record that counts there, "owners":
				 * of each drive there, by its UUID
				 */
	MGMT_RECORD_PUT,	/* drive extent volume believed record -> struct mgmt_extent */
	MGMT_RELEASE,		/* drive extent volume believed: the caller holds it no more */
	MGMT_META,		/* drive extent volume offset length -> "bytes": hexadecimal.
				 * Of the metadata area of an extent that is not open
				 */
	MGMT_HEALTH,		/* [drive] -> "drives": objects, as meshctl shows them */
	MGMT_OPS,
};

/* What the caller believes of an extent; the label decides. */
struct mgmt_believed {
	struct muuid holder;	/* zero: none */
	u64	version;	/* of the layout; 0: never recorded */
	u64	commit;
};

struct mgmt_req {
	enum mgmt_op op;
	struct muuid drive;	/* zero: not given */
	struct muuid extent;
	struct muuid volume;
	u64	offset;
	u64	length;
	char	name[MGMT_NAME];
	bool	preempt;	/* FREE: also when another host holds it as believed */
	struct mgmt_believed believed;
	const struct layout *record;	/* RECORD_PUT; decoded: malloc()ed, mgmt_req_clear() */
};

struct mgmt_hello {
	struct muuid host;
	char	hostname[MGMT_NAME];
	char	version[MGMT_NAME];
	char	machine[MGMT_NAME];	/* that it runs on: machine-id/DMI, human-readable */
	u32	grace_ms;		/* left of the time in which only noted holders may open */
};

struct mgmt_drive {
	struct muuid uuid;
	struct muuid owner;		/* of its label; zero: it was written elsewhere */
	char	path[MGMT_PATH];
	char	model[MGMT_NAME];
	char	serial[MGMT_NAME];
	char	state[MGMT_NAME];	/* "up", "gone", "sick", "twice", MGMT_UNMANAGED, ... */
	u64	size;
	u64	free;
	u64	longest;		/* of the free runs */
	u64	sequence;		/* of its label */
	u32	lba;
	u32	extents;
};

struct mgmt_extent {
	struct muuid uuid;
	struct muuid drive;
	struct muuid volume;
	struct muuid holder;
	char	name[MGMT_NAME];
	u64	start;
	u64	length;
	u64	zeroed;
	u64	version;		/* of the label, as is ... */
	u64	commit;			/* ... this */
	u64	attach;			/* highest attach number noted, 0: none */
	struct muuid attacher;		/* for that host */
	u32	opens;			/* how often it is open now, by any host */
	bool	ready;
	bool	recorded;		/* one of the two copies is the record of that version */
	bool	unread;			/* that is not known: they could not be read just now */
	s32	error;			/* zeroing stopped with it */
};

struct mgmt_volume {
	struct muuid uuid;
	struct muuid holder;		/* of most of its extents here; zero: none */
	char	name[MGMT_NAME];
	u64	version;
	u64	commit;
	u64	size;
	u32	members;
	u32	here;			/* members found on that host */
	u32	open;			/* of these, open now */
	struct layout_shape shape;	/* of its first segment */
};

/* Requests. Encoders return malloc()ed text, NULL when out of memory. */
char *mgmt_req_encode(const struct mgmt_req *r);
/**
 * mgmt_req_decode() - a request
 * Return: 0, -EBADMSG: no JSON, -EPROTONOSUPPORT: version or operation,
 * -EINVAL. @r is to be given to mgmt_req_clear() whatever is returned.
 */
int mgmt_req_decode(const void *buf, size_t len, struct mgmt_req *r);
void mgmt_req_clear(struct mgmt_req *r);

/* Answers. @data is taken over, @reason may be NULL. */
char *mgmt_rsp_encode(int error, const char *reason, json_t *data);
/**
 * mgmt_rsp_decode() - an answer
 * @data: set to "data", a new reference, when the answer is a success
 * @reason: at least MGMT_REASON bytes: what the other side said, printable
 * Return: 0, the error that the other side gave, or -EBADMSG.
 */
int mgmt_rsp_decode(const void *buf, size_t len, json_t **data, char *reason);

/* Whether every byte of a peer's string may go to a terminal as it is. */
bool mgmt_printable(const char *text);

json_t *mgmt_hello_pack(const struct mgmt_hello *h);
int mgmt_hello_unpack(const json_t *j, struct mgmt_hello *h);
json_t *mgmt_drive_pack(const struct mgmt_drive *d);
int mgmt_drive_unpack(const json_t *j, struct mgmt_drive *d);
/* Whether its host serves it, and does not just list it. */
bool mgmt_drive_served(const struct mgmt_drive *d);
json_t *mgmt_extent_pack(const struct mgmt_extent *e);
int mgmt_extent_unpack(const json_t *j, struct mgmt_extent *e);
json_t *mgmt_volume_pack(const struct mgmt_volume *v);
int mgmt_volume_unpack(const json_t *j, struct mgmt_volume *v);
/* A layout record as JSON text: its bytes in hexadecimal. */
json_t *mgmt_record_pack(const struct layout *l);
int mgmt_record_unpack(const json_t *text, struct layout *l);
/* Bytes as JSON text, and back: the number of bytes, or -EINVAL. */
json_t *mgmt_hex_pack(const void *buf, size_t len);
int mgmt_hex_unpack(const json_t *text, void *buf, size_t size);

#endif
