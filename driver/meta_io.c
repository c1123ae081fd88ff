// SPDX-License-Identifier: GPL-2.0-only
/*
 * META_IO: a member's metadata read and written for meshd, through the extent
 * as it is open here or, when no volume has it open, opened for the purpose.
 *
 * With COPY_OFFSET a write goes to two places, the second time from the payload
 * that the first left staged with the member: what redundant levels will do
 * with every journalled write, and how tests reach it.
 */
#define pr_fmt(fmt) "meshblk: " fmt
#include <linux/completion.h>
#include <linux/module.h>
#include <linux/slab.h>

#include "driver/netlink.h"
#include "driver/volume.h"

/* How long a member opened for one I/O may take to come up, and the I/O to end. */
#define MESH_META_OPEN_MS	10000
#define MESH_META_IO_MS		10000

/**
 * struct mesh_meta - one I/O
 * @mio: the I/O
 * @member: a reference
 * @stage: of @member, to be given back, or NULL
 * @refs: who waits and the I/O; a stuck I/O outlives who waited
 * @ended: done() was called
 * @free_work: frees all, since that may sleep
 * @nents: of @sgl
 * @sgl: pages
 */
struct mesh_meta {
	struct mesh_mio		mio;
	struct mesh_member	*member;
	void			*stage;
	refcount_t		refs;
	struct completion	ended;
	struct work_struct	free_work;
	unsigned int		nents;
	struct scatterlist	*sgl;
};

/* A temporarily opened member is waited for here. */
struct mesh_meta_wait {
	struct mesh_member_link	link;
	struct completion	settled;
};

static void mesh_meta_free_work(struct work_struct *work)
{
	struct mesh_meta *x = container_of(work, struct mesh_meta, free_work);

	if (x->stage)
		x->member->ops->stage_put(x->member, x->stage);
	mesh_member_put(x->member);
	sgl_free(x->sgl);
	kfree(x);
	module_put(THIS_MODULE);	/* module exit flushes mesh_wq */
}

static void mesh_meta_put(struct mesh_meta *x)
{
	if (refcount_dec_and_test(&x->refs))
		queue_work(mesh_wq, &x->free_work);
}

static struct mesh_meta *mesh_meta_alloc(struct mesh_member *m, u32 len)
{
	struct mesh_meta *x = kzalloc(sizeof(*x), GFP_KERNEL);

	if (!x)
		return NULL;
	x->sgl = sgl_alloc(len, GFP_KERNEL | __GFP_ZERO, &x->nents);
	if (!x->sgl) {
		kfree(x);
		return NULL;
	}
	/* A stuck I/O outlives the call, and must not outlive the module. */
	__module_get(THIS_MODULE);
	refcount_inc(&m->refs);
	x->member = m;
	refcount_set(&x->refs, 1);
	init_completion(&x->ended);
	INIT_WORK(&x->free_work, mesh_meta_free_work);
	return x;
}

static void mesh_meta_done(struct mesh_mio *mio, int err)
{
	struct mesh_meta *x = container_of(mio, struct mesh_meta, mio);

	mio->err = err;
	complete(&x->ended);
	mesh_meta_put(x);
}

/* Send @x as it is filled in and wait. -ETIMEDOUT: it is still on its way. */
static int mesh_meta_send(struct mesh_member *m, struct mesh_meta *x)
{
	x->mio.sg = x->sgl;
	x->mio.nents = x->nents;
	x->mio.done = mesh_meta_done;
	refcount_inc(&x->refs);
	reinit_completion(&x->ended);
	mesh_member_submit(m, &x->mio);
	mesh_member_commit(m, x->mio.queue);
	if (wait_for_completion_timeout(&x->ended, msecs_to_jiffies(MESH_META_IO_MS)))
		return x->mio.err;
	mesh_member_kick(m);
	if (wait_for_completion_timeout(&x->ended, msecs_to_jiffies(MESH_META_IO_MS)))
		return x->mio.err;
	return -ETIMEDOUT;
}

static int mesh_meta_copy(struct mesh_member *m, struct mesh_meta *x, u64 to)
{
	int err;

	x->stage = x->mio.stage;
	x->mio.addr = to;
	x->mio.flags = 0;
	x->mio.stage_offset = 0;
	err = mesh_meta_send(m, x);
	if (err == -ESTALE) {		/* dropped under pressure: from the copy here */
		x->mio.stage = NULL;
		err = mesh_meta_send(m, x);
	}
	return err;
}

static void mesh_meta_changed(struct mesh_member_link *link, enum mesh_member_state state,
			      int err)
{
	struct mesh_meta_wait *w = container_of(link, struct mesh_meta_wait, link);

	if (state != MESH_MEMBER_DOWN)
		complete(&w->settled);
}

/* Wait for a member that was opened just now. */
static int mesh_meta_settle(struct mesh_member *m)
{
	struct mesh_meta_wait w = { .link.changed = mesh_meta_changed };
	enum mesh_member_state state;

	init_completion(&w.settled);
	mesh_member_link(m, &w.link);
	state = READ_ONCE(m->state);
	if (state == MESH_MEMBER_DOWN)
		wait_for_completion_timeout(&w.settled, msecs_to_jiffies(MESH_META_OPEN_MS));
	mesh_member_unlink(m, &w.link);
	/* pairs with mesh_member_step(): m->info is there */
	state = smp_load_acquire(&m->state);
	return state == MESH_MEMBER_UP ? 0 : READ_ONCE(m->err) ?: mesh_member_errno(state);
}

/* For people: why a member that META_IO wants is not up. */
static const char *mesh_meta_why(int err)
{
	switch (err) {
	case -EBUSY:
		return "the extent is held by another client";
	case -ESTALE:
		return "the target knows a higher generation of the extent";
	case -ENODEV:
		return "the drive or the extent is not there";
	case -EHOSTDOWN:
		return "meshd does not run on the target";
	default:
		return "the member is not up";
	}
}

static int mesh_meta_member(struct genl_info *info, struct mesh_member **m)
{
	struct mesh_member_conf *conf;
	int err;

	if (!info->attrs[MESHBLK_A_MEMBER] || !info->attrs[MESHBLK_A_OFFSET])
		return mesh_nl_refuse(info, -EINVAL, "which member, and where?");
	conf = kmalloc(sizeof(*conf), GFP_KERNEL);
	if (!conf)
		return -ENOMEM;
	err = mesh_nl_member(info->attrs[MESHBLK_A_MEMBER], conf, true, info);
	if (err)
		goto free;
	*m = mesh_member_find(&conf->uuid);
	if (!*m)
		err = mesh_member_get(conf, m, info->extack);
	if (err)
		goto free;
	err = mesh_meta_settle(*m);
	if (err) {
		if (info->extack)
			info->extack->_msg = mesh_meta_why(err);
		mesh_member_put(*m);
	}
free:
	kfree(conf);
	return err;
}

static int mesh_meta_check(struct mesh_member *m, u64 offset, u32 len, struct genl_info *info)
{
	if ((offset | len) & (m->info.lba - 1))
		return mesh_nl_refuse(info, -EINVAL, "not a multiple of the member's block");
	if (offset > m->info.bytes || len > m->info.bytes - offset)
		return mesh_nl_refuse(info, -EINVAL, "beyond the end of the member");
	return 0;
}

static int mesh_meta_reply(struct genl_info *info, struct mesh_meta *x, u32 len)
{
	struct sk_buff *msg = genlmsg_new(len + 2 * NLA_HDRLEN + 64, GFP_KERNEL);
	void *data = kvmalloc(len, GFP_KERNEL), *hdr = NULL;
	int err = -ENOMEM;

	if (!msg || !data)
		goto free;
	sg_copy_to_buffer(x->sgl, x->nents, data, len);
	hdr = genlmsg_put_reply(msg, info, &mesh_nl_family, 0, MESHBLK_CMD_META_IO);
	err = hdr ? mesh_nl_put_data(msg, data, len) : -EMSGSIZE;
	if (err)
		goto free;
	kvfree(data);
	genlmsg_end(msg, hdr);
	return genlmsg_reply(msg, info);
free:
	kvfree(data);
	nlmsg_free(msg);
	return err;
}

static int mesh_meta_write(struct mesh_member *m, struct genl_info *info, u64 offset)
{
	struct nlattr *copy = info->attrs[MESHBLK_A_COPY_OFFSET];
	struct mesh_meta *x;
	void *data;
	u32 len;
	int err;

	err = mesh_nl_data(info, MESHBLK_META_IO_MAX, &data, &len);
	if (err)
		return err;
	err = mesh_meta_check(m, offset, len, info);
	if (!err && copy)
		err = mesh_meta_check(m, nla_get_u64(copy), len, info);
	if (!err && !m->conf.rw)
		err = mesh_nl_refuse(info, -EROFS, "the extent is open for reading only");
	x = err ? NULL : mesh_meta_alloc(m, len);
	if (!x) {
		kvfree(data);
		return err ?: -ENOMEM;
	}
	sg_copy_from_buffer(x->sgl, x->nents, data, len);
	kvfree(data);
	x->mio.op = PROT_WRITE;
	x->mio.addr = offset;
	x->mio.len = len;
	x->mio.flags = copy ? MESH_MIO_STAGE : 0;
	err = mesh_meta_send(m, x);
	if (!err && copy)
		err = mesh_meta_copy(m, x, nla_get_u64(copy));
	mesh_meta_put(x);
	return err;
}

static int mesh_meta_read(struct mesh_member *m, struct genl_info *info, u64 offset)
{
	u32 len = nla_get_u32(info->attrs[MESHBLK_A_LENGTH]);
	struct mesh_meta *x;
	int err;

	err = mesh_meta_check(m, offset, len, info);
	if (err)
		return err;
	x = mesh_meta_alloc(m, len);
	if (!x)
		return -ENOMEM;
	x->mio.op = PROT_READ;
	x->mio.addr = offset;
	x->mio.len = len;
	err = mesh_meta_send(m, x) ?: mesh_meta_reply(info, x, len);
	mesh_meta_put(x);
	return err;
}

int mesh_nl_meta_io(struct sk_buff *skb, struct genl_info *info)
{
	struct nlattr **a = info->attrs;
	struct mesh_member *m;
	int err = mesh_nl_admin(skb, info);
	u64 offset;

	if (err)
		return err;
	if (!a[MESHBLK_A_DATA] == !a[MESHBLK_A_LENGTH])
		return mesh_nl_refuse(info, -EINVAL, "DATA writes, LENGTH reads");
	err = mesh_meta_member(info, &m);
	if (err)
		return err;
	offset = nla_get_u64(a[MESHBLK_A_OFFSET]);
	err = a[MESHBLK_A_DATA] ? mesh_meta_write(m, info, offset) :
				  mesh_meta_read(m, info, offset);
	if (err && info->extack && !info->extack->_msg)
		GENL_SET_ERR_MSG(info, "the member's I/O failed");
	mesh_member_put(m);
	return err;
}
