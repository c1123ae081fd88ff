// SPDX-License-Identifier: GPL-2.0-only
/*
 * meshmem.ko: members in memory, sparse, of any size, and faulty in every way that
 * is requested. What is written stays while a member of the same UUID is open, by
 * whatever path.
 *
 *   echo "UUID FAULT" >/sys/module/meshmem/parameters/fault
 *
 *   FAULT: down, up, gone or refused: it is; hold: I/O hangs; stick: the next I/O
 *   hangs; mute: I/O is done and does not end; eio: I/O fails; stale: staged payloads are lost;
 *   none of these. Of bytes that are kept without a member (store.c): down, up
 *
 *   submit -> queue -> worker -> store (pages by number), shared by UUID
 *                        '-> held back, failed or lost: mem_faults(), or never done: store_cut()
 */
#define pr_fmt(fmt) "meshmem: " fmt
#include <linux/module.h>
#include <linux/slab.h>

#include "tests/kmod/meshmem/store.h"

/* Faults, bits of mesh_mem.faults */
enum {
	MEM_HOLD,	/* I/O waits */
	MEM_EIO,	/* I/O fails with -EIO */
	MEM_STALE,	/* stages are dropped at once */
	MEM_STICK,	/* the next I/O waits, those behind it pass */
	MEM_MUTE,	/* I/O is done, but ends only when the member is forced to let go */
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
 * @cut: I/O that the client's end left, and that of MEM_MUTE, of @work alone
 */
struct mesh_mem {
	struct list_head	node;
	struct mesh_member	*member;
	struct mem_store	*store;
	struct llist_head	queue;
	struct work_struct	work;
	struct workqueue_struct	*wq;
	unsigned long		faults;
	struct llist_node	*held;
	struct llist_node	*stuck;
	struct llist_node	*cut;
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

static int mem_do(struct mesh_mem *mm, struct mesh_mio *mio)
{
	if (test_bit(MEM_EIO, &mm->faults))
		return -EIO;
	if (test_bit(MEM_STALE, &mm->faults) && mio->op == PROT_WRITE && mio->stage)
		return -ESTALE;
	return store_do(mm->store, mio, mm->member->info.bytes);
}

/* Whether a member does that I/O and does not say so. A stage would be lost with it. */
static bool mem_is_mute(struct mesh_mem *mm, struct mesh_mio *mio)
{
	return test_bit(MEM_MUTE, &mm->faults) && !(mio->io.flags & RDDA_IO_STAGE) &&
	       !mem_do(mm, mio);
}

/* What a client that ended has left, once it is forced to let go. */
static void mem_end_cut(struct mesh_mem *mm)
{
	struct llist_node *list = mm->cut;
	struct mesh_mio *mio, *next;

	if (READ_ONCE(mm->member->state) == MESH_MEMBER_UP)
		return;
	mm->cut = NULL;
	llist_for_each_entry_safe(mio, next, list, node)
		mesh_mio_end(mio, -ENOLINK);
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

		if (up && (store_cut(mm->store, mio) || mem_is_mute(mm, mio))) {
			mio->node.next = mm->cut;
			mm->cut = &mio->node;
			continue;
		}
		mesh_mio_end(mio, up ? mem_do(mm, mio) : -ENOLINK);
	}
	mem_end_cut(mm);
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

static void mem_stage_get(struct mesh_member *m, void *stage)
{
	store_stage_get(stage);
}

static void mem_stage_put(struct mesh_member *m, void *stage)
{
	store_stage_put(stage);
}

static void mem_kick(struct mesh_member *m)
{
	struct mesh_mem *mm = m->priv;

	/* like a session that is given up: down, in-flight lost, up again */
	if (!(READ_ONCE(mm->faults) & (BIT(MEM_HOLD) | BIT(MEM_STUCK))) && !READ_ONCE(mm->cut))
		return;
	/* down first: other I/O may have the work run at any time, which does what is let go */
	mesh_member_set_state(m, MESH_MEMBER_DOWN, -ENOLINK);
	clear_bit(MEM_HOLD, &mm->faults);
	clear_bit(MEM_STUCK, &mm->faults);
	clear_bit(MEM_MUTE, &mm->faults);
	queue_work(mm->wq, &mm->work);
	flush_work(&mm->work);
	if (!store_is_cut())
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
	static const char *const bits[] = { "hold", "eio", "stale", "stick", "mute" };
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
	if (mm ? !strcmp(what, "up") : !strcmp(what, "up") || !strcmp(what, "down"))
		err = store_lost(&uuid, what[0] == 'd');
	mutex_unlock(&mems_lock);
	return err;
}

static const struct kernel_param_ops fault_ops = { .set = fault_set };
module_param_cb(fault, &fault_ops, NULL, 0200);
MODULE_PARM_DESC(fault, "the UUID of a member, and what is wrong with it");

static int mem_open(struct mesh_member *m, struct netlink_ext_ack *extack)
{
	struct mesh_mem *mm = kzalloc(sizeof(*mm), GFP_KERNEL);
	bool lost = false;

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
	mm->store = store_get(&m->conf.uuid, &lost);
	if (!mm->store)
		goto destroy;
	mutex_lock(&mems_lock);
	list_add(&mm->node, &mems);
	mutex_unlock(&mems_lock);
	mesh_member_set_state(m, lost ? MESH_MEMBER_DOWN : MESH_MEMBER_UP, lost ? -ENOLINK : 0);
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
	.stage_get = mem_stage_get,
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
	store_exit();
}

module_init(meshmem_init);
module_exit(meshmem_exit);
MODULE_DESCRIPTION("Members of meshblk in memory, with faults, for tests");
MODULE_LICENSE("GPL");
