// SPDX-License-Identifier: GPL-2.0-only
/*
 * What members in memory hold, and what a client that ends in mid-write leaves there.
 *
 *   cut: the client ends with the Nth write from now on, of any member. Reading it says which that
 *        was: UUID, byte and length, or nothing as long as none was
 *   keep: bytes stay when no member is open, so that a volume can be attached again
 */
#define pr_fmt(fmt) "meshmem: " fmt
#include <linux/highmem.h>
#include <linux/moduleparam.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/sysfs.h>

#include "tests/kmod/meshmem/store.h"

static DEFINE_MUTEX(stores_lock);	/* the list, and what its members name it for */
static LIST_HEAD(stores);
static bool stores_keep;

/* 0: never; below: the client has ended */
static atomic_t cut_left = ATOMIC_INIT(0);
static bool cut_done;
static char cut_where[80];

static struct mem_store *store_find(const uuid_t *uuid)
{
	struct mem_store *s;

	lockdep_assert_held(&stores_lock);
	list_for_each_entry(s, &stores, node)
		if (uuid_equal(&s->uuid, uuid))
			return s;
	return NULL;
}

struct mem_store *store_get(const uuid_t *uuid, bool *lost)
{
	struct mem_store *s;

	mutex_lock(&stores_lock);
	s = store_find(uuid);
	if (!s) {
		s = kzalloc(sizeof(*s), GFP_KERNEL);
		if (s) {
			s->uuid = *uuid;
			mutex_init(&s->lock);
			xa_init(&s->pages);
			list_add(&s->node, &stores);
		}
	}
	if (s) {
		s->refs++;
		*lost = s->lost;
	}
	mutex_unlock(&stores_lock);
	return s;
}

static void store_free(struct mem_store *s)
{
	struct page *page;
	unsigned long i;

	lockdep_assert_held(&stores_lock);
	list_del(&s->node);
	xa_for_each(&s->pages, i, page)
		__free_page(page);
	xa_destroy(&s->pages);
	mutex_destroy(&s->lock);
	kfree(s);
}

void store_put(struct mem_store *s)
{
	mutex_lock(&stores_lock);
	if (!--s->refs && !stores_keep)
		store_free(s);
	mutex_unlock(&stores_lock);
}

int store_lost(const uuid_t *uuid, bool lost)
{
	struct mem_store *s;

	mutex_lock(&stores_lock);
	s = store_find(uuid);
	if (s)
		s->lost = lost;
	mutex_unlock(&stores_lock);
	return s ? 0 : -ENODEV;
}

static void stores_forget(bool keep)
{
	struct mem_store *s, *next;

	mutex_lock(&stores_lock);
	stores_keep = keep;
	list_for_each_entry_safe(s, next, &stores, node)
		if (!keep && !s->refs)
			store_free(s);
	mutex_unlock(&stores_lock);
}

void store_exit(void)
{
	stores_forget(false);
}

static int keep_set(const char *val, const struct kernel_param *kp)
{
	bool keep;
	int err = kstrtobool(val, &keep);

	if (!err)
		stores_forget(keep);
	return err;
}

static const struct kernel_param_ops keep_ops = { .set = keep_set };
module_param_cb(keep, &keep_ops, NULL, 0200);
MODULE_PARM_DESC(keep, "whether bytes stay when no member is open");

struct mem_stage {
	refcount_t	refs;
	u32	len;
	u8	data[];
};

/* The page that holds byte @at, made when @make. NULL: none, or -ENOMEM. */
static struct page *store_page(struct mem_store *s, u64 at, bool make)
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
static int store_copy(struct mem_store *s, u64 at, void *buf, size_t n, bool write)
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

static int store_buffer(struct mem_store *s, u64 at, void *buf, size_t len, bool write)
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

static int store_sg(struct mem_store *s, struct mesh_mio *mio)
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

static int store_zero(struct mem_store *s, u64 at, u64 len)
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

/*
 * A stage is a cache: without memory there is none. Each has a copy of what it is kept behind, and
 * every third is kept by itself.
 */
static void store_stage(struct mesh_mio *mio)
{
	const struct mem_stage *before = get_random_u32() % 3 ? mio->behind : NULL;
	u32 len = mio->io.len - mio->stage_offset, at = before ? before->len : 0;
	struct mem_stage *st = kvmalloc(struct_size(st, data, at + len), GFP_NOIO);

	if (!before)
		mio->behind = NULL;
	if (!st)
		return;
	refcount_set(&st->refs, 1);
	st->len = at + len;
	if (before)
		memcpy(st->data, before->data, at);
	sg_pcopy_to_buffer(mio->io.sg, mio->io.nents, st->data + at, len, mio->stage_offset);
	mio->stage_at = at;
	mio->stage = st;
}

void store_stage_get(struct mem_stage *st)
{
	refcount_inc(&st->refs);
}

void store_stage_put(struct mem_stage *st)
{
	if (refcount_dec_and_test(&st->refs))
		kvfree(st);
}

static int store_write(struct mem_store *s, struct mesh_mio *mio)
{
	struct mem_stage *st = mio->stage;

	if (!st)
		return store_sg(s, mio);
	if (mio->stage_offset > st->len || mio->io.len > st->len - mio->stage_offset)
		return -EINVAL;
	return store_buffer(s, mio->io.addr, st->data + mio->stage_offset, mio->io.len, true);
}

int store_do(struct mem_store *s, struct mesh_mio *mio, u64 size)
{
	int err = 0;

	if (mio->io.addr > size || mio->io.len > size - mio->io.addr)
		return -EINVAL;
	mutex_lock(&s->lock);
	if (mio->op == PROT_READ)
		err = store_sg(s, mio);
	else if (mio->op == PROT_WRITE)
		err = store_write(s, mio);
	else if (mio->op == PROT_DISCARD || mio->op == PROT_ZEROES)
		err = store_zero(s, mio->io.addr, mio->io.len);
	mutex_unlock(&s->lock);
	if (!err && mio->io.flags & RDDA_IO_STAGE)
		store_stage(mio);
	return err;
}

static bool cut_is_write(const struct mesh_mio *mio)
{
	return mio->op == PROT_WRITE || mio->op == PROT_DISCARD || mio->op == PROT_ZEROES;
}

/* Some sectors of a write, next to each other; maybe none, maybe all. */
static void cut_part(struct mem_store *s, struct mesh_mio *mio)
{
	u32 lba = mio->member->info.lba, n = mio->io.len / lba, from = get_random_u32() % (n + 1);
	u32 to = from + get_random_u32() % (n - from + 1);
	struct mem_stage *st = mio->stage;
	u8 *buf = kvmalloc(mio->io.len, GFP_NOIO);

	if (!buf)
		return;
	if (st)
		memcpy(buf, st->data + mio->stage_offset, mio->io.len);
	else
		sg_copy_to_buffer(mio->io.sg, mio->io.nents, buf, mio->io.len);
	store_buffer(s, mio->io.addr + from * lba, buf + from * lba, (to - from) * lba, true);
	kvfree(buf);
}

bool store_cut(struct mem_store *s, struct mesh_mio *mio)
{
	int left = atomic_read(&cut_left);
	u32 dice = get_random_u32() % 4;

	if (left > 0 && cut_is_write(mio))
		left = atomic_dec_return(&cut_left) ?: -1;
	if (left >= 0 && !READ_ONCE(cut_done))
		return false;
	mutex_lock(&s->lock);
	if (!xchg(&cut_done, true))
		snprintf(cut_where, sizeof(cut_where), "%pUb %llu %u", &s->uuid, mio->io.addr,
			 mio->io.len);
	/* half of those in flight arrive, a quarter in part */
	if (mio->op == PROT_WRITE && !dice)
		cut_part(s, mio);
	else if (mio->op == PROT_WRITE && dice < 3)
		store_write(s, mio);
	mutex_unlock(&s->lock);
	return true;
}

bool store_is_cut(void)
{
	return READ_ONCE(cut_done);
}

static int cut_set(const char *val, const struct kernel_param *kp)
{
	int n, err = kstrtoint(val, 0, &n);

	if (err)
		return err;
	cut_where[0] = 0;
	WRITE_ONCE(cut_done, false);
	atomic_set(&cut_left, n);
	return 0;
}

static int cut_get(char *buf, const struct kernel_param *kp)
{
	return sysfs_emit(buf, "%s\n", READ_ONCE(cut_done) ? cut_where : "");
}

static const struct kernel_param_ops cut_ops = { .set = cut_set, .get = cut_get };
module_param_cb(cut, &cut_ops, NULL, 0600);
MODULE_PARM_DESC(cut, "the client ends with that write from now on; 0: it does not");
