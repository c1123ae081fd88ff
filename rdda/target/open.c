// SPDX-License-Identifier: GPL-2.0-only
/* OPEN and CLOSE on the wire, and grants, which meshd has to note in a label before they count. */
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

/* A pending request to meshd to note a grant. */
struct open_pending {
	/*
	 * in open_pending_list; open_pending_lock. The path that removes the entry answers the
	 * client
	 */
	struct list_head	node;
	u64			id;	/* number in netlink */
	struct tgt_channel	*ch;	/* channel to answer; its session is referenced */
	u64			tag;	/* of the answer */
	struct tgt_open_request	req;	/* the client's request */
	struct delayed_work	late;	/* the deadline */
};

static DEFINE_SPINLOCK(open_pending_lock);
static LIST_HEAD(open_pending_list);
static u64 open_last_id;		/* open_pending_lock */

static void opened_send(struct tgt_channel *ch, u64 tag, int status, struct rdda_opened *m)
{
	memset(&m->hdr, 0, sizeof(m->hdr));
	m->hdr.type = RDDA_OPENED;
	m->hdr.len = cpu_to_le32(sizeof(*m));
	m->hdr.tag = cpu_to_le64(tag);
	m->status = status;
	tgt_ctl_send(ch, m, sizeof(*m));
}

static struct open_pending *open_take(u64 id)
{
	struct open_pending *a, *found = NULL;

	spin_lock(&open_pending_lock);
	list_for_each_entry(a, &open_pending_list, node) {
		if (a->id == id) {
			list_del_init(&a->node);
			found = a;
			break;
		}
	}
	spin_unlock(&open_pending_lock);
	return found;
}

static void open_refuse(struct open_pending *a, int status)
{
	struct rdda_opened m = { };

	tgt_grant_clear_pending(&a->req.extent, &m);
	export_uuid(m.extent, &a->req.extent);
	opened_send(a->ch, a->tag, status, &m);
}

static void open_free(struct open_pending *a)
{
	tgt_session_put(a->ch->s);
	kfree(a);
}

static void open_late_work(struct work_struct *work)
{
	struct open_pending *a = container_of(work, struct open_pending, late.work);
	unsigned int noio = memalloc_noio_save();

	if (open_take(a->id)) {
		open_refuse(a, RDDA_OPEN_NO_DAEMON);
		open_free(a);
	}
	memalloc_noio_restore(noio);
}

/* Return: the answer to a client when the label does not allow a grant, or was not written. */
static int open_refused(int err)
{
	switch (err) {
	case -ESTALE:
		return RDDA_OPEN_STALE;
	case -EEXIST:
		return RDDA_OPEN_OLD_ATTACH;
	case -EBUSY:
		return RDDA_OPEN_DRAINING;
	default:
		return RDDA_OPEN_NO_DAEMON;
	}
}

/*
 * meshd noted a grant, or did not. @err: 0, or a negative errno. -ESTALE: the label has a higher
 * epoch; -EEXIST: a higher attach number, or the same of another host; -EBUSY: the host's own
 * kernel has I/O there, not yet ended by a device. Context: process; sleeps. Return: 0, or -ENOENT:
 * too late, or never requested.
 */
int tgt_open_answered(u64 request, int err)
{
	struct open_pending *a = open_take(request);
	struct rdda_opened m;
	int status;

	if (!a)
		return -ENOENT;
	cancel_delayed_work_sync(&a->late);
	if (err) {
		open_refuse(a, open_refused(err));
	} else {
		status = tgt_grant_open(a->ch, &a->req, true, &m);
		if (status >= 0)
			opened_send(a->ch, a->tag, status, &m);
	}
	open_free(a);
	return 0;
}

static int open_start_request(struct tgt_channel *ch, const struct tgt_open_request *req,
			      u64 tag, const uuid_t *drive)
{
	struct open_pending *a = kzalloc(sizeof(*a), GFP_NOIO);
	u64 id;
	int ret;

	if (!a)
		return -ENOMEM;
	a->ch = ch;
	a->tag = tag;
	a->req = *req;
	INIT_DELAYED_WORK(&a->late, open_late_work);
	tgt_session_get(ch->s);
	spin_lock(&open_pending_lock);
	id = ++open_last_id;
	a->id = id;
	list_add_tail(&a->node, &open_pending_list);
	spin_unlock(&open_pending_lock);
	queue_delayed_work(tgt_wq, &a->late, msecs_to_jiffies(TGT_GRANT_MS));
	ret = tgt_nl_grant(id, drive, &ch->s->client.host, req);
	if (!ret)
		return 0;
	/* No meshd is there. If the deadline was faster, open_late_work() has answered. */
	a = open_take(id);
	if (!a)
		return 0;
	cancel_delayed_work_sync(&a->late);
	open_free(a);
	return ret;
}

/* A client requests an extent. @m: a private copy. Context: control work of @ch. */
void tgt_open_msg(struct tgt_channel *ch, const struct rdda_open *m)
{
	struct tgt_open_request req = {
		.epoch = le64_to_cpu(m->epoch),
		.attach = le64_to_cpu(m->attach),
		.served = le64_to_cpu(m->served),
		.rw = m->access == RDDA_RW,
		.preempt = m->hdr.flags & RDDA_OPEN_PREEMPT,
		.again = m->hdr.flags & RDDA_OPEN_AGAIN,
		.numbered = m->hdr.flags & RDDA_OPEN_NUMBERED,
		.probe = m->hdr.flags & RDDA_OPEN_PROBE,
	};
	u64 tag = le64_to_cpu(m->hdr.tag);
	struct rdda_opened out;
	uuid_t drive;
	int status;

	if (rdda_open_check(m)) {
		tgt_bad_peer(ch, "bad OPEN");
		return;
	}
	import_uuid(&req.extent, m->extent);
	status = tgt_grant_open(ch, &req, false, &out);
	if (status < 0)
		return;
	if (status == TGT_OPEN_REQUEST) {
		import_uuid(&drive, out.drive);
		if (!open_start_request(ch, &req, tag, &drive))
			return;
		tgt_grant_clear_pending(&req.extent, &out);
		status = RDDA_OPEN_NO_DAEMON;
	}
	opened_send(ch, tag, status, &out);
}

/* A client is done with an opening. @m: a private copy. Context: control work of @ch. */
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

/* Drop the pending requests to meshd; no session is left. */
void tgt_open_exit(void)
{
	struct open_pending *a;

	for (;;) {
		spin_lock(&open_pending_lock);
		a = list_first_entry_or_null(&open_pending_list, struct open_pending, node);
		if (a)
			list_del_init(&a->node);
		spin_unlock(&open_pending_lock);
		if (!a)
			return;
		cancel_delayed_work_sync(&a->late);
		open_free(a);
	}
}
