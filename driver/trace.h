/* SPDX-License-Identifier: GPL-2.0-only */
/* Tracepoints meshblk:*: a request, its member I/Os, states of members; groups and their members. */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM meshblk

#if !defined(DRIVER_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define DRIVER_TRACE_H

#include <linux/blk-mq.h>
#include <linux/tracepoint.h>

#include "driver/group/group.h"
#include "driver/member/member.h"

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

#define mesh_show_group_state(s) __print_symbolic(s, { MESH_GROUP_OPENING, "opening" }, \
	{ MESH_GROUP_LOADING, "loading" }, { MESH_GROUP_ACTIVE, "active" }, \
	{ MESH_GROUP_STOPPED, "stopped" })

TRACE_EVENT(mesh_group_state,
	TP_PROTO(struct mesh_group *g, enum mesh_group_state state),
	TP_ARGS(g, state),
	TP_STRUCT__entry(
		__field(unsigned int, segment)
		__field(unsigned int, column)
		__field(int, from)
		__field(int, to)
	),
	TP_fast_assign(
		__entry->segment = g->segment;
		__entry->column = g->column;
		__entry->from = g->state;
		__entry->to = state;
	),
	TP_printk("group %u.%u %s -> %s", __entry->segment, __entry->column,
		  mesh_show_group_state(__entry->from), mesh_show_group_state(__entry->to))
);

#define mesh_show_turn(turn) __print_symbolic(turn, { MESH_TURN_LATE, "late" }, \
	{ MESH_TURN_ANSWERS, "answers" }, { MESH_TURN_GIVEN_UP, "given up" }, \
	{ MESH_TURN_HELD, "held" }, { MESH_TURN_JOINS, "joins" }, \
	{ MESH_TURN_REPLACED, "replaced" })

TRACE_EVENT(mesh_group_member,
	TP_PROTO(struct mesh_group *g, u32 slot, enum mesh_group_turn turn),
	TP_ARGS(g, slot, turn),
	TP_STRUCT__entry(
		__field(unsigned int, segment)
		__field(unsigned int, column)
		__field(unsigned int, slot)
		__field(int, turn)
	),
	TP_fast_assign(
		__entry->segment = g->segment;
		__entry->column = g->column;
		__entry->slot = slot;
		__entry->turn = turn;
	),
	TP_printk("group %u.%u member %u %s", __entry->segment, __entry->column, __entry->slot,
		  mesh_show_turn(__entry->turn))
);

DECLARE_EVENT_CLASS(mesh_part,
	TP_PROTO(const struct mesh_part *part, int err),
	TP_ARGS(part, err),
	TP_STRUCT__entry(
		__field(unsigned int, segment)
		__field(unsigned int, column)
		__field(u64, addr)
		__field(u64, length)
		__field(u8, kind)
		__field(u8, flags)
		__field(int, err)
	),
	TP_fast_assign(
		__entry->segment = part->group->segment;
		__entry->column = part->group->column;
		__entry->addr = part->addr;
		__entry->length = part->length;
		__entry->kind = part->kind;
		__entry->flags = part->flags;
		__entry->err = err;
	),
	TP_printk("group %u.%u %s addr %llu + %llu flags %#x err %d", __entry->segment,
		  __entry->column, mesh_show_op(__entry->kind), __entry->addr, __entry->length,
		  __entry->flags, __entry->err)
);

DEFINE_EVENT(mesh_part, mesh_group_done,
	TP_PROTO(const struct mesh_part *part, int err),
	TP_ARGS(part, err)
);

DEFINE_EVENT(mesh_part, mesh_group_submit,
	TP_PROTO(const struct mesh_part *part, int err),
	TP_ARGS(part, err)
);

TRACE_EVENT(mesh_group_redone,
	TP_PROTO(const struct mesh_group *g, u64 addr, u64 length),
	TP_ARGS(g, addr, length),
	TP_STRUCT__entry(
		__field(unsigned int, segment)
		__field(unsigned int, column)
		__field(u64, addr)
		__field(u64, length)
	),
	TP_fast_assign(
		__entry->segment = g->segment;
		__entry->column = g->column;
		__entry->addr = addr;
		__entry->length = length;
	),
	TP_printk("group %u.%u addr %llu + %llu", __entry->segment, __entry->column,
		  __entry->addr, __entry->length)
);

#define mesh_show_event(k) __print_symbolic(k, { PROT_EV_IO, "io" }, { PROT_EV_DONE, "done" }, \
	{ PROT_EV_SERVING, "serving" }, { PROT_EV_EPOCH, "epoch" }, \
	{ PROT_EV_CAUGHT_UP, "caught up" }, { PROT_EV_STOPPED, "stopped" }, \
	{ PROT_EV_COPY, "copy" }, { PROT_EV_CODEC, "codec" }, { PROT_EV_FREE, "free" })

TRACE_EVENT(mesh_group_event,
	TP_PROTO(const struct mesh_group *g, const struct prot_event *ev),
	TP_ARGS(g, ev),
	TP_STRUCT__entry(
		__field(unsigned int, segment)
		__field(unsigned int, column)
		__field(u8, kind)
		__field(u16, op)
		__field(u8, io)
		__field(unsigned int, slot)
		__field(u64, addr)
		__field(u64, length)
		__field(u64, members)
		__field(int, err)
	),
	TP_fast_assign(
		bool io = ev->kind == PROT_EV_IO;
		bool members = ev->kind == PROT_EV_EPOCH || ev->kind == PROT_EV_CAUGHT_UP;

		__entry->segment = g->segment;
		__entry->column = g->column;
		__entry->kind = ev->kind;
		__entry->op = ev->op;
		__entry->io = io ? ev->io.kind : 0;
		__entry->slot = io ? ev->io.member : 0;
		__entry->addr = io ? ev->io.addr : 0;
		__entry->length = io ? ev->io.length : 0;
		__entry->members = members ? ev->members : 0;
		__entry->err = ev->kind == PROT_EV_DONE ? ev->err : 0;
	),
	TP_printk("group %u.%u %s op %u: %s member %u addr %llu + %llu members %#llx err %d",
		  __entry->segment, __entry->column, mesh_show_event(__entry->kind), __entry->op,
		  mesh_show_op(__entry->io), __entry->slot, __entry->addr, __entry->length,
		  __entry->members, __entry->err)
);

TRACE_EVENT(mesh_group_roster,
	TP_PROTO(struct mesh_group *g, const struct prot_roster *r, u64 good, bool committed),
	TP_ARGS(g, r, good, committed),
	TP_STRUCT__entry(
		__field(unsigned int, segment)
		__field(unsigned int, column)
		__field(u64, attach)
		__field(u64, epoch)
		__field(u64, in_sync)
		__field(u64, good)
		__field(bool, committed)
	),
	TP_fast_assign(
		__entry->segment = g->segment;
		__entry->column = g->column;
		__entry->attach = r->attach;
		__entry->epoch = r->epoch;
		__entry->in_sync = r->in_sync;
		__entry->good = good;
		__entry->committed = committed;
	),
	TP_printk("group %u.%u attach %llu epoch %llu in sync %#llx written %#llx%s",
		  __entry->segment, __entry->column, __entry->attach, __entry->epoch,
		  __entry->in_sync, __entry->good, __entry->committed ? " committed" : "")
);

#endif

#undef TRACE_INCLUDE_PATH
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_PATH driver
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
