// SPDX-License-Identifier: GPL-2.0-only
/*
 * Messages between the two meshds, which the kernels only carry: fragments are
 * put together here, handed to the socket that said SERVE, and its answer is
 * cut up again. With nobody there the client hears so at once.
 *
 * A request is found by its number, which meshd's answer names. It belongs to
 * its session and ends with it.
 */
#define pr_fmt(fmt) "meshtgt: " fmt
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "rdda/target/tgt.h"

#define MGMT_OPEN_MAX	8	/* requests of a session at a time */

/**
 * struct request - one message on its way
 * @node: in tgt_session.mgmt; mgmt_lock. Who takes it off answers it
 * @id: number in netlink
 * @ch: where it came; its session is referenced
 * @tag: of the client
 * @total: bytes
 * @got: bytes so far; mgmt_lock
 * @whole: all are here; mgmt_lock
 * @err: answer, negative errno; @data and @len when 0
 * @data: the message, then its answer
 * @len: bytes of the answer
 * @work: hands it over
 * @answer: sends the answer
 * @late: the deadline
 */
struct request {
	struct list_head	node;
	u64			id;
	struct tgt_channel	*ch;
	u64			tag;
	u32			total;
	u32			got;
	bool			whole;
	int			err;
	void			*data;
	size_t			len;
	struct work_struct	work;
	struct work_struct	answer;
	struct delayed_work	late;
};

static DEFINE_SPINLOCK(mgmt_lock);
static u64 mgmt_id;		/* mgmt_lock */

static int fragment_send(struct tgt_channel *ch, u64 tag, const void *data, u32 total, u32 off,
			 u32 n, int err)
{
	u8 buf[RDDA_MSG_MAX] __aligned(8);
	struct rdda_mgmt *m = (struct rdda_mgmt *)buf;

	memset(m, 0, sizeof(*m));
	m->hdr.type = RDDA_MGMT;
	m->hdr.flags = RDDA_MGMT_REPLY;
	m->hdr.len = cpu_to_le32(sizeof(*m) + n);
	m->hdr.tag = cpu_to_le64(tag);
	m->total = cpu_to_le32(total);
	m->off = cpu_to_le32(off);
	m->status = cpu_to_le32(-err);
	if (n)
		memcpy(m->data, data + off, n);
	return tgt_ctl_send(ch, m, sizeof(*m) + n);
}

/* Under tgt_channel.answer: a long answer goes at the client's pace. */
static int fragments_pace(struct tgt_channel *ch, u64 tag)
{
	int ret = 0;

	reinit_completion(&ch->pong);
	WRITE_ONCE(ch->pong_tag, tag);
	if (READ_ONCE(ch->dead))
		return -ESHUTDOWN;
	ret = tgt_ctl_pong(ch, RDDA_PING, tag);
	if (!ret && !wait_for_completion_timeout(&ch->pong, msecs_to_jiffies(TGT_MGMT_MS)))
		ret = -ETIMEDOUT;
	return ret;
}

static void request_free(struct request *r)
{
	tgt_session_put(r->ch->s);
	kvfree(r->data);
	kfree(r);
}

static void answer_work(struct work_struct *work)
{
	struct request *r = container_of(work, struct request, answer);
	unsigned int noio = memalloc_noio_save();
	u32 off = 0, n, sent = 0;
	int ret = 0;

	if (r->err || r->len > RDDA_MGMT_MAX)
		r->len = 0;
	mutex_lock(&r->ch->answer);
	do {
		n = min_t(size_t, r->len - off, RDDA_MGMT_FRAG);
		ret = fragment_send(r->ch, r->tag, r->data, r->len, off, n, r->err);
		off += n;
		if (!ret && ++sent % (TGT_CONTROLS - 2) == 0 && off < r->len)
			ret = fragments_pace(r->ch, r->tag);
	} while (!ret && off < r->len);
	mutex_unlock(&r->ch->answer);
	request_free(r);
	memalloc_noio_restore(noio);
}

/* Off the list: nobody else answers it. */
static bool request_take(struct request *r)
{
	struct tgt_session *s = r->ch->s;
	bool mine;

	spin_lock(&mgmt_lock);
	mine = !list_empty(&r->node);
	list_del_init(&r->node);
	if (mine)
		s->mgmt_nr--;
	spin_unlock(&mgmt_lock);
	return mine;
}

static void late_work(struct work_struct *work)
{
	struct request *r = container_of(work, struct request, late.work);

	if (!request_take(r))
		return;
	cancel_work_sync(&r->work);
	r->err = -ETIMEDOUT;
	queue_work(tgt_wq, &r->answer);
}

/* The whole message is here. meshd may answer before this returns. */
static void serve_work(struct work_struct *work)
{
	struct request *r = container_of(work, struct request, work);
	unsigned int noio = memalloc_noio_save();
	int ret;

	ret = tgt_nl_mgmt(r->ch->s, r->id, r->data, r->total);
	memalloc_noio_restore(noio);
	if (!ret || !request_take(r))
		return;
	cancel_delayed_work_sync(&r->late);
	r->err = ret;
	queue_work(tgt_wq, &r->answer);
}

/*
 * One more fragment. Under the lock all along: off the list, the request would
 * be somebody else's.
 *
 * Return: 0, -ENOENT, or -EPROTO when it is not the next one.
 */
static int request_add(struct tgt_channel *ch, const struct rdda_mgmt *m, u32 n)
{
	u64 tag = le64_to_cpu(m->hdr.tag);
	struct request *r;
	int ret = -ENOENT;

	spin_lock(&mgmt_lock);
	list_for_each_entry(r, &ch->s->mgmt, node) {
		if (r->tag != tag || r->ch != ch || r->whole)
			continue;
		ret = -EPROTO;
		if (le32_to_cpu(m->off) != r->got || le32_to_cpu(m->total) != r->total)
			break;
		ret = 0;
		memcpy(r->data + r->got, m->data, n);
		r->got += n;
		r->whole = r->got == r->total;
		if (r->whole)
			queue_work(tgt_wq, &r->work);
		break;
	}
	spin_unlock(&mgmt_lock);
	return ret;
}

static int request_create(struct tgt_channel *ch, u64 tag, u32 total)
{
	struct tgt_session *s = ch->s;
	struct request *r;
	bool full;

	r = kzalloc(sizeof(*r), GFP_NOIO);
	if (!r)
		return -ENOMEM;
	r->data = kvmalloc(max(total, 1U), GFP_NOIO);
	if (!r->data) {
		kfree(r);
		return -ENOMEM;
	}
	r->ch = ch;
	r->tag = tag;
	r->total = total;
	INIT_WORK(&r->work, serve_work);
	INIT_WORK(&r->answer, answer_work);
	INIT_DELAYED_WORK(&r->late, late_work);
	tgt_session_get(s);
	spin_lock(&mgmt_lock);
	full = s->mgmt_nr >= MGMT_OPEN_MAX || tgt_session_state(s) != TGT_LIVE;
	if (!full) {
		r->id = ++mgmt_id;
		s->mgmt_nr++;
		list_add_tail(&r->node, &s->mgmt);
		queue_delayed_work(tgt_wq, &r->late, msecs_to_jiffies(TGT_MGMT_MS));
	}
	spin_unlock(&mgmt_lock);
	if (!full)
		return 0;
	request_free(r);
	return -EBUSY;
}

/**
 * tgt_mgmt_msg() - a fragment
 * @ch: channel
 * @m: message, copied from before this returns
 * @len: its bytes, checked
 *
 * Context: the channel's work.
 */
void tgt_mgmt_msg(struct tgt_channel *ch, const struct rdda_mgmt *m, size_t len)
{
	u64 tag = le64_to_cpu(m->hdr.tag);
	int ret = 0;

	if (m->hdr.flags || m->status || m->reserved) {
		tgt_bad_peer(ch, "bad management message");
		return;
	}
	if (!m->off) {
		ret = tgt_nl_served() ? request_create(ch, tag, le32_to_cpu(m->total)) :
			-EHOSTDOWN;
		if (ret) {
			fragment_send(ch, tag, NULL, 0, 0, 0, ret);
			return;
		}
	}
	/* -ENOENT: answered already, because nobody is there or it took too long. */
	if (request_add(ch, m, len - sizeof(*m)) == -EPROTO)
		tgt_bad_peer(ch, "management fragments out of order");
}

static struct request *request_by_id(u64 id)
{
	struct request *r, *found = NULL;
	struct tgt_session *s;

	lockdep_assert_held(&tgt_lock);
	list_for_each_entry(s, &tgt_sessions, node) {
		spin_lock(&mgmt_lock);
		list_for_each_entry(r, &s->mgmt, node) {
			if (r->id == id && r->whole) {
				list_del_init(&r->node);
				s->mgmt_nr--;
				found = r;
				break;
			}
		}
		spin_unlock(&mgmt_lock);
		if (found)
			break;
	}
	return found;
}

/**
 * tgt_mgmt_reply() - meshd's answer
 * @request: number it was given
 * @err: 0 or a negative errno
 * @data: answer, taken over, freed with kvfree()
 * @len: its bytes
 *
 * Context: process. Return: 0, or -ENOENT: too late (@data is freed).
 */
int tgt_mgmt_reply(u64 request, int err, void *data, size_t len)
{
	struct request *r;

	mutex_lock(&tgt_lock);
	r = request_by_id(request);
	mutex_unlock(&tgt_lock);
	if (!r) {
		kvfree(data);
		return -ENOENT;
	}
	cancel_delayed_work_sync(&r->late);
	cancel_work_sync(&r->work);	/* it may still be in the call that brought us here */
	kvfree(r->data);
	r->data = data;
	r->len = len;
	r->err = err;
	queue_work(tgt_wq, &r->answer);
	return 0;
}

/**
 * tgt_mgmt_end() - a session is over: drop its requests
 * @s: session, its channels stopped
 */
void tgt_mgmt_end(struct tgt_session *s)
{
	struct request *r;

	for (;;) {
		spin_lock(&mgmt_lock);
		r = list_first_entry_or_null(&s->mgmt, struct request, node);
		if (r) {
			list_del_init(&r->node);
			s->mgmt_nr--;
		}
		spin_unlock(&mgmt_lock);
		if (!r)
			return;
		cancel_delayed_work_sync(&r->late);
		cancel_work_sync(&r->work);
		request_free(r);
	}
}

/**
 * tgt_mgmt_init() - nothing is on its way
 *
 * Return: 0.
 */
int tgt_mgmt_init(void)
{
	return 0;
}

/**
 * tgt_mgmt_exit() - wait for the last answers
 */
void tgt_mgmt_exit(void)
{
	flush_workqueue(tgt_wq);
}
