// SPDX-License-Identifier: GPL-2.0-only
/* Members that are an extent of a target, over RDDA. */
#define pr_fmt(fmt) "meshblk: " fmt
#include <linux/netlink.h>
#include <linux/slab.h>

#include "driver/member/member.h"
#include "driver/member/target.h"

/* A member. */
struct mesh_rdda {
	struct mesh_member	*member;	/* back */
	struct mesh_target	*target;	/* a reference */
	struct mutex		lock;	/* makes the first callbacks wait until @extent is known */
	struct rdda_extent	*extent;	/* the opened extent */
};

static const struct {
	enum mesh_member_state state;
	int err;
} mesh_rdda_states[] = {
	[RDDA_EXTENT_DOWN] = { MESH_MEMBER_DOWN, -ENOLINK },
	[RDDA_EXTENT_OPENING] = { MESH_MEMBER_DOWN, -ENOLINK },
	[RDDA_EXTENT_UP] = { MESH_MEMBER_UP, 0 },
	[RDDA_EXTENT_GONE] = { MESH_MEMBER_GONE, -ENODEV },
	[RDDA_EXTENT_REFUSED] = { MESH_MEMBER_REFUSED, -EACCES },
};

/* Update the member's info: the extent may have changed since its last open. */
static void mesh_rdda_know(struct mesh_rdda *mr)
{
	struct mesh_member *m = mr->member;
	struct rdda_extent_info x;

	rdda_extent_info(mr->extent, &x);
	mutex_lock(&m->lock);
	m->info = (struct mesh_member_info) {
		.bytes = x.bytes,
		.lba = x.lba_bytes,
		.phys = max(x.phys_bytes, x.lba_bytes),
		.queues = rdda_target_queues(mr->target->rdda),
		.discard_bytes = x.discard_bytes,
		.write_zeroes = x.write_zeroes,
		.rotational = x.rotational,
		.attach = x.attach,
		.attacher = x.attacher,
		.dead_ms = x.dead_ms,
	};
	mutex_unlock(&m->lock);
}

/* Update what is known of a refused extent: who has it. */
static void mesh_rdda_refused(struct mesh_rdda *mr)
{
	struct mesh_member *m = mr->member;
	struct rdda_extent_info x;

	rdda_extent_info(mr->extent, &x);
	mutex_lock(&m->lock);
	WRITE_ONCE(m->info.attach, x.attach);
	m->info.attacher = x.attacher;
	m->info.holder = x.holder;
	mutex_unlock(&m->lock);
}

static void mesh_rdda_state(void *priv, enum rdda_extent_state state, int err)
{
	struct mesh_rdda *mr = priv;

	mutex_lock(&mr->lock);
	if (state == RDDA_EXTENT_UP)
		mesh_rdda_know(mr);
	else if (state == RDDA_EXTENT_REFUSED)
		mesh_rdda_refused(mr);
	mutex_unlock(&mr->lock);
	mesh_member_set_state(mr->member, mesh_rdda_states[state].state,
			      state == RDDA_EXTENT_UP ? 0 : err ?: mesh_rdda_states[state].err);
}

static const struct rdda_extent_ops mesh_rdda_extent_ops = {
	.state = mesh_rdda_state,
};

static int mesh_rdda_open(struct mesh_member *m, struct netlink_ext_ack *extack)
{
	struct rdda_want want = {
		.rw = m->conf.rw,
		.preempt = m->conf.preempt,
		.numbered = m->conf.numbered,
		.epoch = m->conf.epoch,
		.number = m->conf.number,
		.served = m->conf.served,
	};
	struct mesh_rdda *mr = kzalloc(sizeof(*mr), GFP_KERNEL);
	int err = 0;

	if (!mr)
		return -ENOMEM;
	mr->member = m;
	mutex_init(&mr->lock);
	mr->target = mesh_target_get(m->conf.target);
	if (!mr->target) {
		NL_SET_ERR_MSG(extack, "no such target");
		err = -ENOENT;
		goto free;
	}
	m->priv = mr;
	mutex_lock(&mr->lock);
	mr->extent = rdda_extent_open(mr->target->rdda, &m->conf.uuid, &m->conf.drive, &want,
				      &mesh_rdda_extent_ops, mr);
	if (IS_ERR_OR_NULL(mr->extent))
		err = mr->extent ? PTR_ERR(mr->extent) : -ENOMEM;
	mutex_unlock(&mr->lock);
	if (!err)
		return 0;
	mesh_target_put(mr->target);
free:
	kfree(mr);
	return err;
}

static void mesh_rdda_close(struct mesh_member *m)
{
	struct mesh_rdda *mr = m->priv;

	rdda_extent_close(mr->extent);
	mesh_target_put(mr->target);
	kfree(mr);
}

static void mesh_rdda_done(struct rdda_io *io, int err)
{
	struct mesh_mio *mio = container_of(io, struct mesh_mio, io);

	if (io->flags & RDDA_IO_STAGE) {
		mio->stage = err ? NULL : io->stage;
		mio->behind = io->behind;
		mio->stage_at = io->stage_at;
		mio->stage_room = io->stage_room;
	}
	mesh_mio_end(mio, err);
}

static void mesh_rdda_submit(struct mesh_member *m, struct mesh_mio *mio)
{
	static const u8 ops[] = {
		[PROT_READ] = RDDA_READ,
		[PROT_WRITE] = RDDA_WRITE,
		[PROT_DISCARD] = RDDA_DISCARD,
		[PROT_ZEROES] = RDDA_ZEROES,
	};
	struct mesh_rdda *mr = m->priv;
	struct rdda_io *io = &mio->io;

	if (mio->op == PROT_FLUSH) {		/* completed writes are durable */
		mesh_mio_end(mio, 0);
		return;
	}
	io->op = ops[mio->op];
	io->stage = mio->stage;
	io->stage_offset = mio->stage_offset;
	io->behind = mio->behind;
	io->stage_room = mio->stage_room;
	io->done = mesh_rdda_done;
	rdda_submit(mr->extent, io);
}

static void mesh_rdda_commit(struct mesh_member *m, unsigned int queue)
{
	struct mesh_rdda *mr = m->priv;

	rdda_commit(mr->extent, queue);
}

static int mesh_rdda_poll(struct mesh_member *m, unsigned int queue)
{
	struct mesh_rdda *mr = m->priv;

	return rdda_poll(mr->extent, queue);
}

static void mesh_rdda_stage_get(struct mesh_member *m, void *stage)
{
	rdda_stage_get(stage);
}

static void mesh_rdda_stage_put(struct mesh_member *m, void *stage)
{
	rdda_stage_put(stage);
}

static void mesh_rdda_release(struct mesh_member *m)
{
	struct mesh_rdda *mr = m->priv;

	rdda_extent_release(mr->extent);
}

static void mesh_rdda_retry(struct mesh_member *m, bool refused)
{
	struct mesh_rdda *mr = m->priv;

	rdda_extent_retry(mr->extent, refused);
}

static void mesh_rdda_kick(struct mesh_member *m)
{
	struct mesh_rdda *mr = m->priv;

	rdda_extent_kick(mr->extent);
}

static void mesh_rdda_epoch(struct mesh_member *m, u64 epoch)
{
	struct mesh_rdda *mr = m->priv;

	rdda_extent_set_epoch(mr->extent, epoch);
}

static int mesh_rdda_attach(struct mesh_member *m, u64 number, u64 served)
{
	struct mesh_rdda *mr = m->priv;
	struct rdda_extent_info x;
	int err;

	err = rdda_extent_number(mr->extent, number, served);
	/* An extent that stays UP reports no change. */
	rdda_extent_info(mr->extent, &x);
	mutex_lock(&m->lock);
	WRITE_ONCE(m->info.attach, x.attach);
	m->info.attacher = x.attacher;
	WRITE_ONCE(m->info.dead_ms, x.dead_ms);
	mutex_unlock(&m->lock);
	return err;
}

const struct mesh_member_ops mesh_rdda_ops = {
	.kind = "rdda",
	.posts = true,
	.open = mesh_rdda_open,
	.close = mesh_rdda_close,
	.submit = mesh_rdda_submit,
	.commit = mesh_rdda_commit,
	.poll = mesh_rdda_poll,
	.stage_get = mesh_rdda_stage_get,
	.stage_put = mesh_rdda_stage_put,
	.release = mesh_rdda_release,
	.retry = mesh_rdda_retry,
	.kick = mesh_rdda_kick,
	.epoch = mesh_rdda_epoch,
	.attach = mesh_rdda_attach,
};
