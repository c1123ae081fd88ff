// SPDX-License-Identifier: GPL-2.0-only
/* Members in use, by callers that have a reference: I/O, kicks, attach numbers, counters. */
#define pr_fmt(fmt) "meshblk: " fmt
#include <linux/module.h>

#include "driver/member/member.h"
#include "driver/trace.h"
#include "driver/work.h"

/*
 * Send an I/O to a member. @mio: filled in; its done() may be called before this returns. Any
 * context but hard interrupt. To be followed by mesh_member_commit().
 */
void mesh_member_submit(struct mesh_member *m, struct mesh_mio *mio)
{
	/* pairs with mesh_member_step(): what the kind set up before UP is there */
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

/* An I/O has ended; for the kinds. Any context. */
void mesh_mio_end(struct mesh_mio *mio, int err)
{
	struct mesh_member_stats __percpu *stats = mio->member->stats;

	this_cpu_inc(stats->ended);
	if (unlikely(err)) {
		/* a stage is a cache: to find it dropped is no error */
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
 * Have stuck I/O ended, where the kind can do that. @m: member; the caller holds a reference, by a
 * pinned layout say. Any context.
 */
void mesh_member_kick(struct mesh_member *m)
{
	if (!m->ops->kick)
		return;
	refcount_inc(&m->refs);
	if (!queue_work(mesh_kick_wq, &m->kick_work))
		refcount_dec(&m->refs);		/* the caller's is left */
}

/* As mesh_member_put(), without waiting for a target or a device that is closed. Any context. */
void mesh_member_put_later(struct mesh_member *m)
{
	if (!refcount_dec_not_one(&m->refs))
		queue_work(mesh_wq, &m->put_work);
}

/*
 * Have the extent note an attach number, durably, while its I/O goes on. @m: member, opened for
 * writing. @number: not zero, less than 2^63. Process context, sleeps.
 * Return: 0, also for kinds without numbers; -ESTALE: a higher one is noted, or the same of another
 * host, and the member is REFUSED; -ENOLINK: it is not UP now, or the target could not note it,
 * though it may do so later.
 */
int mesh_member_attach(struct mesh_member *m, u64 number)
{
	int err;

	if (!m->ops->attach)
		return 0;
	mutex_lock(&m->attach_lock);
	err = m->ops->attach(m, number);
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

/* I/O that has not ended. What is submitted meanwhile may be missed. */
u64 mesh_member_inflight(struct mesh_member *m)
{
	u64 ended = 0, started = 0;
	int cpu;

	/* in this order: an I/O that ends between is not taken for one too few */
	for_each_possible_cpu(cpu)
		ended += READ_ONCE(per_cpu_ptr(m->stats, cpu)->ended);
	for_each_possible_cpu(cpu)
		started += READ_ONCE(per_cpu_ptr(m->stats, cpu)->started);
	return started - ended;
}

/* ... but for what was abandoned, which nothing waits for. */
u64 mesh_member_wanted(struct mesh_member *m)
{
	u64 left = atomic_read(&m->abandoned), all = mesh_member_inflight(m);

	return all - min(left, all);
}

/* Whether I/O to the member has ended well in the last @recent jiffies. */
bool mesh_member_moves(struct mesh_member *m, unsigned long recent)
{
	struct mesh_member_stats s;

	mesh_member_stats(m, &s);
	return s.last && time_before(jiffies, (unsigned long)s.last + recent);
}
