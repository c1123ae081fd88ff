// SPDX-License-Identifier: GPL-2.0-only
/*
 * OPEN and CLOSE on the wire, and the grants that meshd has to note in a label
 * before they count.
 */
#define pr_fmt(fmt) "meshtgt: " fmt
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "rdda/target/channel.h"
#include "rdda/target/grant.h"
#include "rdda/target/netlink.h"
#include "rdda/target/session.h"
#include "rdda/target/tgt.h"
#include "rdda/wire.h"

#define TGT_GRANT_MS		5000

/**
 * struct asked - a pending request to meshd to note a grant
 * @node: in asked_list; asked_lock. The path that takes it off answers the client
 * @id: number in netlink
 * @ch: channel to answer; its session is referenced
 * @tag: of that answer
 * @ask: what the client wants
 * @late: the deadline
 */
struct asked {
	struct list_head	node;
	u64			id;
	struct tgt_channel	*ch;
	u64			tag;
	struct tgt_ask		ask;
	struct delayed_work	late;
};

static DEFINE_SPINLOCK(asked_lock);
static LIST_HEAD(asked_list);
static u64 asked_id;		/* asked_lock */

static void opened_send(struct tgt_channel *ch, u64 tag, int status, struct rdda_opened *m)
{
	memset(&m->hdr, 0, sizeof(m->hdr));
	m->hdr.type = RDDA_OPENED;
	m->hdr.len = cpu_to_le32(sizeof(*m));
	m->hdr.tag = cpu_to_le64(tag);
	m->status = status;
	tgt_ctl_send(ch, m, sizeof(*m));
}

static struct asked *asked_take(u64 id)
{
	struct asked *a, *found = NULL;

	spin_lock(&asked_lock);
	list_for_each_entry(a, &asked_list, node) {
		if (a->id == id) {
			list_del_init(&a->node);
			found = a;
			break;
		}
	}
	spin_unlock(&asked_lock);
	return found;
}

static void asked_refuse(struct asked *a, int status)
{
	struct rdda_opened m = { };

	tgt_grant_unask(&a->ask.extent);
	export_uuid(m.extent, &a->ask.extent);
	opened_send(a->ch, a->tag, status, &m);
}

static void asked_free(struct asked *a)
{
	tgt_session_put(a->ch->s);
	kfree(a);
}

static void late_work(struct work_struct *work)
{
	struct asked *a = container_of(work, struct asked, late.work);
	unsigned int noio = memalloc_noio_save();

	if (asked_take(a->id)) {
		asked_refuse(a, RDDA_OPEN_NO_DAEMON);
		asked_free(a);
	}
	memalloc_noio_restore(noio);
}

/**
 * tgt_open_answered() - meshd noted a grant, or did not
 * @request: its number
 * @err: 0, or a negative errno: -ESTALE means the label knows a higher generation
 *
 * Context: process; sleeps. Return: 0, or -ENOENT: too late, or never requested.
 */
int tgt_open_answered(u64 request, int err)
{
	struct asked *a = asked_take(request);
	struct rdda_opened m;
	int status;

	if (!a)
		return -ENOENT;
	cancel_delayed_work_sync(&a->late);
	if (err) {
		asked_refuse(a, err == -ESTALE ? RDDA_OPEN_STALE : RDDA_OPEN_NO_DAEMON);
	} else {
		status = tgt_grant_open(a->ch, &a->ask, true, &m);
		if (status >= 0)
			opened_send(a->ch, a->tag, status, &m);
	}
	asked_free(a);
	return 0;
}

static int asked_start(struct tgt_channel *ch, const struct tgt_ask *ask, u64 tag,
		       const uuid_t *drive)
{
	struct asked *a = kzalloc(sizeof(*a), GFP_NOIO);
	u64 id;
	int ret;

	if (!a)
		return -ENOMEM;
	a->ch = ch;
	a->tag = tag;
	a->ask = *ask;
	INIT_DELAYED_WORK(&a->late, late_work);
	tgt_session_get(ch->s);
	spin_lock(&asked_lock);
	id = ++asked_id;
	a->id = id;
	list_add_tail(&a->node, &asked_list);
	spin_unlock(&asked_lock);
	queue_delayed_work(tgt_wq, &a->late, msecs_to_jiffies(TGT_GRANT_MS));
	ret = tgt_nl_grant(id, drive, &ask->extent, &ch->s->host, ask->generation, ask->rw);
	if (!ret)
		return 0;
	/* No meshd is there. When the deadline was faster, it has answered. */
	a = asked_take(id);
	if (!a)
		return 0;
	cancel_delayed_work_sync(&a->late);
	asked_free(a);
	return ret;
}

/**
 * tgt_open_msg() - a client wants an extent
 * @ch: channel
 * @m: message, a private copy
 *
 * Context: control work of @ch.
 */
void tgt_open_msg(struct tgt_channel *ch, const struct rdda_open *m)
{
	struct tgt_ask ask = {
		.generation = le64_to_cpu(m->generation),
		.rw = m->access == RDDA_RW,
		.preempt = m->hdr.flags & RDDA_OPEN_PREEMPT,
		.again = m->hdr.flags & RDDA_OPEN_AGAIN,
	};
	u64 tag = le64_to_cpu(m->hdr.tag);
	struct rdda_opened out;
	uuid_t drive;
	int status;

	if ((m->access != RDDA_RO && m->access != RDDA_RW) ||
	    m->hdr.flags & ~(RDDA_OPEN_PREEMPT | RDDA_OPEN_AGAIN) ||
	    memchr_inv(m->reserved, 0, sizeof(m->reserved))) {
		tgt_bad_peer(ch, "bad OPEN");
		return;
	}
	import_uuid(&ask.extent, m->extent);
	status = tgt_grant_open(ch, &ask, false, &out);
	if (status < 0)
		return;
	if (status == TGT_OPEN_ASK) {
		import_uuid(&drive, out.drive);
		if (!asked_start(ch, &ask, tag, &drive))
			return;
		tgt_grant_unask(&ask.extent);
		status = RDDA_OPEN_NO_DAEMON;
	}
	opened_send(ch, tag, status, &out);
}

/**
 * tgt_close_msg() - a client is done with an opening
 * @ch: channel
 * @m: message, a private copy
 *
 * Context: control work of @ch.
 */
void tgt_close_msg(struct tgt_channel *ch, const struct rdda_close *m)
{
	struct rdda_close out = {
		.hdr.type = RDDA_CLOSED,
		.hdr.len = cpu_to_le32(sizeof(out)),
		.hdr.tag = m->hdr.tag,
		.handle = m->handle,
		.status = cpu_to_le32(RDDA_OPEN_NO_EXTENT),
	};

	/* A handle may have been revoked meanwhile: that is not an error. */
	if (tgt_grant_close(ch, le32_to_cpu(m->handle), le64_to_cpu(m->hdr.tag)))
		tgt_ctl_send(ch, &out, sizeof(out));
}

/**
 * tgt_open_init() - no request to meshd is pending yet
 *
 * Return: 0.
 */
int tgt_open_init(void)
{
	return 0;
}

/**
 * tgt_open_exit() - drop the pending requests to meshd; no session is left
 */
void tgt_open_exit(void)
{
	struct asked *a;

	for (;;) {
		spin_lock(&asked_lock);
		a = list_first_entry_or_null(&asked_list, struct asked, node);
		if (a)
			list_del_init(&a->node);
		spin_unlock(&asked_lock);
		if (!a)
			return;
		cancel_delayed_work_sync(&a->late);
		asked_free(a);
	}
}
