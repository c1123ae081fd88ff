// SPDX-License-Identifier: GPL-2.0-only
/* Members in use, by callers that have a reference: I/O, kicks, attach numbers, counters. */
#define pr_fmt(fmt) "meshblk: " fmt
#include <linux/module.h>

#include "driver/member/member.h"
#include "driver/trace.h"
#include "driver/work.h"

/*
 * Send an I/O to a member. @mio: filled in; its done() may be called before this returns. Any
 * context but hard interrupt. mesh_member_commit() must follow, unless the I/O has RDDA_IO_POST.
 */
void mesh_member_submit(struct mesh_member *m, struct mesh_mio *mio)
{
	/* pairs with mesh_member_step(): the kind's setup before UP is visible */
	enum mesh_member_state state = smp_load_acquire(&m->state);

	mio->member = m;
	this_cpu_inc(m->stats->started);
	trace_mesh_member_io(mio, 0);
	if (unlikely(state != MESH_MEMBER_UP)) {
		mesh_mio_end(mio, mesh_member_errno(state, READ_ONCE(m->err)));
		return;
	}
	m->ops->submit(m, mio);
}

/* For the kinds: an I/O has ended. Any context. */
void mesh_mio_end(struct mesh_mio *mio, int err)
{
	struct mesh_member_stats __percpu *stats = mio->member->stats;

	this_cpu_inc(stats->ended);
	if (unlikely(err)) {
		/* a stage is a cache: a dropped stage is no error */
		if (err == -ESTALE && mio->stage)
			this_cpu_inc(stats->stale);
		else
			this_cpu_inc(stats->errors);
	} else {
		this_cpu_write(stats->last, jiffies);
		if (mio->op == PROT_READ) {
			this_cpu_inc(stats->reads);
			this_cpu_add(stats->read_bytes, mio->io.len);
		} else if (mio->op == PROT_WRITE) {
			this_cpu_inc(stats->writes);
			this_cpu_add(stats->write_bytes, mio->io.len);
			if (mio->stage && !(mio->io.flags & RDDA_IO_STAGE))
				this_cpu_inc(stats->staged);
		} else {
			this_cpu_inc(stats->discards);
		}
	}
	trace_mesh_member_done(mio, err);
	mio->done(mio, err);
}
EXPORT_SYMBOL_GPL(mesh_mio_end);

/*
 * End stuck I/O of a member, if its kind can do that. @m: the caller holds a reference, for example
 * by a pinned layout. Any context.
 */
void mesh_member_kick(struct mesh_member *m)
{
	if (!m->ops->kick)
		return;
	refcount_inc(&m->refs);
	if (!queue_work(mesh_kick_wq, &m->kick_work))
		refcount_dec(&m->refs);		/* not the last: the caller has one */
}

/* As mesh_member_put(), without waiting for the close of a device or an extent. Any context. */
void mesh_member_put_later(struct mesh_member *m)
{
	if (!refcount_dec_not_one(&m->refs))
		queue_work(mesh_wq, &m->put_work);
}

/*
 * Make the extent note an attach number durably, while its I/O goes on. @m: opened for writing.
 * @number: not zero, less than 2^63. @served: 0, or the number before a retake, as in struct
 * rdda_want. Process context, sleeps. Return: 0, also for kinds without
 * numbers; -ESTALE: an earlier call had a higher number; or a higher number is noted, or the same
 * number of another host, and the member is REFUSED; -ENOLINK: the member is not UP now, or the
 * target could not note the number, but may do so later.
 */
int mesh_member_attach(struct mesh_member *m, u64 number, u64 served)
{
	int err;

	if (!m->ops->attach)
		return 0;
	mutex_lock(&m->attach_lock);
	WRITE_ONCE(m->number, number);
	err = m->ops->attach(m, number, served);
	mutex_unlock(&m->attach_lock);
	return err;
}

void mesh_member_stats(struct mesh_member *m, struct mesh_member_stats *sum)
{
	int cpu, i;

	memset(sum, 0, sizeof(*sum));
	for_each_possible_cpu(cpu) {
		const struct mesh_member_stats *s = per_cpu_ptr(m->stats, cpu);

		for (i = 0; i < offsetof(typeof(*sum), last) / sizeof(u64); i++)
			((u64 *)sum)[i] += READ_ONCE(((const u64 *)s)[i]);
		sum->last = max(sum->last, READ_ONCE(s->last));
	}
}

/* Return: the number of I/Os that have not ended. I/O that is submitted meanwhile may be missed. */
u64 mesh_member_inflight(struct mesh_member *m)
{
	u64 ended = 0, started = 0;
	int cpu;

	/* in this order: I/O that ends in between makes the result too high, never too low */
	for_each_possible_cpu(cpu)
		ended += READ_ONCE(per_cpu_ptr(m->stats, cpu)->ended);
	for_each_possible_cpu(cpu)
		started += READ_ONCE(per_cpu_ptr(m->stats, cpu)->started);
	return started - ended;
}

/* As mesh_member_inflight(), without abandoned I/O, for which no caller waits. */
u64 mesh_member_wanted(struct mesh_member *m)
{
	u64 left = atomic_read(&m->abandoned), all = mesh_member_inflight(m);

	return all - min(left, all);
}

/* Return: true if I/O to the member has ended well in the last @recent jiffies. */
bool mesh_member_moves(struct mesh_member *m, unsigned long recent)
{
	struct mesh_member_stats s;

	mesh_member_stats(m, &s);
	return s.last && time_before(jiffies, (unsigned long)s.last + recent);
}
