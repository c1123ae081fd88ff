// SPDX-License-Identifier: GPL-2.0-only
/* The target's answer to OPEN: its check, and its effect on the extent. */
#define pr_fmt(fmt) "rdda: " fmt
#include <linux/log2.h>
#include <linux/random.h>
#include <linux/sizes.h>
#include <linux/slab.h>

#include "rdda/client/extent.h"
#include "rdda/client/session.h"
#include "rdda/client/target.h"
#include "rdda/wire.h"

#define OPENED_DEAD_MOST	(3600U * 1000)	/* a longer dead_ms counts as this: TGT_MS_MOST */

/* Check the target's description of an extent before use. Return: 0 or -EPROTO. */
int rdda_opened_check(const struct rdda_extent *e, const struct rdda_opened *m)
{
	u64 slba = le64_to_cpu(m->slba), blocks = le64_to_cpu(m->blocks);
	u32 max_bytes = le32_to_cpu(m->max_bytes);

	if (memcmp(m->extent, &e->uuid, sizeof(m->extent)))
		return -EPROTO;
	if (m->lba_shift != 9 && m->lba_shift != 12)
		return -EPROTO;
	if (!blocks || slba + blocks < slba || (slba + blocks) >> (63 - m->lba_shift))
		return -EPROTO;
	if (max_bytes < RDDA_PAGE || max_bytes % RDDA_PAGE)
		return -EPROTO;
	if (le32_to_cpu(m->nsid) == U32_MAX)
		return -EPROTO;
	return 0;
}

/* Find the queue of a drive, by its UUID: a drive that comes back has a new NSID. */
static u8 grant_queue(struct rdda_session *s, const u8 *drive, u32 nsid)
{
	unsigned int i;

	for (i = 0; i < s->queues.nr; i++)
		if (!memcmp(&s->queues.drive[i], drive, sizeof(uuid_t)))
			return i;
	if (i == RDDA_DRIVE_QUEUES)
		return nsid % RDDA_DRIVE_QUEUES;
	import_uuid(&s->queues.drive[i], drive);
	WRITE_ONCE(s->queues.nr, i + 1);
	return i;
}

struct rdda_grant *rdda_grant_make(struct rdda_extent *e, struct rdda_session *s,
				   const struct rdda_opened *m)
{
	struct rdda_grant *g = kzalloc(sizeof(*g), GFP_KERNEL);

	if (!g)
		return NULL;
	g->s = s;
	g->number = s->login.number;
	g->nsid = le32_to_cpu(m->nsid);
	g->handle = le32_to_cpu(m->handle);
	g->slba = le64_to_cpu(m->slba);
	g->lba_shift = m->lba_shift;
	g->bytes = le64_to_cpu(m->blocks) << m->lba_shift;
	g->max_bytes = le32_to_cpu(m->max_bytes);
	g->dq = grant_queue(s, m->drive, g->nsid);
	g->rw = e->want.rw;
	return g;
}

/* Replace a size that the block layer would warn about by the LBA size. */
static u32 info_size(u64 bytes, u32 lba_bytes)
{
	if (bytes < lba_bytes || bytes > SZ_1G || !is_power_of_2(bytes))
		return lba_bytes;
	return bytes;
}

static void info_fill(struct rdda_extent *e, const struct rdda_opened *m,
		      const struct rdda_session *s)
{
	struct rdda_extent_info *i = &e->info;
	u16 flags = le16_to_cpu(m->flags);

	memcpy(&i->drive, m->drive, sizeof(i->drive));
	i->lba_bytes = 1U << m->lba_shift;
	i->phys_bytes = info_size(le32_to_cpu(m->phys_bytes), i->lba_bytes);
	i->bytes = le64_to_cpu(m->blocks) << m->lba_shift;
	i->max_bytes = le32_to_cpu(m->max_bytes);
	i->discard_bytes = 0;
	if (flags & RDDA_DRIVE_DISCARD)
		i->discard_bytes = info_size((u64)le32_to_cpu(m->discard_blocks) << m->lba_shift,
					     i->lba_bytes);
	i->write_zeroes = flags & RDDA_DRIVE_WRITE_ZEROES;
	i->rotational = flags & RDDA_DRIVE_ROTATIONAL;
	i->dead_ms = max(s->alive.dead_ms, min(le32_to_cpu(m->dead_ms), OPENED_DEAD_MOST));
}

/*
 * Note the attach number in an answer. The answer to an older OPEN, sent without the number awaited
 * by the user, does not end the user's wait.
 */
static void info_note_attach(struct rdda_extent *e, const struct rdda_opened *m,
			     enum rdda_extent_event ev)
{
	u64 noted = le64_to_cpu(m->attach);

	if (ev == RDDA_EEV_OPENED || m->status == RDDA_OPEN_OLD_ATTACH ||
	    (ev == RDDA_EEV_REFUSED && e->want.numbered)) {
		e->info.attach = noted;
		import_uuid(&e->info.attacher, m->attacher);
	}
	if (m->status == RDDA_OPEN_OLD_ATTACH)
		pr_warn_ratelimited("%pISpc: extent %pUb: attach number %llu is refused: %llu is noted, or that of another host\n",
				    &e->t->addr, &e->uuid, e->open.attach, noted);
	if (e->open.attach != e->want.number)
		return;
	if (ev == RDDA_EEV_OPENED)
		rdda_attach_end(e, 0);
	else if (m->status == RDDA_OPEN_OLD_ATTACH)
		rdda_attach_end(e, -ESTALE);
	/*
	 * The user goes on waiting for a short delay, but not for a label that cannot be written.
	 */
	else if (ev != RDDA_EEV_LATER || m->status == RDDA_OPEN_NO_DAEMON)
		rdda_attach_end(e, -ENOLINK);
}

/*
 * True if a refusal ends the access under the extent's number. Another host's equal number does not
 * end a reader's access.
 */
static bool info_fences(const struct rdda_extent *e, const struct rdda_session *s,
			const struct rdda_opened *m)
{
	bool self = !memcmp(m->attacher, &s->login.host, sizeof(uuid_t));

	return e->want.numbered && m->status == RDDA_OPEN_OLD_ATTACH &&
	       rdda_number_fenced(e->open.attach, e->open.served, le64_to_cpu(m->attach),
				  self || !e->want.rw);
}

/*
 * Apply an answer of session @s to the extent, under the target's lock. Return: a grant to be
 * freed, or NULL.
 */
struct rdda_grant *rdda_opened_apply(struct rdda_extent *e, const struct rdda_session *s,
				     const struct rdda_opened *m, struct rdda_grant *g)
{
	enum rdda_extent_event ev;
	int err;
	u32 ms;

	ev = rdda_open_event(m->status, &err);
	if (ev == RDDA_EEV_OPENED && !g) {	/* no memory: try again */
		ev = RDDA_EEV_LATER;
		err = -ENOMEM;
	}
	memset(&e->info.holder, 0, sizeof(uuid_t));
	info_note_attach(e, m, ev);
	e->fenced = info_fences(e, s, m);
	switch (ev) {
	case RDDA_EEV_OPENED:
		info_fill(e, m, g->s);
		/* The label names this host now. */
		if (e->open.served == e->want.served)
			e->want.served = 0;
		rdda_extent_sort(e);
		e->next.pending = e->reports & EXTENT_RENEW;
		e->next.attempt = 0;
		e->next.again = true;
		/*
		 * If another host takes the extent later, this client must not fence that host in
		 * turn.
		 */
		e->next.preempt = false;
		kfree(e->kept);		/* its opening is the same as the new one, or is gone */
		e->kept = NULL;
		break;
	case RDDA_EEV_LATER:
		ms = rdda_backoff_ms(e->next.attempt++, get_random_u32());
		e->next.due = jiffies + msecs_to_jiffies(ms);
		break;
	case RDDA_EEV_GONE:
		e->next.due = jiffies + msecs_to_jiffies(RDDA_GONE_RETRY_MS);
		break;
	default:
		memcpy(&e->info.holder, m->holder, sizeof(uuid_t));
		e->next.pending = false;
		break;
	}
	rdda_extent_set(e, ev, err);
	e->next.excused = false;	/* for this OPEN only: the user's state may change */
	/* LATER: a live extent goes on under its present grant. */
	if (ev == RDDA_EEV_LATER)
		return g;
	return rdda_grant_swap(e, ev == RDDA_EEV_OPENED ? g : NULL);
}
