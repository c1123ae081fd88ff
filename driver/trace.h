/* SPDX-License-Identifier: GPL-2.0-only */
/* Tracepoints meshblk:*: a request, its member I/Os, and states of members. */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM meshblk

#if !defined(DRIVER_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define DRIVER_TRACE_H

#include <linux/blk-mq.h>
#include <linux/tracepoint.h>

#include "driver/member.h"

#define mesh_show_op(op) __print_symbolic(op, { PROT_READ, "read" }, { PROT_WRITE, "write" }, \
	{ PROT_DISCARD, "discard" }, { PROT_ZEROES, "zeroes" }, { PROT_FLUSH, "flush" })

TRACE_EVENT(mesh_request_start,
	TP_PROTO(struct request *rq, unsigned int op),
	TP_ARGS(rq, op),
	TP_STRUCT__entry(
		__field(int, disk)
		__field(unsigned int, tag)
		__field(unsigned int, op)
		__field(u64, sector)
		__field(unsigned int, bytes)
	),
	TP_fast_assign(
		__entry->disk = rq->q->disk ? rq->q->disk->first_minor : -1;
		__entry->tag = rq->tag;
		__entry->op = op;
		__entry->sector = blk_rq_pos(rq);
		__entry->bytes = blk_rq_bytes(rq);
	),
	TP_printk("minor %d tag %u %s sector %llu bytes %u", __entry->disk, __entry->tag,
		  mesh_show_op(__entry->op), __entry->sector, __entry->bytes)
);

TRACE_EVENT(mesh_request_done,
	TP_PROTO(struct request *rq, int err, unsigned int tries),
	TP_ARGS(rq, err, tries),
	TP_STRUCT__entry(
		__field(int, disk)
		__field(unsigned int, tag)
		__field(u64, sector)
		__field(int, err)
		__field(unsigned int, tries)
	),
	TP_fast_assign(
		__entry->disk = rq->q->disk ? rq->q->disk->first_minor : -1;
		__entry->tag = rq->tag;
		__entry->sector = blk_rq_pos(rq);
		__entry->err = err;
		__entry->tries = tries;
	),
	TP_printk("minor %d tag %u sector %llu err %d tries %u", __entry->disk, __entry->tag,
		  __entry->sector, __entry->err, __entry->tries)
);

TRACE_EVENT(mesh_request_requeue,
	TP_PROTO(struct request *rq, unsigned int tries, unsigned long again, unsigned long left),
	TP_ARGS(rq, tries, again, left),
	TP_STRUCT__entry(
		__field(int, disk)
		__field(unsigned int, tag)
		__field(unsigned int, tries)
		__field(unsigned int, again)
		__field(unsigned int, left)
	),
	TP_fast_assign(
		__entry->disk = rq->q->disk ? rq->q->disk->first_minor : -1;
		__entry->tag = rq->tag;
		__entry->tries = tries;
		__entry->again = jiffies_to_msecs(again);
		__entry->left = jiffies_to_msecs(left);
	),
	TP_printk("minor %d tag %u tries %u again in %u ms, %u ms left", __entry->disk,
		  __entry->tag, __entry->tries, __entry->again, __entry->left)
);

DECLARE_EVENT_CLASS(mesh_mio,
	TP_PROTO(struct mesh_mio *mio, int err),
	TP_ARGS(mio, err),
	TP_STRUCT__entry(
		__array(u8, uuid, UUID_SIZE)
		__field(unsigned int, op)
		__field(u64, addr)
		__field(unsigned int, len)
		__field(unsigned int, queue)
		__field(unsigned int, flags)
		__field(int, err)
	),
	TP_fast_assign(
		export_uuid(__entry->uuid, &mio->member->conf.uuid);
		__entry->op = mio->op;
		__entry->addr = mio->io.addr;
		__entry->len = mio->io.len;
		__entry->queue = mio->io.queue;
		__entry->flags = mio->io.flags;
		__entry->err = err;
	),
	TP_printk("%pUb %s%s %llu+%u queue %u err %d", __entry->uuid, mesh_show_op(__entry->op),
		  __entry->flags & RDDA_IO_UNMAP ? " unmap" : "", __entry->addr, __entry->len,
		  __entry->queue, __entry->err)
);

DEFINE_EVENT(mesh_mio, mesh_member_io,
	TP_PROTO(struct mesh_mio *mio, int err),
	TP_ARGS(mio, err)
);

DEFINE_EVENT(mesh_mio, mesh_member_done,
	TP_PROTO(struct mesh_mio *mio, int err),
	TP_ARGS(mio, err)
);

TRACE_EVENT(mesh_member_state,
	TP_PROTO(struct mesh_member *m, enum mesh_member_state state, int err),
	TP_ARGS(m, state, err),
	TP_STRUCT__entry(
		__array(u8, uuid, UUID_SIZE)
		__field(int, from)
		__field(int, to)
		__field(int, err)
	),
	TP_fast_assign(
		export_uuid(__entry->uuid, &m->conf.uuid);
		__entry->from = m->state;
		__entry->to = state;
		__entry->err = err;
	),
	TP_printk("%pUb %d -> %d err %d", __entry->uuid, __entry->from, __entry->to, __entry->err)
);

#endif

#undef TRACE_INCLUDE_PATH
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_PATH driver
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
