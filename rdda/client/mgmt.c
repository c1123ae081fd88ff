// SPDX-License-Identifier: GPL-2.0-only
/*
 * Management messages: bytes between the two meshd, which the kernels only
 * carry, in fragments with the tag of their request.
 *
 * Fragments have no answers of their own. After a few of them a PING is sent
 * and its PONG awaited: the target takes messages in order and posts each
 * receive again first, so the PONG says that there is room.
 */
#define pr_fmt(fmt) "rdda: " fmt
#include <linux/slab.h>

#include "rdda/client/client.h"

#define MGMT_TIMEOUT_MS	5000
#define MGMT_WINDOW	4

struct mgmt_send {
	struct rdda_mgmt hdr;
	u8	data[RDDA_MGMT_FRAG];
};

static_assert(sizeof(struct mgmt_send) == RDDA_MSG_MAX, "a fragment fills a message");

static int fragment_send(struct rdda_session *s, struct mgmt_send *m, u64 tag, const void *req,
			 u32 total, u32 off, unsigned long *left)
{
	u32 n = min_t(u32, total - off, RDDA_MGMT_FRAG);
	int ret;

	memset(&m->hdr, 0, sizeof(m->hdr));
	m->hdr.hdr.type = RDDA_MGMT;
	m->hdr.hdr.len = cpu_to_le32(sizeof(m->hdr) + n);
	m->hdr.hdr.tag = cpu_to_le64(tag);
	m->hdr.total = cpu_to_le32(total);
	m->hdr.off = cpu_to_le32(off);
	memcpy(m->data, req + off, n);
	*left = wait_event_timeout(s->wait,
				   (ret = rdda_control_send(s->chan[0], m, sizeof(m->hdr) + n)) !=
				   -EAGAIN, *left);
	return ret == -EAGAIN ? -ETIMEDOUT : ret;
}

static int ping_wait(struct rdda_session *s, unsigned long *left)
{
	struct rdda_hdr ping = { .type = RDDA_PING, .len = cpu_to_le32(sizeof(ping)) }, pong;
	unsigned long end = jiffies + *left;
	int ret;

	ret = rdda_call(s, &ping, sizeof(ping), RDDA_PONG, &pong, sizeof(pong),
			jiffies_to_msecs(*left));
	*left = time_before(jiffies, end) ? end - jiffies : 0;
	return ret;
}

/* All of the request; what it holds of the session's room it gives back. */
static int request_send(struct rdda_session *s, struct mgmt_send *m, u64 tag, const void *req,
			u32 total, unsigned long *left)
{
	unsigned int held = 0;
	u32 off = 0;
	int ret;

	do {
		ret = rdda_room_take(s, left);
		if (ret)
			break;
		held++;
		ret = fragment_send(s, m, tag, req, total, off, left);
		if (ret)
			break;
		off += min_t(u32, total - off, RDDA_MGMT_FRAG);
		if (held < MGMT_WINDOW && off < total)
			continue;
		ret = ping_wait(s, left);
		if (!ret) {
			rdda_room_give(s, held);
			held = 0;
		}
	} while (!ret && off < total);
	/* Unanswered fragments hold their room until the session ends. */
	if (ret && held && ret != -ETIMEDOUT)
		rdda_room_give(s, held);
	return ret;
}

/* rdda_mgmt() - one management message and its answer; see rdda.h */
int rdda_mgmt(struct rdda_target *t, const void *req, size_t req_len, void **rsp, size_t *rsp_len)
{
	unsigned long left = msecs_to_jiffies(MGMT_TIMEOUT_MS);
	struct rdda_call c = { .type = RDDA_MGMT, .rsp_max = RDDA_MGMT_MAX };
	struct rdda_session *s;
	struct mgmt_send *m;
	int ret;

	if (!req_len || req_len > RDDA_MGMT_MAX)
		return -EMSGSIZE;
	s = rdda_session_get(t);
	if (!s)
		return -ENOTCONN;
	m = kmalloc(sizeof(*m), GFP_KERNEL);
	c.rsp = kvzalloc(RDDA_MGMT_MAX, GFP_KERNEL);
	ret = -ENOMEM;
	if (!m || !c.rsp)
		goto out;
	rdda_call_start(s, &c);
	ret = request_send(s, m, c.tag, req, req_len, &left);
	ret = rdda_call_wait(s, &c, ret ? 0 : left) ?: ret;
	if (ret == -ENOLINK)
		ret = -ENOTCONN;
	if (!ret) {
		*rsp = c.rsp;
		*rsp_len = c.total;
		c.rsp = NULL;
	}
out:
	kvfree(c.rsp);
	kfree(m);
	rdda_session_put(s);
	return ret;
}

/**
 * rdda_mgmt_recv() - a fragment of an answer came
 * @s: session
 * @m: the message; its sizes were checked
 * @len: its bytes
 *
 * CQ handler. Fragments come in order. One for no call is late: dropped.
 */
void rdda_mgmt_recv(struct rdda_session *s, const struct rdda_mgmt *m, size_t len)
{
	u32 total = le32_to_cpu(m->total), status = le32_to_cpu(m->status);
	u32 n = len - sizeof(*m);
	struct rdda_call *c;
	unsigned long flags;
	bool bad = false;

	spin_lock_irqsave(&s->call_lock, flags);
	list_for_each_entry(c, &s->calls, node) {
		if (c->tag != le64_to_cpu(m->hdr.tag))
			continue;
		if (c->type != RDDA_MGMT || le32_to_cpu(m->off) != c->got ||
		    (c->got && total != c->total)) {
			bad = true;
			break;
		}
		c->total = total;
		memcpy(c->rsp + c->got, m->data, n);
		c->got += n;
		if (c->got < total && !status)
			break;
		list_del_init(&c->node);
		c->err = status ? -(int)min_t(u32, status, MAX_ERRNO) : 0;
		complete(&c->done);
		break;
	}
	spin_unlock_irqrestore(&s->call_lock, flags);
	if (bad)
		rdda_session_fail(s, -EPROTO, "a management fragment out of order");
}
