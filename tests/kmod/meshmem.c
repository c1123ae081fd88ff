// SPDX-License-Identifier: GPL-2.0-only
/*
 * meshmem.ko: members in memory, sparse, of any size, and faulty in every way that
 * is requested. What is written stays while a member of the same UUID is open, by
 * whatever path.
 *
 *   echo "UUID FAULT" >/sys/module/meshmem/parameters/fault
 *
 *   FAULT: down, up, gone or refused: it is; hold: I/O hangs; stick: the next I/O
 *   hangs; eio: I/O fails; stale: staged payloads are lost; none of these
 *
 *   submit -> queue -> worker -> store (pages by number), shared by UUID
 *                        '-> held back, failed or lost: mem_faults()
 */
#define pr_fmt(fmt) "meshmem: " fmt
#include <linux/highmem.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/xarray.h>

#include "driver/member.h"

/**
 * struct mesh_mem_store - the bytes of a UUID
 * @refs: members, under mems_lock
 * @lock: makes each I/O atomic, as a drive's sector is
 * @pages: by byte / PAGE_SIZE; a page that is not there reads zero
 */
struct mesh_mem_store {
	unsigned int	refs;
	struct mutex	lock;	/* one I/O at a time */
	struct xarray	pages;
};

/* Faults, bits of mesh_mem.faults */
enum {
	MEM_HOLD,	/* I/O waits */
	MEM_EIO,	/* I/O fails with -EIO */
	MEM_STALE,	/* stages are dropped at once */
	MEM_STICK,	/* the next I/O waits, those behind it pass */
	MEM_STUCK,	/* one does */
};

/**
 * struct mesh_mem - a member
 * @node: in mems, newest first, under mems_lock
 * @member: back
 * @store: the bytes
 * @queue: submitted I/O, newest first
 * @work: does it
 * @wq: not shared, so that a member that is held delays no other
 * @faults: bits
 * @held: I/O taken off @queue, of @work alone
 * @stuck: that of MEM_STUCK, of @work alone
 */
struct mesh_mem {
	struct list_head	node;
	struct mesh_member	*member;
	struct mesh_mem_store	*store;
	struct llist_head	queue;
	struct work_struct	work;
	struct workqueue_struct	*wq;
	unsigned long		faults;
	struct llist_node	*held;
	struct llist_node	*stuck;
};

struct mesh_mem_stage {
	u32	len;
	u8	data[];
};

static DEFINE_MUTEX(mems_lock);
static LIST_HEAD(mems);

/* The newest member of a UUID, or NULL. */
static struct mesh_mem *mem_find(const uuid_t *uuid)
{
	struct mesh_mem *mm;

	lockdep_assert_held(&mems_lock);
	list_for_each_entry(mm, &mems, node)
		if (uuid_equal(&mm->member->conf.uuid, uuid))
			return mm;
	return NULL;
}

/* The bytes of a member that has joined those of its UUID, or NULL. */
static struct mesh_mem_store *store_get(struct mesh_mem *mm)
{
	struct mesh_mem *other;
	struct mesh_mem_store *s;

	mutex_lock(&mems_lock);
	other = mem_find(&mm->member->conf.uuid);
	s = other ? other->store : kzalloc(sizeof(*s), GFP_KERNEL);
	if (s) {
		if (!s->refs++) {
			mutex_init(&s->lock);
			xa_init(&s->pages);
		}
		mm->store = s;
		list_add(&mm->node, &mems);
	}
	mutex_unlock(&mems_lock);
	return s;
}

static void store_put(struct mesh_mem_store *s)
{
	struct page *page;
	unsigned long i;
	bool last;

	mutex_lock(&mems_lock);
	last = !--s->refs;
	mutex_unlock(&mems_lock);
	if (!last)
		return;
	xa_for_each(&s->pages, i, page)
		__free_page(page);
	xa_destroy(&s->pages);
	mutex_destroy(&s->lock);
	kfree(s);
}

/* The page that holds byte @at, made when @make. NULL: none, or -ENOMEM. */
static struct page *store_page(struct mesh_mem_store *s, u64 at, bool make)
{
	struct page *page = xa_load(&s->pages, at >> PAGE_SHIFT);

	lockdep_assert_held(&s->lock);
	if (page || !make)
		return page;
	page = alloc_page(GFP_NOIO | __GFP_ZERO | __GFP_HIGHMEM);
	if (page && xa_err(xa_store(&s->pages, at >> PAGE_SHIFT, page, GFP_NOIO))) {
		__free_page(page);
		page = NULL;
	}
	return page;
}

/* @n bytes of @buf, within a page, to or from byte @at. */
static int store_copy(struct mesh_mem_store *s, u64 at, void *buf, size_t n, bool write)
{
	struct page *page = store_page(s, at, write);

	if (write) {
		if (!page)
			return -ENOMEM;
		memcpy_to_page(page, offset_in_page(at), buf, n);
	} else if (page) {
		memcpy_from_page(buf, page, offset_in_page(at), n);
	} else {
		memset(buf, 0, n);
	}
	return 0;
}

static int store_buffer(struct mesh_mem_store *s, u64 at, void *buf, size_t len, bool write)
{
	while (len) {
		size_t n = min_t(size_t, len, PAGE_SIZE - offset_in_page(at));
		int err = store_copy(s, at, buf, n, write);

		if (err)
			return err;
		at += n;
		buf += n;
		len -= n;
	}
	return 0;
}

static int store_sg(struct mesh_mem_store *s, struct mesh_mio *mio)
{
	bool write = mio->op == PROT_WRITE;
	struct sg_mapping_iter it;
	u64 at = mio->io.addr;
	u32 left = mio->io.len;
	int err = 0;

	sg_miter_start(&it, mio->io.sg, mio->io.nents, write ? SG_MITER_FROM_SG : SG_MITER_TO_SG);
	while (!err && left && sg_miter_next(&it)) {
		u32 n = min_t(u32, left, it.length);

		err = store_buffer(s, at, it.addr, n, write);
		at += n;
		left -= n;
	}
	sg_miter_stop(&it);
	return err ?: left ? -EINVAL : 0;
}

static int store_zero(struct mesh_mem_store *s, u64 at, u64 len)
{
	u64 end = at + len, first = DIV_ROUND_UP_ULL(at, PAGE_SIZE), last = end >> PAGE_SHIFT;
	struct page *page;
	unsigned long i;

	/* whole pages go, parts of one are cleared */
	if (first < last) {
		xa_for_each_range(&s->pages, i, page, first, last - 1) {
			xa_erase(&s->pages, i);
			__free_page(page);
		}
	}
	while (at < end) {
		u64 n = min_t(u64, end - at, PAGE_SIZE - offset_in_page(at));

		if (n == PAGE_SIZE) {
			at = last << PAGE_SHIFT;
			continue;
		}
		page = store_page(s, at, false);
		if (page)
			memzero_page(page, offset_in_page(at), n);
		at += n;
	}
	return 0;
}

static int mem_stage_keep(struct mesh_mem *mm, struct mesh_mio *mio)
{
	struct mesh_mem_stage *st;

	st = kvmalloc(struct_size(st, data, mio->io.len), GFP_NOIO);
	if (!st)
		return -ENOMEM;
	st->len = mio->io.len;
	sg_copy_to_buffer(mio->io.sg, mio->io.nents, st->data, mio->io.len);
	mio->stage = st;
	return 0;
}

static int mem_stage_write(struct mesh_mem *mm, struct mesh_mio *mio)
{
	struct mesh_mem_stage *st = mio->stage;

	if (test_bit(MEM_STALE, &mm->faults))
		return -ESTALE;
	if (mio->stage_offset > st->len || mio->io.len > st->len - mio->stage_offset)
		return -EINVAL;
	return store_buffer(mm->store, mio->io.addr, st->data + mio->stage_offset, mio->io.len,
			    true);
}

static int mem_do(struct mesh_mem *mm, struct mesh_mio *mio)
{
	struct mesh_mem_store *s = mm->store;
	u64 size = mm->member->info.bytes;
	int err;

	if (test_bit(MEM_EIO, &mm->faults))
		return -EIO;
	if (mio->io.addr > size || mio->io.len > size - mio->io.addr)
		return -EINVAL;
	mutex_lock(&s->lock);
	switch (mio->op) {
	case PROT_READ:
		err = store_sg(s, mio);
		break;
	case PROT_WRITE:
		if (mio->stage)
			err = mem_stage_write(mm, mio);
		else
			err = store_sg(s, mio);
		break;
	case PROT_DISCARD:
	case PROT_ZEROES:
		err = store_zero(s, mio->io.addr, mio->io.len);
		break;
	default:
		err = 0;
	}
	mutex_unlock(&s->lock);
	if (!err && mio->io.flags & RDDA_IO_STAGE)
		err = mem_stage_keep(mm, mio);
	return err;
}

/* What is to be done now of what was held and of @list, which came after it. */
static struct llist_node *mem_faults(struct mesh_mem *mm, struct llist_node *list)
{
	struct llist_node **end = &mm->held;

	while (*end)
		end = &(*end)->next;
	*end = list;
	if (test_bit(MEM_HOLD, &mm->faults))
		return NULL;
	list = mm->held;
	mm->held = NULL;
	if (list && !mm->stuck && test_and_clear_bit(MEM_STICK, &mm->faults)) {
		set_bit(MEM_STUCK, &mm->faults);
		mm->stuck = list;
		list = list->next;
	}
	if (mm->stuck && !test_bit(MEM_STUCK, &mm->faults)) {
		mm->stuck->next = list;
		list = mm->stuck;
		mm->stuck = NULL;
	}
	return list;
}

static void mem_work(struct work_struct *work)
{
	struct mesh_mem *mm = container_of(work, struct mesh_mem, work);
	struct llist_node *list = llist_reverse_order(llist_del_all(&mm->queue));
	struct mesh_mio *mio, *next;

	list = mem_faults(mm, list);
	llist_for_each_entry_safe(mio, next, list, node) {
		/* what was held when it went down is lost, done or not */
		bool up = READ_ONCE(mm->member->state) == MESH_MEMBER_UP;

		mesh_mio_end(mio, up ? mem_do(mm, mio) : -ENOLINK);
	}
}

static void mem_submit(struct mesh_member *m, struct mesh_mio *mio)
{
	struct mesh_mem *mm = m->priv;

	llist_add(&mio->node, &mm->queue);
}

static void mem_commit(struct mesh_member *m, unsigned int queue)
{
	struct mesh_mem *mm = m->priv;

	queue_work(mm->wq, &mm->work);
}

static void mem_stage_put(struct mesh_member *m, void *stage)
{
	kvfree(stage);
}

static void mem_kick(struct mesh_member *m)
{
	struct mesh_mem *mm = m->priv;

	/* like a session that is given up: down, in-flight lost, up again */
	if (!(READ_ONCE(mm->faults) & (BIT(MEM_HOLD) | BIT(MEM_STUCK))))
		return;
	/* down first: other I/O may have the work run at any time, which does what is let go */
	mesh_member_set_state(m, MESH_MEMBER_DOWN, -ENOLINK);
	clear_bit(MEM_HOLD, &mm->faults);
	clear_bit(MEM_STUCK, &mm->faults);
	queue_work(mm->wq, &mm->work);
	flush_work(&mm->work);
	mesh_member_set_state(m, MESH_MEMBER_UP, 0);
}

static int mem_fault(struct mesh_mem *mm, const char *what)
{
	static const struct {
		const char *name;
		enum mesh_member_state state;
		int err;
	} states[] = {
		{ "up", MESH_MEMBER_UP, 0 },
		{ "down", MESH_MEMBER_DOWN, -ENOLINK },
		{ "gone", MESH_MEMBER_GONE, -ENODEV },
		{ "refused", MESH_MEMBER_REFUSED, -EACCES },
	};
	static const char *const bits[] = { "hold", "eio", "stale", "stick" };
	int i, err = 0;

	for (i = 0; i < ARRAY_SIZE(states) && strcmp(what, states[i].name); i++)
		;
	if (i < ARRAY_SIZE(states)) {
		mesh_member_set_state(mm->member, states[i].state, states[i].err);
	} else if (!strcmp(what, "none")) {
		mm->faults = 0;
	} else {
		err = match_string(bits, ARRAY_SIZE(bits), what);
		if (err < 0)
			return err;
		set_bit(err, &mm->faults);
	}
	queue_work(mm->wq, &mm->work);
	return 0;
}

static int fault_set(const char *val, const struct kernel_param *kp)
{
	char text[UUID_STRING_LEN + 1], what[16];
	struct mesh_mem *mm;
	uuid_t uuid;
	int err;

	if (sscanf(val, "%36s %15s", text, what) != 2 || uuid_parse(text, &uuid))
		return -EINVAL;
	mutex_lock(&mems_lock);
	mm = mem_find(&uuid);
	err = mm ? mem_fault(mm, what) : -ENODEV;
	mutex_unlock(&mems_lock);
	return err;
}

static const struct kernel_param_ops fault_ops = { .set = fault_set };
module_param_cb(fault, &fault_ops, NULL, 0200);
MODULE_PARM_DESC(fault, "the UUID of a member, and what is wrong with it");

static int mem_open(struct mesh_member *m, struct netlink_ext_ack *extack)
{
	struct mesh_mem *mm = kzalloc(sizeof(*mm), GFP_KERNEL);

	if (!mm)
		return -ENOMEM;
	mm->member = m;
	INIT_WORK(&mm->work, mem_work);
	init_llist_head(&mm->queue);
	mm->wq = alloc_ordered_workqueue("meshmem", WQ_MEM_RECLAIM);
	if (!mm->wq)
		goto free;
	m->priv = mm;
	m->info = (struct mesh_member_info) {
		.bytes = m->conf.size,
		.lba = m->conf.lba ?: 512,
		.phys = m->conf.lba ?: 512,
		.queues = num_online_cpus(),
		.discard_bytes = PAGE_SIZE,
		.write_zeroes = true,
	};
	if (!store_get(mm))
		goto destroy;
	mesh_member_set_state(m, MESH_MEMBER_UP, 0);
	return 0;
destroy:
	destroy_workqueue(mm->wq);
free:
	kfree(mm);
	return -ENOMEM;
}

static void mem_close(struct mesh_member *m)
{
	struct mesh_mem *mm = m->priv;

	mutex_lock(&mems_lock);
	list_del(&mm->node);
	mutex_unlock(&mems_lock);
	destroy_workqueue(mm->wq);
	store_put(mm->store);
	kfree(mm);
}

static const struct mesh_member_ops mem_ops = {
	.kind = "mem",
	.owner = THIS_MODULE,
	.open = mem_open,
	.close = mem_close,
	.submit = mem_submit,
	.commit = mem_commit,
	.stage_put = mem_stage_put,
	.kick = mem_kick,
};

static int __init meshmem_init(void)
{
	mesh_member_set_kind(MESHBLK_KIND_MEM, &mem_ops);
	return 0;
}

static void __exit meshmem_exit(void)
{
	mesh_member_set_kind(MESHBLK_KIND_MEM, NULL);
}

module_init(meshmem_init);
module_exit(meshmem_exit);
MODULE_DESCRIPTION("Members of meshblk in memory, with faults, for tests");
MODULE_LICENSE("GPL");
