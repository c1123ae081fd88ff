// SPDX-License-Identifier: GPL-2.0-only
/*
 * Parts into the engine, events out of the engine.
 *
 *   waiting --span by span--> ops of the engine --DONE--> out == 0 --> ended
 *      ^                                                     |
 *      '---------- the engine stopped, and time is left -----'
 *
 * A gio is allocated before an event is fetched, so no event lacks a gio. If the scatterlist finds
 * no memory, the I/O ends with -ENOMEM, as if RDDA had no memory for the I/O, and is sent again
 * after another I/O has ended.
 */
#define pr_fmt(fmt) "meshblk: " fmt
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "driver/block/request.h"
#include "driver/block/walk.h"
#include "driver/group/codec.h"
#include "driver/group/group.h"
#include "driver/trace.h"
#include "driver/volume/volume.h"
#include "driver/work.h"

#define IO_EVENTS	64	/* then parts and results get a turn */
#define IO_ZEROES	SZ_64K	/* memory behind PROT_BUFFER_ZERO, repeated as needed */

static void *io_zeroes;
static struct prot_map __percpu *io_maps;	/* scratch of the codec */

/* The request of a part: the part's runs are offsets within the request's data. */
static struct request *io_request(const struct mesh_part *part)
{
	return blk_mq_rq_from_pdu(part->req);
}

static void io_done(struct mesh_mio *mio, int err)
{
	struct mesh_gio *gio = container_of(mio, struct mesh_gio, mio);

	gio->err = err;
	mesh_group_stage_done(gio);
	if (!mesh_abandoned_ended(&gio->left))
		mesh_group_post(gio->group, &gio->msg);
}

/* End a part; after the call of done() the request may be over, and the part gone. */
static void io_part_over(struct mesh_part *part, int err, struct mesh_group_todo *todo)
{
	struct mesh_group_counts *c = &part->group->counts;

	WRITE_ONCE(c->wait_ms, max_t(u64, c->wait_ms, jiffies_to_msecs(jiffies - part->since)));
	trace_mesh_group_done(part, err);
	part->err = err;
	list_del(&part->node);
	part->over = true;
	if (part->left)		/* the last I/O left to a member ends the part: leave.c */
		return;
	part->ended_next = todo->ended;
	todo->ended = part;
}

/* The engine has no piece of the part: all pieces are done, or the engine has stopped. */
static void io_part_idle(struct mesh_group *g, struct mesh_part *part,
			 struct mesh_group_todo *todo)
{
	bool late = time_after_eq(jiffies, part->req->deadline);

	if (part->worst && g->engine->state == PROT_G_STOPPED && !late) {
		part->pos = 0;
		part->worst = 0;
		list_move_tail(&part->node, &g->waiting);
	} else if (part->pos == part->length) {
		io_part_over(part, part->worst, todo);
	}
}

static void io_op_free(struct mesh_group *g, u32 op)
{
	struct mesh_gop *gop = &g->gops[op];

	if (gop->length)
		mesh_group_write_ended(g, gop->addr, gop->length);
	gop->length = 0;
	mesh_group_stages_put(g, op, gop->stages);
}

static void io_piece_done(struct mesh_group *g, const struct prot_event *ev,
			  struct mesh_group_todo *todo)
{
	struct mesh_part *part = g->gops[ev->op].part;

	g->gops[ev->op].part = NULL;
	if (ev->freed)
		io_op_free(g, ev->op);
	if (ev->err && !part->worst)
		part->worst = ev->err;
	if (!--part->out)
		io_part_idle(g, part, todo);
}

/*
 * Give a part to the engine, as far as the engine takes the part. Return: true if nothing is left
 * to give.
 */
static bool io_submit(struct mesh_group *g, struct mesh_part *part)
{
	if (g->overtaken) {
		part->worst = -ESTALE;
		part->pos = part->length;
		return true;
	}
	/* other hosts may have gone on without the members that are here */
	if (g->few && part->kind == PROT_READ)
		return false;
	while (part->pos < part->length) {
		u64 addr = part->addr + part->pos;
		u32 n = min_t(u64, part->length - part->pos,
			      prot_group_span(g->engine, part->kind, addr));
		int op = prot_group_submit(g->engine, part->kind, part->flags, addr, n, 0);
		struct mesh_gop *gop;

		if (op == -EAGAIN || op == -EIO)
			return false;
		/* the disk is read-only then, but a bio may still come */
		if (op == -EROFS || WARN_ON_ONCE(op < 0)) {
			part->worst = op;
			part->pos = part->length;
			return true;
		}
		gop = &g->gops[op];
		gop->part = part;
		gop->at = part->pos;
		gop->addr = addr;
		gop->queue = part->req->queue;
		gop->length = part->kind == PROT_READ ? 0 : n;
		if (part->kind == PROT_READ)
			g->read++;
		else
			mesh_group_write_begins(g, addr, n);
		part->out++;
		part->pos += n;
	}
	return true;
}

static void io_submit_all(struct mesh_group *g, struct mesh_group_todo *todo)
{
	struct mesh_part *part, *next;

	list_for_each_entry_safe(part, next, &g->waiting, node) {
		if (!io_submit(g, part))
			return;
		list_move_tail(&part->node, &g->active);
		if (!part->out)
			io_part_idle(g, part, todo);
	}
}

/* Handle a message of the inbox. */
void mesh_group_take(struct mesh_group *g, struct mesh_group_msg *msg, struct mesh_group_todo *todo)
{
	struct mesh_part *part;
	struct mesh_gio *gio;
	bool stale;

	switch (msg->kind) {
	case MESH_MSG_PART:
		part = container_of(msg, struct mesh_part, msg);
		mesh_group_used(g);
		mesh_group_pace_request(g);
		part->since = jiffies;
		part->left = 0;
		part->over = false;
		part->stale = false;
		trace_mesh_group_submit(part, 0);
		list_add_tail(&part->node, &g->waiting);
		break;
	case MESH_MSG_IO:
		gio = container_of(msg, struct mesh_gio, msg);
		g->flying--;
		if (!gio->twin)
			g->slots[gio->io.member].nr_flying--;
		list_del(&gio->node);
		stale = mesh_group_stage_ended(g, gio);
		if (gio->over && gio->hung)
			prot_group_returned(g->engine, gio->runs[0].buffer);
		if (mesh_group_abandoned(g) || gio->over)
			mesh_group_gio_free(g, gio);
		else if (stale)
			mesh_group_send(g, gio, todo);
		else if (gio->twin)
			mesh_evict_ended(g, gio);
		else
			mesh_group_ended(g, gio, todo);
		break;
	case MESH_MSG_WORK:
		g->flying--;
		if (!mesh_group_abandoned(g))
			prot_group_result(g->engine, container_of(msg, struct mesh_gop, msg)->tag,
					  0);
		break;
	}
}

static void io_event_io(struct mesh_group *g, const struct prot_event *ev,
			struct mesh_group_todo *todo)
{
	struct mesh_group_slot *slot = &g->slots[ev->io.member];
	struct mesh_gio *gio = mesh_group_gio_take(g);

	gio->msg.kind = MESH_MSG_IO;
	gio->group = g;
	gio->io = ev->io;
	memcpy(gio->runs, ev->runs, sizeof(gio->runs));
	gio->op = ev->op;
	/* also after the request's end: use the channel where a stage of the op may be */
	gio->mio.io.queue = ev->op != PROT_NONE16 ? g->gops[ev->op].queue : 0;
	gio->staged = false;
	gio->behind = NULL;
	gio->since = jiffies;
	gio->twin = NULL;
	gio->pooled = false;
	gio->over = false;
	gio->hung = false;
	gio->part = NULL;
	if (slot->failing) {
		mesh_group_deliver(g, gio, -ENOLINK);
		return;
	}
	mesh_group_stage_use(g, gio);
	mesh_group_send(g, gio, todo);
}

static void io_event_work(struct mesh_group *g, const struct prot_event *ev,
			  struct mesh_group_todo *todo)
{
	struct mesh_gop *gop = &g->gops[ev->io.tag >> PROT_TAG_SHIFT];

	gop->msg.kind = MESH_MSG_WORK;
	gop->tag = ev->io.tag;
	gop->copy = ev->copy;
	gop->payload = ev->kind == PROT_EV_COPY ? &g->gops[ev->op] : NULL;
	gop->next = NULL;
	g->flying++;
	*todo->last_work = gop;
	todo->last_work = &gop->next;
}

/* The engine has stopped: end the I/O that waits for a member, so that all I/O can end. */
static void io_event_stopped(struct mesh_group *g)
{
	struct mesh_gio *gio, *next;
	u32 i;

	mesh_group_set_state(g, MESH_GROUP_STOPPED, "too few members answer");
	mesh_evict_stop(g);
	for (i = 0; i < g->width; i++)
		list_splice_tail_init(&g->slots[i].held, &g->starved);
	list_for_each_entry_safe(gio, next, &g->starved, node) {
		list_del(&gio->node);
		mesh_group_deliver(g, gio, -EIO);
	}
}

static void io_event(struct mesh_group *g, const struct prot_event *ev,
		     struct mesh_group_todo *todo)
{
	trace_mesh_group_event(g, ev);
	switch (ev->kind) {
	case PROT_EV_IO:
		io_event_io(g, ev, todo);
		return;
	case PROT_EV_COPY:
	case PROT_EV_CODEC:
		io_event_work(g, ev, todo);
		return;
	case PROT_EV_DONE:
		io_piece_done(g, ev, todo);
		return;
	case PROT_EV_FREE:
		io_op_free(g, ev->op);
		return;
	case PROT_EV_SERVING:
		mesh_group_set_state(g, MESH_GROUP_ACTIVE, NULL);
		io_submit_all(g, todo);
		/* the work joins members that are here and out */
		mod_delayed_work(mesh_wq, &g->start_work, 0);
		break;
	case PROT_EV_EPOCH:
	case PROT_EV_CAUGHT_UP:
		/*
		 * the work item reads from the engine for which members a roster is to be written
		 */
		mod_delayed_work(mesh_wq, &g->start_work, 0);
		break;
	case PROT_EV_STOPPED:
		io_event_stopped(g);
		break;
	default:
		return;
	}
	todo->changed = true;
}

/*
 * True: no I/O, work or op of a stopped engine is left, so the group may begin again. Waiting parts
 * begin again at byte 0.
 */
bool mesh_group_drained(struct mesh_group *g)
{
	struct mesh_part *part;

	if (g->flying || !list_empty(&g->active))
		return false;
	list_for_each_entry(part, &g->waiting, node) {
		if (part->out)
			return false;
		part->pos = 0;
		part->worst = 0;
	}
	return true;
}

/* Submit parts, then fetch events. Return: true if there may be more events. */
bool mesh_group_pull(struct mesh_group *g, struct mesh_group_todo *todo)
{
	struct prot_event ev __mesh_uninit;
	unsigned int n;

	if (g->state == MESH_GROUP_OPENING)
		return false;
	if (g->state == MESH_GROUP_ACTIVE)
		io_submit_all(g, todo);
	for (n = 0; n < IO_EVENTS; n++) {
		if (!mesh_group_gio_spare(g))
			return false;	/* until an I/O has ended */
		prot_group_next(g->engine, &ev);
		if (ev.kind == PROT_EV_NONE) {
			if (g->state == MESH_GROUP_STOPPED && mesh_group_drained(g))
				queue_delayed_work(mesh_wq, &g->start_work, 0);
			return false;
		}
		if (ev.kind == PROT_EV_AGAIN)
			return true;
		io_event(g, &ev, todo);
		/* a slot of an op is free */
		if (ev.kind == PROT_EV_DONE || ev.kind == PROT_EV_FREE)
			io_submit_all(g, todo);
	}
	return true;
}

/* End parts that waited too long, and do regular work. */
void mesh_group_expire(struct mesh_group *g, struct mesh_group_todo *todo)
{
	struct mesh_part *part, *next;

	list_for_each_entry_safe(part, next, &g->waiting, node) {
		if (part->out || time_before(jiffies, part->req->deadline))
			continue;
		/* enough members are here: the part waits for this host's meshd */
		if (g->state == MESH_GROUP_ACTIVE && READ_ONCE(g->witness.waits))
			part->req->deadline = jiffies + mesh_group_member_timeout();
		else
			io_part_over(part, -ENOLINK, todo);
	}
	if (g->state != MESH_GROUP_ACTIVE)
		return;
	mesh_group_pace(g);
	mesh_group_scrub_watch(g);
	if (time_after(jiffies, g->idle_at + 5 * HZ)) {
		g->idle_at = jiffies;
		prot_group_idle(g->engine);
	}
	if (time_after(jiffies, g->hour_at + 3600 * HZ)) {
		g->hour_at = jiffies;
		prot_group_hour(g->engine);
	}
}

/* The group is given up: wait for I/O in flight, or leave I/O to members; all else ends now. */
void mesh_group_give_up(struct mesh_group *g, struct mesh_group_todo *todo)
{
	struct mesh_gio *gio, *next_gio;
	struct mesh_part *part, *next;
	u32 i;

	mesh_evict_stop(g);
	for (i = 0; i < g->width; i++)
		list_splice_tail_init(&g->slots[i].held, &g->starved);
	list_for_each_entry_safe(gio, next_gio, &g->starved, node) {
		list_del(&gio->node);
		mesh_group_gio_free(g, gio);
	}
	if (g->flying)
		mesh_group_leave_all(g);
	if (g->flying)
		return;
	mesh_group_stages_end(g, ~0ULL);
	list_splice_tail_init(&g->active, &g->waiting);
	list_for_each_entry_safe(part, next, &g->waiting, node)
		io_part_over(part, -EIO, todo);
}

static unsigned int io_entries(const struct mesh_gio *gio, struct mesh_group *g)
{
	unsigned int n = 0, i;

	for (i = 0; i < gio->io.nr_runs; i++) {
		const struct prot_run *run = &gio->runs[i];

		if (run->buffer == PROT_BUFFER_REQUEST)
			n += blk_rq_nr_phys_segments(io_request(g->gops[gio->op].part)) +
			     g->gops[gio->op].part->nr_runs;
		else
			n += run->length / PAGE_SIZE + 2;
	}
	return n;
}

static struct scatterlist *io_sg_buffer(struct mesh_group *g, const struct prot_run *run,
					struct scatterlist *sg)
{
	void *buf = prot_group_buffer(g->engine, run->buffer) + run->offset;
	struct page **page = &g->mem->pages[(buf - (void *)g->engine) >> PAGE_SHIFT];
	u32 left = run->length, at = offset_in_page(buf);

	for (; left; at = 0) {
		u32 n = min_t(u32, left, PAGE_SIZE - at);

		sg_set_page(sg++, *page++, n, at);
		left -= n;
	}
	return sg;
}

static struct scatterlist *io_sg_zero(const struct prot_run *run, struct scatterlist *sg)
{
	u32 left = run->length, n;

	for (; left; left -= n) {
		n = min_t(u32, left, IO_ZEROES);
		sg_set_buf(sg++, io_zeroes, n);
	}
	return sg;
}

static struct scatterlist *io_sg_request(const struct mesh_gop *gop, const struct prot_run *run,
					 struct scatterlist *sg)
{
	struct prot_run runs[PROT_RUNS_MAX] __mesh_uninit;
	struct mesh_walk w;
	u32 i, n;

	n = prot_runs_cut(gop->part->runs, gop->part->nr_runs, gop->at + run->offset, run->length,
			  runs);
	mesh_walk_start(&w, io_request(gop->part));
	for (i = 0; i < n; i++) {
		mesh_walk_seek(&w, io_request(gop->part), runs[i].offset);
		sg = mesh_walk_sg(&w, &runs[i], sg);
	}
	return sg;
}

/* Return: 0 or -ENOMEM. */
static int io_sg(struct mesh_group *g, struct mesh_gio *gio)
{
	unsigned int entries = min_t(unsigned int, io_entries(gio, g), MESH_GROUP_SG_MAX), i;
	struct scatterlist *sg = gio->mio.io.sg;

	if (!gio->pooled) {
		sg = gio->sg;
		if (entries > ARRAY_SIZE(gio->sg)) {
			sg = mempool_alloc(&g->sgs, GFP_ATOMIC | __GFP_NOWARN);
			if (!sg)
				return -ENOMEM;
			gio->pooled = true;
		}
	}
	gio->mio.io.sg = sg;
	gio->mio.io.nents = 0;
	if (!gio->io.nr_runs)
		return 0;
	sg_init_table(sg, max_t(unsigned int, entries, 1));
	for (i = 0; i < gio->io.nr_runs; i++) {
		const struct prot_run *run = &gio->runs[i];

		if (run->buffer == PROT_BUFFER_REQUEST)
			sg = io_sg_request(&g->gops[gio->op], run, sg);
		else if (run->buffer == PROT_BUFFER_ZERO)
			sg = io_sg_zero(run, sg);
		else
			sg = io_sg_buffer(g, run, sg);
	}
	gio->mio.io.nents = sg - gio->mio.io.sg;
	sg_mark_end(sg - 1);
	return 0;
}

static void io_start(struct mesh_group *g, struct mesh_gio *gio, struct mesh_batch *batch)
{
	struct mesh_member *m = gio->twin ?: g->slots[gio->io.member].member;
	struct mesh_mio *mio = &gio->mio;
	u16 queue;

	mio->io.addr = gio->io.addr;
	mio->io.len = gio->io.length;
	mio->io.flags = gio->io.kind == PROT_ZEROES && !(gio->io.flags & PROT_NOUNMAP) ?
			RDDA_IO_UNMAP : 0;
	/* a successor's stage would not be found: the successor is no member yet */
	if (gio->io.stage_do == PROT_STAGE_KEEP && !gio->twin)
		mio->io.flags |= RDDA_IO_STAGE;
	mio->op = gio->io.kind;
	mio->stage_offset = gio->io.stage_offset;
	mio->done = io_done;
	/* a write from a stage sends no pages */
	if (!gio->staged && io_sg(g, gio)) {
		io_done(mio, -ENOMEM);
		return;
	}
	queue = mio->io.queue;
	/* nothing of the group is read from here on: pairs with mesh_group_leave() */
	smp_store_release(&gio->sent, true);
	mesh_member_submit(m, mio);	/* the I/O may be gone with the call */
	mesh_batch_add(batch, m, queue);
}

static void io_copy(struct mesh_group *g, const struct mesh_gop *gop)
{
	const struct mesh_gop *src = gop->payload;
	struct prot_run runs[PROT_RUNS_MAX] __mesh_uninit;
	void *buf = prot_group_buffer(g->engine, gop->copy.buffer) + gop->copy.offset;
	struct request *rq = io_request(src->part);
	struct mesh_walk w;
	u32 i, n;

	n = prot_runs_cut(src->part->runs, src->part->nr_runs, src->at + gop->copy.request,
			  gop->copy.length, runs);
	mesh_walk_start(&w, rq);
	for (i = 0; i < n; i++) {
		mesh_walk_seek(&w, rq, runs[i].offset);
		mesh_walk_copy(&w, &runs[i], buf, gop->copy.out);
		buf += runs[i].length;
	}
}

static void io_work(struct mesh_group *g, struct mesh_gop *gop)
{
	u32 op = gop - g->gops;

	if (gop->payload)
		io_copy(g, gop);
	else if (mesh_codec_run(g->engine, op, this_cpu_ptr(io_maps)))
		this_cpu_inc(g->cpu_counts->codec_vector);
	else
		this_cpu_inc(g->cpu_counts->codec_portable);
	mesh_group_post(g, &gop->msg);
}

/* Do the work left by the runner; bottom halves are off. */
void mesh_group_execute(struct mesh_group *g, struct mesh_group_todo *todo)
{
	struct mesh_batch batch = { .n = 0 };
	struct mesh_part *part;
	struct mesh_gio *gio;
	struct mesh_gop *gop;
	u32 i;

	while ((gio = todo->ios)) {
		todo->ios = gio->next;
		io_start(g, gio, &batch);
	}
	mesh_batch_flush(&batch);
	while ((gop = todo->works)) {
		todo->works = gop->next;
		io_work(g, gop);
	}
	for (i = 0; todo->kick >> i; i++)
		if (todo->kick >> i & 1)
			mesh_member_kick(g->slots[i].member);
	if (todo->kick_next) {
		mesh_member_kick(todo->kick_next);
		mesh_member_put_later(todo->kick_next);
	}
	if (todo->changed)
		mesh_volume_changed(g->vol);
	while ((part = todo->ended)) {
		todo->ended = part->ended_next;
		part->done(part, part->err);
	}
}

/* Allocate memory for the engine and the engine's I/O. Sleeps. */
int mesh_group_io_init(struct mesh_group *g)
{
	int err;

	INIT_LIST_HEAD(&g->waiting);
	INIT_LIST_HEAD(&g->active);
	INIT_LIST_HEAD(&g->starved);
	g->mem = mesh_group_mem_alloc(g);
	g->engine = g->mem ? g->mem->engine : NULL;
	g->gops = kvcalloc(g->cfg.ops, sizeof(*g->gops), GFP_KERNEL);
	err = mesh_group_flight_init(g) ?: mesh_group_reads_init(g) ?: mesh_group_stages_init(g);
	g->cpu_counts = alloc_percpu(struct mesh_group_cpu_counts);
	return g->engine && g->gops && g->cpu_counts ? err : -ENOMEM;
}

void mesh_group_io_exit(struct mesh_group *g)
{
	mesh_group_flight_exit(g);
	mesh_group_reads_exit(g);
	free_percpu(g->cpu_counts);
	kvfree(g->stages);
	kvfree(g->gops);
	mesh_group_mem_end(g);
}

int mesh_group_pools_init(void)
{
	int err = mesh_group_flight_pools_init();

	io_zeroes = (void *)__get_free_pages(GFP_KERNEL | __GFP_ZERO, get_order(IO_ZEROES));
	io_maps = alloc_percpu(struct prot_map);
	if (!err && io_zeroes && io_maps)
		return 0;
	mesh_group_pools_exit();
	return -ENOMEM;
}

void mesh_group_pools_exit(void)
{
	free_percpu(io_maps);
	free_pages((unsigned long)io_zeroes, get_order(IO_ZEROES));
	mesh_group_flight_pools_exit();
}
