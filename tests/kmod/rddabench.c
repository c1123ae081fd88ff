// SPDX-License-Identifier: GPL-2.0-only
/*
 * rddatest.ko: RDDA's client without a block device, driven by its own threads.
 *
 *   insmod rddatest.ko addr=10.77.0.1 extents=UUID[,UUID...] what=verify qd=16
 *
 * Loading runs the test and fails with EIO when something was wrong; the kernel
 * log has one line of result. what=
 *   verify   random writes and reads of random sizes, from scattered pages; each
 *            sector carries its number and version, and is checked when read
 *   stage    the same payload to two places, sent once; with a header before it the first
 *            time, and some of it the second
 *   pressure stages that no command names make room for other I/O, the oldest first
 *   zero     zeroes and discards between writes
 *   bench    bs, qd, write=0|1: operations a second and messages an operation
 *   up       log in, open, close
 */
#define pr_fmt(fmt) "rddatest: " fmt
#include <linux/delay.h>
#include <linux/inet.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/prandom.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include <net/ipv6.h>

#include "rdda/rdda.h"
#include "rdda/wire.h"

static char *addr = "10.77.0.1";
module_param(addr, charp, 0444);
static ushort port = RDDA_PORT;
module_param(port, ushort, 0444);
static char *extents = "";
module_param(extents, charp, 0444);
static char *what = "verify";
module_param(what, charp, 0444);
static char *host = "c0000000-0000-0000-0000-000000000000";
module_param(host, charp, 0444);
static char *key = "";
module_param(key, charp, 0444);
static ushort key_id;
module_param(key_id, ushort, 0444);
static char *older_key = "";
module_param(older_key, charp, 0444);
static ushort older_key_id;
module_param(older_key_id, ushort, 0444);
static bool ro;
module_param(ro, bool, 0444);
static uint qd = 8;
module_param(qd, uint, 0444);
static uint nops = 200;
module_param(nops, uint, 0444);
MODULE_PARM_DESC(nops, "operations of each of the qd threads, or of all in bench");
static uint region = 4 << 20;
module_param(region, uint, 0444);
MODULE_PARM_DESC(region, "bytes that each thread has to itself, whole pages");
static uint bs = 4096;
module_param(bs, uint, 0444);
static uint max_bytes = 1 << 20;
module_param(max_bytes, uint, 0444);
static bool write;
module_param(write, bool, 0444);
static uint seed = 1;
module_param(seed, uint, 0444);
static uint up_ms = 20000;
module_param(up_ms, uint, 0444);
MODULE_PARM_DESC(up_ms, "to wait for an extent to be there, also after a loss");
static bool retry = true;
module_param(retry, bool, 0444);
MODULE_PARM_DESC(retry, "send I/O again whose channel was lost");
static bool p2p;
module_param(p2p, bool, 0444);
MODULE_PARM_DESC(p2p, "mark reads as going to a peer's memory: never pushed");

#define EXTENTS_MAX	16
#define SECTOR		512U

static struct rdda_target *target;
static struct rdda_extent *ext[EXTENTS_MAX];
static struct rdda_extent_info info[EXTENTS_MAX];
static unsigned int nr_ext;
static atomic_t bad, lost, stale, behind;
static atomic64_t bytes_ok;

/* One thread of verify: a region of an extent that no other thread touches. */
struct worker {
	struct task_struct *task;
	struct completion done;
	unsigned int index;
	struct rdda_extent *e;
	u64	base;
	u32	lba;
	u32	*version;	/* of each sector */
	struct page **page;	/* region worth of scattered pages */
	void	*buf;		/* the same, mapped in shuffled order */
	struct scatterlist *sg;
	struct rnd_state rnd;
};

struct sync_io {
	struct rdda_io io;
	struct completion done;
	int err;
};

static void sync_done(struct rdda_io *io, int err)
{
	struct sync_io *s = container_of(io, struct sync_io, io);

	s->err = err;
	complete(&s->done);
}

static int wait_up(struct rdda_extent *e, struct rdda_extent_info *i)
{
	unsigned long end = jiffies + msecs_to_jiffies(up_ms);

	do {
		rdda_extent_info(e, i);
		if (i->state == RDDA_EXTENT_UP)
			return 0;
		if (i->state == RDDA_EXTENT_REFUSED)
			return i->err;
		msleep(20);
	} while (time_before(jiffies, end));
	return -ETIMEDOUT;
}

/* Once, or again after each loss. */
static int io_sync(struct worker *w, struct sync_io *s)
{
	struct rdda_extent_info i;
	int ret;

	for (;;) {
		init_completion(&s->done);
		s->io.done = sync_done;
		rdda_submit(w->e, &s->io);
		rdda_commit(w->e, s->io.queue);
		wait_for_completion(&s->done);
		if (!retry || (s->err != -ENOLINK && s->err != -ENODEV))
			return s->err;
		atomic_inc(&lost);
		ret = wait_up(w->e, &i);
		if (ret)
			return ret;
	}
}

static u64 word(u64 sector, u32 version, unsigned int i)
{
	u64 x = sector * 0x9e3779b97f4a7c15ULL + ((u64)version << 32) + i;

	x ^= x >> 29;
	return x * 0xbf58476d1ce4e5b9ULL;
}

static void fill(struct worker *w, u32 at, u32 first, u32 n)
{
	u64 *p = w->buf + at;
	unsigned int i;
	u32 s;

	for (s = first; s < first + n; s++)
		for (i = 0; i < SECTOR / 8; i++)
			*p++ = word(w->base / SECTOR + s, w->version[s], i);
}

static bool check(struct worker *w, u32 at, u32 first, u32 n)
{
	u64 *p = w->buf + at;
	unsigned int i;
	u32 s;

	for (s = first; s < first + n; s++)
		for (i = 0; i < SECTOR / 8; i++, p++) {
			u64 want = w->version[s] ? word(w->base / SECTOR + s, w->version[s], i) : 0;

			if (*p == want)
				continue;
			pr_err("thread %u: sector %llu word %u: %016llx, not %016llx (version %u)\n",
			       w->index, w->base / SECTOR + s, i, *p, want, w->version[s]);
			return false;
		}
	return true;
}

static u32 rnd(struct worker *w, u32 n)
{
	return prandom_u32_state(&w->rnd) % n;
}

/* Scatter list over part of the buffer; now and then pages are cut in two. */
static unsigned int scatter(struct worker *w, u32 at, u32 len)
{
	unsigned int n = 0;
	u32 part;

	sg_init_table(w->sg, len / SECTOR + 1);
	while (len) {
		part = min_t(u32, len, PAGE_SIZE - at % PAGE_SIZE);
		if (part > SECTOR && !rnd(w, 8))
			part = SECTOR;
		sg_set_page(&w->sg[n++], w->page[at / PAGE_SIZE], part, at % PAGE_SIZE);
		at += part;
		len -= part;
	}
	sg_mark_end(&w->sg[n - 1]);
	return n;
}

static int rw_stage(struct worker *w, enum rdda_io_op op, u32 first, u32 n, u32 at, u8 flags,
		    struct rdda_stage **stage, u32 stage_offset)
{
	struct sync_io s = {};
	int ret;

	s.io.op = op;
	s.io.flags = flags;
	s.io.stage_offset = stage_offset;
	s.io.queue = w->index;
	s.io.addr = w->base + (u64)first * SECTOR;
	s.io.len = n * SECTOR;
	if (op == RDDA_READ || op == RDDA_WRITE) {
		s.io.sg = w->sg;
		s.io.nents = scatter(w, at, s.io.len);
	}
	if (stage)
		s.io.stage = *stage;
	ret = io_sync(w, &s);
	if (stage)
		*stage = s.io.stage;
	if (ret == -ESTALE)
		atomic_inc(&stale);
	else if (ret)
		pr_err("thread %u: op %u of %u sectors at %u: error %d\n", w->index, op, n, first,
		       ret);
	else
		atomic64_add(s.io.len, &bytes_ok);
	return ret;
}

static int rw(struct worker *w, enum rdda_io_op op, u32 first, u32 n, u32 at, u8 flags)
{
	return rw_stage(w, op, first, n, at, flags, NULL, 0);
}

static void pick(struct worker *w, u32 *first, u32 *n, u32 *at)
{
	u32 unit = w->lba / SECTOR, most = min(max_bytes, region / 2) / w->lba;
	u32 len = rnd(w, 3) ? 1 + rnd(w, min(most, 16U)) : 1 + rnd(w, most);

	*n = len * unit;
	*first = rnd(w, region / w->lba - len + 1) * unit;
	*at = rnd(w, (region - *n * SECTOR) / SECTOR + 1) * SECTOR;
}

static int verify_write(struct worker *w)
{
	u32 first, n, at, s;

	pick(w, &first, &n, &at);
	for (s = first; s < first + n; s++)
		w->version[s]++;
	fill(w, at, first, n);
	return rw(w, RDDA_WRITE, first, n, at, 0);
}

static int verify_read(struct worker *w)
{
	u32 first, n, at;
	int ret;

	pick(w, &first, &n, &at);
	memset(w->buf + at, 0xee, n * SECTOR);
	ret = rw(w, RDDA_READ, first, n, at, p2p ? RDDA_IO_P2P : 0);
	if (!ret && !check(w, at, first, n))
		ret = -EBADMSG;
	return ret;
}

static int verify_zero(struct worker *w)
{
	u32 first, n, at;
	int ret;

	pick(w, &first, &n, &at);
	ret = rw(w, RDDA_ZEROES, first, n, 0, rnd(w, 2) ? RDDA_IO_UNMAP : 0);
	if (!ret)
		memset(&w->version[first], 0, n * sizeof(u32));
	return ret;
}

/*
 * Two copies of one payload: the second, of what is behind a header, goes by command alone, if it
 * was kept.
 */
static int verify_stage(struct worker *w)
{
	u32 half = region / SECTOR / 2, unit = w->lba / SECTOR, first, n, at, s, head, skip;
	struct rdda_stage *stage = NULL;
	int ret;

	do {
		pick(w, &first, &n, &at);
	} while (first + n > half);
	head = rnd(w, min(n / unit, RDDA_PAGE / w->lba + 1)) * unit;
	skip = head + (rnd(w, 2) ? rnd(w, (n - head) / unit) * unit : 0);
	for (s = first; s < first + n; s++)
		w->version[s]++;
	fill(w, at, first, n);
	ret = rw_stage(w, RDDA_WRITE, first, n, at, RDDA_IO_STAGE, &stage, head * SECTOR);
	if (ret)
		return ret;
	/* What is in the pages now must not matter. */
	if (stage)
		memset(w->buf + at, 0x55, n * SECTOR);
	else
		atomic_inc(&lost);
	first += skip;
	n -= skip;
	ret = rw_stage(w, RDDA_WRITE, first + half, n, at, 0, &stage, (skip - head) * SECTOR);
	rdda_stage_put(stage);
	if (ret == -ESTALE)
		return 0;
	if (stage && !ret) {
		ret = rw(w, RDDA_READ, first + half, n, at, 0);
		if (!ret && !check(w, at, first, n))
			ret = -EBADMSG;
	}
	ret = ret ?: rw(w, RDDA_READ, first - skip, n + skip, at, 0);
	if (!ret && !check(w, at, first - skip, n + skip))
		ret = -EBADMSG;
	return ret;
}

/* Payloads with a header each, one behind the other: all that were kept so go by one command. */
static int verify_run(struct worker *w)
{
	u32 half = region / SECTOR / 2, head = w->lba / SECTOR, n = 1 + rnd(w, 4), i, from = 0;
	u32 len = RDDA_PAGE / SECTOR, first = 8 + rnd(w, (half - 8) / len - n) * len;
	u32 at = (first - head) * SECTOR, s;
	struct rdda_stage *last = NULL;
	int ret = 0;

	for (s = first - head; s < first + n * len; s++)
		w->version[s]++;
	fill(w, at, first - head, head + n * len);
	for (i = 0; i < n && !ret; i++) {
		struct sync_io rec = { .io = {
			.op = RDDA_WRITE, .flags = RDDA_IO_STAGE, .queue = w->index,
			.stage_offset = head * SECTOR, .len = (head + len) * SECTOR, .sg = w->sg,
			.addr = w->base + (u64)(first + i * len - head) * SECTOR,
			.behind = last, .stage_room = SZ_32K,
		} };

		rec.io.nents = scatter(w, at + i * len * SECTOR, rec.io.len);
		ret = io_sync(w, &rec);
		rdda_stage_put(last);
		last = ret ? NULL : rec.io.stage;
		if (!last || !rec.io.behind)
			from = i;
		if (last && rec.io.stage_at != (i - from) * RDDA_PAGE)
			ret = -EBADMSG;
	}
	if (!ret && last) {
		n -= from;
		first += from * len;
		atomic_add(n - 1, &behind);
		memset(w->buf + at, 0x55, region / 4);
		ret = rw_stage(w, RDDA_WRITE, first + half, n * len, at, 0, &last, 0);
		ret = ret ?: rw(w, RDDA_READ, first + half, n * len, at, 0);
		if (!ret && !check(w, at, first, n * len))
			ret = -EBADMSG;
	}
	rdda_stage_put(last);
	return ret == -ESTALE ? 0 : ret;
}

static int worker_run(void *arg)
{
	struct worker *w = arg;
	u32 sectors = region / SECTOR, s;
	unsigned int i;
	int ret = 0;

	for (s = 0; s < sectors; s++)
		w->version[s] = 1;
	fill(w, 0, 0, sectors);
	for (s = 0; s < sectors && !ret; s += sectors / 4)
		ret = rw(w, RDDA_WRITE, s, sectors / 4, s * SECTOR, 0);
	for (i = 0; i < nops && !ret; i++) {
		if (!strcmp(what, "stage"))
			ret = rnd(w, 2) ? verify_stage(w) : verify_run(w);
		else if (!strcmp(what, "zero") && !rnd(w, 3))
			ret = verify_zero(w);
		else
			ret = rnd(w, 2) ? verify_write(w) : verify_read(w);
		cond_resched();
	}
	for (s = 0; s < sectors && !ret && strcmp(what, "stage"); s += sectors / 4) {
		ret = rw(w, RDDA_READ, s, sectors / 4, s * SECTOR, 0);
		if (!ret && !check(w, s * SECTOR, s, sectors / 4))
			ret = -EBADMSG;
	}
	if (ret)
		atomic_inc(&bad);
	complete(&w->done);
	return 0;
}

static void worker_free(struct worker *w)
{
	unsigned int i;

	if (w->buf)
		vunmap(w->buf);
	for (i = 0; w->page && i < region / PAGE_SIZE; i++)
		if (w->page[i])
			__free_page(w->page[i]);
	kvfree(w->page);
	kvfree(w->version);
	kvfree(w->sg);
}

static int worker_alloc(struct worker *w, unsigned int index)
{
	unsigned int i, n = region / PAGE_SIZE;

	w->index = index;
	init_completion(&w->done);
	prandom_seed_state(&w->rnd, seed * 1000 + index);
	w->e = ext[index % nr_ext];
	w->lba = info[index % nr_ext].lba_bytes;
	w->base = (u64)(index / nr_ext) * region;
	if (w->base + region > info[index % nr_ext].bytes)
		return -ENOSPC;
	w->version = kvcalloc(region / SECTOR, sizeof(u32), GFP_KERNEL);
	w->page = kvcalloc(n, sizeof(*w->page), GFP_KERNEL);
	w->sg = kvcalloc(region / SECTOR + 1, sizeof(*w->sg), GFP_KERNEL);
	if (!w->version || !w->page || !w->sg)
		return -ENOMEM;
	for (i = 0; i < n; i++) {
		w->page[i] = alloc_page(GFP_KERNEL);
		if (!w->page[i])
			return -ENOMEM;
	}
	for (i = n - 1; i; i--) {
		unsigned int j = rnd(w, i + 1);

		swap(w->page[i], w->page[j]);
	}
	w->buf = vmap(w->page, n, VM_MAP, PAGE_KERNEL);
	return w->buf ? 0 : -ENOMEM;
}

static int run_workers(void)
{
	struct worker *w = kcalloc(qd, sizeof(*w), GFP_KERNEL);
	unsigned int i, started = 0;
	int ret = 0;

	if (!w)
		return -ENOMEM;
	for (i = 0; i < qd && !ret; i++)
		ret = worker_alloc(&w[i], i);
	for (i = 0; i < qd && !ret; i++) {
		w[i].task = kthread_run(worker_run, &w[i], "rddatest/%u", i);
		if (IS_ERR(w[i].task))
			ret = PTR_ERR(w[i].task);
		else
			started++;
	}
	for (i = 0; i < started; i++)
		wait_for_completion(&w[i].done);
	for (i = 0; i < qd; i++)
		worker_free(&w[i]);
	kfree(w);
	if (!ret && atomic_read(&bad))
		ret = -EIO;
	return ret;
}

/* bench: each stream sends its next I/O when one is done */
struct stream {
	struct rdda_io io;
	struct scatterlist sg;
	struct page *page;
};

static atomic_t to_do, running;
static DECLARE_COMPLETION(bench_over);
static struct rnd_state bench_rnd;

static void bench_next(struct stream *s)
{
	u64 blocks = min_t(u64, info[0].bytes, 128 << 20) / bs;

	s->io.addr = (u64)(prandom_u32_state(&bench_rnd) % (u32)blocks) * bs;
	rdda_submit(ext[0], &s->io);
	rdda_commit(ext[0], s->io.queue);
}

static void bench_done(struct rdda_io *io, int err)
{
	struct stream *s = container_of(io, struct stream, io);

	if (err)
		atomic_inc(&bad);
	if (!err && atomic_dec_return(&to_do) >= 0)
		bench_next(s);
	else if (atomic_dec_and_test(&running))
		complete(&bench_over);
}

static void bench_report(u64 ns, const struct rdda_target_info *a, const struct rdda_target_info *b)
{
	u64 n = max(nops, 1U);

	pr_info("bench %s bs=%u qd=%u: %llu ns each, %llu/s; per 1000: %llu commands %llu sends %llu writes %llu reads %llu pushes\n",
		write ? "write" : "read", bs, qd, div_u64(ns, n), div64_u64(n * NSEC_PER_SEC, ns),
		div_u64((b->commands - a->commands) * 1000, n),
		div_u64((b->sends - a->sends) * 1000, n),
		div_u64((b->writes - a->writes) * 1000, n),
		div_u64((b->reads - a->reads) * 1000, n),
		div_u64((b->pushes - a->pushes) * 1000, n));
}

static int bench(void)
{
	struct stream *streams = kcalloc(qd, sizeof(*streams), GFP_KERNEL);
	struct rdda_target_info a, b;
	unsigned int i;
	ktime_t t;
	int ret = 0;

	if (!streams)
		return -ENOMEM;
	prandom_seed_state(&bench_rnd, seed);
	for (i = 0; i < qd; i++) {
		streams[i].page = alloc_pages(GFP_KERNEL | __GFP_ZERO, get_order(bs));
		if (!streams[i].page) {
			ret = -ENOMEM;
			goto out;
		}
		sg_init_table(&streams[i].sg, 1);
		sg_set_page(&streams[i].sg, streams[i].page, bs, 0);
		streams[i].io.op = write ? RDDA_WRITE : RDDA_READ;
		streams[i].io.queue = i;
		streams[i].io.len = bs;
		streams[i].io.sg = &streams[i].sg;
		streams[i].io.nents = 1;
		streams[i].io.done = bench_done;
	}
	atomic_set(&to_do, nops - qd);
	atomic_set(&running, qd);
	rdda_target_info(target, &a);
	t = ktime_get();
	for (i = 0; i < qd; i++)
		bench_next(&streams[i]);
	wait_for_completion(&bench_over);
	t = ktime_sub(ktime_get(), t);
	rdda_target_info(target, &b);
	bench_report(ktime_to_ns(t), &a, &b);
	ret = atomic_read(&bad) ? -EIO : 0;
out:
	for (i = 0; i < qd; i++)
		if (streams[i].page)
			__free_pages(streams[i].page, get_order(bs));
	kfree(streams);
	return ret;
}

/* pressure: blocks of 64 KiB, each with its number everywhere */
#define PRESS_BYTES	SZ_64K

struct press {
	struct sync_io s;
	struct scatterlist sg;
	u8	*buf;
	struct rdda_stage *stage;
};

static void press_begin(struct press *p, enum rdda_io_op op, u32 block, u8 flags, bool staged)
{
	memset(&p->s.io, 0, sizeof(p->s.io));
	sg_init_one(&p->sg, p->buf, PRESS_BYTES);
	p->s.io.op = op;
	p->s.io.flags = flags;
	p->s.io.addr = (u64)block * PRESS_BYTES;
	p->s.io.len = PRESS_BYTES;
	p->s.io.sg = &p->sg;
	p->s.io.nents = 1;
	p->s.io.stage = staged ? p->stage : NULL;
	p->s.io.done = sync_done;
	init_completion(&p->s.done);
	rdda_submit(ext[0], &p->s.io);
}

static int press_io(struct press *p, enum rdda_io_op op, u32 block, u8 flags, bool staged)
{
	press_begin(p, op, block, flags, staged);
	rdda_commit(ext[0], 0);
	wait_for_completion(&p->s.done);
	return p->s.err;
}

/* Stages while there is room: three quarters of the channel's arena. Return: how many. */
static int press_stages(struct press *all, u32 most)
{
	u32 n;
	int err;

	for (n = 0; n < most; n++) {
		memset(all[n].buf, n + 1, PRESS_BYTES);
		err = press_io(&all[n], RDDA_WRITE, n, RDDA_IO_STAGE, false);
		if (err)
			return err;
		all[n].stage = all[n].s.io.stage;
		if (!all[n].stage)
			break;
	}
	return n;
}

/* More at once than there is room for beside the stages. Return: 0 or an error. */
static int press_load(struct press *all, u32 n)
{
	int err = 0;
	u32 i;

	for (i = 0; i < n; i++)
		press_begin(&all[i], RDDA_WRITE, i, 0, false);
	rdda_commit(ext[0], 0);
	for (i = 0; i < n; i++) {
		wait_for_completion(&all[i].s.done);
		err = err ?: all[i].s.err;
	}
	return err;
}

/* What is left of them has their bytes; those that have gone are the oldest. */
static int press_check(struct press *all, u32 n, u32 base, u32 gone)
{
	int err, ret = 0;
	u32 i;

	for (i = 0; i < n; i++) {
		memset(all[i].buf, 0xee, PRESS_BYTES);
		err = press_io(&all[i], RDDA_WRITE, base + i, 0, true);
		rdda_stage_put(all[i].stage);
		if (err != (i < gone ? -ESTALE : 0)) {
			pr_err("stage %u of %u: error %d, %u should be dropped\n", i, n, err, gone);
			ret = -EBADMSG;
		}
		if (err)
			continue;
		err = press_io(&all[i], RDDA_READ, base + i, 0, false);
		if (err || memchr_inv(all[i].buf, i + 1, PRESS_BYTES)) {
			pr_err("stage %u of %u: error %d, or it has other bytes\n", i, n, err);
			ret = -EBADMSG;
		}
	}
	return ret;
}

static int pressure(void)
{
	struct rdda_target_info i;
	struct press *all;
	u32 blocks, n;
	int ret, err;

	rdda_target_info(target, &i);
	blocks = i.arena_bytes / i.channels / PRESS_BYTES;
	all = kvcalloc(2 * blocks, sizeof(*all), GFP_KERNEL);
	for (n = 0; all && n < 2 * blocks; n++) {
		all[n].buf = kmalloc(PRESS_BYTES, GFP_KERNEL);
		if (!all[n].buf)
			break;
	}
	ret = all && n == 2 * blocks ? press_stages(all, blocks) : -ENOMEM;
	if (ret >= 0) {
		pr_info("%d of %u blocks are staged\n", ret, blocks);
		n = ret;
		/* what is free and half of these, all before one of them is sent: below 16 */
		err = n == blocks / 4 * 3 ? press_load(all + n, blocks - n + n / 2) : -EBADMSG;
		ret = press_check(all, n, 2 * blocks, n / 2) ?: err;
	}
	for (n = 0; all && n < 2 * blocks; n++)
		kfree(all[n].buf);
	kvfree(all);
	return ret;
}

static int open_all(void)
{
	char *list = kstrdup(extents, GFP_KERNEL), *at = list, *one;
	struct rdda_want want = { .rw = !ro, .epoch = 1 };
	int ret = 0;
	uuid_t u;

	if (!list)
		return -ENOMEM;
	while (!ret && (one = strsep(&at, ",")) && nr_ext < EXTENTS_MAX) {
		if (!*one)
			continue;
		ret = uuid_parse(one, &u);
		if (ret)
			break;
		ext[nr_ext] = rdda_extent_open(target, &u, &uuid_null, &want, NULL, NULL);
		if (IS_ERR(ext[nr_ext]))
			ret = PTR_ERR(ext[nr_ext]);
		else
			nr_ext++;
	}
	kfree(list);
	return ret;
}

static int run(void)
{
	struct rdda_target_info i;
	unsigned int n;
	int ret;

	for (n = 0; n < nr_ext; n++) {
		ret = wait_up(ext[n], &info[n]);
		if (ret) {
			rdda_target_info(target, &i);
			pr_err("extent %u is not up: %d; target: %d %s\n", n, ret, i.err, i.reason);
			return ret;
		}
	}
	if (!strcmp(what, "up"))
		return 0;
	if (!nr_ext)
		return -EINVAL;
	if (!strcmp(what, "pressure"))
		return pressure();
	return strcmp(what, "bench") ? run_workers() : bench();
}

static void set_key(struct rdda_key *k, u16 id, const char *text)
{
	k->id = id;
	k->len = min_t(size_t, strlen(text), sizeof(k->key));
	memcpy(k->key, text, k->len);
}

static int __init rddatest_init(void)
{
	struct sockaddr_storage ss = {};
	struct rdda_identity id = { };
	struct rdda_target_info i;
	char service[8];
	int ret;

	ret = rdda_client_init();
	if (ret)
		return ret;
	set_key(&id.key[0], key_id, key);
	set_key(&id.key[1], older_key_id, older_key);
	snprintf(service, sizeof(service), "%u", port);
	ret = uuid_parse(host, &id.host) ?: rdda_client_set_identity(&id) ?:
	      inet_pton_with_scope(&init_net, AF_UNSPEC, addr, service, &ss);
	if (ret)
		goto out_client;
	target = rdda_target_create(&ss, NULL, NULL, NULL);
	if (IS_ERR(target)) {
		ret = PTR_ERR(target);
		goto out_client;
	}
	ret = open_all();
	if (!ret)
		ret = run();
	rdda_target_info(target, &i);
	pr_info("%s: %s %d; %lld KiB, %u lost, %u stale, session %u of %u channels; commands %llu sends %llu writes %llu reads %llu pushes %llu logins %llu behind %u inlines %llu\n",
		what, ret ? "FAILED" : "ok", ret, atomic64_read(&bytes_ok) >> 10,
		atomic_read(&lost), atomic_read(&stale), i.session, i.channels, i.commands, i.sends,
		i.writes, i.reads, i.pushes, i.reconnects, atomic_read(&behind), i.inlines);
	while (nr_ext)
		rdda_extent_close(ext[--nr_ext]);
	rdda_target_destroy(target);
out_client:
	rdda_client_exit();
	return ret ? -EIO : 0;
}

static void __exit rddatest_exit(void)
{
}

module_init(rddatest_init);
module_exit(rddatest_exit);
MODULE_DESCRIPTION("RDDA's client, driven without a block device (test code)");
MODULE_LICENSE("GPL");
