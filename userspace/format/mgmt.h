/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Management messages between two meshds: what a client asks of a target's
 * drives. The kernels carry them as bytes; here they are JSON objects:
 *
 *   {"v":1, "op":"alloc", "drive":UUID, "extent":UUID, "length":N, ...}
 *   {"v":1, "error":0, "data":{...}}     or {"v":1, "error":-28, "reason":"..."}
 *
 * A member that an operation does not know is ignored, one that it needs and
 * does not find is an error. Every operation may be sent twice.
 */
#ifndef FORMAT_MGMT_H
#define FORMAT_MGMT_H

#include <jansson.h>
#include <linux/types.h>

#include "userspace/format/layout.h"
#include "userspace/format/uuid.h"

#define MGMT_VERSION	1
#define MGMT_BYTES_MAX	(256U << 10)
#define MGMT_REASON	160
#define MGMT_NAME	64
#define MGMT_PATH	128

enum mgmt_op {
	MGMT_HELLO = 1,		/* -> struct mgmt_hello */
	MGMT_DRIVES,		/* -> "drives": struct mgmt_drive[] */
	MGMT_EXTENTS,		/* [drive] [volume] -> "extents": struct mgmt_extent[] */
	MGMT_ALLOC,		/* drive extent length volume name -> struct mgmt_extent */
	MGMT_FREE,		/* extent */
	MGMT_VOLUMES,		/* -> "volumes": struct mgmt_volume[] found in records */
	MGMT_RECORD,		/* volume -> struct mgmt_record, the highest epoch here */
	MGMT_HEALTH,		/* [drive] -> "health": objects, as meshctl shows them */
	MGMT_OPS,
};

struct mgmt_req {
	enum mgmt_op op;
	struct muuid drive;	/* zero: not given */
	struct muuid extent;
	struct muuid volume;
	u64	length;
	char	name[MGMT_NAME];
};

struct mgmt_hello {
	struct muuid host;
	char	hostname[MGMT_NAME];
	char	version[MGMT_NAME];
};

struct mgmt_drive {
	struct muuid uuid;
	char	path[MGMT_PATH];
	char	model[MGMT_NAME];
	char	serial[MGMT_NAME];
	char	state[MGMT_NAME];	/* "up", "gone", ... */
	u64	size;
	u64	free;
	u64	longest;		/* of the free runs */
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
	u64	generation;
	bool	ready;
	s32	error;			/* zeroing stopped with it */
};

struct mgmt_volume {
	struct muuid uuid;
	char	name[MGMT_NAME];
	u64	epoch;
	u64	size;
	u32	members;
	u32	here;			/* members found on that host */
};

/* Requests. Encoders return malloc()ed text, NULL when out of memory. */
char *mgmt_req_encode(const struct mgmt_req *r);
/* 0, -EBADMSG: no JSON, -EPROTONOSUPPORT: version or operation, -EINVAL. */
int mgmt_req_decode(const void *buf, size_t len, struct mgmt_req *r);

/* Answers. @data is taken over, @reason may be NULL. */
char *mgmt_rsp_encode(int error, const char *reason, json_t *data);
/**
 * mgmt_rsp_decode() - an answer
 * @data: set to "data", a new reference, when the answer is a success
 * @reason: at least MGMT_REASON bytes: what the other side said
 * Return: 0, the error that the other side gave, or -EBADMSG.
 */
int mgmt_rsp_decode(const void *buf, size_t len, json_t **data, char *reason);

json_t *mgmt_hello_pack(const struct mgmt_hello *h);
int mgmt_hello_unpack(const json_t *j, struct mgmt_hello *h);
json_t *mgmt_drive_pack(const struct mgmt_drive *d);
int mgmt_drive_unpack(const json_t *j, struct mgmt_drive *d);
json_t *mgmt_extent_pack(const struct mgmt_extent *e);
int mgmt_extent_unpack(const json_t *j, struct mgmt_extent *e);
json_t *mgmt_volume_pack(const struct mgmt_volume *v);
int mgmt_volume_unpack(const json_t *j, struct mgmt_volume *v);
/* A layout record as text: its bytes in hexadecimal. */
json_t *mgmt_record_pack(const struct layout *l);
int mgmt_record_unpack(const json_t *j, struct layout *l);

#endif
