// SPDX-License-Identifier: GPL-2.0-only
/*
 * Commands: checked in the receive buffer, which is in no memory region and so is the target's
 * private copy, or in a copy out of the arena; then turned into bios over arena pages.
 *
 * Acknowledged means durable: a write always carries REQ_FUA. Zeroing and discard cannot, so a
 * flush follows before the command completes.
 */
#define pr_fmt(fmt) "meshtgt: " fmt
#include <linux/mm.h>

#include "rdda/common/fault.h"
#include "rdda/target/arena.h"
#include "rdda/target/channel.h"
#include "rdda/target/cmd.h"
#include "rdda/target/drive.h"
#include "rdda/target/grant.h"
#include "rdda/target/session.h"
#include "rdda/wire.h"

#define ZERO_ORDER	4	/* a run of zeroes for devices that cannot zero */
#define STEP_SECTORS	(1U << 21)

static struct page *zeroes;

static u16 cmd_status(const struct tgt_drive *d, const struct tgt_cmd *c, blk_status_t st)
{
	if (likely(st == BLK_STS_OK))
		return RDDA_ST_OK;
	if (READ_ONCE(d->state) == TGT_DRIVE_GONE || !tgt_drive_there(d))
		return RDDA_ST_GONE;
	switch (st) {
	case BLK_STS_NOTSUPP:
		return RDDA_ST_INVALID_FIELD;
	case BLK_STS_MEDIUM:
	case BLK_STS_PROTECTION:
		return c->p.opcode == RDDA_OP_READ ? RDDA_ST_READ_ERROR : RDDA_ST_WRITE_FAULT;
	case BLK_STS_NOSPC:
		return RDDA_ST_WRITE_FAULT;
	default:
		return RDDA_ST_INTERNAL;
	}
}

static struct tgt_drive *cmd_drive(const struct tgt_cmd *c)
{
	return c->view->sd->d;
}

static void cmd_end(struct tgt_cmd *c, u16 status)
{
	c->status = status;
	tgt_sched_done(c);
	tgt_push_end(c);
}

/* End a command that has no bio, since its session ends. @c: not counted in tgt_drive.inflight. */
void tgt_cmd_abort(struct tgt_cmd *c)
{
	c->status = RDDA_ST_INTERNAL;
	tgt_push_end(c);
}

static void cmd_bio_done(struct bio *bio)
{
	struct tgt_cmd *c = container_of(bio, struct tgt_cmd, bio);
	bool again = bio->bi_status == BLK_STS_AGAIN && bio->bi_opf & REQ_NOWAIT;
	blk_status_t st = bio->bi_status;

	bio_uninit(bio);
	if (again)		/* out of tags, or frozen: the drive's work may sleep */
		tgt_sched_slow(cmd_drive(c), c);
	else
		cmd_end(c, cmd_status(cmd_drive(c), c, st));
}

/* One step of several has ended: the next step may sleep, so the drive's work submits it. */
static void cmd_step_done(struct bio *bio)
{
	struct tgt_cmd *c = container_of(bio, struct tgt_cmd, bio);
	struct tgt_drive *d = cmd_drive(c);
	enum req_op op = bio_op(bio);
	blk_status_t st = bio->bi_status;

	bio_uninit(bio);
	if (op == REQ_OP_WRITE_ZEROES && (st == BLK_STS_NOTSUPP || st == BLK_STS_TARGET)) {
		/*
		 * The device announced WRITE_ZEROES, but fails it: repeat the step with pages of
		 * zeroes.
		 */
		c->by_pages = true;
		c->at -= c->step;
		c->left += c->step;
		st = BLK_STS_OK;
	}
	if (st || (!c->left && c->flushing))
		cmd_end(c, cmd_status(d, c, st));
	else
		tgt_sched_slow(d, c);
}

static void cmd_bio(struct tgt_cmd *c, blk_opf_t opf, bio_end_io_t *done)
{
	bio_init(&c->bio, cmd_drive(c)->bd, c->vec, TGT_VECS, opf);
	c->bio.bi_end_io = done;
}

static void cmd_step_zeroes(struct tgt_cmd *c)
{
	struct tgt_drive *d = cmd_drive(c);
	blk_opf_t opf = REQ_OP_WRITE_ZEROES;
	sector_t n;

	if (!c->by_pages && bdev_write_zeroes_sectors(d->bd)) {
		if (!c->p.deac)
			opf |= REQ_NOUNMAP;
		cmd_bio(c, opf, cmd_step_done);
		n = min_t(sector_t, c->left, STEP_SECTORS);
		c->bio.bi_iter.bi_size = n << SECTOR_SHIFT;
	} else {
		cmd_bio(c, REQ_OP_WRITE, cmd_step_done);
		for (n = 0; n < c->left && c->bio.bi_vcnt < TGT_VECS;) {
			unsigned int len = min_t(sector_t, (c->left - n) << SECTOR_SHIFT,
						 PAGE_SIZE << ZERO_ORDER);

			__bio_add_page(&c->bio, zeroes, len, 0);
			n += len >> SECTOR_SHIFT;
		}
	}
	c->bio.bi_iter.bi_sector = c->at;
	c->step = n;
	c->at += n;
	c->left -= n;
}

static void cmd_step_discard(struct tgt_cmd *c)
{
	sector_t n = min_t(sector_t, c->left, STEP_SECTORS);

	cmd_bio(c, REQ_OP_DISCARD, cmd_step_done);
	c->bio.bi_iter.bi_sector = c->at;
	c->bio.bi_iter.bi_size = n << SECTOR_SHIFT;
	c->at += n;
	c->left -= n;
}

static bool cmd_is_rw(const struct tgt_cmd *c)
{
	return c->p.opcode == RDDA_OP_READ || c->p.opcode == RDDA_OP_WRITE;
}

/*
 * Add a command's arena pages to its bio. Return: 0, or -ENOSPC when pieces are too small for
 * TGT_VECS.
 */
static int cmd_pages(struct tgt_cmd *c)
{
	struct tgt_session *s = c->ch->s;
	const struct tgt_piece *piece;
	u32 at;

	piece = tgt_arena_piece(&s->arena, &c->p, &at);
	if (likely(piece)) {
		__bio_add_page(&c->bio, piece->page, c->p.bytes, at);
		return 0;
	}
	return tgt_arena_bio(s, &c->bio, c->p.off[0], c->p.len[0]) ?:
	       tgt_arena_bio(s, &c->bio, c->p.off[1], c->p.len[1]);
}

/*
 * Submit a read or write, which is one bio. After BLK_STS_AGAIN the same bytes are submitted again.
 */
static void cmd_rw(struct tgt_cmd *c, blk_opf_t opf)
{
	struct tgt_drive *d = cmd_drive(c);

	if (c->p.opcode == RDDA_OP_READ)
		opf |= REQ_OP_READ;
	else
		opf |= REQ_OP_WRITE | REQ_SYNC | REQ_IDLE |
		       (rdda_fault(RDDA_FAULT_FUA) ? 0 : REQ_FUA);
	cmd_bio(c, opf, cmd_bio_done);
	c->bio.bi_iter.bi_sector = c->p.slba << (d->lba_shift - SECTOR_SHIFT);
	if (WARN_ON_ONCE(cmd_pages(c))) {
		bio_uninit(&c->bio);
		cmd_end(c, RDDA_ST_INTERNAL);
		return;
	}
	submit_bio(&c->bio);
}

/*
 * Submit the next bio of a command that could not be done at once. Context: the drive's work; may
 * sleep for the device.
 */
void tgt_cmd_step(struct tgt_cmd *c)
{
	if (READ_ONCE(c->ch->dead)) {
		cmd_end(c, RDDA_ST_INTERNAL);
		return;
	}
	if (cmd_is_rw(c)) {
		cmd_rw(c, 0);
		return;
	}
	if (!c->left && rdda_fault(RDDA_FAULT_FUA)) {
		cmd_end(c, RDDA_ST_OK);
		return;
	}
	if (c->left && c->p.opcode == RDDA_OP_DSM) {
		cmd_step_discard(c);
	} else if (c->left) {
		cmd_step_zeroes(c);
	} else {
		c->flushing = true;
		cmd_bio(c, REQ_OP_WRITE | REQ_PREFLUSH, cmd_step_done);
	}
	submit_bio(&c->bio);
}

/*
 * Hand a command to its device. @c: counted in tgt_drive.inflight. Does not sleep for a device: the
 * CPU's poller serves other channels and drives too, and keeps their sessions alive. The drive's
 * own work does the rest: commands that cannot be done at once or take several bios, and all
 * commands of a device that may sleep over any bio (nbd, for example; a stacked device is trusted
 * to say so). Context: process.
 */
void tgt_cmd_submit(struct tgt_cmd *c)
{
	struct tgt_drive *d = cmd_drive(c);

	if (cmd_is_rw(c)) {
		if (likely(bdev_nowait(d->bd) && !d->may_sleep))
			cmd_rw(c, REQ_NOWAIT);
		else
			tgt_sched_slow(d, c);
		return;
	}
	c->at = c->p.slba << (d->lba_shift - SECTOR_SHIFT);
	c->left = c->p.blocks << (d->lba_shift - SECTOR_SHIFT);
	c->flushing = false;
	c->by_pages = false;
	tgt_sched_slow(d, c);
}

static void cmd_count(struct tgt_channel *ch, const struct rdda_parsed *p)
{
	tgt_count(ch, TGT_COMMANDS, 1);
	switch (p->opcode) {
	case RDDA_OP_READ:
		tgt_count(ch, TGT_READS, 1);
		tgt_count(ch, TGT_READ_BYTES, p->bytes);
		break;
	case RDDA_OP_WRITE:
		tgt_count(ch, TGT_WRITES, 1);
		tgt_count(ch, TGT_WRITE_BYTES, p->bytes);
		break;
	case RDDA_OP_DSM:
		tgt_count(ch, TGT_DISCARDS, 1);
		break;
	}
}

/*
 * Check a command against limits of the device beyond the wire's. Return: 0 or an enum rdda_status.
 */
static int cmd_device_check(const struct tgt_cmd *c, const struct tgt_drive *d)
{
	if (READ_ONCE(d->state) == TGT_DRIVE_GONE)
		return RDDA_ST_GONE;
	if (c->p.bytes && (c->p.off[0] | c->p.len[0]) &
	    max_t(unsigned int, bdev_dma_alignment(d->bd), SECTOR_SIZE - 1))
		return RDDA_ST_INVALID_FIELD;
	if (c->p.opcode == RDDA_OP_DSM && !bdev_max_discard_sectors(d->bd))
		return RDDA_ST_INVALID_FIELD;
	return 0;
}

/*
 * Take the session's view of a drive, for one command. @gone: set to true if the drive was lost.
 * Any context. Return: a view to be put with tgt_view_put() when the command's last bio is back;
 * NULL when nothing is open on the drive.
 */
static struct tgt_view *cmd_view(struct tgt_session *s, u32 nsid, bool *gone)
{
	struct tgt_view *v = NULL;
	struct tgt_sdrive *sd;

	rcu_read_lock();
	sd = xa_load(&s->grants.drives, nsid);
	if (sd) {
		*gone = READ_ONCE(sd->gone);
		/* A view is replaced before it is killed, so a retry finds the new one. */
		while ((v = rcu_dereference(sd->view)) && !percpu_ref_tryget_live(&v->ref))
			cpu_relax();
	}
	rcu_read_unlock();
	return v;
}

/*
 * Check a command and take its view. @chk: limits of the channel; those of the drive are filled in.
 * @in: the WRITE that carried the command; NULL: a message did. Return: 0, an enum rdda_status, or
 * a negative errno that ends the session.
 */
static int cmd_check(struct tgt_channel *ch, struct tgt_cmd *c, const struct rdda_cmd *raw,
		     struct rdda_check *chk, const struct rdda_inline *in, bool *gone)
{
	int ret;

	c->view = cmd_view(ch->s, le32_to_cpu(raw->nsid), gone);
	if (likely(c->view)) {
		chk->ext = c->view->ext;
		chk->nr_ext = c->view->nr;
		chk->lba_shift = cmd_drive(c)->lba_shift;
	} else {
		chk->nr_ext = 0;
		chk->lba_shift = SECTOR_SHIFT;
	}
	ret = rdda_cmd_parse(raw, chk, &c->p);
	if (ret >= 0 && in && rdda_inline_cmd_check(in, ch->login.features, &c->p))
		return -EPROTO;
	if (c->view && ((ret == RDDA_ST_LBA_RANGE && rdda_fault(RDDA_FAULT_RANGE)) ||
			(ret == RDDA_ST_ACCESS_DENIED && rdda_fault(RDDA_FAULT_ACCESS))))
		ret = 0;
	if (!ret)
		ret = cmd_device_check(c, cmd_drive(c));
	return ret;
}

static struct tgt_cmd *cmd_admit(struct tgt_channel *ch, const struct rdda_cmd *raw,
				 struct rdda_check *chk, const struct rdda_inline *in)
{
	struct llist_node *l = llist_del_first(&ch->cmd.free);
	struct tgt_cmd *c;
	bool gone = false;
	int ret;

	if (!l)
		return ERR_PTR(-EOVERFLOW);
	c = llist_entry(l, struct tgt_cmd, done);
	ret = cmd_check(ch, c, raw, chk, in, &gone);
	if (ret >= 0)	/* the command ends by tgt_push_end() */
		WRITE_ONCE(ch->cmd.taken, ch->cmd.taken + 1);
	if (!ret) {
		c->status = 0;
		cmd_count(ch, &c->p);
		return c;
	}
	if (c->view)
		tgt_view_put(c->view);
	c->view = NULL;
	if (ret < 0) {
		llist_add(&c->done, &ch->cmd.free);
		return ERR_PTR(ret);
	}
	c->status = gone ? RDDA_ST_GONE : ret;
	return c;
}

static void cmd_drop_batch(struct tgt_cmd **batch, unsigned int n)
{
	while (n--)
		tgt_cmd_abort(batch[n]);
}

/*
 * Run the commands of one message. @rb: the receive of the message; posted again before any of the
 * commands can complete, since a completion is the credit for the next message. @cmd: private
 * copies. @in: as for cmd_check(). Return: as for tgt_cmds_msg().
 */
static int cmd_run_batch(struct tgt_channel *ch, struct rdda_buf *rb, const struct rdda_cmd *cmd,
			 unsigned int n, const struct rdda_inline *in)
{
	struct tgt_cmd *batch[RDDA_CMDS_MAX];
	struct rdda_check chk = {
		.max_bytes = RDDA_CMD_BYTES_MAX,
		.arena_off = ch->arena_off,
		.arena_len = ch->arena_len,
		/* Pairs with the release in ctl_bounce(): the rkey is there, too. */
		.bounce_len = smp_load_acquire(&ch->s->bounce.len),
	};
	unsigned int i;
	int ret = 0;

	for (i = 0; i < n; i++) {
		batch[i] = cmd_admit(ch, &cmd[i], &chk, in);
		if (!IS_ERR(batch[i]))
			continue;
		cmd_drop_batch(batch, i);
		tgt_bad_peer(ch, PTR_ERR(batch[i]) == -EOVERFLOW ?
			     "more commands than granted" : "bad command");
		return -EPROTO;
	}
	if (!rdda_fault(RDDA_FAULT_REPOST))
		ret = tgt_rbuf_post(ch, rb);
	if (ret) {
		cmd_drop_batch(batch, n);
		return ret;
	}
	for (i = 0; i < n; i++) {
		if (batch[i]->view)
			tgt_sched_submit(batch[i]);
		else
			tgt_push_end(batch[i]);
	}
	if (rdda_fault(RDDA_FAULT_REPOST)) {
		tgt_push_flush(ch);
		ret = tgt_rbuf_post(ch, rb);
	}
	return ret;
}

/*
 * Run a SEND of commands. @rb: the receive that holds the message. Context: a turn of the channel.
 * Return: 0, or a negative errno after the channel was killed.
 */
int tgt_cmds_msg(struct tgt_channel *ch, struct rdda_buf *rb)
{
	const struct rdda_cmds *m = rb->data;

	return cmd_run_batch(ch, rb, m->cmd, le16_to_cpu(m->hdr.count), NULL);
}

/* Fault: overwrite a command after the copy, as a client may. @at: arena offset, within a page. */
static void cmd_overwrite(const struct tgt_arena *a, u32 at)
{
	if (rdda_fault(RDDA_FAULT_INLINE))
		memset(tgt_arena_at(a, at), 0xff, sizeof(struct rdda_cmd));
}

/*
 * Run the command that came in a WRITE beside its data. @rb: the receive that the WRITE took,
 * empty. @imm: immediate. @len: bytes placed. Context, return: as for tgt_cmds_msg().
 */
int tgt_inline_msg(struct tgt_channel *ch, struct rdda_buf *rb, u32 imm, u32 len)
{
	struct rdda_check chk = { .arena_off = ch->arena_off, .arena_len = ch->arena_len };
	struct rdda_inline in;
	struct rdda_cmd cmd;

	if (rdda_inline_check(imm, len, ch->login.features, &chk, &in)) {
		tgt_bad_peer(ch, "bad immediate");
		return -EPROTO;
	}
	tgt_arena_copy(ch->s, &cmd, in.cmd, sizeof(cmd));
	cmd_overwrite(&ch->s->arena, in.cmd);
	return cmd_run_batch(ch, rb, &cmd, 1, &in);
}

/* Allocate the pages of zeroes. Return: 0 or -ENOMEM. */
int tgt_cmd_init(void)
{
	zeroes = alloc_pages(GFP_KERNEL | __GFP_ZERO | __GFP_COMP, ZERO_ORDER);
	return zeroes ? 0 : -ENOMEM;
}

/* Free the pages of zeroes. */
void tgt_cmd_exit(void)
{
	__free_pages(zeroes, ZERO_ORDER);
}
